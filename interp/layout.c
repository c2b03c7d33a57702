/* layout: where every value stands in the memory of a launch.
 * In: steps, and which values share memory. Out: for each value and each step's temporary a place in tiles.
 * Decides lifetimes: a value lives from the op that makes it to its last use; a use inside a loop that it comes from outside
 * of keeps it until the loop's end, for the loop may come round. Memory is handed out first fit, in program order, so the
 * tiles in use stay few and in the cache. A value that holds for the launch keeps its place.                            */
#include <assert.h>

#include "interp/interp.h"

/* The last op at which something used at op u must still stand, when it was made at `made`. */
static uint32_t stands_until(const clpi_ir *ir, const uint32_t *loops, uint32_t n_loops, uint32_t made, uint32_t u)
{
    for (uint32_t i = 0; i < n_loops; i++)             /* outermost first */
        if (made <= loops[i])
            return ir->ops.items[loops[i]].end - 1;
    return u;
}

void clpi_interp_lifetimes(clpi_compiler *c)
{
    const clpi_ir *ir = c->exe->ir;
    uint32_t loops[256], n_loops = 0;
    for (uint32_t i = ir->n_header; i < ir->ops.n; i++) {
        const clpi_op *op = &ir->ops.items[i];
        const clp_val *args = clpi_args(ir, op);
        while (n_loops && i >= ir->ops.items[loops[n_loops - 1]].end)
            n_loops--;
        if (c->root[i] == i)
            c->first[i] = c->last[i] = i;
        for (uint32_t k = 0; k < op->n_args && op->kind != CLP_OP_result; k++) {
            uint32_t r = c->root[args[k].id], until = stands_until(ir, loops, n_loops, c->first[r], i);
            if (until > c->last[r])
                c->last[r] = until;
        }
        if (op->kind == CLP_OP_for || op->kind == CLP_OP_while)
            loops[n_loops++] = i;
    }
}

/* ---- Memory in use, by address ---- */

typedef struct taken { size_t at, bytes; uint32_t last; } taken;
typedef struct space { clpi_arena *arena; struct { taken *items; uint32_t n, cap; } list; size_t base, top; } space;

static bool take(space *s, size_t bytes, uint32_t last, size_t *out_at)
{
    size_t at = s->base;
    uint32_t i = 0;
    bytes = clpi_align(bytes ? bytes : 1);
    while (i < s->list.n && s->list.items[i].at - at < bytes) {
        at = s->list.items[i].at + s->list.items[i].bytes;
        i++;
    }
    if (!CLPI_PUSH(s->arena, &s->list, (taken){ 0 }))
        return false;
    for (uint32_t k = s->list.n - 1; k > i; k--)
        s->list.items[k] = s->list.items[k - 1];
    s->list.items[i] = (taken){ at, bytes, last };
    if (at + bytes > s->top)
        s->top = at + bytes;
    *out_at = at;
    return true;
}

static void release(space *s, uint32_t now)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->list.n; i++)
        if (s->list.items[i].last > now)
            s->list.items[n++] = s->list.items[i];
    s->list.n = n;
}

/* The result takes the place of an operand that dies here and has as many bytes in elements of the same size. */
static bool take_over(const clpi_compiler *c, space *s, const clpi_eval_step *step, size_t elem_bytes)
{
    const clpi_ir *ir = c->exe->ir;
    const clpi_op *op = &ir->ops.items[step->op];
    const clp_val *args = clpi_args(ir, op);
    for (uint32_t k = 0; k < op->n_args; k++) {
        uint32_t r = c->root[args[k].id];
        if (c->is_hoisted[args[k].id] || c->last[r] != step->op ||
            clpi_rep_bytes(clpi_type_of(ir, args[k])->dtype) != elem_bytes)
            continue;
        for (uint32_t i = 0; i < s->list.n; i++)
            if (s->list.items[i].at == c->exe->val_at[r]) {
                c->exe->val_at[step->out] = s->list.items[i].at;
                s->list.items[i].last = c->last[step->out];
                return true;
            }
    }
    return false;
}

static size_t bytes_of(const clpi_type *t)
{
    return (size_t)clpi_type_elems(t) * clpi_rep_bytes(t->dtype);
}

/* Cells of a region op: the index of a `for`, then what its initial values are. */
static bool take_cells(const clpi_compiler *c, space *s, uint32_t i)
{
    const clpi_ir *ir = c->exe->ir;
    const clpi_op *op = &ir->ops.items[i];
    const clp_val *args = clpi_args(ir, op);
    uint32_t cell = c->cell[i], first_init = op->kind == CLP_OP_for ? 2 : 1;
    if (op->kind == CLP_OP_for) {
        if (!take(s, clpi_rep_bytes(CLP_I32), c->last[cell], &c->exe->val_at[cell]))
            return false;
        cell++;
    }
    for (uint32_t k = first_init; k < op->n_args; k++, cell++)
        if (!take(s, bytes_of(clpi_type_of(ir, args[k])), c->last[cell], &c->exe->val_at[cell]))
            return false;
    return true;
}

static bool place_value(const clpi_compiler *c, space *s, const clpi_eval_step *step)
{
    const clpi_type *t = &c->exe->ir->types.items[c->exe->ir->ops.items[step->op].type];
    if (step->in_place && take_over(c, s, step, clpi_rep_bytes(t->dtype)))
        return true;
    return take(s, bytes_of(t), c->last[step->out], &c->exe->val_at[step->out]);
}

clp_status clpi_interp_layout(clpi_compiler *c)
{
    clpi_exe *exe = c->exe;
    space s = { .arena = &exe->arena };
    for (uint32_t i = 0; i < exe->hoisted.n; i++) {
        const clpi_eval_step *step = &exe->hoisted.items[i];
        exe->val_at[step->out] = s.top;
        s.top += clpi_align(bytes_of(&exe->ir->types.items[exe->ir->ops.items[step->op].type]) + 1);
    }
    s.base = s.top;
    for (uint32_t i = 0; i < exe->hoisted.n; i++) {
        exe->hoisted.items[i].temp = s.base;
        if (s.top < s.base + exe->hoisted.items[i].temp_bytes)
            s.top = s.base + clpi_align(exe->hoisted.items[i].temp_bytes);
    }
    for (uint32_t i = 0; i < exe->body.n; i++) {
        clpi_eval_step *step = &exe->body.items[i];
        const clpi_op *op = &exe->ir->ops.items[step->op];
        /* What died at ops without a step of their own since the last step is free too. */
        if (step->op > 0)
            release(&s, step->op - 1);
        if (step->out && !place_value(c, &s, step))
            return CLP_ERR_OOM;
        if ((clpi_ops[op->kind].flags & CLP_REGION) && !take_cells(c, &s, step->op))
            return CLP_ERR_OOM;
        uint32_t until = clpi_ops[op->kind].flags & CLP_REGION ? op->end - 1 : step->op;
        if (step->temp_bytes && !take(&s, step->temp_bytes, until, &step->temp))
            return CLP_ERR_OOM;
        release(&s, step->op);
    }
    exe->tile_bytes = s.top;
    return CLP_OK;
}
