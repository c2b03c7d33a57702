/* leaf: const, iota, program_id, num_programs, dim.
 * In: the numbers of a launch. Out: tiles; all but program_id are made once for each launch. */
#include <assert.h>
#include <string.h>

#include "interp/interp.h"

typedef struct leaf { clp_dtype dtype; clpi_elem value; uint64_t number; int64_t n, inner; } leaf;

static bool eval_const(clpi_run *run, const clpi_eval_step *s)
{
    const leaf *x = s->info;
    clpi_tile_fill(x->dtype, run->val[s->out], x->value, s->n);
    return true;
}

static bool eval_iota(clpi_run *run, const clpi_eval_step *s)
{
    const leaf *x = s->info;
    uint8_t *out = run->val[s->out];
    size_t bytes = clpi_rep_bytes(x->dtype), line = (size_t)(x->n * x->inner) * bytes;
    if (s->n == 0)
        return true;
    for (int64_t k = 0; k < x->n; k++)
        clpi_tile_fill(x->dtype, out + (size_t)(k * x->inner) * bytes, clpi_elem_cast(x->dtype, CLP_I64, (clpi_elem){ .i = k }), x->inner);
    for (size_t at = line; at < (size_t)s->n * bytes; at += line)
        memcpy(out + at, out, line);
    return true;
}

static bool eval_program_id(clpi_run *run, const clpi_eval_step *s)
{
    *(int32_t *)run->val[s->out] = (int32_t)run->program[((const leaf *)s->info)->number];
    return true;
}

static bool eval_num_programs(clpi_run *run, const clpi_eval_step *s)
{
    *(int32_t *)run->val[s->out] = (int32_t)run->bound->axis_size[((const leaf *)s->info)->number];
    return true;
}

static bool eval_dim(clpi_run *run, const clpi_eval_step *s)
{
    *(int32_t *)run->val[s->out] = (int32_t)run->bound->dim[((const leaf *)s->info)->number];
    return true;
}

clp_status clpi_prepare_leaf(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    const clpi_type *t = &c->exe->ir->types.items[op->type];
    leaf *x = CLPI_NEW(&c->exe->arena, leaf);
    if (!x)
        return CLP_ERR_OOM;
    x->dtype = t->dtype;
    x->number = op->attr;
    s->info = x;
    switch (op->kind) {
    case CLP_OP_const:
        x->value = clpi_elem_from_bits(t->dtype, op->attr);
        s->eval = eval_const;
        break;
    case CLP_OP_iota:
        x->n = t->shape[op->attr];
        x->inner = 1;
        for (int d = (int)op->attr + 1; d < t->rank; d++)
            x->inner *= t->shape[d];
        s->eval = eval_iota;
        break;
    case CLP_OP_program_id: s->eval = eval_program_id; break;
    case CLP_OP_num_programs: s->eval = eval_num_programs; break;
    default:
        assert(op->kind == CLP_OP_dim);
        s->eval = eval_dim;
    }
    return CLP_OK;
}
