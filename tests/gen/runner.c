/* runner: kernels made from seeds, on the interpreter in forward order and elsewhere, compared.
 * In: the first seed, how many, a device and a schedule ("shuffle" and "reverse" are orders of the
 * interpreter's; "printed" runs what is read from the printed IR).
 * Out: a line for each kernel that fails, its shrunk text, also in gen-<seed>-<schedule>.plk; a count. Exit status 1 if
 * one failed, 77 without the device.
 * Decides what is built together: some kernels are one text and one program of the device, which builds them in less time.
 * Where that fails, or one of them does, each is built alone. --narrow makes kernels for devices without f64 and without
 * atomics of 64 bits, --small those that slow compilers take: other kernels of the same seeds.
 *
 * usage: gen_runner SEED COUNT DEVICE auto|vector|simt|shuffle|reverse|printed [--group N] [--narrow] [--small] [--print] [--keep]
 *                   [--checked] */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "support/support.h"
#include "tool.h"

enum { NO_DEVICE = 77, TEXT_BYTES = 1 << 18, MAX_GROUP = 64 };

typedef struct setting {
    clp_context *reference, *ctx;
    const char *schedule;
    clp_order order;
    bool prints, keeps; /* keeps: failures are not shrunk */
    bool is_checked;    /* the device runs checked code, and finds nothing */
    bool reads_back;
    limits limits;
    int n_passed, n_failed, n_skipped;
    char *text;         /* [MAX_GROUP * TEXT_BYTES] */
    char why[GEN_WHY];  /* how the last kernel failed */
} setting;

typedef enum outcome { PASSED, DIFFERS, REFUSED, UNSUPPORTED, REFERENCE_FAILS } outcome;

/* A kernel on both sides. */
typedef struct sides { clp_kernel *want, *got; } sides;

/* ---- Building ---- */

static void take_text(const char *text, size_t n_bytes, void *user)
{
    char *out = user;
    if (n_bytes >= TEXT_BYTES)
        abort();
    memcpy(out, text, n_bytes);
    out[n_bytes] = '\0';
}

/* The kernel's IR as text, and the kernel that is read from it in its place: it must print the same. */
static outcome read_back(setting *s, clp_kernel **kernel)
{
    char *first = malloc(TEXT_BYTES), *second = malloc(TEXT_BYTES);
    if (!first || !second)
        abort();
    clp_status st = clp_kernel_emit(*kernel, CLP_STAGE_IR, take_text, first);
    clp_kernel_free(*kernel);
    *kernel = NULL;
    if (!st)
        st = clp_kernel_from_text(s->ctx, first, NULL, NULL, kernel);
    if (!st)
        st = clp_kernel_emit(*kernel, CLP_STAGE_IR, take_text, second);
    const bool is_same = !st && !strcmp(first, second);
    if (st)
        snprintf(s->why, sizeof s->why, "%s: %.400s", clp_status_name(st), clp_last_error(s->ctx));
    else if (!is_same)
        snprintf(s->why, sizeof s->why, "the printed kernel prints another text than it was read from");
    free(first);
    free(second);
    return st ? REFUSED : is_same ? PASSED : DIFFERS;
}

/* s->text, which holds n kernels, on both sides: all of them, or none. */
static outcome build(setting *s, sides *both, int n)
{
    clp_kernel *kernels[MAX_GROUP];
    int n_made;
    memset(both, 0, (size_t)n * sizeof *both);
    for (int side = 0; side < 2; side++) {
        clp_context *ctx = side ? s->ctx : s->reference;
        const clp_status st = clp_kernels_from_text(ctx, s->text, NULL, kernels, n, &n_made);
        if (st) {
            snprintf(s->why, sizeof s->why, "%s: %.400s", clp_status_name(st), clp_last_error(ctx));
            for (int i = 0; i < n; i++) {
                clp_kernel_free(both[i].want);
                both[i].want = NULL;
            }
            return !side ? REFERENCE_FAILS : st == CLP_ERR_UNSUPPORTED ? UNSUPPORTED : REFUSED;
        }
        if (n_made != n)
            abort();
        for (int i = 0; i < n; i++)
            *(side ? &both[i].got : &both[i].want) = kernels[i];
    }
    return PASSED;
}

static void free_pair(sides *p)
{
    clp_kernel_free(p->want);
    clp_kernel_free(p->got);
    *p = (sides){ NULL, NULL };
}

/* ---- Running ---- */

static clp_status run_one(setting *s, clp_context *ctx, const made *k, clp_kernel *kernel, run *r, clp_order order)
{
    clp_run_opts opts = { .order = order, .seed = 7 };
    if (k->has_box) {
        opts.grid_start = k->box_start;
        opts.grid_count = k->box_count;
    }
    const clp_status st = clp_run(kernel, r->arrays, r->n, &opts);
    if (st)
        snprintf(s->why, sizeof s->why, "%s: %.400s", clp_status_name(st), clp_last_error(ctx));
    return st;
}

static outcome run_pair(setting *s, const made *k, sides *p)
{
    run *want = malloc(sizeof *want), *got = malloc(sizeof *got);
    if (!want || !got)
        abort();
    run_place(want, k, true);
    run_place(got, k, false);
    outcome o = s->reads_back ? read_back(s, &p->got) : PASSED;
    if (o == PASSED && run_one(s, s->reference, k, p->want, want, CLP_ORDER_FORWARD))
        o = REFERENCE_FAILS;
    if (o == PASSED) {
        const clp_status st = run_one(s, s->ctx, k, p->got, got, s->order);
        o = st == CLP_ERR_UNSUPPORTED ? UNSUPPORTED : st ? REFUSED : run_agrees(k, got, want, s->why) ? PASSED : DIFFERS;
    }
    run_clear(want);
    run_clear(got);
    free(want);
    free(got);
    return o;
}

static outcome try_kernel(setting *s, const made *k)
{
    sides p;
    if (kernel_text(k, s->text, TEXT_BYTES) >= TEXT_BYTES)
        abort();
    outcome o = build(s, &p, 1);
    if (o == PASSED)
        o = run_pair(s, k, &p);
    free_pair(&p);
    return o;
}

/* ---- Failures ---- */

typedef struct wanted {
    setting *s;
    outcome outcome;
} wanted;

static bool fails_alike(const made *k, void *user)
{
    const wanted *w = user;
    return try_kernel(w->s, k) == w->outcome;
}

/* The smallest limits first under which the seed still fails, then line by line. */
static void shrink(setting *s, made *k, outcome o)
{
    static const limits smaller[] = { { 3, 0, 8, false }, { 3, 1, 8, false }, { 3, 1, 16, false }, { 3, 3, 16, false },
                                      { 5, 1, 26, false }, { 5, 3, 26, false } };
    wanted w = { s, o };
    made *tried = malloc(sizeof *tried);
    limits l;
    if (!tried)
        abort();
    for (int i = 0; i < (int)(sizeof smaller / sizeof *smaller); i++) {
        l = smaller[i];
        l.is_narrow = s->limits.is_narrow;
        kernel_make(tried, k->seed, &l);
        if (fails_alike(tried, &w)) {
            memcpy(k, tried, sizeof *k);
            break;
        }
    }
    free(tried);
    kernel_shrink(k, fails_alike, &w);
    try_kernel(s, k);
}

static void save(const setting *s, const made *k)
{
    char path[128];
    snprintf(path, sizeof path, "gen-%" PRIu64 "-%s.plk", k->seed, s->schedule);
    FILE *f = fopen(path, "w");
    if (!f)
        return;
    fprintf(f, "%s// %s\n", s->text, s->why);
    fclose(f);
}

static void report(setting *s, made *k, outcome o)
{
    fprintf(stderr, "seed %" PRIu64 ": %s\n", k->seed, s->why);
    /* A kernel that is none is the generator's fault, and shrinks to any other. */
    if (s->keeps || strstr(s->why, "CLP_ERR_INVALID"))
        return;
    shrink(s, k, o);
    kernel_text(k, s->text, TEXT_BYTES);
    fprintf(stderr, "%s%s\n\n", s->text, s->why);
    save(s, k);
}

/* ---- Seeds ---- */

static void count(setting *s, made *k, outcome o)
{
    s->n_passed += o == PASSED;
    s->n_skipped += o == UNSUPPORTED;
    s->n_failed += o != PASSED && o != UNSUPPORTED;
    if (o == UNSUPPORTED)
        printf("skipped: seed %" PRIu64 ": %s\n", k->seed, s->why);
    else if (o != PASSED)
        report(s, k, o);
}

/* One that failed among others: it should fail alone too. If not, the fault is in what they share. */
static void retry_alone(setting *s, made *k, uint64_t first, int n)
{
    char why[GEN_WHY];
    memcpy(why, s->why, sizeof why);
    const outcome o = try_kernel(s, k);
    if (o == PASSED) {
        fprintf(stderr, "seed %" PRIu64 ": only in one program with seeds %" PRIu64 " to %" PRIu64 ": %s\n", k->seed, first,
                first + (uint64_t)n - 1, why);
        s->n_failed++;
    } else
        count(s, k, o);
}

static void run_group(setting *s, uint64_t first, int n)
{
    made *kernels = malloc((size_t)n * sizeof *kernels);
    sides both[MAX_GROUP];
    size_t at = 0;
    if (!kernels)
        abort();
    for (int i = 0; i < n; i++) {
        kernel_make(&kernels[i], first + (uint64_t)i, &s->limits);
        const size_t n_bytes = kernel_text(&kernels[i], s->text + at, TEXT_BYTES);
        if (n_bytes >= TEXT_BYTES)
            abort();
        at += n_bytes;
    }
    if (s->prints) {
        puts(s->text);
        fflush(stdout);
    }
    const bool is_shared = build(s, both, n) == PASSED;
    for (int i = 0; i < n; i++) {
        const outcome o = is_shared ? run_pair(s, &kernels[i], &both[i]) : try_kernel(s, &kernels[i]);
        if (is_shared)
            free_pair(&both[i]);
        if (is_shared && n > 1 && o != PASSED && o != UNSUPPORTED)
            retry_alone(s, &kernels[i], first, n);
        else
            count(s, &kernels[i], o);
    }
    free(kernels);
}

/* ---- The command ---- */

static bool read_options(setting *s, int argc, char **argv, int64_t *seed, int64_t *n, int64_t *group)
{
    if (argc < 5 || !is_number(argv[1], seed) || !is_number(argv[2], n))
        return false;
    *group = 16;
    s->limits = gen_all;
    for (int i = 5; i < argc; i++) {
        s->prints = s->prints || !strcmp(argv[i], "--print");
        s->keeps = s->keeps || !strcmp(argv[i], "--keep");
        s->limits.is_narrow = s->limits.is_narrow || !strcmp(argv[i], "--narrow");
        if (!strcmp(argv[i], "--small")) {
            s->limits.size = 5;
            s->limits.n_statements = 10;
        }
        s->is_checked = s->is_checked || !strcmp(argv[i], "--checked");
        if (!strcmp(argv[i], "--group") && (++i >= argc || !is_number(argv[i], group) || *group < 1 || *group > MAX_GROUP))
            return false;
    }
    s->schedule = argv[4];
    s->reads_back = !strcmp(argv[4], "printed");
    s->order = !strcmp(argv[4], "shuffle")   ? CLP_ORDER_SHUFFLE
               : !strcmp(argv[4], "reverse") ? CLP_ORDER_REVERSE
                                             : CLP_ORDER_FORWARD;
    return true;
}

int main(int argc, char **argv)
{
    static const char *const schedules[] = { "auto", "vector", "simt" };
    setting s = { 0 };
    int64_t seed, n, group;
    if (!read_options(&s, argc, argv, &seed, &n, &group))
        return fail_usage("usage: gen_runner SEED COUNT DEVICE auto|vector|simt|shuffle|reverse|printed [--group N] [--narrow] [--small] [--print] [--keep] "
                          "[--checked]");
    clp_context_opts opts = { .device = argv[3], .checked = s.is_checked };
    for (int i = 0; i < 3; i++)
        if (!strcmp(argv[4], schedules[i]))
            opts.schedule = (clp_schedule)i;
    s.text = malloc((size_t)MAX_GROUP * TEXT_BYTES);
    if (!s.text || clp_context_new(&(clp_context_opts){ .device = "interp" }, &s.reference))
        abort();
    if (clp_context_new(&opts, &s.ctx)) {
        printf("%s\n", clp_last_error(NULL));
        const char *required = getenv("CLP_REQUIRE_CL");
        return required && *required == '1' ? FAILED : NO_DEVICE;
    }
    for (int64_t i = 0; i < n; i += group)
        run_group(&s, (uint64_t)(seed + i), (int)(n - i < group ? n - i : group));
    printf("%s, %s: %d passed, %d failed, %d skipped\n", clp_context_device(s.ctx), argv[4], s.n_passed, s.n_failed,
           s.n_skipped);
    clp_context_free(s.ctx);
    clp_context_free(s.reference);
    free(s.text);
    return s.n_failed || s.n_passed == 0 ? FAILED : DONE;
}
