/* refusal: what a device may refuse, so that a test may take it for right: doubles and 64-bit atomics that it does not have. */
#ifndef TESTS_REFUSAL_H
#define TESTS_REFUSAL_H

#include <stdbool.h>

#include "clpallas.h"

/* Did ctx's device just refuse a kernel for what it really lacks, and say so? reference: the same kernel, on the interpreter. */
bool is_rightly_refused(const clp_context *ctx, clp_status status, const clp_kernel *reference);

#endif
