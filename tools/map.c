/* map: which program wrote each element of an operand, and where programs are in each other's way.
 * In: a kernel, arrays, the operand's name. Out: a picture (svg.c). One run of the interpreter is watched, on copies.
 * Decides what a conflict is as the language does: one sequence writes an element plainly and another one touches it, or
 * one updates it atomically and another reads it. */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

#include "check/check.h"

enum { NOBODY = 0, MANY = -1 };      /* of sequences, which are counted from 1 */

/* Who touched a granule, by the kind of touch; the last program that wrote or updated it, from 1. */
typedef struct cell { int64_t who[3]; uint64_t program; } cell;

typedef struct watcher {
    clpi_check *check;
    cell       *cells;                /* [n_granules] */
    int64_t     sequence;
    uint64_t    program;
} watcher;

static bool differ(int64_t a, int64_t b)
{
    return a != NOBODY && b != NOBODY && (a != b || a == MANY);
}

static bool is_conflict(const cell *c)
{
    const int64_t *who = c->who;
    return who[CLPI_TOUCH_WRITE] == MANY || differ(who[CLPI_TOUCH_WRITE], who[CLPI_TOUCH_READ]) ||
           differ(who[CLPI_TOUCH_WRITE], who[CLPI_TOUCH_ATOMIC]) || differ(who[CLPI_TOUCH_ATOMIC], who[CLPI_TOUCH_READ]);
}

static void enter(void *user, uint64_t sequence, uint64_t step, const int64_t *program)
{
    watcher *w = user;
    (void)program;
    w->sequence = (int64_t)sequence + 1;
    w->program = sequence * w->check->snapshot.bound->n_steps + step + 1;
}

static void touch(void *user, const clpi_touch *t)
{
    watcher *w = user;
    uint64_t first;
    int64_t step;
    int n_each;
    if (!clpi_shadow_row(w->check, t, &first, &step, &n_each))
        return;
    for (int64_t i = 0; i < t->n; i++)
        for (int k = 0; k < n_each; k++) {
            cell *c = &w->cells[(int64_t)first + i * step + k];
            int64_t *who = &c->who[t->kind];
            *who = *who == NOBODY || *who == w->sequence ? w->sequence : MANY;
            if (t->kind != CLPI_TOUCH_READ)
                c->program = w->program;
        }
}

/* Watches one run; marks: [elements of the operand]. */
static clp_status watch_run(clpi_check *check, int operand, cell **cells, map_mark *marks)
{
    CLP_TRY(clpi_report_new(check->env, check->kernel, 0, &check->report));
    CLP_TRY(clpi_snapshot_open(check));
    *cells = calloc((size_t)check->snapshot.n_granules + 1, sizeof **cells);
    if (!*cells)
        return clpi_fail(check->env, CLP_ERR_OOM, "out of memory");
    watcher w = { .check = check, .cells = *cells };
    const clpi_watch watch = { .user = &w, .enter = enter, .touch = touch, .fault = clpi_go_on };
    CLP_TRY(clpi_snapshot_run(check, CLP_ORDER_FORWARD, 0, &watch));
    for (uint64_t g = 0; g < check->snapshot.n_granules; g++) {
        const cell *c = &(*cells)[g];
        int64_t index[CLP_MAX_RANK], e = 0;
        if (!clpi_shadow_element(check, operand, g, index))
            continue;
        for (int d = 0; d < check->ir->operands[operand].rank; d++)
            e = e * check->snapshot.bound->operands[operand].size[d] + index[d];
        marks[e].program = c->program > marks[e].program ? c->program : marks[e].program;
        marks[e].is_conflict |= is_conflict(c);
    }
    return CLP_OK;
}

/* The array that is asked for, or the only one that the kernel writes; -1: said. */
static int find_drawn(const job *j, const char *name)
{
    int found = -1, n = 0;
    const char **names = calloc((size_t)j->n + 1, sizeof *names);
    for (int i = 0; names && i < j->n; i++) {
        const int x = job_operand(j, i);
        if (!j->plan->is_written[x] || j->ir->operands[x].role == CLP_IN)
            continue;
        names[n++] = j->ir->operands[x].name;
        if (name ? !strcmp(j->ir->operands[x].name, name) : n == 1)
            found = i;
    }
    if (!names)
        fail("out of memory");
    else if (name && found < 0)
        fail_name(j, "--of", "written operand", name, names, n);
    else if (n != 1 && !name)
        fail(n ? "--svg: %s writes several operands: say which one with --of" : "--svg: %s writes nothing",
             clp_kernel_name(j->kernel));
    free(names);
    return name || n == 1 ? found : -1;
}

int map_write(const job *j, const char *path, const char *name)
{
    const int i = find_drawn(j, name);
    if (i < 0)
        return FAILED;
    clpi_check check = { .env = &j->ctx->env, .kernel = j->launched, .ir = j->ir, .plan = j->plan, .arrays = j->args, .n_arrays = j->n };
    job_run_opts(j, &check.run);
    cell *cells = NULL;
    map_mark *marks = calloc((size_t)array_elems(&j->args[i]) + 1, sizeof *marks);
    int status = marks ? DONE : fail("out of memory");
    if (!status && watch_run(&check, job_operand(j, i), &cells, marks))
        status = fail_job(j);
    if (!status)
        status = svg_write_map(path, j, check.snapshot.bound, job_operand(j, i), marks);
    clpi_snapshot_close(&check);
    clp_report_free(check.report);
    free(cells);
    free(marks);
    return status;
}
