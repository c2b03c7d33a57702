/* prelude_bench: kernels of prelude expressions, run once by one work-item: the device, the values, the text around them. */
#ifndef TESTS_PRELUDE_BENCH_H
#define TESTS_PRELUDE_BENCH_H

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
static inline bool bench_open(bench *t)
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

static inline void bench_close(bench *t)
{
    clpi_cl_close(t->dev);
    clpi_env_done(&t->env);
}

enum { N = 2048, MAX_ROWS = 80, SLOT = 8, MAX_INPUTS = 4 };      /* lanes; results a kernel gives; bytes of an element of them */

/* Runs `run(x0, x1, .., out)` once. inputs: N elements of at most 8 bytes each. */
/* A buffer, and the memory of the device that it is the middle of: walls of known bytes before and behind. */
typedef struct walled { void *whole; cl_mem inside; unsigned char *before; size_t n_bytes; } walled;
enum { WALL_BYTES = 4096 };      /* at least what a part of a buffer must be aligned to */

static inline size_t walled_bytes(const walled *w)
{
    return w->n_bytes + 2 * WALL_BYTES;
}

static inline void walled_new(bench *t, walled *w, const void *data, size_t n_bytes)
{
    cl_int code;
    *w = (walled){ .n_bytes = n_bytes };
    w->before = malloc(walled_bytes(w));
    cr_assert(w->before);
    memset(w->before, 0x5c, walled_bytes(w));
    memcpy(w->before + WALL_BYTES, data, n_bytes);
    cr_assert_eq(clpi_cl_alloc(t->dev, walled_bytes(w), &w->whole), CLP_OK);
    cr_assert_eq(clpi_cl_write(w->whole, 0, w->before, walled_bytes(w)), CLP_OK);
    w->inside = clCreateSubBuffer(((clpi_cl_mem *)w->whole)->mem, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                  &(cl_buffer_region){ WALL_BYTES, n_bytes }, &code);
    cr_assert_eq(code, CL_SUCCESS, "clCreateSubBuffer: %d", code);
}

/* out: where its bytes go. NULL: it was an input, which must be as it was. */
static inline void walled_done(bench *t, walled *w, const char *what, void *out)
{
    unsigned char *after = malloc(walled_bytes(w));
    cr_assert(after);
    cr_assert_eq(clpi_cl_read(w->whole, 0, after, walled_bytes(w)), CLP_OK, "%s: %s", what, clpi_error_text(&t->env));
    if (out) {
        memcpy(out, after + WALL_BYTES, w->n_bytes);
        memcpy(after + WALL_BYTES, w->before + WALL_BYTES, w->n_bytes);
    }
    cr_expect(memcmp(after, w->before, walled_bytes(w)) == 0, "%s: memory that is not the output's was written", what);
    clReleaseMemObject(w->inside);
    clpi_cl_release(w->whole);
    free(w->before);
    free(after);
}

static inline void run_kernel(bench *t, const char *what, const char *text, void *const *inputs, int n_inputs, void *out, size_t out_bytes)
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
    walled mems[MAX_INPUTS + 1];
    for (int i = 0; i <= n_inputs; i++) {
        walled_new(t, &mems[i], i < n_inputs ? inputs[i] : out, i < n_inputs ? (size_t)N * SLOT : out_bytes);
        cr_assert_eq(clSetKernelArg(kernel, (cl_uint)i, sizeof(cl_mem), &mems[i].inside), CL_SUCCESS);
    }
    size_t one = 1;
    cr_assert_eq(clEnqueueNDRangeKernel(t->dev->queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL), CL_SUCCESS, "%s", what);
    for (int i = 0; i <= n_inputs; i++)
        walled_done(t, &mems[i], what, i < n_inputs ? NULL : out);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
}

/* ---- Values ---- */

static const clp_dtype computed[] = { CLP_BOOL, CLP_I8, CLP_U8, CLP_I16, CLP_U16, CLP_I32, CLP_U32, CLP_I64, CLP_U64,
                                      CLP_F16, CLP_BF16, CLP_F32, CLP_F64, CLP_F8E4M3, CLP_F8E5M2 };
enum { N_COMPUTED = sizeof computed / sizeof *computed, N_EDGES = 26 };

static inline uint64_t float_edge(clp_dtype d, int i)
{
    static const double numbers[N_EDGES] = {
        0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 3.0, 127.5, -128.5, 255.0, 65504.0, 65520.0, 2147483648.0, -2147483904.0,
        9.3e18, 1.9e19, -1e30, INFINITY, -INFINITY, NAN, 1e-40, -1e-45, 5.9e-8, 1.1754943508222875e-38,
    };
    if (d == CLP_F64)
        return clpi_elem_to_bits(d, (clpi_elem){ .d = i == 22 ? 1e-310 : numbers[i] });
    return clpi_f64_to_small_bits(d, numbers[i]);
}

static inline uint64_t int_edge(clp_dtype d, int i)
{
    uint64_t width = (uint64_t)clp_dtype_bits(d), max = d == CLP_BOOL ? 1 : clpi_int_max(d), min = d == CLP_BOOL ? 0 : (uint64_t)clpi_int_min(d);
    const uint64_t numbers[N_EDGES] = { 0, 1, 2, 3, (uint64_t)-1, (uint64_t)-2, (uint64_t)-3, min, min + 1, max, max - 1, width, width - 1,
                                        width + 1, 7, (uint64_t)-7, 10, (uint64_t)-10, max / 2, max / 2 + 1, 100, 127, 128, 255,
                                        32768, 65535 };
    return numbers[i] & (UINT64_MAX >> (64 - width));
}

static inline uint64_t edge(clp_dtype d, int i)
{
    return clpi_is_float(d) ? float_edge(d, i) : int_edge(d, i);
}

/* All pairs of edges, then bits at random, then (floats) numbers of middling size. */
static inline uint64_t value_at(clp_dtype d, int operand, int i, uint64_t *state)
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

static inline int bytes_of(clp_dtype d)
{
    return clp_dtype_bits(d) / 8;
}

static inline void fill(clp_dtype d, int operand, unsigned char *out)
{
    uint64_t state = 1000u + (uint64_t)operand + 10u * (uint64_t)d;
    for (int i = 0; i < N; i++) {
        uint64_t bits = value_at(d, operand, i, &state);
        memcpy(out + (size_t)i * (size_t)bytes_of(d), &bits, (size_t)bytes_of(d));
    }
}

static inline uint64_t bits_in(clp_dtype d, const unsigned char *data, int i)
{
    uint64_t bits = 0;
    memcpy(&bits, data + (size_t)i * (size_t)bytes_of(d), (size_t)bytes_of(d));
    return bits;
}

static inline bool is_nan(clp_dtype d, uint64_t bits)
{
    clpi_elem e = clpi_elem_from_bits(d, bits);
    return clpi_is_float(d) && (d == CLP_F64 ? e.d != e.d : e.f != e.f);
}

/* Steps of the dtype between two values. */
static inline double distance(clp_dtype d, uint64_t a, uint64_t b)
{
    if (is_nan(d, a) || is_nan(d, b))
        return is_nan(d, a) && is_nan(d, b) ? 0 : INFINITY;
    uint64_t sign = 1ull << (clp_dtype_bits(d) - 1);
    if ((a ^ b) & sign)
        return (double)(a & ~sign) + (double)(b & ~sign);
    return (double)(a > b ? a - b : b - a);
}

/* ---- Text ---- */

static inline const char *type_of(clp_dtype d, int width, int mask_bits)
{
    return d == CLP_BOOL ? clpi_cl_mask_type(mask_bits, width) : clpi_cl_type(d, width);
}

/* "    float16 a = .. x[i];" */
static inline void put_load(clpi_prelude *p, clpi_str *out, const char *name, const char *array, clp_dtype d, int width, int mask_bits)
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
static inline void put_store(clpi_prelude *p, clpi_str *out, int row, clp_dtype d, int width, const char *expr)
{
    clpi_str stored;
    clpi_str_init(&stored, out->env);
    clpi_prelude_stored(p, &stored, d, width, expr);
    const char *type = clpi_cl_stored_type(d, 1);
    if (width == 1)
        clpi_str_add(out, "        ((__global %s *)(out + %d))[i] = %s;\n", type, row * N * SLOT, stored.text);
    else
        clpi_str_add(out, "        vstore%d(%s, 0, (__global %s *)(out + %d) + i);\n", width, stored.text, type, row * N * SLOT);
    clpi_str_done(&stored);
}

static inline void put_head(clpi_str *out, const clp_dtype *inputs, int n_inputs, int width)
{
    clpi_str_puts(out, "__kernel void run(");
    for (int i = 0; i < n_inputs; i++)
        clpi_str_add(out, "__global const %s *x%d, ", clpi_cl_stored_type(inputs[i], 1), i);
    clpi_str_add(out, "__global uchar *out)\n{\n    for (long i = 0; i < %d; i += %d) {\n", N, width);
}

/* The prelude, then the body. */
static inline char *whole_text(bench *t, clpi_prelude *p, clpi_str *body)
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

#endif
