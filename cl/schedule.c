/* schedule: a program's steps as stages of one realisation.
 *
 * In: a program (lib/nest), limits. Out: a schedule. Reads in order: tiles get homes, each step its stage, dots their blocking
 * and arrays, and in simt the barriers are placed. Each part decides in a file of its own: place.c map.c dot.c start.c stream.c sync.c.     */
#include "cl/schedule.h"

enum {
    MAX_GROUPS = 1024,            /* more sequences than this are dealt out among so many groups */
    MAX_GROUPS_CUT = 1 << 16,     /* likewise where rounds of loops are counted: those of a sequence, not of many */
    WORKSPACE_LIMIT = 256 << 20   /* bytes of all groups' workspaces together: above it fewer groups run */
};

static void add_edges(clpi_edges *edges, const clpi_cl_schedule *s, const clpi_nest *n, clpi_arena *arena)
{
    if (!edges->operands)
        edges->operands = CLPI_NEW_N(arena, int, (size_t)s->program->ir->n_operands + 1);
    for (uint32_t i = 0; edges->operands && i < n->accesses.n; i++) {
        const clpi_access *a = &n->accesses.items[i];
        if (a->is_tile || s->program->ir->operands[a->target].rank == 0)
            continue;
        bool known = false;
        for (int e = 0; e < edges->n; e++)
            known = known || edges->operands[e] == a->target;
        if (!known)
            edges->operands[edges->n++] = a->target;
    }
}

/* A nest of one element is not worth two versions. */
static void find_edges(clpi_stage *stage, const clpi_cl_schedule *s, clpi_arena *arena)
{
    const clpi_step *step = stage->step;
    if (s->realisation == CLP_SCHEDULE_SIMT)
        return;
    if (step->kind == CLPI_STEP_NEST && step->nest->rank > 0)
        add_edges(&stage->edges, s, step->nest, arena);
    if (step->kind == CLPI_STEP_DOT) {
        add_edges(&stage->edges, s, step->dot->a, arena);
        add_edges(&stage->edges_b, s, step->dot->b, arena);
    }
    for (uint32_t i = 0; step->kind == CLPI_STEP_SHARED && i < step->body.n; i++)
        add_edges(&stage->edges, s, step->body.items[i]->nest, arena);
}

/* The slot of a stage before this one in the same shared loop, whose steps have one number, if it is large enough; -1: none. It costs a
 * barrier, so few parts have a slot of their own.                                                                        */
enum { FEW_PARTS = 1024 };

static int team_slot_again(const clpi_cl_schedule *s, const clpi_stages *before, const clpi_step *step, clp_dtype dtype, int64_t n_elems)
{
    for (uint32_t i = before->n; n_elems > FEW_PARTS && i-- > 0 && before->items[i].step->number == step->number;) {
        const int slot = before->items[i].team_slot;
        if (slot >= 0 && s->slots.items[slot].dtype == dtype && s->slots.items[slot].n_elems >= n_elems)
            return slot;
    }
    return -1;
}

/* Where the members of teams put their parts of reductions and scans. */
static bool add_team_slot(clpi_cl_schedule *s, const clpi_stages *before, clpi_stage *stage, clpi_arena *arena)
{
    const clpi_step *step = stage->step;
    const clpi_nest *n = step->nest;
    int n_parts = 0;
    bool is_long = false;
    for (uint32_t o = 0; o < n->outs.n; o++)
        if (n->outs.items[o].kind == CLPI_OUT_REDUCE) {
            n_parts++;
            is_long = is_long || clpi_rep_bytes(n->outs.items[o].dtype) > 4;
        }
    for (uint32_t i = 0; i < n->nodes.n; i++)
        if (n->nodes.items[i].kind == CLPI_NODE_SCAN) {
            n_parts++;
            is_long = is_long || clpi_rep_bytes(n->nodes.items[i].dtype) > 4;
        }
    if (n_parts == 0 || stage->map.deal.team == 1 || stage->map.deal.n == 1)
        return true;
    const clp_dtype dtype = is_long ? CLP_U64 : CLP_F32;
    const int64_t n_elems = (int64_t)n_parts * stage->map.deal.rows * (int64_t)s->group_size;
    stage->team_slot = team_slot_again(s, before, step, dtype, n_elems);
    if (stage->team_slot < 0)
        stage->team_slot = clpi_slot_add(s, arena, dtype, n_elems, step->number, step->number);
    return stage->team_slot >= 0;
}

/* What the kind of step asks for. before: the stages in front of it. */
static bool plan_stage(clpi_cl_schedule *s, const clpi_stages *before, clpi_stage *stage, clpi_arena *arena)
{
    const clpi_step *step = stage->step;
    switch (step->kind) {
    case CLPI_STEP_NEST:
        stage->map = clpi_map_nest(s, step->nest);
        return !stage->map.is_teamed || add_team_slot(s, before, stage, arena);
    case CLPI_STEP_DOT:
        if (!clpi_plan_dot(s, step, arena, &stage->dot))
            return false;
        stage->pack_a = clpi_map_operand(s, step->dot->a, &stage->dot, false);
        stage->pack_b = clpi_map_operand(s, step->dot->b, &stage->dot, true);
        return true;
    case CLPI_STEP_CHECK: stage->map = clpi_map_check(s, step->nest); return true;
    case CLPI_STEP_PRINT: s->has_print = true; return true;
    case CLPI_STEP_FOR: case CLPI_STEP_WHILE: s->has_loop = true; return true;
    default: return true;
    }
}

static bool add_stages(clpi_cl_schedule *s, clpi_stages *stages, const clpi_steps *steps, bool in_shared, clpi_arena *arena)
{
    for (uint32_t i = 0; i < steps->n; i++) {
        clpi_step *step = steps->items[i];
        clpi_stage stage = { .step = step, .team_slot = -1 };
        if (s->realisation == CLP_SCHEDULE_VECTOR && clpi_is_left_to_dot(s->program, step))
            continue;
        if (step->kind == CLPI_STEP_SHARED && s->realisation == CLP_SCHEDULE_SIMT) {      /* see map_group */
            if (!add_stages(s, stages, &step->body, false, arena))
                return false;
            continue;
        }
        if (!plan_stage(s, stages, &stage, arena))
            return false;
        if (!in_shared)
            find_edges(&stage, s, arena);
        if (!add_stages(s, &stage.body, &step->body, step->kind == CLPI_STEP_SHARED, arena) ||
            !add_stages(s, &stage.other, &step->other, false, arena) || !CLPI_PUSH(arena, stages, stage))
            return false;
    }
    return !arena->failed;
}

static bool needs_joint(const clpi_stages *stages)
{
    for (uint32_t i = 0; i < stages->n; i++)
        if (stages->items[i].map.is_joint || stages->items[i].map.is_broadcast || needs_joint(&stages->items[i].body) ||
            needs_joint(&stages->items[i].other))
            return true;
    return false;
}

/* simt: the array that joint reductions and broadcasts go through, if there are any, then barriers. */
static bool plan_group(clpi_cl_schedule *s, clpi_arena *arena)
{
    for (int part = 0; part < CLPI_N_PARTS && s->joint_slot < 0; part++)
        if (needs_joint(&s->parts[part])) {
            s->joint_slot = clpi_slot_add(s, arena, CLP_U64, 2 * (int64_t)s->group_size, 0, s->program->n_steps);
            if (s->joint_slot < 0)
                return false;
        }
    return clpi_place_syncs(s, arena);
}

/* vector: what may go past the caches. */
static bool plan_streams(clpi_cl_schedule *s, clpi_arena *arena)
{
    for (int part = 0; part < CLPI_N_PARTS; part++)
        if (!clpi_find_streams(s, &s->parts[part], arena))
            return false;
    return true;
}

clp_status clpi_cl_schedule_new(const clpi_program *program, const clpi_limits *limits, clp_schedule realisation, clpi_arena *arena,
                                clpi_cl_schedule **out_schedule)
{
    *out_schedule = NULL;
    clpi_cl_schedule *s = CLPI_NEW(arena, clpi_cl_schedule);
    if (!s)
        return CLP_ERR_OOM;
    realisation = clpi_cl_realisation(realisation, limits);
    const bool is_vector = realisation == CLP_SCHEDULE_VECTOR;
    *s = (clpi_cl_schedule){ .program = program, .limits = *limits, .realisation = realisation,
                             .group_size = 1, .max_groups = limits->loop_rounds ? MAX_GROUPS_CUT : MAX_GROUPS,
                             .lanes = (int)limits->vector_bytes / 4, .joint_slot = -1,
                             .is_streamed = CLPI_NEW_N(arena, bool, (size_t)program->ir->n_operands + 1) };
    if (!s->is_streamed || (!is_vector && !clpi_choose_deals(s, arena)) || !clpi_place_tiles(s, arena))
        return CLP_ERR_OOM;
    for (int part = 0; part < CLPI_N_PARTS; part++)
        if (!add_stages(s, &s->parts[part], &program->parts[part], false, arena))
            return CLP_ERR_OOM;
    if (!(is_vector ? plan_streams : plan_group)(s, arena))
        return CLP_ERR_OOM;
    while (s->max_groups > 1 && s->workspace_bytes * s->max_groups > WORKSPACE_LIMIT)
        s->max_groups /= 2;
    *out_schedule = s;
    return CLP_OK;
}
