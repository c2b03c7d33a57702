/* work_traffic: the bytes that a launch moves, operand by operand.
 * In: factors, and how often each op runs. Out: clpi_work_traffic of each operand that moves something.
 *
 * Blocks. A program's predecessor differs in one axis, the level of the step, which moves by one, and in all axes inside
 * it, which go from their ends back to their starts. So, summed over the levels,
 *
 *     fetched = the first block + sum over programs of that level of  extents * (1 - product over dimensions of same)
 *
 * where `same` of a dimension is whether its index is what it was. Both parts are sums of products.
 * Without a block each load, store and atomic is looked at alone: with a place that program ids and sizes decide it is as a
 * block; else every run of it moves what it addresses.                                                                 */
#include "plan/counting.h"

enum { READS = 1, WRITES = 2 };

/* The places that are compared from program to program, and the elements that move when one differs. */
typedef struct moving {
    clpi_product extents;
    clpi_factor  index[CLP_MAX_RANK];       /* of SAME factors, without their level and its axes */
    int     n_index;
    uint32_t axes;                     /* that some index reads */
} moving;

static int place_in_order(const clpi_counting *c, int axis)
{
    int at = 0;
    while (c->order[at] != axis)
        at++;
    return at;
}

/* The axes from place `from` of the order on, a bit each. */
static uint32_t axes_inside(const clpi_counting *c, int from)
{
    uint32_t axes = 0;
    for (int i = from; i < c->ir->n_axes; i++)
        axes |= UINT32_C(1) << c->order[i];
    return axes;
}

/* What a step of one level fetches: elements, or with `extents` NULL times. */
static double level_sum(clpi_counting *c, const moving *m, const clpi_product *extents, int level, bool *is_exact)
{
    clpi_ranges over = c->all;
    const int place = place_in_order(c, level);
    const uint32_t moved = axes_inside(c, place);
    clpi_product same = *extents;
    bool can_differ = false;
    over.lo[level]++;
    over.n[level]--;
    for (int i = place + 1; i < c->ir->n_axes; i++)
        over.n[c->order[i]] = 1;
    for (int i = 0; i < m->n_index; i++) {
        clpi_factor f = m->index[i];
        if (!(f.axes & moved))
            continue;
        f.level = level;
        can_differ = true;
        clpi_product_add(&same, clpi_factor_intern(c, &f));
    }
    return can_differ ? clpi_product_sum(c, extents, &over, is_exact) - clpi_product_sum(c, &same, &over, is_exact) : 0;
}

static double fetched(clpi_counting *c, const moving *m, const clpi_product *extents, bool *is_exact)
{
    clpi_ranges first = c->all;
    for (int a = 0; a < c->ir->n_axes; a++) {
        if (c->all.n[a] <= 0)
            return 0;
        first.n[a] = 1;
    }
    double sum = clpi_product_sum(c, extents, &first, is_exact);
    for (int i = 0; i < c->ir->n_axes; i++)
        if (c->all.n[c->order[i]] > 1)
            sum += level_sum(c, m, extents, c->order[i], is_exact);
    return sum;
}

static double bytes_of(const clpi_counting *c, int operand, double n_elems)
{
    return n_elems * clp_dtype_bits(c->ir->operands[operand].dtype) / 8;
}

static double array_elems(const clpi_counting *c, int operand)
{
    double n = 1;
    for (int d = 0; d < c->ir->operands[operand].rank; d++)
        n *= (double)c->bound->operands[operand].size[d];
    return n;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static const clpi_product one = { .constant = 1, .is_exact = true };

/* Adds what moves: elements, in `times` goes. */
static void add_moved(const clpi_counting *c, clpi_work_traffic *t, unsigned how, double elems, double times)
{
    const double bytes = bytes_of(c, t->operand, elems);
    t->read += how & READS ? bytes : 0;
    t->written += how & WRITES ? bytes : 0;
    t->fetches += times;
}

static unsigned how_of(const clpi_op *op)
{
    const unsigned flags = clpi_ops[op->kind].flags;
    return (flags & CLP_READ ? READS : 0u) | (flags & CLP_WRITE ? WRITES : 0u);
}

/* What the body does with an operand. What it reads of an `out` is what it wrote before. */
static unsigned touches(const clpi_counting *c, int operand)
{
    unsigned how = 0;
    for (uint32_t id = c->ir->n_header; id < c->ir->ops.n; id++)
        if (c->ir->ops.items[id].operand == operand)
            how |= how_of(&c->ir->ops.items[id]);
    return c->ir->operands[operand].role == CLP_OUT ? how & WRITES : how;
}

/* ---- Blocks ---- */

static void count_block(clpi_counting *c, int operand, unsigned how, clpi_work_traffic *t)
{
    const clpi_operand *x = &c->ir->operands[operand];
    const clpi_plan *plan = c->bound->plan;
    moving m = { .extents = one };
    double whole = 1;
    for (int d = 0; d < x->rank; d++) {
        const uint32_t index = x->block[d].index.id;
        const int extent = clpi_block_extent(c, operand, d, 0, 1, x->block[d].n);
        whole *= (double)x->block[d].n;
        if (extent)
            clpi_product_add(&m.extents, extent);
        else
            m.extents.constant *= (double)x->block[d].n;
        if (plan->when[index] <= CLPI_WHEN_LAUNCH)
            continue;
        m.index[m.n_index++] = (clpi_factor){ .kind = CLPI_FACTOR_SAME, .operand = operand, .dim = d, .axes = plan->axes_read[index],
                                         .reads_data = plan->when[index] == CLPI_WHEN_DATA };
        m.axes |= plan->axes_read[index];
    }
    t->axes = m.axes;
    t->block_bytes = bytes_of(c, operand, whole);
    const double elems = fetched(c, &m, &m.extents, &t->is_exact);
    add_moved(c, t, how, elems, fetched(c, &m, &one, &t->is_exact));
}

/* ---- Without a block ---- */

/* Elements that one run of an access addresses. */
static double access_elems(const clpi_counting *c, const clpi_op *op)
{
    const clpi_sub *subs = clpi_subs(c->ir, op);
    double n = 1;
    for (uint32_t i = 0; i < op->n_subs; i++)
        if (subs[i].kind == CLPI_SUB_RANGE)
            n *= (double)subs[i].size;
        else if (subs[i].kind == CLPI_SUB_TILE && (i == 0 || subs[i - 1].kind != CLPI_SUB_TILE))
            n *= (double)clpi_type_elems(clpi_type_of(c->ir, clpi_args(c->ir, op)[i]));
    return n;
}

/* Its place as indices that are known in every program; false: it is none. */
static bool known_place(const clpi_counting *c, const clpi_op *op, moving *m)
{
    for (uint32_t i = 0; i < op->n_subs; i++) {
        const clp_val at = clpi_args(c->ir, op)[i];
        const clpi_knowledge *k = &c->known[at.id];
        if (!k->is_known)
            return false;
        if (!k->axes)
            continue;
        m->index[m->n_index++] = (clpi_factor){ .kind = CLPI_FACTOR_SAME, .value = at, .axes = k->axes, .reads_data = k->reads_data };
        m->axes |= k->axes;
    }
    return true;
}

static void count_access(clpi_counting *c, uint32_t id, unsigned may, clpi_work_traffic *t)
{
    const clpi_op *op = &c->ir->ops.items[id];
    const unsigned how = may & how_of(op);
    const double elems = access_elems(c, op);
    moving m = { .extents = one };
    double times;
    if (!how)
        return;
    if (known_place(c, op, &m)) {
        times = fetched(c, &m, &one, &t->is_exact);
        t->axes |= m.axes;
    } else {
        t->is_exact = t->is_exact && c->runs[id]->is_exact;
        times = clpi_product_sum(c, c->runs[id], &c->all, &t->is_exact);
        t->axes = axes_inside(c, 0);
    }
    t->block_bytes += bytes_of(c, t->operand, elems);
    add_moved(c, t, how, elems * times, times);
}

/* ---- All operands ---- */

static void count_operand(clpi_counting *c, int operand, unsigned touched, clpi_work_traffic *t)
{
    const clpi_operand *x = &c->ir->operands[operand];
    *t = (clpi_work_traffic){ .operand = operand, .is_exact = true };
    const double array = array_elems(c, operand);
    if (x->role == CLP_PREFETCH) {
        add_moved(c, t, READS, array, 1);
        t->block_bytes = t->read;
    } else if (x->has_block) {
        count_block(c, operand, touched, t);
    } else {
        for (uint32_t id = c->ir->n_header; id < c->ir->ops.n; id++)
            if (c->ir->ops.items[id].operand == operand)
                count_access(c, id, touched, t);
    }
    const double bytes = bytes_of(c, operand, array);
    t->read_once = least(t->read, bytes);
    t->written_once = least(t->written, bytes);
}

bool clpi_traffic_count(clpi_counting *c, clpi_work *out)
{
    const clpi_ir *ir = c->ir;
    out->operands = CLPI_NEW_N(c->arena, clpi_work_traffic, (size_t)ir->n_operands + 1);
    if (!out->operands)
        return false;
    for (int i = 0; i < ir->n_operands; i++) {
        const clp_role role = ir->operands[i].role;
        const unsigned touched = touches(c, i);
        if (role == CLP_SCRATCH || role == CLP_SCALAR || (!touched && role != CLP_PREFETCH) || c->bound->n_sequences == 0 ||
            c->bound->n_steps == 0)
            continue;
        count_operand(c, i, touched, &out->operands[out->n_operands++]);
    }
    return true;
}
