/* runner: small kernels with the outputs, the message or the fault that is right for each.
 * In: a folder of *.plk files written as README.md says; a device, a schedule and an order of programs.
 * Out: a line for each run that fails, or whose kernel the device rightly refuses, with the case's id and the reason, and a
 * count; exit status 1 if one failed, 77 without the device. With "check:3" in place of an order the cases are checked, with that many
 * shuffled orders, and what is found is compared (find.c). Decides equality: the same number or the same bits, both NaN, or within the
 * case's tolerance; all memory that is no element of a written array must be as it was.
 *
 * usage: runner FOLDER DEVICE SCHEDULE ORDER [id or file...] */
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "cases.h"
#include "run/run.h"
#include "support/refusal.h"
#include "support/support.h"

enum { NO_DEVICE = 77, MAX_FILES = 64, PRINTED_BYTES = 65536, REASON_BYTES = 8192 };

typedef struct setting {
    clp_context *ctx;
    bool is_interp;
    bool is_checked; /* the device runs checked code: faults end runs there too */
    clp_order order;
    int n_shuffles; /* cases are checked, with this many shuffled orders; 0: they are run */
    char **only; /* ids and file stems; none: all */
    int n_only;
    int n_passed, n_failed, n_refused;
    clp_kernel *kernel; /* the last one built, and from what */
    char *kernel_text, *kernel_params, *kernel_batches;
    char *printed;
} setting;

typedef struct operand {
    clp_operand_info info;
    const written *start, *want;  /* NULL: none */
    tool_array from;              /* what it starts from, contiguous */
    wanted *wanted;               /* [elements]; NULL: nothing is expected */
    int shares;                   /* the operand whose memory it has, -1: its own */
    guarded memory;
    unsigned char *before;        /* a copy of the memory before the run */
    clp_array arg;
} operand;

typedef struct trial {
    setting *s;
    const asked *a;
    int n;
    operand operands[MAX_ARRAYS];
    char reason[REASON_BYTES];
} trial;

static bool failed(trial *t, const char *format, ...) CLP_PRINTF(2, 3);
static bool failed(trial *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(t->reason, sizeof t->reason, format, args);
    va_end(args);
    return false;
}

/* ---- Operands ---- */

static void put(clp_array *a, int64_t i, uint64_t bits)
{
    const size_t size = (size_t)clp_dtype_bits(a->dtype) / 8;
    if (clpi_is_packed(a->dtype)) {
        const clpi_elem e = clpi_elem_from_bits(a->dtype, bits);
        array_set(a, i, clpi_is_signed(a->dtype) ? (double)e.i : (double)e.u);
    } else {
        memcpy((char *)a->data + (size_t)i * size, &bits, size);
    }
}

static wanted *read_values(trial *t, const written *w, const clp_array *a)
{
    const char *names[MAX_ARRAYS];
    clp_array arrays[MAX_ARRAYS];
    int n = 0;
    for (int i = 0; i < t->n; i++)
        if (t->operands[i].from.array.data) {
            names[n] = t->operands[i].info.name;
            arrays[n++] = t->operands[i].from.array;
        }
    return values_read(w, a, &(rule_env){ names, arrays, n }, t->reason, sizeof t->reason);
}

static const written *named(const written *all, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(all[i].name, name))
            return &all[i];
    return NULL;
}

static bool start_operand(trial *t, int i)
{
    operand *o = &t->operands[i];
    const clpi_operand *x = &t->s->kernel->ir->operands[t->s->kernel->operands[i]];
    const written *shaped = o->start ? o->start : o->want;
    o->shares = -1;
    for (int k = 0; k < i && x->alias >= 0; k++)
        if (t->s->kernel->operands[k] == x->alias)
            o->shares = k;
    const clp_array *shared = o->shares >= 0 ? &t->operands[o->shares].from.array : NULL;
    if (!shaped && !shared)
        return failed(t, "%s: neither what it starts from nor what is expected of it", o->info.name);
    if (shared && !(shaped && shaped->has_shape))
        return array_copy(&o->from, shared) || failed(t, "out of memory");
    if (!shaped->has_shape && o->info.rank > 0)
        return failed(t, "line %d: %s: its shape is missing", shaped->line, o->info.name);
    if (!array_new(&o->from, o->info.dtype, shaped->rank, shaped->shape))
        return failed(t, "out of memory");
    memset(o->from.array.data, o->info.dtype == CLP_BOOL ? 1 : 0xa5, array_bytes(&o->from.array));
    if (shared)
        memcpy(o->from.array.data, shared->data, array_bytes(&o->from.array));
    if (!o->start)
        return true;
    wanted *values = read_values(t, o->start, &o->from.array);
    for (int64_t e = 0, n = array_elems(&o->from.array); values && e < n; e++)
        if (values[e].wish == NUMBER || values[e].wish == BITS)
            put(&o->from.array, e, values[e].bits);
    free(values);
    return values != NULL;
}

/* Memory between guards, with gaps where the case gives strides. */
static void place_operand(trial *t, int i)
{
    operand *o = &t->operands[i];
    const clp_array *from = &o->from.array;
    o->arg = *from;
    if (o->shares >= 0) {
        o->arg.data = t->operands[o->shares].arg.data;
        return;
    }
    int64_t n_elems = array_elems(from), offset = 0, size = clp_dtype_bits(from->dtype) / 8;
    if (o->start && o->start->has_strides) {
        int64_t extent = 1;
        for (int d = 0; d < from->rank; d++) {
            const int64_t reach = o->start->strides[d] * (from->shape[d] - 1);
            offset -= reach < 0 ? reach : 0;
            extent += reach < 0 ? -reach : reach;
        }
        o->arg.strides = o->start->strides;
        o->arg.offset = offset;
        o->memory = guarded_new((size_t)(extent * size));
        o->arg.data = o->memory.data;
        for (int64_t e = 0; e < n_elems; e++) {
            int64_t at = offset, rest = e;
            for (int d = from->rank - 1; d >= 0; d--) {
                at += rest % from->shape[d] * o->arg.strides[d];
                rest /= from->shape[d];
            }
            memcpy((char *)o->arg.data + at * size, (const char *)from->data + e * size, (size_t)size);
        }
    } else {
        o->memory = guarded_new(array_bytes(from));
        memcpy(o->memory.data, from->data, o->memory.n_bytes);
        o->arg.data = o->memory.data;
    }
    o->before = malloc(o->memory.n_bytes + 1);
    if (!o->before)
        abort();
    memcpy(o->before, o->memory.data, o->memory.n_bytes);
}

static bool make_operands(trial *t)
{
    t->n = clp_kernel_n_operands(t->s->kernel);
    if (t->n > MAX_ARRAYS)
        return failed(t, "too many operands");
    for (int i = 0; i < t->n; i++) {
        operand *o = &t->operands[i];
        o->info = clp_kernel_operand(t->s->kernel, i);
        o->start = named(t->a->starts, t->a->n_starts, o->info.name);
        o->want = named(t->a->wants, t->a->n_wants, o->info.name);
    }
    for (int k = 0; k < t->a->n_starts + t->a->n_wants; k++) {
        const written *w = k < t->a->n_starts ? &t->a->starts[k] : &t->a->wants[k - t->a->n_starts];
        int i = 0;
        while (i < t->n && strcmp(t->operands[i].info.name, w->name))
            i++;
        if (i == t->n)
            return failed(t, "line %d: the kernel has no operand %s", w->line, w->name);
    }
    for (int i = 0; i < t->n; i++)
        if (!start_operand(t, i))
            return false;
    for (int i = 0; i < t->n; i++) {
        operand *o = &t->operands[i];
        place_operand(t, i);
        if (o->want && !(o->wanted = read_values(t, o->want, &o->from.array)))
            return false;
    }
    return true;
}

/* ---- Checking ---- */

static bool is_as_wanted(const operand *o, int64_t e, double tol)
{
    const clp_array *got = &o->arg;
    const wanted *w = &o->wanted[e];
    const uint64_t bits = array_bits(got, e);
    if (w->wish == ANYTHING)
        return true;
    if (w->wish == AS_BEFORE)
        return bits == array_bits(&o->from.array, e);
    if (w->wish == BITS || bits == w->bits || !clpi_is_float(got->dtype))
        return bits == w->bits;
    const clpi_elem e_want = clpi_elem_from_bits(got->dtype, w->bits);
    return near(array_number(got, e), got->dtype == CLP_F64 ? e_want.d : (double)e_want.f, tol);
}

static bool check_values(trial *t, const operand *o)
{
    const int64_t n = array_elems(&o->arg);
    for (int64_t e = 0; e < n; e++)
        if (!is_as_wanted(o, e, t->a->tol)) {
            char want[64] = "what it was";
            const clpi_elem w = clpi_elem_from_bits(o->arg.dtype, o->wanted[e].bits);
            const clpi_elem d = clpi_elem_cast(CLP_F64, clpi_loaded(o->arg.dtype), w);
            if (o->wanted[e].wish != AS_BEFORE)
                snprintf(want, sizeof want, "%.9g (#%" PRIx64 ")", d.d, o->wanted[e].bits);
            return failed(t, "%s: element %" PRId64 " of %" PRId64 ": expected %s, got %.9g (#%" PRIx64 ")",
                          o->info.name, e, n, want, array_number(&o->arg, e), array_bits(&o->arg, e));
        }
    return true;
}

/* may_write: elements of arrays that the kernel writes may differ from before. */
static bool check_memory(trial *t, operand *o, bool may_write)
{
    bool is_written = o->info.role == CLP_OUT || o->info.role == CLP_INOUT;
    if (o->shares >= 0)
        return true;
    if (!guarded_is_whole(&o->memory))
        return failed(t, "%s: memory around the array was written", o->info.name);
    for (int i = 0; i < t->n; i++)
        is_written = is_written || (t->operands[i].shares >= 0 && &t->operands[t->operands[i].shares] == o);
    if (is_written && may_write && !o->arg.strides)
        return true;
    const int64_t size = clp_dtype_bits(o->arg.dtype) / 8;
    for (int64_t e = 0, n = array_elems(&o->arg); is_written && may_write && e < n; e++) {
        int64_t at = o->arg.offset, rest = e;
        for (int d = o->arg.rank - 1; d >= 0; d--) {
            at += rest % o->arg.shape[d] * o->arg.strides[d];
            rest /= o->arg.shape[d];
        }
        memcpy(o->before + at * size, (const char *)o->memory.data + at * size, (size_t)size);
    }
    if (memcmp(o->before, o->memory.data, o->memory.n_bytes))
        return failed(t, is_written ? "%s: something besides its elements was written" : "%s: an input was written",
                      o->info.name);
    return true;
}

static bool has_parts(trial *t, clp_status st)
{
    const char *message = clp_last_error(t->s->ctx);
    if (st == CLP_ERR_INTERNAL || st == CLP_ERR_DEVICE || st == CLP_ERR_UNSUPPORTED)
        return failed(t, "%s: %s", clp_status_name(st), message);
    for (int i = 0; i < t->a->n_parts; i++)
        if (!strstr(message, t->a->parts[i]))
            return failed(t, "expected \"%s\" in: %s", t->a->parts[i], message);
    return true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of text in order of the alphabet. */
static void sort_lines(char *text)
{
    enum { MAX_LINES = 1024 };
    char *lines[MAX_LINES], *all = strdup(text), *rest = all;
    int n = 0;
    if (!all)
        abort();
    for (char *line; n < MAX_LINES && (line = strtok_r(rest, "\n", &rest));)
        lines[n++] = line;
    qsort(lines, (size_t)n, sizeof *lines, by_text);
    text[0] = '\0';
    for (int i = 0; i < n; i++)
        strcat(strcat(text, lines[i]), "\n");
    free(all);
}

/* The order of programs is the interpreter's own, where it goes forward; elsewhere only the lines count. */
static bool check_printed(trial *t)
{
    if (!t->a->printed)
        return true;
    if (!t->s->is_interp || t->s->order != CLP_ORDER_FORWARD) {
        sort_lines(t->s->printed);
        sort_lines(t->a->printed);
    }
    return !strcmp(t->s->printed, t->a->printed) ||
           failed(t, "expected the lines\n%s, got\n%s", t->a->printed, t->s->printed);
}

static bool check_run(trial *t, clp_status st)
{
    const bool should_fail = t->a->outcome == IS_REFUSED || (t->a->outcome == FAULTS && (t->s->is_interp || t->s->is_checked));
    for (int i = 0; i < t->n; i++)
        if (!check_memory(t, &t->operands[i], t->a->outcome != IS_REFUSED))
            return false;
    if (should_fail)
        return st ? has_parts(t, st) : failed(t, "no error, expected one with \"%s\"", t->a->parts[0]);
    if (st)
        return failed(t, "%s: %s", clp_status_name(st), clp_last_error(t->s->ctx));
    for (int i = 0; i < t->n; i++)
        if (t->operands[i].wanted && !check_values(t, &t->operands[i]))
            return false;
    return check_printed(t);
}

/* ---- A run ---- */

typedef enum result { FAIL, PASS, REFUSED } result;

static bool is_same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static void forget_kernel(setting *s)
{
    clp_kernel_free(s->kernel);
    s->kernel = NULL;
    free(s->kernel_text);
    free(s->kernel_params);
    free(s->kernel_batches);
    s->kernel_text = s->kernel_params = s->kernel_batches = NULL;
}

static clp_status batch(setting *s)
{
    char *all = strdup(s->kernel_batches), *rest = all;
    clp_status st = CLP_OK;
    if (!all)
        abort();
    for (char *names; !st && (names = strtok_r(rest, ";", &rest));) {
        clp_kernel *inner = s->kernel;
        st = clp_kernel_batch(inner, names, &s->kernel);
        clp_kernel_free(inner);
    }
    free(all);
    return st;
}

static clp_status make_kernel(clp_context *ctx, const asked *a, clp_kernel **out_kernel)
{
    return a->kernel[0] == '=' ? clp_kernel_standard(ctx, a->kernel + 1, a->params, out_kernel)
                               : clp_kernel_from_text(ctx, a->kernel, NULL, a->params, out_kernel);
}

static clp_status build(setting *s, const asked *a)
{
    if (s->kernel && is_same(s->kernel_text, a->kernel) && is_same(s->kernel_params, a->params) &&
        is_same(s->kernel_batches, a->batches))
        return CLP_OK;
    forget_kernel(s);
    s->kernel_text = strdup(a->kernel);
    s->kernel_params = a->params ? strdup(a->params) : NULL;
    s->kernel_batches = a->batches ? strdup(a->batches) : NULL;
    const clp_status st = make_kernel(s->ctx, a, &s->kernel);
    return st || !a->batches ? st : batch(s);
}

/* The device did not build the kernel: right where it lacks what the kernel needs, and says so. */
static bool is_refused(const setting *s, const asked *a, clp_status status)
{
    clp_context *interp = NULL;
    clp_kernel *reference = NULL;
    const bool is_right = !clp_context_new(&(clp_context_opts){ .device = "interp" }, &interp) &&
                          !make_kernel(interp, a, &reference) && is_rightly_refused(s->ctx, status, reference);
    clp_kernel_free(reference);
    clp_context_free(interp);
    return is_right;
}

static result run_trial(trial *t)
{
    setting *s = t->s;
    const asked *a = t->a;
    const clp_status built = build(s, a);
    if (a->outcome == IS_NO_KERNEL) {
        if (!built)
            failed(t, "the kernel was built, expected an error with \"%s\"", a->parts[0]);
        return built && has_parts(t, built) ? PASS : FAIL;
    }
    if (built) {
        failed(t, "%s: %s", clp_status_name(built), clp_last_error(s->ctx));
        return !s->is_interp && is_refused(s, a, built) ? REFUSED : FAIL;
    }
    if (!make_operands(t))
        return FAIL;
    clp_array args[MAX_ARRAYS];
    clp_dim dims[4];
    for (int i = 0; i < t->n; i++)
        args[i] = t->operands[i].arg;
    for (int i = 0; i < a->n_dims; i++)
        dims[i] = (clp_dim){ a->dim_names[i], a->dims[i].size };
    const clp_run_opts opts = { .order = s->order, .seed = 11, .dims = dims, .n_dims = a->n_dims };
    const int n_args = a->n_arrays < 0 ? t->n : a->n_arrays;
    s->printed[0] = '\0';
    if (s->n_shuffles)
        return find_faults(s->kernel, args, n_args, &opts, a, s->n_shuffles, t->reason, sizeof t->reason) ? PASS : FAIL;
    const clp_status st = clp_run(s->kernel, args, n_args, &opts);
    return check_run(t, st) ? PASS : FAIL;
}

static bool is_among(const setting *s, const asked *a)
{
    char ids[256];
    for (int i = 0; i < s->n_only; i++) {
        const char *stem = strrchr(a->file, '/') + 1;
        if (!strncmp(stem, s->only[i], strlen(s->only[i])) && !strcmp(stem + strlen(s->only[i]), ".plk"))
            return true;
        snprintf(ids, sizeof ids, "%s", a->id);
        for (char *id = strtok(ids, ", "); id; id = strtok(NULL, ", "))
            if (!strcmp(id, s->only[i]))
                return true;
    }
    return s->n_only == 0;
}

static bool run_asked(asked *a, void *user)
{
    setting *s = user;
    const bool is_for_checks = a->finds && !a->n_wants && !a->printed && a->outcome == DELIVERS;
    if (!is_among(s, a) || (is_for_checks && !s->n_shuffles) || (s->n_shuffles && a->outcome == IS_NO_KERNEL))
        return true;
    trial *t = calloc(1, sizeof *t);
    if (!t)
        abort();
    t->s = s;
    t->a = a;
    const result r = run_trial(t);
    s->n_passed += r == PASS;
    s->n_failed += r == FAIL;
    s->n_refused += r == REFUSED;
    if (r != PASS)
        printf("%s: %s:%d: %s: %s: %s\n", r == FAIL ? "failed" : "refused", strrchr(a->file, '/') + 1, a->line, a->id,
               a->about, t->reason);
    for (int i = 0; i < MAX_ARRAYS; i++) {
        array_done(&t->operands[i].from);
        free(t->operands[i].wanted);
        free(t->operands[i].before);
        guarded_free(&t->operands[i].memory);
    }
    free(t);
    return true;
}

static void keep_line(const char *line, void *user)
{
    setting *s = user;
    const size_t had = strlen(s->printed);
    if (had + strlen(line) + 2 < PRINTED_BYTES)
        snprintf(s->printed + had, PRINTED_BYTES - had, "%s\n", line);
}

static bool run_folder(setting *s, const char *folder)
{
    char *names[MAX_FILES], path[1024];
    int n = 0;
    bool ok = true;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) && n < MAX_FILES;)
        if (strstr(e->d_name, ".plk"))
            names[n++] = strdup(e->d_name);
    if (d)
        closedir(d);
    qsort(names, (size_t)n, sizeof *names, by_text);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        ok = cases_read(path, run_asked, s) && ok;
        free(names[i]);
    }
    return ok;
}

static int position(const char *const *words, int n, const char *word)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(words[i], word))
            return i;
    return -1;
}

int main(int argc, char **argv)
{
    static const char *const schedules[] = { "auto", "vector", "simt" };
    static const char *const orders[] = { "forward", "reverse", "shuffle" };
    setvbuf(stdout, NULL, _IOLBF, 0); /* a crash must not take along what was said before it */
    const int schedule = argc < 5 ? -1 : position(schedules, 3, argv[3]);
    int64_t n_shuffles = 0;
    const bool checks = argc >= 5 && !strncmp(argv[4], "check:", 6) && is_number(argv[4] + 6, &n_shuffles) && n_shuffles > 0;
    const bool is_checked = argc >= 5 && !strcmp(argv[4], "checked");
    const int order = argc < 5 ? -1 : checks || is_checked ? 0 : position(orders, 3, argv[4]);
    if (schedule < 0 || order < 0)
        return fail_usage("usage: runner FOLDER DEVICE auto|vector|simt forward|reverse|shuffle|checked|check:SHUFFLES [id or file...]");
    setting s = { .is_interp = !strcmp(argv[2], "interp"), .order = (clp_order)order, .n_shuffles = (int)n_shuffles, .is_checked = is_checked };
    s.only = argv + 5;
    s.n_only = argc - 5;
    s.printed = calloc(1, PRINTED_BYTES);
    const clp_context_opts opts = {
        .device = argv[2], .schedule = (clp_schedule)schedule, .checked = is_checked, .print = keep_line, .print_user = &s
    };
    if (!s.printed || clp_context_new(&opts, &s.ctx)) {
        printf("%s\n", clp_last_error(NULL));
        free(s.printed);
        const char *required = getenv("CLP_REQUIRE_CL");
        return required && *required == '1' ? FAILED : NO_DEVICE;
    }
    const bool ok = run_folder(&s, argv[1]);
    printf("%s, %s, %s: %d passed, %d failed, %d refused\n", clp_context_device(s.ctx), argv[3], argv[4], s.n_passed,
           s.n_failed, s.n_refused);
    forget_kernel(&s);
    free(s.printed);
    clp_context_free(s.ctx);
    return !ok || s.n_failed || s.n_passed == 0 ? FAILED : DONE;
}
