/* ir: the op table as data, and how the IR is read: types, constants, operands of accesses, shapes as text.
 * Decides nothing; everything here is a view of ops.def or of an IR that someone else made.                            */
#include <assert.h>
#include <string.h>

#include "ir/ir.h"
#include "ir/make.h"

/* The words of the flags column. */
enum {
    COMM = CLP_COMM, CALL = CLP_CALL, READ = CLP_READ, WRITE = CLP_WRITE, EFFECT = CLP_EFFECT, REGION = CLP_REGION,
    LEAF = CLP_LEAF
};

const clpi_op_info clpi_ops[CLP_N_OPS] = {
    [CLP_OP_NONE] = { "none", "", 0, false, CLP_TYPES_NONE, CLP_LEAF, "" },
#define CLP_EW(name, text, arity, types, flags, ...)                                                                   \
    [CLP_OP_##name] = { #name, text, arity, true, CLP_##types, flags, #__VA_ARGS__ },
#define CLP_OP(name, text, arity, rule, flags) [CLP_OP_##name] = { #name, text, arity, false, CLP_TYPES_NONE, flags, "" },
#include "ir/ops.def"
#undef CLP_EW
#undef CLP_OP
};

clpi_ir *clpi_ir_new(clpi_env *env, clpi_arena *arena, const char *name)
{
    clpi_ir *ir = CLPI_NEW(arena, clpi_ir);
    if (!ir)
        return NULL;
    ir->env = env;
    ir->arena = arena;
    ir->name = clpi_arena_strndup(arena, name, strlen(name));
    if (!ir->name || !CLPI_PUSH(arena, &ir->ops, (clpi_op){ .kind = CLP_OP_NONE, .operand = -1 }) ||
        !CLPI_PUSH(arena, &ir->types, (clpi_type){ .dtype = CLP_DTYPE_NONE }))
        return NULL;
    ir->n_header = 1;
    return ir;
}

const char *clpi_op_shown(clpi_op_kind kind)
{
    return clpi_ops[kind].text[0] ? clpi_ops[kind].text : clpi_ops[kind].name;
}

bool clpi_is_atomic(clpi_op_kind kind)
{
    unsigned both = CLP_READ | CLP_WRITE;
    return (clpi_ops[kind].flags & both) == both;
}

bool clpi_is_reduction(clpi_op_kind kind)
{
    switch (kind) {
    case CLP_OP_sum: case CLP_OP_prod: case CLP_OP_max: case CLP_OP_min: case CLP_OP_any: case CLP_OP_all:
    case CLP_OP_argmax: case CLP_OP_argmin: return true;
    default: return false;
    }
}

bool clpi_is_arg(clpi_op_kind kind)
{
    return kind == CLP_OP_argmax || kind == CLP_OP_argmin;
}

bool clpi_is_cdiv(const clpi_ir *ir, const clpi_op *op, clp_val out_args[2])
{
    if (op->kind != CLP_OP_neg)
        return false;
    const clpi_op *quotient = clpi_op_at(ir, clpi_args(ir, op)[0]);
    if (quotient->kind != CLP_OP_divide)
        return false;
    const clpi_op *dividend = clpi_op_at(ir, clpi_args(ir, quotient)[0]);
    if (dividend->kind != CLP_OP_neg)
        return false;
    out_args[0] = clpi_args(ir, dividend)[0];
    out_args[1] = clpi_args(ir, quotient)[1];
    return true;
}

int clpi_n_values(clpi_op_kind kind)
{
    if (!(clpi_ops[kind].flags & CLP_WRITE))
        return 0;
    return kind == CLP_OP_atomic_cas ? 2 : 1;
}

bool clpi_name_is_taken(const clpi_ir *ir, const char *name)
{
    bool is_taken = false;
    for (int i = 0; i < ir->n_operands; i++)
        is_taken = is_taken || strcmp(ir->operands[i].name, name) == 0;
    for (int i = 0; i < ir->n_axes; i++)
        is_taken = is_taken || strcmp(ir->axes[i].name, name) == 0;
    for (int i = 0; i < ir->n_dims; i++)
        is_taken = is_taken || strcmp(ir->dims[i], name) == 0;
    return is_taken;
}

/* ---- Types ---- */

int64_t clpi_type_elems(const clpi_type *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->shape[i];
    return n;
}

void clpi_shape_index(const int64_t *shape, int rank, int64_t number, int64_t *out_index)
{
    for (int d = rank - 1; d >= 0; d--) {
        out_index[d] = number % shape[d];
        number /= shape[d];
    }
}

bool clpi_type_eq(const clpi_type *a, const clpi_type *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

clpi_type clpi_type_make(clp_dtype dtype, int rank, const int64_t *shape)
{
    assert(rank >= 0 && rank <= CLP_MAX_RANK);
    clpi_type t = { .dtype = dtype, .rank = rank };
    for (int i = 0; i < rank; i++)
        t.shape[i] = shape[i];
    return t;
}

bool clpi_type_intern(clpi_ir *ir, const clpi_type *type, uint32_t *out_type)
{
    for (uint32_t i = ir->types.n; i-- > 0;) {
        if (clpi_type_eq(&ir->types.items[i], type)) {
            *out_type = i;
            return true;
        }
    }
    *out_type = ir->types.n;
    return CLPI_PUSH(ir->arena, &ir->types, clpi_type_make(type->dtype, type->rank, type->shape));
}

void clpi_shape_print(clpi_str *s, const int64_t *shape, int rank)
{
    clpi_str_puts(s, "[");
    for (int i = 0; i < rank; i++)
        clpi_str_add(s, "%s%lld", i ? ", " : "", (long long)shape[i]);
    clpi_str_puts(s, "]");
}

void clpi_type_print(clpi_str *s, const clpi_type *t)
{
    clpi_str_puts(s, clp_dtype_name(t->dtype));
    if (t->rank > 0)
        clpi_shape_print(s, t->shape, t->rank);
}

/* ---- Attributes and operands ---- */

int clpi_perm_get(uint64_t attr, int i)
{
    return (int)(attr >> (4 * i) & 15);
}

uint64_t clpi_perm_set(uint64_t attr, int i, int axis)
{
    return (attr & ~(UINT64_C(15) << (4 * i))) | (uint64_t)axis << (4 * i);
}

bool clpi_const_int(const clpi_ir *ir, clp_val v, int64_t *out)
{
    *out = 0;
    const clpi_op *op = clpi_op_at(ir, v);
    if (op->kind != CLP_OP_const)
        return false;
    clp_dtype d = clpi_type_of(ir, v)->dtype;
    if (d != CLP_BOOL && !clpi_is_int(d))
        return false;
    clpi_elem e = clpi_elem_from_bits(d, op->attr);
    if (!clpi_is_signed(d) && e.u > INT64_MAX)
        return false;
    *out = e.i;
    return true;
}

clp_val clpi_op_value(const clpi_ir *ir, const clpi_op *op, int i)
{
    return i < clpi_n_values(op->kind) ? clpi_args(ir, op)[op->n_subs + (uint32_t)i] : (clp_val){ 0 };
}

clp_val clpi_op_other(const clpi_ir *ir, const clpi_op *op)
{
    return op->has_other ? clpi_args(ir, op)[op->n_subs] : (clp_val){ 0 };
}

clp_val clpi_op_mask(const clpi_ir *ir, const clpi_op *op)
{
    return op->has_mask ? clpi_args(ir, op)[op->n_args - 1] : (clp_val){ 0 };
}
