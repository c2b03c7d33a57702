/* ulp: how far the functions of floats are from the truth, on every device. docs/accuracy.md is made with it.
 * In: devices, as "interp cl:0=PoCL", and the number of arguments for each function. Out: a table in Markdown, one for each
 * dtype; with --check nothing but what exceeds its bound, and status 1 if something does.
 * A device is measured in both schedules; those behind --schedule=SHAPE are in that alone, for compilers that take too long over
 * the other.
 * The truth is the C library's in long double, which has 11 bits more than f64 where this is of use (x86); elsewhere f64 is
 * left out. f16 and bf16 are tried whole where a function has one argument.
 * A function that ops.def gets must get a line here: the table below does not compile without it.                       */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"
#include "tool.h"

typedef long double real;

enum { CHUNK = 1 << 15, MAX_DEVICES = 8, MAX_ARITY = 3 };

/* ---- Dtypes ---- */

typedef struct format {
    clp_dtype dtype;
    int digits;               /* of the mantissa, the hidden one counted */
    int lowest, highest;      /* exponents as frexp has them: of the least normal, of the largest */
} format;

static const format formats[] = {
    { CLP_F32, 24, -125, 128 }, { CLP_F64, 53, -1021, 1024 }, { CLP_F16, 11, -13, 16 }, { CLP_BF16, 8, -125, 128 }
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

/* ---- The truth ---- */

static real inverse_erf(real x)
{
    const real half_root_pi = 0.886226925452758013649083741670572591L;
    const real p = fabsl(x), rest = 1 - p;
    if (p == 0 || !(rest > 0))
        return rest == 0 ? copysignl(INFINITY, x) : p == 0 ? x : NAN;
    /* Winitzki's formula is a start; Halley's steps treble the digits, on erfc where 1 - p is what counts. */
    const real l = logl(rest * (1 + p)), t = 2 / (3.14159265358979L * 0.147L) + l / 2;
    real y = p < 0.01L ? half_root_pi * p : sqrtl(sqrtl(t * t - l / 0.147L) - t);
    for (int i = 0; i < 5; i++) {
        const real step = (p < 0.5L ? erfl(y) - p : rest - erfcl(y)) * half_root_pi * expl(y * y);
        y -= step / (1 + step * y);
    }
    return copysignl(y, x);
}

static real neighbour(real a, real b, const format *f)
{
    if (isnan(a) || isnan(b) || a == b)
        return isnan(a) ? a : b;
    int exponent = f->lowest;
    if (a != 0 && !isinf(a))
        (void)frexpl(a, &exponent);
    const bool up = b > a;
    if (isinf(a))
        return copysignl(ldexpl(1, f->highest) - ldexpl(1, f->highest - f->digits), a);
    /* Going down from a power of two, steps are half as large. */
    const bool shrinks = a != 0 && (a > 0) != up && fabsl(a) == ldexpl(1, exponent - 1);
    exponent -= shrinks;
    exponent = exponent < f->lowest ? f->lowest : exponent;
    const real next = a + copysignl(ldexpl(1, exponent - f->digits), up ? 1 : -1);
    return fabsl(next) >= ldexpl(1, f->highest) ? copysignl(INFINITY, next) : next;
}

/* CORRECT(name, bound in ulp for f32, for f64, the truth). Bounds of functions that are the device's own are those that OpenCL
 * demands of it; f16 and bf16 are f32 rounded.                                                                          */
#define CORRECT(name, in_f32, in_f64, ...)                                                                             \
    static const double bounds_##name[2] = { in_f32, in_f64 };                                                         \
    static real correct_##name(real a, real b, real c, const format *f)                                                \
    {                                                                                                                  \
        (void)b;                                                                                                       \
        (void)c;                                                                                                       \
        (void)f;                                                                                                       \
        return __VA_ARGS__;                                                                                            \
    }

CORRECT(fma, 0.5, 0.5, fmal(a, b, c))
CORRECT(floor, 0, 0, floorl(a))
CORRECT(ceil, 0, 0, ceill(a))
CORRECT(trunc, 0, 0, truncl(a))
CORRECT(round, 0, 0, roundl(a))
CORRECT(rint, 0, 0, rintl(a))
CORRECT(sqrt, 0.5, 0.5, sqrtl(a))
CORRECT(rsqrt, 2, 2, 1 / sqrtl(a))
CORRECT(cbrt, 2, 4, cbrtl(a))
CORRECT(exp, 0.90, 3, expl(a))
CORRECT(exp2, 0.90, 3, exp2l(a))
CORRECT(expm1, 3, 3, expm1l(a))
CORRECT(log, 0.95, 3, logl(a))
CORRECT(log2, 0.95, 3, log2l(a))
CORRECT(log1p, 2, 2, log1pl(a))
CORRECT(sin, 1.50, 4, sinl(a))
CORRECT(cos, 1.50, 4, cosl(a))
CORRECT(tan, 5, 5, tanl(a))
CORRECT(asin, 4, 4, asinl(a))
CORRECT(acos, 4, 4, acosl(a))
CORRECT(atan, 5, 5, atanl(a))
CORRECT(sinh, 4, 4, sinhl(a))
CORRECT(cosh, 4, 4, coshl(a))
CORRECT(tanh, 1.37, 5, tanhl(a))
CORRECT(asinh, 4, 4, asinhl(a))
CORRECT(acosh, 4, 4, acoshl(a))
CORRECT(atanh, 5, 5, atanhl(a))
CORRECT(erf, 1.14, 16, erfl(a))
CORRECT(erf_inv, 8, 16, inverse_erf(a))
CORRECT(pow, 16, 16, powl(a, b))
CORRECT(atan2, 6, 6, atan2l(a, b))
CORRECT(copysign, 0, 0, copysignl(a, b))
CORRECT(nextafter, 0, 0, neighbour(a, b, f))

typedef struct function {
    const char   *name;
    int           arity;
    const double *bounds;         /* f32, f64 */
    real        (*correct)(real a, real b, real c, const format *f);
} function;

#define ROW_ARI(...)
#define ROW_ORD(...)
#define ROW_INT(...)
#define ROW_BIT(...)
#define ROW_CMP(...)
#define ROW_EQU(...)
#define ROW_TST(...)
#define ROW_SEL(...)
#define ROW_FLT(name, arity) { #name, arity, bounds_##name, correct_##name },
static const function functions[] = {
#define CLP_EW(name, text, arity, types, ...) ROW_##types(name, arity)
#define CLP_OP(...)
#include "ir/ops.def"
#undef CLP_EW
#undef CLP_OP
};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

static double bound_of(const function *f, const format *d)
{
    if (d->dtype == CLP_F32 || d->dtype == CLP_F64)
        return f->bounds[d->dtype == CLP_F64];
    /* The error of f32 beside the step of the narrow dtype, and half a step for the rounding, unless nothing is rounded. */
    return f->bounds[0] > 0 ? 0.5 + ldexp(f->bounds[0], d->digits - 24) : 0;
}

/* Distance in steps of the dtype where the truth lies. Infinity is where the next step beyond the largest number leads, so that
 * an early or late overflow counts as what it is. The sign of a zero does not count.                                    */
static double error_of(const format *d, real got, real want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0 : INFINITY;
    const real limit = ldexpl(1, d->highest);
    got = fabsl(got) > limit ? copysignl(limit, got) : got;
    want = fabsl(want) > limit ? copysignl(limit, want) : want;
    int exponent = d->lowest;
    if (want != 0)
        (void)frexpl(want, &exponent);
    exponent = exponent < d->lowest ? d->lowest : exponent > d->highest ? d->highest : exponent;
    return (double)(fabsl(got - want) / ldexpl(1, exponent - d->digits));
}

/* ---- Arguments ---- */

static uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static double uniform(uint64_t *state, double lo, double hi)
{
    return lo + (hi - lo) * ldexp((double)(random_bits(state) >> 11), -53);
}

static const double special[] = { 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1.5, 2.5, -2.5, 3.0, -3.0, 10.0, 0x1p-12, -0x1p-12,
                                  0x1p23, 0x1p24, -0x1p31, 0x1p53, 0x1p-126, 0x1p-149, 0x1.fffffep127, -0x1.fffffep127, 88.7, -87.3,
                                  -103.9, 709.7, -745.1, 65504.0, 0x1p-24, INFINITY, -INFINITY, NAN };
enum { N_SPECIAL = sizeof special / sizeof *special, N_KINDS = 10 };

/* The arguments where functions are known to be hard: kind says how, the other values of the sample are there to be used. */
static void choose(const function *f, const format *d, int kind, uint64_t *state, double *x)
{
    static const double spans[] = { 1, 2, 20, 100, 1000 };
    const double span = spans[random_bits(state) % 5], tiny = ldexp(1, -(int)(random_bits(state) % (uint64_t)d->digits));
    switch (kind) {
    case 0: case 1:
        for (int k = 0; k < f->arity; k++)
            x[k] = uniform(state, -span, span);
        break;
    case 2: /* near 1, from both sides */
        x[0] = copysign(1 + uniform(state, -1, 1) * tiny, uniform(state, -1, 1));
        break;
    case 3: /* near multiples of pi / 2 */
        x[0] = 1.57079632679489661923 * rint(uniform(state, -1, 1) * ldexp(1, (int)(random_bits(state) % 30)));
        break;
    case 4: /* a power that neither overflows nor vanishes; y and x of one size */
        x[0] = exp2(uniform(state, -1, 1) * span * d->highest / 1001);
        if (f->arity > 1)
            x[1] = f->correct == correct_pow ? uniform(state, -1, 1) * d->highest / fabs(log2(x[0])) : x[0] * uniform(state, -4, 4);
        break;
    case 5: /* cancellation; halves and whole numbers */
        x[0] = f->arity == 3 ? x[0] : rint(uniform(state, -span, span)) / 2;
        if (f->arity > 1)
            x[1] = rint(uniform(state, -span, span));
        if (f->arity == 3)
            x[2] = -x[0] * x[1] * (1 + tiny);
        break;
    default: break; /* as the bits fell */
    }
}

static bool is_whole(const function *f, const format *d)
{
    return f->arity == 1 && clp_dtype_bits(d->dtype) == 16;
}

/* Sample i of a function, into its arrays at place `at`: first what is special, then a stride through all bit patterns, then a
 * mixture. f16 and bf16 of one argument: all there are. NaNs are quiet ones: they count as equal whatever their bits.     */
static void make_sample(const function *f, const format *d, uint64_t i, uint64_t n, uint64_t *state, tool_array *arrays, int64_t at)
{
    const int bits = clp_dtype_bits(d->dtype);
    const uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    double x[MAX_ARITY];
    for (int k = 0; k < f->arity; k++) {
        uint64_t b = random_bits(state) & mask;
        if (is_whole(f, d))
            b = i & mask;
        else if (f->arity == 1 && i % 4 == 0)
            b = i * (mask / n) & mask;
        memcpy((char *)arrays[k].array.data + at * bits / 8, &b, (size_t)bits / 8);
        x[k] = array_number(&arrays[k].array, at);
    }
    uint64_t n_special = 1;
    for (int k = 0; k < f->arity; k++)
        n_special *= N_SPECIAL;
    const int kind = i % 4 == 0 || is_whole(f, d) ? N_KINDS : (int)(i / 4 % N_KINDS);
    if (!is_whole(f, d) && i < n_special && i < n / 4)
        for (uint64_t k = 0, rest = i; k < (uint64_t)f->arity; k++, rest /= N_SPECIAL)
            x[k] = special[rest % N_SPECIAL];
    else
        choose(f, d, kind, state, x);
    for (int k = 0; k < f->arity; k++)
        array_set(&arrays[k].array, at, x[k]);
}

/* ---- Devices ---- */

typedef struct device {
    const char  *label;
    clp_context *ctx;
    clp_kernel  *kernel;          /* of the function in hand; NULL: this dtype is not here */
    bool         flushes;         /* the dtype in hand: subnormals go in or come out as zero */
} device;

typedef struct worst { double error; bool is_there; double at[MAX_ARITY], got; real want; } worst;

typedef struct study {
    device     devices[MAX_DEVICES * 2];          /* once for each schedule of a device */
    worst      worsts[MAX_DEVICES * 2];
    int        n_devices;
    uint64_t   n_samples;
    bool       only_check;
    const char *only;                             /* NULL: all functions */
    clp_schedule first, last;                     /* of the OpenCL devices that are opened */
    tool_array arrays[MAX_ARITY + 1];             /* of one chunk: arguments, result */
    real      *want;
} study;

static bool make_kernel(device *v, const char *formula, int arity, const format *d)
{
    char text[512];
    const char *t = clp_dtype_name(d->dtype);
    int n = snprintf(text, sizeof text, "kernel u(");
    for (int k = 0; k < arity; k++)
        n += snprintf(text + n, sizeof text - (size_t)n, "in %c: %s[N] block [1024] at (i) pad 1, ", 'a' + k, t);
    snprintf(text + n, sizeof text - (size_t)n, "out o: %s[N] block [1024] at (i)) grid (i = cdiv(N, 1024)) { o[...] = %s; }", t, formula);
    const clp_status st = clp_kernel_from_text(v->ctx, text, NULL, NULL, &v->kernel);
    if (st != CLP_OK && st != CLP_ERR_UNSUPPORTED)
        fail("%s of %s on %s: %s", formula, t, v->label, clp_last_error(v->ctx));
    return st == CLP_OK;
}

static bool run_kernel(study *s, device *v, int arity, int64_t n)
{
    clp_array args[MAX_ARITY + 1];
    for (int k = 0; k <= arity; k++) {
        args[k] = s->arrays[k < arity ? k : MAX_ARITY].array;
        args[k].shape = &n;
    }
    return !clp_run(v->kernel, args, arity + 1, NULL) || !fail_library(v->ctx);
}

static double result(const study *s, int64_t i)
{
    return array_number(&s->arrays[MAX_ARITY].array, i);
}

/* Devices that keep subnormals in products may still lose them in `fma`, of which many functions are made. */
static void probe(study *s, device *v, const format *d)
{
    static const char *const formulas[] = { "a[...] * b[...]", "fma(a[...], b[...], c[...])" };
    const double least = ldexp(1, d->lowest - 1), x[2][MAX_ARITY] = { { least, 0.5, 0 }, { least / 2, 2, 0 } };
    v->flushes = false;
    for (int k = 0; k < MAX_ARITY; k++)
        for (int i = 0; i < 2; i++)
            array_set(&s->arrays[k].array, i, x[i][k]);
    for (int i = 0; i < 2; i++) {
        if (!make_kernel(v, formulas[i], 2 + i, d))
            continue;
        const bool keeps = run_kernel(s, v, 2 + i, 2) && result(s, 0) == least / 2 && result(s, 1) == least;
        v->flushes = v->flushes || !keeps;
        clp_kernel_free(v->kernel);
    }
}

/* ---- One function ---- */

static bool is_subnormal(const format *d, real x)
{
    return x != 0 && fabsl(x) < ldexpl(1, d->lowest - 1);
}

/* What a device that flushes may take for zero does not count there. */
static bool is_excused(const study *s, const device *v, const format *d, const function *f, int64_t i)
{
    bool has_subnormal = is_subnormal(d, s->want[i]);
    for (int k = 0; k < f->arity; k++)
        has_subnormal = has_subnormal || is_subnormal(d, array_number(&s->arrays[k].array, i));
    return v->flushes && has_subnormal;
}

static void look(study *s, int i_device, const format *d, const function *f, int64_t n)
{
    worst *w = &s->worsts[i_device];
    for (int64_t i = 0; i < n; i++) {
        const double got = result(s, i), error = error_of(d, got, s->want[i]);
        if (!(error > w->error) || is_excused(s, &s->devices[i_device], d, f, i))
            continue;
        w->error = error;
        w->got = got;
        w->want = s->want[i];
        for (int k = 0; k < f->arity; k++)
            w->at[k] = array_number(&s->arrays[k].array, i);
    }
}

static void make_chunk(study *s, const function *f, const format *d, uint64_t from, int64_t n, uint64_t *state)
{
    for (int64_t i = 0; i < n; i++) {
        real x[MAX_ARITY] = { 0 };
        make_sample(f, d, from + (uint64_t)i, s->n_samples, state, s->arrays, i);
        for (int k = 0; k < f->arity; k++)
            x[k] = array_number(&s->arrays[k].array, i);
        s->want[i] = f->correct(x[0], x[1], x[2], d);
    }
}

/* false: a device failed, which has been said. */
static bool measure(study *s, const function *f, const format *d)
{
    static const char *const operands[] = { "", "a[...]", "a[...], b[...]", "a[...], b[...], c[...]" };
    char call[64];
    snprintf(call, sizeof call, "%s(%s)", f->name, operands[f->arity]);
    for (int v = 0; v < s->n_devices; v++) {
        s->worsts[v] = (worst){ .is_there = make_kernel(&s->devices[v], call, f->arity, d) };
        if (!s->worsts[v].is_there)
            s->devices[v].kernel = NULL;
    }
    bool ok = true;
    uint64_t state = 1;
    const uint64_t n = is_whole(f, d) ? 1 << 16 : s->n_samples;
    for (uint64_t from = 0; from < n && ok; from += CHUNK) {
        const int64_t count = n - from < CHUNK ? (int64_t)(n - from) : CHUNK;
        make_chunk(s, f, d, from, count, &state);
        for (int v = 0; v < s->n_devices && ok; v++) {
            if (!s->devices[v].kernel)
                continue;
            ok = run_kernel(s, &s->devices[v], f->arity, count);
            look(s, v, d, f, count);
        }
    }
    for (int v = 0; v < s->n_devices; v++)
        clp_kernel_free(s->devices[v].kernel);
    return ok;
}

/* ---- The tables ---- */

/* Devices of one label - the schedules of one device - share a column. */
static bool begins_column(const study *s, int v)
{
    return v == 0 || strcmp(s->devices[v].label, s->devices[v - 1].label) != 0;
}

static void print_error(const worst *w)
{
    if (!w->is_there)
        printf(" - |");
    else if (w->error == 0)
        printf(" 0 |");
    else
        printf(w->error < 1000 ? " %.3f |" : " %.3g |", ceil(w->error * 1000) / 1000);
}

static void print_row(const study *s, const function *f, const format *d)
{
    printf("| `%s` | %.4g |", f->name, ceil(bound_of(f, d) * 1000) / 1000);
    for (int v = 0; v < s->n_devices; v++) {
        if (!begins_column(s, v))
            continue;
        const worst *w = &s->worsts[v];
        for (int u = v + 1; u < s->n_devices && !begins_column(s, u); u++)
            w = s->worsts[u].error > w->error ? &s->worsts[u] : w;
        print_error(w);
    }
    printf("\n");
    fflush(stdout);
}

static void print_head(const study *s, const format *d)
{
    printf("\n## %s\n\n| function | bound |", clp_dtype_name(d->dtype));
    for (int v = 0; v < s->n_devices; v++)
        if (begins_column(s, v))
            printf(" %s%s |", s->devices[v].label, s->devices[v].flushes ? " (flushes)" : "");
    printf("\n|---|---|");
    for (int v = 0; v < s->n_devices; v++)
        if (begins_column(s, v))
            printf("---|");
    printf("\n");
}

/* Says what exceeds its bound; how many do. The truth itself is off by a little: a few of its own steps. */
static int check_row(const study *s, const function *f, const format *d)
{
    int n = 0;
    for (int v = 0; v < s->n_devices; v++) {
        const worst *w = &s->worsts[v];
        const double bound = bound_of(f, d), slack = bound > 0 ? ldexp(4, d->digits - LDBL_MANT_DIG) : 0;
        if (w->error <= bound + slack)
            continue;
        char args[128] = "";
        for (int k = 0, at = 0; k < f->arity; k++)
            at += snprintf(args + at, sizeof args - (size_t)at, "%s%a", k ? ", " : "", w->at[k]);
        fail("%s of %s on %s: %.3f ulp, the bound is %.3f: %s(%s) is %a, expected %La", f->name, clp_dtype_name(d->dtype),
             s->devices[v].label, w->error, bound, f->name, args, w->got, w->want);
        n++;
    }
    return n;
}

static int measure_dtype(study *s, const format *d)
{
    int n_bad = 0;
    for (int v = 0; v < s->n_devices; v++)
        probe(s, &s->devices[v], d);
    if (!s->only_check)
        print_head(s, d);
    for (int i = 0; i < N_FUNCTIONS; i++) {
        const function *f = &functions[i];
        if (s->only && strcmp(s->only, f->name) != 0)
            continue;
        if (!measure(s, f, d))
            return FAILED;
        if (!s->only_check)
            print_row(s, f, d);
        n_bad += check_row(s, f, d);
    }
    return n_bad ? FAILED : DONE;
}

static int measure_all(study *s)
{
    const int64_t chunk = CHUNK;
    int status = DONE;
    s->want = calloc(CHUNK, sizeof *s->want);
    for (int k = 0; k < N_FORMATS; k++) {
        if (formats[k].dtype == CLP_F64 && LDBL_MANT_DIG < 64)
            continue;
        bool has_room = s->want;
        for (int i = 0; i <= MAX_ARITY; i++)
            has_room = array_new(&s->arrays[i], formats[k].dtype, 1, &chunk) && has_room;
        const int of_dtype = has_room ? measure_dtype(s, &formats[k]) : fail("out of memory");
        status = of_dtype ? of_dtype : status;
        for (int i = 0; i <= MAX_ARITY; i++)
            array_done(&s->arrays[i]);
    }
    free(s->want);
    return status;
}

/* ---- The command line ---- */

/* A device stands in the list once for each of its schedules; the interpreter has one. false: it cannot be opened. */
static bool open_device(study *s, char *text)
{
    char *label = strchr(text, '=');
    if (label)
        *label++ = '\0';
    const bool is_cl = strncmp(text, "cl", 2) == 0;
    for (int k = is_cl ? (int)s->first : CLP_SCHEDULE_AUTO; k <= (is_cl ? (int)s->last : CLP_SCHEDULE_AUTO); k++) {
        device *v = &s->devices[s->n_devices];
        *v = (device){ .label = label ? label : text };
        if (clp_context_new(&(clp_context_opts){ .device = text, .schedule = (clp_schedule)k }, &v->ctx))
            return false;
        s->n_devices++;
    }
    return true;
}

static int read_argument(study *s, char *text)
{
    int64_t n;
    if (strcmp(text, "--check") == 0) {
        s->only_check = true;
    } else if (strncmp(text, "--only=", 7) == 0) {
        s->only = text + 7;
    } else if (strncmp(text, "--schedule=", 11) == 0) {
        const int status = read_schedule(text + 11, &s->first);
        s->last = s->first;
        return status;
    } else if (strncmp(text, "--samples=", 10) == 0) {
        if (!is_number(text + 10, &n) || n < 1)
            return fail_usage("--samples: expected a number, got %s", text + 10);
        s->n_samples = (uint64_t)n;
    } else if (text[0] == '-' || s->n_devices > 2 * MAX_DEVICES - 2) {
        return fail_usage("ulp [--samples=N] [--only=FUNCTION] [--check] [--schedule=auto|vector|simt] DEVICE[=LABEL]..., at most %d devices", MAX_DEVICES);
    } else if (!open_device(s, text)) {
        return fail_library(NULL);
    }
    return DONE;
}

int main(int argc, char **argv)
{
    study s = { .n_samples = 4000000, .first = CLP_SCHEDULE_VECTOR, .last = CLP_SCHEDULE_SIMT };
    int status = DONE;
    for (int i = 1; i < argc && !status; i++)
        status = read_argument(&s, argv[i]);
    if (!status && s.n_devices == 0)
        status = fail_usage("ulp: expected a device, as interp or cl:0");
    if (!status)
        status = measure_all(&s);
    for (int v = 0; v < s.n_devices; v++)
        clp_context_free(s.devices[v].ctx);
    return status;
}
