/* cl: what the device-facing half of cl shares: a device, memory on it, a built kernel, a launch in flight.
 *
 *     device.c    finding, opening and describing devices; their limits
 *     cores.c     their threads and the cores of this host
 *     memory.c    memory on them
 *     program.c   texts into programs
 *     insns.c     instructions of a CPU device
 *     launch.c    launches and their events
 *     argument.c  what their kernels are called with
 *     print.c     what a launch printed
 *     fault.c     what a checked launch found
 *     adopt.c     the caller's own OpenCL objects (clpallas_cl.h)
 *     cl.c        the backend's table
 *
 * Only these include <CL/cl.h>, and only these know more of a kernel than its code (code.h).                           */
#ifndef CLPI_CL_H
#define CLPI_CL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/store.h"
#include "cl/code.h"

typedef struct clpi_cl_device {
    clpi_host        host;
    cl_device_id     id;
    cl_context       context;
    cl_command_queue queue;        /* in order unless adopted; profiling where it could be had; an adopted one may stand still */
    bool             has_times;    /* the queue profiles */
    bool             is_in_order;
    bool             compiles_for_binary;      /* it takes as long to ask for a program's binary as to build it: PoCL */
    bool             wakes_slowly; /* threads that wait for it sleep, and so do its own: PoCL on a CPU */
    atomic_int       n_in_flight;  /* launches that nobody has waited for */
    atomic_bool      has_let_go;   /* since a launch was last waited for, some were started without an event */
    atomic_int       n_asleep;     /* launches to come that are waited for asleep in any case: await.c */
    clpi_limits      limits;
    clpi_store       store;        /* of built programs */
    _Atomic uint64_t n_mems;       /* pieces of memory that it has had */
    char             text[256];    /* "cl:0 pthread-skylake (Portable Computing Language)" */
} clpi_cl_device;

/* Memory of a device: a buffer, or the host's memory as one. */
typedef struct clpi_cl_mem {
    clpi_cl_device *dev;
    cl_mem          mem;
    size_t          n_bytes;
    uint64_t        serial;        /* of the device's; from 1 on */
    bool            is_wrapped;    /* the host's memory: mapped once after each launch that wrote it */
} clpi_cl_mem;

/* A launch in flight, which is also its event. Idle ones wait in their exe for the next launch and keep what they own. */
typedef struct clpi_cl_flight clpi_cl_flight;

/* A built text with the codes of its kernels; their exes share it. */
typedef struct clpi_cl_shared {
    clpi_cl_device *dev;
    clpi_arena      arena;         /* of the codes */
    cl_program      program;
    const char     *text, *options;    /* what it has yet to be kept under in the store; NULL: it has not */
    atomic_int      n_users;       /* the last one frees it */
} clpi_cl_shared;

/* A kernel object, and the arguments that it has. */
typedef struct clpi_cl_kernel {
    cl_kernel handle;
    cl_uint   n_set;               /* arguments that have been set, from the first on */
    uint64_t *has;                 /* what tells their values apart: serials of memory, bits of numbers */
} clpi_cl_kernel;

typedef struct clpi_cl_exe {
    clpi_cl_device  *dev;
    const clpi_ir   *ir;
    const clpi_plan *plan;
    clpi_cl_shared  *shared;
    clpi_code       *code;
    pthread_mutex_t  lock;         /* of what follows */
    clpi_arena       arena;        /* of kernel and flights */
    clpi_cl_kernel   kernel;
    clpi_cl_flight  *idle;
    _Atomic double   last_s;       /* seconds on the device of the last launch that was waited for; 0: not known */
} clpi_cl_exe;

/* ---- device.c ---- */
/* Reports a failed call as "clName: CL_CODE (-5)"; out of memory has its own status. */
clp_status  clpi_cl_fail(clpi_env *env, const char *call, cl_int code);
#define CLPI_CL_TRY(env, call_name, expr)                                                                              \
    do {                                                                                                               \
        cl_int clpi_cl_code_ = (expr);                                                                                 \
        if (clpi_cl_code_ != CL_SUCCESS)                                                                               \
            return clpi_cl_fail((env), (call_name), clpi_cl_code_);                                                    \
    } while (0)

clp_status  clpi_cl_list(clpi_env *env, clp_device_fn fn, void *user);
clp_status  clpi_cl_open(const clpi_host *host, const char *which, void **out_dev);
/* context, queue: the caller's, retained; NULL: made. */
clp_status  clpi_cl_open_on(const clpi_host *host, cl_device_id id, cl_context context, cl_command_queue queue, void **out_dev);
void        clpi_cl_close(void *dev);
const char *clpi_cl_describe(void *dev);
void        clpi_cl_limits(void *dev, clpi_limits *out_limits);

/* ---- await.c ---- */
/* clWaitForEvents of one event. last_s: seconds that such a launch took; 0: not known. out_was_slow: it took longer than a short one may. */
cl_int      clpi_cl_await(clpi_cl_device *dev, cl_event event, double last_s, bool *out_was_slow);
void        clpi_cl_awaited(clpi_cl_device *dev, double seconds, bool was_slow);     /* what came of it: seconds on the device */

/* ---- memory.c ---- */
clp_status  clpi_cl_alloc(void *dev, size_t n_bytes, void **out_mem);
clp_status  clpi_cl_wrap(void *dev, void *data, size_t n_bytes, void **out_mem);
clp_status  clpi_cl_adopt_mem(clpi_cl_device *dev, cl_mem mem, void **out_mem);    /* retained until release */
void        clpi_cl_release(void *mem);
clp_status  clpi_cl_write(void *mem, size_t at, const void *src, size_t n_bytes);
clp_status  clpi_cl_read(void *mem, size_t at, void *dst, size_t n_bytes);
clp_status  clpi_cl_show_host(clpi_cl_mem *mem);     /* what the device wrote into wrapped memory, made visible to the host */

/* ---- program.c ---- */
/* With an arena for the codes and no program yet; its first user is the caller. */
clp_status  clpi_cl_shared_new(clpi_cl_device *dev, clpi_cl_shared **out_shared);
void        clpi_cl_shared_drop(clpi_cl_shared *shared);     /* by each user once; NULL is none */
/* The program, out of the store or of the text, which is the arena's. what: the kernel's name, for messages. */
clp_status  clpi_cl_shared_build(clpi_cl_shared *shared, const char *what, const char *text, const char *options);
/* All that a program is built with: options and those of the environment among it. */
void        clpi_cl_put_options(const clpi_cl_device *dev, const char *options, clpi_str *out);
/* A program that nobody keeps. DEVICE: the compiler refuses the text. */
clp_status  clpi_cl_build(clpi_cl_device *dev, const char *what, const char *text, const char *options, cl_program *out_program);

/* "clpallas version|platform|its version|device|its version|driver": what stored things of a device depend on. */
void        clpi_cl_put_identity(const clpi_cl_device *dev, clpi_str *out);

/* ---- cores.c ---- */
void        clpi_cl_bind_cores(void);                    /* before the first call of OpenCL */

/* ---- insns.c ---- */
void        clpi_cl_find_insns(clpi_cl_device *dev);     /* sets limits.insns; the rest of the device is there */
/* Those that code of the device reaches; the CPU has them. out_is_certain: each has been tried. */
uint32_t    clpi_cl_probe_insns(clpi_cl_device *dev, uint32_t insns, bool *out_is_certain);

/* ---- launch.c ---- */
/* What unit points to stays alive as long as the exe, which becomes a user of shared. code: one of shared's, built. */
clp_status  clpi_cl_exe_new(const clpi_unit *unit, clpi_cl_shared *shared, clpi_code *code, clpi_cl_exe **out_exe);
void        clpi_cl_discard(void *exe);
clp_status  clpi_cl_launch(void *exe, const clpi_launch *launch, void **out_event);
clp_status  clpi_cl_wait(void *event, double *out_seconds);
void        clpi_cl_forget(void *event);
clp_status  clpi_cl_event_adopt(clpi_cl_device *dev, cl_event event, void **out_event);    /* retained until forgotten */
cl_event    clpi_cl_event_handle(void *event);       /* of the launch's kernel; borrowed */
/* What a launch was made of: its exe and the numbers that it handed over, both the event's. */
const clpi_cl_exe *clpi_cl_event_exe(const void *event, const int64_t **out_numbers);

/* ---- argument.c ---- */
void        clpi_cl_numbers(const clpi_cl_exe *exe, const clpi_launch *launch, int64_t *out_numbers);    /* [code->n_numbers] */
/* own: [CLPI_MAX_OWN], NULL where there is none. numbers_mem: NULL where numbers go by value. Under the exe's lock. */
clp_status  clpi_cl_set_arguments(clpi_cl_exe *exe, const clpi_launch *launch, const clpi_cl_mem *const *own, const int64_t *numbers,
                                  const clpi_cl_mem *numbers_mem);

/* ---- print.c ---- */
/* The lines of a launch's log, in order of sequence and step. */
clp_status  clpi_cl_print_log(const clpi_cl_exe *exe, const uint32_t *log, uint32_t n_words);

/* ---- fault.c ---- */
/* RUN with the words of the first fault, if there is one. faults: the records of n_groups groups. */
clp_status  clpi_cl_report_faults(const clpi_cl_exe *exe, const clpi_bound *bound, const clpi_place *places, const int64_t *faults,
                                  uint64_t n_groups);

#endif
