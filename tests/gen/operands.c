/* operands: the grid, the operands and what their arrays hold.
 * In: the generator's choices. Out: axes and declarations, and the values that bodies start from.
 * An operand that is written is seen by one sequence alone: each parallel axis counts one of its dimensions, one to one.
 * Blocks may hang over an array's end, never lie outside it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "gen.h"
#include "support/support.h"
#include "tool.h"

void make_axes(gen *g)
{
    static const char *const names[GEN_AXES] = { "gi", "gj", "gk", "gl", "gm" };
    g->n_axes = one_in(g, 10) ? 4 + below(g, 2) : below(g, 4);
    if (g->n_axes > g->limits.n_axes)
        g->n_axes = g->limits.n_axes;
    g->k->n_axes = g->n_axes;
    for (int a = 0; a < g->n_axes; a++) {
        grid_axis *x = &g->axes[a];
        say(x->name, sizeof x->name, "%s", names[a]);
        x->size = 1 + below(g, g->n_axes > 3 ? 2 : 4);
        x->is_arbitrary = one_in(g, 3);
        char size[16];
        say(size, sizeof size, "%d", x->size);
        if (one_in(g, 3)) { /* a size known when it runs */
            operand *s = &g->k->operands[g->k->n_operands++];
            *s = (operand){ .role = CLP_SCALAR, .dtype = CLP_I32, .content = INDICES, .bound = -x->size, .alias = -1 };
            say(s->name, sizeof s->name, "n%d", a);
            say(s->text, sizeof s->text, "scalar %s: i32", s->name);
            say(size, sizeof size, "%s", s->name);
        }
        g->k->box_count[a] = x->size;
        say(g->k->axes[a], sizeof g->k->axes[a], "%s = %s%s", x->name, size, x->is_arbitrary ? " arbitrary" : "");
        add_value(g, &(value){ .name = "", .dtype = CLP_I32, .mag = INFINITY });
        say(g->pool[g->n_pool - 1].name, sizeof g->pool->name, "%s", x->name);
    }
}

/* ---- Blocks ---- */

enum { AT_BYTES = 280 };

/* An array's dimensions as they are put together. */
typedef struct spec {
    char dims[160], block[200], at[420];
} spec;

static void add_text(char *out, size_t n_bytes, const char *item)
{
    const size_t n = strlen(out);
    say(out + n, n_bytes - n, "%s%s", n ? ", " : "", item);
}

/* A dimension of blocks of n (0: squeezed) elements whose block number `at` counts to n_blocks. */
static void add_dimension(gen *g, operand *x, spec *s, int n, int n_blocks, const char *at, bool may_overlap)
{
    char text[340];
    const int lies = n > 0 ? n : 1;
    int64_t size = (int64_t)(n_blocks - 1) * lies + 1 + (one_in(g, 2) ? lies - 1 : below(g, lies));
    const int i = x->rank++;
    if (n > 0 && one_in(g, 5)) { /* a window: its start is an element's number */
        const int pad = may_overlap ? below(g, n) : 0;
        if (may_overlap && one_in(g, 2)) { /* steps smaller than itself */
            const int step = 1 + below(g, n);
            say(text, sizeof text, "(%s) * %d", at, step);
            size = (int64_t)(n_blocks - 1) * step + 1 + below(g, n);
        } else
            say(text, sizeof text, "(%s) * %d", at, n);
        add_text(s->at, sizeof s->at, text);
        if (pad)
            say(text, sizeof text, "element(%d, pad = (%d, 1))", n, pad);
        else
            say(text, sizeof text, "element(%d)", n);
        add_text(s->block, sizeof s->block, text);
    } else {
        add_text(s->at, sizeof s->at, at);
        if (n)
            say(text, sizeof text, "%d", n);
        else
            say(text, sizeof text, "_");
        add_text(s->block, sizeof s->block, text);
    }
    if (n > 0)
        x->ref.n[x->ref.rank++] = n;
    x->size[i] = size;
    if (one_in(g, 2))
        say(text, sizeof text, "D%s%d", x->name, i);
    else
        say(text, sizeof text, "%d", (int)size);
    add_text(s->dims, sizeof s->dims, text);
}

/* The axes that count dimension d: `at` and how many blocks there are. owner[a]: the dimension that axis a counts. */
static int count_dimension(gen *g, const int *owner, int d, char at[AT_BYTES])
{
    int n_blocks = 1;
    at[0] = '\0';
    for (int a = 0; a < g->n_axes; a++) {
        const char *name = g->axes[a].name;
        char before[AT_BYTES], term[40];
        if (owner[a] != d)
            continue;
        if (g->axes[a].table[0] && one_in(g, 3))
            say(term, sizeof term, "%s[%s]", g->axes[a].table, name);
        else if (one_in(g, 6))
            say(term, sizeof term, "(num_programs(%s) - 1 - %s)", name, name);
        else
            say(term, sizeof term, "%s", name);
        say(before, sizeof before, "%s", at);
        if (before[0])
            say(at, AT_BYTES, "(%s) * %d + %s", before, g->axes[a].size, term);
        else
            say(at, AT_BYTES, "%s", term);
        n_blocks *= g->axes[a].size;
    }
    if (!at[0])
        say(at, AT_BYTES, "0");
    return n_blocks;
}

/* Dimensions of blocks: those of the ref, and squeezed ones between them. */
static void make_block(gen *g, operand *x, const shape *ref, bool is_written)
{
    spec s = { "", "", "" };
    int owner[GEN_AXES] = { -1, -1, -1, -1, -1 };
    bool squeezed[GEN_ARRAY_RANK] = { false };
    int n_dims = ref->rank, n_squeezed = below(g, 3) == 0;
    if (is_written && n_dims == 0)
        n_squeezed = 1;
    for (int i = 0; i < n_squeezed; i++)
        squeezed[below(g, ++n_dims)] = true;
    int taken = 0;
    for (int d = 0; d < n_dims; d++)
        taken += squeezed[d];
    n_dims = ref->rank + taken;
    for (int a = 0; a < g->n_axes && n_dims > 0; a++)
        if ((is_written && !g->axes[a].is_arbitrary) || !one_in(g, 3))
            owner[a] = below(g, n_dims);
    for (int d = 0, r = 0; d < n_dims; d++) {
        char at[AT_BYTES];
        const int n_blocks = count_dimension(g, owner, d, at);
        const bool is_squeezed = squeezed[d] || r == ref->rank;
        add_dimension(g, x, &s, is_squeezed ? 0 : ref->n[r++], n_blocks, at, !is_written);
    }
    say(x->at, sizeof x->at, "block [%s] at (%s)", s.block, s.at);
    say(x->text, sizeof x->text, "%s: %s[%s] %s", x->name, tn(x->dtype), s.dims, x->at);
}

/* ---- Operands ---- */

static operand *add_operand(gen *g, clp_role role, clp_dtype t, const char *prefix)
{
    operand *x = &g->k->operands[g->k->n_operands];
    *x = (operand){ .role = role, .dtype = t, .alias = -1, .mag = 4 };
    say(x->name, sizeof x->name, "%s%d", prefix, g->k->n_operands++);
    return x;
}

static void add_pad(gen *g, operand *x)
{
    static const char *const numbers[] = { "0", "1", "3" };
    char pad[32];
    if (one_in(g, 2))
        return;
    if (x->dtype == CLP_BOOL)
        say(pad, sizeof pad, " pad %s", one_in(g, 2) ? "true" : "false");
    else
        say(pad, sizeof pad, " pad %s", numbers[below(g, 3)]);
    strcat(x->text, pad);
}

static void with_role(operand *x)
{
    static const char *const words[] = { [CLP_IN] = "in ", [CLP_OUT] = "out ", [CLP_INOUT] = "inout ",
                                         [CLP_PREFETCH] = "prefetch ", [CLP_SCRATCH] = "scratch " };
    char text[GEN_TEXT];
    say(text, sizeof text, "%s%s", words[x->role], x->text);
    memcpy(x->text, text, sizeof text);
}

static clp_dtype random_storage(gen *g)
{
    static const clp_dtype rare[] = { CLP_BOOL, CLP_BOOL, CLP_I4, CLP_U4, CLP_F8E4M3, CLP_F8E5M2 };
    return one_in(g, 4) ? rare[below(g, 6)] : random_number(g);
}

/* There when the kernel is built with it; what uses it where it may be missing is never run. */
static void make_optional(gen *g, operand *x)
{
    char param[16];
    made *k = g->k;
    const size_t n = strlen(k->params);
    x->is_absent = one_in(g, 2);
    say(param, sizeof param, "has_%s", x->name);
    if (n + 32 > sizeof k->params)
        return;
    say(k->params + n, sizeof k->params - n, "%s%s = %s", n ? ", " : "", param, x->is_absent ? "false" : "true");
    strcat(x->text, " if ");
    strcat(x->text, param);
    if (!x->has_run_time_size)
        emit(g, "if (%s) { let of_%s = %s[...]; assert(%s, \"%s is there\"); }", param, x->name, x->name, param, x->name);
}

static void make_in(gen *g)
{
    operand *x = add_operand(g, CLP_IN, random_storage(g), "x");
    shape s = random_shape(g, 4);
    x->content = one_in(g, 3) ? WILD : TAME;
    x->mag = x->content == TAME ? 4 : INFINITY;
    if (one_in(g, 4)) { /* the whole array */
        char dims[100] = "", text[40];
        x->rank = s.rank;
        x->ref = s;
        for (int d = 0; d < s.rank; d++) {
            x->size[d] = s.n[d];
            const bool is_named = one_in(g, 2);
            x->has_run_time_size |= is_named;
            if (is_named)
                say(text, sizeof text, "D%s%d", x->name, d);
            else
                say(text, sizeof text, "%d", s.n[d]);
            add_text(dims, sizeof dims, text);
        }
        say(x->text, sizeof x->text, "%s: %s[%s]", x->name, tn(x->dtype), dims);
    } else
        make_block(g, x, &s, false);
    add_pad(g, x);
    if (one_in(g, 8))
        make_optional(g, x);
    with_role(x);
}

static void make_out(gen *g, bool is_approximate, bool may_alias)
{
    static const clp_dtype floats[] = { CLP_F32, CLP_F32, CLP_F32, CLP_F16, CLP_BF16, CLP_F64 };
    const clp_dtype t = is_approximate ? one_of(g, floats, 6) : random_storage(g);
    const shape s = random_shape(g, 4);
    const clp_role role = one_in(g, 3) && !is_approximate ? CLP_INOUT : CLP_OUT;
    operand *x = add_operand(g, role, t, "o");
    x->is_approximate = is_approximate;
    x->is_unread = is_approximate;
    make_block(g, x, &s, true);
    x->mag = is_approximate ? 4 : INFINITY;
    if (role == CLP_OUT && may_alias && one_in(g, 4)) {
        operand *y = add_operand(g, CLP_IN, t, "y");
        x = &g->k->operands[g->k->n_operands - 2];
        char body[GEN_TEXT];
        say(body, sizeof body, "%s", strchr(x->text, ':'));
        y->rank = x->rank, y->ref = x->ref, y->mag = INFINITY;
        memcpy(y->size, x->size, sizeof y->size);
        say(y->text, sizeof y->text, "%s%s", y->name, body);
        /* the input comes first: the alias names what is declared */
        operand copy = *x;
        *x = *y;
        g->k->operands[g->k->n_operands - 1] = copy;
        with_role(x);
        x = &g->k->operands[g->k->n_operands - 1];
        x->alias = g->k->n_operands - 2;
        strcat(x->text, " alias ");
        strcat(x->text, g->k->operands[x->alias].name);
    } else
        add_pad(g, x);
    with_role(x);
}

static void make_scratch(gen *g)
{
    operand *x = add_operand(g, CLP_SCRATCH, one_in(g, 8) ? CLP_BOOL : random_number(g), "s");
    char dims[64];
    x->ref = random_shape(g, 3);
    x->mag = INFINITY;
    shape_text(dims, &x->ref);
    say(x->text, sizeof x->text, "%s: %s%s", x->name, tn(x->dtype), dims);
    with_role(x);
}

/* A whole array that all programs count in; only one kind of atomic, so that their order does not matter. */
static void make_atomic(gen *g)
{
    static const clp_dtype types[] = { CLP_I32, CLP_U32, CLP_I32, CLP_I64, CLP_U64 };
    operand *x = add_operand(g, CLP_INOUT, types[below(g, g->limits.is_narrow ? 3 : 5)], "h");
    char dims[64];
    x->ref = random_shape(g, 2);
    x->is_atomic = true;
    x->bound = below(g, 6);
    x->rank = x->ref.rank;
    for (int d = 0; d < x->rank; d++)
        x->size[d] = x->ref.n[d];
    shape_text(dims, &x->ref);
    say(x->text, sizeof x->text, "%s: %s%s", x->name, tn(x->dtype), dims);
    with_role(x);
}

static void make_scalar(gen *g)
{
    operand *x = add_operand(g, CLP_SCALAR, one_in(g, 8) ? CLP_BOOL : random_number(g), "a");
    say(x->text, sizeof x->text, "scalar %s: %s", x->name, tn(x->dtype));
    value v = { .dtype = x->dtype, .mag = 4 };
    say(v.name, sizeof v.name, "%s", x->name);
    add_value(g, &v);
}

/* A table by which an input chooses its block. */
static void make_prefetch(gen *g)
{
    if (g->n_axes == 0)
        return;
    const grid_axis *a = &g->axes[below(g, g->n_axes)];
    operand *p = add_operand(g, CLP_PREFETCH, one_in(g, 3) ? CLP_I64 : CLP_I32, "p");
    p->content = INDICES;
    p->bound = 3;
    p->rank = 1;
    p->size[0] = a->size;
    p->ref = (shape){ 1, { a->size } };
    p->mag = 3;
    say(p->text, sizeof p->text, "%s: %s[%d]", p->name, tn(p->dtype), a->size);
    const char *table = p->name;
    with_role(p);
    operand *x = add_operand(g, CLP_IN, random_number(g), "x");
    const int n = g->sizes[below(g, 4)], m = g->sizes[below(g, 4)];
    x->rank = 2;
    x->ref = (shape){ 2, { n, m } };
    x->size[0] = 2 * n + 1 + below(g, n);
    x->size[1] = m;
    say(x->text, sizeof x->text, "%s: %s[D%s0, %d] block [%d, %d] at (%s[%s], 0)", x->name, tn(x->dtype), x->name,
             m, n, m, table, a->name);
    add_pad(g, x);
    with_role(x);
}

/* Tables with the numbers of an axis in another order, for block indices. */
static void make_tables(gen *g)
{
    for (int a = 0; a < g->n_axes; a++) {
        if (!one_in(g, 5))
            continue;
        operand *p = add_operand(g, CLP_PREFETCH, one_in(g, 3) ? CLP_I64 : CLP_I32, "p");
        p->content = PERMUTATION;
        p->rank = 1;
        p->size[0] = g->axes[a].size;
        p->ref = (shape){ 1, { g->axes[a].size } };
        p->mag = INFINITY;
        say(p->text, sizeof p->text, "%s: %s[%d]", p->name, tn(p->dtype), g->axes[a].size);
        with_role(p);
        say(g->axes[a].table, sizeof g->axes[a].table, "%s", p->name);
    }
}

/* An array that every sequence scatters to, at places that are its own: a part of a permutation. */
static void make_shared(gen *g)
{
    int n = 1 + below(g, 9);
    for (int a = 0; a < g->n_axes; a++)
        n *= g->axes[a].is_arbitrary ? 1 : g->axes[a].size;
    operand *z = add_operand(g, CLP_IN, CLP_I32, "z"), *c = add_operand(g, CLP_INOUT, random_number(g), "r");
    z->content = PERMUTATION;
    z->mag = INFINITY;
    c->is_unread = true;
    z->rank = c->rank = 1;
    z->size[0] = c->size[0] = n;
    z->ref = c->ref = (shape){ 1, { n } };
    say(z->text, sizeof z->text, "%s: i32[%d]", z->name, n);
    say(c->text, sizeof c->text, "%s: %s[%d]", c->name, tn(c->dtype), n);
    with_role(z);
    with_role(c);
    g->places = z;
    g->shared = c;
}

/* Outputs that take the values nothing else uses: each program's own row. */
static void make_sink(gen *g, int i)
{
    static const clp_dtype types[] = { CLP_I32, CLP_F32, CLP_F32 };
    operand *x = add_operand(g, CLP_OUT, types[i], "q");
    char dims[64] = "", block[64] = "", at[64] = "", text[16];
    x->is_sink = x->is_unread = true;
    x->is_approximate = i == 2;
    for (int a = 0; a < g->n_axes; a++) {
        x->size[x->rank++] = g->axes[a].size;
        say(text, sizeof text, "%d", g->axes[a].size);
        add_text(dims, sizeof dims, text);
        add_text(block, sizeof block, "_");
        add_text(at, sizeof at, g->axes[a].name);
    }
    x->size[x->rank++] = GEN_SINK;
    x->ref = (shape){ 1, { GEN_SINK } };
    say(text, sizeof text, "%d", GEN_SINK);
    add_text(dims, sizeof dims, text);
    add_text(block, sizeof block, text);
    add_text(at, sizeof at, "0");
    say(x->text, sizeof x->text, "out %s: %s[%s] block [%s] at (%s)", x->name, tn(x->dtype), dims, block, at);
    g->sinks[i] = x;
}

/* Sequences are run whole: what the first program of one sets up, the others count on. */
static void make_box(gen *g)
{
    made *k = g->k;
    k->has_box = g->n_axes > 0 && one_in(g, 6);
    for (int a = 0; k->has_box && a < g->n_axes; a++)
        if (!g->axes[a].is_arbitrary) {
            k->box_start[a] = below(g, g->axes[a].size);
            k->box_count[a] = 1 + below(g, g->axes[a].size - (int)k->box_start[a]);
        }
}

void make_operands(gen *g)
{
    const int n_in = 1 + below(g, 4), n_out = 1 + below(g, 3), n_scalars = below(g, 3), n_scratch = below(g, 3);
    make_tables(g);
    for (int i = 0; i < n_in; i++)
        make_in(g);
    for (int i = 0; i < n_scalars; i++)
        make_scalar(g);
    if (one_in(g, 3))
        make_prefetch(g);
    for (int i = 0; i < n_out; i++)
        make_out(g, false, true);
    if (one_in(g, 2))
        make_out(g, true, false);
    for (int i = 0; i < 3; i++)
        make_sink(g, i);
    for (int i = 0; i < n_scratch; i++)
        make_scratch(g);
    if (one_in(g, 4))
        make_atomic(g);
    if (one_in(g, 5))
        make_shared(g);
    make_box(g);
    for (int i = 0; i < g->k->n_operands; i++)
        if (g->k->operands[i].role == CLP_SCRATCH)
            store_first(g, &g->k->operands[i]);
}

/* ---- What arrays hold ---- */

static void put_bits(clp_array *a, int64_t i, uint64_t bits)
{
    const int n_bits = clp_dtype_bits(a->dtype);
    unsigned char *at = a->data;
    if (n_bits == 4)
        at[i / 2] = (unsigned char)(i % 2 ? (at[i / 2] & 15) | (bits & 15) << 4 : (at[i / 2] & 240) | (bits & 15));
    else
        memcpy(at + i * n_bits / 8, &bits, (size_t)n_bits / 8);
}

/* Every bit pattern of integers; of floats also what is no finite number, zeros of both signs and large ones. */
static void put_wild(clp_array *a, int64_t i, uint64_t *state)
{
    static const double special[] = { INFINITY, -INFINITY, NAN, 0.0, -0.0, 1e30, -1e-30, 65504, 0.5, 2.5, -1.5, 1e300 };
    const uint64_t r = random_next(state);
    if (!clpi_is_float(a->dtype))
        put_bits(a, i, a->dtype == CLP_BOOL ? r & 1 : r % 3 ? r >> 8 : r >> 62);
    else
        array_set(a, i, r % 3 == 0 ? special[r / 3 % 12] : ldexp(random_uniform(state) - 0.5, (int)(r / 64 % 24) - 8));
}

/* Element i goes to one of the i + 1 first places; what was there moves to the end. */
static void put_next_of_permutation(clp_array *a, int64_t i, uint64_t *state)
{
    const int64_t j = (int64_t)(random_next(state) % (uint64_t)(i + 1));
    array_set(a, i, j < i ? array_number(a, j) : (double)i);
    array_set(a, j, (double)i);
}

void operand_fill(const operand *x, uint64_t seed, clp_array *a)
{
    uint64_t state = seed;
    for (const char *c = x->name; *c; c++)
        state = state * 31 + (unsigned char)*c;
    for (int64_t i = 0, n = array_elems(a); i < n; i++) {
        if (x->content == PERMUTATION)
            put_next_of_permutation(a, i, &state);
        else if (x->content == WILD)
            put_wild(a, i, &state);
        else if (x->content == INDICES)
            array_set(a, i, x->bound < 0 ? -x->bound : (double)(random_next(&state) % (uint64_t)x->bound));
        else if (clpi_is_float(a->dtype))
            array_set(a, i, (double)(random_next(&state) % 65) / 8 - 4);
        else
            put_bits(a, i, a->dtype == CLP_BOOL ? random_next(&state) & 1 : random_next(&state) % 9 - 4);
    }
}
