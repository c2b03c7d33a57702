/* work: the operations of a launch, and its traffic (work_traffic.c).
 * In: a bound launch. Out: clpi_work.
 * Decides what an operation weighs, and how often each op of the body runs: an `if` that program ids decide runs where it
 * holds, a loop as often as its bounds say; where data decide, both arms count, and the loop counts once.             */
#include <assert.h>
#include <string.h>

#include "plan/counting.h"

/* ---- Weights ---- */

/* Operations that one element takes: additions, multiplications, comparisons and choices of its formula, an fma being two.
 * Division and square root take as long as about four. The elementary functions are what base/elementary.h does; others,
 * which devices bring along, are taken for 40. Of reductions, scans and atomics: for each element that goes in. Movement
 * is none.                                                                                                             */
enum {
    WEIGHT_add = 1, WEIGHT_sub = 1, WEIGHT_mul = 1, WEIGHT_divide = 4, WEIGHT_mod = 8, WEIGHT_div = 4, WEIGHT_rem = 8,
    WEIGHT_neg = 1, WEIGHT_abs = 1, WEIGHT_sign = 1, WEIGHT_minimum = 1, WEIGHT_maximum = 1, WEIGHT_fma = 2,
    WEIGHT_and = 1, WEIGHT_or = 1, WEIGHT_xor = 1, WEIGHT_not = 1, WEIGHT_shl = 1, WEIGHT_shr = 1, WEIGHT_popcount = 1, WEIGHT_clz = 1,
    WEIGHT_eq = 1, WEIGHT_ne = 1, WEIGHT_lt = 1, WEIGHT_le = 1, WEIGHT_gt = 1, WEIGHT_ge = 1, WEIGHT_where = 1,
    WEIGHT_isnan = 1, WEIGHT_isinf = 1, WEIGHT_isfinite = 1,
    WEIGHT_floor = 1, WEIGHT_ceil = 1, WEIGHT_trunc = 1, WEIGHT_round = 1, WEIGHT_rint = 1,
    WEIGHT_sqrt = 4, WEIGHT_rsqrt = 5, WEIGHT_cbrt = 40,
    WEIGHT_exp = 25, WEIGHT_exp2 = 21, WEIGHT_expm1 = 40, WEIGHT_log = 36, WEIGHT_log2 = 40, WEIGHT_log1p = 40,
    WEIGHT_sin = 32, WEIGHT_cos = 32, WEIGHT_tan = 40, WEIGHT_asin = 40, WEIGHT_acos = 40, WEIGHT_atan = 40,
    WEIGHT_sinh = 40, WEIGHT_cosh = 40, WEIGHT_tanh = 60, WEIGHT_asinh = 40, WEIGHT_acosh = 40, WEIGHT_atanh = 40,
    WEIGHT_erf = 55, WEIGHT_erf_inv = 90, WEIGHT_pow = 40, WEIGHT_atan2 = 40, WEIGHT_copysign = 1, WEIGHT_nextafter = 4,

    WEIGHT_sum = 1, WEIGHT_prod = 1, WEIGHT_max = 1, WEIGHT_min = 1, WEIGHT_any = 1, WEIGHT_all = 1, WEIGHT_argmax = 2, WEIGHT_argmin = 2,
    WEIGHT_cumsum = 1, WEIGHT_cumprod = 1, WEIGHT_cummax = 1, WEIGHT_cummin = 1, WEIGHT_sort = 1 /* a comparison; log2 n of them */,
    WEIGHT_dot = 2,
    WEIGHT_atomic_add = 1, WEIGHT_atomic_min = 1, WEIGHT_atomic_max = 1, WEIGHT_atomic_and = 1, WEIGHT_atomic_or = 1,
    WEIGHT_atomic_xor = 1, WEIGHT_atomic_xchg = 1, WEIGHT_atomic_cas = 1,

    WEIGHT_cast = 0, WEIGHT_bitcast = 0, WEIGHT_const = 0, WEIGHT_iota = 0, WEIGHT_program_id = 0, WEIGHT_num_programs = 0,
    WEIGHT_dim = 0, WEIGHT_reshape = 0, WEIGHT_transpose = 0, WEIGHT_broadcast = 0, WEIGHT_concat = 0, WEIGHT_index = 0,
    WEIGHT_load = 0, WEIGHT_store = 0, WEIGHT_for = 0, WEIGHT_while = 0, WEIGHT_if = 0, WEIGHT_arg = 0, WEIGHT_yield = 0,
    WEIGHT_result = 0, WEIGHT_print = 0, WEIGHT_assert = 0
};

static const unsigned char weights[CLP_N_OPS] = {
#define CLP_EW(name, text, arity, types, flags, ...) [CLP_OP_##name] = WEIGHT_##name,
#define CLP_OP(name, text, arity, rule, flags) [CLP_OP_##name] = WEIGHT_##name,
#include "ir/ops.def"
#undef CLP_EW
#undef CLP_OP
};

/* ---- How often ops run ---- */

static clpi_product *product_new(clpi_counting *c, const clpi_product *from)
{
    clpi_product *p = CLPI_NEW(c->arena, clpi_product);
    if (p)
        *p = *from;
    return p;
}

/* An arm of an `if`. */
static clpi_product *arm_runs(clpi_counting *c, const clpi_op *op, const clpi_product *outside, clpi_factor_kind kind)
{
    clpi_product *p = product_new(c, outside);
    const clp_val condition = clpi_args(c->ir, op)[0];
    const clpi_knowledge *k = &c->known[condition.id];
    if (p && k->is_known)
        clpi_product_add(p, clpi_factor_intern(c, &(clpi_factor){ .kind = kind, .axes = k->axes, .reads_data = k->reads_data, .value = condition }));
    else if (p)
        p->is_exact = false;
    return p;
}

static clpi_product *loop_runs(clpi_counting *c, uint32_t id, const clpi_product *outside)
{
    const clpi_op *op = &c->ir->ops.items[id];
    clpi_product *p = product_new(c, outside);
    if (!p || op->kind != CLP_OP_for) {
        if (p)
            p->is_exact = false;
        return p;
    }
    const clpi_knowledge *lo = &c->known[clpi_args(c->ir, op)[0].id], *hi = &c->known[clpi_args(c->ir, op)[1].id];
    if (lo->is_known && hi->is_known)
        clpi_product_add(p, clpi_factor_intern(c, &(clpi_factor){ .kind = CLPI_FACTOR_TRIPS, .axes = lo->axes | hi->axes,
                                                   .reads_data = lo->reads_data || hi->reads_data, .op = id }));
    else
        p->is_exact = false;
    return p;
}

/* Ops from .. to - 1 run as often as `runs` says, those in regions of theirs accordingly. */
static bool spread_runs(clpi_counting *c, uint32_t from, uint32_t to, const clpi_product *runs)
{
    if (!runs)
        return false;
    for (uint32_t id = from; id < to; id++) {
        const clpi_op *op = &c->ir->ops.items[id];
        c->runs[id] = runs;
        if (!(clpi_ops[op->kind].flags & CLP_REGION))
            continue;
        const bool is_if = op->kind == CLP_OP_if;
        if (!spread_runs(c, id + 1, op->mid, is_if ? arm_runs(c, op, runs, CLPI_FACTOR_IF) : loop_runs(c, id, runs)) ||
            (is_if && !spread_runs(c, op->mid, op->end, arm_runs(c, op, runs, CLPI_FACTOR_UNLESS))))
            return false;
        id = op->end - 1;
    }
    return true;
}

/* ---- Operations ---- */

static void add_dim(clpi_product *p, int64_t size, int clip)
{
    if (clip)
        clpi_product_add(p, clip);
    else
        p->constant *= (double)size;
}

/* The elements that an op works on: those of its result, and of what it reduces or multiplies away. */
static void add_domain(const clpi_counting *c, const clpi_op *op, uint32_t id, clpi_product *p)
{
    const clpi_type *t = &c->ir->types.items[op->type];
    const clp_val self = { id };
    if (clpi_ops[op->kind].is_elementwise || op->kind == CLP_OP_dot || clpi_is_atomic(op->kind))
        for (int d = 0; d < t->rank; d++)
            add_dim(p, t->shape[d], clpi_clip_of(c, self, d));
    if (clpi_ops[op->kind].is_elementwise || clpi_is_atomic(op->kind))
        return;
    const clp_val x = clpi_args(c->ir, op)[0];
    const clpi_type *of = clpi_type_of(c->ir, x);
    if (op->kind == CLP_OP_dot) {
        const int k = of->rank - 1, clip = clpi_clip_of(c, x, k);
        add_dim(p, of->shape[k], clip ? clip : clpi_clip_of(c, clpi_args(c->ir, op)[1], k - 1));
        return;
    }
    for (int d = 0; d < of->rank; d++) {
        const int r = clpi_result_dim(c->ir, op, 0, d), wanted = r < 0 ? 0 : clpi_clip_of(c, self, r);
        add_dim(p, of->shape[d], wanted ? wanted : clpi_clip_of(c, x, d));
    }
}

static double weight_of(const clpi_counting *c, const clpi_op *op)
{
    double weight = weights[op->kind];
    if (op->kind == CLP_OP_sort)
        for (int64_t n = c->ir->types.items[op->type].shape[op->attr]; n > 2; n = (n + 1) / 2)
            weight++;
    return weight;
}

/* What an op computes with: comparisons and tests make bools of it. */
static clp_dtype dtype_of(const clpi_ir *ir, const clpi_op *op)
{
    const clp_dtype result = ir->types.items[op->type].dtype;
    const bool is_test = clpi_ops[op->kind].is_elementwise && result == CLP_BOOL;
    if (is_test || op->kind == CLP_OP_dot || clpi_is_arg(op->kind))
        return clpi_type_of(ir, clpi_args(ir, op)[op->kind == CLP_OP_where])->dtype;
    return result;
}

static clpi_work_line *line_of(clpi_work *w, bool is_dot, clp_dtype dtype, clp_dtype acc)
{
    for (int i = 0; i < w->n_lines; i++)
        if (w->lines[i].is_dot == is_dot && w->lines[i].dtype == dtype && w->lines[i].acc == acc)
            return &w->lines[i];
    assert(w->n_lines < CLPI_MAX_WORK_LINES && "fewer pairs of dtypes than lines");
    w->lines[w->n_lines] = (clpi_work_line){ is_dot, dtype, acc, 0, true };
    return &w->lines[w->n_lines++];
}

static void count_op(clpi_counting *c, uint32_t id, clpi_work *w)
{
    const clpi_op *op = &c->ir->ops.items[id];
    const double weight = weight_of(c, op);
    const clp_dtype dtype = weight > 0 ? dtype_of(c->ir, op) : CLP_DTYPE_NONE;
    const bool is_dot = op->kind == CLP_OP_dot;
    if (weight == 0 || c->known[id].is_index)
        return;
    clpi_product p = *c->runs[id];
    bool is_exact = p.is_exact;
    add_domain(c, op, id, &p);
    const double n = weight * clpi_product_sum(c, &p, &c->all, &is_exact);
    clpi_work_line *line = line_of(w, is_dot, dtype, is_dot ? c->ir->types.items[op->type].dtype : dtype);
    line->ops += n;
    line->is_exact = line->is_exact && is_exact;
}

static void add_up(clpi_work *w)
{
    w->ops_are_exact = w->dots_are_exact = w->bytes_are_exact = true;
    for (int i = 0; i < w->n_lines; i++) {
        const clpi_work_line *l = &w->lines[i];
        *(clpi_is_float(l->dtype) ? &w->flops : &w->int_ops) += l->ops;
        w->dot_ops += l->is_dot ? l->ops : 0;
        w->ops_are_exact = w->ops_are_exact && l->is_exact;
        w->dots_are_exact = w->dots_are_exact && (l->is_exact || !l->is_dot);
    }
    for (int i = 0; i < w->n_operands; i++) {
        const clpi_work_traffic *t = &w->operands[i];
        w->bytes_once += t->read_once + t->written_once;
        w->bytes_streamed += t->read + t->written;
        w->bytes_are_exact = w->bytes_are_exact && t->is_exact;
    }
}

/* ---- All of it ---- */

static bool counting_init(clpi_counting *c, const clpi_bound *bound, const clpi_prefetch *prefetch, clpi_arena *arena)
{
    const clpi_plan *plan = bound->plan;
    const uint32_t n_ops = plan->ir->ops.n;
    *c = (clpi_counting){ .bound = bound, .ir = plan->ir, .prefetch = prefetch, .arena = arena,
                     .known = CLPI_NEW_N(arena, clpi_knowledge, n_ops), .values = CLPI_NEW_N(arena, clpi_elem, n_ops),
                     .needs = CLPI_NEW_N(arena, clpi_id_list, n_ops), .order = CLPI_NEW_N(arena, int, (size_t)plan->ir->n_axes),
                     .runs = CLPI_NEW_N(arena, const clpi_product *, n_ops) };
    if (!c->known || !c->values || !c->needs || !c->order || !c->runs || !CLPI_PUSH(arena, &c->factors, (clpi_factor){ .kind = CLPI_FACTOR_IF }))
        return false;
    for (int i = 0; i < plan->n_parallel; i++)
        c->order[i] = plan->parallel[i];
    for (int i = 0; i < plan->n_arbitrary; i++)
        c->order[plan->n_parallel + i] = plan->arbitrary[i];
    for (int a = 0; a < plan->ir->n_axes; a++) {
        c->all.lo[a] = bound->box_start[a];
        c->all.n[a] = bound->box_count[a];
    }
    clpi_known_find(c);
    return true;
}

clp_status clpi_work_count(const clpi_bound *bound, const clpi_prefetch *prefetch, clpi_arena *arena, clpi_work *out)
{
    clpi_counting c;
    *out = (clpi_work){ .programs = (double)bound->n_sequences * (double)bound->n_steps };
    if (!counting_init(&c, bound, prefetch, arena))
        return CLP_ERR_OOM;
    const clpi_product *once = product_new(&c, &(clpi_product){ .constant = 1, .is_exact = true });
    if (!spread_runs(&c, c.ir->n_header, c.ir->ops.n, once) || !clpi_clips_find(&c))
        return CLP_ERR_OOM;
    for (uint32_t id = c.ir->n_header; id < c.ir->ops.n; id++)
        count_op(&c, id, out);
    if (!clpi_traffic_count(&c, out))
        return CLP_ERR_OOM;
    add_up(out);
    return arena->failed ? CLP_ERR_OOM : CLP_OK;
}
