/* place: a home for every tile.
 *
 * In: a program with lifetimes, limits. Out: slots (arrays) with tiles in them. Decides registers for scalars, and in simt for
 * what is owned; then the nearest memory with room: private for small arrays of a lone work-item, local, and the workspace for the rest. Tiles that
 * are never alive together and have one element type share a slot.                                                       */
#include "cl/schedule.h"

/* Arrays up to this size may be private: they stay in L1 and the compiler may keep them in registers. */
enum { SMALL_BYTES = 2048 };

static uint64_t elem_bytes(clp_dtype d)
{
    return d == CLP_BOOL ? 1 : clpi_rep_bytes(d);
}

static clp_dtype slot_dtype(clp_dtype d)
{
    return d == CLP_BOOL ? CLP_BOOL : clpi_rep(d);
}

static uint64_t bytes_in(const clpi_cl_schedule *s, clpi_home home)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < s->slots.n; i++)
        if (s->slots.items[i].home == home)
            bytes += (uint64_t)s->slots.items[i].n_elems * elem_bytes(s->slots.items[i].dtype) + 64;
    return bytes;
}

uint64_t clpi_local_room(const clpi_cl_schedule *s)
{
    uint64_t used = bytes_in(s, CLPI_HOME_LOCAL);
    return used < s->limits.local_bytes ? s->limits.local_bytes - used : 0;
}

/* The slot that serves from step `first` on: the smallest that is large enough, or, as the less memory a group takes the more of
 * them there are on a GPU at a time, the largest that grows. -1: none.                                                   */
static int slot_again(clpi_cl_schedule *s, clp_dtype dtype, int64_t n_elems, int first)
{
    int fits = -1, grows = -1;
    for (int i = 0; i < (int)s->slots.n; i++) {
        const clpi_slot *slot = &s->slots.items[i];
        if (slot->dtype != dtype || slot->busy_until >= first)
            continue;
        if (slot->n_elems >= n_elems)
            fits = fits < 0 || slot->n_elems < s->slots.items[fits].n_elems ? i : fits;
        else if (slot->home == CLPI_HOME_LOCAL)
            grows = grows < 0 || slot->n_elems > s->slots.items[grows].n_elems ? i : grows;
    }
    if (fits >= 0 || grows < 0 || s->realisation != CLP_SCHEDULE_SIMT ||
        (uint64_t)(n_elems - s->slots.items[grows].n_elems) * elem_bytes(dtype) > clpi_local_room(s))
        return fits;
    s->slots.items[grows].n_elems = n_elems;
    return grows;
}

int clpi_slot_add(clpi_cl_schedule *s, clpi_arena *arena, clp_dtype dtype, int64_t n_elems, int first, int last)
{
    dtype = slot_dtype(dtype);
    n_elems = n_elems < 1 ? 1 : n_elems;
    const int again = slot_again(s, dtype, n_elems, first);
    if (again >= 0) {
        s->slots.items[again].busy_until = last;
        return again;
    }
    uint64_t bytes = (uint64_t)n_elems * elem_bytes(dtype) + 64;
    clpi_slot slot = { .dtype = dtype, .n_elems = n_elems, .busy_until = last };
    if (s->realisation == CLP_SCHEDULE_VECTOR && bytes <= SMALL_BYTES &&
        bytes_in(s, CLPI_HOME_PRIVATE) + bytes <= s->limits.private_bytes)
        slot.home = CLPI_HOME_PRIVATE;
    else if (bytes_in(s, CLPI_HOME_LOCAL) + bytes <= s->limits.local_bytes)
        slot.home = CLPI_HOME_LOCAL;
    else {
        slot.home = CLPI_HOME_WORKSPACE;
        slot.at = s->workspace_bytes;
        s->workspace_bytes += (bytes + 63) / 64 * 64;
    }
    return CLPI_PUSH(arena, &s->slots, slot) ? (int)s->slots.n - 1 : -1;
}

/* Columns of a dot's result are rounded up, so that its vectors need no tail. */
static void padding_of_dots(const clpi_cl_schedule *s, const clpi_steps *steps, int *padding)
{
    for (uint32_t i = 0; i < steps->n; i++) {
        const clpi_step *step = steps->items[i];
        if (step->dot) {
            int p = clpi_dot_padding(s, step->dot);
            padding[step->dot->dest] = p > padding[step->dot->dest] ? p : padding[step->dot->dest];
        }
        padding_of_dots(s, &step->body, padding);
        padding_of_dots(s, &step->other, padding);
    }
}

static bool place_tile(clpi_cl_schedule *s, clpi_arena *arena, uint32_t t, int padding)
{
    const clpi_tile *tile = &s->program->tiles.items[t];
    clpi_tile_place *place = &s->tiles[t];
    place->slot = -1;
    int64_t n = 1;
    bool is_row = tile->is_row && s->realisation == CLP_SCHEDULE_VECTOR;      /* simt goes over all rows at once */
    for (int d = tile->rank - 1; d >= 0; d--) {
        place->stride[d] = d == 0 && is_row ? 0 : n;
        int64_t size = d == 0 && is_row ? 1 : tile->shape[d];
        if (d == tile->rank - 1 && tile->rank > 1 && padding > 1 && !tile->is_reshaped)
            size = clpi_cdiv(size, padding) * padding;
        n *= size;
    }
    if (tile->first < 0 && tile->operand < 0)
        place->home = CLPI_HOME_NONE;
    else if (tile->rank == 0 || (tile->rank == 1 && is_row))
        place->home = CLPI_HOME_REGISTER;
    else if (s->is_owned && s->is_owned[t])
        place->home = CLPI_HOME_PRIVATE;
    else {
        place->slot = clpi_slot_add(s, arena, tile->dtype, n, tile->first, tile->last);
        if (place->slot < 0)
            return false;
        place->home = s->slots.items[place->slot].home;
    }
    return true;
}

/* In order of first use, so that slots come free in order too. */
bool clpi_place_tiles(clpi_cl_schedule *s, clpi_arena *arena)
{
    const clpi_program *p = s->program;
    int *padding = CLPI_NEW_N(arena, int, p->tiles.n + 1);
    s->tiles = CLPI_NEW_N(arena, clpi_tile_place, p->tiles.n + 1);
    if (!padding || !s->tiles)
        return false;
    for (int part = 0; part < CLPI_N_PARTS; part++)
        padding_of_dots(s, &p->parts[part], padding);
    for (int first = -1; first <= p->n_steps; first++)
        for (uint32_t t = 0; t < p->tiles.n; t++) {
            const clpi_tile *tile = &p->tiles.items[t];
            if ((tile->operand >= 0 ? 0 : tile->first) == first && !place_tile(s, arena, t, padding[t]))
                return false;
        }
    return true;
}
