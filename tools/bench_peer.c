/* bench_peer: the libraries that `clpallas bench` compares with.
 * In: nothing. Out: their matrix product, or what is missing. They are loaded when they are wanted, so that the command
 * runs without them. OpenBLAS reads its environment when it is loaded: what would give it another CPU's kernels goes
 * first.  */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111 };
typedef void (*sgemm_fn)(int order, int x_transpose, int y_transpose, int m, int n, int k, float alpha, const float *x,
                         int x_stride, const float *y, int y_stride, float beta, float *z, int z_stride);

static bool find(const char *const *files, const char *symbol, void **library, peer_fn *out, char *why,
                 size_t why_bytes)
{
    for (int i = 0; !*library && files[i]; i++)
        *library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (!*library) {
        snprintf(why, why_bytes, "%s cannot be loaded", files[0]);
        return false;
    }
    void *address = dlsym(*library, symbol);
    if (!address) {
        snprintf(why, why_bytes, "%s has no %s", files[0], symbol);
        return false;
    }
    memcpy(out, &address, sizeof address); /* C has no cast between the two; POSIX gives them one size */
    return true;
}

bool blas_open(blas *out, int n_threads, char *why, size_t why_bytes)
{
    static const char *const files[] = { "libopenblas.so.0", "libopenblas.so", NULL };
    void *library = NULL;
    peer_fn set = NULL, count = NULL;
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_L2_SIZE");
    if (!find(files, "cblas_sgemm", &library, &out->sgemm, why, why_bytes) ||
        !find(files, "openblas_get_num_procs", &library, &count, why, why_bytes) ||
        !find(files, "openblas_set_num_threads", &library, &set, why, why_bytes))
        return false;
    out->n_threads = n_threads ? n_threads : ((int (*)(void))count)();
    ((void (*)(int))set)(out->n_threads);
    return true;
}

void blas_sgemm(const blas *l, int64_t m, int64_t n, int64_t k, const float *x, const float *y, float *z)
{
    ((sgemm_fn)l->sgemm)(ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, (int)m, (int)n, (int)k, 1, x, (int)k, y, (int)n, 0,
                         z, (int)n);
}

bool clblast_open(peer_fn *out_sgemm, char *why, size_t why_bytes)
{
    static const char *const files[] = { "libclblast.so.1", "libclblast.so", NULL };
    void *library = NULL;
    return find(files, "CLBlastSgemm", &library, out_sgemm, why, why_bytes);
}
