/* The types of results, and what is said where there is none. */
#include "ir_kernel.h"

static clp_val ew2(kernel *k, clpi_op_kind kind, clp_val a, clp_val b)
{
    return clpi_make_ew(&k->b, kind, (clp_val[]){ a, b }, 2);
}

static clp_val ew1(kernel *k, clpi_op_kind kind, clp_val a)
{
    return clpi_make_ew(&k->b, kind, &a, 1);
}

static clp_val reduce(kernel *k, clpi_op_kind kind, clp_val v, int axis)
{
    return clpi_make_reduce(&k->b, kind, v, &axis, 1, false);
}

Test(rules, operands_broadcast_together)
{
    kernel k;
    kernel_init(&k);
    IS(&k, ew2(&k, CLP_OP_add, TILE(&k, CLP_F32, 8, 1), TILE(&k, CLP_F32, 16)), "f32[8, 16]");
    IS(&k, ew2(&k, CLP_OP_lt, TILE(&k, CLP_U8, 4), SCALAR(&k, CLP_U8)), "bool[4]");
    clp_val c = ew2(&k, CLP_OP_gt, TILE(&k, CLP_I32, 8, 1), SCALAR(&k, CLP_I32));
    IS(&k, clpi_make_ew(&k.b, CLP_OP_where, (clp_val[]){ c, TILE(&k, CLP_BF16, 4), SCALAR(&k, CLP_BF16) }, 3), "bf16[8, 4]");
    SAYS(&k, ew2(&k, CLP_OP_add, TILE(&k, CLP_F32, 8, 2), TILE(&k, CLP_F32, 16)), "`+`: the shapes [8, 2] and [16] do not broadcast together");
    kernel_done(&k);
}

Test(rules, elementwise_dtypes_are_one_and_of_the_kind)
{
    kernel k;
    kernel_init(&k);
    SAYS(&k, ew2(&k, CLP_OP_add, SCALAR(&k, CLP_F32), SCALAR(&k, CLP_I32)),
         "`+` takes operands of one dtype: f32 and i32 were given (cast one of them)");
    SAYS(&k, ew1(&k, CLP_OP_exp, SCALAR(&k, CLP_I32)), "`exp` takes floats: i32 was given");
    SAYS(&k, ew2(&k, CLP_OP_shl, SCALAR(&k, CLP_F32), SCALAR(&k, CLP_F32)), "`<<` takes integers: f32 was given");
    SAYS(&k, ew2(&k, CLP_OP_add, SCALAR(&k, CLP_BOOL), SCALAR(&k, CLP_BOOL)), "`+` takes numbers: bool was given");
    SAYS(&k, ew2(&k, CLP_OP_mul, SCALAR(&k, CLP_F8E4M3), SCALAR(&k, CLP_F8E4M3)), "`*` does not compute in f8e4m3: cast to f32 first");
    SAYS(&k, ew2(&k, CLP_OP_and, SCALAR(&k, CLP_F16), SCALAR(&k, CLP_F16)), "`&` takes integers or bool: f16 was given");
    IS(&k, ew2(&k, CLP_OP_and, SCALAR(&k, CLP_BOOL), SCALAR(&k, CLP_BOOL)), "bool");
    IS(&k, ew2(&k, CLP_OP_eq, SCALAR(&k, CLP_BOOL), SCALAR(&k, CLP_BOOL)), "bool");
    IS(&k, ew1(&k, CLP_OP_isnan, TILE(&k, CLP_F16, 3)), "bool[3]");
    SAYS(&k, clpi_make_ew(&k.b, CLP_OP_where, (clp_val[]){ SCALAR(&k, CLP_I32), SCALAR(&k, CLP_F32), SCALAR(&k, CLP_F32) }, 3),
         "`where` takes a bool as its condition: i32 was given (compare it with 0)");
    kernel_done(&k);
}

Test(rules, null_operands_give_null_and_silence)
{
    kernel k;
    kernel_init(&k);
    clp_val none = { 0 }, one = SCALAR(&k, CLP_F32);
    cr_expect_eq(ew2(&k, CLP_OP_add, none, one).id, 0);
    cr_expect_eq(clpi_make_dot(&k.b, one, none, CLP_F32).id, 0);
    cr_expect_eq(reduce(&k, CLP_OP_sum, none, 9).id, 0);
    cr_expect_eq(clpi_make_concat(&k.b, (clp_val[]){ one, none }, 2, 9).id, 0);
    cr_expect_eq(k.n_said, 0, "%s", k.said);
    kernel_done(&k);
}

Test(rules, sums_are_at_least_32_bits_wide)
{
    static const struct { clp_dtype from, to; } rows[] = {
        { CLP_BOOL, CLP_I32 }, { CLP_I8, CLP_I32 }, { CLP_U8, CLP_U32 }, { CLP_I16, CLP_I32 }, { CLP_U16, CLP_U32 }, { CLP_I32, CLP_I32 },
        { CLP_U32, CLP_U32 }, { CLP_I64, CLP_I64 }, { CLP_U64, CLP_U64 }, { CLP_F16, CLP_F16 }, { CLP_BF16, CLP_BF16 },
        { CLP_F32, CLP_F32 }, { CLP_F64, CLP_F64 },
    };
    static const clpi_op_kind sums[] = { CLP_OP_sum, CLP_OP_prod, CLP_OP_cumsum, CLP_OP_cumprod };
    kernel k;
    kernel_init(&k);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clp_val v = TILE(&k, rows[i].from, 4, 2);
        for (int s = 0; s < 4; s++) {
            clp_val r = s < 2 ? reduce(&k, sums[s], v, 0) : clpi_make_scan(&k.b, sums[s], v, 0, false);
            cr_assert(r.id != 0, "%s of %s: %s", clpi_ops[sums[s]].name, clp_dtype_name(rows[i].from), k.said);
            cr_expect_eq(clpi_type_of(k.ir, r)->dtype, rows[i].to, "%s of %s", clpi_ops[sums[s]].name, clp_dtype_name(rows[i].from));
        }
    }
    IS(&k, reduce(&k, CLP_OP_max, TILE(&k, CLP_I8, 4, 2), 0), "i8[2]");
    IS(&k, clpi_make_scan(&k.b, CLP_OP_cummax, TILE(&k, CLP_U8, 4), -1, true), "u8[4]");
    kernel_done(&k);
}

Test(rules, reductions_name_their_axes)
{
    kernel k;
    kernel_init(&k);
    clp_val v = TILE(&k, CLP_F32, 8, 1024);
    IS(&k, reduce(&k, CLP_OP_max, v, -1), "f32[8]");
    IS(&k, clpi_make_reduce(&k.b, CLP_OP_sum, v, NULL, 0, false), "f32");
    IS(&k, clpi_make_reduce(&k.b, CLP_OP_sum, v, (int[]){ 1 }, 1, true), "f32[8, 1]");
    IS(&k, clpi_make_reduce(&k.b, CLP_OP_sum, v, NULL, 0, true), "f32[1, 1]");
    IS(&k, clpi_make_reduce(&k.b, CLP_OP_sum, SCALAR(&k, CLP_I8), NULL, 0, false), "i32");
    IS(&k, reduce(&k, CLP_OP_argmax, v, 1), "i32[8]");
    SAYS(&k, reduce(&k, CLP_OP_max, v, 2), "`max` has no axis 2: the value has shape [8, 1024]");
    SAYS(&k, reduce(&k, CLP_OP_max, SCALAR(&k, CLP_F32), 0), "`max` has no axis 0: the value is a scalar");
    SAYS(&k, clpi_make_reduce(&k.b, CLP_OP_sum, v, (int[]){ 1, -1 }, 2, false), "`sum` names axis 1 twice");
    SAYS(&k, clpi_make_reduce(&k.b, CLP_OP_argmin, v, NULL, 0, false), "`argmin` takes one axis: the value has shape [8, 1024]");
    SAYS(&k, reduce(&k, CLP_OP_any, v, 0), "`any` takes bool: f32 was given (compare it with 0)");
    SAYS(&k, reduce(&k, CLP_OP_max, TILE(&k, CLP_BOOL, 4), 0), "`max` takes numbers: bool was given");
    SAYS(&k, reduce(&k, CLP_OP_sum, TILE(&k, CLP_F8E5M2, 4), 0), "`sum` does not compute in f8e5m2: cast to f32 first");
    clp_val nothing = clpi_make_broadcast(&k.b, SCALAR(&k, CLP_F32), (int64_t[]){ 3, 0 }, 2);
    SAYS(&k, reduce(&k, CLP_OP_argmax, nothing, 1), "`argmax` of nothing: axis 1 of [3, 0] is empty");
    IS(&k, reduce(&k, CLP_OP_argmax, nothing, 0), "i32[0]");
    IS(&k, reduce(&k, CLP_OP_sum, nothing, 1), "f32[3]");
    SAYS(&k, clpi_make_scan(&k.b, CLP_OP_sort, v, 2, false), "`sort` has no axis 2: the value has shape [8, 1024]");
    kernel_done(&k);
}

Test(rules, dot_takes_ranks_as_matmul)
{
    static const struct { int rank_x, rank_y; int64_t x[4], y[4]; const char *type; } rows[] = {
        { 2, 2, { 3, 4 }, { 4, 5 }, "f32[3, 5]" },          { 1, 2, { 4 }, { 4, 5 }, "f32[5]" },
        { 2, 1, { 3, 4 }, { 4 }, "f32[3]" },                { 1, 1, { 4 }, { 4 }, "f32" },
        { 3, 2, { 2, 3, 4 }, { 4, 5 }, "f32[2, 3, 5]" },    { 3, 3, { 1, 3, 4 }, { 7, 4, 5 }, "f32[7, 3, 5]" },
        { 4, 3, { 2, 1, 3, 4 }, { 7, 4, 5 }, "f32[2, 7, 3, 5]" }, { 1, 3, { 4 }, { 2, 4, 5 }, "f32[2, 5]" },
        { 3, 1, { 2, 3, 4 }, { 4 }, "f32[2, 3]" },
    };
    kernel k;
    kernel_init(&k);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clp_val x = tile_of(&k, CLP_F32, rows[i].rank_x, rows[i].x), y = tile_of(&k, CLP_F32, rows[i].rank_y, rows[i].y);
        IS(&k, clpi_make_dot(&k.b, x, y, CLP_DTYPE_NONE), rows[i].type);
    }
    SAYS(&k, clpi_make_dot(&k.b, TILE(&k, CLP_F32, 3, 4), TILE(&k, CLP_F32, 3, 4), CLP_F32), "`dot` of [3, 4] and [3, 4]: the inner dimensions are 4 and 3, one size was expected");
    SAYS(&k, clpi_make_dot(&k.b, TILE(&k, CLP_F32, 2, 3, 4), TILE(&k, CLP_F32, 3, 4, 3), CLP_F32),
         "`dot`: the leading dimensions of [2, 3, 4] and [3, 4, 3] do not broadcast together");
    SAYS(&k, clpi_make_dot(&k.b, SCALAR(&k, CLP_F32), TILE(&k, CLP_F32, 3), CLP_F32), "`dot` takes tiles: a scalar was given (use `*`)");
    kernel_done(&k);
}

Test(rules, dot_sums_in_acc)
{
    static const struct { clp_dtype x, y, acc; const char *type; } good[] = {
        { CLP_F16, CLP_F16, CLP_DTYPE_NONE, "f32[2, 2]" },   { CLP_BF16, CLP_BF16, CLP_F64, "f64[2, 2]" },
        { CLP_F64, CLP_F64, CLP_DTYPE_NONE, "f64[2, 2]" },   { CLP_I8, CLP_U8, CLP_DTYPE_NONE, "i32[2, 2]" },
        { CLP_I32, CLP_I32, CLP_DTYPE_NONE, "i32[2, 2]" },   { CLP_U64, CLP_U64, CLP_DTYPE_NONE, "i64[2, 2]" },
        { CLP_I8, CLP_I8, CLP_I64, "i64[2, 2]" },            { CLP_F8E4M3, CLP_F8E5M2, CLP_DTYPE_NONE, "f32[2, 2]" },
    };
    kernel k;
    kernel_init(&k);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        IS(&k, clpi_make_dot(&k.b, TILE(&k, good[i].x, 2, 2), TILE(&k, good[i].y, 2, 2), good[i].acc), good[i].type);
    clp_val f16 = TILE(&k, CLP_F16, 2, 2), bf16 = TILE(&k, CLP_BF16, 2, 2), i16 = TILE(&k, CLP_I16, 2, 2), i8 = TILE(&k, CLP_I8, 2, 2);
    SAYS(&k, clpi_make_dot(&k.b, f16, f16, CLP_F16), "`dot` of f16 sums in f32 or f64: acc = f16 was given (cast the result)");
    SAYS(&k, clpi_make_dot(&k.b, i8, i8, CLP_F32), "`dot` of i8 sums in i32 or i64: acc = f32 was given (cast the result)");
    SAYS(&k, clpi_make_dot(&k.b, f16, bf16, CLP_F32), "`dot` takes operands of one dtype, two integers of at most 8 bits or two f8 dtypes: "
         "f16 and bf16 were given (cast one of them)");
    SAYS(&k, clpi_make_dot(&k.b, i16, i8, CLP_I32), "`dot` takes operands of one dtype, two integers of at most 8 bits or two f8 dtypes: "
         "i16 and i8 were given (cast one of them)");
    SAYS(&k, clpi_make_dot(&k.b, TILE(&k, CLP_BOOL, 2, 2), TILE(&k, CLP_BOOL, 2, 2), CLP_I32), "`dot` takes numbers: bool was given (cast it)");
    kernel_done(&k);
}

Test(rules, conversions_go_anywhere_values_live)
{
    kernel k;
    kernel_init(&k);
    clp_val f32 = TILE(&k, CLP_F32, 4);
    cr_expect_eq(clpi_make_cast(&k.b, f32, CLP_F32).id, f32.id);
    IS(&k, clpi_make_cast(&k.b, f32, CLP_F8E4M3), "f8e4m3[4]");
    IS(&k, clpi_make_cast(&k.b, f32, CLP_BOOL), "bool[4]");
    IS(&k, clpi_make_bitcast(&k.b, f32, CLP_U32), "u32[4]");
    SAYS(&k, clpi_make_cast(&k.b, f32, CLP_I4), "`cast` to i4: values have no such dtype, it is for storage (cast to i8)");
    SAYS(&k, clpi_make_bitcast(&k.b, f32, CLP_U16), "`bitcast` keeps the width: f32 has 32 bits, u16 has 16");
    kernel_done(&k);
}

Test(rules, movement_keeps_elements)
{
    kernel k;
    kernel_init(&k);
    clp_val v = TILE(&k, CLP_F32, 2, 3, 4);
    IS(&k, clpi_make_reshape(&k.b, v, (int64_t[]){ 6, 4 }, 2), "f32[6, 4]");
    IS(&k, clpi_make_reshape(&k.b, v, (int64_t[]){ -1, 8 }, 2), "f32[3, 8]");
    SAYS(&k, clpi_make_reshape(&k.b, v, (int64_t[]){ 5, 5 }, 2), "`reshape` keeps the number of elements: [2, 3, 4] has 24, [5, 5] has 25");
    IS(&k, clpi_make_transpose(&k.b, v, NULL, 0), "f32[4, 3, 2]");
    IS(&k, clpi_make_transpose(&k.b, v, (int[]){ 1, 0, -1 }, 3), "f32[3, 2, 4]");
    SAYS(&k, clpi_make_transpose(&k.b, v, (int[]){ 1, 1, 0 }, 3), "`transpose` names axis 1 twice");
    SAYS(&k, clpi_make_transpose(&k.b, v, (int[]){ 1, 0 }, 2), "`transpose` names every axis once: the value has 3, 2 were given");
    SAYS(&k, clpi_make_broadcast(&k.b, v, (int64_t[]){ 2, 3, 8 }, 3), "the shape [2, 3, 4] does not broadcast to [2, 3, 8]");
    clp_val a = TILE(&k, CLP_F32, 2, 3), b = TILE(&k, CLP_F32, 2, 5);
    IS(&k, clpi_make_concat(&k.b, (clp_val[]){ a, b, a }, 3, 1), "f32[2, 11]");
    SAYS(&k, clpi_make_concat(&k.b, (clp_val[]){ a, b }, 2, 0), "`concat` takes shapes that agree save on axis 0: [2, 3] and [2, 5]");
    SAYS(&k, clpi_make_concat(&k.b, (clp_val[]){ a, TILE(&k, CLP_F16, 2, 3) }, 2, 0),
         "`concat` takes operands of one dtype: f32 and f16 were given (cast one of them)");
    IS(&k, clpi_make_flip(&k.b, v, 1), "f32[2, 3, 4]");
    IS(&k, clpi_make_roll(&k.b, v, SCALAR(&k, CLP_I8), 2), "f32[2, 3, 4]");
    IS(&k, clpi_make_take(&k.b, v, TILE(&k, CLP_I64, 7, 2), 1), "f32[2, 7, 2, 4]");
    SAYS(&k, clpi_make_roll(&k.b, v, SCALAR(&k, CLP_F32), 2), "the shift of `roll` is an integer scalar");
    SAYS(&k, clpi_make_flip(&k.b, v, 3), "`flip` has no axis 3: the value has shape [2, 3, 4]");
    kernel_done(&k);
}

Test(rules, sizes_have_limits)
{
    kernel k;
    kernel_init(&k);
    clpi_type t = { .dtype = CLP_I32, .rank = 2, .shape = { 1 << 20, 1 << 20 } };
    SAYS(&k, clpi_make_iota(&k.b, &t, 0), "a value of shape [1048576, 1048576] is too large: at most 2147483647 elements");
    t.shape[0] = -2;
    SAYS(&k, clpi_make_iota(&k.b, &t, 0), "`iota`: a dimension of size -2");
    t = (clpi_type){ .dtype = CLP_BOOL, .rank = 1, .shape = { 4 } };
    SAYS(&k, clpi_make_iota(&k.b, &t, 0), "`iota` counts in numbers: bool was given");
    t.dtype = CLP_I32;
    SAYS(&k, clpi_make_iota(&k.b, &t, 1), "`iota` has no axis 1: the shape is [4]");
    kernel_done(&k);
}

Test(rules, atomics_have_dtypes_of_32_and_64_bits)
{
    kernel k;
    kernel_init(&k);
    clp_val one = SCALAR(&k, CLP_I32), half = SCALAR(&k, CLP_F16), f = SCALAR(&k, CLP_F32), none = { 0 };
    clpi_subscript at = { .kind = CLPI_AT, .val = TILE(&k, CLP_I32, 5) };
    IS(&k, clpi_make_atomic(&k.b, CLP_OP_atomic_add, k.h, &at, 1, &one, 1, none), "i32[5]");
    IS(&k, clpi_make_atomic(&k.b, CLP_OP_atomic_xor, k.h, &at, 1, &one, 1, none), "i32[5]");
    IS(&k, clpi_make_atomic(&k.b, CLP_OP_atomic_cas, k.h, &at, 1, (clp_val[]){ one, one }, 2, none), "i32[5]");
    IS(&k, clpi_make_atomic(&k.b, CLP_OP_atomic_max, k.c, NULL, 0, &f, 1, none), "f32[8]");
    SAYS(&k, clpi_make_atomic(&k.b, CLP_OP_atomic_add, k.e, NULL, 0, &half, 1, none),
         "there are no f16 atomics: `atomic_add` takes i32, u32, i64, u64, f32, f64");
    SAYS(&k, clpi_make_atomic(&k.b, CLP_OP_atomic_or, k.c, NULL, 0, &f, 1, none), "`atomic_or` takes integers: c is f32");
    SAYS(&k, clpi_make_atomic(&k.b, CLP_OP_atomic_add, k.x, NULL, 0, &f, 1, none), "x is an input and cannot be stored to");
    SAYS(&k, clpi_make_atomic(&k.b, CLP_OP_atomic_add, k.h, &at, 1, &f, 1, none), "atomic on h: the place is i32, the value f32 (cast it)");
    kernel_done(&k);
}

Test(rules, print_has_a_value_for_each_hole)
{
    kernel k;
    kernel_init(&k);
    clp_val v = SCALAR(&k, CLP_F32);
    clpi_make_print(&k.b, "a {} b {}", (clp_val[]){ v, v }, 2);
    cr_expect_eq(k.n_said, 0);
    clpi_make_print(&k.b, "a {}", (clp_val[]){ v, v }, 2);
    cr_expect_str_eq(k.said, "`print` has 1 {} in its text and 2 values");
    clpi_make_assert(&k.b, v, "text");
    cr_expect_str_eq(k.said, "`assert` needs a bool: f32 was given (compare it with 0)");
    kernel_done(&k);
}
