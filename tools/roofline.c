/* roofline: `clpallas roofline`: how near a launch comes to what the device can do, and how that changes with block sizes.
 * In: options. Out: tables in the terminal, JSON, or a picture (roofline_svg.c); what is compared is clp_roofline's.
 * Decides which block sizes are tried: all points of the kernel's `tune` lists that -p leaves open where they are few, else
 * one parameter at a time, the others as they are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/choose.h"
#include "tool.h"

enum { USUAL_POINTS = 12, NUMBER = 32 };

/* ---- Numbers ---- */

/* "2.1 G" of 2.1e9. */
static const char *count_text(char *text, double value)
{
    static const char *const prefixes[] = { "", " k", " M", " G", " T", " P" };
    int i = 0;
    while (i < 5 && value >= 999.5) {
        value /= 1000;
        i++;
    }
    snprintf(text, NUMBER, "%.3g%s", value, prefixes[i]);
    return text;
}

static const char *bytes_text(char *text, double value)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    int i = 0;
    while (i < 4 && value >= 1024) {
        value /= 1024;
        i++;
    }
    snprintf(text, NUMBER, value < 9.995 ? "%.3g %s" : value < 99.95 ? "%.1f %s" : "%.0f %s", value, units[i]);
    return text;
}

static double all_ops(const clp_roofline_point *p)
{
    return p->float_ops + p->int_ops;
}

/* "FLOP/s", or "OP/s" where only integers are computed with. */
static const char *rate_unit(const clp_roofline_point *p)
{
    return p->int_ops > p->float_ops ? "OP/s" : "FLOP/s";
}

/* ---- Other block sizes ---- */

/* The next point to be tried, unless it is among them. */
static bool add_point(const clpi_choices *c, sweep *s, const int64_t *values)
{
    const size_t n_open = (size_t)clpi_n_open(c);
    for (int i = 0; i < s->n; i++)
        if (!memcmp(s->items[i].values, values, n_open * sizeof *values))
            return true;
    int64_t *kept = CLPI_NEW_N(&s->arena, int64_t, n_open);
    const char *params = clpi_point_params(c, values, &s->arena);
    if (!kept || !params)
        return false;
    memcpy(kept, values, n_open * sizeof *values);
    s->items[s->n++] = (sweep_point){ .values = kept, .params = params };
    return true;
}

static bool choose_all(const clpi_choices *c, sweep *s)
{
    int64_t values[CLPI_MAX_OPEN];
    for (int i = 1; i <= s->n_all; i++) {
        clpi_point(c, i, values);
        if (!add_point(c, s, values))
            return false;
    }
    return true;
}

/* Where in a list the value stands that is `step` away from the parameter's own: 0, 1 behind it, 1 before it, 2 behind it, ... -1: there
 * is none.                                                                                                              */
static int place_near(const clpi_tune *list, int step)
{
    int own = 0;
    for (int k = 0; k < list->n_values; k++)
        if (list->values[k] <= list->value)
            own = k;
    const int at = own + (step % 2 ? (step + 1) / 2 : -step / 2);
    return at >= 0 && at < list->n_values ? at : -1;
}

/* The parameters as they are, then one of them changed, neighbours first. */
static bool choose_near(const clpi_choices *c, sweep *s, int n_most)
{
    int64_t values[CLPI_MAX_OPEN];
    clpi_point(c, 0, values);
    bool ok = add_point(c, s, values);
    for (int step = 1; step < 64; step++)
        for (int i = 0; ok && i < clpi_n_open(c) && s->n < n_most; i++) {
            const clpi_tune *list = clpi_open_list(c, i);
            const int at = place_near(list, step);
            if (at < 0)
                continue;
            values[i] = list->values[at];
            ok = add_point(c, s, values);
            values[i] = list->value;
        }
    return ok;
}

/* Building and running takes a while: on a terminal it is said what is under way. */
static void say_progress(const job *j, const char *what, int i, int n)
{
    if (j->o->quiet || !isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r\033[K%s", what);
    if (n)
        fprintf(stderr, " (%d of %d)", i + 1, n);
}

static void try_point(job *j, const clp_array *args, const clp_roofline_opts *opts, sweep_point *p)
{
    clp_status st = job_variant(j, p->values, &p->kernel);
    if (!st)
        st = clp_roofline(p->kernel, args, j->n, opts, &p->at);
    if (st)
        snprintf(p->why, sizeof p->why, "%.*s", (int)strcspn(clp_last_error(j->ctx), "\n"), clp_last_error(j->ctx));
}

static int sweep_points(job *j, const clp_array *args, const clp_roofline_opts *opts, sweep *s)
{
    const clpi_choices *c = j->member->choices;
    const int n_most = j->o->n_points < 0 ? USUAL_POINTS : j->o->n_points;
    if (!c || n_most == 0)
        return DONE;
    s->items = calloc((size_t)n_most + 1, sizeof *s->items);
    s->n_all = clpi_n_points(c) - 1;           /* the defaults come beside those of the lists */
    if (!s->items || !(s->n_all <= n_most ? choose_all(c, s) : choose_near(c, s, n_most)))
        return fail("out of memory");
    for (int i = 0; i < s->n; i++) {
        say_progress(j, s->items[i].params, i, s->n);
        try_point(j, args, opts, &s->items[i]);
    }
    return DONE;
}

/* ---- In the terminal ---- */

static void print_ops(const clp_roofline_point *p)
{
    char ops[NUMBER], peak[NUMBER], time[NUMBER];
    if (p->n_ops)
        printf("\n  %-14s %12s %18s %12s\n", "operations", "number", "peak", "takes");
    for (int i = 0; i < p->n_ops; i++) {
        const clp_roofline_ops *o = &p->ops[i];
        char name[48], rate[2 * NUMBER];
        snprintf(name, sizeof name, o->is_dot && o->acc != o->dtype ? "%s%s to %s" : "%s%s", o->is_dot ? "dot " : "", clp_dtype_name(o->dtype),
                 clp_dtype_name(o->acc));
        snprintf(rate, sizeof rate, "%s%s", count_text(peak, o->peak), clpi_is_float(o->dtype) ? "FLOP/s" : "OP/s");
        printf("  %-14s %12s %18s %12s\n", name, count_text(ops, o->ops), rate, seconds_text(time, NUMBER, o->ops / o->peak));
    }
}

static void print_operands(const clp_roofline_point *p)
{
    char block[NUMBER], fetches[NUMBER], read[NUMBER], written[NUMBER], once[NUMBER];
    printf("\n  %-14s %12s %12s %12s %12s %20s\n", "operand", "block", "comes", "read", "written", "every element once");
    for (int i = 0; i < p->n_operands; i++) {
        const clp_roofline_operand *o = &p->operands[i];
        printf("  %-14s %12s %12s %12s %12s %20s\n", o->name, bytes_text(block, o->block_bytes), count_text(fetches, o->fetches),
               bytes_text(read, o->read), bytes_text(written, o->written), bytes_text(once, o->once));
    }
    printf("  %-14s %12s %12s %25s %20s\n", "all", "", "", bytes_text(read, p->streamed_bytes), bytes_text(once, p->bytes));
}

static void print_roof(const clp_roofline_point *p)
{
    char a[NUMBER], b[NUMBER], c[NUMBER], d[NUMBER], e[NUMBER];
    const double ops = all_ops(p);
    if (ops > 0 && p->bytes > 0)
        printf("\n  intensity     %.3g operations a byte when every element moves once, %.3g as blocks come\n", p->intensity,
               ops / p->streamed_bytes);
    printf("%s  at least      %s to compute, %s to move %s (a copy of as much: %sB/s), %s to launch\n", ops > 0 && p->bytes > 0 ? "" : "\n",
           seconds_text(a, NUMBER, p->compute_s), seconds_text(b, NUMBER, p->memory_s), bytes_text(c, p->bytes), count_text(d, p->peak_bytes_s),
           seconds_text(e, NUMBER, p->launch_s));
    printf("  attainable    %s", seconds_text(a, NUMBER, p->attainable_s));
    if (ops > 0)
        printf(", %s%s", count_text(b, p->attainable_ops_s), rate_unit(p));
    printf(": bound by %s\n", p->roof == CLP_ROOF_LAUNCH ? "the launch itself" : p->roof == CLP_ROOF_MEMORY ? "memory" : "compute");
    if (p->seconds > 0) {
        printf("  attained      %s (median %s)", seconds_text(a, NUMBER, p->seconds), seconds_text(b, NUMBER, p->median_s));
        if (ops > 0)
            printf(", %s%s", count_text(c, p->ops_s), rate_unit(p));
        printf(", %sB/s: %.0f %% of what is attainable\n", count_text(d, p->bytes / p->seconds), 100 * p->attainable_s / p->seconds);
    }
    if (!p->is_exact)
        printf("  Some counts are estimates: data decide what runs, or which blocks are seen.\n");
}

static void print_sweep(const sweep *s)
{
    char block[NUMBER], streamed[NUMBER], time[NUMBER], rate[NUMBER];
    int width = 10;
    if (!s->n)
        return;
    for (int i = 0; i < s->n; i++)
        width = (int)strlen(s->items[i].params) > width ? (int)strlen(s->items[i].params) : width;
    printf("\n  With other block sizes");
    if (s->n_all > s->n)
        printf(" (%d of %d points of the lists)", s->n, s->n_all);
    printf(":\n  %-*s %12s %12s %10s %12s %12s %12s\n", width, "", "blocks", "as they come", "ops/byte", "time", "operations/s", "% attainable");
    for (int i = 0; i < s->n; i++) {
        const sweep_point *p = &s->items[i];
        double blocks = 0;
        for (int k = 0; k < p->at.n_operands; k++)
            blocks += p->at.operands[k].block_bytes;
        if (*p->why)
            printf("  %-*s %s\n", width, p->params, p->why);
        else
            printf("  %-*s %12s %12s %10.3g %12s %12s %12.0f\n", width, p->params, bytes_text(block, blocks), bytes_text(streamed, p->at.streamed_bytes),
                   p->at.streamed_bytes > 0 ? all_ops(&p->at) / p->at.streamed_bytes : 0, seconds_text(time, NUMBER, p->at.seconds),
                   count_text(rate, p->at.ops_s), 100 * p->at.attainable_s / p->at.seconds);
    }
}

static int print_title(job *j)
{
    clpi_arena arena;
    clpi_bound *bound = NULL;
    char title[1024];
    clpi_arena_init(&arena, &j->ctx->env);
    const int status = bind_job(j, &arena, &bound);
    if (!status) {
        grid_title(title, sizeof title, j, bound);
        printf("%s, on %s\n", title, clp_context_device(j->ctx));
    }
    clpi_arena_done(&arena);
    return status;
}

/* ---- JSON ---- */

static void json_counts(const clp_roofline_point *p)
{
    printf("\"programs\": %.17g, \"operations\": [", p->programs);
    for (int i = 0; i < p->n_ops; i++)
        printf("%s{\"dot\": %s, \"dtype\": \"%s\", \"acc\": \"%s\", \"ops\": %.17g, \"peak\": %.9g}", i ? ", " : "", p->ops[i].is_dot ? "true" : "false",
               clp_dtype_name(p->ops[i].dtype), clp_dtype_name(p->ops[i].acc), p->ops[i].ops, p->ops[i].peak);
    printf("], \"operands\": [");
    for (int i = 0; i < p->n_operands; i++) {
        printf("%s{\"operand\": ", i ? ", " : "");
        json_string(stdout, p->operands[i].name);
        printf(", \"block\": %.17g, \"fetches\": %.17g, \"read\": %.17g, \"written\": %.17g, \"once\": %.17g}", p->operands[i].block_bytes,
               p->operands[i].fetches, p->operands[i].read, p->operands[i].written, p->operands[i].once);
    }
    printf("], \"float_ops\": %.17g, \"int_ops\": %.17g, \"bytes\": %.17g, \"streamed_bytes\": %.17g, \"exact\": %s", p->float_ops, p->int_ops,
           p->bytes, p->streamed_bytes, p->is_exact ? "true" : "false");
}

static void json_point(const clp_roofline_point *p)
{
    json_counts(p);
    printf(", \"intensity\": %.9g, \"peak_bytes_s\": %.9g, \"compute_s\": %.9g, \"memory_s\": %.9g, \"launch_s\": %.9g, \"roof\": \"%s\", "
           "\"attainable_s\": %.9g, \"attainable_ops_s\": %.9g, \"time_s\": {\"min\": %.9g, \"median\": %.9g}, \"ops_s\": %.9g",
           p->intensity, p->peak_bytes_s, p->compute_s, p->memory_s, p->launch_s, clp_roof_name(p->roof), p->attainable_s, p->attainable_ops_s,
           p->seconds, p->median_s, p->ops_s);
}

static void print_json(const job *j, const clp_roofline_point *at, const sweep *s)
{
    printf("{\"kernel\": ");
    json_string(stdout, clp_kernel_name(j->kernel));
    printf(", \"device\": ");
    json_string(stdout, clp_context_device(j->ctx));
    printf(", ");
    json_point(at);
    printf(", \"points\": [");
    for (int i = 0; i < s->n; i++) {
        printf("%s{\"params\": ", i ? ", " : "");
        json_string(stdout, s->items[i].params);
        printf(", ");
        if (*s->items[i].why) {
            printf("\"error\": ");
            json_string(stdout, s->items[i].why);
        } else {
            json_point(&s->items[i].at);
        }
        putchar('}');
    }
    printf("]}\n");
}

/* ---- All of it ---- */

static int report(job *j, const clp_array *args)
{
    clp_run_opts run;
    clp_roofline_point at;
    sweep s = { 0 };
    j->is_silent = true;
    clpi_arena_init(&s.arena, &j->ctx->env);
    job_run_opts(j, &run);
    clp_roofline_opts opts = { .run = &run, .n_runs = j->o->n_runs, .measure = j->o->measure };
    say_progress(j, "running, and measuring what is not known of the device", 0, 0);
    const clp_status st = clp_roofline(j->kernel, args, j->n, &opts, &at);
    opts.measure = false;
    int status = st ? DONE : job_choose(j, false);
    if (!st && !status)
        status = sweep_points(j, args, &opts, &s);
    say_progress(j, "", 0, 0);
    if (st)
        status = fail_job(j);
    if (!status && j->o->svg)
        status = svg_write_roofline(j->o->svg, j, &at, &s);
    if (!status && j->o->json) {
        print_json(j, &at, &s);
    } else if (!status && !j->o->svg) {
        status = print_title(j);
        if (!status && !j->o->quiet) {
            print_ops(&at);
            print_operands(&at);
        }
        if (!status) {
            print_roof(&at);
            print_sweep(&s);
        }
    }
    for (int i = 0; i < s.n; i++)
        clp_kernel_free(s.items[i].kernel);
    free(s.items);
    clpi_arena_done(&s.arena);
    return status;
}

int command_roofline(const options *o)
{
    job j;
    int status = job_open(&j, o, o->on);
    if (!status && !strcmp(o->on, "auto") && !strncmp(clp_context_device(j.ctx), "interp", 6) && !o->quiet)
        fprintf(stderr, "clpallas: no OpenCL device can be used here: this is the interpreter\n");
    if (!status)
        status = job_arrays(&j, MAKE_UP_MISSING);
    clp_array *args = calloc((size_t)j.n + 1, sizeof *args);
    clp_buffer **buffers = calloc((size_t)j.n + 1, sizeof *buffers);
    if (!status)
        status = args && buffers ? job_buffers(&j, args, buffers) : fail("out of memory");
    if (!status)
        status = report(&j, args);
    for (int i = 0; buffers && i < j.n; i++)
        clp_buffer_free(buffers[i]);
    free(args);
    free(buffers);
    job_done(&j);
    return status;
}
