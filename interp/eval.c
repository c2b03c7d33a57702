/* eval: the walk over steps; loops and branches with their carried values.
 * In: a run whose refs and launch-wide values are set. Out: the effects of one program, in order.
 * Decides nothing: every step knows its function and its memory.                                                        */
#include <assert.h>
#include <string.h>

#include "interp/interp.h"

bool clpi_interp_walk(clpi_run *run, const clpi_eval_step *steps, uint32_t begin, uint32_t end)
{
    if (run->seen)
        return clpi_watch_walk(run, steps, begin, end);
    for (uint32_t i = begin; i < end; i = steps[i].end)
        if (!steps[i].eval(run, &steps[i]))
            return false;
    return true;
}

/* ---- Carried values ---- */

static void move_all(const clpi_run *run, const clpi_move *moves, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (run->val[moves[i].to] != run->val[moves[i].from])
            memcpy(run->val[moves[i].to], run->val[moves[i].from], moves[i].bytes);
}

/* The same by way of temp, so that values may change places. */
static void move_staged(const clpi_run *run, const clpi_eval_step *s, const clpi_move *moves, uint32_t n)
{
    uint8_t *temp = run->tiles + s->temp;
    for (uint32_t i = 0; i < n; temp += moves[i].bytes, i++)
        memcpy(temp, run->val[moves[i].from], moves[i].bytes);
    temp = run->tiles + s->temp;
    for (uint32_t i = 0; i < n; temp += moves[i].bytes, i++)
        memcpy(run->val[moves[i].to], temp, moves[i].bytes);
}

static void move_nexts(const clpi_run *run, const clpi_eval_step *s, const clpi_region *region)
{
    if (region->is_staged)
        move_staged(run, s, region->nexts, region->n);
    else
        move_all(run, region->nexts, region->n);
}

/* The steps behind s in its own list: a region is walked by the steps' numbers. */
static const clpi_eval_step *list_of(const clpi_run *run)
{
    return run->exe->body.items;
}

/* One turn; false: the run is over. */
static bool turn(clpi_run *run, const clpi_eval_step *s, const clpi_eval_step *steps)
{
    if (run->watch && clpi_watch_stops(run))
        return false;
    return clpi_interp_walk(run, steps, (uint32_t)(s - steps) + 1, s->end);
}

static bool eval_for(clpi_run *run, const clpi_eval_step *s)
{
    const clpi_region *region = s->info;
    const clpi_eval_step *steps = list_of(run);
    int64_t lo = *(const int32_t *)run->val[s->a], hi = *(const int32_t *)run->val[s->b];
    move_all(run, region->inits, region->n);
    for (int64_t i = lo; region->step > 0 ? i < hi : i > hi; i += region->step) {
        *(int32_t *)run->val[region->index] = (int32_t)i;
        if (!turn(run, s, steps))
            return false;
        move_nexts(run, s, region);
    }
    return true;
}

static bool eval_while(clpi_run *run, const clpi_eval_step *s)
{
    const clpi_region *region = s->info;
    const clpi_eval_step *steps = list_of(run);
    bool goes_on = *(const uint8_t *)run->val[region->condition] != 0;
    move_all(run, region->inits, region->n);
    while (goes_on) {
        if (!turn(run, s, steps))
            return false;
        goes_on = *(const uint8_t *)run->val[region->next_condition] != 0;
        move_nexts(run, s, region);
    }
    return true;
}

static bool eval_if(clpi_run *run, const clpi_eval_step *s)
{
    const clpi_region *region = s->info;
    const clpi_eval_step *steps = list_of(run);
    uint32_t begin = (uint32_t)(s - steps) + 1;
    bool is_then = *(const uint8_t *)run->val[region->condition] != 0;
    if (!clpi_interp_walk(run, steps, is_then ? begin : region->mid, is_then ? region->mid : s->end))
        return false;
    move_all(run, is_then ? region->nexts : region->elses, region->n);
    return true;
}

/* ---- Compiling regions ---- */

/* Moves of the values args[first ..] to the cells from `cell` on. */
static clpi_move *moves_of(const clpi_compiler *c, const clpi_op *op, uint32_t first, uint32_t cell)
{
    const clpi_ir *ir = c->exe->ir;
    const clp_val *args = clpi_args(ir, op);
    clpi_move *moves = CLPI_NEW_N(&c->exe->arena, clpi_move, op->n_args - first + 1);
    for (uint32_t k = first; moves && k < op->n_args; k++) {
        const clpi_type *t = clpi_type_of(ir, args[k]);
        moves[k - first] = (clpi_move){ cell + k - first, clpi_interp_root(c, args[k]), (size_t)clpi_type_elems(t) * clpi_rep_bytes(t->dtype) };
    }
    return moves;
}

/* Some move reads a cell that an earlier one has written. */
static bool overtakes(const clpi_move *moves, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (moves[i].from == moves[k].to && moves[i].from != moves[i].to)
                return true;
    return false;
}

/* A region ends before `end`; its yield is the op before that. */
static const clpi_op *yield_before(const clpi_ir *ir, uint32_t end)
{
    const clpi_op *yield = &ir->ops.items[end - 1];
    assert(yield->kind == CLP_OP_yield);
    return yield;
}

clp_status clpi_prepare_region(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    const clpi_ir *ir = c->exe->ir;
    uint32_t cell = c->cell[s->op];
    bool is_for = op->kind == CLP_OP_for, is_while = op->kind == CLP_OP_while;
    clpi_region *region = CLPI_NEW(&c->exe->arena, clpi_region);
    if (!region)
        return CLP_ERR_OOM;
    s->info = region;
    s->eval = is_for ? eval_for : is_while ? eval_while : eval_if;
    region->n = op->n_args - (is_for ? 2 : 1);
    region->step = (int64_t)op->attr;
    region->condition = s->a;
    region->index = cell;
    const clpi_op *yield = yield_before(ir, op->kind == CLP_OP_if ? op->mid : op->end);
    region->inits = moves_of(c, op, is_for ? 2 : 1, cell + (is_for ? 1 : 0));
    region->nexts = moves_of(c, yield, is_while ? 1 : 0, cell + (is_for ? 1 : 0));
    if (is_while)
        region->next_condition = clpi_interp_root(c, clpi_args(ir, yield)[0]);
    if (op->kind == CLP_OP_if)
        region->elses = moves_of(c, yield_before(ir, op->end), 0, cell);
    if (c->exe->arena.failed)
        return CLP_ERR_OOM;
    region->is_staged = op->kind != CLP_OP_if && overtakes(region->nexts, region->n);
    for (uint32_t i = 0; region->is_staged && i < region->n; i++)
        s->temp_bytes += region->nexts[i].bytes;
    return CLP_OK;
}

/* arg, yield and result only name memory: see compile.c. */
clp_status clpi_prepare_part(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    (void)c, (void)op, (void)s;
    assert(false && "no step is made of these");
    return CLP_ERR_INTERNAL;
}

clp_status clpi_prepare_reshape(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    return clpi_prepare_part(c, op, s);
}
