/* shapes: broadcasting, and what subs address.
 * In: shapes, or subs with their operands. Out: the shape that comes of them, or that none does. Shared by the rules and
 * by those who make ops.                                                                                               */
#include "ir/make.h"

/* ---- Broadcasting ---- */

bool clpi_broadcasts_to(const clpi_type *x, int rank, const int64_t *shape)
{
    if (x->rank > rank)
        return false;
    for (int i = 0; i < x->rank; i++)
        if (x->shape[i] != 1 && x->shape[i] != shape[rank - x->rank + i])
            return false;
    return true;
}

bool clpi_shapes_join(int *rank, int64_t *shape, const clpi_type *with)
{
    int n = *rank > with->rank ? *rank : with->rank;
    int64_t joined[CLP_MAX_RANK];
    for (int i = 0; i < n; i++) {
        int a = i - (n - *rank), b = i - (n - with->rank);
        int64_t of_a = a < 0 ? 1 : shape[a], of_b = b < 0 ? 1 : with->shape[b];
        if (of_a != of_b && of_a != 1 && of_b != 1)
            return false;
        joined[i] = of_a == 1 ? of_b : of_a;
    }
    for (int i = 0; i < n; i++)
        shape[i] = joined[i];
    *rank = n;
    return true;
}

/* ---- Places ---- */

static bool refuse(clpi_str *why, const char *format, ...) CLP_PRINTF(2, 3);
static bool refuse(clpi_str *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    clpi_str_add_v(why, format, args);
    va_end(args);
    return false;
}

/* What sub i does to the shape: AT nothing, RANGE one dimension, the first TILE those of the tile. */
static bool add_dims(const clpi_sub *sub, const clpi_type *t, bool is_first_tile, clpi_type *out, clpi_str *why)
{
    int n_dims = sub->kind == CLPI_SUB_RANGE ? 1 : is_first_tile ? t->rank : 0;
    if (out->rank + n_dims > CLP_MAX_RANK)
        return refuse(why, "a value has at most %d dimensions", CLP_MAX_RANK);
    if (sub->kind == CLPI_SUB_RANGE && (sub->size < 0 || sub->stride == 0))
        return refuse(why, "a slice has a size of 0 or more and a stride other than 0");
    if (sub->kind == CLPI_SUB_RANGE && sub->size > 1) {
        int64_t room = (CLPI_MAX_DIM - 1) / (sub->size - 1);
        if (sub->stride > room || sub->stride < -room)
            return refuse(why, "a slice of %lld elements with stride %lld is longer than any dimension: at most %lld",
                          (long long)sub->size, (long long)sub->stride, (long long)CLPI_MAX_DIM);
    }
    for (int d = 0; d < n_dims; d++)
        out->shape[out->rank++] = sub->kind == CLPI_SUB_RANGE ? sub->size : t->shape[d];
    return true;
}

bool clpi_subs_shape(const clpi_ir *ir, const clpi_sub *subs, const clp_val *args, int n_subs, clpi_type *out, clpi_str *why)
{
    *out = (clpi_type){ .dtype = CLP_DTYPE_NONE };
    const clpi_type *tile = NULL;
    int last_tile = -1;
    for (int i = 0; i < n_subs; i++) {
        const clpi_type *t = clpi_type_of(ir, args[i]);
        bool is_tile = subs[i].kind == CLPI_SUB_TILE, is_first = is_tile && !tile;
        if (!clpi_is_int(t->dtype))
            return refuse(why, "an index is an integer: %s was given", clp_dtype_name(t->dtype));
        if (!is_tile && t->rank != 0) {
            clpi_str_puts(why, "the start of a slice is a scalar: a value was given of shape ");
            return clpi_shape_print(why, t->shape, t->rank), false;
        }
        if (is_tile && tile && last_tile != i - 1)
            return refuse(why, "index tiles stand side by side: a subscript of another kind lies between them");
        if (is_tile && tile && (t->rank != tile->rank || !clpi_broadcasts_to(t, tile->rank, tile->shape) ||
                                !clpi_broadcasts_to(tile, t->rank, t->shape)))
            return refuse(why, "index tiles have one shape");
        if (!add_dims(&subs[i], t, is_first, out, why))
            return false;
        tile = is_first ? t : tile;
        last_tile = is_tile ? i : last_tile;
    }
    return true;
}

int64_t clpi_sub_target_size(const clpi_ir *ir, const clpi_op *op, uint32_t i)
{
    if (op->kind == CLP_OP_index)
        return clpi_type_of(ir, clpi_args(ir, op)[0])->shape[i];
    return ir->operands[op->operand].ref_size[i];
}

bool clpi_sub_is_outside(const clpi_ir *ir, const clpi_op *op, uint32_t i)
{
    const clpi_sub *sub = &clpi_subs(ir, op)[i];
    int64_t at, size = clpi_sub_target_size(ir, op, i), n = sub->kind == CLPI_SUB_RANGE ? sub->size : 1;
    clp_val start = clpi_args(ir, op)[i + (op->kind == CLP_OP_index)];
    if (clpi_op_at(ir, start)->kind != CLP_OP_const || !clpi_const_int(ir, start, &at))
        return false;
    if (size < 0)
        size = CLPI_MAX_DIM;
    if (at < 0 || at >= CLPI_MAX_DIM)
        return true;
    int64_t last = n > 1 ? at + (n - 1) * sub->stride : at;
    return n > 0 && (at >= size || last < 0 || last >= size);
}

bool clpi_sub_may_leave(const clpi_ir *ir, const clpi_op *op, uint32_t i)
{
    const clpi_sub *sub = &clpi_subs(ir, op)[i];
    int64_t start, last, size = clpi_sub_target_size(ir, op, i);
    if (size < 0 || sub->kind == CLPI_SUB_TILE || !clpi_const_int(ir, clpi_args(ir, op)[i + (op->kind == CLP_OP_index)], &start))
        return true;
    last = sub->kind == CLPI_SUB_AT ? 0 : (sub->size - 1) * sub->stride;
    return start < 0 || start >= size || last < -start || last >= size - start;
}
