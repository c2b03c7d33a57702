/* memory: where a launch's operands lie on the device.
 * In: a bound launch. Out: a place for each operand; pieces of memory made for arrays of the host, and undone again.
 * A device that shares the host's memory gets the caller's own; any other a copy of the bytes from an array's first element
 * to its last, which is copied back when something in it was written. Arrays that overlap lie in one piece, so that what is
 * written through one name is read through the other.                                                                    */
#include "run/run.h"

static clp_status make_piece(clp_context *ctx, clpi_piece *piece)
{
    void *data = (void *)piece->start;
    if (piece->n_bytes && ctx->limits.shares_host_memory)
        return ctx->backend->wrap(ctx->dev, data, piece->n_bytes, &piece->mem);
    /* An array without elements still has memory: a kernel may take its address. */
    CLP_TRY(ctx->backend->alloc(ctx->dev, piece->n_bytes ? piece->n_bytes : 16, &piece->mem));
    piece->is_copy = piece->n_bytes > 0;
    return piece->is_copy ? ctx->backend->write(piece->mem, 0, data, piece->n_bytes) : CLP_OK;
}

/* Buffers are places as they are. What is left are arrays of the host; how many. */
static int place_buffers(clp_event *event)
{
    const clp_kernel *k = event->kernel;
    int n_host = 0;
    for (int a = 0; a < k->n_operands; a++) {
        const clp_buffer *buffer = event->arrays[a].buffer;
        if (buffer)
            event->places[k->operands[a]] = (clpi_place){ buffer->mem, 0 };
        else
            n_host += k->ir->operands[k->operands[a]].role != CLP_SCALAR;
    }
    return n_host;
}

static clp_status place_host_arrays(clp_event *event)
{
    const clp_kernel *k = event->kernel;
    const size_t n = (size_t)k->n_operands;
    int n_spans = 0;
    event->pieces = CLPI_NEW_N(&event->arena, clpi_piece, n);
    clpi_span *spans = CLPI_NEW_N(&event->arena, clpi_span, n), *all = CLPI_NEW_N(&event->arena, clpi_span, n);
    if (!event->pieces || !spans || !all)
        return CLP_ERR_OOM;
    for (int a = 0; a < k->n_operands; a++) {
        const clpi_operand *x = &k->ir->operands[k->operands[a]];
        if (event->arrays[a].buffer || x->role == CLP_SCALAR)
            continue;
        spans[n_spans] = clpi_span_of(event->bound, k->operands[a], &event->arrays[a]);
        spans[n_spans++].space = (uintptr_t)clp_dtype_bits(x->dtype); /* an element stands a whole number of its own from the piece's start */
    }
    event->n_pieces = clpi_spans_join(spans, n_spans, all);
    for (int p = 0; p < event->n_pieces; p++)
        event->pieces[p] = (clpi_piece){ .start = (uintptr_t)all[p].start, .n_bytes = (size_t)(all[p].end - all[p].start) };
    for (int i = 0; i < n_spans; i++)
        event->pieces[spans[i].region].is_written |= k->plan->is_written[spans[i].operand];
    for (int p = 0; p < event->n_pieces; p++)
        CLP_TRY(make_piece(event->ctx, &event->pieces[p]));
    for (int i = 0; i < n_spans; i++) {
        const clpi_span *s = &spans[i];
        event->places[s->operand] = (clpi_place){ event->pieces[s->region].mem, (size_t)(s->start - all[s->region].start) };
        event->bound->operands[s->operand].offset = s->element_0;
    }
    return CLP_OK;
}

clp_status clpi_memory_make(clp_event *event)
{
    event->places = CLPI_NEW_N(&event->arena, clpi_place, (size_t)event->kernel->ir->n_operands);
    if (!event->places)
        return CLP_ERR_OOM;
    return place_buffers(event) > 0 ? place_host_arrays(event) : CLP_OK;
}

clp_status clpi_memory_read_back(const clp_event *event)
{
    const clpi_backend *backend = event->ctx->backend;
    for (int p = 0; p < event->n_pieces; p++) {
        const clpi_piece *piece = &event->pieces[p];
        if (piece->is_copy && piece->is_written)
            CLP_TRY(backend->read(piece->mem, 0, (void *)piece->start, piece->n_bytes));
    }
    return CLP_OK;
}

void clpi_memory_release(clp_event *event)
{
    for (int p = 0; p < event->n_pieces; p++)
        if (event->pieces[p].mem)
            event->ctx->backend->release(event->pieces[p].mem);
    event->n_pieces = 0;
}
