/* emit_nest: the loops of a nest.
 *
 * In: a nest and its mapping. Out: loops in the mapping's order, kept dimensions outside, reduced or scanned ones inside with
 * their accumulators around them. vector: the vector dimension in steps of its width, then what is left over in narrower
 * pieces, so that no lane is wasted and none is out; likewise the dimension that is turned, square by square (emit_square.c). simt:
 * the kept domain dealt out, or one reduction done jointly; what teams share is in emit_team.c.                             */
#include "cl/emit.h"

static void emit_level(clpi_emit *e, int at);

/* ---- Loops ---- */

static void emit_body(clpi_emit *e, int at)
{
    clpi_emit_nodes(e, at);
    emit_level(e, at + 1);
    clpi_forget_from(e, at);
}

/* The loop of <name><dim> over n points from `origin` (NULL: 0) on, so many at a time; from the last on where that is how they are scanned. */
static void open_loop(clpi_emit *e, char name, int dim, const char *origin, int64_t n, int step)
{
    const bool back = clpi_scans_backwards(e, dim);
    const char *at = clpi_text(e, "%lld", (long long)(back ? n - step : n)), *begin = origin ? origin : "0";
    const char *by = step > 1 ? clpi_text(e, " %c= %d", back ? '-' : '+', step) : back ? "--" : "++";
    if (origin)
        at = clpi_text(e, "%s + %s", origin, at);
    clpi_open(e, "for (int %c%d = %s; %c%d %s %s; %c%d%s)", name, dim, back ? at : begin, name, dim, back ? ">=" : "<", back ? begin : at,
              name, dim, by);
}

static void emit_plain_loop(clpi_emit *e, int at, int dim)
{
    open_loop(e, 'd', dim, NULL, e->nest->extent[dim], 1);
    emit_body(e, at);
    clpi_close(e);
}

/* One vector at d<dim>, or chains of them from c<dim> on: each goes to an accumulator of its own. */
static void emit_chains(clpi_emit *e, int at, int dim, int chains)
{
    if (chains == 1) {
        emit_body(e, at);
        return;
    }
    for (e->chain = 0; e->chain < chains; e->chain++) {
        clpi_open_block(e);
        clpi_line(e, "const int d%d = c%d + %d;", dim, dim, e->chain * e->width);
        emit_body(e, at);
        clpi_close(e);
    }
    e->chain = 0;
}

/* Likewise, in two versions where blocks may be cut: for vectors that exist, and for any, then one after another. */
static void emit_vectors(clpi_emit *e, int at, int dim, int chains, const char *whole)
{
    if (!whole) {
        emit_chains(e, at, dim, chains);
        return;
    }
    if (chains > 1)
        clpi_line(e, "const int d%d = c%d;", dim, dim);
    clpi_open(e, "if (%s)", whole);
    e->is_fast = true;
    emit_chains(e, at, dim, chains);
    e->is_fast = false;
    clpi_close(e);
    if (chains > 1)
        clpi_open(e, "else for (int d%d = c%d; d%d < c%d + %d; d%d += %d)", dim, dim, dim, dim, chains * e->width, dim, e->width);
    else
        clpi_open(e, "else");
    emit_body(e, at);
    clpi_close(e);
}

/* `size` points along dim: a vector at d<dim>, or a square at b<dim>; or all that hold so many. */
typedef void (*piece_fn)(clpi_emit *e, int at, int dim, int size);

/* All of dimension dim: what pieces of that size hold, then what is left over in narrower ones, the wider ones first; from the end where that is
 * how they are scanned. */
static void emit_pieces(clpi_emit *e, int at, int dim, int size, char name, piece_fn whole, piece_fn narrow)
{
    const int64_t n = e->nest->extent[dim];
    const int rest = (int)(n % size);
    const bool back = clpi_scans_backwards(e, dim);
    if (!back)
        whole(e, at, dim, size);
    for (int k = size / 2; k >= 1; k /= 2) {
        const int fewer = back ? size / 2 / k : k;
        if (!(rest & fewer))
            continue;
        clpi_open_block(e);
        clpi_line(e, "const int %c%d = %lld;", name, dim, (long long)(n - rest + (rest & ~(2 * fewer - 1))));
        narrow(e, at, dim, fewer);
        clpi_close(e);
    }
    if (back)
        whole(e, at, dim, size);
}

static void emit_vector(clpi_emit *e, int at, int dim, int width)
{
    e->width = width;
    emit_vectors(e, at, dim, 1, clpi_emit_whole(e, at, width));
}

static void emit_whole_vectors(clpi_emit *e, int at, int dim, int width)
{
    const int64_t n = e->nest->extent[dim];
    const int chains = e->map->chains, step = chains * width;
    const char name = chains > 1 ? 'c' : 'd';
    e->width = width;
    if (n < width)
        return;
    if (n / width == 1) {
        clpi_open_block(e);
        clpi_line(e, "const int d%d = 0;", dim);
        emit_vector(e, at, dim, width);
    } else {
        const char *whole = clpi_emit_whole(e, at, step);
        open_loop(e, name, dim, NULL, n - n % width, step);
        emit_vectors(e, at, dim, chains, whole);
    }
    clpi_close(e);
}

static void emit_vector_loop(clpi_emit *e, int at, int dim)
{
    emit_pieces(e, at, dim, e->map->width, 'd', emit_whole_vectors, emit_vector);
    e->width = 1;
}

/* The columns of a square, one after another; unrolled where that is little, so that the square stays in registers. */
static void emit_columns(clpi_emit *e, int at, int dim)
{
    enum { LITTLE = 8 };
    clpi_load_squares(e);
    if (e->is_fast && e->nest->nodes.n <= LITTLE)
        clpi_line(e, "#pragma unroll");
    open_loop(e, 'd', dim, clpi_text(e, "b%d", dim), e->columns, 1);
    emit_body(e, at);
    clpi_close(e);
    clpi_store_squares(e);
}

static void emit_square(clpi_emit *e, int at, int dim, int columns)
{
    e->columns = columns;
    if (e->map->turn_columns)
        emit_vector_loop(e, at, e->map->vector_dim);
    else
        emit_columns(e, at, dim);
}

static void emit_whole_squares(clpi_emit *e, int at, int dim, int columns)
{
    const int64_t whole = e->nest->extent[dim] / columns * columns;
    if (whole == 0)
        return;
    open_loop(e, 'b', dim, NULL, whole, columns);
    emit_square(e, at, dim, columns);
    clpi_close(e);
}

static void emit_turned_loop(clpi_emit *e, int at, int dim)
{
    emit_pieces(e, at, dim, e->map->turn_columns ? e->map->turn_columns : e->width, 'b', emit_whole_squares, emit_square);
}

/* `item`, dealt out, as the coordinates order[from .. to). */
void clpi_emit_coordinates(clpi_emit *e, int from, int to)
{
    int64_t below = 1;
    for (int i = to - 1; i >= from; i--) {
        int dim = e->map->order[i];
        long long n = (long long)e->nest->extent[dim];
        const char *at = below == 1 ? "item" : clpi_text(e, "item / %lld", (long long)below);
        clpi_line(e, i == from ? "const int d%d = %s;" : "const int d%d = %s %% %lld;", dim, at, n);
        below *= n;
    }
}

static int64_t elements(const clpi_emit *e, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++)
        n *= e->nest->extent[e->map->order[i]];
    return n;
}

static void emit_dealt(clpi_emit *e)
{
    int n = e->map->n_kept;
    int64_t n_items = elements(e, 0, n);
    clpi_open_items(e, n_items);
    clpi_emit_coordinates(e, 0, n);
    clpi_emit_nodes(e, n - 1);
    emit_level(e, n);
    clpi_forget_from(e, -1);
    clpi_close_items(e, n_items);
}

/* r, and p, out of the parts first, first + step, ... below n. */
static void take_parts(clpi_emit *e, const clpi_out *out, uint32_t o, const char *first, int step, unsigned long long n)
{
    clpi_line(e, "r%u = part[%s];", o, first);
    if (!clpi_is_arg(out->op)) {
        clpi_line(e, "for (int other = %s + %d; other < %llu; other += %d)", first, step, n, step);
        clpi_line(e, "    r%u = %s;", o, clpi_combine_text(e, out->op, out->dtype, 1, clpi_text(e, "r%u", o), "part[other]"));
        return;
    }
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    clpi_prelude_prefers(&e->prelude, &s, out->op, clpi_accumulator(e, out), clpi_text(e, "r%u", o), clpi_text(e, "p%u", o),
                         "part[other]", "where[other]");
    clpi_line(e, "p%u = where[%s];", o, first);
    clpi_open(e, "for (int other = %s + %d; other < %llu; other += %d)", first, step, n, step);
    clpi_open(e, "if (%s)", clpi_take_text(e, &s));
    clpi_line(e, "r%u = part[other];", o);
    clpi_line(e, "p%u = where[other];", o);
    clpi_close(e);
    clpi_close(e);
}

static void leave_part(clpi_emit *e, const clpi_out *out, uint32_t o)
{
    clpi_line(e, "part[lid] = r%u;", o);
    if (clpi_is_arg(out->op))
        clpi_line(e, "where[lid] = p%u;", o);
}

/* Each work-item's part through the joint array; all of them read the whole: of many parts what a few have made of them, which is
 * 30 loads in place of 256. */
static void emit_joint_result(clpi_emit *e, const clpi_out *out, uint32_t o)
{
    enum { FEW = 16 };
    const char *type = clpi_accumulator_type(e, out, 1);
    const char *space = clpi_slot_space(e, e->s->joint_slot);
    unsigned long long n = (unsigned long long)e->s->group_size;
    clpi_open_block(e);
    clpi_line(e, "%s%s *const part = (%s%s *)joint;", space, type, space, type);
    if (clpi_is_arg(out->op))
        clpi_line(e, "%sint *const where = (%sint *)(joint + %llu);", space, space, n);
    leave_part(e, out, o);
    clpi_barrier(e);
    if (n > FEW) {
        clpi_open(e, "if (lid < %d)", FEW);
        take_parts(e, out, o, "lid", FEW, n);
        leave_part(e, out, o);
        clpi_close(e);
        clpi_barrier(e);
    }
    take_parts(e, out, o, "0", 1, n > FEW ? FEW : n);
    clpi_barrier(e);
    clpi_close(e);
}

static void emit_joint(clpi_emit *e)
{
    int n = e->map->n_order;
    clpi_emit_nodes(e, -1);
    clpi_declare_accumulators(e);
    int64_t n_items = elements(e, 0, n);
    clpi_open_items(e, n_items);
    clpi_emit_coordinates(e, 0, n);
    clpi_emit_nodes(e, n - 1);
    clpi_emit_outs(e);
    clpi_forget_from(e, 0);
    clpi_close_items(e, n_items);
    for (uint32_t o = 0; o < e->nest->outs.n; o++)
        if (e->nest->outs.items[o].kind == CLPI_OUT_REDUCE)
            emit_joint_result(e, &e->nest->outs.items[o], o);
    clpi_store_reductions(e);
}

static bool has_accumulators(const clpi_emit *e)
{
    for (uint32_t o = 0; o < e->nest->outs.n; o++)
        if (e->nest->outs.items[o].kind == CLPI_OUT_REDUCE)
            return true;
    return clpi_scan_of(e->nest) != NULL;
}

static void emit_from(clpi_emit *e, int at)
{
    if (at == e->map->n_order) {
        e->at_point(e);
        return;
    }
    const clpi_mapping *m = e->map;
    const int dim = m->order[at];
    if (dim == m->vector_dim && m->turn_columns)
        emit_turned_loop(e, at, m->turn_dim);
    else if (dim == m->vector_dim && m->width > 1)
        emit_vector_loop(e, at, dim);
    else if (dim == m->turn_dim && m->turn_columns)
        emit_columns(e, at, dim);
    else if (dim == m->turn_dim && e->width > 1)
        emit_turned_loop(e, at, dim);
    else
        emit_plain_loop(e, at, dim);
}

static void emit_level(clpi_emit *e, int at)
{
    if (at != e->map->n_kept || !has_accumulators(e)) {
        emit_from(e, at);
        return;
    }
    clpi_declare_accumulators(e);
    emit_from(e, at);
    clpi_store_reductions(e);
}

void clpi_emit_loops(clpi_emit *e)
{
    clpi_emit_nodes(e, -1);
    emit_level(e, 0);
}

/* The scalars that the nest leaves in registers, to the joint array or back out of it. */
static void copy_scalars(clpi_emit *e, bool to_joint)
{
    for (uint32_t o = 0; o < e->nest->outs.n; o++) {
        const clpi_out *out = &e->nest->outs.items[o];
        int access = out->kind == CLPI_OUT_ATOMIC ? out->old : clpi_is_register_store(e, out) ? out->access : -1;
        if (access < 0)
            continue;
        const char *scalar = clpi_tile_name(e, e->nest->accesses.items[access].target);
        const char *place = clpi_text(e, "*(%s%s *)(joint + %u)", clpi_slot_space(e, e->s->joint_slot),
                                      clpi_cl_type(clpi_out_dtype(e, access), 1), o);
        clpi_line(e, "%s = %s;", to_joint ? place : scalar, to_joint ? scalar : place);
    }
}

/* Scalars that one work-item comes to, for all. */
static void emit_broadcast(clpi_emit *e)
{
    clpi_open(e, "if (lid == 0)");
    clpi_emit_loops(e);
    copy_scalars(e, true);
    clpi_close(e);
    clpi_barrier(e);
    copy_scalars(e, false);
    clpi_barrier(e);
}

void clpi_emit_nest(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_mapping *m = &stage->map;
    if (!clpi_begin_nest(e, stage->step->nest, m))
        return;
    e->at_point = clpi_emit_outs;
    if (clpi_is_simt(e) && m->is_broadcast) {
        emit_broadcast(e);
        return;
    }
    if (m->is_teamed) {
        clpi_emit_team(e, stage);
        return;
    }
    if (m->is_alone)
        clpi_open(e, "if (lid == 0)");
    else
        clpi_open_block(e);
    if (clpi_is_simt(e) && m->is_dealt) {
        emit_dealt(e);
    } else if (clpi_is_simt(e) && m->is_joint) {
        emit_joint(e);
    } else {
        clpi_emit_loops(e);
    }
    clpi_close(e);
}
