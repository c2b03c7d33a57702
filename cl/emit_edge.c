/* emit_edge: which vectors of a cut block may be handled as those of a full one, and where the products of a dot end.
 *
 * In: a nest, printed for any block, at its loop over vectors. Out: the condition under which all that its accesses touch from one
 * point of that loop on exists, and neighbours lie side by side: where it holds, the text for full blocks will do. Blocks that
 * hang over an edge have few vectors where it does not.
 *
 * Accesses that differ in a constant only, as those of a stencil do, share a comparison: the farthest decides.               */
#include "cl/emit.h"

/* Accesses to one dimension of one operand that run along the same domain dimension; constants from least to most are added. */
typedef struct reach {
    int     operand, ref_dim, dim;
    int64_t mul, least, most;
} reach;

typedef struct reaches { reach *items; uint32_t n, cap; } reaches;

static void add_reach(clpi_emit *e, reaches *all, int operand, int ref_dim, const clpi_ix *ix)
{
    for (uint32_t i = 0; i < all->n; i++) {
        reach *r = &all->items[i];
        if (r->operand != operand || r->ref_dim != ref_dim || r->dim != ix->dim || r->mul != ix->mul)
            continue;
        r->least = ix->add < r->least ? ix->add : r->least;
        r->most = ix->add > r->most ? ix->add : r->most;
        return;
    }
    (void)CLPI_PUSH(e->arena, all, (reach){ operand, ref_dim, ix->dim, ix->mul, ix->add, ix->add });
}

/* Does what the access touches follow from the domain alone? What is looked at in any case (checked) need not. */
static bool add_access(clpi_emit *e, reaches *all, const clpi_access *a)
{
    for (int d = 0; d < a->rank; d++) {
        if (a->checked >> d & 1)
            continue;
        if (a->ix[d].node >= 0)
            return false;
        add_reach(e, all, a->target, d, &a->ix[d]);
    }
    return true;
}

static bool is_inner(const clpi_emit *e, int at, int dim)
{
    for (int i = at + 1; i < e->map->n_order; i++)
        if (e->map->order[i] == dim)
            return true;
    return false;
}

/* Is the loop over the vectors inside one over squares of dimension dim? */
static bool is_in_squares(const clpi_emit *e, int dim)
{
    return e->map->turn_columns && dim == e->map->turn_dim;
}

/* text * mul + add */
static const char *scaled_text(clpi_emit *e, const char *text, int64_t mul, int64_t add)
{
    if (mul != 1)
        text = clpi_text(e, "%s * %lld", text, (long long)mul);
    return add == 0 ? text : clpi_text(e, "%s %c %lld", text, add < 0 ? '-' : '+', (long long)(add < 0 ? -add : add));
}

/* The first, or last, coordinate that is reached by n points of the loop at `at`, and all points of those inside it. */
static const char *end_text(clpi_emit *e, const reach *r, int at, int64_t n, bool is_last)
{
    clpi_ix ix = { .dim = r->dim, .mul = r->mul, .add = is_last ? r->most : r->least, .node = -1 };
    if (r->dim < 0)
        return clpi_ix_text(e, &ix);
    const bool inner = is_inner(e, at, r->dim), in_square = inner && is_in_squares(e, r->dim);
    const int64_t points = in_square ? e->columns : inner ? e->nest->extent[r->dim] : r->dim == e->map->order[at] ? n : 1;
    if (is_last == (r->mul > 0))
        ix.add += r->mul * (points - 1);
    if (in_square)
        return scaled_text(e, clpi_text(e, "b%d", r->dim), r->mul, ix.add);
    if (inner)
        ix.dim = -1;
    return clpi_ix_text(e, &ix);
}

/* What no vector changes, apart from the comparisons: strides, and squeezed dimensions. */
static const char *operand_text(clpi_emit *e, const char *text, const clpi_access *a)
{
    const clpi_operand *x = &e->ir->operands[a->target];
    for (uint32_t i = 0; &e->nest->accesses.items[i] < a; i++)
        if (!e->nest->accesses.items[i].is_tile && e->nest->accesses.items[i].target == a->target)
            return text;
    if (clpi_has_squeezed(x))
        text = clpi_and_text(e, text, clpi_text(e, "%s_in", x->name));
    if (a->rank > 0 && x->ref_dim[a->rank - 1] == x->rank - 1)
        text = clpi_and_text(e, text, clpi_text(e, "%s_s%d == 1", x->name, a->rank - 1));
    return text;
}

/* All reaches of the nest, and in *steady what no vector changes. false: it does not follow from the domain. */
static bool find_reaches(clpi_emit *e, reaches *all, const char **steady)
{
    for (uint32_t i = 0; i < e->nest->accesses.n; i++) {
        const clpi_access *a = &e->nest->accesses.items[i];
        if (a->is_tile)
            continue;
        if (!add_access(e, all, a))
            return false;
        *steady = operand_text(e, *steady, a);
    }
    return true;
}

/* text, and that the reach ends inside, from its first coordinate to its last. */
static const char *and_inside(clpi_emit *e, const char *text, const reach *r, const char *first, const char *last)
{
    const clpi_operand *x = &e->ir->operands[r->operand];
    if (clpi_has_low_edge(x, r->ref_dim))
        text = clpi_and_text(e, text, clpi_text(e, "%s_lo%d <= %s", x->name, r->ref_dim, first));
    return clpi_and_text(e, text, clpi_text(e, "%s < %s_hi%d", last, x->name, r->ref_dim));
}

const char *clpi_emit_whole(clpi_emit *e, int at, int64_t n)
{
    reaches all = { 0 };
    const int dim = e->map->order[at];
    const char *steady = NULL, *moving = NULL;
    if (e->is_fast || clpi_is_simt(e) || !find_reaches(e, &all, &steady))
        return NULL;
    for (uint32_t i = 0; i < all.n; i++) {
        const reach *r = &all.items[i];
        const char **text = r->dim == dim ? &moving : &steady;
        *text = and_inside(e, *text, r, end_text(e, r, at, n, false), end_text(e, r, at, n, true));
    }
    if (!moving || !steady)
        return moving;
    clpi_line(e, "const int whole%d = %s;", dim, steady);
    return clpi_text(e, "whole%d && %s", dim, moving);
}

/* The first, or last, coordinate that a panel of y reaches: k from 0 to k_end, and n columns from panel * n on. */
static const char *panel_end_text(clpi_emit *e, const reach *r, int64_t n, bool is_last)
{
    const int row = e->nest->rank - 2, column = row + 1;
    const bool is_far = is_last == (r->mul > 0);
    const int64_t add = is_last ? r->most : r->least;
    if (r->dim == row && is_far && e->ends_early)
        return scaled_text(e, e->k_end, r->mul, add - r->mul);
    if (r->dim == row)
        return clpi_text(e, "%lld", (long long)(is_far ? add + r->mul * (e->nest->extent[row] - 1) : add));
    if (r->dim == column)
        return scaled_text(e, clpi_text(e, "panel * %lld", (long long)n), r->mul, is_far ? add + r->mul * (n - 1) : add);
    return clpi_ix_text(e, &(clpi_ix){ .dim = r->dim, .mul = r->mul, .add = add, .node = -1 });
}

const char *clpi_emit_whole_panel(clpi_emit *e, int64_t n)
{
    reaches all = { 0 };
    const char *text = NULL;
    if (!find_reaches(e, &all, &text))
        return NULL;
    for (uint32_t i = 0; i < all.n; i++)
        text = and_inside(e, text, &all.items[i], panel_end_text(e, &all.items[i], n, false), panel_end_text(e, &all.items[i], n, true));
    return text;
}

/* Where the operand of a dot is zero from some coordinate of dimension dim on, as it is padded with zeros there: that coordinate. */
static const char *zero_from(clpi_emit *e, const clpi_nest *n, int value, int dim)
{
    const clpi_node *x = &n->nodes.items[value];
    while (x->kind == CLPI_NODE_CAST)
        x = &n->nodes.items[x->args[0]];
    if (x->kind != CLPI_NODE_LOAD)
        return NULL;
    const clpi_access *a = &n->accesses.items[x->access];
    const clpi_operand *from = a->is_tile ? NULL : &e->ir->operands[a->target];
    if (!from || a->mask >= 0 || !from->has_pad || from->pad_bits != 0)
        return NULL;
    for (int d = 0; d < a->rank; d++)
        if (clpi_ix_is(&a->ix[d], dim))
            return clpi_text(e, "%s_hi%d", from->name, d);
    return NULL;
}

/* Products end where both sides are zero: that of the one is no number where the other is none. */
void clpi_emit_dot_end(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    const char *x = zero_from(e, d->a, d->a_value, d->a->rank - 1), *y = zero_from(e, d->b, d->b_value, d->b->rank - 2);
    const int lanes = p->unit->tiles ? CLPI_TILE_LANES : 1, step = p->group * lanes;
    e->k_end = clpi_text(e, "%lld", (long long)p->k);
    e->ends_early = x && y;
    if (!e->ends_early)
        return;
    const char *end = clpi_text(e, "min(max(%s, %s), %lld)", x, y, (long long)d->k);
    if (step > 1)
        end = clpi_text(e, lanes > 1 ? "(%s + %d) / %d * %d" : "(%s + %d) / %d", end, step - 1, step, lanes);
    e->k_end = "k_end";
    clpi_line(e, "const int k_end = %s;", end);
}
