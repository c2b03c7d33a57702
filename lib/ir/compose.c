/* compose: functions of the language that are made of ops: dot of any ranks, flip, roll, take, clip.
 * In: operands as NumPy takes them. Out: the ops that the rest of the compiler knows.                                  */
#include <assert.h>

#include "ir/make.h"

/* ---- dot ---- */

/* x and y broadcast to the batch dimensions of both: all but the last two. */
static bool join_batches(clpi_build *b, clp_val *x, clp_val *y)
{
    clpi_type tx = *clpi_type_of(b->ir, *x), ty = *clpi_type_of(b->ir, *y), batch = tx, other = ty;
    batch.rank = tx.rank - 2;
    other.rank = ty.rank - 2;
    int rank = batch.rank;
    if (!clpi_shapes_join(&rank, batch.shape, &other)) {
        clpi_str s;
        clpi_str_init(&s, b->ir->env);
        clpi_shape_print(&s, tx.shape, tx.rank);
        clpi_str_puts(&s, " and ");
        clpi_shape_print(&s, ty.shape, ty.rank);
        clpi_build_report(b, "`dot`: the leading dimensions of %s do not broadcast together", s.text);
        clpi_str_done(&s);
        return false;
    }
    clpi_type *ts[2] = { &tx, &ty };
    clp_val *vs[2] = { x, y };
    for (int i = 0; i < 2; i++) {
        for (int d = 0; d < 2; d++)
            batch.shape[rank + d] = ts[i]->shape[ts[i]->rank - 2 + d];
        *vs[i] = clpi_make_broadcast(b, *vs[i], batch.shape, rank + 2);
    }
    return x->id != 0 && y->id != 0;
}

clp_val clpi_make_dot(clpi_build *b, clp_val x, clp_val y, clp_dtype acc)
{
    const clp_val none = { 0 };
    if (x.id == 0 || y.id == 0)
        return none;
    clpi_type tx = *clpi_type_of(b->ir, x), ty = *clpi_type_of(b->ir, y);
    if (tx.rank == 0 || ty.rank == 0)
        return clpi_build_report(b, "`dot` takes tiles: a scalar was given (use `*`)"), none;
    if (tx.shape[tx.rank - 1] != ty.shape[ty.rank == 1 ? 0 : ty.rank - 2]) {
        clpi_str s;
        clpi_str_init(&s, b->ir->env);
        clpi_shape_print(&s, tx.shape, tx.rank);
        clpi_str_puts(&s, " and ");
        clpi_shape_print(&s, ty.shape, ty.rank);
        clpi_build_report(b, "`dot` of %s: the inner dimensions are %lld and %lld, one size was expected", s.text,
                          (long long)tx.shape[tx.rank - 1], (long long)ty.shape[ty.rank == 1 ? 0 : ty.rank - 2]);
        clpi_str_done(&s);
        return none;
    }
    /* A vector stands as a row on the left, as a column on the right; the dimension goes again afterwards. */
    if (tx.rank == 1)
        x = clpi_make_reshape(b, x, (int64_t[]){ 1, tx.shape[0] }, 2);
    if (ty.rank == 1)
        y = clpi_make_reshape(b, y, (int64_t[]){ ty.shape[0], 1 }, 2);
    if (x.id == 0 || y.id == 0 || !join_batches(b, &x, &y))
        return none;
    clpi_type asked = { .dtype = acc != CLP_DTYPE_NONE ? acc : clpi_dot_acc(tx.dtype) };
    clp_val args[2] = { x, y };
    clp_val r = clpi_add_typed(b, (clpi_op){ .kind = CLP_OP_dot, .operand = -1 }, &asked, args, 2);
    if (r.id == 0 || (tx.rank > 1 && ty.rank > 1))
        return r;
    clpi_type t = *clpi_type_of(b->ir, r), out = { .dtype = t.dtype };
    for (int i = 0; i < t.rank; i++)
        if (!(i == t.rank - 2 && tx.rank == 1) && !(i == t.rank - 1 && ty.rank == 1))
            out.shape[out.rank++] = t.shape[i];
    return clpi_make_reshape(b, r, out.shape, out.rank);
}

/* ---- Along one axis ---- */

/* v with one subscript on `axis` and whole dimensions elsewhere. */
static clp_val index_axis(clpi_build *b, clp_val v, int axis, clpi_subscript at)
{
    clpi_subscript subs[CLP_MAX_RANK];
    assert(axis < CLP_MAX_RANK);
    for (int i = 0; i < axis; i++)
        subs[i] = (clpi_subscript){ .kind = CLPI_ALL };
    subs[axis] = at;
    return clpi_make_index(b, v, subs, axis + 1);
}

clp_val clpi_make_flip(clpi_build *b, clp_val v, int axis)
{
    if (v.id == 0 || !clpi_axis_resolve(b, "flip", v, axis, &axis))
        return (clp_val){ 0 };
    return index_axis(b, v, axis, (clpi_subscript){ .kind = CLPI_SLICE, .stride = -1 });
}

/* Element i of the result is element (i - shift) mod n. */
clp_val clpi_make_roll(clpi_build *b, clp_val v, clp_val shift, int axis)
{
    const clp_val none = { 0 };
    if (v.id == 0 || shift.id == 0 || !clpi_axis_resolve(b, "roll", v, axis, &axis))
        return none;
    const clpi_type *s = clpi_type_of(b->ir, shift);
    int64_t n = clpi_type_of(b->ir, v)->shape[axis];
    if (!clpi_is_int(s->dtype) || s->rank != 0)
        return clpi_build_report(b, "the shift of `roll` is an integer scalar"), none;
    if (n == 0)
        return v;
    /* Reduced in its own dtype where n fits that, so that no shift overflows. */
    if (clp_dtype_bits(s->dtype) < 32)
        shift = clpi_make_cast(b, shift, CLP_I32);
    if (shift.id == 0)
        return none;
    clp_val size = clpi_make_int(b, clpi_type_of(b->ir, shift)->dtype, n);
    shift = clpi_make_cast(b, clpi_make_ew(b, CLP_OP_mod, (clp_val[]){ shift, size }, 2), CLP_I32);
    clpi_type t = { .dtype = CLP_I32, .rank = 1, .shape = { n } };
    clp_val i = clpi_make_iota(b, &t, 0), n32 = clpi_make_int(b, CLP_I32, n);
    i = clpi_make_ew(b, CLP_OP_sub, (clp_val[]){ i, shift }, 2);
    i = clpi_make_ew(b, CLP_OP_mod, (clp_val[]){ i, n32 }, 2);
    return index_axis(b, v, axis, (clpi_subscript){ .kind = CLPI_AT, .val = i });
}

clp_val clpi_make_take(clpi_build *b, clp_val v, clp_val index, int axis)
{
    if (v.id == 0 || index.id == 0 || !clpi_axis_resolve(b, "take", v, axis, &axis))
        return (clp_val){ 0 };
    return index_axis(b, v, axis, (clpi_subscript){ .kind = CLPI_AT, .val = index });
}

clp_val clpi_make_clip(clpi_build *b, clp_val v, clp_val lo, clp_val hi)
{
    clp_val low = clpi_make_ew(b, CLP_OP_maximum, (clp_val[]){ v, lo }, 2);
    return clpi_make_ew(b, CLP_OP_minimum, (clp_val[]){ low, hi }, 2);
}
