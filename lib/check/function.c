/* function: quotients and extremes of polynomials.
 * In: two polynomials. Out: a variable of its own that stands for the value, and facts that tie it to them.              */
#include "check/facts_inside.h"

static const clpi_poly *find_made(const clpi_facts *f, clpi_made_kind kind, const clpi_poly *a, const clpi_poly *b)
{
    for (uint32_t i = 0; i < f->n_made; i++)
        if (f->made[i].kind == kind && clpi_poly_equal(&f->made[i].a, a) && clpi_poly_equal(&f->made[i].b, b))
            return &f->made[i].value;
    return NULL;
}

static clpi_poly remember(clpi_facts *f, clpi_made_kind kind, const clpi_poly *a, const clpi_poly *b, const clpi_poly *value)
{
    if (f->n_made < CLPI_MAX_MADE)
        f->made[f->n_made++] = (clpi_made){ kind, *a, *b, *value };
    return *value;
}

/* a / c where every coefficient is a multiple of c: exact but for the constant, which rounds. */
static bool divides(const clpi_poly *a, int64_t c, clpi_poly *out)
{
    *out = *a;
    out->constant = clpi_floor_divide(a->constant, c);
    for (int i = 0; i < a->n; i++) {
        if (a->term[i].coef % c != 0)
            return false;
        out->term[i].coef = a->term[i].coef / c;
    }
    return true;
}

/* Divided by 1 or more, a number gets no larger and keeps its sign. */
static clpi_bounds quotient_bounds(const clpi_facts *f, const clpi_poly *a, bool is_constant, int64_t c)
{
    clpi_bounds q;
    clpi_poly_interval(f, a, &q.lo, &q.hi);
    if (is_constant) {
        q.lo = q.lo == CLPI_NO_LOW ? q.lo : clpi_floor_divide(q.lo, c);
        q.hi = q.hi == CLPI_NO_HIGH ? q.hi : clpi_floor_divide(q.hi, c);
    } else {
        q.lo = q.lo > 0 ? 0 : q.lo;
        q.hi = q.hi < 0 ? -1 : q.hi;
    }
    return q;
}

/* a >= b, or b >= a + 1. */
static void add_either(clpi_facts *f, const clpi_poly *a, const clpi_poly *b)
{
    const clpi_poly ahead = clpi_poly_sum(a, b, -1), behind = clpi_poly_sum(b, a, -1), far_behind = clpi_poly_plus(&behind, -1);
    clpi_disjunction disjunction = { .side[0].n = 0 };
    clpi_alternative_add(&disjunction, 0, &ahead, false);
    clpi_alternative_add(&disjunction, 1, &far_behind, false);
    clpi_disjunction_add(f, &disjunction);
}

/* Quotients by one number that is not known are compared: that they are equal, or one apart at least, is what products with
 * the divisor rest on.                                                                                                  */
static void compare_quotients(clpi_facts *f, const clpi_poly *q, const clpi_poly *b)
{
    for (uint32_t i = 0; i < f->n_made; i++)
        if (f->made[i].kind == CLPI_MADE_QUOTIENT && clpi_poly_equal(&f->made[i].b, b)) {
            add_either(f, q, &f->made[i].value);
            add_either(f, &f->made[i].value, q);
        }
}

clpi_poly clpi_poly_quotient(clpi_facts *f, const clpi_poly *a, const clpi_poly *b)
{
    int64_t c;
    clpi_poly q;
    if (!a->is_known || !b->is_known)
        return clpi_poly_unknown;
    bool is_constant = clpi_poly_is_constant(b, &c);
    if (is_constant && c < 1)
        return clpi_poly_unknown; /* proved to be 1 at least: of facts that cannot hold all is proved */
    if (is_constant && divides(a, c, &q))
        return q;
    const clpi_poly *known = find_made(f, CLPI_MADE_QUOTIENT, a, b);
    if (known)
        return *known;
    const clpi_bounds bounds = quotient_bounds(f, a, is_constant, c);
    q = clpi_variable(f, bounds.lo, bounds.hi);
    /* 0 <= a - q b < b */
    const clpi_poly multiple = clpi_poly_product(f, &q, b), rest = clpi_poly_sum(a, &multiple, -1);
    clpi_fact_add(f, &rest, false);
    clpi_order_add(f, b, &rest, 1);
    if (!is_constant)
        compare_quotients(f, &q, b);
    return remember(f, CLPI_MADE_QUOTIENT, a, b, &q);
}

/* sign 1: the smaller one, -1: the larger one. */
static clpi_poly extreme(clpi_facts *f, const clpi_poly *a, const clpi_poly *b, int64_t sign)
{
    const clpi_made_kind kind = sign > 0 ? CLPI_MADE_MINIMUM : CLPI_MADE_MAXIMUM;
    clpi_bounds of_a, of_b;
    if (!a->is_known || !b->is_known)
        return clpi_poly_unknown;
    clpi_poly_interval(f, a, &of_a.lo, &of_a.hi);
    clpi_poly_interval(f, b, &of_b.lo, &of_b.hi);
    if (of_a.hi != CLPI_NO_HIGH && of_b.lo != CLPI_NO_LOW && of_a.hi <= of_b.lo)
        return sign > 0 ? *a : *b;
    if (of_b.hi != CLPI_NO_HIGH && of_a.lo != CLPI_NO_LOW && of_b.hi <= of_a.lo)
        return sign > 0 ? *b : *a;
    const clpi_poly *known = find_made(f, kind, a, b);
    if (known)
        return *known;
    /* Its bounds are the smaller, or larger, of each; none counts as beyond all. */
    int64_t lo = (of_a.lo < of_b.lo) == (sign > 0) ? of_a.lo : of_b.lo, hi = (of_a.hi < of_b.hi) == (sign > 0) ? of_a.hi : of_b.hi;
    const clpi_poly value = clpi_variable(f, lo, hi);
    clpi_disjunction disjunction = { .side[0].n = 0 };
    const clpi_poly *const of[2] = { a, b };
    for (int i = 0; i < 2; i++) {
        const clpi_poly rest = clpi_poly_sum(of[i], &value, -1), signed_rest = clpi_poly_times(&rest, sign);
        clpi_alternative_add(&disjunction, i, &rest, true);
        clpi_fact_add(f, &signed_rest, false);
    }
    clpi_disjunction_add(f, &disjunction);
    return remember(f, kind, a, b, &value);
}

clpi_poly clpi_poly_minimum(clpi_facts *f, const clpi_poly *a, const clpi_poly *b)
{
    return extreme(f, a, b, 1);
}

clpi_poly clpi_poly_maximum(clpi_facts *f, const clpi_poly *a, const clpi_poly *b)
{
    return extreme(f, a, b, -1);
}
