/* run: `clpallas run`. In: options. Out: outputs in files or printed, times, the comparison with the interpreter.
 * Decides how times are taken: the first run, which gives the results, is not among the N that are timed; those run on
 * device buffers of their own, so that results stay and no copies from the host are measured. What a kernel prints is
 * printed by the first run alone. */
#include <stdlib.h>
#include <string.h>

#include "run/run.h"
#include "tool.h"

typedef struct timing {
    double build_s, min_s, median_s;
    counts work;
} timing;

/* clp_chosen_by */
static const char *const chosen_by[] = { "given", "default", "model", "tuned" };

/* ---- Timing ---- */

static int time_runs(job *j, timing *t)
{
    clp_run_opts opts;
    job_run_opts(j, &opts);
    clp_array *args = calloc((size_t)j->n + 1, sizeof *args);
    clp_buffer **buffers = calloc((size_t)j->n + 1, sizeof *buffers);
    int status = args && buffers ? job_buffers(j, args, buffers) : fail("out of memory");
    j->is_silent = true;
    if (!status && clpi_time_launches(j->kernel, args, j->n, &opts, j->o->n_runs, &t->min_s, &t->median_s))
        status = fail_job(j);
    for (int i = 0; buffers && i < j->n; i++)
        clp_buffer_free(buffers[i]);
    free(args);
    free(buffers);
    return status;
}

static void print_times(const job *j, const timing *t)
{
    char build[32], least[32], median[32];
    printf("%s on %s", clp_kernel_name(j->kernel), clp_context_device(j->ctx));
    if (*j->choice.params)
        printf(", %s (%s)", j->choice.params, chosen_by[j->choice.by]);
    putchar('\n');
    if (t->work.programs == 0) {
        printf("build %s, nothing ran: the grid has no program\n", seconds_text(build, sizeof build, t->build_s));
        return;
    }
    printf("build %s, run %s (median %s of %d)", seconds_text(build, sizeof build, t->build_s),
           seconds_text(least, sizeof least, t->min_s), seconds_text(median, sizeof median, t->median_s), j->o->n_runs);
    if (t->work.flops > 0)
        printf(", %.4g GFLOP/s", t->work.flops / t->min_s / 1e9);
    if (t->work.bytes > 0)
        printf(", %.3g GB/s", t->work.bytes / t->min_s / 1e9);
    putchar('\n');
}

/* ---- The comparison with the interpreter ---- */

/* Says how the device's results compare; FOUND when they differ by more than rounding explains. */
static int print_comparison(const job *j, const clp_report *report)
{
    const char *name = clp_kernel_name(j->kernel);
    const clp_difference d = clp_report_difference(report);
    report_findings(report);
    if (clp_report_verdict(report) == CLP_VERDICT_FAULTY)
        return FOUND;
    if (j->o->quiet)
        return DONE;
    if (!strcmp(j->ctx->backend->name, "interp"))
        printf("%s: this is the interpreter: there is nothing to compare with\n", name);
    else if (!d.operand)
        printf("%s: equal to the interpreter's\n", name);
    else {
        printf("%s: as near to the interpreter's as rounding is; furthest off is %s[", name, d.operand);
        for (int i = 0; i < d.rank; i++)
            printf("%s%lld", i ? ", " : "", (long long)d.element[i]);
        printf("], by %.3g: %.9g, interpreter %.9g\n", d.abs, d.got, d.expected);
    }
    return DONE;
}

/* ---- Outputs ---- */

static bool is_written(const job *j, int i)
{
    const clp_role role = clp_kernel_operand(j->kernel, i).role;
    return role == CLP_OUT || role == CLP_INOUT;
}

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

static void print_json(const job *j, const timing *t, const clp_report *comparison)
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
        printf(", \"programs\": %.17g, \"time_s\": {\"min\": %.9g, \"median\": %.9g, \"runs\": %d}", t->work.programs, t->min_s, t->median_s,
               j->o->n_runs);
    if (*j->choice.params) {
        printf(", \"params\": ");
        json_string(stdout, j->choice.params);
        printf(", \"chosen_by\": \"%s\"", chosen_by[j->choice.by]);
    }
    if (t->work.flops > 0)
        printf(", \"flops\": %.17g", t->work.flops);
    if (t->work.bytes > 0)
        printf(", \"bytes\": %.17g", t->work.bytes);
    if (comparison)
        report_json(stdout, comparison);
    printf("}\n");
}

/* The kernel is ready: run it, and all that is asked about the run. */
static int run_job(job *j)
{
    const options *o = j->o;
    timing t = { .build_s = j->build_s };
    clp_run_opts opts;
    job_run_opts(j, &opts);
    clp_report *comparison = NULL;       /* from what the arrays hold before the run */
    int status = o->verify && clp_verify(j->kernel, j->args, j->n, &opts, &comparison) ? fail_job(j) : DONE;
    const double start = clpi_now();
    if (!status)
        status = clp_run(j->kernel, j->args, j->n, &opts) ? fail_job(j) : job_choose(j, false);
    const double first_s = clpi_now() - start;
    if (!status && o->n_runs)
        status = time_runs(j, &t);
    /* What the first run took beyond an ordinary one went into building. */
    if (!status && o->n_runs && first_s > t.median_s)
        t.build_s += first_s - t.median_s;
    if (!status && o->n_runs)
        status = count_launch(j, &t.work);
    if (!status)
        status = write_outputs(j);
    if (!status && o->n_runs && !o->json)
        print_times(j, &t);
    if (!status && o->json)
        print_json(j, &t, comparison);
    if (!status && comparison)
        status = o->json ? (clp_report_verdict(comparison) == CLP_VERDICT_FAULTY ? FOUND : DONE) : print_comparison(j, comparison);
    clp_report_free(comparison);
    return status;
}

int command_run(const options *o)
{
    job j;
    int status = job_open(&j, o, o->on);
    if (!status && !strcmp(o->on, "auto") && !strcmp(j.ctx->backend->name, "interp") && !o->quiet)
        fprintf(stderr, "clpallas: no OpenCL device can be used here: running on the interpreter\n");
    if (!status)
        status = job_arrays(&j, 0);
    if (!status)
        status = run_job(&j);
    job_done(&j);
    return status;
}
