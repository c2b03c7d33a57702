/* bench: `clpallas bench`: what clpallas does, each beside what a user would call instead, measured in the same run.
 * In: names of rows. Out: a table, or JSON, and a picture: for every peer the ratio of the minima, the peer's time over ours.
 * Decides which rows are run: those named, where a name stands for all that it is the beginning of; without names, all.
 */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench.h"
#include "output.h"

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

void bench_fill(clp_array *a, uint32_t seed, int64_t below)
{
    const bool is_float = a->dtype == CLP_F16 || a->dtype == CLP_BF16 || a->dtype == CLP_F32 || a->dtype == CLP_F64;
    const int64_t span = below ? below : 256, from = below || a->dtype == CLP_U8 ? 0 : -128;
    uint32_t state = seed * 2654435761u + 12345u;
    for (int64_t i = 0, n = array_elems(a); i < n; i++) {
        state = state * 1664525u + 1013904223u;
        const double unit = (double)(state >> 8) / (double)(1 << 24);
        if (a->dtype == CLP_F32)
            ((float *)a->data)[i] = (float)(2 * unit - 1);
        else
            array_set(a, i, is_float ? 2 * unit - 1 : (double)(from + (int64_t)(unit * (double)span)));
    }
}

/* ---- The machine ---- */

static void cpu_line(const char *key, char *out, size_t n_bytes)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    static const size_t room = 8192;
    char *line = malloc(room);
    while (file && line && fgets(line, (int)room, file)) {
        const char *value = strncmp(line, key, strlen(key)) ? NULL : strchr(line, ':');
        if (value) {
            snprintf(out, n_bytes, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
            break;
        }
    }
    free(line);
    if (file)
        fclose(file);
}

static void cpu_name(char *out, size_t n_bytes)
{
    struct utsname u;
    snprintf(out, n_bytes, "%s", uname(&u) < 0 ? "unknown" : u.machine);
    cpu_line("model name", out, n_bytes);
}

/* PoCL keeps what it compiles; here it must compile, and leave nothing behind. It reads this before the first OpenCL
 * call. */
static int make_folder(bench *b)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(b->folder, sizeof b->folder, "%s/clpallas-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(b->folder) || setenv("POCL_CACHE_DIR", b->folder, 1))
        return fail("%s: no folder can be made there", b->folder);
    return DONE;
}

static int remove_entry(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s;
    (void)kind;
    (void)at;
    return remove(path);
}

/* ---- Names ---- */

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

static int fail_row(const char *name)
{
    enum { MAX_ROWS = 200 };
    const char *names[MAX_ROWS];
    char nearest[96];
    int n = 0;
    for (const bench_row *row = bench_rows; row->name && n < MAX_ROWS; row++)
        names[n++] = row->name;
    return fail_usage("bench: there is no row %s%s; clpallas bench --list", name, did_you_mean(nearest, sizeof nearest, name, names, n));
}

static int check_names(const options *o)
{
    for (int i = 0; i < o->names.n; i++) {
        bool found = false;
        for (const bench_row *row = bench_rows; row->name; row++)
            found = found || is_named(row->name, o->names.items[i].name);
        if (!found)
            return fail_row(o->names.items[i].name);
    }
    return DONE;
}

static int list_rows(const options *o)
{
    for (const bench_row *row = bench_rows; row->name; row++) {
        if (!is_wanted(o, row))
            continue;
        printf("%-30s ", row->name);
        if (row->does) {
            printf("%s\n", row->does);
            continue;
        }
        printf("%s%s%s, %s;", row->kernel, row->params ? " with " : "", row->params ? row->params : "", row->shape);
        for (int i = 0; i < MAX_PEERS && row->peers[i].peer; i++)
            printf("%s %s", i ? "," : "", row->peers[i].peer->name);
        printf("\n");
    }
    return DONE;
}

/* ---- Rows ---- */

/* Where results go. */
typedef struct sink {
    bool is_json, is_first;
    FILE *bars; /* NULL: no picture */
    int n_bars;
} sink;

static int run_row(bench *b, const bench_row *row, sink *out)
{
    if (!row->on_interp && !b->ctx) {
        fprintf(stderr, "clpallas: %s left out: it needs an OpenCL device\n", row->name);
        return DONE;
    }
    contest *c = calloc(1, sizeof *c);
    if (!c)
        return fail("out of memory");
    const bool shows_progress = !b->o->quiet && isatty(STDERR_FILENO);
    if (shows_progress)
        fprintf(stderr, "%s ...", row->name);
    c->work = row->name;
    c->flops = row->flops;
    snprintf(c->shape, sizeof c->shape, "%s", row->shape ? row->shape : "");
    snprintf(c->params, sizeof c->params, "%s", b->o->params && row->kernel ? b->o->params : row->params ? row->params : "");
    const int status = row->run ? row->run(b, row, c) : run_work(b, row, c);
    if (shows_progress)
        fprintf(stderr, "\r\033[K");
    if (!status && out->is_json)
        json_contest(c, &out->is_first);
    else if (!status)
        print_contest(c);
    if (!status && out->bars)
        svg_bars_add(out->bars, c, &out->n_bars);
    free(c);
    return status;
}

/* All of them, also behind one that failed, which has said why. */
static int run_rows(bench *b, sink *out)
{
    int status = DONE;
    for (const bench_row *row = bench_rows; row->name; row++) {
        const int one = is_wanted(b->o, row) ? run_row(b, row, out) : DONE;
        status = status ? status : one;
    }
    return status;
}

/* ---- The command ---- */

/* The device of the rows that need one; on the interpreter there are none of them to run. */
static int open_contexts(bench *b, clp_context **device)
{
    const clp_context_opts opts = { .device = b->o->on, .schedule = b->o->schedule, .tuned = b->o->tuned,
                                    .dump = b->o->tuned ? job_dump : NULL };
    if (clp_context_new(&opts, device) || clp_context_new(&(clp_context_opts){ .device = "interp" }, &b->interp))
        return fail_library(NULL);
    b->device = clp_context_device(*device);
    b->ctx = strncmp(b->device, "cl", 2) ? NULL : *device;
    return DONE;
}

static int write_picture(const bench *b, const char *cpu, const char *bars, int n_bars)
{
    output w;
    if (!output_open(&w, b->o->svg))
        return fail("%s: %s", b->o->svg, strerror(errno));
    svg_bars_write(w.file, cpu, b->device, bars, n_bars);
    return output_close(&w, !ferror(w.file)) ? DONE : fail("%s: %s", b->o->svg, strerror(errno));
}

static int measure(bench *b)
{
    char cpu[160], *bars = NULL;
    size_t n_bars_bytes;
    sink out = { .is_json = b->o->json, .is_first = true, .bars = b->o->svg ? open_memstream(&bars, &n_bars_bytes) : NULL };
    cpu_name(cpu, sizeof cpu);
    b->cpu_flags[0] = ' ';
    cpu_line("flags", b->cpu_flags + 1, sizeof b->cpu_flags - 2);
    strcat(b->cpu_flags, " ");
    if (out.is_json) {
        printf("{\"cpu\": ");
        json_string(stdout, cpu);
        printf(", \"device\": ");
        json_string(stdout, b->device);
        printf(", \"rows\": [");
    } else if (!b->o->quiet) {
        printf("%s; device %s\nratio: the peer's time over ours, of the minima\n\n", cpu, b->device);
        print_head();
    }
    int status = run_rows(b, &out);
    if (out.is_json)
        printf("\n]}\n");
    if (out.bars && (fclose(out.bars) || !bars))
        status = status ? status : fail("out of memory");
    if (bars && b->o->svg) {
        const int written = write_picture(b, cpu, bars, out.n_bars);
        status = status ? status : written;
    }
    free(bars);
    return status;
}

int command_bench(const options *o)
{
    bench b = { .o = o };
    clp_context *device = NULL;
    int status;
#ifdef CLPALLAS_OPENCL
    if (process_is_child(&status))
        return status;
#endif
    status = check_names(o);
    if (status || o->list)
        return status ? status : list_rows(o);
    status = make_folder(&b);
    if (status)
        return status;
    status = open_contexts(&b, &device);
    if (!status)
        status = measure(&b);
    torch_stop(b.torch);
    clp_context_free(b.interp);
    clp_context_free(device);
    nftw(b.folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return status;
}
