/* subscripts: what a list of subscripts addresses.
 * In: subscripts as written: fewer than dimensions, `...`, None, open slices, negative constants on values. Out: one
 * clpi_sub with one operand for each dimension, checked against the sizes that are known, and the shape of the place.
 * Decides that a scalar between two index tiles counts as a tile, and that a slice written backwards is empty.         */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "ir/make.h"

/* The list with `...` and what was left out written as `:`, and the dimensions it adds. */
typedef struct resolver {
    clpi_build        *b;
    const clpi_target *target;
    clpi_target_place *out;
    int  new_before[CLP_MAX_RANK + 1];    /* Nones that stand before sub i */
    clpi_pos pos[CLP_MAX_RANK];
} resolver;

static const char *name_of(const clpi_target *t)
{
    return t->name ? t->name : "the value";
}

/* The start of a slice, or an index, that is a constant. */
static clp_val make_start(clpi_build *b, int64_t at)
{
    bool fits = at >= INT32_MIN && at <= INT32_MAX;
    return clpi_make_int(b, fits ? CLP_I32 : CLP_I64, at);
}

static void add_sub(resolver *r, clpi_pos pos, clpi_sub sub, clp_val arg)
{
    clpi_target_place *p = r->out;
    r->pos[p->n] = pos;
    p->subs[p->n] = sub;
    p->args[p->n++] = arg;
}

void clpi_report_rank(clpi_build *b, const char *name, int rank, int n_given)
{
    const char *given = n_given == 1 ? "subscript was" : "subscripts were";
    if (rank == 0)
        clpi_build_report(b, "%s is a scalar: %d %s given", name, n_given, given);
    else
        clpi_build_report(b, "%s has %d dimension%s: %d %s given", name, rank, rank == 1 ? "" : "s", n_given, given);
}

/* ---- One subscript ---- */

static bool add_all(resolver *r, clpi_pos pos)
{
    int d = r->out->n;
    int64_t size = r->target->size[d];
    if (size < 0) {
        clpi_report_at(r->b, pos, "dimension %d of %s has a size that is known at run time only: `:` and `...` need a constant "
                       "(use ds(start, size))", d, name_of(r->target));
        return false;
    }
    clpi_sub sub = { .kind = CLPI_SUB_RANGE, .size = size, .stride = 1 };
    add_sub(r, pos, sub, make_start(r->b, 0));
    return true;
}

/* NumPy's habit holds for values alone: the block of a ref may hang over an edge, so that it has no end to count from. */
static const char values_only[] = " (only subscripts of values count from the end)";

/* Of a dimension whose size is known at run time only. */
static void report_far(resolver *r, clpi_pos pos, const char *what, int64_t at)
{
    clpi_report_at(r->b, pos, "%s %lld of %s is out of range: a dimension has at most %lld elements", what, (long long)at,
                   name_of(r->target), (long long)CLPI_MAX_DIM);
}

/* A constant index: in range, negative ones of values counted from the end. */
static bool index_check(resolver *r, clpi_pos pos, int64_t at, int64_t *out_at)
{
    const clpi_target *t = r->target;
    int64_t size = t->size[r->out->n];
    *out_at = !t->name && at < 0 ? at + size : at;
    if (*out_at >= 0 && *out_at < (size < 0 ? CLPI_MAX_DIM : size))
        return true;
    const char *note = at < 0 && t->name ? values_only : "";
    if (size < 0 && at >= 0)
        report_far(r, pos, "index", at);
    else if (size < 0)
        clpi_report_at(r->b, pos, "index %lld of %s is negative%s", (long long)at, name_of(t), note);
    else
        clpi_report_at(r->b, pos, "index %lld is out of range: dimension %d of %s has size %lld%s", (long long)at, r->out->n,
                       name_of(t), (long long)size, note);
    return false;
}

static bool add_at(resolver *r, const clpi_subscript *s)
{
    const clpi_type *t = clpi_type_of(r->b->ir, s->val);
    if (!clpi_is_int(t->dtype)) {
        clpi_report_at(r->b, s->pos, "an index is an integer: %s was given%s", clp_dtype_name(t->dtype),
                       t->dtype == CLP_BOOL ? " (use `where` or a mask)" : "");
        return false;
    }
    clpi_sub sub = { .kind = t->rank == 0 ? CLPI_SUB_AT : CLPI_SUB_TILE };    /* before an op is made: the type may move */
    clp_val v = s->val;
    int64_t at, from;
    if (!s->is_run_time && clpi_const_int(r->b->ir, v, &from)) {
        if (!index_check(r, s->pos, from, &at))
            return false;
        if (at != from)
            v = make_start(r->b, at);
    }
    add_sub(r, s->pos, sub, v);
    return true;
}

static bool stride_check(resolver *r, const clpi_subscript *s)
{
    if (s->stride != 0)
        return true;
    clpi_report_at(r->b, s->pos, "the stride of a slice is 0");
    return false;
}

/* An end of a slice of values counts from the end when negative; it may stand just past the last element. */
static bool end_check(resolver *r, const clpi_subscript *s, const char *which, int64_t end, int64_t *out_end)
{
    const clpi_target *t = r->target;
    int64_t size = t->size[r->out->n];
    *out_end = !t->name && end < 0 ? end + size : end;
    if (*out_end >= 0 && *out_end <= (size < 0 ? CLPI_MAX_DIM : size))
        return true;
    const char *note = end < 0 && t->name ? values_only : "";
    if (size < 0 && end >= 0)
        report_far(r, s->pos, which, end);
    else if (size < 0)
        clpi_report_at(r->b, s->pos, "%s %lld of %s is negative%s", which, (long long)end, name_of(t), note);
    else
        clpi_report_at(r->b, s->pos, "%s %lld is out of range: dimension %d of %s has size %lld%s", which, (long long)end,
                       r->out->n, name_of(t), (long long)size, note);
    return false;
}

static bool add_slice(resolver *r, const clpi_subscript *s)
{
    int d = r->out->n;
    int64_t size = r->target->size[d], start, stop;
    if (!stride_check(r, s))
        return false;
    bool is_back = s->stride < 0;
    bool needs_size = is_back ? !s->has_start : !s->has_stop;
    if (needs_size && size < 0) {
        clpi_report_at(r->b, s->pos, "dimension %d of %s has a size that is known at run time only: an open slice needs a constant "
                       "(use ds(start, size))", d, name_of(r->target));
        return false;
    }
    start = is_back ? size - 1 : 0;
    stop = is_back ? -1 : size;
    if (s->has_start && !end_check(r, s, "slice start", s->start, &start))
        return false;
    if (s->has_stop && !end_check(r, s, "slice end", s->stop, &stop))
        return false;
    if (is_back && s->has_start && start == size) {
        clpi_report_at(r->b, s->pos, "slice start %lld is out of range: dimension %d of %s has size %lld", (long long)s->start, d,
                       name_of(r->target), (long long)size);
        return false;
    }
    int64_t span = is_back ? start - stop : stop - start;
    uint64_t step = is_back ? 0 - (uint64_t)s->stride : (uint64_t)s->stride;
    clpi_sub sub = { .kind = CLPI_SUB_RANGE };
    sub.size = span <= 0 ? 0 : (int64_t)((uint64_t)(span - 1) / step) + 1;
    sub.stride = sub.size > 1 ? s->stride : 1;       /* of one element: none */
    add_sub(r, s->pos, sub, make_start(r->b, sub.size == 0 ? 0 : start));
    return true;
}

static bool report_ds(resolver *r, const clpi_subscript *s, int64_t from)
{
    int d = r->out->n;
    char stride[32] = "", size[48] = "is indexed from 0 on";
    if (s->stride != 1)
        snprintf(stride, sizeof stride, ", %lld", (long long)s->stride);
    if (r->target->size[d] >= 0)
        snprintf(size, sizeof size, "has size %lld", (long long)r->target->size[d]);
    else if (s->stride > 0)
        snprintf(size, sizeof size, "has at most %lld elements", (long long)CLPI_MAX_DIM);
    clpi_report_at(r->b, s->pos, "ds(%lld, %lld%s) is out of range: dimension %d of %s %s", (long long)from, (long long)s->stop, stride, d,
                   name_of(r->target), size);
    return false;
}

static bool add_ds(resolver *r, const clpi_subscript *s)
{
    const clpi_type *t = clpi_type_of(r->b->ir, s->val);
    clp_val v = s->val;
    if (!stride_check(r, s))
        return false;
    if (s->stop < 0 || s->stop > CLPI_MAX_TILE) {
        clpi_report_at(r->b, s->pos, "ds has a size of 0 or more: %lld was given", (long long)s->stop);
        return false;
    }
    if (!clpi_is_int(t->dtype) || t->rank != 0) {
        clpi_report_at(r->b, s->pos, "the start of ds is an integer scalar");
        return false;
    }
    int64_t from, at, last;
    if (!s->is_run_time && s->stop > 0 && clpi_const_int(r->b->ir, v, &from)) {
        if (!index_check(r, s->pos, from, &at))
            return false;
        if (at != from)
            v = make_start(r->b, at);
        bool fits = s->stride > -CLPI_MAX_DIM && s->stride < CLPI_MAX_DIM;
        last = fits ? at + (s->stop - 1) * s->stride : INT64_MAX;
        int64_t size = r->target->size[r->out->n];
        if (last < 0 || last >= (size < 0 ? CLPI_MAX_DIM : size))
            return report_ds(r, s, from);
    }
    add_sub(r, s->pos, (clpi_sub){ .kind = CLPI_SUB_RANGE, .size = s->stop, .stride = s->stop > 1 ? s->stride : 1 }, v);
    return true;
}

/* ---- The list ---- */

static bool add_many(resolver *r, clpi_pos pos, int n)
{
    for (int i = 0; i < n; i++)
        if (!add_all(r, pos))
            return false;
    return true;
}

static bool count(resolver *r, const clpi_subscript *subs, int n, int *out_open)
{
    int n_dims = 0, n_ellipses = 0;
    for (int i = 0; i < n; i++) {
        bool has_val = subs[i].kind == CLPI_AT || subs[i].kind == CLPI_DS;
        if (has_val && subs[i].val.id == 0)
            return false;
        n_ellipses += subs[i].kind == CLPI_ELLIPSIS;
        n_dims += subs[i].kind != CLPI_ELLIPSIS && subs[i].kind != CLPI_NEWAXIS;
        if (subs[i].kind == CLPI_NEWAXIS && r->target->name) {
            clpi_report_at(r->b, subs[i].pos, "`None` stands in subscripts of values only: %s is a ref", r->target->name);
            return false;
        }
        if (n_ellipses > 1) {
            clpi_report_at(r->b, subs[i].pos, "subscripts have one `...` at most");
            return false;
        }
    }
    *out_open = r->target->rank - n_dims;
    if (*out_open >= 0)
        return true;
    clpi_report_rank(r->b, name_of(r->target), r->target->rank, n_dims);
    return false;
}

static bool add_list(resolver *r, const clpi_subscript *subs, int n)
{
    int n_open = 0;
    if (!count(r, subs, n, &n_open))
        return false;
    bool ok = true;
    for (int i = 0; i < n && ok; i++) {
        switch (subs[i].kind) {
        case CLPI_ALL: ok = add_all(r, subs[i].pos); break;
        case CLPI_AT: ok = add_at(r, &subs[i]); break;
        case CLPI_SLICE: ok = add_slice(r, &subs[i]); break;
        case CLPI_DS: ok = add_ds(r, &subs[i]); break;
        case CLPI_ELLIPSIS: ok = add_many(r, subs[i].pos, n_open); n_open = 0; break;
        case CLPI_NEWAXIS: r->new_before[r->out->n]++; break;
        }
    }
    return ok && add_many(r, (clpi_pos){ 0, 0 }, n_open);
}

/* Index tiles broadcast together; scalars that stand between two of them join. */
static bool join_tiles(resolver *r)
{
    clpi_target_place *p = r->out;
    int first = -1, last = -1, rank = 0;
    int64_t shape[CLP_MAX_RANK];
    for (int i = 0; i < p->n; i++) {
        if (p->subs[i].kind != CLPI_SUB_TILE)
            continue;
        first = first < 0 ? i : first;
        last = i;
        if (!clpi_shapes_join(&rank, shape, clpi_type_of(r->b->ir, p->args[i]))) {
            clpi_report_at(r->b, r->pos[i], "the index tiles do not broadcast together");
            return false;
        }
    }
    for (int i = first; i >= 0 && i <= last; i++) {
        if (p->subs[i].kind == CLPI_SUB_RANGE || (i > first && r->new_before[i] > 0)) {
            clpi_report_at(r->b, r->pos[last], "index tiles stand side by side: a subscript of another kind lies between them");
            return false;
        }
        p->subs[i].kind = CLPI_SUB_TILE;
        p->args[i] = clpi_make_broadcast(r->b, p->args[i], shape, rank);
        if (p->args[i].id == 0)
            return false;
    }
    return true;
}

/* with_new: the shape with a 1 for each None, which stand where they were written. */
static bool add_new_dims(resolver *r)
{
    clpi_target_place *p = r->out;
    int d = 0, n = 0, total = p->shape.rank;
    for (int i = 0; i <= p->n; i++)
        total += r->new_before[i];
    if (total > CLP_MAX_RANK) {
        clpi_build_report(r->b, "a value has at most %d dimensions", CLP_MAX_RANK);
        return false;
    }
    bool in_tiles = false;
    for (int i = 0; i <= p->n; i++) {
        for (int k = 0; k < r->new_before[i]; k++)
            p->with_new.shape[n++] = 1;
        if (i == p->n || p->subs[i].kind == CLPI_SUB_AT)
            continue;
        int n_dims = 1;
        if (p->subs[i].kind == CLPI_SUB_TILE)
            n_dims = in_tiles ? 0 : clpi_type_of(r->b->ir, p->args[i])->rank;
        in_tiles = in_tiles || p->subs[i].kind == CLPI_SUB_TILE;
        for (int k = 0; k < n_dims; k++)
            p->with_new.shape[n++] = p->shape.shape[d++];
    }
    p->with_new.rank = n;
    assert(n == total);
    return true;
}

static bool covers_all(const resolver *r)
{
    const clpi_target_place *p = r->out;
    for (int i = 0; i < p->n; i++) {
        int64_t start;
        if (p->subs[i].kind != CLPI_SUB_RANGE || p->subs[i].stride != 1 || p->subs[i].size != r->target->size[i] ||
            !clpi_const_int(r->b->ir, p->args[i], &start) || start != 0)
            return false;
    }
    return true;
}

bool clpi_subscripts_resolve(clpi_build *b, const clpi_target *target, const clpi_subscript *subs, int n, clpi_target_place *out_place)
{
    *out_place = (clpi_target_place){ .n = 0 };
    resolver r = { .b = b, .target = target, .out = out_place };
    if (!add_list(&r, subs, n) || b->ir->arena->failed || !join_tiles(&r))
        return false;
    clpi_str why;
    clpi_str_init(&why, b->ir->env);
    bool fits = clpi_subs_shape(b->ir, out_place->subs, out_place->args, out_place->n, &out_place->shape, &why);
    clpi_report_why(b, fits, &why);
    if (!fits || !add_new_dims(&r))
        return false;
    out_place->is_whole = covers_all(&r);
    return true;
}
