/* refs: the builder calls that read and write refs, and index values.
 * In: checked by builder.c. Out: calls of ir/build.                                                                    */
#include "trace/builder.h"

/* What one access was given, as ir/build takes it. */
typedef struct access { int operand, n; const clpi_subscript *subs; } access;

static bool enter_access(clp_builder *b, const char *call, clp_ref x, const clp_subscript *subs, int n_subs,
                         const clp_val *vals, int n_vals, clp_val mask, access *out)
{
    *out = (access){ .n = n_subs };
    if (!clpi_enter(b, call, vals, n_vals) || !clpi_check_optional(b, "the mask", mask) ||
        !clpi_check_ref(b, x, &out->operand))
        return false;
    out->subs = clpi_subscripts(b, subs, n_subs);
    return out->subs != NULL;
}

static const clp_val none = { 0 };

clp_val clp_load(clp_builder *b, clp_ref x)
{
    access at;
    clp_subscript whole = clp_ellipsis();
    if (!enter_access(b, "clp_load", x, &whole, 1, NULL, 0, none, &at))
        return none;
    return clpi_leave(b, clpi_make_load(&b->build, at.operand, at.subs, at.n, none, none));
}

clp_val clp_load_at(clp_builder *b, clp_ref x, const clp_subscript *subs, int n_subs, clp_val mask, clp_val other)
{
    access at;
    if (!enter_access(b, "clp_load_at", x, subs, n_subs, NULL, 0, mask, &at) || !clpi_check_optional(b, "other", other))
        return none;
    return clpi_leave(b, clpi_make_load(&b->build, at.operand, at.subs, at.n, mask, other));
}

static void store(clp_builder *b, const char *call, clp_ref x, const clp_subscript *subs, int n_subs, clp_val v, clp_val mask)
{
    access at;
    if (!enter_access(b, call, x, subs, n_subs, &v, 1, mask, &at))
        return;
    clpi_make_store(&b->build, at.operand, at.subs, at.n, v, mask);
    clpi_leave(b, none);
}

void clp_store(clp_builder *b, clp_ref x, clp_val v)
{
    clp_subscript whole = clp_ellipsis();
    store(b, "clp_store", x, &whole, 1, v, none);
}

void clp_store_at(clp_builder *b, clp_ref x, const clp_subscript *subs, int n_subs, clp_val v, clp_val mask)
{
    store(b, "clp_store_at", x, subs, n_subs, v, mask);
}

clp_val clp_index(clp_builder *b, clp_val v, const clp_subscript *subs, int n_subs)
{
    if (!clpi_enter(b, "clp_index", &v, 1))
        return none;
    const clpi_subscript *at = clpi_subscripts(b, subs, n_subs);
    return clpi_leave(b, at ? clpi_make_index(&b->build, v, at, n_subs) : none);
}

/* ---- Atomics ---- */

static clp_val atomic(clp_builder *b, const char *call, clpi_op_kind kind, clp_ref x, const clp_subscript *subs, int n_subs,
                      const clp_val *vals, int n_vals, clp_val mask)
{
    access at;
    if (!enter_access(b, call, x, subs, n_subs, vals, n_vals, mask, &at))
        return none;
    return clpi_leave(b, clpi_make_atomic(&b->build, kind, at.operand, at.subs, at.n, vals, n_vals, mask));
}

#define ATOMIC(name)                                                                                                   \
    clp_val clp_##name(clp_builder *b, clp_ref x, const clp_subscript *subs, int n_subs, clp_val v, clp_val mask)      \
    {                                                                                                                  \
        return atomic(b, "clp_" #name, CLP_OP_##name, x, subs, n_subs, &v, 1, mask);                                   \
    }
ATOMIC(atomic_add)
ATOMIC(atomic_min)
ATOMIC(atomic_max)
ATOMIC(atomic_and)
ATOMIC(atomic_or)
ATOMIC(atomic_xor)
ATOMIC(atomic_xchg)

clp_val clp_atomic_cas(clp_builder *b, clp_ref x, const clp_subscript *subs, int n_subs, clp_val expected, clp_val v)
{
    return atomic(b, "clp_atomic_cas", CLP_OP_atomic_cas, x, subs, n_subs, (clp_val[]){ expected, v }, 2, none);
}
