/* emit_place: where an access is, as text: the names of tiles, places and addresses, and whether something exists there.
 *
 * In: an access of the nest being printed, at the current point. Out: expressions. Of neighbours along the lanes, a stretch, they speak as
 * one, apart from where it ends.                                                                                          */
#include "cl/emit.h"

#include <string.h>

/* ---- Tiles and arrays ---- */

const char *clpi_home_space(clpi_home home)
{
    return home == CLPI_HOME_LOCAL ? "__local " : home == CLPI_HOME_WORKSPACE ? "__global " : "";
}

const char *clpi_slot_space(const clpi_emit *e, int slot)
{
    return clpi_home_space(e->s->slots.items[slot].home);
}

const char *clpi_tile_type(clp_dtype dtype, int width)
{
    return dtype == CLP_BOOL ? clpi_cl_stored_type(CLP_BOOL, width) : clpi_cl_type(dtype, width);
}

const char *clpi_packed_type(const clpi_dot *d, int width)
{
    return clpi_cl_type(d->acc == CLP_I32 ? CLP_U32 : d->acc == CLP_I64 ? CLP_U64 : d->acc, width);
}

const char *clpi_tile_name(clpi_emit *e, int tile)
{
    const clpi_tile *t = &e->p->tiles.items[tile];
    if (t->operand >= 0)
        return clpi_text(e, "%s_t", e->ir->operands[t->operand].name);
    return clpi_text(e, e->s->tiles[tile].home == CLPI_HOME_REGISTER ? "s%d" : "t%d", tile);
}

bool clpi_is_register(const clpi_emit *e, const clpi_access *a)
{
    return a->is_tile && e->s->tiles[a->target].home == CLPI_HOME_REGISTER;
}

bool clpi_is_owned(const clpi_emit *e, const clpi_access *a)
{
    return a->is_tile && clpi_is_simt(e) && e->s->tiles[a->target].home == CLPI_HOME_PRIVATE;
}

/* ---- Where ---- */

static int64_t tile_stride(const clpi_emit *e, const clpi_access *a, int d)
{
    const clpi_tile *t = &e->p->tiles.items[a->target];
    if (!t->is_reshaped)
        return e->s->tiles[a->target].stride[d];
    int64_t stride = 1;
    for (int k = a->rank - 1; k > d; k--)
        stride *= a->size[k];
    return stride;
}

static bool is_side_by_side(const clpi_emit *e, const clpi_access *a, int d)
{
    const clpi_operand *x = &e->ir->operands[a->target];
    return (e->is_fast || e->in_stretch) && d == a->rank - 1 && x->ref_dim[d] == x->rank - 1;
}

const char *clpi_offset_text(clpi_emit *e, const clpi_access *a)
{
    const char *text = !a->is_tile && clpi_is_packed(e->ir->operands[a->target].dtype)
                           ? clpi_text(e, "%s_at", e->ir->operands[a->target].name) : NULL;     /* nibbles have no address */
    for (int d = 0; d < a->rank; d++) {
        const clpi_ix *ix = &a->ix[d];
        if (ix->dim < 0 && ix->node < 0 && ix->add == 0)
            continue;
        const char *at = clpi_ix_text(e, ix);
        bool is_plain = !strchr(at, ' ');
        const char *term;
        if (a->is_tile) {
            int64_t stride = tile_stride(e, a, d);
            if (stride == 0)
                continue;
            term = stride == 1 ? at : clpi_text(e, is_plain ? "%s * %lld" : "(%s) * %lld", at, (long long)stride);
        } else {
            const char *name = e->ir->operands[a->target].name;
            term = is_side_by_side(e, a, d) ? at : clpi_text(e, is_plain ? "%s * %s_s%d" : "(%s) * %s_s%d", at, name, d);
        }
        text = text ? clpi_text(e, "%s + %s", text, term) : term;
    }
    return text ? text : "0";
}

const char *clpi_base_text(clpi_emit *e, const clpi_access *a)
{
    return a->is_tile ? clpi_tile_name(e, a->target) : clpi_text(e, "%s_p", e->ir->operands[a->target].name);
}

const char *clpi_place_text(clpi_emit *e, const clpi_access *a)
{
    if (clpi_is_register(e, a))
        return clpi_tile_name(e, a->target);
    if (clpi_is_owned(e, a))      /* that of the loops around, a whole run of columns */
        return clpi_text(e, clpi_is_row_tile(&e->p->tiles.items[a->target]) ? "%s[i]" : "%s[i][j]", clpi_tile_name(e, a->target));
    return clpi_text(e, "%s[%s]", clpi_base_text(e, a), clpi_offset_text(e, a));
}

/* Does `at` lie inside along dimension d, at least `before` short of its begin, `after` of its end? Both are taken from the limits:
 * added to the coordinate, which may be any number, they could overflow. */
static const char *inside_dim(clpi_emit *e, const clpi_access *a, int d, const char *at, int before, int after)
{
    bool is_checked = a->checked >> d & 1;
    const clpi_ix *ix = &a->ix[d];
    const char *above = ix->node >= 0 || ix->mul < 0 || ix->add < 0 ? clpi_text(e, "%d <= %s && ", -before, at) : "";
    if (a->is_tile) {
        if (!is_checked)
            return NULL;
        return clpi_text(e, "%s%s < %lld", above, at, (long long)a->size[d] - after);
    }
    if (e->is_fast && !is_checked)
        return NULL;
    const clpi_operand *x = &e->ir->operands[a->target];
    const char *below = clpi_text(e, "%s < %s_hi%d%s", at, x->name, d, after ? clpi_text(e, " - %d", after) : "");
    if (clpi_has_low_edge(x, d))
        return clpi_text(e, "%s_lo%d%s <= %s && %s", x->name, d, before ? clpi_text(e, " - %d", before) : "", at, below);
    return is_checked ? clpi_text(e, "%s%s", above, below) : below;
}

/* Of a run of neighbours from the current point on: whether all of them exist, with after = their number - 1, or any, with before. */
static const char *inside_text(clpi_emit *e, const clpi_access *a, int before, int after)
{
    const char *text = NULL;
    for (int d = 0; d < a->rank; d++) {
        bool is_last = d == a->rank - 1;
        text = clpi_and_text(e, text, inside_dim(e, a, d, clpi_ix_text(e, &a->ix[d]), is_last ? before : 0, is_last ? after : 0));
    }
    if (!a->is_tile && !e->is_fast && clpi_has_squeezed(&e->ir->operands[a->target]))
        text = clpi_and_text(e, text, clpi_text(e, "%s_in", e->ir->operands[a->target].name));
    return text;
}

const char *clpi_inside_text(clpi_emit *e, const clpi_access *a)
{
    return inside_text(e, a, 0, 0);
}

/* ---- Stretches ---- */

bool clpi_is_stretch(const clpi_emit *e, const clpi_access *a)
{
    for (int d = 0; d < a->rank; d++)
        if (clpi_depends_on(e->nest, a->ix[d].node, e->map->vector_dim))
            return false;
    return clpi_is_contiguous(e->s, a, e->map->vector_dim);
}

/* simt: does the stretch begin a whole number of vectors behind an address that is aligned for them? Tiles lie so; of an operand
 * x_wide tells. NVIDIA's compiler makes four loads of a vector that may not be aligned.                                     */
static bool is_wide(const clpi_emit *e, const clpi_access *a)
{
    const clpi_ix *last = &a->ix[a->rank - 1];
    bool is_good = clpi_is_simt(e) && e->width <= CLPI_WIDE && last->node < 0 && last->add % e->width == 0;
    for (int d = 0; a->is_tile && d < a->rank - 1; d++)
        is_good = is_good && tile_stride(e, a, d) % e->width == 0;
    return is_good && (a->is_tile || e->ir->operands[a->target].ref_rank > 0);
}

const char *clpi_stretch_address(clpi_emit *e, const clpi_access *a)
{
    e->in_stretch = true;         /* so its last stride is 1 */
    const char *offset = clpi_offset_text(e, a);
    e->in_stretch = false;
    return clpi_text(e, "%s + %s", clpi_base_text(e, a), offset);
}

const char *clpi_stretch_text(clpi_emit *e, const clpi_access *a, bool is_const)
{
    const char *space = a->is_tile ? clpi_home_space(e->s->tiles[a->target].home) : "__global ";
    const char *address = clpi_stretch_address(e, a), *type = clpi_stored_vector_type(e, a, e->width);
    if (!is_wide(e, a))
        type = clpi_unaligned(e, type, clpi_stored_bytes(e, a));
    return clpi_text(e, "*(%s%s%s *)(%s)", space, is_const ? "const " : "", type, address);
}

const char *clpi_side_by_side_text(clpi_emit *e, const clpi_access *a)
{
    if (a->is_tile || is_side_by_side(e, a, a->rank - 1))
        return NULL;
    return clpi_text(e, "%s_s%d == 1", e->ir->operands[a->target].name, a->rank - 1);
}

const char *clpi_stretch_inside(clpi_emit *e, const clpi_access *a)
{
    const char *inside = inside_text(e, a, 0, e->width - 1);
    if (!a->is_tile && is_wide(e, a))
        return clpi_and_text(e, clpi_text(e, "%s_wide", e->ir->operands[a->target].name), inside);
    return clpi_and_text(e, inside, clpi_side_by_side_text(e, a));
}

/* vector: does any lane of the stretch exist? Of a block that hangs far over an edge most vectors have none. NULL: nothing to ask. */
const char *clpi_stretch_touches(clpi_emit *e, const clpi_access *a)
{
    return clpi_is_simt(e) ? NULL : inside_text(e, a, e->width - 1, 0);
}
