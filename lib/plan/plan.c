/* plan: the facts of a kernel that hold on every device and for all arrays.
 * In: verified IR. Out: the plan, in the arena of the kernel.
 * Decides which axes run in order, which array gives a dim its size, who shares storage with whom, what is written, and
 * when each value of the header can be known. Refuses what no launch could bind: sizes or conditions that change from
 * program to program.                                                                                                   */
#include <assert.h>

#include "plan/bind.h"

int clpi_array_number(const clpi_ir *ir, int operand)
{
    int n = 0;
    for (int i = 0; i < operand; i++)
        n += ir->operands[i].role != CLP_SCRATCH;
    return ir->operands[operand].role == CLP_SCRATCH ? -1 : n;
}

/* ---- Axes ---- */

static clp_status split_axes(clpi_plan *plan, clpi_arena *arena)
{
    const clpi_ir *ir = plan->ir;
    if (ir->n_axes > CLPI_MAX_AXES)
        return clpi_fail(arena->env, CLP_ERR_INVALID, "%s: the grid has %d axes, at most %d are possible", ir->name,
                         ir->n_axes, CLPI_MAX_AXES);
    plan->parallel = CLPI_NEW_N(arena, int, (size_t)ir->n_axes);
    plan->arbitrary = CLPI_NEW_N(arena, int, (size_t)ir->n_axes);
    if (!plan->parallel || !plan->arbitrary)
        return CLP_ERR_OOM;
    for (int i = 0; i < ir->n_axes; i++) {
        if (ir->axes[i].is_arbitrary)
            plan->arbitrary[plan->n_arbitrary++] = i;
        else
            plan->parallel[plan->n_parallel++] = i;
    }
    return CLP_OK;
}

/* ---- The header ---- */

static clpi_when when_of_op(const clpi_plan *plan, const clpi_op *op)
{
    const clpi_ir *ir = plan->ir;
    clpi_when when = CLPI_WHEN_BUILD;
    switch (op->kind) {
    case CLP_OP_dim:
    case CLP_OP_num_programs: return CLPI_WHEN_LAUNCH;
    case CLP_OP_program_id: return CLPI_WHEN_PROGRAM;
    case CLP_OP_load:
        if (ir->operands[op->operand].role == CLP_PREFETCH)
            return CLPI_WHEN_DATA;
        return CLPI_WHEN_LAUNCH;
    default: break;
    }
    for (uint32_t i = 0; i < op->n_args; i++) {
        clpi_when of_arg = plan->when[clpi_args(ir, op)[i].id];
        if (of_arg > when)
            when = of_arg;
    }
    return when;
}

/* A value that differs from program to program and is not just a program id has to be worked out in each program: it
 * gets a slot. What it needs lies between first_op and itself.                                                          */
static clp_status order_header(clpi_plan *plan, clpi_arena *arena)
{
    const clpi_ir *ir = plan->ir;
    plan->when = CLPI_NEW_N(arena, clpi_when, ir->n_header);
    plan->axes_read = CLPI_NEW_N(arena, uint32_t, ir->n_header);
    plan->slot = CLPI_NEW_N(arena, uint32_t, ir->n_header);
    plan->first_op = CLPI_NEW_N(arena, uint32_t, ir->n_header);
    if (!plan->when || !plan->axes_read || !plan->slot || !plan->first_op)
        return CLP_ERR_OOM;
    uint32_t n_slots = 0;
    for (uint32_t id = 1; id < ir->n_header; id++) {
        const clpi_op *op = &ir->ops.items[id];
        plan->when[id] = when_of_op(plan, op);
        plan->axes_read[id] = op->kind == CLP_OP_program_id ? UINT32_C(1) << op->attr : 0;
        plan->slot[id] = n_slots;
        plan->first_op[id] = id;
        for (uint32_t i = 0; i < op->n_args; i++) {
            uint32_t arg = clpi_args(ir, op)[i].id;
            plan->axes_read[id] |= plan->axes_read[arg];
            bool is_leaf = plan->when[arg] <= CLPI_WHEN_LAUNCH || ir->ops.items[arg].kind == CLP_OP_program_id;
            if (!is_leaf && plan->first_op[arg] < plan->first_op[id])
                plan->first_op[id] = plan->first_op[arg];
        }
        n_slots += plan->when[id] >= CLPI_WHEN_PROGRAM && op->kind != CLP_OP_program_id;
    }
    return CLP_OK;
}

static clp_status check_known_at_launch(const clpi_plan *plan, clp_val v, clpi_pos pos, const char *what, const char *name)
{
    if (plan->when[v.id] <= CLPI_WHEN_LAUNCH)
        return CLP_OK;
    const char *reads = plan->when[v.id] == CLPI_WHEN_DATA ? "prefetched data" : "a program id";
    if (!pos.line)
        return clpi_fail(plan->ir->env, CLP_ERR_INVALID, "%s: %s may not read %s", name, what, reads);
    return clpi_fail(plan->ir->env, CLP_ERR_INVALID, "%s:%u:%u: error: %s: %s may not read %s",
                     plan->ir->source ? plan->ir->source->file : plan->ir->name, pos.line, pos.column, name, what, reads);
}

/* Whether v reads the size of the grid, which sizes of the grid itself cannot. */
static bool reads_grid_size(const clpi_ir *ir, clp_val v, bool *reads)
{
    for (uint32_t id = 1; id <= v.id; id++) {
        const clpi_op *op = &ir->ops.items[id];
        reads[id] = op->kind == CLP_OP_num_programs;
        for (uint32_t i = 0; i < op->n_args; i++)
            reads[id] = reads[id] || reads[clpi_args(ir, op)[i].id];
    }
    return reads[v.id];
}

static clp_status check_axes(const clpi_plan *plan, clpi_arena *arena)
{
    const clpi_ir *ir = plan->ir;
    bool *reads = CLPI_NEW_N(arena, bool, ir->n_header);
    if (!reads)
        return CLP_ERR_OOM;
    for (int i = 0; i < ir->n_axes; i++) {
        const clpi_axis *axis = &ir->axes[i];
        CLP_TRY(check_known_at_launch(plan, axis->size, axis->pos, "the size of an axis", axis->name));
        if (reads_grid_size(ir, axis->size, reads))
            return clpi_fail(ir->env, CLP_ERR_INVALID, "%s: the size of an axis may not read num_programs", axis->name);
    }
    return CLP_OK;
}

static clp_status check_header(const clpi_plan *plan, clpi_arena *arena)
{
    const clpi_ir *ir = plan->ir;
    CLP_TRY(check_axes(plan, arena));
    for (int i = 0; i < ir->n_requires; i++)
        CLP_TRY(check_known_at_launch(plan, ir->requires[i].condition, ir->requires[i].pos, "`require`", ir->name));
    for (int i = 0; i < ir->n_operands; i++) {
        const clpi_operand *x = &ir->operands[i];
        for (int d = 0; d < x->rank; d++)
            CLP_TRY(check_known_at_launch(plan, x->shape[d], x->pos, "the shape", x->name));
        for (int d = 0; x->has_block && d < x->rank; d++) {
            uint32_t id = x->block[d].index.id;
            if (plan->slot[id] - plan->slot[plan->first_op[id]] >= CLPI_MAX_MAP_OPS)
                return clpi_fail(ir->env, CLP_ERR_INVALID, "%s: the index map needs more than %d operations", x->name,
                                 CLPI_MAX_MAP_OPS);
        }
    }
    return CLP_OK;
}

/* ---- Dims ---- */

/* Walks from the outside in: at each step the whole is mul * v + add. */
bool clpi_dim_form(const clpi_ir *ir, clp_val v, int *out_dim, int64_t *out_mul, int64_t *out_add)
{
    int64_t mul = 1, add = 0, c, part;
    for (;;) {
        const clpi_op *op = clpi_op_at(ir, v);
        const clp_val *args = clpi_args(ir, op);
        bool is_left = op->n_args == 2 && clpi_const_int(ir, args[0], &c);
        bool is_right = op->n_args == 2 && !is_left && clpi_const_int(ir, args[1], &c);
        if (op->kind == CLP_OP_dim) {
            *out_dim = (int)op->attr;
            *out_mul = mul;
            *out_add = add;
            return mul != 0;
        }
        bool negates = (op->kind == CLP_OP_sub && is_left) || op->kind == CLP_OP_neg;
        bool subtracts = op->kind == CLP_OP_sub && is_right;
        if (op->kind == CLP_OP_mul && (is_left || is_right)) {
            if (__builtin_mul_overflow(mul, c, &mul))
                return false;
        } else if ((op->kind == CLP_OP_add || op->kind == CLP_OP_sub) && (is_left || is_right)) {
            if (__builtin_mul_overflow(mul, c, &part) ||
                (subtracts ? __builtin_sub_overflow(add, part, &add) : __builtin_add_overflow(add, part, &add)))
                return false;
        } else if (op->kind != CLP_OP_neg) {
            return false;
        }
        if (negates && __builtin_sub_overflow((int64_t)0, mul, &mul))
            return false;
        v = is_left ? args[1] : args[0];
    }
}

bool clpi_dim_solve(int64_t size, int64_t mul, int64_t add, int64_t *out_n)
{
    int64_t rest;
    *out_n = 0;
    if (__builtin_sub_overflow(size, add, &rest) || (mul == -1 && rest == INT64_MIN) || rest % mul != 0 || rest / mul < 0)
        return false;
    *out_n = rest / mul;
    return true;
}

void clpi_dim_message(const clpi_ir *ir, int operand, int d, int dim, int64_t size, clpi_str *s)
{
    const clpi_operand *x = &ir->operands[operand];
    clpi_str_add(s, "%s: dimension %d is ", x->name, d);
    clpi_expr_print(ir, x->shape[d], s);
    clpi_str_add(s, ": no %s gives %lld", ir->dims[dim], (long long)size);
}

static void bind_dims_shown(clpi_plan *plan, bool alone)
{
    const clpi_ir *ir = plan->ir;
    for (int i = 0; i < ir->n_operands; i++) {
        const clpi_operand *x = &ir->operands[i];
        for (int d = 0; x->role != CLP_SCRATCH && d < x->rank; d++) {
            int dim;
            int64_t mul, add;
            if (!clpi_dim_form(ir, x->shape[d], &dim, &mul, &add) || plan->dims[dim].operand >= 0)
                continue;
            if (!alone || (mul == 1 && add == 0))
                plan->dims[dim] = (clpi_dim_bind){ i, d, mul, add };
        }
    }
}

static clp_status bind_dims(clpi_plan *plan, clpi_arena *arena)
{
    plan->dims = CLPI_NEW_N(arena, clpi_dim_bind, (size_t)plan->ir->n_dims);
    if (!plan->dims)
        return CLP_ERR_OOM;
    for (int i = 0; i < plan->ir->n_dims; i++)
        plan->dims[i] = (clpi_dim_bind){ .operand = -1, .dim = -1, .mul = 1 };
    bind_dims_shown(plan, true);
    bind_dims_shown(plan, false);
    return CLP_OK;
}

/* ---- Storage ---- */

static clp_status find_storage(clpi_plan *plan, clpi_arena *arena)
{
    const clpi_ir *ir = plan->ir;
    plan->storage = CLPI_NEW_N(arena, int, (size_t)ir->n_operands);
    plan->is_written = CLPI_NEW_N(arena, bool, (size_t)ir->n_operands);
    if (!plan->storage || !plan->is_written)
        return CLP_ERR_OOM;
    for (int i = 0; i < ir->n_operands; i++)
        plan->storage[i] = i;
    for (int i = 0; i < ir->n_operands; i++) {
        if (ir->operands[i].alias < 0)
            continue;
        int a = plan->storage[i], b = plan->storage[ir->operands[i].alias];
        for (int k = 0; k < ir->n_operands; k++)
            if (plan->storage[k] == a || plan->storage[k] == b)
                plan->storage[k] = a < b ? a : b;
    }
    for (uint32_t id = ir->n_header; id < ir->ops.n; id++) {
        const clpi_op *op = &ir->ops.items[id];
        if (op->operand >= 0 && (clpi_ops[op->kind].flags & CLP_WRITE))
            plan->is_written[plan->storage[op->operand]] = true;
    }
    for (int i = 0; i < ir->n_operands; i++)
        plan->is_written[i] = plan->is_written[plan->storage[i]];
    return CLP_OK;
}

clp_status clpi_plan_new(const clpi_ir *ir, clpi_arena *arena, clpi_plan **out_plan)
{
    *out_plan = NULL;
    clpi_plan *plan = CLPI_NEW(arena, clpi_plan);
    if (!plan)
        return CLP_ERR_OOM;
    plan->ir = ir;
    CLP_TRY(split_axes(plan, arena));
    CLP_TRY(order_header(plan, arena));
    CLP_TRY(check_header(plan, arena));
    CLP_TRY(bind_dims(plan, arena));
    CLP_TRY(find_storage(plan, arena));
    CLP_TRY(clpi_memo_new(plan, arena, &plan->memo));
    *out_plan = plan;
    return CLP_OK;
}

void clpi_plan_done(clpi_plan *plan)
{
    if (plan)
        clpi_memo_done(plan->memo);
}

bool clpi_block_reads_data(const clpi_plan *plan, int operand)
{
    const clpi_operand *x = &plan->ir->operands[operand];
    for (int d = 0; x->has_block && d < x->rank; d++)
        if (plan->when[x->block[d].index.id] == CLPI_WHEN_DATA)
            return true;
    return false;
}
