/* fault: what the fault of one program says, whoever finds it: the interpreter, or a device in a checked launch.
 * In: a bound launch, a program, what was done there. Out: one line, behind the place in the kernel's text where it has one.
 * clpi_window_message (windows.c) is the third of these.                                                                  */
#include "plan/bind.h"

void clpi_program_print(const clpi_ir *ir, const int64_t *program, clpi_str *s)
{
    clpi_str_puts(s, "program (");
    for (int i = 0; i < ir->n_axes; i++)
        clpi_str_add(s, "%s%lld", i ? ", " : "", (long long)program[i]);
    clpi_str_puts(s, ir->n_axes == 1 ? ",)" : ")");
}

void clpi_place_print(const clpi_ir *ir, clpi_pos pos, clpi_str *s)
{
    if (ir->source && ir->source->file && pos.line)
        clpi_str_add(s, "%s:%u:%u: ", ir->source->file, (unsigned)pos.line, (unsigned)pos.column);
}

void clpi_index_message(const clpi_bound *bound, uint32_t op, const int64_t *program, const int64_t *index, clpi_str *s)
{
    const clpi_ir *ir = bound->plan->ir;
    const clpi_op *access = &ir->ops.items[op];
    const clpi_operand *x = &ir->operands[access->operand];
    clpi_place_print(ir, access->pos, s);
    clpi_str_add(s, "%s: ", x->name);
    clpi_program_print(ir, program, s);
    clpi_str_puts(s, ": index (");
    for (uint32_t i = 0; i < access->n_subs; i++)
        clpi_str_add(s, "%s%lld", i ? ", " : "", (long long)index[i]);
    clpi_str_puts(s, access->n_subs == 1 ? ",) lies outside the ref [" : ") lies outside the ref [");
    for (uint32_t i = 0; i < access->n_subs; i++) {
        int64_t size = x->ref_size[i] >= 0 ? x->ref_size[i] : bound->operands[access->operand].size[x->ref_dim[i]];
        clpi_str_add(s, "%s%lld", i ? ", " : "", (long long)size);
    }
    clpi_str_puts(s, "]");
}

void clpi_assert_message(const clpi_bound *bound, uint32_t op, const int64_t *program, clpi_str *s)
{
    const clpi_ir *ir = bound->plan->ir;
    clpi_place_print(ir, ir->ops.items[op].pos, s);
    clpi_program_print(ir, program, s);
    clpi_str_add(s, ": assert failed: %s", ir->strings.items[ir->ops.items[op].attr]);
}
