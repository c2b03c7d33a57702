/* elaborate_expr: expressions.
 * In: trees. Out: meanings; ops are made for what is not constant.
 * Decides where constants stay exact, and which dtype they become where they meet a value: that of the value.            */
#include "text/elaborate.h"

#include <string.h>

static const clpi_meaning nothing = { .kind = CLPI_IS_NOTHING };

/* ---- Telling and converting -------------------------------------------------------------------------------------- */

void clpi_meaning_print(clpi_elab *e, clpi_str *s, const clpi_meaning *m)
{
    switch (m->kind) {
    case CLPI_IS_NOTHING: case CLPI_IS_ABSENT: clpi_str_puts(s, "a call that returns nothing"); break;
    case CLPI_IS_INT: case CLPI_IS_REAL: case CLPI_IS_TRUTH: clpi_exact_print(s, m); break;
    case CLPI_IS_VALUE: clpi_type_print(s, clpi_type_of(e->b->ir, m->val)); break;
    case CLPI_IS_REF: clpi_str_add(s, "the operand %s", e->b->ir->operands[m->operand].name); break;
    case CLPI_IS_DTYPE: clpi_str_add(s, "the dtype %s", clp_dtype_name(m->dtype)); break;
    case CLPI_IS_FN: clpi_str_add(s, "the function %s", m->fn ? m->fn->name.text : m->builtin->name); break;
    case CLPI_IS_LIST: clpi_str_add(s, "a list of %u", m->n); break;
    case CLPI_IS_STRING: clpi_str_puts(s, "a string"); break;
    }
}

/* Reports "expected `what`, got `m`". */
static void say_expected(clpi_elab *e, const char *what, const clpi_meaning *m, clpi_pos pos)
{
    if (m->kind == CLPI_IS_NOTHING)
        return;
    clpi_str s;
    clpi_str_init(&s, e->env);
    clpi_meaning_print(e, &s, m);
    if (m->kind == CLPI_IS_REF) {
        const char *name = e->b->ir->operands[m->operand].name;
        clpi_say(e, pos, "%s is an operand: its elements are %s[...]", name, name);
    } else {
        clpi_say(e, pos, "expected %s, got %s", what, s.text);
    }
    clpi_str_done(&s);
}

static clp_dtype default_dtype(const clpi_elab *e, const clpi_meaning *m)
{
    if (m->kind == CLPI_IS_TRUTH)
        return CLP_BOOL;
    if (m->kind == CLPI_IS_REAL)
        return CLP_F32;
    return e->b->in_header && !e->in_constants ? CLP_I64 : CLP_I32;
}

clp_val clpi_to_value(clpi_elab *e, const clpi_meaning *m, clp_dtype wanted, clpi_pos pos)
{
    if (m->kind == CLPI_IS_VALUE)
        return m->val;
    if (!clpi_is_exact(m)) {
        say_expected(e, "a value", m, pos);
        return (clp_val){ 0 };
    }
    clp_dtype dtype = m->dtype ? m->dtype : wanted ? wanted : default_dtype(e, m);
    uint64_t bits;
    if (!clpi_exact_bits(e, m, dtype, pos, &bits))
        return (clp_val){ 0 };
    clpi_at_pos(e, pos);
    return clpi_make_const(e->b, dtype, bits);
}

clp_val clpi_eval_value(clpi_elab *e, const clpi_expr *x, clp_dtype wanted)
{
    clpi_meaning m = clpi_eval(e, x);
    return clpi_to_value(e, &m, wanted, x->pos);
}

bool clpi_to_int(clpi_elab *e, const clpi_meaning *m, const char *what, clpi_pos pos, int64_t *out)
{
    *out = 0;
    if (m->kind == CLPI_IS_INT && clpi_exact_to(m->integer, out))
        return true;
    if (m->kind == CLPI_IS_VALUE && clpi_is_int(clpi_type_of(e->b->ir, m->val)->dtype) && clpi_const_int(e->b->ir, m->val, out))
        return true;
    if (m->kind == CLPI_IS_VALUE)
        clpi_say(e, pos, "%s is a constant integer: this is known at run time only", what);
    else if (m->kind == CLPI_IS_INT)
        clpi_say(e, pos, "%s is too large", what);
    else {
        clpi_str s;
        clpi_str_init(&s, e->env);
        clpi_str_add(&s, "an integer for %s", what);
        say_expected(e, s.text, m, pos);
        clpi_str_done(&s);
    }
    return false;
}

bool clpi_eval_int(clpi_elab *e, const clpi_expr *x, const char *what, int64_t *out)
{
    clpi_meaning m = clpi_eval(e, x);
    return clpi_to_int(e, &m, what, x->pos, out);
}

bool clpi_eval_dtype(clpi_elab *e, const clpi_expr *x, clp_dtype *out)
{
    *out = CLP_DTYPE_NONE;
    if (x->kind == CLPI_EX_NAME && !clpi_find(e, x->name)) {
        const char *names[CLP_N_DTYPES] = { NULL };
        for (int d = 1; d < CLP_N_DTYPES; d++)
            names[d] = clp_dtype_name((clp_dtype)d);
        clpi_say_none_of(e, x->pos, x->name, names, CLP_N_DTYPES, "unknown dtype `%.40s`", x->name);
        return false;
    }
    clpi_meaning m = clpi_eval(e, x);
    *out = m.kind == CLPI_IS_DTYPE ? m.dtype : CLP_DTYPE_NONE;
    if (m.kind != CLPI_IS_DTYPE)
        say_expected(e, "a dtype", &m, x->pos);
    return m.kind == CLPI_IS_DTYPE;
}

/* ---- Elementwise ------------------------------------------------------------------------------------------------- */

clpi_meaning clpi_apply_at(clpi_elab *e, clpi_op_kind kind, const clpi_meaning *args, int n, clpi_pos pos, const clpi_pos *of_args)
{
    clpi_meaning folded;
    clp_val vals[3] = { { 0 } };
    clp_dtype wanted = CLP_DTYPE_NONE;
    int first = kind == CLP_OP_where;         /* the condition of `where` is a bool of its own */
    bool has_real = false;
    for (int i = 0; i < n; i++) {
        if (args[i].kind == CLPI_IS_NOTHING)
            return nothing;
        if (i < first || wanted)
            continue;
        has_real = has_real || args[i].kind == CLPI_IS_REAL;
        if (args[i].kind == CLPI_IS_VALUE)
            wanted = clpi_type_of(e->b->ir, args[i].val)->dtype;
        else if (clpi_is_exact(&args[i]))
            wanted = args[i].dtype;
    }
    if (kind == CLP_OP_where && n == 3 && args[0].kind == CLPI_IS_TRUTH && args[1].kind != CLPI_IS_VALUE && args[2].kind != CLPI_IS_VALUE)
        return args[args[0].truth ? 1 : 2];
    if (clpi_fold_exact(e, kind, args, n, pos, &folded))
        return folded;
    if (!wanted && has_real)
        wanted = CLP_F32;
    if (!wanted && clpi_ops[kind].types == CLP_FLT)
        wanted = CLP_F32;
    clp_dtype common = wanted ? wanted : default_dtype(e, &args[0]);
    if (clpi_fold_typed(e, kind, common, args, n, of_args, pos, &folded))
        return folded;
    for (int i = 0; i < n; i++) {
        vals[i] = clpi_to_value(e, &args[i], i < first ? CLP_BOOL : wanted, of_args ? of_args[i] : pos);
        if (!vals[i].id)
            return nothing;
    }
    clpi_at_pos(e, pos);
    return clpi_mean_value(clpi_make_ew(e->b, kind, vals, n));
}

clpi_op_kind clpi_op_of_token(clpi_token_kind token, int arity)
{
    if (token == CLPI_T_AND_AND)
        return CLP_OP_and;
    if (token == CLPI_T_OR_OR)
        return CLP_OP_or;
    if (token == CLPI_T_NOT)
        return CLP_OP_not;
    const char *text = clpi_token_text(token);
    for (int i = 1; i < CLP_N_OPS; i++)
        if (clpi_ops[i].is_elementwise && clpi_ops[i].arity == arity && strcmp(clpi_ops[i].text, text) == 0)
            return (clpi_op_kind)i;
    return CLP_OP_NONE;
}

/* && || ! take booleans only; reports. */
static bool is_boolean(clpi_elab *e, clpi_token_kind op, const clpi_meaning *m, clpi_pos pos)
{
    if (m->kind == CLPI_IS_NOTHING || m->kind == CLPI_IS_TRUTH)
        return true;
    if (m->kind == CLPI_IS_VALUE && clpi_type_of(e->b->ir, m->val)->dtype == CLP_BOOL)
        return true;
    clpi_str s;
    clpi_str_init(&s, e->env);
    clpi_meaning_print(e, &s, m);
    const char *bits = op == CLPI_T_NOT ? "~" : op == CLPI_T_AND_AND ? "&" : "|";
    clpi_say(e, pos, "`%s` takes booleans, got %s (bits: `%s`)", clpi_token_text(op), s.text, bits);
    clpi_str_done(&s);
    return false;
}

static clpi_meaning binary(clpi_elab *e, clpi_token_kind op, const clpi_meaning *a, const clpi_meaning *b, clpi_pos pos, const clpi_pos *of_args)
{
    bool is_equality = op == CLPI_T_EQ || op == CLPI_T_NE;
    if (is_equality && a->kind == CLPI_IS_DTYPE && b->kind == CLPI_IS_DTYPE)
        return clpi_mean_truth((a->dtype == b->dtype) == (op == CLPI_T_EQ));
    if ((op == CLPI_T_AND_AND || op == CLPI_T_OR_OR) && (!is_boolean(e, op, a, pos) || !is_boolean(e, op, b, pos)))
        return nothing;
    return clpi_apply_at(e, clpi_op_of_token(op, 2), (clpi_meaning[]){ *a, *b }, 2, pos, of_args);
}

static clpi_meaning eval_chain(clpi_elab *e, const clpi_expr *x)
{
    clpi_meaning left = clpi_eval(e, x->first);
    for (uint32_t i = 0; i < x->links.n; i++) {
        const clpi_link *link = &x->links.items[i];
        clpi_meaning right = clpi_eval(e, link->value);
        left = binary(e, link->op, &left, &right, link->pos, (clpi_pos[]){ x->first->pos, link->value->pos });
    }
    return left;
}

/* ---- Literals and unary operators -------------------------------------------------------------------------------- */

/* The dtype written against a number: one of the language, or a name that stands for one. */
static bool suffix_dtype(clpi_elab *e, const clpi_expr *x, clp_dtype *out)
{
    *out = clp_dtype_from_name(x->name);
    if (*out)
        return true;
    const clpi_binding *binding = clpi_find(e, x->name);
    if (binding && binding->kind == CLPI_BIND_LET && binding->meaning.kind == CLPI_IS_DTYPE) {
        *out = binding->meaning.dtype;
        return true;
    }
    clpi_say(e, x->pos, "the number ends in `%.20s`, which is no dtype", x->name);
    return false;
}

static clpi_meaning literal(clpi_elab *e, const clpi_expr *x, bool is_negative)
{
    clpi_meaning m = { .kind = CLPI_IS_INT };
    if (x->kind == CLPI_EX_REAL) {
        m.kind = CLPI_IS_REAL;
        m.real = is_negative ? -x->real : x->real;
    } else {
        m.integer = (clpi_exact){ x->integer, is_negative && x->integer != 0 };
    }
    if (!x->name)
        return m;
    clp_dtype dtype;
    uint64_t bits;
    if (!suffix_dtype(e, x, &dtype))
        return nothing;
    if (clpi_is_float(dtype) && m.kind == CLPI_IS_INT) {
        m.kind = CLPI_IS_REAL;
        m.real = is_negative ? -(double)x->integer : (double)x->integer;
    }
    m.dtype = clpi_loaded(dtype);
    return clpi_exact_bits(e, &m, dtype, x->pos, &bits) ? m : nothing;
}

static clpi_meaning eval_unary(clpi_elab *e, const clpi_expr *x)
{
    bool is_number = x->first->kind == CLPI_EX_INT || x->first->kind == CLPI_EX_REAL;
    if (x->op == CLPI_T_MINUS && is_number)         /* so that -128i8 fits */
        return literal(e, x->first, true);
    clpi_meaning m = clpi_eval(e, x->first);
    if (x->op == CLPI_T_PLUS)
        return m;
    if (x->op == CLPI_T_NOT && !is_boolean(e, x->op, &m, x->pos))
        return nothing;
    return clpi_apply_at(e, clpi_op_of_token(x->op, 1), &m, 1, x->pos, &x->first->pos);
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static clpi_meaning eval_operand(clpi_elab *e, const clpi_binding *binding, clpi_pos pos)
{
    if (binding->number == CLPI_FAILED)
        return nothing;
    if (binding->number == CLPI_LATER) {
        clpi_say(e, pos, "%s is declared further down: a shape uses only what stands before it", binding->name);
        return nothing;
    }
    if (e->b->ir->operands[binding->number].role != CLP_SCALAR)
        return (clpi_meaning){ .kind = CLPI_IS_REF, .operand = binding->number };
    clpi_at_pos(e, pos);
    if (e->b->in_header)
        return clpi_mean_value(clpi_make_header_load(e->b, binding->number, NULL, 0));
    return clpi_mean_value(clpi_make_load(e->b, binding->number, NULL, 0, (clp_val){ 0 }, (clp_val){ 0 }));
}

static clpi_meaning eval_unbound(clpi_elab *e, const clpi_expr *x)
{
    if (e->makes_dims && strcmp(x->name, "_") != 0) {
        int number = e->b->ir->n_dims < CLPI_MAX_DECLARED ? clpi_build_dim(e->b, x->name) : -1;
        if (e->b->ir->n_dims == CLPI_MAX_DECLARED && number < 0)
            clpi_say(e, x->pos, "a kernel has at most %d dims", CLPI_MAX_DECLARED);
        clpi_binding *dim = number < 0 ? NULL : clpi_name_bind(e, (clpi_name){ x->name, x->pos }, CLPI_BIND_DIM, number, nothing);
        if (!dim)
            return nothing;
        dim->params = 0;
        return clpi_mean_value(clpi_make_leaf(e->b, CLP_OP_dim, (uint64_t)number));
    }
    const clpi_builtin *builtin = clpi_find_builtin(x->name);
    const clpi_fn_decl *fn = builtin ? NULL : clpi_find_fn(e, x->name);
    if (builtin || fn)
        return (clpi_meaning){ .kind = CLPI_IS_FN, .fn = fn, .builtin = builtin };
    clpi_say_unknown(e, "name", x->name, x->pos, false);
    return nothing;
}

static clpi_meaning eval_name(clpi_elab *e, const clpi_expr *x)
{
    const clpi_binding *binding = clpi_find(e, x->name);
    if (!binding)
        return eval_unbound(e, x);
    clpi_at_pos(e, x->pos);
    switch (binding->kind) {
    case CLPI_BIND_LET:
        return binding->meaning;
    case CLPI_BIND_VAR:
        /* A constant that a `var` happens to hold is no constant. */
        return binding->meaning.kind == CLPI_IS_NOTHING ? nothing
             : clpi_mean_value(clpi_to_value(e, &binding->meaning, CLP_DTYPE_NONE, x->pos));
    case CLPI_BIND_DIM:
        return clpi_mean_value(clpi_make_leaf(e->b, CLP_OP_dim, (uint64_t)binding->number));
    case CLPI_BIND_AXIS: {
        if (e->b->in_header && !e->in_map) {
            clpi_say(e, x->pos, "%s is an axis: its program id is known in index maps and in the body only", x->name);
            return nothing;
        }
        clpi_meaning m = clpi_mean_value(clpi_make_leaf(e->b, CLP_OP_program_id, (uint64_t)binding->number));
        m.axis = binding->number + 1;
        return m;
    }
    case CLPI_BIND_OPERAND:
        return eval_operand(e, binding, x->pos);
    case CLPI_BIND_ABSENT:
        clpi_say(e, x->pos, "there is no operand %s: its `if` is false", x->name);
        return nothing;
    }
    return nothing;
}

/* ---- Subscripts -------------------------------------------------------------------------------------------------- */

/* The index, or the start of a ds. A constant that adapts becomes an i32 where it fits. */
static bool eval_index(clpi_elab *e, const clpi_expr *x, clp_val *out, bool *out_is_run_time)
{
    clpi_meaning m = clpi_eval(e, x);
    int64_t at;
    *out_is_run_time = m.kind == CLPI_IS_VALUE;
    if (clpi_adapts(&m) && m.kind == CLPI_IS_INT) {
        if (!clpi_to_int(e, &m, "an index", x->pos, &at))
            return false;
        clp_dtype dtype = e->b->in_header || at < INT32_MIN || at > INT32_MAX ? CLP_I64 : CLP_I32;
        *out = clpi_to_value(e, &m, dtype, x->pos);
    } else if (clpi_adapts(&m)) {
        say_expected(e, "an integer as the index", &m, x->pos);
        return false;
    } else {
        *out = clpi_to_value(e, &m, CLP_DTYPE_NONE, x->pos);
    }
    return out->id != 0;
}

static bool eval_sub(clpi_elab *e, const clpi_sub_expr *x, clpi_subscript *out)
{
    *out = (clpi_subscript){ .kind = CLPI_ALL, .stride = 1, .pos = clpi_shown_pos(e, x->pos) };
    switch (x->kind) {
    case CLPI_SUBSCRIPT_ELLIPSIS: out->kind = CLPI_ELLIPSIS; return true;
    case CLPI_SUBSCRIPT_NONE: out->kind = CLPI_NEWAXIS; return true;
    case CLPI_SUBSCRIPT_AT:
        out->kind = CLPI_AT;
        return eval_index(e, x->a, &out->val, &out->is_run_time);
    case CLPI_SUBSCRIPT_DS:
        out->kind = CLPI_DS;
        return eval_index(e, x->a, &out->val, &out->is_run_time) && clpi_eval_int(e, x->b, "the size of ds", &out->stop) &&
               (!x->c || clpi_eval_int(e, x->c, "the stride of ds", &out->stride));
    case CLPI_SUBSCRIPT_SLICE:
        if (!x->a && !x->b && !x->c)
            return true;
        out->kind = CLPI_SLICE;
        out->has_start = x->a != NULL;
        out->has_stop = x->b != NULL;
        return (!x->a || clpi_eval_int(e, x->a, "the start of a slice, unlike that of ds(start, size),", &out->start)) &&
               (!x->b || clpi_eval_int(e, x->b, "the end of a slice", &out->stop)) &&
               (!x->c || clpi_eval_int(e, x->c, "the step of a slice", &out->stride));
    }
    return false;
}

static bool eval_subs(clpi_elab *e, const clpi_expr *x, clpi_subscript *out, int *out_n)
{
    bool ok = true;
    *out_n = (int)x->subs.n;
    if (x->subs.n > CLPI_MAX_SUBS) {
        clpi_say(e, x->subs.items[CLPI_MAX_SUBS].pos, "too many subscripts: a value has at most %d dimensions", CLP_MAX_RANK);
        return false;
    }
    for (uint32_t i = 0; i < x->subs.n; i++)
        ok = eval_sub(e, &x->subs.items[i], &out[i]) && ok;
    return ok;
}

bool clpi_eval_place(clpi_elab *e, const clpi_expr *x, clpi_place_meaning *out)
{
    if (x->kind != CLPI_EX_SUBSCRIPT) {
        clpi_meaning m = clpi_eval(e, x);
        say_expected(e, "elements of an operand, as x[...]", &m, x->pos);
        return false;
    }
    clpi_meaning of = clpi_eval(e, x->first);
    if (of.kind != CLPI_IS_REF) {
        say_expected(e, "an operand before the `[`", &of, x->pos);
        return false;
    }
    out->operand = of.operand;
    return eval_subs(e, x, out->subs, &out->n);
}

clp_dtype clpi_place_dtype(const clpi_elab *e, const clpi_place_meaning *p)
{
    return clpi_loaded(e->b->ir->operands[p->operand].dtype);
}

/* idx[i] in an index map. */
static clpi_meaning eval_header_element(clpi_elab *e, const clpi_expr *x, int operand)
{
    clp_val index[CLPI_MAX_SUBS];
    bool is_run_time;
    if (!e->in_map) {
        clpi_say(e, x->pos, "elements of %s are read in index maps and in the body only", e->b->ir->operands[operand].name);
        return nothing;
    }
    for (uint32_t i = 0; i < x->subs.n && i < CLPI_MAX_SUBS; i++) {
        if (x->subs.items[i].kind != CLPI_SUBSCRIPT_AT) {
            clpi_say(e, x->subs.items[i].pos, "an index map reads single elements: expected an index");
            return nothing;
        }
        if (!eval_index(e, x->subs.items[i].a, &index[i], &is_run_time))
            return nothing;
    }
    clpi_at_pos(e, x->pos);
    int n = x->subs.n < CLPI_MAX_SUBS ? (int)x->subs.n : CLPI_MAX_SUBS;
    return clpi_mean_value(clpi_make_header_load(e->b, operand, index, n));
}

static clpi_meaning eval_subscript(clpi_elab *e, const clpi_expr *x)
{
    clpi_place_meaning place;
    clpi_meaning of = clpi_eval(e, x->first);
    if (of.kind == CLPI_IS_NOTHING)
        return nothing;
    if (of.kind == CLPI_IS_REF && e->b->in_header)
        return eval_header_element(e, x, of.operand);
    clp_val v = { 0 };
    if (of.kind != CLPI_IS_REF && !(v = clpi_to_value(e, &of, CLP_DTYPE_NONE, x->pos)).id)
        return nothing;
    if (!eval_subs(e, x, place.subs, &place.n))
        return nothing;
    clpi_at_pos(e, x->pos);
    if (of.kind == CLPI_IS_REF)
        v = clpi_make_load(e->b, of.operand, place.subs, place.n, (clp_val){ 0 }, (clp_val){ 0 });
    else
        v = clpi_make_index(e->b, v, place.subs, place.n);
    return clpi_mean_value(v);
}

/* ---- Any expression ---------------------------------------------------------------------------------------------- */

static clpi_meaning eval_list(clpi_elab *e, const clpi_expr *x)
{
    clpi_meaning *items = CLPI_NEW_N(e->arena, clpi_meaning, (size_t)x->items.n + 1);
    if (!items)
        return nothing;
    for (uint32_t i = 0; i < x->items.n; i++) {
        items[i] = clpi_eval(e, x->items.items[i]);
        if (items[i].kind == CLPI_IS_NOTHING)
            return nothing;
    }
    return (clpi_meaning){ .kind = CLPI_IS_LIST, .items = items, .n = x->items.n };
}

static clpi_meaning eval_any(clpi_elab *e, const clpi_expr *x)
{
    switch (x->kind) {
    case CLPI_EX_NAME: return eval_name(e, x);
    case CLPI_EX_INT: case CLPI_EX_REAL: return literal(e, x, false);
    case CLPI_EX_TRUTH: return clpi_mean_truth(x->integer != 0);
    case CLPI_EX_DTYPE: return clpi_mean_dtype(x->dtype);
    case CLPI_EX_STRING: return (clpi_meaning){ .kind = CLPI_IS_STRING, .text = x->name };
    case CLPI_EX_UNARY: return eval_unary(e, x);
    case CLPI_EX_CHAIN: return eval_chain(e, x);
    case CLPI_EX_SUBSCRIPT: return eval_subscript(e, x);
    case CLPI_EX_CALL: return clpi_eval_call(e, x, false);
    case CLPI_EX_TUPLE: case CLPI_EX_LIST: return eval_list(e, x);
    }
    return nothing;
}

clpi_meaning clpi_eval(clpi_elab *e, const clpi_expr *x)
{
    if (!clpi_take_step(e, x->pos) || !clpi_descend(e, x->pos))
        return nothing;
    clpi_meaning m = eval_any(e, x);
    clpi_ascend(e);
    return m;
}
