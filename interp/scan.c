/* scan: cumsum cumprod cummax cummin along one axis, forward or reverse.
 * In: a tile [outer, n, inner]. Out: as large a tile of prefixes.
 * Decides that prefixes go in order, in one accumulator for each line; f16 and bf16 accumulate in f32, each prefix is
 * rounded once.                                                                                                         */
#include <assert.h>

#include "interp/interp.h"

typedef struct scan_shape { int64_t outer, n, inner; bool is_reverse; } scan_shape;
typedef void (*scan_fn)(void *out, const void *in, const scan_shape *x);

/* T: elements; A: accumulators, and results; fold: acc from acc and v */
#define SCAN(name, T, A, fold)                                                                                         \
    static void name(void *out, const void *in, const scan_shape *x)                                                   \
    {                                                                                                                  \
        int64_t step = x->is_reverse ? -x->inner : x->inner;                                                           \
        for (int64_t o = 0; o < x->outer; o++) {                                                                       \
            int64_t first = (o * x->n + (x->is_reverse ? x->n - 1 : 0)) * x->inner;                                    \
            for (int64_t k = 0, at = first; k < x->n; k++, at += step)                                                 \
                for (int64_t i = 0; i < x->inner; i++) {                                                               \
                    A v = (A)((const T *)in)[at + i];                                                                  \
                    ((A *)out)[at + i] = k ? (A)fold(((A *)out)[at - step + i], v) : v;                                \
                }                                                                                                      \
        }                                                                                                              \
    }

#define ADD(a, v) ((a) + (v))
#define MUL(a, v) ((a) * (v))
#define MAX(a, v) ((((v) > (a)) | ((v) != (v))) ? (v) : (a))
#define MIN(a, v) ((((v) < (a)) | ((v) != (v))) ? (v) : (a))
#define SCANS(d, T, A)                                                                                                 \
    SCAN(cumsum_##d, T, A, ADD) SCAN(cumprod_##d, T, A, MUL) SCAN(cummax_##d, T, T, MAX) SCAN(cummin_##d, T, T, MIN)
SCANS(i8, int8_t, uint32_t)
SCANS(u8, uint8_t, uint32_t)
SCANS(i16, int16_t, uint32_t)
SCANS(u16, uint16_t, uint32_t)
SCANS(i32, int32_t, uint32_t)
SCANS(u32, uint32_t, uint32_t)
SCANS(i64, int64_t, uint64_t)
SCANS(u64, uint64_t, uint64_t)
SCANS(f32, float, float)
SCANS(f64, double, double)

#define NUMBERS_OF(name)                                                                                               \
    [CLP_I8] = name##_i8, [CLP_U8] = name##_u8, [CLP_I16] = name##_i16, [CLP_U16] = name##_u16, [CLP_I32] = name##_i32, \
    [CLP_U32] = name##_u32, [CLP_I64] = name##_i64, [CLP_U64] = name##_u64, [CLP_F32] = name##_f32, [CLP_F64] = name##_f64
static const scan_fn sums[CLP_N_DTYPES] = { NUMBERS_OF(cumsum), [CLP_BOOL] = cumsum_u8 };
static const scan_fn prods[CLP_N_DTYPES] = { NUMBERS_OF(cumprod), [CLP_BOOL] = cumprod_u8 };
static const scan_fn maxs[CLP_N_DTYPES] = { NUMBERS_OF(cummax) };
static const scan_fn mins[CLP_N_DTYPES] = { NUMBERS_OF(cummin) };

typedef struct scan { scan_shape shape; scan_fn fn; } scan;

static bool eval_scan(clpi_run *run, const clpi_eval_step *s)
{
    const scan *x = s->info;
    void *out = run->val[s->out];
    x->fn(out, run->val[s->a], &x->shape);
    if (s->round)
        s->round(out, out, NULL, NULL, s->n);
    return true;
}

clp_status clpi_prepare_scan(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    const clpi_ir *ir = c->exe->ir;
    const clpi_type *t = clpi_type_of(ir, clpi_args(ir, op)[0]);
    const scan_fn *fns = op->kind == CLP_OP_cumsum    ? sums
                         : op->kind == CLP_OP_cumprod ? prods
                         : op->kind == CLP_OP_cummax  ? maxs
                                                      : mins;
    scan *x = CLPI_NEW(&c->exe->arena, scan);
    if (!x)
        return CLP_ERR_OOM;
    int axis = (int)(op->attr >> 1);
    x->shape = (scan_shape){ 1, t->shape[axis], 1, op->attr & 1 };
    for (int d = 0; d < axis; d++)
        x->shape.outer *= t->shape[d];
    for (int d = axis + 1; d < t->rank; d++)
        x->shape.inner *= t->shape[d];
    x->fn = fns[clpi_rep(t->dtype)];
    assert(x->fn);
    s->info = x;
    s->eval = eval_scan;
    s->round = op->kind == CLP_OP_cumsum || op->kind == CLP_OP_cumprod ? clpi_round_of(ir->types.items[op->type].dtype) : NULL;
    return CLP_OK;
}
