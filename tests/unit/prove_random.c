/* prove_random: random kernels. In: a seed. Out: a spec, and its text.                                                   */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "unit/prove_random.h"

static const char *const axis_names[SPEC_AXES] = { "i", "j", "k" };
static const char *const dim_names[SPEC_DIMS] = { "N", "M", "K" };
static const char *const operand_names[SPEC_OPERANDS] = { "x", "y", "z" };

/* ---- Drawing ---- */

typedef struct maker { spec *s; uint64_t state; bool in_body, has_turn, has_carried, has_lane; } maker;

static int draw(maker *m, int n)
{
    m->state ^= m->state << 13;
    m->state ^= m->state >> 7;
    m->state ^= m->state << 17;
    return (int)((m->state >> 11) % (uint64_t)n);
}

static bool one_in(maker *m, int n)
{
    return draw(m, n) == 0;
}

static int put(maker *m, expr_kind kind, int64_t value, int a, int b)
{
    assert(m->s->n_exprs < SPEC_EXPRS);
    m->s->exprs[m->s->n_exprs] = (expr){ kind, value, a, b };
    return m->s->n_exprs++;
}

static int constant(maker *m, int64_t c)
{
    return put(m, EXPR_CONST, c, 0, 0);
}

/* No axes: a size. */
static int draw_size(maker *m)
{
    int dim = put(m, EXPR_DIM, draw(m, m->s->n_dims), 0, 0);
    switch (draw(m, 12)) {
    case 0: return constant(m, 1 + draw(m, 6));
    case 1: return put(m, EXPR_ADD, 0, dim, constant(m, 1 + draw(m, 3)));
    case 2: return put(m, EXPR_MUL, 0, constant(m, 2), dim);
    default: return dim;
    }
}

static int draw_axis_size(maker *m)
{
    const spec_operand *x = &m->s->operands[draw(m, m->s->n_operands)];
    const int d = draw(m, x->rank);
    if (x->has_block && !one_in(m, 3)) /* a program for each block */
        return x->n[d] == 1 ? x->size[d] : put(m, EXPR_CDIV, 0, x->size[d], constant(m, x->n[d]));
    int dim = put(m, EXPR_DIM, draw(m, m->s->n_dims), 0, 0), other = put(m, EXPR_DIM, draw(m, m->s->n_dims), 0, 0);
    switch (draw(m, 14)) {
    case 0: return constant(m, 1 + draw(m, 4));
    case 1: return put(m, EXPR_DIV, 0, dim, constant(m, 1 + draw(m, 4)));
    case 2: return put(m, EXPR_ADD, 0, dim, constant(m, draw(m, 4) - 1));
    case 3: return put(m, EXPR_MAX, 0, constant(m, 1), put(m, EXPR_CDIV, 0, dim, constant(m, 1 + draw(m, 4))));
    case 4: return put(m, EXPR_MUL, 0, put(m, EXPR_CDIV, 0, dim, constant(m, 1 + draw(m, 3))), put(m, EXPR_CDIV, 0, other, constant(m, 1 + draw(m, 3))));
    case 5: return put(m, EXPR_MIN, 0, dim, constant(m, 1 + draw(m, 4)));
    case 6: return m->s->has_scalar ? put(m, EXPR_SCALAR, 0, 0, 0) : dim;
    case 7: case 8: return dim;
    default: return put(m, EXPR_CDIV, 0, dim, constant(m, 1 + draw(m, 4)));
    }
}

static int draw_leaf(maker *m)
{
    if (m->has_lane && one_in(m, 2))
        return put(m, EXPR_LANE, 0, 0, 0);
    if (m->has_carried && one_in(m, 2))
        return put(m, EXPR_CARRIED, 0, 0, 0);
    if (m->has_turn && one_in(m, 3))
        return put(m, EXPR_TURN, 0, 0, 0);
    switch (draw(m, 12)) {
    case 0: return put(m, EXPR_DIM, draw(m, m->s->n_dims), 0, 0);
    case 1: return put(m, EXPR_NUM, draw(m, m->s->n_axes), 0, 0);
    case 2: case 3: return constant(m, draw(m, 6));
    case 4: if (m->s->has_scalar) return put(m, EXPR_SCALAR, 0, 0, 0); /* fall through */
    default: return put(m, EXPR_AXIS, draw(m, m->s->n_axes), 0, 0);
    }
}

static condition draw_condition(maker *m, int depth);

static int draw_any(maker *m, int depth)
{
    static const expr_kind kinds[] = { EXPR_ADD, EXPR_ADD, EXPR_SUB, EXPR_MUL, EXPR_DIV, EXPR_MOD, EXPR_MIN, EXPR_MAX, EXPR_CDIV };
    if (depth == 0 || one_in(m, 3))
        return draw_leaf(m);
    int a = draw_any(m, depth - 1), b = draw_any(m, depth - 1);
    if (m->in_body && !m->has_lane && one_in(m, 6) && m->s->n_conditions < SPEC_CONDITIONS) {
        const condition c = draw_condition(m, 0);
        m->s->conditions[m->s->n_conditions] = c;
        return put(m, EXPR_WHERE, m->s->n_conditions++, a, b);
    }
    return put(m, kinds[draw(m, sizeof kinds / sizeof *kinds)], 0, a, b);
}

/* What index maps look like: an axis, scaled, shifted, folded, two of them in one. */
static int draw_index(maker *m)
{
    int axis = draw(m, m->s->n_axes), other = draw(m, m->s->n_axes);
    int i = put(m, EXPR_AXIS, axis, 0, 0), j = put(m, EXPR_AXIS, other, 0, 0);
    switch (draw(m, 28)) {
    case 0: return constant(m, draw(m, 3));
    case 1: return put(m, EXPR_MUL, 0, constant(m, 1 + draw(m, 4)), i);
    case 2: return put(m, EXPR_ADD, 0, put(m, EXPR_MUL, 0, constant(m, 1 + draw(m, 4)), i), constant(m, draw(m, 3)));
    case 3: return put(m, EXPR_ADD, 0, put(m, EXPR_MUL, 0, i, put(m, EXPR_NUM, other, 0, 0)), j);
    case 4: return put(m, EXPR_DIV, 0, i, constant(m, 1 + draw(m, 3)));
    case 5: return put(m, EXPR_MOD, 0, i, constant(m, 1 + draw(m, 3)));
    case 6: return put(m, EXPR_DIV, 0, i, put(m, EXPR_NUM, other, 0, 0));
    case 7: return put(m, EXPR_MOD, 0, i, put(m, EXPR_NUM, other, 0, 0));
    case 8: return put(m, EXPR_MIN, 0, i, constant(m, draw(m, 4)));
    case 9: return put(m, EXPR_SUB, 0, put(m, EXPR_SUB, 0, put(m, EXPR_NUM, axis, 0, 0), constant(m, 1)), i);
    case 10: return put(m, EXPR_ADD, 0, i, put(m, EXPR_MUL, 0, constant(m, 1 + draw(m, 3)), j));
    case 11: case 12: return draw_any(m, 2);
    case 13: return put(m, EXPR_MOD, 0, put(m, EXPR_ADD, 0, i, constant(m, 1 + draw(m, 2))), put(m, EXPR_NUM, axis, 0, 0));
    default: return i;
    }
}

static condition draw_condition(maker *m, int depth)
{
    condition c = { .n = 1 + one_in(m, 4), .is_or = one_in(m, 2), .is_not = one_in(m, 5) };
    for (int i = 0; i < c.n; i++) {
        c.kind[i] = (compare_kind)draw(m, 5);
        c.a[i] = draw_any(m, depth);
        c.b[i] = draw_any(m, depth && one_in(m, 3));
    }
    return c;
}

static void draw_operand(maker *m, int number)
{
    spec *s = m->s;
    spec_operand *x = &s->operands[number];
    bool can_alias = number > 0 && !strcmp(s->operands[number - 1].role, "in") && s->operands[number - 1].alias < 0;
    *x = (spec_operand){ .role = number == s->n_operands - 1 ? (one_in(m, 2) ? "out" : "inout") : one_in(m, 3) ? "out" : one_in(m, 2) ? "inout" : "in",
                         .alias = -1, .rank = 1 + one_in(m, 2) };
    if (can_alias && !strcmp(x->role, "out") && one_in(m, 2)) {
        x->alias = number - 1;
        x->rank = s->operands[number - 1].rank;
    }
    x->has_block = !one_in(m, 4);
    for (int d = 0; d < x->rank; d++) {
        x->size[d] = x->alias >= 0 ? s->operands[x->alias].size[d] : draw_size(m);
        x->n[d] = 1 + draw(m, 4);
        int kind = draw(m, 6);
        x->block[d] = !x->has_block ? BLOCK_WHOLE : kind == 0 ? BLOCK_SQUEEZED : kind == 1 ? BLOCK_ELEMENT : BLOCK_PLAIN;
        x->lo[d] = x->block[d] == BLOCK_ELEMENT ? draw(m, 3) : 0;
        if (x->block[d] == BLOCK_SQUEEZED)
            x->n[d] = 1;
        if (x->has_block)
            x->index[d] = draw_index(m);
    }
}

/* Mostly inside: a place in the block, a program's own place in the array. */
static int draw_start(maker *m, const spec_operand *x, int d)
{
    const int axis = put(m, EXPR_AXIS, draw(m, m->s->n_axes), 0, 0);
    if (one_in(m, 4))
        return draw_any(m, 1);
    if (!x->has_block)
        return one_in(m, 3) ? draw_index(m) : axis;
    return one_in(m, 2) ? constant(m, draw(m, (int)x->n[d])) : put(m, EXPR_MOD, 0, axis, constant(m, x->n[d]));
}

/* Subscripts of what the body sees; the size of a dimension is -1 where it is known at run time only. */
static int draw_subs(maker *m, spec_access *a)
{
    const spec_operand *x = &m->s->operands[a->operand];
    int place_rank = 0;
    for (int d = 0, r = 0; d < x->rank; d++) {
        if (x->block[d] == BLOCK_SQUEEZED)
            continue;
        spec_sub *sub = &a->sub[r++];
        bool is_known = x->has_block || m->s->exprs[x->size[d]].kind == EXPR_CONST;
        sub->kind = is_known && one_in(m, 2) ? SUB_ALL : one_in(m, 2) ? SUB_AT : one_in(m, 3) && place_rank == 0 ? SUB_TILE : SUB_RANGE;
        sub->size = 1 + draw(m, 3);
        sub->stride = 1 + (one_in(m, 3) ? draw(m, 3) : 0);
        if (sub->kind == SUB_ALL)
            sub->size = x->has_block ? x->n[d] : m->s->exprs[x->size[d]].value;
        m->has_lane = sub->kind == SUB_TILE;
        if (sub->kind != SUB_ALL)
            sub->start = draw_start(m, x, d);
        if (sub->kind == SUB_TILE) /* the lane always counts, so that it is a tile */
            sub->start = put(m, EXPR_ADD, 0, put(m, EXPR_MUL, 0, put(m, EXPR_LANE, 0, 0, 0), constant(m, 1 + draw(m, 2))), sub->start);
        m->has_lane = false;
        place_rank += sub->kind != SUB_AT;
    }
    return place_rank;
}

static void draw_access(maker *m, int number)
{
    spec *s = m->s;
    spec_access *a = &s->accesses[number];
    *a = (spec_access){ .operand = number == 0 ? s->n_operands - 1 : draw(m, s->n_operands) };
    bool is_input = !strcmp(s->operands[a->operand].role, "in");
    int kind = draw(m, 6);
    a->kind = is_input || kind == 0 ? ACCESS_LOAD : kind == 1 ? ACCESS_ATOMIC : ACCESS_STORE;
    if (number == 0)
        a->kind = ACCESS_STORE;
    m->in_body = true;
    if (one_in(m, 6)) {
        a->has_loop = true;
        a->from = draw_any(m, one_in(m, 3));
        a->to = draw_any(m, 1);
        a->step = one_in(m, 4) ? -1 - draw(m, 2) : 1 + draw(m, 2);
        a->carries = one_in(m, 2);
        a->carried_start = draw_any(m, 1);
        a->carried_step = draw(m, 6) - 2;
        m->has_turn = true;
        m->has_carried = a->carries;
    }
    if (one_in(m, 4))
        a->branch = draw_condition(m, 1);
    int place_rank = draw_subs(m, a);
    if (place_rank == 1 && one_in(m, 4)) {
        m->has_lane = true;
        a->mask = draw_condition(m, 1);
        m->has_lane = false;
    }
    m->has_turn = m->has_carried = m->in_body = false;
}

/* ---- Text ---- */

typedef struct writer { char *text; size_t n, room; int line, access; } writer;

static void puts_to(writer *w, const char *text)
{
    size_t n = strlen(text);
    assert(w->n + n + 1 < w->room);
    memcpy(w->text + w->n, text, n + 1);
    w->n += n;
    for (; *text; text++)
        w->line += *text == '\n';
}

static void number_to(writer *w, int64_t value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    puts_to(w, digits);
}

static bool has_lane(const spec *s, int e)
{
    const expr *x = &s->exprs[e];
    return x->kind == EXPR_LANE || (x->kind >= EXPR_ADD && (has_lane(s, x->a) || has_lane(s, x->b)));
}

static void condition_to(writer *w, const spec *s, const condition *c, int64_t tile_size);

/* tile_size: of the tile that a lane stands for. */
static void expr_to(writer *w, const spec *s, int e, int64_t tile_size)
{
    static const char *const between[] = { [EXPR_ADD] = " + ", [EXPR_SUB] = " - ", [EXPR_MUL] = " * ", [EXPR_DIV] = " / ", [EXPR_MOD] = " % " };
    const expr *x = &s->exprs[e];
    switch (x->kind) {
    case EXPR_CONST: number_to(w, x->value); return;
    case EXPR_DIM: puts_to(w, dim_names[x->value]); return;
    case EXPR_AXIS: puts_to(w, axis_names[x->value]); return;
    case EXPR_NUM: puts_to(w, "num_programs("); puts_to(w, axis_names[x->value]); puts_to(w, ")"); return;
    case EXPR_SCALAR: puts_to(w, "n"); return;
    case EXPR_TURN: puts_to(w, "t"); return;
    case EXPR_CARRIED: puts_to(w, "c"); number_to(w, w->access); return;
    case EXPR_WHERE:
        puts_to(w, "where(");
        condition_to(w, s, &s->conditions[x->value], 0);
        puts_to(w, ", ");
        expr_to(w, s, x->a, 0);
        puts_to(w, ", ");
        expr_to(w, s, x->b, 0);
        puts_to(w, ")");
        return;
    case EXPR_LANE: puts_to(w, "iota(["); number_to(w, tile_size); puts_to(w, "], axis = 0)"); return;
    case EXPR_MIN: case EXPR_MAX: case EXPR_CDIV:
        puts_to(w, x->kind == EXPR_CDIV ? "cdiv(" : x->kind == EXPR_MIN ? "min" : "max");
        if (x->kind != EXPR_CDIV) /* of tiles they are functions of their own */
            puts_to(w, has_lane(s, e) ? "imum(" : "(");
        expr_to(w, s, x->a, tile_size);
        puts_to(w, ", ");
        expr_to(w, s, x->b, tile_size);
        puts_to(w, ")");
        return;
    default:
        puts_to(w, "(");
        expr_to(w, s, x->a, tile_size);
        puts_to(w, between[x->kind]);
        expr_to(w, s, x->b, tile_size);
        puts_to(w, ")");
    }
}

static void condition_to(writer *w, const spec *s, const condition *c, int64_t tile_size)
{
    static const char *const names[] = { " < ", " <= ", " == ", " != ", " >= " };
    puts_to(w, c->is_not ? "!(" : "(");
    for (int i = 0; i < c->n; i++) {
        puts_to(w, i == 0 ? "(" : c->is_or ? " || (" : " && (");
        expr_to(w, s, c->a[i], tile_size);
        puts_to(w, names[c->kind[i]]);
        expr_to(w, s, c->b[i], tile_size);
        puts_to(w, ")");
    }
    puts_to(w, ")");
}

static void operand_to(writer *w, const spec *s, int number)
{
    const spec_operand *x = &s->operands[number];
    puts_to(w, x->role);
    puts_to(w, " ");
    puts_to(w, operand_names[number]);
    puts_to(w, ": i32[");
    for (int d = 0; d < x->rank; d++) {
        puts_to(w, d ? ", " : "");
        expr_to(w, s, x->size[d], 0);
    }
    puts_to(w, "]");
    for (int d = 0; x->has_block && d < x->rank; d++) {
        puts_to(w, d ? ", " : " block [");
        if (x->block[d] == BLOCK_SQUEEZED) {
            puts_to(w, "_");
        } else if (x->block[d] == BLOCK_PLAIN) {
            number_to(w, x->n[d]);
        } else {
            puts_to(w, "element(");
            number_to(w, x->n[d]);
            puts_to(w, ", pad = (");
            number_to(w, x->lo[d]);
            puts_to(w, ", 0))");
        }
    }
    for (int d = 0; x->has_block && d < x->rank; d++) {
        puts_to(w, d ? ", " : "] at (");
        expr_to(w, s, x->index[d], 0);
    }
    puts_to(w, x->has_block ? ")" : "");
    if (x->alias >= 0) {
        puts_to(w, " alias ");
        puts_to(w, operand_names[x->alias]);
    }
    puts_to(w, ",\n");
}

/* "x[i, :, ds(2, 3)]"; returns the size of the place's one dimension, for a mask. */
static int64_t place_to(writer *w, const spec *s, const spec_access *a, int *out_rank)
{
    const spec_operand *x = &s->operands[a->operand];
    int64_t size = 1;
    *out_rank = 0;
    puts_to(w, operand_names[a->operand]);
    puts_to(w, "[");
    int r = 0;
    for (int d = 0; d < x->rank; d++) {
        if (x->block[d] == BLOCK_SQUEEZED)
            continue;
        const spec_sub *sub = &a->sub[r];
        puts_to(w, r++ ? ", " : "");
        if (sub->kind == SUB_ALL) {
            puts_to(w, ":");
        } else if (sub->kind == SUB_RANGE) {
            puts_to(w, "ds(");
            expr_to(w, s, sub->start, 0);
            puts_to(w, ", ");
            number_to(w, sub->size);
            puts_to(w, ", ");
            number_to(w, sub->stride);
            puts_to(w, ")");
        } else {
            expr_to(w, s, sub->start, sub->size);
        }
        if (sub->kind != SUB_AT) {
            size = sub->size;
            ++*out_rank;
        }
    }
    puts_to(w, r ? "]" : "...]");
    return size;
}

static void access_to(writer *w, const spec *s, spec_access *a, int number)
{
    char name[16];
    int rank;
    w->access = number;
    if (a->carries) {
        puts_to(w, "    var c");
        number_to(w, number);
        puts_to(w, " = ");
        expr_to(w, s, a->carried_start, 0);
        puts_to(w, ";\n");
    }
    if (a->has_loop) {
        puts_to(w, "    for (t in ");
        expr_to(w, s, a->from, 0);
        puts_to(w, " .. ");
        expr_to(w, s, a->to, 0);
        puts_to(w, " step ");
        number_to(w, a->step);
        puts_to(w, ") {\n");
    }
    if (a->branch.n) {
        puts_to(w, "    if ");
        condition_to(w, s, &a->branch, 0);
        puts_to(w, " {\n");
    }
    a->line = w->line;
    snprintf(name, sizeof name, "v%d", number);
    if (a->kind == ACCESS_LOAD) {
        puts_to(w, "    let ");
        puts_to(w, name);
        puts_to(w, " = load(");
    } else {
        puts_to(w, a->kind == ACCESS_STORE ? "    store(" : "    atomic_add(");
    }
    int64_t size = place_to(w, s, a, &rank);
    puts_to(w, a->kind == ACCESS_LOAD ? "" : ", 1");
    if (a->mask.n) {
        puts_to(w, ", mask = broadcast(");
        condition_to(w, s, &a->mask, size);
        puts_to(w, ", [");
        number_to(w, size);
        puts_to(w, "])");
    }
    puts_to(w, ");\n");
    if (a->kind == ACCESS_LOAD) {
        puts_to(w, rank ? "    atomic_add(sink[0], sum(" : "    atomic_add(sink[0], (");
        puts_to(w, name);
        puts_to(w, "));\n");
    }
    puts_to(w, a->branch.n ? "    }\n" : "");
    if (a->carries) {
        puts_to(w, "    c");
        number_to(w, number);
        puts_to(w, " += ");
        number_to(w, a->carried_step);
        puts_to(w, ";\n");
    }
    puts_to(w, a->has_loop ? "    }\n" : "");
}

static void text_make(spec *s)
{
    writer w = { s->text, 0, sizeof s->text, 1, 0 };
    puts_to(&w, "kernel random(\n");
    for (int d = 0; d < s->n_dims; d++) { /* each dim has an array that shows it alone */
        puts_to(&w, "    in d");
        puts_to(&w, dim_names[d]);
        puts_to(&w, ": i32[");
        puts_to(&w, dim_names[d]);
        puts_to(&w, "],\n");
    }
    puts_to(&w, s->has_scalar ? "    scalar n: i32,\n" : "");
    for (int i = 0; i < s->n_operands; i++) {
        puts_to(&w, "    ");
        operand_to(&w, s, i);
    }
    puts_to(&w, "    inout sink: i32[1])\ngrid (");
    for (int i = 0; i < s->n_axes; i++) {
        puts_to(&w, i ? ", " : "");
        puts_to(&w, axis_names[i]);
        puts_to(&w, " = ");
        expr_to(&w, s, s->axis_size[i], 0);
        puts_to(&w, s->is_arbitrary[i] ? " arbitrary" : "");
    }
    puts_to(&w, ")\n");
    if (s->require.n) {
        puts_to(&w, "require ");
        condition_to(&w, s, &s->require, 0);
        puts_to(&w, "\n");
    }
    puts_to(&w, "{\n");
    for (int i = 0; i < s->n_accesses; i++)
        access_to(&w, s, &s->accesses[i], i);
    puts_to(&w, "}\n");
}

void spec_make(spec *s, uint64_t seed)
{
    maker m = { .s = s, .state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1 };
    memset(s, 0, sizeof *s);
    for (int i = 0; i < 8; i++)
        draw(&m, 2);
    s->n_dims = 1 + draw(&m, SPEC_DIMS);
    s->has_scalar = one_in(&m, 5);
    s->n_axes = 1 + draw(&m, SPEC_AXES);
    s->n_operands = 1 + draw(&m, SPEC_OPERANDS);
    for (int i = 0; i < s->n_operands; i++)
        draw_operand(&m, i);
    for (int i = 0; i < s->n_axes; i++) {
        s->axis_size[i] = draw_axis_size(&m);
        s->is_arbitrary[i] = one_in(&m, 4);
    }
    if (one_in(&m, 5)) {
        /* Of dims and constants only. */
        s->require = (condition){ .n = 1, .kind = { (compare_kind)draw(&m, 5) },
                                  .a = { put(&m, EXPR_DIM, draw(&m, s->n_dims), 0, 0) },
                                  .b = { one_in(&m, 2) ? constant(&m, draw(&m, 4)) : put(&m, EXPR_DIM, draw(&m, s->n_dims), 0, 0) } };
        if (one_in(&m, 3)) {
            s->require.a[0] = put(&m, EXPR_MOD, 0, s->require.a[0], constant(&m, 2 + draw(&m, 3)));
            s->require.kind[0] = COMPARE_EQ;
            s->require.b[0] = constant(&m, 0);
        }
    }
    s->n_accesses = 1 + draw(&m, SPEC_ACCESSES);
    for (int i = 0; i < s->n_accesses; i++)
        draw_access(&m, i);
    text_make(s);
}
