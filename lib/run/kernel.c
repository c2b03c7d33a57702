/* kernel: from text or a description to what the device runs.
 * In: a source and parameters, a description, or a kernel to be batched. Out: a kernel, or all those of a text, compiled for
 * the context's device, so that every error that does not depend on arrays shows here; without code in a context for text only.
 * One with parameters left open has no code yet either, as the first launch may want other values than the defaults: the
 * device has only been asked whether it could.
 * kernel_plan and kernels_compile are the compiler: each stage is a call, in order.                                    */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "run/choose.h"
#include "text/text.h"
#include "trace/trace.h"

/* A text as it was read; its kernels share it. */
struct clpi_script {
    clpi_env   *env;
    clpi_arena  arena;
    clpi_file  *file;
    atomic_int  n_users;                  /* the last one frees it */
};

/* What a kernel is made of: a text with a name and parameters in it, a description, or another kernel to be batched. */
typedef struct origin {
    clpi_script           *script;
    const char            *name, *params;
    const clp_kernel_desc *desc;
    const clpi_ir         *member;
    const bool            *batched;       /* [member->n_operands] */
    bool                   is_closed;     /* what params leave open has its default, whatever the launch */
    bool                   is_trial;      /* nothing is dumped */
} origin;

static void script_drop(clpi_script *script)
{
    if (!script || atomic_fetch_sub(&script->n_users, 1) > 1)
        return;
    clpi_arena_done(&script->arena);
    clpi_free(script->env, script, 1, sizeof *script);
}

static clp_status script_parse(clpi_script *script, const clpi_source *from)
{
    clpi_source *source = CLPI_NEW(&script->arena, clpi_source);
    if (!source)
        return CLP_ERR_OOM;
    source->file = clpi_arena_strndup(&script->arena, from->file, strlen(from->file));
    source->text = clpi_arena_strndup(&script->arena, from->text, from->n_bytes);
    source->n_bytes = from->n_bytes;
    if (!source->file || !source->text)
        return CLP_ERR_OOM;
    return clpi_parse(script->env, &script->arena, source, &script->file);
}

/* Its first user is the caller. */
static clp_status script_new(clpi_env *env, const clpi_source *from, clpi_script **out_script)
{
    *out_script = NULL;
    clpi_script *script = clpi_alloc(env, 1, sizeof *script);
    if (!script)
        return CLP_ERR_OOM;
    script->env = env;
    atomic_init(&script->n_users, 1);
    clpi_arena_init(&script->arena, env);
    clp_status status = script_parse(script, from);
    if (status)
        script_drop(script);
    else
        *out_script = script;
    return status;
}

static clp_status read_script(clp_kernel *k, const origin *from)
{
    k->script = from->script;
    atomic_fetch_add(&k->script->n_users, 1);
    return clpi_elaborate(&k->ctx->env, &k->arena, k->script->file, from->name, from->params, &k->ir);
}

static clp_status leave_open(clp_kernel *k, const origin *from)
{
    if (!from->script || from->is_closed || k->ctx->text_only)
        return CLP_OK;
    return clpi_choices_new(k, k->script->file, from->params, &k->choices);
}

static clp_status simplify(clp_kernel *k)
{
    clpi_arena pass;
    clpi_arena_init(&pass, &k->ctx->env);
    clp_status status = clpi_simplify(k->ir, &pass);
    clpi_arena_done(&pass);
    return status;
}

/* Hands the text of a stage to the context's hook, where there is one. */
static clp_status dump(const clp_kernel *k, const char *stage)
{
    const clpi_host *host = &k->ctx->host;
    if (!host->dump)
        return CLP_OK;
    clpi_str s;
    clpi_str_init(&s, &k->ctx->env);
    if (k->plan)
        clpi_plan_print(k->plan, &s);
    else
        clpi_ir_print(k->ir, &s);
    if (!s.failed)
        host->dump(stage, k->ir->name, s.text, host->dump_user);
    clp_status status = s.failed ? CLP_ERR_OOM : CLP_OK;
    clpi_str_done(&s);
    return status;
}

static clp_status list_operands(clp_kernel *k)
{
    k->operands = CLPI_NEW_N(&k->arena, int, (size_t)k->ir->n_operands);
    if (!k->operands)
        return CLP_ERR_OOM;
    for (int i = 0; i < k->ir->n_operands; i++)
        if (k->ir->operands[i].role != CLP_SCRATCH)
            k->operands[k->n_operands++] = i;
    return CLP_OK;
}

static clp_status kernel_plan(clp_kernel *k, const origin *from)
{
    clp_context *ctx = k->ctx;
    if (from->script)
        CLP_TRY(read_script(k, from));
    else if (from->desc)
        CLP_TRY(clpi_trace(&ctx->env, &k->arena, from->desc, &k->ir));
    else
        CLP_TRY(clpi_ir_batch(from->member, &k->arena, from->batched, &k->ir));
    CLP_TRY(clpi_verify(k->ir, from->member ? CLP_ERR_INTERNAL : CLP_ERR_INVALID));
    CLP_TRY(simplify(k));
    CLP_TRY(clpi_verify(k->ir, CLP_ERR_INTERNAL));
    if (!from->is_trial)
        CLP_TRY(dump(k, "ir"));
    CLP_TRY(clpi_plan_new(k->ir, &k->arena, &k->plan));
    if (!from->is_trial)
        CLP_TRY(dump(k, "plan"));
    CLP_TRY(list_operands(k));
    return leave_open(k, from);
}

/* What is left is the device's, which compiles all of them at once. */
static clp_status compile_all(clp_context *ctx, clp_kernel **kernels, int n)
{
    if (n == 0)
        return CLP_OK;
    clpi_arena arena;
    clpi_arena_init(&arena, &ctx->env);
    clpi_unit *units = CLPI_NEW_N(&arena, clpi_unit, (size_t)n);
    void **exes = CLPI_NEW_N(&arena, void *, (size_t)n);
    clp_status status = units && exes ? CLP_OK : CLP_ERR_OOM;
    for (int i = 0; !status && i < n; i++)
        units[i] = (clpi_unit){ kernels[i]->ir, kernels[i]->plan };
    if (!status)
        status = ctx->backend->compile(ctx->dev, units, n, ctx->schedule, ctx->is_checked, exes);
    for (int i = 0; !status && i < n; i++)
        kernels[i]->exe = exes[i];
    clpi_arena_done(&arena);
    return status;
}

/* Of those that launches will choose for, the device says whether it could. */
static clp_status kernels_compile(clp_context *ctx, clp_kernel **kernels, int n)
{
    if (ctx->text_only)
        return CLP_OK;
    clp_kernel **settled = clpi_alloc(&ctx->env, (size_t)n + 1, sizeof *settled);
    clp_status status = settled ? CLP_OK : CLP_ERR_OOM;
    int n_settled = 0;
    for (int i = 0; !status && i < n; i++) {
        if (kernels[i]->choices)
            status = ctx->backend->compile(ctx->dev, &(clpi_unit){ kernels[i]->ir, kernels[i]->plan }, 1, ctx->schedule,
                                           ctx->is_checked, NULL);
        else
            settled[n_settled++] = kernels[i];
    }
    if (!status)
        status = compile_all(ctx, settled, n_settled);
    clpi_free(&ctx->env, settled, (size_t)n + 1, sizeof *settled);
    return status;
}

clp_status clpi_kernel_ready(clp_kernel *kernel)
{
    clp_context *ctx = kernel->ctx;
    if (ctx->text_only)
        return clpi_fail(&ctx->env, CLP_ERR_ARG, "%s: its context makes kernels for their text only", kernel->ir->name);
    if (kernel->exe)
        return CLP_OK;
    pthread_mutex_lock(&kernel->building);
    clp_status status = kernel->exe ? CLP_OK : compile_all(ctx, &kernel, 1);
    pthread_mutex_unlock(&kernel->building);
    return status;
}

/* A kernel up to its plan. */
static clp_status kernel_start(clp_context *ctx, const origin *from, clp_kernel **out_kernel)
{
    *out_kernel = NULL;
    clp_kernel *k = clpi_alloc(&ctx->env, 1, sizeof *k);
    if (!k)
        return CLP_ERR_OOM;
    k->ctx = ctx;
    atomic_init(&k->n_users, 1);
    k->building = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    clpi_again_init(&k->again, &ctx->env);
    clpi_arena_init(&k->arena, &ctx->env);
    clp_status status = kernel_plan(k, from);
    if (status)
        clp_kernel_free(k);
    else
        *out_kernel = k;
    return status;
}

static clp_status kernel_new(clp_context *ctx, const origin *from, clp_kernel **out_kernel)
{
    clp_kernel *k;
    CLP_TRY(kernel_start(ctx, from, &k));
    clp_status status = kernels_compile(ctx, &k, 1);
    if (status)
        clp_kernel_free(k);
    else
        *out_kernel = k;
    return status;
}

void clp_kernel_free(clp_kernel *kernel)
{
    if (!kernel || atomic_fetch_sub(&kernel->n_users, 1) > 1)
        return;
    clp_context *ctx = kernel->ctx;
    clpi_again_done(&kernel->again);
    clpi_choices_free(kernel->choices, &ctx->env);
    if (kernel->exe)
        ctx->backend->discard(kernel->exe);
    pthread_mutex_destroy(&kernel->building);
    clpi_plan_done(kernel->plan);
    clpi_arena_done(&kernel->arena);
    script_drop(kernel->script);
    clpi_free(&ctx->env, kernel, 1, sizeof *kernel);
}

clp_status clpi_kernel_from_source(clp_context *ctx, const clpi_source *source, const char *name, const char *params,
                                   clp_kernel **out_kernel)
{
    clpi_script *script;
    CLP_TRY(script_new(&ctx->env, source, &script));
    clp_status status = kernel_new(ctx, &(origin){ .script = script, .name = name, .params = params }, out_kernel);
    script_drop(script);
    return status;
}

clp_status clpi_kernel_from_member(clp_context *ctx, const clpi_ir *member, const bool *batched, clp_kernel **out_kernel)
{
    return kernel_new(ctx, &(origin){ .member = member, .batched = batched }, out_kernel);
}

clp_status clpi_kernel_variant(const clp_kernel *of, const char *params, bool is_trial, clp_kernel **out_kernel)
{
    return kernel_start(of->ctx, &(origin){ .script = of->script, .name = of->ir->name, .params = params, .is_closed = true,
                                            .is_trial = is_trial }, out_kernel);
}

/* ---- The public ways in ---- */

static clp_status check_out(clp_context *ctx, const void *given, const char *call, clp_kernel **out_kernel)
{
    if (out_kernel)
        *out_kernel = NULL;
    if (!ctx)
        return CLP_ERR_ARG;
    if (!given || !out_kernel)
        return clpi_fail(&ctx->env, CLP_ERR_ARG, "%s: an argument is NULL", call);
    return CLP_OK;
}

clp_status clp_kernel_from_text(clp_context *ctx, const char *text, const char *name, const char *params,
                                clp_kernel **out_kernel)
{
    CLP_TRY(check_out(ctx, text, "clp_kernel_from_text", out_kernel));
    clpi_source source = { "<text>", text, strlen(text) };
    return clpi_kernel_from_source(ctx, &source, name, params, out_kernel);
}

static clp_status kernels_from_script(clp_context *ctx, clpi_script *script, const char *params, clp_kernel **out_kernels, int n)
{
    clp_status status = CLP_OK;
    for (int i = 0; !status && i < n; i++)
        status = kernel_start(ctx, &(origin){ .script = script, .name = clpi_file_kernel_name(script->file, i), .params = params },
                              &out_kernels[i]);
    if (!status)
        status = kernels_compile(ctx, out_kernels, n);
    for (int i = 0; status && i < n; i++) {
        clp_kernel_free(out_kernels[i]);
        out_kernels[i] = NULL;
    }
    return status;
}

clp_status clp_kernels_from_text(clp_context *ctx, const char *text, const char *params, clp_kernel **out_kernels,
                                 int max_kernels, int *out_n_kernels)
{
    if (out_n_kernels)
        *out_n_kernels = 0;
    for (int i = 0; out_kernels && i < max_kernels; i++)
        out_kernels[i] = NULL;
    if (!ctx)
        return CLP_ERR_ARG;
    if (!text || !out_kernels || !out_n_kernels)
        return clpi_fail(&ctx->env, CLP_ERR_ARG, "clp_kernels_from_text: an argument is NULL");
    clpi_script *script;
    CLP_TRY(script_new(&ctx->env, &(clpi_source){ "<text>", text, strlen(text) }, &script));
    int n = clpi_file_n_kernels(script->file);
    clp_status status = n <= max_kernels ? CLP_OK : clpi_fail(&ctx->env, CLP_ERR_ARG, "clp_kernels_from_text: there is room for %d "
                                                              "kernels, the text has %d", max_kernels, n);
    if (!status)
        status = kernels_from_script(ctx, script, params, out_kernels, n);
    if (!status)
        *out_n_kernels = n;
    script_drop(script);
    return status;
}

clp_status clp_kernel_from_desc(clp_context *ctx, const clp_kernel_desc *desc, clp_kernel **out_kernel)
{
    CLP_TRY(check_out(ctx, desc, "clp_kernel_from_desc", out_kernel));
    return kernel_new(ctx, &(origin){ .desc = desc }, out_kernel);
}

/* The bytes of a file, in an arena. */
static clp_status read_file(clpi_env *env, clpi_arena *arena, const char *path, clpi_source *out_source)
{
    size_t n = 0, cap = 0;
    char *bytes = NULL;
    clp_status status = CLP_OK;
    FILE *file = fopen(path, "rb");
    while (file && !status && !feof(file) && !ferror(file)) {
        if (n == cap) {
            size_t more = cap ? 2 * cap : 16384;
            char *moved = clpi_arena_grow(arena, bytes, cap, more, 1);
            status = moved ? CLP_OK : CLP_ERR_OOM;
            bytes = moved;
            cap = moved ? more : cap;
            continue;
        }
        n += fread(bytes + n, 1, cap - n, file);
    }
    if (!status && (!file || ferror(file))) {
        char why[128] = "it cannot be read";
        (void)strerror_r(errno, why, sizeof why);
        status = clpi_fail(env, CLP_ERR_ARG, "%s: %s", path, why);
    }
    if (file)
        (void)fclose(file);
    *out_source = (clpi_source){ path, bytes, n };
    return status;
}

clp_status clp_kernel_from_file(clp_context *ctx, const char *path, const char *name, const char *params,
                                clp_kernel **out_kernel)
{
    CLP_TRY(check_out(ctx, path, "clp_kernel_from_file", out_kernel));
    clpi_arena arena;
    clpi_source source;
    clpi_arena_init(&arena, &ctx->env);
    clp_status status = read_file(&ctx->env, &arena, path, &source);
    if (!status)
        status = clpi_kernel_from_source(ctx, &source, name, params, out_kernel);
    clpi_arena_done(&arena);
    return status;
}

/* ---- What a kernel tells ---- */

const char *clp_kernel_name(const clp_kernel *kernel)
{
    return kernel->ir->name;
}

int clp_kernel_n_operands(const clp_kernel *kernel)
{
    return kernel->n_operands;
}

clp_operand_info clp_kernel_operand(const clp_kernel *kernel, int i_operand)
{
    if (i_operand < 0 || i_operand >= kernel->n_operands)
        return (clp_operand_info){ .name = "" };
    const clpi_operand *x = &kernel->ir->operands[kernel->operands[i_operand]];
    return (clp_operand_info){ x->name, x->role, x->dtype, x->rank };
}
