/* check: what the files of this folder share.
 *
 *     check.c       clp_check and clp_verify: the pipeline
 *     checkers.c    the table of checkers, and the watch that feeds them
 *     snapshot.c    copies of the arrays' memory, to run on as often as needed; launches on the interpreter
 *     shadow.c      a record for each element of what the kernel writes
 *     races.c memory.c values.c                          checkers: what they watch for stands in their heads
 *     orders.c verify.c bisect.c prove*.c                parts that run the kernel, or look at it, in their own ways
 *     report.c      findings: merged, ordered, worded
 *
 * A new check that looks at one run is a row of the table; one that needs other runs is a call in check.c.               */
#ifndef CLPI_CHECK_H
#define CLPI_CHECK_H

#include "run/run.h"

typedef struct clpi_check clpi_check;

/* ---- report.c ---- */

/* A finding before it is worded. Findings of one kind, operand, and pair of accesses become one; elements are added up. */
typedef struct clpi_found {
    clp_finding_kind kind;
    int              operand;         /* number in the IR; -1: none */
    uint64_t         n_elements;
    int64_t          element[CLP_MAX_RANK];         /* the first one */
    int64_t          start[CLP_MAX_RANK], end[CLP_MAX_RANK];    /* the box around all */
    int              n_programs;
    int64_t          program[2][CLPI_MAX_AXES];
    uint32_t         op[2];           /* accesses, the earlier one first; 0: none */
    int              axis;            /* -1: none */
    const char      *message;         /* in the report's arena; NULL: made of the rest */
} clpi_found;

clp_status clpi_report_new(clpi_env *env, const clp_kernel *kernel, int max_findings, clp_report **out_report);
/* OOM alone. One like an earlier one (kind, operand, ops) is added to that. */
clp_status clpi_report_add(clp_report *report, const clpi_found *found);
/* A line of what holds for all shapes, or why it was not decided. */
clp_status clpi_report_fact(clp_report *report, const char *format, ...) CLP_PRINTF(2, 3);
void       clpi_report_all_proved(clp_report *report);
void       clpi_report_difference(clp_report *report, int operand, const int64_t *element, double abs, double rel, double ulp,
                                  double got, double expected);       /* kept when larger, in ulp, than what is there */
clp_status clpi_report_finish(clp_report *report);                    /* orders and words; then the public calls may look */
clpi_arena *clpi_report_arena(clp_report *report);

/* ---- snapshot.c ---- */

/* Memory of one or more operands that touch: bytes start .. start + n_bytes of the caller's, copied. */
typedef struct clpi_region {
    uint8_t *initial, *work;
    size_t   n_bytes;
    int      bits;                    /* of a granule: the smallest element in it; shadow has a record for each */
    bool     is_written;
    uint64_t first_record;            /* in the shadow; of written regions */
    void    *mem;                     /* work, as the interpreter's memory */
} clpi_region;

/* A launch on copies. region_of: of each operand; scratch and scalars -1. at: bytes from the region's start to the operand's
 * place. Arrays overlap as the caller's do.                                                                              */
typedef struct clpi_snapshot {
    clpi_arena   arena;
    clpi_region *regions;    int n_regions;
    int         *region_of;           /* [n_operands] */
    size_t      *at;                  /* [n_operands] */
    clpi_bound  *bound;
    clpi_place  *places;
    void        *dev, *exe;           /* of the interpreter */
} clpi_snapshot;

clp_status clpi_snapshot_open(clpi_check *check, const clp_array *arrays, int n_arrays);
void       clpi_snapshot_close(clpi_check *check);
void       clpi_snapshot_reset(clpi_check *check);                    /* work = initial */
/* One run over the launch's box, on work as it stands. */
clp_status clpi_snapshot_run(clpi_check *check, clp_order order, uint64_t seed, const clpi_watch *watch);

/* ---- shadow.c ---- */

/* 16 bytes for each granule of written memory. Programs are numbered from 1 in the order of a forward run: sequence *
 * n_steps + step + 1; 0: none. Flags belong to the checkers.                                                             */
typedef struct clpi_shadow_record { uint32_t writer, reader, atomic, flags; } clpi_shadow_record;
typedef struct clpi_shadow { clpi_shadow_record *records; uint64_t n; } clpi_shadow;
enum { CLPI_SHADOW_WRITTEN = 1, CLPI_SHADOW_UNWRITTEN_READ = 2, CLPI_SHADOW_FREE = 4 };    /* memory.c's; from FREE on: races.c's */
clp_status clpi_shadow_open(clpi_check *check);
void       clpi_shadow_close(clpi_check *check);
/* The records of a touch: element i has those from out_first + i * step on, n_each of them. false: none is kept. */
bool       clpi_shadow_row(const clpi_check *check, const clpi_touch *touch, uint64_t *out_first, int64_t *out_step, int *out_n_each);
/* Element of an operand's array that a granule of its region belongs to; false: to none. */
bool       clpi_shadow_element(const clpi_check *check, int operand, uint64_t record, int64_t *out_element);

/* ---- checkers.c ---- */

/* One run, forward, watched. open makes the state (NULL: nothing to look for in this kernel), close reports. */
typedef struct clpi_checker {
    unsigned   bit;                   /* CLP_CHECK_ */
    clp_status (*open) (clpi_check *check, void **out_state);
    void       (*enter)(void *state, uint64_t sequence, uint64_t step, const int64_t *program);
    void       (*touch)(void *state, const clpi_touch *touch);
    void       (*wrote)(void *state, const clpi_touch *touch);
    void       (*step) (void *state, uint32_t op, const void *(*value)(const void *run, clp_val v), const void *run);
    bool       (*fault)(void *state, const clpi_fault *fault);        /* true: reported */
    clp_status (*close)(void *state);
} clpi_checker;

extern const clpi_checker clpi_check_races, clpi_check_memory, clpi_check_non_finite, clpi_check_overflow, clpi_check_division;
clp_status clpi_checkers_run(clpi_check *check);

/* ---- orders.c, verify.c, bisect.c, proofs in prove.h ---- */
clp_status clpi_check_orders(clpi_check *check);
clp_status clpi_check_device(clpi_check *check);
clp_status clpi_check_proofs(clpi_check *check);

struct clpi_check {
    clpi_env         *env;
    const clp_kernel *kernel;
    const clpi_ir    *ir;
    const clpi_plan  *plan;
    const clp_array  *arrays;         /* the caller's */
    int               n_arrays;
    clp_check_opts    opts;           /* defaults filled in */
    clp_run_opts      run;
    clp_report       *report;
    clpi_snapshot     snapshot;
    clpi_shadow       shadow;
};

#endif
