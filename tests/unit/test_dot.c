/* How a dot is blocked for vectors: its register tiles, what of y is packed, and where its sums start. */
#include "run/dot_tile.h"
#include "cl/schedule.h"
#include "planned.h"

static const clpi_limits CPU = {
    .is_cpu = true, .has_fp64 = true, .local_bytes = 512 << 10, .private_bytes = 64 << 10, .group_size = 4096, .compute_units = 2,
    .vector_bytes = 64, .l1_bytes = 32 << 10, .l2_bytes = 1 << 20,
};

typedef struct product { planned p; clpi_cl_schedule *s; const clpi_stage *dot; } product;

/* Of so many rows and columns; y as an expression of its block; `before` in front of the sum, and what is done in the first step. */
static void product_ok(product *x, int m, int n, const char *y, const char *before, const char *first)
{
    char text[900];
    clpi_program *program;
    const bool is_turned = strstr(y, "transpose") != NULL;
    snprintf(text, sizeof text,
             "kernel k(in x: f32[M, K] block [%d, 20] at (i, k) pad 0, in y: f32[A, B] block [%d, %d] at %s pad 0,\n"
             "out z: f32[M, N] block [%d, %d] at (i, j), scratch acc: f32[%d, %d], scratch other: f32[%d, %d])\n"
             "grid (i = cdiv(M, %d), j = cdiv(N, %d), k = cdiv(K, 20) arbitrary)\n"
             "{ if (first(k)) { %s } %s acc[...] += dot(x[...], %s); if (last(k)) { z[...] = acc[...] + other[...]; } }",
             m, is_turned ? n : 20, is_turned ? 20 : n, is_turned ? "(j, k)" : "(k, j)", m, n, m, n, m, n, m, n, first, before, y);
    planned_ok(&x->p, text);
    cr_assert_eq(clpi_nest_build(x->p.ir, x->p.plan, false, &x->p.arena, &program), CLP_OK);
    cr_assert_eq(clpi_cl_schedule_new(program, &CPU, CLP_SCHEDULE_VECTOR, &x->p.arena, &x->s), CLP_OK);
    const clpi_stages *every = &x->s->parts[CLPI_PART_EVERY];
    x->dot = NULL;
    for (uint32_t i = 0; i < every->n; i++)
        if (every->items[i].step->kind == CLPI_STEP_DOT)
            x->dot = &every->items[i];
    cr_assert_not_null(x->dot, "%s", text);
}

Test(dot, register_tiles_fit_the_registers_and_have_the_dots_shape)
{
    static const uint32_t bytes[] = { 16, 32, 64 };
    for (int b = 0; b < 3; b++)
        for (int m = 1; m < 40; m++)
            for (int n = 1; n < 70; n++) {
                const clpi_limits l = { .vector_bytes = bytes[b] };
                const clpi_dot_tile t = clpi_dot_tile_of(&l, m, n);
                const int registers = bytes[b] == 64 ? 32 : 16;
                cr_expect(t.rows >= 1 && t.vectors >= 1 && t.rows * t.vectors + t.vectors + 1 <= registers, "%d x %d: %d x %d", m, n, t.rows, t.vectors);
                cr_expect(t.rows <= m || m >= 4, "%d rows of %d", t.rows, m);
                cr_expect(t.vectors <= n || n == 1, "%d vectors of %d", t.vectors, n);
            }
    cr_expect_eq(clpi_dot_tile_of(&CPU, 100, 3).vectors, 3, "33 to 48 columns are one panel");
    cr_expect_eq(clpi_dot_tile_of(&CPU, 100, 2).rows, 12);
    cr_expect_eq(clpi_dot_tile_of(&CPU, 1, 128).vectors, 8);
}

Test(dot, y_is_packed_where_it_is_used_again)
{
    static const struct { int m, n; const char *y; bool is_direct; int64_t packed_columns; } rows[] = {
        { 30, 64, "y[...]", true, 32 },            /* a panel, by the tile above the others */
        { 30, 48, "y[...] * 2", true, 48 },
        { 12, 64, "y[...]", true, 0 },             /* one tile has all rows */
        { 1, 256, "y[...]", true, 0 },
        { 30, 50, "y[...]", false, 64 },           /* columns that are no whole vectors */
        { 1, 50, "y[...]", false, 64 },
        { 30, 64, "transpose(y[...])", false, 64 },
        { 2, 64, "transpose(y[...])", false, 64 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        product x;
        product_ok(&x, rows[i].m, rows[i].n, rows[i].y, "", "acc[...] = 0; other[...] = 0;");
        const clpi_dot_plan *p = &x.dot->dot;
        cr_expect_eq(p->is_y_direct, rows[i].is_direct, "row %zu", i);
        cr_expect_eq(p->b_slot < 0, rows[i].packed_columns == 0, "row %zu", i);
        if (p->b_slot >= 0) {
            const int64_t columns = p->is_y_direct ? p->panel : (int64_t)p->n_panels * p->panel;
            cr_expect_eq(columns, rows[i].packed_columns, "row %zu: %d", i, (int)columns);
            cr_expect_geq(x.s->slots.items[p->b_slot].n_elems, 20 * columns, "row %zu", i);
        }
        planned_done(&x.p);
    }
}

Test(dot, sums_start_at_zero_where_nothing_else_comes_between)
{
    static const struct { const char *first, *before; bool starts; } rows[] = {
        { "acc[...] = 0;", "", true },
        { "acc[...] = 0;", "other[...] = other[...] + 1;", true },
        { "acc[...] = 0; other[...] = acc[...];", "", false },
        { "acc[...] = 0; other[...] = 1;", "", false },       /* one nest for both */
        { "acc[...] = 1;", "", false },
        { "acc[0:4, ...] = 0;", "", false },
        { "acc[...] = 0; acc[3, 3] = 1;", "", false },
        { "acc[...] = 0;", "other[...] = acc[...];", false },
        { "acc[...] = 0;", "acc[1, 1] = 5;", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        product x;
        product_ok(&x, 30, 64, "y[...]", rows[i].before, rows[i].first);
        cr_expect_eq(x.dot->dot.starts_at_zero, rows[i].starts, "row %zu", i);
        planned_done(&x.p);
    }
}

Test(dot, ends_where_nobody_looks_at_its_sums)
{
    static const struct { const char *z, *z_at, *x_at, *last; bool rows, columns; } rows[] = {
        { "f32[M, N] block [30, 64]", "(i, j)", "(i, k)", "z[...] = acc[...];", true, true },
        { "f32[M, N] block [30, 64]", "(i, j)", "(i, k)", "acc[...] = 2 * acc[...]; z[...] = exp(acc[...]) + acc[...];", true, true },
        { "f32[N, M] block [64, 30]", "(j, i)", "(i, k)", "z[...] = transpose(acc[...]);", true, true },
        { "f32[M, N] block [30, 64]", "(i, j)", "(i, k)", "z[...] = flip(acc[...], axis = 0);", false, true },
        { "f32[M, N] block [30, 64]", "(i, j)", "(i, k)", "z[...] = acc[...] - max(acc[...], axis = 0, keepdims = true);", false, false },
        { "f32[M, N] block [30, 64]", "(i, j)", "(i, k)", "z[...] = cumsum(acc[...], axis = 1);", false, false },
        { "f32[M, N] block [15, 64]", "(i, j)", "(i, k)", "z[...] = acc[0:15, :];", false, true },       /* blocks cut elsewhere */
        { "f32[O, N] block [30, 64]", "(i, j)", "(i, k)", "z[...] = acc[...];", false, true },           /* another size */
        { "f32[M, N] block [30, 64]", "(i, j)", "(k, i)", "z[...] = acc[...];", false, true },
        { "f32[M, N] block [30, 64]", "(k, j)", "(k, i)", "z[...] = acc[...];", false, true },           /* rows that move while they are summed */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[900];
        planned p;
        clpi_program *program;
        clpi_dot_end row_end, column_end;
        const clpi_dot *dot = NULL;
        snprintf(text, sizeof text,
                 "kernel k(in x: f32[M, K] block [30, 20] at %s pad 0, in y: f32[K, N] block [20, 64] at (k, j) pad 0, out z: %s at %s,\n"
                 "scratch acc: f32[30, 64])\ngrid (i = 3, j = 3, k = 3 arbitrary)\n"
                 "{ if (first(k)) { acc[...] = 0; } acc[...] += dot(x[...], y[...]); if (last(k)) { %s } }",
                 rows[i].x_at, rows[i].z, rows[i].z_at, rows[i].last);
        planned_ok(&p, text);
        cr_assert_eq(clpi_nest_build(p.ir, p.plan, false, &p.arena, &program), CLP_OK);
        for (uint32_t s = 0; s < program->parts[CLPI_PART_EVERY].n; s++)
            dot = program->parts[CLPI_PART_EVERY].items[s]->dot ? program->parts[CLPI_PART_EVERY].items[s]->dot : dot;
        cr_assert_not_null(dot, "%s", text);
        clpi_find_dot_ends(program, dot, &row_end, &column_end);
        cr_expect_eq(row_end.operand, rows[i].rows ? 0 : -1, "row %zu", i);
        cr_expect_eq(column_end.operand, rows[i].columns ? 1 : -1, "row %zu", i);
        planned_done(&p);
    }
}
