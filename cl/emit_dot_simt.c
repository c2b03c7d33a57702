/* emit_dot_simt: a dot for a group of work-items.
 *
 * In: a dot and its blocking. Out: for each block of the result, each work-item keeps rows x columns accumulators in
 * registers; strips of k of both sides are packed into shared arrays by all, then multiplied by all.                      */
#include "cl/emit.h"

/* x by columns: [strip][m]; y by rows: [strip][n]. `item` runs along what lies together in memory. */
static void pack(clpi_emit *e, const clpi_stage *stage, bool is_y)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    const clpi_nest *n = is_y ? d->b : d->a;
    int row = n->rank - 2, column = n->rank - 1, node = is_y ? d->b_value : d->a_value;
    if (!clpi_begin_nest(e, n, is_y ? &stage->pack_b : &stage->pack_a))
        return;
    e->values[node].n_uses++;
    long long across = is_y ? (long long)d->n : (long long)p->strip;
    int64_t n_items = (is_y ? d->n : d->m) * p->strip;
    clpi_open_items(e, n_items);
    clpi_line(e, "const int d%d = %sitem / %lld, d%d = %sitem %% %lld;", row, is_y ? "k0 + " : "", across, column,
              is_y ? "" : "k0 + ", across);
    clpi_line(e, "%s value = 0;", clpi_packed_type(d, 1));
    clpi_open(e, "if (d%d < %lld)", is_y ? row : column, (long long)d->k);
    clpi_emit_nodes(e, e->map->n_order - 1);
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    clpi_prelude_cast(&e->prelude, &s, d->acc, n->nodes.items[node].dtype, 1, 0, clpi_value_text(e, node, 1, 0));
    clpi_line(e, "value = (%s)(%s);", clpi_packed_type(d, 1), s.text);
    clpi_str_done(&s);
    clpi_close(e);
    if (is_y)
        clpi_line(e, "y_part[item] = value;");
    else
        clpi_line(e, "x_part[item %% %lld * %lld + item / %lld] = value;", across, (long long)p->a_stride, across);
    clpi_close_items(e, n_items);
}

static void multiply(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    const char *type = clpi_packed_type(d, 1);
    clpi_open(e, "for (int k = 0; k < %lld; k++)", (long long)p->strip);
    clpi_line(e, "%s x[%d], y[%d];", type, p->rows, p->panel);
    clpi_line(e, "for (int i = 0; i < %d; i++)", p->rows);
    clpi_line(e, "    x[i] = x_part[k * %lld + min(row + i * %d, %lld)];", (long long)p->a_stride, p->group_rows,
              (long long)(d->m - 1));
    clpi_line(e, "for (int j = 0; j < %d; j++)", p->panel);
    clpi_line(e, "    y[j] = y_part[k * %lld + min(column + j * %d, %lld)];", (long long)d->n, p->group_columns,
              (long long)(d->n - 1));
    clpi_line(e, "for (int i = 0; i < %d; i++)", p->rows);
    clpi_line(e, "    for (int j = 0; j < %d; j++)", p->panel);
    clpi_line(e, clpi_is_float(d->acc) ? "        sum[i][j] = fma(x[i], y[j], sum[i][j]);" : "        sum[i][j] += x[i] * y[j];");
    clpi_close(e);
}

/* what: the statement for one accumulator that the result has. */
static void each_accumulator(clpi_emit *e, const clpi_stage *stage, const char *what)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    clpi_line(e, "for (int i = 0; i < %d; i++)", p->rows);
    clpi_line(e, "    for (int j = 0; j < %d; j++)", p->panel);
    clpi_line(e, "        if (row + i * %d < %lld && column + j * %d < %lld)", p->group_rows, (long long)d->m,
              p->group_columns, (long long)d->n);
    clpi_line(e, "            %s", what);
}

static void emit_block(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    const clpi_tile_place *dest = &e->s->tiles[d->dest];
    const char *place = clpi_text(e, "c[(row + i * %d) * %lld + column + j * %d]", p->group_rows,
                                  (long long)dest->stride[d->n_batch], p->group_columns);
    clpi_line(e, "const int row = row0 + lid / %d, column = column0 + lid %% %d;", p->group_columns, p->group_columns);
    clpi_line(e, "%s sum[%d][%d];", clpi_packed_type(d, 1), p->rows, p->panel);
    clpi_line(e, "for (int i = 0; i < %d; i++)", p->rows);
    clpi_line(e, "    for (int j = 0; j < %d; j++)", p->panel);
    clpi_line(e, "        sum[i][j] = 0;");
    if (d->accumulates)
        each_accumulator(e, stage, clpi_text(e, "sum[i][j] = %s;", place));
    clpi_open(e, "for (int k0 = 0; k0 < %lld; k0 += %lld)", (long long)d->k, (long long)(p->strip > 0 ? p->strip : 1));
    pack(e, stage, false);
    pack(e, stage, true);
    clpi_barrier(e);
    multiply(e, stage);
    clpi_barrier(e);
    clpi_close(e);
    each_accumulator(e, stage, clpi_text(e, "%s = sum[i][j];", place));
}

void clpi_emit_dot_simt(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    const clpi_tile_place *dest = &e->s->tiles[d->dest];
    const char *type = clpi_packed_type(d, 1), *c = clpi_tile_name(e, d->dest);
    for (int b = 0; b < d->n_batch; b++) {
        clpi_open(e, "for (int d%d = 0; d%d < %lld; d%d++)", b, b, (long long)e->p->tiles.items[d->dest].shape[b], b);
        c = clpi_text(e, "%s + d%d * %lld", c, b, (long long)dest->stride[b]);
    }
    clpi_open(e, "%s", "");
    clpi_line(e, "%s%s *const c = (%s%s *)(%s);", clpi_home_space(dest->home), type, clpi_home_space(dest->home), type, c);
    const char *x_space = clpi_slot_space(e, p->a_slot), *y_space = clpi_slot_space(e, p->b_slot);
    clpi_line(e, "%s%s *const x_part = (%s%s *)a%d;", x_space, type, x_space, type, p->a_slot);
    clpi_line(e, "%s%s *const y_part = (%s%s *)a%d;", y_space, type, y_space, type, p->b_slot);
    clpi_open(e, "for (int row0 = 0; row0 < %lld; row0 += %d)", (long long)d->m, p->rows * p->group_rows);
    clpi_open(e, "for (int column0 = 0; column0 < %lld; column0 += %d)", (long long)d->n, p->panel * p->group_columns);
    emit_block(e, stage);
    clpi_close(e);
    clpi_close(e);
    clpi_close(e);
    for (int b = 0; b < d->n_batch; b++)
        clpi_close(e);
}
