/* dtype: facts about element types, and the conversions between their bits and numbers.
 *
 * Two forms of an element. Stored: as in an array (clp_dtype_bits wide). Held: as a value is computed with, by rep:
 *     bool                          uint8_t, 0 or 1
 *     i8 .. u64, f32, f64           themselves
 *     i4, u4                        no values of these: they load as i8, u8
 *     f16 bf16 f8e4m3 f8e5m2        float, always exactly one of the dtype's values                                     */
#ifndef CLPI_DTYPE_H
#define CLPI_DTYPE_H

#include "clpallas.h"

bool clpi_is_float(clp_dtype d);             /* f16 bf16 f32 f64 f8e4m3 f8e5m2 */
bool clpi_is_int(clp_dtype d);               /* signed or unsigned, not bool */
bool clpi_is_signed(clp_dtype d);            /* i4 .. i64 */
bool clpi_is_unsigned(clp_dtype d);
bool clpi_is_f8(clp_dtype d);
bool clpi_is_packed(clp_dtype d);            /* i4, u4 */
clp_dtype clpi_loaded(clp_dtype d);          /* i4 -> i8, u4 -> u8, others themselves */
clp_dtype clpi_rep(clp_dtype d);             /* the dtype whose C type holds a value: f16, bf16, f8: f32; others: loaded */
size_t clpi_rep_bytes(clp_dtype d);          /* size of the held form */
int64_t  clpi_int_min(clp_dtype d);          /* integers and bool */
uint64_t clpi_int_max(clp_dtype d);

/* One held element of any dtype. Integers: sign- or zero-extended in i / u; bool 0 or 1 in u; f64 in d; other floats in f. */
typedef union clpi_elem { int64_t i; uint64_t u; double d; float f; } clpi_elem;

/* bits: the stored bits of the element, in the low end of a 64-bit word (attr of a const, pad of an operand). */
clpi_elem clpi_elem_from_bits(clp_dtype d, uint64_t bits);
uint64_t  clpi_elem_to_bits(clp_dtype d, clpi_elem e);
/* Of an array in the host's memory, the element `at` elements behind its start; those of 4 bits lie two a byte, the low one first. */
uint64_t  clpi_bits_at(clp_dtype d, const void *memory, int64_t at);    /* its stored bits */
clpi_elem clpi_elem_at(clp_dtype d, const void *memory, int64_t at);
uint64_t  clpi_poison_bits(clp_dtype d);     /* NaN, the most negative, the largest unsigned, true */
/* The cast of the language. Float to float rounds once; integer to f16, bf16, f8 goes by way of f32. */
clpi_elem clpi_elem_cast(clp_dtype to, clp_dtype from, clpi_elem e);

/* Rounding to the 16- and 8-bit floats: nearest even, overflow to infinity (f8e4m3: NaN), subnormals kept, NaN stays. */
float clpi_f16_to_f32(uint16_t bits);
float clpi_bf16_to_f32(uint16_t bits);
float clpi_f8e4m3_to_f32(uint8_t bits);
float clpi_f8e5m2_to_f32(uint8_t bits);
uint16_t clpi_f32_to_f16(float x);
uint16_t clpi_f32_to_bf16(float x);
uint8_t  clpi_f32_to_f8e4m3(float x);
uint8_t  clpi_f32_to_f8e5m2(float x);
uint64_t clpi_f64_to_small_bits(clp_dtype d, double x);   /* f16 bf16 f8 f32: rounded once, from f64 */

#endif
