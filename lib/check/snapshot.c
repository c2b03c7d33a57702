/* snapshot: copies of a launch's arrays, to run on as often as needed.
 * In: the caller's arrays. Out: regions of memory, a bound launch on them, runs on the interpreter.
 * Decides what is copied: memory that the kernel writes; the rest is read where it lies. Arrays that overlap lie in one region
 * as they do for the caller, whether an `alias` joins them or not; where none does, it is reported. Outputs start as poison,
 * so that what nobody wrote shows.                                                                                      */
#include <string.h>

#include "check/check.h"

static bool has_memory(const clpi_operand *x)
{
    return x->role != CLP_SCRATCH && x->role != CLP_SCALAR;
}

/* What the region's operands are: written, outputs alone; the smallest element. */
static void describe(const clpi_check *check, int region)
{
    const clpi_snapshot *s = &check->snapshot;
    clpi_memory_region *r = &s->regions[region];
    r->bits = 64;
    r->is_poisoned = true;
    for (int i = 0; i < check->ir->n_operands; i++) {
        const clpi_operand *x = &check->ir->operands[i];
        if (s->region_of[i] != region)
            continue;
        r->is_written |= check->plan->is_written[i];
        r->is_poisoned &= x->role == CLP_OUT && x->alias < 0;
        r->bits = clp_dtype_bits(x->dtype) < r->bits ? clp_dtype_bits(x->dtype) : r->bits;
    }
    r->is_poisoned &= r->is_written;
}

static clp_status make_region(clpi_check *check, int region, const clpi_span *all)
{
    clpi_snapshot *s = &check->snapshot;
    clpi_memory_region *r = &s->regions[region];
    clp_context *ctx = check->kernel->ctx;
    describe(check, region);
    r->n_bytes = (size_t)(all->end - all->start);
    r->given = (const uint8_t *)(uintptr_t)all->start;
    if (all->space && r->n_bytes) {
        uint8_t *copy = clpi_arena_take(&s->arena, r->n_bytes, 1);
        if (!copy)
            return CLP_ERR_OOM;
        CLP_TRY(ctx->backend->read(((const clp_buffer *)all->space)->mem, (size_t)all->start, copy, r->n_bytes));
        r->given = copy;
    }
    /* An array without elements still has memory: an access that is masked may form its address. */
    r->work = r->is_written || !r->n_bytes ? clpi_arena_take(&s->arena, r->n_bytes + 1, 1) : (uint8_t *)(uintptr_t)r->given;
    if (!r->work)
        return CLP_ERR_OOM;
    if (r->is_written) {
        r->first_granule = s->n_granules;
        s->n_granules += (uint64_t)r->n_bytes * 8 / (uint64_t)r->bits + CLPI_GRANULE_ALIGN - 1;
        s->n_granules -= s->n_granules % CLPI_GRANULE_ALIGN;
    }
    return clpi_interp_backend.wrap(s->dev, r->work, r->n_bytes, &r->mem);
}

static clp_status make_regions(clpi_check *check)
{
    clpi_snapshot *s = &check->snapshot;
    const clp_kernel *k = check->kernel;
    const size_t n = (size_t)check->ir->n_operands + 1;
    int n_spans = 0;
    clpi_span *spans = CLPI_NEW_N(&s->arena, clpi_span, n), *all = CLPI_NEW_N(&s->arena, clpi_span, n);
    s->regions = CLPI_NEW_N(&s->arena, clpi_memory_region, n);
    s->region_of = CLPI_NEW_N(&s->arena, int, n);
    s->at = CLPI_NEW_N(&s->arena, size_t, n);
    s->places = CLPI_NEW_N(&s->arena, clpi_place, n);
    if (s->arena.failed)
        return CLP_ERR_OOM;
    for (int i = 0; i < check->ir->n_operands; i++)
        s->region_of[i] = -1;
    for (int a = 0; a < k->n_operands; a++)
        if (has_memory(&check->ir->operands[k->operands[a]]))
            spans[n_spans++] = clpi_span_of(s->bound, k->operands[a], &s->event->arrays[a]);
    s->n_regions = clpi_spans_join(spans, n_spans, all);
    for (int i = 0; i < n_spans; i++)
        s->region_of[spans[i].operand] = spans[i].region;
    for (int r = 0; r < s->n_regions; r++)
        CLP_TRY(make_region(check, r, &all[r]));
    for (int i = 0; i < n_spans; i++) {
        const int operand = spans[i].operand, r = spans[i].region;
        s->at[operand] = (size_t)(spans[i].start - all[r].start);
        s->places[operand] = (clpi_place){ s->regions[r].mem, s->at[operand] };
        s->bound->operands[operand].offset = spans[i].element_0;
    }
    return CLP_OK;
}

static clp_status report_overlaps(clpi_check *check, const clpi_launch_args *args)
{
    const clpi_operand *operands = check->ir->operands;
    for (int a = 0, b = -1; clpi_overlap_next(check->snapshot.bound, args, &a, &b);) {
        clpi_found found = { .kind = CLP_FINDING_OVERLAP, .operand = a };
        found.message = a == b ? clpi_arena_printf(clpi_report_arena(check->report),
                                                   "%s: it is written, and its strides let elements share memory", operands[a].name)
                               : clpi_arena_printf(clpi_report_arena(check->report),
                                                   "%s: it is written, and shares memory with %s without `alias`", operands[a].name,
                                                   operands[b].name);
        if (!found.message)
            return CLP_ERR_OOM;
        CLP_TRY(clpi_report_add(check->report, &found));
    }
    return CLP_OK;
}

clp_status clpi_snapshot_open(clpi_check *check)
{
    clpi_snapshot *s = &check->snapshot;
    clp_context *ctx = check->kernel->ctx;
    clpi_host host = { .env = check->env };         /* what a kernel prints is for its ordinary runs */
    clpi_launch_args args;
    clpi_arena_init(&s->arena, check->env);
    CLP_TRY(clpi_event_new(ctx, check->kernel, &s->event));
    CLP_TRY(clpi_launch_bind(s->event, check->arrays, check->n_arrays, &check->run, true, &args));
    s->bound = s->event->bound;
    clpi_report_bind(check->report, s->bound);
    CLP_TRY(report_overlaps(check, &args));
    CLP_TRY(clpi_interp_backend.open(&host, NULL, &s->dev));
    const clpi_unit unit = { check->ir, check->plan };
    CLP_TRY(clpi_interp_backend.compile(s->dev, &unit, 1, CLP_SCHEDULE_AUTO, false, &s->exe));
    CLP_TRY(make_regions(check));
    clpi_snapshot_reset(check);
    return CLP_OK;
}

void clpi_snapshot_close(clpi_check *check)
{
    clpi_snapshot *s = &check->snapshot;
    if (!s->arena.env)
        return;
    for (int r = 0; r < s->n_regions && s->regions; r++)
        clpi_interp_backend.release(s->regions[r].mem);
    clpi_interp_backend.discard(s->exe);
    clpi_interp_backend.close(s->dev);
    clp_event_free(s->event);
    clpi_arena_done(&s->arena);
}

/* ---- What a run starts from ---- */

#define FILL(type)                                                                                                     \
    for (int64_t i = 0; i < n; i++)                                                                                    \
        memcpy(data + (at + i * stride) * (int64_t)sizeof(type), &(type){ (type)value }, sizeof(type))

static void put_bits(uint8_t *data, int bits, int64_t at, int64_t stride, int64_t n, uint64_t value)
{
    switch (bits) {
    case 4:
        for (int64_t i = 0, e = at; i < n; i++, e += stride)
            data[e >> 1] = (uint8_t)((data[e >> 1] & (e & 1 ? 0x0f : 0xf0)) | (value & 15) << (e & 1) * 4);
        break;
    case 8: FILL(uint8_t); break;
    case 16: FILL(uint16_t); break;
    case 32: FILL(uint32_t); break;
    default: FILL(uint64_t);
    }
}

static void poison(const clpi_check *check, int operand)
{
    const clpi_snapshot *s = &check->snapshot;
    const clpi_operand *x = &check->ir->operands[operand];
    const clpi_bound_operand *o = &s->bound->operands[operand];
    uint8_t *data = s->regions[s->region_of[operand]].work + s->at[operand];
    int last = x->rank - 1;
    int64_t index[CLP_MAX_RANK] = { 0 };
    for (int d = 0; d < x->rank; d++)
        if (o->size[d] == 0)
            return;
    for (int d = last;;) {
        int64_t at = o->offset;
        for (int k = 0; k < last; k++)
            at += index[k] * o->stride[k];
        put_bits(data, clp_dtype_bits(x->dtype), at, last >= 0 ? o->stride[last] : 1, last >= 0 ? o->size[last] : 1,
                 clpi_poison_bits(x->dtype));
        for (d = last - 1; d >= 0 && ++index[d] == o->size[d]; d--)
            index[d] = 0;
        if (d < 0)
            return;
    }
}

/* Poison reaches every byte. */
static bool is_all_poison(const clpi_check *check, int region)
{
    const clpi_snapshot *s = &check->snapshot;
    uint64_t n = 0;
    for (int i = 0; i < check->ir->n_operands; i++) {
        const clpi_operand *x = &check->ir->operands[i];
        if (s->region_of[i] != region)
            continue;
        if (n)
            return false;
        n = (uint64_t)clp_dtype_bits(x->dtype);
        for (int d = 0; d < x->rank; d++)
            n *= (uint64_t)s->bound->operands[i].size[d];
    }
    return s->regions[region].is_poisoned && n == 8 * (uint64_t)s->regions[region].n_bytes;
}

void clpi_snapshot_reset(clpi_check *check)
{
    clpi_snapshot *s = &check->snapshot;
    for (int r = 0; r < s->n_regions; r++)
        if (s->regions[r].is_written && s->regions[r].n_bytes && !is_all_poison(check, r))
            memcpy(s->regions[r].work, s->regions[r].given, s->regions[r].n_bytes);
    for (int i = 0; i < check->ir->n_operands; i++)
        if (s->region_of[i] >= 0 && s->regions[s->region_of[i]].is_poisoned)
            poison(check, i);
}

/* ---- Runs ---- */

bool clpi_go_on(void *user, const clpi_fault *fault)
{
    (void)user, (void)fault;
    return true;
}

clp_status clpi_snapshot_run(clpi_check *check, clp_order order, uint64_t seed, const clpi_watch *watch)
{
    static const clpi_watch nobody = { .fault = clpi_go_on };
    const clpi_snapshot *s = &check->snapshot;
    void *event;
    double seconds;
    if (s->bound->n_sequences == 0 || s->bound->n_steps == 0)
        return CLP_OK;
    clpi_launch launch = { .bound = s->bound, .places = s->places, .order = order, .seed = seed, .watch = watch ? watch : &nobody };
    CLP_TRY(clpi_interp_backend.launch(s->exe, &launch, &event));
    clp_status status = clpi_interp_backend.wait(event, &seconds);
    clpi_interp_backend.forget(event);
    return status;
}

clp_status clpi_snapshot_run_padded(clpi_check *check, uint64_t pad, const clpi_watch *watch)
{
    clpi_snapshot *s = &check->snapshot;
    void *const own = s->exe, *padded;
    clpi_ir ir = *check->ir;
    ir.operands = CLPI_NEW_N(&s->arena, clpi_operand, (size_t)ir.n_operands + 1);
    if (!ir.operands)
        return CLP_ERR_OOM;
    memcpy(ir.operands, check->ir->operands, (size_t)ir.n_operands * sizeof *ir.operands);
    for (int i = 0; i < ir.n_operands; i++) {
        clpi_operand *x = &ir.operands[i];
        if (x->has_pad || x->role == CLP_SCRATCH || !clpi_is_int(x->dtype))
            continue;
        x->has_pad = true;
        x->pad_bits = pad;
    }
    CLP_TRY(clpi_interp_backend.compile(s->dev, &(clpi_unit){ &ir, check->plan }, 1, CLP_SCHEDULE_AUTO, false, &padded));
    s->exe = padded;
    clpi_snapshot_reset(check);
    clp_status status = clpi_snapshot_run(check, CLP_ORDER_FORWARD, 0, watch);
    s->exe = own;
    clpi_interp_backend.discard(padded);
    return status;
}
