/* dot: what the register tiles of a product offer to dot.c. */
#ifndef CLPI_INTERP_DOT_H
#define CLPI_INTERP_DOT_H

#include <stdbool.h>
#include <stdint.h>

/* c[m][n] += a[m][k] . b[k][n]. Element (i, p) of a stands i * row_step + p * step behind a; b is a panel of n columns
 * without gaps; rows of c are c_step apart.                                                                             */
typedef struct clpi_micro_kernel {
    int64_t m, n;
    void (*tile)(int64_t k, const float *a, int64_t row_step, int64_t step, const float *b, float *c, int64_t c_step);
} clpi_micro_kernel;
extern const clpi_micro_kernel clpi_dot_portable, clpi_dot_avx2, clpi_dot_avx512;

enum { CLPI_DOT_MAX_M = 16, CLPI_DOT_MAX_N = 64 };

#endif
