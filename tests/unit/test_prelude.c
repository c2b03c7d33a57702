/* The prelude on a device: every elementwise op, cast, reduction and atomic, against the values that ir/scalar.c gives. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cl/cl.h"
#include "cl/prelude.h"
#include "support/support.h"

/* ---- A device, a program, a run ---- */

typedef struct bench { clpi_env env; clpi_host host; clpi_cl_device *dev; clpi_limits limits; } bench;

/* false: there is no device, which is said. */
static bool bench_open(bench *t)
{
    void *dev = NULL;
    clpi_env_init(&t->env, NULL, NULL);
    t->host = (clpi_host){ .env = &t->env };
    clp_status status = clpi_cl_open(&t->host, getenv("CLPALLAS_TEST_CL"), &dev);
    if (status) {
        cr_assert(!getenv("CLP_REQUIRE_CL"), "%s", clpi_error_text(&t->env));
        fprintf(stderr, "skipped: %s\n", clpi_error_text(&t->env));
        clpi_env_done(&t->env);
        return false;
    }
    t->dev = dev;
    t->limits = t->dev->limits;
    return true;
}

static void bench_close(bench *t)
{
    clpi_cl_close(t->dev);
    clpi_env_done(&t->env);
}

enum { N = 2048, MAX_ROWS = 80, SLOT = 8, MAX_INPUTS = 4 };      /* lanes; results a kernel gives; bytes of an element of them */

/* Runs `run(x0, x1, .., out)` once. inputs: N elements of at most 8 bytes each. */
static void run_kernel(bench *t, const char *what, const char *text, void *const *inputs, int n_inputs, void *out, size_t out_bytes)
{
    cl_program program;
    cl_int code;
    const char *dump = getenv("CLPALLAS_TEST_TEXT");
    if (dump)
        fprintf(stderr, "%s\n", text);
    clp_status status = clpi_cl_build(t->dev, what, text, "", &program);
    cr_assert_eq(status, CLP_OK, "%s: %s", what, clpi_error_text(&t->env));
    cl_kernel kernel = clCreateKernel(program, "run", &code);
    cr_assert_eq(code, CL_SUCCESS, "%s: clCreateKernel: %d", what, code);
    void *mems[MAX_INPUTS + 1];
    for (int i = 0; i <= n_inputs; i++) {
        size_t n_bytes = i < n_inputs ? (size_t)N * SLOT : out_bytes;
        cr_assert_eq(clpi_cl_alloc(t->dev, n_bytes, &mems[i]), CLP_OK);
        cr_assert_eq(clpi_cl_write(mems[i], 0, i < n_inputs ? inputs[i] : out, n_bytes), CLP_OK);
        cr_assert_eq(clSetKernelArg(kernel, (cl_uint)i, sizeof(cl_mem), &((clpi_cl_mem *)mems[i])->mem), CL_SUCCESS);
    }
    size_t one = 1;
    cr_assert_eq(clEnqueueNDRangeKernel(t->dev->queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL), CL_SUCCESS, "%s", what);
    cr_assert_eq(clpi_cl_read(mems[n_inputs], 0, out, out_bytes), CLP_OK, "%s: %s", what, clpi_error_text(&t->env));
    for (int i = 0; i <= n_inputs; i++)
        clpi_cl_release(mems[i]);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
}

/* ---- Values ---- */

static const clp_dtype computed[] = { CLP_BOOL, CLP_I8, CLP_U8, CLP_I16, CLP_U16, CLP_I32, CLP_U32, CLP_I64, CLP_U64,
                                      CLP_F16, CLP_BF16, CLP_F32, CLP_F64, CLP_F8E4M3, CLP_F8E5M2 };
enum { N_COMPUTED = sizeof computed / sizeof *computed, N_EDGES = 26 };

static uint64_t float_edge(clp_dtype d, int i)
{
    static const double numbers[N_EDGES] = {
        0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 3.0, 127.5, -128.5, 255.0, 65504.0, 65520.0, 2147483648.0, -2147483904.0,
        9.3e18, 1.9e19, -1e30, INFINITY, -INFINITY, NAN, 1e-40, -1e-45, 5.9e-8, 1.1754943508222875e-38,
    };
    if (d == CLP_F64)
        return clpi_elem_to_bits(d, (clpi_elem){ .d = i == 22 ? 1e-310 : numbers[i] });
    return clpi_f64_to_small_bits(d, numbers[i]);
}

static uint64_t int_edge(clp_dtype d, int i)
{
    uint64_t width = (uint64_t)clp_dtype_bits(d), max = d == CLP_BOOL ? 1 : clpi_int_max(d), min = d == CLP_BOOL ? 0 : (uint64_t)clpi_int_min(d);
    const uint64_t numbers[N_EDGES] = { 0, 1, 2, 3, (uint64_t)-1, (uint64_t)-2, (uint64_t)-3, min, min + 1, max, max - 1, width, width - 1,
                                        width + 1, 7, (uint64_t)-7, 10, (uint64_t)-10, max / 2, max / 2 + 1, 100, 127, 128, 255,
                                        32768, 65535 };
    return numbers[i] & (UINT64_MAX >> (64 - width));
}

static uint64_t edge(clp_dtype d, int i)
{
    return clpi_is_float(d) ? float_edge(d, i) : int_edge(d, i);
}

/* All pairs of edges, then bits at random, then (floats) numbers of middling size. */
static uint64_t value_at(clp_dtype d, int operand, int i, uint64_t *state)
{
    uint64_t random = random_next(state) & (UINT64_MAX >> (64 - clp_dtype_bits(d)));
    if (d == CLP_BOOL)
        random = random & 1 ? (random >> 1 & 3) : 0;      /* a byte other than 0 is true */
    if (i < N_EDGES * N_EDGES)
        return edge(d, operand == 0 ? i % N_EDGES : operand == 1 ? i / N_EDGES : (i * 7 + i / 5) % N_EDGES);
    if (!clpi_is_float(d) || i % 2)
        return random;
    double x = (random_uniform(state) - 0.5) * (i % 4 ? 4.0 : 200.0);
    return d == CLP_F64 ? clpi_elem_to_bits(d, (clpi_elem){ .d = x }) : clpi_f64_to_small_bits(d, x);
}

static int bytes_of(clp_dtype d)
{
    return clp_dtype_bits(d) / 8;
}

static void fill(clp_dtype d, int operand, unsigned char *out)
{
    uint64_t state = 1000u + (uint64_t)operand + 10u * (uint64_t)d;
    for (int i = 0; i < N; i++) {
        uint64_t bits = value_at(d, operand, i, &state);
        memcpy(out + (size_t)i * (size_t)bytes_of(d), &bits, (size_t)bytes_of(d));
    }
}

static uint64_t bits_in(clp_dtype d, const unsigned char *data, int i)
{
    uint64_t bits = 0;
    memcpy(&bits, data + (size_t)i * (size_t)bytes_of(d), (size_t)bytes_of(d));
    return bits;
}

static bool is_nan(clp_dtype d, uint64_t bits)
{
    clpi_elem e = clpi_elem_from_bits(d, bits);
    return clpi_is_float(d) && (d == CLP_F64 ? e.d != e.d : e.f != e.f);
}

/* Steps of the dtype between two values. */
static double distance(clp_dtype d, uint64_t a, uint64_t b)
{
    if (is_nan(d, a) || is_nan(d, b))
        return is_nan(d, a) && is_nan(d, b) ? 0 : INFINITY;
    uint64_t sign = 1ull << (clp_dtype_bits(d) - 1);
    if ((a ^ b) & sign)
        return (double)(a & ~sign) + (double)(b & ~sign);
    return (double)(a > b ? a - b : b - a);
}

/* ---- Elementwise ---- */

static bool takes(clpi_types t, clp_dtype d)
{
    bool is_float = clpi_is_float(d) && !clpi_is_f8(d), is_int = clpi_is_int(d);
    switch (t) {
    case CLP_ARI: case CLP_ORD: case CLP_CMP: return is_float || is_int;
    case CLP_FLT: case CLP_TST: return is_float;
    case CLP_INT: return is_int;
    case CLP_BIT: return is_int || d == CLP_BOOL;
    case CLP_EQU: return is_float || is_int || d == CLP_BOOL;
    case CLP_SEL: return true;
    default: return false;
    }
}

static clp_dtype result_of(clpi_op_kind op, clp_dtype d)
{
    clpi_types t = clpi_ops[op].types;
    return t == CLP_CMP || t == CLP_EQU || t == CLP_TST ? CLP_BOOL : d;
}

/* OpenCL's own bound on the function, and two for the host's. 0: equal bits. */
static double ulps_allowed(clpi_op_kind op, clp_dtype d)
{
    static const struct { clpi_op_kind op; double f32, f64; } rows[] = {
        { CLP_OP_cbrt, 4, 4 },  { CLP_OP_expm1, 5, 5 }, { CLP_OP_log1p, 4, 4 }, { CLP_OP_tan, 7, 7 },   { CLP_OP_asin, 6, 6 },
        { CLP_OP_acos, 6, 6 },  { CLP_OP_atan, 7, 7 },  { CLP_OP_sinh, 6, 6 },  { CLP_OP_cosh, 6, 6 },  { CLP_OP_asinh, 6, 6 },
        { CLP_OP_acosh, 6, 6 }, { CLP_OP_atanh, 7, 7 }, { CLP_OP_pow, 18, 18 }, { CLP_OP_atan2, 8, 8 }, { CLP_OP_exp, 0, 5 },
        { CLP_OP_exp2, 0, 5 },  { CLP_OP_log, 0, 5 },   { CLP_OP_log2, 0, 5 },  { CLP_OP_sin, 0, 6 },   { CLP_OP_cos, 0, 6 },
        { CLP_OP_tanh, 0, 7 },  { CLP_OP_erf, 0, 18 },  { CLP_OP_erf_inv, 0, 18 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op)
            return d == CLP_F64 ? rows[i].f64 : d == CLP_F32 || rows[i].f32 == 0 ? rows[i].f32 : 1;
    return 0;
}

static const char *type_of(clp_dtype d, int width, int mask_bits)
{
    return d == CLP_BOOL ? clpi_cl_mask_type(mask_bits, width) : clpi_cl_type(d, width);
}

/* "    float16 a = .. x[i];" */
static void put_load(clpi_prelude *p, clpi_str *out, const char *name, const char *array, clp_dtype d, int width, int mask_bits)
{
    char load[64];
    if (width == 1)
        snprintf(load, sizeof load, "%s[i]", array);
    else
        snprintf(load, sizeof load, "vload%d(0, %s + i)", width, array);
    clpi_str_add(out, "        %s %s = ", type_of(d, width, mask_bits), name);
    clpi_prelude_held(p, out, d, width, mask_bits, load);
    clpi_str_puts(out, ";\n");
}

/* Stores a held expression as row `row` of out. */
static void put_store(clpi_prelude *p, clpi_str *out, int row, clp_dtype d, int width, int mask_bits, const char *expr)
{
    clpi_str stored;
    clpi_str_init(&stored, out->env);
    clpi_prelude_stored(p, &stored, d, width, mask_bits, expr);
    const char *type = clpi_cl_stored_type(d, 1);
    if (width == 1)
        clpi_str_add(out, "        ((__global %s *)(out + %d))[i] = %s;\n", type, row * N * SLOT, stored.text);
    else
        clpi_str_add(out, "        vstore%d(%s, 0, (__global %s *)(out + %d) + i);\n", width, stored.text, type, row * N * SLOT);
    clpi_str_done(&stored);
}

static void put_head(clpi_str *out, const clp_dtype *inputs, int n_inputs, int width)
{
    clpi_str_puts(out, "__kernel void run(");
    for (int i = 0; i < n_inputs; i++)
        clpi_str_add(out, "__global const %s *x%d, ", clpi_cl_stored_type(inputs[i], 1), i);
    clpi_str_add(out, "__global uchar *out)\n{\n    for (long i = 0; i < %d; i += %d) {\n", N, width);
}

/* The prelude, then the body. */
static char *whole_text(bench *t, clpi_prelude *p, clpi_str *body)
{
    clpi_str all;
    clpi_str_init(&all, &t->env);
    clpi_prelude_text(p, &all);
    clpi_str_add(&all, "%s    }\n}\n", body->text);
    cr_assert(!all.failed && !body->failed);
    char *copy = strdup(all.text);
    clpi_str_done(&all);
    clpi_str_done(body);
    return copy;
}

static void check_row(const char *what, clpi_op_kind op, clp_dtype d, unsigned char *const *inputs, const unsigned char *got)
{
    clp_dtype result = result_of(op, d);
    double allowed = ulps_allowed(op, d);
    int n_bad = 0;
    for (int i = 0; i < N; i++) {
        clpi_elem args[3];
        uint64_t bits[3];
        for (int a = 0; a < 3; a++) {
            bits[a] = bits_in(d, inputs[a], i);
            args[a] = clpi_elem_from_bits(d, bits[a]);
        }
        if (op == CLP_OP_where) {
            args[2] = args[1];
            args[1] = args[0];
            args[0] = clpi_elem_from_bits(CLP_BOOL, bits_in(CLP_BOOL, inputs[3], i));
        }
        uint64_t want = clpi_elem_to_bits(result, clpi_scalar_ew(op, d, args)), have = bits_in(result, got, i);
        bool same = want == have || (is_nan(result, want) && is_nan(result, have));
        bool zero = (op == CLP_OP_minimum || op == CLP_OP_maximum) && clpi_is_float(d) && ((want | have) << (65 - clp_dtype_bits(d))) == 0;
        if (same || zero || (allowed > 0 && distance(result, want, have) <= allowed))
            continue;
        if (n_bad++ < 3)
            cr_expect(false, "%s: %s(%#" PRIx64 ", %#" PRIx64 ", %#" PRIx64 "): expected %#" PRIx64 ", got %#" PRIx64, what,
                      clpi_ops[op].name, bits[0], bits[1], bits[2], want, have);
    }
    cr_expect(n_bad == 0, "%s: %s: %d of %d differ", what, clpi_ops[op].name, n_bad, N);
}

static void check_elementwise(bench *t, clp_dtype d, int width)
{
    char what[64];
    snprintf(what, sizeof what, "%sx%d", clp_dtype_name(d), width);
    clpi_arena arena;
    clpi_prelude p;
    clpi_str body;
    clpi_arena_init(&arena, &t->env);
    clpi_prelude_init(&p, &arena, &t->limits, false);
    clpi_str_init(&body, &t->env);
    int mask_bits = d == CLP_BOOL ? 32 : clpi_cl_mask_bits(d), n_rows = 0;
    clpi_op_kind rows[MAX_ROWS];
    static const char *const names[] = { "a", "b", "c", "m" }, *const arrays[] = { "x0", "x1", "x2", "x3" };
    put_head(&body, (clp_dtype[]){ d, d, d, CLP_BOOL }, 4, width);
    for (int a = 0; a < 4; a++)
        put_load(&p, &body, names[a], arrays[a], a < 3 ? d : CLP_BOOL, width, mask_bits);
    for (int k = 1; k < CLP_N_OPS; k++) {
        if (!clpi_ops[k].is_elementwise || !takes(clpi_ops[k].types, d))
            continue;
        clpi_str expr;
        clpi_str_init(&expr, &t->env);
        bool is_where = k == CLP_OP_where;
        const char *const args[] = { is_where ? "m" : "a", is_where ? "a" : "b", is_where ? "b" : "c" };
        clpi_prelude_ew(&p, &expr, (clpi_op_kind)k, d, width, args);
        put_store(&p, &body, n_rows, result_of((clpi_op_kind)k, d), width, mask_bits, expr.text);
        rows[n_rows++] = (clpi_op_kind)k;
        clpi_str_done(&expr);
    }
    char *text = whole_text(t, &p, &body);
    unsigned char *inputs[4], *out = calloc((size_t)n_rows * N, SLOT);
    for (int a = 0; a < 4; a++) {
        inputs[a] = calloc(N, SLOT);
        fill(a < 3 ? d : CLP_BOOL, a, inputs[a]);
    }
    run_kernel(t, what, text, (void *const *)inputs, 4, out, (size_t)n_rows * N * SLOT);
    for (int r = 0; r < n_rows; r++)
        check_row(what, rows[r], d, inputs, out + (size_t)r * N * SLOT);
    for (int a = 0; a < 4; a++)
        free(inputs[a]);
    free(out);
    free(text);
    clpi_prelude_done(&p);
    clpi_arena_done(&arena);
}

static void check_all_elementwise(int width)
{
    bench t;
    if (!bench_open(&t))
        return;
    for (int i = 0; i < N_COMPUTED; i++)
        if (computed[i] != CLP_F64 || t.limits.has_fp64)
            check_elementwise(&t, computed[i], width);
    bench_close(&t);
}

Test(prelude, scalars_compute_what_the_table_says)
{
    check_all_elementwise(1);
}

Test(prelude, vectors_of_16_compute_what_the_table_says)
{
    check_all_elementwise(16);
}

Test(prelude, vectors_of_4_compute_what_the_table_says)
{
    bench t;
    if (!bench_open(&t))
        return;
    check_elementwise(&t, CLP_F32, 4);
    check_elementwise(&t, CLP_BF16, 4);
    check_elementwise(&t, CLP_I8, 4);
    check_elementwise(&t, CLP_BOOL, 4);
    bench_close(&t);
}

/* A device that cannot divide itself: through f64, and without that. */
Test(prelude, divides_and_roots_without_help_of_the_device)
{
    bench t;
    if (!bench_open(&t))
        return;
    t.limits.has_correct_divide = false;
    for (int has_fp64 = 0; has_fp64 <= (t.dev->limits.has_fp64 ? 1 : 0); has_fp64++) {
        t.limits.has_fp64 = has_fp64;
        check_elementwise(&t, CLP_F32, 1);
        check_elementwise(&t, CLP_F32, 16);
    }
    bench_close(&t);
}

/* ---- Casts ---- */

static void check_casts(bench *t, clp_dtype from, int width)
{
    char what[64];
    snprintf(what, sizeof what, "from %sx%d", clp_dtype_name(from), width);
    clpi_arena arena;
    clpi_prelude p;
    clpi_str body;
    clpi_arena_init(&arena, &t->env);
    clpi_prelude_init(&p, &arena, &t->limits, false);
    clpi_str_init(&body, &t->env);
    int mask_bits = from == CLP_BOOL ? 16 : clpi_cl_mask_bits(from), n_rows = 0;
    clp_dtype rows[MAX_ROWS];
    bool is_bitcast[MAX_ROWS];
    put_head(&body, &from, 1, width);
    put_load(&p, &body, "a", "x0", from, width, mask_bits);
    for (int i = 0; i < 2 * N_COMPUTED; i++) {
        clp_dtype to = computed[i / 2];
        bool bitcast = i % 2;
        if ((to == CLP_F64 && !t->limits.has_fp64) ||
            (bitcast && (to == CLP_BOOL || from == CLP_BOOL || clp_dtype_bits(to) != clp_dtype_bits(from))))
            continue;
        clpi_str expr;
        clpi_str_init(&expr, &t->env);
        if (bitcast)
            clpi_prelude_bitcast(&p, &expr, to, from, width, "a");
        else
            clpi_prelude_cast(&p, &expr, to, from, width, mask_bits, "a");
        put_store(&p, &body, n_rows, to, width, mask_bits, expr.text);
        clpi_str_done(&expr);
        rows[n_rows] = to;
        is_bitcast[n_rows++] = bitcast;
    }
    char *text = whole_text(t, &p, &body);
    unsigned char *input = calloc(N, SLOT), *out = calloc((size_t)n_rows * N, SLOT);
    fill(from, 0, input);
    run_kernel(t, what, text, (void *const[]){ input }, 1, out, (size_t)n_rows * N * SLOT);
    for (int r = 0; r < n_rows; r++) {
        int n_bad = 0;
        for (int i = 0; i < N; i++) {
            uint64_t bits = bits_in(from, input, i), have = bits_in(rows[r], out + (size_t)r * N * SLOT, i);
            clpi_elem e = clpi_elem_from_bits(from, bits);
            clpi_elem x = is_bitcast[r] ? clpi_scalar_bitcast(rows[r], from, e) : clpi_elem_cast(rows[r], from, e);
            uint64_t want = clpi_elem_to_bits(rows[r], x);
            if (want != have && !(is_nan(rows[r], want) && is_nan(rows[r], have)) && n_bad++ < 3)
                cr_expect(false, "%s: %s to %s of %#" PRIx64 ": expected %#" PRIx64 ", got %#" PRIx64, what,
                          is_bitcast[r] ? "bitcast" : "cast", clp_dtype_name(rows[r]), bits, want, have);
        }
    }
    free(input);
    free(out);
    free(text);
    clpi_prelude_done(&p);
    clpi_arena_done(&arena);
}

Test(prelude, casts_as_the_language_does)
{
    bench t;
    if (!bench_open(&t))
        return;
    for (int i = 0; i < N_COMPUTED; i++)
        for (int width = 1; width <= 16; width *= 16)
            if (computed[i] != CLP_F64 || t.limits.has_fp64)
                check_casts(&t, computed[i], width);
    bench_close(&t);
}
