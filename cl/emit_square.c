/* emit_square: accesses that lie along another dimension than the lanes.
 *
 * In: a nest whose mapping has a turn_dim. Out: for a square of the vector dimension and that one, what lies along turn_dim is loaded
 * row by row as whole vectors and turned in registers before the body runs, once for each column; what the body stores so is kept, turned
 * back and stored when the square is done. Squares hold elements as they lie in memory. Where turn_dim ends, they are narrower.
 *
 *     rows        turn_dim ->            columns     vector_dim ->
 *     r = 0       x00 x01 x02 x03        d = b       x00 x10 x20 x30
 *         1       x10 x11 x12 x13        b + 1       x01 x11 x21 x31
 *         2       x20 x21 x22 x23        b + 2       x02 x12 x22 x32
 *         3       x30 x31 x32 x33        b + 3       x03 x13 x23 x33                                                        */
#include "cl/emit.h"

#include <string.h>

/* ---- The functions that turn ---- */

/* Compilers that take such a function for too large to be inlined would put the squares in memory: twice the time. */
#define INLINED "__attribute__((always_inline))\n"

/* Squares while they are turned: lanes / c of them side by side, in vectors v<round>_0 .. v<round>_<c - 1>. */
typedef struct squares {
    clpi_str   *out;
    const char *type;
    int         lanes, c, round;
} squares;

/* v1_5.s4567cdef: of a vector n lanes from `first` on, and again after every `step` lanes below end. */
static void put_lanes(const squares *q, int round, int i, int first, int n, int step, int end)
{
    clpi_str_add(q->out, "v%d_%d.s", round, i);
    for (int at = first; at < end; at += step)
        for (int lane = at; lane < at + n; lane++)
            clpi_str_add(q->out, "%x", (unsigned)lane);
}

/* In squares of 2 h: the pieces of h lanes off the diagonal are exchanged between vectors i and i + h. */
static void exchange_pieces(squares *q, int h)
{
    const int before = q->round++;
    for (int i = 0; i < q->c; i++) {
        const int from = i & ~h, first = i & h;
        clpi_str_add(q->out, "    const %s v%d_%d = (%s)(", q->type, q->round, i, q->type);
        for (int at = first; at < q->lanes; at += 2 * h) {
            clpi_str_puts(q->out, at > first ? ", " : "");
            put_lanes(q, before, from, at, h, h, at + h);
            clpi_str_puts(q->out, ", ");
            put_lanes(q, before, from + h, at, h, h, at + h);
        }
        clpi_str_puts(q->out, ");\n");
    }
}

/* In squares of p: lanes of vectors i and i + p / 2 in turn, those of the first half of each piece of p lanes, then of the second. */
static void interleave(squares *q, int p)
{
    const int before = q->round++;
    for (int i = 0; i < q->c; i++) {
        const int from = i / p * p + i % p / 2, first = i % 2 * (p / 2);
        clpi_str_add(q->out, "    %s v%d_%d;\n    v%d_%d.even = ", q->type, q->round, i, q->round, i);
        put_lanes(q, before, from, first, p / 2, p, q->lanes);
        clpi_str_add(q->out, ";\n    v%d_%d.odd = ", q->round, i);
        put_lanes(q, before, from + p / 2, first, p / 2, p, q->lanes);
        clpi_str_puts(q->out, ";\n");
    }
}

static void turn(squares *q, int elem_bytes)
{
    const int p = CLPI_PIECE_BYTES / elem_bytes < q->c ? CLPI_PIECE_BYTES / elem_bytes : q->c;
    for (int h = q->c / 2; h >= p; h /= 2)
        exchange_pieces(q, h);
    for (int round = p; round > 1; round /= 2)
        interleave(q, p);
}

/* rows: of c elements each, as many as a vector has lanes. columns: c vectors. Row i of each of the squares is a part of vector i, and set
 * as one: where a vector is made of others, Oclgrind 21.10 crashes. */
static void put_turn(squares *q, const char *name, const char *row_type, int elem_bytes)
{
    clpi_str_add(q->out, INLINED "void %s(const %s *rows, %s *columns)\n{\n", name, row_type, q->type);
    for (int i = 0; i < q->c; i++) {
        if (q->c == q->lanes) {
            clpi_str_add(q->out, "    const %s v0_%d = rows[%d];\n", q->type, i, i);
            continue;
        }
        clpi_str_add(q->out, "    %s v0_%d;\n", q->type, i);
        for (int row = i; row < q->lanes; row += q->c)
            clpi_str_add(q->out, "    v0_%d.s%.*s = rows[%d];\n", i, q->c, &"0123456789abcdef"[row / q->c * q->c], row);
    }
    turn(q, elem_bytes);
    for (int i = 0; i < q->c; i++)
        clpi_str_add(q->out, "    columns[%d] = v%d_%d;\n", i, q->round, i);
    clpi_str_puts(q->out, "}\n");
}

static void put_turn_back(squares *q, const char *name, const char *row_type, int elem_bytes)
{
    clpi_str_add(q->out, INLINED "void %s(const %s *columns, %s *rows)\n{\n", name, q->type, row_type);
    for (int i = 0; i < q->c; i++)
        clpi_str_add(q->out, "    const %s v0_%d = columns[%d];\n", q->type, i, i);
    turn(q, elem_bytes);
    for (int row = 0; row < q->lanes; row++) {
        clpi_str_add(q->out, "    rows[%d] = ", row);
        put_lanes(q, q->round, row % q->c, row / q->c * q->c, q->c, q->c, row / q->c * q->c + q->c);
        clpi_str_puts(q->out, ";\n");
    }
    clpi_str_puts(q->out, "}\n");
}

/* The name of the function that turns as many rows as there are lanes, or such columns back into rows. */
static const char *turning(clpi_emit *e, const clpi_access *a, bool is_back)
{
    const char *type = clpi_stored_vector_type(e, a, e->width);
    const char *name = clpi_text(e, "%s_%s_%d", is_back ? "back" : "turn", type, e->columns);
    if (!clpi_function_is_new(e, name))
        return name;
    squares q = { .out = &e->prelude.functions, .type = type, .lanes = e->width, .c = e->columns };
    (is_back ? put_turn_back : put_turn)(&q, name, clpi_stored_vector_type(e, a, e->columns), clpi_stored_bytes(e, a));
    return name;
}

/* ---- Loads and stores ---- */

bool clpi_is_turned(const clpi_emit *e, const clpi_access *a)
{
    return e->map->turn_dim >= 0 && e->width > 1 && clpi_is_across(e->s, e->nest, a, e->map->vector_dim, e->map->turn_dim);
}

const char *clpi_square_text(clpi_emit *e, const clpi_access *a)
{
    const int dim = e->map->turn_dim;
    return clpi_text(e, "square%d[d%d - b%d]", (int)(a - e->nest->accesses.items), dim, dim);
}

/* What is printed for the rows of a square stands in a loop over them, with the lanes along them. */
typedef struct { const clpi_mapping *map; int width; bool is_raw; clpi_mapping along; } rows_around;

static void open_rows(clpi_emit *e, rows_around *around, bool is_whole)
{
    const int dim = e->map->turn_dim;
    *around = (rows_around){ e->map, e->width, e->is_raw, *e->map };
    around->along.vector_dim = dim;
    around->along.turn_dim = -1;
    clpi_open_block(e);
    clpi_line(e, "const int d%d = b%d;", dim, dim);
    if (is_whole)
        clpi_line(e, "#pragma unroll");
    clpi_open(e, "for (int r = 0; r < %d; r++)", e->width);
    e->row_dim = e->map->vector_dim;
    e->map = &around->along;
    e->width = e->columns;
    e->is_raw = true;
}

static void close_rows(clpi_emit *e, const rows_around *around)
{
    e->is_raw = around->is_raw;
    e->width = around->width;
    e->map = around->map;
    e->row_dim = -1;
    clpi_close(e);
    clpi_close(e);
}

static void declare_square(clpi_emit *e, const clpi_access *a)
{
    const int access = (int)(a - e->nest->accesses.items);
    clpi_line(e, "%s rows%d[%d];", clpi_stored_vector_type(e, a, e->columns), access, e->width);
    clpi_line(e, "%s square%d[%d];", clpi_stored_vector_type(e, a, e->width), access, e->columns);
}

static void load_square(clpi_emit *e, int node)
{
    const int access = e->nest->nodes.items[node].access;
    const clpi_access *a = &e->nest->accesses.items[access];
    clpi_value *v = &e->values[node];
    rows_around around;
    declare_square(e, a);
    open_rows(e, &around, e->is_fast || a->is_tile);
    v->width = e->columns;
    clpi_emit_load(e, node);
    clpi_line(e, "rows%d[r] = %s;", access, v->text);
    *v = (clpi_value){ .level = v->level, .n_uses = v->n_uses };
    close_rows(e, &around);
    clpi_line(e, "%s(rows%d, square%d);", turning(e, a, false), access, access);
}

void clpi_load_squares(clpi_emit *e)
{
    for (uint32_t i = 0; i < e->nest->nodes.n; i++)
        if (e->nest->nodes.items[i].kind == CLPI_NODE_LOAD && e->values[i].n_uses > 0 &&
            clpi_is_turned(e, &e->nest->accesses.items[e->nest->nodes.items[i].access]))
            load_square(e, (int)i);
    for (uint32_t o = 0; o < e->nest->outs.n; o++)
        if (clpi_is_turned(e, &e->nest->accesses.items[e->nest->outs.items[o].access]))
            declare_square(e, &e->nest->accesses.items[e->nest->outs.items[o].access]);
}

void clpi_store_squares(clpi_emit *e)
{
    for (uint32_t o = 0; o < e->nest->outs.n; o++) {
        const int access = e->nest->outs.items[o].access;
        const clpi_access *a = &e->nest->accesses.items[access];
        rows_around around;
        if (!clpi_is_turned(e, a))
            continue;
        clpi_line(e, "%s(square%d, rows%d);", turning(e, a, true), access, access);
        open_rows(e, &around, e->is_fast || a->is_tile);
        clpi_emit_store(e, access, clpi_out_dtype(e, access), clpi_text(e, "rows%d[r]", access), e->columns, 0);
        close_rows(e, &around);
    }
}
