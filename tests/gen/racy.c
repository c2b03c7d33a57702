/* racy: a kernel from a seed, whose programs may be in each other's way.
 * In: a seed. Out: what the kernel does, as data that the oracle can evaluate, and as text of the kernel language.
 * Every index is in range of its ref by construction; blocks may hang over the end of the array, where nothing is touched. */
#include <stdio.h>
#include <stdlib.h>

#include "racy.h"
#include "support/support.h"

static int draw(racy *r, int n)
{
    return (int)(random_next(&r->state) >> 33) % n;
}

/* ---- Kernels ---- */

static linear draw_linear(racy *r, int mod, bool in_loop)
{
    linear l = { .mod = mod };
    for (int v = 0; v < r->n_axes; v++)
        l.c[v] = draw(r, 3) ? draw(r, 4) : 0;
    l.c[3] = in_loop ? draw(r, 3) : 0;
    l.c[4] = draw(r, 3) ? 0 : draw(r, mod);
    return l;
}

static void draw_grid(racy *r)
{
    r->n_axes = 1 + draw(r, 3);
    for (int a = 0; a < r->n_axes; a++) {
        r->size[a] = 1 + draw(r, 3);
        r->is_arbitrary[a] = draw(r, 4) == 0;
    }
    r->has_box = draw(r, 4) == 0;
    for (int a = 0; a < r->n_axes; a++) {
        const bool is_cut = r->has_box && !r->is_arbitrary[a];
        r->box_start[a] = is_cut ? draw(r, r->size[a]) : 0;
        r->box_count[a] = is_cut ? 1 + draw(r, r->size[a] - (int)r->box_start[a]) : r->size[a];
    }
    for (int k = 0; k < TABLE; k++)
        r->table[k] = draw(r, 8);
}

static void draw_storage(racy *r)
{
    static const clp_dtype dtypes[] = { CLP_I32, CLP_I32, CLP_I32, CLP_I64, CLP_U8, CLP_U4, CLP_I16 };
    const int s = r->n_storages++;
    r->n_elems[s] = 4 + draw(r, MAX_ELEMS - 3);
    r->dtype[s] = dtypes[draw(r, (int)(sizeof dtypes / sizeof *dtypes))];
    r->stride[s] = r->dtype[s] == CLP_U4 || draw(r, 3) ? 1 : draw(r, 2) ? 2 : -1;
    for (int e = 0; e < r->n_elems[s]; e++)
        r->start[s][e] = draw(r, 2);
    const bool has_alias = draw(r, 3) == 0;
    for (int k = has_alias ? 0 : 1; k < 2 && r->n_names < MAX_NAMES; k++) {
        named *x = &r->names[r->n_names];
        *x = (named){ .storage = s, .is_input = k == 0, .has_block = draw(r, 2) };
        snprintf(x->name, sizeof x->name, "%c%d", k == 0 ? 'a' : 'o', s);
        x->block = 1 + draw(r, 4);
        x->is_window = draw(r, 3) == 0;
        x->by_table = draw(r, 5) == 0;
        x->map = draw_linear(r, x->is_window ? r->n_elems[s] - x->block + 1 : (r->n_elems[s] + x->block - 1) / x->block, false);
        r->n_names++;
    }
}

static bool takes_atomics(clp_dtype d)
{
    return d == CLP_I32 || d == CLP_I64;
}

static void draw_statement(racy *r)
{
    statement *s = &r->statements[r->n_statements++];
    *s = (statement){ .name = draw(r, r->n_names), .place = (place)draw(r, N_PLACES) };
    const named *x = &r->names[s->name];
    const int size = x->has_block ? x->block : r->n_elems[x->storage];
    s->kind = (access_kind)(draw(r, 2) ? draw(r, 2) : draw(r, N_KINDS));
    if (x->is_input || (s->kind > STORE && !takes_atomics(r->dtype[x->storage])))
        s->kind = x->is_input ? LOAD : STORE;
    if (s->place == WHOLE && !x->has_block)
        s->place = AT;
    s->turns = draw(r, 4) ? 0 : 1 + draw(r, 3);
    s->stride = 1 + draw(r, 3);
    s->lanes = s->place == AT || s->place == TABLE_AT ? 1 : s->place == WHOLE ? size : 1 + draw(r, 4);
    while (s->place == RANGE && (s->lanes - 1) * s->stride + 1 > size)
        s->lanes--;
    s->start = draw_linear(r, s->place == RANGE ? size - (s->lanes - 1) * s->stride : size, s->turns > 0);
    s->has_mask = s->kind != CAS && draw(r, 3) == 0;
    s->mask = draw_linear(r, 2 + draw(r, 3), s->turns > 0);
    s->mask_below = 1 + draw(r, s->mask.mod);
    s->content = (content)draw(r, N_CONTENTS);
    s->constant = draw(r, 3);
    s->value = draw_linear(r, 2 + draw(r, 5), s->turns > 0);
    s->has_condition = draw(r, 3) == 0;
    s->condition = draw_linear(r, 2 + draw(r, 2), s->turns > 0);
}

static void draw_kernel(racy *r, uint64_t seed)
{
    *r = (racy){ .state = seed * 0x9e3779b97f4a7c15u + 1 };
    for (int k = 0; k < 8; k++)
        random_next(&r->state);
    draw_grid(r);
    for (int n = 1 + draw(r, MAX_STORAGE); n > 0; n--)
        draw_storage(r);
    for (int n = 1 + draw(r, MAX_STATEMENTS); n > 0; n--)
        draw_statement(r);
}

/* ---- As text ---- */

static void put_linear(text_room *t, const linear *l)
{
    static const char *const vars[N_VARS] = { "i", "j", "k", "e", NULL };
    bool is_first = true;
    put_text(t, "(");
    for (int v = 0; v < N_VARS; v++) {
        if (l->c[v] == 0)
            continue;
        put_text(t, is_first ? "" : " + ");
        is_first = false;
        if (!vars[v])
            put_text(t, "%d", l->c[v]);
        else if (l->c[v] == 1)
            put_text(t, "%s", vars[v]);
        else
            put_text(t, "%d * %s", l->c[v], vars[v]);
    }
    put_text(t, is_first ? "0) %% %d" : ") %% %d", l->mod);
}

/* The program's number, as an index: ids in the order of the axes. */
static void put_number(text_room *t, const racy *r)
{
    static const char *const ids[] = { "i", "j", "k" };
    int stride = 1;
    for (int a = r->n_axes - 1; a >= 0; a--) {
        put_text(t, "%s%d * %s", a == r->n_axes - 1 ? "" : " + ", stride, ids[a]);
        stride *= r->size[a];
    }
}

static void put_operands(text_room *t, const racy *r)
{
    put_text(t, "prefetch t: i32[%d], ", TABLE);
    for (int k = 0; k < r->n_names; k++) {
        const named *x = &r->names[k];
        const bool is_alias = k > 0 && r->names[k - 1].storage == x->storage;
        put_text(t, "%s %s: %s[%d]", x->is_input ? "in" : is_alias ? "out" : "inout", x->name, clp_dtype_name(r->dtype[x->storage]),
            r->n_elems[x->storage]);
        if (x->has_block) {
            put_text(t, x->is_window ? " block [element(%d)] at (" : " block [%d] at (", x->block);
            if (x->by_table)
                put_text(t, "t[");
            linear map = x->map;
            map.mod = x->by_table ? TABLE : x->map.mod;
            put_linear(t, &map);
            if (x->by_table)
                put_text(t, "] %% %d", x->map.mod);
            put_text(t, ") pad 0");
        }
        if (is_alias)
            put_text(t, " alias %s", r->names[k - 1].name);
        put_text(t, ",\n    ");
    }
    put_text(t, "out sink: i32[P] block [1] at (");
    put_number(t, r);
    put_text(t, ")");
}

static void put_place(text_room *t, const statement *s)
{
    switch (s->place) {
    case AT: put_linear(t, &s->start); break;
    case RANGE:
        put_text(t, "ds(");
        put_linear(t, &s->start);
        put_text(t, ", %d, %d)", s->lanes, s->stride);
        break;
    case TILE:
        put_text(t, "(iota([%d]) * %d + ", s->lanes, s->stride);
        put_linear(t, &s->start);
        put_text(t, ") %% %d", s->start.mod);
        break;
    case TABLE_AT: {
        linear at = s->start;
        at.mod = TABLE;
        put_text(t, "t[");
        put_linear(t, &at);
        put_text(t, "] %% %d", s->start.mod);
        break;
    }
    default: put_text(t, "..."); break;
    }
}

static bool is_scalar(const statement *s)
{
    return s->place == AT || s->place == TABLE_AT;
}

static void put_mask(text_room *t, const statement *s)
{
    if (!s->has_mask)
        return;
    put_text(t, ", mask = (");
    if (!is_scalar(s))
        put_text(t, "iota([%d]) + ", s->lanes);
    put_linear(t, &s->mask);
    put_text(t, ") %% %d < %d", s->mask.mod, s->mask_below);
}

static void put_content(text_room *t, const statement *s, clp_dtype d)
{
    put_text(t, "cast(");
    if (s->content == CONSTANT)
        put_text(t, "%di32", s->constant);
    else if (s->content == PROGRAM)
        put_linear(t, &s->value);
    else
        put_text(t, "(s + 1) %% 7");
    put_text(t, ", %s)", clp_dtype_name(d == CLP_U4 ? CLP_U8 : d));
}

static void put_statement(text_room *t, const racy *r, const statement *s)
{
    static const char *const atomics[N_KINDS] = { [ADD] = "atomic_add", [MAX] = "atomic_max", [XCHG] = "atomic_xchg", [CAS] = "atomic_cas" };
    const named *x = &r->names[s->name];
    const clp_dtype d = r->dtype[x->storage];
    if (s->turns)
        put_text(t, "    for (e in 0 .. %d) {\n", s->turns);
    if (s->has_condition) {
        put_text(t, "    if (");
        put_linear(t, &s->condition);
        put_text(t, " == 0) {\n");
    }
    put_text(t, "        ");
    if (s->kind == LOAD)
        put_text(t, "s = (s + %s(cast(load(", is_scalar(s) ? "" : "sum");
    else
        put_text(t, "%s(", s->kind == STORE ? "store" : atomics[s->kind]);
    put_text(t, "%s[", x->name);
    put_place(t, s);
    put_text(t, "]");
    if (s->kind != LOAD) {
        put_text(t, ", ");
        if (s->kind == CAS)
            put_text(t, "cast(0i32, %s), ", clp_dtype_name(d));
        put_content(t, s, d);
    }
    put_mask(t, s);
    put_text(t, s->kind == LOAD ? "), i32))) %% 7;\n" : ");\n");
    put_text(t, s->has_condition ? "    }\n" : "");
    put_text(t, s->turns ? "    }\n" : "");
}

static void make_text(racy *r)
{
    static const char *const ids[] = { "i", "j", "k" };
    text_room t = { r->text, TEXT_BYTES };
    put_text(&t, "kernel racy(");
    put_operands(&t, r);
    put_text(&t, ")\ngrid (");
    for (int a = 0; a < r->n_axes; a++)
        put_text(&t, "%s%s = %d%s", a ? ", " : "", ids[a], r->size[a], r->is_arbitrary[a] ? " arbitrary" : "");
    put_text(&t, ")\n{\n    var s = 0;\n");
    for (int k = 0; k < r->n_statements; k++)
        put_statement(&t, r, &r->statements[k]);
    put_text(&t, "    sink[0] = s;\n}\n");
}

void racy_make(racy *r, uint64_t seed)
{
    draw_kernel(r, seed);
    make_text(r);
}
