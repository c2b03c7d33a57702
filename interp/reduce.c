/* reduce: sum prod max min any all over sets of axes; argmax and argmin over one.
 * In: a tile and a set of axes. Out: a tile without those axes.
 * Decides how a tile is walked: its axes, merged into runs of reduced and kept ones, in memory order; the last run is a row,
 * which is reduced to one number or added to a row of accumulators. f16 and bf16 accumulate in f32 and are rounded once,
 * small integers in 32 bits. Rows of floats are summed by many accumulators: the order of a sum is free.                */
#include <assert.h>
#include <math.h>

#include "interp/interp.h"

typedef void (*row_fn)(void *acc, const void *row, int64_t n);

/* What one op and dtype need: `across` takes a row into one accumulator, `along` takes each element into its own. */
typedef struct reduction {
    row_fn    across, along;
    clp_dtype acc;
    clpi_elem identity;
    int       n_runs;             /* alternating; sizes, and whether reduced */
    int64_t   size[CLP_MAX_RANK];
    int64_t   out_step[CLP_MAX_RANK];    /* of a kept run in the result; 0: reduced */
    bool      is_row_reduced;
    int64_t   n_in_bytes;         /* of an element */
} reduction;

/* More than the compiler unrolls before it looks for vectors. */
enum { LANES = 32 };

/* name; T: elements; A: accumulators; start: the identity; fold: acc from acc and x */
#define ROWS(name, T, A, start, fold)                                                                                  \
    static void name##_across(void *out, const void *in, int64_t n)                                                    \
    {                                                                                                                  \
        const T *p = in;                                                                                               \
        A lane[LANES], acc = *(A *)out;                                                                                \
        int64_t i = 0;                                                                                                 \
        for (int k = 0; k < LANES; k++)                                                                                \
            lane[k] = start;                                                                                           \
        for (; i + LANES <= n; i += LANES)                                                                             \
            for (int k = 0; k < LANES; k++) {                                                                          \
                A x = (A)p[i + k];                                                                                     \
                lane[k] = (A)fold(lane[k], x);                                                                         \
            }                                                                                                          \
        for (int half = LANES / 2; half; half /= 2)                                                                    \
            for (int k = 0; k < half; k++)                                                                             \
                lane[k] = (A)fold(lane[k], lane[k + half]);                                                            \
        acc = (A)fold(acc, lane[0]);                                                                                   \
        for (; i < n; i++) {                                                                                           \
            A x = (A)p[i];                                                                                             \
            acc = (A)fold(acc, x);                                                                                     \
        }                                                                                                              \
        *(A *)out = acc;                                                                                               \
    }                                                                                                                  \
    static void name##_along(void *out, const void *in, int64_t n)                                                     \
    {                                                                                                                  \
        const T *p = in;                                                                                               \
        A *acc = out;                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            A x = (A)p[i];                                                                                             \
            acc[i] = (A)fold(acc[i], x);                                                                               \
        }                                                                                                              \
    }

#define ADD(a, x) ((a) + (x))
#define MUL(a, x) ((a) * (x))
#define MAX(a, x) ((x) > (a) ? (x) : (a))
#define MIN(a, x) ((x) < (a) ? (x) : (a))
#define MAX_NAN(a, x) ((((x) > (a)) | ((x) != (x))) ? (x) : (a))      /* a NaN stays: nothing is greater than it */
#define MIN_NAN(a, x) ((((x) < (a)) | ((x) != (x))) ? (x) : (a))
#define ANY(a, x) ((a) | (x))
#define ALL(a, x) ((a) & (x))

/* (dtype, elements, accumulators of sums, least, most) */
#define INTS(X)                                                                                                        \
    X(i8, int8_t, uint32_t, INT8_MIN, INT8_MAX)                                                                        \
    X(u8, uint8_t, uint32_t, 0, UINT8_MAX)                                                                             \
    X(i16, int16_t, uint32_t, INT16_MIN, INT16_MAX)                                                                    \
    X(u16, uint16_t, uint32_t, 0, UINT16_MAX)                                                                          \
    X(i32, int32_t, uint32_t, INT32_MIN, INT32_MAX)                                                                    \
    X(u32, uint32_t, uint32_t, 0, UINT32_MAX)                                                                          \
    X(i64, int64_t, uint64_t, INT64_MIN, INT64_MAX)                                                                    \
    X(u64, uint64_t, uint64_t, 0, UINT64_MAX)

#define INT_ROWS(d, T, A, least, most)                                                                                 \
    ROWS(sum_##d, T, A, 0, ADD) ROWS(prod_##d, T, A, 1, MUL) ROWS(max_##d, T, T, least, MAX) ROWS(min_##d, T, T, most, MIN)
#define FLOAT_ROWS(d, T)                                                                                               \
    ROWS(sum_##d, T, T, 0, ADD) ROWS(prod_##d, T, T, 1, MUL)                                                           \
    ROWS(max_##d, T, T, (T)-INFINITY, MAX_NAN) ROWS(min_##d, T, T, (T)INFINITY, MIN_NAN)
INTS(INT_ROWS)
FLOAT_ROWS(f32, float)
FLOAT_ROWS(f64, double)
ROWS(any_bool, uint8_t, uint8_t, 0, ANY)
ROWS(all_bool, uint8_t, uint8_t, 1, ALL)

typedef struct rows_of { row_fn across, along; } rows_of;
#define OF(name) { name##_across, name##_along }
#define NUMBERS_OF(name)                                                                                               \
    [CLP_I8] = OF(name##_i8), [CLP_U8] = OF(name##_u8), [CLP_I16] = OF(name##_i16), [CLP_U16] = OF(name##_u16),        \
    [CLP_I32] = OF(name##_i32), [CLP_U32] = OF(name##_u32), [CLP_I64] = OF(name##_i64), [CLP_U64] = OF(name##_u64),    \
    [CLP_F32] = OF(name##_f32), [CLP_F64] = OF(name##_f64)
static const rows_of sums[CLP_N_DTYPES] = { NUMBERS_OF(sum), [CLP_BOOL] = OF(sum_u8) };
static const rows_of prods[CLP_N_DTYPES] = { NUMBERS_OF(prod), [CLP_BOOL] = OF(prod_u8) };
static const rows_of maxs[CLP_N_DTYPES] = { NUMBERS_OF(max) };
static const rows_of mins[CLP_N_DTYPES] = { NUMBERS_OF(min) };
static const rows_of anys[CLP_N_DTYPES] = { [CLP_BOOL] = OF(any_bool) };
static const rows_of alls[CLP_N_DTYPES] = { [CLP_BOOL] = OF(all_bool) };

/* ---- Walking ---- */

static bool eval_reduce(clpi_run *run, const clpi_eval_step *s)
{
    const reduction *r = s->info;
    const uint8_t *in = run->val[s->a];
    uint8_t *out = run->val[s->out];
    int64_t acc_bytes = (int64_t)clpi_rep_bytes(r->acc), row = r->size[r->n_runs - 1], n_rows = 1;
    int64_t index[CLP_MAX_RANK] = { 0 }, at = 0;
    clpi_tile_fill(r->acc, out, r->identity, s->n);
    for (int d = 0; d < r->n_runs - 1; d++)
        n_rows *= r->size[d];
    row_fn take = r->is_row_reduced ? r->across : r->along;
    for (int64_t i = 0; i < n_rows && row > 0; i++, in += row * r->n_in_bytes) {
        take(out + at * acc_bytes, in, row);
        for (int d = r->n_runs - 2; d >= 0; d--) {
            at += r->out_step[d];
            if (++index[d] < r->size[d])
                break;
            at -= r->out_step[d] * r->size[d];
            index[d] = 0;
        }
    }
    if (s->round)
        s->round(out, out, NULL, NULL, s->n);
    return true;
}

static clpi_elem identity_of(clpi_op_kind kind, clp_dtype acc)
{
    bool is_least = kind == CLP_OP_max;
    switch (kind) {
    case CLP_OP_max:
    case CLP_OP_min:
        if (acc == CLP_F64)
            return (clpi_elem){ .d = is_least ? (double)-INFINITY : (double)INFINITY };
        if (acc == CLP_F32)
            return (clpi_elem){ .f = is_least ? -INFINITY : INFINITY };
        return is_least ? (clpi_elem){ .i = clpi_int_min(acc) } : (clpi_elem){ .u = clpi_int_max(acc) };
    case CLP_OP_prod: return clpi_elem_cast(acc, CLP_I32, (clpi_elem){ .i = 1 });
    case CLP_OP_all: return (clpi_elem){ .u = 1 };
    default: assert(kind == CLP_OP_sum || kind == CLP_OP_any); return clpi_elem_cast(acc, CLP_I32, (clpi_elem){ .i = 0 });
    }
}

/* Merges axes into runs, and finds where each kept run lies in the result. */
static void find_runs(const clpi_type *t, uint64_t axes, reduction *r)
{
    bool is_reduced[CLP_MAX_RANK];
    for (int d = 0; d < t->rank; d++) {
        bool reduced = axes >> d & 1;
        if (r->n_runs && (is_reduced[r->n_runs - 1] == reduced || t->shape[d] == 1)) {
            r->size[r->n_runs - 1] *= t->shape[d];
            continue;
        }
        is_reduced[r->n_runs] = reduced;
        r->size[r->n_runs++] = t->shape[d];
    }
    if (r->n_runs == 0) {
        is_reduced[0] = true;
        r->size[r->n_runs++] = 1;
    }
    r->is_row_reduced = is_reduced[r->n_runs - 1];
    int64_t step = 1;
    for (int d = r->n_runs - 1; d >= 0; d--) {
        r->out_step[d] = is_reduced[d] ? 0 : step;
        step *= is_reduced[d] ? 1 : r->size[d];
    }
}

/* ---- argmax, argmin: [outer, n, inner] -> [outer, inner] ---- */

typedef struct arg_shape { int64_t outer, n, inner; } arg_shape;

/* The first NaN, else the first of the best. */
#define ARG(name, T, better)                                                                                           \
    static bool name(clpi_run *run, const clpi_eval_step *s)                                                                \
    {                                                                                                                  \
        const arg_shape *x = s->info;                                                                                  \
        const T *in = run->val[s->a];                                                                                  \
        int32_t *out = run->val[s->out];                                                                               \
        for (int64_t o = 0; o < x->outer; o++)                                                                         \
            for (int64_t i = 0; i < x->inner; i++) {                                                                   \
                const T *line = in + o * x->n * x->inner + i;                                                          \
                int64_t best = 0;                                                                                      \
                for (int64_t k = 1; k < x->n; k++) {                                                                   \
                    T v = line[k * x->inner], b = line[best * x->inner];                                               \
                    if (b == b && (v better b || v != v))                                                              \
                        best = k;                                                                                      \
                }                                                                                                      \
                out[o * x->inner + i] = (int32_t)best;                                                                 \
            }                                                                                                          \
        return true;                                                                                                   \
    }
#define ARGS(d, T, A, least, most) ARG(argmax_##d, T, >) ARG(argmin_##d, T, <)
INTS(ARGS)
ARGS(f32, float, , , )
ARGS(f64, double, , , )

#define ARGS_OF(name)                                                                                                  \
    [CLP_I8] = name##_i8, [CLP_U8] = name##_u8, [CLP_I16] = name##_i16, [CLP_U16] = name##_u16, [CLP_I32] = name##_i32, \
    [CLP_U32] = name##_u32, [CLP_I64] = name##_i64, [CLP_U64] = name##_u64, [CLP_F32] = name##_f32, [CLP_F64] = name##_f64
static const clpi_eval_fn argmaxs[CLP_N_DTYPES] = { ARGS_OF(argmax) };
static const clpi_eval_fn argmins[CLP_N_DTYPES] = { ARGS_OF(argmin) };

static clp_status prepare_arg(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s, const clpi_type *t)
{
    arg_shape *x = CLPI_NEW(&c->exe->arena, arg_shape);
    if (!x)
        return CLP_ERR_OOM;
    *x = (arg_shape){ 1, 1, 1 };
    for (int d = 0, is_inner = 0; d < t->rank; d++)
        if (op->attr >> d & 1)
            x->n = t->shape[d], is_inner = 1;
        else if (is_inner)
            x->inner *= t->shape[d];
        else
            x->outer *= t->shape[d];
    s->info = x;
    s->eval = (op->kind == CLP_OP_argmax ? argmaxs : argmins)[clpi_rep(t->dtype)];
    return CLP_OK;
}

clp_status clpi_prepare_reduce(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    const clpi_ir *ir = c->exe->ir;
    const clpi_type *t = clpi_type_of(ir, clpi_args(ir, op)[0]);
    clp_dtype to = ir->types.items[op->type].dtype;
    if (op->kind == CLP_OP_argmax || op->kind == CLP_OP_argmin)
        return prepare_arg(c, op, s, t);
    const rows_of *rows = op->kind == CLP_OP_sum    ? sums
                          : op->kind == CLP_OP_prod ? prods
                          : op->kind == CLP_OP_max  ? maxs
                          : op->kind == CLP_OP_min  ? mins
                          : op->kind == CLP_OP_any  ? anys
                                                    : alls;
    reduction *r = CLPI_NEW(&c->exe->arena, reduction);
    if (!r)
        return CLP_ERR_OOM;
    r->across = rows[clpi_rep(t->dtype)].across;
    r->along = rows[clpi_rep(t->dtype)].along;
    r->acc = clpi_rep(to);
    r->identity = identity_of(op->kind, r->acc);
    r->n_in_bytes = (int64_t)clpi_rep_bytes(t->dtype);
    find_runs(t, op->attr, r);
    s->info = r;
    s->eval = eval_reduce;
    s->round = op->kind == CLP_OP_sum || op->kind == CLP_OP_prod ? clpi_round_of(to) : NULL;
    assert(r->across);
    return CLP_OK;
}
