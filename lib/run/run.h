/* run: the public objects from inside, and what the files of this folder share.
 *
 *     context   a device of a backend, the allocator, the errors
 *     kernel    IR, plan and the code that the device's backend made of them. One with parameters left open is a kernel with
 *               their defaults, and has choices: others of the same text, for shapes that do better with other values
 *     event     one launch: its numbers, its memory, and what it ran into                                               */
#ifndef CLPI_RUN_H
#define CLPI_RUN_H

#include <pthread.h>

#include "run/backend.h"

/* Peaks that this context has looked up or measured already (peaks.c). */
enum { CLPI_MAX_PEAKS = 48 };
typedef struct clpi_peaks {
    pthread_mutex_t lock;
    struct { char name[24]; double value; } known[CLPI_MAX_PEAKS];
    int n;
} clpi_peaks;

struct clp_context {
    clpi_env            env;          /* first: a context is an env */
    clpi_host           host;
    const clpi_backend *backend;
    void               *dev;
    clpi_limits         limits;
    clp_schedule        schedule;
    bool                is_checked;
    bool                text_only;    /* kernels have no exe */
    clpi_peaks          peaks;
    _Atomic uint64_t    n_buffers;    /* that it has had */
    bool                uses_tuned;   /* parameters left open are first looked for among those found by clp_tune */
    pthread_mutex_t     idle_lock;    /* of what follows */
    clp_event          *idle;         /* events that were freed, for later launches: event.c */
    int                 n_idle;
    clpi_arena          near;         /* its spare: memory that a launch has just left, for the next; or NULL */
};

struct clp_buffer {
    clp_context *ctx;
    void        *mem;
    size_t       n_bytes;
    uint64_t     serial;              /* of the context's; from 1 on: that of a buffer that is gone is no other's */
};

typedef struct clpi_script clpi_script;      /* kernel.c */
typedef struct clpi_choices clpi_choices;    /* choose.c */

/* A launch on buffers that was worked out: what others like it are given to the backend with. */
typedef struct clpi_known {
    clp_kernel *kernel;               /* that runs: the one that keeps this, or a choice of it */
    clpi_bound *bound;
    clpi_place *places;
    uint64_t   *serials;              /* [kernel->n_operands] of the buffers; scalars: 0 */
    clpi_arena  arena;                /* of these */
    atomic_int  n_users;              /* launches that are being started with it */
} clpi_known;

enum { CLPI_MAX_KNOWN = 4 };
typedef struct clpi_again {
    pthread_mutex_t lock;
    clpi_known known[CLPI_MAX_KNOWN];
    int        n, next;               /* in use; the one to be replaced next */
} clpi_again;

struct clp_kernel {
    clp_context *ctx;
    clpi_script *script;              /* the text it is from; IR and plan refer to it. NULL: from no text */
    clpi_arena   arena;               /* IR, plan */
    clpi_ir     *ir;
    clpi_plan   *plan;
    void *_Atomic exe;                /* NULL: not compiled yet (clpi_kernel_ready); never another once it is there */
    pthread_mutex_t building;         /* held by the thread that compiles it, where it is not there from the start */
    int         *operands;            /* [n_operands] those that clp_run takes: numbers of IR operands */
    int          n_operands;
    clpi_choices *choices;            /* NULL: nothing is left open */
    clpi_again   again;
    atomic_int   n_users;             /* who made it, and each event of a launch of it: the last one frees it */
};

/* Memory that a launch gives to its operands. Those that overlap share a piece, if their elements are of one size.
 *     data      start ................................. start + n_bytes      of the caller
 *     mem       0 ..................................... n_bytes              of the device: the same bytes, or a copy    */
typedef struct clpi_piece {
    uintptr_t start;
    size_t    n_bytes;
    bool      is_written, is_copy;
    void     *mem;                    /* NULL: not made */
} clpi_piece;

struct clp_event {
    clp_context *ctx;
    clp_kernel  *kernel;              /* NULL when adopted; once bound: the one that runs, which may be a choice of the given one */
    bool         holds_kernel;        /* which has started, and may be freed before its event is */
    clp_choice   choice;              /* once bound: what it stands for */
    clpi_arena   arena;
    clp_array   *arrays;              /* [kernel->n_operands] with scalars on the host */
    clpi_bound  *bound;
    clpi_place  *places;              /* [ir->n_operands] */
    clpi_piece  *pieces;
    int          n_pieces;
    clp_event   *next;                /* idle ones: the list of their context */
    void        *launched;            /* the backend's event; NULL: nothing ran */
    pthread_mutex_t lock;             /* of what follows */
    bool         is_done;
    clp_status   status;
    const char  *text;                /* of the failure */
    double       seconds;
};

/* ---- context.c ---- */
/* The devices there are: calls fn with each, in the order "auto" tries them. */
clp_status clpi_devices(clpi_env *env, clp_device_fn fn, void *user);

/* A context of the same device as if it had been made without options, for what the library runs for itself; its errors are
 * its own, but what the device fails with is ctx's. It ends before ctx.                                                  */
void clpi_context_plain(clp_context *ctx, clp_context *out_plain);
void clpi_context_plain_done(clp_context *plain);

/* ---- kernel.c ---- */
/* source: kept by the caller until the call returns. */
clp_status clpi_kernel_from_source(clp_context *ctx, const clpi_source *source, const char *name, const char *params,
                                   clp_kernel **out_kernel);

clp_status clpi_kernel_from_member(clp_context *ctx, const clpi_ir *member, const bool *batched, clp_kernel **out_kernel);

/* A kernel with other parameters, of the same text; nothing in it is left open. Up to its plan: the code is made by
 * clpi_kernel_ready. is_trial: one to be looked at and thrown away, of which nobody hears.                              */
clp_status clpi_kernel_variant(const clp_kernel *of, const char *params, bool is_trial, clp_kernel **out_kernel);
/* Compiles what is not compiled yet; from several threads, once. ARG where the context makes texts only. */
clp_status clpi_kernel_ready(clp_kernel *kernel);

/* ---- choose.c; choose.h has the rest ---- */
/* The kernel for a launch, and the parameters that it stands for: kernel itself where nothing is open, for a box of the grid,
 * and for arrays that do not fit it. It lives as long as kernel does. opts have been checked.                           */
clp_status clpi_kernel_choose(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *opts, clp_kernel **out_kernel,
                       clp_choice *out_choice);
clp_choice clpi_choice_default(const clp_kernel *kernel);

/* ---- array.c ---- */
/* Checks the arrays by themselves and copies them into event->arrays, scalars of buffers with their value on the host. */
clp_status clpi_arrays_take(clp_event *event, const clp_array *arrays, int n_arrays);
clp_status clpi_arrays_check_buffers(const clp_event *event);      /* after binding: they lie inside their buffers */

/* ---- launch.c ---- */
/* Checks options and arrays, chooses the kernel and binds: event->kernel, event->arrays, event->bound. is_checked: as of
 * clpi_launch_args.                                                                                                     */
clp_status clpi_launch_bind(clp_event *event, const clp_array *arrays, int n_arrays, const clp_run_opts *opts, bool is_checked,
                            clpi_launch_args *out_args);

/* Fails where a bound launch has no program: there is nothing to be measured then. */
clp_status clpi_launch_runs(const clp_event *event);

/* The kernel that a launch on these arrays runs. Fails as the launch would. opts NULL: the defaults. */
clp_status clpi_kernel_for(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *opts, bool is_checked,
                           clp_kernel **out_kernel, clp_choice *out_choice);

/* n_runs > 0 launches, each waited for, and one before them that does not count: caches and lazy allocations. */
clp_status clpi_time_launches(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *opts, int n_runs,
                              double *out_min, double *out_median);

/* ---- again.c ---- */
/* What an earlier launch of the kernel on arrays like these was bound to. NULL: there was none, or it is not known any more. To be left. */
clpi_known *clpi_known_take(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *opts);
void        clpi_known_leave(clpi_known *known);
/* Keeps what a launch that has started was bound to, where that can be; with its memory, for which the event gets other. */
void        clpi_known_keep(clp_kernel *kernel, clp_event *event, const clp_run_opts *opts);
void        clpi_again_init(clpi_again *again, clpi_env *env);
void        clpi_again_done(clpi_again *again);

/* ---- memory.c ---- */
clp_status clpi_memory_make(clp_event *event);                     /* after binding: places, and the pieces behind them */
clp_status clpi_memory_read_back(const clp_event *event);          /* copies what was written to where it belongs */
void       clpi_memory_release(clp_event *event);

/* ---- peaks.c ---- */
/* What the device can do at best, measured when it is first asked for and then kept (base/store.h), for all processes. */
typedef enum clpi_peak_kind {
    CLPI_PEAK_OPS,                    /* operations a second of element-by-element arithmetic on dtype */
    CLPI_PEAK_DOT,                    /* of dots of operands of dtype */
    CLPI_PEAK_BYTES,                  /* bytes a second, read and written by a copy of so much data */
    CLPI_PEAK_LAUNCH                  /* seconds of a launch that does nothing, waited for */
} clpi_peak_kind;
/* n_bytes: of PEAK_BYTES; powers of two are measured. again: whatever is known. */
clp_status clpi_peak(clp_context *ctx, clpi_peak_kind kind, clp_dtype dtype, double n_bytes, bool again, double *out_value);

/* ---- event.c ---- */
clp_status clpi_event_new(clp_context *ctx, clp_kernel *kernel, clp_event **out_event);   /* kernel: NULL when adopted */
void       clpi_events_discard(clp_context *ctx);                     /* idle ones */
void       clpi_event_started(clp_event *event);                   /* keeps the kernel; gives back what the launch was worked out in, if it is not needed later */
void       clpi_event_settle(clp_event *event);                    /* waits; what it ran into stays in the event */

#endif
