/* work_sum: sums of products of factors over the programs of a launch.
 * In: factors, each with the axes it depends on. Out: the sum.
 *
 *     sum over i, j, k of  f(i) g(i) h(k)   =   (sum over i of f(i) g(i)) * (sum over k of h(k)) * (number of j)
 *
 * Factors that share an axis form a component; only the programs of one component are walked. A component with more
 * programs than its budget is sampled: of each long axis both ends are taken whole, where blocks hang over edges and loops
 * begin and end, and of the middle evenly spread points, each of which stands for its neighbours. When all of those have
 * one value the sum is taken to be exact.                                                                              */
#include <math.h>
#include <string.h>

#include "plan/counting.h"

enum { BUDGET = 1 << 16, DATA_BUDGET = 1 << 20 };

int clpi_factor_intern(clpi_counting *c, const clpi_factor *f)
{
    for (uint32_t i = 1; i < c->factors.n; i++) {
        const clpi_factor *g = &c->factors.items[i];
        if (g->kind == f->kind && g->operand == f->operand && g->dim == f->dim && g->start == f->start && g->stride == f->stride &&
            g->size == f->size && g->value.id == f->value.id && g->op == f->op && g->level == f->level)
            return (int)i;
    }
    return CLPI_PUSH(c->arena, &c->factors, *f) ? (int)c->factors.n - 1 : 0;
}

void clpi_product_add(clpi_product *p, int factor_number)
{
    if (factor_number && p->n < CLPI_MAX_PRODUCT)
        p->factors[p->n++] = factor_number;
}

/* ---- One factor in one program ---- */

static int64_t index_at(clpi_counting *c, const clpi_factor *f, const int64_t *program, bool *is_there)
{
    int64_t index = 0;
    if (f->value.id) {
        clpi_elem e;
        *is_there = clpi_known_value(c, f->value, program, &e) && *is_there;
        index = e.i;
    } else if (!clpi_header_eval(c->bound, c->ir->operands[f->operand].block[f->dim].index, program, c->prefetch, &index)) {
        *is_there = false;
    }
    return index;
}

/* The step moves axis `level` on by one; those inside it go from their ends back to their starts. */
static double is_same(clpi_counting *c, const clpi_factor *f, const int64_t *program)
{
    int64_t before[CLPI_MAX_AXES];
    bool is_there = true;
    memcpy(before, program, (size_t)c->ir->n_axes * sizeof *before);
    int at = 0;
    while (c->order[at] != f->level)
        at++;
    before[f->level]--;
    for (int i = at + 1; i < c->ir->n_axes; i++)
        before[c->order[i]] = c->all.lo[c->order[i]] + c->all.n[c->order[i]] - 1;
    const bool same = index_at(c, f, program, &is_there) == index_at(c, f, before, &is_there);
    return same && is_there;
}

/* Of lo <= start + stride * i < hi with 0 <= i < size: how many. */
static int64_t count_inside(const clpi_factor *f, int64_t lo, int64_t hi)
{
    const int64_t below = lo > f->start ? (lo - f->start + f->stride - 1) / f->stride : 0;
    const int64_t end = hi > f->start ? (hi - f->start + f->stride - 1) / f->stride : 0;
    const int64_t last = end < f->size ? end : f->size;
    return last > below ? last - below : 0;
}

static double trips(clpi_counting *c, const clpi_factor *f, const int64_t *program)
{
    const clpi_op *op = &c->ir->ops.items[f->op];
    const int64_t step = (int64_t)op->attr;
    clpi_elem lo, hi;
    if (!clpi_known_value(c, clpi_args(c->ir, op)[0], program, &lo) || !clpi_known_value(c, clpi_args(c->ir, op)[1], program, &hi))
        return 0;
    const int64_t way = step > 0 ? hi.i - lo.i : lo.i - hi.i, stride = step > 0 ? step : -step;
    return way > 0 ? (double)((way + stride - 1) / stride) : 0;
}

static double factor_at(clpi_counting *c, const clpi_factor *f, const int64_t *program)
{
    clpi_window w;
    clpi_elem e;
    if (f->reads_data && !c->prefetch)
        return f->kind == CLPI_FACTOR_EXTENT ? (double)f->size : f->kind == CLPI_FACTOR_SAME ? 0 : 1;
    switch (f->kind) {
    case CLPI_FACTOR_EXTENT:
        if (!clpi_window_of(c->bound, f->operand, f->dim, program, c->prefetch, &w))
            return 0;
        return (double)count_inside(f, w.lo, w.hi);
    case CLPI_FACTOR_SAME: return is_same(c, f, program);
    case CLPI_FACTOR_IF: return clpi_known_value(c, f->value, program, &e) && e.u;
    case CLPI_FACTOR_UNLESS: return clpi_known_value(c, f->value, program, &e) && !e.u;
    case CLPI_FACTOR_TRIPS: return trips(c, f, program);
    }
    return 0;
}

/* ---- One component ---- */

/* The points of an axis that are looked at: all, or both ends and a spread of the middle.
 *     0 .. end - 1 | middle: n_points - 2 end points for n - 2 end programs | n - end .. n - 1                          */
typedef struct axis_points { int axis; int64_t n, n_points, end; } axis_points;

static void choose_points(axis_points *axes, int n_axes, double budget)
{
    int n_open = n_axes;
    bool is_open[CLPI_MAX_AXES];
    for (int i = 0; i < n_axes; i++)
        is_open[i] = true;
    for (bool moved = true; moved && n_open;) {
        moved = false;
        const double share = floor(pow(budget, 1.0 / n_open) + 1e-9);
        for (int i = 0; i < n_axes && !moved; i++)
            if (is_open[i] && (double)axes[i].n <= share) {
                axes[i].n_points = axes[i].n;
                axes[i].end = axes[i].n;
                budget /= (double)axes[i].n;
                is_open[i] = false;
                n_open--;
                moved = true;
            }
        for (int i = 0; i < n_axes && !moved; i++)
            if (is_open[i]) {
                axes[i].n_points = share < 4 ? 4 : (int64_t)share;
                axes[i].n_points = axes[i].n_points < axes[i].n ? axes[i].n_points : axes[i].n;
                axes[i].end = axes[i].n_points == axes[i].n ? axes[i].n : axes[i].n_points / 4;
            }
    }
}

/* Point number `at` of an axis, and how many programs it stands for. Within its stretch it stands at a scattered place:
 * evenly spaced points would all see the same of what repeats.                                                         */
static int64_t point_at(const axis_points *a, int64_t at, double *weight)
{
    *weight = 1;
    if (at < a->end)
        return at;
    if (at >= a->n_points - a->end)
        return a->n - (a->n_points - at);
    const int64_t n = a->n - 2 * a->end, m = a->n_points - 2 * a->end, k = at - a->end;
    const int64_t from = (int64_t)((double)n / (double)m * (double)k), to = (int64_t)((double)n / (double)m * (double)(k + 1));
    const int64_t stretch = to > from ? to - from : 1;
    *weight = (double)n / (double)m;
    return a->end + from + (int64_t)((uint64_t)k * UINT64_C(0x9e3779b97f4a7c15) >> 33) % stretch;
}

static double walk(clpi_counting *c, const int *factors, int n, axis_points *axes, int n_axes, int64_t *program, bool *is_exact)
{
    int64_t at[CLPI_MAX_AXES] = { 0 }, lo[CLPI_MAX_AXES];
    double sum = 0, sampled = -1;
    for (int i = 0; i < n_axes; i++)
        lo[i] = program[axes[i].axis];
    for (;;) {
        double value = 1, weight = 1, one;
        for (int i = 0; i < n_axes; i++) {
            program[axes[i].axis] = lo[i] + point_at(&axes[i], at[i], &one);
            weight *= one;
        }
        for (int i = 0; i < n && value != 0; i++)
            value *= factor_at(c, &c->factors.items[factors[i]], program);
        if (weight > 1 && sampled >= 0 && value != sampled)
            *is_exact = false;
        if (weight > 1)
            sampled = value;
        sum += weight * value;
        int i = n_axes - 1;
        for (; i >= 0 && ++at[i] == axes[i].n_points; i--)
            at[i] = 0;
        if (i < 0)
            return sum;
    }
}

static double component(clpi_counting *c, const int *factors, int n, uint32_t mask, const clpi_ranges *over, bool *is_exact)
{
    axis_points axes[CLPI_MAX_AXES];
    int64_t program[CLPI_MAX_AXES];
    int n_axes = 0;
    bool reads_data = false;
    for (int i = 0; i < n; i++)
        reads_data = reads_data || c->factors.items[factors[i]].reads_data;
    for (int a = 0; a < c->ir->n_axes; a++) {
        program[a] = over->lo[a];
        if (mask >> a & 1)
            axes[n_axes++] = (axis_points){ .axis = a, .n = over->n[a] };
    }
    if (reads_data && !c->prefetch)
        *is_exact = false;
    choose_points(axes, n_axes, reads_data ? DATA_BUDGET : BUDGET);
    return walk(c, factors, n, axes, n_axes, program, is_exact);
}

/* Sums over all programs come again and again: most values of a kernel have the same few shapes. */
static double component_once(clpi_counting *c, const int *factors, int n, uint32_t mask, bool *is_exact)
{
    for (uint32_t i = 0; i < c->sums.n; i++) {
        const clpi_component_sum *s = &c->sums.items[i];
        if (s->n == n && !memcmp(s->factors, factors, (size_t)n * sizeof *factors)) {
            *is_exact = *is_exact && s->is_exact;
            return s->sum;
        }
    }
    clpi_component_sum s = { CLPI_NEW_N(c->arena, int, (size_t)n), n, 0, true };
    s.sum = component(c, factors, n, mask, &c->all, &s.is_exact);
    *is_exact = *is_exact && s.is_exact;
    if (s.factors) {
        memcpy(s.factors, factors, (size_t)n * sizeof *factors);
        (void)CLPI_PUSH(c->arena, &c->sums, s);      /* without memory it is worked out again, and the arena knows */
    }
    return s.sum;
}

static void sort(int *numbers, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && numbers[k - 1] > numbers[k]; k--) {
            const int t = numbers[k];
            numbers[k] = numbers[k - 1];
            numbers[k - 1] = t;
        }
}

double clpi_product_sum(clpi_counting *c, const clpi_product *p, const clpi_ranges *over, bool *is_exact)
{
    double sum = p->constant;
    bool is_taken[CLPI_MAX_PRODUCT] = { false };
    uint32_t moving = 0, seen = 0;
    for (int a = 0; a < c->ir->n_axes; a++) {
        if (over->n[a] <= 0)
            return 0;
        moving |= over->n[a] > 1 ? UINT32_C(1) << a : 0;
    }
    for (int first = 0; first < p->n && sum != 0; first++) {
        int members[CLPI_MAX_PRODUCT], n = 0;
        if (is_taken[first])
            continue;
        uint32_t mask = c->factors.items[p->factors[first]].axes & moving;
        for (bool grew = true; grew;) {
            grew = false;
            for (int i = first; i < p->n; i++) {
                const uint32_t of = c->factors.items[p->factors[i]].axes & moving;
                if (is_taken[i] || (i != first && !(of & mask)))
                    continue;
                is_taken[i] = grew = true;
                members[n++] = p->factors[i];
                mask |= of;
            }
        }
        sort(members, n);
        sum *= over == &c->all ? component_once(c, members, n, mask, is_exact) : component(c, members, n, mask, over, is_exact);
        seen |= mask;
    }
    for (int a = 0; a < c->ir->n_axes; a++)
        sum *= seen >> a & 1 ? 1 : (double)over->n[a];
    return sum;
}
