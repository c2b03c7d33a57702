/* dot_avx2: the register tile for x86-64 CPUs with AVX2 and FMA; dot.c asks the CPU before it uses it. */
#if defined(__AVX2__) && defined(__FMA__)
#define TILE_M 6
#define TILE_N 2
#define TILE_BYTES 32
#include "interp/dot_tile.h"

const clpi_micro_kernel clpi_dot_avx2 = { TILE_M, TILE_N * WIDTH, tile };
#else
typedef int clpi_no_avx2_dot;
#endif
