/* place: which elements subscripts address.
 * In: subs with their run-time indices, and the dimensions they look at. Out: loops over elements, or, for index tiles and
 * masks, an offset for every lane.
 * Decides what is out of range (outside 0 .. n) and what does not exist (outside lo .. hi); what that means is the caller's:
 * a fault on a ref, poison on a value. Offsets are computed wrapping: those of lanes out of range are never used.       */
#include <assert.h>
#include <string.h>

#include "interp/interp.h"

void clpi_view_init(clpi_compiler *c, const clpi_op *op, int first_arg, clpi_view *out)
{
    const clpi_ir *ir = c->exe->ir;
    const clp_val *args = clpi_args(ir, op) + first_arg;
    *out = (clpi_view){ .n_subs = (int)op->n_subs, .n = 1 };
    for (int i = 0; i < out->n_subs; i++) {
        const clpi_sub *sub = &clpi_subs(ir, op)[i];
        const clpi_type *t = clpi_type_of(ir, args[i]);
        out->sub[i] = (clpi_place_sub){ *sub, clpi_interp_root(c, args[i]), t->dtype, false };
        if (sub->kind == CLPI_SUB_RANGE) {
            int64_t start;
            out->sub[i].is_whole = clpi_const_int(ir, args[i], &start) && start == 0 && sub->stride == 1;
            out->shape[out->rank++] = sub->size;
        } else if (sub->kind == CLPI_SUB_TILE && !out->has_tiles) {
            out->has_tiles = true;
            out->tile_dim = out->rank;
            out->tile_rank = t->rank;
            for (int d = 0; d < t->rank; d++)
                out->shape[out->rank++] = t->shape[d];
        }
    }
    for (int d = 0; d < out->rank; d++)
        out->n *= out->shape[d];
}

static int64_t start_of(const clpi_run *run, const clpi_place_sub *s)
{
    return clpi_index_get(s->dtype, run->val[s->val], 0);
}

/* The lanes 0 .. n of start + i * stride that lie in lo .. hi, as an interval: they are neighbours. */
static void clip(int64_t start, int64_t stride, int64_t n, int64_t lo, int64_t hi, int64_t *out_lo, int64_t *out_hi)
{
    int64_t first = 0, end = n;
    if (stride > 0) {
        if (start < lo)
            first = (lo - start + stride - 1) / stride;
        end = hi <= start ? 0 : (hi - start + stride - 1) / stride;
    } else {
        if (start >= hi)
            first = (start - hi) / -stride + 1;
        end = start < lo ? 0 : (start - lo) / -stride + 1;
    }
    *out_hi = end < n ? end : n;
    *out_lo = first < *out_hi ? first : *out_hi;
}

/* start and the last lane both lie in 0 .. n, computed without overflow. */
static bool in_range(int64_t start, const clpi_sub *sub, int64_t n)
{
    if (sub->size == 0)
        return true;
    if (start < 0 || start >= n)
        return false;
    int64_t room = sub->stride > 0 ? n - 1 - start : start, steps = sub->size - 1;
    int64_t stride = sub->stride > 0 ? sub->stride : -sub->stride;
    return steps == 0 || steps <= room / stride;
}

static void push_loop(clpi_loops *out, clpi_loop loop)
{
    clpi_loop *outer = out->n ? &out->loop[out->n - 1] : NULL;
    bool is_whole = loop.lo == 0 && loop.hi == loop.size;
    if (loop.size == 1 && is_whole)
        return;
    if (outer && is_whole && outer->step == loop.step * loop.size) {
        *outer = (clpi_loop){ outer->size * loop.size, loop.step, outer->lo * loop.size, outer->hi * loop.size };
        return;
    }
    out->loop[out->n++] = loop;
}

bool clpi_place_loops(const clpi_run *run, const clpi_view *view, const clpi_ref_dim *dims, int64_t at, clpi_loops *out)
{
    assert(!view->has_tiles);
    out->n = 0;
    out->is_empty = false;
    for (int i = 0; i < view->n_subs; i++) {
        const clpi_place_sub *s = &view->sub[i];
        const clpi_ref_dim *dim = &dims[i];
        int64_t lo, hi;
        if (s->is_whole && s->sub.size == dim->n) {
            out->is_empty |= dim->lo >= dim->hi;
            push_loop(out, (clpi_loop){ dim->n, dim->stride, dim->lo, dim->hi });
            continue;
        }
        int64_t start = start_of(run, s);
        if (s->sub.kind == CLPI_SUB_AT) {
            if (start < 0 || start >= dim->n)
                return view->n == 0;
            out->is_empty |= start < dim->lo || start >= dim->hi;
            at += start * dim->stride;
            continue;
        }
        if (!in_range(start, &s->sub, dim->n))
            return view->n == 0;
        clip(start, s->sub.stride, s->sub.size, dim->lo, dim->hi, &lo, &hi);
        out->is_empty |= lo >= hi;
        at += start * dim->stride;
        push_loop(out, (clpi_loop){ s->sub.size, s->sub.stride * dim->stride, lo, hi });
    }
    if (out->n == 0)
        out->loop[out->n++] = (clpi_loop){ 1, 1, 0, 1 };
    out->at = at;
    return true;
}

/* ---- Rows ---- */

void clpi_rows_init(clpi_rows *rows, const clpi_loops *loops)
{
    rows->loops = loops;
    rows->is_first = true;
    for (int d = 0; d < loops->n - 1; d++)
        rows->index[d] = 0;
}

bool clpi_rows_next(clpi_rows *rows)
{
    const clpi_loops *loops = rows->loops;
    int d = loops->n - 2;
    if (rows->is_first)
        rows->is_first = false;
    else {
        for (; d >= 0 && ++rows->index[d] == loops->loop[d].size; d--)
            rows->index[d] = 0;
        if (d < 0)
            return false;
    }
    rows->at = loops->at;
    rows->is_inside = !loops->is_empty;
    for (d = 0; d < loops->n - 1; d++) {
        rows->at += rows->index[d] * loops->loop[d].step;
        rows->is_inside &= rows->index[d] >= loops->loop[d].lo && rows->index[d] < loops->loop[d].hi;
    }
    return true;
}

/* ---- Lanes ---- */

/* Adds one subscript's share to `count` lanes that have its index p in common. */
static void add_index(const clpi_ref_dim *dim, int64_t p, int64_t count, int64_t *at, uint8_t *state)
{
    uint64_t step = (uint64_t)p * (uint64_t)dim->stride;
    uint8_t flags = (uint8_t)(p < 0 || p >= dim->n ? CLPI_LANE_OUT : p < dim->lo || p >= dim->hi ? CLPI_LANE_GONE : 0);
    for (int64_t k = 0; k < count; k++) {
        at[k] = (int64_t)((uint64_t)at[k] + step);
        state[k] |= flags;
    }
}

static int64_t product(const int64_t *shape, int begin, int end)
{
    int64_t n = 1;
    for (int d = begin; d < end; d++)
        n *= shape[d];
    return n;
}

bool clpi_place_lanes(const clpi_run *run, const clpi_view *view, const clpi_ref_dim *dims, int64_t at, const uint8_t *mask,
                      int64_t *out_at, uint8_t *out_state)
{
    for (int64_t l = 0; l < view->n; l++)
        out_at[l] = at;
    memset(out_state, 0, (size_t)view->n);
    bool seen_tile = false;
    for (int i = 0, d = 0; i < view->n_subs; i++) {
        const clpi_place_sub *s = &view->sub[i];
        const void *index = run->val[s->val];
        if (s->sub.kind == CLPI_SUB_AT) {
            add_index(&dims[i], clpi_index_get(s->dtype, index, 0), view->n, out_at, out_state);
            continue;
        }
        bool is_tile = s->sub.kind == CLPI_SUB_TILE;
        int from = is_tile ? view->tile_dim : d, to = is_tile ? from + view->tile_rank : from + 1;
        int64_t outer = product(view->shape, 0, from), size = product(view->shape, from, to);
        int64_t inner = product(view->shape, to, view->rank), start = is_tile ? 0 : clpi_index_get(s->dtype, index, 0);
        for (int64_t o = 0, l = 0; o < outer; o++)
            for (int64_t j = 0; j < size; j++, l += inner) {
                int64_t p = is_tile ? clpi_index_get(s->dtype, index, j) : (int64_t)((uint64_t)start + (uint64_t)(j * s->sub.stride));
                add_index(&dims[i], p, inner, out_at + l, out_state + l);
            }
        if (!is_tile || !seen_tile)
            d = to;
        seen_tile |= is_tile;
    }
    uint8_t any = 0;
    for (int64_t l = 0; l < view->n; l++) {
        if (mask && !mask[l])
            out_state[l] = CLPI_LANE_MASKED;
        any |= out_state[l];
    }
    return !(any & CLPI_LANE_OUT);
}

int64_t clpi_place_fault(const clpi_run *run, const clpi_view *view, const clpi_ref_dim *dims, const uint8_t *mask, int64_t *out_index)
{
    for (int64_t l = 0; l < view->n; l++) {
        int64_t position[CLP_MAX_RANK], tile_lane = 0;
        bool is_out = false;
        clpi_shape_index(view->shape, view->rank, l, position);
        for (int d = view->tile_dim; d < view->tile_dim + view->tile_rank; d++)
            tile_lane = tile_lane * view->shape[d] + position[d];
        bool seen_tile = false;
        for (int i = 0, d = 0; i < view->n_subs; i++) {
            const clpi_place_sub *s = &view->sub[i];
            bool is_tile = s->sub.kind == CLPI_SUB_TILE;
            int64_t p = clpi_index_get(s->dtype, run->val[s->val], is_tile ? tile_lane : 0);
            if (s->sub.kind == CLPI_SUB_RANGE)
                p = (int64_t)((uint64_t)p + (uint64_t)(position[d++] * s->sub.stride));
            else if (is_tile && !seen_tile)
                d += view->tile_rank, seen_tile = true;
            out_index[i] = p;
            is_out |= p < 0 || p >= dims[i].n;
        }
        if (is_out && !(mask && !mask[l]))
            return l;
    }
    return -1;
}
