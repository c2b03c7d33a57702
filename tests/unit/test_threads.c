/* One context and one kernel used by several threads at once: results and messages stay each thread's own.             */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/support.h"

enum { N_THREADS = 8, N_ROUNDS = 60, MAX_N = 100 };

/* Criterion's assertions belong to the thread of the test: a worker counts what is wrong and says the first. */
typedef struct worker {
    clp_context *ctx;
    clp_kernel  *kernel;
    int          id, n_wrong;
    char         first_wrong[256];
} worker;

static void wrong(worker *w, const char *format, const char *what, double a, double b)
{
    if (w->n_wrong++ == 0)
        snprintf(w->first_wrong, sizeof w->first_wrong, format, what, a, b);
}

/* y = a * x + y over arrays of a size of this thread's and round's own: asynchronously, in buffers, or plainly. The memory around
 * them stays as it was.                                                                                               */
static void run_one(worker *w, int round)
{
    int64_t n = 1 + (w->id * 13 + round * 7) % MAX_N;
    guarded x = guarded_new((size_t)n * sizeof(float)), y = guarded_new((size_t)n * sizeof(float));
    float *xs = x.data, *ys = y.data, a = (float)(w->id + 1);
    for (int i = 0; i < n; i++) {
        xs[i] = (float)(i + w->id);
        ys[i] = (float)round;
    }
    clp_array arrays[3] = { { .dtype = CLP_F32, .rank = 1, .shape = &n, .data = xs },
                            { .dtype = CLP_F32, .rank = 1, .shape = &n, .data = ys },
                            { .dtype = CLP_F32, .data = &a } };
    clp_event *event = NULL;
    bool is_whole = true;
    clp_status status = round % 3 == 0   ? clp_run(w->kernel, arrays, 3, NULL)
                        : round % 3 == 1 ? clp_run_async(w->kernel, arrays, 3, NULL, &event)
                                         : run_guarded(w->ctx, w->kernel, arrays, 3, NULL, &is_whole);
    if (!status && event)
        status = clp_event_wait(event);
    clp_event_free(event);
    if (status)
        wrong(w, "%s: status %g, round %g", clp_last_error(w->ctx), (double)status, (double)round);
    for (int i = 0; i < n; i++)
        if (ys[i] != (float)round + a * (float)(i + w->id))
            wrong(w, "%s: %g, expected %g", "element", ys[i], (float)round + a * (float)(i + w->id));
    if (!is_whole || !guarded_is_whole(&x) || !guarded_is_whole(&y))
        wrong(w, "%s (%g, %g)", "memory around an array was written", (double)n, (double)round);
    guarded_free(&x);
    guarded_free(&y);
}

/* A launch that fails with a message of this thread's own. */
static void fail_one(worker *w, int round)
{
    float x[1] = { 0 };
    int64_t n = 1, m = 1000 + w->id * 100 + round;
    char expected[64];
    clp_array arrays[3] = { { .dtype = CLP_F32, .rank = 1, .shape = &n, .data = x },
                            { .dtype = CLP_F32, .rank = 1, .shape = &m, .data = x },
                            { .dtype = CLP_F32, .data = x } };
    snprintf(expected, sizeof expected, "y: N is 1 (from x), got %d", (int)m);
    if (clp_run(w->kernel, arrays, 3, NULL) != CLP_ERR_ARG)
        wrong(w, "%s: not refused (%g, %g)", expected, 0, 0);
    if (strcmp(clp_last_error(w->ctx), expected) != 0)
        wrong(w, "message \"%s\" (%g, %g)", clp_last_error(w->ctx), (double)w->id, (double)round);
}

static void *work(void *arg)
{
    worker *w = arg;
    for (int round = 0; round < N_ROUNDS; round++) {
        run_one(w, round);
        fail_one(w, round);
    }
    return NULL;
}

/* Buffers of this thread's own, launched on again and again, in each of the ways there are: now and then the kernel still knows
 * how, and as there are more threads than it remembers, now and then it does not.                                       */
static void *run_again_and_again(void *arg)
{
    enum { LENGTH = 40 };
    worker *w = arg;
    float x[LENGTH], y[LENGTH] = { 0 }, a = (float)(w->id + 1);
    int64_t n = LENGTH;
    clp_buffer *xs = NULL, *ys = NULL;
    for (int i = 0; i < LENGTH; i++)
        x[i] = (float)i;
    clp_status status = clp_buffer_new(w->ctx, sizeof x, &xs);
    if (!status)
        status = clp_buffer_new(w->ctx, sizeof y, &ys);
    if (!status)
        status = clp_buffer_write(xs, 0, x, sizeof x);
    if (!status)
        status = clp_buffer_write(ys, 0, y, sizeof y);
    clp_array arrays[3] = { { .dtype = CLP_F32, .rank = 1, .shape = &n, .buffer = xs },
                            { .dtype = CLP_F32, .rank = 1, .shape = &n, .buffer = ys }, { .dtype = CLP_F32, .data = &a } };
    for (int round = 0; !status && round < N_ROUNDS; round++) {
        clp_event *event = NULL;
        status = round % 3 == 0 ? clp_run(w->kernel, arrays, 3, NULL)
                                : clp_run_async(w->kernel, arrays, 3, NULL, round % 3 == 1 ? &event : NULL);
        clp_event_free(event);
    }
    if (!status)
        status = clp_buffer_read(ys, 0, y, sizeof y);
    if (status)
        wrong(w, "%s: status %g (%g)", clp_last_error(w->ctx), (double)status, 0);
    for (int i = 0; i < LENGTH; i++)
        if (y[i] != (float)(N_ROUNDS * (w->id + 1) * i))
            wrong(w, "%s: %g, expected %g", "element", y[i], (double)(N_ROUNDS * (w->id + 1) * i));
    clp_buffer_free(xs);
    clp_buffer_free(ys);
    return NULL;
}

/* Launches on one buffer: they come one after another, so none loses what another has added, or reads half of it. */
enum { SHARED = 500 };
static clp_buffer *shared;

static void *add_to_one_buffer(void *arg)
{
    worker *w = arg;
    int64_t n = SHARED;
    clp_array array = { .dtype = CLP_I32, .rank = 1, .shape = &n, .buffer = shared };
    for (int round = 0; round < N_ROUNDS; round++)
        if (clp_run_async(w->kernel, &array, 1, NULL, NULL))
            wrong(w, "%s (%g, %g)", clp_last_error(w->ctx), 0, 0);
    int32_t sums[SHARED];
    if (clp_buffer_read(shared, 0, sums, sizeof sums))
        wrong(w, "%s (%g, %g)", clp_last_error(w->ctx), 0, 0);
    for (int i = 1; i < SHARED; i++)
        if (sums[i] != sums[0])
            wrong(w, "%s: %g beside %g", "half of a launch was read", sums[i], sums[0]);
    return NULL;
}

static void run_threads(clp_context *ctx, clp_kernel *kernel, void *(*work_of)(void *arg))
{
    pthread_t threads[N_THREADS];
    worker workers[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        workers[i] = (worker){ .ctx = ctx, .kernel = kernel, .id = i };
        cr_assert_eq(pthread_create(&threads[i], NULL, work_of, &workers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
        cr_expect_eq(workers[i].n_wrong, 0, "thread %d: %d wrong, the first: %s", i, workers[i].n_wrong, workers[i].first_wrong);
    }
}

static void run_on(clp_context *ctx)
{
    clp_kernel *kernel;
    OK(ctx, clp_kernel_from_text(ctx,
        "kernel axpy(in x: f32[N] block [16] at (i), inout y: f32[N] block [16] at (min(i, cdiv(N, 16) - 1)), scalar a: f32)\n"
        "grid (i = cdiv(N, 16)) { y[...] += a * x[...]; }", NULL, NULL, &kernel));
    run_threads(ctx, kernel, work);
    run_threads(ctx, kernel, run_again_and_again);
    clp_kernel_free(kernel);

    int32_t sums[SHARED] = { 0 };
    OK(ctx, clp_kernel_from_text(ctx,
        "kernel count(inout o: i32[N] block [10] at (i)) grid (i = cdiv(N, 10)) { o[...] += 1; }", NULL, NULL, &kernel));
    OK(ctx, clp_buffer_new(ctx, sizeof sums, &shared));
    OK(ctx, clp_buffer_write(shared, 0, sums, sizeof sums));
    run_threads(ctx, kernel, add_to_one_buffer);
    OK(ctx, clp_buffer_read(shared, 0, sums, sizeof sums));
    for (int i = 0; i < SHARED; i++)
        cr_assert_eq(sums[i], N_THREADS * N_ROUNDS, "o[%d]: expected %d, got %d", i, N_THREADS * N_ROUNDS, (int)sums[i]);
    clp_buffer_free(shared);
    clp_kernel_free(kernel);
    clp_context_free(ctx);
}

Test(threads, share_a_kernel_on_the_interpreter)
{
    clp_context *ctx;
    cr_assert_eq(clp_context_new(&(clp_context_opts){ .device = "interp" }, &ctx), CLP_OK, "%s", clp_last_error(NULL));
    run_on(ctx);
}

Test(threads, share_a_kernel_on_a_device)
{
    clp_context *ctx;
    if (clp_context_new(&(clp_context_opts){ .device = "cl" }, &ctx) != CLP_OK) {
        cr_assert_null(getenv("CLP_REQUIRE_CL"), "%s", clp_last_error(NULL));
        cr_skip_test("no OpenCL device: %s", clp_last_error(NULL));
    }
    run_on(ctx);
}

/* Kernels made and freed by each thread in one context. */
static void *make_kernels(void *arg)
{
    worker *w = arg;
    for (int round = 0; round < 10; round++) {
        char params[32];
        clp_kernel *kernel;
        snprintf(params, sizeof params, "b=%d", 1 + w->id);
        if (clp_kernel_from_text(w->ctx, "kernel k<b = 1>(out o: i32[b]) grid () { o[...] = b; }", "k", params, &kernel)) {
            wrong(w, "%s: %g %g", clp_last_error(w->ctx), 0, 0);
            continue;
        }
        int32_t o[N_THREADS] = { 0 };
        int64_t n = 1 + w->id;
        clp_array array = { .dtype = CLP_I32, .rank = 1, .shape = &n, .data = o };
        if (clp_run(kernel, &array, 1, NULL) || o[n - 1] != n)
            wrong(w, "%s: %g, expected %g", clp_last_error(w->ctx), o[n - 1], (double)n);
        clp_kernel_free(kernel);
    }
    return NULL;
}

Test(threads, make_kernels_in_one_context)
{
    clp_context *ctx;
    cr_assert_eq(clp_context_new(&(clp_context_opts){ .device = "interp" }, &ctx), CLP_OK, "%s", clp_last_error(NULL));
    run_threads(ctx, NULL, make_kernels);
    clp_context_free(ctx);
}
