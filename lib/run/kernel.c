/* kernel: from text or a description to what the device runs.
 * In: a source and parameters, a description, or a kernel to be batched. Out: a kernel, compiled for the
 * context's device, so that every error that does not depend on arrays shows here; without code in a context for text only.
 * kernel_build is the compiler: each stage is a call, in order.                                                        */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "run/run.h"
#include "text/text.h"
#include "trace/trace.h"

/* What a kernel is made of: a text with a name and parameters in it, a description, or another kernel to be batched. */
typedef struct origin {
    const clpi_source     *source;
    const char            *name, *params;
    const clp_kernel_desc *desc;
    const clpi_ir         *member;
    const bool            *batched;       /* [member->n_operands] */
} origin;

static clp_status parse(clp_kernel *k, const origin *from)
{
    clpi_source *source = CLPI_NEW(&k->arena, clpi_source);
    if (!source)
        return CLP_ERR_OOM;
    source->file = clpi_arena_strndup(&k->arena, from->source->file, strlen(from->source->file));
    source->text = clpi_arena_strndup(&k->arena, from->source->text, from->source->n_bytes);
    source->n_bytes = from->source->n_bytes;
    if (!source->file || !source->text)
        return CLP_ERR_OOM;
    clpi_file *file;
    CLP_TRY(clpi_parse(&k->ctx->env, &k->arena, source, &file));
    return clpi_elaborate(&k->ctx->env, &k->arena, file, from->name, from->params, &k->ir);
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

static clp_status kernel_build(clp_kernel *k, const origin *from)
{
    clp_context *ctx = k->ctx;
    if (from->desc)
        CLP_TRY(clpi_trace(&ctx->env, &k->arena, from->desc, &k->ir));
    else if (from->member)
        CLP_TRY(clpi_ir_batch(from->member, &k->arena, from->batched, &k->ir));
    else
        CLP_TRY(parse(k, from));
    CLP_TRY(clpi_verify(k->ir, from->member ? CLP_ERR_INTERNAL : CLP_ERR_INVALID));
    CLP_TRY(simplify(k));
    CLP_TRY(clpi_verify(k->ir, CLP_ERR_INTERNAL));
    CLP_TRY(dump(k, "ir"));
    CLP_TRY(clpi_plan_new(k->ir, &k->arena, &k->plan));
    CLP_TRY(dump(k, "plan"));
    CLP_TRY(list_operands(k));
    return ctx->text_only ? CLP_OK : ctx->backend->compile(ctx->dev, k->ir, k->plan, ctx->schedule, ctx->is_checked, &k->exe);
}

static clp_status kernel_new(clp_context *ctx, const origin *from, clp_kernel **out_kernel)
{
    clp_kernel *k = clpi_alloc(&ctx->env, 1, sizeof *k);
    if (!k)
        return CLP_ERR_OOM;
    k->ctx = ctx;
    clpi_arena_init(&k->arena, &ctx->env);
    clp_status status = kernel_build(k, from);
    if (status) {
        k->exe = NULL;
        clp_kernel_free(k);
        return status;
    }
    *out_kernel = k;
    return CLP_OK;
}

void clp_kernel_free(clp_kernel *kernel)
{
    if (!kernel)
        return;
    clp_context *ctx = kernel->ctx;
    if (kernel->exe)
        ctx->backend->discard(kernel->exe);
    clpi_arena_done(&kernel->arena);
    clpi_free(&ctx->env, kernel, 1, sizeof *kernel);
}

clp_status clpi_kernel_from_source(clp_context *ctx, const clpi_source *source, const char *name, const char *params,
                                   clp_kernel **out_kernel)
{
    return kernel_new(ctx, &(origin){ .source = source, .name = name, .params = params }, out_kernel);
}

clp_status clpi_kernel_from_member(clp_context *ctx, const clpi_ir *member, const bool *batched, clp_kernel **out_kernel)
{
    return kernel_new(ctx, &(origin){ .member = member, .batched = batched }, out_kernel);
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
