/* dot_portable: the register tile for any CPU that the build is for. */
#define TILE_M 4
#define TILE_N 2
#define TILE_BYTES 16
#include "interp/dot_tile.h"

const clpi_micro_kernel clpi_dot_portable = { TILE_M, TILE_N * WIDTH, tile };
