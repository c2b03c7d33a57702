/* dot: products of batches of matrices.
 * In: tiles [b.., m, k] and [b.., k, n], held; one or both may be meant transposed (compile.c leaves out a transpose whose
 * only readers are dots). Out: a tile [b.., m, n] in the accumulator's dtype.
 * Decides the method. Floats that are held and summed in f32: b is packed into panels as wide as a register tile and some k
 * long, down which the tile then goes; a is read where it stands. Thin products, and all other dtypes
 * (converted to the accumulator's first; integers wrap): plain loops over rows.                                         */
#include <assert.h>
#include <string.h>

#include "interp/dot.h"
#include "interp/interp.h"

enum { BLOCK_K = 192 };    /* a packed panel of b stays in the first-level cache */

/* A matrix where it stands: elements between rows and between columns. */
typedef struct matrix { int64_t row_step, step; } matrix;

typedef struct product {
    int64_t batches, m, n, k;
    matrix a, b;
    clpi_loop_fn to_acc_a, to_acc_b;       /* conversions of operands; NULL: held as accumulated */
    size_t a_bytes, b_bytes, acc_bytes;    /* of a held element */
    void (*multiply)(const struct product *x, const void *a, const void *b, void *c, void *temp);
    const clpi_micro_kernel *unit;
} product;

static const clpi_micro_kernel *unit_here(void)
{
#if defined(CLPI_HAS_AVX512)
    if (__builtin_cpu_supports("avx512f"))
        return &clpi_dot_avx512;
#endif
#if defined(CLPI_HAS_AVX2)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &clpi_dot_avx2;
#endif
    return &clpi_dot_portable;
}

/* ---- Plain loops: rows of c are sums of multiples of rows of b ---- */

#define PLAIN(name, T)                                                                                                 \
    static void name(const product *x, const void *pa, const void *pb, void *pc, void *temp)                           \
    {                                                                                                                  \
        const T *a = pa, *b = pb;                                                                                      \
        T *c = pc;                                                                                                     \
        (void)temp;                                                                                                    \
        memset(c, 0, (size_t)(x->m * x->n) * sizeof(T));                                                               \
        for (int64_t i = 0; i < x->m; i++, c += x->n)                                                                  \
            for (int64_t p = 0; p < x->k; p++) {                                                                       \
                const T v = a[i * x->a.row_step + p * x->a.step], *row = b + p * x->b.row_step;                        \
                if (x->b.step == 1)                                                                                    \
                    for (int64_t j = 0; j < x->n; j++)                                                                 \
                        c[j] += v * row[j];                                                                            \
                else                                                                                                   \
                    for (int64_t j = 0; j < x->n; j++)                                                                 \
                        c[j] += v * row[j * x->b.step];                                                                \
            }                                                                                                          \
    }
PLAIN(plain_f32, float)
PLAIN(plain_f64, double)
PLAIN(plain_32, uint32_t)
PLAIN(plain_64, uint64_t)

/* One column: each element is the product of two rows, summed by several accumulators. */
static void column_f32(const product *x, const void *pa, const void *pb, void *pc, void *temp)
{
    enum { LANES = 16 };
    const float *a = pa, *b = pb;
    float *c = pc;
    (void)temp;
    for (int64_t i = 0; i < x->m; i++, a += x->a.row_step) {
        float lane[LANES] = { 0 }, sum = 0;
        int64_t p = 0;
        for (; p + LANES <= x->k; p += LANES)
            for (int l = 0; l < LANES; l++)
                lane[l] += a[p + l] * b[p + l];
        for (int l = 0; l < LANES; l++)
            sum += lane[l];
        for (; p < x->k; p++)
            sum += a[p] * b[p];
        c[i] = sum;
    }
}

/* ---- Blocks ---- */

/* Columns j .. j + n of rows p .. p + k, [k][width], the last columns 0. */
static void pack(const product *x, const float *b, int64_t n, int64_t k, int64_t width, float *out)
{
    if (x->b.step == 1 && n == width) {
        for (int64_t p = 0; p < k; p++)
            memcpy(out + p * width, b + p * x->b.row_step, (size_t)width * sizeof *b);
        return;
    }
    if (n < width)
        memset(out, 0, (size_t)(k * width) * sizeof *out);
    for (int64_t j = 0; j < n; j++)
        for (int64_t p = 0; p < k; p++)
            out[p * width + j] = b[p * x->b.row_step + j * x->b.step];
}

/* A register tile that is cut off: by way of a whole one. */
static void cut_tile(const product *x, int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c, float *rows)
{
    const clpi_micro_kernel *u = x->unit;
    float sums[CLPI_DOT_MAX_M * CLPI_DOT_MAX_N] = { 0 };
    if (m < u->m) {
        memset(rows, 0, (size_t)(u->m * k) * sizeof *rows);
        for (int64_t i = 0; i < m; i++)
            for (int64_t p = 0; p < k; p++)
                rows[i * k + p] = a[i * x->a.row_step + p * x->a.step];
        u->tile(k, rows, k, 1, b, sums, u->n);
    } else {
        u->tile(k, a, x->a.row_step, x->a.step, b, sums, u->n);
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            c[i * x->n + j] += sums[i * u->n + j];
}

static void blocked_f32(const product *x, const void *pa, const void *pb, void *pc, void *temp)
{
    const clpi_micro_kernel *u = x->unit;
    float *packed = temp, *rows = packed + u->n * BLOCK_K;
    memset(pc, 0, (size_t)(x->m * x->n) * sizeof(float));
    for (int64_t k0 = 0; k0 < x->k; k0 += BLOCK_K) {
        int64_t k = x->k - k0 < BLOCK_K ? x->k - k0 : BLOCK_K;
        const float *a = (const float *)pa + k0 * x->a.step, *b = (const float *)pb + k0 * x->b.row_step;
        for (int64_t j = 0; j < x->n; j += u->n) {
            int64_t width = x->n - j < u->n ? x->n - j : u->n;
            pack(x, b + j * x->b.step, width, k, u->n, packed);
            for (int64_t i = 0; i < x->m; i += u->m) {
                int64_t height = x->m - i < u->m ? x->m - i : u->m;
                float *c = (float *)pc + i * x->n + j;
                if (width == u->n && height == u->m)
                    u->tile(k, a + i * x->a.row_step, x->a.row_step, x->a.step, packed, c, x->n);
                else
                    cut_tile(x, height, width, k, a + i * x->a.row_step, packed, c, rows);
            }
        }
    }
}

static bool eval_dot(clpi_run *run, const clpi_eval_step *s)
{
    const product *x = s->info;
    const uint8_t *a = run->val[s->a], *b = run->val[s->b];
    uint8_t *c = run->val[s->out], *temp = run->tiles + s->temp;
    int64_t a_elems = x->m * x->k, b_elems = x->k * x->n;
    uint8_t *acc_a = temp, *acc_b = temp + (x->to_acc_a ? clpi_align((size_t)a_elems * x->acc_bytes) : 0);
    for (int64_t i = 0; i < x->batches; i++) {
        const void *from_a = a, *from_b = b;
        if (x->to_acc_a)
            x->to_acc_a(acc_a, a, NULL, NULL, a_elems), from_a = acc_a;
        if (x->to_acc_b)
            x->to_acc_b(acc_b, b, NULL, NULL, b_elems), from_b = acc_b;
        x->multiply(x, from_a, from_b, c, temp);
        a += (size_t)a_elems * x->a_bytes;
        b += (size_t)b_elems * x->b_bytes;
        c += (size_t)(x->m * x->n) * x->acc_bytes;
    }
    return true;
}

/* Where the matrices of an operand stand, and whether compile.c has left a transpose to us. */
static matrix matrix_of(const clpi_compiler *c, clp_val v, int64_t rows, int64_t columns)
{
    return c->is_lazy[v.id] ? (matrix){ 1, rows } : (matrix){ columns, 1 };
}

static void choose(product *x, clp_dtype acc, clpi_eval_step *s)
{
    switch (acc) {
    case CLP_F64: x->multiply = plain_f64; break;
    case CLP_I32:
    case CLP_U32: x->multiply = plain_32; break;
    case CLP_I64:
    case CLP_U64: x->multiply = plain_64; break;
    default:
        assert(acc == CLP_F32);
        x->unit = unit_here();
        if (x->n == 1 && x->a.step == 1)
            x->multiply = column_f32;
        else if (x->m < 4 || x->n < 8 || x->m * x->n * x->k < 2048)
            x->multiply = plain_f32;
        else {
            assert(x->unit->m <= CLPI_DOT_MAX_M && x->unit->n <= CLPI_DOT_MAX_N);
            x->multiply = blocked_f32;
            s->temp_bytes = (size_t)((x->unit->n + x->unit->m) * BLOCK_K) * sizeof(float);
        }
    }
}

clp_status clpi_prepare_dot(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    const clpi_ir *ir = c->exe->ir;
    const clp_val *args = clpi_args(ir, op);
    const clpi_type *a = clpi_type_of(ir, args[0]), *b = clpi_type_of(ir, args[1]), *out = &ir->types.items[op->type];
    product *x = CLPI_NEW(&c->exe->arena, product);
    if (!x)
        return CLP_ERR_OOM;
    int rank = out->rank;
    x->batches = 1;
    for (int d = 0; d < rank - 2; d++)
        x->batches *= out->shape[d];
    x->m = out->shape[rank - 2];
    x->n = out->shape[rank - 1];
    x->k = a->shape[rank - 1];
    x->a = matrix_of(c, args[0], x->m, x->k);
    x->b = matrix_of(c, args[1], x->k, x->n);
    x->a_bytes = clpi_rep_bytes(a->dtype);
    x->b_bytes = clpi_rep_bytes(b->dtype);
    x->acc_bytes = clpi_rep_bytes(out->dtype);
    choose(x, clpi_rep(out->dtype), s);
    if (clpi_rep(a->dtype) != clpi_rep(out->dtype))
        x->to_acc_a = clpi_cast_of(out->dtype, a->dtype);
    if (clpi_rep(b->dtype) != clpi_rep(out->dtype))
        x->to_acc_b = clpi_cast_of(out->dtype, b->dtype);
    if (x->to_acc_a)
        s->temp_bytes += clpi_align((size_t)(x->m * x->k) * x->acc_bytes);
    if (x->to_acc_b)
        s->temp_bytes += clpi_align((size_t)(x->k * x->n) * x->acc_bytes);
    assert(x->multiply != blocked_f32 || (!x->to_acc_a && !x->to_acc_b));
    s->info = x;
    s->eval = eval_dot;
    s->round = NULL;
    return CLP_OK;
}
