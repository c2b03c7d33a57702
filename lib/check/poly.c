/* poly: arithmetic of polynomials with whole coefficients.
 * In: polynomials. Out: exact ones, or unknown where terms, degree or numbers grow past what there is room for.          */
#include <assert.h>
#include <string.h>

#include "check/facts_inside.h"

#define MAX_COEF (INT64_C(1) << 60)

const clpi_poly clpi_poly_unknown = { .is_known = false };

clpi_poly clpi_poly_constant(int64_t c)
{
    return c > -MAX_COEF && c < MAX_COEF ? (clpi_poly){ .is_known = true, .constant = c } : clpi_poly_unknown;
}

bool clpi_poly_is_constant(const clpi_poly *p, int64_t *out_value)
{
    *out_value = p->constant;
    return p->is_known && p->n == 0;
}

bool clpi_poly_equal(const clpi_poly *a, const clpi_poly *b)
{
    if (!a->is_known || !b->is_known || a->n != b->n || a->constant != b->constant)
        return false;
    for (int i = 0; i < a->n; i++)
        if (a->term[i].monomial != b->term[i].monomial || a->term[i].coef != b->term[i].coef)
            return false;
    return true;
}

/* a + scale * b in numbers. */
static bool add_scaled(int64_t a, int64_t b, int64_t scale, int64_t *out)
{
    int64_t part;
    return !__builtin_mul_overflow(b, scale, &part) && !__builtin_add_overflow(a, part, out) && *out > -MAX_COEF && *out < MAX_COEF;
}

static bool push_term(clpi_poly *p, uint32_t monomial, int64_t coef)
{
    if (coef == 0)
        return true;
    if (p->n == CLPI_MAX_TERMS)
        return false;
    p->term[p->n].monomial = monomial;
    p->term[p->n++].coef = coef;
    return true;
}

clpi_poly clpi_poly_sum(const clpi_poly *a, const clpi_poly *b, int64_t scale)
{
    clpi_poly out = { .is_known = true };
    if (!a->is_known || !b->is_known || !add_scaled(a->constant, b->constant, scale, &out.constant))
        return clpi_poly_unknown;
    for (int i = 0, k = 0; i < a->n || k < b->n;) {
        bool has_a = i < a->n && (k == b->n || a->term[i].monomial <= b->term[k].monomial);
        bool has_b = k < b->n && (i == a->n || b->term[k].monomial <= a->term[i].monomial);
        int64_t coef;
        uint32_t monomial = has_a ? a->term[i].monomial : b->term[k].monomial;
        if (!add_scaled(has_a ? a->term[i].coef : 0, has_b ? b->term[k].coef : 0, scale, &coef) || !push_term(&out, monomial, coef))
            return clpi_poly_unknown;
        i += has_a;
        k += has_b;
    }
    return out;
}

clpi_poly clpi_poly_plus(const clpi_poly *a, int64_t c)
{
    const clpi_poly constant = clpi_poly_constant(c);
    return clpi_poly_sum(a, &constant, 1);
}

clpi_poly clpi_poly_times(const clpi_poly *a, int64_t c)
{
    const clpi_poly zero = { .is_known = true };
    return clpi_poly_sum(&zero, a, c);
}

/* ---- Monomials ---- */

uint32_t clpi_monomial_number(clpi_facts *facts, const clpi_monomial *monomial)
{
    for (uint32_t i = 0; i < facts->n_monomials; i++)
        if (facts->monomials[i].n == monomial->n &&
            !memcmp(facts->monomials[i].var, monomial->var, (size_t)monomial->n * sizeof *monomial->var))
            return i;
    if (facts->n_monomials == CLPI_MAX_MONOMIALS)
        return CLPI_NO_MONOMIAL;
    facts->monomials[facts->n_monomials] = *monomial;
    return facts->n_monomials++;
}

bool clpi_monomial_times(const clpi_monomial *a, const clpi_monomial *b, clpi_monomial *out)
{
    *out = (clpi_monomial){ .n = 0 };
    if (a->n + b->n > CLPI_MAX_DEGREE)
        return false;
    for (int i = 0, k = 0; i < a->n || k < b->n;)
        out->var[out->n++] = k == b->n || (i < a->n && a->var[i] <= b->var[k]) ? a->var[i++] : b->var[k++];
    return true;
}

clpi_poly clpi_variable_poly(clpi_facts *facts, uint32_t variable)
{
    const clpi_monomial monomial = { 1, { (uint16_t)variable } };
    uint32_t number = clpi_monomial_number(facts, &monomial);
    if (number == CLPI_NO_MONOMIAL)
        return clpi_poly_unknown;
    clpi_poly p = { .is_known = true };
    push_term(&p, number, 1);
    return p;
}

/* coef * monomial * p */
static clpi_poly term_times(clpi_facts *facts, uint32_t monomial, int64_t coef, const clpi_poly *p)
{
    const clpi_poly zero = { .is_known = true };
    clpi_poly one_term = zero;
    push_term(&one_term, monomial, p->constant);
    clpi_poly out = clpi_poly_times(&one_term, coef);
    for (int i = 0; i < p->n; i++) {
        clpi_monomial product;
        if (!clpi_monomial_times(&facts->monomials[monomial], &facts->monomials[p->term[i].monomial], &product))
            return clpi_poly_unknown;
        uint32_t number = clpi_monomial_number(facts, &product);
        if (number == CLPI_NO_MONOMIAL)
            return clpi_poly_unknown;
        one_term = zero;
        push_term(&one_term, number, p->term[i].coef);
        out = clpi_poly_sum(&out, &one_term, coef);
    }
    return out;
}

clpi_poly clpi_poly_product(clpi_facts *facts, const clpi_poly *a, const clpi_poly *b)
{
    if (!a->is_known || !b->is_known)
        return clpi_poly_unknown;
    clpi_poly out = clpi_poly_times(b, a->constant);
    for (int i = 0; i < a->n; i++) {
        const clpi_poly part = term_times(facts, a->term[i].monomial, a->term[i].coef, b);
        out = clpi_poly_sum(&out, &part, 1);
    }
    return out;
}

/* ---- Intervals: bounds that are none stand for anything beyond ---- */

static int64_t add_bound(int64_t a, int64_t b, int64_t none)
{
    int64_t sum;
    return a == none || b == none || __builtin_add_overflow(a, b, &sum) ? none : sum;
}

static bool is_none(int64_t a)
{
    return a == CLPI_NO_LOW || a == CLPI_NO_HIGH;
}

/* A product of bounds; too large a one is none, on its side. */
static int64_t times_bound(int64_t a, int64_t b)
{
    int64_t product;
    if (a == 0 || b == 0)
        return 0;
    if (is_none(a) || is_none(b) || __builtin_mul_overflow(a, b, &product))
        return (a < 0) == (b < 0) ? CLPI_NO_HIGH : CLPI_NO_LOW;
    return product;
}

static void times_interval(int64_t *lo, int64_t *hi, clpi_bounds other)
{
    const int64_t corner[4] = { times_bound(*lo, other.lo), times_bound(*lo, other.hi), times_bound(*hi, other.lo),
                                times_bound(*hi, other.hi) };
    *lo = *hi = corner[0];
    for (int i = 1; i < 4; i++) {
        *lo = corner[i] < *lo ? corner[i] : *lo;
        *hi = corner[i] > *hi ? corner[i] : *hi;
    }
}

void clpi_poly_interval(const clpi_facts *facts, const clpi_poly *p, int64_t *out_lo, int64_t *out_hi)
{
    assert(p->is_known);
    *out_lo = *out_hi = p->constant;
    for (int i = 0; i < p->n; i++) {
        const clpi_monomial *monomial = &facts->monomials[p->term[i].monomial];
        int64_t lo = p->term[i].coef, hi = p->term[i].coef;
        for (int k = 0; k < monomial->n; k++)
            times_interval(&lo, &hi, facts->variables[monomial->var[k]]);
        *out_lo = add_bound(*out_lo, lo, CLPI_NO_LOW);
        *out_hi = add_bound(*out_hi, hi, CLPI_NO_HIGH);
    }
}
