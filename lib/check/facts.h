/* facts: polynomials of integer variables, what is known of those, and what follows from it.
 *
 * A proof states the opposite of what it wants to show as facts and asks whether they can hold together. Facts may be left
 * out: that makes less provable, never something wrong. So what does not fit the tables here is dropped in silence.    */
#ifndef CLPI_CHECK_FACTS_H
#define CLPI_CHECK_FACTS_H

#include "check/linear.h"

enum { CLPI_MAX_DEGREE = 4, CLPI_MAX_TERMS = 12, CLPI_MAX_ALTERNATIVE = 4 };

#define CLPI_NO_LOW  INT64_MIN        /* bounds that are none */
#define CLPI_NO_HIGH INT64_MAX

/* constant + sum of coef * monomial: a whole number, exactly, when is_known. */
typedef struct clpi_poly {
    bool    is_known;
    int     n;
    int64_t constant;
    struct { uint32_t monomial; int64_t coef; } term[CLPI_MAX_TERMS];     /* by monomial; coefs are not 0 */
} clpi_poly;

typedef struct clpi_fact { clpi_poly poly; bool is_equal; } clpi_fact;   /* poly == 0, or poly >= 0 */

/* One of two lists of facts holds. */
typedef struct clpi_disjunction {
    struct { int n; clpi_fact fact[CLPI_MAX_ALTERNATIVE]; } side[2];
} clpi_disjunction;

typedef struct clpi_facts clpi_facts;
typedef struct clpi_facts_mark { uint32_t n_variables, n_monomials, n_facts, n_disjunctions, n_made; } clpi_facts_mark;

clpi_facts *clpi_facts_new(clpi_arena *arena);                      /* NULL: out of memory */
clpi_facts_mark clpi_facts_mark_get(const clpi_facts *facts);
void clpi_facts_rewind(clpi_facts *facts, clpi_facts_mark mark);    /* polynomials made since are not to be used */

/* ---- Polynomials (poly.c) ---- */
extern const clpi_poly clpi_poly_unknown;
clpi_poly clpi_poly_constant(int64_t c);
clpi_poly clpi_poly_sum(const clpi_poly *a, const clpi_poly *b, int64_t scale);              /* a + scale * b */
clpi_poly clpi_poly_plus(const clpi_poly *a, int64_t c);
clpi_poly clpi_poly_times(const clpi_poly *a, int64_t c);
clpi_poly clpi_poly_product(clpi_facts *facts, const clpi_poly *a, const clpi_poly *b);
bool      clpi_poly_is_constant(const clpi_poly *p, int64_t *out_value);
bool      clpi_poly_equal(const clpi_poly *a, const clpi_poly *b);
void      clpi_poly_interval(const clpi_facts *facts, const clpi_poly *p, int64_t *out_lo, int64_t *out_hi);   /* by the bounds of variables alone */

/* ---- Variables and facts ---- */
clpi_poly clpi_variable(clpi_facts *facts, int64_t lo, int64_t hi); /* a new one, lo <= it <= hi */
/* p >= lo, p <= hi, told to the variable itself; false: p is not one, or the opposite of one, alone. */
bool clpi_variable_bound(clpi_facts *facts, const clpi_poly *p, int64_t lo, int64_t hi);
void clpi_variables_tighten(clpi_facts *facts);      /* facts about one variable become its bounds; not to be called within a question */
void clpi_fact_add(clpi_facts *facts, const clpi_poly *p, bool is_equal);      /* p >= 0, or == 0; unknown ones say nothing */
void clpi_order_add(clpi_facts *facts, const clpi_poly *a, const clpi_poly *b, int64_t by);   /* a >= b + by */
void clpi_disjunction_add(clpi_facts *facts, const clpi_disjunction *disjunction);
/* Puts p >= 0 (or == 0) into a list of a disjunction. */
void clpi_alternative_add(clpi_disjunction *disjunction, int side, const clpi_poly *p, bool is_equal);

bool clpi_facts_are_impossible(clpi_facts *facts);                  /* true: for certain */
bool clpi_poly_is_at_least(clpi_facts *facts, const clpi_poly *p, int64_t lo);               /* true: for certain */
bool clpi_poly_is_within(clpi_facts *facts, const clpi_poly *p, int64_t lo, int64_t hi);

/* ---- Functions (function.c) ----
 * Of known polynomials. The same arguments give the same polynomial. What cannot be said is unknown.                    */
clpi_poly clpi_poly_quotient(clpi_facts *facts, const clpi_poly *a, const clpi_poly *b);     /* rounded down; b is at least 1 */
clpi_poly clpi_poly_minimum(clpi_facts *facts, const clpi_poly *a, const clpi_poly *b);
clpi_poly clpi_poly_maximum(clpi_facts *facts, const clpi_poly *a, const clpi_poly *b);

#endif
