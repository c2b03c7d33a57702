/* racy_runner: the detector of races and the oracle, compared on kernels made from seeds.
 * In: the first seed and how many. Out: a line and the text of each kernel about which the two do not agree; a count. Exit
 * status 1 if there was one. Per element both must say the same; launches may be boxes of the grid, arrays have strides.
 * What is proved for all shapes must hold of these too.
 *
 * usage: racy_runner SEED COUNT [--print] */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "check/prove.h"
#include "racy.h"
#include "support/support.h"
#include "tool.h"

/* ---- The detector ---- */

static verdict detected[MAX_NAMES + 2][MAX_ELEMS];     /* by operand in the IR */

/* The linker puts this in the place of the report's own function (CMakeLists.txt): what is found of each element, before it
 * is merged into findings. */
clp_status __real_clpi_report_add(clp_report *report, const clpi_found *found);
clp_status __wrap_clpi_report_add(clp_report *report, const clpi_found *found);
clp_status __wrap_clpi_report_add(clp_report *report, const clpi_found *found)
{
    const bool is_race = found->kind == CLP_FINDING_RACE || found->kind == CLP_FINDING_ALIAS_RACE;
    if (is_race || found->kind == CLP_FINDING_RACE_SAME_VALUE) {
        verdict *at = &detected[found->operand][found->element[0]];
        const verdict v = is_race ? HARD : SOFT;
        *at = v > *at ? v : *at;
    }
    return __real_clpi_report_add(report, found);
}

typedef struct arrays {
    clp_array items[MAX_NAMES + 2];
    int64_t   shapes[MAX_NAMES + 2], strides[MAX_NAMES + 2];
    int64_t   memory[MAX_STORAGE][2 * MAX_ELEMS];
    int32_t   table[TABLE], sink[MAX_PROGRAMS];
    int       n;
} arrays;

static void place_array(arrays *a, clp_dtype dtype, int n_elems, int stride, void *data)
{
    a->shapes[a->n] = n_elems;
    a->strides[a->n] = stride;
    a->items[a->n] = (clp_array){ .dtype = dtype, .rank = 1, .shape = &a->shapes[a->n], .data = data,
                                  .strides = stride == 1 ? NULL : &a->strides[a->n], .offset = stride < 0 ? n_elems - 1 : 0 };
    a->n++;
}

static void put_element(const clp_array *a, int64_t i, int value)
{
    const int64_t at = a->offset + i * (a->strides ? a->strides[0] : 1);
    const size_t size = (size_t)clp_dtype_bits(a->dtype) / 8;
    clp_array plain = *a;
    plain.strides = NULL;
    plain.offset = 0;
    if (a->dtype == CLP_U4)
        array_set(&plain, at, value);
    else
        memcpy((char *)a->data + (size_t)at * size, &(int64_t){ value }, size);
}

/* In the order of the operands: the table, the names, the sink. */
static void place_arrays(arrays *a, const racy *r)
{
    int n_programs = 1;
    *a = (arrays){ .n = 0 };
    for (int k = 0; k < r->n_axes; k++)
        n_programs *= r->size[k];
    place_array(a, CLP_I32, TABLE, 1, a->table);
    for (int k = 0; k < TABLE; k++)
        a->table[k] = r->table[k];
    for (int k = 0; k < r->n_names; k++) {
        const int s = r->names[k].storage;
        place_array(a, r->dtype[s], r->n_elems[s], r->stride[s], a->memory[s]);
        for (int e = 0; e < r->n_elems[s]; e++)
            put_element(&a->items[a->n - 1], e, r->start[s][e]);
    }
    place_array(a, CLP_I32, n_programs, 1, a->sink);
}

/* ---- The two, compared ---- */

typedef struct setting {
    clp_context *ctx;
    racy         kernel;
    oracle       oracle;
    event       *events;
    arrays       arrays;
    bool         prints;
    int          n_failed, n[HARD + 1];  /* elements of each verdict */
    int          n_proved, n_found, n_undecided;
    char         why[256];
} setting;

static bool fails(setting *s, const char *format, ...) CLP_PRINTF(2, 3);
static bool fails(setting *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->why, sizeof s->why, format, args);
    va_end(args);
    return false;
}

/* What was detected of a storage is told of its names, which the table stands before. */
static bool compare(setting *s)
{
    static const char *const words[] = { "no race", "a race of equal values", "a race" };
    const racy *r = &s->kernel;
    for (int k = 0; k < r->n_names; k++)
        for (int e = 0; r->names[k].is_input && e < r->n_elems[r->names[k].storage]; e++)
            if (detected[k + 1][e])
                return fails(s, "%s[%d]: what is found is told of an input", r->names[k].name, e);
    for (int k = 0; k < r->n_names; k++)
        for (int e = 0; !r->names[k].is_input && e < r->n_elems[r->names[k].storage]; e++) {
            const verdict want = s->oracle.verdict[r->names[k].storage][e], got = detected[k + 1][e];
            s->n[want]++;
            if (got != want)
                return fails(s, "%s[%d]: the detector says %s, the oracle %s", r->names[k].name, e, words[got], words[want]);
        }
    return true;
}

/* A proof holds for every launch, so for this one too; all sizes are constants here, so what a proof finds is here as well,
 * if all of the grid is. */
static bool compare_proof(setting *s, const clp_kernel *kernel, const clpi_claim *p)
{
    const racy *r = &s->kernel;
    const int storage = p->operand > r->n_names ? -1 : r->names[p->operand - 1].storage;
    bool races = false;
    for (int e = 0; storage >= 0 && e < r->n_elems[storage]; e++)
        races = races || s->oracle.verdict[storage][e];
    s->n_proved += p->verdict == CLPI_PROVED;
    s->n_found += p->verdict == CLPI_FOUND;
    s->n_undecided += p->verdict == CLPI_UNDECIDED;
    if (p->verdict == CLPI_PROVED && races)
        return fails(s, "%s: proved to be without races, and there is one", kernel->ir->operands[p->operand].name);
    if (p->verdict == CLPI_FOUND && !races && !r->has_box)
        return fails(s, "%s: a race is found for a launch, and there is none", kernel->ir->operands[p->operand].name);
    return true;
}

static bool compare_proofs(setting *s, const clp_kernel *kernel)
{
    clpi_arena arena;
    clpi_proofs *proofs;
    bool ok = true;
    clpi_arena_init(&arena, &s->ctx->env);
    if (clpi_prove(&s->ctx->env, &arena, kernel->ir, kernel->plan, &proofs))
        ok = fails(s, "%s", clp_last_error(s->ctx));
    for (int i = 0; ok && i < proofs->n; i++)
        if (proofs->claims[i].kind == CLPI_CLAIM_NO_RACE)
            ok = compare_proof(s, kernel, &proofs->claims[i]);
    clpi_arena_done(&arena);
    return ok;
}

static bool try_kernel(setting *s, uint64_t seed)
{
    clp_kernel *kernel = NULL;
    clp_report *report = NULL;
    racy_make(&s->kernel, seed);
    oracle_ask(&s->oracle, &s->kernel, s->events);
    place_arrays(&s->arrays, &s->kernel);
    memset(detected, 0, sizeof detected);
    bool ok = true;
    const clp_run_opts box = { .grid_start = s->kernel.box_start, .grid_count = s->kernel.box_count };
    const clp_check_opts opts = { .checks = CLP_CHECK_RACES, .run = s->kernel.has_box ? &box : NULL };
    if (clp_kernel_from_text(s->ctx, s->kernel.text, NULL, NULL, &kernel) ||
        clp_check(kernel, s->arrays.items, s->arrays.n, &opts, &report))
        ok = fails(s, "%s", clp_last_error(s->ctx));
    clp_report_free(report);
    ok = ok && compare(s) && compare_proofs(s, kernel);
    clp_kernel_free(kernel);
    return ok;
}

int main(int argc, char **argv)
{
    int64_t seed, count;
    if (argc < 3 || !is_number(argv[1], &seed) || !is_number(argv[2], &count))
        return fail_usage("usage: racy_runner SEED COUNT [--print]");
    setting *s = calloc(1, sizeof *s);
    event *events = calloc(MAX_EVENTS, sizeof *events);
    if (!s || !events || clp_context_new(&(clp_context_opts){ .device = "interp" }, &s->ctx))
        abort();
    s->events = events;
    s->prints = argc > 3 && !strcmp(argv[3], "--print");
    for (int64_t i = 0; i < count; i++) {
        const bool ok = try_kernel(s, (uint64_t)(seed + i));
        s->n_failed += !ok;
        if (!ok)
            fprintf(stderr, "seed %" PRId64 ": %s\n%s\n", seed + i, s->why, s->kernel.text);
        else if (s->prints)
            puts(s->kernel.text);
    }
    printf("%" PRId64 " kernels, %d failed; elements: %d without a race, %d soft, %d hard; storages: %d proved, %d found, %d undecided\n",
           count, s->n_failed, s->n[NONE], s->n[SOFT], s->n[HARD], s->n_proved, s->n_found, s->n_undecided);
    const bool ok = !s->n_failed && s->n[SOFT] && s->n[HARD];
    clp_context_free(s->ctx);
    free(events);
    free(s);
    return ok ? DONE : FAILED;
}
