/* interp: what the files of the interpreter share.
 *
 * compile.c turns the body of a kernel into steps, one for each op that does something: a function and what it needs,
 * resolved. eval.c walks them, program by program. Values are tiles of held elements (base/dtype.h), dense and row-major:
 *
 *     tiles    | values known for the whole launch | values of one program, placed by their lifetimes, and temporaries |
 *     val[]      where each value is: in tiles, or, for a load that nothing overwrites while it lives, in the array itself
 *     steps    | hoisted: once for each launch | body: once for each program; a region's steps stand behind its own      |
 *
 * An exe is read-only after compiling; all that a launch changes is in its clpi_run. Nothing is allocated per op.        */
#ifndef CLPI_INTERP_H
#define CLPI_INTERP_H

#include <pthread.h>

#include "run/backend.h"

typedef struct clpi_run clpi_run;
typedef struct clpi_eval_step clpi_eval_step;
typedef struct clpi_watch_state clpi_watch_state;
typedef bool (*clpi_eval_fn)(clpi_run *run, const clpi_eval_step *step);    /* false: the run has failed; reported */
typedef void (*clpi_loop_fn)(void *out, const void *a, const void *b, const void *c, int64_t n);

struct clpi_eval_step {
    clpi_eval_fn eval;
    clpi_loop_fn loop, round;     /* elementwise ops; round: the result to f16, bf16, f8, or NULL */
    uint32_t     op;
    uint32_t     out, a, b, c;    /* numbers of values: the result, the first operands; 0: none */
    uint32_t     end;             /* the first step behind this one and its regions */
    bool         in_place;        /* the result may stand where an operand of its size stands */
    int64_t      n;               /* elements of the result */
    size_t       temp, temp_bytes;/* memory for the time of the step, in tiles */
    void        *info;            /* what else the family of the op needs */
};

typedef struct clpi_exe {
    clpi_host         host;
    pthread_mutex_t  *turn;             /* the device's, held while a launch runs */
    clpi_arena        arena;
    const clpi_ir    *ir;
    const clpi_plan  *plan;
    struct { clpi_eval_step *items; uint32_t n, cap; } hoisted, body;
    uint32_t          n_vals;           /* ops, then the cells of regions */
    const uint32_t   *root;             /* [n_vals] the value whose memory each one is */
    const bool       *is_lazy;          /* [n_vals] transposes that stand for their operand */
    size_t           *val_at;           /* [n_vals] in tiles */
    size_t            tile_bytes;
    size_t            spare_bytes;      /* the most that an access without a temporary needs when it goes lane by lane */
    size_t           *scratch_at;       /* [n_operands] in the scratch memory */
    size_t            scratch_bytes;
    int              *blocked;          /* operands with a block */
    int               n_blocked;
} clpi_exe;

/* One dimension of what a load, store or index looks at: indices 0 .. n are in range, of those lo .. hi exist. */
typedef struct clpi_ref_dim { int64_t n, lo, hi, stride; } clpi_ref_dim;

/* An operand in one program. For each array dimension of a block: index = c0 + sum of coefficient * program id, when the
 * map is affine; else the plan evaluates it.                                                                            */
typedef struct clpi_ref_state {
    uint8_t      *data;                 /* element 0 stands `origin` elements behind */
    int64_t       origin;
    int64_t       at;                   /* of the block's first element, likewise */
    bool          is_empty;             /* a squeezed dimension lies outside: nothing exists */
    bool          is_affine;
    int64_t      *c0, *coefficient;     /* [rank], [rank * n_axes] */
    int64_t      *least, *most;         /* [rank] indices of blocks with an element inside */
    clpi_ref_dim  dim[CLP_MAX_RANK];    /* [ref_rank] */
} clpi_ref_state;

struct clpi_run {
    const clpi_exe    *exe;
    const clpi_launch *launch;
    const clpi_bound  *bound;
    const clpi_watch  *watch;           /* NULL: nobody looks */
    uint8_t           *tiles;
    uint8_t           *scratch;
    uint8_t           *spare;           /* watched: what an access without a temporary needs when it goes lane by lane */
    void             **val;             /* [n_vals] */
    clpi_watch_state  *seen;            /* of a watch with `step` or `alter` */
    clpi_ref_state    *refs;            /* [n_operands] */
    clpi_prefetch      prefetch;
    int64_t            program[CLPI_MAX_AXES];
    bool               has_stopped;     /* the watch has ended it */
};

/* ---- compile.c ---- */
typedef struct clpi_compiler {
    clpi_exe *exe;
    uint32_t *root;               /* [n_vals] the value whose memory this one is: itself, or what a reshape, an arg, a result names */
    uint32_t *first, *last;       /* [n_vals] of roots: ops between which the memory is taken */
    uint32_t *cell;               /* [n_ops] of region ops: the first of their cells */
    bool     *is_hoisted;         /* [n_vals] */
    bool     *is_lazy;            /* [n_vals] transposes of the last two axes that only dots read: they stand for their operand */
} clpi_compiler;

clp_status clpi_interp_compile(const clpi_host *host, const clpi_ir *ir, const clpi_plan *plan, clpi_exe **out_exe);
void       clpi_interp_discard(clpi_exe *exe);
uint32_t   clpi_interp_root(const clpi_compiler *c, clp_val v);                /* 0 for the null value */
clp_status clpi_interp_layout(clpi_compiler *c);                               /* layout.c: val_at, temp, tile_bytes */
void       clpi_interp_lifetimes(clpi_compiler *c);                            /* layout.c: first, last */

/* One for each rule of ops.def, and `ew`: fills in what the step of an op needs. op, out, a, b, c and n are set. */
typedef clp_status (*clpi_prepare_fn)(clpi_compiler *c, const clpi_op *op, clpi_eval_step *step);
#define CLPI_PREPARE(rule) clp_status clpi_prepare_##rule(clpi_compiler *c, const clpi_op *op, clpi_eval_step *step)
CLPI_PREPARE(ew);
CLPI_PREPARE(cast);
CLPI_PREPARE(bitcast);
CLPI_PREPARE(leaf);
CLPI_PREPARE(reduce);
CLPI_PREPARE(scan);
CLPI_PREPARE(sort);
CLPI_PREPARE(dot);
CLPI_PREPARE(reshape);
CLPI_PREPARE(transpose);
CLPI_PREPARE(broadcast);
CLPI_PREPARE(concat);
CLPI_PREPARE(index);
CLPI_PREPARE(load);
CLPI_PREPARE(store);
CLPI_PREPARE(atomic);
CLPI_PREPARE(region);
CLPI_PREPARE(part);
CLPI_PREPARE(effect);

/* ---- eval.c ---- */
bool clpi_interp_walk(clpi_run *run, const clpi_eval_step *steps, uint32_t begin, uint32_t end);

/* Moves of carried values: all of `from` are read before any `to` is written when staged. */
typedef struct clpi_move { uint32_t to, from; size_t bytes; } clpi_move;
typedef struct clpi_region {
    uint32_t   n;                 /* carried values */
    clpi_move *inits, *nexts, *elses;    /* nexts: at the yield of a loop, or of the then-region */
    bool       is_staged;         /* nexts read what they write: temp is as large as all of them */
    uint32_t   condition, next_condition;/* while: values */
    uint32_t   index;             /* for: the cell of the index */
    int64_t    step;
    uint32_t   mid;               /* if: the first step of the else-region */
} clpi_region;

/* ---- interp.c ---- */
uint8_t *clpi_interp_mem(void *mem);                                    /* the bytes of alloc or wrap */

/* ---- launch.c ---- */
clp_status clpi_interp_run(const clpi_exe *exe, const clpi_launch *launch);

/* ---- order.c ---- */
uint64_t clpi_sequence_at(clp_order order, uint64_t seed, uint64_t n, uint64_t i);    /* a permutation of 0 .. n */

/* ---- refs.c ---- */
clp_status clpi_refs_open(clpi_run *run, clpi_arena *arena);
void       clpi_refs_fill_scratch(clpi_run *run);
bool       clpi_refs_enter(clpi_run *run);                              /* windows of run->program */

/* ---- held.c: elements between memory and tiles ----
 * at and stride count elements from data. put: held_step 0 stores one value everywhere.                                 */
typedef struct clpi_held {
    void (*get_row)(void *held, const uint8_t *data, int64_t at, int64_t stride, int64_t n);
    void (*put_row)(uint8_t *data, int64_t at, int64_t stride, const void *held, int64_t n);
    size_t bytes;                 /* of a held element */
    bool   is_same;               /* both forms have the same bytes */
} clpi_held;
extern const clpi_held clpi_held_of[CLP_N_DTYPES];
void clpi_elem_put(clp_dtype d, void *tile, int64_t i, clpi_elem e);
clpi_elem clpi_elem_get(clp_dtype d, const void *tile, int64_t i);
void clpi_tile_fill(clp_dtype d, void *tile, clpi_elem e, int64_t n);
int64_t clpi_index_get(clp_dtype d, const void *tile, int64_t i);       /* an integer; u64 beyond i64 as the largest i64 */

/* ---- watch.c: what a run tells (run/backend.h) ----
 * Called in watched runs only.                                                                                          */
clp_status clpi_watch_open(clpi_run *run, clpi_arena *arena);           /* once what holds for the launch is there */
bool clpi_watch_walk(clpi_run *run, const clpi_eval_step *steps, uint32_t begin, uint32_t end);    /* clpi_interp_walk, telling each step */
void clpi_watch_enter(clpi_run *run, uint64_t sequence, uint64_t step);
bool clpi_watch_stops(clpi_run *run);
void clpi_watch_header_read(const clpi_run *run, int operand, int64_t at);

/* ---- talk.c ---- */
/* Ends the run with the text, which is done with: false. true: a watch wants it to go on. fault->text is filled in. */
bool       clpi_fail_run(const clpi_run *run, const clpi_fault *fault, clpi_str *text);

/* ---- place.c: what subs address ---- */
typedef struct clpi_place_sub {
    clpi_sub  sub;
    uint32_t  val;                /* the start, the index, or the tile of indices */
    clp_dtype dtype;
    bool      is_whole;           /* a range from 0 with stride 1: the whole dimension, when as long */
} clpi_place_sub;
typedef struct clpi_view {        /* known when compiled */
    int            n_subs;
    clpi_place_sub sub[CLP_MAX_RANK];
    bool           has_tiles;
    int            rank;          /* of what is addressed */
    int64_t        shape[CLP_MAX_RANK];
    int64_t        n;             /* lanes */
    int            tile_dim, tile_rank;
} clpi_view;

/* A place without tiles, as loops over elements; neighbours are merged where they are dense. Within lo .. hi elements exist. */
typedef struct clpi_loop { int64_t size, step, lo, hi; } clpi_loop;
typedef struct clpi_loops { int n; int64_t at; bool is_empty; clpi_loop loop[CLP_MAX_RANK]; } clpi_loops;

enum { CLPI_LANE_GONE = 1, CLPI_LANE_OUT = 2, CLPI_LANE_MASKED = 4 };    /* past the array; past the ref; masked */

void    clpi_view_init(clpi_compiler *c, const clpi_op *op, int first_arg, clpi_view *out);
bool    clpi_place_loops(const clpi_run *run, const clpi_view *view, const clpi_ref_dim *dims, int64_t at, clpi_loops *out);   /* false: an index is out of range */
bool    clpi_place_lanes(const clpi_run *run, const clpi_view *view, const clpi_ref_dim *dims, int64_t at, const uint8_t *mask,
                         int64_t *out_at, uint8_t *out_state);           /* false: some lane is out of range */
int64_t clpi_place_fault(const clpi_run *run, const clpi_view *view, const clpi_ref_dim *dims, const uint8_t *mask, int64_t *out_index);

/* Rows of loops: each call gives the next one. inside: false when nothing of it exists. */
typedef struct clpi_rows { const clpi_loops *loops; int64_t index[CLP_MAX_RANK]; bool is_first; int64_t at; bool is_inside; } clpi_rows;
void clpi_rows_init(clpi_rows *rows, const clpi_loops *loops);
bool clpi_rows_next(clpi_rows *rows);

/* ---- elementwise.c and loops*.c ---- */
typedef struct clpi_loop_table {
    clpi_loop_fn ew[CLP_N_OPS][CLP_N_DTYPES];          /* by the dtype of the operands (of `where`: of what it chooses from) */
    clpi_loop_fn cast[CLP_N_DTYPES][CLP_N_DTYPES];     /* to, from: held dtypes; f16, bf16, f8 from f32: rounds */
} clpi_loop_table;
extern const clpi_loop_table clpi_loops_portable, clpi_loops_avx2;
clpi_loop_fn clpi_cast_of(clp_dtype to, clp_dtype from);    /* between held forms, without rounding to a small float */
clpi_loop_fn clpi_round_of(clp_dtype d);                /* rounds back to f16, bf16, f8; NULL: nothing to round */

static inline size_t clpi_align(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

#endif
