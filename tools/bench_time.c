/* bench_time: how `clpallas bench` takes its times.
 * In: the sides of a contest. Out: their samples, minima and medians.
 * The sides take turns, ours last, so that a busy spell of the machine strikes all of them. A turn opens with one run
 * that is not timed. What takes less than 100 us is run many times back to back, and a sample is their mean: a clock
 * and a cold start would weigh too much in one. What takes ten seconds is run once: the run that opens its turn is its sample. */
#include <time.h>

#include "bench.h"

enum { N_RUNS = 30, N_TURNS = 5, LEAST_RUNS = 3 };
static const double SHORT_S = 100e-6, BATCH_S = 2e-3, BUDGET_S = 2, SLOW_S = 10;

/* Threads of a peer spin behind its turn, in case there is more to do, and keep cores busy that are ours then: OpenBLAS's for some hundred
 * milliseconds. Where there are two cores, a product of 512 behind 60 ms of rest took twice the time that it takes behind 400 ms. */
static const double REST_S = 0.4;

side *contest_add(contest *c, const char *name, int (*once)(void *user), void *user)
{
    side *s = &c->sides[c->n_sides++];
    s->name = name;
    s->once = once;
    s->user = user;
    return s;
}

void contest_done(contest *c)
{
    for (int i = 0; i < c->n_sides; i++)
        if (c->sides[i].done)
            c->sides[i].done(c->sides[i].user);
}

bool side_counts(const contest *c, int i)
{
    const side *s = &c->sides[i];
    if (i == 0 || !s->n_times)
        return false;
    for (int k = 1; k < c->n_sides; k++)
        if (k != i && s->group && c->sides[k].group == s->group && c->sides[k].n_times && c->sides[k].min_s < s->min_s)
            return false;
    return true;
}

/* One sample of n runs. */
static int sample(side *s, int n, double *out_s)
{
    int status = DONE;
    const double start = clpi_now();
    if (s->many) {
        status = s->many(s->user, n, out_s);
        *out_s /= n;
        return status;
    }
    for (int i = 0; !status && i < n; i++)
        status = s->once(s->user);
    *out_s = (clpi_now() - start) / n;
    return status;
}
/* How many runs make a sample, found in the first turn. */
static int find_batch(side *s, int *out_n, double *out_s)
{
    int n = 1, status = sample(s, 1, out_s);
    while (!status && *out_s < SHORT_S && *out_s * n < BATCH_S / 2) {
        n = *out_s > 0 && BATCH_S / *out_s < 100000 ? (int)(BATCH_S / *out_s) + 1 : 100000;
        status = sample(s, n, out_s);
    }
    *out_n = n;
    return status;
}

static int take_turn(side *s, int n_runs, int *batch)
{
    if (s->rests_first)
        nanosleep(&(struct timespec){ 0, (long)(REST_S * 1e9) }, NULL);
    int status = s->begin ? s->begin(s->user) : DONE;
    double time_s = 0;
    if (!status)
        status = *batch ? sample(s, 1, &time_s) : find_batch(s, batch, &time_s);
    if (!status && time_s > SLOW_S) {
        s->times[s->n_times++] = time_s;
        s->is_slow = true;
        n_runs = 0;
    }
    for (int i = 0; !status && i < n_runs && s->n_times < MAX_SAMPLES; i++) {
        status = sample(s, *batch, &time_s);
        s->times[s->n_times++] = time_s;
        s->spent_s += time_s * *batch;
        if (s->spent_s > BUDGET_S && s->n_times >= LEAST_RUNS)
            break;
    }
    const int ended = s->end ? s->end(s->user) : DONE;
    return status ? status : ended;
}

static void summarise(side *s)
{
    if (s->n_times)
        clpi_min_and_median(s->times, s->n_times, &s->min_s, &s->median_s);
}

int contest_time(const bench *b, contest *c)
{
    const int wanted = b->o->n_runs ? b->o->n_runs : N_RUNS, n_runs = wanted < MAX_SAMPLES ? wanted : MAX_SAMPLES;
    const int n_turns = n_runs < N_TURNS ? n_runs : N_TURNS;
    int batches[MAX_SIDES] = { 0 };
    for (int turn = 0; turn < n_turns; turn++)
        for (int i = c->n_sides - 1; i >= 0; i--) {
            side *s = &c->sides[i];
            const int n = n_runs * (turn + 1) / n_turns - n_runs * turn / n_turns;
            if (*s->missing || s->is_slow || (!b->o->n_runs && s->spent_s > BUDGET_S && s->n_times >= LEAST_RUNS))
                continue;
            const int status = take_turn(s, n, &batches[i]);
            if (status)
                return status;
        }
    for (int i = 0; i < c->n_sides; i++)
        summarise(&c->sides[i]);
    return DONE;
}
