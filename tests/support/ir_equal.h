/* ir_equal: whether two kernels are the same kernel. */
#ifndef TESTS_IR_EQUAL_H
#define TESTS_IR_EQUAL_H

#include "ir/ir.h"

/* Same ops, types, regions, attributes; names and positions are free. why: the first difference, added to what stands there. */
bool ir_equal(const clpi_ir *a, const clpi_ir *b, clpi_str *why);

#endif
