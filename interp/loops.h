/* loops: the rows of ops.def as loops over whole tiles, one for each op and dtype; casts likewise.
 * In: held elements, n of each operand. Out: n results, which may stand exactly where an operand stands.
 * Included once for each instruction set that the build has flags for (loops_portable.c, loops_avx2.c), which first names
 * the table: LOOP_TABLE. The formulas are those of ir/scalar.h, so the results do not depend on the instruction set.
 *
 * The build turns off what would keep a loop from becoming vector code: errno of math functions, floating-point traps.   */
#include "interp/interp.h"
#include "ir/scalar.h"

/* An element is read before its result is written and nothing else aliases: the loop may be turned into vector code. */
#if defined(__clang__)
#define FREELY _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define FREELY _Pragma("GCC ivdep")
#else
#define FREELY
#endif

#define READ1(held_a, type_a, held, type) const type_a a = (type_a)((const held_a *)x)[i];
#define READ2(held_a, type_a, held, type) READ1(held_a, type_a, , ) const type b = (type)((const held *)y)[i];
#define READ3(held_a, type_a, held, type) READ2(held_a, type_a, held, type) const type c = (type)((const held *)z)[i];

#define LOOP(DTYPE, held_a, type_a, held, type, result, finish, name, arity, ...)                                      \
    static void name##_##DTYPE(void *out, const void *x, const void *y, const void *z, int64_t n)                      \
    {                                                                                                                  \
        const clp_dtype dtype = CLP_##DTYPE;                                                                           \
        (void)dtype, (void)y, (void)z;                                                                                 \
        FREELY                                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            READ##arity(held_a, type_a, held, type)                                                                    \
            ((result *)out)[i] = (result)finish(__VA_ARGS__);                                                          \
        }                                                                                                              \
    }
#define CLP_EW(name, text, arity, types, flags, ...) CLPI_SCALARS_##types(LOOP, name, arity, __VA_ARGS__)
#define CLP_OP(name, text, arity, rule, flags)
#include "ir/ops.def"
#undef CLP_EW
#undef CLP_OP

/* ---- Casts ---- */

/* Truncates and saturates; NaN gives 0. beyond: the least power of two above the range, exact in both float types. */
#define TO_INT(a, R, least, most, beyond) ((a) != (a) ? (R)0 : (a) >= (beyond) ? (R)(most) : (a) <= (least) ? (R)(least) : (R)(a))

#define CAST(to, from, T, R, ...)                                                                                      \
    static void cast_##to##_##from(void *out, const void *x, const void *y, const void *z, int64_t n)                  \
    {                                                                                                                  \
        (void)y, (void)z;                                                                                              \
        FREELY                                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const T a = ((const T *)x)[i];                                                                             \
            ((R *)out)[i] = (R)(__VA_ARGS__);                                                                          \
        }                                                                                                              \
    }

#define CASTS_OF_INT(d, T)                                                                                             \
    CAST(BOOL, d, T, uint8_t, a != 0)                                                                                  \
    CAST(I8, d, T, int8_t, a) CAST(U8, d, T, uint8_t, a) CAST(I16, d, T, int16_t, a) CAST(U16, d, T, uint16_t, a)      \
    CAST(I32, d, T, int32_t, a) CAST(U32, d, T, uint32_t, a) CAST(I64, d, T, int64_t, a) CAST(U64, d, T, uint64_t, a)  \
    CAST(F32, d, T, float, a) CAST(F64, d, T, double, a)

#define CASTS_OF_FLOAT(d, T)                                                                                           \
    CAST(BOOL, d, T, uint8_t, a != 0)                                                                                  \
    CAST(I8, d, T, int8_t, TO_INT(a, int8_t, (T)INT8_MIN, INT8_MAX, (T)0x1p7))                                         \
    CAST(U8, d, T, uint8_t, TO_INT(a, uint8_t, (T)0, UINT8_MAX, (T)0x1p8))                                             \
    CAST(I16, d, T, int16_t, TO_INT(a, int16_t, (T)INT16_MIN, INT16_MAX, (T)0x1p15))                                   \
    CAST(U16, d, T, uint16_t, TO_INT(a, uint16_t, (T)0, UINT16_MAX, (T)0x1p16))                                        \
    CAST(I32, d, T, int32_t, TO_INT(a, int32_t, (T)INT32_MIN, INT32_MAX, (T)0x1p31))                                   \
    CAST(U32, d, T, uint32_t, TO_INT(a, uint32_t, (T)0, UINT32_MAX, (T)0x1p32))                                        \
    CAST(I64, d, T, int64_t, TO_INT(a, int64_t, (T)INT64_MIN, INT64_MAX, (T)0x1p63))                                   \
    CAST(U64, d, T, uint64_t, TO_INT(a, uint64_t, (T)0, UINT64_MAX, (T)0x1p64))                                        \
    CAST(F32, d, T, float, a) CAST(F64, d, T, double, a)

CASTS_OF_INT(BOOL, uint8_t)
CASTS_OF_INT(I8, int8_t)
CASTS_OF_INT(U8, uint8_t)
CASTS_OF_INT(I16, int16_t)
CASTS_OF_INT(U16, uint16_t)
CASTS_OF_INT(I32, int32_t)
CASTS_OF_INT(U32, uint32_t)
CASTS_OF_INT(I64, int64_t)
CASTS_OF_INT(U64, uint64_t)
CASTS_OF_FLOAT(F32, float)
CASTS_OF_FLOAT(F64, double)

/* To the smaller floats, from f32. */
CAST(F16, F32, float, float, clpi_round_f16(a))
CAST(BF16, F32, float, float, clpi_round_bf16(a))
CAST(F8E4M3, F32, float, float, clpi_round_f8e4m3(a))
CAST(F8E5M2, F32, float, float, clpi_round_f8e5m2(a))

/* ---- The table ---- */

#define ENTRY(DTYPE, held_a, type_a, held, type, result, finish, name) [CLP_##DTYPE] = name##_##DTYPE,
#define CASTS(to)                                                                                                      \
    [CLP_##to] = { [CLP_BOOL] = cast_##to##_BOOL, [CLP_I8] = cast_##to##_I8,   [CLP_U8] = cast_##to##_U8,              \
                   [CLP_I16] = cast_##to##_I16,   [CLP_U16] = cast_##to##_U16, [CLP_I32] = cast_##to##_I32,            \
                   [CLP_U32] = cast_##to##_U32,   [CLP_I64] = cast_##to##_I64, [CLP_U64] = cast_##to##_U64,            \
                   [CLP_F32] = cast_##to##_F32,   [CLP_F64] = cast_##to##_F64 },

const clpi_loop_table LOOP_TABLE = {
    .ew = {
#define CLP_EW(name, text, arity, types, flags, ...) [CLP_OP_##name] = { CLPI_SCALARS_##types(ENTRY, name) },
#define CLP_OP(name, text, arity, rule, flags)
#include "ir/ops.def"
#undef CLP_EW
#undef CLP_OP
    },
    .cast = {
        CASTS(BOOL) CASTS(I8) CASTS(U8) CASTS(I16) CASTS(U16) CASTS(I32) CASTS(U32) CASTS(I64) CASTS(U64) CASTS(F32)
        CASTS(F64)
        [CLP_F16] = { [CLP_F32] = cast_F16_F32 },       [CLP_BF16] = { [CLP_F32] = cast_BF16_F32 },
        [CLP_F8E4M3] = { [CLP_F32] = cast_F8E4M3_F32 }, [CLP_F8E5M2] = { [CLP_F32] = cast_F8E5M2_F32 },
    },
};
