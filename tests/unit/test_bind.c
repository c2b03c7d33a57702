/* What binding a launch works out, and what it refuses. */
#include "planned.h"

#define MATMUL                                                                                                         \
    "kernel mm(in x: f32[M, K] block [8, 16] at (i, k) pad 0, in y: f32[K, N] block [16, 4] at (k, j) pad 0,\n"         \
    "    out z: f32[M, N] block [8, 4] at (i, j))\n"                                                                    \
    "grid (i = cdiv(M, 8), j = cdiv(N, 4), k = cdiv(K, 16) arbitrary)\n"                                                \
    "{ if (k == 0) { z[...] = 0; } z[...] += dot(x[...], y[...]); }"

#define MAPPED(map) "kernel m(in x: f32[M] block [8] at (" map "), out o: f32[G] block [1] at (i)) grid (i = G) { o[...] = x[0]; }"

#define TABLE                                                                                                          \
    "kernel t(prefetch t: i32[G], in x: f32[M, N] block [8, 4] at (t[i], i), out o: f32[G] block [1] at (i))\n"         \
    "grid (i = G) { o[...] = x[0, 0]; }"

#define COPY "kernel c(in x: f32[M, N], out o: f32[M, N]) grid () { o[0, 0] = x[0, 0]; }"

/* ---- Numbers ---- */

Test(bind, works_out_dims_grid_and_strides)
{
    planned p;
    arrays a;
    clpi_bound *b;
    planned_ok(&p, MATMUL);
    arrays_make(&a, "f32[20, 40] f32[40, 9] f32[20, 9]");
    cr_assert_eq(arrays_bind(&p, &a, &b), CLP_OK, "%s", clpi_error_text(&p.env));
    cr_expect(b->axis_size[0] == 3 && b->axis_size[1] == 3 && b->axis_size[2] == 3);
    cr_expect(b->n_sequences == 9 && b->n_steps == 3);
    cr_expect(b->operands[0].stride[0] == 40 && b->operands[0].stride[1] == 1);
    cr_expect(!b->operands[0].all_full && !b->operands[1].all_full && !b->operands[2].all_full);
    planned_done(&p);
}

Test(bind, knows_when_all_blocks_are_full)
{
    planned p;
    arrays a;
    clpi_bound *b;
    planned_ok(&p, MATMUL);
    for (int again = 0; again < 2; again++) { /* the second time from what is remembered */
        arrays_make(&a, "f32[16, 32] f32[32, 9] f32[16, 9]");
        cr_assert_eq(arrays_bind(&p, &a, &b), CLP_OK, "%s", clpi_error_text(&p.env));
        cr_expect(b->operands[0].all_full);
        cr_expect(!b->operands[1].all_full && !b->operands[2].all_full);
    }
    /* A box that leaves out the edge. */
    clpi_launch_args args = { a.array, a.n, NULL, 0, (int64_t[]){ 0, 0, 0 }, (int64_t[]){ 2, 2, 2 }, false };
    cr_assert_eq(clpi_bind(p.plan, &args, &p.arena, &b), CLP_OK);
    cr_expect(b->operands[0].all_full && b->operands[1].all_full && b->operands[2].all_full);
    planned_done(&p);
}

Test(bind, counts_a_box)
{
    planned p;
    arrays a;
    clpi_bound *b;
    int64_t program[3];
    planned_ok(&p, MATMUL);
    arrays_make(&a, "f32[80, 48] f32[48, 40] f32[80, 40]");
    clpi_launch_args args = { a.array, a.n, NULL, 0, (int64_t[]){ 2, 3, 0 }, (int64_t[]){ 4, 5, 3 }, false };
    cr_assert_eq(clpi_bind(p.plan, &args, &p.arena, &b), CLP_OK, "%s", clpi_error_text(&p.env));
    cr_expect(b->n_sequences == 20 && b->n_steps == 3);
    clpi_program_at(b, 0, 0, program);
    cr_expect(program[0] == 2 && program[1] == 3 && program[2] == 0);
    clpi_program_at(b, 7, 2, program);
    cr_expect(program[0] == 3 && program[1] == 5 && program[2] == 2);
    planned_done(&p);
}

Test(bind, solves_dims_behind_factors)
{
    planned p;
    arrays a;
    clpi_bound *b;
    planned_ok(&p, "kernel k(in x: f32[2 * N + 1], out o: f32[N]) grid (i = N) { o[i] = x[i]; }");
    arrays_make(&a, "f32[9] f32[4]");
    cr_assert_eq(arrays_bind(&p, &a, &b), CLP_OK, "%s", clpi_error_text(&p.env));
    cr_expect_eq(b->dim[0], 4);
    planned_done(&p);
}

Test(bind, reads_scalars_and_named_dims)
{
    planned p;
    arrays a;
    clpi_bound *b;
    planned_ok(&p, "kernel k(scalar n: i32, in x: f32[N * N], out o: f32[1]) grid (i = n + N) { o[0] = x[0]; }");
    arrays_make(&a, "i32=-3 f32[100] f32[1]");
    clpi_launch_args args = { a.array, a.n, (clp_dim[]){ { "N", 10 } }, 1, NULL, NULL, false };
    cr_assert_eq(clpi_bind(p.plan, &args, &p.arena, &b), CLP_OK, "%s", clpi_error_text(&p.env));
    cr_expect_eq(b->axis_size[0], 7);
    cr_expect_eq(b->scalar[0].i, -3);
    planned_done(&p);
}

Test(bind, lets_empty_arrays_and_grids_pass)
{
    planned p;
    arrays a;
    clpi_bound *b;
    planned_ok(&p, MATMUL);
    arrays_make(&a, "f32[0, 16] f32[16, 4] f32[0, 4]");
    cr_assert_eq(arrays_bind(&p, &a, &b), CLP_OK, "%s", clpi_error_text(&p.env));
    cr_expect_eq(b->n_sequences, 0);
    arrays_make(&a, "f32[8, 0] f32[0, 4] f32[8, 4]");
    cr_assert_eq(arrays_bind(&p, &a, &b), CLP_OK, "%s", clpi_error_text(&p.env));
    cr_expect_eq(b->n_steps, 0);
    planned_done(&p);
}

/* ---- Windows ---- */

Test(bind, finds_windows)
{
    planned p;
    arrays a;
    clpi_bound *b;
    clpi_window w[4];
    planned_ok(&p, "kernel k(in x: f32[A, B, C, D] block [8, _, element(6, pad = (2, 1)), 8] at (i, i, 4 * i, 0),\n"
                   "    out o: f32[G] block [1] at (i)) grid (i = G) { o[...] = x[0, 0, 0]; }");
    arrays_make(&a, "f32[20, 3, 9, 4] f32[3]");
    cr_assert_eq(arrays_bind(&p, &a, &b), CLP_OK, "%s", clpi_error_text(&p.env));
    static const clpi_window expected[3][4] = {
        { { 0, 0, 8 }, { 0, 0, 1 }, { -2, 2, 6 }, { 0, 0, 4 } },
        { { 8, 0, 8 }, { 1, 0, 1 }, { 2, 0, 6 }, { 0, 0, 4 } },
        { { 16, 0, 4 }, { 2, 0, 1 }, { 6, 0, 3 }, { 0, 0, 4 } },
    };
    for (int64_t i = 0; i < 3; i++) {
        cr_assert(clpi_windows(b, 0, &i, NULL, w));
        for (int d = 0; d < 4; d++)
            cr_expect(w[d].start == expected[i][d].start && w[d].lo == expected[i][d].lo && w[d].hi == expected[i][d].hi,
                      "program %d dimension %d: %lld %lld %lld", (int)i, d, (long long)w[d].start, (long long)w[d].lo, (long long)w[d].hi);
    }
    planned_done(&p);
}

typedef struct table { const int64_t *values; int64_t n; } table;

static bool read_table(void *user, int operand, const int64_t *index, int64_t *out_value)
{
    const table *t = user;
    (void)operand;
    if (index[0] < 0 || index[0] >= t->n)
        return false;
    *out_value = t->values[index[0]];
    return true;
}

Test(bind, judges_prefetched_indices_without_wrapping)
{
    static const struct { int64_t index; bool is_inside; } rows[] = {
        { 0, true }, { 3, true }, { 4, false }, { -1, false }, { INT64_C(1) << 61, false }, { INT64_MIN, false }, { INT64_MAX, false }
    };
    planned p;
    arrays a;
    clpi_bound *b;
    planned_ok(&p, TABLE);
    arrays_make(&a, "i32[1] f32[32, 4] f32[1]");
    cr_assert_eq(arrays_bind(&p, &a, &b), CLP_OK, "%s", clpi_error_text(&p.env));
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        clpi_window w[2];
        clpi_prefetch prefetch = { read_table, &(table){ &rows[r].index, 1 } };
        cr_expect_eq(clpi_windows(b, 1, (int64_t[]){ 0 }, &prefetch, w), rows[r].is_inside, "row %zu", r);
        cr_expect(rows[r].is_inside ? w[0].start == 8 * rows[r].index : w[0].lo == w[0].hi, "row %zu", r);
    }
    planned_done(&p);
}

Test(bind, says_which_block_of_a_table_lies_outside)
{
    planned p;
    arrays a;
    clpi_bound *b;
    clpi_str s;
    int64_t five = 5;
    planned_ok(&p, TABLE);
    arrays_make(&a, "i32[2] f32[32, 8] f32[2]");
    cr_assert_eq(arrays_bind(&p, &a, &b), CLP_OK, "%s", clpi_error_text(&p.env));
    clpi_prefetch prefetch = { read_table, &(table){ &five, 1 } };
    clpi_str_init(&s, &p.env);
    clpi_window_message(b, 1, (int64_t[]){ 0 }, &prefetch, &s);
    cr_expect_str_eq(s.text, "test.plk:1:63: x: program (0,): block (5, 0) of [8, 4] lies outside the array [32, 8]");
    clpi_str_cut(&s, 0);
    clpi_window_message(b, 1, (int64_t[]){ 1 }, &prefetch, &s);
    cr_expect_str_eq(s.text, "test.plk:1:63: x: program (1,): the index map t[i] reads a prefetched element outside its array");
    clpi_str_done(&s);
    planned_done(&p);
}

Test(bind, evaluates_maps_as_the_op_table_says)
{
    planned p;
    arrays a;
    clpi_bound *b;
    planned_ok(&p, "kernel k(in x: f32[M] block [_] at (max(0, (i - 5) / 2 + 3) + i % 3 + (7 / max(0, i - 100) + 1) + min(i, 2)),\n"
                   "    out o: f32[G] block [1] at (i)) grid (i = G) { o[...] = x[...]; }");
    arrays_make(&a, "f32[64] f32[9]");
    cr_assert_eq(arrays_bind(&p, &a, &b), CLP_OK, "%s", clpi_error_text(&p.env));
    for (int64_t i = 0; i < 9; i++) {
        int64_t half = (i - 5 - ((i - 5) % 2 != 0 && i < 5)) / 2, got; /* rounds down */
        int64_t want = (half + 3 > 0 ? half + 3 : 0) + i % 3 + (i < 2 ? i : 2); /* 7 / 0 is -1 */
        cr_assert(clpi_header_eval(b, p.ir->operands[0].block[0].index, &i, NULL, &got));
        cr_expect_eq(got, want, "i = %d: %lld, expected %lld", (int)i, (long long)got, (long long)want);
    }
    planned_done(&p);
}

/* ---- Refusals ---- */

static const struct {
    const char *kernel, *arrays, *message;      /* NULL: it binds */
} refusals[] = {
    { MATMUL, "f32[20, 40] f32[40, 9]", "mm: expected 3 arrays (x, y, z), got 2" },
    { MATMUL, "f32[20, 40] i32[40, 9] f32[20, 9]", "y: expected dtype f32, got i32" },
    { MATMUL, "f32[20, 40] f32[40, 9, 1] f32[20, 9]", "y: expected rank 2, got rank 3" },
    { MATMUL, "f32[100, 40] f32[40, 9] f32[96, 9]", "z: M is 100 (from x), got 96" },
    { MATMUL, "f32[100, 40] f32[41, 9] f32[100, 9]", "y: K is 40 (from x), got 41" },
    { MATMUL, "f32[2147483648, 40] f32[40, 9] f32[96, 9]", "x: expected a size of 0 to 2147483647 in dimension 0, got 2147483648" },
    { MATMUL, "f32[-1, 40] f32[40, 9] f32[96, 9]", "x: expected a size of 0 to 2147483647 in dimension 0, got -1" },
    { "kernel k(in x: f32[2 * N], out o: f32[1]) grid (i = N) { o[0] = x[0]; }", "f32[7] f32[1]",
      "x: dimension 0 is 2 * N: no N gives 7" },
    { "kernel k(in x: f32[N], in y: f32[2 * N], out o: f32[4]) grid () { o[0] = x[0] + y[0]; }", "f32[7] f32[13] f32[4]",
      "y: expected size 2 * N = 14 in dimension 0, got 13" },
    { "kernel k(in x: f32[N], out o: f32[4]) grid () { o[0] = x[0]; }", "f32[7] f32[5]",
      "o: expected size 4 in dimension 0, got 5" },
    { "kernel k(in x: f32[N * N], out o: f32[1]) grid () { o[0] = x[0]; }", "f32[9] f32[1]",
      "N: no array shows this dim; its size must be given" },
    { "kernel k(scalar n: i32, out o: f32[N] block [1] at (0)) grid (i = n) { o[...] = 0; }", "i32=-1 f32[3]",
      "test.plk:1:63: axis i: expected a size of 0 to 2147483647, got -1" },
    { "kernel k(in x: f32[N] block [1] at (0), out o: f32[1]) grid (a = N, b = N, c = N) { o[0] = x[0]; }",
      "f32[2147483647] f32[1]", "k: the grid has more than 2^63 - 1 programs" },
    { "kernel k(in x: f32[K], out o: f32[1]) grid () require K % 8 == 0, K > 0 { o[0] = x[0]; }", "f32[100] f32[1]",
      "test.plk:1:55: k requires K % 8 == 0; K is 100" },
    { "kernel k(in x: f32[K], out o: f32[1]) grid () require K % 8 == 0, K > 0 { o[0] = x[0]; }", "f32[96] f32[1]", NULL },
    /* Parameters, those behind them too, have their values told. */
    { "kernel k<b = 8, c = b / 2, d = 1>(in x: f32[K], out o: f32[1]) grid () require K % c == 0 { o[0] = x[0]; }", "f32[7] f32[1]",
      "test.plk:1:80: k requires K % c == 0; K is 7, b is 8, c is 4" },
    { "kernel k<b = 0>(in x: f32[K], out o: f32[1]) grid (i = K / b) { o[0] = x[0]; }", "f32[7] f32[1]",
      "test.plk:1:52: axis i: expected a size of 0 to 2147483647, got -1; b is 0" },
    /* Blocks: affine maps, at both ends; the first program that is at fault. */
    { MAPPED("i"), "f32[32] f32[4]", NULL },
    { MAPPED("i"), "f32[25] f32[4]", NULL },
    { MAPPED("i"), "f32[24] f32[9]", "test.plk:1:37: x: program (3,): block (3,) of [8] lies outside the array [24]" },
    { MAPPED("i - 1"), "f32[24] f32[3]", "test.plk:1:37: x: program (0,): block (-1,) of [8] lies outside the array [24]" },
    { MAPPED("5 - 2 * i"), "f32[48] f32[4]", "test.plk:1:37: x: program (3,): block (-1,) of [8] lies outside the array [48]" },
    { MAPPED("5 - 2 * i"), "f32[40] f32[4]", "test.plk:1:37: x: program (0,): block (5,) of [8] lies outside the array [40]" },
    { MAPPED("2"), "f32[16] f32[4]", "test.plk:1:37: x: program (0,): block (2,) of [8] lies outside the array [16]" },
    { MAPPED("i"), "f32[0] f32[4]", NULL },
    /* Others: by enumeration, while there are few enough. */
    { MAPPED("i / 2"), "f32[16] f32[4]", NULL },
    { MAPPED("i / 2"), "f32[16] f32[5]", "test.plk:1:37: x: program (4,): block (2,) of [8] lies outside the array [16]" },
    { MAPPED("i * i"), "f32[24] f32[3]", "test.plk:1:37: x: program (2,): block (4,) of [8] lies outside the array [24]" },
    { MAPPED("i / 2"), "f32[16] f32[65537]", NULL },
    { MAPPED("min(i, 1)"), "f32[16] f32[65536]", NULL },
    { "kernel k(in x: f32[M, N] block [8, 16] at (8 * i, 0), out o: f32[G] block [1] at (i))\n"
      "grid (i = G, j = 2) { o[...] = x[0, 0]; }", "f32[32, 16] f32[2]",
      "test.plk:1:44: x: program (1, 0): block (8, 0) of [8, 16] lies outside the array [32, 16]" },
    { "kernel k(in x: f32[M, N] block [_, element(4, pad = 2)] at (0, 2 * i - 8), out o: f32[G] block [1] at (i))\n"
      "grid (i = G) { o[...] = x[0]; }", "f32[1, 9] f32[2]",
      "test.plk:1:64: x: program (0,): block (0, -8) of [_, element(4)] lies outside the array [1, 9]" },
};

Test(bind, refuses_what_does_not_fit)
{
    for (size_t r = 0; r < sizeof refusals / sizeof *refusals; r++) {
        planned p;
        arrays a;
        clpi_bound *b;
        planned_ok(&p, refusals[r].kernel);
        arrays_make(&a, refusals[r].arrays);
        clp_status status = arrays_bind(&p, &a, &b);
        const char *message = refusals[r].message;
        cr_expect_eq(status, message ? CLP_ERR_ARG : CLP_OK, "row %zu: %s: %s", r, clp_status_name(status), clpi_error_text(&p.env));
        if (message && status)
            cr_expect_str_eq(clpi_error_text(&p.env), message, "row %zu: %s", r, clpi_error_text(&p.env));
        planned_done(&p);
    }
}

Test(bind, refuses_boxes_that_do_not_fit)
{
    static const struct { int64_t start[3], count[3]; const char *message; } rows[] = {
        { { 0, 0, 0 }, { 3, 3, 3 }, NULL },
        { { 3, 3, 0 }, { 0, 0, 3 }, NULL },
        { { -1, 0, 0 }, { 1, 3, 3 }, "axis i: the box starts at -1 of 3" },
        { { 0, 1, 0 }, { 3, 3, 3 }, "axis j: a box of 3 from 1 on does not fit 3" },
        { { 0, 0, 0 }, { 3, 3, 2 }, "axis k is arbitrary: a box may not cut it" },
    };
    planned p;
    arrays a;
    planned_ok(&p, MATMUL);
    arrays_make(&a, "f32[20, 40] f32[40, 9] f32[20, 9]");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        clpi_bound *b;
        clpi_launch_args args = { a.array, a.n, NULL, 0, rows[r].start, rows[r].count, false };
        clp_status status = clpi_bind(p.plan, &args, &p.arena, &b);
        cr_expect_eq(status, rows[r].message ? CLP_ERR_ARG : CLP_OK, "row %zu", r);
        if (rows[r].message)
            cr_expect_str_eq(clpi_error_text(&p.env), rows[r].message);
    }
    planned_done(&p);
}

Test(bind, checks_dims_given_by_name)
{
    static const struct { clp_dim dim; const char *message; } rows[] = {
        { { "M", 20 }, NULL }, { { "M", 21 }, "M is 20 (from x), given as 21" }, { { "Q", 1 }, "mm has no dim Q" },
    };
    planned p;
    arrays a;
    planned_ok(&p, MATMUL);
    arrays_make(&a, "f32[20, 40] f32[40, 9] f32[20, 9]");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        clpi_bound *b;
        clpi_launch_args args = { a.array, a.n, &rows[r].dim, 1, NULL, NULL, false };
        cr_expect_eq(clpi_bind(p.plan, &args, &p.arena, &b), rows[r].message ? CLP_ERR_ARG : CLP_OK, "row %zu", r);
        if (rows[r].message)
            cr_expect_str_eq(clpi_error_text(&p.env), rows[r].message);
    }
    planned_done(&p);
}

/* ---- Overlap ---- */

#define ITSELF "o: it is written, and its strides let elements share memory"
#define SHARED "o: it is written, and shares memory with x without `alias`"

Test(bind, finds_overlap_exactly_for_equal_strides)
{
    static const struct {
        int64_t m, n, x_strides[2], x_at, o_strides[2], o_at;     /* at: elements from one common place */
        const char *message;
    } rows[] = {
        { 4, 6, { 6, 1 }, 0, { 6, 1 }, 24, NULL },
        { 4, 6, { 6, 1 }, 0, { 6, 1 }, 23, SHARED },
        { 4, 6, { 6, 1 }, 24, { 6, 1 }, 0, NULL },
        { 4, 6, { 6, 1 }, 0, { 6, 1 }, 0, SHARED },
        { 4, 6, { 12, 1 }, 0, { 12, 1 }, 6, NULL },            /* the two halves of each row */
        { 4, 6, { 12, 1 }, 0, { 12, 1 }, 5, SHARED },
        { 4, 6, { 12, 2 }, 0, { 12, 2 }, 1, NULL },            /* every second element */
        { 4, 6, { 2, 8 }, 0, { 2, 8 }, 1, NULL },
        { 4, 6, { -12, 1 }, 36, { -12, 1 }, 42, NULL },        /* rows upside down */
        { 4, 6, { -12, 1 }, 36, { -12, 1 }, 38, SHARED },
        { 4, 6, { 0, 0 }, 100, { 6, 1 }, 0, NULL },            /* an input of one element */
        { 4, 6, { 12, 1 }, 0, { 13, 1 }, 6, SHARED },          /* other strides: by range */
        { 4, 6, { 12, 1 }, 0, { 13, 1 }, 42, NULL },
        { 4, 6, { 6, 1 }, 100, { 0, 1 }, 0, ITSELF },
        { 4, 6, { 6, 1 }, 100, { 5, 1 }, 0, ITSELF },
        { 4, 6, { 6, 1 }, 100, { 1, 4 }, 0, NULL },            /* transposed */
        { 4, 6, { 6, 1 }, 100, { 1, -4 }, 20, NULL },
        { 4, 6, { 6, 1 }, 100, { 3, 2 }, 0, ITSELF },          /* 2 * 3 = 3 * 2 */
        { 2, 3, { 3, 1 }, 100, { 3, 2 }, 0, NULL },            /* which needs a third row */
        { 1, 6, { 0, 1 }, 100, { 0, 1 }, 0, NULL },
    };
    planned p;
    planned_ok(&p, COPY);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        int64_t shape[2] = { rows[r].m, rows[r].n };
        void *at = (void *)((uintptr_t)1 << 40);
        clp_array two[2] = { { CLP_F32, 2, shape, rows[r].x_strides, at, NULL, rows[r].x_at },
                             { CLP_F32, 2, shape, rows[r].o_strides, at, NULL, rows[r].o_at } };
        clpi_launch_args args = { .arrays = two, .n_arrays = 2 };
        clpi_bound *b;
        clp_status status = clpi_bind(p.plan, &args, &p.arena, &b);
        cr_expect_eq(status, rows[r].message ? CLP_ERR_ARG : CLP_OK, "row %zu: %s", r, clpi_error_text(&p.env));
        if (rows[r].message && status)
            cr_expect_str_eq(clpi_error_text(&p.env), rows[r].message, "row %zu: %s", r, clpi_error_text(&p.env));
    }
    planned_done(&p);
}

/* Every pair of small strided arrays against the definition: two index vectors that meet. */
Test(bind, agrees_with_overlap_by_counting)
{
    planned p;
    planned_ok(&p, COPY);
    uint64_t seed = 7;
    for (int round = 0; round < 4000; round++) {
        int64_t shape[2], strides[2], at = (int64_t)(random_next(&seed) % 40);
        for (int d = 0; d < 2; d++) {
            shape[d] = 1 + (int64_t)(random_next(&seed) % 4);
            strides[d] = (int64_t)(random_next(&seed) % 15) - 7;
        }
        bool itself = false, shared = false;
        for (int64_t i = 0; i < shape[0] * shape[1]; i++)
            for (int64_t k = 0; k < shape[0] * shape[1]; k++) {
                int64_t x = i / shape[1] * strides[0] + i % shape[1] * strides[1];
                int64_t o = k / shape[1] * strides[0] + k % shape[1] * strides[1];
                itself = itself || (i != k && x == o);
                shared = shared || x == o + at;
            }
        void *base = (void *)((uintptr_t)1 << 40);
        clp_array two[2] = { { CLP_F32, 2, shape, strides, base, NULL, 0 }, { CLP_F32, 2, shape, strides, base, NULL, at } };
        clpi_launch_args args = { .arrays = two, .n_arrays = 2 };
        clpi_bound *b;
        clpi_arena_mark mark = clpi_arena_mark_get(&p.arena);
        clp_status status = clpi_bind(p.plan, &args, &p.arena, &b);
        cr_assert_eq(status, itself || shared ? CLP_ERR_ARG : CLP_OK, "round %d: shape [%d, %d] strides [%d, %d] at %d", round,
                     (int)shape[0], (int)shape[1], (int)strides[0], (int)strides[1], (int)at);
        clpi_arena_rewind(&p.arena, mark);
    }
    planned_done(&p);
}

Test(bind, lets_aliases_and_inputs_overlap)
{
    static const char *const kernels[] = {
        "kernel a(in x: f32[N], out o: f32[N] alias x) grid () { o[0] = x[0]; }",
        "kernel b(in x: f32[N], in y: f32[N], out o: f32[1]) grid () { o[0] = x[0] + y[0]; }",
    };
    for (int i = 0; i < 2; i++) {
        planned p;
        arrays a;
        clpi_bound *b;
        planned_ok(&p, kernels[i]);
        arrays_make(&a, i == 0 ? "f32[8] f32[8]" : "f32[8] f32[8] f32[1]");
        a.array[1].data = a.array[0].data;
        cr_expect_eq(arrays_bind(&p, &a, &b), CLP_OK, "%s", clpi_error_text(&p.env));
        planned_done(&p);
    }
}

Test(bind, wants_packed_arrays_contiguous)
{
    planned p;
    arrays a;
    clpi_bound *b;
    planned_ok(&p, "kernel k(in x: i4[M, N] block [1, 2] at (0, 0), out o: i8[2]) grid () { o[...] = x[0]; }");
    arrays_make(&a, "i4[3, 4] i8[2]");
    a.array[0].strides = (int64_t[]){ 4, 1 };
    cr_expect_eq(arrays_bind(&p, &a, &b), CLP_OK, "%s", clpi_error_text(&p.env));
    a.array[0].strides = (int64_t[]){ 6, 1 };
    cr_expect_eq(arrays_bind(&p, &a, &b), CLP_ERR_ARG);
    cr_expect_str_eq(clpi_error_text(&p.env), "x: i4 arrays are contiguous: expected stride 4 in dimension 0, got 6");
    planned_done(&p);
}

/* ---- Memory ---- */

static void expect_span(const clpi_span *s, int64_t start, int64_t end, int64_t element_0)
{
    cr_expect(s->start == start && s->end == end && s->element_0 == element_0, "operand %d: bytes %lld to %lld, element 0 at %lld", s->operand,
              (long long)s->start, (long long)s->end, (long long)s->element_0);
}

/*   x  0 .... 16       z  32 .... 48    e  16, empty
 *   y       12 ...... 36                w  elsewhere, from its second byte on                                             */
Test(bind, joins_memory_that_overlaps)
{
    planned p;
    arrays a;
    clpi_bound *b;
    planned_ok(&p, "kernel k(in x: f32[A], in w: i4[B], in z: f32[C], in e: f32[D], in y: f32[E], out o: f32[1])\n"
                   "grid () { o[0] = x[0] + y[0] + z[0]; }");
    arrays_make(&a, "f32[4] i4[5] f32[4] f32[0] f32[6] f32[1]");
    const int64_t base = INT64_C(1) << 40, of_w = INT64_C(2) << 40;
    a.array[1].offset = 3;
    a.array[2].data = (void *)(base + 32);
    a.array[3].data = (void *)(base + 16);
    a.array[4].data = (void *)(base + 32);
    a.array[4].strides = &(int64_t){ -1 };
    cr_assert_eq(arrays_bind(&p, &a, &b), CLP_OK, "%s", clpi_error_text(&p.env));
    clpi_span spans[5], regions[5];
    for (int i = 0; i < 5; i++)
        spans[i] = clpi_span_of(b, i, &a.array[i]);
    expect_span(&spans[0], base, base + 16, 0);
    expect_span(&spans[1], of_w + 1, of_w + 4, 1);
    expect_span(&spans[3], base + 16, base + 16, 0);
    expect_span(&spans[4], base + 12, base + 36, 5);
    cr_assert_eq(clpi_spans_join(spans, 5, regions), 2);
    cr_expect(spans[0].region == 0 && spans[1].region == 1 && spans[2].region == 0 && spans[3].region == 0 && spans[4].region == 0);
    cr_expect(regions[0].start == base && regions[0].end == base + 48);
    cr_expect(regions[1].start == of_w + 1 && regions[1].end == of_w + 4);
    spans[4].space = 1; /* without it nothing holds the others together */
    cr_assert_eq(clpi_spans_join(spans, 5, regions), 5);
    for (int i = 0; i < 5; i++) {
        cr_expect_eq(spans[i].region, i);
        cr_expect(regions[i].start == spans[i].start && regions[i].end == spans[i].end, "region %d", i);
    }
    planned_done(&p);
}

/* ---- What is remembered ---- */

Test(bind, remembers_shapes_without_mixing_them_up)
{
    planned p;
    planned_ok(&p, MAPPED("i / 2"));
    for (int round = 0; round < 3; round++)
        for (int g = 1; g < 24; g++) { /* more shapes than are kept */
            arrays a;
            clpi_bound *b;
            arrays_make(&a, "f32[40] f32[1]");
            a.shape[1][0] = g;
            clp_status status = arrays_bind(&p, &a, &b);
            cr_expect_eq(status, g <= 10 ? CLP_OK : CLP_ERR_ARG, "g = %d", g);
            if (!status)
                cr_expect(b->operands[0].all_full && b->operands[1].all_full, "g = %d", g);
        }
    planned_done(&p);
}

/* Launches of one plan give what plans that have seen none give: other scalars, boxes and sizes, each before and after others. */
Test(bind, remembers_what_it_would_work_out)
{
    static const char text[] =
        "kernel k(scalar s: i64, in x: f32[N] block [4] at (i + s), inout y: f32[N], out o: f32[M] block [4] at (i))\n"
        "grid (i = cdiv(M, 4), j = s) require M % 4 == 0 { o[...] = x[...] + y[0]; }";
    static const int64_t boxes[][2] = { { 0, 1 }, { 1, 1 }, { -1, 1 }, { 1, 2 }, { 1, 9 } };
    planned kept;
    planned_ok(&kept, text);
    for (int c = 0; c < 2 * 3 * 4 * 5 * 4; c++) {
        char spec[64];
        arrays a;
        clpi_bound *b, *fresh_b;
        const int64_t *box = boxes[c / 24 % 5], start[2] = { box[0], 0 }, count[2] = { box[1], 1 };
        planned fresh;
        planned_ok(&fresh, text);
        snprintf(spec, sizeof spec, "i64=%d f32[%d] f32[%d] f32[%d]", 1 + c / 4 % 2, 20 + c / 8 % 3, 20 + (c % 7 == 0), c % 5 ? 12 : 10);
        arrays_make(&a, spec);
        clpi_launch_args args = { a.array, a.n, NULL, 0, c & 1 ? start : NULL, c & 2 ? count : NULL, c % 11 == 0 };
        const clp_status status = clpi_bind(kept.plan, &args, &kept.arena, &b);
        cr_assert_eq(status, clpi_bind(fresh.plan, &args, &fresh.arena, &fresh_b), "%s, case %d", spec, c);
        if (status) {
            cr_expect_str_eq(clpi_error_text(&kept.env), clpi_error_text(&fresh.env));
        } else {
            cr_expect(b->n_sequences == fresh_b->n_sequences && b->n_steps == fresh_b->n_steps, "%s, case %d", spec, c);
            cr_expect_arr_eq(b->axis_size, fresh_b->axis_size, 2 * sizeof *b->axis_size);
            cr_expect_arr_eq(b->box_start, fresh_b->box_start, 2 * sizeof *b->box_start);
            cr_expect_arr_eq(b->box_count, fresh_b->box_count, 2 * sizeof *b->box_count);
            cr_expect_arr_eq(b->header, fresh_b->header, kept.ir->n_header * sizeof *b->header);
            for (int i = 0; i < 4; i++)
                cr_expect_eq(b->operands[i].all_full, fresh_b->operands[i].all_full, "%s, case %d: operand %d", spec, c, i);
        }
        planned_done(&fresh);
    }
    planned_done(&kept);
}
