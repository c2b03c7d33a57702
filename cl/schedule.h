/* schedule: how the steps of a program run on a device, as data. No strings, no OpenCL: what emit prints, decided here.
 *
 * A function of (program, limits, realisation) alone. Two realisations:
 *     vector   one work-item runs a program; one dimension of each nest goes to the lanes of explicit vectors
 *     simt     the work-items of a group share a program; the domain of each nest is dealt out among them, with barriers
 *              between steps that meet. Tiles that are always dealt out in the same way stay in their registers
 * In both a group runs whole sequences: the loops over the arbitrary axes are inside, and scratch is the group's.       */
#ifndef CLPI_SCHEDULE_H
#define CLPI_SCHEDULE_H

#include "nest/nest.h"
#include "run/backend.h"

static inline int64_t clpi_cdiv(int64_t a, int64_t b)      /* a / b rounded up; b > 0, a >= 0 */
{
    return (a + b - 1) / b;
}

enum { CLPI_WIDE = 4 };           /* elements of the widest vectors of simt: 16 bytes of f32 are what a GPU loads at once */

/* Where a tile lives, from near to far. Nothing is ever too large for the last. */
typedef enum clpi_home {
    CLPI_HOME_NONE,               /* dead */
    CLPI_HOME_REGISTER,           /* a scalar variable; simt: the same value in every work-item */
    CLPI_HOME_PRIVATE,            /* an array of the work-item; simt: what clpi_deal_of gives it of the tile, no slot */
    CLPI_HOME_LOCAL,              /* an array of the group */
    CLPI_HOME_WORKSPACE           /* the group's part of a global buffer */
} clpi_home;

/* An array that one tile, or several that are never alive together, lie in. */
typedef struct clpi_slot {
    clpi_home home;
    clp_dtype dtype;              /* of its elements, in held form (bool: a byte) */
    int64_t   n_elems;
    uint64_t  at;                 /* WORKSPACE: byte offset in the group's part */
    int       busy_until;         /* number of the last step that uses it */
} clpi_slot;

typedef struct clpi_tile_place {
    clpi_home home;
    int       slot;
    int64_t   stride[CLP_MAX_RANK];   /* elements; 0 for the rows of a tile that keeps one */
} clpi_tile_place;

enum { CLPI_TILE_LANES = 16 };    /* rows of a tile, and its lanes of 32 bits */

/* simt: how rows (dimension 0) and columns (all other dimensions as one, row-major) are dealt out: the same way wherever there
 * are as many of both, so that what a work-item leaves in its registers it finds there again. A team shares rows; its members
 * share their columns. Work-item w has
 *     row     i of rows       i / row_run * teams * row_run + w / team * row_run + i % row_run                 always exists
 *     column  j of columns    j / column_run * team * column_run + w % team * column_run + j % column_run      may be n or more, a whole run
 *
 *     m = 4, n = 8, two teams of two, two rows and four columns each in runs of two:      0 0 1 1 0 0 1 1
 *                                                                                         0 0 1 1 0 0 1 1
 *                                                                                         2 2 3 3 2 2 3 3
 *                                                                                         2 2 3 3 2 2 3 3               */
typedef struct clpi_deal {
    int64_t m, n;
    int     teams, team;          /* how many, of how many work-items: all of the group */
    int     rows, row_run;        /* row_run divides rows */
    int     columns, column_run;  /* column_run divides n and columns */
} clpi_deal;

/* How many teams share m rows: one answer for all domains with so many, since values of a row go from one to the other. */
typedef struct clpi_row_deal { int64_t m, widest; bool has_dot; int teams; } clpi_row_deal;

/* One way to multiply: the rows of the table in dot.c. What is not said of a row is that operands of any dtype are packed in
 * the accumulators' and multiplied one by one.                                                                           */
typedef struct clpi_dot_unit {
    clp_dtype      acc;           /* of the accumulators */
    clp_schedule   realisation;
    uint32_t       vector_bytes;  /* vector: least native vector that it is meant for */
    int            rows, vectors; /* simt: rows and columns of one work-item, at most. Units of tiles: those of a register tile; of
                                     others clpi_dot_tile_of says */
    clp_dtype      x, y;          /* the only operands it takes */
    uint32_t       needs;         /* CLPI_INSN_ */
    int            group;         /* neighbours in k that lie together in a lane of 32 bits, in their stored form */
    const char    *call;          /* the prelude's function that multiplies such lanes, adding to the accumulators */
    const char    *tiles;         /* or the instruction that does so for whole tiles of 16 rows of 16 lanes (Intel's AMX); rows and
                                     vectors are what its eight registers hold: 2 x 2 tiles of sums, 2 of x, 2 of y */
    bool           is_biased;     /* 8 bits: x is packed with its top bit flipped, which is 128 more, or seen as signed 128 less;
                                     128 times the sum of y's column is taken off again */
    bool           takes_bytes;   /* operands of 8 bits alone, signed or not */
    clp_dtype      packed;        /* packed, and summed, in another dtype than acc; added to acc after every max_k */
    int            max_k;
} clpi_dot_unit;

/* Where the rows, or columns, of a dot's sums end that are looked at: with the block of an operand, along a dimension of its ref; -1: nowhere. */
typedef struct clpi_dot_end { int operand, ref_dim; } clpi_dot_end;

/* A dot, blocked. vector: x is packed row by row (stride a_stride), y into panels of so many columns; for each
 * panel, for each `rows` rows: accumulators in registers over all of k. simt: blocks of deal.m x deal.n cover m x n; for each,
 * slices of k of both sides are packed, x and y alike with k outside, and each work-item adds to its accumulators, which are
 * the tile itself where that lives in registers (then there is one block).                                                 */
typedef struct clpi_dot_plan {
    const clpi_dot_unit *unit;
    int     group;                /* unit->group, at least 1 */
    int64_t k;                    /* lanes of k: the dot's k in groups, rounded up; to whole tiles for units of tiles */
    int     width;                /* vector: lanes of a vector */
    int     rows;                 /* vector: of a register tile; the last may have fewer */
    int     panel;                /* vector: columns of a panel of y, and of a register tile */
    bool    is_y_direct;          /* vector: the first register tile of a panel computes its vectors of y where it multiplies them, and packs them for
                                     the tiles below: there is one packed panel at a time; none where there is one tile */
    bool    starts_at_zero;       /* vector: in the first step of the loop over the innermost arbitrary axis its sums start at zero, not at what
                                     they are added to */
    int     n_panels;
    clpi_dot_end rows_end, columns_end;   /* vector: tiles behind them are not computed */
    int64_t a_stride;             /* elements from one row of packed x to the next; simt: from one of k to the next */
    int64_t b_stride;             /* from one panel of packed y to the next; simt: from one of k to the next */
    clpi_deal deal;               /* simt: of a block */
    bool    is_owned;             /* simt: dest lives in registers */
    int64_t slice;                /* simt: how many of k are packed at a time */
    int     n_buffers;            /* simt: 2: one slice is fetched while another is multiplied */
    int     a_slot, b_slot;       /* vector: b_slot -1: y is not packed */
} clpi_dot_plan;

/* The domain of a nest: loops, outermost first, and which of them is vector or dealt out. */
typedef struct clpi_mapping {
    int order[CLP_MAX_RANK], n_order;    /* domain dimensions after the outer ones; the reduced (or scanned) last */
    int n_kept;                   /* how many of them stay in the result: the first of order */
    int vector_dim, width;        /* -1 and 1 when scalar; simt: a run of columns of a team's member, or of packing */
    int ahead;                    /* vector: of the loop around the lanes, or around squares, for how many turns to come memory is asked; 0: not */
    int turn_dim;                 /* vector: what lies along this dimension, while the lanes run along vector_dim, is loaded and stored as
                                     squares of both, turned in registers; the last of order, in steps of a square; -1: nothing does */
    int turn_columns;             /* 0: squares have as many columns as lanes; else so many, and the loop over the lanes is inside that over them */
    int chains;                   /* vector: accumulators of each reduction over the lanes, taken in turn: its latency is hidden */
    bool is_teamed;               /* simt: dealt out as `deal` says; the members of a team reduce or scan their rows together */
    bool unrolls_rows, unrolls_columns;   /* teamed: they count arrays in registers, which need constants as indices */
    clpi_deal deal;
    bool is_dealt;                /* simt: the kept dimensions are dealt out; each work-item reduces alone */
    bool is_joint;                /* simt: nothing is kept; the work-items reduce together and all get the result */
    bool is_single;               /* simt: one work-item stores (lanes in order, or a single element) */
    bool is_alone;                /* simt: one work-item does all of it */
    bool is_broadcast;            /* simt: one work-item computes scalars for all: it reads what it, or other groups, may write */
} clpi_mapping;

/* Operands whose blocks may be cut or strided: outside all loops, one branch for when all are full and their neighbours lie
 * side by side, one for when some are not. None: no branch, every access looks. simt has none: a work-item looks at single
 * elements anyway, and barriers do not get into two branches (PoCL 3.1 mixes up private arrays of such branches).        */
typedef struct clpi_edges { int *operands; int n; } clpi_edges;

typedef struct clpi_stage clpi_stage;
typedef struct clpi_stages { clpi_stage *items; uint32_t n, cap; } clpi_stages;

struct clpi_stage {
    const clpi_step *step;
    clpi_mapping     map;         /* NEST, CHECK */
    clpi_dot_plan    dot;         /* DOT */
    clpi_mapping     pack_a, pack_b;
    int              team_slot;   /* teamed: each member's part of reductions or scans, [of these][rows][group]; -1: none */
    bool             sync_before; /* simt: a barrier */
    clpi_edges       edges;       /* of the whole stage; DOT: of packing x */
    clpi_edges       far;         /* vector: operands that it may store past the caches: a third branch, for when all are full and far */
    clpi_edges       edges_b;     /* DOT: of packing y */
    clpi_stages      body, other;
};

typedef struct clpi_cl_schedule {
    const clpi_program *program;
    clpi_limits         limits;
    clp_schedule        realisation;      /* VECTOR or SIMT */
    uint64_t            group_size;
    uint64_t            max_groups;
    int                 lanes;            /* of 32 bits in a native vector */
    int                 run;              /* simt: neighbours that a work-item takes as one vector, at most CLPI_WIDE */
    struct { clpi_row_deal *items; uint32_t n, cap; } row_deals;   /* simt */
    bool               *is_owned;         /* simt: [program->tiles.n] lives in registers */
    bool               *is_streamed;      /* vector: [ir->n_operands] some stage has it in `far` */
    clpi_tile_place    *tiles;            /* [program->tiles.n] */
    struct { clpi_slot *items; uint32_t n, cap; } slots;
    int                 joint_slot;       /* simt: partial results of joint reductions, broadcasts; -1: not needed */
    uint64_t            workspace_bytes;  /* of one group */
    clpi_stages         parts[CLPI_N_PARTS];
    bool                has_print, has_loop;
} clpi_cl_schedule;

clp_status clpi_cl_schedule_new(const clpi_program *program, const clpi_limits *limits, clp_schedule realisation,
                                clpi_arena *arena, clpi_cl_schedule **out_schedule);

/* deal.c: simt: sizes of group and teams, and which tiles are owned: each element lives in a register of the work-item, or of
 * the team, that all nests and dots deal it to. */
bool clpi_choose_deals(clpi_cl_schedule *s, clpi_arena *arena);
/* shape: of a nest's domain, or a tile. */
clpi_deal clpi_deal_of(const clpi_cl_schedule *s, int rank, const int64_t *shape);
bool clpi_is_row_tile(const clpi_tile *t);                         /* one element for each row: each member of a team has it */
bool clpi_is_teamable(const clpi_nest *n);                         /* no order, no atomics; reduces, if it does, all but rows */

/* map.c: loops, lanes and work-items of a nest. */
clpi_mapping clpi_map_nest(const clpi_cl_schedule *s, const clpi_nest *n);
clpi_mapping clpi_map_operand(const clpi_cl_schedule *s, const clpi_nest *n, const clpi_dot_plan *p, bool is_y);      /* of a dot */
int clpi_loop_around(const clpi_mapping *m);                       /* the dimension of the loop around that over the lanes; -1: none */
clpi_mapping clpi_map_check(const clpi_cl_schedule *s, const clpi_nest *n);     /* one point after another; simt: jointly */
/* Does the access run along `dim` through neighbouring elements? Refs: provided their last stride is 1. */
bool clpi_is_contiguous(const clpi_cl_schedule *s, const clpi_access *a, int dim);
/* Does it run so along `turn`, and along `dim` in equal steps, whatever they are? */
bool clpi_is_across(const clpi_cl_schedule *s, const clpi_nest *n, const clpi_access *a, int dim, int turn);
bool clpi_depends_on(const clpi_nest *n, int node, int dim);       /* does the node's value change along the domain dimension? */
bool clpi_access_varies(const clpi_nest *n, const clpi_access *a, int dim);

/* dot.c: which unit, how blocked. */
bool clpi_plan_dot(clpi_cl_schedule *s, const clpi_step *step, clpi_arena *arena, clpi_dot_plan *out_plan);
clp_dtype clpi_dot_lane(const clpi_dot_plan *p, const clpi_dot *d);    /* what the operands are packed in; integers unsigned, to wrap */
int  clpi_dot_padding(const clpi_cl_schedule *s, const clpi_dot *d);   /* columns of dest are rounded up to a multiple of this */

/* start.c: the nest that clears what the dot adds to, and is left out for a dot that starts at zero; NULL: there is none. */
const clpi_step *clpi_clearing_of(const clpi_program *p, const clpi_step *dot);
bool clpi_is_left_to_dot(const clpi_program *p, const clpi_step *step);

/* stream.c: what is stored in whole lines and may go past the caches. */
bool clpi_is_stream(const clpi_cl_schedule *s, const clpi_nest *n, const clpi_mapping *m, const clpi_access *a);
bool clpi_find_streams(clpi_cl_schedule *s, clpi_stages *stages, clpi_arena *arena);

/* unseen.c: what of a dot's sums need not be computed. */
void clpi_find_dot_ends(const clpi_program *p, const clpi_dot *d, clpi_dot_end *out_rows, clpi_dot_end *out_columns);

/* place.c: homes of tiles and other arrays. */
/* Numbers of the steps that use it first and last. -1: out of memory. */
int  clpi_slot_add(clpi_cl_schedule *s, clpi_arena *arena, clp_dtype dtype, int64_t n_elems, int first, int last);
bool clpi_place_tiles(clpi_cl_schedule *s, clpi_arena *arena);
uint64_t clpi_local_room(const clpi_cl_schedule *s);                /* bytes of local memory that no slot has */

/* sync.c: where barriers stand. */
bool clpi_place_syncs(clpi_cl_schedule *s, clpi_arena *arena);

#endif
