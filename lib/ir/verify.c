/* verify: one walk that holds the IR to what ir.h says of it.
 * In: any op array. Out: CLP_OK, or the status that the caller names and a text that says which op and why. Checked: header
 * values where they are used; ranges of every index; operands defined before, in this region or one around it; the layout
 * of regions; result types, by the rules. What the text says after a front end is the user's to read.                  */
#include "ir/make.h"

typedef struct walk {
    const clpi_ir *ir;
    clp_status     on_failure;
    uint32_t      *scope;       /* [n_ops] the part of a region that an op stands in: 2 * region, + 1 in an else arm; 0: none */
    bool          *is_open;     /* [2 * n_ops] of each part: the walk is inside */
    bool          *is_part;     /* [n_ops] an arg, yield or result that stands where its region wants it */
    uint32_t      *open;        /* parts the walk is inside, innermost last */
    uint32_t       n_open;
} walk;

static clp_status bad(const walk *w, uint32_t i, const char *format, ...) CLP_PRINTF(3, 4);
static clp_status bad(const walk *w, uint32_t i, const char *format, ...)
{
    const clpi_ir *ir = w->ir;
    clpi_str s;
    clpi_str_init(&s, ir->env);
    const clpi_op *op = &ir->ops.items[i < ir->ops.n ? i : 0];
    if (ir->source && op->pos.line)
        clpi_str_add(&s, "%s:%u:%u: error: ", ir->source->file, op->pos.line, op->pos.column);
    else
        clpi_str_add(&s, "kernel %s: ", ir->name);
    if (w->on_failure == CLP_ERR_INTERNAL || !op->pos.line)
        clpi_str_add(&s, "op %u (%s): ", i, op->kind < CLP_N_OPS ? clpi_ops[op->kind].name : "?");
    va_list args;
    va_start(args, format);
    clpi_str_add_v(&s, format, args);
    va_end(args);
    clp_status status = s.failed ? CLP_ERR_OOM : clpi_fail(ir->env, w->on_failure, "%s", s.text);
    clpi_str_done(&s);
    return status;
}

/* ---- Frame ---- */

static clp_status check_header_val(const walk *w, clp_val v, clp_dtype dtype, const char *what, const char *name)
{
    if (v.id == 0 || v.id >= w->ir->n_header)
        return bad(w, v.id, "%s of %s is no value of the header", what, name);
    const clpi_type *t = clpi_type_of(w->ir, v);
    if (t->dtype != dtype || t->rank != 0)
        return bad(w, v.id, "%s of %s is not a scalar %s", what, name, clp_dtype_name(dtype));
    return CLP_OK;
}

static clp_status check_frame(const walk *w)
{
    const clpi_ir *ir = w->ir;
    if (ir->n_header == 0 || ir->n_header > ir->ops.n)
        return bad(w, 0, "the header ends outside the ops");
    for (int k = 0; k < ir->n_operands; k++) {
        const clpi_operand *x = &ir->operands[k];
        for (int d = 0; d < x->rank; d++) {
            CLP_TRY(check_header_val(w, x->shape[d], CLP_I64, "the shape", x->name));
            if (x->has_block)
                CLP_TRY(check_header_val(w, x->block[d].index, CLP_I64, "the index map", x->name));
        }
        if (x->alias >= 0 && (x->role != CLP_OUT || x->alias >= ir->n_operands || ir->operands[x->alias].role != CLP_IN ||
                              ir->operands[x->alias].dtype != x->dtype || ir->operands[x->alias].rank != x->rank))
            return bad(w, 0, "%s: alias of an operand that does not fit", x->name);
    }
    for (int k = 0; k < ir->n_axes; k++)
        CLP_TRY(check_header_val(w, ir->axes[k].size, CLP_I64, "the size", ir->axes[k].name));
    for (int k = 0; k < ir->n_requires; k++)
        CLP_TRY(check_header_val(w, ir->requires[k].condition, CLP_BOOL, "the condition", "require"));
    return CLP_OK;
}

/* ---- One op ---- */

static clp_status check_ranges(const walk *w, uint32_t i)
{
    const clpi_ir *ir = w->ir;
    const clpi_op *op = &ir->ops.items[i];
    if (op->kind <= CLP_OP_NONE || op->kind >= CLP_N_OPS)
        return bad(w, i, "no such op");
    const clpi_op_info *info = &clpi_ops[op->kind];
    bool is_access = info->flags & (CLP_READ | CLP_WRITE), has_subs = is_access || op->kind == CLP_OP_index;
    if (op->type >= ir->types.n || op->first_arg > ir->args.n || op->n_args > ir->args.n - op->first_arg ||
        op->first_sub > ir->subs.n || op->n_subs > ir->subs.n - op->first_sub)
        return bad(w, i, "type, operands or subs lie outside their tables");
    if ((info->arity >= 0 && op->n_args != (uint32_t)info->arity) || (!has_subs && op->n_subs != 0))
        return bad(w, i, "%u operands, %u subs", op->n_args, op->n_subs);
    if (is_access ? op->operand < 0 || op->operand >= ir->n_operands : op->operand != -1)
        return bad(w, i, "operand number %d", op->operand);
    if ((op->has_other && op->kind != CLP_OP_load) || (op->has_mask && !is_access) || (op->has_other && !op->has_mask))
        return bad(w, i, "a mask or `other` where none can be");
    bool has_string = op->kind == CLP_OP_print || op->kind == CLP_OP_assert;
    if (has_string && op->attr >= ir->strings.n)
        return bad(w, i, "no string of number %llu", (unsigned long long)op->attr);
    uint32_t least = op->kind == CLP_OP_for ? 2 : info->flags & CLP_REGION ? 1 : 0;
    if (op->n_args < least)
        return bad(w, i, "%u operands", op->n_args);
    return CLP_OK;
}

static clp_status check_operands(const walk *w, uint32_t i)
{
    const clpi_ir *ir = w->ir;
    const clpi_op *op = &ir->ops.items[i];
    bool in_header = i < ir->n_header;
    if (op->kind == CLP_OP_result)
        return CLP_OK;    /* its operand is the region: check_region */
    for (uint32_t k = 0; k < op->n_args; k++) {
        uint32_t v = clpi_args(ir, op)[k].id;
        if (v == 0 || v >= i)
            return bad(w, i, "operand %u is not defined before", k);
        if (!in_header && v < ir->n_header)
            return bad(w, i, "operand %u is a value of the header", k);
        if (clpi_type_of(ir, (clp_val){ v })->dtype == CLP_DTYPE_NONE)
            return bad(w, i, "operand %u is no value", k);
        if (w->scope[v] != 0 && !w->is_open[w->scope[v]])
            return bad(w, i, "operand %u was made in a loop or branch that has ended", k);
    }
    return CLP_OK;
}

static clp_status check_header_op(const walk *w, uint32_t i, const clpi_type *t)
{
    const clpi_op *op = &w->ir->ops.items[i];
    bool is_pure = clpi_ops[op->kind].is_elementwise || op->kind == CLP_OP_const || op->kind == CLP_OP_load || op->kind == CLP_OP_cast ||
                   op->kind == CLP_OP_program_id || op->kind == CLP_OP_num_programs || op->kind == CLP_OP_dim;
    if (!is_pure)
        return bad(w, i, "shapes, maps and grids are made of scalar arithmetic only");
    if (t->rank != 0 || (t->dtype != CLP_I64 && t->dtype != CLP_BOOL))
        return bad(w, i, "shapes, maps and grids are made of i64 and bool scalars only");
    return CLP_OK;
}

static clp_status check_body_op(const walk *w, uint32_t i, const clpi_type *t)
{
    const clpi_op *op = &w->ir->ops.items[i];
    bool is_i32 = op->kind == CLP_OP_program_id || op->kind == CLP_OP_num_programs || op->kind == CLP_OP_dim;
    if (is_i32 && t->dtype != CLP_I32)
        return bad(w, i, "the value is i32");
    if (op->kind == CLP_OP_load && t->dtype != clpi_loaded(w->ir->operands[op->operand].dtype))
        return bad(w, i, "the value has the operand's dtype");
    return CLP_OK;
}

static clp_status check_type(const walk *w, uint32_t i)
{
    const clpi_ir *ir = w->ir;
    const clpi_op *op = &ir->ops.items[i];
    clpi_type t;
    clpi_str why;
    clpi_str_init(&why, ir->env);
    clp_status status = CLP_OK;
    if (!clpi_rule(ir, op, &t, &why)) {
        status = bad(w, i, "%s", why.text);
    } else if (!clpi_type_eq(&t, &ir->types.items[op->type])) {
        clpi_str_puts(&why, "the rule gives ");
        clpi_type_print(&why, &t);
        clpi_str_puts(&why, ", the op says ");
        clpi_type_print(&why, &ir->types.items[op->type]);
        status = bad(w, i, "%s", why.text);
    }
    clpi_str_done(&why);
    CLP_TRY(status);
    return i < ir->n_header ? check_header_op(w, i, &t) : check_body_op(w, i, &t);
}

/* ---- Regions ---- */

/* Op `at` is an arg, yield or result, and stands where region r wants it. */
static clp_status expect_part(walk *w, uint32_t r, uint32_t at, clpi_op_kind kind, uint64_t attr)
{
    const clpi_op *op = &w->ir->ops.items[at];
    if (op->kind != kind || (kind != CLP_OP_yield && op->attr != attr))
        return bad(w, r, "op %u is not the `%s` of the region's layout", at, clpi_ops[kind].name);
    w->is_part[at] = true;
    return CLP_OK;
}

/* Carried value k has one type wherever it stands. */
static clp_status expect_type(const walk *w, uint32_t r, uint32_t type, uint32_t k, uint32_t other)
{
    if (type != other)
        return bad(w, r, "carried value %u changes its type", k);
    return CLP_OK;
}

static clp_status check_yield(walk *w, uint32_t r, uint32_t at, uint32_t n_heads, const clp_val *inits, uint32_t n)
{
    const clpi_ir *ir = w->ir;
    const clpi_op *op = &ir->ops.items[at];
    CLP_TRY(expect_part(w, r, at, CLP_OP_yield, 0));
    CLP_TRY(check_ranges(w, at));
    if (op->n_args != n_heads + n)
        return bad(w, at, "%u values, %u carried ones were expected", op->n_args, n_heads + n);
    for (uint32_t k = 0; k < n_heads + n; k++) {
        uint32_t v = clpi_args(ir, op)[k].id;
        uint32_t before = k < n_heads ? clpi_args(ir, &ir->ops.items[r])[0].id : inits[k - n_heads].id;
        if (v == 0 || v >= at)
            return bad(w, at, "operand %u is not defined before", k);
        CLP_TRY(expect_type(w, r, ir->ops.items[before].type, k, ir->ops.items[v].type));
    }
    return CLP_OK;
}

/* A region op: ops[i], whose enclosing region has its yield at limit (the end of the ops at the outermost level). */
static clp_status check_region(walk *w, uint32_t i, uint32_t limit)
{
    const clpi_ir *ir = w->ir;
    const clpi_op *op = &ir->ops.items[i];
    bool is_if = op->kind == CLP_OP_if, is_for = op->kind == CLP_OP_for;
    uint32_t n_heads = is_for ? 2 : 1, n = op->n_args - n_heads, n_args = is_if ? 0 : n + is_for;
    const clp_val *inits = clpi_args(ir, op) + n_heads;
    if (op->end <= i || op->end > limit || n > limit - op->end || op->mid > op->end || op->mid <= i || (!is_if && op->mid != op->end) ||
        (is_if && op->mid == op->end) || op->mid - i < 2 + n_args)
        return bad(w, i, "the region %u .. %u .. %u does not lie within the one around it", i, op->mid, op->end);
    for (uint32_t k = 0; k < n_args; k++) {
        CLP_TRY(expect_part(w, i, i + 1 + k, CLP_OP_arg, k));
        clp_val from = is_for && k == 0 ? clpi_args(ir, op)[0] : inits[k - is_for];
        CLP_TRY(expect_type(w, i, ir->ops.items[i + 1 + k].type, k, ir->ops.items[from.id].type));
    }
    uint32_t n_yield_heads = op->kind == CLP_OP_while ? 1 : 0;
    CLP_TRY(check_yield(w, i, op->mid - 1, n_yield_heads, inits, n));
    if (is_if)
        CLP_TRY(check_yield(w, i, op->end - 1, 0, inits, n));
    for (uint32_t k = 0; k < n; k++) {
        const clpi_op *result = &ir->ops.items[op->end + k];
        CLP_TRY(expect_part(w, i, op->end + k, CLP_OP_result, k));
        CLP_TRY(check_ranges(w, op->end + k));
        if (clpi_args(ir, result)[0].id != i)
            return bad(w, op->end + k, "the result of another region");
        CLP_TRY(expect_type(w, i, result->type, k, ir->ops.items[inits[k].id].type));
    }
    return CLP_OK;
}

static void enter(walk *w, uint32_t part)
{
    w->open[w->n_open++] = part;
    w->is_open[part] = true;
}

/* Leaves the parts that end before op i, and enters an else arm that begins there. */
static void leave_ended(walk *w, uint32_t i)
{
    while (w->n_open > 0) {
        uint32_t part = w->open[w->n_open - 1];
        const clpi_op *r = &w->ir->ops.items[part / 2];
        if (i != (part & 1 ? r->end : r->mid))
            return;
        w->is_open[part] = false;
        w->n_open--;
        if (!(part & 1) && r->mid < r->end) {
            enter(w, part + 1);
            return;
        }
    }
}

static clp_status check_ops(walk *w)
{
    const clpi_ir *ir = w->ir;
    for (uint32_t i = 1; i < ir->ops.n; i++) {
        const clpi_op *op = &ir->ops.items[i];
        leave_ended(w, i);
        uint32_t part = w->n_open ? w->open[w->n_open - 1] : 0;
        w->scope[i] = part;
        CLP_TRY(check_ranges(w, i));
        bool is_part = op->kind == CLP_OP_arg || op->kind == CLP_OP_yield || op->kind == CLP_OP_result;
        if (is_part && !w->is_part[i])
            return bad(w, i, "stands outside the layout of a region");
        CLP_TRY(check_operands(w, i));
        CLP_TRY(check_type(w, i));
        if (!(clpi_ops[op->kind].flags & CLP_REGION))
            continue;
        uint32_t limit = ir->ops.n;
        if (part)
            limit = (part & 1 ? ir->ops.items[part / 2].end : ir->ops.items[part / 2].mid) - 1;
        CLP_TRY(check_region(w, i, limit));
        enter(w, 2 * i);
    }
    return CLP_OK;
}

clp_status clpi_verify(const clpi_ir *ir, clp_status on_failure)
{
    clpi_arena arena;
    clpi_arena_init(&arena, ir->env);
    size_t n = ir->ops.n;
    walk w = { .ir = ir, .on_failure = on_failure };
    w.scope = CLPI_NEW_N(&arena, uint32_t, n);
    w.is_open = CLPI_NEW_N(&arena, bool, 2 * n);
    w.is_part = CLPI_NEW_N(&arena, bool, n);
    w.open = CLPI_NEW_N(&arena, uint32_t, n);
    clp_status status = arena.failed ? CLP_ERR_OOM : check_frame(&w);
    if (status == CLP_OK)
        status = check_ops(&w);
    clpi_arena_done(&arena);
    return status;
}
