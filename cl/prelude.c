/* prelude: expressions for single values, and the functions they call.
 * In: requests by op, dtype and lanes. Out: expressions at once; the functions they need, each once, with clpi_prelude_text.
 * Decides how an op of the table, a cast or a mask is put together from the sections of prelude.cl (template.c); knows
 * nothing of kernels.                                                                                                  */
#include <assert.h>
#include <string.h>

#include "cl/template.h"

void clpi_prelude_init(clpi_prelude *p, clpi_arena *arena, const clpi_limits *limits, bool math_fast)
{
    *p = (clpi_prelude){ .arena = arena, .limits = limits, .math_fast = math_fast };
    clpi_str_init(&p->functions, arena->env);
}

void clpi_prelude_done(clpi_prelude *p)
{
    clpi_str_done(&p->functions);
}

void clpi_prelude_use(clpi_prelude *p, clp_dtype dtype)
{
    p->uses_f64 = p->uses_f64 || dtype == CLP_F64;
}

void clpi_prelude_text(clpi_prelude *p, clpi_str *out)
{
    clpi_str_add(out, "#pragma OPENCL FP_CONTRACT %s\n", p->math_fast ? "ON" : "OFF");
    if (p->uses_f64)
        clpi_str_puts(out, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
    if (p->uses_i64_atomics)
        clpi_str_puts(out, "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
                           "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n");
    clpi_str_puts(out, "\n");
    clpi_str_put(out, p->functions.text, p->functions.n);
    out->failed = out->failed || p->functions.failed || p->arena->failed;
}

/* The section must exist. */
static bool put_section(clpi_prelude *p, clpi_str *out, const clpi_request *r, const char *const *args, int n_args)
{
    bool in_place;
    bool found = clpi_template_call(p, out, r, args, n_args, &in_place);
    assert(found);
    (void)found;
    return in_place;
}

static void put_named(clpi_prelude *p, clpi_str *out, const char *name, clp_dtype dtype, int width,
                      const char *const *args, int n_args)
{
    clpi_request r = { .name = name, .n = strlen(name), .dtype = dtype, .width = width };
    put_section(p, out, &r, args, n_args);
}

/* The expression as text of the arena, for use as an argument. */
static const char *keep(clpi_prelude *p, clpi_str *s)
{
    const char *copy = clpi_arena_strndup(p->arena, s->text, s->n);
    p->functions.failed = p->functions.failed || s->failed;
    clpi_str_done(s);
    return copy ? copy : "";
}

/* ---- Elementwise ---- */

static bool is_narrow(clp_dtype d)
{
    return clpi_is_int(d) && clpi_cl_mask_bits(d) < 32;
}

static bool gives_bool(clpi_op_kind op)
{
    clpi_types t = clpi_ops[op].types;
    return t == CLP_CMP || t == CLP_EQU || t == CLP_TST;
}

/* Results that are values of a small float whenever the operands are. */
static bool is_exact(clpi_op_kind op)
{
    switch (op) {
    case CLP_OP_neg: case CLP_OP_abs: case CLP_OP_sign: case CLP_OP_minimum: case CLP_OP_maximum: case CLP_OP_where:
    case CLP_OP_floor: case CLP_OP_ceil: case CLP_OP_trunc: case CLP_OP_round: case CLP_OP_rint: case CLP_OP_copysign:
    case CLP_OP_rem: case CLP_OP_nextafter: return true;
    default: return gives_bool(op);
    }
}

/* An operator row of the table, with a, b replaced. Signed integers go through their unsigned twins, so that they wrap;
 * scalars narrower than int are widened by the language and cut back.                                                  */
static void put_operator(clpi_prelude *p, clpi_str *out, clpi_op_kind op, clp_dtype dtype, int width, const char *const *args)
{
    static const clp_dtype twins[] = { CLP_U8, CLP_U16, CLP_U32, CLP_U64 };
    bool narrow = width == 1 && is_narrow(dtype), arithmetic = clpi_ops[op].types == CLP_ARI;
    bool twin = arithmetic && clpi_is_signed(dtype) && !narrow;
    int bits = dtype == CLP_BOOL ? 8 : clpi_cl_mask_bits(dtype);
    const char *type = dtype == CLP_BOOL ? "" : clpi_cl_type(dtype, width);
    clp_dtype unsigned_twin = twins[bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3];
    if (twin)
        clpi_str_add(out, "as_%s(", type);
    else if (narrow)
        clpi_str_add(out, "(%s)(", type);
    for (const char *c = clpi_ops[op].value; *c; c++) {
        if (*c < 'a' || *c > 'c') {
            clpi_str_put(out, c, 1);
            continue;
        }
        if (twin)
            clpi_str_add(out, "as_%s(%s)", clpi_cl_type(unsigned_twin, width), args[*c - 'a']);
        else {
            clpi_str_puts(out, narrow && arithmetic ? "(uint)" : "");
            clpi_put_operand(out, args[*c - 'a']);
        }
    }
    clpi_str_puts(out, twin || narrow ? ")" : "");
    clpi_prelude_use(p, dtype);
}

/* A CLP_ row: the section is the name in small letters. */
static void put_function(clpi_prelude *p, clpi_str *out, clpi_op_kind op, clp_dtype dtype, int width, const char *const *args)
{
    char name[32];
    size_t n = 0;
    for (const char *c = clpi_ops[op].value + strlen("CLP_"); *c != '('; c++) {
        assert(n < sizeof name);
        name[n++] = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    }
    clpi_request r = { .name = name, .n = n, .dtype = dtype, .width = width };
    clpi_str text;
    clpi_str_init(&text, out->env);
    bool in_place = put_section(p, &text, &r, args, clpi_ops[op].arity);
    if (in_place && width == 1 && is_narrow(dtype) && !gives_bool(op))
        clpi_str_add(out, "(%s)(%s)", clpi_cl_type(dtype, 1), text.text);
    else
        clpi_str_puts(out, text.text);
    out->failed = out->failed || text.failed;
    clpi_str_done(&text);
}

void clpi_prelude_ew(clpi_prelude *p, clpi_str *out, clpi_op_kind op, clp_dtype dtype, int width, const char *const *args)
{
    assert(clpi_ops[op].is_elementwise);
    bool rounds = clpi_rep(dtype) == CLP_F32 && dtype != CLP_F32 && !is_exact(op);
    bool is_function = strncmp(clpi_ops[op].value, "CLP_", 4) == 0;
    if (!rounds) {
        (is_function ? put_function : put_operator)(p, out, op, dtype, width, args);
        return;
    }
    clpi_str exact;
    clpi_str_init(&exact, out->env);
    (is_function ? put_function : put_operator)(p, &exact, op, CLP_F32, width, args);
    put_named(p, out, "round_to", dtype, width, (const char *const[]){ keep(p, &exact) }, 1);
}

/* ---- Casts, masks, stored forms ---- */

/* Whether every value of `from` is one of the float dtype `to`. */
static bool is_subset(clp_dtype to, clp_dtype from)
{
    if (clpi_is_f8(from))
        return to == CLP_F16 || to == CLP_BF16 || to == CLP_F32;
    return (to == CLP_F32 && (from == CLP_F16 || from == CLP_BF16));
}

void clpi_prelude_cast(clpi_prelude *p, clpi_str *out, clp_dtype to, clp_dtype from, int width, int mask_bits, const char *arg)
{
    if (to == from || (clpi_rep(from) == CLP_F32 && is_subset(to, from))) {
        clpi_str_puts(out, arg);
        return;
    }
    bool narrows_exactly = (to == CLP_F16 || to == CLP_BF16) && (from == CLP_I8 || from == CLP_U8);
    clpi_request r = { .name = "cast", .n = 4, .dtype = narrows_exactly ? CLP_F32 : to, .from = clpi_rep(from), .width = width,
                       .mask_bits = mask_bits };
    put_section(p, out, &r, &arg, 1);
    clpi_prelude_use(p, to);
    clpi_prelude_use(p, from);
}

void clpi_prelude_bitcast(clpi_prelude *p, clpi_str *out, clp_dtype to, clp_dtype from, int width, const char *arg)
{
    if (to == from) {
        clpi_str_puts(out, arg);
        return;
    }
    assert(to != CLP_BOOL && from != CLP_BOOL && clp_dtype_bits(to) == clp_dtype_bits(from));
    clpi_str bits, other;
    clpi_str_init(&bits, out->env);
    clpi_str_init(&other, out->env);
    clpi_prelude_stored(p, &bits, from, width, arg);
    const char *to_type = clpi_cl_stored_type(to, width), *from_type = clpi_cl_stored_type(from, width);
    if (to_type == from_type)
        clpi_str_puts(&other, bits.text);
    else
        clpi_str_add(&other, "as_%s(%s)", to_type, bits.text);
    other.failed = other.failed || bits.failed;
    clpi_str_done(&bits);
    clpi_prelude_held(p, out, to, width, 0, keep(p, &other));
}

void clpi_cl_mask(clpi_str *out, int to_bits, int from_bits, int width, const char *arg)
{
    if (width == 1 || to_bits == from_bits) {
        clpi_str_puts(out, arg);
    } else if (from_bits == 0) {
        clpi_str_add(out, "(%s)(-", clpi_cl_mask_type(to_bits, width));
        clpi_put_operand(out, arg);
        clpi_str_puts(out, ")");
    } else {
        /* 64 bits: Mesa 22.3 gets the sign of what was just widened wrong; what a comparison gives is right. */
        const char *type = clpi_cl_mask_type(to_bits, width);
        clpi_str_add(out, to_bits == 64 ? "(convert_%s(%s) != (%s)(0))" : "convert_%s(%s)", type, arg, type);
    }
}

void clpi_prelude_splat(clpi_prelude *p, clpi_str *out, clp_dtype dtype, int width, const char *scalar)
{
    if (width == 1)
        clpi_str_puts(out, scalar);
    else
        clpi_str_add(out, "(%s)(%s)", clpi_cl_type(dtype, width), scalar);
    clpi_prelude_use(p, dtype);
}

static bool is_stored_as_held(clp_dtype dtype)
{
    return dtype != CLP_BOOL && clpi_rep(dtype) == dtype;
}

void clpi_prelude_held(clpi_prelude *p, clpi_str *out, clp_dtype dtype, int width, int mask_bits, const char *stored)
{
    assert(!clpi_is_packed(dtype));
    clpi_prelude_use(p, dtype);
    if (is_stored_as_held(dtype)) {
        clpi_str_puts(out, stored);
    } else if (dtype != CLP_BOOL) {
        put_named(p, out, "unpack", dtype, width, &stored, 1);
    } else if (width == 1) {
        clpi_put_operand(out, stored);
        clpi_str_puts(out, " != 0");
    } else {
        if (mask_bits != 8)
            clpi_str_add(out, "convert_%s(", clpi_cl_mask_type(mask_bits, width));
        clpi_put_operand(out, stored);
        clpi_str_add(out, " != (%s)(0)%s", clpi_cl_stored_type(CLP_BOOL, width), mask_bits == 8 ? "" : ")");
    }
}

void clpi_prelude_stored(clpi_prelude *p, clpi_str *out, clp_dtype dtype, int width, const char *held)
{
    assert(!clpi_is_packed(dtype));
    clpi_prelude_use(p, dtype);
    if (is_stored_as_held(dtype)) {
        clpi_str_puts(out, held);
    } else if (dtype != CLP_BOOL) {
        put_named(p, out, "pack", dtype, width, &held, 1);
    } else {
        clpi_str_add(out, "convert_%s(%s", clpi_cl_stored_type(CLP_BOOL, width), width == 1 ? "" : "-");
        if (width == 1)
            clpi_str_puts(out, held);
        else
            clpi_put_operand(out, held);
        clpi_str_puts(out, ")");
    }
}

/* ---- Nibbles ---- */

void clpi_prelude_nibble(clpi_prelude *p, clpi_str *out, clp_dtype dtype, const char *pointer, const char *index)
{
    put_named(p, out, "nibble", dtype, 1, (const char *const[]){ pointer, index }, 2);
}

void clpi_prelude_nibble_store(clpi_prelude *p, clpi_str *out, const char *pointer, const char *index, const char *value)
{
    put_named(p, out, "nibble_store", CLP_U4, 1, (const char *const[]){ pointer, index, value }, 3);
}

/* ---- Reductions ---- */

void clpi_prelude_combine(clpi_prelude *p, clpi_str *out, clpi_op_kind reduction, clp_dtype dtype, int width,
                          const char *a, const char *b)
{
    const char *const args[] = { a, b };
    clpi_op_kind op = CLP_OP_NONE;
    switch (reduction) {
    case CLP_OP_sum: op = CLP_OP_add; break;
    case CLP_OP_prod: op = CLP_OP_mul; break;
    case CLP_OP_max: op = CLP_OP_maximum; break;
    case CLP_OP_min: op = CLP_OP_minimum; break;
    case CLP_OP_any: op = CLP_OP_or; break;
    case CLP_OP_all: op = CLP_OP_and; break;
    default: assert(0 && "a reduction that combines two values");
    }
    clpi_prelude_ew(p, out, op, dtype, width, args);
}

void clpi_prelude_reduce(clpi_prelude *p, clpi_str *out, clpi_op_kind reduction, clp_dtype dtype, int width, const char *arg)
{
    if (width == 1)
        clpi_str_puts(out, arg);
    else if (reduction == CLP_OP_any || reduction == CLP_OP_all)
        clpi_str_add(out, "%s(%s)", clpi_ops[reduction].name, arg);
    else {
        clpi_request r = { .name = "fold", .n = strlen("fold"), .dtype = dtype, .width = width, .op = reduction };
        put_section(p, out, &r, &arg, 1);
    }
}

void clpi_prelude_prefers(clpi_prelude *p, clpi_str *out, clpi_op_kind op, clp_dtype dtype, const char *a, const char *a_index,
                           const char *b, const char *b_index)
{
    assert(op == CLP_OP_argmax || op == CLP_OP_argmin);
    put_named(p, out, op == CLP_OP_argmax ? "prefers" : "prefers_less", dtype, 1,
              (const char *const[]){ a, a_index, b, b_index }, 4);
}

void clpi_prelude_dot(clpi_prelude *p, clpi_str *out, const char *call, clp_dtype acc, int width, const char *sum, const char *x,
                      const char *y)
{
    put_named(p, out, call, acc, width, (const char *const[]){ sum, x, y }, 3);
}

void clpi_prelude_claim(clpi_prelude *p, clpi_str *out, const char *log, const char *n)
{
    put_named(p, out, "claim", CLP_U32, 1, (const char *const[]){ log, n }, 2);
}

void clpi_prelude_fetch(clpi_prelude *p, clpi_str *out, const char *address)
{
    put_named(p, out, "fetch", CLP_U8, 1, &address, 1);
}

void clpi_prelude_stream(clpi_prelude *p, clpi_str *out, clp_dtype dtype, int width, const char *address, const char *stored)
{
    put_named(p, out, "stream", dtype, width, (const char *const[]){ address, stored }, 2);
}

void clpi_prelude_drain(clpi_prelude *p, clpi_str *out, const char *is_far)
{
    put_named(p, out, "drain", CLP_U8, 1, &is_far, 1);
}

/* ---- Atomics ---- */

bool clpi_prelude_has_atomic(const clpi_limits *limits, clp_dtype dtype)
{
    switch (dtype) {
    case CLP_I32: case CLP_U32: case CLP_F32: return true;
    case CLP_I64: case CLP_U64: return limits->has_int64_atomics;
    case CLP_F64: return limits->has_int64_atomics && limits->has_fp64;
    default: return false;
    }
}

void clpi_prelude_atomic(clpi_prelude *p, clpi_str *out, clpi_op_kind op, clp_dtype dtype, clpi_space space,
                         const char *pointer, const char *const *values)
{
    bool is_cas = op == CLP_OP_atomic_cas, is_alone = space == CLPI_SPACE_PRIVATE;
    const char *const args[] = { pointer, values[0], is_cas ? values[1] : NULL };
    const char *alone = is_cas ? "alone_cas" : op == CLP_OP_atomic_xchg ? "alone_xchg" : "alone";
    const char *name = is_alone ? alone : clpi_ops[op].name;
    bool is_section_of_its_own = is_cas || op == CLP_OP_atomic_xchg;
    clpi_request r = { .name = name, .n = strlen(name), .dtype = dtype, .width = 1, .space = space,
                       .op = is_alone && !is_section_of_its_own ? op : CLP_OP_NONE };
    assert(is_alone || clpi_prelude_has_atomic(p->limits, dtype));
    p->uses_i64_atomics = p->uses_i64_atomics || (!is_alone && clp_dtype_bits(dtype) == 64);
    put_section(p, out, &r, args, is_cas ? 3 : 2);
}
