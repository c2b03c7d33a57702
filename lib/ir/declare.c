/* declare: the frame of a kernel: dims, axes, operands, and where the header ends and the body begins.
 * In: what a front end read of each operand. Out: operands as the rest of the compiler sees them: checked by themselves,
 * with the shape of their ref. What holds between a launch's arrays is the plan's affair.                              */
#include <assert.h>
#include <string.h>

#include "ir/make.h"

void clpi_build_init(clpi_build *b, clpi_ir *ir, void (*report)(void *, clpi_pos, const char *), void *user)
{
    *b = (clpi_build){ .ir = ir, .report = report, .report_user = user, .in_header = true };
}

static char *copy(clpi_ir *ir, const char *text)
{
    return clpi_arena_strndup(ir->arena, text, strlen(text));
}

/* ---- Dims and axes ---- */

int clpi_build_dim(clpi_build *b, const char *name)
{
    clpi_ir *ir = b->ir;
    for (int i = 0; i < ir->n_dims; i++)
        if (strcmp(ir->dims[i], name) == 0)
            return i;
    size_t n = (size_t)ir->n_dims;
    const char **dims = clpi_arena_grow(ir->arena, ir->dims, n, n + 1, sizeof *dims);
    char *kept = copy(ir, name);
    if (!dims || !kept)
        return -1;
    dims[n] = kept;
    ir->dims = dims;
    return ir->n_dims++;
}

int clpi_build_axis(clpi_build *b, const char *name, bool is_arbitrary)
{
    clpi_ir *ir = b->ir;
    for (int i = 0; i < ir->n_axes; i++) {
        if (strcmp(ir->axes[i].name, name) == 0) {
            clpi_build_report(b, "the grid has two axes named %s", name);
            return -1;
        }
    }
    size_t n = (size_t)ir->n_axes;
    clpi_axis *axes = clpi_arena_grow(ir->arena, ir->axes, n, n + 1, sizeof *axes);
    char *kept = copy(ir, name);
    if (!axes || !kept)
        return -1;
    axes[n] = (clpi_axis){ .name = kept, .is_arbitrary = is_arbitrary, .pos = b->pos };
    ir->axes = axes;
    return ir->n_axes++;
}

/* ---- Operands ---- */

static bool role_check(clpi_build *b, const clpi_operand *x)
{
    const char *role = x->role == CLP_SCALAR ? "a scalar" : x->role == CLP_SCRATCH ? "scratch" : "a prefetch operand";
    bool is_array = x->role == CLP_IN || x->role == CLP_OUT || x->role == CLP_INOUT;
    if (!is_array && x->has_block)
        return clpi_build_report(b, "%s: %s has no block", x->name, role), false;
    if (!is_array && x->has_pad)
        return clpi_build_report(b, "%s: %s has no pad", x->name, role), false;
    if (x->role != CLP_OUT && x->alias >= 0)
        return clpi_build_report(b, "%s: only an out operand has an alias", x->name), false;
    if (x->role == CLP_SCALAR && x->rank != 0)
        return clpi_build_report(b, "%s: a scalar has no shape", x->name), false;
    if ((x->role == CLP_SCALAR || x->role == CLP_SCRATCH) && clpi_is_packed(x->dtype))
        return clpi_build_report(b, "%s: %s has no dtype %s (use %s)", x->name, role, clp_dtype_name(x->dtype),
                                 clp_dtype_name(clpi_loaded(x->dtype))), false;
    return true;
}

static bool block_check(clpi_build *b, const clpi_operand *x)
{
    int64_t n = 1;
    for (int i = 0; x->has_block && i < x->rank; i++) {
        const clpi_block_dim *d = &x->block[i];
        if (d->n < 1)
            return clpi_build_report(b, "%s: dimension %d of the block is %lld, at least 1 was expected", x->name, i, (long long)d->n), false;
        if (d->pad_lo < 0)
            return clpi_build_report(b, "%s: the pad of dimension %d is negative", x->name, i), false;
        if (d->n > CLPI_MAX_TILE / n)
            return clpi_build_report(b, "%s: the block has more than %lld elements", x->name, (long long)CLPI_MAX_TILE), false;
        n *= d->n;
    }
    return true;
}

static bool shape_check(clpi_build *b, const clpi_operand *x)
{
    int64_t n = 1;
    for (int i = 0; i < x->rank; i++) {
        int64_t size;
        if (!clpi_const_int(b->ir, x->shape[i], &size)) {
            if (x->role == CLP_SCRATCH)
                return clpi_build_report(b, "%s: the shape of scratch is known when the kernel is built: dimension %d is not", x->name, i), false;
            continue;
        }
        if (size < 0)
            return clpi_build_report(b, "%s: dimension %d is %lld", x->name, i, (long long)size), false;
        if (x->role == CLP_SCRATCH && size > 0 && size > CLPI_MAX_TILE / n)
            return clpi_build_report(b, "%s: scratch has more than %lld elements", x->name, (long long)CLPI_MAX_TILE), false;
        if (x->role == CLP_SCRATCH && size > 0)
            n *= size;
    }
    return true;
}

/* The ref: the block less its squeezed dimensions, or the whole array. */
static bool make_ref(clpi_ir *ir, clpi_operand *x)
{
    size_t n = (size_t)(x->rank > 0 ? x->rank : 1);
    x->ref_dim = CLPI_NEW_N(ir->arena, int, n);
    x->ref_size = CLPI_NEW_N(ir->arena, int64_t, n);
    if (!x->ref_dim || !x->ref_size)
        return false;
    x->ref_rank = 0;
    for (int i = 0; i < x->rank; i++) {
        if (x->has_block && x->block[i].kind == CLPI_BLOCK_SQUEEZED)
            continue;
        int64_t size = -1;
        if (x->has_block)
            size = x->block[i].n;
        else if (!clpi_const_int(ir, x->shape[i], &size))
            size = -1;
        x->ref_dim[x->ref_rank] = i;
        x->ref_size[x->ref_rank++] = size;
    }
    return true;
}

int clpi_build_operand(clpi_build *b, const clpi_operand *operand)
{
    clpi_ir *ir = b->ir;
    clpi_operand x = *operand;
    assert(b->in_header);
    if (x.rank < 0 || x.rank > CLP_MAX_RANK) {
        clpi_build_report(b, "%s: an array has at most %d dimensions: %d were given", x.name, CLP_MAX_RANK, x.rank);
        return -1;
    }
    for (int i = 0; i < ir->n_operands; i++) {
        if (strcmp(ir->operands[i].name, x.name) == 0) {
            clpi_build_report(b, "there are two operands named %s", x.name);
            return -1;
        }
    }
    for (int i = 0; i < x.rank; i++)
        if (x.shape[i].id == 0 || (x.has_block && x.block[i].index.id == 0))
            return -1;
    if (!role_check(b, &x) || !block_check(b, &x) || !shape_check(b, &x))
        return -1;

    size_t n = (size_t)ir->n_operands, n_dims = (size_t)(x.rank > 0 ? x.rank : 1);
    x.name = copy(ir, operand->name);
    x.shape = CLPI_NEW_N(ir->arena, clp_val, n_dims);
    x.block = CLPI_NEW_N(ir->arena, clpi_block_dim, n_dims);
    clpi_operand *operands = clpi_arena_grow(ir->arena, ir->operands, n, n + 1, sizeof *operands);
    if (!x.name || !x.shape || !x.block || !operands)
        return -1;
    for (int i = 0; i < x.rank; i++) {
        x.shape[i] = operand->shape[i];
        if (x.has_block)
            x.block[i] = operand->block[i];
    }
    if (!make_ref(ir, &x))
        return -1;
    operands[n] = x;
    ir->operands = operands;
    return ir->n_operands++;
}

/* ---- Header and body ---- */

static void alias_check(clpi_build *b, const clpi_operand *x)
{
    const clpi_ir *ir = b->ir;
    assert(x->alias < ir->n_operands);
    const clpi_operand *of = &ir->operands[x->alias];
    if (of->role != CLP_IN)
        clpi_report_at(b, x->pos, "%s: alias %s: the storage of an in operand was expected", x->name, of->name);
    else if (of->dtype != x->dtype || of->rank != x->rank)
        clpi_report_at(b, x->pos, "%s: alias %s: %s of rank %d was expected, %s of rank %d was given", x->name, of->name,
                       clp_dtype_name(x->dtype), x->rank, clp_dtype_name(of->dtype), of->rank);
    for (const clpi_operand *other = ir->operands; other < x; other++)
        if (other->alias == x->alias)
            clpi_report_at(b, x->pos, "%s: alias %s: %s has its storage already", x->name, of->name, other->name);
}

void clpi_build_begin_body(clpi_build *b)
{
    assert(b->in_header);
    for (int i = 0; i < b->ir->n_operands; i++)
        if (b->ir->operands[i].alias >= 0)
            alias_check(b, &b->ir->operands[i]);
    b->ir->n_header = b->ir->ops.n;
    b->in_header = false;
}

bool clpi_build_end(clpi_build *b)
{
    if (b->open.n == 0)
        return true;
    const clpi_op *op = &b->ir->ops.items[b->open.items[b->open.n - 1]];
    clpi_report_at(b, op->pos, "`%s` is not ended", clpi_ops[op->kind].name);
    return false;
}
