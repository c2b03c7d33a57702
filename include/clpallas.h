/* clpallas: block-level kernels for every OpenCL device, in C.
 *
 * A kernel is written once, as operations on blocks. A grid says how often it runs; block specs say which block of each
 * array each run (each program) sees. The same kernel runs on any OpenCL device and in a plain-C interpreter, which is
 * the definition of its meaning.
 *
 *     #include <clpallas.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         static const char text[] =
 *             "kernel scale<b = 256>(in x: f32[N] block [b] at (i), out o: f32[N] block [b] at (i), scalar s: f32)\n"
 *             "grid (i = cdiv(N, b)) { o[...] = s * x[...]; }\n";
 *         float x[1000], o[1000], s = 2.5f;
 *         for (int i = 0; i < 1000; i++) x[i] = (float)i;
 *
 *         clp_context *ctx = NULL;
 *         clp_kernel *k = NULL;
 *         clp_status st = clp_context_new(NULL, &ctx);
 *         if (!st) st = clp_kernel_from_text(ctx, text, "scale", "b=128", &k);
 *         if (!st) st = clp_run(k, (clp_array[]){
 *             { .dtype = CLP_F32, .rank = 1, .shape = (int64_t[]){ 1000 }, .data = x },
 *             { .dtype = CLP_F32, .rank = 1, .shape = (int64_t[]){ 1000 }, .data = o },
 *             { .dtype = CLP_F32, .data = &s } }, 3, NULL);
 *         if (st) fprintf(stderr, "%s: %s\n", clp_status_name(st), clp_last_error(ctx));
 *         else printf("o[999] = %g\n", o[999]);
 *         clp_kernel_free(k);
 *         clp_context_free(ctx);
 *         return st != CLP_OK;
 *     }
 *
 * Ownership. What a _new or _from_ function hands out through its last parameter is the caller's, and goes back through
 * the matching _free, which takes NULL too. What a function returns is borrowed. A kernel keeps its context alive only
 * in the sense that the context must be freed last.
 *
 * Errors. What can fail returns a clp_status and sets its outputs to NULL or 0 first; the text is in clp_last_error, one
 * line in the words of the kernel language (or several, each with its source line, for kernel text). A failed call
 * changes nothing else. All-zero option structs, or NULL, are the defaults.
 *
 * Threads. A context and its kernels and buffers may be used from several threads at once; one builder may not. Launches of
 * a context, and copies of its buffers, come one after another in the order of the calls, whatever threads they are from,
 * on the interpreter too; several contexts work side by side.                                                         */
#ifndef CLPALLAS_H
#define CLPALLAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define CLP_API
#elif defined(__GNUC__)
#define CLP_API __attribute__((visibility("default")))
#else
#define CLP_API
#endif

#if defined(__GNUC__)
#define CLP_MUST_CHECK __attribute__((warn_unused_result))
#define CLP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define CLP_MUST_CHECK
#define CLP_PRINTF(fmt, args)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version ----------------------------------------------------------------------------------------------------- */

#define CLP_VERSION_MAJOR 0
#define CLP_VERSION_MINOR 1
#define CLP_VERSION_PATCH 0

CLP_API const char *clp_version(void);                   /* of the library that runs: "0.1.0" */

/* ---- Status ------------------------------------------------------------------------------------------------------ */

#define CLP_STATUSES(X)                                                                                                \
    X(OK, 0)                                                                                                           \
    X(ERR_ARG, 1)         /* the caller's mistake: an array, a parameter, a name, a file that is not there */          \
    X(ERR_INVALID, 2)     /* the kernel is ill-formed */                                                               \
    X(ERR_UNSUPPORTED, 3) /* well-formed, but not on this device or in this build */                                   \
    X(ERR_OOM, 4)         /* out of memory, the host's or the device's */                                              \
    X(ERR_DEVICE, 5)      /* the OpenCL implementation failed; the message has its call and code */                    \
    X(ERR_RUN, 6)         /* the run found a fault of the kernel: index out of range, failed assert */                 \
    X(ERR_INTERNAL, 7)    /* a fault of clpallas */

typedef enum clp_status {
#define CLP_STATUS_ENUM(name, value) CLP_##name = value,
    CLP_STATUSES(CLP_STATUS_ENUM)
#undef CLP_STATUS_ENUM
} clp_status;

CLP_API const char *clp_status_name(clp_status status);  /* "CLP_ERR_ARG" */

/* ---- Element types ----------------------------------------------------------------------------------------------- */

/* CLP_DTYPES(X): X(NAME, name, bits). i4, u4: two elements a byte, low nibble first, contiguous arrays only; loading
 * gives i8, u8. f16, bf16: stored in 16 bits, computed in f32 and rounded after every operation. bool: one byte.     */
#define CLP_DTYPES(X)                                                                                                  \
    X(BOOL, bool, 8)                                                                                                   \
    X(I8, i8, 8) X(U8, u8, 8) X(I16, i16, 16) X(U16, u16, 16) X(I32, i32, 32) X(U32, u32, 32) X(I64, i64, 64)          \
    X(U64, u64, 64) X(F16, f16, 16) X(BF16, bf16, 16) X(F32, f32, 32) X(F64, f64, 64)                                  \
    X(I4, i4, 4) X(U4, u4, 4) X(F8E4M3, f8e4m3, 8) X(F8E5M2, f8e5m2, 8)

typedef enum clp_dtype {
    CLP_DTYPE_NONE,
#define CLP_DTYPE_ENUM(NAME, name, bits) CLP_##NAME,
    CLP_DTYPES(CLP_DTYPE_ENUM)
#undef CLP_DTYPE_ENUM
    CLP_N_DTYPES
} clp_dtype;

CLP_API const char *clp_dtype_name(clp_dtype dtype);     /* "f32"; "?" for no dtype */
CLP_API int         clp_dtype_bits(clp_dtype dtype);
CLP_API clp_dtype   clp_dtype_from_name(const char *name); /* CLP_DTYPE_NONE when there is none of that name */

/* ---- Contexts ---------------------------------------------------------------------------------------------------- */

typedef struct clp_context clp_context;

/* malloc, realloc and free in one: p NULL allocates, new_bytes 0 frees, NULL says out of memory (p stays valid).
 * Must be as thread-safe as the use made of the context.                                                              */
typedef void *(*clp_alloc_fn)(void *user, void *p, size_t old_bytes, size_t new_bytes);

/* A line of a kernel's `print`, without its newline. Called from the thread that runs or waits. */
typedef void (*clp_print_fn)(const char *line, void *user);

/* Text that a stage of the compiler produced, whole: stage is "ir", "plan", "nest", "schedule" or "cl"; or "log", all that
 * the device's compiler said when it failed, or "faults", the faults of a checked launch, of which an error holds one line,
 * or "tuned", a line of the file of tuned parameters that is of no use, and why.                                      */
typedef void (*clp_dump_fn)(const char *stage, const char *kernel, const char *text, void *user);

/* The shape of the OpenCL code. */
typedef enum clp_schedule {
    CLP_SCHEDULE_AUTO,     /* vector on CPU devices whose compilers keep vectors, simt on others */
    CLP_SCHEDULE_VECTOR,   /* one work-item runs a program with explicit vectors */
    CLP_SCHEDULE_SIMT      /* the work-items of a group share a program */
} clp_schedule;

typedef struct clp_context_opts {
    const char  *device;      /* NULL or "auto": the first OpenCL device, else the interpreter; "cl", "cl:1", "interp" */
    clp_schedule schedule;
    clp_alloc_fn alloc;       /* NULL: malloc and free */
    void        *alloc_user;
    clp_print_fn print;       /* NULL: lines of `print` are dropped */
    void        *print_user;
    clp_dump_fn  dump;        /* NULL: nothing is dumped */
    void        *dump_user;
    bool         checked;     /* the device's code checks every index, every block and every assert, at a cost; the first fault
                                 fails the launch as on the interpreter, which always checks */
    bool         text_only;   /* kernels are for clp_kernel_emit and batching alone: the device's compiler is not asked, so
                                 what only it refuses does not show, and running one fails with CLP_ERR_ARG */
    bool         tuned;       /* parameters that are left open are first looked for among those that clp_tune kept */
} clp_context_opts;

/* Before the first call of OpenCL in this process POCL_AFFINITY is set to 1 in the environment, unless it or POCL_MAX_PTHREAD_COUNT is set
 * or the process may not run on all cores: PoCL's threads then keep to a core each. No other thread should be reading the environment then.            */
CLP_API CLP_MUST_CHECK clp_status clp_context_new(const clp_context_opts *opts, clp_context **out_ctx);
CLP_API void clp_context_free(clp_context *ctx);         /* after all its kernels, buffers and events */

/* The text of this thread's last failure on ctx, valid until its next one and no longer than the thread; "" when there was
 * none. With ctx NULL, the text of this thread's last failed clp_context_new.                                        */
CLP_API const char *clp_last_error(const clp_context *ctx);

CLP_API const char *clp_context_device(const clp_context *ctx);  /* "cl:0 pthread-... (Portable Computing Language)" */

/* Calls fn once for each device that "device" of clp_context_opts can name here, "interp" last. usable is false where a
 * device cannot be used; detail then says why, and else describes it. Without any OpenCL device there is an unusable "cl". */
typedef void (*clp_device_fn)(const char *which, bool usable, const char *detail, void *user);
CLP_API CLP_MUST_CHECK clp_status clp_devices(clp_device_fn fn, void *user);

/* ---- Arrays and buffers ------------------------------------------------------------------------------------------ */

#define CLP_MAX_RANK 16

typedef struct clp_buffer clp_buffer;

/* An array: host memory at data, or part of a buffer. Not owned; must stay alive until the launch that uses it is done.
 * offset and strides count elements; strides may be zero (inputs only) or negative, and NULL means C order.          */
typedef struct clp_array {
    clp_dtype      dtype;
    int            rank;      /* 0 is a scalar */
    const int64_t *shape;
    const int64_t *strides;
    void          *data;      /* NULL when buffer is given */
    clp_buffer    *buffer;
    int64_t        offset;
} clp_array;

/* Memory of the context's device, uninitialised. write and read copy n_bytes at byte offset at, and wait. */
CLP_API CLP_MUST_CHECK clp_status clp_buffer_new(clp_context *ctx, size_t n_bytes, clp_buffer **out_buffer);
CLP_API void   clp_buffer_free(clp_buffer *buffer);
CLP_API size_t clp_buffer_bytes(const clp_buffer *buffer);
CLP_API CLP_MUST_CHECK clp_status clp_buffer_write(clp_buffer *buffer, size_t at, const void *src, size_t n_bytes);
CLP_API CLP_MUST_CHECK clp_status clp_buffer_read(clp_buffer *buffer, size_t at, void *dst, size_t n_bytes);

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

typedef struct clp_kernel clp_kernel;

/* name: the kernel's name, or NULL when there is only one. params: "bm=64, T=bf16, act=relu", or NULL for the defaults.
 * Fails with CLP_ERR_INVALID and up to 20 errors of the form file:line:column: error: ... with the source line.       */
CLP_API CLP_MUST_CHECK clp_status clp_kernel_from_text(clp_context *ctx, const char *text, const char *name,
                                                       const char *params, clp_kernel **out_kernel);
CLP_API CLP_MUST_CHECK clp_status clp_kernel_from_file(clp_context *ctx, const char *path, const char *name,
                                                       const char *params, clp_kernel **out_kernel);
/* Every kernel of a text, in its order, at most max_kernels; the device compiles them as one program, which takes less time
 * than one after another. params are given to each of them. All are made, or none; each is freed by itself.            */
CLP_API CLP_MUST_CHECK clp_status clp_kernels_from_text(clp_context *ctx, const char *text, const char *params,
                                                        clp_kernel **out_kernels, int max_kernels, int *out_n_kernels);
/* A kernel that comes with the library: "matmul", "softmax", ... (docs/kernels.md lists them). */
CLP_API CLP_MUST_CHECK clp_status clp_kernel_standard(clp_context *ctx, const char *name, const char *params,
                                                      clp_kernel **out_kernel);
/* A kernel that runs this one for each member of a batch: the named operands, "x, o", have a leading dimension, the dim
 * B, and the grid has a leading parallel axis over it, `batch` (B2, batch2 where those are taken). Others are shared. What
 * the kernel writes must be named, scratch cannot be; a named scalar is an array of rank 1. Program ids and sizes of the
 * grid keep their meaning in the body, and boxes have one more axis in front. May be batched again; kernel may be freed. */
CLP_API CLP_MUST_CHECK clp_status clp_kernel_batch(const clp_kernel *kernel, const char *operands, clp_kernel **out_kernel);
CLP_API void clp_kernel_free(clp_kernel *kernel);        /* launches that have begun go on, and their events stay good */

/* Parameters with a `tune` list that params do not name are left open: on an OpenCL device each launch takes values for them
 * that suit its shapes, out of the lists, and compiles what is not compiled yet. Sizes that round up to the same of 1, 2, 3,
 * 4, 6, 8, 12, 16, 24, ... are of one class, and shapes of one class have one choice. A launch of a box of the grid has the
 * defaults, as its programs are counted in them; so has the interpreter, and what clp_kernel_emit and clp_kernel_batch make. */
typedef enum clp_chosen_by {
    CLP_CHOSEN_NOTHING,    /* no parameter is left open */
    CLP_CHOSEN_DEFAULT,
    CLP_CHOSEN_MODEL,      /* by what such a device should do best */
    CLP_CHOSEN_TUNED       /* found by clp_tune on this device, where the context asks for it */
} clp_chosen_by;

typedef struct clp_choice {
    const char   *params;  /* "bm=64, bn=128": those left open; "" for none; lives as long as the kernel */
    clp_chosen_by by;
} clp_choice;

typedef enum clp_role { CLP_IN, CLP_OUT, CLP_INOUT, CLP_PREFETCH, CLP_SCRATCH, CLP_SCALAR } clp_role;

typedef struct clp_operand_info {
    const char *name;
    clp_role    role;
    clp_dtype   dtype;
    int         rank;
} clp_operand_info;

CLP_API const char *clp_kernel_name(const clp_kernel *kernel);
CLP_API int  clp_kernel_n_operands(const clp_kernel *kernel);    /* those that clp_run takes: all but scratch */
CLP_API clp_operand_info clp_kernel_operand(const clp_kernel *kernel, int i_operand);

/* What the compiler makes of a kernel, as text. The text of CLP_STAGE_IR is kernel language and reads back. */
typedef enum clp_stage { CLP_STAGE_IR, CLP_STAGE_PLAN, CLP_STAGE_NEST, CLP_STAGE_CL } clp_stage;
typedef void (*clp_text_fn)(const char *text, size_t n_bytes, void *user);
CLP_API CLP_MUST_CHECK clp_status clp_kernel_emit(clp_kernel *kernel, clp_stage stage, clp_text_fn write, void *user);

/* ---- Running ----------------------------------------------------------------------------------------------------- */

typedef struct clp_event clp_event;

typedef enum clp_order { CLP_ORDER_FORWARD, CLP_ORDER_REVERSE, CLP_ORDER_SHUFFLE } clp_order;

typedef struct clp_dim { const char *name; int64_t size; } clp_dim;

typedef struct clp_run_opts {
    const int64_t    *grid_start;  /* [axes] a box of the grid: first program of each axis; NULL: 0 */
    const int64_t    *grid_count;  /* [axes] and number of programs; NULL: all from there on */
    clp_order         order;       /* of sequences; other than forward on the interpreter only */
    uint64_t          seed;        /* of CLP_ORDER_SHUFFLE */
    const clp_dim    *dims;        /* dims that no array shows */
    int               n_dims;
    clp_event *const *wait_for;    /* launches of this context to wait for first; whether they fail is theirs to say */
    int               n_wait_for;
} clp_run_opts;

/* Runs the kernel over its grid. arrays stand in declaration order, scratch and absent optional operands left out; a
 * scalar is an array of rank 0. Returns when the results are in the arrays. Checks first, and changes nothing when the
 * arrays do not fit the kernel: dtype, rank, dims, overlap of what is written, blocks that lie outside (of maps that read
 * prefetched data the interpreter and checked code say so, as they run).                                              */
CLP_API CLP_MUST_CHECK clp_status clp_run(clp_kernel *kernel, const clp_array *arrays, int n_arrays,
                                          const clp_run_opts *opts);

/* The same without waiting: arrays and their memory must stay alive, and host memory untouched, until the event is.
 * out_event NULL: nobody waits for this launch by itself, and it costs least. Later launches and clp_buffer_read come behind it; kernel
 * and buffers may be freed at once. Where the host has something to do when it is over (arrays in host memory, what the kernel prints,
 * a checked context, a queue of the caller's that keeps no order), the call waits as clp_run does.                            */
CLP_API CLP_MUST_CHECK clp_status clp_run_async(clp_kernel *kernel, const clp_array *arrays, int n_arrays,
                                                const clp_run_opts *opts, clp_event **out_event);
/* What a launch on these arrays runs with. Fails as the launch would where the arrays do not fit. */
CLP_API CLP_MUST_CHECK clp_status clp_kernel_choice(clp_kernel *kernel, const clp_array *arrays, int n_arrays,
                                                    const clp_run_opts *opts, clp_choice *out_choice);
CLP_API CLP_MUST_CHECK clp_status clp_event_wait(clp_event *event);    /* reports what the launch ran into */
CLP_API double clp_event_seconds(const clp_event *event);  /* time on the device, once waited for; 0 where not known */
CLP_API void   clp_event_free(clp_event *event);           /* waits first */

/* ---- Checking ---------------------------------------------------------------------------------------------------- */

/* CLP_FINDINGS(X): X(NAME, name). What a check can find; docs/checking.md explains each. */
#define CLP_FINDINGS(X)                                                                                                \
    X(RACE, "race")                        /* programs of two sequences touch an element, one by a plain write */      \
    X(RACE_SAME_VALUE, "race-same-value")  /* the same, of what is there already, whatever the order */                \
    X(ALIAS_RACE, "alias-race")            /* the same, through two names of one storage */                            \
    X(OUT_OF_BOUNDS, "out-of-bounds")      /* an index outside its ref */                                              \
    X(BLOCK_OUTSIDE, "block-outside")      /* a block without an element inside its array */                           \
    X(UNINITIALISED, "uninitialised")      /* a read of an output or scratch element that nobody wrote */              \
    X(NEVER_WRITTEN, "never-written")      /* output elements that no program wrote */                                 \
    X(ORDER_DEPENDENT, "order-dependent")  /* results that depend on the order of the programs */                      \
    X(OVERLAP, "overlap")                  /* arrays in one memory that no alias joins */                              \
    X(NON_FINITE, "non-finite")            /* where NaN or infinity is made of finite values first */                  \
    X(OVERFLOW, "overflow")                /* integer arithmetic that wraps */                                         \
    X(DIVISION_BY_ZERO, "division-by-zero")                                                                            \
    X(ASSERT, "assert")                                                                                                \
    X(MISMATCH, "mismatch")                /* the device and the interpreter differ by more than rounding explains */

typedef enum clp_finding_kind {
#define CLP_FINDING_ENUM(NAME, name) CLP_FINDING_##NAME,
    CLP_FINDINGS(CLP_FINDING_ENUM)
#undef CLP_FINDING_ENUM
    CLP_N_FINDINGS
} clp_finding_kind;

CLP_API const char *clp_finding_name(clp_finding_kind kind);     /* "race-same-value" */

/* What to check: several, or'ed. */
enum {
    CLP_CHECK_PROOFS = 1,          /* what holds for all shapes: races, blocks inside their arrays */
    CLP_CHECK_RACES = 2,
    CLP_CHECK_MEMORY = 4,          /* indices, blocks, reads of what nobody wrote, elements never written, asserts */
    CLP_CHECK_ORDERS = 8,          /* reverse and shuffled orders, boxes of the grid in turn: equal results */
    CLP_CHECK_DEVICE = 16,         /* the context's device, where it is not the interpreter: results agree, and again; what
                                      the interpreter alone would fail with is found too */
    CLP_CHECK_NON_FINITE = 32,
    CLP_CHECK_OVERFLOW = 64,
    CLP_CHECK_DIVISION = 128,
    CLP_CHECK_BISECT = 256,        /* with DEVICE: the first statement whose value differs */
    CLP_CHECK_DEFAULT = 31
};

typedef struct clp_check_opts {
    unsigned            checks;        /* of CLP_CHECK_; 0: CLP_CHECK_DEFAULT */
    const clp_run_opts *run;           /* dims and the box; its order is not looked at */
    int                 n_shuffles;    /* shuffled orders to try; 0: 3 */
    uint64_t            seed;          /* of the first; the next ones follow */
    int                 n_device_runs; /* 0: 3 */
    int                 max_findings;  /* the rest is counted; 0: 20 */
} clp_check_opts;

typedef struct clp_position { uint32_t line, column; } clp_position;       /* of the kernel's text; 0, 0: not from text */

/* One thing found: on all elements, and by all programs, to which the same happens by the same accesses. Programs are
 * those of the first element.                                                                                           */
typedef struct clp_finding {
    clp_finding_kind kind;
    const char      *operand;          /* NULL: of no operand */
    int              rank;             /* of the operand's array, or scratch */
    const int64_t   *first_element;    /* [rank] in row-major order; NULL when it is about no elements of an array */
    const int64_t   *box_start, *box_end;  /* [rank] the smallest box that has all of them: start <= element < end */
    int64_t          elements;         /* how many; as many as the box holds: all of it. Without first_element: how often it
                                          happened (accesses and blocks outside, failed asserts; values, element by element) */
    int              n_axes;
    int              n_programs;       /* 0, 1, 2 */
    const int64_t   *programs[2];      /* [n_axes] program ids */
    int              n_accesses;       /* 0, 1, 2: of the programs, in turn; of a block outside: the one index map */
    clp_position     accesses[2];
    const char      *axis;             /* races: the grid axis that would have to be `arbitrary`; NULL: none would do */
    const char      *message;          /* one line */
    const char      *text;             /* the message and the source lines it speaks of, lines that end with newlines */
} clp_finding;

/* PROVED: for all shapes, and nothing was found. CHECKED: nothing was found on these arrays. */
typedef enum clp_verdict { CLP_VERDICT_PROVED, CLP_VERDICT_CHECKED, CLP_VERDICT_FAULTY } clp_verdict;

typedef struct clp_report clp_report;

/* Checks a kernel on copies of the arrays, which stay as they are. Finding something is no failure: out_report has it.
 * In a test:
 *     clp_report *report;
 *     cr_assert_eq(clp_check(kernel, arrays, n, NULL, &report), CLP_OK);
 *     cr_assert(clp_report_verdict(report) != CLP_VERDICT_FAULTY, "%s", clp_report_text(report));                        */
CLP_API CLP_MUST_CHECK clp_status clp_check(clp_kernel *kernel, const clp_array *arrays, int n_arrays,
                                            const clp_check_opts *opts, clp_report **out_report);
/* Runs a kernel on its device and on the interpreter, on copies of the arrays, and compares: CLP_CHECK_DEVICE alone. */
CLP_API CLP_MUST_CHECK clp_status clp_verify(clp_kernel *kernel, const clp_array *arrays, int n_arrays,
                                             const clp_run_opts *run, clp_report **out_report);
CLP_API void clp_report_free(clp_report *report);          /* before its kernel */

CLP_API clp_verdict clp_report_verdict(const clp_report *report);
CLP_API int  clp_report_n_findings(const clp_report *report);
CLP_API const clp_finding *clp_report_finding(const clp_report *report, int i);
CLP_API int64_t clp_report_n_dropped(const clp_report *report);    /* findings past max_findings */
CLP_API const char *clp_report_text(const clp_report *report);     /* all of it, as `clpallas check` prints it */

/* The largest difference between device and interpreter, over all that the kernel writes. */
typedef struct clp_difference {
    const char    *operand;            /* NULL: nothing was compared, or all is equal */
    int            rank;
    const int64_t *element;            /* [rank] */
    double         abs, rel, ulp;      /* rel: of the interpreter's value; ulp: in the operand's dtype */
    double         got, expected;      /* the device's, the interpreter's */
} clp_difference;
CLP_API clp_difference clp_report_difference(const clp_report *report);

/* ---- Roofline ---------------------------------------------------------------------------------------------------- */

/* How near a launch comes to what the device can do. What it computes and moves is counted from the kernel; what the device
 * can do at best is measured by small kernels when it is first asked for, and kept on disk where compiled programs are.
 * docs/roofline.md says what counts, and how it is measured.                                                          */
typedef struct clp_roofline_opts {
    const clp_run_opts *run;       /* dims and the box of the grid; forward order */
    int                 n_runs;    /* that are timed, after one that is not; 0: 10; below 0: nothing runs */
    bool                measure;   /* measure the device again, whatever is known of it */
} clp_roofline_opts;

/* The roof over a launch: what it would take longest for if it did nothing else. */
typedef enum clp_roof { CLP_ROOF_COMPUTE, CLP_ROOF_MEMORY, CLP_ROOF_LAUNCH } clp_roof;
CLP_API const char *clp_roof_name(clp_roof roof);          /* "compute", "memory", "launch" */

#define CLP_MAX_ROOFLINE 24

/* Operations of one kind. */
typedef struct clp_roofline_ops {
    bool      is_dot;
    clp_dtype dtype;               /* of what is computed with; of a dot's first operand */
    clp_dtype acc;                 /* in which dots sum; else dtype */
    double    ops;
    double    peak;                /* operations a second that the device reaches */
} clp_roofline_ops;

/* Bytes that one operand moves. */
typedef struct clp_roofline_operand {
    const char *name;
    double      block_bytes;       /* of a whole block */
    double      fetches;           /* times that a block other than the one before is asked for, programs taken in order */
    double      read, written;     /* bytes of those */
    double      once;              /* read and written, if every element moved once */
} clp_roofline_operand;

typedef struct clp_roofline_point {
    double   programs;
    int      n_ops, n_operands;    /* what there is beyond CLP_MAX_ROOFLINE is in the sums alone */
    clp_roofline_ops     ops[CLP_MAX_ROOFLINE];
    clp_roofline_operand operands[CLP_MAX_ROOFLINE];    /* names live as long as the kernel */
    double   float_ops, int_ops;   /* sums */
    double   bytes;                /* every element once: what has to move, however large caches are */
    double   streamed_bytes;       /* what moves when nothing is kept but the block of the program before */
    double   intensity;            /* operations a byte: (float_ops + int_ops) / bytes; 0 where nothing moves */
    bool     is_exact;             /* false: some of this is an estimate, as data decide what runs */
    double   peak_bytes_s;         /* bytes a second that a copy of as much data reaches */
    double   compute_s, memory_s, launch_s;    /* seconds for the operations, the bytes and the launch at their peaks */
    clp_roof roof;                 /* the largest of the three */
    double   attainable_s;         /* which is the time that no launch beats */
    double   attainable_ops_s;     /* operations a second at that time; 0 where there are none */
    double   seconds, median_s;    /* the shortest run, and the median; 0: nothing ran */
    double   ops_s;                /* operations a second of the shortest run */
} clp_roofline_point;

/* Runs the kernel on the arrays as they are, n_runs + 1 times, one after another, and waits for each: what it changes is
 * changed as often. Arrays should stand in buffers, or copies to the device are in the times. ARG where the grid is empty. */
CLP_API CLP_MUST_CHECK clp_status clp_roofline(clp_kernel *kernel, const clp_array *arrays, int n_arrays,
                                               const clp_roofline_opts *opts, clp_roofline_point *out_point);

/* ---- Tuning ------------------------------------------------------------------------------------------------------ */

/* One point of a kernel's `tune` lists. */
typedef struct clp_try {
    const char *params;        /* "bm=64, bn=128": what is left open */
    double      seconds;       /* the fastest launch; 0: not timed */
    double      build_seconds;
    int         rank;          /* 1: the model expects the least time of it */
    bool        is_default, is_best;
    const char *why_not;       /* NULL; or why it was not tried, or cannot be taken: results that differ from the interpreter's */
} clp_try;

typedef struct clp_tune_opts {
    const clp_run_opts *run;   /* dims; a box, as in a launch, leaves nothing to be chosen: an error */
    double seconds;            /* begin nothing new after so long; 0: 60 */
    double try_seconds;        /* launch a point no more once it has taken so long, its build included; 0: 10 */
    bool   keeps_nothing;      /* else the best is kept on disk, for contexts that are `tuned` */
    bool (*wants)(const char *params, void *user);     /* before each try; false leaves it out; NULL: all are wanted */
    void (*tried)(const clp_try *t, void *user);       /* after each try; NULL: nobody listens */
    void  *user;
} clp_tune_opts;

typedef struct clp_tuning clp_tuning;

/* Tries the values that the kernel's lists have for the parameters left open, on copies of the arrays, the most promising
 * first, and takes those that run fastest with results that are the interpreter's: on a few programs where all of them would
 * take long. The best stand for the whole class of these shapes. ARG where nothing is open, or the grid is empty.      */
CLP_API CLP_MUST_CHECK clp_status clp_tune(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_tune_opts *opts,
                                           clp_tuning **out_tuning);
CLP_API int clp_tuning_n_tries(const clp_tuning *tuning);
CLP_API const clp_try *clp_tuning_try(const clp_tuning *tuning, int i_try);        /* those timed first, the fastest in front */
CLP_API const char *clp_tuning_not_kept(const clp_tuning *tuning);                 /* NULL, or why the best is not on disk */
CLP_API void clp_tuning_free(clp_tuning *tuning);          /* before its kernel */

/* ---- The builder: kernels from C --------------------------------------------------------------------------------- */

typedef struct clp_builder clp_builder;
typedef struct clp_val { uint32_t id; } clp_val;           /* a scalar or a tile; id 0 is "no value" */
typedef struct clp_ref { uint32_t id; } clp_ref;           /* what a program sees of an operand; id 0 is "no ref" */

/* The body is called once, when the kernel is made, and records operations: it is not run per program or element. refs
 * stand in the order of the description's operands. The first error makes every later call do nothing and return the
 * null value; clp_kernel_from_desc reports it.                                                                        */
typedef void (*clp_body_fn)(clp_builder *b, const clp_ref *refs, void *user);

typedef struct clp_operand_desc {
    clp_role    role;
    const char *name;
    clp_dtype   dtype;
    const char *shape;      /* "M, K": dims, parameters, integers, as in the kernel language; NULL: rank 0 */
    const char *block;      /* "bm, bk", "_, 128"; NULL: the whole array */
    const char *index_map;  /* "(i, j, k) -> (i, k)": a name for each axis, in the grid's order; with a block only */
    const char *pad;        /* "0", "-inf"; NULL: poison */
    const char *alias;      /* an out operand: the name of the in operand whose storage it shares */
} clp_operand_desc;

typedef struct clp_axis_desc {
    const char *name;
    const char *size;       /* "cdiv(M, bm)" */
    bool        is_arbitrary; /* programs along it run in order; else parallel */
} clp_axis_desc;

typedef struct clp_param { const char *name; int64_t value; } clp_param;

typedef struct clp_kernel_desc {
    const char             *name;
    const clp_operand_desc *operands;
    int                     n_operands;
    const clp_axis_desc    *axes;
    int                     n_axes;
    const clp_param        *params;    /* integers that the texts above may name */
    int                     n_params;
    const char             *require;   /* "K % 8 == 0, M > 0", or NULL */
    bool                    math_fast;
    clp_body_fn             body;
    void                   *user;
} clp_kernel_desc;

CLP_API CLP_MUST_CHECK clp_status clp_kernel_from_desc(clp_context *ctx, const clp_kernel_desc *desc,
                                                       clp_kernel **out_kernel);

/* Subscripts: one for each dimension, in order; those left out are whole dimensions. */
typedef struct clp_subscript {
    enum { CLP_SUB_ALL, CLP_SUB_AT, CLP_SUB_SLICE, CLP_SUB_DS, CLP_SUB_ELLIPSIS, CLP_SUB_NEW } kind;
    clp_val  val;                    /* AT: index, scalar or tile; DS: start */
    int64_t  start, stop, stride;    /* SLICE; DS: stop is the size. stop CLP_END: to the end. stride 0 means 1 */
} clp_subscript;
#define CLP_END INT64_MAX

CLP_API clp_subscript clp_every(void);                                            /* : */
CLP_API clp_subscript clp_at(clp_val index);                                      /* index; a tile gathers */
CLP_API clp_subscript clp_slice(int64_t start, int64_t stop, int64_t stride);     /* start:stop:stride */
CLP_API clp_subscript clp_ds(clp_val start, int64_t size, int64_t stride);        /* ds(start, size, stride) */
CLP_API clp_subscript clp_ellipsis(void);                                         /* ... */
CLP_API clp_subscript clp_newaxis(void);                                          /* None; on values only */

/* Refs. mask and other may be the null value. A stored value broadcasts to the place. */
CLP_API clp_val clp_load      (clp_builder *b, clp_ref x);                                          /* x[...] */
CLP_API clp_val clp_load_at   (clp_builder *b, clp_ref x, const clp_subscript *subs, int n_subs, clp_val mask, clp_val other);
CLP_API void    clp_store     (clp_builder *b, clp_ref x, clp_val v);                               /* x[...] = v */
CLP_API void    clp_store_at  (clp_builder *b, clp_ref x, const clp_subscript *subs, int n_subs, clp_val v, clp_val mask);
CLP_API clp_val clp_index     (clp_builder *b, clp_val v, const clp_subscript *subs, int n_subs);         /* v[subs] */
/* Atomics return the old value. */
CLP_API clp_val clp_atomic_add (clp_builder *b, clp_ref x, const clp_subscript *subs, int n_subs, clp_val v, clp_val mask);
CLP_API clp_val clp_atomic_min (clp_builder *b, clp_ref x, const clp_subscript *subs, int n_subs, clp_val v, clp_val mask);
CLP_API clp_val clp_atomic_max (clp_builder *b, clp_ref x, const clp_subscript *subs, int n_subs, clp_val v, clp_val mask);
CLP_API clp_val clp_atomic_and (clp_builder *b, clp_ref x, const clp_subscript *subs, int n_subs, clp_val v, clp_val mask);
CLP_API clp_val clp_atomic_or  (clp_builder *b, clp_ref x, const clp_subscript *subs, int n_subs, clp_val v, clp_val mask);
CLP_API clp_val clp_atomic_xor (clp_builder *b, clp_ref x, const clp_subscript *subs, int n_subs, clp_val v, clp_val mask);
CLP_API clp_val clp_atomic_xchg(clp_builder *b, clp_ref x, const clp_subscript *subs, int n_subs, clp_val v, clp_val mask);
CLP_API clp_val clp_atomic_cas (clp_builder *b, clp_ref x, const clp_subscript *subs, int n_subs, clp_val expected, clp_val v);

/* Leaves. */
CLP_API clp_val clp_const       (clp_builder *b, clp_dtype dtype, int64_t value);      /* any dtype; must fit */
CLP_API clp_val clp_constf      (clp_builder *b, clp_dtype dtype, double value);       /* float dtypes; rounded */
CLP_API clp_val clp_full        (clp_builder *b, const int64_t *shape, int rank, clp_val value);
CLP_API clp_val clp_iota        (clp_builder *b, const int64_t *shape, int rank, int axis, clp_dtype dtype);
CLP_API clp_val clp_program_id  (clp_builder *b, int axis);                            /* i32 */
CLP_API clp_val clp_num_programs(clp_builder *b, int axis);                            /* i32 */
CLP_API clp_val clp_dim_size    (clp_builder *b, const char *dim);                     /* i32: "M" */

/* Element by element; operands broadcast as in NumPy and have one dtype. */
CLP_API clp_val clp_add      (clp_builder *b, clp_val x, clp_val y);
CLP_API clp_val clp_sub      (clp_builder *b, clp_val x, clp_val y);
CLP_API clp_val clp_mul      (clp_builder *b, clp_val x, clp_val y);
CLP_API clp_val clp_divide   (clp_builder *b, clp_val x, clp_val y);      /* integers round down */
CLP_API clp_val clp_mod      (clp_builder *b, clp_val x, clp_val y);      /* sign of y, as Python's % */
CLP_API clp_val clp_div      (clp_builder *b, clp_val x, clp_val y);      /* integers, truncated */
CLP_API clp_val clp_rem      (clp_builder *b, clp_val x, clp_val y);      /* sign of x, as C's % and fmod */
CLP_API clp_val clp_pow      (clp_builder *b, clp_val x, clp_val y);
CLP_API clp_val clp_atan2    (clp_builder *b, clp_val y, clp_val x);
CLP_API clp_val clp_copysign (clp_builder *b, clp_val x, clp_val y);
CLP_API clp_val clp_nextafter(clp_builder *b, clp_val x, clp_val y);
CLP_API clp_val clp_minimum  (clp_builder *b, clp_val x, clp_val y);      /* NaN if either is */
CLP_API clp_val clp_maximum  (clp_builder *b, clp_val x, clp_val y);
CLP_API clp_val clp_and      (clp_builder *b, clp_val x, clp_val y);      /* integers and bool */
CLP_API clp_val clp_or       (clp_builder *b, clp_val x, clp_val y);
CLP_API clp_val clp_xor      (clp_builder *b, clp_val x, clp_val y);
CLP_API clp_val clp_shl      (clp_builder *b, clp_val x, clp_val y);
CLP_API clp_val clp_shr      (clp_builder *b, clp_val x, clp_val y);      /* arithmetic for signed */
CLP_API clp_val clp_eq       (clp_builder *b, clp_val x, clp_val y);
CLP_API clp_val clp_ne       (clp_builder *b, clp_val x, clp_val y);
CLP_API clp_val clp_lt       (clp_builder *b, clp_val x, clp_val y);
CLP_API clp_val clp_le       (clp_builder *b, clp_val x, clp_val y);
CLP_API clp_val clp_gt       (clp_builder *b, clp_val x, clp_val y);
CLP_API clp_val clp_ge       (clp_builder *b, clp_val x, clp_val y);
CLP_API clp_val clp_neg      (clp_builder *b, clp_val x);
CLP_API clp_val clp_not      (clp_builder *b, clp_val x);                 /* ~ of integers, ! of bool */
CLP_API clp_val clp_abs      (clp_builder *b, clp_val x);
CLP_API clp_val clp_sign     (clp_builder *b, clp_val x);
CLP_API clp_val clp_floor    (clp_builder *b, clp_val x);
CLP_API clp_val clp_ceil     (clp_builder *b, clp_val x);
CLP_API clp_val clp_trunc    (clp_builder *b, clp_val x);
CLP_API clp_val clp_round    (clp_builder *b, clp_val x);                 /* half away from zero */
CLP_API clp_val clp_rint     (clp_builder *b, clp_val x);                 /* half to even */
CLP_API clp_val clp_sqrt     (clp_builder *b, clp_val x);
CLP_API clp_val clp_rsqrt    (clp_builder *b, clp_val x);
CLP_API clp_val clp_cbrt     (clp_builder *b, clp_val x);
CLP_API clp_val clp_exp      (clp_builder *b, clp_val x);
CLP_API clp_val clp_exp2     (clp_builder *b, clp_val x);
CLP_API clp_val clp_expm1    (clp_builder *b, clp_val x);
CLP_API clp_val clp_log      (clp_builder *b, clp_val x);
CLP_API clp_val clp_log2     (clp_builder *b, clp_val x);
CLP_API clp_val clp_log1p    (clp_builder *b, clp_val x);
CLP_API clp_val clp_sin      (clp_builder *b, clp_val x);
CLP_API clp_val clp_cos      (clp_builder *b, clp_val x);
CLP_API clp_val clp_tan      (clp_builder *b, clp_val x);
CLP_API clp_val clp_asin     (clp_builder *b, clp_val x);
CLP_API clp_val clp_acos     (clp_builder *b, clp_val x);
CLP_API clp_val clp_atan     (clp_builder *b, clp_val x);
CLP_API clp_val clp_sinh     (clp_builder *b, clp_val x);
CLP_API clp_val clp_cosh     (clp_builder *b, clp_val x);
CLP_API clp_val clp_tanh     (clp_builder *b, clp_val x);
CLP_API clp_val clp_asinh    (clp_builder *b, clp_val x);
CLP_API clp_val clp_acosh    (clp_builder *b, clp_val x);
CLP_API clp_val clp_atanh    (clp_builder *b, clp_val x);
CLP_API clp_val clp_erf      (clp_builder *b, clp_val x);
CLP_API clp_val clp_erf_inv  (clp_builder *b, clp_val x);
CLP_API clp_val clp_isnan    (clp_builder *b, clp_val x);
CLP_API clp_val clp_isinf    (clp_builder *b, clp_val x);
CLP_API clp_val clp_isfinite (clp_builder *b, clp_val x);
CLP_API clp_val clp_popcount (clp_builder *b, clp_val x);
CLP_API clp_val clp_clz      (clp_builder *b, clp_val x);
CLP_API clp_val clp_fma      (clp_builder *b, clp_val x, clp_val y, clp_val z);        /* x * y + z, rounded once */
CLP_API clp_val clp_clip     (clp_builder *b, clp_val x, clp_val lo, clp_val hi);
CLP_API clp_val clp_where    (clp_builder *b, clp_val c, clp_val x, clp_val y);        /* x where c, else y */
CLP_API clp_val clp_cast     (clp_builder *b, clp_val x, clp_dtype dtype);
CLP_API clp_val clp_bitcast  (clp_builder *b, clp_val x, clp_dtype dtype);             /* same width */

/* Reductions over the axes listed; n_axes 0 means all of them. keepdims leaves each as a dimension of size 1. */
CLP_API clp_val clp_sum   (clp_builder *b, clp_val x, const int *axes, int n_axes, bool keepdims);
CLP_API clp_val clp_prod  (clp_builder *b, clp_val x, const int *axes, int n_axes, bool keepdims);
CLP_API clp_val clp_max   (clp_builder *b, clp_val x, const int *axes, int n_axes, bool keepdims);
CLP_API clp_val clp_min   (clp_builder *b, clp_val x, const int *axes, int n_axes, bool keepdims);
CLP_API clp_val clp_any   (clp_builder *b, clp_val x, const int *axes, int n_axes, bool keepdims);
CLP_API clp_val clp_all   (clp_builder *b, clp_val x, const int *axes, int n_axes, bool keepdims);
CLP_API clp_val clp_argmax(clp_builder *b, clp_val x, int axis, bool keepdims);
CLP_API clp_val clp_argmin(clp_builder *b, clp_val x, int axis, bool keepdims);
CLP_API clp_val clp_cumsum (clp_builder *b, clp_val x, int axis, bool reverse);
CLP_API clp_val clp_cumprod(clp_builder *b, clp_val x, int axis, bool reverse);
CLP_API clp_val clp_cummax (clp_builder *b, clp_val x, int axis, bool reverse);
CLP_API clp_val clp_cummin (clp_builder *b, clp_val x, int axis, bool reverse);
CLP_API clp_val clp_dot   (clp_builder *b, clp_val x, clp_val y, clp_dtype acc);       /* NumPy's matmul, summed in acc */

/* Shape. */
CLP_API clp_val clp_reshape  (clp_builder *b, clp_val x, const int64_t *shape, int rank);
CLP_API clp_val clp_transpose(clp_builder *b, clp_val x, const int *axes, int n_axes); /* n_axes 0: reversed */
CLP_API clp_val clp_broadcast(clp_builder *b, clp_val x, const int64_t *shape, int rank);
CLP_API clp_val clp_concat   (clp_builder *b, const clp_val *xs, int n_xs, int axis);
CLP_API clp_val clp_flip     (clp_builder *b, clp_val x, int axis);
CLP_API clp_val clp_roll     (clp_builder *b, clp_val x, clp_val shift, int axis);
CLP_API clp_val clp_take     (clp_builder *b, clp_val x, clp_val index, int axis);
CLP_API clp_val clp_sort     (clp_builder *b, clp_val x, int axis);                    /* stable; NaN last */

/* Control. Values carried round a loop, or out of a branch, have an initial value each: begin takes them and hands out
 * what the body sees; the end takes what the body made of them and hands out what stays. Both lists are n_carried long. */
CLP_API clp_val clp_for_begin  (clp_builder *b, clp_val lo, clp_val hi, int64_t step, const clp_val *inits, int n_carried,
                                clp_val *out_carried);                                 /* returns the index, i32 */
CLP_API void    clp_for_end    (clp_builder *b, const clp_val *nexts, int n_carried, clp_val *out_results);
CLP_API void    clp_while_begin(clp_builder *b, clp_val first_condition, const clp_val *inits, int n_carried,
                                clp_val *out_carried);
CLP_API void    clp_while_end  (clp_builder *b, clp_val next_condition, const clp_val *nexts, int n_carried,
                                clp_val *out_results);
CLP_API void    clp_if_begin   (clp_builder *b, clp_val condition, const clp_val *inits, int n_carried);
CLP_API void    clp_if_else    (clp_builder *b, const clp_val *values, int n_carried); /* may be left out: inits stay */
CLP_API void    clp_if_end     (clp_builder *b, const clp_val *values, int n_carried, clp_val *out_results);

CLP_API void    clp_print (clp_builder *b, const char *format, const clp_val *vals, int n_vals);    /* {} per value; {{ }} are braces */
CLP_API void    clp_assert(clp_builder *b, clp_val condition, const char *text);

#ifdef __cplusplus
}
#endif

#endif
