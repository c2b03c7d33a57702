/* Checks of a device: equal devices agree, a device that does something else is found out, down to the statement. The device is
 * the interpreter, running another kernel of the same form in place of the right one; and an OpenCL device, where there is one.  */
#include <math.h>

#include "check/agree.h"
#include "unit/checking.h"

/* ---- A device that runs something else ---- */

typedef struct wrong { checking right, other; } wrong;

/* Both texts must come to the same ops but for what is wrong. */
static void wrong_open(wrong *w, const char *text, const char *other)
{
    *w = (wrong){ 0 };
    checking_open(&w->right, "interp", text);
    checking_open(&w->other, "interp", other);
    cr_assert_eq(w->right.k->ir->ops.n, w->other.k->ir->ops.n, "the kernels have different forms");
}

/* One text with a number, and with another: its %s. */
static void wrong_open_with(wrong *w, const char *text, const char *number, const char *other_number)
{
    char right[300], other[300];
    snprintf(right, sizeof right, text, number);
    snprintf(other, sizeof other, text, other_number);
    wrong_open(w, right, other);
}

static void wrong_run(wrong *w, const clp_array *arrays, int n, unsigned checks)
{
    clp_kernel *k = w->right.k;
    clpi_check check = { .env = &k->ctx->env, .kernel = k, .ir = k->ir, .plan = k->plan, .arrays = arrays, .n_arrays = n,
                         .device_ir = w->other.k->ir, .device_plan = w->other.k->plan, .opts = { .checks = checks } };
    clp_report_free(w->right.report);
    w->right.report = NULL;
    OK(k->ctx, clpi_check_run(&check, &w->right.report));
}

static void wrong_close(wrong *w)
{
    checking_close(&w->right);
    checking_close(&w->other);
}

static void fill(float *x, int n)
{
    uint64_t state = 3;
    for (int i = 0; i < n; i++)
        x[i] = (float)random_uniform(&state) - 0.5f;
}

Test(check_verify, a_value_that_must_be_equal_is_not)
{
    wrong w;
    float x[10], o[10] = { 0 };
    fill(x, 10);
    clp_array arrays[] = { VECTOR(CLP_F32, x, 10), VECTOR(CLP_F32, o, 10) };
    static const char text[] = "kernel k(in x: f32[N] block [4] at (i), out o: f32[N] block [4] at (i)) grid (i = cdiv(N, 4)) {\n"
                               "  let a = x[...] * 2;\n"
                               "  o[...] = a + %s; }";
    wrong_open_with(&w, text, "1.0", "1.0000001");
    wrong_run(&w, arrays, 2, CLP_CHECK_DEVICE);
    FINDS(&w.right, CLP_FINDING_MISMATCH, "ulp; equal bits were expected");
    const clp_finding *f = clp_report_finding(w.right.report, 0);
    cr_expect(f->n_programs == 1 && f->n_accesses == 1 && f->accesses[0].line == 3 && f->elements > 4 && f->rank == 1, "%s", f->message);
    clp_difference d = clp_report_difference(w.right.report);
    cr_assert(d.operand && !strcmp(d.operand, "o") && d.rank == 1 && d.ulp >= 1 && d.abs > 0 && d.rel > 0);
    float expected = x[d.element[0]] * 2 + 1.0f, got = x[d.element[0]] * 2 + 1.0000001f;
    cr_expect(d.expected == expected && d.got == got && d.abs == fabs((double)got - expected) && d.ulp == (double)ulps_f32(got, expected));
    cr_expect(o[0] == 0);
    wrong_close(&w);
}

/* Which op the bisection names: the text of a kernel with one %s, right and wrong, and the line and what is said. */
static void bisects(const char *text, const char *right, const char *other, const clp_array *arrays, int n, unsigned line, const char *part)
{
    wrong w;
    char texts[2][1000];
    snprintf(texts[0], sizeof texts[0], text, right);
    snprintf(texts[1], sizeof texts[1], text, other);
    wrong_open(&w, texts[0], texts[1]);
    wrong_run(&w, arrays, n, CLP_CHECK_DEVICE | CLP_CHECK_BISECT);
    cr_assert_eq(clp_report_n_findings(w.right.report), 1, "%s", clp_report_text(w.right.report));
    const clp_finding *f = clp_report_finding(w.right.report, 0);
    cr_expect(strstr(f->message, part), "expected \"%s\" in \"%s\"", part, f->message);
    cr_expect(f->n_accesses == 2 && f->accesses[1].line == line, "line %u: %s", line, f->message);
    wrong_close(&w);
}

Test(check_verify, bisects_to_the_statement)
{
    float x[64], y[64], o[64] = { 0 };
    fill(x, 64);
    fill(y, 64);
    clp_array arrays[] = { MATRIX(CLP_F32, x, 8, 8), MATRIX(CLP_F32, y, 8, 8), MATRIX(CLP_F32, o, 8, 8) };
    bisects("kernel k(in x: f32[8, 8], in y: f32[8, 8], out o: f32[8, 8]) grid () {\n"
            "  let a = x[...] + y[...];\n"
            "  let b = %s;\n"
            "  let c = dot(a, b);\n"
            "  o[...] = c * 0.5 + a; }", "sqrt(abs(a))", "exp(abs(a))", arrays, 3, 3, "the first value that differs is that of `sqrt` at 3:11");
    bisects("kernel k(in x: f32[8, 8], in y: f32[8, 8], out o: f32[8, 8]) grid () {\n"
            "  let a = x[...] + y[...];\n"
            "  let b = sin(a);\n"
            "  let c = dot(%s);\n"
            "  o[...] = c * 0.5 + a; }", "a, b", "b, a", arrays, 3, 4, "that of `dot` at 4:11");
}

Test(check_verify, bisects_inside_loops_and_branches)
{
    float x[8], o[8] = { 0 };
    fill(x, 8);
    clp_array arrays[] = { VECTOR(CLP_F32, x, 8), VECTOR(CLP_F32, o, 8) };
    bisects("kernel k(in x: f32[N] block [4] at (i), out o: f32[N] block [4] at (i)) grid (i = cdiv(N, 4)) {\n"
            "  var a = x[...];\n"
            "  for (j in 0 .. 10) {\n"
            "    if (j == %s) {\n"
            "      a = a * 3;\n"
            "    } else { a = a + 1; } }\n"
            "  o[...] = a; }", "4", "5", arrays, 2, 4, "iteration 4 of the loop at 3:3, it is false, the interpreter's true");
    bisects("kernel k(in x: f32[N] block [4] at (i), out o: f32[N] block [4] at (i)) grid (i = cdiv(N, 4)) {\n"
            "  var a = x[...];\n"
            "  for (j in 3 .. 10) {\n"
            "    a = a + 1;\n"
            "    a = a * where(j > %s, 2.0, 1.0); }\n"
            "  o[...] = a; }", "6", "7", arrays, 2, 5, "iteration 4 of the loop at 3:3");
}

Test(check_verify, bisects_through_scratch_and_steps)
{
    float x[32], o[8] = { 0 };
    fill(x, 32);
    clp_array arrays[] = { MATRIX(CLP_F32, x, 2, 16), VECTOR(CLP_F32, o, 2) };
    bisects("kernel k(in x: f32[M, N] block [1, 4] at (i, t), out o: f32[M] block [1] at (i), scratch s: f32[4]) grid (i = M, t = cdiv(N, 4) arbitrary) {\n"
            "  if (first(t)) { s[...] = 0; }\n"
            "  let v = x[0, :];\n"
            "  s[...] = s[...] + v * where(t == %s, 1.0, 2.0);\n"
            "  if (last(t)) { o[0] = sum(s[...]); } }", "2", "3", arrays, 2, 4, "in program (1, 2), it is false, the interpreter's true");
}

Test(check_verify, rounded_values_have_a_bound)
{
    wrong w;
    float x[64], o[8] = { 0 };
    fill(x, 64);
    clp_array arrays[] = { MATRIX(CLP_F32, x, 8, 8), VECTOR(CLP_F32, o, 8) };
    static const char text[] = "kernel k(in x: f32[8, 8], out o: f32[8]) grid () { o[...] = sum(x[...], axis = 1) * %s; }";
    wrong_open_with(&w, text, "1.5", "1.500003");
    wrong_run(&w, arrays, 2, CLP_CHECK_DEVICE);
    FINDS_NOTHING(&w.right);
    cr_expect(clp_report_difference(w.right.report).ulp > 4);
    wrong_close(&w);
    wrong_open_with(&w, text, "1.5", "1.50006");
    wrong_run(&w, arrays, 2, CLP_CHECK_DEVICE);
    FINDS(&w.right, CLP_FINDING_MISMATCH, "at most 1e-05 * (|value| + ");
    wrong_close(&w);
}

/* ---- Rounding that the kernel magnifies ---- */

enum { ROWS = 8, TERMS = 256 };

/* x: rows that lie far from 0 by much more than they spread; y: columns of any sign. */
static void fill_far(float *x, float *y)
{
    fill(x, ROWS * TERMS);
    fill(y, ROWS * TERMS);
    for (int i = 0; i < ROWS * TERMS; i++)
        x[i] = 1000 + 0.03f * x[i];
}

/* The holes: a term that is left out, by how many terms the sums are turned, an element of the result that has the wrong sign. */
static const char *const sound[] = { "1000", "4", "2000" }, *const turned[] = { "1000", "132", "2000" };
static const char *const one_less[] = { "77", "4", "2000" }, *const one_wrong[] = { "1000", "4", "200" };

static void magnified_text(char *text, size_t n, const char *value, const char *const holes[3])
{
    snprintf(text, n, "kernel k(in x: f32[8, 256], in y: f32[256, 8], out o: f32[8, 256]) grid () {\n"
             "  let all = iota([8, 256], axis = 1); let v = roll(where(all == %s, 0.0, x[...]), %s, axis = 1);\n"
             "  let w = roll(y[...], %s, axis = 0); let centre = sum(v, axis = 1, keepdims = true) / 256.0;\n"
             "  let r = %s;\n"
             "  o[...] = where(all == %s, -r, r); }", holes[0], holes[1], holes[1], value, holes[2]);
}

static const char *const magnified[] = {
    "(x[...] - centre) / sqrt(sum((v - centre) * (v - centre), axis = 1, keepdims = true) / 256.0 + 1e-5)",
    "(x[...] - 1000.0) * rsqrt(sum(v * v, axis = 1, keepdims = true) / 256.0 - centre * centre + 1.0)",
    "broadcast(1 / sum(where(all % 2 == 0, v, -v), axis = 1, keepdims = true), [8, 256])",
    "broadcast(1 / sum(dot(v, w) - 1000.0 * sum(w, axis = 0, keepdims = true), axis = 1, keepdims = true), [8, 256])",
    "broadcast(cumsum(v, axis = 1)[:, 255:256] / 256.0 - 1000.0, [8, 256])",
    "broadcast(1 / cumsum(where(all % 64 < 32, v, -v), axis = 1)[:, 255:256], [8, 256])",
};

Test(check_verify, rounding_is_let_pass_as_far_as_a_kernel_magnifies_it)
{
    static float x[ROWS * TERMS], y[ROWS * TERMS], o[ROWS * TERMS];
    fill_far(x, y);
    clp_array arrays[] = { MATRIX(CLP_F32, x, ROWS, TERMS), MATRIX(CLP_F32, y, TERMS, ROWS), MATRIX(CLP_F32, o, ROWS, TERMS) };
    const char *const *const devices[] = { turned, one_less, one_wrong };
    for (size_t k = 0; k < sizeof magnified / sizeof *magnified; k++)
        for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
            wrong w;
            char text[2][1000];
            magnified_text(text[0], sizeof text[0], magnified[k], sound);
            magnified_text(text[1], sizeof text[1], magnified[k], devices[i]);
            wrong_open(&w, text[0], text[1]);
            wrong_run(&w, arrays, 3, CLP_CHECK_DEVICE);
            const char *said = clp_report_text(w.right.report);
            if (devices[i] == turned)
                cr_expect(clp_report_n_findings(w.right.report) == 0 && strstr(said, "o: ill-conditioned"), "%s: %s", magnified[k], said);
            else
                cr_expect(clp_report_n_findings(w.right.report) == 1 && strstr(said, "o: mismatch"), "%s, device %zu: %s", magnified[k], i, said);
            wrong_close(&w);
        }
}

Test(check_verify, a_loop_that_ends_when_rounded_values_meet_is_not_run_with_others)
{
    wrong w;
    float x[4] = { 1, 2, 3, 4 }, y[4] = { 4, 3, 2, 1 }, o[4] = { 0 };
    clp_array arrays[] = { VECTOR(CLP_F32, x, 4), VECTOR(CLP_F32, y, 4), VECTOR(CLP_F32, o, 4) };
    static const char text[] = "kernel k(in x: f32[4], in y: f32[4], out o: f32[4]) grid () {\n"
                               "  var n = 0; while (sum(x[...]) != sum(y[...])) { n = n + 1; }\n"
                               "  o[...] = (x[...] + cast(n, f32)) * sum(y[...]) * %s; }";
    wrong_open_with(&w, text, "1.5", "2.5");
    wrong_run(&w, arrays, 3, CLP_CHECK_DEVICE);
    FINDS(&w.right, CLP_FINDING_MISMATCH, "on the interpreter");
    cr_expect(!strstr(clp_report_text(w.right.report), "as far as rounding"), "%s", clp_report_text(w.right.report));
    wrong_close(&w);
}

Test(check_verify, what_depends_on_the_order_is_not_the_devices_fault)
{
    wrong w;
    int32_t o[8] = { 0 };
    clp_array arrays[] = { VECTOR(CLP_I32, o, 8) };
    wrong_open(&w, "kernel k(out o: i32[N]) grid (i = N) { o[0] = max(i, 1); o[i] = i + 3; }", "kernel k(out o: i32[N]) grid (i = N) { o[0] = min(i, 1); o[i] = i + 3; }");
    wrong_run(&w, arrays, 1, CLP_CHECK_DEVICE);
    FINDS(&w.right, CLP_FINDING_ORDER_DEPENDENT, "element [0]: forward 7, ");
    wrong_close(&w);
}

Test(check_verify, who_came_first_is_not_judged)
{
    wrong w;
    int32_t n = 0, o[8] = { 0 };
    clp_array arrays[] = { checking_array(CLP_I32, &n, (int64_t[]){ 1 }, 1), VECTOR(CLP_I32, o, 8) };
    static const char text[] = "kernel k(inout n: i32[1], out o: i32[N]) grid (i = N) { let a = atomic_add(n[0], %s); o[i] = a + %s; }";
    char texts[3][200];
    snprintf(texts[0], sizeof texts[0], text, "3", "1");
    snprintf(texts[1], sizeof texts[1], text, "3", "2");
    snprintf(texts[2], sizeof texts[2], text, "5", "1");
    wrong_open(&w, texts[0], texts[1]);
    wrong_run(&w, arrays, 2, CLP_CHECK_DEVICE);
    FINDS_NOTHING(&w.right);
    cr_expect(strstr(clp_report_text(w.right.report), "o: differs on the device, which is not judged"), "%s", clp_report_text(w.right.report));
    wrong_close(&w);
    wrong_open(&w, texts[0], texts[2]);
    wrong_run(&w, arrays, 2, CLP_CHECK_DEVICE);
    cr_assert_geq(clp_report_n_findings(w.right.report), 1);
    const clp_finding *f = clp_report_finding(w.right.report, clp_report_n_findings(w.right.report) - 1);
    cr_expect(f->kind == CLP_FINDING_MISMATCH && !strcmp(f->operand, "n"), "%s", f->message);
    wrong_close(&w);
}

/* ---- What must be equal, and what may differ ---- */

/* The level of the last operand of a kernel over T = dtype, whose body stores `value`, made of x and y: [4, 4]. */
static clpi_level level_of(const char *dtype, const char *result, const char *value)
{
    checking t;
    char text[600];
    snprintf(text, sizeof text, "kernel k(in x: %s[4, 4], in y: %s[4, 4], inout s: %s[4, 4], out o: %s[4, 4]) grid (i = 2, t = 2 arbitrary) { %s }",
             dtype, dtype, dtype, result, value);
    checking_open(&t, "interp", text);
    clpi_arena arena;
    clpi_levels levels;
    clpi_arena_init(&arena, &t.ctx->env);
    OK(t.ctx, clpi_levels_new(t.k->ir, t.k->plan, 4, NULL, &arena, &levels));
    clpi_level level = levels.stored[t.k->ir->n_operands - 1];
    clpi_arena_done(&arena);
    checking_close(&t);
    return level;
}

Test(check_verify, levels)
{
    static const struct { const char *dtype, *result, *value; clpi_level_kind kind; double bound; } rows[] = {
        { "f32", "f32", "o[...] = sqrt(abs(x[...] / y[...])) - exp(x[...]);", CLPI_EXACT, 0 },
        { "f64", "f64", "o[...] = x[...] / y[...];", CLPI_EXACT, 0 },
        { "f64", "f64", "o[...] = exp(x[...]);", CLPI_ROUNDED, 1e-12 },
        { "bf16", "bf16", "o[...] = tanh(x[...]) * y[...];", CLPI_EXACT, 0 },
        { "f32", "f32", "o[...] = log1p(x[...]);", CLPI_ROUNDED, 1e-5 },
        { "f32", "f32", "o[...] = max(x[...], axis = 1, keepdims = true) + y[...];", CLPI_EXACT, 0 },
        { "f32", "f32", "o[...] = sum(x[...], axis = 1, keepdims = true) + y[...];", CLPI_ROUNDED, 1e-5 },
        { "i32", "i32", "o[...] = sum(x[...], axis = 1, keepdims = true) + dot(x[...], y[...]);", CLPI_EXACT, 0 },
        { "f32", "f32", "o[...] = dot(x[...], y[...]);", CLPI_ROUNDED, 1e-5 },
        { "f32", "f32", "o[...] = cast(cast(dot(x[...], y[...]), bf16), f32);", CLPI_ROUNDED, 1.6e-2 },
        { "f32", "i32", "o[...] = cast(dot(x[...], y[...]), i32);", CLPI_CHOSEN, 1e-5 },
        { "f32", "f32", "o[...] = where(dot(x[...], y[...]) > 0, x[...], 0.0);", CLPI_CHOSEN, 1e-5 },
        { "f32", "f32", "o[...] = maximum(dot(x[...], y[...]), 0.0);", CLPI_ROUNDED, 1e-5 },
        { "f32", "i32", "o[...] = bitcast(dot(x[...], y[...]), i32);", CLPI_FREE, 1e-5 },
        { "i32", "i32", "let n = atomic_add(s[0, 0], 1); o[...] = x[...];", CLPI_EXACT, 0 },
        { "i32", "i32", "let n = atomic_add(s[0, 0], 1); o[...] = x[...] + n;", CLPI_FREE, 0 },
        { "f32", "f32", "atomic_add(s[0, 0], 1.0); o[...] = s[...];", CLPI_ROUNDED, 1e-5 },
        { "f32", "f32", "if (i > 0) { s[...] = dot(x[...], y[...]); } o[...] = x[...];", CLPI_EXACT, 0 },
        { "f32", "f32", "o[...] = s[...]; s[...] = dot(x[...], y[...]);", CLPI_ROUNDED, 1e-5 },
        { "f32", "f32", "var a = x[...]; for (j in 0 .. 3) { a = a + y[...]; } o[...] = a;", CLPI_EXACT, 0 },
        { "f32", "f32", "var a = x[...]; var b = y[...]; for (j in 0 .. 3) { a = b; b = cumsum(x[...], axis = 0); } o[...] = a;", CLPI_ROUNDED, 1e-5 },
        { "f32", "f32", "var a = x[...]; while (sum(a) > 0) { a = a - 1; } o[...] = a;", CLPI_CHOSEN, 0 },
        { "f32", "f32", "o[...] = x[...]; if (sum(x[...]) > 0) { o[...] = y[...]; }", CLPI_CHOSEN, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clpi_level level = level_of(rows[i].dtype, rows[i].result, rows[i].value);
        cr_expect(level.kind == rows[i].kind && (level.kind == CLPI_EXACT || level.bound >= rows[i].bound) && level.bound < rows[i].bound * 1.1 + 1.1e-5,
                  "%s of %s: level %d, bound %g", rows[i].value, rows[i].dtype, (int)level.kind, level.bound);
    }
}

Test(check_verify, ulps_and_equality)
{
    const struct { clp_dtype d; uint64_t a, b; double ulps; } rows[] = {
        { CLP_F32, 0x3f800000, 0x3f800001, 1 }, { CLP_F32, 0x80000001, 0x00000001, 2 }, { CLP_F32, 0x80000000, 0, 0 },
        { CLP_F32, 0x7fc00000, 0xffc00001, 0 }, { CLP_F32, 0x7fc00000, 0x3f800000, INFINITY }, { CLP_F32, 0x7f7fffff, 0x7f800000, 1 },
        { CLP_BF16, 0x3f80, 0x3f82, 2 }, { CLP_I8, 0x80, 0x7f, 255 }, { CLP_U64, 5, 9, 4 }, { CLP_BOOL, 1, 2, 0 }, { CLP_BOOL, 1, 0, 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_expect(clpi_ulps(rows[i].d, rows[i].a, rows[i].b) == rows[i].ulps, "row %zu: %g", i, clpi_ulps(rows[i].d, rows[i].a, rows[i].b));
        cr_expect_eq(clpi_same(rows[i].d, rows[i].a, rows[i].b), rows[i].ulps == 0);
    }
}

/* ---- Out of memory ---- */

static size_t one_allocation_less(size_t budget, bool *out_is_done)
{
    failing_alloc a = { .budget = SIZE_MAX };
    static const char text[] = "kernel k(in x: f32[N] block [4] at (i), out o: f32[N] block [4] at (i), inout s: f32[2]) grid (i = cdiv(N, 4)) {\n"
                               "  for (j in 0 .. 2) { o[...] = (x[...] %s 0.5) * sum(x[...]); } atomic_add(s[0], 1.0); s[1] = cast(i, f32); }";
    char texts[2][400];
    snprintf(texts[0], sizeof texts[0], text, "*");
    snprintf(texts[1], sizeof texts[1], text, "/");
    clp_context *ctx;
    clp_kernel *k, *other;
    cr_assert_eq(clp_context_new(&(clp_context_opts){ .device = "interp", .alloc = failing_alloc_fn, .alloc_user = &a }, &ctx), CLP_OK);
    OK(ctx, clp_kernel_from_text(ctx, texts[0], NULL, NULL, &k));
    OK(ctx, clp_kernel_from_text(ctx, texts[1], NULL, NULL, &other));
    float x[6] = { 1, 2, 3, 4, 5, 6 }, o[6], s[2] = { 0 };
    clp_array arrays[] = { VECTOR(CLP_F32, x, 6), VECTOR(CLP_F32, o, 6), VECTOR(CLP_F32, s, 2) };
    clpi_check check = { .env = &ctx->env, .kernel = k, .ir = k->ir, .plan = k->plan, .arrays = arrays, .n_arrays = 3, .device_ir = other->ir,
                         .device_plan = other->plan, .opts = { .checks = CLP_CHECK_RACES | CLP_CHECK_MEMORY | CLP_CHECK_ORDERS | CLP_CHECK_DEVICE |
                                                                         CLP_CHECK_NON_FINITE | CLP_CHECK_OVERFLOW | CLP_CHECK_BISECT } };
    size_t live = a.n_live;
    clp_report *report = NULL;
    a.budget = a.n_calls + budget;
    clp_status status = clpi_check_run(&check, &report);
    a.budget = SIZE_MAX;
    *out_is_done = status == CLP_OK;
    cr_assert(status == CLP_OK ? !a.has_failed : status == CLP_ERR_OOM, "budget %zu: %s: %s", budget, clp_status_name(status), clp_last_error(ctx));
    cr_assert(status == CLP_OK || report == NULL);
    clp_report_free(report);
    clpi_events_discard(ctx);
    cr_assert_leq(a.n_live, live + 1, "budget %zu: something is left", budget);    /* the text of the error */
    clp_kernel_free(k);
    clp_kernel_free(other);
    clp_context_free(ctx);
    cr_assert_eq(a.n_live, 0, "budget %zu: %zu items are left", budget, a.n_live);
    return budget + 1;
}

Test(check_verify, each_allocation_may_fail)
{
    bool is_done = false;
    size_t n = 0;
    while (!is_done)
        n = one_allocation_less(n, &is_done);
    cr_expect_gt(n, 20);
}

/* ---- An OpenCL device ---- */

Test(check_verify, a_sound_device_agrees_with_itself_and_the_interpreter)
{
    checking t;
    enum { N = 100 };
    float x[N * 3], o[N * 3], s[3] = { 0 };
    fill(x, N * 3);
    if (!checking_open(&t, NULL, "kernel k(in x: f32[M, N] block [1, 32] at (i, t) pad 0, out o: f32[M, N] block [1, 32] at (i, t), inout s: f32[M]) grid (i = M, t = cdiv(N, 32)) {\n"
                                 "  let v = exp(x[...]) / 3; o[...] = v; atomic_add(s[i], sum(where(t * 32 + iota([1, 32], axis = 1) < N, v, 0.0))); }"))
        return;
    clp_array arrays[] = { MATRIX(CLP_F32, x, 3, N), MATRIX(CLP_F32, o, 3, N), VECTOR(CLP_F32, s, 3) };
    checking_run(&t, arrays, 3, CLP_CHECK_DEVICE);
    FINDS_NOTHING(&t);
    checking_run(&t, arrays, 3, CLP_CHECK_DEVICE | CLP_CHECK_ORDERS | CLP_CHECK_MEMORY | CLP_CHECK_RACES | CLP_CHECK_BISECT);
    FINDS_NOTHING(&t);
    clp_report_free(t.report);
    OK(t.ctx, clp_verify(t.k, arrays, 3, NULL, &t.report));
    FINDS_NOTHING(&t);
    checking_close(&t);
}

Test(check_verify, a_device_sums_in_an_order_of_its_own_where_the_kernel_magnifies_that)
{
    static float x[ROWS * TERMS], y[ROWS * TERMS], o[ROWS * TERMS];
    fill_far(x, y);
    clp_array arrays[] = { MATRIX(CLP_F32, x, ROWS, TERMS), MATRIX(CLP_F32, y, TERMS, ROWS), MATRIX(CLP_F32, o, ROWS, TERMS) };
    checking t;
    char text[1000];
    magnified_text(text, sizeof text, magnified[0], sound);
    if (!checking_open(&t, NULL, text))
        return;
    checking_run(&t, arrays, 3, CLP_CHECK_DEVICE);
    FINDS_NOTHING(&t);
    checking_close(&t);
}

Test(check_verify, bisects_past_rounding_that_a_kernel_magnifies)
{
    wrong w = { 0 };
    static float x[ROWS * TERMS], y[ROWS * TERMS], o[ROWS * TERMS];
    clp_array arrays[] = { MATRIX(CLP_F32, x, ROWS, TERMS), MATRIX(CLP_F32, o, ROWS, TERMS) };
    static const char text[] = "kernel k(in x: f32[8, 256], out o: f32[8, 256]) grid () {\n"
                               "  let off = x[...] - sum(x[...], axis = 1, keepdims = true) / 256.0;\n"
                               "  o[...] = where(iota([8, 256], axis = 1) == %d, -off, off); }";
    char texts[2][400];
    snprintf(texts[0], sizeof texts[0], text, 2000);
    snprintf(texts[1], sizeof texts[1], text, 200);
    fill_far(x, y);
    if (!checking_open(&w.right, NULL, texts[0]) || !checking_open(&w.other, NULL, texts[1]))
        return;
    wrong_run(&w, arrays, 2, CLP_CHECK_DEVICE | CLP_CHECK_BISECT);
    cr_assert_eq(clp_report_n_findings(w.right.report), 1, "%s", clp_report_text(w.right.report));
    const clp_finding *f = clp_report_finding(w.right.report, 0);
    cr_expect(f->n_accesses == 2 && f->accesses[1].line == 3, "%s", f->message);
    wrong_close(&w);
}

/* What races, or hangs on the order, is found on the interpreter; how a device happened to run it adds nothing. */
Test(check_verify, reports_of_racing_kernels_are_the_same_each_time)
{
    enum { N = 64 };
    static const char *const texts[] = {
        "kernel k(in x: i32[N] block [1] at (i), inout o: i32[4]) grid (i = N) { o[x[0] % 4] = o[x[0] % 4] + 1; }",
        "kernel k(in x: i32[N] block [1] at (i), inout o: i32[4]) grid (i = N) { o[...] = o[...] + x[0]; }",
        "kernel k(in x: i32[N] block [1] at (num_programs(i) - 1 - i), out o: i32[N] block [1] at (i) alias x) grid (i = N) { o[...] = x[...]; }",
        "kernel k(in x: i32[N], out o: i32[N] alias x) grid (i = N - 1) { o[i + 1] = x[i]; }",
        "kernel k(in x: i32[N] block [1] at (i), inout o: i32[4]) grid (i = N) { o[i % 4] = i; }",
        "kernel k(out x: i32[N] block [1] at (i), inout o: i32[4]) grid (i = N) { o[0] = i; x[0] = o[0] * 2; }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        checking t;
        int32_t x[N], o[4] = { 0 };
        char *first = NULL;
        for (int e = 0; e < N; e++)
            x[e] = e * 7 % 13;
        if (!checking_open(&t, NULL, texts[i]))
            return;
        const bool is_alias = strstr(texts[i], "alias") != NULL;
        clp_array arrays[] = { VECTOR(CLP_I32, x, N), is_alias ? VECTOR(CLP_I32, x, N) : VECTOR(CLP_I32, o, 4) };
        for (int turn = 0; turn < 6; turn++) {
            clp_report_free(t.report);
            OK(t.ctx, clp_check(t.k, arrays, 2, &(clp_check_opts){ .n_device_runs = 8 }, &t.report));
            const char *text = clp_report_text(t.report);
            cr_assert(strstr(text, "race: ") && !strstr(text, "mismatch") && !strstr(text, "on the device"), "%s\n%s", texts[i], text);
            if (first)
                cr_expect_str_eq(text, first, "%s: then\n%s, now\n%s", texts[i], first, text);
            else
                first = strdup(text);
        }
        free(first);
        checking_close(&t);
    }
}

static void count_line(const char *line, void *user)
{
    (void)line;
    ++*(int *)user;
}

Test(check_verify, a_check_prints_nothing)
{
    int n = 0, o[4];
    clp_context *ctx;
    clp_kernel *k;
    clp_report *report;
    const char *which = getenv("CLPALLAS_TEST_CL");
    if (clp_context_new(&(clp_context_opts){ .device = which ? which : "cl", .print = count_line, .print_user = &n }, &ctx)) {
        cr_assert(!getenv("CLP_REQUIRE_CL"), "%s", clp_last_error(NULL));
        return;
    }
    OK(ctx, clp_kernel_from_text(ctx, "kernel k(out o: i32[N] block [1] at (i)) grid (i = N) { print(\"{}\", i); o[0] = i; }", NULL, NULL, &k));
    OK(ctx, clp_check(k, (clp_array[]){ VECTOR(CLP_I32, o, 4) }, 1, NULL, &report));
    cr_expect(clp_report_verdict(report) != CLP_VERDICT_FAULTY, "%s", clp_report_text(report));
    cr_expect_eq(n, 0);
    OK(ctx, clp_run(k, (clp_array[]){ VECTOR(CLP_I32, o, 4) }, 1, NULL));
    cr_expect_eq(n, 4);
    clp_report_free(report);
    clp_kernel_free(k);
    clp_context_free(ctx);
}

/* Standard kernels, and the shapes of their arrays. */
typedef struct standard { const char *name, *params; int64_t shape[6][4]; } standard;
static const standard standards[] = {
    { "matmul", "bm=16,bn=16,bk=16", { { 37, 33 }, { 33, 21 }, { 37, 21 } } },
    { "matmul", "T=bf16,act=gelu,bm=16,bn=16,bk=16", { { 20, 33 }, { 33, 21 }, { 20, 21 } } },
    { "attention", "d=16,bq=16,bk=16", { { 2, 21, 16 }, { 2, 30, 16 }, { 2, 30, 16 }, { 2, 21, 16 } } },
    { "softmax", "T=f16,bn=128", { { 19, 100 }, { 19, 100 } } },
    { "logsumexp", "bn=64", { { 19, 150 }, { 19 } } },
    { "layer_norm", "bn=128", { { 19, 100 }, { 100 }, { 100 }, { 19, 100 } } },
    { "row_cumsum", "bn=64", { { 10, 200 }, { 10, 200 } } },
    { "gather_rows", "", { { 7 }, { 5, 200 }, { 7, 200 } } },
    { "histogram", "", { { 1000 }, { 4 } } },
    { "jacobi", "", { { 39, 100 }, { 39, 100 } } },
    { "map", "act=silu", { { 3000 }, { 3000 } } },
};

static void fill_any(clp_dtype dtype, void *data, int64_t n, uint64_t *state)
{
    for (int64_t i = 0; i < n; i++) {
        double x = random_uniform(state);
        uint64_t bits = clpi_is_float(dtype) ? clpi_f64_to_small_bits(dtype, x - 0.5) : (uint64_t)(x * 4);
        memcpy((uint8_t *)data + i * clp_dtype_bits(dtype) / 8, &bits, (size_t)clp_dtype_bits(dtype) / 8);
    }
}

Test(check_verify, standard_kernels_agree)
{
    const char *which = getenv("CLPALLAS_TEST_CL");
    clp_context *ctx;
    uint64_t state = 11;
    if (clp_context_new(&(clp_context_opts){ .device = which ? which : "cl" }, &ctx)) {
        cr_assert(!getenv("CLP_REQUIRE_CL"), "%s", clp_last_error(NULL));
        fprintf(stderr, "skipped: %s\n", clp_last_error(NULL));
        return;
    }
    for (size_t i = 0; i < sizeof standards / sizeof *standards; i++) {
        const standard *row = &standards[i];
        clp_kernel *k;
        clp_array arrays[8];
        static uint64_t memory[8][4000];
        OK(ctx, clp_kernel_standard(ctx, row->name, row->params, &k));
        int n = clp_kernel_n_operands(k), at = 0;
        for (int a = 0; a < n; a++) {
            clp_operand_info info = clp_kernel_operand(k, a);
            int64_t elems = 1;
            arrays[a] = (clp_array){ .dtype = info.dtype, .rank = info.rank, .data = memory[a] };
            if (info.role != CLP_SCALAR)
                arrays[a].shape = row->shape[at++];
            for (int d = 0; d < info.rank; d++)
                elems *= arrays[a].shape[d];
            cr_assert(elems <= 4000);
            fill_any(info.dtype, memory[a], elems, &state);
        }
        clp_report *report;
        OK(ctx, clp_verify(k, arrays, n, NULL, &report));
        cr_expect(clp_report_verdict(report) == CLP_VERDICT_CHECKED, "%s %s: %s", row->name, row->params, clp_report_text(report));
        clp_report_free(report);
        clp_kernel_free(k);
    }
    clp_context_free(ctx);
}

Test(check_verify, an_opencl_device_that_runs_something_else)
{
    checking right, other;
    float x[64], y[64], o[64] = { 0 };
    static const char text[] = "kernel k(in x: f32[8, 8], in y: f32[8, 8], out o: f32[8, 8], scratch s: f32[8, 8]) grid (t = 3 arbitrary) {\n"
                               "  if (first(t)) { s[...] = 0; }\n"
                               "  let a = dot(x[...], y[...]);\n"
                               "  let b = %s;\n"
                               "  s[...] = s[...] + b;\n"
                               "  if (last(t)) { o[...] = s[...]; } }";
    char texts[2][600];
    snprintf(texts[0], sizeof texts[0], text, "maximum(a, 0.1)");
    snprintf(texts[1], sizeof texts[1], text, "minimum(a, 0.1)");
    fill(x, 64);
    fill(y, 64);
    if (!checking_open(&right, NULL, texts[0]))
        return;
    checking_open(&other, NULL, texts[1]);
    clp_array arrays[] = { MATRIX(CLP_F32, x, 8, 8), MATRIX(CLP_F32, y, 8, 8), MATRIX(CLP_F32, o, 8, 8) };
    clp_kernel *k = right.k;
    clpi_check check = { .env = &k->ctx->env, .kernel = k, .ir = k->ir, .plan = k->plan, .arrays = arrays, .n_arrays = 3,
                         .device_ir = other.k->ir, .device_plan = other.k->plan, .opts = { .checks = CLP_CHECK_DEVICE | CLP_CHECK_BISECT } };
    OK(k->ctx, clpi_check_run(&check, &right.report));
    FINDS(&right, CLP_FINDING_MISMATCH, "the first value that differs is that of `maximum` at 4:11: in program (0,), element [");
    cr_expect(strstr(clp_report_finding(right.report, 0)->message, "on the device (vector and simt) is "));
    checking_close(&right);
    checking_close(&other);
}
