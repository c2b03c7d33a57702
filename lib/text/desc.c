/* desc: the header of a kernel that is described in C.
 * In: a description: names, and texts for shapes, blocks, maps, sizes, pads and conditions. Out: the header of the IR.
 * Each text is parsed by itself into the tree that a kernel of the language has, and the tree is elaborated as if it came
 * from there: so both ways give the same IR. The first mistake is reported through the build, with its text and column. */
#include <assert.h>
#include <string.h>

#include "text/elaborate.h"
#include "text/parse.h"

/* A text of the description. Its number, from 1, stands as the line in all places of its tree. */
typedef struct fragment { const char *what, *owner, *text; } fragment;       /* "shape" of "x" (NULL: of the kernel) */

typedef struct reader {
    const clp_kernel_desc *desc;
    clpi_arena            *arena;
    clpi_diag              diag;
    struct { fragment *items; uint32_t n, cap; } fragments;
    clpi_kernel_decl       kernel;
    clpi_elab              elab;
} reader;

bool clpi_text_is_name(const char *text)
{
    if (!text || !*text || strcmp(text, "_") == 0 || (*text >= '0' && *text <= '9') || clp_dtype_from_name(text) != CLP_DTYPE_NONE)
        return false;
    for (const char *c = text; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_'))
            return false;
    for (int kind = 0; kind < CLPI_N_TOKENS; kind++)
        if (clpi_token_text((clpi_token_kind)kind) && strcmp(clpi_token_text((clpi_token_kind)kind), text) == 0)
            return false;
    return true;
}

/* ---- Fragments ---- */

/* A parser at the start of a text; NULL: out of memory. */
static clpi_parser *open_text(reader *r, const char *what, const char *owner, const char *text)
{
    clpi_source *source = CLPI_NEW(r->arena, clpi_source);
    clpi_parser *p = CLPI_NEW(r->arena, clpi_parser);
    char *kept = clpi_arena_strndup(r->arena, text, strlen(text));
    if (!source || !p || !kept || !CLPI_PUSH(r->arena, &r->fragments, (fragment){ what, owner, kept }))
        return NULL;
    *source = (clpi_source){ .text = kept, .n_bytes = strlen(kept) };
    int n_errors = r->diag.n_errors;
    if (!clpi_parser_init(p, &r->diag, r->arena, source))
        return NULL;
    for (uint32_t i = 0; i < p->tokens.n; i++)
        p->tokens.items[i].pos.line = r->fragments.n;
    for (; n_errors < r->diag.n_errors; n_errors++)
        r->diag.errors[n_errors].pos.line = r->fragments.n;
    return p;
}

static bool at_end(clpi_parser *p)
{
    if (!clpi_at(p, CLPI_T_END))
        clpi_expected(p, "`,` or the end");
    return !p->panic;
}

/* "a, b" as a list; a whole list in parentheses is one too. */
static bool parse_list(reader *r, clpi_parser *p, clpi_exprs *out)
{
    while (!clpi_at(p, CLPI_T_END)) {
        clpi_expr *x = clpi_parse_expr(p);
        if (!x || !CLPI_PUSH(r->arena, out, x))
            return false;
        if (!clpi_take(p, CLPI_T_COMMA))
            break;
    }
    if (out->n == 1 && out->items[0]->kind == CLPI_EX_TUPLE)
        *out = out->items[0]->items;
    return at_end(p);
}

static bool parse_text(reader *r, const char *what, const char *owner, const char *text, clpi_exprs *out)
{
    clpi_parser *p = open_text(r, what, owner, text);
    return p && parse_list(r, p, out);
}

static bool parse_one(reader *r, const char *what, const char *owner, const char *text, clpi_expr **out)
{
    clpi_parser *p = open_text(r, what, owner, text);
    return p && (*out = clpi_parse_expr(p)) && at_end(p);
}

/* ---- Index maps ---- */

/* The k-th of names is this one; n: none. */
static int find_name(const char *const *names, int n, const char *name)
{
    int k = 0;
    while (k < n && strcmp(names[k], name) != 0)
        k++;
    return k;
}

/* Behind the arrow: the names of the map become the axes' own. An axis that the map gives another name to is not known
 * by its own there, but as an argument of `num_programs`. */
static bool rename_axes(reader *r, clpi_parser *p, const char *const *names, int n)
{
    const char *own[CLP_MAX_RANK + 16];
    for (int k = 0; k < n; k++)
        own[k] = r->desc->axes[k].name;
    for (uint32_t i = p->i; i < p->tokens.n; i++) {
        clpi_token *t = &p->tokens.items[i];
        if (t->kind != CLPI_T_NAME || clpi_peek_at(p, i + 1 - p->i)->kind == CLPI_T_OPEN_PAREN)
            continue;
        const clpi_token *of = &p->tokens.items[i - 2];
        bool is_asked = t[-1].kind == CLPI_T_OPEN_PAREN && of->kind == CLPI_T_NAME && strcmp(of->text, "num_programs") == 0;
        int k = find_name(names, n, t->text);
        if (k < n) {
            t->text = own[k];
        } else if (!is_asked && find_name(own, n, t->text) < n) {
            clpi_diag_add(&r->diag, t->pos, "the map does not name the axis `%s`", t->text);
            return false;
        }
    }
    return true;
}

/* "(i, j) ->" names the axes by their place, each once. */
static bool parse_map_names(reader *r, clpi_parser *p)
{
    const char *names[CLP_MAX_RANK + 16];
    int n = 0, n_max = (int)(sizeof names / sizeof *names), n_axes = r->desc->n_axes;
    clpi_pos pos = clpi_peek(p)->pos;
    if (!clpi_expect(p, CLPI_T_OPEN_PAREN, NULL))
        return false;
    while (!clpi_at(p, CLPI_T_CLOSE_PAREN)) {
        clpi_name name;
        if (!clpi_expect_name(p, "the name of an axis", &name))
            return false;
        if (n < n_max && find_name(names, n, name.text) < n) {
            clpi_diag_add(&r->diag, name.pos, "the map names two axes `%s`", name.text);
            return false;
        }
        if (n < n_max)
            names[n] = name.text;
        n++;
        if (!clpi_take(p, CLPI_T_COMMA))
            break;
    }
    if (!clpi_expect(p, CLPI_T_CLOSE_PAREN, "the axes") || !clpi_expect(p, CLPI_T_ARROW, "the axes"))
        return false;
    if (n != n_axes || n > n_max) {
        clpi_diag_add(&r->diag, pos, "the map names %d ax%s, the grid has %d", n, n == 1 ? "is" : "es", n_axes);
        return false;
    }
    return rename_axes(r, p, names, n);
}

static bool parse_map(reader *r, const clp_operand_desc *d, clpi_exprs *out)
{
    clpi_parser *p = open_text(r, "index map", d->name, d->index_map);
    return p && parse_map_names(r, p) && clpi_expect(p, CLPI_T_OPEN_PAREN, "`->`") &&
           clpi_parse_exprs(p, CLPI_T_CLOSE_PAREN, out) && at_end(p);
}

/* ---- The tree ---- */

static bool parse_block(reader *r, const clp_operand_desc *d, clpi_operand_decl *x)
{
    clpi_parser *p = open_text(r, "block", d->name, d->block);
    x->has_block = true;
    if (!p || !clpi_parse_bdims(p, CLPI_T_END, &x->block))
        return false;
    if (!d->index_map) {
        clpi_diag_add(&r->diag, (clpi_pos){ 0, 0 }, "%s: a block needs an index map", d->name);
        return false;
    }
    return parse_map(r, d, &x->map);
}

static bool parse_operand(reader *r, const clp_operand_desc *d, clpi_operand_decl *x)
{
    *x = (clpi_operand_decl){ .role = d->role, .name = { .text = d->name }, .alias = { .text = d->alias } };
    x->dtype = CLPI_NEW(r->arena, clpi_expr);
    if (!x->dtype)
        return false;
    *x->dtype = (clpi_expr){ .kind = CLPI_EX_DTYPE, .dtype = d->dtype };
    if (d->index_map && !d->block) {
        clpi_diag_add(&r->diag, (clpi_pos){ 0, 0 }, "%s: an index map needs a block", d->name);
        return false;
    }
    return (!d->shape || parse_text(r, "shape", d->name, d->shape, &x->shape)) && (!d->block || parse_block(r, d, x)) &&
           (!d->pad || parse_one(r, "pad", d->name, d->pad, &x->pad));
}

static bool parse_axis(reader *r, const clp_axis_desc *d, clpi_axis_decl *axis)
{
    *axis = (clpi_axis_decl){ .name = { .text = d->name }, .is_arbitrary = d->is_arbitrary };
    if (!d->size) {
        clpi_diag_add(&r->diag, (clpi_pos){ 0, 0 }, "%s: the axis has no size", d->name);
        return false;
    }
    return parse_one(r, "size", d->name, d->size, &axis->size);
}

static bool parse_requires(reader *r)
{
    clpi_parser *p = open_text(r, "require", NULL, r->desc->require);
    do {
        uint32_t from = p ? p->i : 0;
        clpi_require_decl require = { .condition = p ? clpi_parse_expr(p) : NULL };
        if (!require.condition)
            return false;
        require.text = clpi_text_since(p, from);
        if (!require.text || !CLPI_PUSH(r->arena, &r->kernel.requires, require))
            return false;
    } while (clpi_take(p, CLPI_T_COMMA));
    return at_end(p);
}

static bool parse_desc(reader *r)
{
    const clp_kernel_desc *desc = r->desc;
    r->kernel.name.text = desc->name;
    for (int i = 0; i < desc->n_operands; i++) {
        clpi_operand_decl x;
        if (!parse_operand(r, &desc->operands[i], &x) || !CLPI_PUSH(r->arena, &r->kernel.operands, x))
            return false;
    }
    for (int i = 0; i < desc->n_axes; i++) {
        clpi_axis_decl axis;
        if (!parse_axis(r, &desc->axes[i], &axis) || !CLPI_PUSH(r->arena, &r->kernel.axes, axis))
            return false;
    }
    return !desc->require || parse_requires(r);
}

/* ---- The header ---- */

static void elaborate(reader *r, clpi_build *b)
{
    clpi_elab_init(&r->elab, b->ir->env, r->arena, &r->diag, b);
    r->elab.kernel = &r->kernel;
    for (int i = 0; i < r->desc->n_params; i++)
        clpi_name_bind(&r->elab, (clpi_name){ .text = r->desc->params[i].name }, CLPI_BIND_LET, 0, clpi_mean_int(r->desc->params[i].value));
    clpi_elaborate_header(&r->elab);
}

/* "x: shape "N +", column 4: expected an expression". Messages that name the operand already do not do so twice. */
static void report_first(const reader *r, clpi_build *b)
{
    clpi_pos pos = r->diag.errors[0].pos;
    const char *text = r->diag.errors[0].text;
    if (pos.line == 0 || pos.line > r->fragments.n) {
        clpi_build_report(b, "%s", text);
        return;
    }
    const fragment *f = &r->fragments.items[pos.line - 1];
    size_t n_owner = f->owner ? strlen(f->owner) : 0;
    if (n_owner > 0 && strncmp(text, f->owner, n_owner) == 0 && strncmp(text + n_owner, ": ", 2) == 0)
        text += n_owner + 2;
    clpi_build_report(b, "%s%s%s \"%s\", column %u: %s", f->owner ? f->owner : "", f->owner ? ": " : "", f->what, f->text, pos.column, text);
}

bool clpi_text_header(clpi_build *b, const clp_kernel_desc *desc)
{
    assert(b->in_header);
    reader *r = CLPI_NEW(b->ir->arena, reader);
    if (!r)
        return false;
    r->desc = desc;
    r->arena = b->ir->arena;
    clpi_diag_init(&r->diag, b->ir->env, r->arena, NULL);

    /* While the header is made, the build reports to the elaborator. */
    const clpi_build before = *b;
    if (parse_desc(r) && r->diag.n_errors == 0)
        elaborate(r, b);
    *b = before;
    if (r->arena->failed)
        return false;
    if (r->diag.n_errors > 0)
        report_first(r, b);
    return r->diag.n_errors == 0;
}
