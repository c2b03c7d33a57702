/* memory: loads and stores.
 * In: places of refs, values, masks. Out: tiles, or changed memory.
 * Decides when a load may stand for the array itself: nothing stores to that memory while the value lives, the place is
 * dense and whole, and both forms of an element are the same. A place without index tiles goes row by row; with tiles, or
 * when a mask hides indices out of range, lane by lane. Range faults are found before anything is touched.              */
#include <string.h>

#include "interp/memory.h"

/* ---- Faults ---- */

/* true: a watch wants the run to go on. */
static bool range_fault(const clpi_run *run, const clpi_ref_access *x, const uint8_t *mask)
{
    int64_t index[CLP_MAX_RANK] = { 0 };
    clpi_place_fault(run, &x->view, run->refs[x->operand].dim, mask, index);
    clpi_str text;
    clpi_str_init(&text, run->exe->host.env);
    clpi_index_message(run->bound, x->op, run->program, index, &text);
    return clpi_fail_run(run, &(clpi_fault){ .kind = CLPI_FAULT_INDEX, .op = x->op, .operand = x->operand, .index = index }, &text);
}

bool clpi_ref_access_lanes(const clpi_run *run, const clpi_eval_step *s, const clpi_ref_access *x, int64_t **out_at, uint8_t **out_state)
{
    const clpi_ref_state *ref = &run->refs[x->operand];
    const uint8_t *mask = x->mask ? run->val[x->mask] : NULL;
    uint8_t *temp = s->temp_bytes ? run->tiles + s->temp : run->spare;
    if (!temp)                              /* an index of the place is out of range, and nobody watches */
        return range_fault(run, x, mask);
    int64_t *at = (int64_t *)(void *)temp;
    uint8_t *state = temp + clpi_align((size_t)x->view.n * sizeof *at);
    if (!clpi_place_lanes(run, &x->view, ref->dim, ref->at, mask, at, state) && !range_fault(run, x, mask))
        return false;
    if (ref->is_empty)
        for (int64_t l = 0; l < x->view.n; l++)
            state[l] |= state[l] ? 0 : CLPI_LANE_GONE;
    *out_at = at;
    *out_state = state;
    return true;
}

/* ---- Loads ---- */

static uint8_t *tile_at(const clpi_ref_access *x, void *tile, int64_t i)
{
    return (uint8_t *)tile + i * (int64_t)clpi_held_of[x->dtype].bytes;
}

static void load_row(const clpi_ref_access *x, const clpi_ref_state *ref, const clpi_rows *rows, const clpi_loop *row, void *out)
{
    const clpi_held *held = &clpi_held_of[x->dtype];
    int64_t lo = rows->is_inside ? row->lo : 0, hi = rows->is_inside ? row->hi : 0;
    if (lo > 0)
        clpi_tile_fill(x->dtype, out, x->pad, lo);
    if (hi > lo) {
        if (held->is_same && row->step == 1)
            memcpy(tile_at(x, out, lo), ref->data + (rows->at + lo) * (int64_t)held->bytes, (size_t)(hi - lo) * held->bytes);
        else
            held->get_row(tile_at(x, out, lo), ref->data, rows->at + lo * row->step, row->step, hi - lo);
    }
    if (row->size > hi)
        clpi_tile_fill(x->dtype, tile_at(x, out, hi), x->pad, row->size - hi);
}

/* The place is dense and exists: the array's own memory is the tile. */
static bool load_alias(clpi_run *run, const clpi_eval_step *s, const clpi_ref_access *x, const clpi_loops *loops)
{
    const clpi_held *held = &clpi_held_of[x->dtype];
    const clpi_loop *row = &loops->loop[0];
    if (loops->n != 1 || loops->is_empty || row->step != 1 || row->lo != 0 || row->hi != row->size)
        return false;
    uint8_t *data = run->refs[x->operand].data + loops->at * (int64_t)held->bytes;
    if ((uintptr_t)data % held->bytes)
        return false;
    run->val[s->out] = data;
    return true;
}

static void load_lanes(clpi_run *run, const clpi_ref_access *x, void *out, const int64_t *at, const uint8_t *state)
{
    const clpi_held *held = &clpi_held_of[x->dtype];
    const clpi_ref_state *ref = &run->refs[x->operand];
    for (int64_t l = 0; l < x->view.n; l++) {
        void *to = tile_at(x, out, l);
        if (state[l] & CLPI_LANE_MASKED)
            clpi_elem_put(x->dtype, to, 0, x->other ? clpi_elem_get(x->dtype, run->val[x->other], l) : (clpi_elem){ 0 });
        else if (state[l])
            clpi_elem_put(x->dtype, to, 0, x->pad);
        else
            held->get_row(to, ref->data, at[l], 1, 1);
    }
}

/* Lanes that the mask hides: `other`, or 0. */
static void blend(const clpi_run *run, const clpi_ref_access *x, void *out)
{
    const uint8_t *mask = run->val[x->mask];
    size_t bytes = clpi_held_of[x->dtype].bytes;
    const uint8_t *other = x->other ? run->val[x->other] : NULL;
    for (int64_t l = 0; l < x->view.n; l++) {
        if (mask[l])
            continue;
        if (other)
            memcpy((uint8_t *)out + (size_t)l * bytes, other + (size_t)l * bytes, bytes);
        else
            memset((uint8_t *)out + (size_t)l * bytes, 0, bytes);
    }
}

static bool eval_load(clpi_run *run, const clpi_eval_step *s)
{
    const clpi_ref_access *x = s->info;
    const clpi_ref_state *ref = &run->refs[x->operand];
    void *out = run->tiles + run->exe->val_at[s->out];
    run->val[s->out] = out;
    if (x->view.n == 0)
        return true;
    clpi_loops loops;
    if (x->view.has_tiles || !clpi_place_loops(run, &x->view, ref->dim, ref->at, &loops)) {
        int64_t *at;
        uint8_t *state;
        if (!clpi_ref_access_lanes(run, s, x, &at, &state))
            return false;
        if (run->watch)
            clpi_watch_lanes(run, s, CLPI_TOUCH_READ, at, state);
        load_lanes(run, x, out, at, state);
        return true;
    }
    loops.is_empty |= ref->is_empty;
    if (run->watch)
        clpi_watch_rows(run, s, &loops);
    if (x->may_alias && load_alias(run, s, x, &loops))
        return true;
    clpi_rows rows;
    const clpi_loop *row = &loops.loop[loops.n - 1];
    clpi_rows_init(&rows, &loops);
    for (uint8_t *p = out; clpi_rows_next(&rows); p = tile_at(x, p, row->size))
        load_row(x, ref, &rows, row, p);
    if (x->mask)
        blend(run, x, out);
    return true;
}

/* ---- Stores ---- */

static inline void put_run(const clpi_ref_access *x, const clpi_ref_state *ref, int64_t at, int64_t step, const uint8_t *value, int64_t n)
{
    const clpi_held *held = &clpi_held_of[x->dtype];
    if (held->is_same && step == 1)
        memcpy(ref->data + at * (int64_t)held->bytes, value, (size_t)n * held->bytes);
    else
        held->put_row(ref->data, at, step, value, n);
}

static void put_watched(const clpi_run *run, const clpi_eval_step *s, int64_t at, int64_t step, const uint8_t *value, int64_t n)
{
    const clpi_ref_access *x = s->info;
    clpi_watch_write(run, s, at, step, n, false);
    put_run(x, &run->refs[x->operand], at, step, value, n);
    clpi_watch_write(run, s, at, step, n, true);
}

static inline void store_run(const clpi_run *run, const clpi_eval_step *s, const clpi_ref_state *ref, int64_t at, int64_t step,
                             const uint8_t *value, int64_t n)
{
    if (run->watch)
        put_watched(run, s, at, step, value, n);
    else
        put_run(s->info, ref, at, step, value, n);
}

/* One row; under a mask, each run of lanes that it lets through. */
static void store_row(const clpi_run *run, const clpi_eval_step *s, const clpi_ref_state *ref, int64_t at, const clpi_loop *row,
                      const uint8_t *value, const uint8_t *mask)
{
    int64_t bytes = (int64_t)clpi_held_of[((const clpi_ref_access *)s->info)->dtype].bytes;
    if (!mask) {
        store_run(run, s, ref, at + row->lo * row->step, row->step, value + row->lo * bytes, row->hi - row->lo);
        return;
    }
    for (int64_t i = row->lo; i < row->hi;) {
        int64_t from = i;
        while (i < row->hi && mask[i])
            i++;
        if (i > from)
            store_run(run, s, ref, at + from * row->step, row->step, value + from * bytes, i - from);
        while (i < row->hi && !mask[i])
            i++;
    }
}

static bool eval_store(clpi_run *run, const clpi_eval_step *s)
{
    const clpi_ref_access *x = s->info;
    const clpi_ref_state *ref = &run->refs[x->operand];
    const uint8_t *value = run->val[x->value[0]], *mask = x->mask ? run->val[x->mask] : NULL;
    int64_t bytes = (int64_t)clpi_held_of[x->dtype].bytes;
    if (x->view.n == 0)
        return true;
    clpi_loops loops;
    if (x->view.has_tiles || !clpi_place_loops(run, &x->view, ref->dim, ref->at, &loops)) {
        int64_t *at;
        uint8_t *state;
        if (!clpi_ref_access_lanes(run, s, x, &at, &state))
            return false;
        for (int64_t l = 0; l < x->view.n; l++)            /* in order: the highest lane wins */
            if (!state[l])
                store_run(run, s, ref, at[l], 1, value + l * bytes, 1);
        return true;
    }
    loops.is_empty |= ref->is_empty;
    clpi_rows rows;
    const clpi_loop *row = &loops.loop[loops.n - 1];
    clpi_rows_init(&rows, &loops);
    for (int64_t l = 0; clpi_rows_next(&rows); l += row->size)
        if (rows.is_inside && row->lo < row->hi)
            store_row(run, s, ref, rows.at, row, value + l * bytes, mask ? mask + l : NULL);
    return true;
}

/* ---- Scalars ---- */

static bool eval_scalar(clpi_run *run, const clpi_eval_step *s)
{
    const clpi_ref_access *x = s->info;
    clpi_elem_put(x->dtype, run->val[s->out], 0, run->bound->scalar[x->operand]);
    return true;
}

/* ---- Compiling ---- */

/* No op between the load and the last use of its value writes what the operand's storage holds. */
static bool stands_still(const clpi_compiler *c, uint32_t load, int operand)
{
    const clpi_ir *ir = c->exe->ir;
    const int *storage = c->exe->plan->storage;
    for (uint32_t i = load + 1; i <= c->last[load]; i++) {
        const clpi_op *op = &ir->ops.items[i];
        if ((clpi_ops[op->kind].flags & CLP_WRITE) && storage[op->operand] == storage[operand])
            return false;
    }
    return true;
}

clpi_ref_access *clpi_ref_access_new(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    const clpi_ir *ir = c->exe->ir;
    const clpi_operand *operand = &ir->operands[op->operand];
    clpi_ref_access *x = CLPI_NEW(&c->exe->arena, clpi_ref_access);
    if (!x)
        return NULL;
    s->info = x;
    x->operand = op->operand;
    x->dtype = operand->dtype;
    x->op = s->op;
    x->pad = clpi_elem_from_bits(x->dtype, operand->has_pad ? operand->pad_bits : clpi_poison_bits(x->dtype));
    clpi_view_init(c, op, 0, &x->view);
    x->mask = op->has_mask ? clpi_interp_root(c, clpi_op_mask(ir, op)) : 0;
    x->other = op->has_other ? clpi_interp_root(c, clpi_op_other(ir, op)) : 0;
    size_t lane_bytes = clpi_align((size_t)x->view.n * sizeof(int64_t)) + clpi_align((size_t)x->view.n);
    if (x->mask || x->view.has_tiles || (clpi_ops[op->kind].flags & (CLP_READ | CLP_WRITE)) == (CLP_READ | CLP_WRITE))
        s->temp_bytes = lane_bytes;
    else if (lane_bytes > c->exe->spare_bytes)
        c->exe->spare_bytes = lane_bytes;
    return x;
}

clp_status clpi_prepare_load(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    clpi_ref_access *x = clpi_ref_access_new(c, op, s);
    if (!x)
        return CLP_ERR_OOM;
    s->eval = c->exe->ir->operands[op->operand].role == CLP_SCALAR ? eval_scalar : eval_load;
    x->may_alias = clpi_held_of[x->dtype].is_same && !x->view.has_tiles && !x->mask && stands_still(c, s->op, op->operand);
    return CLP_OK;
}

clp_status clpi_prepare_store(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    clpi_ref_access *x = clpi_ref_access_new(c, op, s);
    if (!x)
        return CLP_ERR_OOM;
    s->eval = eval_store;
    x->value[0] = clpi_interp_root(c, clpi_op_value(c->exe->ir, op, 0));
    return CLP_OK;
}
