/* dot: the table of dot units, and the blocking of one dot by its row.
 *
 * In: a dot of the program and the limits. Out: a unit and the sizes around it. A new unit is a new row.                  */
#include "cl/schedule.h"
#include "run/dot_tile.h"

/* The first row that fits is taken. Integers of 8 bits: 256 products of two u8 are the most that f32 adds up exactly, and its
 * multiply-add runs several times as fast as that of i32. simt: 8 x 8 accumulators for each work-item, 4 loads of vectors for 64
 * multiply-adds.                                                                                                          */
#define VECTOR(acc_, vector_bytes_) .acc = CLP_##acc_, .realisation = CLP_SCHEDULE_VECTOR, .vector_bytes = vector_bytes_
#define SIMT(acc_, rows_, vectors_) .acc = CLP_##acc_, .realisation = CLP_SCHEDULE_SIMT, .rows = rows_, .vectors = vectors_
#define TILES(x_, y_, unit_, group_, instruction_) \
    .x = CLP_##x_, .y = CLP_##y_, .needs = CLPI_INSN_AMX_##unit_, .group = group_, .tiles = instruction_, .rows = 2 * CLPI_TILE_LANES, .vectors = 2
static const clpi_dot_unit UNITS[] = {
    { VECTOR(F32, 64), TILES(BF16, BF16, BF16, 2, "tdpbf16ps") },
    { VECTOR(F32, 64), .x = CLP_BF16, .y = CLP_BF16, .needs = CLPI_INSN_AVX512_BF16, .group = 2, .call = "dot_bf16" },
    { VECTOR(F32, 0) },
    { VECTOR(F64, 0) },
    { VECTOR(I32, 64), TILES(I8, I8, INT8, 4, "tdpbssd") },
    { VECTOR(I32, 64), TILES(I8, U8, INT8, 4, "tdpbsud") },
    { VECTOR(I32, 64), TILES(U8, I8, INT8, 4, "tdpbusd") },
    { VECTOR(I32, 64), TILES(U8, U8, INT8, 4, "tdpbuud") },
    { VECTOR(I32, 64), .x = CLP_U8, .y = CLP_I8, .needs = CLPI_INSN_AVX512_VNNI, .group = 4, .call = "dot_ubyte_byte" },
    { VECTOR(I32, 64), .x = CLP_I8, .y = CLP_U8, .needs = CLPI_INSN_AVX512_VNNI, .group = 4, .call = "dot_byte_ubyte" },
    { VECTOR(I32, 64), .x = CLP_I8, .y = CLP_I8, .needs = CLPI_INSN_AVX512_VNNI, .group = 4, .call = "dot_ubyte_byte", .is_biased = true },
    { VECTOR(I32, 64), .x = CLP_U8, .y = CLP_U8, .needs = CLPI_INSN_AVX512_VNNI, .group = 4, .call = "dot_byte_ubyte", .is_biased = true },
    { VECTOR(I32, 0), .takes_bytes = true, .packed = CLP_F32, .max_k = 256 },
    { VECTOR(I32, 0) },
    { VECTOR(I64, 0) },
    { SIMT(F32, 8, 8) },
    { SIMT(F64, 4, 4) },
    { SIMT(I32, 8, 8) },
    { SIMT(I64, 4, 4) },
};
#undef VECTOR
#undef SIMT
#undef TILES

static bool is_byte(clp_dtype d)
{
    return d == CLP_I8 || d == CLP_U8;
}

/* Does y come in whole panels, in vectors along its columns? (No dot reads the tile that it makes.) */
static bool comes_in_vectors(const clpi_cl_schedule *s, const clpi_dot *d)
{
    const int width = clpi_dot_lanes(&s->limits, d->acc, d->n);
    const clpi_dot_tile tile = clpi_dot_tile_of(&s->limits, d->m, clpi_cdiv(d->n, width));
    const clpi_mapping y = clpi_map_nest(s, d->b);
    return width > 1 && d->n % (width * tile.vectors) == 0 && y.vector_dim == d->b->rank - 1 && y.turn_dim < 0 && y.width >= width;
}

static bool is_one_tile_high(const clpi_cl_schedule *s, const clpi_dot *d)
{
    return clpi_dot_tile_of(&s->limits, d->m, 1).rows >= d->m;
}

static bool takes(const clpi_cl_schedule *s, const clpi_dot_unit *unit, const clpi_dot *d)
{
    clp_dtype x = d->a->nodes.items[d->a_value].dtype, y = d->b->nodes.items[d->b_value].dtype;
    if (unit->takes_bytes && !(is_byte(x) && is_byte(y)))
        return false;
    if (unit->packed && d->k == 0)          /* it stores what max_k steps come to: there are none */
        return false;
    if (unit->group > 1 && d->n <= 2)       /* its instructions want vectors of 16 bytes at least */
        return false;
    if (unit->group > 1 && is_one_tile_high(s, d) && comes_in_vectors(s, d))    /* neighbours in k would have to be packed together */
        return false;
    return (unit->x == CLP_DTYPE_NONE || unit->x == x) && (unit->y == CLP_DTYPE_NONE || unit->y == y);
}

static const clpi_dot_unit *find_unit(const clpi_cl_schedule *s, const clpi_dot *d)
{
    clp_dtype acc = d->acc == CLP_U32 ? CLP_I32 : d->acc == CLP_U64 ? CLP_I64 : d->acc;   /* + and * wrap alike */
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++)
        if (UNITS[i].acc == acc && UNITS[i].realisation == s->realisation && UNITS[i].vector_bytes <= s->limits.vector_bytes &&
            !(UNITS[i].needs & ~s->limits.insns) && takes(s, &UNITS[i], d))
            return &UNITS[i];
    return NULL;
}

clp_dtype clpi_dot_lane(const clpi_dot_plan *p, const clpi_dot *d)
{
    clp_dtype dtype = p->group > 1 ? CLP_U32 : p->unit->packed ? p->unit->packed : d->acc;
    return dtype == CLP_I32 ? CLP_U32 : dtype == CLP_I64 ? CLP_U64 : dtype;
}

/* The register tile, as so many vectors of so many lanes: narrower where columns of the result must lie without gaps. */
static clpi_dot_tile register_tile(const clpi_cl_schedule *s, const clpi_dot_unit *unit, const clpi_dot *d, int *out_width)
{
    *out_width = clpi_dot_lanes(&s->limits, d->acc, d->n);
    clpi_dot_tile tile = clpi_dot_tile_of(&s->limits, d->m, clpi_cdiv(d->n, *out_width));
    if (unit->tiles)
        tile = (clpi_dot_tile){ unit->rows, d->n <= *out_width ? 1 : unit->vectors };
    while (s->program->tiles.items[d->dest].is_reshaped && d->n % (*out_width * tile.vectors) != 0) {
        if (tile.vectors > 1)
            tile.vectors--;
        else
            *out_width /= 2;
    }
    return tile;
}

int clpi_dot_padding(const clpi_cl_schedule *s, const clpi_dot *d)
{
    int width;
    return s->realisation == CLP_SCHEDULE_VECTOR ? register_tile(s, find_unit(s, d), d, &width).vectors * width : 1;
}

/* Rows of packed x, and panels of packed y, that lay a power of two apart would fall into few sets of L1: packing a row of y
 * stores into every panel (1024 cubed: a fifth of the time of packing y). */
enum { APART = 16 };

static bool plan_vector(clpi_cl_schedule *s, const clpi_step *step, clpi_arena *arena, clpi_dot_plan *p)
{
    const clpi_dot *d = step->dot;
    const clpi_dot_tile tile = register_tile(s, p->unit, d, &p->width);
    p->rows = tile.rows;
    p->panel = tile.vectors * p->width;
    p->n_panels = (int)clpi_cdiv(d->n, p->panel);
    p->a_stride = p->k + APART;
    p->b_stride = p->panel * p->k + 2 * APART;
    clpi_find_dot_ends(s->program, d, &p->rows_end, &p->columns_end);
    p->starts_at_zero = clpi_clearing_of(s->program, step) != NULL;
    p->is_y_direct = p->group == 1 && comes_in_vectors(s, d);
    p->a_slot = clpi_slot_add(s, arena, clpi_dot_lane(p, d), d->m * p->a_stride, step->number, step->number);
    p->b_slot = -1;
    if (p->is_y_direct && d->m <= p->rows)
        return p->a_slot >= 0;
    const int64_t panels = p->is_y_direct ? 1 : p->n_panels;
    p->b_slot = clpi_slot_add(s, arena, clpi_dot_lane(p, d), panels * p->b_stride, step->number, step->number);
    return p->a_slot >= 0 && p->b_slot >= 0;
}

static int power_of_two(int most, int64_t wanted)
{
    int n = 1;
    while (n < most && n < wanted)
        n *= 2;
    return n;
}

/* Of a dot whose result lies in memory: as large a block as the registers of a group hold. */
static clpi_deal block_deal(const clpi_cl_schedule *s, const clpi_dot_unit *unit, const clpi_dot *d)
{
    clpi_deal b = { .team = 1 };
    while (b.team * b.team < (int)s->group_size)
        b.team *= 2;
    b.teams = (int)s->group_size / b.team;
    b.rows = power_of_two(unit->rows, clpi_cdiv(d->m, b.teams));
    b.columns = power_of_two(unit->vectors, clpi_cdiv(d->n, b.team));
    b.row_run = b.rows < s->run ? b.rows : s->run;
    b.column_run = b.columns < s->run ? b.columns : s->run;
    while (d->n % b.column_run)
        b.column_run /= 2;
    b.m = (int64_t)b.teams * b.rows;
    b.n = (int64_t)b.team * b.columns;
    return b;
}

/* Slices of 8: a group of 256 fetches one of two blocks of 128 with a vector of four for each work-item and side; where it would
 * be two vectors, slices of 4: they cost registers (64 sums in a group of 64, for sm_90: 172 bytes spilled, none so). Twice, where
 * there is room, so that one barrier a slice is enough and global memory is waited for while the other slice is multiplied.
 * The odd four elements behind each row of a slice spread the banks of local memory when x, which lies along k, is written across. */
enum { SLICE = 8, SPREAD = 4 };

static bool plan_simt(clpi_cl_schedule *s, const clpi_step *step, clpi_arena *arena, clpi_dot_plan *p)
{
    const clpi_dot *d = step->dot;
    const int64_t shape[2] = { d->m, d->n };
    uint64_t bytes = clpi_rep_bytes(d->acc), room = clpi_local_room(s);
    p->is_owned = s->is_owned[d->dest];
    p->deal = p->is_owned ? clpi_deal_of(s, 2, shape) : block_deal(s, p->unit, d);
    p->a_stride = clpi_cdiv(p->deal.m, CLPI_WIDE) * CLPI_WIDE + SPREAD;
    p->b_stride = clpi_cdiv(p->deal.n, CLPI_WIDE) * CLPI_WIDE + SPREAD;
    const int64_t side = p->deal.m > p->deal.n ? p->deal.m : p->deal.n;
    p->slice = side * SLICE / CLPI_WIDE > (int64_t)s->group_size ? SLICE / 2 : SLICE;
    p->slice = d->k < p->slice ? d->k : p->slice;
    p->n_buffers = d->k > p->slice ? 2 : 1;
    uint64_t slice_bytes = (uint64_t)((p->a_stride + p->b_stride) * p->slice) * bytes + 128;
    if (p->n_buffers == 2 && 2 * slice_bytes > room)
        p->n_buffers = 1;
    if (slice_bytes > room && p->slice > CLPI_WIDE)
        p->slice = CLPI_WIDE;
    p->a_slot = clpi_slot_add(s, arena, d->acc, p->n_buffers * p->slice * p->a_stride, step->number, step->number);
    p->b_slot = clpi_slot_add(s, arena, d->acc, p->n_buffers * p->slice * p->b_stride, step->number, step->number);
    return p->a_slot >= 0 && p->b_slot >= 0;
}

bool clpi_plan_dot(clpi_cl_schedule *s, const clpi_step *step, clpi_arena *arena, clpi_dot_plan *out_plan)
{
    *out_plan = (clpi_dot_plan){ .unit = find_unit(s, step->dot), .group = 1 };
    if (out_plan->unit->group > 1)
        out_plan->group = out_plan->unit->group;
    const int64_t lanes = out_plan->unit->tiles ? CLPI_TILE_LANES : 1;
    out_plan->k = clpi_cdiv(step->dot->k, out_plan->group * lanes) * lanes;
    return s->realisation == CLP_SCHEDULE_VECTOR ? plan_vector(s, step, arena, out_plan) : plan_simt(s, step, arena, out_plan);
}
