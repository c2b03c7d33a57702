/* facts: what is known of variables, and whether it can hold together.
 * In: polynomials that are 0 or at least 0, disjunctions of such. Out: "impossible", for certain, or "maybe".
 *
 * Each monomial becomes a column of a linear system (linear.c), as if it were a variable. What ties products to their factors
 * is regained by multiplying facts by variables whose sign is known, where that gives monomials that stand in the facts:
 * from  i - i' - 1 >= 0  and  N >= 0  follows  i N - i' N - N >= 0.  Choices are tried one after another.                */
#include <string.h>

#include "check/facts_inside.h"

enum { MAX_ROWS = 400, MAX_SYSTEMS = 48, MAX_FACTORS = 16, MAX_ROUNDS = 3 };

#define MAX_BOUND   (INT64_C(1) << 40)    /* larger bounds tell nothing worth their digits */
#define SMALL_BOUND (INT64_C(1) << 24)    /* larger ones, which keep 32 bits from wrapping, are looked at when all else fails: their
                                           * products leave 64 bits soon */

clpi_facts *clpi_facts_new(clpi_arena *arena)
{
    clpi_facts *f = CLPI_NEW(arena, clpi_facts);
    if (!f)
        return NULL;
    f->arena = arena;
    f->variables = CLPI_NEW_N(arena, clpi_bounds, CLPI_MAX_VARIABLES);
    f->monomials = CLPI_NEW_N(arena, clpi_monomial, CLPI_MAX_MONOMIALS);
    f->facts = CLPI_NEW_N(arena, clpi_fact, CLPI_MAX_FACTS);
    f->disjunctions = CLPI_NEW_N(arena, clpi_disjunction, CLPI_MAX_DISJUNCTIONS);
    f->made = CLPI_NEW_N(arena, clpi_made, CLPI_MAX_MADE);
    return f->variables && f->monomials && f->facts && f->disjunctions && f->made ? f : NULL;
}

clpi_facts_mark clpi_facts_mark_get(const clpi_facts *f)
{
    return (clpi_facts_mark){ f->n_variables, f->n_monomials, f->n_facts, f->n_disjunctions, f->n_made };
}

void clpi_facts_rewind(clpi_facts *f, clpi_facts_mark mark)
{
    f->n_variables = mark.n_variables;
    f->n_monomials = mark.n_monomials;
    f->n_facts = mark.n_facts;
    f->n_disjunctions = mark.n_disjunctions;
    f->n_made = mark.n_made;
}

clpi_poly clpi_variable(clpi_facts *f, int64_t lo, int64_t hi)
{
    clpi_poly p = f->n_variables < CLPI_MAX_VARIABLES ? clpi_variable_poly(f, f->n_variables) : clpi_poly_unknown;
    if (p.is_known)
        f->variables[f->n_variables++] = (clpi_bounds){ lo, hi };
    return p;
}

bool clpi_variable_bound(clpi_facts *f, const clpi_poly *p, int64_t lo, int64_t hi)
{
    if (!p->is_known || p->n != 1 || p->constant != 0 || (p->term[0].coef != 1 && p->term[0].coef != -1))
        return false;
    const clpi_monomial *monomial = &f->monomials[p->term[0].monomial];
    if (monomial->n != 1)
        return false;
    const clpi_bounds opposite = { hi == CLPI_NO_HIGH ? CLPI_NO_LOW : -hi, lo == CLPI_NO_LOW ? CLPI_NO_HIGH : -lo };
    const clpi_bounds told = p->term[0].coef == 1 ? (clpi_bounds){ lo, hi } : opposite;
    clpi_bounds *bounds = &f->variables[monomial->var[0]];
    bounds->lo = told.lo > bounds->lo ? told.lo : bounds->lo;
    bounds->hi = told.hi < bounds->hi ? told.hi : bounds->hi;
    return true;
}

void clpi_variables_tighten(clpi_facts *f)
{
    for (uint32_t i = 0; i < f->n_facts; i++) {
        const clpi_poly *p = &f->facts[i].poly;
        const clpi_poly rest = clpi_poly_constant(p->constant), variable = clpi_poly_sum(p, &rest, -1);
        int64_t c = p->constant;
        if (p->n != 1 || (p->term[0].coef != 1 && p->term[0].coef != -1) || f->monomials[p->term[0].monomial].n != 1)
            continue;
        /* variable + c >= 0, and perhaps no more */
        clpi_variable_bound(f, &variable, -c, f->facts[i].is_equal ? -c : CLPI_NO_HIGH);
    }
}

void clpi_fact_add(clpi_facts *f, const clpi_poly *p, bool is_equal)
{
    if (p->is_known && f->n_facts < CLPI_MAX_FACTS)
        f->facts[f->n_facts++] = (clpi_fact){ *p, is_equal };
}

void clpi_order_add(clpi_facts *f, const clpi_poly *a, const clpi_poly *b, int64_t by)
{
    const clpi_poly distance = clpi_poly_sum(a, b, -1), room = clpi_poly_plus(&distance, -by);
    clpi_fact_add(f, &room, false);
}

void clpi_disjunction_add(clpi_facts *f, const clpi_disjunction *disjunction)
{
    if (f->n_disjunctions < CLPI_MAX_DISJUNCTIONS && disjunction->side[0].n > 0 && disjunction->side[1].n > 0)
        f->disjunctions[f->n_disjunctions++] = *disjunction;
}

void clpi_alternative_add(clpi_disjunction *disjunction, int side, const clpi_poly *p, bool is_equal)
{
    int *n = &disjunction->side[side].n;
    if (p->is_known && *n < CLPI_MAX_ALTERNATIVE)
        disjunction->side[side].fact[(*n)++] = (clpi_fact){ *p, is_equal };
}

/* ---- One linear system ---- */

typedef struct rows {
    clpi_facts *facts;
    int64_t     largest;          /* facts with a larger constant are left out */
    clpi_fact  *fact;
    int         n;
    bool       *is_wanted;        /* [MAX_MONOMIALS] stands in a fact as it was given, or divides one that does */
    bool       *is_used;          /* [MAX_VARIABLES] */
} rows;

static void push_row(rows *r, const clpi_poly *p, bool is_equal)
{
    bool is_large = p->constant > r->largest || p->constant < -r->largest;
    if (p->is_known && !is_large && r->n < MAX_ROWS)
        r->fact[r->n++] = (clpi_fact){ *p, is_equal };
}

static void want_divisors(rows *r, const clpi_monomial *monomial)
{
    for (unsigned set = 1; set < 1u << monomial->n; set++) {
        clpi_monomial part = { .n = 0 };
        for (int i = 0; i < monomial->n; i++)
            if (set >> i & 1)
                part.var[part.n++] = monomial->var[i];
        uint32_t number = clpi_monomial_number(r->facts, &part);
        if (number != CLPI_NO_MONOMIAL)
            r->is_wanted[number] = true;
    }
}

static void look_for_monomials(rows *r)
{
    for (int i = 0; i < r->n; i++)
        for (int k = 0; k < r->fact[i].poly.n; k++) {
            const clpi_monomial monomial = r->facts->monomials[r->fact[i].poly.term[k].monomial];
            want_divisors(r, &monomial);
            for (int v = 0; v < monomial.n; v++)
                r->is_used[monomial.var[v]] = true;
        }
}

static void push_bounds(rows *r)
{
    for (uint32_t v = 0; v < r->facts->n_variables; v++) {
        if (!r->is_used[v])
            continue;
        const clpi_bounds bounds = r->facts->variables[v];
        const clpi_poly p = clpi_variable_poly(r->facts, v), lo = clpi_poly_constant(bounds.lo), hi = clpi_poly_constant(bounds.hi);
        const clpi_poly above = clpi_poly_sum(&p, &lo, -1), below = clpi_poly_sum(&hi, &p, -1);
        push_row(r, &above, false);
        push_row(r, &below, false);
    }
}

/* Whether p * variable has a monomial, other than the variable, that is wanted. */
static bool is_product_wanted(rows *r, const clpi_poly *p, uint32_t variable)
{
    const clpi_monomial factor = { 1, { (uint16_t)variable } };
    for (int i = 0; i < p->n; i++) {
        clpi_monomial product;
        if (!clpi_monomial_times(&r->facts->monomials[p->term[i].monomial], &factor, &product))
            return false;
        uint32_t number = clpi_monomial_number(r->facts, &product);
        if (number != CLPI_NO_MONOMIAL && r->is_wanted[number])
            return true;
    }
    return false;
}

/* Variables that stand in a wanted product; returns how many. */
static int find_factors(const rows *r, uint32_t *out_factors)
{
    bool is_factor[CLPI_MAX_VARIABLES] = { false };
    int n = 0;
    for (uint32_t m = 0; m < r->facts->n_monomials; m++) {
        const clpi_monomial *monomial = &r->facts->monomials[m];
        for (int i = 0; i < monomial->n && monomial->n > 1 && r->is_wanted[m]; i++)
            is_factor[monomial->var[i]] = true;
    }
    for (uint32_t v = 0; v < r->facts->n_variables && n < MAX_FACTORS; v++)
        if (is_factor[v])
            out_factors[n++] = v;
    return n;
}

/* A row times a variable, or its opposite where that is not negative. */
static void push_product(rows *r, int i, uint32_t v)
{
    const bool is_positive = r->facts->variables[v].lo >= 0, is_negative = r->facts->variables[v].hi <= 0;
    const clpi_fact fact = r->fact[i];
    const clpi_poly variable = clpi_variable_poly(r->facts, v), factor = clpi_poly_times(&variable, is_positive ? 1 : -1);
    if (!is_positive && !is_negative && !fact.is_equal)
        return;
    const clpi_poly product = clpi_poly_product(r->facts, &fact.poly, &factor);
    push_row(r, &product, fact.is_equal);
    /* What an equation ties a wanted product to is wanted too. */
    for (int k = 0; fact.is_equal && k < product.n; k++)
        r->is_wanted[product.term[k].monomial] = true;
}

/* Products of rows, of products too, with variables that stand in a product. */
static void push_products(rows *r, uint16_t *is_made)
{
    uint32_t factors[MAX_FACTORS];
    const int n_factors = find_factors(r, factors);
    for (int round = 0; round < MAX_ROUNDS; round++) {
        const int end = r->n;
        for (int i = 0; i < end; i++)
            for (int f = 0; f < n_factors; f++) {
                const clpi_poly *p = &r->fact[i].poly;
                bool is_large = p->constant > SMALL_BOUND || p->constant < -SMALL_BOUND;
                if (is_large || is_made[i] >> f & 1 || !is_product_wanted(r, p, factors[f]))
                    continue;
                is_made[i] |= (uint16_t)(1u << f);
                push_product(r, i, factors[f]);
            }
        if (r->n == end)
            break;
    }
}

static bool solve_rows(const rows *r)
{
    clpi_arena *arena = r->facts->arena;
    int *column = CLPI_NEW_N(arena, int, CLPI_MAX_MONOMIALS);      /* from 1; 0: none yet */
    if (!column)
        return false;
    clpi_linear system = { .n_rows = r->n };
    for (int i = 0; i < r->n; i++)
        for (int k = 0; k < r->fact[i].poly.n; k++) {
            int *c = &column[r->fact[i].poly.term[k].monomial];
            *c = *c ? *c : ++system.n;
        }
    system.cells = CLPI_NEW_N(arena, int64_t, (size_t)r->n * (size_t)(system.n + 1));
    system.is_equal = CLPI_NEW_N(arena, bool, (size_t)r->n);
    if (!system.cells || !system.is_equal)
        return false;
    for (int i = 0; i < r->n; i++) {
        int64_t *cells = &system.cells[(size_t)i * (size_t)(system.n + 1)];
        for (int k = 0; k < r->fact[i].poly.n; k++)
            cells[column[r->fact[i].poly.term[k].monomial] - 1] = r->fact[i].poly.term[k].coef;
        cells[system.n] = r->fact[i].poly.constant;
        system.is_equal[i] = r->fact[i].is_equal;
    }
    return clpi_linear_is_empty(&system, arena);
}

/* The facts with constants up to largest, and the sides taken of the first n_taken disjunctions. */
static bool is_system_empty(clpi_facts *f, const int *taken, uint32_t n_taken, int64_t largest)
{
    clpi_arena_mark mark = clpi_arena_mark_get(f->arena);
    const uint32_t n_monomials = f->n_monomials;
    rows r = { f, largest, clpi_arena_take(f->arena, MAX_ROWS, sizeof *r.fact), 0, CLPI_NEW_N(f->arena, bool, CLPI_MAX_MONOMIALS),
               CLPI_NEW_N(f->arena, bool, CLPI_MAX_VARIABLES) };
    uint16_t *is_made = CLPI_NEW_N(f->arena, uint16_t, MAX_ROWS);
    bool is_empty = false;
    if (r.fact && r.is_wanted && r.is_used && is_made) {
        for (uint32_t i = 0; i < n_taken; i++)
            for (int k = 0; k < f->disjunctions[i].side[taken[i]].n; k++)
                push_row(&r, &f->disjunctions[i].side[taken[i]].fact[k].poly, f->disjunctions[i].side[taken[i]].fact[k].is_equal);
        /* The newest first: where there is no room for all, what the question is about stays. */
        for (uint32_t i = f->n_facts; i-- > 0;)
            push_row(&r, &f->facts[i].poly, f->facts[i].is_equal);
        look_for_monomials(&r);
        push_bounds(&r);
        push_products(&r, is_made);
        is_empty = solve_rows(&r);
    }
    f->n_monomials = n_monomials;
    clpi_arena_rewind(f->arena, mark);
    return is_empty;
}

static bool are_all_empty(clpi_facts *f, int *taken, uint32_t n_taken, int *systems)
{
    if (++*systems > MAX_SYSTEMS)
        return false;
    if (is_system_empty(f, taken, n_taken, SMALL_BOUND) || is_system_empty(f, taken, n_taken, MAX_BOUND))
        return true;
    if (n_taken == f->n_disjunctions)
        return false;
    for (int side = 0; side < 2; side++) {
        taken[n_taken] = side;
        if (!are_all_empty(f, taken, n_taken + 1, systems))
            return false;
    }
    return true;
}

bool clpi_facts_are_impossible(clpi_facts *f)
{
    int taken[CLPI_MAX_DISJUNCTIONS] = { 0 }, systems = 0;
    return are_all_empty(f, taken, 0, &systems);
}

/* Whether sign * p >= least cannot hold. */
static bool is_impossible(clpi_facts *f, const clpi_poly *p, int64_t sign, int64_t least)
{
    const uint32_t n_facts = f->n_facts;
    const clpi_poly bound = clpi_poly_constant(-least), claim = clpi_poly_sum(&bound, p, sign);
    clpi_fact_add(f, &claim, false);
    bool is = f->n_facts > n_facts && clpi_facts_are_impossible(f);
    f->n_facts = n_facts;
    return is;
}

bool clpi_poly_is_within(clpi_facts *f, const clpi_poly *p, int64_t lo, int64_t hi)
{
    clpi_bounds bounds;
    if (!p->is_known)
        return false;
    clpi_poly_interval(f, p, &bounds.lo, &bounds.hi);
    bool is_above = lo == CLPI_NO_LOW || (bounds.lo != CLPI_NO_LOW && bounds.lo >= lo);
    bool is_below = hi == CLPI_NO_HIGH || (bounds.hi != CLPI_NO_HIGH && bounds.hi <= hi);
    return (is_above || is_impossible(f, p, -1, -lo + 1)) && (is_below || is_impossible(f, p, 1, hi + 1));
}

bool clpi_poly_is_at_least(clpi_facts *f, const clpi_poly *p, int64_t lo)
{
    return clpi_poly_is_within(f, p, lo, CLPI_NO_HIGH);
}
