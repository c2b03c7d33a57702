/* map: the domain of one nest, mapped to loops, lanes and work-items.
 *
 * In: a nest. Out: the order of its loops and, by realisation, the dimension that goes to vector lanes or how the domain is
 * dealt out. Decides by counting, for each dimension, the accesses that run along it element by element.                 */
#include "cl/schedule.h"

static const clpi_mapping UNMAPPED = { .vector_dim = -1, .width = 1, .turn_dim = -1, .chains = 1 };

bool clpi_depends_on(const clpi_nest *n, int node, int dim)
{
    return node >= 0 && dim >= 0 && (n->nodes.items[node].dims >> dim & 1);
}

bool clpi_access_varies(const clpi_nest *n, const clpi_access *a, int dim)
{
    return dim >= 0 && (clpi_access_dims(n, a) >> dim & 1);
}

bool clpi_is_contiguous(const clpi_cl_schedule *s, const clpi_access *a, int dim)
{
    for (int d = 0; d < a->rank; d++)
        if (a->ix[d].dim == dim && (d != a->rank - 1 || a->ix[d].mul != 1))
            return false;
    if (a->rank == 0 || a->ix[a->rank - 1].dim != dim)
        return false;
    if (a->is_tile)
        return true;
    const clpi_operand *x = &s->program->ir->operands[a->target];
    return x->ref_dim[a->rank - 1] == x->rank - 1 && !clpi_is_packed(x->dtype);
}

bool clpi_is_across(const clpi_cl_schedule *s, const clpi_nest *n, const clpi_access *a, int dim, int turn)
{
    bool moves = false;
    for (int d = 0; d < a->rank; d++) {
        if (clpi_depends_on(n, a->ix[d].node, dim) || clpi_depends_on(n, a->ix[d].node, turn))
            return false;
        moves = moves || a->ix[d].dim == dim;
    }
    return moves && a->mask < 0 && clpi_is_contiguous(s, a, turn);
}

/* How well one access suits lanes along dim, those that run along turn (-1: none) being turned. Turned stores keep more registers
 * busy than turned loads. */
static int access_score(const clpi_cl_schedule *s, const clpi_nest *n, uint32_t access, int dim, int turn)
{
    const clpi_access *a = &n->accesses.items[access];
    bool by_node = false;
    for (int d = 0; d < a->rank; d++)
        by_node = by_node || clpi_depends_on(n, a->ix[d].node, dim);
    if (!by_node && clpi_is_contiguous(s, a, dim))
        return 4;
    if (turn >= 0 && clpi_is_across(s, n, a, dim, turn))
        return clpi_nest_writes(n, access) ? 2 : 3;
    return clpi_access_varies(n, a, dim) ? -4 : 0;
}

/* How well dimension dim suits vector lanes; below 0: better not. */
static int lanes_score(const clpi_cl_schedule *s, const clpi_nest *n, int dim, int turn)
{
    int score = 0;
    for (uint32_t i = 0; i < n->accesses.n; i++)
        score += access_score(s, n, i, dim, turn);
    return score + (n->extent[dim] >= s->lanes);
}

/* Squares are stored when they are whole: no nest stores twice to one place. The dimension that is turned is the innermost: nothing
 * else may have to be. Below 4 elements a row is no vector worth the turning. */
static bool may_turn(const clpi_nest *n, uint32_t last, int dim, int turn)
{
    return turn != dim && n->extent[dim] >= 4 && n->extent[turn] >= 4 && (last == 0 || last == UINT32_C(1) << turn);
}

/* Of longer rows a CPU sees by itself what comes next, and what it is told on top of that delays it: transposing in blocks of 512 takes a quarter
 * more time, in blocks of 128 a tenth less. */
enum { LONG_ROW = 256 };

/* Lanes along dim, what lies along turn (-1: nothing) being turned, unless m has better ones. Of equal ones the last, and none turned.
 * packed: the dimension along which the value is stored by others, -1: by none. */
static void offer_lanes(const clpi_cl_schedule *s, const clpi_nest *n, int dim, int turn, int packed, clpi_mapping *m, int *best)
{
    const int score = lanes_score(s, n, dim, turn) + (packed < 0 ? 0 : packed == dim ? 4 : -4);
    if (score < *best || (score == *best && (turn >= 0 || score < 0)))
        return;
    *best = score;
    m->vector_dim = dim;
    m->turn_dim = turn;
}

/* last: set of dimensions that are innermost. */
static void choose_lanes(const clpi_cl_schedule *s, const clpi_nest *n, uint32_t last, int packed, clpi_mapping *m)
{
    int best = -1;
    for (uint32_t o = 0; o < n->outs.n; o++)
        if (n->outs.items[o].kind == CLPI_OUT_ATOMIC || clpi_is_arg(n->outs.items[o].op))
            return;
    for (int d = n->n_outer; !n->in_order && d < n->rank; d++) {
        if (n->extent[d] < 2)
            continue;
        offer_lanes(s, n, d, -1, packed, m, &best);
        for (int turn = n->n_outer; turn < n->rank; turn++)
            if (may_turn(n, last, d, turn))
                offer_lanes(s, n, d, turn, packed, m, &best);
    }
    if (m->vector_dim >= 0)
        for (m->width = s->lanes; m->width > n->extent[m->vector_dim];)
            m->width /= 2;
    if (m->turn_dim >= 0 && n->extent[m->vector_dim] > m->width && n->extent[m->turn_dim] < LONG_ROW)     /* the rows of the next square */
        m->ahead = m->width;
}

/* From `first` on: dimensions outside `last`, then those in it; in each part the vector dimension after the others, and last the one
 * that is turned. */
static void order_loops(const clpi_nest *n, int first, uint32_t last, clpi_mapping *m)
{
    for (int part = 0; part < 2; part++) {
        const int inner[] = { m->vector_dim, m->turn_dim };
        for (int d = first; d < n->rank; d++)
            if ((int)(last >> d & 1) == part && d != inner[0] && d != inner[1])
                m->order[m->n_order++] = d;
        for (int i = 0; i < 2; i++)
            if (inner[i] >= 0 && (int)(last >> inner[i] & 1) == part)
                m->order[m->n_order++] = inner[i];
        if (part == 0)
            m->n_kept = m->n_order;
    }
}

/* A scalar read from what the kernel writes: another group may be writing it (atomically, or in a race), and the work-items
 * must go on agreeing on it, since branches with barriers may hang on it. */
static bool reads_written(const clpi_cl_schedule *s, const clpi_nest *n)
{
    for (uint32_t o = 0; o < n->outs.n; o++)
        if (n->outs.items[o].kind == CLPI_OUT_ATOMIC && n->outs.items[o].old >= 0)
            return true;
    for (uint32_t i = 0; i < n->nodes.n; i++) {
        const clpi_node *x = &n->nodes.items[i];
        if (x->kind == CLPI_NODE_LOAD && !n->accesses.items[x->access].is_tile &&
            s->program->plan->is_written[n->accesses.items[x->access].target])
            return true;
    }
    return false;
}

static bool is_in_register(const clpi_cl_schedule *s, const clpi_nest *n, const clpi_out *out)
{
    const clpi_access *a = &n->accesses.items[out->access];
    return (out->kind == CLPI_OUT_STORE || out->kind == CLPI_OUT_LAST) && a->is_tile && s->tiles[a->target].home == CLPI_HOME_REGISTER;
}

static bool leaves_register(const clpi_cl_schedule *s, const clpi_nest *n)
{
    for (uint32_t o = 0; o < n->outs.n; o++)
        if (is_in_register(s, n, &n->outs.items[o]))
            return true;
    return false;
}

/* A scalar nest leaves scalars in the registers of every work-item, and something in memory that it has read: who comes late
 * would read what the first has stored. */
static bool scalar_overtakes(const clpi_cl_schedule *s, const clpi_nest *n)
{
    for (uint32_t o = 0; o < n->outs.n && leaves_register(s, n); o++)
        if (!is_in_register(s, n, &n->outs.items[o]) && clpi_loads_from(s->program, n, &n->accesses.items[n->outs.items[o].access]))
            return true;
    return false;
}

/* A reduction of little work waits for its own last result: CHAINS accumulators in turn do not. Row maxima of 1024 floats take
 * two thirds of the time. Where a nest computes more, the computing hides the wait.                                      */
enum { CHAINS = 4, CHEAP_NODES = 4 };

static int choose_chains(const clpi_nest *n, const clpi_mapping *m)
{
    if (m->vector_dim < 0 || m->n_order - m->n_kept != 1 || n->nodes.n > CHEAP_NODES)
        return 1;
    for (uint32_t o = 0; o < n->outs.n; o++)
        if (n->outs.items[o].kind != CLPI_OUT_REDUCE || !(n->outs.items[o].reduced >> m->vector_dim & 1))
            return 1;
    int64_t vectors = n->extent[m->vector_dim] / m->width;
    return n->outs.n > 0 && vectors >= 2 * CHAINS && vectors % CHAINS == 0 ? CHAINS : 1;
}

/* ---- simt ---- */

static bool touches_owned(const clpi_cl_schedule *s, const clpi_nest *n, bool in_columns)
{
    for (uint32_t i = 0; i < n->accesses.n; i++) {
        const clpi_access *a = &n->accesses.items[i];
        if (a->is_tile && s->is_owned[a->target] && !(in_columns && clpi_is_row_tile(&s->program->tiles.items[a->target])))
            return true;
    }
    return false;
}

/* What is scanned without rows around is one row of the whole group. */
static clpi_deal deal_of(const clpi_cl_schedule *s, const clpi_nest *n)
{
    const int64_t row[2] = { 1, n->extent[0] };
    return n->rank == 1 && clpi_scan_of(n) ? clpi_deal_of(s, 2, row) : clpi_deal_of(s, n->rank, n->extent);
}

static void map_team(const clpi_cl_schedule *s, const clpi_nest *n, clpi_mapping *m)
{
    m->is_teamed = true;
    m->unrolls_rows = touches_owned(s, n, false);
    m->unrolls_columns = touches_owned(s, n, true);
    m->deal = deal_of(s, n);
    if (m->deal.n > 1 && m->deal.column_run > 1) {
        m->vector_dim = n->rank - 1;
        m->width = m->deal.column_run;
    }
}

/* Scans along rows that are long enough to be shared, none of which takes another's values. What they come to all members know. Each
 * work-item has it in a register for each of its rows, whose code is written out. */
static bool is_scanned_by_teams(const clpi_cl_schedule *s, const clpi_nest *n)
{
    enum { MAX_ROWS = 16 };
    const clpi_node *scan = clpi_scan_of(n);
    if (!scan || n->rank > 2 || scan->ix.dim != n->rank - 1 || n->in_order)
        return false;
    const clpi_deal d = deal_of(s, n);
    bool is_good = d.team > 1 && d.n >= d.team && d.rows <= MAX_ROWS;
    for (uint32_t i = 0; i < n->nodes.n; i++)
        is_good = is_good && (n->nodes.items[i].kind != CLPI_NODE_SCAN || !n->nodes.items[i].takes_scan);
    for (uint32_t o = 0; o < n->outs.n; o++)
        is_good = is_good && (n->outs.items[o].kind == CLPI_OUT_STORE || n->outs.items[o].kind == CLPI_OUT_LAST);
    return is_good;
}

/* A group goes over all rows of nests that share them, nest after nest: rows are dealt out, and need no loop around. */
static clpi_mapping map_group(const clpi_cl_schedule *s, const clpi_nest *n, uint32_t last, bool reduces)
{
    clpi_mapping m = UNMAPPED;
    order_loops(n, 0, last, &m);
    if ((clpi_is_teamable(n) && (touches_owned(s, n, false) || (reduces && m.n_kept == 1))) || is_scanned_by_teams(s, n)) {
        map_team(s, n, &m);
        return m;
    }
    m.is_joint = reduces && m.n_kept == 0;
    m.is_single = !m.is_joint && (n->in_order || m.n_kept == 0);
    m.is_dealt = !m.is_joint && !m.is_single;
    /* One work-item does what has to be done in order, and what leaves nothing in registers. */
    const bool leaves = leaves_register(s, n);
    m.is_broadcast = n->rank == 0 ? reads_written(s, n) || scalar_overtakes(s, n) : m.is_single && leaves;
    m.is_alone = m.is_single && !m.is_broadcast && !leaves;
    return m;
}

/* Vectors along the side that an operand of a dot lies along, if it has whole ones: m or n, or k in slices. */
static clpi_mapping map_slice(const clpi_cl_schedule *s, const clpi_nest *n, const clpi_dot_plan *p, bool is_y)
{
    clpi_mapping m = UNMAPPED;
    int best = -1;
    order_loops(n, n->n_outer, 0, &m);
    for (int d = n->n_outer; d < n->rank; d++) {
        const bool is_k = is_y ? d == n->rank - 2 : d == n->rank - 1;
        int64_t block = is_k ? p->slice : is_y ? (int64_t)p->deal.team * p->deal.columns : (int64_t)p->deal.teams * p->deal.rows;
        int width = s->run, score = lanes_score(s, n, d, -1);
        while (width > 1 && (n->extent[d] % width || block % width))
            width /= 2;
        if (width > 1 && score > best) {
            best = score;
            m.vector_dim = d;
            m.width = width;
        }
    }
    return m;
}

int clpi_loop_around(const clpi_mapping *m)
{
    bool is_inner = m->n_order >= 2 && m->vector_dim >= 0 && m->order[m->n_order - 1] == m->vector_dim;
    return m->turn_columns ? m->turn_dim : is_inner ? m->order[m->n_order - 2] : -1;
}

/* Packing reads the rows of a block, which are short and far apart: too short for a CPU to see by itself what comes next. Matmul of 1024
 * cubed spends 11 % of its time on packing with it, 17 % without. */
enum { ROWS_AHEAD = 8 };

/* vector: x is packed along k, y along the columns of its panels: in both the last dimension. */
clpi_mapping clpi_map_operand(const clpi_cl_schedule *s, const clpi_nest *n, const clpi_dot_plan *p, bool is_y)
{
    if (s->realisation == CLP_SCHEDULE_SIMT)
        return map_slice(s, n, p, is_y);
    clpi_mapping m = UNMAPPED;
    choose_lanes(s, n, 0, n->rank - 1, &m);
    while (is_y && m.vector_dim == n->rank - 1 && (p->is_y_direct ? m.width > p->width : p->panel % m.width != 0))   /* stays in its panel */
        m.width /= 2;
    if (is_y && p->group > 1 && m.vector_dim == n->rank - 1 && m.turn_dim < 0) {      /* rows that share lanes are packed together */
        m.turn_dim = n->rank - 2;
        m.turn_columns = p->group;
    }
    order_loops(n, n->n_outer, 0, &m);
    const int around = clpi_loop_around(&m);
    if (around >= 0 && n->extent[around] > ROWS_AHEAD)
        m.ahead = ROWS_AHEAD;
    return m;
}

clpi_mapping clpi_map_nest(const clpi_cl_schedule *s, const clpi_nest *n)
{
    clpi_mapping m = UNMAPPED;
    const clpi_node *scan = clpi_scan_of(n);
    uint32_t last = scan ? UINT32_C(1) << scan->ix.dim : 0;
    bool reduces = false;
    for (uint32_t o = 0; o < n->outs.n; o++) {
        const clpi_out *out = &n->outs.items[o];
        last |= out->reduced;
        reduces = reduces || out->kind == CLPI_OUT_REDUCE;
    }
    if (s->realisation == CLP_SCHEDULE_SIMT)
        return map_group(s, n, last, reduces);
    choose_lanes(s, n, last, -1, &m);
    order_loops(n, n->n_outer, last, &m);
    m.chains = choose_chains(n, &m);
    return m;
}

clpi_mapping clpi_map_check(const clpi_cl_schedule *s, const clpi_nest *n)
{
    clpi_mapping m = UNMAPPED;
    m.n_order = m.n_kept = n->rank;
    for (int d = 0; d < n->rank; d++)
        m.order[d] = d;
    m.is_joint = s->realisation == CLP_SCHEDULE_SIMT && n->rank > 0;
    return m;
}
