/* emit_value: the nodes of a nest as expressions and variables.
 *
 * In: a nest under its mapping, at some loop. Out: for each node an expression. A node used once, at its own level, is written
 * into its user; others become variables v<node> at the level of the innermost loop they depend on, so that what a loop does
 * not change is computed outside it.                                                                                     */
#include "cl/emit.h"

#include <string.h>

enum { INLINE_MAX = 72 };         /* longer expressions get a name */

/* ---- Levels and uses ---- */

static int level_of(const clpi_emit *e, int node)
{
    int level = -1;
    for (int i = 0; i < e->map->n_order; i++)
        if (clpi_depends_on(e->nest, node, e->map->order[i]))
            level = i;
    return level;
}

static void count_use(clpi_emit *e, int node, int level)
{
    if (node < 0)
        return;
    clpi_value *v = &e->values[node];
    v->n_uses += v->level == level ? 1 : 2;      /* a use in a deeper loop counts as many */
}

static void count_access_uses(clpi_emit *e, const clpi_access *a)
{
    for (int d = 0; d < a->rank; d++)
        count_use(e, a->ix[d].node, -2);         /* coordinates are written several times */
    count_use(e, a->mask, -2);
    count_use(e, a->other, -2);
}

bool clpi_begin_nest(clpi_emit *e, const clpi_nest *n, const clpi_mapping *m)
{
    e->nest = n;
    e->map = m;
    e->width = 1;
    e->lane = NULL;
    e->row_dim = -1;
    e->values = CLPI_NEW_N(e->arena, clpi_value, n->nodes.n + 1);
    if (!e->values)
        return false;
    for (uint32_t i = 0; i < n->nodes.n; i++)
        e->values[i].level = level_of(e, (int)i);
    for (uint32_t i = 0; i < n->nodes.n; i++) {
        const clpi_node *x = &n->nodes.items[i];
        for (int k = 0; k < x->n_args; k++)
            count_use(e, x->args[k], e->values[i].level);
        if (x->kind == CLPI_NODE_LOAD)
            count_access_uses(e, &n->accesses.items[x->access]);
    }
    for (uint32_t o = 0; o < n->outs.n; o++) {
        const clpi_out *out = &n->outs.items[o];
        count_use(e, out->value, m->n_order - 1);
        count_use(e, out->value2, m->n_order - 1);
        count_access_uses(e, &n->accesses.items[out->access]);
    }
    return true;
}

void clpi_forget_from(clpi_emit *e, int level)
{
    for (uint32_t i = 0; i < e->nest->nodes.n; i++)
        if (e->values[i].level >= level) {
            e->values[i].text = NULL;
            e->values[i].has_lanes = false;
        }
}

/* ---- Coordinates ---- */

/* What the domain and a constant add up to; in long where the constant may be too far out for an int (the domain's part, no
 * longer than an array can be, always fits). */
static const char *domain_text(clpi_emit *e, const clpi_ix *ix)
{
    if (ix->dim < 0)
        return clpi_text(e, "%lld", (long long)ix->add);
    const bool is_ahead = e->ahead && ix->dim == clpi_loop_around(e->map), in_row = ix->dim == e->row_dim;
    const bool in_lane = e->lane && ix->dim == e->map->vector_dim, is_sum = is_ahead || in_row || in_lane;
    const char *text = clpi_text(e, "d%d", ix->dim);
    if (is_ahead)
        text = clpi_text(e, "%s + %d", text, e->ahead);
    if (in_row)
        text = clpi_text(e, "%s + r", text);
    if (in_lane)
        text = clpi_text(e, "%s + %s", text, e->lane);
    if (ix->mul != 1)
        text = clpi_text(e, is_sum ? "(%s) * %lld" : "%s * %lld", text, (long long)ix->mul);
    if (ix->add == 0)
        return text;
    int64_t span = (e->nest->extent[ix->dim] - 1) * ix->mul, far = (span < 0 ? -span : span) + (ix->add < 0 ? -ix->add : ix->add);
    return clpi_text(e, "%s %c %lld%s", text, ix->add < 0 ? '-' : '+', (long long)(ix->add < 0 ? -ix->add : ix->add),
                     far > INT32_MAX ? "L" : "");
}

const char *clpi_widened_text(clpi_emit *e, clp_dtype dtype, const char *text)
{
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    clpi_prelude_cast(&e->prelude, &s, CLP_I64, dtype, 1, 0, text);
    return clpi_take_text(e, &s);
}

/* A node may be any number of its dtype: nothing is added to it in int. Sums of longs wrap, which leads out of every range. */
const char *clpi_ix_text(clpi_emit *e, const clpi_ix *ix)
{
    if (ix->node < 0)
        return domain_text(e, ix);
    const char *node = clpi_lane_text(e, ix->node);
    if (ix->dim < 0 && ix->add == 0)
        return node;
    const char *rest = domain_text(e, ix);
    if (e->nest->nodes.items[ix->node].dtype == CLP_I64)
        return clpi_text(e, "(long)((ulong)%s + (ulong)(%s))", node, rest);
    return clpi_text(e, "%s + %s", clpi_widened_text(e, e->nest->nodes.items[ix->node].dtype, node), rest);
}

/* ---- Widths ---- */

const char *clpi_value_text(clpi_emit *e, int node, int width, int mask_bits)
{
    const clpi_value *v = &e->values[node];
    const clpi_node *x = &e->nest->nodes.items[node];
    clpi_str s;
    if (x->dtype == CLP_BOOL ? (v->width == width && (width == 1 || v->mask_bits == mask_bits)) : v->width == width)
        return v->text;
    clpi_str_init(&s, e->arena->env);
    if (x->dtype == CLP_BOOL)
        clpi_cl_mask(&s, mask_bits, v->width == 1 ? 0 : v->mask_bits, width, v->text);
    else
        clpi_prelude_splat(&e->prelude, &s, x->dtype, width, v->text);
    return clpi_take_text(e, &s);
}

void clpi_declare_lanes(clpi_emit *e, const char *type, const char *name, int width)
{
    clpi_line(e, "%.*s %s[%d];", (int)strcspn(type, "0123456789"), type, name, width);
}

void clpi_use_lanes(clpi_emit *e, int node)
{
    clpi_value *v = node < 0 ? NULL : &e->values[node];
    if (!v || v->width == 1 || v->has_lanes)
        return;
    const clpi_node *x = &e->nest->nodes.items[node];
    const char *type = x->dtype == CLP_BOOL ? clpi_cl_mask_type(v->mask_bits, v->width) : clpi_cl_type(x->dtype, v->width);
    clpi_declare_lanes(e, type, clpi_text(e, "l%d", node), v->width);
    clpi_line(e, "vstore%d(%s, 0, l%d);", v->width, v->text, node);
    v->has_lanes = true;
}

const char *clpi_lane_text(clpi_emit *e, int node)
{
    const clpi_value *v = &e->values[node];
    if (v->width == 1)
        return v->text;
    return clpi_text(e, e->nest->nodes.items[node].dtype == CLP_BOOL ? "(l%d[%s] != 0)" : "l%d[%s]", node, e->lane);
}

/* ---- One node ---- */

static const char *index_text(clpi_emit *e, const clpi_node *x, int width)
{
    clpi_str s;
    const char *at = clpi_text(e, "d%d", x->ix.dim);
    if (x->ix.dim < 0)
        at = "0";
    if (width > 1) {
        const char *lanes = "0";
        for (int l = 1; l < width; l++)
            lanes = clpi_text(e, "%s, %d", lanes, l);
        at = clpi_text(e, "%s + (int%d)(%s)", at, width, lanes);
    }
    if (x->ix.dim >= 0 && x->ix.mul != 1)
        at = clpi_text(e, "(%s) * %lld", at, (long long)x->ix.mul);
    if (x->ix.add != 0)
        at = clpi_text(e, "%s + %lld", at, (long long)x->ix.add);
    if (x->dtype == CLP_I32)
        return at;
    clpi_str_init(&s, e->arena->env);
    clpi_prelude_cast(&e->prelude, &s, x->dtype, CLP_I32, width, 0, clpi_text(e, "(%s)", at));
    return clpi_take_text(e, &s);
}

static const char *leaf_text(clpi_emit *e, const clpi_node *x)
{
    int i = (int)x->bits;
    switch (x->op) {
    case CLP_OP_program_id: return clpi_text(e, "%s_id", e->ir->axes[i].name);
    case CLP_OP_num_programs: return clpi_text(e, "(int)%s", clpi_number_text(e, CLPI_NUMBER_AXIS_SIZE, i, 0));
    case CLP_OP_dim: return clpi_text(e, "(int)%s", clpi_number_text(e, CLPI_NUMBER_DIM, i, 0));
    default: return clpi_text(e, "%s_v", e->ir->operands[i].name);
    }
}

/* Bits of the mask that a bool node with lanes is kept in; operands of one operation agree. */
static int bits_of(const clpi_emit *e, const clpi_node *x)
{
    int bits = 0;
    if (x->from != CLP_BOOL)
        return clpi_cl_mask_bits(x->from);
    for (int i = 0; i < x->n_args; i++)
        if (e->nest->nodes.items[x->args[i]].dtype == CLP_BOOL && e->values[x->args[i]].mask_bits > bits)
            bits = e->values[x->args[i]].mask_bits;
    return bits ? bits : 32;
}

static const char *operation_text(clpi_emit *e, const clpi_node *x, clpi_value *v)
{
    const char *args[3] = { 0 };
    int bits = bits_of(e, x), width = v->width;
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    for (int i = 0; i < x->n_args; i++)
        args[i] = clpi_value_text(e, x->args[i], width, x->kind == CLPI_NODE_EW ? bits : e->values[x->args[i]].mask_bits);
    if (x->kind == CLPI_NODE_EW)
        clpi_prelude_ew(&e->prelude, &s, x->op, x->from, width, args);
    else if (x->kind == CLPI_NODE_CAST)
        clpi_prelude_cast(&e->prelude, &s, x->dtype, x->from, width,
                          x->from == CLP_BOOL ? e->values[x->args[0]].mask_bits : 0, args[0]);
    else
        clpi_prelude_bitcast(&e->prelude, &s, x->dtype, x->from, width, args[0]);
    v->mask_bits = bits;
    return clpi_take_text(e, &s);
}

static const char *node_type(const clpi_node *x, const clpi_value *v)
{
    return x->dtype == CLP_BOOL && v->width > 1 ? clpi_cl_mask_type(v->mask_bits, v->width) : clpi_cl_type(x->dtype, v->width);
}

static void emit_node(clpi_emit *e, int node)
{
    const clpi_node *x = &e->nest->nodes.items[node];
    clpi_value *v = &e->values[node];
    v->width = e->width > 1 && clpi_depends_on(e->nest, node, e->map->vector_dim) ? e->width : 1;
    v->mask_bits = 0;
    if (x->kind == CLPI_NODE_CONST) {
        clpi_str s;
        clpi_str_init(&s, e->arena->env);
        clpi_cl_literal(&s, x->dtype, x->bits);
        v->text = clpi_take_text(e, &s);
        return;
    }
    if (x->kind == CLPI_NODE_LEAF) {
        v->text = leaf_text(e, x);
        return;
    }
    if (x->kind == CLPI_NODE_LOAD) {
        clpi_emit_load(e, node);
        return;
    }
    if (x->kind == CLPI_NODE_SCAN) {
        v->text = clpi_emit_scan(e, node);
        return;
    }
    const char *text = x->kind == CLPI_NODE_INDEX ? index_text(e, x, v->width) : operation_text(e, x, v);
    if (v->n_uses > 1 || strlen(text) > INLINE_MAX) {
        clpi_line(e, "const %s v%d = %s;", node_type(x, v), node, text);
        text = clpi_text(e, "v%d", node);
    } else if (x->kind == CLPI_NODE_INDEX) {
        text = clpi_text(e, "(%s)", text);
    }
    v->text = text;
}

void clpi_emit_nodes(clpi_emit *e, int level)
{
    for (uint32_t i = 0; i < e->nest->nodes.n; i++)
        if (e->values[i].n_uses > 0 && !e->values[i].text && e->values[i].level <= level &&
            !(e->is_before_scans && clpi_is_of_scan(&e->nest->nodes.items[i])))
            emit_node(e, (int)i);
}
