/* shadow: the granules of written memory, numbered.
 * In: touches, numbers. Out: the granules that a touch covers; the element that a granule belongs to; what it holds.
 * A granule is as large as the smallest element in its region, so that elements of different sizes in one memory meet in what
 * they share. Memory that the kernel does not write has none: reading it cannot be wrong.                               */
#include <stdlib.h>
#include <string.h>

#include "check/check.h"

/* The region that holds operand's array, when its granules are numbered. */
static const clpi_memory_region *region_of(const clpi_check *check, int operand)
{
    int r = check->snapshot.region_of[operand];
    const clpi_memory_region *region = r < 0 ? NULL : &check->snapshot.regions[r];
    return region && region->is_written ? region : NULL;
}

bool clpi_shadow_row(const clpi_check *check, const clpi_touch *touch, uint64_t *out_first, int64_t *out_step, int *out_n_each)
{
    const clpi_memory_region *region = region_of(check, touch->operand);
    if (!region)
        return false;
    int64_t bits = clp_dtype_bits(check->ir->operands[touch->operand].dtype);
    int64_t each = bits / region->bits, from = (int64_t)check->snapshot.at[touch->operand] * 8 / region->bits;
    *out_first = region->first_granule + (uint64_t)(from + touch->at * each);
    *out_step = touch->step * each;
    *out_n_each = (int)each;
    return true;
}

/* ---- Elements by their places ---- */

typedef struct dim { int number; int64_t size, stride; } dim;
typedef struct dims { dim items[CLP_MAX_RANK]; int n; int64_t rest_lo[CLP_MAX_RANK + 1], rest_hi[CLP_MAX_RANK + 1]; } dims;

static int by_stride_falling(const void *a, const void *b)
{
    int64_t x = llabs(((const dim *)a)->stride), y = llabs(((const dim *)b)->stride);
    return (x < y) - (x > y);
}

/* Dimensions by falling stride; what those from k on can add up to. */
static void sort_dims(const clpi_bound_operand *o, int rank, dims *out)
{
    out->n = rank;
    for (int d = 0; d < rank; d++)
        out->items[d] = (dim){ d, o->size[d], o->stride[d] };
    qsort(out->items, (size_t)rank, sizeof *out->items, by_stride_falling);
    out->rest_lo[rank] = out->rest_hi[rank] = 0;
    for (int k = rank - 1; k >= 0; k--) {
        int64_t reach = (out->items[k].size - 1) * out->items[k].stride;
        out->rest_lo[k] = out->rest_lo[k + 1] + (reach < 0 ? reach : 0);
        out->rest_hi[k] = out->rest_hi[k + 1] + (reach > 0 ? reach : 0);
    }
}

static bool solve(const dims *s, int k, int64_t target, int64_t *out_index)
{
    if (target < s->rest_lo[k] || target > s->rest_hi[k])
        return false;
    if (k == s->n)
        return target == 0;
    const dim *d = &s->items[k];
    if (d->stride == 0 || d->size == 1) {
        out_index[d->number] = 0;
        return solve(s, k + 1, target, out_index);
    }
    /* target - i * stride must stay within what the rest can add up to */
    int64_t a = target - s->rest_hi[k + 1], b = target - s->rest_lo[k + 1], stride = llabs(d->stride);
    int64_t lo = d->stride > 0 ? a : -b, hi = d->stride > 0 ? b : -a;
    int64_t i = lo <= 0 ? 0 : (lo + stride - 1) / stride;
    for (; i < d->size && i * stride <= hi; i++) {
        out_index[d->number] = i;
        if (solve(s, k + 1, target - i * d->stride, out_index))
            return true;
    }
    return false;
}

bool clpi_shadow_element(const clpi_check *check, int operand, uint64_t granule, int64_t *out_element)
{
    const clpi_memory_region *region = region_of(check, operand);
    const clpi_operand *x = &check->ir->operands[operand];
    const clpi_bound_operand *o = &check->snapshot.bound->operands[operand];
    if (!region || granule < region->first_granule)
        return false;
    for (int d = 0; d < x->rank; d++)
        if (o->size[d] == 0)
            return false;
    int64_t each = clp_dtype_bits(x->dtype) / region->bits;
    int64_t from = (int64_t)check->snapshot.at[operand] * 8 / region->bits;
    int64_t at = (int64_t)(granule - region->first_granule) - from;
    if (at < 0)
        return false;
    dims s;
    sort_dims(o, x->rank, &s);
    return solve(&s, 0, at / each - o->offset, out_element);
}

uint64_t clpi_shadow_bits(const clpi_check *check, uint64_t granule)
{
    const clpi_snapshot *s = &check->snapshot;
    const clpi_memory_region *region = s->regions;
    while (!region->is_written || granule < region->first_granule ||
           granule - region->first_granule >= (uint64_t)region->n_bytes * 8 / (uint64_t)region->bits)
        region++;
    uint64_t at = granule - region->first_granule, bits = 0;
    if (region->bits == 4)
        return region->work[at >> 1] >> (at & 1) * 4 & 15;
    size_t bytes = (size_t)region->bits / 8;
    memcpy(&bits, region->work + at * bytes, bytes);
    return bits;
}
