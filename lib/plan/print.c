/* print: the plan as text, and header values as expressions of the kernel language.
 * In: a plan. Out: a page to be read, never parsed: axes, dims, operands with what is known of their blocks.
 * Expressions are cut short where they nest or grow too far, as shared values can blow one up without limit.           */
#include <string.h>

#include "plan/bind.h"

enum { MAX_DEPTH = 60, MAX_BYTES = 400 };

/* How tightly an operator binds, as the grammar has it; 0: not an operator of two operands. On bool, & and | are logic. */
static int precedence(clpi_op_kind kind, bool is_bool)
{
    switch (kind) {
    case CLP_OP_or: return is_bool ? 1 : 4;
    case CLP_OP_and: return is_bool ? 2 : 6;
    case CLP_OP_eq:
    case CLP_OP_ne:
    case CLP_OP_lt:
    case CLP_OP_le:
    case CLP_OP_gt:
    case CLP_OP_ge: return 3;
    case CLP_OP_xor: return 5;
    case CLP_OP_shl:
    case CLP_OP_shr: return 7;
    case CLP_OP_add:
    case CLP_OP_sub: return 8;
    case CLP_OP_mul:
    case CLP_OP_divide:
    case CLP_OP_mod: return 9;
    default: return 0;
    }
}

enum { COMPARISON = 3, UNARY = 10 };

static const char *operator_of(clpi_op_kind kind, bool is_bool)
{
    if (is_bool && kind == CLP_OP_or)
        return "||";
    if (is_bool && kind == CLP_OP_and)
        return "&&";
    return is_bool && kind == CLP_OP_not ? "!" : clpi_ops[kind].text;
}

typedef struct printer { const clpi_ir *ir; clpi_str *s; size_t start; } printer;

static void expr(const printer *p, clp_val v, int outer, int depth);

static void list(const printer *p, const clp_val *args, uint32_t n, int depth)
{
    for (uint32_t i = 0; i < n; i++) {
        clpi_str_puts(p->s, i ? ", " : "");
        expr(p, args[i], 0, depth);
    }
}

static void constant(const printer *p, const clpi_op *op)
{
    clp_dtype dtype = p->ir->types.items[op->type].dtype;
    clpi_elem e = clpi_elem_from_bits(dtype, op->attr);
    if (dtype == CLP_BOOL)
        clpi_str_puts(p->s, e.u ? "true" : "false");
    else
        clpi_str_add(p->s, "%lld", (long long)e.i);
}

static void call(const printer *p, const clpi_op *op, int depth)
{
    const char *name = clpi_ops[op->kind].name;
    if (op->kind == CLP_OP_minimum || op->kind == CLP_OP_maximum)
        name = op->kind == CLP_OP_minimum ? "min" : "max"; /* of scalars they mean the same, and are what one writes */
    clpi_str_add(p->s, "%s(", name);
    list(p, clpi_args(p->ir, op), op->n_args, depth);
    if (op->kind == CLP_OP_cast)
        clpi_str_add(p->s, ", %s", clp_dtype_name(p->ir->types.items[op->type].dtype));
    clpi_str_puts(p->s, ")");
}

static void leaf(const printer *p, const clpi_op *op, int depth)
{
    switch (op->kind) {
    case CLP_OP_const: constant(p, op); break;
    case CLP_OP_dim: clpi_str_puts(p->s, p->ir->dims[op->attr]); break;
    case CLP_OP_program_id: clpi_str_puts(p->s, p->ir->axes[op->attr].name); break;
    case CLP_OP_num_programs: clpi_str_add(p->s, "num_programs(%s)", p->ir->axes[op->attr].name); break;
    default:
        clpi_str_puts(p->s, p->ir->operands[op->operand].name);
        if (op->n_args == 0)
            break;
        clpi_str_puts(p->s, "[");
        list(p, clpi_args(p->ir, op), op->n_args, depth + 1);
        clpi_str_puts(p->s, "]");
    }
}

static void expr(const printer *p, clp_val v, int outer, int depth)
{
    const clpi_op *op = clpi_op_at(p->ir, v);
    const clp_val *args = clpi_args(p->ir, op);
    bool is_bool = p->ir->types.items[op->type].dtype == CLP_BOOL;
    int own = precedence(op->kind, is_bool);
    clp_val cdiv[2];
    if (depth > MAX_DEPTH || p->s->n - p->start > MAX_BYTES) {
        clpi_str_puts(p->s, "...");
    } else if ((clpi_ops[op->kind].flags & CLP_LEAF) || op->kind == CLP_OP_load) {
        leaf(p, op, depth);
    } else if (clpi_is_cdiv(p->ir, op, cdiv)) {
        clpi_str_puts(p->s, "cdiv(");
        list(p, cdiv, 2, depth + 1);
        clpi_str_puts(p->s, ")");
    } else if (own > 0) {
        clpi_str_puts(p->s, own < outer ? "(" : "");
        expr(p, args[0], own == COMPARISON ? own + 1 : own, depth + 1);
        clpi_str_add(p->s, " %s ", operator_of(op->kind, is_bool));
        expr(p, args[1], own + 1, depth + 1);
        clpi_str_puts(p->s, own < outer ? ")" : "");
    } else if (clpi_ops[op->kind].text[0] && op->n_args == 1) {
        clpi_str_puts(p->s, operator_of(op->kind, is_bool));
        expr(p, args[0], UNARY, depth + 1);
    } else {
        call(p, op, depth + 1);
    }
}

void clpi_expr_print(const clpi_ir *ir, clp_val v, clpi_str *s)
{
    printer p = { ir, s, s->n };
    expr(&p, v, 0, 0);
}

/* ---- The page ---- */

static const char *const when_words[] = {
    [CLPI_WHEN_BUILD] = "fixed", [CLPI_WHEN_LAUNCH] = "known at launch", [CLPI_WHEN_PROGRAM] = "per program",
    [CLPI_WHEN_DATA] = "from prefetched data"
};

static const char *const role_words[] = {
    [CLP_IN] = "in", [CLP_OUT] = "out", [CLP_INOUT] = "inout", [CLP_PREFETCH] = "prefetch", [CLP_SCRATCH] = "scratch",
    [CLP_SCALAR] = "scalar"
};

static void print_grid(const clpi_plan *plan, clpi_str *s)
{
    const clpi_ir *ir = plan->ir;
    clpi_str_puts(s, "grid\n");
    for (int i = 0; i < ir->n_axes; i++) {
        clpi_str_add(s, "    %s = ", ir->axes[i].name);
        clpi_expr_print(ir, ir->axes[i].size, s);
        clpi_str_puts(s, ir->axes[i].is_arbitrary ? " arbitrary\n" : " parallel\n");
    }
    clpi_str_puts(s, "    sequence");
    for (int i = 0; i < plan->n_parallel; i++)
        clpi_str_add(s, "%s%s", i ? ", " : " (", ir->axes[plan->parallel[i]].name);
    clpi_str_puts(s, plan->n_parallel ? ")" : "");
    for (int i = 0; i < plan->n_arbitrary; i++)
        clpi_str_add(s, "%s%s", i ? ", " : " of steps (", ir->axes[plan->arbitrary[i]].name);
    clpi_str_puts(s, plan->n_arbitrary ? ")\n" : "\n");
}

static void print_dims(const clpi_plan *plan, clpi_str *s)
{
    const clpi_ir *ir = plan->ir;
    clpi_str_puts(s, ir->n_dims ? "dims\n" : "");
    for (int i = 0; i < ir->n_dims; i++) {
        const clpi_dim_bind *bind = &plan->dims[i];
        clpi_str_add(s, "    %s", ir->dims[i]);
        if (bind->operand < 0) {
            clpi_str_puts(s, " must be given\n");
            continue;
        }
        clpi_str_add(s, " from %s, dimension %d = ", ir->operands[bind->operand].name, bind->dim);
        clpi_expr_print(ir, ir->operands[bind->operand].shape[bind->dim], s);
        clpi_str_puts(s, "\n");
    }
}

static void print_block(const clpi_plan *plan, const clpi_operand *x, clpi_str *s)
{
    clpi_when when = CLPI_WHEN_BUILD;
    clpi_str_puts(s, " block [");
    for (int d = 0; d < x->rank; d++) {
        const clpi_block_dim *dim = &x->block[d];
        clpi_str_puts(s, d ? ", " : "");
        if (dim->kind == CLPI_BLOCK_PLAIN)
            clpi_str_add(s, "%lld", (long long)dim->n);
        else if (dim->kind == CLPI_BLOCK_SQUEEZED)
            clpi_str_puts(s, "_");
        else
            clpi_str_add(s, "element(%lld, pad = %lld)", (long long)dim->n, (long long)dim->pad_lo);
        if (plan->when[dim->index.id] > when)
            when = plan->when[dim->index.id];
    }
    clpi_str_puts(s, "] at (");
    for (int d = 0; d < x->rank; d++) {
        clpi_str_puts(s, d ? ", " : "");
        clpi_expr_print(plan->ir, x->block[d].index, s);
    }
    clpi_str_add(s, "), %s", when_words[when]);
}

static void print_operand(const clpi_plan *plan, int i, clpi_str *s)
{
    const clpi_ir *ir = plan->ir;
    const clpi_operand *x = &ir->operands[i];
    clpi_str_add(s, "    %s %s: %s", role_words[x->role], x->name, clp_dtype_name(x->dtype));
    if (x->role != CLP_SCALAR) {
        clpi_str_puts(s, "[");
        for (int d = 0; d < x->rank; d++) {
            clpi_str_puts(s, d ? ", " : "");
            clpi_expr_print(ir, x->shape[d], s);
        }
        clpi_str_puts(s, "]");
    }
    if (x->has_block)
        print_block(plan, x, s);
    if (plan->storage[i] != i)
        clpi_str_add(s, ", shares storage with %s", ir->operands[plan->storage[i]].name);
    clpi_str_puts(s, plan->is_written[i] ? ", written\n" : "\n");
}

void clpi_plan_print(const clpi_plan *plan, clpi_str *s)
{
    const clpi_ir *ir = plan->ir;
    clpi_str_add(s, "plan of %s\n", ir->name);
    print_grid(plan, s);
    print_dims(plan, s);
    clpi_str_puts(s, ir->n_operands ? "operands\n" : "");
    for (int i = 0; i < ir->n_operands; i++)
        print_operand(plan, i, s);
    clpi_str_puts(s, ir->n_requires ? "requires\n" : "");
    for (int i = 0; i < ir->n_requires; i++) {
        clpi_str_puts(s, "    ");
        clpi_expr_print(ir, ir->requires[i].condition, s);
        clpi_str_puts(s, "\n");
    }
}
