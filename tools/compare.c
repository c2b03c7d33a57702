/* compare: two arrays of one dtype and shape. Out: how far they are apart, and where most.
 * Decides what counts as equal: the same bits, equal numbers, two NaNs; floats also where |got - want| <= bound *
 * (|want| + rms), rms being the root mean square of the wanted values of the same run: the error of a sum goes with the size of its
 * terms, not with what is left of them, and rows may differ in that by far (where attention is causal, the first row is one value, the
 * last the mean of thousands). */
#include <math.h>

#include "base/dtype.h"
#include "tool.h"

/* Of the n > 0 elements from `first` on. */
static double rms_of(const clp_array *a, int64_t first, int64_t n)
{
    double sum = 0;
    for (int64_t i = first; i < first + n; i++) {
        const double x = array_number(a, i);
        sum += isfinite(x) ? x * x : 0;
    }
    return sqrt(sum / (double)n);
}

difference array_compare(const clp_array *got, const clp_array *want, double bound, int64_t run)
{
    difference d = { .worst = -1 };
    const bool is_float = clpi_is_float(got->dtype);
    double worst = -1, rms = 0;
    for (int64_t i = 0, n = array_elems(want); i < n; i++) {
        if (is_float && i % run == 0)
            rms = rms_of(want, i, run);
        const double x = array_number(got, i), y = array_number(want, i);
        if (array_bits(got, i) == array_bits(want, i) || (is_float && (x == y || (isnan(x) && isnan(y)))))
            continue;
        const double off = isfinite(x) && isfinite(y) ? fabs(x - y) : INFINITY;
        const double rel = off / (isfinite(y) && y != 0 ? fabs(y) + rms : rms > 0 ? rms : 1);
        d.n_beyond += !is_float || !(rel <= bound);
        if (rel > worst) {
            worst = rel;
            d = (difference){ d.n_beyond, i, off, x, y };
        }
    }
    return d;
}
