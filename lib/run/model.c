/* model: how long a launch should take.
 * In: a plan bound to the sizes of a launch, the device's limits. Out: cycles of a typical device of that kind.
 * Only for comparing the points of a kernel's lists with one another: what all of them share is left out, and constants are
 * those of no machine in particular. What a launch computes and moves is counted in plan/work; what is added here is what block
 * sizes change:
 *
 *     compute     whole blocks are computed, also where they hang over an edge; dots in whole register tiles
 *     packing     a dot copies its operands before it multiplies: the smaller the block, the less it is used
 *     caches      what a program works on should stay in the cache of its unit
 *     traffic     blocks fetched anew, and the memory's own pace
 *     balance     sequences are dealt out to the units; the last round may leave most of them idle
 *     overhead    of each program                                                                                       */
#include <math.h>

#include "plan/work.h"
#include "run/choose.h"

/* Rates are per cycle of one compute unit. */
typedef struct machine {
    double macs;                  /* multiplications and additions of a dot in f32 */
    double ops;                   /* other operations on elements */
    double packed;                /* elements of a dot's operands, copied */
    double l2_bytes, far_bytes, memory_bytes;     /* from the unit's own cache, from what is behind it, from memory */
    double per_sequence, per_program;
    int    rows, columns;         /* of a dot's register tile */
    double units;
} machine;

static machine cpu(const clpi_limits *l)
{
    const double lanes = (double)l->vector_bytes / 4;
    const int tile = l->vector_bytes >= 64 ? 12 : l->vector_bytes >= 32 ? 6 : 4;
    return (machine){ .macs = lanes, .ops = lanes, .packed = lanes / 4, .l2_bytes = 32, .far_bytes = 8, .memory_bytes = 4,
                      .per_sequence = 2000, .per_program = 300, .rows = tile, .columns = 2 * (int)lanes, .units = l->compute_units };
}

/* A unit runs some groups at once, which hide each other's waiting: what one of them waits for counts less. */
static machine gpu(const clpi_limits *l)
{
    enum { GROUPS_AT_ONCE = 2 };
    return (machine){ .macs = 128, .ops = 128, .packed = 64, .l2_bytes = 64, .far_bytes = 32, .memory_bytes = 16, .per_sequence = 2000,
                      .per_program = 500, .rows = 64, .columns = 64, .units = (double)l->compute_units * GROUPS_AT_ONCE };
}

static double up_to(double n, int tile)
{
    return ceil(n / tile) * tile;
}

/* One dot: its products in whole tiles, narrower where it has fewer columns; copying its operands; its sums, loaded and stored;
 * and the rows of x, which are read once for each panel of y, from further away where they do not fit beside the rest.   */
static double dot_cycles(const machine *on, const clpi_limits *l, const clpi_ir *ir, const clpi_op *op)
{
    const clpi_type *x = clpi_type_of(ir, clpi_args(ir, op)[0]), *z = &ir->types.items[op->type];
    double batch = 1, m = 1, n = 1, k = (double)x->shape[x->rank - 1];
    for (int d = 0; d < z->rank - 2; d++)
        batch *= (double)z->shape[d];
    if (z->rank >= 2)
        m = (double)z->shape[z->rank - 2];
    if (z->rank >= 1)
        n = (double)z->shape[z->rank - 1];
    const int columns = n <= on->columns / 2 ? on->columns / 2 : on->columns;
    const double panels = ceil(n / columns), products = m * panels * columns * k;
    const double bytes = 4 * (m * k + k * n + m * n);
    const bool fits = bytes <= (double)l->l2_bytes, panel_fits = 4 * k * columns <= (double)l->l1_bytes;
    double cycles = up_to(m, m < on->rows ? 1 : on->rows) / m * products / on->macs + (m * k + k * n) / on->packed + 2 * m * n / on->ops;
    cycles += fits ? 0 : 4 * m * k * panels / on->far_bytes;
    cycles += panel_fits ? 0 : 4 * k * columns * panels * ceil(m / on->rows) / on->l2_bytes;
    return batch * cycles;
}

/* Of all dots of a program, loops of known length counted. */
static double dots_cycles(const machine *on, const clpi_limits *l, const clpi_ir *ir)
{
    double cycles = 0, trips = 1;
    uint32_t loop_end = 0;
    for (uint32_t id = ir->n_header; id < ir->ops.n; id++) {
        const clpi_op *op = &ir->ops.items[id];
        int64_t lo, hi, step = (int64_t)op->attr;
        if (id >= loop_end)
            trips = 1;
        if (op->kind == CLP_OP_for && id >= loop_end && step > 0 && clpi_const_int(ir, clpi_args(ir, op)[0], &lo) &&
            clpi_const_int(ir, clpi_args(ir, op)[1], &hi)) {
            trips = hi > lo ? ceil((double)(hi - lo) / (double)step) : 0;
            loop_end = op->end;
        }
        if (op->kind == CLP_OP_dot)
            cycles += trips * dot_cycles(on, l, ir, op);
    }
    return cycles;
}

/* Whole blocks over what of them exists, and the bytes of the blocks and the scratch of one program. */
static double waste_of(const clpi_bound *bound, const clpi_work *w, double *out_bytes)
{
    double whole = 0, existing = 0;
    *out_bytes = 0;
    for (int i = 0; i < w->n_operands; i++) {
        const clpi_work_traffic *t = &w->operands[i];
        const double times = (t->read > 0) + (t->written > 0);
        *out_bytes += t->block_bytes;
        if (!bound->plan->ir->operands[t->operand].has_block)
            continue;
        whole += times * t->block_bytes * t->fetches;
        existing += t->read + t->written;
    }
    for (int i = 0; i < bound->plan->ir->n_operands; i++) {
        const clpi_operand *x = &bound->plan->ir->operands[i];
        double bytes = x->role == CLP_SCRATCH ? (double)clp_dtype_bits(x->dtype) / 8 : 0;
        for (int d = 0; d < x->rank && bytes > 0; d++)
            bytes *= (double)bound->header[x->shape[d].id];
        *out_bytes += bytes;
    }
    return whole > existing && existing > 0 ? whole / existing : 1;
}

clp_status clpi_predict(const clpi_bound *bound, const clpi_limits *limits, clp_schedule realisation, clpi_arena *arena,
                        double *out_cycles)
{
    const machine on = realisation == CLP_SCHEDULE_SIMT ? gpu(limits) : cpu(limits);
    clpi_work work;
    double program_bytes;
    *out_cycles = INFINITY;
    CLP_TRY(clpi_work_count(bound, NULL, arena, &work));
    const double sequences = (double)bound->n_sequences, programs = sequences * (double)bound->n_steps;
    if (programs == 0)
        return CLP_OK;
    const double waste = waste_of(bound, &work, &program_bytes);
    const double others = (work.flops - work.dot_ops + work.int_ops) * waste / on.ops;
    /* What does not fit is read again by each pass over the block; what is streamed comes from a shared cache when it is there. */
    const double pace = program_bytes <= (double)limits->l1_bytes ? 2 * on.l2_bytes : program_bytes <= (double)limits->l2_bytes ? on.l2_bytes : on.far_bytes;
    const double touched = others > 0 ? work.bytes_streamed * waste / pace : 0;
    const double total = programs * (dots_cycles(&on, limits, bound->plan->ir) + on.per_program) + others + touched +
                         work.bytes_streamed / on.far_bytes + sequences * on.per_sequence;
    const double rounds = ceil(sequences / on.units);
    *out_cycles = total / sequences * rounds + work.bytes_once / on.memory_bytes;
    return CLP_OK;
}
