/* bench_device: the rows of `clpallas bench` that measure what stands around kernels of an OpenCL device: launches, the compiler.
 * In: a row. Out: its contest, timed. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "cl/peer.h"
#include "kernels/kernels.h"
#include "run/run.h"

/* ---- Launches against those by hand ---- */

typedef struct launches {
    clp_context *ctx;
    clp_kernel *kernel;
    clp_buffer *buffer;
    clpi_peer_empty *by_hand;
    int64_t n, shape;
    clp_array arg;
    clp_event **events; /* [n] */
    bool has_events;    /* an event each; else the last one has one */
} launches;

static int once_run(void *user)
{
    const launches *l = user;
    return clp_run(l->kernel, &l->arg, 1, NULL) ? fail_library(l->ctx) : DONE;
}

/* n launches, all of them waited for at the end. */
static int once_async(void *user)
{
    const launches *l = user;
    int status = DONE;
    int64_t n = 0;
    for (; !status && n < l->n; n++) {
        l->events[n] = NULL;
        status = clp_run_async(l->kernel, &l->arg, 1, NULL, l->has_events || n + 1 == l->n ? &l->events[n] : NULL) ? fail_library(l->ctx) : DONE;
    }
    while (n-- > 0)
        clp_event_free(l->events[n]);
    return status;
}

static int once_by_hand(void *user)
{
    const launches *l = user;
    return clpi_peer_empty_launch(l->by_hand, l->n) ? fail("clEnqueueNDRangeKernel or clFinish failed") : DONE;
}

static int contest_launches(bench *b, const bench_row *row, bool has_events, contest *c)
{
    static const char text[] = "kernel empty(inout x: f32[N]) grid (i = 1) { }\n";
    launches l = { .ctx = b->ctx, .n = row->size, .shape = 1024, .events = calloc((size_t)row->size, sizeof *l.events), .has_events = has_events };
    int status = l.events ? DONE : fail("out of memory");
    if (!status && (clp_buffer_new(b->ctx, (size_t)l.shape * sizeof(float), &l.buffer) ||
                    clp_kernel_from_text(b->ctx, text, NULL, NULL, &l.kernel) || clpi_peer_empty_new(b->ctx, l.buffer, has_events ? l.n : 0, &l.by_hand)))
        status = fail_library(b->ctx);
    l.arg = (clp_array){ .dtype = CLP_F32, .rank = 1, .shape = &l.shape, .buffer = l.buffer };
    contest_add(c, "ours", l.n > 1 ? once_async : once_run, &l);
    contest_add(c, "enqueue and finish by hand", once_by_hand, &l)->wanted = row->peers[0].wanted;
    if (!status)
        status = contest_time(b, c);
    clpi_peer_empty_free(l.by_hand);
    clp_buffer_free(l.buffer);
    clp_kernel_free(l.kernel);
    free(l.events);
    return status;
}

int row_launch(bench *b, const bench_row *row, contest *c)
{
    return contest_launches(b, row, false, c);
}

int row_launch_events(bench *b, const bench_row *row, contest *c)
{
    return contest_launches(b, row, true, c);
}

/* ---- The compiler against the device's own ---- */

typedef struct front {
    clp_context *ctx;    /* of the interpreter: nothing is built for a device */
    clp_context *device; /* whose limits the code is for */
    const char *text;
    clpi_str code;
    unsigned n_builds;
} front;

static int once_front(void *user)
{
    front *f = user;
    clp_kernel *k;
    if (clp_kernel_from_text(f->ctx, f->text, NULL, NULL, &k))
        return fail_library(f->ctx);
    clpi_str_cut(&f->code, 0);
    const clp_status st =
        clpi_cl_text(&f->ctx->env, CLP_STAGE_CL, k->ir, k->plan, &f->device->limits, f->device->schedule, false, &f->code);
    clp_kernel_free(k);
    return st ? fail_library(f->ctx) : DONE;
}

static int once_build(void *user)
{
    front *f = user;
    return clpi_peer_build(f->device, f->code.text, ++f->n_builds) ? fail_library(f->device) : DONE;
}

/* clpi_peer_build makes another text of each build, and the cache folder is empty: the device's compiler must compile. */
int row_front_end(bench *b, const bench_row *row, contest *c)
{
    front f = { .device = b->ctx, .ctx = b->interp };
    for (const clpi_embedded *file = clpi_embedded_kernels; file->file; file++)
        if (!strcmp(file->file, "attention.plk"))
            f.text = file->text;
    if (!f.text)
        return fail("%s: the library has no attention.plk", row->name);
    clpi_str_init(&f.code, &f.ctx->env);
    contest_add(c, "ours", once_front, &f);
    contest_add(c, "clBuildProgram", once_build, &f)->wanted = row->peers[0].wanted;
    int status = once_front(&f);
    if (!status)
        status = contest_time(b, c);
    clpi_str_done(&f.code);
    return status;
}
