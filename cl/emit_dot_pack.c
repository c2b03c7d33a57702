/* emit_dot_pack: the operands of a dot, copied to where the register tiles of emit_dot_vector.c read them.
 *
 * In: a dot and its blocking; each side an expression over its own domain. Out: x row by row, y in panels of columns unless the register
 * tiles pack it themselves, both in lanes of what is multiplied, zeros in what no element is packed into:
 *
 *     x         [m][a_stride]
 *     panel     [k][panel]          a panel of y: all of k, `panel` columns; where neighbours in k share a lane, k counts lanes */
#include "cl/emit.h"

typedef struct {
    const clpi_dot_plan *plan;
    const clpi_dot      *dot;
    bool                 is_y;
} packing;

/* A lane of what is packed. */
const char *clpi_lane_type(const clpi_dot_plan *p, const clpi_dot *d, int width)
{
    return clpi_cl_type(clpi_dot_lane(p, d), width);
}

/* slot as elements of a type of its own. */
static const char *slot_as(clpi_emit *e, int slot, const char *type)
{
    return clpi_text(e, "((%s%s *)a%d)", clpi_slot_space(e, slot), type, slot);
}

const char *clpi_slot_pointer(clpi_emit *e, const clpi_stage *stage, int slot)
{
    return slot_as(e, slot, clpi_lane_type(&stage->dot, stage->step->dot, 1));
}

/* Where the point's element goes: its lane, or, where elements are neighbours in a lane, the element. */
static const char *packed_offset(clpi_emit *e, const packing *p, bool is_element)
{
    int group = is_element ? p->plan->group : 1, row = e->nest->rank - 2, column = e->nest->rank - 1;
    const char *r = e->map->vector_dim == row && e->lane ? clpi_text(e, "(d%d + %s)", row, e->lane) : clpi_text(e, "d%d", row);
    const char *c = e->map->vector_dim == column && e->lane ? clpi_text(e, "(d%d + %s)", column, e->lane) : clpi_text(e, "d%d", column);
    if (!p->is_y)
        return clpi_text(e, "%s * %lld + %s", r, (long long)(p->plan->a_stride * group), c);
    const char *panel = clpi_text(e, "%s / %d * %lld", c, p->plan->panel, (long long)(p->plan->b_stride * group));
    if (p->plan->group == 1)
        return clpi_text(e, "%s + %s * %d + %s %% %d", panel, r, p->plan->panel, c, p->plan->panel);
    if (!is_element)
        return clpi_text(e, "%s + %s / %d * %d + %s %% %d", panel, r, p->plan->group, p->plan->panel, c, p->plan->panel);
    return clpi_text(e, "%s + %s / %d * %d + %s %% %d * %d + %s %% %d", panel, r, group, p->plan->panel * group, c, p->plan->panel,
                     group, r, group);
}

/* value in to[offset ..]: one, neighbours, or one by one. */
static void store_lanes(clpi_emit *e, const packing *p, int slot, clp_dtype dtype, const char *value)
{
    bool is_element = p->plan->group > 1;
    const char *type = clpi_cl_type(dtype, 1), *vector_type = clpi_cl_type(dtype, e->width);
    const char *to = slot_as(e, slot, is_element ? "part" : type), *space = clpi_slot_space(e, slot);
    if (e->width == 1) {
        clpi_line(e, "%s[%s] = %s;", to, packed_offset(e, p, is_element), value);
    } else if (e->map->vector_dim == e->nest->rank - 1) {
        const char *loose = clpi_unaligned(e, vector_type, (int)clpi_rep_bytes(dtype));
        clpi_line(e, "*(%s%s *)(%s + %s) = %s;", space, loose, to, packed_offset(e, p, is_element), value);
    } else {
        clpi_line(e, "%s e[%d];", type, e->width);
        clpi_line(e, "vstore%d(%s, 0, e);", e->width, value);
        e->lane = "l";
        clpi_line(e, "for (int l = 0; l < %d; l++)", e->width);
        clpi_line(e, "    %s[%s] = e[l];", to, packed_offset(e, p, is_element));
        e->lane = NULL;
    }
}

const char *clpi_whole_lanes_text(clpi_emit *e, const clpi_dot_plan *p, const clpi_dot *d, int node)
{
    clp_dtype lane = clpi_dot_lane(p, d), packed = p->unit->packed ? p->unit->packed : d->acc;
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    clpi_prelude_cast(&e->prelude, &s, packed, e->nest->nodes.items[node].dtype, e->width, 32, clpi_value_text(e, node, e->width, 32));
    const char *value = clpi_take_text(e, &s);
    return clpi_is_int(lane) ? clpi_text(e, "as_%s(%s)", clpi_cl_type(lane, e->width), value) : value;
}

/* An element in its stored form, as unsigned bits. */
static const char *element_bits(clpi_emit *e, const packing *p, clp_dtype from, const char *value)
{
    clpi_str s;
    if (e->is_raw && from == CLP_BF16)
        return value;
    if (from == CLP_BF16) {
        clpi_str_init(&s, e->arena->env);
        clpi_prelude_stored(&e->prelude, &s, from, e->width, value);
        return clpi_take_text(e, &s);
    }
    const char *type = clpi_cl_type(CLP_U8, e->width);
    value = clpi_text(e, "as_%s(%s)", type, value);
    return p->plan->unit->is_biased && !p->is_y ? clpi_text(e, "%s ^ (%s)(128)", value, type) : value;
}

/* Elements that share a lane. Rows of y are rows of k: the first of a lane sets it, the next ones are put into it. */
static void store_grouped(clpi_emit *e, const packing *p, int slot, clp_dtype from, const char *value)
{
    clp_dtype stored = p->plan->group == 2 ? CLP_U16 : CLP_U8;
    const char *bits = element_bits(e, p, from, value);
    if (!p->is_y || e->width == 1 || e->map->vector_dim != e->nest->rank - 1) {
        store_lanes(e, p, slot, stored, bits);
        return;
    }
    const char *type = clpi_cl_type(CLP_U32, e->width), *space = clpi_slot_space(e, slot);
    int row = e->nest->rank - 2;
    clpi_line(e, "%s%s *const to = (%s%s *)(%s + %s);", space, clpi_unaligned(e, type, 4), space, clpi_unaligned(e, type, 4),
              slot_as(e, slot, "uint"), packed_offset(e, p, false));
    clpi_line(e, "const %s bits = convert_%s(%s) << (%s)(d%d %% %d * %d);", type, type, bits, type, row, p->plan->group,
              clp_dtype_bits(stored));
    clpi_line(e, "*to = d%d %% %d == 0 ? bits : *to | bits;", row, p->plan->group);
}

static void store_packed(clpi_emit *e)
{
    const packing *p = e->user;
    int node = p->is_y ? p->dot->b_value : p->dot->a_value, slot = p->is_y ? p->plan->b_slot : p->plan->a_slot;
    if (p->plan->group > 1)
        store_grouped(e, p, slot, e->nest->nodes.items[node].dtype, clpi_value_text(e, node, e->width, 32));
    else
        store_lanes(e, p, slot, clpi_dot_lane(p->plan, p->dot), clpi_whole_lanes_text(e, p->plan, p->dot, node));
}

/* An operand of nothing but elements, which are packed as they lie. Halves of bytes are taken out first. */
static bool is_packed_raw(const clpi_emit *e, const packing *p, int value)
{
    const clpi_nest *n = e->nest;
    if (p->plan->group <= 1 || n->nodes.n != 1 || n->nodes.items[value].kind != CLPI_NODE_LOAD)
        return false;
    const clpi_access *a = &n->accesses.items[n->nodes.items[value].access];
    return !a->is_tile && !clpi_is_packed(e->ir->operands[a->target].dtype) && clpi_depends_on(n, value, e->map->vector_dim);
}

static void pack(clpi_emit *e, const clpi_stage *stage, bool is_y)
{
    const clpi_dot *d = stage->step->dot;
    packing p = { &stage->dot, d, is_y };
    clpi_open_block(e);
    /* Parts of lanes are stored, whole ones are loaded: by C's rule on types the compiler might do the one before the other. */
    if (p.plan->group > 1)
        clpi_line(e, "typedef %s __attribute__((may_alias)) part;", clpi_cl_type(p.plan->group == 2 ? CLP_U16 : CLP_U8, 1));
    if (clpi_begin_nest(e, is_y ? d->b : d->a, is_y ? &stage->pack_b : &stage->pack_a)) {
        e->values[is_y ? d->b_value : d->a_value].n_uses++;
        e->at_point = store_packed;
        e->user = &p;
        e->is_raw = is_packed_raw(e, &p, is_y ? d->b_value : d->a_value);
        clpi_emit_loops(e);
        e->is_raw = false;
    }
    clpi_close(e);
}

static void pack_x(clpi_emit *e, const clpi_stage *stage)
{
    pack(e, stage, false);
}

static void pack_y(clpi_emit *e, const clpi_stage *stage)
{
    pack(e, stage, true);
}

/* What no element is packed into: the columns that the last panel has beyond n, and, where neighbours in k share a lane, what
 * the last lanes have beyond k. Before packing.                                                                          */
static void clear_rest(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    int64_t columns = (int64_t)p->n_panels * p->panel;
    const int64_t first = d->k / p->group;      /* lanes from here on are not full */
    if (columns != d->n) {          /* never of a y that is taken directly, which has whole panels */
        clpi_line(e, "for (int row = 0; row < %lld; row++)", (long long)p->k);
        clpi_line(e, "    for (int column = %lld; column < %lld; column++)", (long long)(d->n % p->panel), (long long)p->panel);
        clpi_line(e, "        %s[%lld + row * %d + column] = 0;", clpi_slot_pointer(e, stage, p->b_slot),
                  (long long)((p->n_panels - 1) * p->b_stride), p->panel);
    }
    if (first < p->k) {
        clpi_open(e, "for (int k = %lld; k < %lld; k++)", (long long)first, (long long)p->k);
        clpi_line(e, "for (int row = 0; row < %lld; row++)", (long long)d->m);
        clpi_line(e, "    %s[row * %lld + k] = 0;", clpi_slot_pointer(e, stage, p->a_slot), (long long)p->a_stride);
        clpi_line(e, "for (int column = 0; column < %lld; column++)", (long long)columns);
        clpi_line(e, "    %s[column / %d * %lld + k * %d + column %% %d] = 0;", clpi_slot_pointer(e, stage, p->b_slot), p->panel,
                  (long long)p->b_stride, p->panel, p->panel);
        clpi_close(e);
    }
}

void clpi_emit_packing(clpi_emit *e, const clpi_stage *stage)
{
    clear_rest(e, stage);
    clpi_line(e, "/* pack x row by row */");
    clpi_emit_versions(e, &stage->edges, pack_x, stage);
    if (stage->dot.is_y_direct)
        return;
    clpi_line(e, "/* pack y into panels of columns */");
    clpi_emit_versions(e, &stage->edges_b, pack_y, stage);
}
