/* bench: what the files of `clpallas bench` share.
 *
 *     bench.c          the command: which rows, on what machine
 *     bench_rows.c     the rows, as data
 *     bench_work.c     a row of a kernel: its arrays, its peers, whether they compute the same
 *     bench_time.c     how times are taken, alike for all rows
 *     bench_print.c    the table, the JSON, the picture
 *     bench_device.c   rows of an OpenCL device that are no kernel's: launches, the front end
 *     bench_process.c  whole processes
 *     bench_interp.c   such rows of the interpreter
 * and the peers:
 *     bench_blas.c     OpenBLAS, CLBlast      bench_dnnl.c     oneDNN       bench_torch.c    PyTorch, by bench_torch.py
 *     bench_loops.c    loops in C, copies     bench_own.c      other kernels of ours
 * A library that is a peer is looked for when it is wanted, so that the command runs without it.
 *
 * A contest is one piece of work done by several sides: ours first, then its peers. All do it in the same run, turn by
 * turn. */
#ifndef BENCH_H
#define BENCH_H

#include "tool.h"

enum { MAX_SIDES = 8, MAX_SAMPLES = 1000, MAX_OPERANDS = 8, MAX_PEERS = 5 };

/* One side of a contest. begin and end, which may be NULL, stand around a turn and are not timed; once does the work
 * and returns when it is done. */
typedef struct side {
    const char *name;
    double wanted; /* the ratio that is wanted; 0: none */
    int group;     /* sides of one group, which is not 0, are ways to do the same: the fastest is the one that counts */
    int (*begin)(void *user);
    int (*once)(void *user);
    int (*many)(void *user, int n, double *out_s); /* NULL: once is called n times; else it is, and timed, elsewhere */
    int (*end)(void *user);
    int (*result)(void *user, void *out, size_t n_bytes); /* of once; NULL: it is in the row's last array */
    void (*done)(void *user);                             /* NULL: user is not the side's own */
    void *user;
    bool rests_first;  /* others' threads may still spin from the turn before */
    char missing[200]; /* why it cannot take part; "": it can */
    double times[MAX_SAMPLES];
    int n_times;
    bool is_slow; /* has its one sample */
    double spent_s, min_s, median_s;
} side;

typedef struct contest {
    const char *work;
    char shape[64], params[96];
    side sides[MAX_SIDES];
    int n_sides;
    double flops, bytes; /* of one run; 0: not counted */
} contest;

typedef struct torch torch;

typedef struct bench {
    const options *o;
    clp_context *ctx;     /* the device; NULL: there is no OpenCL device to be measured */
    clp_context *interp;
    const char *device;
    char folder[256];     /* for files of this run */
    char cpu_flags[4096]; /* as /proc/cpuinfo has them, blanks around each */
    torch *torch;         /* one process for all rows; NULL: not started */
    char torch_missing[200];
} bench;

/* ---- bench_rows.c ---- */

typedef struct work work;
typedef struct bench_row bench_row;
typedef struct peer_row peer_row;

/* A kind of peer. add gives the contest its side or sides, which say themselves what they lack. */
typedef struct peer {
    const char *name;
    int (*add)(work *w, const peer_row *row);
    bool is_other_work;   /* it does not compute what ours does */
} peer;

struct peer_row {
    const peer *peer;
    const char *how;      /* what this peer is told: see the peer */
    double wanted;        /* the ratio; 0: shown only */
    int group;
    const char *where;    /* the goal holds on CPUs with this in one of their flags, with "!" in front: on those without */
    bool is_other_work;   /* for once: its result is not compared */
};

/* A row: ours is a standard kernel on arrays; or what run does. */
struct bench_row {
    const char *name, *shape, *kernel, *params;
    const char *arrays; /* for each operand of the kernel its shape, with "%R" for integers below R; a scalar's value */
    double flops;
    double tol;         /* how far results may differ; integers: not at all */
    bool on_interp;
    peer_row peers[MAX_PEERS];
    int (*run)(bench *b, const bench_row *row, contest *c); /* fills c, times it, returns the exit status */
    int64_t size;                                           /* for run */
    const char *does;                                       /* of run, for --list */
};

extern const bench_row bench_rows[]; /* ends with name NULL */
const bench_row *bench_row_named(const char *name);

/* ---- bench_work.c ---- */

/* A kernel and its arrays, on the device or in the interpreter's memory. */
struct work {
    bench *b;
    const bench_row *row;
    contest *c;
    clp_context *ctx;
    clp_kernel *kernel;
    int n;
    clp_array args[MAX_OPERANDS];
    int64_t shapes[MAX_OPERANDS][CLP_MAX_RANK];
    const char *names[MAX_OPERANDS];
    size_t n_bytes[MAX_OPERANDS];
    void *host[MAX_OPERANDS]; /* the arrays in this process: from work_map to work_unmap */
};

int work_open(work *w, bench *b, const bench_row *row);
void work_close(work *w);
int work_once(void *w);               /* the kernel, waited for */
int work_map(void *w);                /* peers in this process work on the arrays themselves */
int work_unmap(void *w);
double work_traffic(const work *w);   /* bytes: each array read once, or written, or both */
int work_read(work *w, int i, void *out);
side *work_add_side(work *w, const peer_row *row, const char *name, int (*once)(void *user), void *user);
int run_work(bench *b, const bench_row *row, contest *c);

/* ---- bench_time.c ---- */
side *contest_add(contest *c, const char *name, int (*once)(void *user), void *user);
int contest_time(const bench *b, contest *c);
void contest_done(contest *c);
bool side_counts(const contest *c, int i); /* it took part, and no other of its group is faster */

/* ---- Peers ---- */
extern const peer peer_blas;     /* products of f32; how: "", or which are transposed: "nt", "tn", "tt" */
extern const peer peer_blas_1;   /* with one thread */
extern const peer peer_clblast;
extern const peer peer_onednn;   /* products; what they are of is seen from the arrays */
extern const peer peer_torch;    /* how: a Python expression of tensors that have the operands' names, after "SETUP;" if need be */
extern const peer peer_copy;     /* of as many bytes, in all ways there are */
extern const peer peer_loop;     /* how: the loop's name */
extern const peer peer_own;      /* how: the name of the row whose kernel it is */
extern const peer peer_unfused;  /* attention by three kernels; how: "causal" or "" */

typedef void (*peer_fn)(void);
/* The first of files, which end with NULL, that can be loaded; false: why says what is missing. */
bool library_open(const char *const *files, void **out_library, char *why, size_t why_bytes);
bool library_find(void *library, const char *symbol, peer_fn *out, char *why, size_t why_bytes);
void torch_stop(torch *t);

/* ---- Rows that are no kernel's ---- */
int row_launch(bench *b, const bench_row *row, contest *c);     /* size: how many in a row */
int row_launch_events(bench *b, const bench_row *row, contest *c);   /* the same with an event each */
int row_front_end(bench *b, const bench_row *row, contest *c);
int row_process(bench *b, const bench_row *row, contest *c);
bool process_is_child(int *out_status); /* this process is one that the row measures; it has done its work */
int row_interp_programs(bench *b, const bench_row *row, contest *c);
int row_check(bench *b, const bench_row *row, contest *c);

/* ---- bench_print.c ---- */
void print_head(void);
void print_contest(const contest *c);
void json_contest(const contest *c, bool *is_first);
void svg_bars_add(FILE *f, const contest *c, int *n_bars);
void svg_bars_write(FILE *f, const char *cpu, const char *device, const char *bars, int n_bars);

/* ---- bench.c ---- */
/* A kernel of the library on ctx, with the command line's -p in place of params where it has some. NULL: said. */
clp_kernel *bench_kernel(const bench *b, clp_context *ctx, const char *name, const char *params);
void bench_fill(clp_array *a, uint32_t seed, int64_t below); /* floats between -1 and 1; integers below this, 0: all there are */

#endif
