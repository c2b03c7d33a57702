/* device: the context's device, as the parts of a check use it.
 * In: a snapshot. Out: runs from its memory, on memory of the device's own, back into the snapshot's.
 * Decides nothing: a launch is that of the interpreter, with other places.                                              */
#include <string.h>

#include "check/agree.h"

clp_status clpi_device_open(clpi_check *check, clpi_device *out)
{
    const clp_context *ctx = check->kernel->ctx;
    const clpi_snapshot *s = &check->snapshot;
    clpi_arena *arena = &check->snapshot.arena;
    enum { LEAST_BYTES = 16 };      /* an array without elements still has memory */
    *out = (clpi_device){ .check = check, .backend = ctx->backend, .dev = ctx->dev };
    out->mem = CLPI_NEW_N(arena, void *, (size_t)s->n_regions + 1);
    out->places = CLPI_NEW_N(arena, clpi_place, (size_t)check->ir->n_operands + 1);
    if (arena->failed)
        return CLP_ERR_OOM;
    for (int r = 0; r < s->n_regions; r++) {
        const clpi_memory_region *region = &s->regions[r];
        CLP_TRY(out->backend->alloc(out->dev, region->n_bytes > LEAST_BYTES ? region->n_bytes : LEAST_BYTES, &out->mem[r]));
        if (!region->is_written && region->n_bytes)
            CLP_TRY(out->backend->write(out->mem[r], 0, region->given, region->n_bytes));
    }
    for (int i = 0; i < check->ir->n_operands; i++)
        if (s->region_of[i] >= 0)
            out->places[i] = (clpi_place){ out->mem[s->region_of[i]], s->at[i] };
    return CLP_OK;
}

void clpi_device_close(clpi_device *device)
{
    for (int r = 0; device->mem && r < device->check->snapshot.n_regions; r++)
        if (device->mem[r])
            device->backend->release(device->mem[r]);
}

clp_status clpi_device_compile(clpi_device *device, const clpi_ir *ir, const clpi_plan *plan, clp_schedule schedule, void **out_exe)
{
    clp_kernel *kernel = device->check->kernel;
    const clp_context *ctx = kernel->ctx;
    *out_exe = NULL;
    if (ir == kernel->ir && !ctx->is_checked && !ctx->text_only && schedule == clpi_cl_realisation(ctx->schedule, &ctx->limits)) {
        CLP_TRY(clpi_kernel_ready(kernel));
        *out_exe = kernel->exe;
        return CLP_OK;
    }
    return device->backend->compile(device->dev, &(clpi_unit){ ir, plan }, 1, schedule, false, out_exe);
}

void clpi_device_discard(clpi_device *device, void *exe)
{
    if (exe && exe != device->check->kernel->exe)
        device->backend->discard(exe);
}

static clp_status launch(clpi_device *device, void *exe, const clpi_bound *bound, const clpi_place *places, const char **out_fault)
{
    static const clpi_watch go_on = { .fault = clpi_go_on };      /* of the interpreter, where a test has it for a device */
    const clpi_watch *watch = device->backend == &clpi_interp_backend ? &go_on : NULL;
    const clpi_launch launch = { .bound = bound, .places = places, .order = CLP_ORDER_FORWARD, .watch = watch, .is_quiet = true };
    clpi_check *check = device->check;
    void *event;
    double seconds;
    CLP_TRY(device->backend->launch(exe, &launch, &event));
    clp_status status = device->backend->wait(event, &seconds);
    device->backend->forget(event);
    if (status != CLP_ERR_RUN)
        return status;
    const char *text = clpi_error_text(check->env);
    *out_fault = clpi_arena_strndup(&check->snapshot.arena, text, strlen(text));
    return *out_fault ? CLP_OK : CLP_ERR_OOM;
}

clp_status clpi_device_run(clpi_device *device, void *exe, const clpi_bound *bound, const clpi_place *places, const char **out_fault)
{
    const clpi_snapshot *s = &device->check->snapshot;
    for (int r = 0; r < s->n_regions; r++)
        if (s->regions[r].is_written && s->regions[r].n_bytes)
            CLP_TRY(device->backend->write(device->mem[r], 0, s->regions[r].work, s->regions[r].n_bytes));
    CLP_TRY(launch(device, exe, bound, places, out_fault));
    for (int r = 0; r < s->n_regions; r++)
        if (s->regions[r].is_written && s->regions[r].n_bytes)
            CLP_TRY(device->backend->read(device->mem[r], 0, s->regions[r].work, s->regions[r].n_bytes));
    return CLP_OK;
}
