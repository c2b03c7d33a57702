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
    bool                do_matter;
} question;

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
        if (clpi_ix_is(&a->ix[d], dim) && (a->is_tile ? a->target == q->tile && d == q->dim
                                                 : end_alike(q->x, q->x_dim, &q->p->ir->operands[a->target], d)))
            return true;
    return false;
}

/* Does all stay that the nest makes of what it accesses of the tile? A scan makes the next ones of it too. */
static bool nest_keeps(const question *q, const clpi_nest *n, const clpi_access *a)
{
    const int dim = a->ix[q->dim].dim;
    bool keeps = !clpi_scan_of(n) && clpi_ix_is(&a->ix[q->dim], dim);
    for (uint32_t o = 0; keeps && o < n->outs.n; o++)
        keeps = n->outs.items[o].kind == CLPI_OUT_STORE && stays(q, &n->accesses.items[n->outs.items[o].access], dim);
    return keeps;
}

/* As a whole the tile is a dot's sums, or sorted, or printed. */
static void look(const clpi_program *p, clpi_step *s, const clpi_step *shared, int tile, clpi_access *a, bool writes, void *user)
{
    question *q = user;
    (void)p, (void)shared, (void)writes;
    if (tile == q->tile)
        q->do_matter = q->do_matter || !(s->dot ? !a : a && nest_keeps(q, s->nest, a));
}

/* side: the nest that gives these rows, or columns, as its dimension side_dim. */
static clpi_dot_end find_end(const clpi_program *p, const clpi_dot *d, int dim, const clpi_nest *side, int side_dim)
{
    for (uint32_t i = 0; i < side->accesses.n; i++) {
        const clpi_access *a = &side->accesses.items[i];
        for (int k = 0; !a->is_tile && k < a->rank; k++) {
            question q = { p, d->dest, dim, &p->ir->operands[a->target], k, false };
            if (!clpi_ix_is(&a->ix[k], side_dim) || !end_alike(q.x, k, q.x, k) || !is_fixed(p, q.x, k))
                continue;
            for (int part = 0; part < CLPI_N_PARTS; part++)
                clpi_each_use(p, &p->parts[part], NULL, look, &q);
            if (!q.do_matter)
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
