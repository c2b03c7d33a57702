/* step: what lowering makes: steps, their nests, tiles, and outs.
 *
 * In: what is to be added. Out: it stands last. Where there is no memory for it, the lowering has failed, and what is returned is
 * NULL, or tile 0, which may be looked at.                                                                                */
#include "nest/nest.h"

#include <string.h>

clpi_step *clpi_step_add(clpi_lower *l, clpi_steps *steps, clpi_step_kind kind, uint32_t op)
{
    clpi_step *s = CLPI_NEW(l->p->arena, clpi_step);
    if (!s || !CLPI_PUSH(l->p->arena, steps, s)) {
        l->failed = true;
        return NULL;
    }
    s->kind = kind;
    s->op = op;
    s->tile = s->tile2 = s->index = s->lo = s->hi = s->condition = -1;
    return s;
}

int clpi_tile_add(clpi_lower *l, const clpi_type *type)
{
    clpi_tile t = { .dtype = type->dtype, .rank = type->rank, .operand = -1 };
    memcpy(t.shape, type->shape, sizeof t.shape);
    if (!CLPI_PUSH(l->p->arena, &l->p->tiles, t)) {
        l->failed = true;
        return 0;
    }
    return (int)l->p->tiles.n - 1;
}

clpi_nest *clpi_nest_over(clpi_lower *l, const int64_t *shape, int rank, clpi_ix *out_ix)
{
    clpi_nest *n = clpi_nest_new(l->p->arena);
    if (!n) {
        l->failed = true;
        return NULL;
    }
    n->rank = rank;
    for (int d = 0; d < rank; d++) {
        n->extent[d] = shape[d];
        out_ix[d] = (clpi_ix){ .dim = d, .mul = 1, .node = -1 };
    }
    l->seen.n = 0;
    return n;
}

clpi_nest *clpi_nest_add(clpi_lower *l, clpi_steps *steps, uint32_t op, const int64_t *shape, int rank, clpi_ix *out_ix)
{
    clpi_step *s = clpi_step_add(l, steps, CLPI_STEP_NEST, op);
    if (!s)
        return NULL;
    s->nest = clpi_nest_over(l, shape, rank, out_ix);
    return s->nest;
}

void clpi_out_add(clpi_lower *l, clpi_nest *n, clpi_out out)
{
    if (!CLPI_PUSH(l->p->arena, &n->outs, out))
        l->failed = true;
}

void clpi_store_add(clpi_lower *l, clpi_nest *n, int access, int value)
{
    clpi_out_add(l, n, (clpi_out){ .kind = CLPI_OUT_STORE, .access = access, .value = value, .value2 = -1, .old = -1 });
}
