/* elaborate_param: which kernel, and its parameters.
 * In: a file, a name, "bm=64, T=bf16, act=relu". Out: the constants of the file and the parameters of the kernel, bound.
 * A parameter is of the kind of its default: integer, float, boolean, dtype or fn. Later defaults see earlier values.    */
#include "text/elaborate.h"

#include <string.h>

#include "text/parse.h"

/* ---- The kernel -------------------------------------------------------------------------------------------------- */

static const clpi_kernel_decl *fail_to_choose(clpi_env *env, const clpi_file *file, const char *name)
{
    enum { MAX_SHOWN = 20 };
    clpi_str s;
    clpi_str_init(&s, env);
    for (uint32_t i = 0; i < file->kernels.n && i < MAX_SHOWN; i++)
        clpi_str_add(&s, "%s%s", i ? ", " : "", file->kernels.items[i]->name.text);
    if (file->kernels.n > MAX_SHOWN)
        clpi_str_puts(&s, ", ...");
    const char *in = file->source->file ? file->source->file : "the text";
    if (file->kernels.n == 0)
        clpi_fail(env, CLP_ERR_ARG, "%s has no kernel", in);
    else if (name)
        clpi_fail(env, CLP_ERR_ARG, "%s has no kernel `%.80s`; it has %s", in, name, s.text);
    else
        clpi_fail(env, CLP_ERR_ARG, "%s has %u kernels, name one: %s", in, file->kernels.n, s.text);
    clpi_str_done(&s);
    return NULL;
}

/* The first of two kernels of one name, which no name can choose between; NULL: there are none. */
static const clpi_kernel_decl *find_twin(const clpi_file *file)
{
    enum { MAX_COMPARED = 1000 };
    for (uint32_t i = 1; i < file->kernels.n && i < MAX_COMPARED; i++)
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(file->kernels.items[i]->name.text, file->kernels.items[k]->name.text) == 0)
                return file->kernels.items[k];
    return NULL;
}

/* A kernel whose name another one has is chosen all the same: elaborating it says what is wrong, with the place. */
const clpi_kernel_decl *clpi_choose_kernel(clpi_env *env, const clpi_file *file, const char *name)
{
    const clpi_kernel_decl *twin = name ? NULL : find_twin(file);
    if (!name && (twin || file->kernels.n == 1))
        return twin ? twin : file->kernels.items[0];
    if (!name)
        return fail_to_choose(env, file, name);
    for (uint32_t i = 0; i < file->kernels.n; i++)
        if (strcmp(file->kernels.items[i]->name.text, name) == 0)
            return file->kernels.items[i];
    return fail_to_choose(env, file, name);
}

/* ---- Values from the caller -------------------------------------------------------------------------------------- */

typedef struct given { clpi_name name; clpi_expr *value; } given;
typedef struct givens { given *items; uint32_t n, cap; } givens;

/* "bm=64, T=bf16" as names and expressions. */
static bool parse_givens(clpi_elab *e, clpi_diag *diag, const clpi_source *source, givens *out)
{
    clpi_parser p;
    if (!clpi_parser_init(&p, diag, e->arena, source))
        return false;
    while (!clpi_at(&p, CLPI_T_END)) {
        given g;
        if (!clpi_expect_name(&p, "the name of a parameter", &g.name) || !clpi_expect(&p, CLPI_T_ASSIGN, "the parameter") ||
            !(g.value = clpi_parse_expr(&p)))
            break;
        for (uint32_t i = 0; i < out->n; i++)
            if (strcmp(out->items[i].name.text, g.name.text) == 0)
                clpi_diag_add(diag, g.name.pos, "parameter %s is given twice", g.name.text);
        if (!CLPI_PUSH(e->arena, out, g))
            return false;
        if (!clpi_take(&p, CLPI_T_COMMA) && !clpi_at(&p, CLPI_T_END)) {
            clpi_expected(&p, "`,` between parameters");
            break;
        }
    }
    return true;
}

static void say_no_param(clpi_elab *e, clpi_diag *diag, const clpi_name *name)
{
    struct { const char **items; uint32_t n, cap; } names = { 0 };
    for (uint32_t i = 0; i < e->kernel->params.n; i++)
        (void)CLPI_PUSH(e->arena, &names, e->kernel->params.items[i].name.text);
    clpi_diag *of_file = e->diag;
    e->diag = diag;
    clpi_say_none_of(e, name->pos, name->text, names.items, (int)names.n, "%s has no parameter `%.40s`", e->kernel->name.text, name->text);
    e->diag = of_file;
}

/* ---- Binding ----------------------------------------------------------------------------------------------------- */

static bool is_constant(const clpi_meaning *m)
{
    return clpi_is_exact(m) || m->kind == CLPI_IS_DTYPE || m->kind == CLPI_IS_LIST || m->kind == CLPI_IS_FN;
}

static void bind_consts(clpi_elab *e)
{
    for (uint32_t i = 0; i < e->file->consts.n; i++) {
        const clpi_const_decl *decl = &e->file->consts.items[i];
        clpi_meaning m = clpi_eval(e, decl->value);
        if (m.kind != CLPI_IS_NOTHING && !is_constant(&m)) {
            clpi_say(e, decl->value->pos, "a `const` is known when the kernel is built");
            m.kind = CLPI_IS_NOTHING;
        }
        clpi_name_bind(e, decl->name, CLPI_BIND_LET, 0, m);
        e->n_globals = e->frame_begin = e->names.n;
    }
}

static const char *kind_name(clpi_meaning_kind kind)
{
    switch ((int)kind) {
    case CLPI_IS_INT: return "an integer";
    case CLPI_IS_REAL: return "a float";
    case CLPI_IS_TRUTH: return "`true` or `false`";
    case CLPI_IS_DTYPE: return "a dtype";
    case CLPI_IS_FN: return "a function";
    default: return "a constant";
    }
}

/* The value of a parameter: where a function or a dtype is wanted, an unknown name is one of these. */
static clpi_meaning eval_param(clpi_elab *e, const clpi_expr *x, clpi_meaning_kind wanted)
{
    clp_dtype dtype;
    bool is_known = x->kind != CLPI_EX_NAME || clpi_find(e, x->name) || clpi_find_builtin(x->name) || clpi_find_fn(e, x->name);
    if (is_known || (wanted != CLPI_IS_FN && wanted != CLPI_IS_DTYPE))
        return clpi_eval(e, x);
    if (wanted == CLPI_IS_FN)
        clpi_say_unknown(e, "function", x->name, x->pos, true);
    else
        clpi_eval_dtype(e, x, &dtype);
    return (clpi_meaning){ .kind = CLPI_IS_NOTHING };
}

/* The default; NOTHING: reported. */
static clpi_meaning eval_default(clpi_elab *e, const clpi_param_decl *decl)
{
    clpi_meaning m = eval_param(e, decl->value, decl->is_fn ? CLPI_IS_FN : CLPI_IS_NOTHING);
    bool is_fn = m.kind == CLPI_IS_FN, is_ok = clpi_is_exact(&m) || m.kind == CLPI_IS_DTYPE || is_fn;
    if (m.kind == CLPI_IS_NOTHING || (is_ok && is_fn == decl->is_fn))
        return m;
    if (decl->is_fn)
        clpi_say(e, decl->value->pos, "expected a function as the default of `fn %s`", decl->name.text);
    else if (is_fn)
        clpi_say(e, decl->value->pos, "a parameter that stands for a function is written `fn %s = ...`", decl->name.text);
    else
        clpi_say(e, decl->value->pos, "a parameter is an integer, a float, a boolean, a dtype or a function");
    return (clpi_meaning){ .kind = CLPI_IS_NOTHING };
}

/* The caller's value, which is of the default's kind. */
static clpi_meaning eval_given(clpi_elab *e, const given *g, const clpi_meaning *otherwise)
{
    clpi_meaning m = eval_param(e, g->value, otherwise->kind);
    if (m.kind == CLPI_IS_NOTHING || otherwise->kind == CLPI_IS_NOTHING || m.kind == otherwise->kind)
        return m;
    if (otherwise->kind == CLPI_IS_REAL && m.kind == CLPI_IS_INT && !m.dtype) {
        m = clpi_cast_exact(&m, CLP_F64);
        m.dtype = CLP_DTYPE_NONE;
        return m;
    }
    if (otherwise->kind == CLPI_IS_TRUTH && m.kind == CLPI_IS_INT && m.integer.magnitude <= 1 && !m.integer.is_negative)
        return clpi_mean_truth(m.integer.magnitude == 1);
    clpi_str s;
    clpi_str_init(&s, e->env);
    clpi_meaning_print(e, &s, &m);
    clpi_say(e, g->value->pos, "parameter %s: expected %s, got %s", g->name.text, kind_name(otherwise->kind), s.text);
    clpi_str_done(&s);
    return (clpi_meaning){ .kind = CLPI_IS_NOTHING };
}

static const clpi_meaning *value_of(const clpi_elab *e, const char *param)
{
    for (uint32_t i = e->kernel_begin; i < e->names.n; i++)
        if (e->names.items[i].name == param)
            return &e->names.items[i].meaning;
    return NULL;
}

void clpi_params_print(clpi_elab *e, bool given_only, clpi_str *s)
{
    for (uint32_t i = 0; i < 64 && e->used >> i; i++) {
        const char *name = e->kernel->params.items[i].name.text;
        const clpi_meaning *m = value_of(e, name);
        if (!(e->used >> i & 1) || (given_only && !e->is_given[i]) || !m || m->kind == CLPI_IS_NOTHING)
            continue;
        clpi_str_add(s, "%s%s is ", s->n ? ", " : "", name);
        if (m->kind == CLPI_IS_DTYPE)
            clpi_str_puts(s, clp_dtype_name(m->dtype));
        else if (m->kind == CLPI_IS_FN)
            clpi_str_puts(s, m->fn ? m->fn->name.text : m->builtin->name);
        else
            clpi_exact_print(s, m);
    }
}

/* Names of fns and kernels that are taken. */
static void check_names(clpi_elab *e)
{
    const clpi_file *file = e->file;
    for (uint32_t i = 0; i < file->fns.n && !e->stopped; i++) {
        const clpi_name *name = &file->fns.items[i]->name;
        if (clpi_find_builtin(name->text))
            clpi_say(e, name->pos, "`%s` is a built-in function, which a fn cannot hide", name->text);
    }
    for (uint32_t i = 0; i < file->kernels.n && !e->stopped; i++) {
        const clpi_kernel_decl *other = file->kernels.items[i];
        if (other != e->kernel && strcmp(other->name.text, e->kernel->name.text) == 0)
            clpi_say(e, other->name.pos, "there are two kernels named `%s`: the first is in line %u", other->name.text, e->kernel->name.pos.line);
    }
}

clp_status clpi_bind_params(clpi_elab *e, const char *params)
{
    clpi_diag diag, *of_file = e->diag;
    clpi_source *source = CLPI_NEW(e->arena, clpi_source);
    givens gs = { 0 };
    if (!source)
        return CLP_ERR_OOM;
    size_t n = params ? strlen(params) : 0;
    *source = (clpi_source){ "parameters", n ? clpi_arena_strndup(e->arena, params, n) : "", n };
    clpi_diag_init(&diag, e->env, e->arena, source);
    if (!source->text || !parse_givens(e, &diag, source, &gs))
        return CLP_ERR_OOM;
    CLP_TRY(clpi_diag_finish(&diag, CLP_ERR_ARG));

    e->is_given = CLPI_NEW_N(e->arena, bool, (size_t)e->kernel->params.n + 1);
    if (!e->is_given || !clpi_sort_fns(e))
        return CLP_ERR_OOM;
    check_names(e);
    e->in_constants = true;
    e->may_stand = "a constant is made of constants declared before it";
    bind_consts(e);
    e->may_stand = "a parameter is made of constants and earlier parameters";
    e->kernel_begin = e->names.n;
    for (uint32_t i = 0; i < e->kernel->params.n; i++) {
        const clpi_param_decl *decl = &e->kernel->params.items[i];
        e->used = 0;
        clpi_meaning m = eval_default(e, decl);
        for (uint32_t k = 0; k < gs.n; k++) {
            if (strcmp(gs.items[k].name.text, decl->name.text) != 0)
                continue;
            e->diag = &diag;
            e->used = 0;
            m = eval_given(e, &gs.items[k], &m);
            e->diag = of_file;
            e->is_given[i] = true;
            gs.items[k].value = NULL;
        }
        e->used |= i < 64 ? UINT64_C(1) << i : 0;
        clpi_name_bind(e, decl->name, CLPI_BIND_LET, 0, m);
    }
    e->used = 0;
    e->in_constants = false;
    e->may_stand = NULL;
    for (uint32_t k = 0; k < gs.n; k++)
        if (gs.items[k].value)
            say_no_param(e, &diag, &gs.items[k].name);
    return clpi_diag_finish(&diag, CLP_ERR_ARG);
}
