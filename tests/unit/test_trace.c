/* The builder: a kernel made by callbacks is the kernel that the language gives, and the first mistake is what is reported. */
#include "ir/ir.h"
#include "support/ir_equal.h"
#include "support/support.h"
#include "text/text.h"
#include "trace/trace.h"

static clpi_env env;
static clpi_arena arena;

static void setup(void)
{
    clpi_env_init(&env, NULL, NULL);
    clpi_arena_init(&arena, &env);
}

static void teardown(void)
{
    clpi_arena_done(&arena);
    clpi_env_done(&env);
}

TestSuite(trace, .init = setup, .fini = teardown);

static clpi_ir *from_text(const char *text)
{
    clpi_source *source = CLPI_NEW(&arena, clpi_source);
    clpi_file *file;
    clpi_ir *ir;
    *source = (clpi_source){ .text = text, .n_bytes = strlen(text) };
    cr_assert_eq(clpi_parse(&env, &arena, source, &file), CLP_OK, "%s", clpi_error_text(&env));
    cr_assert_eq(clpi_elaborate(&env, &arena, file, NULL, NULL, &ir), CLP_OK, "%s", clpi_error_text(&env));
    cr_assert_eq(clpi_verify(ir, CLP_ERR_INVALID), CLP_OK, "%s", clpi_error_text(&env));
    return ir;
}

static clpi_ir *from_desc(const clp_kernel_desc *desc)
{
    clpi_ir *ir;
    cr_assert_eq(clpi_trace(&env, &arena, desc, &ir), CLP_OK, "%s", clpi_error_text(&env));
    cr_assert_eq(clpi_verify(ir, CLP_ERR_INVALID), CLP_OK, "%s", clpi_error_text(&env));
    return ir;
}

static void expect_same(const clp_kernel_desc *desc, const char *text)
{
    clpi_str why, traced;
    clpi_str_init(&why, &env);
    clpi_str_init(&traced, &env);
    const clpi_ir *ir = from_desc(desc);
    clpi_ir_print(ir, &traced);
    cr_expect(ir_equal(ir, from_text(text), &why), "%s\n%s", why.text, traced.text);
    clpi_str_done(&traced);
    clpi_str_done(&why);
}

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))
static const clp_val none = { 0 };

/* ---- The same kernel twice: the order of calls is that of the ops, so calls are arguments of calls only where C leaves
 * no choice of which comes first. ---- */

static void add_one(clp_builder *b, const clp_ref *r, void *user)
{
    (void)user;
    clp_store(b, r[1], clp_add(b, clp_load(b, r[0]), clp_const(b, CLP_I32, 1)));
}

Test(trace, elementwise_kernel)
{
    clp_operand_desc operands[] = {
        { .role = CLP_IN, .name = "x", .dtype = CLP_I32, .shape = "N", .block = "b", .index_map = "(i) -> (i)" },
        { .role = CLP_OUT, .name = "o", .dtype = CLP_I32, .shape = "N", .block = "b", .index_map = "(i) -> (i)" } };
    clp_axis_desc axes[] = { { .name = "i", .size = "cdiv(N, b)" } };
    clp_param params[] = { { "b", 8 } };
    clp_kernel_desc desc = { .name = "add_one", .operands = operands, .n_operands = COUNT(operands), .axes = axes,
                             .n_axes = COUNT(axes), .params = params, .n_params = COUNT(params), .body = add_one };
    expect_same(&desc, "kernel add_one<b = 8>(in x: i32[N] block [b] at (i), out o: i32[N] block [b] at (i))"
                       "grid (i = cdiv(N, b)) { o[...] = x[...] + 1; }");
}

static void matmul(clp_builder *b, const clp_ref *r, void *user)
{
    (void)user;
    clp_val zero = clp_const(b, CLP_I32, 0);
    clp_if_begin(b, clp_eq(b, clp_program_id(b, 2), zero), NULL, 0);
    clp_store(b, r[3], clp_constf(b, CLP_F32, 0));
    clp_if_end(b, NULL, 0, NULL);
    clp_val acc = clp_load(b, r[3]);
    clp_val x = clp_load(b, r[0]), y = clp_load(b, r[1]);
    clp_store(b, r[3], clp_add(b, acc, clp_dot(b, x, y, CLP_F32)));
    clp_val k = clp_program_id(b, 2), n = clp_num_programs(b, 2);
    clp_if_begin(b, clp_eq(b, k, clp_sub(b, n, clp_const(b, CLP_I32, 1))), NULL, 0);
    clp_store(b, r[2], clp_cast(b, clp_load(b, r[3]), CLP_F16));
    clp_if_end(b, NULL, 0, NULL);
}

Test(trace, blocked_product)
{
    clp_operand_desc operands[] = {
        { CLP_IN, "x", CLP_F16, "M, K", "bm, 16", "(i, j, k) -> (i, k)", "0", NULL },
        { CLP_IN, "y", CLP_F16, "K, N", "16, bm * 2", "(i, j, k) -> (k, j)", "0", NULL },
        { CLP_OUT, "z", CLP_F16, "M, N", "bm, bm * 2", "(i, j, k) -> (i, j)", NULL, NULL },
        { CLP_SCRATCH, "acc", CLP_F32, "bm, bm * 2", NULL, NULL, NULL, NULL } };
    clp_axis_desc axes[] = { { "i", "cdiv(M, bm)", false }, { "j", "cdiv(N, bm * 2)", false }, { "k", "max(1, cdiv(K, 16))", true } };
    clp_param params[] = { { "bm", 8 } };
    clp_kernel_desc desc = { "matmul", operands, COUNT(operands), axes, COUNT(axes), params, COUNT(params), NULL, false, matmul, NULL };
    expect_same(&desc, "kernel matmul<bm = 8>(in x: f16[M, K] block [bm, 16] at (i, k) pad 0,"
                       "in y: f16[K, N] block [16, bm * 2] at (k, j) pad 0, out z: f16[M, N] block [bm, bm * 2] at (i, j),"
                       "scratch acc: f32[bm, bm * 2])"
                       "grid (i = cdiv(M, bm), j = cdiv(N, bm * 2), k = max(1, cdiv(K, 16)) arbitrary) {"
                       "  if (k == 0) { acc[...] = 0; }"
                       "  acc[...] += dot(x[...], y[...], acc = f32);"
                       "  if (k == num_programs(k) - 1) { z[...] = cast(acc[...], f16); } }");
}

static void declarations(clp_builder *b, const clp_ref *r, void *user)
{
    (void)user;
    clp_store(b, r[5], clp_load(b, r[2]));
}

Test(trace, every_part_of_a_description)
{
    clp_operand_desc operands[] = {
        { CLP_PREFETCH, "t", CLP_I32, "G, 2", NULL, NULL, NULL, NULL },
        { CLP_SCALAR, "n", CLP_I64, NULL, NULL, NULL, NULL, NULL },
        { CLP_IN, "x", CLP_F32, "M, 2 * N + 1, 7", "_, element(b + 2, pad = (1, 3)), 7", "(i, j) -> (t[i, j % 2] + n, i * b, 0)", "-inf", NULL },
        { CLP_IN, "y", CLP_I4, "M * 2", "8", "(i, j) -> (M - 1 - i)", "-1", NULL },
        { CLP_IN, "z", CLP_F32, "M, N", "1, 2", "(p, q) -> (min(p, num_programs(i) - 1), q)", NULL, NULL },
        { CLP_OUT, "q", CLP_F32, "M, N", "b + 2, 7", "(i, j) -> (i, j)", NULL, "z" },
        { CLP_INOUT, "h", CLP_U8, "", NULL, NULL, "255", NULL } };
    clp_axis_desc axes[] = { { "i", "max(1, cdiv(M, b))", false }, { "j", "n * 2", true } };
    clp_param params[] = { { "b", 4 } };
    clp_kernel_desc desc = { "d", operands, COUNT(operands), axes, COUNT(axes), params, COUNT(params),
                             "N % 8 == 0 && M > 0, (M & 3) == 0 || n < 2 * N", true, declarations, NULL };
    expect_same(&desc, "kernel d<b = 4>(prefetch t: i32[G, 2], scalar n: i64,"
                       "in x: f32[M, 2 * N + 1, 7] block [_, element(b + 2, pad = (1, 3)), 7] at (t[i, j % 2] + n, i * b, 0) pad -inf,"
                       "in y: i4[M * 2] block [8] at (M - 1 - i) pad -1,"
                       "in z: f32[M, N] block [1, 2] at (min(i, num_programs(i) - 1), j),"
                       "out q: f32[M, N] block [b + 2, 7] at (i, j) alias z, inout h: u8[] pad 255)"
                       "grid (i = max(1, cdiv(M, b)), j = n * 2 arbitrary)"
                       "require N % 8 == 0 && M > 0, (M & 3) == 0 || n < 2 * N math fast { q[...] = x[...]; }");
}

static void control(clp_builder *b, const clp_ref *r, void *user)
{
    (void)user;
    clp_val zero = clp_const(b, CLP_I32, 0), one = clp_const(b, CLP_I32, 1), at, carried[2];
    carried[0] = zero;
    carried[1] = clp_load(b, r[0]);
    at = clp_for_begin(b, zero, clp_const(b, CLP_I32, 8), 2, carried, 2, carried);
    carried[0] = clp_add(b, carried[0], clp_load_at(b, r[0], (clp_subscript[]){ clp_at(at) }, 1, none, none));
    carried[1] = clp_add(b, carried[1], at);
    clp_for_end(b, carried, 2, carried);

    clp_val sum = carried[0], limit = clp_const(b, CLP_I32, 100);
    clp_while_begin(b, clp_lt(b, sum, limit), &sum, 1, &sum);
    clp_val is_even = clp_eq(b, clp_mod(b, sum, clp_const(b, CLP_I32, 2)), zero);
    clp_val next = sum;
    clp_if_begin(b, is_even, &sum, 1);
    next = clp_add(b, sum, one);
    clp_if_else(b, &next, 1);
    next = clp_mul(b, sum, clp_const(b, CLP_I32, 3));
    clp_if_end(b, &next, 1, &next);
    clp_while_end(b, clp_lt(b, next, limit), &next, 1, &sum);
    clp_print(b, "sum={}", &sum, 1);
    clp_assert(b, clp_ge(b, sum, limit), "too small");
    clp_store(b, r[1], clp_add(b, carried[1], sum));
}

Test(trace, loops_and_branches)
{
    clp_operand_desc operands[] = {
        { CLP_IN, "x", CLP_I32, "N", "8", "(i) -> (i)", NULL, NULL },
        { CLP_OUT, "o", CLP_I32, "N", "8", "(i) -> (i)", NULL, NULL } };
    clp_axis_desc axes[] = { { "i", "cdiv(N, 8)", false } };
    clp_kernel_desc desc = { "control", operands, 2, axes, 1, NULL, 0, NULL, false, control, NULL };
    expect_same(&desc, "kernel control(in x: i32[N] block [8] at (i), out o: i32[N] block [8] at (i)) grid (i = cdiv(N, 8)) {"
                       "  var s = 0; var t = x[...];"
                       "  for (e in 0 .. 8 step 2) { s = s + x[e]; t = t + e; }"
                       "  while (s < 100) { if (s % 2 == 0) { s = s + 1; } else { s = s * 3; } }"
                       "  print(\"sum={}\", s); assert(s >= 100, \"too small\");"
                       "  o[...] = t + s; }");
}

static void places(clp_builder *b, const clp_ref *r, void *user)
{
    (void)user;
    clp_val i = clp_program_id(b, 0), x, m;
    const int64_t eight[] = { 8 };
    m = clp_iota(b, eight, 1, 0, CLP_I32);
    m = clp_lt(b, m, clp_dim_size(b, "N"));
    x = clp_load_at(b, r[0], (clp_subscript[]){ clp_at(i), clp_every() }, 2, m, clp_const(b, CLP_I32, -1));
    clp_store_at(b, r[1], (clp_subscript[]){ clp_slice(0, 8, 0) }, 1, x, m);
    x = clp_load_at(b, r[0], (clp_subscript[]){ clp_ds(i, 2, 3), clp_ellipsis() }, 2, none, none);
    x = clp_index(b, x, (clp_subscript[]){ clp_slice(-1, CLP_END, 1), clp_newaxis(), clp_slice(0, CLP_END, 2) }, 3);
    clp_store_at(b, r[1], (clp_subscript[]){ clp_slice(4, 8, 1) }, 1, clp_reshape(b, x, (int64_t[]){ 4 }, 1), none);
    clp_atomic_add(b, r[1], (clp_subscript[]){ clp_at(clp_iota(b, eight, 1, 0, CLP_I32)) }, 1, clp_const(b, CLP_I32, 1), m);
    clp_val zero = clp_const(b, CLP_I32, 0);
    clp_atomic_cas(b, r[1], (clp_subscript[]){ clp_at(zero) }, 1, zero, i);
}

Test(trace, subscripts_masks_atomics)
{
    clp_operand_desc operands[] = {
        { CLP_IN, "x", CLP_I32, "16, 8", NULL, NULL, NULL, NULL },
        { CLP_INOUT, "o", CLP_I32, "N", "8", "(i) -> (i)", NULL, NULL } };
    clp_axis_desc axes[] = { { "i", "cdiv(N, 8)", false } };
    clp_kernel_desc desc = { "places", operands, 2, axes, 1, NULL, 0, NULL, false, places, NULL };
    expect_same(&desc, "kernel places(in x: i32[16, 8], inout o: i32[N] block [8] at (i)) grid (i = cdiv(N, 8)) {"
                       "  let p = program_id(i); let m = iota([8]) < N;"
                       "  store(o[0:8], load(x[p, :], mask = m, other = -1), mask = m);"
                       "  o[4:8] = reshape(x[ds(p, 2, 3), ...][-1:, None, ::2], [4]);"
                       "  atomic_add(o[iota([8])], 1, mask = m); atomic_cas(o[0], 0, p); }");
}

static void tiles(clp_builder *b, const clp_ref *r, void *user)
{
    (void)user;
    const int64_t shape[] = { 2, 4 };
    clp_val v = clp_load(b, r[0]), two = clp_constf(b, CLP_F32, 2);
    clp_val w = clp_concat(b, (clp_val[]){ v, clp_full(b, shape, 2, two) }, 2, 0);
    clp_store(b, r[1], w);
    w = clp_transpose(b, clp_reshape(b, v, (int64_t[]){ 4, 2 }, 2), NULL, 0);
    clp_val flipped = clp_flip(b, w, 1);
    w = clp_add(b, flipped, clp_roll(b, w, clp_const(b, CLP_I32, 1), 0));
    w = clp_add(b, w, clp_take(b, v, clp_iota(b, (int64_t[]){ 2 }, 1, 0, CLP_I32), 0));
    w = clp_add(b, w, clp_sum(b, v, (int[]){ 1 }, 1, true));
    w = clp_add(b, w, clp_max(b, v, NULL, 0, false));
    w = clp_add(b, w, clp_cumsum(b, v, -1, true));
    w = clp_add(b, w, clp_sort(b, v, 0));
    w = clp_clip(b, w, clp_constf(b, CLP_F32, -1), two);
    clp_store_at(b, r[1], (clp_subscript[]){ clp_slice(0, 2, 1) }, 1, w, none);
    w = clp_bitcast(b, clp_argmax(b, v, 0, false), CLP_F32);
    clp_store(b, r[1], clp_broadcast(b, w, (int64_t[]){ 4, 4 }, 2));
}

Test(trace, reductions_and_movement)
{
    clp_operand_desc operands[] = {
        { CLP_IN, "x", CLP_F32, "2, 4", NULL, NULL, NULL, NULL }, { CLP_OUT, "o", CLP_F32, "4, 4", NULL, NULL, NULL, NULL } };
    clp_kernel_desc desc = { "tiles", operands, 2, NULL, 0, NULL, 0, NULL, false, tiles, NULL };
    expect_same(&desc, "kernel tiles(in x: f32[2, 4], out o: f32[4, 4]) grid () {"
                       "  let v = x[...]; o[...] = concat(v, full([2, 4], 2.0), axis = 0);"
                       "  var w = transpose(reshape(v, [4, 2]));"
                       "  w = flip(w, axis = 1) + roll(w, 1, axis = 0);"
                       "  w = w + take(v, iota([2]), axis = 0);"
                       "  w = w + sum(v, axis = 1, keepdims = true);"
                       "  w = w + max(v); w = w + cumsum(v, axis = -1, reverse = true); w = w + sort(v, axis = 0);"
                       "  o[0:2] = clip(w, -1, 2);"
                       "  o[...] = broadcast(bitcast(argmax(v, axis = 0), f32), [4, 4]); }");
}

/* ---- Every elementwise call ---- */

/* Operands of an elementwise op that its types take. */
static clp_val operand(clp_builder *b, clpi_types types, int i)
{
    if (types == CLP_INT)
        return clp_const(b, CLP_I32, i + 1);
    if (types == CLP_BIT || (types == CLP_SEL && i == 0))
        return clp_const(b, CLP_BOOL, 1);
    return clp_constf(b, CLP_F32, i + 1);
}

#define CALL_1(name, types) clp_##name(b, operand(b, CLP_##types, 0))
#define CALL_2(name, types) clp_##name(b, operand(b, CLP_##types, 0), operand(b, CLP_##types, 1))
#define CALL_3(name, types) clp_##name(b, operand(b, CLP_##types, 0), operand(b, CLP_##types, 1), operand(b, CLP_##types, 2))

/* user: [CLP_N_OPS] what each call made. */
static void every_call(clp_builder *b, const clp_ref *r, void *user)
{
    clp_val *made = user;
    (void)r;
#define CLP_EW(name, text, arity, types, flags, ...) made[CLP_OP_##name] = CALL_##arity(name, types);
#define CLP_OP(name, text, arity, rule, flags)
#include "ir/ops.def"
#undef CLP_EW
#undef CLP_OP
}

Test(trace, every_elementwise_call_makes_its_op)
{
    clp_operand_desc operands[] = { { CLP_OUT, "o", CLP_F32, "4", NULL, NULL, NULL, NULL } };
    clp_val made[CLP_N_OPS] = { { 0 } };
    clp_kernel_desc desc = { "every", operands, 1, NULL, 0, NULL, 0, NULL, false, every_call, made };
    const clpi_ir *ir = from_desc(&desc);
    int n = 0;
    for (int kind = 1; kind < CLP_N_OPS; kind++) {
        if (!clpi_ops[kind].is_elementwise)
            continue;
        n++;
        cr_expect_eq((int)clpi_op_at(ir, made[kind])->kind, kind, "%s", clpi_ops[kind].name);
    }
    cr_expect_gt(n, 60);
}

/* ---- Mistakes ---- */

static void expect_error(const clp_kernel_desc *desc, const char *message)
{
    clpi_ir *ir;
    cr_expect_eq(clpi_trace(&env, &arena, desc, &ir), CLP_ERR_INVALID);
    cr_expect_null(ir);
    cr_expect_str_eq(clpi_error_text(&env), message);
}

static void expect_body_error(clp_body_fn body, void *user, const char *message)
{
    clp_operand_desc operands[] = {
        { CLP_IN, "x", CLP_I32, "N", "8", "(i) -> (i)", NULL, NULL }, { CLP_OUT, "o", CLP_F32, "N", "8", "(i) -> (i)", NULL, NULL } };
    clp_axis_desc axes[] = { { "i", "cdiv(N, 8)", false } };
    clp_kernel_desc desc = { "k", operands, 2, axes, 1, NULL, 0, NULL, false, body, user };
    expect_error(&desc, message);
}

static void mistake_first(clp_builder *b, const clp_ref *r, void *user)
{
    clp_val *later = user, x = clp_load(b, r[0]), y = clp_constf(b, CLP_F32, 1);
    later[0] = clp_add(b, x, y);
    later[1] = clp_load(b, r[0]);
    clp_store(b, r[0], later[1]);
    clp_for_begin(b, x, x, 0, &x, 1, &later[2]);
}

Test(trace, the_first_mistake_stays)
{
    clp_val later[3] = { { 7 }, { 7 }, { 7 } };
    expect_body_error(mistake_first, later, "k: call 3, clp_add(i32[8], f32): `+` takes operands of one dtype: i32 and f32 were given "
                                            "(cast one of them)");
    for (int i = 0; i < 3; i++)
        cr_expect_eq(later[i].id, 0, "call %d after the mistake", i);
}

static void null_value(clp_builder *b, const clp_ref *r, void *user)
{
    (void)user;
    clp_store(b, r[1], (clp_val){ 0 });
}

Test(trace, a_null_value)
{
    expect_body_error(null_value, NULL, "k: call 1, clp_store(?): value 1 is the null value");
}

static void foreign_ref(clp_builder *b, const clp_ref *r, void *user)
{
    (void)user;
    (void)r;
    clp_load(b, (clp_ref){ 3 });
}

Test(trace, a_ref_of_another_kernel)
{
    expect_body_error(foreign_ref, NULL, "k: call 1, clp_load(): the ref is none of this kernel's 2 operands");
}

static void out_of_reach(clp_builder *b, const clp_ref *r, void *user)
{
    (void)user;
    clp_val zero = clp_const(b, CLP_I32, 0);
    clp_for_begin(b, zero, clp_const(b, CLP_I32, 4), 1, NULL, 0, NULL);
    clp_val inner = clp_constf(b, CLP_F32, 1);
    clp_for_end(b, NULL, 0, NULL);
    clp_store(b, r[1], inner);
}

Test(trace, a_value_of_a_region_that_has_ended)
{
    expect_body_error(out_of_reach, NULL, "k: call 6, clp_store(f32): value 1 was made in a region that has ended; carry it out");
}

static void wrong_end(clp_builder *b, const clp_ref *r, void *user)
{
    (void)user;
    (void)r;
    clp_if_begin(b, clp_const(b, CLP_BOOL, 1), NULL, 0);
    clp_for_end(b, NULL, 0, NULL);
}

Test(trace, an_end_without_its_begin)
{
    expect_body_error(wrong_end, NULL, "k: call 3, clp_for_end(): no `for` is open here");
}

static void no_end(clp_builder *b, const clp_ref *r, void *user)
{
    (void)user;
    (void)r;
    clp_if_begin(b, clp_const(b, CLP_BOOL, 1), NULL, 0);
}

Test(trace, a_begin_without_its_end)
{
    expect_body_error(no_end, NULL, "k: `if` is not ended");
}

static void carried_shape(clp_builder *b, const clp_ref *r, void *user)
{
    (void)user;
    clp_val zero = clp_const(b, CLP_I32, 0), s = zero, x = clp_load(b, r[0]);
    clp_for_begin(b, zero, clp_const(b, CLP_I32, 4), 1, &s, 1, &s);
    s = clp_add(b, s, x);
    clp_for_end(b, &s, 1, &s);
}

Test(trace, a_carried_value_changes_its_shape)
{
    expect_body_error(carried_shape, NULL, "k: call 6, clp_for_end(): a carried value keeps its dtype and shape: it began as i32, "
                                           "it is given i32[8]");
}

static void lone_brace(clp_builder *b, const clp_ref *r, void *user)
{
    (void)user;
    (void)r;
    clp_val one = clp_const(b, CLP_I32, 1);
    clp_print(b, "{} {", &one, 1);
}

Test(trace, a_print_with_a_lone_brace)
{
    expect_body_error(lone_brace, NULL, "k: call 2, clp_print(i32): `print` has a lone `{` in its text: {} stands for a value, "
                                        "{{ and }} for braces");
}

static void too_large(clp_builder *b, const clp_ref *r, void *user)
{
    (void)user;
    (void)r;
    clp_const(b, CLP_I8, 128);
}

Test(trace, a_constant_that_does_not_fit)
{
    expect_body_error(too_large, NULL, "k: call 1, clp_const(): 128 does not fit i8");
}

static void unknown_dim(clp_builder *b, const clp_ref *r, void *user)
{
    (void)user;
    (void)r;
    clp_dim_size(b, "M");
}

Test(trace, a_dim_that_no_array_has)
{
    expect_body_error(unknown_dim, NULL, "k: call 1, clp_dim_size(): no array has a dim named M");
}

static void nothing(clp_builder *b, const clp_ref *r, void *user)
{
    (void)b;
    (void)r;
    (void)user;
}

/* One operand x of this shape, block and map, one axis i. */
static void expect_text_error(const char *shape, const char *block, const char *map, const char *pad, const char *message)
{
    clp_operand_desc operands[] = { { CLP_IN, "x", CLP_I32, shape, block, map, pad, NULL } };
    clp_axis_desc axes[] = { { "i", "cdiv(N, 8)", false } };
    clp_kernel_desc desc = { "k", operands, 1, axes, 1, NULL, 0, NULL, false, nothing, NULL };
    expect_error(&desc, message);
}

Test(trace, mistakes_in_texts_say_which_text_and_where)
{
    expect_text_error("N +", NULL, NULL, NULL, "k: x: shape \"N +\", column 4: expected an expression, got the end of the text");
    expect_text_error("N", "8, 8", "(i) -> (i, 0)", NULL, "k: x: block has 2 dims, array has 1");
    expect_text_error("N", "8", "(i) -> (i, 0)", NULL, "k: x: the index map has 2 expressions, the block has 1 dim: one for each, `_` included");
    expect_text_error("N", "8", "(i, j) -> (i)", NULL, "k: x: index map \"(i, j) -> (i)\", column 1: the map names 2 axes, the grid has 1");
    expect_text_error("N", "8", "(i)", NULL, "k: x: index map \"(i)\", column 4: expected `->` after the axes, got the end of the text");
    expect_text_error("N", "8", "i -> (i)", NULL, "k: x: index map \"i -> (i)\", column 1: expected `(`, got `i`");
    expect_text_error("N", "8", "(i) -> i", NULL, "k: x: index map \"(i) -> i\", column 8: expected `(` after `->`, got `i`");
    expect_text_error("N", "8", "(i) -> (i) + 1", NULL, "k: x: index map \"(i) -> (i) + 1\", column 12: expected `,` or the end, got `+`");
    expect_text_error("N", "8", "(p) -> (i)", NULL, "k: x: index map \"(p) -> (i)\", column 9: the map does not name the axis `i`");
    expect_text_error("N", "8", "(i, i) -> (i)", NULL, "k: x: index map \"(i, i) -> (i)\", column 5: the map names two axes `i`");
    expect_text_error("N", "8", NULL, NULL, "k: x: a block needs an index map");
    expect_text_error("N", NULL, "(i) -> (i)", NULL, "k: x: an index map needs a block");
}

/* The names of the one operand and the one axis. */
static void expect_name_error(const char *operand, const char *axis, const char *message)
{
    clp_operand_desc operands[] = { { CLP_IN, operand, CLP_I32, "N", NULL, NULL, NULL, NULL } };
    clp_axis_desc axes[] = { { axis, "N", false } };
    clp_kernel_desc desc = { "k", operands, 1, axes, 1, NULL, 0, NULL, false, nothing, NULL };
    expect_error(&desc, message);
}

Test(trace, a_name_that_is_missing_or_none)
{
    expect_name_error(NULL, "i", "k: operand 0 has no name");
    expect_name_error("", "i", "k: operand 0 has no name");
    expect_name_error("2x", "i", "k: operand 0: `2x` is no name");
    expect_name_error("x", NULL, "k: axis 0 has no name");
}

Test(trace, a_description_without_a_body)
{
    clpi_ir *ir;
    clp_kernel_desc desc = { .name = "k" };
    cr_expect_eq(clpi_trace(&env, &arena, &desc, &ir), CLP_ERR_ARG);
    cr_expect_str_eq(clpi_error_text(&env), "k: the description has no body");
    desc.name = "for";
    cr_expect_eq(clpi_trace(&env, &arena, &desc, &ir), CLP_ERR_ARG);
    cr_expect_str_eq(clpi_error_text(&env), "a kernel needs a name: `for` is none");
}

/* ---- Limits and memory ---- */

/* user: how deep. */
static void nested(clp_builder *b, const clp_ref *r, void *user)
{
    clp_val zero = clp_const(b, CLP_I32, 0), v = clp_load_at(b, r[0], (clp_subscript[]){ clp_at(zero) }, 1, none, none);
    for (int i = 0; i < *(int *)user; i++)
        clp_while_begin(b, clp_lt(b, v, zero), &v, 1, &v);
    for (int i = 0; i < *(int *)user; i++)
        clp_while_end(b, clp_lt(b, v, zero), &v, 1, &v);
}

Test(trace, regions_nest_as_deep_as_the_language_reads)
{
    int depth = 191;
    expect_body_error(nested, &depth, "k: call 384, clp_while_begin(bool): regions are nested too deeply: the limit is 190");
    depth = 190;
    clp_operand_desc operands[] = { { CLP_IN, "x", CLP_I32, "1", NULL, NULL, NULL, NULL } };
    clp_kernel_desc desc = { "k", operands, 1, NULL, 0, NULL, 0, NULL, false, nested, &depth };
    const clpi_ir *ir = from_desc(&desc);
    clpi_str text, why;
    clpi_str_init(&text, &env);
    clpi_str_init(&why, &env);
    clpi_ir_print(ir, &text);
    cr_expect(ir_equal(ir, from_text(text.text), &why), "%s", why.text);
    clpi_str_done(&why);
    clpi_str_done(&text);
}

static void lost_memory(clp_builder *b, const clp_ref *r, void *user)
{
    add_one(b, r, user);
    control(b, r, user);
}

/* The first, second, third ... allocation fails: each time the status says so, and nothing stays allocated. */
Test(trace, out_of_memory_anywhere)
{
    clp_operand_desc operands[] = {
        { CLP_IN, "x", CLP_I32, "N", "b", "(p) -> (min(p, num_programs(i) - 1))", "-1", NULL },
        { CLP_OUT, "o", CLP_I32, "N", "b", "(i) -> (i)", NULL, "x" } };
    clp_axis_desc axes[] = { { "i", "cdiv(N, b)", false } };
    clp_param params[] = { { "b", 8 } };
    clp_kernel_desc desc = { "k", operands, 2, axes, 1, params, 1, "N > 0", false, lost_memory, NULL };
    clp_status status = CLP_ERR_OOM;
    for (size_t budget = 0; status != CLP_OK; budget++) {
        failing_alloc failing = { .budget = budget };
        clpi_env small;
        clpi_arena of_small;
        clpi_ir *ir;
        clpi_env_init(&small, failing_alloc_fn, &failing);
        clpi_arena_init(&of_small, &small);
        status = clpi_trace(&small, &of_small, &desc, &ir);
        cr_assert(status == CLP_OK || status == CLP_ERR_OOM, "budget %zu: %s: %s", budget, clp_status_name(status), clpi_error_text(&small));
        cr_assert_eq(status == CLP_OK, ir != NULL);
        clpi_arena_done(&of_small);
        clpi_env_done(&small);
        cr_assert_eq(failing.n_live, 0, "budget %zu leaves %zu allocations", budget, failing.n_live);
        cr_assert_lt(budget, 10000);
    }
}
