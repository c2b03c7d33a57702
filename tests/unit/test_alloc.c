/* The allocator hook: sizes reach it as promised, failure is reported and leaves the old memory alone. */
#include "base/env.h"
#include "support/support.h"

/* Counts what is live, and notes when a size given back is not the size asked for. */
typedef struct ledger { void *p[16]; size_t bytes[16]; size_t n_live; bool is_wrong; } ledger;

static void *ledger_alloc(void *user, void *p, size_t old_bytes, size_t new_bytes)
{
    ledger *l = user;
    size_t i = 0;
    while (p && i < 16 && l->p[i] != p)
        i++;
    if (p && (i == 16 || l->bytes[i] != old_bytes))
        l->is_wrong = true;
    if (p && i < 16) {
        l->p[i] = NULL;
        l->n_live--;
    }
    void *q = NULL;
    if (new_bytes)
        q = realloc(p, new_bytes);
    else
        free(p);
    for (i = 0; q && l->p[i]; i++)
        continue;
    if (q) {
        l->p[i] = q;
        l->bytes[i] = new_bytes;
        l->n_live++;
    }
    return q;
}

Test(alloc, gives_zeroed_memory_and_returns_it_with_its_size)
{
    ledger l = { .n_live = 0 };
    clpi_env env;
    clpi_env_init(&env, ledger_alloc, &l);
    unsigned char *p = clpi_alloc(&env, 10, 3), *q = clpi_alloc(&env, 0, 8);
    cr_assert(p && q);
    for (int i = 0; i < 30; i++)
        cr_expect_eq(p[i], 0);
    p[29] = 7;
    p = clpi_realloc(&env, p, 10, 20, 3);
    cr_assert(p);
    cr_expect_eq(p[29], 7);
    clpi_free(&env, p, 20, 3);
    clpi_free(&env, q, 0, 8);
    clpi_free(&env, NULL, 5, 5);
    cr_expect_eq(l.n_live, 0);
    clpi_env_done(&env);
    cr_expect(!l.is_wrong);
}

Test(alloc, a_product_too_large_is_out_of_memory)
{
    clpi_env env;
    clpi_env_init(&env, NULL, NULL);
    cr_expect_null(clpi_alloc(&env, SIZE_MAX / 2, 3));
    cr_expect(strstr(clpi_error_text(&env), "out of memory"));
    clpi_env_done(&env);
}

Test(alloc, a_failed_growth_keeps_the_old_memory)
{
    failing_alloc failing = { .budget = 1 };
    clpi_env env;
    clpi_env_init(&env, failing_alloc_fn, &failing);
    char *p = clpi_alloc(&env, 8, 1);
    cr_assert(p);
    p[7] = 'x';
    cr_expect_null(clpi_realloc(&env, p, 8, 1 << 20, 1));
    cr_expect_eq(p[7], 'x');
    cr_expect_str_eq(clpi_error_text(&env), "out of memory", "the text could not be allocated either");
    clpi_free(&env, p, 8, 1);
    clpi_env_done(&env);
    cr_expect_eq(failing.n_live, 0);
}
