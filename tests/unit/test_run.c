/* Launches over a backend of this file, which shares memory with the host or not, as a test wants it, and counts what is
 * asked of it.                                                                                                          */
#include <stdlib.h>

#include "run/run.h"
#include "support/support.h"

/* ---- A backend that runs nothing by itself: a launch calls `body` with the device's memory ---- */

typedef struct stub {
    clpi_host host;
    int n_mems, n_exes, n_events, n_writes, n_reads, n_waited_for;
    clp_status launch_status, wait_status;
    void (*body)(const clpi_launch *launch);
} stub;

typedef struct stub_mem { stub *dev; unsigned char *bytes; size_t n_bytes; bool is_wrapped; } stub_mem;
typedef struct stub_event { stub *dev; } stub_event;

static clp_status stub_list(clpi_env *env, clp_device_fn fn, void *user)
{
    (void)env;
    fn("stub", true, "for tests", user);
    return CLP_OK;
}

static clp_status stub_open(const clpi_host *host, const char *which, void **out_dev)
{
    (void)host;
    (void)which;
    *out_dev = NULL;
    return CLP_ERR_INTERNAL; /* contexts of this file are made by hand */
}

static void stub_close(void *dev)
{
    (void)dev;
}

static const char *stub_describe(void *dev)
{
    (void)dev;
    return "stub";
}

static void stub_identify(void *dev, clpi_str *out)
{
    (void)dev;
    clpi_str_puts(out, "stub");
}

static void stub_limits(void *dev, clpi_limits *out_limits)
{
    (void)dev;
    *out_limits = (clpi_limits){ .group_size = 1 };
}

static clp_status stub_compile(void *dev, const clpi_unit *units, int n_units, clp_schedule schedule, bool is_checked, void **out_exes)
{
    (void)units;
    (void)schedule;
    (void)is_checked;
    ((stub *)dev)->n_exes += n_units;
    for (int i = 0; i < n_units; i++)
        out_exes[i] = dev;
    return CLP_OK;
}

static void stub_discard(void *exe)
{
    ((stub *)exe)->n_exes--;
}

static clp_status stub_launch(void *exe, const clpi_launch *launch, void **out_event)
{
    stub *dev = exe;
    *out_event = NULL;
    cr_expect(launch->bound->n_sequences > 0);
    dev->n_waited_for += launch->n_wait_for;
    if (dev->launch_status)
        return clpi_fail(dev->host.env, dev->launch_status, "the stub refuses");
    if (dev->body)
        dev->body(launch);
    stub_event *event = malloc(sizeof *event);
    event->dev = dev;
    dev->n_events++;
    *out_event = event;
    return CLP_OK;
}

static clp_status stub_wait(void *event, double *out_seconds)
{
    stub *dev = ((stub_event *)event)->dev;
    *out_seconds = 0.5;
    return dev->wait_status ? clpi_fail(dev->host.env, dev->wait_status, "the stub fails") : CLP_OK;
}

static void stub_forget(void *event)
{
    ((stub_event *)event)->dev->n_events--;
    free(event);
}

static clp_status stub_alloc(void *dev, size_t n_bytes, void **out_mem)
{
    stub_mem *mem = malloc(sizeof *mem);
    cr_expect(n_bytes > 0, "a device has no memory of no bytes");
    *mem = (stub_mem){ dev, malloc(n_bytes), n_bytes, false };
    memset(mem->bytes, 0xee, n_bytes);
    ((stub *)dev)->n_mems++;
    *out_mem = mem;
    return CLP_OK;
}

static clp_status stub_wrap(void *dev, void *data, size_t n_bytes, void **out_mem)
{
    stub_mem *mem = malloc(sizeof *mem);
    *mem = (stub_mem){ dev, data, n_bytes, true };
    ((stub *)dev)->n_mems++;
    *out_mem = mem;
    return CLP_OK;
}

static void stub_release(void *mem)
{
    stub_mem *m = mem;
    m->dev->n_mems--;
    if (!m->is_wrapped)
        free(m->bytes);
    free(m);
}

static clp_status stub_write(void *mem, size_t at, const void *src, size_t n_bytes)
{
    stub_mem *m = mem;
    cr_assert(at + n_bytes <= m->n_bytes);
    m->dev->n_writes++;
    memcpy(m->bytes + at, src, n_bytes);
    return CLP_OK;
}

static clp_status stub_read(void *mem, size_t at, void *dst, size_t n_bytes)
{
    stub_mem *m = mem;
    cr_assert(at + n_bytes <= m->n_bytes);
    m->dev->n_reads++;
    memcpy(dst, m->bytes + at, n_bytes);
    return CLP_OK;
}

static const clpi_backend stub_backend = {
    "stub", stub_list, stub_open, stub_close, stub_describe, stub_identify, stub_limits, stub_compile, stub_discard, stub_launch,
    stub_wait, stub_forget, stub_alloc, stub_wrap, stub_release, stub_write, stub_read,
};

static void stub_context(clp_context *ctx, stub *dev, bool shares_host_memory)
{
    *ctx = (clp_context){ .backend = &stub_backend, .dev = dev, .limits = { .shares_host_memory = shares_host_memory } };
    clpi_env_init(&ctx->env, NULL, NULL);
    ctx->host.env = &ctx->env;
    dev->host = ctx->host;
}

static void expect_nothing_left(clp_context *ctx, const stub *dev)
{
    cr_expect_eq(dev->n_mems, 0, "%d memories left", dev->n_mems);
    cr_expect_eq(dev->n_events, 0, "%d events left", dev->n_events);
    cr_expect_eq(dev->n_exes, 0, "%d kernels left", dev->n_exes);
    clpi_env_done(&ctx->env);
}

/* Element i of an operand (f32, by its first dimension) in the device's memory. */
static float *element(const clpi_launch *launch, int operand, int64_t i)
{
    const clpi_bound_operand *o = &launch->bound->operands[operand];
    stub_mem *mem = launch->places[operand].mem;
    int64_t at = (int64_t)launch->places[operand].at + 4 * (o->offset + i * o->stride[0]);
    cr_assert(at >= 0 && (uint64_t)at + 4 <= mem->n_bytes, "operand %d, element %d at byte %d of %zu", operand, (int)i,
              (int)at, mem->n_bytes);
    return (float *)(void *)(mem->bytes + at);
}

/* o[i] = 2 * x[i] */
static void twice(const clpi_launch *launch)
{
    for (int64_t i = 0; i < launch->bound->operands[0].size[0]; i++)
        *element(launch, 1, i) = 2 * *element(launch, 0, i);
}

#define TWICE "kernel twice(in x: f32[N] block [4] at (i), out o: f32[N] block [4] at (i)) grid (i = cdiv(N, 4)) { o[...] = 2 * x[...]; }"
#define TWICE_IN_PLACE "kernel twice(in x: f32[N] block [4] at (i), out o: f32[N] block [4] at (i) alias x) grid (i = cdiv(N, 4)) { o[...] = 2 * x[...]; }"

static clp_array vector(float *data, const int64_t *n)
{
    return (clp_array){ .dtype = CLP_F32, .rank = 1, .shape = n, .data = data };
}

static clp_kernel *kernel(clp_context *ctx, const char *text)
{
    clp_kernel *k;
    OK(ctx, clp_kernel_from_text(ctx, text, NULL, NULL, &k));
    return k;
}

/* ---- Memory ---- */

Test(run, copies_there_and_back)
{
    stub dev = { .body = twice };
    clp_context ctx;
    stub_context(&ctx, &dev, false);
    clp_kernel *k = kernel(&ctx, TWICE);
    float x[5] = { 1, 2, 3, 4, 5 }, o[5] = { 0 };
    OK(&ctx, clp_run(k, (clp_array[]){ vector(x, &(int64_t){ 5 }), vector(o, &(int64_t){ 5 }) }, 2, NULL));
    for (int i = 0; i < 5; i++)
        cr_expect_eq(o[i], 2 * x[i], "element %d", i);
    cr_expect_eq(dev.n_writes, 2); /* an output keeps what nobody writes */
    cr_expect_eq(dev.n_reads, 1);  /* only what was written */
    clp_kernel_free(k);
    expect_nothing_left(&ctx, &dev);
}

Test(run, wraps_where_memory_is_shared)
{
    stub dev = { .body = twice };
    clp_context ctx;
    stub_context(&ctx, &dev, true);
    clp_kernel *k = kernel(&ctx, TWICE);
    float x[5] = { 1, 2, 3, 4, 5 }, o[5] = { 0 };
    OK(&ctx, clp_run(k, (clp_array[]){ vector(x, &(int64_t){ 5 }), vector(o, &(int64_t){ 5 }) }, 2, NULL));
    cr_expect_eq(o[4], 10);
    cr_expect(dev.n_writes == 0 && dev.n_reads == 0);
    clp_kernel_free(k);
    expect_nothing_left(&ctx, &dev);
}

Test(run, places_strided_and_backward_arrays)
{
    stub dev = { .body = twice };
    clp_context ctx;
    clp_array a[2];
    for (int shared = 0; shared < 2; shared++) {
        stub_context(&ctx, &dev, shared == 1);
        clp_kernel *k = kernel(&ctx, TWICE);
        float x[20], o[20];
        for (int i = 0; i < 20; i++)
            x[i] = (float)i, o[i] = -1;
        a[0] = vector(x, &(int64_t){ 5 });
        a[0].strides = &(int64_t){ -3 };
        a[0].offset = 14; /* 14 11 8 5 2 */
        a[1] = vector(o, &(int64_t){ 5 });
        a[1].strides = &(int64_t){ 2 };
        a[1].offset = 3;
        OK(&ctx, clp_run(k, a, 2, NULL));
        for (int i = 0; i < 20; i++) {
            bool is_out = i >= 3 && i <= 11 && i % 2 == 1;
            float want = is_out ? 2 * (float)(14 - 3 * ((i - 3) / 2)) : -1;
            cr_expect_eq(o[i], want, "shared %d, element %d: %g, expected %g", shared, i, o[i], want);
        }
        clp_kernel_free(k);
        expect_nothing_left(&ctx, &dev);
    }
}

static void twice_by_alias(const clpi_launch *launch)
{
    /* What is written through o is read through x: one memory, shifted by one element. */
    cr_expect_eq(launch->places[0].mem, launch->places[1].mem);
    cr_expect_eq(element(launch, 0, 1), element(launch, 1, 0));
}

Test(run, gives_overlapping_aliases_one_memory)
{
    stub dev = { .body = twice_by_alias };
    clp_context ctx;
    stub_context(&ctx, &dev, false);
    clp_kernel *k = kernel(&ctx, TWICE_IN_PLACE);
    float x[9] = { 0 };
    OK(&ctx, clp_run(k, (clp_array[]){ vector(x, &(int64_t){ 8 }), vector(x + 1, &(int64_t){ 8 }) }, 2, NULL));
    cr_expect_eq(dev.n_writes, 1);
    clp_kernel_free(k);
    expect_nothing_left(&ctx, &dev);
}

static void twice_the_second(const clpi_launch *launch)
{
    cr_expect_eq(launch->places[0].mem, launch->places[1].mem);
    cr_expect_neq(launch->places[0].mem, launch->places[2].mem, "elements of another size");
    cr_expect_eq(element(launch, 0, 1), element(launch, 1, 0));
    *element(launch, 3, 0) = 2 * *element(launch, 1, 0);
}

Test(run, gives_overlapping_inputs_one_memory)
{
    stub dev = { .body = twice_the_second };
    clp_context ctx;
    stub_context(&ctx, &dev, false);
    clp_kernel *k = kernel(&ctx, "kernel k(in x: f32[N], in y: f32[N], in s: i16[N], out o: f32[1]) grid () { o[0] = 2 * y[0]; }");
    float x[9] = { 1, 3 }, o = 0;
    clp_array s = vector(x, &(int64_t){ 8 });
    s.dtype = CLP_I16;
    s.offset = 1;
    OK(&ctx, clp_run(k, (clp_array[]){ vector(x, &(int64_t){ 8 }), vector(x + 1, &(int64_t){ 8 }), s, vector(&o, &(int64_t){ 1 }) }, 4, NULL));
    cr_expect_eq(dev.n_writes, 3);
    cr_expect_eq(o, 6);
    clp_kernel_free(k);
    expect_nothing_left(&ctx, &dev);
}

Test(run, uses_parts_of_buffers)
{
    stub dev = { .body = twice };
    clp_context ctx;
    clp_buffer *buffer;
    stub_context(&ctx, &dev, false);
    clp_kernel *k = kernel(&ctx, TWICE);
    float values[10] = { 1, 2, 3, 4, 5 };
    OK(&ctx, clp_buffer_new(&ctx, sizeof values, &buffer));
    OK(&ctx, clp_buffer_write(buffer, 0, values, sizeof values));
    clp_array a[2] = { { .dtype = CLP_F32, .rank = 1, .shape = &(int64_t){ 5 }, .buffer = buffer },
                       { .dtype = CLP_F32, .rank = 1, .shape = &(int64_t){ 5 }, .buffer = buffer, .offset = 5 } };
    OK(&ctx, clp_run(k, a, 2, NULL));
    OK(&ctx, clp_buffer_read(buffer, 20, values, 20));
    cr_expect(values[0] == 2 && values[4] == 10);
    a[1].offset = 6;
    FAILS(&ctx, CLP_ERR_ARG, "o: it reaches bytes 24 to 44 of a buffer of 40", clp_run(k, a, 2, NULL));
    a[1].offset = 4;
    FAILS(&ctx, CLP_ERR_ARG, "o: it is written, and shares memory with x", clp_run(k, a, 2, NULL));
    FAILS(&ctx, CLP_ERR_ARG, "20 bytes at 24 do not lie in a buffer of 40", clp_buffer_read(buffer, 24, values, 20));
    FAILS(&ctx, CLP_ERR_ARG, "do not lie in a buffer of 40", clp_buffer_write(buffer, SIZE_MAX, values, 20));
    clp_buffer_free(buffer);
    clp_kernel_free(k);
    expect_nothing_left(&ctx, &dev);
}

static void expect_scalar(const clpi_launch *launch)
{
    cr_expect_eq(launch->bound->scalar[0].i, 5);
    cr_expect_eq(launch->bound->axis_size[0], 5);
    cr_expect_null(launch->places[0].mem);
}

Test(run, reads_scalars_of_buffers_first)
{
    stub dev = { .body = expect_scalar };
    clp_context ctx;
    clp_buffer *buffer;
    stub_context(&ctx, &dev, false);
    clp_kernel *k = kernel(&ctx, "kernel k(scalar n: i32, out o: f32[N]) grid (i = n) { o[i] = 1; }");
    OK(&ctx, clp_buffer_new(&ctx, 8, &buffer));
    OK(&ctx, clp_buffer_write(buffer, 0, (int32_t[]){ 9, 5 }, 8));
    float o[5];
    clp_array a[2] = { { .dtype = CLP_I32, .buffer = buffer, .offset = 1 }, vector(o, &(int64_t){ 5 }) };
    OK(&ctx, clp_run(k, a, 2, NULL));
    a[0].offset = 2;
    FAILS(&ctx, CLP_ERR_ARG, "n: element 2 does not lie in a buffer of 8 bytes", clp_run(k, a, 2, NULL));
    a[0].offset = -1;
    FAILS(&ctx, CLP_ERR_ARG, "n: element -1 does not lie", clp_run(k, a, 2, NULL));
    clp_buffer_free(buffer);
    clp_kernel_free(k);
    expect_nothing_left(&ctx, &dev);
}

Test(run, gives_memory_to_empty_arrays_and_runs_nothing_on_empty_grids)
{
    stub dev = { 0 };
    clp_context ctx;
    stub_context(&ctx, &dev, false);
    clp_kernel *k = kernel(&ctx, TWICE);
    OK(&ctx, clp_run(k, (clp_array[]){ vector(NULL, &(int64_t){ 0 }), vector(NULL, &(int64_t){ 0 }) }, 2, NULL));
    cr_expect(dev.n_writes == 0 && dev.n_reads == 0);
    clp_kernel_free(k);
    k = kernel(&ctx, "kernel k(in x: f32[N], out o: f32[4] block [4] at (0)) grid () { o[...] = 1; }");
    float o[4];
    OK(&ctx, clp_run(k, (clp_array[]){ vector(NULL, &(int64_t){ 0 }), vector(o, &(int64_t){ 4 }) }, 2, NULL));
    cr_expect_eq(dev.n_writes, 1);
    clp_kernel_free(k);
    expect_nothing_left(&ctx, &dev);
}

/* ---- Arguments ---- */

Test(run, refuses_arguments)
{
    stub dev = { .body = twice };
    clp_context ctx, other;
    clp_buffer *buffer;
    stub_context(&ctx, &dev, true);
    stub_context(&other, &dev, true);
    clp_kernel *k = kernel(&ctx, TWICE);
    float x[8] = { 0 }, o[8] = { 0 };
    int64_t n = 8;
    OK(&other, clp_buffer_new(&other, 32, &buffer));
    clp_array good[2] = { vector(x, &n), vector(o, &n) }, bad[2];

    cr_expect_eq(clp_run(NULL, good, 2, NULL), CLP_ERR_ARG);
    FAILS(&ctx, CLP_ERR_ARG, "the arrays are NULL", clp_run(k, NULL, 2, NULL));
    FAILS(&ctx, CLP_ERR_ARG, "arrays, got -1", clp_run(k, (clp_array[]){ { .dtype = CLP_F32 } }, -1, NULL));
    FAILS(&ctx, CLP_ERR_ARG, "twice: expected 2 arrays (x, o), got 1", clp_run(k, good, 1, NULL));
    FAILS(&ctx, CLP_ERR_ARG, "twice: expected 2 arrays (x, o), got 0", clp_run(k, NULL, 0, NULL));

    memcpy(bad, good, sizeof bad), bad[0].shape = NULL;
    FAILS(&ctx, CLP_ERR_ARG, "x: the shape is NULL", clp_run(k, bad, 2, NULL));
    memcpy(bad, good, sizeof bad), bad[0].rank = 17;
    FAILS(&ctx, CLP_ERR_ARG, "x: expected rank 1, got rank 17", clp_run(k, bad, 2, NULL));
    memcpy(bad, good, sizeof bad), bad[1].data = NULL;
    FAILS(&ctx, CLP_ERR_ARG, "o: it has neither data nor a buffer", clp_run(k, bad, 2, NULL));
    bad[1].buffer = buffer;
    FAILS(&ctx, CLP_ERR_ARG, "o: its buffer belongs to another context", clp_run(k, bad, 2, NULL));
    bad[1].data = o;
    FAILS(&ctx, CLP_ERR_ARG, "o: it has both data and a buffer", clp_run(k, bad, 2, NULL));
    memcpy(bad, good, sizeof bad), bad[0].data = (char *)x + 2;
    FAILS(&ctx, CLP_ERR_ARG, "x: its data is not aligned to 4 bytes", clp_run(k, bad, 2, NULL));
    memcpy(bad, good, sizeof bad), bad[0].dtype = CLP_I32;
    FAILS(&ctx, CLP_ERR_ARG, "x: expected dtype f32, got i32", clp_run(k, bad, 2, NULL));

    FAILS(&ctx, CLP_ERR_ARG, "wait_for: event 0 is NULL", clp_run(k, good, 2, &(clp_run_opts){ .n_wait_for = 1, .wait_for = (clp_event *[]){ NULL } }));
    FAILS(&ctx, CLP_ERR_ARG, "dims: the list is NULL", clp_run(k, good, 2, &(clp_run_opts){ .n_dims = 1 }));
    FAILS(&ctx, CLP_ERR_ARG, "n_dims: expected 0 or more, got -1", clp_run(k, good, 2, &(clp_run_opts){ .n_dims = -1 }));
    FAILS(&ctx, CLP_ERR_ARG, "n_wait_for: expected 0 or more, got -2", clp_run(k, good, 2, &(clp_run_opts){ .n_wait_for = -2 }));
    FAILS(&ctx, CLP_ERR_ARG, "there is no order 9", clp_run(k, good, 2, &(clp_run_opts){ .order = (clp_order)9 }));

    clp_buffer_free(buffer);
    clp_kernel_free(k);
    clpi_env_done(&other.env);
    expect_nothing_left(&ctx, &dev);
}

/* ---- Events ---- */

Test(run, waits_and_reports_each_failure_to_its_own_event)
{
    stub dev = { .body = twice };
    clp_context ctx;
    clp_event *first, *second;
    stub_context(&ctx, &dev, true);
    clp_kernel *k = kernel(&ctx, TWICE);
    float x[4] = { 1, 2, 3, 4 }, o[4], u[4];
    int64_t n = 4;
    OK(&ctx, clp_run_async(k, (clp_array[]){ vector(x, &n), vector(o, &n) }, 2, NULL, &first));
    OK(&ctx, clp_run_async(k, (clp_array[]){ vector(o, &n), vector(u, &n) }, 2,
                           &(clp_run_opts){ .wait_for = &first, .n_wait_for = 1 }, &second));
    cr_expect_eq(dev.n_waited_for, 1);
    cr_expect_eq(dev.n_mems, 4);
    OK(&ctx, clp_event_wait(second));
    dev.wait_status = CLP_ERR_RUN;
    FAILS(&ctx, CLP_ERR_RUN, "the stub fails", clp_event_wait(first));
    dev.wait_status = CLP_OK;
    FAILS(&ctx, CLP_ERR_RUN, "the stub fails", clp_event_wait(first)); /* once more: the same answer */
    OK(&ctx, clp_event_wait(second));
    cr_expect_eq(clp_event_seconds(second), 0.5);
    cr_expect_eq(u[3], 16);
    clp_event_free(first);
    clp_event_free(second);
    clp_kernel_free(k);
    expect_nothing_left(&ctx, &dev);
}

Test(run, settles_what_it_waits_for_before_copying)
{
    stub dev = { .body = twice };
    clp_context ctx;
    clp_event *first;
    stub_context(&ctx, &dev, false);
    clp_kernel *k = kernel(&ctx, TWICE);
    float x[4] = { 1, 2, 3, 4 }, o[4] = { 0 }, u[4];
    int64_t n = 4;
    OK(&ctx, clp_run_async(k, (clp_array[]){ vector(x, &n), vector(o, &n) }, 2, NULL, &first));
    OK(&ctx, clp_run(k, (clp_array[]){ vector(o, &n), vector(u, &n) }, 2, &(clp_run_opts){ .wait_for = &first, .n_wait_for = 1 }));
    cr_expect_eq(u[3], 16);
    clp_event_free(first);
    clp_kernel_free(k);
    expect_nothing_left(&ctx, &dev);
}

Test(run, gives_all_back_when_a_launch_is_refused)
{
    stub dev = { .launch_status = CLP_ERR_UNSUPPORTED };
    clp_context ctx;
    clp_event *event = (clp_event *)&ctx;
    stub_context(&ctx, &dev, false);
    clp_kernel *k = kernel(&ctx, TWICE);
    float x[4] = { 1 }, o[4] = { 7, 7, 7, 7 };
    int64_t n = 4;
    FAILS(&ctx, CLP_ERR_UNSUPPORTED, "the stub refuses", clp_run_async(k, (clp_array[]){ vector(x, &n), vector(o, &n) }, 2, NULL, &event));
    cr_expect_null(event);
    cr_expect_eq(o[0], 7);
    clp_kernel_free(k);
    expect_nothing_left(&ctx, &dev);
}
