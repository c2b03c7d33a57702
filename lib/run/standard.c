/* standard: the kernels that come with the library.
 * In: a name. Out: the kernel of that name in the embedded files: the file of that name is looked at first, then all.   */
#include <string.h>

#include "kernels/kernels.h"
#include "run/run.h"
#include "text/text.h"

enum { MAX_NAMES = 256 };

static clpi_source source_of(const clpi_embedded *file)
{
    return (clpi_source){ file->file, file->text, file->n_bytes };
}

static bool is_file_of(const clpi_embedded *file, const char *name)
{
    size_t n = strlen(name);
    return !strncmp(file->file, name, n) && !strcmp(file->file + n, ".plk");
}

/* Whether a file has a kernel `name`; its kernels' names are added to those seen. */
static clp_status look_in(clpi_env *env, clpi_arena *arena, const clpi_embedded *embedded, const char *name,
                          const char **names, int *n_names, bool *out_has)
{
    clpi_file *file;
    clpi_source *source = CLPI_NEW(arena, clpi_source);
    if (!source)
        return CLP_ERR_OOM;
    *source = source_of(embedded);
    CLP_TRY(clpi_parse(env, arena, source, &file));
    *out_has = false;
    for (int i = 0; i < clpi_file_n_kernels(file); i++) {
        const char *kernel = clpi_file_kernel_name(file, i);
        *out_has = *out_has || !strcmp(kernel, name);
        if (*n_names < MAX_NAMES)
            names[(*n_names)++] = kernel;
    }
    return CLP_OK;
}

static clp_status find(clpi_env *env, clpi_arena *arena, const char *name, const clpi_embedded **out_file)
{
    const char *names[MAX_NAMES];
    int n_names = 0;
    bool has = false;
    for (int first = 1; first >= 0; first--) {
        for (const clpi_embedded *file = clpi_embedded_kernels; file->file; file++) {
            if (is_file_of(file, name) != (first == 1))
                continue;
            CLP_TRY(look_in(env, arena, file, name, names, &n_names, &has));
            if (has) {
                *out_file = file;
                return CLP_OK;
            }
        }
    }
    const char *near = clpi_nearest(name, names, n_names);
    return clpi_fail(env, CLP_ERR_ARG, "there is no standard kernel %s%s%s%s", name, near ? "; did you mean " : "",
                     near ? near : "", near ? "?" : "");
}

clp_status clp_kernel_standard(clp_context *ctx, const char *name, const char *params, clp_kernel **out_kernel)
{
    if (out_kernel)
        *out_kernel = NULL;
    if (!ctx)
        return CLP_ERR_ARG;
    if (!name || !out_kernel)
        return clpi_fail(&ctx->env, CLP_ERR_ARG, "clp_kernel_standard: an argument is NULL");
    clpi_arena arena;
    const clpi_embedded *file = NULL;
    clpi_arena_init(&arena, &ctx->env);
    clp_status status = find(&ctx->env, &arena, name, &file);
    clpi_arena_done(&arena);
    if (status)
        return status;
    clpi_source source = source_of(file);
    return clpi_kernel_from_source(ctx, &source, name, params, out_kernel);
}
