/* atomic: read, combine and write back, lane by lane.
 * In: a place, one value for each lane (cas: two), a mask. Out: changed memory and the old values.
 * Decides that lanes go in order, so duplicates all count. A lane past the array changes nothing and its old value is pad;
 * a masked one gives 0.                                                                                                 */
#include <assert.h>
#include <string.h>

#include "interp/memory.h"

/* The elementwise op that combines old and new; CLP_OP_NONE: the new value replaces the old. */
static clpi_op_kind combined_by(clpi_op_kind kind)
{
    switch (kind) {
    case CLP_OP_atomic_add: return CLP_OP_add;
    case CLP_OP_atomic_min: return CLP_OP_minimum;
    case CLP_OP_atomic_max: return CLP_OP_maximum;
    case CLP_OP_atomic_and: return CLP_OP_and;
    case CLP_OP_atomic_or: return CLP_OP_or;
    case CLP_OP_atomic_xor: return CLP_OP_xor;
    default: assert(kind == CLP_OP_atomic_xchg || kind == CLP_OP_atomic_cas); return CLP_OP_NONE;
    }
}

static bool eval_atomic(clpi_run *run, const clpi_eval_step *s)
{
    const clpi_ref_access *x = s->info;
    const clpi_held *held = &clpi_held_of[x->dtype];
    uint8_t *data = run->refs[x->operand].data;
    clpi_op_kind kind = run->exe->ir->ops.items[s->op].kind, by = combined_by(kind);
    const void *values = run->val[x->value[0]], *news = x->value[1] ? run->val[x->value[1]] : NULL;
    void *out = run->val[s->out];
    int64_t *at;
    uint8_t *state;
    if (!clpi_ref_access_lanes(run, s, x, &at, &state))
        return false;
    if (run->watch)
        clpi_watch_lanes(run, s, CLPI_TOUCH_ATOMIC, at, state);
    for (int64_t l = 0; l < x->view.n; l++) {
        if (state[l]) {
            clpi_elem_put(x->dtype, out, l, state[l] & CLPI_LANE_MASKED ? (clpi_elem){ 0 } : x->pad);
            continue;
        }
        clpi_elem old, value = clpi_elem_get(x->dtype, values, l);
        held->get_row((uint8_t *)out + (size_t)l * held->bytes, data, at[l], 1, 1);
        old = clpi_elem_get(x->dtype, out, l);
        if (by != CLP_OP_NONE)
            value = clpi_scalar_ew(by, x->dtype, (clpi_elem[]){ old, value });
        else if (news)                                     /* cas compares bits, as devices do */
            value = clpi_elem_to_bits(x->dtype, old) == clpi_elem_to_bits(x->dtype, value) ? clpi_elem_get(x->dtype, news, l) : old;
        uint64_t word[1];
        clpi_elem_put(x->dtype, word, 0, value);
        held->put_row(data, at[l], 1, word, 1);
    }
    return true;
}

/* The commonest case at speed: adding to i32 or u32. */
static bool eval_add_i32(clpi_run *run, const clpi_eval_step *s)
{
    const clpi_ref_access *x = s->info;
    uint8_t *data = run->refs[x->operand].data;
    const uint32_t *values = run->val[x->value[0]];
    uint32_t *out = run->val[s->out];
    int64_t *at;
    uint8_t *state;
    if (!clpi_ref_access_lanes(run, s, x, &at, &state))
        return false;
    if (run->watch)
        clpi_watch_lanes(run, s, CLPI_TOUCH_ATOMIC, at, state);
    for (int64_t l = 0; l < x->view.n; l++) {
        if (state[l]) {
            clpi_elem_put(x->dtype, out, l, state[l] & CLPI_LANE_MASKED ? (clpi_elem){ 0 } : x->pad);
            continue;
        }
        uint32_t sum;
        memcpy(&out[l], data + at[l] * 4, 4);
        sum = out[l] + values[l];
        memcpy(data + at[l] * 4, &sum, 4);
    }
    return true;
}

clp_status clpi_prepare_atomic(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    clpi_ref_access *x = clpi_ref_access_new(c, op, s);
    if (!x)
        return CLP_ERR_OOM;
    for (int i = 0; i < (op->kind == CLP_OP_atomic_cas ? 2 : 1); i++)
        x->value[i] = clpi_interp_root(c, clpi_op_value(c->exe->ir, op, i));
    bool is_i32 = x->dtype == CLP_I32 || x->dtype == CLP_U32;
    s->eval = op->kind == CLP_OP_atomic_add && is_i32 ? eval_add_i32 : eval_atomic;
    return CLP_OK;
}
