/* memory: what loads, stores (memory.c) and atomics (atomic.c) share: a place of a ref, ready to be used. */
#ifndef CLPI_INTERP_MEMORY_H
#define CLPI_INTERP_MEMORY_H

#include "interp/interp.h"

typedef struct clpi_ref_access {
    int       operand;
    clp_dtype dtype;              /* of the operand */
    clpi_view view;
    clpi_elem pad;
    uint32_t  op;
    uint32_t  mask, other, value[2];    /* values; 0: none */
    bool      may_alias;          /* loads: the tile may be the array's own memory */
} clpi_ref_access;

clpi_ref_access *clpi_ref_access_new(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s);    /* NULL: out of memory */
/* Element and state of every lane, in the step's temporary. false: a lane is out of range, reported. A watch may have such
 * lanes stay: their state is CLPI_LANE_OUT.                                                                             */
bool clpi_ref_access_lanes(const clpi_run *run, const clpi_eval_step *s, const clpi_ref_access *x, int64_t **out_at, uint8_t **out_state);

/* ---- watch.c ---- */
void clpi_watch_rows(const clpi_run *run, const clpi_eval_step *s, const clpi_loops *loops);      /* of a load */
void clpi_watch_lanes(const clpi_run *run, const clpi_eval_step *s, clpi_touch_kind kind, const int64_t *at, const uint8_t *state);
void clpi_watch_write(const clpi_run *run, const clpi_eval_step *s, int64_t at, int64_t step, int64_t n, bool is_done);

#endif
