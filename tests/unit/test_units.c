/* Dot units: every one that this device's CPU has, and what stands in for them, gives the sums of the definition: integers
 * exactly, extremes and wrapping included, bf16 within the rounding of its f32 sums. Sizes divide nothing. And instructions that other
 * functions are made of: they change no bit.                                                                              */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cl/cl.h"
#include "run/run.h"
#include "support/amx.h"
#include "support/support.h"

enum { MAX_SIZE = 70, MAX_K = 1100 };

typedef struct problem { clp_dtype x, y; int m, n, k; bool is_transposed, is_extreme; } problem;

static uint32_t next(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u;
}

/* Element i as it is stored and as a number. */
static double fill(clp_dtype dtype, void *data, int i, bool is_extreme, uint32_t *state)
{
    const uint32_t r = next(state) >> 12;
    if (dtype == CLP_BF16) {
        const float f = (float)((int)(r % 2001) - 1000) / 256.0f;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        bits &= 0xffff0000u;
        ((uint16_t *)data)[i] = (uint16_t)(bits >> 16);
        float cut;
        memcpy(&cut, &bits, 4);
        return cut;
    }
    const uint8_t byte = (uint8_t)(is_extreme ? (dtype == CLP_U8 ? 255 : 128) : r);
    ((uint8_t *)data)[i] = byte;
    return dtype == CLP_U8 ? byte : (int8_t)byte;
}

static void check(clp_context *ctx, const problem *p, const char *units)
{
    static double x[MAX_SIZE * MAX_K], y[MAX_K * MAX_SIZE];
    static uint16_t x_data[MAX_SIZE * MAX_K], y_data[MAX_K * MAX_SIZE];
    static uint32_t o[MAX_SIZE * MAX_SIZE];
    const bool is_float = p->x == CLP_BF16;
    uint32_t state = (uint32_t)(p->m * 100 + p->n * 10 + p->k);
    char text[600], params[200];
    for (int i = 0; i < p->m * p->k; i++)
        x[i] = fill(p->x, x_data, i, p->is_extreme, &state);
    for (int i = 0; i < p->k * p->n; i++)
        y[i] = fill(p->y, y_data, i, p->is_extreme, &state);
    const char *const shapes = p->is_transposed ? "in x: X[k, m], in y: Y[n, k]" : "in x: X[m, k], in y: Y[k, n]";
    const char *const dot = p->is_transposed ? "dot(transpose(x[:, :]), transpose(y[:, :]), acc = A)" : "dot(x[:, :], y[:, :], acc = A)";
    snprintf(text, sizeof text, "kernel d<X = i8, Y = i8, A = i32, m = 1, n = 1, k = 1>(%s, inout o: A[m, n]) grid () { o[:, :] += %s; }", shapes, dot);
    snprintf(params, sizeof params, "X=%s, Y=%s, A=%s, m=%d, n=%d, k=%d", clp_dtype_name(p->x), clp_dtype_name(p->y),
             is_float ? "f32" : "i32", p->m, p->n, p->k);
    clp_kernel *kernel;
    cr_assert_eq(clp_kernel_from_text(ctx, text, NULL, params, &kernel), CLP_OK, "%s", clp_last_error(ctx));
    const int64_t mk[] = { p->m, p->k }, km[] = { p->k, p->m }, kn[] = { p->k, p->n }, nk[] = { p->n, p->k }, mn[] = { p->m, p->n };
    for (int i = 0; i < p->m * p->n; i++)
        o[i] = is_float ? 0 : 0x7ffffff0u;               /* sums wrap */
    cr_assert_eq(clp_run(kernel, (clp_array[]){ { .dtype = p->x, .rank = 2, .shape = p->is_transposed ? km : mk, .data = x_data },
                                                { .dtype = p->y, .rank = 2, .shape = p->is_transposed ? nk : kn, .data = y_data },
                                                { .dtype = is_float ? CLP_F32 : CLP_I32, .rank = 2, .shape = mn, .data = o } }, 3, NULL),
                 CLP_OK, "%s", clp_last_error(ctx));
    clp_kernel_free(kernel);
    int n_wrong = 0;
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            double sum = 0, size = 0;
            for (int k = 0; k < p->k; k++) {
                const double term = (p->is_transposed ? x[k * p->m + i] : x[i * p->k + k]) * (p->is_transposed ? y[j * p->k + k] : y[k * p->n + j]);
                sum += term;
                size += fabs(term);
            }
            float f;
            memcpy(&f, &o[i * p->n + j], 4);
            n_wrong += is_float ? fabs(f - sum) > 1e-7 * p->k * size : o[i * p->n + j] != 0x7ffffff0u + (uint32_t)(int64_t)sum;
        }
    cr_expect_eq(n_wrong, 0, "%s%s%s, units: %s: %d elements are wrong", params, p->is_transposed ? ", transposed" : "",
                 p->is_extreme ? ", extremes" : "", units, n_wrong);
}

static void check_all(clp_context *ctx, const char *units)
{
    static const clp_dtype pairs[][2] = { { CLP_I8, CLP_I8 }, { CLP_U8, CLP_U8 }, { CLP_I8, CLP_U8 }, { CLP_U8, CLP_I8 }, { CLP_BF16, CLP_BF16 } };
    for (size_t d = 0; d < sizeof pairs / sizeof *pairs; d++) {
        const clp_dtype x = pairs[d][0], y = pairs[d][1];
        check(ctx, &(problem){ x, y, 5, 2, 9, false, false }, units);
        check(ctx, &(problem){ x, y, 26, 67, 33, false, false }, units);
        check(ctx, &(problem){ x, y, 13, 5, 7, true, false }, units);
        check(ctx, &(problem){ x, y, 3, 40, 1030, false, x != CLP_BF16 }, units);
        check(ctx, &(problem){ x, y, 3, 64, 1030, false, x != CLP_BF16 }, units);
    }
}

/* Which functions the text of a kernel calls that multiplies so many rows of x by y. */
static bool rows_call(clp_context *ctx, int rows, const char *pair, const char *function)
{
    clp_kernel *kernel;
    clpi_str s;
    char text[300];
    snprintf(text, sizeof text, "kernel d<X = i8, Y = i8, A = i32>(in x: X[%d, 8], in y: Y[8, 8], out o: A[%d, 8]) grid () { o[:, :] = dot(x[:, :], y[:, :], acc = A); }",
             rows, rows);
    clpi_str_init(&s, &ctx->env);
    cr_assert_eq(clp_kernel_from_text(ctx, text, NULL, pair, &kernel), CLP_OK);
    cr_assert_eq(clpi_cl_text(&ctx->env, CLP_STAGE_CL, kernel->ir, kernel->plan, &ctx->limits, ctx->schedule, false, &s), CLP_OK);
    const bool found = strstr(s.text, function) != NULL;
    clpi_str_done(&s);
    clp_kernel_free(kernel);
    return found;
}

static bool calls(clp_context *ctx, const char *pair, const char *function)
{
    return rows_call(ctx, 20, pair, function);
}

/* Pure text: every unit is reached by its row, and by no other dtypes. */
Test(units, are_chosen_by_what_the_device_has)
{
    enum { ALL = ~0, PAIRS = CLPI_INSN_AVX512_BF16, QUADS = CLPI_INSN_AVX512_VNNI };
    static const struct { const char *pair, *function; int units; } rows[] = {
        { "X=bf16, Y=bf16, A=f32", "vdpbf16ps", PAIRS },
        { "X=bf16, Y=bf16, A=f32", "tdpbf16ps", CLPI_INSN_AMX_BF16 | PAIRS },
        { "X=i8, Y=i8", "dot_ubyte_byte", QUADS },
        { "X=u8, Y=u8", "dot_byte_ubyte", QUADS },
        { "X=u8, Y=i8", "dot_ubyte_byte", QUADS },
        { "X=i8, Y=u8", "dot_byte_ubyte", QUADS },
        { "X=i8, Y=i8", "tdpbssd", CLPI_INSN_AMX_INT8 | QUADS },
        { "X=i8, Y=u8", "tdpbsud", CLPI_INSN_AMX_INT8 | QUADS },
        { "X=u8, Y=i8", "tdpbusd", CLPI_INSN_AMX_INT8 | QUADS },
        { "X=u8, Y=u8", "tdpbuud", CLPI_INSN_AMX_INT8 | QUADS },
    };
    clp_context *ctx;
    cr_assert_eq(clp_context_new(&(clp_context_opts){ .device = "interp", .schedule = CLP_SCHEDULE_VECTOR }, &ctx), CLP_OK);
    ctx->limits = clpi_cl_reference_limits;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ctx->limits.insns = 0;
        cr_expect(!calls(ctx, rows[i].pair, "asm"), "%s without units", rows[i].pair);
        ctx->limits.insns = (uint32_t)rows[i].units;
        cr_expect(calls(ctx, rows[i].pair, rows[i].function), "%s: %s", rows[i].pair, rows[i].function);
    }
    ctx->limits.insns = (uint32_t)ALL;
    cr_expect(!calls(ctx, "X=f16, Y=f16, A=f32", "asm") && !calls(ctx, "X=i16, Y=i16", "asm"), "dtypes that no unit takes");
    cr_expect(!rows_call(ctx, 8, "X=bf16, Y=bf16, A=f32", "asm") && !rows_call(ctx, 8, "X=i8, Y=i8", "asm"), "of few rows y is not packed");
    clp_context_free(ctx);
}

/* NULL when there is no device, which is printed. */
static clp_context *open_device(void)
{
    clp_context *ctx;
    if (!clp_context_new(&(clp_context_opts){ .device = "cl", .schedule = CLP_SCHEDULE_VECTOR }, &ctx))
        return ctx;
    cr_assert(!getenv("CLP_REQUIRE_CL"), "%s", clp_last_error(NULL));
    fprintf(stderr, "skipped: %s\n", clp_last_error(NULL));
    return NULL;
}

Test(units, give_the_sums_of_the_definition)
{
    clp_context *ctx = open_device();
    if (!ctx)
        return;
    clpi_cl_device *dev = clpi_context_dev(ctx, &clpi_cl_backend);
    const uint32_t units = dev->limits.insns;
    if (units)
        check_all(ctx, "the device's");
    else
        fprintf(stderr, "skipped: this device reaches no dot unit of its CPU\n");
    dev->limits.insns = 0;
    check_all(ctx, "none");
    clp_context_free(ctx);
}

/* Where the CPU has no tiles they are emulated, so the probe and the code are tried everywhere. */
Test(units, tiles_give_the_sums_of_the_definition)
{
    enum { TILES = CLPI_INSN_AMX_BF16 | CLPI_INSN_AMX_INT8 };
    clp_context *ctx = open_device();
    if (!ctx)
        return;
    clpi_cl_device *dev = clpi_context_dev(ctx, &clpi_cl_backend);
    if (!dev->limits.is_cpu || !amx_emulate()) {
        fprintf(stderr, "skipped: tiles are of x86 CPUs, and emulated on Linux\n");
        clp_context_free(ctx);
        return;
    }
    dev->limits.vector_bytes = 64;
    bool is_certain;
    dev->limits.insns = clpi_cl_probe_insns(dev, TILES, &is_certain);
    cr_assert_eq(dev->limits.insns, TILES, "code of the device does not reach tiles");
    check_all(ctx, "tiles");
    check(ctx, &(problem){ CLP_BF16, CLP_BF16, 49, 33, 70, false, false }, "tiles");
    check(ctx, &(problem){ CLP_I8, CLP_U8, 33, 70, 65, true, false }, "tiles");
    clp_context_free(ctx);
}

/* ---- Powers ---- */

enum { N_POWERS = 1 << 20 };

static const char POWERS[] = "kernel p(in x: f32[N] block [1024] at (i), out o: f32[2, N] block [_, 1024] at (s, i)) grid (s = 2, i = N / 1024) "
                             "{ if (s == 0) { o[:] = exp(x[:]); } else { o[:] = exp2(x[:]); } }";

/* e^x and 2^x of a stride through the bits of all f32, those of each half beside each other. */
static void take_powers(clp_context *ctx, const float *x, float *out)
{
    clp_kernel *kernel;
    cr_assert_eq(clp_kernel_from_text(ctx, POWERS, NULL, NULL, &kernel), CLP_OK, "%s", clp_last_error(ctx));
    cr_assert_eq(clp_run(kernel, (clp_array[]){ { .dtype = CLP_F32, .rank = 1, .shape = (int64_t[]){ N_POWERS }, .data = (void *)x },
                                                { .dtype = CLP_F32, .rank = 2, .shape = (int64_t[]){ 2, N_POWERS }, .data = out } }, 2, NULL),
                 CLP_OK, "%s", clp_last_error(ctx));
    clp_kernel_free(kernel);
}

/* An instruction that scales by a power of two, and two products that do: bits are equal, subnormal and infinite results too. */
Test(units, powers_are_the_same_with_and_without)
{
    static float x[N_POWERS], with[2 * N_POWERS], without[2 * N_POWERS];
    clp_context *ctx = open_device();
    if (!ctx)
        return;
    clpi_cl_device *dev = clpi_context_dev(ctx, &clpi_cl_backend);
    if (dev->limits.insns & CLPI_INSN_AVX512_SCALE) {
        for (uint32_t i = 0; i < N_POWERS; i++)
            memcpy(&x[i], &(uint32_t){ i * (UINT32_MAX / N_POWERS) }, 4);
        take_powers(ctx, x, with);
        dev->limits.insns = 0;
        take_powers(ctx, x, without);
        cr_expect_arr_eq(with, without, sizeof with);
    } else {
        fprintf(stderr, "skipped: this device reaches no instruction that scales by a power of two\n");
    }
    clp_context_free(ctx);
}
