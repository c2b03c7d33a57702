/* tune: `clpallas tune`: tries the kernel's `tune` lists on this device and remembers the best.
 * In: options. Out: a table of the points that were tried, or JSON; the best on disk, for `--tuned`.
 *
 * Neither a device's compiler nor a launch can be interrupted, and compilers have been seen to crash: so a process of its own
 * does the work and tells, a line for each step, what this one makes the table of. One that is over its time is ended; the
 * next one goes on with the points that are left, the defaults and the best so far.                                      */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool.h"

enum { MAX_POINTS = 1100, TEXT_BYTES = 300 };

/* A point, as far as it is known. */
typedef struct record {
    char   params[TEXT_BYTES], why_not[TEXT_BYTES];      /* "": nothing is wrong with it */
    double seconds, build_seconds;
    int    rank;
    bool   is_default, is_best, is_done;
} record;

typedef struct session {
    const options *o;
    record        *records;
    int            n;
    char           kernel[TEXT_BYTES], device[TEXT_BYTES], not_kept[TEXT_BYTES];
    int            n_rounds, n_tried;
    int            current;       /* the record that is being tried; -1: none */
    FILE          *out;           /* in the process that works: to the one that waits */
} session;

/* ---- The process that works ---- */

static record *find(const session *s, const char *params)
{
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->records[i].params, params))
            return &s->records[i];
    return NULL;
}

/* Fields of a line are parted by tabs. */
static void put_text(FILE *out, const char *text)
{
    for (; text && *text; text++)
        fputc(*text == '\t' || *text == '\n' ? ' ' : *text, out);
}

static bool wants(const char *params, void *user)
{
    const session *s = user;
    const record *known = find(s, params);
    bool is_fastest = known && known->seconds > 0 && !*known->why_not;
    for (int i = 0; i < s->n && is_fastest; i++)
        is_fastest = *s->records[i].why_not || !(s->records[i].seconds > 0) || s->records[i].seconds >= known->seconds;
    if (known && known->is_done && !(known->is_default && !*known->why_not) && !is_fastest)
        return false;
    fputs("begins\t", s->out);
    put_text(s->out, params);
    fputc('\n', s->out);
    fflush(s->out);
    return true;
}

static void tell_try(const clp_try *t, void *user)
{
    const session *s = user;
    fprintf(s->out, "point\t%d\t%.17g\t%.17g\t%d\t%d\t", t->rank, t->seconds, t->build_seconds, t->is_default, t->is_best);
    put_text(s->out, t->params);
    fputc('\t', s->out);
    put_text(s->out, t->why_not);
    fputc('\n', s->out);
    fflush(s->out);
}

static void tell_all(const session *s, const clp_tuning *tuning)
{
    for (int i = 0; i < clp_tuning_n_tries(tuning); i++)
        tell_try(clp_tuning_try(tuning, i), (void *)s);
    fputs("kept\t", s->out);
    put_text(s->out, clp_tuning_not_kept(tuning));
    fputc('\n', s->out);
}

static int work(session *s)
{
    job j;
    clp_tuning *tuning = NULL;
    options o = *s->o;
    o.quiet = o.quiet || s->n_rounds > 1;      /* what is made up has been said */
    int status = job_open(&j, &o, o.on);
    j.is_silent = true;
    if (!status)
        status = job_arrays(&j, MAKE_UP_MISSING);
    if (!status) {
        clp_run_opts run;
        job_run_opts(&j, &run);
        const clp_tune_opts opts = { .run = &run, .seconds = o.limit_s, .try_seconds = o.try_s, .wants = wants, .tried = tell_try, .user = s };
        fputs("of\t", s->out);
        put_text(s->out, clp_kernel_name(j.kernel));
        fputc('\t', s->out);
        put_text(s->out, clp_context_device(j.ctx));
        fputc('\n', s->out);
        status = clp_tune(j.kernel, j.args, j.n, &opts, &tuning) ? fail_job(&j) : DONE;
    }
    if (!status)
        tell_all(s, tuning);
    clp_tuning_free(tuning);
    job_done(&j);
    return status;
}

/* ---- The process that waits ---- */

static record *record_of(session *s, const char *params)
{
    record *r = find(s, params);
    if (!r && s->n < MAX_POINTS) {
        r = &s->records[s->n++];
        snprintf(r->params, sizeof r->params, "%s", params);
    }
    return r;
}

/* What a later process did not want says nothing of the point. */
static void take_point(session *s, char **fields, int n)
{
    record *r = n == 8 ? record_of(s, fields[6]) : NULL;
    if (!r)
        return;
    r->rank = atoi(fields[1]);
    r->is_default = atoi(fields[4]);
    r->is_best = atoi(fields[5]);
    if (r->is_done && !(strtod(fields[2], NULL) > 0))
        return;
    r->seconds = strtod(fields[2], NULL);
    r->build_seconds = strtod(fields[3], NULL);
    snprintf(r->why_not, sizeof r->why_not, "%s", fields[7]);
    r->is_done = r->seconds > 0 || s->current == (int)(r - s->records);
    s->n_tried += s->current == (int)(r - s->records);
    s->current = -1;
}

static void take_line(session *s, char *line)
{
    char *fields[8] = { line };
    int n = 1;
    for (char *tab; n < 8 && (tab = strchr(fields[n - 1], '\t')); n++) {
        *tab = '\0';
        fields[n] = tab + 1;
    }
    if (!strcmp(line, "begins") && n == 2) {
        const record *r = record_of(s, fields[1]);
        s->current = r ? (int)(r - s->records) : -1;
    } else if (!strcmp(line, "point")) {
        take_point(s, fields, n);
    } else if (!strcmp(line, "of") && n == 3) {
        snprintf(s->kernel, sizeof s->kernel, "%s", fields[1]);
        snprintf(s->device, sizeof s->device, "%s", fields[2]);
    } else if (!strcmp(line, "kept") && n == 2) {
        snprintf(s->not_kept, sizeof s->not_kept, "%s", fields[1]);
    }
}

/* How long a point may keep the other process: its own limit, and time for a last launch and the comparison. */
static double patience(const session *s)
{
    const double limit = s->o->try_s > 0 ? s->o->try_s : 10;
    return 2 * limit + 5;
}

/* Takes lines until there are no more. false: the point that is being tried is over its time. */
static bool listen(session *s, int from)
{
    char text[8192];
    size_t n = 0;
    double since = clpi_now();
    const bool shows = !s->o->quiet && isatty(STDERR_FILENO);
    for (;;) {
        struct pollfd p = { .fd = from, .events = POLLIN };
        const double left = since + patience(s) - clpi_now();
        const int ready = poll(&p, 1, s->current < 0 ? 1000 : left > 0 ? (int)(left * 1000) + 1 : 0);
        if (ready < 0 && errno != EINTR)
            return true;
        if (ready == 0 && s->current >= 0 && clpi_now() - since > patience(s))
            return false;
        if (ready <= 0)
            continue;
        const ssize_t got = read(from, text + n, sizeof text - 1 - n);
        if (got <= 0)
            return true;
        n += (size_t)got;
        text[n] = '\0';
        for (char *end; (end = strchr(text, '\n'));) {
            *end = '\0';
            take_line(s, text);
            n -= (size_t)(end + 1 - text);
            memmove(text, end + 1, n + 1);
            since = clpi_now();
        }
        if (n == sizeof text - 1)
            n = 0;
        if (shows && s->current >= 0)
            fprintf(stderr, "\r\033[K%d tried; %s ...", s->n_tried, s->records[s->current].params);
    }
}

/* One process, until it ends. Its exit status; -1: it did not come to an end, which the record of its point says. */
static int run_round(session *s)
{
    int ends[2], how;
    s->n_rounds++;
    s->current = -1;
    fflush(NULL);
    if (pipe(ends))
        return fail("a pipe cannot be made: %s", strerror(errno));
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        s->out = fdopen(ends[1], "w");
        const int status = s->out ? work(s) : FAILED;
        fflush(NULL);
        _exit(status);
    }
    close(ends[1]);
    const bool is_in_time = pid > 0 && listen(s, ends[0]);
    close(ends[0]);
    if (pid < 0)
        return fail("a process cannot be made: %s", strerror(errno));
    if (!is_in_time)
        kill(pid, SIGKILL);
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
        ;
    if (is_in_time && WIFEXITED(how))
        return WEXITSTATUS(how);
    if (s->current < 0)
        return fail("the process that tries ended: %s", strsignal(WTERMSIG(how)));
    record *r = &s->records[s->current];
    r->is_done = true;
    r->seconds = 0;
    if (is_in_time)
        snprintf(r->why_not, sizeof r->why_not, "the process that tried it ended: %s", strsignal(WTERMSIG(how)));
    else
        snprintf(r->why_not, sizeof r->why_not, "ended after %.3g s", patience(s));
    return -1;
}

/* ---- Output ---- */

static int by_time(const void *a, const void *b)
{
    const record *x = a, *y = b;
    const double s = x->seconds > 0 && !*x->why_not ? x->seconds : 1e300, t = y->seconds > 0 && !*y->why_not ? y->seconds : 1e300;
    return s < t ? -1 : s > t ? 1 : x->rank - y->rank;
}

static void print_table(const session *s, double default_s)
{
    printf("%s on %s\n", s->kernel, s->device);
    printf("%12s %12s %10s %6s  %s\n", "minimum", "build", "ratio", "model", "parameters");
    for (int i = 0; i < s->n; i++) {
        const record *r = &s->records[i];
        char ratio[32] = "-";
        if (default_s > 0 && r->seconds > 0)
            snprintf(ratio, sizeof ratio, "%.3g", default_s / r->seconds);
        if (r->seconds > 0)
            printf("%9.4g ms %9.4g ms %10s", r->seconds * 1e3, r->build_seconds * 1e3, ratio);
        else
            printf("%12s %12s %10s", "-", "-", "-");
        printf(" %6d  %s%s%s%s%s\n", r->rank, r->params, r->is_best ? " (best)" : "", r->is_default ? " (default)" : "",
               *r->why_not ? ": " : "", r->why_not);
    }
    if (*s->not_kept)
        printf("the best is not kept: %s\n", s->not_kept);
}

static void print_json(const session *s)
{
    printf("{\"kernel\": ");
    json_string(stdout, s->kernel);
    printf(", \"device\": ");
    json_string(stdout, s->device);
    printf(", \"kept\": %s, \"tries\": [", *s->not_kept ? "false" : "true");
    for (int i = 0; i < s->n; i++) {
        const record *r = &s->records[i];
        printf("%s\n  {\"params\": ", i ? "," : "");
        json_string(stdout, r->params);
        printf(", \"rank\": %d, \"default\": %s, \"best\": %s", r->rank, r->is_default ? "true" : "false", r->is_best ? "true" : "false");
        if (r->seconds > 0)
            printf(", \"time_s\": %.9g, \"build_s\": %.9g", r->seconds, r->build_seconds);
        if (*r->why_not) {
            printf(", \"why_not\": ");
            json_string(stdout, r->why_not);
        }
        putchar('}');
    }
    printf("\n]}\n");
}

static int print_session(session *s)
{
    double default_s = 0;
    bool has_best = false;
    qsort(s->records, (size_t)s->n, sizeof *s->records, by_time);
    for (int i = 0; i < s->n; i++) {
        default_s = s->records[i].is_default ? s->records[i].seconds : default_s;
        has_best = has_best || s->records[i].is_best;
    }
    if (s->o->json)
        print_json(s);
    else if (!s->o->quiet)
        print_table(s, default_s);
    return has_best ? DONE : fail("%s: %s", s->kernel, s->not_kept);
}

int command_tune(const options *o)
{
    session s = { .o = o, .records = calloc(MAX_POINTS, sizeof *s.records) };
    int status = s.records ? -1 : fail("out of memory");
    while (status < 0)
        status = run_round(&s);
    if (!o->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    if (!status)
        status = print_session(&s);
    free(s.records);
    return status;
}
