/* sound: kernels made from seeds, checked: they are free of races by construction, so none may be found.
 * In: the first seed, how many, how many shuffled orders. Out: a line, the report and the text of each kernel in which
 * something is found; a count. Exit status 1 if there was one. They do read outputs that they did not write, and so what
 * the caller's arrays hold.
 *
 * usage: sound_runner SEED COUNT SHUFFLES */
#include <inttypes.h>
#include <stdlib.h>

#include "gen.h"
#include "tool.h"

enum { TEXT_BYTES = 1 << 18, WHY_BYTES = 1 << 14 };

typedef struct setting {
    clp_context *ctx;
    int          n_shuffles, n_failed;
    char        *text, *why;
    made         kernel;
    run          run;
} setting;

static void check_seed(setting *s, uint64_t seed)
{
    clp_kernel *kernel = NULL;
    kernel_make(&s->kernel, seed, &gen_all);
    if (kernel_text(&s->kernel, s->text, TEXT_BYTES) >= TEXT_BYTES)
        abort();
    run_place(&s->run, &s->kernel, true);
    bool ok = !clp_kernel_from_text(s->ctx, s->text, NULL, NULL, &kernel);
    if (!ok)
        snprintf(s->why, WHY_BYTES, "%s", clp_last_error(s->ctx));
    ok = ok && is_sound(kernel, s->run.arrays, s->run.n, NULL, s->n_shuffles, true, s->why, WHY_BYTES);
    if (!ok)
        fprintf(stderr, "seed %" PRIu64 ": nothing should be found, but\n%s%s\n", seed, s->why, s->text);
    s->n_failed += !ok;
    clp_kernel_free(kernel);
    run_clear(&s->run);
}

int main(int argc, char **argv)
{
    int64_t seed, count, n_shuffles;
    if (argc != 4 || !is_number(argv[1], &seed) || !is_number(argv[2], &count) || !is_number(argv[3], &n_shuffles))
        return fail_usage("usage: sound_runner SEED COUNT SHUFFLES");
    setting *s = calloc(1, sizeof *s);
    if (!s || !(s->text = malloc(TEXT_BYTES)) || !(s->why = malloc(WHY_BYTES)) ||
        clp_context_new(&(clp_context_opts){ .device = "interp" }, &s->ctx))
        abort();
    s->n_shuffles = (int)n_shuffles;
    for (int64_t i = 0; i < count; i++)
        check_seed(s, (uint64_t)(seed + i));
    printf("%" PRId64 " kernels with %d shuffled orders, %d failed\n", count, s->n_shuffles, s->n_failed);
    const bool ok = !s->n_failed;
    clp_context_free(s->ctx);
    free(s->text);
    free(s->why);
    free(s);
    return ok ? DONE : FAILED;
}
