/* control: making regions, print and assert.
 * In: bounds, conditions, the values that go round. Out: the layout that ir.h draws: args first in a region, its yield
 * last, the results behind it. A region that was begun is always closed: where a value is missing after a report, the one
 * from before stands in, which has its type, so that what follows is still checked.                                    */
#include <assert.h>
#include <string.h>

#include "ir/make.h"

/* Passes recurse over regions. */
enum { MAX_DEPTH = 200 };

static void no_values(clp_val *out, int n)
{
    for (int i = 0; out && i < n; i++)
        out[i] = (clp_val){ 0 };
}

/* An arg or a result: the type is that of the carried value. */
static clp_val add_part(clpi_build *b, clpi_op_kind kind, int i, uint32_t type, clp_val region)
{
    clpi_op op = { .kind = kind, .operand = -1, .type = type, .attr = (uint64_t)i };
    return clpi_add(b, op, &region, kind == CLP_OP_result ? 1 : 0, NULL, 0);
}

static uint32_t type_id(const clpi_build *b, clp_val v)
{
    return clpi_op_at(b->ir, v)->type;
}

/* The region op with `heads` operands of its own before the inits. */
static clp_val begin(clpi_build *b, clpi_op_kind kind, uint64_t attr, const clp_val *heads, int n_heads, const clp_val *inits, int n)
{
    clpi_ir *ir = b->ir;
    if (b->open.n >= MAX_DEPTH) {
        clpi_build_report(b, "loops and branches are nested deeper than %d", MAX_DEPTH);
        return (clp_val){ 0 };
    }
    clp_val *args = CLPI_NEW_N(ir->arena, clp_val, (size_t)(n_heads + n));
    if (!args)
        return (clp_val){ 0 };
    for (int i = 0; i < n_heads; i++)
        args[i] = heads[i];
    for (int i = 0; i < n; i++)
        args[n_heads + i] = inits[i];
    clp_val op = clpi_add(b, (clpi_op){ .kind = kind, .operand = -1, .attr = attr }, args, n_heads + n, NULL, 0);
    if (op.id == 0 || !CLPI_PUSH(ir->arena, &b->open, op.id))
        return (clp_val){ 0 };
    return op;
}

/* ---- Ends ---- */

/* A value of another type than the one before it, reported; or the value. */
static clp_val kept_type(clpi_build *b, clp_val before, clp_val v)
{
    if (v.id == 0 || type_id(b, v) == type_id(b, before))
        return v.id == 0 ? before : v;
    clpi_str s;
    clpi_str_init(&s, b->ir->env);
    clpi_type_print(&s, clpi_type_of(b->ir, before));
    clpi_str_puts(&s, ", it is given ");
    clpi_type_print(&s, clpi_type_of(b->ir, v));
    clpi_build_report(b, "a carried value keeps its dtype and shape: it began as %s", s.text);
    clpi_str_done(&s);
    return before;
}

/* Ends a region with a yield of the head, if any, and values. */
static bool yield(clpi_build *b, const clp_val *head, const clp_val *before, const clp_val *values, int n)
{
    int n_heads = head ? 1 : 0;
    clp_val *args = CLPI_NEW_N(b->ir->arena, clp_val, (size_t)(n_heads + n + 1));
    if (!args)
        return false;
    if (head)
        args[0] = *head;
    for (int i = 0; i < n; i++)
        args[n_heads + i] = kept_type(b, before[i], values[i]);
    return clpi_add(b, (clpi_op){ .kind = CLP_OP_yield, .operand = -1 }, args, n_heads + n, NULL, 0).id != 0;
}

/* Closes the innermost region and makes its results; types are those of `before`. */
static void close(clpi_build *b, uint32_t region, const clp_val *before, int n, clp_val *out_results)
{
    clpi_ir *ir = b->ir;
    ir->ops.items[region].end = ir->ops.n;
    if (ir->ops.items[region].mid == 0)
        ir->ops.items[region].mid = ir->ops.n;
    b->open.n--;
    for (int i = 0; i < n; i++) {
        clp_val r = add_part(b, CLP_OP_result, i, type_id(b, before[i]), (clp_val){ region });
        if (out_results)
            out_results[i] = r;
    }
}

/* The innermost open region, which is of this kind. */
static uint32_t innermost(clpi_build *b, clpi_op_kind kind, int n_heads, int n)
{
    if (b->open.n == 0 || b->ir->ops.items[b->open.items[b->open.n - 1]].kind != kind) {
        clpi_build_report(b, "no `%s` is open here", clpi_ops[kind].name);
        return 0;
    }
    uint32_t region = b->open.items[b->open.n - 1];
    int carried = (int)b->ir->ops.items[region].n_args - n_heads;
    if (carried == n)
        return region;
    clpi_build_report(b, "this `%s` carries %d values: %d were given", clpi_ops[kind].name, carried, n);
    return 0;
}

/* The carried values as the region sees them: its args, from `first`. */
static clp_val *region_args(clpi_build *b, uint32_t first, int n)
{
    clp_val *args = CLPI_NEW_N(b->ir->arena, clp_val, (size_t)n + 1);
    for (int i = 0; args && i < n; i++)
        args[i].id = first + (uint32_t)i;
    return args;
}

/* ---- for ---- */

bool clpi_for_begin(clpi_build *b, clp_val lo, clp_val hi, int64_t step, const clp_val *inits, int n, clp_val *out_index, clp_val *out_carried)
{
    *out_index = (clp_val){ 0 };
    no_values(out_carried, n);
    /* A step longer than bounds can be apart ends the loop as a shorter one does, and could not be added. */
    const int64_t longest = INT64_C(1) << 32;
    step = step < -longest ? -longest : step > longest ? longest : step;
    clp_val op = begin(b, CLP_OP_for, (uint64_t)step, (clp_val[]){ lo, hi }, 2, inits, n);
    if (op.id == 0)
        return false;
    *out_index = add_part(b, CLP_OP_arg, 0, type_id(b, lo), op);
    for (int i = 0; i < n; i++)
        out_carried[i] = add_part(b, CLP_OP_arg, i + 1, type_id(b, inits[i]), op);
    return !b->ir->arena->failed;
}

void clpi_for_end(clpi_build *b, const clp_val *nexts, int n, clp_val *out_results)
{
    no_values(out_results, n);
    uint32_t region = innermost(b, CLP_OP_for, 2, n);
    clp_val *carried = region_args(b, region + 2, n);
    if (region && carried && yield(b, NULL, carried, nexts, n))
        close(b, region, carried, n, out_results);
}

/* ---- while ---- */

bool clpi_while_begin(clpi_build *b, clp_val condition, const clp_val *inits, int n, clp_val *out_carried)
{
    no_values(out_carried, n);
    clp_val op = begin(b, CLP_OP_while, 0, &condition, 1, inits, n);
    if (op.id == 0)
        return false;
    for (int i = 0; i < n; i++)
        out_carried[i] = add_part(b, CLP_OP_arg, i, type_id(b, inits[i]), op);
    return !b->ir->arena->failed;
}

void clpi_while_end(clpi_build *b, clp_val condition, const clp_val *nexts, int n, clp_val *out_results)
{
    no_values(out_results, n);
    uint32_t region = innermost(b, CLP_OP_while, 1, n);
    clp_val *carried = region_args(b, region + 1, n);
    if (!region || !carried)
        return;
    clp_val first = clpi_args(b->ir, &b->ir->ops.items[region])[0];
    if (condition.id != 0 && type_id(b, condition) != type_id(b, first)) {
        clpi_build_report(b, "the condition of `while` is a scalar bool each time");
        condition = first;
    }
    if (condition.id == 0)
        condition = first;
    if (yield(b, &condition, carried, nexts, n))
        close(b, region, carried, n, out_results);
}

/* ---- if ---- */

/* The initial values of an open `if`, copied: the list of operands moves while ops are made. */
static clp_val *inits_of(clpi_build *b, uint32_t region, int n)
{
    clp_val *inits = CLPI_NEW_N(b->ir->arena, clp_val, (size_t)n + 1);
    for (int i = 0; inits && i < n; i++)
        inits[i] = clpi_args(b->ir, &b->ir->ops.items[region])[1 + i];
    return inits;
}

bool clpi_if_begin(clpi_build *b, clp_val condition, const clp_val *inits, int n)
{
    return begin(b, CLP_OP_if, 0, &condition, 1, inits, n).id != 0;
}

void clpi_if_else(clpi_build *b, const clp_val *values, int n)
{
    uint32_t region = innermost(b, CLP_OP_if, 1, n);
    if (region == 0)
        return;
    if (b->ir->ops.items[region].mid != 0) {
        clpi_build_report(b, "this `if` has an else arm already");
        return;
    }
    clp_val *inits = inits_of(b, region, n);
    if (inits && yield(b, NULL, inits, values, n))
        b->ir->ops.items[region].mid = b->ir->ops.n;
}

void clpi_if_end(clpi_build *b, const clp_val *values, int n, clp_val *out_results)
{
    no_values(out_results, n);
    uint32_t region = innermost(b, CLP_OP_if, 1, n);
    clp_val *inits = region ? inits_of(b, region, n) : NULL;
    if (!inits)
        return;
    if (b->ir->ops.items[region].mid == 0) {
        clpi_if_else(b, values, n);
        values = inits;
    }
    if (b->ir->ops.items[region].mid != 0 && yield(b, NULL, inits, values, n))
        close(b, region, inits, n, out_results);
}

/* ---- Talking ---- */

static bool add_string(clpi_ir *ir, const char *text, uint64_t *out_number)
{
    char *kept = clpi_arena_strndup(ir->arena, text, strlen(text));
    *out_number = ir->strings.n;
    return kept && CLPI_PUSH(ir->arena, &ir->strings, kept);
}

void clpi_make_print(clpi_build *b, const char *format, const clp_val *vals, int n)
{
    clpi_op op = { .kind = CLP_OP_print, .operand = -1 };
    for (int i = 0; i < n; i++)
        if (vals[i].id == 0)
            return;
    if (add_string(b->ir, format, &op.attr))
        clpi_add(b, op, vals, n, NULL, 0);
}

void clpi_make_assert(clpi_build *b, clp_val condition, const char *text)
{
    clpi_op op = { .kind = CLP_OP_assert, .operand = -1 };
    if (condition.id == 0)
        return;
    const clpi_type *t = clpi_type_of(b->ir, condition);
    if (t->rank > 0 && t->dtype == CLP_BOOL)
        condition = clpi_make_reduce(b, CLP_OP_all, condition, NULL, 0, false);
    if (add_string(b->ir, text, &op.attr))
        clpi_add(b, op, &condition, 1, NULL, 0);
}
