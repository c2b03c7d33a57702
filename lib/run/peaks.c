/* peaks: what a device can do at best.
 * In: a context, and what is asked for. Out: a rate, or a time.
 * Decides how it is measured: by small kernels of the usual kind, on data that stay where they are needed, in runs of about
 * a millisecond of which the best counts. Each peak is kept by itself, so only those that somebody asks for are measured.
 *
 *     arithmetic   eight chains of fma on a block, no waiting for the one before, next to no memory
 *     dot          programs that multiply the same blocks again and again, in two sizes; for f32 and f64, no less than fma
 *     bytes        a copy of so much data in all, each unit its part, again and again: of 16 KiB blocks that is a cache, of
 *                  256 MiB it is memory
 *     launch       a program that stores one number, run and waited for                                                    */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/store.h"
#include "base/str.h"
#include "run/run.h"

#define CHAIN_DECLARE "let v = x[...]; var a = v; var b = a + v; var c = b + v; var d = c + v; var e = d + v; var f = e + v; var g = f + v; var h = g + v;"
#define CHAIN(step) "static for (s in 0 .. 16) { a = " step(a) "; b = " step(b) "; c = " step(c) "; d = " step(d) "; e = " step(e) "; f = " step(f) "; g = " step(g) "; h = " step(h) "; }"
#define FMA_STEP(v) "fma(" #v ", v, v)"
#define MUL_XOR_STEP(v) "(" #v " * v) ^ v"      /* which no compiler makes a product of fewer steps of */
#define CHAIN_KERNEL(step)                                                                                             \
    "kernel peak<T = f32, n = 1024>(in x: T[P, n] block [_, n] at (i, 0), out o: T[P, n] block [_, n] at (i, 0),\n"       \
    "    scalar rounds: i32)\n"                                                                                         \
    "grid (i = P, r = rounds arbitrary) { " CHAIN_DECLARE "\n" CHAIN(step) "\n"                                          \
    "    o[...] = ((a + b) + (c + d)) + ((e + f) + (g + h)); }"
enum { CHAINS = 8, CHAIN_STEPS = 16, CHAIN_BLOCK = 1024, COPY_BLOCK = 4096 };

static const char fma_text[] = CHAIN_KERNEL(FMA_STEP);
static const char mul_xor_text[] = CHAIN_KERNEL(MUL_XOR_STEP);

static const char dot_text[] =
    "kernel peak<T = f32, A = f32, bm = 128, bn = 128, bk = 128>(in x: T[bm, 2 * bk] block [bm, bk] at (0, r % 2),\n"
    "    in y: T[2 * bk, bn] block [bk, bn] at (r % 2, 0), out z: A[P, bm, bn] block [_, bm, bn] at (i, 0, 0), scalar rounds: i32,\n"
    "    scratch acc: A[bm, bn])\n"
    "grid (i = P, r = rounds arbitrary)\n"
    "{ if (first(r)) { acc[...] = 0; }\n"
    "  acc[...] += dot(x[...], y[...], acc = A);\n"
    "  if (last(r)) { z[...] = acc[...]; } }";

static const char copy_text[] =
    "kernel peak<n = 4096>(in x: f32[P, W] block [_, n] at (i, c), out o: f32[P, W] block [_, n] at (i, c), scalar rounds: i32)\n"
    "grid (i = P, r = rounds arbitrary, c = cdiv(W, n) arbitrary) { o[...] = x[...]; }";

static const char launch_text[] =
    "kernel peak(in x: f32[1], out o: f32[1], scalar rounds: i32) grid (r = rounds arbitrary) { o[0] = x[0]; }";

/* ---- One kernel, timed ---- */

enum { MAX_ARRAYS = 3 };

typedef struct trial {
    clp_context *ctx;
    const char  *text;
    char         params[96];
    struct { clp_dtype dtype; int rank; int64_t shape[3]; } arrays[MAX_ARRAYS];
    int          n;                  /* arrays; the scalar `rounds` comes behind them */
    double       work;               /* of one round */
    bool         is_once;            /* no more than one round, however short */
    bool         is_apart;           /* each unit works in a cache of its own */
    clp_kernel  *kernel;
    clp_buffer  *buffers[MAX_ARRAYS];
} trial;

/* Seconds that all threads of the process have computed. */
static double computed_s(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) ? 0 : (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One half, or one, in every element: chains of fma stay where they are, and nothing is subnormal. */
static clp_status fill(clp_buffer *buffer, clp_dtype dtype)
{
    clpi_env *env = &buffer->ctx->env;
    const size_t n = buffer->n_bytes, width = (size_t)clp_dtype_bits(dtype) / 8;
    const uint64_t bits = clpi_elem_to_bits(dtype, clpi_elem_cast(dtype, CLP_F64, (clpi_elem){ .d = clpi_is_float(dtype) ? 0.5 : 1 }));
    const uint16_t probe = 1;
    const bool is_little = *(const unsigned char *)&probe == 1;
    unsigned char *memory = clpi_alloc(env, n, 1);
    if (!memory)
        return CLP_ERR_OOM;
    for (size_t i = 0; i < n; i++)
        memory[i] = (unsigned char)(bits >> 8 * (is_little ? i % width : width - 1 - i % width));
    clp_status status = clp_buffer_write(buffer, 0, memory, n);
    clpi_free(env, memory, n, 1);
    return status;
}

static clp_status trial_start(trial *t)
{
    CLP_TRY(clp_kernel_from_text(t->ctx, t->text, "peak", t->params, &t->kernel));
    for (int i = 0; i < t->n; i++) {
        size_t n_bytes = (size_t)clp_dtype_bits(t->arrays[i].dtype) / 8;
        for (int d = 0; d < t->arrays[i].rank; d++)
            n_bytes *= (size_t)t->arrays[i].shape[d];
        CLP_TRY(clp_buffer_new(t->ctx, n_bytes, &t->buffers[i]));
        CLP_TRY(fill(t->buffers[i], t->arrays[i].dtype));
    }
    return CLP_OK;
}

static void trial_end(trial *t)
{
    for (int i = 0; i < t->n; i++)
        clp_buffer_free(t->buffers[i]);
    clp_kernel_free(t->kernel);
}

/* Of one run, or the best of many: seconds that passed, and that all threads of the process have computed. */
typedef struct timed { double passed, computed; } timed;

static clp_status time_rounds(const trial *t, int32_t rounds, timed *out)
{
    clp_array arrays[MAX_ARRAYS + 1];
    for (int i = 0; i < t->n; i++)
        arrays[i] = (clp_array){ .dtype = t->arrays[i].dtype, .rank = t->arrays[i].rank, .shape = t->arrays[i].shape, .buffer = t->buffers[i] };
    arrays[t->n] = (clp_array){ .dtype = CLP_I32, .data = &rounds };
    const timed start = { clpi_now(), computed_s() };
    CLP_TRY(clp_run(t->kernel, arrays, t->n + 1, NULL));
    *out = (timed){ clpi_now() - start.passed, computed_s() - start.computed };
    return CLP_OK;
}

/* What a run took, less what it waited for others on a CPU. */
static double busy_s(const trial *t, const timed *s)
{
    const uint32_t units = t->ctx->limits.compute_units;
    return t->ctx->limits.is_cpu && units > 0 ? fmin(s->passed, s->computed / units) : s->passed;
}

/* As many rounds as take about a millisecond. */
static clp_status find_rounds(const trial *t, int32_t *out_rounds)
{
    enum { MAX_ROUNDS = 1 << 22 };
    const double run_s = 1e-3;
    timed s;
    *out_rounds = 1;
    CLP_TRY(time_rounds(t, 1, &s));
    CLP_TRY(time_rounds(t, 1, &s));      /* the first one warms up */
    while (!t->is_once && busy_s(t, &s) < run_s && *out_rounds < MAX_ROUNDS) {
        const double more = 1.2 * run_s / fmax(busy_s(t, &s), 1e-9);
        *out_rounds = (int32_t)(*out_rounds * (more < 2 ? 2 : more > 16 ? 16 : more));
        CLP_TRY(time_rounds(t, *out_rounds, &s));
    }
    return CLP_OK;
}

/* The shortest of many runs; out_s: of one round. Where others use the machine too, its cores seldom have time for this process
 * at the same moment. So where the units of a CPU have nothing to share, what counts is what its threads have computed,
 * divided among the units: in all runs together, since what a thread that still runs has computed is known some
 * milliseconds late.                                                                                                    */
static clp_status time_best(const trial *t, double *out_s)
{
    enum { LEAST_RUNS = 8 };
    const double budget_s = 0.25;
    timed s, best = { INFINITY, 0 };
    double spent = 0;
    int32_t rounds;
    int n = 0;
    CLP_TRY(find_rounds(t, &rounds));
    const double start = computed_s();
    for (; spent < budget_s || n < LEAST_RUNS; n++) {
        CLP_TRY(time_rounds(t, rounds, &s));
        best.passed = fmin(best.passed, s.passed);
        spent += s.passed + 1e-6;
    }
    best.computed = (computed_s() - start) / n;
    *out_s = (t->is_apart ? busy_s(t, &best) : best.passed) / rounds;
    return CLP_OK;
}

static clp_status measure(trial *t, double *out_s)
{
    clp_status status = trial_start(t);
    if (!status)
        status = time_best(t, out_s);
    trial_end(t);
    return status;
}

/* ---- What is measured ---- */

/* Programs that keep all units busy: one each on a CPU, on others enough to hide waiting. */
static int64_t programs_for(const clp_context *ctx)
{
    const int64_t units = ctx->limits.compute_units ? ctx->limits.compute_units : 1;
    return ctx->limits.is_cpu ? units : 16 * units;
}

static clp_status ops_peak(clp_context *ctx, clp_dtype dtype, double *out)
{
    const int64_t n = programs_for(ctx);
    trial t = { .ctx = ctx, .text = clpi_is_float(dtype) ? fma_text : mul_xor_text, .n = 2,
                .arrays = { { dtype, 2, { n, CHAIN_BLOCK } }, { dtype, 2, { n, CHAIN_BLOCK } } },
                .is_apart = true, .work = (double)n * CHAIN_BLOCK * CHAINS * CHAIN_STEPS * 2 };
    double s;
    snprintf(t.params, sizeof t.params, "T=%s", clp_dtype_name(dtype));
    CLP_TRY(measure(&t, &s));
    *out = t.work / s;
    return CLP_OK;
}

static clp_dtype acc_of(clp_dtype dtype)
{
    if (clpi_is_float(dtype))
        return dtype == CLP_F64 ? CLP_F64 : CLP_F32;
    return clp_dtype_bits(dtype) > 32 ? CLP_I64 : CLP_I32;
}

static clp_status dot_peak(clp_context *ctx, clp_dtype dtype, double *out)
{
    static const int sizes[2][2][3] = { { { 128, 128, 32 }, { 64, 64, 32 } }, { { 128, 128, 128 }, { 256, 256, 256 } } };
    const int64_t n = programs_for(ctx);
    const clp_dtype acc = acc_of(dtype);
    clp_status status = CLP_OK;
    *out = 0;
    for (int i = 0; i < 2; i++) {
        const int *b = sizes[ctx->limits.is_cpu][i];
        trial t = { .ctx = ctx, .text = dot_text, .n = 3,
                    .arrays = { { dtype, 2, { b[0], 2 * b[2] } }, { dtype, 2, { 2 * b[2], b[1] } }, { acc, 3, { n, b[0], b[1] } } },
                    .is_apart = true, .work = 2.0 * (double)n * b[0] * b[1] * b[2] };
        double s;
        snprintf(t.params, sizeof t.params, "T=%s,A=%s,bm=%d,bn=%d,bk=%d", clp_dtype_name(dtype), clp_dtype_name(acc), b[0], b[1], b[2]);
        status = measure(&t, &s);
        if (status == CLP_ERR_OOM)
            return status;
        if (!status && t.work / s > *out)
            *out = t.work / s;
    }
    if (*out == 0)
        return status;
    double fma_rate = 0;
    if (dtype == acc)
        CLP_TRY(ops_peak(ctx, dtype, &fma_rate));
    *out = fma_rate > *out ? fma_rate : *out;
    return CLP_OK;
}

static clp_status bytes_peak(clp_context *ctx, double n_bytes, double *out)
{
    int64_t n = programs_for(ctx);
    int64_t columns = (int64_t)(n_bytes / 8 / (double)n / COPY_BLOCK);
    columns = (columns > 1 ? columns : 1) * COPY_BLOCK;
    trial t = { .ctx = ctx, .text = copy_text, .n = 2,
                .arrays = { { CLP_F32, 2, { n, columns } }, { CLP_F32, 2, { n, columns } } },
                .is_apart = 8 * (uint64_t)columns <= ctx->limits.l2_bytes, .work = 8.0 * (double)n * (double)columns };
    double s;
    CLP_TRY(measure(&t, &s));
    *out = t.work / s;
    return CLP_OK;
}

static clp_status launch_time(clp_context *ctx, double *out)
{
    trial t = { .ctx = ctx, .text = launch_text, .n = 2,
                .arrays = { { CLP_F32, 1, { 1 } }, { CLP_F32, 1, { 1 } } }, .is_once = true };
    return measure(&t, out);
}

/* ---- Kept ---- */

static clp_status measure_kind(clp_context *plain, clpi_peak_kind kind, clp_dtype dtype, double n_bytes, double *out)
{
    switch (kind) {
    case CLPI_PEAK_OPS: return ops_peak(plain, dtype, out);
    case CLPI_PEAK_DOT: return dot_peak(plain, dtype, out);
    case CLPI_PEAK_BYTES: return bytes_peak(plain, n_bytes, out);
    case CLPI_PEAK_LAUNCH: return launch_time(plain, out);
    }
    return CLP_ERR_INTERNAL;
}

static clp_status measure_now(clp_context *ctx, clpi_peak_kind kind, clp_dtype dtype, double n_bytes, double *out)
{
    clp_context plain;
    clpi_context_plain(ctx, &plain);
    clp_status status = measure_kind(&plain, kind, dtype, n_bytes, out);
    if (status && *clpi_error_text(&plain.env))
        clpi_fail(&ctx->env, status, "measuring the device: %s", clpi_error_text(&plain.env));
    clpi_context_plain_done(&plain);
    return status;
}

/* What a peak depends on beside the device: how many units this process may use, and options for the compiler. */
static void put_key(clp_context *ctx, const char *name, clpi_str *key)
{
    const char *options = getenv("CLPALLAS_BUILD_OPTIONS");
    ctx->backend->identify(ctx->dev, key);
    clpi_str_add(key, "|peak|%u|%s|%s", (unsigned)ctx->limits.compute_units, options ? options : "", name);
}

static bool is_plausible(double value)
{
    return isfinite(value) && value > 0;
}

/* A peak is kept by its bits, in hexadecimal digits: it comes back as it was, in any locale. */
enum { N_DIGITS = 16 };

static bool from_store(const clpi_store *store, const clpi_str *key, clpi_env *env, double *out)
{
    clpi_arena arena;
    void *text;
    size_t n;
    char digits[N_DIGITS + 1] = "";
    clpi_arena_init(&arena, env);
    bool is_whole = clpi_store_get(store, key->text, key->n, &arena, &text, &n) && n == N_DIGITS;
    if (is_whole) {
        memcpy(digits, text, n);
        is_whole = strspn(digits, "0123456789abcdef") == N_DIGITS;
    }
    clpi_arena_done(&arena);
    *out = clpi_elem_from_bits(CLP_F64, strtoull(digits, NULL, 16)).d;
    return is_whole && is_plausible(*out);
}

static clp_status keep_or_measure(clp_context *ctx, const char *name, clpi_peak_kind kind, clp_dtype dtype, double n_bytes, bool again,
                                  double *out)
{
    clpi_store store;
    clpi_str key;
    char digits[N_DIGITS + 1];
    clpi_store_open(&store);
    clpi_str_init(&key, &ctx->env);
    put_key(ctx, name, &key);
    clp_status status = key.failed ? CLP_ERR_OOM : CLP_OK;
    if (!status && (again || !from_store(&store, &key, &ctx->env, out))) {
        status = measure_now(ctx, kind, dtype, n_bytes, out);
        if (!status) {
            snprintf(digits, sizeof digits, "%016" PRIx64, clpi_elem_to_bits(CLP_F64, (clpi_elem){ .d = *out }));
            clpi_store_put(&store, key.text, key.n, digits, N_DIGITS);
        }
    }
    clpi_str_done(&key);
    return status;
}

/* What has no instructions of its own goes with what it is computed as; sizes go up to a power of two. */
static void settle(clpi_peak_kind kind, clp_dtype *dtype, double *n_bytes, char *name, size_t n_name)
{
    const bool is_int = !clpi_is_float(*dtype), is_small = is_int && clp_dtype_bits(*dtype) <= 8 && *dtype != CLP_BOOL;
    const bool has_unit = *dtype == CLP_F16 || *dtype == CLP_BF16 || *dtype == CLP_F64;
    double size = 65536;
    while (size < *n_bytes && size < 268435456)
        size *= 2;
    *n_bytes = size;
    if (kind == CLPI_PEAK_DOT)
        *dtype = is_small ? CLP_I8 : is_int ? (clp_dtype_bits(*dtype) > 32 ? CLP_I64 : CLP_I32) : has_unit ? *dtype : CLP_F32;
    else
        *dtype = is_int ? (clp_dtype_bits(*dtype) > 32 ? CLP_I64 : CLP_I32) : *dtype == CLP_F64 ? CLP_F64 : CLP_F32;
    switch (kind) {
    case CLPI_PEAK_OPS: snprintf(name, n_name, "%s", clp_dtype_name(*dtype)); break;
    case CLPI_PEAK_DOT: snprintf(name, n_name, "dot %s", clp_dtype_name(*dtype)); break;
    case CLPI_PEAK_BYTES: snprintf(name, n_name, "copy %.0f", size); break;
    case CLPI_PEAK_LAUNCH: snprintf(name, n_name, "launch"); break;
    }
}

clp_status clpi_peak(clp_context *ctx, clpi_peak_kind kind, clp_dtype dtype, double n_bytes, bool again, double *out_value)
{
    clpi_peaks *p = &ctx->peaks;
    char name[sizeof p->known[0].name];
    int i = 0;
    settle(kind, &dtype, &n_bytes, name, sizeof name);
    *out_value = 0;
    pthread_mutex_lock(&p->lock);
    while (i < p->n && strcmp(p->known[i].name, name) != 0)
        i++;
    clp_status status = CLP_OK;
    if (i < p->n && !again)
        *out_value = p->known[i].value;
    else
        status = keep_or_measure(ctx, name, kind, dtype, n_bytes, again, out_value);
    if (!status && i < CLPI_MAX_PEAKS) {
        memcpy(p->known[i].name, name, sizeof name);
        p->known[i].value = *out_value;
        p->n = i < p->n ? p->n : i + 1;
    }
    pthread_mutex_unlock(&p->lock);
    return status;
}
