/* dot_avx512: the register tile for x86-64 CPUs with AVX-512; dot.c asks the CPU before it uses it. */
#if defined(__AVX512F__)
#define TILE_M 8
#define TILE_N 2
#define TILE_BYTES 64
#include "interp/dot_tile.h"

const clpi_micro_kernel clpi_dot_avx512 = { TILE_M, TILE_N * WIDTH, tile };
#else
typedef int clpi_no_avx512_dot;
#endif
