/* elaborate_builtin: what each built-in function does with its arguments.
 * In: arguments by parameter. Out: a meaning; what is constant stays constant.
 * The table below gives each function its parameters. Those that are ops take their row from ops.def: the rule of an op
 * says how it is called, so a new op of a known rule needs nothing here.                                                 */
#include "text/elaborate.h"

#include <string.h>

static const clpi_meaning nothing = { .kind = CLPI_IS_NOTHING };

static bool is_given(const clpi_call *c, int k)
{
    return c->args[k].kind != CLPI_IS_ABSENT;
}

static clp_val value_of(clpi_elab *e, const clpi_call *c, int k, clp_dtype wanted)
{
    return clpi_to_value(e, &c->args[k], wanted, c->pos[k]);
}

/* ---- Arguments of a kind ----------------------------------------------------------------------------------------- */

static bool truth_of(clpi_elab *e, const clpi_call *c, int k, bool *out)
{
    *out = false;
    if (!is_given(c, k))
        return true;
    *out = c->args[k].kind == CLPI_IS_TRUTH && c->args[k].truth;
    if (c->args[k].kind != CLPI_IS_TRUTH)
        clpi_say(e, c->pos[k], "`%s` is `true` or `false`", c->builtin->params[k]);
    return c->args[k].kind == CLPI_IS_TRUTH;
}

static bool dtype_of(clpi_elab *e, const clpi_call *c, int k, clp_dtype *out)
{
    if (!is_given(c, k))
        return true;
    *out = c->args[k].dtype;
    if (c->args[k].kind != CLPI_IS_DTYPE) {
        clpi_str given;
        clpi_str_init(&given, e->env);
        clpi_meaning_print(e, &given, &c->args[k]);
        clpi_say(e, c->pos[k], "expected a dtype for `%s`, got %s", c->builtin->params[k], given.text);
        clpi_str_done(&given);
    } else if (clpi_is_packed(*out))
        clpi_say(e, c->pos[k], "%s is a dtype of arrays: their values are %s, and storing keeps the low bits", clp_dtype_name(*out),
                 clp_dtype_name(clpi_loaded(*out)));
    return c->args[k].kind == CLPI_IS_DTYPE && !clpi_is_packed(*out);
}

/* A list of integers, or one alone. */
static bool ints_of(clpi_elab *e, const clpi_call *c, int k, int64_t *out, int *out_n)
{
    const clpi_meaning *m = &c->args[k];
    char what[48] = "an element of `";
    strcat(strncat(what, c->builtin->params[k], 20), "`");
    *out_n = 0;
    if (!is_given(c, k))
        return true;
    if (m->kind != CLPI_IS_LIST) {
        *out_n = 1;
        memmove(what, what + 14, strlen(what + 14) + 1);
        return clpi_to_int(e, m, what, c->pos[k], out);
    }
    if (m->n > CLP_MAX_RANK) {
        clpi_say(e, c->pos[k], "a value has at most %d dimensions: %u were given", CLP_MAX_RANK, m->n);
        return false;
    }
    for (uint32_t i = 0; i < m->n; i++)
        if (!clpi_to_int(e, &m->items[i], what, c->pos[k], &out[i]))
            return false;
    *out_n = (int)m->n;
    return true;
}

static bool small_of(clpi_elab *e, const clpi_call *c, int k, int otherwise, int *out)
{
    int64_t i;
    *out = otherwise;
    if (!is_given(c, k))
        return true;
    if (!clpi_to_int(e, &c->args[k], "an axis", c->pos[k], &i))
        return false;
    *out = i < INT32_MIN || i > INT32_MAX ? INT32_MAX : (int)i;
    clpi_at_pos(e, c->pos[k]);         /* what is wrong with an axis is told at the axis */
    return true;
}

/* Sizes of a new tile. */
static bool shape_of(clpi_elab *e, const clpi_call *c, int k, clpi_type *t)
{
    if (!ints_of(e, c, k, t->shape, &t->rank))
        return false;
    for (int i = 0; i < t->rank; i++) {
        if (t->shape[i] < 0) {
            clpi_say(e, c->pos[k], "dimension %d of the shape is %lld", i, (long long)t->shape[i]);
            return false;
        }
    }
    return true;
}

/* A mask or `other`, null when it is not given. */
static bool extra_of(clpi_elab *e, const clpi_call *c, int k, clp_dtype wanted, clp_val *out)
{
    *out = (clp_val){ 0 };
    if (!is_given(c, k))
        return true;
    *out = value_of(e, c, k, wanted);
    return out->id != 0;
}

/* ---- Elementwise and conversions --------------------------------------------------------------------------------- */

static clpi_meaning make_ew(clpi_elab *e, const clpi_call *c)
{
    return clpi_apply_at(e, c->builtin->kind, c->args, clpi_ops[c->builtin->kind].arity, c->x->pos, c->pos);
}

static clpi_meaning make_clip(clpi_elab *e, const clpi_call *c)
{
    /* One dtype for all three, wherever the value stands. */
    clpi_meaning args[3] = { c->args[0], c->args[1], c->args[2] };
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            if (args[i].kind == CLPI_IS_VALUE && clpi_is_exact(&args[k])) {
                args[k] = clpi_mean_value(clpi_to_value(e, &args[k], clpi_type_of(e->b->ir, args[i].val)->dtype, c->pos[k]));
                if (args[k].kind == CLPI_IS_NOTHING)
                    return nothing;
            }
        }
    }
    clpi_meaning low = clpi_apply(e, CLP_OP_maximum, args, 2, c->x->pos);
    return clpi_apply(e, CLP_OP_minimum, (clpi_meaning[]){ low, args[2] }, 2, c->x->pos);
}

/* Constants may be converted anywhere, values in the body only. */
static bool is_body(clpi_elab *e, const clpi_call *c)
{
    if (e->b->in_header)
        clpi_say(e, c->x->pos, "`%s` of a value stands in the body only: shapes, maps, grids and `require` have 64 bits", c->builtin->name);
    return !e->b->in_header;
}

static clpi_meaning make_cast(clpi_elab *e, const clpi_call *c)
{
    clp_dtype dtype = CLP_DTYPE_NONE;
    if (!dtype_of(e, c, 1, &dtype))
        return nothing;
    if (clpi_is_exact(&c->args[0]))
        return clpi_cast_exact(&c->args[0], dtype);
    return is_body(e, c) ? clpi_mean_value(clpi_make_cast(e->b, value_of(e, c, 0, CLP_DTYPE_NONE), dtype)) : nothing;
}

static clpi_meaning make_bitcast(clpi_elab *e, const clpi_call *c)
{
    clp_dtype dtype = CLP_DTYPE_NONE;
    if (!dtype_of(e, c, 1, &dtype))
        return nothing;
    /* An integer that adapts takes the width asked for. */
    bool is_bits = clpi_adapts(&c->args[0]) && c->args[0].kind == CLPI_IS_INT;
    int bits = clp_dtype_bits(dtype);
    clp_dtype wanted = !is_bits ? CLP_DTYPE_NONE : bits == 8 ? CLP_U8 : bits == 16 ? CLP_U16 : bits == 64 ? CLP_U64 : CLP_U32;
    if (is_bits && c->args[0].integer.is_negative)
        wanted = bits == 8 ? CLP_I8 : bits == 16 ? CLP_I16 : bits == 64 ? CLP_I64 : CLP_I32;
    if (wanted && clp_dtype_bits(wanted) == bits) {
        uint64_t stored;
        if (!clpi_exact_bits(e, &c->args[0], wanted, c->pos[0], &stored))
            return nothing;
        return clpi_mean_stored(dtype, stored);
    }
    if (!is_body(e, c))
        return nothing;
    clp_val v = value_of(e, c, 0, wanted);
    clpi_at_pos(e, c->x->pos);
    return clpi_mean_value(clpi_make_bitcast(e->b, v, dtype));
}

/* ceil(a / b), exact for all integers whose quotient fits. */
static clpi_meaning make_cdiv(clpi_elab *e, const clpi_call *c)
{
    clpi_pos pos = c->x->pos;
    clpi_meaning a = c->args[0], b = c->args[1];
    clp_dtype dtype = CLP_DTYPE_NONE;
    for (int k = 0; k < 2; k++) {
        if (c->args[k].kind == CLPI_IS_VALUE)
            dtype = clpi_type_of(e->b->ir, c->args[k].val)->dtype;
        else if (c->args[k].kind == CLPI_IS_REAL)
            dtype = CLP_F32;
    }
    if (dtype && !clpi_is_int(dtype)) {
        clpi_say(e, pos, "`cdiv` takes integers, got %s", clp_dtype_name(dtype));
        return nothing;
    }
    if (dtype && clpi_is_unsigned(dtype)) {
        clpi_meaning rest = clpi_apply(e, CLP_OP_mod, (clpi_meaning[]){ a, b }, 2, pos);
        clpi_meaning is_more = clpi_apply(e, CLP_OP_ne, (clpi_meaning[]){ rest, clpi_mean_int(0) }, 2, pos);
        if (is_more.kind != CLPI_IS_VALUE)
            return nothing;
        clpi_meaning more = clpi_mean_value(clpi_make_cast(e->b, is_more.val, dtype));
        clpi_meaning quotient = clpi_apply(e, CLP_OP_divide, (clpi_meaning[]){ a, b }, 2, pos);
        return clpi_apply(e, CLP_OP_add, (clpi_meaning[]){ quotient, more }, 2, pos);
    }
    clpi_meaning minus = clpi_apply(e, CLP_OP_neg, &a, 1, pos);
    clpi_meaning quotient = clpi_apply(e, CLP_OP_divide, (clpi_meaning[]){ minus, b }, 2, pos);
    return clpi_apply(e, CLP_OP_neg, &quotient, 1, pos);
}

/* ---- Along axes -------------------------------------------------------------------------------------------------- */

static bool is_scalar(const clpi_elab *e, const clpi_meaning *m)
{
    return clpi_is_exact(m) || (m->kind == CLPI_IS_VALUE && clpi_type_of(e->b->ir, m->val)->rank == 0);
}

static clpi_meaning make_reduce(clpi_elab *e, const clpi_call *c)
{
    clpi_op_kind kind = c->builtin->kind;
    bool is_pair = c->x->args.n == 2 && !c->x->args.items[1].name;
    if (is_pair && (kind == CLP_OP_max || kind == CLP_OP_min)) {
        if (is_scalar(e, &c->args[0]) && is_scalar(e, &c->args[1]))
            return clpi_apply_at(e, kind == CLP_OP_max ? CLP_OP_maximum : CLP_OP_minimum, c->args, 2, c->x->pos, c->pos);
        if (c->args[1].kind == CLPI_IS_VALUE || c->args[1].kind == CLPI_IS_REAL) {
            clpi_say(e, c->x->pos, "`%s` of two values is for scalars: use %simum(a, b)", c->builtin->name, c->builtin->name);
            return nothing;
        }
    }
    if (e->b->in_header) {
        clpi_say(e, c->x->pos, "expected two arguments: `%s` stands for the %s of two integers here", c->builtin->name,
                 kind == CLP_OP_max ? "larger" : "smaller");
        return nothing;
    }
    int64_t list[CLP_MAX_RANK];
    int axes[CLP_MAX_RANK], n_axes;
    bool keepdims;
    clp_val v = value_of(e, c, 0, CLP_DTYPE_NONE);
    if (!v.id || !ints_of(e, c, 1, list, &n_axes) || !truth_of(e, c, 2, &keepdims))
        return nothing;
    for (int i = 0; i < n_axes; i++)
        axes[i] = list[i] < INT32_MIN || list[i] > INT32_MAX ? INT32_MAX : (int)list[i];
    if (clpi_is_arg(kind) && n_axes != 1) {
        int rank = clpi_type_of(e->b->ir, v)->rank;
        if (rank != 1 || n_axes > 1) {
            clpi_say(e, c->x->pos, "`%s` takes one axis: axis = 0", c->builtin->name);
            return nothing;
        }
        axes[0] = 0;
        n_axes = 1;
    }
    clpi_at_pos(e, is_given(c, 1) ? c->pos[1] : c->x->pos);
    return clpi_mean_value(clpi_make_reduce(e->b, kind, v, axes, n_axes, keepdims));
}

static clpi_meaning make_scan(clpi_elab *e, const clpi_call *c)
{
    int axis;
    bool reverse = false;
    clp_val v = value_of(e, c, 0, CLP_DTYPE_NONE);
    if (!v.id || !small_of(e, c, 1, 0, &axis) || !truth_of(e, c, 2, &reverse))
        return nothing;
    return clpi_mean_value(clpi_make_scan(e->b, c->builtin->kind, v, axis, reverse));
}

static clpi_meaning make_sort(clpi_elab *e, const clpi_call *c)
{
    int axis;
    clp_val v = value_of(e, c, 0, CLP_DTYPE_NONE);
    if (!v.id || !small_of(e, c, 1, -1, &axis))
        return nothing;
    return clpi_mean_value(clpi_make_scan(e->b, CLP_OP_sort, v, axis, false));
}

static clpi_meaning make_dot(clpi_elab *e, const clpi_call *c)
{
    clp_dtype acc = CLP_DTYPE_NONE;
    clp_val x = value_of(e, c, 0, CLP_DTYPE_NONE), y = value_of(e, c, 1, CLP_DTYPE_NONE);
    if (!x.id || !y.id || !dtype_of(e, c, 2, &acc))
        return nothing;
    clpi_at_pos(e, c->x->pos);
    return clpi_mean_value(clpi_make_dot(e->b, x, y, acc));
}

/* ---- New tiles and movement -------------------------------------------------------------------------------------- */

static clpi_meaning make_iota(clpi_elab *e, const clpi_call *c)
{
    clpi_type t = { .dtype = CLP_I32 };
    int axis;
    if (!shape_of(e, c, 0, &t) || !dtype_of(e, c, 2, &t.dtype) || !small_of(e, c, 1, 0, &axis))
        return nothing;
    if (axis < -t.rank || axis >= t.rank) {
        clpi_say(e, is_given(c, 1) ? c->pos[1] : c->x->pos, "`iota` has no axis %d: its shape has %d dimension%s", axis, t.rank,
                 t.rank == 1 ? "" : "s");
        return nothing;
    }
    return clpi_mean_value(clpi_make_iota(e->b, &t, axis));
}

static clpi_meaning make_full(clpi_elab *e, const clpi_call *c)
{
    clpi_type t = { .dtype = CLP_DTYPE_NONE };
    if (!shape_of(e, c, 0, &t) || !dtype_of(e, c, 2, &t.dtype))
        return nothing;
    clp_val v = value_of(e, c, 1, t.dtype);
    if (v.id && t.dtype && clpi_type_of(e->b->ir, v)->dtype != t.dtype) {
        clpi_say(e, c->pos[1], "expected %s, got %s (use cast)", clp_dtype_name(t.dtype), clp_dtype_name(clpi_type_of(e->b->ir, v)->dtype));
        return nothing;
    }
    clpi_at_pos(e, c->x->pos);
    return clpi_mean_value(clpi_make_broadcast(e->b, v, t.shape, t.rank));
}

static clpi_meaning make_zeros(clpi_elab *e, const clpi_call *c)
{
    clpi_type t = { .dtype = CLP_F32 };
    if (!shape_of(e, c, 0, &t) || !dtype_of(e, c, 1, &t.dtype))
        return nothing;
    clp_val v = clpi_make_const(e->b, t.dtype, 0);
    return clpi_mean_value(clpi_make_broadcast(e->b, v, t.shape, t.rank));
}

static clpi_meaning make_reshape(clpi_elab *e, const clpi_call *c)
{
    clpi_type t = { .dtype = CLP_DTYPE_NONE };
    clp_val v = value_of(e, c, 0, CLP_DTYPE_NONE);
    if (!v.id || !ints_of(e, c, 1, t.shape, &t.rank))
        return nothing;
    clpi_at_pos(e, c->x->pos);
    return clpi_mean_value(c->builtin->kind == CLP_OP_reshape ? clpi_make_reshape(e->b, v, t.shape, t.rank)
                                                              : clpi_make_broadcast(e->b, v, t.shape, t.rank));
}

static clpi_meaning make_transpose(clpi_elab *e, const clpi_call *c)
{
    int64_t list[CLP_MAX_RANK];
    int axes[CLP_MAX_RANK], n;
    clp_val v = value_of(e, c, 0, CLP_DTYPE_NONE);
    if (!v.id || !ints_of(e, c, 1, list, &n))
        return nothing;
    for (int i = 0; i < n; i++)
        axes[i] = list[i] < INT32_MIN || list[i] > INT32_MAX ? INT32_MAX : (int)list[i];
    clpi_at_pos(e, c->x->pos);
    return clpi_mean_value(clpi_make_transpose(e->b, v, axes, n));
}

static clpi_meaning make_concat(clpi_elab *e, const clpi_call *c)
{
    int axis;
    clp_dtype wanted = CLP_DTYPE_NONE;
    clp_val *vals = CLPI_NEW_N(e->arena, clp_val, (size_t)c->n_more + 1);
    if (!vals || !small_of(e, c, 0, 0, &axis))
        return nothing;
    if (c->n_more == 0) {
        clpi_say(e, c->x->pos, "`concat` takes values");
        return nothing;
    }
    for (int i = 0; i < c->n_more && !wanted; i++)
        if (c->more[i].kind == CLPI_IS_VALUE)
            wanted = clpi_type_of(e->b->ir, c->more[i].val)->dtype;
    for (int i = 0; i < c->n_more; i++) {
        vals[i] = clpi_to_value(e, &c->more[i], wanted, c->more_pos[i]);
        if (!vals[i].id)
            return nothing;
    }
    clpi_at_pos(e, c->x->pos);
    return clpi_mean_value(clpi_make_concat(e->b, vals, c->n_more, axis));
}

static clpi_meaning make_flip(clpi_elab *e, const clpi_call *c)
{
    int axis;
    clp_val v = value_of(e, c, 0, CLP_DTYPE_NONE);
    return v.id && small_of(e, c, 1, 0, &axis) ? clpi_mean_value(clpi_make_flip(e->b, v, axis)) : nothing;
}

static clpi_meaning make_roll(clpi_elab *e, const clpi_call *c)
{
    int axis;
    clp_val v = value_of(e, c, 0, CLP_DTYPE_NONE), shift = value_of(e, c, 1, CLP_DTYPE_NONE);
    return v.id && shift.id && small_of(e, c, 2, 0, &axis) ? clpi_mean_value(clpi_make_roll(e->b, v, shift, axis)) : nothing;
}

static clpi_meaning make_take(clpi_elab *e, const clpi_call *c)
{
    int axis;
    clp_val v = value_of(e, c, 0, CLP_DTYPE_NONE), index = value_of(e, c, 1, CLP_DTYPE_NONE);
    return v.id && index.id && small_of(e, c, 2, 0, &axis) ? clpi_mean_value(clpi_make_take(e->b, v, index, axis)) : nothing;
}

/* ---- Refs -------------------------------------------------------------------------------------------------------- */

static const clpi_meaning no_result = { .kind = CLPI_IS_ABSENT };

static clpi_meaning make_load(clpi_elab *e, const clpi_call *c)
{
    clp_val mask, other;
    if (!extra_of(e, c, 1, CLP_BOOL, &mask) || !extra_of(e, c, 2, clpi_place_dtype(e, c->place), &other))
        return nothing;
    clpi_at_pos(e, c->x->pos);
    return clpi_mean_value(clpi_make_load(e->b, c->place->operand, c->place->subs, c->place->n, mask, other));
}

static clpi_meaning make_store(clpi_elab *e, const clpi_call *c)
{
    clp_val mask, value = value_of(e, c, 1, clpi_place_dtype(e, c->place));
    if (!value.id || !extra_of(e, c, 2, CLP_BOOL, &mask))
        return nothing;
    clpi_at_pos(e, c->x->pos);
    clpi_make_store(e->b, c->place->operand, c->place->subs, c->place->n, value, mask);
    return no_result;
}

static clpi_meaning make_atomic(clpi_elab *e, const clpi_call *c)
{
    clp_dtype wanted = clpi_place_dtype(e, c->place);
    bool is_cas = c->builtin->kind == CLP_OP_atomic_cas;
    clp_val values[2] = { { 0 } }, mask = { 0 };
    values[0] = value_of(e, c, 1, wanted);
    if (is_cas)
        values[1] = value_of(e, c, 2, wanted);
    if (!values[0].id || (is_cas ? !values[1].id : !extra_of(e, c, 2, CLP_BOOL, &mask)))
        return nothing;
    clpi_at_pos(e, c->x->pos);
    return clpi_mean_value(clpi_make_atomic(e->b, c->builtin->kind, c->place->operand, c->place->subs, c->place->n, values,
                                            is_cas ? 2 : 1, mask));
}

/* ---- Programs and facts ------------------------------------------------------------------------------------------ */

static clpi_meaning make_leaf(clpi_elab *e, const clpi_call *c)
{
    if (e->b->in_header && !e->in_map) {
        clpi_say(e, c->x->pos, "`%s` stands in index maps and in the body only", c->builtin->name);
        return nothing;
    }
    return clpi_mean_value(clpi_make_leaf(e->b, c->builtin->kind, c->args[0].integer.magnitude));
}

/* first(k) is k == 0; last(k) is k == num_programs(k) - 1. */
static clpi_meaning make_end(clpi_elab *e, const clpi_call *c)
{
    uint64_t axis = c->args[0].integer.magnitude;
    bool is_last = c->builtin->kind == CLP_OP_num_programs;
    if (e->b->in_header && !e->in_map)
        return make_leaf(e, c);
    clpi_meaning id = clpi_mean_value(clpi_make_leaf(e->b, CLP_OP_program_id, axis)), end = clpi_mean_int(0);
    if (is_last) {
        end = clpi_mean_value(clpi_make_leaf(e->b, CLP_OP_num_programs, axis));
        end = clpi_apply(e, CLP_OP_sub, (clpi_meaning[]){ end, clpi_mean_int(1) }, 2, c->x->pos);
    }
    return clpi_apply(e, CLP_OP_eq, (clpi_meaning[]){ id, end }, 2, c->x->pos);
}

static clpi_meaning make_rank(clpi_elab *e, const clpi_call *c)
{
    if (c->args[0].kind == CLPI_IS_REF)
        return clpi_mean_int(e->b->ir->operands[c->args[0].operand].rank);
    if (clpi_is_exact(&c->args[0]))
        return clpi_mean_int(0);
    clp_val v = value_of(e, c, 0, CLP_DTYPE_NONE);
    return v.id ? clpi_mean_int(clpi_type_of(e->b->ir, v)->rank) : nothing;
}

static clpi_meaning make_size(clpi_elab *e, const clpi_call *c)
{
    int axis;
    clpi_meaning rank = make_rank(e, c);
    if (rank.kind != CLPI_IS_INT || !small_of(e, c, 1, 0, &axis))
        return nothing;
    int n = (int)rank.integer.magnitude, at = axis < 0 ? axis + n : axis;
    if (at < 0 || at >= n) {
        clpi_say(e, c->pos[1], "`size` has no axis %d: there %s %d dimension%s", axis, n == 1 ? "is" : "are", n, n == 1 ? "" : "s");
        return nothing;
    }
    if (c->args[0].kind == CLPI_IS_REF)
        return clpi_operand_size(e, c->args[0].operand, at, c->x->pos);
    return clpi_mean_int(clpi_type_of(e->b->ir, c->args[0].val)->shape[at]);
}

static clpi_meaning make_dtype(clpi_elab *e, const clpi_call *c)
{
    if (c->args[0].kind == CLPI_IS_REF)
        return clpi_mean_dtype(e->b->ir->operands[c->args[0].operand].dtype);
    if (clpi_is_exact(&c->args[0]) && c->args[0].dtype)
        return clpi_mean_dtype(c->args[0].dtype);
    clp_val v = value_of(e, c, 0, CLP_DTYPE_NONE);
    return v.id ? clpi_mean_dtype(clpi_type_of(e->b->ir, v)->dtype) : nothing;
}

/* ---- Talking ----------------------------------------------------------------------------------------------------- */

static clpi_meaning make_print(clpi_elab *e, const clpi_call *c)
{
    clp_val *vals = CLPI_NEW_N(e->arena, clp_val, (size_t)c->n_more + 1);
    if (!vals)
        return nothing;
    if (c->n_more == 0 || c->more[0].kind != CLPI_IS_STRING) {
        clpi_say(e, c->x->pos, "`print` takes a string first: print(\"i={}\", i)");
        return nothing;
    }
    for (int i = 1; i < c->n_more; i++) {
        vals[i - 1] = clpi_to_value(e, &c->more[i], CLP_DTYPE_NONE, c->more_pos[i]);
        if (!vals[i - 1].id)
            return nothing;
    }
    clpi_at_pos(e, c->x->pos);
    clpi_make_print(e->b, c->more[0].text, vals, c->n_more - 1);
    return no_result;
}

static clpi_meaning make_assert(clpi_elab *e, const clpi_call *c)
{
    if (c->args[1].kind != CLPI_IS_STRING) {
        clpi_say(e, c->pos[1], "`assert` takes a condition and a string");
        return nothing;
    }
    clp_val condition = value_of(e, c, 0, CLP_BOOL);
    clpi_at_pos(e, c->x->pos);
    clpi_make_assert(e->b, condition, c->args[1].text);
    return no_result;
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

/* How an op of each rule is called: parameters, how many of them are required, what the first is, effect, in the header. */
#define CALL_cast      { "v", "dtype" }, 2, CLPI_TAKES_VALUES, false, true, make_cast
#define CALL_bitcast   { "v", "dtype" }, 2, CLPI_TAKES_VALUES, false, true, make_bitcast
#define CALL_reduce    { "v", "axis", "keepdims" }, 1, CLPI_TAKES_VALUES, false, true, make_reduce
#define CALL_scan      { "v", "axis", "reverse" }, 1, CLPI_TAKES_VALUES, false, false, make_scan
#define CALL_sort      { "v", "axis" }, 1, CLPI_TAKES_VALUES, false, false, make_sort
#define CALL_dot       { "a", "b", "acc" }, 2, CLPI_TAKES_VALUES, false, false, make_dot
#define CALL_reshape   { "v", "shape" }, 2, CLPI_TAKES_VALUES, false, false, make_reshape
#define CALL_broadcast { "v", "shape" }, 2, CLPI_TAKES_VALUES, false, false, make_reshape
#define CALL_transpose { "v", "axes" }, 1, CLPI_TAKES_VALUES, false, false, make_transpose
#define CALL_concat    { "axis" }, 0, CLPI_TAKES_MANY, false, false, make_concat
#define CALL_load      { "place", "mask", "other" }, 1, CLPI_TAKES_PLACE, false, false, make_load
#define CALL_store     { "place", "value", "mask" }, 2, CLPI_TAKES_PLACE, true, false, make_store
#define CALL_atomic    { "place", "value", "mask" }, 2, CLPI_TAKES_PLACE, true, false, make_atomic
/* Ops that no call of their name makes, and those whose rows are written below. */
#define CALL_leaf      { NULL }, 0, CLPI_TAKES_VALUES, false, false, NULL
#define CALL_index     CALL_leaf
#define CALL_region    CALL_leaf
#define CALL_part      CALL_leaf
#define CALL_effect    CALL_leaf

static const clpi_builtin by_op[CLP_N_OPS] = {
#define CLP_EW(name, text, arity, types, flags, ...)                                                                   \
    [CLP_OP_##name] = { #name, CLP_OP_##name, { "a", arity > 1 ? "b" : NULL, arity > 2 ? "c" : NULL }, arity,          \
                        CLPI_TAKES_VALUES, false, true, text[0] ? NULL : make_ew },
#define CLP_OP(name, text, arity, rule, flags) [CLP_OP_##name] = { #name, CLP_OP_##name, CALL_##rule },
#include "ir/ops.def"
#undef CLP_EW
#undef CLP_OP
};

/* Functions that are not one op, and ops that are called in a way of their own; these rows come first. */
static const clpi_builtin others[] = {
    { "clip", CLP_OP_NONE, { "x", "lo", "hi" }, 3, CLPI_TAKES_VALUES, false, true, make_clip },
    { "cdiv", CLP_OP_NONE, { "a", "b" }, 2, CLPI_TAKES_VALUES, false, true, make_cdiv },
    { "iota", CLP_OP_iota, { "shape", "axis", "dtype" }, 1, CLPI_TAKES_VALUES, false, false, make_iota },
    { "full", CLP_OP_NONE, { "shape", "value", "dtype" }, 2, CLPI_TAKES_VALUES, false, false, make_full },
    { "zeros", CLP_OP_NONE, { "shape", "dtype" }, 1, CLPI_TAKES_VALUES, false, false, make_zeros },
    { "flip", CLP_OP_NONE, { "v", "axis" }, 1, CLPI_TAKES_VALUES, false, false, make_flip },
    { "roll", CLP_OP_NONE, { "v", "shift", "axis" }, 2, CLPI_TAKES_VALUES, false, false, make_roll },
    { "take", CLP_OP_NONE, { "v", "index", "axis" }, 2, CLPI_TAKES_VALUES, false, false, make_take },
    { "atomic_cas", CLP_OP_atomic_cas, { "place", "expected", "value" }, 3, CLPI_TAKES_PLACE, true, false, make_atomic },
    { "num_programs", CLP_OP_num_programs, { "axis" }, 1, CLPI_TAKES_AXIS, false, true, make_leaf },
    { "program_id", CLP_OP_program_id, { "axis" }, 1, CLPI_TAKES_AXIS, false, true, make_leaf },
    { "first", CLP_OP_program_id, { "axis" }, 1, CLPI_TAKES_AXIS, false, true, make_end },
    { "last", CLP_OP_num_programs, { "axis" }, 1, CLPI_TAKES_AXIS, false, true, make_end },
    { "size", CLP_OP_NONE, { "x", "axis" }, 2, CLPI_TAKES_VALUES, false, false, make_size },
    { "rank", CLP_OP_NONE, { "x" }, 1, CLPI_TAKES_VALUES, false, true, make_rank },
    { "dtype", CLP_OP_NONE, { "x" }, 1, CLPI_TAKES_VALUES, false, true, make_dtype },
    { "print", CLP_OP_print, { NULL }, 0, CLPI_TAKES_MANY, true, false, make_print },
    { "assert", CLP_OP_assert, { "condition", "text" }, 2, CLPI_TAKES_VALUES, true, false, make_assert },
};

enum { N_OTHERS = sizeof others / sizeof *others };

const clpi_builtin *clpi_builtin_at(int i)
{
    if (i < N_OTHERS)
        return &others[i];
    /* Rows without a function are passed over by repeating the first: a name twice does no harm in a list of names. */
    if (i < N_OTHERS + CLP_N_OPS)
        return by_op[i - N_OTHERS].make ? &by_op[i - N_OTHERS] : &others[0];
    return NULL;
}

const clpi_builtin *clpi_find_builtin(const char *name)
{
    for (int i = 0; i < N_OTHERS; i++)
        if (strcmp(others[i].name, name) == 0)
            return &others[i];
    for (int i = 1; i < CLP_N_OPS; i++)
        if (by_op[i].make && strcmp(by_op[i].name, name) == 0)
            return &by_op[i];
    return NULL;
}
