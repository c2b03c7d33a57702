/* header: the values of the header in numbers.
 * In: a bound launch, and for values that differ from program to program a program and a reader of prefetched data. Out:
 * the value, in 64 bits, with the meaning that the op table gives every operation: nothing traps.
 * What is known at launch is worked out once; the rest in each program, from first_op on, in order.                     */
#include <assert.h>

#include "plan/bind.h"

/* One operation on held elements; args in order. */
static clpi_elem op_value(const clpi_ir *ir, const clpi_op *op, const clpi_elem *args)
{
    clp_dtype dtype = ir->types.items[op->type].dtype;
    if (op->kind == CLP_OP_const)
        return clpi_elem_from_bits(dtype, op->attr);
    assert(op->n_args > 0);
    clp_dtype of_arg = clpi_type_of(ir, clpi_args(ir, op)[op->n_args - 1])->dtype; /* the last: `where` chooses among those */
    if (op->kind == CLP_OP_cast)
        return clpi_elem_cast(dtype, of_arg, args[0]);
    assert(clpi_ops[op->kind].is_elementwise && op->n_args <= 3);
    return clpi_scalar_ew(op->kind, of_arg, args);
}

/* As a 64-bit number: bools as 0 and 1. */
static int64_t as_number(const clpi_ir *ir, const clpi_op *op, clpi_elem e)
{
    return ir->types.items[op->type].dtype == CLP_BOOL ? e.u != 0 : e.i;
}

static int64_t value_at_launch(const clpi_bound *bound, const clpi_op *op)
{
    const clpi_ir *ir = bound->plan->ir;
    switch (op->kind) {
    case CLP_OP_dim: return bound->dim[op->attr];
    case CLP_OP_num_programs: return bound->axis_size[op->attr];
    case CLP_OP_load:
        if (ir->operands[op->operand].dtype == CLP_BOOL)
            return bound->scalar[op->operand].u != 0;
        return bound->scalar[op->operand].i;
    default: break;
    }
    clpi_elem args[3] = { { 0 }, { 0 }, { 0 } };
    for (uint32_t i = 0; i < op->n_args; i++)
        args[i].i = bound->header[clpi_args(ir, op)[i].id];
    return as_number(ir, op, op_value(ir, op, args));
}

void clpi_header_at_launch(clpi_bound *bound)
{
    const clpi_plan *plan = bound->plan;
    for (uint32_t id = 1; id < plan->ir->n_header; id++)
        if (plan->when[id] <= CLPI_WHEN_LAUNCH)
            bound->header[id] = value_at_launch(bound, &plan->ir->ops.items[id]);
}

/* The values of one program's evaluation, by slot from the first that is needed. */
typedef struct scratch {
    const clpi_bound    *bound;
    const int64_t       *program;
    const clpi_prefetch *prefetch;
    uint32_t             first_slot;
    int64_t              value[CLPI_MAX_MAP_OPS];
    bool                 is_known[CLPI_MAX_MAP_OPS];     /* false: it needs a prefetched element that does not exist */
} scratch;

static bool get(const scratch *s, clp_val v, int64_t *out)
{
    const clpi_plan *plan = s->bound->plan;
    const clpi_op *op = clpi_op_at(plan->ir, v);
    if (plan->when[v.id] <= CLPI_WHEN_LAUNCH) {
        *out = s->bound->header[v.id];
        return true;
    }
    if (op->kind == CLP_OP_program_id) {
        *out = s->program[op->attr];
        return true;
    }
    *out = s->value[plan->slot[v.id] - s->first_slot];
    return s->is_known[plan->slot[v.id] - s->first_slot];
}

static bool value_in_program(const scratch *s, const clpi_op *op, int64_t *out)
{
    const clpi_ir *ir = s->bound->plan->ir;
    if (op->kind == CLP_OP_load) {
        int64_t index[CLP_MAX_RANK];
        assert(op->n_args <= CLP_MAX_RANK);
        for (uint32_t i = 0; i < op->n_args; i++)
            if (!get(s, clpi_args(ir, op)[i], &index[i]))
                return false;
        return s->prefetch && s->prefetch->read(s->prefetch->user, op->operand, index, out);
    }
    clpi_elem args[3] = { { 0 }, { 0 }, { 0 } };
    for (uint32_t i = 0; i < op->n_args; i++)
        if (!get(s, clpi_args(ir, op)[i], &args[i].i))
            return false;
    *out = as_number(ir, op, op_value(ir, op, args));
    return true;
}

bool clpi_header_eval(const clpi_bound *bound, clp_val v, const int64_t *program, const clpi_prefetch *prefetch,
                      int64_t *out_value)
{
    const clpi_plan *plan = bound->plan;
    const clpi_op *ops = plan->ir->ops.items;
    scratch s;
    s.bound = bound;
    s.program = program;
    s.prefetch = prefetch;
    *out_value = 0;
    if (plan->when[v.id] <= CLPI_WHEN_LAUNCH || ops[v.id].kind == CLP_OP_program_id)
        return get(&s, v, out_value);
    uint32_t first = plan->first_op[v.id];
    s.first_slot = plan->slot[first];
    assert(plan->slot[v.id] - s.first_slot < CLPI_MAX_MAP_OPS);
    for (uint32_t id = first; id <= v.id; id++) {
        if (plan->when[id] <= CLPI_WHEN_LAUNCH || ops[id].kind == CLP_OP_program_id)
            continue;
        uint32_t at = plan->slot[id] - s.first_slot;
        s.value[at] = 0;
        s.is_known[at] = false;
        /* An op in between that v does not need may need ops before first_op: its value is not to be had, nor asked for. */
        if (plan->first_op[id] >= first)
            s.is_known[at] = value_in_program(&s, &ops[id], &s.value[at]);
    }
    return get(&s, v, out_value);
}
