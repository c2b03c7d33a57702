/* check: `clpallas check`: what is wrong with a kernel on given arrays, or that nothing is.
 * In: options. Out: the report as text or JSON; a picture of which program wrote what (map.c). Exit status 3 when something
 * was found. Decides nothing about faults: clp_check does. */
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

static void json_numbers(int n, const int64_t *numbers)
{
    putchar('[');
    for (int i = 0; i < n; i++)
        printf("%s%lld", i ? ", " : "", (long long)numbers[i]);
    putchar(']');
}

static void json_text(const char *text)
{
    if (text)
        json_string(stdout, text);
    else
        printf("null");
}

/* JSON has no infinities. */
static void json_number(double x)
{
    if (isfinite(x))
        printf("%.9g", x);
    else
        printf("null");
}

static void json_finding(const clp_finding *f)
{
    printf("{\"kind\": \"%s\", \"operand\": ", clp_finding_name(f->kind));
    json_text(f->operand);
    printf(", \"first_element\": ");
    if (f->first_element)
        json_numbers(f->rank, f->first_element);
    else
        printf("null");
    printf(", \"elements\": %lld", (long long)f->elements);
    if (f->first_element) {
        printf(", \"box\": [");
        json_numbers(f->rank, f->box_start);
        printf(", ");
        json_numbers(f->rank, f->box_end);
        putchar(']');
    }
    printf(", \"programs\": [");
    for (int i = 0; i < f->n_programs; i++) {
        printf("%s", i ? ", " : "");
        json_numbers(f->n_axes, f->programs[i]);
    }
    printf("], \"accesses\": [");
    for (int i = 0; i < f->n_accesses; i++)
        printf("%s{\"line\": %u, \"column\": %u}", i ? ", " : "", (unsigned)f->accesses[i].line, (unsigned)f->accesses[i].column);
    printf("], \"axis\": ");
    json_text(f->axis);
    printf(", \"message\": ");
    json_text(f->message);
    putchar('}');
}

static void json_difference(const clp_difference *d)
{
    printf("{\"operand\": ");
    json_text(d->operand);
    printf(", \"element\": ");
    if (d->operand)
        json_numbers(d->rank, d->element);
    else
        printf("null");
    printf(", \"abs\": ");
    json_number(d->abs);
    printf(", \"rel\": ");
    json_number(d->rel);
    printf(", \"ulp\": ");
    json_number(d->ulp);
    putchar('}');
}

static void print_json(const job *j, const clp_report *report)
{
    static const char *const verdicts[] = { "proved", "checked", "faulty" };
    const clp_difference d = clp_report_difference(report);
    printf("{\"kernel\": ");
    json_string(stdout, clp_kernel_name(j->kernel));
    printf(", \"device\": ");
    json_string(stdout, clp_context_device(j->ctx));
    printf(", \"verdict\": \"%s\", \"findings\": [", verdicts[clp_report_verdict(report)]);
    for (int i = 0; i < clp_report_n_findings(report); i++) {
        printf("%s\n  ", i ? "," : "");
        json_finding(clp_report_finding(report, i));
    }
    printf("], \"dropped\": %lld, \"difference\": ", (long long)clp_report_n_dropped(report));
    json_difference(&d);
    printf("}\n");
}

/* ---- The command ---- */

static void print_report(const job *j, const clp_report *report)
{
    if (j->o->json)
        print_json(j, report);
    else if (!j->o->quiet)
        fputs(clp_report_text(report), stdout);
    else
        for (int i = 0; i < clp_report_n_findings(report); i++)
            fputs(clp_report_finding(report, i)->text, stdout);
}

static int check_job(job *j)
{
    clp_run_opts run;
    clp_report *report;
    job_run_opts(j, &run);
    const unsigned checks = (j->o->only ? j->o->only : CLP_CHECK_DEFAULT) | j->o->also;
    const clp_check_opts opts = { .checks = checks, .run = &run, .n_shuffles = j->o->n_shuffles, .seed = j->o->seed };
    if (clp_check(j->kernel, j->args, j->n, &opts, &report))
        return fail_library(j->ctx);
    print_report(j, report);
    const int status = clp_report_verdict(report) == CLP_VERDICT_FAULTY ? FOUND : DONE;
    clp_report_free(report);
    return status;
}

int command_check(const options *o)
{
    job j;
    if (o->of && !o->svg)
        return fail_usage("check: --of says what --svg FILE draws");
    int status = job_open(&j, o, o->on);
    if (!status && !strcmp(o->on, "auto") && !strncmp(clp_context_device(j.ctx), "interp", 6) && !o->quiet)
        fprintf(stderr, "clpallas: no OpenCL device can be used here: the interpreter is compared with nothing\n");
    if (!status)
        status = job_arrays(&j, true);
    if (!status && o->svg)
        status = map_write(&j, o->svg, o->of);
    if (!status)
        status = check_job(&j);
    job_done(&j);
    return status;
}
