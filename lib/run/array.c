/* array: the arrays of a launch by themselves.
 * In: what the caller passes. Out: copies of the descriptions, with every scalar on the host, or ARG.
 * What is checked here is what the plan cannot see: pointers, alignment, buffers. How arrays fit the kernel is its affair. */
#include "run/run.h"

static bool is_empty(const clp_array *array)
{
    for (int d = 0; d < array->rank; d++)
        if (array->shape[d] == 0)
            return true;
    return false;
}

static clp_status check_array(const clp_event *event, const clpi_operand *x, const clp_array *array)
{
    clpi_env *env = &event->ctx->env;
    if (array->rank > 0 && !array->shape)
        return clpi_fail(env, CLP_ERR_ARG, "%s: the shape is NULL", x->name);
    if (array->rank < 0 || array->rank > CLP_MAX_RANK)
        return clpi_fail(env, CLP_ERR_ARG, "%s: expected rank %d, got rank %d", x->name, x->rank, array->rank);
    if (array->data && array->buffer)
        return clpi_fail(env, CLP_ERR_ARG, "%s: it has both data and a buffer", x->name);
    if (!array->data && !array->buffer && !is_empty(array))
        return clpi_fail(env, CLP_ERR_ARG, "%s: it has neither data nor a buffer", x->name);
    if (array->buffer && array->buffer->ctx != event->ctx)
        return clpi_fail(env, CLP_ERR_ARG, "%s: its buffer belongs to another context", x->name);
    size_t alignment = (size_t)(clp_dtype_bits(x->dtype) + 7) / 8;
    if (array->dtype == x->dtype && (uintptr_t)array->data % alignment != 0)
        return clpi_fail(env, CLP_ERR_ARG, "%s: its data is not aligned to %zu bytes, as %s asks", x->name, alignment,
                         clp_dtype_name(x->dtype));
    return CLP_OK;
}

static clp_status check_buffer(const clp_event *event, int operand, const clp_array *array)
{
    const clpi_span s = clpi_span_of(event->bound, operand, array);
    if (s.start == s.end || (s.start >= 0 && (uint64_t)s.end <= array->buffer->n_bytes))
        return CLP_OK;
    return clpi_fail(&event->ctx->env, CLP_ERR_ARG, "%s: it reaches bytes %lld to %lld of a buffer of %zu",
                     event->kernel->ir->operands[operand].name, (long long)s.start, (long long)s.end, array->buffer->n_bytes);
}

/* A scalar of a buffer is read now: the launch's numbers depend on it. What is no scalar at all, binding refuses. */
static clp_status fetch_scalar(clp_event *event, const clpi_operand *x, clp_array *array)
{
    size_t n_bytes = (size_t)clp_dtype_bits(x->dtype) / 8;
    if (array->dtype != x->dtype || array->rank != 0)
        return CLP_OK;
    if (array->offset < 0 || (uint64_t)array->offset >= array->buffer->n_bytes / n_bytes)
        return clpi_fail(&event->ctx->env, CLP_ERR_ARG, "%s: element %lld does not lie in a buffer of %zu bytes", x->name,
                         (long long)array->offset, array->buffer->n_bytes);
    void *value = CLPI_NEW(&event->arena, uint64_t);
    if (!value)
        return CLP_ERR_OOM;
    CLP_TRY(event->ctx->backend->read(array->buffer->mem, (size_t)array->offset * n_bytes, value, n_bytes));
    array->data = value;
    array->buffer = NULL;
    array->offset = 0;
    return CLP_OK;
}

clp_status clpi_arrays_take(clp_event *event, const clp_array *arrays, int n_arrays)
{
    const clp_kernel *k = event->kernel;
    if (n_arrays < 0)
        return clpi_fail(&event->ctx->env, CLP_ERR_ARG, "%s: expected %d arrays, got %d", k->ir->name, k->n_operands, n_arrays);
    if (n_arrays > 0 && !arrays)
        return clpi_fail(&event->ctx->env, CLP_ERR_ARG, "%s: the arrays are NULL", k->ir->name);
    event->arrays = CLPI_NEW_N(&event->arena, clp_array, (size_t)n_arrays);
    if (!event->arrays)
        return CLP_ERR_OOM;
    for (int i = 0; i < n_arrays; i++) {
        event->arrays[i] = arrays[i];
        if (i >= k->n_operands)
            continue; /* binding says that there are too many */
        const clpi_operand *x = &k->ir->operands[k->operands[i]];
        CLP_TRY(check_array(event, x, &arrays[i]));
        if (x->role == CLP_SCALAR && arrays[i].buffer)
            CLP_TRY(fetch_scalar(event, x, &event->arrays[i]));
    }
    return CLP_OK;
}

clp_status clpi_arrays_check_buffers(const clp_event *event)
{
    const clp_kernel *k = event->kernel;
    for (int i = 0; i < k->n_operands; i++)
        if (event->arrays[i].buffer)
            CLP_TRY(check_buffer(event, k->operands[i], &event->arrays[i]));
    return CLP_OK;
}
