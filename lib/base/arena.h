/* arena: memory that is given back as a whole.
 *
 * Two lifetimes: the kernel arena (IR, plan, names) and a pass arena, reset after each pass. With CLP_DEBUG_ARENA each
 * item is a malloc of its own, so that sanitizers see every overrun.                                                    */
#ifndef CLPI_ARENA_H
#define CLPI_ARENA_H

#include "base/env.h"

typedef struct clpi_arena_chunk clpi_arena_chunk;

typedef struct clpi_arena {
    clpi_env         *env;
    clpi_arena_chunk *chunk;      /* the newest; older ones hang behind it */
    clpi_arena_chunk *spare;      /* the largest chunk that a rewind gave back, for the next use; or NULL */
    bool              failed;     /* sticky: some allocation failed; the texts and tables built since are not to be used */
} clpi_arena;

typedef struct clpi_arena_mark { clpi_arena_chunk *chunk; size_t used; } clpi_arena_mark;

void  clpi_arena_init(clpi_arena *arena, clpi_env *env);
void  clpi_arena_done(clpi_arena *arena);
void *clpi_arena_alloc(clpi_arena *arena, size_t n, size_t size);        /* zeroed; items of 64 bytes and more: aligned to 64, else 16 */
void *clpi_arena_take(clpi_arena *arena, size_t n, size_t size);         /* the same, not zeroed: for tiles */
void *clpi_arena_grow(clpi_arena *arena, void *p, size_t old_n, size_t new_n, size_t size);  /* may move; the tail is zeroed; old space is lost */
char *clpi_arena_printf(clpi_arena *arena, const char *format, ...) CLP_PRINTF(2, 3);
char *clpi_arena_strndup(clpi_arena *arena, const char *s, size_t n);
clpi_arena_mark clpi_arena_mark_get(const clpi_arena *arena);
void  clpi_arena_rewind(clpi_arena *arena, clpi_arena_mark mark);        /* gives back all that came after the mark */
void  clpi_arena_reset(clpi_arena *arena, size_t most);                  /* as new, but that one chunk of at most so many bytes stays */
/* All of these return NULL when out of memory, after reporting it; `failed` stays set until arena_done or arena_reset. */

#define CLPI_NEW(arena, type)         ((type *)clpi_arena_alloc((arena), 1, sizeof(type)))
#define CLPI_NEW_N(arena, type, n)    ((type *)clpi_arena_alloc((arena), (n), sizeof(type)))

/* A growing array in an arena: CLPI_PUSH(arena, list, item) with `type *items; uint32_t n, cap;` in list. Evaluates to
 * false when out of memory.                                                                                           */
#define CLPI_PUSH(arena, list, ...)                                                                                    \
    (((list)->n < (list)->cap ||                                                                                       \
      clpi_list_grow((arena), (void **)&(list)->items, &(list)->cap, sizeof *(list)->items))                           \
         ? ((list)->items[(list)->n++] = (__VA_ARGS__), true)                                                          \
         : false)
bool clpi_list_grow(clpi_arena *arena, void **items, uint32_t *cap, size_t size);

#endif
