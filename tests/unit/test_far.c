/* Arrays past 2 GiB, on the interpreter and the OpenCL device: sparse maps of memory, of which a few pages are touched. Offsets of
 * 31 bits end at 2 GiB, those of 32 at 4: one array lies past each. A device with memory of its own would have to be sent all
 * of it: for those the text of the kernel is the test (tests/golden/cl-far-*.plk).                                            */
#define _DEFAULT_SOURCE 1 /* MAP_ANONYMOUS, MAP_NORESERVE */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "run/run.h"
#include "support/support.h"

enum { WIDTH = 7864320, N_SETTINGS = 3, WALL = 4096 };

static const struct { const char *device; clp_schedule schedule; } settings[N_SETTINGS] = {
    { "interp", CLP_SCHEDULE_AUTO }, { "cl", CLP_SCHEDULE_VECTOR }, { "cl", CLP_SCHEDULE_SIMT },
};

/* NULL: there is no device that shares the host's memory, which is said. */
static clp_context *context_of(int setting)
{
    clp_context *ctx = NULL;
    const char *which = setting > 0 ? getenv("CLPALLAS_TEST_CL") : NULL;
    char device[32];
    snprintf(device, sizeof device, "%s%s%s", settings[setting].device, which ? ":" : "", which ? which : "");
    if (clp_context_new(&(clp_context_opts){ .device = device, .schedule = settings[setting].schedule }, &ctx) != CLP_OK) {
        cr_assert(!getenv("CLP_REQUIRE_CL"), "%s", clp_last_error(NULL));
        fprintf(stderr, "skipped: %s\n", clp_last_error(NULL));
        return NULL;
    }
    if (ctx->limits.shares_host_memory)
        return ctx;
    fprintf(stderr, "skipped: %s has memory of its own\n", clp_context_device(ctx));
    clp_context_free(ctx);
    return NULL;
}

/* Zeros between two walls of known bytes; NULL: there are not as many addresses, which is said. */
static int8_t *reserve(size_t n_bytes)
{
    int8_t *p = mmap(NULL, n_bytes + 2 * WALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        fprintf(stderr, "skipped: no addresses for %zu bytes\n", n_bytes);
        return NULL;
    }
    memset(p, 0x5c, WALL);
    memset(p + WALL + n_bytes, 0x5c, WALL);
    return p + WALL;
}

/* Its walls must stand. */
static void give_back(clp_context *ctx, int8_t *data, size_t n_bytes)
{
    for (int i = 0; i < WALL; i++)
        cr_assert(data[i - WALL] == 0x5c && data[(int64_t)n_bytes + i] == 0x5c, "%s: memory around the array was written",
                  clp_context_device(ctx));
    munmap(data - WALL, n_bytes + 2 * WALL);
}

/* Runs it. false: the device has no buffers of this size, which its message says. */
static bool run(clp_context *ctx, const char *text, const clp_array *arrays, int n)
{
    clp_kernel *k;
    OK(ctx, clp_kernel_from_text(ctx, text, NULL, NULL, &k));
    clp_status status = clp_run(k, arrays, n, NULL);
    if (status == CLP_ERR_OOM && strstr(clp_last_error(ctx), "more than the device can have"))
        fprintf(stderr, "skipped: %s\n", clp_last_error(ctx));
    else
        cr_assert_eq(status, CLP_OK, "%s", clp_last_error(ctx));
    clp_kernel_free(k);
    return status == CLP_OK;
}

/* The blocks that a table names, the last row and the one before among them. */
static void check_blocks(clp_context *ctx, int8_t *x, int64_t rows)
{
    int64_t n = 3;
    int32_t table[3] = { (int32_t)rows - 1, 0, (int32_t)rows - 2 };
    for (int i = 0; i < 3; i++)
        x[(int64_t)table[i] * WIDTH + WIDTH - 2] = (int8_t)(40 + i);
    const clp_array arrays[] = {
        { .dtype = CLP_I32, .rank = 1, .shape = &n, .data = table },
        { .dtype = CLP_I8, .rank = 2, .shape = (int64_t[]){ rows, WIDTH }, .data = x },
    };
    if (!run(ctx, "kernel k<w = 7864320>(prefetch t: i32[G], inout x: i8[R, N] block [1, w] at (t[i], 0)) grid (i = G)\n"
                  "{ x[0, w - 1] = x[0, w - 2] + 2; }", arrays, 2))
        return;
    for (int i = 0; i < 3; i++)
        cr_expect_eq(x[(int64_t)table[i] * WIDTH + WIDTH - 1], 42 + i, "%s: row %d: got %d", clp_context_device(ctx), table[i],
                     x[(int64_t)table[i] * WIDTH + WIDTH - 1]);
}

/* The array as a whole: rows and columns known when it runs, gathered, scattered, sliced, added to atomically. */
static void check_whole(clp_context *ctx, int8_t *x, int64_t rows)
{
    int64_t n = 2, width = WIDTH / 4;
    int32_t *y = (int32_t *)(void *)x, table[2] = { (int32_t)rows - 1, (int32_t)rows / 2 }, c = (int32_t)width - 16;
    const clp_array arrays[] = {
        { .dtype = CLP_I32, .rank = 1, .shape = &n, .data = table },
        { .dtype = CLP_I32, .rank = 0, .data = &c },
        { .dtype = CLP_I32, .rank = 2, .shape = (int64_t[]){ rows, width }, .data = y },
    };
    for (int i = 0; i < 2; i++)
        for (int l = 0; l < 16; l++)
            y[table[i] * width + c + l] = 100 * i + l;
    if (!run(ctx, "kernel k(in t: i32[G], scalar c: i32, inout y: i32[R, N]) grid (i = G)\n"
                  "{\n"
                  "    y[t[i], ds(c, 16)] = 2 * y[t[i], ds(c, 16)];\n"
                  "    let row = t[ds(i, 1)];\n"
                  "    y[row, c + 1] = y[row, c + 1] + 1000;\n"
                  "    atomic_add(y[t[i], c + iota([2], axis = 0)], 5000);\n"
                  "}", arrays, 3))
        return;
    for (int i = 0; i < 2; i++)
        for (int l = 0; l < 16; l++) {
            int32_t want = 2 * (100 * i + l) + (l == 1 ? 1000 : 0) + (l < 2 ? 5000 : 0), got = y[table[i] * width + c + l];
            cr_expect_eq(got, want, "%s: y[%d, %d]: expected %d, got %d", clp_context_device(ctx), table[i], c + l, want, got);
        }
}

static void check_rows(int64_t rows)
{
    for (int s = 0; s < N_SETTINGS; s++) {
        clp_context *ctx = context_of(s);
        size_t n_bytes = (size_t)rows * WIDTH;
        int8_t *x = ctx ? reserve(n_bytes) : NULL;
        if (x) {
            check_blocks(ctx, x, rows);
            check_whole(ctx, x, rows);
            give_back(ctx, x, n_bytes);
        }
        clp_context_free(ctx);
    }
}

Test(far, arrays_past_two_gigabytes)
{
    check_rows(320);
}

Test(far, arrays_past_four_gigabytes)
{
    check_rows(640);
}

/* The longest dimension there is. A sum of 32 bits that wraps at the low end comes out among its last elements. */
Test(far, slices_that_leave_at_the_low_end_do_not_come_back_at_the_high_one)
{
    int64_t n = INT32_MAX, n_out = 4;
    for (int s = 1; s < N_SETTINGS; s++) {
        clp_context *ctx = context_of(s);
        int8_t *x = ctx ? reserve((size_t)n) : NULL, o[8] = { 0 };
        int32_t starts[2] = { INT32_MIN, 2 };
        if (x) {
            memset(x + n - 16, 9, 16);
            x[2] = 7;
            const clp_array arrays[] = {
                { .dtype = CLP_I8, .rank = 1, .shape = &n, .data = x },
                { .dtype = CLP_I32, .rank = 0, .data = &starts[0] },
                { .dtype = CLP_I32, .rank = 0, .data = &starts[1] },
                { .dtype = CLP_I8, .rank = 1, .shape = &n_out, .data = o },
                { .dtype = CLP_I8, .rank = 1, .shape = &n_out, .data = o + 4 },
            };
            if (run(ctx, "kernel k(in x: i8[N] pad 5, scalar a: i32, scalar b: i32, out o: i8[4], out p: i8[4]) grid ()\n"
                         "{ o[...] = x[ds(a, 4, -3)]; p[...] = x[ds(b, 4, -3)]; }", arrays, 5))
                for (int i = 0; i < 8; i++)
                    cr_expect_eq(o[i], i == 4 ? 7 : 5, "%s: element %d: got %d", clp_context_device(ctx), i, o[i]);
            give_back(ctx, x, (size_t)n);
        }
        clp_context_free(ctx);
    }
}
