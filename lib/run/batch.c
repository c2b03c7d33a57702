/* batch: a kernel for many arrays from a kernel for one.
 * In: a kernel, and the names of the operands that get a leading dimension. Out: a kernel of its own.
 * Reads the names; what can be batched is decided in ir/batch.c.                                                        */
#include <ctype.h>
#include <string.h>

#include "run/run.h"
#include "text/text.h"

static clp_status no_operand(clpi_env *env, const clpi_ir *ir, clpi_arena *arena, const char *name)
{
    const char **names = CLPI_NEW_N(arena, const char *, (size_t)ir->n_operands);
    if (!names)
        return CLP_ERR_OOM;
    for (int i = 0; i < ir->n_operands; i++)
        names[i] = ir->operands[i].name;
    clpi_str s;
    clpi_str_init(&s, env);
    clpi_str_add(&s, "batch of %s: there is no operand %s", ir->name, name);
    clpi_suggest(&s, name, names, ir->n_operands);
    const clp_status status = s.failed ? CLP_ERR_OOM : clpi_fail(env, CLP_ERR_ARG, "%s", s.text);
    clpi_str_done(&s);
    return status;
}

/* Marks the operands that a list as "x, o" names. */
static clp_status read_names(clpi_env *env, const clpi_ir *ir, clpi_arena *arena, const char *list, bool *batched)
{
    for (const char *p = list;; p++) {
        while (isspace((unsigned char)*p))
            p++;
        size_t n = strcspn(p, ",");
        const char *next = p + n;
        while (n > 0 && isspace((unsigned char)p[n - 1]))
            n--;
        if (n == 0)
            return clpi_fail(env, CLP_ERR_ARG, "batch of %s: names of operands, as \"x, o\", were expected, got \"%s\"", ir->name, list);
        const char *name = clpi_arena_strndup(arena, p, n);
        if (!name)
            return CLP_ERR_OOM;
        int i = 0;
        while (i < ir->n_operands && strcmp(ir->operands[i].name, name) != 0)
            i++;
        if (i == ir->n_operands)
            return no_operand(env, ir, arena, name);
        if (batched[i])
            return clpi_fail(env, CLP_ERR_ARG, "batch of %s: %s is named twice", ir->name, name);
        batched[i] = true;
        if (!*next)
            return CLP_OK;
        p = next;
    }
}

clp_status clp_kernel_batch(const clp_kernel *kernel, const char *operands, clp_kernel **out_kernel)
{
    if (out_kernel)
        *out_kernel = NULL;
    if (!kernel)
        return CLP_ERR_ARG;
    clpi_env *env = &kernel->ctx->env;
    if (!operands || !out_kernel)
        return clpi_fail(env, CLP_ERR_ARG, "clp_kernel_batch: an argument is NULL");
    clpi_arena arena;
    clpi_arena_init(&arena, env);
    bool *batched = CLPI_NEW_N(&arena, bool, (size_t)kernel->ir->n_operands);
    clp_status status = batched ? read_names(env, kernel->ir, &arena, operands, batched) : CLP_ERR_OOM;
    if (!status)
        status = clpi_kernel_from_member(kernel->ctx, kernel->ir, batched, out_kernel);
    clpi_arena_done(&arena);
    return status;
}
