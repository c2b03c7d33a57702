/* loops_avx2: the same loops, compiled for x86-64 CPUs with AVX2 and FMA; elementwise.c asks the CPU before it uses them.
 * The build passes the flags; where it has none for this target, nothing stands here.                                   */
#if defined(__AVX2__) && defined(__FMA__)
#define LOOP_TABLE clpi_loops_avx2
#include "interp/loops.h"
#else
typedef int clpi_no_avx2_loops;
#endif
