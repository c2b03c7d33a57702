/* on_cl: a context on an OpenCL device, for tests of what only those have. */
#ifndef TESTS_ON_CL_H
#define TESTS_ON_CL_H

#include <stdio.h>
#include <stdlib.h>

#include "support/support.h"

/* A context on an OpenCL device; NULL: there is none, which is said. */
static inline clp_context *context_with(clp_context_opts opts)
{
    clp_context *ctx = NULL;
    const char *which = getenv("CLPALLAS_TEST_CL");
    char device[32];
    snprintf(device, sizeof device, "cl%s%s", which ? ":" : "", which ? which : "");
    opts.device = device;
    clp_status status = clp_context_new(&opts, &ctx);
    if (status) {
        cr_assert(!getenv("CLP_REQUIRE_CL"), "%s", clp_last_error(NULL));
        fprintf(stderr, "skipped: %s\n", clp_last_error(NULL));
    }
    return ctx;
}

static inline clp_context *context_on_cl(clp_print_fn print, void *user)
{
    return context_with((clp_context_opts){ .print = print, .print_user = user });
}

#endif
