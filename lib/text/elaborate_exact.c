/* elaborate_exact: constants that have not met a dtype.
 * In: integers of 64 bits and a sign, floats as f64, booleans. Out: what is computed from them, exactly or as f64; or
 * their bits once they become a dtype, where they must fit.
 * `/` and `%` round down, as in the language; results past 64 bits are errors, never wrapped.                            */
#include "text/elaborate.h"

#include <inttypes.h>
#include <math.h>

#include "text/literal.h"

static clpi_exact exact(bool is_negative, uint64_t magnitude)
{
    return (clpi_exact){ magnitude, is_negative && magnitude != 0 };
}

clpi_exact clpi_exact_from(int64_t i)
{
    return exact(i < 0, i < 0 ? 0 - (uint64_t)i : (uint64_t)i);
}

bool clpi_exact_to(clpi_exact x, int64_t *out)
{
    if (x.magnitude > (uint64_t)INT64_MAX + x.is_negative)
        return false;
    *out = x.is_negative ? -(int64_t)(x.magnitude - 1) - 1 : (int64_t)x.magnitude;
    return true;
}

static double exact_to_real(clpi_exact x)
{
    return x.is_negative ? -(double)x.magnitude : (double)x.magnitude;
}

void clpi_exact_print(clpi_str *s, const clpi_meaning *m)
{
    if (m->kind == CLPI_IS_INT)
        clpi_str_add(s, "%s%" PRIu64, m->integer.is_negative ? "-" : "", m->integer.magnitude);
    else if (m->kind == CLPI_IS_REAL)
        clpi_literal_print(s, CLP_F64, clpi_elem_to_bits(CLP_F64, (clpi_elem){ .d = m->real }), false);
    else
        clpi_str_puts(s, m->truth ? "true" : "false");
}

clpi_meaning clpi_mean_value(clp_val v)
{
    return v.id ? (clpi_meaning){ .kind = CLPI_IS_VALUE, .val = v } : (clpi_meaning){ .kind = CLPI_IS_NOTHING };
}

/* ---- Integers ---------------------------------------------------------------------------------------------------- */

static int compare(clpi_exact a, clpi_exact b)
{
    if (a.is_negative != b.is_negative)
        return a.is_negative ? -1 : 1;
    if (a.magnitude == b.magnitude)
        return 0;
    return (a.magnitude < b.magnitude) != a.is_negative ? -1 : 1;
}

static clpi_exact negate(clpi_exact x)
{
    return exact(!x.is_negative, x.magnitude);
}

static bool add(clpi_exact a, clpi_exact b, clpi_exact *out)
{
    if (a.is_negative == b.is_negative) {
        *out = exact(a.is_negative, a.magnitude + b.magnitude);
        return a.magnitude <= UINT64_MAX - b.magnitude;
    }
    bool a_wins = a.magnitude >= b.magnitude;
    *out = exact(a_wins ? a.is_negative : b.is_negative, a_wins ? a.magnitude - b.magnitude : b.magnitude - a.magnitude);
    return true;
}

static bool multiply(clpi_exact a, clpi_exact b, clpi_exact *out)
{
    *out = exact(a.is_negative != b.is_negative, a.magnitude * b.magnitude);
    return b.magnitude == 0 || a.magnitude <= UINT64_MAX / b.magnitude;
}

/* Quotient and remainder, rounded down or truncated. */
static bool divide(clpi_exact a, clpi_exact b, bool down, clpi_exact *out_quotient, clpi_exact *out_rest)
{
    uint64_t quotient = a.magnitude / b.magnitude, rest = a.magnitude % b.magnitude;
    bool is_negative = a.is_negative != b.is_negative;
    if (down && rest != 0 && is_negative) {
        quotient++;              /* |a| / |b| is not whole, so |b| > 1 and this does not wrap */
        rest = b.magnitude - rest;
        *out_rest = exact(b.is_negative, rest);
    } else {
        *out_rest = exact(a.is_negative, rest);
    }
    *out_quotient = exact(is_negative, quotient);
    return true;
}

/* Two's complement without end: 64 low bits, and what all higher ones are. */
typedef struct pattern { uint64_t low; bool high; } pattern;

static pattern to_pattern(clpi_exact x)
{
    return (pattern){ x.is_negative ? 0 - x.magnitude : x.magnitude, x.is_negative };
}

static bool from_pattern(pattern p, clpi_exact *out)
{
    *out = exact(p.high, p.high ? 0 - p.low : p.low);
    return !p.high || p.low != 0;        /* -2^64 does not fit */
}

static bool shift_left(clpi_exact a, clpi_exact by, clpi_exact *out)
{
    bool is_far = by.is_negative || by.magnitude > 63;
    *out = exact(a.is_negative, is_far ? 0 : a.magnitude << by.magnitude);
    return a.magnitude == 0 || (!is_far && (out->magnitude >> by.magnitude) == a.magnitude);
}

/* Rounds down. */
static clpi_exact shift_right(clpi_exact a, clpi_exact by)
{
    if (by.is_negative || by.magnitude > 63)
        return exact(a.is_negative, a.is_negative);
    uint64_t kept = a.magnitude >> by.magnitude;
    bool is_cut = (kept << by.magnitude) != a.magnitude;
    return exact(a.is_negative, kept + (a.is_negative && is_cut));
}

typedef enum outcome { IS_FOLDED, IS_TOO_LARGE, IS_NOT_FOLDABLE } outcome;

static outcome fold_ints(clpi_op_kind kind, clpi_exact a, clpi_exact b, clpi_meaning *out)
{
    clpi_exact r = { 0 }, rest;
    bool fits = true;
    int order = compare(a, b);
    pattern p = to_pattern(a), q = to_pattern(b);
    switch ((int)kind) {
    case CLP_OP_eq: *out = clpi_mean_truth(order == 0); return IS_FOLDED;
    case CLP_OP_ne: *out = clpi_mean_truth(order != 0); return IS_FOLDED;
    case CLP_OP_lt: *out = clpi_mean_truth(order < 0); return IS_FOLDED;
    case CLP_OP_le: *out = clpi_mean_truth(order <= 0); return IS_FOLDED;
    case CLP_OP_gt: *out = clpi_mean_truth(order > 0); return IS_FOLDED;
    case CLP_OP_ge: *out = clpi_mean_truth(order >= 0); return IS_FOLDED;
    case CLP_OP_add: fits = add(a, b, &r); break;
    case CLP_OP_sub: fits = add(a, negate(b), &r); break;
    case CLP_OP_mul: fits = multiply(a, b, &r); break;
    case CLP_OP_divide: fits = divide(a, b, true, &r, &rest); break;
    case CLP_OP_mod: fits = divide(a, b, true, &rest, &r); break;
    case CLP_OP_div: fits = divide(a, b, false, &r, &rest); break;
    case CLP_OP_rem: fits = divide(a, b, false, &rest, &r); break;
    case CLP_OP_neg: r = negate(a); break;
    case CLP_OP_abs: r = exact(false, a.magnitude); break;
    case CLP_OP_sign: r = exact(a.is_negative, a.magnitude != 0); break;
    case CLP_OP_minimum: r = order < 0 ? a : b; break;
    case CLP_OP_maximum: r = order < 0 ? b : a; break;
    case CLP_OP_and: fits = from_pattern((pattern){ p.low & q.low, p.high && q.high }, &r); break;
    case CLP_OP_or: fits = from_pattern((pattern){ p.low | q.low, p.high || q.high }, &r); break;
    case CLP_OP_xor: fits = from_pattern((pattern){ p.low ^ q.low, p.high != q.high }, &r); break;
    case CLP_OP_not: fits = from_pattern((pattern){ ~p.low, !p.high }, &r); break;
    case CLP_OP_shl: fits = shift_left(a, b, &r); break;
    case CLP_OP_shr: r = shift_right(a, b); break;
    default: return IS_NOT_FOLDABLE;
    }
    *out = (clpi_meaning){ .kind = CLPI_IS_INT, .integer = r };
    return fits ? IS_FOLDED : IS_TOO_LARGE;
}

/* ---- Any constants ----------------------------------------------------------------------------------------------- */

static bool fold_reals(clpi_op_kind kind, const clpi_meaning *args, int n, clpi_meaning *out)
{
    clpi_types types = clpi_ops[kind].types;
    clpi_elem elems[3];
    if (types == CLP_INT || types == CLP_BIT || types == CLP_SEL || kind == CLP_OP_nextafter)
        return false;
    for (int i = 0; i < n; i++)
        elems[i].d = args[i].kind == CLPI_IS_INT ? exact_to_real(args[i].integer) : args[i].real;
    clpi_elem r = clpi_scalar_ew(kind, CLP_F64, elems);
    if (types == CLP_CMP || types == CLP_EQU || types == CLP_TST)
        *out = clpi_mean_truth(r.u != 0);
    else
        *out = (clpi_meaning){ .kind = CLPI_IS_REAL, .real = r.d };
    return true;
}

static bool fold_truths(clpi_op_kind kind, const clpi_meaning *args, clpi_meaning *out)
{
    bool a = args[0].truth, b = args[1].truth;
    switch ((int)kind) {
    case CLP_OP_and: *out = clpi_mean_truth(a && b); return true;
    case CLP_OP_or: *out = clpi_mean_truth(a || b); return true;
    case CLP_OP_xor: case CLP_OP_ne: *out = clpi_mean_truth(a != b); return true;
    case CLP_OP_eq: *out = clpi_mean_truth(a == b); return true;
    case CLP_OP_not: *out = clpi_mean_truth(!a); return true;
    default: return false;
    }
}

bool clpi_fold_exact(clpi_elab *e, clpi_op_kind kind, const clpi_meaning *args, int n, clpi_pos pos, clpi_meaning *out)
{
    int n_ints = 0, n_truths = 0;
    for (int i = 0; i < n; i++) {
        if (!clpi_adapts(&args[i]))
            return false;
        n_ints += args[i].kind == CLPI_IS_INT;
        n_truths += args[i].kind == CLPI_IS_TRUTH;
    }
    clpi_meaning both[2] = { args[0], args[n > 1 ? 1 : 0] };
    if (n_truths > 0)
        return n_truths == n && n <= 2 && fold_truths(kind, both, out);

    clpi_types types = clpi_ops[kind].types;
    if (n_ints < n || types == CLP_FLT || types == CLP_TST)
        return fold_reals(kind, args, n, out);
    bool divides = kind == CLP_OP_divide || kind == CLP_OP_mod || kind == CLP_OP_div || kind == CLP_OP_rem;
    if (divides && both[1].integer.magnitude == 0) {
        clpi_say(e, pos, "division of a constant by zero");
        *out = (clpi_meaning){ .kind = CLPI_IS_NOTHING };
        return true;
    }
    outcome o = fold_ints(kind, both[0].integer, both[1].integer, out);
    if (o == IS_TOO_LARGE) {
        clpi_say(e, pos, "this constant does not fit 64 bits");
        *out = (clpi_meaning){ .kind = CLPI_IS_NOTHING };
    }
    return o != IS_NOT_FOLDABLE;
}

/* ---- Meeting a dtype --------------------------------------------------------------------------------------------- */

/* A constant that has its dtype. */
static clpi_meaning mean_elem(clp_dtype dtype, clpi_elem to)
{
    clpi_meaning r = { .kind = CLPI_IS_INT, .dtype = dtype };
    if (dtype == CLP_BOOL) {
        r.kind = CLPI_IS_TRUTH;
        r.truth = to.u != 0;
    } else if (clpi_is_float(dtype)) {
        r.kind = CLPI_IS_REAL;
        r.real = dtype == CLP_F64 ? to.d : (double)to.f;
    } else if (clpi_is_signed(dtype)) {
        r.integer = clpi_exact_from(to.i);
    } else {
        r.integer = exact(false, to.u);
    }
    return r;
}

/* Integers keep their low bits; floats go by the cast of the language. */
clpi_meaning clpi_cast_exact(const clpi_meaning *m, clp_dtype dtype)
{
    clpi_elem from = { .u = 0 };
    clp_dtype from_dtype = CLP_I64;
    if (m->kind == CLPI_IS_REAL) {
        from.d = m->real;
        from_dtype = CLP_F64;
    } else if (m->kind == CLPI_IS_TRUTH) {
        from.u = m->truth;
        from_dtype = CLP_BOOL;
    } else if (clpi_is_float(dtype)) {
        from.d = exact_to_real(m->integer);
        from_dtype = CLP_F64;
    } else if (dtype == CLP_BOOL) {
        from.u = m->integer.magnitude != 0;
        from_dtype = CLP_BOOL;
    } else {
        from.u = to_pattern(m->integer).low;
    }
    return mean_elem(dtype, clpi_elem_cast(dtype, from_dtype, from));
}

clpi_meaning clpi_mean_stored(clp_dtype dtype, uint64_t bits)
{
    return mean_elem(dtype, clpi_elem_from_bits(dtype, bits));
}

/* Whether an op of these types computes in the dtype. */
static bool takes(clpi_types types, clp_dtype dtype)
{
    if (clpi_is_f8(dtype))
        return false;
    switch (types) {
    case CLP_ARI: case CLP_ORD: case CLP_CMP: return dtype != CLP_BOOL;
    case CLP_FLT: case CLP_TST: return clpi_is_float(dtype);
    case CLP_INT: return clpi_is_int(dtype);
    case CLP_BIT: return clpi_is_int(dtype) || dtype == CLP_BOOL;
    case CLP_EQU: return true;
    default: return false;
    }
}

bool clpi_fold_typed(clpi_elab *e, clpi_op_kind kind, clp_dtype dtype, const clpi_meaning *args, int n, const clpi_pos *of_args,
                     clpi_pos pos, clpi_meaning *out)
{
    clpi_types types = clpi_ops[kind].types;
    clpi_elem elems[3] = { { 0 } };
    if (!takes(types, dtype))
        return false;
    for (int i = 0; i < n; i++) {
        uint64_t bits;
        if (!clpi_is_exact(&args[i]) || (args[i].dtype && args[i].dtype != dtype))
            return false;
        if (!clpi_exact_bits(e, &args[i], dtype, of_args ? of_args[i] : pos, &bits))
            return false;
        elems[i] = clpi_elem_from_bits(dtype, bits);
    }
    clpi_elem r = clpi_scalar_ew(kind, dtype, elems);
    bool is_test = types == CLP_CMP || types == CLP_EQU || types == CLP_TST;
    *out = is_test ? clpi_mean_truth(r.u != 0) : mean_elem(dtype, r);
    return true;
}

static void say_unfit(clpi_elab *e, const clpi_meaning *m, clp_dtype dtype, clpi_pos pos)
{
    clpi_str s;
    clpi_str_init(&s, e->env);
    clpi_exact_print(&s, m);
    const char *name = clp_dtype_name(dtype);
    if (m->kind == CLPI_IS_TRUTH)
        clpi_say(e, pos, "expected %s, got the boolean %s (use cast or where)", name, s.text);
    else if (dtype == CLP_BOOL)
        clpi_say(e, pos, "expected bool, got the number %s", s.text);
    else if (m->kind == CLPI_IS_REAL && !clpi_is_float(dtype) && e->b->in_header && !e->in_constants)
        clpi_say(e, pos, "expected an integer, got the float %s", s.text);    /* nothing is cast in headers */
    else if (m->kind == CLPI_IS_REAL && !clpi_is_float(dtype))
        clpi_say(e, pos, "expected %s, got the float %s (use cast)", name, s.text);
    else if (clpi_is_float(dtype))
        clpi_say(e, pos, "%s does not fit %s", s.text, name);
    else
        clpi_say(e, pos, "%s does not fit %s: %" PRId64 " .. %" PRIu64, s.text, name, clpi_int_min(dtype), clpi_int_max(dtype));
    clpi_str_done(&s);
}

bool clpi_exact_bits(clpi_elab *e, const clpi_meaning *m, clp_dtype dtype, clpi_pos pos, uint64_t *out_bits)
{
    bool fits = true;
    *out_bits = 0;
    if (m->kind == CLPI_IS_TRUTH || dtype == CLP_BOOL) {
        fits = m->kind == CLPI_IS_TRUTH && dtype == CLP_BOOL;
        *out_bits = fits && m->truth;
    } else if (clpi_is_float(dtype)) {
        double x = m->kind == CLPI_IS_INT ? exact_to_real(m->integer) : m->real;
        *out_bits = dtype == CLP_F64 ? clpi_elem_to_bits(dtype, (clpi_elem){ .d = x }) : clpi_f64_to_small_bits(dtype, x);
        clpi_elem back = clpi_elem_from_bits(dtype, *out_bits);
        /* f8e4m3 has no infinities: inf becomes NaN there, and does not fit. */
        double read = dtype == CLP_F64 ? back.d : (double)back.f;
        fits = isnan(x) ? isnan(read) : isinf(x) ? read == x : isfinite(read);
    } else if (m->kind == CLPI_IS_INT) {
        clpi_exact lo = clpi_exact_from(clpi_int_min(dtype)), hi = exact(false, clpi_int_max(dtype));
        fits = compare(m->integer, lo) >= 0 && compare(m->integer, hi) <= 0;
        uint64_t low = to_pattern(m->integer).low;
        clpi_elem elem = clpi_is_signed(dtype) ? (clpi_elem){ .i = (int64_t)low } : (clpi_elem){ .u = low };
        *out_bits = fits ? clpi_elem_to_bits(dtype, elem) : 0;
    } else {
        fits = false;
    }
    if (!fits)
        say_unfit(e, m, dtype, pos);
    return fits;
}
