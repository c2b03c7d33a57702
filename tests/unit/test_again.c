/* Launches like earlier ones: they are started as those were, and whatever differs is seen. On the interpreter, and on an OpenCL device
 * where there is one.                                                                                                      */
#include <stdio.h>

#include "on_cl.h"
#include "run/run.h"

enum { MOST = 64 };

/* o = a * x + o */
static const char text[] =
    "kernel axpy(in x: f32[N] block [8] at (i), inout o: f32[N] block [8] at (i), scalar a: f32) grid (i = cdiv(N, 8)) { o[...] += a * x[...]; }";

typedef struct bench {
    failing_alloc alloc;
    clp_context *ctx;
    clp_kernel *kernel;
    clp_buffer *x, *o;
    int64_t n, stride;          /* of both arrays */
    float a;
    clp_array args[3];
} bench;

static void fill(bench *b, clp_buffer *buffer, float first, float step)
{
    float values[MOST];
    for (int i = 0; i < MOST; i++)
        values[i] = first + step * (float)i;
    OK(b->ctx, clp_buffer_write(buffer, 0, values, sizeof values));
}

/* x is 0, 1, 2, ...; o is 100. on_cl: false when there is no such device, which is said. */
static bool bench_new(bench *b, bool on_cl)
{
    *b = (bench){ .alloc = { .budget = SIZE_MAX }, .n = 16, .stride = 1, .a = 1 };
    const clp_context_opts opts = { .device = "interp", .alloc = failing_alloc_fn, .alloc_user = &b->alloc };
    if (on_cl)
        b->ctx = context_with(opts);
    else
        OK(NULL, clp_context_new(&opts, &b->ctx));
    if (!b->ctx)
        return false;
    OK(b->ctx, clp_kernel_from_text(b->ctx, text, NULL, NULL, &b->kernel));
    OK(b->ctx, clp_buffer_new(b->ctx, MOST * sizeof(float), &b->x));
    OK(b->ctx, clp_buffer_new(b->ctx, MOST * sizeof(float), &b->o));
    fill(b, b->x, 0, 1);
    fill(b, b->o, 100, 0);
    b->args[0] = (clp_array){ .dtype = CLP_F32, .rank = 1, .shape = &b->n, .strides = &b->stride, .buffer = b->x };
    b->args[1] = (clp_array){ .dtype = CLP_F32, .rank = 1, .shape = &b->n, .strides = &b->stride, .buffer = b->o };
    b->args[2] = (clp_array){ .dtype = CLP_F32, .data = &b->a };
    return true;
}

static void bench_free(bench *b)
{
    clp_buffer_free(b->x);
    clp_buffer_free(b->o);
    clp_kernel_free(b->kernel);
    clp_context_free(b->ctx);
    cr_expect_eq(b->alloc.n_live, 0u);
}

/* Runs, and expects of o[at] that it is 100 + more before anything else has changed it, and of the others that they stay. */
static void expect_run(bench *b, const char *what, int at, float more)
{
    float o[MOST];
    fill(b, b->o, 100, 0);
    OK(b->ctx, clp_run_async(b->kernel, b->args, 3, NULL, NULL));
    OK(b->ctx, clp_buffer_read(b->o, 0, o, sizeof o));
    cr_expect_eq(o[at], 100 + more, "%s: o[%d]: expected %g, got %g", what, at, 100 + more, o[at]);
    const int64_t past = b->args[1].offset + b->n * b->stride;
    for (int64_t i = past; i < MOST; i++)
        cr_assert_eq(o[i], 100, "%s: o[%d] is outside and was changed", what, (int)i);
}

static void see_what_differs(bench *b)
{
    for (int round = 0; round < 2; round++) {      /* of the second, all is known */
        expect_run(b, "as it is", 15, 15);
        b->a = 2;
        expect_run(b, "another scalar", 15, 30);
        b->a = 1;
        b->n = 13;
        expect_run(b, "another shape", 12, 12);
        b->n = 16;
        b->stride = 2;
        expect_run(b, "another stride", 30, 30);
        b->stride = 1;
        b->args[0].offset = 7;
        expect_run(b, "another offset", 15, 22);
        b->args[0].offset = 0;
        b->args[0].strides = NULL;
        expect_run(b, "no strides", 15, 15);
        b->args[0].strides = &b->stride;
    }
    const int64_t first = 1, one = 1;
    fill(b, b->o, 100, 0);
    OK(b->ctx, clp_run(b->kernel, b->args, 3, &(clp_run_opts){ .grid_start = &first, .grid_count = &one }));
    float o[16];
    OK(b->ctx, clp_buffer_read(b->o, 0, o, sizeof o));
    cr_expect(o[7] == 100 && o[8] == 108, "a box of the grid");
}

static void refuse_what_does_not_fit(bench *b)
{
    expect_run(b, "as it is", 15, 15);
    b->args[0].dtype = CLP_I32;
    FAILS(b->ctx, CLP_ERR_ARG, "x: expected dtype f32, got i32", clp_run(b->kernel, b->args, 3, NULL));
    b->args[0].dtype = CLP_F32;
    b->args[0].rank = 0;
    FAILS(b->ctx, CLP_ERR_ARG, "x: expected rank 1, got rank 0", clp_run(b->kernel, b->args, 3, NULL));
    b->args[0].rank = 1;
    b->args[0].shape = NULL;
    FAILS(b->ctx, CLP_ERR_ARG, "x: the shape is NULL", clp_run(b->kernel, b->args, 3, NULL));
    b->args[0].shape = &b->n;
    b->args[0].data = &b->a;
    FAILS(b->ctx, CLP_ERR_ARG, "x: it has both data and a buffer", clp_run(b->kernel, b->args, 3, NULL));
    b->args[0].data = NULL;
    b->args[0].buffer = b->o;
    FAILS(b->ctx, CLP_ERR_ARG, "shares memory with", clp_run(b->kernel, b->args, 3, NULL));
    b->args[0].buffer = b->x;
    b->args[2].data = (char *)&b->a + 1;
    FAILS(b->ctx, CLP_ERR_ARG, "a: its data is not aligned to 4 bytes", clp_run(b->kernel, b->args, 3, NULL));
    b->args[2].data = &b->a;
    FAILS(b->ctx, CLP_ERR_ARG, "expected 3 arrays (x, o, a), got 2", clp_run(b->kernel, b->args, 2, NULL));
    FAILS(b->ctx, CLP_ERR_ARG, "wait_for: the list is NULL", clp_run(b->kernel, b->args, 3, &(clp_run_opts){ .n_wait_for = 1 }));
    expect_run(b, "as it was", 15, 15);
}

/* The allocator may give a new buffer the very place of one that is gone. */
static void tell_buffers_apart(bench *b)
{
    expect_run(b, "as it is", 15, 15);
    for (int i = 0; i < 4; i++) {
        clp_buffer_free(b->x);
        OK(b->ctx, clp_buffer_new(b->ctx, 8 * sizeof(float), &b->x));
        b->args[0].buffer = b->x;
        FAILS(b->ctx, CLP_ERR_ARG, "x: it reaches bytes 0 to 64 of a buffer of 32", clp_run(b->kernel, b->args, 3, NULL));
        clp_buffer_free(b->x);
        OK(b->ctx, clp_buffer_new(b->ctx, MOST * sizeof(float), &b->x));
        b->args[0].buffer = b->x;
        fill(b, b->x, (float)i, 1);
        expect_run(b, "another buffer", 15, 15 + (float)i);
    }
}

/* More of them than are kept, in turns; and more than once each. */
static void go_round(bench *b)
{
    for (int i = 0; i < 3 * (CLPI_MAX_KNOWN + 1); i++) {
        b->args[0].offset = i % (CLPI_MAX_KNOWN + 1);
        expect_run(b, "in turns", 15, 15 + (float)(i % (CLPI_MAX_KNOWN + 1)));
        expect_run(b, "and again", 15, 15 + (float)(i % (CLPI_MAX_KNOWN + 1)));
    }
}

/* Nothing of a launch without an event is needed any more; what is enqueued runs all the same. */
static void outlive_everything(bench *b)
{
    enum { LAUNCHES = 100 };
    float o[MOST];
    fill(b, b->o, 0, 0);
    for (int i = 0; i < LAUNCHES; i++)
        OK(b->ctx, clp_run_async(b->kernel, b->args, 3, NULL, NULL));
    clp_kernel_free(b->kernel);
    clp_buffer_free(b->x);
    b->kernel = NULL;
    b->x = NULL;
    OK(b->ctx, clp_buffer_read(b->o, 0, o, sizeof o));
    for (int i = 0; i < b->n; i++)
        cr_assert_eq(o[i], (float)(LAUNCHES * i), "o[%d]: expected %d, got %g", i, LAUNCHES * i, o[i]);
}

/* With the events of others between, and waited for in another order. */
static void mix_with_events(bench *b)
{
    clp_event *events[3];
    float o[MOST];
    fill(b, b->o, 0, 0);
    for (int i = 0; i < 3; i++) {
        OK(b->ctx, clp_run_async(b->kernel, b->args, 3, NULL, &events[i]));
        OK(b->ctx, clp_run_async(b->kernel, b->args, 3, NULL, NULL));
    }
    OK(b->ctx, clp_run_async(b->kernel, b->args, 3, &(clp_run_opts){ .wait_for = events, .n_wait_for = 3 }, NULL));
    OK(b->ctx, clp_event_wait(events[2]));
    for (int i = 0; i < 3; i++)
        clp_event_free(events[i]);
    OK(b->ctx, clp_buffer_read(b->o, 0, o, sizeof o));
    cr_expect_eq(o[15], 7 * 15, "%g", o[15]);
}

static void on_both(void (*test)(bench *b))
{
    for (int on_cl = 0; on_cl < 2; on_cl++) {
        bench b;
        if (!bench_new(&b, on_cl))
            return;
        test(&b);
        bench_free(&b);
    }
}

Test(again, what_differs_is_seen) { on_both(see_what_differs); }
Test(again, what_does_not_fit_is_refused) { on_both(refuse_what_does_not_fit); }
Test(again, buffers_that_are_gone_are_no_others) { on_both(tell_buffers_apart); }
Test(again, the_oldest_makes_room) { on_both(go_round); }
Test(again, without_an_event_nothing_need_stay) { on_both(outlive_everything); }
Test(again, events_and_none_mix) { on_both(mix_with_events); }

/* On the device: the interpreter's own launch takes memory. */
Test(again, a_known_launch_takes_no_memory)
{
    bench b;
    if (!bench_new(&b, true))
        return;
    OK(b.ctx, clp_run(b.kernel, b.args, 3, NULL));
    b.alloc.budget = b.alloc.n_calls;
    OK(b.ctx, clp_run(b.kernel, b.args, 3, NULL));
    OK(b.ctx, clp_run_async(b.kernel, b.args, 3, NULL, NULL));
    b.a = 2;
    cr_expect(clp_run(b.kernel, b.args, 3, NULL) == CLP_OK || b.alloc.has_failed); /* another may need some */
    b.alloc.budget = SIZE_MAX;
    bench_free(&b);
}

/* What a launch without an event runs into is said by the call. */
Test(again, without_an_event_failures_are_the_calls)
{
    clp_context *ctx;
    clp_kernel *k;
    clp_buffer *buffer;
    const int64_t n = 4;
    OK(NULL, clp_context_new(&(clp_context_opts){ .device = "interp" }, &ctx));
    OK(ctx, clp_kernel_from_text(ctx, "kernel k(inout o: i32[N]) grid () { o[o[0]] = 1; }", NULL, NULL, &k));
    OK(ctx, clp_buffer_new(ctx, 16, &buffer));
    const clp_array o = { .dtype = CLP_I32, .rank = 1, .shape = &n, .buffer = buffer };
    for (int round = 0; round < 2; round++) {
        OK(ctx, clp_buffer_write(buffer, 0, (int32_t[]){ 3, 0, 0, 0 }, 16));
        OK(ctx, clp_run_async(k, &o, 1, NULL, NULL));
        OK(ctx, clp_buffer_write(buffer, 0, (int32_t[]){ 4, 0, 0, 0 }, 16));
        FAILS(ctx, CLP_ERR_RUN, "o: program (): index (4,) lies outside the ref [4]", clp_run_async(k, &o, 1, NULL, NULL));
    }
    clp_buffer_free(buffer);
    clp_kernel_free(k);
    clp_context_free(ctx);
}
