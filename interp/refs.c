/* refs: what a program sees of each operand.
 * In: a launch, then one program after another. Out: for each operand where its block stands and what of it exists.
 * Decides how an index map is evaluated: where it is a sum of program ids times numbers known at launch, as that sum; else,
 * and where a block lies outside, by the plan. Arithmetic wraps, as it does in the plan.                                */
#include <string.h>

#include "interp/interp.h"

/* ---- Affine maps ---- */

typedef struct affine { int64_t c0, c[CLPI_MAX_AXES]; } affine;

static int64_t wrap_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t wrap_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static bool is_constant(const affine *x, int n_axes)
{
    for (int i = 0; i < n_axes; i++)
        if (x->c[i])
            return false;
    return true;
}

/* x = x * factor + sign * y */
static void combine(affine *x, int64_t factor, int64_t sign, const affine *y, int n_axes)
{
    x->c0 = wrap_add(wrap_mul(x->c0, factor), wrap_mul(sign, y->c0));
    for (int i = 0; i < n_axes; i++)
        x->c[i] = wrap_add(wrap_mul(x->c[i], factor), wrap_mul(sign, y->c[i]));
}

static bool affine_of(const clpi_bound *bound, clp_val v, int depth, affine *out)
{
    const clpi_ir *ir = bound->plan->ir;
    const clpi_op *op = clpi_op_at(ir, v);
    const clp_val *args = clpi_args(ir, op);
    affine b;
    *out = (affine){ 0 };
    if (bound->plan->when[v.id] == CLPI_WHEN_BUILD || bound->plan->when[v.id] == CLPI_WHEN_LAUNCH) {
        out->c0 = bound->header[v.id];
        return true;
    }
    if (depth > 64)
        return false;
    switch (op->kind) {
    case CLP_OP_program_id:
        out->c[op->attr] = 1;
        return true;
    case CLP_OP_neg:
        if (!affine_of(bound, args[0], depth + 1, out))
            return false;
        combine(out, -1, 0, out, ir->n_axes);
        return true;
    case CLP_OP_add:
    case CLP_OP_sub:
        if (!affine_of(bound, args[0], depth + 1, out) || !affine_of(bound, args[1], depth + 1, &b))
            return false;
        combine(out, 1, op->kind == CLP_OP_add ? 1 : -1, &b, ir->n_axes);
        return true;
    case CLP_OP_mul:
        if (!affine_of(bound, args[0], depth + 1, out) || !affine_of(bound, args[1], depth + 1, &b))
            return false;
        if (is_constant(&b, ir->n_axes)) {
            combine(out, b.c0, 0, out, ir->n_axes);
            return true;
        }
        if (is_constant(out, ir->n_axes)) {
            combine(&b, out->c0, 0, &b, ir->n_axes);
            *out = b;
            return true;
        }
        return false;
    default: return false;
    }
}

/* ---- Opening a launch ---- */

static clp_status open_affine(const clpi_run *run, int operand, clpi_arena *arena)
{
    const clpi_ir *ir = run->exe->ir;
    const clpi_operand *x = &ir->operands[operand];
    clpi_ref_state *ref = &run->refs[operand];
    size_t n_axes = (size_t)ir->n_axes;
    ref->c0 = CLPI_NEW_N(arena, int64_t, (size_t)x->rank + 1);
    ref->coefficient = CLPI_NEW_N(arena, int64_t, (size_t)x->rank * n_axes + 1);
    ref->least = CLPI_NEW_N(arena, int64_t, (size_t)x->rank + 1);
    ref->most = CLPI_NEW_N(arena, int64_t, (size_t)x->rank + 1);
    if (arena->failed)
        return CLP_ERR_OOM;
    ref->is_affine = true;
    for (int d = 0; d < x->rank && ref->is_affine; d++) {
        affine map;
        int64_t size = run->bound->operands[operand].size[d], n = x->block[d].n, pad_lo = x->block[d].pad_lo;
        bool is_element = x->block[d].kind == CLPI_BLOCK_ELEMENT;
        ref->is_affine = affine_of(run->bound, x->block[d].index, 0, &map) && size > 0;
        ref->least[d] = is_element ? pad_lo - n + 1 : 0;
        ref->most[d] = is_element ? size + pad_lo - 1 : (size - 1) / n;
        ref->c0[d] = map.c0;
        memcpy(&ref->coefficient[(size_t)d * n_axes], map.c, n_axes * sizeof(int64_t));
    }
    return CLP_OK;
}

clp_status clpi_refs_open(clpi_run *run, clpi_arena *arena)
{
    const clpi_ir *ir = run->exe->ir;
    for (int i = 0; i < ir->n_operands; i++) {
        const clpi_operand *x = &ir->operands[i];
        clpi_ref_state *ref = &run->refs[i];
        if (x->role == CLP_SCALAR)
            continue;
        if (x->role == CLP_SCRATCH) {
            int64_t stride = 1;
            ref->data = run->scratch + run->exe->scratch_at[i];
            for (int d = x->ref_rank - 1; d >= 0; stride *= x->ref_size[d], d--)
                ref->dim[d] = (clpi_ref_dim){ x->ref_size[d], 0, x->ref_size[d], stride };
            continue;
        }
        const clpi_bound_operand *array = &run->bound->operands[i];
        const clpi_place *place = &run->launch->places[i];
        ref->data = clpi_interp_mem(place->mem) + place->at;
        ref->origin = ref->at = array->offset;
        for (int d = 0; d < x->ref_rank; d++) {
            int64_t size = array->size[x->ref_dim[d]];
            ref->dim[d] = (clpi_ref_dim){ size, 0, size, array->stride[x->ref_dim[d]] };
        }
        if (x->has_block)
            CLP_TRY(open_affine(run, i, arena));
    }
    return CLP_OK;
}

void clpi_refs_fill_scratch(clpi_run *run)
{
    const clpi_ir *ir = run->exe->ir;
    for (int i = 0; i < ir->n_operands; i++) {
        const clpi_operand *x = &ir->operands[i];
        if (x->role != CLP_SCRATCH)
            continue;
        int64_t n = 1;
        for (int d = 0; d < x->ref_rank; d++)
            n *= x->ref_size[d];
        uint64_t bits = x->has_pad ? x->pad_bits : clpi_poison_bits(x->dtype);
        if (clpi_is_packed(x->dtype))
            memset(run->refs[i].data, (int)((bits & 15) * 0x11), (size_t)(n + 1) / 2);
        else if (clp_dtype_bits(x->dtype) == 32 && n > 0)
            clpi_tile_fill(CLP_U32, run->refs[i].data, (clpi_elem){ .u = bits }, n);
        else
            clpi_tile_fill(clp_dtype_bits(x->dtype) == 8 ? CLP_U8 : clp_dtype_bits(x->dtype) == 16 ? CLP_U16 : CLP_U64,
                           run->refs[i].data, (clpi_elem){ .u = bits }, n);
    }
}

/* ---- Entering a program ---- */

/* true: a watch wants the run to go on. */
static bool outside(const clpi_run *run, int operand)
{
    clpi_str text;
    clpi_str_init(&text, run->exe->host.env);
    clpi_window_message(run->bound, operand, run->program, &run->prefetch, &text);
    const clpi_pos pos = clpi_outside_pos(run->bound, operand, run->program, &run->prefetch);
    return clpi_fail_run(run, &(clpi_fault){ .kind = CLPI_FAULT_BLOCK, .operand = operand, .pos = pos }, &text);
}

/* The window of dimension d by its affine map; false: not inside. */
static inline bool affine_window(const clpi_run *run, const clpi_ref_state *ref, const clpi_block_dim *dim, int d, int64_t size,
                                 clpi_window *out)
{
    int n_axes = run->exe->ir->n_axes;
    const int64_t *c = &ref->coefficient[d * n_axes];
    uint64_t sum = (uint64_t)ref->c0[d];
    for (int a = 0; a < n_axes; a++)
        sum += (uint64_t)c[a] * (uint64_t)run->program[a];
    int64_t index = (int64_t)sum, n = dim->n;
    if (index < ref->least[d] || index > ref->most[d])
        return false;
    int64_t start = dim->kind == CLPI_BLOCK_ELEMENT ? index - dim->pad_lo : index * n;
    *out = (clpi_window){ start, start < 0 ? -start : 0, size - start < n ? size - start : n };
    return true;
}

bool clpi_refs_enter(clpi_run *run)
{
    const clpi_ir *ir = run->exe->ir;
    for (int k = 0; k < run->exe->n_blocked; k++) {
        int i = run->exe->blocked[k];
        const clpi_operand *x = &ir->operands[i];
        const clpi_bound_operand *array = &run->bound->operands[i];
        clpi_ref_state *ref = &run->refs[i];
        clpi_window windows[CLP_MAX_RANK];
        bool is_inside = true;
        if (ref->is_affine)
            for (int d = 0; d < x->rank && is_inside; d++)
                is_inside = affine_window(run, ref, &x->block[d], d, array->size[d], &windows[d]);
        else
            is_inside = clpi_windows(run->bound, i, run->program, &run->prefetch, windows);
        if (!is_inside && !outside(run, i))
            return false;
        if (!is_inside)
            memset(windows, 0, sizeof windows);          /* nothing of it exists */
        ref->at = ref->origin;
        ref->is_empty = !is_inside;
        for (int d = 0, r = 0; d < x->rank; d++) {
            ref->at += windows[d].start * array->stride[d];
            if (x->block[d].kind == CLPI_BLOCK_SQUEEZED)
                ref->is_empty |= windows[d].lo >= windows[d].hi;
            else
                ref->dim[r++] = (clpi_ref_dim){ x->block[d].n, windows[d].lo, windows[d].hi, array->stride[d] };
        }
    }
    return true;
}
