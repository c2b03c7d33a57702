/* Launches beside what their device can do: on the interpreter, whose peaks are measured like any device's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "on_cl.h"
#include "run/run.h"
#include "support/german.h"

#define MATMUL                                                                                                         \
    "kernel mm(in x: f32[M, K] block [8, 16] at (i, k) pad 0, in y: f32[K, N] block [16, 4] at (k, j) pad 0,\n"         \
    "    out z: f32[M, N] block [8, 4] at (i, j), scratch acc: f32[8, 4])\n"                                            \
    "grid (i = cdiv(M, 8), j = cdiv(N, 4), k = cdiv(K, 16) arbitrary)\n"                                                \
    "{ if (first(k)) { acc[...] = 0; } acc[...] += dot(x[...], y[...]); if (last(k)) { z[...] = 2 * acc[...]; } }"

static clp_context *open_with(const clp_context_opts *opts)
{
    clp_context *ctx;
    cr_assert_eq(clp_context_new(opts, &ctx), CLP_OK);
    return ctx;
}

static clp_context *open_interp(void)
{
    return open_with(&(clp_context_opts){ .device = "interp" });
}

static clp_kernel *kernel_of(clp_context *ctx, const char *text)
{
    clp_kernel *k;
    cr_assert_eq(clp_kernel_from_text(ctx, text, NULL, NULL, &k), CLP_OK, "%s", clp_last_error(ctx));
    return k;
}

/* Peaks that this process keeps for itself. */
static void use_folder(void)
{
    static char folder[] = "/tmp/clpallas-roofline-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    setenv("CLPALLAS_CACHE_DIR", folder, 1);
    unsetenv("CLPALLAS_CACHE");
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", getenv("CLPALLAS_CACHE_DIR"));
    cr_expect_eq(system(command), 0);
}

static float floats[3][32 * 64];

static void matmul_arrays(clp_array *a)
{
    static const int64_t x[] = { 20, 40 }, y[] = { 40, 9 }, z[] = { 20, 9 };
    a[0] = (clp_array){ .dtype = CLP_F32, .rank = 2, .shape = x, .data = floats[0] };
    a[1] = (clp_array){ .dtype = CLP_F32, .rank = 2, .shape = y, .data = floats[1] };
    a[2] = (clp_array){ .dtype = CLP_F32, .rank = 2, .shape = z, .data = floats[2] };
}

Test(roofline, counts_bounds_and_times_a_matmul)
{
    use_folder();
    clp_context *ctx = open_interp();
    clp_kernel *k = kernel_of(ctx, MATMUL);
    clp_array a[3];
    clp_roofline_point p;
    matmul_arrays(a);
    cr_assert_eq(clp_roofline(k, a, 3, &(clp_roofline_opts){ .n_runs = 3 }, &p), CLP_OK, "%s", clp_last_error(ctx));

    cr_expect_eq(p.programs, 27);
    cr_assert_eq(p.n_ops, 2);
    cr_expect(p.ops[0].is_dot && p.ops[0].dtype == CLP_F32 && p.ops[0].acc == CLP_F32);
    cr_expect_eq(p.ops[0].ops, 2.0 * 20 * 40 * 9);
    cr_expect_eq(p.ops[1].ops, 20 * 9 * 3 + 20 * 9);
    cr_expect_eq(p.float_ops, p.ops[0].ops + p.ops[1].ops);
    cr_expect_eq(p.bytes, 4 * (20 * 40 + 40 * 9 + 20 * 9));
    cr_expect_eq(p.streamed_bytes, 4 * (20 * 40 * 3 + 40 * 9 * 3 + 20 * 9));
    cr_expect_eq(p.intensity, p.float_ops / p.bytes);
    cr_assert_eq(p.n_operands, 3);
    cr_expect(!strcmp(p.operands[2].name, "z") && p.operands[2].fetches == 9 && p.operands[2].written == 4 * 20 * 9);
    cr_expect(p.is_exact);

    cr_expect_float_eq(p.compute_s, p.ops[0].ops / p.ops[0].peak + p.ops[1].ops / p.ops[1].peak, p.compute_s * 1e-12);
    cr_expect_float_eq(p.memory_s, p.bytes / p.peak_bytes_s, p.memory_s * 1e-12);
    cr_expect_eq(p.attainable_s, fmax(p.compute_s, fmax(p.memory_s, p.launch_s)));
    cr_expect_eq(p.attainable_s, p.roof == CLP_ROOF_COMPUTE ? p.compute_s : p.roof == CLP_ROOF_MEMORY ? p.memory_s : p.launch_s);
    cr_expect(p.seconds > 0 && p.seconds <= p.median_s);
    cr_expect_float_eq(p.ops_s * p.seconds, p.float_ops, p.float_ops * 1e-12);
    clp_kernel_free(k);
    clp_context_free(ctx);
    remove_folder();
}

/* Rows 1 1 0: two of three come anew, wherever the table stands. */
Test(roofline, prefetched_data_say_which_blocks_come)
{
    use_folder();
    clp_context *ctx = open_interp();
    clp_kernel *k = kernel_of(ctx, "kernel g(prefetch t: i16[N], in x: f32[R, 8] block [_, 8] at (t[i], 0), out o: f32[N, 8] block [_, 8] at (i, 0))\n"
                                   "grid (i = N) { o[...] = x[...]; }");
    static int16_t table[] = { 9, 1, 1, 0 };
    static const int64_t n[] = { 3 }, rows[] = { 4, 8 }, out[] = { 3, 8 };
    clp_array a[] = { { .dtype = CLP_I16, .rank = 1, .shape = n, .data = table, .offset = 1 },
                      { .dtype = CLP_F32, .rank = 2, .shape = rows, .data = floats[0] },
                      { .dtype = CLP_F32, .rank = 2, .shape = out, .data = floats[1] } };
    clp_buffer *buffer;
    cr_assert_eq(clp_buffer_new(ctx, sizeof table, &buffer), CLP_OK);
    cr_assert_eq(clp_buffer_write(buffer, 0, table, sizeof table), CLP_OK);
    for (int in_buffer = 0; in_buffer < 2; in_buffer++) {
        clp_roofline_point p;
        a[0].data = in_buffer ? NULL : table;
        a[0].buffer = in_buffer ? buffer : NULL;
        cr_assert_eq(clp_roofline(k, a, 3, &(clp_roofline_opts){ .n_runs = -1 }, &p), CLP_OK, "%s", clp_last_error(ctx));
        cr_expect_eq(p.operands[1].fetches, 2, "%g fetches", p.operands[1].fetches);
        cr_expect_eq(p.operands[1].read, 64);
        cr_expect_eq(p.float_ops + p.int_ops, 0);
        cr_expect_eq(p.attainable_ops_s, 0);
        cr_expect_eq(p.seconds, 0);
        cr_expect(p.roof != CLP_ROOF_COMPUTE);
    }
    clp_buffer_free(buffer);
    clp_kernel_free(k);
    clp_context_free(ctx);
    remove_folder();
}

static double peak(clp_context *ctx, clpi_peak_kind kind, clp_dtype dtype, double n_bytes, bool again)
{
    double value;
    cr_assert_eq(clpi_peak(ctx, kind, dtype, n_bytes, again, &value), CLP_OK, "%s", clp_last_error(ctx));
    cr_expect(value > 0 && isfinite(value));
    return value;
}

/* Another context has the very numbers, which nobody measures twice alike. */
Test(roofline, peaks_are_kept_for_other_processes)
{
    use_folder();
    clp_context *a = open_interp(), *b = open_interp();
    const double launch = peak(a, CLPI_PEAK_LAUNCH, CLP_F32, 0, false), f64 = peak(a, CLPI_PEAK_OPS, CLP_F64, 0, false);
    cr_expect_eq(peak(b, CLPI_PEAK_LAUNCH, CLP_F32, 0, false), launch);
    cr_expect_eq(peak(b, CLPI_PEAK_OPS, CLP_F64, 0, false), f64);
    /* Measured again, for those that ask from then on. */
    const double again = peak(b, CLPI_PEAK_OPS, CLP_F64, 0, true);
    cr_expect_eq(peak(b, CLPI_PEAK_OPS, CLP_F64, 0, false), again);
    clp_context *c = open_interp();
    cr_expect_eq(peak(c, CLPI_PEAK_OPS, CLP_F64, 0, false), again);
    clp_context_free(a);
    clp_context_free(b);
    clp_context_free(c);
    remove_folder();
}

/* One process has commas where the next has points. */
Test(roofline, peaks_are_kept_for_processes_of_other_locales)
{
    use_folder();
    clp_context *a = open_interp(), *b = open_interp();
    if (speak_german()) {
        const double launch = peak(a, CLPI_PEAK_LAUNCH, CLP_F32, 0, false), f64 = peak(a, CLPI_PEAK_OPS, CLP_F64, 0, false);
        cr_assert_not_null(setlocale(LC_ALL, "C"));
        cr_expect_eq(peak(b, CLPI_PEAK_LAUNCH, CLP_F32, 0, false), launch);
        cr_expect_eq(peak(b, CLPI_PEAK_OPS, CLP_F64, 0, false), f64);
    }
    clp_context_free(a);
    clp_context_free(b);
    remove_folder();
}

/* Dtypes that are computed as another share its peak; sizes of copies go up to a power of two. */
Test(roofline, what_is_computed_alike_has_one_peak)
{
    use_folder();
    clp_context *ctx = open_interp();
    cr_expect_eq(peak(ctx, CLPI_PEAK_OPS, CLP_BF16, 0, false), peak(ctx, CLPI_PEAK_OPS, CLP_F32, 0, false));
    cr_expect_eq(peak(ctx, CLPI_PEAK_OPS, CLP_U8, 0, false), peak(ctx, CLPI_PEAK_OPS, CLP_I32, 0, false));
    cr_expect_eq(peak(ctx, CLPI_PEAK_DOT, CLP_U8, 0, false), peak(ctx, CLPI_PEAK_DOT, CLP_I8, 0, false));
    cr_expect_eq(peak(ctx, CLPI_PEAK_BYTES, CLP_F32, 70000, false), peak(ctx, CLPI_PEAK_BYTES, CLP_F32, 131072, false));
    clp_context_free(ctx);
    remove_folder();
}

/* What a context asks for of its own kernels is not what the device can do: peaks are measured without it. */
Test(roofline, contexts_for_text_have_roofs_too)
{
    use_folder();
    clp_context *ctx = open_with(&(clp_context_opts){ .device = "interp", .text_only = true, .checked = true });
    clp_kernel *k = kernel_of(ctx, MATMUL);
    clp_array a[3];
    clp_roofline_point p;
    matmul_arrays(a);
    cr_expect_eq(clp_roofline(k, a, 3, &(clp_roofline_opts){ .n_runs = -1 }, &p), CLP_OK, "%s", clp_last_error(ctx));
    cr_expect(p.attainable_s > 0 && p.seconds == 0);
    cr_expect_eq(clp_roofline(k, a, 3, NULL, &p), CLP_ERR_ARG);
    cr_expect(strstr(clp_last_error(ctx), "for their text only"), "%s", clp_last_error(ctx));
    clp_kernel_free(k);
    clp_context_free(ctx);
    remove_folder();
}

Test(roofline, says_what_is_wrong_with_a_call)
{
    clp_context *ctx = open_interp();
    clp_kernel *k = kernel_of(ctx, MATMUL);
    clp_array a[3];
    clp_roofline_point p;
    matmul_arrays(a);
    cr_expect_eq(clp_roofline(NULL, a, 3, NULL, &p), CLP_ERR_ARG);
    cr_expect_eq(clp_roofline(k, a, 3, NULL, NULL), CLP_ERR_ARG);
    cr_expect_str_eq(clp_last_error(ctx), "clp_roofline: out_point is NULL");
    cr_expect_eq(clp_roofline(k, a, 2, NULL, &p), CLP_ERR_ARG);
    cr_expect_str_eq(clp_last_error(ctx), "mm: expected 3 arrays (x, y, z), got 2");
    cr_expect_eq(p.programs, 0);
    cr_expect_str_eq(clp_roof_name(CLP_ROOF_MEMORY), "memory");
    cr_expect_str_eq(clp_roof_name((clp_roof)7), "?");
    clp_kernel_free(k);
    clp_context_free(ctx);
}

/* On a device: all peaks can be had, and are ordered as they must be on any. */
Test(roofline, devices_have_roofs)
{
    static const clp_dtype dtypes[] = { CLP_F32, CLP_BF16, CLP_I8 };
    use_folder();
    clp_context *ctx = context_on_cl(NULL, NULL);
    if (!ctx)
        return;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        peak(ctx, CLPI_PEAK_OPS, dtypes[i], 0, false);
        peak(ctx, CLPI_PEAK_DOT, dtypes[i], 0, false);
    }
    cr_expect(peak(ctx, CLPI_PEAK_DOT, CLP_F32, 0, false) >= 0.5 * peak(ctx, CLPI_PEAK_OPS, CLP_F32, 0, false));
    peak(ctx, CLPI_PEAK_BYTES, CLP_F32, 1e6, false);
    peak(ctx, CLPI_PEAK_BYTES, CLP_F32, 1e9, false);
    cr_expect_lt(peak(ctx, CLPI_PEAK_LAUNCH, CLP_F32, 0, false), 0.1);
    clp_context_free(ctx);
    remove_folder();
}
