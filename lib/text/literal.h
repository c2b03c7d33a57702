/* literal: constants as the kernel language writes them.                                                                */
#ifndef CLPI_LITERAL_H
#define CLPI_LITERAL_H

#include "base/dtype.h"
#include "base/str.h"

/* bits: the stored bits of an element of dtype d. A text that reads back as the same element (NaNs: as a NaN).
 * with_dtype: a constant of that dtype wherever it stands, "0.5f32"; else one that adapts to it, "0.5".                 */
void clpi_literal_print(clpi_str *s, clp_dtype d, uint64_t bits, bool with_dtype);

/* A string as `print` and `assert` take it, quotes and escapes included. */
void clpi_string_print(clpi_str *s, const char *text);

#endif
