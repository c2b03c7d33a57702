/* parse_stmt: statements.
 * In: tokens. Out: trees. Decides where to go on after an error: behind the next `;`, or before the next statement or
 * `}` of the same depth.                                                                                                 */
#include "text/parse.h"

#include <string.h>

static clpi_stmt *new_stmt(clpi_parser *p, clpi_stmt_kind kind)
{
    clpi_stmt *s = CLPI_NEW(p->arena, clpi_stmt);
    if (!s) {
        p->panic = p->gave_up = true;
        return NULL;
    }
    s->kind = kind;
    s->pos = clpi_peek(p)->pos;
    return s;
}

static clpi_expr *parse_condition(clpi_parser *p, const char *of)
{
    if (!clpi_expect(p, CLPI_T_OPEN_PAREN, of))
        return NULL;
    clpi_expr *e = clpi_parse_expr(p);
    return e && clpi_expect(p, CLPI_T_CLOSE_PAREN, "the condition") ? e : NULL;
}

static bool parse_name_list(clpi_parser *p, clpi_names *out_names)
{
    do {
        clpi_name name;
        if (!clpi_expect_name(p, "a name", &name))
            return false;
        if (!CLPI_PUSH(p->arena, out_names, name)) {
            p->panic = p->gave_up = true;
            return false;
        }
    } while (clpi_take(p, CLPI_T_COMMA));
    return true;
}

static clpi_stmt *parse_let(clpi_parser *p)
{
    clpi_stmt *s = new_stmt(p, clpi_at(p, CLPI_T_LET) ? CLPI_ST_LET : CLPI_ST_VAR);
    if (!s)
        return NULL;
    clpi_next(p);
    if (!parse_name_list(p, &s->names) || !clpi_expect(p, CLPI_T_ASSIGN, "the name") || !(s->value = clpi_parse_expr(p)))
        return NULL;
    return clpi_expect(p, CLPI_T_SEMICOLON, "the expression") ? s : NULL;
}

static clpi_stmt *parse_if(clpi_parser *p)
{
    clpi_stmt *s = new_stmt(p, CLPI_ST_IF);
    if (!s)
        return NULL;
    clpi_next(p);
    if (!(s->value = parse_condition(p, "`if`")) || !clpi_parse_body(p, &s->body))
        return NULL;
    if (!clpi_take(p, CLPI_T_ELSE))
        return s;
    if (!clpi_at(p, CLPI_T_IF))
        return clpi_parse_body(p, &s->other) ? s : NULL;
    if (!clpi_deeper(p))
        return NULL;
    clpi_stmt *next = parse_if(p);
    clpi_shallower(p);
    if (next && !CLPI_PUSH(p->arena, &s->other, next))
        p->panic = p->gave_up = true;
    return next && !p->panic ? s : NULL;
}

static clpi_stmt *parse_for(clpi_parser *p)
{
    clpi_stmt *s = new_stmt(p, clpi_at(p, CLPI_T_STATIC) ? CLPI_ST_STATIC_FOR : CLPI_ST_FOR);
    if (!s)
        return NULL;
    clpi_take(p, CLPI_T_STATIC);
    clpi_name index;
    if (!clpi_expect(p, CLPI_T_FOR, "`static`") || !clpi_expect(p, CLPI_T_OPEN_PAREN, "`for`") ||
        !clpi_expect_name(p, "the name of the index", &index) || !clpi_expect(p, CLPI_T_IN, "the index"))
        return NULL;
    if (!CLPI_PUSH(p->arena, &s->names, index))
        return NULL;
    if (!(s->lo = clpi_parse_expr(p)) || !clpi_expect(p, CLPI_T_DOTS, "the lower bound") || !(s->hi = clpi_parse_expr(p)))
        return NULL;
    if (clpi_take_word(p, "step") && !(s->step = clpi_parse_expr(p)))
        return NULL;
    return clpi_expect(p, CLPI_T_CLOSE_PAREN, "the bounds") && clpi_parse_body(p, &s->body) ? s : NULL;
}

static clpi_stmt *parse_while(clpi_parser *p)
{
    clpi_stmt *s = new_stmt(p, CLPI_ST_WHILE);
    if (!s)
        return NULL;
    clpi_next(p);
    return (s->value = parse_condition(p, "`while`")) && clpi_parse_body(p, &s->body) ? s : NULL;
}

static bool is_place(const clpi_expr *e)
{
    return e->kind == CLPI_EX_NAME || (e->kind == CLPI_EX_SUBSCRIPT && e->first->kind == CLPI_EX_NAME);
}

/* A call, or place = value. */
static clpi_stmt *parse_simple(clpi_parser *p)
{
    clpi_stmt *s = new_stmt(p, CLPI_ST_CALL);
    clpi_expr *e = s ? clpi_parse_postfix(p) : NULL;
    if (!e)
        return NULL;
    if (!clpi_at(p, CLPI_T_ASSIGN) && !clpi_at(p, CLPI_T_OP_ASSIGN)) {
        s->value = e;
        if (e->kind != CLPI_EX_CALL) {
            clpi_expected(p, is_place(e) ? "`=` or an assignment such as `+=`" : "a statement: an expression alone has no effect");
            return NULL;
        }
        return clpi_expect(p, CLPI_T_SEMICOLON, "the call") ? s : NULL;
    }
    if (!is_place(e)) {
        clpi_diag_add(p->diag, e->pos, "only a `var` or the subscripted elements of an operand can be assigned to");
        p->panic = true;
        return NULL;
    }
    s->kind = CLPI_ST_ASSIGN;
    s->place = e;
    s->op = clpi_at(p, CLPI_T_OP_ASSIGN) ? clpi_peek(p)->op : CLPI_T_END;
    s->pos = e->pos;
    clpi_next(p);
    return (s->value = clpi_parse_expr(p)) && clpi_expect(p, CLPI_T_SEMICOLON, "the expression") ? s : NULL;
}

static clpi_stmt *parse_stmt(clpi_parser *p)
{
    switch ((int)clpi_peek(p)->kind) {
    case CLPI_T_LET: case CLPI_T_VAR: return parse_let(p);
    case CLPI_T_IF: return parse_if(p);
    case CLPI_T_FOR: case CLPI_T_STATIC: return parse_for(p);
    case CLPI_T_WHILE: return parse_while(p);
    case CLPI_T_ELSE:
        clpi_expected(p, "a statement: `else` stands behind the `}` of an `if`");
        return NULL;
    case CLPI_T_NAME: case CLPI_T_OPEN_PAREN: case CLPI_T_OPEN_SQUARE: case CLPI_T_INT: case CLPI_T_REAL: case CLPI_T_DTYPE:
        return parse_simple(p);
    default:
        clpi_expected(p, "a statement");
        return NULL;
    }
}

static bool begins_declaration(clpi_token_kind kind)
{
    return kind == CLPI_T_KERNEL || kind == CLPI_T_FN || kind == CLPI_T_CONST;
}

/* To where the next statement may begin. */
static void recover(clpi_parser *p)
{
    int depth = 0;
    p->panic = false;
    for (;; clpi_next(p)) {
        clpi_token_kind kind = clpi_peek(p)->kind;
        if (kind == CLPI_T_END || begins_declaration(kind))
            return;
        if (kind == CLPI_T_OPEN_BRACE) {
            depth++;
        } else if (kind == CLPI_T_CLOSE_BRACE) {
            if (depth == 0)
                return;
            if (--depth == 0 && clpi_peek_at(p, 1)->kind != CLPI_T_ELSE) {
                clpi_next(p);
                return;
            }
        } else if (depth == 0 && kind == CLPI_T_SEMICOLON) {
            clpi_next(p);
            return;
        }
    }
}

bool clpi_parse_stmts(clpi_parser *p, clpi_stmts *out_stmts)
{
    *out_stmts = (clpi_stmts){ 0 };
    while (!clpi_at(p, CLPI_T_CLOSE_BRACE) && !clpi_at(p, CLPI_T_RETURN) && !clpi_at(p, CLPI_T_END) &&
           !begins_declaration(clpi_peek(p)->kind)) {
        uint32_t from = p->i;
        clpi_stmt *s = parse_stmt(p);
        if (s && !CLPI_PUSH(p->arena, out_stmts, s))
            p->gave_up = true;
        if (p->gave_up)
            return false;
        if (p->panic) {
            recover(p);
            if (p->i == from)
                clpi_next(p);
        }
    }
    return true;
}

bool clpi_parse_body(clpi_parser *p, clpi_stmts *out_stmts)
{
    if (!clpi_expect(p, CLPI_T_OPEN_BRACE, NULL) || !clpi_deeper(p))
        return false;
    bool ok = clpi_parse_stmts(p, out_stmts);
    while (ok && clpi_at(p, CLPI_T_RETURN)) {        /* the statements behind it are looked at all the same */
        clpi_stmts rest;
        clpi_expected(p, "`}`: `return` stands at the end of a `fn` only");
        recover(p);
        ok = clpi_parse_stmts(p, &rest);
    }
    clpi_shallower(p);
    return ok && clpi_expect(p, CLPI_T_CLOSE_BRACE, NULL);
}
