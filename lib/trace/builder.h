/* builder: the state behind clp_builder, and what each public call does first. */
#ifndef CLPI_BUILDER_H
#define CLPI_BUILDER_H

#include "ir/ir.h"

typedef struct clpi_op_range { uint32_t begin, end; } clpi_op_range;

struct clp_builder {
    clpi_build     build;        /* its reports come back to this builder */
    clpi_arena    *arena;
    const char    *call;         /* the running call, for the message: "clp_add"; NULL: the description is being read */
    uint32_t       n_calls;      /* of the body so far */
    const clp_val *vals;         /* values the running call was given */
    int            n_vals;
    struct { clpi_op_range *items; uint32_t n, cap; } ended;     /* regions, arms: ascending, disjoint, as wide as can be */
    bool           failed;       /* sticky: from the first failure on, calls do nothing and return null */
    char          *message;      /* of that failure; NULL: out of memory, reported when it happened */
};

/* Every call begins here. false: a call before it failed, or one of the values is null, foreign or out of reach (reported);
 * the call then does nothing.                                                                                           */
bool clpi_enter(clp_builder *b, const char *call, const clp_val *vals, int n_vals);

/* Records a failure of the running call. */
void clpi_builder_fail(clp_builder *b, const char *format, ...) CLP_PRINTF(2, 3);

/* Ends a call that makes a value: a null one without a report is a lack of memory. */
clp_val clpi_leave(clp_builder *b, clp_val made);

bool clpi_check_ref(clp_builder *b, clp_ref x, int *out_operand);
bool clpi_check_list(clp_builder *b, const char *what, const void *items, int n);       /* NULL, or a negative count */
bool clpi_check_optional(clp_builder *b, const char *what, clp_val v);                  /* null, or a value within reach */
bool clpi_check_value(clp_builder *b, const char *what, int i, clp_val v);              /* "what 1": i counts from 0 */

/* Ops begin .. end stand in a region, or an arm, that has just ended: their values are out of reach from here. */
void clpi_end_reach(clp_builder *b, uint32_t begin, uint32_t end);

/* The subscripts as ir/build takes them, in the builder's arena; NULL: reported. */
const clpi_subscript *clpi_subscripts(clp_builder *b, const clp_subscript *subs, int n_subs);

#endif
