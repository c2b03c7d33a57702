/* nest: one program as steps under loops; the level between tiles and text. Knows no device.
 *
 * In: verified IR and its plan. Out: a tree of steps in program order, over tiles. Decides which values are fused away
 * (computed where they are used, element by element) and which are materialised as tiles; which nests become one; which
 * share an outer loop, so that a row stays near; which loads may wait for their use (loads are snapshots).
 * Leaves to the schedule: where tiles live, what is a vector or a work-item, how a dot is blocked.
 *
 *     let e = exp(v - max(v, axis = 1)[:, None]);            shared r < 8
 *     o[...] = e / sum(e, axis = 1)[:, None];                    nest c < 1024:  m <- max x[r, c]
 *                                                                nest c < 1024:  e[c] = exp(x[r, c] - m), s <- sum e[c]
 *                                                                nest c < 1024:  o[r, c] = e[c] / s                       */
#ifndef CLPI_NEST_H
#define CLPI_NEST_H

#include "plan/plan.h"

/* A value with a place of its own, or a scratch operand. Rank 0: a scalar variable. */
typedef struct clpi_tile {
    clp_dtype dtype;
    int       rank;
    int64_t   shape[CLP_MAX_RANK];
    int       operand;            /* scratch: its number; else -1 */
    bool      is_row;             /* all its uses are in one shared loop, one row at a time: dimension 0 is not stored */
    bool      is_reshaped;        /* some access sees it in another shape: rows must lie without gaps */
    int       first, last;        /* lifetime: numbers of the steps (clpi_step.number) around its uses; scratch: everything */
} clpi_tile;

/* One coordinate of an access: mul * domain[dim] + add + value of node. */
typedef struct clpi_ix {
    int     dim;                  /* of the domain, or -1 */
    int64_t mul, add;
    int     node;                 /* integer node (scalar, or one value per lane), or -1 */
} clpi_ix;

static inline bool clpi_ix_is(const clpi_ix *ix, int dim)      /* is it the coordinate in the domain itself? */
{
    return dim >= 0 && ix->dim == dim && ix->mul == 1 && ix->add == 0 && ix->node < 0;
}

/* An access to the ref of an operand or to a tile. */
typedef struct clpi_access {
    bool     is_tile;
    int      target;              /* number of the tile, or of the operand (never scratch: that is a tile) */
    int      rank;
    clpi_ix  ix[CLP_MAX_RANK];
    int64_t  size[CLP_MAX_RANK];  /* of the view: the tile's shape or another of as many elements; refs: block, -1 run time */
    uint32_t checked;             /* set of dimensions whose coordinate may leave the range, whatever the array */
    int      mask;                /* node or -1; lanes without it touch nothing */
    int      other;               /* node or -1: what masked lanes load; tiles: what lanes outside give (poison) */
} clpi_access;

typedef enum clpi_node_kind {
    CLPI_NODE_EW,                 /* op on args */
    CLPI_NODE_CAST,               /* args[0] to dtype */
    CLPI_NODE_BITCAST,
    CLPI_NODE_SCAN,               /* op (cumsum ..) of args[0] at all points along dimension ix.dim up to this one; bits: 1 from its end on */
    CLPI_NODE_CONST,              /* bits */
    CLPI_NODE_INDEX,              /* ix.mul * domain[ix.dim] + ix.add, as dtype (low bits) */
    CLPI_NODE_LEAF,               /* op: program_id, num_programs, dim (number in bits), as i32; load: scalar operand (number) */
    CLPI_NODE_LOAD                /* access */
} clpi_node_kind;

/* One scalar operation of a nest, for each point of its domain. Nodes stand in order: arguments come before. */
typedef struct clpi_node {
    clpi_node_kind kind;
    clpi_op_kind   op;
    clp_dtype      dtype;         /* of the value; EW comparisons: bool, and `from` is what was compared */
    clp_dtype      from;          /* EW: dtype of the operands (where: of the branches); CAST, BITCAST: of args[0] */
    int            args[3], n_args;
    uint64_t       bits;
    clpi_ix        ix;
    int            access;
    uint32_t       dims;          /* set of domain dimensions that the value changes along: set by clpi_nest_push, as what follows */
    bool           takes_scan;    /* it is made of what a scan has come to; a scan: of another one's */
} clpi_node;

static inline bool clpi_is_of_scan(const clpi_node *x)         /* a scan, or made of one */
{
    return x->kind == CLPI_NODE_SCAN || x->takes_scan;
}

typedef enum clpi_out_kind { CLPI_OUT_STORE, CLPI_OUT_REDUCE, CLPI_OUT_LAST, CLPI_OUT_ATOMIC } clpi_out_kind;

/* What a nest leaves behind. */
typedef struct clpi_out {
    clpi_out_kind kind;
    clpi_op_kind  op;             /* REDUCE, ATOMIC */
    int           access;         /* written; REDUCE, LAST: indexed by the dimensions that stay */
    int           value, value2;  /* nodes; LAST: a scan, of which what it comes to is kept; value2: atomic_cas new */
    uint32_t      reduced;        /* REDUCE, LAST: set of domain dimensions */
    clp_dtype     dtype;          /* of the accumulation (REDUCE, LAST of 16-bit floats: f32) */
    int           old;            /* ATOMIC: access that takes the old value, or -1 */
} clpi_out;

typedef struct clpi_nest {
    int     rank;
    int64_t extent[CLP_MAX_RANK];
    int     n_outer;              /* leading dimensions that loops around it run: a shared one, the batch of a dot */
    bool    in_order;             /* lanes in row-major order: several may hit one element */
    struct { clpi_node   *items; uint32_t n, cap; } nodes;
    struct { clpi_access *items; uint32_t n, cap; } accesses;
    struct { clpi_out    *items; uint32_t n, cap; } outs;
} clpi_nest;

/* [batch.., m, k] . [batch.., k, n], each side an expression over its own domain: a nest without outs, the batch outer. */
typedef struct clpi_dot {
    clpi_nest *a, *b;
    int        a_value, b_value;  /* nodes */
    clp_dtype  acc;
    int        n_batch;
    int64_t    m, n, k;
    int        dest;              /* tile [batch.., m, n] */
    bool       accumulates;       /* dest += , else dest = */
} clpi_dot;

/* What a checked program looks at where an op stands: the index that an access makes of each subscript, at each point of a
 * nest without outs; or the condition of an assert. Other programs have none. */
typedef struct clpi_step_check {
    clpi_access place;            /* not touched: its coordinates, where checked, are compared with the size of what it is of */
    int64_t     more[CLP_MAX_RANK];   /* what an index is beyond its coordinate: constants far out stand nearer there */
    int         condition;        /* node: of an assert; -1: of an access */
} clpi_step_check;

typedef enum clpi_step_kind {
    CLPI_STEP_NEST,
    CLPI_STEP_DOT,
    CLPI_STEP_CHECK,              /* a fault is told, and the program goes on */
    CLPI_STEP_SORT,               /* tile `tile` along `axis`, in place; `tile2` is of the same shape, to merge into */
    CLPI_STEP_SHARED,             /* for r < extent: body; its nests have it as domain dimension 0 */
    CLPI_STEP_FOR,                /* `index` from `lo` to `hi` by `step`: body */
    CLPI_STEP_WHILE,              /* while `condition`: body, which sets it anew */
    CLPI_STEP_BRANCH,             /* if `condition`: body, else: other */
    CLPI_STEP_PRINT               /* op; its values are tiles `args` */
} clpi_step_kind;

typedef struct clpi_step clpi_step;
typedef struct clpi_steps { clpi_step **items; uint32_t n, cap; } clpi_steps;

struct clpi_step {
    clpi_step_kind kind;
    int        number;            /* in program order over the whole tree, from 0 */
    uint32_t   op;                /* the IR op that this stands for, or the last of several; for captions and prints */
    clpi_nest *nest;
    clpi_dot  *dot;
    clpi_step_check *check;       /* over nest */
    int        tile, tile2, axis; /* SORT */
    int64_t    extent;            /* SHARED */
    int        index, lo, hi;     /* FOR: rank-0 tiles */
    int64_t    by;
    int        condition;         /* WHILE, BRANCH: rank-0 bool tile */
    int       *args; int n_args;  /* PRINT */
    clpi_steps body, other;
};

/* A program in three parts: what its sequence does once before the loop over the innermost arbitrary axis (`if (first(k))` at
 * the head of the body), what each step of that loop does, and what is done once behind it (`if (last(k))` at the end). */
typedef enum clpi_part { CLPI_PART_FIRST, CLPI_PART_EVERY, CLPI_PART_LAST, CLPI_N_PARTS } clpi_part;

typedef struct clpi_program {
    const clpi_ir   *ir;
    const clpi_plan *plan;
    clpi_arena      *arena;
    struct { clpi_tile *items; uint32_t n, cap; } tiles;
    int             *scratch_tile;    /* [n_operands] -1 or its tile */
    clpi_steps       parts[CLPI_N_PARTS];   /* the loops over the arbitrary axes are around them */
    int              n_steps;         /* steps numbered */
    bool             is_checked;      /* has checks, and is all in one part */
} clpi_program;

clp_status clpi_nest_build(const clpi_ir *ir, const clpi_plan *plan, bool is_checked, clpi_arena *arena,
                           clpi_program **out_program);
void       clpi_nest_print(const clpi_program *program, clpi_str *s);      /* `clpallas emit --nest` */

/* ---- Inside lib/nest ---- */

/* May the second of two accesses of one program, each a load, store or atomic op, touch what the first does? */
typedef enum clpi_depend { CLPI_APART, CLPI_SAME_POINT, CLPI_OVERLAP } clpi_depend;
clpi_depend clpi_depend_ops(const clpi_ir *ir, const clpi_plan *plan, const clpi_op *a, const clpi_op *b);
/* The same for two accesses of nests, SAME_POINT meaning equal coordinates at equal points of equal domains. */
clpi_depend clpi_depend_accesses(const clpi_program *p, const clpi_nest *na, const clpi_access *a, const clpi_nest *nb,
                                 const clpi_access *b);
/* Does the nest load from what an access is of? */
bool clpi_loads_from(const clpi_program *p, const clpi_nest *n, const clpi_access *of);
/* Do two accesses of one thing have a coordinate that is domain dimension 0 in both, at the same place? */
bool clpi_row_aligned(const clpi_access *a, const clpi_access *b);

/* analyse.c: for each op, is it materialised, and which store takes it in (dots). */
typedef struct clpi_choice {
    bool     is_tile;             /* has a tile of its own */
    uint32_t into;                /* dot: the store that it accumulates into; 0: none */
    uint32_t last;                /* position of its last evaluation */
} clpi_choice;
bool clpi_is_unit_reshape(const clpi_type *from, const clpi_type *to);   /* moves no element */
bool clpi_choose(const clpi_ir *ir, const clpi_plan *plan, bool is_checked, clpi_arena *arena, clpi_choice **out_choices);

/* expr.c: an op's value at a point of a nest's domain, as nodes. */
typedef struct clpi_lower {
    clpi_program      *p;
    const clpi_choice *choice;
    int               *tile_of;   /* [n_ops] */
    bool               failed;    /* out of memory */
    struct { struct clpi_seen *items; uint32_t n, cap; } seen;   /* of the nest being made: values already there */
} clpi_lower;
typedef struct clpi_seen { uint32_t value; int node; clpi_ix ix[CLP_MAX_RANK]; } clpi_seen;
int  clpi_node_of(clpi_lower *l, clpi_nest *n, clp_val v, const clpi_ix *ix);
int  clpi_node_add(clpi_lower *l, clpi_nest *n, clpi_node node);
int  clpi_node_cast(clpi_lower *l, clpi_nest *n, int node, clp_dtype to);                     /* node itself if it is of `to` */
int  clpi_access_add(clpi_lower *l, clpi_nest *n, clpi_access access);
int  clpi_access_tile(clpi_lower *l, clpi_nest *n, int tile, const clpi_ix *ix);
int  clpi_access_place(clpi_lower *l, clpi_nest *n, const clpi_op *op, const clpi_ix *ix);    /* of a load, store or atomic */
clpi_access clpi_place_of(clpi_lower *l, clpi_nest *n, const clpi_op *op, const clpi_ix *ix);   /* without `other`, not added */
int64_t clpi_near(int64_t c);     /* a constant as coordinates have it: far out, but not so that sums overflow */
int  clpi_place_rank(const clpi_ir *ir, const clpi_op *op, int64_t *out_shape);               /* of what it addresses */

/* step.c: appended to what is being lowered. out_ix: the coordinates of a point of the nest. */
clpi_step *clpi_step_add(clpi_lower *l, clpi_steps *steps, clpi_step_kind kind, uint32_t op);
int        clpi_tile_add(clpi_lower *l, const clpi_type *type);
clpi_nest *clpi_nest_over(clpi_lower *l, const int64_t *shape, int rank, clpi_ix *out_ix);     /* of no step yet; forgets what was seen */
clpi_nest *clpi_nest_add(clpi_lower *l, clpi_steps *steps, uint32_t op, const int64_t *shape, int rank, clpi_ix *out_ix);
void       clpi_out_add(clpi_lower *l, clpi_nest *n, clpi_out out);
void       clpi_store_add(clpi_lower *l, clpi_nest *n, int access, int value);

/* row_dot.c: lowers dot v, if both its sides lie along k and x is one row, to sums that go to tile dest, or are added to it. */
bool clpi_lower_row_dot(clpi_lower *l, clpi_steps *steps, uint32_t v, int dest, bool accumulates);

/* check.c: is op an assert, or an access that may leave its ref; the step's check, and what is in its nest. */
bool clpi_needs_check(const clpi_ir *ir, const clpi_op *op);
void clpi_check_fill(clpi_lower *l, clpi_step *step);

/* splice.c: is the access one of an out; what is live of `from`, appended to `into`, where forward[node] >= 0 names the node
 * of `into` that stands for one of `from` (forward NULL: none does). */
bool       clpi_nest_writes(const clpi_nest *n, uint32_t access);
clpi_nest *clpi_nest_new(clpi_arena *arena);      /* its node and access 0, which stand for those there was no memory for, may be looked at */
int        clpi_nest_push(clpi_arena *arena, clpi_nest *n, clpi_node node);    /* its number; -1: out of memory */
bool       clpi_is_identity(const clpi_nest *n, const clpi_access *a);          /* all of a tile, each element at the point with its coordinates */
uint32_t   clpi_access_dims(const clpi_nest *n, const clpi_access *a);          /* set of domain dimensions that it moves, or changes, along */
void       clpi_nest_append(clpi_program *p, clpi_nest *into, const clpi_nest *from, const int *forward);
clpi_nest *clpi_nest_like(clpi_program *p, const clpi_nest *like);      /* an empty one of the same domain */

/* scan.c: the first scan of a nest, whose others go along the same dimension in the same direction; NULL: it has none. */
const clpi_node *clpi_scan_of(const clpi_nest *n);
void clpi_split_scan_ends(clpi_program *p);   /* who reads only where a scan ends reads a tile of its own */

/* lives.c: calls fn for each use of a tile below steps; a NULL access is one of the tile as a whole. shared: the loop around. */
typedef void (*clpi_use_fn)(const clpi_program *p, clpi_step *s, const clpi_step *shared, int tile, clpi_access *a, bool writes, void *user);
void clpi_each_use(const clpi_program *p, const clpi_steps *steps, const clpi_step *shared, clpi_use_fn fn, void *user);
bool clpi_steps_use(const clpi_program *p, clpi_step **steps, uint32_t n, int tile);      /* do these, or those below them? */

/* fuse.c: merges nests, groups them under shared loops, drops dead tiles. */
void clpi_fuse(clpi_program *p);
void clpi_peel(clpi_program *p);              /* peel.c: fills the first and last part */
void clpi_drop_dead_tiles(clpi_program *p);   /* lives.c */
void clpi_find_rows(clpi_program *p);
void clpi_number_steps(clpi_program *p);      /* numbers and lifetimes */

#endif
