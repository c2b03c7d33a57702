/* bench: what the files of `clpallas bench` share.
 *
 *     bench.c          the command: which rows, the table, the JSON
 *     bench_time.c     how times are taken, alike for all rows
 *     bench_device.c   rows that run on an OpenCL device
 *     bench_interp.c   rows that run on the interpreter
 *     bench_peer.c     libraries to be compared with, looked for when they are wanted
 *
 * A contest is one piece of work done by several sides: ours first, then its peers. All do it in the same run, turn by
 * turn. */
#ifndef BENCH_H
#define BENCH_H

#include "tool.h"

enum { MAX_SIDES = 4, MAX_SAMPLES = 1000 };

/* One side of a contest. begin and end, which may be NULL, stand around a turn and are not timed; once does the work
 * and returns when it is done. */
typedef struct side {
    const char *name;
    int (*begin)(void *user);
    int (*once)(void *user);
    int (*end)(void *user);
    void *user;
    bool rests_first;  /* others' threads may still spin from the turn before */
    char missing[200]; /* why it cannot take part; "": it can */
    double times[MAX_SAMPLES];
    int n_times;
    double spent_s, min_s, median_s;
} side;

typedef struct contest {
    const char *work;
    char shape[64], params[96];
    side sides[MAX_SIDES];
    int n_sides;
    bool fastest_peer_only; /* peers are ways to do the same: the fastest is the one to be compared with */
    double flops, bytes;    /* of one run; 0: not counted */
} contest;

typedef struct bench {
    const options *o;
    clp_context *ctx; /* the device; NULL: there is no OpenCL device to be measured */
    const char *device;
} bench;

/* A row of the suite. run fills c, times it with contest_time and returns the exit status. */
typedef struct bench_row {
    const char *name, *does;
    int (*run)(bench *b, const struct bench_row *row, contest *c);
    int64_t size;       /* what the rows of one work differ in */
    const char *params; /* of the kernel */
} bench_row;

extern const bench_row bench_device_rows[]; /* both end with name NULL */
extern const bench_row bench_interp_rows[];

/* ---- bench_time.c ---- */
side *contest_add(contest *c, const char *name, int (*once)(void *user), void *user);
int contest_time(const bench *b, contest *c);

/* ---- bench_peer.c ---- */
typedef void (*peer_fn)(void);
typedef struct blas {
    peer_fn sgemm;
    int n_threads;
} blas; /* row-major f32 */
/* False: why says what is missing. n_threads 0: all that the library would use. */
bool blas_open(blas *out, int n_threads, char *why, size_t why_bytes);
void blas_sgemm(const blas *l, int64_t m, int64_t n, int64_t k, const float *x, const float *y, float *z);
bool clblast_open(peer_fn *out_sgemm, char *why, size_t why_bytes);

/* ---- bench.c ---- */
/* A kernel of the library on ctx, with the command line's -p in place of params where it has some. NULL: said. */
clp_kernel *bench_kernel(const bench *b, clp_context *ctx, const char *name, const char *params);
void bench_fill(float *data, int64_t n, uint32_t seed); /* between -1 and 1 */

#endif
