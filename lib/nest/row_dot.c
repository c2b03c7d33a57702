/* row_dot: a dot of one row, both sides of which lie along k.
 *
 * In: a dot. Out: if it is such a one, a nest over [batch.., n, k] that makes its row: each column is a sum along k. As a dot it
 * would have to turn all of y round for the one row that is multiplied with it. What the sides load is known when they stand in
 * that nest; if it does not lie so, the nest is dropped.                                                                  */
#include "nest/nest.h"

#include <string.h>

/* Do the accesses from number `from` on lie along dimension dim, as far as they move with it? */
static bool lie_along(const clpi_nest *n, uint32_t from, int dim)
{
    bool moves = false;
    for (uint32_t i = from; i < n->accesses.n; i++) {
        const clpi_access *a = &n->accesses.items[i];
        for (int d = 0; d < a->rank; d++) {
            if (a->ix[d].node >= 0 || (a->ix[d].dim == dim && (d < a->rank - 1 || a->ix[d].mul != 1)))
                return false;
            moves = moves || a->ix[d].dim == dim;
        }
    }
    return moves;
}

/* x is gone through once for each column: nothing may have to be worked out. */
static bool is_loaded(const clpi_nest *n)
{
    for (uint32_t i = 0; i < n->nodes.n; i++)
        if (n->nodes.items[i].kind != CLPI_NODE_LOAD && n->nodes.items[i].kind != CLPI_NODE_CAST)
            return false;
    return true;
}

/* The products of the row's elements with those of each column; -1: x, or y, does not lie along k. ix: of a point of the nest. */
static int product_along_k(clpi_lower *l, clpi_nest *n, const clp_val *sides, clp_dtype acc, const clpi_ix *ix)
{
    const int k = n->rank - 1, column = k - 1;
    clpi_ix x[CLP_MAX_RANK], y[CLP_MAX_RANK];
    memcpy(x, ix, (size_t)n->rank * sizeof *ix);
    memcpy(y, ix, (size_t)n->rank * sizeof *ix);
    x[column] = (clpi_ix){ .dim = -1, .node = -1 };
    y[column] = ix[k];
    y[k] = ix[column];
    clpi_node product = { .kind = CLPI_NODE_EW, .op = CLP_OP_mul, .dtype = acc, .from = acc, .n_args = 2 };
    product.args[0] = clpi_node_cast(l, n, clpi_node_of(l, n, sides[0], x), acc);
    const uint32_t n_of_x = n->accesses.n;
    if (!is_loaded(n) || !lie_along(n, 0, k))
        return -1;
    l->seen.n = 0;                /* so that y has accesses of its own, though it may be x */
    product.args[1] = clpi_node_cast(l, n, clpi_node_of(l, n, sides[1], y), acc);
    return lie_along(n, n_of_x, k) ? clpi_node_add(l, n, product) : -1;
}

/* dest = dest + tile, which are of op v. */
static void add_to(clpi_lower *l, clpi_steps *steps, uint32_t v, int dest, int tile)
{
    const clpi_type *t = clpi_type_of(l->p->ir, (clp_val){ v });
    clpi_ix ix[CLP_MAX_RANK];
    clpi_nest *n = clpi_nest_add(l, steps, v, t->shape, t->rank, ix);
    if (!n)
        return;
    const int tiles[2] = { dest, tile };
    clpi_node sum = { .kind = CLPI_NODE_EW, .op = CLP_OP_add, .dtype = t->dtype, .from = t->dtype, .n_args = 2 };
    for (int i = 0; i < 2; i++)
        sum.args[i] = clpi_node_add(l, n, (clpi_node){ .kind = CLPI_NODE_LOAD, .dtype = t->dtype, .access = clpi_access_tile(l, n, tiles[i], ix) });
    clpi_store_add(l, n, clpi_access_tile(l, n, dest, ix), clpi_node_add(l, n, sum));
}

bool clpi_lower_row_dot(clpi_lower *l, clpi_steps *steps, uint32_t v, int dest, bool accumulates)
{
    const clp_val *sides = clpi_args(l->p->ir, &l->p->ir->ops.items[v]);
    const clpi_type *x = clpi_type_of(l->p->ir, sides[0]), *z = clpi_type_of(l->p->ir, (clp_val){ v });
    const int k = z->rank - 1, column = k - 1;
    int64_t shape[CLP_MAX_RANK];
    clpi_ix ix[CLP_MAX_RANK];
    if (z->shape[column] != 1)
        return false;
    memcpy(shape, z->shape, sizeof shape);
    shape[column] = z->shape[k];
    shape[k] = x->shape[k];
    clpi_nest *n = clpi_nest_over(l, shape, z->rank, ix);
    const int value = n ? product_along_k(l, n, sides, z->dtype, ix) : -1;
    clpi_step *s = value < 0 ? NULL : clpi_step_add(l, steps, CLPI_STEP_NEST, v);
    if (!s)
        return false;
    s->nest = n;
    const int tile = accumulates ? clpi_tile_add(l, z) : dest;
    ix[k] = ix[column];
    ix[column] = (clpi_ix){ .dim = -1, .node = -1 };
    clpi_out_add(l, n, (clpi_out){ .kind = CLPI_OUT_REDUCE, .op = CLP_OP_sum, .access = clpi_access_tile(l, n, tile, ix), .value = value,
                                   .value2 = -1, .reduced = UINT32_C(1) << k, .dtype = z->dtype, .old = -1 });
    if (accumulates)
        add_to(l, steps, v, dest, tile);
    return true;
}
