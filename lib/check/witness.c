/* witness: launches small enough to be tried, program by program.
 * In: a kernel, and what is wanted of it. Out: for what it found, a launch and its programs.
 *
 * A launch is told by its dims and integer scalars; prefetched data are taken to be zeros where they only decide whether it
 * runs at all. Sizes are drawn from the neighbourhood of the constants in the kernel: of 1, of each block, of a few of them. */
#include <string.h>

#include "check/witness.h"
#include "plan/bind.h"

enum { MAX_TRIES = 4000, MAX_LAUNCHES = 160, MAX_PROGRAMS = 48, MAX_TOUCHED = 3000, MAX_CANDIDATES = 96, MAX_CONSTANT = 1 << 20 };

#define MAX_TESTS (INT64_C(12) << 20)      /* pairs of accesses looked at, in all launches */
#define MAX_STEPS (INT64_C(12) << 20)      /* operations worked out, likewise */

typedef struct tried {
    clpi_search  *search;
    clpi_bound   *bound;
    int64_t       candidates[MAX_CANDIDATES];
    int           n_candidates;
    int64_t      *programs;              /* [MAX_PROGRAMS][n_axes] */
    uint32_t      n_programs;
    uint64_t     *sequence;              /* [MAX_PROGRAMS] */
    clpi_window  *windows;               /* [MAX_PROGRAMS][n_operands][CLP_MAX_RANK] */
    clpi_touched *touched;
    int           n_touched;
    int64_t       n_tests;
    bool          has_left;              /* an index leaves its ref in this launch */
    bool          takes_faulty;          /* races of such launches count too: there are no others */
    clpi_walk     walk;
    uint64_t      random;
} tried;

/* ---- Sizes to try ---- */

static void add_candidate(tried *t, int64_t c)
{
    if (c < 0 || c > 4 * (int64_t)MAX_CONSTANT || t->n_candidates == MAX_CANDIDATES)
        return;
    for (int i = 0; i < t->n_candidates; i++)
        if (t->candidates[i] == c)
            return;
    t->candidates[t->n_candidates++] = c;
}

static void add_around(tried *t, int64_t c)
{
    if (c < 1 || c > MAX_CONSTANT)
        return;
    const int64_t around[] = { c, 2 * c, c + 1, 3 * c, c - 1, 2 * c + 1 };
    for (size_t i = 0; i < sizeof around / sizeof *around; i++)
        add_candidate(t, around[i]);
}

static void find_candidates(tried *t)
{
    const clpi_ir *ir = t->search->ir;
    int64_t c;
    for (c = 1; c <= 6; c++)
        add_candidate(t, c);
    add_candidate(t, 0);
    for (int i = 0; i < ir->n_operands; i++)
        for (int d = 0; d < ir->operands[i].rank && ir->operands[i].has_block; d++)
            add_around(t, ir->operands[i].block[d].n);
    for (uint32_t id = 1; id < ir->ops.n; id++)
        if (ir->ops.items[id].kind == CLP_OP_const && ir->types.items[ir->ops.items[id].type].rank == 0 && clpi_const_int(ir, (clp_val){ id }, &c))
            add_around(t, c < 0 && c >= -MAX_CONSTANT ? -c : c);
    for (c = 8; c <= 64; c += c < 16 ? 2 : c / 4)
        add_candidate(t, c);
}

/* xorshift */
static uint64_t draw(tried *t, uint64_t n)
{
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return t->random % n;
}

/* The first tries give all dims one size; later ones are drawn, small ones more often. */
static int64_t pick(tried *t, int i_try)
{
    const uint64_t n = (uint64_t)t->n_candidates;
    if (i_try < t->n_candidates)
        return t->candidates[i_try];
    return t->candidates[draw(t, 1 + draw(t, n))];
}

/* ---- One launch ---- */

static bool read_zero(void *user, int operand, const int64_t *index, int64_t *out_value)
{
    const tried *t = user;
    *out_value = 0;
    for (int d = 0; d < t->search->ir->operands[operand].rank; d++)
        if (index[d] < 0 || index[d] >= t->bound->operands[operand].size[d])
            return false;
    return true;
}

/* Sizes of arrays and grid from the dims and scalars; false: binding would refuse them, or there are too many programs. */
static bool bind_sizes(const tried *t)
{
    const clpi_ir *ir = t->search->ir;
    clpi_bound *b = t->bound;
    clpi_header_at_launch(b);
    int64_t n_programs = 1;
    for (int i = 0; i < ir->n_axes; i++) {
        int64_t size = b->axis_size[i] = b->box_count[i] = b->header[ir->axes[i].size.id];
        if (size < 1 || size > MAX_PROGRAMS || (n_programs *= size) > MAX_PROGRAMS)
            return false;
    }
    clpi_header_at_launch(b);
    for (int i = 0; i < ir->n_operands; i++) {
        const clpi_operand *x = &ir->operands[i];
        for (int d = 0; x->role != CLP_SCRATCH && d < x->rank; d++) {
            int64_t size = b->operands[i].size[d] = b->header[x->shape[d].id];
            if (size < 0 || size > CLPI_MAX_SIZE || (x->alias >= 0 && size != b->header[ir->operands[x->alias].shape[d].id]))
                return false;
        }
    }
    for (int i = 0; i < ir->n_requires; i++)
        if (!b->header[ir->requires[i].condition.id])
            return false;
    return true;
}

static void list_programs(tried *t)
{
    const clpi_plan *plan = t->search->plan;
    const int n_axes = t->search->ir->n_axes;
    clpi_bound *b = t->bound;
    b->n_sequences = b->n_steps = 1;
    for (int i = 0; i < plan->n_parallel; i++)
        b->n_sequences *= (uint64_t)b->axis_size[plan->parallel[i]];
    for (int i = 0; i < plan->n_arbitrary; i++)
        b->n_steps *= (uint64_t)b->axis_size[plan->arbitrary[i]];
    t->n_programs = 0;
    for (uint64_t sequence = 0; sequence < b->n_sequences; sequence++)
        for (uint64_t step = 0; step < b->n_steps; step++) {
            clpi_program_at(b, sequence, step, &t->programs[t->n_programs * (uint32_t)n_axes]);
            t->sequence[t->n_programs++] = sequence;
        }
}

static const int64_t *program_of(const tried *t, uint32_t i)
{
    return &t->programs[i * (uint32_t)t->search->ir->n_axes];
}

/* ---- What was found ---- */

static int64_t *copy_numbers(clpi_arena *arena, const int64_t *numbers, int n)
{
    int64_t *copy = CLPI_NEW_N(arena, int64_t, (size_t)n);
    if (copy && n)
        memcpy(copy, numbers, (size_t)n * sizeof *copy);
    return copy;
}

static clpi_witness *witness_new(const tried *t, uint32_t program)
{
    const clpi_ir *ir = t->search->ir;
    clpi_arena *arena = t->search->arena;
    clpi_witness *w = CLPI_NEW(arena, clpi_witness);
    if (!w)
        return NULL;
    w->dim = copy_numbers(arena, t->bound->dim, ir->n_dims);
    w->axis_size = copy_numbers(arena, t->bound->axis_size, ir->n_axes);
    w->program[0] = copy_numbers(arena, program_of(t, program), ir->n_axes);
    w->scalar = CLPI_NEW_N(arena, int64_t, (size_t)ir->n_operands);
    w->axis = -1;
    for (int i = 0; w->scalar && i < ir->n_operands; i++)
        w->scalar[i] = ir->operands[i].role == CLP_SCALAR && clpi_is_int(ir->operands[i].dtype) ? t->bound->scalar[i].i : 0;
    return arena->failed ? NULL : w;
}

/* Whether every block of the launch has an element of its array; those that have none, whatever is prefetched, are found. */
static bool check_blocks(tried *t)
{
    const clpi_ir *ir = t->search->ir;
    const clpi_prefetch zeros = { read_zero, t };
    bool are_inside = true;
    for (int i = 0; i < ir->n_operands; i++) {
        const clpi_operand *x = &ir->operands[i];
        bool is_of_data = clpi_block_reads_data(t->search->plan, i);
        for (uint32_t p = 0; p < t->n_programs; p++) {
            clpi_window *windows = &t->windows[((size_t)p * (size_t)ir->n_operands + (size_t)i) * CLP_MAX_RANK];
            if (x->role == CLP_SCRATCH) {
                for (int d = 0; d < x->rank; d++)
                    windows[d] = (clpi_window){ 0, 0, x->ref_size[d] };
                continue;
            }
            if (clpi_windows(t->bound, i, program_of(t, p), &zeros, windows))
                continue;
            are_inside = false;
            clpi_wanted *wanted = &t->search->blocks[i];
            clpi_witness *w = wanted->is_wanted && !wanted->found && !is_of_data ? witness_new(t, p) : NULL;
            for (int d = 0; w && d < x->rank; d++)
                (void)clpi_header_eval(t->bound, x->block[d].index, program_of(t, p), NULL, &w->element[d]);
            if (w) {
                w->operand[0] = w->operand[1] = i;
                wanted->found = w;
            }
        }
    }
    return are_inside;
}

static void on_leave(void *user, uint32_t op, int n, const int64_t *index)
{
    tried *t = user;
    clpi_wanted *wanted = &t->search->ranges[op];
    t->has_left = true;
    clpi_witness *w = wanted->is_wanted && !wanted->found ? witness_new(t, t->walk.i_program) : NULL;
    if (!w)
        return;
    w->operand[0] = w->operand[1] = t->search->ir->ops.items[op].operand;
    w->op[0] = w->op[1] = op;
    memcpy(w->element, index, (size_t)n * sizeof *index);
    wanted->found = w;
}

/* Accesses through maps of prefetched data are certain of nothing. */
static void on_touch(void *user, const clpi_touched *touched)
{
    tried *t = user;
    const clpi_wanted *wanted = &t->search->races[touched->storage];
    if (wanted->is_wanted && !wanted->found && t->n_touched < MAX_TOUCHED && !clpi_block_reads_data(t->search->plan, touched->operand))
        t->touched[t->n_touched++] = *touched;
}

/* ---- Pairs ---- */

/* An element that two accesses have in common. */
static bool common_element(const clpi_touched *a, const clpi_touched *b, int rank, int64_t *out)
{
    for (int d = 0; d < rank; d++) {
        int64_t of_a = a->dim[d].first, end_a = of_a + a->dim[d].step * (a->dim[d].n - 1);
        int64_t of_b = b->dim[d].first, end_b = of_b + b->dim[d].step * (b->dim[d].n - 1);
        int64_t lo_a = of_a < end_a ? of_a : end_a, hi_a = of_a < end_a ? end_a : of_a;
        int64_t lo_b = of_b < end_b ? of_b : end_b, hi_b = of_b < end_b ? end_b : of_b;
        int64_t at = lo_a > lo_b ? lo_a : lo_b, end = hi_a < hi_b ? hi_a : hi_b;
        while (at <= end && ((at - of_a) % a->dim[d].step != 0 || (at - of_b) % b->dim[d].step != 0))
            at++;
        if (at > end)
            return false;
        out[d] = at;
    }
    return true;
}

/* The one parallel axis in which two programs differ; -1: several. */
static int axis_between(const tried *t, const int64_t *p, const int64_t *q)
{
    const clpi_plan *plan = t->search->plan;
    int axis = -1, n = 0;
    for (int i = 0; i < plan->n_parallel; i++)
        if (p[plan->parallel[i]] != q[plan->parallel[i]]) {
            axis = plan->parallel[i];
            n++;
        }
    return n == 1 ? axis : -1;
}

static void found_race(tried *t, const clpi_touched *a, const clpi_touched *b, const int64_t *element)
{
    clpi_wanted *wanted = &t->search->races[a->storage];
    int axis = axis_between(t, program_of(t, a->program), program_of(t, b->program));
    if (wanted->found && (wanted->found->axis >= 0 || axis < 0))
        return;
    clpi_witness *w = witness_new(t, a->program);
    int64_t *second = copy_numbers(t->search->arena, program_of(t, b->program), t->search->ir->n_axes);
    if (!w || !second)
        return;
    w->program[1] = second;
    w->operand[0] = a->operand;
    w->operand[1] = b->operand;
    w->op[0] = a->op;
    w->op[1] = b->op;
    w->axis = axis;
    memcpy(w->element, element, sizeof w->element);
    wanted->found = w;
}

static void check_pairs(tried *t)
{
    const clpi_ir *ir = t->search->ir;
    int64_t element[CLP_MAX_RANK] = { 0 };
    for (int i = 0; i < t->n_touched && t->n_tests < MAX_TESTS; i++)
        for (int k = i + 1; k < t->n_touched; k++) {
            const clpi_touched *a = &t->touched[i], *b = &t->touched[k];
            t->n_tests++;
            if (a->storage == b->storage && t->sequence[a->program] != t->sequence[b->program] && clpi_touches_race(a->kind, b->kind) &&
                common_element(a, b, ir->operands[a->operand].rank, element))
                found_race(t, a, b, element);
        }
}

/* ---- All launches ---- */

static bool is_anything_wanted(const clpi_search *s)
{
    bool is = false;
    for (int i = 0; i < s->ir->n_operands; i++)
        is = is || (s->races[i].is_wanted && !s->races[i].found) || (s->blocks[i].is_wanted && !s->blocks[i].found);
    for (uint32_t id = s->ir->n_header; !is && id < s->ir->ops.n; id++)
        is = s->ranges[id].is_wanted && !s->ranges[id].found;
    return is;
}

static void try_launch(tried *t)
{
    const clpi_ir *ir = t->search->ir;
    list_programs(t);
    if (!check_blocks(t))
        return;
    t->n_touched = 0;
    t->has_left = false;
    for (uint32_t p = 0; p < t->n_programs; p++) {
        t->walk.program = program_of(t, p);
        t->walk.i_program = p;
        t->walk.windows = &t->windows[(size_t)p * (size_t)ir->n_operands * CLP_MAX_RANK];
        memset(t->walk.is_known, 0, ir->ops.n * sizeof *t->walk.is_known);
        clpi_walk_program(&t->walk);
    }
    if (!t->has_left || t->takes_faulty)
        check_pairs(t);
}

static bool tried_init(tried *t, clpi_search *search, clpi_arena *pass)
{
    const clpi_ir *ir = search->ir;
    const size_t n_operands = (size_t)ir->n_operands;
    *t = (tried){ .search = search, .bound = clpi_bound_new(search->plan, pass),
                  .programs = CLPI_NEW_N(pass, int64_t, (size_t)MAX_PROGRAMS * (size_t)ir->n_axes),
                  .sequence = CLPI_NEW_N(pass, uint64_t, MAX_PROGRAMS),
                  .windows = CLPI_NEW_N(pass, clpi_window, (size_t)MAX_PROGRAMS * n_operands * CLP_MAX_RANK),
                  .touched = CLPI_NEW_N(pass, clpi_touched, MAX_TOUCHED) };
    t->walk = (clpi_walk){ .bound = t->bound, .value = CLPI_NEW_N(pass, clpi_elem, ir->ops.n), .is_known = CLPI_NEW_N(pass, bool, ir->ops.n),
                           .touch = on_touch, .leave = on_leave, .user = t };
    find_candidates(t);
    return !pass->failed;
}

/* Draws dims and scalars; false: there are none, and this is not the first try. */
static bool draw_sizes(tried *t, int i_try)
{
    const clpi_ir *ir = t->search->ir;
    bool has_any = i_try == 0;
    for (int i = 0; i < ir->n_dims; i++) {
        t->bound->dim[i] = pick(t, i_try);
        has_any = true;
    }
    for (int i = 0; i < ir->n_operands; i++)
        if (ir->operands[i].role == CLP_SCALAR && clpi_is_int(ir->operands[i].dtype)) {
            int64_t value = pick(t, i_try);
            t->bound->scalar[i].i = value <= (int64_t)(clpi_int_max(ir->operands[i].dtype) >> 1) ? value : 1;
            has_any = true;
        }
    return has_any;
}

static void try_launches(tried *t)
{
    int n_launches = 0;
    t->random = UINT64_C(0x9e3779b97f4a7c15);
    t->n_tests = 0;
    t->walk.steps_left = MAX_STEPS;
    for (int i = 0; i < MAX_TRIES && n_launches < MAX_LAUNCHES && t->n_tests < MAX_TESTS && t->walk.steps_left > 0; i++) {
        if (!draw_sizes(t, i) || !is_anything_wanted(t->search))
            break;
        if (!bind_sizes(t))
            continue;
        n_launches++;
        try_launch(t);
    }
}

bool clpi_search_run(clpi_search *search)
{
    tried t;
    clpi_arena pass;
    clpi_arena_init(&pass, search->arena->env);
    bool is_whole = tried_init(&t, search, &pass);
    for (int faulty = 0; is_whole && faulty < 2; faulty++) {
        t.takes_faulty = faulty;
        try_launches(&t);
    }
    is_whole = is_whole && !pass.failed && !search->arena->failed;
    clpi_arena_done(&pass);
    return is_whole;
}
