/* ir_equal: whether two kernels are the same kernel.
 * In: two verified IRs. Out: yes, or the first difference. Names and positions are free; operands, dims, axes and strings
 * are told apart by their number. Header values are compared as expressions, since they are used as such: how often a part
 * of one is written down does not count. Ops of the body are compared one by one, but for constants, which are what they
 * are wherever they stand; NaNs are equal.                                                                              */
#include <math.h>
#include <string.h>

#include "support/ir_equal.h"

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

/* Stored bits of one element: the same element. */
static bool same_bits(clp_dtype d, uint64_t x, uint64_t y)
{
    if (x == y || !clpi_is_float(d))
        return x == y;
    clpi_elem e = clpi_elem_from_bits(d, x), f = clpi_elem_from_bits(d, y);
    return d == CLP_F64 ? isnan(e.d) && isnan(f.d) : isnan(e.f) && isnan(f.f);
}

static bool same_attr(const pair *p, const clpi_op *x, const clpi_op *y)
{
    if (x->kind == CLP_OP_print || x->kind == CLP_OP_assert)
        return strcmp(p->a->strings.items[x->attr], p->b->strings.items[y->attr]) == 0;
    if (x->kind == CLP_OP_const)
        return same_bits(p->a->types.items[x->type].dtype, x->attr, y->attr);
    return x->attr == y->attr;
}

/* All of two ops but their operands and what is numbered in each kernel by itself. */
static bool same_kind(const pair *p, const clpi_op *x, const clpi_op *y)
{
    if (x->kind != y->kind || x->n_args != y->n_args || x->n_subs != y->n_subs || x->operand != y->operand ||
        x->has_other != y->has_other || x->has_mask != y->has_mask)
        return false;
    return clpi_type_eq(&p->a->types.items[x->type], &p->b->types.items[y->type]) && same_attr(p, x, y) && same_subs(p, x, y);
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
    if (x->has_pad != y->has_pad || (x->has_pad && !same_bits(x->dtype, x->pad_bits, y->pad_bits)) || x->alias != y->alias)
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

/* [ops.n + 1] how many ops of the body that are no constants stand before each op: its number among them. */
static uint32_t *number_ops(const clpi_ir *ir, clpi_arena *arena)
{
    uint32_t *number = CLPI_NEW_N(arena, uint32_t, (size_t)ir->ops.n + 1);
    for (uint32_t i = ir->n_header; number && i < ir->ops.n; i++)
        number[i + 1] = number[i] + (ir->ops.items[i].kind != CLP_OP_const);
    return number;
}

static uint32_t skip_constants(const clpi_ir *ir, uint32_t i)
{
    while (i < ir->ops.n && ir->ops.items[i].kind == CLP_OP_const)
        i++;
    return i;
}

static bool same_operands(const pair *p, const clpi_op *x, const clpi_op *y, const uint32_t *in_a, const uint32_t *in_b)
{
    for (uint32_t k = 0; k < x->n_args; k++) {
        clp_val a = clpi_args(p->a, x)[k], b = clpi_args(p->b, y)[k];
        const clpi_op *of_a = clpi_op_at(p->a, a), *of_b = clpi_op_at(p->b, b);
        bool is_same = of_a->kind == CLP_OP_const ? same_kind(p, of_a, of_b) : of_b->kind != CLP_OP_const && in_a[a.id] == in_b[b.id];
        if (!is_same)
            return differ(p, "op %u of the body (%s): operand %u differs", in_a[x - p->a->ops.items], clpi_ops[x->kind].name, k);
    }
    return true;
}

static bool same_body(const pair *p, clpi_arena *arena)
{
    const clpi_ir *a = p->a, *b = p->b;
    const uint32_t *in_a = number_ops(a, arena), *in_b = number_ops(b, arena);
    if (!in_a || !in_b)
        return differ(p, "out of memory");
    if (in_a[a->ops.n] != in_b[b->ops.n])
        return differ(p, "%u ops against %u", in_a[a->ops.n], in_b[b->ops.n]);
    uint32_t i = skip_constants(a, a->n_header), j = skip_constants(b, b->n_header);
    for (; i < a->ops.n; i = skip_constants(a, i + 1), j = skip_constants(b, j + 1)) {
        const clpi_op *x = &a->ops.items[i], *y = &b->ops.items[j];
        if (!same_kind(p, x, y))
            return differ(p, "op %u of the body: `%s` against `%s`, or its type or attributes", in_a[i], clpi_ops[x->kind].name,
                          clpi_ops[y->kind].name);
        if (!same_operands(p, x, y, in_a, in_b))
            return false;
        bool is_region = clpi_ops[x->kind].flags & CLP_REGION;
        if (is_region && (in_a[x->mid] != in_b[y->mid] || in_a[x->end] != in_b[y->end]))
            return differ(p, "op %u of the body (%s): the region ends elsewhere", in_a[i], clpi_ops[x->kind].name);
    }
    return true;
}

bool ir_equal(const clpi_ir *a, const clpi_ir *b, clpi_str *why)
{
    pair p = { .a = a, .b = b, .why = why };
    clpi_arena arena;
    clpi_arena_init(&arena, a->env);
    p.known = CLPI_NEW_N(&arena, uint32_t, a->n_header);
    bool is_equal = p.known ? same_frame(&p) && same_body(&p, &arena) : differ(&p, "out of memory");
    clpi_arena_done(&arena);
    return is_equal;
}
