/* The prelude on a device: every elementwise op and cast, against the values that ir/scalar.c gives. */
#include "support/prelude_bench.h"

/* ---- Elementwise ---- */

static bool takes(clpi_types t, clp_dtype d)
{
    bool is_float = clpi_is_float(d) && !clpi_is_f8(d), is_int = clpi_is_int(d);
    switch (t) {
    case CLP_ARI: case CLP_ORD: case CLP_CMP: return is_float || is_int;
    case CLP_FLT: case CLP_TST: return is_float;
    case CLP_INT: return is_int;
    case CLP_BIT: return is_int || d == CLP_BOOL;
    case CLP_EQU: return is_float || is_int || d == CLP_BOOL;
    case CLP_SEL: return true;
    default: return false;
    }
}

static clp_dtype result_of(clpi_op_kind op, clp_dtype d)
{
    clpi_types t = clpi_ops[op].types;
    return t == CLP_CMP || t == CLP_EQU || t == CLP_TST ? CLP_BOOL : d;
}

/* OpenCL's own bound on the function, and two for the host's. 0: equal bits. */
static double ulps_allowed(clpi_op_kind op, clp_dtype d)
{
    static const struct { clpi_op_kind op; double f32, f64; } rows[] = {
        { CLP_OP_cbrt, 4, 4 },  { CLP_OP_expm1, 5, 5 }, { CLP_OP_log1p, 4, 4 }, { CLP_OP_tan, 7, 7 },   { CLP_OP_asin, 6, 6 },
        { CLP_OP_acos, 6, 6 },  { CLP_OP_atan, 7, 7 },  { CLP_OP_sinh, 6, 6 },  { CLP_OP_cosh, 6, 6 },  { CLP_OP_asinh, 6, 6 },
        { CLP_OP_acosh, 6, 6 }, { CLP_OP_atanh, 7, 7 }, { CLP_OP_pow, 18, 18 }, { CLP_OP_atan2, 8, 8 }, { CLP_OP_exp, 0, 5 },
        { CLP_OP_exp2, 0, 5 },  { CLP_OP_log, 0, 5 },   { CLP_OP_log2, 0, 5 },  { CLP_OP_sin, 0, 6 },   { CLP_OP_cos, 0, 6 },
        { CLP_OP_tanh, 0, 7 },  { CLP_OP_erf, 0, 18 },  { CLP_OP_erf_inv, 0, 18 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op)
            return d == CLP_F64 ? rows[i].f64 : d == CLP_F32 || rows[i].f32 == 0 ? rows[i].f32 : 1;
    return 0;
}

static void check_row(const char *what, clpi_op_kind op, clp_dtype d, unsigned char *const *inputs, const unsigned char *got)
{
    clp_dtype result = result_of(op, d);
    double allowed = ulps_allowed(op, d);
    int n_bad = 0;
    for (int i = 0; i < N; i++) {
        clpi_elem args[3];
        uint64_t bits[3];
        for (int a = 0; a < 3; a++) {
            bits[a] = bits_in(d, inputs[a], i);
            args[a] = clpi_elem_from_bits(d, bits[a]);
        }
        if (op == CLP_OP_where) {
            args[2] = args[1];
            args[1] = args[0];
            args[0] = clpi_elem_from_bits(CLP_BOOL, bits_in(CLP_BOOL, inputs[3], i));
        }
        uint64_t want = clpi_elem_to_bits(result, clpi_scalar_ew(op, d, args)), have = bits_in(result, got, i);
        bool same = want == have || (is_nan(result, want) && is_nan(result, have));
        bool zero = (op == CLP_OP_minimum || op == CLP_OP_maximum) && clpi_is_float(d) && ((want | have) << (65 - clp_dtype_bits(d))) == 0;
        if (same || zero || (allowed > 0 && distance(result, want, have) <= allowed))
            continue;
        if (n_bad++ < 3)
            cr_expect(false, "%s: %s(%#" PRIx64 ", %#" PRIx64 ", %#" PRIx64 "): expected %#" PRIx64 ", got %#" PRIx64, what,
                      clpi_ops[op].name, bits[0], bits[1], bits[2], want, have);
    }
    cr_expect(n_bad == 0, "%s: %s: %d of %d differ", what, clpi_ops[op].name, n_bad, N);
}

static void check_elementwise(bench *t, clp_dtype d, int width)
{
    char what[64];
    snprintf(what, sizeof what, "%sx%d", clp_dtype_name(d), width);
    clpi_arena arena;
    clpi_prelude p;
    clpi_str body;
    clpi_arena_init(&arena, &t->env);
    clpi_prelude_init(&p, &arena, &t->limits, false);
    clpi_str_init(&body, &t->env);
    int mask_bits = d == CLP_BOOL ? 32 : clpi_cl_mask_bits(d), n_rows = 0;
    clpi_op_kind rows[MAX_ROWS];
    static const char *const names[] = { "a", "b", "c", "m" }, *const arrays[] = { "x0", "x1", "x2", "x3" };
    put_head(&body, (clp_dtype[]){ d, d, d, CLP_BOOL }, 4, width);
    for (int a = 0; a < 4; a++)
        put_load(&p, &body, names[a], arrays[a], a < 3 ? d : CLP_BOOL, width, mask_bits);
    for (int k = 1; k < CLP_N_OPS; k++) {
        if (!clpi_ops[k].is_elementwise || !takes(clpi_ops[k].types, d))
            continue;
        clpi_str expr;
        clpi_str_init(&expr, &t->env);
        bool is_where = k == CLP_OP_where;
        const char *const args[] = { is_where ? "m" : "a", is_where ? "a" : "b", is_where ? "b" : "c" };
        clpi_prelude_ew(&p, &expr, (clpi_op_kind)k, d, width, args);
        put_store(&p, &body, n_rows, result_of((clpi_op_kind)k, d), width, expr.text);
        rows[n_rows++] = (clpi_op_kind)k;
        clpi_str_done(&expr);
    }
    char *text = whole_text(t, &p, &body);
    unsigned char *inputs[4], *out = calloc((size_t)n_rows * N, SLOT);
    for (int a = 0; a < 4; a++) {
        inputs[a] = calloc(N, SLOT);
        fill(a < 3 ? d : CLP_BOOL, a, inputs[a]);
    }
    run_kernel(t, what, text, (void *const *)inputs, 4, out, (size_t)n_rows * N * SLOT);
    for (int r = 0; r < n_rows; r++)
        check_row(what, rows[r], d, inputs, out + (size_t)r * N * SLOT);
    for (int a = 0; a < 4; a++)
        free(inputs[a]);
    free(out);
    free(text);
    clpi_prelude_done(&p);
    clpi_arena_done(&arena);
}

static void check_all_elementwise(int width)
{
    bench t;
    if (!bench_open(&t))
        return;
    for (int i = 0; i < N_COMPUTED; i++)
        if (computed[i] != CLP_F64 || t.limits.has_fp64)
            check_elementwise(&t, computed[i], width);
    bench_close(&t);
}

Test(prelude, scalars_compute_what_the_table_says)
{
    check_all_elementwise(1);
}

Test(prelude, vectors_of_16_compute_what_the_table_says)
{
    check_all_elementwise(16);
}

Test(prelude, vectors_of_4_compute_what_the_table_says)
{
    bench t;
    if (!bench_open(&t))
        return;
    check_elementwise(&t, CLP_F32, 4);
    check_elementwise(&t, CLP_BF16, 4);
    check_elementwise(&t, CLP_I8, 4);
    check_elementwise(&t, CLP_BOOL, 4);
    bench_close(&t);
}

/* A device that cannot divide itself: through f64, and without that. */
Test(prelude, divides_and_roots_without_help_of_the_device)
{
    bench t;
    if (!bench_open(&t))
        return;
    t.limits.has_correct_divide = false;
    for (int has_fp64 = 0; has_fp64 <= (t.dev->limits.has_fp64 ? 1 : 0); has_fp64++) {
        t.limits.has_fp64 = has_fp64;
        check_elementwise(&t, CLP_F32, 1);
        check_elementwise(&t, CLP_F32, 16);
    }
    bench_close(&t);
}

/* ---- Casts ---- */

static void check_casts(bench *t, clp_dtype from, int width)
{
    char what[64];
    snprintf(what, sizeof what, "from %sx%d", clp_dtype_name(from), width);
    clpi_arena arena;
    clpi_prelude p;
    clpi_str body;
    clpi_arena_init(&arena, &t->env);
    clpi_prelude_init(&p, &arena, &t->limits, false);
    clpi_str_init(&body, &t->env);
    int mask_bits = from == CLP_BOOL ? 16 : clpi_cl_mask_bits(from), n_rows = 0;
    clp_dtype rows[MAX_ROWS];
    bool is_bitcast[MAX_ROWS];
    put_head(&body, &from, 1, width);
    put_load(&p, &body, "a", "x0", from, width, mask_bits);
    for (int i = 0; i < 2 * N_COMPUTED; i++) {
        clp_dtype to = computed[i / 2];
        bool bitcast = i % 2;
        if ((to == CLP_F64 && !t->limits.has_fp64) ||
            (bitcast && (to == CLP_BOOL || from == CLP_BOOL || clp_dtype_bits(to) != clp_dtype_bits(from))))
            continue;
        clpi_str expr;
        clpi_str_init(&expr, &t->env);
        if (bitcast)
            clpi_prelude_bitcast(&p, &expr, to, from, width, "a");
        else
            clpi_prelude_cast(&p, &expr, to, from, width, mask_bits, "a");
        put_store(&p, &body, n_rows, to, width, expr.text);
        clpi_str_done(&expr);
        rows[n_rows] = to;
        is_bitcast[n_rows++] = bitcast;
    }
    char *text = whole_text(t, &p, &body);
    unsigned char *input = calloc(N, SLOT), *out = calloc((size_t)n_rows * N, SLOT);
    fill(from, 0, input);
    run_kernel(t, what, text, (void *const[]){ input }, 1, out, (size_t)n_rows * N * SLOT);
    for (int r = 0; r < n_rows; r++) {
        int n_bad = 0;
        for (int i = 0; i < N; i++) {
            uint64_t bits = bits_in(from, input, i), have = bits_in(rows[r], out + (size_t)r * N * SLOT, i);
            clpi_elem e = clpi_elem_from_bits(from, bits);
            clpi_elem x = is_bitcast[r] ? clpi_scalar_bitcast(rows[r], from, e) : clpi_elem_cast(rows[r], from, e);
            uint64_t want = clpi_elem_to_bits(rows[r], x);
            if (want != have && !(is_nan(rows[r], want) && is_nan(rows[r], have)) && n_bad++ < 3)
                cr_expect(false, "%s: %s to %s of %#" PRIx64 ": expected %#" PRIx64 ", got %#" PRIx64, what,
                          is_bitcast[r] ? "bitcast" : "cast", clp_dtype_name(rows[r]), bits, want, have);
        }
    }
    free(input);
    free(out);
    free(text);
    clpi_prelude_done(&p);
    clpi_arena_done(&arena);
}

Test(prelude, casts_as_the_language_does)
{
    bench t;
    if (!bench_open(&t))
        return;
    for (int i = 0; i < N_COMPUTED; i++)
        for (int width = 1; width <= 16; width *= 16)
            if (computed[i] != CLP_F64 || t.limits.has_fp64)
                check_casts(&t, computed[i], width);
    bench_close(&t);
}
