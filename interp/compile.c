/* compile: the body of a kernel as steps that the interpreter walks.
 * In: verified IR and its plan. Out: an exe: steps with their functions and the memory of every value.
 * Decides which values hold for a whole launch (constants, iotas and what is made of them alone: computed once), and what
 * each op's step is. Leaves true: a step behind another in its list needs nothing that comes later.
 *
 * Some ops make no step: reshape, arg and result only name the memory of another value, and so does a cast of f16 to f32. A region's carried
 * values live in cells, numbered behind the ops: cell k of a `for` is its index (k = 0) or its carried value k - 1, cell k
 * of the others their carried value k.                                                                                  */
#include <assert.h>

#include "interp/interp.h"

static const clpi_prepare_fn prepare_of[CLP_N_OPS] = {
#define CLP_EW(name, text, arity, types, flags, ...) [CLP_OP_##name] = clpi_prepare_ew,
#define CLP_OP(name, text, arity, rule, flags) [CLP_OP_##name] = clpi_prepare_##rule,
#include "ir/ops.def"
#undef CLP_EW
#undef CLP_OP
};

uint32_t clpi_interp_root(const clpi_compiler *c, clp_val v)
{
    return c->root[v.id];
}

static uint32_t n_cells(const clpi_op *op)
{
    switch (op->kind) {
    case CLP_OP_for: return op->n_args - 2 + 1;
    case CLP_OP_while:
    case CLP_OP_if: return op->n_args - 1;
    default: return 0;
    }
}

/* The result is held in the very bytes of the operand: a reshape, a float of 16 or 8 bits as f32, what a dot will turn. */
static bool is_renaming(const clpi_compiler *c, uint32_t i)
{
    const clpi_ir *ir = c->exe->ir;
    const clpi_op *op = &ir->ops.items[i];
    if (op->kind != CLP_OP_cast || ir->types.items[op->type].dtype != CLP_F32)
        return op->kind == CLP_OP_reshape || c->is_lazy[i];
    return clpi_rep(clpi_type_of(ir, clpi_args(ir, op)[0])->dtype) == CLP_F32;
}

/* A transpose that changes the last two axes only. */
static bool is_matrix_transpose(const clpi_ir *ir, const clpi_op *op)
{
    int rank = ir->types.items[op->type].rank;
    if (op->kind != CLP_OP_transpose || rank < 2)
        return false;
    for (int d = 0; d < rank; d++)
        if (clpi_perm_get(op->attr, d) != (d < rank - 2 ? d : d == rank - 1 ? rank - 2 : rank - 1))
            return false;
    return true;
}

static void find_lazy(clpi_compiler *c)
{
    const clpi_ir *ir = c->exe->ir;
    for (uint32_t i = ir->n_header; i < ir->ops.n; i++) {
        const clpi_op *op = &ir->ops.items[i];
        c->is_lazy[i] = is_matrix_transpose(ir, op);
        for (uint32_t k = 0; k < op->n_args && op->kind != CLP_OP_dot; k++)
            c->is_lazy[clpi_args(ir, op)[k].id] = false;
    }
}

/* Numbers the cells, and says of every value whose memory it is. */
static clp_status name_values(clpi_compiler *c)
{
    clpi_exe *exe = c->exe;
    const clpi_ir *ir = exe->ir;
    uint32_t n_ops = ir->ops.n, n = n_ops;
    for (uint32_t i = ir->n_header; i < n_ops; i++)
        n += n_cells(&ir->ops.items[i]);
    exe->n_vals = n;
    c->cell = CLPI_NEW_N(&exe->arena, uint32_t, n_ops + 1);
    c->root = CLPI_NEW_N(&exe->arena, uint32_t, n + 1);
    c->first = CLPI_NEW_N(&exe->arena, uint32_t, n + 1);
    c->last = CLPI_NEW_N(&exe->arena, uint32_t, n + 1);
    c->is_hoisted = CLPI_NEW_N(&exe->arena, bool, n + 1);
    c->is_lazy = CLPI_NEW_N(&exe->arena, bool, n + 1);
    exe->val_at = CLPI_NEW_N(&exe->arena, size_t, n + 1);
    if (exe->arena.failed)
        return CLP_ERR_OOM;

    exe->root = c->root;
    exe->is_lazy = c->is_lazy;
    find_lazy(c);
    uint32_t region[256], depth = 0;
    n = n_ops;
    for (uint32_t i = ir->n_header; i < n_ops; i++) {
        const clpi_op *op = &ir->ops.items[i];
        const clp_val *args = clpi_args(ir, op);
        while (depth && i >= ir->ops.items[region[depth - 1]].end)
            depth--;
        c->root[i] = i;
        if (clpi_ops[op->kind].flags & CLP_REGION) {
            assert(depth < 256);
            region[depth++] = i;
            c->cell[i] = n;
            for (uint32_t k = 0; k < n_cells(op); k++, n++) {
                c->root[n] = n;
                c->first[n] = i;
                c->last[n] = op->end - 1;
            }
        } else if (is_renaming(c, i)) {
            c->root[i] = c->root[args[0].id];
        } else if (op->kind == CLP_OP_arg) {
            c->root[i] = c->cell[region[depth - 1]] + (uint32_t)op->attr;
        } else if (op->kind == CLP_OP_result) {
            bool is_for = ir->ops.items[args[0].id].kind == CLP_OP_for;
            c->root[i] = c->cell[args[0].id] + (uint32_t)op->attr + (is_for ? 1 : 0);
        }
    }
    return CLP_OK;
}

/* Pure ops that cost little and whose operands hold for the launch hold for the launch too. */
static bool holds_for_launch(const clpi_compiler *c, const clpi_op *op)
{
    const clpi_ir *ir = c->exe->ir;
    const clp_val *args = clpi_args(ir, op);
    switch (op->kind) {
    case CLP_OP_const:
    case CLP_OP_iota:
    case CLP_OP_num_programs:
    case CLP_OP_dim: return true;
    case CLP_OP_load: return ir->operands[op->operand].role == CLP_SCALAR;
    case CLP_OP_cast:
    case CLP_OP_bitcast:
    case CLP_OP_reshape:
    case CLP_OP_transpose:
    case CLP_OP_broadcast: break;
    default:
        if (!clpi_ops[op->kind].is_elementwise)
            return false;
    }
    for (uint32_t i = 0; i < op->n_args; i++)
        if (!c->is_hoisted[args[i].id])
            return false;
    return true;
}

static bool makes_step(const clpi_compiler *c, uint32_t i)
{
    const clpi_op *op = &c->exe->ir->ops.items[i];
    return !is_renaming(c, i) && op->kind != CLP_OP_arg && op->kind != CLP_OP_result && op->kind != CLP_OP_yield;
}

static clp_status make_steps(clpi_compiler *c, uint32_t begin, uint32_t end);

/* The steps of a region op's regions, behind its own. */
static clp_status make_regions(clpi_compiler *c, uint32_t i, uint32_t i_step)
{
    clpi_exe *exe = c->exe;
    const clpi_op *op = &exe->ir->ops.items[i];
    bool is_if = op->kind == CLP_OP_if;
    CLP_TRY(make_steps(c, i + 1, is_if ? op->mid : op->end));
    uint32_t mid = exe->body.n;
    if (is_if)
        CLP_TRY(make_steps(c, op->mid, op->end));
    exe->body.items[i_step].end = exe->body.n;
    ((clpi_region *)exe->body.items[i_step].info)->mid = mid;
    return CLP_OK;
}

static clp_status make_steps(clpi_compiler *c, uint32_t begin, uint32_t end)
{
    clpi_exe *exe = c->exe;
    const clpi_ir *ir = exe->ir;
    for (uint32_t i = begin; i < end; i++) {
        const clpi_op *op = &ir->ops.items[i];
        const clp_val *args = clpi_args(ir, op);
        c->is_hoisted[i] = holds_for_launch(c, op);
        if (!makes_step(c, i))
            continue;
        clpi_eval_step step = { .op = i, .n = 1 };
        if (op->type) {
            step.out = c->root[i];
            step.n = clpi_type_elems(&ir->types.items[op->type]);
        }
        step.a = op->n_args > 0 ? c->root[args[0].id] : 0;
        step.b = op->n_args > 1 ? c->root[args[1].id] : 0;
        step.c = op->n_args > 2 ? c->root[args[2].id] : 0;
        CLP_TRY(prepare_of[op->kind](c, op, &step));
        assert(step.eval);
        if (c->is_hoisted[i]) {
            step.end = exe->hoisted.n + 1;
            if (!CLPI_PUSH(&exe->arena, &exe->hoisted, step))
                return CLP_ERR_OOM;
            continue;
        }
        step.end = exe->body.n + 1;
        if (!CLPI_PUSH(&exe->arena, &exe->body, step))
            return CLP_ERR_OOM;
        if (clpi_ops[op->kind].flags & CLP_REGION) {
            CLP_TRY(make_regions(c, i, exe->body.n - 1));
            i = op->end - 1;
        }
    }
    return CLP_OK;
}

/* Which operands have blocks, and where each scratch stands. */
static clp_status list_operands(clpi_exe *exe)
{
    const clpi_ir *ir = exe->ir;
    size_t n = (size_t)ir->n_operands + 1;
    exe->blocked = CLPI_NEW_N(&exe->arena, int, n);
    exe->scratch_at = CLPI_NEW_N(&exe->arena, size_t, n);
    if (exe->arena.failed)
        return CLP_ERR_OOM;
    for (int i = 0; i < ir->n_operands; i++) {
        const clpi_operand *x = &ir->operands[i];
        if (x->has_block)
            exe->blocked[exe->n_blocked++] = i;
        if (x->role != CLP_SCRATCH)
            continue;
        size_t elems = 1;
        for (int d = 0; d < x->ref_rank; d++)
            elems *= (size_t)x->ref_size[d];
        exe->scratch_at[i] = exe->scratch_bytes;
        exe->scratch_bytes += clpi_align((elems * (size_t)clp_dtype_bits(x->dtype) + 7) / 8);
    }
    return CLP_OK;
}

clp_status clpi_interp_compile(const clpi_host *host, const clpi_ir *ir, const clpi_plan *plan, clpi_exe **out_exe)
{
    *out_exe = NULL;
    clpi_exe *exe = clpi_alloc(host->env, 1, sizeof *exe);
    if (!exe)
        return CLP_ERR_OOM;
    exe->host = *host;
    exe->ir = ir;
    exe->plan = plan;
    clpi_arena_init(&exe->arena, host->env);

    clpi_compiler c = { .exe = exe };
    clp_status status = name_values(&c);
    if (!status) {
        clpi_interp_lifetimes(&c);
        status = list_operands(exe);
    }
    if (!status)
        status = make_steps(&c, ir->n_header, ir->ops.n);
    if (!status)
        status = clpi_interp_layout(&c);
    if (status) {
        clpi_interp_discard(exe);
        return status;
    }
    *out_exe = exe;
    return CLP_OK;
}

void clpi_interp_discard(clpi_exe *exe)
{
    clpi_env *env = exe->host.env;
    clpi_arena_done(&exe->arena);
    clpi_free(env, exe, 1, sizeof *exe);
}
