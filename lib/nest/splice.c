/* splice: nests copied, joined, and rid of what nothing needs.
 *
 * In: a nest, and another to add it to. Out: the second with the live nodes, accesses and outs of the first behind its own;
 * equal nodes are one. Decides what is live: what some out hangs on.                                                      */
#include "nest/nest.h"

#include <string.h>

bool clpi_nest_writes(const clpi_nest *n, uint32_t access)
{
    for (uint32_t o = 0; o < n->outs.n; o++)
        if (n->outs.items[o].access == (int)access || n->outs.items[o].old == (int)access)
            return true;
    return false;
}

clpi_nest *clpi_nest_new(clpi_arena *arena)
{
    clpi_nest *n = CLPI_NEW(arena, clpi_nest);
    if (!n || !CLPI_PUSH(arena, &n->nodes, (clpi_node){ 0 }) || !CLPI_PUSH(arena, &n->accesses, (clpi_access){ 0 }))
        return NULL;
    n->nodes.n = n->accesses.n = 0;
    return n;
}

static uint32_t dims_of(const clpi_nest *n, int node)
{
    return node < 0 ? 0 : n->nodes.items[node].dims;
}

uint32_t clpi_access_dims(const clpi_nest *n, const clpi_access *a)
{
    uint32_t dims = dims_of(n, a->mask) | dims_of(n, a->other);
    for (int d = 0; d < a->rank; d++)
        dims |= dims_of(n, a->ix[d].node) | (a->ix[d].dim < 0 ? 0 : UINT32_C(1) << a->ix[d].dim);
    return dims;
}

static bool takes_scan(const clpi_nest *n, int node)
{
    return node >= 0 && clpi_is_of_scan(&n->nodes.items[node]);
}

static bool access_takes_scan(const clpi_nest *n, const clpi_access *a)
{
    bool takes = takes_scan(n, a->mask) || takes_scan(n, a->other);
    for (int d = 0; d < a->rank; d++)
        takes = takes || takes_scan(n, a->ix[d].node);
    return takes;
}

/* What it stands on is there already, so nobody has to look through it again: that would take twice as long for each value that is used twice. */
int clpi_nest_push(clpi_arena *arena, clpi_nest *n, clpi_node node)
{
    if (arena->failed)            /* what it stands on may be missing */
        return -1;
    const bool has_dim = (node.kind == CLPI_NODE_INDEX || node.kind == CLPI_NODE_SCAN) && node.ix.dim >= 0;
    node.dims = has_dim ? UINT32_C(1) << node.ix.dim : 0;
    node.takes_scan = false;
    for (int i = 0; i < node.n_args; i++) {
        node.dims |= dims_of(n, node.args[i]);
        node.takes_scan = node.takes_scan || takes_scan(n, node.args[i]);
    }
    if (node.kind == CLPI_NODE_LOAD) {
        node.dims |= clpi_access_dims(n, &n->accesses.items[node.access]);
        node.takes_scan = access_takes_scan(n, &n->accesses.items[node.access]);
    }
    return CLPI_PUSH(arena, &n->nodes, node) ? (int)n->nodes.n - 1 : -1;
}

bool clpi_is_identity(const clpi_nest *n, const clpi_access *a)
{
    bool is_same = a->is_tile && a->rank == n->rank && a->mask < 0 && !a->checked;
    for (int d = 0; is_same && d < a->rank; d++)
        is_same = clpi_ix_is(&a->ix[d], d) && a->size[d] == n->extent[d];
    return is_same;
}

static void mark_node(const clpi_nest *n, int node, bool *live_nodes, bool *live_accesses);

static void mark_access(const clpi_nest *n, int access, bool *live_nodes, bool *live_accesses)
{
    if (access < 0 || live_accesses[access])
        return;
    live_accesses[access] = true;
    const clpi_access *a = &n->accesses.items[access];
    mark_node(n, a->mask, live_nodes, live_accesses);
    mark_node(n, a->other, live_nodes, live_accesses);
    for (int d = 0; d < a->rank; d++)
        mark_node(n, a->ix[d].node, live_nodes, live_accesses);
}

static void mark_node(const clpi_nest *n, int node, bool *live_nodes, bool *live_accesses)
{
    if (node < 0 || live_nodes[node])
        return;
    live_nodes[node] = true;
    const clpi_node *x = &n->nodes.items[node];
    for (int i = 0; i < x->n_args; i++)
        mark_node(n, x->args[i], live_nodes, live_accesses);
    if (x->kind == CLPI_NODE_LOAD)
        mark_access(n, x->access, live_nodes, live_accesses);
}

static bool access_eq(const clpi_access *a, const clpi_access *b)
{
    if (a->is_tile != b->is_tile || a->target != b->target || a->rank != b->rank || a->checked != b->checked ||
        a->mask != b->mask || a->other != b->other)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->size[d] != b->size[d] || a->ix[d].dim != b->ix[d].dim || a->ix[d].add != b->ix[d].add ||
            a->ix[d].node != b->ix[d].node || (a->ix[d].dim >= 0 && a->ix[d].mul != b->ix[d].mul))
            return false;
    return true;
}

static bool node_eq(const clpi_nest *n, const clpi_node *a, const clpi_node *b)
{
    if (a->kind != b->kind || a->op != b->op || a->dtype != b->dtype || a->from != b->from || a->n_args != b->n_args ||
        a->bits != b->bits)
        return false;
    if (a->kind == CLPI_NODE_SCAN && a->ix.dim != b->ix.dim)
        return false;
    if (a->kind == CLPI_NODE_INDEX && (a->ix.dim != b->ix.dim || a->ix.mul != b->ix.mul || a->ix.add != b->ix.add))
        return false;
    if (a->kind == CLPI_NODE_LOAD && !access_eq(&n->accesses.items[a->access], &n->accesses.items[b->access]))
        return false;
    return memcmp(a->args, b->args, (size_t)a->n_args * sizeof *a->args) == 0;
}

/* Copies what is live of `from` behind what `into` has. forward[node] >= 0: that node of `into` stands for it. */
typedef struct { int *node, *access; } renaming;

static int copy_access(clpi_program *p, clpi_nest *into, const clpi_nest *from, renaming *r, int access)
{
    clpi_access a = from->accesses.items[access];
    a.mask = a.mask < 0 ? -1 : r->node[a.mask];
    a.other = a.other < 0 ? -1 : r->node[a.other];
    for (int d = 0; d < a.rank; d++)
        a.ix[d].node = a.ix[d].node < 0 ? -1 : r->node[a.ix[d].node];
    if (!CLPI_PUSH(p->arena, &into->accesses, a))
        return 0;
    return r->access[access] = (int)into->accesses.n - 1;
}

void clpi_nest_append(clpi_program *p, clpi_nest *into, const clpi_nest *from, const int *forward)
{
    renaming r = { CLPI_NEW_N(p->arena, int, from->nodes.n + 1), CLPI_NEW_N(p->arena, int, from->accesses.n + 1) };
    bool *live_nodes = CLPI_NEW_N(p->arena, bool, from->nodes.n + 1),
         *live_accesses = CLPI_NEW_N(p->arena, bool, from->accesses.n + 1);
    if (p->arena->failed)
        return;
    for (uint32_t o = 0; o < from->outs.n; o++) {
        const clpi_out *out = &from->outs.items[o];
        mark_node(from, out->value, live_nodes, live_accesses);
        mark_node(from, out->value2, live_nodes, live_accesses);
        mark_access(from, out->access, live_nodes, live_accesses);
        mark_access(from, out->old, live_nodes, live_accesses);
    }
    for (uint32_t i = 0; i < from->nodes.n; i++) {
        clpi_node x = from->nodes.items[i];
        if (!live_nodes[i])
            continue;
        if (forward && forward[i] >= 0) {
            r.node[i] = forward[i];
            continue;
        }
        for (int k = 0; k < x.n_args; k++)
            x.args[k] = r.node[x.args[k]];
        if (x.kind == CLPI_NODE_LOAD)
            x.access = copy_access(p, into, from, &r, x.access);
        r.node[i] = -1;
        for (uint32_t k = 0; k < into->nodes.n && r.node[i] < 0; k++)
            if (node_eq(into, &into->nodes.items[k], &x))
                r.node[i] = (int)k;
        if (r.node[i] < 0)
            r.node[i] = clpi_nest_push(p->arena, into, x);
        if (r.node[i] < 0)
            return;
    }
    for (uint32_t o = 0; o < from->outs.n; o++) {
        clpi_out out = from->outs.items[o];
        out.value = r.node[out.value];
        out.value2 = out.value2 < 0 ? -1 : r.node[out.value2];
        out.access = copy_access(p, into, from, &r, out.access);
        out.old = out.old < 0 ? -1 : copy_access(p, into, from, &r, out.old);
        if (!CLPI_PUSH(p->arena, &into->outs, out))
            return;
    }
}

clpi_nest *clpi_nest_like(clpi_program *p, const clpi_nest *like)
{
    clpi_nest *n = clpi_nest_new(p->arena);
    if (n) {
        n->rank = like->rank;
        n->n_outer = like->n_outer;
        n->in_order = like->in_order;
        memcpy(n->extent, like->extent, sizeof n->extent);
    }
    return n;
}

