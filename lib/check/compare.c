/* compare: expected and got, element by element.
 * In: stored bits and a level. Out: how many are beyond what the level allows, and the largest differences.
 * Decides what is equal: the same bits; two zeros, two NaNs; subnormals and zeros of f32, bf16 and f64, which devices may flush. Of
 * rounded values, |got - expected| <= bound * (|expected| + rms), rms being the root mean square of all expected ones: the
 * error of a sum goes with the size of its terms, not with what is left of them. Or as far as rounding was seen to move it.  */
#include <math.h>
#include <string.h>

#include "check/agree.h"

bool clpi_same(clp_dtype dtype, uint64_t a, uint64_t b)
{
    if (a == b || !clpi_is_float(dtype))
        return a == b || (dtype == CLP_BOOL && a && b);
    double x = clpi_number_of(dtype, a), y = clpi_number_of(dtype, b);
    return x == y || (isnan(x) && isnan(y));
}

static bool both_may_be_flushed(clp_dtype dtype, double x, double y)
{
    double least = dtype == CLP_F64 ? 0x1p-1022 : dtype == CLP_F32 || dtype == CLP_BF16 ? 0x1p-126 : 0;
    return fabs(x) <= least && fabs(y) <= least;
}

double clpi_ulps(clp_dtype dtype, uint64_t a, uint64_t b)
{
    if (clpi_same(dtype, a, b))
        return 0;
    if (!clpi_is_float(dtype))
        return fabs(clpi_number_of(dtype, a) - clpi_number_of(dtype, b));
    if (isnan(clpi_number_of(dtype, a)) || isnan(clpi_number_of(dtype, b)))
        return INFINITY;
    uint64_t sign = UINT64_C(1) << (clp_dtype_bits(dtype) - 1);
    double x = (double)(a & ~sign), y = (double)(b & ~sign);
    return (a ^ b) & sign ? x + y : a > b ? (double)(a - b) : (double)(b - a);
}

void clpi_move_add(double *most, clp_dtype dtype, uint64_t got, uint64_t expected)
{
    const double move = fabs(clpi_number_of(dtype, got) - clpi_number_of(dtype, expected));
    if (isfinite(move))
        *most = fmax(*most, move);
}

void clpi_rms_add(clpi_rms *rms, double x)
{
    if (!isfinite(x))
        return;
    const double size = fabs(x);
    rms->n++;
    if (size > rms->largest) {
        const double shrinks = rms->largest / size;
        rms->squares = 1 + rms->squares * shrinks * shrinks;
        rms->largest = size;
    } else if (size > 0) {
        rms->squares += size / rms->largest * (size / rms->largest);
    }
}

double clpi_rms_of(const clpi_rms *rms)
{
    return rms->n ? rms->largest * sqrt(rms->squares / (double)rms->n) : 0;
}

/* How far beyond what is allowed: 1 is just there, 0 equal. Integers that hang on rounded values may be one off. */
static double excess_of(const clpi_compare *c, double got, double expected, double moves)
{
    if (both_may_be_flushed(c->dtype, got, expected))
        return 0;
    if (c->level.kind == CLPI_EXACT)
        return INFINITY;
    double off = fabs(got - expected), bound = c->level.bound;
    if (!(off <= INFINITY) || !isfinite(expected))
        return INFINITY;
    double allowed = bound * fabs(expected) + bound * c->rms + (clpi_is_float(c->dtype) ? 0 : c->dtype != CLP_BOOL);
    allowed = fmax(allowed, moves);
    return allowed > 0 ? off / allowed : INFINITY;
}

bool clpi_compare_add(clpi_compare *c, const int64_t *element, int rank, int64_t at, uint64_t got, uint64_t expected, double moves)
{
    c->n++;
    if (clpi_same(c->dtype, got, expected))
        return false;
    double x = clpi_number_of(c->dtype, got), y = clpi_number_of(c->dtype, expected);
    double abs = isnan(x) != isnan(y) ? INFINITY : fabs(x - y);
    struct clpi_worst w = { .is_set = true, .abs = abs, .rel = y != 0 ? abs / fabs(y) : INFINITY,
                            .ulp = clpi_ulps(c->dtype, got, expected), .excess = excess_of(c, x, y, moves), .moves = moves,
                            .got = got, .expected = expected, .at = at };
    memcpy(w.element, element, (size_t)rank * sizeof *element);
    bool is_judged = c->level.kind != CLPI_FREE, is_beyond = is_judged && !(w.excess <= 1);
    c->n_beyond += is_beyond;
    c->n_swayed += is_judged && !is_beyond && !(excess_of(c, x, y, 0) <= 1);
    if (!c->worst.is_set || w.excess > c->worst.excess || (w.excess == c->worst.excess && w.abs > c->worst.abs))
        c->worst = w;
    if (!c->widest.is_set || w.ulp > c->widest.ulp)
        c->widest = w;
    return is_beyond;
}

static bool is_left_out(const clpi_marks *marks, uint64_t number)
{
    for (int i = 0; i < 2; i++)
        if (marks->is_left_out[i] && marks->is_left_out[i][number])
            return true;
    return false;
}

void clpi_compare_arrays(clpi_compare *c, const clpi_check *check, int operand, const uint8_t *got, const uint8_t *expected,
                         const clpi_marks *marks, clpi_found *found)
{
    const clp_dtype dtype = c->dtype;
    clpi_elements e;
    clpi_rms rms = { 0 };
    clpi_elements_init(&e, check, operand);
    while (clpi_is_float(dtype) && clpi_elements_next(&e))
        clpi_rms_add(&rms, clpi_number_of(dtype, clpi_bits_at(dtype, expected, e.at)));
    c->rms = clpi_rms_of(&rms);
    clpi_elements_init(&e, check, operand);
    while (clpi_elements_next(&e)) {
        if (is_left_out(marks, e.number))
            continue;
        const bool is_beyond = clpi_compare_add(c, e.index, e.rank, e.at, clpi_bits_at(dtype, got, e.at), clpi_bits_at(dtype, expected, e.at),
                                                marks->moves ? marks->moves[e.number] : 0);
        if (is_beyond && found)
            clpi_found_element(found, e.index, e.rank);
    }
}

bool clpi_compare_fails(const clpi_compare *c)
{
    enum { SHARE = 100 };      /* of CHOSEN elements one in so many may be beyond, and one more */
    return c->n_beyond > (c->level.kind == CLPI_CHOSEN ? 1 + c->n / SHARE : 0);
}
