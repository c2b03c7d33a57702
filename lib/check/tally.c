/* tally: what the parts of a check count with.
 * In: things found, one by one. Out: one finding for all that one op does, with its first program and the box of its
 * elements. Decides nothing of what is a fault.                                                                         */
#include <inttypes.h>
#include <string.h>

#include "check/tally.h"
#include "ir/format.h"

/* ---- Findings ---- */

void clpi_tally_init(clpi_tally *t, clpi_check *check)
{
    *t = (clpi_tally){ .check = check, .arena = &check->snapshot.arena };
}

void clpi_tally_enter(clpi_tally *t, const int64_t *program)
{
    t->has_entered = true;
    memcpy(t->program, program, (size_t)t->check->ir->n_axes * sizeof *program);
}

void clpi_found_init(clpi_found *found, clp_finding_kind kind, int operand)
{
    *found = (clpi_found){ .kind = kind, .operand = operand };
}

void clpi_found_element(clpi_found *found, const int64_t *element, int rank)
{
    bool is_before = false;
    for (int d = rank - 1; d >= 0; d--)
        is_before = element[d] != found->element[d] ? element[d] < found->element[d] : is_before;
    if (found->n_elements == 0 || is_before)
        memcpy(found->element, element, (size_t)rank * sizeof *element);
    for (int d = 0; d < rank; d++) {
        bool is_new = found->n_elements == 0;
        if (is_new || element[d] < found->start[d])
            found->start[d] = element[d];
        if (is_new || element[d] >= found->end[d])
            found->end[d] = element[d] + 1;
    }
    found->n_elements++;
}

clpi_found *clpi_tally_find(clpi_tally *t, clp_finding_kind kind, uint32_t op, int operand, bool *out_is_new)
{
    *out_is_new = false;
    for (uint32_t i = 0; i < t->found.n; i++) {
        clpi_found *f = &t->found.items[i];
        if (f->kind == kind && f->op[0] == op && f->operand == operand)
            return f;
    }
    clpi_found found;
    clpi_found_init(&found, kind, operand);
    found.n_programs = t->has_entered;
    found.op[0] = op;
    memcpy(found.program[0], t->program, (size_t)t->check->ir->n_axes * sizeof *t->program);
    if (!CLPI_PUSH(t->arena, &t->found, found)) {
        t->failed = true;
        return NULL;
    }
    *out_is_new = true;
    return &t->found.items[t->found.n - 1];
}

void clpi_tally_place(const clpi_tally *t, const clpi_found *found, clpi_str *s)
{
    const clpi_ir *ir = t->check->ir;
    clpi_pos pos = ir->ops.items[found->op[0]].pos;
    if (ir->source && ir->source->file && pos.line)
        clpi_str_add(s, "%s:%u:%u: ", ir->source->file, (unsigned)pos.line, (unsigned)pos.column);
    if (found->n_programs)
        clpi_program_print(ir, found->program[0], s);
    clpi_str_add(s, "%s%s: ", found->n_programs ? ": " : "", clp_finding_name(found->kind));
}

void clpi_tally_say(clpi_tally *t, clpi_found *found, clpi_str *s)
{
    found->message = clpi_str_keep(s, clpi_report_arena(t->check->report));
    t->failed |= !found->message;
}

clp_status clpi_tally_report(clpi_tally *t)
{
    for (uint32_t i = 0; i < t->found.n; i++)
        CLP_TRY(clpi_report_add(t->check->report, &t->found.items[i]));
    return t->failed ? CLP_ERR_OOM : CLP_OK;
}

/* ---- Elements ---- */

void clpi_elements_init(clpi_elements *e, const clpi_check *check, int operand)
{
    const clpi_bound_operand *array = &check->snapshot.bound->operands[operand];
    *e = (clpi_elements){ .array = array, .rank = check->ir->operands[operand].rank, .at = array->offset, .is_first = true };
}

bool clpi_elements_next(clpi_elements *e)
{
    if (e->is_first) {
        e->is_first = false;
        for (int d = 0; d < e->rank; d++)
            if (e->array->size[d] == 0)
                return false;
        return true;
    }
    e->number++;
    for (int d = e->rank - 1; d >= 0; d--) {
        e->at += e->array->stride[d];
        if (++e->index[d] < e->array->size[d])
            return true;
        e->at -= e->array->stride[d] * e->array->size[d];
        e->index[d] = 0;
    }
    return false;
}

uint64_t clpi_elements_n(const clpi_check *check, int operand)
{
    uint64_t n = 1;
    for (int d = 0; d < check->ir->operands[operand].rank; d++)
        n *= (uint64_t)check->snapshot.bound->operands[operand].size[d];
    return n;
}

uint64_t clpi_element_number(const clpi_check *check, int operand, const int64_t *element)
{
    uint64_t number = 0;
    for (int d = 0; d < check->ir->operands[operand].rank; d++)
        number = number * (uint64_t)check->snapshot.bound->operands[operand].size[d] + (uint64_t)element[d];
    return number;
}

double clpi_number_of(clp_dtype dtype, uint64_t bits)
{
    clpi_elem e = clpi_elem_from_bits(dtype, bits);
    return clpi_is_float(dtype) ? (dtype == CLP_F64 ? e.d : (double)e.f) : clpi_is_signed(dtype) ? (double)e.i : (double)e.u;
}

double clpi_held_number(clp_dtype dtype, const void *elems, int64_t i)
{
    return dtype == CLP_F64 ? ((const double *)elems)[i] : (double)((const float *)elems)[i];
}

void clpi_number_print(clpi_str *s, clp_dtype dtype, uint64_t bits)
{
    clpi_format_elem(dtype, clpi_elem_from_bits(dtype, bits), s);
}

void clpi_element_print(clpi_str *s, const int64_t *element, int rank)
{
    clpi_str_puts(s, "[");
    for (int d = 0; d < rank; d++)
        clpi_str_add(s, "%s%" PRId64, d ? ", " : "", element[d]);
    clpi_str_puts(s, "]");
}

void clpi_lanes_init(clpi_lanes *l, const clpi_type *type, uint64_t axes)
{
    int64_t below = 1;
    *l = (clpi_lanes){ .type = type };
    for (int d = type->rank - 1; d >= 0; d--)
        if (!(axes >> d & 1)) {
            l->step[d] = below;
            below *= type->shape[d];
        }
}

void clpi_lanes_next(clpi_lanes *l)
{
    for (int d = l->type->rank - 1; d >= 0; d--) {
        l->lane += l->step[d];
        if (++l->index[d] < l->type->shape[d])
            return;
        l->lane -= l->step[d] * l->type->shape[d];
        l->index[d] = 0;
    }
}

const char *clpi_op_words(clpi_op_kind kind)
{
    return *clpi_ops[kind].text ? clpi_ops[kind].text : clpi_ops[kind].name;
}

bool clpi_is_result(const clpi_check *check, int operand)
{
    clp_role role = check->ir->operands[operand].role;
    return (role == CLP_OUT || role == CLP_INOUT) && check->plan->is_written[operand];
}
