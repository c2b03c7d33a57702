/* cores: one thread of PoCL to each core.
 *
 * In: the cores that this process may run on. Out: PoCL's own setting for it, POCL_AFFINITY, in the environment, before PoCL looks there.
 * Left to itself Linux wakes the threads of a launch where the caller and the first of them leave room: on two cores the second is often put
 * behind the first, and every other launch of some hundred us runs on one core. Bound, row sums of 16 MB take 138 us in place of 290, an
 * RMS norm of as much 420 in place of 530 (medians; a virtual machine of two cores), long kernels what they took. It costs an empty launch
 * 15 us: the thread that is bound to the caller's core gets in the caller's way.
 *
 * PoCL counts cores from 0, so several processes that have few threads each would meet on the first cores. So nothing is set where this
 * process has been given other cores, or fewer; nor where PoCL has been given a number of threads, or the variable is set.           */
#define _GNU_SOURCE             /* sched_getaffinity */
#include <pthread.h>
#include <stdlib.h>

#include "cl/cl.h"

#ifdef __linux__
#include <sched.h>
#include <unistd.h>

static bool has_all_cores(void)
{
    cpu_set_t mine;
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    if (n > CPU_SETSIZE || sched_getaffinity(0, sizeof mine, &mine))
        return false;
    for (long i = 0; i < n; i++)
        if (!CPU_ISSET((size_t)i, &mine))
            return false;
    return true;
}
#else
static bool has_all_cores(void)
{
    return false;
}
#endif

static void bind_once(void)
{
    if (has_all_cores() && !getenv("POCL_MAX_PTHREAD_COUNT"))
        (void)setenv("POCL_AFFINITY", "1", 0);
}

void clpi_cl_bind_cores(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, bind_once);
}
