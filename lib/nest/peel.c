/* peel: the first and the last step of the innermost arbitrary axis, taken out of its loop.
 *
 * In: the steps of a program in one part. Out: a branch on "k is the first" at their head, and one on "k is the last"
 * at their end, moved to parts of their own, which run once, before and behind the loop over k. The scalars that stand
 * before the first branch are computed there too; the last finds every value as the loop's last round left it. Worth it
 * for the loop, which loses its branches and the blocks that only they see. A box never cuts an arbitrary axis, so
 * first and last are the ends of the loop. */
#include "nest/nest.h"

static bool is_leaf_of(const clpi_ir *ir, clp_val v, clpi_op_kind kind, int axis)
{
    const clpi_op *op = clpi_op_at(ir, v);
    return op->kind == kind && op->attr == (uint64_t)axis;
}

static bool is_int(const clpi_ir *ir, clp_val v, int64_t value)
{
    int64_t c;
    return clpi_const_int(ir, v, &c) && c == value;
}

/* num_programs(axis) - 1 */
static bool is_last_id(const clpi_ir *ir, clp_val v, int axis)
{
    const clpi_op *op = clpi_op_at(ir, v);
    const clp_val *args = clpi_args(ir, op);
    if (op->kind == CLP_OP_sub)
        return is_leaf_of(ir, args[0], CLP_OP_num_programs, axis) && is_int(ir, args[1], 1);
    return op->kind == CLP_OP_add && ((is_leaf_of(ir, args[0], CLP_OP_num_programs, axis) && is_int(ir, args[1], -1)) ||
                                      (is_leaf_of(ir, args[1], CLP_OP_num_programs, axis) && is_int(ir, args[0], -1)));
}

/* Is the step a branch without else and outcomes whose condition is that the axis is at its first (last) program? */
static bool is_end_branch(const clpi_program *p, const clpi_step *s, int axis, bool last)
{
    const clpi_ir *ir = p->ir;
    if (s->kind != CLPI_STEP_BRANCH || s->other.n > 0 || ir->ops.items[s->op].n_args != 1)
        return false;
    const clpi_op *condition = clpi_op_at(ir, clpi_args(ir, &ir->ops.items[s->op])[0]);
    if (condition->kind != CLP_OP_eq)
        return false;
    for (int i = 0; i < 2; i++) {
        clp_val id = clpi_args(ir, condition)[i], end = clpi_args(ir, condition)[1 - i];
        if (is_leaf_of(ir, id, CLP_OP_program_id, axis) && (last ? is_last_id(ir, end, axis) : is_int(ir, end, 0)))
            return true;
    }
    return false;
}

/* A scalar computed from scalars alone, none of which outlives its program: computing it twice does no harm. */
static bool is_pure_scalar(const clpi_program *p, const clpi_step *s)
{
    if (s->kind != CLPI_STEP_NEST || s->nest->rank != 0)
        return false;
    for (uint32_t i = 0; i < s->nest->accesses.n; i++) {
        const clpi_access *a = &s->nest->accesses.items[i];
        if (!a->is_tile || a->rank != 0 || p->tiles.items[a->target].operand >= 0)
            return false;
    }
    return true;
}

static void copy_into(clpi_program *p, clpi_steps *into, clpi_step *const *steps, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        clpi_step *copy = CLPI_NEW(p->arena, clpi_step);
        if (!copy)
            return;
        *copy = *steps[i];
        if (!CLPI_PUSH(p->arena, into, copy))
            return;
    }
}

void clpi_peel(clpi_program *p)
{
    clpi_steps *every = &p->parts[CLPI_PART_EVERY];
    if (p->plan->n_arbitrary == 0)
        return;
    int axis = p->plan->arbitrary[p->plan->n_arbitrary - 1];
    uint32_t head = 0;
    while (head < every->n && is_pure_scalar(p, every->items[head]))
        head++;
    if (every->n > 0 && is_end_branch(p, every->items[every->n - 1], axis, true)) {
        clpi_step *branch = every->items[--every->n];
        copy_into(p, &p->parts[CLPI_PART_LAST], branch->body.items, branch->body.n);
    }
    if (head < every->n && is_end_branch(p, every->items[head], axis, false)) {
        clpi_step *branch = every->items[head];
        copy_into(p, &p->parts[CLPI_PART_FIRST], every->items, head);
        copy_into(p, &p->parts[CLPI_PART_FIRST], branch->body.items, branch->body.n);
        for (uint32_t i = head; i + 1 < every->n; i++)
            every->items[i] = every->items[i + 1];
        every->n--;
    }
}
