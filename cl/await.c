/* await: the end of a launch, as soon as it is there.
 *
 * In: a launch's event, and how long such a launch took the last time. Out: what clWaitForEvents says. A caller that sleeps has to be woken,
 * which on PoCL takes as long as a small kernel does. So the end of a short launch is looked for again and again, and the core is left to
 * whoever wants it in between, threads of PoCL among them. A product of 128 cubed that is waited for so takes 37 us in place of 46 (two
 * cores, a virtual machine). Longer launches gain nothing. Nor do the shortest: the thread that is bound to the caller's core (cores.c) does
 * them as soon as that sleeps, and an empty launch takes 6.5 us where looking for its end makes it 9 to 19.
 *
 * Other runtimes look for work themselves in threads that wait (Intel's), or spin (NVIDIA's): they are left alone. Where other
 * processes want the cores, the scheduler may give one of them a turn of some milliseconds for each look: then it is the callers' sleep
 * that is short, and the next thousand launches are waited for asleep.                                                        */
#include <sched.h>

#include "base/clock.h"
#include "cl/cl.h"

static const double LEAST_S = 8e-6, SHORT_S = 50e-6;       /* launches that are looked for; less is done by a thread of the caller's core */
static const double PATIENCE_S = 1e-3;    /* so long: a short one that takes longer tells that the cores are busy */
enum { ASLEEP = 1000 };                   /* launches from then on that are not */

static bool is_running(cl_event event)
{
    cl_int state;
    return clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) == CL_SUCCESS && state > CL_COMPLETE;
}

/* Others in front of it would be waited for too. */
static bool is_looked_for(clpi_cl_device *dev, double last_s)
{
    if (!dev->wakes_slowly || last_s <= LEAST_S || last_s > SHORT_S || atomic_load(&dev->n_in_flight) > 1 ||
        atomic_load(&dev->has_let_go))
        return false;
    return atomic_load(&dev->n_asleep) <= 0 || atomic_fetch_sub(&dev->n_asleep, 1) <= 0;
}

cl_int clpi_cl_await(clpi_cl_device *dev, cl_event event, double last_s, bool *out_was_slow)
{
    *out_was_slow = false;
    if (!is_looked_for(dev, last_s))
        return clWaitForEvents(1, &event);
    const double end = clpi_now() + PATIENCE_S;
    while (is_running(event) && !*out_was_slow) {
        *out_was_slow = clpi_now() > end;
        sched_yield();
    }
    return clWaitForEvents(1, &event);
}

void clpi_cl_awaited(clpi_cl_device *dev, double seconds, bool was_slow)
{
    if (was_slow && seconds <= SHORT_S)
        atomic_store(&dev->n_asleep, ASLEEP);
}
