/* The verifier: accepts what the constructor makes, and names what is broken in what it did not make. */
#include "ir_kernel.h"

#define NONE ((clp_val){ 0 })

/* A kernel with an if in a for, a while, an access of each kind: something for each check to break. The ids of its parts. */
typedef struct parts { uint32_t load, add, loop, branch, inner, loop_end, spin, store, gather; } parts;

static parts fill(kernel *k)
{
    parts p;
    clpi_build *b = &k->b;
    clp_val x = whole(k, k->x), lo = clpi_make_int(b, CLP_I32, 0), hi = SCALAR(k, CLP_I32), i, c, out, result;
    p.load = x.id;
    clp_val sum = clpi_make_ew(b, CLP_OP_add, (clp_val[]){ x, x }, 2);
    p.add = sum.id;
    cr_assert(clpi_for_begin(b, lo, hi, 1, &sum, 1, &i, &c));
    p.loop = i.id - 1;
    clp_val condition = clpi_make_ew(b, CLP_OP_lt, (clp_val[]){ i, hi }, 2);
    cr_assert(clpi_if_begin(b, condition, &c, 1));
    p.branch = k->ir->ops.n - 1;
    clp_val twice = clpi_make_ew(b, CLP_OP_mul, (clp_val[]){ c, x }, 2);
    p.inner = twice.id;
    clpi_if_end(b, &twice, 1, &result);
    clpi_for_end(b, &result, 1, &out);
    p.loop_end = k->ir->ops.items[p.loop].end;
    clp_val go = SCALAR(k, CLP_BOOL), turn;
    cr_assert(clpi_while_begin(b, go, &hi, 1, &turn));
    p.spin = turn.id - 1;
    clp_val more = clpi_make_ew(b, CLP_OP_lt, (clp_val[]){ turn, hi }, 2);
    clpi_while_end(b, more, &turn, 1, &result);
    store_whole(k, k->z, out);
    p.store = k->ir->ops.n - 1;
    clpi_subscript at = { .kind = CLPI_AT, .val = TILE(k, CLP_I32, 5) };
    p.gather = clpi_make_index(b, out, &at, 1).id;
    cr_assert(clpi_build_end(b));
    cr_assert_eq(k->n_said, 0, "%s", k->said);
    cr_assert_eq(clpi_verify(k->ir, CLP_ERR_INTERNAL), CLP_OK, "%s", clpi_error_text(&k->env));
    return p;
}

static void refused(kernel *k, const char *part)
{
    cr_expect_eq(clpi_verify(k->ir, CLP_ERR_INVALID), CLP_ERR_INVALID, "accepted; expected \"%s\"", part);
    cr_expect(strstr(clpi_error_text(&k->env), part), "expected \"%s\" in \"%s\"", part, clpi_error_text(&k->env));
}

/* The last header op becomes a bitcast of the first. */
static void bitcast_in_header(kernel *k)
{
    clpi_op *op = &k->ir->ops.items[k->ir->n_header - 1];
    op->kind = CLP_OP_bitcast;
    op->first_arg = k->ir->args.n;
    op->n_args = 1;
    cr_assert(CLPI_PUSH(&k->arena, &k->ir->args, (clp_val){ 1 }));
}

#define OP(p) (&k.ir->ops.items[p])
#define ARG(p, i) (&k.ir->args.items[OP(p)->first_arg + (i)])

/* One broken thing in the kernel of fill(). */
#define BREAKS(name, part, ...)                                                                                        \
    Test(verify, name)                                                                                                 \
    {                                                                                                                  \
        kernel k;                                                                                                      \
        kernel_init(&k);                                                                                               \
        parts p = fill(&k);                                                                                            \
        __VA_ARGS__;                                                                                                   \
        refused(&k, part);                                                                                             \
        kernel_done(&k);                                                                                               \
    }

BREAKS(rejects_an_operand_that_is_not_there, "operand 0 is not defined before", ARG(p.add, 0)->id = 0)
BREAKS(rejects_use_before_definition, "operand 1 is not defined before", ARG(p.add, 1)->id = p.add)
BREAKS(rejects_use_of_a_later_value, "operand 1 is not defined before", ARG(p.add, 1)->id = p.inner)
BREAKS(rejects_use_outside_the_region, "operand 0 was made in a loop or branch that has ended", ARG(p.gather, 0)->id = p.inner)
BREAKS(rejects_use_of_a_header_value, "operand 0 is a value of the header", ARG(p.add, 0)->id = 1)
BREAKS(rejects_use_of_what_is_no_value, "operand 0 is no value", ARG(p.gather, 0)->id = p.store)
BREAKS(rejects_a_type_that_the_rule_does_not_give, "the rule gives f32[8, 16], the op says", OP(p.add)->type = OP(p.gather)->type)
BREAKS(rejects_an_unknown_op, "no such op", OP(p.add)->kind = CLP_N_OPS)
BREAKS(rejects_a_wrong_number_of_operands, "3 operands", OP(p.add)->n_args = 3)
BREAKS(rejects_operands_outside_the_table, "outside their tables", OP(p.add)->first_arg = k.ir->args.n)
BREAKS(rejects_subs_outside_the_table, "outside their tables", OP(p.load)->first_sub = k.ir->subs.n - 1)
BREAKS(rejects_a_type_outside_the_table, "outside their tables", OP(p.add)->type = k.ir->types.n)
BREAKS(rejects_an_unknown_operand, "operand number 99", OP(p.load)->operand = 99)
BREAKS(rejects_an_operand_where_none_belongs, "operand number 0", OP(p.add)->operand = 0)
BREAKS(rejects_a_store_to_an_input, "x is an input and cannot be stored to", OP(p.store)->operand = k.x)
BREAKS(rejects_a_mask_that_is_not_there, "a mask or `other` where none can be", OP(p.add)->has_mask = true)
BREAKS(rejects_a_region_past_the_end, "does not lie within the one around it", OP(p.loop)->end = k.ir->ops.n + 1)
BREAKS(rejects_a_region_that_leaves_its_parent, "does not lie within the one around it", OP(p.branch)->end = p.loop_end)
BREAKS(rejects_a_region_without_yield, "is not the `yield` of the region's layout", OP(p.loop_end - 1)->kind = CLP_OP_print)
BREAKS(rejects_a_region_without_args, "is not the `arg` of the region's layout", OP(p.loop + 1)->kind = CLP_OP_const)
BREAKS(rejects_a_result_of_another_region, "the result of another region", ARG(p.loop_end, 0)->id = p.branch)
BREAKS(rejects_results_out_of_order, "is not the `result` of the region's layout", OP(p.loop_end)->attr = 1)
BREAKS(rejects_a_carried_value_that_changes_its_type, "carried value 0 changes its type", ARG(p.loop_end - 1, 0)->id = p.loop + 1)
BREAKS(rejects_a_yield_of_too_many, "2 values, 1 carried ones were expected", OP(p.loop_end - 1)->n_args = 2)
BREAKS(rejects_a_condition_that_is_no_bool, "carried value 0 changes its type",
       ARG(OP(p.spin)->end - 1, 0)->id = ARG(OP(p.spin)->end - 1, 1)->id)
BREAKS(rejects_an_arg_outside_a_region, "stands outside the layout of a region",
       OP(p.gather)->kind = CLP_OP_arg; OP(p.gather)->n_args = 0; OP(p.gather)->n_subs = 0)
BREAKS(rejects_a_step_of_zero, "the step of `for` is 0", OP(p.loop)->attr = 0)
BREAKS(rejects_a_shape_outside_the_header, "no value of the header", (void)p; k.ir->operands[k.x].shape[0].id = k.ir->n_header)
BREAKS(rejects_a_grid_size_that_is_missing, "the size of i is no value of the header", (void)p; k.ir->axes[0].size.id = 0)
BREAKS(rejects_other_dtypes_in_the_header, "shapes, maps and grids are made of i64 and bool scalars only", k.ir->n_header = p.loop)
BREAKS(rejects_other_ops_in_the_header, "shapes, maps and grids are made of scalar arithmetic only", (void)p; bitcast_in_header(&k))

Test(verify, names_the_place_in_the_source)
{
    kernel k;
    kernel_init(&k);
    parts p = fill(&k);
    clpi_source source = { .file = "a.plk", .text = "", .n_bytes = 0 };
    k.ir->source = &source;
    OP(p.store)->operand = k.x;
    OP(p.store)->pos = (clpi_pos){ 7, 5 };
    cr_assert_eq(clpi_verify(k.ir, CLP_ERR_INVALID), CLP_ERR_INVALID);
    cr_expect_str_eq(clpi_error_text(&k.env), "a.plk:7:5: error: x is an input and cannot be stored to");
    kernel_done(&k);
}
