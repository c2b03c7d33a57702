/* counting: what the files that count work share (work.c, work_known.c, work_extent.c, work_sum.c, work_traffic.c).
 *
 * All that differs from program to program is a factor: a number that a program has, with the axes it depends on. What is
 * counted are sums of products of factors over programs (work_sum.c).                                                  */
#ifndef CLPI_PLAN_COUNTING_H
#define CLPI_PLAN_COUNTING_H

#include "plan/bind.h"
#include "plan/work.h"

/* A scalar of the body that program ids, sizes, scalars and prefetched data decide (work_known.c). */
typedef struct clpi_knowledge {
    bool     is_known;
    bool     is_index;           /* index arithmetic: of no data, and not known only where the index of a loop is in it */
    bool     reads_data;
    uint32_t axes;
} clpi_knowledge;

typedef enum clpi_factor_kind {
    CLPI_FACTOR_EXTENT,                  /* how many of elements start, start + stride, ... (size of them) of a block's dimension exist */
    CLPI_FACTOR_SAME,                    /* 1: the index is that of the program before, else 0 */
    CLPI_FACTOR_IF, CLPI_FACTOR_UNLESS,  /* 1 or 0, as `value` holds */
    CLPI_FACTOR_TRIPS                    /* of the loop `op` */
} clpi_factor_kind;

typedef struct clpi_factor {
    clpi_factor_kind kind;
    uint32_t axes;
    bool     reads_data;
    int      operand, dim;       /* EXTENT; SAME, where value is none */
    int64_t  start, stride, size;
    clp_val  value;              /* a scalar of the body */
    uint32_t op;
    int      level;              /* SAME: the axis that the step from the program before moves */
} clpi_factor;

/* The programs that a sum goes over: of each axis n from lo on. */
typedef struct clpi_ranges { int64_t lo[CLPI_MAX_AXES], n[CLPI_MAX_AXES]; } clpi_ranges;

enum { CLPI_MAX_PRODUCT = 256 };      /* factors: a dimension and a region each have one */

/* A product over which is summed. is_exact: nothing that data decide was left out of it. */
typedef struct clpi_product { double constant; bool is_exact; int factors[CLPI_MAX_PRODUCT]; int n; } clpi_product;

typedef struct clpi_id_list { uint32_t *ids, n; } clpi_id_list;

typedef struct clpi_component_sum { int *factors; int n; double sum; bool is_exact; } clpi_component_sum;

typedef struct clpi_counting {
    const clpi_bound    *bound;
    const clpi_ir       *ir;
    const clpi_prefetch *prefetch;
    clpi_arena          *arena;
    clpi_knowledge      *known;              /* [ops.n] */
    clpi_elem           *values;             /* [ops.n] of known scalars in the program looked at */
    clpi_id_list        *needs;              /* [ops.n] of known scalars, what they are made of */
    int                 *order;              /* [n_axes] outermost first: the parallel axes, then the others */
    clpi_ranges          all;
    struct { clpi_factor *items; uint32_t n, cap; } factors;      /* [0] is none */
    struct { clpi_component_sum *items; uint32_t n, cap; } sums;  /* over all programs, each component once */
    const clpi_product **runs;               /* [ops.n] how often each op of the body runs in a program */
    uint32_t            *first_dim;          /* [ops.n] where a value's dimensions begin in clips */
    int                 *clips;              /* of each dimension of each value the factor that says how many exist; 0: all */
} clpi_counting;

/* ---- work_sum.c ---- */
int    clpi_factor_intern(clpi_counting *c, const clpi_factor *f);          /* its number; 0: out of memory */
double clpi_product_sum(clpi_counting *c, const clpi_product *p, const clpi_ranges *over, bool *is_exact);   /* clears is_exact where it samples */
void   clpi_product_add(clpi_product *p, int factor);                  /* 0: nothing */

/* ---- work_known.c ---- */
void clpi_known_find(clpi_counting *c);                                /* fills c->known */
bool clpi_known_value(clpi_counting *c, clp_val v, const int64_t *program, clpi_elem *out);    /* v is known; false: it reads outside an array */

/* ---- work_extent.c ---- */
bool clpi_clips_find(clpi_counting *c);                                /* fills first_dim, clips; false: out of memory */
/* The factor of dimension d of what an op works on; dimensions of v. */
static inline int clpi_clip_of(const clpi_counting *c, clp_val v, int d)
{
    return c->clips[c->first_dim[v.id] + (uint32_t)d];
}
int clpi_block_extent(clpi_counting *c, int operand, int dim, int64_t start, int64_t stride, int64_t size);   /* 0: all exist */
int clpi_result_dim(const clpi_ir *ir, const clpi_op *op, int arg, int d);    /* of the result, that dimension d of operand arg becomes; -1: none */

/* ---- work_traffic.c ---- */
bool clpi_traffic_count(clpi_counting *c, clpi_work *out);             /* false: out of memory */

#endif
