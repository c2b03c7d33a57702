/* analyse: which values get a tile of their own.
 *
 * In: verified, simplified IR. Out: a choice per op. A value without a tile is computed where it is used. It gets one
 * when it must (it comes whole: reductions, dots, scans, sorts, atomics, what regions carry), when a load in it could no
 * longer be made at the place of use (something between may write there), or when computing it at each use would cost
 * more than keeping it. One pass from the last op to the first: each op tells its operands where it will be evaluated.  */
#include "nest/nest.h"

#include <string.h>

/* What a value costs per element to compute, and to keep and read back, in about one vector instruction each: truths are bytes in
 * memory, and masks elsewhere. */
enum { COST_PLAIN = 1, COST_FUNCTION = 10, COST_KEEP = 2, COST_KEEP_BOOL = 3, COST_CAP = 1000 };

typedef struct {
    const clpi_ir   *ir;
    const clpi_plan *plan;
    bool             is_checked;
    clpi_choice     *choice;
    bool            *live;        /* some effect hangs on it; an assert is one in checked programs */
    uint32_t        *parent;      /* [n_ops + 1] innermost region op around each op; 0: none */
    uint32_t        *n_sites;     /* places where each value is evaluated */
    uint32_t        *n_uses;      /* ops that name it */
    bool            *pointwise;   /* all the way to its one place of use, elements keep their positions */
    bool            *whole;       /* some user needs it in memory: a general reshape, a run-time subscript */
    uint32_t        *cost;
    bool            *reached;     /* of one question: values that it has come to */
    uint32_t        *writes;  uint32_t n_writes;     /* ops that write, in order */
} analysis;

static bool is_scalar(const clpi_ir *ir, uint32_t op)
{
    return clpi_type_of(ir, (clp_val){ op })->rank == 0;
}

static bool is_whole_kind(clpi_op_kind kind)
{
    switch (kind) {
    case CLP_OP_cumsum: case CLP_OP_cumprod: case CLP_OP_cummax: case CLP_OP_cummin: case CLP_OP_sort: case CLP_OP_dot:
    case CLP_OP_concat: case CLP_OP_arg: case CLP_OP_result:
        return true;
    default:
        return clpi_is_reduction(kind) || clpi_is_atomic(kind);
    }
}

static bool is_leaf(const clpi_ir *ir, const clpi_op *op)
{
    return op->kind == CLP_OP_const || op->kind == CLP_OP_iota || op->kind == CLP_OP_program_id ||
           op->kind == CLP_OP_num_programs || op->kind == CLP_OP_dim ||
           (op->kind == CLP_OP_load && ir->operands[op->operand].role == CLP_SCALAR);
}

/* A reshape that only adds or drops dimensions of size 1 moves nothing. */
bool clpi_is_unit_reshape(const clpi_type *from, const clpi_type *to)
{
    int i = 0, j = 0;
    while (i < from->rank || j < to->rank) {
        if (i < from->rank && from->shape[i] == 1)
            i++;
        else if (j < to->rank && to->shape[j] == 1)
            j++;
        else if (i < from->rank && j < to->rank && from->shape[i] == to->shape[j])
            i++, j++;
        else
            return false;
    }
    return true;
}

/* The position at which `site` happens as seen from `value`: the end of the outermost loop that is around the site and
 * not around the value, for there it happens again and again. */
static uint32_t seen_from(const analysis *a, uint32_t value, uint32_t site)
{
    uint32_t at = site;
    for (uint32_t r = a->parent[site]; r != a->parent[value] && r != 0; r = a->parent[r])
        if (a->ir->ops.items[r].kind != CLP_OP_if)
            at = a->ir->ops.items[r].end;
    return at;
}

static bool in_deeper_loop(const analysis *a, uint32_t value, uint32_t site)
{
    return seen_from(a, value, site) != site;
}

/* Does op, or what it is computed from without a tile of its own, load from the storage of `operand`? */
static bool reads_storage(const analysis *a, uint32_t value, int operand)
{
    memset(a->reached, 0, a->ir->ops.n * sizeof *a->reached);
    a->reached[value] = true;
    for (uint32_t v = value; v > 0; v--) {
        const clpi_op *op = &a->ir->ops.items[v];
        if (!a->reached[v])
            continue;
        if (op->kind == CLP_OP_load && a->plan->storage[op->operand] == a->plan->storage[operand])
            return true;
        for (uint32_t i = 0; !is_whole_kind(op->kind) && i < op->n_args; i++)
            a->reached[clpi_args(a->ir, op)[i].id] = true;
    }
    return false;
}

/* Is a store one of the whole of a scratch operand, of the value as it is? */
static bool stores_whole_scratch(const clpi_ir *ir, const clpi_op *store)
{
    const clpi_operand *x = &ir->operands[store->operand];
    if (x->role != CLP_SCRATCH || store->has_mask)
        return false;
    for (uint32_t d = 0; d < store->n_subs; d++) {
        const clpi_sub *s = clpi_subs(ir, store) + d;
        int64_t start;
        if (s->kind != CLPI_SUB_RANGE || s->size != x->ref_size[d] || s->stride != 1 ||
            !clpi_const_int(ir, clpi_args(ir, store)[d], &start) || start != 0)
            return false;
    }
    return true;
}

/* `acc[...] = e + dot(x, y)`: the dot accumulates into acc, which first takes e. Whether e and the products are added in
 * this order is free: it is one sum (the bound of a dot covers it). */
static void take_in_dot(analysis *a, uint32_t store)
{
    const clpi_ir *ir = a->ir;
    const clpi_op *op = &ir->ops.items[store];
    if (!stores_whole_scratch(ir, op))
        return;
    uint32_t value = clpi_op_value(ir, op, 0).id;
    const clpi_op *add = &ir->ops.items[value];
    if (add->kind != CLP_OP_add || a->n_uses[value] != 1 || a->parent[value] != a->parent[store])
        return;
    for (int i = 1; i >= 0; i--) {
        uint32_t dot = clpi_args(ir, add)[i].id;
        const clpi_op *d = &ir->ops.items[dot];
        if (d->kind != CLP_OP_dot || a->n_uses[dot] != 1 || a->parent[dot] != a->parent[store] ||
            ir->types.items[d->type].dtype != ir->operands[op->operand].dtype ||
            reads_storage(a, clpi_args(ir, d)[0].id, op->operand) ||
            reads_storage(a, clpi_args(ir, d)[1].id, op->operand))
            continue;
        a->choice[dot].into = store;
        return;
    }
}

/* What the user `c`, evaluated at `site`, asks of its operand number i. */
static void tell_operand(analysis *a, uint32_t c, uint32_t i, uint32_t site, uint32_t n_sites)
{
    const clpi_op *op = &a->ir->ops.items[c];
    uint32_t v = clpi_args(a->ir, op)[i].id;
    bool pointwise = clpi_ops[op->kind].is_elementwise || op->kind == CLP_OP_cast || op->kind == CLP_OP_bitcast;
    if (pointwise && !a->choice[c].is_tile)
        pointwise = a->pointwise[c];
    else if (op->kind == CLP_OP_store)
        pointwise = clpi_type_of(a->ir, (clp_val){ v })->rank > 0 && i >= op->n_subs;
    else
        pointwise = false;
    a->pointwise[v] = (a->n_sites[v] == 0 || a->pointwise[v]) && pointwise;
    a->n_sites[v] += n_sites;
    uint32_t at = seen_from(a, v, site);
    if (at > a->choice[v].last)
        a->choice[v].last = at;
    if (op->kind == CLP_OP_reshape &&
        !clpi_is_unit_reshape(clpi_type_of(a->ir, (clp_val){ v }), clpi_type_of(a->ir, (clp_val){ c })))
        a->whole[v] = true;
    if (op->kind == CLP_OP_index && i == 0)
        for (uint32_t s = 0; s < op->n_subs; s++) {
            int64_t start;
            if (clpi_subs(a->ir, op)[s].kind == CLPI_SUB_TILE || clpi_sub_is_outside(a->ir, op, s) ||
                !clpi_const_int(a->ir, clpi_args(a->ir, op)[1 + s], &start))
                a->whole[v] = true;
        }
    if (in_deeper_loop(a, v, site) && !is_leaf(a->ir, &a->ir->ops.items[v]) && a->cost[v] > COST_PLAIN)
        a->whole[v] = true;      /* else computed anew in each iteration */
}

static bool load_must_stay(const analysis *a, uint32_t load)
{
    const clpi_op *op = &a->ir->ops.items[load];
    uint32_t last = a->choice[load].last;
    for (uint32_t i = 0; i < a->n_writes; i++) {
        uint32_t w = a->writes[i];
        if (w <= load || w > last)
            continue;
        clpi_depend d = clpi_depend_ops(a->ir, a->plan, op, &a->ir->ops.items[w]);
        bool at_its_place = d == CLPI_SAME_POINT && w == last && a->pointwise[load] &&
                            a->ir->ops.items[w].kind == CLP_OP_store;
        if (d != CLPI_APART && !at_its_place)
            return true;
    }
    return false;
}

static bool wants_tile(const analysis *a, uint32_t v)
{
    const clpi_op *op = &a->ir->ops.items[v];
    if (is_leaf(a->ir, op))
        return op->kind == CLP_OP_iota && a->whole[v];
    if (is_whole_kind(op->kind) || is_scalar(a->ir, v) || a->whole[v])
        return a->choice[v].into == 0;
    if (op->kind == CLP_OP_load)
        return load_must_stay(a, v);
    if (op->kind == CLP_OP_iota || op->kind == CLP_OP_broadcast || op->kind == CLP_OP_transpose ||
        op->kind == CLP_OP_reshape || op->kind == CLP_OP_index)
        return a->cost[v] >= COST_CAP;
    const uint32_t keep = a->ir->types.items[op->type].dtype == CLP_BOOL ? COST_KEEP_BOOL : COST_KEEP;
    return a->n_sites[v] > 1 && a->cost[v] * (a->n_sites[v] - 1) > keep * a->n_sites[v];
}

/* Of floats alone; costs many times what an operator does. */
static bool is_function(clpi_op_kind kind)
{
    return clpi_ops[kind].types == CLP_FLT && kind != CLP_OP_fma;
}

static uint32_t own_cost(const clpi_op *op)
{
    if (is_function(op->kind))
        return COST_FUNCTION;
    return clpi_ops[op->kind].is_elementwise || op->kind == CLP_OP_cast || op->kind == CLP_OP_load ? COST_PLAIN : 0;
}

/* The check of an access looks at its indices and its mask where the access stands, wherever a load is made at last. */
static void tell_of_check(analysis *a, uint32_t v)
{
    const clpi_op *op = &a->ir->ops.items[v];
    for (uint32_t i = 0; i < op->n_args; i++)
        if (i < op->n_subs || (op->has_mask && i == op->n_args - 1))
            tell_operand(a, v, i, v, 1);
}

static void mark_live(analysis *a)
{
    const clpi_ir *ir = a->ir;
    for (uint32_t v = ir->ops.n - 1; v >= ir->n_header && v > 0; v--) {
        const clpi_op *op = &ir->ops.items[v];
        if ((clpi_ops[op->kind].flags & CLP_EFFECT) && (op->kind != CLP_OP_assert || a->is_checked))
            a->live[v] = true;
        for (uint32_t i = 0; a->live[v] && i < op->n_args; i++)
            a->live[clpi_args(ir, op)[i].id] = true;
    }
}

/* Parents, uses, writes and costs, from first to last. */
static void survey(analysis *a)
{
    const clpi_ir *ir = a->ir;
    uint32_t open = 0;
    for (uint32_t v = ir->n_header; v < ir->ops.n; v++) {
        const clpi_op *op = &ir->ops.items[v];
        while (open != 0 && v >= ir->ops.items[open].end)
            open = a->parent[open];
        a->parent[v] = open;
        if (clpi_ops[op->kind].flags & CLP_REGION)
            open = v;
        if (clpi_ops[op->kind].flags & CLP_WRITE)
            a->writes[a->n_writes++] = v;
        uint64_t cost = own_cost(op);
        for (uint32_t i = 0; i < op->n_args; i++) {
            uint32_t arg = clpi_args(ir, op)[i].id;
            a->n_uses[arg] += a->live[v];
            if (!is_scalar(ir, arg) && !is_whole_kind(ir->ops.items[arg].kind))
                cost += a->cost[arg];
        }
        a->cost[v] = cost < COST_CAP ? (uint32_t)cost : COST_CAP;
    }
}

bool clpi_choose(const clpi_ir *ir, const clpi_plan *plan, bool is_checked, clpi_arena *arena, clpi_choice **out_choices)
{
    uint32_t n = ir->ops.n;
    analysis a = { .ir = ir, .plan = plan, .is_checked = is_checked, .choice = CLPI_NEW_N(arena, clpi_choice, n),
                   .live = CLPI_NEW_N(arena, bool, n),
                   .parent = CLPI_NEW_N(arena, uint32_t, n + 1), .n_sites = CLPI_NEW_N(arena, uint32_t, n),
                   .n_uses = CLPI_NEW_N(arena, uint32_t, n), .pointwise = CLPI_NEW_N(arena, bool, n),
                   .whole = CLPI_NEW_N(arena, bool, n), .cost = CLPI_NEW_N(arena, uint32_t, n),
                   .reached = CLPI_NEW_N(arena, bool, n),
                   .writes = CLPI_NEW_N(arena, uint32_t, n) };
    *out_choices = a.choice;
    if (arena->failed)
        return false;
    mark_live(&a);
    survey(&a);
    for (uint32_t v = n - 1; v >= ir->n_header && v > 0; v--) {
        const clpi_op *op = &ir->ops.items[v];
        if (!a.live[v])
            continue;
        if (op->kind == CLP_OP_store)
            take_in_dot(&a, v);
        bool makes_value = ir->types.items[op->type].dtype != CLP_DTYPE_NONE;
        a.choice[v].is_tile = makes_value && wants_tile(&a, v);
        bool is_here = a.choice[v].is_tile || !makes_value || (clpi_ops[op->kind].flags & CLP_EFFECT);
        uint32_t site = a.choice[v].into ? a.choice[v].into : is_here ? v : a.choice[v].last;
        uint32_t n_sites = is_here || a.choice[v].into ? 1 : a.n_sites[v];
        if (is_checked && clpi_needs_check(ir, op) && op->kind != CLP_OP_assert)
            tell_of_check(&a, v);
        if (site == 0)
            continue;            /* nobody evaluates it */
        for (uint32_t i = 0; i < op->n_args; i++)
            tell_operand(&a, v, i, site, n_sites);
    }
    return true;
}
