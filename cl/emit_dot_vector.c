/* emit_dot_vector: a dot for one work-item with vectors.
 *
 * In: a dot and its blocking. Out: x and y packed (emit_dot_pack.c), then for each panel of y, which stays in L1, and each few rows
 * of x, a register tile of accumulators over all of k:
 *
 *     panel     [k][vectors x width]       c00 c01      rows x vectors accumulators
 *     x         [rows][k]                  c10 c11      each step of k: vectors loads, rows broadcasts, rows x vectors fma
 *
 * Where y comes in vectors, the first register tile of a panel packs it: it computes each vector, or loads it from where it lies, in the step
 * that multiplies it, which hides the one behind the other, and stores it for the tiles below. Where there are none, nothing is packed.
 * After Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008; blocks are the kernel's own.     */
#include "cl/emit.h"

/* A register tile: so many of the dot's rows, by a panel. */
typedef struct tile {
    int     rows;
    int64_t c_stride;             /* from one row of sums to the next */
    bool    computes_y;           /* the first of its panel */
} tile;

static const char *multiply_add(clpi_emit *e, const clpi_stage *stage, const char *sum, const char *x, const char *y)
{
    const clpi_dot_plan *p = &stage->dot;
    clp_dtype lane = clpi_dot_lane(p, stage->step->dot);
    if (p->width > 1)
        x = clpi_text(e, "(%s)%s", clpi_cl_type(lane, p->width), x);
    if (p->unit->call) {
        clpi_str s;
        clpi_str_init(&s, e->arena->env);
        clpi_prelude_dot(&e->prelude, &s, p->unit->call, p->unit->acc == CLP_I32 ? CLP_U32 : p->unit->acc, p->width, sum, x, y);
        return clpi_take_text(e, &s);
    }
    if (clpi_is_float(lane))
        return clpi_text(e, "fma(%s, %s, %s)", x, y, sum);
    return clpi_text(e, "%s + %s * %s", sum, x, y);
}

/* Vectors of row k of y, out of its panel. */
static void load_y(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_dot_plan *p = &stage->dot;
    clp_dtype lane = clpi_dot_lane(p, stage->step->dot);
    const char *type = clpi_cl_type(lane, p->width), *space = clpi_slot_space(e, p->b_slot);
    const char *loose = p->width > 1 ? clpi_unaligned(e, type, (int)clpi_rep_bytes(lane)) : type;
    for (int j = 0; j < p->panel / p->width; j++)
        clpi_line(e, "const %s y%d = *(%sconst %s *)(y + k * %d + %d);", type, j, space, loose, p->panel, j * p->width);
}

/* The same out of y's nest, and into its panel if it has one. */
static void compute_y(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    const int row = d->b->rank - 2, column = d->b->rank - 1;
    const clp_dtype lane = clpi_dot_lane(p, d);
    const char *loose = clpi_unaligned(e, clpi_cl_type(lane, p->width), (int)clpi_rep_bytes(lane));
    clpi_line(e, "const int d%d = k;", row);
    clpi_emit_nodes(e, 0);
    e->width = p->width;
    for (int j = 0; j < p->panel / p->width; j++) {
        clpi_line(e, "%s y%d;", clpi_lane_type(p, d, p->width), j);
        clpi_open_block(e);
        clpi_line(e, "const int d%d = panel * %d + %d;", column, p->panel, j * p->width);
        clpi_emit_nodes(e, 1);
        clpi_line(e, "y%d = %s;", j, clpi_whole_lanes_text(e, p, d, d->b_value));
        clpi_close(e);
        if (p->b_slot >= 0)
            clpi_line(e, "*(%s%s *)(y + k * %d + %d) = y%d;", clpi_slot_space(e, p->b_slot), loose, p->panel, j * p->width, j);
        clpi_forget_from(e, 1);
    }
    e->width = 1;
    clpi_forget_from(e, 0);
}

/* One step of k for all accumulators of a register tile. */
static void multiply_step(clpi_emit *e, const clpi_stage *stage, const tile *t)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    const char *one = clpi_lane_type(p, d, 1);
    int vectors = p->panel / p->width;
    if (t->computes_y)
        compute_y(e, stage);
    else
        load_y(e, stage);
    for (int i = 0; i < t->rows; i++) {
        clpi_line(e, "const %s x%d = x[k + %lld];", one, i, (long long)(i * p->a_stride));
        for (int j = 0; j < vectors; j++) {
            const char *sum = clpi_text(e, "c%d_%d", i, j);
            clpi_line(e, "%s = %s;", sum, multiply_add(e, stage, sum, clpi_text(e, "x%d", i), clpi_text(e, "y%d", j)));
        }
    }
}

const char *clpi_first_step_text(clpi_emit *e)
{
    const clpi_plan *plan = e->p->plan;
    const int axis = plan->arbitrary[plan->n_arbitrary - 1];
    return clpi_text(e, "%s_id == %s", e->ir->axes[axis].name, clpi_number_text(e, CLPI_NUMBER_BOX_START, axis, 0));
}

/* Accumulators of another dtype than the result's: all of them stay exact for max_k steps, then they are added to it. */
static void accumulate_apart(clpi_emit *e, const clpi_stage *stage, const tile *t, const char *c_type, const char *c_space)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    int vectors = p->panel / p->width;
    const char *type = clpi_lane_type(p, d, p->width), *held = clpi_cl_type(d->acc, p->width);
    clpi_open(e, "for (int from = 0; from < %lld; from += %d)", (long long)p->k, p->unit->max_k);
    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < vectors; j++)
            clpi_line(e, "%s c%d_%d = 0;", type, i, j);
    clpi_open(e, "for (int k = from; k < min(from + %d, %s); k++)", p->unit->max_k, e->k_end);
    multiply_step(e, stage, t);
    clpi_close(e);
    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < vectors; j++) {
            const char *at = clpi_text(e, "*(%s%s *)(c + %lld)", c_space, c_type, (long long)(i * t->c_stride + j * p->width));
            const char *sum = clpi_text(e, "as_%s(convert_%s(c%d_%d))", clpi_packed_type(d, p->width), held, i, j);
            if (p->starts_at_zero)
                clpi_line(e, "%s = from == 0 && %s ? %s : %s + %s;", at, clpi_first_step_text(e), sum, at, sum);
            else if (d->accumulates)
                clpi_line(e, "%s += %s;", at, sum);
            else
                clpi_line(e, "%s = from > 0 ? %s + %s : %s;", at, at, sum, sum);
        }
    clpi_close(e);
}

static void accumulate(clpi_emit *e, const clpi_stage *stage, const tile *t)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    int vectors = p->panel / p->width;
    const char *type = clpi_packed_type(d, p->width), *c_space = clpi_home_space(e->s->tiles[d->dest].home);
    const char *loose = p->width > 1 ? clpi_unaligned(e, type, (int)clpi_rep_bytes(d->acc)) : type;
    if (p->unit->tiles) {
        clpi_emit_tiles(e, stage, t->rows, t->c_stride);
        return;
    }
    if (p->unit->packed) {
        accumulate_apart(e, stage, t, loose, c_space);
        return;
    }
    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < vectors; j++) {
            const char *bias = p->unit->is_biased ? clpi_text(e, " - b%d", j) : "";
            const char *at = clpi_text(e, "*(%s%s *)(c + %lld)", c_space, loose, (long long)(i * t->c_stride + j * p->width));
            if (p->starts_at_zero)
                clpi_line(e, "%s c%d_%d = (%s ? (%s)0 : %s)%s;", type, i, j, clpi_first_step_text(e), type, at, bias);
            else if (d->accumulates)
                clpi_line(e, "%s c%d_%d = %s%s;", type, i, j, at, bias);
            else
                clpi_line(e, "%s c%d_%d = 0%s;", type, i, j, bias);
        }
    clpi_open(e, "for (int k = 0; k < %s; k++)", e->k_end);
    multiply_step(e, stage, t);
    clpi_close(e);
    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < vectors; j++)
            clpi_line(e, "*(%s%s *)(c + %lld) = c%d_%d;", c_space, loose, (long long)(i * t->c_stride + j * p->width), i, j);
}

/* 128 times the sum of each column of a panel: what the bias of x adds to every row. */
static void sum_columns(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    const char *type = clpi_lane_type(p, d, p->width), *loose = clpi_unaligned(e, type, 4), *space = clpi_slot_space(e, p->b_slot);
    for (int j = 0; j < p->panel / p->width; j++)
        clpi_line(e, "%s b%d = 0;", type, j);
    clpi_open(e, "for (int k = 0; k < %s; k++)", e->k_end);
    for (int j = 0; j < p->panel / p->width; j++) {
        const char *y = clpi_text(e, "*(%sconst %s *)(y + k * %d + %d)", space, loose, p->panel, j * p->width), *sum = clpi_text(e, "b%d", j);
        clpi_line(e, "%s = %s;", sum, multiply_add(e, stage, sum, "0x80808080u", y));
    }
    clpi_close(e);
}

const char *clpi_sums_text(clpi_emit *e, const clpi_dot *d, int64_t *out_stride)
{
    const clpi_tile_place *dest = &e->s->tiles[d->dest];
    const char *text = clpi_tile_name(e, d->dest);
    for (int b = 0; b < d->n_batch; b++)
        text = clpi_text(e, "%s + d%d * %lld", text, b, (long long)dest->stride[b]);
    *out_stride = dest->stride[d->n_batch];
    return text;
}

/* Of what is accumulated into, the columns that the last panel has beyond n: nobody reads their sums, but what happens to lie
 * there may be slow to add to. */
static void clear_last_columns(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_dot *d = stage->step->dot;
    int64_t columns = (int64_t)stage->dot.n_panels * stage->dot.panel, c_stride;
    const char *c_base = clpi_sums_text(e, d, &c_stride);
    if (columns == d->n || !d->accumulates)
        return;
    clpi_line(e, "for (int row = 0; row < %lld; row++)", (long long)d->m);
    clpi_line(e, "    for (int column = %lld; column < %lld; column++)", (long long)d->n, (long long)columns);
    clpi_line(e, "        (%s)[row * %lld + column] = 0;", c_base, (long long)c_stride);
}

static void register_tile(clpi_emit *e, const clpi_stage *stage, int rows, bool computes_y)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    tile t = { .rows = rows, .computes_y = computes_y };
    const char *type = clpi_packed_type(d, 1), *c_space = clpi_home_space(e->s->tiles[d->dest].home), *c_base = clpi_sums_text(e, d, &t.c_stride);
    clpi_line(e, "%s%s *const c = (%s%s *)(%s) + row * %lld + panel * %d;", c_space, type, c_space, type, c_base,
              (long long)t.c_stride, p->panel);
    clpi_line(e, "%sconst %s *const x = %s + row * %lld;", clpi_slot_space(e, p->a_slot), clpi_lane_type(p, d, 1),
              clpi_slot_pointer(e, stage, p->a_slot), (long long)p->a_stride);
    accumulate(e, stage, &t);
}

/* The first of a panel, which computes y. */
static void first_tile(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_dot *d = stage->step->dot;
    if (!clpi_begin_nest(e, d->b, &stage->pack_b))
        return;
    e->values[d->b_value].n_uses++;
    clpi_emit_nodes(e, -1);
    register_tile(e, stage, stage->dot.rows, true);
}

/* In two versions: for panels of which all that is multiplied exists, and for any. Where that is not known, for whole blocks and for any. */
static void first_tile_versions(clpi_emit *e, const clpi_stage *stage)
{
    if (!clpi_begin_nest(e, stage->step->dot->b, &stage->pack_b))
        return;
    const char *whole = stage->edges_b.n > 0 ? clpi_emit_whole_panel(e, stage->dot.panel) : NULL;
    if (whole)
        clpi_emit_either(e, clpi_text(e, "if (%s)", whole), first_tile, stage);
    else
        clpi_emit_versions(e, &stage->edges_b, first_tile, stage);
}

/* Where the rows, or columns, end that are looked at. NULL: all are. */
static const char *end_text(clpi_emit *e, const clpi_dot_end *end)
{
    return end->operand < 0 ? NULL : clpi_text(e, "%s_hi%d", e->ir->operands[end->operand].name, end->ref_dim);
}

/* Those of a panel, rows after rows; the last may have fewer. */
static void tiles_of_panel(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    const int64_t whole = d->m - d->m % p->rows, first = p->is_y_direct ? p->rows : 0;
    const char *end = end_text(e, &p->rows_end);
    if (p->is_y_direct) {
        clpi_open_block(e);
        clpi_line(e, "const int row = 0;");
        first_tile_versions(e, stage);
        clpi_close(e);
    }
    if (whole > first) {
        if (p->unit->tiles)
            clpi_emit_tile_setup(e, stage, p->rows);
        const char *to = end ? clpi_text(e, "min(%s, %lld)", end, (long long)whole) : clpi_text(e, "%lld", (long long)whole);
        clpi_open(e, "for (int row = %lld; row < %s; row += %d)", (long long)first, to, p->rows);
        register_tile(e, stage, p->rows, false);
        clpi_close(e);
    }
    if (d->m > whole) {
        if (end)
            clpi_open(e, "if (%lld < %s)", (long long)whole, end);
        else
            clpi_open_block(e);
        if (p->unit->tiles)
            clpi_emit_tile_setup(e, stage, (int)(d->m - whole));
        clpi_line(e, "const int row = %lld;", (long long)whole);
        register_tile(e, stage, (int)(d->m - whole), false);
        clpi_close(e);
    }
}

void clpi_emit_dot_vector(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    clpi_emit_packing(e, stage);
    clpi_emit_dot_end(e, stage);
    clear_last_columns(e, stage);
    const char *end = end_text(e, &p->columns_end);
    end = end ? clpi_text(e, "min((%s + %d) / %d, %d)", end, p->panel - 1, p->panel, p->n_panels) : clpi_text(e, "%d", p->n_panels);
    clpi_open(e, "for (int panel = 0; panel < %s; panel++)", end);
    if (p->b_slot >= 0)
        clpi_line(e, "%s%s%s *const y = %s%s;", clpi_slot_space(e, p->b_slot), p->is_y_direct ? "" : "const ", clpi_lane_type(p, d, 1),
                  clpi_slot_pointer(e, stage, p->b_slot), p->is_y_direct ? "" : clpi_text(e, " + panel * %lld", (long long)p->b_stride));
    if (p->unit->is_biased)
        sum_columns(e, stage);
    tiles_of_panel(e, stage);
    clpi_close(e);
    if (p->unit->tiles)
        clpi_line(e, "__asm__ volatile(\"tilerelease\");");
}
