/* walk: what one program certainly does, in numbers.
 * In: a launch by its sizes alone, a program. Out: elements touched, lanes that leave their ref.
 *
 * Scalars and elements of tiles are worked out as the interpreter does, as far as they depend on nothing that is loaded.
 * What is not known is skipped: a branch on it, a loop to it, an access by it, a lane whose mask is of it.               */
#include <assert.h>

#include "check/witness.h"

enum { MAX_TURNS = 64, MAX_LANES = 2048, MAX_SINGLE = 64, MAX_DEPTH = 100, MAX_STEPS = 3000 };

static bool element_of(clpi_walk *w, clp_val v, const int64_t *coords, int depth, clpi_elem *out);

/* ---- Values ---- */

/* Coordinates in a value that is moved by op to coords. false: outside, or not known. */
static bool moved_coords(clpi_walk *w, const clpi_op *op, const clpi_type *to, const int64_t *coords, int depth, int64_t *out)
{
    const clpi_ir *ir = w->bound->plan->ir;
    const clp_val *args = clpi_args(ir, op);
    const clpi_type *from = clpi_type_of(ir, args[0]);
    int64_t number = 0;
    switch (op->kind) {
    case CLP_OP_broadcast:
        for (int d = 0; d < from->rank; d++)
            out[d] = from->shape[d] == 1 ? 0 : coords[to->rank - from->rank + d];
        return true;
    case CLP_OP_transpose:
        for (int d = 0; d < to->rank; d++)
            out[clpi_perm_get(op->attr, d)] = coords[d];
        return true;
    case CLP_OP_reshape:
        for (int d = 0; d < to->rank; d++)
            number = number * to->shape[d] + coords[d];
        clpi_shape_index(from->shape, from->rank, number, out);
        return true;
    default: break;
    }
    int at = 0, tile_at = -1;
    for (uint32_t i = 0; i < op->n_subs; i++) {
        const clpi_sub *sub = &clpi_subs(ir, op)[i];
        clpi_elem e;
        if (sub->kind == CLPI_SUB_TILE && tile_at < 0) {
            tile_at = at;
            at += clpi_type_of(ir, args[i + 1])->rank;
        }
        if (!element_of(w, args[i + 1], sub->kind == CLPI_SUB_TILE ? coords + tile_at : NULL, depth, &e))
            return false;
        out[i] = e.i + (sub->kind == CLPI_SUB_RANGE ? sub->stride * coords[at++] : 0);
        if (out[i] < 0 || out[i] >= from->shape[i])
            return false;
    }
    return true;
}

/* One element of a tile, or a scalar that is not in the table yet. */
static bool element_of_op(clpi_walk *w, clp_val v, const int64_t *coords, int depth, clpi_elem *out)
{
    const clpi_ir *ir = w->bound->plan->ir;
    const clpi_op *op = clpi_op_at(ir, v);
    const clpi_type *t = clpi_type_of(ir, v);
    const clp_val *args = clpi_args(ir, op);
    int64_t inner[CLP_MAX_RANK];
    clpi_elem e[3];
    if (--w->steps_left < w->steps_end)
        return false;
    switch (op->kind) {
    case CLP_OP_const: *out = clpi_elem_from_bits(t->dtype, op->attr); return true;
    case CLP_OP_dim: out->i = w->bound->dim[op->attr]; return true;
    case CLP_OP_num_programs: out->i = w->bound->axis_size[op->attr]; return true;
    case CLP_OP_program_id: out->i = w->program[op->attr]; return true;
    case CLP_OP_iota: *out = clpi_elem_cast(t->dtype, CLP_I64, (clpi_elem){ .i = coords[op->attr] }); return true;
    case CLP_OP_load:
        if (ir->operands[op->operand].role != CLP_SCALAR || !clpi_is_int(ir->operands[op->operand].dtype))
            return false;
        *out = w->bound->scalar[op->operand];
        return true;
    case CLP_OP_broadcast:
    case CLP_OP_transpose:
    case CLP_OP_reshape:
    case CLP_OP_index:
        return moved_coords(w, op, t, coords, depth, inner) && element_of(w, args[0], inner, depth, out);
    default: break;
    }
    bool converts = op->kind == CLP_OP_cast || op->kind == CLP_OP_bitcast;
    if (!converts && !clpi_ops[op->kind].is_elementwise)
        return false;
    assert(op->n_args >= 1 && op->n_args <= 3);
    for (uint32_t i = 0; i < op->n_args; i++)
        if (!element_of(w, args[i], coords, depth, &e[i]))
            return false;
    clp_dtype from = clpi_type_of(ir, args[op->n_args - 1])->dtype;
    *out = !converts ? clpi_scalar_ew(op->kind, from, e)
           : op->kind == CLP_OP_cast ? clpi_elem_cast(t->dtype, from, e[0]) : clpi_scalar_bitcast(t->dtype, from, e[0]);
    return true;
}

static bool element_of(clpi_walk *w, clp_val v, const int64_t *coords, int depth, clpi_elem *out)
{
    if (clpi_type_of(w->bound->plan->ir, v)->rank == 0) {
        *out = w->value[v.id];
        return w->is_known[v.id];
    }
    return depth < MAX_DEPTH && element_of_op(w, v, coords, depth + 1, out);
}

static void set(clpi_walk *w, uint32_t id, bool is_known, clpi_elem e)
{
    w->is_known[id] = is_known;
    w->value[id] = e;
}

static bool get_integer(clpi_walk *w, clp_val v, int64_t *out)
{
    *out = w->value[v.id].i;
    return w->is_known[v.id];
}

/* ---- Accesses ---- */

typedef struct access {
    const clpi_op *op;
    uint32_t       id;
    const clpi_operand *x;
    const clpi_bound_operand *array;
    const clpi_window *windows;
    int64_t        size[CLP_MAX_RANK];       /* of the ref in each dimension */
    int            shape_at[CLP_MAX_RANK];   /* where the lanes of each sub begin in the shape of the place */
    int            rank;
    int64_t        shape[CLP_MAX_RANK];
    bool           has_tiles;
} access;

static void access_init(clpi_walk *w, uint32_t id, access *a)
{
    const clpi_ir *ir = w->bound->plan->ir;
    const clpi_op *op = &ir->ops.items[id];
    *a = (access){ .op = op, .id = id, .x = &ir->operands[op->operand], .array = &w->bound->operands[op->operand],
                   .windows = &w->windows[(size_t)op->operand * CLP_MAX_RANK] };
    int tile_at = -1;
    for (uint32_t i = 0; i < op->n_subs; i++) {
        const clpi_sub *sub = &clpi_subs(ir, op)[i];
        a->size[i] = a->x->ref_size[i] >= 0 ? a->x->ref_size[i] : a->array->size[a->x->ref_dim[i]];
        a->shape_at[i] = sub->kind == CLPI_SUB_TILE && tile_at >= 0 ? tile_at : a->rank;
        if (sub->kind == CLPI_SUB_RANGE) {
            a->shape[a->rank++] = sub->size;
        } else if (sub->kind == CLPI_SUB_TILE && tile_at < 0) {
            const clpi_type *t = clpi_type_of(ir, clpi_args(ir, op)[i]);
            tile_at = a->rank;
            for (int d = 0; d < t->rank; d++)
                a->shape[a->rank++] = t->shape[d];
        }
        a->has_tiles = a->has_tiles || sub->kind == CLPI_SUB_TILE;
    }
}

static clpi_touched touched_new(clpi_walk *w, const access *a)
{
    clpi_touched t = { .operand = a->op->operand, .storage = w->bound->plan->storage[a->op->operand], .op = a->id, .program = w->i_program };
    t.kind = clpi_touch_kind_of(a->op);
    for (int d = 0; d < a->x->rank; d++) {
        t.dim[d].first = a->windows[d].start; /* of squeezed dimensions this is all */
        t.dim[d].step = 1;
        t.dim[d].n = 1;
    }
    return t;
}

/* A value of a lane, or a scalar, may take so many steps: an element that is used twice is worked out twice. */
static void give_steps(clpi_walk *w)
{
    w->steps_end = w->steps_left > MAX_STEPS ? w->steps_left - MAX_STEPS : 0;
}

/* One lane: whether it exists, and its element. */
static void touch_lane(clpi_walk *w, const access *a, const int64_t *coords, int *n_single)
{
    const clpi_ir *ir = w->bound->plan->ir;
    const clp_val *args = clpi_args(ir, a->op);
    clpi_touched t = touched_new(w, a);
    int64_t index[CLP_MAX_RANK];
    bool is_inside = true, exists = true;
    clpi_elem e;
    give_steps(w);
    if (a->op->has_mask && !(element_of(w, clpi_op_mask(ir, a->op), coords, 0, &e) && e.u))
        return;
    for (uint32_t i = 0; i < a->op->n_subs; i++) {
        const clpi_sub *sub = &clpi_subs(ir, a->op)[i];
        if (!element_of(w, args[i], coords + a->shape_at[i], 0, &e))
            return;
        index[i] = e.i + (sub->kind == CLPI_SUB_RANGE ? sub->stride * coords[a->shape_at[i]] : 0);
        const clpi_window *window = &a->windows[a->x->ref_dim[i]];
        is_inside = is_inside && index[i] >= 0 && index[i] < a->size[i];
        exists = exists && is_inside && index[i] >= window->lo && index[i] < window->hi;
        t.dim[a->x->ref_dim[i]].first = exists ? window->start + index[i] : 0;
    }
    if (!is_inside)
        w->leave(w->user, a->id, (int)a->op->n_subs, index);
    else if (exists && ++*n_single <= MAX_SINGLE)
        w->touch(w->user, &t);
}

static void touch_lanes(clpi_walk *w, const access *a)
{
    int64_t coords[CLP_MAX_RANK] = { 0 };
    int n_single = 0;
    for (int n = 0; n < MAX_LANES; n++) {
        touch_lane(w, a, coords, &n_single);
        int d = a->rank;
        while (d > 0 && ++coords[d - 1] == a->shape[d - 1])
            coords[--d] = 0;
        if (d == 0)
            return;
    }
}

/* The lanes 0 .. n of start + lane * step that lie in lo .. hi, which are neighbours; n becomes how many. */
static void clip(int64_t *start, int64_t step, int64_t *n, int64_t lo, int64_t hi)
{
    int64_t first = 0, end = *n;
    while (first < end && (*start + first * step < lo || *start + first * step >= hi))
        first++;
    while (end > first && (*start + (end - 1) * step < lo || *start + (end - 1) * step >= hi))
        end--;
    *start += first * step;
    *n = end - first;
}

/* Scalars and ranges, without a mask: a box. */
static void touch_box(clpi_walk *w, const access *a)
{
    const clpi_ir *ir = w->bound->plan->ir;
    clpi_touched t = touched_new(w, a);
    int64_t index[CLP_MAX_RANK];
    bool is_inside = true, exists = true;
    for (uint32_t i = 0; i < a->op->n_subs; i++) {
        const clpi_sub *sub = &clpi_subs(ir, a->op)[i];
        const int64_t n = sub->kind == CLPI_SUB_RANGE ? sub->size : 1, step = sub->kind == CLPI_SUB_RANGE ? sub->stride : 1;
        const int d = a->x->ref_dim[i];
        if (!get_integer(w, clpi_args(ir, a->op)[i], &index[i]))
            return;
        int64_t start = index[i], n_inside = n, n_left = n;
        if (start < -INT32_MAX || start > INT32_MAX)
            n_inside = n_left = 0;
        clip(&start, step, &n_inside, 0, a->size[i]);
        if (n_inside < n) /* the first lane outside */
            index[i] += index[i] >= 0 && index[i] < a->size[i] ? step * n_inside : 0;
        is_inside = is_inside && n_inside == n;
        n_left = n_inside;
        clip(&start, step, &n_left, a->windows[d].lo, a->windows[d].hi);
        t.dim[d].first = a->windows[d].start + start;
        t.dim[d].step = step;
        t.dim[d].n = n_left;
        exists = exists && n_left > 0;
    }
    if (!is_inside)
        w->leave(w->user, a->id, (int)a->op->n_subs, index);
    if (exists)
        w->touch(w->user, &t);
}

static void touch(clpi_walk *w, uint32_t id)
{
    access a;
    access_init(w, id, &a);
    for (int d = 0; d < a.rank; d++)
        if (a.shape[d] == 0)
            return;
    for (int d = 0; d < a.x->rank && a.x->has_block; d++)
        if (a.x->block[d].kind == CLPI_BLOCK_SQUEEZED && a.windows[d].hi <= a.windows[d].lo)
            return;
    if (a.has_tiles || a.op->has_mask)
        touch_lanes(w, &a);
    else
        touch_box(w, &a);
}

/* ---- Control ---- */

static void walk(clpi_walk *w, uint32_t first, uint32_t end);

/* The values that the yield before `end` hands on: to the args behind `to`, or the results. */
static void hand_on(clpi_walk *w, uint32_t end, uint32_t to)
{
    const clpi_ir *ir = w->bound->plan->ir;
    const clpi_op *yield = &ir->ops.items[end - 1];
    const clp_val *args = clpi_args(ir, yield);
    /* All are read before one is written: an arg may be yielded in the place of another. */
    for (uint32_t i = 0; i < yield->n_args; i++)
        if (clpi_type_of(ir, args[i])->rank == 0 && args[i].id >= to && args[i].id < to + yield->n_args) {
            for (uint32_t k = 0; k < yield->n_args; k++)
                set(w, to + k, false, (clpi_elem){ 0 });
            return;
        }
    for (uint32_t i = 0; i < yield->n_args; i++)
        set(w, to + i, clpi_type_of(ir, args[i])->rank == 0 && w->is_known[args[i].id], w->value[args[i].id]);
}

static void forget_results(clpi_walk *w, uint32_t end)
{
    const clpi_ir *ir = w->bound->plan->ir;
    for (uint32_t id = end; id < ir->ops.n && ir->ops.items[id].kind == CLP_OP_result; id++)
        set(w, id, false, (clpi_elem){ 0 });
}

static void walk_if(clpi_walk *w, const clpi_op *op, uint32_t id)
{
    const clp_val condition = clpi_args(w->bound->plan->ir, op)[0];
    if (!w->is_known[condition.id]) {
        forget_results(w, op->end);
        return;
    }
    bool is_true = w->value[condition.id].u != 0;
    uint32_t first = is_true ? id + 1 : op->mid, end = is_true ? op->mid : op->end;
    walk(w, first, end);
    hand_on(w, end, op->end);
}

static void walk_for(clpi_walk *w, const clpi_op *op, uint32_t id)
{
    const clpi_ir *ir = w->bound->plan->ir;
    const clp_val *args = clpi_args(ir, op);
    const int64_t step = (int64_t)op->attr;
    int64_t lo, hi;
    bool is_bounded = get_integer(w, args[0], &lo) && get_integer(w, args[1], &hi);
    for (uint32_t i = 2; is_bounded && i < op->n_args; i++)
        set(w, id + i, clpi_type_of(ir, args[i])->rank == 0 && w->is_known[args[i].id], w->value[args[i].id]);
    int n_turns = 0;
    for (int64_t t = lo; is_bounded && (step > 0 ? t < hi : t > hi) && n_turns < MAX_TURNS; t += step, n_turns++) {
        set(w, id + 1, true, (clpi_elem){ .i = t });
        walk(w, id + 1, op->end);
        hand_on(w, op->end, id + 2);
    }
    forget_results(w, op->end);
}

static void walk(clpi_walk *w, uint32_t first, uint32_t end)
{
    const clpi_ir *ir = w->bound->plan->ir;
    for (uint32_t id = first; id < end; id++) {
        const clpi_op *op = &ir->ops.items[id];
        if (op->kind == CLP_OP_if) {
            walk_if(w, op, id);
        } else if (op->kind == CLP_OP_for) {
            walk_for(w, op, id);
        } else if (op->kind == CLP_OP_while) {
            forget_results(w, op->end);
        } else if (op->operand >= 0 && ir->operands[op->operand].role != CLP_SCALAR) {
            w->is_known[id] = false;
            touch(w, id);
        } else if (op->kind != CLP_OP_arg && op->kind != CLP_OP_result && op->kind != CLP_OP_yield) {
            clpi_elem e = { 0 };
            give_steps(w);
            bool is_known = ir->types.items[op->type].rank == 0 && ir->types.items[op->type].dtype != CLP_DTYPE_NONE &&
                            element_of_op(w, (clp_val){ id }, NULL, 0, &e);
            set(w, id, is_known, e);
        }
        id = clpi_ops[op->kind].flags & CLP_REGION ? op->end - 1 : id;
    }
}

void clpi_walk_program(clpi_walk *w)
{
    const clpi_ir *ir = w->bound->plan->ir;
    walk(w, ir->n_header, ir->ops.n);
}
