/* Races of kernels that follow tables, against what the tables say: every pair of accesses is looked at, one with one. */
#include "checking.h"

static const clp_check_opts races_alone = { .checks = CLP_CHECK_RACES };

/* ---- Races by tables ----
 * Program p does steps; step s reads, writes or atomically updates the elements at[p][s][..], of lanes that are not hidden. */

enum { A = 3, B = 2, T = 2, P = A * B * T, STEPS = 3, LANES = 4, N = 10, READ = 0, WRITE = 1, UPDATE = 2, OTHER = 3 };

typedef struct tables {
    int32_t kind[P][STEPS], at[P][STEPS][LANES], value[P][STEPS][LANES];
    uint8_t mask[P][STEPS][LANES];
} tables;

/* An array of T: what hidden lanes read, what a step stores, what it does atomically. */
#define WALK(T, other, stored, atomic)                                                                                 \
    "kernel walk<S = 3, L = 4>(in kind: i32[P, S], in at: i32[P, S, L], in value: i32[P, S, L], in mask: bool[P, S, L],\n" \
    "    inout o: " T "[N], inout sink: i32[P])\n"                                                                     \
    "grid (a = 3, b = 2, t = 2 arbitrary)\n"                                                                           \
    "{\n"                                                                                                              \
    "    let p = (a * 2 + b) * 2 + t;\n"                                                                               \
    "    for (s in 0 .. S) {\n"                                                                                        \
    "        let k = kind[p, s];\n"                                                                                    \
    "        let where_ = at[p, s, :];\n"                                                                              \
    "        let m = mask[p, s, :];\n"                                                                                 \
    "        if (k == 0) { sink[p] = sink[p] + sum(cast(load(o[where_], mask = m, other = " other "), i32)); }\n"      \
    "        if (k == 1) { store(o[where_], " stored ", mask = m); }\n"                                                \
    "        " atomic "\n"                                                                                             \
    "    }\n"                                                                                                          \
    "}\n"
static const char walk_i32[] = WALK("i32", "0", "cast(value[p, s, :], i32)", "if (k == 2) { atomic_add(o[where_], value[p, s, :], mask = m); }");
static const char walk_f64[] = WALK("f64", "0", "cast(value[p, s, :], f64)", "");
static const char walk_u8[] = WALK("u8", "0", "cast(value[p, s, :], u8)", "");
static const char walk_bool[] = WALK("bool", "false", "value[p, s, :] > 0", "");
static const char walk_i4[] = WALK("i4", "0", "cast(value[p, s, :], i8)", "");

/* What the tables say of one element. */
typedef struct access { int program, kind; bool changes; } access;
typedef struct element { access list[P * STEPS * LANES]; int n; } element;

static int sequence_of(int program)
{
    return program / T;
}

/* 0: no conflict. Two writes over a write and a read over a write and an atomic over an atomic and a read, and any that a
 * changing write makes over all others.                                                                                 */
static int badness(const access *x, const access *y)
{
    if (sequence_of(x->program) == sequence_of(y->program))
        return 0;
    if (x->kind == WRITE && y->kind == WRITE)
        return y->changes ? 7 : 3;
    if (x->kind == WRITE || y->kind == WRITE) {
        const access *w = x->kind == WRITE ? x : y, *other = x->kind == WRITE ? y : x;
        return (other->kind == READ ? 2 : 1) + (w->changes ? 4 : 0);
    }
    return x->kind == y->kind ? 0 : 4;
}

/* What is to be found of one element: the badness of its worst pair, and the kinds and programs of that. */
typedef struct said { int badness, kind[2], program[2]; unsigned axes; } said;

static said said_of(const element *e)
{
    said s = { 0 };
    for (int j = 0; j < e->n; j++)
        for (int i = 0; i < j; i++) {
            int bad = badness(&e->list[i], &e->list[j]);
            s.badness = bad > s.badness ? bad : s.badness;
            if (bad) {
                int x = sequence_of(e->list[i].program), y = sequence_of(e->list[j].program);
                s.axes |= (x / B != y / B ? 1u : 0) | (x % B != y % B ? 2u : 0);
            }
        }
    /* The first access that is in so bad a pair with an earlier one; that one: the first program of its kind. */
    for (int j = 0; j < e->n && s.badness; j++)
        for (int i = 0; i < j; i++)
            if (badness(&e->list[i], &e->list[j]) == s.badness) {
                int first = 0;
                while (e->list[first].kind != e->list[i].kind)
                    first++;
                s.kind[0] = e->list[i].kind;
                s.kind[1] = e->list[j].kind;
                s.program[0] = e->list[first].program;
                s.program[1] = e->list[j].program;
                return s;
            }
    return s;
}

typedef struct group { int kind[2]; bool is_hard; int64_t n, first, end; int program[2]; unsigned axes; } group;

static int group_elements(const element *elements, group *out)
{
    int n = 0;
    for (int e = 0; e < N; e++) {
        said s = said_of(&elements[e]);
        int g = 0;
        if (!s.badness)
            continue;
        while (g < n && (out[g].kind[0] != s.kind[0] || out[g].kind[1] != s.kind[1] || out[g].is_hard != (s.badness >= 4)))
            g++;
        if (g == n)
            out[n++] = (group){ { s.kind[0], s.kind[1] }, s.badness >= 4, 0, e, e, { s.program[0], s.program[1] }, 0 };
        out[g].n++;
        out[g].end = e + 1;
        out[g].axes |= s.axes;
    }
    return n;
}

static bool is_program(const int64_t *id, int program)
{
    return id[0] == program / T / B && id[1] == program / T % B && id[2] == program % T;
}

/* Which of the accesses stands on this line of the kernel. */
static int kind_at(clp_position p)
{
    enum { LINE_READ = 10 };
    return (int)p.line - LINE_READ;
}

static void expect_groups(const clp_report *report, const group *groups, int n, const char *what)
{
    cr_assert_eq(clp_report_n_findings(report), n, "%s: expected %d findings\n%s", what, n, clp_report_text(report));
    for (int i = 0; i < n; i++) {
        const clp_finding *f = clp_report_finding(report, i);
        int g = 0;
        while (g < n && (groups[g].kind[0] != kind_at(f->accesses[0]) || groups[g].kind[1] != kind_at(f->accesses[1]) ||
                         groups[g].is_hard != (f->kind == CLP_FINDING_RACE)))
            g++;
        cr_assert_lt(g, n, "%s: not in the tables:\n%s", what, f->text);
        cr_expect(f->elements == groups[g].n && f->first_element[0] == groups[g].first && f->box_start[0] == groups[g].first &&
                      f->box_end[0] == groups[g].end,
                  "%s: expected %lld elements %lld .. %lld:\n%s", what, (long long)groups[g].n, (long long)groups[g].first,
                  (long long)groups[g].end, f->text);
        cr_expect(is_program(f->programs[0], groups[g].program[0]) && is_program(f->programs[1], groups[g].program[1]),
                  "%s: expected programs %d, %d:\n%s", what, groups[g].program[0], groups[g].program[1], f->text);
        const char *axis = groups[g].axes == 1 ? "a" : groups[g].axes == 2 ? "b" : NULL;
        cr_expect(axis ? f->axis && !strcmp(f->axis, axis) : !f->axis, "%s: expected axis %s:\n%s", what, axis ? axis : "none", f->text);
    }
}

typedef struct walker { const char *name, *text; clp_dtype dtype; bool has_atomics; } walker;
static const walker walkers[] = {
    { "i32", walk_i32, CLP_I32, true }, { "f64", walk_f64, CLP_F64, false }, { "u8", walk_u8, CLP_U8, false },
    { "bool", walk_bool, CLP_BOOL, false }, { "i4", walk_i4, CLP_I4, false },
};

/* Up to `spread` elements, of which each sequence mostly keeps to its own when `wild` is small; few accesses when `idle` is
 * large, of one kind mostly when `only` is one.                                                                        */
static void make_tables(tables *t, const walker *w, uint64_t *random)
{
    const uint64_t spread = 1 + random_next(random) % N, wild = (uint64_t[]){ 0, 1, 4, 64 }[random_next(random) % 4];
    const uint64_t idle = random_next(random) % 4;
    const int only = (int)(random_next(random) % 4);
    for (int p = 0; p < P; p++)
        for (int s = 0; s < STEPS; s++) {
            int kind = only == WRITE || random_next(random) % 8 == 0 ? (int)(random_next(random) % 3) : only;
            kind = random_next(random) % 4 < idle ? OTHER : kind;
            t->kind[p][s] = kind == UPDATE && !w->has_atomics ? READ : kind;
            for (int l = 0; l < LANES; l++) {
                uint64_t own = (uint64_t)sequence_of(p) % spread;
                t->at[p][s][l] = (int32_t)(random_next(random) % 64 < wild ? random_next(random) % spread : own);
                t->value[p][s][l] = (int32_t)(random_next(random) % 2);
                t->mask[p][s][l] = random_next(random) % 3 != 0;
            }
        }
}

/* The run by the tables. Elements hold 0 at first. */
static void run_tables(const tables *t, element *elements)
{
    int64_t o[N] = { 0 };
    memset(elements, 0, N * sizeof *elements);
    for (int p = 0; p < P; p++)
        for (int s = 0; s < STEPS; s++)
            for (int l = 0; l < LANES && t->kind[p][s] != OTHER; l++) {
                int at = t->at[p][s][l];
                element *e = &elements[at];
                if (!t->mask[p][s][l])
                    continue;
                e->list[e->n++] = (access){ p, t->kind[p][s], t->kind[p][s] == WRITE && o[at] != t->value[p][s][l] };
                if (t->kind[p][s] == WRITE)
                    o[at] = t->value[p][s][l];
                if (t->kind[p][s] == UPDATE)
                    o[at] += t->value[p][s][l];
            }
}

Test(check_tables, races_are_what_the_tables_say)
{
    enum { ROUNDS = 300 };
    clp_context *ctx = interp();
    element *elements = malloc(N * sizeof *elements);
    cr_assert_not_null(elements);
    int n_racy = 0, n_clean = 0;
    for (size_t i = 0; i < sizeof walkers / sizeof *walkers; i++) {
        const walker *w = &walkers[i];
        clp_kernel *kernel;
        OK(ctx, clp_kernel_from_text(ctx, w->text, NULL, NULL, &kernel));
        for (uint64_t round = 0; round < ROUNDS; round++) {
            tables t;
            char what[64], o[8 * N] = { 0 };
            int32_t sink[P] = { 0 };
            uint64_t random = 1000 * i + round;
            snprintf(what, sizeof what, "%s, round %d", w->name, (int)round);
            make_tables(&t, w, &random);
            run_tables(&t, elements);
            group groups[N];
            int n = group_elements(elements, groups);
            clp_report *report = check_kernel(ctx, kernel, (clp_array[]){ ARRAY(CLP_I32, t.kind, P, STEPS),
                ARRAY(CLP_I32, t.at, P, STEPS, LANES), ARRAY(CLP_I32, t.value, P, STEPS, LANES),
                ARRAY(CLP_BOOL, t.mask, P, STEPS, LANES), ARRAY(w->dtype, o, N), ARRAY(CLP_I32, sink, P) }, 6, &races_alone);
            expect_groups(report, groups, n, what);
            n_racy += n > 0;
            n_clean += n == 0;
            clp_report_free(report);
        }
        clp_kernel_free(kernel);
    }
    cr_expect(n_racy > ROUNDS && n_clean > ROUNDS / 4, "%d racy, %d clean: the tables are not varied", n_racy, n_clean);
    free(elements);
    clp_context_free(ctx);
}
