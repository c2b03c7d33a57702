/* memory: where a launch's operands lie on the device.
 * In: a bound launch. Out: a place for each operand; pieces of memory made for arrays of the host, and undone again.
 * A device that shares the host's memory gets the caller's own; any other a copy of the bytes from an array's first element
 * to its last, which is copied back when something in it was written. Operands of one storage that overlap lie in one piece,
 * so that what is written through one name is read through the other.                                                   */
#include <assert.h>

#include "run/run.h"

/* The bytes of the host that an array reaches, and its element 0 counted from their start. */
typedef struct span { uintptr_t start; size_t n_bytes; int64_t element_0; } span;

static span span_of(const clp_event *event, int operand, const clp_array *array)
{
    const clpi_operand *x = &event->kernel->ir->operands[operand];
    const clpi_bound_operand *o = &event->bound->operands[operand];
    int64_t lo, hi, bits = clp_dtype_bits(x->dtype);
    bool is_counted = clpi_extent(o, x->rank, &lo, &hi);
    assert(is_counted);
    (void)is_counted;
    int64_t start = bits < 8 ? lo >> 1 : lo * (bits / 8), end = bits < 8 ? (hi + 1) >> 1 : hi * (bits / 8);
    return (span){ (uintptr_t)array->data + (uintptr_t)start, lo == hi ? 0 : (size_t)(end - start),
                   o->offset - (bits < 8 ? 2 * start : lo) };
}

static bool overlap(const clpi_piece *p, const span *s)
{
    return p->n_bytes && p->start < s->start + s->n_bytes && s->start < p->start + p->n_bytes;
}

/* The piece for a span: one with the very same bytes, or a new one that takes in those of the storage that it overlaps. */
static int piece_for(clp_event *event, int *piece_of, int storage, const span *s)
{
    clpi_piece *pieces = event->pieces;
    for (int p = 0; p < event->n_pieces; p++)
        if (pieces[p].storage >= 0 && pieces[p].start == s->start && pieces[p].n_bytes == s->n_bytes)
            return p;
    int n = event->n_pieces++;
    span all = *s;
    for (int p = 0; p < n; p++) {
        if (pieces[p].storage != storage || !overlap(&pieces[p], &all))
            continue;
        uintptr_t end = all.start + all.n_bytes, other_end = pieces[p].start + pieces[p].n_bytes;
        all.start = pieces[p].start < all.start ? pieces[p].start : all.start;
        all.n_bytes = (size_t)((other_end > end ? other_end : end) - all.start);
        for (int i = 0; i < event->kernel->ir->n_operands; i++)
            piece_of[i] = piece_of[i] == p ? n : piece_of[i];
        pieces[p] = (clpi_piece){ .n_bytes = 0, .storage = -1 };
        p = -1; /* what has grown may overlap one that was passed */
    }
    pieces[n] = (clpi_piece){ .start = all.start, .n_bytes = all.n_bytes, .storage = storage };
    return n;
}

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
    const size_t n = (size_t)k->ir->n_operands;
    event->pieces = CLPI_NEW_N(&event->arena, clpi_piece, n);
    int *piece_of = CLPI_NEW_N(&event->arena, int, n);
    span *spans = CLPI_NEW_N(&event->arena, span, n);
    if (!event->pieces || !piece_of || !spans)
        return CLP_ERR_OOM;
    for (size_t i = 0; i < n; i++)
        piece_of[i] = -1;
    for (int a = 0; a < k->n_operands; a++) {
        int i = k->operands[a];
        if (event->arrays[a].buffer || k->ir->operands[i].role == CLP_SCALAR)
            continue;
        spans[i] = span_of(event, i, &event->arrays[a]);
        piece_of[i] = piece_for(event, piece_of, k->plan->storage[i], &spans[i]);
        event->bound->operands[i].offset = spans[i].element_0;
    }
    for (size_t i = 0; i < n; i++)
        if (piece_of[i] >= 0 && k->plan->is_written[i])
            event->pieces[piece_of[i]].is_written = true;
    for (int p = 0; p < event->n_pieces; p++)
        if (event->pieces[p].storage >= 0)
            CLP_TRY(make_piece(event->ctx, &event->pieces[p]));
    for (size_t i = 0; i < n; i++)
        if (piece_of[i] >= 0) {
            const clpi_piece *piece = &event->pieces[piece_of[i]];
            event->places[i] = (clpi_place){ piece->mem, (size_t)(spans[i].start - piece->start) };
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
