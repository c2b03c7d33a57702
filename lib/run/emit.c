/* emit: what the compiler makes of a kernel, as text.
 * In: a kernel and a stage. Out: the text, handed to the caller's function once, whole.
 * Stages behind the plan are pure functions of it: where the context has no OpenCL device, a fixed one stands in.       */
#include <string.h>

#include "base/str.h"
#include "run/run.h"
#include "text/text.h"

static clp_status device_text(const clp_kernel *kernel, clp_stage stage, clpi_str *out)
{
    clp_context *ctx = kernel->ctx;
#ifdef CLPALLAS_OPENCL
    bool has_device = ctx->backend == &clpi_cl_backend;
    return clpi_cl_text(&ctx->env, stage, kernel->ir, kernel->plan, has_device ? &ctx->limits : &clpi_cl_reference_limits,
                        ctx->schedule, ctx->is_checked, out);
#else
    (void)stage;
    (void)out;
    return clpi_fail(&ctx->env, CLP_ERR_UNSUPPORTED, "this build has no OpenCL: it emits kernels and plans only");
#endif
}

clp_status clp_kernel_emit(clp_kernel *kernel, clp_stage stage, clp_text_fn write, void *user)
{
    if (!kernel)
        return CLP_ERR_ARG;
    clpi_env *env = &kernel->ctx->env;
    if (!write)
        return clpi_fail(env, CLP_ERR_ARG, "clp_kernel_emit: write is NULL");
    clpi_str s;
    clpi_str_init(&s, env);
    clp_status status = CLP_OK;
    switch (stage) {
    case CLP_STAGE_IR: clpi_ir_print(kernel->ir, &s); break;
    case CLP_STAGE_PLAN: clpi_plan_print(kernel->plan, &s); break;
    case CLP_STAGE_NEST:
    case CLP_STAGE_CL: status = device_text(kernel, stage, &s); break;
    default: status = clpi_fail(env, CLP_ERR_ARG, "clp_kernel_emit: there is no stage %d", (int)stage); break;
    }
    if (!status && s.failed)
        status = CLP_ERR_OOM;
    if (!status)
        write(s.text, s.n, user);
    clpi_str_done(&s);
    return status;
}
