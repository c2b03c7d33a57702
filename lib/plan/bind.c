/* bind: a plan meets the arrays of one launch.
 * In: a plan, arrays, named dims, a box of the grid. Out: the launch's numbers, in the given arena, or ARG.
 * Decides whether the arrays fit the kernel: whatever a backend relies on is checked here or in overlap.c and outside.c,
 * once, before anything runs. The order is that in which each step makes the next one possible:
 *
 *     arrays alone -> dims -> scalars -> header values and grid -> shapes, `require`, box -> overlap -> blocks           */
#include <assert.h>
#include <string.h>

#include "plan/bind.h"

#define MAX_REACH (INT64_C(1) << 56)        /* elements: leaves room for differences of reaches in units of four bits */

typedef struct binder {
    const clpi_plan        *plan;
    const clpi_ir          *ir;
    const clpi_launch_args *args;
    clpi_env               *env;
    clpi_bound             *bound;
} binder;

/* ---- Arrays alone ---- */

static clp_status fail_count(const binder *b, int n_expected)
{
    clpi_str s;
    clpi_str_init(&s, b->env);
    const char *before = "";
    for (int i = 0; i < b->ir->n_operands; i++) {
        if (b->ir->operands[i].role == CLP_SCRATCH)
            continue;
        clpi_str_add(&s, "%s%s", before, b->ir->operands[i].name);
        before = ", ";
    }
    clp_status status = s.failed ? CLP_ERR_OOM
                                 : clpi_fail(b->env, CLP_ERR_ARG, "%s: expected %d arrays (%s), got %d", b->ir->name,
                                             n_expected, s.text, b->args->n_arrays);
    clpi_str_done(&s);
    return status;
}

bool clpi_extent(const clpi_bound_operand *operand, int rank, int64_t *out_lo, int64_t *out_hi)
{
    int64_t lo = operand->offset, hi = operand->offset, part;
    *out_lo = *out_hi = operand->offset;
    for (int d = 0; d < rank; d++)
        if (operand->size[d] == 0)
            return true;
    for (int d = 0; d < rank; d++)
        if (__builtin_mul_overflow(operand->size[d] - 1, operand->stride[d], &part) ||
            (part < 0 ? __builtin_add_overflow(lo, part, &lo) : __builtin_add_overflow(hi, part, &hi)))
            return false;
    if (lo < -MAX_REACH || hi > MAX_REACH)
        return false;
    *out_lo = lo;
    *out_hi = hi + 1;
    return true;
}

bool clpi_element_at(const clpi_bound_operand *operand, int rank, const int64_t *index, int64_t *out_at)
{
    *out_at = operand->offset;
    for (int d = 0; d < rank; d++) {
        if (index[d] < 0 || index[d] >= operand->size[d])
            return false;
        *out_at += index[d] * operand->stride[d];
    }
    return true;
}

/* Strides as given, or of C order. */
static clp_status take_strides(const binder *b, const clpi_operand *x, const clp_array *array, clpi_bound_operand *o)
{
    int64_t n_elems = 1, lo, hi;
    for (int d = x->rank; d-- > 0;) {
        if (array->strides && clpi_is_packed(x->dtype) && o->size[d] > 1 && array->strides[d] != n_elems)
            return clpi_fail(b->env, CLP_ERR_ARG, "%s: %s arrays are contiguous: expected stride %lld in dimension %d, got %lld",
                             x->name, clp_dtype_name(x->dtype), (long long)n_elems, d, (long long)array->strides[d]);
        o->stride[d] = array->strides ? array->strides[d] : n_elems;
        if (__builtin_mul_overflow(n_elems, o->size[d] ? o->size[d] : 1, &n_elems))
            return clpi_fail(b->env, CLP_ERR_ARG, "%s: the array has too many elements", x->name);
    }
    if (!clpi_extent(o, x->rank, &lo, &hi))
        return clpi_fail(b->env, CLP_ERR_ARG, "%s: strides or offset reach too far", x->name);
    return CLP_OK;
}

static clp_status take_array(const binder *b, const clpi_operand *x, const clp_array *array, clpi_bound_operand *o)
{
    if (array->dtype != x->dtype)
        return clpi_fail(b->env, CLP_ERR_ARG, "%s: expected dtype %s, got %s", x->name, clp_dtype_name(x->dtype),
                         clp_dtype_name(array->dtype));
    if (array->rank != x->rank)
        return clpi_fail(b->env, CLP_ERR_ARG, "%s: expected rank %d, got rank %d", x->name, x->rank, array->rank);
    for (int d = 0; d < x->rank; d++) {
        int64_t size = o->size[d] = array->shape[d];
        if (size < 0 || size > CLPI_MAX_SIZE)
            return clpi_fail(b->env, CLP_ERR_ARG, "%s: expected a size of 0 to %lld in dimension %d, got %lld", x->name,
                             (long long)CLPI_MAX_SIZE, d, (long long)size);
    }
    o->offset = array->offset;
    if (o->offset < -MAX_REACH || o->offset > MAX_REACH)
        return clpi_fail(b->env, CLP_ERR_ARG, "%s: offset %lld reaches too far", x->name, (long long)o->offset);
    return take_strides(b, x, array, o);
}

/* An alias has the shape of the array that it stands on. */
static clp_status check_aliases(const binder *b)
{
    for (int i = 0; i < b->ir->n_operands; i++) {
        const clpi_operand *x = &b->ir->operands[i];
        const clpi_operand *of = x->alias < 0 ? NULL : &b->ir->operands[x->alias];
        if (of && x->rank != of->rank)
            return clpi_fail(b->env, CLP_ERR_ARG, "%s: alias of %s: expected rank %d, got rank %d", x->name, of->name,
                             of->rank, x->rank);
        for (int d = 0; of && d < x->rank; d++) {
            const int64_t expected = b->bound->operands[x->alias].size[d], got = b->bound->operands[i].size[d];
            if (got != expected)
                return clpi_fail(b->env, CLP_ERR_ARG, "%s: alias of %s: expected size %lld in dimension %d, got %lld",
                                 x->name, of->name, (long long)expected, d, (long long)got);
        }
    }
    return CLP_OK;
}

static clp_status take_arrays(const binder *b)
{
    int n_expected = 0;
    for (int i = 0; i < b->ir->n_operands; i++)
        n_expected += b->ir->operands[i].role != CLP_SCRATCH;
    if (b->args->n_arrays != n_expected)
        return fail_count(b, n_expected);
    const clp_array *array = b->args->arrays;
    for (int i = 0; i < b->ir->n_operands; i++)
        if (b->ir->operands[i].role != CLP_SCRATCH)
            CLP_TRY(take_array(b, &b->ir->operands[i], array++, &b->bound->operands[i]));
    return check_aliases(b);
}

clpi_elem clpi_scalar_value(const clpi_operand *x, const clp_array *array)
{
    assert(array->data);
    return clpi_elem_at(x->dtype, array->data, array->offset);
}

static void read_scalars(const binder *b)
{
    for (int i = 0; i < b->ir->n_operands; i++)
        if (b->ir->operands[i].role == CLP_SCALAR)
            b->bound->scalar[i] = clpi_scalar_value(&b->ir->operands[i], &b->args->arrays[clpi_array_number(b->ir, i)]);
}

/* ---- Dims ---- */

static const clp_dim *dim_given(const binder *b, const char *name)
{
    for (int i = 0; i < b->args->n_dims; i++)
        if (!strcmp(b->args->dims[i].name, name))
            return &b->args->dims[i];
    return NULL;
}

static clp_status fail_dim_form(const binder *b, int dim)
{
    const clpi_dim_bind *bind = &b->plan->dims[dim];
    clpi_str s;
    clpi_str_init(&s, b->env);
    clpi_dim_message(b->ir, bind->operand, bind->dim, dim, b->bound->operands[bind->operand].size[bind->dim], &s);
    clp_status status = s.failed ? CLP_ERR_OOM : clpi_fail(b->env, CLP_ERR_ARG, "%s", s.text);
    clpi_str_done(&s);
    return status;
}

static clp_status bind_dim(const binder *b, int dim)
{
    const clpi_dim_bind *bind = &b->plan->dims[dim];
    const clp_dim *given = dim_given(b, b->ir->dims[dim]);
    int64_t *size = &b->bound->dim[dim];
    if (bind->operand < 0) {
        if (!given)
            return clpi_fail(b->env, CLP_ERR_ARG, "%s: no array shows this dim; its size must be given", b->ir->dims[dim]);
        *size = given->size;
    } else {
        if (!clpi_dim_solve(b->bound->operands[bind->operand].size[bind->dim], bind->mul, bind->add, size))
            return fail_dim_form(b, dim);
        if (given && given->size != *size)
            return clpi_fail(b->env, CLP_ERR_ARG, "%s is %lld (from %s), given as %lld", b->ir->dims[dim],
                             (long long)*size, b->ir->operands[bind->operand].name, (long long)given->size);
    }
    if (*size < 0 || *size > CLPI_MAX_SIZE)
        return clpi_fail(b->env, CLP_ERR_ARG, "%s: expected a size of 0 to %lld, got %lld", b->ir->dims[dim],
                         (long long)CLPI_MAX_SIZE, (long long)*size);
    return CLP_OK;
}

static clp_status bind_dims(const binder *b)
{
    for (int i = 0; i < b->args->n_dims; i++) {
        bool is_dim = false;
        for (int k = 0; k < b->ir->n_dims; k++)
            is_dim = is_dim || !strcmp(b->args->dims[i].name, b->ir->dims[k]);
        if (!is_dim)
            return clpi_fail(b->env, CLP_ERR_ARG, "%s has no dim %s", b->ir->name, b->args->dims[i].name);
    }
    for (int i = 0; i < b->ir->n_dims; i++)
        CLP_TRY(bind_dim(b, i));
    return CLP_OK;
}

static clp_status fail_shape(const binder *b, const clpi_operand *x, int d, int64_t got)
{
    const clpi_op *op = clpi_op_at(b->ir, x->shape[d]);
    int64_t expected = b->bound->header[x->shape[d].id];
    if (op->kind == CLP_OP_dim) {
        int from = b->plan->dims[op->attr].operand;
        return clpi_fail(b->env, CLP_ERR_ARG, "%s: %s is %lld (%s%s), got %lld", x->name, b->ir->dims[op->attr],
                         (long long)expected, from < 0 ? "given" : "from ", from < 0 ? "" : b->ir->operands[from].name,
                         (long long)got);
    }
    if (op->kind == CLP_OP_const)
        return clpi_fail(b->env, CLP_ERR_ARG, "%s: expected size %lld in dimension %d, got %lld", x->name,
                         (long long)expected, d, (long long)got);
    clpi_str s;
    clpi_str_init(&s, b->env);
    clpi_expr_print(b->ir, x->shape[d], &s);
    clp_status status = s.failed ? CLP_ERR_OOM
                                 : clpi_fail(b->env, CLP_ERR_ARG, "%s: expected size %s = %lld in dimension %d, got %lld",
                                             x->name, s.text, (long long)expected, d, (long long)got);
    clpi_str_done(&s);
    return status;
}

static clp_status check_shapes(const binder *b)
{
    for (int i = 0; i < b->ir->n_operands; i++) {
        const clpi_operand *x = &b->ir->operands[i];
        for (int d = 0; x->role != CLP_SCRATCH && d < x->rank; d++)
            if (b->bound->operands[i].size[d] != b->bound->header[x->shape[d].id])
                return fail_shape(b, x, d, b->bound->operands[i].size[d]);
    }
    return CLP_OK;
}

/* ---- Grid and conditions ---- */

static clp_status fail_with(const binder *b, clpi_str *s)
{
    clp_status status = s->failed ? CLP_ERR_OOM : clpi_fail(b->env, CLP_ERR_ARG, "%s", s->text);
    clpi_str_done(s);
    return status;
}

static clp_status fail_axis(const binder *b, const clpi_axis *axis, int64_t size)
{
    clpi_str s;
    clpi_str_init(&s, b->env);
    clpi_place_print(b->ir, axis->pos, &s);
    clpi_str_add(&s, "axis %s: expected a size of 0 to %lld, got %lld", axis->name, (long long)CLPI_MAX_SIZE, (long long)size);
    if (axis->values && *axis->values)
        clpi_str_add(&s, "; %s", axis->values);
    return fail_with(b, &s);
}

static clp_status bind_grid(const binder *b)
{
    int64_t n_programs = 1;
    bool is_empty = false, is_too_large = false;
    for (int i = 0; i < b->ir->n_axes; i++) {
        const clpi_axis *axis = &b->ir->axes[i];
        int64_t size = b->bound->axis_size[i] = b->bound->header[axis->size.id];
        if (size < 0 || size > CLPI_MAX_SIZE)
            return fail_axis(b, axis, size);
        is_empty = is_empty || size == 0;
        is_too_large = is_too_large || __builtin_mul_overflow(n_programs, size ? size : 1, &n_programs);
    }
    if (is_too_large && !is_empty)
        return clpi_fail(b->env, CLP_ERR_ARG, "%s: the grid has more than 2^63 - 1 programs", b->ir->name);
    return CLP_OK;
}

static clp_status bind_box(const binder *b)
{
    clpi_bound *bound = b->bound;
    for (int i = 0; i < b->ir->n_axes; i++) {
        const clpi_axis *axis = &b->ir->axes[i];
        int64_t size = bound->axis_size[i], start = b->args->grid_start ? b->args->grid_start[i] : 0;
        if (start < 0 || start > size)
            return clpi_fail(b->env, CLP_ERR_ARG, "axis %s: the box starts at %lld of %lld", axis->name, (long long)start,
                             (long long)size);
        int64_t count = b->args->grid_count ? b->args->grid_count[i] : size - start;
        if (count < 0 || count > size - start)
            return clpi_fail(b->env, CLP_ERR_ARG, "axis %s: a box of %lld from %lld on does not fit %lld", axis->name,
                             (long long)count, (long long)start, (long long)size);
        if (axis->is_arbitrary && count != size)
            return clpi_fail(b->env, CLP_ERR_ARG, "axis %s is arbitrary: a box may not cut it", axis->name);
        bound->box_start[i] = start;
        bound->box_count[i] = count;
    }
    bound->n_sequences = bound->n_steps = 1;
    bool is_empty = false;
    for (int i = 0; i < b->ir->n_axes; i++)
        is_empty = is_empty || bound->box_count[i] == 0;
    /* An empty box may have sizes whose product does not fit: it is not formed. */
    for (int i = 0; i < b->ir->n_axes; i++) {
        uint64_t *n = b->ir->axes[i].is_arbitrary ? &bound->n_steps : &bound->n_sequences;
        *n = is_empty ? (bound->box_count[i] == 0 ? 0 : *n) : *n * (uint64_t)bound->box_count[i];
    }
    return CLP_OK;
}

/* "k.plk:3:9: the kernel requires K % bk == 0; K is 100, bk is 8" */
static clp_status fail_require(const binder *b, const clpi_require *require)
{
    clpi_str s;
    clpi_str_init(&s, b->env);
    clpi_place_print(b->ir, require->pos, &s);
    clpi_str_add(&s, "%s requires ", b->ir->name);
    if (require->text)
        clpi_str_puts(&s, require->text);
    else
        clpi_expr_print(b->ir, require->condition, &s);
    const char *before = "; ";
    for (int i = 0; i < b->ir->n_dims; i++) {
        clpi_str_add(&s, "%s%s is %lld", before, b->ir->dims[i], (long long)b->bound->dim[i]);
        before = ", ";
    }
    if (require->values && *require->values)
        clpi_str_add(&s, "%s%s", before, require->values);
    return fail_with(b, &s);
}

static clp_status check_requires(const binder *b)
{
    for (int i = 0; i < b->ir->n_requires; i++)
        if (!b->bound->header[b->ir->requires[i].condition.id])
            return fail_require(b, &b->ir->requires[i]);
    return CLP_OK;
}

/* ---- All of it ---- */

clpi_bound *clpi_bound_new(const clpi_plan *plan, clpi_arena *arena)
{
    const clpi_ir *ir = plan->ir;
    const size_t n_dims = (size_t)ir->n_dims, n_axes = (size_t)ir->n_axes, n_operands = (size_t)ir->n_operands;
    clpi_bound *bound = CLPI_NEW(arena, clpi_bound);
    int64_t *numbers = CLPI_NEW_N(arena, int64_t, n_dims + 3 * n_axes + ir->n_header);
    clpi_bound_operand *operands = CLPI_NEW_N(arena, clpi_bound_operand, n_operands);
    clpi_elem *scalar = CLPI_NEW_N(arena, clpi_elem, n_operands);
    if (!bound || !numbers || !operands || !scalar)
        return NULL;
    *bound = (clpi_bound){ .plan = plan, .dim = numbers, .axis_size = numbers + n_dims, .box_start = numbers + n_dims + n_axes,
                           .box_count = numbers + n_dims + 2 * n_axes, .header = numbers + n_dims + 3 * n_axes,
                           .operands = operands, .scalar = scalar };
    return bound;
}

/* What follows from dims, scalars and the box, but for blocks outside. */
static clp_status bind_programs(const binder *b)
{
    clpi_header_at_launch(b->bound); /* the sizes of the grid, which read no num_programs */
    CLP_TRY(bind_grid(b));
    clpi_header_at_launch(b->bound); /* all the others */
    return CLP_OK;
}

clp_status clpi_bind(const clpi_plan *plan, const clpi_launch_args *args, clpi_arena *arena, clpi_bound **out_bound)
{
    *out_bound = NULL;
    clpi_bound *bound = clpi_bound_new(plan, arena);
    if (!bound)
        return CLP_ERR_OOM;
    binder b = { plan, plan->ir, args, arena->env, bound };
    CLP_TRY(take_arrays(&b));
    CLP_TRY(bind_dims(&b));
    read_scalars(&b);
    const bool is_known = !args->is_checked && clpi_memo_find(bound, args);
    if (!is_known)
        CLP_TRY(bind_programs(&b));
    CLP_TRY(check_shapes(&b));
    if (!is_known) {
        CLP_TRY(check_requires(&b));
        CLP_TRY(bind_box(&b));
    }
    if (!args->is_checked)
        CLP_TRY(clpi_overlap_check(bound, args, arena->env));
    if (!args->is_checked && !is_known) {
        CLP_TRY(clpi_outside_check(bound, arena));
        clpi_memo_add(bound, args);
    }
    *out_bound = bound;
    return CLP_OK;
}

/* ---- Without arrays ---- */

bool clpi_dims_of(const clpi_plan *plan, const clpi_launch_args *args, int64_t *out_dims)
{
    const clpi_ir *ir = plan->ir;
    binder b = { .plan = plan, .ir = ir, .args = args };
    for (int i = 0; i < ir->n_dims; i++) {
        const clpi_dim_bind *bind = &plan->dims[i];
        const clp_dim *given = bind->operand < 0 ? dim_given(&b, ir->dims[i]) : NULL;
        const int number = bind->operand < 0 ? -1 : clpi_array_number(ir, bind->operand);
        if (bind->operand < 0 && !given)
            return false;
        if (given) {
            out_dims[i] = given->size;
        } else {
            const clp_array *array = number < args->n_arrays ? &args->arrays[number] : NULL;
            if (!array || array->rank != ir->operands[bind->operand].rank || !array->shape ||
                !clpi_dim_solve(array->shape[bind->dim], bind->mul, bind->add, &out_dims[i]))
                return false;
        }
        if (out_dims[i] < 0 || out_dims[i] > CLPI_MAX_SIZE)
            return false;
    }
    return true;
}

static clp_status take_shapes(const binder *b)
{
    for (int i = 0; i < b->ir->n_operands; i++) {
        const clpi_operand *x = &b->ir->operands[i];
        int64_t shape[CLP_MAX_RANK];
        if (x->role == CLP_SCRATCH)
            continue;
        for (int d = 0; d < x->rank; d++)
            shape[d] = b->bound->header[x->shape[d].id];
        const clp_array array = { .dtype = x->dtype, .rank = x->rank, .shape = shape };
        CLP_TRY(take_array(b, x, &array, &b->bound->operands[i]));
    }
    return CLP_OK;
}

clp_status clpi_bind_dims(const clpi_plan *plan, const int64_t *dims, clpi_arena *arena, clpi_bound **out_bound)
{
    static const clpi_launch_args nothing = { .arrays = NULL };
    *out_bound = NULL;
    clpi_bound *bound = clpi_bound_new(plan, arena);
    if (!bound)
        return CLP_ERR_OOM;
    binder b = { plan, plan->ir, &nothing, arena->env, bound };
    for (int i = 0; i < plan->ir->n_dims; i++)
        bound->dim[i] = dims[i];
    CLP_TRY(bind_programs(&b));
    CLP_TRY(take_shapes(&b)); /* last, as they follow from dims */
    CLP_TRY(check_requires(&b));
    CLP_TRY(bind_box(&b));
    CLP_TRY(clpi_outside_check(bound, arena));
    *out_bound = bound;
    return CLP_OK;
}

void clpi_program_at(const clpi_bound *bound, uint64_t sequence, uint64_t step, int64_t *out_program)
{
    const clpi_plan *plan = bound->plan;
    for (int i = plan->n_parallel; i-- > 0;) {
        int axis = plan->parallel[i];
        uint64_t n = (uint64_t)bound->box_count[axis];
        out_program[axis] = bound->box_start[axis] + (int64_t)(sequence % n);
        sequence /= n;
    }
    for (int i = plan->n_arbitrary; i-- > 0;) {
        int axis = plan->arbitrary[i];
        uint64_t n = (uint64_t)bound->box_count[axis];
        out_program[axis] = bound->box_start[axis] + (int64_t)(step % n);
        step /= n;
    }
}
