/* buffer: memory of the device, owned by the caller.
 * In: a context and a size. Out: a buffer; copies to and from it, checked against its size.                             */
#include "run/run.h"

clp_status clp_buffer_new(clp_context *ctx, size_t n_bytes, clp_buffer **out_buffer)
{
    if (out_buffer)
        *out_buffer = NULL;
    if (!ctx)
        return CLP_ERR_ARG;
    if (!out_buffer)
        return clpi_fail(&ctx->env, CLP_ERR_ARG, "clp_buffer_new: out_buffer is NULL");
    clp_buffer *buffer = clpi_alloc(&ctx->env, 1, sizeof *buffer);
    if (!buffer)
        return CLP_ERR_OOM;
    *buffer = (clp_buffer){ .ctx = ctx, .n_bytes = n_bytes, .serial = ++ctx->n_buffers };
    /* Devices have no memory of no bytes. */
    clp_status status = ctx->backend->alloc(ctx->dev, n_bytes ? n_bytes : 1, &buffer->mem);
    if (status) {
        clpi_free(&ctx->env, buffer, 1, sizeof *buffer);
        return status;
    }
    *out_buffer = buffer;
    return CLP_OK;
}

clp_status clpi_buffer_adopt(clp_context *ctx, void *mem, size_t n_bytes, clp_buffer **out_buffer)
{
    clp_buffer *buffer = *out_buffer = clpi_alloc(&ctx->env, 1, sizeof *buffer);
    if (!buffer)
        return CLP_ERR_OOM;
    *buffer = (clp_buffer){ ctx, mem, n_bytes, ++ctx->n_buffers };
    return CLP_OK;
}

void *clpi_buffer_mem(const clp_buffer *buffer, const clpi_backend *backend)
{
    return buffer->ctx->backend == backend ? buffer->mem : NULL;
}

void clp_buffer_free(clp_buffer *buffer)
{
    if (!buffer)
        return;
    buffer->ctx->backend->release(buffer->mem);
    clpi_free(&buffer->ctx->env, buffer, 1, sizeof *buffer);
}

size_t clp_buffer_bytes(const clp_buffer *buffer)
{
    return buffer->n_bytes;
}

static clp_status check_range(const clp_buffer *buffer, const char *call, size_t at, const void *memory, size_t n_bytes)
{
    clpi_env *env = &buffer->ctx->env;
    if (at > buffer->n_bytes || n_bytes > buffer->n_bytes - at)
        return clpi_fail(env, CLP_ERR_ARG, "%s: %zu bytes at %zu do not lie in a buffer of %zu", call, n_bytes, at,
                         buffer->n_bytes);
    if (!memory && n_bytes)
        return clpi_fail(env, CLP_ERR_ARG, "%s: the memory is NULL", call);
    return CLP_OK;
}

clp_status clp_buffer_write(clp_buffer *buffer, size_t at, const void *src, size_t n_bytes)
{
    if (!buffer)
        return CLP_ERR_ARG;
    CLP_TRY(check_range(buffer, "clp_buffer_write", at, src, n_bytes));
    return n_bytes ? buffer->ctx->backend->write(buffer->mem, at, src, n_bytes) : CLP_OK;
}

clp_status clp_buffer_read(clp_buffer *buffer, size_t at, void *dst, size_t n_bytes)
{
    if (!buffer)
        return CLP_ERR_ARG;
    CLP_TRY(check_range(buffer, "clp_buffer_read", at, dst, n_bytes));
    return n_bytes ? buffer->ctx->backend->read(buffer->mem, at, dst, n_bytes) : CLP_OK;
}
