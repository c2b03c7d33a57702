/* prelude: OpenCL C for single values: types, literals, elementwise operations, casts, reductions of lanes, atomics.
 *
 * The emitter asks for expressions; what an expression calls is remembered and comes out once, before the kernels, in
 * order of dependence (clpi_prelude_text). Pure text: no device is needed, and equal requests give equal text.
 *
 * How a value of `width` lanes (1 2 4 8 16) stands in OpenCL C:
 *
 *     dtype           held, to compute with          stored, as in an array
 *     i8 .. u64       char .. ulong                  the same
 *     f32, f64        float, double                  the same
 *     f16, bf16       float, one of the dtype's      ushort
 *     f8e4m3, f8e5m2  float, likewise                uchar
 *     bool, width 1   int, 0 or 1                    uchar, 0 or 1 (read: 0 or other)
 *     bool, vector    a mask: lanes 0 or -1 of       uchar, likewise
 *                     8, 16, 32 or 64 bits
 *     i4, u4          as i8, u8                      nibbles of uchar
 *
 * A mask has the lane width of what it came from: a comparison of f16 gives 32 bits, as float has. Operations on several
 * bools take masks of one width; `where` takes a mask as wide as the lanes it chooses from. clpi_cl_mask converts.
 *
 * Arguments are expressions of any form; they are put in parentheses where need be, and each is written exactly once.
 * Results are expressions without parentheses around them, fit to be arguments again.                                 */
#ifndef CLPI_PRELUDE_H
#define CLPI_PRELUDE_H

#include "run/backend.h"

typedef struct clpi_prelude_item clpi_prelude_item;

typedef struct clpi_prelude {
    clpi_arena        *arena;
    const clpi_limits *limits;
    bool               math_fast;
    bool               uses_f64, uses_i64_atomics;     /* pragmas that clpi_prelude_text writes */
    struct { clpi_prelude_item *items; uint32_t n, cap; } needed;
    clpi_str           functions;                      /* definitions so far, in order of dependence */
} clpi_prelude;

/* limits: has_correct_divide and has_fp64 decide how f32 divides. The arena must outlive p; its failure, or that of a
 * string, is sticky and looked at by the caller at the end.                                                           */
void clpi_prelude_init(clpi_prelude *p, clpi_arena *arena, const clpi_limits *limits, bool math_fast);
void clpi_prelude_done(clpi_prelude *p);
void clpi_prelude_text(clpi_prelude *p, clpi_str *out);   /* pragmas and functions, to stand before the kernels */
void clpi_prelude_use(clpi_prelude *p, clp_dtype dtype);  /* the kernels name the type of dtype themselves */

/* ---- Types and literals ---- */
const char *clpi_cl_type(clp_dtype held, int width);          /* "float16"; bool: "int", width 1 only */
const char *clpi_cl_stored_type(clp_dtype dtype, int width);  /* "ushort16" for f16 */
const char *clpi_cl_mask_type(int bits, int width);           /* "int16"; width 1: "int" whatever the bits */
int         clpi_cl_mask_bits(clp_dtype held);                /* lanes of a comparison of these: 8 16 32 64 */
void clpi_cl_literal(clpi_str *out, clp_dtype dtype, uint64_t bits);             /* one held element from its stored bits */
void clpi_cl_poison(clpi_str *out, clp_dtype dtype);                             /* likewise */
void clpi_cl_identity(clpi_str *out, clpi_op_kind reduction, clp_dtype dtype);   /* of sum prod max min any all */
void clpi_prelude_splat(clpi_prelude *p, clpi_str *out, clp_dtype dtype, int width, const char *scalar);   /* not bool: mask */

/* ---- Operations ---- */
/* Any elementwise op; dtype is that of the operands (where: of b and c). Comparisons and tests give a bool whose mask has
 * clpi_cl_mask_bits(dtype) bits (bool operands: as many as they have); all others give dtype.                         */
void clpi_prelude_ew(clpi_prelude *p, clpi_str *out, clpi_op_kind op, clp_dtype dtype, int width, const char *const *args);
/* mask_bits: of arg when `from` is bool, else not looked at. To bool gives a mask of clpi_cl_mask_bits(from) bits. */
void clpi_prelude_cast(clpi_prelude *p, clpi_str *out, clp_dtype to, clp_dtype from, int width, int mask_bits, const char *arg);
/* Not of bools. */
void clpi_prelude_bitcast(clpi_prelude *p, clpi_str *out, clp_dtype to, clp_dtype from, int width, const char *arg);
/* A mask of to_bits from one of from_bits; from_bits 0: from a scalar bool, to all lanes. Width 1: arg as it is. */
void clpi_cl_mask(clpi_str *out, int to_bits, int from_bits, int width, const char *arg);
/* Between stored and held; mask_bits says what a bool becomes. Not for i4, u4. */
void clpi_prelude_held(clpi_prelude *p, clpi_str *out, clp_dtype dtype, int width, int mask_bits, const char *stored);
void clpi_prelude_stored(clpi_prelude *p, clpi_str *out, clp_dtype dtype, int width, const char *held);

/* ---- Nibbles: i4, u4 in __global const uchar *; index counts elements (long) ---- */
/* One element, held. */
void clpi_prelude_nibble(clpi_prelude *p, clpi_str *out, clp_dtype dtype, const char *pointer, const char *index);
/* Stores one held element (i8 or u8: its low bits) without disturbing its neighbour, whoever writes that. A call, void. */
void clpi_prelude_nibble_store(clpi_prelude *p, clpi_str *out, const char *pointer, const char *index, const char *value);

/* The place of n words (uint) in a log (code.h), 0: it is full. */
void clpi_prelude_claim(clpi_prelude *p, clpi_str *out, const char *log, const char *n);

/* Asks for the line that is at address, __global, and waits for nothing: any address will do. A call, void. */
void clpi_prelude_fetch(clpi_prelude *p, clpi_str *out, const char *address);

/* Stores width elements, in stored form, past the caches where the compiler knows how; address: aligned as the vector. A call, void. */
void clpi_prelude_stream(clpi_prelude *p, clpi_str *out, clp_dtype dtype, int width, const char *address, const char *stored);
void clpi_prelude_drain(clpi_prelude *p, clpi_str *out, const char *is_far);      /* after the last of them, if there were any. A call, void */

/* ---- Reductions: dtype is that of the accumulator ---- */
void clpi_prelude_combine(clpi_prelude *p, clpi_str *out, clpi_op_kind reduction, clp_dtype dtype, int width, const char *a,
                          const char *b);
/* All lanes into one scalar (any, all: a mask into 0 or 1). */
void clpi_prelude_reduce(clpi_prelude *p, clpi_str *out, clpi_op_kind reduction, clp_dtype dtype, int width, const char *arg);
/* argmax, argmin: a scalar bool, whether element b with index b_index (int) takes the place of a with a_index: the first
 * NaN, else the greater (less), else the lower index.                                                                 */
void clpi_prelude_prefers(clpi_prelude *p, clpi_str *out, clpi_op_kind op, clp_dtype dtype, const char *a, const char *a_index,
                          const char *b, const char *b_index);

/* ---- Dots: a lane of x and of y holds several neighbours in k; call: a section that dot units name ---- */
void clpi_prelude_dot(clpi_prelude *p, clpi_str *out, const char *call, clp_dtype acc, int width, const char *sum, const char *x,
                      const char *y);

/* ---- Atomics: one element; the expression is its old value ---- */
typedef enum clpi_space { CLPI_SPACE_GLOBAL, CLPI_SPACE_LOCAL, CLPI_SPACE_PRIVATE } clpi_space;
/* op: an atomic_ op. dtype: i32 u32 f32, and i64 u64 f64 where limits.has_int64_atomics. pointer: to dtype, in `space`.
 * values: one, for atomic_cas two (expected, new; f32 compares bits). Private: the same without atomicity, any dtype.  */
bool clpi_prelude_has_atomic(const clpi_limits *limits, clp_dtype dtype);
void clpi_prelude_atomic(clpi_prelude *p, clpi_str *out, clpi_op_kind op, clp_dtype dtype, clpi_space space,
                         const char *pointer, const char *const *values);

#endif
