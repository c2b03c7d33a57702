/* emit_dot_simt: a dot for a group of work-items.
 *
 * In: a dot and its blocking. Out: for each block of the result, each work-item keeps rows x columns sums in registers, those of the
 * result itself where it lives there. Slices of k of both sides are packed into shared arrays by all, then multiplied by all: with two
 * buffers the next slice is fetched into registers first, the last one multiplied while it is under way, then it is put, and one
 * barrier ends the round.                                                                                                  */
#include "cl/emit.h"

/* ---- Sides ---- */

/* One operand of the dot, packed as [slice][stride]. */
typedef struct side {
    const char         *name;
    const clpi_nest    *nest;
    const clpi_mapping *map;
    int     value;                /* node */
    int64_t block, extent, stride;/* rows of x, columns of y: in a block, all, and from one of k to the next */
    int     slot;
    int     k_dim, own_dim;       /* of the nest's domain */
    const char *block0;           /* where the block begins; NULL: there is only one */
    int64_t n_items;              /* vectors of a slice */
    int     n_rounds;             /* of all work-items over them */
} side;

static side side_of(const clpi_emit *e, const clpi_stage *stage, bool is_y)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    int rank = d->n_batch + 2;
    side s = { .name = "x", .nest = d->a, .map = &stage->pack_a, .value = d->a_value, .block = p->deal.m, .extent = d->m,
               .stride = p->a_stride, .slot = p->a_slot, .k_dim = rank - 1, .own_dim = rank - 2, .block0 = "row0" };
    if (is_y)
        s = (side){ .name = "y", .nest = d->b, .map = &stage->pack_b, .value = d->b_value, .block = p->deal.n, .extent = d->n,
                    .stride = p->b_stride, .slot = p->b_slot, .k_dim = rank - 2, .own_dim = rank - 1, .block0 = "column0" };
    if (s.block >= s.extent)
        s.block0 = NULL;
    s.n_items = s.block * p->slice / s.map->width;
    s.n_rounds = (int)clpi_cdiv(s.n_items, (int64_t)e->s->group_size);
    return s;
}

static bool lies_along_k(const side *s)
{
    return s->map->vector_dim == s->k_dim || (s->map->vector_dim < 0 && s->k_dim > s->own_dim);
}

/* Opens what a work-item does with each of its vectors of a slice: number `round`, at `at` of the block and `in_slice` of k. */
static void open_items(clpi_emit *e, const clpi_dot_plan *p, const side *s)
{
    int width = s->map->width;
    long long inner = (long long)((lies_along_k(s) ? p->slice : s->block) / width);
    clpi_open_unrolled(e, "round", s->n_rounds, 0);
    clpi_line(e, "const int item = round * %llu + lid;", (unsigned long long)e->s->group_size);
    if (s->n_items % (int64_t)e->s->group_size)
        clpi_open(e, "if (item < %lld)", (long long)s->n_items);
    const char *outer = clpi_text(e, "item / %lld", inner);
    const char *rest = width == 1 ? clpi_text(e, "item %% %lld", inner) : clpi_text(e, "item %% %lld * %d", inner, width);
    clpi_line(e, "const int at = %s, in_slice = %s;", lies_along_k(s) ? outer : rest, lies_along_k(s) ? rest : outer);
}

static void close_items(clpi_emit *e, const side *s)
{
    if (s->n_items % (int64_t)e->s->group_size)
        clpi_close(e);
    clpi_close(e);
}

/* The slice from k_next on, from where the operand lies into registers. */
static void fetch(clpi_emit *e, const clpi_stage *stage, const side *s)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    int width = s->map->width;
    const char *type = clpi_packed_type(d, width), *inside = NULL;
    if (!clpi_begin_nest(e, s->nest, s->map))
        return;
    e->values[s->value].n_uses++;
    open_items(e, p, s);
    clpi_line(e, s->block0 ? "const int d%d = %s + at, d%d = k_next + in_slice;" : "const int d%d = %sat, d%d = k_next + in_slice;",
              s->own_dim, s->block0 ? s->block0 : "", s->k_dim);
    if (s->extent % s->block)
        inside = clpi_text(e, "d%d < %lld", s->own_dim, (long long)s->extent);
    if (d->k % p->slice)
        inside = clpi_and_text(e, inside, clpi_text(e, "d%d < %lld", s->k_dim, (long long)d->k));
    if (inside) {
        clpi_line(e, "%s_next[round] = 0;", s->name);
        clpi_open(e, "if (%s)", inside);
    }
    e->width = width;
    clpi_emit_nodes(e, e->map->n_order - 1);
    clpi_str text;
    clpi_str_init(&text, e->arena->env);
    clpi_prelude_cast(&e->prelude, &text, d->acc, s->nest->nodes.items[s->value].dtype, width, 0, clpi_value_text(e, s->value, width, 0));
    const bool is_float = clpi_is_float(d->acc);
    clpi_line(e, is_float ? "%s_next[round] = %s%s;" : "%s_next[round] = as_%s(%s);", s->name, is_float ? "" : type, text.text);
    clpi_str_done(&text);
    e->width = 1;
    if (inside)
        clpi_close(e);
    close_items(e, s);
}

/* What was fetched, into the shared array. */
static void put(clpi_emit *e, const clpi_stage *stage, const side *s)
{
    const clpi_dot *d = stage->step->dot;
    const char *space = clpi_slot_space(e, s->slot), *to = clpi_text(e, "%s_to", s->name);
    int width = s->map->width;
    open_items(e, &stage->dot, s);
    if (width == 1)
        clpi_line(e, "%s[in_slice * %lld + at] = %s_next[round];", to, (long long)s->stride, s->name);
    else if (lies_along_k(s))
        for (int l = 0; l < width; l++)
            clpi_line(e, "%s[(in_slice + %d) * %lld + at] = %s_next[round].s%d;", to, l, (long long)s->stride, s->name, l);
    else
        clpi_line(e, "*(%s%s *)(%s + in_slice * %lld + at) = %s_next[round];", space, clpi_packed_type(d, width), to,
                  (long long)s->stride, s->name);
    close_items(e, s);
}

/* ---- Sums ---- */

/* The sums of this work-item: [rows][columns in runs]. */
static const char *sums_name(clpi_emit *e, const clpi_dot *d, const clpi_dot_plan *p)
{
    return p->is_owned ? clpi_tile_name(e, d->dest) : "sum";
}

static const char *dest_type(clpi_emit *e, const clpi_dot *d, const clpi_dot_plan *p)
{
    return p->is_owned ? clpi_cl_type(e->p->tiles.items[d->dest].dtype, p->deal.column_run) : clpi_packed_type(d, p->deal.column_run);
}

static void read_runs(clpi_emit *e, const clpi_dot *d, const side *s, const char *index, int n_runs, int run, const char *at)
{
    const char *space = clpi_slot_space(e, s->slot), *type = clpi_packed_type(d, run);
    clpi_line(e, "%s %s[%d];", type, s->name, n_runs);
    clpi_line(e, "#pragma unroll");
    clpi_line(e, "for (int %s = 0; %s < %d; %s++)", index, index, n_runs, index);
    if (run == 1)
        clpi_line(e, "    %s[%s] = %s_from[k * %lld + %s];", s->name, index, s->name, (long long)s->stride, at);
    else
        clpi_line(e, "    %s[%s] = *(%sconst %s *)(%s_from + k * %lld + %s);", s->name, index, space, type, s->name,
                  (long long)s->stride, at);
}

/* sum[i][j] += x[i] * y[j]: 64 multiply-adds for 4 loads from shared memory with 8 x 8 sums. One of k at a time: what more would load ahead
 * has no registers (sm_80, held to 128: spills with two), and other work-items have enough to multiply meanwhile. */
static void multiply(clpi_emit *e, const clpi_stage *stage, const side *x, const side *y)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    const clpi_deal *deal = &p->deal;
    const char *type = clpi_packed_type(d, deal->column_run);
    clpi_open_unrolled(e, "k", (int)p->slice, 1);
    read_runs(e, d, x, "i", deal->rows / deal->row_run, deal->row_run, clpi_row_run_text(e, deal, "i"));
    read_runs(e, d, y, "j", deal->columns / deal->column_run, deal->column_run, clpi_column_run_text(e, deal, "j"));
    clpi_open_unrolled(e, "j", deal->columns / deal->column_run, 0);
    for (int i = 0; i < deal->rows; i++) {
        const char *one = deal->row_run == 1 ? clpi_text(e, "x[%d]", i) : clpi_text(e, "x[%d].s%d", i / deal->row_run, i % deal->row_run);
        const char *c = clpi_text(e, "%s[%d][j]", sums_name(e, d, p), i);
        if (deal->column_run > 1)
            one = clpi_text(e, "(%s)(%s)", type, one);
        if (clpi_is_float(d->acc))
            clpi_line(e, "%s = fma(%s, y[j], %s);", c, one, c);
        else if (p->is_owned)
            clpi_line(e, "%s = as_%s(as_%s(%s) + %s * y[j]);", c, dest_type(e, d, p), type, c, one);
        else
            clpi_line(e, "%s += %s * y[j];", c, one);
    }
    clpi_close(e);
    clpi_close(e);
}

static void clear_sums(clpi_emit *e, const clpi_dot *d, const clpi_dot_plan *p)
{
    clpi_open_unrolled(e, "i", p->deal.rows, 0);
    clpi_open_unrolled(e, "j", p->deal.columns / p->deal.column_run, 0);
    clpi_line(e, "%s[i][j] = 0;", sums_name(e, d, p));
    clpi_close(e);
    clpi_close(e);
}

/* Between the sums and the tile in memory: what of the block the result has. */
static void move_sums(clpi_emit *e, const clpi_stage *stage, bool to_memory)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    const clpi_tile_place *dest = &e->s->tiles[d->dest];
    const char *type = clpi_packed_type(d, p->deal.column_run), *space = clpi_home_space(dest->home), *inside = NULL;
    clpi_open_unrolled(e, "i", p->deal.rows, 0);
    clpi_line(e, d->m > p->deal.m ? "const int row = row0 + %s;" : "const int row = %s;", clpi_row_text(e, &p->deal));
    clpi_open_unrolled(e, "j", p->deal.columns / p->deal.column_run, 0);
    clpi_line(e, d->n > p->deal.n ? "const int column = column0 + %s;" : "const int column = %s;", clpi_column_run_text(e, &p->deal, "j"));
    if (d->m % p->deal.m)
        inside = clpi_text(e, "row < %lld", (long long)d->m);
    if (d->n % p->deal.n)
        inside = clpi_and_text(e, inside, clpi_text(e, "column < %lld", (long long)d->n));
    if (inside)
        clpi_open(e, "if (%s)", inside);
    const char *place = clpi_text(e, "*(%s%s *)(dest + row * %lld + column)", space, type, (long long)dest->stride[d->n_batch]);
    clpi_line(e, "%s = %s;", to_memory ? place : "sum[i][j]", to_memory ? "sum[i][j]" : place);
    if (inside)
        clpi_close(e);
    clpi_close(e);
    clpi_close(e);
}

/* ---- Slices ---- */

static void point_to_buffer(clpi_emit *e, const clpi_stage *stage, const side *s, const char *what, const char *k)
{
    const clpi_dot_plan *p = &stage->dot;
    const char *space = clpi_slot_space(e, s->slot), *type = clpi_packed_type(stage->step->dot, 1);
    const char *at = p->n_buffers == 1 ? "" : clpi_text(e, " + %s / %lld %% 2 * %lld", k, (long long)p->slice, (long long)(p->slice * s->stride));
    clpi_line(e, "%s%s *const %s_%s = (%s%s *)a%d%s;", space, type, s->name, what, space, type, s->slot, at);
}

static void declare_next(clpi_emit *e, const clpi_dot *d, const side *s)
{
    clpi_line(e, "%s %s_next[%d];", clpi_packed_type(d, s->map->width), s->name, s->n_rounds);
}

static void open_round(clpi_emit *e, const clpi_dot *d, const side *x, const side *y)
{
    clpi_renew_lid(e, "k_next");
    declare_next(e, d, x);
    declare_next(e, d, y);
}

static void put_both(clpi_emit *e, const clpi_stage *stage, const side *x, const side *y)
{
    point_to_buffer(e, stage, x, "to", "k_next");
    point_to_buffer(e, stage, y, "to", "k_next");
    put(e, stage, x);
    put(e, stage, y);
}

static void multiply_last(clpi_emit *e, const clpi_stage *stage, const side *x, const side *y)
{
    const char *last = clpi_text(e, "(k_next - %lld)", (long long)stage->dot.slice);
    point_to_buffer(e, stage, x, "from", last);
    point_to_buffer(e, stage, y, "from", last);
    multiply(e, stage, x, y);
}

/* Each round fetches a slice and multiplies the one before it: one round more than there are slices. */
static void emit_slices_twice(clpi_emit *e, const clpi_stage *stage, const side *x, const side *y)
{
    const clpi_dot *d = stage->step->dot;
    long long slice = (long long)stage->dot.slice, end = (long long)clpi_cdiv(d->k, slice) * slice;
    clpi_open(e, "for (int k_next = 0; k_next <= %lld; k_next += %lld)", end, slice);
    open_round(e, d, x, y);
    clpi_open(e, "if (k_next < %lld)", end);
    fetch(e, stage, x);
    fetch(e, stage, y);
    clpi_close(e);
    clpi_open(e, "if (k_next > 0)");
    multiply_last(e, stage, x, y);
    clpi_close(e);
    clpi_open(e, "if (k_next < %lld)", end);
    put_both(e, stage, x, y);
    clpi_close(e);
    clpi_barrier(e);
    clpi_close(e);
}

static void emit_slices(clpi_emit *e, const clpi_stage *stage, const side *x, const side *y)
{
    const clpi_dot *d = stage->step->dot;
    if (d->k == 0)
        return;
    if (stage->dot.n_buffers == 2) {
        emit_slices_twice(e, stage, x, y);
        return;
    }
    clpi_open(e, "for (int k_next = 0; k_next < %lld; k_next += %lld)", (long long)d->k, (long long)stage->dot.slice);
    open_round(e, d, x, y);
    fetch(e, stage, x);
    fetch(e, stage, y);
    put_both(e, stage, x, y);
    clpi_barrier(e);
    multiply_last(e, stage, x, y);
    clpi_barrier(e);
    clpi_close(e);
}

static void emit_block(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_dot_plan *p = &stage->dot;
    const side x = side_of(e, stage, false), y = side_of(e, stage, true);
    if (!p->is_owned)
        clpi_line(e, "%s sum[%d][%d];", clpi_packed_type(d, p->deal.column_run), p->deal.rows, p->deal.columns / p->deal.column_run);
    if (!p->is_owned || !d->accumulates)
        clear_sums(e, d, p);
    if (!p->is_owned && d->accumulates)
        move_sums(e, stage, false);
    emit_slices(e, stage, &x, &y);
    if (!p->is_owned)
        move_sums(e, stage, true);
}

static void emit_blocks(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_dot *d = stage->step->dot;
    const clpi_deal *b = &stage->dot.deal;
    if (d->m > b->m)
        clpi_open(e, "for (int row0 = 0; row0 < %lld; row0 += %lld)", (long long)d->m, (long long)b->m);
    if (d->n > b->n)
        clpi_open(e, "for (int column0 = 0; column0 < %lld; column0 += %lld)", (long long)d->n, (long long)b->n);
    emit_block(e, stage);
    if (d->n > b->n)
        clpi_close(e);
    if (d->m > b->m)
        clpi_close(e);
}

void clpi_emit_dot_simt(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_dot *d = stage->step->dot;
    const char *type = clpi_packed_type(d, 1), *space = clpi_home_space(e->s->tiles[d->dest].home);
    int64_t stride;
    clpi_open_block(e);
    if (!stage->dot.is_owned)
        clpi_line(e, "%s%s *const dest = (%s%s *)(%s);", space, type, space, type, clpi_sums_text(e, d, &stride));
    emit_blocks(e, stage);
    clpi_close(e);
}
