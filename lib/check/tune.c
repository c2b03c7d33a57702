/* tune: the values of parameters left open that run fastest here.
 * In: a kernel with `tune` lists, arrays, limits of time. Out: every point with its time or why it has none; the best, on disk.
 * Works on device memory of its own, filled from a snapshot of the arrays.
 *
 * Decides the order, which is the model's, behind the defaults; what is left out, which is what cannot run, what the model takes for
 * many times slower than the best, and what there is no time for; and what counts. A point is measured twice: in turn with all others,
 * which rules most of them out, and the nearest to the best again, one launch of each after another, so that what else the
 * machine does meets them all. A point has its results compared before it becomes the best, so nothing is kept that was not;
 * others, which cannot be taken anyway, are not compared.                                                               */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "check/agree.h"
#include "plan/work.h"
#include "run/choose.h"

enum { LAUNCHES = 5, FINALISTS = 4, FINAL_ROUNDS = 7, MOST_TIMES_SLOWER = 8 };
#define LEAST_SECONDS 0.05        /* of a point's launches, which others on the machine would disturb all, were they short */
#define SMALL_WORK 2e8            /* operations that the interpreter does in a moment */

struct clp_tuning {
    clpi_env   *env;
    clpi_arena  arena;
    clp_try    *tries;
    int         n;
    const char *not_kept;
};

typedef struct point {
    clp_try     tried;
    int64_t    *values;
    double      cycles;           /* the model's; INFINITY: it does not know whether the point can run at all */
    clp_kernel *kernel;
    bool        is_compared;
} point;

typedef struct tuner {
    clpi_env        *env;
    clpi_arena      *arena;       /* of the result */
    clp_kernel      *kernel;
    const clp_array *given;
    int              n_arrays;
    clp_tune_opts    opts;
    clp_run_opts     run;
    clpi_check       check;       /* its snapshot is what buffers are filled from */
    clp_buffer     **buffers;     /* [n_regions] */
    clp_array       *arrays;      /* [n_arrays] the given ones, on buffers */
    int64_t         *class;
    point           *points;
    int              n;
    point           *best;
    clpi_point_results first, other;      /* of the first point that ran with the interpreter's results, with whose all others are
                                             compared, and of the one that is; kernel NULL: none yet */
    double           end;         /* of the time there is */
} tuner;

/* ---- Points ---- */

/* Those that the model takes for the fastest first; the defaults, with which all are compared, in front. */
static int by_promise(const void *a, const void *b)
{
    const point *x = a, *y = b;
    if (x->tried.is_default != y->tried.is_default)
        return x->tried.is_default ? -1 : 1;
    return x->cycles < y->cycles ? -1 : x->cycles > y->cycles;
}

static int by_time(const void *a, const void *b)
{
    const clp_try *x = a, *y = b;
    const double s = x->seconds > 0 && !x->why_not ? x->seconds : INFINITY, t = y->seconds > 0 && !y->why_not ? y->seconds : INFINITY;
    return s < t ? -1 : s > t ? 1 : x->rank - y->rank;
}

static clp_status predict_all(tuner *t, const int64_t *dims, bool *out_any)
{
    *out_any = false;
    for (int i = 0; i < t->n; i++) {
        CLP_TRY(clpi_predict_point(t->kernel, t->points[i].values, dims, &t->points[i].cycles));
        *out_any = *out_any || isfinite(t->points[i].cycles);
    }
    return CLP_OK;
}

/* Fails as a launch of that kernel on the arrays would, and where nothing would run. */
static clp_status bind_kernel(const tuner *t, clp_kernel *kernel)
{
    clp_event *event;
    clpi_launch_args args;
    CLP_TRY(clpi_event_new(kernel->ctx, kernel, &event));
    clp_status status = clpi_launch_bind(event, t->given, t->n_arrays, &t->run, false, &args);
    if (!status)
        status = clpi_launch_runs(event);
    clp_event_free(event);
    return status;
}

static clp_status make_points(tuner *t)
{
    const clpi_choices *c = t->kernel->choices;
    const size_t n_open = (size_t)clpi_n_open(c);
    int64_t dims[CLPI_MAX_CHOICE_DIMS];
    bool any;
    t->points = CLPI_NEW_N(t->arena, point, (size_t)clpi_n_points(c));
    t->class = CLPI_NEW_N(t->arena, int64_t, CLPI_MAX_CHOICE_DIMS);
    if (!t->points || !t->class)
        return CLP_ERR_OOM;
    if (!clpi_launch_class(t->kernel, t->given, t->n_arrays, &t->run, dims, t->class)) {
        CLP_TRY(bind_kernel(t, t->kernel));
        return clpi_fail(t->env, CLP_ERR_ARG, "%s: its dims do not follow from these arrays", t->kernel->ir->name);
    }
    for (int i = 0; i < clpi_n_points(c); i++) {
        point *p = &t->points[t->n];
        p->values = CLPI_NEW_N(t->arena, int64_t, n_open);
        if (!p->values)
            return CLP_ERR_OOM;
        clpi_point(c, i, p->values);
        if (i > 0 && !memcmp(p->values, t->points[0].values, n_open * sizeof *p->values))
            continue;
        p->tried = (clp_try){ .params = clpi_point_params(c, p->values, t->arena), .is_default = i == 0 };
        if (!p->tried.params)
            return CLP_ERR_OOM;
        t->n++;
    }
    CLP_TRY(predict_all(t, t->class, &any));
    if (!any)
        CLP_TRY(predict_all(t, dims, &any));
    qsort(t->points, (size_t)t->n, sizeof *t->points, by_promise);
    for (int i = 0; i < t->n; i++)
        for (int k = 0; k < t->n; k++)
            t->points[i].tried.rank += t->points[k].cycles < t->points[i].cycles || (t->points[k].cycles == t->points[i].cycles && k <= i);
    return CLP_OK;
}

/* What a point ran into is its own affair, but for what every other would run into as well. Of an error in the text the first line
 * says what it is. */
static clp_status give_up(const tuner *t, point *p, clp_status status)
{
    if (status == CLP_ERR_OOM || status == CLP_ERR_INTERNAL)
        return status;
    const char *text = clpi_error_text(t->env);
    p->tried.why_not = clpi_arena_strndup(t->arena, text, strcspn(text, "\n"));
    return p->tried.why_not ? CLP_OK : CLP_ERR_OOM;
}

/* Makes the point's kernel, up to its plan, unless it cannot be made or does not take the arrays: then it is given up. */
static clp_status make_kernel(const tuner *t, point *p)
{
    if (p->kernel || p->tried.why_not)
        return CLP_OK;
    const double start = clpi_now();
    clp_status status = clpi_point_kernel(t->kernel, p->values, false, &p->kernel);
    p->tried.build_seconds = clpi_now() - start;
    if (!status)
        status = bind_kernel(t, p->kernel);
    return status ? give_up(t, p, status) : CLP_OK;
}

/* The kernel that says what memory a launch has, which all points share: the first that takes the arrays. Where there is none it is
 * said why a launch would fail. */
static clp_status find_base(tuner *t, clp_kernel **out_base)
{
    for (int i = 0; i < t->n; i++) {
        point *p = &t->points[i];
        CLP_TRY(make_kernel(t, p));
        *out_base = p->kernel;
        if (!p->tried.why_not)
            return CLP_OK;
    }
    CLP_TRY(bind_kernel(t, t->kernel));
    return clpi_fail(t->env, CLP_ERR_ARG, "%s: no point of its lists takes these arrays", t->kernel->ir->name);
}

/* ---- Memory ---- */

static clp_status fill(const tuner *t)
{
    const clpi_snapshot *s = &t->check.snapshot;
    for (int r = 0; r < s->n_regions; r++)
        if (s->regions[r].is_written && s->regions[r].n_bytes)
            CLP_TRY(clp_buffer_write(t->buffers[r], 0, s->regions[r].given, s->regions[r].n_bytes));
    return CLP_OK;
}

static clp_status make_arrays(tuner *t, clp_kernel *kernel)
{
    const clpi_snapshot *s = &t->check.snapshot;
    t->check = (clpi_check){ .env = t->env, .kernel = kernel, .ir = kernel->ir, .plan = kernel->plan, .arrays = t->given,
                             .n_arrays = t->n_arrays, .run = t->run };
    CLP_TRY(clpi_report_new(t->env, kernel, 1, &t->check.report));
    CLP_TRY(clpi_snapshot_open(&t->check));
    t->buffers = CLPI_NEW_N(t->arena, clp_buffer *, (size_t)s->n_regions + 1);
    t->arrays = CLPI_NEW_N(t->arena, clp_array, (size_t)t->n_arrays + 1);
    if (!t->buffers || !t->arrays)
        return CLP_ERR_OOM;
    for (int r = 0; r < s->n_regions; r++) {
        CLP_TRY(clp_buffer_new(kernel->ctx, s->regions[r].n_bytes, &t->buffers[r]));
        if (s->regions[r].n_bytes)
            CLP_TRY(clp_buffer_write(t->buffers[r], 0, s->regions[r].given, s->regions[r].n_bytes));
    }
    for (int a = 0; a < t->n_arrays; a++) {
        const int i = kernel->operands[a];
        t->arrays[a] = s->event->arrays[a];
        if (s->region_of[i] < 0)
            continue;
        t->arrays[a].data = NULL;
        t->arrays[a].buffer = t->buffers[s->region_of[i]];
        t->arrays[a].offset = (int64_t)(s->at[i] * 8 / (size_t)clp_dtype_bits(kernel->ir->operands[i].dtype)) + s->bound->operands[i].offset;
    }
    return CLP_OK;
}

/* ---- One point ---- */

static clp_status launch(const tuner *t, const point *p, double *out_seconds)
{
    const double start = clpi_now();
    CLP_TRY(clp_run(p->kernel, t->arrays, t->n_arrays, &t->run));
    *out_seconds = clpi_now() - start;
    return CLP_OK;
}

/* The first launch, which caches and lazy allocations make slow, tells whether others are worth while. */
static clp_status measure(const tuner *t, point *p)
{
    const double start = clpi_now();
    double seconds;
    CLP_TRY(clpi_kernel_ready(p->kernel));
    p->tried.build_seconds += clpi_now() - start;
    CLP_TRY(fill(t));
    double spent = 0;
    for (int i = 0; i < LAUNCHES || spent < LEAST_SECONDS; i++) {
        CLP_TRY(launch(t, p, &seconds));
        spent += seconds;
        if (i == 0 || seconds < p->tried.seconds)
            p->tried.seconds = seconds;
        bool is_slow = t->best && p->tried.seconds > 2 * t->best->tried.seconds;
        if (clpi_now() - start > t->opts.try_seconds || (i >= LAUNCHES / 2 && is_slow))
            break;
    }
    return CLP_OK;
}

/* Compares the results of a box of the grid, all of it (box NULL), with the interpreter's. */
static clp_status compare_box(const tuner *t, point *p, const int64_t *start, const int64_t *count)
{
    clp_run_opts run = t->run;
    clp_report *report;
    run.grid_start = start;
    run.grid_count = count;
    CLP_TRY(clp_verify(p->kernel, t->given, t->n_arrays, &run, &report));
    if (clp_report_verdict(report) == CLP_VERDICT_FAULTY)
        p->tried.why_not = clpi_arena_printf(t->arena, "wrong: %s", clp_report_n_findings(report)
                                                                        ? clp_report_finding(report, 0)->message : "");
    clp_report_free(report);
    return t->arena->failed ? CLP_ERR_OOM : CLP_OK;
}

static clp_status take_results(tuner *t, const point *p, clpi_point_results *out)
{
    const clpi_snapshot *s = &t->check.snapshot;
    double seconds;
    if (!out->kept.bytes)
        CLP_TRY(clpi_kept_new(&t->check, &out->kept));
    CLP_TRY(fill(t));
    CLP_TRY(launch(t, p, &seconds));
    for (int r = 0; r < s->n_regions; r++)
        if (out->kept.bytes[r] && s->regions[r].n_bytes)
            CLP_TRY(clp_buffer_read(t->buffers[r], 0, out->kept.bytes[r], s->regions[r].n_bytes));
    out->kernel = p->kernel;         /* last: a run that failed has no results */
    out->params = p->tried.params;
    return CLP_OK;
}

/* Compares all results with those of the first point that was right, in most cases that of the defaults: block sizes are no part of
 * what a kernel computes. */
static clp_status compare_points(tuner *t, point *p)
{
    if (!t->first.kernel)
        return take_results(t, p, &t->first);
    CLP_TRY(take_results(t, p, &t->other));
    return clpi_points_compare(&t->check, &t->other, &t->first, t->arena, &p->tried.why_not);
}

/* All programs where that is quick, else the first sequence, and the last, which stands at the edges of the arrays. */
static clp_status compare_bound(const tuner *t, point *p, const clpi_bound *bound, clpi_arena *arena)
{
    const clpi_ir *ir = p->kernel->ir;
    clpi_work work;
    CLP_TRY(clpi_work_count(bound, NULL, arena, &work));
    if (work.flops + work.int_ops <= SMALL_WORK)
        return compare_box(t, p, NULL, NULL);
    int64_t *start = CLPI_NEW_N(arena, int64_t, (size_t)ir->n_axes), *count = CLPI_NEW_N(arena, int64_t, (size_t)ir->n_axes);
    if (!start || !count)
        return CLP_ERR_OOM;
    for (int last = 0; last < 2 && !p->tried.why_not; last++) {
        for (int i = 0; i < ir->n_axes; i++) {
            const int64_t size = bound->axis_size[i];
            start[i] = last && !ir->axes[i].is_arbitrary ? size - 1 : 0;
            count[i] = ir->axes[i].is_arbitrary ? size : 1;
        }
        CLP_TRY(compare_box(t, p, start, count));
    }
    return CLP_OK;
}

static clp_status compare(tuner *t, point *p)
{
    clp_event *event;
    clpi_launch_args args;
    p->is_compared = true;
    CLP_TRY(clpi_event_new(t->kernel->ctx, p->kernel, &event));
    clp_status status = clpi_launch_bind(event, t->arrays, t->n_arrays, &t->run, false, &args);
    if (!status)
        status = compare_bound(t, p, event->bound, &event->arena);
    clp_event_free(event);
    if (!status && !p->tried.why_not)
        status = compare_points(t, p);
    return status;
}

static void tell(const tuner *t, const point *p)
{
    if (t->opts.tried)
        t->opts.tried(&p->tried, t->opts.user);
}

static bool is_better(const point *a, const point *b)
{
    return !b || a->tried.seconds < b->tried.seconds;
}

static clp_status try_point(tuner *t, point *p)
{
    CLP_TRY(make_kernel(t, p));
    clp_status status = p->tried.why_not ? CLP_OK : measure(t, p);
    if (!status && !p->tried.why_not && is_better(p, t->best))
        status = compare(t, p);
    if (status)
        CLP_TRY(give_up(t, p, status));
    if (!p->tried.why_not && is_better(p, t->best))
        t->best = p;
    tell(t, p);
    return CLP_OK;
}

/* ---- All points ---- */

static const char *why_not_tried(const tuner *t, const point *p, double least)
{
    if (!p->tried.is_default && clpi_now() > t->end)
        return "not tried: there was no time left";
    if (!p->tried.is_default && isfinite(p->cycles) && p->cycles > MOST_TIMES_SLOWER * least)
        return "not tried: the model takes it for many times slower";
    if (t->opts.wants && !t->opts.wants(p->tried.params, t->opts.user))
        return "not tried: it is not wanted";
    return NULL;
}

static clp_status try_all(tuner *t)
{
    double least = INFINITY;
    for (int i = 0; i < t->n; i++)
        least = fmin(least, t->points[i].cycles);
    for (int i = 0; i < t->n; i++) {
        point *p = &t->points[i];
        if (isinf(p->cycles))
            CLP_TRY(make_kernel(t, p));
        if (!p->tried.why_not)
            p->tried.why_not = why_not_tried(t, p, least);
        if (!p->tried.why_not)
            CLP_TRY(try_point(t, p));
    }
    return CLP_OK;
}

/* The nearest to the best, which is the first; how many. */
static int choose_finalists(tuner *t, point **out)
{
    for (int n = 0; n < FINALISTS; n++) {
        out[n] = NULL;
        for (int i = 0; i < t->n; i++) {
            point *p = &t->points[i];
            bool is_in = p->tried.seconds > 0 && !p->tried.why_not && is_better(p, out[n]);
            for (int k = 0; k < n; k++)
                is_in = is_in && p != out[k];
            if (is_in)
                out[n] = p;
        }
        if (!out[n])
            return n;
    }
    return FINALISTS;
}

/* Launches them in turn. One that fails now is given up, as if it had failed before. */
static clp_status run_finals(tuner *t)
{
    point *finalists[FINALISTS];
    const int n = choose_finalists(t, finalists);
    const double start = clpi_now();
    for (int round = 0; n > 1 && clpi_now() - start < (round < FINAL_ROUNDS ? t->opts.seconds / 4 : LEAST_SECONDS); round++)
        for (int i = 0; i < n; i++) {
            point *p = finalists[i];
            double seconds;
            clp_status status = p->tried.why_not ? CLP_OK : launch(t, p, &seconds);
            if (status)
                CLP_TRY(give_up(t, p, status));
            if (!p->tried.why_not)
                p->tried.seconds = fmin(p->tried.seconds, seconds);
        }
    t->best = NULL;
    for (int i = 0; i < n; i++) {
        point *p = finalists[i];
        if (p->tried.why_not || !is_better(p, t->best))
            continue;
        clp_status status = p->is_compared ? CLP_OK : compare(t, p);
        if (status)
            CLP_TRY(give_up(t, p, status));
        if (!p->tried.why_not)
            t->best = p;
    }
    return CLP_OK;
}

static clp_status keep_best(tuner *t, clp_tuning *out)
{
    const point *defaults = t->points;     /* the first */
    if (!t->best) {
        out->not_kept = "no point ran with the interpreter's results";
        return CLP_OK;
    }
    t->best->tried.is_best = true;
    if (t->opts.keeps_nothing) {
        out->not_kept = "nothing is to be kept";
        return CLP_OK;
    }
    return clpi_tuned_keep(t->kernel, t->class, t->best->values, t->best->tried.seconds, defaults->tried.seconds, t->arena, &out->not_kept);
}

static clp_status tune(tuner *t, clp_tuning *out)
{
    clp_kernel *base = NULL;
    CLP_TRY(make_points(t));
    CLP_TRY(find_base(t, &base));
    CLP_TRY(make_arrays(t, base));
    CLP_TRY(try_all(t));
    CLP_TRY(run_finals(t));
    CLP_TRY(keep_best(t, out));
    out->tries = CLPI_NEW_N(t->arena, clp_try, (size_t)t->n + 1);
    if (!out->tries)
        return CLP_ERR_OOM;
    for (int i = 0; i < t->n; i++)
        out->tries[i] = t->points[i].tried;
    out->n = t->n;
    qsort(out->tries, (size_t)out->n, sizeof *out->tries, by_time);
    return CLP_OK;
}

static void tuner_done(tuner *t)
{
    for (int r = 0; t->buffers && r < t->check.snapshot.n_regions; r++)
        clp_buffer_free(t->buffers[r]);
    for (int i = 0; t->points && i < t->n; i++)
        clp_kernel_free(t->points[i].kernel);
    clpi_snapshot_close(&t->check);
    clp_report_free(t->check.report);
}

static clp_status check_args(clp_kernel *kernel, const clp_tune_opts *opts)
{
    clpi_env *env = &kernel->ctx->env;
    if (!kernel->choices)
        return clpi_fail(env, CLP_ERR_ARG, "%s: there is nothing to tune: no parameter with a `tune` list is left open", kernel->ir->name);
    if (opts->run && (opts->run->grid_start || opts->run->grid_count))
        return clpi_fail(env, CLP_ERR_ARG, "%s: a box of the grid has the defaults: there is nothing to tune", kernel->ir->name);
    if (!(opts->seconds >= 0) || !(opts->try_seconds >= 0))
        return clpi_fail(env, CLP_ERR_ARG, "%s: expected seconds of 0 or more", kernel->ir->name);
    return CLP_OK;
}

clp_status clp_tune(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_tune_opts *opts, clp_tuning **out_tuning)
{
    static const clp_tune_opts defaults = { .run = NULL };
    if (out_tuning)
        *out_tuning = NULL;
    if (!kernel)
        return CLP_ERR_ARG;
    clpi_env *env = &kernel->ctx->env;
    if (!out_tuning)
        return clpi_fail(env, CLP_ERR_ARG, "clp_tune: out_tuning is NULL");
    opts = opts ? opts : &defaults;
    CLP_TRY(check_args(kernel, opts));
    clp_tuning *tuning = clpi_alloc(env, 1, sizeof *tuning);
    if (!tuning)
        return CLP_ERR_OOM;
    tuning->env = env;
    clpi_arena_init(&tuning->arena, env);
    tuner t = { .env = env, .arena = &tuning->arena, .kernel = kernel, .given = arrays, .n_arrays = n_arrays, .opts = *opts };
    if (opts->run)
        t.run = *opts->run;
    t.opts.seconds = opts->seconds > 0 ? opts->seconds : 60;
    t.opts.try_seconds = opts->try_seconds > 0 ? opts->try_seconds : 10;
    t.end = clpi_now() + t.opts.seconds;
    clp_status status = tune(&t, tuning);
    tuner_done(&t);
    if (status)
        clp_tuning_free(tuning);
    else
        *out_tuning = tuning;
    return status;
}

void clp_tuning_free(clp_tuning *tuning)
{
    if (!tuning)
        return;
    clpi_env *env = tuning->env;
    clpi_arena_done(&tuning->arena);
    clpi_free(env, tuning, 1, sizeof *tuning);
}

int clp_tuning_n_tries(const clp_tuning *tuning)
{
    return tuning->n;
}

const clp_try *clp_tuning_try(const clp_tuning *tuning, int i_try)
{
    return i_try >= 0 && i_try < tuning->n ? &tuning->tries[i_try] : NULL;
}

const char *clp_tuning_not_kept(const clp_tuning *tuning)
{
    return tuning->not_kept;
}
