/* spans: the memory that the arrays of a launch reach.
 * In: arrays of a bound launch. Out: the bytes of each; those that overlap, by way of others too, joined to regions. */
#include <assert.h>

#include "plan/plan.h"

clpi_span clpi_span_of(const clpi_bound *bound, int operand, const clp_array *array)
{
    const clpi_operand *x = &bound->plan->ir->operands[operand];
    const clpi_bound_operand *o = &bound->operands[operand];
    const int64_t bits = clp_dtype_bits(x->dtype), base = array->buffer ? 0 : (int64_t)(uintptr_t)array->data;
    int64_t lo, hi;
    bool is_counted = clpi_extent(o, x->rank, &lo, &hi);
    assert(is_counted && "binding refuses larger ones");
    (void)is_counted;
    int64_t start = clpi_is_packed(x->dtype) ? lo >> 1 : lo * (bits / 8), end = clpi_is_packed(x->dtype) ? (hi + 1) >> 1 : hi * (bits / 8);
    return (clpi_span){ .operand = operand, .space = (uintptr_t)array->buffer, .start = base + start,
                        .end = base + (lo == hi ? start : end), .element_0 = o->offset - start * 8 / bits };
}

static bool overlap(const clpi_span *a, const clpi_span *b)
{
    return a->space == b->space && a->start < b->end && b->start < a->end;
}

/* Region a takes in b, with all spans in it. */
static void take_in(clpi_span *spans, int n, clpi_span *regions, int a, int b)
{
    regions[a].start = regions[b].start < regions[a].start ? regions[b].start : regions[a].start;
    regions[a].end = regions[b].end > regions[a].end ? regions[b].end : regions[a].end;
    for (int i = 0; i < n; i++)
        spans[i].region = spans[i].region == b ? a : spans[i].region;
}

int clpi_spans_join(clpi_span *spans, int n, clpi_span *out_regions)
{
    int n_regions = 0;
    for (int i = 0; i < n; i++) {
        spans[i].region = i;
        out_regions[i] = spans[i];
    }
    /* A region has the number of its first span. */
    for (int a = 0; a < n; a++)
        for (int b = a + 1; spans[a].region == a && b < n; b++)
            if (spans[b].region == b && overlap(&out_regions[a], &out_regions[b])) {
                take_in(spans, n, out_regions, a, b);
                b = a; /* what has grown may overlap one that was passed */
            }
    for (int i = 0; i < n; i++) {
        const int first = spans[i].region;
        if (first == i)
            out_regions[n_regions] = out_regions[i];
        spans[i].region = first == i ? n_regions++ : spans[first].region;
    }
    return n_regions;
}
