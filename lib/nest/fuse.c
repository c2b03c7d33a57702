/* fuse: fewer nests and nearer tiles.
 *
 * In: steps with one nest an op. Out: the same effects in the same order, with scalars moved up out of the way, nests
 * of one domain merged (what one stores and the next loads at the same point is handed over), the first of them moved down to the second past
 * nests that do not mind, neighbours of equal rows put under a shared loop over them, and tiles that nothing reads any more dropped. Every
 * move asks depend.c first.                                                                                              */
#include "nest/nest.h"

#include <string.h>

/* ---- What a nest touches ---- */

/* May all of b's accesses happen before, or between, those of a? `allowed` says which meetings do no harm. */
typedef bool (*meeting_fn)(const clpi_nest *na, uint32_t a, const clpi_nest *nb, uint32_t b, clpi_depend how);

static bool only_harmless(const clpi_program *p, const clpi_nest *na, const clpi_nest *nb, meeting_fn allowed)
{
    for (uint32_t i = 0; i < na->accesses.n; i++)
        for (uint32_t j = 0; j < nb->accesses.n; j++) {
            if (!clpi_nest_writes(na, i) && !clpi_nest_writes(nb, j))
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

/* ---- Nests of one domain ---- */

static uint32_t reduced_of(const clpi_nest *n)
{
    uint32_t reduced = 0;
    for (uint32_t o = 0; o < n->outs.n; o++)
        reduced |= n->outs.items[o].kind == CLPI_OUT_REDUCE ? n->outs.items[o].reduced : 0;
    return reduced;
}

static bool is_free_of_order(const clpi_nest *n)
{
    for (uint32_t o = 0; o < n->outs.n; o++)
        if (n->outs.items[o].kind == CLPI_OUT_ATOMIC)
            return false;
    return !n->in_order;
}

/* What is reduced, or scanned, is innermost, and a scan goes through it in order: one thing for all of a nest. */
static bool agree_on_order(const clpi_nest *na, const clpi_nest *nb)
{
    const clpi_node *sa = clpi_scan_of(na), *sb = clpi_scan_of(nb);
    uint32_t ra = reduced_of(na), rb = reduced_of(nb);
    if (sa || sb)
        return ra == 0 && rb == 0 && (!sa || !sb || (sa->ix.dim == sb->ix.dim && sa->bits == sb->bits));
    return ra == rb || ra == 0 || rb == 0;
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
    if (!clpi_nest_writes(na, a))
        return store_at(nb, b) != NULL;
    const clpi_access *x = &na->accesses.items[a], *y = &nb->accesses.items[b];
    return store_at(na, a) && !clpi_nest_writes(nb, b) && x->is_tile && x->mask < 0 && y->mask < 0 && !x->checked;
}

static bool can_merge(const clpi_program *p, const clpi_step *a, const clpi_step *b)
{
    if (a->kind != CLPI_STEP_NEST || b->kind != CLPI_STEP_NEST || a->nest->rank == 0 || a->nest->rank != b->nest->rank)
        return false;
    const clpi_nest *na = a->nest, *nb = b->nest;
    return memcmp(na->extent, nb->extent, (size_t)na->rank * sizeof *na->extent) == 0 && is_free_of_order(na) && is_free_of_order(nb) &&
           agree_on_order(na, nb) && only_harmless(p, na, nb, at_one_point);
}

static void merge(clpi_program *p, clpi_step *a, const clpi_step *b)
{
    clpi_nest *n = clpi_nest_like(p, a->nest);
    const clpi_nest *nb = b->nest;
    int *forward = CLPI_NEW_N(p->arena, int, nb->nodes.n + 1);
    if (!n || !forward)
        return;
    clpi_nest_append(p, n, a->nest, NULL);
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
    clpi_nest_append(p, n, nb, forward);
    a->nest = n;
    a->op = b->op;
}

/* May `first` be done after the n steps behind it? So it moves down to what is made of it: between a scan and its use often stands a nest that
 * works something out for each row. */
static bool may_wait(const clpi_program *p, const clpi_step *first, clpi_step *const *behind, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!only_harmless(p, first->nest, behind[i]->nest, never))
            return false;
    return true;
}

/* Merges s into the nearest of the n steps before it that it can be merged with, which goes to the end then. */
static bool merge_into(clpi_program *p, clpi_step **before, uint32_t n, const clpi_step *s)
{
    for (uint32_t i = n; i-- > 0 && before[i]->kind == CLPI_STEP_NEST;) {
        clpi_step *into = before[i];
        if (!can_merge(p, into, s) || !may_wait(p, into, &before[i + 1], n - i - 1))
            continue;
        memmove(&before[i], &before[i + 1], (n - i - 1) * sizeof *before);
        before[n - 1] = into;
        merge(p, into, s);
        return true;
    }
    return false;
}

static void merge_nests(clpi_program *p, clpi_steps *steps)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < steps->n; i++)
        if (!merge_into(p, steps->items, n, steps->items[i]))
            steps->items[n++] = steps->items[i];
    steps->n = n;
}

/* ---- Shared rows ---- */

static bool by_rows(const clpi_nest *na, uint32_t a, const clpi_nest *nb, uint32_t b, clpi_depend how)
{
    (void)how;
    return clpi_row_aligned(&na->accesses.items[a], &nb->accesses.items[b]);
}

/* Are the rows that a scan goes through rows in memory? Else it goes through them side by side, in lanes. */
static bool scans_rows(const clpi_nest *n, int dim)
{
    for (uint32_t i = 0; i < n->accesses.n; i++) {
        const clpi_access *a = &n->accesses.items[i];
        for (int d = 0; d < a->rank - 1; d++)
            if (a->ix[d].dim == dim)
                return false;
    }
    return dim > 0;
}

static bool has_rows(const clpi_step *s)
{
    if (s->kind != CLPI_STEP_NEST || s->nest->rank == 0 || s->nest->extent[0] < 2 || s->nest->in_order)
        return false;
    for (uint32_t o = 0; o < s->nest->outs.n; o++) {
        const clpi_out *out = &s->nest->outs.items[o];
        if (out->kind == CLPI_OUT_ATOMIC || (out->kind == CLPI_OUT_REDUCE && (out->reduced & 1)))
            return false;
    }
    const clpi_node *scan = clpi_scan_of(s->nest);
    return !scan || scans_rows(s->nest, scan->ix.dim);
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

/* ---- All of it ---- */

static void fuse_list(clpi_program *p, clpi_steps *steps)
{
    for (uint32_t i = 0; i < steps->n; i++) {
        fuse_list(p, &steps->items[i]->body);
        fuse_list(p, &steps->items[i]->other);
    }
    lift_scalars(p, steps);
    merge_nests(p, steps);
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
    clpi_split_scan_ends(p);
    fuse_list(p, &p->parts[CLPI_PART_EVERY]);
    if (!p->is_checked)          /* else checks stay in the order of the programs */
        clpi_peel(p);
    clpi_drop_dead_tiles(p);
    for (int part = 0; part < CLPI_N_PARTS; part++)
        share_list(p, &p->parts[part]);
    clpi_find_rows(p);
}
