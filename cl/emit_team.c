/* emit_team: a nest that teams of work-items share (simt; clpi_deal draws who has what).
 *
 * In: a nest, its mapping, room for what members tell each other. Out: each work-item goes over its rows and, in them, over its
 * columns, a run of neighbours as one vector; reductions end in an exchange among the members, of all rows at once: two barriers, or
 * three, for a whole nest. Scans exchange what each member's run comes to in every round of runs. Loops over arrays in registers are
 * unrolled, so that their indices are constants.                                                                            */
#include "cl/emit.h"

/* ---- Who has what ---- */

const char *clpi_row_text(clpi_emit *e, const clpi_deal *d)
{
    const char *team = d->teams == 1 ? NULL : d->team == 1 ? "lid" : clpi_text(e, "lid / %d", d->team);
    if (!team)
        return "i";
    if (d->rows == 1)
        return team;
    if (d->row_run == 1)
        return clpi_text(e, "i * %d + %s", d->teams, team);
    if (d->row_run == d->rows)
        return clpi_text(e, "%s * %d + i", team, d->row_run);
    return clpi_text(e, "i / %d * %d + %s * %d + i %% %d", d->row_run, d->row_run * d->teams, team, d->row_run, d->row_run);
}

/* The first of run number `run` of this work-item's columns, or, of neighbours that lie in runs in the same way, of its rows. */
static const char *run_text(clpi_emit *e, const char *run, int n_runs, int length, int n_sharers, const char *sharer)
{
    const char *from = n_runs == 1 ? NULL : clpi_text(e, "%s * %d", run, length * n_sharers);
    const char *own = n_sharers == 1 ? NULL : length == 1 ? sharer : clpi_text(e, "%s * %d", sharer, length);
    return from && own ? clpi_text(e, "%s + %s", from, own) : from ? from : own ? own : "0";
}

const char *clpi_column_run_text(clpi_emit *e, const clpi_deal *d, const char *run)
{
    return run_text(e, run, d->columns / d->column_run, d->column_run, d->team,
                    d->teams == 1 ? "lid" : clpi_text(e, "lid %% %d", d->team));
}

const char *clpi_row_run_text(clpi_emit *e, const clpi_deal *d, const char *run)
{
    return run_text(e, run, d->rows / d->row_run, d->row_run, d->teams, d->team == 1 ? "lid" : clpi_text(e, "lid / %d", d->team));
}

void clpi_open_unrolled(clpi_emit *e, const char *index, int n, int by)
{
    clpi_line(e, by ? "#pragma unroll %d" : "#pragma unroll", by);
    clpi_open(e, "for (int %s = 0; %s < %d; %s++)", index, index, n, index);
}

/* ---- Loops ---- */

static void open_loop(clpi_emit *e, const char *index, int n, bool is_unrolled)
{
    if (is_unrolled)
        clpi_open_unrolled(e, index, n, 0);
    else
        clpi_open(e, "for (int %s = 0; %s < %d; %s++)", index, index, n, index);
}

static void open_rows(clpi_emit *e)
{
    open_loop(e, "i", e->map->deal.rows, e->map->unrolls_rows);
    clpi_line(e, "const int d0 = %s;", clpi_row_text(e, &e->map->deal));
}

static void close_rows(clpi_emit *e)
{
    clpi_forget_from(e, 0);
    clpi_close(e);
}

/* Do the runs of the last round go beyond the last column? */
static bool has_rest(const clpi_deal *d)
{
    return d->n != (int64_t)d->team * d->columns;
}

/* What happens at each of this work-item's columns of a row. */
static void emit_columns(clpi_emit *e)
{
    const clpi_deal *d = &e->map->deal;
    int rank = e->nest->rank;
    if (d->n == 1) {
        for (int k = 1; k < rank; k++)
            clpi_line(e, "const int d%d = 0;", k);
        clpi_emit_nodes(e, rank - 1);
        clpi_emit_outs(e);
        return;
    }
    const char *column = rank == 2 ? "d1" : "item";
    open_loop(e, "j", d->columns / d->column_run, e->map->unrolls_columns);
    clpi_line(e, "const int %s = %s;", column, clpi_column_run_text(e, d, "j"));
    if (has_rest(d))
        clpi_open(e, "if (%s < %lld)", column, (long long)d->n);
    if (rank > 2)
        clpi_emit_coordinates(e, 1, rank);
    clpi_emit_nodes(e, rank - 1);
    clpi_emit_outs(e);
    clpi_forget_from(e, 1);
    if (has_rest(d))
        clpi_close(e);
    clpi_close(e);
}

/* ---- Reductions ---- */

/* Parts are added up by all members of a team alike where that is little work; before that, where there are more, each of WIDE or
 * fewer adds up some. Compilers load as many ahead as a round of the loop has, for all rows: registers. */
enum { FEW_PARTS = 16, NARROW = 8, WIDE = 16, PARTS_AT_ONCE = 4 };

static void combine_parts(clpi_emit *e, uint32_t o, const char *first, const char *other, int step, int n)
{
    const clpi_out *out = &e->nest->outs.items[o];
    clpi_line(e, "%s r%u = %s;", clpi_accumulator_type(e, out, 1), o, first);
    clpi_line(e, "#pragma unroll %d", PARTS_AT_ONCE);
    clpi_line(e, "for (int other = %d; other < %d; other += %d)", step, n, step);
    clpi_line(e, "    r%u = %s;", o, clpi_combine_text(e, out->op, out->dtype, 1, clpi_text(e, "r%u", o), other));
}

static bool store_needs_nodes(const clpi_access *a)
{
    bool needs = a->mask >= 0;
    for (int d = 0; d < a->rank; d++)
        needs = needs || a->ix[d].node >= 0;
    return needs;
}

static bool is_reduction(const clpi_emit *e, uint32_t o)
{
    return e->nest->outs.items[o].kind == CLPI_OUT_REDUCE;
}

/* The parts of many members, as those of few. */
static void fold_parts(clpi_emit *e, int few)
{
    const clpi_deal *d = &e->map->deal;
    clpi_barrier(e);
    clpi_open(e, "if (%s < %d)", d->teams == 1 ? "lid" : clpi_text(e, "lid %% %d", d->team), few);
    open_loop(e, "i", d->rows, false);
    for (uint32_t o = 0; o < e->nest->outs.n; o++) {
        if (!is_reduction(e, o))
            continue;
        const char *at = clpi_text(e, "part%u[i * %d + lid", o, d->teams * d->team);
        combine_parts(e, o, clpi_text(e, "%s]", at), clpi_text(e, "%s + other]", at), few, d->team);
        clpi_line(e, "%s] = r%u;", at, o);
    }
    clpi_close(e);
    clpi_close(e);
}

/* Each member's part through shared memory; all of them read the whole. */
static void exchange(clpi_emit *e)
{
    const clpi_deal *d = &e->map->deal;
    int n = d->team <= FEW_PARTS ? d->team : d->team <= NARROW * NARROW ? NARROW : WIDE;
    if (n < d->team)
        fold_parts(e, n);
    clpi_barrier(e);
    open_rows(e);
    for (uint32_t o = 0; o < e->nest->outs.n; o++) {
        if (!is_reduction(e, o))
            continue;
        if (store_needs_nodes(&e->nest->accesses.items[e->nest->outs.items[o].access]))
            clpi_emit_nodes(e, 0);
        const char *at = d->teams == 1 ? clpi_text(e, "part%u[i * %d", o, d->team)
                                       : clpi_text(e, "part%u[i * %d + lid / %d * %d", o, d->teams * d->team, d->team, d->team);
        combine_parts(e, o, clpi_text(e, "%s]", at), clpi_text(e, "%s + other]", at), 1, n);
        clpi_store_result(e, o, clpi_text(e, "r%u", o), 1);
    }
    close_rows(e);
}

/* part<number>, the nth that shares the slot. */
static void declare_part(clpi_emit *e, int slot, int nth, uint32_t number, const char *type)
{
    const clpi_deal *d = &e->map->deal;
    const char *space = clpi_slot_space(e, slot);
    const char *at = nth ? clpi_text(e, "(a%d + %d)", slot, nth * d->rows * d->teams * d->team) : clpi_text(e, "a%d", slot);
    clpi_line(e, "%s%s *const part%u = (%s%s *)%s;", space, type, number, space, type, at);
}

static void declare_parts(clpi_emit *e, int slot)
{
    int n = 0;
    for (uint32_t o = 0; o < e->nest->outs.n; o++)
        if (is_reduction(e, o))
            declare_part(e, slot, n++, o, clpi_accumulator_type(e, &e->nest->outs.items[o], 1));
}

/* ---- Scans ----
 * In a round the members of a team have one run of neighbours each, and lie side by side:
 *
 *     each        scans its run in itself, and tells what that comes to      2 3 | 1 0 | 4 1      2 5 | 1 1 | 4 5      5, 1, 5
 *     all         go from run to run and keep what comes before their own    7, before the round:      7 | 12 | 13 and 18 for the next
 *     each        once more, on top of that                                                          9 12 | 13 13 | 17 18
 *
 * A run starts with just what the one before it ended with, so that sums of what is not negative never fall.              */

static bool is_scan(const clpi_emit *e, uint32_t node)
{
    return e->nest->nodes.items[node].kind == CLPI_NODE_SCAN;
}

static void declare_runs(clpi_emit *e, int slot)
{
    const clpi_deal *d = &e->map->deal;
    int n = 0;
    for (uint32_t i = 0; i < e->nest->nodes.n; i++) {
        if (!is_scan(e, i))
            continue;
        const char *type = clpi_cl_type(e->nest->nodes.items[i].dtype, 1);
        declare_part(e, slot, n++, i, type);
        clpi_line(e, "%s run%u[%d];", type, i, d->rows);
        clpi_open_unrolled(e, "i", d->rows, 0);
        clpi_line(e, "run%u[i] = %s;", i, clpi_scan_identity_text(e, (int)i));
        clpi_close(e);
    }
}

static void open_scanned_rows(clpi_emit *e)
{
    clpi_open_unrolled(e, "i", e->map->deal.rows, 0);
    if (e->nest->rank > 1)
        clpi_line(e, "const int d0 = %s;", clpi_row_text(e, &e->map->deal));
}

static void open_scanned_run(clpi_emit *e)
{
    open_scanned_rows(e);
    clpi_line(e, "const int d%d = %s;", e->nest->rank - 1, clpi_column_run_text(e, &e->map->deal, "j"));
}

/* What this member has in the round, if anything. */
static void open_run(clpi_emit *e)
{
    if (has_rest(&e->map->deal))
        clpi_open(e, "if (d%d < %lld)", e->nest->rank - 1, (long long)e->map->deal.n);
    else
        clpi_open_block(e);
    e->width = e->map->width;
    clpi_emit_nodes(e, e->nest->rank - 1);
}

static void close_run(clpi_emit *e)
{
    e->width = 1;
    clpi_forget_from(e, 0);
    clpi_close(e);
}

static void tell_run(clpi_emit *e, uint32_t node, const char *text)
{
    clpi_line(e, "part%u[i * %d + lid] = %s;", node, e->map->deal.teams * e->map->deal.team, text);
}

static void tell_runs(clpi_emit *e)
{
    const char *last;
    open_scanned_run(e);
    for (uint32_t i = 0; i < e->nest->nodes.n; i++)
        if (is_scan(e, i) && has_rest(&e->map->deal))
            tell_run(e, i, clpi_scan_identity_text(e, (int)i));
    e->is_before_scans = true;
    open_run(e);
    for (uint32_t i = 0; i < e->nest->nodes.n; i++)
        if (is_scan(e, i)) {
            (void)clpi_scan_own_text(e, (int)i, &last);
            tell_run(e, i, last);
        }
    close_run(e);
    e->is_before_scans = false;
    clpi_close(e);
}

/* base: what comes before this member's run; run: before the next round. */
static void take_runs(clpi_emit *e, uint32_t node)
{
    const clpi_deal *d = &e->map->deal;
    const char *type = clpi_cl_type(e->nest->nodes.items[node].dtype, 1);
    const bool back = clpi_scans_backwards(e, e->nest->rank - 1);
    const char *other = clpi_text(e, "part%u[i * %d + (lid / %d) * %d + other]", node, d->teams * d->team, d->team, d->team);
    clpi_line(e, "%s base%u = run%u[i], sum%u = base%u;", type, node, node, node, node);
    if (back)
        clpi_open(e, "for (int other = %d; other >= 0; other--)", d->team - 1);
    else
        clpi_open(e, "for (int other = 0; other < %d; other++)", d->team);
    clpi_line(e, "base%u = other == lid %% %d ? sum%u : base%u;", node, d->team, node, node);
    clpi_line(e, "sum%u = %s;", node, clpi_scan_combine_text(e, (int)node, clpi_text(e, "sum%u", node), other));
    clpi_close(e);
    clpi_line(e, "run%u[i] = sum%u;", node, node);
}

static void finish_round(clpi_emit *e)
{
    open_scanned_run(e);
    for (uint32_t i = 0; i < e->nest->nodes.n; i++)
        if (is_scan(e, i))
            take_runs(e, i);
    open_run(e);
    clpi_emit_outs(e);
    close_run(e);
    clpi_close(e);
}

static void store_ends(clpi_emit *e)
{
    open_scanned_rows(e);
    clpi_store_reductions(e);
    close_rows(e);
}

static void emit_scans(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_deal *d = &e->map->deal;
    const int n_rounds = d->columns / d->column_run;
    clpi_open_block(e);
    clpi_renew_lid(e, NULL);
    declare_runs(e, stage->team_slot);
    clpi_emit_nodes(e, -1);
    clpi_open(e, clpi_scans_backwards(e, e->nest->rank - 1) ? "for (int j = %d; j >= 0; j--)" : "for (int j = 0; j <= %d; j++)", n_rounds - 1);
    tell_runs(e);
    clpi_barrier(e);
    finish_round(e);
    if (n_rounds > 1)
        clpi_barrier(e);
    clpi_close(e);
    store_ends(e);
    clpi_close(e);
}

void clpi_emit_team(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_deal *d = &e->map->deal;
    bool exchanges = stage->team_slot >= 0;
    if (clpi_scan_of(e->nest)) {
        emit_scans(e, stage);
        return;
    }
    clpi_open_block(e);
    if (exchanges) {
        clpi_renew_lid(e, NULL);
        declare_parts(e, stage->team_slot);
    }
    clpi_emit_nodes(e, -1);
    open_rows(e);
    clpi_emit_nodes(e, 0);
    clpi_declare_accumulators(e);
    e->width = e->map->width;
    emit_columns(e);
    e->width = 1;
    for (uint32_t o = 0; o < e->nest->outs.n; o++) {
        if (!is_reduction(e, o))
            continue;
        const char *result = clpi_fold_lanes(e, o);
        if (exchanges)
            clpi_line(e, "part%u[i * %d + lid] = %s;", o, d->teams * d->team, result);
        else
            clpi_store_result(e, o, result, 1);
    }
    close_rows(e);
    if (exchanges)
        exchange(e);
    clpi_close(e);
}
