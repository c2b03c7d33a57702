/* sync: where the work-items of a group wait for each other.
 *
 * In: stages of a simt schedule. Out: sync_before set. Decides by what each stage reads and writes of what the group shares,
 * its arrays and the operands' storages: a stage waits when it meets what an earlier one, since the last barrier, has written,
 * or writes what one has read. Loops, those over programs and sequences too, are gone round twice: the second time with what
 * the first left.                                                                                                         */
#include "cl/schedule.h"

#include <string.h>

/* Reads and writes of shared places: slots first, then storages. */
typedef struct { bool *reads, *writes; } touched;

typedef struct {
    clpi_cl_schedule *s;
    clpi_arena       *arena;
    uint32_t          n;          /* places */
} syncs;

static touched new_touched(const syncs *y)
{
    return (touched){ CLPI_NEW_N(y->arena, bool, y->n + 1), CLPI_NEW_N(y->arena, bool, y->n + 1) };
}

static void join(const syncs *y, touched *into, const touched *from)
{
    for (uint32_t i = 0; i < y->n; i++) {
        into->reads[i] |= from->reads[i];
        into->writes[i] |= from->writes[i];
    }
}

static void clear(const syncs *y, touched *t)
{
    memset(t->reads, 0, y->n * sizeof *t->reads);
    memset(t->writes, 0, y->n * sizeof *t->writes);
}

static bool meets(const syncs *y, const touched *before, const touched *now)
{
    for (uint32_t i = 0; i < y->n; i++)
        if ((now->writes[i] && (before->reads[i] || before->writes[i])) || (now->reads[i] && before->writes[i]))
            return true;
    return false;
}

static void touch_slot(touched *t, int slot, bool writes)
{
    if (slot >= 0)
        (writes ? t->writes : t->reads)[slot] = true;
}

static void touch_access(const syncs *y, touched *t, const clpi_access *a, bool writes)
{
    if (a->is_tile)
        touch_slot(t, y->s->tiles[a->target].slot, writes);
    else
        (writes ? t->writes : t->reads)[y->s->slots.n + (uint32_t)y->s->program->plan->storage[a->target]] = true;
}

static void touch_nest(const syncs *y, touched *t, const clpi_nest *n)
{
    for (uint32_t i = 0; i < n->nodes.n; i++)
        if (n->nodes.items[i].kind == CLPI_NODE_LOAD)
            touch_access(y, t, &n->accesses.items[n->nodes.items[i].access], false);
    for (uint32_t o = 0; o < n->outs.n; o++) {
        touch_access(y, t, &n->accesses.items[n->outs.items[o].access], true);
        if (n->outs.items[o].old >= 0)
            touch_access(y, t, &n->accesses.items[n->outs.items[o].old], true);
    }
}

/* What a stage touches itself, its bodies not counted. */
static void touch_stage(const syncs *y, touched *t, const clpi_stage *stage)
{
    const clpi_step *step = stage->step;
    if (step->nest)
        touch_nest(y, t, step->nest);
    if (step->dot) {
        touch_nest(y, t, step->dot->a);
        touch_nest(y, t, step->dot->b);
        touch_slot(t, stage->dot.a_slot, true);
        touch_slot(t, stage->dot.b_slot, true);
        touch_slot(t, y->s->tiles[step->dot->dest].slot, true);
    }
    if (step->kind == CLPI_STEP_SORT) {
        touch_slot(t, y->s->tiles[step->tile].slot, true);
        touch_slot(t, y->s->tiles[step->tile2].slot, true);
    }
    for (int i = 0; i < step->n_args; i++)
        touch_slot(t, y->s->tiles[step->args[i]].slot, false);
    touch_slot(t, stage->team_slot, true);
}

/* What a stage with a barrier of its own has touched since that, as it ends. A dot's last slice is read before it. */
static void leave_stage(const syncs *y, touched *t, touched *pending, const clpi_stage *stage)
{
    const clpi_dot *d = stage->step->dot;
    if (d && d->m > 0 && d->n > 0 && d->k > 0 && d->n_batch == 0) {
        clear(y, pending);
        clear(y, t);
        touch_slot(t, y->s->tiles[d->dest].slot, true);
    } else if (stage->team_slot >= 0) {
        clear(y, pending);
    }
}

static void visit_list(const syncs *y, clpi_stages *stages, touched *pending);

static void visit_bodies(const syncs *y, clpi_stage *stage, touched *pending)
{
    touched first = new_touched(y), second = new_touched(y);
    if (y->arena->failed)
        return;
    join(y, &first, pending);
    join(y, &second, pending);
    visit_list(y, &stage->body, &first);
    if (stage->step->kind == CLPI_STEP_BRANCH) {
        visit_list(y, &stage->other, &second);
    } else {
        join(y, &second, &first);
        visit_list(y, &stage->body, &second);
    }
    join(y, pending, &first);
    join(y, pending, &second);
}

static void visit_list(const syncs *y, clpi_stages *stages, touched *pending)
{
    touched own = new_touched(y);
    for (uint32_t i = 0; i < stages->n && !y->arena->failed; i++) {
        clpi_stage *stage = &stages->items[i];
        clear(y, &own);
        touch_stage(y, &own, stage);
        if (stage->sync_before || meets(y, pending, &own)) {
            stage->sync_before = true;
            clear(y, pending);
        }
        leave_stage(y, &own, pending, stage);
        join(y, pending, &own);
        if (stage->body.n || stage->other.n)
            visit_bodies(y, stage, pending);
    }
}

bool clpi_place_syncs(clpi_cl_schedule *s, clpi_arena *arena)
{
    syncs y = { s, arena, s->slots.n + (uint32_t)s->program->ir->n_operands };
    touched pending = new_touched(&y);
    if (arena->failed)
        return false;
    for (int sequence = 0; sequence < 2; sequence++) {
        visit_list(&y, &s->parts[CLPI_PART_FIRST], &pending);
        for (int round = 0; round < 2; round++)
            visit_list(&y, &s->parts[CLPI_PART_EVERY], &pending);
        visit_list(&y, &s->parts[CLPI_PART_LAST], &pending);
    }
    return !arena->failed;
}
