/* points: whether two points of a kernel's `tune` lists give the same results.
 * In: what a launch of each left in memory. Out: where the results are further apart than rounding explains.
 *
 * Decides what another block size may change: sums are added up in other groups, and each of the two may be as far from what is exact
 * as a device from the interpreter. So floats that are computed count as rounded, twice as far apart, though each point alone has to
 * have the very bits; so do integers and truth values that are made of floats. What only moves keeps its bits, and so do integers.    */
#include <math.h>

#include "check/agree.h"

/* Whether decisions and integers of the kernel hang on floats, which other groups may change. */
static bool decides_by_floats(const clpi_ir *ir)
{
    for (uint32_t i = ir->n_header; i < ir->ops.n; i++) {
        const clpi_op *op = &ir->ops.items[i];
        if (clpi_is_float(ir->types.items[op->type].dtype) || (clpi_ops[op->kind].flags & CLP_EFFECT))
            continue;
        for (uint32_t k = 0; k < op->n_args; k++)
            if (clpi_args(ir, op)[k].id && clpi_is_float(clpi_type_of(ir, clpi_args(ir, op)[k])->dtype))
                return true;
    }
    return false;
}

static bool computes_floats(const clpi_ir *ir)
{
    for (uint32_t i = ir->n_header; i < ir->ops.n; i++) {
        const clpi_op *op = &ir->ops.items[i];
        if ((op->kind == CLP_OP_add || op->kind == CLP_OP_sub || op->kind == CLP_OP_mul || op->kind == CLP_OP_fma) &&
            clpi_is_float(ir->types.items[op->type].dtype))
            return true;
    }
    return false;
}

/* What results of one point may be off by. */
static clp_status level_of(clpi_check *check, const clp_kernel *kernel, int i_array, clpi_arena *arena, clpi_level *out)
{
    const clpi_ir *ir = kernel->ir;
    const int operand = kernel->operands[i_array];
    const clp_dtype dtype = ir->operands[operand].dtype;
    const int64_t n_terms = clpi_n_terms(check);
    clpi_levels levels;
    CLP_TRY(clpi_levels_new(ir, kernel->plan, n_terms, NULL, arena, &levels));
    *out = levels.stored[operand];
    if (out->kind != CLPI_EXACT || !computes_floats(ir))
        return CLP_OK;
    if (clpi_is_float(dtype))
        *out = (clpi_level){ CLPI_ROUNDED, clpi_level_bound(ir, n_terms, dtype) };
    else if (decides_by_floats(ir))
        *out = (clpi_level){ CLPI_CHOSEN, clpi_level_bound(ir, n_terms, CLP_F32) };
    return CLP_OK;
}

/* "its results depend on the parameters: o: element [0] is 16.0, with b=32 it is 32.0" */
static clp_status put_difference(const clpi_check *check, int operand, const clpi_compare *c, const char *params, clpi_arena *arena,
                                 const char **out_why)
{
    clpi_str s;
    clpi_str_init(&s, check->env);
    clpi_str_add(&s, "its results depend on the parameters: %s: element ", check->ir->operands[operand].name);
    clpi_element_print(&s, c->worst.element, check->ir->operands[operand].rank);
    clpi_str_puts(&s, " is ");
    clpi_number_print(&s, c->dtype, c->worst.got);
    clpi_str_add(&s, ", with %s it is ", params);
    clpi_number_print(&s, c->dtype, c->worst.expected);
    *out_why = clpi_str_keep(&s, arena);
    return *out_why ? CLP_OK : CLP_ERR_OOM;
}

clp_status clpi_points_compare(clpi_check *check, const clpi_point_results *got, const clpi_point_results *want, clpi_arena *arena,
                               const char **out_why)
{
    *out_why = NULL;
    for (int i = 0; i < check->kernel->n_operands; i++) {
        const int operand = check->kernel->operands[i];
        clpi_level a, b;
        if (!clpi_is_result(check, operand))
            continue;
        clpi_arena scrap;
        clpi_arena_init(&scrap, check->env);
        clp_status status = level_of(check, got->kernel, i, &scrap, &a);
        if (!status)
            status = level_of(check, want->kernel, i, &scrap, &b);
        clpi_arena_done(&scrap);
        CLP_TRY(status);
        clpi_compare c = { .dtype = check->ir->operands[operand].dtype,
                           .level = { a.kind > b.kind ? a.kind : b.kind, 2 * fmax(a.bound, b.bound) } };
        clpi_compare_arrays(&c, check, operand, clpi_kept_of(check, &got->kept, operand), clpi_kept_of(check, &want->kept, operand),
                            &(clpi_marks){ .moves = NULL }, NULL);
        if (clpi_compare_fails(&c))
            return put_difference(check, operand, &c, want->params, arena, out_why);
    }
    return CLP_OK;
}
