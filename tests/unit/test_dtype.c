/* Element types: facts, every bit pattern of the small floats against arithmetic in double, casts at their edges. */
#include <math.h>

#include "base/dtype.h"
#include "support/support.h"

static const clp_dtype small_floats[] = { CLP_F16, CLP_BF16, CLP_F8E4M3, CLP_F8E5M2 };

/* What the bits of a small float say, from the definition of its fields. */
static double value_of(clp_dtype d, unsigned bits)
{
    int exponent_bits = d == CLP_BF16 ? 8 : d == CLP_F8E4M3 ? 4 : 5;
    int mantissa_bits = clp_dtype_bits(d) - 1 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    unsigned mantissa = bits & ((1u << mantissa_bits) - 1), top = (1u << exponent_bits) - 1;
    unsigned exponent = (bits >> mantissa_bits) & top;
    double sign = bits >> (clp_dtype_bits(d) - 1) ? -1.0 : 1.0;
    if (d == CLP_F8E4M3 ? (bits & 0x7f) == 0x7f : exponent == top && mantissa)
        return NAN;
    if (d != CLP_F8E4M3 && exponent == top)
        return sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * ldexp(mantissa + (1u << mantissa_bits), (int)exponent - bias - mantissa_bits);
}

Test(dtype, every_pattern_of_the_small_floats_has_its_value_and_comes_back)
{
    for (int k = 0; k < 4; k++) {
        clp_dtype d = small_floats[k];
        for (unsigned bits = 0; bits < 1u << clp_dtype_bits(d); bits++) {
            double want = value_of(d, bits);
            float got = clpi_elem_from_bits(d, bits).f;
            if (isnan(want)) {
                cr_expect(isnan(got) && isnan(value_of(d, (unsigned)clpi_elem_to_bits(d, (clpi_elem){ .f = got }))),
                          "%s %#x", clp_dtype_name(d), bits);
                continue;
            }
            cr_expect((double)got == want && !signbit(got) == !signbit(want), "%s %#x: %a", clp_dtype_name(d), bits, (double)got);
            cr_expect_eq(clpi_elem_to_bits(d, (clpi_elem){ .f = got }), bits, "%s %#x", clp_dtype_name(d), bits);
        }
    }
}

static void check_rounding(clp_dtype d, double x, unsigned want)
{
    unsigned once = (unsigned)clpi_f64_to_small_bits(d, x);
    cr_expect_eq(once, want, "%s: %a: expected %#x, got %#x", clp_dtype_name(d), x, want, once);
    if ((double)(float)x == x) {
        unsigned got = (unsigned)clpi_elem_to_bits(d, (clpi_elem){ .f = (float)x });
        cr_expect_eq(got, want, "%s: %a: expected %#x, got %#x from f32", clp_dtype_name(d), x, want, got);
    }
}

/* Between any two neighbours: the tie goes to the even one, what lies beside the tie to the nearer, by however little. */
Test(dtype, rounding_between_all_neighbours_of_the_small_floats)
{
    for (int k = 0; k < 4; k++) {
        clp_dtype d = small_floats[k];
        unsigned sign = 1u << (clp_dtype_bits(d) - 1);
        unsigned last = 0; /* the largest finite value */
        while (isfinite(value_of(d, last + 1)))
            last++;
        for (unsigned bits = 0; bits <= last; bits++) {
            double low = value_of(d, bits);
            double high = bits < last ? value_of(d, bits + 1) : 2 * low - value_of(d, bits - 1); /* as if there were one more */
            double tie = (low + high) / 2;
            check_rounding(d, tie, bits & 1 ? bits + 1 : bits);
            check_rounding(d, -tie, sign | (bits & 1 ? bits + 1 : bits));
            check_rounding(d, nextafter(tie, 0), bits);
            check_rounding(d, nextafter(tie, INFINITY), bits + 1);
            check_rounding(d, -nextafter(tie, 0), sign | bits);
            check_rounding(d, (double)nextafterf((float)tie, 0), bits);
            check_rounding(d, (double)nextafterf((float)tie, INFINITY), bits + 1);
        }
        cr_expect(d == CLP_F8E4M3 ? isnan(value_of(d, (unsigned)clpi_f64_to_small_bits(d, 1e300)))
                                  : clpi_elem_from_bits(d, clpi_f64_to_small_bits(d, -1e300)).f == -INFINITY,
                  "%s: overflow", clp_dtype_name(d));
    }
}

Test(dtype, f32_rounds_from_f64_once)
{
    cr_expect_eq(clpi_f64_to_small_bits(CLP_F32, 0x1.000001p0), 0x3f800000u);
    cr_expect_eq(clpi_f64_to_small_bits(CLP_F32, 0x1.0000010000001p0), 0x3f800001u);
    cr_expect_eq(clpi_f64_to_small_bits(CLP_F32, 1e300), 0x7f800000u);
    /* f32 would round this to a tie of f16, and the tie up. */
    cr_expect_eq(clpi_f64_to_small_bits(CLP_F16, 0x1.005ffffffffffp0), 0x3c01u);
}

static clpi_elem cast(clp_dtype to, clp_dtype from, clpi_elem e)
{
    return clpi_elem_cast(to, from, e);
}

Test(dtype, float_to_integer_truncates_and_saturates)
{
    cr_expect_eq(cast(CLP_I32, CLP_F32, (clpi_elem){ .f = -1.75f }).i, -1);
    cr_expect_eq(cast(CLP_I8, CLP_F32, (clpi_elem){ .f = 127.9f }).i, 127);
    cr_expect_eq(cast(CLP_I8, CLP_F32, (clpi_elem){ .f = 128.0f }).i, 127);
    cr_expect_eq(cast(CLP_I8, CLP_F32, (clpi_elem){ .f = -129.0f }).i, -128);
    cr_expect_eq(cast(CLP_U8, CLP_F32, (clpi_elem){ .f = 255.5f }).u, 255);
    cr_expect_eq(cast(CLP_U8, CLP_F32, (clpi_elem){ .f = -0.5f }).u, 0);
    cr_expect_eq(cast(CLP_U32, CLP_F32, (clpi_elem){ .f = 4e9f }).u, 4000000000u);
    cr_expect_eq(cast(CLP_I64, CLP_F32, (clpi_elem){ .f = 1e30f }).i, INT64_MAX);
    cr_expect_eq(cast(CLP_I64, CLP_F64, (clpi_elem){ .d = -0x1p63 }).i, INT64_MIN);
    cr_expect_eq(cast(CLP_U64, CLP_F64, (clpi_elem){ .d = 0x1.fffffffffffffp63 }).u, UINT64_MAX - 2047);
    cr_expect_eq(cast(CLP_U64, CLP_F32, (clpi_elem){ .f = INFINITY }).u, UINT64_MAX);
    cr_expect_eq(cast(CLP_I16, CLP_BF16, (clpi_elem){ .f = -INFINITY }).i, INT16_MIN);
    cr_expect_eq(cast(CLP_I32, CLP_F64, (clpi_elem){ .d = NAN }).i, 0);
    cr_expect_eq(cast(CLP_U16, CLP_F16, (clpi_elem){ .f = NAN }).u, 0);
}

Test(dtype, integers_narrow_and_widen)
{
    cr_expect_eq(cast(CLP_I8, CLP_I32, (clpi_elem){ .i = 200 }).i, -56);
    cr_expect_eq(cast(CLP_U8, CLP_I32, (clpi_elem){ .i = -1 }).u, 255);
    cr_expect_eq(cast(CLP_U64, CLP_I8, (clpi_elem){ .i = -1 }).u, UINT64_MAX);
    cr_expect_eq(cast(CLP_I64, CLP_U32, (clpi_elem){ .u = UINT32_MAX }).i, UINT32_MAX);
    cr_expect_eq(cast(CLP_I32, CLP_BOOL, (clpi_elem){ .u = 1 }).i, 1);
    cr_expect_eq(cast(CLP_BOOL, CLP_I32, (clpi_elem){ .i = 256 }).u, 1);
    cr_expect_eq(cast(CLP_BOOL, CLP_F32, (clpi_elem){ .f = -0.0f }).u, 0);
    cr_expect_eq(cast(CLP_BOOL, CLP_F32, (clpi_elem){ .f = NAN }).u, 1);
    cr_expect_eq(cast(CLP_BOOL, CLP_F16, (clpi_elem){ .f = 0x1p-24f }).u, 1);
}

Test(dtype, casts_to_floats_round_to_nearest_even)
{
    cr_expect_eq(cast(CLP_F32, CLP_I32, (clpi_elem){ .i = 16777217 }).f, 16777216.0f);
    cr_expect_eq(cast(CLP_F32, CLP_U64, (clpi_elem){ .u = UINT64_MAX }).f, 0x1p64f);
    cr_expect_eq(cast(CLP_F64, CLP_I64, (clpi_elem){ .i = INT64_MIN }).d, -0x1p63);
    cr_expect_eq(cast(CLP_F16, CLP_I32, (clpi_elem){ .i = 2049 }).f, 2048.0f);
    cr_expect_eq(cast(CLP_F16, CLP_I32, (clpi_elem){ .i = 65520 }).f, INFINITY);
    cr_expect_eq(cast(CLP_BF16, CLP_U8, (clpi_elem){ .u = 255 }).f, 255.0f);
    cr_expect_eq(cast(CLP_BF16, CLP_F32, (clpi_elem){ .f = 257.0f }).f, 256.0f);
    cr_expect_eq(cast(CLP_F16, CLP_BF16, (clpi_elem){ .f = 0x1p16f }).f, INFINITY);
    cr_expect_eq(cast(CLP_F16, CLP_F64, (clpi_elem){ .d = 0x1.005ffffffffffp0 }).f, 0x1.004p0f);
    cr_expect(isnan(cast(CLP_F8E4M3, CLP_F32, (clpi_elem){ .f = 465.0f }).f));
    cr_expect_eq(cast(CLP_F8E4M3, CLP_F32, (clpi_elem){ .f = 464.0f }).f, 448.0f);
    cr_expect_eq(cast(CLP_F8E5M2, CLP_F32, (clpi_elem){ .f = 1e9f }).f, INFINITY);
    cr_expect(isnan(cast(CLP_F32, CLP_F64, (clpi_elem){ .d = NAN }).f));
}

/* Ahead of the middle and behind it, as strides may go. */
Test(dtype, elements_of_arrays_are_read)
{
    const uint8_t nibbles[] = { 0x21, 0x43, 0xa5, 0xcb };
    const int16_t halves[] = { 1, -2, 0x4000, -0x8000 };
    const uint32_t words[] = { 1, 0x80000000u, 7 };
    const uint64_t longs[] = { 3, UINT64_MAX };
    const double doubles[] = { 0.1, -2.5 };
    const int want_i4[] = { 1, 2, 3, 4, 5, -6, -5, -4 };
    for (int i = 0; i < 8; i++) {
        cr_expect_eq(clpi_elem_at(CLP_I4, nibbles + 2, i - 4).i, want_i4[i], "i4 %d", i);
        cr_expect_eq(clpi_bits_at(CLP_U4, nibbles + 2, i - 4), (uint64_t)(want_i4[i] & 15), "u4 %d", i);
    }
    for (int i = 0; i < 4; i++)
        cr_expect_eq(clpi_elem_at(CLP_I16, halves + 1, i - 1).i, halves[i], "i16 %d", i);
    cr_expect_eq(clpi_elem_at(CLP_I8, nibbles, 3).i, (int8_t)0xcb);
    cr_expect_eq(clpi_elem_at(CLP_U8, nibbles, 3).u, 0xcb);
    cr_expect_eq(clpi_elem_at(CLP_BOOL, nibbles, 1).u, 1);
    cr_expect_eq(clpi_bits_at(CLP_BOOL, nibbles, 1), 0x43);
    cr_expect_eq(clpi_elem_at(CLP_F16, halves, 2).f, 2.0f);
    cr_expect_eq(clpi_elem_at(CLP_U32, words, 1).u, 0x80000000u);
    cr_expect_eq(clpi_elem_at(CLP_I32, words, 1).i, INT32_MIN);
    cr_expect_eq(clpi_elem_at(CLP_U64, longs, 1).u, UINT64_MAX);
    cr_expect_eq(clpi_elem_at(CLP_F64, doubles, 1).d, -2.5);
}

Test(dtype, bits_and_held_form_agree)
{
    cr_expect_eq(clpi_elem_from_bits(CLP_I4, 0xf).i, -1);
    cr_expect_eq(clpi_elem_from_bits(CLP_U4, 0xf).u, 15);
    cr_expect_eq(clpi_elem_to_bits(CLP_I4, (clpi_elem){ .i = -8 }), 8);
    cr_expect_eq(clpi_elem_from_bits(CLP_I16, 0x18000).i, INT16_MIN, "bits above the dtype's do not count");
    cr_expect_eq(clpi_elem_from_bits(CLP_BOOL, 0x40).u, 1);
    cr_expect_eq(clpi_elem_to_bits(CLP_F64, (clpi_elem){ .d = -0.0 }), 0x8000000000000000u);
    cr_expect_eq(clpi_elem_to_bits(CLP_I64, (clpi_elem){ .i = -1 }), UINT64_MAX);
}

Test(dtype, names_lead_back_to_the_dtype)
{
    for (clp_dtype d = CLP_DTYPE_NONE + 1; d < CLP_N_DTYPES; d++)
        cr_expect_eq(clp_dtype_from_name(clp_dtype_name(d)), d);
    cr_expect_eq(clp_dtype_from_name("f31"), CLP_DTYPE_NONE);
    cr_expect_eq(clp_dtype_from_name(NULL), CLP_DTYPE_NONE);
    cr_expect_str_eq(clp_dtype_name(CLP_DTYPE_NONE), "?");
    cr_expect_eq(clp_dtype_bits(CLP_U4), 4);
}

Test(dtype, each_dtype_is_of_one_kind)
{
    for (clp_dtype d = CLP_DTYPE_NONE + 1; d < CLP_N_DTYPES; d++) {
        cr_expect_eq(clpi_is_float(d) + clpi_is_signed(d) + clpi_is_unsigned(d) + (d == CLP_BOOL), 1, "%s", clp_dtype_name(d));
        cr_expect_eq(clpi_is_int(d), clpi_is_signed(d) || clpi_is_unsigned(d), "%s", clp_dtype_name(d));
        cr_expect_eq(clpi_is_packed(d), clp_dtype_bits(d) < 8, "%s", clp_dtype_name(d));
        cr_expect(clpi_rep_bytes(d) >= 1 && clpi_rep(clpi_rep(d)) == clpi_rep(d), "%s", clp_dtype_name(d));
    }
    cr_expect_eq(clpi_loaded(CLP_I4), CLP_I8);
    cr_expect_eq(clpi_loaded(CLP_F16), CLP_F16);
    cr_expect_eq(clpi_rep(CLP_F16), CLP_F32);
    cr_expect_eq(clpi_int_min(CLP_I64), INT64_MIN);
    cr_expect_eq(clpi_int_max(CLP_U64), UINT64_MAX);
    cr_expect_eq(clpi_int_min(CLP_I4), -8);
    cr_expect_eq(clpi_int_max(CLP_I8), 127);
}

Test(dtype, poison_is_nan_the_least_signed_and_the_largest_unsigned)
{
    for (clp_dtype d = CLP_DTYPE_NONE + 1; d < CLP_N_DTYPES; d++) {
        clpi_elem e = clpi_elem_from_bits(d, clpi_poison_bits(d));
        if (clpi_is_float(d))
            cr_expect(d == CLP_F64 ? isnan(e.d) : isnan(e.f), "%s", clp_dtype_name(d));
        else if (clpi_is_signed(d))
            cr_expect_eq(e.i, clpi_int_min(d), "%s", clp_dtype_name(d));
        else
            cr_expect_eq(e.u, clpi_int_max(d), "%s", clp_dtype_name(d));
    }
}
