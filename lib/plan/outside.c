/* outside: whether every block of a launch touches its array, found before anything runs.
 * In: a bound launch. Out: ARG naming the first program whose block lies outside; all_full of each operand.
 *
 * A block touches its array when in every dimension its index lies in one range, so each dimension is judged for itself:
 *     affine in the program ids     smallest and largest value over the box stand at corners
 *     other                         worked out for each combination of the axes it reads, if these are at most MAX_PROGRAMS
 *     reads prefetched data         known to the program only; not checked here                                        */
#include <assert.h>
#include <string.h>

#include "plan/bind.h"

enum { MAX_PROGRAMS = 65536 };

/* A header value over the box: constant + sum of coefs[axis] * program[axis]. coefs: [n_axes]. */
typedef struct affine { bool is_affine; int64_t constant; int64_t *coefs; } affine;

typedef struct checker {
    clpi_bound *bound;
    affine     *forms;       /* [n_header] of values that differ from program to program */
} checker;

static bool is_constant(const affine *a, int n_axes)
{
    for (int i = 0; i < n_axes; i++)
        if (a->coefs[i])
            return false;
    return true;
}

/* a += scale * b; false when numbers grow beyond 64 bits. */
static bool affine_add(affine *a, const affine *b, int64_t scale, int n_axes)
{
    int64_t part;
    if (__builtin_mul_overflow(b->constant, scale, &part) || __builtin_add_overflow(a->constant, part, &a->constant))
        return false;
    for (int i = 0; i < n_axes; i++)
        if (__builtin_mul_overflow(b->coefs[i], scale, &part) || __builtin_add_overflow(a->coefs[i], part, &a->coefs[i]))
            return false;
    return true;
}

/* The form of an operand; values known at launch are read into `known`, whose coefs are zeros. */
static const affine *form_of(const checker *c, clp_val v, affine *known)
{
    if (c->bound->plan->when[v.id] >= CLPI_WHEN_PROGRAM)
        return &c->forms[v.id];
    known->is_affine = true;
    known->constant = c->bound->header[v.id];
    return known;
}

/* The form of one op; out->coefs are zeros on entry. zeros: [n_axes]. */
static void op_form(const checker *c, const clpi_op *op, int64_t *zeros, affine *out)
{
    const clpi_ir *ir = c->bound->plan->ir;
    affine known[2] = { { .coefs = zeros }, { .coefs = zeros } };
    if (op->kind == CLP_OP_program_id) {
        out->is_affine = true;
        out->coefs[op->attr] = 1;
        return;
    }
    if (op->n_args == 0 || op->n_args > 2 || op->kind == CLP_OP_load)
        return;
    const affine *a = form_of(c, clpi_args(ir, op)[0], &known[0]);
    const affine *b = op->n_args == 2 ? form_of(c, clpi_args(ir, op)[1], &known[1]) : NULL;
    if (!a->is_affine || (b && !b->is_affine))
        return;
    switch (op->kind) {
    case CLP_OP_add: out->is_affine = affine_add(out, a, 1, ir->n_axes) && affine_add(out, b, 1, ir->n_axes); break;
    case CLP_OP_sub: out->is_affine = affine_add(out, a, 1, ir->n_axes) && affine_add(out, b, -1, ir->n_axes); break;
    case CLP_OP_neg: out->is_affine = affine_add(out, a, -1, ir->n_axes); break;
    case CLP_OP_mul:
        if (is_constant(a, ir->n_axes))
            out->is_affine = affine_add(out, b, a->constant, ir->n_axes);
        else if (is_constant(b, ir->n_axes))
            out->is_affine = affine_add(out, a, b->constant, ir->n_axes);
        break;
    default: break;
    }
}

static clp_status make_forms(checker *c, clpi_arena *arena)
{
    const clpi_plan *plan = c->bound->plan;
    const clpi_ir *ir = plan->ir;
    size_t n_axes = (size_t)ir->n_axes, n_forms = 0;
    for (uint32_t id = 1; id < ir->n_header; id++)
        n_forms += plan->when[id] == CLPI_WHEN_PROGRAM;
    c->forms = CLPI_NEW_N(arena, affine, ir->n_header);
    int64_t *coefs = CLPI_NEW_N(arena, int64_t, (n_forms + 1) * n_axes);
    if (!c->forms || !coefs)
        return CLP_ERR_OOM;
    int64_t *zeros = coefs;
    for (uint32_t id = 1; id < ir->n_header; id++) {
        if (plan->when[id] != CLPI_WHEN_PROGRAM)
            continue;
        coefs += n_axes;
        c->forms[id].coefs = coefs;
        op_form(c, &ir->ops.items[id], zeros, &c->forms[id]);
    }
    return CLP_OK;
}

/* ---- Affine indices ---- */

/* Adds the smallest and largest of coef * id over an axis of the box. */
static bool add_range(const clpi_bound *bound, int axis, int64_t coef, int64_t *lo, int64_t *hi)
{
    int64_t first, last;
    int64_t end = bound->box_start[axis] + bound->box_count[axis] - 1;
    return !(__builtin_mul_overflow(coef, bound->box_start[axis], &first) || __builtin_mul_overflow(coef, end, &last) ||
             __builtin_add_overflow(*lo, first < last ? first : last, lo) ||
             __builtin_add_overflow(*hi, first < last ? last : first, hi));
}

/* Smallest and largest value of an affine index over the axes from `axis` on, with base added. */
static bool range_from(const clpi_bound *bound, const affine *a, int axis, int64_t base, int64_t *out_lo, int64_t *out_hi)
{
    *out_lo = *out_hi = base;
    for (int i = axis; i < bound->plan->ir->n_axes; i++)
        if (!add_range(bound, i, a->coefs[i], out_lo, out_hi))
            return false;
    return true;
}

/* The first program of the box, in order, whose index is above limit (sign 1) or below it (sign -1); there is one. Axis by
 * axis, the smallest id from which the later axes can still get there; found by halving, as the reach is monotone or
 * the first id does.                                                                                                  */
static void first_beyond(const clpi_bound *bound, const affine *a, int64_t limit, int sign, int64_t *out_program)
{
    int64_t base = a->constant, lo, hi;
    for (int i = 0; i < bound->plan->ir->n_axes; i++) {
        int64_t from = bound->box_start[i], to = from + bound->box_count[i] - 1;
        while (from < to) {
            int64_t mid = (a->coefs[i] < 0) == (sign < 0) ? from + (to - from) / 2 : from;
            bool can = range_from(bound, a, i + 1, base + a->coefs[i] * mid, &lo, &hi) && (sign > 0 ? hi > limit : lo < limit);
            if (can)
                to = mid;
            else
                from = mid + 1;
        }
        out_program[i] = from;
        base += a->coefs[i] * from;
    }
}

static bool is_earlier(const int64_t *a, const int64_t *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] != b[i])
            return a[i] < b[i];
    return false;
}

/* ---- One dimension ---- */

typedef enum verdict { VERDICT_FULL, VERDICT_INSIDE, VERDICT_OUTSIDE, VERDICT_UNKNOWN } verdict;

static verdict affine_verdict(const clpi_bound *bound, const affine *a, const int64_t *touch, const int64_t *full,
                              int64_t *out_program)
{
    int64_t lo, hi, below[CLPI_MAX_AXES];
    if (!range_from(bound, a, 0, a->constant, &lo, &hi))
        return VERDICT_UNKNOWN;
    if (lo >= touch[0] && hi <= touch[1])
        return lo >= full[0] && hi <= full[1] ? VERDICT_FULL : VERDICT_INSIDE;
    int n_axes = bound->plan->ir->n_axes;
    if (hi > touch[1])
        first_beyond(bound, a, touch[1], 1, out_program);
    if (lo < touch[0])
        first_beyond(bound, a, touch[0], -1, below);
    if (lo < touch[0] && (hi <= touch[1] || is_earlier(below, out_program, n_axes)))
        memcpy(out_program, below, (size_t)n_axes * sizeof *below);
    return VERDICT_OUTSIDE;
}

/* Walks the axes that v reads; the others stay at the start of the box. */
static verdict walk_verdict(const clpi_bound *bound, clp_val v, const int64_t *touch, const int64_t *full,
                            int64_t *out_program)
{
    const clpi_plan *plan = bound->plan;
    int n_axes = plan->ir->n_axes;
    int64_t n = 1, index;
    for (int i = 0; i < n_axes; i++) {
        out_program[i] = bound->box_start[i];
        if (plan->axes_read[v.id] >> i & 1 && (__builtin_mul_overflow(n, bound->box_count[i], &n) || n > MAX_PROGRAMS))
            return VERDICT_UNKNOWN;
    }
    verdict result = VERDICT_FULL;
    for (;;) {
        bool is_known = clpi_header_eval(bound, v, out_program, NULL, &index);
        assert(is_known && "it reads nothing prefetched");
        if (!is_known || index < touch[0] || index > touch[1])
            return VERDICT_OUTSIDE;
        if (index < full[0] || index > full[1])
            result = VERDICT_INSIDE;
        int i = n_axes - 1;
        for (; i >= 0; i--) {
            if (!(plan->axes_read[v.id] >> i & 1))
                continue;
            if (++out_program[i] < bound->box_start[i] + bound->box_count[i])
                break;
            out_program[i] = bound->box_start[i];
        }
        if (i < 0)
            return result;
    }
}

static verdict dim_verdict(const checker *c, const clpi_block_dim *dim, int64_t size, int64_t *out_program)
{
    const clpi_plan *plan = c->bound->plan;
    int64_t touch[2], full[2], index;
    clpi_index_range(dim, size, false, &touch[0], &touch[1]);
    clpi_index_range(dim, size, true, &full[0], &full[1]);
    if (plan->when[dim->index.id] == CLPI_WHEN_DATA)
        return VERDICT_UNKNOWN;
    if (plan->when[dim->index.id] <= CLPI_WHEN_LAUNCH) {
        memcpy(out_program, c->bound->box_start, (size_t)plan->ir->n_axes * sizeof *out_program);
        index = c->bound->header[dim->index.id];
        if (index < touch[0] || index > touch[1])
            return VERDICT_OUTSIDE;
        return index >= full[0] && index <= full[1] ? VERDICT_FULL : VERDICT_INSIDE;
    }
    const affine *a = &c->forms[dim->index.id];
    verdict result = a->is_affine ? affine_verdict(c->bound, a, touch, full, out_program) : VERDICT_UNKNOWN;
    return result == VERDICT_UNKNOWN ? walk_verdict(c->bound, dim->index, touch, full, out_program) : result;
}

/* ---- All operands ---- */

static clp_status check_operand(const checker *c, int operand)
{
    const clpi_operand *x = &c->bound->plan->ir->operands[operand];
    clpi_bound_operand *array = &c->bound->operands[operand];
    int n_axes = c->bound->plan->ir->n_axes;
    int64_t program[CLPI_MAX_AXES] = { 0 }, first[CLPI_MAX_AXES] = { 0 };
    bool is_outside = false;
    if (x->role == CLP_SCRATCH)
        return CLP_OK;
    array->all_full = true;
    for (int d = 0; d < x->rank; d++)
        if (array->size[d] == 0) {
            array->all_full = !x->has_block;
            return CLP_OK;
        }
    for (int d = 0; x->has_block && d < x->rank; d++) {
        verdict v = dim_verdict(c, &x->block[d], array->size[d], program);
        array->all_full = array->all_full && v == VERDICT_FULL;
        if (v == VERDICT_OUTSIDE && (!is_outside || is_earlier(program, first, n_axes)))
            memcpy(first, program, sizeof first);
        is_outside = is_outside || v == VERDICT_OUTSIDE;
    }
    if (!is_outside)
        return CLP_OK;
    clpi_env *env = c->bound->plan->ir->env;
    clpi_str s;
    clpi_str_init(&s, env);
    clpi_window_message(c->bound, operand, first, NULL, &s);
    clp_status status = s.failed ? CLP_ERR_OOM : clpi_fail(env, CLP_ERR_ARG, "%s", s.text);
    clpi_str_done(&s);
    return status;
}

clp_status clpi_outside_check(clpi_bound *bound, clpi_arena *arena)
{
    checker c = { .bound = bound };
    if (bound->n_sequences == 0 || bound->n_steps == 0)
        return CLP_OK;
    clpi_arena_mark mark = clpi_arena_mark_get(arena);
    clp_status status = make_forms(&c, arena);
    for (int i = 0; !status && i < bound->plan->ir->n_operands; i++)
        status = check_operand(&c, i);
    clpi_arena_rewind(arena, mark);
    return status;
}
