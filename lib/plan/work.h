/* work: how much one launch computes and moves, counted from the kernel itself: its IR, and the plan bound to the arrays.
 *
 * Operations. Every element of every value that a program makes counts, by the weight of its op (work.c has the table: an
 * addition is 1, an fma 2, exp the operations of its polynomial), over elements that exist: what hangs over the edge of
 * an array, and what of a value would be stored there, is not counted. A dot is 2 m n k. Moving and casting count nothing,
 * nor does index arithmetic on scalars that program ids and sizes alone decide.
 *
 * Traffic, in two ways, between which what a launch really moves lies when caches are small or large:
 *     once       every element that some program sees, once: what is streamed, but of no array more than it has
 *     streamed   programs run one after another, each sequence through its steps. The block of an operand is fetched when its
 *                place is not the one it had in the program before; what is written goes back once per run of equal places
 * Blocks are clipped at the edges of their arrays. An operand without a block moves what its loads, stores and atomics
 * address; where program ids and sizes alone say where that is, it stays as a block does.
 * An `out` operand is written and not fetched, an `inout` both; prefetched arrays are read once.
 *
 * Sums over the grid are products of sums over axes that have nothing to do with one another, so a large grid costs
 * little. What one such sum has too many programs for is sampled, both ends of each axis whole.                        */
#ifndef CLPI_PLAN_WORK_H
#define CLPI_PLAN_WORK_H

#include "plan/plan.h"

enum { CLPI_MAX_WORK_LINES = 48 };

/* Operations of one kind. */
typedef struct clpi_work_line {
    bool      is_dot;
    clp_dtype dtype;             /* of what is computed with: of a dot's first operand, of what is compared, else of the result */
    clp_dtype acc;               /* dots: in which they sum; else dtype */
    double    ops;
    bool      is_exact;          /* false: some of it runs only if data say so, or in loops of unknown length, and is counted
                                    as if it did, and once; or it is an estimate from samples */
} clpi_work_line;

/* Bytes of one operand. */
typedef struct clpi_work_traffic {
    int      operand;
    uint32_t axes;               /* the grid axes along which its block moves, a bit each */
    double   block_bytes;        /* of a whole block; without a block: of all that one program's accesses address */
    double   fetches;            /* times that a block comes, or goes, or both */
    double   read, written;      /* streamed */
    double   read_once, written_once;
    bool     is_exact;           /* as above */
} clpi_work_traffic;

typedef struct clpi_work {
    double programs;
    clpi_work_line lines[CLPI_MAX_WORK_LINES];
    int    n_lines;
    clpi_work_traffic *operands; /* those that move something, in declaration order; in the arena */
    int    n_operands;
    double flops;                /* of all lines of float dtypes */
    double dot_ops;              /* of all dots */
    double int_ops;              /* of lines of integer and bool dtypes */
    double bytes_once, bytes_streamed;
    bool   ops_are_exact, dots_are_exact, bytes_are_exact;
} clpi_work;

/* prefetch: reads prefetched data; NULL: not to be had, and blocks that depend on it count as whole and fetched every time.
 * What out->operands points to lives in the arena.  OOM. */
clp_status clpi_work_count(const clpi_bound *bound, const clpi_prefetch *prefetch, clpi_arena *arena, clpi_work *out);

#endif
