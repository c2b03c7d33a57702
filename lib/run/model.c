/* model: how long a launch should take.
 * In: a plan bound to the sizes of a launch, the device's limits. Out: cycles of a typical device of that kind.
 * Only for comparing the points of a kernel's lists with one another: what all of them share is left out, and constants are
 * those of no machine in particular. What a launch computes and moves is counted in plan/work; what is added here is what block
 * sizes change:
 *
 *     compute     whole blocks are computed, also where they hang over an edge; dots in whole register tiles
 *     packing     a dot copies its operands before it multiplies: the smaller the block, the less it is used
 *     caches      what a program goes over more than once should stay in the cache of its unit, and what a sequence does
 *     traffic     blocks fetched anew, and the memory's own pace
 *     balance     sequences are dealt out to the units; the last round may leave most of them idle
 *     overhead    of each program                                                                                       */
#include <assert.h>
#include <math.h>

#include "plan/work.h"
#include "run/backend.h"
#include "run/choose.h"
#include "run/dot_tile.h"

/* Rates are per cycle of one compute unit. */
typedef struct machine {
    double macs;                  /* multiplications and additions of a dot in f32 */
    double ops;                   /* other operations on elements */
    double packed;                /* elements of a dot's operands, copied */
    double l2_bytes, far_bytes, memory_bytes;     /* from the unit's own cache, from what is behind it, from memory */
    double per_sequence, per_program;
    int    lanes;                 /* f32 of a vector, on a CPU */
    double units;
} machine;

static machine cpu(const clpi_limits *l)
{
    const double lanes = (double)l->vector_bytes / 4;
    return (machine){ .macs = lanes, .ops = lanes, .packed = lanes / 4, .l2_bytes = 32, .far_bytes = 8, .memory_bytes = 4,
                      .per_sequence = 300, .per_program = 300, .lanes = (int)lanes, .units = l->compute_units };
}

/* A unit runs some groups at once, which hide each other's waiting: what one of them waits for counts less. */
static machine gpu(const clpi_limits *l)
{
    enum { GROUPS_AT_ONCE = 2 };
    return (machine){ .macs = 128, .ops = 128, .packed = 64, .l2_bytes = 64, .far_bytes = 32, .memory_bytes = 16, .per_sequence = 2000,
                      .per_program = 500, .units = (double)l->compute_units * GROUPS_AT_ONCE };
}

/* Of one product: its blocks, and the register tiles it is computed in. */
typedef struct product {
    double m, n, k;               /* k in lanes of 32 bits, which small elements share where there is a unit for them */
    bool   is_y_direct;           /* the first tile of a panel packs y as it multiplies, for those below */
    double rows, columns;         /* of a register tile */
    double sums;                  /* accumulators of it, in vectors */
} product;

/* Those that multiply several neighbours in k in one lane; f8 has none. */
static uint32_t insns_for(clp_dtype d)
{
    switch (d) {
    case CLP_BF16: return CLPI_INSN_AVX512_BF16 | CLPI_INSN_AMX_BF16;
    case CLP_I8: case CLP_U8: return CLPI_INSN_AVX512_VNNI | CLPI_INSN_AMX_INT8;
    default: return 0;
    }
}

static product product_of(const machine *on, const clpi_limits *l, const clpi_ir *ir, const clpi_op *op)
{
    enum { GROUP = 64 };          /* rows, and columns, that a group of a GPU has at once */
    const clpi_type *x = clpi_type_of(ir, clpi_args(ir, op)[0]), *z = &ir->types.items[op->type];
    const int64_t m = z->shape[z->rank - 2], n = z->shape[z->rank - 1];
    product p = { .m = (double)m, .n = (double)n, .k = (double)x->shape[x->rank - 1], .rows = GROUP,
                  .columns = n <= GROUP / 2 ? GROUP / 2 : GROUP, .sums = 1 };
    if (on->lanes == 0)
        return p;
    const int lanes = clpi_dot_lanes(l, z->dtype, n);
    const clpi_dot_tile tile = clpi_dot_tile_of(l, m, (n + lanes - 1) / lanes);
    p.rows = tile.rows;
    p.columns = (double)lanes * tile.vectors;
    p.sums = (double)tile.rows * tile.vectors;
    const bool shares_lanes = (l->insns & insns_for(x->dtype)) && m > tile.rows;
    if (shares_lanes)
        p.k = ceil(p.k * clp_dtype_bits(x->dtype) / 32);
    p.is_y_direct = n % (lanes * tile.vectors) == 0 && clpi_op_at(ir, clpi_args(ir, op)[1])->kind != CLP_OP_transpose && !shares_lanes;
    return p;
}

/* Multiplications, a register tile after another: one with few accumulators waits for its own sums. */
static double tile_cycles(const machine *on, const product *p)
{
    enum { LATENCY = 4 };
    const double rest = fmod(p->m, p->rows), panels = ceil(p->n / p->columns);
    if (on->lanes == 0)
        return ceil(p->m / p->rows) * p->rows * panels * p->columns * p->k / on->macs;
    const double last = p->sums / p->rows * rest;
    return panels * p->k * (floor(p->m / p->rows) * fmax(p->sums, LATENCY) + (rest > 0 ? fmax(last, LATENCY) : 0));
}

/* Of a program's sums and scratch, which are gone over again and again: they should leave half of the first cache to the rest. A group of a GPU
 * has them in registers. */
static double own_pace(const machine *on, const clpi_limits *l, double bytes)
{
    if (on->lanes == 0)
        return INFINITY;
    return bytes <= (double)l->l1_bytes / 2 ? 2 * on->l2_bytes : on->l2_bytes;
}

static const clpi_op *without_casts(const clpi_ir *ir, clp_val v)
{
    const clpi_op *op = clpi_op_at(ir, v);
    while (op->kind == CLP_OP_cast)
        op = clpi_op_at(ir, clpi_args(ir, op)[0]);
    return op;
}

/* Is it a row times what lies along k? Then each column is a sum on its own, and nothing is copied: what lib/nest/row_dot.c finds
 * in the nests of both sides, guessed from their ops. */
static bool is_row_of_sums(const clpi_ir *ir, const clpi_op *op)
{
    const clpi_type *z = &ir->types.items[op->type];
    return z->shape[z->rank - 2] == 1 && without_casts(ir, clpi_args(ir, op)[0])->kind == CLP_OP_load &&
           without_casts(ir, clpi_args(ir, op)[1])->kind == CLP_OP_transpose;
}

/* Both sides are loaded for each product; the lanes of each sum are added up at the end. */
static double row_cycles(const machine *on, const product *p)
{
    enum { LANES_ADDED = 12, ROW_BEGINS = 30 };
    return p->n * (2 * ceil(p->k / on->ops) + LANES_ADDED + ROW_BEGINS);
}

/* One dot: its products in whole tiles; copying its operands; its sums, loaded and stored; and the rows of x, which are read once for
 * each panel of y, from further away where they do not fit beside the rest. A y that is multiplied once is read panel by panel, a short run of
 * each of its rows: of many rows in turn the hardware does not fetch ahead. */
static double dot_cycles(const machine *on, const clpi_limits *l, const clpi_ir *ir, const clpi_op *op)
{
    enum { RUNS_AHEAD = 8, ROW_BEGINS = 30 };
    const clpi_type *z = &ir->types.items[op->type];
    assert(z->rank >= 2);         /* rule_dot */
    const product p = product_of(on, l, ir, op);
    double batch = 1;
    for (int d = 0; d < z->rank - 2; d++)
        batch *= (double)z->shape[d];
    if (is_row_of_sums(ir, op))
        return batch * row_cycles(on, &p);
    const double panels = ceil(p.n / p.columns), x = p.m * p.k, y = p.k * p.n, panel = p.k * p.columns;
    const bool is_y_once = p.is_y_direct && p.m <= p.rows, panel_fits = 4 * panel <= (double)l->l1_bytes;
    const bool fits = 4 * (x + (p.is_y_direct ? panel : y) + p.m * p.n) <= (double)l->l2_bytes;
    const double products = tile_cycles(on, &p);
    double cycles = products + ROW_BEGINS * (p.m + p.k);
    cycles += (x + (p.is_y_direct ? 0 : y)) / on->packed;
    cycles += 8 * p.m * p.n / own_pace(on, l, 4 * p.m * p.n);
    cycles += fits ? 0 : 4 * x * panels / on->far_bytes;
    cycles += panel_fits || is_y_once ? 0 : 4 * panel * panels * ceil(p.m / p.rows) / on->l2_bytes;
    cycles += is_y_once && p.k > RUNS_AHEAD ? fmax(4 * y / on->far_bytes - products, 0) : 0;
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

/* Whole blocks over what of them exists, and the bytes of the blocks and of the scratch of one program. */
static double waste_of(const clpi_bound *bound, const clpi_work *w, double *out_blocks, double *out_scratch)
{
    double whole = 0, existing = 0;
    *out_blocks = *out_scratch = 0;
    for (int i = 0; i < w->n_operands; i++) {
        const clpi_work_traffic *t = &w->operands[i];
        const double times = (t->read > 0) + (t->written > 0);
        *out_blocks += t->block_bytes;
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
        *out_scratch += bytes;
    }
    return whole > existing && existing > 0 ? whole / existing : 1;
}

/* What is fetched again by a sequence that has had it, as rows in pieces are by softmax, or by the sequence after it, which sees the
 * same; and how much a sequence sees, which has to stay for that. */
static double refetched(const clpi_bound *bound, const clpi_work *w, double *out_seen)
{
    const clpi_ir *ir = bound->plan->ir;
    double again = 0;
    *out_seen = 0;
    for (int i = 0; i < w->n_operands; i++) {
        const clpi_work_traffic *t = &w->operands[i];
        double seen = t->block_bytes;
        bool is_shared = true;
        for (int a = 0; a < ir->n_axes; a++) {
            if (!(t->axes >> a & 1))
                continue;
            is_shared = is_shared && ir->axes[a].is_arbitrary;
            seen *= ir->axes[a].is_arbitrary ? (double)bound->axis_size[a] : 1;
        }
        if (t->read > 0) {
            *out_seen += seen;
            again += fmax(t->read - seen * (is_shared ? 1 : (double)bound->n_sequences), 0);
        }
    }
    return again;
}

/* Does a program go over its blocks once? One reduction does, and what is computed element by element; what stores rows that it has reduced
 * before comes back to them. */
static bool goes_over_once(const clpi_ir *ir, const clpi_work *w)
{
    double read = 0, written = 0;
    int n_reductions = 0;
    for (uint32_t id = ir->n_header; id < ir->ops.n; id++)
        n_reductions += clpi_is_reduction(ir->ops.items[id].kind);
    for (int i = 0; i < w->n_operands; i++) {
        read = fmax(read, w->operands[i].read);
        written = fmax(written, w->operands[i].written);
    }
    return n_reductions == 0 || (n_reductions == 1 && written < read / 2);
}

clp_status clpi_predict(const clpi_bound *bound, const clpi_limits *limits, clp_schedule realisation, clpi_arena *arena,
                        double *out_cycles)
{
    const machine on = realisation == CLP_SCHEDULE_SIMT ? gpu(limits) : cpu(limits);
    clpi_work work;
    double blocks, scratch;
    *out_cycles = INFINITY;
    CLP_TRY(clpi_work_count(bound, NULL, arena, &work));
    const double sequences = (double)bound->n_sequences, programs = sequences * (double)bound->n_steps;
    if (programs == 0)
        return CLP_OK;
    const double waste = waste_of(bound, &work, &blocks, &scratch);
    const double others = (work.flops - work.dot_ops + work.int_ops) * waste / on.ops;
    /* What does not fit is read again by each pass over the block; what is streamed comes from a shared cache when it is there. */
    const double bytes = blocks + scratch;
    const double pace = bytes <= (double)limits->l1_bytes ? 2 * on.l2_bytes : bytes <= (double)limits->l2_bytes ? on.l2_bytes : on.far_bytes;
    const double touched = others > 0 && !goes_over_once(bound->plan->ir, &work) ? work.bytes_streamed * waste / pace : 0;
    double seen;
    const double again = refetched(bound, &work, &seen), near = seen <= (double)limits->l2_bytes ? again : 0;
    const double total = programs * (dots_cycles(&on, limits, bound->plan->ir) + on.per_program) + others + touched +
                         (work.bytes_streamed - near) / on.far_bytes + near / on.l2_bytes +
                         sequences * (on.per_sequence + 2 * scratch / own_pace(&on, limits, scratch));
    const double rounds = ceil(sequences / on.units);
    *out_cycles = total / sequences * rounds + work.bytes_once / on.memory_bytes;
    return CLP_OK;
}
