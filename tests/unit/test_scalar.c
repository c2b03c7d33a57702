/* The value of one element: every elementwise op against rows worked out by hand, casts and bitcasts, and what the rules
 * of integers imply for all values of eight bits.                                                                         */
#include <math.h>

#include "ir/ir.h"
#include "ops/values.h"
#include "support/support.h"

typedef struct row {
    clpi_op_kind op;
    const char  *name;
    clp_dtype    dtype, result;
    const char  *args, *want;
    uint64_t     ulp;
} row;

static const row rows[] = {
#define VALUE(op, DTYPE, RESULT, args, want, ulp) { CLP_OP_##op, #op, CLP_##DTYPE, CLP_##RESULT, args, want, ulp },
#include "ops/values.def"
#undef VALUE
};

enum { N_ROWS = sizeof rows / sizeof *rows };

Test(scalar, gives_the_values_of_the_table)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const row *r = &rows[i];
        uint64_t bits[3], want = 0;
        clpi_elem args[3] = { { 0 } };
        clp_dtype first = r->op == CLP_OP_where ? CLP_BOOL : r->dtype;
        int n = value_list(first, r->dtype, r->args, bits, 3);
        cr_assert_eq(n, clpi_ops[r->op].arity, "%s %s(%s): arguments", r->name, clp_dtype_name(r->dtype), r->args);
        cr_assert(value_bits(r->result, r->want, strlen(r->want), &want), "%s(%s): %s", r->name, r->args, r->want);
        for (int k = 0; k < n; k++)
            args[k] = clpi_elem_from_bits(k == 0 ? first : r->dtype, bits[k]);
        uint64_t got = clpi_elem_to_bits(r->result, clpi_scalar_ew(r->op, r->dtype, args));
        cr_expect(value_distance(r->result, got, want) <= r->ulp, "%s %s(%s): expected %s (%#llx), got %#llx", r->name,
                  clp_dtype_name(r->dtype), r->args, r->want, (unsigned long long)want, (unsigned long long)got);
    }
}

static bool takes(clpi_types types, clp_dtype d)
{
    bool is_number = (clpi_is_int(d) || clpi_is_float(d)) && !clpi_is_packed(d) && !clpi_is_f8(d);
    switch (types) {
    case CLP_ARI: case CLP_ORD: case CLP_CMP: return is_number;
    case CLP_EQU: case CLP_SEL: return is_number || d == CLP_BOOL;
    case CLP_FLT: case CLP_TST: return is_number && clpi_is_float(d);
    case CLP_INT: return is_number && clpi_is_int(d);
    case CLP_BIT: return d == CLP_BOOL || (is_number && clpi_is_int(d));
    case CLP_TYPES_NONE: break;
    }
    return false;
}

Test(scalar, every_op_has_a_row_for_each_dtype_it_takes)
{
    for (clpi_op_kind op = CLP_OP_NONE + 1; op < CLP_N_OPS; op++) {
        for (clp_dtype d = CLP_DTYPE_NONE + 1; clpi_ops[op].is_elementwise && d < CLP_N_DTYPES; d++) {
            bool has_row = false;
            for (size_t i = 0; i < N_ROWS; i++)
                has_row = has_row || (rows[i].op == op && rows[i].dtype == d);
            cr_expect(has_row == takes(clpi_ops[op].types, d), "%s of %s: %s in values.def", clpi_ops[op].name,
                      clp_dtype_name(d), has_row ? "a row, yet the op does not take it" : "no row");
        }
    }
}

static int64_t i8_op(clpi_op_kind op, int a, int b)
{
    return clpi_scalar_ew(op, CLP_I8, (clpi_elem[]){ { .i = a }, { .i = b } }).i;
}

/* a = b * (a / b) + a % b, both ways of rounding, whatever a and b. */
Test(scalar, quotient_and_remainder_of_all_i8_fit_together)
{
    for (int a = -128; a <= 127; a++) {
        for (int b = -128; b <= 127; b++) {
            int64_t down = i8_op(CLP_OP_divide, a, b), mod = i8_op(CLP_OP_mod, a, b);
            int64_t cut = i8_op(CLP_OP_div, a, b), rem = i8_op(CLP_OP_rem, a, b);
            if (b == 0) {
                cr_expect(down == -1 && cut == -1 && mod == a && rem == a, "%d by 0", a);
                continue;
            }
            cr_expect_eq((int8_t)(b * down + mod), a, "%d / %d = %d, %% = %d", a, b, (int)down, (int)mod);
            cr_expect_eq((int8_t)(b * cut + rem), a, "div(%d, %d) = %d, rem = %d", a, b, (int)cut, (int)rem);
            cr_expect(mod == 0 || ((mod < 0) == (b < 0) && llabs(mod) < abs(b)), "%d %% %d = %d", a, b, (int)mod);
            cr_expect(rem == 0 || ((rem < 0) == (a < 0) && llabs(rem) < abs(b)), "rem(%d, %d) = %d", a, b, (int)rem);
        }
    }
}

Test(scalar, shifts_of_all_i8_follow_the_number)
{
    for (int a = -128; a <= 127; a++) {
        for (int b = -128; b <= 127; b++) {
            bool is_inside = b >= 0 && b < 8;
            cr_expect_eq(i8_op(CLP_OP_shl, a, b), is_inside ? (int8_t)(a * (1 << b)) : 0, "%d << %d", a, b);
            cr_expect_eq(i8_op(CLP_OP_shr, a, b), is_inside ? (int8_t)floor(a / (double)(1 << b)) : a < 0 ? -1 : 0,
                         "%d >> %d", a, b);
        }
    }
}

Test(scalar, nextafter_of_all_f16_visits_the_neighbour)
{
    for (unsigned bits = 0; bits < 0x7c00; bits++) {
        clpi_elem up = clpi_scalar_ew(CLP_OP_nextafter, CLP_F16,
                                      (clpi_elem[]){ { .f = clpi_f16_to_f32((uint16_t)bits) }, { .f = INFINITY } });
        clpi_elem down = clpi_scalar_ew(CLP_OP_nextafter, CLP_F16,
                                        (clpi_elem[]){ { .f = clpi_f16_to_f32((uint16_t)(bits + 1)) }, { .f = -INFINITY } });
        cr_expect_eq(clpi_elem_to_bits(CLP_F16, up), bits + 1, "above %#x", bits);
        cr_expect_eq(clpi_elem_to_bits(CLP_F16, down), bits, "below %#x", bits + 1);
    }
}

Test(scalar, bitcast_keeps_the_bits)
{
    cr_expect_eq(clpi_scalar_bitcast(CLP_U32, CLP_F32, (clpi_elem){ .f = 1.0f }).u, 0x3f800000u);
    cr_expect_eq(clpi_scalar_bitcast(CLP_I32, CLP_F32, (clpi_elem){ .f = -0.0f }).i, INT32_MIN);
    cr_expect_eq(clpi_scalar_bitcast(CLP_U16, CLP_F16, (clpi_elem){ .f = 65504.0f }).u, 0x7bffu);
    cr_expect_eq(clpi_scalar_bitcast(CLP_BF16, CLP_I16, (clpi_elem){ .i = 0x3f80 }).f, 1.0f);
    cr_expect_eq(clpi_scalar_bitcast(CLP_I8, CLP_U8, (clpi_elem){ .u = 200 }).i, -56);
    cr_expect_eq(clpi_scalar_bitcast(CLP_F64, CLP_U64, (clpi_elem){ .u = 0x4000000000000000u }).d, 2.0);
}
