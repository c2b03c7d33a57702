/* witness: small launches, tried program by program. */
#ifndef CLPI_CHECK_WITNESS_H
#define CLPI_CHECK_WITNESS_H

#include "check/prove.h"
#include "run/backend.h"

/* What to look for, and what was found. Entries that are wanted point to a witness once there is one. */
typedef struct clpi_wanted { bool is_wanted; const clpi_witness *found; } clpi_wanted;

typedef struct clpi_search {
    const clpi_ir   *ir;
    const clpi_plan *plan;
    clpi_arena      *arena;           /* of the witnesses */
    clpi_wanted     *races;           /* [n_operands] by storage */
    clpi_wanted     *blocks;          /* [n_operands] */
    clpi_wanted     *ranges;          /* [ops.n] */
} clpi_search;

/* Tries launches until all that is wanted is found, or it has tried enough. What it finds happens in that launch, whatever the
 * arrays hold: accesses under masks, branches or indices that depend on data are left out, and so are maps that do.
 * false: out of memory.                                                                                                 */
bool clpi_search_run(clpi_search *search);

/* ---- The body in numbers (walk.c) ---- */

/* Elements that one access touches in one program: first, first + step, ... in each dimension of the array. */
typedef struct clpi_touched {
    clpi_touch_kind kind;
    int      operand, storage;
    uint32_t op, program;                    /* program: its number in the launch */
    struct { int64_t first, step, n; } dim[CLP_MAX_RANK];
} clpi_touched;

typedef struct clpi_walk {
    const clpi_bound  *bound;
    const int64_t     *program;              /* [n_axes] */
    uint32_t           i_program;
    const clpi_window *windows;              /* [n_operands][CLP_MAX_RANK] */
    clpi_elem         *value;                /* [ops.n] scalars of the body, where is_known */
    bool              *is_known;
    int64_t            steps_left;           /* operations to be worked out yet, of all programs; at 0 nothing is known any more */
    int64_t            steps_end;            /* what may be left when the value at hand is given up */
    void             (*touch)(void *user, const clpi_touched *touched);
    void             (*leave)(void *user, uint32_t op, int n, const int64_t *index);     /* a lane outside its ref */
    void              *user;
} clpi_walk;

/* Follows what one program certainly does: calls touch and leave. */
void clpi_walk_program(clpi_walk *walk);

#endif
