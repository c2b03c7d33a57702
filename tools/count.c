/* count: how much work a launch is, from what its programs see.
 * In: a job bound to its arrays. Out: floating-point operations and bytes, 0 where they cannot be counted.
 * Decides what counts. Work: the products and sums of dots that every program runs, over elements that exist (a dot
 * under an `if` that data decides, or in a loop of unknown length, makes the work uncountable). Traffic: each array
 * once, written ones that are read too twice; of an array whose block depends on prefetched data, the blocks that are
 * seen.            */
#include <string.h>

#include "tool.h"

enum { MAX_PROGRAMS = 1 << 20 };

int bind_job(job *j, clpi_env *env, clpi_arena *arena, clpi_bound **out)
{
    (void)env;
    const clpi_launch_args args = { .arrays = j->args,
                                    .n_arrays = j->n,
                                    .dims = j->dims,
                                    .n_dims = j->n_dims,
                                    .grid_start = j->box_start,
                                    .grid_count = j->box_count };
    return clpi_bind(j->plan, &args, arena, out) ? fail_job(j) : DONE;
}

static bool read_prefetch(void *user, int operand, const int64_t *index, int64_t *out_value)
{
    const job *j = user;
    for (int i = 0; i < j->n; i++) {
        if (job_operand(j, i) != operand)
            continue;
        const clp_array *a = &j->args[i];
        int64_t at = 0;
        for (int d = 0; d < a->rank; d++) {
            if (index[d] < 0 || index[d] >= a->shape[d])
                return false;
            at = at * a->shape[d] + index[d];
        }
        *out_value = clpi_elem_from_bits(a->dtype, array_bits(a, at)).i;
        return true;
    }
    return false;
}

const clpi_prefetch *prefetch_of(job *j, clpi_prefetch *p)
{
    *p = (clpi_prefetch){ read_prefetch, j };
    return p;
}

/* ---- Dots ---- */

/* A dimension of a value: of an operand's block where it is one loaded whole, else of a fixed size. */
typedef struct extent {
    int operand, dim;
    int64_t size;
} extent;

/* The dimension of the operand of a reshape that is dimension dim of its result, where only sizes of 1 come and go;
 * else -1. */
static int through_reshape(const clpi_type *from, const clpi_type *to, int dim)
{
    int i = 0, found = -1;
    for (int k = 0; k < to->rank; k++) {
        if (to->shape[k] == 1)
            continue;
        while (i < from->rank && from->shape[i] == 1)
            i++;
        if (i == from->rank || from->shape[i] != to->shape[k])
            return -1;
        if (k == dim)
            found = i;
        i++;
    }
    return found;
}

static extent extent_of(const clpi_ir *ir, clp_val v, int dim)
{
    for (;;) {
        const clpi_op *op = clpi_op_at(ir, v);
        const clpi_type *t = clpi_type_of(ir, v);
        const extent fixed = { -1, 0, t->shape[dim] };
        if (op->kind == CLP_OP_transpose) {
            dim = clpi_perm_get(op->attr, dim);
        } else if (op->kind == CLP_OP_reshape) {
            dim = through_reshape(clpi_type_of(ir, clpi_args(ir, op)[0]), t, dim);
            if (dim < 0)
                return fixed;
        } else if (op->kind == CLP_OP_load && op->n_subs == (uint32_t)t->rank) {
            const clpi_operand *x = &ir->operands[op->operand];
            const clpi_sub *sub = &clpi_subs(ir, op)[dim];
            if (x->role == CLP_SCRATCH || !x->has_block || sub->kind != CLPI_SUB_RANGE || sub->stride != 1 ||
                sub->size != x->ref_size[dim])
                return fixed;
            return (extent){ op->operand, x->ref_dim[dim], t->shape[dim] };
        } else if (op->kind != CLP_OP_cast && !(clpi_ops[op->kind].is_elementwise && op->n_args == 1)) {
            return fixed;
        }
        v = clpi_args(ir, op)[0];
    }
}

typedef struct dot {
    extent m, n, k;
    double batch;
} dot;
enum { MAX_DOTS = 16 };

/* The dots that run in every program; -1: some run only now and then. times: repeats of dot i. */
static int find_dots(const clpi_ir *ir, dot *dots, double *times)
{
    int n = 0;
    double repeat = 1;
    uint32_t loop_end = 0;
    for (uint32_t id = ir->n_header; id < ir->ops.n; id++) {
        const clpi_op *op = &ir->ops.items[id];
        if (loop_end && id >= loop_end) {
            repeat = 1;
            loop_end = 0;
        }
        if (clpi_ops[op->kind].flags & CLP_REGION) {
            int64_t lo, hi;
            const clp_val *args = clpi_args(ir, op);
            bool has_dot = false;
            for (uint32_t inner = id; inner < op->end; inner++)
                has_dot = has_dot || ir->ops.items[inner].kind == CLP_OP_dot;
            if (!has_dot) {
                id = op->end - 1;
                continue;
            }
            const int64_t step = (int64_t)op->attr;
            if (op->kind != CLP_OP_for || loop_end || step <= 0 || !clpi_const_int(ir, args[0], &lo) ||
                !clpi_const_int(ir, args[1], &hi))
                return -1;
            repeat = hi > lo ? (double)((hi - lo + step - 1) / step) : 0;
            loop_end = op->end;
        }
        if (op->kind != CLP_OP_dot)
            continue;
        if (n == MAX_DOTS)
            return -1;
        const clp_val *args = clpi_args(ir, op);
        const clpi_type *x = clpi_type_of(ir, args[0]);
        const int r = x->rank;
        dots[n] =
            (dot){ extent_of(ir, args[0], r - 2), extent_of(ir, args[1], r - 1), extent_of(ir, args[0], r - 1), 1 };
        for (int d = 0; d < r - 2; d++)
            dots[n].batch *= (double)x->shape[d];
        times[n++] = repeat;
    }
    return n;
}

typedef struct program_sum {
    const clpi_bound *bound;
    const clpi_prefetch *prefetch;
    const int64_t *program;
} program_sum;

static double extent_now(const program_sum *s, extent e)
{
    clpi_window w[CLP_MAX_RANK];
    if (e.operand < 0)
        return (double)e.size;
    if (!clpi_windows(s->bound, e.operand, s->program, s->prefetch, w))
        return 0;
    return (double)(w[e.dim].hi - w[e.dim].lo);
}

/* Elements of an operand's block that exist, in one program. */
static double block_now(const program_sum *s, int operand)
{
    clpi_window w[CLP_MAX_RANK];
    double n = 1;
    if (!clpi_windows(s->bound, operand, s->program, s->prefetch, w))
        return 0;
    for (int d = 0; d < s->bound->plan->ir->operands[operand].rank; d++)
        n *= (double)(w[d].hi - w[d].lo);
    return n;
}

counts count_launch(const job *j, const clpi_bound *bound)
{
    counts c = { 0, 0 };
    dot dots[MAX_DOTS];
    double times[MAX_DOTS];
    int64_t program[CLPI_MAX_AXES] = { 0 };
    clpi_prefetch prefetch;
    const program_sum s = { bound, prefetch_of((job *)j, &prefetch), program };
    const int n_dots = find_dots(j->ir, dots, times);
    const bool countable = bound->n_sequences <= MAX_PROGRAMS && bound->n_steps <= MAX_PROGRAMS &&
                           bound->n_sequences * bound->n_steps <= MAX_PROGRAMS;
    bool by_block[64] = { false };
    for (int i = 0; i < j->n && i < 64; i++) {
        const int x = job_operand(j, i);
        by_block[i] = clpi_block_reads_data(j->plan, x);
        const double twice = j->ir->operands[x].role == CLP_INOUT ? 2 : 1;
        if (!by_block[i] && j->ir->operands[x].role != CLP_SCALAR)
            c.bytes += twice * (double)array_bytes(&j->args[i]);
    }
    for (uint64_t q = 0; countable && q < bound->n_sequences; q++)
        for (uint64_t t = 0; t < bound->n_steps; t++) {
            clpi_program_at(bound, q, t, program);
            for (int d = 0; d < n_dots; d++)
                c.flops += 2 * times[d] * dots[d].batch * extent_now(&s, dots[d].m) * extent_now(&s, dots[d].n) *
                           extent_now(&s, dots[d].k);
            for (int i = 0; i < j->n && i < 64; i++)
                if (by_block[i])
                    c.bytes += block_now(&s, job_operand(j, i)) * clp_dtype_bits(j->args[i].dtype) / 8;
        }
    if (!countable) {
        c.flops = 0;
        for (int i = 0; i < j->n && i < 64; i++)
            if (by_block[i])
                c.bytes = 0;
    }
    return c;
}
