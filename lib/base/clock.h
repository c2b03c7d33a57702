/* clock: how long things take. */
#ifndef CLPI_CLOCK_H
#define CLPI_CLOCK_H

double clpi_now(void);        /* seconds, of a clock that nobody sets */

/* Sorts the n > 0 samples; of an even number the median lies between the two in the middle. */
void clpi_min_and_median(double *samples, int n, double *out_min, double *out_median);

#endif
