/* gen: kernels made from a seed. Every kernel is valid by construction: typed, in range, free of races.
 *
 *     gen.c           random choices, lines, the pool of values; a kernel from a seed
 *     operands.c      grid, operands, what their arrays hold
 *     values.c        statements that make values
 *     refs.c          subscripts, loads, stores, atomics
 *     control.c       loops, branches, functions, accumulators
 *     arrays.c        arrays laid out and filled; what two runs left in them
 *     shrink.c        a kernel that fails, made small
 *     runner.c        builds many kernels at once, runs and compares them
 *     sound.c         the same kernels checked, on the interpreter: nothing may be found
 *     wrong.c         the same on a device that does one operation wrong, which a check must name
 *
 * Every value carries what is known of it, so that a comparison can be exact where the language promises equal bits:
 *
 *     mag      no finite element is larger; INFINITY: nothing is known, infinities may occur
 *     err      how far two backends may be apart; 0: not at all. Values with err > 0 reach nothing that jumps
 *     is_zero_free   the sign of a zero in it is free (rule 22): it is no divisor, and no bits are taken of it       */
#ifndef GEN_H
#define GEN_H

#include "clpallas.h"
#include "support/support.h"

enum {
    GEN_RANK = 4, GEN_ARRAY_RANK = 8, GEN_OPERANDS = 40, GEN_AXES = 5, GEN_FNS = 3, GEN_LINES = 600, GEN_VALUES = 700,
    GEN_TEXT = 640, GEN_ELEMS = 1200, GEN_SINK = 512, GEN_WHY = 512
};

typedef struct shape { int rank; int n[GEN_RANK]; } shape;

typedef struct value {
    char name[24];
    clp_dtype dtype;
    shape shape;
    double mag, err;
    bool is_zero_free, is_var;
} value;

typedef enum content { TAME, WILD, INDICES, PERMUTATION } content;      /* of an array */

typedef struct operand {
    char      name[12], text[GEN_TEXT];         /* text: the declaration */
    clp_role  role;
    clp_dtype dtype;
    int       rank;
    int64_t   size[GEN_ARRAY_RANK];
    shape     ref;                              /* what the body sees */
    bool      has_run_time_size;                /* of the ref: it takes no `:` */
    bool      is_atomic, is_approximate, is_unread;
    content   content;
    int       bound;                            /* INDICES: below it */
    double    mag, err;
    bool      is_sink;                          /* its last dimension takes GEN_SINK elements that nothing else shows */
    float     errs[GEN_SINK];                   /* of an approximate sink, element by element */
    int       alias;                            /* the operand whose storage it shares, or -1 */
    bool      is_gone;                          /* shrunk away */
    bool      is_absent;                        /* optional, and not there */
    char      at[GEN_TEXT];                     /* the text behind the array's shape, for an alias */
} operand;

/* plain: what a shrunk `let` says, or "". starts: the operand whose first values it gives, so that it goes with that alone;
 * or -1. */
typedef struct line { char text[GEN_TEXT]; char plain[140]; int starts; } line;

typedef struct made {
    uint64_t seed;
    char     axes[GEN_AXES][64];
    int      n_axes;
    bool     is_fast;                           /* math fast */
    bool     has_box;                           /* a part of the grid is run */
    int64_t  box_start[GEN_AXES], box_count[GEN_AXES];
    char     fns[GEN_FNS][240];                 /* functions of its own */
    int      n_fns;
    char     params[80];                        /* between < and > */
    operand  operands[GEN_OPERANDS];
    int      n_operands;
    line     lines[GEN_LINES];
    int      n_lines;
} made;

/* How large a kernel may be: what shrinking lowers first. is_narrow: no f64 and no atomics of 64 bits, which not every device has. */
typedef struct limits { int size, n_axes, n_statements; bool is_narrow; } limits;

typedef struct grid_axis {
    char name[8];
    int  size;
    bool is_arbitrary;
    char table[12];                             /* an operand that holds its numbers in another order, or "" */
} grid_axis;

typedef struct gen {
    made    *k;
    uint64_t state;
    limits   limits;
    int      sizes[4];                          /* tiles have dimensions of these */
    grid_axis axes[GEN_AXES];
    int      n_axes;
    value    pool[GEN_VALUES];
    int      n_pool, n_names, depth;
    operand *sinks[3];                          /* integers, floats, approximate floats */
    int      sunk[3];                           /* where each goes on */
    operand *shared, *places;                   /* an array that all programs scatter to, each to places of its own */
} gen;

/* ---- gen.c ---- */
extern const limits gen_all;
void   kernel_make(made *k, uint64_t seed, const limits *l);
size_t kernel_text(const made *k, char *out, size_t n_bytes);
int    below(gen *g, int n);                     /* 0 .. n-1 */
bool   one_in(gen *g, int n);
int    say(char *out, size_t n_bytes, const char *format, ...) CLP_PRINTF(3, 4);    /* snprintf where all must fit */
void   emit(gen *g, const char *format, ...) CLP_PRINTF(2, 3);
void   emit_start(gen *g, const operand *x, const char *format, ...) CLP_PRINTF(3, 4);    /* emit of a line that starts x */
/* `let` of a new value; its name and type are in the result. */
value  let(gen *g, clp_dtype t, const shape *s, double mag, double err, const char *format, ...) CLP_PRINTF(6, 7);
value *add_value(gen *g, const value *v);
int    elems(const shape *s);
shape  random_shape(gen *g, int max_rank);
void   shape_text(char out[64], const shape *s);
double eps(clp_dtype t);
bool   is_int(clp_dtype t);
bool   is_flt(clp_dtype t);                     /* with arithmetic: no f8 */
bool   is_f8(clp_dtype t);
clp_dtype one_of(gen *g, const clp_dtype *dtypes, int n);        /* f32 in place of an f64 that may not be */
clp_dtype random_number(gen *g);
const char *tn(clp_dtype t);

/* ---- operands.c ---- */
void make_axes(gen *g);
void make_operands(gen *g);
void operand_fill(const operand *x, uint64_t seed, clp_array *a);

/* ---- values.c ---- */
enum { EXACT = 1, SMALL = 2, SIGNED_ZERO = 4 };  /* SMALL: mag <= 8; SIGNED_ZERO: its zeros have a sign to count on */
value need(gen *g, clp_dtype t, const shape *s, unsigned wants);
value need_shape_of(gen *g, clp_dtype t, const shape *s, unsigned wants);     /* may have to be broadcast to s */
value random_value(gen *g, unsigned wants);
void  make_value(gen *g);                        /* one statement or a few */
void  index_text(gen *g, int n, char out[64]);   /* an i32 scalar in 0 .. n-1 */
value index_tile(gen *g, const shape *s, int n);

/* ---- refs.c ---- */
void load_value(gen *g);
void store_value(gen *g);
void atomic_value(gen *g);
void value_subscript(gen *g);
void store_first(gen *g, const operand *x);     /* to all of a scratch */
void store_whole(gen *g, const operand *x);

/* ---- control.c ---- */
void statement(gen *g);
void accumulate_over_grid(gen *g);
void finish_outputs(gen *g);
void scatter_shared(gen *g);
void sink_values(gen *g, int from);             /* those of the pool from there that nothing uses */

/* ---- arrays.c ---- */
/* One operand's array, between guards. */
typedef struct argument {
    guarded memory;         /* none where it shares another's */
    unsigned char *before;  /* its bytes before the run */
    int64_t strides[GEN_ARRAY_RANK];
} argument;

typedef struct run {
    argument args[GEN_OPERANDS];
    clp_array arrays[GEN_OPERANDS];
    int which[GEN_OPERANDS]; /* the operand of each array */
    int n;
} run;

void run_place(run *r, const made *k, bool is_reference);      /* fills all of r */
void run_clear(run *r);
bool run_agrees(const made *k, run *got, const run *want, char why[GEN_WHY]);

/* ---- shrink.c ---- */
typedef bool (*fails_fn)(const made *k, void *user);
void kernel_shrink(made *k, fails_fn fails, void *user);

#endif
