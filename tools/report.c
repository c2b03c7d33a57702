/* report: what a check found, as it is printed and as JSON.
 * In: a report. Out: text. Decides nothing: the words are the library's. */
#include "tool.h"

#include <math.h>

static void json_numbers(FILE *out, int n, const int64_t *numbers)
{
    fputc('[', out);
    for (int i = 0; i < n; i++)
        fprintf(out, "%s%lld", i ? ", " : "", (long long)numbers[i]);
    fputc(']', out);
}

static void json_text(FILE *out, const char *text)
{
    if (text)
        json_string(out, text);
    else
        fprintf(out, "null");
}

/* JSON has no infinities. */
static void json_number(FILE *out, double x)
{
    if (isfinite(x))
        fprintf(out, "%.9g", x);
    else
        fprintf(out, "null");
}

static void json_finding(FILE *out, const clp_finding *f)
{
    fprintf(out, "{\"kind\": \"%s\", \"operand\": ", clp_finding_name(f->kind));
    json_text(out, f->operand);
    fprintf(out, ", \"first_element\": ");
    if (f->first_element)
        json_numbers(out, f->rank, f->first_element);
    else
        fprintf(out, "null");
    fprintf(out, ", \"elements\": %lld", (long long)f->elements);
    if (f->first_element) {
        fprintf(out, ", \"box\": [");
        json_numbers(out, f->rank, f->box_start);
        fprintf(out, ", ");
        json_numbers(out, f->rank, f->box_end);
        fputc(']', out);
    }
    fprintf(out, ", \"programs\": [");
    for (int i = 0; i < f->n_programs; i++) {
        fprintf(out, "%s", i ? ", " : "");
        json_numbers(out, f->n_axes, f->programs[i]);
    }
    fprintf(out, "], \"accesses\": [");
    for (int i = 0; i < f->n_accesses; i++)
        fprintf(out, "%s{\"line\": %u, \"column\": %u}", i ? ", " : "", (unsigned)f->accesses[i].line, (unsigned)f->accesses[i].column);
    fprintf(out, "], \"axis\": ");
    json_text(out, f->axis);
    fprintf(out, ", \"message\": ");
    json_text(out, f->message);
    fputc('}', out);
}

static void json_difference(FILE *out, const clp_difference *d)
{
    fprintf(out, "{\"operand\": ");
    json_text(out, d->operand);
    fprintf(out, ", \"element\": ");
    if (d->operand)
        json_numbers(out, d->rank, d->element);
    else
        fprintf(out, "null");
    fprintf(out, ", \"abs\": ");
    json_number(out, d->abs);
    fprintf(out, ", \"rel\": ");
    json_number(out, d->rel);
    fprintf(out, ", \"ulp\": ");
    json_number(out, d->ulp);
    fputc('}', out);
}

void report_json(FILE *out, const clp_report *report)
{
    static const char *const verdicts[] = { "proved", "checked", "faulty" };
    const clp_difference d = clp_report_difference(report);
    fprintf(out, ", \"verdict\": \"%s\", \"findings\": [", verdicts[clp_report_verdict(report)]);
    for (int i = 0; i < clp_report_n_findings(report); i++) {
        fprintf(out, "%s\n  ", i ? "," : "");
        json_finding(out, clp_report_finding(report, i));
    }
    fprintf(out, "], \"dropped\": %lld, \"difference\": ", (long long)clp_report_n_dropped(report));
    json_difference(out, &d);
}

void report_findings(const clp_report *report)
{
    for (int i = 0; i < clp_report_n_findings(report); i++)
        fputs(clp_report_finding(report, i)->text, stdout);
    if (clp_report_n_dropped(report))
        printf("and %lld more findings\n", (long long)clp_report_n_dropped(report));
}
