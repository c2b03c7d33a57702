/* Contexts and kernels, and first results: on the interpreter, and on a device where there is one. */
#include <stdio.h>
#include <stdlib.h>

#include "support/support.h"

#define TWICE "kernel twice(in x: f32[N] block [4] at (i), out o: f32[N] block [4] at (i)) grid (i = cdiv(N, 4)) { o[...] = 2 * x[...]; }"

static clp_array vector(float *data, const int64_t *n)
{
    return (clp_array){ .dtype = CLP_F32, .rank = 1, .shape = n, .data = data };
}

static clp_kernel *kernel(clp_context *ctx, const char *text)
{
    clp_kernel *k;
    OK(ctx, clp_kernel_from_text(ctx, text, NULL, NULL, &k));
    return k;
}

/* ---- Contexts ---- */

Test(kernel, refuses_devices_by_naming_those_there_are)
{
    clp_context *ctx;
    cr_expect_eq(clp_context_new(&(clp_context_opts){ .device = "abacus" }, &ctx), CLP_ERR_ARG);
    cr_expect_null(ctx);
    cr_expect(strstr(clp_last_error(NULL), "no device \"abacus\": this build has nothing of that name; there is "), "%s", clp_last_error(NULL));
    cr_expect(strstr(clp_last_error(NULL), "interp"), "%s", clp_last_error(NULL));
    cr_expect_eq(clp_context_new(&(clp_context_opts){ .schedule = (clp_schedule)7 }, &ctx), CLP_ERR_ARG);
    cr_expect_str_eq(clp_last_error(NULL), "schedule: there is no schedule 7");
}

static void look_for_interp(const char *which, bool usable, const char *detail, void *user)
{
    cr_expect(detail && *detail);
    if (!strcmp(which, "interp"))
        *(bool *)user = usable;
}

Test(kernel, lists_the_interpreter)
{
    bool has_interp = false;
    cr_assert_eq(clp_devices(look_for_interp, &has_interp), CLP_OK);
    cr_expect(has_interp);
}

static clp_context *interp_context(void)
{
    clp_context *ctx;
    clp_status status = clp_context_new(&(clp_context_opts){ .device = "interp" }, &ctx);
    cr_assert_eq(status, CLP_OK, "%s", clp_last_error(NULL));
    return ctx;
}

#define THREE "fn f(v) = v + 1;\n"                                                            \
              "kernel a<n = 4>(out o: f32[n]) grid () { o[...] = f(n); }\n"                    \
              "kernel b<n = 3>(out o: f32[n]) grid () { o[...] = n; }\n"                       \
              "kernel c<n = 2>(out o: f32[n]) grid () math fast { o[...] = f(f(n)); }\n"

static void expect_filled(clp_context *ctx, clp_kernel *k, int64_t n, float value)
{
    float o[8] = { 0 };
    OK(ctx, clp_run(k, (clp_array[]){ vector(o, &n) }, 1, NULL));
    for (int i = 0; i < 8; i++)
        cr_expect_eq(o[i], i < n ? value : 0, "%s: o[%d] = %g", clp_kernel_name(k), i, (double)o[i]);
}

Test(kernel, makes_every_kernel_of_a_text)
{
    clp_context *ctx = interp_context();
    clp_kernel *k[4];
    int n = -1;
    OK(ctx, clp_kernels_from_text(ctx, THREE, NULL, k, 4, &n));
    cr_assert_eq(n, 3);
    cr_expect_null(k[3]);
    cr_expect_str_eq(clp_kernel_name(k[0]), "a");
    cr_expect_str_eq(clp_kernel_name(k[2]), "c");
    clp_kernel_free(k[0]);               /* the others keep what they share */
    expect_filled(ctx, k[1], 3, 3);
    expect_filled(ctx, k[2], 2, 4);
    clp_kernel_free(k[2]);
    clp_kernel_free(k[1]);
    OK(ctx, clp_kernels_from_text(ctx, THREE, "n=5", k, 3, &n));
    expect_filled(ctx, k[0], 5, 6);
    expect_filled(ctx, k[1], 5, 5);
    for (int i = 0; i < n; i++)
        clp_kernel_free(k[i]);
    OK(ctx, clp_kernels_from_text(ctx, "const none = 1;", NULL, k, 3, &n));
    cr_expect_eq(n, 0);
    clp_context_free(ctx);
}

Test(kernel, makes_all_kernels_of_a_text_or_none)
{
    clp_context *ctx = interp_context();
    clp_kernel *k[4] = { NULL };
    int n = -1;
    FAILS(ctx, CLP_ERR_ARG, "clp_kernels_from_text: there is room for 2 kernels, the text has 3",
          clp_kernels_from_text(ctx, THREE, NULL, k, 2, &n));
    cr_expect_eq(n, 0);
    FAILS(ctx, CLP_ERR_ARG, "m", clp_kernels_from_text(ctx, THREE, "m=2", k, 3, &n));
    FAILS(ctx, CLP_ERR_INVALID, "<text>:5:44: error: unknown name `x`",
          clp_kernels_from_text(ctx, THREE "kernel d(out o: f32[2]) grid () { o[...] = x; }", NULL, k, 4, &n));
    FAILS(ctx, CLP_ERR_ARG, "an argument is NULL", clp_kernels_from_text(ctx, THREE, NULL, NULL, 3, &n));
    for (int i = 0; i < 4; i++)
        cr_expect_null(k[i]);
    clp_context_free(ctx);
}

Test(kernel, tells_about_a_kernel)
{
    clp_context *ctx = interp_context();
    clp_kernel *k = kernel(ctx, "kernel k(in x: f32[N] block [4] at (i), scratch s: f32[4], scalar n: i64, out o: bf16[N, N])\n"
                                "grid (i = 1) { s[...] = x[...]; }");
    cr_expect_str_eq(clp_kernel_name(k), "k");
    cr_expect_eq(clp_kernel_n_operands(k), 3);
    clp_operand_info info = clp_kernel_operand(k, 2);
    cr_expect(!strcmp(info.name, "o") && info.role == CLP_OUT && info.dtype == CLP_BF16 && info.rank == 2);
    clp_kernel_free(k);
    clp_context_free(ctx);
}

static void find_kernel_text(const char *text, size_t n_bytes, void *user)
{
    *(size_t *)user = strstr(text, "__kernel") ? n_bytes : 0;
}

static void keep(const char *text, size_t n_bytes, void *user)
{
    cr_expect_eq(strlen(text), n_bytes);
    snprintf(user, 4096, "%s", text);
}

Test(kernel, emits_what_the_compiler_makes)
{
    clp_context *ctx = interp_context();
    clp_kernel *k = kernel(ctx, TWICE);
    char text[4096];
    OK(ctx, clp_kernel_emit(k, CLP_STAGE_IR, keep, text));
    cr_expect(strstr(text, "kernel twice"), "%s", text);
    clp_kernel *again;
    OK(ctx, clp_kernel_from_text(ctx, text, NULL, NULL, &again));
    OK(ctx, clp_kernel_emit(k, CLP_STAGE_PLAN, keep, text));
    cr_expect(strstr(text, "plan of twice"), "%s", text);
    FAILS(ctx, CLP_ERR_ARG, "there is no stage 9", clp_kernel_emit(k, (clp_stage)9, keep, text));
    clp_kernel_free(again);
    clp_kernel_free(k);
    clp_context_free(ctx);
}

Test(kernel, emits_opencl_text_without_a_device)
{
    clp_context *ctx = interp_context();
    clp_kernel *k = kernel(ctx, TWICE);
    size_t n = 0;
    clp_status status = clp_kernel_emit(k, CLP_STAGE_CL, find_kernel_text, &n);
    if (status == CLP_OK)
        cr_expect(n > 0, "no `__kernel` in the text");
    else /* a build without OpenCL says so */
        FAILS(ctx, CLP_ERR_UNSUPPORTED, "this build has no OpenCL", status);
    clp_kernel_free(k);
    clp_context_free(ctx);
}

static void keep_stage(const char *stage, const char *name, const char *text, void *user)
{
    cr_expect(!strcmp(name, "twice") && *text);
    strcat(user, stage);
    strcat(user, " ");
}

Test(kernel, dumps_stages_in_order)
{
    clp_context *ctx;
    char stages[256] = "";
    cr_assert_eq(clp_context_new(&(clp_context_opts){ .device = "interp", .dump = keep_stage, .dump_user = stages }, &ctx), CLP_OK);
    clp_kernel_free(kernel(ctx, TWICE));
    cr_expect_eq(strncmp(stages, "ir plan ", 8), 0, "%s", stages);
    clp_context_free(ctx);
}

Test(kernel, finds_standard_kernels)
{
    clp_context *ctx = interp_context();
    clp_kernel *k;
    OK(ctx, clp_kernel_standard(ctx, "softmax", NULL, &k));
    clp_kernel_free(k);
    OK(ctx, clp_kernel_standard(ctx, "matmul_nt", "bm=16", &k)); /* it stands in a file of another name */
    clp_kernel_free(k);
    FAILS(ctx, CLP_ERR_ARG, "there is no standard kernel sofmax; did you mean softmax?", clp_kernel_standard(ctx, "sofmax", NULL, &k));
    clp_context_free(ctx);
}

Test(kernel, reads_kernels_from_files)
{
    clp_context *ctx = interp_context();
    clp_kernel *k;
    OK(ctx, clp_kernel_from_file(ctx, CLPALLAS_SOURCE_DIR "/lib/kernels/matmul.plk", "matmul", "bm=8, bn=8, bk=8", &k));
    clp_kernel_free(k);
    FAILS(ctx, CLP_ERR_ARG, "/nowhere/x.plk: No such file", clp_kernel_from_file(ctx, "/nowhere/x.plk", NULL, NULL, &k));
    FAILS(ctx, CLP_ERR_INVALID, "<text>:1:", clp_kernel_from_text(ctx, "kernel k(", NULL, NULL, &k));
    FAILS(ctx, CLP_ERR_ARG, "an argument is NULL", clp_kernel_from_text(ctx, NULL, NULL, NULL, &k));
    clp_context_free(ctx);
}

/* ---- On the interpreter ---- */

Test(kernel, gives_the_results_of_a_matmul)
{
    clp_context *ctx = interp_context();
    clp_kernel *k;
    OK(ctx, clp_kernel_standard(ctx, "matmul", "bm=4, bn=4, bk=4", &k));
    float x[5 * 7], y[7 * 6], z[5 * 6];
    for (int i = 0; i < 35; i++)
        x[i] = (float)(i % 11 - 5);
    for (int i = 0; i < 42; i++)
        y[i] = (float)(i % 7 - 3);
    OK(ctx, clp_run(k, (clp_array[]){ { .dtype = CLP_F32, .rank = 2, .shape = (int64_t[]){ 5, 7 }, .data = x },
                                      { .dtype = CLP_F32, .rank = 2, .shape = (int64_t[]){ 7, 6 }, .data = y },
                                      { .dtype = CLP_F32, .rank = 2, .shape = (int64_t[]){ 5, 6 }, .data = z } }, 3, NULL));
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 6; j++) {
            float want = 0;
            for (int l = 0; l < 7; l++)
                want += x[i * 7 + l] * y[l * 6 + j];
            cr_expect_eq(z[i * 6 + j], want, "z[%d, %d]: %g, expected %g", i, j, z[i * 6 + j], want);
        }
    clp_kernel_free(k);
    clp_context_free(ctx);
}

Test(kernel, runs_a_box)
{
    clp_context *ctx = interp_context();
    clp_kernel *k = kernel(ctx, TWICE);
    float x[16], o[16] = { 0 };
    int64_t n = 16;
    for (int i = 0; i < 16; i++)
        x[i] = 1;
    OK(ctx, clp_run(k, (clp_array[]){ vector(x, &n), vector(o, &n) }, 2,
                    &(clp_run_opts){ .grid_start = &(int64_t){ 1 }, .grid_count = &(int64_t){ 2 } }));
    for (int i = 0; i < 16; i++)
        cr_expect_eq(o[i], i >= 4 && i < 12 ? 2 : 0, "element %d", i);
    clp_kernel_free(k);
    clp_context_free(ctx);
}

/* ---- For text only ---- */

static void count_code(const char *stage, const char *name, const char *text, void *user)
{
    (void)name;
    (void)text;
    *(int *)user += !strcmp(stage, "cl");
}

static void count_bytes(const char *text, size_t n_bytes, void *user)
{
    (void)text;
    *(size_t *)user += n_bytes;
}

/* On the first device there is; the backend would have handed out its code. */
Test(kernel, in_a_context_for_text_is_emitted_and_not_compiled)
{
    clp_context *ctx;
    int n_codes = 0;
    size_t n_bytes = 0;
    OK(NULL, clp_context_new(&(clp_context_opts){ .text_only = true, .dump = count_code, .dump_user = &n_codes }, &ctx));
    clp_kernel *k = kernel(ctx, TWICE);
    float x[4] = { 1, 2, 3, 4 }, o[4] = { 0 };
    clp_array arrays[2] = { vector(x, &(int64_t){ 4 }), vector(o, &(int64_t){ 4 }) };
    FAILS(ctx, CLP_ERR_ARG, "text only", clp_run(k, arrays, 2, NULL));
    cr_expect_eq(o[3], 0);
    OK(ctx, clp_kernel_emit(k, CLP_STAGE_IR, count_bytes, &n_bytes));
    cr_expect_gt(n_bytes, 0);
    cr_expect_eq(n_codes, 0);
    clp_kernel *batched;
    OK(ctx, clp_kernel_batch(k, "x, o", &batched));
    clp_kernel_free(batched);
    clp_kernel_free(k);
    clp_context_free(ctx);
}

/* ---- On a device ---- */

Test(kernel, refuses_orders_that_a_device_does_not_have)
{
    clp_context *ctx;
    if (clp_context_new(&(clp_context_opts){ .device = "cl" }, &ctx) != CLP_OK) {
        cr_assert_null(getenv("CLP_REQUIRE_CL"), "%s", clp_last_error(NULL));
        cr_skip_test("no OpenCL device: %s", clp_last_error(NULL));
    }
    clp_kernel *k = kernel(ctx, TWICE);
    float x[4] = { 1, 2, 3, 4 }, o[4] = { 0 };
    clp_array arrays[2] = { vector(x, &(int64_t){ 4 }), vector(o, &(int64_t){ 4 }) };
    FAILS(ctx, CLP_ERR_UNSUPPORTED, "order", clp_run(k, arrays, 2, &(clp_run_opts){ .order = CLP_ORDER_REVERSE }));
    cr_expect_eq(o[3], 0);
    OK(ctx, clp_run(k, arrays, 2, NULL));
    cr_expect_eq(o[3], 8);
    clp_kernel_free(k);
    clp_context_free(ctx);
}

/* The text is that of the last failure, whatever failed. */
Test(kernel, a_context_that_goes_nowhere_is_said)
{
    clp_context *ctx;
    cr_expect_eq(clp_context_new(&(clp_context_opts){ .device = "frob" }, &ctx), CLP_ERR_ARG);
    cr_expect_eq(clp_context_new(NULL, NULL), CLP_ERR_ARG);
    cr_expect_str_eq(clp_last_error(NULL), "clp_context_new: out_ctx is NULL");
}
