/* standard: the kernels that come with the library.
 * In: a name. Out: the kernel of that name in the embedded files: the file of that name is looked at first, then all. Some names
 * stand for a kernel with parameters that are set before the caller's.                                                     */
#include <string.h>

#include "kernels/kernels.h"
#include "run/run.h"
#include "text/text.h"

enum { MAX_NAMES = 256 };

typedef struct variant { const char *name, *kernel, *params; } variant;

static const variant variants[] = {
    { "matmul_nt", "matmul", "tb=true" },
    { "matmul_tn", "matmul", "ta=true" },
    { "matmul_tt", "matmul", "ta=true, tb=true" },
};
enum { N_VARIANTS = sizeof variants / sizeof *variants };

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
    for (int i = 0; i < N_VARIANTS && n_names < MAX_NAMES; i++)
        names[n_names++] = variants[i].name;
    const char *near = clpi_nearest(name, names, n_names);
    return clpi_fail(env, CLP_ERR_ARG, "there is no standard kernel %s%s%s%s", name, near ? "; did you mean " : "",
                     near ? near : "", near ? "?" : "");
}

static const variant *variant_of(const char *name)
{
    for (int i = 0; i < N_VARIANTS; i++)
        if (!strcmp(variants[i].name, name))
            return &variants[i];
    return NULL;
}

clp_status clp_kernel_standard(clp_context *ctx, const char *name, const char *params, clp_kernel **out_kernel)
{
    if (out_kernel)
        *out_kernel = NULL;
    if (!ctx)
        return CLP_ERR_ARG;
    if (!name || !out_kernel)
        return clpi_fail(&ctx->env, CLP_ERR_ARG, "clp_kernel_standard: an argument is NULL");
    const variant *as = variant_of(name);
    clpi_arena arena;
    clpi_str all;
    const clpi_embedded *file = NULL;
    clpi_arena_init(&arena, &ctx->env);
    clpi_str_init(&all, &ctx->env);
    clp_status status = find(&ctx->env, &arena, as ? as->kernel : name, &file);
    if (!status && as) {
        clpi_str_puts(&all, as->params);
        if (params && *params)
            clpi_str_add(&all, ", %s", params);
        status = all.failed ? CLP_ERR_OOM : CLP_OK;
    }
    if (!status) {
        clpi_source source = source_of(file);
        status = clpi_kernel_from_source(ctx, &source, as ? as->kernel : name, as ? all.text : params, out_kernel);
    }
    clpi_str_done(&all);
    clpi_arena_done(&arena);
    return status;
}
