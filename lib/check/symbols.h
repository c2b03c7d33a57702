/* symbols: the values of a kernel as polynomials (facts.h) of dims, scalars, program ids, loop indices and lanes.
 *
 * What an operation does is said exactly where its result provably fits its dtype; elsewhere the result is a new variable of
 * which only the dtype's range is known. So whatever a proof says of these polynomials holds of the wrapped numbers too. */
#ifndef CLPI_CHECK_SYMBOLS_H
#define CLPI_CHECK_SYMBOLS_H

#include "check/facts.h"
#include "plan/plan.h"

/* Why a value is a variable of its own: the first reason met, for what is said where nothing is decided. */
typedef enum clpi_opaque { CLPI_OPAQUE_NOT, CLPI_OPAQUE_PREFETCHED, CLPI_OPAQUE_LOADED, CLPI_OPAQUE_CARRIED, CLPI_OPAQUE_WRAPS, CLPI_OPAQUE_OTHER } clpi_opaque;

enum { CLPI_MAX_ELEMENTS = 256 };

typedef struct clpi_element { clp_val v; const clpi_poly *coords; clpi_poly poly; } clpi_element;

/* One program. */
typedef struct clpi_side {
    clpi_poly        *program;          /* [n_axes] */
    const clpi_poly **value;            /* [ops.n] scalars known so far; NULL */
    clpi_element     *elements;         /* of tiles, known so far: the same element read twice is one value */
    int               n_elements;       /* at most CLPI_MAX_ELEMENTS: what comes then is not followed, so that values of many uses do
                                         * not take forever */
    int               n_conditions;     /* parts of conditions looked at, likewise */
} clpi_side;

typedef struct clpi_symbols {
    const clpi_ir   *ir;
    const clpi_plan *plan;
    clpi_arena      *arena;             /* of one question: rewound with the facts */
    clpi_facts      *facts;
    clpi_poly       *dim, *axis_size, *scalar;       /* [n_dims], [n_axes], [n_operands] */
    clpi_side        launch;            /* its values: those of the header that are known at launch */
    uint32_t        *region;            /* [ops.n] the op of the region that an op of the body stands in; 0: none */
    bool             is_of_question;    /* arena is a question's: values of the launch that are new in it are not kept */
    clpi_opaque      why;
} clpi_symbols;

/* Knows what binding checks of every launch, and that no axis is empty. NULL: out of memory. */
clpi_symbols *clpi_symbols_new(clpi_arena *arena, clpi_arena *question, const clpi_ir *ir, const clpi_plan *plan);

/* A program: ids that are given are taken, the others (NULL: all) are new variables. false: out of memory. */
bool clpi_side_begin(clpi_symbols *s, clpi_side *side, const clpi_poly *const *program);

/* The value of an integer; of a tile, at coordinates [rank] in its shape. Always known: at worst a new variable. */
clpi_poly clpi_value_poly(clpi_symbols *s, clpi_side *side, clp_val v, const clpi_poly *coords);
/* Adds that a bool is `want`; as much of it as can be said. */
void clpi_condition_add(clpi_symbols *s, clpi_side *side, clp_val v, const clpi_poly *coords, bool want);
/* Adds that the program gets to op: the conditions and bounds of the regions around it. */
void clpi_path_add(clpi_symbols *s, clpi_side *side, uint32_t op);

/* The index in each dimension of the ref of one lane of a load, store or atomic, and that no mask hides the lane. false: it
 * has no lanes.                                                                                                         */
bool clpi_lane_add(clpi_symbols *s, clpi_side *side, uint32_t op, clpi_poly *out_index);
/* The start of an operand's block in dimension d of the array; 0 without one. */
clpi_poly clpi_start_poly(clpi_symbols *s, clpi_side *side, int operand, int d);
clpi_poly clpi_size_poly(clpi_symbols *s, int operand, int d);                 /* of the array */

#endif
