/* parse: the parser's state, shared by parse.c (files and declarations), parse_stmt.c and parse_expr.c.
 *
 * Every parse function returns NULL (or false) after an error. An error makes the parser panic: nothing more is said
 * until a list of statements, operands or declarations finds a place to go on.                                           */
#ifndef CLPI_PARSE_H
#define CLPI_PARSE_H

#include "text/tree.h"

typedef struct clpi_parser {
    clpi_diag         *diag;
    clpi_arena        *arena;
    const clpi_source *source;
    clpi_tokens        tokens;
    uint32_t           i;            /* the current token */
    int                nesting;
    bool               no_greater;   /* between < and >: > and >> end an expression */
    bool               panic;
    bool               gave_up;      /* nested too deeply, or out of memory: no use going on */
} clpi_parser;

/* Lexes; false: out of memory. */
bool clpi_parser_init(clpi_parser *p, clpi_diag *diag, clpi_arena *arena, const clpi_source *source);

static inline const clpi_token *clpi_peek(const clpi_parser *p) { return &p->tokens.items[p->i]; }
static inline bool clpi_at(const clpi_parser *p, clpi_token_kind kind) { return p->tokens.items[p->i].kind == kind; }
const clpi_token *clpi_peek_at(const clpi_parser *p, uint32_t ahead);
bool clpi_at_word(const clpi_parser *p, const char *word);           /* a name that means something here */
void clpi_next(clpi_parser *p);
bool clpi_take(clpi_parser *p, clpi_token_kind kind);                /* consumes it if it is next */
bool clpi_take_word(clpi_parser *p, const char *word);
bool clpi_expect(clpi_parser *p, clpi_token_kind kind, const char *after);   /* after: what stands before it, for the message */
bool clpi_expect_name(clpi_parser *p, const char *what, clpi_name *out_name);
void clpi_expected(clpi_parser *p, const char *what);                /* reports: expected `what`, got the current token */
bool clpi_deeper(clpi_parser *p);                                    /* one level of nesting; false: too many, reported */
static inline void clpi_shallower(clpi_parser *p) { p->nesting--; }

clpi_expr *clpi_parse_expr(clpi_parser *p);
/* expr, expr, ... up to the closing mark, which is consumed. */
bool clpi_parse_exprs(clpi_parser *p, clpi_token_kind close, clpi_exprs *out_exprs);
bool clpi_parse_bdims(clpi_parser *p, clpi_token_kind close, clpi_bdims *out_dims);
clpi_expr *clpi_parse_postfix(clpi_parser *p);
/* The text between the first byte of token `from` and the last of the token before the current one. */
const char *clpi_text_since(clpi_parser *p, uint32_t from);

bool clpi_parse_body(clpi_parser *p, clpi_stmts *out_stmts);         /* { statements } */
bool clpi_parse_stmts(clpi_parser *p, clpi_stmts *out_stmts);        /* up to `}` or `return`, which is not consumed */

#endif
