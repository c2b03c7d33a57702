/* wrong: kernels made from seeds, run by a device that does one operation wrong.
 * In: the first seed and how many. Out: a line and the text of each kernel in which the check blames something else; a count
 * of how many wrong operations there were, how many of them changed a result, and how many were named. Exit status 1 if a
 * check was wrong.
 * The device is the interpreter, running the same operations but one. What then holds:
 *     - as long as nothing is wrong, no value differs, wherever it is stored on its way
 *     - no operation that is done before the wrong one differs
 *     - a wrong operation that must give equal bits is the first to differ, unless it stands in a `while` loop, of which the
 *       last iteration is seen, or changes values that may differ a little
 *
 * usage: wrong_runner SEED COUNT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check/agree.h"
#include "gen.h"
#include "tool.h"

enum { TEXT_BYTES = 1 << 18, WHY_BYTES = 1 << 14, MAX_MUTANTS = 4 };

typedef struct setting {
    clp_context *ctx;
    char        *text, *why;
    int          n_failed, n_wrong, n_seen, n_named;
    made         kernel;
    run          run;
} setting;

/* Operations that decide how often a loop goes round are left alone: the wrong kernel might go round for ever. decides: [ops.n]. */
static bool mark_more(const clpi_ir *ir, const clpi_plan *plan, bool *decides)
{
    bool is_new = false;
    for (uint32_t i = ir->ops.n - 1; i >= ir->n_header; i--) {
        const clpi_op *op = &ir->ops.items[i];
        bool is_loop = op->kind == CLP_OP_for || op->kind == CLP_OP_while, is_yield = op->kind == CLP_OP_yield;
        uint32_t n = is_loop && !decides[i] ? (op->kind == CLP_OP_for ? 2 : op->n_args) : decides[i] ? op->n_args : 0;
        for (uint32_t k = 0; k < n; k++) {
            bool *d = &decides[clpi_args(ir, op)[k].id];
            is_new |= !*d;
            *d = true;
        }
        for (uint32_t k = ir->n_header; k < ir->ops.n; k++) {
            const clpi_op *other = &ir->ops.items[k];
            bool is_region = (clpi_ops[other->kind].flags & CLP_REGION) != 0;
            bool feeds = decides[i] && (clpi_ops[op->kind].flags & CLP_READ) && (clpi_ops[other->kind].flags & CLP_WRITE) &&
                         plan->storage[op->operand] == plan->storage[other->operand];
            bool is_around = decides[i] && is_region && k < i && i < other->end;
            bool ends = is_yield && is_region && (i + 1 == other->end || i + 1 == other->mid) && (decides[k] || other->kind == CLP_OP_while);
            bool *d = ends ? &decides[i] : &decides[k];
            if ((feeds || is_around || ends) && !*d)
                is_new = *d = true;
        }
    }
    return is_new;
}

/* What stands in for an operation: one of the same form. */
static clpi_op_kind twin_of(clpi_op_kind kind)
{
    static const clpi_op_kind twins[][2] = {
        { CLP_OP_add, CLP_OP_sub }, { CLP_OP_minimum, CLP_OP_maximum }, { CLP_OP_lt, CLP_OP_ge }, { CLP_OP_le, CLP_OP_gt },
        { CLP_OP_eq, CLP_OP_ne }, { CLP_OP_and, CLP_OP_or }, { CLP_OP_shl, CLP_OP_shr }, { CLP_OP_floor, CLP_OP_ceil },
        { CLP_OP_sin, CLP_OP_cos }, { CLP_OP_exp, CLP_OP_tanh }, { CLP_OP_max, CLP_OP_min }, { CLP_OP_any, CLP_OP_all },
        { CLP_OP_cummax, CLP_OP_cummin }, { CLP_OP_argmax, CLP_OP_argmin }, { CLP_OP_sum, CLP_OP_prod },
    };
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
        for (int k = 0; k < 2; k++)
            if (twins[i][k] == kind)
                return twins[i][1 - k];
    return kind == CLP_OP_mul ? CLP_OP_add : kind == CLP_OP_divide ? CLP_OP_mul : CLP_OP_NONE;
}

static bool is_in_while(const clpi_ir *ir, uint32_t at)
{
    bool is_in = false;
    for (uint32_t i = ir->n_header; i < at; i++)
        is_in |= ir->ops.items[i].kind == CLP_OP_while && ir->ops.items[i].end > at;
    return is_in;
}

/* In one loop with the wrong one: what differs in a later iteration may stand in front of it. */
static bool shares_loop(const clpi_ir *ir, uint32_t a, uint32_t b)
{
    bool shares = false;
    for (uint32_t i = ir->n_header; i < a && i < b; i++) {
        const clpi_op *op = &ir->ops.items[i];
        shares |= (op->kind == CLP_OP_while || op->kind == CLP_OP_for) && op->end > a && op->end > b;
    }
    return shares;
}

static bool say_why(setting *s, const char *what, const clpi_ir *ir, uint32_t wrong, const clpi_culprit *culprit)
{
    clpi_pos pos = ir->ops.items[wrong].pos;
    snprintf(s->why, WHY_BYTES, "%s: op %u at %u:%u was wrong, op %u was named: %s", what, wrong, (unsigned)pos.line, (unsigned)pos.column,
             culprit->op, culprit->words);
    return false;
}

static bool is_right(setting *s, const clpi_check *check, uint32_t wrong, const clpi_levels *levels, const clpi_culprit *culprit)
{
    const clpi_ir *ir = check->ir;
    if (!wrong)
        return !culprit->op || say_why(s, "nothing is wrong", ir, 0, culprit);
    s->n_seen++;
    s->n_named += culprit->op == wrong;
    if (culprit->op == wrong)
        return true;
    bool may_be_small = levels->val[wrong].kind != CLPI_EXACT || !culprit->op;
    if (culprit->op && culprit->op < wrong && check->snapshot.bound->n_steps == 1 && !shares_loop(ir, culprit->op, wrong))
        return say_why(s, "what comes before it cannot differ", ir, wrong, culprit);
    if (!may_be_small && !is_in_while(ir, wrong))
        return say_why(s, "it must be the first", ir, wrong, culprit);
    return true;
}

/* The element of an operand that differs first, and what is said of it. */
static clp_status bisect_operand(setting *s, clpi_check *check, clpi_device *device, const clpi_kept *want, const clpi_kept *got,
                                 int which, uint32_t wrong, const clpi_levels *levels, bool *out_is_right)
{
    const clp_dtype dtype = check->ir->operands[which].dtype;
    clpi_elements e;
    clpi_writer writer;
    clpi_culprit culprit;
    clpi_elements_init(&e, check, which);
    while (clpi_elements_next(&e)) {
        bool differs = !clpi_same(dtype, clpi_bits_at(dtype, clpi_kept_of(check, want, which), e.at),
                                  clpi_bits_at(dtype, clpi_kept_of(check, got, which), e.at));
        if (wrong ? !differs : e.number % 7 != 3)
            continue;
        CLP_TRY(clpi_last_writer(check, which, e.at, &writer));
        if (!writer.op)
            continue;
        CLP_TRY(clpi_bisect(check, device, &writer, CLP_SCHEDULE_AUTO, &culprit));
        *out_is_right = *out_is_right && is_right(s, check, wrong, levels, &culprit);
        return CLP_OK;
    }
    return CLP_OK;
}

static clp_status bisect_all(setting *s, clpi_check *check, clpi_device *device, uint32_t wrong, bool *out_is_right)
{
    clpi_kept want, got;
    clpi_levels levels;
    void *exe;
    const char *fault;
    CLP_TRY(clpi_levels_new(check->ir, check->plan, clpi_n_terms(check), NULL, &check->snapshot.arena, &levels));
    CLP_TRY(clpi_kept_new(check, &want));
    CLP_TRY(clpi_kept_new(check, &got));
    CLP_TRY(clpi_snapshot_run(check, CLP_ORDER_FORWARD, 0, NULL));
    clpi_kept_take(check, &want);
    CLP_TRY(clpi_device_compile(device, check->device_ir, check->device_plan, CLP_SCHEDULE_AUTO, &exe));
    clpi_bound altered = *check->snapshot.bound;
    altered.plan = check->device_plan;
    clpi_snapshot_reset(check);
    clp_status status = clpi_device_run(device, exe, &altered, device->places, &fault);
    clpi_device_discard(device, exe);
    clpi_kept_take(check, &got);
    for (int i = 0; i < check->ir->n_operands && !status; i++)
        if (clpi_is_result(check, i))
            status = bisect_operand(s, check, device, &want, &got, i, wrong, &levels, out_is_right);
    return status;
}

/* wrong: the op that the device does otherwise; 0: none. */
static bool check_mutant(setting *s, clp_kernel *right, const clp_kernel *other, uint32_t wrong)
{
    clpi_check check = { .env = &s->ctx->env, .kernel = right, .ir = right->ir, .plan = right->plan, .arrays = s->run.arrays,
                         .n_arrays = s->run.n, .device_ir = other->ir, .device_plan = other->plan };
    clpi_device device = { .check = &check };
    const made *k = &s->kernel;
    bool is_right = true;
    if (k->has_box)
        check.run = (clp_run_opts){ .grid_start = k->box_start, .grid_count = k->box_count };
    clp_status status = clpi_report_new(check.env, right, 1, &check.report);
    if (!status)
        status = clpi_snapshot_open(&check);
    if (!status)
        status = clpi_device_open(&check, &device);
    if (!status)
        status = bisect_all(s, &check, &device, wrong, &is_right);
    if (status)
        snprintf(s->why, WHY_BYTES, "%s: %s", clp_status_name(status), clp_last_error(s->ctx));
    clpi_device_close(&device);
    clpi_snapshot_close(&check);
    clp_report_free(check.report);
    return !status && is_right;
}

static bool check_kernel(setting *s, clp_kernel *right, clp_kernel *other, uint64_t seed)
{
    clpi_ir *ir = other->ir;
    uint64_t state = seed;
    bool *decides = calloc(ir->ops.n, sizeof *decides);
    if (!decides)
        abort();
    while (mark_more(ir, other->plan, decides))
        ;
    bool is_right = check_mutant(s, right, right, 0);
    for (int n = 0, tries = 0; is_right && n < MAX_MUTANTS && tries < 200; tries++) {
        uint32_t at = ir->n_header + (uint32_t)(random_next(&state) % (ir->ops.n - ir->n_header));
        clpi_op *op = &ir->ops.items[at];
        const clpi_op_kind kind = op->kind, twin = twin_of(kind);
        if (twin == CLP_OP_NONE || decides[at])
            continue;
        op->kind = twin;
        bool fits = clpi_verify(ir, CLP_ERR_INTERNAL) == CLP_OK;
        if (fits) {
            s->n_wrong++;
            n++;
            is_right = check_mutant(s, right, other, at);
        }
        op->kind = kind;
    }
    free(decides);
    return is_right;
}

static void check_seed(setting *s, uint64_t seed)
{
    clp_kernel *kernel = NULL, *other = NULL;
    kernel_make(&s->kernel, seed, &gen_all);
    if (kernel_text(&s->kernel, s->text, TEXT_BYTES) >= TEXT_BYTES)
        abort();
    run_place(&s->run, &s->kernel, true);
    bool ok = !clp_kernel_from_text(s->ctx, s->text, NULL, NULL, &kernel) && !clp_kernel_from_text(s->ctx, s->text, NULL, NULL, &other);
    if (!ok)
        snprintf(s->why, WHY_BYTES, "%s", clp_last_error(s->ctx));
    ok = ok && check_kernel(s, kernel, other, seed);
    if (!ok)
        fprintf(stderr, "seed %" PRIu64 ": %s\n%s\n", seed, s->why, s->text);
    s->n_failed += !ok;
    clp_kernel_free(kernel);
    clp_kernel_free(other);
    run_clear(&s->run);
}

int main(int argc, char **argv)
{
    int64_t seed, count;
    if (argc != 3 || !is_number(argv[1], &seed) || !is_number(argv[2], &count))
        return fail_usage("usage: wrong_runner SEED COUNT");
    setting *s = calloc(1, sizeof *s);
    if (!s || !(s->text = malloc(TEXT_BYTES)) || !(s->why = malloc(WHY_BYTES)) ||
        clp_context_new(&(clp_context_opts){ .device = "interp" }, &s->ctx))
        abort();
    for (int64_t i = 0; i < count; i++)
        check_seed(s, (uint64_t)(seed + i));
    printf("%" PRId64 " kernels, %d wrong operations, %d results that differ, of which %d are traced to them, %d failed\n", count,
           s->n_wrong, s->n_seen, s->n_named, s->n_failed);
    const bool ok = !s->n_failed && (count < 10 || s->n_named > s->n_seen / 2);
    clp_context_free(s->ctx);
    free(s->text);
    free(s->why);
    free(s);
    return ok ? DONE : FAILED;
}
