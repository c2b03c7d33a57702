/* The elementary functions of f32 that C and OpenCL C share: the worst error against libm in double precision, in ulp of
 * the correct result, over arguments from all of f32; and what must hold exactly.                                        */
#include <math.h>

#include "ir/scalar.h"
#include "support/support.h"

typedef struct function {
    const char *name;
    float (*ours)(float);
    double (*correct)(double);
    double bound;              /* elementary.h states these */
} function;

static const function functions[] = {
    { "exp", clpi_exp_f32, exp, 0.90 },    { "exp2", clpi_exp2_f32, exp2, 0.90 }, { "log", clpi_log_f32, log, 0.95 },
    { "log2", clpi_log2_f32, log2, 0.95 }, { "tanh", clpi_tanh_f32, tanh, 1.37 }, { "erf", clpi_erf_f32, erf, 1.14 },
    { "sin", clpi_sin_f32, sin, 1.50 },    { "cos", clpi_cos_f32, cos, 1.50 },
};

enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

/* The distance of y from x, in steps of f32 where x lies; infinite where the kinds or signs differ. */
static double error_in_ulp(float y, double x)
{
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y) ? 0.0 : INFINITY;
    if (!signbit(y) != !signbit(x))
        return INFINITY;
    if (isinf((float)x) || isinf(y))
        return y == (float)x ? 0.0 : INFINITY;
    int exponent;
    (void)frexp(x, &exponent);
    if (exponent < -125 || x == 0.0)
        exponent = -125;
    return fabs((double)y - x) / ldexp(1.0, exponent - 24);
}

static void check(const function *f, float x)
{
    double error = error_in_ulp(f->ours(x), f->correct((double)x));
    cr_assert(error <= f->bound, "%s(%a): got %a, expected %a, off by %.3f ulp, bound %.2f", f->name, (double)x,
              (double)f->ours(x), f->correct((double)x), error, f->bound);
}

/* Steps through every exponent, sign and many mantissas. The step is odd and large: low bits vary too. */
Test(elementary, errors_stay_below_the_stated_bounds)
{
    for (int i = 0; i < N_FUNCTIONS; i++)
        for (uint64_t bits = 0; bits < (1ull << 32); bits += 2003)
            check(&functions[i], clpi_f32_from_bits((uint32_t)bits));
}

/* Every value from 1/64 to 64, by 2^-15 of its size: where exp, log, tanh and erf change their way. */
Test(elementary, errors_stay_below_the_stated_bounds_near_one)
{
    for (int i = 0; i < N_FUNCTIONS; i++) {
        for (uint32_t bits = clpi_f32_bits(0x1p-6f); bits < clpi_f32_bits(64.0f); bits += 251) {
            check(&functions[i], clpi_f32_from_bits(bits));
            check(&functions[i], -clpi_f32_from_bits(bits));
        }
    }
}

/* The f32 nearest to k pi/2 leave the smallest remainders; so do a few large ones. */
Test(elementary, sine_and_cosine_near_multiples_of_half_pi)
{
    static const float hard[] = { 0x1.f37c8ap95f, 0x1.b08c4ap111f, 0x1.6c4d44p86f, 0x1.8e0abap121f, 0x1.47d0fep34f };
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) {
        check(&functions[6], hard[i]);
        check(&functions[7], hard[i]);
        check(&functions[6], -hard[i]);
    }
    for (int64_t k = 1; k < 200000000; k += 1 + k / 5000) {
        float x = (float)((double)k * 1.57079632679489661923);
        check(&functions[6], x);
        check(&functions[7], x);
    }
}

Test(elementary, powers_of_two_are_exact)
{
    for (int n = -149; n <= 127; n++) {
        float power = (float)ldexp(1.0, n);
        cr_expect_eq(clpi_exp2_f32((float)n), power, "exp2(%d)", n);
        cr_expect_eq(clpi_log2_f32(power), (float)n, "log2(2^%d)", n);
    }
}

Test(elementary, erf_inv_undoes_erf)
{
    for (double y = -3.6; y <= 3.6; y += 1.0 / 1024) {
        float x = (float)erf(y);
        double back = erf((double)clpi_erf_inv_f32(x)), rest = 1.0 - fabs((double)x);
        /* An error of n ulp in the result moves erf of it by so much. */
        double slope = 1.1283791670955126 * exp(-y * y), ulp = ldexp(fabs(y), -23) + 0x1p-149;
        if (rest > 0)
            cr_expect(fabs(back - (double)x) <= 8 * slope * ulp + 1e-15, "erf_inv(%a) = %a", (double)x,
                      (double)clpi_erf_inv_f32(x));
    }
}

Test(elementary, erf_inv_of_f64_undoes_erf)
{
    for (double y = 0.01; y <= 5.0; y += 0.01) {
        double x = erf(y), got = CLP_ERF_INV(x);
        double slope = 1.1283791670955126 * exp(-y * y);
        cr_expect(fabs(got - y) <= 4e-16 * y + 0x1p-53 / slope, "erf_inv(erf(%g)) = %.17g", y, got);
        cr_expect_eq(CLP_ERF_INV(-x), -got);
    }
}
