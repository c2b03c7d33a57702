/* lex: the bytes of a kernel text as tokens.
 * In: any bytes. Out: tokens with their places, ended by END; numbers and strings have their values.
 * Decides where words, numbers and operators end. A byte that begins no token is reported, once for each run of them.   */
#include "base/real.h"
#include "text/token.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct { const char *text; int level; } table[CLPI_N_TOKENS] = {
#define KEYWORD_ROW(NAME, word) [CLPI_T_##NAME] = { word, 0 },
    CLPI_KEYWORDS(KEYWORD_ROW)
#undef KEYWORD_ROW
#define MARK_ROW(NAME, mark, level) [CLPI_T_##NAME] = { mark, level },
    CLPI_MARKS(MARK_ROW)
#undef MARK_ROW
};

const char *clpi_token_text(clpi_token_kind kind)
{
    return table[kind].text;
}

int clpi_token_level(clpi_token_kind kind)
{
    return table[kind].level;
}

typedef struct lexer {
    clpi_diag  *diag;
    const char *text;
    uint32_t    n, at, line, line_start;
    bool        is_cut;
} lexer;

static int byte(const lexer *l, uint32_t ahead)
{
    return l->at + ahead < l->n ? (unsigned char)l->text[l->at + ahead] : 0;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int hex_digit(int c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static clpi_pos place(const lexer *l)
{
    return (clpi_pos){ l->line, l->at - l->line_start + 1 };
}

static void newline(lexer *l)
{
    l->at++;
    l->line++;
    l->line_start = l->at;
}

/* Skips blanks and comments. */
static void skip(lexer *l)
{
    for (;;) {
        int c = byte(l, 0);
        if (c == '\n') {
            newline(l);
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
            l->at++;
        } else if (c == '/' && byte(l, 1) == '/') {
            while (l->at < l->n && l->text[l->at] != '\n')
                l->at++;
        } else if (c == '/' && byte(l, 1) == '*') {
            clpi_pos start = place(l);
            l->at += 2;
            while (l->at < l->n && !(l->text[l->at] == '*' && byte(l, 1) == '/')) {
                if (l->text[l->at] == '\n')
                    newline(l);
                else
                    l->at++;
            }
            if (l->at >= l->n) {
                clpi_diag_add(l->diag, start, "this comment is not closed: expected `*/`");
                l->is_cut = true;
            }
            l->at = l->n - l->at < 2 ? l->n : l->at + 2;
        } else {
            return;
        }
    }
}

static const char *word(const lexer *l, uint32_t from)
{
    return clpi_arena_strndup(l->diag->arena, l->text + from, l->at - from);
}

static void lex_word(lexer *l, clpi_token *token)
{
    uint32_t from = l->at;
    while (is_letter(byte(l, 0)) || is_digit(byte(l, 0)))
        l->at++;
    token->kind = CLPI_T_NAME;
    token->text = word(l, from);
    if (!token->text)
        return;
    for (int kind = 0; kind < CLPI_N_TOKENS; kind++)
        if (table[kind].text && strcmp(table[kind].text, token->text) == 0)
            token->kind = (clpi_token_kind)kind;
    clp_dtype dtype = clp_dtype_from_name(token->text);
    if (dtype != CLP_DTYPE_NONE) {
        token->kind = CLPI_T_DTYPE;
        token->dtype = dtype;
    }
}

static void skip_digits(lexer *l)
{
    while (is_digit(byte(l, 0)) || byte(l, 0) == '_')
        l->at++;
}

/* Value of the digits from `from` to here; false: more than 64 bits. */
static bool integer_of(const lexer *l, uint32_t from, uint64_t base, uint64_t *out)
{
    *out = 0;
    for (uint32_t i = from; i < l->at; i++) {
        if (l->text[i] == '_')
            continue;
        uint64_t digit = (uint64_t)hex_digit((unsigned char)l->text[i]);
        if (*out > (UINT64_MAX - digit) / base)
            return false;
        *out = *out * base + digit;
    }
    return true;
}

static void lex_number(lexer *l, clpi_token *token)
{
    uint32_t from = l->at;
    bool fits = true;
    token->kind = CLPI_T_INT;
    if (byte(l, 0) == '0' && (byte(l, 1) == 'x' || byte(l, 1) == 'X')) {
        l->at += 2;
        uint32_t digits = l->at;
        while (hex_digit(byte(l, 0)) >= 0 || byte(l, 0) == '_')
            l->at++;
        if (l->at == digits)
            clpi_diag_add(l->diag, token->pos, "expected hexadecimal digits after `0x`");
        fits = integer_of(l, digits, 16, &token->integer);
    } else {
        skip_digits(l);
        if (byte(l, 0) == '.' && is_digit(byte(l, 1))) {
            token->kind = CLPI_T_REAL;
            l->at++;
            skip_digits(l);
        }
        uint32_t sign = byte(l, 1) == '+' || byte(l, 1) == '-';
        if ((byte(l, 0) == 'e' || byte(l, 0) == 'E') && is_digit(byte(l, 1 + sign))) {
            token->kind = CLPI_T_REAL;
            l->at += 1 + sign;
            skip_digits(l);
        }
        if (token->kind == CLPI_T_REAL) {
            (void)clpi_real_read(l->text + from, l->at - from, l->diag->arena, &token->real);
            fits = isfinite(token->real);
        } else {
            fits = integer_of(l, from, 10, &token->integer);
            if (byte(l, 0) == '.' && byte(l, 1) != '.') {
                clpi_diag_add(l->diag, place(l), "a float needs a digit after its point: %.*s.0",
                              (int)(l->at - from > 40 ? 40 : l->at - from), l->text + from);
                l->at++;
            }
        }
    }
    if (!fits)
        clpi_diag_add(l->diag, token->pos, token->kind == CLPI_T_INT ? "this integer does not fit 64 bits" : "this float is too large");
    if (is_letter(byte(l, 0))) {
        uint32_t suffix = l->at;
        while (is_letter(byte(l, 0)) || is_digit(byte(l, 0)))
            l->at++;
        token->suffix = word(l, suffix);
    }
}

static void lex_string(lexer *l, clpi_token *token)
{
    uint32_t from = ++l->at;
    while (l->at < l->n && l->text[l->at] != '"' && l->text[l->at] != '\n')
        l->at += l->text[l->at] == '\\' && l->at + 1 < l->n && l->text[l->at + 1] != '\n' ? 2 : 1;
    token->kind = CLPI_T_STRING;
    char *text = clpi_arena_strndup(l->diag->arena, l->text + from, l->at - from);
    token->text = text;
    if (byte(l, 0) == '"') {
        l->at++;
    } else {
        /* What it took of its line is missing behind it: nothing that follows is to be trusted. */
        clpi_diag_add(l->diag, token->pos, "this string is not closed: expected `\"` before the end of the line");
        token->kind = CLPI_T_BAD;
        l->at = l->n;
        l->is_cut = true;
        return;
    }
    if (!text)
        return;

    size_t n = 0;
    for (uint32_t i = from; i + 1 < l->at; i++) {
        char c = l->text[i];
        if (c == '\\') {
            char escape = l->text[++i];
            c = escape == 'n' ? '\n' : escape == 't' ? '\t' : escape;
            if (!strchr("nt\"\\", escape) || escape == 0)
                clpi_diag_add(l->diag, (clpi_pos){ token->pos.line, i - l->line_start },
                              "unknown escape in a string: expected \\n, \\t, \\\" or \\\\");
        } else if ((unsigned char)c < ' ' && c != '\t') {
            clpi_diag_add(l->diag, (clpi_pos){ token->pos.line, i - l->line_start + 1 },
                          "byte 0x%02x cannot stand in a string", (unsigned)(unsigned char)c);
            c = '?';
        }
        text[n++] = c;
    }
    text[n] = 0;
}

static void lex_mark(lexer *l, clpi_token *token)
{
    size_t longest = 0;
    for (int kind = 0; kind < CLPI_N_TOKENS; kind++) {
        const char *mark = table[kind].text;
        size_t n = mark ? strlen(mark) : 0;
        if (n > longest && n <= l->n - l->at && memcmp(l->text + l->at, mark, n) == 0) {
            longest = n;
            token->kind = (clpi_token_kind)kind;
        }
    }
    if (longest > 0) {
        l->at += (uint32_t)longest;
        if (clpi_token_level(token->kind) >= 4 && byte(l, 0) == '=' && byte(l, 1) != '=') {
            token->op = token->kind;
            token->kind = CLPI_T_OP_ASSIGN;
            l->at++;
        }
        return;
    }

    unsigned c = (unsigned)byte(l, 0);
    if (c == '.')
        clpi_diag_add(l->diag, token->pos, "unexpected `.`: a float needs a digit before its point");
    else if (c == '?')
        clpi_diag_add(l->diag, token->pos, "there is no `?:`; use where(condition, a, b)");
    else if (c > ' ' && c < 0x7f)
        clpi_diag_add(l->diag, token->pos, "unexpected `%c`", (int)c);
    else
        clpi_diag_add(l->diag, token->pos, "unexpected byte 0x%02x", c);
    /* A run of such bytes is one mistake. */
    l->at++;
    while (l->at < l->n && (byte(l, 0) >= 0x7f || (byte(l, 0) < ' ' && !strchr("\n\t\r\f", byte(l, 0))) || byte(l, 0) == 0))
        l->at++;
    token->kind = CLPI_T_BAD;
}

bool clpi_lex(clpi_diag *diag, const clpi_source *source, clpi_tokens *out_tokens)
{
    *out_tokens = (clpi_tokens){ 0 };
    lexer l = { .diag = diag, .text = source->text, .n = (uint32_t)source->n_bytes, .line = 1 };
    if (source->n_bytes > INT32_MAX) {
        clpi_diag_add(diag, (clpi_pos){ 0, 0 }, "the kernel text is longer than 2 GiB");
        l.n = 0;
    }
    for (;;) {
        clpi_pos behind = place(&l);
        uint32_t at_end = l.at;
        skip(&l);
        clpi_token token = { .kind = CLPI_T_END, .pos = place(&l), .at = l.at };
        if (l.at >= l.n) {               /* what is missing is missing behind the last token */
            token.pos = behind;
            token.at = at_end;
            l.at = at_end;
            l.n = at_end;
        }
        int c = byte(&l, 0);
        if (l.at >= l.n)
            ;
        else if (is_letter(c))
            lex_word(&l, &token);
        else if (is_digit(c))
            lex_number(&l, &token);
        else if (c == '"')
            lex_string(&l, &token);
        else
            lex_mark(&l, &token);
        token.n = l.at - token.at;
        if (diag->arena->failed || !CLPI_PUSH(diag->arena, out_tokens, token))
            return false;
        out_tokens->is_cut = l.is_cut;
        if (token.kind == CLPI_T_END)
            return true;
    }
}
