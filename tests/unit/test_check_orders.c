/* Checks of order: what depends on it is found, with both values; what does not, and what rounding explains, is not. */
#include <math.h>

#include "check/agree.h"
#include "unit/checking.h"

Test(check_orders, the_last_writer_wins)
{
    checking t;
    int32_t o[6] = { 0 };
    clp_array arrays[] = { VECTOR(CLP_I32, o, 6) };
    checking_open(&t, "interp", "kernel k(out o: i32[N]) grid (i = 4) { o[0:3] = i; if (i == 2) { o[3:6] = 7; } }");
    checking_run(&t, arrays, 1, CLP_CHECK_ORDERS);
    FINDS(&t, CLP_FINDING_ORDER_DEPENDENT, "o: order-dependent: element [0]: forward 3, reverse 0; 3 elements [0:3]");
    const clp_finding *f = clp_report_finding(t.report, 0);
    cr_expect(f->n_programs == 1 && f->programs[0][0] == 3 && f->n_accesses == 1 && f->accesses[0].line == 1);
    cr_expect(o[0] == 0, "the caller's array stays");
    checking_close(&t);
}

Test(check_orders, shuffles_and_boxes_find_what_reverse_does_not)
{
    checking t;
    int32_t o[8] = { 0 };
    clp_array arrays[] = { VECTOR(CLP_I32, o, 8) };
    /* o[0] is 1 only where program 5 comes before program 3 and program 3 before program 4 */
    checking_open(&t, "interp", "kernel k(inout o: i32[N]) grid (i = N) {\n"
                                "  if (i == 5) { atomic_max(o[1], 1); }\n"
                                "  if (i == 3) { let a = atomic_max(o[1], 0); atomic_max(o[2], a); }\n"
                                "  if (i == 4) { let b = atomic_max(o[2], 0); atomic_max(o[0], b); } }");
    OK(t.ctx, clp_check(t.k, arrays, 1, &(clp_check_opts){ .checks = CLP_CHECK_ORDERS, .n_shuffles = 40, .seed = 1 }, &t.report));
    const clp_finding *f = clp_report_finding(t.report, 0);
    cr_assert(f && f->kind == CLP_FINDING_ORDER_DEPENDENT, "%s", clp_report_text(t.report));
    cr_expect(strstr(f->message, "element [0]: forward 0, shuffle:"), "%s", f->message);
    checking_close(&t);
}

Test(check_orders, boxes_come_last_first)
{
    checking t;
    int32_t o[1] = { 0 };
    clp_array arrays[] = { VECTOR(CLP_I32, o, 1) };
    checking_open(&t, "interp", "kernel k(inout o: i32[1]) grid (i = 2, j = 3) { o[0] = 10 * i + j; }");
    OK(t.ctx, clp_check(t.k, arrays, 1, &(clp_check_opts){ .checks = CLP_CHECK_ORDERS, .n_shuffles = 1 }, &t.report));
    FINDS(&t, CLP_FINDING_ORDER_DEPENDENT, "element [0]: forward 12, reverse 0");
    checking_close(&t);
}

Test(check_orders, sequences_keep_their_order)
{
    float x[40], o[4] = { 0 };
    for (int i = 0; i < 40; i++)
        x[i] = (float)(i * i % 17) * 0.1f;
    clp_array arrays[] = { MATRIX(CLP_F32, x, 4, 10), VECTOR(CLP_F32, o, 4) };
    EXPECT_NOTHING("kernel k(in x: f32[M, N] block [1, 1] at (i, t), out o: f32[M] block [1] at (i)) grid (i = M, t = N arbitrary) {\n"
                   "  if (first(t)) { o[0] = 0; } o[0] = o[0] * 0.9 + x[0, 0]; }",
                   arrays, 2, CLP_CHECK_ORDERS);
}

/* Sums of floats by atomics: of numbers of all sizes, which cancel. */
Test(check_orders, rounding_of_atomic_sums_is_no_dependence)
{
    static const char *const dtypes[] = { "f32", "f64" };
    for (int d = 0; d < 2; d++) {
        enum { N = 3000 };
        static double x64[N], o64[3];
        static float x32[N], o32[3];
        char text[300];
        uint64_t state = 7;
        for (int i = 0; i < N; i++)
            x32[i] = (float)(x64[i] = (random_uniform(&state) - 0.5) * exp(20 * random_uniform(&state)));
        snprintf(text, sizeof text, "kernel k(in x: %s[N] block [1] at (i), inout o: %s[3]) grid (i = N) { atomic_add(o[i %% 2], x[0]); }", dtypes[d], dtypes[d]);
        clp_array arrays[] = { VECTOR(d ? CLP_F64 : CLP_F32, d ? (void *)x64 : x32, N), VECTOR(d ? CLP_F64 : CLP_F32, d ? (void *)o64 : o32, 3) };
        EXPECT_NOTHING(text,
                       arrays, 2, CLP_CHECK_ORDERS);
    }
}

Test(check_orders, a_plain_write_among_atomic_sums_is_found)
{
    float o[2] = { 0 };
    clp_array arrays[] = { VECTOR(CLP_F32, o, 2) };
    EXPECT_FINDS("kernel k(inout o: f32[2]) grid (i = 10) { atomic_add(o[1], 1.0); if (i == 3) { o[1] = 0; } }",
                 arrays, 1, CLP_CHECK_ORDERS, CLP_FINDING_ORDER_DEPENDENT, "element [1]: forward 6.0, reverse 3.0");
}

Test(check_orders, tickets_depend_on_the_order)
{
    int32_t n = 0, o[9];
    clp_array arrays[] = { checking_array(CLP_I32, &n, (int64_t[]){ 1 }, 1), VECTOR(CLP_I32, o, 9) };
    EXPECT_FINDS("kernel k(inout n: i32[1], out o: i32[N] block [1] at (i)) grid (i = N) { o[0] = atomic_add(n[0], 1); }",
                 arrays, 2, CLP_CHECK_ORDERS, CLP_FINDING_ORDER_DEPENDENT, "o: order-dependent: element [0]: forward 0, reverse 8; ");
}

Test(check_orders, nan_is_nan_and_zero_is_zero)
{
    float o[4] = { 0 };
    clp_array arrays[] = { VECTOR(CLP_F32, o, 4) };
    EXPECT_NOTHING("kernel k(inout o: f32[4]) grid (i = 6) { if (i % 2 == 0) { o[0] = 0.0; o[1] = nan; } else { o[0] = -0.0; o[1] = -nan; } }",
                   arrays, 1, CLP_CHECK_ORDERS);
}

Test(check_orders, faults_do_not_end_the_runs)
{
    int32_t o[4] = { 0 };
    clp_array arrays[] = { VECTOR(CLP_I32, o, 4) };
    EXPECT_NOTHING("kernel k(out o: i32[N]) grid (i = 2 * N) { assert(i < 3, \"few\"); o[i] = i; }",
                   arrays, 1, CLP_CHECK_ORDERS);
}

Test(check_orders, strided_packed_and_shared_arrays)
{
    uint8_t p[4] = { 0 };
    clp_array packed[] = { VECTOR(CLP_U4, p, 7) };
    EXPECT_FINDS("kernel k(inout o: u4[N]) grid (i = 3) { o[5] = cast(i, u8); o[i] = 9; }",
                 packed, 1, CLP_CHECK_ORDERS, CLP_FINDING_ORDER_DEPENDENT, "element [5]: forward 2, reverse 0");
    int16_t x[20] = { 0 };
    clp_array strided[] = { { .dtype = CLP_I16, .rank = 2, .shape = (int64_t[]){ 3, 2 }, .strides = (int64_t[]){ -6, 2 }, .data = x, .offset = 14 } };
    EXPECT_FINDS("kernel k(inout o: i16[M, N]) grid (i = 3) { o[1, 1] = cast(i, i16); o[i, 0] = 9; }",
                 strided, 1, CLP_CHECK_ORDERS, CLP_FINDING_ORDER_DEPENDENT, "element [1, 1]: forward 2, reverse 0");
}

/* The forward run alone finds equal values in o[4:8], which the race itself has made. */
Test(check_orders, equal_values_that_the_race_has_made_are_no_excuse)
{
    checking t;
    int32_t x[8];
    for (int i = 0; i < 8; i++)
        x[i] = i;
    clp_array arrays[] = { VECTOR(CLP_I32, x, 8), VECTOR(CLP_I32, x, 8) };
    checking_open(&t, "interp", "kernel k(in x: i32[N] block [4] at (num_programs(i) - 1 - i), out o: i32[N] block [4] at (i) alias x)\n"
                                "grid (i = cdiv(N, 4)) { o[...] = x[...]; }");
    checking_run(&t, arrays, 2, CLP_CHECK_RACES);
    cr_assert_eq(clp_report_n_findings(t.report), 2, "%s", clp_report_text(t.report));
    const clp_finding *f = clp_report_finding(t.report, 0);
    cr_expect(f->kind == CLP_FINDING_RACE_SAME_VALUE && f->first_element[0] == 4 && f->elements == 4, "%s", f->message);
    checking_run(&t, arrays, 2, CLP_CHECK_RACES | CLP_CHECK_ORDERS);
    cr_assert_eq(clp_report_n_findings(t.report), 3, "%s", clp_report_text(t.report));
    for (int i = 0; i < 2; i++) {
        f = clp_report_finding(t.report, i);
        cr_expect(f->kind == CLP_FINDING_ALIAS_RACE && f->first_element[0] == 4 * i && f->elements == 4, "%s", f->message);
        cr_expect(!strstr(f->message, "is there already"), "%s", f->message);
    }
    cr_expect_eq(clp_report_finding(t.report, 2)->kind, CLP_FINDING_ORDER_DEPENDENT);
    checking_close(&t);

    /* Of one name; and element by element: what no order changes stays the weaker kind. */
    clp_array one[] = { VECTOR(CLP_I32, x, 8) };
    checking_open(&t, "interp", "kernel k(inout o: i32[N]) grid (i = 2) { o[ds(4 * i, 4)] = o[ds(4 - 4 * i, 4)]; }");
    checking_run(&t, one, 1, CLP_CHECK_RACES | CLP_CHECK_ORDERS);
    int64_t n_weak = 0, n_hard = 0;
    for (int i = 0; i < clp_report_n_findings(t.report); i++) {
        f = clp_report_finding(t.report, i);
        n_weak += f->kind == CLP_FINDING_RACE_SAME_VALUE ? f->elements : 0;
        n_hard += f->kind == CLP_FINDING_RACE ? f->elements : 0;
    }
    cr_expect(n_weak == 0 && n_hard == 8, "%s", clp_report_text(t.report));
    checking_close(&t);
    checking_open(&t, "interp", "kernel k(inout o: i32[N]) grid (i = 2) { o[ds(0, 2)] = where(iota([2]) == 0, 7, i); }");
    checking_run(&t, one, 1, CLP_CHECK_RACES | CLP_CHECK_ORDERS);
    cr_assert_eq(clp_report_n_findings(t.report), 3, "%s", clp_report_text(t.report));
    cr_expect(clp_report_finding(t.report, 0)->kind == CLP_FINDING_RACE && clp_report_finding(t.report, 0)->first_element[0] == 1);
    cr_expect(clp_report_finding(t.report, 1)->kind == CLP_FINDING_RACE_SAME_VALUE && clp_report_finding(t.report, 1)->first_element[0] == 0);
    checking_close(&t);
}

/* As the runs of a device are compared: two of one name kept and compared, with nothing but their memory known. */
Test(check_orders, runs_of_a_device_are_compared_with_each_other)
{
    checking t;
    int32_t o[6] = { 0 };
    clp_array arrays[] = { VECTOR(CLP_I32, o, 6) };
    checking_open(&t, "interp", "kernel k(inout o: i32[N] block [2] at (i)) grid (i = cdiv(N, 2)) { o[...] = o[...] + 1; }");
    clp_kernel *k = t.k;
    clpi_check check = { .env = &k->ctx->env, .kernel = k, .ir = k->ir, .plan = k->plan, .arrays = arrays, .n_arrays = 1 };
    clpi_orders orders;
    OK(t.ctx, clpi_report_new(check.env, k, 5, &t.report));
    check.report = t.report;
    OK(t.ctx, clpi_snapshot_open(&check));
    OK(t.ctx, clpi_orders_open(&check, &orders));
    OK(t.ctx, clpi_orders_keep(&orders, "run 1"));
    int32_t *work = (int32_t *)(void *)check.snapshot.regions[0].work;
    work[4] = 9;
    OK(t.ctx, clpi_orders_compare(&orders, "run 2"));
    work[4] = 1;
    work[3] = 7;
    OK(t.ctx, clpi_orders_compare(&orders, "run 3"));
    cr_expect(orders.differs[0][3] && orders.differs[0][4] && !orders.differs[0][5]);
    cr_expect(!check.is_unsettled[0][3] && !check.is_unsettled[0][4]);
    OK(t.ctx, clpi_orders_report(&orders));
    cr_expect(check.is_unsettled[0][3] && check.is_unsettled[0][4] && !check.is_unsettled[0][5]);
    /* What is known already is not found again. */
    clpi_orders_forget(&orders);
    work[4] = 8;
    OK(t.ctx, clpi_orders_compare(&orders, "run 4"));
    OK(t.ctx, clpi_orders_report(&orders));
    clpi_snapshot_close(&check);
    OK(t.ctx, clpi_report_finish(t.report));
    FINDS(&t, CLP_FINDING_ORDER_DEPENDENT, "element [3]: run 1 1, run 3 7; 2 elements [3:5]");
    checking_close(&t);
}
