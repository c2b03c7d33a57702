/* print: what a launch wrote to its log, as lines.
 * In: the words of a log (code.h draws them), as the device left them. Out: one call of the context's print function a line.
 * Decides the order: by sequence, then step, then as they stand in the log, where the lines of one program are in order. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cl/cl.h"
#include "ir/format.h"

typedef struct record {
    const uint32_t *words;
    uint64_t        sequence, step;
} record;

typedef struct records { record *items; uint32_t n, cap; } records;

static uint64_t wide(const uint32_t *low)
{
    return (uint64_t)low[1] << 32 | low[0];
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_order(const void *x, const void *y)
{
    const record *a = x, *b = y;
    int order = compare_u64(a->sequence, b->sequence);
    order = order ? order : compare_u64(a->step, b->step);
    return order ? order : (a->words > b->words) - (a->words < b->words);
}

/* false: out of memory. */
static bool collect(clpi_arena *arena, const uint32_t *log, uint32_t n_words, records *out)
{
    for (uint32_t at = 2; at + CLPI_LOG_HEAD <= n_words && log[at] != 0;) {
        const uint32_t *w = &log[at];
        assert(w[1] <= n_words - at - CLPI_LOG_HEAD);
        if (!CLPI_PUSH(arena, out, (record){ w, wide(w + 2), wide(w + 4) }))
            return false;
        at += CLPI_LOG_HEAD + w[1];
    }
    return true;
}

/* The line of one record. The elements of all operands follow one another. */
static void format_record(const clpi_ir *ir, const record *r, const clpi_elem **vals, clpi_elem *elems, clpi_str *line)
{
    const clpi_op *op = clpi_op_at(ir, (clp_val){ r->words[0] });
    uint32_t n = r->words[1] / 2, at = 0;
    for (uint32_t i = 0; i < n; i++)
        elems[i].u = wide(r->words + CLPI_LOG_HEAD + 2 * (size_t)i);
    for (uint32_t i = 0; i < op->n_args; i++) {
        vals[i] = elems + at;
        at += (uint32_t)clpi_type_elems(clpi_type_of(ir, clpi_args(ir, op)[i]));
    }
    assert(at == n);
    clpi_str_cut(line, 0);
    clpi_format_print(ir, op, vals, line);
}

static clp_status print_records(const clpi_cl_exe *exe, clpi_arena *arena, const records *list)
{
    const clpi_host *host = &exe->dev->host;
    uint32_t most_elems = 0, most_args = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t n = list->items[i].words[1] / 2, args = clpi_op_at(exe->ir, (clp_val){ list->items[i].words[0] })->n_args;
        most_elems = n > most_elems ? n : most_elems;
        most_args = args > most_args ? args : most_args;
    }
    clpi_elem *elems = CLPI_NEW_N(arena, clpi_elem, (size_t)most_elems + 1);
    const clpi_elem **vals = CLPI_NEW_N(arena, const clpi_elem *, (size_t)most_args + 1);
    if (!elems || !vals)
        return CLP_ERR_OOM;
    clpi_str line;
    clpi_str_init(&line, host->env);
    for (uint32_t i = 0; i < list->n && !line.failed; i++) {
        format_record(exe->ir, &list->items[i], vals, elems, &line);
        if (!line.failed)
            host->print(line.text, host->print_user);
    }
    clp_status status = line.failed ? CLP_ERR_OOM : CLP_OK;
    clpi_str_done(&line);
    return status;
}

clp_status clpi_cl_print_log(const clpi_cl_exe *exe, const uint32_t *log, uint32_t n_words)
{
    const clpi_host *host = &exe->dev->host;
    if (!host->print)
        return CLP_OK;
    clpi_arena arena;
    clpi_arena_init(&arena, host->env);
    records list = { 0 };
    clp_status status = collect(&arena, log, n_words, &list) ? CLP_OK : CLP_ERR_OOM;
    if (!status && list.n > 0) {
        qsort(list.items, list.n, sizeof *list.items, by_order);
        status = print_records(exe, &arena, &list);
    }
    clpi_arena_done(&arena);
    if (!status && log[0] > n_words)
        host->print("print: the device's log is full; what came later is lost", host->print_user);
    return status;
}
