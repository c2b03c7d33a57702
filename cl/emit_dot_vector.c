/* emit_dot_vector: a dot for one work-item with vectors.
 *
 * In: a dot and its blocking. Out: x packed row by row, y into panels of columns, then for each panel, which stays in L1, and
 * each few rows of x, a register tile of accumulators over all of k:
 *
 *     panel     [k][vectors x width]       c00 c01      rows x vectors accumulators
 *     x         [rows][k]                  c10 c11      each step of k: vectors loads, rows broadcasts, rows x vectors fma
 *
 * After Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008; blocks are the kernel's own.     */
#include "cl/emit.h"

/* ---- Packing ---- */

typedef struct {
    const clpi_dot_plan *plan;
    const clpi_dot      *dot;
    bool                 is_y;
} packing;

static const char *slot_pointer(clpi_emit *e, const clpi_dot *d, int slot)
{
    return clpi_text(e, "((%s%s *)a%d)", clpi_slot_space(e, slot), clpi_packed_type(d, 1), slot);
}

static const char *packed_offset(clpi_emit *e, const packing *p)
{
    int row = e->nest->rank - 2, column = e->nest->rank - 1;
    const char *lane = e->lane ? clpi_text(e, " + %s", e->lane) : "", *none = "";
    const char *in_row = e->map->vector_dim == row ? lane : none, *in_column = e->map->vector_dim == column ? lane : none;
    if (!p->is_y)
        return clpi_text(e, "(d%d%s) * %lld + d%d%s", row, in_row, (long long)p->plan->a_stride, column, in_column);
    return clpi_text(e, "(d%d%s) / %d * %lld + (d%d%s) * %d + (d%d%s) %% %d", column, in_column, p->plan->panel,
                     (long long)(p->plan->panel * p->dot->k), row, in_row, p->plan->panel, column, in_column, p->plan->panel);
}

static void store_packed(clpi_emit *e)
{
    const packing *p = e->user;
    const clpi_dot *d = p->dot;
    int node = p->is_y ? d->b_value : d->a_value, slot = p->is_y ? p->plan->b_slot : p->plan->a_slot, width = e->width;
    clp_dtype from = e->nest->nodes.items[node].dtype;
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    clpi_prelude_cast(&e->prelude, &s, d->acc, from, width, 32, clpi_value_text(e, node, width, 32));
    const char *value = clpi_take_text(e, &s), *to = slot_pointer(e, d, slot), *space = clpi_slot_space(e, slot);
    if (d->acc != CLP_F32 && d->acc != CLP_F64)
        value = clpi_text(e, "as_%s(%s)", clpi_packed_type(d, width), value);
    if (width == 1) {
        clpi_line(e, "%s[%s] = %s;", to, packed_offset(e, p), value);
    } else if (e->map->vector_dim == e->nest->rank - 1) {
        const char *type = clpi_unaligned(e, clpi_packed_type(d, width), (int)clpi_rep_bytes(d->acc));
        clpi_line(e, "*(%s%s *)(%s + %s) = %s;", space, type, to, packed_offset(e, p), value);
    } else {
        clpi_line(e, "%s e[%d];", clpi_packed_type(d, 1), width);
        clpi_line(e, "vstore%d(%s, 0, e);", width, value);
        e->lane = "l";
        clpi_line(e, "for (int l = 0; l < %d; l++)", width);
        clpi_line(e, "    %s[%s] = e[l];", to, packed_offset(e, p));
        e->lane = NULL;
    }
}

static void pack(clpi_emit *e, const clpi_stage *stage, bool is_y)
{
    const clpi_dot *d = stage->step->dot;
    packing p = { &stage->dot, d, is_y };
    clpi_open(e, "%s", "");
    if (clpi_begin_nest(e, is_y ? d->b : d->a, is_y ? &stage->pack_b : &stage->pack_a)) {
        e->values[is_y ? d->b_value : d->a_value].n_uses++;
        e->at_point = store_packed;
        e->user = &p;
        clpi_emit_loops(e);
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

/* The columns that the last panel has beyond n. */
static void fill_last_panel(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_dot *d = stage->step->dot;
    int64_t columns = (int64_t)stage->dot.n_panels * stage->dot.panel;
    if (columns == d->n)
        return;
    clpi_line(e, "for (int row = 0; row < %lld; row++)", (long long)d->k);
    clpi_line(e, "    for (int column = %lld; column < %lld; column++)", (long long)(d->n % stage->dot.panel),
              (long long)stage->dot.panel);
    clpi_line(e, "        %s[%lld + row * %d + column] = 0;", slot_pointer(e, d, stage->dot.b_slot),
              (long long)((stage->dot.n_panels - 1) * stage->dot.panel * d->k), stage->dot.panel);
}

/* ---- Register tiles ---- */

static const char *multiply_add(clpi_emit *e, const clpi_dot_plan *p, const clpi_dot *d, int i, int j)
{
    const char *x = p->width > 1 ? clpi_text(e, "(%s)x%d", clpi_packed_type(d, p->width), i) : clpi_text(e, "x%d", i);
    if (clpi_is_float(d->acc))
        return clpi_text(e, "fma(%s, y%d, c%d_%d)", x, j, i, j);
    return clpi_text(e, "c%d_%d + %s * y%d", i, j, x, j);
}

static void accumulate(clpi_emit *e, const clpi_stage *stage, int rows, int64_t c_stride)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    int vectors = p->panel / p->width;
    const char *type = clpi_packed_type(d, p->width), *c_space = clpi_home_space(e->s->tiles[d->dest].home);
    const char *loose = p->width > 1 ? clpi_unaligned(e, type, (int)clpi_rep_bytes(d->acc)) : type;
    const char *y_space = clpi_slot_space(e, p->b_slot);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < vectors; j++) {
            if (d->accumulates)
                clpi_line(e, "%s c%d_%d = *(%s%s *)(c + %lld);", type, i, j, c_space, loose,
                          (long long)(i * c_stride + j * p->width));
            else
                clpi_line(e, "%s c%d_%d = 0;", type, i, j);
        }
    clpi_open(e, "for (int k = 0; k < %lld; k++)", (long long)d->k);
    for (int j = 0; j < vectors; j++)
        clpi_line(e, "const %s y%d = *(%sconst %s *)(y + k * %d + %d);", type, j, y_space, loose, p->panel, j * p->width);
    for (int i = 0; i < rows; i++) {
        clpi_line(e, "const %s x%d = x[k + %lld];", clpi_packed_type(d, 1), i, (long long)(i * p->a_stride));
        for (int j = 0; j < vectors; j++)
            clpi_line(e, "c%d_%d = %s;", i, j, multiply_add(e, p, d, i, j));
    }
    clpi_close(e);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < vectors; j++)
            clpi_line(e, "*(%s%s *)(c + %lld) = c%d_%d;", c_space, loose, (long long)(i * c_stride + j * p->width), i, j);
}

static void register_tile(clpi_emit *e, const clpi_stage *stage, int rows, const char *c_base, int64_t c_stride)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    const char *type = clpi_packed_type(d, 1), *c_space = clpi_home_space(e->s->tiles[d->dest].home);
    clpi_line(e, "%s%s *const c = (%s%s *)(%s) + row * %lld + panel * %d;", c_space, type, c_space, type, c_base,
              (long long)c_stride, p->panel);
    clpi_line(e, "%sconst %s *const x = %s + row * %lld;", clpi_slot_space(e, p->a_slot), type, slot_pointer(e, d, p->a_slot),
              (long long)p->a_stride);
    accumulate(e, stage, rows, c_stride);
}

void clpi_emit_dot_vector(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    const clpi_tile_place *dest = &e->s->tiles[d->dest];
    const char *c_base = clpi_tile_name(e, d->dest);
    for (int b = 0; b < d->n_batch; b++) {
        clpi_open(e, "for (int d%d = 0; d%d < %lld; d%d++)", b, b, (long long)e->p->tiles.items[d->dest].shape[b], b);
        c_base = clpi_text(e, "%s + d%d * %lld", c_base, b, (long long)dest->stride[b]);
    }
    clpi_line(e, "/* pack x row by row */");
    clpi_emit_versions(e, &stage->edges, pack_x, stage);
    clpi_line(e, "/* pack y into panels of columns */");
    clpi_emit_versions(e, &stage->edges_b, pack_y, stage);
    fill_last_panel(e, stage);
    int64_t c_stride = dest->stride[d->n_batch], whole = d->m - d->m % p->rows;
    clpi_open(e, "for (int panel = 0; panel < %d; panel++)", p->n_panels);
    clpi_line(e, "%sconst %s *const y = %s + panel * %lld;", clpi_slot_space(e, p->b_slot), clpi_packed_type(d, 1),
              slot_pointer(e, d, p->b_slot), (long long)(p->panel * d->k));
    if (whole > 0) {
        clpi_open(e, "for (int row = 0; row < %lld; row += %d)", (long long)whole, p->rows);
        register_tile(e, stage, p->rows, c_base, c_stride);
        clpi_close(e);
    }
    if (d->m > whole) {
        clpi_open(e, "%s", "");
        clpi_line(e, "const int row = %lld;", (long long)whole);
        register_tile(e, stage, (int)(d->m - whole), c_base, c_stride);
        clpi_close(e);
    }
    clpi_close(e);
    for (int b = 0; b < d->n_batch; b++)
        clpi_close(e);
}
