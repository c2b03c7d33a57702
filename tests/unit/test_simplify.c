/* The simplifier: what it folds, merges and drops, and what it must leave. Each result is verified. */
#include "ir_kernel.h"
#include "support/ir_equal.h"

#define NONE ((clp_val){ 0 })

static void simplify(kernel *k)
{
    cr_assert_eq(k->n_said, 0, "%s", k->said);
    cr_assert(clpi_build_end(&k->b));
    cr_assert_eq(clpi_verify(k->ir, CLP_ERR_INVALID), CLP_OK, "before: %s", clpi_error_text(&k->env));
    cr_assert_eq(clpi_simplify(k->ir, &k->pass), CLP_OK, "%s", clpi_error_text(&k->env));
    cr_assert_eq(clpi_verify(k->ir, CLP_ERR_INTERNAL), CLP_OK, "after: %s", clpi_error_text(&k->env));
}

/* Ops of a kind in the body. */
static int count(const kernel *k, clpi_op_kind kind)
{
    int n = 0;
    for (uint32_t i = k->ir->n_header; i < k->ir->ops.n; i++)
        n += k->ir->ops.items[i].kind == kind;
    return n;
}

/* The value that the last op, a store, stores. */
static const clpi_op *stored(const kernel *k)
{
    const clpi_op *store = &k->ir->ops.items[k->ir->ops.n - 1];
    cr_assert_eq(store->kind, CLP_OP_store);
    return clpi_op_at(k->ir, clpi_op_value(k->ir, store, 0));
}

static clp_val ew(kernel *k, clpi_op_kind kind, clp_val a, clp_val b)
{
    clp_val args[2] = { a, b };
    return clpi_make_ew(&k->b, kind, args, clpi_ops[kind].arity);
}

static clp_val number(kernel *k, clp_dtype d, double x)
{
    return clpi_make_const(&k->b, d, clpi_elem_to_bits(d, clpi_elem_cast(d, CLP_F64, (clpi_elem){ .d = x })));
}

/* A scalar of a dtype that is not known, stored where it fits: as i32 through a bitcast or cast into scratch c. */
static void keep(kernel *k, clp_val v)
{
    store_whole(k, k->c, clpi_make_cast(&k->b, v, CLP_F32));
}

/* ---- Folding ---- */

Test(simplify, folds_constants_through_shapes)
{
    kernel k;
    kernel_init(&k);
    clp_val six = ew(&k, CLP_OP_mul, number(&k, CLP_F32, 2), number(&k, CLP_F32, 3));
    clp_val tile = clpi_make_broadcast(&k.b, six, (int64_t[]){ 16, 8 }, 2);
    tile = clpi_make_transpose(&k.b, ew(&k, CLP_OP_add, tile, six), NULL, 0);
    store_whole(&k, k.z, tile);
    simplify(&k);
    cr_expect_eq(count(&k, CLP_OP_const), 2, "the value, and the start of both ranges");
    cr_expect_eq(count(&k, CLP_OP_mul) + count(&k, CLP_OP_add) + count(&k, CLP_OP_transpose), 0);
    const clpi_op *v = stored(&k);
    cr_assert_eq(v->kind, CLP_OP_broadcast);
    const clpi_op *scalar = clpi_op_at(k.ir, clpi_args(k.ir, v)[0]);
    cr_expect_eq(scalar->kind, CLP_OP_const);
    cr_expect_eq(clpi_elem_from_bits(CLP_F32, scalar->attr).f, 12.0f);
    kernel_done(&k);
}

/* x op constant, either way round, is x or stays. */
typedef struct identity { clpi_op_kind kind; clp_dtype d; double with; bool is_left, folds; } identity;

static const identity identities[] = {
    { CLP_OP_add, CLP_I32, 0, false, true },     { CLP_OP_add, CLP_I32, 0, true, true },      { CLP_OP_add, CLP_F32, 0, false, false },
    { CLP_OP_add, CLP_F32, -0.0, false, true },  { CLP_OP_add, CLP_F32, -0.0, true, true },   { CLP_OP_sub, CLP_F32, 0, false, true },
    { CLP_OP_sub, CLP_F32, -0.0, false, false }, { CLP_OP_sub, CLP_F32, 0, true, false },     { CLP_OP_sub, CLP_I8, 0, false, true },
    { CLP_OP_mul, CLP_F32, 1, false, true },     { CLP_OP_mul, CLP_BF16, 1, true, true },     { CLP_OP_mul, CLP_F32, -1, false, false },
    { CLP_OP_divide, CLP_F32, 1, false, true },  { CLP_OP_divide, CLP_F32, 1, true, false },  { CLP_OP_divide, CLP_I32, 1, false, true },
    { CLP_OP_div, CLP_I32, 1, false, true },     { CLP_OP_mod, CLP_F32, 1, false, false },    { CLP_OP_and, CLP_U8, 255, false, true },
    { CLP_OP_and, CLP_I8, -1, true, true },      { CLP_OP_and, CLP_BOOL, 1, false, true },    { CLP_OP_or, CLP_BOOL, 0, true, true },
    { CLP_OP_xor, CLP_U64, 0, false, true },     { CLP_OP_shl, CLP_I32, 0, false, true },     { CLP_OP_shr, CLP_I32, 0, true, false },
    { CLP_OP_pow, CLP_F32, 1, false, false },    { CLP_OP_maximum, CLP_F32, 0, false, false },
};

Test(simplify, knows_identities_that_are_exact)
{
    for (size_t i = 0; i < sizeof identities / sizeof *identities; i++) {
        const identity *row = &identities[i];
        kernel k;
        kernel_init(&k);
        clp_val x = SCALAR(&k, row->d), c = number(&k, row->d, row->with);
        keep(&k, row->is_left ? ew(&k, row->kind, c, x) : ew(&k, row->kind, x, c));
        simplify(&k);
        cr_expect_eq(count(&k, row->kind), row->folds ? 0 : 1, "%s of %s with %g, %s", clpi_ops[row->kind].name,
                     clp_dtype_name(row->d), row->with, row->is_left ? "left" : "right");
        kernel_done(&k);
    }
}

/* x op x, or x op c, that is a constant whatever x is: for integers only. */
static const identity absorbing[] = {
    { CLP_OP_mul, CLP_I32, 0, false, true },  { CLP_OP_mul, CLP_F32, 0, false, false }, { CLP_OP_and, CLP_I32, 0, true, true },
    { CLP_OP_or, CLP_U8, 255, false, true },  { CLP_OP_mod, CLP_I32, 1, false, true },  { CLP_OP_rem, CLP_U32, 1, false, true },
    { CLP_OP_and, CLP_BOOL, 0, false, true }, { CLP_OP_or, CLP_BOOL, 1, true, true },   { CLP_OP_rem, CLP_F32, 1, false, false },
};

Test(simplify, knows_what_absorbs_its_operand)
{
    for (size_t i = 0; i < sizeof absorbing / sizeof *absorbing; i++) {
        const identity *row = &absorbing[i];
        kernel k;
        kernel_init(&k);
        clp_val x = SCALAR(&k, row->d), c = number(&k, row->d, row->with);
        keep(&k, row->is_left ? ew(&k, row->kind, c, x) : ew(&k, row->kind, x, c));
        simplify(&k);
        cr_expect_eq(count(&k, CLP_OP_program_id), row->folds ? 0 : 1, "%s of %s", clpi_ops[row->kind].name, clp_dtype_name(row->d));
        kernel_done(&k);
    }
}

Test(simplify, an_operand_twice)
{
    static const struct { clpi_op_kind kind; clp_dtype d; bool folds; } rows[] = {
        { CLP_OP_sub, CLP_I32, true },     { CLP_OP_sub, CLP_F32, false }, { CLP_OP_eq, CLP_I32, true }, { CLP_OP_eq, CLP_F32, false },
        { CLP_OP_lt, CLP_U8, true },       { CLP_OP_ne, CLP_F64, false },  { CLP_OP_xor, CLP_I8, true }, { CLP_OP_and, CLP_I8, true },
        { CLP_OP_minimum, CLP_F32, true }, { CLP_OP_add, CLP_I32, false }, { CLP_OP_divide, CLP_I32, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kernel k;
        kernel_init(&k);
        clp_val x = SCALAR(&k, rows[i].d);
        keep(&k, ew(&k, rows[i].kind, x, x));
        simplify(&k);
        cr_expect_eq(count(&k, rows[i].kind), rows[i].folds ? 0 : 1, "%s of %s", clpi_ops[rows[i].kind].name, clp_dtype_name(rows[i].d));
        kernel_done(&k);
    }
}

Test(simplify, casts_there_and_back)
{
    static const struct { clp_dtype from, by; bool folds; } rows[] = {
        { CLP_I8, CLP_I32, true },   { CLP_U8, CLP_I16, true },   { CLP_I8, CLP_U32, true },  { CLP_I32, CLP_I8, false },
        { CLP_F16, CLP_F32, true },  { CLP_BF16, CLP_F32, true }, { CLP_F32, CLP_BF16, false }, { CLP_F16, CLP_BF16, false },
        { CLP_I32, CLP_F64, false }, { CLP_BOOL, CLP_I8, true },  { CLP_U32, CLP_I32, true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kernel k;
        kernel_init(&k);
        /* A value of `from` that no cast made. */
        clp_val x = SCALAR(&k, rows[i].from);
        clpi_op_kind made = rows[i].from == CLP_BOOL ? CLP_OP_eq : clpi_is_float(rows[i].from) ? CLP_OP_mul : CLP_OP_add;
        x = ew(&k, made, x, number(&k, rows[i].from, rows[i].from == CLP_BOOL ? 0 : 3));
        clp_val there = clpi_make_cast(&k.b, x, rows[i].by), back = clpi_make_cast(&k.b, there, rows[i].from);
        clpi_op_kind used = rows[i].from == CLP_BOOL ? CLP_OP_eq : CLP_OP_maximum;
        keep(&k, ew(&k, used, back, x));
        simplify(&k);
        /* Once the way back is gone, its use has one operand twice and goes too. */
        cr_expect_eq(count(&k, used), rows[i].folds ? 0 : 1, "%s by %s", clp_dtype_name(rows[i].from),
                     clp_dtype_name(rows[i].by));
        kernel_done(&k);
    }
}

Test(simplify, movement_that_moves_nothing)
{
    kernel k;
    kernel_init(&k);
    clp_val x = whole(&k, k.x);
    clp_val v = clpi_make_transpose(&k.b, clpi_make_transpose(&k.b, x, NULL, 0), NULL, 0);
    v = clpi_make_reshape(&k.b, clpi_make_reshape(&k.b, v, (int64_t[]){ 128 }, 1), (int64_t[]){ 8, 16 }, 2);
    v = clpi_make_concat(&k.b, &v, 1, 0);
    v = clpi_make_ew(&k.b, CLP_OP_neg, (clp_val[]){ clpi_make_ew(&k.b, CLP_OP_neg, &v, 1) }, 1);
    store_whole(&k, k.z, v);
    simplify(&k);
    cr_expect_eq(stored(&k)->kind, CLP_OP_load);
    kernel_done(&k);
}

/* ---- Merging ---- */

Test(simplify, merges_equal_ops)
{
    kernel k;
    kernel_init(&k);
    clp_val x = whole(&k, k.x), a = whole(&k, k.a);
    clp_val one = ew(&k, CLP_OP_mul, x, a), two = ew(&k, CLP_OP_mul, a, whole(&k, k.x));
    store_whole(&k, k.z, ew(&k, CLP_OP_add, ew(&k, CLP_OP_sub, one, a), ew(&k, CLP_OP_sub, two, a)));
    simplify(&k);
    cr_expect_eq(count(&k, CLP_OP_load), 2);
    cr_expect_eq(count(&k, CLP_OP_mul), 1);
    cr_expect_eq(count(&k, CLP_OP_sub), 1);
    kernel_done(&k);
}

Test(simplify, does_not_swap_what_does_not_commute)
{
    kernel k;
    kernel_init(&k);
    clp_val x = whole(&k, k.x), a = whole(&k, k.a);
    store_whole(&k, k.z, ew(&k, CLP_OP_mul, ew(&k, CLP_OP_sub, x, a), ew(&k, CLP_OP_sub, a, x)));
    simplify(&k);
    cr_expect_eq(count(&k, CLP_OP_sub), 2);
    kernel_done(&k);
}

/* Loads of `from` before and after a write to `to`: one load or two. */
static int loads_across_write(int which_from, int which_to, bool is_atomic)
{
    kernel k;
    kernel_init(&k);
    const int operands[] = { k.x, k.a, k.z, k.o, k.c, k.h };
    int from = operands[which_from], to = operands[which_to];
    clp_val first = whole(&k, from);
    if (is_atomic) {
        clp_val one = clpi_make_cast(&k.b, SCALAR(&k, CLP_I32), k.ir->operands[to].dtype);
        clpi_make_atomic(&k.b, CLP_OP_atomic_add, to, NULL, 0, &one, 1, NONE);
    } else {
        store_whole(&k, to, clpi_make_cast(&k.b, SCALAR(&k, CLP_I32), k.ir->operands[to].dtype));
    }
    clp_val second = whole(&k, from);
    clpi_make_print(&k.b, "{} {}", (clp_val[]){ first, second }, 2);
    simplify(&k);
    int n = count(&k, CLP_OP_load);
    kernel_done(&k);
    return n;
}

Test(simplify, loads_do_not_pass_writes_of_their_storage)
{
    enum { X, A, Z, O, C, H };
    cr_expect_eq(loads_across_write(X, Z, false), 1);
    cr_expect_eq(loads_across_write(Z, Z, false), 2);
    cr_expect_eq(loads_across_write(Z, C, false), 1);
    cr_expect_eq(loads_across_write(A, O, false), 2, "o shares the storage of a");
    cr_expect_eq(loads_across_write(O, O, false), 2);
    cr_expect_eq(loads_across_write(H, H, true), 2);
    cr_expect_eq(loads_across_write(H, Z, true), 1);
    cr_expect_eq(loads_across_write(C, C, true), 2);
}

Test(simplify, a_loop_writes_at_its_start_what_it_writes_anywhere)
{
    kernel k;
    kernel_init(&k);
    clpi_build *b = &k.b;
    clp_val before = whole(&k, k.c), other = whole(&k, k.x), i;
    cr_assert(clpi_for_begin(b, clpi_make_int(b, CLP_I32, 0), SCALAR(&k, CLP_I32), 1, NULL, 0, &i, NULL));
    clp_val inside = whole(&k, k.c);
    clpi_make_print(b, "{} {}", (clp_val[]){ inside, whole(&k, k.x) }, 2);
    store_whole(&k, k.c, clpi_make_cast(b, i, CLP_F32));
    clpi_for_end(b, NULL, 0, NULL);
    clpi_make_print(b, "{} {} {}", (clp_val[]){ before, whole(&k, k.c), other }, 3);
    simplify(&k);
    cr_expect_eq(count(&k, CLP_OP_load), 4, "three of c, one of x");
    kernel_done(&k);
}

Test(simplify, a_branch_may_not_lend_its_values)
{
    kernel k;
    kernel_init(&k);
    clpi_build *b = &k.b;
    clp_val x = whole(&k, k.x);
    cr_assert(clpi_if_begin(b, SCALAR(&k, CLP_BOOL), NULL, 0));
    store_whole(&k, k.z, ew(&k, CLP_OP_mul, x, x));
    clpi_if_else(b, NULL, 0);
    store_whole(&k, k.o, ew(&k, CLP_OP_mul, x, x));
    clpi_if_end(b, NULL, 0, NULL);
    clpi_make_print(b, "{}", (clp_val[]){ ew(&k, CLP_OP_mul, x, x) }, 1);
    simplify(&k);
    cr_expect_eq(count(&k, CLP_OP_mul), 3);
    kernel_done(&k);
}

/* ---- Dropping ---- */

Test(simplify, drops_what_nobody_uses)
{
    kernel k;
    kernel_init(&k);
    clpi_make_dot(&k.b, whole(&k, k.x), clpi_make_transpose(&k.b, whole(&k, k.a), NULL, 0), CLP_F32);
    clp_val one = SCALAR(&k, CLP_I32);
    clpi_make_atomic(&k.b, CLP_OP_atomic_add, k.h, NULL, 0, &one, 1, NONE);
    clpi_make_assert(&k.b, SCALAR(&k, CLP_BOOL), "holds");
    simplify(&k);
    cr_expect_eq(count(&k, CLP_OP_dot) + count(&k, CLP_OP_load) + count(&k, CLP_OP_transpose), 0);
    cr_expect_eq(count(&k, CLP_OP_atomic_add), 1);
    cr_expect_eq(count(&k, CLP_OP_assert), 1);
    kernel_done(&k);
}

/* A loop that adds its index to a carried value. */
static clp_val counted(kernel *k, clp_val lo, clp_val hi, int64_t step)
{
    clp_val init = SCALAR(k, CLP_I32), i, c, out;
    cr_assert(clpi_for_begin(&k->b, lo, hi, step, &init, 1, &i, &c));
    clp_val next = ew(k, CLP_OP_add, c, i);
    clpi_for_end(&k->b, &next, 1, &out);
    return out;
}

Test(simplify, loops_that_run_never_or_once)
{
    static const struct { int lo, hi, step; bool stays; int adds; } rows[] = {
        { 0, 0, 1, false, 0 },  { 5, 3, 1, false, 0 },   { 3, 5, -1, false, 0 }, { 3, 4, 1, false, 1 },     { 3, 9, 6, false, 1 },
        { 3, 10, 6, true, 1 },  { 9, 3, -6, false, 1 },  { 9, 2, -6, true, 1 },  { 7, 9, 100, false, 1 },
        { INT32_MIN, INT32_MAX, 1, true, 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kernel k;
        kernel_init(&k);
        clpi_build *b = &k.b;
        keep(&k, counted(&k, clpi_make_int(b, CLP_I32, rows[i].lo), clpi_make_int(b, CLP_I32, rows[i].hi), rows[i].step));
        simplify(&k);
        cr_expect_eq(count(&k, CLP_OP_for), rows[i].stays, "%d .. %d step %d", rows[i].lo, rows[i].hi, rows[i].step);
        cr_expect_eq(count(&k, CLP_OP_add), rows[i].adds, "%d .. %d step %d", rows[i].lo, rows[i].hi, rows[i].step);
        kernel_done(&k);
    }
}

Test(simplify, drops_loops_without_effect)
{
    kernel k;
    kernel_init(&k);
    counted(&k, clpi_make_int(&k.b, CLP_I32, 0), SCALAR(&k, CLP_I32), 1);
    clp_val c = SCALAR(&k, CLP_BOOL);
    cr_assert(clpi_while_begin(&k.b, c, NULL, 0, NULL));
    clpi_while_end(&k.b, c, NULL, 0, NULL);
    simplify(&k);
    cr_expect_eq(count(&k, CLP_OP_for), 0);
    cr_expect_eq(count(&k, CLP_OP_while), 1, "a loop that may not end stays");
    kernel_done(&k);
}

Test(simplify, takes_unchanged_values_out_of_loops)
{
    kernel k;
    kernel_init(&k);
    clpi_build *b = &k.b;
    clp_val inits[3] = { SCALAR(&k, CLP_I32), SCALAR(&k, CLP_F32), SCALAR(&k, CLP_I32) }, i, c[3], out[3];
    cr_assert(clpi_for_begin(b, clpi_make_int(b, CLP_I32, 0), SCALAR(&k, CLP_I32), 1, inits, 3, &i, c));
    clp_val next[3] = { ew(&k, CLP_OP_add, c[0], i), c[1], ew(&k, CLP_OP_mul, c[2], i) };
    clpi_for_end(b, next, 3, out);
    clpi_make_print(b, "{} {} {}", out, 3);
    simplify(&k);
    cr_expect_eq(count(&k, CLP_OP_result), 2);
    cr_expect_eq(count(&k, CLP_OP_arg), 3);
    const clpi_op *print = &k.ir->ops.items[k.ir->ops.n - 1];
    cr_expect_eq(clpi_op_at(k.ir, clpi_args(k.ir, print)[0])->attr, 0);
    cr_expect_eq(clpi_op_at(k.ir, clpi_args(k.ir, print)[1])->kind, CLP_OP_cast);
    cr_expect_eq(clpi_op_at(k.ir, clpi_args(k.ir, print)[2])->attr, 1);
    kernel_done(&k);
}

/* if (condition) { r = x } else { r = a }, stored. */
static void branch(kernel *k, clp_val condition, bool same)
{
    clp_val x = whole(k, k->x), a = whole(k, k->a), r;
    cr_assert(clpi_if_begin(&k->b, condition, &x, 1));
    clpi_if_else(&k->b, &x, 1);
    clpi_if_end(&k->b, same ? &x : &a, 1, &r);
    store_whole(k, k->z, r);
}

Test(simplify, decides_branches_on_constants)
{
    for (int way = 0; way < 2; way++) {
        kernel k;
        kernel_init(&k);
        clp_val c = ew(&k, CLP_OP_lt, clpi_make_int(&k.b, CLP_I32, way), clpi_make_int(&k.b, CLP_I32, 1));
        branch(&k, c, false);
        int expected = way == 0 ? k.x : k.a;
        simplify(&k);
        cr_expect_eq(count(&k, CLP_OP_if), 0);
        cr_expect_eq(count(&k, CLP_OP_load), 1);
        cr_expect_eq(stored(&k)->operand, expected);
        kernel_done(&k);
    }
}

Test(simplify, drops_branches_that_make_no_difference)
{
    kernel k;
    kernel_init(&k);
    branch(&k, SCALAR(&k, CLP_BOOL), true);
    simplify(&k);
    cr_expect_eq(count(&k, CLP_OP_if), 0);
    cr_expect_eq(stored(&k)->operand, k.x);
    kernel_done(&k);
}

Test(simplify, a_branch_of_an_unknown_condition_stays)
{
    kernel k;
    kernel_init(&k);
    branch(&k, SCALAR(&k, CLP_BOOL), false);
    simplify(&k);
    cr_expect_eq(count(&k, CLP_OP_if), 1);
    cr_expect_eq(stored(&k)->kind, CLP_OP_result);
    kernel_done(&k);
}

/* ---- Twice, and equality ---- */

Test(simplify, twice_is_once)
{
    kernel k, again;
    for (int i = 0; i < 2; i++) {
        kernel *x = i ? &again : &k;
        kernel_init(x);
        clpi_build *b = &x->b;
        clp_val lo = clpi_make_int(b, CLP_I32, 0), at, c, out, init = whole(x, x->x);
        cr_assert(clpi_for_begin(b, lo, SCALAR(x, CLP_I32), 1, &init, 1, &at, &c));
        clp_val next = ew(x, CLP_OP_add, c, ew(x, CLP_OP_mul, whole(x, x->a), clpi_make_cast(b, at, CLP_F32)));
        clpi_for_end(b, &next, 1, &out);
        clpi_make_print(b, "{}", &lo, 1);
        store_whole(x, x->z, out);
        simplify(x);
    }
    simplify(&again);
    clpi_str why;
    clpi_str_init(&why, &k.env);
    cr_expect(ir_equal(k.ir, again.ir, &why), "%s", why.text);
    clpi_str_done(&why);
    kernel_done(&k);
    kernel_done(&again);
}

Test(simplify, equality_sees_differences)
{
    static const char *const parts[] = { "ops against", "z: pad or alias differs", "one is math fast", "axis i differs", "`sub` against `mul`" };
    for (int i = 0; i < 5; i++) {
        kernel k[2];
        for (int j = 0; j < 2; j++) {
            kernel_init(&k[j]);
            clp_val x = whole(&k[j], k[j].x);
            store_whole(&k[j], k[j].z, ew(&k[j], i == 4 && j == 1 ? CLP_OP_mul : CLP_OP_sub, x, x));
        }
        if (i == 0)
            whole(&k[1], k[1].a);
        k[1].ir->operands[k[1].z].has_pad = i == 1;
        k[1].ir->math_fast = i == 2;
        k[1].ir->axes[0].is_arbitrary = i == 3;
        clpi_str why;
        clpi_str_init(&why, &k[0].env);
        cr_expect_not(ir_equal(k[0].ir, k[1].ir, &why));
        cr_expect(strstr(why.text, parts[i]), "%s", why.text);
        clpi_str_done(&why);
        kernel_done(&k[0]);
        kernel_done(&k[1]);
    }
}

Test(simplify, folds_the_header_too)
{
    kernel k;
    kernel_init(&k);
    uint32_t before = k.ir->n_header;
    store_whole(&k, k.z, SCALAR(&k, CLP_F32));
    simplify(&k);
    cr_expect_lt(k.ir->n_header, before, "equal constants are one");
    int64_t size;
    cr_assert(clpi_const_int(k.ir, k.ir->axes[0].size, &size));
    cr_expect_eq(size, 64);
    kernel_done(&k);
}
