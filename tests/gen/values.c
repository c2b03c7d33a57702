/* values: statements that make values from values.
 * In: the pool. Out: `let` lines; the new values in the pool. Decides what may be put into what: see gen.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "gen.h"

static bool fits(const value *v, clp_dtype t, unsigned wants)
{
    return v->dtype == t && (!(wants & EXACT) || v->err == 0) && (!(wants & SMALL) || v->mag <= 8) &&
           (!(wants & SIGNED_ZERO) || !v->is_zero_free);
}

static bool same_shape(const shape *a, const shape *b)
{
    return a->rank == b->rank && !memcmp(a->n, b->n, (size_t)a->rank * sizeof a->n[0]);
}

/* Whether a broadcasts to b. */
static bool broadcasts(const shape *a, const shape *b)
{
    if (a->rank > b->rank)
        return false;
    for (int d = 1; d <= a->rank; d++)
        if (a->n[a->rank - d] != 1 && a->n[a->rank - d] != b->n[b->rank - d])
            return false;
    return true;
}

static value cast_to(gen *g, const value *v, clp_dtype t)
{
    double mag = v->mag, err = v->err;
    if (is_int(v->dtype) || v->dtype == CLP_BOOL)
        mag = v->dtype == CLP_BOOL ? 1 : clp_dtype_bits(v->dtype) <= 8 ? 255 : INFINITY;
    if (err > 0)
        err += mag * eps(t);
    value r = let(g, t, &v->shape, mag, err, "cast(%s, %s)", v->name, tn(t));
    g->pool[g->n_pool - 1].is_zero_free = r.is_zero_free = v->is_zero_free && is_flt(t);
    return r;
}

static value mark(gen *g, value v, bool is_zero_free)
{
    g->pool[g->n_pool - 1].is_zero_free = v.is_zero_free = is_zero_free;
    return v;
}

/* A value of shape s and some number dtype, exact: from the pool, or counted. */
static value some_of_shape(gen *g, const shape *s)
{
    char dims[64];
    shape_text(dims, s);
    for (int tries = 0; tries < 12 && g->n_pool > 0; tries++) {
        const value v = g->pool[below(g, g->n_pool)];
        if (v.err > 0 || is_f8(v.dtype))
            continue;
        if (same_shape(&v.shape, s))
            return v;
        if (broadcasts(&v.shape, s))
            return mark(g, let(g, v.dtype, s, v.mag, 0, "broadcast(%s, %s)", v.name, dims), v.is_zero_free);
        if (elems(&v.shape) == elems(s))
            return mark(g, let(g, v.dtype, s, v.mag, 0, "reshape(%s, %s)", v.name, dims), v.is_zero_free);
    }
    if (s->rank == 0)
        return let(g, CLP_I32, s, INFINITY, 0, "max(iota([1])) + %d", below(g, 10) - 3); /* no constant to the parser */
    return let(g, CLP_I32, s, INFINITY, 0, "iota(%s, axis = %d) * %d - %d", dims, below(g, s->rank), 1 + below(g, 5),
               below(g, 9));
}

value need(gen *g, clp_dtype t, const shape *s, unsigned wants)
{
    int found[16], n = 0;
    for (int i = g->n_pool - 1; i >= 0 && n < 16; i--)
        if (fits(&g->pool[i], t, wants) && same_shape(&g->pool[i].shape, s))
            found[n++] = i;
    if (n > 0 && !one_in(g, 6))
        return g->pool[found[below(g, n)]];
    value v = some_of_shape(g, s);
    if (is_f8(t) && !is_flt(v.dtype))
        v = cast_to(g, &v, CLP_F32);
    if (v.dtype != t && !is_f8(t))
        v = cast_to(g, &v, t);
    if (is_flt(v.dtype) && (wants & SMALL) && !(v.mag <= 8))
        v = mark(g, let(g, v.dtype, s, 3, 0, "clip(%s, -3, 3)", v.name), true);
    if (is_flt(v.dtype) && (wants & SIGNED_ZERO) && v.is_zero_free)
        v = mark(g, let(g, v.dtype, s, v.mag, 0, "abs(%s)", v.name), false);
    return v.dtype != t ? cast_to(g, &v, t) : v;
}

value need_shape_of(gen *g, clp_dtype t, const shape *s, unsigned wants)
{
    shape small = *s;
    if (s->rank > 0 && one_in(g, 4)) {
        const int drop = below(g, s->rank + 1);
        small = (shape){ .rank = s->rank - drop };
        for (int d = 0; d < small.rank; d++)
            small.n[d] = one_in(g, 3) ? 1 : s->n[d + drop];
    }
    return need(g, t, &small, wants);
}

value random_value(gen *g, unsigned wants)
{
    for (int tries = 0; tries < 20 && g->n_pool > 0; tries++) {
        const int back = below(g, g->n_pool);
        const value v = g->pool[one_in(g, 2) ? g->n_pool - 1 - back / 4 : back];
        if (fits(&v, v.dtype, wants) && !is_f8(v.dtype))
            return v;
    }
    const shape s = random_shape(g, 3);
    return need(g, random_number(g), &s, wants);
}

void index_text(gen *g, int n, char out[64])
{
    const shape none = { 0 };
    if (one_in(g, 3)) {
        say(out, 64, "%d", below(g, n));
        return;
    }
    const value v = need(g, CLP_I32, &none, EXACT);
    const value r = let(g, CLP_I32, &none, INFINITY, 0, "%s %% %d", v.name, n);
    say(out, 64, "%s", r.name);
}

value index_tile(gen *g, const shape *s, int n)
{
    static const clp_dtype types[] = { CLP_I32, CLP_I32, CLP_I32, CLP_I64, CLP_U8, CLP_I16, CLP_U32, CLP_I8 };
    const clp_dtype t = types[below(g, 8)];
    const value v = need(g, t, s, EXACT);
    return let(g, t, s, INFINITY, 0, "%s %% %d", v.name, n > 127 ? 127 : n);
}

/* ---- Element by element ---- */

/* Functions that differ by some ulp between backends: where their arguments are put, how large they get there. */
static const struct {
    const char *name;
    double lo, hi, mag;
} approximate[] = {
    { "tan", -1, 1, 1.6 },     { "asin", -0.9, 0.9, 1.6 }, { "acos", -0.9, 0.9, 3.2 },  { "atan", -3, 3, 1.3 },
    { "sinh", -3, 3, 10.1 },   { "cosh", -3, 3, 10.1 },    { "asinh", -3, 3, 2 },       { "acosh", 1.25, 3, 2 },
    { "atanh", -0.9, 0.9, 2 }, { "erf_inv", -0.9, 0.9, 2 }, { "rsqrt", 0.25, 3, 2 },    { "cbrt", -3, 3, 1.5 },
    { "expm1", -3, 3, 20 },    { "log1p", -0.5, 3, 1.5 },  { "exp", -3, 3, 21 },        { "exp2", -3, 3, 8 },
    { "log", 0.25, 3, 1.5 },   { "sin", -3, 3, 1 },        { "tanh", -3, 3, 1 },        { "erf", -3, 3, 1 },
    { "cos", -3, 3, 1 },       { "log2", 0.25, 3, 2 },
};

static void approximate_function(gen *g)
{
    static const clp_dtype floats[] = { CLP_F32, CLP_F64, CLP_F32, CLP_F16, CLP_BF16 };
    const int i = below(g, (int)(sizeof approximate / sizeof *approximate));
    const shape s = random_shape(g, 3);
    const clp_dtype t = one_of(g, floats, 5);
    const value x = need(g, t, &s, EXACT);
    const value y = let(g, t, &s, 3, 0, "clip(%s, %g, %g)", x.name, approximate[i].lo, approximate[i].hi);
    g->pool[g->n_pool - 1].is_zero_free = true;
    const double mag = approximate[i].mag, err = 64 * (t == CLP_F64 ? eps(t) : eps(CLP_F32)) * mag + 2 * eps(t) * mag;
    if (one_in(g, 12)) {
        const value e = need_shape_of(g, t, &s, EXACT | SMALL);
        let(g, t, &s, 1e4, 1e4 * (64 * eps(CLP_F32) + 2 * eps(t)), "pow(clip(%s, 0.5, 3), %s)", x.name, e.name);
    } else
        let(g, t, &s, mag, err, "%s(%s)", approximate[i].name, y.name);
    g->pool[g->n_pool - 1].is_zero_free = true;
}

static void unary(gen *g)
{
    static const char *const ints[] = { "-%s", "~%s", "abs(%s)", "sign(%s)", "popcount(%s)", "clz(%s)" };
    static const char *const floats[] = { "-%s", "abs(%s)", "sign(%s)", "floor(%s)", "ceil(%s)", "trunc(%s)",
                                          "round(%s)", "rint(%s)", "sqrt(%s)" };
    static const char *const functions[] = { "exp(%s)", "exp2(%s)", "log(%s)", "log2(%s)", "sin(%s)", "cos(%s)",
                                             "tanh(%s)", "erf(%s)" };
    static const char *const tests[] = { "isnan(%s)", "isinf(%s)", "isfinite(%s)" };
    const value x = random_value(g, EXACT);
    const bool is_fast = g->k->is_fast;
    char text[64];
#define SAY(list) say(text, sizeof text, (list)[below(g, (int)(sizeof(list) / sizeof *(list)))], x.name)
    clp_dtype t = x.dtype;
    double mag = INFINITY;
    if (t == CLP_BOOL)
        say(text, sizeof text, "!%s", x.name);
    else if (!is_flt(t))
        SAY(ints);
    else if (one_in(g, 6)) {
        SAY(tests);
        t = CLP_BOOL;
    } else if (t != CLP_F64 && one_in(g, 3) && !is_fast)
        SAY(functions);
    else {
        say(text, sizeof text, floats[below(g, is_fast ? 8 : 9)], x.name); /* the last is rounded */
        mag = x.mag + 1;
    }
#undef SAY
    let(g, t, &x.shape, mag, 0, "%s", text);
    g->pool[g->n_pool - 1].is_zero_free = x.is_zero_free && text[0] != 'a';
}

static void binary(gen *g)
{
    static const char *const ints[] = { "%s + %s", "%s - %s", "%s * %s", "%s / %s", "%s %% %s", "div(%s, %s)",
                                        "rem(%s, %s)", "%s & %s", "%s | %s", "%s ^ %s", "%s << %s", "%s >> %s",
                                        "minimum(%s, %s)", "maximum(%s, %s)" };
    static const char *const floats[] = { "%s + %s", "%s - %s", "%s * %s", "minimum(%s, %s)", "maximum(%s, %s)",
                                          "%s / %s", "%s %% %s", "rem(%s, %s)", "copysign(%s, %s)",
                                          "nextafter(%s, %s)" };
    static const char *const logic[] = { "%s & %s", "%s | %s", "%s ^ %s", "%s && %s", "%s || %s", "%s == %s", "%s != %s" };
    static const char *const comparisons[] = { "%s < %s", "%s <= %s", "%s > %s", "%s >= %s", "%s == %s", "%s != %s" };
    const value x = random_value(g, EXACT);
    clp_dtype t = x.dtype;
    static const int unrounded[] = { 3, 4, 8, 9 };
    const int i = g->k->is_fast && is_flt(t) ? unrounded[below(g, 4)] : below(g, 10);
    /* The second operand decides more by its zeros and NaNs: copysign's must have neither. */
    value y = need_shape_of(g, t, &x.shape, EXACT | (is_flt(t) && i >= 5 ? SIGNED_ZERO : 0));
    const bool is_turned = one_in(g, 3) && i < 5;
    const char *a = is_turned ? y.name : x.name, *b = is_turned ? x.name : y.name;
    char text[80], zero[60];
    double mag = INFINITY;
    bool zero_free = x.is_zero_free || y.is_zero_free;
    if (t == CLP_BOOL)
        say(text, sizeof text, logic[below(g, 7)], a, b);
    else if (one_in(g, 4)) {
        say(text, sizeof text, comparisons[below(g, 6)], a, b);
        t = CLP_BOOL;
    } else if (is_flt(t)) {
        if (i == 8) {
            say(zero, sizeof zero, "where(isnan(%s), 1, %s)", b, b);
            b = zero;
        }
        say(text, sizeof text, floats[i], a, b);
        zero_free |= i == 3 || i == 4;
        mag = i == 2 ? x.mag * y.mag : i < 5 ? x.mag + y.mag : INFINITY;
        mag = mag < 1e4 ? mag : INFINITY;
    } else
        say(text, sizeof text, ints[below(g, 14)], a, b);
    let(g, t, &x.shape, mag, 0, "%s", text);
    g->pool[g->n_pool - 1].is_zero_free = zero_free && is_flt(t);
}

static void ternary(gen *g)
{
    const value x = random_value(g, EXACT);
    const clp_dtype t = x.dtype;
    const value y = need_shape_of(g, t, &x.shape, EXACT);
    if (one_in(g, 2) || t == CLP_BOOL) {
        const value c = need_shape_of(g, CLP_BOOL, &x.shape, EXACT);
        const bool is_turned = one_in(g, 2);
        let(g, t, &x.shape, fmax(x.mag, y.mag), 0, "where(%s, %s, %s)", c.name, is_turned ? y.name : x.name,
            is_turned ? x.name : y.name);
        mark(g, x, x.is_zero_free || y.is_zero_free);
        return;
    }
    const value z = need_shape_of(g, t, &x.shape, EXACT);
    if (is_flt(t) && one_in(g, 2) && !g->k->is_fast)
        let(g, t, &x.shape, INFINITY, 0, "fma(%s, %s, %s)", x.name, y.name, z.name);
    else
        let(g, t, &x.shape, INFINITY, 0, "clip(%s, %s, %s)", x.name, y.name, z.name);
    mark(g, x, is_flt(t));
}

/* What is done to approximate values: their error grows by known steps. */
static void approximate_arithmetic(gen *g)
{
    int found[8], n = 0;
    for (int i = g->n_pool - 1; i >= 0 && n < 8; i--)
        if (g->pool[i].err > 0 && g->pool[i].mag < 1e3 && g->pool[i].err < 1e-2 * g->pool[i].mag && !g->pool[i].is_var)
            found[n++] = i;
    if (n == 0) {
        approximate_function(g);
        return;
    }
    const value x = g->pool[found[below(g, n)]];
    const value y = need_shape_of(g, x.dtype, &x.shape, SMALL);
    const double e = eps(x.dtype);
    switch (below(g, 4)) {
    case 0:
        let(g, x.dtype, &x.shape, x.mag + y.mag, x.err + y.err + 2 * e * (x.mag + y.mag), "%s + %s", x.name, y.name);
        break;
    case 1:
        let(g, x.dtype, &x.shape, x.mag * y.mag, x.err * y.mag + y.err * (x.mag + x.err) + 2 * e * x.mag * y.mag,
            "%s * %s", y.name, x.name);
        break;
    case 2:
        let(g, x.dtype, &x.shape, fmax(x.mag, y.mag), fmax(x.err, y.err), "maximum(%s, -%s)", x.name, y.name);
        break;
    default: {
        const value c = need_shape_of(g, CLP_BOOL, &x.shape, EXACT);
        let(g, x.dtype, &x.shape, fmax(x.mag, y.mag), fmax(x.err, y.err), "where(%s, %s, %s)", c.name, x.name, y.name);
    }
    }
    mark(g, x, true);
}

static void conversion(gen *g)
{
    const value x = random_value(g, EXACT);
    const clp_dtype t = random_number(g);
    static const clp_dtype twins[CLP_N_DTYPES] = { [CLP_I8] = CLP_U8,   [CLP_U8] = CLP_I8,   [CLP_I16] = CLP_F16,
                                                   [CLP_U16] = CLP_BF16, [CLP_I32] = CLP_F32, [CLP_U32] = CLP_I32,
                                                   [CLP_I64] = CLP_F64, [CLP_U64] = CLP_I64, [CLP_F16] = CLP_I16,
                                                   [CLP_BF16] = CLP_U16, [CLP_F32] = CLP_U32, [CLP_F64] = CLP_U64 };
    const clp_dtype twin = x.dtype == CLP_I64 && g->limits.is_narrow ? CLP_U64 : twins[x.dtype];
    if (one_in(g, 3) && twin && !x.is_zero_free) {
        if (is_flt(x.dtype)) /* the bits of a NaN are free */
            let(g, twin, &x.shape, INFINITY, 0, "bitcast(where(isnan(%s), 1, %s), %s)", x.name, x.name, tn(twin));
        else
            let(g, twin, &x.shape, INFINITY, 0, "bitcast(%s, %s)", x.name, tn(twin));
    } else if (one_in(g, 12))
        cast_to(g, &x, one_in(g, 2) ? CLP_BOOL : is_flt(x.dtype) ? CLP_F8E4M3 : CLP_BOOL);
    else
        cast_to(g, &x, t);
}

/* ---- Along axes ---- */

static void reduction(gen *g)
{
    static const char *const ints[] = { "sum", "prod", "max", "min" };
    static const char *const bools[] = { "any", "all", "sum" };
    const value any = random_value(g, 0);
    const bool is_float = is_flt(any.dtype);
    const value x = is_float && !one_in(g, 2) ? need(g, any.dtype, &any.shape, EXACT | SMALL) : any;
    if (x.shape.rank == 0)
        return;
    const char *name = x.dtype == CLP_BOOL ? bools[below(g, 3)] : ints[below(g, 4)];
    if (is_float && x.mag > 8 && name[0] != 'm')
        name = "max";
    const bool keep = one_in(g, 3), is_all = one_in(g, 4);
    const unsigned axes = is_all ? (1u << x.shape.rank) - 1 : 1 + (unsigned)below(g, (1 << x.shape.rank) - 1);
    char list[64] = "";
    shape s = { 0 };
    int n = 1, listed = 0;
    for (int d = 0, at = 0; d < x.shape.rank; d++) {
        if (axes >> d & 1) {
            at += say(list + at, sizeof list - (size_t)at, "%s%d", listed++ ? ", " : "", d);
            n *= x.shape.n[d];
            if (keep)
                s.n[s.rank++] = 1;
        } else
            s.n[s.rank++] = x.shape.n[d];
    }
    clp_dtype t = x.dtype;
    double mag = x.mag, err = x.err;
    if (name[0] == 's' || name[0] == 'p') {
        if (!is_float)
            t = t == CLP_BOOL ? CLP_I32 : clp_dtype_bits(t) >= 32 ? t : clpi_is_signed(t) ? CLP_I32 : CLP_U32;
        if (is_float && name[0] == 'p' && (n > 6 || x.err > 0))
            name = "sum";
        mag = name[0] == 's' ? n * x.mag : pow(x.mag, n);
        err = is_float ? n * x.err + (n + 1) * eps(t == CLP_F64 ? t : CLP_F32) * mag + 2 * eps(t) * mag : 0;
    }
    if (is_float && mag > 5e4 && name[0] != 'm')
        name = "min", mag = x.mag, err = x.err;
    char axis[100];
    if (is_all && one_in(g, 2))
        axis[0] = '\0';
    else if (listed == 1)
        say(axis, sizeof axis, ", axis = %s", list);
    else
        say(axis, sizeof axis, ", axis = (%s)", list);
    let(g, t, &s, mag, err, "%s(%s%s%s)", name, x.name, axis, keep ? ", keepdims = true" : "");
    mark(g, x, is_float);
}

static void scan(gen *g)
{
    static const char *const names[] = { "cumsum", "cumprod", "cummax", "cummin" };
    value x = random_value(g, EXACT);
    if (x.shape.rank == 0 || x.dtype == CLP_BOOL)
        return;
    const bool is_float = is_flt(x.dtype);
    const int axis = below(g, x.shape.rank), n = x.shape.n[axis];
    if (is_float && one_in(g, 2))
        x = need(g, x.dtype, &x.shape, EXACT | SMALL);
    int i = below(g, 4);
    if (is_float && (x.mag > 8 || (i == 1 && n > 5)) && i < 2)
        i += 2;
    clp_dtype t = x.dtype;
    double mag = x.mag, err = 0;
    if (i < 2 && !is_float && clp_dtype_bits(t) < 32)
        t = clpi_is_signed(t) ? CLP_I32 : CLP_U32;
    if (i < 2 && is_float) {
        mag = i == 0 ? n * x.mag : pow(x.mag, n);
        err = (n + 1) * eps(t == CLP_F64 ? t : CLP_F32) * mag + 2 * eps(t) * mag;
    }
    let(g, t, &x.shape, mag, err, "%s(%s, axis = %d%s)", names[i], x.name, axis, one_in(g, 3) ? ", reverse = true" : "");
    mark(g, x, is_float);
}

static void order(gen *g)
{
    const value x = random_value(g, EXACT);
    if (x.shape.rank == 0 || x.dtype == CLP_BOOL)
        return;
    const int axis = below(g, x.shape.rank);
    if (one_in(g, 2)) {
        let(g, x.dtype, &x.shape, x.mag, 0, "sort(%s, axis = %d)", x.name, axis);
        mark(g, x, x.is_zero_free || is_flt(x.dtype));
        return;
    }
    const bool keep = one_in(g, 4);
    shape s = { 0 };
    for (int d = 0; d < x.shape.rank; d++)
        if (d != axis || keep)
            s.n[s.rank++] = d == axis ? 1 : x.shape.n[d];
    let(g, CLP_I32, &s, INFINITY, 0, "%s(%s, axis = %d%s)", one_in(g, 2) ? "argmax" : "argmin", x.name, axis,
        keep ? ", keepdims = true" : "");
}

/* ---- dot ---- */

/* With the last two dimensions in the other order. */
static shape turned(const shape *s)
{
    shape r = *s;
    r.n[s->rank - 1] = s->n[s->rank - 2];
    r.n[s->rank - 2] = s->n[s->rank - 1];
    return r;
}

static void dot(gen *g)
{
    static const char *const turning[] = { [2] = "transpose(%s)", [3] = "transpose(%s, (0, 2, 1))",
                                           [4] = "transpose(%s, (0, 1, 3, 2))" };
    static const clp_dtype types[] = { CLP_F32, CLP_F32, CLP_F16, CLP_BF16, CLP_F64, CLP_I8, CLP_U8, CLP_I16, CLP_I32,
                                       CLP_I64, CLP_F8E4M3, CLP_F8E5M2 };
    clp_dtype t = one_of(g, types, 12), u = t;
    if (t == CLP_I8 || t == CLP_U8)
        u = one_in(g, 3) ? CLP_I8 : t;
    if (is_f8(t) && one_in(g, 2))
        u = CLP_F8E4M3;
    const bool is_float = clpi_is_float(t);
    const int m = g->sizes[below(g, 4)], n = g->sizes[below(g, 4)], k = g->sizes[below(g, 4)];
    const int n_batches = one_in(g, 3) ? 1 + below(g, 2) : 0, x_rank = one_in(g, 8) ? 1 : 2, y_rank = one_in(g, 8) ? 1 : 2;
    shape a = { 0 }, b = { 0 }, s = { 0 };
    for (int i = 0; i < n_batches && x_rank == 2 && y_rank == 2; i++)
        a.n[a.rank++] = b.n[b.rank++] = s.n[s.rank++] = 1 + below(g, 3);
    if (x_rank == 2)
        a.n[a.rank++] = m, s.n[s.rank++] = m;
    a.n[a.rank++] = k;
    b.n[b.rank++] = k;
    if (y_rank == 2)
        b.n[b.rank++] = n, s.n[s.rank++] = n;
    const clp_dtype acc = t == CLP_F64 ? t : is_float ? CLP_F32 : clp_dtype_bits(t) <= 32 ? CLP_I32 : CLP_I64;
    char x_text[80], y_text[80];
    value x, y;
    const bool turn_x = a.rank >= 2 && one_in(g, 4), turn_y = b.rank >= 2 && one_in(g, 4);
    const shape at = turn_x ? turned(&a) : a, bt = turn_y ? turned(&b) : b;
    x = need(g, t, &at, EXACT | SMALL);
    y = need(g, u, &bt, EXACT | SMALL);
    say(x_text, sizeof x_text, turn_x ? turning[a.rank] : "%s", x.name);
    say(y_text, sizeof y_text, turn_y ? turning[b.rank] : "%s", y.name);
    const double mag = 64.0 * k, err = is_float ? (k + 2) * eps(acc) * mag : 0;
    const bool says_acc = one_in(g, 3);
    let(g, acc, &s, is_float ? mag : INFINITY, err, "dot(%s, %s%s%s)", x_text, y_text, says_acc ? ", acc = " : "",
        says_acc ? tn(acc) : "");
    mark(g, x, is_float);
}

/* ---- Movement ---- */

static void transpose_of(gen *g, const value *x)
{
    int perm[GEN_RANK] = { 0, 1, 2, 3 };
    char text[64] = "";
    shape s = { .rank = x->shape.rank };
    for (int d = s.rank - 1; d > 0; d--) {
        const int e = below(g, d + 1), old = perm[d];
        perm[d] = perm[e];
        perm[e] = old;
    }
    for (int d = 0, at = 0; d < s.rank; d++) {
        s.n[d] = x->shape.n[perm[d]];
        at += say(text + at, sizeof text - (size_t)at, "%s%d", d ? ", " : "", perm[d]);
    }
    let(g, x->dtype, &s, x->mag, x->err, "transpose(%s, (%s%s))", x->name, text, s.rank == 1 ? "," : "");
}

static void reshape_of(gen *g, const value *x)
{
    shape s = { 0 };
    char dims[64];
    int rest = elems(&x->shape);
    while (rest > 1 && s.rank < GEN_RANK - 1) {
        int f = 2;
        while (rest % f)
            f++;
        if (one_in(g, 2) && f < rest && rest / f <= 20)
            f = rest / f;
        s.n[s.rank++] = f;
        rest /= f;
    }
    if (rest > 1 || one_in(g, 4))
        s.n[s.rank++] = rest;
    shape_text(dims, &s);
    let(g, x->dtype, &s, x->mag, x->err, "reshape(%s, %s)", x->name, dims);
}

static void concat_of(gen *g, const value *x)
{
    const int axis = below(g, x->shape.rank);
    shape s = x->shape, r = x->shape;
    s.n[axis] = g->sizes[below(g, 4)];
    const value y = need(g, x->dtype, &s, x->err > 0 ? SMALL : EXACT);
    r.n[axis] += s.n[axis];
    const bool is_three = one_in(g, 4);
    if (is_three)
        r.n[axis] += s.n[axis];
    if (elems(&r) > GEN_ELEMS)
        return;
    let(g, x->dtype, &r, fmax(x->mag, y.mag), fmax(x->err, y.err), "concat(%s%s%s, %s, axis = %d)",
        is_three ? y.name : "", is_three ? ", " : "", x->name, y.name, axis);
    mark(g, *x, x->is_zero_free || y.is_zero_free);
}

static void movement(gen *g)
{
    const value x = random_value(g, one_in(g, 4) ? 0 : EXACT);
    if (x.shape.rank == 0)
        return;
    const int axis = below(g, x.shape.rank);
    const int before = g->n_pool;
    char index[64];
    switch (below(g, 6)) {
    case 0: transpose_of(g, &x); break;
    case 1: reshape_of(g, &x); break;
    case 2: concat_of(g, &x); return;
    case 3: let(g, x.dtype, &x.shape, x.mag, x.err, "flip(%s, axis = %d)", x.name, axis); break;
    case 4:
        if (one_in(g, 2))
            say(index, sizeof index, "%d", below(g, 9) - 4);
        else
            index_text(g, x.shape.n[axis], index);
        let(g, x.dtype, &x.shape, x.mag, x.err, "roll(%s, %s, axis = %d)", x.name, index, axis);
        break;
    default: {
        shape one = { 1, { g->sizes[below(g, 4)] } }, s = x.shape;
        const value i = index_tile(g, &one, x.shape.n[axis]);
        s.n[axis] = one.n[0];
        if (elems(&s) > GEN_ELEMS)
            return;
        let(g, x.dtype, &s, x.mag, x.err, "take(%s, %s, axis = %d)", x.name, i.name, axis);
    }
    }
    if (g->n_pool > before)
        mark(g, x, x.is_zero_free);
}

void make_value(gen *g)
{
    typedef void (*maker)(gen * g);
    static const maker makers[] = {
        unary, unary, unary, binary, binary, binary, binary, binary, ternary, ternary, conversion, conversion,
        reduction, reduction, scan, order, dot, movement, movement, movement, approximate_function,
        approximate_arithmetic, load_value, load_value, load_value, value_subscript, value_subscript,
    };
    makers[below(g, (int)(sizeof makers / sizeof *makers))](g);
}
