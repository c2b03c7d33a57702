/* fault: what a checked launch found.
 * In: the records of its groups (code.h draws them), the launch they are of. Out: nothing, or the failure that the interpreter
 * would have ended with; all records go to the dump. Decides which is named: each group has kept its first, and sequences
 * are dealt out to groups whole, so the one with the first sequence is the first of all.                                 */
#include <string.h>

#include "cl/cl.h"

/* Where a message looks prefetched elements up: programs do not change those. */
typedef struct reader { const clpi_cl_exe *exe; const clpi_bound *bound; const clpi_place *places; } reader;

static bool read_prefetched(void *user, int operand, const int64_t *index, int64_t *out_value)
{
    const reader *r = user;
    const clpi_operand *x = &r->exe->ir->operands[operand];
    int64_t at;
    if (!clpi_element_at(&r->bound->operands[operand], x->rank, index, &at))
        return false;
    uint64_t copy;
    size_t n_bits = (size_t)clp_dtype_bits(x->dtype), first = (size_t)at * n_bits;
    if (clpi_cl_read(r->places[operand].mem, r->places[operand].at + first / 8, &copy, (n_bits + 7) / 8))
        return false;
    *out_value = clpi_elem_at(x->dtype, &copy, clpi_is_packed(x->dtype) ? at & 1 : 0).i;
    return true;
}

static void message(reader *r, const int64_t *record, clpi_str *s)
{
    int64_t what = record[CLPI_RECORD_WHAT];
    const int64_t *program = record + CLPI_RECORD_PROGRAM, *index = program + r->exe->ir->n_axes;
    if (what < 0)
        clpi_window_message(r->bound, (int)(-1 - what), program, &(clpi_prefetch){ read_prefetched, r }, s);
    else if (r->exe->ir->ops.items[what].kind == CLP_OP_assert)
        clpi_assert_message(r->bound, (uint32_t)what, program, s);
    else
        clpi_index_message(r->bound, (uint32_t)what, program, index, s);
}

/* Has record a an earlier sequence than b? Programs of one sequence never are of two groups. */
static bool is_earlier(const clpi_plan *plan, const int64_t *a, const int64_t *b)
{
    for (int i = 0; i < plan->n_parallel; i++) {
        int at = CLPI_RECORD_PROGRAM + plan->parallel[i];
        if (a[at] != b[at])
            return a[at] < b[at];
    }
    return false;
}

clp_status clpi_cl_report_faults(const clpi_cl_exe *exe, const clpi_bound *bound, const clpi_place *places, const int64_t *faults,
                                 uint64_t n_groups)
{
    const clpi_host *host = &exe->dev->host;
    const int64_t *first = NULL;
    int64_t n_faults = 0;
    reader r = { exe, bound, places };
    clpi_str all, text;
    clpi_str_init(&all, host->env);
    clpi_str_init(&text, host->env);
    for (uint64_t g = 0; g < n_groups; g++) {
        const int64_t *record = faults + g * (uint64_t)exe->code->fault_words;
        if (record[CLPI_RECORD_COUNT] == 0)
            continue;
        n_faults += record[CLPI_RECORD_COUNT];
        if (!first || is_earlier(exe->plan, record, first))
            first = record;
        if (host->dump) {
            clpi_str_puts(&text, "\n");
            message(&r, record, &text);
        }
    }
    clp_status status = CLP_OK;
    if (first && host->dump) {
        clpi_str_add(&all, n_faults == 1 ? "%lld fault%s\n" : "%lld faults; the first of each group:%s\n", (long long)n_faults,
                     text.text);
        if (!all.failed && !text.failed)
            host->dump("faults", exe->ir->name, all.text, host->dump_user);
    }
    if (first) {
        clpi_str_cut(&text, 0);
        message(&r, first, &text);
        status = text.failed || all.failed ? CLP_ERR_OOM : clpi_fail(host->env, CLP_ERR_RUN, "%s", text.text);
    }
    clpi_str_done(&text);
    clpi_str_done(&all);
    return status;
}
