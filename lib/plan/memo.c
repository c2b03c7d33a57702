/* memo: launches whose blocks were found to lie inside their arrays, so that the next of the same shape skips the check.
 * In: a bound launch. Out: whether the check passed before for the same numbers, and which operands' blocks are all full.
 * What the check depends on is the key: dims, the scalars that the header reads, the grid and the box. The newest few are
 * kept, behind a lock: launches come from several threads.                                                               */
#include <pthread.h>
#include <string.h>

#include "plan/bind.h"

enum { N_ENTRIES = 8 };

struct clpi_memo {
    pthread_mutex_t lock;
    bool           *reads_scalar;     /* [n_operands] the header does */
    size_t          n_key;            /* numbers in a key */
    int64_t        *keys;             /* [N_ENTRIES][n_key] */
    bool           *all_full;         /* [N_ENTRIES][n_operands] */
    int             n, next;          /* entries in use; the one to be replaced next */
};

clp_status clpi_memo_new(const clpi_plan *plan, clpi_arena *arena, clpi_memo **out_memo)
{
    const clpi_ir *ir = plan->ir;
    size_t n_operands = (size_t)ir->n_operands;
    clpi_memo *memo = *out_memo = CLPI_NEW(arena, clpi_memo);
    if (!memo)
        return CLP_ERR_OOM;
    memo->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    memo->reads_scalar = CLPI_NEW_N(arena, bool, n_operands);
    if (!memo->reads_scalar)
        return CLP_ERR_OOM;
    for (uint32_t id = 1; id < ir->n_header; id++) {
        const clpi_op *op = &ir->ops.items[id];
        if (op->kind == CLP_OP_load && ir->operands[op->operand].role == CLP_SCALAR)
            memo->reads_scalar[op->operand] = true;
    }
    memo->n_key = (size_t)ir->n_dims + 3 * (size_t)ir->n_axes;
    for (size_t i = 0; i < n_operands; i++)
        memo->n_key += memo->reads_scalar[i];
    memo->keys = CLPI_NEW_N(arena, int64_t, N_ENTRIES * memo->n_key);
    memo->all_full = CLPI_NEW_N(arena, bool, N_ENTRIES * n_operands);
    return memo->keys && memo->all_full ? CLP_OK : CLP_ERR_OOM;
}

/* Number i of the key of a launch, counting down through its parts. */
static int64_t key_number(const clpi_bound *bound, size_t i)
{
    const clpi_ir *ir = bound->plan->ir;
    size_t n_dims = (size_t)ir->n_dims, n_axes = (size_t)ir->n_axes;
    if (i < n_dims)
        return bound->dim[i];
    i -= n_dims;
    if (i < 3 * n_axes) {
        const int64_t *parts[3] = { bound->axis_size, bound->box_start, bound->box_count };
        return parts[i / n_axes][i % n_axes];
    }
    i -= 3 * n_axes;
    for (int k = 0;; k++)
        if (bound->plan->memo->reads_scalar[k] && i-- == 0)
            return bound->scalar[k].i;
}

static bool is_key_of(const clpi_bound *bound, const int64_t *key)
{
    for (size_t i = 0; i < bound->plan->memo->n_key; i++)
        if (key[i] != key_number(bound, i))
            return false;
    return true;
}

bool clpi_memo_find(const clpi_bound *bound)
{
    clpi_memo *memo = bound->plan->memo;
    int n_operands = bound->plan->ir->n_operands;
    bool found = false;
    pthread_mutex_lock(&memo->lock);
    for (int e = 0; e < memo->n && !found; e++) {
        if (!is_key_of(bound, memo->keys + (size_t)e * memo->n_key))
            continue;
        for (int i = 0; i < n_operands; i++)
            bound->operands[i].all_full = memo->all_full[e * n_operands + i];
        found = true;
    }
    pthread_mutex_unlock(&memo->lock);
    return found;
}

void clpi_memo_add(const clpi_bound *bound)
{
    clpi_memo *memo = bound->plan->memo;
    int n_operands = bound->plan->ir->n_operands;
    pthread_mutex_lock(&memo->lock);
    for (size_t i = 0; i < memo->n_key; i++)
        memo->keys[(size_t)memo->next * memo->n_key + i] = key_number(bound, i);
    for (int i = 0; i < n_operands; i++)
        memo->all_full[memo->next * n_operands + i] = bound->operands[i].all_full;
    memo->next = (memo->next + 1) % N_ENTRIES;
    if (memo->n < N_ENTRIES)
        memo->n++;
    pthread_mutex_unlock(&memo->lock);
}
