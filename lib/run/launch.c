/* launch: one run of a kernel over its grid.
 * In: a kernel, arrays, options. Out: an event, or an error with nothing changed.
 * Everything is checked before the backend sees anything. A launch that has to look at or copy memory on the host first
 * waits for the launches it is to follow; else the device keeps their order.                                           */
#include <string.h>

#include "run/run.h"

static const clp_run_opts default_opts = { .order = CLP_ORDER_FORWARD };

static clp_status check_opts(const clp_event *event, const clp_run_opts *opts)
{
    clpi_env *env = &event->ctx->env;
    if (opts->n_dims < 0 || (opts->n_dims > 0 && !opts->dims))
        return clpi_fail(env, CLP_ERR_ARG, "dims: the list is NULL");
    for (int i = 0; i < opts->n_dims; i++)
        if (!opts->dims[i].name)
            return clpi_fail(env, CLP_ERR_ARG, "dims: a name is NULL");
    if (opts->n_wait_for < 0 || (opts->n_wait_for > 0 && !opts->wait_for))
        return clpi_fail(env, CLP_ERR_ARG, "wait_for: the list is NULL");
    for (int i = 0; i < opts->n_wait_for; i++)
        if (!opts->wait_for[i] || opts->wait_for[i]->ctx != event->ctx)
            return clpi_fail(env, CLP_ERR_ARG, "wait_for: event %d is NULL or of another context", i);
    if (opts->order != CLP_ORDER_FORWARD && opts->order != CLP_ORDER_REVERSE && opts->order != CLP_ORDER_SHUFFLE)
        return clpi_fail(env, CLP_ERR_ARG, "order: there is no order %d", (int)opts->order);
    return CLP_OK;
}

/* Whether the host has to look before the launch: scalars in buffers; arrays that are copied to the device. */
static bool looks_first(const clp_kernel *k, const clp_array *arrays, int n_arrays)
{
    for (int i = 0; i < n_arrays && i < k->n_operands; i++) {
        bool is_scalar = k->ir->operands[k->operands[i]].role == CLP_SCALAR;
        if (is_scalar ? arrays[i].buffer != NULL : arrays[i].data && !k->ctx->limits.shares_host_memory)
            return true;
    }
    return false;
}

/* What a launch that is waited for ran into is for its own clp_event_wait to say. */
static void wait_for_others(const clp_run_opts *opts)
{
    for (int i = 0; i < opts->n_wait_for; i++)
        clpi_event_settle(opts->wait_for[i]);
}

static clp_status start(clp_event *event, const clp_run_opts *opts)
{
    const clp_kernel *k = event->kernel;
    clpi_launch launch = { .bound = event->bound, .places = event->places, .order = opts->order, .seed = opts->seed };
    void **others = CLPI_NEW_N(&event->arena, void *, (size_t)opts->n_wait_for);
    if (!others)
        return CLP_ERR_OOM;
    for (int i = 0; i < opts->n_wait_for; i++)
        if (opts->wait_for[i]->launched)
            others[launch.n_wait_for++] = opts->wait_for[i]->launched;
    launch.wait_for = others;
    return event->ctx->backend->launch(k->exe, &launch, &event->launched);
}

clp_status clpi_launch_bind(clp_event *event, const clp_array *arrays, int n_arrays, const clp_run_opts *opts, bool is_checked,
                            clpi_launch_args *out_args)
{
    const clp_kernel *k = event->kernel;
    CLP_TRY(check_opts(event, opts));
    if (is_checked || (arrays && looks_first(k, arrays, n_arrays)))
        wait_for_others(opts);
    CLP_TRY(clpi_arrays_take(event, arrays, n_arrays));
    *out_args = (clpi_launch_args){ event->arrays, n_arrays, opts->dims, opts->n_dims, opts->grid_start, opts->grid_count, is_checked };
    CLP_TRY(clpi_bind(k->plan, out_args, &event->arena, &event->bound));
    return clpi_arrays_check_buffers(event);
}

static clp_status run(clp_event *event, const clp_array *arrays, int n_arrays, const clp_run_opts *opts)
{
    const clp_kernel *k = event->kernel;
    clpi_launch_args args;
    if (!k->exe)
        return clpi_fail(&event->ctx->env, CLP_ERR_ARG, "%s: its context makes kernels for their text only", k->ir->name);
    CLP_TRY(clpi_launch_bind(event, arrays, n_arrays, opts, false, &args));
    if (event->bound->n_sequences == 0 || event->bound->n_steps == 0) {
        wait_for_others(opts);
        return CLP_OK;
    }
    CLP_TRY(clpi_memory_make(event));
    return start(event, opts);
}

clp_status clp_run_async(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *opts,
                         clp_event **out_event)
{
    if (out_event)
        *out_event = NULL;
    if (!kernel)
        return CLP_ERR_ARG;
    if (!out_event)
        return clpi_fail(&kernel->ctx->env, CLP_ERR_ARG, "clp_run_async: out_event is NULL");
    clp_event *event;
    CLP_TRY(clpi_event_new(kernel->ctx, kernel, &event));
    clp_status status = run(event, arrays, n_arrays, opts ? opts : &default_opts);
    if (status) {
        event->launched = NULL;
        clpi_memory_release(event);
        clp_event_free(event);
        return status;
    }
    *out_event = event;
    return CLP_OK;
}

clp_status clp_run(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *opts)
{
    clp_event *event;
    CLP_TRY(clp_run_async(kernel, arrays, n_arrays, opts, &event));
    clp_status status = clp_event_wait(event);
    clp_event_free(event);
    return status;
}
