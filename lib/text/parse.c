/* parse: a kernel text as a tree.
 * In: any bytes. Out: the declarations of a file, or every syntax error (up to 20).
 * Decides where to go on after an error in a declaration: behind the operand, at the next `kernel`, `fn` or `const`
 * that begins a line. Words such as `in`, `block` or `grid` mean something only where they stand.                       */
#include "text/parse.h"

#include <stdio.h>
#include <string.h>

/* ---- Tokens ------------------------------------------------------------------------------------------------------ */

bool clpi_parser_init(clpi_parser *p, clpi_diag *diag, clpi_arena *arena, const clpi_source *source)
{
    *p = (clpi_parser){ .diag = diag, .arena = arena, .source = source };
    return clpi_lex(diag, source, &p->tokens);
}

const clpi_token *clpi_peek_at(const clpi_parser *p, uint32_t ahead)
{
    uint32_t i = p->i + ahead;
    return &p->tokens.items[i < p->tokens.n ? i : p->tokens.n - 1];
}

bool clpi_at_word(const clpi_parser *p, const char *word)
{
    return clpi_at(p, CLPI_T_NAME) && strcmp(clpi_peek(p)->text, word) == 0;
}

void clpi_next(clpi_parser *p)
{
    if (p->i + 1 < p->tokens.n)
        p->i++;
}

bool clpi_take(clpi_parser *p, clpi_token_kind kind)
{
    if (p->panic || !clpi_at(p, kind))
        return false;
    clpi_next(p);
    return true;
}

bool clpi_take_word(clpi_parser *p, const char *word)
{
    if (p->panic || !clpi_at_word(p, word))
        return false;
    clpi_next(p);
    return true;
}

void clpi_expected(clpi_parser *p, const char *what)
{
    const clpi_token *t = clpi_peek(p);
    if (p->panic)
        return;
    p->panic = true;
    if (t->kind == CLPI_T_BAD || (t->kind == CLPI_T_END && p->tokens.is_cut))
        return;
    if (t->kind == CLPI_T_END)
        clpi_diag_add(p->diag, t->pos, "expected %s, got the end of the text", what);
    else if (t->kind == CLPI_T_STRING)
        clpi_diag_add(p->diag, t->pos, "expected %s, got a string", what);
    else
        clpi_diag_add(p->diag, t->pos, "expected %s, got `%.*s%s`", what, (int)(t->n > 40 ? 40 : t->n),
                      p->source->text + t->at, t->n > 40 ? "..." : "");
}

bool clpi_expect(clpi_parser *p, clpi_token_kind kind, const char *after)
{
    if (p->panic)
        return false;
    if (clpi_take(p, kind))
        return true;
    char what[96];
    if (kind == CLPI_T_END)
        snprintf(what, sizeof what, "`,` or the end");
    else
        snprintf(what, sizeof what, "`%s`%s%s", clpi_token_text(kind), after ? " after " : "", after ? after : "");
    clpi_expected(p, what);
    return false;
}

bool clpi_expect_name(clpi_parser *p, const char *what, clpi_name *out_name)
{
    const clpi_token *t = clpi_peek(p);
    *out_name = (clpi_name){ .text = t->text, .pos = t->pos };
    if (clpi_take(p, CLPI_T_NAME))
        return true;
    char text[96];
    snprintf(text, sizeof text, "%s%s", what, clpi_token_text(t->kind) && t->kind < CLPI_T_OR_OR ? " (that word is reserved)" : "");
    clpi_expected(p, text);
    return false;
}

bool clpi_deeper(clpi_parser *p)
{
    if (p->panic)
        return false;
    if (++p->nesting <= CLPI_MAX_NESTING)
        return true;
    clpi_diag_add(p->diag, clpi_peek(p)->pos, "nested too deeply: the limit is %d", CLPI_MAX_NESTING);
    p->panic = p->gave_up = true;
    return false;
}

const char *clpi_text_since(clpi_parser *p, uint32_t from)
{
    uint32_t start = p->tokens.items[from].at;
    const clpi_token *last = &p->tokens.items[p->i > from ? p->i - 1 : from];
    char *text = clpi_arena_strndup(p->arena, p->source->text + start, last->at + last->n - start);
    for (char *c = text; c && *c; c++)        /* one line */
        if (*c == '\n' || *c == '\r' || *c == '\t')
            *c = ' ';
    return text;
}

/* ---- Declarations ------------------------------------------------------------------------------------------------ */

/* Remembers that the arena gave out. */
static bool kept(clpi_parser *p, bool pushed)
{
    if (!pushed)
        p->panic = p->gave_up = true;
    return pushed;
}

static bool parse_const(clpi_parser *p, clpi_file *file)
{
    clpi_const_decl decl;
    clpi_next(p);
    return clpi_expect_name(p, "the name of the constant", &decl.name) && clpi_expect(p, CLPI_T_ASSIGN, "the name") &&
           (decl.value = clpi_parse_expr(p)) && clpi_expect(p, CLPI_T_SEMICOLON, "the expression") &&
           kept(p, CLPI_PUSH(p->arena, &file->consts, decl));
}

static bool parse_fn_params(clpi_parser *p, clpi_fn_decl *fn)
{
    if (!clpi_expect(p, CLPI_T_OPEN_PAREN, "the name"))
        return false;
    while (!clpi_at(p, CLPI_T_CLOSE_PAREN)) {
        clpi_fn_param param = { .value = NULL };
        if (!clpi_expect_name(p, "the name of a parameter", &param.name))
            return false;
        if (clpi_take(p, CLPI_T_ASSIGN) && !(param.value = clpi_parse_expr(p)))
            return false;
        if (!param.value && fn->params.n > 0 && fn->params.items[fn->params.n - 1].value)
            clpi_diag_add(p->diag, param.name.pos, "parameters without a default stand before those with one");
        if (!kept(p, CLPI_PUSH(p->arena, &fn->params, param)))
            return false;
        if (!clpi_take(p, CLPI_T_COMMA))
            break;
    }
    return clpi_expect(p, CLPI_T_CLOSE_PAREN, "the parameters");
}

static bool parse_returns(clpi_parser *p, clpi_fn_decl *fn)
{
    do {
        clpi_expr *e = clpi_parse_expr(p);
        if (!e || !kept(p, CLPI_PUSH(p->arena, &fn->returns, e)))
            return false;
    } while (clpi_take(p, CLPI_T_COMMA));
    return clpi_expect(p, CLPI_T_SEMICOLON, "the expression");
}

static bool parse_fn(clpi_parser *p, clpi_file *file)
{
    clpi_fn_decl *fn = CLPI_NEW(p->arena, clpi_fn_decl);
    clpi_next(p);
    if (!kept(p, fn != NULL) || !clpi_expect_name(p, "the name of the fn", &fn->name) || !parse_fn_params(p, fn))
        return false;
    if (clpi_take(p, CLPI_T_ASSIGN)) {
        if (!parse_returns(p, fn))
            return false;
    } else {
        if (!clpi_at(p, CLPI_T_OPEN_BRACE)) {
            clpi_expected(p, "`=` or `{` after the parameters");
            return false;
        }
        clpi_next(p);
        if (!clpi_parse_stmts(p, &fn->body) || (clpi_take(p, CLPI_T_RETURN) && !parse_returns(p, fn)) ||
            !clpi_expect(p, CLPI_T_CLOSE_BRACE, fn->returns.n ? "`return`" : NULL))
            return false;
    }
    return kept(p, CLPI_PUSH(p->arena, &file->fns, fn));
}

static bool parse_param(clpi_parser *p, clpi_kernel_decl *kernel)
{
    clpi_param_decl param = { .is_fn = clpi_take(p, CLPI_T_FN) };
    if (!clpi_expect_name(p, "the name of a parameter", &param.name) || !clpi_expect(p, CLPI_T_ASSIGN, "the parameter's name"))
        return false;
    uint32_t from = p->i;
    param.value = clpi_parse_expr(p);
    if (param.value && param.is_fn && param.value->kind != CLPI_EX_NAME) {
        p->i = from;
        clpi_expected(p, "the name of a fn");
        return false;
    }
    return param.value && kept(p, CLPI_PUSH(p->arena, &kernel->params, param));
}

static bool parse_params(clpi_parser *p, clpi_kernel_decl *kernel)
{
    p->no_greater = true;
    while (!p->panic && !clpi_at(p, CLPI_T_GT) && parse_param(p, kernel) && clpi_take(p, CLPI_T_COMMA))
        ;
    p->no_greater = false;
    return clpi_expect(p, CLPI_T_GT, "the parameters");
}

static bool parse_role(clpi_parser *p, clp_role *out_role)
{
    static const struct { const char *word; clp_role role; } roles[] = {
        { "out", CLP_OUT }, { "inout", CLP_INOUT }, { "prefetch", CLP_PREFETCH }, { "scratch", CLP_SCRATCH }, { "scalar", CLP_SCALAR }
    };
    *out_role = CLP_IN;
    if (clpi_take(p, CLPI_T_IN))
        return true;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        *out_role = roles[i].role;
        if (clpi_take_word(p, roles[i].word))
            return true;
    }
    clpi_expected(p, "`in`, `out`, `inout`, `prefetch`, `scratch` or `scalar`");
    return false;
}

static bool parse_block(clpi_parser *p, clpi_operand_decl *operand)
{
    operand->has_block = true;
    if (!clpi_expect(p, CLPI_T_OPEN_SQUARE, "`block`") || !clpi_parse_bdims(p, CLPI_T_CLOSE_SQUARE, &operand->block))
        return false;
    if (!clpi_take_word(p, "at")) {
        clpi_expected(p, "`at (...)` after the block");
        return false;
    }
    return clpi_expect(p, CLPI_T_OPEN_PAREN, "`at`") && clpi_parse_exprs(p, CLPI_T_CLOSE_PAREN, &operand->map);
}

/* Scratch and scalars have no block, pad or alias; a scalar has no shape either. */
static bool refuse_clauses(clpi_parser *p, clp_role role)
{
    static const char *const words[] = { "block", "pad", "alias" };
    const char *what = role == CLP_SCRATCH ? "scratch" : "a scalar";
    if (p->panic || (role != CLP_SCRATCH && role != CLP_SCALAR))
        return true;
    const clpi_token *t = clpi_peek(p);
    bool is_shape = role == CLP_SCALAR && t->kind == CLPI_T_OPEN_SQUARE, is_word = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        is_word = is_word || clpi_at_word(p, words[i]);
    if (is_shape)
        clpi_diag_add(p->diag, t->pos, "%s has no shape", what);
    else if (is_word)
        clpi_diag_add(p->diag, t->pos, "%s has no `%s`", what, t->text);
    p->panic = is_shape || is_word;
    return !p->panic;
}

static bool parse_operand(clpi_parser *p, clpi_operand_decl *operand)
{
    *operand = (clpi_operand_decl){ .role = CLP_IN };
    if (!parse_role(p, &operand->role) || !clpi_expect_name(p, "the name of the operand", &operand->name) ||
        !clpi_expect(p, CLPI_T_COLON, "the operand's name"))
        return false;
    if (!clpi_at(p, CLPI_T_DTYPE) && !clpi_at(p, CLPI_T_NAME)) {
        clpi_expected(p, "a dtype");
        return false;
    }
    bool has_shape = operand->role != CLP_SCALAR, has_clauses = has_shape && operand->role != CLP_SCRATCH;
    clpi_expr *dtype = CLPI_NEW(p->arena, clpi_expr);
    if (!kept(p, dtype != NULL))
        return false;
    const clpi_token *t = clpi_peek(p);
    *dtype = (clpi_expr){ .kind = t->kind == CLPI_T_DTYPE ? CLPI_EX_DTYPE : CLPI_EX_NAME, .pos = t->pos };
    if (t->kind == CLPI_T_DTYPE)
        dtype->dtype = t->dtype;
    else
        dtype->name = t->text;
    operand->dtype = dtype;
    clpi_next(p);
    if (has_shape && (!clpi_expect(p, CLPI_T_OPEN_SQUARE, "the dtype") || !clpi_parse_exprs(p, CLPI_T_CLOSE_SQUARE, &operand->shape)))
        return false;
    if (!refuse_clauses(p, operand->role))
        return false;
    if (has_clauses && clpi_take_word(p, "block") && !parse_block(p, operand))
        return false;
    if (has_clauses && clpi_take_word(p, "pad") && !(operand->pad = clpi_parse_expr(p)))
        return false;
    if (has_clauses && clpi_take_word(p, "alias") && !clpi_expect_name(p, "the name of an operand", &operand->alias))
        return false;
    return !clpi_take(p, CLPI_T_IF) || (operand->condition = clpi_parse_expr(p));
}

static int depth_step(clpi_token_kind kind)
{
    bool opens = kind == CLPI_T_OPEN_PAREN || kind == CLPI_T_OPEN_SQUARE;
    return opens ? 1 : kind == CLPI_T_CLOSE_PAREN || kind == CLPI_T_CLOSE_SQUARE ? -1 : 0;
}

/* To the `,` or `)` that ends the operand, which began with token `from`. */
static void recover_operand(clpi_parser *p, uint32_t from)
{
    int depth = 0;
    for (uint32_t i = from; i < p->i; i++)
        depth += depth_step(p->tokens.items[i].kind);
    depth = depth < 0 ? 0 : depth;
    p->panic = false;
    for (;; clpi_next(p)) {
        switch ((int)clpi_peek(p)->kind) {
        case CLPI_T_END: case CLPI_T_OPEN_BRACE: case CLPI_T_KERNEL: return;
        case CLPI_T_OPEN_PAREN: case CLPI_T_OPEN_SQUARE: depth++; break;
        case CLPI_T_CLOSE_SQUARE: depth -= depth > 0; break;
        case CLPI_T_CLOSE_PAREN:
            if (depth == 0)
                return;
            depth--;
            break;
        case CLPI_T_COMMA:
            if (depth == 0)
                return;
            break;
        default: break;
        }
    }
}

static bool parse_operands(clpi_parser *p, clpi_kernel_decl *kernel)
{
    const char *before = kernel->params.n == 0 ? "the kernel's name" :
                         "the parameters (in `< >` an expression with `>` stands in parentheses)";
    if (!clpi_expect(p, CLPI_T_OPEN_PAREN, before))
        return false;
    do {
        clpi_operand_decl operand;
        uint32_t from = p->i;
        if (parse_operand(p, &operand)) {
            if (!kept(p, CLPI_PUSH(p->arena, &kernel->operands, operand)))
                return false;
            if (!clpi_at(p, CLPI_T_COMMA) && !clpi_at(p, CLPI_T_CLOSE_PAREN))
                clpi_expected(p, "`,` or `)` after the operand");
        }
        if (p->gave_up)
            return false;
        if (p->panic)
            recover_operand(p, from);
    } while (clpi_take(p, CLPI_T_COMMA));
    return clpi_expect(p, CLPI_T_CLOSE_PAREN, "the operands");
}

static bool parse_grid(clpi_parser *p, clpi_kernel_decl *kernel)
{
    if (!clpi_take_word(p, "grid")) {
        clpi_expected(p, "`grid (...)` after the operands");
        return false;
    }
    if (!clpi_expect(p, CLPI_T_OPEN_PAREN, "`grid`"))
        return false;
    while (!clpi_at(p, CLPI_T_CLOSE_PAREN)) {
        clpi_axis_decl axis = { .is_arbitrary = false };
        if (!clpi_expect_name(p, "the name of an axis", &axis.name) || !clpi_expect(p, CLPI_T_ASSIGN, "the axis") ||
            !(axis.size = clpi_parse_expr(p)))
            return false;
        axis.is_arbitrary = clpi_take_word(p, "arbitrary");
        if (!axis.is_arbitrary)
            clpi_take_word(p, "parallel");
        if (!kept(p, CLPI_PUSH(p->arena, &kernel->axes, axis)))
            return false;
        if (!clpi_take(p, CLPI_T_COMMA))
            break;
    }
    return clpi_expect(p, CLPI_T_CLOSE_PAREN, "the axes");
}

static bool parse_tune(clpi_parser *p, clpi_kernel_decl *kernel)
{
    do {
        clpi_tune_decl tune;
        if (!clpi_expect_name(p, "the name of a parameter", &tune.name) || !clpi_expect(p, CLPI_T_IN, "the parameter") ||
            !clpi_expect(p, CLPI_T_OPEN_SQUARE, "`in`"))
            return false;
        if (clpi_at(p, CLPI_T_CLOSE_SQUARE))
            clpi_expected(p, "a value to try");
        if (p->panic || !clpi_parse_exprs(p, CLPI_T_CLOSE_SQUARE, &tune.values) ||
            !kept(p, CLPI_PUSH(p->arena, &kernel->tunes, tune)))
            return false;
    } while (clpi_take(p, CLPI_T_COMMA));
    return true;
}

static bool parse_require(clpi_parser *p, clpi_kernel_decl *kernel)
{
    do {
        uint32_t from = p->i;
        clpi_require_decl require = { .condition = clpi_parse_expr(p) };
        if (!require.condition)
            return false;
        require.text = clpi_text_since(p, from);
        if (!kept(p, require.text && CLPI_PUSH(p->arena, &kernel->requires, require)))
            return false;
    } while (clpi_take(p, CLPI_T_COMMA));
    return true;
}

static bool parse_clauses(clpi_parser *p, clpi_kernel_decl *kernel)
{
    while (!clpi_at(p, CLPI_T_OPEN_BRACE)) {
        bool ok;
        if (clpi_take_word(p, "tune")) {
            ok = parse_tune(p, kernel);
        } else if (clpi_take_word(p, "require")) {
            ok = parse_require(p, kernel);
        } else if (clpi_take_word(p, "math")) {
            kernel->math_fast = clpi_take_word(p, "fast");
            ok = kernel->math_fast || clpi_take_word(p, "strict");
            if (!ok)
                clpi_expected(p, "`strict` or `fast`");
        } else {
            clpi_expected(p, "`tune`, `require`, `math` or `{`");
            ok = false;
        }
        if (!ok)
            return false;
    }
    return true;
}

static bool parse_kernel(clpi_parser *p, clpi_file *file)
{
    clpi_kernel_decl *kernel = CLPI_NEW(p->arena, clpi_kernel_decl);
    clpi_next(p);
    if (!kept(p, kernel != NULL) || !clpi_expect_name(p, "the name of the kernel", &kernel->name) ||
        (clpi_take(p, CLPI_T_LT) && !parse_params(p, kernel)))
        return false;
    return parse_operands(p, kernel) && parse_grid(p, kernel) && parse_clauses(p, kernel) &&
           clpi_parse_body(p, &kernel->body) && kept(p, CLPI_PUSH(p->arena, &file->kernels, kernel));
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* To a `kernel`, `fn` or `const` that begins a line. */
static void recover_declaration(clpi_parser *p)
{
    p->panic = p->no_greater = false;
    p->nesting = 0;
    for (; !clpi_at(p, CLPI_T_END); clpi_next(p)) {
        clpi_token_kind kind = clpi_peek(p)->kind;
        bool begins_line = p->i == 0 || p->tokens.items[p->i - 1].pos.line < clpi_peek(p)->pos.line;
        if (begins_line && (kind == CLPI_T_KERNEL || kind == CLPI_T_FN || kind == CLPI_T_CONST))
            return;
    }
}

static bool parse_declaration(clpi_parser *p, clpi_file *file)
{
    switch ((int)clpi_peek(p)->kind) {
    case CLPI_T_CONST: return parse_const(p, file);
    case CLPI_T_FN: return parse_fn(p, file);
    case CLPI_T_KERNEL: return parse_kernel(p, file);
    default:
        clpi_expected(p, "`kernel`, `fn` or `const`");
        return false;
    }
}

clp_status clpi_parse(clpi_env *env, clpi_arena *arena, const clpi_source *source, clpi_file **out_file)
{
    *out_file = NULL;
    clpi_diag diag;
    clpi_parser p;
    clpi_diag_init(&diag, env, arena, source);
    clpi_file *file = CLPI_NEW(arena, clpi_file);
    if (!file || !clpi_parser_init(&p, &diag, arena, source))
        return CLP_ERR_OOM;
    file->source = source;
    while (!clpi_at(&p, CLPI_T_END) && !p.gave_up && !clpi_diag_is_full(&diag)) {
        uint32_t from = p.i;
        if (parse_declaration(&p, file) || p.gave_up)
            continue;
        if (p.i == from)
            clpi_next(&p);
        recover_declaration(&p);
    }
    CLP_TRY(clpi_diag_finish(&diag, CLP_ERR_INVALID));
    *out_file = file;
    return CLP_OK;
}

int clpi_file_n_kernels(const clpi_file *file)
{
    return (int)file->kernels.n;
}

const char *clpi_file_kernel_name(const clpi_file *file, int i)
{
    return file->kernels.items[i]->name.text;
}
