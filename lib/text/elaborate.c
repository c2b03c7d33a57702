/* elaborate: a kernel of a parsed file as IR.
 * In: a tree, the kernel's name, its parameters. Out: IR that the caller verifies, or up to 20 errors.
 * Decides the order of things, and how much work a kernel text may ask for: `static for` and fns can ask for any amount. */
#include "text/elaborate.h"

#include <string.h>

/* What the caller has a hand in is said: "...; b is 0". */
static void report(void *user, clpi_pos pos, const char *text)
{
    clpi_elab *e = user;
    clpi_str params;
    clpi_str_init(&params, e->env);
    clpi_params_print(e, true, &params);
    const char *before = params.n ? "; " : "";
    if (e->call_pos.line)
        clpi_diag_add(e->diag, e->call_pos, "in `%s`: %s%s%s", e->call_name, text, before, params.text);
    else
        clpi_diag_add(e->diag, pos, "%s%s%s", text, before, params.text);
    e->diag->failed = e->diag->failed || params.failed;
    clpi_str_done(&params);
    e->stopped = e->stopped || clpi_diag_is_full(e->diag);
}

/* names NULL: nothing is suggested. */
static void say(clpi_elab *e, clpi_pos pos, const char *name, const char *const *names, int n, const char *format, va_list args)
{
    clpi_str s;
    clpi_str_init(&s, e->env);
    clpi_str_add_v(&s, format, args);
    if (names)
        clpi_suggest(&s, name, names, n);
    e->diag->failed = e->diag->failed || s.failed;
    report(e, pos, s.text);
    clpi_str_done(&s);
}

void clpi_say(clpi_elab *e, clpi_pos pos, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(e, pos, NULL, NULL, 0, format, args);
    va_end(args);
}

void clpi_say_none_of(clpi_elab *e, clpi_pos pos, const char *name, const char *const *names, int n, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(e, pos, name, names, n, format, args);
    va_end(args);
}

clpi_pos clpi_shown_pos(const clpi_elab *e, clpi_pos pos)
{
    return e->call_pos.line ? e->call_pos : pos;
}

bool clpi_take_step(clpi_elab *e, clpi_pos pos)
{
    if (e->stopped || e->arena->failed)
        return false;
    if (e->n_steps++ < e->max_steps)
        return true;
    clpi_say(e, pos, "the kernel is too long with its fns inlined and its `static for`s unrolled");
    e->stopped = true;
    return false;
}

bool clpi_descend(clpi_elab *e, clpi_pos pos)
{
    if (e->depth < CLPI_MAX_DEPTH) {
        e->depth++;
        return true;
    }
    clpi_say(e, pos, "nested too deeply, with fns inlined");
    e->stopped = true;
    return false;
}

void clpi_elab_init(clpi_elab *e, clpi_env *env, clpi_arena *arena, clpi_diag *diag, clpi_build *b)
{
    enum { MAX_STEPS = 1 << 20 };
    *e = (clpi_elab){ .env = env, .arena = arena, .diag = diag, .b = b, .frame_end = UINT32_MAX };
    e->max_steps = MAX_STEPS + (diag->source ? 4 * (uint64_t)diag->source->n_bytes : 0);
    if (b->ir)
        clpi_build_init(b, b->ir, report, e);
}

static clp_status elaborate(clpi_elab *e, const char *params)
{
    CLP_TRY(clpi_bind_params(e, params));
    if (clpi_elaborate_header(e)) {
        clpi_build_begin_body(e->b);
        clpi_elaborate_body(e, &e->kernel->body);
        (void)clpi_build_end(e->b);
    }
    return clpi_diag_finish(e->diag, CLP_ERR_INVALID);
}

clp_status clpi_elaborate(clpi_env *env, clpi_arena *arena, const clpi_file *file, const char *name, const char *params, clpi_ir **out_ir)
{
    *out_ir = NULL;
    const clpi_kernel_decl *kernel = clpi_choose_kernel(env, file, name);
    if (!kernel)
        return CLP_ERR_ARG;
    clpi_diag diag;
    clpi_build b = { .ir = clpi_ir_new(env, arena, kernel->name.text) };
    clpi_elab *e = CLPI_NEW(arena, clpi_elab);
    if (!b.ir || !e)
        return CLP_ERR_OOM;
    clpi_diag_init(&diag, env, arena, file->source);
    clpi_elab_init(e, env, arena, &diag, &b);
    e->file = file;
    e->kernel = kernel;
    b.ir->source = file->source;
    b.ir->math_fast = kernel->math_fast;
    CLP_TRY(elaborate(e, params));
    *out_ir = b.ir;
    return CLP_OK;
}

static clp_status eval_tune(clpi_elab *e, const clpi_tune_decl *decl, clpi_tune *out)
{
    int64_t *values = CLPI_NEW_N(e->arena, int64_t, (size_t)decl->values.n + 1);
    if (!values)
        return CLP_ERR_OOM;
    for (uint32_t k = 0; k < decl->values.n; k++)
        clpi_eval_int(e, decl->values.items[k], "a value of `tune`", &values[k]);
    *out = (clpi_tune){ .param = decl->name.text, .values = values, .n_values = (int)decl->values.n };
    for (uint32_t i = 0; i < e->kernel->params.n; i++)
        if (strcmp(e->kernel->params.items[i].name.text, out->param) == 0)
            out->is_given = e->is_given[i];
    const clpi_binding *param = clpi_find(e, out->param);
    if (!param || param->meaning.kind != CLPI_IS_INT || !clpi_exact_to(param->meaning.integer, &out->value))
        clpi_say(e, decl->name.pos, "`tune` takes integer parameters: %s is none", out->param);
    return CLP_OK;
}

clp_status clpi_tunes(clpi_env *env, clpi_arena *arena, const clpi_file *file, const char *name, const char *params,
                      const clpi_tune **out_tunes, int *out_n)
{
    *out_tunes = NULL;
    *out_n = 0;
    const clpi_kernel_decl *kernel = clpi_choose_kernel(env, file, name);
    if (!kernel)
        return CLP_ERR_ARG;
    if (kernel->tunes.n == 0)
        return CLP_OK;
    clpi_diag diag;
    clpi_build b = { .ir = clpi_ir_new(env, arena, kernel->name.text) };
    clpi_elab *e = CLPI_NEW(arena, clpi_elab);
    clpi_tune *tunes = CLPI_NEW_N(arena, clpi_tune, (size_t)kernel->tunes.n);
    if (!b.ir || !e || !tunes)
        return CLP_ERR_OOM;
    clpi_diag_init(&diag, env, arena, file->source);
    clpi_elab_init(e, env, arena, &diag, &b);
    e->file = file;
    e->kernel = kernel;
    CLP_TRY(clpi_bind_params(e, params));
    for (uint32_t i = 0; i < kernel->tunes.n; i++)
        CLP_TRY(eval_tune(e, &kernel->tunes.items[i], &tunes[i]));
    CLP_TRY(clpi_diag_finish(&diag, CLP_ERR_INVALID));
    *out_tunes = tunes;
    *out_n = (int)kernel->tunes.n;
    return CLP_OK;
}
