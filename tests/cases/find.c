/* find: a case checked instead of run.
 * In: a kernel with its arrays, and what the case says will be found. Out: whether just that is found, and the reason if
 * not. Decides how a finding is written in a case:
 *
 *     race o[0, 0] x36: (0, 0, 0) at 4:5, (0, 0, 1) at 4:5, axis k
 *
 * kind, operand and first element, how many elements; then the programs, each with the place of its access in the
 * kernel's text; then the axis that would have to be `arbitrary`. What a finding has not is left out. A case that does not
 * say what is found is sound: nothing may be found in it; but if its run fails it must be found faulty. Orders are tried
 * where nothing, or an order, is to be found: which elements they change depends on the orders.                        */
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "support/support.h"

enum { FINDINGS_BYTES = 16384 };

bool find_name(const char *word, unsigned *out_check)
{
    static const struct { const char *name; unsigned check; } names[] = {
        { "non-finite", CLP_CHECK_NON_FINITE }, { "overflow", CLP_CHECK_OVERFLOW }, { "division-by-zero", CLP_CHECK_DIVISION }
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(word, names[i].name)) {
            *out_check = names[i].check;
            return true;
        }
    return false;
}

/* ---- Findings as text ---- */

static void put_numbers(text_room *t, const char *around, int n, const int64_t *numbers)
{
    put_text(t, "%c", around[0]);
    for (int i = 0; i < n; i++)
        put_text(t, "%s%lld", i ? ", " : "", (long long)numbers[i]);
    put_text(t, "%c", around[1]);
}

static void put_finding(text_room *t, const clp_finding *f)
{
    const char *separator = ": ";
    put_text(t, "%s", clp_finding_name(f->kind));
    if (f->operand)
        put_text(t, " %s", f->operand);
    if (f->first_element) {
        put_numbers(t, "[]", f->rank, f->first_element);
        put_text(t, " x%lld", (long long)f->elements);
    }
    for (int i = 0; i < f->n_programs || i < f->n_accesses; i++, separator = ", ") {
        put_text(t, "%s", separator);
        if (i < f->n_programs)
            put_numbers(t, "()", f->n_axes, f->programs[i]);
        if (i < f->n_accesses)
            put_text(t, "%sat %u:%u", i < f->n_programs ? " " : "", (unsigned)f->accesses[i].line, (unsigned)f->accesses[i].column);
    }
    if (f->axis)
        put_text(t, "%saxis %s", separator, f->axis);
    put_text(t, "\n");
}

/* ---- Judging ---- */

/* What the case does not say to be found is a false alarm; a run that fails is at fault in one way or another. */
static bool is_as_said(const asked *a, const clp_report *report, const char *found, char *reason, size_t n_bytes)
{
    const bool is_faulty = clp_report_verdict(report) == CLP_VERDICT_FAULTY;
    if (is_faulty != (clp_report_n_findings(report) > 0))
        snprintf(reason, n_bytes, "the verdict and the %d findings disagree", clp_report_n_findings(report));
    else if (a->finds && strcmp(found, a->finds))
        snprintf(reason, n_bytes, "expected to find\n%sfound\n%s%s", a->finds, found, clp_report_text(report));
    else if (!a->finds && a->outcome == DELIVERS && is_faulty)
        snprintf(reason, n_bytes, "nothing should be found, but\n%s%s", found, clp_report_text(report));
    else if (!a->finds && a->outcome != DELIVERS && !is_faulty)
        snprintf(reason, n_bytes, "nothing is found, though the run fails");
    else
        return true;
    return false;
}

/* The bits of all elements, to compare them with later. */
static uint64_t *bits_of(const clp_array *arrays, int n, size_t *out_bytes)
{
    size_t n_elems = 0;
    for (int i = 0; i < n; i++)
        n_elems += (size_t)array_elems(&arrays[i]);
    uint64_t *all = malloc((n_elems + 1) * sizeof *all), *at = all;
    if (!all)
        abort();
    for (int i = 0; i < n; i++)
        for (int64_t e = 0, n_of_array = array_elems(&arrays[i]); e < n_of_array; e++)
            *at++ = array_bits(&arrays[i], e);
    *out_bytes = n_elems * sizeof *all;
    return all;
}

static bool judge(const asked *a, const clp_report *report, char *reason, size_t n_bytes)
{
    char *found = calloc(1, FINDINGS_BYTES);
    if (!found)
        abort();
    text_room t = { found, FINDINGS_BYTES };
    for (int i = 0; i < clp_report_n_findings(report); i++)
        put_finding(&t, clp_report_finding(report, i));
    const bool ok = is_as_said(a, report, found, reason, n_bytes);
    free(found);
    return ok;
}

bool find_faults(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *run, const asked *a,
                 int n_shuffles, char *reason, size_t n_bytes)
{
    const bool has_orders = !a->finds || !*a->finds || strstr(a->finds, "order-dependent");
    const unsigned usual = CLP_CHECK_PROOFS | CLP_CHECK_RACES | CLP_CHECK_MEMORY | (has_orders ? CLP_CHECK_ORDERS : 0u);
    const clp_check_opts opts = { .checks = usual | a->checks, .run = run, .n_shuffles = n_shuffles };
    clp_report *report;
    size_t n_before, n_after;
    uint64_t *before = bits_of(arrays, n_arrays, &n_before);
    const clp_status st = clp_check(kernel, arrays, n_arrays, &opts, &report);
    uint64_t *after = bits_of(arrays, n_arrays, &n_after);
    bool ok = false;
    if (memcmp(before, after, n_before))
        snprintf(reason, n_bytes, "a check changed the arrays that it was given");
    else if (st)
        snprintf(reason, n_bytes, "%s", clp_status_name(st));
    else
        ok = judge(a, report, reason, n_bytes);
    clp_report_free(report);
    free(before);
    free(after);
    return ok || (st == CLP_ERR_ARG && a->outcome == IS_REFUSED);
}
