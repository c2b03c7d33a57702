/* dot_tile: one register tile of a product of f32, in vectors of TILE_BYTES bytes: TILE_M rows of TILE_N such vectors.
 * In: rows of a with any strides, a panel of b [k][n] without gaps, aligned. Out: c, which holds what was summed before.
 * Included once for each instruction set; these are the only places where the compiler may contract.                    */
#include "interp/dot.h"

#if defined(__GNUC__)
typedef float vec __attribute__((vector_size(TILE_BYTES), aligned(4), may_alias));
#define WIDTH ((int)(sizeof(vec) / sizeof(float)))
#else
typedef float vec;
#define WIDTH 1
#endif

#if defined(__GNUC__) && !defined(__clang__)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

static void tile(int64_t k, const float *a, int64_t row_step, int64_t step, const float *b, float *c, int64_t c_step)
{
    vec sum[TILE_M][TILE_N];
    UNROLL
    for (int i = 0; i < TILE_M; i++) {
        UNROLL
        for (int j = 0; j < TILE_N; j++)
            sum[i][j] = *(const vec *)(const void *)(c + i * c_step + j * WIDTH);
    }
    for (int64_t p = 0; p < k; p++, a += step, b += TILE_N * WIDTH) {
        vec y[TILE_N];
        UNROLL
        for (int j = 0; j < TILE_N; j++)
            y[j] = *(const vec *)(const void *)(b + j * WIDTH);
        UNROLL
        for (int i = 0; i < TILE_M; i++) {
            float x = a[i * row_step];
            UNROLL
            for (int j = 0; j < TILE_N; j++)
                sum[i][j] += x * y[j];
        }
    }
    UNROLL
    for (int i = 0; i < TILE_M; i++) {
        UNROLL
        for (int j = 0; j < TILE_N; j++)
            *(vec *)(void *)(c + i * c_step + j * WIDTH) = sum[i][j];
    }
}
