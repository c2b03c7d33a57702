/* lower: IR, op by op, into steps.
 *
 * In: verified, simplified IR, its plan, the choice of tiles. Out: steps in program order, one nest an op; fuse.c joins
 * them afterwards. Decides how regions carry tiles: a carried value has one tile, which the initial value and each
 * iteration's outcome are copied into; outcomes are all computed before any is copied when one of them reads another.    */
#include "nest/nest.h"

#include <string.h>

/* ---- Values with tiles ---- */

/* tile = v, for a value of any shape that broadcasts nowhere. */
static void copy_to(clpi_lower *l, clpi_steps *steps, int tile, clp_val v, uint32_t op)
{
    const clpi_type *t = clpi_type_of(l->p->ir, v);
    clpi_ix ix[CLP_MAX_RANK];
    clpi_nest *n = clpi_nest_add(l, steps, op, t->shape, t->rank, ix);
    if (!n)
        return;
    int value = clpi_node_of(l, n, v, ix);
    clpi_store_add(l, n, clpi_access_tile(l, n, tile, ix), value);
}

/* The tile of a value; what is computed where it is used, leaves and constants too, gets one here. */
static int own_tile(clpi_lower *l, clpi_steps *steps, clp_val v, uint32_t op)
{
    if (l->tile_of[v.id] >= 0)
        return l->tile_of[v.id];
    int tile = clpi_tile_add(l, clpi_type_of(l->p->ir, v));
    copy_to(l, steps, tile, v, op);
    return tile;
}

static void lower_value(clpi_lower *l, clpi_steps *steps, uint32_t v)
{
    int tile = clpi_tile_add(l, clpi_type_of(l->p->ir, (clp_val){ v }));
    copy_to(l, steps, tile, (clp_val){ v }, v);
    l->tile_of[v] = tile;
}

/* The dtype that a reduction or scan adds up in: 16-bit floats in f32, rounded at the end. */
static clp_dtype sum_dtype(clpi_op_kind kind, clp_dtype result)
{
    bool sums = kind == CLP_OP_sum || kind == CLP_OP_prod || kind == CLP_OP_cumsum || kind == CLP_OP_cumprod;
    return sums && clpi_rep(result) == CLP_F32 ? CLP_F32 : result;
}

static void lower_reduce(clpi_lower *l, clpi_steps *steps, uint32_t v)
{
    const clpi_ir *ir = l->p->ir;
    const clpi_op *op = &ir->ops.items[v];
    const clpi_type *from = clpi_type_of(ir, clpi_args(ir, op)[0]), *to = clpi_type_of(ir, (clp_val){ v });
    clpi_ix ix[CLP_MAX_RANK], out[CLP_MAX_RANK];
    clpi_nest *n = clpi_nest_add(l, steps, v, from->shape, from->rank, ix);
    if (!n)
        return;
    int r = 0;
    for (int d = 0; d < from->rank; d++)
        if (!(op->attr >> d & 1))
            out[r++] = ix[d];
    int value = clpi_node_of(l, n, clpi_args(ir, op)[0], ix);
    clp_dtype acc = sum_dtype(op->kind, to->dtype);
    if (!clpi_is_arg(op->kind))
        value = clpi_node_cast(l, n, value, acc);
    int tile = clpi_tile_add(l, to);
    clpi_out_add(l, n, (clpi_out){ .kind = CLPI_OUT_REDUCE, .op = op->kind, .access = clpi_access_tile(l, n, tile, out), .value = value,
                                   .value2 = -1, .reduced = (uint32_t)op->attr, .dtype = acc, .old = -1 });
    l->tile_of[v] = tile;
}

static void lower_scan(clpi_lower *l, clpi_steps *steps, uint32_t v)
{
    const clpi_ir *ir = l->p->ir;
    const clpi_op *op = &ir->ops.items[v];
    const clpi_type *t = clpi_type_of(ir, (clp_val){ v });
    clpi_ix ix[CLP_MAX_RANK];
    clpi_nest *n = clpi_nest_add(l, steps, v, t->shape, t->rank, ix);
    if (!n)
        return;
    clp_dtype acc = sum_dtype(op->kind, t->dtype);
    int value = clpi_node_cast(l, n, clpi_node_of(l, n, clpi_args(ir, op)[0], ix), acc);
    int scan = clpi_node_add(l, n, (clpi_node){ .kind = CLPI_NODE_SCAN, .op = op->kind, .dtype = acc, .from = acc, .args = { value }, .n_args = 1,
                                                .ix = { .dim = (int)(op->attr / 2), .mul = 1, .node = -1 }, .bits = op->attr & 1 });
    int rounded = clpi_node_cast(l, n, scan, t->dtype), tile = clpi_tile_add(l, t);
    clpi_store_add(l, n, clpi_access_tile(l, n, tile, ix), rounded);
    l->tile_of[v] = tile;
}

static void lower_sort(clpi_lower *l, clpi_steps *steps, uint32_t v)
{
    const clpi_ir *ir = l->p->ir;
    const clpi_op *op = &ir->ops.items[v];
    const clpi_type *t = clpi_type_of(ir, (clp_val){ v });
    int tile = clpi_tile_add(l, t), tile2 = clpi_tile_add(l, t);
    copy_to(l, steps, tile, clpi_args(ir, op)[0], v);
    clpi_step *s = clpi_step_add(l, steps, CLPI_STEP_SORT, v);
    if (!s)
        return;
    s->tile = tile;
    s->tile2 = tile2;
    s->axis = (int)op->attr;
    l->tile_of[v] = tile;
}

static void lower_concat(clpi_lower *l, clpi_steps *steps, uint32_t v)
{
    const clpi_ir *ir = l->p->ir;
    const clpi_op *op = &ir->ops.items[v];
    int tile = clpi_tile_add(l, clpi_type_of(ir, (clp_val){ v })), axis = (int)op->attr;
    int64_t at = 0;
    for (uint32_t i = 0; i < op->n_args; i++) {
        const clpi_type *part = clpi_type_of(ir, clpi_args(ir, op)[i]);
        clpi_ix ix[CLP_MAX_RANK];
        clpi_nest *n = clpi_nest_add(l, steps, v, part->shape, part->rank, ix);
        if (!n)
            return;
        int value = clpi_node_of(l, n, clpi_args(ir, op)[i], ix);
        ix[axis].add = at;
        clpi_store_add(l, n, clpi_access_tile(l, n, tile, ix), value);
        at += part->shape[axis];
    }
    l->tile_of[v] = tile;
}

static clpi_nest *dot_side(clpi_lower *l, clp_val v, int n_batch, int *out_value)
{
    const clpi_type *t = clpi_type_of(l->p->ir, v);
    clpi_ix ix[CLP_MAX_RANK];
    clpi_nest *n = clpi_nest_over(l, t->shape, t->rank, ix);
    if (!n)
        return NULL;
    n->n_outer = n_batch;
    *out_value = clpi_node_of(l, n, v, ix);
    return n;
}

static void lower_dot(clpi_lower *l, clpi_steps *steps, uint32_t v, int dest, bool accumulates)
{
    const clpi_ir *ir = l->p->ir;
    const clp_val x = clpi_args(ir, &ir->ops.items[v])[0], y = clpi_args(ir, &ir->ops.items[v])[1];
    const clpi_type *t = clpi_type_of(ir, (clp_val){ v });
    if (dest < 0)
        dest = l->tile_of[v] = clpi_tile_add(l, t);
    if (clpi_lower_row_dot(l, steps, v, dest, accumulates))
        return;
    clpi_step *s = clpi_step_add(l, steps, CLPI_STEP_DOT, v);
    clpi_dot *d = CLPI_NEW(l->p->arena, clpi_dot);
    if (!s || !d)
        return;
    *d = (clpi_dot){ .acc = t->dtype, .n_batch = t->rank - 2, .m = t->shape[t->rank - 2], .n = t->shape[t->rank - 1],
                     .k = clpi_type_of(ir, x)->shape[t->rank - 1], .dest = dest, .accumulates = accumulates };
    d->a = dot_side(l, x, d->n_batch, &d->a_value);
    d->b = dot_side(l, y, d->n_batch, &d->b_value);
    s->dot = d;
}

/* ---- Effects ---- */

/* The dot that a store takes in, and the other summand of its `add`. */
static uint32_t taken_in(const clpi_lower *l, uint32_t store, clp_val *out_rest)
{
    const clpi_ir *ir = l->p->ir;
    const clpi_op *op = &ir->ops.items[store], *add;
    clp_val value = clpi_op_value(ir, op, 0);
    add = clpi_op_at(ir, value);
    for (uint32_t i = 0; add->kind == CLP_OP_add && i < 2; i++) {
        clp_val dot = clpi_args(ir, add)[i];
        if (l->choice[dot.id].into == store) {
            *out_rest = clpi_args(ir, add)[1 - i];
            return dot.id;
        }
    }
    return 0;
}

static void lower_store(clpi_lower *l, clpi_steps *steps, uint32_t v)
{
    const clpi_ir *ir = l->p->ir;
    const clpi_op *op = &ir->ops.items[v];
    clp_val value = clpi_op_value(ir, op, 0);
    uint32_t dot = taken_in(l, v, &value);
    const clpi_op *rest = clpi_op_at(ir, value);
    bool is_itself = dot && rest->kind == CLP_OP_load && !rest->has_mask && l->tile_of[value.id] < 0 &&
                     clpi_depend_ops(ir, l->p->plan, rest, op) == CLPI_SAME_POINT;
    if (!is_itself) {
        int64_t shape[CLP_MAX_RANK];
        int rank = clpi_place_rank(ir, op, shape);
        clpi_ix ix[CLP_MAX_RANK];
        clpi_nest *n = clpi_nest_add(l, steps, v, shape, rank, ix);
        if (!n)
            return;
        int node = clpi_node_of(l, n, value, ix);
        int access = clpi_access_place(l, n, op, ix);
        for (int d = 0; d < n->accesses.items[access].rank; d++)
            n->in_order = n->in_order || clpi_subs(ir, op)[d].kind == CLPI_SUB_TILE;
        clpi_store_add(l, n, access, node);
    }
    if (dot)
        lower_dot(l, steps, dot, l->p->scratch_tile[op->operand], true);
}

static void lower_atomic(clpi_lower *l, clpi_steps *steps, uint32_t v)
{
    const clpi_ir *ir = l->p->ir;
    const clpi_op *op = &ir->ops.items[v];
    int64_t shape[CLP_MAX_RANK];
    int rank = clpi_place_rank(ir, op, shape);
    clpi_ix ix[CLP_MAX_RANK];
    clpi_nest *n = clpi_nest_add(l, steps, v, shape, rank, ix);
    if (!n)
        return;
    clpi_out out = { .kind = CLPI_OUT_ATOMIC,
                     .op = op->kind,
                     .value = clpi_node_of(l, n, clpi_op_value(ir, op, 0), ix),
                     .value2 = -1,
                     .dtype = clpi_type_of(ir, (clp_val){ v })->dtype };
    if (op->kind == CLP_OP_atomic_cas)
        out.value2 = clpi_node_of(l, n, clpi_op_value(ir, op, 1), ix);
    out.access = clpi_access_place(l, n, op, ix);
    l->tile_of[v] = clpi_tile_add(l, clpi_type_of(ir, (clp_val){ v }));
    out.old = clpi_access_tile(l, n, l->tile_of[v], ix);
    clpi_out_add(l, n, out);
}

static void lower_print(clpi_lower *l, clpi_steps *steps, uint32_t v)
{
    const clpi_op *op = &l->p->ir->ops.items[v];
    int *args = CLPI_NEW_N(l->p->arena, int, op->n_args + 1);
    if (!args) {
        l->failed = true;
        return;
    }
    for (uint32_t i = 0; i < op->n_args; i++)
        args[i] = own_tile(l, steps, clpi_args(l->p->ir, op)[i], v);
    clpi_step *s = clpi_step_add(l, steps, CLPI_STEP_PRINT, v);
    if (s) {
        s->args = args;
        s->n_args = (int)op->n_args;
    }
}

static void lower_check(clpi_lower *l, clpi_steps *steps, uint32_t v)
{
    clpi_step *s = clpi_step_add(l, steps, CLPI_STEP_CHECK, v);
    clpi_nest *n = clpi_nest_over(l, NULL, 0, NULL);
    clpi_step_check *check = CLPI_NEW(l->p->arena, clpi_step_check);
    if (!s || !n || !check) {
        l->failed = true;
        return;
    }
    s->nest = n;
    s->check = check;
    clpi_check_fill(l, s);
}

/* ---- Regions ---- */

static void lower_ops(clpi_lower *l, clpi_steps *steps, uint32_t begin, uint32_t end);

/* The tiles of the values that region op `op` carries: n results behind it, or behind `end`. */
static int *carried_tiles(clpi_lower *l, uint32_t op, uint32_t first_init, uint32_t *out_n)
{
    const clpi_ir *ir = l->p->ir;
    const clpi_op *o = &ir->ops.items[op];
    uint32_t n = o->n_args - first_init;
    int *tiles = CLPI_NEW_N(l->p->arena, int, n + 1);
    *out_n = tiles ? n : 0;
    l->failed = l->failed || !tiles;
    for (uint32_t i = 0; i < *out_n; i++)
        tiles[i] = clpi_tile_add(l, clpi_type_of(ir, clpi_args(ir, o)[first_init + i]));
    return tiles;
}

/* Gives the carried tiles to the args of the region (from attr first_attr on) and to the results behind the op. */
static void bind_carried(clpi_lower *l, uint32_t op, const int *tiles, uint32_t n, uint32_t first_attr)
{
    const clpi_ir *ir = l->p->ir;
    const clpi_op *o = &ir->ops.items[op];
    for (uint32_t v = op + 1; v < o->end && ir->ops.items[v].kind == CLP_OP_arg; v++)
        if (ir->ops.items[v].attr >= first_attr)
            l->tile_of[v] = tiles[ir->ops.items[v].attr - first_attr];
    for (uint32_t v = o->end; v < ir->ops.n && ir->ops.items[v].kind == CLP_OP_result; v++)
        if (ir->ops.items[v].attr < n)
            l->tile_of[v] = tiles[ir->ops.items[v].attr];
}

/* Does the nest read the tile elsewhere than at the point that it stores? */
static bool reads_carried(const clpi_lower *l, const clpi_nest *n, int tile, bool also_at_point)
{
    const clpi_access *out = &n->accesses.items[n->outs.items[0].access];
    for (uint32_t i = 0; i < n->nodes.n; i++) {
        const clpi_node *node = &n->nodes.items[i];
        const clpi_access *a = node->kind == CLPI_NODE_LOAD ? &n->accesses.items[node->access] : NULL;
        if (a && a->is_tile && a->target == tile &&
            (also_at_point || clpi_depend_accesses(l->p, n, a, n, out) != CLPI_SAME_POINT))
            return true;
    }
    return false;
}

/* tiles[i] = values[i], as if all at once: when an outcome reads a carried tile that has its new value by then, all go
 * through tiles of their own. */
static void assign_carried(clpi_lower *l, clpi_steps *steps, const int *tiles, const clp_val *values, uint32_t n, uint32_t op)
{
    uint32_t first = steps->n;
    bool reads = false;
    for (uint32_t i = 0; i < n; i++)
        copy_to(l, steps, tiles[i], values[i], op);
    if (l->failed)
        return;
    for (uint32_t s = first; s < steps->n; s++)
        for (uint32_t i = 0; i <= s - first; i++)
            reads = reads || reads_carried(l, steps->items[s]->nest, tiles[i], i < s - first);
    if (!reads || n == 0)
        return;
    steps->n = first;
    int *fresh = CLPI_NEW_N(l->p->arena, int, n);
    for (uint32_t i = 0; fresh && i < n; i++) {
        fresh[i] = clpi_tile_add(l, clpi_type_of(l->p->ir, values[i]));
        copy_to(l, steps, fresh[i], values[i], op);
    }
    for (uint32_t i = 0; fresh && i < n; i++) {
        const clpi_type *t = clpi_type_of(l->p->ir, values[i]);
        clpi_ix ix[CLP_MAX_RANK];
        clpi_nest *nest = clpi_nest_add(l, steps, op, t->shape, t->rank, ix);
        if (!nest)
            return;
        int node = clpi_node_add(l, nest,
                                 (clpi_node){ .kind = CLPI_NODE_LOAD,
                                              .dtype = t->dtype,
                                              .access = clpi_access_tile(l, nest, fresh[i], ix) });
        clpi_store_add(l, nest, clpi_access_tile(l, nest, tiles[i], ix), node);
    }
}

static const clpi_op *yield_of(const clpi_ir *ir, uint32_t end)
{
    return &ir->ops.items[end - 1];
}

static void lower_for(clpi_lower *l, clpi_steps *steps, uint32_t v)
{
    const clpi_ir *ir = l->p->ir;
    const clpi_op *op = &ir->ops.items[v];
    uint32_t n;
    int lo = own_tile(l, steps, clpi_args(ir, op)[0], v), hi = own_tile(l, steps, clpi_args(ir, op)[1], v);
    int *tiles = carried_tiles(l, v, 2, &n);
    assign_carried(l, steps, tiles, clpi_args(ir, op) + 2, n, v);
    clpi_step *s = clpi_step_add(l, steps, CLPI_STEP_FOR, v);
    if (!s || l->failed)
        return;
    s->lo = lo;
    s->hi = hi;
    s->by = (int64_t)op->attr;
    s->index = clpi_tile_add(l, &(clpi_type){ .dtype = CLP_I32 });
    for (uint32_t a = v + 1; a < op->end && ir->ops.items[a].kind == CLP_OP_arg; a++)
        if (ir->ops.items[a].attr == 0)
            l->tile_of[a] = s->index;
    bind_carried(l, v, tiles, n, 1);
    lower_ops(l, &s->body, v + 1, op->end - 1);
    assign_carried(l, &s->body, tiles, clpi_args(ir, yield_of(ir, op->end)), n, op->end - 1);
}

static void lower_while(clpi_lower *l, clpi_steps *steps, uint32_t v)
{
    const clpi_ir *ir = l->p->ir;
    const clpi_op *op = &ir->ops.items[v];
    uint32_t n;
    int *tiles = carried_tiles(l, v, 0, &n);        /* the condition is the first */
    assign_carried(l, steps, tiles, clpi_args(ir, op), n, v);
    clpi_step *s = clpi_step_add(l, steps, CLPI_STEP_WHILE, v);
    if (!s || l->failed)
        return;
    s->condition = tiles[0];
    bind_carried(l, v, tiles + 1, n - 1, 0);
    lower_ops(l, &s->body, v + 1, op->end - 1);
    assign_carried(l, &s->body, tiles, clpi_args(ir, yield_of(ir, op->end)), n, op->end - 1);
}

static void lower_if(clpi_lower *l, clpi_steps *steps, uint32_t v)
{
    const clpi_ir *ir = l->p->ir;
    const clpi_op *op = &ir->ops.items[v];
    uint32_t n;
    int condition = own_tile(l, steps, clpi_args(ir, op)[0], v);
    int *tiles = carried_tiles(l, v, 1, &n);
    clpi_step *s = clpi_step_add(l, steps, CLPI_STEP_BRANCH, v);
    if (!s || l->failed)
        return;
    s->condition = condition;
    lower_ops(l, &s->body, v + 1, op->mid - 1);
    assign_carried(l, &s->body, tiles, clpi_args(ir, yield_of(ir, op->mid)), n, op->mid - 1);
    lower_ops(l, &s->other, op->mid, op->end - 1);
    assign_carried(l, &s->other, tiles, clpi_args(ir, yield_of(ir, op->end)), n, op->end - 1);
    bind_carried(l, v, tiles, n, UINT32_MAX);
}

/* ---- All ops ---- */

static void lower_op(clpi_lower *l, clpi_steps *steps, uint32_t v)
{
    const clpi_op *op = &l->p->ir->ops.items[v];
    if (l->p->is_checked && clpi_needs_check(l->p->ir, op))
        lower_check(l, steps, v);
    switch (op->kind) {
    case CLP_OP_store: lower_store(l, steps, v); return;
    case CLP_OP_for: lower_for(l, steps, v); return;
    case CLP_OP_while: lower_while(l, steps, v); return;
    case CLP_OP_if: lower_if(l, steps, v); return;
    case CLP_OP_print: lower_print(l, steps, v); return;
    default: break;
    }
    if (clpi_is_atomic(op->kind)) {
        lower_atomic(l, steps, v);
        return;
    }
    if (!l->choice[v].is_tile || op->kind == CLP_OP_arg || op->kind == CLP_OP_result)
        return;                  /* fused away, or bound with its region; an assert is its check */
    switch (op->kind) {
    case CLP_OP_sum: case CLP_OP_prod: case CLP_OP_max: case CLP_OP_min: case CLP_OP_any: case CLP_OP_all:
    case CLP_OP_argmax: case CLP_OP_argmin: lower_reduce(l, steps, v); return;
    case CLP_OP_cumsum: case CLP_OP_cumprod: case CLP_OP_cummax: case CLP_OP_cummin: lower_scan(l, steps, v); return;
    case CLP_OP_sort: lower_sort(l, steps, v); return;
    case CLP_OP_concat: lower_concat(l, steps, v); return;
    case CLP_OP_dot: lower_dot(l, steps, v, -1, false); return;
    default: lower_value(l, steps, v); return;
    }
}

static void lower_ops(clpi_lower *l, clpi_steps *steps, uint32_t begin, uint32_t end)
{
    for (uint32_t v = begin; v < end && !l->failed;) {
        lower_op(l, steps, v);
        const clpi_op *op = &l->p->ir->ops.items[v];
        v = clpi_ops[op->kind].flags & CLP_REGION ? op->end : v + 1;
    }
}

static void add_scratch(clpi_lower *l)
{
    const clpi_ir *ir = l->p->ir;
    for (int i = 0; i < ir->n_operands; i++) {
        const clpi_operand *x = &ir->operands[i];
        l->p->scratch_tile[i] = -1;
        if (x->role != CLP_SCRATCH)
            continue;
        clpi_type t = { .dtype = clpi_loaded(x->dtype), .rank = x->ref_rank };
        for (int d = 0; d < x->ref_rank; d++)
            t.shape[d] = x->ref_size[d];
        int tile = clpi_tile_add(l, &t);
        if (l->failed)
            return;
        l->p->scratch_tile[i] = tile;
        l->p->tiles.items[tile].operand = i;
    }
}

clp_status clpi_nest_build(const clpi_ir *ir, const clpi_plan *plan, bool is_checked, clpi_arena *arena, clpi_program **out_program)
{
    *out_program = NULL;
    clpi_program *p = CLPI_NEW(arena, clpi_program);
    clpi_choice *choice = NULL;
    if (!p || !clpi_choose(ir, plan, is_checked, arena, &choice))
        return CLP_ERR_OOM;
    *p = (clpi_program){ .ir = ir, .plan = plan, .arena = arena, .is_checked = is_checked };
    p->scratch_tile = CLPI_NEW_N(arena, int, (size_t)ir->n_operands + 1);
    clpi_lower l = { .p = p, .choice = choice, .tile_of = CLPI_NEW_N(arena, int, ir->ops.n) };
    if (!p->scratch_tile || !l.tile_of || !CLPI_PUSH(arena, &p->tiles, (clpi_tile){ 0 }))
        return CLP_ERR_OOM;
    p->tiles.n = 0;               /* its number stands for tiles that there is no memory for */
    for (uint32_t v = 0; v < ir->ops.n; v++)
        l.tile_of[v] = -1;
    add_scratch(&l);
    lower_ops(&l, &p->parts[CLPI_PART_EVERY], ir->n_header, ir->ops.n);
    if (l.failed || arena->failed)
        return CLP_ERR_OOM;
    clpi_fuse(p);
    clpi_number_steps(p);
    if (arena->failed)
        return CLP_ERR_OOM;
    *out_program = p;
    return CLP_OK;
}
