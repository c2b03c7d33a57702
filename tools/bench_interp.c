/* bench_interp: the rows of `clpallas bench` on the interpreter that are no kernel's alone: small programs, checks.
 * In: a row. Out: its contest, timed. All of it works in the host's memory, which is the interpreter's own. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* ---- Many small programs against as many allocations ---- */

typedef struct programs {
    clp_context *ctx;
    clp_kernel *kernel;
    clp_array args[2];
    int64_t n;
} programs;

static int once_programs(void *user)
{
    programs *p = user;
    return clp_run(p->kernel, p->args, 2, NULL) ? fail_library(p->ctx) : DONE;
}

static int once_malloc(void *user)
{
    const programs *s = user;
    for (int64_t i = 0; i < s->n; i++) {
        void *volatile p = malloc(64); /* volatile: the pair must not be optimised away */
        if (!p)
            return fail("out of memory");
        free(p);
    }
    return DONE;
}

int row_interp_programs(bench *b, const bench_row *row, contest *c)
{
    static const char text[] = "kernel add_one(in x: i32[N] block [1] at (i), out o: i32[N] block [1] at (i))\n"
                               "grid (i = N) { o[...] = x[...] + 1; }\n";
    programs p = { .ctx = b->interp, .n = row->size };
    tool_array a[2] = { 0 };
    int status = array_new(&a[0], CLP_I32, 1, &p.n) && array_new(&a[1], CLP_I32, 1, &p.n) ? DONE : fail("out of memory");
    if (!status && clp_kernel_from_text(p.ctx, text, NULL, NULL, &p.kernel))
        status = fail_library(p.ctx);
    if (!status) {
        p.args[0] = a[0].array;
        p.args[1] = a[1].array;
        contest_add(c, "ours", once_programs, &p);
        contest_add(c, "malloc, free of 64 bytes", once_malloc, &p)->wanted = row->peers[0].wanted;
        status = contest_time(b, c);
    }
    clp_kernel_free(p.kernel);
    array_done(&a[0]);
    array_done(&a[1]);
    return status;
}

/* ---- Races looked for, against a plain run ---- */

static int once_check(void *user)
{
    work *w = user;
    clp_report *report;
    if (clp_check(w->kernel, w->args, w->n, &(clp_check_opts){ .checks = CLP_CHECK_RACES }, &report))
        return fail_library(w->ctx);
    const bool is_sound = clp_report_n_findings(report) == 0;
    clp_report_free(report);
    return is_sound ? DONE : fail("%s: a race is found where there is none", clp_kernel_name(w->kernel));
}

int row_check(bench *b, const bench_row *row, contest *c)
{
    work w;
    int status = work_open(&w, b, row);
    contest_add(c, "races looked for", once_check, &w);
    contest_add(c, "a plain run", work_once, &w)->wanted = row->peers[0].wanted;
    if (!status)
        status = contest_time(b, c);
    work_close(&w);
    return status;
}
