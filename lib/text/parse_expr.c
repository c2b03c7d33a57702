/* parse_expr: expressions, subscripts and block dimensions.
 * In: tokens. Out: trees. Decides precedence and what an expression may begin with; knows nothing of what names mean.   */
#include "text/parse.h"

#include <math.h>
#include <string.h>

static clpi_expr *new_expr(clpi_parser *p, clpi_expr_kind kind, clpi_pos pos)
{
    clpi_expr *e = CLPI_NEW(p->arena, clpi_expr);
    if (!e) {
        p->panic = p->gave_up = true;
        return NULL;
    }
    e->kind = kind;
    e->pos = pos;
    return e;
}

/* false: out of memory. */
static bool kept(clpi_parser *p, bool pushed)
{
    if (!pushed)
        p->panic = p->gave_up = true;
    return pushed;
}

bool clpi_parse_exprs(clpi_parser *p, clpi_token_kind close, clpi_exprs *out_exprs)
{
    bool no_greater = p->no_greater;
    p->no_greater = false;
    *out_exprs = (clpi_exprs){ 0 };
    while (!p->panic && !clpi_at(p, close)) {
        clpi_expr *e = clpi_parse_expr(p);
        if (!e || !kept(p, CLPI_PUSH(p->arena, out_exprs, e)) || !clpi_take(p, CLPI_T_COMMA))
            break;
    }
    p->no_greater = no_greater;
    return !p->panic && clpi_expect(p, close, NULL);
}

/* ---- Subscripts -------------------------------------------------------------------------------------------------- */

static bool parse_ds(clpi_parser *p, clpi_sub_expr *sub)
{
    sub->kind = CLPI_SUBSCRIPT_DS;
    clpi_next(p);
    clpi_next(p);
    clpi_exprs args;
    if (!clpi_parse_exprs(p, CLPI_T_CLOSE_PAREN, &args))
        return false;
    if (args.n < 2 || args.n > 3) {
        clpi_diag_add(p->diag, sub->pos, "`ds` takes a start, a size and perhaps a stride, got %u arguments", args.n);
        p->panic = true;
        return false;
    }
    sub->a = args.items[0];
    sub->b = args.items[1];
    sub->c = args.n == 3 ? args.items[2] : NULL;
    return true;
}

static bool at_slice_end(const clpi_parser *p)
{
    return clpi_at(p, CLPI_T_COLON) || clpi_at(p, CLPI_T_COMMA) || clpi_at(p, CLPI_T_CLOSE_SQUARE);
}

static bool parse_sub(clpi_parser *p, clpi_sub_expr *sub)
{
    *sub = (clpi_sub_expr){ .kind = CLPI_SUBSCRIPT_AT, .pos = clpi_peek(p)->pos };
    if (clpi_take(p, CLPI_T_ELLIPSIS)) {
        sub->kind = CLPI_SUBSCRIPT_ELLIPSIS;
        return true;
    }
    if (clpi_take(p, CLPI_T_NONE)) {
        sub->kind = CLPI_SUBSCRIPT_NONE;
        return true;
    }
    if (clpi_at_word(p, "ds") && clpi_peek_at(p, 1)->kind == CLPI_T_OPEN_PAREN)
        return parse_ds(p, sub);
    if (!clpi_at(p, CLPI_T_COLON) && !(sub->a = clpi_parse_expr(p)))
        return false;
    if (!clpi_take(p, CLPI_T_COLON))
        return true;
    sub->kind = CLPI_SUBSCRIPT_SLICE;
    if (!at_slice_end(p) && !(sub->b = clpi_parse_expr(p)))
        return false;
    return !clpi_take(p, CLPI_T_COLON) || at_slice_end(p) || (sub->c = clpi_parse_expr(p));
}

static clpi_expr *parse_subscript(clpi_parser *p, clpi_expr *of)
{
    clpi_expr *e = new_expr(p, CLPI_EX_SUBSCRIPT, of->pos);
    if (!e)
        return NULL;
    e->first = of;
    clpi_next(p);
    bool no_greater = p->no_greater;
    p->no_greater = false;
    do {
        clpi_sub_expr sub;
        if (clpi_at(p, CLPI_T_CLOSE_SQUARE))
            break;
        if (!parse_sub(p, &sub) || !kept(p, CLPI_PUSH(p->arena, &e->subs, sub)))
            return NULL;
    } while (clpi_take(p, CLPI_T_COMMA));
    p->no_greater = no_greater;
    return clpi_expect(p, CLPI_T_CLOSE_SQUARE, "the subscripts") ? e : NULL;
}

/* ---- Primaries --------------------------------------------------------------------------------------------------- */

static bool parse_arg(clpi_parser *p, clpi_arg *arg)
{
    const clpi_token *t = clpi_peek(p);
    *arg = (clpi_arg){ .pos = t->pos };
    if (t->kind == CLPI_T_NAME && clpi_peek_at(p, 1)->kind == CLPI_T_ASSIGN) {
        arg->name = t->text;
        clpi_next(p);
        clpi_next(p);
        t = clpi_peek(p);
    }
    if (t->kind != CLPI_T_STRING)
        return (arg->value = clpi_parse_expr(p)) != NULL;
    if (!(arg->value = new_expr(p, CLPI_EX_STRING, t->pos)))
        return false;
    arg->value->name = t->text;
    clpi_next(p);
    return true;
}

static clpi_expr *parse_call(clpi_parser *p)
{
    clpi_expr *e = new_expr(p, CLPI_EX_CALL, clpi_peek(p)->pos);
    if (!e)
        return NULL;
    e->name = clpi_peek(p)->text;
    clpi_next(p);
    clpi_next(p);
    bool no_greater = p->no_greater, was_named = false;
    p->no_greater = false;
    while (!clpi_at(p, CLPI_T_CLOSE_PAREN)) {
        clpi_arg arg;
        if (!parse_arg(p, &arg) || !kept(p, CLPI_PUSH(p->arena, &e->args, arg)))
            return NULL;
        if (was_named && !arg.name)
            clpi_diag_add(p->diag, arg.pos, "a positional argument stands before the named ones");
        was_named = was_named || arg.name;
        if (!clpi_take(p, CLPI_T_COMMA))
            break;
    }
    p->no_greater = no_greater;
    return clpi_expect(p, CLPI_T_CLOSE_PAREN, "the arguments") ? e : NULL;
}

/* ( expr ) or ( expr , ... ) */
static clpi_expr *parse_parenthesised(clpi_parser *p)
{
    clpi_pos pos = clpi_peek(p)->pos;
    clpi_next(p);
    bool no_greater = p->no_greater;
    p->no_greater = false;
    clpi_expr *e = clpi_parse_expr(p);
    p->no_greater = no_greater;
    if (!e)
        return NULL;
    if (!clpi_at(p, CLPI_T_COMMA))
        return clpi_expect(p, CLPI_T_CLOSE_PAREN, NULL) ? e : NULL;
    clpi_next(p);
    clpi_expr *tuple = new_expr(p, CLPI_EX_TUPLE, pos);
    clpi_exprs rest;
    if (!tuple || !kept(p, CLPI_PUSH(p->arena, &tuple->items, e)) || !clpi_parse_exprs(p, CLPI_T_CLOSE_PAREN, &rest))
        return NULL;
    for (uint32_t i = 0; i < rest.n; i++)
        if (!kept(p, CLPI_PUSH(p->arena, &tuple->items, rest.items[i])))
            return NULL;
    return tuple;
}

static clpi_expr *parse_literal(clpi_parser *p)
{
    const clpi_token *t = clpi_peek(p);
    clpi_expr *e = new_expr(p, CLPI_EX_TRUTH, t->pos);
    if (!e)
        return NULL;
    e->name = t->suffix;
    switch ((int)t->kind) {
    case CLPI_T_INT: e->kind = CLPI_EX_INT; e->integer = t->integer; break;
    case CLPI_T_REAL: e->kind = CLPI_EX_REAL; e->real = t->real; break;
    case CLPI_T_INF: e->kind = CLPI_EX_REAL; e->real = (double)INFINITY; break;
    case CLPI_T_NAN: e->kind = CLPI_EX_REAL; e->real = (double)NAN; break;
    case CLPI_T_DTYPE: e->kind = CLPI_EX_DTYPE; e->dtype = t->dtype; break;
    case CLPI_T_NAME: e->kind = CLPI_EX_NAME; e->name = t->text; break;
    default: e->integer = t->kind == CLPI_T_TRUE; break;
    }
    clpi_next(p);
    return e;
}

static clpi_expr *parse_primary(clpi_parser *p)
{
    switch ((int)clpi_peek(p)->kind) {
    case CLPI_T_NAME:
        if (clpi_peek_at(p, 1)->kind == CLPI_T_OPEN_PAREN)
            return parse_call(p);
        return parse_literal(p);
    case CLPI_T_INT: case CLPI_T_REAL: case CLPI_T_INF: case CLPI_T_NAN: case CLPI_T_TRUE: case CLPI_T_FALSE:
    case CLPI_T_DTYPE:
        return parse_literal(p);
    case CLPI_T_OPEN_PAREN:
        return parse_parenthesised(p);
    case CLPI_T_OPEN_SQUARE: {
        clpi_expr *list = new_expr(p, CLPI_EX_LIST, clpi_peek(p)->pos);
        if (!list)
            return NULL;
        clpi_next(p);
        return clpi_parse_exprs(p, CLPI_T_CLOSE_SQUARE, &list->items) ? list : NULL;
    }
    case CLPI_T_STRING:
        clpi_expected(p, "an expression (strings stand only in `print` and `assert`)");
        return NULL;
    default:
        clpi_expected(p, "an expression");
        return NULL;
    }
}

/* ---- Operators --------------------------------------------------------------------------------------------------- */

clpi_expr *clpi_parse_postfix(clpi_parser *p)
{
    if (!clpi_deeper(p))
        return NULL;
    clpi_expr *e = parse_primary(p);
    int levels = 1;
    for (; e && clpi_at(p, CLPI_T_OPEN_SQUARE) && clpi_deeper(p); levels++)
        e = parse_subscript(p, e);
    p->nesting -= levels;
    return p->panic ? NULL : e;
}

static clpi_expr *parse_unary(clpi_parser *p)
{
    clpi_token_kind op = clpi_peek(p)->kind;
    if (op != CLPI_T_MINUS && op != CLPI_T_NOT && op != CLPI_T_TILDE && op != CLPI_T_PLUS)
        return clpi_parse_postfix(p);
    clpi_expr *e = new_expr(p, CLPI_EX_UNARY, clpi_peek(p)->pos);
    if (!e || !clpi_deeper(p))
        return NULL;
    e->op = op;
    clpi_next(p);
    e->first = parse_unary(p);
    clpi_shallower(p);
    return e->first ? e : NULL;
}

/* The operator of this level that is next, else END. */
static clpi_token_kind operator_at(const clpi_parser *p, int level)
{
    clpi_token_kind kind = clpi_peek(p)->kind;
    bool ends = p->no_greater && (kind == CLPI_T_GT || kind == CLPI_T_SHR);
    return !ends && clpi_token_level(kind) == level ? kind : CLPI_T_END;
}

static clpi_expr *parse_level(clpi_parser *p, int level)
{
    if (level > CLPI_N_LEVELS)
        return parse_unary(p);
    clpi_expr *first = parse_level(p, level + 1);
    if (!first || operator_at(p, level) == CLPI_T_END)
        return first;

    clpi_expr *chain = new_expr(p, CLPI_EX_CHAIN, first->pos);
    if (!chain)
        return NULL;
    chain->first = first;
    while (operator_at(p, level) != CLPI_T_END) {
        clpi_link link = { .op = operator_at(p, level), .pos = clpi_peek(p)->pos };
        if (level == clpi_token_level(CLPI_T_LT) && chain->links.n > 0) {
            clpi_diag_add(p->diag, link.pos, "comparisons do not chain: write `a %s b && b %s c`",
                          clpi_token_text(chain->links.items[0].op), clpi_token_text(link.op));
            p->panic = true;
            return NULL;
        }
        clpi_next(p);
        link.value = parse_level(p, level + 1);
        if (!link.value || !kept(p, CLPI_PUSH(p->arena, &chain->links, link)))
            return NULL;
    }
    return chain;
}

clpi_expr *clpi_parse_expr(clpi_parser *p)
{
    return p->panic ? NULL : parse_level(p, 1);
}

/* ---- Block dimensions -------------------------------------------------------------------------------------------- */

static bool parse_element(clpi_parser *p, clpi_bdim_decl *dim)
{
    dim->is_element = true;
    clpi_next(p);
    clpi_next(p);
    if (!(dim->n = clpi_parse_expr(p)))
        return false;
    if (clpi_take(p, CLPI_T_COMMA)) {
        if (!clpi_at_word(p, "pad")) {
            clpi_expected(p, "`pad = ...`");
            return false;
        }
        clpi_next(p);
        clpi_expr *pad;
        if (!clpi_expect(p, CLPI_T_ASSIGN, "`pad`") || !(pad = clpi_parse_expr(p)))
            return false;
        bool is_pair = pad->kind == CLPI_EX_TUPLE && pad->items.n == 2;
        dim->pad_lo = is_pair ? pad->items.items[0] : pad;
        dim->pad_hi = is_pair ? pad->items.items[1] : pad;
    }
    return clpi_expect(p, CLPI_T_CLOSE_PAREN, "`element(...`");
}

bool clpi_parse_bdims(clpi_parser *p, clpi_token_kind close, clpi_bdims *out_dims)
{
    *out_dims = (clpi_bdims){ 0 };
    while (!clpi_at(p, close)) {
        clpi_bdim_decl dim = { .pos = clpi_peek(p)->pos };
        if (clpi_at_word(p, "element") && clpi_peek_at(p, 1)->kind == CLPI_T_OPEN_PAREN) {
            if (!parse_element(p, &dim))
                return false;
        } else if (clpi_at_word(p, "_")) {
            dim.is_squeezed = true;
            clpi_next(p);
        } else if (!(dim.n = clpi_parse_expr(p))) {
            return false;
        }
        if (!kept(p, CLPI_PUSH(p->arena, out_dims, dim)))
            return false;
        if (!clpi_take(p, CLPI_T_COMMA))
            break;
    }
    return !p->panic && clpi_expect(p, close, "the block");
}
