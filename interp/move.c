/* move: transpose, broadcast, concat and value[subs].
 * In: tiles. Out: tiles with the same elements elsewhere.
 * Decides that all of them are copies between strided places: axes are merged where both sides are dense, and the innermost
 * loop copies a row, fills one, or steps. A subscript out of range gives poison.                                        */
#include <assert.h>
#include <string.h>

#include "interp/interp.h"

/* Loops over a dense result: sizes, and how far the operand moves with each. */
typedef struct strided { int n; int64_t size[CLP_MAX_RANK], step[CLP_MAX_RANK]; size_t bytes; } strided;

static void push(strided *x, int64_t size, int64_t step)
{
    if (size == 1)
        return;
    if (x->n && x->step[x->n - 1] == step * size) {
        x->size[x->n - 1] *= size;
        x->step[x->n - 1] = step;
        return;
    }
    x->size[x->n] = size;
    x->step[x->n++] = step;
}

/* n elements from `in`, step apart. */
static void copy_row(void *out, const uint8_t *in, int64_t step, int64_t n, size_t bytes)
{
    if (step == 1) {
        memcpy(out, in, (size_t)n * bytes);
        return;
    }
    switch (bytes) {
    case 1:
        for (int64_t i = 0; i < n; i++)
            ((uint8_t *)out)[i] = in[i * step];
        break;
    case 2:
        for (int64_t i = 0; i < n; i++)
            ((uint16_t *)out)[i] = ((const uint16_t *)(const void *)in)[i * step];
        break;
    case 4: {
        const uint32_t *p = (const void *)in;
        if (step == 0) {
            uint32_t x = *p;
            for (int64_t i = 0; i < n; i++)
                ((uint32_t *)out)[i] = x;
        } else {
            for (int64_t i = 0; i < n; i++)
                ((uint32_t *)out)[i] = p[i * step];
        }
        break;
    }
    default:
        for (int64_t i = 0; i < n; i++)
            ((uint64_t *)out)[i] = ((const uint64_t *)(const void *)in)[i * step];
    }
}

static bool eval_strided(clpi_run *run, const clpi_eval_step *s)
{
    const strided *x = s->info;
    const uint8_t *in = run->val[s->a];
    uint8_t *out = run->val[s->out];
    int64_t index[CLP_MAX_RANK] = { 0 }, at = 0, row = x->n ? x->size[x->n - 1] : 1, step = x->n ? x->step[x->n - 1] : 1;
    for (int64_t done = 0; done < s->n; done += row) {
        copy_row(out + (size_t)done * x->bytes, in + at * (int64_t)x->bytes, step, row, x->bytes);
        for (int d = x->n - 2; d >= 0; d--) {
            at += x->step[d];
            if (++index[d] < x->size[d])
                break;
            at -= x->step[d] * x->size[d];
            index[d] = 0;
        }
    }
    return true;
}

static strided *strided_new(clpi_compiler *c, const clpi_type *t, clpi_eval_step *s)
{
    strided *x = CLPI_NEW(&c->exe->arena, strided);
    if (!x)
        return NULL;
    x->bytes = clpi_rep_bytes(t->dtype);
    s->info = x;
    s->eval = eval_strided;
    return x;
}

/* Elements between neighbours along each axis of a dense tile. */
static void dense_steps(const clpi_type *t, int64_t *out_steps)
{
    int64_t step = 1;
    for (int d = t->rank - 1; d >= 0; step *= t->shape[d], d--)
        out_steps[d] = step;
}

clp_status clpi_prepare_transpose(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    const clpi_type *in = clpi_type_of(c->exe->ir, clpi_args(c->exe->ir, op)[0]);
    int64_t steps[CLP_MAX_RANK];
    strided *x = strided_new(c, in, s);
    if (!x)
        return CLP_ERR_OOM;
    dense_steps(in, steps);
    for (int d = 0; d < in->rank; d++) {
        int axis = clpi_perm_get(op->attr, d);
        push(x, in->shape[axis], steps[axis]);
    }
    return CLP_OK;
}

clp_status clpi_prepare_broadcast(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    const clpi_ir *ir = c->exe->ir;
    const clpi_type *in = clpi_type_of(ir, clpi_args(ir, op)[0]), *out = &ir->types.items[op->type];
    int64_t steps[CLP_MAX_RANK];
    strided *x = strided_new(c, in, s);
    if (!x)
        return CLP_ERR_OOM;
    dense_steps(in, steps);
    for (int d = 0; d < out->rank; d++) {
        int from = d - (out->rank - in->rank);
        push(x, out->shape[d], from < 0 || in->shape[from] == 1 ? 0 : steps[from]);
    }
    return CLP_OK;
}

/* ---- concat: [outer, n_0 + n_1 + .., inner] ---- */

typedef struct part { uint32_t val; size_t row_bytes; } part;
typedef struct joined { uint32_t n_parts; part *parts; int64_t outer; } joined;

static bool eval_concat(clpi_run *run, const clpi_eval_step *s)
{
    const joined *x = s->info;
    uint8_t *out = run->val[s->out];
    for (int64_t o = 0; o < x->outer; o++)
        for (uint32_t i = 0; i < x->n_parts; out += x->parts[i].row_bytes, i++)
            memcpy(out, (const uint8_t *)run->val[x->parts[i].val] + (size_t)o * x->parts[i].row_bytes, x->parts[i].row_bytes);
    return true;
}

clp_status clpi_prepare_concat(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    const clpi_ir *ir = c->exe->ir;
    const clp_val *args = clpi_args(ir, op);
    joined *x = CLPI_NEW(&c->exe->arena, joined);
    part *parts = CLPI_NEW_N(&c->exe->arena, part, op->n_args);
    if (!x || !parts)
        return CLP_ERR_OOM;
    int axis = (int)op->attr;
    *x = (joined){ op->n_args, parts, 1 };
    for (int d = 0; d < axis; d++)
        x->outer *= ir->types.items[op->type].shape[d];
    for (uint32_t i = 0; i < op->n_args; i++) {
        const clpi_type *t = clpi_type_of(ir, args[i]);
        parts[i] = (part){ clpi_interp_root(c, args[i]), clpi_rep_bytes(t->dtype) };
        for (int d = axis; d < t->rank; d++)
            parts[i].row_bytes *= (size_t)t->shape[d];
    }
    s->info = x;
    s->eval = eval_concat;
    return CLP_OK;
}

/* ---- index ---- */

typedef struct indexed { clpi_view view; clpi_ref_dim dim[CLP_MAX_RANK]; clp_dtype dtype; clpi_elem poison; } indexed;

static void copy_one(uint8_t *out, const uint8_t *in, size_t bytes)
{
    switch (bytes) {
    case 1: *out = *in; break;
    case 2: memcpy(out, in, 2); break;
    case 4: memcpy(out, in, 4); break;
    default: memcpy(out, in, 8);
    }
}

/* Index tiles, or indices out of range. */
static void index_lanes(clpi_run *run, const clpi_eval_step *s, const indexed *x, const uint8_t *in, uint8_t *out)
{
    size_t bytes = clpi_rep_bytes(x->dtype);
    int64_t *at = (int64_t *)(void *)(run->tiles + s->temp);
    uint8_t *state = run->tiles + s->temp + clpi_align((size_t)x->view.n * sizeof *at);
    clpi_place_lanes(run, &x->view, x->dim, 0, NULL, at, state);
    for (int64_t l = 0; l < x->view.n; l++)
        if (state[l])
            clpi_elem_put(x->dtype, out, l, x->poison);
        else
            copy_one(out + (size_t)l * bytes, in + (size_t)at[l] * bytes, bytes);
}

static bool eval_index(clpi_run *run, const clpi_eval_step *s)
{
    const indexed *x = s->info;
    const uint8_t *in = run->val[s->a];
    uint8_t *out = run->val[s->out];
    size_t bytes = clpi_rep_bytes(x->dtype);
    clpi_loops loops;
    if (x->view.n == 0)
        return true;
    if (x->view.has_tiles || !clpi_place_loops(run, &x->view, x->dim, 0, &loops)) {
        index_lanes(run, s, x, in, out);
        return true;
    }
    clpi_rows rows;
    const clpi_loop *row = &loops.loop[loops.n - 1];
    clpi_rows_init(&rows, &loops);
    for (; clpi_rows_next(&rows); out += (size_t)row->size * bytes)
        copy_row(out, in + rows.at * (int64_t)bytes, row->step, row->size, bytes);
    return true;
}

clp_status clpi_prepare_index(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    const clpi_type *in = clpi_type_of(c->exe->ir, clpi_args(c->exe->ir, op)[0]);
    indexed *x = CLPI_NEW(&c->exe->arena, indexed);
    if (!x)
        return CLP_ERR_OOM;
    int64_t steps[CLP_MAX_RANK];
    dense_steps(in, steps);
    for (int d = 0; d < in->rank; d++)
        x->dim[d] = (clpi_ref_dim){ in->shape[d], 0, in->shape[d], steps[d] };
    x->dtype = in->dtype;
    x->poison = clpi_elem_from_bits(in->dtype, clpi_poison_bits(in->dtype));
    clpi_view_init(c, op, 1, &x->view);
    s->info = x;
    s->eval = eval_index;
    s->temp_bytes = clpi_align((size_t)x->view.n * sizeof(int64_t)) + clpi_align((size_t)x->view.n);
    return CLP_OK;
}
