/* The printer: literals, strings, and IR made by hand. What it makes of whole kernels stands in tests/golden/ir-*.plk. */
#include <math.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "support/support.h"
#include "text/literal.h"
#include "text/text.h"

static clpi_env env;
static clpi_arena arena;
static clpi_str out;

static void setup(void)
{
    clpi_env_init(&env, NULL, NULL);
    clpi_arena_init(&arena, &env);
    clpi_str_init(&out, &env);
}

static void teardown(void)
{
    clpi_str_done(&out);
    clpi_arena_done(&arena);
    clpi_env_done(&env);
}

TestSuite(print, .init = setup, .fini = teardown);

static const char *literal(clp_dtype d, uint64_t bits, bool with_dtype)
{
    clpi_str_cut(&out, 0);
    clpi_literal_print(&out, d, bits, with_dtype);
    return out.text;
}

/* ---- Literals ---- */

Test(print, every_16_and_8_bit_float_reads_back)
{
    static const clp_dtype dtypes[] = { CLP_F16, CLP_BF16, CLP_F8E4M3, CLP_F8E5M2 };
    for (int i = 0; i < 4; i++) {
        clp_dtype d = dtypes[i];
        for (uint64_t bits = 0; bits < UINT64_C(1) << clp_dtype_bits(d); bits++) {
            const char *text = literal(d, bits, false);
            if (isnan(clpi_elem_from_bits(d, bits).f)) {
                cr_assert_str_eq(text, "nan", "%s %llx", clp_dtype_name(d), (unsigned long long)bits);
                continue;
            }
            uint64_t read = clpi_f64_to_small_bits(d, strtod(text, NULL));
            cr_assert_eq(read, bits, "%s %llx was printed as %s, which reads as %llx", clp_dtype_name(d),
                         (unsigned long long)bits, text, (unsigned long long)read);
        }
    }
}

Test(print, many_f32_and_f64_read_back)
{
    uint64_t state = 1;
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = random_next(&state), bits32 = bits >> 32;
        double d = clpi_elem_from_bits(CLP_F64, bits).d;
        float f = clpi_elem_from_bits(CLP_F32, bits32).f;
        if (!isnan(d))
            cr_assert_eq(clpi_elem_to_bits(CLP_F64, (clpi_elem){ .d = strtod(literal(CLP_F64, bits, false), NULL) }), bits);
        if (!isnan(f))
            cr_assert_eq(clpi_f64_to_small_bits(CLP_F32, strtod(literal(CLP_F32, bits32, false), NULL)), bits32);
    }
}

static const char *f32(float f)
{
    return literal(CLP_F32, clpi_elem_to_bits(CLP_F32, (clpi_elem){ .f = f }), true);
}

Test(print, floats_look_as_people_write_them)
{
    cr_expect_str_eq(f32(0.0f), "0.0f32");
    cr_expect_str_eq(f32(-0.0f), "-0.0f32");
    cr_expect_str_eq(f32(1.0f), "1.0f32");
    cr_expect_str_eq(f32(-2.5f), "-2.5f32");
    cr_expect_str_eq(f32(0.1f), "0.1f32");
    cr_expect_str_eq(f32(0.0625f), "0.0625f32");
    cr_expect_str_eq(f32(100.0f), "100.0f32");
    cr_expect_str_eq(f32(0.0001f), "0.0001f32");
    cr_expect_str_eq(f32(-1e30f), "-1e30f32");
    cr_expect_str_eq(f32(3.4028235e38f), "3.4028235e38f32");
    cr_expect_str_eq(f32(1e-45f), "1e-45f32");
    cr_expect_str_eq(f32(INFINITY), "cast(inf, f32)");
    cr_expect_str_eq(f32(-INFINITY), "cast(-inf, f32)");
    cr_expect_str_eq(f32(NAN), "cast(nan, f32)");
    cr_expect_str_eq(literal(CLP_BF16, 0x3f00, true), "0.5bf16");
    cr_expect_str_eq(literal(CLP_F8E4M3, 0x38, true), "1.0f8e4m3");
    cr_expect_str_eq(literal(CLP_F64, clpi_elem_to_bits(CLP_F64, (clpi_elem){ .d = 1.0 / 3.0 }), false), "0.3333333333333333");
}

Test(print, integers_have_their_sign_and_all_digits)
{
    cr_expect_str_eq(literal(CLP_I64, UINT64_C(1) << 63, true), "-9223372036854775808i64");
    cr_expect_str_eq(literal(CLP_U64, UINT64_MAX, true), "18446744073709551615u64");
    cr_expect_str_eq(literal(CLP_I8, 0x80, true), "-128i8");
    cr_expect_str_eq(literal(CLP_U8, 0xff, true), "255u8");
    cr_expect_str_eq(literal(CLP_I4, 0xf, false), "-1");
    cr_expect_str_eq(literal(CLP_BOOL, 1, true), "true");
    cr_expect_str_eq(literal(CLP_BOOL, 0, true), "false");
}

Test(print, strings_are_escaped)
{
    clpi_string_print(&out, "a \"b\"\\\n\tc");
    cr_expect_str_eq(out.text, "\"a \\\"b\\\"\\\\\\n\\tc\"");
}

/* ---- IR made by hand ---- */

static void on_report(void *user, clpi_pos pos, const char *text)
{
    (void)user;
    (void)pos;
    cr_assert(false, "%s", text);
}

/* kernel k(out <name>: i32[8]) grid (), the body still empty. */
static clpi_build begin_kernel(const char *operand)
{
    clpi_build b;
    clpi_ir *ir = clpi_ir_new(&env, &arena, "k");
    clpi_build_init(&b, ir, on_report, NULL);
    clp_val shape = clpi_make_int(&b, CLP_I64, 8);
    clpi_operand x = { .role = CLP_OUT, .name = operand, .dtype = CLP_I32, .rank = 1, .shape = &shape, .alias = -1 };
    clpi_build_operand(&b, &x);
    clpi_build_begin_body(&b);
    return b;
}

static const char *printed(clpi_build *b)
{
    cr_assert(clpi_build_end(b));
    clpi_str_cut(&out, 0);
    clpi_ir_print(b->ir, &out);
    return strchr(out.text, '{');
}

static const clpi_subscript whole[] = { { .kind = CLPI_ELLIPSIS } };

Test(print, values_that_change_places_keep_a_name)
{
    clpi_build b = begin_kernel("o");
    clp_val inits[2] = { clpi_make_int(&b, CLP_I32, 1), clpi_make_int(&b, CLP_I32, 2) }, index, carried[2], results[2];
    clpi_for_begin(&b, clpi_make_int(&b, CLP_I32, 0), clpi_make_int(&b, CLP_I32, 3), 1, inits, 2, &index, carried);
    clpi_for_end(&b, (clp_val[]){ carried[1], carried[0] }, 2, results);
    clpi_make_store(&b, 0, whole, 1, results[0], (clp_val){ 0 });
    cr_expect_str_eq(printed(&b), "{\n"
                                  "    var v1 = 1i32;  // i32\n"
                                  "    var v2 = 2i32;  // i32\n"
                                  "    for (v3 in 0i32 .. 3i32) {\n"
                                  "        let v4 = v1;  // i32\n"
                                  "        v1 = v2;\n"
                                  "        v2 = v4;\n"
                                  "    }\n"
                                  "    let v5 = broadcast(v1, [8]);  // i32[8]\n"
                                  "    o[...] = v5;\n"
                                  "}\n");
}

Test(print, names_of_the_kernel_are_left_out)
{
    clpi_build b = begin_kernel("v1");
    clp_val x = clpi_make_load(&b, 0, whole, 1, (clp_val){ 0 }, (clp_val){ 0 });
    clpi_make_store(&b, 0, whole, 1, x, (clp_val){ 0 });
    cr_expect_str_eq(printed(&b), "{\n"
                                  "    let v2 = v1[...];  // i32[8]\n"
                                  "    v1[...] = v2;\n"
                                  "}\n");
}

Test(print, what_an_arm_leaves_alone_is_not_assigned)
{
    clpi_build b = begin_kernel("o");
    clp_val init = clpi_make_int(&b, CLP_I32, 1), two = clpi_make_int(&b, CLP_I32, 2), result;
    clp_val x = clpi_make_load(&b, 0, (clpi_subscript[]){ { .kind = CLPI_AT, .val = init } }, 1, (clp_val){ 0 }, (clp_val){ 0 });
    clp_val condition = clpi_make_ew(&b, CLP_OP_lt, (clp_val[]){ x, two }, 2);
    clpi_if_begin(&b, condition, &init, 1);
    clpi_if_end(&b, &two, 1, &result);
    clpi_make_print(&b, "{}", &result, 1);
    cr_expect_str_eq(printed(&b), "{\n"
                                  "    let v1 = o[1i32];  // i32\n"
                                  "    let v2 = v1 < 2i32;  // bool\n"
                                  "    var v3 = 1i32;  // i32\n"
                                  "    if (v2) {\n"
                                  "        v3 = 2i32;\n"
                                  "    }\n"
                                  "    print(\"{}\", v3);\n"
                                  "}\n");
}

Test(print, an_op_on_constants_is_not_computed_on_reading)
{
    clpi_build b = begin_kernel("o");
    clp_val one = clpi_make_int(&b, CLP_I32, 1);
    clp_val sum = clpi_make_ew(&b, CLP_OP_add, (clp_val[]){ one, one }, 2);
    clpi_make_print(&b, "{}", &sum, 1);
    clpi_make_print(&b, "{}", &one, 1);
    cr_expect_str_eq(printed(&b), "{\n"
                                  "    var v1 = 1i32;  // i32\n"
                                  "    let v2 = v1 + v1;  // i32\n"
                                  "    print(\"{}\", v2);\n"
                                  "    print(\"{}\", 1i32);\n"
                                  "}\n");
}
