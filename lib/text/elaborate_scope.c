/* elaborate_scope: names.
 * In: bindings in the order they come about. Out: the one that a name stands for here.
 * A fn sees the constants of the file and its own names, not those of whoever calls it. Hiding a name that is seen is an
 * error, so of the bindings of one name at most one is seen.                                                             */
#include "text/elaborate.h"

#include <stdlib.h>
#include <string.h>

#include "base/embed.h"

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 2166136261u;
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return hash;
}

static bool is_seen(const clpi_elab *e, uint32_t i)
{
    return i < e->n_globals || (i >= e->frame_begin && i < e->frame_end);
}

/* Whoever looks a name up depends on what it depends on. */
clpi_binding *clpi_find(clpi_elab *e, const char *name)
{
    uint32_t hash = hash_of(name);
    for (uint32_t i = e->buckets[hash % CLPI_N_BUCKETS]; i > 0; i = e->names.items[i - 1].below) {
        clpi_binding *binding = &e->names.items[i - 1];
        if (binding->hash != hash || !is_seen(e, i - 1) || strcmp(binding->name, name) != 0)
            continue;
        e->used |= binding->params;
        return binding;
    }
    return NULL;
}

clpi_binding *clpi_name_bind(clpi_elab *e, clpi_name name, clpi_binding_kind kind, int number, clpi_meaning meaning)
{
    const clpi_binding *hidden = clpi_find(e, name.text);
    if (hidden) {
        if (hidden->pos.line)
            clpi_say(e, name.pos, "`%s` is a name here already: of line %u", name.text, hidden->pos.line);
        else
            clpi_say(e, name.pos, "`%s` is a name here already", name.text);
        return NULL;
    }
    uint32_t hash = hash_of(name.text), *bucket = &e->buckets[hash % CLPI_N_BUCKETS];
    clpi_binding binding = { .name = name.text, .pos = name.pos, .kind = kind, .number = number, .meaning = meaning,
                             .hash = hash, .below = *bucket, .params = e->used };
    if (!CLPI_PUSH(e->arena, &e->names, binding)) {
        e->stopped = true;
        return NULL;
    }
    *bucket = e->names.n;
    return &e->names.items[e->names.n - 1];
}

void clpi_unbind(clpi_elab *e, uint32_t n)
{
    while (e->names.n > n) {
        const clpi_binding *last = &e->names.items[--e->names.n];
        e->buckets[last->hash % CLPI_N_BUCKETS] = last->below;
    }
}

/* ---- fns --------------------------------------------------------------------------------------------------------- */

extern const clpi_embedded clpi_embedded_standard[];

/* The standard fns, parsed into the arena of this elaboration. */
static const clpi_file *standard_file(clpi_elab *e)
{
    if (e->standard)
        return e->standard;
    const clpi_embedded *text = &clpi_embedded_standard[0];
    clpi_source *source = CLPI_NEW(e->arena, clpi_source);
    clpi_file *file = NULL;
    if (!source)
        return NULL;
    *source = (clpi_source){ text->file, text->text, text->n_bytes };
    if (clpi_parse(e->env, e->arena, source, &file) != CLP_OK) {
        e->stopped = true;       /* out of memory: the text is ours, and tested */
        return NULL;
    }
    for (uint32_t i = 0; i < file->fns.n; i++)
        file->fns.items[i]->is_standard = true;
    e->standard = file;
    return file;
}

static int by_name(const void *a, const void *b)
{
    const clpi_name *x = &(*(const clpi_fn_decl *const *)a)->name, *y = &(*(const clpi_fn_decl *const *)b)->name;
    int order = strcmp(x->text, y->text);
    if (order != 0)
        return order;
    return x->pos.line != y->pos.line ? (x->pos.line > y->pos.line) - (x->pos.line < y->pos.line)
                                      : (x->pos.column > y->pos.column) - (x->pos.column < y->pos.column);
}

bool clpi_sort_fns(clpi_elab *e)
{
    e->n_fns = e->file->fns.n;
    e->fns = CLPI_NEW_N(e->arena, const clpi_fn_decl *, (size_t)e->n_fns + 1);
    if (!e->fns)
        return false;
    for (uint32_t i = 0; i < e->n_fns; i++)
        e->fns[i] = e->file->fns.items[i];
    if (e->n_fns > 1)
        qsort(e->fns, e->n_fns, sizeof *e->fns, by_name);
    for (uint32_t i = 1; i < e->n_fns; i++) {
        const clpi_name *name = &e->fns[i]->name, *before = &e->fns[i - 1]->name;
        if (strcmp(name->text, before->text) == 0)
            clpi_say(e, name->pos, "there are two fns named `%.40s`: the first is in line %u", name->text, before->pos.line);
    }
    return true;
}

/* The first of that name. */
static const clpi_fn_decl *fn_of_file(const clpi_elab *e, const char *name)
{
    uint32_t lo = 0, hi = e->n_fns;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (strcmp(e->fns[middle]->name.text, name) < 0)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < e->n_fns && strcmp(e->fns[lo]->name.text, name) == 0 ? e->fns[lo] : NULL;
}

static const clpi_fn_decl *fn_of_library(clpi_elab *e, const char *name)
{
    const clpi_file *file = standard_file(e);
    for (uint32_t i = 0; file && i < file->fns.n; i++)
        if (strcmp(file->fns.items[i]->name.text, name) == 0)
            return file->fns.items[i];
    return NULL;
}

const clpi_fn_decl *clpi_find_fn(clpi_elab *e, const char *name)
{
    /* Inside a standard fn only the standard ones are meant: a file's own do not change them. */
    const clpi_fn_decl *fn = e->active && e->active->fn->is_standard ? NULL : fn_of_file(e, name);
    return fn ? fn : fn_of_library(e, name);
}

/* ---- Unknown names ----------------------------------------------------------------------------------------------- */

typedef struct name_list { const char **items; uint32_t n, cap; } name_list;

static void add_fns(clpi_elab *e, const clpi_file *file, name_list *names)
{
    enum { MAX_LOOKED_AT = 4096 };
    for (uint32_t i = 0; file && i < file->fns.n && i < MAX_LOOKED_AT; i++)
        if (!CLPI_PUSH(e->arena, names, file->fns.items[i]->name.text))
            return;
}

void clpi_say_unknown(clpi_elab *e, const char *what, const char *name, clpi_pos pos, bool is_fn)
{
    enum { MAX_LOOKED_AT = 4096 };
    name_list names = { 0 };
    for (uint32_t i = e->names.n, n = 0; i > 0 && n < MAX_LOOKED_AT; i--, n++) {
        const clpi_binding *binding = &e->names.items[i - 1];
        if (is_seen(e, i - 1) && (binding->meaning.kind == CLPI_IS_FN) == is_fn && binding->kind != CLPI_BIND_ABSENT)
            (void)CLPI_PUSH(e->arena, &names, binding->name);
    }
    if (is_fn) {
        add_fns(e, e->file, &names);
        add_fns(e, e->standard, &names);
        for (int i = 0; clpi_builtin_at(i); i++)
            (void)CLPI_PUSH(e->arena, &names, clpi_builtin_at(i)->name);
    }
    const char *nearest = clpi_nearest(name, names.items, (int)names.n);
    size_t n = strlen(name);
    if (nearest)
        clpi_say(e, pos, "unknown %s `%.40s%s`; did you mean `%s`?", what, name, n > 40 ? "..." : "", nearest);
    else if (e->may_stand && !is_fn)
        clpi_say(e, pos, "unknown %s `%.40s%s`: %s", what, name, n > 40 ? "..." : "", e->may_stand);
    else
        clpi_say(e, pos, "unknown %s `%.40s%s`%s", what, name, n > 40 ? "..." : "",
                 !e->b->in_header || !e->kernel || strcmp(what, "name") != 0 ? ""
                 : e->in_map ? " (axes are those of the grid, dims those of the operands' shapes)"
                             : " (dims are those of the operands' shapes)");
}
