/* bench_blas: OpenBLAS and CLBlast, products of f32 in row-major order.
 * In: work whose first two arrays and last one are matrices. Out: a side for each, or what is missing.
 * OpenBLAS works on the device's buffers, mapped. It reads its environment when it is loaded: what would give it another CPU's
 * kernels goes first. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#ifdef CLPALLAS_OPENCL
#include "cl/peer.h"
#endif

bool library_open(const char *const *files, void **out_library, char *why, size_t why_bytes)
{
    *out_library = NULL;
    for (int i = 0; !*out_library && files[i]; i++)
        *out_library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (!*out_library)
        snprintf(why, why_bytes, "%s cannot be loaded", files[0]);
    return *out_library;
}

bool library_find(void *library, const char *symbol, peer_fn *out, char *why, size_t why_bytes)
{
    void *address = dlsym(library, symbol);
    if (!address)
        snprintf(why, why_bytes, "the library has no %s", symbol);
    else
        memcpy(out, &address, sizeof address); /* C has no cast between the two; POSIX gives them one size */
    return address;
}

/* ---- OpenBLAS ---- */

enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, TRANSPOSED = 112 };
typedef void (*sgemm_fn)(int order, int x_transpose, int y_transpose, int m, int n, int k, float alpha, const float *x,
                         int x_stride, const float *y, int y_stride, float beta, float *z, int z_stride);

typedef struct blas {
    work *w;
    peer_fn sgemm, set_threads;
    int n_threads;
    bool ta, tb;
} blas;

static int begin_blas(void *user)
{
    blas *l = user;
    ((void (*)(int))l->set_threads)(l->n_threads);
    return work_map(l->w);
}

static int end_blas(void *user)
{
    return work_unmap(((blas *)user)->w);
}

static int once_blas(void *user)
{
    const blas *l = user;
    const work *w = l->w;
    const int64_t *x = w->shapes[0], *y = w->shapes[1], *z = w->shapes[w->n - 1];
    const int k = (int)(l->ta ? x[0] : x[1]);
    ((sgemm_fn)l->sgemm)(ROW_MAJOR, l->ta ? TRANSPOSED : NOT_TRANSPOSED, l->tb ? TRANSPOSED : NOT_TRANSPOSED, (int)z[0], (int)z[1], k, 1,
                         w->host[0], (int)x[1], w->host[1], (int)y[1], 0, w->host[w->n - 1], (int)z[1]);
    return DONE;
}

static bool open_blas(blas *l, char *why, size_t why_bytes)
{
    static const char *const files[] = { "libopenblas.so.0", "libopenblas.so", NULL };
    void *library;
    peer_fn count;
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_L2_SIZE");
    if (!library_open(files, &library, why, why_bytes) || !library_find(library, "cblas_sgemm", &l->sgemm, why, why_bytes) ||
        !library_find(library, "openblas_get_num_procs", &count, why, why_bytes) ||
        !library_find(library, "openblas_set_num_threads", &l->set_threads, why, why_bytes))
        return false;
    if (!l->n_threads)
        l->n_threads = ((int (*)(void))count)();
    return true;
}

/* n_threads 0: all that the library would use. */
static int add_blas_with(work *w, const peer_row *row, int n_threads, const char *name)
{
    blas *l = malloc(sizeof *l);
    if (!l)
        return fail("out of memory");
    *l = (blas){ .w = w, .n_threads = n_threads, .ta = row->how && row->how[0] == 't', .tb = row->how && row->how[0] && row->how[1] == 't' };
    side *s = work_add_side(w, row, name, once_blas, l);
    s->begin = begin_blas;
    s->end = end_blas;
    s->done = free;
    open_blas(l, s->missing, sizeof s->missing);
    return DONE;
}

static int add_blas(work *w, const peer_row *row)
{
    return add_blas_with(w, row, 0, "OpenBLAS");
}

static int add_blas_1(work *w, const peer_row *row)
{
    return add_blas_with(w, row, 1, "OpenBLAS, 1 thread");
}

const peer peer_blas = { .name = "OpenBLAS", .add = add_blas };
const peer peer_blas_1 = { .name = "OpenBLAS with one thread", .add = add_blas_1 };

/* ---- CLBlast ---- */

#ifdef CLPALLAS_OPENCL
typedef struct clblast {
    work *w;
    peer_fn sgemm;
} clblast;

static int once_clblast(void *user)
{
    const clblast *l = user;
    const work *w = l->w;
    const clpi_peer_matrices a = { w->args[0].buffer, w->args[1].buffer, w->args[w->n - 1].buffer, (size_t)w->shapes[w->n - 1][0],
                                   (size_t)w->shapes[w->n - 1][1], (size_t)w->shapes[0][1] };
    return clpi_peer_clblast(w->ctx, l->sgemm, &a) ? fail_library(w->ctx) : DONE;
}
#endif

static int add_clblast(work *w, const peer_row *row)
{
#ifdef CLPALLAS_OPENCL
    static const char *const files[] = { "libclblast.so.1", "libclblast.so", NULL };
    void *library;
    clblast *l = malloc(sizeof *l);
    if (!l)
        return fail("out of memory");
    *l = (clblast){ .w = w };
    side *s = work_add_side(w, row, "CLBlast", once_clblast, l);
    s->done = free;
    if (library_open(files, &library, s->missing, sizeof s->missing))
        library_find(library, "CLBlastSgemm", &l->sgemm, s->missing, sizeof s->missing);
#else
    side *s = work_add_side(w, row, "CLBlast", NULL, NULL);
    snprintf(s->missing, sizeof s->missing, "built without OpenCL");
#endif
    return DONE;
}

const peer peer_clblast = { .name = "CLBlast on the same device", .add = add_clblast };
