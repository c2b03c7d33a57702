/* clock: how long things take. In: nothing, or samples. Out: seconds; what is said of samples. */
#include "base/clock.h"

#include <stdlib.h>
#include <time.h>

double clpi_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

void clpi_min_and_median(double *samples, int n, double *out_min, double *out_median)
{
    qsort(samples, (size_t)n, sizeof *samples, by_size);
    *out_min = samples[0];
    *out_median = (samples[n / 2] + samples[(n - 1) / 2]) / 2;
}
