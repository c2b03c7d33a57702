/* linear: "empty" is never said of a system that has a solution, and said of most that have none. */
#include <stdio.h>

#include "check/linear.h"
#include "support/support.h"

enum { MAX_N = 4, MAX_ROWS = 16, REACH = 3 };

typedef struct system { int n, n_rows; int64_t cells[MAX_ROWS * (MAX_N + 1)]; bool is_equal[MAX_ROWS]; uint64_t state; } linear_system;

static int draw(linear_system *s, int n)
{
    s->state ^= s->state << 13;
    s->state ^= s->state >> 7;
    s->state ^= s->state << 17;
    return (int)((s->state >> 11) % (uint64_t)n);
}

static int64_t *add_row(linear_system *s, bool is_equal)
{
    s->is_equal[s->n_rows] = is_equal;
    return &s->cells[s->n_rows++ * (s->n + 1)];
}

/* Every variable lies in -REACH .. REACH, so that all there are can be tried. */
static void make(linear_system *s, uint64_t seed)
{
    *s = (linear_system){ .state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1 };
    for (int i = 0; i < 8; i++)
        draw(s, 2);
    s->n = 1 + draw(s, MAX_N);
    for (int c = 0; c < s->n; c++)
        for (int sign = -1; sign <= 1; sign += 2) {
            int64_t *row = add_row(s, false);
            row[c] = sign;
            row[s->n] = REACH;
        }
    const int scale = draw(s, 4) ? 1 : 1000003;
    for (int i = 1 + draw(s, 5); i-- > 0;) {
        int64_t *row = add_row(s, draw(s, 3) == 0);
        for (int c = 0; c < s->n; c++)
            row[c] = (int64_t)(draw(s, 9) - 4) * scale;
        row[s->n] = (int64_t)(draw(s, 21) - 10) * scale;
    }
}

static bool has_solution(const linear_system *s)
{
    int64_t x[MAX_N];
    for (int c = 0; c < s->n; c++)
        x[c] = -REACH;
    for (;;) {
        bool is_one = true;
        for (int r = 0; is_one && r < s->n_rows; r++) {
            const int64_t *row = &s->cells[r * (s->n + 1)];
            int64_t sum = row[s->n];
            for (int c = 0; c < s->n; c++)
                sum += row[c] * x[c];
            is_one = s->is_equal[r] ? sum == 0 : sum >= 0;
        }
        if (is_one)
            return true;
        int c = 0;
        while (c < s->n && ++x[c] > REACH)
            x[c++] = -REACH;
        if (c == s->n)
            return false;
    }
}

Test(linear, empty_is_said_rightly)
{
    enum { N = 20000 };
    clpi_env env;
    clpi_arena arena;
    clpi_env_init(&env, NULL, NULL);
    clpi_arena_init(&arena, &env);
    int n_empty = 0, n_said = 0;
    for (uint64_t seed = 1; seed <= N; seed++) {
        linear_system s;
        make(&s, seed);
        const clpi_linear system = { s.n, s.n_rows, s.cells, s.is_equal };
        bool has = has_solution(&s), said = clpi_linear_is_empty(&system, &arena);
        cr_assert(!(has && said), "seed %llu", (unsigned long long)seed);
        n_empty += !has;
        n_said += said;
    }
    printf("%d of %d empty systems found\n", n_said, n_empty);
    cr_expect(n_empty > N / 4 && n_empty < N * 3 / 4, "%d empty", n_empty);
    cr_expect(n_said * 100 >= n_empty * 99, "%d of %d", n_said, n_empty);
    clpi_arena_done(&arena);
    clpi_env_done(&env);
}

static bool is_empty(int n, int n_rows, int64_t *cells, bool *is_equal)
{
    clpi_env env;
    clpi_arena arena;
    clpi_env_init(&env, NULL, NULL);
    clpi_arena_init(&arena, &env);
    const clpi_linear system = { n, n_rows, cells, is_equal };
    bool is = clpi_linear_is_empty(&system, &arena);
    clpi_arena_done(&arena);
    clpi_env_done(&env);
    return is;
}

Test(linear, by_hand)
{
    bool no[4] = { false, false, false, false }, first[4] = { true, false, false, false };
    cr_expect(!is_empty(0, 0, NULL, no), "no rows");
    cr_expect(is_empty(0, 1, (int64_t[]){ -1 }, no), "-1 >= 0");
    cr_expect(!is_empty(0, 1, (int64_t[]){ 0 }, first), "0 = 0");
    cr_expect(is_empty(2, 1, (int64_t[]){ 4, 6, -3 }, first), "4 x + 6 y = 3");
    cr_expect(!is_empty(2, 1, (int64_t[]){ 4, 6, -2 }, first), "4 x + 6 y = 2");
    cr_expect(is_empty(2, 3, (int64_t[]){ 1, 0, 0, -1, -1, -1, 0, 1, 0 }, no), "x >= 0, x + y <= -1, y >= 0");
    cr_expect(is_empty(1, 2, (int64_t[]){ 3, -1, -3, 2 }, no), "1 <= 3 x <= 2");
    cr_expect(is_empty(2, 3, (int64_t[]){ 15, -21, -6, 1, 0, 0, -1, 0, 1 }, first), "15 x - 21 y = 6, 0 <= x <= 1: x is 6 or more off");
    cr_expect(!is_empty(2, 2, (int64_t[]){ 1, 1, INT64_C(1) << 59, -1, 1, INT64_C(1) << 59 }, no), "large numbers");
}
