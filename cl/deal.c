/* deal: how the work-items of a group share domains, and which tiles stay in their registers (simt).
 *
 * In: a program, limits. Out: the size of the group, the teams of each number of rows, the tiles that are owned. A tile is owned when each
 * of its elements is only ever wanted by the work-item that a nest or dot of its shape deals it to, or, of tiles with one element
 * for each row, by the team: then no memory, and no barrier, stands between the steps. Everything is assumed to be owned first, and
 * what speaks against it is taken away until nothing does.
 *
 * What it gains (f32 matmul, blocks of 128): sums stay in 64 registers of each of 256 work-items, where 16 KiB were read and written
 * in global memory for every block of k.                                                                                      */
#include "cl/schedule.h"

#include <string.h>

enum {
    GROUP_MIN = 64, GROUP_MAX = 256,      /* 256: what GPUs grant; a warp of 32 or 64 holds whole teams */
    DOT_WORK = 64,                /* sums of one work-item where a program has one dot: 16 multiply-adds for each vector from local memory */
    SHARED_WORK = 32,             /* elements where values of several dots, or rows, are alive together: registers for a quarter of all work-items */
    TEAM_MAX = 32,                /* a row read by so many, four elements each, is read in whole cache lines */
    /* Registers that a work-item may spend on a tile, on a tile of one element a row, and on all that are alive together. */
    TILE_WORDS = 64, ROW_WORDS = 16, ALL_WORDS = 96
};

typedef struct {
    clpi_cl_schedule *s;
    clpi_arena       *arena;
    bool              has_changed;
    int64_t           n_dots, dot_elems, nest_elems;
} deals;

static void each_step(deals *x, const clpi_steps *steps, void (*fn)(deals *x, const clpi_step *step))
{
    for (uint32_t i = 0; i < steps->n; i++) {
        fn(x, steps->items[i]);
        each_step(x, &steps->items[i]->body, fn);
        each_step(x, &steps->items[i]->other, fn);
    }
}

static void each_of_program(deals *x, void (*fn)(deals *x, const clpi_step *step))
{
    for (int part = 0; part < CLPI_N_PARTS; part++)
        each_step(x, &x->s->program->parts[part], fn);
}

static int64_t product(const int64_t *shape, int from, int rank)
{
    int64_t n = 1;
    for (int d = from; d < rank; d++)
        n *= shape[d];
    return n;
}

/* ---- The group ---- */

static void add_work(deals *x, const clpi_step *step)
{
    if (step->dot) {
        x->n_dots++;
        x->dot_elems += step->dot->m * step->dot->n;
    } else if (step->kind == CLPI_STEP_NEST) {
        int64_t n = product(step->nest->extent, 0, step->nest->rank);
        x->nest_elems = n > x->nest_elems ? n : x->nest_elems;
    }
}

static uint64_t group_size(deals *x)
{
    each_of_program(x, add_work);
    int64_t wanted = x->n_dots == 0 ? x->nest_elems / SHARED_WORK : x->dot_elems / (x->n_dots == 1 ? DOT_WORK : SHARED_WORK);
    uint64_t size = 1;
    while (size * 2 <= x->s->limits.group_size && size < GROUP_MAX && (size < GROUP_MIN || (int64_t)size < wanted))
        size *= 2;
    return size;
}

/* ---- Teams ---- */

static clpi_row_deal *find_rows(const clpi_cl_schedule *s, int64_t m)
{
    for (uint32_t i = 0; i < s->row_deals.n; i++)
        if (s->row_deals.items[i].m == m)
            return &s->row_deals.items[i];
    return NULL;
}

static void note_rows(deals *x, int64_t m, int64_t n, bool is_dot)
{
    clpi_row_deal *rows = find_rows(x->s, m);
    if (!rows) {
        if (!CLPI_PUSH(x->arena, &x->s->row_deals, ((clpi_row_deal){ .m = m })))
            return;
        rows = &x->s->row_deals.items[x->s->row_deals.n - 1];
    }
    if (is_dot && !rows->has_dot)
        *rows = (clpi_row_deal){ .m = m, .has_dot = true };
    if (is_dot == rows->has_dot && n > rows->widest)
        rows->widest = n;
}

static void note_domain(deals *x, const clpi_step *step)
{
    if (step->dot)
        note_rows(x, step->dot->m, step->dot->n, true);
    else if (step->kind == CLPI_STEP_NEST && step->nest->rank > 0)
        note_rows(x, step->nest->extent[0], product(step->nest->extent, 1, step->nest->rank), false);
}

/* Of a dot: as near to a square for each work-item as can be, since x and y are then read least often. Else a team wide enough
 * to read rows well, and as many teams as rows allow. Teams divide the rows: all go round loops with barriers equally often. */
static int choose_teams(const clpi_cl_schedule *s, const clpi_row_deal *rows)
{
    int64_t group = (int64_t)s->group_size, team = 1, best = 1, least = INT64_MAX;
    while (team * 2 <= TEAM_MAX && team * 2 <= rows->widest / 4 && team * 2 <= group)
        team *= 2;
    for (int64_t teams = 1; teams <= group && rows->m % teams == 0; teams *= 2) {
        int64_t sides = rows->m / teams + clpi_cdiv(rows->widest, group / teams);
        if (rows->has_dot ? sides < least : teams * team <= group) {
            best = teams;
            least = sides;
        }
    }
    return (int)best;
}

clpi_deal clpi_deal_of(const clpi_cl_schedule *s, int rank, const int64_t *shape)
{
    clpi_deal d = { .m = shape[0], .n = product(shape, 1, rank) };
    const clpi_row_deal *rows = find_rows(s, d.m);
    d.teams = rows ? rows->teams : 1;
    d.team = (int)s->group_size / d.teams;
    d.rows = (int)(d.m / d.teams);
    d.row_run = rows && rows->has_dot ? s->run : 1;
    while (d.rows % d.row_run)
        d.row_run /= 2;
    d.column_run = s->run;
    while (d.column_run > 1 && (shape[rank - 1] % d.column_run || d.n < (int64_t)d.column_run * d.team))
        d.column_run /= 2;
    if (rank == 1)
        d.column_run = 1;
    d.columns = (int)clpi_cdiv(d.n, (int64_t)d.team * d.column_run) * d.column_run;
    return d;
}

/* ---- Owners ---- */

bool clpi_is_row_tile(const clpi_tile *t)
{
    return product(t->shape, 1, t->rank) == 1;
}

static int64_t words(const clpi_cl_schedule *s, const clpi_tile *t)
{
    clpi_deal d = clpi_deal_of(s, t->rank, t->shape);
    return (int64_t)d.rows * (clpi_is_row_tile(t) ? 1 : d.columns) * (clpi_rep_bytes(t->dtype) > 4 ? 2 : 1);
}

static bool may_be_owned(const clpi_cl_schedule *s, const clpi_tile *t)
{
    return t->rank > 0 && t->dtype != CLP_BOOL && !t->is_reshaped && product(t->shape, 0, t->rank) > 0 &&
           words(s, t) <= (clpi_is_row_tile(t) ? ROW_WORDS : TILE_WORDS);
}

static void disown(deals *x, int tile)
{
    x->has_changed = x->has_changed || x->s->is_owned[tile];
    x->s->is_owned[tile] = false;
}

static void disown_all(deals *x, const clpi_nest *n)
{
    for (uint32_t i = 0; i < n->accesses.n; i++)
        if (n->accesses.items[i].is_tile)
            disown(x, n->accesses.items[i].target);
}

/* Does each point of the domain touch just the element, or the row, that stands at the same place of the tile? */
static bool is_own(const clpi_cl_schedule *s, const clpi_nest *n, const clpi_access *a, bool is_store)
{
    const clpi_tile *t = &s->program->tiles.items[a->target];
    bool is_row = clpi_is_row_tile(t);
    if (a->mask >= 0 || a->checked || a->rank != t->rank || !clpi_ix_is(&a->ix[0], 0) || t->shape[0] != n->extent[0] ||
        (is_row ? is_store && product(n->extent, 1, n->rank) != 1 : t->rank != n->rank))
        return false;
    for (int d = 1; d < t->rank; d++)
        if (is_row ? a->ix[d].node >= 0 || a->ix[d].add != 0 || (a->ix[d].dim >= 0 && n->extent[a->ix[d].dim] != 1)
                   : !clpi_ix_is(&a->ix[d], d) || t->shape[d] != n->extent[d])
            return false;
    return true;
}

bool clpi_is_teamable(const clpi_nest *n)
{
    bool is_good = n->rank > 0 && !n->in_order && !clpi_scan_of(n) && product(n->extent, 0, n->rank) > 0;
    for (uint32_t o = 0; o < n->outs.n; o++) {
        const clpi_out *out = &n->outs.items[o];
        bool reduces_rows = out->kind == CLPI_OUT_REDUCE && !clpi_is_arg(out->op) && n->rank > 1 &&
                            out->reduced == (1u << n->rank) - 2;
        is_good = is_good && (out->kind == CLPI_OUT_STORE || reduces_rows);
    }
    return is_good;
}

/* Every member of a team works out what belongs to a row, and one of them stores in memory: who comes late would read what that
 * one has stored. */
static bool row_overtakes(const clpi_cl_schedule *s, const clpi_nest *n)
{
    for (uint32_t o = 0; o < n->outs.n && product(n->extent, 1, n->rank) == 1; o++) {
        const clpi_access *to = &n->accesses.items[n->outs.items[o].access];
        if (!(to->is_tile && s->is_owned[to->target]) && clpi_loads_from(s->program, n, to))
            return true;
    }
    return false;
}

static void look_at_nest(deals *x, const clpi_nest *n)
{
    if (!clpi_is_teamable(n) || row_overtakes(x->s, n)) {
        disown_all(x, n);
        return;
    }
    for (uint32_t i = 0; i < n->accesses.n; i++) {
        const clpi_access *a = &n->accesses.items[i];
        bool is_store = false;
        for (uint32_t o = 0; o < n->outs.n; o++)
            is_store = is_store || (n->outs.items[o].kind == CLPI_OUT_STORE && n->outs.items[o].access == (int)i);
        if (a->is_tile && !is_own(x->s, n, a, is_store))
            disown(x, a->target);
    }
}

/* A work-item's sums are the tile itself when the group covers it once, without a rest. */
static bool owns_result(const clpi_cl_schedule *s, const clpi_dot *d)
{
    const clpi_tile *t = &s->program->tiles.items[d->dest];
    clpi_deal deal = clpi_deal_of(s, t->rank, t->shape);
    int most = clpi_rep_bytes(t->dtype) > 4 ? DOT_WORK / 4 : DOT_WORK;
    return t->rank == 2 && !clpi_is_row_tile(t) && deal.n == (int64_t)deal.team * deal.columns && deal.rows * deal.columns <= most;
}

static void look_at(deals *x, const clpi_step *step)
{
    if (step->kind == CLPI_STEP_NEST)
        look_at_nest(x, step->nest);
    else if (step->nest)
        disown_all(x, step->nest);
    if (step->dot) {
        disown_all(x, step->dot->a);
        disown_all(x, step->dot->b);
        if (!owns_result(x->s, step->dot))
            disown(x, step->dot->dest);
    }
    if (step->kind == CLPI_STEP_SORT) {
        disown(x, step->tile);
        disown(x, step->tile2);
    }
    for (int i = 0; i < step->n_args; i++)
        disown(x, step->args[i]);
}

/* Does the tile hold something at a step? Steps of a shared loop have one number, and run one after another here: shared has them,
 * and it is step `at` of these.                                                                                          */
static bool is_alive(const clpi_cl_schedule *s, int tile, int number, const clpi_steps *shared, uint32_t at)
{
    const clpi_tile *t = &s->program->tiles.items[tile];
    if (!shared)
        return t->first <= number && number <= t->last;
    return (t->first < number || clpi_steps_use(s->program, shared->items, at + 1, tile)) &&
           (t->last > number || clpi_steps_use(s->program, &shared->items[at], shared->n - at, tile));
}

/* Takes the largest away until the registers suffice for what is alive at a step. */
static void fit_step(deals *x, int number, const clpi_steps *shared, uint32_t at)
{
    const int64_t given = (int64_t)(x->s->limits.private_bytes / 4), room = given < ALL_WORDS ? given : ALL_WORDS;
    int64_t all = room + 1;
    while (all > room) {
        int64_t most = 0;
        int largest = -1;
        all = 0;
        for (uint32_t t = 0; t < x->s->program->tiles.n; t++) {
            int64_t n = x->s->is_owned[t] && is_alive(x->s, (int)t, number, shared, at) ? words(x->s, &x->s->program->tiles.items[t]) : 0;
            all += n;
            if (n > most) {
                most = n;
                largest = (int)t;
            }
        }
        if (all > room)
            disown(x, largest);
    }
}

static void fit(deals *x, const clpi_steps *steps)
{
    for (uint32_t i = 0; i < steps->n; i++) {
        const clpi_step *step = steps->items[i];
        if (step->kind != CLPI_STEP_SHARED) {
            fit_step(x, step->number, NULL, 0);
            fit(x, &step->body);
            fit(x, &step->other);
        }
        for (uint32_t k = 0; step->kind == CLPI_STEP_SHARED && k < step->body.n; k++)
            fit_step(x, step->number, &step->body, k);
    }
}

bool clpi_choose_deals(clpi_cl_schedule *s, clpi_arena *arena)
{
    deals x = { .s = s, .arena = arena };
    s->run = s->limits.dissolves_vectors ? 1 : CLPI_WIDE;
    s->group_size = group_size(&x);
    each_of_program(&x, note_domain);
    for (uint32_t i = 0; i < s->row_deals.n; i++)
        s->row_deals.items[i].teams = choose_teams(s, &s->row_deals.items[i]);
    s->is_owned = CLPI_NEW_N(arena, bool, s->program->tiles.n + 1);
    if (!s->is_owned)
        return false;
    for (uint32_t t = 0; t < s->program->tiles.n; t++)
        s->is_owned[t] = may_be_owned(s, &s->program->tiles.items[t]);
    do {
        x.has_changed = false;
        each_of_program(&x, look_at);
        for (int part = 0; part < CLPI_N_PARTS && !x.has_changed; part++)
            fit(&x, &s->program->parts[part]);
    } while (x.has_changed);
    return !arena->failed;
}
