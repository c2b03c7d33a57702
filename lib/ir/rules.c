/* rules: the type of an op's result from its operands, one rule per name in ops.def.
 * In: an op whose operands are typed; where its result type says something (to what a cast casts, the shape of a reshape,
 * the acc of a dot), op->type is what is asked for. Out: the result type, or why there is none. The constructor infers
 * with these and the verifier runs them again, so that nothing about types is written twice.                           */
#include <assert.h>

#include "ir/format.h"
#include "ir/ir.h"
#include "ir/make.h"

static bool refuse(clpi_str *why, const char *format, ...) CLP_PRINTF(2, 3);
static bool refuse(clpi_str *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    clpi_str_add_v(why, format, args);
    va_end(args);
    return false;
}

/* "`max` has no axis 2: the value has shape [8, 1024]": head, then the shape. */
static bool refuse_shape(clpi_str *why, const clpi_type *t, const char *format, ...) CLP_PRINTF(3, 4);
static bool refuse_shape(clpi_str *why, const clpi_type *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    clpi_str_add_v(why, format, args);
    va_end(args);
    clpi_shape_print(why, t->shape, t->rank);
    return false;
}

static const clpi_type *arg(const clpi_ir *ir, const clpi_op *op, uint32_t i)
{
    return clpi_type_of(ir, clpi_args(ir, op)[i]);
}

static const clpi_type *asked(const clpi_ir *ir, const clpi_op *op)
{
    return &ir->types.items[op->type];
}

static bool is_number(clp_dtype d)
{
    return d != CLP_BOOL && d != CLP_DTYPE_NONE && !clpi_is_f8(d);
}

/* ---- Element by element ---- */

static bool refuse_dtype(clpi_op_kind kind, clp_dtype d, const char *takes, clpi_str *why)
{
    const char *name = clpi_op_shown(kind), *given = clp_dtype_name(d);
    if (clpi_is_f8(d))
        return refuse(why, "`%s` does not compute in %s: cast to f32 first", name, given);
    return refuse(why, "`%s` takes %s: %s was given", name, takes, given);
}

static bool types_take(clpi_types types, clp_dtype d, const char **out_takes)
{
    switch (types) {
    case CLP_ARI: case CLP_ORD: case CLP_CMP: *out_takes = "numbers"; return is_number(d);
    case CLP_FLT: case CLP_TST: *out_takes = "floats"; return clpi_is_float(d) && !clpi_is_f8(d);
    case CLP_INT: *out_takes = "integers"; return clpi_is_int(d);
    case CLP_BIT: *out_takes = "integers or bool"; return clpi_is_int(d) || d == CLP_BOOL;
    case CLP_EQU: *out_takes = "numbers or bool"; return is_number(d) || d == CLP_BOOL;
    case CLP_SEL: *out_takes = "values"; return d != CLP_DTYPE_NONE;
    case CLP_TYPES_NONE: break;
    }
    return false;
}

bool clpi_ew_dtype(clpi_op_kind kind, const clp_dtype *dtypes, int n, clp_dtype *out_dtype, clpi_str *why)
{
    const clpi_op_info *info = &clpi_ops[kind];
    assert(info->is_elementwise && n == info->arity);
    int first = info->types == CLP_SEL ? 1 : 0;
    if (first == 1 && dtypes[0] != CLP_BOOL)
        return refuse(why, "`%s` takes a bool as its condition: %s was given (compare it with 0)", info->name,
                      clp_dtype_name(dtypes[0]));
    const char *takes = "";
    for (int i = first; i < n; i++)
        if (!types_take(info->types, dtypes[i], &takes))
            return refuse_dtype(kind, dtypes[i], takes, why);
    for (int i = first + 1; i < n; i++)
        if (dtypes[i] != dtypes[first])
            return refuse(why, "`%s` takes operands of one dtype: %s and %s were given (cast one of them)",
                          clpi_op_shown(kind), clp_dtype_name(dtypes[first]), clp_dtype_name(dtypes[i]));
    bool gives_bool = info->types == CLP_CMP || info->types == CLP_EQU || info->types == CLP_TST;
    *out_dtype = gives_bool ? CLP_BOOL : dtypes[first];
    return true;
}

static bool rule_elementwise(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    clp_dtype dtypes[3] = { CLP_DTYPE_NONE };
    assert(op->n_args <= 3);
    for (uint32_t i = 0; i < op->n_args; i++)
        dtypes[i] = arg(ir, op, i)->dtype;
    clp_dtype result;
    if (!clpi_ew_dtype(op->kind, dtypes, (int)op->n_args, &result, why))
        return false;
    *out = *arg(ir, op, 0);
    for (uint32_t i = 1; i < op->n_args; i++) {
        const clpi_type *t = arg(ir, op, i);
        clpi_type same = *t;
        same.dtype = out->dtype;
        if (!clpi_type_eq(&same, out)) {
            refuse_shape(why, out, "`%s` takes operands of one shape: ", clpi_op_shown(op->kind));
            return refuse_shape(why, t, " and ");
        }
    }
    out->dtype = result;
    return true;
}

static bool rule_cast(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    clp_dtype to = asked(ir, op)->dtype;
    if (clpi_is_packed(to))
        return refuse(why, "`cast` to %s: values have no such dtype, it is for storage (cast to %s)", clp_dtype_name(to),
                      clp_dtype_name(clpi_loaded(to)));
    *out = *arg(ir, op, 0);
    out->dtype = to;
    return true;
}

static bool rule_bitcast(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    clp_dtype to = asked(ir, op)->dtype, from = arg(ir, op, 0)->dtype;
    if (to == CLP_BOOL || from == CLP_BOOL)
        return refuse(why, "`bitcast` does not take bool (use `cast`)");
    if (clp_dtype_bits(to) != clp_dtype_bits(from))
        return refuse(why, "`bitcast` keeps the width: %s has %d bits, %s has %d", clp_dtype_name(from),
                      clp_dtype_bits(from), clp_dtype_name(to), clp_dtype_bits(to));
    *out = *arg(ir, op, 0);
    out->dtype = to;
    return true;
}

static bool rule_leaf(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    *out = *asked(ir, op);
    const char *name = clpi_ops[op->kind].name;
    if (op->kind == CLP_OP_iota) {
        if (out->rank == 0)
            return refuse(why, "`iota` needs a shape of at least one dimension");
        if (op->attr >= (uint64_t)out->rank)
            return refuse_shape(why, out, "`iota` has no axis %lld: the shape is ", (long long)op->attr);
        if (!is_number(out->dtype) || clpi_is_packed(out->dtype))
            return refuse(why, "`iota` counts in numbers: %s was given", clp_dtype_name(out->dtype));
        return true;
    }
    if (out->rank != 0)
        return refuse(why, "`%s` gives a scalar", name);
    if (op->kind == CLP_OP_const) {
        if (out->dtype == CLP_DTYPE_NONE || clpi_is_packed(out->dtype))
            return refuse(why, "there are no values of dtype %s", clp_dtype_name(out->dtype));
        return true;
    }
    int limit = op->kind == CLP_OP_dim ? ir->n_dims : ir->n_axes;
    if (op->attr >= (uint64_t)limit)
        return refuse(why, "`%s` has no number %lld: there are %d", name, (long long)op->attr, limit);
    if (out->dtype != CLP_I32 && out->dtype != CLP_I64)
        return refuse(why, "`%s` gives i32, in shapes and maps i64", name);
    return true;
}

/* ---- Reductions, scans, dot ---- */

/* What sums and products of d are kept in. */
static clp_dtype summed(clp_dtype d)
{
    if (d == CLP_BOOL)
        return CLP_I32;
    if (clpi_is_int(d) && clp_dtype_bits(d) < 32)
        return clpi_is_signed(d) ? CLP_I32 : CLP_U32;
    return d;
}

static bool sums(clpi_op_kind kind)
{
    return kind == CLP_OP_sum || kind == CLP_OP_prod || kind == CLP_OP_cumsum || kind == CLP_OP_cumprod;
}

static bool axis_check(const clpi_op *op, const clpi_type *t, int axis, clpi_str *why)
{
    if (axis < t->rank)
        return true;
    if (t->rank == 0)
        return refuse(why, "`%s` has no axis %d: the value is a scalar", clpi_ops[op->kind].name, axis);
    return refuse_shape(why, t, "`%s` has no axis %d: the value has shape ", clpi_ops[op->kind].name, axis);
}

static bool rule_reduce(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    const clpi_type *t = arg(ir, op, 0);
    const char *name = clpi_ops[op->kind].name;
    bool is_logic = op->kind == CLP_OP_any || op->kind == CLP_OP_all;
    bool is_arg = clpi_is_arg(op->kind);
    if (is_logic && t->dtype != CLP_BOOL)
        return refuse(why, "`%s` takes bool: %s was given (compare it with 0)", name, clp_dtype_name(t->dtype));
    if (!is_logic && !is_number(t->dtype) && !(sums(op->kind) && t->dtype == CLP_BOOL))
        return refuse_dtype(op->kind, t->dtype, "numbers", why);
    if (op->attr == 0)
        return refuse(why, "`%s` needs an axis", name);
    int n_axes = 0;
    *out = (clpi_type){ .dtype = is_arg ? CLP_I32 : sums(op->kind) ? summed(t->dtype) : t->dtype };
    for (int i = 0; i < 64; i++) {
        if (!(op->attr >> i & 1))
            continue;
        if (!axis_check(op, t, i, why))
            return false;
        n_axes++;
        if (is_arg && t->shape[i] == 0)
            return refuse_shape(why, t, "`%s` of nothing: axis %d of ", name, i), refuse(why, " is empty");
    }
    if (is_arg && n_axes != 1)
        return refuse_shape(why, t, "`%s` takes one axis: the value has shape ", name);
    for (int i = 0; i < t->rank; i++)
        if (!(op->attr >> i & 1))
            out->shape[out->rank++] = t->shape[i];
    return true;
}

static bool rule_scan(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    const clpi_type *t = arg(ir, op, 0);
    if (!is_number(t->dtype) && !(sums(op->kind) && t->dtype == CLP_BOOL))
        return refuse_dtype(op->kind, t->dtype, "numbers", why);
    if (!axis_check(op, t, (int)(op->attr / 2 < 64 ? op->attr / 2 : 64), why))
        return false;
    *out = *t;
    if (sums(op->kind))
        out->dtype = summed(t->dtype);
    return true;
}

static bool rule_sort(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    const clpi_type *t = arg(ir, op, 0);
    if (!is_number(t->dtype))
        return refuse_dtype(op->kind, t->dtype, "numbers", why);
    *out = *t;
    return axis_check(op, t, (int)(op->attr < 64 ? op->attr : 64), why);
}

clp_dtype clpi_dot_acc(clp_dtype operand)
{
    if (clpi_is_float(operand))
        return operand == CLP_F64 ? CLP_F64 : CLP_F32;
    return clp_dtype_bits(operand) > 32 ? CLP_I64 : CLP_I32;
}

static bool dot_dtypes(clp_dtype x, clp_dtype y, clp_dtype acc, clpi_str *why)
{
    if (x == CLP_BOOL || y == CLP_BOOL)
        return refuse(why, "`dot` takes numbers: bool was given (cast it)");
    bool are_small = clpi_is_int(x) && clpi_is_int(y) && clp_dtype_bits(x) <= 8 && clp_dtype_bits(y) <= 8;
    if (x != y && !are_small && !(clpi_is_f8(x) && clpi_is_f8(y)))
        return refuse(why, "`dot` takes operands of one dtype, two integers of at most 8 bits or two f8 dtypes: %s and %s were "
                      "given (cast one of them)", clp_dtype_name(x), clp_dtype_name(y));
    clp_dtype least = clpi_dot_acc(x), most = clpi_is_float(x) ? CLP_F64 : CLP_I64;
    if (acc == least || acc == most)
        return true;
    if (least == most)
        return refuse(why, "`dot` of %s sums in %s: acc = %s was given", clp_dtype_name(x), clp_dtype_name(least), clp_dtype_name(acc));
    return refuse(why, "`dot` of %s sums in %s or %s: acc = %s was given (cast the result)", clp_dtype_name(x),
                  clp_dtype_name(least), clp_dtype_name(most), clp_dtype_name(acc));
}

static bool rule_dot(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    const clpi_type *x = arg(ir, op, 0), *y = arg(ir, op, 1);
    clp_dtype acc = asked(ir, op)->dtype;
    if (!dot_dtypes(x->dtype, y->dtype, acc, why))
        return false;
    int n = x->rank;
    bool fits = n >= 2 && y->rank == n && x->shape[n - 1] == y->shape[n - 2];
    for (int i = 0; fits && i < n - 2; i++)
        fits = x->shape[i] == y->shape[i];
    if (!fits) {
        refuse_shape(why, x, "`dot` does not fit: ");
        return refuse_shape(why, y, " times ");
    }
    *out = *x;
    out->dtype = acc;
    out->shape[n - 1] = y->shape[n - 1];
    return true;
}

/* ---- Movement ---- */

static bool rule_reshape(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    const clpi_type *t = arg(ir, op, 0);
    *out = *asked(ir, op);
    out->dtype = t->dtype;
    if (clpi_type_elems(t) == clpi_type_elems(out))
        return true;
    refuse_shape(why, t, "`reshape` keeps the number of elements: ");
    refuse_shape(why, out, " has %lld, ", (long long)clpi_type_elems(t));
    return refuse(why, " has %lld", (long long)clpi_type_elems(out));
}

static bool rule_transpose(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    const clpi_type *t = arg(ir, op, 0);
    *out = *t;
    unsigned seen = 0;
    for (int i = 0; i < t->rank; i++) {
        int axis = clpi_perm_get(op->attr, i);
        if (!axis_check(op, t, axis, why))
            return false;
        if (seen >> axis & 1)
            return refuse(why, "`transpose` names axis %d twice", axis);
        seen |= 1u << axis;
        out->shape[i] = t->shape[axis];
    }
    return true;
}

static bool rule_broadcast(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    const clpi_type *t = arg(ir, op, 0);
    *out = *asked(ir, op);
    out->dtype = t->dtype;
    if (clpi_broadcasts_to(t, out->rank, out->shape))
        return true;
    refuse_shape(why, t, "the shape ");
    return refuse_shape(why, out, " does not broadcast to ");
}

static bool rule_concat(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    if (op->n_args == 0)
        return refuse(why, "`concat` of nothing");
    *out = *arg(ir, op, 0);
    int axis = (int)(op->attr < 64 ? op->attr : 64);
    if (!axis_check(op, out, axis, why))
        return false;
    for (uint32_t i = 1; i < op->n_args; i++) {
        const clpi_type *t = arg(ir, op, i);
        if (t->dtype != out->dtype)
            return refuse(why, "`concat` takes operands of one dtype: %s and %s were given (cast one of them)",
                          clp_dtype_name(out->dtype), clp_dtype_name(t->dtype));
        clpi_type same = *t;
        if (t->rank == out->rank)
            same.shape[axis] = out->shape[axis];
        if (!clpi_type_eq(&same, out)) {
            refuse_shape(why, arg(ir, op, 0), "`concat` takes shapes that agree save on axis %d: ", axis);
            return refuse_shape(why, t, " and ");
        }
        out->shape[axis] += t->shape[axis];
        if (out->shape[axis] > CLPI_MAX_TILE)
            return refuse(why, "`concat` gives more than %lld elements", (long long)CLPI_MAX_TILE);
    }
    return true;
}

/* ---- Places ---- */

static bool rule_index(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    if (op->n_args != op->n_subs + 1)
        return refuse(why, "an index has one operand for each subscript");
    const clpi_type *t = arg(ir, op, 0);
    if ((int)op->n_subs != t->rank)
        return refuse_shape(why, t, "%u subscripts for a value of shape ", op->n_subs);
    if (!clpi_subs_shape(ir, clpi_subs(ir, op), clpi_args(ir, op) + 1, (int)op->n_subs, out, why))
        return false;
    out->dtype = t->dtype;
    return true;
}

/* The shape of the place of a load, store or atomic, with the dtype of its values; counts operands. */
static bool place(const clpi_ir *ir, const clpi_op *op, int n_values, clpi_type *out, clpi_str *why)
{
    assert(op->operand >= 0 && op->operand < ir->n_operands);
    const clpi_operand *x = &ir->operands[op->operand];
    if ((int)op->n_subs != x->ref_rank)
        return refuse(why, "%s has %d dimensions: %u subscripts were given", x->name, x->ref_rank, op->n_subs);
    if (op->n_args != op->n_subs + (uint32_t)n_values + op->has_other + op->has_mask)
        return refuse(why, "`%s` of %s has the wrong number of operands", clpi_ops[op->kind].name, x->name);
    if (!clpi_subs_shape(ir, clpi_subs(ir, op), clpi_args(ir, op), (int)op->n_subs, out, why))
        return false;
    out->dtype = clpi_loaded(x->dtype);
    if (!op->has_mask)
        return true;
    clpi_type mask = *out;
    mask.dtype = CLP_BOOL;
    const clpi_type *given = clpi_type_of(ir, clpi_op_mask(ir, op));
    if (given->dtype != CLP_BOOL)
        return refuse(why, "a mask is bool: %s was given", clp_dtype_name(given->dtype));
    if (!clpi_type_eq(given, &mask))
        return refuse_shape(why, out, "%s: the place has shape ", x->name), refuse_shape(why, given, ", the mask ");
    return true;
}

/* A value that is stored to a place, or stands in for one. */
static bool value_fits(const clpi_ir *ir, const clpi_op *op, clp_val v, const clpi_type *at, const char *what, clpi_str *why)
{
    const clpi_type *t = clpi_type_of(ir, v);
    const char *name = ir->operands[op->operand].name;
    if (t->dtype != at->dtype)
        return refuse(why, "%s %s: the place is %s, the value %s (cast it)", what, name, clp_dtype_name(at->dtype), clp_dtype_name(t->dtype));
    if (clpi_type_eq(t, at))
        return true;
    refuse_shape(why, at, "%s %s: the place has shape ", what, name);
    return refuse_shape(why, t, ", the value ");
}

static bool rule_load(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    if (!place(ir, op, 0, out, why))
        return false;
    if (op->has_other && !value_fits(ir, op, clpi_op_other(ir, op), out, "`other` of", why))
        return false;
    /* In the header integers arrive as i64 (verify sees to it that this happens nowhere else). */
    const clpi_operand *x = &ir->operands[op->operand];
    bool is_static = x->role == CLP_SCALAR || x->role == CLP_PREFETCH;
    if (is_static && clpi_is_int(x->dtype) && out->rank == 0 && asked(ir, op)->dtype == CLP_I64)
        out->dtype = CLP_I64;
    return true;
}

static bool check_written(const clpi_operand *x, clpi_str *why)
{
    switch (x->role) {
    case CLP_IN: return refuse(why, "%s is an input and cannot be stored to", x->name);
    case CLP_PREFETCH: return refuse(why, "%s is a prefetch operand and cannot be stored to", x->name);
    case CLP_SCALAR: return refuse(why, "%s is a scalar and cannot be stored to", x->name);
    case CLP_OUT: case CLP_INOUT: case CLP_SCRATCH: break;
    }
    return true;
}

static bool rule_store(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    clpi_type at;
    *out = (clpi_type){ .dtype = CLP_DTYPE_NONE };
    return check_written(&ir->operands[op->operand], why) && place(ir, op, 1, &at, why) &&
           value_fits(ir, op, clpi_op_value(ir, op, 0), &at, "store to", why);
}

static bool rule_atomic(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    const clpi_operand *x = &ir->operands[op->operand];
    const char *name = clpi_ops[op->kind].name;
    bool is_bits = op->kind == CLP_OP_atomic_and || op->kind == CLP_OP_atomic_or || op->kind == CLP_OP_atomic_xor;
    if (!check_written(x, why))
        return false;
    bool is_int = clpi_is_int(x->dtype), is_float = x->dtype == CLP_F32 || x->dtype == CLP_F64;
    if (is_bits && !is_int)
        return refuse(why, "`%s` takes integers: %s is %s", name, x->name, clp_dtype_name(x->dtype));
    if (!(is_int && clp_dtype_bits(x->dtype) >= 32) && !is_float)
        return refuse(why, "there are no %s atomics: `%s` takes i32, u32, i64, u64%s", clp_dtype_name(x->dtype), name,
                      is_bits ? "" : ", f32, f64");
    if (op->kind == CLP_OP_atomic_cas && op->has_mask)
        return refuse(why, "`atomic_cas` takes no mask");
    int n_values = clpi_n_values(op->kind);
    if (!place(ir, op, n_values, out, why))
        return false;
    for (int i = 0; i < n_values; i++)
        if (!value_fits(ir, op, clpi_op_value(ir, op, i), out, "atomic on", why))
            return false;
    return true;
}

/* ---- Control and talking ---- */

static bool scalar_bool(const clpi_type *t, const char *name, clpi_str *why)
{
    if (t->rank != 0)
        return refuse_shape(why, t, "`%s` needs a scalar (use `where`, `any` or `all`): the condition has shape ", name);
    if (t->dtype != CLP_BOOL)
        return refuse(why, "`%s` needs a bool: %s was given (compare it with 0)", name, clp_dtype_name(t->dtype));
    return true;
}

static bool rule_region(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    *out = (clpi_type){ .dtype = CLP_DTYPE_NONE };
    const char *name = clpi_ops[op->kind].name;
    if (op->kind != CLP_OP_for) {
        assert(op->n_args >= 1);
        return scalar_bool(arg(ir, op, 0), name, why);
    }
    assert(op->n_args >= 2);
    for (uint32_t i = 0; i < 2; i++) {
        const clpi_type *t = arg(ir, op, i);
        if (t->rank != 0)
            return refuse_shape(why, t, "a bound of `for` is a scalar: a value was given of shape ");
        if (t->dtype != CLP_I32)
            return refuse(why, "a bound of `for` is i32: %s was given (cast it)", clp_dtype_name(t->dtype));
    }
    if (op->attr == 0)
        return refuse(why, "the step of `for` is 0");
    return true;
}

/* The region around an arg or result says its type; the verifier compares. A yield has none. */
static bool rule_part(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    (void)why;
    *out = op->kind == CLP_OP_yield ? (clpi_type){ .dtype = CLP_DTYPE_NONE } : *asked(ir, op);
    return true;
}

static bool rule_effect(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why)
{
    *out = (clpi_type){ .dtype = CLP_DTYPE_NONE };
    if (op->kind == CLP_OP_assert)
        return scalar_bool(arg(ir, op, 0), "assert", why);
    assert(op->attr < ir->strings.n);
    uint32_t n = 0;
    const char *at = ir->strings.items[op->attr];
    for (clpi_format_part part = clpi_format_next(&at); part.is_hole || part.n > 0; part = clpi_format_next(&at)) {
        if (part.is_lone)
            return refuse(why, "`print` has a lone `%c` in its text: {} stands for a value, {{ and }} for braces", *part.bytes);
        n += part.is_hole;
    }
    if (n != op->n_args)
        return refuse(why, "`print` has %u {} in its text and %u values", n, op->n_args);
    return true;
}

/* ---- The table ---- */

typedef bool rule_fn(const clpi_ir *ir, const clpi_op *op, clpi_type *out, clpi_str *why);

static rule_fn *const rules[CLP_N_OPS] = {
#define CLP_EW(name, text, arity, types, flags, ...) [CLP_OP_##name] = rule_elementwise,
#define CLP_OP(name, text, arity, rule, flags) [CLP_OP_##name] = rule_##rule,
#include "ir/ops.def"
#undef CLP_EW
#undef CLP_OP
};

static bool shape_check(const clpi_op *op, const clpi_type *t, clpi_str *why)
{
    int64_t n = 1;
    bool fits = true;
    for (int i = 0; i < t->rank; i++) {
        if (t->shape[i] < 0)
            return refuse(why, "`%s`: a dimension of size %lld", clpi_op_shown(op->kind), (long long)t->shape[i]);
        if (t->shape[i] == 0)
            return true;
        fits = fits && t->shape[i] <= CLPI_MAX_TILE / n;
        n = fits ? n * t->shape[i] : n;
    }
    if (fits)
        return true;
    refuse_shape(why, t, "a value of shape ");
    return refuse(why, " is too large: at most %lld elements", (long long)CLPI_MAX_TILE);
}

bool clpi_rule(const clpi_ir *ir, const clpi_op *op, clpi_type *out_type, clpi_str *why)
{
    *out_type = (clpi_type){ .dtype = CLP_DTYPE_NONE };
    const clpi_op_info *info = &clpi_ops[op->kind];
    assert(op->kind > CLP_OP_NONE && op->kind < CLP_N_OPS && (info->arity < 0 || (uint32_t)info->arity == op->n_args));
    (void)info;
    /* A shape that is asked for is looked at first: rules multiply it. */
    return shape_check(op, asked(ir, op), why) && rules[op->kind](ir, op, out_type, why) && shape_check(op, out_type, why);
}
