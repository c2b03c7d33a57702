/* levels: how far the values of a device may be from the interpreter's.
 * In: IR and plan. Out: for each value, and for what each operand's storage gets, whether bits must agree, and if not by how
 * much they may differ. A forward flow over the body, repeated until nothing changes, as loops and storage carry values
 * back. What a value may be off by is that of the coarsest dtype it went through on its way.                           */
#include <math.h>
#include <string.h>

#include "check/agree.h"

typedef struct flow {
    const clpi_ir   *ir;
    const clpi_plan *plan;
    clpi_levels     *levels;
    int64_t          n_terms;
    const bool      *is_racing;
    struct { uint32_t *items; uint32_t n, cap; } open;      /* region ops around the current op */
    bool             has_changed;
} flow;

static const clpi_level exact = { CLPI_EXACT, 0 };

/* What sums in another order, and functions of a few ulp, may be off by. Sums of very many terms drift as their root. What is
 * allowed to approximate has nothing promised: two digits are left to it.                                               */
static double bound_of(const flow *f, clp_dtype dtype)
{
    double root = 4 * sqrt((double)f->n_terms), fast = f->ir->math_fast ? 100 : 1;
    switch (dtype) {
    case CLP_F64: return fmax(1e-12 * fast, root * 0x1p-53);
    case CLP_F32: return fmax(1e-5 * fast, root * 0x1p-24);
    case CLP_F16: return 2e-3;
    case CLP_BF16: return 1.6e-2;
    case CLP_F8E4M3: return 0.13;
    case CLP_F8E5M2: return 0.26;
    default: return 0;
    }
}

static clpi_level join(clpi_level a, clpi_level b)
{
    return (clpi_level){ a.kind > b.kind ? a.kind : b.kind, fmax(a.bound, b.bound) };
}

static clpi_level at_least(clpi_level a, clpi_level_kind kind)
{
    return (clpi_level){ a.kind > kind ? a.kind : kind, a.bound };
}

/* What a decision by a value of this level makes of all that it decides. */
static clpi_level decided_by(clpi_level a)
{
    return a.kind == CLPI_EXACT ? a : at_least(a, CLPI_CHOSEN);
}

static void raise(flow *f, clpi_level *at, clpi_level to)
{
    clpi_level joined = join(*at, to);
    f->has_changed |= joined.kind != at->kind || joined.bound > at->bound;
    *at = joined;
}

static clpi_level of(const flow *f, clp_val v)
{
    return v.id ? f->levels->val[v.id] : exact;
}

/* ---- Elementwise ops ---- */

clpi_level_kind clpi_own_level(const clpi_ir *ir, const clpi_op *op)
{
    const clp_dtype dtype = ir->types.items[op->type].dtype;
    if (!clpi_is_float(dtype))
        return CLPI_EXACT;
    switch (op->kind) {
    case CLP_OP_exp: case CLP_OP_exp2: case CLP_OP_log: case CLP_OP_log2: case CLP_OP_tanh: case CLP_OP_erf: case CLP_OP_sin: case CLP_OP_cos:
        return dtype == CLP_F64 || ir->math_fast ? CLPI_ROUNDED : CLPI_EXACT;
    case CLP_OP_rsqrt: case CLP_OP_cbrt: case CLP_OP_expm1: case CLP_OP_log1p: case CLP_OP_tan: case CLP_OP_asin: case CLP_OP_acos:
    case CLP_OP_atan: case CLP_OP_sinh: case CLP_OP_cosh: case CLP_OP_asinh: case CLP_OP_acosh: case CLP_OP_atanh: case CLP_OP_erf_inv:
    case CLP_OP_pow: case CLP_OP_atan2: case CLP_OP_mod: case CLP_OP_rem:
    case CLP_OP_sum: case CLP_OP_prod: case CLP_OP_cumsum: case CLP_OP_cumprod: case CLP_OP_dot:
        return CLPI_ROUNDED;
    case CLP_OP_add: case CLP_OP_sub: case CLP_OP_mul: case CLP_OP_divide: case CLP_OP_fma: case CLP_OP_sqrt:
        return ir->math_fast ? CLPI_ROUNDED : CLPI_EXACT;
    default: return CLPI_EXACT;
    }
}

/* Small differences of the operands make large ones, or others in kind. */
static bool jumps(clpi_op_kind kind)
{
    switch (kind) {
    case CLP_OP_floor: case CLP_OP_ceil: case CLP_OP_trunc: case CLP_OP_round: case CLP_OP_rint: case CLP_OP_sign: case CLP_OP_mod:
    case CLP_OP_rem: case CLP_OP_argmax: case CLP_OP_argmin: case CLP_OP_nextafter:
        return true;
    default: return clpi_ops[kind].types == CLP_CMP || clpi_ops[kind].types == CLP_EQU || clpi_ops[kind].types == CLP_TST;
    }
}

static clpi_level computed(const flow *f, const clpi_op *op)
{
    const clp_val *args = clpi_args(f->ir, op);
    clp_dtype dtype = f->ir->types.items[op->type].dtype;
    clpi_level level = exact;
    for (uint32_t i = 0; i < op->n_args; i++) {
        bool decides = (op->kind == CLP_OP_where && i == 0) || (op->kind == CLP_OP_index && i > 0);
        level = join(level, decides ? decided_by(of(f, args[i])) : of(f, args[i]));
    }
    bool to_integer = op->kind == CLP_OP_cast && !clpi_is_float(dtype);
    if (level.kind != CLPI_EXACT && op->kind == CLP_OP_bitcast)
        level.kind = CLPI_FREE;
    if (jumps(op->kind) || to_integer)
        level = decided_by(level);
    level = at_least(level, clpi_own_level(f->ir, op));
    if (level.kind != CLPI_EXACT)
        level.bound = fmax(level.bound, bound_of(f, dtype));
    return level;
}

/* ---- Refs ---- */

/* Where it looks and whether it does. */
static clpi_level place_of(const flow *f, const clpi_op *op)
{
    clpi_level level = of(f, clpi_op_mask(f->ir, op));
    for (uint32_t i = 0; i < op->n_subs; i++)
        level = join(level, of(f, clpi_args(f->ir, op)[i]));
    return decided_by(level);
}

/* Which region is walked, and how often. */
static clpi_level decision_of(const flow *f, const clpi_op *region)
{
    const clp_val *args = clpi_args(f->ir, region);
    clpi_level level = of(f, args[0]);
    if (region->kind == CLP_OP_for)
        level = join(level, of(f, args[1]));
    if (region->kind == CLP_OP_while)      /* the next condition */
        level = join(level, of(f, clpi_args(f->ir, &f->ir->ops.items[region->end - 1])[0]));
    return decided_by(level);
}

static clpi_level control_of(const flow *f)
{
    clpi_level level = exact;
    for (uint32_t i = 0; i < f->open.n; i++)
        level = join(level, decision_of(f, &f->ir->ops.items[f->open.items[i]]));
    return level;
}

static clpi_level accessed(flow *f, const clpi_op *op)
{
    int storage = f->plan->storage[op->operand];
    clpi_level *stored = &f->levels->stored[storage], place = place_of(f, op), value = exact;
    clp_dtype dtype = f->ir->operands[op->operand].dtype;
    if (op->kind == CLP_OP_load)
        return at_least(join(join(*stored, place), of(f, clpi_op_other(f->ir, op))),
                        f->is_racing && f->is_racing[op->operand] ? CLPI_FREE : CLPI_EXACT);
    for (int i = 0; i < (op->kind == CLP_OP_atomic_cas ? 2 : 1); i++)
        value = join(value, of(f, clpi_op_value(f->ir, op, i)));
    value = join(join(value, place), control_of(f));
    if (op->kind == CLP_OP_atomic_add && clpi_is_float(dtype))
        value = at_least(value, CLPI_ROUNDED);
    if (op->kind == CLP_OP_atomic_xchg || op->kind == CLP_OP_atomic_cas)
        value.kind = CLPI_FREE;
    if (value.kind != CLPI_EXACT)
        value.bound = fmax(value.bound, bound_of(f, dtype));
    raise(f, stored, value);
    return op->kind == CLP_OP_store ? exact : (clpi_level){ CLPI_FREE, value.bound };
}

/* ---- Regions ---- */

/* The values that a region op and its parts carry: number k of those behind the bounds or the condition. */
static clpi_level carried(const flow *f, const clpi_op *region, uint32_t k)
{
    const clpi_ir *ir = f->ir;
    uint32_t first = region->kind == CLP_OP_for ? 2 : 1;
    const clpi_op *last = &ir->ops.items[region->end - 1];
    clpi_level level = of(f, clpi_args(ir, last)[k + (region->kind == CLP_OP_while)]);
    if (region->kind == CLP_OP_if)
        return join(level, of(f, clpi_args(ir, &ir->ops.items[region->mid - 1])[k]));
    return join(level, of(f, clpi_args(ir, region)[first + k]));
}

static clpi_level part(const flow *f, const clpi_op *op)
{
    const clpi_ir *ir = f->ir;
    if (op->kind == CLP_OP_result) {
        const clpi_op *behind = clpi_op_at(ir, clpi_args(ir, op)[0]);
        return join(carried(f, behind, (uint32_t)op->attr), decision_of(f, behind));
    }
    if (op->kind != CLP_OP_arg)
        return exact;
    const clpi_op *region = &ir->ops.items[f->open.items[f->open.n - 1]];
    bool is_for = region->kind == CLP_OP_for;
    if (is_for && op->attr == 0)
        return decided_by(join(of(f, clpi_args(ir, region)[0]), of(f, clpi_args(ir, region)[1])));
    return carried(f, region, (uint32_t)op->attr - (is_for ? 1 : 0));
}

static bool pass(flow *f, clpi_arena *arena)
{
    const clpi_ir *ir = f->ir;
    f->open.n = 0;
    f->has_changed = false;
    for (uint32_t i = ir->n_header; i < ir->ops.n; i++) {
        const clpi_op *op = &ir->ops.items[i];
        while (f->open.n && ir->ops.items[f->open.items[f->open.n - 1]].end <= i)
            f->open.n--;
        if (clpi_ops[op->kind].flags & CLP_REGION) {
            if (!CLPI_PUSH(arena, &f->open, i))
                return false;
        } else if (op->kind == CLP_OP_arg || op->kind == CLP_OP_result || op->kind == CLP_OP_yield) {
            raise(f, &f->levels->val[i], part(f, op));
        } else {
            raise(f, &f->levels->val[i], op->operand >= 0 ? accessed(f, op) : computed(f, op));
        }
    }
    return true;
}

clp_status clpi_levels_new(const clpi_ir *ir, const clpi_plan *plan, int64_t n_terms, const bool *is_racing, clpi_arena *arena,
                           clpi_levels *out)
{
    flow f = { .ir = ir, .plan = plan, .levels = out, .n_terms = n_terms, .is_racing = is_racing };
    out->val = CLPI_NEW_N(arena, clpi_level, ir->ops.n);
    out->stored = CLPI_NEW_N(arena, clpi_level, (size_t)ir->n_operands + 1);
    if (arena->failed)
        return CLP_ERR_OOM;
    do
        if (!pass(&f, arena))
            return CLP_ERR_OOM;
    while (f.has_changed);
    for (int i = 0; i < ir->n_operands; i++)
        out->stored[i] = out->stored[plan->storage[i]];
    return CLP_OK;
}

int64_t clpi_n_terms(const clpi_check *check)
{
    int64_t most = 1;
    for (int i = 0; i < check->ir->n_operands; i++)
        for (int d = 0; d < check->ir->operands[i].rank && check->ir->operands[i].role != CLP_SCRATCH; d++) {
            int64_t size = check->snapshot.bound->operands[i].size[d];
            most = size > most ? size : most;
        }
    return most;
}

double clpi_level_bound(const clpi_ir *ir, int64_t n_terms, clp_dtype dtype)
{
    return bound_of(&(flow){ .ir = ir, .n_terms = n_terms }, dtype);
}
