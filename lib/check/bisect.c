/* bisect: the first statement whose value differs on the device.
 * In: the write that made an element on which device and interpreter do not agree. Out: an op, with the element of its value.
 * Runs the sequence of that write on both, with the values on the way to it stored as well (probe.c), a few at a time, and
 * takes the one that differs first in the order of execution: by step of the sequence, then by iteration of the loops around.
 *
 * Decides which values count: those that the write, its place, its conditions and what it loads are made of; they differ where
 * results would (levels.c, sway.c). In `while` loops the last iteration is seen, in `for` loops the first CLPI_PROBE_TURNS.
 * Storing values changes how the device's code is arranged, and a difference may go away with it: then that is what is
 * said.                                                                                                                 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "check/agree.h"

enum { MAX_TOGETHER = 8, MAX_KEY = CLPI_MAX_AXES + 2 * CLPI_PROBE_LOOPS + 1 };
static const uint64_t max_bytes = UINT64_C(64) << 20;        /* of the values stored in one run */

/* When something happens: the step, then the loop, its iteration, the loop in it .., the op. */
typedef struct moment { int64_t key[MAX_KEY]; int n; } moment;

typedef struct bisector {
    clpi_check         *check;
    clpi_device        *device;
    const clpi_writer  *writer;
    clp_schedule        schedule;
    clpi_levels         levels;
    clpi_arena          arena;        /* of one batch */
    clpi_probe          probes[MAX_TOGETHER];
    int                 n_probes;
    moment              first;
    uint32_t            op;           /* 0: nothing differs yet */
    clpi_str            words;
} bisector;

/* The probed kernel on one side. */
typedef struct side {
    const clpi_backend *backend;
    void               *dev, *exe;
    clpi_ir            *ir;
    clpi_plan          *plan;
    clpi_bound         *bound;
    clpi_place         *places;
    void               *mem[MAX_TOGETHER];
    uint8_t            *values[MAX_TOGETHER];
    double             *moves[MAX_TOGETHER];     /* on the interpreter: how far rounding moves each value */
} side;

/* ---- What the write is made of ---- */

static bool need_args(const clpi_ir *ir, const clpi_op *op, bool *needed)
{
    bool is_new = false;
    for (uint32_t k = 0; k < op->n_args; k++) {
        bool *n = &needed[clpi_args(ir, op)[k].id];
        is_new |= !*n;
        *n = true;
    }
    return is_new;
}

/* Marks what a needed op needs besides its operands: the writes that its storage holds, the regions around it, their ends. */
static bool need_more(const bisector *b, uint32_t at, bool *needed)
{
    const clpi_ir *ir = b->check->ir;
    const clpi_op *op = &ir->ops.items[at];
    bool is_new = false, reads = (clpi_ops[op->kind].flags & CLP_READ) != 0;
    for (uint32_t i = ir->n_header; i < ir->ops.n; i++) {
        const clpi_op *other = &ir->ops.items[i];
        bool is_region = (clpi_ops[other->kind].flags & CLP_REGION) != 0;
        bool feeds = reads && (clpi_ops[other->kind].flags & CLP_WRITE) &&
                     b->check->plan->storage[other->operand] == b->check->plan->storage[op->operand];
        bool is_around = is_region && i < at && at < other->end;
        bool ends = other->kind == CLP_OP_yield && (clpi_ops[op->kind].flags & CLP_REGION) && (i + 1 == op->end || i + 1 == op->mid);
        if ((feeds || is_around || ends) && !needed[i])
            is_new = needed[i] = true;
    }
    return is_new;
}

static void mark_needed(const bisector *b, bool *needed)
{
    const clpi_ir *ir = b->check->ir;
    needed[b->writer->op] = true;
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t i = ir->ops.n - 1; i >= ir->n_header; i--)
            if (needed[i]) {
                is_new |= need_args(ir, &ir->ops.items[i], needed);
                is_new |= need_more(b, i, needed);
            }
    }
}

/* ---- One side ---- */

static uint64_t tiles_of(const bisector *b, const clpi_probe *probe)
{
    uint64_t n = b->check->snapshot.bound->n_steps;
    for (int i = 0; i < probe->n_loops; i++)
        n *= (uint64_t)probe->turns[i];
    return n;
}

static uint64_t bytes_of(const bisector *b, const clpi_probe *probe)
{
    const clpi_type *t = clpi_type_of(b->check->ir, (clp_val){ probe->op });
    return tiles_of(b, probe) * (uint64_t)probe->n_elems * (uint64_t)clp_dtype_bits(t->dtype) / 8;
}

/* The launch of the write's sequence, on the memory of the snapshot's launch. */
static clp_status bind_side(bisector *b, side *s)
{
    const clpi_check *check = b->check;
    const clpi_bound *whole = check->snapshot.bound;
    int n_arrays = check->kernel->n_operands;
    clp_array *arrays = CLPI_NEW_N(&b->arena, clp_array, (size_t)(n_arrays + b->n_probes));
    int64_t start[CLPI_MAX_AXES], count[CLPI_MAX_AXES];
    if (!arrays)
        return CLP_ERR_OOM;
    memcpy(arrays, check->snapshot.event->arrays, (size_t)n_arrays * sizeof *arrays);
    for (int k = 0; k < b->n_probes; k++) {
        const clpi_operand *x = &s->ir->operands[check->ir->n_operands + k];
        int64_t *shape = CLPI_NEW_N(&b->arena, int64_t, CLP_MAX_RANK);
        if (!shape)
            return CLP_ERR_OOM;
        int rank = 0;
        for (int i = 0; i < check->plan->n_arbitrary; i++)
            shape[rank++] = whole->axis_size[check->plan->arbitrary[i]];
        for (int i = 0; i < b->probes[k].n_loops; i++)
            shape[rank++] = b->probes[k].turns[i];
        shape[rank++] = b->probes[k].n_elems;
        arrays[n_arrays + k] = (clp_array){ .dtype = x->dtype, .rank = rank, .shape = shape, .data = s->values[k] };
    }
    memcpy(start, whole->box_start, (size_t)check->ir->n_axes * sizeof *start);
    memcpy(count, whole->box_count, (size_t)check->ir->n_axes * sizeof *count);
    for (int i = 0; i < check->plan->n_parallel; i++) {
        int axis = check->plan->parallel[i];
        start[axis] = b->writer->program[axis];
        count[axis] = 1;
    }
    clpi_launch_args args = { arrays, n_arrays + b->n_probes, check->run.dims, check->run.n_dims, start, count, true };
    CLP_TRY(clpi_bind(s->plan, &args, &b->arena, &s->bound));
    for (int i = 0; i < check->ir->n_operands; i++)
        s->bound->operands[i].offset = whole->operands[i].offset;
    return CLP_OK;
}

static clp_status open_side(bisector *b, const clpi_ir *ir, const clpi_place *places, side *s)
{
    int n = b->check->ir->n_operands;
    s->places = CLPI_NEW_N(&b->arena, clpi_place, (size_t)(n + b->n_probes));
    if (!s->places)
        return CLP_ERR_OOM;
    memcpy(s->places, places, (size_t)n * sizeof *places);
    for (int k = 0; k < b->n_probes; k++) {
        size_t n_bytes = (size_t)bytes_of(b, &b->probes[k]);
        s->values[k] = CLPI_NEW_N(&b->arena, uint8_t, n_bytes);
        if (!s->values[k])
            return CLP_ERR_OOM;
        CLP_TRY(s->backend->alloc(s->dev, n_bytes, &s->mem[k]));
        CLP_TRY(s->backend->write(s->mem[k], 0, s->values[k], n_bytes));
        s->places[n + k] = (clpi_place){ s->mem[k], 0 };
    }
    CLP_TRY(clpi_ir_probe(ir, &b->arena, b->probes, b->n_probes, &s->ir));
    CLP_TRY(clpi_plan_new(s->ir, &b->arena, &s->plan));
    CLP_TRY(bind_side(b, s));
    return s->backend->compile(s->dev, &(clpi_unit){ s->ir, s->plan }, 1, b->schedule, false, &s->exe);
}

static void close_side(side *s)
{
    if (s->exe)
        s->backend->discard(s->exe);
    for (int k = 0; k < MAX_TOGETHER; k++)
        if (s->mem[k])
            s->backend->release(s->mem[k]);
    clpi_plan_done(s->plan);
}

/* run: -1, or one of those that sway.c moves. */
static clp_status run_on_interpreter(bisector *b, side *s, int run)
{
    clpi_snapshot *snapshot = &b->check->snapshot, kept = *snapshot;
    snapshot->exe = s->exe;
    snapshot->bound = s->bound;
    snapshot->places = s->places;
    clp_status status = run < 0 ? clpi_snapshot_run(b->check, CLP_ORDER_FORWARD, 0, NULL) : clpi_sway_run(b->check, s->ir, (uint64_t)run);
    snapshot->exe = kept.exe;
    snapshot->bound = kept.bound;
    snapshot->places = kept.places;
    return status;
}

static clp_status run_side(bisector *b, side *s)
{
    const char *fault;
    clpi_snapshot_reset(b->check);
    if (s->dev == b->check->snapshot.dev)
        CLP_TRY(run_on_interpreter(b, s, -1));
    else
        CLP_TRY(clpi_device_run(b->device, s->exe, s->bound, s->places, &fault));
    for (int k = 0; k < b->n_probes; k++)
        CLP_TRY(s->backend->read(s->mem[k], 0, s->values[k], (size_t)bytes_of(b, &b->probes[k])));
    return CLP_OK;
}

/* How far the run at hand has moved a probe's values. */
static clp_status take_moves(bisector *b, side *s, int k, uint8_t *swayed)
{
    const clpi_probe *probe = &b->probes[k];
    const clp_dtype dtype = clpi_type_of(b->check->ir, (clp_val){ probe->op })->dtype;
    CLP_TRY(s->backend->read(s->mem[k], 0, swayed, (size_t)bytes_of(b, probe)));
    for (int64_t i = 0, n = (int64_t)tiles_of(b, probe) * probe->n_elems; i < n; i++)
        clpi_move_add(&s->moves[k][i], dtype, clpi_bits_at(dtype, swayed, i), clpi_bits_at(dtype, s->values[k], i));
    return CLP_OK;
}

/* The interpreter's side again, with what may be rounded otherwise moved, where anything may. */
static clp_status sway_side(bisector *b, side *s)
{
    uint8_t *swayed[MAX_TOGETHER];
    bool is_rounded = false;
    for (int k = 0; k < b->n_probes; k++) {
        is_rounded |= b->levels.val[b->probes[k].op].kind != CLPI_EXACT;
        s->moves[k] = CLPI_NEW_N(&b->arena, double, (size_t)tiles_of(b, &b->probes[k]) * (size_t)b->probes[k].n_elems + 1);
        swayed[k] = CLPI_NEW_N(&b->arena, uint8_t, (size_t)bytes_of(b, &b->probes[k]) + 1);
    }
    if (b->arena.failed)
        return CLP_ERR_OOM;
    for (int run = 0; run < CLPI_SWAY_RUNS && is_rounded && !clpi_sway_may_hang(b->check->ir, &b->levels); run++) {
        CLP_TRY(run_on_interpreter(b, s, run));
        for (int k = 0; k < b->n_probes; k++)
            CLP_TRY(take_moves(b, s, k, swayed[k]));
    }
    return CLP_OK;
}

/* ---- Which differs first ---- */

static bool is_before(const moment *a, const moment *b)
{
    for (int i = 0; i < a->n && i < b->n; i++)
        if (a->key[i] != b->key[i])
            return a->key[i] < b->key[i];
    return a->n < b->n;
}

/* Tile number `tile` of what a probe keeps: its step, and its iteration of each loop. */
static moment moment_of(const clpi_probe *probe, uint64_t tile)
{
    int64_t turn[CLPI_PROBE_LOOPS];
    for (int i = probe->n_loops - 1; i >= 0; i--) {
        turn[i] = (int64_t)(tile % (uint64_t)probe->turns[i]);
        tile /= (uint64_t)probe->turns[i];
    }
    moment m = { .key = { (int64_t)tile }, .n = 1 };
    for (int i = 0; i < probe->n_loops; i++) {
        m.key[m.n++] = probe->loop[i];
        m.key[m.n++] = turn[i];
    }
    m.key[m.n++] = probe->op;
    return m;
}

static void put_into_words(bisector *b, const clpi_probe *probe, const moment *m, const clpi_compare *c)
{
    const clpi_check *check = b->check;
    const clpi_type *t = clpi_type_of(check->ir, (clp_val){ probe->op });
    int64_t program[CLPI_MAX_AXES], element[CLP_MAX_RANK];
    clpi_program_at(check->snapshot.bound, b->writer->sequence, (uint64_t)m->key[0], program);
    clpi_str_cut(&b->words, 0);
    clpi_str_puts(&b->words, "in ");
    clpi_program_print(check->ir, program, &b->words);
    for (int i = 0; i < probe->n_loops; i++) {
        clpi_pos pos = check->ir->ops.items[probe->loop[i]].pos;
        clpi_str_add(&b->words, ", iteration %" PRId64 " of the loop", m->key[2 + 2 * i]);
        if (pos.line)
            clpi_str_add(&b->words, " at %u:%u", (unsigned)pos.line, (unsigned)pos.column);
    }
    clpi_shape_index(t->shape, t->rank, c->worst.at, element);
    clpi_str_puts(&b->words, t->rank ? ", element " : ", it");
    if (t->rank)
        clpi_element_print(&b->words, element, t->rank);
    clpi_str_puts(&b->words, " is ");
    clpi_number_print(&b->words, t->dtype, c->worst.got);
    clpi_str_puts(&b->words, ", the interpreter's ");
    clpi_number_print(&b->words, t->dtype, c->worst.expected);
}

static void compare_probe(bisector *b, const clpi_probe *probe, const uint8_t *want, const uint8_t *got, const double *moves)
{
    clp_dtype dtype = clpi_type_of(b->check->ir, (clp_val){ probe->op })->dtype;
    for (uint64_t tile = 0; tile < tiles_of(b, probe); tile++) {
        int64_t at = (int64_t)tile * probe->n_elems;
        moment m = moment_of(probe, tile);
        if (b->op && !is_before(&m, &b->first))
            continue;
        clpi_rms rms = { 0 };
        for (int64_t i = 0; i < probe->n_elems && clpi_is_float(dtype); i++)
            clpi_rms_add(&rms, clpi_number_of(dtype, clpi_bits_at(dtype, want, at + i)));
        clpi_compare c = { .dtype = dtype, .level = b->levels.val[probe->op], .rms = clpi_rms_of(&rms) };
        for (int64_t i = 0; i < probe->n_elems; i++)
            (void)clpi_compare_add(&c, &i, 1, i, clpi_bits_at(dtype, got, at + i), clpi_bits_at(dtype, want, at + i), moves[at + i]);
        if (!clpi_compare_fails(&c))
            continue;
        b->op = probe->op;
        b->first = m;
        put_into_words(b, probe, &m, &c);
    }
}

static clp_status run_batch(bisector *b)
{
    clpi_check *check = b->check;
    side want = { .backend = &clpi_interp_backend, .dev = check->snapshot.dev };
    side got = { .backend = b->device->backend, .dev = b->device->dev };
    clpi_arena_init(&b->arena, check->env);
    clp_status status = open_side(b, check->ir, check->snapshot.places, &want);
    if (!status)
        status = open_side(b, check->device_ir, b->device->places, &got);
    if (!status)
        status = run_side(b, &want);
    if (!status)
        status = run_side(b, &got);
    if (!status)
        status = sway_side(b, &want);
    for (int k = 0; k < b->n_probes && !status; k++)
        compare_probe(b, &b->probes[k], want.values[k], got.values[k], want.moves[k]);
    close_side(&want);
    close_side(&got);
    clpi_arena_done(&b->arena);
    b->n_probes = 0;
    return status;
}

static clp_status bisect(bisector *b, const bool *needed)
{
    const clpi_ir *ir = b->check->ir;
    uint64_t n_bytes = 0;
    for (uint32_t i = ir->n_header; i < ir->ops.n; i++) {
        clpi_probe probe;
        if (!needed[i] || b->levels.val[i].kind == CLPI_FREE || !clpi_probe_at(ir, i, &probe) || bytes_of(b, &probe) > max_bytes)
            continue;
        if (b->n_probes == MAX_TOGETHER || n_bytes + bytes_of(b, &probe) > max_bytes) {
            CLP_TRY(run_batch(b));
            n_bytes = 0;
        }
        n_bytes += bytes_of(b, &probe);
        b->probes[b->n_probes++] = probe;
    }
    return b->n_probes ? run_batch(b) : CLP_OK;
}

clp_status clpi_bisect(clpi_check *check, clpi_device *device, const clpi_writer *writer, clp_schedule schedule, clpi_culprit *out)
{
    clpi_arena *arena = &check->snapshot.arena;
    bisector b = { .check = check, .device = device, .writer = writer, .schedule = schedule };
    bool *needed = CLPI_NEW_N(arena, bool, (size_t)check->ir->ops.n + 1);
    *out = (clpi_culprit){ 0 };
    if (!needed)
        return CLP_ERR_OOM;
    CLP_TRY(clpi_levels_new(check->ir, check->plan, clpi_n_terms(check), check->is_racing, arena, &b.levels));
    clpi_str_init(&b.words, check->env);
    mark_needed(&b, needed);
    clp_status status = bisect(&b, needed);
    if (status == CLP_ERR_UNSUPPORTED || status == CLP_ERR_DEVICE) {
        clpi_str_cut(&b.words, 0);
        clpi_str_add(&b.words, "no more can be told: %s", clpi_error_text(check->env));
        status = CLP_OK;
    } else if (!b.op) {
        clpi_str_puts(&b.words, "no value on the way there differs once it is stored");
    }
    out->op = b.op;
    out->words = clpi_str_keep(&b.words, arena);
    return status ? status : out->words ? CLP_OK : CLP_ERR_OOM;
}
