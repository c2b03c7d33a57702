/* windows: where one operand's block lies in one program.
 * In: a bound launch, an operand, a program. Out: start and valid part of the block in each dimension.
 * A block index is compared with the number of blocks before it is multiplied, so that no index, however wild, gives a
 * start that wraps into the array.                                                                                      */
#include <assert.h>

#include "plan/bind.h"

void clpi_index_range(const clpi_block_dim *dim, int64_t size, bool full, int64_t *out_lo, int64_t *out_hi)
{
    assert(dim->n > 0 && size >= 0);
    *out_lo = 0;
    switch (dim->kind) {
    case CLPI_BLOCK_PLAIN: *out_hi = full ? size / dim->n - 1 : (size - 1) / dim->n; break;
    case CLPI_BLOCK_SQUEEZED: *out_hi = size - 1; break;
    case CLPI_BLOCK_ELEMENT:
        /* start = index - pad_lo; 0 < start + n and start < size; full: 0 <= start and start + n <= size */
        *out_lo = full ? dim->pad_lo : dim->pad_lo - dim->n + 1;
        if (__builtin_add_overflow(dim->pad_lo - (full ? dim->n : 1), size, out_hi))
            *out_hi = INT64_MAX; /* a pad no index gets past */
        break;
    }
    if (size == 0)
        *out_hi = *out_lo - 1;
}

static bool has_empty_dim(const clpi_bound_operand *array, int rank)
{
    for (int d = 0; d < rank; d++)
        if (array->size[d] == 0)
            return true;
    return false;
}

bool clpi_window_of(const clpi_bound *bound, int operand, int d, const int64_t *program, const clpi_prefetch *prefetch,
                    clpi_window *out_window)
{
    const clpi_operand *x = &bound->plan->ir->operands[operand];
    const int64_t size = bound->operands[operand].size[d];
    *out_window = (clpi_window){ 0, 0, size };
    if (!x->has_block)
        return true;
    const clpi_block_dim *dim = &x->block[d];
    int64_t index, lo = 0, hi = 0;
    clpi_index_range(dim, size, false, &lo, &hi);
    if (!clpi_header_eval(bound, dim->index, program, prefetch, &index) || index < lo || index > hi) {
        *out_window = (clpi_window){ 0, 0, 0 };
        return false;
    }
    int64_t start = index;
    if (dim->kind == CLPI_BLOCK_PLAIN)
        start = index * dim->n;
    else if (dim->kind == CLPI_BLOCK_ELEMENT)
        start = index - dim->pad_lo;
    const int64_t rest = size - start;
    *out_window = (clpi_window){ start, start < 0 ? -start : 0, rest < dim->n ? rest : dim->n };
    return true;
}

bool clpi_windows(const clpi_bound *bound, int operand, const int64_t *program, const clpi_prefetch *prefetch,
                  clpi_window *out_windows)
{
    const clpi_operand *x = &bound->plan->ir->operands[operand];
    bool is_inside = true;
    for (int d = 0; d < x->rank; d++)
        is_inside = clpi_window_of(bound, operand, d, program, prefetch, &out_windows[d]) && is_inside;
    return is_inside || has_empty_dim(&bound->operands[operand], x->rank);
}

static void block_print(const clpi_operand *x, clpi_str *s)
{
    clpi_str_puts(s, "[");
    for (int d = 0; d < x->rank; d++) {
        clpi_str_puts(s, d ? ", " : "");
        switch (x->block[d].kind) {
        case CLPI_BLOCK_PLAIN: clpi_str_add(s, "%lld", (long long)x->block[d].n); break;
        case CLPI_BLOCK_SQUEEZED: clpi_str_puts(s, "_"); break;
        case CLPI_BLOCK_ELEMENT: clpi_str_add(s, "element(%lld)", (long long)x->block[d].n); break;
        }
    }
    clpi_str_puts(s, "]");
}

clpi_pos clpi_outside_pos(const clpi_bound *bound, int operand, const int64_t *program, const clpi_prefetch *prefetch)
{
    const clpi_operand *x = &bound->plan->ir->operands[operand];
    clpi_window window;
    int64_t index;
    for (int d = 0; d < x->rank; d++) {
        const bool is_known = prefetch || clpi_header_eval(bound, x->block[d].index, program, NULL, &index);
        if (is_known && !clpi_window_of(bound, operand, d, program, prefetch, &window))
            return x->block[d].pos;
    }
    return x->pos;
}

void clpi_window_message(const clpi_bound *bound, int operand, const int64_t *program, const clpi_prefetch *prefetch,
                         clpi_str *s)
{
    const clpi_ir *ir = bound->plan->ir;
    const clpi_operand *x = &ir->operands[operand];
    clpi_place_print(ir, clpi_outside_pos(bound, operand, program, prefetch), s);
    size_t start = s->n;
    clpi_str_add(s, "%s: ", x->name);
    clpi_program_print(ir, program, s);
    clpi_str_puts(s, ": block (");
    for (int d = 0; d < x->rank; d++) {
        int64_t index;
        clp_val map = x->block[d].index;
        bool is_known = clpi_header_eval(bound, map, program, prefetch, &index);
        clpi_str_puts(s, d ? ", " : "");
        if (is_known) {
            clpi_str_add(s, "%lld", (long long)index);
        } else if (!prefetch) {
            clpi_str_puts(s, "?"); /* another dimension is at fault: this one is known on the device only */
        } else {
            clpi_str_cut(s, start);
            clpi_str_add(s, "%s: ", x->name);
            clpi_program_print(ir, program, s);
            clpi_str_puts(s, ": the index map ");
            clpi_expr_print(ir, map, s);
            clpi_str_puts(s, " reads a prefetched element outside its array");
            return;
        }
    }
    clpi_str_puts(s, x->rank == 1 ? ",) of " : ") of ");
    block_print(x, s);
    clpi_str_puts(s, " lies outside the array ");
    clpi_shape_print(s, bound->operands[operand].size, x->rank);
}
