/* elaborate_call: calls.
 * In: a name and arguments as written. Out: what the built-in or the inlined fn gives.
 * Decides which argument is which parameter; what to do with them is elaborate_builtin.c's and elaborate_fn.c's.        */
#include "text/elaborate.h"

#include <string.h>

static const clpi_meaning nothing = { .kind = CLPI_IS_NOTHING };

/* ---- Built-ins --------------------------------------------------------------------------------------------------- */

static int n_params(const clpi_builtin *builtin)
{
    int n = 0;
    while (n < CLPI_MAX_ARGS && builtin->params[n])
        n++;
    return n;
}

/* The parameter that argument i stands for; -1: none, reported. */
static int param_of(clpi_elab *e, const clpi_builtin *builtin, const clpi_arg *arg, int i_positional)
{
    int n = n_params(builtin);
    if (!arg->name) {
        if (i_positional < n)
            return i_positional;
        if (n == 0)
            clpi_say(e, arg->pos, "`%s` takes no arguments", builtin->name);
        else
            clpi_say(e, arg->pos, "`%s` takes %d argument%s", builtin->name, n, n == 1 ? "" : "s");
        return -1;
    }
    for (int k = 0; k < n; k++)
        if (strcmp(builtin->params[k], arg->name) == 0)
            return k;
    clpi_say_none_of(e, arg->pos, arg->name, builtin->params, n, "`%s` has no argument named `%.40s`", builtin->name, arg->name);
    return -1;
}

/* The number of a grid axis: named, or a constant integer. */
static bool eval_axis(clpi_elab *e, const clpi_expr *x, clpi_meaning *out)
{
    const clpi_binding *binding = x->kind == CLPI_EX_NAME ? clpi_find(e, x->name) : NULL;
    int64_t number = -1, n = e->b->ir->n_axes;
    if (binding && binding->kind == CLPI_BIND_AXIS) {
        number = binding->number;
    } else if (binding && binding->kind == CLPI_BIND_LET && binding->meaning.kind == CLPI_IS_VALUE && binding->meaning.axis) {
        number = binding->meaning.axis - 1;
    } else {
        clpi_meaning m = clpi_eval(e, x);
        if (m.kind == CLPI_IS_NOTHING)
            return false;
        if (m.kind != CLPI_IS_INT || !clpi_exact_to(m.integer, &number)) {
            clpi_say(e, x->pos, "expected the name of a grid axis");
            return false;
        }
    }
    if (number < 0 || number >= n) {
        clpi_say(e, x->pos, "the grid has no axis %lld: it has %lld", (long long)number, (long long)n);
        return false;
    }
    *out = clpi_mean_int(number);
    return true;
}

static bool eval_arg(clpi_elab *e, clpi_call *c, int k, const clpi_arg *arg)
{
    c->pos[k] = arg->value->pos;
    if (k == 0 && c->builtin->takes == CLPI_TAKES_AXIS)
        return eval_axis(e, arg->value, &c->args[0]);
    if (k == 0 && c->builtin->takes == CLPI_TAKES_PLACE) {
        c->args[0].kind = CLPI_IS_REF;
        return clpi_eval_place(e, arg->value, c->place);
    }
    c->args[k] = clpi_eval(e, arg->value);
    if (c->args[k].kind == CLPI_IS_ABSENT) {
        clpi_say(e, arg->pos, "this call returns nothing");
        return false;
    }
    return c->args[k].kind != CLPI_IS_NOTHING;
}

/* Functions of any number of arguments: the positional ones in `more`, the named ones as parameters. */
static bool eval_many(clpi_elab *e, clpi_call *c)
{
    uint32_t n = c->x->args.n;
    c->more = CLPI_NEW_N(e->arena, clpi_meaning, (size_t)n + 1);
    c->more_pos = CLPI_NEW_N(e->arena, clpi_pos, (size_t)n + 1);
    if (!c->more || !c->more_pos)
        return false;
    bool ok = true;
    for (uint32_t i = 0; i < n; i++) {
        const clpi_arg *arg = &c->x->args.items[i];
        if (arg->name) {
            int k = param_of(e, c->builtin, arg, 0);
            ok = k >= 0 && eval_arg(e, c, k, arg) && ok;
            continue;
        }
        c->more_pos[c->n_more] = arg->value->pos;
        c->more[c->n_more] = clpi_eval(e, arg->value);
        ok = c->more[c->n_more++].kind != CLPI_IS_NOTHING && ok;
    }
    return ok;
}

static bool eval_args(clpi_elab *e, clpi_call *c)
{
    bool ok = true;
    for (uint32_t i = 0; i < c->x->args.n; i++) {
        const clpi_arg *arg = &c->x->args.items[i];
        int k = param_of(e, c->builtin, arg, (int)(i < CLPI_MAX_ARGS ? i : CLPI_MAX_ARGS));
        if (k < 0)
            return false;
        if (c->args[k].kind != CLPI_IS_ABSENT) {
            clpi_say(e, arg->pos, "`%s` is given twice", c->builtin->params[k]);
            return false;
        }
        ok = eval_arg(e, c, k, arg) && ok;
    }
    for (int k = 0; ok && k < c->builtin->n_required; k++) {
        if (c->args[k].kind == CLPI_IS_ABSENT) {
            clpi_say(e, c->x->pos, "`%s` takes %d argument%s%s: `%s` is missing", c->builtin->name, c->builtin->n_required,
                     c->builtin->n_required == 1 ? "" : "s", n_params(c->builtin) > c->builtin->n_required ? " or more" : "",
                     c->builtin->params[k]);
            return false;
        }
    }
    return ok;
}

static clpi_meaning call_builtin(clpi_elab *e, const clpi_builtin *builtin, const clpi_expr *x, bool is_statement)
{
    clpi_place_meaning place;
    clpi_call c = { .builtin = builtin, .x = x, .place = &place };
    for (int k = 0; k < CLPI_MAX_ARGS; k++)
        c.args[k].kind = CLPI_IS_ABSENT;
    if (e->b->in_header && !builtin->in_header) {
        clpi_say(e, x->pos, "`%s` stands in the body only: shapes, maps, grids and `require` are integer expressions", builtin->name);
        return nothing;
    }
    if (is_statement && !builtin->has_effect) {
        clpi_say(e, x->pos, "`%s` has no effect: its value is not used", builtin->name);
        return nothing;
    }
    if (!(builtin->takes == CLPI_TAKES_MANY ? eval_many(e, &c) : eval_args(e, &c)))
        return nothing;
    clpi_at_pos(e, x->pos);
    return builtin->make(e, &c);
}

/* ---- fns --------------------------------------------------------------------------------------------------------- */

static int fn_param_of(clpi_elab *e, const clpi_fn_decl *fn, const clpi_arg *arg, uint32_t i)
{
    if (!arg->name) {
        if (i < fn->params.n)
            return (int)i;
        clpi_say(e, arg->pos, "`%s` takes %u argument%s", fn->name.text, fn->params.n, fn->params.n == 1 ? "" : "s");
        return -1;
    }
    for (uint32_t k = 0; k < fn->params.n; k++)
        if (strcmp(fn->params.items[k].name.text, arg->name) == 0)
            return (int)k;
    struct { const char **items; uint32_t n, cap; } names = { 0 };
    for (uint32_t k = 0; k < fn->params.n; k++)
        (void)CLPI_PUSH(e->arena, &names, fn->params.items[k].name.text);
    clpi_say_none_of(e, arg->pos, arg->name, names.items, (int)names.n, "`%s` has no argument named `%.40s`", fn->name.text, arg->name);
    return -1;
}

static clpi_meaning call_fn(clpi_elab *e, const clpi_fn_decl *fn, const clpi_expr *x)
{
    size_t n = (size_t)fn->params.n + 1;
    clpi_meaning *args = CLPI_NEW_N(e->arena, clpi_meaning, n);
    clpi_pos *pos = CLPI_NEW_N(e->arena, clpi_pos, n);
    bool ok = args && pos;
    for (uint32_t k = 0; ok && k < fn->params.n; k++)
        args[k].kind = CLPI_IS_ABSENT;
    for (uint32_t i = 0; ok && i < x->args.n; i++) {
        const clpi_arg *arg = &x->args.items[i];
        int k = fn_param_of(e, fn, arg, i);
        if (k < 0)
            return nothing;
        if (args[k].kind != CLPI_IS_ABSENT) {
            clpi_say(e, arg->pos, "`%s` is given twice", fn->params.items[k].name.text);
            return nothing;
        }
        args[k] = clpi_eval(e, arg->value);
        pos[k] = arg->value->pos;
        if (args[k].kind == CLPI_IS_ABSENT || args[k].kind == CLPI_IS_STRING)
            clpi_say(e, arg->pos, args[k].kind == CLPI_IS_STRING ? "strings stand only in `print` and `assert`" : "this call returns nothing");
        ok = args[k].kind != CLPI_IS_NOTHING && args[k].kind != CLPI_IS_ABSENT && args[k].kind != CLPI_IS_STRING;
    }
    return ok ? clpi_inline(e, fn, x, args, pos) : nothing;
}

clpi_meaning clpi_eval_call(clpi_elab *e, const clpi_expr *x, bool is_statement)
{
    const clpi_binding *binding = clpi_find(e, x->name);
    if (binding && binding->kind == CLPI_BIND_LET && binding->meaning.kind == CLPI_IS_FN) {
        const clpi_meaning *m = &binding->meaning;
        return m->fn ? call_fn(e, m->fn, x) : call_builtin(e, m->builtin, x, is_statement);
    }
    const clpi_builtin *builtin = clpi_find_builtin(x->name);
    if (builtin)
        return call_builtin(e, builtin, x, is_statement);
    const clpi_fn_decl *fn = clpi_find_fn(e, x->name);
    if (fn)
        return call_fn(e, fn, x);
    if (binding && (binding->kind == CLPI_BIND_OPERAND || binding->kind == CLPI_BIND_LET || binding->kind == CLPI_BIND_VAR))
        clpi_say(e, x->pos, "%s is no function; its elements are %s[...]", x->name, x->name);
    else if (strcmp(x->name, "ds") == 0)
        clpi_say(e, x->pos, "`ds` stands in subscripts only");
    else
        clpi_say_unknown(e, "function", x->name, x->pos, true);
    return nothing;
}
