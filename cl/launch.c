/* launch: runs of a built kernel.
 * In: a code's order of arguments (code.h), a bound launch and its places. Out: commands in the device's queue and an event.
 * OpenCL takes arguments over when a kernel is enqueued: an exe has one kernel object, under its lock, for all launches. What a
 * launch needs for itself (workspace; log; faults; numbers) is kept by its flight and used again by later launches, so that one of
 * them costs little more than the enqueuing itself.                                                                      */
#include <assert.h>
#include <string.h>

#include "cl/cl.h"

enum { MAX_WAITS = 16, MAX_BEFORE = 3 /* commands that make memory of the launch ready: log, cut, numbers */ };

struct clpi_cl_flight {
    clpi_cl_device *dev;
    clpi_cl_exe    *exe;             /* NULL: an event of the caller's */
    clpi_cl_flight *next;            /* idle ones: the list of their exe */
    bool            is_filled;
    int64_t        *numbers;         /* [n_numbers] */
    clpi_cl_mem    *numbers_mem;     /* unless they go by value */
    clpi_cl_mem    *workspace;       /* NULL: as those below where the code has none, or no launch has needed it */
    clpi_cl_mem    *log;
    clpi_cl_mem    *faults;
    clpi_cl_mem    *cut;
    const clpi_bound *bound;         /* of the launch, where it may have faults to report: until it is waited for */
    const clpi_place *places;
    clpi_cl_mem   **written;         /* wrapped memory that the launch writes */
    int             n_written;
    cl_event        event;           /* of the kernel; NULL when it is let go */
    bool            is_let_go;       /* nobody waits for it */
    bool            is_quiet, is_done;
    double          seconds;
};

/* ---- Flights ---- */

static clpi_env *env_of(const clpi_cl_exe *exe)
{
    return exe->dev->host.env;
}

static clp_status own_memory(const clpi_cl_flight *f, size_t n_bytes, clpi_cl_mem **out_mem)
{
    void *mem;
    CLP_TRY(clpi_cl_alloc(f->dev, n_bytes, &mem));
    *out_mem = mem;
    return CLP_OK;
}

/* Makes what is the same in all launches. What is made stays with the flight, and goes with the exe. */
static clp_status flight_fill(clpi_cl_flight *f)
{
    const clpi_code *code = f->exe->code;
    if (code->n_numbers > 0 && !code->numbers_by_value)
        CLP_TRY(own_memory(f, (size_t)code->n_numbers * sizeof *f->numbers, &f->numbers_mem));
    if (code->has_log)
        CLP_TRY(own_memory(f, CLPI_LOG_WORDS * sizeof(uint32_t), &f->log));
    if (code->has_cut)
        CLP_TRY(own_memory(f, sizeof(cl_uint), &f->cut));
    if (code->fault_words > 0)
        CLP_TRY(own_memory(f, (size_t)code->max_groups * (size_t)code->fault_words * sizeof(int64_t), &f->faults));
    f->is_filled = true;
    return CLP_OK;
}

static void flight_empty(clpi_cl_flight *f)
{
    clpi_cl_mem *mems[] = { f->numbers_mem, f->workspace, f->log, f->faults, f->cut };
    for (size_t i = 0; i < sizeof mems / sizeof *mems; i++)
        if (mems[i])
            clpi_cl_release(mems[i]);
    f->numbers_mem = f->workspace = f->log = f->faults = f->cut = NULL;
    f->is_filled = false;
}

/* The memory of a flight is the exe's; called under its lock. */
static clpi_cl_flight *flight_new(clpi_cl_exe *exe)
{
    clpi_cl_flight *f = CLPI_NEW(&exe->arena, clpi_cl_flight);
    if (!f)
        return NULL;
    *f = (clpi_cl_flight){ .dev = exe->dev, .exe = exe };
    f->numbers = CLPI_NEW_N(&exe->arena, int64_t, (size_t)exe->code->n_numbers + 1);
    f->written = CLPI_NEW_N(&exe->arena, clpi_cl_mem *, (size_t)exe->code->n_buffers + 1);
    return f->numbers && f->written ? f : NULL;
}

/* Called under the exe's lock, as flight_take is. */
static void flight_put(clpi_cl_flight *f)
{
    f->next = f->exe->idle;
    f->exe->idle = f;
}

static clp_status flight_take(clpi_cl_exe *exe, clpi_cl_flight **out_flight)
{
    clpi_cl_flight *f = exe->idle;
    if (f)
        exe->idle = f->next;
    else
        f = flight_new(exe);
    *out_flight = f;
    if (!f)
        return CLP_ERR_OOM;
    f->next = NULL;
    f->is_done = false;
    f->seconds = 0;
    f->n_written = 0;
    clp_status status = f->is_filled ? CLP_OK : flight_fill(f);
    if (status) {
        flight_empty(f);
        flight_put(f);
    }
    return status;
}

/* ---- Built kernels ---- */

/* Room for all arguments: memory and scalars are a word each, numbers by value several. */
static clp_status make_kernel(clpi_cl_exe *exe)
{
    const clpi_code *code = exe->code;
    const size_t n_words = (size_t)(code->n_buffers + code->n_scalars + code->n_numbers) + CLPI_MAX_OWN;
    cl_int result = CL_SUCCESS;
    exe->kernel.has = CLPI_NEW_N(&exe->arena, uint64_t, n_words);
    if (!exe->kernel.has)
        return CLP_ERR_OOM;
    exe->kernel.handle = clCreateKernel(exe->shared->program, code->kernel, &result);
    CLPI_CL_TRY(env_of(exe), "clCreateKernel", result);
    return CLP_OK;
}

clp_status clpi_cl_exe_new(const clpi_unit *unit, clpi_cl_shared *shared, clpi_code *code, clpi_cl_exe **out_exe)
{
    *out_exe = NULL;
    clpi_env *env = shared->dev->host.env;
    clpi_cl_exe *exe = clpi_alloc(env, 1, sizeof *exe);
    if (!exe)
        return CLP_ERR_OOM;
    *exe = (clpi_cl_exe){ .dev = shared->dev, .ir = unit->ir, .plan = unit->plan, .shared = shared, .code = code };
    atomic_fetch_add(&shared->n_users, 1);
    clpi_arena_init(&exe->arena, env);
    exe->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    clp_status status = make_kernel(exe);
    if (status)
        clpi_cl_discard(exe);
    else
        *out_exe = exe;
    return status;
}

void clpi_cl_discard(void *executable)
{
    clpi_cl_exe *exe = executable;
    clpi_env *env = env_of(exe);
    for (clpi_cl_flight *f = exe->idle; f; f = f->next)
        flight_empty(f);
    if (exe->kernel.handle)
        clReleaseKernel(exe->kernel.handle);
    clpi_cl_shared_drop(exe->shared);
    pthread_mutex_destroy(&exe->lock);
    clpi_arena_done(&exe->arena);
    clpi_free(env, exe, 1, sizeof *exe);
}

/* ---- Starting ---- */

static uint64_t groups_of(const clpi_code *code, uint64_t n_sequences)
{
    return n_sequences < code->max_groups ? n_sequences : code->max_groups;
}

/* What the kernel waits for, besides what its queue sees to. */
typedef struct waits {
    cl_event events[MAX_WAITS + MAX_BEFORE];    /* others' first, then those of commands that belong to the launch */
    cl_uint  n_others, n;
} waits;

static clp_status make_workspace(clpi_cl_flight *f, const clpi_launch *launch)
{
    const clpi_code *code = f->exe->code;
    const uint64_t groups = groups_of(code, launch->bound->n_sequences);
    if (code->workspace_bytes > SIZE_MAX / groups)
        return clpi_fail(env_of(f->exe), CLP_ERR_OOM, "the workspace of %llu groups is too large", (unsigned long long)groups);
    size_t n_bytes = (size_t)(code->workspace_bytes * groups);
    if (f->workspace && n_bytes <= f->workspace->n_bytes)
        return CLP_OK;
    if (f->workspace)
        clpi_cl_release(f->workspace);
    f->workspace = NULL;
    return own_memory(f, n_bytes, &f->workspace);
}

/* The event of a command that comes before the kernel: none in a queue that keeps order. */
static cl_event *before(const clpi_cl_flight *f, waits *w)
{
    if (f->dev->is_in_order)
        return NULL;
    w->events[w->n] = NULL; /* should the command fail: others' may have stood here */
    return &w->events[w->n++];
}

static clp_status fill_zeros(const clpi_cl_flight *f, const clpi_cl_mem *m, size_t n_words, cl_event *out_event)
{
    const cl_uint zero = 0;
    CLPI_CL_TRY(env_of(f->exe), "clEnqueueFillBuffer",
                clEnqueueFillBuffer(f->dev->queue, m->mem, &zero, sizeof zero, 0, n_words * sizeof zero, 0, NULL, out_event));
    return CLP_OK;
}

/* src stays as it is until the launch is waited for. */
static clp_status write_own(const clpi_cl_flight *f, const clpi_cl_mem *m, const void *src, size_t n_bytes, const cl_event *after, cl_event *out_event)
{
    CLPI_CL_TRY(env_of(f->exe), "clEnqueueWriteBuffer",
                clEnqueueWriteBuffer(f->dev->queue, m->mem, CL_FALSE, 0, n_bytes, src, after ? 1 : 0, after, out_event));
    return CLP_OK;
}

/* The log starts as zeros behind its two words. */
static clp_status clear_log(const clpi_cl_flight *f, waits *w)
{
    static const cl_uint head[2] = { 2, CLPI_LOG_WORDS };
    cl_event filled = NULL;
    CLP_TRY(fill_zeros(f, f->log, CLPI_LOG_WORDS, f->dev->is_in_order ? NULL : &filled));
    clp_status status = write_own(f, f->log, head, sizeof head, filled ? &filled : NULL, before(f, w));
    if (filled)
        clReleaseEvent(filled);
    return status;
}

/* The events of other launches: in a queue that keeps order, the caller's own alone. */
static clp_status wait_for_others(const clpi_cl_flight *f, const clpi_launch *launch, waits *w)
{
    for (int i = 0; i < launch->n_wait_for; i++) {
        clpi_cl_flight *other = launch->wait_for[i];
        if (f->dev->is_in_order && other->exe)
            continue;
        if (w->n == MAX_WAITS) { /* more than a list is wanted for: wait here */
            CLPI_CL_TRY(env_of(f->exe), "clWaitForEvents", clWaitForEvents(w->n, w->events));
            w->n = 0;
        }
        w->events[w->n++] = other->event;
        w->n_others = w->n;
    }
    return CLP_OK;
}

/* In a queue that keeps order, what a launch has used serves the next one as soon as both are enqueued, where the host has nothing to do
 * between them. OpenCL keeps the kernel and the memory of what is enqueued alive. PoCL, 1000 empty launches: 1.76 ms in place of 1.90
 * (medians; by hand 1.46, and 1.68 in a queue that keeps times with numbers for an argument).                                 */
static bool can_let_go(const clpi_cl_flight *f)
{
    return f->dev->is_in_order && f->n_written == 0 && !f->numbers_mem && !f->log && !f->faults && !f->cut;
}

static void note(clpi_cl_flight *f, const clpi_launch *launch)
{
    const clpi_code *code = f->exe->code;
    f->bound = code->fault_words ? launch->bound : NULL;
    f->places = code->fault_words ? launch->places : NULL;
    f->is_quiet = launch->is_quiet;
    for (int i = 0; i < code->n_buffers; i++) {
        clpi_cl_mem *m = launch->places[code->buffers[i]].mem;
        if (m->is_wrapped && f->exe->plan->is_written[code->buffers[i]])
            f->written[f->n_written++] = m;
    }
    f->is_let_go = launch->is_let_go && can_let_go(f);
    clpi_cl_numbers(f->exe, launch, f->numbers);
}

static clp_status prepare(clpi_cl_flight *f, const clpi_launch *launch, waits *w)
{
    const clpi_code *code = f->exe->code;
    if (code->workspace_bytes > 0)
        CLP_TRY(make_workspace(f, launch));
    if (f->log)
        CLP_TRY(clear_log(f, w));
    if (f->cut)
        CLP_TRY(fill_zeros(f, f->cut, 1, before(f, w)));
    if (f->numbers_mem)
        CLP_TRY(write_own(f, f->numbers_mem, f->numbers, (size_t)code->n_numbers * sizeof *f->numbers, NULL, before(f, w)));
    return CLP_OK;
}

static clp_status enqueue(clpi_cl_flight *f, const clpi_launch *launch, const waits *w)
{
    const clpi_code *code = f->exe->code;
    clpi_env *env = env_of(f->exe);
    const clpi_cl_mem *own[CLPI_MAX_OWN] = { f->workspace, f->log, f->faults, f->cut };
    const size_t local = (size_t)code->group_size, global = local * (size_t)groups_of(code, launch->bound->n_sequences);
    CLP_TRY(clpi_cl_set_arguments(f->exe, launch, own, f->numbers, f->numbers_mem));
    CLPI_CL_TRY(env, "clEnqueueNDRangeKernel",
                clEnqueueNDRangeKernel(f->dev->queue, f->exe->kernel.handle, 1, NULL, &global, &local, w->n, w->n ? w->events : NULL,
                                       f->is_let_go ? NULL : &f->event));
    if (!f->is_let_go)
        CLPI_CL_TRY(env, "clFlush", clFlush(f->dev->queue));
    return CLP_OK;
}

static void release_event(clpi_cl_flight *f)
{
    if (f->event)
        clReleaseEvent(f->event);
    f->event = NULL;
}

/* Called under the exe's lock. out_flight: NULL when it is let go. */
static clp_status start(clpi_cl_exe *exe, const clpi_launch *launch, clpi_cl_flight **out_flight)
{
    clpi_cl_flight *f;
    waits w = { .n = 0 };
    CLP_TRY(flight_take(exe, &f));
    note(f, launch);
    clp_status status = wait_for_others(f, launch, &w);
    if (!status)
        status = prepare(f, launch, &w);
    if (!status)
        status = enqueue(f, launch, &w);
    for (cl_uint i = w.n_others; i < w.n; i++)
        if (w.events[i])
            clReleaseEvent(w.events[i]);
    if (status) {
        clFinish(exe->dev->queue); /* part of it may run, on what is given back now */
        release_event(f);
    }
    if (status || f->is_let_go)
        flight_put(f);
    else
        *out_flight = f;
    return status;
}

clp_status clpi_cl_launch(void *executable, const clpi_launch *launch, void **out_event)
{
    clpi_cl_exe *exe = executable;
    *out_event = NULL;
    if (launch->order != CLP_ORDER_FORWARD)
        return clpi_fail(env_of(exe), CLP_ERR_UNSUPPORTED, "order: an OpenCL device runs programs in an order of its own; "
                         "the interpreter has reverse and shuffle");
    if (launch->watch)
        return clpi_fail(env_of(exe), CLP_ERR_UNSUPPORTED, "watch: an OpenCL device tells nothing as it runs; the interpreter does");
    clpi_cl_flight *f = NULL;
    pthread_mutex_lock(&exe->lock);
    clp_status status = start(exe, launch, &f);
    pthread_mutex_unlock(&exe->lock);
    if (f)
        atomic_fetch_add(&exe->dev->n_in_flight, 1);
    else if (!status)
        atomic_store(&exe->dev->has_let_go, true);
    *out_event = f;
    return status;
}

/* ---- Events ---- */

static void land(clpi_cl_flight *f)
{
    f->is_done = true;
    if (f->exe)
        atomic_fetch_sub(&f->dev->n_in_flight, 1);
    atomic_store(&f->dev->has_let_go, false);
}

static double seconds_between(const clpi_cl_flight *f)
{
    cl_ulong start = 0, end = 0;
    if (!f->dev->has_times ||
        clGetEventProfilingInfo(f->event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL) != CL_SUCCESS ||
        clGetEventProfilingInfo(f->event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) != CL_SUCCESS || end < start)
        return 0;
    return (double)(end - start) * 1e-9;
}

static clp_status print_log(clpi_cl_flight *f)
{
    clpi_env *env = env_of(f->exe);
    uint32_t *words = clpi_alloc(env, CLPI_LOG_WORDS, sizeof *words);
    if (!words)
        return CLP_ERR_OOM;
    cl_int code = clEnqueueReadBuffer(f->dev->queue, f->log->mem, CL_TRUE, 0, CLPI_LOG_WORDS * sizeof *words, words, 0, NULL, NULL);
    clp_status status = code == CL_SUCCESS ? clpi_cl_print_log(f->exe, words, CLPI_LOG_WORDS)
                                           : clpi_cl_fail(env, "clEnqueueReadBuffer", code);
    clpi_free(env, words, CLPI_LOG_WORDS, sizeof *words);
    return status;
}

/* What came of a launch whose loops were left too soon is nothing that the kernel says. */
static clp_status report_cut(clpi_cl_flight *f)
{
    clpi_env *env = env_of(f->exe);
    cl_uint is_cut = 0;
    CLPI_CL_TRY(env, "clEnqueueReadBuffer",
                clEnqueueReadBuffer(f->dev->queue, f->cut->mem, CL_TRUE, 0, sizeof is_cut, &is_cut, 0, NULL, NULL));
    if (!is_cut)
        return CLP_OK;
    return clpi_fail(env, CLP_ERR_UNSUPPORTED, "%s: this device leaves all loops once a work-item has gone round them %u times in all, "
                     "and a sequence of programs needs more here: smaller blocks, or fewer programs along arbitrary axes, may fit",
                     f->exe->ir->name, (unsigned)f->dev->limits.loop_rounds);
}

static clp_status report_faults(clpi_cl_flight *f)
{
    clpi_env *env = env_of(f->exe);
    uint64_t n_groups = groups_of(f->exe->code, f->bound->n_sequences);
    size_t n_words = (size_t)n_groups * (size_t)f->exe->code->fault_words;
    int64_t *words = clpi_alloc(env, n_words, sizeof *words);
    if (!words)
        return CLP_ERR_OOM;
    cl_int code = clEnqueueReadBuffer(f->dev->queue, f->faults->mem, CL_TRUE, 0, n_words * sizeof *words, words, 0, NULL, NULL);
    clp_status status = code == CL_SUCCESS ? clpi_cl_report_faults(f->exe, f->bound, f->places, words, n_groups)
                                           : clpi_cl_fail(env, "clEnqueueReadBuffer", code);
    clpi_free(env, words, n_words, sizeof *words);
    return status;
}

clp_status clpi_cl_wait(void *event, double *out_seconds)
{
    clpi_cl_flight *f = event;
    clpi_env *env = f->dev->host.env;
    *out_seconds = f->seconds;
    if (f->is_done)
        return CLP_OK;
    bool was_slow;
    cl_int code = clpi_cl_await(f->dev, f->event, f->exe ? f->exe->last_s : 0, &was_slow), outcome = CL_COMPLETE;
    if (code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST &&
        clGetEventInfo(f->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof outcome, &outcome, NULL) == CL_SUCCESS && outcome < 0)
        code = outcome;
    land(f);
    CLPI_CL_TRY(env, "clWaitForEvents", code);
    *out_seconds = f->seconds = seconds_between(f);
    clpi_cl_awaited(f->dev, f->seconds, was_slow);
    if (f->exe)
        f->exe->last_s = f->seconds;
    for (int i = 0; i < f->n_written; i++)
        CLP_TRY(clpi_cl_show_host(f->written[i]));
    if (f->cut)
        CLP_TRY(report_cut(f));
    if (f->log && !f->is_quiet)
        CLP_TRY(print_log(f));
    return f->faults ? report_faults(f) : CLP_OK;
}

void clpi_cl_forget(void *event)
{
    clpi_cl_flight *f = event;
    if (!f->is_done) {
        clWaitForEvents(1, &f->event);
        land(f);
    }
    release_event(f);
    if (!f->exe) {
        clpi_free(f->dev->host.env, f, 1, sizeof *f);
        return;
    }
    pthread_mutex_t *lock = &f->exe->lock;
    pthread_mutex_lock(lock);
    flight_put(f);
    pthread_mutex_unlock(lock);
}

clp_status clpi_cl_event_adopt(clpi_cl_device *dev, cl_event event, void **out_event)
{
    *out_event = NULL;
    clpi_cl_flight *f = clpi_alloc(dev->host.env, 1, sizeof *f);
    if (!f)
        return CLP_ERR_OOM;
    cl_int code = clRetainEvent(event);
    if (code != CL_SUCCESS) {
        clpi_free(dev->host.env, f, 1, sizeof *f);
        return clpi_cl_fail(dev->host.env, "clRetainEvent", code);
    }
    *f = (clpi_cl_flight){ .dev = dev, .event = event };
    *out_event = f;
    return CLP_OK;
}

cl_event clpi_cl_event_handle(void *event)
{
    return ((clpi_cl_flight *)event)->event;
}

const clpi_cl_exe *clpi_cl_event_exe(const void *event, const int64_t **out_numbers)
{
    const clpi_cl_flight *f = event;
    *out_numbers = f->numbers;
    return f->exe;
}
