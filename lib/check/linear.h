/* linear: can these equations and inequalities hold for integers? The core of the static proofs; knows nothing of kernels.  */
#ifndef CLPI_CHECK_LINEAR_H
#define CLPI_CHECK_LINEAR_H

#include "base/arena.h"

/* One row:  cells[0] * x[0] + ... + cells[n - 1] * x[n - 1] + cells[n]  is 0 (is_equal) or is at least 0. */
typedef struct clpi_linear {
    int      n;                 /* columns: integers of either sign */
    int      n_rows;
    int64_t *cells;             /* [n_rows][n + 1] below 2^60 in size */
    bool    *is_equal;          /* [n_rows] */
} clpi_linear;

/* a / b, rounded down; b is not 0. */
static inline int64_t clpi_floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* true: no integers satisfy all rows, for certain. false: some may, or the numbers grew too large to tell (or the arena is
 * out of memory, which it keeps). Working memory is given back.                                                          */
bool clpi_linear_is_empty(const clpi_linear *system, clpi_arena *arena);

#endif
