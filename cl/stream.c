/* stream: stores that may go past the caches.
 *
 * In: the stages of a program that runs in vectors. Out: for each the operands that it stores so when they are larger than the last cache:
 * a line that is written whole need not be fetched, and pushes nothing out. Of 128 MB a copy takes two thirds of the time, softmax four
 * fifths; of what fits the last cache a copy takes half as much again, and the next kernel finds nothing there. So the size decides, at
 * launch.                                                                                                                  */
#include "cl/schedule.h"

static bool is_read(const clpi_cl_schedule *s, int operand)
{
    const clpi_ir *ir = s->program->ir;
    const int *storage = s->program->plan->storage;
    for (uint32_t v = 0; v < ir->ops.n; v++) {
        const clpi_op *op = &ir->ops.items[v];
        if ((clpi_ops[op->kind].flags & CLP_READ) && op->operand >= 0 && storage[op->operand] == storage[operand])
            return true;
    }
    return false;
}

/* A line is written at once, or by the next turn of the innermost loop. */
static bool fills_lines(const clpi_cl_schedule *s, const clpi_mapping *m, const clpi_operand *x)
{
    enum { LINE = 64 };
    return m->width == s->lanes && m->turn_columns == 0 &&
           (m->order[m->n_order - 1] == m->vector_dim || m->width * clp_dtype_bits(x->dtype) / 8 >= LINE);
}

bool clpi_is_stream(const clpi_cl_schedule *s, const clpi_nest *n, const clpi_mapping *m, const clpi_access *a)
{
    if (a->is_tile || a->mask >= 0 || a->checked || m->vector_dim < 0 || !clpi_is_contiguous(s, a, m->vector_dim))
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->ix[d].node >= 0)
            return false;
    const clpi_operand *x = &s->program->ir->operands[a->target];
    return a->ix[a->rank - 1].add % m->width == 0 && clpi_nest_writes(n, (uint32_t)(a - n->accesses.items)) && x->role == CLP_OUT &&
           !is_read(s, a->target) && fills_lines(s, m, x);
}

static bool add_operand(clpi_cl_schedule *s, clpi_stage *stage, int operand, clpi_arena *arena)
{
    if (!stage->far.operands)
        stage->far.operands = CLPI_NEW_N(arena, int, (size_t)s->program->ir->n_operands + 1);
    for (int i = 0; stage->far.operands && i < stage->far.n; i++)
        if (stage->far.operands[i] == operand)
            return true;
    if (stage->far.operands)
        stage->far.operands[stage->far.n++] = operand;
    s->is_streamed[operand] = true;
    return stage->far.operands != NULL;
}

/* A third branch of what is long takes time to build. */
static bool is_short(const clpi_stage *stage)
{
    enum { FEW_NODES = 24 };
    return stage->step->nest->nodes.n <= FEW_NODES;
}

static bool add_outs(clpi_cl_schedule *s, clpi_stage *into, const clpi_stage *stage, clpi_arena *arena)
{
    const clpi_nest *n = stage->step->nest;
    for (uint32_t o = 0; o < n->outs.n; o++) {
        const clpi_access *a = &n->accesses.items[n->outs.items[o].access];
        if (n->outs.items[o].kind == CLPI_OUT_STORE && clpi_is_stream(s, n, &stage->map, a) && !add_operand(s, into, a->target, arena))
            return false;
    }
    return true;
}

/* Those of a stage whose nests are `nests`: itself, or what shares its rows. */
static bool find_in_nests(clpi_cl_schedule *s, clpi_stage *stage, const clpi_stage *nests, uint32_t n, clpi_arena *arena)
{
    for (uint32_t i = 0; i < n; i++)
        if (!is_short(&nests[i]))
            return true;
    for (uint32_t i = 0; i < n; i++)
        if (!add_outs(s, stage, &nests[i], arena))
            return false;
    return true;
}

bool clpi_find_streams(clpi_cl_schedule *s, clpi_stages *stages, clpi_arena *arena)
{
    for (uint32_t i = 0; i < stages->n; i++) {
        clpi_stage *stage = &stages->items[i];
        bool is_good = true;
        switch (stage->step->kind) {
        case CLPI_STEP_NEST: is_good = find_in_nests(s, stage, stage, 1, arena); break;
        case CLPI_STEP_SHARED: is_good = find_in_nests(s, stage, stage->body.items, stage->body.n, arena); break;
        default: is_good = clpi_find_streams(s, &stage->body, arena) && clpi_find_streams(s, &stage->other, arena); break;
        }
        if (!is_good)
            return false;
    }
    return true;
}
