/* dtype: facts about element types, and the conversions between their bits and numbers.
 * In: a dtype and an element, stored or held. Out: the other form, or the cast of the language.
 * Decides how casts round: float to float once; integer to f16, bf16 and f8 by way of f32, as all arithmetic of theirs.  */
#include <assert.h>
#include <string.h>

#include "base/dtype.h"
#include "base/smallfloat.h"

typedef enum dtype_class { CLASS_NONE, CLASS_BOOL, CLASS_SIGNED, CLASS_UNSIGNED, CLASS_FLOAT } dtype_class;

/* What is true of each dtype; names and widths come from the public list. */
static const struct { dtype_class class; clp_dtype rep; } facts[CLP_N_DTYPES] = {
    [CLP_BOOL] = { CLASS_BOOL, CLP_BOOL },
    [CLP_I4] = { CLASS_SIGNED, CLP_I8 },        [CLP_U4] = { CLASS_UNSIGNED, CLP_U8 },
    [CLP_I8] = { CLASS_SIGNED, CLP_I8 },        [CLP_U8] = { CLASS_UNSIGNED, CLP_U8 },
    [CLP_I16] = { CLASS_SIGNED, CLP_I16 },      [CLP_U16] = { CLASS_UNSIGNED, CLP_U16 },
    [CLP_I32] = { CLASS_SIGNED, CLP_I32 },      [CLP_U32] = { CLASS_UNSIGNED, CLP_U32 },
    [CLP_I64] = { CLASS_SIGNED, CLP_I64 },      [CLP_U64] = { CLASS_UNSIGNED, CLP_U64 },
    [CLP_F16] = { CLASS_FLOAT, CLP_F32 },       [CLP_BF16] = { CLASS_FLOAT, CLP_F32 },
    [CLP_F8E4M3] = { CLASS_FLOAT, CLP_F32 },    [CLP_F8E5M2] = { CLASS_FLOAT, CLP_F32 },
    [CLP_F32] = { CLASS_FLOAT, CLP_F32 },       [CLP_F64] = { CLASS_FLOAT, CLP_F64 },
};

static const struct { const char *name; int bits; } names[CLP_N_DTYPES] = {
    [CLP_DTYPE_NONE] = { "?", 0 },
#define DTYPE_ROW(NAME, name, bits) [CLP_##NAME] = { #name, bits },
    CLP_DTYPES(DTYPE_ROW)
#undef DTYPE_ROW
};

static bool is_dtype(clp_dtype d)
{
    return d > CLP_DTYPE_NONE && d < CLP_N_DTYPES;
}

const char *clp_dtype_name(clp_dtype dtype)
{
    return is_dtype(dtype) ? names[dtype].name : names[CLP_DTYPE_NONE].name;
}

int clp_dtype_bits(clp_dtype dtype)
{
    return is_dtype(dtype) ? names[dtype].bits : 0;
}

clp_dtype clp_dtype_from_name(const char *name)
{
    for (clp_dtype d = CLP_DTYPE_NONE + 1; name && d < CLP_N_DTYPES; d++)
        if (!strcmp(name, names[d].name))
            return d;
    return CLP_DTYPE_NONE;
}

static dtype_class class_of(clp_dtype d)
{
    return is_dtype(d) ? facts[d].class : CLASS_NONE;
}

bool clpi_is_float(clp_dtype d)
{
    return class_of(d) == CLASS_FLOAT;
}

bool clpi_is_int(clp_dtype d)
{
    return class_of(d) == CLASS_SIGNED || class_of(d) == CLASS_UNSIGNED;
}

bool clpi_is_signed(clp_dtype d)
{
    return class_of(d) == CLASS_SIGNED;
}

bool clpi_is_unsigned(clp_dtype d)
{
    return class_of(d) == CLASS_UNSIGNED;
}

bool clpi_is_f8(clp_dtype d)
{
    return d == CLP_F8E4M3 || d == CLP_F8E5M2;
}

bool clpi_is_packed(clp_dtype d)
{
    return d == CLP_I4 || d == CLP_U4;
}

clp_dtype clpi_loaded(clp_dtype d)
{
    return clpi_is_packed(d) ? facts[d].rep : d;
}

clp_dtype clpi_rep(clp_dtype d)
{
    return is_dtype(d) ? facts[d].rep : CLP_DTYPE_NONE;
}

size_t clpi_rep_bytes(clp_dtype d)
{
    return (size_t)clp_dtype_bits(clpi_rep(d)) / 8;
}

/* The low bits of a word that an element of d has. */
static uint64_t mask_of(clp_dtype d)
{
    return UINT64_MAX >> (64 - clp_dtype_bits(d));
}

int64_t clpi_int_min(clp_dtype d)
{
    assert(clpi_is_int(d) || d == CLP_BOOL);
    return clpi_is_signed(d) ? -(int64_t)(mask_of(d) >> 1) - 1 : 0;
}

uint64_t clpi_int_max(clp_dtype d)
{
    assert(clpi_is_int(d) || d == CLP_BOOL);
    if (d == CLP_BOOL)
        return 1;
    return clpi_is_signed(d) ? mask_of(d) >> 1 : mask_of(d);
}

float clpi_f16_to_f32(uint16_t bits)
{
    return clpi_f16_value(bits);
}

float clpi_bf16_to_f32(uint16_t bits)
{
    return clpi_bf16_value(bits);
}

float clpi_f8e4m3_to_f32(uint8_t bits)
{
    return clpi_f8e4m3_value(bits);
}

float clpi_f8e5m2_to_f32(uint8_t bits)
{
    return clpi_f8e5m2_value(bits);
}

uint16_t clpi_f32_to_f16(float x)
{
    return clpi_f16_bits(clpi_round_f16(x));
}

uint16_t clpi_f32_to_bf16(float x)
{
    return clpi_bf16_bits(clpi_round_bf16(x));
}

uint8_t clpi_f32_to_f8e4m3(float x)
{
    return clpi_f8e4m3_bits(clpi_round_f8e4m3(x));
}

uint8_t clpi_f32_to_f8e5m2(float x)
{
    return clpi_f8e5m2_bits(clpi_round_f8e5m2(x));
}

/* x in f32, rounded to odd: a later rounding to fewer bits then gives what one rounding of x would. */
static float to_odd_f32(double x)
{
    float f = (float)x;
    if (x != x || (double)f == x)
        return f;
    uint32_t u = clpi_f32_bits(f);
    bool is_too_large = f > 0 || (f == 0 && x > 0) ? (double)f > x : (double)f < x;
    return clpi_f32_from_bits((is_too_large ? u - 1u : u) | 1u);
}

static uint64_t small_bits(clp_dtype d, float x)
{
    switch (d) {
    case CLP_F16: return clpi_f32_to_f16(x);
    case CLP_BF16: return clpi_f32_to_bf16(x);
    case CLP_F8E4M3: return clpi_f32_to_f8e4m3(x);
    case CLP_F8E5M2: return clpi_f32_to_f8e5m2(x);
    default: assert(d == CLP_F32); return clpi_f32_bits(x);
    }
}

uint64_t clpi_f64_to_small_bits(clp_dtype d, double x)
{
    return small_bits(d, d == CLP_F32 ? (float)x : to_odd_f32(x));
}

clpi_elem clpi_elem_from_bits(clp_dtype d, uint64_t bits)
{
    clpi_elem e = { .u = bits & mask_of(d) };
    if (clpi_is_signed(d)) {
        uint64_t sign = (mask_of(d) >> 1) + 1;
        return (clpi_elem){ .u = (e.u ^ sign) - sign };
    }
    switch (d) {
    case CLP_BOOL: return (clpi_elem){ .u = e.u != 0 };
    case CLP_F16: return (clpi_elem){ .f = clpi_f16_value((uint16_t)e.u) };
    case CLP_BF16: return (clpi_elem){ .f = clpi_bf16_value((uint16_t)e.u) };
    case CLP_F8E4M3: return (clpi_elem){ .f = clpi_f8e4m3_value((uint8_t)e.u) };
    case CLP_F8E5M2: return (clpi_elem){ .f = clpi_f8e5m2_value((uint8_t)e.u) };
    case CLP_F32: return (clpi_elem){ .f = clpi_f32_from_bits((uint32_t)e.u) };
    default: return e; /* unsigned integers; f64 is its own bits */
    }
}

uint64_t clpi_bits_at(clp_dtype d, const void *memory, int64_t at)
{
    const unsigned char *bytes = memory;
    const size_t n_bytes = (size_t)clp_dtype_bits(d) / 8;
    union { uint8_t u8; uint16_t u16; uint32_t u32; uint64_t u64; } e = { .u64 = 0 };
    if (clpi_is_packed(d))
        return bytes[at >> 1] >> (at & 1) * 4 & 15;
    memcpy(&e, bytes + at * (int64_t)n_bytes, n_bytes);
    return n_bytes == 1 ? e.u8 : n_bytes == 2 ? e.u16 : n_bytes == 4 ? e.u32 : e.u64;
}

clpi_elem clpi_elem_at(clp_dtype d, const void *memory, int64_t at)
{
    return clpi_elem_from_bits(d, clpi_bits_at(d, memory, at));
}

uint64_t clpi_elem_to_bits(clp_dtype d, clpi_elem e)
{
    if (d == CLP_BOOL)
        return e.u != 0;
    if (clpi_is_float(d) && d != CLP_F64)
        return small_bits(d, e.f);
    return e.u & mask_of(d);
}

uint64_t clpi_poison_bits(clp_dtype d)
{
    switch (d) {
    case CLP_F64: return 0x7ff8000000000000u;
    case CLP_F32: return 0x7fc00000u;
    case CLP_F16: return 0x7e00u;
    case CLP_BF16: return 0x7fc0u;
    case CLP_F8E4M3: return 0x7fu;
    case CLP_F8E5M2: return 0x7eu;
    default: return clpi_is_signed(d) ? (mask_of(d) >> 1) + 1 : clpi_int_max(d);
    }
}

/* Truncates, saturates; NaN gives 0. The limits are powers of two, or one less, so the comparisons are exact. */
static clpi_elem float_to_int(clp_dtype to, double x)
{
    uint64_t max = clpi_int_max(to);
    double beyond = 2.0 * (double)(max / 2 + 1), least = (double)clpi_int_min(to);
    if (x != x)
        return (clpi_elem){ .u = 0 };
    if (x >= beyond)
        return (clpi_elem){ .u = max };
    if (x <= least)
        return (clpi_elem){ .i = clpi_int_min(to) };
    return clpi_is_signed(to) ? (clpi_elem){ .i = (int64_t)x } : (clpi_elem){ .u = (uint64_t)x };
}

static clpi_elem int_to_float(clp_dtype to, clp_dtype from, clpi_elem e)
{
    if (to == CLP_F64)
        return (clpi_elem){ .d = clpi_is_signed(from) ? (double)e.i : (double)e.u };
    float f = clpi_is_signed(from) ? (float)e.i : (float)e.u;
    return clpi_elem_from_bits(to, small_bits(to, f));
}

clpi_elem clpi_elem_cast(clp_dtype to, clp_dtype from, clpi_elem e)
{
    bool from_float = clpi_is_float(from);
    double x = from == CLP_F64 ? e.d : from_float ? (double)e.f : 0.0;
    if (to == from)
        return e;
    if (to == CLP_F64 && from_float)
        return (clpi_elem){ .d = x };
    if (to == CLP_BOOL)
        return (clpi_elem){ .u = from_float ? x != 0.0 : e.u != 0 };
    if (clpi_is_float(to) && from_float)
        return clpi_elem_from_bits(to, clpi_f64_to_small_bits(to, x));
    if (clpi_is_float(to))
        return int_to_float(to, from, e);
    return from_float ? float_to_int(to, x) : clpi_elem_from_bits(to, e.u);
}
