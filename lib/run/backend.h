/* backend: what runs kernels. The whole contract of a port is on this page; interp is the simplest honest one.
 *
 * lib/run checks arguments, binds the plan and owns threads and lifetimes; a backend trusts what it is given and may
 * assert. No slot is optional: what varies is data (clpi_limits) or an answer (UNSUPPORTED with the reason).
 * Slots may be called from several threads at once; one exe may have several launches in flight.                       */
#ifndef CLPI_BACKEND_H
#define CLPI_BACKEND_H

#include "plan/plan.h"

/* Instructions of a CPU device that inline assembly of its OpenCL C reaches (a probe has run). */
enum {
    CLPI_INSN_AVX512_BF16  = 1,        /* vdpbf16ps: pairs of bf16 into f32 */
    CLPI_INSN_AVX512_VNNI  = 2,        /* vpdpbusd: quads of u8 by i8 into i32 */
    CLPI_INSN_AMX_BF16     = 4,        /* tdpbf16ps: tiles of pairs of bf16 into f32 */
    CLPI_INSN_AMX_INT8     = 8,        /* tdpbssd and its like: tiles of quads of bytes, each side signed or not, into i32 */
    CLPI_INSN_AVX512_SCALE = 16        /* vscalefps: f32 times a power of two, rounded once */
};

/* Facts about a device, plain data. The text of a kernel is a function of IR, plan, these and the schedule alone. */
typedef struct clpi_limits {
    bool     is_cpu;
    bool     shares_host_memory;    /* wrap gives the caller's memory to the device without a copy */
    bool     has_fp64;
    bool     has_int64_atomics;
    bool     has_correct_divide;    /* f32 / and sqrt are correctly rounded, by the build option if need be */
    bool     loses_barriers;        /* its optimiser drops statements around barriers (PoCL's loops over work-items do, where
                                       guards on both sides of a barrier look at one work-item id): simt is built unoptimised */
    bool     dissolves_vectors;     /* its compiler makes vectors of neighbouring work-items and takes those of the text apart, lane by
                                       lane (Mesa's): such a CPU is better off with simt, and builds it many times faster */
    bool     takes_register_limit;  /* its compiler takes -cl-nv-maxrregcount (NVIDIA's), and spends more registers than pay without */
    uint32_t loop_rounds;           /* a work-item that has gone round its loops so often, all of them together, leaves every loop
                                       after one round from there on, without a word (llvmpipe's does); 0: no end */
    uint64_t local_bytes;           /* of one work-group */
    uint64_t private_bytes;         /* a work-item may spend on its own arrays */
    uint64_t group_size;            /* work-items in a group, at most */
    uint32_t compute_units;
    uint32_t vector_bytes;          /* of the widest native vector: 16, 32, 64 */
    uint64_t l1_bytes, l2_bytes;    /* data caches of one unit */
    uint64_t last_bytes;            /* a CPU's last cache, which units share; 0: not known */
    uint32_t insns;                 /* CLPI_INSN_ that it has */
} clpi_limits;

/* What a backend may call in the context it serves. */
typedef struct clpi_host {
    clpi_env    *env;
    clp_print_fn print;   void *print_user;       /* NULL: dropped */
    clp_dump_fn  dump;    void *dump_user;        /* NULL: nothing is dumped */
} clpi_host;

/* What is compiled: a kernel. */
typedef struct clpi_unit { const clpi_ir *ir; const clpi_plan *plan; } clpi_unit;

/* The memory of one operand in a launch: mem as alloc or wrap gave it. Element 0 stands bound->operands[i].offset
 * elements behind byte `at`.                                                                                           */
typedef struct clpi_place { void *mem; size_t at; } clpi_place;

/* ---- Watching ----
 * What a launch tells, as it goes, to one who looks for faults (lib/check). The interpreter serves it; other backends answer
 * UNSUPPORTED. All calls come from the launching thread, programs one after another. A slot may be NULL.                */
typedef enum clpi_touch_kind { CLPI_TOUCH_READ, CLPI_TOUCH_WRITE, CLPI_TOUCH_ATOMIC } clpi_touch_kind;

/* Of a load, store or atomic. */
static inline clpi_touch_kind clpi_touch_kind_of(const clpi_op *access)
{
    const unsigned flags = clpi_ops[access->kind].flags;
    return !(flags & CLP_WRITE) ? CLPI_TOUCH_READ : flags & CLP_READ ? CLPI_TOUCH_ATOMIC : CLPI_TOUCH_WRITE;
}

/* Two sequences may both read an element, or both update it atomically; all else is a race. */
static inline bool clpi_touches_race(clpi_touch_kind a, clpi_touch_kind b)
{
    return a == CLPI_TOUCH_WRITE || b == CLPI_TOUCH_WRITE || a != b;
}

/* Elements that an access of the current program touches: they exist, and no mask hides them. */
typedef struct clpi_touch {
    clpi_touch_kind kind;
    uint32_t        op;               /* a load, store or atomic; an op of the header when an index map reads */
    int             operand;
    int64_t         at, step, n;      /* elements: the first counted from the operand's place (scratch: its start) */
} clpi_touch;

typedef enum clpi_fault_kind {
    CLPI_FAULT_INDEX,                 /* op: the access; index: of one lane, as many as it has subscripts */
    CLPI_FAULT_BLOCK,                 /* operand: its block lies outside; op 0; pos: of its map */
    CLPI_FAULT_ASSERT                 /* op: the assert */
} clpi_fault_kind;

typedef struct clpi_fault {
    clpi_fault_kind kind;
    uint32_t        op;
    int             operand;          /* -1: none */
    const int64_t  *index;
    clpi_pos        pos;
    const char     *text;             /* what the failure of an ordinary run says; NULL: there was no memory for it */
} clpi_fault;

/* The elements of a value in the run, held form, dense. */
typedef const void *clpi_value_fn(const void *run, clp_val v);

typedef struct clpi_watch {
    void *user;
    void (*enter)(void *user, uint64_t sequence, uint64_t step, const int64_t *program);
    void (*touch)(void *user, const clpi_touch *touch);      /* before memory changes */
    void (*wrote)(void *user, const clpi_touch *touch);      /* after a plain write: the touch before it, done */
    /* An op of the body was evaluated; those that hold for the whole launch are told of in its first program. value is for what
     * op takes or makes; of an op with regions: what it makes. */
    void (*step) (void *user, uint32_t op, clpi_value_fn *value, const void *run);
    /* The same of a pure op, before anything else sees what it made: its elements, held form, dense, which may be changed. */
    void (*alter)(void *user, uint32_t op, void *elems, clpi_value_fn *value, const void *run);
    bool (*fault)(void *user, const clpi_fault *fault);      /* true: go on as a device would; NULL: the run fails */
    bool (*stops)(void *user);        /* asked when a program is entered, and at each turn of a loop: true ends the run, without a failure */
} clpi_watch;

typedef struct clpi_launch {
    const clpi_bound *bound;        /* alive until the event is waited for where the code is checked, else until the launch has started */
    const clpi_place *places;       /* [n_operands]; scratch and scalars: NULL; alive likewise */
    clp_order         order;
    uint64_t          seed;
    const clpi_watch *watch;        /* NULL: nobody watches, and it costs nothing */
    bool              is_quiet;     /* what the kernel prints is dropped */
    bool              is_let_go;    /* nobody waits for it: where nothing is left to do when it is done, there need be no event */
    void *const      *wait_for;     /* events of this backend */
    int               n_wait_for;
} clpi_launch;

typedef struct clpi_backend {
    const char *name;                                                       /* "cl", "interp" */
    /* Calls fn for each device; where there is none, once for the backend's name, with the reason. */
    clp_status (*list)    (clpi_env *env, clp_device_fn fn, void *user);
    /* which: what stands behind "cl:" in the device's name, NULL for the first. */
    clp_status (*open)    (const clpi_host *host, const char *which, void **out_dev);
    void       (*close)   (void *dev);
    const char *(*describe)(void *dev);                                     /* one line */
    /* What kept things of a device depend on: its names and versions, and that of clpallas. */
    void       (*identify)(void *dev, clpi_str *out);
    void       (*limits)  (void *dev, clpi_limits *out_limits);
    /* Kernels at once, which may share what a device builds; all of them, or none. What units points to stays alive as long as
     * the exes. is_checked: a launch finds what the interpreter finds (indices and blocks outside, asserts) and fails as it does;
     * the interpreter always does. out_exes NULL: only says whether it could, without the device's own compiler. */
    clp_status (*compile) (void *dev, const clpi_unit *units, int n_units, clp_schedule schedule, bool is_checked, void **out_exes);
    void       (*discard) (void *exe);
    /* Starts a launch with n_sequences > 0. The event is owned by the caller: wait, then forget. NULL: it was let go. */
    clp_status (*launch)  (void *exe, const clpi_launch *launch, void **out_event);
    clp_status (*wait)    (void *event, double *out_seconds);               /* reports what the launch ran into; device time, 0 if unknown */
    void       (*forget)  (void *event);                                    /* waits if need be */
    clp_status (*alloc)   (void *dev, size_t n_bytes, void **out_mem);
    clp_status (*wrap)    (void *dev, void *data, size_t n_bytes, void **out_mem);   /* devices that share the host's memory; others: UNSUPPORTED */
    void       (*release) (void *mem);
    clp_status (*write)   (void *mem, size_t at, const void *src, size_t n_bytes);   /* these two wait */
    clp_status (*read)    (void *mem, size_t at, void *dst, size_t n_bytes);
} clpi_backend;

/* For a backend whose callers hand over objects of their own (clpallas_cl.h): the public objects made around what the
 * backend made of those, and looked into. On failure what was to be adopted stays the caller's.                       */
typedef clp_status (*clpi_open_fn)(const clpi_host *host, const void *user, void **out_dev);
clp_status clpi_context_adopt(const clp_context_opts *opts, const clpi_backend *backend, clpi_open_fn open, const void *user,
                              clp_context **out_ctx);                      /* opts->device is not looked at */
clp_status clpi_buffer_adopt(clp_context *ctx, void *mem, size_t n_bytes, clp_buffer **out_buffer);
clp_status clpi_event_adopt(clp_context *ctx, void *event, clp_event **out_event);
clpi_env  *clpi_context_env(clp_context *ctx);
void      *clpi_context_dev(const clp_context *ctx, const clpi_backend *backend);    /* NULL: the context is of another backend */
void      *clpi_buffer_mem(const clp_buffer *buffer, const clpi_backend *backend);   /* likewise */
void      *clpi_event_launched(const clp_event *event, const clpi_backend *backend); /* likewise; NULL too when nothing ran */

extern const clpi_backend *const clpi_backends[];    /* in the order "auto" tries them; ends with NULL (lib/run/backends.c) */
extern const clpi_backend clpi_cl_backend;           /* cl/cl.c */
extern const clpi_backend clpi_interp_backend;       /* interp/interp.c */

/* The stages behind the plan, as text (CLP_STAGE_NEST, CLP_STAGE_CL): pure functions, no device needed. cl/text.c */
clp_status clpi_cl_text(clpi_env *env, clp_stage stage, const clpi_ir *ir, const clpi_plan *plan, const clpi_limits *limits,
                        clp_schedule schedule, bool is_checked, clpi_str *out);
extern const clpi_limits clpi_cl_reference_limits;   /* a fixed device, for goldens and for emit without one */
/* Devices that code can be written for though they are not here: "cpu" (the reference), "gpu". NULL: there is no such name. */
const clpi_limits *clpi_cl_named_limits(const char *name);

/* The shape that a device's code has: what AUTO means there. */
static inline clp_schedule clpi_cl_realisation(clp_schedule schedule, const clpi_limits *limits)
{
    if (schedule != CLP_SCHEDULE_AUTO)
        return schedule;
    return limits->is_cpu && !limits->dissolves_vectors ? CLP_SCHEDULE_VECTOR : CLP_SCHEDULE_SIMT;
}

#endif
