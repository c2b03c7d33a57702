/* bench_own: peers that are kernels of ours: another one, which the row is not to be much slower than; and attention done by
 * three kernels one after another, as without fusion.
 * In: work. Out: a side. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* ---- The kernel of another row ---- */

typedef struct own {
    work other;
    char name[80];
} own;

static int once_own(void *user)
{
    return work_once(&((own *)user)->other);
}

static void done_own(void *user)
{
    work_close(&((own *)user)->other);
    free(user);
}

static int add_own(work *w, const peer_row *row)
{
    own *o = calloc(1, sizeof *o);
    if (!o)
        return fail("out of memory");
    snprintf(o->name, sizeof o->name, "ours: %s", row->how);
    side *s = work_add_side(w, row, o->name, once_own, o);
    s->done = done_own;
    s->rests_first = true;
    return work_open(&o->other, w->b, bench_row_named(row->how));
}

const peer peer_own = { .name = "another kernel of ours", .add = add_own, .is_other_work = true };

/* ---- Attention unfused ---- */

/* s = softmax(scale * s) of rows that fit in a block; causal: of a row's first elements alone. */
static const char weights_text[] =
    "kernel weights<T = f32, bn = 1024, br = 4, causal = false>(scalar scale: f32, inout s: T[H, Q, S] block [_, br, bn] at (h, i, 0) pad -inf)\n"
    "grid (h = H, i = cdiv(Q, br))\n"
    "require S <= bn\n"
    "{\n"
    "    var v = scale * cast(s[...], f32);\n"
    "    if (causal) { v = where(iota([br, bn], axis = 1) <= i * br + iota([br, bn], axis = 0), v, -inf); }\n"
    "    s[...] = cast(softmax(v, axis = 1), T);\n"
    "}\n";

enum { N_STEPS = 3 };

/* The row's arrays are scale, q, k, v, o. */
typedef struct unfused {
    work *w;
    clp_kernel *steps[N_STEPS];
    clp_buffer *weights;
    int64_t shape[3];
    clp_array args[N_STEPS][3];
} unfused;

static int once_unfused(void *user)
{
    unfused *u = user;
    for (int i = 0; i < N_STEPS; i++)
        if (clp_run(u->steps[i], u->args[i], i == 1 ? 2 : 3, NULL))
            return fail_library(u->w->ctx);
    return DONE;
}

static void done_unfused(void *user)
{
    unfused *u = user;
    for (int i = 0; i < N_STEPS; i++)
        clp_kernel_free(u->steps[i]);
    clp_buffer_free(u->weights);
    free(u);
}

static bool make_product(unfused *u, const char *name, const char *params, clp_kernel **out)
{
    clp_kernel *one;
    if (clp_kernel_standard(u->w->ctx, name, params, &one))
        return false;
    const clp_status status = clp_kernel_batch(one, "x, y, z", out);
    clp_kernel_free(one);
    return !status;
}

static int add_unfused(work *w, const peer_row *row)
{
    unfused *u = calloc(1, sizeof *u);
    if (!u)
        return fail("out of memory");
    u->w = w;
    side *s = work_add_side(w, row, "ours, unfused", once_unfused, u);
    s->done = done_unfused;
    s->rests_first = true;
    const clp_array *q = &w->args[1];
    const char *dtype = clp_dtype_name(q->dtype);
    char params[96], weights_params[96];
    snprintf(params, sizeof params, "T=%s", dtype);
    snprintf(weights_params, sizeof weights_params, "T=%s, bn=%lld, causal=%s", dtype, (long long)w->shapes[2][1], *row->how ? "true" : "false");
    memcpy(u->shape, (int64_t[]){ q->shape[0], q->shape[1], w->shapes[2][1] }, sizeof u->shape);
    const size_t n_bytes = (size_t)(u->shape[0] * u->shape[1] * u->shape[2]) * (size_t)clp_dtype_bits(q->dtype) / 8;
    if (clp_buffer_new(w->ctx, n_bytes, &u->weights) || !make_product(u, "matmul_nt", params, &u->steps[0]) ||
        clp_kernel_from_text(w->ctx, weights_text, NULL, weights_params, &u->steps[1]) || !make_product(u, "matmul", params, &u->steps[2]))
        return fail_library(w->ctx);
    const clp_array weights = { .dtype = q->dtype, .rank = 3, .shape = u->shape, .buffer = u->weights };
    memcpy(u->args[0], (clp_array[]){ *q, w->args[2], weights }, sizeof u->args[0]);
    memcpy(u->args[1], (clp_array[]){ w->args[0], weights }, 2 * sizeof weights);
    memcpy(u->args[2], (clp_array[]){ weights, w->args[3], w->args[4] }, sizeof u->args[2]);
    return DONE;
}

const peer peer_unfused = { .name = "the same by three kernels", .add = add_unfused };
