/* scalar: what the formulas of ops.def mean in C: every CLP_ name of their `value` column, for every type it meets.
 *
 * A formula stands where a, b, c and dtype are in scope: variables of the C types that the lists below give, and the
 * clp_dtype as a constant. Everything here is an expression or an inline function without branches on values (integer
 * division excepted), so that a loop over a tile becomes vector code, given -fno-math-errno and -fno-trapping-math.
 *
 *     #define LOOP(DTYPE, held_a, type_a, held, type, result, finish, name, ...)                      \
 *         static void name##_##DTYPE(const held_a *x, const held *y, const held *z, result *r, ...)   \
 *         {   ...   type_a a = (type_a)x[i]; type b = (type)y[i], c = (type)z[i];                     \
 *                   r[i] = (result)finish(__VA_ARGS__);   ...   }
 *     #define CLP_EW(name, text, arity, types, flags, ...) CLPI_SCALARS_##types(LOOP, name, __VA_ARGS__)          */
#ifndef CLPI_SCALAR_H
#define CLPI_SCALAR_H

#include <math.h>

#include "base/dtype.h"
#include "base/smallfloat.h"

/* ---- The elementary functions of f32 ---- */
static inline uint32_t clpi_mulhi(uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a * b) >> 32);
}

#define FN              static inline
#define NAME(f)         clpi_##f##_f32
#define F               float
#define I               int32_t
#define U               uint32_t
#define K(c)            (c)
#define AS_F(u)         clpi_f32_from_bits(u)
#define AS_U(x)         clpi_f32_bits(x)
#define AS_I(u)         ((int32_t)(u))
#define TO_F(i)         ((float)(i))
#define FMA(a, b, c)    fmaf(a, b, c)
#define SQRT(x)         sqrtf(x)
#define MULHI(a, b)     clpi_mulhi(a, b)
#define SELECT(c, a, b) ((c) ? (a) : (b))
#define ANY(c)          1
#include "base/elementary.h"
#undef FN
#undef NAME
#undef F
#undef I
#undef U
#undef K
#undef AS_F
#undef AS_U
#undef AS_I
#undef TO_F
#undef FMA
#undef SQRT
#undef MULHI
#undef SELECT
#undef ANY

/* ---- By type ---- */
#define CLPI_BY_FLOAT(f32, f64, x) _Generic((x), float: f32, double: f64)
/* Narrow integers are taken at 32 bits; the result is cut to its type by who stores it. */
#define CLPI_BY_INT(i32, i64, u32, u64, x)                                                                             \
    _Generic((x), int8_t: i32, int16_t: i32, int32_t: i32, int64_t: i64, uint8_t: u32, uint16_t: u32, uint32_t: u32,   \
        uint64_t: u64)
#define CLPI_BY_NUMBER(i32, i64, u32, u64, f32, f64, x)                                                                \
    _Generic((x), int8_t: i32, int16_t: i32, int32_t: i32, int64_t: i64, uint8_t: u32, uint16_t: u32, uint32_t: u32,   \
        uint64_t: u64, float: f32, double: f64)
#define CLPI_WIDTH(x) ((uint32_t)(8 * sizeof(x)))

/* ---- Division: nothing traps ---- */
static inline int64_t clpi_divide_i64(int64_t a, int64_t b)
{
    if (b == 0)
        return -1;
    if (b == -1)
        return (int64_t)(0u - (uint64_t)a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static inline int64_t clpi_mod_i64(int64_t a, int64_t b)
{
    if (b == 0 || b == -1)
        return b == 0 ? a : 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static inline int64_t clpi_div_i64(int64_t a, int64_t b)
{
    if (b == 0)
        return -1;
    return b == -1 ? (int64_t)(0u - (uint64_t)a) : a / b;
}

static inline int64_t clpi_rem_i64(int64_t a, int64_t b)
{
    if (b == 0 || b == -1)
        return b == 0 ? a : 0;
    return a % b;
}

static inline uint64_t clpi_div_u64(uint64_t a, uint64_t b)
{
    return b == 0 ? UINT64_MAX : a / b;
}

static inline uint64_t clpi_rem_u64(uint64_t a, uint64_t b)
{
    return b == 0 ? a : a % b;
}

static inline uint32_t clpi_div_u32(uint32_t a, uint32_t b)
{
    return b == 0 ? UINT32_MAX : a / b;
}

static inline uint32_t clpi_rem_u32(uint32_t a, uint32_t b)
{
    return b == 0 ? a : a % b;
}

static inline float clpi_divide_f32(float a, float b)
{
    return a / b;
}

static inline double clpi_divide_f64(double a, double b)
{
    return a / b;
}

/* The sign of b, as NumPy's mod has it, zeros included. */
static inline float clpi_mod_f32(float a, float b)
{
    float r = fmodf(a, b);
    return r == 0.0f ? copysignf(0.0f, b) : (r < 0.0f) != (b < 0.0f) ? r + b : r;
}

static inline double clpi_mod_f64(double a, double b)
{
    double r = fmod(a, b);
    return r == 0.0 ? copysign(0.0, b) : (r < 0.0) != (b < 0.0) ? r + b : r;
}

#define CLP_DIVIDE(a, b)                                                                                               \
    CLPI_BY_NUMBER(clpi_divide_i64, clpi_divide_i64, clpi_div_u32, clpi_div_u64, clpi_divide_f32, clpi_divide_f64, a)(a, b)
#define CLP_MOD(a, b)                                                                                                  \
    CLPI_BY_NUMBER(clpi_mod_i64, clpi_mod_i64, clpi_rem_u32, clpi_rem_u64, clpi_mod_f32, clpi_mod_f64, a)(a, b)
#define CLP_DIV(a, b) CLPI_BY_INT(clpi_div_i64, clpi_div_i64, clpi_div_u32, clpi_div_u64, a)(a, b)
#define CLP_REM(a, b) CLPI_BY_NUMBER(clpi_rem_i64, clpi_rem_i64, clpi_rem_u32, clpi_rem_u64, fmodf, fmod, a)(a, b)

/* ---- Sign, minimum, maximum ---- */
static inline uint32_t clpi_abs_i32(int32_t a)
{
    return a < 0 ? 0u - (uint32_t)a : (uint32_t)a;
}

static inline uint64_t clpi_abs_i64(int64_t a)
{
    return a < 0 ? 0u - (uint64_t)a : (uint64_t)a;
}

static inline uint32_t clpi_same_u32(uint32_t a)
{
    return a;
}

static inline uint64_t clpi_same_u64(uint64_t a)
{
    return a;
}

static inline float clpi_sign_f32(float a)
{
    float one = copysignf(1.0f, a);
    return a < 0.0f || a > 0.0f ? one : a;
}

static inline double clpi_sign_f64(double a)
{
    double one = copysign(1.0, a);
    return a < 0.0 || a > 0.0 ? one : a;
}

static inline int32_t clpi_sign_i32(int32_t a)
{
    return (a > 0) - (a < 0);
}

static inline int64_t clpi_sign_i64(int64_t a)
{
    return (a > 0) - (a < 0);
}

static inline uint32_t clpi_sign_u32(uint32_t a)
{
    return a > 0;
}

static inline uint64_t clpi_sign_u64(uint64_t a)
{
    return a > 0;
}

#define CLP_ABS(a) CLPI_BY_NUMBER(clpi_abs_i32, clpi_abs_i64, clpi_same_u32, clpi_same_u64, fabsf, fabs, a)(a)
#define CLP_SIGN(a)                                                                                                    \
    CLPI_BY_NUMBER(clpi_sign_i32, clpi_sign_i64, clpi_sign_u32, clpi_sign_u64, clpi_sign_f32, clpi_sign_f64, a)(a)
#define CLP_MIN(a, b) ((((a) < (b)) | ((a) != (a))) ? (a) : (b))
#define CLP_MAX(a, b) ((((a) > (b)) | ((a) != (a))) ? (a) : (b))

/* ---- Bits ---- */
static inline uint32_t clpi_shl_u32(uint32_t a, uint32_t b, uint32_t width)
{
    uint32_t shifted = a << (b & 31u);
    return b < width ? shifted : 0u;
}

static inline uint64_t clpi_shl_u64(uint64_t a, uint64_t b, uint32_t width)
{
    uint64_t shifted = a << (b & 63u);
    return b < width ? shifted : 0u;
}

static inline int32_t clpi_shr_i32(int32_t a, uint32_t b, uint32_t width)
{
    return a >> (b < width ? b : width - 1u);
}

static inline int64_t clpi_shr_i64(int64_t a, uint64_t b, uint32_t width)
{
    return a >> (b < width ? b : width - 1u);
}

static inline uint32_t clpi_shr_u32(uint32_t a, uint32_t b, uint32_t width)
{
    uint32_t shifted = a >> (b & 31u);
    return b < width ? shifted : 0u;
}

static inline uint64_t clpi_shr_u64(uint64_t a, uint64_t b, uint32_t width)
{
    uint64_t shifted = a >> (b & 63u);
    return b < width ? shifted : 0u;
}

/* Sums of neighbouring fields, doubled in width each time; no product, which compilers take for one slow instruction. */
static inline uint32_t clpi_popcount_u32(uint32_t a, uint32_t width)
{
    a &= UINT32_MAX >> (32u - width);
    a -= (a >> 1) & 0x55555555u;
    a = (a & 0x33333333u) + ((a >> 2) & 0x33333333u);
    a = (a + (a >> 4)) & 0x0f0f0f0fu;
    a += a >> 8;
    return (a + (a >> 16)) & 0x3fu;
}

static inline uint64_t clpi_popcount_u64(uint64_t a, uint32_t width)
{
    (void)width;
    a -= (a >> 1) & 0x5555555555555555u;
    a = (a & 0x3333333333333333u) + ((a >> 2) & 0x3333333333333333u);
    a = (a + (a >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    a += a >> 8;
    a += a >> 16;
    return (a + (a >> 32)) & 0x7fu;
}

/* The width less the number of bits up to the highest set one. */
static inline uint32_t clpi_clz_u32(uint32_t a, uint32_t width)
{
    a &= UINT32_MAX >> (32u - width);
    a |= a >> 1;
    a |= a >> 2;
    a |= a >> 4;
    a |= a >> 8;
    a |= a >> 16;
    return width - clpi_popcount_u32(a, 32u);
}

static inline uint64_t clpi_clz_u64(uint64_t a, uint32_t width)
{
    a |= a >> 1;
    a |= a >> 2;
    a |= a >> 4;
    a |= a >> 8;
    a |= a >> 16;
    a |= a >> 32;
    return width - clpi_popcount_u64(a, width);
}

/* Converted by hand: a negative b becomes a large amount, a negative a keeps its bits. */
#define CLPI_AS_U(x) (CLPI_BY_INT((uint32_t)(x), (uint64_t)(x), (uint32_t)(x), (uint64_t)(x), x))

#define CLP_NOT(a) _Generic((a), bool: !(a), default: ~((a) + 0))
#define CLP_SHL(a, b)                                                                                                  \
    CLPI_BY_INT(clpi_shl_u32, clpi_shl_u64, clpi_shl_u32, clpi_shl_u64, a)(CLPI_AS_U(a), CLPI_AS_U(b), CLPI_WIDTH(a))
#define CLP_SHR(a, b)                                                                                                  \
    CLPI_BY_INT(clpi_shr_i32, clpi_shr_i64, clpi_shr_u32, clpi_shr_u64, a)(a, CLPI_AS_U(b), CLPI_WIDTH(a))
#define CLP_POPCOUNT(a)                                                                                                \
    CLPI_BY_INT(clpi_popcount_u32, clpi_popcount_u64, clpi_popcount_u32, clpi_popcount_u64, a)(CLPI_AS_U(a), CLPI_WIDTH(a))
#define CLP_CLZ(a)                                                                                                     \
    CLPI_BY_INT(clpi_clz_u32, clpi_clz_u64, clpi_clz_u32, clpi_clz_u64, a)(CLPI_AS_U(a), CLPI_WIDTH(a))

/* ---- Comparison and choice ---- */
#define CLP_EQ(a, b)        ((a) == (b))
#define CLP_NE(a, b)        ((a) != (b))
#define CLP_LT(a, b)        ((a) < (b))
#define CLP_LE(a, b)        ((a) <= (b))
#define CLP_GT(a, b)        ((a) > (b))
#define CLP_GE(a, b)        ((a) >= (b))
#define CLP_SELECT(a, b, c) ((a) ? (b) : (c))
#define CLP_ISNAN(a)        ((a) != (a))
#define CLP_ISINF(a)        (CLP_ABS(a) == INFINITY)
#define CLP_ISFINITE(a)     (CLP_ABS(a) < INFINITY)

/* ---- Rounding ---- */
static inline float clpi_round_f32(float a)
{
    float whole = truncf(a), next = whole + copysignf(1.0f, a); /* a - whole is exact */
    return copysignf(fabsf(a - whole) >= 0.5f ? next : whole, a);
}

static inline double clpi_round_f64(double a)
{
    double whole = trunc(a), next = whole + copysign(1.0, a);
    return copysign(fabs(a - whole) >= 0.5 ? next : whole, a);
}

#define CLP_FLOOR(a) CLPI_BY_FLOAT(floorf, floor, a)(a)
#define CLP_CEIL(a)  CLPI_BY_FLOAT(ceilf, ceil, a)(a)
#define CLP_TRUNC(a) CLPI_BY_FLOAT(truncf, trunc, a)(a)
#define CLP_ROUND(a) CLPI_BY_FLOAT(clpi_round_f32, clpi_round_f64, a)(a)
#define CLP_RINT(a)  CLPI_BY_FLOAT(rintf, rint, a)(a)

/* ---- Elementary functions ---- */
static inline float clpi_rsqrt_f32(float a)
{
    return 1.0f / sqrtf(a);
}

static inline double clpi_rsqrt_f64(double a)
{
    return 1.0 / sqrt(a);
}

/* Newton's steps on erfc beyond 1/2 and on erf below it, from the f32 function; near 1 what counts is 1 - |a|. */
static inline double clpi_erf_inv_f64(double a)
{
    double rest = 1.0 - fabs(a);
    if (!(rest > 0.0))
        return rest == 0.0 ? copysign(INFINITY, a) : NAN;
    double y = rest > 1e-7 ? fabs((double)clpi_erf_inv_f32((float)a)) : sqrt(-log(rest));
    for (int i = 0; i < (rest > 1e-7 ? 3 : 8); i++) {
        double e = rest < 0.5 ? rest - erfc(y) : erf(y) - fabs(a);
        double step = e * 0.88622692545275801365 * exp(y * y); /* sqrt(pi) / 2 */
        y -= step / (1.0 + step * y);
    }
    return copysign(y, a);
}

#define CLP_FMA(a, b, c)   CLPI_BY_FLOAT(fmaf, fma, a)(a, b, c)
#define CLP_SQRT(a)        CLPI_BY_FLOAT(sqrtf, sqrt, a)(a)
#define CLP_RSQRT(a)       CLPI_BY_FLOAT(clpi_rsqrt_f32, clpi_rsqrt_f64, a)(a)
#define CLP_CBRT(a)        CLPI_BY_FLOAT(cbrtf, cbrt, a)(a)
#define CLP_EXP(a)         CLPI_BY_FLOAT(clpi_exp_f32, exp, a)(a)
#define CLP_EXP2(a)        CLPI_BY_FLOAT(clpi_exp2_f32, exp2, a)(a)
#define CLP_EXPM1(a)       CLPI_BY_FLOAT(expm1f, expm1, a)(a)
#define CLP_LOG(a)         CLPI_BY_FLOAT(clpi_log_f32, log, a)(a)
#define CLP_LOG2(a)        CLPI_BY_FLOAT(clpi_log2_f32, log2, a)(a)
#define CLP_LOG1P(a)       CLPI_BY_FLOAT(log1pf, log1p, a)(a)
#define CLP_SIN(a)         CLPI_BY_FLOAT(clpi_sin_f32, sin, a)(a)
#define CLP_COS(a)         CLPI_BY_FLOAT(clpi_cos_f32, cos, a)(a)
#define CLP_TAN(a)         CLPI_BY_FLOAT(tanf, tan, a)(a)
#define CLP_ASIN(a)        CLPI_BY_FLOAT(asinf, asin, a)(a)
#define CLP_ACOS(a)        CLPI_BY_FLOAT(acosf, acos, a)(a)
#define CLP_ATAN(a)        CLPI_BY_FLOAT(atanf, atan, a)(a)
#define CLP_SINH(a)        CLPI_BY_FLOAT(sinhf, sinh, a)(a)
#define CLP_COSH(a)        CLPI_BY_FLOAT(coshf, cosh, a)(a)
#define CLP_TANH(a)        CLPI_BY_FLOAT(clpi_tanh_f32, tanh, a)(a)
#define CLP_ASINH(a)       CLPI_BY_FLOAT(asinhf, asinh, a)(a)
#define CLP_ACOSH(a)       CLPI_BY_FLOAT(acoshf, acosh, a)(a)
#define CLP_ATANH(a)       CLPI_BY_FLOAT(atanhf, atanh, a)(a)
#define CLP_ERF(a)         CLPI_BY_FLOAT(clpi_erf_f32, erf, a)(a)
#define CLP_ERF_INV(a)     CLPI_BY_FLOAT(clpi_erf_inv_f32, clpi_erf_inv_f64, a)(a)
/* 1 whatever the other is, NaN of both kinds too: C's pow may give NaN for a signalling one. */
#define CLP_POW(a, b)      ((a) == 1 || (b) == 0 ? 1 : CLPI_BY_FLOAT(powf, pow, a)(a, b))
#define CLP_ATAN2(a, b)    CLPI_BY_FLOAT(atan2f, atan2, a)(a, b)
#define CLP_COPYSIGN(a, b) CLPI_BY_FLOAT(copysignf, copysign, a)(a, b)

/* The neighbour of a toward b among the values of f16, bf16 or f32. */
static inline float clpi_nextafter_f32(clp_dtype dtype, float a, float b)
{
    uint32_t bits = dtype == CLP_F16 ? clpi_f16_bits(a) : dtype == CLP_BF16 ? clpi_bf16_bits(a) : clpi_f32_bits(a);
    uint32_t sign = clpi_f32_bits(b) >> 31 << (dtype == CLP_F32 ? 31 : 15);
    bool is_away = (b > a) == (a > 0.0f); /* from zero */
    bits = a == 0.0f ? sign | 1u : is_away ? bits + 1u : bits - 1u;
    float next = dtype == CLP_F16    ? clpi_f16_value((uint16_t)bits)
                 : dtype == CLP_BF16 ? clpi_bf16_value((uint16_t)bits)
                                     : clpi_f32_from_bits(bits);
    return a == b ? b : a < b || a > b ? next : a + b;
}

static inline double clpi_nextafter_f64(clp_dtype dtype, double a, double b)
{
    (void)dtype;
    return nextafter(a, b);
}

#define CLP_NEXTAFTER(a, b) CLPI_BY_FLOAT(clpi_nextafter_f32, clpi_nextafter_f64, a)(dtype, a, b)

/* ---- The dtypes of a types column ----
 * CLPI_SCALARS_<types>(X, ...) is X(DTYPE, held_a, type_a, held, type, result, finish, ...) for each dtype:
 *     held_a, type_a    the held form of operand a, and what it is converted to for the formula
 *     held, type        likewise of b and c
 *     result            the held form of the result, to which the formula's value is cast
 *     finish            what that value passes first: rounding to f16 and bf16, else empty
 * bool is held as uint8_t and computed as bool, which tells it from u8.                                                  */
#define CLPI_ROW_SAME(X, D, held, wrap, finish, ...)    X(D, held, held, held, held, held, finish, __VA_ARGS__)
#define CLPI_ROW_ARI(X, D, held, wrap, finish, ...)     X(D, held, wrap, held, wrap, held, finish, __VA_ARGS__)
#define CLPI_ROW_TO_BOOL(X, D, held, wrap, finish, ...) X(D, held, held, held, held, uint8_t, , __VA_ARGS__)
#define CLPI_ROW_SEL(X, D, held, wrap, finish, ...)     X(D, uint8_t, bool, held, held, held, , __VA_ARGS__)

#define CLPI_EACH_INT(ROW, X, ...)                                                                                     \
    ROW(X, I8, int8_t, uint32_t, , __VA_ARGS__)                                                                        \
    ROW(X, I16, int16_t, uint32_t, , __VA_ARGS__)                                                                      \
    ROW(X, I32, int32_t, uint32_t, , __VA_ARGS__)                                                                      \
    ROW(X, I64, int64_t, uint64_t, , __VA_ARGS__)                                                                      \
    ROW(X, U8, uint8_t, uint32_t, , __VA_ARGS__)                                                                       \
    ROW(X, U16, uint16_t, uint32_t, , __VA_ARGS__)                                                                     \
    ROW(X, U32, uint32_t, uint32_t, , __VA_ARGS__)                                                                     \
    ROW(X, U64, uint64_t, uint64_t, , __VA_ARGS__)
#define CLPI_EACH_FLOAT(ROW, X, ...)                                                                                   \
    ROW(X, F16, float, float, clpi_round_f16, __VA_ARGS__)                                                             \
    ROW(X, BF16, float, float, clpi_round_bf16, __VA_ARGS__)                                                           \
    ROW(X, F32, float, float, , __VA_ARGS__)                                                                           \
    ROW(X, F64, double, double, , __VA_ARGS__)

#define CLPI_SCALARS_ARI(X, ...) CLPI_EACH_INT(CLPI_ROW_ARI, X, __VA_ARGS__) CLPI_EACH_FLOAT(CLPI_ROW_ARI, X, __VA_ARGS__)
#define CLPI_SCALARS_ORD(X, ...) CLPI_EACH_INT(CLPI_ROW_SAME, X, __VA_ARGS__) CLPI_EACH_FLOAT(CLPI_ROW_SAME, X, __VA_ARGS__)
#define CLPI_SCALARS_FLT(X, ...) CLPI_EACH_FLOAT(CLPI_ROW_SAME, X, __VA_ARGS__)
#define CLPI_SCALARS_INT(X, ...) CLPI_EACH_INT(CLPI_ROW_SAME, X, __VA_ARGS__)
#define CLPI_SCALARS_BIT(X, ...)                                                                                       \
    CLPI_EACH_INT(CLPI_ROW_SAME, X, __VA_ARGS__) X(BOOL, uint8_t, bool, uint8_t, bool, uint8_t, , __VA_ARGS__)
#define CLPI_SCALARS_CMP(X, ...)                                                                                       \
    CLPI_EACH_INT(CLPI_ROW_TO_BOOL, X, __VA_ARGS__) CLPI_EACH_FLOAT(CLPI_ROW_TO_BOOL, X, __VA_ARGS__)
#define CLPI_SCALARS_EQU(X, ...)                                                                                       \
    CLPI_SCALARS_CMP(X, __VA_ARGS__) X(BOOL, uint8_t, bool, uint8_t, bool, uint8_t, , __VA_ARGS__)
#define CLPI_SCALARS_TST(X, ...) CLPI_EACH_FLOAT(CLPI_ROW_TO_BOOL, X, __VA_ARGS__)
#define CLPI_SCALARS_SEL(X, ...)                                                                                       \
    CLPI_EACH_INT(CLPI_ROW_SEL, X, __VA_ARGS__) CLPI_EACH_FLOAT(CLPI_ROW_SEL, X, __VA_ARGS__)                          \
    X(BOOL, uint8_t, bool, uint8_t, bool, uint8_t, , __VA_ARGS__)                                                      \
    X(F8E4M3, uint8_t, bool, float, float, float, , __VA_ARGS__)                                                       \
    X(F8E5M2, uint8_t, bool, float, float, float, , __VA_ARGS__)

#endif
