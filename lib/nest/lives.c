/* lives: which tiles are read, which are seen a row at a time, and from when to when each is alive.
 *
 * In: a program's steps. Out: outs and steps gone whose tiles nobody reads; is_row, numbers and lifetimes set.             */
#include "nest/nest.h"

#include <string.h>

static void nest_uses(const clpi_program *p, clpi_step *s, const clpi_step *shared, const clpi_nest *n, clpi_use_fn fn, void *user)
{
    for (uint32_t i = 0; i < n->accesses.n; i++)
        if (n->accesses.items[i].is_tile)
            fn(p, s, shared, n->accesses.items[i].target, &n->accesses.items[i], clpi_nest_writes(n, i), user);
}

void clpi_each_use(const clpi_program *p, const clpi_steps *steps, const clpi_step *shared, clpi_use_fn fn, void *user)
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
        clpi_each_use(p, &s->body, s->kind == CLPI_STEP_SHARED ? s : shared, fn, user);
        clpi_each_use(p, &s->other, shared, fn, user);
    }
}

typedef struct search { int tile; bool is_found; } search;

static void compare(const clpi_program *p, clpi_step *s, const clpi_step *shared, int tile, clpi_access *a, bool writes, void *user)
{
    search *x = user;
    (void)p, (void)s, (void)shared, (void)a, (void)writes;
    x->is_found = x->is_found || tile == x->tile;
}

bool clpi_steps_use(const clpi_program *p, clpi_step **steps, uint32_t n, int tile)
{
    search x = { tile, false };
    clpi_each_use(p, &(clpi_steps){ .items = steps, .n = n }, NULL, compare, &x);
    return x.is_found;
}

/* What an atomic is given depends on what was there. */
static bool is_atomic(const clpi_nest *n, const clpi_access *a)
{
    for (uint32_t o = 0; n && a && o < n->outs.n; o++)
        if (n->outs.items[o].kind == CLPI_OUT_ATOMIC && &n->accesses.items[n->outs.items[o].access] == a)
            return true;
    return false;
}

static void count_read(const clpi_program *p, clpi_step *s, const clpi_step *shared, int tile, clpi_access *a,
                       bool writes, void *user)
{
    (void)p, (void)shared;
    if (!writes || (!a && s->dot) || is_atomic(s->nest, a))
        ((int *)user)[tile] += 1;
}

/* Outs of a nest that go to tiles nobody reads, and what only they hang on; old values of atomics likewise. */
static bool drop_dead_outs(clpi_program *p, clpi_step *s, const int *reads)
{
    clpi_nest *n = s->nest;
    uint32_t kept = 0;
    for (uint32_t o = 0; o < n->outs.n; o++) {
        clpi_out out = n->outs.items[o];
        const clpi_access *a = &n->accesses.items[out.access];
        if (out.old >= 0 && reads[n->accesses.items[out.old].target] == 0)
            out.old = -1;
        if (out.kind == CLPI_OUT_ATOMIC || !a->is_tile || reads[a->target] > 0)
            n->outs.items[kept++] = out;
    }
    const bool shrank = kept < n->outs.n;
    n->outs.n = kept;
    clpi_nest *clean = clpi_nest_like(p, n);
    if (!clean)
        return false;
    clpi_nest_append(p, clean, n, NULL);
    s->nest = clean;
    return shrank || clean->accesses.n < n->accesses.n;
}

/* Of all nests; those that are left without outs go. */
static bool drop_dead(clpi_program *p, clpi_steps *steps, const int *reads)
{
    bool changed = false;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < steps->n; i++) {
        clpi_step *s = steps->items[i];
        changed |= drop_dead(p, &s->body, reads);
        changed |= drop_dead(p, &s->other, reads);
        if (s->kind == CLPI_STEP_NEST)
            changed |= drop_dead_outs(p, s, reads);
        if (s->kind != CLPI_STEP_NEST || s->nest->outs.n > 0)
            steps->items[kept++] = s;
    }
    steps->n = kept;
    return changed;
}

void clpi_drop_dead_tiles(clpi_program *p)
{
    int *reads = CLPI_NEW_N(p->arena, int, p->tiles.n + 1);
    bool changed = reads != NULL;
    while (changed) {
        memset(reads, 0, p->tiles.n * sizeof *reads);
        for (int part = 0; part < CLPI_N_PARTS; part++)
            clpi_each_use(p, &p->parts[part], NULL, count_read, reads);
        changed = false;
        for (int part = 0; part < CLPI_N_PARTS; part++)
            changed |= drop_dead(p, &p->parts[part], reads);
    }
}

typedef struct { const clpi_step **shared; bool *spoiled; } row_uses;

static void note_rows(const clpi_program *p, clpi_step *s, const clpi_step *shared, int tile, clpi_access *a,
                      bool writes, void *user)
{
    row_uses *u = user;
    (void)s, (void)writes;
    const clpi_tile *t = &p->tiles.items[tile];
    bool by_row = shared && a && t->rank > 0 && t->operand < 0 && !t->is_reshaped && a->rank == t->rank && clpi_ix_is(&a->ix[0], 0) &&
                  t->shape[0] == shared->extent;
    for (int d = 1; by_row && d < a->rank; d++)
        by_row = a->ix[d].dim != 0;
    if (!by_row || (u->shared[tile] && u->shared[tile] != shared))
        u->spoiled[tile] = true;
    u->shared[tile] = shared;
}

void clpi_find_rows(clpi_program *p)
{
    row_uses u = { CLPI_NEW_N(p->arena, const clpi_step *, p->tiles.n + 1), CLPI_NEW_N(p->arena, bool, p->tiles.n + 1) };
    if (!u.shared || !u.spoiled)
        return;
    for (int part = 0; part < CLPI_N_PARTS; part++)
        clpi_each_use(p, &p->parts[part], NULL, note_rows, &u);
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

static void note_life(const clpi_program *p, clpi_step *s, const clpi_step *shared, int tile, clpi_access *a,
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
        clpi_each_use(p, &p->parts[part], NULL, note_life, NULL);
        live_round_loops(p, &p->parts[part]);
    }
    for (uint32_t t = 0; t < p->tiles.n; t++)
        if (p->tiles.items[t].operand >= 0) {
            p->tiles.items[t].first = 0;
            p->tiles.items[t].last = p->n_steps;
        }
}

