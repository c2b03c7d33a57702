/* What a row of `clpallas bench` works on: rows that cannot be opened can be closed. bench.c's functions have others in their place. */
#include "bench.h"
#include "support/support.h"

static const char *text_of_kernel;

clp_kernel *bench_kernel(const bench *b, clp_context *ctx, const char *name, const char *params)
{
    (void)b;
    clp_kernel *kernel;
    OK(ctx, clp_kernel_from_text(ctx, text_of_kernel, name, params, &kernel));
    return kernel;
}

void bench_fill(clp_array *a, uint32_t seed, int64_t below)
{
    (void)seed, (void)below;
    array_set(a, 0, 1);
}

/* Opens the row and closes it; the status of opening. */
static int try_row(const char *text, const char *arrays, int n_expected)
{
    bench b = { .o = NULL };
    work w;
    const bench_row row = { .name = "row", .arrays = arrays, .on_interp = true };
    OK(NULL, clp_context_new(&(clp_context_opts){ .device = "interp" }, &b.interp));
    text_of_kernel = text;
    const int status = work_open(&w, &b, &row);
    cr_expect_eq(w.n, n_expected, "%s: %d arrays", text, w.n);
    work_close(&w);
    clp_context_free(b.interp);
    return status;
}

#define IN(name) "in " #name ": f32[4], "
#define EIGHT IN(a) IN(b) IN(c) IN(d) IN(e) IN(f) IN(g) IN(h)

Test(bench_work, a_kernel_of_too_many_operands_has_no_arrays)
{
    char many[4000] = "kernel many(";
    for (int i = 0; i < 40; i++)
        snprintf(many + strlen(many), 32, "in a%d: f32[4], ", i);
    strcat(many, "out z: f32[4]) grid (i = 1) { z[...] = a0[...]; }");
    cr_expect_eq(try_row(many, "4 4 4 4 4 4 4 4 4", 0), FAILED);
    cr_expect_eq(try_row("kernel nine(" EIGHT "out z: f32[4]) grid (i = 1) { z[...] = a[...]; }", "4 4 4 4 4 4 4 4 4", 0), FAILED);
}

Test(bench_work, a_row_without_a_shape_for_each_operand_is_closed)
{
    cr_expect_eq(try_row("kernel two(in a: f32[4], out z: f32[4]) grid (i = 1) { z[...] = a[...]; }", "4 4", 2), DONE);
    cr_expect_eq(try_row("kernel two(in a: f32[4], out z: f32[4]) grid (i = 1) { z[...] = a[...]; }", "4", 2), FAILED);
}
