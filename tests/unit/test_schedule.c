/* How the steps of a program are laid on a device: homes, slots, lanes, dots, barriers. Limits are made up here. */
#include "cl/schedule.h"
#include "planned.h"

typedef struct scheduled {
    planned           p;
    clpi_program     *program;
    clpi_cl_schedule *s;
} scheduled;

static const clpi_limits CPU = {
    .is_cpu = true, .shares_host_memory = true, .has_fp64 = true, .has_int64_atomics = true, .has_correct_divide = true,
    .local_bytes = 512 << 10, .private_bytes = 64 << 10, .group_size = 4096, .compute_units = 2, .vector_bytes = 64,
    .l1_bytes = 32 << 10, .l2_bytes = 1 << 20,
};

static void schedule_ok(scheduled *x, const char *text, const clpi_limits *limits, clp_schedule realisation)
{
    planned_ok(&x->p, text);
    cr_assert_eq(clpi_nest_build(x->p.ir, x->p.plan, false, &x->p.arena, &x->program), CLP_OK);
    cr_assert_eq(clpi_cl_schedule_new(x->program, limits, realisation, &x->p.arena, &x->s), CLP_OK);
}

static const clpi_stages *every(const scheduled *x)
{
    return &x->s->parts[CLPI_PART_EVERY];
}

static const clpi_stage *stage_at(const clpi_stages *stages, uint32_t i, clpi_step_kind kind)
{
    cr_assert_lt(i, stages->n, "%u stages", stages->n);
    cr_assert_eq(stages->items[i].step->kind, kind, "stage %u is of kind %d", i, (int)stages->items[i].step->kind);
    return &stages->items[i];
}

static int scratch_tile(const scheduled *x, const char *name)
{
    for (int i = 0; i < x->p.ir->n_operands; i++)
        if (!strcmp(x->p.ir->operands[i].name, name))
            return x->program->scratch_tile[i];
    cr_assert_fail("no operand %s", name);
    return -1;
}

static const clpi_tile_place *scratch_place(const scheduled *x, const char *name)
{
    return &x->s->tiles[scratch_tile(x, name)];
}

/* Tiles that share a slot are never alive together. */
static void expect_slots_apart(const scheduled *x)
{
    for (uint32_t a = 0; a < x->program->tiles.n; a++)
        for (uint32_t b = a + 1; b < x->program->tiles.n; b++) {
            const clpi_tile *p = &x->program->tiles.items[a], *q = &x->program->tiles.items[b];
            if (x->s->tiles[a].slot < 0 || x->s->tiles[a].slot != x->s->tiles[b].slot)
                continue;
            cr_expect(p->operand < 0 && q->operand < 0, "scratch shares a slot");
            cr_expect(p->last < q->first || q->last < p->first, "tiles %u and %u", a, b);
        }
}

static const char ADD[] = "kernel k(in x: f32[N] block [40] at (i), out o: f32[N] block [40] at (i)) grid (i = cdiv(N, 40)) { o[...] = x[...] + 1; }";
static const char SUM[] = "kernel k(in x: f32[R, N] block [4, 100] at (i, 0), out o: f32[R] block [4] at (i)) grid (i = cdiv(R, 4)) { o[...] = sum(x[...], axis = 1); }";
static const char TOTAL[] = "kernel k(in x: f32[100], out o: f32[100]) grid () { o[...] = x[...] - sum(x[...]); }";
static const char CHAIN[] = "kernel k(in x: f32[N] block [64] at (i), out o: f32[N] block [64] at (i))\n"
                            "grid (i = cdiv(N, 64)) { o[...] = sort(cumsum(sort(cumsum(sort(x[...], axis = 0), axis = 0), axis = 0), axis = 0), axis = 0); }";
static const char MATMUL[] = "kernel k(in x: f32[M, K] block [30, 20] at (i, k) pad 0, in y: f32[K, N] block [20, 50] at (k, j) pad 0,\n"
                             "out z: f32[M, N] block [30, 50] at (i, j), scratch acc: f32[30, 50])\n"
                             "grid (i = cdiv(M, 30), j = cdiv(N, 50), k = cdiv(K, 20) arbitrary)\n"
                             "{ if (first(k)) { acc[...] = 0; } acc[...] += dot(x[...], y[...]); if (last(k)) { z[...] = acc[...]; } }";

/* ---- Realisations ---- */

Test(schedule, auto_is_vector_on_a_cpu_that_keeps_vectors_and_simt_elsewhere)
{
    scheduled x;
    schedule_ok(&x, ADD, &CPU, CLP_SCHEDULE_AUTO);
    cr_expect_eq(x.s->realisation, CLP_SCHEDULE_VECTOR);
    cr_expect_eq(x.s->group_size, 1);
    planned_done(&x.p);
    clpi_limits gpu = CPU, dissolving = CPU;
    gpu.is_cpu = false;
    dissolving.dissolves_vectors = true;
    for (int i = 0; i < 2; i++) {
        schedule_ok(&x, ADD, i == 0 ? &gpu : &dissolving, CLP_SCHEDULE_AUTO);
        cr_expect_eq(x.s->realisation, CLP_SCHEDULE_SIMT);
        cr_expect_gt(x.s->group_size, 1);
        planned_done(&x.p);
    }
}

Test(schedule, groups_fit_the_device)
{
    clpi_limits small = CPU;
    small.group_size = 7;
    scheduled x;
    schedule_ok(&x, SUM, &small, CLP_SCHEDULE_SIMT);
    cr_expect_eq(x.s->group_size, 4);
    planned_done(&x.p);
}

/* ---- Loops and lanes ---- */

Test(schedule, the_contiguous_dimension_goes_to_the_lanes)
{
    scheduled x;
    schedule_ok(&x, ADD, &CPU, CLP_SCHEDULE_VECTOR);
    const clpi_stage *add = stage_at(every(&x), 0, CLPI_STEP_NEST);
    cr_expect_eq(add->map.vector_dim, 0);
    cr_expect_eq(add->map.width, 16);
    cr_expect_eq(add->edges.n, 2, "one version for full blocks, one for any");
    planned_done(&x.p);
}

Test(schedule, lanes_are_reduced_last)
{
    scheduled x;
    schedule_ok(&x, SUM, &CPU, CLP_SCHEDULE_VECTOR);
    const clpi_stage *sum = stage_at(every(&x), 0, every(&x)->items[0].step->kind);
    sum = sum->step->kind == CLPI_STEP_SHARED ? stage_at(&sum->body, 0, CLPI_STEP_NEST) : sum;
    cr_expect_eq(sum->map.vector_dim, 1);
    cr_expect_eq(sum->map.order[sum->map.n_order - 1], 1);
    cr_expect_eq(sum->map.n_kept, sum->map.n_order - 1);
    planned_done(&x.p);
}

Test(schedule, what_lies_across_the_lanes_is_turned)
{
    static const struct { const char *body; int vector_dim, turn_dim; } nests[] = {
        { "o[...] = transpose(x[...]);", 1, 0 },
        { "o[...] = transpose(x[...]) + y[...];", 1, 0 },
        { "o[...] = transpose(x[...] * flip(x[...], axis = 0));", 0, 1 },                  /* two loads along the lanes, one store across */
        { "o[...] = cumsum(y[...], axis = 1);", 1, -1 },                       /* a vector is scanned in itself */
        { "o[...] = cumsum(y[...], axis = 0);", 1, -1 },
        { "o[...] = y[...];", 1, -1 },
        { "let r = iota([64, 32], axis = 0) + iota([64, 32], axis = 1); o[...] = y[r % 64, r % 32];", 1, -1 },     /* a gather */
    };
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++) {
        char text[400];
        scheduled x;
        snprintf(text, sizeof text, "kernel k(in x: f32[32, 64], in y: f32[64, 32], out o: f32[64, 32]) grid () { %s }", nests[i].body);
        schedule_ok(&x, text, &CPU, CLP_SCHEDULE_VECTOR);
        const clpi_mapping *m = &stage_at(every(&x), 0, CLPI_STEP_NEST)->map;
        cr_expect_eq(m->vector_dim, nests[i].vector_dim, "%s: lanes along %d", nests[i].body, m->vector_dim);
        cr_expect_eq(m->turn_dim, nests[i].turn_dim, "%s: turned along %d", nests[i].body, m->turn_dim);
        cr_expect(m->turn_dim < 0 || m->order[m->n_order - 1] == m->turn_dim, "%s", nests[i].body);
        planned_done(&x.p);
        schedule_ok(&x, text, &CPU, CLP_SCHEDULE_SIMT);
        cr_expect_eq(stage_at(every(&x), 0, CLPI_STEP_NEST)->map.turn_dim, -1, "%s", nests[i].body);
        planned_done(&x.p);
    }
}

/* A line that is stored whole, or in two halves one after the other, of an output that nobody reads. */
Test(schedule, whole_lines_may_go_past_the_caches)
{
    clpi_limits half = CPU;
    half.vector_bytes = 32;
    const struct { const clpi_limits *limits; const char *out, *body; int n_far; } rows[] = {
        { &CPU, "out o", "o[...] = y[...];", 1 },
        { &half, "out o", "o[...] = y[...];", 1 },
        { &CPU, "out o", "o[...] = y[...] / sum(y[...], axis = 1)[:, None];", 1 },
        { &CPU, "out o", "o[...] = transpose(x[...]);", 1 },
        { &half, "out o", "o[...] = transpose(x[...]);", 0 },
        { &CPU, "out o", "o[...] = flip(y[...], axis = 1);", 1 },
        { &CPU, "out o", "o[:, 1:] = y[:, 1:];", 0 },                             /* rows begin within a line */
        { &CPU, "out o", "o[...] = y[...]; if (o[0, 0] > 0) { print(\"\"); }", 0 },
        { &CPU, "out o", "o[...] = exp(y[...]);", 1 },
        { &CPU, "out o", "o[...] = y[...] * exp(sum(y[...], axis = 1))[:, None];", 1 },
        { &CPU, "inout o", "o[...] = y[...];", 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[400];
        scheduled x;
        snprintf(text, sizeof text, "kernel k(in x: f32[32, 64], in y: f32[64, 32], %s: f32[64, 32]) grid () { %s }", rows[i].out, rows[i].body);
        schedule_ok(&x, text, rows[i].limits, CLP_SCHEDULE_VECTOR);
        cr_expect_eq(every(&x)->items[0].far.n, rows[i].n_far, "row %zu: %s: %d", i, rows[i].body, every(&x)->items[0].far.n);
        planned_done(&x.p);
    }
}

Test(schedule, lanes_in_order_are_no_vectors)
{
    scheduled x;
    schedule_ok(&x, "kernel k(in q: i32[64], inout o: i32[64]) grid () { o[q[...]] = q[...]; }", &CPU, CLP_SCHEDULE_VECTOR);
    cr_expect_eq(stage_at(every(&x), 0, CLPI_STEP_NEST)->map.vector_dim, -1);
    planned_done(&x.p);
    schedule_ok(&x, "kernel k(in q: i32[64], inout o: i32[64]) grid () { o[q[...]] = q[...]; }", &CPU, CLP_SCHEDULE_SIMT);
    cr_expect(stage_at(every(&x), 0, CLPI_STEP_NEST)->map.is_single);
    planned_done(&x.p);
}

Test(schedule, work_items_share_a_whole_reduction)
{
    scheduled x;
    schedule_ok(&x, TOTAL, &CPU, CLP_SCHEDULE_SIMT);
    const clpi_stage *sum = stage_at(every(&x), 0, CLPI_STEP_NEST);
    cr_expect(sum->map.is_joint);
    cr_expect_geq(x.s->joint_slot, 0);
    cr_expect(stage_at(every(&x), 1, CLPI_STEP_NEST)->map.is_dealt);
    planned_done(&x.p);
}

/* ---- Homes ---- */

Test(schedule, tiles_never_alive_together_share_an_array)
{
    scheduled x;
    schedule_ok(&x, CHAIN, &CPU, CLP_SCHEDULE_VECTOR);
    uint32_t placed = 0;
    for (uint32_t t = 0; t < x.program->tiles.n; t++)
        placed += x.s->tiles[t].slot >= 0;
    cr_expect_gt(placed, x.s->slots.n);
    expect_slots_apart(&x);
    planned_done(&x.p);
}

/* The less local memory a group takes, the more groups a GPU holds. */
Test(schedule, free_arrays_of_groups_grow)
{
    static const char text[] = "kernel k(in x: f32[64], in y: f32[256], out o: f32[64], out q: f32[256]) grid ()\n"
                               "{ o[...] = sort(x[...], axis = 0); q[...] = sort(y[...], axis = 0); }";
    clpi_limits gpu = CPU;
    scheduled x;
    gpu.is_cpu = false;
    schedule_ok(&x, text, &gpu, CLP_SCHEDULE_SIMT);
    uint64_t n_elems = 0;
    for (uint32_t i = 0; i < x.s->slots.n; i++)
        n_elems += x.s->slots.items[i].dtype == CLP_F32 ? (uint64_t)x.s->slots.items[i].n_elems : 0;
    cr_expect_eq(n_elems, 2 * 256, "%llu elements", (unsigned long long)n_elems); /* a sort has two */
    expect_slots_apart(&x);
    planned_done(&x.p);
}

Test(schedule, homes_go_from_near_to_far)
{
    scheduled x;
    clpi_limits l = CPU;
    schedule_ok(&x, MATMUL, &l, CLP_SCHEDULE_VECTOR);
    cr_expect_eq(scratch_place(&x, "acc")->home, CLPI_HOME_LOCAL, "6 KiB are no small array");
    cr_expect_eq(x.s->workspace_bytes, 0);
    planned_done(&x.p);
    l.local_bytes = 1024;
    schedule_ok(&x, MATMUL, &l, CLP_SCHEDULE_VECTOR);
    cr_expect_eq(scratch_place(&x, "acc")->home, CLPI_HOME_WORKSPACE);
    cr_expect_geq(x.s->workspace_bytes, 30 * 50 * 4);
    planned_done(&x.p);
    schedule_ok(&x, CHAIN, &l, CLP_SCHEDULE_VECTOR);
    for (uint32_t i = 0; i < x.s->slots.n; i++)
        cr_expect_eq(x.s->slots.items[i].home, CLPI_HOME_PRIVATE);
    planned_done(&x.p);
    l.private_bytes = 600;
    l.local_bytes = 0;
    schedule_ok(&x, CHAIN, &l, CLP_SCHEDULE_VECTOR);
    int private = 0, far = 0;
    for (uint32_t i = 0; i < x.s->slots.n; i++) {
        private += x.s->slots.items[i].home == CLPI_HOME_PRIVATE;
        far += x.s->slots.items[i].home == CLPI_HOME_WORKSPACE;
    }
    cr_expect(private == 1 && far > 0, "%d private, %d in the workspace", private, far);
    planned_done(&x.p);
}

Test(schedule, work_items_have_no_private_arrays)
{
    scheduled x;
    schedule_ok(&x, CHAIN, &CPU, CLP_SCHEDULE_SIMT);
    for (uint32_t i = 0; i < x.s->slots.n; i++)
        cr_expect_eq(x.s->slots.items[i].home, CLPI_HOME_LOCAL);
    expect_slots_apart(&x);
    planned_done(&x.p);
}

Test(schedule, a_workspace_has_parts_that_do_not_meet)
{
    clpi_limits l = CPU;
    l.local_bytes = l.private_bytes = 0;
    scheduled x;
    schedule_ok(&x, MATMUL, &l, CLP_SCHEDULE_VECTOR);
    for (uint32_t a = 0; a < x.s->slots.n; a++) {
        const clpi_slot *p = &x.s->slots.items[a];
        uint64_t end = p->at + (uint64_t)p->n_elems * 4;
        cr_expect_eq(p->home, CLPI_HOME_WORKSPACE);
        cr_expect_leq(end, x.s->workspace_bytes);
        for (uint32_t b = 0; b < x.s->slots.n; b++)
            cr_expect(a == b || x.s->slots.items[b].at >= end || x.s->slots.items[b].at < p->at);
    }
    planned_done(&x.p);
}

Test(schedule, groups_are_fewer_when_their_workspace_is_large)
{
    clpi_limits l = CPU;
    l.local_bytes = l.private_bytes = 0;
    scheduled x;
    schedule_ok(&x, MATMUL, &l, CLP_SCHEDULE_VECTOR);
    uint64_t many = x.s->max_groups;
    planned_done(&x.p);
    schedule_ok(&x, "kernel k(in x: f32[1048576], out o: f32[1048576]) grid (i = 9) { o[...] = sort(x[...], axis = 0); }", &l, CLP_SCHEDULE_VECTOR);
    cr_expect_lt(x.s->max_groups, many);
    cr_expect_geq(x.s->max_groups, 1);
    planned_done(&x.p);
}

Test(schedule, a_row_needs_no_more_than_a_row)
{
    scheduled x;
    schedule_ok(&x, "kernel k(in x: f32[8, 64], out o: f32[8, 64]) grid () { let e = exp(x[...]); o[...] = e / sum(e, axis = 1)[:, None]; }",
                &CPU, CLP_SCHEDULE_VECTOR);
    bool found = false;
    for (uint32_t t = 0; t < x.program->tiles.n; t++) {
        if (!x.program->tiles.items[t].is_row || x.program->tiles.items[t].first < 0)
            continue;
        found = true;
        cr_expect_eq(x.s->tiles[t].stride[0], 0);
        if (x.program->tiles.items[t].rank == 1)
            cr_expect_eq(x.s->tiles[t].home, CLPI_HOME_REGISTER);
        else
            cr_expect_eq(x.s->slots.items[x.s->tiles[t].slot].n_elems, 64);
    }
    cr_expect(found);
    planned_done(&x.p);
}

/* What an array takes, with room for its alignment. */
static uint64_t bytes_of(const clpi_slot *slot)
{
    return (uint64_t)slot->n_elems * (slot->dtype == CLP_BOOL ? 1 : clpi_rep_bytes(slot->dtype)) + 64;
}

Test(schedule, arrays_fit_the_device)
{
    static const char *const texts[] = { ADD, SUM, TOTAL, CHAIN, MATMUL };
    static const uint64_t bytes[] = { 0, 100, 1 << 10, 4 << 10, 16 << 10, 32 << 10 }, sizes[] = { 1, 2, 7, 64, 1024 };
    for (int i = 0; i < 5 * 6 * 5 * 2; i++) {
        clpi_limits l = CPU;
        scheduled x;
        l.local_bytes = bytes[i / 5 % 6];
        l.private_bytes = l.local_bytes / 4;
        l.group_size = sizes[i / 30 % 5];
        schedule_ok(&x, texts[i % 5], &l, i / 150 ? CLP_SCHEDULE_SIMT : CLP_SCHEDULE_VECTOR);
        uint64_t local = 0, private = 0;
        for (uint32_t s = 0; s < x.s->slots.n; s++) {
            local += x.s->slots.items[s].home == CLPI_HOME_LOCAL ? bytes_of(&x.s->slots.items[s]) : 0;
            private += x.s->slots.items[s].home == CLPI_HOME_PRIVATE ? bytes_of(&x.s->slots.items[s]) : 0;
        }
        cr_expect_leq(local, l.local_bytes);
        cr_expect_leq(private, l.private_bytes);
        cr_expect_leq(x.s->group_size, l.group_size);
        planned_done(&x.p);
    }
}

/* ---- Dots ---- */

Test(schedule, a_dot_of_vectors_has_whole_panels)
{
    scheduled x;
    schedule_ok(&x, MATMUL, &CPU, CLP_SCHEDULE_VECTOR);
    const clpi_stage *dot = stage_at(every(&x), 0, CLPI_STEP_DOT);
    cr_expect_eq(dot->dot.width, 16);
    cr_expect_eq(dot->dot.panel % dot->dot.width, 0);
    cr_expect_geq(dot->dot.n_panels * dot->dot.panel, 50);
    cr_expect_eq(scratch_place(&x, "acc")->stride[0] % dot->dot.panel, 0, "its rows are padded to panels");
    cr_expect_geq(x.s->slots.items[dot->dot.a_slot].n_elems, 30 * dot->dot.a_stride);
    cr_expect_geq(x.s->slots.items[dot->dot.b_slot].n_elems, 20 * dot->dot.n_panels * dot->dot.panel);
    cr_expect_neq(dot->dot.a_slot, dot->dot.b_slot);
    cr_expect_neq(scratch_place(&x, "acc")->slot, dot->dot.a_slot);
    planned_done(&x.p);
}

Test(schedule, panels_divide_rows_that_have_no_gaps)
{
    scheduled x;
    schedule_ok(&x, "kernel k(in x: f32[6, 5], in y: f32[5, 24], out o: f32[24, 6]) grid () { o[...] = reshape(dot(x[...], y[...]), [24, 6]); }",
                &CPU, CLP_SCHEDULE_VECTOR);
    const clpi_stage *dot = stage_at(every(&x), 0, CLPI_STEP_DOT);
    cr_expect_eq(24 % dot->dot.panel, 0);
    cr_expect_eq(x.s->tiles[dot->step->dot->dest].stride[0], 24);
    cr_expect_leq(dot->pack_b.width, dot->dot.panel, "a vector of y lies in one panel");
    planned_done(&x.p);
}

Test(schedule, a_dot_of_work_items_covers_its_result)
{
    scheduled x;
    schedule_ok(&x, MATMUL, &CPU, CLP_SCHEDULE_SIMT);
    const clpi_stage *dot = stage_at(every(&x), 0, CLPI_STEP_DOT);
    const clpi_deal *d = &dot->dot.deal;
    cr_expect_eq((uint64_t)(d->teams * d->team), x.s->group_size);
    cr_expect_geq(d->teams * d->rows, 30);
    cr_expect_geq(d->team * d->columns, 50);
    cr_expect_not(dot->dot.is_owned, "30 x 50 leave a rest");
    cr_expect_neq(scratch_place(&x, "acc")->home, CLPI_HOME_PRIVATE);
    planned_done(&x.p);
}

/* ---- What work-items own ---- */

static const char PRODUCT[] = "kernel k(in x: f32[M, K] block [128, 64] at (i, k) pad 0, in y: f32[K, N] block [64, 128] at (k, j) pad 0,\n"
                              "out z: f32[M, N] block [128, 128] at (i, j), scratch acc: f32[128, 128]%s)\n"
                              "grid (i = cdiv(M, 128), j = cdiv(N, 128), k = cdiv(K, 64) arbitrary)\n"
                              "{ if (first(k)) { acc[...] = 0; } acc[...] += dot(x[...], y[...]); if (last(k)) { z[...] = %s; } }";

static const clpi_limits GPU = { .local_bytes = 48 << 10, .private_bytes = 1 << 10, .group_size = 256, .compute_units = 8, .vector_bytes = 16 };

static void product_ok(scheduled *x, const clpi_limits *limits, const char *operands, const char *result)
{
    char text[800];
    snprintf(text, sizeof text, PRODUCT, operands, result);
    schedule_ok(x, text, limits, CLP_SCHEDULE_SIMT);
}

Test(schedule, sums_stay_in_registers)
{
    scheduled x;
    product_ok(&x, &GPU, "", "acc[...] * 2");
    const clpi_stage *dot = stage_at(every(&x), 0, CLPI_STEP_DOT);
    cr_expect_eq(x.s->group_size, 256);
    cr_expect_eq(scratch_place(&x, "acc")->home, CLPI_HOME_PRIVATE);
    cr_expect(dot->dot.is_owned);
    cr_expect_eq(dot->dot.deal.rows * dot->dot.deal.columns, 64);
    cr_expect_eq(dot->dot.n_buffers, 2);
    for (int part = 0; part < CLPI_N_PARTS; part++)
        cr_expect_not(stage_at(&x.s->parts[part], 0, x.s->parts[part].items[0].step->kind)->sync_before, "part %d waits for nothing", part);
    planned_done(&x.p);
}

/* Whose element another work-item wants, whose registers do not suffice, or whom there are too few to share: all in memory. */
Test(schedule, sums_that_others_want_lie_in_memory)
{
    clpi_limits few = GPU, single = GPU;
    few.private_bytes = 128;
    single.group_size = 1;
    const struct { const clpi_limits *limits; const char *operands, *result; bool is_owned; } rows[] = {
        { &GPU, "", "acc[...]", true },
        { &GPU, "", "transpose(acc[...])", false },
        { &GPU, "", "acc[...] - acc[...][:, 0][:, None]", false },
        { &GPU, "", "acc[...] - max(acc[...], axis = 1)[:, None]", true },
        { &GPU, "", "acc[...] - max(acc[...], axis = 0)[None, :]", false },
        { &GPU, "", "cumsum(acc[...], axis = 1)", false },
        { &GPU, ", scratch s: f32[128]", "acc[...] + s[...][None, :]", true },
        { &few, "", "acc[...]", false },
        { &single, "", "acc[...]", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        scheduled x;
        product_ok(&x, rows[i].limits, rows[i].operands, rows[i].result);
        cr_expect_eq(scratch_place(&x, "acc")->home == CLPI_HOME_PRIVATE, rows[i].is_owned, "row %zu: %s", i, rows[i].result);
        planned_done(&x.p);
    }
}

Test(schedule, a_team_keeps_a_row_and_what_belongs_to_it)
{
    scheduled x;
    schedule_ok(&x, "kernel k(in x: f32[8, 1024], out o: f32[8, 1024]) grid () { let e = exp(x[...]); o[...] = e / sum(e, axis = 1)[:, None]; }",
                &GPU, CLP_SCHEDULE_SIMT);
    cr_expect_eq(x.s->group_size, 256);
    for (uint32_t t = 0; t < x.program->tiles.n; t++)
        cr_expect(x.s->tiles[t].home == CLPI_HOME_PRIVATE || x.s->tiles[t].home == CLPI_HOME_NONE, "tile %u", t);
    for (uint32_t i = 0; i < every(&x)->n; i++)
        cr_expect(stage_at(every(&x), i, CLPI_STEP_NEST)->map.is_teamed, "stage %u", i);
    planned_done(&x.p);
}

/* Tiles of 32 words each, more of them than there are registers: it matters how many are alive together. */
Test(schedule, registers_are_counted_by_what_is_alive)
{
    static const char chain[] = "kernel k(in x: f32[8, 1024], out o: f32[8, 1024]) grid ()\n"
                                "{ let a = exp(x[...]); let b = exp(a / sum(a, axis = 1)[:, None]); let c = exp(b / sum(b, axis = 1)[:, None]);\n"
                                "  let d = exp(c / sum(c, axis = 1)[:, None]); o[...] = d / sum(d, axis = 1)[:, None]%s; }";
    for (int together = 0; together < 2; together++) {
        char text[400];
        scheduled x;
        int n_owned = 0, n_large = 0;
        snprintf(text, sizeof text, chain, together ? " + a * b * c" : "");
        schedule_ok(&x, text, &GPU, CLP_SCHEDULE_SIMT);
        for (uint32_t t = 0; t < x.program->tiles.n; t++)
            if (x.program->tiles.items[t].shape[1] > 1 && x.s->tiles[t].home != CLPI_HOME_NONE) {
                n_large++;
                n_owned += x.s->tiles[t].home == CLPI_HOME_PRIVATE;
            }
        cr_expect_eq(n_large, 4);
        cr_expect(together ? n_owned > 0 && n_owned < 4 : n_owned == 4, "%d owned", n_owned);
        planned_done(&x.p);
    }
}

/* Parts of two reductions of eight rows each: one array. One work-item's rows are few: an array is cheaper than a barrier. */
Test(schedule, large_parts_of_reductions_share_an_array)
{
    for (int rows = 8; rows <= 64; rows *= 8) {
        char text[300];
        scheduled x;
        int slots[2], n = 0;
        snprintf(text, sizeof text, "kernel k(in x: f32[%d, %d], out o: f32[%d, %d]) grid ()\n"
                 "{ let e = exp(x[...] - max(x[...], axis = 1)[:, None]); o[...] = e / sum(e, axis = 1)[:, None]; }", rows, 8192 / rows, rows, 8192 / rows);
        schedule_ok(&x, text, &GPU, CLP_SCHEDULE_SIMT);
        for (uint32_t i = 0; i < every(&x)->n; i++)
            if (every(&x)->items[i].team_slot >= 0 && n < 2)
                slots[n++] = every(&x)->items[i].team_slot;
        cr_assert_eq(n, 2);
        cr_expect_eq(slots[0] == slots[1], rows == 64, "%d rows", rows);
        planned_done(&x.p);
    }
}

/* As schedule.h draws it: each element is one work-item's. */
Test(schedule, a_deal_gives_each_element_to_one)
{
    scheduled x;
    schedule_ok(&x, "kernel k(in x: f32[8, 1000], out o: f32[8, 1000], scratch s: f32[24, 40], out t: f32[24, 5, 12])\n"
                    "grid () { o[...] = x[...] - max(x[...], axis = 1)[:, None]; s[...] = dot(transpose(x[0:8, 0:24]), x[0:8, 0:40]); t[...] = 1; }",
                &GPU, CLP_SCHEDULE_SIMT);
    const int64_t shapes[][3] = { { 8, 1000, 1 }, { 24, 40, 1 }, { 24, 5, 12 }, { 7, 3, 1 }, { 1, 1, 1 } };
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        static unsigned char seen[8 * 1000];
        const clpi_deal d = clpi_deal_of(x.s, 3, shapes[k]);
        memset(seen, 0, sizeof seen);
        cr_expect_eq((uint64_t)(d.teams * d.team), x.s->group_size);
        cr_expect(d.rows % d.row_run == 0 && d.columns % d.column_run == 0 && d.n % d.column_run == 0);
        for (int w = 0; w < d.teams * d.team; w++)
            for (int i = 0; i < d.rows; i++)
                for (int j = 0; j < d.columns; j++) {
                    const int row = i / d.row_run * d.teams * d.row_run + w / d.team * d.row_run + i % d.row_run;
                    const int column = j / d.column_run * d.team * d.column_run + w % d.team * d.column_run + j % d.column_run;
                    cr_assert_lt(row, d.m);
                    if (column < d.n)
                        seen[row * d.n + column]++;
                }
        for (int64_t i = 0; i < d.m * d.n; i++)
            cr_assert_eq(seen[i], 1, "shape %zu, element %lld", k, (long long)i);
    }
    planned_done(&x.p);
}

Test(schedule, every_dtype_has_a_unit)
{
    static const char *const pairs[][2] = { { "f16", "f32" }, { "bf16", "f32" }, { "f8e4m3", "f32" }, { "f32", "f32" }, { "f64", "f64" },
                                            { "i8", "i32" }, { "u16", "i32" }, { "i32", "i64" }, { "i64", "i64" } };
    const uint32_t bytes[] = { 16, 32, 64 };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int realisation = CLP_SCHEDULE_VECTOR; realisation <= CLP_SCHEDULE_SIMT; realisation++)
            for (int b = 0; b < 3; b++) {
                char text[300];
                scheduled x;
                clpi_limits l = CPU;
                l.vector_bytes = bytes[b];
                snprintf(text, sizeof text, "kernel k(in x: %s[3, 3], out o: %s[3, 3]) grid () { o[...] = dot(x[...], x[...], acc = %s); }",
                         pairs[i][0], pairs[i][1], pairs[i][1]);
                schedule_ok(&x, text, &l, (clp_schedule)realisation);
                cr_expect_not_null(stage_at(every(&x), 0, CLPI_STEP_DOT)->dot.unit, "%s", text);
                planned_done(&x.p);
            }
}

/* ---- Barriers ---- */

Test(schedule, work_items_wait_for_what_they_read)
{
    scheduled x;
    schedule_ok(&x, "kernel k(in x: f32[64], out o: f32[64]) grid () { o[...] = flip(cumsum(x[...], axis = 0), axis = 0); }", &CPU, CLP_SCHEDULE_SIMT);
    cr_expect(stage_at(every(&x), 1, CLPI_STEP_NEST)->sync_before);
    planned_done(&x.p);
}

Test(schedule, sequences_wait_for_the_one_before)
{
    scheduled x;
    schedule_ok(&x, "kernel k(in x: f32[N] block [8] at (i), out o: f32[N] block [8] at (i), scratch s: f32[8])\n"
                    "grid (i = cdiv(N, 8)) { s[...] = x[...] * 2; o[...] = flip(s[...], axis = 0); }", &CPU, CLP_SCHEDULE_SIMT);
    cr_expect(stage_at(every(&x), 0, CLPI_STEP_NEST)->sync_before, "another sequence may still be read");
    cr_expect(stage_at(every(&x), 1, CLPI_STEP_NEST)->sync_before);
    planned_done(&x.p);
}

Test(schedule, the_first_part_waits_for_the_last)
{
    scheduled x;
    schedule_ok(&x, "kernel k(in x: f32[N] block [8] at (k), out o: f32[G, 8] block [_, 8] at (g, 0), scratch s: f32[8])\n"
                    "grid (g = G, k = cdiv(N, 8) arbitrary)\n"
                    "{ if (first(k)) { s[...] = 0; } s[...] += flip(x[...], axis = 0); if (last(k)) { o[...] = flip(s[...], axis = 0); } }", &CPU, CLP_SCHEDULE_SIMT);
    cr_expect(stage_at(&x.s->parts[CLPI_PART_FIRST], 0, CLPI_STEP_NEST)->sync_before);
    cr_expect(stage_at(&x.s->parts[CLPI_PART_LAST], 0, CLPI_STEP_NEST)->sync_before);
    planned_done(&x.p);
}

Test(schedule, no_barrier_where_nothing_is_shared)
{
    scheduled x;
    schedule_ok(&x, "kernel k(in x: f32[N] block [40] at (i), out o: f32[N] block [40] at (i), out p: f32[N] block [20] at (i))\n"
                    "grid (i = cdiv(N, 40)) { o[...] = x[...] + 1; p[...] = x[0:20]; }", &CPU, CLP_SCHEDULE_SIMT);
    cr_expect_not(stage_at(every(&x), 1, CLPI_STEP_NEST)->sync_before);
    planned_done(&x.p);
}

Test(schedule, vectors_need_no_barriers)
{
    scheduled x;
    schedule_ok(&x, CHAIN, &CPU, CLP_SCHEDULE_VECTOR);
    for (uint32_t i = 0; i < every(&x)->n; i++)
        cr_expect_not(every(&x)->items[i].sync_before);
    planned_done(&x.p);
}

/* ---- What a device lacks ---- */

static void expect_refused(const char *text, const char *message)
{
    planned p;
    clpi_str out;
    clpi_limits small = CPU;
    small.has_fp64 = small.has_int64_atomics = false;
    for (int full = 0; full < 2; full++) {
        planned_ok(&p, text);
        clpi_str_init(&out, &p.env);
        clp_status status = clpi_cl_text(&p.env, CLP_STAGE_CL, p.ir, p.plan, full ? &CPU : &small, CLP_SCHEDULE_SIMT, false, &out);
        cr_expect_eq(status, full ? CLP_OK : CLP_ERR_UNSUPPORTED);
        if (!full)
            cr_expect_str_eq(clpi_error_text(&p.env), message);
        clpi_str_done(&out);
        planned_done(&p);
    }
}

Test(schedule, refuses_what_the_device_does_not_have)
{
    expect_refused("kernel k(in x: f32[8], out o: f32[8]) grid () { o[...] = cast(sqrt(cast(x[...], f64)), f32); }",
                   "k: computes in f64, which this device does not have");
    expect_refused("kernel k(in x: f64[8], out o: f32[8]) grid () { o[...] = 0; }",
                   "k: x is of f64, which this device does not have");
    expect_refused("kernel k(inout c: i64[1]) grid (i = 64) { atomic_add(c[0], 1); }",
                   "k: atomic_add of i64, which this device does not have");
}
