/* print_op: one op as an expression of the kernel language.
 * In: an op whose operands are named. Out: what stands right of its `=`; for header values, which have no names, one whole
 * expression. Operators and names come from ops.def; what is written here is each op's attributes.                       */
#include "text/print.h"

#include <assert.h>
#include <inttypes.h>

#include "text/literal.h"

void clpi_print_value(clpi_printer *p, clp_val v)
{
    const clpi_op *op = clpi_op_at(p->ir, v);
    if (p->name[v.id]) {
        clpi_str_add(p->s, "v%" PRIu32, p->name[v.id]);
        return;
    }
    assert(op->kind == CLP_OP_const);
    clpi_literal_print(p->s, clpi_type_of(p->ir, v)->dtype, op->attr, true);
}

/* ---- Places ---- */

/* A start that the front ends write as a constant of their own: of slices, `:` and `...`. */
static bool is_plain_start(const clpi_printer *p, clp_val start, int64_t *out_start)
{
    return !p->name[start.id] && clpi_type_of(p->ir, start)->dtype == CLP_I32 && clpi_const_int(p->ir, start, out_start) &&
           *out_start >= 0;
}

static bool is_every(const clpi_printer *p, const clpi_sub *sub, clp_val start, int64_t size)
{
    int64_t from;
    return sub->kind == CLPI_SUB_RANGE && sub->size == size && sub->stride == 1 && is_plain_start(p, start, &from) &&
           from == 0;
}

static void print_sub(clpi_printer *p, const clpi_sub *sub, clp_val v, int64_t size)
{
    int64_t from;
    if (sub->kind != CLPI_SUB_RANGE) {
        clpi_print_value(p, v);
    } else if (is_every(p, sub, v, size)) {
        clpi_str_puts(p->s, ":");
    } else if (is_plain_start(p, v, &from) && sub->stride > 0 && (sub->size > 0 || from == 0)) {
        int64_t stop = sub->size > 0 ? from + (sub->size - 1) * sub->stride + 1 : 0;
        clpi_str_add(p->s, "%" PRId64 ":%" PRId64, from, stop);
        if (sub->stride != 1)
            clpi_str_add(p->s, ":%" PRId64, sub->stride);
    } else {
        clpi_str_puts(p->s, "ds(");
        clpi_print_value(p, v);
        clpi_str_add(p->s, ", %" PRId64, sub->size);
        if (sub->stride != 1)
            clpi_str_add(p->s, ", %" PRId64, sub->stride);
        clpi_str_puts(p->s, ")");
    }
}

void clpi_print_place(clpi_printer *p, const clpi_op *op)
{
    const clpi_sub *subs = clpi_subs(p->ir, op);
    const clp_val *args = clpi_args(p->ir, op);
    if (op->kind == CLP_OP_index)
        clpi_print_value(p, *args++);
    else
        clpi_str_puts(p->s, p->ir->operands[op->operand].name);

    if (op->operand >= 0 && p->ir->operands[op->operand].role == CLP_SCALAR)
        return;
    bool is_whole = true;
    for (uint32_t i = 0; i < op->n_subs; i++)
        is_whole &= is_every(p, &subs[i], args[i], clpi_sub_target_size(p->ir, op, i));
    if (is_whole) {
        clpi_str_puts(p->s, "[...]");
        return;
    }
    clpi_str_puts(p->s, "[");
    for (uint32_t i = 0; i < op->n_subs; i++) {
        clpi_str_puts(p->s, i ? ", " : "");
        print_sub(p, &subs[i], args[i], clpi_sub_target_size(p->ir, op, i));
    }
    clpi_str_puts(p->s, "]");
}

/* ---- Attributes ---- */

/* ", axis = 1" or ", axis = (0, 2)"; nothing when all axes go. */
static void print_axes(clpi_printer *p, uint64_t set, int rank)
{
    uint64_t all = (UINT64_C(1) << rank) - 1;
    int n = 0;
    if (set == all && rank != 1)
        return;
    for (int i = 0; i < rank; i++)
        n += (int)((set >> i) & 1);
    clpi_str_puts(p->s, n == 1 ? ", axis = " : ", axis = (");
    for (int i = 0, k = 0; i < rank; i++)
        if ((set >> i) & 1)
            clpi_str_add(p->s, "%s%d", k++ ? ", " : "", i);
    clpi_str_puts(p->s, n == 1 ? "" : ")");
}

/* What a call says behind its operands. */
static void print_attributes(clpi_printer *p, const clpi_op *op)
{
    const clpi_type *type = &p->ir->types.items[op->type];
    const clpi_type *of = op->n_args ? clpi_type_of(p->ir, clpi_args(p->ir, op)[0]) : type;
    switch (op->kind) {
    case CLP_OP_cast:
    case CLP_OP_bitcast: clpi_str_add(p->s, ", %s", clp_dtype_name(type->dtype)); break;
    case CLP_OP_dot: clpi_str_add(p->s, ", acc = %s", clp_dtype_name(type->dtype)); break;
    case CLP_OP_reshape:
    case CLP_OP_broadcast:
        clpi_str_puts(p->s, ", ");
        clpi_shape_print(p->s, type->shape, type->rank);
        break;
    case CLP_OP_concat:
    case CLP_OP_sort: clpi_str_add(p->s, ", axis = %" PRIu64, op->attr); break;
    case CLP_OP_cumsum:
    case CLP_OP_cumprod:
    case CLP_OP_cummax:
    case CLP_OP_cummin:
        clpi_str_add(p->s, ", axis = %" PRIu64 "%s", op->attr / 2, op->attr % 2 ? ", reverse = true" : "");
        break;
    case CLP_OP_transpose:
        clpi_str_puts(p->s, ", (");
        for (int i = 0; i < type->rank; i++)
            clpi_str_add(p->s, "%s%d%s", i ? ", " : "", clpi_perm_get(op->attr, i), type->rank == 1 ? "," : "");
        clpi_str_puts(p->s, ")");
        break;
    default:
        if (of->rank > 0)
            print_axes(p, op->attr, of->rank);
    }
}

/* ---- Right-hand sides ---- */

static void print_call(clpi_printer *p, const clpi_op *op)
{
    const clp_val *args = clpi_args(p->ir, op);
    clpi_str_add(p->s, "%s(", clpi_ops[op->kind].name);
    for (uint32_t i = 0; i < op->n_args; i++) {
        clpi_str_puts(p->s, i ? ", " : "");
        clpi_print_value(p, args[i]);
    }
    if (clpi_ops[op->kind].flags & CLP_CALL)
        print_attributes(p, op);
    clpi_str_puts(p->s, ")");
}

static const char *operator_of(const clpi_op_info *info, clp_dtype operand)
{
    return info->types == CLP_BIT && info->arity == 1 && operand == CLP_BOOL ? "!" : info->text;
}

static void print_elementwise(clpi_printer *p, const clpi_op *op)
{
    const clpi_op_info *info = &clpi_ops[op->kind];
    const clp_val *args = clpi_args(p->ir, op);
    if (!info->text[0]) {
        print_call(p, op);
        return;
    }
    if (info->arity == 2)
        clpi_print_value(p, args[0]);
    clpi_str_add(p->s, info->arity == 2 ? " %s " : "%s", operator_of(info, clpi_type_of(p->ir, args[0])->dtype));
    clpi_print_value(p, args[info->arity - 1]);
}

/* load and atomics: name(place, values..., other, mask) */
static void print_access(clpi_printer *p, const clpi_op *op, uint32_t n_values)
{
    clpi_str_add(p->s, "%s(", clpi_ops[op->kind].name);
    clpi_print_place(p, op);
    for (uint32_t i = 0; i < n_values; i++) {
        clpi_str_puts(p->s, ", ");
        clpi_print_value(p, clpi_op_value(p->ir, op, (int)i));
    }
    if (op->has_mask) {
        clpi_str_puts(p->s, ", mask = ");
        clpi_print_value(p, clpi_op_mask(p->ir, op));
    }
    if (op->has_other) {
        clpi_str_puts(p->s, ", other = ");
        clpi_print_value(p, clpi_op_other(p->ir, op));
    }
    clpi_str_puts(p->s, ")");
}

void clpi_print_op(clpi_printer *p, const clpi_op *op)
{
    const clpi_op_info *info = &clpi_ops[op->kind];
    const clpi_type *type = &p->ir->types.items[op->type];
    if (info->is_elementwise) {
        print_elementwise(p, op);
        return;
    }
    switch (op->kind) {
    case CLP_OP_index: clpi_print_place(p, op); break;
    case CLP_OP_load:
        if (op->has_mask || op->has_other)
            print_access(p, op, 0);
        else
            clpi_print_place(p, op);
        break;
    case CLP_OP_iota:
        clpi_str_puts(p->s, "iota(");
        clpi_shape_print(p->s, type->shape, type->rank);
        clpi_str_add(p->s, ", axis = %" PRIu64 ", dtype = %s)", op->attr, clp_dtype_name(type->dtype));
        break;
    case CLP_OP_program_id:
    case CLP_OP_num_programs: clpi_str_add(p->s, "%s(%s)", info->name, p->ir->axes[op->attr].name); break;
    case CLP_OP_dim: clpi_str_puts(p->s, p->ir->dims[op->attr]); break;
    default:
        if (info->flags & CLP_CALL)
            print_call(p, op);
        else
            print_access(p, op, op->n_args - op->n_subs - op->has_mask);
    }
}

/* ---- Header values ---- */

/* How tight an operator of the header binds, as in the grammar; 0: written as a call. */
static int binds(clpi_op_kind kind)
{
    switch (kind) {
    case CLP_OP_eq: case CLP_OP_ne: case CLP_OP_lt: case CLP_OP_le: case CLP_OP_gt: case CLP_OP_ge: return 1;
    case CLP_OP_or: return 2;
    case CLP_OP_xor: return 3;
    case CLP_OP_and: return 4;
    case CLP_OP_shl: case CLP_OP_shr: return 5;
    case CLP_OP_add: case CLP_OP_sub: return 6;
    case CLP_OP_mul: case CLP_OP_divide: case CLP_OP_mod: return 7;
    case CLP_OP_neg: case CLP_OP_not: return 8;
    default: return 0;
    }
}

static void print_header_at(clpi_printer *p, clp_val v, int level);

static void print_header_list(clpi_printer *p, const char *name, const char *brackets, const clp_val *args, uint32_t n)
{
    clpi_str_add(p->s, "%s%c", name, brackets[0]);
    for (uint32_t i = 0; i < n; i++) {
        clpi_str_puts(p->s, i ? ", " : "");
        print_header_at(p, args[i], 0);
    }
    clpi_str_add(p->s, "%c", brackets[1]);
}

static void print_header_operator(clpi_printer *p, const clpi_op *op, int level)
{
    const clpi_op_info *info = &clpi_ops[op->kind];
    const clp_val *args = clpi_args(p->ir, op);
    int own = binds(op->kind);
    const char *text = operator_of(info, clpi_type_of(p->ir, args[0])->dtype);
    if (own < level)
        clpi_str_puts(p->s, "(");
    if (info->arity == 1) {
        clpi_str_puts(p->s, text);
        print_header_at(p, args[0], own + 1);      /* tighter, so that no `--` and no -literal comes about */
    } else {
        print_header_at(p, args[0], own == 1 ? 2 : own);
        clpi_str_add(p->s, " %s ", text);
        print_header_at(p, args[1], own + 1);
    }
    if (own < level)
        clpi_str_puts(p->s, ")");
}

static void print_header_at(clpi_printer *p, clp_val v, int level)
{
    const clpi_op *op = clpi_op_at(p->ir, v);
    const clp_val *args = clpi_args(p->ir, op);
    clp_val cdiv[2];
    switch (op->kind) {
    case CLP_OP_const: clpi_literal_print(p->s, clpi_type_of(p->ir, v)->dtype, op->attr, false); return;
    case CLP_OP_dim: clpi_str_puts(p->s, p->ir->dims[op->attr]); return;
    case CLP_OP_program_id: clpi_str_puts(p->s, p->ir->axes[op->attr].name); return;
    case CLP_OP_num_programs: clpi_print_op(p, op); return;
    case CLP_OP_minimum: print_header_list(p, "min", "()", args, op->n_args); return;
    case CLP_OP_maximum: print_header_list(p, "max", "()", args, op->n_args); return;
    case CLP_OP_load:
        if (op->n_args)
            print_header_list(p, p->ir->operands[op->operand].name, "[]", args, op->n_args);
        else
            clpi_str_puts(p->s, p->ir->operands[op->operand].name);
        return;
    default:
        if (clpi_is_cdiv(p->ir, op, cdiv))
            print_header_list(p, "cdiv", "()", cdiv, 2);
        else if (binds(op->kind))
            print_header_operator(p, op, level);
        else
            print_header_list(p, clpi_ops[op->kind].name, "()", args, op->n_args);
    }
}

void clpi_print_header(clpi_printer *p, clp_val v)
{
    print_header_at(p, v, 0);
}
