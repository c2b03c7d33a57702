/* sort: along one axis, stable, NaN last.
 * In: a tile [outer, n, inner]. Out: as large a tile.
 * Decides the method: short runs by insertion, then merges between the line and a second one; both stand in the step's
 * temporary, so that lines with a stride are sorted dense.                                                              */
#include <assert.h>

#include "interp/interp.h"

typedef struct sort_shape { int64_t outer, n, inner; } sort_shape;

enum { SHORT_RUN = 16 };

/* Whether v goes before an earlier w. Only NaN is unequal to itself. */
#define BEFORE(v, w) ((v) < (w) || ((w) != (w) && (v) == (v)))

#define SORT(d, T)                                                                                                     \
    static void insert_##d(T *x, int64_t n)                                                                            \
    {                                                                                                                  \
        for (int64_t i = 1; i < n; i++) {                                                                              \
            T v = x[i];                                                                                                \
            int64_t k = i;                                                                                             \
            for (; k > 0 && BEFORE(v, x[k - 1]); k--)                                                                  \
                x[k] = x[k - 1];                                                                                       \
            x[k] = v;                                                                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    static void merge_##d(T *out, const T *a, int64_t n_a, const T *b, int64_t n_b)                                    \
    {                                                                                                                  \
        while (n_a && n_b)                                                                                             \
            if (BEFORE(*b, *a))                                                                                        \
                *out++ = *b++, n_b--;                                                                                  \
            else                                                                                                       \
                *out++ = *a++, n_a--;                                                                                  \
        while (n_a--)                                                                                                  \
            *out++ = *a++;                                                                                             \
        while (n_b-- > 0)                                                                                              \
            *out++ = *b++;                                                                                             \
    }                                                                                                                  \
    static T *sort_line_##d(T *x, T *other, int64_t n)                                                                 \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i += SHORT_RUN)                                                                     \
            insert_##d(x + i, n - i < SHORT_RUN ? n - i : SHORT_RUN);                                                  \
        for (int64_t run = SHORT_RUN; run < n; run *= 2) {                                                             \
            for (int64_t i = 0; i < n; i += 2 * run) {                                                                 \
                int64_t n_a = n - i < run ? n - i : run, rest = n - i - n_a, n_b = rest < run ? rest : run;            \
                merge_##d(other + i, x + i, n_a, x + i + n_a, n_b);                                                    \
            }                                                                                                          \
            T *swap = x;                                                                                               \
            x = other;                                                                                                 \
            other = swap;                                                                                              \
        }                                                                                                              \
        return x;                                                                                                      \
    }                                                                                                                  \
    static bool sort_##d(clpi_run *run, const clpi_eval_step *s)                                                            \
    {                                                                                                                  \
        const sort_shape *shape = s->info;                                                                             \
        T *line = (T *)(void *)(run->tiles + s->temp);                                                                 \
        for (int64_t o = 0; o < shape->outer; o++)                                                                     \
            for (int64_t i = 0; i < shape->inner; i++) {                                                               \
                int64_t first = o * shape->n * shape->inner + i;                                                       \
                for (int64_t k = 0; k < shape->n; k++)                                                                 \
                    line[k] = ((const T *)run->val[s->a])[first + k * shape->inner];                                   \
                const T *sorted = sort_line_##d(line, line + shape->n, shape->n);                                      \
                for (int64_t k = 0; k < shape->n; k++)                                                                 \
                    ((T *)run->val[s->out])[first + k * shape->inner] = sorted[k];                                     \
            }                                                                                                          \
        return true;                                                                                                   \
    }

SORT(i8, int8_t)
SORT(u8, uint8_t)
SORT(i16, int16_t)
SORT(u16, uint16_t)
SORT(i32, int32_t)
SORT(u32, uint32_t)
SORT(i64, int64_t)
SORT(u64, uint64_t)
SORT(f32, float)
SORT(f64, double)

static const clpi_eval_fn sorts[CLP_N_DTYPES] = {
    [CLP_BOOL] = sort_u8, [CLP_I8] = sort_i8,   [CLP_U8] = sort_u8,   [CLP_I16] = sort_i16, [CLP_U16] = sort_u16, [CLP_I32] = sort_i32,
    [CLP_U32] = sort_u32, [CLP_I64] = sort_i64, [CLP_U64] = sort_u64, [CLP_F32] = sort_f32, [CLP_F64] = sort_f64,
};

clp_status clpi_prepare_sort(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    const clpi_type *t = clpi_type_of(c->exe->ir, clpi_args(c->exe->ir, op)[0]);
    sort_shape *shape = CLPI_NEW(&c->exe->arena, sort_shape);
    if (!shape)
        return CLP_ERR_OOM;
    int axis = (int)op->attr;
    *shape = (sort_shape){ 1, t->shape[axis], 1 };
    for (int d = 0; d < axis; d++)
        shape->outer *= t->shape[d];
    for (int d = axis + 1; d < t->rank; d++)
        shape->inner *= t->shape[d];
    s->info = shape;
    s->eval = sorts[clpi_rep(t->dtype)];
    s->temp_bytes = 2 * (size_t)shape->n * clpi_rep_bytes(t->dtype) + 1;
    assert(s->eval);
    return CLP_OK;
}
