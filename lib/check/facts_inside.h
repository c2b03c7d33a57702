/* facts_inside: the tables behind facts.h, for facts.c, poly.c and function.c. */
#ifndef CLPI_CHECK_FACTS_INSIDE_H
#define CLPI_CHECK_FACTS_INSIDE_H

#include "check/facts.h"

enum { CLPI_MAX_VARIABLES = 256, CLPI_MAX_MONOMIALS = 1024, CLPI_MAX_FACTS = 512, CLPI_MAX_DISJUNCTIONS = 24, CLPI_MAX_MADE = 128 };

#define CLPI_NO_MONOMIAL UINT32_MAX

/* A product of variables, by number; one alone is a monomial too. */
typedef struct clpi_monomial { int n; uint16_t var[CLPI_MAX_DEGREE]; } clpi_monomial;

typedef enum clpi_made_kind { CLPI_MADE_QUOTIENT, CLPI_MADE_MINIMUM, CLPI_MADE_MAXIMUM } clpi_made_kind;
typedef struct clpi_made { clpi_made_kind kind; clpi_poly a, b, value; } clpi_made;
typedef struct clpi_bounds { int64_t lo, hi; } clpi_bounds;

struct clpi_facts {
    clpi_arena       *arena;
    clpi_bounds      *variables;       uint32_t n_variables;
    clpi_monomial    *monomials;       uint32_t n_monomials;
    clpi_fact        *facts;           uint32_t n_facts;
    clpi_disjunction *disjunctions;    uint32_t n_disjunctions;
    clpi_made        *made;            uint32_t n_made;        /* functions whose value has a name */
};

uint32_t  clpi_monomial_number(clpi_facts *facts, const clpi_monomial *monomial);      /* CLPI_NO_MONOMIAL: no room */
bool      clpi_monomial_times(const clpi_monomial *a, const clpi_monomial *b, clpi_monomial *out);     /* false: degree */
clpi_poly clpi_variable_poly(clpi_facts *facts, uint32_t variable);

#endif
