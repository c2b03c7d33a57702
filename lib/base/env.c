/* env: the allocator hook.
 * In: counts and sizes. Out: memory of the context's allocator, or NULL with CLP_ERR_OOM recorded.
 * Decides nothing but this: the product n * size is checked, and an empty request still gets an address of its own, so that
 * NULL always means failure. All memory of the library that is not an error's text passes here.                          */
#include <stdlib.h>
#include <string.h>

#include "base/env.h"

static void *alloc_default(void *user, void *p, size_t old_bytes, size_t new_bytes)
{
    (void)user;
    (void)old_bytes;
    if (new_bytes == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, new_bytes);
}

/* The bytes asked of the allocator for n items; 0 when the product does not fit. */
static size_t bytes_of(size_t n, size_t size)
{
    if (n == 0 || size == 0)
        return 1;
    return n <= SIZE_MAX / size ? n * size : 0;
}

void clpi_env_init(clpi_env *env, clp_alloc_fn alloc, void *alloc_user)
{
    *env = (clpi_env){ .alloc = alloc ? alloc : alloc_default, .alloc_user = alloc_user };
}

void *clpi_alloc(clpi_env *env, size_t n, size_t size)
{
    size_t n_bytes = bytes_of(n, size);
    void *p = n_bytes ? env->alloc(env->alloc_user, NULL, 0, n_bytes) : NULL;
    if (!p) {
        clpi_fail(env, CLP_ERR_OOM, "out of memory: %zu items of %zu bytes", n, size);
        return NULL;
    }
    return memset(p, 0, n_bytes);
}

void *clpi_realloc(clpi_env *env, void *p, size_t old_n, size_t new_n, size_t size)
{
    size_t n_bytes = bytes_of(new_n, size);
    void *moved = n_bytes ? env->alloc(env->alloc_user, p, p ? bytes_of(old_n, size) : 0, n_bytes) : NULL;
    if (!moved)
        clpi_fail(env, CLP_ERR_OOM, "out of memory: %zu items of %zu bytes", new_n, size);
    return moved;
}

void clpi_free(clpi_env *env, void *p, size_t n, size_t size)
{
    if (p)
        (void)env->alloc(env->alloc_user, p, bytes_of(n, size), 0);
}
