/* Checks of memory and of values: each finding, where it is found and where it must not be. */
#include <math.h>

#include "unit/checking.h"

/* ---- What nobody wrote ---- */

Test(check_memory, a_read_of_an_output_that_nobody_wrote)
{
    checking t;
    float o[10] = { 0 };
    checking_open(&t, "interp", "kernel k(out o: f32[N] block [4] at (i)) grid (i = cdiv(N, 4)) { o[...] = o[...] + 1; }");
    clp_array arrays[] = { VECTOR(CLP_F32, o, 10) };
    checking_run(&t, arrays, 1, CLP_CHECK_MEMORY);
    FINDS(&t, CLP_FINDING_UNINITIALISED, "program (0,) reads element [0], which nobody wrote; 10 elements [0:10]");
    const clp_finding *f = clp_report_finding(t.report, 0);
    cr_expect(f->elements == 10 && f->n_programs == 1 && f->programs[0][0] == 0 && f->n_accesses == 1 && f->accesses[0].line == 1);
    cr_expect(o[0] == 0, "the caller's array stays");
    checking_close(&t);
}

Test(check_memory, atomics_on_an_output_read_it_but_an_exchange_does_not)
{
    int32_t o[4] = { 0 };
    clp_array arrays[] = { VECTOR(CLP_I32, o, 4) };
    EXPECT_FINDS("kernel k(out o: i32[N]) grid (i = N) { atomic_add(o[i], 1); }",
                 arrays, 1, CLP_CHECK_MEMORY, CLP_FINDING_UNINITIALISED, "4 elements [0:4]");
    EXPECT_NOTHING("kernel k(out o: i32[N]) grid (i = N) { atomic_xchg(o[i], 1); atomic_add(o[i], 1); }",
                   arrays, 1, CLP_CHECK_MEMORY);
    EXPECT_NOTHING("kernel k(inout o: i32[N]) grid (i = N) { atomic_add(o[i], 1); }",
                   arrays, 1, CLP_CHECK_MEMORY);
}

Test(check_memory, scratch_is_fresh_in_each_sequence)
{
    float o[6] = { 0 };
    clp_array arrays[] = { MATRIX(CLP_F32, o, 3, 2) };
    EXPECT_FINDS("kernel k(out o: f32[N, 2] block [1, 1] at (i, t), scratch s: f32[4]) grid (i = N, t = 2 arbitrary) {\n"
                 "  if (first(t) & (i == 0)) { s[...] = 1; }\n"
                 "  o[0, 0] = s[2]; s[2] = 3; }",
                 arrays, 1, CLP_CHECK_MEMORY, CLP_FINDING_UNINITIALISED, "s: uninitialised: program (1, 0) reads element [2], which nobody wrote");
    EXPECT_NOTHING("kernel k(out o: f32[N, 2] block [1, 1] at (i, t), scratch s: f32[4]) grid (i = N, t = 2 arbitrary) {\n"
                   "  if (first(t)) { s[...] = 1; }\n"
                   "  o[0, 0] = s[2]; s[2] = 3; }",
                   arrays, 1, CLP_CHECK_MEMORY);
}

Test(check_memory, a_load_of_partly_written_scratch_reads_the_rest)
{
    float o[4] = { 0 };
    clp_array arrays[] = { VECTOR(CLP_F32, o, 4) };
    EXPECT_FINDS("kernel k(out o: f32[4], scratch s: f32[2, 4]) grid () { s[0, :] = 1; s[1, 0:2] = 2; o[...] = sum(s[...], axis = 0); }",
                 arrays, 1, CLP_CHECK_MEMORY, CLP_FINDING_UNINITIALISED, "reads element [1, 2], which nobody wrote; 2 elements [1:2, 2:4]");
    EXPECT_NOTHING("kernel k(out o: f32[4], scratch s: f32[2, 4]) grid () { s[0, :] = 1; s[1, 0:2] = 2;\n"
                   "  o[...] = s[0, :] + load(s[1, :], mask = iota([4]) < 2, other = 0.0); }",
                   arrays, 1, CLP_CHECK_MEMORY);
}

Test(check_memory, what_other_names_show_is_written_from_the_start)
{
    float x[8] = { 0 };
    clp_array arrays[] = { VECTOR(CLP_F32, x, 8), VECTOR(CLP_F32, x, 8) };
    EXPECT_NOTHING("kernel k(in x: f32[N] block [4] at (i), out o: f32[N] block [4] at (i) alias x)\n"
                   "grid (i = cdiv(N, 4)) { o[0:2] = o[0:2] + x[2:4]; }",
                   arrays, 2, CLP_CHECK_MEMORY);
}

Test(check_memory, output_elements_never_written)
{
    int8_t o[30] = { 0 }, p[30] = { 0 };
    clp_array arrays[] = { MATRIX(CLP_I8, o, 5, 6), MATRIX(CLP_I8, p, 5, 6) };
    EXPECT_FINDS("kernel k(out o: i8[M, N] block [1, 4] at (i, 0)) grid (i = M / 2) { o[...] = 7; }",
                 arrays, 1, CLP_CHECK_MEMORY, CLP_FINDING_NEVER_WRITTEN, "no program writes element [0, 4]; 22 elements in [0:5, 0:6] of 30");
    EXPECT_FINDS("kernel k(out o: i8[M, 6] block [1, 6] at (i, 0), out p: i8[M, 6]) grid (i = M) { o[...] = 7; }",
                 arrays, 2, CLP_CHECK_MEMORY, CLP_FINDING_NEVER_WRITTEN, "p: never-written: no program writes element [0, 0]; 30 elements [0:5, 0:6] of 30");
}

Test(check_memory, a_box_of_the_grid_need_not_write_everything)
{
    checking t;
    float o[10] = { 0 };
    clp_array arrays[] = { VECTOR(CLP_F32, o, 10) };
    checking_open(&t, "interp", "kernel k(out o: f32[N] block [4] at (i)) grid (i = cdiv(N, 4)) { o[...] = 1; }");
    clp_run_opts run = { .grid_start = (int64_t[]){ 1 }, .grid_count = (int64_t[]){ 1 } };
    OK(t.ctx, clp_check(t.k, arrays, 1, &(clp_check_opts){ .checks = CLP_CHECK_MEMORY, .run = &run }, &t.report));
    FINDS_NOTHING(&t);
    checking_close(&t);
}

Test(check_memory, packed_elements_are_looked_at_one_by_one)
{
    uint8_t o[4] = { 0 };
    clp_array arrays[] = { VECTOR(CLP_U4, o, 7) };
    EXPECT_FINDS("kernel k(out o: u4[N] block [2] at (i)) grid (i = cdiv(N, 2)) { o[0] = cast(3, u8); }",
                 arrays, 1, CLP_CHECK_MEMORY, CLP_FINDING_NEVER_WRITTEN, "no program writes element [1]; 3 elements in [1:6] of 7");
}

/* ---- Faults ---- */

Test(check_memory, a_fault_is_a_finding_and_the_run_goes_on)
{
    checking t;
    float x[4] = { 1, 2, 3, 4 }, o[4] = { 0 };
    int32_t a[4] = { 0, 9, 2, -1 };
    clp_array arrays[] = { VECTOR(CLP_F32, x, 4), VECTOR(CLP_I32, a, 4), VECTOR(CLP_F32, o, 4) };
    checking_open(&t, "interp", "kernel k(in x: f32[N], in a: i32[G] block [1] at (i), out o: f32[G] block [1] at (i)) grid (i = G) {\n"
                                "  assert(i < 3, \"few\"); o[0] = x[a[0]]; }");
    checking_run(&t, arrays, 3, CLP_CHECK_MEMORY);
    cr_assert_eq(clp_report_n_findings(t.report), 2, "%s", clp_report_text(t.report));
    const clp_finding *index = clp_report_finding(t.report, 0), *assertion = clp_report_finding(t.report, 1);
    cr_expect(index->kind == CLP_FINDING_OUT_OF_BOUNDS && index->programs[0][0] == 1 && index->accesses[0].line == 2, "%s", index->message);
    cr_expect(strstr(index->message, "x: program (1,): index (9,) lies outside the ref [4]"), "%s", index->message);
    cr_expect(assertion->kind == CLP_FINDING_ASSERT && assertion->programs[0][0] == 3, "%s", assertion->message);
    cr_expect(strstr(assertion->message, "assert failed: few"), "%s", assertion->message);
    checking_close(&t);
}

/* Faults of one access are one finding, which tells how many there were. */
Test(check_memory, faults_are_counted)
{
    checking t;
    float x[4] = { 1, 2, 3, 4 }, o[6] = { 0 };
    clp_array arrays[] = { VECTOR(CLP_F32, x, 4), VECTOR(CLP_F32, o, 6) };
    checking_open(&t, "interp", "kernel k(in x: f32[N], out o: f32[G]) grid (i = G) {\n"
                                "  for (j in 0 .. 2) { o[i] = x[i + j]; } }");
    checking_run(&t, arrays, 2, CLP_CHECK_MEMORY);
    FINDS(&t, CLP_FINDING_OUT_OF_BOUNDS, "x: program (3,): index (4,) lies outside the ref [4]; 5 such accesses in 3 programs");
    const clp_finding *f = clp_report_finding(t.report, 0);
    cr_expect(f->elements == 5 && !f->first_element && !f->box_start && !f->box_end, "%lld", (long long)f->elements);
    cr_expect(f->n_programs == 1 && f->programs[0][0] == 3 && f->n_accesses == 1 && f->accesses[0].line == 2);
    checking_close(&t);

    checking_open(&t, "interp", "kernel k(in x: f32[N] block [2] at (i), out o: f32[G] block [1] at (i)) grid (i = G) { o[0] = x[0]; }");
    checking_run(&t, arrays, 2, CLP_CHECK_MEMORY);
    FINDS(&t, CLP_FINDING_BLOCK_OUTSIDE, "x: program (2,): block (2,) of [2] lies outside the array [4]; 4 such blocks in 4 programs");
    cr_expect_eq(clp_report_finding(t.report, 0)->elements, 4);
    checking_close(&t);

    EXPECT_FINDS("kernel k(in x: f32[N], out o: f32[G] block [1] at (i)) grid (i = G) {\n"
                 "  for (j in 0 .. 3) { assert(i < 5 || j == 0, \"few\"); } o[0] = 1; }",
                 arrays, 2, CLP_CHECK_MEMORY, CLP_FINDING_ASSERT, "program (5,): assert failed: few; 2 such failures in 1 program");
}

Test(check_memory, a_block_outside_by_data)
{
    float x[4] = { 1, 2, 3, 4 }, o[4] = { 0 };
    int32_t a[2] = { 0, 5 };
    clp_array arrays[] = { VECTOR(CLP_I32, a, 2), VECTOR(CLP_F32, x, 4), VECTOR(CLP_F32, o, 4) };
    EXPECT_FINDS("kernel k(prefetch a: i32[G], in x: f32[N] block [2] at (a[i]), out o: f32[N] block [2] at (i)) grid (i = 2) { o[...] = x[...]; }",
                 arrays, 3, CLP_CHECK_MEMORY, CLP_FINDING_BLOCK_OUTSIDE, "x: program (1,): block (5,) of [2] lies outside the array [4]");
}

/* ---- Values ---- */

Test(check_memory, where_values_become_non_finite_first)
{
    checking t;
    float x[8] = { 1, 2, 0, 4, 1e30f, 6, NAN, 8 }, o[8] = { 0 };
    clp_array arrays[] = { VECTOR(CLP_F32, x, 8), VECTOR(CLP_F32, o, 8) };
    checking_open(&t, "interp", "kernel k(in x: f32[N] block [4] at (i), out o: f32[N] block [4] at (i)) grid (i = cdiv(N, 4)) {\n"
                                "  let a = 1.0 / x[...]; let b = a * 2.0 + 1.0; let c = x[...] * x[...]; o[...] = b + c; }");
    checking_run(&t, arrays, 2, CLP_CHECK_NON_FINITE);
    cr_assert_eq(clp_report_n_findings(t.report), 2, "%s", clp_report_text(t.report));
    const clp_finding *f = clp_report_finding(t.report, 0), *g = clp_report_finding(t.report, 1);
    cr_expect(f->elements == 1 && f->programs[0][0] == 0 && strstr(f->message, "`/` of 1.0 and 0.0 gives inf"), "%s", f->message);
    cr_expect(g->elements == 1 && g->programs[0][0] == 1 && strstr(g->message, "gives inf") && strstr(g->message, "`*` of 1e30 and 1e30"), "%s", g->message);
    checking_close(&t);
}

Test(check_memory, sums_are_non_finite_first_where_their_parts_are_finite)
{
    checking t;
    float x[8] = { 3e38f, 3e38f, 1, 1, INFINITY, 1, 3e38f, 1 }, o[2] = { 0 };
    clp_array arrays[] = { MATRIX(CLP_F32, x, 2, 4), VECTOR(CLP_F32, o, 2) };
    checking_open(&t, "interp", "kernel k(in x: f32[2, 4], out o: f32[2]) grid () { o[...] = sum(x[...], axis = 1); }");
    checking_run(&t, arrays, 2, CLP_CHECK_NON_FINITE);
    FINDS(&t, CLP_FINDING_NON_FINITE, "`sum` of finite values gives inf");
    cr_expect_eq(clp_report_finding(t.report, 0)->elements, 1);
    x[0] = 0;
    checking_run(&t, arrays, 2, CLP_CHECK_NON_FINITE);
    FINDS_NOTHING(&t);
    checking_close(&t);
    checking_open(&t, "interp", "kernel k(in x: f32[2, 4], out o: f32[2]) grid () { o[...] = dot(x[...], transpose(x[...]))[:, 0]; }");
    x[4] = 1;
    x[5] = 3e38f;
    checking_run(&t, arrays, 2, CLP_CHECK_NON_FINITE);
    FINDS(&t, CLP_FINDING_NON_FINITE, "`dot` of finite values gives inf");
    checking_close(&t);
}

/* One kernel over i32 or u8 rows; which expression, and what is found. */
static void overflows(const char *dtype, const char *expression, int32_t a, int32_t b, const char *part)
{
    checking t;
    char text[400];
    snprintf(text, sizeof text, "kernel k(scalar a: i32, scalar b: i32, out o: %s[3]) grid () { let x = full([3], cast(a, %s)); let y = full([3], cast(b, %s)); o[...] = %s; }",
             dtype, dtype, dtype, expression);
    int64_t o[3];
    clp_array arrays[] = { SCALAR(CLP_I32, &a), SCALAR(CLP_I32, &b), VECTOR(clp_dtype_from_name(dtype), o, 3) };
    checking_open(&t, "interp", text);
    checking_run(&t, arrays, 3, CLP_CHECK_OVERFLOW);
    if (part)
        FINDS(&t, CLP_FINDING_OVERFLOW, part);
    else
        FINDS_NOTHING(&t);
    checking_close(&t);
}

Test(check_memory, integers_that_wrap)
{
    overflows("i32", "x + y", INT32_MAX, 1, "overflow: `+` of 2147483647 and 1 wraps to -2147483648 in i32");
    overflows("i32", "x + y", INT32_MAX, 0, NULL);
    overflows("i32", "x - y", INT32_MIN, 1, "wraps to 2147483647");
    overflows("i32", "x - y", INT32_MIN + 1, 1, NULL);
    overflows("i32", "x - y", 0, INT32_MIN, "wraps");
    overflows("i32", "x * y", 65536, 32768, "wraps to -2147483648");
    overflows("i32", "x * y", -65536, 32768, NULL);
    overflows("i32", "x * y", -1, INT32_MIN, "wraps");
    overflows("i32", "-x", INT32_MIN, 0, "wraps to -2147483648");
    overflows("i32", "abs(x)", INT32_MIN, 0, "wraps to -2147483648");
    overflows("i32", "x / y", INT32_MIN, -1, "wraps to -2147483648");
    overflows("i32", "x / y", INT32_MIN, 1, NULL);
    overflows("i32", "x << y", 1, 31, "wraps to -2147483648");
    overflows("i32", "x << y", -1, 31, NULL);
    overflows("i32", "x << y", 3, 29, NULL);
    overflows("i32", "x << y", 5, 32, "wraps to 0");
    overflows("u8", "x + y", 200, 100, "`+` of 200 and 100 wraps to 44 in u8");
    overflows("u8", "x - y", 1, 2, "wraps to 255");
    overflows("u8", "x * y", 16, 16, "wraps to 0");
    overflows("i8", "x * y", 16, 8, "wraps to -128");
    overflows("i8", "x * y", -16, 8, NULL);
    overflows("i64", "x * y * y", INT32_MAX, INT32_MAX, "wraps");
    overflows("i64", "x * y", INT32_MAX, INT32_MIN, NULL);
    overflows("u64", "x * y", INT32_MAX, INT32_MAX, NULL);
    overflows("i32", "full([3], sum(x))", INT32_MAX, 0, "`sum` of i32 wraps to 2147483645 in i32");
    overflows("i32", "full([3], sum(where(iota([3]) == 1, -x, x)))", INT32_MAX, 0, NULL);
    overflows("i32", "full([3], prod(x))", 2000, 0, "wraps");
    overflows("i32", "full([3], prod(where(iota([3]) == 2, 0, x)))", 2000000, 0, NULL);
    overflows("i32", "cumsum(x)", 1 << 30, 0, "`cumsum` of i32 wraps to -2147483648");
    overflows("i32", "cumsum(x)", 1 << 29, 0, NULL);
    overflows("i32", "dot(x[None, :], y[:, None])[0, :] + iota([3])", 40000, 40000, "`dot` of i32 wraps");
    overflows("i32", "dot(x[None, :], y[:, None])[0, :] + iota([3])", 20000, 20000, NULL);
    overflows("i32", "cast(x, i32) + iota([3])", 5, 0, NULL);
}

/* What counts of a sum or product is whether its true value fits: what is beyond on the way there may come back. */
#define SUM "full([3], sum(x[...]))"
#define PROD "full([3], prod(x[...]))"
#define DOT "full([3], sum(dot(x[...][None, :], y[...][:, None])))"
Test(check_memory, sums_of_64_bits_that_wrap)
{
    static const struct { const char *dtype, *expression; int64_t x[3], y[3]; const char *part; } rows[] = {
        { "i64", SUM, { INT64_MAX, 1, -1 }, { 0 }, NULL },
        { "i64", SUM, { INT64_MIN, INT64_MIN, INT64_MAX }, { 0 }, "`sum` of i64 wraps to 9223372036854775807 in i64" },
        { "i64", SUM, { INT64_MAX, 1, 0 }, { 0 }, "wraps to -9223372036854775808" },
        { "u64", SUM, { -1, 0, 0 }, { 0 }, NULL },
        { "u64", SUM, { -1, 1, 0 }, { 0 }, "wraps to 0" },
        { "i64", "cumsum(x[...])", { INT64_MAX, 1, -1 }, { 0 }, "wraps to -9223372036854775808" },
        { "i64", "cumsum(x[...])", { INT64_MAX, -1, 1 }, { 0 }, NULL },
        { "i64", PROD, { INT64_C(1) << 32, INT64_C(1) << 31, -1 }, { 0 }, NULL },
        { "i64", PROD, { INT64_C(1) << 32, INT64_C(1) << 31, 1 }, { 0 }, "wraps to -9223372036854775808" },
        { "i64", PROD, { INT64_C(1) << 32, INT64_C(1) << 32, 1 }, { 0 }, "wraps to 0" },
        { "i64", PROD, { INT64_C(1) << 32, INT64_C(1) << 32, 0 }, { 0 }, NULL },
        { "u64", PROD, { INT64_C(1) << 32, INT64_C(1) << 31, 1 }, { 0 }, NULL },
        { "i64", DOT, { INT64_C(1) << 40, -(INT64_C(1) << 40), 5 }, { INT64_C(1) << 40, INT64_C(1) << 40, 1 }, NULL },
        { "i64", DOT, { INT64_MIN, INT64_MIN, 3 }, { INT64_MIN, INT64_MAX, INT64_MIN }, "`dot` of i64 wraps to 0" },
        { "i64", DOT, { INT64_MIN, INT64_MAX, 1 }, { INT64_MAX, INT64_MIN + 1, INT64_MAX }, "`dot` of i64 wraps to -2" },
        { "i64", DOT, { INT64_MAX, INT64_MIN, INT64_MIN }, { INT64_MAX, INT64_MAX, -1 }, NULL },
        { "i64", DOT, { INT64_C(1) << 32, 0, 5 }, { INT64_C(1) << 32, 0, 1 }, "`dot` of i64 wraps to 5" },
        { "i64", DOT, { INT64_MAX, INT64_MIN, 7 }, { INT64_MIN, INT64_MIN, INT64_MIN / 8 }, NULL },
        { "i64", DOT, { INT64_MIN, INT64_MIN, -1 }, { INT64_MIN, INT64_MAX, INT64_MIN }, "`dot` of i64 wraps to 0" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        checking t;
        char text[300];
        int64_t x[3], y[3], o[3];
        memcpy(x, rows[i].x, sizeof x);
        memcpy(y, rows[i].y, sizeof y);
        const clp_dtype d = clp_dtype_from_name(rows[i].dtype);
        clp_array arrays[] = { VECTOR(d, x, 3), VECTOR(d, y, 3), VECTOR(d, o, 3) };
        snprintf(text, sizeof text, "kernel k(in x: %s[3], in y: %s[3], out o: %s[3]) grid () { o[...] = %s; }", rows[i].dtype, rows[i].dtype,
                 rows[i].dtype, rows[i].expression);
        checking_open(&t, "interp", text);
        checking_run(&t, arrays, 3, CLP_CHECK_OVERFLOW);
        if (rows[i].part)
            FINDS(&t, CLP_FINDING_OVERFLOW, rows[i].part);
        else
            FINDS_NOTHING(&t);
        checking_close(&t);
    }
}

Test(check_memory, division_by_zero_of_integers)
{
    checking t;
    int32_t x[4] = { 7, 8, 9, 10 }, y[4] = { 1, 0, 2, 0 }, o[4];
    clp_array arrays[] = { VECTOR(CLP_I32, x, 4), VECTOR(CLP_I32, y, 4), VECTOR(CLP_I32, o, 4) };
    static const char *const expressions[] = { "x[...] / y[...]", "x[...] % y[...]", "div(x[...], y[...])", "rem(x[...], y[...])" };
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        char text[300];
        snprintf(text, sizeof text, "kernel k(in x: i32[N] block [2] at (i), in y: i32[N] block [2] at (i), out o: i32[N] block [2] at (i))\n"
                                    "grid (i = cdiv(N, 2)) { o[...] = %s; }", expressions[i]);
        y[1] = 0;
        y[3] = 0;
        checking_open(&t, "interp", text);
        checking_run(&t, arrays, 3, CLP_CHECK_DIVISION);
        FINDS(&t, CLP_FINDING_DIVISION_BY_ZERO, "` of 8 and 0");
        cr_expect_eq(clp_report_finding(t.report, 0)->elements, 2);
        y[1] = y[3] = 3;
        checking_run(&t, arrays, 3, CLP_CHECK_DIVISION);
        FINDS_NOTHING(&t);
        checking_close(&t);
    }
}

/* Blocks of 4 over arrays of 6: two elements of the last one do not exist. */
Test(check_memory, integers_outside_the_arrays_are_nobodys_to_see)
{
    static const struct { const char *dtype, *pad, *expression; int64_t last; const char *part; int elements; } rows[] = {
        { "i32", "", "x[...] * 2", 5, NULL, 0 },
        { "i32", "", "(x[...] - 1) * 3 + abs(-x[...])", 5, NULL, 0 },
        { "i32", "", "x[...] * 2", INT32_MAX, "`*` of 2147483647 and 2 wraps to -2 in i32", 1 },
        { "i32", "", "full([4], sum(x[...]))", 5, NULL, 0 },
        { "i32", "pad -2147483648", "x[...] * 2", 5, "`*` of -2147483648 and 2 wraps to 0", 2 },
        { "u32", "", "x[...] + 1", 5, NULL, 0 },
        { "u32", "", "x[...] - 1", 5, NULL, 0 },
        { "u32", "", "x[...] - 1", 0, "`-` of 0 and 1 wraps", 1 },
        { "i8", "", "x[...] * 2", 5, NULL, 0 },
        { "i64", "", "x[...] - 1", 5, NULL, 0 },
        { "u32", "", "x[...] / (x[...] + 1)", 5, NULL, 0 },
        { "u32", "", "7 / x[...]", 0, "`/` of 7 and 0", 1 },
        { "i32", "pad 0", "7 / x[...]", 5, "`/` of 7 and 0", 2 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        checking t;
        char text[300];
        int64_t memory[6], o[6] = { 0 };
        const clp_dtype d = clp_dtype_from_name(rows[i].dtype);
        const int n_bytes = clp_dtype_bits(d) / 8;
        clp_array arrays[] = { VECTOR(d, memory, 6), VECTOR(d, o, 6) };
        for (int e = 0; e < 6; e++)
            memcpy((char *)memory + e * n_bytes, &(int64_t){ e < 5 ? 5 : rows[i].last }, (size_t)n_bytes);      /* low bytes first */
        snprintf(text, sizeof text, "kernel k(in x: %s[N] block [4] at (i) %s, out o: %s[N] block [4] at (i)) grid (i = cdiv(N, 4)) { o[...] = %s; }",
                 rows[i].dtype, rows[i].pad, rows[i].dtype, rows[i].expression);
        checking_open(&t, "interp", text);
        checking_run(&t, arrays, 2, CLP_CHECK_OVERFLOW | CLP_CHECK_DIVISION);
        cr_expect_eq(clp_report_n_findings(t.report), rows[i].part != NULL, "row %zu: %s", i, clp_report_text(t.report));
        if (rows[i].part && clp_report_n_findings(t.report) == 1) {
            const clp_finding *f = clp_report_finding(t.report, 0);
            cr_expect(strstr(f->message, rows[i].part) && f->elements == rows[i].elements, "row %zu: %s, %d elements", i, f->message, (int)f->elements);
        }
        checking_close(&t);
    }
}

/* With other pads the kernel may never end. Blocks of 8 over arrays of 13; in the second one the least element is a pad, or 1. */
Test(check_memory, other_pads_may_never_end)
{
    static const struct { const char *turns; uint32_t last; int elements; } rows[] = {
        { "while (m < 100) { m = m * 2; n = n + 1; }", 1, 0 },
        { "while (m < 100) { m = m * 2; n = n + 1; }", 5, 1 },
        { "while (m < 1) { n = n & 1; }", 5, 1 },
        { "while (m < 1) { for (e in 0 .. 3) { while (m < 1) { n = n & 1; } } }", 5, 1 },
        { "for (e in 0 .. 20) { while (m == 3 || m == 0) { n = n & 1; } }", 5, 4 },         /* neither of the two: all stands as it was found */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        checking t;
        char text[400];
        uint32_t x[13], o[13] = { 0 };
        clp_array arrays[] = { VECTOR(CLP_U32, x, 13), VECTOR(CLP_U32, o, 13) };
        for (int e = 0; e < 13; e++)
            x[e] = e < 12 ? (i == 4 ? 4 : 1) : rows[i].last;
        snprintf(text, sizeof text, "kernel k(in x: u32[N] block [8] at (i), out o: u32[N] block [8] at (i)) grid (i = cdiv(N, 8)) "
                                    "{ var m = min(x[...]); var n = cast(0, u32); %s o[...] = x[...] * 1000000000 + n; }", rows[i].turns);
        checking_open(&t, "interp", text);
        checking_run(&t, arrays, 2, CLP_CHECK_OVERFLOW);
        cr_assert_eq(clp_report_n_findings(t.report), rows[i].elements > 0, "row %zu: %s", i, clp_report_text(t.report));
        if (rows[i].elements)
            cr_expect_eq(clp_report_finding(t.report, 0)->elements, rows[i].elements, "row %zu: %s", i, clp_report_text(t.report));
        checking_close(&t);
    }
}
