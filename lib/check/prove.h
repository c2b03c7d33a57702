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

typedef struct clpi_proof {
    clpi_verdict        verdict;
    const char         *why;          /* UNDECIDED: the reason, one line in words of the kernel; else NULL */
    const clpi_witness *witness;      /* FOUND; else NULL */
} clpi_proof;

/* Races on one storage that the body writes. */
typedef struct clpi_race_proof {
    int        storage;               /* plan->storage of its operands */
    clpi_proof proof;
    bool       needs_one_array;       /* PROVED of operands joined by `alias` where they are given as one and the same array */
} clpi_race_proof;

/* Blocks of one operand. */
typedef struct clpi_block_proof {
    int        operand;
    clpi_proof proof;
} clpi_block_proof;

/* One load, store or atomic on a ref, scratch included: each index that no mask hides lies in 0 .. n of its dimension. */
typedef struct clpi_range_proof {
    uint32_t   op;
    clpi_proof proof;
} clpi_range_proof;

typedef struct clpi_proofs {
    clpi_race_proof  *races;   int n_races;      /* by storage */
    clpi_block_proof *blocks;  int n_blocks;     /* by operand */
    clpi_range_proof *ranges;  int n_ranges;     /* by op */
    bool              all_proved;
} clpi_proofs;

/* In arena, which keeps working memory too. OOM alone fails. */
clp_status clpi_prove(clpi_env *env, clpi_arena *arena, const clpi_ir *ir, const clpi_plan *plan, clpi_proofs **out_proofs);

/* One line about a proof: "o: no races: proved for all shapes"; "o: found: a race, e.g. programs (0, 1) and (0, 2) of grid (1, 4)
 * with N = 16 touch element (3,) of o at 5:5 and o at 5:5"; "o: no races for all shapes: not decided, checked on these arrays: an index map reads
 * prefetched data".                                                                                                     */
void clpi_race_proof_print(const clpi_ir *ir, const clpi_race_proof *proof, clpi_str *s);
void clpi_block_proof_print(const clpi_ir *ir, const clpi_block_proof *proof, clpi_str *s);
void clpi_range_proof_print(const clpi_ir *ir, const clpi_range_proof *proof, clpi_str *s);

#endif
