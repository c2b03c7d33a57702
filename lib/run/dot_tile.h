/* dot_tile: what of a dot's result a CPU keeps in registers over all of k.
 * In: the device's limits, and a dot's size. Out: lanes of its vectors, rows of vectors of a register tile. The rule of cl/dot.c, and what
 * the model (model.c) counts with.                                                                                        */
#ifndef CLPI_DOT_TILE_H
#define CLPI_DOT_TILE_H

#include "run/backend.h"

typedef struct clpi_dot_tile { int rows, vectors; } clpi_dot_tile;

/* Lanes of a vector: those of the device, fewer when the dot has fewer columns. */
static inline int clpi_dot_lanes(const clpi_limits *limits, clp_dtype acc, int64_t n)
{
    int lanes = (int)(limits->vector_bytes / clpi_rep_bytes(acc));
    lanes = lanes > 16 ? 16 : lanes < 2 ? 2 : lanes;
    while (lanes > 1 && lanes / 2 >= n)
        lanes /= 2;
    return lanes;
}

/* Each step of k takes a row of vectors of y, and one element of x at a time, spread over a vector.
 * With 64-byte vectors there are 32 registers: 12 rows of 2 vectors are 24 accumulators, which leave room for two vectors of y and one
 * element of x. With 32-byte vectors there are 16: 6 x 2. With 16-byte vectors there may be no more than 12: 4 x 2.
 * A dot of fewer rows has them all in one tile, and as many more vectors as there is room for; all its tiles are equally wide. */
static inline clpi_dot_tile clpi_dot_tile_of(const clpi_limits *limits, int64_t m, int64_t n_vectors)
{
    enum { MOST_VECTORS = 8 };        /* more wait for nothing */
    const int rows = limits->vector_bytes >= 64 ? 12 : limits->vector_bytes >= 32 ? 6 : 4;
    const int registers = limits->vector_bytes >= 64 ? 32 : limits->vector_bytes >= 32 ? 16 : 12;
    m = m < 1 ? 1 : m;                /* a dot without rows has none of these tiles */
    if (m < rows) {
        const int room = (registers - 1) / ((int)m + 1), most = room < MOST_VECTORS ? room : MOST_VECTORS;
        for (int vectors = most; vectors > most / 2; vectors--)
            if (n_vectors % vectors == 0)
                return (clpi_dot_tile){ (int)m, vectors };
        const int64_t tiles = (n_vectors + most - 1) / most;
        return (clpi_dot_tile){ (int)m, (int)((n_vectors + tiles - 1) / tiles) };
    }
    if (n_vectors % 3 == 0 && n_vectors % 2)
        return (clpi_dot_tile){ 2 * rows / 3, 3 };
    return (clpi_dot_tile){ rows, n_vectors == 1 ? 1 : 2 };
}

#endif
