/* What becomes of a kernel as steps: which nests there are, what they share, where loads stay, how long tiles live. */
#include "nest/nest.h"
#include "planned.h"

typedef struct nested {
    planned       p;
    clpi_program *program;
} nested;

static void nest_ok(nested *n, const char *text)
{
    planned_ok(&n->p, text);
    cr_assert_eq(clpi_nest_build(n->p.ir, n->p.plan, false, &n->p.arena, &n->program), CLP_OK);
}

static const clpi_steps *part(const nested *n, clpi_part which)
{
    return &n->program->parts[which];
}

static const clpi_steps *every(const nested *n)
{
    return part(n, CLPI_PART_EVERY);
}

static const clpi_step *step_at(const clpi_steps *steps, uint32_t i, clpi_step_kind kind)
{
    cr_assert_lt(i, steps->n, "%u steps", steps->n);
    cr_assert_eq(steps->items[i]->kind, kind, "step %u is of kind %d", i, (int)steps->items[i]->kind);
    return steps->items[i];
}

static int operand_number(const nested *n, const char *name)
{
    for (int i = 0; i < n->p.ir->n_operands; i++)
        if (!strcmp(n->p.ir->operands[i].name, name))
            return i;
    cr_assert_fail("no operand %s", name);
    return -1;
}

/* Loads of the nest from an operand (not scratch), dead ones not counted: every node of a nest is used. */
static int n_loads(const nested *n, const clpi_nest *nest, const char *name)
{
    int count = 0, operand = operand_number(n, name);
    for (uint32_t i = 0; i < nest->nodes.n; i++) {
        const clpi_node *x = &nest->nodes.items[i];
        if (x->kind == CLPI_NODE_LOAD && !nest->accesses.items[x->access].is_tile && nest->accesses.items[x->access].target == operand)
            count++;
    }
    return count;
}

static const clpi_access *stored(const clpi_nest *nest, uint32_t out)
{
    cr_assert_lt(out, nest->outs.n);
    return &nest->accesses.items[nest->outs.items[out].access];
}

static bool stores_to(const nested *n, const clpi_nest *nest, const char *name)
{
    for (uint32_t o = 0; o < nest->outs.n; o++)
        if (!stored(nest, o)->is_tile && stored(nest, o)->target == operand_number(n, name))
            return true;
    return false;
}

static int n_live_tiles(const nested *n)
{
    int count = 0;
    for (uint32_t t = 0; t < n->program->tiles.n; t++)
        count += n->program->tiles.items[t].operand < 0 && n->program->tiles.items[t].first >= 0;
    return count;
}

#define TWO "in x: f32[N] block [8] at (i), inout o: f32[N] block [8] at (i)"

/* ---- Fusion and tiles ---- */

Test(nest, elementwise_is_one_nest_without_tiles)
{
    nested n;
    nest_ok(&n, "kernel k(" TWO ") grid (i = cdiv(N, 8)) { let a = x[...] * 2; o[...] = a + x[...] * a; }");
    cr_expect_eq(every(&n)->n, 1);
    const clpi_nest *nest = step_at(every(&n), 0, CLPI_STEP_NEST)->nest;
    cr_expect_eq(n_loads(&n, nest, "x"), 1, "a value asked for twice is one node");
    cr_expect_eq(n_live_tiles(&n), 0);
    planned_done(&n.p);
}

Test(nest, softmax_is_three_nests_under_one_loop)
{
    nested n;
    nest_ok(&n, "kernel k(in x: f32[R, N] block [4, 32] at (i, 0) pad -inf, out o: f32[R, N] block [4, 32] at (i, 0))\n"
                "grid (i = cdiv(R, 4)) { let e = exp(x[...] - max(x[...], axis = 1)[:, None]); o[...] = e / sum(e, axis = 1)[:, None]; }");
    cr_expect_eq(every(&n)->n, 1);
    const clpi_step *shared = step_at(every(&n), 0, CLPI_STEP_SHARED);
    cr_expect_eq(shared->extent, 4);
    cr_assert_eq(shared->body.n, 3);
    const clpi_nest *middle = step_at(&shared->body, 1, CLPI_STEP_NEST)->nest;
    cr_expect_eq(middle->n_outer, 1);
    cr_assert_eq(middle->outs.n, 2, "e and its sum come of one pass");
    cr_expect(middle->outs.items[0].kind == CLPI_OUT_STORE && middle->outs.items[1].kind == CLPI_OUT_REDUCE);
    cr_expect_eq(n_live_tiles(&n), 3);
    for (uint32_t t = 0; t < n.program->tiles.n; t++)
        cr_expect(n.program->tiles.items[t].first < 0 || n.program->tiles.items[t].is_row, "tile %u keeps more than a row", t);
    planned_done(&n.p);
}

Test(nest, a_tile_used_outside_the_shared_loop_keeps_all_rows)
{
    nested n;
    nest_ok(&n, "kernel k(in x: f32[4, 32], out o: f32[4, 32], out p: f32[32, 4])\n"
                "grid () { let e = exp(x[...]); let c = e - max(e, axis = 1)[:, None]; o[...] = c; p[...] = transpose(sort(e, axis = 0)); }");
    const clpi_step *sort = NULL;
    for (uint32_t i = 0; i < every(&n)->n; i++)
        sort = every(&n)->items[i]->kind == CLPI_STEP_SORT ? every(&n)->items[i] : sort;
    step_at(every(&n), 0, CLPI_STEP_SHARED);
    cr_assert(sort);
    cr_expect_not(n.program->tiles.items[sort->tile].is_row);
    planned_done(&n.p);
}

Test(nest, a_dot_accumulates_in_place)
{
    nested n;
    nest_ok(&n, "kernel k(in x: f32[8, 8], scratch acc: f32[8, 8], out o: f32[8, 8])\n"
                "grid (k = 3 arbitrary) { if (first(k)) { acc[...] = 0; } acc[...] += dot(x[...], x[...]); if (last(k)) { o[...] = acc[...]; } }");
    cr_expect_eq(every(&n)->n, 1, "first and last left the loop");
    const clpi_dot *d = step_at(every(&n), 0, CLPI_STEP_DOT)->dot;
    cr_expect(d->accumulates);
    cr_expect_eq(d->dest, n.program->scratch_tile[operand_number(&n, "acc")]);
    cr_expect_eq(n_live_tiles(&n), 0);
    cr_expect_eq(part(&n, CLPI_PART_FIRST)->n, 1);
    cr_expect_eq(part(&n, CLPI_PART_LAST)->n, 1);
    planned_done(&n.p);
}

Test(nest, a_masked_accumulator_is_masked_first)
{
    nested n;
    nest_ok(&n, "kernel k(in x: f32[8, 8], scratch acc: f32[8, 8], out o: f32[8, 8])\n"
                "grid () { acc[...] = load(acc[...], mask = x[...] > 0) + dot(x[...], x[...]); o[...] = acc[...]; }");
    const clpi_nest *scaled = step_at(every(&n), 0, CLPI_STEP_NEST)->nest;
    cr_expect_eq(stored(scaled, 0)->target, n.program->scratch_tile[operand_number(&n, "acc")]);
    cr_expect(step_at(every(&n), 1, CLPI_STEP_DOT)->dot->accumulates);
    planned_done(&n.p);
}

Test(nest, a_dot_of_its_accumulator_has_a_tile)
{
    nested n;
    nest_ok(&n, "kernel k(in x: f32[8, 8], scratch acc: f32[8, 8], out o: f32[8, 8])\n"
                "grid () { acc[...] = x[...]; acc[...] += dot(acc[...], x[...]); o[...] = acc[...]; }");
    bool found = false;
    for (uint32_t i = 0; i < every(&n)->n; i++)
        if (every(&n)->items[i]->dot) {
            found = true;
            cr_expect_not(every(&n)->items[i]->dot->accumulates);
        }
    cr_expect(found);
    planned_done(&n.p);
}

Test(nest, an_iota_seen_in_another_shape_has_a_tile)
{
    nested n;
    nest_ok(&n, "kernel k(out o: i32[3, 4]) grid () { o[...] = reshape(iota([12]), [3, 4]); }");
    cr_assert_eq(every(&n)->n, 2);
    cr_expect(n.program->tiles.items[stored(step_at(every(&n), 0, CLPI_STEP_NEST)->nest, 0)->target].is_reshaped);
    planned_done(&n.p);
}

/* ---- Loads are snapshots ---- */

/* In how many nests is o loaded: one where it stays, or the one that uses it. */
static void expect_kept(const char *body, bool is_kept)
{
    char text[600];
    nested n;
    snprintf(text, sizeof text, "kernel k(" TWO ") grid (i = cdiv(N, 8)) { %s }", body);
    nest_ok(&n, text);
    cr_expect_eq(n_live_tiles(&n) > 0, is_kept, "%s", body);
    planned_done(&n.p);
}

/* Kept, it would be written as bytes, and read back twice. */
Test(nest, a_mask_of_few_comparisons_is_computed_where_it_is_used)
{
    for (int more = 0; more < 2; more++) {
        char text[500];
        nested n;
        int n_masks = 0;
        snprintf(text, sizeof text, "kernel k(in x: f32[64, 64], out o: f32[64, 64]) grid () {\n"
                 "let column = 2 * iota([64, 64], axis = 1);\n"
                 "let keep = (column < 50) & (column <= 3 + iota([64, 64], axis = 0))%s;\n"
                 "let s = where(keep, exp(x[...]), -1);\n"
                 "o[...] = where(keep, s - max(s, axis = 1)[:, None], 0); }", more ? " & (column != 10)" : "");
        nest_ok(&n, text);
        for (uint32_t t = 0; t < n.program->tiles.n; t++)
            n_masks += n.program->tiles.items[t].dtype == CLP_BOOL && n.program->tiles.items[t].first >= 0;
        cr_expect_eq(n_masks, more, "%d masks", n_masks);
        planned_done(&n.p);
    }
}

Test(nest, loads_stay_when_a_store_lies_between)
{
    expect_kept("let a = o[...]; o[...] = x[...]; o[...] += a;", true);
    expect_kept("let a = o[0:4]; o[2:6] = x[2:6]; o[4:8] = a;", true);
    expect_kept("let a = o[ds(3, 3, -1)]; o[2:3] = x[2:3]; o[5:8] = a;", true);
    expect_kept("o[...] = flip(o[...], axis = 0);", true);
    expect_kept("o[0:4] = o[2:6];", true);
}

Test(nest, loads_wait_when_nothing_meets_them)
{
    expect_kept("o[...] = o[...] + x[...];", false);
    expect_kept("let a = o[0:4]; o[4:6] = x[4:6]; o[0:4] = a + 1;", false);
    expect_kept("let a = o[ds(3, 3, -1)]; o[4:5] = x[2:3]; o[5:8] = a;", false);
    expect_kept("let a = x[...]; o[...] = 1; o[...] += a;", false);
}

Test(nest, a_masked_load_is_not_what_was_stored)
{
    nested n;
    nest_ok(&n, "kernel k(" TWO ", scratch s: f32[8]) grid (i = cdiv(N, 8)) { s[...] = x[...]; o[...] = load(s[...], mask = x[...] > 0); }");
    for (uint32_t i = 0; i < every(&n)->n; i++) {
        const clpi_nest *nest = step_at(every(&n), i, CLPI_STEP_NEST)->nest;
        if (!stores_to(&n, nest, "o"))
            continue;
        int masked = 0;
        for (uint32_t k = 0; k < nest->nodes.n; k++)
            masked += nest->nodes.items[k].kind == CLPI_NODE_LOAD && nest->accesses.items[nest->nodes.items[k].access].mask >= 0;
        cr_expect_eq(masked, 1);
    }
    planned_done(&n.p);
}

Test(nest, a_tile_is_handed_over_at_its_point)
{
    nested n;
    nest_ok(&n, "kernel k(" TWO ", scratch s: f32[8]) grid (i = cdiv(N, 8)) { s[...] = x[...] * 2; o[...] = s[...] + 1; }");
    cr_assert_eq(every(&n)->n, 1);
    cr_expect_eq(step_at(every(&n), 0, CLPI_STEP_NEST)->nest->outs.n, 1, "nothing reads the scratch any more");
    planned_done(&n.p);
}

/* ---- Regions ---- */

Test(nest, values_swapped_round_a_loop_need_no_third)
{
    nested n;
    nest_ok(&n, "kernel k(" TWO ") grid (i = cdiv(N, 8)) { var u = x[...]; var v = o[...] * 2; for (t in 0 .. 3) { let w = u; u = v; v = w; } o[...] = u - v; }");
    const clpi_step *loop = NULL;
    for (uint32_t i = 0; i < every(&n)->n; i++)
        if (every(&n)->items[i]->kind == CLPI_STEP_FOR)
            loop = every(&n)->items[i];
    cr_assert(loop);
    cr_expect_eq(loop->by, 1);
    cr_expect(n.program->tiles.items[loop->lo].rank == 0 && n.program->tiles.items[loop->hi].rank == 0);
    cr_assert_eq(loop->body.n, 1, "both are read before either is written");
    cr_expect_eq(loop->body.items[0]->nest->outs.n, 2);
    planned_done(&n.p);
}

Test(nest, what_a_loop_uses_lives_until_its_end)
{
    nested n;
    nest_ok(&n, "kernel k(" TWO ") grid (i = cdiv(N, 8)) { let a = sort(x[...], axis = 0); var c = 0;\n"
                "while (c < 3) { o[...] += flip(a, axis = 0); o[...] = sort(o[...], axis = 0); o[...] *= 2; c += 1; } }");
    const clpi_step *sort = NULL, *loop = NULL;
    for (uint32_t i = 0; i < every(&n)->n; i++) {
        sort = every(&n)->items[i]->kind == CLPI_STEP_SORT ? every(&n)->items[i] : sort;
        loop = every(&n)->items[i]->kind == CLPI_STEP_WHILE ? every(&n)->items[i] : loop;
    }
    cr_assert(sort && loop && loop->body.n > 1);
    const clpi_tile *a = &n.program->tiles.items[sort->tile];
    cr_expect_leq(a->first, sort->number);
    cr_expect_geq(a->last, loop->body.items[loop->body.n - 1]->number);
    planned_done(&n.p);
}

Test(nest, scratch_and_carried_scalars_are_not_computed_twice_at_the_end)
{
    nested n;
    nest_ok(&n, "kernel k(out o: i32[4], scratch n: i32[])\n"
                "grid (k = 3 arbitrary) { n[...] += 1; var s = 1; for (e in 0 .. 3) { s = s * 2; } if (last(k)) { o[0] = n[...] + s; } }");
    for (uint32_t i = 0; i < part(&n, CLPI_PART_LAST)->n; i++) {
        const clpi_nest *nest = part(&n, CLPI_PART_LAST)->items[i]->nest;
        cr_assert(nest);
        for (uint32_t o = 0; o < nest->outs.n; o++)
            for (uint32_t k = 0; k < every(&n)->n; k++)
                for (uint32_t q = 0; every(&n)->items[k]->nest && q < every(&n)->items[k]->nest->outs.n; q++)
                    cr_expect_not(stored(nest, o)->is_tile && stored(every(&n)->items[k]->nest, q)->is_tile &&
                                  stored(nest, o)->target == stored(every(&n)->items[k]->nest, q)->target);
    }
    planned_done(&n.p);
}

Test(nest, a_first_branch_behind_a_use_of_scratch_stays)
{
    nested n;
    nest_ok(&n, "kernel k(out o: i32[4], scratch n: i32[])\n"
                "grid (k = 3 arbitrary) { let m = n[...]; if (first(k)) { n[...] = 7; } o[0] = m; }");
    cr_expect_eq(part(&n, CLPI_PART_FIRST)->n, 0);
    planned_done(&n.p);
}

/* ---- Order ---- */

Test(nest, lanes_that_may_meet_run_in_order)
{
    nested n;
    nest_ok(&n, "kernel k(in x: i32[8], inout o: i32[8], inout h: i32[8]) grid () { o[x[...]] = x[...]; atomic_add(h[x[...]], 1); }");
    cr_expect(step_at(every(&n), 0, CLPI_STEP_NEST)->nest->in_order);
    const clpi_nest *atomic = step_at(every(&n), 1, CLPI_STEP_NEST)->nest;
    cr_expect_not(atomic->in_order);
    cr_expect_eq(atomic->outs.items[0].kind, CLPI_OUT_ATOMIC);
    cr_expect_eq(atomic->outs.items[0].old, -1, "nobody asks for the old values");
    cr_expect_neq(stored(atomic, 0)->checked, 0);
    planned_done(&n.p);
}

Test(nest, aliases_meet)
{
    nested n;
    nest_ok(&n, "kernel k(in x: f32[N] block [8] at (i), out z: f32[N] block [8] at (i) alias x)\n"
                "grid (i = cdiv(N, 8)) { let a = x[...]; z[...] = 1; z[...] += a; }");
    cr_expect_gt(n_live_tiles(&n), 0);
    planned_done(&n.p);
}
