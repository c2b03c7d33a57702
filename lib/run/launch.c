/* launch: one run of a kernel over its grid.
 * In: a kernel, arrays, options. Out: an event, or an error with nothing changed.
 * Everything is checked before the backend sees anything. A launch that has to look at or copy memory on the host first
 * waits for the launches it is to follow; else the device keeps their order.                                           */
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "run/run.h"

static const clp_run_opts default_opts = { .order = CLP_ORDER_FORWARD };

static clp_status check_opts(const clp_event *event, const clp_run_opts *opts)
{
    clpi_env *env = &event->ctx->env;
    if (opts->n_dims < 0)
        return clpi_fail(env, CLP_ERR_ARG, "n_dims: expected 0 or more, got %d", opts->n_dims);
    if (opts->n_dims > 0 && !opts->dims)
        return clpi_fail(env, CLP_ERR_ARG, "dims: the list is NULL");
    for (int i = 0; i < opts->n_dims; i++)
        if (!opts->dims[i].name)
            return clpi_fail(env, CLP_ERR_ARG, "dims: a name is NULL");
    if (opts->n_wait_for < 0)
        return clpi_fail(env, CLP_ERR_ARG, "n_wait_for: expected 0 or more, got %d", opts->n_wait_for);
    if (opts->n_wait_for > 0 && !opts->wait_for)
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

static clp_status start(clp_event *event, const clp_run_opts *opts, bool is_let_go)
{
    const clp_kernel *k = event->kernel;
    clpi_launch launch = { .bound = event->bound, .places = event->places, .order = opts->order, .seed = opts->seed,
                           .is_let_go = is_let_go && event->n_pieces == 0 };
    void **others = CLPI_NEW_N(&event->arena, void *, (size_t)opts->n_wait_for);
    if (!others)
        return CLP_ERR_OOM;
    for (int i = 0; i < opts->n_wait_for; i++)
        if (opts->wait_for[i]->launched)
            others[launch.n_wait_for++] = opts->wait_for[i]->launched;
    launch.wait_for = others;
    return event->ctx->backend->launch(k->exe, &launch, &event->launched);
}

static clp_status bind_kernel(clp_event *event, const clp_array *arrays, int n_arrays, const clp_run_opts *opts, bool is_checked,
                              clpi_launch_args *out_args)
{
    CLP_TRY(clpi_arrays_take(event, arrays, n_arrays));
    *out_args = (clpi_launch_args){ event->arrays, n_arrays, opts->dims, opts->n_dims, opts->grid_start, opts->grid_count, is_checked };
    CLP_TRY(clpi_bind(event->kernel->plan, out_args, &event->arena, &event->bound));
    return clpi_arrays_check_buffers(event);
}

clp_status clpi_launch_bind(clp_event *event, const clp_array *arrays, int n_arrays, const clp_run_opts *opts, bool is_checked,
                            clpi_launch_args *out_args)
{
    clp_kernel *given = event->kernel;
    CLP_TRY(check_opts(event, opts));
    if (is_checked || (arrays && looks_first(given, arrays, n_arrays)))
        wait_for_others(opts);
    CLP_TRY(clpi_kernel_choose(given, arrays, n_arrays, opts, &event->kernel, &event->choice));
    clp_status status = bind_kernel(event, arrays, n_arrays, opts, is_checked, out_args);
    if (status != CLP_ERR_ARG || event->kernel == given)
        return status;
    /* What does for the class of these shapes need not do for each of them: what is wrong is said of the defaults. */
    event->kernel = given;
    event->choice = clpi_choice_default(given);
    return bind_kernel(event, arrays, n_arrays, opts, is_checked, out_args);
}

/* "k: nothing runs: the grid is (i = 0, j = 3)" */
clp_status clpi_launch_runs(const clp_event *event)
{
    const clpi_bound *bound = event->bound;
    const clpi_ir *ir = bound->plan->ir;
    clpi_env *env = &event->ctx->env;
    if (bound->n_sequences > 0 && bound->n_steps > 0)
        return CLP_OK;
    clpi_str s;
    clpi_str_init(&s, env);
    for (int i = 0; i < ir->n_axes; i++)
        clpi_str_add(&s, "%s%s = %lld", i ? ", " : "", ir->axes[i].name, (long long)bound->box_count[i]);
    clp_status status = s.failed ? CLP_ERR_OOM : clpi_fail(env, CLP_ERR_ARG, "%s: nothing runs: the grid is (%s)", ir->name, s.text);
    clpi_str_done(&s);
    return status;
}

static clp_status run(clp_event *event, const clp_array *arrays, int n_arrays, const clp_run_opts *opts, bool is_let_go)
{
    clp_kernel *given = event->kernel;
    clpi_launch_args args;
    if (event->ctx->text_only)
        return clpi_kernel_ready(event->kernel);
    CLP_TRY(clpi_launch_bind(event, arrays, n_arrays, opts, false, &args));
    if (event->bound->n_sequences == 0 || event->bound->n_steps == 0) {
        wait_for_others(opts);
        return CLP_OK;
    }
    CLP_TRY(clpi_kernel_ready(event->kernel));
    CLP_TRY(clpi_memory_make(event));
    CLP_TRY(start(event, opts, is_let_go));
    clpi_known_keep(given, event, opts);
    return CLP_OK;
}

/* ---- The public ways in ---- */

/* A launch like an earlier one. out_event NULL, here and below: it is waited for; is_let_go: where it has to be. */
static clp_status launch_known(const clpi_known *known, bool is_let_go, clp_event **out_event)
{
    const clpi_backend *backend = known->kernel->ctx->backend;
    const clpi_launch launch = { .bound = known->bound, .places = known->places, .order = CLP_ORDER_FORWARD, .is_let_go = is_let_go };
    clp_event *event = NULL;
    void *launched;
    double seconds;
    if (out_event)
        CLP_TRY(clpi_event_new(known->kernel->ctx, known->kernel, &event));
    clp_status status = backend->launch(known->kernel->exe, &launch, &launched);
    if (status) {
        clp_event_free(event);
    } else if (event) {
        event->launched = launched;
        clpi_event_started(event);
        *out_event = event;
    } else if (launched) {
        status = backend->wait(launched, &seconds);
        backend->forget(launched);
    }
    return status;
}

static clp_status launch_new(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *opts, bool is_let_go,
                             clp_event **out_event)
{
    clp_event *event;
    CLP_TRY(clpi_event_new(kernel->ctx, kernel, &event));
    clp_status status = run(event, arrays, n_arrays, opts, is_let_go);
    if (status) {
        event->launched = NULL;
        clpi_memory_release(event);
    } else if (out_event) {
        clpi_event_started(event);
        *out_event = event;
        return CLP_OK;
    } else {
        status = clp_event_wait(event);
    }
    clp_event_free(event);
    return status;
}

static clp_status launch(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *opts, bool is_let_go,
                         clp_event **out_event)
{
    if (!opts)
        opts = &default_opts;
    clpi_known *known = clpi_known_take(kernel, arrays, n_arrays, opts);
    if (!known)
        return launch_new(kernel, arrays, n_arrays, opts, is_let_go, out_event);
    clp_status status = launch_known(known, is_let_go, out_event);
    clpi_known_leave(known);
    return status;
}

clp_status clp_run_async(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *opts,
                         clp_event **out_event)
{
    if (out_event)
        *out_event = NULL;
    return kernel ? launch(kernel, arrays, n_arrays, opts, !out_event, out_event) : CLP_ERR_ARG;
}

clp_status clp_run(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *opts)
{
    return kernel ? launch(kernel, arrays, n_arrays, opts, false, NULL) : CLP_ERR_ARG;
}

clp_status clpi_kernel_for(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *opts, bool is_checked,
                           clp_kernel **out_kernel, clp_choice *out_choice)
{
    clp_event *event;
    clpi_launch_args args;
    CLP_TRY(clpi_event_new(kernel->ctx, kernel, &event));
    clp_status status = clpi_launch_bind(event, arrays, n_arrays, opts ? opts : &default_opts, is_checked, &args);
    *out_kernel = event->kernel;
    *out_choice = event->choice;
    clp_event_free(event);
    return status;
}

clp_status clp_kernel_choice(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *opts, clp_choice *out_choice)
{
    clp_kernel *chosen;
    if (out_choice)
        *out_choice = (clp_choice){ .params = "" };
    if (!kernel)
        return CLP_ERR_ARG;
    if (!out_choice)
        return clpi_fail(&kernel->ctx->env, CLP_ERR_ARG, "clp_kernel_choice: out_choice is NULL");
    clp_choice choice;
    CLP_TRY(clpi_kernel_for(kernel, arrays, n_arrays, opts, false, &chosen, &choice));
    *out_choice = choice;
    return CLP_OK;
}

clp_status clpi_time_launches(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *opts, int n_runs,
                              double *out_min, double *out_median)
{
    clpi_env *env = &kernel->ctx->env;
    double *times = clpi_alloc(env, (size_t)n_runs, sizeof *times);
    clp_status status = times ? CLP_OK : CLP_ERR_OOM;
    for (int i = -1; !status && i < n_runs; i++) {
        const double start = clpi_now();
        status = clp_run(kernel, arrays, n_arrays, opts);
        if (i >= 0)
            times[i] = clpi_now() - start;
    }
    if (!status)
        clpi_min_and_median(times, n_runs, out_min, out_median);
    clpi_free(env, times, (size_t)n_runs, sizeof *times);
    return status;
}
