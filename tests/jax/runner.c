/* runner: the kernels that JAX Pallas ran, run here, against its outputs.
 * In: folders <case> with case.txt, kernel.plk and NumPy files under in and out; a device, a schedule and an order.
 * Out: one line for each case that fails, or that the device rightly refuses, with the reason, and a count; exit status 1 if
 * one failed, 77 if there is no device. On a device the arrays lie in buffers, between guard words that are the device's memory
 * too. Decides equality: equal, both NaN, or |got - want| <= tol * (1 + |want|) with the case's
 * tol; the sign of a zero is free. With "check:3" in place of an order the cases are checked, with that many shuffled
 * orders, and nothing may be found; with "checked" the device runs checked code, and finds nothing.
 *
 * usage: runner FOLDER DEVICE SCHEDULE ORDER [case...] */
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "run/run.h"
#include "support/refusal.h"
#include "support/support.h"
#include "tool.h"

enum { MAX_OPERANDS = 32, MAX_CASES = 512, NO_DEVICE = 77 };

typedef struct setting {
    const char *folder;
    clp_context *ctx;
    clp_context *interp; /* what else builds a kernel that the device refuses; NULL where ctx is the interpreter */
    clp_order order;
    int64_t n_shuffles; /* cases are checked; 0: they are run */
    int n_passed, n_failed, n_refused;
} setting;

typedef struct one_case {
    const char *name;
    char facts[8192]; /* case.txt */
    clp_kernel *kernel;
    int n;
    tool_array files[MAX_OPERANDS]; /* what the operand starts from */
    guarded memory[MAX_OPERANDS];   /* its memory, after a device's run a copy of that; none where it shares another's */
    clp_buffer *buffers[MAX_OPERANDS];   /* on a device: the memory and its guards there */
    clp_array args[MAX_OPERANDS];
    int64_t shapes[MAX_OPERANDS][CLP_MAX_RANK];
} one_case;

static void path_of(char *out, size_t n_bytes, const setting *s, const one_case *c, const char *folder,
                    const char *name, const char *ending)
{
    snprintf(out, n_bytes, "%s/%s/%s%s%s", s->folder, c->name, folder, name, ending);
}

/* The value of a key of case.txt into out; "" when it is not there. */
static void fact(const one_case *c, const char *key, char *out, size_t n_bytes)
{
    const size_t n = strlen(key);
    out[0] = '\0';
    for (const char *line = c->facts; line && *line;) {
        const char *end = strchr(line, '\n');
        if (!strncmp(line, key, n) && line[n] == '=')
            snprintf(out, n_bytes, "%.*s", (int)(end ? end - line - (long)n - 1 : (long)strlen(line)), line + n + 1);
        line = end ? end + 1 : NULL;
    }
}

static bool read_facts(const setting *s, one_case *c)
{
    char path[1024];
    path_of(path, sizeof path, s, c, "case", "", ".txt");
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    c->facts[fread(c->facts, 1, sizeof c->facts - 1, f)] = '\0';
    fclose(f);
    return true;
}

/* ---- Arrays ---- */

static bool exists(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f)
        fclose(f);
    return f != NULL;
}

/* "eps=1e-05, shift=-3": the value of name. */
static bool scalar_value(const one_case *c, const char *name, char *out, size_t n_bytes)
{
    char all[1024];
    const size_t n = strlen(name);
    fact(c, "scalars", all, sizeof all);
    for (char *item = strtok(all, ", "); item; item = strtok(NULL, ", "))
        if (!strncmp(item, name, n) && item[n] == '=') {
            snprintf(out, n_bytes, "%s", item + n + 1);
            return true;
        }
    return false;
}

static int make_scalar(one_case *c, int i, const clp_operand_info *info)
{
    char text[128];
    if (!scalar_value(c, info->name, text, sizeof text))
        return fail("%s: %s: case.txt has no value for it", c->name, info->name);
    if (!array_new(&c->files[i], info->dtype, 0, NULL))
        return fail("out of memory");
    array_set(&c->files[i].array, 0, strtod(text, NULL));
    return DONE;
}

/* What operand i starts from: its input file, or else an array as large as its output, of no particular content. */
static int read_operand(const setting *s, one_case *c, int i)
{
    const clp_operand_info info = clp_kernel_operand(c->kernel, i);
    char path[1024];
    if (info.role == CLP_SCALAR)
        return make_scalar(c, i, &info);
    path_of(path, sizeof path, s, c, "in/", info.name, ".npy");
    const bool has_input = exists(path);
    if (!has_input)
        path_of(path, sizeof path, s, c, "out/", info.name, ".npy");
    int status = array_read(&c->files[i], info.name, info.dtype, info.rank, path);
    if (!status && !has_input)
        memset(c->files[i].array.data, 0xa5, array_bytes(&c->files[i].array));
    return status;
}

/* Puts operand i between guards, or on the storage of the operand that it is an alias of. */
static void place_operand(one_case *c, int i)
{
    const clpi_operand *x = &c->kernel->ir->operands[c->kernel->operands[i]];
    const clp_array *from = &c->files[i].array;
    memcpy(c->shapes[i], from->shape, (size_t)from->rank * sizeof(int64_t));
    c->args[i] = (clp_array){ .dtype = from->dtype, .rank = from->rank, .shape = c->shapes[i] };
    for (int k = 0; k < i && x->alias >= 0; k++)
        if (c->kernel->operands[k] == x->alias)
            c->args[i].data = c->args[k].data;
    if (c->args[i].data)
        return;
    c->memory[i] = guarded_new(array_bytes(from));
    memcpy(c->memory[i].data, from->data, array_bytes(from));
    c->args[i].data = c->memory[i].data;
}

/* What clp_run gets: the arrays themselves, or on a device buffers that hold them and their guards. Scalars stay the host's. */
static clp_status send(const setting *s, one_case *c, clp_array *out_args)
{
    clp_status st = CLP_OK;
    for (int i = 0; i < c->n && !st; i++) {
        out_args[i] = c->args[i];
        if (!s->interp || clp_kernel_operand(c->kernel, i).role == CLP_SCALAR)
            continue;
        int owner = i;
        while (!c->memory[owner].base || c->memory[owner].data != c->args[i].data)
            owner--;
        const guarded *g = &c->memory[owner];
        if (owner == i && !(st = clp_buffer_new(s->ctx, guarded_bytes(g), &c->buffers[i])))
            st = clp_buffer_write(c->buffers[i], 0, g->base, guarded_bytes(g));
        out_args[i].data = NULL;
        out_args[i].buffer = c->buffers[owner];
        out_args[i].offset = ((unsigned char *)g->data - g->base) * 8 / clp_dtype_bits(c->args[i].dtype);
    }
    return st;
}

static clp_status fetch(one_case *c)
{
    clp_status st = CLP_OK;
    for (int i = 0; i < c->n && !st; i++)
        if (c->buffers[i])
            st = clp_buffer_read(c->buffers[i], 0, c->memory[i].base, guarded_bytes(&c->memory[i]));
    return st;
}

/* ---- Checking ---- */

static bool agree(const clp_array *got, const clp_array *want, int64_t i, double tol)
{
    if (array_bits(got, i) == array_bits(want, i))
        return true;
    const bool is_wide = !clpi_is_float(got->dtype) && clp_dtype_bits(got->dtype) == 64;
    return !is_wide && near(array_number(got, i), array_number(want, i), tol);
}

static int check_output(const setting *s, const one_case *c, int i, double tol)
{
    const clp_operand_info info = clp_kernel_operand(c->kernel, i);
    char path[1024];
    path_of(path, sizeof path, s, c, "out/", info.name, ".npy");
    if (info.role != CLP_OUT && info.role != CLP_INOUT)
        return DONE;
    tool_array want = { 0 };
    int status = array_read(&want, info.name, info.dtype, info.rank, path);
    int64_t n_wrong = 0, first = -1;
    const int64_t n = status ? 0 : array_elems(&want.array);
    for (int64_t e = 0; e < n; e++)
        if (!agree(&c->args[i], &want.array, e, tol)) {
            first = n_wrong++ ? first : e;
        }
    if (n_wrong)
        status = fail(
            "%s: %s: %" PRId64 " of %" PRId64 " elements differ; element %" PRId64 ": expected %.9g, got %.9g", c->name,
            info.name, n_wrong, n, first, array_number(&want.array, first), array_number(&c->args[i], first));
    array_done(&want);
    return status;
}

static int check_all(const setting *s, const one_case *c)
{
    char tol[64];
    int status = DONE;
    fact(c, "tol", tol, sizeof tol);
    for (int i = 0; i < c->n; i++) {
        if (c->memory[i].base && !guarded_is_whole(&c->memory[i]))
            status =
                fail("%s: %s: memory around the array was written", c->name, clp_kernel_operand(c->kernel, i).name);
        const clp_role role = clp_kernel_operand(c->kernel, i).role;
        bool is_shared = false;
        for (int k = 0; k < c->n; k++)
            is_shared = is_shared || (k != i && c->args[k].data == c->args[i].data);
        if ((role == CLP_IN || role == CLP_PREFETCH) && !is_shared && c->memory[i].n_bytes &&
            memcmp(c->args[i].data, c->files[i].array.data, c->memory[i].n_bytes))
            status = fail("%s: %s: an input was written", c->name, clp_kernel_operand(c->kernel, i).name);
        if (check_output(s, c, i, strtod(tol, NULL)))
            status = FAILED;
    }
    return status;
}

/* ---- A case ---- */

/* The device did not build the kernel: right where it lacks what the kernel needs, and says so. */
static int refused(setting *s, const one_case *c, clp_status status, const char *path)
{
    clp_kernel *reference = NULL;
    const bool is_right = s->interp && !clp_kernel_from_file(s->interp, path, NULL, NULL, &reference) &&
                          is_rightly_refused(s->ctx, status, reference);
    clp_kernel_free(reference);
    if (!is_right)
        return fail_library(s->ctx);
    printf("refused: %s: %s\n", c->name, clp_last_error(s->ctx));
    s->n_refused++;
    return DONE;
}

static int run_case(setting *s, one_case *c)
{
    char path[1024];
    if (!read_facts(s, c))
        return fail("%s: case.txt cannot be read", c->name);
    path_of(path, sizeof path, s, c, "kernel", "", ".plk");
    clp_status st = clp_kernel_from_file(s->ctx, path, NULL, NULL, &c->kernel);
    if (st)
        return refused(s, c, st, path);
    c->n = clp_kernel_n_operands(c->kernel);
    if (c->n > MAX_OPERANDS)
        return fail("%s: too many operands", c->name);
    for (int i = 0; i < c->n; i++)
        if (read_operand(s, c, i))
            return FAILED;
    for (int i = 0; i < c->n; i++)
        place_operand(c, i);
    if (s->n_shuffles) {
        char why[4096];
        if (!is_sound(c->kernel, c->args, c->n, NULL, (int)s->n_shuffles, false, why, sizeof why))
            return fail("%s: nothing should be found, but\n%s", c->name, why);
        s->n_passed++;
        return DONE;
    }
    clp_array args[MAX_OPERANDS];
    const clp_run_opts opts = { .order = s->order, .seed = 11 };
    st = send(s, c, args);
    if (!st)
        st = clp_run(c->kernel, args, c->n, &opts);
    if (!st)
        st = fetch(c);
    if (st)
        return fail("%s: %s: %s", c->name, clp_status_name(st), clp_last_error(s->ctx));
    const int status = check_all(s, c);
    s->n_passed += status == DONE;
    return status;
}

static void run_and_clean(setting *s, const char *name)
{
    one_case *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->name = name;
    if (run_case(s, c)) {
        s->n_failed++;
        fprintf(stderr, "failed: %s\n", name);
    }
    for (int i = 0; i < MAX_OPERANDS; i++) {
        array_done(&c->files[i]);
        clp_buffer_free(c->buffers[i]);
        if (c->memory[i].base)
            guarded_free(&c->memory[i]);
    }
    clp_kernel_free(c->kernel);
    free(c);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_cases(const char *folder, char **names)
{
    int n = 0;
    char path[1024];
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) && n < MAX_CASES;) {
        snprintf(path, sizeof path, "%s/%s/case.txt", folder, e->d_name);
        if (e->d_name[0] != '.' && exists(path))
            names[n++] = strdup(e->d_name);
    }
    if (d)
        closedir(d);
    qsort(names, (size_t)n, sizeof *names, by_name);
    return n;
}

static bool parse_setting(setting *s, char **argv, clp_context_opts *opts)
{
    static const char *const schedules[] = { "auto", "vector", "simt" };
    static const char *const orders[] = { "forward", "reverse", "shuffle" };
    int found = 0;
    s->folder = argv[1];
    for (int i = 0; i < 3; i++) {
        if (!strcmp(argv[3], schedules[i])) {
            opts->schedule = (clp_schedule)i;
            found |= 1;
        }
        if (!strcmp(argv[4], orders[i])) {
            s->order = (clp_order)i;
            found |= 2;
        }
    }
    if (!strncmp(argv[4], "check:", 6) && is_number(argv[4] + 6, &s->n_shuffles) && s->n_shuffles > 0)
        found |= 2;
    opts->device = argv[2];
    opts->checked = !strcmp(argv[4], "checked");
    return found == 3 || (found == 1 && opts->checked);
}

int main(int argc, char **argv)
{
    setting s = { 0 };
    clp_context_opts opts = { 0 };
    if (argc < 5 || !parse_setting(&s, argv, &opts))
        return fail_usage("usage: runner FOLDER DEVICE auto|vector|simt forward|reverse|shuffle|checked|check:SHUFFLES [case...]");
    if (clp_context_new(&opts, &s.ctx)) {
        printf("%s\n", clp_last_error(NULL));
        const char *required = getenv("CLP_REQUIRE_CL");
        return required && *required == '1' ? FAILED : NO_DEVICE;
    }
    if (strcmp(argv[2], "interp") != 0 && clp_context_new(&(clp_context_opts){ .device = "interp" }, &s.interp))
        return fail_library(NULL);
    char *names[MAX_CASES];
    const int n = list_cases(s.folder, names);
    for (int i = 0; i < n; i++) {
        bool wanted = argc == 5;
        for (int k = 5; k < argc; k++)
            wanted = wanted || !strcmp(argv[k], names[i]);
        if (wanted)
            run_and_clean(&s, names[i]);
        free(names[i]);
    }
    printf("%s, %s, %s: %d passed, %d failed, %d refused\n", clp_context_device(s.ctx), argv[3], argv[4], s.n_passed,
           s.n_failed, s.n_refused);
    clp_context_free(s.interp);
    clp_context_free(s.ctx);
    return s.n_failed || s.n_passed == 0 ? FAILED : DONE;
}
