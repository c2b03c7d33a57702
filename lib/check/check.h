/* check: what the files of this folder share.
 *
 *     check.c              clp_check and clp_verify: the pipeline
 *     proofs.c             what holds for all shapes; prove.h is the map of the files below it
 *     snapshot.c           copies of the arrays' memory, to run on as often as needed; launches on the interpreter
 *     checkers.c           the table of checkers, and the watch that feeds them
 *     races.c owners.c memory.c values.c         checkers: what they watch for stands in their heads
 *     shadow.c tally.c     what they share: elements of what the kernel writes, numbered; findings counted
 *     orders.c             results under other orders of the programs
 *     verify.c bisect.c    the device against the interpreter; the first statement that differs. agree.h: device.c runs it,
 *                          levels.c, sway.c and compare.c know how far values may be apart, probe.c makes a kernel tell them
 *     report.c             findings: merged, ordered, worded
 *     tune.c points.c      clp_tune, which takes no result that verify.c would not, nor one that hangs on what is tuned
 *
 * A new check that looks at one run is a row of the table; one that needs other runs is a call in check.c.               */
#ifndef CLPI_CHECK_H
#define CLPI_CHECK_H

#include "run/run.h"

typedef struct clpi_check clpi_check;

/* ---- report.c ---- */

/* A finding before it is worded. Those of one kind, operand and pair of accesses become one: elements are added up, and the
 * programs are those of the first element.                                                                              */
typedef struct clpi_found {
    clp_finding_kind kind;
    int              operand;         /* number in the IR; -1: none */
    uint64_t         n_elements;
    uint64_t         n_times;         /* of what is not about elements of an array: how often it happened */
    int64_t          element[CLP_MAX_RANK];         /* the first one */
    int64_t          start[CLP_MAX_RANK], end[CLP_MAX_RANK];    /* the box around all */
    int              n_programs;
    int64_t          program[2][CLPI_MAX_AXES];
    uint32_t         op[2];           /* accesses, the earlier one first; 0: none */
    clpi_pos         pos;             /* in the text, of what is no op: the map of a block; else line 0 */
    uint32_t         axes;            /* races: the grid axes in which the programs differ, a bit each */
    bool             is_read, is_updated;    /* races: others read it too, update it too */
    const char      *message;         /* in the report's arena; NULL: made of the rest (races) */
} clpi_found;

clp_status clpi_report_new(clpi_env *env, const clp_kernel *kernel, int max_findings, clp_report **out_report);
/* OOM alone. One like an earlier one (kind, operand, ops) is added to that. */
clp_status clpi_report_add(clp_report *report, const clpi_found *found);
/* Whether something of that kind was found of the operand (-1: any), by op (0: any). */
bool       clpi_report_has(const clp_report *report, clp_finding_kind kind, int operand, uint32_t op);
/* A line of what holds for all shapes, or why it was not decided. */
clp_status clpi_report_fact(clp_report *report, const char *format, ...) CLP_PRINTF(2, 3);
void       clpi_report_all_proved(clp_report *report);
void       clpi_report_difference(clp_report *report, int operand, const int64_t *element, double abs, double rel, double ulp,
                                  double got, double expected);       /* kept when larger, in ulp, than what is there */
void       clpi_report_bind(clp_report *report, const clpi_bound *bound);    /* known until it is finished */
clp_status clpi_report_finish(clp_report *report);                    /* orders and words; then the public calls may look */
clpi_arena *clpi_report_arena(clp_report *report);

/* ---- snapshot.c ---- */

enum { CLPI_GRANULE_ALIGN = 64 };

/* Memory of one or more operands that overlap. */
typedef struct clpi_memory_region {
    const uint8_t *given;             /* what the caller's arrays hold; not changed */
    uint8_t *work;                    /* what runs use: a copy when something in it is written, else given itself */
    size_t   n_bytes;
    int      bits;                    /* of a granule: the smallest element in it */
    bool     is_written;
    bool     is_poisoned;             /* outputs alone, without alias: their elements start as poison */
    uint64_t first_granule;           /* of written regions; a multiple of CLPI_GRANULE_ALIGN */
    void    *mem;                     /* work, as the interpreter's memory */
} clpi_memory_region;

/* A launch on copies. region_of: of each operand; scratch and scalars -1. at: bytes from the region's start to the operand's
 * place. Arrays overlap as the caller's do.                                                                              */
typedef struct clpi_snapshot {
    clpi_arena   arena;               /* lives until the check is over: for what its parts keep */
    clp_event   *event;               /* the arrays as checked, with scalars on the host; it is never launched */
    clpi_memory_region *regions;    int n_regions;
    int         *region_of;           /* [n_operands] */
    size_t      *at;                  /* [n_operands] */
    clpi_bound  *bound;
    clpi_place  *places;
    void        *dev, *exe;           /* of the interpreter */
    uint64_t     n_granules;          /* of written memory: an element of the smallest dtype in its region each */
} clpi_snapshot;

clp_status clpi_snapshot_open(clpi_check *check);                     /* of check->arrays */
void       clpi_snapshot_close(clpi_check *check);
void       clpi_snapshot_reset(clpi_check *check);                    /* work as before the first run */
/* One run over the launch's box, on work as it stands. Faults do not end it: without a watch they are passed over. */
clp_status clpi_snapshot_run(clpi_check *check, clp_order order, uint64_t seed, const clpi_watch *watch);
/* The same, forward and from the start, with pad (stored bits) for integers outside the arrays where the kernel says nothing of them. */
clp_status clpi_snapshot_run_padded(clpi_check *check, uint64_t pad, const clpi_watch *watch);
bool       clpi_go_on(void *user, const clpi_fault *fault);           /* the fault of a watch that passes them over */

/* ---- shadow.c: the granules of written memory, numbered ----
 * What a checker keeps about each is its own affair.                                                                    */

/* The granules of a touch: element i has those from out_first + i * step on, n_each of them. false: none is numbered. */
bool clpi_shadow_row(const clpi_check *check, const clpi_touch *touch, uint64_t *out_first, int64_t *out_step, int *out_n_each);
/* The element of an operand's array that a granule belongs to; false: to none. */
bool clpi_shadow_element(const clpi_check *check, int operand, uint64_t granule, int64_t *out_element);
uint64_t clpi_shadow_bits(const clpi_check *check, uint64_t granule);         /* what it holds now */

/* ---- checkers.c ---- */

/* One run, forward, watched. open makes the state in the snapshot's arena (NULL: nothing to look for in this kernel), close
 * reports; it may run the kernel again, and is not called when the run failed.                                          */
typedef struct clpi_checker {
    unsigned   bit;                   /* CLP_CHECK_; of several any will do */
    clp_status (*open) (clpi_check *check, void **out_state);
    void       (*enter)(void *state, uint64_t sequence, uint64_t step, const int64_t *program);
    void       (*touch)(void *state, const clpi_touch *touch);
    void       (*wrote)(void *state, const clpi_touch *touch);
    void       (*step) (void *state, uint32_t op, clpi_value_fn *value, const void *run);
    void       (*fault)(void *state, const clpi_fault *fault);        /* the run goes on */
    clp_status (*close)(void *state);
} clpi_checker;

extern const clpi_checker clpi_check_races, clpi_check_memory, clpi_check_faults, clpi_check_non_finite, clpi_check_overflow, clpi_check_division;
clp_status clpi_checkers_run(clpi_check *check);
/* Of the state of clpi_check_memory: what the granule holds is made of what nobody wrote. */
bool       clpi_memory_is_unknown(const void *state, uint64_t granule);

/* ---- orders.c, verify.c, bisect.c, proofs in prove.h ---- */
clp_status clpi_check_orders(clpi_check *check);
clp_status clpi_unsettled_open(clpi_check *check);                    /* makes is_unsettled; once made it stays */
clp_status clpi_check_device(clpi_check *check);
clp_status clpi_check_proofs(clpi_check *check);

struct clpi_check {
    clpi_env         *env;
    clp_kernel       *kernel;         /* the one that a launch on these arrays runs */
    const clpi_ir    *ir;
    const clpi_plan  *plan;
    const clp_array  *arrays;         /* the caller's */
    int               n_arrays;
    clp_check_opts    opts;           /* defaults filled in */
    clp_run_opts      run;
    clp_report       *report;
    clpi_snapshot     snapshot;
    const clpi_ir    *device_ir;      /* what the device runs: ir; tests put other IR of the same form there */
    const clpi_plan  *device_plan;
    bool              is_brief;       /* the device: one run, under the context's schedule alone */
    bool            **is_unsettled;   /* [n_operands] of results: elements that are not the same in all orders, and those that race, but
                                       * for races of equal values; NULL: nobody looked yet */
    bool             *is_racing;      /* [n_operands] elements of its memory race, likewise; made with is_unsettled */
};

/* check.c: one check whose kernel, arrays, opts, device_ir and device_plan are filled in. */
clp_status clpi_check_run(clpi_check *check, clp_report **out_report);

#endif
