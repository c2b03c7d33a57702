/* ops: the builder calls that make values from values.
 * In: checked by builder.c. Out: calls of ir/build. The calls that work element by element follow from ops.def.        */
#include <string.h>

#include "trace/builder.h"

static const clp_val none = { 0 };

/* ---- Element by element ---- */

static clp_val elementwise(clp_builder *b, const char *call, clpi_op_kind kind, const clp_val *vals, int n_vals)
{
    if (!clpi_enter(b, call, vals, n_vals))
        return none;
    return clpi_leave(b, clpi_make_ew(&b->build, kind, vals, n_vals));
}

#define VALUES_1 clp_val x
#define VALUES_2 clp_val x, clp_val y
#define VALUES_3 clp_val x, clp_val y, clp_val z
#define LIST_1 x
#define LIST_2 x, y
#define LIST_3 x, y, z
#define CLP_EW(name, text, arity, types, flags, ...)                                                                   \
    clp_val clp_##name(clp_builder *b, VALUES_##arity)                                                                 \
    {                                                                                                                  \
        return elementwise(b, "clp_" #name, CLP_OP_##name, (clp_val[]){ LIST_##arity }, arity);                        \
    }
#define CLP_OP(name, text, arity, rule, flags)
#include "ir/ops.def"
#undef CLP_EW
#undef CLP_OP

clp_val clp_clip(clp_builder *b, clp_val x, clp_val lo, clp_val hi)
{
    if (!clpi_enter(b, "clp_clip", (clp_val[]){ x, lo, hi }, 3))
        return none;
    return clpi_leave(b, clpi_make_clip(&b->build, x, lo, hi));
}

/* ---- Dtypes and numbers ---- */

static bool check_dtype(clp_builder *b, clp_dtype dtype)
{
    if (dtype <= CLP_DTYPE_NONE || dtype >= CLP_N_DTYPES)
        clpi_builder_fail(b, "%d is no dtype", (int)dtype);
    else if (clpi_is_packed(dtype))
        clpi_builder_fail(b, "values have no dtype %s (use %s)", clp_dtype_name(dtype), clp_dtype_name(clpi_loaded(dtype)));
    return !b->failed;
}

clp_val clp_cast(clp_builder *b, clp_val x, clp_dtype dtype)
{
    if (!clpi_enter(b, "clp_cast", &x, 1) || !check_dtype(b, dtype))
        return none;
    return clpi_leave(b, clpi_make_cast(&b->build, x, dtype));
}

clp_val clp_bitcast(clp_builder *b, clp_val x, clp_dtype dtype)
{
    if (!clpi_enter(b, "clp_bitcast", &x, 1) || !check_dtype(b, dtype))
        return none;
    return clpi_leave(b, clpi_make_bitcast(&b->build, x, dtype));
}

static clp_val make_float(clp_builder *b, clp_dtype dtype, double value)
{
    uint64_t bits = dtype == CLP_F64 ? clpi_elem_to_bits(dtype, (clpi_elem){ .d = value }) : clpi_f64_to_small_bits(dtype, value);
    return clpi_make_const(&b->build, dtype, bits);
}

clp_val clp_const(clp_builder *b, clp_dtype dtype, int64_t value)
{
    if (!clpi_enter(b, "clp_const", NULL, 0) || !check_dtype(b, dtype))
        return none;
    if (clpi_is_float(dtype)) {
        clp_val v = make_float(b, dtype, (double)value);
        clpi_elem e = v.id ? clpi_elem_from_bits(dtype, clpi_op_at(b->build.ir, v)->attr) : (clpi_elem){ 0 };
        double held = dtype == CLP_F64 ? e.d : (double)e.f;
        if (held - held != 0)                                  /* infinity or NaN */
            clpi_builder_fail(b, "%lld does not fit %s", (long long)value, clp_dtype_name(dtype));
        return clpi_leave(b, v);
    }
    bool fits = value < 0 ? value >= clpi_int_min(dtype) : (uint64_t)value <= clpi_int_max(dtype);
    if (!fits)
        clpi_builder_fail(b, "%lld does not fit %s", (long long)value, clp_dtype_name(dtype));
    return clpi_leave(b, fits ? clpi_make_int(&b->build, dtype, value) : none);
}

clp_val clp_constf(clp_builder *b, clp_dtype dtype, double value)
{
    if (!clpi_enter(b, "clp_constf", NULL, 0) || !check_dtype(b, dtype))
        return none;
    if (!clpi_is_float(dtype))
        clpi_builder_fail(b, "a float dtype was expected, %s was given", clp_dtype_name(dtype));
    return clpi_leave(b, b->failed ? none : make_float(b, dtype, value));
}

/* ---- Leaves ---- */

static bool check_shape(clp_builder *b, const int64_t *shape, int rank)
{
    if (!clpi_check_list(b, "the shape", shape, rank))
        return false;
    if (rank > CLP_MAX_RANK)
        clpi_builder_fail(b, "a value has at most %d dimensions, %d were given", CLP_MAX_RANK, rank);
    return !b->failed;
}

clp_val clp_full(clp_builder *b, const int64_t *shape, int rank, clp_val value)
{
    if (!clpi_enter(b, "clp_full", &value, 1) || !check_shape(b, shape, rank))
        return none;
    return clpi_leave(b, clpi_make_broadcast(&b->build, value, shape, rank));
}

clp_val clp_iota(clp_builder *b, const int64_t *shape, int rank, int axis, clp_dtype dtype)
{
    if (!clpi_enter(b, "clp_iota", NULL, 0) || !check_dtype(b, dtype) || !check_shape(b, shape, rank))
        return none;
    clpi_type type = { .dtype = dtype, .rank = rank };
    for (int i = 0; i < rank; i++)
        type.shape[i] = shape[i];
    return clpi_leave(b, clpi_make_iota(&b->build, &type, axis));
}

static clp_val axis_leaf(clp_builder *b, const char *call, clpi_op_kind kind, int axis)
{
    if (!clpi_enter(b, call, NULL, 0))
        return none;
    int n_axes = b->build.ir->n_axes;
    if (axis < 0 || axis >= n_axes)
        clpi_builder_fail(b, "the grid has no axis %d: it has %d", axis, n_axes);
    return clpi_leave(b, b->failed ? none : clpi_make_leaf(&b->build, kind, (uint64_t)axis));
}

clp_val clp_program_id(clp_builder *b, int axis)
{
    return axis_leaf(b, "clp_program_id", CLP_OP_program_id, axis);
}

clp_val clp_num_programs(clp_builder *b, int axis)
{
    return axis_leaf(b, "clp_num_programs", CLP_OP_num_programs, axis);
}

clp_val clp_dim_size(clp_builder *b, const char *dim)
{
    if (!clpi_enter(b, "clp_dim_size", NULL, 0))
        return none;
    const clpi_ir *ir = b->build.ir;
    for (int i = 0; dim && i < ir->n_dims; i++)
        if (!strcmp(ir->dims[i], dim))
            return clpi_leave(b, clpi_make_leaf(&b->build, CLP_OP_dim, (uint64_t)i));
    clpi_builder_fail(b, "no array has a dim named %s", dim ? dim : "NULL");
    return none;
}

/* ---- Along axes ---- */

static clp_val reduce(clp_builder *b, const char *call, clpi_op_kind kind, clp_val x, const int *axes, int n_axes, bool keepdims)
{
    if (!clpi_enter(b, call, &x, 1) || !clpi_check_list(b, "the list of axes", axes, n_axes))
        return none;
    return clpi_leave(b, clpi_make_reduce(&b->build, kind, x, axes, n_axes, keepdims));
}

#define REDUCE(name)                                                                                                   \
    clp_val clp_##name(clp_builder *b, clp_val x, const int *axes, int n_axes, bool keepdims)                          \
    {                                                                                                                  \
        return reduce(b, "clp_" #name, CLP_OP_##name, x, axes, n_axes, keepdims);                                      \
    }
REDUCE(sum)
REDUCE(prod)
REDUCE(max)
REDUCE(min)
REDUCE(any)
REDUCE(all)

clp_val clp_argmax(clp_builder *b, clp_val x, int axis, bool keepdims)
{
    return reduce(b, "clp_argmax", CLP_OP_argmax, x, &axis, 1, keepdims);
}

clp_val clp_argmin(clp_builder *b, clp_val x, int axis, bool keepdims)
{
    return reduce(b, "clp_argmin", CLP_OP_argmin, x, &axis, 1, keepdims);
}

static clp_val scan(clp_builder *b, const char *call, clpi_op_kind kind, clp_val x, int axis, bool reverse)
{
    if (!clpi_enter(b, call, &x, 1))
        return none;
    return clpi_leave(b, clpi_make_scan(&b->build, kind, x, axis, reverse));
}

#define SCAN(name)                                                                                                     \
    clp_val clp_##name(clp_builder *b, clp_val x, int axis, bool reverse)                                              \
    {                                                                                                                  \
        return scan(b, "clp_" #name, CLP_OP_##name, x, axis, reverse);                                                 \
    }
SCAN(cumsum)
SCAN(cumprod)
SCAN(cummax)
SCAN(cummin)

clp_val clp_sort(clp_builder *b, clp_val x, int axis)
{
    return scan(b, "clp_sort", CLP_OP_sort, x, axis, false);
}

clp_val clp_dot(clp_builder *b, clp_val x, clp_val y, clp_dtype acc)
{
    if (!clpi_enter(b, "clp_dot", (clp_val[]){ x, y }, 2) || (acc != CLP_DTYPE_NONE && !check_dtype(b, acc)))
        return none;
    return clpi_leave(b, clpi_make_dot(&b->build, x, y, acc));
}

/* ---- Shape ---- */

clp_val clp_reshape(clp_builder *b, clp_val x, const int64_t *shape, int rank)
{
    if (!clpi_enter(b, "clp_reshape", &x, 1) || !check_shape(b, shape, rank))
        return none;
    return clpi_leave(b, clpi_make_reshape(&b->build, x, shape, rank));
}

clp_val clp_transpose(clp_builder *b, clp_val x, const int *axes, int n_axes)
{
    if (!clpi_enter(b, "clp_transpose", &x, 1) || !clpi_check_list(b, "the list of axes", axes, n_axes))
        return none;
    return clpi_leave(b, clpi_make_transpose(&b->build, x, axes, n_axes));
}

clp_val clp_broadcast(clp_builder *b, clp_val x, const int64_t *shape, int rank)
{
    if (!clpi_enter(b, "clp_broadcast", &x, 1) || !check_shape(b, shape, rank))
        return none;
    return clpi_leave(b, clpi_make_broadcast(&b->build, x, shape, rank));
}

clp_val clp_concat(clp_builder *b, const clp_val *xs, int n_xs, int axis)
{
    if (!clpi_enter(b, "clp_concat", xs, n_xs))
        return none;
    return clpi_leave(b, clpi_make_concat(&b->build, xs, n_xs, axis));
}

clp_val clp_flip(clp_builder *b, clp_val x, int axis)
{
    if (!clpi_enter(b, "clp_flip", &x, 1))
        return none;
    return clpi_leave(b, clpi_make_flip(&b->build, x, axis));
}

clp_val clp_roll(clp_builder *b, clp_val x, clp_val shift, int axis)
{
    if (!clpi_enter(b, "clp_roll", (clp_val[]){ x, shift }, 2))
        return none;
    return clpi_leave(b, clpi_make_roll(&b->build, x, shift, axis));
}

clp_val clp_take(clp_builder *b, clp_val x, clp_val index, int axis)
{
    if (!clpi_enter(b, "clp_take", (clp_val[]){ x, index }, 2))
        return none;
    return clpi_leave(b, clpi_make_take(&b->build, x, index, axis));
}
