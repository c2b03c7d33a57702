/* real: real numbers as text, with a point whatever the locale: printf and strtod take what the program's locale has for one. */
#ifndef CLPI_REAL_H
#define CLPI_REAL_H

#include "base/str.h"

void clpi_real_put(clpi_str *s, int n_digits, double x);      /* as printf's %.*g has it */
/* The number that the n bytes at text are, all of them; false: they are none, or there was no memory. `_` between digits is passed over. */
bool clpi_real_read(const char *text, size_t n, clpi_arena *arena, double *out);

#endif
