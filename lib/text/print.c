/* print: IR as text of the kernel language, one op a line.
 * In: verified IR. Out: a kernel without parameters and functions. Reading it gives the same IR back, and printing that
 * the same text. Decides names and layout; what stands right of a `=` is print_op.c's.
 *
 * Each value that a region carries is a `var`, which names the region's args and results as well:
 *
 *     var v3 = 0.0f32;  // f32             the initial value
 *     for (v4 in 0i32 .. 8i32) {
 *         let v5 = v3 + v1;  // f32        v3: what comes into this iteration
 *         v3 = v5;                         the yield
 *     }
 *     o[...] = v3;                         v3: the result                                                               */
#include "text/print.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text/literal.h"

static void print_ops(clpi_printer *p, uint32_t begin, uint32_t end);

/* ---- Names and lines ---- */

/* One of the kernel's own names reads v<number>. */
static bool is_taken(const clpi_ir *ir, uint32_t number)
{
    char text[16];
    snprintf(text, sizeof text, "v%" PRIu32, number);
    bool taken = false;
    for (int i = 0; i < ir->n_operands; i++)
        taken |= !strcmp(ir->operands[i].name, text);
    for (int i = 0; i < ir->n_axes; i++)
        taken |= !strcmp(ir->axes[i].name, text);
    for (int i = 0; i < ir->n_dims; i++)
        taken |= !strcmp(ir->dims[i], text);
    return taken;
}

static uint32_t next_number(clpi_printer *p)
{
    do
        p->n_named++;
    while (is_taken(p->ir, p->n_named));
    return p->n_named;
}

static void begin_line(clpi_printer *p)
{
    for (int i = 0; i < p->depth; i++)
        clpi_str_puts(p->s, "    ");
}

static void end_line(clpi_printer *p, const clpi_type *type)
{
    clpi_str_puts(p->s, ";");
    if (type && type->dtype != CLP_DTYPE_NONE) {
        clpi_str_puts(p->s, "  // ");
        clpi_type_print(p->s, type);
    }
    clpi_str_puts(p->s, "\n");
}

/* "let v7 = v;" or "var v7 = v;" */
static void print_copy(clpi_printer *p, const char *word, uint32_t number, clp_val v)
{
    begin_line(p);
    clpi_str_add(p->s, "%s v%" PRIu32 " = ", word, number);
    clpi_print_value(p, v);
    end_line(p, clpi_type_of(p->ir, v));
}

static void print_assignment(clpi_printer *p, uint32_t number, clp_val v)
{
    begin_line(p);
    clpi_str_add(p->s, "v%" PRIu32 " = ", number);
    clpi_print_value(p, v);
    end_line(p, NULL);
}

/* Makes a constant a `var`, which the language does not look into. false: v has a name already, or is no constant. */
static bool hide_constant(clpi_printer *p, clp_val v)
{
    if (clpi_op_at(p->ir, v)->kind != CLP_OP_const || p->name[v.id])
        return false;
    uint32_t number = next_number(p);
    print_copy(p, "var", number, v);
    p->name[v.id] = number;
    return true;
}

/* ---- Regions ---- */

/* A `var` for each carried value; the results of the region take its name at once. */
static void declare_carried(clpi_printer *p, const clpi_op *region, const clp_val *inits, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        assert(p->ir->ops.items[region->end + k].kind == CLP_OP_result);
        uint32_t number = next_number(p);
        print_copy(p, "var", number, inits[k]);
        p->name[region->end + k] = number;
    }
}

/* The assignments that make a loop's yield. They stand for one simultaneous assignment: an arg that is yielded in a later
 * place than its own has lost its name by then, and takes another one first.                                          */
static void assign_carried(clpi_printer *p, const clpi_op *region, const clp_val *nexts, uint32_t n)
{
    const uint32_t *names = &p->name[region->end];
    for (uint32_t k = 0; k < n; k++) {
        uint32_t *of_next = &p->name[nexts[k].id];
        for (uint32_t j = 0; j < k; j++) {
            if (*of_next == names[j] && nexts[j].id != nexts[k].id) {
                uint32_t number = next_number(p);
                print_copy(p, "let", number, nexts[k]);
                *of_next = number;
                break;
            }
        }
    }
    for (uint32_t k = 0; k < n; k++)
        print_assignment(p, names[k], nexts[k]);
}

/* The ops between the args and the yield of a loop, and its assignments. */
static void print_loop_body(clpi_printer *p, const clpi_op *region, uint32_t begin, uint32_t n_carried)
{
    const clpi_op *yield = &p->ir->ops.items[region->end - 1];
    assert(yield->kind == CLP_OP_yield && yield->n_args >= n_carried);
    const clp_val *nexts = clpi_args(p->ir, yield) + (yield->n_args - n_carried);
    p->depth++;
    print_ops(p, begin, region->end - 1);
    assign_carried(p, region, nexts, n_carried);
    p->depth--;
}

static void name_args(clpi_printer *p, const clpi_op *region, uint32_t first, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        assert(p->ir->ops.items[first + k].kind == CLP_OP_arg);
        p->name[first + k] = p->name[region->end + k];
    }
}

static void print_for(clpi_printer *p, uint32_t at)
{
    const clpi_op *op = &p->ir->ops.items[at];
    const clp_val *args = clpi_args(p->ir, op);
    uint32_t n_carried = op->n_args - 2;
    declare_carried(p, op, args + 2, n_carried);
    p->name[at + 1] = next_number(p);
    name_args(p, op, at + 2, n_carried);

    begin_line(p);
    clpi_str_add(p->s, "for (v%" PRIu32 " in ", p->name[at + 1]);
    clpi_print_value(p, args[0]);
    clpi_str_puts(p->s, " .. ");
    clpi_print_value(p, args[1]);
    if ((int64_t)op->attr != 1)
        clpi_str_add(p->s, " step %" PRId64, (int64_t)op->attr);
    clpi_str_puts(p->s, ") {\n");
    print_loop_body(p, op, at + 2 + n_carried, n_carried);
    begin_line(p);
    clpi_str_puts(p->s, "}\n");
}

/* The condition is a `var` of its own, read only by the `while`. */
static void print_while(clpi_printer *p, uint32_t at)
{
    const clpi_op *op = &p->ir->ops.items[at];
    const clp_val *args = clpi_args(p->ir, op);
    uint32_t n_carried = op->n_args - 1, condition = next_number(p);
    print_copy(p, "var", condition, args[0]);
    declare_carried(p, op, args + 1, n_carried);
    name_args(p, op, at + 1, n_carried);

    begin_line(p);
    clpi_str_add(p->s, "while (v%" PRIu32 ") {\n", condition);
    const clpi_op *yield = &p->ir->ops.items[op->end - 1];
    p->depth++;
    print_ops(p, at + 1 + n_carried, op->end - 1);
    print_assignment(p, condition, clpi_args(p->ir, yield)[0]);
    assign_carried(p, op, clpi_args(p->ir, yield) + 1, n_carried);
    p->depth--;
    begin_line(p);
    clpi_str_puts(p->s, "}\n");
}

/* The yield at the end of an arm. What an arm leaves as it was needs no assignment, as long as the other arm has one. */
static bool assign_arm(clpi_printer *p, const clpi_op *region, uint32_t at_yield, uint32_t at_other)
{
    const clp_val *inits = clpi_args(p->ir, region) + 1;
    const clp_val *values = clpi_args(p->ir, &p->ir->ops.items[at_yield]);
    const clp_val *others = at_other ? clpi_args(p->ir, &p->ir->ops.items[at_other]) : NULL;
    bool any = false;
    for (uint32_t k = 0; k + 1 < region->n_args; k++) {
        if (values[k].id == inits[k].id && !(others && others[k].id == inits[k].id))
            continue;
        print_assignment(p, p->name[region->end + k], values[k]);
        any = true;
    }
    return any;
}

static void print_if(clpi_printer *p, uint32_t at)
{
    const clpi_op *op = &p->ir->ops.items[at];
    clp_val condition = clpi_args(p->ir, op)[0];
    uint32_t at_then = op->mid - 1, at_else = op->end - 1;
    bool is_hidden = hide_constant(p, condition);
    declare_carried(p, op, clpi_args(p->ir, op) + 1, op->n_args - 1);

    begin_line(p);
    clpi_str_puts(p->s, "if (");
    clpi_print_value(p, condition);
    clpi_str_puts(p->s, ") {\n");
    if (is_hidden)
        p->name[condition.id] = 0;
    p->depth++;
    print_ops(p, at + 1, at_then);
    assign_arm(p, op, at_then, at_else);
    p->depth--;
    begin_line(p);
    clpi_str_puts(p->s, "}");

    size_t without = p->s->n;
    clpi_str_puts(p->s, " else {\n");
    size_t empty = p->s->n;
    p->depth++;
    print_ops(p, op->mid, at_else);
    assign_arm(p, op, at_else, 0);
    p->depth--;
    if (p->s->n == empty) {
        clpi_str_cut(p->s, without);
    } else {
        begin_line(p);
        clpi_str_puts(p->s, "}");
    }
    clpi_str_puts(p->s, "\n");
}

/* ---- Statements ---- */

/* Constants of an op that would mean something else, or nothing, where they are written: all of an op that would be
 * computed on reading, and subscripts out of range.                                                                     */
static void hide_constants(clpi_printer *p, const clpi_op *op)
{
    const clp_val *args = clpi_args(p->ir, op);
    bool is_computed = clpi_ops[op->kind].is_elementwise || op->kind == CLP_OP_cast || op->kind == CLP_OP_bitcast;
    for (uint32_t i = 0; i < op->n_args; i++)
        is_computed &= clpi_op_at(p->ir, args[i])->kind == CLP_OP_const;
    uint32_t first_sub = op->kind == CLP_OP_index ? 1 : 0;
    for (uint32_t i = 0; i < op->n_args; i++) {
        bool is_sub = i >= first_sub && i < first_sub + op->n_subs;
        if (is_computed || (is_sub && clpi_sub_is_outside(p->ir, op, i - first_sub)))
            hide_constant(p, args[i]);
    }
}

static void show_constants(clpi_printer *p, const clpi_op *op)
{
    for (uint32_t i = 0; i < op->n_args; i++)
        if (clpi_op_at(p->ir, clpi_args(p->ir, op)[i])->kind == CLP_OP_const)
            p->name[clpi_args(p->ir, op)[i].id] = 0;
}

/* `x[...] = v` or, with a mask, a call. */
static void print_store(clpi_printer *p, const clpi_op *op)
{
    hide_constants(p, op);
    begin_line(p);
    if (op->has_mask)
        clpi_str_puts(p->s, "store(");
    clpi_print_place(p, op);
    clpi_str_puts(p->s, op->has_mask ? ", " : " = ");
    clpi_print_value(p, clpi_op_value(p->ir, op, 0));
    if (op->has_mask) {
        clpi_str_puts(p->s, ", mask = ");
        clpi_print_value(p, clpi_op_mask(p->ir, op));
        clpi_str_puts(p->s, ")");
    }
    end_line(p, NULL);
    show_constants(p, op);
}

static void print_talk(clpi_printer *p, const clpi_op *op)
{
    const char *text = p->ir->strings.items[op->attr];
    const clp_val *args = clpi_args(p->ir, op);
    begin_line(p);
    clpi_str_add(p->s, "%s(", clpi_ops[op->kind].name);
    if (op->kind == CLP_OP_print)
        clpi_string_print(p->s, text);
    for (uint32_t i = 0; i < op->n_args; i++) {
        if (i || op->kind == CLP_OP_print)
            clpi_str_puts(p->s, ", ");
        clpi_print_value(p, args[i]);
    }
    if (op->kind == CLP_OP_assert) {
        clpi_str_puts(p->s, ", ");
        clpi_string_print(p->s, text);
    }
    clpi_str_puts(p->s, ")");
    end_line(p, NULL);
}

static void print_let(clpi_printer *p, uint32_t at)
{
    const clpi_op *op = &p->ir->ops.items[at];
    hide_constants(p, op);
    uint32_t number = next_number(p);
    begin_line(p);
    clpi_str_add(p->s, "let v%" PRIu32 " = ", number);
    clpi_print_op(p, op);
    end_line(p, &p->ir->types.items[op->type]);
    show_constants(p, op);
    p->name[at] = number;
}

static void print_ops(clpi_printer *p, uint32_t begin, uint32_t end)
{
    for (uint32_t at = begin; at < end; at++) {
        const clpi_op *op = &p->ir->ops.items[at];
        const size_t from = p->s->n;
        const bool is_wanted = at == p->wanted;
        switch (op->kind) {
        case CLP_OP_const:
        case CLP_OP_result: break;                             /* named with their region; written where used */
        case CLP_OP_for: print_for(p, at); at = op->end - 1; break;
        case CLP_OP_while: print_while(p, at); at = op->end - 1; break;
        case CLP_OP_if: print_if(p, at); at = op->end - 1; break;
        case CLP_OP_store: print_store(p, op); break;
        case CLP_OP_print:
        case CLP_OP_assert: print_talk(p, op); break;
        default: print_let(p, at);
        }
        if (is_wanted) {
            p->from = from;
            p->to = p->s->n;
        }
    }
}

/* ---- Declarations ---- */

static const char *role_word(clp_role role)
{
    switch (role) {
    case CLP_IN: return "in";
    case CLP_OUT: return "out";
    case CLP_INOUT: return "inout";
    case CLP_PREFETCH: return "prefetch";
    case CLP_SCRATCH: return "scratch";
    case CLP_SCALAR: return "scalar";
    }
    return "in";
}

static void print_block(clpi_printer *p, const clpi_operand *x)
{
    clpi_str_puts(p->s, " block [");
    for (int i = 0; i < x->rank; i++) {
        const clpi_block_dim *d = &x->block[i];
        clpi_str_puts(p->s, i ? ", " : "");
        if (d->kind == CLPI_BLOCK_SQUEEZED)
            clpi_str_puts(p->s, "_");
        else if (d->kind == CLPI_BLOCK_PLAIN)
            clpi_str_add(p->s, "%" PRId64, d->n);
        else if (d->pad_lo == 0)
            clpi_str_add(p->s, "element(%" PRId64 ")", d->n);
        else
            clpi_str_add(p->s, "element(%" PRId64 ", pad = %" PRId64 ")", d->n, d->pad_lo);
    }
    clpi_str_puts(p->s, "] at (");
    for (int i = 0; i < x->rank; i++) {
        clpi_str_puts(p->s, i ? ", " : "");
        clpi_print_header(p, x->block[i].index);
    }
    clpi_str_puts(p->s, ")");
}

static void print_operand(clpi_printer *p, const clpi_operand *x)
{
    clpi_str_add(p->s, "    %s %s: %s", role_word(x->role), x->name, clp_dtype_name(x->dtype));
    if (x->role == CLP_SCALAR)
        return;
    clpi_str_puts(p->s, "[");
    for (int i = 0; i < x->rank; i++) {
        clpi_str_puts(p->s, i ? ", " : "");
        clpi_print_header(p, x->shape[i]);
    }
    clpi_str_puts(p->s, "]");
    if (x->has_block)
        print_block(p, x);
    if (x->has_pad) {
        clpi_str_puts(p->s, " pad ");
        clpi_literal_print(p->s, x->dtype, x->pad_bits, false);
    }
    if (x->alias >= 0)
        clpi_str_add(p->s, " alias %s", p->ir->operands[x->alias].name);
}

static void print_declarations(clpi_printer *p)
{
    const clpi_ir *ir = p->ir;
    clpi_str_add(p->s, "kernel %s(\n", ir->name);
    for (int i = 0; i < ir->n_operands; i++) {
        print_operand(p, &ir->operands[i]);
        clpi_str_puts(p->s, i + 1 < ir->n_operands ? ",\n" : ")\n");
    }
    clpi_str_puts(p->s, "grid (");
    for (int i = 0; i < ir->n_axes; i++) {
        clpi_str_add(p->s, "%s%s = ", i ? ", " : "", ir->axes[i].name);
        clpi_print_header(p, ir->axes[i].size);
        clpi_str_puts(p->s, ir->axes[i].is_arbitrary ? " arbitrary" : "");
    }
    clpi_str_puts(p->s, ")\n");
    for (int i = 0; i < ir->n_requires; i++) {
        clpi_str_puts(p->s, i ? ", " : "require ");
        clpi_print_header(p, ir->requires[i].condition);
        clpi_str_puts(p->s, i + 1 < ir->n_requires ? "" : "\n");
    }
    if (ir->math_fast)
        clpi_str_puts(p->s, "math fast\n");
}

/* The whole kernel; p says where the wanted op stands in it. */
static void print_kernel(clpi_printer *p)
{
    const clpi_ir *ir = p->ir;
    p->name = clpi_alloc(p->s->env, ir->ops.n, sizeof *p->name);
    if (!p->name) {
        p->s->failed = true;
        return;
    }
    print_declarations(p);
    clpi_str_puts(p->s, "{\n");
    print_ops(p, ir->n_header, ir->ops.n);
    clpi_str_puts(p->s, "}\n");
    clpi_free(p->s->env, p->name, ir->ops.n, sizeof *p->name);
}

void clpi_ir_print(const clpi_ir *ir, clpi_str *s)
{
    clpi_printer p = { .ir = ir, .s = s, .depth = 1 };
    print_kernel(&p);
}

void clpi_op_print(const clpi_ir *ir, uint32_t op, clpi_str *s)
{
    clpi_str all;
    clpi_str_init(&all, s->env);
    clpi_printer p = { .ir = ir, .s = &all, .depth = 1, .wanted = op };
    print_kernel(&p);
    while (p.from < p.to && all.text[p.from] == ' ')
        p.from++;
    if (p.from < p.to)                        /* without its newline */
        clpi_str_put(s, all.text + p.from, p.to - 1 - p.from);
    s->failed |= all.failed;
    clpi_str_done(&all);
}
