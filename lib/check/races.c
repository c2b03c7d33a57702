/* races: accesses of different sequences to one element, at least one a plain write, or an atomic against a plain read.
 * In: the touches of a run. Out: findings with both programs and both accesses.
 *
 * The first run keeps one word for each granule (owners.h), which tells racy ones from others. Only when there are some the
 * kernel runs again, to tell of each: the first accesses of each kind, whether the first writer changed anything, and the
 * pair of accesses that is worst. Racy granules take turns when their details would need more memory than the rest of 16
 * bytes for each granule.
 *
 * Decides which of two accesses is weaker: a pair is of the weaker kind when its plain write (of two writes the later one)
 * stored what was there, and no order that was tried makes the element another one: equal values may be the work of the
 * race. What nobody wrote is nothing that could be there already, and of what is made of it nothing is known. Of several
 * pairs that meet in a granule the worst is named: two writes, a write and a read, a write and an atomic, an atomic and a
 * read; among equals the first.                                                                                         */
#include <string.h>

#include "check/owners.h"
#include "check/tally.h"

/* ---- The first run ---- */

typedef struct races {
    clpi_check *check;
    clpi_owners owners;
    uint32_t    sequence;         /* the current one, from 1 */
} races;

static clp_status races_open(clpi_check *check, void **out_state)
{
    const clpi_bound *bound = check->snapshot.bound;
    *out_state = NULL;
    if (bound->n_sequences < 2 || bound->n_steps == 0 || check->snapshot.n_granules == 0)
        return CLP_OK;
    if (bound->n_sequences > CLPI_MAX_OWNER / bound->n_steps)
        return clpi_fail(check->env, CLP_ERR_UNSUPPORTED, "races: expected at most %lu programs to look at, got %llu times %llu; "
                         "a box of the grid has fewer", (unsigned long)CLPI_MAX_OWNER, (unsigned long long)bound->n_sequences,
                         (unsigned long long)bound->n_steps);
    races *r = CLPI_NEW(&check->snapshot.arena, races);
    if (!r)
        return CLP_ERR_OOM;
    r->check = check;
    *out_state = r;
    return clpi_owners_open(&r->owners, &check->snapshot.arena, check->snapshot.n_granules);
}

static void races_enter(void *state, uint64_t sequence, uint64_t step, const int64_t *program)
{
    (void)step, (void)program;
    ((races *)state)->sequence = (uint32_t)sequence + 1;
}

static void races_touch(void *state, const clpi_touch *touch)
{
    races *r = state;
    uint64_t first;
    int64_t step;
    int n_each;
    if (!clpi_shadow_row(r->check, touch, &first, &step, &n_each))
        return;
    if (step == n_each) {
        clpi_owners_touch(&r->owners, first, touch->n * n_each, touch->kind, r->sequence);
        return;
    }
    for (int64_t i = 0; i < touch->n; i++)
        clpi_owners_touch(&r->owners, first + (uint64_t)(i * step), n_each, touch->kind, r->sequence);
}

/* ---- Details of racy granules ---- */

typedef struct access { uint32_t program, op; } access;      /* programs are counted from 1; 0: none */

typedef struct detail {
    access   first[3];            /* by kind; of writes the last one of the first program that wrote */
    access   pair[2];             /* the worst so far, the earlier access first */
    uint64_t before;              /* what the granule held before the write at hand */
    uint32_t axes;                /* in which the sequences that touch it differ */
    uint8_t  rank;                /* of the pair; 0: none */
    uint8_t  met;                 /* a bit for each kind of pair that meets: 1 << RANK_ */
    bool     has_changed;         /* some write of the first sequence that wrote changed it */
} detail;

typedef struct details {
    races   *r;
    detail  *items;
    uint64_t base, n;             /* racy granules numbered base + 1 .. base + n */
    uint32_t program, begin;      /* the current one, and the first of its sequence */
    int64_t  id[CLPI_MAX_AXES];
    uint32_t other, axes;         /* the last program compared with the current one: axes in which they differ; 0: none */
    void    *memory;              /* of clpi_check_memory, which knows what is made of what nobody wrote */
} details;

enum { RANK_ATOMIC_READ, RANK_WRITE_ATOMIC, RANK_WRITE_READ, RANK_WRITE_WRITE, RANK_HARD };

/* How bad it is that `later` follows `earlier`; 0: not at all. has_changed: the earlier write did, changes: the later one. */
static uint8_t rank_of(clpi_touch_kind earlier, clpi_touch_kind later, bool has_changed, bool changes)
{
    bool w1 = earlier == CLPI_TOUCH_WRITE, w2 = later == CLPI_TOUCH_WRITE;
    if (!w1 && !w2)
        return earlier == later ? 0 : RANK_HARD + RANK_ATOMIC_READ;
    clpi_touch_kind other = w1 ? later : earlier;
    int rank = other == CLPI_TOUCH_WRITE ? RANK_WRITE_WRITE : other == CLPI_TOUCH_READ ? RANK_WRITE_READ : RANK_WRITE_ATOMIC;
    return (uint8_t)(rank + ((w2 ? changes : has_changed) ? RANK_HARD : 0));
}

static void program_of(const clpi_bound *bound, uint32_t program, int64_t *out_id)
{
    clpi_program_at(bound, (program - 1) / bound->n_steps, (program - 1) % bound->n_steps, out_id);
}

static uint32_t axes_between(details *d, uint32_t other)
{
    const clpi_check *check = d->r->check;
    int64_t id[CLPI_MAX_AXES];
    if (other == d->other)
        return d->axes;
    d->other = other;
    d->axes = 0;
    program_of(check->snapshot.bound, other, id);
    for (int i = 0; i < check->plan->n_parallel; i++) {
        int axis = check->plan->parallel[i];
        d->axes |= id[axis] != d->id[axis] ? UINT32_C(1) << axis : 0;
    }
    return d->axes;
}

static void meet(details *d, detail *g, const clpi_touch *touch, bool changes)
{
    const access now = { d->program, touch->op };
    for (int k = CLPI_TOUCH_READ; k <= CLPI_TOUCH_ATOMIC; k++) {
        const access *first = &g->first[k];
        if (first->program == 0 || first->program >= d->begin)
            continue;
        g->axes |= axes_between(d, first->program);
        uint8_t rank = rank_of((clpi_touch_kind)k, touch->kind, g->has_changed, changes);
        if (rank)
            g->met |= (uint8_t)(1u << rank % RANK_HARD);
        if (rank <= g->rank)
            continue;
        g->rank = rank;
        g->pair[0] = *first;
        g->pair[1] = now;
    }
    access *mine = &g->first[touch->kind];
    if (mine->program == 0 || (touch->kind == CLPI_TOUCH_WRITE && mine->program == now.program))
        *mine = now;
    if (touch->kind == CLPI_TOUCH_WRITE && mine->program >= d->begin)
        g->has_changed |= changes;
}

static void details_enter(void *user, uint64_t sequence, uint64_t step, const int64_t *program)
{
    details *d = user;
    const clpi_check *check = d->r->check;
    d->begin = (uint32_t)(sequence * check->snapshot.bound->n_steps) + 1;
    d->program = d->begin + (uint32_t)step;
    d->other = 0;
    clpi_check_memory.enter(d->memory, sequence, step, program);
    memcpy(d->id, program, (size_t)check->ir->n_axes * sizeof *program);
}

/* Did the write that is done store what was not there? Poison is no value: what is stored first was not there before, and what is
 * made of poison may be anything.                                                                                       */
static bool stores_new(const details *d, const detail *g, int operand, uint64_t granule)
{
    const clpi_snapshot *s = &d->r->check->snapshot;
    const bool is_first = !g->first[CLPI_TOUCH_WRITE].program && !g->first[CLPI_TOUCH_ATOMIC].program;
    return (is_first && s->regions[s->region_of[operand]].is_poisoned) || clpi_memory_is_unknown(d->memory, granule) ||
           g->before != clpi_shadow_bits(d->r->check, granule);
}

static void details_row(details *d, const clpi_touch *touch, bool is_done)
{
    const clpi_check *check = d->r->check;
    uint64_t first;
    int64_t step;
    int n_each;
    if (!clpi_shadow_row(check, touch, &first, &step, &n_each))
        return;
    for (int64_t i = 0; i < touch->n; i++)
        for (int k = 0; k < n_each; k++) {
            uint64_t granule = first + (uint64_t)(i * step) + (uint64_t)k, number = clpi_owners_number_of(&d->r->owners, granule);
            if (number <= d->base || number > d->base + d->n)
                continue;
            detail *g = &d->items[number - d->base - 1];
            if (touch->kind != CLPI_TOUCH_WRITE)
                meet(d, g, touch, false);
            else if (is_done)
                meet(d, g, touch, stores_new(d, g, touch->operand, granule));
            else
                g->before = clpi_shadow_bits(check, granule);
        }
}

static void details_touch(void *user, const clpi_touch *touch)
{
    clpi_check_memory.touch(((details *)user)->memory, touch);
    details_row(user, touch, false);
}

static void details_wrote(void *user, const clpi_touch *touch)
{
    details_row(user, touch, true);
}

/* ---- Findings ---- */

/* The operand to name: the one that is written, or updated. */
static int operand_of(const clpi_ir *ir, const detail *g)
{
    const clpi_op *a = &ir->ops.items[g->pair[0].op], *b = &ir->ops.items[g->pair[1].op];
    bool is_a = a->kind == CLP_OP_store || (b->kind != CLP_OP_store && (clpi_ops[a->kind].flags & CLP_WRITE));
    return is_a ? a->operand : b->operand;
}

/* All that the granule is part of: what it holds hangs on when programs run. */
static void unsettle(const clpi_check *check, uint64_t granule)
{
    int64_t element[CLP_MAX_RANK];
    for (int i = 0; i < check->ir->n_operands; i++) {
        if (!clpi_shadow_element(check, i, granule, element))
            continue;
        check->is_racing[i] = true;
        if (clpi_is_result(check, i))
            check->is_unsettled[i][clpi_element_number(check, i, element)] = true;
    }
}

static bool is_unsettled(const clpi_check *check, int operand, const int64_t *element)
{
    return clpi_is_result(check, operand) && check->is_unsettled[operand][clpi_element_number(check, operand, element)];
}

/* What a granule says of the element that it is part of; false: nothing. */
static bool found_of(const details *d, uint64_t granule, const detail *g, clpi_found *out)
{
    const clpi_check *check = d->r->check;
    const clpi_op *ops = check->ir->ops.items;
    int64_t element[CLP_MAX_RANK] = { 0 };
    *out = (clpi_found){ .operand = operand_of(check->ir, g), .n_programs = 2, .axes = g->axes };
    if (!clpi_shadow_element(check, out->operand, granule, element))
        return false;
    const bool is_weak = g->rank < RANK_HARD && !is_unsettled(check, out->operand, element);
    out->kind = is_weak                                                    ? CLP_FINDING_RACE_SAME_VALUE
                : ops[g->pair[0].op].operand != ops[g->pair[1].op].operand ? CLP_FINDING_ALIAS_RACE
                                                                         : CLP_FINDING_RACE;
    if (!is_weak)
        unsettle(check, granule);
    clpi_found_element(out, element, check->ir->operands[out->operand].rank);
    for (int i = 0; i < 2; i++) {
        out->op[i] = g->pair[i].op;
        program_of(check->snapshot.bound, g->pair[i].program, out->program[i]);
    }
    return true;
}

/* NULL: it is not racy, or another turn's. */
static const detail *detail_of(const details *d, uint64_t granule)
{
    const uint64_t number = clpi_owners_number_of(&d->r->owners, granule);
    const detail *g = number > d->base && number <= d->base + d->n ? &d->items[number - d->base - 1] : NULL;
    return g && g->rank ? g : NULL;
}

/* met: by any granule of the element. */
static clp_status report_element(clp_report *report, clpi_found *found, uint8_t rank, uint8_t met)
{
    const int pair = rank % RANK_HARD;
    if (found->operand < 0)
        return CLP_OK;
    found->is_read = pair == RANK_WRITE_WRITE && (met >> RANK_WRITE_READ & 1);
    found->is_updated = pair != RANK_WRITE_ATOMIC && (met >> RANK_WRITE_ATOMIC & 1);
    return clpi_report_add(report, found);
}

/* An element of several granules is one finding: the worst pair, the first among equals, and the axes of all. As it is no weak one when
 * any of them unsettles it, that is found out first. */
static clp_status report_details(const details *d)
{
    const clpi_check *check = d->r->check;
    const uint64_t n_granules = check->snapshot.n_granules;
    clpi_found worst = { .operand = -1 }, found;
    uint8_t rank = 0, met = 0;
    for (uint64_t granule = 0; granule < n_granules; granule++) {
        const detail *g = detail_of(d, granule);
        if (g && g->rank >= RANK_HARD)
            unsettle(check, granule);
    }
    for (uint64_t granule = 0; granule < n_granules; granule++) {
        const detail *g = detail_of(d, granule);
        if (!g || !found_of(d, granule, g, &found))
            continue;
        const bool is_next = found.operand == worst.operand && memcmp(found.element, worst.element, sizeof found.element) == 0;
        const uint32_t axes = found.axes | (is_next ? worst.axes : 0);
        if (!is_next)
            CLP_TRY(report_element(check->report, &worst, rank, met));
        met = (uint8_t)(g->met | (is_next ? met : 0));
        if (!is_next || g->rank > rank) {
            worst = found;
            rank = g->rank;
        }
        worst.axes = axes;
    }
    return report_element(check->report, &worst, rank, met);
}

static clp_status races_close(void *state)
{
    enum { FEW = 4096, ROOM = 10 };        /* 16 bytes less 4 for a word, 1 for what it holds and a little for its block */
    races *r = state;
    clpi_check *check = r->check;
    const uint64_t n_racy = r->owners.n_racy;
    if (r->owners.failed)
        return CLP_ERR_OOM;
    if (n_racy == 0)
        return CLP_OK;
    if (n_racy > CLPI_MAX_OWNER)
        return clpi_fail(check->env, CLP_ERR_UNSUPPORTED, "races: more than %lu elements race; a box of the grid has fewer",
                         (unsigned long)CLPI_MAX_OWNER);
    CLP_TRY(clpi_unsettled_open(check));
    clpi_owners_number(&r->owners);
    details d = { .r = r };
    uint64_t room = check->snapshot.n_granules * ROOM / sizeof(detail), cap = room > FEW ? room : FEW;
    cap = cap < n_racy ? cap : n_racy;
    d.items = CLPI_NEW_N(&check->snapshot.arena, detail, (size_t)cap);
    if (!d.items)
        return CLP_ERR_OOM;
    CLP_TRY(clpi_check_memory.open(check, &d.memory));
    const clpi_watch watch = { .user = &d, .enter = details_enter, .touch = details_touch, .wrote = details_wrote, .fault = clpi_go_on };
    for (; d.base < n_racy; d.base += d.n) {
        d.n = n_racy - d.base < cap ? n_racy - d.base : cap;
        memset(d.items, 0, (size_t)d.n * sizeof *d.items);
        clpi_snapshot_reset(check);
        CLP_TRY(clpi_snapshot_run(check, CLP_ORDER_FORWARD, 0, &watch));
        CLP_TRY(report_details(&d));
    }
    return CLP_OK;
}

const clpi_checker clpi_check_races = {
    .bit = CLP_CHECK_RACES,
    .open = races_open,
    .enter = races_enter,
    .touch = races_touch,
    .close = races_close,
};
