/* agree: what the parts share that run a kernel several times and compare the results (orders.c, verify.c, bisect.c). */
#ifndef CLPI_AGREE_H
#define CLPI_AGREE_H

#include "check/tally.h"

/* ---- levels.c: how far device and interpreter may differ ----
 *     EXACT     equal bits: integers, movement, + - * / sqrt fma, casts, and what else is promised
 *     ROUNDED   float sums, dots, functions of a few ulp, and what is computed from them: |a - b| <= bound * (|b| + rms), or
 *               what sway.c has seen rounding do
 *     CHOSEN    hangs on a comparison, a rounding to integer or an index of rounded values: as ROUNDED, but few may be off
 *     FREE      hangs on the order of atomics, or on who won a race: nothing can be said                               */
typedef enum clpi_level_kind { CLPI_EXACT, CLPI_ROUNDED, CLPI_CHOSEN, CLPI_FREE } clpi_level_kind;
typedef struct clpi_level { clpi_level_kind kind; double bound; } clpi_level;

typedef struct clpi_levels {
    clpi_level *val;              /* [ops.n] */
    clpi_level *stored;           /* [n_operands] what the body stores in the storage of the operand */
} clpi_levels;

/* n_terms: so many a sum may have. is_racing: [n_operands] what is loaded from it is FREE; NULL: from none. */
clp_status clpi_levels_new(const clpi_ir *ir, const clpi_plan *plan, int64_t n_terms, const bool *is_racing, clpi_arena *arena,
                           clpi_levels *out);
/* What the op itself adds to that, its operands being equal. */
clpi_level_kind clpi_own_level(const clpi_ir *ir, const clpi_op *op);
/* What ROUNDED values of a dtype may be off by. */
double     clpi_level_bound(const clpi_ir *ir, int64_t n_terms, clp_dtype dtype);
/* The largest dimension of the launch's arrays. */
int64_t    clpi_n_terms(const clpi_check *check);

/* ---- compare.c: one array against another ---- */

/* The same number: equal bits, zeros, two NaNs. */
bool   clpi_same(clp_dtype dtype, uint64_t a, uint64_t b);
double clpi_ulps(clp_dtype dtype, uint64_t a, uint64_t b);    /* steps of the dtype between them; inf when just one is NaN */

/* most: the furthest that a number has been from what was expected. What is no number says nothing. */
void   clpi_move_add(double *most, clp_dtype dtype, uint64_t got, uint64_t expected);

/* The root mean square of numbers, of those that are finite. squares: of numbers divided by the largest, for the squares of
 * large and small f64 are no numbers themselves.                                                                        */
typedef struct clpi_rms { double largest, squares; uint64_t n; } clpi_rms;
void   clpi_rms_add(clpi_rms *rms, double x);
double clpi_rms_of(const clpi_rms *rms);

/* Elements one after another: those beyond what their level allows, and the largest differences. */
struct clpi_worst {
    bool     is_set;
    double   abs, rel, ulp, excess, moves;      /* excess: of what is allowed; 1 is just that */
    uint64_t got, expected;                     /* stored bits */
    int64_t  element[CLP_MAX_RANK], at;
};
typedef struct clpi_compare {
    clp_dtype  dtype;
    clpi_level level;
    double     rms;                             /* of the expected values */
    uint64_t   n, n_beyond;
    uint64_t   n_swayed;                        /* that moves alone let pass */
    struct clpi_worst worst, widest;            /* by excess; by ulp */
} clpi_compare;
/* true: this one is beyond. at: kept with the worst. moves: how far rounding may move it; 0: that is not known. */
bool clpi_compare_add(clpi_compare *c, const int64_t *element, int rank, int64_t at, uint64_t got, uint64_t expected, double moves);
/* Of an operand's elements, by number; NULL: none. */
typedef struct clpi_marks { const bool *is_left_out[2]; const double *moves; } clpi_marks;
/* The arrays of an operand, whole, its dtype and level being in c. found: takes in those beyond; or NULL. */
void   clpi_compare_arrays(clpi_compare *c, const clpi_check *check, int operand, const uint8_t *got, const uint8_t *expected,
                           const clpi_marks *marks, clpi_found *found);
/* All in all: more are beyond than the level lets pass. */
bool clpi_compare_fails(const clpi_compare *c);

/* ---- orders.c ---- */

/* What the written regions held after some run. */
typedef struct clpi_kept { uint8_t **bytes; } clpi_kept;        /* [n_regions]; NULL: not written */
clp_status     clpi_kept_new(clpi_check *check, clpi_kept *out);
void           clpi_kept_take(const clpi_check *check, clpi_kept *kept);    /* copies work */
const uint8_t *clpi_kept_of(const clpi_check *check, const clpi_kept *kept, int operand);    /* the operand's place */
const uint8_t *clpi_work_of(const clpi_check *check, int operand);

/* Runs of the same launch that should agree. */
typedef struct clpi_orders {
    clpi_check *check;
    clpi_kept   kept;
    const char *kept_name;        /* of the run that was kept: "forward" */
    struct clpi_order_sums *sums; /* [n_operands] */
    struct clpi_order_first *first;   /* [n_operands] */
    bool      **differs;          /* [n_operands] of results: elements that some run did not leave as kept */
} clpi_orders;

/* Runs forward on the interpreter, which is kept; results stay in work. */
clp_status clpi_orders_open(clpi_check *check, clpi_orders *out);
/* What is in work now. name: alive as long as the orders; NULL: out of memory. */
clp_status clpi_orders_keep(clpi_orders *orders, const char *name);
/* Marks the elements of work that are not as kept, but for those known to be unsettled, and remembers the first. */
clp_status clpi_orders_compare(clpi_orders *orders, const char *name);
void       clpi_orders_forget(clpi_orders *orders);           /* all that was marked */
/* What was marked is found, and unsettled from now on. */
clp_status clpi_orders_report(clpi_orders *orders);

/* The write or atomic that was the last to touch an element (at: from the operand's place) in a forward run. 0: none. */
typedef struct clpi_writer { uint32_t op; uint64_t sequence; int64_t program[CLPI_MAX_AXES]; } clpi_writer;
clp_status clpi_last_writer(clpi_check *check, int operand, int64_t at, clpi_writer *out);

/* ---- sway.c ---- */

enum { CLPI_SWAY_RUNS = 8 };     /* that all of them move an element by little though much may is past one in a million */

/* One run on the interpreter, of ir that the snapshot has compiled, from what the snapshot starts from, with what a device may round otherwise
 * moved. run: 0 .. CLPI_SWAY_RUNS - 1. */
clp_status clpi_sway_run(clpi_check *check, const clpi_ir *ir, uint64_t run);
/* A loop that goes on while something holds of rounded values might not end when they are moved. levels: of ir. */
bool       clpi_sway_may_hang(const clpi_ir *ir, const clpi_levels *levels);
/* out_moves: [n_operands] of results: how far rounding was seen to move each element; in the snapshot's arena. 0 all over where a
 * loop might not end for it. expected: of an ordinary run. */
clp_status clpi_sway_new(clpi_check *check, const clpi_levels *levels, const clpi_kept *expected, double ***out_moves);

/* ---- device.c: the context's device, with memory like the snapshot's ---- */

typedef struct clpi_device {
    clpi_check *check;
    const clpi_backend *backend;
    void       *dev;
    void      **mem;              /* [n_regions] */
    clpi_place *places;           /* [n_operands] */
} clpi_device;

clp_status clpi_device_open(clpi_check *check, clpi_device *out);
void       clpi_device_close(clpi_device *device);            /* one never opened too */
/* What the device runs for check->kernel under a schedule; for other IR in place of it. */
clp_status clpi_device_compile(clpi_device *device, const clpi_ir *ir, const clpi_plan *plan, clp_schedule schedule, void **out_exe);
void       clpi_device_discard(clpi_device *device, void *exe);
/* One run, from work as it stands, which then has the results. places: the device's own, and more. What the launch ran into
 * (a failed assert) is told, in the snapshot's arena, and ends nothing.                                                 */
clp_status clpi_device_run(clpi_device *device, void *exe, const clpi_bound *bound, const clpi_place *places, const char **out_fault);

/* ---- probe.c ----
 * The same kernel with one more output for each op of ops, which gets its value in each step of a sequence and, within `for`
 * loops, each of the first CLPI_PROBE_TURNS iterations: shape [steps.., turns.., elements]. Fits launches of one sequence. */
enum { CLPI_PROBE_TURNS = 64, CLPI_PROBE_LOOPS = 4 };

typedef struct clpi_probe {
    uint32_t op;
    int      n_loops;
    uint32_t loop[CLPI_PROBE_LOOPS];             /* outermost first; deeper ones keep the last iteration */
    int64_t  turns[CLPI_PROBE_LOOPS];
    int64_t  n_elems;
} clpi_probe;

bool       clpi_probe_at(const clpi_ir *ir, uint32_t op, clpi_probe *out);    /* false: not one that can be probed */
clp_status clpi_ir_probe(const clpi_ir *ir, clpi_arena *arena, const clpi_probe *probes, int n_probes, clpi_ir **out_ir);

/* ---- points.c ---- */

/* What a point of a kernel's lists left in the written regions. */
typedef struct clpi_point_results { const clp_kernel *kernel; const char *params; clpi_kept kept; } clpi_point_results;

/* out_why: NULL, or where got is further from want than rounding explains, in arena. check: its snapshot has the arrays. */
clp_status clpi_points_compare(clpi_check *check, const clpi_point_results *got, const clpi_point_results *want, clpi_arena *arena,
                               const char **out_why);

/* ---- bisect.c ---- */

/* The first statement, in the order of execution of the writer's sequence, whose value differs on the device. */
typedef struct clpi_culprit { uint32_t op; const char *words; } clpi_culprit;      /* op 0: none was found */
clp_status clpi_bisect(clpi_check *check, clpi_device *device, const clpi_writer *writer, clp_schedule schedule, clpi_culprit *out);

#endif
