/* memory: buffers of a device, and the host's memory as one.
 * In: sizes, the caller's memory or cl_mem. Out: memory objects of the backend.
 * Wrapped memory belongs to the device while a launch runs; mapping and unmapping it hands it back to the host, and costs
 * nothing where the device works in place.                                                                             */
#define _DEFAULT_SOURCE         /* madvise */
#include <assert.h>

#include "cl/cl.h"
#ifdef __linux__
#include <sys/mman.h>
#endif

/* Buffers are whole cache lines: code may read the whole vector, or change the whole word, that an element lies in. */
enum { ROUND_TO = 128 };

static clp_status mem_new(clpi_cl_device *dev, cl_mem_flags flags, void *host, size_t n_bytes, void **out_mem)
{
    *out_mem = NULL;
    clpi_env *env = dev->host.env;
    clpi_cl_mem *m = clpi_alloc(env, 1, sizeof *m);
    if (!m)
        return CLP_ERR_OOM;
    cl_int code = CL_SUCCESS;
    size_t whole = host ? n_bytes : n_bytes > SIZE_MAX - ROUND_TO ? n_bytes : (n_bytes / ROUND_TO + 1) * ROUND_TO;
    *m = (clpi_cl_mem){ dev, clCreateBuffer(dev->context, flags, whole, host, &code), n_bytes, ++dev->n_mems, host != NULL };
    if (code != CL_SUCCESS) {
        clpi_free(env, m, 1, sizeof *m);
        if (code == CL_INVALID_BUFFER_SIZE)
            return clpi_fail(env, CLP_ERR_OOM, "a buffer of %zu bytes is more than the device can have", n_bytes);
        return clpi_cl_fail(env, "clCreateBuffer", code);
    }
    *out_mem = m;
    return CLP_OK;
}

/* Asks Linux for huge pages, before anybody has touched the memory. An array of 16 MB takes 4096 small ones, which is more than a core
 * remembers, and hardware that fetches ahead stops at the end of each: rows of 4 KB, summed, normalised or put through softmax, take
 * 10..30 % longer in those. It is a wish: whatever fails here leaves a buffer that works. The device's queue may be the caller's, and
 * stand still, so it is asked in another.                                                                                   */
static void spread_over_huge_pages(const clpi_cl_mem *m)
{
#ifdef MADV_HUGEPAGE
    enum { HUGE_PAGE = 2 << 20, WORTH_IT = 2 * HUGE_PAGE };
    if (!m->dev->limits.is_cpu || !m->dev->limits.shares_host_memory || m->n_bytes < WORTH_IT)
        return;
    cl_command_queue queue = clCreateCommandQueue(m->dev->context, m->dev->id, 0, NULL);
    if (!queue)
        return;
    void *data = clEnqueueMapBuffer(queue, m->mem, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, m->n_bytes, 0, NULL, NULL, NULL);
    if (data) {
        const uintptr_t begin = ((uintptr_t)data + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        const uintptr_t end = ((uintptr_t)data + m->n_bytes) / HUGE_PAGE * HUGE_PAGE;
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
        clEnqueueUnmapMemObject(queue, m->mem, data, 0, NULL, NULL);
        clFinish(queue);
    }
    clReleaseCommandQueue(queue);
#else
    (void)m;
#endif
}

clp_status clpi_cl_alloc(void *dev, size_t n_bytes, void **out_mem)
{
    CLP_TRY(mem_new(dev, CL_MEM_READ_WRITE, NULL, n_bytes, out_mem));
    spread_over_huge_pages(*out_mem);
    return CLP_OK;
}

clp_status clpi_cl_wrap(void *device, void *data, size_t n_bytes, void **out_mem)
{
    clpi_cl_device *dev = device;
    *out_mem = NULL;
    if (!dev->limits.shares_host_memory)
        return clpi_fail(dev->host.env, CLP_ERR_UNSUPPORTED, "the device has memory of its own");
    return mem_new(dev, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, data, n_bytes, out_mem);
}

clp_status clpi_cl_adopt_mem(clpi_cl_device *dev, cl_mem mem, void **out_mem)
{
    *out_mem = NULL;
    clpi_env *env = dev->host.env;
    size_t n_bytes = 0;
    CLPI_CL_TRY(env, "clGetMemObjectInfo", clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof n_bytes, &n_bytes, NULL));
    clpi_cl_mem *m = clpi_alloc(env, 1, sizeof *m);
    if (!m)
        return CLP_ERR_OOM;
    cl_int code = clRetainMemObject(mem);
    if (code != CL_SUCCESS) {
        clpi_free(env, m, 1, sizeof *m);
        return clpi_cl_fail(env, "clRetainMemObject", code);
    }
    *m = (clpi_cl_mem){ dev, mem, n_bytes, ++dev->n_mems, false };
    *out_mem = m;
    return CLP_OK;
}

void clpi_cl_release(void *mem)
{
    clpi_cl_mem *m = mem;
    clReleaseMemObject(m->mem);
    clpi_free(m->dev->host.env, m, 1, sizeof *m);
}

clp_status clpi_cl_write(void *mem, size_t at, const void *src, size_t n_bytes)
{
    clpi_cl_mem *m = mem;
    if (n_bytes == 0)
        return CLP_OK;
    CLPI_CL_TRY(m->dev->host.env, "clEnqueueWriteBuffer",
                clEnqueueWriteBuffer(m->dev->queue, m->mem, CL_TRUE, at, n_bytes, src, 0, NULL, NULL));
    return CLP_OK;
}

clp_status clpi_cl_read(void *mem, size_t at, void *dst, size_t n_bytes)
{
    clpi_cl_mem *m = mem;
    if (n_bytes == 0)
        return CLP_OK;
    CLPI_CL_TRY(m->dev->host.env, "clEnqueueReadBuffer",
                clEnqueueReadBuffer(m->dev->queue, m->mem, CL_TRUE, at, n_bytes, dst, 0, NULL, NULL));
    return CLP_OK;
}

clp_status clpi_cl_show_host(clpi_cl_mem *m)
{
    clpi_env *env = m->dev->host.env;
    cl_int code = CL_SUCCESS;
    assert(m->is_wrapped);
    void *data = clEnqueueMapBuffer(m->dev->queue, m->mem, CL_TRUE, CL_MAP_READ, 0, m->n_bytes, 0, NULL, NULL, &code);
    CLPI_CL_TRY(env, "clEnqueueMapBuffer", code);
    CLPI_CL_TRY(env, "clEnqueueUnmapMemObject", clEnqueueUnmapMemObject(m->dev->queue, m->mem, data, 0, NULL, NULL));
    return CLP_OK;
}
