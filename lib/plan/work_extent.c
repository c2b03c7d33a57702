/* work_extent: how much of each dimension of each value exists.
 * In: IR and a bound launch. Out: for each dimension of each value the factor that says how many of its elements count.
 *
 * From the loads on: a dimension that is one of an operand's block has as many elements as the block has inside the
 * array, and so has what is computed of it, also by way of scratch. From the stores back: of a value that is wanted only
 * to be stored, what falls outside the array need not be made. Where both say something, the stores do: they are nearer
 * to what is asked for.                                                                                                */
#include "plan/counting.h"

enum { ALL = 0, UNSEEN = -1 };      /* of needs: everything is wanted; nothing was seen that wants it */

int clpi_block_extent(clpi_counting *c, int operand, int dim, int64_t start, int64_t stride, int64_t size)
{
    const clpi_operand *x = &c->ir->operands[operand];
    if (!x->has_block || x->role == CLP_SCRATCH || c->bound->operands[operand].all_full)
        return 0;
    const uint32_t index = x->block[dim].index.id;
    const clpi_factor f = { .kind = CLPI_FACTOR_EXTENT, .operand = operand, .dim = dim, .start = start, .stride = stride, .size = size,
                       .axes = c->bound->plan->axes_read[index], .reads_data = c->bound->plan->when[index] == CLPI_WHEN_DATA };
    return clpi_factor_intern(c, &f);
}

/* ---- Which dimension becomes which ---- */

/* Only sizes of 1 come and go: dimension d of `from` in `to`. */
static int through_reshape(const clpi_type *from, const clpi_type *to, int d)
{
    int k = 0, found = -1;
    for (int i = 0; i < from->rank; i++) {
        if (from->shape[i] == 1)
            continue;
        while (k < to->rank && to->shape[k] == 1)
            k++;
        if (k == to->rank || to->shape[k] != from->shape[i])
            return -1;
        if (i == d)
            found = k;
        k++;
    }
    return found;
}

static int through_reduce(const clpi_op *op, int d)
{
    int r = 0;
    if (op->attr >> d & 1)
        return -1;
    for (int i = 0; i < d; i++)
        r += !(op->attr >> i & 1);
    return r;
}

static int through_dot(const clpi_type *x, int arg, int d)
{
    const int n = x->rank;
    if (d < n - 2)
        return d;
    return arg == 0 ? (d == n - 2 ? d : -1) : (d == n - 1 ? d : -1);
}

static int through_transpose(const clpi_op *op, int rank, int d)
{
    for (int i = 0; i < rank; i++)
        if (clpi_perm_get(op->attr, i) == d)
            return i;
    return -1;
}

static int through_broadcast(const clpi_type *from, const clpi_type *to, int d)
{
    const int r = to->rank - from->rank + d;
    return from->shape[d] == to->shape[r] ? r : -1;
}

int clpi_result_dim(const clpi_ir *ir, const clpi_op *op, int arg, int d)
{
    const clpi_type *from = clpi_type_of(ir, clpi_args(ir, op)[arg]), *to = &ir->types.items[op->type];
    switch (op->kind) {
    case CLP_OP_cast:
    case CLP_OP_bitcast:
    case CLP_OP_cumsum:
    case CLP_OP_cumprod:
    case CLP_OP_cummax:
    case CLP_OP_cummin:
    case CLP_OP_sort: return d;
    case CLP_OP_concat: return d == (int)op->attr ? -1 : d;
    case CLP_OP_sum:
    case CLP_OP_prod:
    case CLP_OP_max:
    case CLP_OP_min:
    case CLP_OP_any:
    case CLP_OP_all:
    case CLP_OP_argmax:
    case CLP_OP_argmin: return through_reduce(op, d);
    case CLP_OP_dot: return through_dot(from, arg, d);
    case CLP_OP_reshape: return through_reshape(from, to, d);
    case CLP_OP_transpose: return through_transpose(op, to->rank, d);
    case CLP_OP_broadcast: return through_broadcast(from, to, d);
    default: return clpi_ops[op->kind].is_elementwise ? d : -1;
    }
}

/* ---- From the loads on ---- */

typedef struct extents {
    clpi_counting *c;
    int     **scratch;       /* [n_operands][ref_rank] of scratch; NULL: no scratch */
    uint32_t *region;        /* [ops.n] the region op around each op; 0: none */
} extents;

static int *clips_at(const extents *e, uint32_t id)
{
    return e->c->clips + e->c->first_dim[id];
}

/* The clip of a dimension of a ref that sub addresses; -1: the sub makes no dimension. */
static int clip_of_sub(const extents *e, const clpi_op *op, uint32_t i)
{
    const clpi_sub *sub = &clpi_subs(e->c->ir, op)[i];
    const clpi_operand *x = &e->c->ir->operands[op->operand];
    int64_t start;
    if (sub->kind != CLPI_SUB_RANGE || !clpi_const_int(e->c->ir, clpi_args(e->c->ir, op)[i], &start))
        return 0;
    if (x->role == CLP_SCRATCH)
        return start == 0 && sub->stride == 1 && sub->size == x->ref_size[i] ? e->scratch[op->operand][i] : 0;
    return x->has_block && sub->stride > 0 ? clpi_block_extent(e->c, op->operand, x->ref_dim[i], start, sub->stride, sub->size) : 0;
}

/* Dimensions that sub i makes of a place; `at`: is set to the first of them. */
static int dims_of_sub(const clpi_ir *ir, const clpi_op *op, uint32_t i)
{
    const clpi_sub *subs = clpi_subs(ir, op);
    if (subs[i].kind == CLPI_SUB_RANGE)
        return 1;
    if (subs[i].kind == CLPI_SUB_AT || (i > 0 && subs[i - 1].kind == CLPI_SUB_TILE))
        return 0;
    return clpi_type_of(ir, clpi_args(ir, op)[i])->rank;
}

static void clip_load(const extents *e, uint32_t id)
{
    const clpi_op *op = &e->c->ir->ops.items[id];
    int *clips = clips_at(e, id), d = 0;
    for (uint32_t i = 0; i < op->n_subs; i++) {
        const int n = dims_of_sub(e->c->ir, op, i);
        if (n == 1)
            clips[d] = clip_of_sub(e, op, i);
        d += n;
    }
}

/* What a scratch dimension holds is what was stored there; initial values have no extent. */
static void clip_scratch(const extents *e, const clpi_op *op)
{
    const clpi_ir *ir = e->c->ir;
    const clpi_operand *x = &ir->operands[op->operand];
    const clp_val v = clpi_op_value(ir, op, 0);
    if (x->role != CLP_SCRATCH || clpi_type_of(ir, v)->rank == 0)
        return;
    for (uint32_t i = 0, d = 0; i < op->n_subs; d += (uint32_t)dims_of_sub(ir, op, i), i++)
        if (clpi_subs(ir, op)[i].kind == CLPI_SUB_RANGE && !e->scratch[op->operand][i])
            e->scratch[op->operand][i] = clpi_clip_of(e->c, v, (int)d);
}

static void take_over(const extents *e, uint32_t id, clp_val from)
{
    int *clips = clips_at(e, id);
    for (int d = 0; from.id && d < e->c->ir->types.items[e->c->ir->ops.items[id].type].rank; d++)
        clips[d] = clips[d] ? clips[d] : clpi_clip_of(e->c, from, d);
}

/* A result is what the region's yields give; they stand last in it. */
static void clip_result(const extents *e, uint32_t id)
{
    const clpi_ir *ir = e->c->ir;
    const clpi_op *op = &ir->ops.items[id], *region = clpi_op_at(ir, clpi_args(ir, op)[0]);
    const uint32_t which = (uint32_t)op->attr + (region->kind == CLP_OP_while);
    const clpi_op *last = &ir->ops.items[region->end - 1], *then = &ir->ops.items[region->mid - 1];
    take_over(e, id, clpi_args(ir, last)[which]);
    if (region->kind == CLP_OP_if)
        take_over(e, id, clpi_args(ir, then)[which]);
}

static void clip_arg(const extents *e, uint32_t id)
{
    const clpi_op *op = &e->c->ir->ops.items[id], *region = &e->c->ir->ops.items[e->region[id]];
    const clp_val *args = clpi_args(e->c->ir, region);
    if (region->kind == CLP_OP_for && op->attr > 0)
        take_over(e, id, args[1 + op->attr]);
    else if (region->kind == CLP_OP_while)
        take_over(e, id, args[1 + op->attr]);
}

static void clip_forward(const extents *e)
{
    const clpi_ir *ir = e->c->ir;
    for (uint32_t id = ir->n_header; id < ir->ops.n; id++) {
        const clpi_op *op = &ir->ops.items[id];
        if (op->kind == CLP_OP_load)
            clip_load(e, id);
        else if (op->kind == CLP_OP_store)
            clip_scratch(e, op);
        else if (op->kind == CLP_OP_result)
            clip_result(e, id);
        else if (op->kind == CLP_OP_arg)
            clip_arg(e, id);
        else if (!(clpi_ops[op->kind].flags & (CLP_REGION | CLP_EFFECT)))
            for (uint32_t a = 0; a < op->n_args; a++)
                for (int d = 0; d < clpi_type_of(ir, clpi_args(ir, op)[a])->rank; d++) {
                    const int r = clpi_result_dim(ir, op, (int)a, d);
                    if (r >= 0 && !clips_at(e, id)[r])
                        clips_at(e, id)[r] = clpi_clip_of(e->c, clpi_args(ir, op)[a], d);
                }
    }
}

/* ---- From the stores back ---- */

static void want(const extents *e, int *needs, clp_val v, int d, int clip)
{
    int *need = &needs[e->c->first_dim[v.id] + (uint32_t)d];
    *need = *need == UNSEEN || *need == clip ? clip : ALL;
}

static void want_stored(const extents *e, int *needs, const clpi_op *op)
{
    const clpi_ir *ir = e->c->ir;
    const clp_val v = clpi_op_value(ir, op, 0);
    const int rank = clpi_type_of(ir, v)->rank;
    for (uint32_t i = 0, d = 0; rank > 0 && i < op->n_subs; i++)
        for (int n = dims_of_sub(ir, op, i); n > 0; n--, d++)
            want(e, needs, v, (int)d, ir->operands[op->operand].role == CLP_SCRATCH || n > 1 ? ALL : clip_of_sub(e, op, i));
}

static void want_args(const extents *e, int *needs, uint32_t id)
{
    const clpi_ir *ir = e->c->ir;
    const clpi_op *op = &ir->ops.items[id];
    const uint32_t value = op->kind == CLP_OP_store ? op->n_subs : UINT32_MAX;
    for (uint32_t a = 0; a < op->n_args; a++) {
        const clp_val v = clpi_args(ir, op)[a];
        for (int d = 0; a != value && d < clpi_type_of(ir, v)->rank; d++) {
            const int r = clpi_ops[op->kind].flags & (CLP_REGION | CLP_EFFECT | CLP_READ) ? -1 : clpi_result_dim(ir, op, (int)a, d);
            const int need = r < 0 ? ALL : needs[e->c->first_dim[id] + (uint32_t)r];
            want(e, needs, v, d, need == UNSEEN ? ALL : need);
        }
    }
    if (op->kind == CLP_OP_store)
        want_stored(e, needs, op);
}

static bool clip_backward(const extents *e, uint32_t n_dims)
{
    const clpi_ir *ir = e->c->ir;
    int *needs = CLPI_NEW_N(e->c->arena, int, (size_t)n_dims + 1);
    for (uint32_t i = 0; needs && i < n_dims; i++)
        needs[i] = UNSEEN;
    for (uint32_t id = ir->ops.n; needs && id-- > ir->n_header;)
        want_args(e, needs, id);
    for (uint32_t i = 0; needs && i < n_dims; i++)
        if (needs[i] > 0)
            e->c->clips[i] = needs[i];
    return needs != NULL;
}

/* ---- All of it ---- */

static void find_regions(const extents *e)
{
    const clpi_ir *ir = e->c->ir;
    for (uint32_t id = ir->n_header; id < ir->ops.n; id++)
        if (clpi_ops[ir->ops.items[id].kind].flags & CLP_REGION)
            for (uint32_t i = id + 1; i < ir->ops.items[id].end && ir->ops.items[i].kind == CLP_OP_arg; i++)
                e->region[i] = id;
}

bool clpi_clips_find(clpi_counting *c)
{
    const clpi_ir *ir = c->ir;
    extents e = { c, CLPI_NEW_N(c->arena, int *, (size_t)ir->n_operands), CLPI_NEW_N(c->arena, uint32_t, ir->ops.n) };
    uint32_t n_dims = 0;
    c->first_dim = CLPI_NEW_N(c->arena, uint32_t, ir->ops.n);
    if (!e.scratch || !e.region || !c->first_dim)
        return false;
    for (uint32_t id = ir->n_header; id < ir->ops.n; id++) {
        c->first_dim[id] = n_dims;
        n_dims += (uint32_t)ir->types.items[ir->ops.items[id].type].rank;
    }
    c->clips = CLPI_NEW_N(c->arena, int, (size_t)n_dims + 1);
    for (int i = 0; i < ir->n_operands; i++) {
        e.scratch[i] = CLPI_NEW_N(c->arena, int, (size_t)ir->operands[i].ref_rank + 1);
        if (!e.scratch[i])
            return false;
    }
    if (!c->clips)
        return false;
    find_regions(&e);
    clip_forward(&e);
    clip_forward(&e);      /* again: scratch is read before it is written in the text */
    return clip_backward(&e, n_dims);
}
