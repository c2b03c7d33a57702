/* bench_device: the rows of `clpallas bench` that run on an OpenCL device.
 * In: a row. Out: its contest, timed. Everything works on device buffers that the peers share, and is waited for. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "cl/peer.h"
#include "kernels/kernels.h"
#include "run/run.h"

enum { MAX_ARRAYS = 3 };

/* A kernel on device buffers of f32. */
typedef struct device_run {
    clp_context *ctx;
    clp_kernel *kernel;
    clp_buffer *buffers[MAX_ARRAYS];
    int64_t shape[2]; /* of all arrays */
    int64_t n_elems;
    clp_array args[MAX_ARRAYS];
    int n;
} device_run;

static int once_kernel(void *user)
{
    device_run *r = user;
    return clp_run(r->kernel, r->args, r->n, NULL) ? fail_library(r->ctx) : DONE;
}

static int fill_buffer(clp_context *ctx, clp_buffer *buffer, int64_t n, uint32_t seed)
{
    float *data = malloc((size_t)n * sizeof *data);
    if (!data)
        return fail("out of memory");
    bench_fill(data, n, seed);
    const int status = clp_buffer_write(buffer, 0, data, (size_t)n * sizeof *data) ? fail_library(ctx) : DONE;
    free(data);
    return status;
}

/* n arrays of one shape: rank 1 when it has one row. */
static int device_open(device_run *r, const bench *b, const char *kernel, const char *params, int n, int64_t rows,
                       int64_t columns)
{
    *r = (device_run){ .ctx = b->ctx, .shape = { rows, columns }, .n_elems = rows * columns, .n = n };
    const int rank = rows == 1 ? 1 : 2;
    if (kernel) {
        r->kernel = bench_kernel(b, b->ctx, kernel, params);
        if (!r->kernel)
            return FAILED;
    }
    for (int i = 0; i < n; i++) {
        if (clp_buffer_new(r->ctx, (size_t)r->n_elems * sizeof(float), &r->buffers[i]))
            return fail_library(r->ctx);
        if (fill_buffer(r->ctx, r->buffers[i], r->n_elems, (uint32_t)i))
            return FAILED;
        r->args[i] =
            (clp_array){ .dtype = CLP_F32, .rank = rank, .shape = r->shape + 2 - rank, .buffer = r->buffers[i] };
    }
    return DONE;
}

static void device_close(device_run *r)
{
    for (int i = 0; i < r->n; i++)
        clp_buffer_free(r->buffers[i]);
    clp_kernel_free(r->kernel);
}

static void contest_head(contest *c, const bench *b, const char *work, const char *params)
{
    c->work = work;
    snprintf(c->params, sizeof c->params, "%s", b->o->params ? b->o->params : params ? params : "");
}

/* ---- Matrix product against OpenBLAS and CLBlast ---- */

typedef struct product {
    device_run *r;
    blas blas;
    clpi_peer_fn clblast;
    void *host[MAX_ARRAYS]; /* the buffers, mapped */
} product;

static int map_all(void *user)
{
    product *p = user;
    for (int i = 0; i < p->r->n; i++)
        if (clpi_peer_map(p->r->ctx, p->r->buffers[i], &p->host[i]))
            return fail_library(p->r->ctx);
    return DONE;
}

static int unmap_all(void *user)
{
    product *p = user;
    for (int i = 0; i < p->r->n; i++)
        if (clpi_peer_unmap(p->r->ctx, p->r->buffers[i], p->host[i]))
            return fail_library(p->r->ctx);
    return DONE;
}

static int once_blas(void *user)
{
    const product *p = user;
    const int64_t n = p->r->shape[0];
    blas_sgemm(&p->blas, n, n, n, p->host[0], p->host[1], p->host[2]);
    return DONE;
}

static int once_clblast(void *user)
{
    const product *p = user;
    const size_t n = (size_t)p->r->shape[0];
    const clpi_peer_matrices a = { p->r->buffers[0], p->r->buffers[1], p->r->buffers[2], n, n, n };
    return clpi_peer_clblast(p->r->ctx, p->clblast, &a) ? fail_library(p->r->ctx) : DONE;
}

/* Ours and the peer's results: speed counts for nothing where they differ. */
static int compare_with(product *p, side *peer)
{
    device_run *r = p->r;
    const size_t n_bytes = (size_t)r->n_elems * sizeof(float);
    clp_array mine = { .dtype = CLP_F32, .rank = 2, .shape = r->shape, .data = malloc(n_bytes) }, theirs = mine;
    theirs.data = malloc(n_bytes);
    int status = mine.data && theirs.data ? once_kernel(r) : fail("out of memory");
    if (!status && clp_buffer_read(r->buffers[2], 0, mine.data, n_bytes))
        status = fail_library(r->ctx);
    if (!status && peer->begin)
        status = peer->begin(p);
    if (!status)
        status = peer->once(p);
    if (!status && peer->end)
        status = peer->end(p);
    if (!status && clp_buffer_read(r->buffers[2], 0, theirs.data, n_bytes))
        status = fail_library(r->ctx);
    if (!status) {
        const difference d = array_compare(&mine, &theirs, 1e-5);
        if (d.n_beyond)
            status = fail("matmul: %lld elements of %lld differ from %s's", (long long)d.n_beyond,
                          (long long)r->n_elems, peer->name);
    }
    free(mine.data);
    free(theirs.data);
    return status;
}

static int add_peers(contest *c, product *p)
{
    side *openblas = contest_add(c, "OpenBLAS", once_blas, p);
    openblas->begin = map_all;
    openblas->end = unmap_all;
    int status = DONE;
    if (blas_open(&p->blas, 0, openblas->missing, sizeof openblas->missing))
        status = compare_with(p, openblas);
    side *clblast = contest_add(c, "CLBlast", once_clblast, p);
    if (!status && clblast_open(&p->clblast, clblast->missing, sizeof clblast->missing))
        status = compare_with(p, clblast);
    return status;
}

static int row_matmul(bench *b, const bench_row *row, contest *c)
{
    const int64_t n = row->size;
    device_run r;
    product p = { .r = &r };
    int status = device_open(&r, b, "matmul", row->params, 3, n, n);
    contest_head(c, b, "matmul", row->params);
    snprintf(c->shape, sizeof c->shape, "%lldx%lldx%lld", (long long)n, (long long)n, (long long)n);
    c->flops = 2.0 * (double)n * (double)n * (double)n;
    contest_add(c, "ours", once_kernel, &r)->rests_first = true;
    if (!status)
        status = add_peers(c, &p);
    if (!status)
        status = contest_time(b, c);
    device_close(&r);
    return status;
}

/* ---- Memory-bound kernels against copies of as many bytes ---- */

/* The copy reads and writes as many bytes as the kernel, in the same buffers: a kernel of one input is x to o, one of
 * two inputs half of y to o as well. */
typedef struct copies {
    device_run *r;
    clpi_peer_pair pairs[2];
    int n;
    clp_kernel *kernel; /* our own copy */
} copies;

static int once_copy_buffer(void *user)
{
    const copies *c = user;
    return clpi_peer_copy(c->r->ctx, c->pairs, c->n) ? fail_library(c->r->ctx) : DONE;
}

static int once_copy_kernel(void *user)
{
    const copies *c = user;
    for (int i = 0; i < c->n; i++) {
        const int64_t n = (int64_t)(c->pairs[i].n_bytes / sizeof(float));
        const clp_array args[] = { { .dtype = CLP_F32, .rank = 1, .shape = &n, .buffer = c->pairs[i].from },
                                   { .dtype = CLP_F32, .rank = 1, .shape = &n, .buffer = c->pairs[i].to } };
        if (clp_run(c->kernel, args, 2, NULL))
            return fail_library(c->r->ctx);
    }
    return DONE;
}

static int against_copy(bench *b, const bench_row *row, contest *c, device_run *r, const char *work)
{
    const size_t n_bytes = (size_t)r->n_elems * sizeof(float);
    clp_buffer *out = r->buffers[r->n - 1];
    copies peer = { .r = r,
                    .pairs = { { r->buffers[0], out, n_bytes }, { r->buffers[1], out, n_bytes / 2 } },
                    .n = r->n - 1 };
    contest_head(c, b, work, row->params);
    c->bytes = (double)n_bytes * r->n;
    c->fastest_peer_only = true;
    contest_add(c, "ours", once_kernel, r);
    contest_add(c, "copy, clEnqueueCopyBuffer", once_copy_buffer, &peer);
    contest_add(c, "copy, our kernel", once_copy_kernel, &peer);
    if (clp_kernel_standard(b->ctx, "copy", "b=16384", &peer.kernel))
        return fail_library(b->ctx);
    const int status = contest_time(b, c);
    clp_kernel_free(peer.kernel);
    return status;
}

static int row_softmax(bench *b, const bench_row *row, contest *c)
{
    device_run r;
    int status = device_open(&r, b, "softmax", row->params, 2, row->size, 1024);
    snprintf(c->shape, sizeof c->shape, "%lldx1024", (long long)row->size);
    if (!status)
        status = against_copy(b, row, c, &r, "softmax");
    device_close(&r);
    return status;
}

static int row_add(bench *b, const bench_row *row, contest *c)
{
    device_run r;
    int status = device_open(&r, b, "add", row->params, 3, 1, row->size);
    snprintf(c->shape, sizeof c->shape, "%lld", (long long)row->size);
    if (!status)
        status = against_copy(b, row, c, &r, "add");
    device_close(&r);
    return status;
}

/* ---- A launch against one by hand ---- */

static int once_empty(void *user)
{
    clpi_peer_empty *const *e = user;
    return clpi_peer_empty_launch(*e) ? fail("clEnqueueNDRangeKernel or clFinish failed") : DONE;
}

static int row_launch(bench *b, const bench_row *row, contest *c)
{
    static const char text[] = "kernel empty(inout x: f32[N]) grid (i = 1) { }\n";
    device_run r;
    clpi_peer_empty *e = NULL;
    int status = device_open(&r, b, NULL, NULL, 1, 1, row->size);
    if (!status &&
        (clp_kernel_from_text(b->ctx, text, NULL, NULL, &r.kernel) || clpi_peer_empty_new(b->ctx, r.buffers[0], &e)))
        status = fail_library(b->ctx);
    c->work = "launch";
    snprintf(c->shape, sizeof c->shape, "empty kernel");
    contest_add(c, "ours", once_kernel, &r);
    contest_add(c, "enqueue and finish by hand", once_empty, &e);
    if (!status)
        status = contest_time(b, c);
    clpi_peer_empty_free(e);
    device_close(&r);
    return status;
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

static int row_front_end(bench *b, const bench_row *row, contest *c)
{
    front f = { .device = b->ctx };
    (void)row;
    for (const clpi_embedded *file = clpi_embedded_kernels; file->file; file++)
        if (!strcmp(file->file, "attention.plk"))
            f.text = file->text;
    if (!f.text)
        return fail("front-end: the library has no attention.plk");
    if (clp_context_new(&(clp_context_opts){ .device = "interp" }, &f.ctx))
        return fail_library(NULL);
    clpi_str_init(&f.code, &f.ctx->env);
    c->work = "front-end";
    snprintf(c->shape, sizeof c->shape, "attention.plk");
    contest_add(c, "ours", once_front, &f);
    contest_add(c, "clBuildProgram", once_build, &f);
    int status = once_front(&f);
    if (!status)
        status = contest_time(b, c);
    clpi_str_done(&f.code);
    clp_context_free(f.ctx);
    return status;
}

const bench_row bench_device_rows[] = {
    { "matmul-512", "f32 matmul; OpenBLAS with all threads, CLBlast on the same device", row_matmul, 512,
      "bm=128, bn=256, bk=256" },
    { "matmul-1024", "the same, larger", row_matmul, 1024, "bm=256, bn=256, bk=128" },
    { "matmul-1536", "the same, larger", row_matmul, 1536, "bm=256, bn=256, bk=128" },
    { "matmul-2048", "the same, larger", row_matmul, 2048, "bm=256, bn=256, bk=128" },
    { "softmax", "f32 softmax of rows; a copy of as many bytes", row_softmax, 4096, "br=4, bn=1024" },
    { "add", "f32 sum of two arrays; a copy of as many bytes", row_add, 16 * 1024 * 1024, "b=16384" },
    { "launch", "a launch that does nothing, waited for; clEnqueueNDRangeKernel and clFinish by hand", row_launch, 1024,
      NULL },
    { "front-end", "attention.plk to OpenCL C; the device's clBuildProgram of that", row_front_end, 0, NULL },
    { 0 }
};
