/* What the prelude has beside elementwise ops: reductions, preferences of argmax, masks, nibbles, atomics, on a device. */
#include "support/prelude_bench.h"

typedef struct small { clpi_arena arena; clpi_prelude p; clpi_str body; int n_rows; } small;

static void small_open(bench *t, small *s, const clp_dtype *inputs, int n_inputs, int width)
{
    *s = (small){ .n_rows = 0 };
    clpi_arena_init(&s->arena, &t->env);
    clpi_prelude_init(&s->p, &s->arena, &t->limits, false);
    clpi_str_init(&s->body, &t->env);
    put_head(&s->body, inputs, n_inputs, width);
}

/* Runs it; the results are the caller's to free. */
static unsigned char *small_run(bench *t, small *s, const char *what, void *const *inputs, int n_inputs)
{
    char *text = whole_text(t, &s->p, &s->body);
    unsigned char *out = calloc((size_t)s->n_rows * N, SLOT);
    run_kernel(t, what, text, inputs, n_inputs, out, (size_t)s->n_rows * N * SLOT);
    free(text);
    clpi_prelude_done(&s->p);
    clpi_arena_done(&s->arena);
    return out;
}

static clpi_elem folded(clpi_op_kind op, clp_dtype d, clpi_elem *lanes, int width)
{
    for (int w = width / 2; w >= 1; w /= 2)
        for (int i = 0; i < w; i++)
            lanes[i] = clpi_scalar_ew(op, d, (clpi_elem[]){ lanes[i], lanes[i + w] });
    return lanes[0];
}

static const struct { clpi_op_kind reduction, op; } folds[] = {
    { CLP_OP_sum, CLP_OP_add }, { CLP_OP_prod, CLP_OP_mul }, { CLP_OP_max, CLP_OP_maximum }, { CLP_OP_min, CLP_OP_minimum },
    { CLP_OP_any, CLP_OP_or }, { CLP_OP_all, CLP_OP_and },
};

static void check_reductions(bench *t, clp_dtype d, int width)
{
    char what[64];
    snprintf(what, sizeof what, "reductions of %sx%d", clp_dtype_name(d), width);
    small s;
    small_open(t, &s, &d, 1, width);
    put_load(&s.p, &s.body, "a", "x0", d, width, 16);
    int first = d == CLP_BOOL ? 4 : 0, n = d == CLP_BOOL ? 2 : 4;
    for (int f = first; f < first + n; f++) {
        clpi_str expr, stored;
        clpi_str_init(&expr, &t->env);
        clpi_str_init(&stored, &t->env);
        clpi_prelude_reduce(&s.p, &expr, folds[f].reduction, d, width, "a");
        clpi_prelude_stored(&s.p, &stored, d, 1, expr.text);
        clpi_str_add(&s.body, "        ((__global %s *)(out + %d))[i] = %s;\n", clpi_cl_stored_type(d, 1), s.n_rows++ * N * SLOT, stored.text);
        clpi_str_done(&expr);
        clpi_str_done(&stored);
    }
    unsigned char *input = calloc(N, SLOT);
    fill(d, 2, input);
    unsigned char *out = small_run(t, &s, what, (void *const[]){ input }, 1);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < N; i += width) {
            clpi_elem lanes[16];
            for (int lane = 0; lane < width; lane++)
                lanes[lane] = clpi_elem_from_bits(d, bits_in(d, input, i + lane));
            uint64_t want = clpi_elem_to_bits(d, folded(folds[first + r].op, d, lanes, width)), have = bits_in(d, out + (size_t)r * N * SLOT, i);
            bool zeros = clpi_is_float(d) && r >= 2 && ((want | have) << (65 - clp_dtype_bits(d))) == 0;
            cr_expect(want == have || zeros || (is_nan(d, want) && is_nan(d, have)), "%s: %s at %d: expected %#" PRIx64 ", got %#" PRIx64, what,
                      clpi_ops[folds[first + r].reduction].name, i, want, have);
        }
    free(input);
    free(out);
}

Test(template, lanes_reduce_in_halves)
{
    bench t;
    if (!bench_open(&t))
        return;
    for (int i = 0; i < N_COMPUTED - 2; i++)
        for (int width = 2; width <= 16; width *= 2)
            if ((computed[i] != CLP_F64 || t.limits.has_fp64) && (width >= 8 || computed[i] == CLP_F32))
                check_reductions(&t, computed[i], width);
    bench_close(&t);
}

/* Whether b takes the place of a, as the language defines argmax and argmin. */
static bool prefers(clp_dtype d, bool is_max, clpi_elem a, int a_index, clpi_elem b, int b_index)
{
    clpi_elem unequal = clpi_is_float(d) ? clpi_scalar_ew(CLP_OP_isnan, d, &a) : (clpi_elem){ .u = 0 };
    bool a_nan = unequal.u, b_nan = clpi_is_float(d) && clpi_scalar_ew(CLP_OP_isnan, d, &b).u;
    if (a_nan || b_nan)
        return b_nan && (!a_nan || b_index < a_index);
    if (clpi_scalar_ew(CLP_OP_eq, d, (clpi_elem[]){ a, b }).u)
        return b_index < a_index;
    return clpi_scalar_ew(is_max ? CLP_OP_gt : CLP_OP_lt, d, (clpi_elem[]){ b, a }).u;
}

static void check_preference(bench *t, clp_dtype d)
{
    char what[64];
    snprintf(what, sizeof what, "preference of %s", clp_dtype_name(d));
    small s;
    small_open(t, &s, (clp_dtype[]){ d, d, CLP_I32, CLP_I32 }, 4, 1);
    static const char *const names[] = { "a", "b", "ai", "bi" }, *const arrays[] = { "x0", "x1", "x2", "x3" };
    for (int a = 0; a < 4; a++)
        put_load(&s.p, &s.body, names[a], arrays[a], a < 2 ? d : CLP_I32, 1, 32);
    for (int r = 0; r < 2; r++) {
        clpi_str expr;
        clpi_str_init(&expr, &t->env);
        clpi_prelude_prefers(&s.p, &expr, r ? CLP_OP_argmin : CLP_OP_argmax, d, "a", "ai", "b", "bi");
        put_store(&s.p, &s.body, s.n_rows++, CLP_BOOL, 1, expr.text);
        clpi_str_done(&expr);
    }
    unsigned char *inputs[4];
    for (int a = 0; a < 4; a++) {
        inputs[a] = calloc(N, SLOT);
        if (a < 2)
            fill(d, a, inputs[a]);
        else
            for (int32_t i = 0; i < N; i++)
                ((int32_t *)(void *)inputs[a])[i] = (i * (a + 5)) % 7;
    }
    unsigned char *out = small_run(t, &s, what, (void *const *)inputs, 4);
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < N; i++) {
            clpi_elem a = clpi_elem_from_bits(d, bits_in(d, inputs[0], i)), b = clpi_elem_from_bits(d, bits_in(d, inputs[1], i));
            bool want = prefers(d, r == 0, a, (i * 7) % 7, b, (i * 8) % 7);
            cr_expect_eq(want, out[(size_t)r * N * SLOT + (size_t)i], "%s: row %d, element %d", what, r, i);
        }
    for (int a = 0; a < 4; a++)
        free(inputs[a]);
    free(out);
}

Test(template, argmax_prefers_nan_then_the_value_then_the_lower_index)
{
    bench t;
    if (!bench_open(&t))
        return;
    for (int i = 1; i < N_COMPUTED - 2; i++)
        if (computed[i] != CLP_F64 || t.limits.has_fp64)
            check_preference(&t, computed[i]);
    bench_close(&t);
}

Test(template, masks_change_width)
{
    bench t;
    if (!bench_open(&t))
        return;
    for (int from = 0; from <= 64; from = from ? 2 * from : 8) {
        small s;
        small_open(&t, &s, (clp_dtype[]){ CLP_BOOL }, 1, 8);
        put_load(&s.p, &s.body, "a", "x0", CLP_BOOL, from ? 8 : 1, from);
        for (int to = 8; to <= 64; to *= 2) {
            clpi_str expr;
            clpi_str_init(&expr, &t.env);
            clpi_cl_mask(&expr, to, from, 8, from ? "a" : "a || a");
            put_store(&s.p, &s.body, s.n_rows++, CLP_BOOL, 8, expr.text);
            clpi_str_done(&expr);
        }
        unsigned char input[N * SLOT] = { 0 };
        fill(CLP_BOOL, 0, input);
        unsigned char *out = small_run(&t, &s, "masks", (void *const[]){ input }, 1);
        for (int r = 0; r < 4; r++)
            for (int i = 0; i < N; i++)
                cr_expect_eq(out[(size_t)r * N * SLOT + (size_t)i], input[from ? i : i / 8 * 8] != 0, "from %d to %d, element %d", from, 8 << r, i);
        free(out);
    }
    bench_close(&t);
}

/* All elements, and every other one from the first or the second on: those between stay as they were. */
static void check_nibbles(bench *t, int first, int step)
{
    small s;
    char index[16], place[32];
    small_open(t, &s, (clp_dtype[]){ CLP_U8 }, 1, step);
    snprintf(index, sizeof index, "i + %d", first);
    for (int r = 0; r < 2; r++) {      /* i4, then u4 */
        clp_dtype d = r ? CLP_U4 : CLP_I4;
        clpi_str expr;
        clpi_str_init(&expr, &t->env);
        clpi_prelude_nibble(&s.p, &expr, d, "x0", index);
        clpi_str_add(&s.body, "        ((__global %s *)(out + %d))[%s] = %s;\n", clpi_cl_type(clpi_loaded(d), 1), s.n_rows++ * N * SLOT, index,
                     expr.text);
        clpi_str_done(&expr);
    }
    snprintf(place, sizeof place, "out + %d", s.n_rows++ * N * SLOT);
    clpi_prelude_nibble_store(&s.p, &s.body, place, index, "(uchar)(i + 200)");
    clpi_str_puts(&s.body, ";\n");
    unsigned char input[N * SLOT] = { 0 };
    fill(CLP_U8, 0, input);
    unsigned char *out = small_run(t, &s, "nibbles", (void *const[]){ input }, 1);
    for (int i = 0; i < N; i++) {
        bool is_touched = i % step == first;
        int n = input[i / 2] >> (i % 2 * 4) & 15, stored = out[2 * N * SLOT + i / 2] >> (i % 2 * 4) & 15;
        cr_expect_eq((signed char)out[i], is_touched ? (n ^ 8) - 8 : 0, "every %d from %d: i4 element %d", step, first, i);
        cr_expect_eq(out[N * SLOT + i], is_touched ? n : 0, "every %d from %d: u4 element %d", step, first, i);
        cr_expect_eq(stored, is_touched ? (i - first + 200) & 15 : 0, "every %d from %d: stored element %d", step, first, i);
    }
    free(out);
}

Test(template, nibbles_come_low_first)
{
    bench t;
    if (!bench_open(&t))
        return;
    check_nibbles(&t, 0, 1);
    check_nibbles(&t, 0, 2);
    check_nibbles(&t, 1, 2);
    bench_close(&t);
}

/* One work-item: each op once on each pair of values; results, then old values. */
static void check_atomics(bench *t, clp_dtype d, clpi_space space)
{
    static const struct { clpi_op_kind atomic, op; } rows[] = {
        { CLP_OP_atomic_add, CLP_OP_add }, { CLP_OP_atomic_min, CLP_OP_minimum }, { CLP_OP_atomic_max, CLP_OP_maximum },
        { CLP_OP_atomic_and, CLP_OP_and }, { CLP_OP_atomic_or, CLP_OP_or }, { CLP_OP_atomic_xor, CLP_OP_xor },
        { CLP_OP_atomic_xchg, CLP_OP_NONE }, { CLP_OP_atomic_cas, CLP_OP_NONE },
    };
    char what[64];
    snprintf(what, sizeof what, "atomics of %s in space %d", clp_dtype_name(d), (int)space);
    const char *type = clpi_cl_type(d, 1), *places[] = { "place + i", "&shared", "&own" };
    small s;
    small_open(t, &s, (clp_dtype[]){ d, d }, 2, 1);
    clpi_str_add(&s.body, "        %s own;\n", type);
    bool is_bits = !clpi_is_float(d);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        bool is_logic = rows[r].op == CLP_OP_and || rows[r].op == CLP_OP_or || rows[r].op == CLP_OP_xor;
        int row = s.n_rows;
        s.n_rows += 2;
        if (is_logic && !is_bits)
            continue;
        clpi_str call;
        clpi_str_init(&call, &t->env);
        clpi_prelude_atomic(&s.p, &call, rows[r].atomic, d, space, places[space], (const char *const[]){ "x1[i]", "x1[(i + 1) % 2048]" });
        clpi_str_add(&s.body, "        {\n        __global %s *place = (__global %s *)(out + %d), *old = (__global %s *)(out + %d);\n", type, type,
                     row * N * SLOT, type, (row + 1) * N * SLOT);
        const char *where = space == CLPI_SPACE_GLOBAL ? "place[i]" : space == CLPI_SPACE_LOCAL ? "shared" : "own";
        clpi_str_add(&s.body, "        %s = x0[i];\n        old[i] = %s;\n        place[i] = %s;\n        }\n", where, call.text, where);
        clpi_str_done(&call);
    }
    /* Local memory is declared at the kernel's outermost scope. */
    clpi_str body = s.body;
    clpi_str_init(&s.body, &t->env);
    const char *brace = strchr(body.text, '{');
    clpi_str_add(&s.body, "%.*s{\n    __local %s shared;\n%s", (int)(brace - body.text), body.text, type, brace + 1);
    clpi_str_done(&body);
    unsigned char *inputs[2];
    for (int a = 0; a < 2; a++) {
        inputs[a] = calloc(N, SLOT);
        fill(d, a, inputs[a]);
    }
    unsigned char *out = small_run(t, &s, what, (void *const *)inputs, 2);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int i = 0; i < N && (is_bits || !(rows[r].op == CLP_OP_and || rows[r].op == CLP_OP_or || rows[r].op == CLP_OP_xor)); i++) {
            uint64_t old = bits_in(d, inputs[0], i), v = bits_in(d, inputs[1], i), next = bits_in(d, inputs[1], (i + 1) % N), want = v;
            if (rows[r].op != CLP_OP_NONE)
                want = clpi_elem_to_bits(d, clpi_scalar_ew(rows[r].op, d, (clpi_elem[]){ clpi_elem_from_bits(d, old), clpi_elem_from_bits(d, v) }));
            else if (rows[r].atomic == CLP_OP_atomic_cas)
                want = old == v ? next : old;
            uint64_t have = bits_in(d, out + 2 * r * N * SLOT, i), had = bits_in(d, out + (2 * r + 1) * N * SLOT, i);
            bool zeros = clpi_is_float(d) && ((want | have) << (65 - clp_dtype_bits(d))) == 0;
            cr_expect(want == have || zeros || (is_nan(d, want) && is_nan(d, have)), "%s: %s at %d: expected %#" PRIx64 ", got %#" PRIx64, what,
                      clpi_ops[rows[r].atomic].name, i, want, have);
            cr_expect(old == had || (is_nan(d, old) && is_nan(d, had)), "%s: %s at %d: old value %#" PRIx64 ", got %#" PRIx64, what,
                      clpi_ops[rows[r].atomic].name, i, old, had);
        }
    free(inputs[0]);
    free(inputs[1]);
    free(out);
}

Test(template, atomics_give_the_old_value)
{
    static const clp_dtype dtypes[] = { CLP_I32, CLP_U32, CLP_F32, CLP_I64, CLP_U64, CLP_F64 };
    bench t;
    if (!bench_open(&t))
        return;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        for (int space = CLPI_SPACE_GLOBAL; space <= CLPI_SPACE_PRIVATE; space++)
            if (clpi_prelude_has_atomic(&t.limits, dtypes[i]))
                check_atomics(&t, dtypes[i], (clpi_space)space);
    bench_close(&t);
}
