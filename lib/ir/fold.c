/* fold: what an op is worth when its operands are known.
 * In: an op whose operands are simplified already. Out: a value that equals it bit for bit under the rules of the language,
 * or null. Floats are careful: x + 0 is not x when x is -0, x - x is not 0 when x is NaN, x * 0 is neither; integers wrap,
 * so for them the ring's identities hold. NaNs are equal whatever their bits.                                          */
#include <assert.h>
#include <string.h>

#include "ir/simplify.h"

static const clpi_op *made_by(const clpi_simplifier *s, clp_val v)
{
    return clpi_op_at(&s->out, v);
}

static const clpi_type *type_of(const clpi_simplifier *s, clp_val v)
{
    return clpi_type_of(&s->out, v);
}

static clp_val arg_of(const clpi_simplifier *s, clp_val v)
{
    return clpi_args(&s->out, made_by(s, v))[0];
}

/* The scalar that fills v, or null. */
static clp_val filled_with(const clpi_simplifier *s, clp_val v)
{
    if (type_of(s, v)->rank == 0)
        return v;
    if (made_by(s, v)->kind == CLP_OP_broadcast && type_of(s, arg_of(s, v))->rank == 0)
        return arg_of(s, v);
    return (clp_val){ 0 };
}

/* v is one constant, all over. */
static bool constant(const clpi_simplifier *s, clp_val v, clpi_elem *out)
{
    clp_val scalar = filled_with(s, v);
    if (scalar.id == 0 || made_by(s, scalar)->kind != CLP_OP_const)
        return false;
    *out = clpi_elem_from_bits(type_of(s, scalar)->dtype, made_by(s, scalar)->attr);
    return true;
}

/* v is x all over; a float zero has the sign of x. */
static bool is(const clpi_simplifier *s, clp_val v, double x)
{
    clpi_elem e;
    clp_dtype d = type_of(s, v)->dtype;
    if (!constant(s, v, &e))
        return false;
    if (!clpi_is_float(d))
        return clpi_is_signed(d) ? e.i == (int64_t)x : x >= 0 && e.u == (uint64_t)x;
    double given = clpi_elem_cast(CLP_F64, d, e).d;
    return memcmp(&given, &x, sizeof x) == 0;
}

static bool is_all_ones(const clpi_simplifier *s, clp_val v)
{
    clpi_elem e;
    clp_dtype d = type_of(s, v)->dtype;
    return constant(s, v, &e) && (clpi_is_signed(d) ? e.i == -1 : e.u == clpi_int_max(d));
}

/* ---- Making ---- */

/* A scalar, broadcast to the shape of an interned type. */
static clp_val fill(clpi_simplifier *s, uint32_t type, clp_val scalar)
{
    if (scalar.id == 0 || s->out.types.items[type].rank == 0)
        return scalar;
    return clpi_simplify_emit(s, (clpi_op){ .kind = CLP_OP_broadcast, .operand = -1, .type = type, .n_args = 1 }, &scalar, NULL);
}

static clp_val make_constant(clpi_simplifier *s, uint32_t type, clpi_elem e)
{
    clp_dtype d = s->out.types.items[type].dtype;
    clpi_type scalar = { .dtype = d };
    clpi_op op = { .kind = CLP_OP_const, .operand = -1, .attr = clpi_elem_to_bits(d, e) };
    if (!clpi_type_intern(&s->out, &scalar, &op.type))
        return (clp_val){ 0 };
    return fill(s, type, clpi_simplify_emit(s, op, NULL, NULL));
}

/* 0, 1, true or false of a type of integers or bool. */
static clp_val make_whole(clpi_simplifier *s, uint32_t type, int x)
{
    return make_constant(s, type, (clpi_elem){ .u = (uint64_t)x });
}

static clp_val reshaped(clpi_simplifier *s, uint32_t type, clp_val v)
{
    if (made_by(s, v)->type == type)
        return v;
    return clpi_simplify_emit(s, (clpi_op){ .kind = CLP_OP_reshape, .operand = -1, .type = type, .n_args = 1 }, &v, NULL);
}

/* ---- Element by element ---- */

static clp_val fold_constants(clpi_simplifier *s, const clpi_op *op, const clp_val *args)
{
    clpi_elem e[3];
    for (uint32_t i = 0; i < op->n_args; i++)
        if (!constant(s, args[i], &e[i]))
            return (clp_val){ 0 };
    clp_dtype d = type_of(s, args[op->n_args - 1])->dtype;      /* of `where` too: its first operand is bool */
    return make_constant(s, op->type, clpi_scalar_ew(op->kind, d, e));
}

static clp_val fold_sums(clpi_simplifier *s, const clpi_op *op, clp_val a, clp_val b)
{
    const clp_val none = { 0 };
    bool is_float = clpi_is_float(type_of(s, a)->dtype);
    switch (op->kind) {
    case CLP_OP_add: {
        double zero = is_float ? -0.0 : 0.0;
        return is(s, b, zero) ? a : is(s, a, zero) ? b : none;
    }
    case CLP_OP_sub:
        if (!is_float && a.id == b.id)
            return make_whole(s, op->type, 0);
        return is(s, b, 0.0) ? a : none;
    case CLP_OP_mul:
        if (!is_float && (is(s, a, 0) || is(s, b, 0)))
            return make_whole(s, op->type, 0);
        return is(s, b, 1) ? a : is(s, a, 1) ? b : none;
    case CLP_OP_divide: case CLP_OP_div:
        return is(s, b, 1) ? a : none;
    case CLP_OP_mod: case CLP_OP_rem:
        return !is_float && is(s, b, 1) ? make_whole(s, op->type, 0) : none;
    default:
        return none;
    }
}

static clp_val fold_bits(clpi_simplifier *s, const clpi_op *op, clp_val a, clp_val b)
{
    const clp_val none = { 0 };
    switch (op->kind) {
    case CLP_OP_and:
        if (a.id == b.id || is_all_ones(s, b) || is(s, a, 0))
            return a;
        return is_all_ones(s, a) || is(s, b, 0) ? b : none;
    case CLP_OP_or:
        if (a.id == b.id || is(s, b, 0) || is_all_ones(s, a))
            return a;
        return is(s, a, 0) || is_all_ones(s, b) ? b : none;
    case CLP_OP_xor:
        if (a.id == b.id)
            return make_whole(s, op->type, 0);
        return is(s, b, 0) ? a : is(s, a, 0) ? b : none;
    case CLP_OP_shl: case CLP_OP_shr:
        return is(s, b, 0) ? a : none;
    default:
        return none;
    }
}

static clp_val fold_choice(clpi_simplifier *s, const clpi_op *op, const clp_val *args)
{
    const clp_val none = { 0 };
    clp_val a = args[0], b = args[op->n_args > 1 ? 1 : 0];
    bool is_exact = !clpi_is_float(type_of(s, a)->dtype);
    switch (op->kind) {
    case CLP_OP_minimum: case CLP_OP_maximum:
        return a.id == b.id ? a : none;
    case CLP_OP_eq: case CLP_OP_le: case CLP_OP_ge:
        return is_exact && a.id == b.id ? make_whole(s, op->type, 1) : none;
    case CLP_OP_ne: case CLP_OP_lt: case CLP_OP_gt:
        return is_exact && a.id == b.id ? make_whole(s, op->type, 0) : none;
    case CLP_OP_where:
        if (args[1].id == args[2].id || is(s, a, 1))
            return args[1];
        return is(s, a, 0) ? args[2] : none;
    case CLP_OP_neg: case CLP_OP_not:
        return made_by(s, a)->kind == op->kind ? arg_of(s, a) : none;
    default:
        return none;
    }
}

static clp_val fold_elementwise(clpi_simplifier *s, const clpi_op *op, const clp_val *args)
{
    clp_val v = fold_constants(s, op, args);
    if (v.id == 0 && op->n_args == 2)
        v = fold_sums(s, op, args[0], args[1]);
    if (v.id == 0 && op->n_args == 2)
        v = fold_bits(s, op, args[0], args[1]);
    return v.id ? v : fold_choice(s, op, args);
}

/* ---- Conversions ---- */

/* The way from `from` to `to` and back changes nothing. Integers keep their low bits, whatever the signs. */
static bool holds(clp_dtype to, clp_dtype from)
{
    int n_to = clp_dtype_bits(to), n_from = clp_dtype_bits(from);
    if (clpi_is_float(from))
        return clpi_is_float(to) && n_to > n_from;
    if (clpi_is_int(from) && clpi_is_int(to))
        return n_to >= n_from;
    return from == CLP_BOOL && clpi_is_int(to);
}

static clp_val fold_cast(clpi_simplifier *s, const clpi_op *op, clp_val v)
{
    clpi_elem e;
    clp_dtype from = type_of(s, v)->dtype, to = s->out.types.items[op->type].dtype;
    if (from == to)
        return v;
    if (constant(s, v, &e))
        return make_constant(s, op->type, clpi_elem_cast(to, from, e));
    if (made_by(s, v)->kind == CLP_OP_cast && type_of(s, arg_of(s, v))->dtype == to && holds(from, to))
        return arg_of(s, v);
    return (clp_val){ 0 };
}

static clp_val fold_bitcast(clpi_simplifier *s, const clpi_op *op, clp_val v)
{
    clpi_elem e;
    clp_dtype from = type_of(s, v)->dtype, to = s->out.types.items[op->type].dtype;
    if (from == to)
        return v;
    if (constant(s, v, &e))
        return make_constant(s, op->type, clpi_scalar_bitcast(to, from, e));
    if (made_by(s, v)->kind == CLP_OP_bitcast && type_of(s, arg_of(s, v))->dtype == to)
        return arg_of(s, v);
    return (clp_val){ 0 };
}

/* ---- Shape ---- */

static clp_val fold_transpose(clpi_simplifier *s, const clpi_op *op, clp_val v)
{
    int rank = type_of(s, v)->rank;
    const clpi_op *before = made_by(s, v);
    bool is_twice = before->kind == CLP_OP_transpose;
    uint64_t perm = 0;
    bool moves = false;
    for (int i = 0; i < rank; i++) {
        int axis = clpi_perm_get(op->attr, i);
        if (is_twice)
            axis = clpi_perm_get(before->attr, axis);
        perm = clpi_perm_set(perm, i, axis);
        moves = moves || axis != i;
    }
    clp_val of = is_twice ? arg_of(s, v) : v;
    if (!moves)
        return of;
    if (!is_twice)
        return (clp_val){ 0 };
    clpi_op once = { .kind = CLP_OP_transpose, .operand = -1, .type = op->type, .attr = perm, .n_args = 1 };
    return clpi_simplify_emit(s, once, &of, NULL);
}

static clp_val fold_movement(clpi_simplifier *s, const clpi_op *op, clp_val v)
{
    const clp_val none = { 0 };
    clp_val scalar = filled_with(s, v);
    if (made_by(s, v)->type == op->type && op->kind != CLP_OP_transpose)
        return v;
    if (scalar.id != 0 && type_of(s, v)->rank > 0)
        return fill(s, op->type, scalar);
    if (op->kind == CLP_OP_transpose)
        return fold_transpose(s, op, v);
    if (made_by(s, v)->kind != op->kind)
        return none;
    clp_val inner = arg_of(s, v);
    if (op->kind == CLP_OP_reshape)
        return reshaped(s, op->type, inner);
    return clpi_simplify_emit(s, (clpi_op){ .kind = CLP_OP_broadcast, .operand = -1, .type = op->type, .n_args = 1 }, &inner, NULL);
}

/* A value's subscripts that take all of it as it is. */
static clp_val fold_index(const clpi_simplifier *s, const clpi_op *op, const clp_val *args)
{
    const clpi_type *t = type_of(s, args[0]);
    const clpi_sub *subs = clpi_subs(s->in, op);
    assert(op->n_subs == (uint32_t)t->rank);
    for (uint32_t i = 0; i < op->n_subs; i++) {
        int64_t start;
        if (subs[i].kind != CLPI_SUB_RANGE || subs[i].stride != 1 || subs[i].size != t->shape[i] ||
            !clpi_const_int(&s->out, args[1 + i], &start) || start != 0)
            return (clp_val){ 0 };
    }
    return args[0];
}

/* Over axes of size 1. A float sum of -0 alone is left: it is +0. */
static clp_val fold_reduce(clpi_simplifier *s, const clpi_op *op, clp_val v)
{
    const clp_val none = { 0 };
    const clpi_type *t = type_of(s, v);
    bool is_sum = op->kind == CLP_OP_sum || op->kind == CLP_OP_prod;
    bool is_arg = clpi_is_arg(op->kind);
    for (int i = 0; i < t->rank; i++)
        if (op->attr >> i & 1 && t->shape[i] != 1)
            return none;
    if (is_arg)
        return make_whole(s, op->type, 0);
    if (op->kind == CLP_OP_sum && clpi_is_float(t->dtype))
        return none;
    if (is_sum && t->dtype != s->out.types.items[op->type].dtype) {
        clpi_type wide = *t;
        wide.dtype = s->out.types.items[op->type].dtype;
        clpi_op cast = { .kind = CLP_OP_cast, .operand = -1, .n_args = 1 };
        if (!clpi_type_intern(&s->out, &wide, &cast.type))
            return none;
        v = clpi_simplify_emit(s, cast, &v, NULL);
        if (v.id == 0)
            return none;
    }
    return reshaped(s, op->type, v);
}

clp_val clpi_fold(clpi_simplifier *s, const clpi_op *op, const clp_val *args)
{
    if (clpi_ops[op->kind].is_elementwise)
        return fold_elementwise(s, op, args);
    switch (op->kind) {
    case CLP_OP_cast: return fold_cast(s, op, args[0]);
    case CLP_OP_bitcast: return fold_bitcast(s, op, args[0]);
    case CLP_OP_reshape: case CLP_OP_transpose: case CLP_OP_broadcast: return fold_movement(s, op, args[0]);
    case CLP_OP_index: return fold_index(s, op, args);
    case CLP_OP_concat: return op->n_args == 1 ? args[0] : (clp_val){ 0 };
    case CLP_OP_sum: case CLP_OP_prod: case CLP_OP_max: case CLP_OP_min: case CLP_OP_any: case CLP_OP_all:
    case CLP_OP_argmax: case CLP_OP_argmin: return fold_reduce(s, op, args[0]);
    default: return (clp_val){ 0 };
    }
}
