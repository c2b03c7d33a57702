/* memo: what launches were found to be, so that the next of the same shape need not be worked out and checked again.
 * In: a launch whose arrays, dims and scalars are bound, and the box it asks for. Out: the rest of its numbers (bind.h).
 * What they follow from is the key: dims, the scalars that the header reads, the box. The newest few are kept, behind a
 * lock: launches come from several threads.                                                                              */
#include <pthread.h>
#include <string.h>

#include "plan/bind.h"

enum { N_ENTRIES = 8 };

/* One launch. */
typedef struct entry {
    int64_t *dims, *scalars;   /* [n_dims], [n_scalars] */
    int64_t *start, *count;    /* [n_axes] the box, as far as it was given */
    bool     has_start, has_count;
    int64_t *numbers;          /* [n_numbers] of bound->axis_size and what stands behind it */
    bool    *all_full;         /* [n_operands] */
    uint64_t n_sequences, n_steps;
} entry;

struct clpi_memo {
    pthread_mutex_t lock;
    int            *scalars;   /* [n_scalars] those that the header reads */
    size_t          n_scalars, n_numbers;
    entry           entries[N_ENTRIES];
    int             n, next;   /* entries in use; the one to be replaced next */
};

static bool header_reads(const clpi_ir *ir, int operand)
{
    for (uint32_t id = 1; id < ir->n_header; id++)
        if (ir->ops.items[id].kind == CLP_OP_load && ir->ops.items[id].operand == operand)
            return true;
    return false;
}

static bool entry_new(const clpi_memo *memo, const clpi_ir *ir, clpi_arena *arena, entry *e)
{
    const size_t n_axes = (size_t)ir->n_axes;
    e->dims = CLPI_NEW_N(arena, int64_t, (size_t)ir->n_dims);
    e->scalars = CLPI_NEW_N(arena, int64_t, memo->n_scalars);
    e->start = CLPI_NEW_N(arena, int64_t, n_axes);
    e->count = CLPI_NEW_N(arena, int64_t, n_axes);
    e->numbers = CLPI_NEW_N(arena, int64_t, memo->n_numbers);
    e->all_full = CLPI_NEW_N(arena, bool, (size_t)ir->n_operands);
    return !arena->failed;
}

clp_status clpi_memo_new(const clpi_plan *plan, clpi_arena *arena, clpi_memo **out_memo)
{
    const clpi_ir *ir = plan->ir;
    clpi_memo *memo = CLPI_NEW(arena, clpi_memo);
    int *scalars = CLPI_NEW_N(arena, int, (size_t)ir->n_operands);
    *out_memo = NULL;
    if (!memo || !scalars)
        return CLP_ERR_OOM;
    memo->scalars = scalars;
    for (int i = 0; i < ir->n_operands; i++)
        if (ir->operands[i].role == CLP_SCALAR && header_reads(ir, i))
            scalars[memo->n_scalars++] = i;
    memo->n_numbers = 3 * (size_t)ir->n_axes + ir->n_header;
    for (int e = 0; e < N_ENTRIES; e++)
        if (!entry_new(memo, ir, arena, &memo->entries[e]))
            return CLP_ERR_OOM;
    memo->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    *out_memo = memo;
    return CLP_OK;
}

void clpi_memo_done(clpi_memo *memo)
{
    pthread_mutex_destroy(&memo->lock);
}

static bool is_of(const entry *e, const clpi_bound *bound, const clpi_launch_args *args)
{
    const clpi_ir *ir = bound->plan->ir;
    const clpi_memo *memo = bound->plan->memo;
    const size_t box_bytes = (size_t)ir->n_axes * sizeof *e->start;
    if (memcmp(e->dims, bound->dim, (size_t)ir->n_dims * sizeof *e->dims) != 0 || e->has_start != (args->grid_start != NULL) ||
        e->has_count != (args->grid_count != NULL))
        return false;
    for (size_t i = 0; i < memo->n_scalars; i++)
        if (e->scalars[i] != bound->scalar[memo->scalars[i]].i)
            return false;
    return (!e->has_start || memcmp(e->start, args->grid_start, box_bytes) == 0) &&
           (!e->has_count || memcmp(e->count, args->grid_count, box_bytes) == 0);
}

bool clpi_memo_find(clpi_bound *bound, const clpi_launch_args *args)
{
    clpi_memo *memo = bound->plan->memo;
    const entry *found = NULL;
    pthread_mutex_lock(&memo->lock);
    for (int e = 0; e < memo->n && !found; e++)
        if (is_of(&memo->entries[e], bound, args))
            found = &memo->entries[e];
    if (found) {
        memcpy(bound->axis_size, found->numbers, memo->n_numbers * sizeof *found->numbers);
        bound->n_sequences = found->n_sequences;
        bound->n_steps = found->n_steps;
        for (int i = 0; i < bound->plan->ir->n_operands; i++)
            bound->operands[i].all_full = found->all_full[i];
    }
    pthread_mutex_unlock(&memo->lock);
    return found;
}

void clpi_memo_add(const clpi_bound *bound, const clpi_launch_args *args)
{
    const clpi_ir *ir = bound->plan->ir;
    clpi_memo *memo = bound->plan->memo;
    const size_t box_bytes = (size_t)ir->n_axes * sizeof *bound->box_start;
    pthread_mutex_lock(&memo->lock);
    entry *e = &memo->entries[memo->next];
    memcpy(e->dims, bound->dim, (size_t)ir->n_dims * sizeof *e->dims);
    for (size_t i = 0; i < memo->n_scalars; i++)
        e->scalars[i] = bound->scalar[memo->scalars[i]].i;
    e->has_start = args->grid_start;
    e->has_count = args->grid_count;
    memcpy(e->start, bound->box_start, box_bytes);
    memcpy(e->count, bound->box_count, box_bytes);
    memcpy(e->numbers, bound->axis_size, memo->n_numbers * sizeof *e->numbers);
    e->n_sequences = bound->n_sequences;
    e->n_steps = bound->n_steps;
    for (int i = 0; i < ir->n_operands; i++)
        e->all_full[i] = bound->operands[i].all_full;
    memo->next = (memo->next + 1) % N_ENTRIES;
    if (memo->n < N_ENTRIES)
        memo->n++;
    pthread_mutex_unlock(&memo->lock);
}
