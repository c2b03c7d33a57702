/* gen: a kernel from a seed, and what all parts of the generator use: choices, lines, values, shapes.
 * In: a seed and limits. Out: a kernel as lines of text with its operands. The same seed gives the same kernel. */
#include "gen.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "support/support.h"

const limits gen_all = { 33, GEN_AXES, 26, false };

int below(gen *g, int n)
{
    return (int)(random_next(&g->state) % (uint64_t)n);
}

bool one_in(gen *g, int n)
{
    return below(g, n) == 0;
}

int say(char *out, size_t n_bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(out, n_bytes, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= n_bytes)
        abort();
    return n;
}

/* ---- Types ---- */

const char *tn(clp_dtype t)
{
    return clp_dtype_name(t);
}

bool is_f8(clp_dtype t)
{
    return t == CLP_F8E4M3 || t == CLP_F8E5M2;
}

bool is_flt(clp_dtype t)
{
    return clpi_is_float(t) && !is_f8(t);
}

bool is_int(clp_dtype t)
{
    return t != CLP_BOOL && !clpi_is_float(t);
}

double eps(clp_dtype t)
{
    switch (t) {
    case CLP_F64: return 0x1p-52;
    case CLP_F32: return 0x1p-23;
    case CLP_F16: return 0x1p-10;
    case CLP_BF16: return 0x1p-7;
    default: return 0;
    }
}

clp_dtype one_of(gen *g, const clp_dtype *dtypes, int n)
{
    const clp_dtype t = dtypes[below(g, n)];
    return t == CLP_F64 && g->limits.is_narrow ? CLP_F32 : t;
}

clp_dtype random_number(gen *g)
{
    static const clp_dtype all[] = { CLP_I8,  CLP_U8,  CLP_I16, CLP_U16, CLP_I32, CLP_U32, CLP_I64, CLP_U64,
                                     CLP_F16, CLP_BF16, CLP_F32, CLP_F64, CLP_I32, CLP_F32, CLP_F32, CLP_F64 };
    return one_of(g, all, (int)(sizeof all / sizeof *all));
}

/* ---- Shapes ---- */

int elems(const shape *s)
{
    int n = 1;
    for (int d = 0; d < s->rank; d++)
        n *= s->n[d];
    return n;
}

shape random_shape(gen *g, int max_rank)
{
    static const int ranks[] = { 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4 };
    shape s = { .rank = ranks[below(g, 11)] };
    if (s.rank > max_rank)
        s.rank = max_rank;
    for (int d = 0; d < s.rank; d++)
        s.n[d] = one_in(g, 9) ? 1 : g->sizes[below(g, 4)];
    for (int d = 0; elems(&s) > GEN_ELEMS; d = (d + 1) % s.rank)
        s.n[d] = s.n[d] / 2 + 1;
    return s;
}

void shape_text(char out[64], const shape *s)
{
    int n = say(out, 64, "[");
    for (int d = 0; d < s->rank; d++)
        n += say(out + n, 64 - (size_t)n, "%s%d", d ? ", " : "", s->n[d]);
    say(out + n, 64 - (size_t)n, "]");
}

/* ---- Lines and values ---- */

static void put_line(gen *g, const char *plain, const char *format, va_list args)
{
    made *k = g->k;
    if (k->n_lines == GEN_LINES)
        return;
    line *l = &k->lines[k->n_lines++];
    const int depth = 4 * (g->depth + 1);
    memset(l->text, ' ', (size_t)depth);
    vsnprintf(l->text + depth, sizeof l->text - (size_t)depth, format, args);
    l->plain[0] = '\0';
    l->starts = -1;
    if (plain)
        say(l->plain, sizeof l->plain, "%*s%s", depth, "", plain);
}

void emit(gen *g, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_line(g, NULL, format, args);
    va_end(args);
}

void emit_start(gen *g, const operand *x, const char *format, ...)
{
    const int before = g->k->n_lines;
    va_list args;
    va_start(args, format);
    put_line(g, NULL, format, args);
    va_end(args);
    if (g->k->n_lines > before)
        g->k->lines[before].starts = (int)(x - g->k->operands);
}

value *add_value(gen *g, const value *v)
{
    if (g->n_pool == GEN_VALUES) /* inner loops of a large kernel: the oldest goes */
        memmove(g->pool, g->pool + 1, sizeof g->pool - sizeof *g->pool), g->n_pool--;
    g->pool[g->n_pool] = *v;
    return &g->pool[g->n_pool++];
}

/* The simplest value of its type. */
static void plain_value(char out[100], clp_dtype t, const shape *s)
{
    char dims[64];
    shape_text(dims, s);
    if (t == CLP_BOOL)
        say(out, 100, s->rank ? "full(%s, true)" : "true", dims);
    else if (s->rank == 0)
        say(out, 100, "cast(1, %s)", tn(t));
    else if (is_f8(t))
        say(out, 100, "cast(full(%s, 1, dtype = f32), %s)", dims, tn(t));
    else
        say(out, 100, "full(%s, 1, dtype = %s)", dims, tn(t));
}

value let(gen *g, clp_dtype t, const shape *s, double mag, double err, const char *format, ...)
{
    value v = { .dtype = t, .shape = *s, .mag = mag, .err = err };
    char text[GEN_TEXT - 40], plain[100];
    say(v.name, sizeof v.name, "v%d", g->n_names++);
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    plain_value(plain, t, s);
    emit(g, "let %s = %s;", v.name, text);
    if (g->k->n_lines > 0)
        say(g->k->lines[g->k->n_lines - 1].plain, sizeof g->k->lines->plain, "%*slet %s = %s;", 4 * (g->depth + 1), "",
            v.name, plain);
    return *add_value(g, &v);
}

/* ---- A kernel ---- */

void kernel_make(made *k, uint64_t seed, const limits *l)
{
    static const int odd[] = { 1, 2, 3, 3, 4, 5, 5, 7, 7, 8, 9, 11, 13, 16, 17, 19, 20, 20, 25, 33 };
    gen g = { .k = k, .state = seed * 0x9e3779b97f4a7c15u + 1, .limits = *l };
    *k = (made){ .seed = seed };
    for (int i = 0; i < 4; i++) {
        g.sizes[i] = odd[below(&g, (int)(sizeof odd / sizeof *odd))];
        if (g.sizes[i] > l->size)
            g.sizes[i] = l->size;
    }
    k->is_fast = one_in(&g, 12);
    make_axes(&g);
    make_operands(&g);
    /* Most are small: a device's compiler takes long over large ones, and finds no more faults in them per second. */
    const int most = one_in(&g, 10) ? l->n_statements : (l->n_statements + 2) / 3;
    const int n = most / 2 + below(&g, most / 2 + 1);
    for (int i = 0; i < n && k->n_lines < GEN_LINES - 150; i++)
        statement(&g);
    accumulate_over_grid(&g);
    scatter_shared(&g);
    sink_values(&g, 0);
    finish_outputs(&g);
}

size_t kernel_text(const made *k, char *out, size_t n_bytes)
{
    size_t n = 0;
    bool is_first = true;
#define PUT(...) (n += (size_t)snprintf(out + n, n < n_bytes ? n_bytes - n : 0, __VA_ARGS__))
    PUT("// seed %llu\n", (unsigned long long)k->seed);
    for (int i = 0; k->has_box && i < k->n_axes; i++)
        PUT("// box, axis %d: from %d, %d programs\n", i, (int)k->box_start[i], (int)k->box_count[i]);
    for (int i = 0; i < k->n_fns; i++)
        PUT("%s\n", k->fns[i]);
    PUT("kernel k%llu%s%s%s(", (unsigned long long)k->seed, k->params[0] ? "<" : "", k->params, k->params[0] ? ">" : "");
    for (int i = 0; i < k->n_operands; i++)
        if (!k->operands[i].is_gone) {
            PUT("%s\n    %s", is_first ? "" : ",", k->operands[i].text);
            is_first = false;
        }
    PUT(")\ngrid (");
    for (int i = 0; i < k->n_axes; i++)
        PUT("%s%s", i ? ", " : "", k->axes[i]);
    PUT(")%s\n{\n", k->is_fast ? " math fast" : "");
    for (int i = 0; i < k->n_lines; i++)
        PUT("%s\n", k->lines[i].text);
    PUT("}\n");
#undef PUT
    return n;
}
