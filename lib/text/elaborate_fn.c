/* elaborate_fn: fns, inlined.
 * In: a fn and the meanings of its arguments. Out: what it returns; its statements have been elaborated here.
 * A fn sees its parameters and the constants of the file. Places inside a standard fn are those of its call.            */
#include "text/elaborate.h"

#include <string.h>

static const clpi_meaning nothing = { .kind = CLPI_IS_NOTHING };

/* What belongs to the caller, put back when the fn is done. */
typedef struct saved {
    uint32_t frame_begin, frame_end, n_names;
    clpi_pos call_pos;
    const char *call_name;
    bool makes_dims;
} saved;

/* Each parameter without a default has one value. Told at the call. */
static bool check_args(clpi_elab *e, const clpi_fn_decl *fn, const clpi_expr *x, const clpi_meaning *args, const clpi_pos *pos)
{
    for (uint32_t k = 0; k < fn->params.n; k++) {
        const clpi_fn_param *param = &fn->params.items[k];
        if (args[k].kind == CLPI_IS_ABSENT && !param->value) {
            clpi_say(e, x->pos, "`%s` takes %u argument%s: `%s` is missing", fn->name.text, fn->params.n, fn->params.n == 1 ? "" : "s",
                     param->name.text);
            return false;
        }
        if (args[k].kind == CLPI_IS_LIST && args[k].is_returned) {
            clpi_say(e, pos[k], "`%s` is one value: %u were returned", param->name.text, args[k].n);
            return false;
        }
    }
    return true;
}

static bool bind_params(clpi_elab *e, const clpi_fn_decl *fn, const clpi_meaning *args)
{
    for (uint32_t k = 0; k < fn->params.n; k++) {
        const clpi_fn_param *param = &fn->params.items[k];
        clpi_meaning m = args[k].kind == CLPI_IS_ABSENT ? clpi_eval(e, param->value) : args[k];
        if (m.kind == CLPI_IS_NOTHING || !clpi_name_bind(e, param->name, CLPI_BIND_LET, 0, m))
            return false;
    }
    return true;
}

static clpi_meaning eval_returns(clpi_elab *e, const clpi_fn_decl *fn)
{
    if (fn->returns.n == 0)
        return (clpi_meaning){ .kind = CLPI_IS_ABSENT };
    if (fn->returns.n == 1)
        return clpi_eval(e, fn->returns.items[0]);
    clpi_meaning *items = CLPI_NEW_N(e->arena, clpi_meaning, fn->returns.n);
    bool ok = items != NULL;
    for (uint32_t i = 0; ok && i < fn->returns.n; i++) {
        items[i] = clpi_eval(e, fn->returns.items[i]);
        ok = items[i].kind != CLPI_IS_NOTHING;
    }
    return ok ? (clpi_meaning){ .kind = CLPI_IS_LIST, .items = items, .n = fn->returns.n, .is_returned = true } : nothing;
}

static bool is_active(const clpi_elab *e, const clpi_fn_decl *fn)
{
    for (const clpi_active *active = e->active; active; active = active->caller)
        if (active->fn == fn)
            return true;
    return false;
}

clpi_meaning clpi_inline(clpi_elab *e, const clpi_fn_decl *fn, const clpi_expr *x, const clpi_meaning *args, const clpi_pos *pos)
{
    if (is_active(e, fn)) {
        clpi_say(e, x->pos, "`%s` calls itself: fns are inlined, so none may", fn->name.text);
        return nothing;
    }
    if (!check_args(e, fn, x, args, pos) || !clpi_take_step(e, x->pos) || !clpi_descend(e, x->pos))
        return nothing;
    saved before = { e->frame_begin, e->frame_end, e->names.n, e->call_pos, e->call_name, e->makes_dims };
    clpi_active active = { fn, e->active };
    if (fn->is_standard && e->call_pos.line == 0) {
        e->call_pos = x->pos;
        e->call_name = fn->name.text;
    }
    e->active = &active;
    e->frame_begin = e->names.n;
    e->frame_end = UINT32_MAX;
    e->makes_dims = false;

    clpi_meaning m = nothing;
    if (bind_params(e, fn, args)) {
        clpi_elaborate_stmts(e, &fn->body);
        m = eval_returns(e, fn);
    }

    clpi_unbind(e, before.n_names);
    e->active = active.caller;
    e->frame_begin = before.frame_begin;
    e->frame_end = before.frame_end;
    e->call_pos = before.call_pos;
    e->call_name = before.call_name;
    e->makes_dims = before.makes_dims;
    clpi_ascend(e);
    return m;
}
