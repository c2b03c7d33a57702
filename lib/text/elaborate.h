/* elaborate: from a tree to calls of ir/build.
 *
 * A meaning is what an expression stands for while a kernel is built: an exact constant that has not met a dtype yet, a
 * value of the IR, a ref, a dtype, a fn, a list. Scopes bind names to meanings. Files:
 *     elaborate.c          the order of things
 *     elaborate_param.c    choosing the kernel, constants, parameters
 *     elaborate_header.c   operands, grid, require: expressions in 64 bits
 *     elaborate_scope.c    names
 *     elaborate_exact.c    exact constants: arithmetic, and what becomes of them when they meet a dtype
 *     elaborate_expr.c     expressions, subscripts, places
 *     elaborate_call.c     calls: built-ins, arguments;  elaborate_builtin.c  what each built-in does
 *     elaborate_fn.c       fns, inlined
 *     elaborate_stmt.c     statements, carried values
 *
 * After an error a meaning is NOTHING; whoever is given one returns NOTHING and says nothing.                            */
#ifndef CLPI_ELABORATE_H
#define CLPI_ELABORATE_H

#include "text/tree.h"

/* An integer of 64 bits and a sign. Zero is not negative. */
typedef struct clpi_exact { uint64_t magnitude; bool is_negative; } clpi_exact;

typedef enum clpi_meaning_kind {
    CLPI_IS_NOTHING,
    CLPI_IS_ABSENT,         /* an argument left out; what a fn without `return` gives */
    CLPI_IS_INT,            /* exact constants: dtype is NONE while they adapt */
    CLPI_IS_REAL,
    CLPI_IS_TRUTH,
    CLPI_IS_VALUE,
    CLPI_IS_REF,
    CLPI_IS_DTYPE,
    CLPI_IS_FN,
    CLPI_IS_LIST,
    CLPI_IS_STRING
} clpi_meaning_kind;

typedef struct clpi_builtin clpi_builtin;

typedef struct clpi_meaning {
    clpi_meaning_kind kind;
    clp_dtype         dtype;
    union {
        clpi_exact  integer;
        double      real;
        bool        truth;
        struct { clp_val val; int axis; };                  /* axis: 1 + the axis whose program id this is, or 0 */
        int         operand;
        struct { const clpi_fn_decl *fn; const clpi_builtin *builtin; };     /* one of them */
        struct { const struct clpi_meaning *items; uint32_t n; bool is_returned; };   /* is_returned: the values of a fn */
        const char *text;
    };
} clpi_meaning;

typedef enum clpi_binding_kind {
    CLPI_BIND_LET, CLPI_BIND_VAR, CLPI_BIND_DIM, CLPI_BIND_AXIS, CLPI_BIND_OPERAND,
    CLPI_BIND_ABSENT        /* an operand whose `if` is false */
} clpi_binding_kind;

enum { CLPI_MAX_DECLARED = 1024 };      /* operands, axes, dims */
enum { CLPI_LATER = -1, CLPI_FAILED = -2 };

/* A name. number: DIM, AXIS, OPERAND: in the IR; LATER: an operand that is not made yet, FAILED: not made, reported. */
typedef struct clpi_binding {
    const char  *name;
    clpi_pos     pos;
    clpi_binding_kind kind;
    int          number;
    clpi_meaning meaning;       /* LET; VAR: its value now */
    uint32_t     hash, below;   /* below: 1 + the binding that this one covers in its bucket */
    uint32_t     stamp;         /* the last pre-scan that found it assigned */
    uint64_t     params;        /* that it depends on: see `used` */
} clpi_binding;

/* A fn that is being inlined. */
typedef struct clpi_active { const clpi_fn_decl *fn; const struct clpi_active *caller; } clpi_active;

enum { CLPI_N_BUCKETS = 1024, CLPI_MAX_DEPTH = 400 };

typedef struct clpi_elab {
    clpi_env         *env;
    clpi_arena       *arena;
    clpi_diag        *diag;
    clpi_build       *b;
    const clpi_file  *file;            /* NULL: fragments of a description */
    const clpi_file  *standard;        /* parsed when first needed */
    const clpi_fn_decl **fns;          /* of the file, by name */
    uint32_t          n_fns;
    const clpi_kernel_decl *kernel;
    bool             *is_given;        /* [kernel->params.n] once they are bound: the caller names it */
    uint64_t          used;            /* parameters that what is elaborated depends on so far, a bit each: 1 << their number, below 64 */

    struct { clpi_binding *items; uint32_t n, cap; } names;
    uint32_t buckets[CLPI_N_BUCKETS];  /* 1 + the newest binding */
    uint32_t n_globals;                /* the first names: seen from everywhere */
    uint32_t frame_begin, frame_end;   /* the others that are seen: of the kernel, or of the fn being inlined */
    uint32_t kernel_begin, kernel_end;

    bool     in_constants;             /* of `const`, parameters: what is alone is an i32 there too */
    const char *may_stand;             /* where not every name may: which ones do, for the message; or NULL */
    bool     makes_dims;               /* in shapes: an unknown name is a new dim */
    bool     in_map;                   /* in index maps: axis names and elements of prefetch operands */
    bool     stopped;                  /* too much work, or too many errors */
    int      depth;
    uint64_t n_steps, max_steps;
    uint32_t stamp;
    const clpi_active *active;
    clpi_pos call_pos;                 /* inside a standard fn: the place of its call; else line 0 */
    const char *call_name;
} clpi_elab;

/* ---- elaborate.c ---- */
void clpi_elab_init(clpi_elab *e, clpi_env *env, clpi_arena *arena, clpi_diag *diag, clpi_build *b);
void clpi_say(clpi_elab *e, clpi_pos pos, const char *format, ...) CLP_PRINTF(3, 4);
/* With the nearest of names behind it, or all of them: of a name that is none. */
void clpi_say_none_of(clpi_elab *e, clpi_pos pos, const char *name, const char *const *names, int n, const char *format, ...) CLP_PRINTF(6, 7);
clpi_pos clpi_shown_pos(const clpi_elab *e, clpi_pos pos);       /* the place in the user's text */
static inline void clpi_at_pos(clpi_elab *e, clpi_pos pos) { e->b->pos = clpi_shown_pos(e, pos); }
bool clpi_take_step(clpi_elab *e, clpi_pos pos);                 /* false: stop here */
bool clpi_descend(clpi_elab *e, clpi_pos pos);                   /* false: nested too deeply; else ascend again */
static inline void clpi_ascend(clpi_elab *e) { e->depth--; }

/* ---- elaborate_param.c ---- */
/* The kernel of that name, or the only one; NULL: reported (ARG). */
const clpi_kernel_decl *clpi_choose_kernel(clpi_env *env, const clpi_file *file, const char *name);
/* Binds the file's constants and the kernel's parameters, those of `params` with their values from there. */
clp_status clpi_bind_params(clpi_elab *e, const char *params);
/* "b is 0, T is f16": those in `used`, or the ones among them that the caller gave. */
void clpi_params_print(clpi_elab *e, bool given_only, clpi_str *s);

/* ---- elaborate_header.c ---- */
bool clpi_elaborate_header(clpi_elab *e);                        /* false: no use going on */
clpi_meaning clpi_operand_size(clpi_elab *e, int operand, int axis, clpi_pos pos);   /* of its array, in the body */

/* ---- elaborate_scope.c ---- */
clpi_binding *clpi_find(clpi_elab *e, const char *name);         /* NULL: none that is seen from here */
clpi_binding *clpi_name_bind(clpi_elab *e, clpi_name name, clpi_binding_kind kind, int number, clpi_meaning meaning);   /* NULL: reported */
void clpi_unbind(clpi_elab *e, uint32_t n);                      /* forgets all names but the first n */
void clpi_say_unknown(clpi_elab *e, const char *what, const char *name, clpi_pos pos, bool is_fn);
bool clpi_sort_fns(clpi_elab *e);                                /* before the first look; reports names given twice */
const clpi_fn_decl *clpi_find_fn(clpi_elab *e, const char *name);            /* the file's, then the standard ones */

/* ---- elaborate_exact.c ---- */
clpi_exact clpi_exact_from(int64_t i);
bool clpi_exact_to(clpi_exact x, int64_t *out);
void clpi_exact_print(clpi_str *s, const clpi_meaning *m);
static inline bool clpi_is_exact(const clpi_meaning *m) { return m->kind >= CLPI_IS_INT && m->kind <= CLPI_IS_TRUTH; }
static inline bool clpi_adapts(const clpi_meaning *m) { return clpi_is_exact(m) && m->dtype == CLP_DTYPE_NONE; }
static inline clpi_meaning clpi_mean_int(int64_t i) { return (clpi_meaning){ .kind = CLPI_IS_INT, .integer = clpi_exact_from(i) }; }
static inline clpi_meaning clpi_mean_truth(bool truth) { return (clpi_meaning){ .kind = CLPI_IS_TRUTH, .truth = truth }; }
static inline clpi_meaning clpi_mean_dtype(clp_dtype d) { return (clpi_meaning){ .kind = CLPI_IS_DTYPE, .dtype = d }; }
clpi_meaning clpi_mean_value(clp_val v);                         /* NOTHING for the null value */
/* kind on constants that adapt; false: not computable here, as popcount, which depends on a width. */
bool clpi_fold_exact(clpi_elab *e, clpi_op_kind kind, const clpi_meaning *args, int n, clpi_pos pos, clpi_meaning *out);
/* kind on constants of one dtype, by the formula of the op: the constant of that dtype that comes of it. false: that dtype
 * does not do for the op, or a constant does not fit it, reported then.                                                  */
bool clpi_fold_typed(clpi_elab *e, clpi_op_kind kind, clp_dtype dtype, const clpi_meaning *args, int n, const clpi_pos *of_args,
                     clpi_pos pos, clpi_meaning *out);
clpi_meaning clpi_cast_exact(const clpi_meaning *m, clp_dtype dtype);
clpi_meaning clpi_mean_stored(clp_dtype dtype, uint64_t bits);      /* a constant of that dtype */
/* The stored bits of a constant that becomes dtype; false: it does not fit, reported. */
bool clpi_exact_bits(clpi_elab *e, const clpi_meaning *m, clp_dtype dtype, clpi_pos pos, uint64_t *out_bits);

/* ---- elaborate_expr.c ---- */
clpi_meaning clpi_eval(clpi_elab *e, const clpi_expr *x);
/* As a value; a constant that adapts becomes `wanted`, or i32, f32, bool when that is NONE. Null: reported. */
clp_val clpi_to_value(clpi_elab *e, const clpi_meaning *m, clp_dtype wanted, clpi_pos pos);
clp_val clpi_eval_value(clpi_elab *e, const clpi_expr *x, clp_dtype wanted);
/* An elementwise op. of_args: where each argument stands, for constants that do not fit; NULL: pos. */
clpi_meaning clpi_apply_at(clpi_elab *e, clpi_op_kind kind, const clpi_meaning *args, int n, clpi_pos pos, const clpi_pos *of_args);
static inline clpi_meaning clpi_apply(clpi_elab *e, clpi_op_kind kind, const clpi_meaning *args, int n, clpi_pos pos)
{
    return clpi_apply_at(e, kind, args, n, pos, NULL);
}
bool clpi_to_int(clpi_elab *e, const clpi_meaning *m, const char *what, clpi_pos pos, int64_t *out);        /* a constant integer */
bool clpi_eval_int(clpi_elab *e, const clpi_expr *x, const char *what, int64_t *out);
bool clpi_eval_dtype(clpi_elab *e, const clpi_expr *x, clp_dtype *out);
void clpi_meaning_print(clpi_elab *e, clpi_str *s, const clpi_meaning *m);         /* "an integer", "f32[8]", for messages */
clpi_op_kind clpi_op_of_token(clpi_token_kind token, int arity);

enum { CLPI_MAX_SUBS = 2 * CLP_MAX_RANK };
typedef struct clpi_place_meaning { int operand; int n; clpi_subscript subs[CLPI_MAX_SUBS]; } clpi_place_meaning;
bool clpi_eval_place(clpi_elab *e, const clpi_expr *x, clpi_place_meaning *out);    /* ref[subs] */
clp_dtype clpi_place_dtype(const clpi_elab *e, const clpi_place_meaning *p);        /* of the values there */

/* ---- elaborate_call.c, elaborate_builtin.c ---- */
enum { CLPI_MAX_ARGS = 4 };
typedef struct clpi_call {
    const clpi_builtin *builtin;
    const clpi_expr    *x;
    clpi_meaning        args[CLPI_MAX_ARGS];      /* by parameter; ABSENT: left out */
    clpi_pos            pos[CLPI_MAX_ARGS];
    clpi_place_meaning *place;                    /* where the first parameter is one */
    clpi_meaning       *more;                     /* of functions that take any number: all positional ones */
    clpi_pos           *more_pos;
    int                 n_more;
} clpi_call;

struct clpi_builtin {
    const char  *name;
    clpi_op_kind kind;
    const char  *params[CLPI_MAX_ARGS];           /* names, NULL ends them */
    int          n_required;
    enum { CLPI_TAKES_VALUES, CLPI_TAKES_PLACE, CLPI_TAKES_AXIS, CLPI_TAKES_MANY } takes;   /* what the first parameter is */
    bool         has_effect;
    bool         in_header;
    clpi_meaning (*make)(clpi_elab *e, const clpi_call *c);
};
const clpi_builtin *clpi_find_builtin(const char *name);
const clpi_builtin *clpi_builtin_at(int i);       /* NULL past the last; for suggestions */
clpi_meaning clpi_eval_call(clpi_elab *e, const clpi_expr *x, bool is_statement);

/* ---- elaborate_fn.c ---- */
/* The args have been evaluated: positional (name NULL) and named. */
clpi_meaning clpi_inline(clpi_elab *e, const clpi_fn_decl *fn, const clpi_expr *x, const clpi_meaning *args, const clpi_pos *pos);

/* ---- elaborate_stmt.c ---- */
void clpi_elaborate_stmts(clpi_elab *e, const clpi_stmts *stmts);          /* in the scope as it is */
void clpi_elaborate_body(clpi_elab *e, const clpi_stmts *stmts);           /* in a scope of its own */

#endif
