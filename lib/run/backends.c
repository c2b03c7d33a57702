/* backends: the table of all that can run kernels in this build, in the order in which "auto" tries them.              */
#include "run/backend.h"

const clpi_backend *const clpi_backends[] = {
#ifdef CLPALLAS_OPENCL
    &clpi_cl_backend,
#endif
    &clpi_interp_backend,
    NULL,
};
