/* adopt: clpallas on the caller's own OpenCL objects.
 * In: cl_context, cl_command_queue, cl_mem, cl_event. Out: the public objects around them, and the way back.
 * Keeps a reference of its own to each; decides nothing.                                                               */
#include "cl/cl.h"
#include "clpallas_cl.h"

typedef struct given { cl_device_id device; cl_context context; cl_command_queue queue; } given;

static clp_status open_given(const clpi_host *host, const void *user, void **out_dev)
{
    const given *g = user;
    if (!g->device || !g->context)
        return clpi_fail(host->env, CLP_ERR_ARG, "clp_context_new_cl: %s is NULL", g->device ? "context" : "device");
    return clpi_cl_open_on(host, g->device, g->context, g->queue, out_dev);
}

clp_status clp_context_new_cl(cl_device_id device, cl_context context, cl_command_queue queue, const clp_context_opts *opts,
                              clp_context **out_ctx)
{
    return clpi_context_adopt(opts, &clpi_cl_backend, open_given, &(given){ device, context, queue }, out_ctx);
}

cl_context clp_context_cl(const clp_context *ctx)
{
    const clpi_cl_device *dev = clpi_context_dev(ctx, &clpi_cl_backend);
    return dev ? dev->context : NULL;
}

cl_command_queue clp_context_cl_queue(const clp_context *ctx)
{
    const clpi_cl_device *dev = clpi_context_dev(ctx, &clpi_cl_backend);
    return dev ? dev->queue : NULL;
}

clp_status clp_buffer_new_cl(clp_context *ctx, cl_mem mem, clp_buffer **out_buffer)
{
    if (out_buffer)
        *out_buffer = NULL;
    if (!ctx)
        return CLP_ERR_ARG;
    clpi_cl_device *dev = clpi_context_dev(ctx, &clpi_cl_backend);
    if (!dev || !mem || !out_buffer)
        return clpi_fail(clpi_context_env(ctx), CLP_ERR_ARG, "clp_buffer_new_cl: %s",
                         !dev ? "the context is not on an OpenCL device" : mem ? "out_buffer is NULL" : "mem is NULL");
    void *adopted;
    CLP_TRY(clpi_cl_adopt_mem(dev, mem, &adopted));
    clp_status status = clpi_buffer_adopt(ctx, adopted, ((clpi_cl_mem *)adopted)->n_bytes, out_buffer);
    if (status)
        clpi_cl_release(adopted);
    return status;
}

cl_mem clp_buffer_cl(const clp_buffer *buffer)
{
    const clpi_cl_mem *mem = clpi_buffer_mem(buffer, &clpi_cl_backend);
    return mem ? mem->mem : NULL;
}

clp_status clp_event_new_cl(clp_context *ctx, cl_event event, clp_event **out_event)
{
    if (out_event)
        *out_event = NULL;
    if (!ctx)
        return CLP_ERR_ARG;
    clpi_cl_device *dev = clpi_context_dev(ctx, &clpi_cl_backend);
    if (!dev || !event || !out_event)
        return clpi_fail(clpi_context_env(ctx), CLP_ERR_ARG, "clp_event_new_cl: %s",
                         !dev ? "the context is not on an OpenCL device" : event ? "out_event is NULL" : "event is NULL");
    void *adopted;
    CLP_TRY(clpi_cl_event_adopt(dev, event, &adopted));
    clp_status status = clpi_event_adopt(ctx, adopted, out_event);
    if (status)
        clpi_cl_forget(adopted);
    return status;
}

cl_event clp_event_cl(const clp_event *event)
{
    void *launched = clpi_event_launched(event, &clpi_cl_backend);
    return launched ? clpi_cl_event_handle(launched) : NULL;
}
