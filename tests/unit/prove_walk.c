/* prove_walk: what a random kernel does. In: a spec, dims. Out: which elements its programs touch, and what comes of that.  */
#include <assert.h>
#include <string.h>

#include "unit/prove_random.h"

typedef struct place { const spec *s; const spec_run *run; const int64_t *program; int64_t turn, carried, lane; } place;

static int64_t floor_divide(int64_t a, int64_t b)
{
    return b == 0 ? -1 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static bool holds(const place *p, const condition *c);

static int64_t eval(const place *p, int e)
{
    const expr *x = &p->s->exprs[e];
    int64_t a = x->kind >= EXPR_ADD ? eval(p, x->a) : 0, b = x->kind >= EXPR_ADD ? eval(p, x->b) : 0;
    switch (x->kind) {
    case EXPR_CONST: return x->value;
    case EXPR_DIM: return p->run->dim[x->value];
    case EXPR_AXIS: return p->program[x->value];
    case EXPR_NUM: return p->run->axis_size[x->value];
    case EXPR_SCALAR: return p->run->scalar;
    case EXPR_TURN: return p->turn;
    case EXPR_CARRIED: return p->carried;
    case EXPR_WHERE: return holds(p, &p->s->conditions[x->value]) ? a : b;
    case EXPR_LANE: return p->lane;
    case EXPR_ADD: return a + b;
    case EXPR_SUB: return a - b;
    case EXPR_MUL: return a * b;
    case EXPR_DIV: return floor_divide(a, b);
    case EXPR_MOD: return b == 0 ? a : a - b * floor_divide(a, b);
    case EXPR_MIN: return a < b ? a : b;
    case EXPR_MAX: return a > b ? a : b;
    case EXPR_CDIV: return b == 0 ? 1 : -floor_divide(-a, b);
    }
    return 0;
}

static bool holds(const place *p, const condition *c)
{
    bool is = !c->is_or || c->n == 0;
    for (int i = 0; i < c->n; i++) {
        int64_t a = eval(p, c->a[i]), b = eval(p, c->b[i]);
        bool one = c->kind[i] == COMPARE_LT ? a < b : c->kind[i] == COMPARE_LE ? a <= b : c->kind[i] == COMPARE_EQ ? a == b
                   : c->kind[i] == COMPARE_NE ? a != b : a >= b;
        is = c->is_or ? is || one : is && one;
    }
    return is != c->is_not;
}

static int64_t block_start(const place *p, const spec_operand *x, int d)
{
    if (!x->has_block)
        return 0;
    int64_t index = eval(p, x->index[d]);
    return x->block[d] == BLOCK_ELEMENT ? index - x->lo[d] : index * x->n[d];
}

static bool is_empty(const spec_run *run, int operand, int rank)
{
    for (int d = 0; d < rank; d++)
        if (run->size[operand][d] == 0)
            return true;
    return false;
}

bool spec_block_is_outside(const spec *s, const spec_run *run, int operand, const int64_t *program)
{
    const spec_operand *x = &s->operands[operand];
    const place p = { s, run, program, 0, 0, 0 };
    if (!x->has_block || is_empty(run, operand, x->rank))
        return false;
    for (int d = 0; d < x->rank; d++) {
        int64_t start = block_start(&p, x, d);
        if (start + x->n[d] <= 0 || start >= run->size[operand][d])
            return true;
    }
    return false;
}

typedef struct lane_user { bool leaves; spec_run *run; spec_watch *watch; int sequence, watched; } lane_user;

/* The element that one lane touches. */
static void visit_element(const place *p, const spec_access *a, const int64_t *index, lane_user *u)
{
    const spec_operand *x = &p->s->operands[a->operand];
    int64_t element[SPEC_RANK], number = 0;
    for (int d = 0, r = 0; d < x->rank; d++) {
        element[d] = block_start(p, x, d) + (x->block[d] == BLOCK_SQUEEZED ? 0 : index[r++]);
        if (element[d] < 0 || element[d] >= p->run->size[a->operand][d])
            return;
        number = number * p->run->size[a->operand][d] + element[d];
    }
    int storage = x->alias >= 0 ? x->alias : a->operand;
    assert(number < SPEC_ELEMENTS);
    if (u->run) {
        touches *t = &u->run->elements[storage * SPEC_ELEMENTS + number];
        t->has_more[a->kind] = t->has_more[a->kind] || (t->first[a->kind] >= 0 && t->first[a->kind] != u->sequence);
        t->first[a->kind] = t->first[a->kind] >= 0 ? t->first[a->kind] : u->sequence;
    }
    if (u->watch && u->watched >= 0 && storage == u->watch->operand &&
        !memcmp(element, u->watch->element, (size_t)x->rank * sizeof *element))
        u->watch->kinds[u->watched] |= 1u << a->kind;
}

/* All lanes of one access at one time. */
static void visit_lanes(place *p, const spec_access *a, lane_user *u)
{
    const spec_operand *x = &p->s->operands[a->operand];
    int64_t lanes[SPEC_RANK] = { 1, 1 }, size[SPEC_RANK] = { 1, 1 };
    int rank = 0;
    for (int d = 0; d < x->rank; d++)
        if (x->block[d] != BLOCK_SQUEEZED) {
            size[rank] = x->has_block ? x->n[d] : p->run->size[a->operand][d];
            lanes[rank] = a->sub[rank].kind == SUB_AT ? 1 : a->sub[rank].size;
            rank++;
        }
    for (int64_t l0 = 0; l0 < lanes[0]; l0++)
        for (int64_t l1 = 0; l1 < lanes[1]; l1++) {
            const int64_t lane[SPEC_RANK] = { l0, l1 };
            int64_t index[SPEC_RANK];
            bool is_inside = true;
            p->lane = lanes[0] > 1 ? l0 : l1; /* masks stand where one dimension has lanes */
            if (a->mask.n && !holds(p, &a->mask))
                continue;
            for (int r = 0; r < rank; r++) {
                const spec_sub *sub = &a->sub[r];
                p->lane = lane[r];
                index[r] = sub->kind == SUB_ALL ? lane[r] : eval(p, sub->start) + (sub->kind == SUB_RANGE ? sub->stride * lane[r] : 0);
                is_inside = is_inside && index[r] >= 0 && index[r] < size[r];
            }
            u->leaves = u->leaves || !is_inside;
            if (is_inside)
                visit_element(p, a, index, u);
        }
}

static void visit_access(const spec *s, const spec_run *run, const spec_access *a, const int64_t *program, lane_user *u)
{
    place p = { s, run, program, 0, 0, 0 };
    int64_t from = a->has_loop ? eval(&p, a->from) : 0, to = a->has_loop ? eval(&p, a->to) : 1, step = a->has_loop ? a->step : 1;
    p.carried = a->carries ? eval(&p, a->carried_start) : 0;
    for (p.turn = from; step > 0 ? p.turn < to : p.turn > to; p.turn += step, p.carried += a->carried_step)
        if (!a->branch.n || holds(&p, &a->branch))
            visit_lanes(&p, a, u);
}

bool spec_leaves_in(const spec *s, const spec_run *run, int access, const int64_t *program)
{
    lane_user u = { .watched = -1 };
    visit_access(s, run, &s->accesses[access], program, &u);
    return u.leaves;
}

/* Whether a touch of kind a and one of kind b came from two sequences. */
static bool differ(const touches *t, int a, int b)
{
    if (t->first[a] < 0 || t->first[b] < 0)
        return false;
    return a == b ? t->has_more[a] : t->first[a] != t->first[b] || t->has_more[a] || t->has_more[b];
}

static bool has_race(const touches *t)
{
    return differ(t, ACCESS_STORE, ACCESS_STORE) || differ(t, ACCESS_STORE, ACCESS_LOAD) || differ(t, ACCESS_STORE, ACCESS_ATOMIC) ||
           differ(t, ACCESS_LOAD, ACCESS_ATOMIC);
}

static bool bind(const spec *s, spec_run *run)
{
    const int64_t no_program[SPEC_AXES] = { 0 };
    const place p = { s, run, no_program, 0, 0, 0 };
    run->n_programs = 1;
    for (int i = 0; i < s->n_axes; i++) {
        run->axis_size[i] = eval(&p, s->axis_size[i]);
        if (run->axis_size[i] < 1 || run->axis_size[i] > SPEC_PROGRAMS)
            return false;
        run->n_programs *= (int)run->axis_size[i];
        if (run->n_programs > SPEC_PROGRAMS)
            return false;
    }
    for (int i = 0; i < s->n_operands; i++) {
        int64_t n = 1;
        for (int d = 0; d < s->operands[i].rank; d++) {
            run->size[i][d] = eval(&p, s->operands[i].size[d]);
            if (run->size[i][d] < 0 || (n *= run->size[i][d]) > SPEC_ELEMENTS)
                return false;
        }
        run->n_elements[i] = n;
    }
    return !s->require.n || holds(&p, &s->require);
}

static void visit_programs(const spec *s, spec_run *run, spec_watch *watch)
{
    int64_t program[SPEC_AXES] = { 0 };
    for (int number = 0; number < run->n_programs; number++) {
        int rest = number, sequence = 0;
        for (int i = s->n_axes; i-- > 0; rest /= (int)run->axis_size[i])
            program[i] = rest % run->axis_size[i];
        for (int i = 0; i < s->n_axes; i++)
            sequence = s->is_arbitrary[i] ? sequence : sequence * (int)run->axis_size[i] + (int)program[i];
        for (int i = 0; i < s->n_operands; i++)
            run->is_outside[i] = run->is_outside[i] || spec_block_is_outside(s, run, i, program);
        for (int i = 0; i < s->n_accesses; i++) {
            lane_user u = { .run = run, .watch = watch, .sequence = sequence, .watched = -1 };
            for (int k = 0; watch && k < 2; k++)
                if (!memcmp(program, watch->program[k], (size_t)s->n_axes * sizeof *program))
                    u.watched = k;
            visit_access(s, run, &s->accesses[i], program, &u);
            run->leaves[i] = run->leaves[i] || u.leaves;
        }
    }
}

void spec_walk(const spec *s, spec_run *run, spec_watch *watch)
{
    run->is_valid = bind(s, run);
    memset(run->is_outside, 0, sizeof run->is_outside);
    memset(run->leaves, 0, sizeof run->leaves);
    memset(run->races, 0, sizeof run->races);
    if (!run->is_valid)
        return;
    for (int i = 0; i < s->n_operands; i++)
        for (int64_t e = 0; e < run->n_elements[i]; e++)
            run->elements[i * SPEC_ELEMENTS + e] = (touches){ { -1, -1, -1 }, { false, false, false } };
    visit_programs(s, run, watch);
    bool are_inside = true;
    for (int i = 0; i < s->n_operands; i++)
        are_inside = are_inside && !run->is_outside[i];
    for (int i = 0; are_inside && i < s->n_operands; i++)
        for (int64_t e = 0; e < run->n_elements[i]; e++)
            run->races[i] = run->races[i] || has_race(&run->elements[i * SPEC_ELEMENTS + e]);
    /* A program may be both watched ones only when they are one program, which no race has. */
    const unsigned load = 1u << ACCESS_LOAD, store = 1u << ACCESS_STORE, atomic = 1u << ACCESS_ATOMIC;
    run->has_race_at_watched = watch && are_inside && watch->kinds[0] && watch->kinds[1] &&
                               ((watch->kinds[0] | watch->kinds[1]) & store ||
                                (watch->kinds[0] & load && watch->kinds[1] & atomic) || (watch->kinds[0] & atomic && watch->kinds[1] & load));
}
