/* elementwise: ops of ops.def's CLP_EW rows, cast and bitcast.
 * In: held tiles of one shape. Out: a tile, which may take the place of an operand that dies here.
 * Decides which compiled loops to use: those for AVX2 where the build has them and the CPU too. f64 to a smaller
 * float, which must round once, and bitcasts of those are computed element by element.                                    */
#include <assert.h>
#include <string.h>

#include "interp/interp.h"

static const clpi_loop_table *table(void)
{
#if defined(CLPI_HAS_AVX2)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &clpi_loops_avx2;
#endif
    return &clpi_loops_portable;
}

clpi_loop_fn clpi_cast_of(clp_dtype to, clp_dtype from)
{
    return table()->cast[clpi_rep(to)][clpi_rep(from)];
}

clpi_loop_fn clpi_round_of(clp_dtype d)
{
    return clpi_rep(d) == d ? NULL : table()->cast[d][CLP_F32];
}

static bool eval_loop(clpi_run *run, const clpi_eval_step *s)
{
    void *out = run->val[s->out];
    s->loop(out, run->val[s->a], run->val[s->b], run->val[s->c], s->n);
    if (s->round)
        s->round(out, out, NULL, NULL, s->n);
    return true;
}

static bool eval_round(clpi_run *run, const clpi_eval_step *s)
{
    s->round(run->val[s->out], run->val[s->a], NULL, NULL, s->n);
    return true;
}

static bool eval_copy(clpi_run *run, const clpi_eval_step *s)
{
    if (run->val[s->out] != run->val[s->a])
        memcpy(run->val[s->out], run->val[s->a], (size_t)s->n * *(const size_t *)s->info);
    return true;
}

/* One element after another, by the definition of a single one. */
typedef struct each { clp_dtype from, to; bool is_bitcast; } each;

static bool eval_each(clpi_run *run, const clpi_eval_step *s)
{
    const each *x = s->info;
    void *out = run->val[s->out];
    for (int64_t i = 0; i < s->n; i++) {
        clpi_elem e = clpi_elem_get(x->from, run->val[s->a], i);
        clpi_elem_put(x->to, out, i, x->is_bitcast ? clpi_scalar_bitcast(x->to, x->from, e) : clpi_elem_cast(x->to, x->from, e));
    }
    return true;
}

static clp_status prepare_each(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s, clp_dtype from, clp_dtype to)
{
    each *x = CLPI_NEW(&c->exe->arena, each);
    if (!x)
        return CLP_ERR_OOM;
    *x = (each){ from, to, op->kind == CLP_OP_bitcast };
    s->info = x;
    s->eval = eval_each;
    return CLP_OK;
}

static clp_dtype dtype_of(const clpi_compiler *c, clp_val v)
{
    return clpi_type_of(c->exe->ir, v)->dtype;
}

clp_status clpi_prepare_ew(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    clp_dtype of = dtype_of(c, clpi_args(c->exe->ir, op)[op->n_args - 1]);
    s->in_place = true;
    s->eval = eval_loop;
    s->loop = table()->ew[op->kind][of];
    assert(s->loop);
    return CLP_OK;
}

clp_status clpi_prepare_cast(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    clp_dtype from = dtype_of(c, clpi_args(c->exe->ir, op)[0]), to = c->exe->ir->types.items[op->type].dtype;
    s->in_place = true;
    if (from == CLP_F64 && clpi_rep(to) != to)
        return prepare_each(c, op, s, from, to);
    s->loop = clpi_cast_of(to, from);
    s->round = clpi_round_of(to);
    s->eval = clpi_rep(to) == clpi_rep(from) && s->round ? eval_round : eval_loop;
    assert(s->loop);
    return CLP_OK;
}

clp_status clpi_prepare_bitcast(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    clp_dtype from = dtype_of(c, clpi_args(c->exe->ir, op)[0]), to = c->exe->ir->types.items[op->type].dtype;
    s->in_place = true;
    if (!clpi_held_of[from].is_same || !clpi_held_of[to].is_same)
        return prepare_each(c, op, s, from, to);
    size_t *bytes = CLPI_NEW(&c->exe->arena, size_t);
    if (!bytes)
        return CLP_ERR_OOM;
    *bytes = clpi_held_of[to].bytes;
    s->info = bytes;
    s->eval = eval_copy;
    return CLP_OK;
}
