/* elaborate_header: operands, axes, `require`, `tune`.
 * In: the declarations of a kernel, its parameters bound. Out: the header of the IR, all names bound.
 * Operands are made in the order of the text, maps after all of them, so that a map may read a prefetch operand that is
 * declared below; until then the sizes of the array stand in for the map.                                               */
#include "text/elaborate.h"

#include <stdio.h>
#include <string.h>

static const clpi_meaning nothing = { .kind = CLPI_IS_NOTHING };

/* An expression as a header value of 64 bits; null: reported. */
static clp_val eval_size(clpi_elab *e, const clpi_expr *x)
{
    clp_val v = clpi_eval_value(e, x, CLP_I64);
    if (!v.id)
        return v;
    const clpi_type *t = clpi_type_of(e->b->ir, v);
    if (t->dtype == CLP_I64 && t->rank == 0)
        return v;
    clpi_say(e, x->pos, "expected an integer, got %s", clp_dtype_name(t->dtype));
    return (clp_val){ 0 };
}

/* ---- Operands ---------------------------------------------------------------------------------------------------- */

/* Whether the operand exists. */
static bool is_present(clpi_elab *e, const clpi_operand_decl *decl)
{
    if (!decl->condition)
        return true;
    e->may_stand = "whether an operand is there is decided by parameters and constants";
    clpi_meaning m = clpi_eval(e, decl->condition);
    e->may_stand = NULL;
    if (m.kind == CLPI_IS_INT && !m.dtype)
        return m.integer.magnitude != 0;
    if (m.kind != CLPI_IS_TRUTH && m.kind != CLPI_IS_NOTHING)
        clpi_say(e, decl->condition->pos, "%s: whether an operand is there is decided by parameters and constants", decl->name.text);
    return m.kind != CLPI_IS_TRUTH || m.truth;
}

static bool eval_shape(clpi_elab *e, const clpi_operand_decl *decl, clpi_operand *x)
{
    bool ok = true;
    if (decl->shape.n > CLP_MAX_RANK) {
        clpi_say(e, decl->name.pos, "%s: an array has at most %d dimensions, got %u", decl->name.text, CLP_MAX_RANK, decl->shape.n);
        return false;
    }
    x->rank = (int)decl->shape.n;
    x->shape = CLPI_NEW_N(e->arena, clp_val, (size_t)x->rank + 1);
    if (!x->shape)
        return false;
    e->makes_dims = decl->role != CLP_SCRATCH;
    for (int i = 0; i < x->rank; i++) {
        x->shape[i] = eval_size(e, decl->shape.items[i]);
        ok = ok && x->shape[i].id;
    }
    e->makes_dims = false;
    return ok;
}

static bool eval_block_dim(clpi_elab *e, const clpi_operand_decl *decl, const clpi_bdim_decl *d, clpi_block_dim *out)
{
    int64_t pad_hi;
    char what[96];
    snprintf(what, sizeof what, "%.60s: a dimension of the block", decl->name.text);
    out->kind = d->is_squeezed ? CLPI_BLOCK_SQUEEZED : d->is_element ? CLPI_BLOCK_ELEMENT : CLPI_BLOCK_PLAIN;
    out->n = 1;
    bool ok = d->is_squeezed || clpi_eval_int(e, d->n, what, &out->n);
    if (ok && d->pad_lo)
        ok = clpi_eval_int(e, d->pad_lo, "the pad of `element`", &out->pad_lo) &&
             (d->pad_hi == d->pad_lo || clpi_eval_int(e, d->pad_hi, "the pad of `element`", &pad_hi));
    if (ok && out->n < 1) {
        clpi_say(e, d->pos, "%s: a dimension of the block is at least 1, got %lld", decl->name.text, (long long)out->n);
        ok = false;
    }
    return ok;
}

static bool eval_block(clpi_elab *e, const clpi_operand_decl *decl, clpi_operand *x)
{
    bool ok = true;
    x->has_block = decl->has_block;
    if (!decl->has_block)
        return true;
    if ((int)decl->block.n != x->rank) {
        clpi_say(e, decl->name.pos, "%s: block has %u dim%s, array has %d", decl->name.text, decl->block.n,
                 decl->block.n == 1 ? "" : "s", x->rank);
        return false;
    }
    if (decl->map.n != decl->block.n) {
        clpi_say(e, decl->name.pos, "%s: the index map has %u expression%s, the block has %u dim%s: one for each, `_` included",
                 decl->name.text, decl->map.n, decl->map.n == 1 ? "" : "s", decl->block.n, decl->block.n == 1 ? "" : "s");
        return false;
    }
    x->block = CLPI_NEW_N(e->arena, clpi_block_dim, (size_t)x->rank + 1);
    if (!x->block)
        return false;
    for (int i = 0; i < x->rank; i++) {
        ok = eval_block_dim(e, decl, &decl->block.items[i], &x->block[i]) && ok;
        x->block[i].index = x->shape[i];
    }
    return ok;
}

static bool eval_pad(clpi_elab *e, const clpi_operand_decl *decl, clpi_operand *x)
{
    x->pad_bits = clpi_poison_bits(x->dtype);
    x->has_pad = decl->pad != NULL;
    if (!decl->pad)
        return true;
    clpi_meaning m = clpi_eval(e, decl->pad);
    if (m.kind == CLPI_IS_NOTHING)
        return false;
    if (!clpi_is_exact(&m) || (m.dtype && m.dtype != clpi_loaded(x->dtype))) {
        clpi_say(e, decl->pad->pos, "%s: pad is a constant of dtype %s", decl->name.text, clp_dtype_name(x->dtype));
        return false;
    }
    return clpi_exact_bits(e, &m, x->dtype, decl->pad->pos, &x->pad_bits);
}

/* The number of the new operand, or FAILED. */
static int make_operand(clpi_elab *e, const clpi_operand_decl *decl)
{
    clpi_operand x = { .role = decl->role, .name = decl->name.text, .alias = -1, .pos = decl->name.pos };
    bool ok = clpi_eval_dtype(e, decl->dtype, &x.dtype);
    ok = eval_shape(e, decl, &x) && ok;
    ok = ok && eval_block(e, decl, &x);
    ok = ok && eval_pad(e, decl, &x);
    clpi_at_pos(e, decl->name.pos);
    int number = ok ? clpi_build_operand(e->b, &x) : -1;
    return number < 0 ? CLPI_FAILED : number;
}

/* The tables of a kernel's operands and axes are short ones: whatever walks them need not be clever. */
static bool is_small(clpi_elab *e)
{
    const clpi_kernel_decl *kernel = e->kernel;
    if (kernel->operands.n > CLPI_MAX_DECLARED)
        clpi_say(e, kernel->operands.items[CLPI_MAX_DECLARED].name.pos, "a kernel has at most %d operands", CLPI_MAX_DECLARED);
    if (kernel->axes.n > CLPI_MAX_DECLARED)
        clpi_say(e, kernel->axes.items[CLPI_MAX_DECLARED].name.pos, "a grid has at most %d axes", CLPI_MAX_DECLARED);
    return kernel->operands.n <= CLPI_MAX_DECLARED && kernel->axes.n <= CLPI_MAX_DECLARED;
}

/* Whether an operand of this kind may share its name with the one before: of several, one exists at most. */
static bool is_either(const clpi_binding *first, clpi_binding_kind kind)
{
    const bool is_there = first->kind == CLPI_BIND_OPERAND && first->number != CLPI_FAILED;
    return first->kind == CLPI_BIND_ABSENT || (is_there && kind == CLPI_BIND_ABSENT);
}

static void bind_operands(clpi_elab *e)
{
    uint32_t n_present = 0;
    for (uint32_t i = 0; i < e->kernel->operands.n; i++) {
        const clpi_operand_decl *decl = &e->kernel->operands.items[i];
        e->used = 0;
        clpi_binding_kind kind = is_present(e, decl) ? CLPI_BIND_OPERAND : CLPI_BIND_ABSENT;
        n_present += kind == CLPI_BIND_OPERAND;
        clpi_binding *first = clpi_find(e, decl->name.text);
        if (first && is_either(first, kind)) {
            if (kind == CLPI_BIND_OPERAND)
                *first = (clpi_binding){ .name = decl->name.text, .pos = decl->name.pos, .kind = kind, .number = CLPI_LATER,
                                         .hash = first->hash, .below = first->below, .params = e->used };
            continue;
        }
        if (!clpi_name_bind(e, decl->name, kind, CLPI_LATER, nothing) && first && first->kind == CLPI_BIND_OPERAND)
            first->number = CLPI_FAILED;                     /* which of the two is meant, nobody knows */
    }
    if (n_present == 0)
        clpi_say(e, e->kernel->name.pos, "%s has no operands here: the `if` of each is false", e->kernel->name.text);
}

/* The binding of an operand that this declaration made; NULL: absent, failed, or its name was taken. */
static clpi_binding *binding_of(clpi_elab *e, const clpi_operand_decl *decl)
{
    clpi_binding *binding = clpi_find(e, decl->name.text);
    bool is_own = binding && binding->kind == CLPI_BIND_OPERAND && binding->name == decl->name.text;
    return is_own && binding->number != CLPI_FAILED ? binding : NULL;
}

static void make_operands(clpi_elab *e)
{
    for (uint32_t i = 0; i < e->kernel->operands.n; i++) {
        const clpi_operand_decl *decl = &e->kernel->operands.items[i];
        e->used = 0;
        if (!binding_of(e, decl)) {
            const clpi_binding *other = clpi_find(e, decl->name.text);
            clpi_operand unused = { .rank = 0 };
            if (other && other->kind != CLPI_BIND_ABSENT)
                eval_shape(e, decl, &unused);             /* its dims are names all the same */
            continue;
        }
        int number = make_operand(e, decl);
        clpi_binding *binding = binding_of(e, decl);      /* the list of names may have moved */
        if (!binding)
            continue;
        binding->number = number;
        binding->params = e->used;
    }
}

static void make_maps(clpi_elab *e)
{
    e->in_map = true;
    for (uint32_t i = 0; i < e->kernel->operands.n; i++) {
        const clpi_operand_decl *decl = &e->kernel->operands.items[i];
        e->used = 0;
        const clpi_binding *binding = binding_of(e, decl);
        int number = binding ? binding->number : CLPI_FAILED;
        for (uint32_t k = 0; number >= 0 && decl->has_block && k < decl->map.n; k++) {
            clp_val v = eval_size(e, decl->map.items[k]);
            clpi_block_dim *dim = &e->b->ir->operands[number].block[k];
            dim->pos = decl->map.items[k]->pos;
            if (v.id)
                dim->index = v;
        }
    }
    e->in_map = false;
}

static void make_aliases(clpi_elab *e)
{
    for (uint32_t i = 0; i < e->kernel->operands.n; i++) {
        const clpi_operand_decl *decl = &e->kernel->operands.items[i];
        const clpi_binding *binding = binding_of(e, decl);
        if (!binding || !decl->alias.text)
            continue;
        const clpi_binding *of = clpi_find(e, decl->alias.text);
        if (decl->role != CLP_OUT)
            clpi_say(e, decl->alias.pos, "%s: only an `out` operand has an alias", decl->name.text);
        else if (!of || of->kind != CLPI_BIND_OPERAND)
            clpi_say_unknown(e, "operand", decl->alias.text, decl->alias.pos, false);
        else if (of->number >= 0)
            e->b->ir->operands[binding->number].alias = of->number;
    }
}

/* ---- The grid and its clauses ------------------------------------------------------------------------------------ */

static void bind_axes(clpi_elab *e)
{
    for (uint32_t i = 0; i < e->kernel->axes.n; i++) {
        const clpi_axis_decl *decl = &e->kernel->axes.items[i];
        clpi_at_pos(e, decl->name.pos);
        if (!clpi_name_bind(e, decl->name, CLPI_BIND_AXIS, e->b->ir->n_axes, nothing))
            continue;
        if (clpi_build_axis(e->b, decl->name.text, decl->is_arbitrary) < 0)
            return;
    }
}

/* The parameters in what was just elaborated: a launch that it fails names them. */
static const char *keep_values(clpi_elab *e)
{
    clpi_str s;
    clpi_str_init(&s, e->env);
    clpi_params_print(e, false, &s);
    return clpi_str_keep(&s, e->arena);
}

static void make_axis_sizes(clpi_elab *e)
{
    for (uint32_t i = 0; i < e->kernel->axes.n; i++) {
        const clpi_axis_decl *decl = &e->kernel->axes.items[i];
        e->used = 0;
        clp_val v = eval_size(e, decl->size);
        const char *values = keep_values(e);
        const clpi_binding *binding = clpi_find(e, decl->name.text);
        if (!binding || binding->kind != CLPI_BIND_AXIS || binding->name != decl->name.text)
            continue;
        e->b->ir->axes[binding->number].size = v;
        e->b->ir->axes[binding->number].values = values;
    }
}

static void make_requires(clpi_elab *e)
{
    clpi_ir *ir = e->b->ir;
    ir->requires = CLPI_NEW_N(e->arena, clpi_require, (size_t)e->kernel->requires.n + 1);
    for (uint32_t i = 0; ir->requires && i < e->kernel->requires.n; i++) {
        const clpi_require_decl *decl = &e->kernel->requires.items[i];
        e->used = 0;
        clp_val v = clpi_eval_value(e, decl->condition, CLP_DTYPE_NONE);
        if (!v.id)
            continue;
        if (clpi_type_of(ir, v)->dtype != CLP_BOOL) {
            clpi_say(e, decl->condition->pos, "`require` takes a condition, got an integer");
            continue;
        }
        ir->requires[ir->n_requires++] = (clpi_require){ v, decl->text, decl->condition->pos, keep_values(e) };
    }
}

static void check_tunes(clpi_elab *e)
{
    for (uint32_t i = 0; i < e->kernel->tunes.n; i++) {
        const clpi_tune_decl *decl = &e->kernel->tunes.items[i];
        const clpi_binding *binding = clpi_find(e, decl->name.text);
        int64_t value;
        bool is_int = binding && binding->kind == CLPI_BIND_LET && binding->meaning.kind == CLPI_IS_INT;
        if (!binding)
            clpi_say_unknown(e, "parameter", decl->name.text, decl->name.pos, false);
        else if (!is_int && binding->meaning.kind != CLPI_IS_NOTHING)
            clpi_say(e, decl->name.pos, "`tune` takes integer parameters: %s is none", decl->name.text);
        for (uint32_t k = 0; k < decl->values.n; k++)
            clpi_eval_int(e, decl->values.items[k], "a value of `tune`", &value);
    }
}

/* How long and how deep the text of each header value is: the printer writes it as one expression, in which what fns use
 * twice stands twice.                                                                                                   */
static void check_lengths(clpi_elab *e)
{
    enum { MAX_LENGTH = 20000, MAX_DEPTH = 150 };
    const clpi_ir *ir = e->b->ir;
    struct { uint32_t length, depth; } *of = clpi_arena_alloc(e->arena, ir->ops.n, sizeof *of);
    for (uint32_t i = 1; of && i < ir->ops.n; i++) {
        const clpi_op *op = &ir->ops.items[i];
        of[i].length = 1;
        for (uint32_t k = 0; k < op->n_args; k++) {
            uint32_t arg = clpi_args(ir, op)[k].id;
            bool is_flat = k == 0 && ir->ops.items[arg].kind == op->kind && op->n_args == 2;      /* a + b + c */
            uint32_t depth = of[arg].depth + !is_flat;
            of[i].length += of[arg].length;
            of[i].depth = depth > of[i].depth ? depth : of[i].depth;
        }
        if (of[i].length <= MAX_LENGTH && of[i].depth <= MAX_DEPTH)
            continue;
        clpi_say(e, op->pos, "this expression is too long with its fns inlined");
        return;
    }
}

bool clpi_elaborate_header(clpi_elab *e)
{
    if (!is_small(e))
        return false;
    bind_operands(e);
    bind_axes(e);
    make_operands(e);
    if (e->arena->failed)           /* names may stand for axes and operands that there are not */
        return false;
    make_maps(e);
    make_aliases(e);
    make_axis_sizes(e);
    make_requires(e);
    check_tunes(e);
    check_lengths(e);
    e->kernel_end = e->names.n;
    return !e->stopped && !e->arena->failed;
}

/* ---- In the body ------------------------------------------------------------------------------------------------- */

clpi_meaning clpi_operand_size(clpi_elab *e, int operand, int axis, clpi_pos pos)
{
    const clpi_operand *x = &e->b->ir->operands[operand];
    const clpi_op *size = clpi_op_at(e->b->ir, x->shape[axis]);
    int64_t n;
    clpi_at_pos(e, pos);
    if (clpi_const_int(e->b->ir, x->shape[axis], &n))
        return clpi_mean_int(n);
    if (size->kind == CLP_OP_dim)
        return clpi_mean_value(clpi_make_leaf(e->b, CLP_OP_dim, size->attr));

    /* The expression of the shape again, with the names that the kernel sees, in the body's 32 bits. */
    uint32_t begin = e->frame_begin, end = e->frame_end;
    clpi_meaning m = nothing;
    e->frame_begin = e->kernel_begin;
    e->frame_end = e->kernel_end;
    for (uint32_t i = 0; e->kernel && i < e->kernel->operands.n; i++)
        if (strcmp(e->kernel->operands.items[i].name.text, x->name) == 0)
            m = clpi_eval(e, e->kernel->operands.items[i].shape.items[axis]);
    e->frame_begin = begin;
    e->frame_end = end;
    return m;
}
