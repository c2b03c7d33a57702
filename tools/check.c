/* check: `clpallas check`: what is wrong with a kernel on given arrays, or that nothing is.
 * In: options. Out: the report as text or JSON; a picture of which program wrote what (map.c). Exit status 3 when something
 * was found. Decides nothing about faults: clp_check does. */
#include "tool.h"

#include <string.h>

static void json_made_up(const job *j)
{
    int n = 0;
    printf(", \"made_up\": [");
    for (int i = 0; i < j->n; i++)
        if (j->arrays[i].made_up) {
            printf("%s", n++ ? ", " : "");
            json_string(stdout, clp_kernel_operand(j->kernel, i).name);
        }
    putchar(']');
}

/* What was found on data that nobody gave may be the data's fault. */
static void print_made_up(const job *j)
{
    int n = 0;
    for (int i = 0; i < j->n; i++)
        if (j->arrays[i].made_up)
            printf("%s%s = %s", n++ ? ", " : "found on arrays that were made up: ", clp_kernel_operand(j->kernel, i).name, j->arrays[i].made_up);
    if (n)
        printf("; give your own with -i\n");
}

static void print_report(const job *j, const clp_report *report)
{
    if (j->o->json) {
        printf("{\"kernel\": ");
        json_string(stdout, clp_kernel_name(j->kernel));
        printf(", \"device\": ");
        json_string(stdout, clp_context_device(j->ctx));
        report_json(stdout, report);
        json_made_up(j);
        printf("}\n");
        return;
    }
    if (j->o->quiet)
        report_findings(report);
    else
        fputs(clp_report_text(report), stdout);
    if (clp_report_n_findings(report))
        print_made_up(j);
}

static int check_job(job *j)
{
    clp_run_opts run;
    clp_report *report;
    job_run_opts(j, &run);
    const unsigned checks = (j->o->only ? j->o->only : CLP_CHECK_DEFAULT) | j->o->also;
    const clp_check_opts opts = { .checks = checks, .run = &run, .n_shuffles = j->o->n_shuffles, .seed = j->o->seed };
    if (clp_check(j->kernel, j->args, j->n, &opts, &report))
        return fail_job(j);
    print_report(j, report);
    const int status = clp_report_verdict(report) == CLP_VERDICT_FAULTY ? FOUND : DONE;
    clp_report_free(report);
    return status;
}

int command_check(const options *o)
{
    job j;
    int status = job_open(&j, o, o->on);
    if (!status && !strcmp(o->on, "auto") && !strncmp(clp_context_device(j.ctx), "interp", 6) && !o->quiet)
        fprintf(stderr, "clpallas: no OpenCL device can be used here: the interpreter is compared with nothing\n");
    if (!status)
        status = job_arrays(&j, MAKE_UP_MISSING);
    if (!status && o->svg)
        status = job_choose(&j, true);
    if (!status && o->svg)
        status = map_write(&j, o->svg, o->of);
    if (!status)
        status = check_job(&j);
    job_done(&j);
    return status;
}
