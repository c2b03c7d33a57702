/* oracle: where the programs of a racy kernel are in each other's way.
 * In: a kernel as data. Out: a verdict for each element. Programs run one after another on a memory of numbers, only to
 * know what is written where it was already; then all accesses are compared with all others.                            */
#include <stdlib.h>
#include <string.h>

#include "racy.h"

static int value_of(const oracle *o, const linear *l)
{
    int sum = 0;
    for (int v = 0; v < N_VARS; v++)
        sum += l->c[v] * o->ids[v];
    return sum % l->mod;
}

static int by_table(const oracle *o, const linear *l)
{
    linear at = *l;
    at.mod = TABLE;
    return o->r->table[value_of(o, &at)] % l->mod;
}

static int lane_place(const oracle *o, const statement *s, int lane)
{
    switch (s->place) {
    case AT: return value_of(o, &s->start);
    case RANGE: return value_of(o, &s->start) + lane * s->stride;
    case TILE: return (lane * s->stride + value_of(o, &s->start)) % s->start.mod;
    case TABLE_AT: return by_table(o, &s->start);
    default: return lane;
    }
}

static void note(oracle *o, const statement *s, int element, int64_t value)
{
    const int storage = o->r->names[s->name].storage;
    int64_t *at = &o->memory[storage][element], before = *at;
    if (o->n_events == MAX_EVENTS)
        abort();
    switch (s->kind) {
    case STORE:
    case XCHG: *at = value; break;
    case ADD: *at += value; break;
    case MAX: *at = value > *at ? value : *at; break;
    case CAS: *at = *at == 0 ? value : *at; break;
    default: break;
    }
    o->events[o->n_events++] = (event){ o->sequence, storage, element, s->kind == LOAD ? READ : s->kind == STORE ? WRITE : UPDATE,
                                        *at != before };
}

static void run_statement(oracle *o, const statement *s)
{
    const named *x = &o->r->names[s->name];
    const int map = !x->has_block ? 0 : x->by_table ? by_table(o, &x->map) : value_of(o, &x->map);
    const int base = !x->has_block ? 0 : x->is_window ? map : map * x->block;
    const int64_t value = s->content == CONSTANT ? s->constant : s->content == PROGRAM ? value_of(o, &s->value) : (o->s + 1) % 7;
    int64_t sum = 0;
    if (s->has_condition && value_of(o, &s->condition) != 0)
        return;
    for (int lane = 0; lane < s->lanes; lane++) {
        const int element = base + lane_place(o, s, lane);
        const bool is_hidden = s->has_mask && (lane + value_of(o, &s->mask)) % s->mask.mod >= s->mask_below;
        if (is_hidden || element >= o->r->n_elems[x->storage])
            continue;
        sum += o->memory[x->storage][element];
        note(o, s, element, value);
    }
    if (s->kind == LOAD)
        o->s = (o->s + sum) % 7;
}

static void run_program(oracle *o)
{
    o->s = 0;
    for (int k = 0; k < o->r->n_statements; k++) {
        const statement *s = &o->r->statements[k];
        for (int e = 0; e < (s->turns ? s->turns : 1); e++) {
            o->ids[3] = e;
            run_statement(o, s);
        }
        o->ids[3] = 0;
    }
}

/* Sequences in row-major order of the parallel axes, the programs of each in that of the others. */
static void run_all(oracle *o)
{
    const racy *r = o->r;
    int n_sequences = 1, n_steps = 1;
    for (int a = 0; a < r->n_axes; a++)
        *(r->is_arbitrary[a] ? &n_steps : &n_sequences) *= (int)r->box_count[a];
    o->ids[4] = 1;
    for (o->sequence = 0; o->sequence < n_sequences; o->sequence++)
        for (int step = 0; step < n_steps; step++) {
            int rest[2] = { o->sequence, step };
            for (int a = r->n_axes - 1; a >= 0; a--) {
                int *from = &rest[r->is_arbitrary[a]];
                o->ids[a] = (int)r->box_start[a] + *from % (int)r->box_count[a];
                *from /= (int)r->box_count[a];
            }
            run_program(o);
        }
}

static verdict judge(const event *first, const event *then)
{
    if (first->sequence == then->sequence || first->storage != then->storage || first->element != then->element)
        return NONE;
    if (first->touch != WRITE && then->touch != WRITE)
        return first->touch == then->touch ? NONE : HARD;
    return (then->touch == WRITE ? then : first)->has_changed ? HARD : SOFT;
}

void oracle_ask(oracle *o, const racy *r, event *events)
{
    *o = (oracle){ .r = r, .events = events };
    for (int s = 0; s < o->r->n_storages; s++)
        for (int e = 0; e < o->r->n_elems[s]; e++)
            o->memory[s][e] = o->r->start[s][e];
    run_all(o);
    for (int a = 0; a < o->n_events; a++)
        for (int b = a + 1; b < o->n_events; b++) {
            const verdict v = judge(&o->events[a], &o->events[b]);
            verdict *at = &o->verdict[o->events[a].storage][o->events[a].element];
            *at = v > *at ? v : *at;
        }
}
