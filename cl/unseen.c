/* unseen: rows and columns of a dot's sums that nobody looks at.
 *
 * In: a program and a dot of it. Out: the operand whose block tells, where it hangs over an edge, at which row or column the sums end that are
 * stored at all: one that the dot loads, if whatever reads the sums stores what it makes of them, row by row, into blocks that are cut at
 * the same place. The dot need not compute what is behind: it may be anything.                                            */
#include "cl/schedule.h"

/* Do rows, or columns (dimension dim of the tile), matter that are behind the end of dimension x_dim of ref x? */
typedef struct question {
    const clpi_program *p;
    int                 tile, dim;
    const clpi_operand *x;
    int                 x_dim;
} question;

static bool is_at(const clpi_ix *ix, int dim)
{
    return dim >= 0 && ix->dim == dim && ix->mul == 1 && ix->add == 0 && ix->node < 0;
}

/* Are both blocks cut at the same place, in every program? */
static bool end_alike(const clpi_operand *x, int x_dim, const clpi_operand *z, int z_dim)
{
    if (!x->has_block || !z->has_block)
        return false;
    const int dx = x->ref_dim[x_dim], dz = z->ref_dim[z_dim];
    const clpi_block_dim *a = &x->block[dx], *b = &z->block[dz];
    return a->kind == CLPI_BLOCK_PLAIN && b->kind == CLPI_BLOCK_PLAIN && a->n == b->n && a->index.id == b->index.id &&
           x->shape[dx].id == z->shape[dz].id;
}

/* Is the block in the same place in all programs of a sequence, which the sums may outlive? */
static bool is_fixed(const clpi_program *p, const clpi_operand *x, int x_dim)
{
    for (int axis = 0; axis < p->ir->n_axes; axis++)
        if (p->ir->axes[axis].is_arbitrary && p->plan->axes_read[x->block[x->ref_dim[x_dim]].index.id] >> axis & 1)
            return false;
    return true;
}

/* Does what the nest makes of coordinate dim of the tile go to the same coordinate of the tile again, or of something that ends where x does? */
static bool stays(const question *q, const clpi_access *a, int dim)
{
    for (int d = 0; d < a->rank; d++)
        if (is_at(&a->ix[d], dim) && (a->is_tile ? a->target == q->tile && d == q->dim
                                                 : end_alike(q->x, q->x_dim, &q->p->ir->operands[a->target], d)))
            return true;
    return false;
}

static bool nest_stays(const question *q, const clpi_nest *n)
{
    if (!clpi_touches_tile(n, q->tile))
        return true;
    for (uint32_t i = 0; i < n->nodes.n; i++)
        if (n->nodes.items[i].kind == CLPI_NODE_SCAN)
            return false;
    for (uint32_t i = 0; i < n->accesses.n; i++) {
        const clpi_access *a = &n->accesses.items[i];
        if (!a->is_tile || a->target != q->tile)
            continue;
        for (uint32_t o = 0; o < n->outs.n; o++)
            if (n->outs.items[o].kind != CLPI_OUT_STORE || !is_at(&a->ix[q->dim], a->ix[q->dim].dim) ||
                !stays(q, &n->accesses.items[n->outs.items[o].access], a->ix[q->dim].dim))
                return false;
    }
    return true;
}

static bool steps_stay(const question *q, const clpi_steps *steps)
{
    for (uint32_t i = 0; i < steps->n; i++) {
        const clpi_step *s = steps->items[i];
        if (s->nest && !nest_stays(q, s->nest))
            return false;
        if (s->dot && (clpi_touches_tile(s->dot->a, q->tile) || clpi_touches_tile(s->dot->b, q->tile)))
            return false;
        if (s->kind == CLPI_STEP_SORT && (s->tile == q->tile || s->tile2 == q->tile))
            return false;
        for (int k = 0; k < s->n_args; k++)
            if (s->args[k] == q->tile)
                return false;
        if (!steps_stay(q, &s->body) || !steps_stay(q, &s->other))
            return false;
    }
    return true;
}

/* side: the nest that gives these rows, or columns, as its dimension side_dim. */
static clpi_dot_end find_end(const clpi_program *p, const clpi_dot *d, int dim, const clpi_nest *side, int side_dim)
{
    for (uint32_t i = 0; i < side->accesses.n; i++) {
        const clpi_access *a = &side->accesses.items[i];
        for (int k = 0; !a->is_tile && k < a->rank; k++) {
            const question q = { p, d->dest, dim, &p->ir->operands[a->target], k };
            bool is_end = is_at(&a->ix[k], side_dim) && end_alike(q.x, k, q.x, k) && is_fixed(p, q.x, k);
            for (int part = 0; is_end && part < CLPI_N_PARTS; part++)
                is_end = steps_stay(&q, &p->parts[part]);
            if (is_end)
                return (clpi_dot_end){ a->target, k };
        }
    }
    return (clpi_dot_end){ -1, 0 };
}

void clpi_find_dot_ends(const clpi_program *p, const clpi_dot *d, clpi_dot_end *out_rows, clpi_dot_end *out_columns)
{
    *out_rows = *out_columns = (clpi_dot_end){ -1, 0 };
    if (p->is_checked || p->tiles.items[d->dest].is_reshaped)      /* checked code reports what it finds there */
        return;
    *out_rows = find_end(p, d, d->n_batch, d->a, d->a->rank - 2);
    *out_columns = find_end(p, d, d->n_batch + 1, d->b, d->b->rank - 1);
}
