/* peer_process: a program that was compiled before, run by hand in a process that has done nothing yet.
 * In: a launch of ours, as bytes. Out: the same launch, by the OpenCL calls that a user would write, with nothing of clpallas between.
 *
 *     record | numbers, 64 bits each | the device's binary           */
#include <stdio.h>
#include <string.h>

#include "cl/cl.h"
#include "cl/peer.h"

enum { MAX_DEVICES = 64, MAX_BUFFERS = 8 };

typedef struct record {
    char name[64];
    uint64_t n_binary, n_numbers, workspace_bytes, group_size, n_groups;
    int n_buffers, buffers[MAX_BUFFERS];
} record;

/* ---- Recording ---- */

clp_status clpi_peer_record(clp_event *event, clpi_str *out)
{
    const int64_t *numbers;
    const clpi_cl_exe *exe = clpi_cl_event_exe(clpi_event_launched(event, &clpi_cl_backend), &numbers);
    const clpi_code *code = exe->code;
    clpi_env *env = exe->dev->host.env;
    record r = { .n_numbers = (uint64_t)code->n_numbers, .workspace_bytes = code->workspace_bytes, .group_size = code->group_size,
                 .n_groups = code->max_groups, .n_buffers = code->n_buffers };
    if (code->n_scalars || !code->numbers_by_value || code->has_log || code->has_cut || code->n_buffers > MAX_BUFFERS)
        return clpi_fail(env, CLP_ERR_UNSUPPORTED, "the launch is of another form than a file holds");
    for (int i = 0; i < code->n_numbers; i++)
        if (code->numbers[i].kind == CLPI_NUMBER_N_SEQUENCES && (uint64_t)numbers[i] < r.n_groups)
            r.n_groups = (uint64_t)numbers[i];
    memcpy(r.buffers, code->buffers, (size_t)code->n_buffers * sizeof *r.buffers);
    (void)snprintf(r.name, sizeof r.name, "%s", code->kernel);
    size_t n_bytes = 0;
    CLPI_CL_TRY(env, "clGetProgramInfo", clGetProgramInfo(exe->shared->program, CL_PROGRAM_BINARY_SIZES, sizeof n_bytes, &n_bytes, NULL));
    unsigned char *binary = clpi_alloc(env, n_bytes + 1, 1);
    if (!binary)
        return CLP_ERR_OOM;
    r.n_binary = n_bytes;
    const cl_int result = clGetProgramInfo(exe->shared->program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
    clp_status status = result ? clpi_cl_fail(env, "clGetProgramInfo", result) : CLP_OK;
    clpi_str_put(out, (const char *)&r, sizeof r);
    clpi_str_put(out, (const char *)numbers, r.n_numbers * sizeof *numbers);
    clpi_str_put(out, (const char *)binary, n_bytes);
    if (out->failed)
        status = CLP_ERR_OOM;
    clpi_free(env, binary, n_bytes + 1, 1);
    return status;
}

/* ---- Playing ---- */

static cl_device_id device_of(int n)
{
    cl_platform_id platforms[MAX_DEVICES];
    cl_uint n_platforms = 0, n_here = 0;
    cl_device_id ids[MAX_DEVICES];
    if (clGetPlatformIDs(MAX_DEVICES, platforms, &n_platforms))
        return NULL;
    for (cl_uint p = 0; p < n_platforms && p < MAX_DEVICES; p++, n -= (int)n_here) {
        n_here = 0;
        if (!clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &n_here) && n < (int)n_here)
            return ids[n];
    }
    return NULL;
}

const char *clpi_peer_play(const void *bytes, int n_device, void *const *arrays, const size_t *n_bytes)
{
    record r;
    memcpy(&r, bytes, sizeof r);
    const unsigned char *rest = (const unsigned char *)bytes + sizeof r;
    cl_device_id id = device_of(n_device);
    cl_int code = 0, state = 0;
    if (!id)
        return "there is no such device";
    const unsigned char *binary = rest + r.n_numbers * sizeof(int64_t);
    const size_t n_binary = r.n_binary, local = r.group_size, global = local * r.n_groups;
    cl_context context = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
    cl_command_queue queue = code ? NULL : clCreateCommandQueue(context, id, 0, &code);
    cl_program program = code ? NULL : clCreateProgramWithBinary(context, 1, &id, &n_binary, &binary, &state, &code);
    if (code || state || clBuildProgram(program, 1, &id, "", NULL, NULL))
        return "the program cannot be made";
    cl_kernel kernel = clCreateKernel(program, r.name, &code);
    cl_uint at = 0;
    cl_mem last = NULL;
    for (int i = 0; !code && i < r.n_buffers; i++) {
        const int a = r.buffers[i];
        last = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, n_bytes[a], arrays[a], &code);
        if (!code)
            code = clSetKernelArg(kernel, at++, sizeof last, &last);
    }
    if (!code && r.workspace_bytes) {
        cl_mem workspace = clCreateBuffer(context, CL_MEM_READ_WRITE, r.workspace_bytes * r.n_groups, NULL, &code);
        if (!code)
            code = clSetKernelArg(kernel, at++, sizeof workspace, &workspace);
    }
    if (!code && r.n_numbers)
        code = clSetKernelArg(kernel, at, r.n_numbers * sizeof(int64_t), rest);
    if (!code)
        code = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    if (code)
        return "the kernel cannot be started";
    /* Mapped, so that the host sees what was written. */
    clEnqueueMapBuffer(queue, last, CL_TRUE, CL_MAP_READ, 0, n_bytes[r.buffers[r.n_buffers - 1]], 0, NULL, NULL, &code);
    return code ? "the result cannot be read" : NULL;
}
