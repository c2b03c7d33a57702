/* expr: what an op is worth at one point of a nest's domain, as nodes of that nest.
 *
 * In: an op and, for each dimension of its value, a coordinate as a function of the domain. Out: a node. Movement
 * (broadcast, transpose, slices, unit reshapes) turns into other coordinates and leaves no node behind; what has a tile
 * ends in a load. A value asked for twice at the same coordinates is one node.                                          */
#include "nest/nest.h"

#include <string.h>

static const clpi_ix ZERO = { .dim = -1, .node = -1 };

int clpi_node_add(clpi_lower *l, clpi_nest *n, clpi_node node)
{
    const int at = clpi_nest_push(l->p->arena, n, node);
    l->failed = l->failed || at < 0;
    return at < 0 ? 0 : at;
}

int clpi_node_cast(clpi_lower *l, clpi_nest *n, int node, clp_dtype to)
{
    clp_dtype from = n->nodes.items[node].dtype;
    if (from == to)
        return node;
    return clpi_node_add(l, n, (clpi_node){ .kind = CLPI_NODE_CAST, .dtype = to, .from = from, .args = { node }, .n_args = 1 });
}

int clpi_access_add(clpi_lower *l, clpi_nest *n, clpi_access access)
{
    if (!CLPI_PUSH(l->p->arena, &n->accesses, access)) {
        l->failed = true;
        return 0;
    }
    return (int)n->accesses.n - 1;
}

static int load_node(clpi_lower *l, clpi_nest *n, int access, clp_dtype dtype)
{
    return clpi_node_add(l, n, (clpi_node){ .kind = CLPI_NODE_LOAD, .dtype = dtype, .access = access });
}

int clpi_access_tile(clpi_lower *l, clpi_nest *n, int tile, const clpi_ix *ix)
{
    const clpi_tile *t = &l->p->tiles.items[tile];
    clpi_access a = { .is_tile = true, .target = tile, .rank = t->rank, .mask = -1, .other = -1 };
    for (int d = 0; d < t->rank; d++) {
        a.ix[d] = ix[d];
        a.size[d] = t->shape[d];
    }
    return clpi_access_add(l, n, a);
}

/* ---- Coordinates ---- */

static clp_dtype index_dtype(clp_dtype d)
{
    return d == CLP_I64 || d == CLP_U64 || d == CLP_U32 ? CLP_I64 : CLP_I32;
}

/* The node as i32 or i64, the two dtypes that coordinates are computed in. What i64 has no place for stays as far out. */
static int index_node(clpi_lower *l, clpi_nest *n, int node)
{
    if (n->nodes.items[node].dtype == CLP_U64) {
        int most = clpi_node_add(l, n, (clpi_node){ .kind = CLPI_NODE_CONST, .dtype = CLP_U64, .bits = INT64_MAX });
        node = clpi_node_add(l, n, (clpi_node){ .kind = CLPI_NODE_EW, .op = CLP_OP_minimum, .dtype = CLP_U64, .from = CLP_U64,
                                                .args = { node, most }, .n_args = 2 });
    }
    return clpi_node_cast(l, n, node, index_dtype(n->nodes.items[node].dtype));
}

static int index_op(clpi_lower *l, clpi_nest *n, clpi_op_kind op, int x, int y)
{
    clp_dtype dx = n->nodes.items[x].dtype, dy = n->nodes.items[y].dtype;
    clp_dtype d = dx == CLP_I64 || dy == CLP_I64 ? CLP_I64 : CLP_I32;
    x = clpi_node_cast(l, n, x, d);
    y = clpi_node_cast(l, n, y, d);
    return clpi_node_add(
        l, n, (clpi_node){ .kind = CLPI_NODE_EW, .op = op, .dtype = d, .from = d, .args = { x, y }, .n_args = 2 });
}

/* ix * mul + add */
static clpi_ix ix_scale(clpi_lower *l, clpi_nest *n, clpi_ix ix, int64_t mul, int64_t add)
{
    clpi_ix r = ix;
    r.mul = ix.mul * mul;
    r.add = ix.add * mul + add;
    if (ix.node >= 0 && mul != 1) {
        int c = clpi_node_add(
            l, n,
            (clpi_node){ .kind = CLPI_NODE_CONST, .dtype = n->nodes.items[ix.node].dtype, .bits = (uint64_t)mul });
        r.node = index_op(l, n, CLP_OP_mul, ix.node, c);
    }
    return r;
}

static clpi_ix ix_plus_node(clpi_lower *l, clpi_nest *n, clpi_ix ix, int node)
{
    clpi_ix r = ix;
    r.node = ix.node < 0 ? node : index_op(l, n, CLP_OP_add, ix.node, node);
    return r;
}

/* Further out than any element of anything. */
#define FAR (INT64_C(1) << 40)

int64_t clpi_near(int64_t c)
{
    return c < -FAR ? -FAR : c > FAR ? FAR : c;
}

/* ix + value, where value is a scalar op: folded in when constant. */
static clpi_ix ix_plus_value(clpi_lower *l, clpi_nest *n, clpi_ix ix, clp_val value)
{
    int64_t c;
    if (clpi_const_int(l->p->ir, value, &c)) {
        ix.add += clpi_near(c);
        return ix;
    }
    return ix_plus_node(l, n, ix, index_node(l, n, clpi_node_of(l, n, value, NULL)));
}

/* The subs of a place: coordinates of the thing addressed from those of the result. */
static void apply_subs(clpi_lower *l, clpi_nest *n, const clpi_op *op, const clp_val *starts, const clpi_ix *ix, clpi_access *a)
{
    const clpi_ir *ir = l->p->ir;
    int r = 0, tile_at = -1, tile_rank = 0;
    a->rank = (int)op->n_subs;
    for (int d = 0; d < a->rank; d++) {
        const clpi_sub *s = clpi_subs(ir, op) + d;
        if (s->kind == CLPI_SUB_AT) {
            a->ix[d] = ix_plus_value(l, n, ZERO, starts[d]);
        } else if (s->kind == CLPI_SUB_RANGE) {
            a->ix[d] = ix_plus_value(l, n, ix_scale(l, n, ix[r], s->stride, 0), starts[d]);
            r++;
        } else {
            if (tile_at < 0) {
                tile_at = r;
                tile_rank = clpi_type_of(ir, starts[d])->rank;
                r += tile_rank;
            }
            a->ix[d] = ix_plus_node(l, n, ZERO, index_node(l, n, clpi_node_of(l, n, starts[d], ix + tile_at)));
        }
    }
}

/* The sizes of what is addressed, and which coordinates may leave them: run-time ones, and constants that are out of range. */
static void set_sizes(const clpi_nest *n, const int64_t *size, clpi_access *a)
{
    for (int d = 0; d < a->rank; d++) {
        const clpi_ix *ix = &a->ix[d];
        int64_t span = ix->dim < 0 ? 0 : ix->mul * (n->extent[ix->dim] - 1);
        int64_t least = ix->add + (span < 0 ? span : 0), most = ix->add + (span > 0 ? span : 0);
        a->size[d] = size[d];
        if (size[d] < 0 || ix->node >= 0 || least < 0 || most >= size[d])
            a->checked |= 1u << d;
    }
}

int clpi_place_rank(const clpi_ir *ir, const clpi_op *op, int64_t *out_shape)
{
    const clp_val *starts = clpi_args(ir, op);
    int rank = 0;
    bool tile_seen = false;
    for (uint32_t d = 0; d < op->n_subs; d++) {
        const clpi_sub *s = clpi_subs(ir, op) + d;
        if (s->kind == CLPI_SUB_RANGE)
            out_shape[rank++] = s->size;
        if (s->kind == CLPI_SUB_TILE && !tile_seen) {
            const clpi_type *t = clpi_type_of(ir, starts[d]);
            for (int i = 0; i < t->rank; i++)
                out_shape[rank++] = t->shape[i];
            tile_seen = true;
        }
    }
    return rank;
}

clpi_access clpi_place_of(clpi_lower *l, clpi_nest *n, const clpi_op *op, const clpi_ix *ix)
{
    const clpi_ir *ir = l->p->ir;
    const clpi_operand *x = &ir->operands[op->operand];
    clpi_access a = { .target = op->operand, .mask = -1, .other = -1 };
    if (x->role == CLP_SCRATCH) {
        a.is_tile = true;
        a.target = l->p->scratch_tile[op->operand];
    }
    apply_subs(l, n, op, clpi_args(ir, op), ix, &a);
    set_sizes(n, x->ref_size, &a);
    clp_val mask = clpi_op_mask(ir, op);
    if (mask.id)
        a.mask = clpi_node_of(l, n, mask, ix);
    return a;
}

int clpi_access_place(clpi_lower *l, clpi_nest *n, const clpi_op *op, const clpi_ix *ix)
{
    const clpi_ir *ir = l->p->ir;
    clpi_access a = clpi_place_of(l, n, op, ix);
    clp_val other = clpi_op_other(ir, op);
    if (other.id)
        a.other = clpi_node_of(l, n, other, ix);
    else if (a.mask >= 0 && op->kind == CLP_OP_load)
        a.other = clpi_node_add(l, n, (clpi_node){ .kind = CLPI_NODE_CONST, .dtype = clpi_loaded(ir->operands[op->operand].dtype) });
    return clpi_access_add(l, n, a);
}

/* ---- Values ---- */

static int eval_ew(clpi_lower *l, clpi_nest *n, clp_val v, const clpi_op *op, const clpi_ix *ix)
{
    const clpi_ir *ir = l->p->ir;
    bool is_cast = op->kind == CLP_OP_cast, is_bitcast = op->kind == CLP_OP_bitcast;
    clpi_node node = { .kind = is_cast ? CLPI_NODE_CAST : is_bitcast ? CLPI_NODE_BITCAST : CLPI_NODE_EW, .op = op->kind,
                       .dtype = clpi_type_of(ir, v)->dtype, .n_args = (int)op->n_args };
    for (int i = 0; i < node.n_args; i++)
        node.args[i] = clpi_node_of(l, n, clpi_args(ir, op)[i], ix);
    node.from = clpi_type_of(ir, clpi_args(ir, op)[node.n_args - 1])->dtype;
    return clpi_node_add(l, n, node);
}

static int eval_iota(clpi_lower *l, clpi_nest *n, clp_val v, const clpi_op *op, const clpi_ix *ix)
{
    clp_dtype dtype = clpi_type_of(l->p->ir, v)->dtype;
    clpi_ix at = ix[op->attr];
    int node = clpi_node_add(l, n, (clpi_node){ .kind = CLPI_NODE_INDEX, .dtype = at.node < 0 ? dtype : CLP_I64,
                                                .ix = { at.dim, at.mul, at.add, -1 } });
    if (at.node < 0)
        return node;
    node = index_op(l, n, CLP_OP_add, node, at.node);
    return clpi_node_add(
        l, n, (clpi_node){ .kind = CLPI_NODE_CAST, .dtype = dtype, .from = CLP_I64, .args = { node }, .n_args = 1 });
}

static int eval_movement(clpi_lower *l, clpi_nest *n, clp_val v, const clpi_op *op, const clpi_ix *ix)
{
    const clpi_ir *ir = l->p->ir;
    clp_val x = clpi_args(ir, op)[0];
    const clpi_type *from = clpi_type_of(ir, x), *to = clpi_type_of(ir, v);
    clpi_ix in[CLP_MAX_RANK];
    for (int d = 0; d < from->rank; d++)
        in[d] = ZERO;
    if (op->kind == CLP_OP_broadcast) {
        for (int d = 0; d < from->rank; d++)
            if (from->shape[d] != 1)
                in[d] = ix[to->rank - from->rank + d];
    } else if (op->kind == CLP_OP_transpose) {
        for (int d = 0; d < to->rank; d++)
            in[clpi_perm_get(op->attr, d)] = ix[d];
    } else {                     /* reshape, by dimensions of size 1 only */
        int j = 0;
        for (int d = 0; d < from->rank; d++) {
            if (from->shape[d] == 1)
                continue;
            while (to->shape[j] == 1)
                j++;
            in[d] = ix[j++];
        }
    }
    return clpi_node_of(l, n, x, in);
}

/* A tile seen in another shape: its rows lie without gaps. */
static int eval_reshaped_tile(clpi_lower *l, clpi_nest *n, clp_val v, clp_val x, const clpi_ix *ix)
{
    const clpi_type *t = clpi_type_of(l->p->ir, v);
    clpi_access a = { .is_tile = true, .target = l->tile_of[x.id], .rank = t->rank, .mask = -1, .other = -1 };
    l->p->tiles.items[a.target].is_reshaped = true;
    for (int d = 0; d < t->rank; d++) {
        a.ix[d] = ix[d];
        a.size[d] = t->shape[d];
    }
    return load_node(l, n, clpi_access_add(l, n, a), t->dtype);
}

static int eval_index(clpi_lower *l, clpi_nest *n, const clpi_op *op, const clpi_ix *ix)
{
    const clpi_ir *ir = l->p->ir;
    clp_val x = clpi_args(ir, op)[0];
    const clpi_type *t = clpi_type_of(ir, x);
    clpi_access a = { .is_tile = true, .target = l->tile_of[x.id], .mask = -1, .other = -1 };
    apply_subs(l, n, op, clpi_args(ir, op) + 1, ix, &a);
    if (a.target < 0)            /* constant subscripts of what is computed here */
        return clpi_node_of(l, n, x, a.ix);
    set_sizes(n, t->shape, &a);
    if (a.checked)
        a.other = clpi_node_add(
            l, n, (clpi_node){ .kind = CLPI_NODE_CONST, .dtype = t->dtype, .bits = clpi_poison_bits(t->dtype) });
    return load_node(l, n, clpi_access_add(l, n, a), t->dtype);
}

static int eval_op(clpi_lower *l, clpi_nest *n, clp_val v, const clpi_ix *ix)
{
    const clpi_ir *ir = l->p->ir;
    const clpi_op *op = clpi_op_at(ir, v);
    const clpi_type *t = clpi_type_of(ir, v);
    switch (op->kind) {
    case CLP_OP_const:
        return clpi_node_add(l, n, (clpi_node){ .kind = CLPI_NODE_CONST, .dtype = t->dtype, .bits = op->attr });
    case CLP_OP_iota:
        return eval_iota(l, n, v, op, ix);
    case CLP_OP_program_id: case CLP_OP_num_programs: case CLP_OP_dim:
        return clpi_node_add(l, n, (clpi_node){ .kind = CLPI_NODE_LEAF, .op = op->kind, .dtype = t->dtype, .bits = op->attr });
    case CLP_OP_broadcast: case CLP_OP_transpose:
        return eval_movement(l, n, v, op, ix);
    case CLP_OP_reshape: {
        clp_val x = clpi_args(ir, op)[0];
        if (clpi_is_unit_reshape(clpi_type_of(ir, x), t))
            return eval_movement(l, n, v, op, ix);
        return eval_reshaped_tile(l, n, v, x, ix);
    }
    case CLP_OP_index:
        return eval_index(l, n, op, ix);
    case CLP_OP_load:
        if (ir->operands[op->operand].role == CLP_SCALAR)
            return clpi_node_add(
                l, n,
                (clpi_node){
                    .kind = CLPI_NODE_LEAF, .op = CLP_OP_load, .dtype = t->dtype, .bits = (uint64_t)op->operand });
        return load_node(l, n, clpi_access_place(l, n, op, ix), t->dtype);
    default:
        return eval_ew(l, n, v, op, ix);
    }
}

int clpi_node_of(clpi_lower *l, clpi_nest *n, clp_val v, const clpi_ix *ix)
{
    const clpi_type *t = clpi_type_of(l->p->ir, v);
    for (uint32_t i = 0; i < l->seen.n; i++) {
        const clpi_seen *s = &l->seen.items[i];
        bool same = s->value == v.id;
        for (int d = 0; same && d < t->rank; d++)
            same = s->ix[d].dim == ix[d].dim && s->ix[d].mul == ix[d].mul && s->ix[d].add == ix[d].add &&
                   s->ix[d].node == ix[d].node;
        if (same)
            return s->node;
    }
    int node = l->tile_of[v.id] >= 0 ? load_node(l, n, clpi_access_tile(l, n, l->tile_of[v.id], ix), t->dtype)
                                     : eval_op(l, n, v, ix);
    clpi_seen seen = { .value = v.id, .node = node };
    if (t->rank > 0)
        memcpy(seen.ix, ix, (size_t)t->rank * sizeof *ix);
    if (!CLPI_PUSH(l->p->arena, &l->seen, seen))
        l->failed = true;
    return node;
}
