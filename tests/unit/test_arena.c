/* The arena: alignment, growth, rewinding, and that its failures are sticky and lose nothing. */
#include "base/arena.h"
#include "support/support.h"

#ifdef CLP_DEBUG_ARENA
static const bool is_debug_arena = true;
#else
static const bool is_debug_arena = false;
#endif

Test(arena, items_are_zeroed_aligned_and_apart)
{
    clpi_env env;
    clpi_arena arena;
    clpi_env_init(&env, NULL, NULL);
    clpi_arena_init(&arena, &env);
    unsigned char *items[400];
    for (size_t i = 0; i < 400; i++) {
        items[i] = clpi_arena_alloc(&arena, i, 3);
        cr_assert(items[i]);
        cr_expect_eq((uintptr_t)items[i] % (3 * i >= 64 ? 64 : 16), 0, "item of %zu bytes", 3 * i);
        for (size_t k = 0; k < 3 * i; k++)
            cr_assert_eq(items[i][k], 0, "item %zu, byte %zu", i, k);
        memset(items[i], (int)(i % 251), 3 * i);
    }
    for (size_t i = 0; i < 400; i++)
        for (size_t k = 0; k < 3 * i; k++)
            cr_assert_eq(items[i][k], i % 251, "item %zu was overwritten", i);
    cr_assert(clpi_arena_alloc(&arena, 5 << 20, 1));
    clpi_arena_done(&arena);
    clpi_env_done(&env);
}

Test(arena, growing_keeps_the_content_and_zeroes_the_tail)
{
    clpi_env env;
    clpi_arena arena;
    clpi_env_init(&env, NULL, NULL);
    clpi_arena_init(&arena, &env);
    int *items = NULL;
    size_t n = 0;
    for (size_t more = 4; more < 100000; more *= 3) {
        items = clpi_arena_grow(&arena, items, n, more, sizeof *items);
        cr_assert(items);
        for (size_t i = 0; i < more; i++)
            cr_assert_eq(items[i], i < n ? (int)i : 0, "%zu of %zu", i, more);
        for (n = more; more % 2 == 0 && clpi_arena_alloc(&arena, 1, 8) == NULL;) /* now and then something follows */
            cr_assert(false);
        for (size_t i = 0; i < n; i++)
            items[i] = (int)i;
    }
    clpi_arena_done(&arena);
    clpi_env_done(&env);
}

Test(arena, lists_grow_as_they_are_pushed_to)
{
    struct { int *items; uint32_t n, cap; } list = { 0 };
    clpi_env env;
    clpi_arena arena;
    clpi_env_init(&env, NULL, NULL);
    clpi_arena_init(&arena, &env);
    for (int i = 0; i < 1000; i++)
        cr_assert(CLPI_PUSH(&arena, &list, 3 * i));
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(list.items[i], 3 * i);
    cr_expect_eq(list.n, 1000);
    clpi_arena_done(&arena);
    clpi_env_done(&env);
}

Test(arena, rewinding_gives_back_what_came_after_the_mark)
{
    failing_alloc counting = { .budget = SIZE_MAX };
    clpi_env env;
    clpi_arena arena;
    clpi_env_init(&env, failing_alloc_fn, &counting);
    clpi_arena_init(&arena, &env);
    char *kept = clpi_arena_strndup(&arena, "kept for good", 4);
    clpi_arena_mark mark = clpi_arena_mark_get(&arena);
    size_t n_calls = 0;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 10; i++)
            cr_assert(clpi_arena_take(&arena, 300, 1));
        clpi_arena_rewind(&arena, mark);
        if (round == 1)
            n_calls = counting.n_calls;
    }
    cr_expect(counting.n_calls == n_calls || is_debug_arena, "a loop that rewinds settles on no allocation");
    cr_expect_str_eq(kept, "kept");
    cr_expect_str_eq(clpi_arena_printf(&arena, "%d, %s", 42, kept), "42, kept");
    clpi_arena_done(&arena);
    clpi_env_done(&env);
    cr_expect_eq(counting.n_live, 0);
}

Test(arena, rewinding_to_the_mark_of_an_empty_arena_works)
{
    clpi_env env;
    clpi_arena arena;
    clpi_env_init(&env, NULL, NULL);
    clpi_arena_init(&arena, &env);
    clpi_arena_mark mark = clpi_arena_mark_get(&arena);
    cr_assert(clpi_arena_alloc(&arena, 100, 100));
    clpi_arena_rewind(&arena, mark);
    unsigned char *p = clpi_arena_alloc(&arena, 100, 100);
    cr_assert(p);
    cr_expect(p[0] == 0 && p[9999] == 0);
    clpi_arena_done(&arena);
    clpi_env_done(&env);
}

Test(arena, every_failure_is_reported_and_sticky)
{
    for (size_t budget = 0; budget < 4; budget++) {
        failing_alloc failing = { .budget = budget };
        clpi_env env;
        clpi_arena arena;
        clpi_env_init(&env, failing_alloc_fn, &failing);
        clpi_arena_init(&arena, &env);
        for (int i = 0; i < 4; i++)
            (void)clpi_arena_alloc(&arena, 1 << 20, 1);
        cr_expect(arena.failed);
        cr_expect(strstr(clpi_error_text(&env), "out of memory"));
        cr_expect_null(clpi_arena_alloc(&arena, SIZE_MAX, 2));
        cr_expect_null(clpi_arena_alloc(&arena, SIZE_MAX, 1));
        clpi_arena_done(&arena);
        clpi_env_done(&env);
        cr_expect_eq(failing.n_live, 0);
    }
}
