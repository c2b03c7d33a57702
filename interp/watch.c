/* watch: what a run tells to one who looks for faults.
 * In: places that accesses found, ops as they are done. Out: calls of the launch's watch (run/backend.h).
 * Decides what a row is: neighbours along the innermost loop, or lanes with one distance; what a mask hides and what does not
 * exist is left out. Values stay whole for a watch with `step` or `alter`: an operand whose place the result takes is set aside first,
 * a transpose that stands for its operand is made when it is asked for.                                                 */
#include <assert.h>
#include <string.h>

#include "interp/memory.h"

/* Of a watch with `step` or `alter`. */
struct clpi_watch_state {
    bool      is_hoisted_told;
    uint32_t  op;                 /* being told of */
    uint8_t  *aside;              /* operands whose places the result takes */
    struct { uint32_t root; const uint8_t *data; } kept[3];
    int       n_kept;
    uint8_t **dense;              /* [ops.n] of lazy transposes; else NULL */
};

/* ---- Touches ---- */

static void tell(const clpi_run *run, const clpi_touch *touch)
{
    if (run->watch->touch && touch->n > 0)
        run->watch->touch(run->watch->user, touch);
}

void clpi_watch_write(const clpi_run *run, const clpi_eval_step *s, int64_t at, int64_t step, int64_t n, bool is_done)
{
    const clpi_ref_access *x = s->info;
    clpi_touch touch = { CLPI_TOUCH_WRITE, s->op, x->operand, at, step, n };
    if (!is_done)
        tell(run, &touch);
    else if (run->watch->wrote && n > 0)
        run->watch->wrote(run->watch->user, &touch);
}

/* The runs of lanes lo .. hi that the mask lets through; NULL: all. */
static void tell_row(const clpi_run *run, clpi_touch *touch, int64_t at, const clpi_loop *row, const uint8_t *mask)
{
    for (int64_t i = row->lo, from; i < row->hi;) {
        while (mask && i < row->hi && !mask[i])
            i++;
        from = i;
        if (!mask)
            i = row->hi;
        while (mask && i < row->hi && mask[i])
            i++;
        touch->at = at + from * row->step;
        touch->step = row->step;
        touch->n = i - from;
        tell(run, touch);
    }
}

void clpi_watch_rows(const clpi_run *run, const clpi_eval_step *s, const clpi_loops *loops)
{
    const clpi_ref_access *x = s->info;
    const uint8_t *mask = x->mask ? run->val[x->mask] : NULL;
    const clpi_loop *row = &loops->loop[loops->n - 1];
    clpi_touch touch = { .kind = CLPI_TOUCH_READ, .op = s->op, .operand = x->operand };
    clpi_rows rows;
    clpi_rows_init(&rows, loops);
    for (int64_t l = 0; clpi_rows_next(&rows); l += row->size)
        if (rows.is_inside)
            tell_row(run, &touch, rows.at, row, mask ? mask + l : NULL);
}

void clpi_watch_lanes(const clpi_run *run, const clpi_eval_step *s, clpi_touch_kind kind, const int64_t *at, const uint8_t *state)
{
    const clpi_ref_access *x = s->info;
    clpi_touch touch = { .kind = kind, .op = s->op, .operand = x->operand };
    for (int64_t l = 0; l < x->view.n; l++) {
        if (state[l])
            continue;
        if (touch.n == 1 && at[l] != touch.at)
            touch.step = at[l] - touch.at;
        if (touch.n > 0 && at[l] == touch.at + touch.n * touch.step) {
            touch.n++;
            continue;
        }
        tell(run, &touch);
        touch.at = at[l];
        touch.step = touch.n = 1;
    }
    tell(run, &touch);
}

/* The first op that reads the operand stands for all: a map's ops are evaluated together. */
void clpi_watch_header_read(const clpi_run *run, int operand, int64_t at)
{
    const clpi_ir *ir = run->exe->ir;
    uint32_t op = 1;
    while (op < ir->n_header && !(ir->ops.items[op].kind == CLP_OP_load && ir->ops.items[op].operand == operand))
        op++;
    assert(op < ir->n_header);
    tell(run, &(clpi_touch){ CLPI_TOUCH_READ, op, operand, at, 1, 1 });
}

/* ---- Values ---- */

/* A transpose of the last two axes, from its operand's memory. */
static void transpose(const clpi_type *t, const uint8_t *from, uint8_t *to)
{
    size_t bytes = clpi_rep_bytes(t->dtype);
    int64_t rows = t->shape[t->rank - 2], columns = t->shape[t->rank - 1], size = rows * columns;
    for (int64_t e = 0, n = clpi_type_elems(t); e < n; e++, to += bytes) {
        int64_t i = e % size / columns, j = e % columns;
        memcpy(to, from + (size_t)(e - e % size + j * rows + i) * bytes, bytes);
    }
}

static const void *value_of(const void *user, clp_val v)
{
    const clpi_run *run = user;
    const clpi_watch_state *seen = run->seen;
    uint32_t root = run->exe->root[v.id];
    const uint8_t *data = run->val[root];
    for (int i = 0; i < seen->n_kept && v.id != seen->op; i++)
        if (seen->kept[i].root == root)
            data = seen->kept[i].data;
    if (!seen->dense[v.id])
        return data;
    transpose(clpi_type_of(run->exe->ir, v), data, seen->dense[v.id]);
    return seen->dense[v.id];
}

/* Operands that stand where the result is going to. */
static void set_aside(const clpi_run *run, const clpi_eval_step *step)
{
    const clpi_ir *ir = run->exe->ir;
    const clpi_op *op = &ir->ops.items[step->op];
    clpi_watch_state *seen = run->seen;
    uint8_t *to = seen->aside;
    seen->n_kept = 0;
    for (uint32_t k = 0; step->in_place && k < op->n_args && k < 3; k++) {
        clp_val v = clpi_args(ir, op)[k];
        uint32_t root = run->exe->root[v.id];
        const clpi_type *t = clpi_type_of(ir, v);
        size_t bytes = (size_t)clpi_type_elems(t) * clpi_rep_bytes(t->dtype);
        if (run->val[root] != run->val[step->out])
            continue;
        memcpy(to, run->val[root], bytes);
        seen->kept[seen->n_kept].root = root;
        seen->kept[seen->n_kept++].data = to;
        to += clpi_align(bytes);
    }
}

static void tell_step(const clpi_run *run, const clpi_eval_step *step)
{
    const clpi_op *op = &run->exe->ir->ops.items[step->op];
    run->seen->op = step->op;
    if (run->watch->alter && op->type && !(clpi_ops[op->kind].flags & (CLP_READ | CLP_WRITE | CLP_REGION)))
        run->watch->alter(run->watch->user, step->op, run->val[step->out], value_of, run);
    if (run->watch->step)
        run->watch->step(run->watch->user, step->op, value_of, run);
}

bool clpi_watch_walk(clpi_run *run, const clpi_eval_step *steps, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i = steps[i].end) {
        set_aside(run, &steps[i]);
        if (!steps[i].eval(run, &steps[i]))
            return false;
        if (clpi_ops[run->exe->ir->ops.items[steps[i].op].kind].flags & CLP_REGION)
            run->seen->n_kept = 0;
        tell_step(run, &steps[i]);
    }
    return true;
}

/* ---- Opening, entering ---- */

static clp_status open_seen(clpi_run *run, clpi_arena *arena)
{
    const clpi_exe *exe = run->exe;
    const clpi_ir *ir = exe->ir;
    size_t most = 0;
    clpi_watch_state *seen = CLPI_NEW(arena, clpi_watch_state);
    uint8_t **dense = CLPI_NEW_N(arena, uint8_t *, (size_t)ir->ops.n + 1);
    for (uint32_t i = 0; dense && i < exe->body.n; i++) {
        const clpi_op *op = &ir->ops.items[exe->body.items[i].op];
        size_t bytes = 0;
        for (uint32_t k = 0; k < op->n_args && k < 3; k++) {
            const clpi_type *t = clpi_type_of(ir, clpi_args(ir, op)[k]);
            bytes += clpi_align((size_t)clpi_type_elems(t) * clpi_rep_bytes(t->dtype));
        }
        most = bytes > most && exe->body.items[i].in_place ? bytes : most;
    }
    for (uint32_t i = ir->n_header; dense && i < ir->ops.n; i++)
        if (exe->is_lazy[i]) {
            const clpi_type *t = &ir->types.items[ir->ops.items[i].type];
            dense[i] = CLPI_NEW_N(arena, uint8_t, (size_t)clpi_type_elems(t) * clpi_rep_bytes(t->dtype) + 1);
        }
    uint8_t *aside = CLPI_NEW_N(arena, uint8_t, most + 1);
    if (arena->failed)
        return CLP_ERR_OOM;
    seen->dense = dense;
    seen->aside = aside;
    run->seen = seen;
    return CLP_OK;
}

clp_status clpi_watch_open(clpi_run *run, clpi_arena *arena)
{
    run->spare = CLPI_NEW_N(arena, uint8_t, run->exe->spare_bytes + 1);
    if (!run->spare)
        return CLP_ERR_OOM;
    return run->watch->step || run->watch->alter ? open_seen(run, arena) : CLP_OK;
}

bool clpi_watch_stops(clpi_run *run)
{
    run->has_stopped = run->watch->stops && run->watch->stops(run->watch->user);
    return run->has_stopped;
}

void clpi_watch_enter(clpi_run *run, uint64_t sequence, uint64_t step)
{
    if (run->watch->enter)
        run->watch->enter(run->watch->user, sequence, step, run->program);
    if (!run->seen || run->seen->is_hoisted_told)
        return;
    (void)clpi_watch_walk(run, run->exe->hoisted.items, 0, run->exe->hoisted.n);       /* once more: what is altered is for the next */
    run->seen->is_hoisted_told = true;
}
