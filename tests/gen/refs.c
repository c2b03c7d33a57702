/* refs: what is read and written through subscripts.
 * In: operands and the pool. Out: loads, stores and atomics. Decides that subscripts on refs stay in range, save in lanes
 * that a mask takes out; subscripts on values may go anywhere. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "gen.h"

typedef enum subscripted { REF, RUN_TIME_REF, VALUE } subscripted;

typedef struct subs {
    char text[240];
    shape result;
    bool ok, has_tile;
} subs;

static void add_sub(subs *s, const char *text)
{
    const size_t n = strlen(s->text);
    say(s->text + n, sizeof s->text - n, "%s%s", n ? ", " : "", text);
}

static void add_result(subs *s, int n)
{
    if (s->result.rank == GEN_RANK)
        s->ok = false;
    else
        s->result.n[s->result.rank++] = n;
}

/* The same elements from the last to the first. */
static void turned_slice(gen *g, subs *s, int room, int first, int size, int stride, subscripted what)
{
    char text[120], start[64];
    const int last = first + (size - 1) * stride;
    if (what == RUN_TIME_REF || one_in(g, 2)) {
        index_text(g, room, start);
        say(text, sizeof text, "ds(%s + %d, %d, -%d)", start, last - first, size, stride);
    } else if (first == 0)
        say(text, sizeof text, "%d::-%d", last, stride);
    else
        say(text, sizeof text, "%d:%d:-%d", last, first - 1, stride);
    add_sub(s, text);
    add_result(s, size);
}

/* start, size, stride within n elements. */
static void slice(gen *g, subs *s, int n, subscripted what)
{
    char text[120], start[64];
    int stride = 1 + below(g, 3), size = 1 + below(g, n);
    while (1 + (size - 1) * stride > n)
        size--;
    const int room = n - (size - 1) * stride;
    const int first = below(g, room), last = first + (size - 1) * stride;
    if (one_in(g, 4)) {
        turned_slice(g, s, room, first, size, stride, what);
        return;
    }
    switch (what == RUN_TIME_REF ? below(g, 2) : below(g, 5)) {
    case 0:
        index_text(g, room, start);
        say(text, sizeof text, stride > 1 ? "ds(%s, %d, %d)" : "ds(%s, %d)", start, size, stride);
        break;
    case 1: say(text, sizeof text, stride > 1 ? "ds(%d, %d, %d)" : "ds(%d, %d)", first, size, stride); break;
    case 2:
        say(text, sizeof text, stride > 1 ? "%d:%d:%d" : "%d:%d", first, last + 1, stride);
        break;
    case 3: /* from behind */
        if (one_in(g, 2)) {
            say(text, sizeof text, "::-1");
            size = n;
        } else
            say(text, sizeof text, "%d:", n - size);
        break;
    default:
        say(text, sizeof text, ":%d", size);
    }
    add_sub(s, text);
    add_result(s, size);
}

/* Tiles for one dimension, or for two next to each other. */
static void gather(gen *g, subs *s, const int *n, int n_dims, subscripted what)
{
    shape a = { 1 + below(g, 2), { g->sizes[below(g, 4)], g->sizes[below(g, 4)] } }, b = a, both = a;
    if (one_in(g, 8))
        a.rank = b.rank = both.rank = 1;
    if (n_dims == 2 && a.rank == 2 && one_in(g, 2)) {
        a.n[1] = 1;
        b.n[0] = 1;
    }
    s->has_tile = true;
    const bool is_anywhere = what == VALUE && one_in(g, 3);
    const value x = is_anywhere ? need(g, CLP_I32, &a, EXACT) : index_tile(g, &a, n[0]);
    add_sub(s, x.name);
    if (n_dims == 2) {
        const value y = index_tile(g, &b, n[1]);
        add_sub(s, y.name);
    }
    for (int d = 0; d < both.rank; d++)
        add_result(s, both.n[d]);
}

static void integer(gen *g, subs *s, int n, subscripted what)
{
    char text[64];
    const shape none = { 0 };
    if (what == VALUE && one_in(g, 4))
        say(text, sizeof text, "-%d", 1 + below(g, n));
    else if (what == VALUE && one_in(g, 3)) { /* wherever it points */
        const value i = need(g, CLP_I32, &none, EXACT);
        say(text, sizeof text, "%s", i.name);
    } else
        index_text(g, n, text);
    add_sub(s, text);
}

static subs make_subs(gen *g, const shape *of, subscripted what)
{
    subs s = { .ok = true };
    bool has_gather = false, has_dots = false;
    if (what != RUN_TIME_REF && (of->rank == 0 || one_in(g, 5))) {
        add_sub(&s, "...");
        s.result = *of;
        return s;
    }
    for (int d = 0; d < of->rank; d++) {
        const int choice = below(g, 10);
        if (what == VALUE && one_in(g, 8)) {
            add_sub(&s, "None");
            add_result(&s, 1);
        }
        if (choice < 2 && what != RUN_TIME_REF) {
            add_sub(&s, ":");
            add_result(&s, of->n[d]);
        } else if (choice == 2 && what != RUN_TIME_REF && !has_dots) {
            const int n = below(g, of->rank - d + 1);
            has_dots = true;
            add_sub(&s, "...");
            for (int i = 0; i < n; i++)
                add_result(&s, of->n[d + i]);
            d += n - 1;
        } else if (choice < 5)
            integer(g, &s, of->n[d], what);
        else if (choice == 5 && !has_gather) {
            const int n = d + 1 < of->rank && one_in(g, 2) ? 2 : 1;
            gather(g, &s, of->n + d, n, what);
            has_gather = true;
            d += n - 1;
        } else
            slice(g, &s, of->n[d], what);
        if (what != RUN_TIME_REF && d + 1 < of->rank && one_in(g, 10) && !has_dots) { /* the rest is whole */
            for (int i = d + 1; i < of->rank; i++)
                add_result(&s, of->n[i]);
            break;
        }
    }
    s.ok = s.ok && s.text[0] && elems(&s.result) <= GEN_ELEMS;
    return s;
}

/* ---- Operands ---- */

static bool is_plain_ref(const operand *x)
{
    return x->role != CLP_SCALAR && !x->is_atomic && !x->is_absent;
}

static operand *some_operand(gen *g, bool to_write)
{
    for (int tries = 0; tries < 30; tries++) {
        operand *x = &g->k->operands[below(g, g->k->n_operands)];
        const bool can_be_written = x->role == CLP_OUT || x->role == CLP_INOUT || x->role == CLP_SCRATCH;
        if (is_plain_ref(x) && (to_write ? can_be_written : !x->is_unread) && (!to_write || !x->is_unread))
            return x;
    }
    return NULL;
}

/* i4 and u4 widen when they are loaded. */
static clp_dtype loaded(clp_dtype t)
{
    return t == CLP_I4 ? CLP_I8 : t == CLP_U4 ? CLP_U8 : t;
}

/* A value loaded from x. What another name or a store may have put there is known for its dtype only. */
static void loaded_value(gen *g, const operand *x, const shape *s, const char *text)
{
    const bool is_input = (x->role == CLP_IN && x->name[0] != 'y') || x->role == CLP_PREFETCH;
    let(g, loaded(x->dtype), s, is_input ? x->mag : INFINITY, 0, "%s", text);
    g->pool[g->n_pool - 1].is_zero_free = !is_input && clpi_is_float(x->dtype);
}

/* A gather whose indices go anywhere, with a mask for those in range. */
static void masked_gather(gen *g, const operand *x)
{
    const shape s = random_shape(g, 2);
    const value i = need(g, CLP_I32, &s, EXACT);
    char text[GEN_TEXT];
    const clp_dtype t = loaded(x->dtype);
    const value other = is_f8(t) ? i : need(g, t, &(shape){ 0 }, EXACT);
    char tail[64] = "";
    if (!is_f8(t) && one_in(g, 2))
        say(tail, sizeof tail, ", other = %s", other.name);
    say(text, sizeof text, "load(%s[%s], mask = (%s >= 0) & (%s < %d)%s)", x->name, i.name, i.name, i.name,
             x->ref.n[0], tail);
    let(g, t, &s, INFINITY, 0, "%s", text);
    g->pool[g->n_pool - 1].is_zero_free = clpi_is_float(t);
}

void load_value(gen *g)
{
    const operand *x = some_operand(g, false);
    char text[GEN_TEXT];
    if (!x)
        return;
    if (x->ref.rank == 1 && one_in(g, 3)) {
        masked_gather(g, x);
        return;
    }
    const subs s = make_subs(g, &x->ref, x->has_run_time_size ? RUN_TIME_REF : REF);
    if (!s.ok)
        return;
    if (one_in(g, 5)) {
        const value m = need_shape_of(g, CLP_BOOL, &s.result, EXACT);
        const clp_dtype t = loaded(x->dtype);
        char tail[64] = "";
        if (one_in(g, 2) && !is_f8(t)) {
            const value other = need_shape_of(g, t, &s.result, EXACT);
            say(tail, sizeof tail, ", other = %s", other.name);
        }
        let(g, t, &s.result, INFINITY, 0, "load(%s[%s], mask = %s%s)", x->name, s.text, m.name, tail);
        g->pool[g->n_pool - 1].is_zero_free = clpi_is_float(t);
        return;
    }
    say(text, sizeof text, "%s[%s]", x->name, s.text);
    loaded_value(g, x, &s.result, text);
}

void value_subscript(gen *g)
{
    const value x = random_value(g, one_in(g, 4) ? 0 : EXACT);
    if (x.shape.rank == 0)
        return;
    const subs s = make_subs(g, &x.shape, VALUE);
    if (!s.ok)
        return;
    let(g, x.dtype, &s.result, x.mag, x.err, "%s[%s]", x.name, s.text);
    g->pool[g->n_pool - 1].is_zero_free = x.is_zero_free;
}

/* ---- Stores ---- */

void store_first(gen *g, const operand *x)
{
    const value v = need_shape_of(g, loaded(x->dtype), &x->ref, EXACT);
    emit_start(g, x, "%s[...] = %s;", x->name, v.name);
}

void store_whole(gen *g, const operand *x)
{
    const clp_dtype t = loaded(x->dtype);
    const value v = need_shape_of(g, t, &x->ref, EXACT);
    emit(g, "%s[...] = %s;", x->name, v.name);
}

void store_value(gen *g)
{
    operand *x = some_operand(g, true);
    if (!x)
        return;
    const subs s = make_subs(g, &x->ref, x->has_run_time_size ? RUN_TIME_REF : REF);
    if (!s.ok)
        return;
    const clp_dtype t = loaded(x->dtype);
    const value v = need_shape_of(g, t, &s.result, EXACT);
    if (one_in(g, 4)) {
        const value m = need_shape_of(g, CLP_BOOL, &s.result, EXACT);
        emit(g, "store(%s[%s], %s, mask = %s);", x->name, s.text, v.name, m.name);
    } else if (one_in(g, 4) && clp_dtype_bits(t) >= 8 && t != CLP_BOOL && !is_f8(t) && x->dtype == t &&
               !(g->k->is_fast && is_flt(t)))
        emit(g, "%s[%s] %s= %s;", x->name, s.text, one_in(g, 2) ? "+" : "-", v.name);
    else
        emit(g, "%s[%s] = %s;", x->name, s.text, v.name);
}

void atomic_value(gen *g)
{
    static const char *const names[] = { "add", "min", "max", "and", "or", "xor", "xchg" };
    const operand *x = NULL;
    for (int tries = 0; tries < 20 && !x; tries++) {
        const operand *y = &g->k->operands[below(g, g->k->n_operands)];
        const bool is_written = y->role == CLP_OUT || y->role == CLP_INOUT || y->role == CLP_SCRATCH;
        if (is_written && !y->is_unread && !y->is_absent && is_int(y->dtype) && clp_dtype_bits(y->dtype) >= 32 &&
            !(g->limits.is_narrow && clp_dtype_bits(y->dtype) > 32))
            x = y;
    }
    if (!x)
        return;
    const subs s = make_subs(g, &x->ref, REF);
    if (!s.ok)
        return;
    const value v = need_shape_of(g, x->dtype, &s.result, EXACT);
    char mask[64] = "";
    if (one_in(g, 2)) {
        const value m = need_shape_of(g, CLP_BOOL, &s.result, EXACT);
        say(mask, sizeof mask, ", mask = %s", m.name);
    }
    /* Where no two lanes meet, the old values are known, and so is who came last. */
    const bool is_alone = !s.has_tile && !x->is_atomic;
    const int op = x->is_atomic ? x->bound : below(g, is_alone ? 8 : 6);
    char text[GEN_TEXT - 40];
    if (op == 7) {
        const value e = need_shape_of(g, x->dtype, &s.result, EXACT);
        say(text, sizeof text, "atomic_cas(%s[%s], %s, %s)", x->name, s.text, e.name, v.name);
    } else
        say(text, sizeof text, "atomic_%s(%s[%s], %s%s)", names[op], x->name, s.text, v.name, mask);
    if (is_alone && one_in(g, 2))
        let(g, x->dtype, &s.result, INFINITY, 0, "%s", text);
    else
        emit(g, "%s;", text);
}
