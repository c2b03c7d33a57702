/* format: what a `print` of a kernel says.                                                                             */
#ifndef CLPI_IR_FORMAT_H
#define CLPI_IR_FORMAT_H

#include "ir/ir.h"

/* The next part of a print's string, which *at moves past: a {}, or bytes that are printed; n 0: its end. {{ and }} print
 * one brace each; a brace that is neither is lone, which the rule of `print` refuses.                                  */
typedef struct clpi_format_part { bool is_hole, is_lone; const char *bytes; size_t n; } clpi_format_part;
clpi_format_part clpi_format_next(const char **at);

/* Appends the line of one `print` op, without a newline: each {} of its string replaced by the value of that number.
 * vals[i]: the elements of operand i in row-major order. Scalars are the shortest numbers that read back as themselves,
 * tiles stand on one line as NumPy has them, "[4.2 2.4]", shortened by "..." from 1000 elements on.                     */
void clpi_format_print(const clpi_ir *ir, const clpi_op *print, const clpi_elem *const *vals, clpi_str *s);
void clpi_format_elem(clp_dtype d, clpi_elem e, clpi_str *s);

#endif
