/* checkers: one run of the kernel, forward, that all who look at single runs watch together.
 * In: a snapshot. Out: their findings. Decides nothing: a checker is a row of the table, and is asked when its bit is set. */
#include "check/check.h"

static const clpi_checker *const table[] = {
    &clpi_check_races, &clpi_check_memory, &clpi_check_faults, &clpi_check_non_finite, &clpi_check_overflow, &clpi_check_division,
};
enum { N_CHECKERS = sizeof table / sizeof *table };

typedef struct crowd {
    const clpi_checker *checker[N_CHECKERS];     /* those that look */
    void *state[N_CHECKERS];
    int   n;
    bool  has_failed;                            /* out of memory, reported */
} crowd;

static void enter(void *user, uint64_t sequence, uint64_t step, const int64_t *program)
{
    const crowd *c = user;
    for (int i = 0; i < c->n; i++)
        if (c->checker[i]->enter)
            c->checker[i]->enter(c->state[i], sequence, step, program);
}

static void touch(void *user, const clpi_touch *t)
{
    const crowd *c = user;
    for (int i = 0; i < c->n; i++)
        if (c->checker[i]->touch)
            c->checker[i]->touch(c->state[i], t);
}

static void wrote(void *user, const clpi_touch *t)
{
    const crowd *c = user;
    for (int i = 0; i < c->n; i++)
        if (c->checker[i]->wrote)
            c->checker[i]->wrote(c->state[i], t);
}

static void step(void *user, uint32_t op, clpi_value_fn *value, const void *run)
{
    const crowd *c = user;
    for (int i = 0; i < c->n; i++)
        if (c->checker[i]->step)
            c->checker[i]->step(c->state[i], op, value, run);
}

static bool fault(void *user, const clpi_fault *f)
{
    crowd *c = user;
    c->has_failed |= !f->text;
    for (int i = 0; i < c->n && f->text; i++)
        if (c->checker[i]->fault)
            c->checker[i]->fault(c->state[i], f);
    return true;
}

static bool stops(void *user)
{
    return ((const crowd *)user)->has_failed;
}

/* Slots that nobody needs stay empty: they would cost. */
static clpi_watch watch_of(crowd *c)
{
    clpi_watch w = { .user = c, .fault = fault, .stops = stops };
    for (int i = 0; i < c->n; i++) {
        const clpi_checker *k = c->checker[i];
        w.enter = k->enter ? enter : w.enter;
        w.touch = k->touch ? touch : w.touch;
        w.wrote = k->wrote ? wrote : w.wrote;
        w.step = k->step ? step : w.step;
    }
    return w;
}

clp_status clpi_checkers_run(clpi_check *check)
{
    crowd c = { .n = 0 };
    for (int i = 0; i < N_CHECKERS; i++) {
        void *state = NULL;
        if (!(check->opts.checks & table[i]->bit))
            continue;
        CLP_TRY(table[i]->open(check, &state));
        if (!state)
            continue;
        c.checker[c.n] = table[i];
        c.state[c.n++] = state;
    }
    if (c.n == 0)
        return CLP_OK;
    clpi_watch watch = watch_of(&c);
    clpi_snapshot_reset(check);
    CLP_TRY(clpi_snapshot_run(check, CLP_ORDER_FORWARD, 0, &watch));
    if (c.has_failed)
        return CLP_ERR_OOM;
    for (int i = 0; i < c.n; i++)
        CLP_TRY(c.checker[i]->close(c.state[i]));
    return CLP_OK;
}
