/* ir: the tile IR. IR.md beside this file is its reference; ops.def has one row per operation.
 *
 * A kernel is its operands, its grid, and one array of ops in program order. A value is the index of the op that makes
 * it; no pointers between ops. ops[0] is "no value".
 *
 *     ops     0 | 1 ........ n_header | n_header .............................. n_ops
 *               | header: i64 and     | body: what one program does, structured:
 *               | bool scalars        |
 *                                     |   for      op of the loop; end = first op after its region
 *                                     |     arg 0  the index, arg 1.. the carried values      (region: for + 1 .. end)
 *                                     |     ...
 *                                     |     yield  the carried values of the next iteration; always last in a region
 *                                     |   result 0.. of the for: the carried values that stay; directly behind the region
 *
 * while: args are the first condition and the initial values; its region's arg 0.. are the carried values; its yield
 * gives the next condition, then the carried values. if: args are the condition and initial values; then-region
 * if + 1 .. mid, else-region mid .. end, each ends with a yield (of its outcome for each carried value), none has args.
 * Defined before use means: earlier, in this region or one around it.
 *
 * The header has the expressions of shapes, blocks' index maps, the grid and `require`: straight-line, pure, i64 and
 * bool. There program_id, num_programs and dim give i64, and load reads scalars and elements of prefetch operands.    */
#ifndef CLPI_IR_H
#define CLPI_IR_H

#include "base/arena.h"
#include "base/dtype.h"
#include "base/str.h"

typedef enum clpi_op_kind {
    CLP_OP_NONE,
#define CLP_EW(name, text, arity, types, flags, ...) CLP_OP_##name,
#define CLP_OP(name, text, arity, rule, flags) CLP_OP_##name,
#include "ir/ops.def"
#undef CLP_EW
#undef CLP_OP
    CLP_N_OPS
} clpi_op_kind;

typedef enum clpi_types { CLP_TYPES_NONE, CLP_ARI, CLP_ORD, CLP_FLT, CLP_INT, CLP_BIT, CLP_CMP, CLP_EQU, CLP_TST, CLP_SEL } clpi_types;

enum { CLP_COMM = 1, CLP_CALL = 2, CLP_READ = 4, CLP_WRITE = 8, CLP_EFFECT = 16, CLP_REGION = 32, CLP_LEAF = 64 };

typedef struct clpi_op_info {
    const char *name;      /* "add" */
    const char *text;      /* "+", or "" */
    int         arity;     /* -1: varies */
    bool        is_elementwise;
    clpi_types  types;     /* of elementwise ops */
    unsigned    flags;
    const char *value;     /* of elementwise ops: the text of the formula */
} clpi_op_info;

extern const clpi_op_info clpi_ops[CLP_N_OPS];

typedef struct clpi_pos { uint32_t line, column; } clpi_pos;     /* from 1; 0, 0: not from text */

typedef struct clpi_type {
    clp_dtype dtype;                    /* never i4, u4; CLP_DTYPE_NONE: the op makes no value */
    int       rank;                     /* 0: a scalar */
    int64_t   shape[CLP_MAX_RANK];
} clpi_type;

/* One dimension of a place: of the ref of a load, store or atomic, or of the value of an index. */
typedef struct clpi_sub {
    enum { CLPI_SUB_AT,                 /* a scalar index; the dimension goes */
           CLPI_SUB_RANGE,              /* size elements from start, stride apart */
           CLPI_SUB_TILE                /* a tile of indices; adjacent, all of one shape, which stands in place of the first */
    } kind;
    int64_t size, stride;               /* RANGE. The start, or the index, is the op's operand of the same number */
} clpi_sub;

typedef struct clpi_op {
    clpi_op_kind kind;
    uint32_t type;                      /* ir->types[type] */
    uint32_t first_arg, n_args;         /* ir->args[first_arg ..]; operands */
    uint32_t first_sub, n_subs;         /* load store atomics index: ir->subs[first_sub ..]; index: args[0] is the value */
    uint32_t mid, end;                  /* regions */
    int      operand;                   /* load store atomics: ir->operands[operand]; else -1 */
    bool     has_other, has_mask;       /* load: other; load, store, atomics: mask (always the last operand) */
    uint64_t attr;                      /* see ops.def */
    clpi_pos pos;
} clpi_op;

typedef struct clpi_block_dim {
    enum { CLPI_BLOCK_PLAIN, CLPI_BLOCK_SQUEEZED, CLPI_BLOCK_ELEMENT } kind;
    int64_t n;                          /* elements; 1 when squeezed */
    int64_t pad_lo;                     /* element: start = index - pad_lo */
    clp_val index;                      /* header value: the index map. Plain: start = n * index; squeezed: index */
    clpi_pos pos;                       /* of the map in the text */
} clpi_block_dim;

typedef struct clpi_operand {
    clp_role        role;
    const char     *name;
    clp_dtype       dtype;
    int             rank;               /* of the array */
    clp_val        *shape;              /* [rank] header values (scratch: constants) */
    bool            has_block;
    clpi_block_dim *block;              /* [rank] when has_block */
    bool            has_pad;
    uint64_t        pad_bits;           /* stored bits; poison when !has_pad */
    int             alias;              /* out: operand whose storage it shares, or -1 */
    int             ref_rank;           /* what the body sees: rank less squeezed dimensions */
    int            *ref_dim;            /* [ref_rank] the array dimension of each */
    int64_t        *ref_size;           /* [ref_rank] size, or -1 when it is known at run time only */
    clpi_pos        pos;
} clpi_operand;

/* values: of the parameters that stand in the size or condition, "b is 4", for messages; "" or NULL: none. text: as written. */
typedef struct clpi_axis { const char *name; clp_val size; bool is_arbitrary; clpi_pos pos; const char *values; } clpi_axis;
typedef struct clpi_require { clp_val condition; const char *text; clpi_pos pos; const char *values; } clpi_require;

typedef struct clpi_source { const char *file; const char *text; size_t n_bytes; } clpi_source;

typedef struct clpi_ir {
    clpi_env     *env;
    clpi_arena   *arena;                /* owns everything here */
    const char   *name;
    bool          math_fast;
    const clpi_source *source;          /* NULL: from the builder */

    clpi_operand *operands;  int n_operands;     /* in declaration order, absent optional ones left out */
    clpi_axis    *axes;      int n_axes;
    const char  **dims;      int n_dims;
    clpi_require *requires;  int n_requires;

    struct { clpi_op     *items; uint32_t n, cap; } ops;
    struct { clp_val     *items; uint32_t n, cap; } args;
    struct { clpi_sub    *items; uint32_t n, cap; } subs;
    struct { clpi_type   *items; uint32_t n, cap; } types;     /* each once; types[0] is "no value" */
    struct { const char **items; uint32_t n, cap; } strings;   /* of print and assert */
    uint32_t      n_header;             /* first op of the body */
} clpi_ir;

/* ---- Reading (ir.c) ---- */
static inline const clpi_op   *clpi_op_at(const clpi_ir *ir, clp_val v)   { return &ir->ops.items[v.id]; }
static inline const clpi_type *clpi_type_of(const clpi_ir *ir, clp_val v) { return &ir->types.items[ir->ops.items[v.id].type]; }
static inline const clp_val   *clpi_args(const clpi_ir *ir, const clpi_op *op) { return &ir->args.items[op->first_arg]; }
static inline const clpi_sub  *clpi_subs(const clpi_ir *ir, const clpi_op *op) { return &ir->subs.items[op->first_sub]; }
/* The operand whose storage this one stands on: its alias, or itself. */
static inline int clpi_storage_of(const clpi_ir *ir, int i)
{
    return ir->operands[i].alias >= 0 ? ir->operands[i].alias : i;
}
int64_t clpi_type_elems(const clpi_type *t);                   /* 1 for a scalar */
void    clpi_shape_index(const int64_t *shape, int rank, int64_t number, int64_t *out_index);     /* of an element, by its number in row-major order */
bool    clpi_type_eq(const clpi_type *a, const clpi_type *b);
int     clpi_perm_get(uint64_t attr, int i);                   /* transpose: result axis i is operand axis perm[i] */
uint64_t clpi_perm_set(uint64_t attr, int i, int axis);
bool    clpi_const_int(const clpi_ir *ir, clp_val v, int64_t *out);   /* v is a constant of an integer dtype or bool */
/* The operands of a load, store or atomic past its subs; null value when absent. */
clp_val clpi_op_value(const clpi_ir *ir, const clpi_op *op, int i);   /* store, atomics: value i */
clp_val clpi_op_other(const clpi_ir *ir, const clpi_op *op);
clp_val clpi_op_mask(const clpi_ir *ir, const clpi_op *op);
/* Of what a load, store, atomic or index subscripts: the size of dimension i, -1 when it is known at run time only; is sub i a
 * constant out of range; can it be out of range, as it is none, or of a dimension whose size is not known? (shapes.c) */
int64_t clpi_sub_target_size(const clpi_ir *ir, const clpi_op *op, uint32_t i);
bool    clpi_sub_is_outside(const clpi_ir *ir, const clpi_op *op, uint32_t i);
bool    clpi_sub_may_leave(const clpi_ir *ir, const clpi_op *op, uint32_t i);
bool    clpi_is_atomic(clpi_op_kind kind);
bool    clpi_is_reduction(clpi_op_kind kind);                  /* of axes: argmax and argmin too */
bool    clpi_is_arg(clpi_op_kind kind);                        /* argmax, argmin: gives a position */
bool    clpi_name_is_taken(const clpi_ir *ir, const char *name);      /* by an operand, an axis or a dim */
bool    clpi_is_cdiv(const clpi_ir *ir, const clpi_op *op, clp_val out_args[2]);   /* -(-a / b), which cdiv(a, b) is made as */
void    clpi_type_print(clpi_str *s, const clpi_type *t);      /* "f32[8, 128]", "f32" */
void    clpi_shape_print(clpi_str *s, const int64_t *shape, int rank);   /* "[8, 128]" */

/* ---- Making (build.c) ----
 * Both front ends end here. The first mistake of a call is reported through `report` in the words of the language and the
 * call returns the null value; calls that are given a null value where a value is needed return null and say nothing.  */
typedef struct clpi_build {
    clpi_ir *ir;
    clpi_pos pos;                                                /* given to each op made */
    void (*report)(void *user, clpi_pos pos, const char *text);  /* not NULL */
    void *report_user;
    bool in_header;
    struct { uint32_t *items; uint32_t n, cap; } open;           /* region ops not ended yet */
} clpi_build;

clpi_ir *clpi_ir_new(clpi_env *env, clpi_arena *arena, const char *name);   /* NULL: out of memory */
void     clpi_build_init(clpi_build *b, clpi_ir *ir, void (*report)(void *, clpi_pos, const char *), void *user);
void     clpi_build_report(clpi_build *b, const char *format, ...) CLP_PRINTF(2, 3);
int      clpi_build_dim(clpi_build *b, const char *name);       /* number of a dim, made when new; -1: out of memory */
int      clpi_build_axis(clpi_build *b, const char *name, bool is_arbitrary);          /* size is set by the caller */
int      clpi_build_operand(clpi_build *b, const clpi_operand *operand);  /* copied; checks what holds for it alone; sets ref_* */
void     clpi_build_begin_body(clpi_build *b);                  /* after the header; ops made from here are the body's */
bool     clpi_build_end(clpi_build *b);                         /* all regions ended; false: reported */

clp_val clpi_make_const(clpi_build *b, clp_dtype dtype, uint64_t bits);
clp_val clpi_make_int(clpi_build *b, clp_dtype dtype, int64_t value);    /* value must fit */
clp_val clpi_make_leaf(clpi_build *b, clpi_op_kind kind, uint64_t attr); /* program_id num_programs dim: i64 in header, else i32 */
clp_val clpi_make_iota(clpi_build *b, const clpi_type *type, int axis);
/* Elementwise ops: operands broadcast together (broadcast ops are made), one dtype is demanded. */
clp_val clpi_make_ew(clpi_build *b, clpi_op_kind kind, const clp_val *args, int n_args);
clp_val clpi_make_cast(clpi_build *b, clp_val v, clp_dtype dtype);       /* v itself when nothing changes */
clp_val clpi_make_bitcast(clpi_build *b, clp_val v, clp_dtype dtype);
clp_val clpi_make_reduce(clpi_build *b, clpi_op_kind kind, clp_val v, const int *axes, int n_axes, bool keepdims); /* n_axes 0: all */
clp_val clpi_make_scan(clpi_build *b, clpi_op_kind kind, clp_val v, int axis, bool reverse);   /* sort too */
clp_val clpi_make_dot(clpi_build *b, clp_val x, clp_val y, clp_dtype acc);   /* NONE: default. Any ranks as in NumPy's matmul */
clp_val clpi_make_reshape(clpi_build *b, clp_val v, const int64_t *shape, int rank);
clp_val clpi_make_transpose(clpi_build *b, clp_val v, const int *axes, int n_axes);   /* n_axes 0: reversed */
clp_val clpi_make_broadcast(clpi_build *b, clp_val v, const int64_t *shape, int rank);
clp_val clpi_make_concat(clpi_build *b, const clp_val *vs, int n, int axis);
clp_val clpi_make_flip(clpi_build *b, clp_val v, int axis);                   /* made of index and iota */
clp_val clpi_make_roll(clpi_build *b, clp_val v, clp_val shift, int axis);    /* likewise */
clp_val clpi_make_take(clpi_build *b, clp_val v, clp_val index, int axis);    /* likewise */
clp_val clpi_make_clip(clpi_build *b, clp_val v, clp_val lo, clp_val hi);     /* minimum of maximum */

/* Subscripts as the front ends have them: fewer than dimensions, `...`, None, open slices. resolved once, here. */
typedef struct clpi_subscript {
    enum { CLPI_ALL, CLPI_AT, CLPI_SLICE, CLPI_DS, CLPI_ELLIPSIS, CLPI_NEWAXIS } kind;
    clp_val  val;                      /* AT: scalar or tile; DS: start. A const op is a constant: checked, and on a value
                                        * counted from the end when negative */
    bool     is_run_time;              /* val is none, even when it is a const op */
    bool     has_start, has_stop;      /* SLICE */
    int64_t  start, stop, stride;      /* SLICE; DS: stop is the size */
    clpi_pos pos;
} clpi_subscript;

clp_val clpi_make_index(clpi_build *b, clp_val v, const clpi_subscript *subs, int n);        /* v[subs]; v itself for [...] */
clp_val clpi_make_load(clpi_build *b, int operand, const clpi_subscript *subs, int n, clp_val mask, clp_val other);
void    clpi_make_store(clpi_build *b, int operand, const clpi_subscript *subs, int n, clp_val value, clp_val mask);
clp_val clpi_make_atomic(clpi_build *b, clpi_op_kind kind, int operand, const clpi_subscript *subs, int n,
                         const clp_val *values, int n_values, clp_val mask);
clp_val clpi_make_header_load(clpi_build *b, int operand, const clp_val *index, int n);      /* scalar or prefetch[index], as i64 */

/* Control. begin returns false (and reports) when operands do not fit; end checks that types agree. */
bool clpi_for_begin(clpi_build *b, clp_val lo, clp_val hi, int64_t step, const clp_val *inits, int n, clp_val *out_index, clp_val *out_carried);
void clpi_for_end(clpi_build *b, const clp_val *nexts, int n, clp_val *out_results);
bool clpi_while_begin(clpi_build *b, clp_val condition, const clp_val *inits, int n, clp_val *out_carried);
void clpi_while_end(clpi_build *b, clp_val condition, const clp_val *nexts, int n, clp_val *out_results);
bool clpi_if_begin(clpi_build *b, clp_val condition, const clp_val *inits, int n);
void clpi_if_else(clpi_build *b, const clp_val *values, int n);     /* left out: the else arm yields the inits */
void clpi_if_end(clpi_build *b, const clp_val *values, int n, clp_val *out_results);
void clpi_make_print(clpi_build *b, const char *format, const clp_val *vals, int n);   /* one {} per value, checked */
void clpi_make_assert(clpi_build *b, clp_val condition, const char *text);

/* ---- Rules (rules.c) ----
 * The type of op's result, from its operands. false: `why` has the reason, in the words of the language. Used to infer
 * when an op is made and to check in the verifier.                                                                     */
bool clpi_rule(const clpi_ir *ir, const clpi_op *op, clpi_type *out_type, clpi_str *why);

/* ---- Verifying, simplifying, batching (verify.c, simplify.c, batch.c) ---- */
clp_status clpi_verify(const clpi_ir *ir, clp_status on_failure);        /* on_failure: INVALID after a front end, INTERNAL after a pass */
clp_status clpi_simplify(clpi_ir *ir, clpi_arena *pass);                 /* folds, merges equal pure ops, drops unused ones */
/* The same kernel over a leading dimension of the chosen operands ([n_operands]), along a new first axis; in arena, keeping
 * nothing of ir. ARG: a written operand is not chosen, or one cannot be. The result wants verifying and simplifying.    */
clp_status clpi_ir_batch(const clpi_ir *ir, clpi_arena *arena, const bool *chosen, clpi_ir **out_ir);

/* ---- One element (scalar.c) ----
 * The value of an elementwise op, cast or bitcast on held elements; the same formulas as everywhere (ops.def).          */
clpi_elem clpi_scalar_ew(clpi_op_kind kind, clp_dtype operand_dtype, const clpi_elem *args);
clpi_elem clpi_scalar_bitcast(clp_dtype to, clp_dtype from, clpi_elem e);

#endif
