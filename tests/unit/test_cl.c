/* The device half of cl: finding devices, codes written by hand, launches and their events, programs from before. */
#define _GNU_SOURCE             /* sched_setaffinity */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cl/cl.h"
#include "on_cl.h"
#include "run/run.h"

/* ---- Devices ---- */

Test(cl, names_what_is_wrong_with_a_device)
{
    clp_context *ctx = context_on_cl(NULL, NULL);
    if (!ctx)
        return;
    cr_expect(strncmp(clp_context_device(ctx), "cl:", 3) == 0, "%s", clp_context_device(ctx));
    clp_context_free(ctx);
    clp_status status = clp_context_new(&(clp_context_opts){ .device = "cl:1000" }, &ctx);
    cr_expect_eq(status, CLP_ERR_ARG);
    cr_expect(strstr(clp_last_error(NULL), "there is no OpenCL device 1000"), "%s", clp_last_error(NULL));
    status = clp_context_new(&(clp_context_opts){ .device = "cl:x" }, &ctx);
    cr_expect_eq(status, CLP_ERR_ARG);
    cr_expect(strstr(clp_last_error(NULL), "expected the number of an OpenCL device, got \"x\""), "%s", clp_last_error(NULL));
}

Test(cl, limits_are_those_of_a_device)
{
    clpi_env env;
    void *dev;
    clpi_env_init(&env, NULL, NULL);
    clpi_host host = { .env = &env };
    if (clpi_cl_open(&host, getenv("CLPALLAS_TEST_CL"), &dev) == CLP_OK) {
        clpi_limits l;
        clpi_cl_limits(dev, &l);
        cr_expect(l.local_bytes >= 16 * 1024);
        cr_expect(l.group_size >= 1 && l.compute_units >= 1);
        cr_expect(l.vector_bytes == 16 || l.vector_bytes == 32 || l.vector_bytes == 64);
        cr_expect(l.l1_bytes >= 8 * 1024 && l.l2_bytes > l.l1_bytes);
        cr_expect(l.private_bytes > 0);
        cr_expect(l.is_cpu || !l.shares_host_memory);
        clpi_cl_close(dev);
    } else {
        cr_assert(!getenv("CLP_REQUIRE_CL"), "%s", clpi_error_text(&env));
        fprintf(stderr, "skipped: %s\n", clpi_error_text(&env));
    }
    clpi_env_done(&env);
}

/* Each test is a process of its own, in which OpenCL has not been called yet. */
#ifdef __linux__
static const char *affinity_with(const cpu_set_t *cores)
{
    clp_context *ctx;
    cr_assert_eq(sched_setaffinity(0, sizeof *cores, cores), 0);
    unsetenv("POCL_AFFINITY");
    ctx = context_on_cl(NULL, NULL);
    if (ctx)
        clp_context_free(ctx);
    return getenv("POCL_AFFINITY");
}

Test(cl, threads_are_bound_where_all_cores_may_be_used)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t all;
    CPU_ZERO(&all);
    for (long i = 0; i < n && i < CPU_SETSIZE; i++)
        CPU_SET((size_t)i, &all);
    if (sched_setaffinity(0, sizeof all, &all)) {
        fprintf(stderr, "skipped: this process may not run on all cores\n");
        return;
    }
    unsetenv("POCL_MAX_PTHREAD_COUNT");
    cr_expect_str_eq(affinity_with(&all), "1");
}

Test(cl, threads_are_not_bound_where_some_cores_may_not_be_used)
{
    cpu_set_t mine, one;
    cr_assert_eq(sched_getaffinity(0, sizeof mine, &mine), 0);
    int first = 0;
    while (!CPU_ISSET((size_t)first, &mine))
        first++;
    CPU_ZERO(&one);
    CPU_SET((size_t)first, &one);
    if (sysconf(_SC_NPROCESSORS_ONLN) == 1) {
        fprintf(stderr, "skipped: there is one core\n");
        return;
    }
    cr_expect_null(affinity_with(&one));
}

Test(cl, threads_are_not_bound_where_their_number_is_given)
{
    cpu_set_t mine;
    cr_assert_eq(sched_getaffinity(0, sizeof mine, &mine), 0);
    setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
    cr_expect_null(affinity_with(&mine));
}
#endif

/* ---- Memory ---- */

/* Bytes of this process that huge pages are wished for: mappings with hg among their flags (proc(5)). -1: the system does not know them. */
static long wished_for_huge(void)
{
    FILE *file = access("/sys/kernel/mm/transparent_hugepage", F_OK) ? NULL : fopen("/proc/self/smaps", "r");
    char line[512];
    unsigned long begin = 0, end = 0;
    long n = 0;
    if (!file)
        return -1;
    while (fgets(line, sizeof line, file)) {
        unsigned long a, b;
        if (sscanf(line, "%lx-%lx ", &a, &b) == 2) {
            begin = a;
            end = b;
        }
        if (strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg"))
            n += (long)(end - begin);
    }
    fclose(file);
    return n;
}

Test(cl, large_buffers_of_a_cpu_ask_for_huge_pages)
{
    enum { N = 40 << 20, WHOLE = 38 << 20, SMALL = 1 << 20 };
    clp_buffer *small, *large;
    clp_context *ctx = context_on_cl(NULL, NULL);
    if (!ctx)
        return;
    const clpi_limits *l = &ctx->limits;
    const long before = wished_for_huge();
    if (before < 0 || !l->is_cpu || !l->shares_host_memory) {
        fprintf(stderr, "skipped: huge pages are wished for on Linux, for what a CPU device computes in\n");
    } else {
        OK(ctx, clp_buffer_new(ctx, SMALL, &small));
        cr_expect_eq(wished_for_huge(), before);
        OK(ctx, clp_buffer_new(ctx, N, &large));
        cr_expect_geq(wished_for_huge() - before, WHOLE);
        clp_buffer_free(large);
        clp_buffer_free(small);
    }
    clp_context_free(ctx);
}

/* ---- A code by hand ---- */

enum { HAND_N = 100 };

/* o[offset + i] = s * x[i] + m, through the workspace. The i are dealt out to three sequences. */
static const char hand_text[] =
    "#define N 100\n"
    "#ifdef BY_VALUE\n"
    "typedef struct { long size, offset, sequences; } numbers;\n"
    "#define NUMBERS numbers n\n"
    "#define AT(f) n.f\n"
    "#else\n"
    "typedef struct { long size, offset, sequences; } numbers;\n"
    "#define NUMBERS __global const numbers *n\n"
    "#define AT(f) n->f\n"
    "#endif\n"
    "__kernel void by_hand(__global const float *x, __global float *o, __global uchar *workspace, float s, uchar m, NUMBERS)\n"
    "{\n"
    "    __global float *w = (__global float *)(workspace + get_group_id(0) * 1024);\n"
    "    for (long q = get_group_id(0); q < AT(sequences); q += get_num_groups(0))\n"
    "        for (long i = q; i < AT(size); i += AT(sequences)) {\n"
    "            w[i] = s * x[i];\n"
    "            o[AT(offset) + i] = w[i] + m;\n"
    "        }\n"
    "}\n";

typedef struct hand {
    clpi_env        env;
    clpi_host       host;
    clpi_cl_device *dev;
    clpi_operand    operands[4];
    clpi_ir         ir;
    bool            is_written[4];
    clpi_plan       plan;
    clpi_bound_operand bound_operands[4];
    clpi_elem       scalar[4];
    clpi_bound      bound;
    clpi_cl_exe    *exe;
} hand;

static bool hand_open(hand *h, const char *text, bool by_value)
{
    *h = (hand){ .is_written = { false, true } };
    void *dev;
    clpi_env_init(&h->env, NULL, NULL);
    h->host = (clpi_host){ .env = &h->env };
    if (clpi_cl_open(&h->host, getenv("CLPALLAS_TEST_CL"), &dev) != CLP_OK) {
        cr_assert(!getenv("CLP_REQUIRE_CL"), "%s", clpi_error_text(&h->env));
        fprintf(stderr, "skipped: %s\n", clpi_error_text(&h->env));
        clpi_env_done(&h->env);
        return false;
    }
    h->dev = dev;
    const clp_dtype dtypes[] = { CLP_F32, CLP_F32, CLP_BF16, CLP_BOOL };
    for (int i = 0; i < 4; i++)
        h->operands[i] = (clpi_operand){ .role = i == 0 ? CLP_IN : i == 1 ? CLP_OUT : CLP_SCALAR, .dtype = dtypes[i] };
    h->ir = (clpi_ir){ .env = &h->env, .name = "by_hand", .operands = h->operands, .n_operands = 4 };
    h->plan = (clpi_plan){ .ir = &h->ir, .is_written = h->is_written };
    h->bound_operands[0].size[0] = HAND_N;
    h->bound_operands[1].offset = 5;
    h->scalar[2].f = 2.5f;
    h->scalar[3].u = 1;
    h->bound = (clpi_bound){ .plan = &h->plan, .operands = h->bound_operands, .scalar = h->scalar, .n_sequences = 3, .n_steps = 1 };

    static int buffers[] = { 0, 1 }, scalars[] = { 2, 3 };
    static clpi_number numbers[] = { { CLPI_NUMBER_SIZE, 0, 0 }, { CLPI_NUMBER_OFFSET, 1, 0 }, { CLPI_NUMBER_N_SEQUENCES, 0, 0 } };
    clpi_cl_shared *shared;
    cr_assert_eq(clpi_cl_shared_new(h->dev, &shared), CLP_OK);
    clpi_code *code = CLPI_NEW(&shared->arena, clpi_code);
    *code = (clpi_code){ .text = text, .options = by_value ? "-DBY_VALUE" : "", .kernel = "by_hand", .group_size = 1, .max_groups = 2, .buffers = buffers,
                         .n_buffers = 2, .scalars = scalars, .n_scalars = 2, .numbers = numbers, .n_numbers = 3,
                         .numbers_by_value = by_value, .workspace_bytes = 1024 };
    if (clpi_cl_build(h->dev, "by_hand", code->text, code->options, &shared->program) == CLP_OK)
        cr_assert_eq(clpi_cl_exe_new(&(clpi_unit){ &h->ir, &h->plan }, shared, code, &h->exe), CLP_OK);
    clpi_cl_shared_drop(shared);
    return true;
}

static void hand_close(hand *h)
{
    if (h->exe)
        clpi_cl_discard(h->exe);
    clpi_cl_close(h->dev);
    clpi_env_done(&h->env);
}

/* o as n launches in a row leave it, each of which waits for those before. */
static void run_hand(hand *h, const clpi_place *places, int n)
{
    void *events[3];
    clpi_launch launch = { .bound = &h->bound, .places = places };
    for (int i = 0; i < n; i++) {
        launch.wait_for = events;
        launch.n_wait_for = i;
        cr_assert_eq(clpi_cl_launch(h->exe, &launch, &events[i]), CLP_OK, "%s", clpi_error_text(&h->env));
        cr_expect(i == 0 || events[i] != events[i - 1]);
    }
    for (int i = 0; i < n; i++) {
        double seconds;
        cr_expect_eq(clpi_cl_wait(events[i], &seconds), CLP_OK);
        cr_expect(seconds >= 0 && seconds < 10);
        clpi_cl_forget(events[i]);
    }
}

/* Zeros but for scale * x + 1 from element `at` on. */
static void expect_hand(void *o_mem, int at, float scale)
{
    float o[HAND_N + 9];
    cr_assert_eq(clpi_cl_read(o_mem, 0, o, sizeof o), CLP_OK);
    for (int i = 0; i < HAND_N + 9; i++) {
        float want = i >= at && i < HAND_N + at ? scale * (float)(i - at) + 1.0f : 0.0f;
        cr_expect(o[i] == want, "o[%d]: expected %g, got %g", i, (double)want, (double)o[i]);
    }
}

static void zeros_hand(hand *h, void **out_mem)
{
    const float zeros[HAND_N + 9] = { 0 };
    cr_assert_eq(clpi_cl_alloc(h->dev, sizeof zeros, out_mem), CLP_OK);
    cr_assert_eq(clpi_cl_write(*out_mem, 0, zeros, sizeof zeros), CLP_OK);
}

static void check_hand(bool by_value)
{
    hand h;
    if (!hand_open(&h, hand_text, by_value))
        return;
    cr_assert(h.exe, "%s", clpi_error_text(&h.env));
    float x[HAND_N];
    void *x_mem, *o_mem, *other_mem;
    for (int i = 0; i < HAND_N; i++)
        x[i] = (float)i;
    cr_assert_eq(clpi_cl_alloc(h.dev, sizeof x, &x_mem), CLP_OK);
    cr_assert_eq(clpi_cl_write(x_mem, 0, x, sizeof x), CLP_OK);
    zeros_hand(&h, &o_mem);
    run_hand(&h, (clpi_place[4]){ { x_mem, 0 }, { o_mem, 8 } }, 3);      /* three in flight, each with a workspace of its own */
    expect_hand(o_mem, 7, 2.5f);

    /* What differs from the launch before is set anew: memory, also where the handle is an old one's; numbers; a scalar. */
    zeros_hand(&h, &other_mem);
    run_hand(&h, (clpi_place[4]){ { x_mem, 0 }, { other_mem, 8 } }, 1);
    expect_hand(other_mem, 7, 2.5f);
    for (int round = 0; round < 4; round++) {
        clpi_cl_release(o_mem);
        zeros_hand(&h, &o_mem);
        run_hand(&h, (clpi_place[4]){ { x_mem, 0 }, { o_mem, 8 } }, 1);
        expect_hand(o_mem, 7, 2.5f);
    }
    h.scalar[2].f = -3;
    h.bound_operands[1].offset = 1;
    clpi_cl_release(o_mem);
    zeros_hand(&h, &o_mem);
    run_hand(&h, (clpi_place[4]){ { x_mem, 0 }, { o_mem, 8 } }, 2);
    expect_hand(o_mem, 3, -3);

    void *event;
    clpi_launch launch = { .bound = &h.bound, .order = CLP_ORDER_REVERSE };
    cr_expect_eq(clpi_cl_launch(h.exe, &launch, &event), CLP_ERR_UNSUPPORTED);
    launch.order = CLP_ORDER_FORWARD;
    launch.watch = &(clpi_watch){ .user = NULL };
    cr_expect_eq(clpi_cl_launch(h.exe, &launch, &event), CLP_ERR_UNSUPPORTED);
    clpi_cl_release(x_mem);
    clpi_cl_release(o_mem);
    clpi_cl_release(other_mem);
    hand_close(&h);
}

Test(cl, runs_a_code_with_its_numbers_by_value)
{
    check_hand(true);
}

Test(cl, runs_a_code_with_its_numbers_in_memory)
{
    check_hand(false);
}

Test(cl, says_what_the_compiler_of_the_device_said)
{
    hand h;
    if (!hand_open(&h, "__kernel void first(float x) { x = no_such_thing; }\n", true))
        return;
    cr_expect_null(h.exe);
    cr_expect(strstr(clpi_error_text(&h.env), "by_hand: the device's compiler failed: clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11)"), "%s",
              clpi_error_text(&h.env));
    cr_expect(strstr(clpi_error_text(&h.env), "no_such_thing"), "%s", clpi_error_text(&h.env));
    cr_expect_null(strchr(clpi_error_text(&h.env), '\n'), "%s", clpi_error_text(&h.env));
    hand_close(&h);
}

Test(cl, names_the_call_and_the_code_of_a_failure)
{
    clpi_env env;
    clpi_env_init(&env, NULL, NULL);
    cr_expect_eq(clpi_cl_fail(&env, "clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES), CLP_ERR_DEVICE);
    cr_expect_str_eq(clpi_error_text(&env), "clEnqueueNDRangeKernel: CL_OUT_OF_RESOURCES (-5)");
    cr_expect_eq(clpi_cl_fail(&env, "clCreateBuffer", CL_MEM_OBJECT_ALLOCATION_FAILURE), CLP_ERR_OOM);
    clpi_env_done(&env);
}

/* ---- Kernels ---- */

static const char add_text[] = "kernel add<b = 64>(in x: i32[N] block [b] at (i), inout o: i32[N] block [b] at (i)) grid (i = cdiv(N, b))\n"
                               "{ o[...] = o[...] + x[...]; }\n";

static clp_array ints(int64_t *shape, int32_t *data, clp_buffer *buffer)
{
    return (clp_array){ .dtype = CLP_I32, .rank = 1, .shape = shape, .data = data, .buffer = buffer };
}

Test(cl, arrays_of_the_host_may_begin_anywhere)
{
    clp_context *ctx = context_on_cl(NULL, NULL);
    clp_kernel *k;
    if (!ctx)
        return;
    OK(ctx, clp_kernel_from_text(ctx, add_text, NULL, NULL, &k));
    for (int at = 0; at < 5; at++) {
        guarded x = guarded_new(1000 * sizeof(int32_t)), o = guarded_new(1000 * sizeof(int32_t));
        int64_t n = 990;
        int32_t *px = (int32_t *)x.data + at, *po = (int32_t *)o.data + at;
        for (int32_t i = 0; i < n; i++) {
            px[i] = i;
            po[i] = 7;
        }
        OK(ctx, clp_run(k, (clp_array[]){ ints(&n, px, NULL), ints(&n, po, NULL) }, 2, NULL));
        for (int32_t i = 0; i < n; i++)
            cr_assert_eq(po[i], i + 7, "at %d: o[%d]: expected %d, got %d", at, i, i + 7, po[i]);
        cr_expect(guarded_is_whole(&x) && guarded_is_whole(&o));
        guarded_free(&x);
        guarded_free(&o);
    }
    clp_kernel_free(k);
    clp_context_free(ctx);
}

/* Its events stay good, in whatever order they are freed. */
Test(cl, a_launch_outlives_its_kernel)
{
    enum { LAUNCHES = 4 };
    static int32_t x[1000], o[LAUNCHES][1000];
    failing_alloc f = { .budget = SIZE_MAX };
    clp_context *ctx = context_with((clp_context_opts){ .alloc = failing_alloc_fn, .alloc_user = &f });
    clp_kernel *k;
    clp_event *events[LAUNCHES];
    int64_t n = 1000;
    if (!ctx)
        return;
    OK(ctx, clp_kernel_from_text(ctx, add_text, NULL, NULL, &k));
    for (int i = 0; i < LAUNCHES; i++) {
        for (int32_t j = 0; j < n; j++)
            o[i][j] = i;
        OK(ctx, clp_run_async(k, (clp_array[]){ ints(&n, x, NULL), ints(&n, o[i], NULL) }, 2, NULL, &events[i]));
    }
    for (int32_t j = 0; j < n; j++)
        cr_assert_eq(x[j], 0);
    clp_kernel_free(k);
    OK(ctx, clp_event_wait(events[1]));
    for (int i = 0; i < LAUNCHES; i++)
        clp_event_free(events[i]);
    for (int i = 0; i < LAUNCHES; i++)
        cr_expect_eq(o[i][999], i);
    clp_context_free(ctx);
    cr_expect_eq(f.n_live, 0u);
}

/* ---- Programs of several kernels ---- */

enum { MAX_TEXTS = 8, TEXT_BYTES = 1 << 16 };

typedef struct texts { char text[MAX_TEXTS][TEXT_BYTES]; int n; } texts;

static void keep_text(const char *stage, const char *kernel, const char *text, void *user)
{
    texts *t = user;
    (void)kernel;
    if (!strcmp(stage, "cl") && t->n < MAX_TEXTS)
        snprintf(t->text[t->n++], TEXT_BYTES, "%s", text);
}

static const char several[] = "kernel a(in x: i32[8], out o: i32[8]) grid () { o[...] = x[...] / 3; }\n"
                              "kernel b(in x: i32[8], out o: i32[8]) grid () math fast { o[...] = x[...] + 1; }\n"
                              "kernel c(in x: i32[8], out o: i32[8]) grid () { o[...] = x[...] / 3 - 1; }\n";

Test(cl, kernels_of_a_text_share_a_program)
{
    texts *t = calloc(1, sizeof *t);
    clp_context *ctx = context_with((clp_context_opts){ .dump = keep_text, .dump_user = t });
    clp_kernel *k[3];
    int n;
    if (!t || !ctx) {
        free(t);
        return;
    }
    OK(ctx, clp_kernels_from_text(ctx, several, NULL, k, 3, &n));
    cr_assert_eq(t->n, 3);
    cr_expect_str_eq(t->text[0], t->text[1], "a and c are one text");
    cr_expect(strstr(t->text[0], "void a_kernel(") && strstr(t->text[0], "void c_kernel("));
    cr_expect(!strstr(t->text[0], "void b_kernel(") && strstr(t->text[2], "void b_kernel("), "b has other rules");
    const char *division = strstr(t->text[0], "\nint8 divide_i32x8("), *scalar = strstr(t->text[0], "\nint divide_i32(");
    cr_assert(division || scalar, "there is a function for the division");
    cr_expect_null(strstr((division ? division : scalar) + 1, division ? "\nint8 divide_i32x8(" : "\nint divide_i32("), "and one for both");
    for (int i = 0; i < 3; i++) {
        int32_t x[8], o[8];
        int64_t eight = 8;
        for (int j = 0; j < 8; j++)
            x[j] = 5 * j - 10;
        OK(ctx, clp_run(k[i], (clp_array[]){ ints(&eight, x, NULL), ints(&eight, o, NULL) }, 2, NULL));
        for (int j = 0; j < 8; j++) {
            const int third = (x[j] - (x[j] % 3 + 3) % 3) / 3, want = i == 0 ? third : i == 1 ? x[j] + 1 : third - 1;
            cr_expect_eq(o[j], want, "%s of %d: expected %d, got %d", clp_kernel_name(k[i]), x[j], want, o[j]);
        }
        clp_kernel_free(k[i]);       /* those left keep the program */
    }
    clp_context_free(ctx);
    free(t);
}

Test(cl, a_text_of_several_that_does_not_build_says_whose_fault_it_is)
{
    clp_context *ctx = context_on_cl(NULL, NULL), *on_text = context_with((clp_context_opts){ .text_only = true });
    clp_kernel *k[3];
    int n;
    void *exes[3];
    clpi_unit units[3];
    if (!ctx || !on_text)
        return;
    OK(on_text, clp_kernels_from_text(on_text, several, NULL, k, 3, &n));
    k[2]->ir->name = "3rd";
    for (int i = 0; i < n; i++)
        units[i] = (clpi_unit){ k[i]->ir, k[i]->plan };
    FAILS(ctx, CLP_ERR_DEVICE, "3rd: the device's compiler failed: ", ctx->backend->compile(ctx->dev, units, n, ctx->schedule, false, exes));
    for (int i = 0; i < n; i++) {
        cr_expect_null(exes[i]);
        clp_kernel_free(k[i]);
    }
    clp_context_free(on_text);
    clp_context_free(ctx);
}

Test(cl, hands_on_the_build_options_of_the_environment)
{
    clp_context *ctx = context_on_cl(NULL, NULL);
    clp_kernel *k;
    if (!ctx)
        return;
    setenv("CLPALLAS_BUILD_OPTIONS", "-D__kernel=none", 1);
    FAILS(ctx, CLP_ERR_DEVICE, "add: the device's compiler failed: ", clp_kernel_from_text(ctx, add_text, NULL, NULL, &k));
    setenv("CLPALLAS_BUILD_OPTIONS", "", 1);
    OK(ctx, clp_kernel_from_text(ctx, add_text, NULL, NULL, &k));
    clp_kernel_free(k);
    clp_context_free(ctx);
}

typedef struct job { clp_context *ctx; clp_kernel *kernel; bool is_right; } job;

static void *run_job(void *user)
{
    job *j = user;
    int64_t n = 500;
    int32_t x[500], o[500];
    j->is_right = true;
    for (int round = 1; round <= 20; round++) {
        for (int i = 0; i < 500; i++) {
            x[i] = i * round;
            o[i] = round;
        }
        bool ran = clp_run(j->kernel, (clp_array[]){ ints(&n, x, NULL), ints(&n, o, NULL) }, 2, NULL) == CLP_OK;
        for (int i = 0; i < 500; i++)
            j->is_right = j->is_right && ran && o[i] == i * round + round;
    }
    return NULL;
}

Test(cl, one_kernel_runs_in_several_threads)
{
    clp_context *ctx = context_on_cl(NULL, NULL);
    clp_kernel *k;
    if (!ctx)
        return;
    OK(ctx, clp_kernel_from_text(ctx, add_text, NULL, NULL, &k));
    job jobs[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        jobs[i] = (job){ ctx, k, false };
        cr_assert_eq(pthread_create(&threads[i], NULL, run_job, &jobs[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        cr_expect(jobs[i].is_right, "thread %d", i);
    }
    clp_kernel_free(k);
    clp_context_free(ctx);
}

/* ---- Programs from before ---- */

enum { STORED = 300 };

/* Paths of the files in a folder, oldest names first; returns how many. */
static int files_in(const char *folder, char paths[][STORED], int n_max)
{
    DIR *dir = opendir(folder);
    int n = 0;
    for (struct dirent *e; dir && (e = readdir(dir)) && n < n_max;)
        if (e->d_name[0] != '.')
            snprintf(paths[n++], STORED, "%.60s/%.200s", folder, e->d_name);
    if (dir)
        closedir(dir);
    return n;
}

/* A sum on the device of this process, in a new context each time; false: no device. */
static bool adds(void)
{
    clp_kernel *k = NULL;
    float x[4] = { 1, 2, 3, 4 }, o[4] = { 0 };
    clp_context *ctx = context_on_cl(NULL, NULL);
    if (!ctx)
        return false;
    cr_assert_eq(clp_kernel_from_text(ctx, "kernel k(in x: f32[4], out o: f32[4]) grid () { o[:] = x[:] + 1.0; }", NULL, NULL, &k), CLP_OK,
                 "%s", clp_last_error(ctx));
    const int64_t four = 4;
    cr_assert_eq(clp_run(k, (clp_array[]){ { .dtype = CLP_F32, .rank = 1, .shape = &four, .data = x },
                                           { .dtype = CLP_F32, .rank = 1, .shape = &four, .data = o } }, 2, NULL), CLP_OK);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(o[i], x[i] + 1);
    clp_kernel_free(k);
    clp_context_free(ctx);
    return true;
}

/* An entry of the store, its head as lib/base/store.c writes it: magic, bytes of the key, bytes of the value, checksum. */
Test(cl, a_stored_program_is_used_and_a_bad_one_is_not)
{
    enum { FILES = 16 };
    char folder[] = "/tmp/clpallas-programs-XXXXXX", paths[FILES][STORED];
    cr_assert_not_null(mkdtemp(folder));
    setenv("CLPALLAS_CACHE_DIR", folder, 1);
    unsetenv("CLPALLAS_CACHE");
    if (!adds()) {
        rmdir(folder);
        return;
    }
    uint64_t head[4];
    static char key[1 << 20];
    int n_files = files_in(folder, paths, FILES), of_kernel = 0;     /* what was found out about the device is kept too */
    for (int i = 0; i < n_files && !of_kernel; i++) {
        FILE *file = fopen(paths[i], "rb");
        cr_assert(file && fread(head, sizeof head, 1, file) == 1 && head[1] < sizeof key && fread(key, head[1], 1, file) == 1);
        fclose(file);
        key[head[1]] = 0;
        of_kernel = strstr(key, "k_kernel") != NULL;
    }
    cr_assert(of_kernel, "the kernel's program was not kept");
    cr_expect(strstr(key, clp_version()), "the version is part of the key");
    adds();
    /* Whole entries whose values are no programs: refused by the device, built anew. */
    static const char *const values[] = { "", "no program", "\177ELF and nothing more" };
    for (int i = 0; i < 3; i++) {
        clpi_store store;
        void *value;
        size_t n;
        clpi_env env;
        clpi_arena arena;
        clpi_env_init(&env, NULL, NULL);
        clpi_arena_init(&arena, &env);
        clpi_store_open(&store);
        clpi_store_put(&store, key, head[1], values[i], strlen(values[i]));
        adds();
        cr_expect(clpi_store_get(&store, key, head[1], &arena, &value, &n) && n > 1000, "value %d: the program is there again", i);
        clpi_arena_done(&arena);
        clpi_env_done(&env);
    }
    for (int i = 0, n = files_in(folder, paths, FILES); i < n; i++)
        unlink(paths[i]);
    rmdir(folder);
}
