/* lex: bytes to tokens. */
#include "base/arena.h"
#include "support/support.h"
#include "text/token.h"

typedef struct lexed {
    clpi_env    env;
    clpi_arena  arena;
    clpi_source source;
    clpi_diag   diag;
    clpi_tokens tokens;
} lexed;

static void lex_bytes(lexed *l, const char *text, size_t n)
{
    *l = (lexed){ .source = { "t.plk", text, n } };
    clpi_env_init(&l->env, NULL, NULL);
    clpi_arena_init(&l->arena, &l->env);
    clpi_diag_init(&l->diag, &l->env, &l->arena, &l->source);
    cr_assert(clpi_lex(&l->diag, &l->source, &l->tokens));
    cr_assert_eq(l->tokens.items[l->tokens.n - 1].kind, CLPI_T_END);
}

static void lex(lexed *l, const char *text)
{
    lex_bytes(l, text, strlen(text));
}

static void done(lexed *l)
{
    clpi_arena_done(&l->arena);
    clpi_env_done(&l->env);
}

static void expect_kinds(const char *text, const clpi_token_kind *kinds, uint32_t n)
{
    lexed l;
    lex(&l, text);
    cr_expect_eq(l.diag.n_errors, 0, "%s", text);
    cr_assert_eq(l.tokens.n, n + 1, "%s: %u tokens", text, l.tokens.n - 1);
    for (uint32_t i = 0; i < n; i++)
        cr_expect_eq(l.tokens.items[i].kind, kinds[i], "%s: token %u", text, i);
    done(&l);
}

#define KINDS(text, ...)                                                                                               \
    expect_kinds(text, (const clpi_token_kind[]){ __VA_ARGS__ }, sizeof((const clpi_token_kind[]){ __VA_ARGS__ }) / sizeof(clpi_token_kind))

Test(lex, tells_a_range_from_a_float)
{
    KINDS("0..n", CLPI_T_INT, CLPI_T_DOTS, CLPI_T_NAME);
    KINDS("0 .. 4", CLPI_T_INT, CLPI_T_DOTS, CLPI_T_INT);
    KINDS("x[...]", CLPI_T_NAME, CLPI_T_OPEN_SQUARE, CLPI_T_ELLIPSIS, CLPI_T_CLOSE_SQUARE);
    KINDS("1.5", CLPI_T_REAL);
    KINDS("1e3", CLPI_T_REAL);
    KINDS("1.5e-3", CLPI_T_REAL);
}

Test(lex, takes_the_longest_operator)
{
    KINDS("a<<b>>c", CLPI_T_NAME, CLPI_T_SHL, CLPI_T_NAME, CLPI_T_SHR, CLPI_T_NAME);
    KINDS("a<=b<c", CLPI_T_NAME, CLPI_T_LE, CLPI_T_NAME, CLPI_T_LT, CLPI_T_NAME);
    KINDS("!a!=b", CLPI_T_NOT, CLPI_T_NAME, CLPI_T_NE, CLPI_T_NAME);
    KINDS("a&&b&c", CLPI_T_NAME, CLPI_T_AND_AND, CLPI_T_NAME, CLPI_T_AND, CLPI_T_NAME);
    KINDS("axis=-1", CLPI_T_NAME, CLPI_T_ASSIGN, CLPI_T_MINUS, CLPI_T_INT);
    KINDS("(i) -> (i)", CLPI_T_OPEN_PAREN, CLPI_T_NAME, CLPI_T_CLOSE_PAREN, CLPI_T_ARROW, CLPI_T_OPEN_PAREN, CLPI_T_NAME, CLPI_T_CLOSE_PAREN);
}

Test(lex, knows_assignments_with_an_operator)
{
    static const struct { const char *text; clpi_token_kind op; } rows[] = {
        { "+=", CLPI_T_PLUS }, { "-=", CLPI_T_MINUS }, { "*=", CLPI_T_STAR }, { "/=", CLPI_T_SLASH }, { "%=", CLPI_T_PERCENT },
        { "&=", CLPI_T_AND }, { "|=", CLPI_T_OR }, { "^=", CLPI_T_XOR }, { "<<=", CLPI_T_SHL }, { ">>=", CLPI_T_SHR },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lexed l;
        lex(&l, rows[i].text);
        cr_expect_eq(l.tokens.items[0].kind, CLPI_T_OP_ASSIGN, "%s", rows[i].text);
        cr_expect_eq(l.tokens.items[0].op, rows[i].op, "%s", rows[i].text);
        done(&l);
    }
}

Test(lex, reserves_words_and_dtypes_and_nothing_else)
{
    KINDS("kernel fn const let var if else for while static in return true false None inf nan",
          CLPI_T_KERNEL, CLPI_T_FN, CLPI_T_CONST, CLPI_T_LET, CLPI_T_VAR, CLPI_T_IF, CLPI_T_ELSE, CLPI_T_FOR, CLPI_T_WHILE, CLPI_T_STATIC,
          CLPI_T_IN, CLPI_T_RETURN, CLPI_T_TRUE, CLPI_T_FALSE, CLPI_T_NONE, CLPI_T_INF, CLPI_T_NAN);
    KINDS("f32 bf16 i4 f8e4m3 bool", CLPI_T_DTYPE, CLPI_T_DTYPE, CLPI_T_DTYPE, CLPI_T_DTYPE, CLPI_T_DTYPE);
    KINDS("out block at pad grid arbitrary tune _ f33", CLPI_T_NAME, CLPI_T_NAME, CLPI_T_NAME, CLPI_T_NAME, CLPI_T_NAME, CLPI_T_NAME,
          CLPI_T_NAME, CLPI_T_NAME, CLPI_T_NAME);
}

Test(lex, reads_integers)
{
    static const struct { const char *text; uint64_t value; const char *suffix; } rows[] = {
        { "0", 0, NULL }, { "42", 42, NULL }, { "1_000_000", 1000000, NULL }, { "0x2a", 42, NULL }, { "0XFF_FF", 65535, NULL },
        { "18446744073709551615", UINT64_MAX, NULL }, { "0xffffffffffffffff", UINT64_MAX, NULL },
        { "1i8", 1, "i8" }, { "0xffffffffu32", 0xffffffff, "u32" }, { "3T", 3, "T" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lexed l;
        lex(&l, rows[i].text);
        const clpi_token *t = &l.tokens.items[0];
        cr_expect_eq(l.tokens.n, 2, "%s", rows[i].text);
        cr_expect(t->kind == CLPI_T_INT && t->integer == rows[i].value, "%s", rows[i].text);
        cr_expect((t->suffix == NULL) == (rows[i].suffix == NULL) && (!t->suffix || !strcmp(t->suffix, rows[i].suffix)), "%s", rows[i].text);
        done(&l);
    }
}

Test(lex, reads_floats)
{
    static const struct { const char *text; double value; const char *suffix; } rows[] = {
        { "0.5", 0.5, NULL }, { "1e-3", 1e-3, NULL }, { "1.5e+3", 1500, NULL }, { "1_0.2_5", 10.25, NULL }, { "0.5bf16", 0.5, "bf16" },
        { "1e5f32", 1e5, "f32" }, { "0.1", 0.1, NULL }, { "1.7976931348623157e308", 1.7976931348623157e308, NULL }, { "5e-324", 5e-324, NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lexed l;
        lex(&l, rows[i].text);
        const clpi_token *t = &l.tokens.items[0];
        cr_expect(l.tokens.n == 2 && t->kind == CLPI_T_REAL && t->real == rows[i].value, "%s", rows[i].text);
        cr_expect((t->suffix == NULL) == (rows[i].suffix == NULL) && (!t->suffix || !strcmp(t->suffix, rows[i].suffix)), "%s", rows[i].text);
        done(&l);
    }
}

Test(lex, resolves_escapes)
{
    lexed l;
    lex(&l, "\"a\\n\\t\\\"\\\\b\"");
    cr_assert_eq(l.tokens.items[0].kind, CLPI_T_STRING);
    cr_assert_str_eq(l.tokens.items[0].text, "a\n\t\"\\b");
    done(&l);
}

Test(lex, skips_comments_and_counts_lines)
{
    lexed l;
    lex(&l, "a // b\n/* c\n d */ e\r\n\tf");
    cr_assert_eq(l.tokens.n, 4);
    cr_expect(l.tokens.items[0].pos.line == 1 && l.tokens.items[0].pos.column == 1);
    cr_expect(l.tokens.items[1].pos.line == 3 && l.tokens.items[1].pos.column == 7);
    cr_expect(l.tokens.items[2].pos.line == 4 && l.tokens.items[2].pos.column == 2);
    done(&l);
}

Test(lex, tells_what_is_wrong)
{
    static const struct { const char *text, *error; } rows[] = {
        { "18446744073709551616", "this integer does not fit 64 bits" },
        { "0x1_0000_0000_0000_0000", "this integer does not fit 64 bits" },
        { "1e999", "this float is too large" },
        { "0x", "expected hexadecimal digits after `0x`" },
        { "1.", "a float needs a digit after its point: 1.0" },
        { ".5", "unexpected `.`: a float needs a digit before its point" },
        { "a ? b", "there is no `?:`; use where(condition, a, b)" },
        { "a @ b", "unexpected `@`" },
        { "\xc3\xb6", "unexpected byte 0xc3" },
        { "\"a", "this string is not closed: expected `\"` before the end of the line" },
        { "\"\\q\"", "unknown escape in a string: expected \\n, \\t, \\\" or \\\\" },
        { "/* a", "this comment is not closed: expected `*/`" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lexed l;
        lex(&l, rows[i].text);
        cr_expect_eq(l.diag.n_errors, 1, "%s: %d errors", rows[i].text, l.diag.n_errors);
        if (l.diag.n_errors > 0)
            cr_expect_str_eq(l.diag.errors[0].text, rows[i].error);
        done(&l);
    }
}

Test(lex, takes_any_bytes)
{
    uint64_t state = 7;
    for (int round = 0; round < 2000; round++) {
        char bytes[64];
        size_t n = (size_t)(random_next(&state) % sizeof bytes);
        for (size_t i = 0; i < n; i++)
            bytes[i] = (char)random_next(&state);
        lexed l;
        lex_bytes(&l, bytes, n);
        cr_assert_leq(l.tokens.n, n + 1);
        done(&l);
    }
}
