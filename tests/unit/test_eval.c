/* Whole tiles against single elements: every loop of the interpreter, for every instruction set that this machine has,
 * gives what the definition of one element gives, bit for bit. Reductions, scans, sorts and dots against plain sums.     */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "interp/dot.h"
#include "interp/interp.h"
#include "support/support.h"

enum { N = 203 };      /* no multiple of any vector's width */

/* ---- Elementwise ---- */

static clpi_elem some_elem(clp_dtype d, uint64_t *random)
{
    uint64_t r = random_next(random);
    if (clpi_is_f8(d) || d == CLP_F16 || d == CLP_BF16 || !clpi_is_float(d))
        return clpi_elem_from_bits(d, random_next(random) % 8 ? r : r % 5);
    static const double special[] = { 0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, 1e30, -1e30, 255.5, 2147483648.0, -2147483648.0 };
    if (r % 8 == 0) {
        uint64_t s = random_next(random) % 15;
        double x = s < 12 ? special[s] : s == 12 ? (double)INFINITY : s == 13 ? (double)-INFINITY : (double)NAN;
        return d == CLP_F32 ? (clpi_elem){ .f = (float)x } : (clpi_elem){ .d = x };
    }
    double x = (random_uniform(random) - 0.5) * (r % 3 == 0 ? 4.0 : r % 3 == 1 ? 400.0 : 1e10);
    return d == CLP_F32 ? (clpi_elem){ .f = (float)x } : (clpi_elem){ .d = x };
}

static bool same(clp_dtype d, clpi_elem a, clpi_elem b)
{
    if (d == CLP_F64)
        return a.u == b.u || (a.d != a.d && b.d != b.d);
    if (clpi_is_float(d))
        return !memcmp(&a.f, &b.f, sizeof a.f) || (a.f != a.f && b.f != b.f);
    return a.u == b.u;
}

static void check_ew(const clpi_loop_table *table, const char *name, clpi_op_kind kind, clp_dtype of, uint64_t *random)
{
    static uint64_t in[3][N], out[N];
    const clpi_op_info *info = &clpi_ops[kind];
    bool is_bool = info->types == CLP_CMP || info->types == CLP_EQU || info->types == CLP_TST;
    clp_dtype to = is_bool ? CLP_BOOL : of;
    clp_dtype dtypes[3] = { info->types == CLP_SEL ? CLP_BOOL : of, of, of };
    for (int a = 0; a < info->arity; a++)
        for (int i = 0; i < N; i++)
            clpi_elem_put(dtypes[a], in[a], i, some_elem(dtypes[a], random));
    table->ew[kind][of](out, in[0], in[1], in[2], N);
    for (int i = 0; i < N; i++) {
        clpi_elem args[3] = { { 0 }, { 0 }, { 0 } };
        for (int a = 0; a < info->arity; a++)
            args[a] = clpi_elem_get(dtypes[a], in[a], i);
        clpi_elem want = clpi_scalar_ew(kind, of, args), got = clpi_elem_get(to, out, i);
        cr_expect(same(to, got, want), "%s: %s of %s: of %llx, %llx: got %llx, expected %llx", name, info->name, clp_dtype_name(of),
                  (unsigned long long)args[0].u, (unsigned long long)args[1].u, (unsigned long long)got.u, (unsigned long long)want.u);
    }
}

static void check_cast(const clpi_loop_table *table, const char *name, clp_dtype to, clp_dtype from, uint64_t *random)
{
    static uint64_t in[N], out[N];
    clpi_loop_fn loop = table->cast[to][from];
    if (!loop)
        return;
    for (int i = 0; i < N; i++)
        clpi_elem_put(from, in, i, some_elem(from, random));
    loop(out, in, NULL, NULL, N);
    for (int i = 0; i < N; i++) {
        clpi_elem x = clpi_elem_get(from, in, i), got = clpi_elem_get(to, out, i), want = clpi_elem_cast(to, from, x);
        cr_expect(same(to, got, want), "%s: %s to %s: of %llx: got %llx, expected %llx", name, clp_dtype_name(from), clp_dtype_name(to),
                  (unsigned long long)x.u, (unsigned long long)got.u, (unsigned long long)want.u);
    }
}

static void check_table(const clpi_loop_table *table, const char *name)
{
    uint64_t random = 7;
    int n_loops = 0;
    for (clpi_op_kind kind = CLP_OP_NONE + 1; kind < CLP_N_OPS; kind++)
        for (clp_dtype d = CLP_DTYPE_NONE + 1; d < CLP_N_DTYPES; d++)
            if (table->ew[kind][d])
                check_ew(table, name, kind, d, &random), n_loops++;
    cr_expect(n_loops > 400, "%s: %d loops", name, n_loops);
    for (clp_dtype to = CLP_DTYPE_NONE + 1; to < CLP_N_DTYPES; to++)
        for (clp_dtype from = CLP_DTYPE_NONE + 1; from < CLP_N_DTYPES; from++)
            check_cast(table, name, to, from, &random);
}

Test(eval, portable_loops_agree_with_single_elements)
{
    check_table(&clpi_loops_portable, "portable");
}

Test(eval, avx2_loops_agree_with_single_elements)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        check_table(&clpi_loops_avx2, "avx2");
        return;
    }
#endif
    cr_skip_test("this machine has no AVX2");
}

/* ---- Kernels on one array of each kind ---- */

typedef struct bench { clp_context *ctx; clp_kernel *k; } bench;

static bench bench_of(const char *text, const char *params)
{
    bench t = { 0 };
    cr_assert_eq(clp_context_new(&(clp_context_opts){ .device = "interp" }, &t.ctx), CLP_OK, "%s", clp_last_error(NULL));
    OK(t.ctx, clp_kernel_from_text(t.ctx, text, NULL, params, &t.k));
    return t;
}

static void bench_close(bench *t)
{
    clp_kernel_free(t->k);
    clp_context_free(t->ctx);
}

static clp_array array(clp_dtype dtype, void *data, int rank, const int64_t *shape)
{
    return (clp_array){ .dtype = dtype, .rank = rank, .shape = shape, .data = data };
}

/* x[m, k] . y[k, n]; turned: 1: x stands as [k, m], 2: y as [n, k] */
static void check_dot(int64_t m, int64_t n, int64_t k, int turned)
{
    char params[128];
    snprintf(params, sizeof params, "m=%d, n=%d, k=%d, tx=%s, ty=%s", (int)m, (int)n, (int)k, turned & 1 ? "true" : "false", turned & 2 ? "true" : "false");
    bench t = bench_of("kernel d<m = 1, n = 1, k = 1, tx = false, ty = false>(in x: f32[A, B], in y: f32[C, D], out z: f32[m, n]) grid () {\n"
                       "  if (tx) { if (ty) { z[...] = dot(transpose(x[ds(0, k), ds(0, m)]), transpose(y[ds(0, n), ds(0, k)])); }\n"
                       "            else { z[...] = dot(transpose(x[ds(0, k), ds(0, m)]), y[ds(0, k), ds(0, n)]); } }\n"
                       "  else { if (ty) { z[...] = dot(x[ds(0, m), ds(0, k)], transpose(y[ds(0, n), ds(0, k)])); }\n"
                       "         else { z[...] = dot(x[ds(0, m), ds(0, k)], y[ds(0, k), ds(0, n)]); } } }", params);
    uint64_t random = (uint64_t)(m * 10000 + n * 100 + k);
    float *x = malloc((size_t)(m * k + 1) * sizeof *x), *y = malloc((size_t)(k * n + 1) * sizeof *y);
    guarded z = guarded_new((size_t)(m * n) * sizeof(float));
    for (int64_t i = 0; i < m * k; i++)
        x[i] = (float)random_uniform(&random) - 0.5f;
    for (int64_t i = 0; i < k * n; i++)
        y[i] = (float)random_uniform(&random) - 0.5f;
    clp_array arrays[] = { array(CLP_F32, x, 2, turned & 1 ? (int64_t[]){ k, m } : (int64_t[]){ m, k }),
                           array(CLP_F32, y, 2, turned & 2 ? (int64_t[]){ n, k } : (int64_t[]){ k, n }),
                           array(CLP_F32, z.data, 2, (int64_t[]){ m, n }) };
    OK(t.ctx, clp_run(t.k, arrays, 3, NULL));
    double worst = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum += (double)(turned & 1 ? x[p * m + i] : x[i * k + p]) * (double)(turned & 2 ? y[j * k + p] : y[p * n + j]);
            worst = fmax(worst, fabs(sum - (double)((float *)z.data)[i * n + j]));
        }
    cr_expect(worst <= 1e-6 * (1 + (double)k), "%s: off by %g", params, worst);
    cr_expect(guarded_is_whole(&z), "%s", params);
    free(x);
    free(y);
    guarded_free(&z);
    bench_close(&t);
}

Test(eval, dot_of_any_size)
{
    static const int64_t sizes[][3] = { { 1, 1, 1 }, { 1, 64, 64 }, { 64, 1, 300 }, { 3, 5, 7 }, { 16, 32, 8 }, { 17, 33, 9 }, { 128, 128, 128 },
                                        { 50, 70, 200 }, { 8, 31, 193 }, { 13, 100, 400 }, { 4, 8, 64 }, { 7, 7, 77 } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int turned = 0; turned < 4; turned++)
            check_dot(sizes[i][0], sizes[i][1], sizes[i][2], turned);
}

static void check_unit(const clpi_micro_kernel *u, const char *name)
{
    enum { K = 37, ROWS = 16, COLUMNS = 64 };
    static float a[ROWS * K], b[K * COLUMNS], c[ROWS * COLUMNS];
    uint64_t random = 3;
    for (int i = 0; i < ROWS * K; i++)
        a[i] = (float)(random_next(&random) % 9) - 4;
    for (int i = 0; i < K * COLUMNS; i++)
        b[i] = (float)(random_next(&random) % 9) - 4;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        c[i] = 1;
    cr_assert(u->m <= ROWS && u->n <= COLUMNS);
    u->tile(K, a, K, 1, b, c, COLUMNS);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < COLUMNS; j++) {
            float want = 1;
            for (int64_t p = 0; p < K && i < u->m && j < u->n; p++)
                want += a[i * K + p] * b[p * u->n + j];
            cr_expect_eq(c[i * COLUMNS + j], want, "%s: (%d, %d)", name, (int)i, (int)j);
        }
}

Test(eval, register_tiles_of_dot)
{
    check_unit(&clpi_dot_portable, "portable");
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        check_unit(&clpi_dot_avx2, "avx2");
    if (__builtin_cpu_supports("avx512f"))
        check_unit(&clpi_dot_avx512, "avx512");
#endif
}

Test(eval, dots_of_integers_wrap_in_their_accumulator)
{
    bench t = bench_of("kernel d(in x: i8[2, 3], in y: u8[3, 2], out z: i32[2, 2], out w: i64[2, 2], in v: u64[2, 2], out u: i64[2, 2]) grid () {\n"
                       "  z[...] = dot(x[...], y[...]); w[...] = dot(x[...], y[...], acc = i64); u[...] = dot(v[...], v[...]); }", NULL);
    int8_t x[6] = { -128, 127, 1, 2, 3, 4 };
    uint8_t y[6] = { 255, 1, 255, 2, 0, 3 };
    int32_t z[4];
    int64_t w[4], u[4];
    uint64_t v[4] = { UINT64_C(1) << 63, 3, 2, UINT64_MAX };
    const int64_t s22[] = { 2, 2 };
    clp_array arrays[] = { array(CLP_I8, x, 2, (int64_t[]){ 2, 3 }), array(CLP_U8, y, 2, (int64_t[]){ 3, 2 }), array(CLP_I32, z, 2, s22),
                           array(CLP_I64, w, 2, s22), array(CLP_U64, v, 2, s22), array(CLP_I64, u, 2, s22) };
    OK(t.ctx, clp_run(t.k, arrays, 6, NULL));
    cr_expect(z[0] == -255 && z[1] == 129 && z[2] == 1275 && z[3] == 20, "%d %d %d %d", z[0], z[1], z[2], z[3]);
    cr_expect(w[0] == -255 && w[3] == 20);
    cr_expect_eq(u[3], (int64_t)(2 * v[1] + v[3] * v[3]));
    bench_close(&t);
}

/* ---- Reductions ---- */

Test(eval, sums_over_every_set_of_axes)
{
    enum { A = 3, B = 5, C = 37 };
    bench t = bench_of("kernel r(in x: i32[3, 5, 37], out a: i32[5, 37], out b: i32[3, 37], out c: i32[3, 5], out ab: i32[37], out ac: i32[5],\n"
                       "  out bc: i32[3], out all: i32[1]) grid () { let v = x[...];\n"
                       "  a[...] = sum(v, axis = 0); b[...] = sum(v, axis = 1); c[...] = sum(v, axis = 2); ab[...] = sum(v, axis = (0, 1));\n"
                       "  ac[...] = sum(v, axis = (0, 2)); bc[...] = sum(v, axis = (1, 2)); all[0] = sum(v); }", NULL);
    static int32_t x[A * B * C], got[7][B * C], want[7][B * C];
    uint64_t random = 5;
    for (int a = 0; a < A; a++)
        for (int b = 0; b < B; b++)
            for (int c = 0; c < C; c++) {
                int32_t v = x[(a * B + b) * C + c] = (int32_t)(random_next(&random) % 2001) - 1000;
                want[0][b * C + c] += v, want[1][a * C + c] += v, want[2][a * B + b] += v, want[3][c] += v;
                want[4][b] += v, want[5][a] += v, want[6][0] += v;
            }
    clp_array arrays[] = { array(CLP_I32, x, 3, (int64_t[]){ A, B, C }), array(CLP_I32, got[0], 2, (int64_t[]){ B, C }),
                           array(CLP_I32, got[1], 2, (int64_t[]){ A, C }), array(CLP_I32, got[2], 2, (int64_t[]){ A, B }),
                           array(CLP_I32, got[3], 1, (int64_t[]){ C }), array(CLP_I32, got[4], 1, (int64_t[]){ B }),
                           array(CLP_I32, got[5], 1, (int64_t[]){ A }), array(CLP_I32, got[6], 1, (int64_t[]){ 1 }) };
    OK(t.ctx, clp_run(t.k, arrays, 8, NULL));
    for (int r = 0; r < 7; r++)
        cr_expect_arr_eq(got[r], want[r], sizeof want[r], "result %d", r);
    bench_close(&t);
}

Test(eval, extremes_let_nan_through_and_take_the_first)
{
    bench t = bench_of("kernel r(in x: f32[4, 40], out hi: f32[4], out lo: f32[4], out at: i32[4], out bt: i32[4], out down: f32[40]) grid () { let v = x[...];\n"
                       "  hi[...] = max(v, axis = 1); lo[...] = min(v, axis = 1); at[...] = argmax(v, axis = 1); bt[...] = argmin(v, axis = 1);\n"
                       "  down[...] = max(v, axis = 0); }", NULL);
    static float x[4][40];
    float hi[4], lo[4], down[40];
    int32_t at[4], bt[4];
    for (int i = 0; i < 40; i++)
        x[0][i] = (float)(i % 20), x[1][i] = -5, x[2][i] = -INFINITY, x[3][i] = (float)i;
    x[3][17] = x[3][30] = NAN;
    clp_array arrays[] = { array(CLP_F32, x, 2, (int64_t[]){ 4, 40 }), array(CLP_F32, hi, 1, (int64_t[]){ 4 }), array(CLP_F32, lo, 1, (int64_t[]){ 4 }),
                           array(CLP_I32, at, 1, (int64_t[]){ 4 }), array(CLP_I32, bt, 1, (int64_t[]){ 4 }), array(CLP_F32, down, 1, (int64_t[]){ 40 }) };
    OK(t.ctx, clp_run(t.k, arrays, 6, NULL));
    cr_expect(hi[0] == 19 && hi[1] == -5 && isinf(hi[2]) && hi[2] < 0 && isnan(hi[3]));
    cr_expect(lo[0] == 0 && lo[1] == -5 && isnan(lo[3]));
    cr_expect(at[0] == 19 && at[1] == 0 && at[2] == 0 && at[3] == 17 && bt[0] == 0 && bt[3] == 17);
    cr_expect(down[19] == 19 && isnan(down[17]) && down[39] == 39);
    bench_close(&t);
}

Test(eval, small_floats_are_summed_in_f32_and_rounded_once)
{
    bench t = bench_of("kernel r(in x: f16[4096], out s: f16[1], out c: f16[4096], out r: f16[4096]) grid () { let v = x[...];\n"
                       "  s[0] = sum(v); c[...] = cumsum(v, axis = 0); r[...] = cumsum(v, axis = 0, reverse = true); }", NULL);
    static uint16_t x[4096], c[4096], r[4096];
    uint16_t s;
    for (int i = 0; i < 4096; i++)
        x[i] = clpi_f32_to_f16(1.0f);
    const int64_t n[] = { 4096 };
    clp_array arrays[] = { array(CLP_F16, x, 1, n), array(CLP_F16, &s, 1, (int64_t[]){ 1 }), array(CLP_F16, c, 1, n), array(CLP_F16, r, 1, n) };
    OK(t.ctx, clp_run(t.k, arrays, 4, NULL));
    cr_expect_eq(clpi_f16_to_f32(s), 4096.0f);
    for (int i = 0; i < 4096; i++) {
        cr_expect_eq(c[i], clpi_f32_to_f16((float)(i + 1)), "%d", i);
        cr_expect_eq(r[i], clpi_f32_to_f16((float)(4096 - i)), "%d", i);
    }
    bench_close(&t);
}

Test(eval, sort_puts_nan_last_along_any_axis)
{
    enum { R = 3, C = 133 };
    bench t = bench_of("kernel s(in x: f32[3, 133], out a: f32[3, 133], out b: f32[3, 133]) grid () { a[...] = sort(x[...]); b[...] = sort(x[...], axis = 0); }", NULL);
    static float x[R][C], a[R][C], b[R][C];
    uint64_t random = 9;
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++)
            x[r][c] = random_next(&random) % 10 ? (float)(random_next(&random) % 50) : NAN;
    const int64_t shape[] = { R, C };
    clp_array arrays[] = { array(CLP_F32, x, 2, shape), array(CLP_F32, a, 2, shape), array(CLP_F32, b, 2, shape) };
    OK(t.ctx, clp_run(t.k, arrays, 3, NULL));
    for (int r = 0; r < R; r++) {
        int n_in = 0, n_out = 0;
        for (int c = 0; c < C; c++) {
            n_in += isnan(x[r][c]) != 0, n_out += isnan(a[r][c]) != 0;
            cr_expect(c == 0 || a[r][c - 1] <= a[r][c] || isnan(a[r][c]), "row %d at %d", r, c);
        }
        cr_expect_eq(n_in, n_out);
    }
    for (int c = 0; c < C; c++)
        cr_expect((b[0][c] <= b[1][c] || isnan(b[1][c])) && (b[1][c] <= b[2][c] || isnan(b[2][c])), "column %d", c);
    bench_close(&t);
}

/* ---- Movement ---- */

Test(eval, values_move_as_their_axes_say)
{
    bench t = bench_of("kernel m(in x: i32[2, 3, 4], out a: i32[4, 2, 3], out b: i32[2, 5, 4], out c: i32[3], out d: i32[2, 2, 3]) grid () { let v = x[...];\n"
                       "  a[...] = transpose(v, (2, 0, 1)); b[...] = concat(v[:, 1:, :], v, axis = 1);\n"
                       "  let i = iota([3]) * 2 - 1; c[...] = v[1, i, 3]; d[...] = v[:, ::2, iota([3]) + 2]; }", NULL);
    int32_t x[24], a[24], b[40], c[3], d[12];
    for (int i = 0; i < 24; i++)
        x[i] = i;
    clp_array arrays[] = { array(CLP_I32, x, 3, (int64_t[]){ 2, 3, 4 }), array(CLP_I32, a, 3, (int64_t[]){ 4, 2, 3 }),
                           array(CLP_I32, b, 3, (int64_t[]){ 2, 5, 4 }), array(CLP_I32, c, 1, (int64_t[]){ 3 }), array(CLP_I32, d, 3, (int64_t[]){ 2, 2, 3 }) };
    OK(t.ctx, clp_run(t.k, arrays, 5, NULL));
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++) {
                cr_expect_eq(a[(k * 2 + i) * 3 + j], i * 12 + j * 4 + k);
                cr_expect_eq(b[(i * 5 + 2 + j) * 4 + k], i * 12 + j * 4 + k);
                if (j > 0)
                    cr_expect_eq(b[(i * 5 + j - 1) * 4 + k], i * 12 + j * 4 + k);
            }
    cr_expect(c[0] == INT32_MIN && c[1] == 19 && c[2] == INT32_MIN, "out of range is poison: %d %d %d", c[0], c[1], c[2]);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            cr_expect(d[(i * 2 + j) * 3] == i * 12 + j * 8 + 2 && d[(i * 2 + j) * 3 + 1] == i * 12 + j * 8 + 3);
            cr_expect_eq(d[(i * 2 + j) * 3 + 2], INT32_MIN);
        }
    bench_close(&t);
}
