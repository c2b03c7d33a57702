/* emit_dot_tiles: the inside of a dot whose unit multiplies whole tiles (Intel's AMX; SDM volume 1, chapter 18).
 *
 * In: rows of packed x and a panel of packed y, both in lanes of 32 bits, as emit_dot_vector.c packs them for every unit whose lanes hold
 * several neighbours in k; the sums, in their place. Out: 2 x 2 tiles of sums that stay in registers over all of k:
 *
 *                  y: 16 lanes of k     tmm6        tmm7
 *     x: 16 rows   tmm4                 tmm0        tmm1         a step of k: four loads of tiles, four products
 *                  tmm5                 tmm2        tmm3
 *
 * A tile has as many rows and columns as its configuration says, so rows that end in less than a tile need no other code and touch
 * nothing behind them; k is padded with zeros to whole tiles when it is packed. The registers belong to the thread and not to the
 * compiler, which is why everything is volatile and in order.                                                             */
#include "cl/emit.h"

enum { SUMS = 0, X = 4, Y = 6 };

static int rows_of(int rows, int i)
{
    const int left = rows - i * CLPI_TILE_LANES;
    return left < 0 ? 0 : left < CLPI_TILE_LANES ? left : CLPI_TILE_LANES;
}

/* The 64 bytes of LDTILECFG: palette 1, bytes in a row at 16 (two bytes each), rows at 48. */
void clpi_emit_tile_setup(clpi_emit *e, const clpi_stage *stage, int rows)
{
    const clpi_dot_plan *p = &stage->dot;
    unsigned char config[64] = { 1 };
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            config[16 + 2 * (SUMS + 2 * i + j)] = (unsigned char)(4 * p->width);
            config[48 + SUMS + 2 * i + j] = (unsigned char)rows_of(rows, i);
        }
    for (int i = 0; i < 2; i++) {
        config[16 + 2 * (X + i)] = 4 * CLPI_TILE_LANES;
        config[48 + X + i] = (unsigned char)rows_of(rows, i);
        config[16 + 2 * (Y + i)] = (unsigned char)(4 * p->width);
        config[48 + Y + i] = CLPI_TILE_LANES;
    }
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    for (int i = 0; i < 64; i++)
        clpi_str_add(&s, "%s%d", i ? ", " : "", config[i]);
    clpi_line(e, "const uchar tiles[64] = { %s };", clpi_take_text(e, &s));
    clpi_line(e, "__asm__ volatile(\"ldtilecfg %%0\" : : \"m\"(tiles));");
}

static void move(clpi_emit *e, bool is_load, int tile, const char *at, int64_t stride)
{
    clpi_line(e, is_load ? "__asm__ volatile(\"tileloadd (%%0,%%1,1), %%%%tmm%d\" : : \"r\"(%s), \"r\"(%lldL) : \"memory\");"
                         : "__asm__ volatile(\"tilestored %%%%tmm%d, (%%0,%%1,1)\" : : \"r\"(%s), \"r\"(%lldL) : \"memory\");",
              tile, at, (long long)(4 * stride));
}

static const char *sum_at(clpi_emit *e, const clpi_dot_plan *p, int i, int j, int64_t c_stride)
{
    return clpi_text(e, "c + %lld", (long long)(i * CLPI_TILE_LANES * c_stride + j * p->width));
}

/* c += x . y for rows of x and a panel of y. */
void clpi_emit_tiles(clpi_emit *e, const clpi_stage *stage, int rows, int64_t c_stride)
{
    const clpi_dot_plan *p = &stage->dot;
    const int n_rows = rows > CLPI_TILE_LANES ? 2 : 1, n_columns = p->panel / p->width;
    for (int i = 0; i < n_rows; i++)
        for (int j = 0; j < n_columns; j++) {
            const bool accumulates = stage->step->dot->accumulates;     /* as all do that start at zero */
            if (p->starts_at_zero)
                clpi_open(e, "if (%s)", clpi_first_step_text(e));
            if (p->starts_at_zero || !accumulates)
                clpi_line(e, "__asm__ volatile(\"tilezero %%tmm%d\");", SUMS + 2 * i + j);
            if (p->starts_at_zero) {
                clpi_close(e);
                clpi_open(e, "else");
            }
            if (accumulates)
                move(e, true, SUMS + 2 * i + j, sum_at(e, p, i, j, c_stride), c_stride);
            if (p->starts_at_zero)
                clpi_close(e);
        }
    clpi_open(e, "for (int k = 0; k < %s; k += %d)", e->k_end, CLPI_TILE_LANES);
    for (int j = 0; j < n_columns; j++)
        move(e, true, Y + j, clpi_text(e, "y + k * %d + %d", p->panel, j * p->width), p->panel);
    for (int i = 0; i < n_rows; i++) {
        move(e, true, X + i, clpi_text(e, "x + k + %lld", (long long)(i * CLPI_TILE_LANES * p->a_stride)), p->a_stride);
        for (int j = 0; j < n_columns; j++)
            clpi_line(e, "__asm__ volatile(\"%s %%tmm%d, %%tmm%d, %%tmm%d\");", p->unit->tiles, Y + j, X + i, SUMS + 2 * i + j);
    }
    clpi_close(e);
    for (int i = 0; i < n_rows; i++)
        for (int j = 0; j < n_columns; j++)
            move(e, false, SUMS + 2 * i + j, sum_at(e, p, i, j, c_stride), c_stride);
}
