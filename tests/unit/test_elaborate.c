/* elaborate: kernel text to IR, seen through the printer; what is constant, what is carried, what is refused. */
#include <math.h>
#include <stdio.h>

#include "base/arena.h"
#include "support/support.h"
#include "text/text.h"

typedef struct made {
    clpi_env    env;
    clpi_arena  arena;
    clpi_source source;
    clpi_ir    *ir;
    clpi_str    printed;         /* the IR, or the error */
    clp_status  status;
} made;

static void make_bytes(made *m, const char *text, size_t n, const char *name, const char *params)
{
    clpi_file *file;
    *m = (made){ .source = { "t.plk", text, n } };
    clpi_env_init(&m->env, NULL, NULL);
    clpi_arena_init(&m->arena, &m->env);
    clpi_str_init(&m->printed, &m->env);
    m->status = clpi_parse(&m->env, &m->arena, &m->source, &file);
    if (!m->status)
        m->status = clpi_elaborate(&m->env, &m->arena, file, name, params, &m->ir);
    if (!m->status)
        m->status = clpi_verify(m->ir, CLP_ERR_INTERNAL);
    if (m->status)
        clpi_str_puts(&m->printed, clpi_error_text(&m->env));
    else
        clpi_ir_print(m->ir, &m->printed);
}

static void make(made *m, const char *text, const char *params)
{
    make_bytes(m, text, strlen(text), NULL, params);
}

static void done(made *m)
{
    clpi_str_done(&m->printed);
    clpi_arena_done(&m->arena);
    clpi_env_done(&m->env);
}

/* A kernel with the usual operands around statements: x, y f32[8]; k i32[8]; q u8[8]; b bool[8]; o f32[8]; r i32[8]; n i32; s f32[8]. */
#define KERNEL(fns, body)                                                                                              \
    fns "kernel t<T = f32, p = 8, fl = 0.5, yes = true, fn act = relu>(in x: f32[N] block [8] at (i), in y: f32[N] block [8] at (i), "                 \
        "in k: i32[N] block [8] at (i), in q: u8[N] block [8] at (i), in b: bool[N] block [8] at (i), out o: f32[N] block [8] at (i), " \
        "out r: i32[N] block [8] at (i), scalar n: i32, scratch s: f32[8], in w: i64[M, N])\ngrid (i = cdiv(N, 8), j = 2 arbitrary)\n{\n" body "\n}\n"

/* ---- Statements and what comes of them ---- */

typedef struct row { const char *body, *part; } row;

static void expect_rows(const row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char text[2048];
        made m;
        snprintf(text, sizeof text, KERNEL("%s", "%s"), "", rows[i].body);
        make(&m, text, NULL);
        cr_expect_eq(m.status, CLP_OK, "%s:\n%s", rows[i].body, m.printed.text);
        cr_expect(strstr(m.printed.text, rows[i].part), "%s: expected `%s` in\n%s", rows[i].body, rows[i].part, m.printed.text);
        done(&m);
    }
}

#define ROWS(...)                                                                                                      \
    do {                                                                                                               \
        const row rows_[] = { __VA_ARGS__ };                                                                           \
        expect_rows(rows_, sizeof rows_ / sizeof *rows_);                                                              \
    } while (0)

Test(elaborate, constants_are_exact_until_they_meet_a_dtype)
{
    ROWS({ "o[0] = 1;", "o[0i32] = 1.0f32;" },
         { "o[0] = 1 / 2;", "o[0i32] = 0.0f32;" },
         { "o[0] = 1 / 2.0;", "o[0i32] = 0.5f32;" },
         { "r[0] = -7 / 2;", "r[0i32] = -4i32;" },
         { "r[0] = -7 % 2;", "r[0i32] = 1i32;" },
         { "r[0] = div(-7, 2);", "r[0i32] = -3i32;" },
         { "r[0] = rem(-7, 2);", "r[0i32] = -1i32;" },
         { "r[0] = cdiv(7, 2);", "r[0i32] = 4i32;" },
         { "r[0] = -2147483648;", "r[0i32] = -2147483648i32;" },
         { "r[0] = 18446744073709551615 - 18446744073709551614;", "r[0i32] = 1i32;" },
         { "r[0] = 0xffffffff >> 28;", "r[0i32] = 15i32;" },
         { "r[0] = -1 >> 70;", "r[0i32] = -1i32;" },
         { "r[0] = ~5 ^ 3 & -2 | 8;", "r[0i32] = -8i32;" },
         { "r[0] = abs(-3) + sign(-9) + max(1, 2) + min(1, 2);", "r[0i32] = 5i32;" },
         { "o[0] = sqrt(4);", "o[0i32] = 2.0f32;" },
         { "let a = 3; o[0] = a; r[0] = a;", "o[0i32] = 3.0f32;\n    r[0i32] = 3i32;" },
         { "o[0] = p; r[0] = p;", "o[0i32] = 8.0f32;\n    r[0i32] = 8i32;" },
         { "o[0] = fl * 2 + p;", "o[0i32] = 9.0f32;" },
         { "o[0] = inf; o[1] = -inf;", "o[0i32] = cast(inf, f32);\n    o[1i32] = cast(-inf, f32);" },
         { "r[0] = cast(300.7, i32);", "r[0i32] = 300i32;" },
         { "r[0] = cast(cast(-1, u8), i32);", "r[0i32] = 255i32;" },
         { "r[0] = cast(1e30, i32);", "r[0i32] = 2147483647i32;" },
         { "r[0] = bitcast(1.0, i32);", "let v" },
         { "o[0] = bitcast(0x3f800000, f32);", "o[0i32] = 1.0f32;" },
         { "r[0] = popcount(255);", "r[0i32] = 8i32;" },
         { "r[0] = 5i32 * 3;", "r[0i32] = 15i32;" },
         { "r[0] = cast(100i8 + 100, i32);", "r[0i32] = -56i32;" },
         { "o[0] = 1T;", "o[0i32] = 1.0f32;" },
         { "o[...] = where(yes, 1, 2) + x[...];", "broadcast(1.0f32, [8])" });
}

Test(elaborate, constants_adapt_to_what_they_meet)
{
    ROWS({ "o[...] = x[...] * 2;", "broadcast(2.0f32, [8])" },
         { "o[...] = 2 * x[...];", "broadcast(2.0f32, [8])" },
         { "r[...] = cast(q[...] + 1, i32);", "broadcast(1u8, [8])" },
         { "r[...] = where(b[...], 1, 0);", "broadcast(0i32, [8])" },
         { "o[...] = where(b[...], x[...], 0);", "broadcast(0.0f32, [8])" },
         { "o[...] = where(b[...], 1.5, 0);", "broadcast(0.0f32, [8])" },
         { "o[...] = clip(0, x[...], 1);", "maximum(" },
         { "o[...] = fma(x[...], 2, 1);", "broadcast(1.0f32, [8])" },
         { "o[...] = load(x[...], mask = b[...], other = -1);", "broadcast(-1.0f32, [8])" },
         { "var a = 0.0; a += 1; o[0] = a;", "let v3 = v1 + v2;" },
         { "var a = 0; r[0] = a;", "r[0i32] = 0i32;" },
         { "o[...] = full([8], 3, dtype = f32);", "broadcast(3.0f32, [8])" });
}

Test(elaborate, names_are_what_they_stand_for)
{
    ROWS({ "r[0] = i + N;", "program_id(i)" },
         { "r[0] = num_programs(j);", "num_programs(j)" },
         { "r[0] = num_programs(1);", "num_programs(j)" },
         { "r[0] = n;", "let v1 = n;" },
         { "if (first(j)) { r[0] = 1; }", "== 0i32" },
         { "if (last(j)) { r[0] = 1; }", "let v2 = num_programs(j);  // i32\n    let v3 = v2 - 1i32;" },
         { "r[0] = size(w, 0) + size(x, 0);", "let v1 = M;" },
         { "r[0] = size(x[...], 0) + rank(w) + rank(3);", "r[0i32] = 10i32;" },
         { "o[0] = cast(n, dtype(x));", "cast(v1, f32)" },
         { "let exp = x[...]; o[...] = exp(exp);", "exp(v1)" });
}

Test(elaborate, an_if_on_a_constant_is_decided)
{
    ROWS({ "if (yes) { o[0] = 1; } else { o[0] = unknown; }", "o[0i32] = 1.0f32;" },
         { "if (!yes) { o[0] = unknown; } else if (p == 8) { o[0] = 2; }", "o[0i32] = 2.0f32;" },
         { "if (p) { o[0] = 3; }", "o[0i32] = 3.0f32;" },
         { "if (T == f32) { o[0] = 4; }", "o[0i32] = 4.0f32;" },
         { "while (false) { o[0] = unknown; } o[0] = 5;", "o[0i32] = 5.0f32;" });
}

Test(elaborate, static_for_unrolls)
{
    ROWS({ "static for (t in 0 .. 3) { r[t] = 10 * t; }", "r[0i32] = 0i32;\n    r[1i32] = 10i32;\n    r[2i32] = 20i32;\n}" },
         { "static for (t in 4 .. 0 step -2) { r[t] = t; }", "r[4i32] = 4i32;\n    r[2i32] = 2i32;\n}" },
         { "static for (t in 3 .. 3) { r[t] = unknown; } r[0] = 1;", "{\n    r[0i32] = 1i32;\n}" },
         { "static for (t in 0 .. 2) { let v = x[t:t + 2]; o[t:t + 2] = v; }", "o[1:3] = v2;" });
}

Test(elaborate, loops_carry_what_their_body_assigns)
{
    ROWS({ "var a = 0; var c = x[...]; for (t in 0 .. n) { a += t; } r[0] = a; o[...] = c;",
           "    var v3 = 0i32;  // i32\n    for (v4 in 0i32 .. v2) {\n        let v5 = v3 + v4;  // i32\n        v3 = v5;\n    }\n    r[0i32] = v3;\n" },
         { "var a = n; if (a > 3) { a = 4; } r[0] = a;",
           "    var v3 = v1;  // i32\n    if (v2) {\n        v3 = 4i32;\n    }\n    r[0i32] = v3;\n" },
         { "var a = n; while (a > 1) { a = a / 2; } r[0] = a;",
           "    var v3 = v2;  // bool\n    var v4 = v1;  // i32\n    while (v3) {\n        let v5 = v4 / 2i32;  // i32\n"
           "        let v6 = v5 > 1i32;  // bool\n        v3 = v6;\n        v4 = v5;\n    }\n    r[0i32] = v4;\n" },
         { "var go = n > 0; while (go) { go = false; r[0] = 1; }", "while (v3) {\n        r[0i32] = 1i32;\n        v3 = false;\n    }\n" },
         { "for (t in n .. 0 step -1) { r[0] = t; }", " .. 0i32 step -1) {" });
}

Test(elaborate, an_assignment_with_an_operator_reads_first)
{
    ROWS({ "o[...] += x[...];", "    let v1 = o[...];  // f32[8]\n    let v2 = x[...];  // f32[8]\n    let v3 = v1 + v2;  // f32[8]\n    o[...] = v3;\n" },
         { "r[0] <<= 2;", "<< 2i32" });
}

Test(elaborate, fns_are_inlined)
{
    made m;
    make(&m, KERNEL("fn two(a, by = 2) { let c = a * by; return a + 1, c; }\n"
                    "fn clear(ref, v = 0) { ref[...] = v; }\n"
                    "fn twice(f, v) = f(f(v));\n"
                    "const half = 1.0 / 2;\n"
                    "fn scaled(v) = half * v;\n",
                    "clear(s); clear(o, v = 3);\n"
                    "let u, v = two(by = x[...], a = 2);\n"
                    "let c, _ = two(n);\n"
                    "o[...] = twice(act, v) + twice(exp, y[...]) + u + scaled(cast(c, f32));"), "act=tanh");
    cr_assert_eq(m.status, CLP_OK, "%s", m.printed.text);
    cr_expect(strstr(m.printed.text, "s[...] = v1;"));
    cr_expect(strstr(m.printed.text, "broadcast(3.0f32, [8])"));
    cr_expect(strstr(m.printed.text, "tanh("));
    cr_expect(strstr(m.printed.text, "exp("));
    cr_expect(strstr(m.printed.text, "0.5f32 * "));
    done(&m);
}

/* ---- Parameters and operands ---- */

Test(elaborate, parameters_take_the_callers_values)
{
    static const char text[] = "kernel t<T = f32, b = 4, c = 2 * b, f = 1.5, g = false, fn act = relu>(in x: T[N] block [c] at (i) if g, "
                               "out o: T[N] block [c] at (i) pad f)\ngrid (i = cdiv(N, c)) { o[...] = act(cast(f, T)); }";
    static const struct { const char *params, *part; } rows[] = {
        { NULL, "out o: f32[N] block [8] at (i) pad 1.5)" },
        { "", "out o: f32[N] block [8] at (i) pad 1.5)" },
        { "b=3", "block [6] at (i)" },
        { "b = 3, c = 5", "block [5] at (i)" },
        { "T=bf16,f=2", "out o: bf16[N] block [8] at (i) pad 2.0)" },
        { "g=true", "in x: f32[N]" },
        { "g=1", "in x: f32[N]" },
        { "f=-inf", "pad -inf" },
        { "c=b*3", "block [12]" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        made m;
        make(&m, text, rows[i].params);
        cr_expect_eq(m.status, CLP_OK, "%s: %s", rows[i].params, m.printed.text);
        cr_expect(strstr(m.printed.text, rows[i].part), "%s: expected `%s` in\n%s", rows[i].params, rows[i].part, m.printed.text);
        done(&m);
    }
}

Test(elaborate, parameters_that_do_not_fit_are_the_callers_mistake)
{
    static const char text[] = "kernel t<T = f32, bm = 4, g = false, fn act = relu>(out o: T[N] block [bm] at (i))\ngrid (i = N) { o[...] = act(0); }";
    static const struct { const char *params, *part; } rows[] = {
        { "bn=3", "t has no parameter `bn`; did you mean `bm`?" },
        { "bm=0.5", "parameter bm: expected an integer, got 0.5" },
        { "bm=f32", "parameter bm: expected an integer, got the dtype f32" },
        { "T=3", "parameter T: expected a dtype, got 3" },
        { "g=2", "parameter g: expected `true` or `false`, got 2" },
        { "act=4", "parameter act: expected a function, got 4" },
        { "act=relo", "unknown function `relo`; did you mean `relu`?" },
        { "bm", "expected `=` after the parameter, got the end of the text" },
        { "bm=", "expected an expression, got the end of the text" },
        { "bm=1,bm=2", "parameter bm is given twice" },
        { "bm=1 T=f16", "expected `,` between parameters, got `T`" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        made m;
        make(&m, text, rows[i].params);
        cr_expect_eq(m.status, CLP_ERR_ARG, "%s", rows[i].params);
        cr_expect(strstr(m.printed.text, rows[i].part), "%s: expected `%s` in\n%s", rows[i].params, rows[i].part, m.printed.text);
        done(&m);
    }
}

Test(elaborate, a_map_may_read_what_is_declared_below)
{
    made m;
    make(&m, "kernel t(in x: f32[R, C] block [_, 8] at (idx[i] + s, num_programs(i) - 1), out o: f32[N, C] block [_, 8] at (i, 0), "
             "prefetch idx: i32[N], scalar s: i32)\ngrid (i = N + 2 * s) require C == 8, N > 0 && s >= 0 { o[...] = x[...]; }", NULL);
    cr_assert_eq(m.status, CLP_OK, "%s", m.printed.text);
    cr_expect(strstr(m.printed.text, "at (idx[i] + s, num_programs(i) - 1)"), "%s", m.printed.text);
    cr_expect(strstr(m.printed.text, "grid (i = N + 2 * s)"), "%s", m.printed.text);
    cr_expect_eq(m.ir->n_requires, 2);
    cr_expect_str_eq(m.ir->requires[1].text, "N > 0 && s >= 0");
    cr_expect(m.ir->operands[0].ref_rank == 1 && m.ir->operands[0].ref_size[0] == 8);
    done(&m);
}

Test(elaborate, tune_lists_are_handed_out)
{
    clpi_env env;
    clpi_arena arena;
    clpi_file *file;
    const clpi_tune *tunes;
    int n;
    const char *text = "kernel t<a = 1, b = 2>(out o: f32[N])\ngrid () tune a in [1, 2, 4], b in [a, 2 * a] { o[0] = 0; }";
    clpi_source source = { "t.plk", text, strlen(text) };
    clpi_env_init(&env, NULL, NULL);
    clpi_arena_init(&arena, &env);
    cr_assert_eq(clpi_parse(&env, &arena, &source, &file), CLP_OK);
    cr_assert_eq(clpi_tunes(&env, &arena, file, "t", "a=5", &tunes, &n), CLP_OK);
    cr_assert_eq(n, 2);
    cr_expect(!strcmp(tunes[0].param, "a") && tunes[0].n_values == 3 && tunes[0].values[2] == 4);
    cr_expect(!strcmp(tunes[1].param, "b") && tunes[1].n_values == 2 && tunes[1].values[1] == 10);
    clpi_arena_done(&arena);
    clpi_env_done(&env);
}

/* ---- What is refused ---- */

Test(elaborate, refuses_statements)
{
    static const row rows[] = {
        { "o[0] = unknown;", "error: unknown name `unknown`" },
        { "o[...] = exq(x[...]);", "error: unknown function `exq`; did you mean `exp`?" },
        { "let x = 1;", "error: `x` is a name here already: of line 1" },
        { "let a = 1; { }", "error: expected a statement, got `{`" },
        { "let a = 1; if (n > 0) { let a = 2; }", "error: `a` is a name here already: of line 4" },
        { "let a = x;", "error: x is an operand: its elements are x[...]" },
        { "o[...] = x + 1;", "error: x is an operand: its elements are x[...]" },
        { "x[...] = 1;", "error: x is an input and cannot be stored to" },
        { "n = 1;", "error: n is a scalar and cannot be stored to" },
        { "o = 1;", "error: o is an operand: write o[...] to store to it" },
        { "let a = 1; a = 2;", "error: `a` is no `var` and keeps its value" },
        { "p = 2;", "error: `p` is no `var` and keeps its value" },
        { "let v = x[...]; v[0] = 1;", "error: `v` is a value: its elements cannot be assigned to" },
        { "var a = 0; a = 0.5;", "error: expected i32, got the float 0.5 (use cast)" },
        { "var a = 0; a = x[0];", "error: `a` keeps its dtype and shape: it is i32, the value is f32" },
        { "o[...] = x[...] + k[...];", "error: `+` takes operands of one dtype: f32 and i32 were given" },
        { "r[...] = k[...] + 0.5;", "error: expected i32, got the float 0.5 (use cast)" },
        { "r[...] = cast(q[...] + 300, i32);", "error: 300 does not fit u8: 0 .. 255" },
        { "o[0] = 1 / 0;", "error: division of a constant by zero" },
        { "let a = 18446744073709551615 + 1;", "error: this constant does not fit 64 bits" },
        { "let a = 1 << 64;", "error: this constant does not fit 64 bits" },
        { "var a = 3000000000;", "error: 3000000000 does not fit i32" },
        { "o[0] = 1e39;", "does not fit f32" },
        { "o[0] = true;", "error: expected f32, got the boolean true" },
        { "if (k[...] > 0) { }", "error: `if` takes a scalar, got bool[8]: for a tile use `where`" },
        { "if (n) { }", "error: `if` takes a bool, got i32" },
        { "while (true) { }", "error: this `while` never ends" },
        { "for (t in 0 .. x[0]) { }", "error: the bounds of `for` are scalars of dtype i32, got f32" },
        { "for (t in 0 .. 4 step 0) { }", "error: the step is 0" },
        { "for (t in 0 .. 4 step n) { }", "error: the step of `for` is a constant integer" },
        { "static for (t in 0 .. n) { }", "error: the upper bound of `static for` is a constant integer" },
        { "o[...] = n && yes;", "error: `&&` takes booleans, got i32" },
        { "exp(x[...]);", "error: `exp` has no effect: its value is not used" },
        { "o[...] = exp();", "error: `exp` takes 1 argument: `a` is missing" },
        { "o[...] = exp(x[...], 1);", "error: `exp` takes 1 argument" },
        { "o[0] = sum(x[...], axes = 0);", "error: `sum` has no argument named `axes`; did you mean `axis`?" },
        { "o[0] = sum(x[...], axis = 0, axis = 0);", "error: `axis` is given twice" },
        { "o[0] = sum(x[...], axis = 3);", "error: `sum` has no axis 3: the value has shape [8]" },
        { "o[...] = max(x[...], y[...]);", "use maximum(a, b)" },
        { "o[...] = cast(x[...], 3);", "error: expected a dtype for `dtype`" },
        { "o[...] = load(x);", "error: x is an operand: its elements are x[...]" },
        { "o[...] = load(x[...][0]);", "error: expected an operand before the `[`" },
        { "o[...] = x[0.5];", "error: expected an integer as the index, got 0.5" },
        { "o[...] = x[0:n];", "error: the end of a slice is a constant integer: this is known at run time only" },
        { "r[0] = num_programs(n);", "error: expected the name of a grid axis" },
        { "r[0] = num_programs(5);", "error: the grid has no axis 5: it has 2" },
        { "let a, c = x[...];", "error: 2 names are given: the expression has 1 value" },
        { "o[...] = relu(x[...], 1);", "error: `relu` takes 1 argument" },
        { "o[...] = relu();", "error: `relu` takes 1 argument: `v` is missing" },
        { "o[...] = relu(q[...]) + x[...];", "error: `+` takes operands of one dtype: u8 and f32" },
        { "o[...] = silu(k[...]);", "error: in `silu`: `exp` takes floats: i32 was given" },
        { "o[...] = 1f23 + x[...];", "error: the number ends in `f23`, which is no dtype" },
        { "print(n);", "error: `print` takes a string first" },
        { "assert(n, \"a\");", "error: `assert` needs a bool" },
        { "o[...] = iota([n]);", "error: an element of `shape` is a constant integer" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[2048];
        made m;
        snprintf(text, sizeof text, KERNEL("%s", "%s"), "", rows[i].body);
        make(&m, text, NULL);
        cr_expect_eq(m.status, CLP_ERR_INVALID, "%s", rows[i].body);
        cr_expect(strstr(m.printed.text, rows[i].part), "%s: expected `%s` in\n%s", rows[i].body, rows[i].part, m.printed.text);
        cr_expect_null(strstr(m.printed.text + 1, "\nt.plk"), "%s: more than one error:\n%s", rows[i].body, m.printed.text);
        done(&m);
    }
}

Test(elaborate, refuses_declarations)
{
    static const row rows[] = {
        { "kernel t(in x: f32[N], out x: f32[N]) grid () { x[0] = 1; }", "1:28: error: `x` is a name here already: of line 1" },
        { "kernel t(out o: f32[N] block [1, 2] at (0, 0)) grid () { }", "1:14: error: o: block has 2 dims, array has 1" },
        { "kernel t(out o: f32[N] block [1] at (0, 0)) grid () { }", "error: o: the index map has 2 expressions, the block has 1 dim:" },
        { "kernel t(out o: f32[N] block [N] at (0)) grid () { }", "1:31: error: o: a dimension of the block is a constant integer" },
        { "kernel t(out o: f32[N] block [0] at (0)) grid () { }", "error: o: a dimension of the block is at least 1, got 0" },
        { "kernel t(out o: f32[N] block [1] at (K)) grid () { }", "1:38: error: unknown name `K`" },
        { "kernel t(out o: f32[i]) grid (i = 1) { }", "error: i is an axis: its program id is known in index maps and in the body only" },
        { "kernel t(out o: f32[n], scalar n: i32) grid () { }", "error: n is declared further down" },
        { "kernel t(out o: f32[N], scratch s: f32[N]) grid () { }", "the shape of scratch is known when the kernel is built" },
        { "kernel t(out o: f32[N] pad N) grid () { }", "error: o: pad is a constant of dtype f32" },
        { "kernel t(out o: u8[N] pad -1) grid () { }", "error: -1 does not fit u8: 0 .. 255" },
        { "kernel t(out o: f32[N] alias z) grid () { }", "error: unknown operand `z`" },
        { "kernel t(in x: f32[N] if N > 1) grid () { }", "error: unknown name `N`" },
        { "kernel t<g = false>(in x: f32[N] if g) grid () { }", "error: t has no operands here" },
        { "kernel t(out o: f32[N], in x: f32[N] if false) grid () { o[0] = x[0]; }", "error: there is no operand x: its `if` is false" },
        { "kernel t(out o: f32[N]) grid (i = 0.5) { }", "error: expected an integer, got the float 0.5" },
        { "kernel t(out o: f32[N]) grid (i = N > 1) { }", "error: expected an integer, got bool" },
        { "kernel t(out o: f32[N]) grid (i = exp(N)) { }", "error: `exp` takes floats" },
        { "kernel t(out o: f32[N]) grid (i = sum(N)) { }", "error: expected two arguments" },
        { "kernel t(out o: f32[N]) grid (i = iota([3])) { }", "error: `iota` stands in the body only" },
        { "kernel t(prefetch k: i32[N]) grid (i = k[0]) { }", "error: elements of k are read in index maps and in the body only" },
        { "kernel t(out o: f32[N]) grid () require N { }", "error: `require` takes a condition, got an integer" },
        { "kernel t<b = 2>(out o: f32[N]) grid () tune c in [1] { }", "error: unknown parameter `c`" },
        { "kernel t<b = f32>(out o: f32[N]) grid () tune b in [1] { }", "error: `tune` takes integer parameters: b is none" },
        { "kernel t<act = relu>(out o: f32[N]) grid () { }", "error: a parameter that stands for a function is written `fn act = ...`" },
        { "kernel t<fn act = T>(out o: f32[N]) grid () { }", "error: unknown function `T`" },
        { "const a = N; kernel t(out o: f32[N]) grid () { }", "error: unknown name `N`" },
        { "const a = iota([3]); kernel t(out o: f32[N]) grid () { }", "error: `iota` stands in the body only" },
        { "fn f(v) = f(v); kernel t(out o: f32[N]) grid () { o[0] = f(1); }", "error: `f` calls itself: fns are inlined" },
        { "fn f(v) = g(v); fn g(v) = f(v); kernel t(out o: f32[N]) grid () { o[0] = f(1); }", "calls itself" },
        { "fn f(v) = o[0]; kernel t(out o: f32[N]) grid () { o[0] = f(1); }", "error: unknown name `o`" },
        { "fn exp(v) = v; kernel t(out o: f32[N]) grid () { o[0] = 1; }", "error: `exp` is a built-in function, which a fn cannot hide" },
        { "kernel t(out o: f32[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]) grid () { }", "error: o: an array has at most 16 dimensions, got 17" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        made m;
        make(&m, rows[i].body, NULL);
        cr_expect_eq(m.status, CLP_ERR_INVALID, "%s", rows[i].body);
        cr_expect(strstr(m.printed.text, rows[i].part), "%s: expected `%s` in\n%s", rows[i].body, rows[i].part, m.printed.text);
        cr_expect_null(strstr(m.printed.text + 1, "\nt.plk"), "%s: more than one error:\n%s", rows[i].body, m.printed.text);
        done(&m);
    }
}

Test(elaborate, chooses_the_kernel)
{
    static const char text[] = "kernel one(out o: f32[N]) grid () { o[0] = 1; } kernel two(out o: f32[N]) grid () { o[0] = 2; }";
    made m;
    make_bytes(&m, text, strlen(text), "two", NULL);
    cr_expect(m.status == CLP_OK && strstr(m.printed.text, "o[0i32] = 2.0f32;"), "%s", m.printed.text);
    done(&m);
    make_bytes(&m, text, strlen(text), NULL, NULL);
    cr_expect_eq(m.status, CLP_ERR_ARG);
    cr_expect_str_eq(m.printed.text, "t.plk has 2 kernels, name one: one, two");
    done(&m);
    make_bytes(&m, text, strlen(text), "three", NULL);
    cr_expect_eq(m.status, CLP_ERR_ARG);
    cr_expect_str_eq(m.printed.text, "t.plk has no kernel `three`; it has one, two");
    done(&m);
    make(&m, "const a = 1;", NULL);
    cr_expect_eq(m.status, CLP_ERR_ARG);
    cr_expect_str_eq(m.printed.text, "t.plk has no kernel");
    done(&m);
}

/* ---- Limits ---- */

Test(elaborate, limits_what_a_text_may_ask_for)
{
    made m;
    make(&m, KERNEL("", "static for (a in 0 .. 1000000000) { static for (c in 0 .. 1000000000) { } }"), NULL);
    cr_expect(m.status == CLP_ERR_INVALID && strstr(m.printed.text, "the kernel is too long"), "%s", m.printed.text);
    done(&m);

    clpi_str s;
    clpi_env env;
    clpi_env_init(&env, NULL, NULL);
    clpi_str_init(&s, &env);
    clpi_str_puts(&s, "fn g0(v) = v;\n");
    for (int i = 1; i < 64; i++)
        clpi_str_add(&s, "fn g%d(v) = g%d(v) + g%d(v);\n", i, i - 1, i - 1);
    clpi_str_puts(&s, KERNEL("", "o[...] = g63(x[...]);"));
    make_bytes(&m, s.text, s.n, NULL, NULL);
    cr_expect(m.status == CLP_ERR_INVALID && strstr(m.printed.text, "the kernel is too long"), "%s", m.printed.text);
    done(&m);

    clpi_str_cut(&s, 0);
    clpi_str_puts(&s, "fn g0(v) = v;\n");
    for (int i = 1; i < 1000; i++)
        clpi_str_add(&s, "fn g%d(v) { var r = v; if (sum(v) > 0) { r = g%d(v); } return r; }\n", i, i - 1);
    clpi_str_puts(&s, KERNEL("", "o[...] = g999(x[...]);"));
    make_bytes(&m, s.text, s.n, NULL, NULL);
    cr_expect(m.status == CLP_ERR_INVALID && strstr(m.printed.text, "nested too deeply"), "%s", m.printed.text);
    done(&m);
    clpi_str_done(&s);
    clpi_env_done(&env);
}

Test(elaborate, names_may_be_many)
{
    enum { N = 20000 };
    made m;
    clpi_str s;
    clpi_env env;
    clpi_env_init(&env, NULL, NULL);
    clpi_str_init(&s, &env);
    clpi_str_puts(&s, "kernel t(out o: f32[N]) grid () { let v0 = o[0];\n");
    for (int i = 1; i < N; i++)
        clpi_str_add(&s, "let v%d = v%d + 1;\n", i, i - 1);
    clpi_str_add(&s, "o[0] = v%d; }", N - 1);
    make_bytes(&m, s.text, s.n, NULL, NULL);
    cr_expect_eq(m.status, CLP_OK);
    done(&m);
    clpi_str_done(&s);
    clpi_env_done(&env);
}

/* ---- The standard fns, by value ---- */

static void run(const char *text, clp_array *arrays, int n)
{
    clp_context *ctx;
    clp_kernel *kernel;
    cr_assert_eq(clp_context_new(&(clp_context_opts){ .device = "interp" }, &ctx), CLP_OK);
    OK(ctx, clp_kernel_from_text(ctx, text, NULL, NULL, &kernel));
    OK(ctx, clp_run(kernel, arrays, n, NULL));
    clp_kernel_free(kernel);
    clp_context_free(ctx);
}

Test(elaborate, philox_gives_the_published_numbers)
{
    /* Counter and key, then the four words: the known answers of Random123. */
    static const uint32_t rows[][10] = {
        { 0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 },
        { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd },
        { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 },
    };
    uint32_t in[6][3], out[4][3];
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 6; k++)
            in[k][r] = rows[r][k];
    const int64_t in_shape[] = { 6, 3 }, out_shape[] = { 4, 3 };
    run("kernel t(in c: u32[6, 3], out o: u32[4, 3]) grid () {\n"
        "    let v = c[...];\n"
        "    let x0, x1, x2, x3 = philox(v[0], v[1], v[2], v[3], v[4], v[5]);\n"
        "    o[0, :] = x0; o[1, :] = x1; o[2, :] = x2; o[3, :] = x3;\n}",
        (clp_array[]){ { .dtype = CLP_U32, .rank = 2, .shape = in_shape, .data = in }, { .dtype = CLP_U32, .rank = 2, .shape = out_shape, .data = out } }, 2);
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 4; k++)
            cr_expect_eq(out[k][r], rows[r][6 + k], "row %d, word %d: %08x", r, k, out[k][r]);
}

Test(elaborate, standard_fns_give_their_values)
{
    static const struct { const char *expression; double want[4]; } rows[] = {
        { "relu(v)", { 0, 0, 0.5, 8 } },
        { "relu6(v)", { 0, 0, 0.5, 6 } },
        { "sigmoid(v)", { 0.11920292202211755, 0.5, 0.62245933120185459, 0.99966464986953363 } },
        { "silu(v)", { -0.23840584404423511, 0, 0.31122966560092729, 7.9973171989562690 } },
        { "gelu(v)", { -0.045500263896358414, 0, 0.34573123063700656, 7.9999999999999949 } },
        { "gelu_tanh(v)", { -0.045402305912224981, 0, 0.34571401032379230, 8 } },
        { "softplus(v)", { 0.12692801104297249, 0.69314718055994531, 0.97407698418010669, 8.0003354063728956 } },
        { "full([4], mean(v))", { 1.625, 1.625, 1.625, 1.625 } },
        { "full([4], variance(v))", { 14.421875, 14.421875, 14.421875, 14.421875 } },
        { "mean(reshape(v, [4, 1]), axis = 1)", { -2, 0, 0.5, 8 } },
        { "softmax(v)", { 4.5351312e-05, 3.3510339e-04, 5.5249210e-04, 0.99906705 } },
        { "full([4], logsumexp(v))", { 8.0009333826, 8.0009333826, 8.0009333826, 8.0009333826 } },
        { "full([4], logsumexp(v - inf))", { -INFINITY, -INFINITY, -INFINITY, -INFINITY } },
    };
    float in[4] = { -2, 0, 0.5f, 8 }, out[4];
    const int64_t shape[] = { 4 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        snprintf(text, sizeof text, "kernel t(in x: f32[4], out o: f32[4]) grid () { let v = x[...]; o[...] = %s; }", rows[i].expression);
        run(text, (clp_array[]){ { .dtype = CLP_F32, .rank = 1, .shape = shape, .data = in }, { .dtype = CLP_F32, .rank = 1, .shape = shape, .data = out } }, 2);
        for (int k = 0; k < 4; k++)
            cr_expect(near((double)out[k], rows[i].want[k], 1e-6), "%s: element %d is %.9g, not %.9g", rows[i].expression, k, (double)out[k], rows[i].want[k]);
    }
}

Test(elaborate, means_are_of_any_dtype_and_axes)
{
    int32_t in[6] = { 1, 2, 3, 4, 5, 9 };
    float out[5];
    const int64_t in_shape[] = { 2, 3 }, out_shape[] = { 5 };
    run("kernel t(in x: i32[2, 3], out o: f32[5]) grid () {\n"
        "    let v = x[...];\n"
        "    o[0:2] = mean(v, axis = 1); o[2:5] = mean(v, axis = 0, keepdims = true)[0];\n}",
        (clp_array[]){ { .dtype = CLP_I32, .rank = 2, .shape = in_shape, .data = in }, { .dtype = CLP_F32, .rank = 1, .shape = out_shape, .data = out } }, 2);
    const float want[5] = { 2, 6, 2.5f, 3.5f, 6 };
    for (int k = 0; k < 5; k++)
        cr_expect_eq(out[k], want[k], "element %d is %g", k, (double)out[k]);
}
