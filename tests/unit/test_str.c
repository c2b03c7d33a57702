/* The string: what is appended is there, terminated; after a failure nothing more is. */
#include "base/str.h"
#include "support/support.h"

Test(str, appends_in_all_ways)
{
    clpi_env env;
    clpi_str s;
    clpi_env_init(&env, NULL, NULL);
    clpi_str_init(&s, &env);
    cr_expect_str_eq(s.text, "");
    clpi_str_cut(&s, 0);
    clpi_str_puts(&s, "");
    clpi_str_put(&s, "block of x", 5);
    clpi_str_add(&s, " (%d, %s)", 7, "k");
    cr_expect_str_eq(s.text, "block (7, k)");
    cr_expect_eq(s.n, 12);
    clpi_str_cut(&s, 5);
    clpi_str_puts(&s, "s");
    cr_expect_str_eq(s.text, "blocks");
    clpi_str_done(&s);
    cr_expect_str_eq(s.text, "");
    clpi_env_done(&env);
}

Test(str, is_kept_in_an_arena)
{
    clpi_env env;
    clpi_str s;
    clpi_arena arena;
    clpi_env_init(&env, NULL, NULL);
    clpi_arena_init(&arena, &env);
    clpi_str_init(&s, &env);
    clpi_str_add(&s, "axis %s", "i");
    cr_expect_str_eq(clpi_str_keep(&s, &arena), "axis i");
    cr_expect_eq(s.n, 0);
    cr_expect_str_eq(clpi_str_keep(&s, &arena), "");
    s.failed = true;
    cr_expect_null(clpi_str_keep(&s, &arena));
    clpi_arena_done(&arena);
    clpi_env_done(&env);
}

Test(str, grows_by_pieces_of_any_length)
{
    clpi_env env;
    clpi_str s;
    clpi_env_init(&env, NULL, NULL);
    clpi_str_init(&s, &env);
    size_t n = 0;
    for (int i = 0; i < 300; i++) {
        clpi_str_add(&s, "%*d", i + 1, i % 10);
        n += (size_t)i + 1;
        cr_assert_eq(s.n, n);
        cr_assert_eq(s.text[n], 0);
        cr_assert_eq(s.text[n - 1], '0' + i % 10);
    }
    cr_expect_eq(strlen(s.text), n);
    cr_expect(!s.failed);
    clpi_str_done(&s);
    clpi_env_done(&env);
}

Test(str, failure_is_sticky_and_keeps_what_was_there)
{
    failing_alloc failing = { .budget = 1 };
    clpi_env env;
    clpi_str s;
    clpi_env_init(&env, failing_alloc_fn, &failing);
    clpi_str_init(&s, &env);
    clpi_str_puts(&s, "first");
    clpi_str_add(&s, "%500d", 1);
    cr_expect(s.failed);
    clpi_str_puts(&s, "x");
    cr_expect_str_eq(s.text, "first");
    cr_expect(strstr(clpi_error_text(&env), "out of memory"));
    clpi_str_done(&s);
    clpi_env_done(&env);
    cr_expect_eq(failing.n_live, 0);
}
