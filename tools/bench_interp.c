/* bench_interp: the rows of `clpallas bench` that run on the interpreter, checked or not.
 * In: a row. Out: its contest, timed. All of it works in the host's memory, which is the interpreter's own. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* A kernel on host arrays. */
typedef struct host_run {
    clp_context *ctx;
    clp_kernel *kernel;
    clp_array args[3];
    int n;
} host_run;

static int once_kernel(void *user)
{
    host_run *r = user;
    return clp_run(r->kernel, r->args, r->n, NULL) ? fail_library(r->ctx) : DONE;
}

/* ---- Matrix product against one thread of OpenBLAS ---- */

typedef struct product {
    blas blas;
    int64_t n;
    const float *x, *y;
    float *z;
} product;

static int once_blas(void *user)
{
    const product *p = user;
    blas_sgemm(&p->blas, p->n, p->n, p->n, p->x, p->y, p->z);
    return DONE;
}

static int compare_products(contest *c, const host_run *r, product *p, int64_t n)
{
    if (once_kernel((void *)r))
        return FAILED;
    p->x = r->args[0].data;
    p->y = r->args[1].data;
    side *peer = contest_add(c, "OpenBLAS, 1 thread", once_blas, p);
    if (!blas_open(&p->blas, 1, peer->missing, sizeof peer->missing))
        return DONE;
    once_blas(p);
    clp_array theirs = r->args[2];
    theirs.data = p->z;
    const difference d = array_compare(&r->args[2], &theirs, 1e-5);
    return d.n_beyond ? fail("%s: %lld elements of %lld differ from OpenBLAS's", c->work, (long long)d.n_beyond,
                             (long long)(n * n))
                      : DONE;
}

static int row_interp_matmul(bench *b, const bench_row *row, contest *c)
{
    const int64_t n = row->size, shape[] = { n, n };
    tool_array a[4] = { 0 };
    host_run r = { .n = 3 };
    int status = DONE;
    for (int i = 0; !status && i < 4; i++)
        status = array_new(&a[i], CLP_F32, 2, shape) ? DONE : fail("out of memory");
    if (!status && clp_context_new(&(clp_context_opts){ .device = "interp" }, &r.ctx))
        status = fail_library(NULL);
    if (!status) {
        r.kernel = bench_kernel(b, r.ctx, "matmul", row->params);
        status = r.kernel ? DONE : FAILED;
    }
    if (!status) {
        bench_fill(a[0].array.data, n * n, 1);
        bench_fill(a[1].array.data, n * n, 2);
        for (int i = 0; i < 3; i++)
            r.args[i] = a[i].array;
        c->work = "interp-matmul";
        snprintf(c->params, sizeof c->params, "%s", b->o->params ? b->o->params : row->params);
        snprintf(c->shape, sizeof c->shape, "%lldx%lldx%lld", (long long)n, (long long)n, (long long)n);
        c->flops = 2.0 * (double)n * (double)n * (double)n;
        contest_add(c, "ours", once_kernel, &r);
        product p = { .n = n, .z = a[3].array.data };
        status = compare_products(c, &r, &p, n);
        if (!status)
            status = contest_time(b, c);
    }
    clp_kernel_free(r.kernel);
    clp_context_free(r.ctx);
    for (int i = 0; i < 4; i++)
        array_done(&a[i]);
    return status;
}

/* ---- Many small programs against as many allocations ---- */

static int once_malloc(void *user)
{
    const int64_t n = *(const int64_t *)user;
    for (int64_t i = 0; i < n; i++) {
        void *volatile p = malloc(64); /* volatile: the pair must not be optimised away */
        if (!p)
            return fail("out of memory");
        free(p);
    }
    return DONE;
}

static int row_interp_programs(bench *b, const bench_row *row, contest *c)
{
    static const char text[] = "kernel add_one(in x: i32[N] block [1] at (i), out o: i32[N] block [1] at (i))\n"
                               "grid (i = N) { o[...] = x[...] + 1; }\n";
    int64_t n = row->size;
    tool_array a[2] = { 0 };
    host_run r = { .n = 2 };
    int status = array_new(&a[0], CLP_I32, 1, &n) && array_new(&a[1], CLP_I32, 1, &n) ? DONE : fail("out of memory");
    if (!status && clp_context_new(&(clp_context_opts){ .device = "interp" }, &r.ctx))
        status = fail_library(NULL);
    if (!status && clp_kernel_from_text(r.ctx, text, NULL, row->params, &r.kernel))
        status = fail_library(r.ctx);
    if (!status) {
        r.args[0] = a[0].array;
        r.args[1] = a[1].array;
        c->work = "interp-programs";
        snprintf(c->shape, sizeof c->shape, "%lld programs", (long long)n);
        contest_add(c, "ours", once_kernel, &r);
        contest_add(c, "malloc, free of 64 bytes", once_malloc, &n);
        status = contest_time(b, c);
    }
    clp_kernel_free(r.kernel);
    clp_context_free(r.ctx);
    array_done(&a[0]);
    array_done(&a[1]);
    return status;
}

/* ---- Races looked for, against a plain run ---- */

static int once_check(void *user)
{
    host_run *r = user;
    clp_report *report;
    if (clp_check(r->kernel, r->args, r->n, &(clp_check_opts){ .checks = CLP_CHECK_RACES }, &report))
        return fail_library(r->ctx);
    const bool is_sound = clp_report_n_findings(report) == 0;
    clp_report_free(report);
    return is_sound ? DONE : fail("%s: a race is found where there is none", clp_kernel_name(r->kernel));
}

/* A standard kernel on three arrays of f32, n x n or of n elements. */
static int row_check(bench *b, const bench_row *row, contest *c, const char *name, int rank)
{
    const int64_t n = row->size, shape[] = { n, n };
    const char *params = b->o->params ? b->o->params : row->params;
    tool_array a[3] = { 0 };
    host_run r = { .n = 3 };
    int status = DONE;
    for (int i = 0; !status && i < 3; i++)
        status = array_new(&a[i], CLP_F32, rank, shape) ? DONE : fail("out of memory");
    if (!status && clp_context_new(&(clp_context_opts){ .device = "interp" }, &r.ctx))
        status = fail_library(NULL);
    if (!status) {
        r.kernel = bench_kernel(b, r.ctx, name, row->params);
        status = r.kernel ? DONE : FAILED;
    }
    if (!status) {
        for (int i = 0; i < 3; i++) {
            bench_fill(a[i].array.data, array_elems(&a[i].array), (uint32_t)i + 1);
            r.args[i] = a[i].array;
        }
        c->work = row->name;
        snprintf(c->params, sizeof c->params, "%s", params ? params : "");
        snprintf(c->shape, sizeof c->shape, rank == 2 ? "%lldx%lldx%lld" : "%lld", (long long)n, (long long)n, (long long)n);
        contest_add(c, "races looked for", once_check, &r);
        contest_add(c, "a plain run", once_kernel, &r);
        status = contest_time(b, c);
    }
    clp_kernel_free(r.kernel);
    clp_context_free(r.ctx);
    for (int i = 0; i < 3; i++)
        array_done(&a[i]);
    return status;
}

static int row_check_matmul(bench *b, const bench_row *row, contest *c)
{
    return row_check(b, row, c, "matmul", 2);
}

static int row_check_add(bench *b, const bench_row *row, contest *c)
{
    return row_check(b, row, c, "add", 1);
}

const bench_row bench_interp_rows[] = {
    { "interp-matmul", "f32 matmul in blocks of 128 on the interpreter; one thread of OpenBLAS", row_interp_matmul,
      1024, "bm=128, bn=128, bk=128" },
    { "interp-programs", "programs of one element on the interpreter; as many malloc and free of 64 bytes",
      row_interp_programs, 100000, NULL },
    { "check-matmul", "f32 matmul in blocks of 128 on the interpreter, races looked for; a plain run of it", row_check_matmul, 1024,
      "bm=128, bn=128, bk=128" },
    { "check-add", "f32 add on the interpreter, races looked for; a plain run of it", row_check_add, 1 << 22, NULL },
    { 0 }
};
