/* program: a text into a program of a device.
 * In: OpenCL C and the options it counts on. Out: a built program, or what the device's compiler had to say.            */
#include <string.h>

#include "cl/cl.h"

/* The line of a compiler's output that says most: the first with an error in it, else the first with anything. */
static const char *telling_line(const char *log, int *out_n)
{
    const char *best = "nothing";
    size_t n_best = strlen(best);
    bool is_error = false, is_any = false;
    for (const char *p = log; *p && !is_error;) {
        size_t n = strcspn(p, "\r\n");
        const char *word = strstr(p, "error");
        is_error = word && word < p + n;
        if (n > 0 && (is_error || !is_any)) {
            best = p;
            n_best = n;
            is_any = true;
        }
        p += n + (p[n] != 0);
    }
    *out_n = (int)(n_best < 300 ? n_best : 300);
    return best;
}

/* Our own fault, or the device's: a text of ours does not build. An error is one line; the whole goes to the dump. */
static clp_status fail_build(clpi_cl_device *dev, const char *what, cl_program program, cl_int code)
{
    clpi_env *env = dev->host.env;
    size_t n = 0;
    clp_status status = clpi_cl_fail(env, "clBuildProgram", code);
    if (clGetProgramBuildInfo(program, dev->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &n) != CL_SUCCESS || n < 2)
        return status;
    char *log = clpi_alloc(env, n + 1, 1);
    if (!log)
        return CLP_ERR_OOM;
    if (clGetProgramBuildInfo(program, dev->id, CL_PROGRAM_BUILD_LOG, n, log, NULL) == CL_SUCCESS) {
        int n_line;
        const char *line = telling_line(log, &n_line);
        if (dev->host.dump)
            dev->host.dump("log", what, log, dev->host.dump_user);
        clpi_fail(env, status, "%s: the device's compiler failed: clBuildProgram: %s (%d): %.*s", what,
                  code == CL_BUILD_PROGRAM_FAILURE ? "CL_BUILD_PROGRAM_FAILURE" : "code", (int)code, n_line, line);
    }
    clpi_free(env, log, n + 1, 1);
    return status;
}

clp_status clpi_cl_build(clpi_cl_device *dev, const char *what, const char *text, const char *options, cl_program *out_program)
{
    *out_program = NULL;
    clpi_env *env = dev->host.env;
    cl_int code = CL_SUCCESS;
    clpi_str all;
    clpi_str_init(&all, env);
    clpi_str_add(&all, "-cl-std=CL1.2 -w%s%s%s", dev->limits.has_correct_divide ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
                 options && *options ? " " : "", options ? options : "");
    if (all.failed) {
        clpi_str_done(&all);
        return CLP_ERR_OOM;
    }
    clp_status status = CLP_OK;
    cl_program program = clCreateProgramWithSource(dev->context, 1, &text, NULL, &code);
    if (code != CL_SUCCESS) {
        status = clpi_cl_fail(env, "clCreateProgramWithSource", code);
    } else {
        code = clBuildProgram(program, 1, &dev->id, all.text, NULL, NULL);
        if (code != CL_SUCCESS) {
            status = fail_build(dev, what, program, code);
            clReleaseProgram(program);
        } else {
            *out_program = program;
        }
    }
    clpi_str_done(&all);
    return status;
}
