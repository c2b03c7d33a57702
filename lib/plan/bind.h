/* bind: what the files that bind a plan to a launch share (bind.c, header.c, overlap.c, windows.c, outside.c, memo.c). */
#ifndef CLPI_PLAN_BIND_H
#define CLPI_PLAN_BIND_H

#include "plan/plan.h"

#define CLPI_MAX_SIZE INT64_C(0x7fffffff)       /* of a dimension, a dim, an axis */

/* The array of an operand among those of a launch; -1 for scratch, which has none. */
int clpi_array_number(const clpi_ir *ir, int operand);

/* ---- bind.c ---- */
/* A launch with zeros for numbers; NULL: out of memory. All int64_t lie in one piece, in the order of their members: what memo.c
 * keeps, from axis_size on, is one copy.                                                                                 */
clpi_bound *clpi_bound_new(const clpi_plan *plan, clpi_arena *arena);

/* ---- header.c ---- */
/* Works out the header values known at launch. Sizes of the grid that are not known yet (0) give values not to be used. */
void clpi_header_at_launch(clpi_bound *bound);

/* ---- overlap.c ---- */
/* ARG: storage that is written overlaps itself or, without `alias`, another operand's. */
clp_status clpi_overlap_check(const clpi_bound *bound, const clpi_launch_args *args, clpi_env *env);

/* ---- windows.c ---- */
/* The values of a block's index in one dimension for which the block touches the array (or, full: lies inside it):
 * lo <= index <= hi; lo > hi: none.                                                                                    */
void clpi_index_range(const clpi_block_dim *dim, int64_t size, bool full, int64_t *out_lo, int64_t *out_hi);

/* As clpi_windows, of dimension d alone. false: no element of it lies inside the array, or the map could not be evaluated. */
bool clpi_window_of(const clpi_bound *bound, int operand, int d, const int64_t *program, const clpi_prefetch *prefetch,
                    clpi_window *out_window);

/* ---- outside.c ---- */
/* ARG: a block has no element inside its array in some program of the launch. Sets all_full of each operand. */
clp_status clpi_outside_check(clpi_bound *bound, clpi_arena *arena);

/* ---- memo.c ---- */
/* What is remembered of a launch: grid, box, header values, sequences, steps, all_full of each operand, and that `require` and
 * the check of blocks found nothing. It follows from what is bound before: dims, scalars and the box that args ask for.  */
clp_status clpi_memo_new(const clpi_plan *plan, clpi_arena *arena, clpi_memo **out_memo);
void clpi_memo_done(clpi_memo *memo);
bool clpi_memo_find(clpi_bound *bound, const clpi_launch_args *args);      /* true: there was such a launch; all that is set */
void clpi_memo_add(const clpi_bound *bound, const clpi_launch_args *args);

#endif
