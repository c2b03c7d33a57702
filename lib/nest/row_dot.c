/* row_dot: a dot of one row, both sides of which lie along k.
 *
 * In: a dot. Out: whether it is such a one, and what of a nest over [batch.., n, k] makes its row: each column is a sum along k. As a
 * dot it would have to turn all of y round for the one row that is multiplied with it.                                   */
#include "nest/nest.h"

/* Does what the nest loads lie along dimension dim, as far as it moves with it? */
static bool lies_along(const clpi_nest *n, int dim)
{
    bool moves = false;
    for (uint32_t i = 0; i < n->accesses.n; i++) {
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

bool clpi_is_row_dot(const clpi_dot *d)
{
    return d->m == 1 && is_loaded(d->a) && lies_along(d->a, d->a->rank - 1) && lies_along(d->b, d->b->rank - 2);
}

clpi_out clpi_row_dot(clpi_lower *l, clpi_nest *n, uint32_t v, const clpi_dot *d, const clpi_ix *ix, int tile)
{
    const clp_val *sides = clpi_args(l->p->ir, &l->p->ir->ops.items[v]);
    const int column = d->n_batch, k = column + 1;
    const clp_dtype acc = d->acc;
    clpi_ix x[CLP_MAX_RANK], y[CLP_MAX_RANK], z[CLP_MAX_RANK];
    for (int i = 0; i < n->rank; i++)
        x[i] = y[i] = z[i] = ix[i];
    x[column] = z[column] = (clpi_ix){ .dim = -1, .node = -1 };
    y[column] = ix[k];
    y[k] = z[k] = ix[column];
    clpi_node product = { .kind = CLPI_NODE_EW, .op = CLP_OP_mul, .dtype = acc, .from = acc, .n_args = 2 };
    product.args[0] = clpi_node_cast(l, n, clpi_node_of(l, n, sides[0], x), acc);
    product.args[1] = clpi_node_cast(l, n, clpi_node_of(l, n, sides[1], y), acc);
    return (clpi_out){ .kind = CLPI_OUT_REDUCE, .op = CLP_OP_sum, .access = clpi_access_tile(l, n, tile, z), .value = clpi_node_add(l, n, product),
                       .value2 = -1, .reduced = UINT32_C(1) << k, .dtype = acc, .old = -1 };
}
