/* simplify: what its two halves share: simplify.c walks, merges and drops; fold.c knows what an op is worth.           */
#ifndef CLPI_IR_SIMPLIFY_H
#define CLPI_IR_SIMPLIFY_H

#include "ir/make.h"

typedef struct clpi_cse_entry { uint32_t op, next; uint64_t hash, version; } clpi_cse_entry;

typedef struct clpi_simplifier {
    const clpi_ir *in;
    clpi_ir        out;          /* shares types, operands and strings with in; ops, args and subs are new and lie in pass */
    clpi_arena    *pass;
    clp_val       *map;          /* [in->ops.n] the new value of each old one */
    /* Pure ops that can be seen from here, by hash: chains with the newest first, so that leaving a region pops. */
    uint32_t      *buckets;
    uint32_t       n_buckets;    /* a power of two */
    struct { clpi_cse_entry *items; uint32_t n, cap; } entries;
    uint64_t      *version;      /* [n_operands] of each storage: changes with each write */
    uint64_t       newest;
} clpi_simplifier;

/* Adds an op to out, or finds its equal. op.type is the result type. Null: out of memory. */
clp_val clpi_simplify_emit(clpi_simplifier *s, clpi_op op, const clp_val *args, const clpi_sub *subs);

/* The value of op with these (new) operands when it takes no op, or a simpler one, to make it; else null. */
clp_val clpi_fold(clpi_simplifier *s, const clpi_op *op, const clp_val *args);

#endif
