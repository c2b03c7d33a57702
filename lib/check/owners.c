/* owners: one word for each granule, while it matters (owners.h draws them).
 * In: touches. Out: which granules are racy.
 * Decides how little is kept: a block whose granules went through the same has one word.                                */
#include "check/owners.h"

enum { BLOCK = CLPI_GRANULE_ALIGN, CHUNK = 256 };      /* granules in a block, mixed blocks in a chunk */

#define OWNER  UINT32_C(0x3fffffff)
#define READ   (UINT32_C(1) << 30)
#define ATOMIC (UINT32_C(2) << 30)
#define RACY   (UINT32_C(3) << 30)         /* alone: of a granule, or of all in a block */
#define MIXED  RACY                        /* with a number: of a block */
#define WHOLE  READ                        /* once numbered: all are racy, with the number before the first one's */

clp_status clpi_owners_open(clpi_owners *o, clpi_arena *arena, uint64_t n_granules)
{
    *o = (clpi_owners){ .arena = arena, .n_blocks = (n_granules + BLOCK - 1) / BLOCK };
    if (o->n_blocks >= OWNER)
        return clpi_fail(arena->env, CLP_ERR_OOM, "out of memory: races of %llu elements", (unsigned long long)n_granules);
    o->block = CLPI_NEW_N(arena, uint32_t, (size_t)o->n_blocks + 1);
    o->chunk = CLPI_NEW_N(arena, uint32_t *, (size_t)o->n_blocks / CHUNK + 1);
    return o->block && o->chunk ? CLP_OK : CLP_ERR_OOM;
}

/* The words of mixed block number 1, 2, .. */
static uint32_t *words_of(const clpi_owners *o, uint32_t number)
{
    return o->chunk[(number - 1) / CHUNK] + (size_t)((number - 1) % CHUNK) * BLOCK;
}

/* Gives a block words of its own; NULL: out of memory. */
static uint32_t *mix(clpi_owners *o, uint64_t b)
{
    uint32_t word = o->block[b], number = o->n_mixed + 1;
    uint32_t **chunk = &o->chunk[(number - 1) / CHUNK];
    if (!*chunk)
        *chunk = clpi_arena_take(o->arena, CHUNK * BLOCK, sizeof **chunk);
    if (!*chunk) {
        o->failed = true;
        return NULL;
    }
    o->n_mixed = number;
    o->block[b] = MIXED | number;
    uint32_t *words = words_of(o, number);
    for (int i = 0; i < BLOCK; i++)
        words[i] = word;
    return words;
}

static bool is_mixed(uint32_t word)
{
    return (word & ~OWNER) == MIXED && word != RACY;
}

/* The word after an access by `me`. */
static uint32_t after(uint32_t word, clpi_touch_kind kind, uint32_t me)
{
    const uint32_t shared = kind == CLPI_TOUCH_READ ? READ : kind == CLPI_TOUCH_ATOMIC ? ATOMIC : 0;
    if (word == 0)
        return shared | me;
    if (word == RACY)
        return RACY;
    if (shared && (word & ~OWNER) == shared)
        return (word & OWNER) == me ? word : shared;
    return (word & OWNER) == me ? me : RACY;
}

static void touch_words(clpi_owners *o, uint32_t *word, int64_t n, clpi_touch_kind kind, uint32_t me)
{
    for (int64_t i = 0, end; i < n; i = end) {
        uint32_t was = word[i], is = after(was, kind, me);
        for (end = i; end < n && word[end] == was; end++)
            word[end] = is;
        if (is == RACY && was != RACY)
            o->n_racy += (uint64_t)(end - i);
    }
}

void clpi_owners_touch(clpi_owners *o, uint64_t first, int64_t n, clpi_touch_kind kind, uint32_t sequence)
{
    while (n > 0) {
        uint64_t b = first / BLOCK;
        int64_t from = (int64_t)(first % BLOCK), count = BLOCK - from < n ? BLOCK - from : n;
        uint32_t was = o->block[b];
        first += (uint64_t)count;
        n -= count;
        if (is_mixed(was)) {
            touch_words(o, words_of(o, was & OWNER) + from, count, kind, sequence);
            continue;
        }
        uint32_t is = after(was, kind, sequence);
        if (is == was)
            continue;
        o->n_racy += is == RACY ? (uint64_t)count : 0;
        uint32_t *words = count == BLOCK ? NULL : mix(o, b);
        if (!words)
            o->block[b] = is;              /* or memory has run out, and nothing matters any more */
        for (int64_t i = from; words && i < from + count; i++)
            words[i] = is;
    }
}

void clpi_owners_number(clpi_owners *o)
{
    uint32_t n = 0;
    for (uint64_t b = 0; b < o->n_blocks; b++) {
        if (is_mixed(o->block[b])) {
            uint32_t *words = words_of(o, o->block[b] & OWNER);
            for (int i = 0; i < BLOCK; i++)
                words[i] = words[i] == RACY ? ++n : 0;
        } else if (o->block[b] == RACY) {
            o->block[b] = WHOLE | n;
            n += BLOCK;
        } else {
            o->block[b] = 0;
        }
    }
}

uint32_t clpi_owners_number_of(const clpi_owners *o, uint64_t granule)
{
    uint32_t word = o->block[granule / BLOCK], at = (uint32_t)(granule % BLOCK);
    if (is_mixed(word))
        return words_of(o, word & OWNER)[at];
    return word ? (word & OWNER) + at + 1 : 0;
}
