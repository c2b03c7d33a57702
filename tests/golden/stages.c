/* stages: what each stage of the compiler makes of a golden file.
 * The stage `ir` checks more than its text: the IR is printed and read back, before and after simplifying; each time the
 * same IR and the same text must come of it.                                                                            */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "golden.h"
#include "support/ir_equal.h"
#include "text/text.h"

/* ---- Text to IR ---- */

static clp_status elaborate(clpi_env *env, clpi_arena *arena, const char *text, size_t n, const char *kernel, const char *params,
                            clpi_ir **out_ir)
{
    *out_ir = NULL;
    clpi_source *source = CLPI_NEW(arena, clpi_source);
    clpi_file *file;
    if (!source)
        return CLP_ERR_OOM;
    *source = (clpi_source){ .text = text, .n_bytes = n };
    CLP_TRY(clpi_parse(env, arena, source, &file));
    CLP_TRY(clpi_elaborate(env, arena, file, kernel, params, out_ir));
    return clpi_verify(*out_ir, CLP_ERR_INVALID);
}

/* ---- ir ---- */

static bool round_trip(clpi_env *env, clpi_arena *arena, const clpi_ir *ir, const char *which, clpi_str *why)
{
    clpi_str first, second;
    clpi_ir *again;
    clpi_str_init(&first, env);
    clpi_str_init(&second, env);
    clpi_ir_print(ir, &first);
    bool same = false;
    if (elaborate(env, arena, first.text, first.n, NULL, NULL, &again) != CLP_OK) {
        clpi_str_add(why, "%s IR as text does not read back: %s\n%s", which, clpi_error_text(env), first.text);
    } else if (!ir_equal(ir, again, why)) {
        clpi_str_add(why, "\n%s IR as text reads back as another IR:\n%s", which, first.text);
    } else {
        clpi_ir_print(again, &second);
        same = strcmp(first.text, second.text) == 0;
        if (!same)
            clpi_str_add(why, "%s IR, read back, prints another text:\n%s\n-- and --\n%s", which, first.text, second.text);
    }
    clpi_str_done(&second);
    clpi_str_done(&first);
    return same;
}

static bool stage_ir(clpi_env *env, clpi_arena *arena, const golden *g, clpi_str *out, clpi_str *why)
{
    clpi_ir *ir;
    if (elaborate(env, arena, g->text, g->n_kernel_bytes, g->kernel, g->params, &ir) != CLP_OK) {
        clpi_str_puts(why, clpi_error_text(env));
        return false;
    }
    for (uint32_t i = 1; i < ir->ops.n; i++)
        g->is_op_seen[ir->ops.items[i].kind] = true;
    if (!round_trip(env, arena, ir, "unsimplified", why))
        return false;
    if (clpi_simplify(ir, arena) != CLP_OK || clpi_verify(ir, CLP_ERR_INTERNAL) != CLP_OK) {
        clpi_str_puts(why, clpi_error_text(env));
        return false;
    }
    clpi_ir_print(ir, out);
    return round_trip(env, arena, ir, "simplified", why);
}

/* ---- error ---- */

/* "5:14: error: ...", perhaps behind the name of a source: the source line and a caret follow. */
static bool has_caret(const char *line, size_t n)
{
    const char *found = strstr(line, ": error: ");
    return found && found > line && (size_t)(found - line) < n && isdigit((unsigned char)found[-1]);
}

/* Of the caret form, the lines that say what is wrong; what follows them is known from the place. */
static void put_messages(clpi_str *out, const char *text)
{
    int skip = 0;
    while (*text) {
        const char *end = strchr(text, '\n');
        size_t n = end ? (size_t)(end - text) : strlen(text);
        if (skip > 0) {
            skip--;
        } else {
            clpi_str_put(out, text, n);
            clpi_str_puts(out, "\n");
            skip = has_caret(text, n) ? 2 : 0;
        }
        text += end ? n + 1 : n;
    }
}

static bool stage_error(clpi_env *env, clpi_arena *arena, const golden *g, clpi_str *out, clpi_str *why)
{
    clpi_ir *ir;
    clp_status status = elaborate(env, arena, g->text, g->n_kernel_bytes, g->kernel, g->params, &ir);
    if (status == CLP_OK)
        clpi_str_puts(why, "the kernel is accepted, an error was expected");
    else if (status != CLP_ERR_INVALID && status != CLP_ERR_ARG)
        clpi_str_add(why, "%s: %s", clp_status_name(status), clpi_error_text(env));
    else
        put_messages(out, clpi_error_text(env));
    return why->n == 0;
}

/* ---- What the library prints ---- */

static void append(const char *text, size_t n_bytes, void *user)
{
    clpi_str_put(user, text, n_bytes);
}

static bool stage_emit(clpi_arena *arena, const golden *g, clp_stage stage, clpi_str *out, clpi_str *why)
{
    const char *text = clpi_arena_strndup(arena, g->text, g->n_kernel_bytes);
    clp_context_opts opts = { .device = "interp", .checked = g->checked != NULL };
    clp_context *ctx = NULL;
    clp_kernel *kernel = NULL;
    if (g->schedule)
        opts.schedule = strcmp(g->schedule, "simt") == 0 ? CLP_SCHEDULE_SIMT : CLP_SCHEDULE_VECTOR;
    clp_status status = text ? clp_context_new(&opts, &ctx) : CLP_ERR_OOM;
    if (status == CLP_OK)
        status = clp_kernel_from_text(ctx, text, g->kernel, g->params, &kernel);
    if (status == CLP_OK)
        status = clp_kernel_emit(kernel, stage, append, out);
    if (status != CLP_OK)
        clpi_str_add(why, "%s: %s", clp_status_name(status), clp_last_error(ctx));
    clp_kernel_free(kernel);
    clp_context_free(ctx);
    return status == CLP_OK;
}

bool golden_stage(clpi_env *env, const golden *g, const char *stage, clpi_str *out, clpi_str *why)
{
    clpi_arena arena;
    clpi_arena_init(&arena, env);
    bool ok = false;
    if (strcmp(stage, "ir") == 0)
        ok = stage_ir(env, &arena, g, out, why);
    else if (strcmp(stage, "error") == 0)
        ok = stage_error(env, &arena, g, out, why);
    else if (strcmp(stage, "plan") == 0)
        ok = stage_emit(&arena, g, CLP_STAGE_PLAN, out, why);
    else if (strcmp(stage, "nest") == 0)
        ok = stage_emit(&arena, g, CLP_STAGE_NEST, out, why);
    else if (strcmp(stage, "cl") == 0)
        ok = stage_emit(&arena, g, CLP_STAGE_CL, out, why);
    else
        clpi_str_add(why, "there is no section `%s`: expected ir, plan, nest, cl or error", stage);
    clpi_arena_done(&arena);
    if (out->n > 0 && out->text[out->n - 1] != '\n')
        clpi_str_puts(out, "\n");
    return ok && !out->failed && !why->failed;
}
