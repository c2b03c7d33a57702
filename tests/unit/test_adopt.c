/* Adopted objects: the caller's own context, queue, memory and events. */
#include "cl/cl.h"
#include "clpallas_cl.h"
#include "on_cl.h"

static const char add_text[] =
    "kernel add<b = 64>(in x: i32[N] block [b] at (i), inout o: i32[N] block [b] at (i)) grid (i = cdiv(N, b))\n"
    "{ o[...] = o[...] + x[...]; }\n";

static clp_array ints(int64_t *shape, int32_t *data, clp_buffer *buffer)
{
    return (clp_array){ .dtype = CLP_I32, .rank = 1, .shape = shape, .data = data, .buffer = buffer };
}

static cl_device_id device_of(cl_context context)
{
    cl_device_id device;
    cr_assert_eq(clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof device, &device, NULL), CL_SUCCESS);
    return device;
}

/* The caller's objects: those of a context of ours, and another queue in it. */
typedef struct callers { clp_context *found; cl_context context; cl_device_id device; cl_command_queue queue; } callers;

/* false: there is no device, or none with such queues, which is said. */
static bool callers_open(callers *c, cl_command_queue_properties properties)
{
    cl_int code;
    *c = (callers){ .found = context_on_cl(NULL, NULL) };
    if (!c->found)
        return false;
    c->context = clp_context_cl(c->found);
    c->device = device_of(c->context);
    c->queue = clCreateCommandQueue(c->context, c->device, properties, &code);
    if (code == CL_SUCCESS)
        return true;
    fprintf(stderr, "skipped: the device has no such queue\n");
    clp_context_free(c->found);
    return false;
}

static void callers_close(callers *c)
{
    clReleaseCommandQueue(c->queue);
    clp_context_free(c->found);
}

static void check_adopted(cl_command_queue_properties properties)
{
    clp_context *ctx;
    callers c;
    if (!callers_open(&c, properties))
        return;
    cl_context context = c.context;
    cl_device_id device = c.device;
    cl_command_queue queue = c.queue;
    cl_int code;
    int32_t x[300], o[300];
    for (int i = 0; i < 300; i++) {
        x[i] = i;
        o[i] = 1;
    }
    cl_mem x_mem = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof x, x, &code);
    cl_mem o_mem = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof o, NULL, &code);
    cl_event gate = clCreateUserEvent(context, &code), written;
    cr_assert_eq(clEnqueueWriteBuffer(queue, o_mem, CL_FALSE, 0, sizeof o, o, 1, &gate, &written), CL_SUCCESS);

    OK(NULL, clp_context_new_cl(device, context, queue, NULL, &ctx));
    cr_expect_eq(clp_context_cl(ctx), context);
    cr_expect_eq(clp_context_cl_queue(ctx), queue);
    clp_kernel *k;
    clp_buffer *xb, *ob;
    clp_event *before, *event;
    OK(ctx, clp_kernel_from_text(ctx, add_text, NULL, NULL, &k));
    OK(ctx, clp_buffer_new_cl(ctx, x_mem, &xb));
    OK(ctx, clp_buffer_new_cl(ctx, o_mem, &ob));
    OK(ctx, clp_event_new_cl(ctx, written, &before));
    cr_expect_eq(clp_buffer_cl(xb), x_mem);
    cr_expect_eq(clp_buffer_bytes(ob), sizeof o);
    int64_t n = 300;
    OK(ctx, clp_run_async(k, (clp_array[]){ ints(&n, NULL, xb), ints(&n, NULL, ob) }, 2,
                          &(clp_run_opts){ .wait_for = &before, .n_wait_for = 1 }, &event));
    cl_event done = clp_event_cl(event);
    cr_assert_not_null(done);
    cr_assert_eq(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    int32_t got[300];
    cr_assert_eq(clEnqueueReadBuffer(queue, o_mem, CL_TRUE, 0, sizeof got, got, 1, &done, NULL), CL_SUCCESS);
    for (int i = 0; i < 300; i++)
        cr_expect(got[i] == i + 1, "o[%d]: expected %d, got %d", i, i + 1, got[i]);
    OK(ctx, clp_event_wait(event));
    clp_event_free(event);
    clp_event_free(before);
    clp_buffer_free(xb);
    clp_buffer_free(ob);
    clp_kernel_free(k);
    clp_context_free(ctx);

    clReleaseEvent(gate);
    clReleaseEvent(written);
    clReleaseMemObject(x_mem);
    clReleaseMemObject(o_mem);
    callers_close(&c);
}

Test(adopt, works_on_the_callers_objects)
{
    check_adopted(CL_QUEUE_PROFILING_ENABLE);
}

Test(adopt, works_in_a_queue_without_order)
{
    check_adopted(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

static cl_uint references_to_queue(cl_command_queue queue)
{
    cl_uint n = 0;
    cr_assert_eq(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof n, &n, NULL), CL_SUCCESS);
    return n;
}

static cl_uint references_to_mem(cl_mem mem)
{
    cl_uint n = 0;
    cr_assert_eq(clGetMemObjectInfo(mem, CL_MEM_REFERENCE_COUNT, sizeof n, &n, NULL), CL_SUCCESS);
    return n;
}

/* The caller's queue may stand still until the caller has its context and memory. Nothing is known of the device from before. */
Test(adopt, makes_large_buffers_without_the_callers_queue)
{
    setenv("CLPALLAS_CACHE", "off", 1);
    clp_context *ctx;
    callers c;
    cl_int code;
    if (!callers_open(&c, 0))
        return;
    cl_event gate = clCreateUserEvent(c.context, &code);
    cr_assert_eq(clEnqueueMarkerWithWaitList(c.queue, 1, &gate, NULL), CL_SUCCESS);
    clp_buffer *buffer;
    OK(NULL, clp_context_new_cl(c.device, c.context, c.queue, NULL, &ctx));
    OK(ctx, clp_buffer_new(ctx, 40 << 20, &buffer));
    cr_assert_eq(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    clp_buffer_free(buffer);
    clp_context_free(ctx);
    clReleaseEvent(gate);
    callers_close(&c);
}

Test(adopt, gives_back_what_it_was_given)
{
    clp_context *ctx;
    callers c;
    cl_int code;
    clp_buffer *buffer;
    if (!callers_open(&c, 0))
        return;
    cl_command_queue queue = c.queue;
    cl_mem mem = clCreateBuffer(c.context, CL_MEM_READ_WRITE, 64, NULL, &code);
    cl_uint of_queue = references_to_queue(queue), of_mem = references_to_mem(mem);
    OK(NULL, clp_context_new_cl(c.device, c.context, queue, NULL, &ctx));
    OK(ctx, clp_buffer_new_cl(ctx, mem, &buffer));
    cr_expect(references_to_queue(queue) > of_queue && references_to_mem(mem) > of_mem);
    clp_buffer_free(buffer);
    clp_context_free(ctx);
    cr_expect_eq(references_to_queue(queue), of_queue);
    cr_expect_eq(references_to_mem(mem), of_mem);
    clReleaseMemObject(mem);
    callers_close(&c);
}

Test(adopt, refuses_a_queue_of_another_context)
{
    clp_context *found = context_on_cl(NULL, NULL), *other = context_on_cl(NULL, NULL), *ctx;
    if (!found || !other)
        return;
    cl_device_id device = device_of(clp_context_cl(found));
    cr_expect_eq(clp_context_new_cl(device, clp_context_cl(found), clp_context_cl_queue(other), NULL, &ctx), CLP_ERR_ARG);
    cr_expect_str_eq(clp_last_error(NULL), "the queue is not of the context that is given");
    cr_expect_null(ctx);
    clp_context_free(other);
    clp_context_free(found);
}

static void count_line(const char *line, void *user)
{
    *(int *)user += strncmp(line, "i=", 2) == 0;
}

/* What a launch needs cleared first is cleared first. */
Test(adopt, prints_in_a_queue_without_order)
{
    enum { LAUNCHES = 20 };
    clp_context *ctx;
    callers c;
    if (!callers_open(&c, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
        return;
    int n_lines = 0;
    int32_t n = 3;
    clp_kernel *k;
    clp_event *events[LAUNCHES];
    OK(NULL, clp_context_new_cl(c.device, c.context, c.queue, &(clp_context_opts){ .print = count_line, .print_user = &n_lines }, &ctx));
    OK(ctx, clp_kernel_from_text(ctx, "kernel k(scalar n: i32) grid (i = n) { print(\"i={}\", i); }", NULL, NULL, &k));
    for (int i = 0; i < LAUNCHES; i++)
        OK(ctx, clp_run_async(k, &(clp_array){ .dtype = CLP_I32, .data = &n }, 1, NULL, i % 2 ? &events[i] : NULL));
    for (int i = 1; i < LAUNCHES; i += 2)
        clp_event_free(events[i]);
    cr_expect_eq(n_lines, 3 * LAUNCHES, "expected %d lines, got %d", 3 * LAUNCHES, n_lines);
    clp_kernel_free(k);
    clp_context_free(ctx);
    callers_close(&c);
}

Test(adopt, refuses_objects_that_are_not_there)
{
    clp_context *ctx = NULL;
    clp_buffer *buffer;
    clp_event *event;
    cr_expect_eq(clp_context_new_cl(NULL, NULL, NULL, NULL, &ctx), CLP_ERR_ARG);
    cr_expect_str_eq(clp_last_error(NULL), "clp_context_new_cl: device is NULL");
    OK(NULL, clp_context_new(&(clp_context_opts){ .device = "interp" }, &ctx));
    FAILS(ctx, CLP_ERR_ARG, "the context is not on an OpenCL device", clp_buffer_new_cl(ctx, NULL, &buffer));
    FAILS(ctx, CLP_ERR_ARG, "the context is not on an OpenCL device", clp_event_new_cl(ctx, NULL, &event));
    cr_expect_null(clp_context_cl(ctx));
    clp_context_free(ctx);
    ctx = context_on_cl(NULL, NULL);
    if (!ctx)
        return;
    FAILS(ctx, CLP_ERR_ARG, "mem is NULL", clp_buffer_new_cl(ctx, NULL, &buffer));
    FAILS(ctx, CLP_ERR_ARG, "event is NULL", clp_event_new_cl(ctx, NULL, &event));
    clp_context_free(ctx);
}
