/* build: making ops.
 * In: operands and what is asked for, from a front end. Out: one op at the end of the array, typed by its rule, or a
 * report in the words of the language. Elementwise operands are broadcast together here; nothing is folded.            */
#include <assert.h>
#include <string.h>

#include "ir/make.h"

/* Hands a finished text to the front end and lets go of it. A text that could not be written is no mistake of the kernel:
 * that memory ran out has been recorded, and stays known through the arena.                                            */
static void say(clpi_build *b, clpi_pos pos, clpi_str *s)
{
    if (s->failed)
        b->ir->arena->failed = true;
    else
        b->report(b->report_user, pos.line ? pos : b->pos, s->text);
    clpi_str_done(s);
}

void clpi_report_at(clpi_build *b, clpi_pos pos, const char *format, ...)
{
    clpi_str s;
    clpi_str_init(&s, b->ir->env);
    va_list args;
    va_start(args, format);
    clpi_str_add_v(&s, format, args);
    va_end(args);
    say(b, pos, &s);
}

void clpi_build_report(clpi_build *b, const char *format, ...)
{
    clpi_str s;
    clpi_str_init(&s, b->ir->env);
    va_list args;
    va_start(args, format);
    clpi_str_add_v(&s, format, args);
    va_end(args);
    say(b, b->pos, &s);
}

void clpi_report_why(clpi_build *b, bool fits, clpi_str *why)
{
    if (fits)
        clpi_str_done(why);
    else
        say(b, b->pos, why);
}

/* ---- One op ---- */

/* Appends args to the list at ir; they may lie in the list itself, which may move. */
static bool push_args(clpi_ir *ir, const clp_val *args, int n_args)
{
    for (int i = 0; i < n_args; i++)
        if (!CLPI_PUSH(ir->arena, &ir->args, args[i]))
            return false;
    return true;
}

clp_val clpi_add(clpi_build *b, clpi_op op, const clp_val *args, int n_args, const clpi_sub *subs, int n_subs)
{
    clpi_ir *ir = b->ir;
    const clp_val none = { 0 };
    for (int i = 0; i < n_args; i++) {
        if (args[i].id == 0)
            return none;
        assert(args[i].id < ir->ops.n);
    }
    uint32_t args_before = ir->args.n, subs_before = ir->subs.n;
    op.first_arg = args_before;
    op.n_args = (uint32_t)n_args;
    op.first_sub = subs_before;
    op.n_subs = (uint32_t)n_subs;
    op.pos = b->pos;
    if (!push_args(ir, args, n_args))
        return none;
    for (int i = 0; i < n_subs; i++)
        if (!CLPI_PUSH(ir->arena, &ir->subs, subs[i]))
            return none;

    clpi_type type;
    clpi_str why;
    clpi_str_init(&why, ir->env);
    bool fits = clpi_rule(ir, &op, &type, &why);
    clpi_report_why(b, fits, &why);
    clp_val v = { ir->ops.n };
    if (fits && clpi_type_intern(ir, &type, &op.type) && CLPI_PUSH(ir->arena, &ir->ops, op))
        return v;
    ir->args.n = args_before;
    ir->subs.n = subs_before;
    return none;
}

clp_val clpi_add_typed(clpi_build *b, clpi_op op, const clpi_type *asked, const clp_val *args, int n_args)
{
    if (!clpi_type_intern(b->ir, asked, &op.type))
        return (clp_val){ 0 };
    return clpi_add(b, op, args, n_args, NULL, 0);
}

bool clpi_axis_resolve(clpi_build *b, const char *what, clp_val v, int axis, int *out_axis)
{
    const clpi_type *t = clpi_type_of(b->ir, v);
    *out_axis = axis < 0 ? axis + t->rank : axis;
    if (*out_axis >= 0 && *out_axis < t->rank)
        return true;
    clpi_str s;
    clpi_str_init(&s, b->ir->env);
    if (t->rank == 0)
        clpi_str_puts(&s, "the value is a scalar");
    else
        clpi_str_puts(&s, "the value has shape "), clpi_shape_print(&s, t->shape, t->rank);
    clpi_build_report(b, "`%s` has no axis %d: %s", what, axis, s.text);
    clpi_str_done(&s);
    return false;
}

/* ---- Leaves ---- */

clp_val clpi_make_const(clpi_build *b, clp_dtype dtype, uint64_t bits)
{
    clpi_type t = { .dtype = dtype };
    /* Equal constants have equal bits: nothing above the width, true is 1. */
    if (dtype == CLP_BOOL)
        bits = bits != 0;
    else if (clp_dtype_bits(dtype) < 64)
        bits &= (UINT64_C(1) << clp_dtype_bits(dtype)) - 1;
    return clpi_add_typed(b, (clpi_op){ .kind = CLP_OP_const, .operand = -1, .attr = bits }, &t, NULL, 0);
}

clp_val clpi_make_int(clpi_build *b, clp_dtype dtype, int64_t value)
{
    clpi_elem e = clpi_elem_cast(dtype, CLP_I64, (clpi_elem){ .i = value });
    return clpi_make_const(b, dtype, clpi_elem_to_bits(dtype, e));
}

clp_val clpi_make_leaf(clpi_build *b, clpi_op_kind kind, uint64_t attr)
{
    clpi_type t = { .dtype = b->in_header ? CLP_I64 : CLP_I32 };
    return clpi_add_typed(b, (clpi_op){ .kind = kind, .operand = -1, .attr = attr }, &t, NULL, 0);
}

static bool rank_check(clpi_build *b, const char *what, int rank)
{
    if (rank >= 0 && rank <= CLP_MAX_RANK)
        return true;
    clpi_build_report(b, "`%s`: a value has at most %d dimensions: %d were given", what, CLP_MAX_RANK, rank);
    return false;
}

clp_val clpi_make_iota(clpi_build *b, const clpi_type *type, int axis)
{
    int at = axis < 0 ? axis + type->rank : axis;
    clpi_op op = { .kind = CLP_OP_iota, .operand = -1, .attr = at < 0 ? (uint64_t)type->rank : (uint64_t)at };
    return clpi_add_typed(b, op, type, NULL, 0);
}

/* ---- Element by element ---- */

static void report_shapes(clpi_build *b, clpi_op_kind kind, const clp_val *args, int n_args)
{
    clpi_str s;
    clpi_str_init(&s, b->ir->env);
    for (int i = 0; i < n_args; i++) {
        const clpi_type *t = clpi_type_of(b->ir, args[i]);
        clpi_str_puts(&s, i == 0 ? "" : i == n_args - 1 ? " and " : ", ");
        clpi_shape_print(&s, t->shape, t->rank);
    }
    clpi_build_report(b, "`%s`: the shapes %s do not broadcast together", clpi_op_shown(kind), s.text);
    clpi_str_done(&s);
}

clp_val clpi_make_ew(clpi_build *b, clpi_op_kind kind, const clp_val *args, int n_args)
{
    clp_val same[3] = { { 0 } };
    clp_dtype dtypes[3] = { CLP_DTYPE_NONE }, dtype;
    assert(clpi_ops[kind].is_elementwise && n_args == clpi_ops[kind].arity && n_args <= 3);
    for (int i = 0; i < n_args; i++) {
        if (args[i].id == 0)
            return (clp_val){ 0 };
        dtypes[i] = clpi_type_of(b->ir, args[i])->dtype;
    }
    clpi_str why;
    clpi_str_init(&why, b->ir->env);
    bool fits = clpi_ew_dtype(kind, dtypes, n_args, &dtype, &why);
    clpi_report_why(b, fits, &why);
    if (!fits)
        return (clp_val){ 0 };

    int rank = 0;
    int64_t shape[CLP_MAX_RANK];
    for (int i = 0; i < n_args; i++) {
        if (!clpi_shapes_join(&rank, shape, clpi_type_of(b->ir, args[i]))) {
            report_shapes(b, kind, args, n_args);
            return (clp_val){ 0 };
        }
    }
    for (int i = 0; i < n_args; i++)
        same[i] = clpi_make_broadcast(b, args[i], shape, rank);
    return clpi_add(b, (clpi_op){ .kind = kind, .operand = -1 }, same, n_args, NULL, 0);
}

static clp_val make_conversion(clpi_build *b, clpi_op_kind kind, clp_val v, clp_dtype dtype)
{
    if (v.id == 0)
        return v;
    clpi_type t = *clpi_type_of(b->ir, v);
    if (t.dtype == dtype)
        return v;
    t.dtype = dtype;
    return clpi_add_typed(b, (clpi_op){ .kind = kind, .operand = -1 }, &t, &v, 1);
}

clp_val clpi_make_cast(clpi_build *b, clp_val v, clp_dtype dtype)
{
    return make_conversion(b, CLP_OP_cast, v, dtype);
}

clp_val clpi_make_bitcast(clpi_build *b, clp_val v, clp_dtype dtype)
{
    return make_conversion(b, CLP_OP_bitcast, v, dtype);
}

/* ---- Movement ---- */

clp_val clpi_make_broadcast(clpi_build *b, clp_val v, const int64_t *shape, int rank)
{
    if (v.id == 0 || !rank_check(b, "broadcast", rank))
        return (clp_val){ 0 };
    const clpi_type *from = clpi_type_of(b->ir, v);
    clpi_type t = clpi_type_make(from->dtype, rank, shape);
    if (clpi_type_eq(from, &t))
        return v;
    return clpi_add_typed(b, (clpi_op){ .kind = CLP_OP_broadcast, .operand = -1 }, &t, &v, 1);
}

clp_val clpi_make_reshape(clpi_build *b, clp_val v, const int64_t *shape, int rank)
{
    if (v.id == 0 || !rank_check(b, "reshape", rank))
        return (clp_val){ 0 };
    const clpi_type *from = clpi_type_of(b->ir, v);
    clpi_type t = clpi_type_make(from->dtype, rank, shape);

    /* One -1 stands for what is left, as in NumPy. */
    int open = -1;
    int64_t rest = clpi_type_elems(from);
    for (int i = 0; i < rank; i++) {
        if (shape[i] == -1 && open < 0)
            open = i;
        else if (shape[i] > 0 && rest % shape[i] == 0)
            rest /= shape[i];
        else
            rest = 0;
    }
    if (open >= 0)
        t.shape[open] = rest;
    if (clpi_type_eq(from, &t))
        return v;
    return clpi_add_typed(b, (clpi_op){ .kind = CLP_OP_reshape, .operand = -1 }, &t, &v, 1);
}

clp_val clpi_make_transpose(clpi_build *b, clp_val v, const int *axes, int n_axes)
{
    if (v.id == 0)
        return v;
    int rank = clpi_type_of(b->ir, v)->rank;
    if (n_axes != 0 && n_axes != rank) {
        clpi_build_report(b, "`transpose` names every axis once: the value has %d, %d were given", rank, n_axes);
        return (clp_val){ 0 };
    }
    clpi_op op = { .kind = CLP_OP_transpose, .operand = -1 };
    bool moves = false;
    for (int i = 0; i < rank; i++) {
        int axis = rank - 1 - i;
        if (n_axes != 0 && !clpi_axis_resolve(b, "transpose", v, axes[i], &axis))
            return (clp_val){ 0 };
        op.attr = clpi_perm_set(op.attr, i, axis);
        moves = moves || axis != i;
    }
    return moves ? clpi_add(b, op, &v, 1, NULL, 0) : v;
}

clp_val clpi_make_concat(clpi_build *b, const clp_val *vs, int n, int axis)
{
    int at = 0;
    for (int i = 0; i < n; i++)
        if (vs[i].id == 0)
            return (clp_val){ 0 };
    if (n > 0 && !clpi_axis_resolve(b, "concat", vs[0], axis, &at))
        return (clp_val){ 0 };
    return clpi_add(b, (clpi_op){ .kind = CLP_OP_concat, .operand = -1, .attr = (uint64_t)at }, vs, n, NULL, 0);
}

/* ---- Along axes ---- */

clp_val clpi_make_reduce(clpi_build *b, clpi_op_kind kind, clp_val v, const int *axes, int n_axes, bool keepdims)
{
    if (v.id == 0)
        return v;
    const char *name = clpi_ops[kind].name;
    clpi_type t = *clpi_type_of(b->ir, v);
    uint64_t set = 0;
    for (int i = 0; i < n_axes; i++) {
        int axis;
        if (!clpi_axis_resolve(b, name, v, axes[i], &axis))
            return (clp_val){ 0 };
        if (set >> axis & 1) {
            clpi_build_report(b, "`%s` names axis %d twice", name, axis);
            return (clp_val){ 0 };
        }
        set |= UINT64_C(1) << axis;
    }
    if (n_axes == 0)
        set = (UINT64_C(1) << t.rank) - 1;
    /* A reduction has at least one axis: a scalar is reduced as a tile of one element. */
    const int64_t one = 1;
    bool is_scalar = t.rank == 0;
    clp_val of = is_scalar ? clpi_make_reshape(b, v, &one, 1) : v;
    clp_val r = clpi_add(b, (clpi_op){ .kind = kind, .operand = -1, .attr = is_scalar ? 1 : set }, &of, 1, NULL, 0);
    if (!keepdims)
        return r;
    for (int i = 0; i < t.rank; i++)
        if (set >> i & 1)
            t.shape[i] = 1;
    return clpi_make_reshape(b, r, t.shape, t.rank);
}

clp_val clpi_make_scan(clpi_build *b, clpi_op_kind kind, clp_val v, int axis, bool reverse)
{
    if (v.id == 0 || !clpi_axis_resolve(b, clpi_ops[kind].name, v, axis, &axis))
        return (clp_val){ 0 };
    uint64_t attr = kind == CLP_OP_sort ? (uint64_t)axis : 2 * (uint64_t)axis + reverse;
    return clpi_add(b, (clpi_op){ .kind = kind, .operand = -1, .attr = attr }, &v, 1, NULL, 0);
}
