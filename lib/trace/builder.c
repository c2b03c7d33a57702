/* builder: errors that stick, and the checks that every call of a body begins with.
 * In: what the caller's C code passes. Out: arguments that ir/build may trust. A body holds no checks: after its first
 * mistake all calls do nothing and return the null value, and making the kernel reports that mistake, with the call, its
 * place among the body's calls and the types it was given.                                                             */
#include "trace/builder.h"

#include <string.h>

void clpi_builder_fail(clp_builder *b, const char *format, ...)
{
    if (b->failed)
        return;
    b->failed = true;
    clpi_str s;
    clpi_str_init(&s, b->arena->env);
    clpi_str_add(&s, "%s: ", b->build.ir->name);
    if (b->call) {
        clpi_str_add(&s, "call %lu, %s(", (unsigned long)b->n_calls, b->call);
        for (int i = 0; i < b->n_vals; i++) {
            clpi_str_puts(&s, i ? ", " : "");
            if (b->vals[i].id > 0 && b->vals[i].id < b->build.ir->ops.n)
                clpi_type_print(&s, clpi_type_of(b->build.ir, b->vals[i]));
            else
                clpi_str_puts(&s, "?");
        }
        clpi_str_puts(&s, "): ");
    }
    va_list args;
    va_start(args, format);
    clpi_str_add_v(&s, format, args);
    va_end(args);
    b->message = clpi_str_keep(&s, b->arena);
}

void clpi_end_reach(clp_builder *b, uint32_t begin, uint32_t end)
{
    while (b->ended.n > 0 && b->ended.items[b->ended.n - 1].begin >= begin)
        b->ended.n--;
    if (!CLPI_PUSH(b->arena, &b->ended, (clpi_op_range){ begin, end }))
        b->failed = true;
}

static bool is_out_of_reach(const clp_builder *b, clp_val v)
{
    uint32_t lo = 0, hi = b->ended.n;      /* the first span that begins behind v stands in lo .. hi */
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (b->ended.items[mid].begin <= v.id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo > 0 && v.id < b->ended.items[lo - 1].end;
}

bool clpi_check_value(clp_builder *b, const char *what, int i, clp_val v)
{
    const clpi_ir *ir = b->build.ir;
    const char *fault = NULL;
    if (v.id == 0)
        fault = "is the null value";
    else if (v.id < ir->n_header || v.id >= ir->ops.n || clpi_type_of(ir, v)->dtype == CLP_DTYPE_NONE)
        fault = "is no value of this builder";
    else if (is_out_of_reach(b, v))
        fault = "was made in a region that has ended; carry it out";
    if (fault && i >= 0)
        clpi_builder_fail(b, "%s %d %s", what, i + 1, fault);
    else if (fault)
        clpi_builder_fail(b, "%s %s", what, fault);
    return !fault;
}

bool clpi_enter(clp_builder *b, const char *call, const clp_val *vals, int n_vals)
{
    if (b->failed)
        return false;
    b->call = call;
    b->n_calls++;
    b->vals = vals;
    b->n_vals = 0;
    if (!clpi_check_list(b, "the list of values", vals, n_vals))
        return false;
    b->n_vals = n_vals;
    for (int i = 0; i < n_vals; i++)
        if (!clpi_check_value(b, "value", i, vals[i]))
            return false;
    return true;
}

clp_val clpi_leave(clp_builder *b, clp_val made)
{
    b->vals = NULL;
    b->n_vals = 0;
    if (b->arena->failed)
        b->failed = true;
    return b->failed ? (clp_val){ 0 } : made;
}

bool clpi_check_list(clp_builder *b, const char *what, const void *items, int n)
{
    if (n < 0)
        clpi_builder_fail(b, "%s has %d items", what, n);
    else if (n > 0 && !items)
        clpi_builder_fail(b, "%s is NULL, %d items were expected", what, n);
    return !b->failed;
}

bool clpi_check_optional(clp_builder *b, const char *what, clp_val v)
{
    return v.id == 0 || clpi_check_value(b, what, -1, v);
}

bool clpi_check_ref(clp_builder *b, clp_ref x, int *out_operand)
{
    *out_operand = (int)x.id - 1;
    if (x.id == 0)
        clpi_builder_fail(b, "the ref is null");
    else if (x.id > (uint32_t)b->build.ir->n_operands)
        clpi_builder_fail(b, "the ref is none of this kernel's %d operands", b->build.ir->n_operands);
    return !b->failed;
}

/* ---- Subscripts ---- */

clp_subscript clp_every(void)
{
    return (clp_subscript){ .kind = CLP_SUB_ALL };
}

clp_subscript clp_at(clp_val index)
{
    return (clp_subscript){ .kind = CLP_SUB_AT, .val = index };
}

clp_subscript clp_slice(int64_t start, int64_t stop, int64_t stride)
{
    return (clp_subscript){ .kind = CLP_SUB_SLICE, .start = start, .stop = stop, .stride = stride };
}

clp_subscript clp_ds(clp_val start, int64_t size, int64_t stride)
{
    return (clp_subscript){ .kind = CLP_SUB_DS, .val = start, .stop = size, .stride = stride };
}

clp_subscript clp_ellipsis(void)
{
    return (clp_subscript){ .kind = CLP_SUB_ELLIPSIS };
}

clp_subscript clp_newaxis(void)
{
    return (clp_subscript){ .kind = CLP_SUB_NEW };
}

static bool translate(clp_builder *b, const clp_subscript *sub, int i, clpi_subscript *out)
{
    *out = (clpi_subscript){ .val = sub->val, .start = sub->start, .stop = sub->stop, .stride = sub->stride ? sub->stride : 1 };
    switch (sub->kind) {
    case CLP_SUB_ALL: out->kind = CLPI_ALL; return true;
    case CLP_SUB_AT: out->kind = CLPI_AT; return clpi_check_value(b, "the index of subscript", i, sub->val);
    case CLP_SUB_DS: out->kind = CLPI_DS; return clpi_check_value(b, "the start of subscript", i, sub->val);
    case CLP_SUB_SLICE:
        out->kind = CLPI_SLICE;
        out->has_start = true;
        out->has_stop = sub->stop != CLP_END;
        return true;
    case CLP_SUB_ELLIPSIS: out->kind = CLPI_ELLIPSIS; return true;
    case CLP_SUB_NEW: out->kind = CLPI_NEWAXIS; return true;
    }
    clpi_builder_fail(b, "subscript %d has an unknown kind, %d", i + 1, (int)sub->kind);
    return false;
}

const clpi_subscript *clpi_subscripts(clp_builder *b, const clp_subscript *subs, int n_subs)
{
    if (!clpi_check_list(b, "the list of subscripts", subs, n_subs))
        return NULL;
    clpi_subscript *out = CLPI_NEW_N(b->arena, clpi_subscript, (size_t)n_subs + 1);
    for (int i = 0; out && i < n_subs; i++)
        if (!translate(b, &subs[i], i, &out[i]))
            return NULL;
    return out;
}
