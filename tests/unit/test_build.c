/* Making ops: subscripts, accesses, operands, regions, constants as they are read back. */
#include "ir_kernel.h"

#include "ir/format.h"
#include "support/support.h"

#define NONE ((clp_val){ 0 })

static clpi_subscript every(void) { return (clpi_subscript){ .kind = CLPI_ALL }; }
static clpi_subscript dots(void) { return (clpi_subscript){ .kind = CLPI_ELLIPSIS }; }
static clpi_subscript fresh(void) { return (clpi_subscript){ .kind = CLPI_NEWAXIS }; }
static clpi_subscript at(clp_val v) { return (clpi_subscript){ .kind = CLPI_AT, .val = v }; }
static clpi_subscript ds(clp_val v, int64_t size, int64_t stride) { return (clpi_subscript){ .kind = CLPI_DS, .val = v, .stop = size, .stride = stride }; }
static clpi_subscript slice(int64_t a, int64_t b, int64_t s)
{
    return (clpi_subscript){ .kind = CLPI_SLICE, .has_start = true, .has_stop = true, .start = a, .stop = b, .stride = s };
}
static clpi_subscript from(int64_t a, int64_t s) { return (clpi_subscript){ .kind = CLPI_SLICE, .has_start = true, .start = a, .stride = s }; }
static clpi_subscript open(int64_t s) { return (clpi_subscript){ .kind = CLPI_SLICE, .stride = s }; }

#define N_OF(...) ((int)(sizeof((clpi_subscript[]){ __VA_ARGS__ }) / sizeof(clpi_subscript)))
#define LOAD(k, x, ...) clpi_make_load(&(k)->b, (k)->x, (clpi_subscript[]){ __VA_ARGS__ }, N_OF(__VA_ARGS__), NONE, NONE)
#define INDEX(k, v, ...) clpi_make_index(&(k)->b, (v), (clpi_subscript[]){ __VA_ARGS__ }, N_OF(__VA_ARGS__))

static clp_val integer(kernel *k, int64_t x)
{
    return clpi_make_int(&k->b, CLP_I32, x);
}

Test(build, refs_have_the_shape_of_their_block)
{
    kernel k;
    kernel_init(&k);
    IS(&k, whole(&k, k.x), "f32[8, 16]");
    IS(&k, LOAD(&k, x, dots()), "f32[8, 16]");
    IS(&k, LOAD(&k, x, at(integer(&k, 3))), "f32[16]");
    IS(&k, LOAD(&k, x, every(), at(SCALAR(&k, CLP_I64))), "f32[8]");
    IS(&k, LOAD(&k, x, dots(), slice(2, 16, 3)), "f32[8, 5]");
    IS(&k, LOAD(&k, x, ds(SCALAR(&k, CLP_I32), 4, 2), from(12, 1)), "f32[4, 4]");
    IS(&k, whole(&k, k.q), "i8[32]");
    IS(&k, whole(&k, k.n), "i32");
    IS(&k, whole(&k, k.h), "i32[64]");
    IS(&k, LOAD(&k, w, ds(SCALAR(&k, CLP_I32), 3, 1), every()), "f32[3, 4]");
    IS(&k, LOAD(&k, w, slice(0, 1000000, 1)), "f32[1000000, 4]");
    kernel_done(&k);
}

Test(build, refs_are_checked_where_sizes_are_known)
{
    kernel k;
    kernel_init(&k);
    SAYS(&k, whole(&k, k.w), "dimension 0 of w has a size that is known at run time only: `:` and `...` need a constant (use ds(start, size))");
    SAYS(&k, LOAD(&k, w, from(3, 1)), "dimension 0 of w has a size that is known at run time only: an open slice needs a constant (use ds(start, size))");
    SAYS(&k, LOAD(&k, x, at(integer(&k, 8))), "index 8 is out of range: dimension 0 of x has size 8");
    SAYS(&k, LOAD(&k, x, at(integer(&k, -1))), "index -1 is out of range: dimension 0 of x has size 8 (only subscripts of values count from the end)");
    SAYS(&k, LOAD(&k, w, at(integer(&k, -1))), "index -1 of w is negative (only subscripts of values count from the end)");
    SAYS(&k, LOAD(&k, x, every(), slice(0, 17, 1)), "slice end 17 is out of range: dimension 1 of x has size 16");
    SAYS(&k, LOAD(&k, x, slice(0, 8, 0)), "the stride of a slice is 0");
    SAYS(&k, LOAD(&k, x, ds(integer(&k, 6), 3, 1)), "ds(6, 3) is out of range: dimension 0 of x has size 8");
    SAYS(&k, LOAD(&k, x, ds(SCALAR(&k, CLP_I32), -1, 1)), "ds has a size of 0 or more: -1 was given");
    SAYS(&k, LOAD(&k, x, every(), every(), every()), "x has 2 dimensions: 3 subscripts were given");
    SAYS(&k, LOAD(&k, x, dots(), dots()), "subscripts have one `...` at most");
    SAYS(&k, LOAD(&k, x, fresh(), every()), "`None` stands in subscripts of values only: x is a ref");
    SAYS(&k, LOAD(&k, x, at(SCALAR(&k, CLP_F32))), "an index is an integer: f32 was given");
    SAYS(&k, LOAD(&k, n, at(integer(&k, 0))), "n is a scalar: 1 subscript was given");
    kernel_done(&k);
}

Test(build, values_take_negative_subscripts_and_new_dimensions)
{
    kernel k;
    kernel_init(&k);
    clp_val v = TILE(&k, CLP_F32, 4, 5, 6);
    cr_expect_eq(INDEX(&k, v, dots()).id, v.id);
    cr_expect_eq(INDEX(&k, v, every(), slice(0, 5, 1)).id, v.id);
    IS(&k, INDEX(&k, v, at(integer(&k, -1))), "f32[5, 6]");
    IS(&k, INDEX(&k, v, dots(), at(integer(&k, -6))), "f32[4, 5]");
    IS(&k, INDEX(&k, v, from(-3, 1)), "f32[3, 5, 6]");
    IS(&k, INDEX(&k, v, slice(1, -1, 2), open(-1)), "f32[1, 5, 6]");
    IS(&k, INDEX(&k, v, slice(3, 1, 1)), "f32[0, 5, 6]");
    IS(&k, INDEX(&k, v, open(-3)), "f32[2, 5, 6]");
    IS(&k, INDEX(&k, v, slice(3, 0, INT64_MIN)), "f32[1, 5, 6]");
    IS(&k, INDEX(&k, v, every(), fresh(), at(integer(&k, 2)), fresh()), "f32[4, 1, 1, 6]");
    IS(&k, INDEX(&k, SCALAR(&k, CLP_F32), fresh()), "f32[1]");
    IS(&k, INDEX(&k, v, dots(), fresh()), "f32[4, 5, 6, 1]");
    SAYS(&k, INDEX(&k, v, at(integer(&k, -5))), "index -5 is out of range: dimension 0 of the value has size 4");
    SAYS(&k, INDEX(&k, v, slice(4, 0, -1)), "slice start 4 is out of range: dimension 0 of the value has size 4");
    SAYS(&k, INDEX(&k, v, from(-5, 1)), "slice start -5 is out of range: dimension 0 of the value has size 4");
    kernel_done(&k);
}

Test(build, a_negative_constant_index_counts_from_the_end)
{
    kernel k;
    kernel_init(&k);
    clp_val r = INDEX(&k, TILE(&k, CLP_F32, 10), at(integer(&k, -3)));
    int64_t i;
    cr_assert(clpi_const_int(k.ir, clpi_args(k.ir, clpi_op_at(k.ir, r))[1], &i));
    cr_expect_eq(i, 7);
    r = INDEX(&k, TILE(&k, CLP_F32, 10), open(-4));
    const clpi_op *op = clpi_op_at(k.ir, r);
    cr_assert(clpi_const_int(k.ir, clpi_args(k.ir, op)[1], &i));
    cr_expect_eq(i, 9);
    cr_expect_eq(clpi_subs(k.ir, op)[0].size, 3);
    cr_expect_eq(clpi_subs(k.ir, op)[0].stride, -4);
    kernel_done(&k);
}

Test(build, index_tiles_broadcast_and_stand_in_their_place)
{
    kernel k;
    kernel_init(&k);
    clp_val v = TILE(&k, CLP_F32, 4, 5, 6), i = TILE(&k, CLP_U8, 3, 1), j = TILE(&k, CLP_I64, 7);
    IS(&k, INDEX(&k, v, at(i), at(j)), "f32[3, 7, 6]");
    IS(&k, INDEX(&k, v, every(), at(i), at(j)), "f32[4, 3, 7]");
    IS(&k, INDEX(&k, v, at(i), at(integer(&k, 0)), at(j)), "f32[3, 7]");
    IS(&k, INDEX(&k, v, at(integer(&k, 0)), every(), at(j)), "f32[5, 7]");
    IS(&k, INDEX(&k, v, at(j), fresh()), "f32[7, 1, 5, 6]");
    SAYS(&k, INDEX(&k, v, at(i), every(), at(j)), "index tiles stand side by side: a subscript of another kind lies between them");
    SAYS(&k, INDEX(&k, v, at(i), fresh(), at(j)), "index tiles stand side by side: a subscript of another kind lies between them");
    SAYS(&k, INDEX(&k, v, at(TILE(&k, CLP_I32, 3)), at(j)), "the index tiles do not broadcast together");
    SAYS(&k, INDEX(&k, v, at(TILE(&k, CLP_BOOL, 4))), "an index is an integer: bool was given (use `where` or a mask)");
    kernel_done(&k);
}

Test(build, stores_broadcast_to_the_place)
{
    kernel k;
    kernel_init(&k);
    store_whole(&k, k.z, SCALAR(&k, CLP_F32));
    store_whole(&k, k.z, TILE(&k, CLP_F32, 8, 1));
    store_whole(&k, k.e, SCALAR(&k, CLP_F16));
    cr_assert_eq(k.n_said, 0, "%s", k.said);
    static const char *const expected[] = {
        "x is an input and cannot be stored to", "t is a prefetch operand and cannot be stored to", "n is a scalar and cannot be stored to",
        "store to z: the place has shape [8, 16], the value [8, 15]", "store to z: the place is f32, the value f16 (cast it)",
    };
    for (int i = 0; i < 5; i++) {
        int target = i == 0 ? k.x : i == 1 ? k.t : i == 2 ? k.n : k.z;
        store_whole(&k, target, i == 3 ? TILE(&k, CLP_F32, 8, 15) : SCALAR(&k, i == 4 ? CLP_F16 : CLP_F32));
        cr_expect_str_eq(k.said, expected[i]);
        cr_expect_eq(k.n_said, i + 1);
    }
    kernel_done(&k);
}

Test(build, masks_and_other_broadcast_to_the_place)
{
    kernel k;
    kernel_init(&k);
    clp_val m = TILE(&k, CLP_BOOL, 16), zero = SCALAR(&k, CLP_F32);
    clp_val v = clpi_make_load(&k.b, k.x, NULL, 0, m, zero);
    IS(&k, v, "f32[8, 16]");
    const clpi_op *op = clpi_op_at(k.ir, v);
    IS(&k, clpi_op_mask(k.ir, op), "bool[8, 16]");
    IS(&k, clpi_op_other(k.ir, op), "f32[8, 16]");
    SAYS(&k, clpi_make_load(&k.b, k.x, NULL, 0, NONE, zero), "load of x: `other` stands in where a mask is false, and there is none");
    SAYS(&k, clpi_make_load(&k.b, k.x, NULL, 0, zero, zero), "a mask is bool: f32 was given");
    SAYS(&k, clpi_make_load(&k.b, k.x, NULL, 0, m, SCALAR(&k, CLP_I32)), "`other` of x: the place is f32, the value i32 (cast it)");
    clpi_make_store(&k.b, k.z, NULL, 0, zero, TILE(&k, CLP_BOOL, 9));
    cr_expect_str_eq(k.said, "mask of z: the place has shape [8, 16], the value [9]");
    kernel_done(&k);
}

/* ---- Frame ---- */

static void try_operand(kernel *k, clpi_operand x, const char *text)
{
    clp_val shape[2] = { clpi_make_int(&k->b, CLP_I64, 8), clpi_make_int(&k->b, CLP_I64, 8) };
    clpi_block_dim block[2] = { { .n = 8, .index = shape[0] }, { .n = x.rank == 2 ? 0 : 8, .index = shape[0] } };
    x.shape = shape;
    x.block = block;
    k->said[0] = 0;
    cr_expect_eq(clpi_build_operand(&k->b, &x), -1);
    cr_expect_str_eq(k->said, text);
}

Test(build, operands_are_checked_by_themselves)
{
    kernel k;
    kernel_init(&k);
    k.b.in_header = true;
    try_operand(&k, (clpi_operand){ .role = CLP_IN, .name = "x", .dtype = CLP_F32, .rank = 1, .alias = -1 }, "there are two operands named x");
    try_operand(&k, (clpi_operand){ .role = CLP_IN, .name = "y", .dtype = CLP_F32, .rank = 17, .alias = -1 },
                "y: an array has at most 16 dimensions: 17 were given");
    try_operand(&k, (clpi_operand){ .role = CLP_SCRATCH, .name = "y", .dtype = CLP_F32, .rank = 1, .has_block = true, .alias = -1 },
                "y: scratch has no block");
    try_operand(&k, (clpi_operand){ .role = CLP_PREFETCH, .name = "y", .dtype = CLP_I32, .rank = 1, .has_pad = true, .alias = -1 },
                "y: a prefetch operand has no pad");
    try_operand(&k, (clpi_operand){ .role = CLP_INOUT, .name = "y", .dtype = CLP_F32, .rank = 1, .alias = 0 }, "y: only an out operand has an alias");
    try_operand(&k, (clpi_operand){ .role = CLP_IN, .name = "y", .dtype = CLP_F32, .rank = 2, .has_block = true, .alias = -1 },
                "y: dimension 1 of the block is 0, at least 1 was expected");
    try_operand(&k, (clpi_operand){ .role = CLP_SCRATCH, .name = "y", .dtype = CLP_I4, .rank = 1, .alias = -1 }, "y: scratch has no dtype i4 (use i8)");
    kernel_done(&k);
}

Test(build, header_values_are_i64)
{
    kernel k;
    kernel_init(&k);
    k.b.in_header = true;
    IS(&k, clpi_make_leaf(&k.b, CLP_OP_program_id, 0), "i64");
    IS(&k, clpi_make_header_load(&k.b, k.n, NULL, 0), "i64");
    clp_val i = clpi_make_leaf(&k.b, CLP_OP_program_id, 0);
    IS(&k, clpi_make_header_load(&k.b, k.t, &i, 1), "i64");
    SAYS(&k, clpi_make_header_load(&k.b, k.t, NULL, 0), "t has 1 dimension: 0 subscripts were given");
    SAYS(&k, clpi_make_header_load(&k.b, k.x, &i, 1), "x: shapes, maps and grids read scalars and prefetch operands only");
    k.b.in_header = false;
    IS(&k, clpi_make_leaf(&k.b, CLP_OP_program_id, 0), "i32");
    kernel_done(&k);
}

/* ---- Regions ---- */

Test(build, regions_have_the_layout_of_the_picture)
{
    kernel k;
    kernel_init(&k);
    clpi_build *b = &k.b;
    clp_val lo = integer(&k, 0), hi = integer(&k, 9), init = SCALAR(&k, CLP_F32), i, carried, next, out;
    cr_assert(clpi_for_begin(b, lo, hi, 2, &init, 1, &i, &carried));
    IS(&k, i, "i32");
    next = clpi_make_ew(b, CLP_OP_add, (clp_val[]){ carried, carried }, 2);
    clpi_for_end(b, &next, 1, &out);
    IS(&k, out, "f32");
    uint32_t at_for = i.id - 1;
    const clpi_op *op = &k.ir->ops.items[at_for];
    cr_expect_eq(op->kind, CLP_OP_for);
    cr_expect_eq(op->attr, 2);
    cr_expect_eq(op->end, next.id + 2);
    cr_expect_eq(op->mid, op->end);
    cr_expect_eq(k.ir->ops.items[next.id + 1].kind, CLP_OP_yield);
    cr_expect_eq(out.id, op->end);
    cr_expect_eq(clpi_args(k.ir, clpi_op_at(k.ir, out))[0].id, at_for);

    clp_val c = SCALAR(&k, CLP_BOOL), other = SCALAR(&k, CLP_F32);
    cr_assert(clpi_if_begin(b, c, &init, 1));
    clpi_if_end(b, &other, 1, &out);
    IS(&k, out, "f32");
    op = clpi_op_at(k.ir, clpi_args(k.ir, clpi_op_at(k.ir, out))[0]);
    cr_expect_eq(op->end - op->mid, 1, "the else arm is a yield of the initial values");
    cr_expect_eq(clpi_args(k.ir, &k.ir->ops.items[op->mid])[0].id, init.id);
    cr_expect(clpi_build_end(b));
    kernel_done(&k);
}

Test(build, regions_check_what_goes_round)
{
    kernel k;
    kernel_init(&k);
    clpi_build *b = &k.b;
    clp_val lo = integer(&k, 0), init = SCALAR(&k, CLP_F32), wrong = TILE(&k, CLP_F32, 4), i, carried, out;
    cr_assert(clpi_for_begin(b, lo, lo, 1, &init, 1, &i, &carried));
    clpi_for_end(b, &wrong, 1, &out);
    cr_expect_str_eq(k.said, "a carried value keeps its dtype and shape: it began as f32, it is given f32[4]");
    IS(&k, out, "f32");
    cr_expect_not(clpi_for_begin(b, lo, init, 1, NULL, 0, &i, NULL));
    cr_expect_str_eq(k.said, "a bound of `for` is i32: f32 was given (cast it)");
    cr_expect_not(clpi_for_begin(b, lo, lo, 0, NULL, 0, &i, NULL));
    cr_expect_str_eq(k.said, "the step of `for` is 0");
    cr_expect_not(clpi_if_begin(b, TILE(&k, CLP_BOOL, 4), NULL, 0));
    cr_expect_str_eq(k.said, "`if` needs a scalar (use `where`, `any` or `all`): the condition has shape [4]");
    cr_expect_not(clpi_while_begin(b, SCALAR(&k, CLP_I32), NULL, 0, NULL));
    cr_expect_str_eq(k.said, "`while` needs a bool: i32 was given (compare it with 0)");
    clpi_while_end(b, NONE, NULL, 0, NULL);
    cr_expect_str_eq(k.said, "no `while` is open here");
    cr_assert(clpi_if_begin(b, SCALAR(&k, CLP_BOOL), NULL, 0));
    cr_expect_not(clpi_build_end(b));
    cr_expect_str_eq(k.said, "`if` is not ended");
    kernel_done(&k);
}

Test(build, a_missing_value_is_silent_and_the_region_is_closed)
{
    kernel k;
    kernel_init(&k);
    clp_val lo = integer(&k, 0), init = SCALAR(&k, CLP_F32), none = NONE, i, carried, out;
    cr_assert(clpi_for_begin(&k.b, lo, lo, 1, &init, 1, &i, &carried));
    clpi_for_end(&k.b, &none, 1, &out);
    IS(&k, out, "f32");
    cr_expect_eq(k.n_said, 0);
    cr_expect(clpi_build_end(&k.b));
    cr_expect_not(clpi_for_begin(&k.b, none, lo, 1, &init, 1, &i, &carried));
    cr_expect_eq(k.n_said, 0);
    kernel_done(&k);
}

Test(build, nesting_is_limited)
{
    kernel k;
    kernel_init(&k);
    clp_val c = SCALAR(&k, CLP_BOOL);
    int n = 0;
    while (clpi_if_begin(&k.b, c, NULL, 0))
        n++;
    cr_expect_eq(n, 200);
    cr_expect_str_eq(k.said, "loops and branches are nested deeper than 200");
    kernel_done(&k);
}

/* ---- Reading ---- */

Test(build, constants_read_back)
{
    static const struct { clp_dtype d; int64_t x; } rows[] = {
        { CLP_I8, -128 }, { CLP_U8, 255 }, { CLP_I16, -1 }, { CLP_I32, INT32_MIN }, { CLP_U32, UINT32_MAX }, { CLP_I64, INT64_MIN },
        { CLP_U64, INT64_MAX }, { CLP_BOOL, 1 },
    };
    kernel k;
    kernel_init(&k);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t x;
        cr_expect(clpi_const_int(k.ir, clpi_make_int(&k.b, rows[i].d, rows[i].x), &x), "%s", clp_dtype_name(rows[i].d));
        cr_expect_eq(x, rows[i].x, "%s: %lld", clp_dtype_name(rows[i].d), (long long)x);
    }
    int64_t x;
    cr_expect_not(clpi_const_int(k.ir, clpi_make_int(&k.b, CLP_F32, 1), &x));
    cr_expect_not(clpi_const_int(k.ir, clpi_make_const(&k.b, CLP_U64, UINT64_MAX), &x));
    kernel_done(&k);
}

Test(build, permutations_hold_sixteen_axes)
{
    uint64_t attr = 0;
    for (int i = 0; i < 16; i++)
        attr = clpi_perm_set(attr, i, 15 - i);
    for (int i = 0; i < 16; i++)
        cr_expect_eq(clpi_perm_get(attr, i), 15 - i);
}

Test(build, print_says_values_as_numpy_does)
{
    kernel k;
    kernel_init(&k);
    clpi_make_print(&k.b, "i={} v={}; {}!", (clp_val[]){ SCALAR(&k, CLP_I32), TILE(&k, CLP_F32, 2), TILE(&k, CLP_BOOL, 2, 1) }, 3);
    const clpi_op *op = &k.ir->ops.items[k.ir->ops.n - 1];
    clpi_elem i = { .i = -7 }, v[2] = { { .f = 4.2f }, { .f = 2.4f } }, c[2] = { { .u = 1 }, { .u = 0 } };
    clpi_str s;
    clpi_str_init(&s, &k.env);
    clpi_format_print(k.ir, op, (const clpi_elem *const[]){ &i, v, c }, &s);
    cr_expect_str_eq(s.text, "i=-7 v=[4.2 2.4]; [[true] [false]]!");
    clpi_str_done(&s);
    kernel_done(&k);
}

Test(build, numbers_are_the_shortest_that_read_back)
{
    static const struct { clp_dtype d; double x; const char *text; } rows[] = {
        { CLP_F32, 0.1, "0.1" },           { CLP_F64, 0.1, "0.1" },      { CLP_F64, 0.30000000000000004, "0.30000000000000004" },
        { CLP_F32, 1, "1.0" },             { CLP_F32, -0.0, "-0.0" },    { CLP_F32, 1500, "1500.0" },
        { CLP_F32, 1e20, "1e20" },         { CLP_F16, 65504, "65500.0" }, { CLP_BF16, 0.10009765625, "0.1" },
        { CLP_F32, 1.5e-7, "1.5e-7" },     { CLP_F64, 1e15, "1000000000000000.0" }, { CLP_F32, 0.0001, "0.0001" },
        { CLP_F64, 1.0 / 0.0, "inf" },     { CLP_F32, -1.0 / 0.0, "-inf" }, { CLP_F8E4M3, 448, "450.0" },
    };
    kernel k;
    kernel_init(&k);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clpi_elem e = { .d = rows[i].x };
        if (rows[i].d != CLP_F64)
            e = clpi_elem_from_bits(rows[i].d, clpi_f64_to_small_bits(rows[i].d, rows[i].x));
        clpi_str s;
        clpi_str_init(&s, &k.env);
        clpi_format_elem(rows[i].d, e, &s);
        cr_expect_str_eq(s.text, rows[i].text, "%s: %s", clp_dtype_name(rows[i].d), s.text);
        clpi_str_done(&s);
    }
    kernel_done(&k);
}

/* ---- Out of memory ---- */

/* A kernel with mistakes, a loop and a branch: each allocation of it may fail. True: memory sufficed. */
static bool make_kernel(clpi_env *env, clpi_arena *arena, clpi_arena *pass, kernel *k)
{
    clpi_build *b = &k->b;
    k->ir = clpi_ir_new(env, arena, "test");
    if (!k->ir)
        return false;
    clpi_build_init(b, k->ir, kernel_report, k);
    clp_val n = clpi_make_leaf(b, CLP_OP_dim, (uint64_t)clpi_build_dim(b, "N"));
    if (arena->failed)
        return false;
    clpi_block_dim block = { .n = 8, .index = n };
    clpi_operand x = { .role = CLP_INOUT, .name = "x", .dtype = CLP_F32, .rank = 1, .shape = &n, .has_block = true, .block = &block, .alias = -1 };
    k->x = clpi_build_operand(b, &x);
    if (k->x < 0)
        return false;
    clpi_build_begin_body(b);
    clp_val lo = integer(k, 0), hi = integer(k, 4), v = whole(k, k->x), i, c, out;
    if (clpi_for_begin(b, lo, hi, 1, &v, 1, &i, &c)) {
        clp_val next = clpi_make_ew(b, CLP_OP_add, (clp_val[]){ c, clpi_make_cast(b, i, CLP_F32) }, 2);
        clpi_make_ew(b, CLP_OP_exp, &i, 1);
        clpi_for_end(b, &next, 1, &out);
        store_whole(k, k->x, out);
        clpi_make_print(b, "{}", &out, 1);
    }
    if (arena->failed || !clpi_build_end(b))
        return false;
    clp_status status = clpi_verify(k->ir, CLP_ERR_INTERNAL);
    if (status == CLP_OK)
        status = clpi_simplify(k->ir, pass);
    cr_expect(status == CLP_OK || status == CLP_ERR_OOM, "%s", clpi_error_text(env));
    return status == CLP_OK;
}

Test(build, each_allocation_may_fail)
{
    size_t budget = 0;
    bool is_made = false;
    for (; !is_made && budget < 10000; budget++) {
        failing_alloc alloc = { .budget = budget };
        kernel k = { .n_said = 0 };
        clpi_env env;
        clpi_arena arena, pass;
        clpi_env_init(&env, failing_alloc_fn, &alloc);
        clpi_arena_init(&arena, &env);
        clpi_arena_init(&pass, &env);
        is_made = make_kernel(&env, &arena, &pass, &k);
        cr_expect_eq(is_made, !alloc.has_failed, "budget %zu", budget);
        if (is_made)
            cr_expect_str_eq(k.said, "`exp` takes floats: i32 was given");
        else
            cr_expect(strstr(clpi_error_text(&env), "memory"), "budget %zu: \"%s\"", budget, clpi_error_text(&env));
        clpi_arena_done(&pass);
        clpi_arena_done(&arena);
        clpi_env_done(&env);
        cr_expect_eq(alloc.n_live, 0, "budget %zu: %zu blocks are left", budget, alloc.n_live);
    }
    cr_expect_gt(budget, 5);
}
