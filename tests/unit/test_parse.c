/* parse: tokens to trees, and the form of errors. */
#include <stdio.h>

#include "base/arena.h"
#include "support/support.h"
#include "text/parse.h"

typedef struct parsed {
    clpi_env    env;
    clpi_arena  arena;
    clpi_source source;
    clpi_file  *file;
    clp_status  status;
} parsed;

static void parse_bytes(parsed *p, const char *text, size_t n)
{
    *p = (parsed){ .source = { "t.plk", text, n } };
    clpi_env_init(&p->env, NULL, NULL);
    clpi_arena_init(&p->arena, &p->env);
    p->status = clpi_parse(&p->env, &p->arena, &p->source, &p->file);
    cr_assert_eq(p->status == CLP_OK, p->file != NULL);
}

static void parse(parsed *p, const char *text)
{
    parse_bytes(p, text, strlen(text));
}

static void done(parsed *p)
{
    clpi_arena_done(&p->arena);
    clpi_env_done(&p->env);
}

/* ---- Expressions, shown with all their parentheses ---- */

static void show(clpi_str *s, const clpi_expr *x);

static void show_list(clpi_str *s, const clpi_exprs *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        clpi_str_puts(s, i ? " " : "");
        show(s, list->items[i]);
    }
}

static void show_sub(clpi_str *s, const clpi_sub_expr *sub)
{
    static const char *const kinds[] = { "at", "slice", "ds", "...", "None" };
    clpi_str_puts(s, kinds[sub->kind]);
    const clpi_expr *parts[] = { sub->a, sub->b, sub->c };
    for (int i = 0; i < 3; i++) {
        clpi_str_puts(s, parts[i] ? " " : "");
        if (parts[i])
            show(s, parts[i]);
    }
}

static void show(clpi_str *s, const clpi_expr *x)
{
    switch (x->kind) {
    case CLPI_EX_NAME: clpi_str_puts(s, x->name); break;
    case CLPI_EX_INT: clpi_str_add(s, "%llu%s", (unsigned long long)x->integer, x->name ? x->name : ""); break;
    case CLPI_EX_REAL: clpi_str_add(s, "%g%s", x->real, x->name ? x->name : ""); break;
    case CLPI_EX_TRUTH: clpi_str_puts(s, x->integer ? "true" : "false"); break;
    case CLPI_EX_DTYPE: clpi_str_puts(s, clp_dtype_name(x->dtype)); break;
    case CLPI_EX_STRING: clpi_str_add(s, "'%s'", x->name); break;
    case CLPI_EX_UNARY:
        clpi_str_add(s, "(%s ", clpi_token_text(x->op));
        show(s, x->first);
        clpi_str_puts(s, ")");
        break;
    case CLPI_EX_CHAIN:
        for (uint32_t i = 0; i < x->links.n; i++)
            clpi_str_puts(s, "(");
        show(s, x->first);
        for (uint32_t i = 0; i < x->links.n; i++) {
            clpi_str_add(s, " %s ", clpi_token_text(x->links.items[i].op));
            show(s, x->links.items[i].value);
            clpi_str_puts(s, ")");
        }
        break;
    case CLPI_EX_SUBSCRIPT:
        show(s, x->first);
        for (uint32_t i = 0; i < x->subs.n; i++) {
            clpi_str_puts(s, i ? ", " : "[");
            show_sub(s, &x->subs.items[i]);
        }
        clpi_str_puts(s, "]");
        break;
    case CLPI_EX_CALL:
        clpi_str_add(s, "%s(", x->name);
        for (uint32_t i = 0; i < x->args.n; i++) {
            clpi_str_add(s, "%s%s%s", i ? ", " : "", x->args.items[i].name ? x->args.items[i].name : "", x->args.items[i].name ? "=" : "");
            show(s, x->args.items[i].value);
        }
        clpi_str_puts(s, ")");
        break;
    case CLPI_EX_TUPLE: clpi_str_puts(s, "{"); show_list(s, &x->items); clpi_str_puts(s, "}"); break;
    case CLPI_EX_LIST: clpi_str_puts(s, "<"); show_list(s, &x->items); clpi_str_puts(s, ">"); break;
    }
}

Test(parse, groups_expressions)
{
    static const struct { const char *text, *shown; } rows[] = {
        { "a + b * c", "(a + (b * c))" },
        { "a - b - c", "((a - b) - c)" },
        { "a / b % c * d", "(((a / b) % c) * d)" },
        { "a & m == 0", "((a & m) == 0)" },
        { "a | b ^ c & d", "(a | (b ^ (c & d)))" },
        { "a << 1 + b", "(a << (1 + b))" },
        { "a || b && c < d", "(a || (b && (c < d)))" },
        { "-a[0]", "(- a[at 0])" },
        { "!-~+a", "(! (- (~ (+ a))))" },
        { "-a * b", "((- a) * b)" },
        { "x[...]", "x[...]" },
        { "x[:, None, 1:, :2, ::3, a:b:c]", "x[slice, None, slice 1, slice 2, slice 3, slice a b c]" },
        { "x[ds(i, 4), ds(i, 4, 2)]", "x[ds i 4, ds i 4 2]" },
        { "x[ds]", "x[at ds]" },
        { "v[i][j]", "v[at i][at j]" },
        { "f(a, b + 1, axis = (0, 2), s = [3, 4])", "f(a, (b + 1), axis={0 2}, s=<3 4>)" },
        { "(a)", "a" },
        { "(a,)", "{a}" },
        { "[]", "<>" },
        { "cast(v, f32) + 0.5bf16", "(cast(v, f32) + 0.5bf16)" },
        { "inf", "inf" },
        { "true == false", "(true == false)" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        parsed p;
        clpi_str s;
        snprintf(text, sizeof text, "const a = %s;", rows[i].text);
        parse(&p, text);
        cr_assert_eq(p.status, CLP_OK, "%s: %s", rows[i].text, clpi_error_text(&p.env));
        clpi_str_init(&s, &p.env);
        show(&s, p.file->consts.items[0].value);
        cr_expect_str_eq(s.text, rows[i].shown, "%s: got %s", rows[i].text, s.text);
        clpi_str_done(&s);
        done(&p);
    }
}

Test(parse, slices_with_a_start_left_out_keep_their_parts_apart)
{
    parsed p;
    parse(&p, "const a = x[:b:c];");
    const clpi_sub_expr *sub = &p.file->consts.items[0].value->subs.items[0];
    cr_expect(sub->kind == CLPI_SUBSCRIPT_SLICE && !sub->a && sub->b && sub->c);
    done(&p);
}

/* ---- Declarations ---- */

Test(parse, reads_all_of_a_kernel)
{
    parsed p;
    parse(&p, "fn act(v, by = 2) { let a = v; return a, by; }\n"
              "kernel k<T = f32, b = (4 > 3), fn f = act>(\n"
              "    prefetch idx: i32[N],\n"
              "    in  x: T[N, 4] block [_, element(b, pad = (1, 2))] at (idx[i], 0) pad -inf if b,\n"
              "    out o: T[N] alias x,\n"
              "    scratch s: f32[], scalar n: i32)\n"
              "grid (i = N parallel, j = n arbitrary)\n"
              "tune b in [1, 2], c in [3] require N % 8 == 0, N > 0 math fast\n"
              "{\n"
              "    var a, c = f(x[...]);\n"
              "    if (a) { a += 1; } else if (c) { } else { s[...] = 0; }\n"
              "    static for (t in 0 .. 4 step 2) { while (a) { print(\"{}\", a); } }\n"
              "}\n");
    cr_assert_eq(p.status, CLP_OK, "%s", clpi_error_text(&p.env));
    cr_expect_eq(clpi_file_n_kernels(p.file), 1);
    cr_expect_str_eq(clpi_file_kernel_name(p.file, 0), "k");
    const clpi_kernel_decl *k = p.file->kernels.items[0];
    cr_expect(k->params.n == 3 && !k->params.items[1].is_fn && k->params.items[2].is_fn);
    cr_assert_eq(k->operands.n, 5);
    const clpi_operand_decl *x = &k->operands.items[1];
    cr_expect(x->role == CLP_IN && x->shape.n == 2 && x->block.n == 2 && x->map.n == 2 && x->pad && x->condition && !x->alias.text);
    cr_expect(x->block.items[0].is_squeezed && x->block.items[1].is_element && x->block.items[1].pad_lo != x->block.items[1].pad_hi);
    cr_expect_str_eq(k->operands.items[2].alias.text, "x");
    cr_expect(k->operands.items[3].role == CLP_SCRATCH && k->operands.items[3].shape.n == 0);
    cr_expect(k->axes.n == 2 && !k->axes.items[0].is_arbitrary && k->axes.items[1].is_arbitrary);
    cr_expect(k->tunes.n == 2 && k->requires.n == 2 && k->math_fast);
    cr_expect_str_eq(k->requires.items[0].text, "N % 8 == 0");
    cr_expect_eq(k->body.n, 3);
    cr_expect(p.file->fns.items[0]->params.n == 2 && p.file->fns.items[0]->returns.n == 2);
    done(&p);
}

Test(parse, words_of_declarations_are_names_elsewhere)
{
    parsed p;
    parse(&p, "kernel grid(out block: f32[at]) grid (pad = at) { let element = 1; var step = 2; let out = element; block[...] = step; }");
    cr_expect_eq(p.status, CLP_OK, "%s", clpi_error_text(&p.env));
    done(&p);
}

/* ---- Errors ---- */

static void expect_error(const char *text, const char *whole)
{
    parsed p;
    parse(&p, text);
    cr_expect_eq(p.status, CLP_ERR_INVALID, "%s", text);
    cr_expect_str_eq(clpi_error_text(&p.env), whole, "%s:\n%s", text, clpi_error_text(&p.env));
    done(&p);
}

Test(parse, shows_the_line_and_a_caret)
{
    expect_error("const a = 1 +;", "t.plk:1:14: error: expected an expression, got `;`\nconst a = 1 +;\n             ^");
    expect_error("const a = 1;\n\tconst b = ;\n", "t.plk:2:12: error: expected an expression, got `;`\n const b = ;\n           ^");
    expect_error("const \xc3\xb6 = 1;", "t.plk:1:7: error: unexpected byte 0xc3\nconst \xc3\xb6 = 1;\n      ^");
    expect_error("const a = 1", "t.plk:1:12: error: expected `;` after the expression, got the end of the text\nconst a = 1\n           ^");
}

Test(parse, tells_what_was_expected)
{
    static const struct { const char *text, *part; } rows[] = {
        { "let a = 1;", "1:1: error: expected `kernel`, `fn` or `const`, got `let`" },
        { "const if = 1;", "1:7: error: expected the name of the constant (that word is reserved), got `if`" },
        { "const a = b < c < d;", "1:17: error: comparisons do not chain: write `a < b && b < c`" },
        { "const a = f(b = 1, 2);", "1:20: error: a positional argument stands before the named ones" },
        { "const a = \"s\";", "expected an expression (strings stand only in `print` and `assert`), got a string" },
        { "const a = x[ds(1)];", "1:13: error: `ds` takes a start, a size and perhaps a stride, got 1 arguments" },
        { "fn f(a = 1, b) = a;", "1:13: error: parameters without a default stand before those with one" },
        { "fn f(a) a;", "1:9: error: expected `=` or `{` after the parameters, got `a`" },
        { "kernel k() grid () {}", "1:10: error: expected `in`, `out`, `inout`, `prefetch`, `scratch` or `scalar`, got `)`" },
        { "kernel k(in x: f32[N] block [1]) grid () {}", "1:32: error: expected `at (...)` after the block, got `)`" },
        { "kernel k(in x: 4[N]) grid () {}", "1:16: error: expected a dtype, got `4`" },
        { "kernel k(in x: f32) grid () {}", "1:19: error: expected `[` after the dtype, got `)`" },
        { "kernel k(in x: f32[N]) {}", "1:24: error: expected `grid (...)` after the operands, got `{`" },
        { "kernel k(in x: f32[N]) grid () math slow {}", "1:37: error: expected `strict` or `fast`, got `slow`" },
        { "kernel k(in x: f32[N]) grid () { x + 1; }", "1:36: error: expected `=` or an assignment such as `+=`, got `+`" },
        { "kernel k(in x: f32[N]) grid () { f(1)[0] = 1; }", "1:34: error: only a `var` or the subscripted elements of an operand can be assigned to" },
        { "kernel k(in x: f32[N]) grid () { return 1; }", "1:34: error: expected `}`: `return` stands at the end of a `fn` only, got `return`" },
        { "kernel k<fn f = 2>(in x: f32[N]) grid () {}", "1:17: error: expected the name of a fn, got `2`" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        parsed p;
        parse(&p, rows[i].text);
        cr_expect_eq(p.status, CLP_ERR_INVALID, "%s", rows[i].text);
        cr_expect(strstr(clpi_error_text(&p.env), rows[i].part), "%s:\n%s", rows[i].text, clpi_error_text(&p.env));
        done(&p);
    }
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        n++;
    return n;
}

Test(parse, goes_on_after_an_error)
{
    parsed p;
    parse(&p, "const a = ;\n"
              "fn f(v) = v +;\n"
              "kernel k(in x f32[N], out o: f32[N] block 3, in y: f32[N])\n"
              "grid (i = N)\n"
              "{\n"
              "    let a = ;\n"
              "    if (b { a = 1; } else { a = 2; }\n"
              "    o[...] = 1;\n"
              "    a b;\n"
              "}\n"
              "const c = );\n");
    const char *text = clpi_error_text(&p.env);
    cr_expect_eq(count(text, "error: "), 8, "%s", text);
    const char *const places[] = { "t.plk:1:11:", "t.plk:2:14:", "t.plk:3:15:", "t.plk:3:43:", "t.plk:6:13:", "t.plk:7:11:", "t.plk:9:7:", "t.plk:11:11:" };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        cr_expect(strstr(text, places[i]), "%s is missing in\n%s", places[i], text);
    done(&p);
}

Test(parse, stops_at_twenty_errors)
{
    clpi_str s;
    parsed p;
    clpi_env env;
    clpi_env_init(&env, NULL, NULL);
    clpi_str_init(&s, &env);
    for (int i = 0; i < 50; i++)
        clpi_str_puts(&s, "const a = ;\n");
    parse_bytes(&p, s.text, s.n);
    cr_expect_eq(count(clpi_error_text(&p.env), "error: "), 20);
    done(&p);
    clpi_str_done(&s);
    clpi_env_done(&env);
}

Test(parse, limits_nesting)
{
    static const struct { const char *before, *open, *close, *after; int levels; bool fits; } rows[] = {
        { "const a = ", "(", ")", ";", 150, true },
        { "const a = ", "(", ")", ";", 201, false },
        { "const a = ", "-", "", "1;", 100000, false },
        { "const a = ", "[", "]", ";", 100000, false },
        { "const a = x", "[0]", "", ";", 100000, false },
        { "kernel k(in x: f32[N]) grid () {", "if (a) {", "}", "}", 150, true },
        { "kernel k(in x: f32[N]) grid () {", "if (a) {", "}", "}", 100000, false },
        { "kernel k(in x: f32[N]) grid () {", "if (a) { } else ", "", "{ } }", 100000, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clpi_str s;
        parsed p;
        clpi_env env;
        clpi_env_init(&env, NULL, NULL);
        clpi_str_init(&s, &env);
        clpi_str_puts(&s, rows[i].before);
        for (int k = 0; k < rows[i].levels; k++)
            clpi_str_puts(&s, rows[i].open);
        if (rows[i].open[0] == '(')
            clpi_str_puts(&s, "1");
        for (int k = 0; k < rows[i].levels; k++)
            clpi_str_puts(&s, rows[i].close);
        clpi_str_puts(&s, rows[i].after);
        parse_bytes(&p, s.text, s.n);
        cr_expect_eq(p.status == CLP_OK, rows[i].fits, "row %zu: %.200s", i, clpi_error_text(&p.env));
        if (!rows[i].fits)
            cr_expect(strstr(clpi_error_text(&p.env), "nested too deeply: the limit is 200"), "row %zu", i);
        done(&p);
        clpi_str_done(&s);
        clpi_env_done(&env);
    }
}

Test(parse, long_sums_do_not_nest)
{
    clpi_str s;
    parsed p;
    clpi_env env;
    clpi_env_init(&env, NULL, NULL);
    clpi_str_init(&s, &env);
    clpi_str_puts(&s, "const a = 1");
    for (int k = 0; k < 100000; k++)
        clpi_str_puts(&s, " + 1");
    clpi_str_puts(&s, ";");
    parse_bytes(&p, s.text, s.n);
    cr_expect_eq(p.status, CLP_OK);
    done(&p);
    clpi_str_done(&s);
    clpi_env_done(&env);
}

Test(parse, shows_a_window_of_a_long_line)
{
    clpi_str s;
    parsed p;
    clpi_env env;
    clpi_env_init(&env, NULL, NULL);
    clpi_str_init(&s, &env);
    clpi_str_puts(&s, "const a = 1");
    for (int k = 0; k < 1000; k++)
        clpi_str_puts(&s, " + 1");
    clpi_str_puts(&s, " + ;");
    parse_bytes(&p, s.text, s.n);
    cr_expect_lt(strlen(clpi_error_text(&p.env)), 400);
    done(&p);
    clpi_str_done(&s);
    clpi_env_done(&env);
}

Test(parse, suggests_the_nearest_name)
{
    static const char *const names[] = { "maximum", "minimum", "x", "axis", "bm" };
    cr_expect_str_eq(clpi_nearest("maximun", names, 5), "maximum");
    cr_expect_str_eq(clpi_nearest("mniimum", names, 5), "minimum");
    cr_expect_str_eq(clpi_nearest("axes", names, 5), "axis");
    cr_expect_null(clpi_nearest("y", names, 5));
    cr_expect_null(clpi_nearest("something", names, 5));
    cr_expect_null(clpi_nearest("", names, 5));
}
