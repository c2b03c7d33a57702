/* cl: the backend of OpenCL devices.
 * In: IR and plan. Out: a built kernel: nest, schedule and text (text.c), then the device's compiler (program.c).
 * The table of the backend stands last.                                                                                */
#include "cl/cl.h"

static clp_status compile(void *device, const clpi_ir *ir, const clpi_plan *plan, clp_schedule schedule, bool is_checked, void **out_exe)
{
    clpi_cl_device *dev = device;
    const clpi_host *host = &dev->host;
    *out_exe = NULL;
    clpi_arena arena;
    clpi_arena_init(&arena, host->env);
    clpi_code *code = NULL;
    clpi_cl_exe *exe = NULL;
    clp_status status = clpi_cl_generate(host->env, &arena, ir, plan, &dev->limits, schedule, is_checked, &code);
    if (!status && host->dump)
        host->dump("cl", ir->name, code->text, host->dump_user);
    if (!status)
        status = clpi_cl_exe_new(dev, ir, plan, &arena, code, &exe);
    if (status)
        clpi_arena_done(&arena);
    *out_exe = exe;
    return status;
}

const clpi_backend clpi_cl_backend = {
    .name = "cl",
    .list = clpi_cl_list,
    .open = clpi_cl_open,
    .close = clpi_cl_close,
    .describe = clpi_cl_describe,
    .limits = clpi_cl_limits,
    .compile = compile,
    .discard = clpi_cl_discard,
    .launch = clpi_cl_launch,
    .wait = clpi_cl_wait,
    .forget = clpi_cl_forget,
    .alloc = clpi_cl_alloc,
    .wrap = clpi_cl_wrap,
    .release = clpi_cl_release,
    .write = clpi_cl_write,
    .read = clpi_cl_read,
};
