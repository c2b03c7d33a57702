/* emit_sort: a tile sorted along one axis, line by line, by merging runs of doubled length between it and a twin.
 *
 * In: a tile in place. Out: it sorted, stably, NaN last. simt: the lines are dealt out.                                    */
#include "cl/emit.h"

void clpi_emit_sort(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_step *s = stage->step;
    const clpi_tile *t = &e->p->tiles.items[s->tile];
    const clpi_tile_place *place = &e->s->tiles[s->tile];
    long long n = (long long)t->shape[s->axis], stride = (long long)place->stride[s->axis], lines = 1;
    const char *type = clpi_tile_type(t->dtype, 1), *from_space = clpi_home_space(place->home),
               *to_space = clpi_home_space(e->s->tiles[s->tile2].home);
    for (int d = 0; d < t->rank; d++)
        lines *= d == s->axis ? 1 : (long long)t->shape[d];
    const char *at = "0";
    long long below = 1;
    for (int d = t->rank - 1; d >= 0; d--)
        if (d != s->axis) {
            at = clpi_text(e, "%s + item / %lld %% %lld * %lld", at, below, (long long)t->shape[d], (long long)place->stride[d]);
            below *= (long long)t->shape[d];
        }
    bool is_float = clpi_is_float(t->dtype);
    if (clpi_is_simt(e))
        clpi_open_items(e, lines);
    else
        clpi_open(e, "for (int item = 0; item < %lld; item++)", lines);
    clpi_line(e, "%s%s *const from = %s + (%s);", from_space, type, clpi_tile_name(e, s->tile), at);
    clpi_line(e, "%s%s *const to = %s + (%s);", to_space, type, clpi_tile_name(e, s->tile2), at);
    clpi_open(e, "for (int run = 1; run < %lld; run *= 2)", n);
    clpi_open(e, "for (int low = 0; low < %lld; low += 2 * run)", n);
    clpi_line(e, "const int middle = min(low + run, (int)%lld), high = min(low + 2 * run, (int)%lld);", n, n);
    clpi_open(e, "for (int i = low, j = middle, k = low; k < high; k++)");
    clpi_line(e, "int right = i >= middle;");
    clpi_open(e, "if (i < middle && j < high)");
    clpi_line(e, "const %s a = from[i * %lld], b = from[j * %lld];", type, stride, stride);
    clpi_line(e, is_float ? "right = b < a || (isnan(a) && !isnan(b));" : "right = b < a;");
    clpi_close(e);
    clpi_line(e, "to[k * %lld] = from[(right ? j : i) * %lld];", stride, stride);
    clpi_line(e, "j += right;");
    clpi_line(e, "i += !right;");
    clpi_close(e);
    clpi_close(e);
    clpi_line(e, "for (int k = 0; k < %lld; k++)", n);
    clpi_line(e, "    from[k * %lld] = to[k * %lld];", stride, stride);
    clpi_close(e);
    if (clpi_is_simt(e))
        clpi_close_items(e, lines);
    else
        clpi_close(e);
}
