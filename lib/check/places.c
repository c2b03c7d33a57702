/* places: what of a launch and of an access can be said in polynomials.
 * In: IR and plan. Out: the symbols of a launch, with what binding checks of it as facts; of one lane of an access its
 * indices; of one block its start.                                                                                       */
#include "check/symbols.h"

#define MAX_SIZE INT64_C(0x7fffffff)         /* of a dim, a dimension, an axis */

/* ---- A launch ---- */

static void find_regions(const clpi_ir *ir, uint32_t *region)
{
    for (uint32_t id = ir->n_header; id < ir->ops.n; id++)
        if (clpi_ops[ir->ops.items[id].kind].flags & CLP_REGION)
            for (uint32_t k = id + 1; k < ir->ops.items[id].end; k++)
                region[k] = id; /* inner regions come later and take theirs */
}

static void make_scalars(clpi_symbols *s)
{
    for (int i = 0; i < s->ir->n_operands; i++) {
        const clpi_operand *x = &s->ir->operands[i];
        bool is_followed = x->role == CLP_SCALAR && clpi_is_int(x->dtype) && x->dtype != CLP_U64; /* its header value is another */
        if (is_followed)
            s->scalar[i] = clpi_variable(s->facts, x->dtype == CLP_I64 ? CLPI_NO_LOW : clpi_int_min(x->dtype),
                                         x->dtype == CLP_I64 ? CLPI_NO_HIGH : (int64_t)clpi_int_max(x->dtype));
    }
}

/* p lies in lo .. MAX_SIZE, which binding has checked. */
static void add_size_facts(clpi_symbols *s, const clpi_poly *p, int64_t lo)
{
    const clpi_poly least = clpi_poly_constant(lo), most = clpi_poly_constant(MAX_SIZE);
    clpi_order_add(s->facts, p, &least, 0);
    clpi_order_add(s->facts, &most, p, 0);
}

/* Each axis has a program: its size is 1 at least. Sizes that are sums get a variable of their own, so that products with them
 * stay products of variables.                                                                                           */
static void make_axes(clpi_symbols *s)
{
    for (int i = 0; i < s->ir->n_axes; i++) {
        const clpi_poly size = clpi_value_poly(s, &s->launch, s->ir->axes[i].size, NULL);
        int64_t c;
        s->axis_size[i] = size;
        if (clpi_poly_is_constant(&size, &c) || clpi_variable_bound(s->facts, &size, 1, MAX_SIZE))
            continue;
        s->axis_size[i] = clpi_variable(s->facts, 1, MAX_SIZE);
        const clpi_poly same = clpi_poly_sum(&s->axis_size[i], &size, -1);
        clpi_fact_add(s->facts, &same, true);
    }
}

static void add_launch_facts(clpi_symbols *s)
{
    const clpi_ir *ir = s->ir;
    for (int i = 0; i < ir->n_operands; i++)
        for (int d = 0; ir->operands[i].role != CLP_SCRATCH && d < ir->operands[i].rank; d++) {
            const clpi_poly size = clpi_size_poly(s, i, d);
            int64_t lo = 0, hi = 0;
            if (size.is_known)
                clpi_poly_interval(s->facts, &size, &lo, &hi);
            if (lo < 0 || hi > MAX_SIZE)
                add_size_facts(s, &size, 0);
            if (ir->operands[i].alias >= 0 && d < ir->operands[ir->operands[i].alias].rank) {
                const clpi_poly other = clpi_size_poly(s, ir->operands[i].alias, d), same = clpi_poly_sum(&size, &other, -1);
                if (!clpi_poly_equal(&size, &other))
                    clpi_fact_add(s->facts, &same, true);
            }
        }
    for (int i = 0; i < ir->n_requires; i++)
        clpi_condition_add(s, &s->launch, ir->requires[i].condition, NULL, true);
    clpi_variables_tighten(s->facts);
    /* What else is known at launch must be named now: later it would be forgotten with a question. */
    for (uint32_t id = 1; id < ir->n_header; id++)
        if (s->plan->axes_read[id] == 0 && clpi_type_of(ir, (clp_val){ id })->dtype != CLP_BOOL)
            (void)clpi_value_poly(s, &s->launch, (clp_val){ id }, NULL);
}

clpi_symbols *clpi_symbols_new(clpi_arena *arena, clpi_arena *question, const clpi_ir *ir, const clpi_plan *plan)
{
    clpi_symbols *s = CLPI_NEW(arena, clpi_symbols);
    if (!s)
        return NULL;
    *s = (clpi_symbols){ .ir = ir, .plan = plan, .arena = arena, .facts = clpi_facts_new(arena),
                         .dim = CLPI_NEW_N(arena, clpi_poly, (size_t)ir->n_dims),
                         .axis_size = CLPI_NEW_N(arena, clpi_poly, (size_t)ir->n_axes),
                         .scalar = CLPI_NEW_N(arena, clpi_poly, (size_t)ir->n_operands),
                         .launch.value = CLPI_NEW_N(arena, const clpi_poly *, ir->ops.n),
                         .launch.n_elements = CLPI_MAX_ELEMENTS,      /* the header has no tiles */
                         .region = CLPI_NEW_N(arena, uint32_t, ir->ops.n) };
    if (!s->facts || !s->dim || !s->axis_size || !s->scalar || !s->launch.value || !s->region)
        return NULL;
    find_regions(ir, s->region);
    for (int i = 0; i < ir->n_dims; i++)
        s->dim[i] = clpi_variable(s->facts, 0, MAX_SIZE);
    make_scalars(s);
    make_axes(s);
    add_launch_facts(s);
    s->arena = question;
    s->is_of_question = true;
    s->why = CLPI_OPAQUE_NOT;
    return arena->failed ? NULL : s;
}

/* ---- A program ---- */

bool clpi_side_begin(clpi_symbols *s, clpi_side *side, const clpi_poly *const *program)
{
    side->program = CLPI_NEW_N(s->arena, clpi_poly, (size_t)s->ir->n_axes);
    side->value = CLPI_NEW_N(s->arena, const clpi_poly *, s->ir->ops.n);
    side->elements = clpi_arena_take(s->arena, CLPI_MAX_ELEMENTS, sizeof *side->elements);
    side->n_elements = side->n_conditions = 0;
    if (!side->program || !side->value || !side->elements)
        return false;
    for (int i = 0; i < s->ir->n_axes; i++) {
        if (program && program[i]) {
            side->program[i] = *program[i];
            continue;
        }
        side->program[i] = clpi_variable(s->facts, 0, MAX_SIZE - 1);
        clpi_order_add(s->facts, &s->axis_size[i], &side->program[i], 1);
    }
    return true;
}

clpi_poly clpi_size_poly(clpi_symbols *s, int operand, int d)
{
    return clpi_value_poly(s, &s->launch, s->ir->operands[operand].shape[d], NULL);
}

/* Not to be multiplied in 64 bits: an index whose block begins beyond the array is refused before that. */
clpi_poly clpi_start_poly(clpi_symbols *s, clpi_side *side, int operand, int d)
{
    const clpi_operand *x = &s->ir->operands[operand];
    if (!x->has_block)
        return clpi_poly_constant(0);
    const clpi_block_dim *dim = &x->block[d];
    const clpi_poly index = clpi_value_poly(s, side, dim->index, NULL);
    switch (dim->kind) {
    case CLPI_BLOCK_PLAIN: return clpi_poly_times(&index, dim->n);
    case CLPI_BLOCK_ELEMENT: return clpi_poly_plus(&index, -dim->pad_lo);
    default: return index;
    }
}

/* ---- One lane ---- */

bool clpi_lane_add(clpi_symbols *s, clpi_side *side, uint32_t id, clpi_poly *out_index)
{
    const clpi_op *op = &s->ir->ops.items[id];
    const clp_val *args = clpi_args(s->ir, op);
    clpi_poly *coords = CLPI_NEW_N(s->arena, clpi_poly, CLP_MAX_RANK);
    int n = 0, tile_at = -1;
    if (!coords)
        return false; /* out of memory, which the arena keeps */
    for (uint32_t i = 0; i < op->n_subs; i++) {
        const clpi_sub *sub = &clpi_subs(s->ir, op)[i];
        const clpi_type *t = clpi_type_of(s->ir, args[i]);
        if (sub->kind == CLPI_SUB_TILE && tile_at < 0) {
            tile_at = n;
            for (int d = 0; d < t->rank; d++) {
                if (t->shape[d] == 0)
                    return false;
                coords[n++] = clpi_variable(s->facts, 0, t->shape[d] - 1);
            }
        }
        out_index[i] = clpi_value_poly(s, side, args[i], sub->kind == CLPI_SUB_TILE ? &coords[tile_at] : NULL);
        if (sub->kind == CLPI_SUB_RANGE) {
            if (sub->size == 0)
                return false;
            coords[n] = clpi_variable(s->facts, 0, sub->size - 1);
            out_index[i] = clpi_poly_sum(&out_index[i], &coords[n++], sub->stride);
        }
    }
    if (op->has_mask)
        clpi_condition_add(s, side, clpi_op_mask(s->ir, op), coords, true);
    return true;
}
