/* bench: `clpallas bench`: what clpallas does, each beside what a user would call instead, measured in the same run.
 * In: names of rows. Out: a table, or JSON: for every peer the ratio of the minima, the peer's time over ours.
 * Decides which rows are run: those named, where a name stands for all that it is the beginning of; without names, all.
 */
#define _XOPEN_SOURCE 700
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench.h"

static const bench_row *const suites[] = {
#ifdef CLPALLAS_OPENCL
    bench_device_rows,
#endif
    bench_interp_rows
};
enum { N_SUITES = sizeof suites / sizeof *suites };

/* ---- What rows share ---- */

clp_kernel *bench_kernel(const bench *b, clp_context *ctx, const char *name, const char *params)
{
    clp_kernel *k;
    if (clp_kernel_standard(ctx, name, b->o->params ? b->o->params : params, &k)) {
        fail_library(ctx);
        return NULL;
    }
    return k;
}

void bench_fill(float *data, int64_t n, uint32_t seed)
{
    uint32_t state = seed * 2654435761u + 12345u;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = (float)(state >> 8) / (float)(1 << 23) - 1;
    }
}

/* ---- Output ---- */

static const char *with_unit(char *text, size_t n_bytes, double seconds)
{
    const double scale = seconds >= 1 ? 1 : seconds >= 1e-3 ? 1e3 : 1e6;
    const char *unit = seconds >= 1 ? "s" : seconds >= 1e-3 ? "ms" : "us";
    snprintf(text, n_bytes, "%.3g %s", seconds * scale, unit);
    return text;
}

/* How fast that is, where work or traffic is counted. */
static const char *rate(char *text, size_t n_bytes, const contest *c, double seconds)
{
    *text = '\0';
    if (c->flops > 0)
        snprintf(text, n_bytes, "%.3g GFLOP/s", c->flops / seconds / 1e9);
    else if (c->bytes > 0)
        snprintf(text, n_bytes, "%.3g GB/s", c->bytes / seconds / 1e9);
    return text;
}

static void table_head(void)
{
    printf("%-16s %-16s %-28s %10s %10s  %-14s %7s\n", "work", "shape", "who", "minimum", "median", "rate", "ratio");
}

static void table_line(const contest *c, int i)
{
    char least[32], median[32], speed[32], ratio[32] = "";
    const side *s = &c->sides[i], *ours = &c->sides[0];
    if (i > 0 && s->n_times)
        snprintf(ratio, sizeof ratio, "%.3g", s->min_s / ours->min_s);
    printf("%-16s %-16s %-28s ", i ? "" : c->work, i ? "" : c->shape, s->name);
    if (*s->missing)
        printf("peer missing: %s\n", s->missing);
    else
        printf("%10s %10s  %-14s %7s%s%s\n", with_unit(least, sizeof least, s->min_s),
               with_unit(median, sizeof median, s->median_s), rate(speed, sizeof speed, c, s->min_s), ratio,
               i || !*c->params ? "" : " ", i ? "" : c->params);
}

static void json_row(const contest *c, int i, bool is_first)
{
    const side *s = &c->sides[i], *ours = &c->sides[0];
    printf("%s\n  {\"work\": ", is_first ? "" : ",");
    json_string(stdout, c->work);
    printf(", \"shape\": ");
    json_string(stdout, c->shape);
    printf(", \"params\": ");
    json_string(stdout, c->params);
    printf(", \"ours_s\": %.9g, \"ours_median_s\": %.9g, \"ours_runs\": %d, \"peer\": ", ours->min_s, ours->median_s,
           ours->n_times);
    json_string(stdout, s->name);
    if (*s->missing) {
        printf(", \"peer_s\": null, \"ratio\": null, \"missing\": ");
        json_string(stdout, s->missing);
        putchar('}');
        return;
    }
    printf(", \"peer_s\": %.9g, \"peer_median_s\": %.9g, \"peer_runs\": %d, \"ratio\": %.6g", s->min_s, s->median_s,
           s->n_times, s->min_s / ours->min_s);
    if (c->flops > 0)
        printf(", \"flops\": %.17g", c->flops);
    if (c->bytes > 0)
        printf(", \"bytes\": %.17g", c->bytes);
    putchar('}');
}

/* Of peers that are ways to do the same, the fastest stands in the JSON. */
static int fastest_peer(const contest *c)
{
    int best = 1;
    for (int i = 2; i < c->n_sides; i++)
        if (c->sides[i].n_times && c->sides[i].min_s < c->sides[best].min_s)
            best = i;
    return best;
}

static void print_contest(const bench *b, const contest *c, bool *is_first)
{
    const int fastest = c->fastest_peer_only ? fastest_peer(c) : 0;
    for (int i = 0; i < c->n_sides; i++) {
        if (i > 0 && fastest && i != fastest)
            continue;
        if (!b->o->json)
            table_line(c, i);
        else if (i > 0) {
            json_row(c, i, *is_first);
            *is_first = false;
        }
    }
    fflush(stdout);
}

/* ---- The machine ---- */

static void cpu_name(char *out, size_t n_bytes)
{
    struct utsname u;
    snprintf(out, n_bytes, "%s", uname(&u) < 0 ? "unknown" : u.machine);
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        const char *value = strncmp(line, "model name", 10) ? NULL : strchr(line, ':');
        if (value) {
            snprintf(out, n_bytes, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
            break;
        }
    }
    if (file)
        fclose(file);
}

/* PoCL keeps what it compiles; here it must compile, and leave nothing behind. It reads this before the first OpenCL
 * call. */
static int empty_cache(char *dir, size_t n_bytes)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, n_bytes, "%s/clpallas-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(dir) || setenv("POCL_CACHE_DIR", dir, 1))
        return fail("%s: no folder can be made there", dir);
    return DONE;
}

static int remove_entry(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s;
    (void)kind;
    (void)at;
    return remove(path);
}

/* ---- The command ---- */

static bool is_named(const char *row, const char *name)
{
    const size_t n = strlen(name);
    return !strncmp(row, name, n) && (!row[n] || row[n] == '-');
}

static bool is_wanted(const options *o, const bench_row *row)
{
    for (int i = 0; i < o->names.n; i++)
        if (is_named(row->name, o->names.items[i].name))
            return true;
    return !o->names.n;
}

static int check_names(const options *o)
{
    for (int i = 0; i < o->names.n; i++) {
        bool found = false;
        for (int s = 0; s < N_SUITES; s++)
            for (const bench_row *row = suites[s]; row->name; row++)
                found = found || is_named(row->name, o->names.items[i].name);
        if (!found)
            return fail_usage("bench: there is no row %s; clpallas bench --list", o->names.items[i].name);
    }
    return DONE;
}

static int list_rows(void)
{
    for (int s = 0; s < N_SUITES; s++)
        for (const bench_row *row = suites[s]; row->name; row++)
            printf("%-16s %s\n", row->name, row->does);
    return DONE;
}

static int run_suite(bench *b, const bench_row *rows, bool needs_device, bool *is_first)
{
    int status = DONE;
    contest *c = malloc(sizeof *c);
    if (!c)
        return fail("out of memory");
    for (const bench_row *row = rows; !status && row->name; row++) {
        if (!is_wanted(b->o, row))
            continue;
        if (needs_device && !b->ctx) {
            fprintf(stderr, "clpallas: %s left out: it needs an OpenCL device\n", row->name);
            continue;
        }
        const bool shows_progress = !b->o->quiet && isatty(STDERR_FILENO);
        if (shows_progress)
            fprintf(stderr, "%s ...", row->name);
        memset(c, 0, sizeof *c);
        status = row->run(b, row, c);
        if (shows_progress)
            fprintf(stderr, "\r\033[K");
        if (!status)
            print_contest(b, c, is_first);
    }
    free(c);
    return status;
}

/* The device of the rows that need one; on the interpreter there are none of them to run. */
static int open_device(bench *b)
{
    const clp_context_opts opts = { .device = b->o->on, .schedule = b->o->schedule };
    if (clp_context_new(&opts, &b->ctx))
        return fail_library(NULL);
    b->device = clp_context_device(b->ctx);
    return DONE;
}

static int run_rows(bench *b)
{
    char cpu[160];
    bool is_first = true;
    clp_context *ctx = b->ctx;
    const bool has_device = !strncmp(b->device, "cl", 2);
    cpu_name(cpu, sizeof cpu);
    if (!has_device)
        b->ctx = NULL;
    if (b->o->json) {
        printf("{\"cpu\": ");
        json_string(stdout, cpu);
        printf(", \"device\": ");
        json_string(stdout, b->device);
        printf(", \"rows\": [");
    } else if (!b->o->quiet) {
        printf("%s; device %s\nratio: the peer's time over ours, of the minima\n\n", cpu, b->device);
        table_head();
    }
    int status = DONE;
    for (int s = 0; !status && s < N_SUITES; s++)
        status = run_suite(b, suites[s], suites[s] != bench_interp_rows, &is_first);
    if (b->o->json)
        printf("\n]}\n");
    b->ctx = ctx;
    return status;
}

int command_bench(const options *o)
{
    char cache[256];
    bench b = { .o = o };
    int status = check_names(o);
    if (status || o->list)
        return status ? status : list_rows();
    status = empty_cache(cache, sizeof cache);
    if (status)
        return status;
    status = open_device(&b);
    if (!status)
        status = run_rows(&b);
    clp_context_free(b.ctx);
    nftw(cache, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return status;
}
