/* elaborate_stmt: statements.
 * In: trees. Out: ops; regions carry the `var`s from outside that their body assigns, found by a scan of the body before
 * the region is begun, in the order in which they were declared.
 * A `while` whose condition is a `var` does not carry it: it is true inside and false behind.                            */
#include "text/elaborate.h"

#include <stdlib.h>
#include <string.h>

static const clpi_meaning nothing = { .kind = CLPI_IS_NOTHING };

/* ---- Carried values ---------------------------------------------------------------------------------------------- */

typedef struct carried {
    uint32_t *items, n, cap;      /* bindings, in order */
    clp_val  *inits, *vals;       /* vals: scratch for what regions take and give */
    clp_val  *results;            /* behind the region */
} carried;

static void scan_stmts(clpi_elab *e, const clpi_stmts *stmts, uint32_t but, carried *c)
{
    for (uint32_t i = 0; i < stmts->n && clpi_take_step(e, stmts->items[i]->pos); i++) {
        const clpi_stmt *s = stmts->items[i];
        if (s->kind == CLPI_ST_ASSIGN && s->place->kind == CLPI_EX_NAME) {
            clpi_binding *binding = clpi_find(e, s->place->name);
            if (!binding || binding->kind != CLPI_BIND_VAR || binding->stamp == e->stamp)
                continue;
            uint32_t at = (uint32_t)(binding - e->names.items);
            binding->stamp = e->stamp;
            if (at != but && binding->meaning.kind != CLPI_IS_NOTHING && !CLPI_PUSH(e->arena, c, at))
                e->stopped = true;
        }
        scan_stmts(e, &s->body, but, c);
        scan_stmts(e, &s->other, but, c);
    }
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static clp_val var_value(clpi_elab *e, uint32_t at)
{
    const clpi_binding *binding = &e->names.items[at];
    return clpi_to_value(e, &binding->meaning, CLP_DTYPE_NONE, binding->pos);
}

/* The vars that the body of s assigns, with their values now. but: one that is not carried, or UINT32_MAX. */
static bool find_carried(clpi_elab *e, const clpi_stmt *s, uint32_t but, carried *out)
{
    *out = (carried){ 0 };
    e->stamp++;
    scan_stmts(e, &s->body, but, out);
    scan_stmts(e, &s->other, but, out);
    if (out->n > 1)
        qsort(out->items, out->n, sizeof *out->items, by_number);
    out->inits = CLPI_NEW_N(e->arena, clp_val, (size_t)out->n + 1);
    out->vals = CLPI_NEW_N(e->arena, clp_val, (size_t)out->n + 1);
    out->results = CLPI_NEW_N(e->arena, clp_val, (size_t)out->n + 1);
    if (!out->inits || !out->vals || !out->results || e->stopped)
        return false;
    for (uint32_t i = 0; i < out->n; i++)
        out->inits[i] = var_value(e, out->items[i]);
    return true;
}

static void set_vars(clpi_elab *e, const carried *c, const clp_val *vals)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (vals[i].id)
            e->names.items[c->items[i]].meaning = clpi_mean_value(vals[i]);
}

static void get_vars(clpi_elab *e, const carried *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        c->vals[i] = var_value(e, c->items[i]);
}

/* Regions nest about as deep as blocks of the text may; inlining must not go past that. */
static bool may_open(clpi_elab *e, clpi_pos pos)
{
    if (e->b->in_header) {
        clpi_say(e, pos, "loops and branches on values stand in the body only");
        return false;
    }
    if (e->b->open.n < CLPI_MAX_REGIONS)
        return true;
    clpi_say(e, pos, "nested too deeply: the limit is %d", CLPI_MAX_REGIONS);
    return false;
}

/* ---- Conditions -------------------------------------------------------------------------------------------------- */

/* Decided at build: out_truth. Else a value. NOTHING: reported. */
static clpi_meaning eval_condition(clpi_elab *e, const clpi_expr *x, const char *of)
{
    clpi_meaning m = clpi_eval(e, x);
    if (m.kind == CLPI_IS_INT && !m.dtype)
        return clpi_mean_truth(m.integer.magnitude != 0);
    if (m.kind == CLPI_IS_TRUTH || m.kind == CLPI_IS_NOTHING)
        return m;
    clp_val v = clpi_to_value(e, &m, CLP_BOOL, x->pos);
    if (!v.id)
        return nothing;
    const clpi_type *t = clpi_type_of(e->b->ir, v);
    if (t->rank == 0 && t->dtype == CLP_BOOL)
        return clpi_mean_value(v);
    clpi_str s;
    clpi_str_init(&s, e->env);
    clpi_type_print(&s, t);
    if (t->rank > 0)
        clpi_say(e, x->pos, "`%s` takes a scalar, got %s: for a tile use `where`, or reduce it with any(...) or all(...)", of, s.text);
    else
        clpi_say(e, x->pos, "`%s` takes a bool, got %s: compare it with something", of, s.text);
    clpi_str_done(&s);
    return nothing;
}

/* ---- if ---------------------------------------------------------------------------------------------------------- */

static void elaborate_if(clpi_elab *e, const clpi_stmt *s)
{
    carried c;
    clpi_meaning condition = eval_condition(e, s->value, "if");
    if (condition.kind == CLPI_IS_TRUTH) {
        clpi_elaborate_body(e, condition.truth ? &s->body : &s->other);
        return;
    }
    if (!may_open(e, s->pos) || !find_carried(e, s, UINT32_MAX, &c))
        return;
    clpi_at_pos(e, s->pos);
    bool is_open = condition.kind == CLPI_IS_VALUE && clpi_if_begin(e->b, condition.val, c.inits, (int)c.n);
    clpi_elaborate_body(e, &s->body);
    get_vars(e, &c);
    if (s->other.n > 0) {
        if (is_open)
            clpi_if_else(e->b, c.vals, (int)c.n);
        set_vars(e, &c, c.inits);
        clpi_elaborate_body(e, &s->other);
        get_vars(e, &c);
    }
    if (!is_open)
        return;
    clpi_at_pos(e, s->pos);
    clpi_if_end(e->b, c.vals, (int)c.n, c.results);
    set_vars(e, &c, c.results);
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */

static void elaborate_static_for(clpi_elab *e, const clpi_stmt *s)
{
    int64_t lo, hi, step = 1;
    if (!clpi_eval_int(e, s->lo, "the lower bound of `static for`", &lo) ||
        !clpi_eval_int(e, s->hi, "the upper bound of `static for`", &hi) ||
        (s->step && !clpi_eval_int(e, s->step, "the step", &step)))
        return;
    if (step == 0) {
        clpi_say(e, s->step->pos, "the step is 0");
        return;
    }
    for (int64_t i = lo; step > 0 ? i < hi : i > hi;) {
        uint32_t before = e->names.n;
        if (!clpi_take_step(e, s->pos) || !clpi_name_bind(e, s->names.items[0], CLPI_BIND_LET, 0, clpi_mean_int(i)))
            return;
        clpi_elaborate_stmts(e, &s->body);
        clpi_unbind(e, before);
        /* Compared before it is added: the sum may not exist. */
        if (step > 0 ? i > INT64_MAX - step : i < INT64_MIN - step)
            return;
        i += step;
    }
}

/* Both bounds as scalars of one dtype. */
static bool eval_bounds(clpi_elab *e, const clpi_stmt *s, clp_val *out_lo, clp_val *out_hi)
{
    clpi_meaning lo = clpi_eval(e, s->lo), hi = clpi_eval(e, s->hi);
    *out_lo = lo.kind == CLPI_IS_NOTHING ? (clp_val){ 0 } : clpi_to_value(e, &lo, CLP_I32, s->lo->pos);
    *out_hi = hi.kind == CLPI_IS_NOTHING ? (clp_val){ 0 } : clpi_to_value(e, &hi, CLP_I32, s->hi->pos);
    for (int i = 0; i < 2; i++) {
        clp_val v = i ? *out_hi : *out_lo;
        const clpi_type *t = v.id ? clpi_type_of(e->b->ir, v) : NULL;
        if (t && (t->rank > 0 || t->dtype != CLP_I32)) {
            clpi_str text;
            clpi_str_init(&text, e->env);
            clpi_type_print(&text, t);
            clpi_say(e, i ? s->hi->pos : s->lo->pos, "the bounds of `for` are scalars of dtype i32, got %s", text.text);
            clpi_str_done(&text);
            return false;
        }
    }
    return out_lo->id && out_hi->id;
}

static void elaborate_for(clpi_elab *e, const clpi_stmt *s)
{
    carried c;
    clp_val lo, hi, index = { 0 };
    int64_t step = 1;
    bool ok = eval_bounds(e, s, &lo, &hi);
    ok = (!s->step || clpi_eval_int(e, s->step, "the step of `for`", &step)) && ok;
    if (ok && step == 0) {
        clpi_say(e, s->step->pos, "the step is 0");
        ok = false;
    }
    if (!may_open(e, s->pos) || !find_carried(e, s, UINT32_MAX, &c))
        return;
    clpi_at_pos(e, s->pos);
    ok = ok && clpi_for_begin(e->b, lo, hi, step, c.inits, (int)c.n, &index, c.vals);
    if (ok)
        set_vars(e, &c, c.vals);
    uint32_t before = e->names.n;
    if (clpi_name_bind(e, s->names.items[0], CLPI_BIND_LET, 0, clpi_mean_value(index)))
        clpi_elaborate_stmts(e, &s->body);
    clpi_unbind(e, before);
    get_vars(e, &c);
    if (!ok)
        return;
    clpi_at_pos(e, s->pos);
    clpi_for_end(e->b, c.vals, (int)c.n, c.results);
    set_vars(e, &c, c.results);
}

/* The var that is the whole condition; UINT32_MAX: none. */
static uint32_t condition_var(clpi_elab *e, const clpi_expr *x)
{
    const clpi_binding *binding = x->kind == CLPI_EX_NAME ? clpi_find(e, x->name) : NULL;
    if (!binding || binding->kind != CLPI_BIND_VAR)
        return UINT32_MAX;
    return (uint32_t)(binding - e->names.items);
}

static void elaborate_while(clpi_elab *e, const clpi_stmt *s)
{
    carried c;
    uint32_t var = condition_var(e, s->value);
    clpi_meaning condition = eval_condition(e, s->value, "while");
    if (condition.kind == CLPI_IS_TRUTH) {
        if (condition.truth)
            clpi_say(e, s->value->pos, "this `while` never ends: its condition is always true");
        return;
    }
    if (!may_open(e, s->pos) || !find_carried(e, s, var, &c))
        return;
    clpi_at_pos(e, s->pos);
    bool ok = condition.kind == CLPI_IS_VALUE && clpi_while_begin(e->b, condition.val, c.inits, (int)c.n, c.vals);
    if (ok)
        set_vars(e, &c, c.vals);
    if (ok && var != UINT32_MAX)
        e->names.items[var].meaning = clpi_mean_truth(true);
    clpi_elaborate_body(e, &s->body);
    clpi_meaning next = ok ? eval_condition(e, s->value, "while") : nothing;
    clp_val next_val = next.kind == CLPI_IS_NOTHING ? (clp_val){ 0 } : clpi_to_value(e, &next, CLP_BOOL, s->value->pos);
    get_vars(e, &c);
    if (!ok)
        return;
    clpi_at_pos(e, s->pos);
    clpi_while_end(e->b, next_val, c.vals, (int)c.n, c.results);
    set_vars(e, &c, c.results);
    if (var != UINT32_MAX)
        e->names.items[var].meaning = clpi_mean_truth(false);
}

/* ---- let and var ------------------------------------------------------------------------------------------------- */

/* What a let may name; reports. */
static bool is_nameable(clpi_elab *e, const clpi_meaning *m, const clpi_stmt *s)
{
    if (m->kind == CLPI_IS_ABSENT)
        clpi_say(e, s->value->pos, "this call returns nothing");
    else if (m->kind == CLPI_IS_REF)
        clpi_say(e, s->value->pos, "%s is an operand: its elements are %s[...]", e->b->ir->operands[m->operand].name,
                 e->b->ir->operands[m->operand].name);
    else
        return true;
    return false;
}

static void bind_one(clpi_elab *e, const clpi_stmt *s, clpi_name name, clpi_meaning m)
{
    if (m.kind != CLPI_IS_NOTHING && !is_nameable(e, &m, s))
        m = nothing;
    if (s->kind == CLPI_ST_VAR && m.kind != CLPI_IS_NOTHING)
        m = clpi_mean_value(clpi_to_value(e, &m, CLP_DTYPE_NONE, s->value->pos));
    if (strcmp(name.text, "_") == 0)
        return;
    clpi_name_bind(e, name, s->kind == CLPI_ST_VAR ? CLPI_BIND_VAR : CLPI_BIND_LET, 0, m);
}

static void elaborate_let(clpi_elab *e, const clpi_stmt *s)
{
    clpi_meaning m = clpi_eval(e, s->value);
    bool is_list = m.kind == CLPI_IS_LIST;
    uint32_t n = s->names.n;
    if (n == 1 && is_list && m.is_returned) {
        clpi_say(e, s->value->pos, "%u values are returned: 1 name is given", m.n);
        m = nothing;
    } else if (n > 1 && (is_list ? m.n != n : m.kind != CLPI_IS_NOTHING)) {
        clpi_say(e, s->value->pos, "%u name%s are given: the expression has %u value%s", n, n == 1 ? "" : "s", is_list ? m.n : 1,
                 is_list ? "s" : "");
        m = nothing;
    }
    for (uint32_t i = 0; i < n; i++)
        bind_one(e, s, s->names.items[i], n > 1 && m.kind == CLPI_IS_LIST ? m.items[i] : m);
}

/* ---- Assignment -------------------------------------------------------------------------------------------------- */

static bool is_scalar_operand(const clpi_elab *e, const clpi_binding *binding)
{
    return binding->kind == CLPI_BIND_OPERAND && binding->number >= 0 && e->b->ir->operands[binding->number].role == CLP_SCALAR;
}

static void assign_var(clpi_elab *e, const clpi_stmt *s)
{
    const clpi_expr *x = s->place;
    clpi_meaning m = clpi_eval(e, s->value);
    const clpi_binding *binding = clpi_find(e, x->name);       /* afterwards: the list of names may move meanwhile */
    if (!binding) {
        clpi_say_unknown(e, "name", x->name, x->pos, false);
        return;
    }
    if (is_scalar_operand(e, binding)) {
        clpi_say(e, x->pos, "%s is a scalar and cannot be stored to", x->name);
        return;
    }
    if (binding->kind == CLPI_BIND_OPERAND || binding->kind == CLPI_BIND_ABSENT) {
        clpi_say(e, x->pos, "%s is an operand: write %s[...] to store to it", x->name, x->name);
        return;
    }
    if (binding->kind != CLPI_BIND_VAR) {
        clpi_say(e, x->pos, "`%s` is no `var` and keeps its value", x->name);
        return;
    }
    uint32_t at = (uint32_t)(binding - e->names.items);
    if (m.kind == CLPI_IS_NOTHING || binding->meaning.kind == CLPI_IS_NOTHING)
        return;
    clp_val before = var_value(e, at);
    if (s->op != CLPI_T_END)
        m = clpi_apply_at(e, clpi_op_of_token(s->op, 2), (clpi_meaning[]){ clpi_mean_value(before), m }, 2, s->pos,
                          (clpi_pos[]){ s->pos, s->value->pos });
    if (m.kind == CLPI_IS_NOTHING || !before.id)
        return;
    const clpi_type t = *clpi_type_of(e->b->ir, before);
    clp_val v = clpi_to_value(e, &m, t.dtype, s->value->pos);
    if (!v.id)
        return;
    if (!clpi_type_eq(clpi_type_of(e->b->ir, v), &t)) {
        clpi_str text;
        clpi_str_init(&text, e->env);
        clpi_type_print(&text, &t);
        clpi_str_puts(&text, ", the value is ");
        clpi_type_print(&text, clpi_type_of(e->b->ir, v));
        clpi_say(e, s->value->pos, "`%s` keeps its dtype and shape: it is %s", x->name, text.text);
        clpi_str_done(&text);
        return;
    }
    e->names.items[at].meaning = clpi_mean_value(v);
    e->names.items[at].params |= e->used;
}

static void assign_place(clpi_elab *e, const clpi_stmt *s)
{
    clpi_place_meaning place;
    const clpi_binding *binding = clpi_find(e, s->place->first->name);
    if (binding && (binding->kind == CLPI_BIND_VAR || (binding->kind == CLPI_BIND_LET && binding->meaning.kind == CLPI_IS_VALUE))) {
        clpi_say(e, s->pos, "`%s` is a value: its elements cannot be assigned to (use where, concat or scratch)", binding->name);
        clpi_eval(e, s->value);
        return;
    }
    if (binding && is_scalar_operand(e, binding)) {
        clpi_say(e, s->pos, "%s is a scalar and cannot be stored to", binding->name);
        return;
    }
    if (e->b->in_header) {
        clpi_say(e, s->pos, "stores stand in the body only");
        return;
    }
    bool ok = clpi_eval_place(e, s->place, &place);
    clp_val before = { 0 };
    if (ok && s->op != CLPI_T_END) {           /* read first, as in x[...] = x[...] + v */
        clpi_at_pos(e, s->pos);
        before = clpi_make_load(e->b, place.operand, place.subs, place.n, (clp_val){ 0 }, (clp_val){ 0 });
    }
    clpi_meaning m = clpi_eval(e, s->value);
    if (!ok || m.kind == CLPI_IS_NOTHING)
        return;
    if (s->op != CLPI_T_END) {
        m = clpi_apply_at(e, clpi_op_of_token(s->op, 2), (clpi_meaning[]){ clpi_mean_value(before), m }, 2, s->pos,
                          (clpi_pos[]){ s->pos, s->value->pos });
        if (m.kind == CLPI_IS_NOTHING)
            return;
    }
    clp_val v = clpi_to_value(e, &m, clpi_place_dtype(e, &place), s->value->pos);
    clpi_at_pos(e, s->pos);
    clpi_make_store(e->b, place.operand, place.subs, place.n, v, (clp_val){ 0 });
}

/* ---- Statements -------------------------------------------------------------------------------------------------- */

static void elaborate_stmt(clpi_elab *e, const clpi_stmt *s)
{
    switch (s->kind) {
    case CLPI_ST_LET: case CLPI_ST_VAR: elaborate_let(e, s); break;
    case CLPI_ST_ASSIGN:
        if (s->place->kind == CLPI_EX_NAME)
            assign_var(e, s);
        else
            assign_place(e, s);
        break;
    case CLPI_ST_CALL: clpi_eval_call(e, s->value, true); break;
    case CLPI_ST_IF: elaborate_if(e, s); break;
    case CLPI_ST_FOR: elaborate_for(e, s); break;
    case CLPI_ST_STATIC_FOR: elaborate_static_for(e, s); break;
    case CLPI_ST_WHILE: elaborate_while(e, s); break;
    }
}

void clpi_elaborate_stmts(clpi_elab *e, const clpi_stmts *stmts)
{
    for (uint32_t i = 0; i < stmts->n; i++) {
        clpi_pos pos = stmts->items[i]->pos;
        if (!clpi_take_step(e, pos) || !clpi_descend(e, pos))
            return;
        const uint64_t used = e->used;
        e->used = 0;
        elaborate_stmt(e, stmts->items[i]);
        e->used = used;
        clpi_ascend(e);
    }
}

void clpi_elaborate_body(clpi_elab *e, const clpi_stmts *stmts)
{
    uint32_t before = e->names.n;
    clpi_elaborate_stmts(e, stmts);
    clpi_unbind(e, before);
}
