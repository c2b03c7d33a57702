/* fuse: fewer nests and nearer tiles.
 *
 * In: steps with one nest an op. Out: the same effects in the same order, with scalars moved up out of the way, neighbours
 * of one domain merged (what one stores and the next loads at the same point is handed over), neighbours of equal rows put
 * under a shared loop over them, and tiles that nothing reads any more dropped. Every move asks depend.c first.          */
#include "nest/nest.h"

#include <string.h>

/* ---- What a nest touches ---- */

static bool is_write(const clpi_nest *n, uint32_t access)
{
    for (uint32_t o = 0; o < n->outs.n; o++)
        if (n->outs.items[o].access == (int)access || n->outs.items[o].old == (int)access)
            return true;
    return false;
}

/* May all of b's accesses happen before, or between, those of a? `allowed` says which meetings do no harm. */
typedef bool (*meeting_fn)(const clpi_nest *na, uint32_t a, const clpi_nest *nb, uint32_t b, clpi_depend how);

static bool only_harmless(const clpi_program *p, const clpi_nest *na, const clpi_nest *nb, meeting_fn allowed)
{
    for (uint32_t i = 0; i < na->accesses.n; i++)
        for (uint32_t j = 0; j < nb->accesses.n; j++) {
            if (!is_write(na, i) && !is_write(nb, j))
                continue;
            clpi_depend how = clpi_depend_accesses(p, na, &na->accesses.items[i], nb, &nb->accesses.items[j]);
            if (how != CLPI_APART && !allowed(na, i, nb, j, how))
                return false;
        }
    return true;
}

static bool never(const clpi_nest *na, uint32_t a, const clpi_nest *nb, uint32_t b, clpi_depend how)
{
    (void)na, (void)a, (void)nb, (void)b, (void)how;
    return false;
}

/* ---- Dead nodes and accesses ---- */

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

static void append(clpi_program *p, clpi_nest *into, const clpi_nest *from, const int *forward)
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
        if (r.node[i] < 0) {
            if (!CLPI_PUSH(p->arena, &into->nodes, x))
                return;
            r.node[i] = (int)into->nodes.n - 1;
        }
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

static clpi_nest *fresh(clpi_program *p, const clpi_nest *like)
{
    clpi_nest *n = CLPI_NEW(p->arena, clpi_nest);
    if (n) {
        n->rank = like->rank;
        n->n_outer = like->n_outer;
        n->in_order = like->in_order;
        memcpy(n->extent, like->extent, sizeof n->extent);
    }
    return n;
}

/* ---- Scalars out of the way ---- */

static bool is_scalar_nest(const clpi_step *s)
{
    return s->kind == CLPI_STEP_NEST && s->nest->rank == 0 && s->nest->outs.n == 1 &&
           s->nest->outs.items[0].kind == CLPI_OUT_STORE && s->nest->accesses.items[s->nest->outs.items[0].access].is_tile &&
           s->nest->accesses.items[s->nest->outs.items[0].access].rank == 0;
}

static void lift_scalars(const clpi_program *p, clpi_steps *steps)
{
    for (uint32_t i = 1; i < steps->n; i++) {
        clpi_step *s = steps->items[i];
        uint32_t at = i;
        while (is_scalar_nest(s) && at > 0 && steps->items[at - 1]->kind == CLPI_STEP_NEST &&
               !is_scalar_nest(steps->items[at - 1]) && only_harmless(p, steps->items[at - 1]->nest, s->nest, never))
            at--;
        memmove(&steps->items[at + 1], &steps->items[at], (i - at) * sizeof(clpi_step *));
        steps->items[at] = s;
    }
}

/* ---- Neighbours of one domain ---- */

static uint32_t reduced_of(const clpi_nest *n)
{
    uint32_t reduced = 0;
    for (uint32_t o = 0; o < n->outs.n; o++)
        reduced |= n->outs.items[o].kind == CLPI_OUT_REDUCE ? n->outs.items[o].reduced : 0;
    return reduced;
}

static bool only_stores_and_reductions(const clpi_nest *n)
{
    for (uint32_t o = 0; o < n->outs.n; o++)
        if (n->outs.items[o].kind != CLPI_OUT_STORE && n->outs.items[o].kind != CLPI_OUT_REDUCE)
            return false;
    return !n->in_order;
}

static const clpi_out *store_at(const clpi_nest *n, uint32_t access)
{
    for (uint32_t o = 0; o < n->outs.n; o++)
        if (n->outs.items[o].access == (int)access && n->outs.items[o].kind == CLPI_OUT_STORE)
            return &n->outs.items[o];
    return NULL;
}

/* At the same point: a load before a store, or a tile's store before a load (handed over; not from a reduction, which is
 * not done before the domain is; not through a ref, where what lies past the array is lost). */
static bool at_one_point(const clpi_nest *na, uint32_t a, const clpi_nest *nb, uint32_t b, clpi_depend how)
{
    if (how != CLPI_SAME_POINT)
        return false;
    if (!is_write(na, a))
        return store_at(nb, b) != NULL;
    const clpi_access *x = &na->accesses.items[a], *y = &nb->accesses.items[b];
    return store_at(na, a) && !is_write(nb, b) && x->is_tile && x->mask < 0 && y->mask < 0 && !x->checked;
}

static bool can_merge(const clpi_program *p, const clpi_step *a, const clpi_step *b)
{
    if (a->kind != CLPI_STEP_NEST || b->kind != CLPI_STEP_NEST || a->nest->rank == 0 || a->nest->rank != b->nest->rank)
        return false;
    const clpi_nest *na = a->nest, *nb = b->nest;
    if (memcmp(na->extent, nb->extent, (size_t)na->rank * sizeof *na->extent) != 0 || !only_stores_and_reductions(na) ||
        !only_stores_and_reductions(nb))
        return false;
    uint32_t ra = reduced_of(na), rb = reduced_of(nb);
    return (ra == rb || ra == 0 || rb == 0) && only_harmless(p, na, nb, at_one_point);
}

static void merge(clpi_program *p, clpi_step *a, const clpi_step *b)
{
    clpi_nest *n = fresh(p, a->nest);
    const clpi_nest *nb = b->nest;
    int *forward = CLPI_NEW_N(p->arena, int, nb->nodes.n + 1);
    if (!n || !forward)
        return;
    append(p, n, a->nest, NULL);
    for (uint32_t i = 0; i < nb->nodes.n; i++) {
        const clpi_node *x = &nb->nodes.items[i];
        forward[i] = -1;
        for (uint32_t o = 0; x->kind == CLPI_NODE_LOAD && o < n->outs.n; o++) {
            const clpi_out *out = &n->outs.items[o];
            if (out->kind == CLPI_OUT_STORE && clpi_depend_accesses(p, n, &n->accesses.items[out->access], nb,
                                                                    &nb->accesses.items[x->access]) == CLPI_SAME_POINT)
                forward[i] = out->value;
        }
    }
    append(p, n, nb, forward);
    a->nest = n;
    a->op = b->op;
}

static void merge_neighbours(clpi_program *p, clpi_steps *steps)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < steps->n; i++) {
        if (n > 0 && can_merge(p, steps->items[n - 1], steps->items[i]))
            merge(p, steps->items[n - 1], steps->items[i]);
        else
            steps->items[n++] = steps->items[i];
    }
    steps->n = n;
}

/* ---- Shared rows ---- */

static bool by_rows(const clpi_nest *na, uint32_t a, const clpi_nest *nb, uint32_t b, clpi_depend how)
{
    (void)how;
    return clpi_row_aligned(&na->accesses.items[a], &nb->accesses.items[b]);
}

static bool has_rows(const clpi_step *s)
{
    if (s->kind != CLPI_STEP_NEST || s->nest->rank == 0 || s->nest->extent[0] < 2 || s->nest->in_order)
        return false;
    for (uint32_t o = 0; o < s->nest->outs.n; o++) {
        const clpi_out *out = &s->nest->outs.items[o];
        if (out->kind == CLPI_OUT_ATOMIC || out->kind == CLPI_OUT_SCAN || (out->kind == CLPI_OUT_REDUCE && (out->reduced & 1)))
            return false;        /* scans go through their rows side by side, in lanes or work-items */
    }
    return true;
}

static bool fits_group(const clpi_program *p, clpi_step *const *group, uint32_t n, const clpi_step *s)
{
    if (!has_rows(s) || s->nest->extent[0] != group[0]->nest->extent[0])
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!only_harmless(p, group[i]->nest, s->nest, by_rows))
            return false;
    return true;
}

/* Worth a shared loop: some nest has more than rows, and the nests have something to hand on. */
static bool is_worth_sharing(const clpi_program *p, clpi_step *const *group, uint32_t n)
{
    bool deep = false, meets = false;
    for (uint32_t i = 0; i < n; i++) {
        deep = deep || group[i]->nest->rank > 1;
        for (uint32_t j = i + 1; j < n; j++)
            meets = meets || !only_harmless(p, group[i]->nest, group[j]->nest, never);
    }
    return deep && meets;
}

static void share_rows(clpi_program *p, clpi_steps *steps)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < steps->n;) {
        uint32_t size = 1;
        if (has_rows(steps->items[i]))
            while (i + size < steps->n && fits_group(p, &steps->items[i], size, steps->items[i + size]))
                size++;
        clpi_step *shared = size > 1 && is_worth_sharing(p, &steps->items[i], size) ? CLPI_NEW(p->arena, clpi_step) : NULL;
        if (!shared) {
            steps->items[n++] = steps->items[i++];
            continue;
        }
        *shared = (clpi_step){ .kind = CLPI_STEP_SHARED, .op = steps->items[i]->op, .extent = steps->items[i]->nest->extent[0] };
        for (uint32_t k = 0; k < size; k++) {
            steps->items[i + k]->nest->n_outer = 1;
            if (!CLPI_PUSH(p->arena, &shared->body, steps->items[i + k]))
                return;
        }
        i += size;
        steps->items[n++] = shared;
    }
    steps->n = n;
}

/* ---- Dead tiles, rows, lifetimes ---- */

typedef void (*use_fn)(clpi_program *p, clpi_step *s, const clpi_step *shared, int tile, const clpi_access *a,
                       bool writes, void *user);

static void nest_uses(clpi_program *p, clpi_step *s, const clpi_step *shared, const clpi_nest *n, use_fn fn, void *user)
{
    for (uint32_t i = 0; i < n->accesses.n; i++)
        if (n->accesses.items[i].is_tile)
            fn(p, s, shared, n->accesses.items[i].target, &n->accesses.items[i], is_write(n, i), user);
}

/* Calls fn for each use of a tile below steps; a NULL access is one of the tile as a whole. */
static void each_use(clpi_program *p, clpi_steps *steps, const clpi_step *shared, use_fn fn, void *user)
{
    for (uint32_t i = 0; i < steps->n; i++) {
        clpi_step *s = steps->items[i];
        if (s->nest)
            nest_uses(p, s, shared, s->nest, fn, user);
        if (s->dot) {
            nest_uses(p, s, shared, s->dot->a, fn, user);
            nest_uses(p, s, shared, s->dot->b, fn, user);
            fn(p, s, shared, s->dot->dest, NULL, true, user);
        }
        const int whole[] = { s->tile, s->tile2, s->lo, s->hi, s->condition, s->index };
        bool has_whole = s->kind == CLPI_STEP_SORT || s->kind == CLPI_STEP_FOR || s->kind == CLPI_STEP_WHILE ||
                         s->kind == CLPI_STEP_BRANCH;
        for (int k = 0; has_whole && k < 6; k++)
            if (whole[k] >= 0)
                fn(p, s, shared, whole[k], NULL, false, user);
        for (int k = 0; k < s->n_args; k++)
            fn(p, s, shared, s->args[k], NULL, false, user);
        each_use(p, &s->body, s->kind == CLPI_STEP_SHARED ? s : shared, fn, user);
        each_use(p, &s->other, shared, fn, user);
    }
}

static void count_read(clpi_program *p, clpi_step *s, const clpi_step *shared, int tile, const clpi_access *a,
                       bool writes, void *user)
{
    (void)p, (void)shared;
    if (!writes || (!a && s->dot))
        ((int *)user)[tile] += 1;
}

static bool drop_dead_outs(clpi_program *p, clpi_steps *steps, const int *reads)
{
    bool changed = false;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < steps->n; i++) {
        clpi_step *s = steps->items[i];
        changed |= drop_dead_outs(p, &s->body, reads);
        changed |= drop_dead_outs(p, &s->other, reads);
        if (s->kind == CLPI_STEP_NEST) {
            uint32_t n = 0;
            for (uint32_t o = 0; o < s->nest->outs.n; o++) {
                clpi_out out = s->nest->outs.items[o];
                const clpi_access *a = &s->nest->accesses.items[out.access];
                if (out.old >= 0 && reads[s->nest->accesses.items[out.old].target] == 0)
                    out.old = -1;
                if (out.kind == CLPI_OUT_ATOMIC || !a->is_tile || reads[a->target] > 0)
                    s->nest->outs.items[n++] = out;
            }
            bool shrank = n < s->nest->outs.n;
            s->nest->outs.n = n;
            clpi_nest *clean = fresh(p, s->nest);
            if (!clean)
                return false;
            append(p, clean, s->nest, NULL);
            changed |= shrank || clean->accesses.n < s->nest->accesses.n;
            s->nest = clean;
            if (n == 0)
                continue;
        }
        steps->items[kept++] = s;
    }
    steps->n = kept;
    return changed;
}

static void drop_dead_tiles(clpi_program *p)
{
    int *reads = CLPI_NEW_N(p->arena, int, p->tiles.n + 1);
    bool changed = reads != NULL;
    while (changed) {
        memset(reads, 0, p->tiles.n * sizeof *reads);
        for (int part = 0; part < CLPI_N_PARTS; part++)
            each_use(p, &p->parts[part], NULL, count_read, reads);
        changed = false;
        for (int part = 0; part < CLPI_N_PARTS; part++)
            changed |= drop_dead_outs(p, &p->parts[part], reads);
    }
}

typedef struct { const clpi_step **shared; bool *spoiled; } row_uses;

static void note_rows(clpi_program *p, clpi_step *s, const clpi_step *shared, int tile, const clpi_access *a,
                      bool writes, void *user)
{
    row_uses *u = user;
    (void)s, (void)writes;
    const clpi_tile *t = &p->tiles.items[tile];
    bool by_row = shared && a && t->rank > 0 && t->operand < 0 && !t->is_reshaped && a->rank == t->rank && a->ix[0].dim == 0 &&
                  a->ix[0].mul == 1 && a->ix[0].add == 0 && a->ix[0].node < 0 && t->shape[0] == shared->extent;
    for (int d = 1; by_row && d < a->rank; d++)
        by_row = a->ix[d].dim != 0;
    if (!by_row || (u->shared[tile] && u->shared[tile] != shared))
        u->spoiled[tile] = true;
    u->shared[tile] = shared;
}

static void find_rows(clpi_program *p)
{
    row_uses u = { CLPI_NEW_N(p->arena, const clpi_step *, p->tiles.n + 1), CLPI_NEW_N(p->arena, bool, p->tiles.n + 1) };
    if (!u.shared || !u.spoiled)
        return;
    for (int part = 0; part < CLPI_N_PARTS; part++)
        each_use(p, &p->parts[part], NULL, note_rows, &u);
    for (uint32_t t = 0; t < p->tiles.n; t++)
        p->tiles.items[t].is_row = u.shared[t] && !u.spoiled[t];
}

static void number(clpi_program *p, clpi_steps *steps, bool in_shared)
{
    for (uint32_t i = 0; i < steps->n; i++) {
        clpi_step *s = steps->items[i];
        s->number = in_shared ? p->n_steps - 1 : p->n_steps++;      /* rows run through the nests of a shared loop in turn */
        number(p, &s->body, in_shared || s->kind == CLPI_STEP_SHARED);
        number(p, &s->other, in_shared);
    }
}

static void note_life(clpi_program *p, clpi_step *s, const clpi_step *shared, int tile, const clpi_access *a,
                      bool writes, void *user)
{
    (void)shared, (void)a, (void)writes, (void)user;
    clpi_tile *t = &p->tiles.items[tile];
    t->first = t->first < 0 || s->number < t->first ? s->number : t->first;
    t->last = s->number > t->last ? s->number : t->last;
}

static int last_number(const clpi_step *s)
{
    const clpi_steps *list = s->other.n ? &s->other : &s->body;
    return list->n ? last_number(list->items[list->n - 1]) : s->number;
}

/* What is alive when a loop starts and used in it stays alive until the loop ends. */
static void live_round_loops(clpi_program *p, clpi_steps *steps)
{
    for (uint32_t i = 0; i < steps->n; i++) {
        clpi_step *s = steps->items[i];
        live_round_loops(p, &s->body);
        live_round_loops(p, &s->other);
        if (s->kind != CLPI_STEP_FOR && s->kind != CLPI_STEP_WHILE)
            continue;
        int end = last_number(s);
        for (uint32_t t = 0; t < p->tiles.n; t++) {
            clpi_tile *tile = &p->tiles.items[t];
            if (tile->first >= 0 && tile->first <= s->number && tile->last > s->number && tile->last < end)
                tile->last = end;
        }
    }
}

void clpi_number_steps(clpi_program *p)
{
    p->n_steps = 0;
    for (int part = 0; part < CLPI_N_PARTS; part++)
        number(p, &p->parts[part], false);
    for (uint32_t t = 0; t < p->tiles.n; t++)
        p->tiles.items[t].first = p->tiles.items[t].last = -1;
    for (int part = 0; part < CLPI_N_PARTS; part++) {
        each_use(p, &p->parts[part], NULL, note_life, NULL);
        live_round_loops(p, &p->parts[part]);
    }
    for (uint32_t t = 0; t < p->tiles.n; t++)
        if (p->tiles.items[t].operand >= 0) {
            p->tiles.items[t].first = 0;
            p->tiles.items[t].last = p->n_steps;
        }
}

static void fuse_list(clpi_program *p, clpi_steps *steps)
{
    for (uint32_t i = 0; i < steps->n; i++) {
        fuse_list(p, &steps->items[i]->body);
        fuse_list(p, &steps->items[i]->other);
    }
    lift_scalars(p, steps);
    merge_neighbours(p, steps);
}

static void share_list(clpi_program *p, clpi_steps *steps)
{
    for (uint32_t i = 0; i < steps->n; i++) {
        share_list(p, &steps->items[i]->body);
        share_list(p, &steps->items[i]->other);
    }
    share_rows(p, steps);
}

void clpi_fuse(clpi_program *p)
{
    fuse_list(p, &p->parts[CLPI_PART_EVERY]);
    clpi_peel(p);
    drop_dead_tiles(p);
    for (int part = 0; part < CLPI_N_PARTS; part++)
        share_list(p, &p->parts[part]);
    find_rows(p);
}
