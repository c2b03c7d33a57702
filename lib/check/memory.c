/* memory: what a program reads and writes that it should not, or not at all.
 * In: the touches and faults of one watched run. Out: findings: reads of output and scratch elements that nobody wrote,
 * indices and blocks that lie outside, failed asserts; and, after a run of the whole grid, output elements never written.
 *
 * Decides what counts as written: an element of an output from the first write or atomic on, whoever did it; what an input,
 * prefetch or inout operand shows of written storage from the start; an element of scratch for the rest of the sequence that wrote it. An
 * atomic reads what it combines with, so it too must find something written (an exchange does not). Lanes that a mask hides or
 * that lie outside the array read nothing. And what is unknown: all that a sequence writes once it has read what nobody wrote, or
 * what is unknown.                                                                                                      */
#include <string.h>

#include "check/tally.h"

enum { WRITTEN = 1, UNWRITTEN_READ = 2, UNKNOWN = 4 };

typedef struct memory {
    clpi_check *check;
    uint8_t    *flags;            /* of each granule */
    clpi_tally  tally;
    uint32_t  **stamp;            /* [n_operands] scratch: for each element the sequence that wrote it last */
    bool      **is_counted;       /* [n_operands] scratch: a read of the element was reported */
    uint32_t    stamp_now;        /* of the current sequence, from 1 */
    uint64_t    sequence;
    bool        knows_not;        /* what it writes: the current sequence has read what is unknown */
} memory;

bool clpi_memory_is_unknown(const void *state, uint64_t granule)
{
    return ((const memory *)state)->flags[granule] & UNKNOWN;
}

static int64_t scratch_elems(const clpi_operand *x)
{
    int64_t n = 1;
    for (int d = 0; d < x->ref_rank; d++)
        n *= x->ref_size[d];
    return n;
}

/* ---- What is written from the start ---- */

static void mark_written(const memory *m, int operand)
{
    clpi_elements e;
    clpi_elements_init(&e, m->check, operand);
    while (clpi_elements_next(&e)) {
        clpi_touch touch = { .operand = operand, .at = e.at, .step = 1, .n = 1 };
        uint64_t first;
        int64_t step;
        int n_each;
        if (!clpi_shadow_row(m->check, &touch, &first, &step, &n_each))
            return;
        for (int k = 0; k < n_each; k++)
            m->flags[first + (uint64_t)k] |= WRITTEN;
    }
}

static clp_status memory_open(clpi_check *check, void **out_state)
{
    const clpi_ir *ir = check->ir;
    clpi_arena *arena = &check->snapshot.arena;
    size_t n = (size_t)ir->n_operands;
    memory *m = CLPI_NEW(arena, memory);
    *out_state = m;
    if (!m)
        return CLP_ERR_OOM;
    m->check = check;
    clpi_tally_init(&m->tally, check);
    m->flags = CLPI_NEW_N(arena, uint8_t, (size_t)check->snapshot.n_granules + 1);
    m->stamp = CLPI_NEW_N(arena, uint32_t *, n + 1);
    m->is_counted = CLPI_NEW_N(arena, bool *, n + 1);
    if (arena->failed)
        return CLP_ERR_OOM;
    for (int i = 0; i < ir->n_operands; i++) {
        const clpi_operand *x = &ir->operands[i];
        if (x->role == CLP_SCRATCH) {
            m->stamp[i] = CLPI_NEW_N(arena, uint32_t, (size_t)scratch_elems(x) + 1);
            m->is_counted[i] = CLPI_NEW_N(arena, bool, (size_t)scratch_elems(x) + 1);
            if (arena->failed)
                return CLP_ERR_OOM;
        } else if (x->role != CLP_SCALAR && x->role != CLP_OUT) {
            mark_written(m, i);
        }
    }
    return CLP_OK;
}

static void memory_enter(void *state, uint64_t sequence, uint64_t step, const int64_t *program)
{
    memory *m = state;
    (void)step;
    if (m->stamp_now == 0 || sequence != m->sequence) {
        m->stamp_now++;
        m->knows_not = false;
    }
    m->sequence = sequence;
    clpi_tally_enter(&m->tally, program);
}

/* ---- Reads of what nobody wrote ---- */

static void add_read(memory *m, const clpi_touch *touch, const int64_t *element)
{
    const clpi_operand *x = &m->check->ir->operands[touch->operand];
    bool is_new;
    clpi_found *found = clpi_tally_find(&m->tally, CLP_FINDING_UNINITIALISED, touch->op, touch->operand, &is_new);
    if (found)
        clpi_found_element(found, element, x->role == CLP_SCRATCH ? x->ref_rank : x->rank);
}

static void touch_scratch(memory *m, const clpi_touch *touch, bool reads, bool writes)
{
    const clpi_operand *x = &m->check->ir->operands[touch->operand];
    uint32_t *stamp = m->stamp[touch->operand];
    bool *is_counted = m->is_counted[touch->operand];
    for (int64_t i = 0, at = touch->at; i < touch->n; i++, at += touch->step) {
        bool is_unwritten = reads && stamp[at] != m->stamp_now;
        m->knows_not |= is_unwritten;
        if (is_unwritten && !is_counted[at]) {
            int64_t element[CLP_MAX_RANK];
            clpi_shape_index(x->ref_size, x->ref_rank, at, element);
            is_counted[at] = true;
            add_read(m, touch, element);
        }
        if (writes)
            stamp[at] = m->stamp_now;
    }
}

static void memory_touch(void *state, const clpi_touch *touch)
{
    memory *m = state;
    const clpi_ir *ir = m->check->ir;
    bool reads = touch->kind == CLPI_TOUCH_READ ||
                 (touch->kind == CLPI_TOUCH_ATOMIC && ir->ops.items[touch->op].kind != CLP_OP_atomic_xchg);
    bool writes = touch->kind != CLPI_TOUCH_READ;
    if (ir->operands[touch->operand].role == CLP_SCRATCH) {
        touch_scratch(m, touch, reads, writes);
        return;
    }
    uint64_t first;
    int64_t step;
    int n_each;
    if (!clpi_shadow_row(m->check, touch, &first, &step, &n_each))
        return;
    for (int64_t i = 0; i < touch->n; i++) {
        uint64_t record = first + (uint64_t)(i * step);
        uint8_t *granules = &m->flags[record];
        uint32_t all = UINT32_MAX, any = 0;
        for (int k = 0; k < n_each; k++) {
            all &= granules[k];
            any |= granules[k];
        }
        m->knows_not |= reads && (!(all & WRITTEN) || (any & UNKNOWN));
        for (int k = 0; k < n_each && writes; k++)
            granules[k] |= m->knows_not ? WRITTEN | UNKNOWN : WRITTEN;
        int64_t element[CLP_MAX_RANK];
        if (!reads || (all & WRITTEN) || (any & UNWRITTEN_READ) ||
            !clpi_shadow_element(m->check, touch->operand, record, element))
            continue;
        granules[0] |= UNWRITTEN_READ;
        add_read(m, touch, element);
    }
}

/* ---- Elements never written ---- */

static bool is_whole_grid(const clpi_check *check)
{
    const clpi_bound *bound = check->snapshot.bound;
    for (int a = 0; a < check->ir->n_axes; a++)
        if (bound->box_count[a] != bound->axis_size[a])
            return false;
    return true;
}

static clp_status report_never_written(const memory *m, int operand)
{
    const clpi_check *check = m->check;
    clpi_found found;
    clpi_elements e;
    clpi_found_init(&found, CLP_FINDING_NEVER_WRITTEN, operand);
    clpi_elements_init(&e, check, operand);
    while (clpi_elements_next(&e)) {
        clpi_touch touch = { .operand = operand, .at = e.at, .step = 1, .n = 1 };
        uint64_t first;
        int64_t step;
        int n_each;
        bool is_written = clpi_shadow_row(check, &touch, &first, &step, &n_each);
        for (int k = 0; is_written && k < n_each; k++)
            is_written = m->flags[first + (uint64_t)k] & WRITTEN;
        if (!is_written)
            clpi_found_element(&found, e.index, e.rank);
    }
    return found.n_elements ? clpi_report_add(check->report, &found) : CLP_OK;
}

static clp_status memory_close(void *state)
{
    memory *m = state;
    clpi_check *check = m->check;
    CLP_TRY(clpi_tally_report(&m->tally));
    for (int i = 0; i < check->ir->n_operands && is_whole_grid(check); i++)
        if (check->ir->operands[i].role == CLP_OUT && (check->plan->is_written[i] || check->ir->operands[i].alias < 0))
            CLP_TRY(report_never_written(m, i));
    return CLP_OK;
}

const clpi_checker clpi_check_memory = {
    .bit = CLP_CHECK_MEMORY,
    .open = memory_open,
    .enter = memory_enter,
    .touch = memory_touch,
    .close = memory_close,
};

/* ---- Faults: what an ordinary run of the interpreter fails with ---- */

typedef struct faults {
    clpi_tally tally;
    uint64_t   program;           /* the current one: how many there were, it included */
    struct { struct counted { uint64_t n_programs, last; } *items; uint32_t n, cap; } counted;      /* of each finding of tally */
} faults;

static clp_status faults_open(clpi_check *check, void **out_state)
{
    faults *f = CLPI_NEW(&check->snapshot.arena, faults);
    *out_state = f;
    if (!f)
        return CLP_ERR_OOM;
    clpi_tally_init(&f->tally, check);
    return CLP_OK;
}

static void faults_enter(void *state, uint64_t sequence, uint64_t step, const int64_t *program)
{
    faults *f = state;
    (void)sequence, (void)step;
    f->program++;
    clpi_tally_enter(&f->tally, program);
}

static void faults_fault(void *state, const clpi_fault *fault)
{
    static const clp_finding_kind kinds[] = {
        [CLPI_FAULT_INDEX] = CLP_FINDING_OUT_OF_BOUNDS,
        [CLPI_FAULT_BLOCK] = CLP_FINDING_BLOCK_OUTSIDE,
        [CLPI_FAULT_ASSERT] = CLP_FINDING_ASSERT,
    };
    faults *f = state;
    clpi_tally *t = &f->tally;
    bool is_new;
    clpi_found *found = clpi_tally_find(t, kinds[fault->kind], fault->op, fault->operand, &is_new);
    if (!found)
        return;
    if (is_new) {
        found->message = clpi_arena_strndup(t->arena, fault->text, strlen(fault->text));
        found->pos = fault->pos;
        t->failed |= !found->message || !CLPI_PUSH(t->arena, &f->counted, ((struct counted){ 0, UINT64_MAX }));
        if (t->failed)
            return;
    }
    struct counted *counted = &f->counted.items[found - t->found.items];
    counted->n_programs += counted->last != f->program;
    counted->last = f->program;
    found->n_times++;
}

/* "..: index (9,) lies outside the ref [4]; 3 such accesses in 2 programs" */
static void say_times(faults *f, clpi_found *found, uint64_t n_programs)
{
    static const char *const words[CLP_N_FINDINGS] = {
        [CLP_FINDING_OUT_OF_BOUNDS] = "such accesses",
        [CLP_FINDING_BLOCK_OUTSIDE] = "such blocks",
        [CLP_FINDING_ASSERT] = "such failures",
    };
    clpi_str s;
    clpi_str_init(&s, f->tally.check->env);
    clpi_str_puts(&s, found->message);
    if (found->n_times > 1)
        clpi_str_add(&s, "; %llu %s in %llu program%s", (unsigned long long)found->n_times, words[found->kind],
                     (unsigned long long)n_programs, n_programs == 1 ? "" : "s");
    clpi_tally_say(&f->tally, found, &s);
}

static clp_status faults_close(void *state)
{
    faults *f = state;
    for (uint32_t i = 0; i < f->tally.found.n && !f->tally.failed; i++)
        say_times(f, &f->tally.found.items[i], f->counted.items[i].n_programs);
    return clpi_tally_report(&f->tally);
}

/* A device has no result to be compared with where the interpreter has none. */
const clpi_checker clpi_check_faults = {
    .bit = CLP_CHECK_MEMORY | CLP_CHECK_DEVICE,
    .open = faults_open,
    .enter = faults_enter,
    .fault = faults_fault,
    .close = faults_close,
};
