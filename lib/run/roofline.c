/* roofline: a launch beside what its device can do.
 * In: a kernel and its arrays. Out: what the launch computes and moves (plan/work.h), the peaks that bound it (peaks.c), the
 * times of some runs. Decides what is compared: operations of each kind with the peak of that kind, one after another, and
 * the bytes that have to move with a copy of as much data.                                                             */

#include "plan/work.h"
#include "run/run.h"

const char *clp_roof_name(clp_roof roof)
{
    static const char *const names[] = { "compute", "memory", "launch" };
    return roof >= CLP_ROOF_COMPUTE && roof <= CLP_ROOF_LAUNCH ? names[roof] : "?";
}

/* ---- Prefetched data, which say where blocks are ---- */

typedef struct reader {
    const clp_event *event;
    const void **memory;               /* [ir->n_operands] of prefetch operands, from their element 0 - offset on */
} reader;

static bool read_element(void *user, int operand, const int64_t *index, int64_t *out_value)
{
    const reader *r = user;
    const clpi_bound *bound = r->event->bound;
    const clpi_operand *x = &bound->plan->ir->operands[operand];
    int64_t at;
    if (!r->memory[operand] || !clpi_element_at(&bound->operands[operand], x->rank, index, &at))
        return false;
    *out_value = clpi_elem_at(x->dtype, r->memory[operand], at).i;
    return true;
}

/* What lies in buffers is read from there, up to the last element that the array reaches. */
static clp_status fetch_prefetched(clp_event *event, reader *r)
{
    const clpi_bound *bound = event->bound;
    const clp_kernel *k = event->kernel;
    r->event = event;
    r->memory = CLPI_NEW_N(&event->arena, const void *, (size_t)k->ir->n_operands + 1);
    if (!r->memory)
        return CLP_ERR_OOM;
    for (int i = 0; i < k->n_operands; i++) {
        const int operand = k->operands[i];
        const clpi_operand *x = &k->ir->operands[operand];
        const clp_array *array = &event->arrays[i];
        if (x->role != CLP_PREFETCH)
            continue;
        r->memory[operand] = array->data;
        const clpi_span s = clpi_span_of(bound, operand, array);
        if (!array->buffer || s.start == s.end)
            continue;
        const size_t n_bytes = (size_t)s.end;
        unsigned char *copy = CLPI_NEW_N(&event->arena, unsigned char, n_bytes);
        if (!copy)
            return CLP_ERR_OOM;
        CLP_TRY(event->ctx->backend->read(array->buffer->mem, 0, copy, n_bytes));
        r->memory[operand] = copy;
    }
    return CLP_OK;
}

/* ---- What the launch does ---- */

static void take_work(const clpi_ir *ir, const clpi_work *work, clp_roofline_point *out)
{
    out->programs = work->programs;
    for (int i = 0; i < work->n_lines && out->n_ops < CLP_MAX_ROOFLINE; i++)
        if (work->lines[i].ops > 0)
            out->ops[out->n_ops++] = (clp_roofline_ops){ work->lines[i].is_dot, work->lines[i].dtype, work->lines[i].acc, work->lines[i].ops, 0 };
    for (int i = 0; i < work->n_operands && out->n_operands < CLP_MAX_ROOFLINE; i++) {
        const clpi_work_traffic *t = &work->operands[i];
        out->operands[out->n_operands++] = (clp_roofline_operand){
            ir->operands[t->operand].name, t->block_bytes, t->fetches, t->read, t->written, t->read_once + t->written_once };
    }
    out->float_ops = work->flops;
    out->int_ops = work->int_ops;
    out->bytes = work->bytes_once;
    out->streamed_bytes = work->bytes_streamed;
    out->intensity = out->bytes > 0 ? (out->float_ops + out->int_ops) / out->bytes : 0;
    out->is_exact = work->ops_are_exact && work->bytes_are_exact;
}

static clp_status count(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *run, clp_roofline_point *out,
                        clpi_work *work)
{
    static const clp_run_opts defaults = { .order = CLP_ORDER_FORWARD };
    clpi_launch_args args;
    clp_event *event;
    reader r;
    CLP_TRY(clpi_event_new(kernel->ctx, kernel, &event));
    clp_status status = clpi_launch_bind(event, arrays, n_arrays, run ? run : &defaults, false, &args);
    if (!status)
        status = clpi_launch_runs(event);
    if (!status)
        status = fetch_prefetched(event, &r);
    if (!status)
        status = clpi_work_count(event->bound, &(clpi_prefetch){ read_element, &r }, &event->arena, work);
    if (!status)
        take_work(event->bound->plan->ir, work, out);
    clp_event_free(event);
    return status;
}

/* ---- What bounds it ---- */

static clp_status find_roof(clp_context *ctx, const clpi_work *work, bool again, clp_roofline_point *out)
{
    for (int i = 0; i < work->n_lines; i++) {
        const clpi_work_line *line = &work->lines[i];
        double peak;
        if (line->ops <= 0)
            continue;
        CLP_TRY(clpi_peak(ctx, line->is_dot ? CLPI_PEAK_DOT : CLPI_PEAK_OPS, line->dtype, 0, again, &peak));
        out->compute_s += line->ops / peak;
        for (int k = 0; k < out->n_ops; k++)
            if (out->ops[k].is_dot == line->is_dot && out->ops[k].dtype == line->dtype && out->ops[k].acc == line->acc)
                out->ops[k].peak = peak;
    }
    CLP_TRY(clpi_peak(ctx, CLPI_PEAK_BYTES, CLP_F32, out->bytes, again, &out->peak_bytes_s));
    CLP_TRY(clpi_peak(ctx, CLPI_PEAK_LAUNCH, CLP_F32, 0, again, &out->launch_s));
    out->memory_s = out->bytes / out->peak_bytes_s;
    out->attainable_s = out->compute_s;
    out->roof = CLP_ROOF_COMPUTE;
    if (out->memory_s >= out->attainable_s) {
        out->attainable_s = out->memory_s;
        out->roof = CLP_ROOF_MEMORY;
    }
    if (out->launch_s >= out->attainable_s) {
        out->attainable_s = out->launch_s;
        out->roof = CLP_ROOF_LAUNCH;
    }
    out->attainable_ops_s = (out->float_ops + out->int_ops) / out->attainable_s;
    return CLP_OK;
}

/* ---- What it takes ---- */

static clp_status take_times(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *run, int n_runs,
                             clp_roofline_point *out)
{
    CLP_TRY(clpi_time_launches(kernel, arrays, n_arrays, run, n_runs, &out->seconds, &out->median_s));
    out->ops_s = out->seconds > 0 ? (out->float_ops + out->int_ops) / out->seconds : 0;
    return CLP_OK;
}

/* ---- All of it ---- */

clp_status clp_roofline(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_roofline_opts *opts,
                        clp_roofline_point *out_point)
{
    static const clp_roofline_opts defaults = { .n_runs = 0 };
    if (out_point)
        *out_point = (clp_roofline_point){ .programs = 0 };
    if (!kernel)
        return CLP_ERR_ARG;
    if (!out_point)
        return clpi_fail(&kernel->ctx->env, CLP_ERR_ARG, "clp_roofline: out_point is NULL");
    opts = opts ? opts : &defaults;
    clp_roofline_point point = { .programs = 0 };
    clpi_work work;
    CLP_TRY(count(kernel, arrays, n_arrays, opts->run, &point, &work));
    if (opts->n_runs >= 0)
        CLP_TRY(take_times(kernel, arrays, n_arrays, opts->run, opts->n_runs ? opts->n_runs : 10, &point));
    CLP_TRY(find_roof(kernel->ctx, &work, opts->measure, &point));
    *out_point = point;
    return CLP_OK;
}
