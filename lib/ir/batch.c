/* batch: one kernel over many arrays (Pallas's vmap).
 * In: verified IR, and which of its operands have a leading dimension. Out: new IR with a leading parallel axis over that
 * dimension, which owns all it needs; for verify and simplify to look at.
 *
 *     in x: f32[N] block [b] at (i)        grid (i = ..)       ->      in x: f32[B, N] block [_, b] at (batch, i)
 *                                                                      grid (batch = B, i = ..)
 *
 * The body stays: its program ids and grid sizes count the axes it knows. An operand without a block gets one that is the
 * whole array, when that has a shape known at build; else, as prefetch operands do, each access gets `batch` as its first
 * subscript. A chosen scalar becomes a prefetch operand of rank 1. Operands that are not chosen are shared, which none that
 * is written can be: every member of the batch would write it.                                                          */
#include <string.h>

#include "ir/make.h"

typedef struct batcher {
    const clpi_ir *in;
    clpi_ir       *out;
    const bool    *chosen;        /* [n_operands] */
    bool          *adds_index;    /* [n_operands] accesses get a leading subscript */
    clpi_build     build;
    clp_status     status;        /* of the first report */
    clp_val        size, program, zero;      /* of the header: the new dim, the new program id, 0 */
    clp_val        body_program;
} batcher;

enum { N_NEW_HEADER = 3, N_NEW_BODY = 1 };     /* ops in front of those that are there */

static void report(void *user, clpi_pos pos, const char *text)
{
    batcher *b = user;
    (void)pos;
    if (b->status == CLP_OK)
        b->status = clpi_fail(b->in->env, CLP_ERR_ARG, "batch of %s: %s", b->in->name, text);
}

/* ---- Who can be batched ---- */

static bool is_written(const clpi_ir *ir, int operand)
{
    for (uint32_t i = ir->n_header; i < ir->ops.n; i++) {
        const clpi_op *op = &ir->ops.items[i];
        if ((clpi_ops[op->kind].flags & CLP_WRITE) && clpi_storage_of(ir, op->operand) == clpi_storage_of(ir, operand))
            return true;
    }
    return false;
}

/* Whether what one launch has once - its grid, the shapes of its arrays, its conditions - needs the value of a scalar. */
static bool launch_reads(const batcher *b, int operand)
{
    const clpi_ir *ir = b->in;
    bool *needs = CLPI_NEW_N(b->out->arena, bool, ir->n_header), found = false;
    for (uint32_t i = 1; needs && i < ir->n_header; i++) {
        const clpi_op *op = &ir->ops.items[i];
        needs[i] = op->operand == operand;
        for (uint32_t k = 0; k < op->n_args; k++)
            needs[i] = needs[i] || needs[clpi_args(ir, op)[k].id];
    }
    for (int i = 0; needs && i < ir->n_axes; i++)
        found = found || needs[ir->axes[i].size.id];
    for (int i = 0; needs && i < ir->n_requires; i++)
        found = found || needs[ir->requires[i].condition.id];
    for (int k = 0; needs && k < ir->n_operands; k++)
        for (int i = 0; i < ir->operands[k].rank; i++)
            found = found || needs[ir->operands[k].shape[i].id];
    return found;
}

static void check_operand(batcher *b, int k)
{
    const clpi_ir *ir = b->in;
    const clpi_operand *x = &ir->operands[k];
    if (x->role == CLP_SCRATCH) {
        if (b->chosen[k])
            clpi_build_report(&b->build, "%s is scratch, of which each program of the batch has its own", x->name);
        return;
    }
    if (!b->chosen[k] && is_written(ir, k))
        clpi_build_report(&b->build, "%s is written and not among its operands: every member would write the same elements", x->name);
    if (x->alias >= 0 && b->chosen[k] != b->chosen[x->alias])
        clpi_build_report(&b->build, "%s has the storage of %s: name both or neither", x->name, ir->operands[x->alias].name);
    if (b->chosen[k] && x->role == CLP_SCALAR && launch_reads(b, k))
        clpi_build_report(&b->build, "%s decides the grid, a shape or a condition, which all members share", x->name);
}

/* ---- Names ---- */

/* The word, or the word with the first number from 2 on that makes it new. NULL: out of memory. */
static const char *free_name(const batcher *b, const char *word)
{
    const char *name = word;
    for (int number = 2; name && clpi_name_is_taken(b->in, name); number++)
        name = clpi_arena_printf(b->out->arena, "%s%d", word, number);
    return name;
}

/* ---- Values ---- */

/* The number that op i of the old kernel has in the new one. */
static uint32_t moved(const batcher *b, uint32_t i)
{
    if (i == 0)
        return 0;
    return i + N_NEW_HEADER + (i >= b->in->n_header ? N_NEW_BODY : 0);
}

static clp_val moved_val(const batcher *b, clp_val v)
{
    return (clp_val){ moved(b, v.id) };
}

static bool copy_op(batcher *b, uint32_t i)
{
    clpi_ir *out = b->out;
    clpi_arena *arena = out->arena;
    clpi_op op = b->in->ops.items[i];
    const clp_val *args = clpi_args(b->in, &op);
    const clpi_sub *subs = clpi_subs(b->in, &op);
    uint32_t n_args = op.n_args, n_subs = op.n_subs;
    bool ok = true;
    op.first_arg = out->args.n;
    op.first_sub = out->subs.n;
    if (op.operand >= 0 && b->adds_index[op.operand]) {
        ok = CLPI_PUSH(arena, &out->args, b->build.in_header ? b->program : b->body_program) &&
             CLPI_PUSH(arena, &out->subs, (clpi_sub){ .kind = CLPI_SUB_AT });
        op.n_args++;
        op.n_subs++;
    }
    for (uint32_t k = 0; k < n_args && ok; k++)
        ok = CLPI_PUSH(arena, &out->args, moved_val(b, args[k]));
    for (uint32_t k = 0; k < n_subs && ok; k++)
        ok = CLPI_PUSH(arena, &out->subs, subs[k]);
    if (op.kind == CLP_OP_program_id || op.kind == CLP_OP_num_programs)
        op.attr++;
    op.mid = moved(b, op.mid);
    op.end = moved(b, op.end);
    return ok && CLPI_PUSH(arena, &out->ops, op);
}

static bool copy_ops(batcher *b, uint32_t begin, uint32_t end)
{
    bool ok = true;
    for (uint32_t i = begin; i < end && ok; i++)
        ok = copy_op(b, i);
    return ok;
}

/* Types and strings keep their numbers. */
static bool copy_tables(batcher *b)
{
    const clpi_ir *in = b->in;
    clpi_ir *out = b->out;
    clpi_arena *arena = out->arena;
    bool ok = true;
    for (uint32_t i = 1; i < in->types.n && ok; i++)
        ok = CLPI_PUSH(arena, &out->types, in->types.items[i]);
    for (uint32_t i = 0; i < in->strings.n && ok; i++) {
        const char *text = clpi_arena_strndup(arena, in->strings.items[i], strlen(in->strings.items[i]));
        ok = text && CLPI_PUSH(arena, &out->strings, text);
    }
    if (!in->source || !ok)
        return ok;
    clpi_source *source = CLPI_NEW(arena, clpi_source);
    if (!source)
        return false;
    source->file = clpi_arena_strndup(arena, in->source->file, strlen(in->source->file));
    source->text = clpi_arena_strndup(arena, in->source->text, in->source->n_bytes);
    source->n_bytes = in->source->n_bytes;
    out->source = source;
    return source->file && source->text;
}

static bool copy_text(batcher *b, const char *text, const char **out)
{
    *out = text ? clpi_arena_strndup(b->out->arena, text, strlen(text)) : NULL;
    return !text || *out;
}

/* ---- The frame ---- */

static bool make_dims_and_axes(batcher *b)
{
    const clpi_ir *in = b->in;
    const char *dim = free_name(b, "B"), *axis = free_name(b, "batch");
    for (int i = 0; i < in->n_dims; i++)
        if (clpi_build_dim(&b->build, in->dims[i]) < 0)
            return false;
    int i_dim = dim ? clpi_build_dim(&b->build, dim) : -1;
    if (i_dim < 0 || !axis || clpi_build_axis(&b->build, axis, false) < 0)
        return false;
    b->size = clpi_make_leaf(&b->build, CLP_OP_dim, (uint64_t)i_dim);
    b->program = clpi_make_leaf(&b->build, CLP_OP_program_id, 0);
    b->zero = clpi_make_int(&b->build, CLP_I64, 0);
    if (b->zero.id != N_NEW_HEADER)
        return false;
    b->out->axes[0].size = b->size;
    for (int i = 0; i < in->n_axes; i++) {
        b->build.pos = in->axes[i].pos;
        if (clpi_build_axis(&b->build, in->axes[i].name, in->axes[i].is_arbitrary) < 0)
            return false;
        b->out->axes[i + 1].size = moved_val(b, in->axes[i].size);
        if (!copy_text(b, in->axes[i].values, &b->out->axes[i + 1].values))
            return false;
    }
    b->build.pos = (clpi_pos){ 0 };
    return true;
}

/* The array of an operand without a block can be its block: its sizes are known, and not zero. */
static bool fits_block(const clpi_ir *ir, const clpi_operand *x)
{
    int64_t n = 1, size;
    if (x->role == CLP_PREFETCH || x->role == CLP_SCALAR)
        return false;
    for (int i = 0; i < x->rank; i++) {
        if (!clpi_const_int(ir, x->shape[i], &size) || size < 1 || size > CLPI_MAX_TILE / n)
            return false;
        n *= size;
    }
    return true;
}

static bool make_operand(batcher *b, int k)
{
    const clpi_operand *from = &b->in->operands[k];
    clpi_operand x = *from;
    clp_val shape[CLP_MAX_RANK + 1];
    clpi_block_dim block[CLP_MAX_RANK + 1];
    int lead = b->chosen[k] ? 1 : 0;
    x.shape = shape;
    x.block = block;
    x.rank += lead;
    shape[0] = b->size;
    block[0] = (clpi_block_dim){ .kind = CLPI_BLOCK_SQUEEZED, .n = 1, .index = b->program };
    x.has_block = from->has_block || (lead && !b->adds_index[k]);
    if (lead && x.role == CLP_SCALAR)
        x.role = CLP_PREFETCH;
    for (int i = 0; i < from->rank; i++) {
        int64_t size = 0;
        shape[lead + i] = moved_val(b, from->shape[i]);
        (void)clpi_const_int(b->in, from->shape[i], &size);
        block[lead + i] = (clpi_block_dim){ .kind = CLPI_BLOCK_PLAIN, .n = size, .index = b->zero };
        if (from->has_block) {
            block[lead + i] = from->block[i];
            block[lead + i].index = moved_val(b, from->block[i].index);
        }
    }
    b->build.pos = from->pos;
    bool ok = clpi_build_operand(&b->build, &x) == k;
    b->build.pos = (clpi_pos){ 0 };
    return ok;
}

static bool make_requires(batcher *b)
{
    clpi_arena *arena = b->out->arena;
    int n = b->in->n_requires;
    b->out->requires = CLPI_NEW_N(arena, clpi_require, (size_t)n);
    b->out->n_requires = b->out->requires ? n : 0;
    for (int i = 0; i < b->out->n_requires; i++) {
        const clpi_require *from = &b->in->requires[i];
        clpi_require *to = &b->out->requires[i];
        *to = (clpi_require){ .condition = moved_val(b, from->condition), .pos = from->pos };
        if (!copy_text(b, from->text, &to->text) || !copy_text(b, from->values, &to->values))
            return false;
    }
    return b->out->requires != NULL;
}

/* Header ops stand before the operands that they read are made: nothing looks at those until the body. */
static bool make_kernel(batcher *b)
{
    if (!copy_tables(b) || !make_dims_and_axes(b))
        return false;
    for (int k = 0; k < b->in->n_operands; k++)
        b->adds_index[k] = b->chosen[k] && !b->in->operands[k].has_block && !fits_block(b->in, &b->in->operands[k]);
    if (!copy_ops(b, 1, b->in->n_header))
        return false;
    for (int k = 0; k < b->in->n_operands; k++)
        if (!make_operand(b, k))
            return false;
    if (!make_requires(b))
        return false;
    clpi_build_begin_body(&b->build);
    b->body_program = clpi_make_leaf(&b->build, CLP_OP_program_id, 0);
    return b->body_program.id != 0 && copy_ops(b, b->in->n_header, b->in->ops.n);
}

clp_status clpi_ir_batch(const clpi_ir *ir, clpi_arena *arena, const bool *chosen, clpi_ir **out_ir)
{
    batcher b = { .in = ir, .chosen = chosen };
    *out_ir = NULL;
    b.out = clpi_ir_new(ir->env, arena, ir->name);
    b.adds_index = CLPI_NEW_N(arena, bool, (size_t)ir->n_operands);
    if (!b.out || !b.adds_index)
        return CLP_ERR_OOM;
    b.out->math_fast = ir->math_fast;
    clpi_build_init(&b.build, b.out, report, &b);
    for (int k = 0; k < ir->n_operands; k++)
        check_operand(&b, k);
    if (b.status || arena->failed)
        return b.status ? b.status : CLP_ERR_OOM;
    bool made = make_kernel(&b);
    if (b.status)
        return b.status;
    if (!made)
        return CLP_ERR_OOM;
    *out_ir = b.out;
    return CLP_OK;
}
