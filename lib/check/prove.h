/* prove: what holds of a kernel for all shapes, told from its text alone.
 *
 * For every storage that the body writes: can two programs of different sequences touch one element, one of them by a plain
 * write? For every operand with a block: has each block an element inside its array? For every access with a subscript that
 * is no constant: can it leave its ref? `Proved` holds for every launch that binding accepts (every size of the grid, every
 * box of it, whatever prefetched and loaded data are); `found` names a launch, by its dims and scalars, where it happens.
 *
 * prove.c decides. What it wants to show it denies, and asks whether that can be; what it cannot show it looks for. From the
 * bottom up:
 *     linear.c                     whether equations and inequalities can hold for integers: "no" is certain, "maybe" is not
 *     poly.c function.c facts.c    polynomials, quotients and extremes of them, and what is known of their variables
 *     symbols.c places.c           values of the kernel as polynomials of dims, scalars, program ids and lanes
 *     witness.c walk.c             launches small enough to be tried, program by program
 *     prove.c prove_print.c        the questions, and the answers in words                                               */
#ifndef CLPI_CHECK_PROVE_H
#define CLPI_CHECK_PROVE_H

#include "plan/plan.h"

typedef enum clpi_verdict { CLPI_PROVED, CLPI_FOUND, CLPI_UNDECIDED } clpi_verdict;

/* A launch with few programs, and what happens in it. */
typedef struct clpi_witness {
    int64_t  *dim;                    /* [n_dims] */
    int64_t  *scalar;                 /* [n_operands] of integer scalars that the header reads; else 0 */
    int64_t  *axis_size;              /* [n_axes] */
    int64_t  *program[2];             /* [n_axes]; races: of different sequences. Else the first alone, the other is NULL */
    int       operand[2];             /* races: through which each program touches the element. Else both the operand */
    uint32_t  op[2];                  /* the accesses; blocks: 0 */
    int64_t   element[CLP_MAX_RANK];  /* of the array; blocks: index of the block; ranges: index of the first lane outside */
    int       axis;                   /* races: the one parallel axis in which the programs differ: it would have to be
                                       * `arbitrary`; -1: they differ in several */
} clpi_witness;

typedef enum clpi_claim_kind {
    CLPI_CLAIM_NO_RACE,               /* of a storage that the body writes */
    CLPI_CLAIM_BLOCK_INSIDE,          /* of an operand with a block: each block has an element inside the array */
    CLPI_CLAIM_INDEX_INSIDE           /* of a load, store or atomic on a ref, scratch included: each index that no mask hides lies in
                                         0 .. n of its dimension */
} clpi_claim_kind;

/* What is claimed for all shapes, and what became of it. */
typedef struct clpi_claim {
    clpi_claim_kind     kind;
    int                 operand;      /* races: plan->storage of all that share it */
    uint32_t            op;           /* indices: the access; else 0 */
    clpi_verdict        verdict;
    const char         *why;          /* UNDECIDED: the reason, one line in words of the kernel; else NULL */
    const clpi_witness *witness;      /* FOUND; else NULL */
    bool                needs_one_array;   /* races, PROVED: of operands joined by `alias` where they are given as one and the same array */
} clpi_claim;

typedef struct clpi_proofs {
    clpi_claim *claims; int n;        /* races by storage, then blocks by operand, then indices by op */
    bool        all_proved;
} clpi_proofs;

/* In arena, which keeps working memory too. OOM alone fails. */
clp_status clpi_prove(clpi_env *env, clpi_arena *arena, const clpi_ir *ir, const clpi_plan *plan, clpi_proofs **out_proofs);

/* One line about a claim: "o: no races: proved for all shapes"; "o: found: a race, e.g. programs (0, 1) and (0, 2) of grid (1, 4)
 * with N = 16 touch element (3,) of o at 5:5 and o at 5:5"; "o: no races for all shapes: not decided, checked on these arrays: an index map reads
 * prefetched data".                                                                                                     */
void clpi_claim_print(const clpi_ir *ir, const clpi_claim *claim, clpi_str *s);

#endif
