/* tally: what the parts of a check count with: findings by op, and the elements of an operand's array one after another. */
#ifndef CLPI_TALLY_H
#define CLPI_TALLY_H

#include "check/check.h"

/* ---- Findings of one run: the same thing done by one op is one finding ---- */

typedef struct clpi_tally {
    clpi_check *check;
    clpi_arena *arena;
    bool        has_entered;                     /* else values of the whole launch are made */
    int64_t     program[CLPI_MAX_AXES];          /* the current one */
    struct { clpi_found *items; uint32_t n, cap; } found;
    bool        failed;                          /* out of memory, reported */
} clpi_tally;

void clpi_tally_init(clpi_tally *t, clpi_check *check);
void clpi_tally_enter(clpi_tally *t, const int64_t *program);
/* The finding for this op and operand (-1: none), made for the current program when it is new. NULL: out of memory. */
clpi_found *clpi_tally_find(clpi_tally *t, clp_finding_kind kind, uint32_t op, int operand, bool *out_is_new);
/* Words for a finding: its place, program and kind, "k.plk:4:12: program (1, 0): overflow: ", then, s being done with, all of it. */
void        clpi_tally_place(const clpi_tally *t, const clpi_found *found, clpi_str *s);
void        clpi_tally_say(clpi_tally *t, clpi_found *found, clpi_str *s);
clp_status  clpi_tally_report(clpi_tally *t);    /* all of them, in the order of their first programs */

void clpi_found_init(clpi_found *found, clp_finding_kind kind, int operand);
void clpi_found_element(clpi_found *found, const int64_t *element, int rank);      /* one more */

/* ---- Elements of an operand's array, in row-major order ---- */

typedef struct clpi_elements {
    const clpi_bound_operand *array;
    int      rank;
    int64_t  index[CLP_MAX_RANK];
    int64_t  at;                                 /* from the operand's place, in elements */
    uint64_t number;                             /* 0, 1, .. */
    bool     is_first;
} clpi_elements;

void     clpi_elements_init(clpi_elements *e, const clpi_check *check, int operand);
bool     clpi_elements_next(clpi_elements *e);   /* false: that was the last one */
uint64_t clpi_elements_n(const clpi_check *check, int operand);
uint64_t clpi_element_number(const clpi_check *check, int operand, const int64_t *element);

/* Stored bits as a number (integers of 64 bits lose low bits). */
double   clpi_number_of(clp_dtype dtype, uint64_t bits);
double   clpi_held_number(clp_dtype dtype, const void *elems, int64_t i);          /* element i of floats in held form */
void     clpi_number_print(clpi_str *s, clp_dtype dtype, uint64_t bits);           /* "0.1", "-7", "true" */
void     clpi_element_print(clpi_str *s, const int64_t *element, int rank);        /* "[3, 5]" */

const char *clpi_op_words(clpi_op_kind kind);                                      /* as the language writes it: "+", "max" */

/* The elements of a tile in row-major order, and where they go when the axes are reduced. */
typedef struct clpi_lanes {
    const clpi_type *type;
    int64_t index[CLP_MAX_RANK], step[CLP_MAX_RANK];
    int64_t lane;
} clpi_lanes;

void clpi_lanes_init(clpi_lanes *l, const clpi_type *type, uint64_t axes);         /* axes: a bit each */
void clpi_lanes_next(clpi_lanes *l);

/* Operands that the kernel writes by their own name: what is compared. */
bool clpi_is_result(const clpi_check *check, int operand);

#endif
