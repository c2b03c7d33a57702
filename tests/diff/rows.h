/* rows: what diff runs. */
#ifndef TESTS_DIFF_ROWS_H
#define TESTS_DIFF_ROWS_H

typedef struct row {
    const char *words;
    double bound;                 /* what floats may differ by */
    const char *finds;            /* what a check finds in it; NULL: nothing */
} row;

extern const row tiny[];
extern const int n_tiny;

#endif
