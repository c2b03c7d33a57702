/* run: `clpallas run`. In: options. Out: outputs in files or printed, times, the comparison with the interpreter.
 * Decides how times are taken: the first run, which gives the results, is not among the N that are timed; those run on
 * device buffers of their own, so that results stay and no copies from the host are measured. What a kernel prints is
 * printed by the first run alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "run/run.h"
#include "tool.h"

typedef struct timing {
    double build_s, min_s, median_s;
    counts work;
} timing;

/* ---- Timing ---- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Buffers with the arrays' content: arrays of one storage share one buffer. */
static int buffers_new(job *j, clp_array *args, clp_buffer **buffers)
{
    for (int i = 0; i < j->n; i++) {
        args[i] = j->args[i];
        const size_t n_bytes = array_bytes(&j->args[i]);
        if (clp_kernel_operand(j->kernel, i).role == CLP_SCALAR)
            continue;
        args[i].data = NULL;
        for (int k = 0; k < i && !args[i].buffer; k++)
            if (j->args[k].data == j->args[i].data)
                args[i].buffer = args[k].buffer;
        if (args[i].buffer)
            continue;
        if (clp_buffer_new(j->ctx, n_bytes ? n_bytes : 1, &buffers[i]) ||
            (n_bytes && clp_buffer_write(buffers[i], 0, j->args[i].data, n_bytes)))
            return fail_library(j->ctx);
        args[i].buffer = buffers[i];
    }
    return DONE;
}

static int time_runs(job *j, timing *t)
{
    const int n_runs = j->o->n_runs;
    clp_run_opts opts;
    job_run_opts(j, &opts);
    clp_array *args = calloc((size_t)j->n + 1, sizeof *args);
    clp_buffer **buffers = calloc((size_t)j->n + 1, sizeof *buffers);
    double *times = calloc((size_t)n_runs, sizeof *times);
    int status = args && buffers && times ? buffers_new(j, args, buffers) : fail("out of memory");
    /* One more before the first that counts: caches and lazy allocations. */
    j->is_silent = true;
    for (int k = -1; !status && k < n_runs; k++) {
        const double start = seconds_now();
        if (clp_run(j->kernel, args, j->n, &opts))
            status = fail_library(j->ctx);
        if (k >= 0)
            times[k] = seconds_now() - start;
    }
    if (!status) {
        qsort(times, (size_t)n_runs, sizeof *times, by_size);
        t->min_s = times[0];
        t->median_s = (times[n_runs / 2] + times[(n_runs - 1) / 2]) / 2;
    }
    for (int i = 0; buffers && i < j->n; i++)
        clp_buffer_free(buffers[i]);
    free(args);
    free(buffers);
    free(times);
    return status;
}

static int count_work(job *j, counts *out)
{
    clpi_env *env = &j->ctx->env;
    clpi_arena arena;
    clpi_arena_init(&arena, env);
    clpi_bound *bound = NULL;
    const int status = bind_job(j, env, &arena, &bound);
    if (!status)
        *out = count_launch(j, bound);
    clpi_arena_done(&arena);
    return status;
}

static const char *with_unit(char *text, size_t n_bytes, double seconds)
{
    if (seconds >= 1)
        snprintf(text, n_bytes, "%.3g s", seconds);
    else if (seconds >= 1e-3)
        snprintf(text, n_bytes, "%.3g ms", seconds * 1e3);
    else
        snprintf(text, n_bytes, "%.3g us", seconds * 1e6);
    return text;
}

static void print_times(const job *j, const timing *t)
{
    char build[32], least[32], median[32];
    printf("%s on %s\n", clp_kernel_name(j->kernel), clp_context_device(j->ctx));
    printf("build %s, run %s (median %s of %d)", with_unit(build, sizeof build, t->build_s),
           with_unit(least, sizeof least, t->min_s), with_unit(median, sizeof median, t->median_s), j->o->n_runs);
    if (t->work.flops > 0)
        printf(", %.4g GFLOP/s", t->work.flops / t->min_s / 1e9);
    if (t->work.bytes > 0)
        printf(", %.3g GB/s", t->work.bytes / t->min_s / 1e9);
    putchar('\n');
}

/* ---- The comparison with the interpreter ---- */

/* What sums in another order, and elementary functions, may differ by (array_compare). */
static double bound_of(clp_dtype dtype)
{
    switch (dtype) {
    case CLP_F64: return 1e-12;
    case CLP_F32: return 1e-5;
    case CLP_F16: return 2e-3;
    case CLP_BF16: return 1.6e-2;
    default: return clpi_is_f8(dtype) ? 0.25 : 0;
    }
}

static void element_text(char *text, size_t n_bytes, const clp_array *a, int64_t i)
{
    int64_t index[CLP_MAX_RANK];
    for (int d = a->rank - 1; d >= 0; d--) {
        index[d] = i % a->shape[d];
        i /= a->shape[d];
    }
    size_t n = (size_t)snprintf(text, n_bytes, "[");
    for (int d = 0; d < a->rank && n < n_bytes; d++)
        n += (size_t)snprintf(text + n, n_bytes - n, "%s%lld", d ? ", " : "", (long long)index[d]);
    if (n < n_bytes)
        snprintf(text + n, n_bytes - n, "]");
}

static bool is_written(const job *j, int i)
{
    const clp_role role = clp_kernel_operand(j->kernel, i).role;
    return role == CLP_OUT || role == CLP_INOUT;
}

/* Copies of what the kernel writes, storage shared as in the originals; the rest as it is. */
static bool copy_written(const job *j, tool_array *copies, clp_array *args)
{
    for (int i = 0; i < j->n; i++)
        args[i] = j->args[i];
    for (int i = 0; i < j->n; i++) {
        if (!is_written(j, i) || args[i].data != j->args[i].data)
            continue;
        if (!array_copy(&copies[i], &j->args[i]))
            return false;
        for (int k = 0; k < j->n; k++)
            if (j->args[k].data == j->args[i].data) {
                args[k].data = copies[i].array.data;
                args[k].strides = NULL;
            }
    }
    return true;
}

/* Reports one operand; true when it agrees. */
static bool report(const job *j, int i, const clp_array *want, FILE *json)
{
    const clp_array *got = &j->args[i];
    const char *name = clp_kernel_operand(j->kernel, i).name;
    const difference d = array_compare(got, want, bound_of(got->dtype));
    char at[256] = "[]";
    if (d.worst >= 0)
        element_text(at, sizeof at, got, d.worst);
    if (json) {
        fprintf(json, "%s{\"operand\": ", ftell(json) > 0 ? ", " : "");
        json_string(json, name);
        fprintf(json, ", \"abs\": %.9g, \"elements\": %lld, \"beyond\": %lld}",
                d.worst < 0       ? 0
                : isfinite(d.abs) ? d.abs
                                  : 1e308,
                (long long)array_elems(got), (long long)d.n_beyond);
    } else if (d.n_beyond == 0 && j->o->quiet) {
        return true;
    } else if (d.worst < 0) {
        printf("%s: equal to the interpreter's, all %lld elements\n", name, (long long)array_elems(got));
    } else {
        printf(
            "%s: largest difference from the interpreter %.3g at %s (%.9g, interpreter %.9g); %s %g * (|value| + rms)",
            name, d.abs, at, d.got, d.want, d.n_beyond ? "allowed is" : "within", bound_of(got->dtype));
        if (d.n_beyond)
            printf("; %lld of %lld elements are beyond it", (long long)d.n_beyond, (long long)array_elems(got));
        putchar('\n');
    }
    return d.n_beyond == 0;
}

/* Runs on the interpreter what ran on the device, from the state kept before, and compares. */
static int verify(const job *j, const clp_array *before, FILE *json)
{
    job other;
    options o = *j->o;
    o.schedule = CLP_SCHEDULE_AUTO;
    int status = job_open_again(&other, j, &o, "interp");
    clp_run_opts opts;
    job_run_opts(j, &opts);
    if (!status && clp_run(other.kernel, before, j->n, &opts))
        status = fail_library(other.ctx);
    int found = DONE;
    for (int i = 0; !status && i < j->n; i++)
        if (is_written(j, i) && !report(j, i, &before[i], json))
            found = FOUND;
    job_done(&other);
    return status ? status : found;
}

/* ---- Outputs ---- */

static int write_outputs(const job *j)
{
    FILE *out = j->o->json ? stderr : stdout;      /* standard output is one object then */
    int status = DONE;
    for (int i = 0; !status && i < j->n; i++) {
        const clp_operand_info info = clp_kernel_operand(j->kernel, i);
        bool wanted = false;
        if (!is_written(j, i))
            continue;
        for (int k = 0; !status && k < j->o->outputs.n; k++) {
            const pair *p = &j->o->outputs.items[k];
            if (strcmp(p->name, info.name))
                continue;
            wanted = wanted || !p->value;
            if (p->value)
                status = array_write(&j->args[i], p->value);
        }
        /* Without any -o the results are shown, unless it is times or a comparison that are asked for. */
        const bool show = !j->o->outputs.n && !j->o->n_runs && !j->o->verify && !j->o->quiet && !j->o->json;
        if (!status && (wanted || show)) {
            fprintf(out, "%s: %s\n", info.name, clp_dtype_name(info.dtype));
            array_print(out, &j->args[i]);
        }
    }
    return status;
}

static void print_json(const job *j, const timing *t, const char *differences)
{
    static const char *const schedules[] = { "auto", "vector", "simt" };
    const clp_context *ctx = j->ctx;
    const char *schedule = strcmp(ctx->backend->name, "cl") != 0
                               ? ctx->backend->name
                               : schedules[clpi_cl_realisation(ctx->schedule, &ctx->limits)];
    printf("{\"kernel\": ");
    json_string(stdout, clp_kernel_name(j->kernel));
    printf(", \"device\": ");
    json_string(stdout, clp_context_device(j->ctx));
    printf(", \"schedule\": \"%s\", \"build_s\": %.9g", schedule, t->build_s);
    if (j->o->n_runs)
        printf(", \"time_s\": {\"min\": %.9g, \"median\": %.9g, \"runs\": %d}", t->min_s, t->median_s, j->o->n_runs);
    if (t->work.flops > 0)
        printf(", \"flops\": %.17g", t->work.flops);
    if (t->work.bytes > 0)
        printf(", \"bytes\": %.17g", t->work.bytes);
    if (differences)
        printf(", \"differences\": [%s]", differences);
    printf("}\n");
}

/* The kernel is ready: run it, and all that is asked about the run. */
static int run_job(job *j)
{
    const options *o = j->o;
    timing t = { .build_s = j->build_s };
    clp_run_opts opts;
    job_run_opts(j, &opts);
    tool_array *copies = calloc((size_t)j->n + 1, sizeof *copies);
    clp_array *before = calloc((size_t)j->n + 1, sizeof *before);
    int status = copies && before && (!o->verify || copy_written(j, copies, before)) ? DONE : fail("out of memory");
    const double start = seconds_now();
    if (!status && clp_run(j->kernel, j->args, j->n, &opts))
        status = fail_library(j->ctx);
    const double first_s = seconds_now() - start;
    if (!status && o->n_runs)
        status = time_runs(j, &t);
    /* What the first run took beyond an ordinary one went into building. */
    if (!status && o->n_runs && first_s > t.median_s)
        t.build_s += first_s - t.median_s;
    if (!status && o->n_runs)
        status = count_work(j, &t.work);
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *json = !status && o->json && o->verify ? open_memstream(&text, &n_bytes) : NULL;
    if (!status)
        status = write_outputs(j);
    if (!status && o->n_runs && !o->json)
        print_times(j, &t);
    if (!status && o->verify)
        status = verify(j, before, json);
    if (json)
        fclose(json);
    if ((status == DONE || status == FOUND) && o->json)
        print_json(j, &t, text);
    free(text);
    for (int i = 0; copies && i < j->n; i++)
        array_done(&copies[i]);
    free(copies);
    free(before);
    return status;
}

int command_run(const options *o)
{
    job j;
    int status = job_open(&j, o, o->on);
    if (!status && !strcmp(o->on, "auto") && !strcmp(j.ctx->backend->name, "interp") && !o->quiet)
        fprintf(stderr, "clpallas: no OpenCL device can be used here: running on the interpreter\n");
    if (!status)
        status = job_arrays(&j, false);
    if (!status)
        status = run_job(&j);
    job_done(&j);
    return status;
}
