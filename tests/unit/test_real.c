/* Numbers as text: the same in every locale, both ways. */
#include <math.h>

#include "base/real.h"
#include "support/german.h"

static void expect_text(double x, int n_digits, const char *want)
{
    cr_expect_str_eq(clpi_real(n_digits, x).text, want);
}

static void expect_number(const char *text, bool is_number, double want)
{
    clpi_env env;
    clpi_arena arena;
    double x;
    clpi_env_init(&env, NULL, NULL);
    clpi_arena_init(&arena, &env);
    cr_expect_eq(clpi_real_read(text, strlen(text), &arena, &x), is_number, "%s", text);
    cr_expect(!is_number || x == want, "%s: %a", text, x);
    clpi_arena_done(&arena);
    clpi_env_done(&env);
}

static void try_all(void)
{
    expect_text(1.25, 3, "1.25");
    expect_text(-123456.5, 3, "-1.23e+05");
    expect_text(1.5e-9, 9, "1.5e-09");
    expect_text(0, 3, "0");
    expect_text(INFINITY, 3, "inf");
    expect_text(-INFINITY, 3, "-inf");
    expect_number("1.25", true, 1.25);
    expect_number("1_000.5e-1", true, 100.05);
    expect_number("-7", true, -7);
    expect_number("1e999", true, INFINITY);
    expect_number("1,25", false, 0);
    expect_number("1.2.5", false, 0);
    expect_number("1.5x", false, 0);
    expect_number("inf", false, 0);
    expect_number("0x1p3", false, 0);
    expect_number("", false, 0);
    expect_number(".", false, 0);
}

Test(real, numbers_have_points)
{
    try_all();
}

Test(real, numbers_have_points_where_the_locale_has_commas)
{
    if (speak_german())
        try_all();
}
