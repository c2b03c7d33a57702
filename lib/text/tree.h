/* tree: a parsed kernel file. No types, no values: names are text, numbers are what was written. Everything lies in the
 * arena of the file; lists are { items, n, cap }.                                                                        */
#ifndef CLPI_TREE_H
#define CLPI_TREE_H

#include "text/token.h"

typedef struct clpi_expr clpi_expr;

typedef struct clpi_exprs { clpi_expr **items; uint32_t n, cap; } clpi_exprs;

/* One subscript. a, b, c: AT: the index; SLICE: start, stop, step; DS: start, size, stride. NULL: left out. */
typedef struct clpi_sub_expr {
    enum { CLPI_SUBSCRIPT_AT, CLPI_SUBSCRIPT_SLICE, CLPI_SUBSCRIPT_DS, CLPI_SUBSCRIPT_ELLIPSIS, CLPI_SUBSCRIPT_NONE } kind;
    clpi_pos   pos;
    clpi_expr *a, *b, *c;
} clpi_sub_expr;

typedef struct clpi_arg { const char *name; clpi_pos pos; clpi_expr *value; } clpi_arg;      /* name NULL: positional */
typedef struct clpi_link { clpi_token_kind op; clpi_pos pos; clpi_expr *value; } clpi_link;

typedef enum clpi_expr_kind {
    CLPI_EX_NAME,           /* name */
    CLPI_EX_INT,            /* integer, name: its suffix or NULL */
    CLPI_EX_REAL,           /* real, likewise; inf and nan too */
    CLPI_EX_TRUTH,          /* integer 0 or 1 */
    CLPI_EX_DTYPE,          /* dtype */
    CLPI_EX_STRING,         /* name: the text; as an argument only */
    CLPI_EX_UNARY,          /* op first */
    CLPI_EX_CHAIN,          /* first op link op link ..., all of one level, taken from the left */
    CLPI_EX_SUBSCRIPT,      /* first[subs] */
    CLPI_EX_CALL,           /* name(args) */
    CLPI_EX_TUPLE,          /* (items) */
    CLPI_EX_LIST            /* [items] */
} clpi_expr_kind;

struct clpi_expr {
    clpi_expr_kind  kind;
    clpi_token_kind op;
    clpi_pos        pos;
    const char     *name;
    union {
        uint64_t   integer;
        double     real;
        clp_dtype  dtype;
        clpi_expr *first;
    };
    union {
        clpi_exprs items;
        struct { clpi_link *items; uint32_t n, cap; } links;
        struct { clpi_sub_expr *items; uint32_t n, cap; } subs;
        struct { clpi_arg *items; uint32_t n, cap; } args;
    };
};

typedef struct clpi_name { const char *text; clpi_pos pos; } clpi_name;
typedef struct clpi_names { clpi_name *items; uint32_t n, cap; } clpi_names;

typedef struct clpi_stmt clpi_stmt;
typedef struct clpi_stmts { clpi_stmt **items; uint32_t n, cap; } clpi_stmts;

typedef enum clpi_stmt_kind {
    CLPI_ST_LET,            /* names = value */
    CLPI_ST_VAR,
    CLPI_ST_ASSIGN,         /* place op= value; op END: plain */
    CLPI_ST_CALL,           /* value */
    CLPI_ST_IF,             /* value, body, other */
    CLPI_ST_FOR,            /* names[0] in lo .. hi step, body */
    CLPI_ST_STATIC_FOR,
    CLPI_ST_WHILE           /* value, body */
} clpi_stmt_kind;

struct clpi_stmt {
    clpi_stmt_kind  kind;
    clpi_token_kind op;
    clpi_pos        pos;
    clpi_names      names;
    clpi_expr      *place, *value, *lo, *hi, *step;
    clpi_stmts      body, other;
};

typedef struct clpi_const_decl { clpi_name name; clpi_expr *value; } clpi_const_decl;

typedef struct clpi_fn_param { clpi_name name; clpi_expr *value; } clpi_fn_param;            /* value NULL: no default */
typedef struct clpi_fn_decl {
    clpi_name  name;
    struct { clpi_fn_param *items; uint32_t n, cap; } params;
    clpi_stmts body;
    clpi_exprs returns;
    bool       is_standard;  /* from the library's own file: its places are not the user's */
} clpi_fn_decl;

typedef struct clpi_param_decl { clpi_name name; bool is_fn; clpi_expr *value; } clpi_param_decl;   /* is_fn: value is a NAME */

typedef struct clpi_bdim_decl {
    clpi_pos   pos;
    bool       is_squeezed, is_element;
    clpi_expr *n, *pad_lo, *pad_hi;
} clpi_bdim_decl;
typedef struct clpi_bdims { clpi_bdim_decl *items; uint32_t n, cap; } clpi_bdims;

typedef struct clpi_operand_decl {
    clp_role   role;
    clpi_name  name;
    clpi_expr *dtype;
    clpi_exprs shape;
    bool       has_block;
    clpi_bdims block;
    clpi_exprs map;
    clpi_expr *pad;
    clpi_name  alias;        /* text NULL: none */
    clpi_expr *condition;
} clpi_operand_decl;

typedef struct clpi_axis_decl { clpi_name name; clpi_expr *size; bool is_arbitrary; } clpi_axis_decl;
typedef struct clpi_tune_decl { clpi_name name; clpi_exprs values; } clpi_tune_decl;
typedef struct clpi_require_decl { clpi_expr *condition; const char *text; } clpi_require_decl;

typedef struct clpi_kernel_decl {
    clpi_name  name;
    struct { clpi_param_decl *items; uint32_t n, cap; } params;
    struct { clpi_operand_decl *items; uint32_t n, cap; } operands;
    struct { clpi_axis_decl *items; uint32_t n, cap; } axes;
    struct { clpi_tune_decl *items; uint32_t n, cap; } tunes;
    struct { clpi_require_decl *items; uint32_t n, cap; } requires;
    bool       math_fast;
    clpi_stmts body;
} clpi_kernel_decl;

struct clpi_file {
    const clpi_source *source;
    struct { clpi_const_decl *items; uint32_t n, cap; } consts;
    struct { clpi_fn_decl **items; uint32_t n, cap; } fns;
    struct { clpi_kernel_decl **items; uint32_t n, cap; } kernels;
};

#endif
