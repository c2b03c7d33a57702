/* bench_loops: loops in plain C, as one would write them by hand, and copies.
 * In: work, and the name of a loop. Out: a side, or what is missing. The loops work on the arrays themselves, mapped, on all
 * cores by OpenMP unless they say otherwise. What stands in the inner loops is compiled for several instruction sets. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "bench.h"
#ifdef CLPALLAS_OPENCL
#include "cl/peer.h"
#endif

#ifdef _OPENMP
#define PARALLEL_FOR _Pragma("omp parallel for schedule(static)")
#else
#define PARALLEL_FOR
#endif
#if defined __x86_64__ && defined __GLIBC__ && !defined __SANITIZE_ADDRESS__
#define FOR_SEVERAL_CPUS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_SEVERAL_CPUS
#endif

/* ---- Loops ---- */

enum { MAX_BINS = 4096 };

/* histogram: x, h. Each thread counts on its own first. */
static void histogram(const work *w)
{
    const int32_t *x = w->host[0];
    int32_t *h = w->host[1];
    const int64_t n = w->shapes[0][0], n_bins = w->shapes[1][0];
#ifdef _OPENMP
#pragma omp parallel
#endif
    {
        int32_t mine[MAX_BINS] = { 0 };
#ifdef _OPENMP
#pragma omp for schedule(static) nowait
#endif
        for (int64_t i = 0; i < n; i++)
            if (x[i] >= 0 && x[i] < n_bins)
                mine[x[i]]++;
#ifdef _OPENMP
#pragma omp critical
#endif
        for (int64_t k = 0; k < n_bins; k++)
            h[k] += mine[k];
    }
}

FOR_SEVERAL_CPUS
static void stencil_row(const float *above, const float *x, const float *below, const float *k, float *o, int64_t n)
{
    for (int64_t c = 0; c < n; c++)
        o[c] = k[0] * above[c - 1] + k[1] * above[c] + k[2] * above[c + 1] + k[3] * x[c - 1] + k[4] * x[c] + k[5] * x[c + 1] +
               k[6] * below[c - 1] + k[7] * below[c] + k[8] * below[c + 1];
}

/* The element of a stencil's array, which is 0 outside. */
static float outside_0(const float *x, int64_t n_rows, int64_t n, int64_t r, int64_t c)
{
    return r < 0 || r >= n_rows || c < 0 || c >= n ? 0 : x[r * n + c];
}

/* stencil3x3: x, w, o. */
static void stencil3x3(const work *w)
{
    const float *x = w->host[0], *k = w->host[1];
    float *o = w->host[2];
    const int64_t n_rows = w->shapes[0][0], n = w->shapes[0][1];
    PARALLEL_FOR
    for (int64_t r = 0; r < n_rows; r++) {
        const bool is_inside = r > 0 && r < n_rows - 1 && n > 2;
        const float *at = x + r * n;
        if (is_inside)
            stencil_row(at - n + 1, at + 1, at + n + 1, k, o + r * n + 1, n - 2);
        for (int64_t c = 0; c < n; c += is_inside ? n - 1 : 1) {
            float sum = 0;
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++)
                    sum += k[3 * a + b] * outside_0(x, n_rows, n, r + a - 1, c + b - 1);
            o[r * n + c] = sum;
        }
    }
}

/* row_cumsum: x, o. */
static void row_cumsum(const work *w)
{
    const float *x = w->host[0];
    float *o = w->host[1];
    const int64_t n_rows = w->shapes[0][0], n = w->shapes[0][1];
    PARALLEL_FOR
    for (int64_t r = 0; r < n_rows; r++) {
        float sum = 0;
        for (int64_t c = 0; c < n; c++)
            o[r * n + c] = sum += x[r * n + c];
    }
}

FOR_SEVERAL_CPUS
static float largest(const float *x, int64_t n)
{
    float m = -INFINITY;
    for (int64_t c = 0; c < n; c++)
        m = x[c] > m ? x[c] : m;
    return m;
}

FOR_SEVERAL_CPUS
static void scale(float *x, float by, int64_t n)
{
    for (int64_t c = 0; c < n; c++)
        x[c] *= by;
}

/* softmax: x, o. One thread, and the C library's expf. */
static void softmax(const work *w)
{
    const float *x = w->host[0];
    float *o = w->host[1];
    const int64_t n_rows = w->shapes[0][0], n = w->shapes[0][1];
    for (int64_t r = 0; r < n_rows; r++) {
        const float m = largest(x + r * n, n);
        float sum = 0;
        for (int64_t c = 0; c < n; c++) {
            const float e = expf(x[r * n + c] - m);
            o[r * n + c] = e;
            sum += e;
        }
        scale(o + r * n, 1 / sum, n);
    }
}

/* ---- The side ---- */

typedef struct loop {
    const char *name, *shown;
    void (*run)(const work *w);
    bool is_parallel;
} loop;

static const loop loops[] = {
    { "histogram", "loop in C, OpenMP", histogram, true },
    { "stencil3x3", "loop in C, OpenMP", stencil3x3, true },
    { "row_cumsum", "loop in C, OpenMP", row_cumsum, true },
    { "softmax", "loop in C, expf, 1 thread", softmax, false },
};
enum { N_LOOPS = sizeof loops / sizeof *loops };

typedef struct loop_side {
    work *w;
    const loop *loop;
} loop_side;

static int begin_loop(void *user)
{
    return work_map(((loop_side *)user)->w);
}

static int end_loop(void *user)
{
    return work_unmap(((loop_side *)user)->w);
}

static int once_loop(void *user)
{
    const loop_side *s = user;
    s->loop->run(s->w);
    return DONE;
}

static void say_openmp(side *s)
{
#ifndef _OPENMP
    snprintf(s->missing, sizeof s->missing, "built without OpenMP");
#else
    (void)s;
#endif
}

static int add_loop(work *w, const peer_row *row)
{
    const loop *l = loops;
    while (l < loops + N_LOOPS - 1 && strcmp(l->name, row->how))
        l++;
    loop_side *s = malloc(sizeof *s);
    if (!s)
        return fail("out of memory");
    *s = (loop_side){ w, l };
    side *x = work_add_side(w, row, l->shown, once_loop, s);
    x->begin = begin_loop;
    x->end = end_loop;
    x->done = free;
    if (l->is_parallel)
        say_openmp(x);
    return DONE;
}

const peer peer_loop = { .name = "a loop in C", .add = add_loop };

/* ---- Copies ---- */

#ifdef CLPALLAS_OPENCL
/* From one array of half the work's bytes to another: as many bytes are moved in all. */
typedef struct copies {
    work *w;
    size_t n_bytes;
    clp_buffer *from, *to;
    clp_kernel *kernel;
    void *host_from, *host_to;
    int n_sides; /* that are still there */
} copies;

static void done_copies(void *user)
{
    copies *c = user;
    if (--c->n_sides > 0)
        return;
    clp_buffer_free(c->from);
    clp_buffer_free(c->to);
    clp_kernel_free(c->kernel);
    free(c);
}

static int once_copy_buffer(void *user)
{
    const copies *c = user;
    const clpi_peer_pair both = { c->from, c->to, c->n_bytes };
    return clpi_peer_copy(c->w->ctx, &both, 1) ? fail_library(c->w->ctx) : DONE;
}

static int once_copy_kernel(void *user)
{
    const copies *c = user;
    const int64_t n = (int64_t)(c->n_bytes / sizeof(float));
    const clp_array args[] = { { .dtype = CLP_F32, .rank = 1, .shape = &n, .buffer = c->from },
                               { .dtype = CLP_F32, .rank = 1, .shape = &n, .buffer = c->to } };
    return clp_run(c->kernel, args, 2, NULL) ? fail_library(c->w->ctx) : DONE;
}

static int begin_copy(void *user)
{
    copies *c = user;
    return clpi_peer_map(c->w->ctx, c->from, &c->host_from) || clpi_peer_map(c->w->ctx, c->to, &c->host_to) ? fail_library(c->w->ctx) : DONE;
}

static int end_copy(void *user)
{
    copies *c = user;
    return clpi_peer_unmap(c->w->ctx, c->from, c->host_from) || clpi_peer_unmap(c->w->ctx, c->to, c->host_to) ? fail_library(c->w->ctx) : DONE;
}

static int once_copy_loop(void *user)
{
    const copies *c = user;
    enum { PIECE = 1 << 16 };
    const int64_t n = (int64_t)(c->n_bytes / PIECE);
    PARALLEL_FOR
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)c->host_to + i * PIECE, (const char *)c->host_from + i * PIECE, PIECE);
    memcpy((char *)c->host_to + n * PIECE, (const char *)c->host_from + n * PIECE, c->n_bytes % PIECE);
    return DONE;
}

static void add_copy(work *w, const peer_row *row, const char *name, int (*once)(void *), copies *c)
{
    side *s = work_add_side(w, row, name, once, c);
    s->done = done_copies;
    s->group = row->group ? row->group : -1; /* copies are ways to do the same */
    c->n_sides++;
}
#endif

static int add_copies(work *w, const peer_row *row)
{
#ifdef CLPALLAS_OPENCL
    copies *c = calloc(1, sizeof *c);
    if (!c)
        return fail("out of memory");
    c->w = w;
    c->n_bytes = (size_t)(work_traffic(w) / 2) / sizeof(float) * sizeof(float);
    add_copy(w, row, "copy, clEnqueueCopyBuffer", once_copy_buffer, c);
    add_copy(w, row, "copy, our kernel", once_copy_kernel, c);
    add_copy(w, row, "copy, memcpy and OpenMP", once_copy_loop, c);
    side *s = &w->c->sides[w->c->n_sides - 1];
    s->begin = begin_copy;
    s->end = end_copy;
    say_openmp(s);
    /* Written, so that each page is memory of its own. */
    clp_array content = { .dtype = CLP_U8, .rank = 1, .shape = (int64_t[]){ (int64_t)c->n_bytes }, .data = malloc(c->n_bytes + 1) };
    if (!content.data)
        return fail("out of memory");
    bench_fill(&content, 1, 0);
    const bool is_made = !clp_buffer_new(w->ctx, c->n_bytes, &c->from) && !clp_buffer_new(w->ctx, c->n_bytes, &c->to) &&
                         !clp_buffer_write(c->from, 0, content.data, c->n_bytes) && !clp_buffer_write(c->to, 0, content.data, c->n_bytes) &&
                         !clp_kernel_standard(w->ctx, "copy", "b=16384", &c->kernel);
    free(content.data);
    return is_made ? DONE : fail_library(w->ctx);
#else
    side *s = work_add_side(w, row, "copy", NULL, NULL);
    snprintf(s->missing, sizeof s->missing, "built without OpenCL");
    return DONE;
#endif
}

const peer peer_copy = { .name = "a copy of as many bytes", .add = add_copies, .is_other_work = true };
