/* refs: loads, stores, atomics, and subscripts of values.
 * In: an operand or a value with subscripts as written. Out: one op over resolved subs, its value, mask and `other`
 * broadcast to the place.                                                                                              */
#include <assert.h>

#include "ir/make.h"

/* v broadcast to the place; null (reported, or v was null) when it does not. What names the value: "store to x". */
static clp_val to_place(clpi_build *b, clp_val v, const clpi_type *place, const char *what, const char *name)
{
    if (v.id == 0)
        return v;
    const clpi_type *t = clpi_type_of(b->ir, v);
    if (clpi_broadcasts_to(t, place->rank, place->shape))
        return clpi_make_broadcast(b, v, place->shape, place->rank);
    clpi_str s;
    clpi_str_init(&s, b->ir->env);
    clpi_shape_print(&s, place->shape, place->rank);
    clpi_str_puts(&s, ", the value ");
    clpi_shape_print(&s, t->shape, t->rank);
    clpi_build_report(b, "%s %s: the place has shape %s", what, name, s.text);
    clpi_str_done(&s);
    return (clp_val){ 0 };
}

static bool operand_place(clpi_build *b, int operand, const clpi_subscript *subs, int n, clpi_target_place *out)
{
    if (operand < 0)
        return false;
    assert(operand < b->ir->n_operands);
    const clpi_operand *x = &b->ir->operands[operand];
    return clpi_subscripts_resolve(b, &(clpi_target){ x->name, x->ref_rank, x->ref_size }, subs, n, out);
}

/* A mask or `other` that was given: broadcast, appended to the operands. */
static bool add_extra(clpi_build *b, clp_val v, const clpi_target_place *p, const char *what, const char *name, clp_val *args, int *n_args)
{
    clp_val at = to_place(b, v, &p->shape, what, name);
    args[(*n_args)++] = at;
    return at.id != 0;
}

enum { MAX_ARGS = CLP_MAX_RANK + 4 };

static int place_args(const clpi_target_place *p, clp_val *args)
{
    for (int i = 0; i < p->n; i++)
        args[i] = p->args[i];
    return p->n;
}

clp_val clpi_make_load(clpi_build *b, int operand, const clpi_subscript *subs, int n, clp_val mask, clp_val other)
{
    clpi_target_place p;
    clp_val args[MAX_ARGS];
    if (!operand_place(b, operand, subs, n, &p))
        return (clp_val){ 0 };
    const char *name = b->ir->operands[operand].name;
    int n_args = place_args(&p, args);
    clpi_op op = { .kind = CLP_OP_load, .operand = operand, .has_other = other.id != 0, .has_mask = mask.id != 0 };
    if (op.has_other && !op.has_mask) {
        clpi_build_report(b, "load of %s: `other` stands in where a mask is false, and there is none", name);
        return (clp_val){ 0 };
    }
    if (op.has_other && !add_extra(b, other, &p, "`other` of", name, args, &n_args))
        return (clp_val){ 0 };
    if (op.has_mask && !add_extra(b, mask, &p, "mask of", name, args, &n_args))
        return (clp_val){ 0 };
    return clpi_add(b, op, args, n_args, p.subs, p.n);
}

/* Stores and atomics: the role is looked at first, since the rest of what is wrong follows from it. */
static bool is_written(clpi_build *b, int operand)
{
    if (operand < 0)
        return false;
    const clpi_operand *x = &b->ir->operands[operand];
    if (x->role == CLP_OUT || x->role == CLP_INOUT || x->role == CLP_SCRATCH)
        return true;
    const char *role = x->role == CLP_IN ? "an input" : x->role == CLP_PREFETCH ? "a prefetch operand" : "a scalar";
    clpi_build_report(b, "%s is %s and cannot be stored to", x->name, role);
    return false;
}

static clp_val make_write(clpi_build *b, clpi_op_kind kind, int operand, const clpi_subscript *subs, int n, const clp_val *values,
                          int n_values, clp_val mask, const char *what)
{
    clpi_target_place p;
    clp_val args[MAX_ARGS];
    assert(n_values == clpi_n_values(kind));
    if (!is_written(b, operand) || !operand_place(b, operand, subs, n, &p))
        return (clp_val){ 0 };
    const char *name = b->ir->operands[operand].name;
    int n_args = place_args(&p, args);
    for (int i = 0; i < n_values; i++)
        if (!add_extra(b, values[i], &p, what, name, args, &n_args))
            return (clp_val){ 0 };
    if (mask.id != 0 && !add_extra(b, mask, &p, "mask of", name, args, &n_args))
        return (clp_val){ 0 };
    clpi_op op = { .kind = kind, .operand = operand, .has_mask = mask.id != 0 };
    return clpi_add(b, op, args, n_args, p.subs, p.n);
}

void clpi_make_store(clpi_build *b, int operand, const clpi_subscript *subs, int n, clp_val value, clp_val mask)
{
    make_write(b, CLP_OP_store, operand, subs, n, &value, 1, mask, "store to");
}

clp_val clpi_make_atomic(clpi_build *b, clpi_op_kind kind, int operand, const clpi_subscript *subs, int n, const clp_val *values,
                         int n_values, clp_val mask)
{
    assert(clpi_is_atomic(kind));
    return make_write(b, kind, operand, subs, n, values, n_values, mask, "atomic on");
}

clp_val clpi_make_header_load(clpi_build *b, int operand, const clp_val *index, int n)
{
    const clp_val none = { 0 };
    clpi_sub subs[CLP_MAX_RANK];
    if (operand < 0)
        return none;
    const clpi_operand *x = &b->ir->operands[operand];
    if (x->role != CLP_SCALAR && x->role != CLP_PREFETCH)
        return clpi_build_report(b, "%s: shapes, maps and grids read scalars and prefetch operands only", x->name), none;
    if (!clpi_is_int(x->dtype))
        return clpi_build_report(b, "%s is %s: shapes, maps and grids read integers only", x->name, clp_dtype_name(x->dtype)), none;
    if (n != x->rank)
        return clpi_report_rank(b, x->name, x->rank, n), none;
    for (int i = 0; i < n; i++)
        subs[i] = (clpi_sub){ .kind = CLPI_SUB_AT };
    clpi_op op = { .kind = CLP_OP_load, .operand = operand };
    clpi_type i64 = { .dtype = CLP_I64 };
    if (!clpi_type_intern(b->ir, &i64, &op.type))
        return none;
    return clpi_add(b, op, index, n, subs, n);
}

clp_val clpi_make_index(clpi_build *b, clp_val v, const clpi_subscript *subs, int n)
{
    clpi_target_place p;
    clp_val args[MAX_ARGS];
    if (v.id == 0)
        return v;
    /* Copied: ops that the resolver makes may move the table of types. */
    const clpi_type t = *clpi_type_of(b->ir, v);
    if (!clpi_subscripts_resolve(b, &(clpi_target){ NULL, t.rank, t.shape }, subs, n, &p))
        return (clp_val){ 0 };
    clp_val r = v;
    if (!p.is_whole) {
        args[0] = v;
        place_args(&p, args + 1);
        r = clpi_add(b, (clpi_op){ .kind = CLP_OP_index, .operand = -1 }, args, p.n + 1, p.subs, p.n);
    }
    return clpi_make_reshape(b, r, p.with_new.shape, p.with_new.rank);
}
