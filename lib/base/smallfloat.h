/* smallfloat: the 16- and 8-bit floats, as functions of f32 that a C compiler turns into vector code.
 *
 *             mantissa  least normal  step below it  largest         beyond it
 *     f16       10       2^-14         2^-24          65504           infinity
 *     bf16       7       2^-126        2^-133         3.39e38         infinity
 *     f8e4m3     3       2^-6          2^-9           448             NaN; it has no infinities
 *     f8e5m2     2       2^-14         2^-16          57344           infinity
 *
 * clpi_round_<dtype>(x): the value of the dtype nearest to x, still an f32. This is what "rounded back after every
 * operation" means. clpi_<dtype>_bits(x): the stored bits of a value that is one of the dtype's already.               */
#ifndef CLPI_SMALLFLOAT_H
#define CLPI_SMALLFLOAT_H

#include <stdint.h>
#include <string.h>

static inline uint32_t clpi_f32_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float clpi_f32_from_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Rounds to nearest even. drop: mantissa bits that go. magic: 2^23 steps, so that adding it rounds what lies below the least
 * normal. Beyond max comes `over`. All but x are constants where this is inlined.                                       */
static inline float clpi_round_small(float x, int drop, float least_normal, float magic, float max, uint32_t over)
{
    uint32_t sign = clpi_f32_bits(x) & 0x80000000u, u = clpi_f32_bits(x) & 0x7fffffffu;
    float a = clpi_f32_from_bits(u);
    uint32_t normal = (u + ((1u << (drop - 1)) - 1u) + ((u >> drop) & 1u)) & ~((1u << drop) - 1u);
    uint32_t result = a < least_normal ? clpi_f32_bits((a + magic) - magic) : normal;
    result = result > clpi_f32_bits(max) ? over : result;
    result = u > 0x7f800000u ? (u | 0x400000u) : result;
    return clpi_f32_from_bits(sign | result);
}

static inline float clpi_round_f16(float x)
{
    return clpi_round_small(x, 13, 0x1p-14f, 0.5f, 65504.0f, 0x7f800000u);
}

static inline float clpi_round_f8e4m3(float x)
{
    return clpi_round_small(x, 20, 0x1p-6f, 0x1p14f, 448.0f, 0x7fc00000u);
}

static inline float clpi_round_f8e5m2(float x)
{
    return clpi_round_small(x, 21, 0x1p-14f, 0x1p7f, 57344.0f, 0x7f800000u);
}

static inline float clpi_round_bf16(float x)
{
    uint32_t u = clpi_f32_bits(x);
    uint32_t rounded = u + 0x7fffu + ((u >> 16) & 1u);
    return clpi_f32_from_bits(((u & 0x7fffffffu) > 0x7f800000u ? (u | 0x400000u) : rounded) & 0xffff0000u);
}

/* Scaling by a power of two moves the exponent from f32's bias to the other's, below the least normal too. */
static inline uint16_t clpi_f16_bits(float x)
{
    uint32_t u = clpi_f32_bits(x) & 0x7fffffffu, sign = (clpi_f32_bits(x) >> 16) & 0x8000u;
    uint32_t finite = clpi_f32_bits(clpi_f32_from_bits(u) * 0x1p-112f) >> 13;
    uint32_t bits = u >= 0x7f800000u ? (u > 0x7f800000u ? 0x7e00u : 0x7c00u) : finite;
    return (uint16_t)(sign | bits);
}

static inline uint16_t clpi_bf16_bits(float x)
{
    return (uint16_t)(clpi_f32_bits(x) >> 16);
}

static inline uint8_t clpi_f8e4m3_bits(float x)
{
    uint32_t u = clpi_f32_bits(x) & 0x7fffffffu, sign = (clpi_f32_bits(x) >> 24) & 0x80u;
    uint32_t finite = clpi_f32_bits(clpi_f32_from_bits(u) * 0x1p-120f) >> 20;
    return (uint8_t)(sign | (u >= 0x7f800000u ? 0x7fu : finite));
}

static inline uint8_t clpi_f8e5m2_bits(float x)
{
    return (uint8_t)(clpi_f16_bits(x) >> 8);
}

static inline float clpi_f16_value(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, u = (uint32_t)(bits & 0x7fffu) << 13;
    uint32_t finite = clpi_f32_bits(clpi_f32_from_bits(u) * 0x1p112f);
    return clpi_f32_from_bits(sign | (u >= 0x0f800000u ? u | 0x7f800000u : finite));
}

static inline float clpi_bf16_value(uint16_t bits)
{
    return clpi_f32_from_bits((uint32_t)bits << 16);
}

static inline float clpi_f8e4m3_value(uint8_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x80u) << 24, u = (uint32_t)(bits & 0x7fu) << 20;
    uint32_t finite = clpi_f32_bits(clpi_f32_from_bits(u) * 0x1p120f);
    return clpi_f32_from_bits(sign | ((bits & 0x7fu) == 0x7fu ? 0x7fc00000u : finite));
}

static inline float clpi_f8e5m2_value(uint8_t bits)
{
    return clpi_f16_value((uint16_t)(bits << 8));
}

#endif
