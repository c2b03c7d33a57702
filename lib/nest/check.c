/* check: what a checked program looks at: the index of every access, the condition of every assert.
 *
 * In: an op, where it stands. Out: a step of its own in front of what the op becomes, whatever is fused, moved or dropped
 * later: the checks of a program stand in the order of its ops, as the interpreter goes through them. Decides which
 * accesses can leave their ref, and over which of their dimensions that can differ: none of the others is in the domain.  */
#include "nest/nest.h"

bool clpi_needs_check(const clpi_ir *ir, const clpi_op *op)
{
    if (op->kind == CLP_OP_assert)
        return true;
    if (!(clpi_ops[op->kind].flags & (CLP_READ | CLP_WRITE)) || ir->operands[op->operand].role == CLP_SCALAR)
        return false;
    int64_t shape[CLP_MAX_RANK];
    for (int d = clpi_place_rank(ir, op, shape) - 1; d >= 0; d--)
        if (shape[d] == 0)
            return false;
    for (uint32_t d = 0; d < op->n_subs; d++)
        if (clpi_sub_may_leave(ir, op, d))
            return true;
    return false;
}

/* The domain of an access's check, and in ix the coordinates of what is addressed from it: 0 along dimensions that all have
 * the same to tell. */
static void set_domain(const clpi_ir *ir, const clpi_op *op, clpi_nest *n, clpi_ix *ix)
{
    int64_t shape[CLP_MAX_RANK];
    bool is_needed[CLP_MAX_RANK] = { false }, seen_tile = false, is_masked = clpi_op_mask(ir, op).id != 0;
    int rank = clpi_place_rank(ir, op, shape), r = 0;
    for (uint32_t d = 0; d < op->n_subs; d++) {
        const clpi_sub *s = clpi_subs(ir, op) + d;
        int n_dims = s->kind == CLPI_SUB_RANGE                ? 1
                     : s->kind == CLPI_SUB_TILE && !seen_tile ? clpi_type_of(ir, clpi_args(ir, op)[d])->rank
                                                              : 0;
        seen_tile = seen_tile || s->kind == CLPI_SUB_TILE;
        for (int k = 0; k < n_dims; k++)
            is_needed[r++] = is_masked || clpi_sub_may_leave(ir, op, d);
    }
    n->rank = 0;
    for (int d = 0; d < rank; d++) {
        ix[d] = (clpi_ix){ .dim = is_needed[d] ? n->rank : -1, .mul = 1, .node = -1 };
        if (is_needed[d])
            n->extent[n->rank++] = shape[d];
    }
}

void clpi_check_fill(clpi_lower *l, clpi_step *step)
{
    const clpi_ir *ir = l->p->ir;
    const clpi_op *op = &ir->ops.items[step->op];
    clpi_ix ix[CLP_MAX_RANK];
    l->seen.n = 0;
    if (op->kind == CLP_OP_assert) {
        step->check->place = (clpi_access){ .target = -1, .mask = -1, .other = -1 };
        step->check->condition = clpi_node_of(l, step->nest, clpi_args(ir, op)[0], NULL);
        return;
    }
    set_domain(ir, op, step->nest, ix);
    step->check->place = clpi_place_of(l, step->nest, op, ix);
    for (uint32_t d = 0; d < op->n_subs; d++) {
        int64_t c;
        if (clpi_const_int(ir, clpi_args(ir, op)[d], &c))
            step->check->more[d] = (int64_t)((uint64_t)c - (uint64_t)clpi_near(c));
    }
    step->check->condition = -1;
}
