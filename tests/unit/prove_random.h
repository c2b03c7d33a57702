/* prove_random: random kernels that are known in full, and what they do, worked out element by element.
 *
 * A spec is the kernel: axes, operands, accesses, all sizes and indices as small expressions. It is written as text for the
 * proofs to look at, and walked program by program for given dims. The walk knows the language's rules by itself and shares
 * no code with the library.                                                                                             */
#ifndef TESTS_PROVE_RANDOM_H
#define TESTS_PROVE_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPEC_AXES = 3, SPEC_DIMS = 3, SPEC_OPERANDS = 3, SPEC_RANK = 2, SPEC_ACCESSES = 4, SPEC_EXPRS = 320, SPEC_CONDITIONS = 32, SPEC_PROGRAMS = 80, SPEC_ELEMENTS = 1 << 16 };

typedef enum expr_kind {
    EXPR_CONST, EXPR_DIM, EXPR_AXIS, EXPR_NUM, EXPR_SCALAR,                     /* leaves */
    EXPR_TURN, EXPR_CARRIED,          /* of the loop around: its index, a value that it carries */
    EXPR_LANE,                        /* of an index tile */
    EXPR_ADD, EXPR_SUB, EXPR_MUL, EXPR_DIV, EXPR_MOD, EXPR_MIN, EXPR_MAX, EXPR_CDIV,
    EXPR_WHERE                        /* value: number of its condition */
} expr_kind;

typedef struct expr { expr_kind kind; int64_t value; int a, b; } expr;          /* a, b: numbers of exprs; value: const, or which */

typedef enum spec_block { BLOCK_WHOLE, BLOCK_PLAIN, BLOCK_SQUEEZED, BLOCK_ELEMENT } spec_block;

typedef struct spec_operand {
    const char *role;                 /* "in", "out", "inout" */
    int         alias;                /* -1, or the operand before it */
    int         rank;
    int         size[SPEC_RANK];      /* exprs */
    bool        has_block;
    spec_block  block[SPEC_RANK];
    int64_t     n[SPEC_RANK], lo[SPEC_RANK];
    int         index[SPEC_RANK];     /* exprs */
} spec_operand;

typedef enum sub_kind { SUB_AT, SUB_ALL, SUB_RANGE, SUB_TILE } sub_kind;
typedef struct spec_sub { sub_kind kind; int start; int64_t size, stride; } spec_sub;      /* TILE: start is an expr of the lane; size: of the tile */

typedef enum compare_kind { COMPARE_LT, COMPARE_LE, COMPARE_EQ, COMPARE_NE, COMPARE_GE } compare_kind;
typedef struct condition { int n; compare_kind kind[2]; int a[2], b[2]; bool is_or, is_not; } condition;   /* n: comparisons */

typedef struct spec_access {
    enum { ACCESS_LOAD, ACCESS_STORE, ACCESS_ATOMIC } kind;
    int       operand, line;          /* line: where it stands in the text */
    spec_sub  sub[SPEC_RANK];         /* of each dimension of the ref */
    condition branch, mask;           /* mask: of the lane of the only range or tile */
    bool      has_loop;
    int       from, to;               /* exprs */
    int64_t   step;
    bool      carries;                /* a value that begins with an expr and has a constant added in each turn */
    int       carried_start;
    int64_t   carried_step;
} spec_access;

typedef struct spec {
    expr         exprs[SPEC_EXPRS];   int n_exprs;
    condition    conditions[SPEC_CONDITIONS];   int n_conditions;       /* of EXPR_WHERE */
    int          n_axes, axis_size[SPEC_AXES];
    bool         is_arbitrary[SPEC_AXES];
    int          n_dims;
    bool         has_scalar;
    condition    require;             /* n 0: none */
    spec_operand operands[SPEC_OPERANDS];   int n_operands;
    spec_access  accesses[SPEC_ACCESSES];   int n_accesses;
    char         text[4096];
} spec;

void spec_make(spec *s, uint64_t seed);       /* prove_random.c */

/* ---- What it does (prove_walk.c) ---- */

typedef struct touches {              /* of one element by sequences: the first one, and whether others did too */
    int  first[3];                    /* by kind of access; -1: none */
    bool has_more[3];
} touches;

typedef struct spec_run {
    int64_t dim[SPEC_DIMS], scalar;
    int64_t axis_size[SPEC_AXES], size[SPEC_OPERANDS][SPEC_RANK], n_elements[SPEC_OPERANDS];
    bool    is_valid;                 /* binding accepts it, and something runs; the rest is set only then */
    int     n_programs;
    bool    is_outside[SPEC_OPERANDS];                     /* some block lies outside */
    bool    leaves[SPEC_ACCESSES];                         /* some index leaves its ref */
    bool    races[SPEC_OPERANDS];                          /* on the storage of the operand, no block being outside */
    bool    has_race_at_watched;                           /* see below */
    touches *elements;                /* [SPEC_OPERANDS][SPEC_ELEMENTS] working memory */
} spec_run;

/* Two programs and an element of the storage of an operand to look at: do they touch it, by accesses that conflict? */
typedef struct spec_watch { int operand; const int64_t *program[2]; const int64_t *element; unsigned kinds[2]; } spec_watch;

void spec_walk(const spec *s, spec_run *run, spec_watch *watch);       /* dim and scalar are given; watch may be NULL */
bool spec_block_is_outside(const spec *s, const spec_run *run, int operand, const int64_t *program);
bool spec_leaves_in(const spec *s, const spec_run *run, int access, const int64_t *program);

#endif
