/* What counts as equal: the mean of all sizes, and what of an element it allows. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check/agree.h"
#include "support/support.h"

static double rms_of(const double *x, int n)
{
    clpi_rms rms = { 0 };
    for (int i = 0; i < n; i++)
        clpi_rms_add(&rms, x[i]);
    return clpi_rms_of(&rms);
}

/* Factors are powers of two: they change no digit. */
Test(check_compare, the_mean_is_of_numbers_of_any_size)
{
    static const double scales[] = { 1, 0x1p-1000, 0x1p-530, 0x1p530, 0x1p1000, 0x1p1020 };
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        const double s = scales[i];
        cr_expect_float_eq(rms_of((double[]){ 3 * s, -4 * s, 0, 12 * s }, 4) / s, 6.5, 1e-15);       /* sqrt(169 / 4) */
        cr_expect_float_eq(rms_of((double[]){ 12 * s, NAN, 4 * s, -INFINITY, -3 * s, 0 }, 6) / s, 6.5, 1e-15);
        cr_expect_float_eq(rms_of((double[]){ -s }, 1) / s, 1, 0);
    }
    cr_expect_float_eq(rms_of((double[]){ DBL_MAX, DBL_MAX }, 2) / DBL_MAX, 1, 1e-15);
    cr_expect_float_eq(rms_of((double[]){ 1e200, 1e-200 }, 2) / 1e200, sqrt(0.5), 1e-15);
    cr_expect_float_eq(rms_of((double[]){ 0, 0 }, 2), 0, 0);
    cr_expect_float_eq(rms_of(NULL, 0), 0, 0);
}

/* Of one number alone, which is its own mean: two bounds are allowed. */
Test(check_compare, large_f64_are_compared)
{
    static const struct { double expected, got; bool is_beyond; } rows[] = {
        { 1e200, 3e200, true }, { 1e200, -1e200, true }, { 1e200, 1e200 * (1 + 1e-12), false }, { 1e200, 1e200 * (1 + 3e-12), true },
        { DBL_MAX, DBL_MAX / 2, true }, { DBL_MAX, -DBL_MAX, true }, { DBL_MAX, INFINITY, true }, { DBL_MAX, DBL_MAX * (1 - 1e-12), false },
        { 1e-200, 3e-200, true }, { 1e-200, 1e-200 * (1 + 1e-12), false }, { 1, 3, true }, { 1, 1 + 1e-12, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t got, expected;
        memcpy(&got, &rows[i].got, sizeof got);
        memcpy(&expected, &rows[i].expected, sizeof expected);
        clpi_compare c = { .dtype = CLP_F64, .level = { CLPI_ROUNDED, 1e-12 }, .rms = rms_of(&rows[i].expected, 1) };
        cr_expect_eq(clpi_compare_add(&c, &(int64_t){ 0 }, 0, 0, got, expected, 0), rows[i].is_beyond, "%g for %g", rows[i].got, rows[i].expected);
        cr_expect_eq(clpi_compare_fails(&c), rows[i].is_beyond);
    }
}
