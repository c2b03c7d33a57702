/* template: inside the prelude: requests to the sections of prelude.cl. */
#ifndef CLPI_TEMPLATE_H
#define CLPI_TEMPLATE_H

#include "cl/prelude.h"

typedef struct clpi_request {
    const char  *name;         /* of the section, n bytes */
    size_t       n;
    clp_dtype    dtype;
    clp_dtype    from;         /* casts: dtype of the argument; else none */
    int          width;
    int          mask_bits;    /* from bool: of the argument's mask */
    clpi_space   space;        /* atomics */
    clpi_op_kind op;           /* atomics on private memory */
} clpi_request;

/* Writes the expression that serves the request. false: no section does, and nothing is written. *out_in_place: it is an
 * operator expression or a built-in, not a call of a function of the prelude. */
bool clpi_template_call(clpi_prelude *p, clpi_str *out, const clpi_request *r, const char *const *args, int n_args,
                        bool *out_in_place);

/* An argument of an operator: in parentheses unless it is a name, a number, a call or the like. */
void clpi_put_operand(clpi_str *out, const char *expr);

#endif
