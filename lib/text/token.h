/* token: what the lexer hands to the parser. */
#ifndef CLPI_TOKEN_H
#define CLPI_TOKEN_H

#include "text/diag.h"

/* X(NAME, word) */
#define CLPI_KEYWORDS(X)                                                                                               \
    X(KERNEL, "kernel") X(FN, "fn") X(CONST, "const") X(LET, "let") X(VAR, "var") X(IF, "if") X(ELSE, "else")          \
    X(FOR, "for") X(WHILE, "while") X(STATIC, "static") X(IN, "in") X(RETURN, "return") X(TRUE, "true")                \
    X(FALSE, "false") X(NONE, "None") X(INF, "inf") X(NAN, "nan")

/* X(NAME, text, level): level is the precedence as a binary operator, loosest 1; 0: none. */
#define CLPI_MARKS(X)                                                                                                  \
    X(OR_OR, "||", 1) X(AND_AND, "&&", 2)                                                                              \
    X(EQ, "==", 3) X(NE, "!=", 3) X(LE, "<=", 3) X(GE, ">=", 3) X(LT, "<", 3) X(GT, ">", 3)                            \
    X(OR, "|", 4) X(XOR, "^", 5) X(AND, "&", 6) X(SHL, "<<", 7) X(SHR, ">>", 7) X(PLUS, "+", 8) X(MINUS, "-", 8)       \
    X(STAR, "*", 9) X(SLASH, "/", 9) X(PERCENT, "%", 9)                                                                \
    X(NOT, "!", 0) X(TILDE, "~", 0) X(ASSIGN, "=", 0) X(ARROW, "->", 0) X(DOTS, "..", 0) X(ELLIPSIS, "...", 0)         \
    X(COMMA, ",", 0) X(SEMICOLON, ";", 0) X(COLON, ":", 0) X(OPEN_PAREN, "(", 0) X(CLOSE_PAREN, ")", 0)                \
    X(OPEN_SQUARE, "[", 0) X(CLOSE_SQUARE, "]", 0) X(OPEN_BRACE, "{", 0) X(CLOSE_BRACE, "}", 0)

enum { CLPI_N_LEVELS = 9 };

typedef enum clpi_token_kind {
    CLPI_T_END,
    CLPI_T_BAD,             /* reported already */
    CLPI_T_NAME,
    CLPI_T_DTYPE,
    CLPI_T_INT,
    CLPI_T_REAL,
    CLPI_T_STRING,
    CLPI_T_OP_ASSIGN,       /* += and the like; op says which */
#define CLPI_KEYWORD_ENUM(NAME, word) CLPI_T_##NAME,
    CLPI_KEYWORDS(CLPI_KEYWORD_ENUM)
#undef CLPI_KEYWORD_ENUM
#define CLPI_MARK_ENUM(NAME, text, level) CLPI_T_##NAME,
    CLPI_MARKS(CLPI_MARK_ENUM)
#undef CLPI_MARK_ENUM
    CLPI_N_TOKENS
} clpi_token_kind;

typedef struct clpi_token {
    clpi_token_kind kind, op;
    clpi_pos        pos;
    uint32_t        at, n;           /* bytes of the source */
    union {
        const char *text;            /* NAME, STRING (escapes resolved) */
        uint64_t    integer;
        double      real;
        clp_dtype   dtype;
    };
    const char     *suffix;          /* INT, REAL: the name written against the number, or NULL */
} clpi_token;

typedef struct clpi_tokens {
    clpi_token *items;
    uint32_t    n, cap;
    bool        is_cut;             /* a comment or string without end took the rest of the text: what is missing then is no news */
} clpi_tokens;

/* All tokens of the source, END last. Errors go to diag; false: out of memory. */
bool clpi_lex(clpi_diag *diag, const clpi_source *source, clpi_tokens *out_tokens);

const char *clpi_token_text(clpi_token_kind kind);     /* "kernel", "+"; NULL for kinds without a fixed text */
int         clpi_token_level(clpi_token_kind kind);

#endif
