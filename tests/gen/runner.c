/* runner: kernels made from seeds, on the interpreter in forward order and elsewhere, compared.
 * In: the first seed, how many, a device and a schedule ("shuffle" and "reverse" are orders of the
 * interpreter's; "printed" runs what is read from the printed IR).
 * Out: a line for each kernel that fails, its shrunk text, also in gen-<seed>-<schedule>.plk; a count. Exit status 1 if
 * one failed, 77 without the device.
 * Decides equality: exact outputs have the same bits, two NaNs or two zeros; approximate ones are as near as their error
 * bound says. Memory beside the arrays and inputs stay as they were.
 *
 * usage: gen_runner SEED COUNT DEVICE auto|vector|simt|shuffle|reverse|printed [--print] [--keep] */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "gen.h"
#include "support/support.h"
#include "tool.h"

enum { NO_DEVICE = 77, TEXT_BYTES = 1 << 18 };

typedef struct setting {
    clp_context *reference, *ctx;
    const char *schedule;
    clp_order order;
    bool prints, keeps; /* keeps: failures are not shrunk */
    bool reads_back, is_reprinted;
    int n_passed, n_failed, n_skipped;
    char *text;
    char why[512];      /* how the last kernel failed */
} setting;

/* How an array lies in its memory; packed dtypes and the reference's arrays are plain. */
typedef enum layout { PLAIN, GAPS, BACKWARDS, N_LAYOUTS } layout;

/* One operand's array, between guards. */
typedef struct argument {
    guarded memory;         /* none where it shares another's */
    unsigned char *before;  /* its bytes before the run */
    int64_t strides[GEN_ARRAY_RANK];
} argument;

typedef struct run {
    argument args[GEN_OPERANDS];
    clp_array arrays[GEN_OPERANDS];
    int which[GEN_OPERANDS]; /* the operand of each array */
    int n;
} run;

static size_t elem_bytes(const clp_array *a)
{
    return (size_t)clp_dtype_bits(a->dtype) / 8;
}

static unsigned char *place_of(const clp_array *a, int64_t i)
{
    int64_t at = a->offset;
    for (int d = a->rank - 1; d >= 0; d--) {
        at += i % a->shape[d] * a->strides[d];
        i /= a->shape[d];
    }
    return (unsigned char *)a->data + at * (int64_t)elem_bytes(a);
}

/* Lays the plain array out in memory of its own. */
static void lay_out(argument *arg, clp_array *a, layout l)
{
    const clp_array from = *a;
    int64_t extent = l == GAPS ? 2 : 1;
    if (l == PLAIN || a->rank == 0 || clpi_is_packed(a->dtype)) {
        arg->memory = guarded_new(array_bytes(a));
        memcpy(arg->memory.data, a->data, array_bytes(a));
        a->data = arg->memory.data;
    } else {
        for (int d = a->rank - 1; d >= 0; d--) {
            arg->strides[d] = extent;
            extent = extent * a->shape[d] + (l == GAPS ? 3 : 0);
        }
        arg->memory = guarded_new((size_t)(extent + 5) * elem_bytes(a));
        a->offset = 5;
        for (int d = 0; l == BACKWARDS && d < a->rank; d++) {
            a->offset += arg->strides[d] * (a->shape[d] - 1);
            arg->strides[d] = -arg->strides[d];
        }
        a->data = arg->memory.data;
        a->strides = arg->strides;
        for (int64_t i = 0, n = array_elems(a); i < n; i++)
            memcpy(place_of(a, i), (const char *)from.data + (size_t)i * elem_bytes(a), elem_bytes(a));
    }
    arg->before = malloc(arg->memory.n_bytes + 1);
    if (!arg->before)
        abort();
    memcpy(arg->before, arg->memory.data, arg->memory.n_bytes);
}

static void place(run *r, const made *k, bool is_reference)
{
    *r = (run){ 0 };
    for (int i = 0; i < k->n_operands; i++) {
        const operand *x = &k->operands[i];
        if (x->role == CLP_SCRATCH || x->is_gone)
            continue;
        clp_array *a = &r->arrays[r->n];
        *a = (clp_array){ .dtype = x->dtype, .rank = x->rank, .shape = x->size };
        for (int j = 0; x->alias >= 0 && j < r->n; j++)
            if (r->which[j] == x->alias)
                *a = r->arrays[j];
        if (!a->data) {
            guarded plain = guarded_new(array_bytes(a));
            const unsigned kind = (unsigned)(k->seed * 7 + (unsigned char)x->name[1]) % 6;
            a->data = plain.data;
            operand_fill(x, k->seed, a);
            lay_out(&r->args[r->n], a, is_reference || kind >= N_LAYOUTS ? PLAIN : (layout)kind);
            guarded_free(&plain);
        }
        r->which[r->n++] = i;
    }
}

static void clear(run *r)
{
    for (int i = 0; i < r->n; i++)
        if (r->args[i].memory.base) {
            guarded_free(&r->args[i].memory);
            free(r->args[i].before);
        }
}

static bool is_written(const operand *x)
{
    return x->role == CLP_OUT || x->role == CLP_INOUT;
}

/* Bytes that belong to no element of what is written are as they were. */
static bool rest_is_untouched(const made *k, run *r, int i)
{
    argument *arg = &r->args[i];
    const clp_array *a = &r->arrays[i];
    bool is_output = false;
    if (!arg->memory.base)
        return true;
    for (int j = 0; j < r->n; j++)
        is_output = is_output || (r->arrays[j].data == a->data && is_written(&k->operands[r->which[j]]));
    if (is_output && !a->strides)
        return guarded_is_whole(&arg->memory);
    for (int64_t e = 0, n = array_elems(a); is_output && e < n; e++) {
        const unsigned char *at = place_of(a, e);
        memcpy(arg->before + (at - (unsigned char *)a->data), at, elem_bytes(a));
    }
    return guarded_is_whole(&arg->memory) && !memcmp(arg->before, arg->memory.data, arg->memory.n_bytes);
}

/* ---- Comparing ---- */

static bool agree(const operand *x, const clp_array *got, const clp_array *want, int64_t i)
{
    if (array_bits(got, i) == array_bits(want, i))
        return true;
    if (!clpi_is_float(x->dtype))
        return false;
    const double a = array_number(got, i), b = array_number(want, i);
    return a == b || (isnan(a) && isnan(b)) || (x->is_approximate && fabs(a - b) <= (x->is_sink ? (double)x->errs[i % GEN_SINK] : x->err));
}

static bool compare(setting *s, const made *k, run *got, const run *want)
{
    for (int i = 0; i < got->n; i++) {
        const operand *x = &k->operands[got->which[i]];
        int64_t n_wrong = 0, first = -1;
        for (int64_t e = 0, n = array_elems(&got->arrays[i]); e < n; e++)
            if (!agree(x, &got->arrays[i], &want->arrays[i], e))
                first = n_wrong++ ? first : e;
        if (n_wrong)
            snprintf(s->why, sizeof s->why,
                     "%s: %" PRId64 " of %" PRId64 " elements differ; element %" PRId64
                     ": interpreter %.9g (%" PRIx64 "), here %.9g (%" PRIx64 ")%s",
                     x->name, n_wrong, array_elems(&got->arrays[i]), first, array_number(&want->arrays[i], first),
                     array_bits(&want->arrays[i], first), array_number(&got->arrays[i], first),
                     array_bits(&got->arrays[i], first), x->is_approximate ? ", approximate" : "");
        if (n_wrong)
            return false;
        if (!rest_is_untouched(k, got, i)) {
            snprintf(s->why, sizeof s->why, "%s: memory that is not an output's was written", x->name);
            return false;
        }
    }
    return true;
}

/* ---- A kernel ---- */

typedef enum outcome { PASSED, DIFFERS, REFUSED, UNSUPPORTED, REFERENCE_FAILS } outcome;

static void take_text(const char *text, size_t n_bytes, void *user)
{
    char *out = user;
    if (n_bytes >= TEXT_BYTES)
        abort();
    memcpy(out, text, n_bytes);
    out[n_bytes] = '\0';
}

/* The kernel's IR as text, and the kernel that is read from it in its place: it must print the same. */
static clp_status read_back(setting *s, clp_context *ctx, clp_kernel **kernel)
{
    char *first = malloc(TEXT_BYTES), *second = malloc(TEXT_BYTES);
    if (!first || !second)
        abort();
    clp_status st = clp_kernel_emit(*kernel, CLP_STAGE_IR, take_text, first);
    clp_kernel_free(*kernel);
    *kernel = NULL;
    if (!st)
        st = clp_kernel_from_text(ctx, first, NULL, NULL, kernel);
    if (!st)
        st = clp_kernel_emit(*kernel, CLP_STAGE_IR, take_text, second);
    s->is_reprinted = !st && !strcmp(first, second);
    free(first);
    free(second);
    return st;
}

static clp_status build_and_run(setting *s, clp_context *ctx, run *r, clp_order order)
{
    clp_kernel *built = NULL;
    clp_status st = clp_kernel_from_text(ctx, s->text, NULL, NULL, &built);
    if (!st && s->reads_back && ctx == s->ctx)
        st = read_back(s, ctx, &built);
    if (!st)
        st = clp_run(built, r->arrays, r->n, &(clp_run_opts){ .order = order, .seed = 7 });
    if (st)
        snprintf(s->why, sizeof s->why, "%s: %s", clp_status_name(st), clp_last_error(ctx));
    clp_kernel_free(built);
    return st;
}

static outcome try_kernel(setting *s, const made *k)
{
    run *want = malloc(sizeof *want), *got = malloc(sizeof *got);
    if (!want || !got || kernel_text(k, s->text, TEXT_BYTES) >= TEXT_BYTES)
        abort();
    place(want, k, true);
    place(got, k, false);
    outcome result = PASSED;
    if (build_and_run(s, s->reference, want, CLP_ORDER_FORWARD))
        result = REFERENCE_FAILS;
    else {
        const clp_status st = build_and_run(s, s->ctx, got, s->order);
        if (!st && s->reads_back && !s->is_reprinted)
            snprintf(s->why, sizeof s->why, "the printed kernel prints another text than it was read from");
        result = !st && s->reads_back && !s->is_reprinted ? DIFFERS :
                 st == CLP_ERR_UNSUPPORTED ? UNSUPPORTED : st ? REFUSED : compare(s, k, got, want) ? PASSED : DIFFERS;
    }
    clear(want);
    clear(got);
    free(want);
    free(got);
    return result;
}

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
    static const limits smaller[] = { { 3, 0, 8 }, { 3, 1, 8 }, { 3, 1, 16 }, { 3, 3, 16 }, { 5, 1, 26 }, { 5, 3, 26 } };
    wanted w = { s, o };
    made *tried = malloc(sizeof *tried);
    if (!tried)
        abort();
    for (int i = 0; i < (int)(sizeof smaller / sizeof *smaller); i++) {
        kernel_make(tried, k->seed, &smaller[i]);
        if (fails_alike(tried, &w)) {
            memcpy(k, tried, sizeof *k);
            break;
        }
    }
    free(tried);
    kernel_shrink(k, fails_alike, &w);
    try_kernel(s, k);
}

static void report(setting *s, made *k, outcome o)
{
    fprintf(stderr, "seed %" PRIu64 ": %s\n", k->seed, s->why);
    if (s->keeps)
        return;
    shrink(s, k, o);
    char path[128];
    snprintf(path, sizeof path, "gen-%" PRIu64 "-%s.plk", k->seed, s->schedule);
    kernel_text(k, s->text, TEXT_BYTES);
    fprintf(stderr, "%s%s\n\n", s->text, s->why);
    FILE *f = fopen(path, "w");
    if (!f)
        return;
    fprintf(f, "%s// %s\n", s->text, s->why);
    fclose(f);
}

static void run_seed(setting *s, uint64_t seed)
{
    made *k = malloc(sizeof *k);
    if (!k)
        abort();
    kernel_make(k, seed, &gen_all);
    if (s->prints) {
        kernel_text(k, s->text, TEXT_BYTES);
        puts(s->text);
        fflush(stdout);
    }
    const outcome o = try_kernel(s, k);
    s->n_passed += o == PASSED;
    s->n_skipped += o == UNSUPPORTED;
    s->n_failed += o != PASSED && o != UNSUPPORTED;
    if (o == UNSUPPORTED)
        printf("skipped: seed %" PRIu64 ": %s\n", seed, s->why);
    else if (o != PASSED)
        report(s, k, o);
    free(k);
}

int main(int argc, char **argv)
{
    static const char *const schedules[] = { "auto", "vector", "simt" };
    setting s = { 0 };
    int64_t seed, count;
    if (argc < 5 || !is_number(argv[1], &seed) || !is_number(argv[2], &count))
        return fail_usage("usage: gen_runner SEED COUNT DEVICE auto|vector|simt|shuffle|reverse|printed [--print] [--keep]");
    for (int i = 5; i < argc; i++) {
        s.prints = s.prints || !strcmp(argv[i], "--print");
        s.keeps = s.keeps || !strcmp(argv[i], "--keep");
    }
    clp_context_opts opts = { .device = argv[3] };
    s.schedule = argv[4];
    s.reads_back = !strcmp(argv[4], "printed");
    for (int i = 0; i < 3; i++)
        if (!strcmp(argv[4], schedules[i]))
            opts.schedule = (clp_schedule)i;
    s.order = !strcmp(argv[4], "shuffle")   ? CLP_ORDER_SHUFFLE
              : !strcmp(argv[4], "reverse") ? CLP_ORDER_REVERSE
                                            : CLP_ORDER_FORWARD;
    s.text = malloc(TEXT_BYTES);
    if (!s.text || clp_context_new(&(clp_context_opts){ .device = "interp" }, &s.reference))
        abort();
    if (clp_context_new(&opts, &s.ctx)) {
        printf("%s\n", clp_last_error(NULL));
        const char *required = getenv("CLP_REQUIRE_CL");
        return required && *required == '1' ? FAILED : NO_DEVICE;
    }
    for (int64_t i = 0; i < count; i++)
        run_seed(&s, (uint64_t)(seed + i));
    printf("%s, %s: %d passed, %d failed, %d skipped\n", clp_context_device(s.ctx), argv[4], s.n_passed, s.n_failed,
           s.n_skipped);
    clp_context_free(s.ctx);
    clp_context_free(s.reference);
    free(s.text);
    return s.n_failed || s.n_passed == 0 ? FAILED : DONE;
}
