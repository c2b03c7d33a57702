/* orders: results that depend on the order of the programs.
 * In: a snapshot. Out: findings, about elements that differed between any two runs; from then on they are unsettled.
 * Runs the launch forward, in reverse, in shuffled orders, and in boxes of the grid, the second half of each parallel axis before
 * the first; compares what each leaves behind with what the forward run left.
 *
 * Decides what is no difference: equal numbers; and, in an element that nothing but additions of float atomics touched, what
 * rounding explains: n additions of values up to v move the sum by no more than 2 n u (|given| + n v), u being half a
 * step at 1. That is the bound of the worst case, so a difference beyond it is none of rounding.                        */
#include <math.h>
#include <string.h>

#include "check/agree.h"

/* What atomic additions did to an operand of floats, in the forward run. */
struct clpi_order_sums {
    int64_t   lo;                 /* elements lo .. from the operand's place */
    uint32_t *n_adds;             /* NULL: no such additions */
    bool     *has_others;         /* plain writes, other atomics */
    double    largest;            /* of the values added */
};

struct clpi_order_first { uint64_t number, bits, kept_bits; const char *name, *kept_name; };

/* ---- Copies ---- */

clp_status clpi_kept_new(clpi_check *check, clpi_kept *out)
{
    clpi_snapshot *s = &check->snapshot;
    out->bytes = CLPI_NEW_N(&s->arena, uint8_t *, (size_t)s->n_regions + 1);
    for (int r = 0; out->bytes && r < s->n_regions; r++)
        if (s->regions[r].is_written)
            out->bytes[r] = CLPI_NEW_N(&s->arena, uint8_t, s->regions[r].n_bytes + 1);
    return s->arena.failed ? CLP_ERR_OOM : CLP_OK;
}

void clpi_kept_take(const clpi_check *check, clpi_kept *kept)
{
    for (int r = 0; r < check->snapshot.n_regions; r++)
        if (kept->bytes[r])
            memcpy(kept->bytes[r], check->snapshot.regions[r].work, check->snapshot.regions[r].n_bytes);
}

const uint8_t *clpi_kept_of(const clpi_check *check, const clpi_kept *kept, int operand)
{
    return kept->bytes[check->snapshot.region_of[operand]] + check->snapshot.at[operand];
}

const uint8_t *clpi_work_of(const clpi_check *check, int operand)
{
    return check->snapshot.regions[check->snapshot.region_of[operand]].work + check->snapshot.at[operand];
}

/* ---- Sums by atomics ---- */

static bool adds_floats(const clpi_check *check, int operand)
{
    const clpi_ir *ir = check->ir;
    bool found = false;
    for (uint32_t i = ir->n_header; i < ir->ops.n && !found; i++)
        found = ir->ops.items[i].kind == CLP_OP_atomic_add && ir->ops.items[i].operand == operand;
    return found && clpi_is_float(ir->operands[operand].dtype);
}

static clp_status open_sums(clpi_orders *orders)
{
    clpi_check *check = orders->check;
    clpi_arena *arena = &check->snapshot.arena;
    orders->sums = CLPI_NEW_N(arena, struct clpi_order_sums, (size_t)check->ir->n_operands + 1);
    for (int i = 0; orders->sums && i < check->ir->n_operands; i++) {
        int64_t hi;
        struct clpi_order_sums *s = &orders->sums[i];
        if (!clpi_is_result(check, i) || !adds_floats(check, i) ||
            !clpi_extent(&check->snapshot.bound->operands[i], check->ir->operands[i].rank, &s->lo, &hi))
            continue;
        s->n_adds = CLPI_NEW_N(arena, uint32_t, (size_t)(hi - s->lo) + 1);
        s->has_others = CLPI_NEW_N(arena, bool, (size_t)(hi - s->lo) + 1);
    }
    return arena->failed ? CLP_ERR_OOM : CLP_OK;
}

static void count_touch(void *user, const clpi_touch *touch)
{
    const clpi_orders *orders = user;
    struct clpi_order_sums *s = &orders->sums[touch->operand];
    if (touch->kind == CLPI_TOUCH_READ || !s->n_adds)
        return;
    bool is_add = orders->check->ir->ops.items[touch->op].kind == CLP_OP_atomic_add;
    for (int64_t i = 0, at = touch->at - s->lo; i < touch->n; i++, at += touch->step) {
        s->n_adds[at] += is_add;
        s->has_others[at] |= !is_add;
    }
}

static void measure(void *user, uint32_t at, clpi_value_fn *value, const void *run)
{
    const clpi_orders *orders = user;
    const clpi_ir *ir = orders->check->ir;
    const clpi_op *op = &ir->ops.items[at];
    if (op->kind != CLP_OP_atomic_add || !orders->sums[op->operand].n_adds)
        return;
    clp_val added = clpi_op_value(ir, op, 0);
    const clpi_type *t = clpi_type_of(ir, added);
    const void *tile = value(run, added);
    double *largest = &orders->sums[op->operand].largest;
    for (int64_t i = 0, n = clpi_type_elems(t); i < n; i++) {
        double x = fabs(clpi_held_number(t->dtype, tile, i));
        *largest = x > *largest || isnan(x) ? x : *largest;
    }
}

/* May the two values of an element be the same sum, rounded on different ways? */
static bool is_rounding(const clpi_orders *orders, int operand, int64_t at, uint64_t a, uint64_t b)
{
    const struct clpi_order_sums *s = &orders->sums[operand];
    if (!s->n_adds || s->has_others[at - s->lo])
        return false;
    const clpi_snapshot *snapshot = &orders->check->snapshot;
    const uint8_t *given = snapshot->regions[snapshot->region_of[operand]].given + snapshot->at[operand];
    clp_dtype dtype = orders->check->ir->operands[operand].dtype;
    double n = s->n_adds[at - s->lo], u = dtype == CLP_F64 ? 0x1p-53 : 0x1p-24;
    double bound = 2 * n * u * (fabs(clpi_number_of(dtype, clpi_bits_at(dtype, given, at))) + n * s->largest);
    double off = fabs(clpi_number_of(dtype, a) - clpi_number_of(dtype, b));
    return off <= bound || !isfinite(bound);
}

/* ---- Runs ---- */

static bool **flags_of_results(clpi_check *check)
{
    clpi_arena *arena = &check->snapshot.arena;
    bool **flags = CLPI_NEW_N(arena, bool *, (size_t)check->ir->n_operands + 1);
    for (int i = 0; flags && i < check->ir->n_operands; i++)
        if (clpi_is_result(check, i))
            flags[i] = CLPI_NEW_N(arena, bool, (size_t)clpi_elements_n(check, i) + 1);
    return flags;
}

clp_status clpi_unsettled_open(clpi_check *check)
{
    if (!check->is_unsettled) {
        check->is_unsettled = flags_of_results(check);
        check->is_racing = CLPI_NEW_N(&check->snapshot.arena, bool, (size_t)check->ir->n_operands + 1);
    }
    return check->snapshot.arena.failed ? CLP_ERR_OOM : CLP_OK;
}

clp_status clpi_orders_open(clpi_check *check, clpi_orders *out)
{
    clpi_arena *arena = &check->snapshot.arena;
    size_t n = (size_t)check->ir->n_operands;
    *out = (clpi_orders){ .check = check, .kept_name = "forward" };
    CLP_TRY(clpi_unsettled_open(check));
    out->differs = flags_of_results(check);
    out->first = CLPI_NEW_N(arena, struct clpi_order_first, n + 1);
    CLP_TRY(clpi_kept_new(check, &out->kept));
    CLP_TRY(open_sums(out));
    clpi_watch watch = { .user = out, .touch = count_touch, .step = measure, .fault = clpi_go_on };
    bool has_sums = false;
    for (size_t i = 0; i < n; i++)
        has_sums |= out->sums[i].n_adds != NULL;
    clpi_snapshot_reset(check);
    CLP_TRY(clpi_snapshot_run(check, CLP_ORDER_FORWARD, 0, has_sums ? &watch : NULL));
    clpi_kept_take(check, &out->kept);
    return CLP_OK;
}

clp_status clpi_orders_keep(clpi_orders *orders, const char *name)
{
    orders->kept_name = name;
    clpi_kept_take(orders->check, &orders->kept);
    return name ? CLP_OK : CLP_ERR_OOM;
}

static void compare_operand(clpi_orders *orders, int operand, const char *name)
{
    const clpi_check *check = orders->check;
    const uint8_t *kept = clpi_kept_of(check, &orders->kept, operand), *work = clpi_work_of(check, operand);
    clp_dtype dtype = check->ir->operands[operand].dtype;
    struct clpi_order_first *first = &orders->first[operand];
    clpi_elements e;
    clpi_elements_init(&e, check, operand);
    while (clpi_elements_next(&e)) {
        uint64_t a = clpi_bits_at(dtype, kept, e.at), b = clpi_bits_at(dtype, work, e.at);
        if (check->is_unsettled[operand][e.number] || clpi_same(dtype, a, b) || is_rounding(orders, operand, e.at, a, b))
            continue;
        orders->differs[operand][e.number] = true;
        if (!first->name || e.number < first->number)
            *first = (struct clpi_order_first){ e.number, b, a, name, orders->kept_name };
    }
}

clp_status clpi_orders_compare(clpi_orders *orders, const char *name)
{
    for (int i = 0; name && i < orders->check->ir->n_operands; i++)
        if (clpi_is_result(orders->check, i))
            compare_operand(orders, i, name);
    return name ? CLP_OK : CLP_ERR_OOM;
}

void clpi_orders_forget(clpi_orders *orders)
{
    for (int i = 0; i < orders->check->ir->n_operands; i++) {
        orders->first[i] = (struct clpi_order_first){ 0 };
        if (orders->differs[i])
            memset(orders->differs[i], 0, (size_t)clpi_elements_n(orders->check, i) * sizeof *orders->differs[i]);
    }
}

/* ---- Who wrote it ---- */

typedef struct last { const clpi_check *check; int region; size_t bit; uint64_t sequence; int64_t program[CLPI_MAX_AXES]; clpi_writer *out; } last;

static void last_enter(void *user, uint64_t sequence, uint64_t step, const int64_t *program)
{
    last *l = user;
    (void)step;
    l->sequence = sequence;
    memcpy(l->program, program, (size_t)l->check->ir->n_axes * sizeof *program);
}

static size_t bit_of(const clpi_check *check, int operand, int64_t at)
{
    int bits = clp_dtype_bits(check->ir->operands[operand].dtype);
    return check->snapshot.at[operand] * 8 + (size_t)(at * bits);
}

static void last_touch(void *user, const clpi_touch *touch)
{
    last *l = user;
    if (touch->kind == CLPI_TOUCH_READ || l->check->snapshot.region_of[touch->operand] != l->region)
        return;
    for (int64_t i = 0; i < touch->n; i++) {
        if (bit_of(l->check, touch->operand, touch->at + i * touch->step) != l->bit)
            continue;
        l->out->op = touch->op;
        l->out->sequence = l->sequence;
        memcpy(l->out->program, l->program, sizeof l->program);
    }
}

clp_status clpi_last_writer(clpi_check *check, int operand, int64_t at, clpi_writer *out)
{
    last l = { .check = check, .region = check->snapshot.region_of[operand], .bit = bit_of(check, operand, at), .out = out };
    *out = (clpi_writer){ 0 };
    clpi_watch watch = { .user = &l, .enter = last_enter, .touch = last_touch, .fault = clpi_go_on };
    clpi_snapshot_reset(check);
    return clpi_snapshot_run(check, CLP_ORDER_FORWARD, 0, &watch);
}

/* ---- The report ---- */

static clp_status report_operand(clpi_orders *orders, int operand)
{
    clpi_check *check = orders->check;
    const struct clpi_order_first *first = &orders->first[operand];
    clp_dtype dtype = check->ir->operands[operand].dtype;
    clpi_found found;
    clpi_elements e;
    int64_t at = 0;
    clpi_found_init(&found, CLP_FINDING_ORDER_DEPENDENT, operand);
    clpi_elements_init(&e, check, operand);
    while (clpi_elements_next(&e)) {
        if (!orders->differs[operand][e.number])
            continue;
        check->is_unsettled[operand][e.number] = true;
        clpi_found_element(&found, e.index, e.rank);
        at = e.number == first->number ? e.at : at;
    }
    clpi_writer writer;
    CLP_TRY(clpi_last_writer(check, operand, at, &writer));
    found.n_programs = writer.op != 0;
    found.op[0] = writer.op;
    memcpy(found.program[0], writer.program, sizeof writer.program);
    clpi_str s;
    clpi_str_init(&s, check->env);
    clpi_str_add(&s, "%s: %s: element ", check->ir->operands[operand].name, clp_finding_name(found.kind));
    clpi_element_print(&s, found.element, e.rank);
    clpi_str_add(&s, ": %s ", first->kept_name);
    clpi_number_print(&s, dtype, first->kept_bits);
    clpi_str_add(&s, ", %s ", first->name);
    clpi_number_print(&s, dtype, first->bits);
    found.message = clpi_str_keep(&s, clpi_report_arena(check->report));
    return found.message ? clpi_report_add(check->report, &found) : CLP_ERR_OOM;
}

clp_status clpi_orders_report(clpi_orders *orders)
{
    for (int i = 0; i < orders->check->ir->n_operands; i++)
        if (orders->first[i].name)
            CLP_TRY(report_operand(orders, i));
    return CLP_OK;
}

/* ---- The check ---- */

/* The launch in two boxes along an axis, the second one first. */
static clp_status run_boxes(clpi_orders *orders, int axis)
{
    clpi_check *check = orders->check;
    clpi_bound *whole = check->snapshot.bound, half = *whole;
    int64_t start[CLPI_MAX_AXES], count[CLPI_MAX_AXES];
    int64_t n = whole->box_count[axis], n_second = n / 2;
    memcpy(start, whole->box_start, (size_t)check->ir->n_axes * sizeof *start);
    memcpy(count, whole->box_count, (size_t)check->ir->n_axes * sizeof *count);
    half.box_start = start;
    half.box_count = count;
    clp_status status = CLP_OK;
    clpi_snapshot_reset(check);
    for (int k = 1; k >= 0 && !status; k--) {
        start[axis] = whole->box_start[axis] + (k ? n - n_second : 0);
        count[axis] = k ? n_second : n - n_second;
        half.n_sequences = whole->n_sequences / (uint64_t)n * (uint64_t)count[axis];
        check->snapshot.bound = &half;
        status = clpi_snapshot_run(check, CLP_ORDER_FORWARD, 0, NULL);
        check->snapshot.bound = whole;
    }
    CLP_TRY(status);
    return clpi_orders_compare(orders, clpi_arena_printf(&check->snapshot.arena, "boxes:%s", check->ir->axes[axis].name));
}

static clp_status run_order(clpi_orders *orders, clp_order order, uint64_t seed)
{
    const char *name = "reverse";
    if (order == CLP_ORDER_SHUFFLE)
        name = clpi_arena_printf(&orders->check->snapshot.arena, "shuffle:%llu", (unsigned long long)seed);
    clpi_snapshot_reset(orders->check);
    CLP_TRY(clpi_snapshot_run(orders->check, order, seed, NULL));
    return clpi_orders_compare(orders, name);
}

clp_status clpi_check_orders(clpi_check *check)
{
    clpi_orders orders;
    if (check->snapshot.bound->n_sequences < 2)
        return CLP_OK;
    CLP_TRY(clpi_orders_open(check, &orders));
    CLP_TRY(run_order(&orders, CLP_ORDER_REVERSE, 0));
    for (int i = 0; i < check->opts.n_shuffles; i++)
        CLP_TRY(run_order(&orders, CLP_ORDER_SHUFFLE, check->opts.seed + (uint64_t)i));
    for (int i = 0; i < check->plan->n_parallel; i++)
        if (check->snapshot.bound->box_count[check->plan->parallel[i]] > 1)
            CLP_TRY(run_boxes(&orders, check->plan->parallel[i]));
    return clpi_orders_report(&orders);
}
