/* dot_ends: the nests at both ends of a dot that it takes over.
 *
 * In: a program. Out, of a dot that each step of the loop over the innermost arbitrary axis does:
 *     the nest in front of that loop which sets the sums to zeros, if nothing else comes between:
 *     `if (first(k)) { acc[...] = 0; } acc[...] += dot(...)`. The dot starts from zeros in the loop's first step;
 *     the nest behind it which makes of the sums, point by point, what operands are: `if (last(k)) { z[...] = act(acc[...]); }`. The dot does it
 *     panel by panel, while the sums are near (5 % of an int8 product of 1024 cubed, 4 % of one of 256 cubed in f32).        */
#include "cl/schedule.h"

static bool touches(const clpi_step *step, int tile)
{
    if (step->nest && clpi_touches_tile(step->nest, tile))
        return true;
    if (step->dot && (step->dot->dest == tile || clpi_touches_tile(step->dot->a, tile) || clpi_touches_tile(step->dot->b, tile)))
        return true;
    if (step->kind == CLPI_STEP_SORT && (step->tile == tile || step->tile2 == tile))
        return true;
    for (int i = 0; i < step->n_args; i++)
        if (step->args[i] == tile)
            return true;
    for (uint32_t i = 0; i < step->body.n; i++)
        if (touches(step->body.items[i], tile))
            return true;
    for (uint32_t i = 0; i < step->other.n; i++)
        if (touches(step->other.items[i], tile))
            return true;
    return false;
}

/* Does the step make all of the tile zeros, and nothing else? */
static bool clears(const clpi_program *p, const clpi_step *step, int tile)
{
    const clpi_tile *t = &p->tiles.items[tile];
    const clpi_nest *n = step->nest;
    if (step->kind != CLPI_STEP_NEST || n->rank != t->rank || n->outs.n != 1 || n->outs.items[0].kind != CLPI_OUT_STORE)
        return false;
    const clpi_node *value = &n->nodes.items[n->outs.items[0].value];
    const clpi_access *to = &n->accesses.items[n->outs.items[0].access];
    if (value->kind != CLPI_NODE_CONST || value->bits != 0 || !to->is_tile || to->target != tile || to->rank != t->rank || to->mask >= 0)
        return false;
    for (int d = 0; d < t->rank; d++)
        if (to->ix[d].dim != d || to->ix[d].mul != 1 || to->ix[d].add != 0 || to->ix[d].node >= 0 || n->extent[d] != t->shape[d])
            return false;
    return true;
}

const clpi_step *clpi_clearing_of(const clpi_program *p, const clpi_step *dot)
{
    const clpi_steps *first = &p->parts[CLPI_PART_FIRST], *every = &p->parts[CLPI_PART_EVERY];
    const int tile = dot->dot->dest;
    uint32_t at = 0;
    while (at < every->n && every->items[at] != dot && !touches(every->items[at], tile))
        at++;
    if (at == every->n || every->items[at] != dot || !dot->dot->accumulates || dot->dot->k == 0)
        return NULL;
    for (uint32_t i = first->n; i-- > 0;)
        if (touches(first->items[i], tile))
            return clears(p, first->items[i], tile) ? first->items[i] : NULL;
    return NULL;
}

/* Is the access one of the sums at the very point? */
static bool is_of_point(const clpi_nest *n, const clpi_access *a)
{
    for (int d = 0; d < n->rank; d++)
        if (a->ix[d].dim != d || a->ix[d].mul != 1 || a->ix[d].add != 0 || a->ix[d].node >= 0)
            return false;
    return a->rank == n->rank && a->mask < 0;
}

/* Does the nest write where one of the dot's sides reads? */
static bool writes_side(const clpi_program *p, const clpi_nest *n, const clpi_nest *side)
{
    for (uint32_t o = 0; o < n->outs.n; o++)
        for (uint32_t i = 0; i < side->accesses.n; i++)
            if (clpi_depend_accesses(p, n, &n->accesses.items[n->outs.items[o].access], side, &side->accesses.items[i]) != CLPI_APART)
                return true;
    return false;
}

/* Can the nest be done panel by panel, each as soon as the dot has its sums, in vectors that lie within it? */
static bool finishes(const clpi_cl_schedule *s, const clpi_step *step, const clpi_dot *d)
{
    const clpi_nest *n = step->nest;
    if (step->kind != CLPI_STEP_NEST || n->rank != 2 || d->n_batch > 0 || n->in_order || n->extent[0] != d->m || n->extent[1] != d->n)
        return false;
    for (uint32_t o = 0; o < n->outs.n; o++)
        if (n->outs.items[o].kind != CLPI_OUT_STORE || n->accesses.items[n->outs.items[o].access].is_tile)
            return false;
    for (uint32_t i = 0; i < n->accesses.n; i++)
        if (n->accesses.items[i].is_tile && n->accesses.items[i].target == d->dest && !is_of_point(n, &n->accesses.items[i]))
            return false;
    const clpi_mapping m = clpi_map_nest(s, n);
    return clpi_touches_tile(n, d->dest) && m.vector_dim == 1 && m.turn_dim < 0 && clpi_dot_padding(s, d) % m.width == 0 &&
           d->n % m.width == 0 && !writes_side(s->program, n, d->a) && !writes_side(s->program, n, d->b);
}

const clpi_step *clpi_finishing_of(const clpi_cl_schedule *s, const clpi_step *dot, bool *out_at_last)
{
    const clpi_steps *every = &s->program->parts[CLPI_PART_EVERY], *last = &s->program->parts[CLPI_PART_LAST];
    uint32_t at = 0;
    while (at < every->n && every->items[at] != dot)
        at++;
    *out_at_last = at + 1 == every->n;
    const clpi_step *next = at + 1 < every->n ? every->items[at + 1] : *out_at_last && last->n > 0 ? last->items[0] : NULL;
    return next && finishes(s, next, dot->dot) ? next : NULL;
}

bool clpi_is_left_to_dot(const clpi_cl_schedule *s, const clpi_step *step)
{
    const clpi_steps *every = &s->program->parts[CLPI_PART_EVERY];
    bool at_last;
    for (uint32_t i = 0; i < every->n; i++) {
        const clpi_step *dot = every->items[i];
        if (dot->dot && (clpi_clearing_of(s->program, dot) == step || clpi_finishing_of(s, dot, &at_last) == step))
            return true;
    }
    return false;
}
