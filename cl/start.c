/* start: sums that need no clearing.
 *
 * In: a program. Out: for a dot that adds to a tile in each step of the loop over the innermost arbitrary axis, the nest in front of that
 * loop which sets the tile to zeros, if nothing else comes between: `if (first(k)) { acc[...] = 0; } acc[...] += dot(...)`. The dot then
 * starts from zeros in the loop's first step, and the nest is left out.                                                     */
#include "cl/schedule.h"

/* Does the step make all of the tile zeros, and nothing else? */
static bool clears(const clpi_program *p, const clpi_step *step, int tile)
{
    const clpi_nest *n = step->nest;
    if (step->kind != CLPI_STEP_NEST || n->rank != p->tiles.items[tile].rank || n->outs.n != 1 || n->outs.items[0].kind != CLPI_OUT_STORE)
        return false;
    const clpi_node *value = &n->nodes.items[n->outs.items[0].value];
    const clpi_access *to = &n->accesses.items[n->outs.items[0].access];
    return value->kind == CLPI_NODE_CONST && value->bits == 0 && to->target == tile && clpi_is_identity(n, to);
}

const clpi_step *clpi_clearing_of(const clpi_program *p, const clpi_step *dot)
{
    const clpi_steps *first = &p->parts[CLPI_PART_FIRST], *every = &p->parts[CLPI_PART_EVERY];
    const int tile = dot->dot->dest;
    uint32_t at = 0;
    while (at < every->n && every->items[at] != dot)
        at++;
    if (at == every->n || !dot->dot->accumulates || dot->dot->k == 0 || clpi_steps_use(p, every->items, at, tile))
        return NULL;
    for (uint32_t i = first->n; i-- > 0;)
        if (clpi_steps_use(p, &first->items[i], 1, tile))
            return clears(p, first->items[i], tile) ? first->items[i] : NULL;
    return NULL;
}

bool clpi_is_left_to_dot(const clpi_program *p, const clpi_step *step)
{
    const clpi_steps *every = &p->parts[CLPI_PART_EVERY];
    for (uint32_t i = 0; i < every->n; i++)
        if (every->items[i]->dot && clpi_clearing_of(p, every->items[i]) == step)
            return true;
    return false;
}
