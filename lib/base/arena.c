/* arena: memory from chunks, given back as a whole or down to a mark.
 * In: counts and sizes. Out: aligned memory that lives until the arena is done or rewound past it.
 * Chunks double up to a limit; an item larger than the next chunk gets one of its own size. Rewinding keeps the largest chunk
 * for the next use, so that a loop that fills and rewinds an arena settles on no allocation at all.
 *
 *     arena.chunk -> [ header | items ....... used | free ....... size ]  -> older chunk -> ... -> NULL                    */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"

struct clpi_arena_chunk {
    clpi_arena_chunk *older;
    size_t            n_bytes;     /* of the whole chunk, header included */
    size_t            used;        /* offset of the first free byte, header included */
};

enum { ALIGN_SMALL = 16, ALIGN_LARGE = 64, FIRST_CHUNK = 1024, LAST_CHUNK = 1 << 20 };

/* An item's offset in its chunk, aligned by address: the allocator promises less than a cache line. */
static size_t place_in(const clpi_arena_chunk *chunk, size_t n_bytes)
{
    size_t align = n_bytes >= ALIGN_LARGE ? ALIGN_LARGE : ALIGN_SMALL;
    uintptr_t free_at = (uintptr_t)chunk + chunk->used;
    return chunk->used + (size_t)((0u - free_at) & (align - 1));
}

static void chunk_free(clpi_arena *arena, clpi_arena_chunk *chunk)
{
    clpi_free(arena->env, chunk, chunk ? chunk->n_bytes : 0, 1);
}

/* A chunk that holds an item of n_bytes wherever it starts; the spare one when it is large enough. */
static clpi_arena_chunk *chunk_new(clpi_arena *arena, size_t n_bytes)
{
    if (n_bytes > SIZE_MAX - sizeof(clpi_arena_chunk) - ALIGN_LARGE) {
        clpi_fail(arena->env, CLP_ERR_OOM, "out of memory: an item of %zu bytes", n_bytes);
        return NULL;
    }
    size_t need = sizeof(clpi_arena_chunk) + ALIGN_LARGE + n_bytes;
#ifndef CLP_DEBUG_ARENA
    size_t next = arena->chunk ? 2 * arena->chunk->n_bytes : FIRST_CHUNK;
    if (next > LAST_CHUNK)
        next = LAST_CHUNK;
    if (need < next)
        need = next;
#endif
    clpi_arena_chunk *chunk = arena->spare;
    if (chunk && chunk->n_bytes >= need) {
        arena->spare = NULL;
    } else {
        chunk = clpi_realloc(arena->env, NULL, 0, need, 1);
        if (!chunk)
            return NULL;
        chunk->n_bytes = need;
    }
    chunk->used = sizeof *chunk;
    chunk->older = arena->chunk;
    arena->chunk = chunk;
    return chunk;
}

void clpi_arena_init(clpi_arena *arena, clpi_env *env)
{
    *arena = (clpi_arena){ .env = env };
}

void clpi_arena_done(clpi_arena *arena)
{
    clpi_arena_rewind(arena, (clpi_arena_mark){ NULL, 0 });
    chunk_free(arena, arena->spare);
    *arena = (clpi_arena){ .env = arena->env };
}

void *clpi_arena_take(clpi_arena *arena, size_t n, size_t size)
{
    clpi_arena_chunk *chunk = arena->chunk;
    size_t n_bytes, at = 0;
    if (__builtin_mul_overflow(n, size, &n_bytes)) {
        clpi_fail(arena->env, CLP_ERR_OOM, "out of memory: %zu items of %zu bytes", n, size);
        arena->failed = true;
        return NULL;
    }
#ifdef CLP_DEBUG_ARENA
    bool fits = false;
#else
    bool fits = chunk && (at = place_in(chunk, n_bytes)) <= chunk->n_bytes && n_bytes <= chunk->n_bytes - at;
#endif
    if (!fits) {
        chunk = chunk_new(arena, n_bytes);
        at = chunk ? place_in(chunk, n_bytes) : 0;
    }
    if (!chunk) {
        arena->failed = true;
        return NULL;
    }
    chunk->used = at + n_bytes;
    return (char *)chunk + at;
}

void *clpi_arena_alloc(clpi_arena *arena, size_t n, size_t size)
{
    void *p = clpi_arena_take(arena, n, size);
    return p ? memset(p, 0, n * size) : NULL;
}

void *clpi_arena_grow(clpi_arena *arena, void *p, size_t old_n, size_t new_n, size_t size)
{
    assert(new_n >= old_n);
#ifndef CLP_DEBUG_ARENA
    clpi_arena_chunk *chunk = arena->chunk;
    size_t more = new_n - old_n;
    bool is_last = p && chunk && (char *)p + old_n * size == (char *)chunk + chunk->used;
    if (is_last && old_n * size >= ALIGN_LARGE && size && more <= (chunk->n_bytes - chunk->used) / size) {
        memset((char *)p + old_n * size, 0, more * size);
        chunk->used += more * size;
        return p;
    }
#endif
    void *moved = clpi_arena_alloc(arena, new_n, size);
    if (moved && old_n)
        memcpy(moved, p, old_n * size);
    return moved;
}

char *clpi_arena_printf(clpi_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *text = n < 0 ? NULL : clpi_arena_take(arena, (size_t)n + 1, 1);
    if (text)
        (void)vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

char *clpi_arena_strndup(clpi_arena *arena, const char *s, size_t n)
{
    char *text = n < SIZE_MAX ? clpi_arena_take(arena, n + 1, 1) : NULL;
    if (!text)
        return NULL;
    if (n)
        memcpy(text, s, n);
    text[n] = 0;
    return text;
}

clpi_arena_mark clpi_arena_mark_get(const clpi_arena *arena)
{
    return (clpi_arena_mark){ arena->chunk, arena->chunk ? arena->chunk->used : 0 };
}

void clpi_arena_rewind(clpi_arena *arena, clpi_arena_mark mark)
{
    while (arena->chunk != mark.chunk) {
        clpi_arena_chunk *chunk = arena->chunk;
        assert(chunk && "the mark is of this arena, and not rewound past");
        arena->chunk = chunk->older;
#ifndef CLP_DEBUG_ARENA
        if (!arena->spare || arena->spare->n_bytes < chunk->n_bytes) {
            clpi_arena_chunk *smaller = arena->spare;
            arena->spare = chunk;
            chunk = smaller;
        }
#endif
        chunk_free(arena, chunk);
    }
    if (arena->chunk)
        arena->chunk->used = mark.used;
}

void clpi_arena_reset(clpi_arena *arena, size_t most)
{
    clpi_arena_rewind(arena, (clpi_arena_mark){ NULL, 0 });
    if (arena->spare && arena->spare->n_bytes > most) {
        chunk_free(arena, arena->spare);
        arena->spare = NULL;
    }
    arena->failed = false;
}

bool clpi_list_grow(clpi_arena *arena, void **items, uint32_t *cap, size_t size)
{
    if (*cap > UINT32_MAX / 2) {
        clpi_fail(arena->env, CLP_ERR_OOM, "out of memory: a list of more than %u items", UINT32_MAX);
        arena->failed = true;
        return false;
    }
    uint32_t new_cap = *cap ? 2 * *cap : 16;
    void *moved = clpi_arena_grow(arena, *items, *cap, new_cap, size);
    if (!moved)
        return false;
    *items = moved;
    *cap = new_cap;
    return true;
}
