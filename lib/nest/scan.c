/* scan: what a running sum, product, maximum or minimum comes to.
 *
 * In: steps as lowered, each scan a nest that stores its tile. Out: where a tile is read at the last point of its scan, the nest leaves what
 * it comes to in a tile of its own, and that is read; when nobody reads the rest, nobody stores it.
 *
 *     nest d0 < 8 d1 < 512                                   nest d0 < 8 d1 < 512
 *         v1 = cumsum v0 along d1                                v1 = cumsum v0 along d1
 *         t2[d0, d1] = v1                                        t2[d0, d1] = v1
 *     nest d0 < 8                                                t4[d0] = last v1
 *         v0 = t2[d0, 511]                                   nest d0 < 8
 *                                                                v0 = t4[d0]                                              */
#include "nest/nest.h"

#include <string.h>

const clpi_node *clpi_scan_of(const clpi_nest *n)
{
    for (uint32_t i = 0; i < n->nodes.n; i++)
        if (n->nodes.items[i].kind == CLPI_NODE_SCAN)
            return &n->nodes.items[i];
    return NULL;
}

/* A scan's tile, and who touches it. */
typedef struct scanned {
    int     tile, dim;
    int64_t end;                  /* the coordinate of the last point along dim */
    int     n_others, n_reads_of_end;      /* uses that write, or need all of it; reads of the end */
    int     ends;                 /* the tile of what the scan comes to; -1: count only */
} scanned;

static bool reads_end(const clpi_program *p, const scanned *x, const clpi_access *a)
{
    const clpi_tile *t = &p->tiles.items[x->tile];
    if (a->rank != t->rank || a->checked || memcmp(a->size, t->shape, (size_t)t->rank * sizeof *t->shape) != 0)
        return false;
    return a->ix[x->dim].dim < 0 && a->ix[x->dim].node < 0 && a->ix[x->dim].add == x->end;
}

static void visit(const clpi_program *p, clpi_step *s, const clpi_step *shared, int tile, clpi_access *a, bool writes, void *user)
{
    scanned *x = user;
    (void)s, (void)shared;
    if (tile != x->tile)
        return;
    x->n_others += writes || !a;
    if (writes || !a || !reads_end(p, x, a))
        return;
    x->n_reads_of_end++;
    if (x->ends < 0)
        return;
    a->target = x->ends;
    a->rank--;
    for (int d = x->dim; d < a->rank; d++) {
        a->ix[d] = a->ix[d + 1];
        a->size[d] = a->size[d + 1];
    }
}

/* The scan that out stores, as it is or rounded; -1: another thing. */
static int scan_stored(const clpi_nest *n, const clpi_out *out)
{
    int node = out->value;
    if (n->nodes.items[node].kind == CLPI_NODE_CAST)
        node = n->nodes.items[node].args[0];
    const bool is_scan = n->nodes.items[node].kind == CLPI_NODE_SCAN && out->kind == CLPI_OUT_STORE;
    return is_scan && clpi_is_identity(n, &n->accesses.items[out->access]) ? node : -1;
}

/* Gives the nest an out that leaves what the scan comes to in a new tile; its number. */
static int add_ends(clpi_program *p, clpi_nest *n, int scan, const scanned *x)
{
    clpi_tile t = p->tiles.items[x->tile];
    clpi_access a = { .is_tile = true, .target = (int)p->tiles.n, .mask = -1, .other = -1 };
    for (int d = 0; d < n->rank; d++) {
        if (d == x->dim)
            continue;
        a.ix[a.rank] = (clpi_ix){ .dim = d, .mul = 1, .node = -1 };
        a.size[a.rank] = t.shape[a.rank] = n->extent[d];
        a.rank++;
    }
    t.rank = a.rank;
    const clpi_out out = { .kind = CLPI_OUT_LAST, .access = (int)n->accesses.n, .value = scan, .value2 = -1, .old = -1,
                           .reduced = UINT32_C(1) << x->dim, .dtype = n->nodes.items[scan].dtype };
    return CLPI_PUSH(p->arena, &p->tiles, t) && CLPI_PUSH(p->arena, &n->accesses, a) && CLPI_PUSH(p->arena, &n->outs, out) ? a.target : -1;
}

/* Whoever reads just the end of the scan that out stores reads that tile. */
static void split_end(clpi_program *p, clpi_nest *n, const clpi_out *out)
{
    const int scan = scan_stored(n, out);
    if (scan < 0)
        return;
    const clpi_node *node = &n->nodes.items[scan];
    clpi_steps *all = &p->parts[CLPI_PART_EVERY];
    scanned x = { .tile = n->accesses.items[out->access].target, .dim = node->ix.dim, .ends = -1,
                  .end = node->bits ? 0 : n->extent[node->ix.dim] - 1 };
    clpi_each_use(p, all, NULL, visit, &x);
    if (x.n_others != 1 || x.n_reads_of_end == 0)
        return;
    x.ends = add_ends(p, n, scan, &x);
    if (x.ends >= 0)
        clpi_each_use(p, all, NULL, visit, &x);
}

/* Each scan of these steps, and of those below them. */
static void search_steps(clpi_program *p, clpi_steps *steps)
{
    for (uint32_t i = 0; i < steps->n; i++) {
        clpi_step *s = steps->items[i];
        search_steps(p, &s->body);
        search_steps(p, &s->other);
        for (uint32_t o = 0, n = s->kind == CLPI_STEP_NEST ? s->nest->outs.n : 0; o < n; o++) {
            const clpi_out out = s->nest->outs.items[o];
            split_end(p, s->nest, &out);
        }
    }
}

void clpi_split_scan_ends(clpi_program *p)
{
    search_steps(p, &p->parts[CLPI_PART_EVERY]);
}
