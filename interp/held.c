/* held: elements between an array's memory and tiles, by dtype.
 * In: where elements stand in memory, evenly spaced. Out: the same elements as they are computed with, and back.
 * Decides nothing; bool bytes other than 0 are true, nibbles stand low one first and leave their neighbours alone.
 * Memory may be unaligned: every access is a memcpy, which compiles to one load or store.                               */
#include <assert.h>
#include <string.h>

#include "base/smallfloat.h"
#include "interp/interp.h"

#define SAME(x)    (x)
#define TO_BOOL(x) ((uint8_t)((x) != 0))

/* A row of each dtype: (name, held type, stored type, held from stored, stored from held). Unit strides get a loop of their
 * own, which the compiler turns into vector code.                                                                       */
#define ROWS(name, held_t, stored_t, GET, PUT)                                                                         \
    static void name##_get(void *held, const uint8_t *data, int64_t at, int64_t stride, int64_t n)                     \
    {                                                                                                                  \
        held_t *h = held;                                                                                              \
        const uint8_t *p = data + at * (int64_t)sizeof(stored_t);                                                      \
        stored_t x;                                                                                                    \
        if (stride == 1)                                                                                               \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                memcpy(&x, p + i * (int64_t)sizeof x, sizeof x);                                                       \
                h[i] = GET(x);                                                                                         \
            }                                                                                                          \
        else                                                                                                           \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                memcpy(&x, p + i * stride * (int64_t)sizeof x, sizeof x);                                              \
                h[i] = GET(x);                                                                                         \
            }                                                                                                          \
    }                                                                                                                  \
    static void name##_put(uint8_t *data, int64_t at, int64_t stride, const void *held, int64_t n)                     \
    {                                                                                                                  \
        const held_t *h = held;                                                                                        \
        uint8_t *p = data + at * (int64_t)sizeof(stored_t);                                                            \
        if (stride == 1)                                                                                               \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                stored_t x = PUT(h[i]);                                                                                \
                memcpy(p + i * (int64_t)sizeof x, &x, sizeof x);                                                       \
            }                                                                                                          \
        else                                                                                                           \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                stored_t x = PUT(h[i]);                                                                                \
                memcpy(p + i * stride * (int64_t)sizeof x, &x, sizeof x);                                              \
            }                                                                                                          \
    }

ROWS(bool,   uint8_t,  uint8_t,  TO_BOOL, TO_BOOL)
ROWS(b8,     uint8_t,  uint8_t,  SAME, SAME)
ROWS(b16,    uint16_t, uint16_t, SAME, SAME)
ROWS(b32,    uint32_t, uint32_t, SAME, SAME)
ROWS(b64,    uint64_t, uint64_t, SAME, SAME)
ROWS(f16,    float,    uint16_t, clpi_f16_value, clpi_f16_bits)
ROWS(bf16,   float,    uint16_t, clpi_bf16_value, clpi_bf16_bits)
ROWS(f8e4m3, float,    uint8_t,  clpi_f8e4m3_value, clpi_f8e4m3_bits)
ROWS(f8e5m2, float,    uint8_t,  clpi_f8e5m2_value, clpi_f8e5m2_bits)

static uint8_t nibble_at(const uint8_t *data, int64_t at)
{
    return (uint8_t)(data[at >> 1] >> (at & 1) * 4 & 15);
}

static void i4_get(void *held, const uint8_t *data, int64_t at, int64_t stride, int64_t n)
{
    int8_t *h = held;
    for (int64_t i = 0; i < n; i++)
        h[i] = (int8_t)((nibble_at(data, at + i * stride) ^ 8) - 8);
}

static void u4_get(void *held, const uint8_t *data, int64_t at, int64_t stride, int64_t n)
{
    uint8_t *h = held;
    for (int64_t i = 0; i < n; i++)
        h[i] = nibble_at(data, at + i * stride);
}

static void nibble_put(uint8_t *data, int64_t at, int64_t stride, const void *held, int64_t n)
{
    const uint8_t *h = held;
    for (int64_t i = 0; i < n; i++) {
        int64_t e = at + i * stride;
        int shift = (int)(e & 1) * 4;
        data[e >> 1] = (uint8_t)((data[e >> 1] & (0xf0 >> shift)) | (h[i] & 15) << shift);
    }
}

const clpi_held clpi_held_of[CLP_N_DTYPES] = {
    [CLP_BOOL]   = { bool_get,   bool_put,   1, false },
    [CLP_I8]     = { b8_get,     b8_put,     1, true },
    [CLP_U8]     = { b8_get,     b8_put,     1, true },
    [CLP_I16]    = { b16_get,    b16_put,    2, true },
    [CLP_U16]    = { b16_get,    b16_put,    2, true },
    [CLP_I32]    = { b32_get,    b32_put,    4, true },
    [CLP_U32]    = { b32_get,    b32_put,    4, true },
    [CLP_I64]    = { b64_get,    b64_put,    8, true },
    [CLP_U64]    = { b64_get,    b64_put,    8, true },
    [CLP_F16]    = { f16_get,    f16_put,    4, false },
    [CLP_BF16]   = { bf16_get,   bf16_put,   4, false },
    [CLP_F32]    = { b32_get,    b32_put,    4, true },
    [CLP_F64]    = { b64_get,    b64_put,    8, true },
    [CLP_I4]     = { i4_get,     nibble_put, 1, false },
    [CLP_U4]     = { u4_get,     nibble_put, 1, false },
    [CLP_F8E4M3] = { f8e4m3_get, f8e4m3_put, 4, false },
    [CLP_F8E5M2] = { f8e5m2_get, f8e5m2_put, 4, false },
};

/* ---- Single elements of tiles ---- */

void clpi_elem_put(clp_dtype d, void *tile, int64_t i, clpi_elem e)
{
    switch (clpi_rep(d)) {
    case CLP_BOOL: ((uint8_t *)tile)[i] = e.u != 0; break;
    case CLP_I8:
    case CLP_U8: ((uint8_t *)tile)[i] = (uint8_t)e.u; break;
    case CLP_I16:
    case CLP_U16: ((uint16_t *)tile)[i] = (uint16_t)e.u; break;
    case CLP_I32:
    case CLP_U32: ((uint32_t *)tile)[i] = (uint32_t)e.u; break;
    case CLP_I64:
    case CLP_U64: ((uint64_t *)tile)[i] = e.u; break;
    case CLP_F32: ((float *)tile)[i] = e.f; break;
    case CLP_F64: ((double *)tile)[i] = e.d; break;
    default: assert(false && "held dtypes are these");
    }
}

clpi_elem clpi_elem_get(clp_dtype d, const void *tile, int64_t i)
{
    switch (clpi_rep(d)) {
    case CLP_BOOL:
    case CLP_U8: return (clpi_elem){ .u = ((const uint8_t *)tile)[i] };
    case CLP_I8: return (clpi_elem){ .i = ((const int8_t *)tile)[i] };
    case CLP_U16: return (clpi_elem){ .u = ((const uint16_t *)tile)[i] };
    case CLP_I16: return (clpi_elem){ .i = ((const int16_t *)tile)[i] };
    case CLP_U32: return (clpi_elem){ .u = ((const uint32_t *)tile)[i] };
    case CLP_I32: return (clpi_elem){ .i = ((const int32_t *)tile)[i] };
    case CLP_U64: return (clpi_elem){ .u = ((const uint64_t *)tile)[i] };
    case CLP_I64: return (clpi_elem){ .i = ((const int64_t *)tile)[i] };
    case CLP_F32: return (clpi_elem){ .f = ((const float *)tile)[i] };
    case CLP_F64: return (clpi_elem){ .d = ((const double *)tile)[i] };
    default: assert(false && "held dtypes are these"); return (clpi_elem){ 0 };
    }
}

void clpi_tile_fill(clp_dtype d, void *tile, clpi_elem e, int64_t n)
{
    if (n <= 0)
        return;
    clpi_elem_put(d, tile, 0, e);
    switch (clpi_rep_bytes(d)) {
    case 1: memset(tile, ((uint8_t *)tile)[0], (size_t)n); break;
    case 2:
        for (int64_t i = 1; i < n; i++)
            ((uint16_t *)tile)[i] = ((uint16_t *)tile)[0];
        break;
    case 4: {
        uint32_t x = ((uint32_t *)tile)[0];
        for (int64_t i = 1; i < n; i++)
            ((uint32_t *)tile)[i] = x;
        break;
    }
    default: {
        uint64_t x = ((uint64_t *)tile)[0];
        for (int64_t i = 1; i < n; i++)
            ((uint64_t *)tile)[i] = x;
    }
    }
}

int64_t clpi_index_get(clp_dtype d, const void *tile, int64_t i)
{
    if (d == CLP_I32)
        return ((const int32_t *)tile)[i];
    clpi_elem e = clpi_elem_get(d, tile, i);
    return d == CLP_U64 && e.u > INT64_MAX ? INT64_MAX : e.i;
}
