/* scalar: the value of one element.
 * In: an elementwise op (or a bitcast), the dtype of its operands, held elements. Out: the held result.
 * Decides nothing: the formulas are those of ops.def, with the meaning that scalar.h gives their names.                  */
#include <assert.h>

#include "ir/ir.h"
#include "ir/scalar.h"

static clpi_elem elem_i(int64_t x)
{
    return (clpi_elem){ .i = x };
}

static clpi_elem elem_u(uint64_t x)
{
    return (clpi_elem){ .u = x };
}

static clpi_elem elem_f(float x)
{
    return (clpi_elem){ .f = x };
}

static clpi_elem elem_d(double x)
{
    return (clpi_elem){ .d = x };
}

/* An element as a value of a held type, and back. */
#define BY_HELD(held, i, u, f, d)                                                                                      \
    _Generic((held)0, float: f, double: d, int8_t: i, int16_t: i, int32_t: i, int64_t: i, default: u)
#define GET(e, held) ((held)BY_HELD(held, (e).i, (e).u, (e).f, (e).d))
#define PUT(x, held) BY_HELD(held, elem_i, elem_u, elem_f, elem_d)(x)

/* One function for each row: a case for each dtype that the row takes. */
#define CASE(DTYPE, held_a, type_a, held, type, result, finish, arity, ...)                                            \
    case CLP_##DTYPE: {                                                                                                \
        const clp_dtype dtype = CLP_##DTYPE;                                                                           \
        type_a a = (type_a)GET(args[0], held_a);                                                                       \
        type b = (arity) > 1 ? (type)GET(args[(arity) > 1 ? 1 : 0], held) : (type)0;                                   \
        type c = (arity) > 2 ? (type)GET(args[(arity) > 2 ? 2 : 0], held) : (type)0;                                   \
        (void)dtype, (void)b, (void)c;                                                                                 \
        return PUT((result)finish(__VA_ARGS__), result);                                                               \
    }
#define CLP_EW(name, text, arity, types, flags, ...)                                                                   \
    static clpi_elem ew_##name(clp_dtype operand_dtype, const clpi_elem *args)                                         \
    {                                                                                                                  \
        switch (operand_dtype) {                                                                                       \
            CLPI_SCALARS_##types(CASE, arity, __VA_ARGS__)                                                             \
        default: assert(false && "a dtype that the op takes"); return elem_u(0);                                               \
        }                                                                                                              \
    }
#define CLP_OP(name, text, arity, rule, flags)
#include "ir/ops.def"
#undef CLP_EW
#undef CLP_OP

clpi_elem clpi_scalar_ew(clpi_op_kind kind, clp_dtype operand_dtype, const clpi_elem *args)
{
    switch (kind) {
#define CLP_EW(name, text, arity, types, flags, ...)                                                                   \
    case CLP_OP_##name: return ew_##name(operand_dtype, args);
#define CLP_OP(name, text, arity, rule, flags)
#include "ir/ops.def"
#undef CLP_EW
#undef CLP_OP
    default: assert(false && "an elementwise op"); return elem_u(0);
    }
}

clpi_elem clpi_scalar_bitcast(clp_dtype to, clp_dtype from, clpi_elem e)
{
    assert(clp_dtype_bits(to) == clp_dtype_bits(from));
    return clpi_elem_from_bits(to, clpi_elem_to_bits(from, e));
}
