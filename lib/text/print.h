/* print: what the two halves of the printer share: print.c writes declarations and statements, print_op.c the right-hand
 * side of one op.                                                                                                       */
#ifndef CLPI_PRINT_H
#define CLPI_PRINT_H

#include "ir/ir.h"
#include "text/text.h"

/* The value of op i is called v<name[i]>; 0: it has no name, as it makes no value or is a constant, written where used. */
typedef struct clpi_printer {
    const clpi_ir *ir;
    clpi_str      *s;
    uint32_t      *name;       /* [ops.n] */
    uint32_t       n_named;    /* the last number given */
    int            depth;      /* of indentation */
    uint32_t       wanted;     /* an op whose text is looked for: it stands there in s */
    size_t         from, to;
} clpi_printer;

void clpi_print_value(clpi_printer *p, clp_val v);                     /* its name, or the literal */
void clpi_print_place(clpi_printer *p, const clpi_op *op);             /* "x[v1, :]": of a load, store, atomic, index */
void clpi_print_op(clpi_printer *p, const clpi_op *op);                /* "v1 + v2", "sum(v1, axis = 0)" */
void clpi_print_header(clpi_printer *p, clp_val v);                    /* a header value as one expression */

#endif
