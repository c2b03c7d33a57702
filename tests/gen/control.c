/* control: statements: values, stores, loops, branches, variables; and the accumulators of approximate values.
 * In: the pool. Out: lines. What is made inside a block is forgotten at its end, but for variables. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gen.h"

enum { MAX_DEPTH = 3 };

static void body(gen *g, int n)
{
    const int kept = g->n_pool;
    g->depth++;
    for (int i = 0; i < n; i++)
        statement(g);
    sink_values(g, kept);
    g->depth--;
    if (g->n_pool > kept)
        g->n_pool = kept;
}

/* A variable of the pool's most general kind: exact, of any size, its zeros without a sign. */
static void make_var(gen *g)
{
    const value v = random_value(g, EXACT);
    value x = { .dtype = v.dtype, .shape = v.shape, .mag = INFINITY, .is_var = true, .is_zero_free = is_flt(v.dtype) };
    say(x.name, sizeof x.name, "w%d", g->n_names++);
    emit(g, "var %s = %s;", x.name, v.name);
    add_value(g, &x);
}

static void assign(gen *g)
{
    int found[8], n = 0;
    for (int i = g->n_pool - 1; i >= 0 && n < 8; i--)
        if (g->pool[i].is_var)
            found[n++] = i;
    if (n == 0) {
        make_var(g);
        return;
    }
    const value x = g->pool[found[below(g, n)]];
    const value v = need_shape_of(g, x.dtype, &x.shape, EXACT);
    char dims[64];
    shape_text(dims, &x.shape);
    if (is_int(x.dtype) && one_in(g, 2))
        emit(g, "%s = %s + %s;", x.name, x.name, v.name);
    else if (v.shape.rank == x.shape.rank && !memcmp(&v.shape, &x.shape, sizeof v.shape))
        emit(g, "%s = %s;", x.name, v.name);
    else
        emit(g, "%s = broadcast(%s, %s);", x.name, v.name, dims);
}

static void for_loop(gen *g)
{
    static const int steps[] = { 1, 1, 1, 2, 3, -1 };
    const int step = steps[below(g, 6)], id = g->n_names++;
    char lo[64], hi[64], by[24] = "";
    const bool is_static = one_in(g, 6);
    if (is_static) {
        say(lo, sizeof lo, "%d", step < 0 ? 2 : 0);
        say(hi, sizeof hi, "%d", step < 0 ? -1 : 1 + below(g, 3));
    } else if (step < 0) {
        index_text(g, 4, lo);
        say(hi, sizeof hi, "%d", -1 + below(g, 2));
    } else {
        index_text(g, 2, lo);
        index_text(g, 5, hi);
    }
    if (step != 1)
        say(by, sizeof by, " step %d", step);
    for (int i = below(g, 3); i > 0; i--)
        make_var(g);
    emit(g, "%sfor (k%d in %s .. %s%s) {", is_static ? "static " : "", id, lo, hi, by);
    const int kept = g->n_pool;
    value index = { .dtype = CLP_I32, .mag = INFINITY };
    say(index.name, sizeof index.name, "k%d", id);
    if (is_static) { /* the index is a constant, and what is computed from it would be one */
        const shape none = { 0 };
        g->depth++;
        index = let(g, CLP_I32, &none, INFINITY, 0, "%s + cast(k%d, i32)", need(g, CLP_I32, &none, EXACT).name, id);
        g->depth--;
    } else
        add_value(g, &index);
    body(g, 2 + below(g, 4));
    g->n_pool = g->n_pool > kept ? kept : g->n_pool;
    emit(g, "}");
}

static void while_loop(gen *g)
{
    const int id = g->n_names++;
    const shape none = { 0 };
    for (int i = below(g, 3); i > 0; i--)
        make_var(g);
    const value c = need(g, CLP_BOOL, &none, EXACT);
    emit(g, "var c%d = 0;", id);
    emit(g, "while ((c%d < %d) & (%s | (c%d < 1))) { c%d += 1;", id, 1 + below(g, 4), c.name, id,
         id);
    const int kept = g->n_pool;
    value count = { .dtype = CLP_I32, .mag = INFINITY };
    say(count.name, sizeof count.name, "c%d", id);
    add_value(g, &count);
    body(g, 2 + below(g, 4));
    g->n_pool = g->n_pool > kept ? kept : g->n_pool;
    emit(g, "}");
}

static void branch(gen *g)
{
    const shape none = { 0 };
    const value c = need(g, CLP_BOOL, &none, EXACT);
    for (int i = below(g, 2); i > 0; i--)
        make_var(g);
    emit(g, "if (%s) {", c.name);
    body(g, 1 + below(g, 4));
    if (one_in(g, 2)) {
        emit(g, "} else {");
        body(g, 1 + below(g, 4));
    }
    emit(g, "}");
}

/* A sum over a loop, of approximate values; it enters the pool when it is done. */
static void accumulate_in_loop(gen *g)
{
    const shape s = random_shape(g, 2);
    const int n = 1 + below(g, 5), id = g->n_names++;
    char dims[64];
    shape_text(dims, &s);
    if (s.rank == 0)
        return;
    emit(g, "var acc%d = zeros(%s);", id, dims);
    emit(g, "for (k%d in 0 .. %d) {", id, n);
    g->depth++;
    const int kept = g->n_pool;
    value index = { .dtype = CLP_I32, .mag = INFINITY };
    say(index.name, sizeof index.name, "k%d", id);
    add_value(g, &index);
    make_value(g);
    load_value(g);
    const value x = need_shape_of(g, CLP_F32, &s, EXACT | SMALL), y = need_shape_of(g, CLP_F32, &s, SMALL);
    emit(g, "acc%d += %s * %s;", id, x.name, y.name);
    g->n_pool = g->n_pool > kept ? kept : g->n_pool;
    g->depth--;
    emit(g, "}");
    value sum = { .dtype = CLP_F32, .shape = s, .mag = n * 64.0, .is_zero_free = true };
    sum.err = y.err > 0 || g->k->is_fast ? n * (8 * y.err + 64 * 4 * eps(CLP_F32)) : 0;
    say(sum.name, sizeof sum.name, "acc%d", id);
    add_value(g, &sum);
}

/* ---- Functions ---- */

/* Functions of the kernel's own, with several values and with effects; %s: its name. */
static const char *const bodies[] = {
    "fn %s(a, b) { let lo = minimum(a, b); let hi = maximum(a, b); return hi, lo; }",
    "fn %s(a, b) { var s = a; for (t in 0 .. 3) { s = where(s < b, maximum(b, s), s); } return s, where(a < b, a, b); }",
    "fn %s(a, b) { let c = a > b; if (any(c)) { assert(any(c), \"it is\"); } return where(c, a, b), where(c, b, a); }",
};
static const char effects[] = "fn %s(r, v) { let old = r[...]; r[...] = v; return old, r[...]; }";

/* A call of which the pool gets both values. */
static void call(gen *g, const char *text, clp_dtype t, const shape *s, bool is_zero_free)
{
    value v = { .dtype = t, .shape = *s, .mag = INFINITY, .is_zero_free = is_zero_free }, w = v;
    say(v.name, sizeof v.name, "v%d", g->n_names++);
    say(w.name, sizeof w.name, "v%d", g->n_names++);
    emit(g, "let %s, %s = %s;", v.name, w.name, text);
    add_value(g, &v);
    add_value(g, &w);
}

/* Whose arguments are a ref and a value for all of it. */
static bool call_with_ref(gen *g, const char *name)
{
    for (int i = 0; i < g->k->n_operands; i++) {
        const operand *x = &g->k->operands[i];
        if (x->role != CLP_SCRATCH || x->is_unread || x->is_atomic)
            continue;
        char text[80];
        const value v = need(g, x->dtype, &x->ref, EXACT);
        say(text, sizeof text, "%s(%s, %s)", name, x->name, v.name);
        call(g, text, x->dtype, &x->ref, is_flt(x->dtype));
        return true;
    }
    return false;
}

static void call_fn(gen *g)
{
    made *k = g->k;
    char name[40], text[80];
    const bool has_effects = one_in(g, 3);
    if (k->n_fns == GEN_FNS)
        return;
    say(name, sizeof name, "f%llu_%d", (unsigned long long)k->seed, k->n_fns);
    if (has_effects) {
        say(k->fns[k->n_fns], sizeof k->fns[0], effects, name);
        k->n_fns += call_with_ref(g, name);
        return;
    }
    const value x = random_value(g, EXACT);
    if (x.dtype == CLP_BOOL)
        return;
    const value y = need(g, x.dtype, &x.shape, EXACT);
    say(k->fns[k->n_fns++], sizeof k->fns[0], bodies[below(g, 3)], name);
    say(text, sizeof text, "%s(%s, %s)", name, x.name, y.name);
    call(g, text, x.dtype, &x.shape, is_flt(x.dtype));
}

void statement(gen *g)
{
    if (g->k->n_lines > GEN_LINES - 120)
        return;
    switch (below(g, g->depth < MAX_DEPTH ? 35 : 27)) {
    case 0: case 1: case 2: case 3: store_value(g); break;
    case 4: atomic_value(g); break;
    case 5: make_var(g); break;
    case 6: case 7: assign(g); break;
    case 26: call_fn(g); break;
    case 27: case 28: for_loop(g); break;
    case 29: while_loop(g); break;
    case 30: case 31: case 32: branch(g); break;
    case 33: accumulate_in_loop(g); break;
    default: make_value(g);
    }
}

/* ---- Over the grid ---- */

/* The pattern of a matmul: a scratch cleared in the first of a sequence's programs and written out in the last. */
void accumulate_over_grid(gen *g)
{
    char first[120] = "", last[120] = "";
    int n = 1;
    operand *out = NULL;
    for (int i = 0; i < g->k->n_operands; i++)
        if (g->k->operands[i].is_approximate && !g->k->operands[i].is_sink && g->k->operands[i].dtype == CLP_F32)
            out = &g->k->operands[i];
    if (!out || out->ref.rank == 0 || g->k->n_operands == GEN_OPERANDS || one_in(g, 2))
        return;
    for (int a = 0; a < g->n_axes; a++)
        if (g->axes[a].is_arbitrary) {
            const size_t at = strlen(first), to = strlen(last);
            n *= g->axes[a].size;
            say(first + at, sizeof first - at, "%sfirst(%s)", at ? " & " : "", g->axes[a].name);
            say(last + to, sizeof last - to, "%slast(%s)", to ? " & " : "", g->axes[a].name);
        }
    if (!first[0])
        return;
    operand *s = &g->k->operands[g->k->n_operands];
    char dims[64];
    shape_text(dims, &out->ref);
    *s = (operand){ .role = CLP_SCRATCH, .dtype = CLP_F32, .alias = -1, .ref = out->ref, .is_unread = true };
    say(s->name, sizeof s->name, "t%d", g->k->n_operands++);
    say(s->text, sizeof s->text, "scratch %s: f32%s", s->name, dims);
    emit_start(g, s, "if (%s) { %s[...] = 0; }", first, s->name);
    const value x = need_shape_of(g, CLP_F32, &out->ref, EXACT | SMALL);
    const value y = need_shape_of(g, CLP_F32, &out->ref, SMALL);
    emit(g, "%s[...] += %s * %s;", s->name, x.name, y.name);
    emit(g, "if (%s) { %s[...] = %s[...]; }", last, out->name, s->name);
    out->err = fmax(out->err, n * (8 * y.err + 256 * eps(CLP_F32)));
}

/* Each sequence's part of the places. Its programs store there one after another. */
void scatter_shared(gen *g)
{
    char at[200] = "0";
    int n = 1;
    if (!g->shared)
        return;
    for (int a = 0; a < g->n_axes; a++) {
        char before[200];
        if (g->axes[a].is_arbitrary)
            continue;
        memcpy(before, at, sizeof before);
        say(at, sizeof at, "(%s) * %d + %s", before, g->axes[a].size, g->axes[a].name);
        n *= g->axes[a].size;
    }
    const shape s = { 1, { (int)g->shared->size[0] / n } };
    const clp_dtype t = g->shared->dtype;
    const value v = need_shape_of(g, t, &s, EXACT), m = need_shape_of(g, CLP_BOOL, &s, EXACT);
    emit(g, "let to = %s[ds((%s) * %d, %d)];", g->places->name, at, s.n[0], s.n[0]);
    if (one_in(g, 3))
        emit(g, "store(%s[to], %s, mask = %s);", g->shared->name, v.name, m.name);
    else if (is_int(t) && clp_dtype_bits(t) == 32 && one_in(g, 2))
        emit(g, "atomic_xchg(%s[to], %s);", g->shared->name, v.name);
    else
        emit(g, "%s[to] = %s;", g->shared->name, v.name);
}

static bool is_used(const made *k, const char *name)
{
    const size_t n = strlen(name);
    int n_seen = 0;
    for (int i = k->n_lines - 1; i >= 0; i--)
        for (const char *at = k->lines[i].text; (at = strstr(at, name)) != NULL; at += n)
            n_seen += at[n] < '0' || at[n] > '9';
    return n_seen > 1;
}

static void sink_value(gen *g, const value *v)
{
    const int kind = v->err > 0 ? 2 : is_flt(v->dtype) || is_f8(v->dtype) ? 1 : 0, n = elems(&v->shape);
    operand *x = g->sinks[kind];
    char text[64];
    if (n > GEN_SINK / 4)
        return;
    if (g->sunk[kind] + n > GEN_SINK)
        g->sunk[kind] = 0;
    const int at = g->sunk[kind];
    say(text, sizeof text, x->dtype == v->dtype ? "%s" : "cast(%s, %s)", v->name, tn(x->dtype));
    if (v->shape.rank == 0)
        emit(g, "%s[%d] = %s;", x->name, at, text);
    else if (v->shape.rank == 1)
        emit(g, "%s[%d:%d] = %s;", x->name, at, at + n, text);
    else
        emit(g, "%s[ds(%d, %d)] = reshape(%s, [%d]);", x->name, at, n, text, n);
    for (int i = 0; i < n; i++)
        x->errs[at + i] = (float)fmax(x->errs[at + i], v->err > 0 ? v->err + 2 * v->mag * eps(CLP_F32) : 0);
    g->sunk[kind] += n;
}

void sink_values(gen *g, int from)
{
    for (int i = from; i < g->n_pool; i++)
        if (!is_used(g->k, g->pool[i].name) && (isfinite(g->pool[i].mag) || g->pool[i].err == 0))
            sink_value(g, &g->pool[i]);
}

/* Every output gets something at last; approximate ones whatever approximate values there are. */
void finish_outputs(gen *g)
{
    for (int i = 0; i < g->k->n_operands; i++) {
        operand *x = &g->k->operands[i];
        if (x->is_atomic || x->is_sink || x == g->shared || x->is_absent || (x->role != CLP_OUT && x->role != CLP_INOUT))
            continue;
        if (!x->is_approximate) {
            if (one_in(g, 2))
                store_whole(g, x);
            continue;
        }
        char dims[64];
        for (int j = g->n_pool - 1; j >= 0 && x->ref.rank > 0; j--) {
            const value v = g->pool[j];
            if (v.err == 0 || v.err > 0.05 * v.mag || v.mag > 1e4 || !is_flt(v.dtype))
                continue;
            /* Whatever its shape: its elements one after another, repeated or cut. */
            const shape flat = { 1, { elems(&v.shape) } }, all = { 1, { elems(&x->ref) } };
            shape_text(dims, &x->ref);
            emit(g, "%s[...] = cast(reshape(take(reshape(%s, [%d]), iota([%d]) %% %d), %s), %s);", x->name, v.name,
                 flat.n[0], all.n[0], flat.n[0], dims, tn(x->dtype));
            x->err = fmax(x->err, v.err + 2 * v.mag * eps(x->dtype));
            g->pool[j].err = 0, g->pool[j].mag = INFINITY, g->pool[j].dtype = CLP_F8E4M3; /* once is enough */
            break;
        }
    }
}
