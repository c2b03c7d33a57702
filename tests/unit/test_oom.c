/* Out of memory at every point: each scenario is run with room for 0, 1, 2, ... allocations until it succeeds. Each failure
 * is CLP_ERR_OOM, leaves the context usable and leaks nothing.                                                           */
#include "support/support.h"

enum { UNLIMITED = 1 << 30, MAX_BUDGET = 100000 };

#define TEXT                                                                                                           \
    "fn act(v) = maximum(v, 0);\n"                                                                                      \
    "kernel k<bm = 4>(in x: f32[M, K] block [bm, 8] at (i, k) pad 0, in y: f32[K, N] block [8, 4] at (k, j) pad 0,\n"   \
    "    prefetch t: i32[N], out z: f32[M, N] block [bm, 4] at (i, j), scratch acc: f32[bm, 4], scalar s: f32)\n"       \
    "grid (i = cdiv(M, bm), j = cdiv(N, 4), k = max(1, cdiv(K, 8)) arbitrary) require K > 0\n"                          \
    "{\n"                                                                                                              \
    "    if (k == 0) { acc[...] = 0; }\n"                                                                               \
    "    acc[...] += dot(x[...], y[...]);\n"                                                                            \
    "    for (r in 0 .. bm) { acc[r] = sort(acc[r, :]) + cumsum(acc[r, :], axis = 0); }\n"                               \
    "    if (last(k)) { z[...] = act(acc[...]) * s + cast(t[0], f32); print(\"i={}\", i); }\n"                          \
    "}\n"

static void body(clp_builder *b, const clp_ref *r, void *user)
{
    (void)user;
    clp_val x = clp_load(b, r[0]), carried, result;
    clp_val i = clp_for_begin(b, clp_const(b, CLP_I32, 0), clp_const(b, CLP_I32, 3), 1, &x, 1, &carried);
    clp_val next = clp_add(b, carried, clp_cast(b, i, CLP_F32));
    clp_for_end(b, &next, 1, &result);
    clp_store(b, r[1], clp_exp(b, result));
}

static const clp_kernel_desc desc = {
    .name = "d",
    .operands = (clp_operand_desc[]){
        { .role = CLP_IN, .name = "x", .dtype = CLP_F32, .shape = "N", .block = "b", .index_map = "(i) -> (i)", .pad = "0" },
        { .role = CLP_OUT, .name = "o", .dtype = CLP_F32, .shape = "N", .block = "b", .index_map = "(i) -> (i)" } },
    .n_operands = 2,
    .axes = (clp_axis_desc[]){ { .name = "i", .size = "cdiv(N, b)" } },
    .n_axes = 1,
    .params = (clp_param[]){ { "b", 8 } },
    .n_params = 1,
    .require = "N > 0",
    .body = body,
};

static clp_status make_from_text(clp_context *ctx, clp_kernel **out_kernel)
{
    return clp_kernel_from_text(ctx, TEXT, "k", "bm=2", out_kernel);
}

static clp_status make_from_desc(clp_context *ctx, clp_kernel **out_kernel)
{
    return clp_kernel_from_desc(ctx, &desc, out_kernel);
}

static clp_status make_standard(clp_context *ctx, clp_kernel **out_kernel)
{
    return clp_kernel_standard(ctx, "softmax", NULL, out_kernel);
}

static clp_status make_from_file(clp_context *ctx, clp_kernel **out_kernel)
{
    return clp_kernel_from_file(ctx, CLPALLAS_SOURCE_DIR "/lib/kernels/matmul.plk", "matmul", "bm=8, bn=8, bk=8", out_kernel);
}

static clp_status make_batched(clp_context *ctx, clp_kernel **out_kernel)
{
    clp_kernel *member;
    clp_status status = make_from_text(ctx, &member);
    if (status == CLP_OK)
        status = clp_kernel_batch(member, "x, t, z, s", out_kernel);
    else
        *out_kernel = NULL;
    clp_kernel_free(member);
    return status;
}

/* Of two, the one that the others make. */
static clp_status make_several(clp_context *ctx, clp_kernel **out_kernel)
{
    clp_kernel *kernels[3];
    int n;
    *out_kernel = NULL;
    clp_status status = clp_kernels_from_text(ctx, "kernel a<bm = 2>(out o: f32[2]) grid () { o[...] = bm; }\n" TEXT, "bm=2", kernels, 3, &n);
    if (status)
        return status;
    clp_kernel_free(kernels[0]);
    *out_kernel = kernels[1];
    return CLP_OK;
}

/* Runs the kernel of TEXT, or of the description: the number of operands tells which. */
static clp_status run(clp_context *ctx, clp_kernel *kernel)
{
    (void)ctx;
    static float x[5 * 9], y[9 * 6], z[5 * 6];
    static int32_t t[6];
    float s = 2;
    if (clp_kernel_n_operands(kernel) == 2)
        return clp_run(kernel, (clp_array[]){ { .dtype = CLP_F32, .rank = 1, .shape = (int64_t[]){ 30 }, .data = x },
                                              { .dtype = CLP_F32, .rank = 1, .shape = (int64_t[]){ 30 }, .data = z } }, 2, NULL);
    return clp_run(kernel, (clp_array[]){ { .dtype = CLP_F32, .rank = 2, .shape = (int64_t[]){ 5, 9 }, .data = x },
                                          { .dtype = CLP_F32, .rank = 2, .shape = (int64_t[]){ 9, 6 }, .data = y },
                                          { .dtype = CLP_I32, .rank = 1, .shape = (int64_t[]){ 6 }, .data = t },
                                          { .dtype = CLP_F32, .rank = 2, .shape = (int64_t[]){ 5, 6 }, .data = z },
                                          { .dtype = CLP_F32, .data = &s } }, 5, NULL);
}

static void ignore_text(const char *text, size_t n_bytes, void *user)
{
    (void)text;
    *(size_t *)user = n_bytes;
}

static clp_status emit(clp_context *ctx, clp_kernel *kernel)
{
    (void)ctx;
    size_t n_bytes;
    static const clp_stage stages[] = { CLP_STAGE_IR, CLP_STAGE_PLAN, CLP_STAGE_NEST, CLP_STAGE_CL };
    clp_status status = CLP_OK;
    for (size_t i = 0; !status && i < sizeof stages / sizeof *stages; i++)
        status = clp_kernel_emit(kernel, stages[i], ignore_text, &n_bytes);
    return status;
}

static clp_context *context(failing_alloc *f)
{
    clp_context *ctx;
    *f = (failing_alloc){ .budget = UNLIMITED };
    clp_context_opts opts = { .device = "interp", .alloc = failing_alloc_fn, .alloc_user = f };
    cr_assert_eq(clp_context_new(&opts, &ctx), CLP_OK, "%s", clp_last_error(NULL));
    return ctx;
}

static void expect_nothing_lost(const failing_alloc *f, const char *what, size_t budget)
{
    cr_assert(f->n_live == 0 && f->live_bytes == 0, "%s, %zu allocations: %zu left, %zu bytes", what, budget, f->n_live, f->live_bytes);
}

Test(oom, context)
{
    for (size_t budget = 0; budget < MAX_BUDGET; budget++) {
        failing_alloc f = { .budget = budget };
        clp_context *ctx = (clp_context *)&f;
        clp_status status = clp_context_new(&(clp_context_opts){ .device = "interp", .alloc = failing_alloc_fn, .alloc_user = &f }, &ctx);
        if (status) {
            cr_assert_eq(status, CLP_ERR_OOM, "budget %zu: %s", budget, clp_last_error(NULL));
            cr_assert_null(ctx);
            cr_assert(strstr(clp_last_error(NULL), "out of memory"), "budget %zu: %s", budget, clp_last_error(NULL));
        }
        clp_context_free(ctx);
        expect_nothing_lost(&f, "context", budget);
        if (!status) {
            cr_assert_gt(budget, 0);
            return;
        }
    }
    cr_assert_fail("no budget is enough");
}

static void try_making(const char *what, clp_status (*make)(clp_context *, clp_kernel **))
{
    for (size_t budget = 0; budget < MAX_BUDGET; budget++) {
        failing_alloc f;
        clp_context *ctx = context(&f);
        clp_kernel *kernel = (clp_kernel *)&f;
        f.budget = f.n_calls + budget;
        clp_status status = make(ctx, &kernel);
        bool has_failed = f.has_failed;
        f.budget = UNLIMITED;
        if (status) {
            cr_assert_eq(status, CLP_ERR_OOM, "%s, budget %zu: %s: %s", what, budget, clp_status_name(status), clp_last_error(ctx));
            cr_assert_null(kernel);
            clp_status again = make(ctx, &kernel); /* the context is as good as before */
            cr_assert_eq(again, CLP_OK, "%s, budget %zu, again: %s", what, budget, clp_last_error(ctx));
        } else {
            cr_assert_not(has_failed, "%s, budget %zu: a failed allocation went unnoticed", what, budget);
        }
        clp_kernel_free(kernel);
        clp_context_free(ctx);
        expect_nothing_lost(&f, what, budget);
        if (!status) {
            cr_assert_gt(budget, 0);
            return;
        }
    }
    cr_assert_fail("%s: no budget is enough", what);
}

Test(oom, kernel_from_text)
{
    try_making("kernel from text", make_from_text);
}

Test(oom, kernel_from_desc)
{
    try_making("kernel from a description", make_from_desc);
}

Test(oom, standard_kernel)
{
    try_making("standard kernel", make_standard);
}

Test(oom, kernel_from_file)
{
    try_making("kernel from a file", make_from_file);
}

Test(oom, batched_kernel)
{
    try_making("batched kernel", make_batched);
}

Test(oom, kernels_of_a_text)
{
    try_making("kernels of a text", make_several);
}

static void try_using(const char *what, clp_status (*make)(clp_context *, clp_kernel **), clp_status (*use)(clp_context *, clp_kernel *))
{
    for (size_t budget = 0; budget < MAX_BUDGET; budget++) {
        failing_alloc f;
        clp_context *ctx = context(&f);
        clp_kernel *kernel;
        OK(ctx, make(ctx, &kernel));
        f.budget = f.n_calls + budget;
        clp_status status = use(ctx, kernel);
        bool has_failed = f.has_failed;
        f.budget = UNLIMITED;
        if (status) {
            cr_assert_eq(status, CLP_ERR_OOM, "%s, budget %zu: %s: %s", what, budget, clp_status_name(status), clp_last_error(ctx));
            OK(ctx, use(ctx, kernel)); /* the kernel is as good as before */
        } else {
            cr_assert_not(has_failed, "%s, budget %zu: a failed allocation went unnoticed", what, budget);
        }
        clp_kernel_free(kernel);
        clp_context_free(ctx);
        expect_nothing_lost(&f, what, budget);
        if (!status) {
            cr_assert_gt(budget, 0);
            return;
        }
    }
    cr_assert_fail("%s: no budget is enough", what);
}

Test(oom, run)
{
    try_using("run", make_from_text, run);
    try_using("run of a description", make_from_desc, run);
}

Test(oom, emit)
{
    try_using("emit", make_from_text, emit);
}

/* Peaks are measured by the first; the others find them kept. */
static clp_status roofline(clp_context *ctx, clp_kernel *kernel)
{
    (void)ctx;
    static float x[30], o[30];
    clp_roofline_point point;
    return clp_roofline(kernel, (clp_array[]){ { .dtype = CLP_F32, .rank = 1, .shape = (int64_t[]){ 30 }, .data = x },
                                               { .dtype = CLP_F32, .rank = 1, .shape = (int64_t[]){ 30 }, .data = o } }, 2,
                        &(clp_roofline_opts){ .n_runs = 1 }, &point);
}

Test(oom, roofline)
{
    try_using("roofline", make_from_desc, roofline);
}

static clp_status use_buffer(clp_context *ctx, clp_kernel *kernel)
{
    (void)kernel;
    clp_buffer *buffer;
    clp_status status = clp_buffer_new(ctx, 100, &buffer);
    clp_buffer_free(buffer);
    return status;
}

Test(oom, buffer)
{
    try_using("buffer", make_from_desc, use_buffer);
}
