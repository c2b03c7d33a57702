/* equal: whether two kernels are the same kernel.
 * In: two verified IRs. Out: yes, or the first difference. Names and positions are free; operands, dims, axes and strings
 * are told apart by their number. Header values are compared as expressions, since they are used as such: how often a part
 * of one is written down does not count. Ops of the body are compared one by one.                                      */
#include <string.h>

#include "ir/ir.h"

typedef struct pair {
    const clpi_ir *a, *b;
    uint32_t      *known;      /* [a->n_header] the value of b that each header value of a was found equal to; 0: none yet */
    clpi_str      *why;
} pair;

static bool differ(const pair *p, const char *format, ...) CLP_PRINTF(2, 3);
static bool differ(const pair *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    clpi_str_add_v(p->why, format, args);
    va_end(args);
    return false;
}

static bool same_subs(const pair *p, const clpi_op *x, const clpi_op *y)
{
    for (uint32_t i = 0; i < x->n_subs; i++) {
        const clpi_sub *s = &clpi_subs(p->a, x)[i], *t = &clpi_subs(p->b, y)[i];
        if (s->kind != t->kind || (s->kind == CLPI_SUB_RANGE && (s->size != t->size || s->stride != t->stride)))
            return false;
    }
    return true;
}

/* All of two ops but their operands and what is numbered in each kernel by itself. */
static bool same_kind(const pair *p, const clpi_op *x, const clpi_op *y)
{
    bool has_string = x->kind == CLP_OP_print || x->kind == CLP_OP_assert;
    if (x->kind != y->kind || x->n_args != y->n_args || x->n_subs != y->n_subs || x->operand != y->operand ||
        x->has_other != y->has_other || x->has_mask != y->has_mask || (!has_string && x->attr != y->attr))
        return false;
    if (has_string && strcmp(p->a->strings.items[x->attr], p->b->strings.items[y->attr]) != 0)
        return false;
    return clpi_type_eq(&p->a->types.items[x->type], &p->b->types.items[y->type]) && same_subs(p, x, y);
}

/* ---- Header ---- */

static bool same_expr(const pair *p, clp_val a, clp_val b)
{
    if (p->known[a.id] == b.id)
        return true;
    const clpi_op *x = clpi_op_at(p->a, a), *y = clpi_op_at(p->b, b);
    if (!same_kind(p, x, y))
        return false;
    for (uint32_t i = 0; i < x->n_args; i++)
        if (!same_expr(p, clpi_args(p->a, x)[i], clpi_args(p->b, y)[i]))
            return false;
    p->known[a.id] = b.id;
    return true;
}

static bool same_block(const pair *p, const clpi_operand *x, const clpi_operand *y)
{
    for (int i = 0; x->has_block && i < x->rank; i++) {
        const clpi_block_dim *s = &x->block[i], *t = &y->block[i];
        if (s->kind != t->kind || s->n != t->n || s->pad_lo != t->pad_lo || !same_expr(p, s->index, t->index))
            return differ(p, "%s: dimension %d of the block differs", x->name, i);
    }
    return true;
}

static bool same_operand(const pair *p, int k)
{
    const clpi_operand *x = &p->a->operands[k], *y = &p->b->operands[k];
    if (x->role != y->role || x->dtype != y->dtype || x->rank != y->rank || x->has_block != y->has_block)
        return differ(p, "%s: role, dtype, rank or block differs", x->name);
    if (x->has_pad != y->has_pad || (x->has_pad && x->pad_bits != y->pad_bits) || x->alias != y->alias)
        return differ(p, "%s: pad or alias differs", x->name);
    for (int i = 0; i < x->rank; i++)
        if (!same_expr(p, x->shape[i], y->shape[i]))
            return differ(p, "%s: dimension %d of the shape differs", x->name, i);
    return same_block(p, x, y);
}

static bool same_frame(const pair *p)
{
    const clpi_ir *a = p->a, *b = p->b;
    if (a->math_fast != b->math_fast)
        return differ(p, "one is math fast");
    if (a->n_operands != b->n_operands || a->n_axes != b->n_axes || a->n_dims != b->n_dims || a->n_requires != b->n_requires)
        return differ(p, "%d operands, %d axes, %d dims, %d conditions against %d, %d, %d, %d", a->n_operands, a->n_axes, a->n_dims,
                      a->n_requires, b->n_operands, b->n_axes, b->n_dims, b->n_requires);
    for (int k = 0; k < a->n_operands; k++)
        if (!same_operand(p, k))
            return false;
    for (int k = 0; k < a->n_axes; k++)
        if (a->axes[k].is_arbitrary != b->axes[k].is_arbitrary || !same_expr(p, a->axes[k].size, b->axes[k].size))
            return differ(p, "axis %s differs", a->axes[k].name);
    for (int k = 0; k < a->n_requires; k++)
        if (!same_expr(p, a->requires[k].condition, b->requires[k].condition))
            return differ(p, "condition %d differs", k);
    return true;
}

/* ---- Body ---- */

static bool same_body(const pair *p)
{
    const clpi_ir *a = p->a, *b = p->b;
    uint32_t n = a->ops.n - a->n_header;
    if (n != b->ops.n - b->n_header)
        return differ(p, "%u ops against %u", n, b->ops.n - b->n_header);
    for (uint32_t i = 0; i < n; i++) {
        const clpi_op *x = &a->ops.items[a->n_header + i], *y = &b->ops.items[b->n_header + i];
        if (!same_kind(p, x, y))
            return differ(p, "op %u of the body: `%s` against `%s`, or its type or attributes", i, clpi_ops[x->kind].name,
                          clpi_ops[y->kind].name);
        for (uint32_t k = 0; k < x->n_args; k++)
            if (clpi_args(a, x)[k].id - a->n_header != clpi_args(b, y)[k].id - b->n_header)
                return differ(p, "op %u of the body (%s): operand %u differs", i, clpi_ops[x->kind].name, k);
        bool is_region = clpi_ops[x->kind].flags & CLP_REGION;
        if (is_region && (x->mid - a->n_header != y->mid - b->n_header || x->end - a->n_header != y->end - b->n_header))
            return differ(p, "op %u of the body (%s): the region ends elsewhere", i, clpi_ops[x->kind].name);
    }
    return true;
}

bool clpi_ir_equal(const clpi_ir *a, const clpi_ir *b, clpi_str *why)
{
    pair p = { .a = a, .b = b, .why = why };
    clpi_arena arena;
    clpi_arena_init(&arena, a->env);
    p.known = CLPI_NEW_N(&arena, uint32_t, a->n_header);
    bool is_equal = p.known ? same_frame(&p) && same_body(&p) : differ(&p, "out of memory");
    clpi_arena_done(&arena);
    return is_equal;
}
