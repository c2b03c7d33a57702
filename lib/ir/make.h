/* make: what the files that make ops share (build.c, declare.c, refs.c, subscripts.c, compose.c, control.c, simplify.c),
 * and the parts of the rules that they ask for by themselves.                                                          */
#ifndef CLPI_IR_MAKE_H
#define CLPI_IR_MAKE_H

#include "ir/ir.h"

/* A tile has at most this many elements; a longer one is a mistake of the kernel. */
#define CLPI_MAX_TILE INT64_C(0x7fffffff)
/* So has a dimension of an array. */
#define CLPI_MAX_DIM CLPI_MAX_TILE

/* ---- ir.c ---- */
bool        clpi_type_intern(clpi_ir *ir, const clpi_type *type, uint32_t *out_type);   /* false: out of memory */
clpi_type   clpi_type_make(clp_dtype dtype, int rank, const int64_t *shape);            /* rank within CLP_MAX_RANK */
const char *clpi_op_shown(clpi_op_kind kind);              /* as the language writes it: "+", "max" */
int         clpi_n_values(clpi_op_kind kind);              /* values of a store or atomic: 1; atomic_cas: 2; load: 0 */

/* ---- rules.c ---- */
/* The result dtype of an elementwise op; `why` says which operands do not fit. */
bool clpi_ew_dtype(clpi_op_kind kind, const clp_dtype *dtypes, int n, clp_dtype *out_dtype, clpi_str *why);
clp_dtype clpi_dot_acc(clp_dtype operand);                 /* the default acc */

/* ---- shapes.c ---- */
/* The shape that shapes broadcast to together; shape is widened in place. false: they do not. */
bool clpi_shapes_join(int *rank, int64_t *shape, const clpi_type *with);
/* x broadcasts to shape. */
bool clpi_broadcasts_to(const clpi_type *x, int rank, const int64_t *shape);
/* The shape that subs address; args: one operand per sub. */
bool clpi_subs_shape(const clpi_ir *ir, const clpi_sub *subs, const clp_val *args, int n_subs, clpi_type *out_shape, clpi_str *why);

/* ---- build.c ---- */
/* Adds an op with copies of args and subs; its type comes from clpi_rule. op.type is what is asked for, where the result
 * type of the op says something. Null when an operand is (silently) or when the rule refuses (reported).               */
clp_val clpi_add(clpi_build *b, clpi_op op, const clp_val *args, int n_args, const clpi_sub *subs, int n_subs);
clp_val clpi_add_typed(clpi_build *b, clpi_op op, const clpi_type *asked, const clp_val *args, int n_args);
void    clpi_report_at(clpi_build *b, clpi_pos pos, const char *format, ...) CLP_PRINTF(3, 4);  /* pos of none: that of b */
void    clpi_report_why(clpi_build *b, bool fits, clpi_str *why);        /* reports why when it does not fit; ends why */
bool    clpi_axis_resolve(clpi_build *b, const char *what, clp_val v, int axis, int *out_axis); /* negative: from the end */

/* ---- subscripts.c ---- */
void clpi_report_rank(clpi_build *b, const char *name, int rank, int n_given);      /* not as many subscripts as dimensions */

typedef struct clpi_target {       /* what is subscripted */
    const char    *name;           /* of the operand; NULL: a value */
    int            rank;
    const int64_t *size;           /* [rank]; -1: known at run time only */
} clpi_target;

typedef struct clpi_target_place {
    int      n;                            /* subs, one for each dimension of the target */
    clpi_sub subs[CLP_MAX_RANK];
    clp_val  args[CLP_MAX_RANK];
    clpi_type shape;                       /* what the subs address; no dtype */
    clpi_type with_new;                    /* the same with the dimensions that `None` adds */
    bool     is_whole;                     /* every element in order */
} clpi_target_place;

/* false: reported, or a null value was given. */
bool clpi_subscripts_resolve(clpi_build *b, const clpi_target *target, const clpi_subscript *subs, int n, clpi_target_place *out_place);

#endif
