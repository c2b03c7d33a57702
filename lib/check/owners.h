/* owners: who touched each granule, as far as that decides whether the next access is a race.
 *
 * One word for each granule:
 *
 *     0                  nobody
 *     sequence           it wrote, or read and updated: nobody else may touch it
 *     READ | sequence    it read;                 READ       several did: others may read
 *     ATOMIC | sequence  it updated atomically;   ATOMIC     several did: others may update
 *     RACY               a race, or several
 *
 * Sequences are counted from 1. The sets of sequences that read, wrote and updated an element hold no race exactly when its
 * word is not RACY. As neighbours mostly have one word, a block of them shares it until they differ:
 *
 *     block   0 | 1 | 2 | ...       the word of all; or MIXED | number of its own words
 *                     +-> chunk     BLOCK words each
 *
 * Later racy granules are numbered, from 1, in place of their words.                                                    */
#ifndef CLPI_OWNERS_H
#define CLPI_OWNERS_H

#include "check/check.h"

#define CLPI_MAX_OWNER (UINT32_C(0x3fffffff) - 1)      /* sequences; racy granules */

typedef struct clpi_owners {
    clpi_arena *arena;
    uint32_t   *block;            /* [n_blocks] */
    uint32_t  **chunk;            /* of mixed blocks, in the order in which they became so */
    uint64_t    n_blocks;
    uint32_t    n_mixed;
    uint64_t    n_racy;
    bool        failed;           /* out of memory, reported */
} clpi_owners;

clp_status clpi_owners_open(clpi_owners *o, clpi_arena *arena, uint64_t n_granules);
void       clpi_owners_touch(clpi_owners *o, uint64_t first, int64_t n, clpi_touch_kind kind, uint32_t sequence);
void       clpi_owners_number(clpi_owners *o);                             /* the racy ones; no touch after this */
uint32_t   clpi_owners_number_of(const clpi_owners *o, uint64_t granule);  /* 0: not racy */

#endif
