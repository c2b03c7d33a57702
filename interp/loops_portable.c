/* loops_portable: the loops of elementwise ops for any CPU that the build is for. */
#define LOOP_TABLE clpi_loops_portable
#include "interp/loops.h"
