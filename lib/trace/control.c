/* control: the builder calls that begin and end regions, print and assert.
 * In: checked by builder.c. Out: calls of ir/build, which keeps the regions that are open and checks that begin and end
 * belong together. What was made in a region is out of reach once it has ended.                                        */
#include "trace/builder.h"

#include <string.h>

#include "text/diag.h"

static const clp_val none = { 0 };

/* What the calls of this file share: a list of carried values in, one out. `vals` is a copy: the caller's list may be the
 * one that is handed out.                                                                                               */
typedef struct carried { clp_val *vals; int n; clp_val *out; } carried;

static bool enter(clp_builder *b, const char *call, const clp_val *heads, int n_heads, const clp_val *vals, int n, carried *c)
{
    *c = (carried){ .n = n };
    if (!clpi_enter(b, call, heads, n_heads) || !clpi_check_list(b, "the list of carried values", vals, n))
        return false;
    for (int i = 0; i < n; i++)
        if (!clpi_check_value(b, "carried value", i, vals[i]))
            return false;
    c->vals = CLPI_NEW_N(b->arena, clp_val, (size_t)n + 1);
    if (c->vals && n > 0)
        memcpy(c->vals, vals, (size_t)n * sizeof *vals);
    return c->vals != NULL;
}

/* The same for a call that hands out the list `out`, null until the call succeeds. */
static bool enter_with(clp_builder *b, const char *call, const clp_val *heads, int n_heads, const clp_val *vals, int n,
                       clp_val *out, carried *c)
{
    bool entered = enter(b, call, heads, n_heads, vals, n, c);
    for (int i = 0; out && i < n; i++)
        out[i] = none;
    return entered && clpi_check_list(b, "the list to hand out values", out, n);
}

static bool may_begin(clp_builder *b)
{
    if (b->build.open.n >= CLPI_MAX_REGIONS)
        clpi_builder_fail(b, "regions are nested too deeply: the limit is %d", CLPI_MAX_REGIONS);
    return !b->failed;
}

/* The innermost open region, 0: none. */
static uint32_t open_region(const clp_builder *b)
{
    return b->build.open.n ? b->build.open.items[b->build.open.n - 1] : 0;
}

static void leave_region(clp_builder *b, uint32_t region)
{
    clpi_leave(b, none);
    if (!b->failed)
        clpi_end_reach(b, region + 1, b->build.ir->ops.items[region].end);
}

/* ---- for ---- */

clp_val clp_for_begin(clp_builder *b, clp_val lo, clp_val hi, int64_t step, const clp_val *inits, int n_carried, clp_val *out_carried)
{
    carried c;
    clp_val index = none;
    if (!enter_with(b, "clp_for_begin", (clp_val[]){ lo, hi }, 2, inits, n_carried, out_carried, &c) || !may_begin(b))
        return none;
    clpi_for_begin(&b->build, lo, hi, step, c.vals, c.n, &index, out_carried);
    return clpi_leave(b, index);
}

void clp_for_end(clp_builder *b, const clp_val *nexts, int n_carried, clp_val *out_results)
{
    carried c;
    if (!enter_with(b, "clp_for_end", NULL, 0, nexts, n_carried, out_results, &c))
        return;
    uint32_t region = open_region(b);
    clpi_for_end(&b->build, c.vals, c.n, out_results);
    leave_region(b, region);
}

/* ---- while ---- */

void clp_while_begin(clp_builder *b, clp_val first_condition, const clp_val *inits, int n_carried, clp_val *out_carried)
{
    carried c;
    if (!enter_with(b, "clp_while_begin", &first_condition, 1, inits, n_carried, out_carried, &c) || !may_begin(b))
        return;
    clpi_while_begin(&b->build, first_condition, c.vals, c.n, out_carried);
    clpi_leave(b, none);
}

void clp_while_end(clp_builder *b, clp_val next_condition, const clp_val *nexts, int n_carried, clp_val *out_results)
{
    carried c;
    if (!enter_with(b, "clp_while_end", &next_condition, 1, nexts, n_carried, out_results, &c))
        return;
    uint32_t region = open_region(b);
    clpi_while_end(&b->build, next_condition, c.vals, c.n, out_results);
    leave_region(b, region);
}

/* ---- if ---- */

void clp_if_begin(clp_builder *b, clp_val condition, const clp_val *inits, int n_carried)
{
    carried c;
    if (!enter(b, "clp_if_begin", &condition, 1, inits, n_carried, &c) || !may_begin(b))
        return;
    clpi_if_begin(&b->build, condition, c.vals, c.n);
    clpi_leave(b, none);
}

void clp_if_else(clp_builder *b, const clp_val *values, int n_carried)
{
    carried c;
    if (!enter(b, "clp_if_else", NULL, 0, values, n_carried, &c))
        return;
    uint32_t region = open_region(b);
    clpi_if_else(&b->build, c.vals, c.n);
    clpi_leave(b, none);
    if (!b->failed)
        clpi_end_reach(b, region + 1, b->build.ir->ops.n);
}

void clp_if_end(clp_builder *b, const clp_val *values, int n_carried, clp_val *out_results)
{
    carried c;
    if (!enter_with(b, "clp_if_end", NULL, 0, values, n_carried, out_results, &c))
        return;
    uint32_t region = open_region(b);
    clpi_if_end(&b->build, c.vals, c.n, out_results);
    leave_region(b, region);
}

/* ---- Talking ---- */

/* What the kernel language can write between quotes. */
static bool check_string(clp_builder *b, const char *text)
{
    if (!text)
        clpi_builder_fail(b, "the text is NULL");
    for (const char *p = text; p && *p; p++)
        if ((unsigned char)*p < ' ' && *p != '\n' && *p != '\t')
            clpi_builder_fail(b, "byte 0x%02x cannot stand in a text", (unsigned)(unsigned char)*p);
    return !b->failed;
}

void clp_print(clp_builder *b, const char *format, const clp_val *vals, int n_vals)
{
    if (!clpi_enter(b, "clp_print", vals, n_vals) || !check_string(b, format))
        return;
    clpi_make_print(&b->build, format, vals, n_vals);
    clpi_leave(b, none);
}

void clp_assert(clp_builder *b, clp_val condition, const char *text)
{
    if (!clpi_enter(b, "clp_assert", &condition, 1) || !check_string(b, text))
        return;
    clpi_make_assert(&b->build, condition, text);
    clpi_leave(b, none);
}
