/* Devices smaller than the one that is here: its limits are made less before kernels are built, and the kernels give what the interpreter
 * gives; where the device leaves loops too soon, they may say so instead. Blocks are larger than all of the local memory that is left, groups are odd or of one work-item, axes more than three. */
#include <stdio.h>
#include <stdlib.h>

#include "cl/cl.h"
#include "run/run.h"
#include "support/support.h"

enum { MAX_ELEMS = 8192, MAX_ARRAYS = 3, N_SCHEDULES = 2 };

static const struct { const char *name; uint64_t local_bytes, private_bytes, group_size; uint32_t vector_bytes, loop_rounds; uint64_t last_bytes; } smaller[] = {
    { "no local memory, no private arrays, one work-item", 0, 0, 1, 16, 0, 0 },
    { "4 KiB, groups of at most 3", 4 << 10, 256, 3, 16, 0, 0 },
    { "32 KiB, groups of at most 64", 32 << 10, 1 << 10, 64, 32, 0, 0 },
    { "32 KiB, loops that end too soon", 32 << 10, 1 << 10, 64, 32, 65535, 0 },
    { "32 KiB, nothing fits the caches", 32 << 10, 1 << 10, 64, 64, 0, 1 },
};
enum { N_SMALLER = sizeof smaller / sizeof *smaller };

static const struct { const char *text; int n; int rank[MAX_ARRAYS]; int64_t shape[MAX_ARRAYS][5]; } kernels[] = {
    { "kernel product(in x: i32[M, K] block [96, 64] at (i, k) pad 0, in y: i32[K, N] block [64, 80] at (k, j) pad 0,\n"
      "               out z: i32[M, N] block [96, 80] at (i, j), scratch acc: i32[96, 80])\n"
      "grid (i = cdiv(M, 96), j = cdiv(N, 80), k = cdiv(K, 64) arbitrary)\n"
      "{ if (first(k)) { acc[...] = 0; } acc[...] += dot(x[...], y[...], acc = i32); if (last(k)) { z[...] = acc[...]; } }",
      3, { 2, 2, 2 }, { { 50, 70 }, { 70, 90 }, { 50, 90 } } },
    { "kernel rows(in x: i32[R, C] block [3, 700] at (i, 0) pad 5, out s: i32[R, C] block [3, 700] at (i, 0), out t: i32[R] block [3] at (i))\n"
      "grid (i = cdiv(R, 3)) require C <= 700\n"
      "{ let v = sort(x[...], axis = 1); s[...] = cumsum(flip(v, axis = 1), axis = 1) - x[...]; t[...] = sum(v * x[...], axis = 1) + sum(v); }",
      3, { 2, 2, 1 }, { { 7, 650 }, { 7, 650 }, { 7 } } },
    { "kernel axes(in x: i32[A, B, C, D, E] block [2, 2, 1, 3, 4] at (a, b, c, d, e), out o: i32[A, B, C, D, E] block [2, 2, 1, 3, 4] at (a, b, c, d, e))\n"
      "grid (a = cdiv(A, 2), b = cdiv(B, 2), c = C, d = cdiv(D, 3), e = cdiv(E, 4)) { o[...] = x[...] * 3 + program_id(b) - program_id(e); }",
      2, { 5, 5 }, { { 3, 4, 2, 5, 6 }, { 3, 4, 2, 5, 6 } } },
    { "kernel turned(in x: i32[M, N] block [11, 19] at (i, j), out t: i32[N, M] block [19, 11] at (j, i), out s: i32[M, N] block [11, 19] at (i, j))\n"
      "grid (i = cdiv(M, 11), j = cdiv(N, 19)) { t[...] = transpose(x[...]); s[...] = cummax(x[...], axis = 1); }",
      3, { 2, 2, 2 }, { { 20, 40 }, { 40, 20 }, { 20, 40 } } },
    { "kernel lines(in x: i32[M, N] block [32, 48] at (i, j), out t: i32[N, M] block [48, 32] at (j, i), out s: i32[M, N] block [32, 48] at (i, j))\n"
      "grid (i = cdiv(M, 32), j = cdiv(N, 48)) { t[...] = transpose(x[...]); s[...] = cumsum(x[...], axis = 1) + x[...]; }",
      3, { 2, 2, 2 }, { { 64, 96 }, { 96, 64 }, { 64, 96 } } },
};
enum { N_KERNELS = sizeof kernels / sizeof *kernels };

static int64_t count(int k, int a)
{
    int64_t n = 1;
    for (int d = 0; d < kernels[k].rank[a]; d++)
        n *= kernels[k].shape[a][d];
    return n;
}

/* Runs kernel k from the same numbers every time; the last two arrays may be outputs. false: the device cannot, and says why. */
static bool run_on(clp_context *ctx, int k, guarded *memory, const char *what)
{
    clp_kernel *kernel;
    clp_array arrays[MAX_ARRAYS];
    uint64_t state = 5;
    for (int a = 0; a < kernels[k].n; a++) {
        const int64_t n = count(k, a);
        cr_assert_leq(n, MAX_ELEMS);
        memory[a] = guarded_new((size_t)n * sizeof(int32_t));
        for (int64_t i = 0; i < n; i++)
            ((int32_t *)memory[a].data)[i] = (int32_t)(random_next(&state) % 2001) - 1000;
        arrays[a] = (clp_array){ .dtype = CLP_I32, .rank = kernels[k].rank[a], .shape = kernels[k].shape[a], .data = memory[a].data };
    }
    OK(ctx, clp_kernel_from_text(ctx, kernels[k].text, NULL, NULL, &kernel));
    clp_status status = clp_run(kernel, arrays, kernels[k].n, NULL);
    const bool is_cut = status == CLP_ERR_UNSUPPORTED && ctx->limits.loop_rounds && strstr(clp_last_error(ctx), "this device leaves all loops");
    cr_expect(!status || is_cut, "%s: kernel %d: %s", what, k, clp_last_error(ctx));
    for (int a = 0; a < kernels[k].n; a++)
        cr_expect(guarded_is_whole(&memory[a]), "%s: kernel %d: memory around array %d was written", what, k, a);
    clp_kernel_free(kernel);
    return !is_cut;
}

static void compare_with_interpreter(clp_context *ctx, clp_context *interp, const char *what)
{
    for (int k = 0; k < N_KERNELS; k++) {
        guarded got[MAX_ARRAYS], want[MAX_ARRAYS];
        const bool has_run = run_on(interp, k, want, "interp") && run_on(ctx, k, got, what);
        for (int a = 0; a < kernels[k].n; a++) {
            cr_expect(!has_run || memcmp(got[a].data, want[a].data, want[a].n_bytes) == 0, "%s: kernel %d: array %d differs", what, k, a);
            guarded_free(&got[a]);
            guarded_free(&want[a]);
        }
    }
}

Test(small, kernels_run_on_smaller_devices)
{
    clp_context *interp;
    OK(NULL, clp_context_new(&(clp_context_opts){ .device = "interp" }, &interp));
    for (int i = 0; i < N_SMALLER * N_SCHEDULES; i++) {
        clp_context *ctx;
        char what[128];
        const int l = i / N_SCHEDULES;
        const clp_schedule schedule = i % N_SCHEDULES ? CLP_SCHEDULE_SIMT : CLP_SCHEDULE_VECTOR;
        if (clp_context_new(&(clp_context_opts){ .device = "cl", .schedule = schedule }, &ctx) != CLP_OK) {
            cr_assert(!getenv("CLP_REQUIRE_CL"), "%s", clp_last_error(NULL));
            fprintf(stderr, "skipped: %s\n", clp_last_error(NULL));
            break;
        }
        clpi_limits *limits = &((clpi_cl_device *)ctx->dev)->limits;
        limits->local_bytes = smaller[l].local_bytes;
        limits->private_bytes = smaller[l].private_bytes;
        limits->group_size = smaller[l].group_size;
        limits->vector_bytes = smaller[l].vector_bytes;
        limits->last_bytes = smaller[l].last_bytes;
        if (smaller[l].loop_rounds)
            limits->loop_rounds = smaller[l].loop_rounds;
        snprintf(what, sizeof what, "%s, %s", smaller[l].name, schedule == CLP_SCHEDULE_SIMT ? "simt" : "vector");
        compare_with_interpreter(ctx, interp, what);
        clp_context_free(ctx);
    }
    clp_context_free(interp);
}
