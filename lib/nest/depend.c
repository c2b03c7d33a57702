/* depend: the one place that says whether two accesses of a program may meet.
 *
 * In: two accesses, as IR ops or as accesses of nests. Out: apart, at the same point only, or anyhow. Decides nothing
 * else; whoever moves a load or merges nests asks here. When in doubt the answer is OVERLAP.
 * Distinct storages never meet: a launch refuses arrays that overlap without `alias`.                                   */
#include "nest/nest.h"

/* ---- As ops ---- */

static bool same_block(const clpi_operand *x, const clpi_operand *y)
{
    if (x->rank != y->rank || x->has_block != y->has_block)
        return false;
    for (int d = 0; x->has_block && d < x->rank; d++) {
        const clpi_block_dim *p = &x->block[d], *q = &y->block[d];
        if (p->kind != q->kind || p->n != q->n || p->pad_lo != q->pad_lo || p->index.id != q->index.id)
            return false;
    }
    return true;
}

/* [lo, hi) of a dimension's elements, when its start is a constant. */
static bool sub_span(const clpi_ir *ir, const clpi_sub *sub, clp_val start, int64_t *lo, int64_t *hi)
{
    if (sub->kind == CLPI_SUB_TILE || !clpi_const_int(ir, start, lo))
        return false;
    const int64_t reach = sub->kind == CLPI_SUB_AT || sub->size == 0 ? 0 : (sub->size - 1) * sub->stride;
    *hi = *lo + (reach > 0 ? reach : 0) + 1;
    *lo += reach < 0 ? reach : 0;
    return true;
}

clpi_depend clpi_depend_ops(const clpi_ir *ir, const clpi_plan *plan, const clpi_op *a, const clpi_op *b)
{
    if (plan->storage[a->operand] != plan->storage[b->operand])
        return CLPI_APART;
    if (a->operand != b->operand && !same_block(&ir->operands[a->operand], &ir->operands[b->operand]))
        return CLPI_OVERLAP;
    bool same = true;
    for (uint32_t d = 0; d < a->n_subs; d++) {
        const clpi_sub *sa = clpi_subs(ir, a) + d, *sb = clpi_subs(ir, b) + d;
        const clp_val va = clpi_args(ir, a)[d], vb = clpi_args(ir, b)[d];
        int64_t alo, ahi, blo, bhi;
        if (sub_span(ir, sa, va, &alo, &ahi) && sub_span(ir, sb, vb, &blo, &bhi) && (ahi <= blo || bhi <= alo))
            return CLPI_APART;
        same = same && sa->kind == sb->kind && sa->kind != CLPI_SUB_TILE && va.id == vb.id && sa->size == sb->size &&
               sa->stride == sb->stride;
    }
    return same ? CLPI_SAME_POINT : CLPI_OVERLAP;
}

/* ---- As accesses of nests ---- */

static bool same_ix(const clpi_ix *x, const clpi_ix *y)
{
    return x->dim == y->dim && x->node < 0 && y->node < 0 && x->add == y->add && (x->dim < 0 || x->mul == y->mul);
}

/* Values that the coordinate takes over the nest's domain, when no node adds to it. */
static bool ix_span(const clpi_nest *n, const clpi_ix *ix, int64_t *lo, int64_t *hi)
{
    if (ix->node >= 0)
        return false;
    int64_t reach = ix->dim < 0 || n->extent[ix->dim] == 0 ? 0 : ix->mul * (n->extent[ix->dim] - 1);
    *lo = ix->add + (reach < 0 ? reach : 0);
    *hi = ix->add + (reach > 0 ? reach : 0) + 1;
    return true;
}

static bool same_view(const clpi_access *a, const clpi_access *b)
{
    if (a->rank != b->rank)
        return false;
    for (int d = 0; a->is_tile && d < a->rank; d++)
        if (a->size[d] != b->size[d])
            return false;
    return true;
}

static bool same_thing(const clpi_program *p, const clpi_access *a, const clpi_access *b)
{
    if (a->is_tile != b->is_tile)
        return false;
    return a->is_tile ? a->target == b->target : p->plan->storage[a->target] == p->plan->storage[b->target];
}

clpi_depend clpi_depend_accesses(const clpi_program *p, const clpi_nest *na, const clpi_access *a, const clpi_nest *nb,
                                 const clpi_access *b)
{
    if (!same_thing(p, a, b))
        return CLPI_APART;
    const clpi_operand *operands = p->ir->operands;
    if (!same_view(a, b) ||
        (!a->is_tile && a->target != b->target && !same_block(&operands[a->target], &operands[b->target])))
        return CLPI_OVERLAP;
    bool same = true;
    for (int d = 0; d < a->rank; d++) {
        int64_t alo, ahi, blo, bhi;
        if (ix_span(na, &a->ix[d], &alo, &ahi) && ix_span(nb, &b->ix[d], &blo, &bhi) && (ahi <= blo || bhi <= alo))
            return CLPI_APART;
        same = same && same_ix(&a->ix[d], &b->ix[d]);
    }
    return same ? CLPI_SAME_POINT : CLPI_OVERLAP;
}

bool clpi_loads_from(const clpi_program *p, const clpi_nest *n, const clpi_access *of)
{
    for (uint32_t i = 0; i < n->nodes.n; i++)
        if (n->nodes.items[i].kind == CLPI_NODE_LOAD && same_thing(p, &n->accesses.items[n->nodes.items[i].access], of))
            return true;
    return false;
}

bool clpi_row_aligned(const clpi_access *a, const clpi_access *b)
{
    if (!same_view(a, b) || (!a->is_tile && a->target != b->target))
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->ix[d].dim == 0 && a->ix[d].mul != 0 && same_ix(&a->ix[d], &b->ix[d]))
            return true;
    return false;
}
