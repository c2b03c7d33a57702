/* work_known: which scalars of a body can be worked out for a program without running it, and their values.
 * In: IR, a bound launch. Out: for each op whether it is one, on which axes it depends, and its value in one program.
 * Known are constants, program ids, sizes, scalar operands, prefetched integers at known places, and what is computed of
 * them. The index of a loop is not, but what is computed of it is still index arithmetic.                               */
#include "plan/counting.h"

static bool is_prefetched(const clpi_counting *c, const clpi_op *op)
{
    const clpi_operand *x = &c->ir->operands[op->operand];
    return x->role == CLP_PREFETCH && clpi_is_int(x->dtype) && !op->has_mask;
}

static clpi_knowledge known_of(const clpi_counting *c, uint32_t id)
{
    const clpi_op *op = &c->ir->ops.items[id];
    const clpi_type *t = &c->ir->types.items[op->type];
    clpi_knowledge k = { .is_known = true, .is_index = true };
    if (t->rank > 0 || t->dtype == CLP_DTYPE_NONE)
        return (clpi_knowledge){ false, false, false, 0 };
    switch (op->kind) {
    case CLP_OP_const:
    case CLP_OP_dim:
    case CLP_OP_num_programs: return k;
    case CLP_OP_program_id: k.axes = UINT32_C(1) << op->attr; return k;
    case CLP_OP_arg: return (clpi_knowledge){ false, c->ir->ops.items[id - 1].kind == CLP_OP_for, false, 0 };      /* its index stands first */
    case CLP_OP_load:
        if (c->ir->operands[op->operand].role == CLP_SCALAR)
            return k;
        if (!is_prefetched(c, op))
            return (clpi_knowledge){ false, false, false, 0 };
        k.reads_data = true;
        break;
    default:
        if (op->kind != CLP_OP_cast && !clpi_ops[op->kind].is_elementwise)
            return (clpi_knowledge){ false, false, false, 0 };
        break;
    }
    for (uint32_t i = 0; i < op->n_args; i++) {
        const clpi_knowledge *a = &c->known[clpi_args(c->ir, op)[i].id];
        k.is_known = k.is_known && a->is_known;
        k.is_index = k.is_index && a->is_index;
        k.reads_data = k.reads_data || a->reads_data;
        k.axes |= a->axes;
    }
    return k;
}

void clpi_known_find(clpi_counting *c)
{
    for (uint32_t id = c->ir->n_header; id < c->ir->ops.n; id++)
        c->known[id] = known_of(c, id);
}

static bool load_value(clpi_counting *c, const clpi_op *op, clpi_elem *out)
{
    const clpi_operand *x = &c->ir->operands[op->operand];
    int64_t index[CLP_MAX_RANK];
    if (x->role == CLP_SCALAR) {
        *out = c->bound->scalar[op->operand];
        return true;
    }
    if (x->has_block)
        return false;      /* its ref begins elsewhere in each program */
    for (uint32_t i = 0; i < op->n_args; i++)
        index[i] = c->values[clpi_args(c->ir, op)[i].id].i;
    return c->prefetch && c->prefetch->read(c->prefetch->user, op->operand, index, &out->i);
}

static bool op_value(clpi_counting *c, const clpi_op *op, const int64_t *program, clpi_elem *out)
{
    const clp_val *args = clpi_args(c->ir, op);
    const clp_dtype dtype = c->ir->types.items[op->type].dtype;
    clpi_elem of[3];
    switch (op->kind) {
    case CLP_OP_const: *out = clpi_elem_from_bits(dtype, op->attr); return true;
    case CLP_OP_dim: out->i = c->bound->dim[op->attr]; return true;
    case CLP_OP_num_programs: out->i = c->bound->axis_size[op->attr]; return true;
    case CLP_OP_program_id: out->i = program[op->attr]; return true;
    case CLP_OP_load: return load_value(c, op, out);
    default: break;
    }
    for (uint32_t i = 0; i < op->n_args; i++)
        of[i] = c->values[args[i].id];
    const clp_dtype of_arg = clpi_type_of(c->ir, args[op->n_args - 1])->dtype;
    *out = op->kind == CLP_OP_cast ? clpi_elem_cast(dtype, of_arg, of[0]) : clpi_scalar_ew(op->kind, of_arg, of);
    return true;
}

/* The ops that v is made of, in order, v last; found when they are first asked for. */
static const clpi_id_list *needs_of(clpi_counting *c, clp_val v)
{
    const clpi_ir *ir = c->ir;
    clpi_id_list *list = &c->needs[v.id];
    if (list->n)
        return list;
    bool *is_needed = CLPI_NEW_N(c->arena, bool, (size_t)v.id + 1);
    if (!is_needed)
        return NULL;
    is_needed[v.id] = true;
    for (uint32_t id = v.id; id >= ir->n_header; id--) {
        const clpi_op *op = &ir->ops.items[id];
        list->n += is_needed[id];
        for (uint32_t i = 0; is_needed[id] && i < op->n_args; i++)
            is_needed[clpi_args(ir, op)[i].id] = true;
    }
    list->ids = CLPI_NEW_N(c->arena, uint32_t, list->n);
    if (!list->ids)
        return NULL;
    uint32_t n = 0;
    for (uint32_t id = ir->n_header; id <= v.id; id++)
        if (is_needed[id])
            list->ids[n++] = id;
    return list;
}

bool clpi_known_value(clpi_counting *c, clp_val v, const int64_t *program, clpi_elem *out)
{
    const clpi_id_list *needs = needs_of(c, v);
    *out = (clpi_elem){ 0 };
    for (uint32_t i = 0; needs && i < needs->n; i++)
        if (!op_value(c, &c->ir->ops.items[needs->ids[i]], program, &c->values[needs->ids[i]]))
            return false;
    if (needs)
        *out = c->values[v.id];
    return needs != NULL;
}
