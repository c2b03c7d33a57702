/* peer: OpenCL called by hand.
 * In: a context and its buffers. Out: work done on them, waited for, with nothing of clpallas between the call and the
 * device. Decides nothing: each function is the few calls that a user would write. */
#include <stdio.h>

#include "cl/cl.h"
#include "cl/peer.h"
#include "clpallas_cl.h"

struct clpi_peer_empty {
    clpi_env *env;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_event *events; /* [n_events + 1] */
    int64_t n_events;
};

clp_status clpi_peer_copy(clp_context *ctx, const clpi_peer_pair *pairs, int n_pairs)
{
    clpi_env *env = clpi_context_env(ctx);
    cl_command_queue queue = clp_context_cl_queue(ctx);
    for (int i = 0; i < n_pairs; i++)
        CLPI_CL_TRY(env, "clEnqueueCopyBuffer",
                    clEnqueueCopyBuffer(queue, clp_buffer_cl(pairs[i].from), clp_buffer_cl(pairs[i].to), 0, 0,
                                        pairs[i].n_bytes, 0, NULL, NULL));
    CLPI_CL_TRY(env, "clFinish", clFinish(queue));
    return CLP_OK;
}

/* ---- Launches ---- */

static clp_status empty_fill(clpi_peer_empty *e, const clpi_cl_device *dev, cl_mem argument)
{
    static const char text[] = "__kernel void empty(__global float *x) { }\n";
    const char *lines = text;
    cl_int code = CL_SUCCESS;
    e->queue = clCreateCommandQueue(dev->context, dev->id, 0, &code);
    CLPI_CL_TRY(e->env, "clCreateCommandQueue", code);
    e->program = clCreateProgramWithSource(dev->context, 1, &lines, NULL, &code);
    CLPI_CL_TRY(e->env, "clCreateProgramWithSource", code);
    CLPI_CL_TRY(e->env, "clBuildProgram", clBuildProgram(e->program, 1, &dev->id, "", NULL, NULL));
    e->kernel = clCreateKernel(e->program, "empty", &code);
    CLPI_CL_TRY(e->env, "clCreateKernel", code);
    CLPI_CL_TRY(e->env, "clSetKernelArg", clSetKernelArg(e->kernel, 0, sizeof argument, &argument));
    return CLP_OK;
}

clp_status clpi_peer_empty_new(clp_context *ctx, clp_buffer *argument, int64_t n_events, clpi_peer_empty **out_empty)
{
    *out_empty = NULL;
    clpi_env *env = clpi_context_env(ctx);
    clpi_peer_empty *e = clpi_alloc(env, 1, sizeof *e);
    if (!e)
        return CLP_ERR_OOM;
    *e = (clpi_peer_empty){ .env = env, .events = clpi_alloc(env, (size_t)n_events + 1, sizeof *e->events), .n_events = n_events };
    clp_status status = !e->events ? CLP_ERR_OOM : empty_fill(e, clpi_context_dev(ctx, &clpi_cl_backend), clp_buffer_cl(argument));
    if (status)
        clpi_peer_empty_free(e);
    else
        *out_empty = e;
    return status;
}

clp_status clpi_peer_empty_launch(clpi_peer_empty *e, int64_t n)
{
    const size_t one = 1;
    for (int64_t i = 0; i < n; i++)
        CLPI_CL_TRY(e->env, "clEnqueueNDRangeKernel",
                    clEnqueueNDRangeKernel(e->queue, e->kernel, 1, NULL, &one, &one, 0, NULL, i < e->n_events ? &e->events[i] : NULL));
    CLPI_CL_TRY(e->env, "clFinish", clFinish(e->queue));
    for (int64_t i = 0; i < n && i < e->n_events; i++)
        CLPI_CL_TRY(e->env, "clReleaseEvent", clReleaseEvent(e->events[i]));
    return CLP_OK;
}

void clpi_peer_empty_free(clpi_peer_empty *e)
{
    if (!e)
        return;
    if (e->kernel)
        clReleaseKernel(e->kernel);
    if (e->program)
        clReleaseProgram(e->program);
    if (e->queue)
        clReleaseCommandQueue(e->queue);
    clpi_free(e->env, e->events, (size_t)e->n_events + 1, sizeof *e->events);
    clpi_free(e->env, e, 1, sizeof *e);
}

/* ---- Builds ---- */

clp_status clpi_peer_build(clp_context *ctx, const char *text, unsigned serial)
{
    char options[64];
    cl_program program;
    (void)snprintf(options, sizeof options, "-DCLPI_PEER_BUILD=%u", serial);
    CLP_TRY(clpi_cl_build(clpi_context_dev(ctx, &clpi_cl_backend), "peer", text, options, &program));
    clReleaseProgram(program);
    return CLP_OK;
}

/* ---- Memory ---- */

clp_status clpi_peer_map(clp_context *ctx, clp_buffer *buffer, void **out_data)
{
    cl_int code = CL_SUCCESS;
    *out_data = clEnqueueMapBuffer(clp_context_cl_queue(ctx), clp_buffer_cl(buffer), CL_TRUE,
                                   CL_MAP_READ | CL_MAP_WRITE, 0, clp_buffer_bytes(buffer), 0, NULL, NULL, &code);
    CLPI_CL_TRY(clpi_context_env(ctx), "clEnqueueMapBuffer", code);
    return CLP_OK;
}

clp_status clpi_peer_unmap(clp_context *ctx, clp_buffer *buffer, void *data)
{
    clpi_env *env = clpi_context_env(ctx);
    cl_command_queue queue = clp_context_cl_queue(ctx);
    CLPI_CL_TRY(env, "clEnqueueUnmapMemObject",
                clEnqueueUnmapMemObject(queue, clp_buffer_cl(buffer), data, 0, NULL, NULL));
    CLPI_CL_TRY(env, "clFinish", clFinish(queue));
    return CLP_OK;
}

/* ---- CLBlast ---- */

/* As its header declares it; the library is looked for when it is wanted, so that nothing here depends on it. */
typedef int (*sgemm_fn)(int layout, int x_transpose, int y_transpose, size_t m, size_t n, size_t k, float alpha,
                        cl_mem x, size_t x_offset, size_t x_stride, cl_mem y, size_t y_offset, size_t y_stride,
                        float beta, cl_mem z, size_t z_offset, size_t z_stride, cl_command_queue *queue,
                        cl_event *event);
enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111 };

clp_status clpi_peer_clblast(clp_context *ctx, clpi_peer_fn sgemm, const clpi_peer_matrices *a)
{
    clpi_env *env = clpi_context_env(ctx);
    cl_command_queue queue = clp_context_cl_queue(ctx);
    int result =
        ((sgemm_fn)sgemm)(ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, a->m, a->n, a->k, 1, clp_buffer_cl(a->x), 0, a->k,
                          clp_buffer_cl(a->y), 0, a->n, 0, clp_buffer_cl(a->z), 0, a->n, &queue, NULL);
    if (result)
        return clpi_fail(env, CLP_ERR_DEVICE, "CLBlastSgemm: status %d", result);
    CLPI_CL_TRY(env, "clFinish", clFinish(queue));
    return CLP_OK;
}
