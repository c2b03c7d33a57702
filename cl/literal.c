/* literal: how dtypes and constants are written in OpenCL C.
 * In: dtypes and stored bits. Out: type names and exact literals. Knows of no device and remembers nothing.           */
#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "cl/prelude.h"
#include "ir/format.h"

/* Rows by lanes: 1 2 4 8 16. */
enum { N_WIDTHS = 5 };
#define ROW(type) { type, type "2", type "4", type "8", type "16" }

static const char *const int_types[2][4][N_WIDTHS] = {
    { ROW("char"), ROW("short"), ROW("int"), ROW("long") },
    { ROW("uchar"), ROW("ushort"), ROW("uint"), ROW("ulong") },
};
static const char *const float_types[N_WIDTHS] = ROW("float");
static const char *const double_types[N_WIDTHS] = ROW("double");

static int row_of_bits(int bits)
{
    assert(bits == 8 || bits == 16 || bits == 32 || bits == 64);
    return bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
}

static int row_of_width(int width)
{
    assert(width == 1 || width == 2 || width == 4 || width == 8 || width == 16);
    return width == 1 ? 0 : width == 2 ? 1 : width == 4 ? 2 : width == 8 ? 3 : 4;
}

const char *clpi_cl_type(clp_dtype held, int width)
{
    clp_dtype rep = clpi_rep(held);
    if (rep == CLP_BOOL) {
        assert(width == 1);
        return "int";
    }
    if (rep == CLP_F32)
        return float_types[row_of_width(width)];
    if (rep == CLP_F64)
        return double_types[row_of_width(width)];
    return int_types[clpi_is_unsigned(rep)][row_of_bits(clp_dtype_bits(rep))][row_of_width(width)];
}

const char *clpi_cl_stored_type(clp_dtype dtype, int width)
{
    if (dtype == CLP_BOOL || clpi_is_f8(dtype) || clpi_is_packed(dtype))
        return int_types[1][0][row_of_width(width)];
    if (dtype == CLP_F16 || dtype == CLP_BF16)
        return int_types[1][1][row_of_width(width)];
    return clpi_cl_type(dtype, width);
}

const char *clpi_cl_mask_type(int bits, int width)
{
    return width == 1 ? "int" : int_types[0][row_of_bits(bits)][row_of_width(width)];
}

int clpi_cl_mask_bits(clp_dtype held)
{
    return clp_dtype_bits(clpi_rep(held));
}

static void int_literal(clpi_str *out, clp_dtype dtype, clpi_elem e)
{
    static const char *const least[] = { "CHAR_MIN", "SHRT_MIN", "INT_MIN", "LONG_MIN" };
    int bits = clp_dtype_bits(dtype);
    if (clpi_is_signed(dtype) && e.i == clpi_int_min(dtype))
        clpi_str_puts(out, least[row_of_bits(bits)]);
    else if (bits < 32 && clpi_is_signed(dtype))
        clpi_str_add(out, "(%s)(%" PRId64 ")", clpi_cl_type(dtype, 1), e.i);
    else if (bits < 32)
        clpi_str_add(out, "(%s)(%" PRIu64 ")", clpi_cl_type(dtype, 1), e.u);
    else if (clpi_is_signed(dtype))
        clpi_str_add(out, "%" PRId64 "%s", e.i, bits == 64 ? "L" : "");
    else
        clpi_str_add(out, "%" PRIu64 "%s", e.u, bits == 64 ? "UL" : "u");
}

void clpi_cl_literal(clpi_str *out, clp_dtype dtype, uint64_t bits)
{
    clp_dtype loaded = clpi_loaded(dtype);
    clpi_elem e = clpi_elem_from_bits(dtype, bits);
    if (loaded == CLP_BOOL)
        clpi_str_puts(out, e.u ? "1" : "0");
    else if (!clpi_is_float(loaded))
        int_literal(out, loaded, e);
    else if (loaded == CLP_F64) {
        if (isnan(e.d) || isinf(e.d) || (e.d != 0 && fabs(e.d) < 0x1p-1022))
            clpi_str_add(out, "as_double(0x%" PRIx64 "ul)", bits);
        else
            clpi_format_elem(CLP_F64, e, out);
    } else if (isnan(e.f))
        clpi_str_puts(out, "NAN");
    else if (isinf(e.f))
        clpi_str_puts(out, e.f > 0 ? "INFINITY" : "-INFINITY");
    else if (e.f != 0 && fabsf(e.f) < 0x1p-126f)      /* read as a decimal it might become zero */
        clpi_str_add(out, "as_float(0x%08" PRIx64 "u)", clpi_elem_to_bits(CLP_F32, e));
    else {
        clpi_format_elem(CLP_F32, e, out);
        clpi_str_puts(out, "f");
    }
}

void clpi_cl_poison(clpi_str *out, clp_dtype dtype)
{
    clpi_cl_literal(out, dtype, clpi_poison_bits(dtype));
}

/* The stored bits of the least (is_max) or greatest value of a dtype, infinities included. */
static uint64_t extreme_bits(clp_dtype dtype, bool is_max)
{
    if (!clpi_is_float(dtype))
        return is_max ? (uint64_t)clpi_int_min(dtype) : clpi_int_max(dtype);
    double x = is_max ? -INFINITY : INFINITY;
    return dtype == CLP_F64 ? clpi_elem_to_bits(dtype, (clpi_elem){ .d = x })
                            : clpi_elem_to_bits(dtype, (clpi_elem){ .f = (float)x });
}

void clpi_cl_identity(clpi_str *out, clpi_op_kind reduction, clp_dtype dtype)
{
    clpi_elem one = dtype == CLP_F64       ? (clpi_elem){ .d = 1 }
                    : clpi_is_float(dtype) ? (clpi_elem){ .f = 1 }
                                           : (clpi_elem){ .u = 1 };
    switch (reduction) {
    case CLP_OP_sum: case CLP_OP_any: clpi_cl_literal(out, dtype, 0); break;
    case CLP_OP_prod: case CLP_OP_all: clpi_cl_literal(out, dtype, clpi_elem_to_bits(dtype, one)); break;
    case CLP_OP_max: clpi_cl_literal(out, dtype, extreme_bits(dtype, true)); break;
    case CLP_OP_min: clpi_cl_literal(out, dtype, extreme_bits(dtype, false)); break;
    default: assert(0 && "a reduction with an identity");
    }
}
