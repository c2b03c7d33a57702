/* overlap: whether what a launch writes shares memory with anything else.
 * In: a bound launch and its arrays. Out: ARG naming the operands, where storage that is written overlaps itself or, without
 * `alias`, another operand's. Scalars are read before the launch and share nothing.
 *
 * Two arrays with equal strides s overlap exactly when  sum of s[k] * d[k] = distance  has a solution in whole numbers,
 * d[k] being an index of one less an index of the other; one array overlaps itself when it has one other than zeros at
 * distance 0. Other pairs are judged by the range of memory they reach. Memory is counted in units of four bits.         */
#include <assert.h>
#include <stdlib.h>

#include "plan/bind.h"

typedef struct reach {
    const clp_array *array;
    const clpi_bound_operand *operand;
    int     rank;
    int64_t unit;             /* of one element */
    int64_t element_0;        /* where element 0 stands; host memory: by address */
    int64_t lo, hi;           /* lo <= unit < hi */
} reach;

static reach reach_of(const clpi_bound *bound, const clpi_launch_args *args, int operand)
{
    const clpi_ir *ir = bound->plan->ir;
    const clpi_bound_operand *o = &bound->operands[operand];
    reach r = { .array = &args->arrays[clpi_array_number(ir, operand)], .operand = o, .rank = ir->operands[operand].rank };
    int64_t lo, hi;
    bool is_counted = clpi_extent(o, r.rank, &lo, &hi);
    assert(is_counted && "bind refuses larger ones");
    (void)is_counted;
    int64_t start = r.array->buffer ? 0 : 2 * (int64_t)(uintptr_t)r.array->data;
    r.unit = clp_dtype_bits(ir->operands[operand].dtype) / 4;
    r.element_0 = start + o->offset * r.unit;
    r.lo = start + lo * r.unit;
    r.hi = start + hi * r.unit;
    return r;
}

/* ---- Sums of strides ---- */

typedef struct term { int64_t stride, lo, hi; } term;      /* stride > 0; lo <= d <= hi */

typedef struct problem {
    term    terms[CLP_MAX_RANK];     /* the largest stride first */
    int     n;
    int64_t rest_lo[CLP_MAX_RANK + 1], rest_hi[CLP_MAX_RANK + 1];    /* what terms[k ..] can sum up to */
    int     budget;                  /* steps left: strides that interleave wildly are given up on, as overlapping */
} problem;

enum { MAX_STEPS = 65536 };

static int by_stride_falling(const void *a, const void *b)
{
    int64_t x = ((const term *)a)->stride, y = ((const term *)b)->stride;
    return (x < y) - (x > y);
}

static void add_term(problem *p, int64_t stride, int64_t lo, int64_t hi)
{
    if (stride != 0 && (lo != 0 || hi != 0))
        p->terms[p->n++] = stride > 0 ? (term){ stride, lo, hi } : (term){ -stride, -hi, -lo };
}

static void finish(problem *p)
{
    qsort(p->terms, (size_t)p->n, sizeof *p->terms, by_stride_falling);
    p->rest_lo[p->n] = p->rest_hi[p->n] = 0;
    for (int k = p->n; k-- > 0;) {
        p->rest_lo[k] = p->rest_lo[k + 1] + p->terms[k].stride * p->terms[k].lo;
        p->rest_hi[k] = p->rest_hi[k + 1] + p->terms[k].stride * p->terms[k].hi;
    }
    p->budget = MAX_STEPS;
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && a < 0);
}

/* Whether terms[k ..] can sum up to target. */
static bool sums_to(problem *p, int k, int64_t target)
{
    if (target < p->rest_lo[k] || target > p->rest_hi[k])
        return false;
    if (k == p->n || p->budget <= 0)
        return true;
    const term *t = &p->terms[k];
    int64_t first = -floor_divide(p->rest_hi[k + 1] - target, t->stride);
    int64_t last = floor_divide(target - p->rest_lo[k + 1], t->stride);
    if (first < t->lo)
        first = t->lo;
    if (last > t->hi)
        last = t->hi;
    for (int64_t d = first; d <= last; d++) {
        p->budget--;
        if (sums_to(p, k + 1, target - t->stride * d))
            return true;
    }
    return false;
}

/* ---- Arrays ---- */

static bool overlaps_itself(const reach *r)
{
    const clpi_bound_operand *o = r->operand;
    if (r->lo == r->hi)
        return false;
    for (int first = 0; first < r->rank; first++) {
        if (o->size[first] == 1)
            continue;
        if (o->stride[first] == 0)
            return true;
        problem p = { .n = 0 };
        add_term(&p, o->stride[first], 1, o->size[first] - 1);
        for (int k = first + 1; k < r->rank; k++)
            add_term(&p, o->stride[k], 1 - o->size[k], o->size[k] - 1);
        finish(&p);
        if (sums_to(&p, 0, 0))
            return true;
    }
    return false;
}

/* Strides are equal where both arrays have more than one element; where one has more, its own counts. */
static bool have_equal_strides(const reach *a, const reach *b, problem *out)
{
    *out = (problem){ .n = 0 };
    if (a->unit != b->unit || a->rank != b->rank)
        return false;
    for (int k = 0; k < a->rank; k++) {
        int64_t of_a = a->operand->size[k], of_b = b->operand->size[k];
        if (of_a > 1 && of_b > 1 && a->operand->stride[k] != b->operand->stride[k])
            return false;
        add_term(out, of_a > 1 ? a->operand->stride[k] : b->operand->stride[k], 1 - of_b, of_a - 1);
    }
    finish(out);
    return true;
}

static bool overlap(const reach *a, const reach *b)
{
    problem p;
    if (a->array->buffer != b->array->buffer || a->lo >= b->hi || b->lo >= a->hi || a->lo == a->hi || b->lo == b->hi)
        return false;
    if (!have_equal_strides(a, b, &p))
        return true;
    /* An element of b starts within an element of a, or the other way about: the two nearest whole distances. */
    int64_t distance = floor_divide(b->element_0 - a->element_0, a->unit);
    if (sums_to(&p, 0, distance))
        return true;
    p.budget = MAX_STEPS;
    return distance * a->unit != b->element_0 - a->element_0 && sums_to(&p, 0, distance + 1);
}

static bool has_memory(const clpi_operand *x)
{
    return x->role != CLP_SCRATCH && x->role != CLP_SCALAR;
}

/* Operand b is another one in the memory of a, which is written; or a itself, with elements in one place. */
static bool is_shared(const clpi_bound *bound, const clpi_launch_args *args, int a, int b)
{
    const clpi_plan *plan = bound->plan;
    const clpi_operand *operands = plan->ir->operands;
    if (!plan->is_written[a] || !has_memory(&operands[a]) || !has_memory(&operands[b]))
        return false;
    reach of_a = reach_of(bound, args, a);
    if (a == b)
        return overlaps_itself(&of_a);
    if (plan->storage[a] == plan->storage[b] || (plan->is_written[b] && b < a))
        return false;
    reach of_b = reach_of(bound, args, b);
    return overlap(&of_a, &of_b);
}

bool clpi_overlap_next(const clpi_bound *bound, const clpi_launch_args *args, int *a, int *b)
{
    const int n = bound->plan->ir->n_operands;
    for ((*b)++; *a < n; (*a)++, *b = 0)
        for (; *b < n; (*b)++)
            if (is_shared(bound, args, *a, *b))
                return true;
    return false;
}

clp_status clpi_overlap_check(const clpi_bound *bound, const clpi_launch_args *args, clpi_env *env)
{
    const clpi_operand *operands = bound->plan->ir->operands;
    int a = 0, b = -1;
    if (!clpi_overlap_next(bound, args, &a, &b))
        return CLP_OK;
    if (a == b)
        return clpi_fail(env, CLP_ERR_ARG, "%s: it is written, and its strides let elements share memory", operands[a].name);
    return clpi_fail(env, CLP_ERR_ARG, "%s: it is written, and shares memory with %s without `alias`", operands[a].name,
                     operands[b].name);
}
