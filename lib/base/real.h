/* real: real numbers as text, with a point whatever the locale: printf and strtod take what the program's locale has for one. */
#ifndef CLPI_REAL_H
#define CLPI_REAL_H

#include "base/str.h"

typedef struct clpi_real_text { char text[64]; } clpi_real_text;

/* As printf's %.*g has it, n_digits at most 17: clpi_str_add(s, "%s", clpi_real(3, x).text). */
clpi_real_text clpi_real(int n_digits, double x);
/* The number that the n bytes at text are, all of them; false: they are none, or there was no memory. `_` between digits is passed over. */
bool clpi_real_read(const char *text, size_t n, clpi_arena *arena, double *out);

#endif
