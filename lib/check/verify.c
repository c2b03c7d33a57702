/* verify: the device against the interpreter, and against itself.
 * In: a snapshot. Out: findings where they differ by more than rounding explains, with the write that made the worst element; the
 * largest difference; elements that differ from run to run on the device.
 * Runs the kernel on the device several times, as the context's schedule has it and as the other one would, from the memory
 * that the interpreter started from.
 *
 * Decides what is judged: elements that do not race, nor are made of such that do, and are the same in every order that was
 * tried and in every run on the device. Where others differ, orders are tried before the device is blamed, and how far rounding
 * moves them (sway.c). What a value may be off by besides is in levels.c.                                               */
#include <string.h>

#include "base/real.h"
#include "check/agree.h"

/* One operand, under all schedules. */
typedef struct judged {
    clpi_compare compare;         /* of the first schedule that fails; else of the last */
    clpi_found   found;           /* elements beyond, of that schedule */
    clp_schedule schedule;
    bool         fails, fails_elsewhere;
} judged;

typedef struct verifier {
    clpi_check  *check;
    clpi_device  device;
    clpi_orders  orders;          /* of runs on the device */
    clpi_kept    expected;
    clpi_levels  levels;
    double     **moves;           /* of rounding (sway.c); NULL: not looked at, as nothing was beyond its level */
    judged      *judged;          /* [n_operands] */
    const char  *fault;           /* of a run on the device */
    const char  *left_out;        /* why a schedule was not compared */
} verifier;

static const char *name_of(clp_schedule schedule)
{
    return schedule == CLP_SCHEDULE_SIMT ? "simt" : "vector";
}

/* ---- Judging one run ---- */

static void judge_operand(verifier *v, int operand, clp_schedule schedule)
{
    const clpi_check *check = v->check;
    clp_dtype dtype = check->ir->operands[operand].dtype;
    const clpi_marks marks = { { check->is_unsettled[operand], v->orders.differs[operand] }, v->moves ? v->moves[operand] : NULL };
    clpi_compare c = { .dtype = dtype, .level = v->levels.stored[operand] };
    clpi_found found;
    clpi_found_init(&found, CLP_FINDING_MISMATCH, operand);
    clpi_compare_arrays(&c, check, operand, clpi_kept_of(check, &v->orders.kept, operand), clpi_kept_of(check, &v->expected, operand),
                        &marks, &found);
    judged *j = &v->judged[operand];
    bool fails = clpi_compare_fails(&c);
    if (c.widest.is_set)
        clpi_report_difference(check->report, operand, c.widest.element, c.widest.abs, c.widest.rel, c.widest.ulp,
                               clpi_number_of(dtype, c.widest.got), clpi_number_of(dtype, c.widest.expected));
    if (j->fails)
        j->fails_elsewhere |= fails;
    else
        *j = (judged){ c, found, schedule, fails, false };
}

/* Values that only what was seen of rounding lets pass. */
static clp_status say_swayed(const verifier *v)
{
    for (int i = 0; i < v->check->ir->n_operands; i++)
        if (v->judged[i].compare.n_swayed && !v->judged[i].fails)
            CLP_TRY(clpi_report_fact(v->check->report, "%s: ill-conditioned: rounding alone moves %llu elements on the interpreter as far as they differ on "
                                     "the device", v->check->ir->operands[i].name, (unsigned long long)v->judged[i].compare.n_swayed));
    return CLP_OK;
}

/* Values that hang on who came first are looked at and not judged. */
static clp_status say_unjudged(const verifier *v)
{
    for (int i = 0; i < v->check->ir->n_operands; i++)
        if (clpi_is_result(v->check, i) && v->levels.stored[i].kind == CLPI_FREE && v->judged[i].compare.widest.is_set)
            CLP_TRY(clpi_report_fact(v->check->report, "%s: differs on the device, which is not judged: it hangs on the order of atomic operations",
                                     v->check->ir->operands[i].name));
    return CLP_OK;
}

/* What is made of elements that race is as little settled as they are, even if each order of whole programs gives the same: on
 * a device programs run at once.                                                                                        */
static clp_status unsettle_made_of_races(verifier *v)
{
    clpi_check *check = v->check;
    clpi_levels racing;
    CLP_TRY(clpi_levels_new(check->ir, check->plan, clpi_n_terms(check), check->is_racing, &check->snapshot.arena, &racing));
    for (int i = 0; i < check->ir->n_operands; i++) {
        if (!clpi_is_result(check, i) || racing.stored[i].kind != CLPI_FREE || v->levels.stored[i].kind == CLPI_FREE)
            continue;
        memset(check->is_unsettled[i], true, (size_t)clpi_elements_n(check, i) * sizeof *check->is_unsettled[i]);
        CLP_TRY(clpi_report_fact(check->report, "%s: not compared with the interpreter's: it is made of elements that race",
                                 check->ir->operands[i].name));
    }
    return CLP_OK;
}

/* The device's first run is kept in orders. */
static bool judge(verifier *v, clp_schedule schedule)
{
    bool fails = false;
    for (int i = 0; i < v->check->ir->n_operands; i++) {
        if (!clpi_is_result(v->check, i))
            continue;
        judge_operand(v, i, schedule);
        fails |= v->judged[i].fails;
    }
    return fails;
}

/* ---- Runs ---- */

static clp_status run_schedule(verifier *v, clp_schedule schedule)
{
    clpi_check *check = v->check;
    clpi_bound altered = *check->snapshot.bound;
    const clpi_bound *bound = &altered;
    void *exe;
    altered.plan = check->device_plan;
    CLP_TRY(clpi_device_compile(&v->device, check->device_ir, check->device_plan, schedule, &exe));
    clp_status status = CLP_OK;
    for (int run = 0; run < check->opts.n_device_runs && !status; run++) {
        const char *name = clpi_arena_printf(&check->snapshot.arena, "run %d on the device (%s)", run + 1, name_of(schedule));
        clpi_snapshot_reset(check);
        status = clpi_device_run(&v->device, exe, bound, v->device.places, &v->fault);
        if (!status && run == 0)
            status = clpi_orders_keep(&v->orders, name);
        else if (!status)
            status = clpi_orders_compare(&v->orders, name);
    }
    clpi_device_discard(&v->device, exe);
    return status;
}

/* The context's own schedule, then the other one, which a device need not be able to build. */
static clp_status run_schedules(verifier *v, bool *out_fails)
{
    clpi_check *check = v->check;
    const clp_context *ctx = check->kernel->ctx;
    clp_schedule own = clpi_cl_realisation(ctx->schedule, &ctx->limits);
    clp_schedule other = own == CLP_SCHEDULE_SIMT ? CLP_SCHEDULE_VECTOR : CLP_SCHEDULE_SIMT;
    memset(v->judged, 0, (size_t)check->ir->n_operands * sizeof *v->judged);
    CLP_TRY(run_schedule(v, own));
    *out_fails = judge(v, own);
    if (check->is_brief || ctx->backend == &clpi_interp_backend)
        return CLP_OK;
    clp_status status = run_schedule(v, other);
    if (status == CLP_ERR_UNSUPPORTED || status == CLP_ERR_DEVICE) {
        v->left_out = clpi_arena_printf(&check->snapshot.arena, "%s: not compared: %s", name_of(other), clpi_error_text(check->env));
        return v->left_out ? CLP_OK : CLP_ERR_OOM;
    }
    CLP_TRY(status);
    *out_fails |= judge(v, other);
    return CLP_OK;
}

/* ---- The report ---- */

static void put_rule(clpi_str *s, const clpi_compare *c)
{
    if (c->level.kind == CLPI_EXACT) {
        clpi_str_puts(s, "equal bits were expected");
        return;
    }
    clpi_str_add(s, "at most %s * (|value| + %s) was expected", clpi_real(2, c->level.bound).text, clpi_real(3, c->rms).text);
    if (c->worst.moves > 0)
        clpi_str_add(s, ", or %s, as far as rounding was seen to move it", clpi_real(3, c->worst.moves).text);
    if (c->level.kind == CLPI_CHOSEN)
        clpi_str_puts(s, ", but for one element in a hundred");
}

static void put_where(const clpi_ir *ir, uint32_t op, clpi_str *s)
{
    const clpi_op *o = &ir->ops.items[op];
    clpi_str_add(s, "`%s`", clpi_op_words(o->kind));
    if (o->pos.line)
        clpi_str_add(s, " at %u:%u", (unsigned)o->pos.line, (unsigned)o->pos.column);
}

/* "o: mismatch: element [3, 5] on the device (simt) is 1.25, on the interpreter 1.5: off by 0.25, 0.167 of the value, .." */
static clp_status report_operand(verifier *v, int operand)
{
    clpi_check *check = v->check;
    judged *j = &v->judged[operand];
    const struct clpi_worst *worst = &j->compare.worst;
    const clpi_operand *x = &check->ir->operands[operand];
    clpi_writer writer;
    clpi_culprit culprit = { 0 };
    CLP_TRY(clpi_last_writer(check, operand, worst->at, &writer));
    if (writer.op && (check->opts.checks & CLP_CHECK_BISECT))
        CLP_TRY(clpi_bisect(check, &v->device, &writer, j->schedule, &culprit));
    clpi_str s;
    clpi_str_init(&s, check->env);
    clpi_str_add(&s, "%s: %s: element ", x->name, clp_finding_name(CLP_FINDING_MISMATCH));
    clpi_element_print(&s, worst->element, x->rank);
    clpi_str_add(&s, " on the device (%s) is ", j->fails_elsewhere ? "vector and simt" : name_of(j->schedule));
    clpi_number_print(&s, x->dtype, worst->got);
    clpi_str_puts(&s, ", on the interpreter ");
    clpi_number_print(&s, x->dtype, worst->expected);
    clpi_str_add(&s, ": off by %s, %s of the value, %s ulp; ", clpi_real(3, worst->abs).text, clpi_real(3, worst->rel).text,
                 clpi_real(10, worst->ulp).text);
    put_rule(&s, &j->compare);
    if (culprit.op) {
        clpi_str_puts(&s, "; the first value that differs is that of ");
        put_where(check->ir, culprit.op, &s);
    }
    if (culprit.words)
        clpi_str_add(&s, "%s%s", culprit.op ? ": " : "; ", culprit.words);
    clpi_found found = j->found;
    found.n_programs = writer.op != 0;
    found.op[0] = writer.op;
    found.op[1] = culprit.op;
    memcpy(found.program[0], writer.program, sizeof writer.program);
    found.message = clpi_str_keep(&s, clpi_report_arena(check->report));
    return found.message ? clpi_report_add(check->report, &found) : CLP_ERR_OOM;
}

static bool note_fault(void *user, const clpi_fault *fault)
{
    (void)fault;
    return *(bool *)user = true;
}

/* A fault on the device that the interpreter does not run into. */
static clp_status report_fault(verifier *v)
{
    clpi_found found;
    clpi_found_init(&found, CLP_FINDING_MISMATCH, -1);
    bool is_known = false;
    clpi_snapshot_reset(v->check);
    CLP_TRY(clpi_snapshot_run(v->check, CLP_ORDER_FORWARD, 0, &(clpi_watch){ .user = &is_known, .fault = note_fault }));
    if (is_known)
        return CLP_OK;
    found.message = clpi_arena_printf(clpi_report_arena(v->check->report), "the device alone says: %s", v->fault);
    return found.message ? clpi_report_add(v->check->report, &found) : CLP_ERR_OOM;
}

static clp_status report(verifier *v)
{
    CLP_TRY(clpi_orders_report(&v->orders));
    for (int i = 0; i < v->check->ir->n_operands; i++)
        if (v->judged[i].fails)
            CLP_TRY(report_operand(v, i));
    if (v->fault)
        CLP_TRY(report_fault(v));
    if (v->left_out)
        CLP_TRY(clpi_report_fact(v->check->report, "%s", v->left_out));
    CLP_TRY(say_swayed(v));
    return say_unjudged(v);
}

/* ---- The check ---- */

static bool may_be_rounding(const verifier *v)
{
    bool may_be = false;
    for (int i = 0; i < v->check->ir->n_operands; i++)
        may_be |= v->judged[i].fails && v->levels.stored[i].kind != CLPI_EXACT;
    return may_be;
}

static clp_status verify(verifier *v)
{
    clpi_check *check = v->check;
    clpi_arena *arena = &check->snapshot.arena;
    bool fails;
    v->judged = CLPI_NEW_N(arena, judged, (size_t)check->ir->n_operands + 1);
    if (!v->judged)
        return CLP_ERR_OOM;
    CLP_TRY(clpi_levels_new(check->ir, check->plan, clpi_n_terms(check), NULL, arena, &v->levels));
    CLP_TRY(clpi_orders_open(check, &v->orders));
    CLP_TRY(unsettle_made_of_races(v));
    CLP_TRY(clpi_kept_new(check, &v->expected));
    clpi_kept_take(check, &v->expected);
    CLP_TRY(run_schedules(v, &fails));
    if (fails && !(check->opts.checks & CLP_CHECK_ORDERS)) {
        CLP_TRY(clpi_check_orders(check));
        clpi_orders_forget(&v->orders);
        CLP_TRY(run_schedules(v, &fails));
    }
    if (fails && may_be_rounding(v)) {
        CLP_TRY(clpi_sway_new(check, &v->levels, &v->expected, &v->moves));
        CLP_TRY(run_schedules(v, &fails));
    }
    return report(v);
}

clp_status clpi_check_device(clpi_check *check)
{
    const clp_context *ctx = check->kernel->ctx;
    const clpi_bound *bound = check->snapshot.bound;
    verifier v = { .check = check };
    if ((ctx->backend == &clpi_interp_backend && check->device_ir == check->ir) || bound->n_sequences == 0 || bound->n_steps == 0)
        return CLP_OK;
    if (ctx->text_only)
        return clpi_report_fact(check->report, "the device: not compared: the context makes kernels for their text only");
    clp_status status = clpi_device_open(check, &v.device);
    if (!status)
        status = verify(&v);
    clpi_device_close(&v.device);
    return status;
}
