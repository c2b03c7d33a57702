/* values: what runners of values.def share: reading a literal, the distance between results. */
#ifndef TESTS_OPS_VALUES_H
#define TESTS_OPS_VALUES_H

#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"

static inline bool value_is(const char *text, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(text, word, n) == 0;
}

/* The stored bits that stand for a float's magnitude: exponent bits and mantissa bits of the dtype. */
static inline void value_layout(clp_dtype dtype, int *out_exponent, int *out_mantissa)
{
    *out_exponent = dtype == CLP_F16 || dtype == CLP_F8E5M2 ? 5 : dtype == CLP_F8E4M3 ? 4 : dtype == CLP_F64 ? 11 : 8;
    *out_mantissa = clp_dtype_bits(dtype) - 1 - *out_exponent;
}

/* The stored bits of a literal. false: it is none of that dtype. */
static inline bool value_bits(clp_dtype dtype, const char *text, size_t n, uint64_t *out_bits)
{
    char copy[64] = { 0 }, *end = copy;
    if (n == 0 || n >= sizeof copy)
        return false;
    memcpy(copy, text, n);
    *out_bits = 0;
    if (dtype == CLP_BOOL) {
        *out_bits = value_is(text, n, "true");
        return *out_bits || value_is(text, n, "false");
    }
    if (clpi_is_int(dtype)) {
        bool is_min = value_is(text, n, "min"), is_max = value_is(text, n, "max");
        uint64_t u = is_min ? (uint64_t)clpi_int_min(dtype) : is_max ? clpi_int_max(dtype) : 0;
        if (!is_min && !is_max)
            u = copy[0] == '-' ? (uint64_t)strtoll(copy, &end, 10) : strtoull(copy, &end, 10);
        *out_bits = clpi_elem_to_bits(dtype, (clpi_elem){ .u = u });
        return is_min || is_max || *end == 0;
    }
    int exponent, mantissa;
    value_layout(dtype, &exponent, &mantissa);
    uint64_t sign = (uint64_t)(copy[0] == '-') << (exponent + mantissa), least = (uint64_t)1 << mantissa;
    uint64_t infinity = (((uint64_t)1 << exponent) - 1) << mantissa;
    const char *word = copy + (copy[0] == '-');
    const struct { const char *word; uint64_t bits; } words[] = { { "tiny", 1 },         { "below", least - 1 },
                                                                 { "least", least },    { "huge", infinity - 1 },
                                                                 { "inf", infinity },   { "nan", infinity + least / 2 } };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strcmp(word, words[i].word)) {
            *out_bits = sign | words[i].bits;
            return true;
        }
    }
    double x = strtod(copy, &end);
    *out_bits = dtype == CLP_F64 ? clpi_elem_to_bits(dtype, (clpi_elem){ .d = x }) : clpi_f64_to_small_bits(dtype, x);
    return *end == 0;
}

/* Literals parted by commas; the number of them, -1 when one cannot be read. first: the dtype of the first. */
static inline int value_list(clp_dtype first, clp_dtype dtype, const char *text, uint64_t *out_bits, int max)
{
    int n = 0;
    for (const char *at = text;; n++) {
        size_t n_bytes = strcspn(at, ",");
        if (n == max || !value_bits(n == 0 ? first : dtype, at, n_bytes, &out_bits[n]))
            return -1;
        if (at[n_bytes] == 0)
            return n + 1;
        at += n_bytes + 1 + strspn(at + n_bytes + 1, " ");
    }
}

/* Steps between two values of a dtype; 0 for equal bits and for two NaNs, UINT64_MAX where the kinds or signs differ. */
static inline uint64_t value_distance(clp_dtype dtype, uint64_t a, uint64_t b)
{
    if (a == b)
        return 0;
    if (!clpi_is_float(dtype))
        return UINT64_MAX;
    int exponent, mantissa;
    value_layout(dtype, &exponent, &mantissa);
    uint64_t infinity = (((uint64_t)1 << exponent) - 1) << mantissa, sign = (uint64_t)1 << (exponent + mantissa);
    bool a_is_nan = (a & ~sign) > infinity, b_is_nan = (b & ~sign) > infinity;
    if (a_is_nan || b_is_nan)
        return a_is_nan && b_is_nan ? 0 : UINT64_MAX;
    if ((a ^ b) & sign)
        return UINT64_MAX;
    return a > b ? a - b : b - a;
}

#endif
