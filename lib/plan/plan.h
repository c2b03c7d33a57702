/* plan: what is true of a kernel on every device, and, bound to one launch's arrays, its numbers.
 *
 * clpi_plan is made once from verified IR: which axes run in order, how dims bind, which operands share storage, which
 * header expressions change from program to program. clpi_bound is made for each launch: sizes, starts, which blocks are
 * full. Backends read both and never look at how the user wrote them.                                                  */
#ifndef CLPI_PLAN_H
#define CLPI_PLAN_H

#include "ir/ir.h"

#define CLPI_MAX_AXES 32
#define CLPI_MAX_MAP_OPS 4096      /* header operations between the first and the last that one index map needs */

typedef struct clpi_memo clpi_memo;      /* what launches of shapes seen before were found to be (memo.c) */

/* When a header value is known. */
typedef enum clpi_when {
    CLPI_WHEN_BUILD,       /* constants */
    CLPI_WHEN_LAUNCH,      /* dims, scalars, sizes of the grid */
    CLPI_WHEN_PROGRAM,     /* reads a program id, nothing prefetched */
    CLPI_WHEN_DATA         /* reads prefetched data: known to the program only */
} clpi_when;

/* How a dim gets its size: size of the array dimension = mul * N + add. The first operand that shows it alone, else the
 * first that shows it so; every other place it stands in is checked. operand -1: the caller must name it.             */
typedef struct clpi_dim_bind { int operand, dim; int64_t mul, add; } clpi_dim_bind;

/* v as mul * N + add of one dim N, mul not 0; false: it has another form, or numbers too large. */
bool clpi_dim_form(const clpi_ir *ir, clp_val v, int *out_dim, int64_t *out_mul, int64_t *out_add);
/* The N of which mul * N + add is size; false: there is none, or it is negative. */
bool clpi_dim_solve(int64_t size, int64_t mul, int64_t add, int64_t *out_n);
/* Of the dimension for which there is none: "x: dimension 0 is 2 * N: no N gives 7". */
void clpi_dim_message(const clpi_ir *ir, int operand, int d, int dim, int64_t size, clpi_str *s);

typedef struct clpi_plan {
    const clpi_ir *ir;
    clpi_dim_bind *dims;          /* [ir->n_dims] */
    int           *parallel;      /* the parallel axes, in order: programs that agree in these form one sequence */
    int            n_parallel;
    int           *arbitrary;     /* the others, in order: the loops of a sequence, outermost first */
    int            n_arbitrary;
    int           *storage;       /* [n_operands] the first operand whose storage this one shares by `alias` (itself if none) */
    bool          *is_written;    /* [n_operands] the body stores to it or to what shares its storage */
    clpi_when     *when;          /* [ir->n_header] of each header value */
    uint32_t      *axes_read;     /* [ir->n_header] the grid axes whose program id it reads, a bit each */
    uint32_t      *slot;          /* [ir->n_header] number among the values that differ from program to program */
    uint32_t      *first_op;      /* [ir->n_header] the first such value that it needs; itself if none */
    clpi_memo     *memo;
} clpi_plan;

/* INVALID: too many axes, sizes or conditions that cannot be known at launch. The plan stands in arena, on ir, and is done with
 * before they are.                                                                                                       */
clp_status clpi_plan_new(const clpi_ir *ir, clpi_arena *arena, clpi_plan **out_plan);
void clpi_plan_done(clpi_plan *plan);                                /* NULL: there is none */
bool clpi_block_reads_data(const clpi_plan *plan, int operand);      /* where it stands is known to the program only */
void       clpi_plan_print(const clpi_plan *plan, clpi_str *s);                         /* `clpallas emit --plan` */
void       clpi_expr_print(const clpi_ir *ir, clp_val v, clpi_str *s);                  /* a header value as an expression: "2 * N + 1" */

/* ---- Bound to one launch ---- */

typedef struct clpi_bound_operand {
    int64_t size[CLP_MAX_RANK];       /* of the array */
    int64_t stride[CLP_MAX_RANK];     /* elements */
    int64_t offset;                   /* elements, of element 0 from the start of the memory */
    bool    all_full;                 /* in every program of the launch the whole block lies inside the array */
} clpi_bound_operand;

typedef struct clpi_bound {
    const clpi_plan *plan;
    int64_t   *dim;                   /* [n_dims] */
    int64_t   *axis_size;             /* [n_axes] of the whole grid: num_programs */
    int64_t   *box_start, *box_count; /* [n_axes] what this launch runs */
    int64_t   *header;                /* [n_header] values known at launch; 0 elsewhere (bool: 0 or 1) */
    clpi_bound_operand *operands;     /* [n_operands]; scratch: zeros */
    clpi_elem *scalar;                /* [n_operands] the value of scalar operands, held form */
    uint64_t   n_sequences;           /* product of box_count over parallel axes; 0: nothing runs */
    uint64_t   n_steps;               /* product over arbitrary axes */
} clpi_bound;

typedef struct clpi_launch_args {
    const clp_array *arrays;          /* in declaration order, without scratch; data readable here for scalars */
    int              n_arrays;
    const clp_dim   *dims;            /* given by name */
    int              n_dims;
    const int64_t   *grid_start, *grid_count;    /* NULL: the whole grid */
    bool             is_checked;      /* memory shared without `alias` and blocks outside are let in: the run will find them */
} clpi_launch_args;

/* Checks a launch and works out its numbers. ARG on: wrong number of arrays, dtype, rank, dim, dim unknown or above
 * 2^31-1, negative axis, box outside the grid or cutting an arbitrary axis, `require` not met, strides of packed dtypes,
 * written arrays that overlap themselves or others without `alias` (arrays in one buffer or in host memory), a block
 * outside its array (maps that do not read prefetched data; affine ones by their corners, others up to 65,536 programs). */
clp_status clpi_bind(const clpi_plan *plan, const clpi_launch_args *args, clpi_arena *arena, clpi_bound **out_bound);

/* The value of a scalar operand, whose array has data. */
clpi_elem clpi_scalar_value(const clpi_operand *x, const clp_array *array);

/* The sizes of the dims that arrays and names give. false: they do not fit the kernel; clpi_bind says why. */
bool clpi_dims_of(const clpi_plan *plan, const clpi_launch_args *args, int64_t *out_dims);
/* The numbers of a launch of the whole grid, without arrays: as with contiguous ones of these dims that share nothing, and
 * scalars of 0. For predictions. ARG as of clpi_bind; as there, a dimension of an array may not be negative.             */
clp_status clpi_bind_dims(const clpi_plan *plan, const int64_t *dims, clpi_arena *arena, clpi_bound **out_bound);

/* The next pair of operands whose memory a launch may not share: a written one and another (or itself, whose elements share
 * memory). *a and *b: the last pair; before the first: 0 and -1. false: there is no other.                              */
bool clpi_overlap_next(const clpi_bound *bound, const clpi_launch_args *args, int *a, int *b);

/* The elements an array reaches, counted from the start of its memory: lo <= element < hi; empty: lo = hi = offset.
 * false: they are too many to count.                                                                                   */
bool clpi_extent(const clpi_bound_operand *operand, int rank, int64_t *out_lo, int64_t *out_hi);
/* Where an element stands, counted from the start of the memory. false: index lies outside the array. */
bool clpi_element_at(const clpi_bound_operand *operand, int rank, const int64_t *index, int64_t *out_at);

/* The bytes that the array of an operand reaches.
 *     space     0 ........ start ........................ end         bytes of a buffer, or addresses of the host
 *     elements             0 ......... element_0 ........             empty: start = end                                 */
typedef struct clpi_span {
    int       operand;
    uintptr_t space;                  /* the buffer, 0: the host's memory. Spans of different spaces do not overlap */
    int64_t   start, end;
    int64_t   element_0;              /* of the array, counted in its elements from start */
    int       region;                 /* clpi_spans_join sets it */
} clpi_span;
clpi_span clpi_span_of(const clpi_bound *bound, int operand, const clp_array *array);
/* Spans that overlap, by way of others too, lie in one region. Returns how many regions there are, in order of their first spans.
 * out_regions: [n] the start, end and space of each.                                                                     */
int clpi_spans_join(clpi_span *spans, int n, clpi_span *out_regions);

/* A header value in one program. load reads prefetch operands through `prefetch`: element `at` (in elements from element
 * 0's place, strides applied) of an operand, as i64; may be NULL where nothing is prefetched.                          */
typedef struct clpi_prefetch {
    bool (*read)(void *user, int operand, const int64_t *index, int64_t *out_value);   /* false: index outside the array */
    void *user;
} clpi_prefetch;
bool clpi_header_eval(const clpi_bound *bound, clp_val v, const int64_t *program, const clpi_prefetch *prefetch, int64_t *out_value);

/* One operand's block in one program.
 *     array     0 ................................. size
 *     block          start ............. start + n        n is known when the kernel is built
 *     inside              lo ....... hi                   elements that exist, counted from start: lo <= p < hi; else pad  */
typedef struct clpi_window { int64_t start, lo, hi; } clpi_window;
/* windows: [rank]. false: the block has no element inside the array (and no dimension of it is 0), or a map could not be
 * evaluated. Operands without a block: start 0, lo 0, hi size.                                                          */
bool clpi_windows(const clpi_bound *bound, int operand, const int64_t *program, const clpi_prefetch *prefetch, clpi_window *out_windows);
/* "k.plk:4:12: ", in front of what a launch ran into there; nothing for a kernel without text. */
void clpi_place_print(const clpi_ir *ir, clpi_pos pos, clpi_str *s);
/* Where in the text the map stands whose index lies outside. */
clpi_pos clpi_outside_pos(const clpi_bound *bound, int operand, const int64_t *program, const clpi_prefetch *prefetch);
/* "k.plk:2:37: x: program (1, 0): block (8, 0) of [8, 16] lies outside the array [32, 16]" */
void clpi_window_message(const clpi_bound *bound, int operand, const int64_t *program, const clpi_prefetch *prefetch, clpi_str *s);
/* "k.plk:4:12: x: program (1, 0): index (9, 3) lies outside the ref [8, 16]": of the op that looks there, with all its subscripts. */
void clpi_index_message(const clpi_bound *bound, uint32_t op, const int64_t *program, const int64_t *index, clpi_str *s);
/* "k.plk:4:5: program (1, 0): assert failed: n must be positive" */
void clpi_assert_message(const clpi_bound *bound, uint32_t op, const int64_t *program, clpi_str *s);
void clpi_program_print(const clpi_ir *ir, const int64_t *program, clpi_str *s);        /* "program (1, 0)" */

/* Program ids of step `step` of sequence `sequence` of the launch's box, both row-major with the last axis fastest. */
void clpi_program_at(const clpi_bound *bound, uint64_t sequence, uint64_t step, int64_t *out_program);

#endif
