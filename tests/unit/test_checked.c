/* checked: a device's checked code finds what the interpreter finds, and says it in the same words. */
#include <stdio.h>
#include <stdlib.h>

#include "support/support.h"

enum { MAX_ARRAYS = 5, MAX_ELEMS = 4096, TEXT_BYTES = 4096 };

/* content: elements count up from 0 modulo the first number (0: are all 0), but for those named behind it: element, value, ... */
typedef struct given {
    int64_t shape[2];
    int     rank;
    int     content[9];
} given;

typedef struct row {
    const char *what, *text;
    int         n_faults;          /* checks that fail, on a device that goes on */
    given       arrays[MAX_ARRAYS];
} row;

#define VECTOR(n, ...) { { n }, 1, { __VA_ARGS__ } }
#define MATRIX(m, n, ...) { { m, n }, 2, { __VA_ARGS__ } }
#define GATHER "kernel k(in q: i32[N] block [4] at (i), in x: i32[M], out o: i32[N] block [4] at (i)) grid (i = cdiv(N, 4))\n"

static const row rows[] = {
    { "nothing is wrong", GATHER "{ assert(i >= 0, \"so it is\"); o[...] = x[q[...]]; }", 0,
      { VECTOR(16, 8), VECTOR(8, 8), VECTOR(16, 0) } },
    { "a gathered index past the end", GATHER "{ o[...] = x[q[...]]; }", 1,
      { VECTOR(16, 8, 10, 8), VECTOR(8, 8), VECTOR(16, 0) } },
    { "one below 0", GATHER "{ o[...] = x[q[...]]; }", 1, { VECTOR(16, 8, 3, -1), VECTOR(8, 8), VECTOR(16, 0) } },
    { "several lanes of a program are one fault, and the first is named", GATHER "{ o[...] = x[q[...]]; }", 1,
      { VECTOR(16, 8, 6, 99, 7, 98), VECTOR(8, 8), VECTOR(16, 0) } },
    { "the first of several programs is named", GATHER "{ o[...] = x[q[...]]; }", 2,
      { VECTOR(40, 8, 37, 99, 21, -3), VECTOR(8, 8), VECTOR(40, 0) } },
    { "far more programs than groups", GATHER "{ o[...] = x[q[...]]; }", 4,
      { VECTOR(4096, 8, 4090, 99, 3000, 98, 4095, 97, 2999, 96), VECTOR(8, 8), VECTOR(4096, 0) } },
    { "what the block has past its array is an index as well", GATHER "{ o[...] = x[q[...]]; }", 1,
      { VECTOR(15, 8), VECTOR(8, 8), VECTOR(15, 0) } },
    { "a mask hides every index out of range", GATHER "{ let v = q[...]; o[...] = load(x[v], mask = v < 8); }", 0,
      { VECTOR(16, 8, 10, 8, 11, 2147483647), VECTOR(8, 8), VECTOR(16, 0) } },
    { "a mask hides some", GATHER "{ let v = q[...]; o[...] = load(x[v], mask = v < 9); }", 1,
      { VECTOR(16, 8, 8, 99, 11, 8), VECTOR(8, 8), VECTOR(16, 0) } },
    { "of a value that is cut down to lanes in range", GATHER "{ o[0:2] = x[q[...]][0:2]; }", 1,
      { VECTOR(16, 8, 11, 8), VECTOR(8, 8), VECTOR(16, 0) } },
    { "of a value that only a branch uses, which is not taken", GATHER "{ let v = x[q[...]]; if (i == 99) { o[...] = v; } }", 1,
      { VECTOR(16, 8, 11, 8), VECTOR(8, 8), VECTOR(16, 0) } },
    { "in a branch that is not taken", GATHER "{ if (i != 2) { o[...] = x[q[...]]; } }", 0,
      { VECTOR(16, 8, 11, 8), VECTOR(8, 8), VECTOR(16, 0) } },
    { "two checks of one program fail, the first one is named", GATHER "{ assert(i != 2, \"not two\"); o[...] = x[q[...]]; }", 2,
      { VECTOR(16, 8, 11, 8), VECTOR(8, 8), VECTOR(16, 0) } },
    { "a scattered index", "kernel k(in q: i32[4], inout o: i32[8]) grid () { o[q[...]] = q[...]; }", 1,
      { VECTOR(4, 4, 2, 8), VECTOR(8, 0) } },
    { "a scattered index under a mask", "kernel k(in q: i32[4], inout o: i32[8]) grid () { store(o[q[...]], q[...], mask = q[...] < 8); }", 0,
      { VECTOR(4, 4, 2, 8), VECTOR(8, 0) } },
    { "an index of an atomic", "kernel k(in q: i32[N] block [4] at (i), inout h: i32[B]) grid (i = N / 4) { atomic_add(h[q[...]], 1); }", 1,
      { VECTOR(64, 8, 50, -7), VECTOR(8, 0) } },
    { "an index of an atomic under a mask",
      "kernel k(in q: i32[N] block [4] at (i), inout h: i32[B]) grid (i = N / 4) { atomic_add(h[q[...]], 1, mask = q[...] >= 0); }", 0,
      { VECTOR(64, 8, 50, -7), VECTOR(8, 0) } },
    { "old values of an atomic", "kernel k(in q: i32[4], inout h: i32[8], out o: i32[4]) grid () { o[...] = atomic_max(h[q[...]], 3); }", 1,
      { VECTOR(4, 4, 1, 8), VECTOR(8, 0), VECTOR(4, 0) } },
    { "a range that begins too late",
      "kernel k(in t: i32[G], in x: i32[N], out o: i32[4 * G] block [4] at (i)) grid (i = G) { o[...] = x[ds(t[i], 4)]; }", 1,
      { VECTOR(5, 4, 4, 6), VECTOR(8, 8), VECTOR(20, 0) } },
    { "a range that begins below 0",
      "kernel k(in t: i32[G], in x: i32[N], out o: i32[4 * G] block [4] at (i)) grid (i = G) { o[...] = x[ds(t[i], 4)]; }", 1,
      { VECTOR(5, 4, 1, -1), VECTOR(8, 8), VECTOR(20, 0) } },
    { "a range with a stride",
      "kernel k(in t: i32[G], in x: i32[N], out o: i32[3 * G] block [3] at (i)) grid (i = G) { o[...] = x[ds(t[i], 3, 3)]; }", 1,
      { VECTOR(5, 2, 3, 2), VECTOR(8, 8), VECTOR(15, 0) } },
    { "a range of a store", "kernel k(in t: i32[1], inout o: i32[8]) grid () { o[ds(t[0], 4)] = iota([4]); }", 1,
      { VECTOR(1, 0, 0, 5), VECTOR(8, 0) } },
    { "a row that is not there", "kernel k(in t: i32[G], in x: i32[M, 8], out o: i32[G, 8] block [1, 8] at (i, 0)) grid (i = G)\n"
      "{ o[0, :] = x[t[i], :]; }", 1, { VECTOR(6, 4, 5, 4), MATRIX(4, 8, 100), MATRIX(6, 8, 0) } },
    { "a row, and a range across it", "kernel k(in t: i32[2], in x: i32[4, 8], out o: i32[4]) grid () { o[...] = x[t[0], ds(t[1], 4)]; }", 1,
      { VECTOR(2, 0, 0, 3, 1, 5), MATRIX(4, 8, 100), VECTOR(4, 0) } },
    { "two tiles of indices", "kernel k(in a: i32[4], in b: i32[4], in x: i32[4, 8], out o: i32[4]) grid () { o[...] = x[a[...], b[...]]; }", 1,
      { VECTOR(4, 4), VECTOR(4, 4, 2, 8), MATRIX(4, 8, 100), VECTOR(4, 0) } },
    { "a tile of indices of rank 2", "kernel k(in q: i32[3, 5], in x: i32[8], out o: i32[3, 5]) grid () { o[...] = x[q[...]]; }", 1,
      { MATRIX(3, 5, 8, 13, 8), VECTOR(8, 8), MATRIX(3, 5, 0) } },
    { "rows gathered under a mask of both dimensions", "kernel k(in q: i32[4], in x: i32[4, 8], out o: i32[4, 8]) grid ()\n"
      "{ o[...] = load(x[q[...], :], mask = iota([4, 8], axis = 1) == 3); }", 1,
      { VECTOR(4, 4, 2, 4), MATRIX(4, 8, 100), MATRIX(4, 8, 0) } },
    { "constant subscripts of an array that is too small", "kernel k(in x: i32[N], out o: i32[8]) grid () { o[...] = x[0:8]; }", 1,
      { VECTOR(5, 5), VECTOR(8, 0) } },
    { "a range that is found to be far out once it is computed",
      "kernel k(in x: i32[8], inout o: i32[4]) grid () { var a = 5i64; a = a + 9223372036854775802i64; o[...] = x[ds(a, 4)]; }", 1,
      { VECTOR(8, 8), VECTOR(4, 0) } },
    { "far below 0", "kernel k(in x: i32[8, 8], inout o: i32[8]) grid () { var a = -8i64; a = a - 9223372036854775800i64; o[...] = x[a, :]; }", 1,
      { MATRIX(8, 8, 64), VECTOR(8, 0) } },
    { "an unsigned index that is no other integer", "kernel k(in x: i32[8], inout o: i32[1]) grid (i = 1)\n"
      "{ let a = cast(i - 1, u64); o[0] = x[a]; }", 1, { VECTOR(8, 8), VECTOR(1, 0) } },
    { "an index into scratch", "kernel k(in t: i32[G], out o: i32[G] block [1] at (i), scratch s: i32[8]) grid (i = G)\n"
      "{ s[...] = zeros([8], dtype = i32); s[t[i]] = 1; o[0] = sum(s[...]); }", 1, { VECTOR(9, 8, 4, 8), VECTOR(9, 0) } },
    { "an index in a loop", "kernel k(in x: i32[N], out o: i32[1]) grid () { var s = 0; for (t in 0 .. 9) { s += x[t]; } o[0] = s; }", 1,
      { VECTOR(8, 8), VECTOR(1, 0) } },
    { "a loop that the fault would never let end",
      "kernel k(in x: i32[N], out o: i32[1]) grid () { var t = 0; while (x[t] != 5) { t += 1; } o[0] = t; }", 1, { VECTOR(5, 8), VECTOR(1, 0) } },
    { "bounds of a loop that the fault puts far apart",
      "kernel k(in n: i32[N] pad 2000000000, inout o: i32[1])\n"
      "grid () { for (s in 0 .. n[8]) { for (t in 0 .. n[8]) { o[0] = o[0] + s * t; } } }", 1, { VECTOR(8, 8), VECTOR(1, 0) } },
    { "in the last step of a sequence", "kernel k(in x: i32[N] block [4] at (k), in t: i32[2], out o: i32[4], scratch s: i32[4])\n"
      "grid (k = N / 4 arbitrary)\n{ if (first(k)) { s[...] = x[...]; } s[...] += x[...]; if (last(k)) { o[...] = s[...] + x[t[1]]; } }", 1,
      { VECTOR(12, 12), VECTOR(2, 0, 1, 4), VECTOR(4, 0) } },
    { "in the first step of the second of two sequences", "kernel k(in x: i32[N], in t: i32[6], out o: i32[2] block [1] at (i), scratch s: i32[1])\n"
      "grid (i = 2, k = 3 arbitrary)\n{ if (first(k)) { s[0] = x[t[3 * i]]; } s[0] += x[t[3 * i + k]]; o[...] = s[...]; }", 2,
      { VECTOR(12, 12), VECTOR(6, 0, 3, 12), VECTOR(2, 0) } },
    { "an assert in one program of many", "kernel k(in x: i32[N] block [1] at (i), out o: i32[N] block [1] at (i)) grid (i = N)\n"
      "{\n    assert(all(x[...] < 70), \"below {seventy}\");\n    o[...] = x[...];\n}", 1, { VECTOR(90, 8, 77, 70), VECTOR(90, 0) } },
    { "a block that a table puts outside", "kernel k(prefetch t: i32[G], in x: i32[M, 8] block [2, 8] at (t[i], 0), out o: i32[2 * G, 8] block [2, 8] at (i, 0))\n"
      "grid (i = G) { o[...] = x[...]; }", 1, { VECTOR(4, 3, 2, 3), MATRIX(6, 8, 100), MATRIX(8, 8, 0) } },
    { "a block below 0", "kernel k(prefetch t: i32[G], in x: i32[M, 8] block [2, 8] at (t[i], 0), out o: i32[2 * G, 8] block [2, 8] at (i, 0))\n"
      "grid (i = G) { o[...] = x[...]; }", 1, { VECTOR(4, 3, 1, -1), MATRIX(6, 8, 100), MATRIX(8, 8, 0) } },
    { "a block that is written", "kernel k(prefetch t: i32[G], in x: i32[G] block [1] at (i), out o: i32[M] block [1] at (t[i]))\n"
      "grid (i = G) { o[...] = x[...]; }", 1, { VECTOR(4, 4, 2, 7), VECTOR(4, 4), VECTOR(4, 0) } },
    { "a block that nothing looks at", "kernel k(prefetch t: i32[G], in x: i32[M] block [1] at (t[i]), out o: i32[G] block [1] at (i))\n"
      "grid (i = G) { o[0] = i; }", 1, { VECTOR(4, 4, 2, 7), VECTOR(4, 4), VECTOR(4, 0) } },
    { "a squeezed block", "kernel k(prefetch t: i32[G], in x: i32[M, 8] block [_, 8] at (t[i], 0), out o: i32[G, 8] block [_, 8] at (i, 0))\n"
      "grid (i = G) { o[...] = x[...]; }", 1, { VECTOR(5, 3, 4, 3), MATRIX(3, 8, 100), MATRIX(5, 8, 0) } },
    { "a window", "kernel k(prefetch t: i32[G], in x: i32[M] block [element(4, pad = (1, 1))] at (t[i]), out o: i32[4 * G] block [4] at (i))\n"
      "grid (i = G) { o[...] = x[...]; }", 1, { VECTOR(5, 4, 3, 10), VECTOR(9, 9), VECTOR(20, 0) } },
    { "a window that hangs over both edges", "kernel k(prefetch t: i32[G], in x: i32[M] block [element(4, pad = (1, 1))] at (t[i]), out o: i32[4 * G] block [4] at (i))\n"
      "grid (i = G) { o[...] = x[...]; }", 0, { VECTOR(5, 4, 3, 9, 2, -2), VECTOR(9, 9), VECTOR(20, 0) } },
    { "a table that is too short", "kernel k(prefetch t: i32[T], in x: i32[M] block [1] at (t[i + 1] + 1), out o: i32[G] block [1] at (i))\n"
      "grid (i = G) { o[...] = x[...]; }", 1, { VECTOR(4, 0), VECTOR(4, 4), VECTOR(4, 0) } },
    { "a block of an array without elements", "kernel k(prefetch t: i32[G], in x: i32[M] block [1] at (t[i]), out o: i32[G] block [1] at (i))\n"
      "grid (i = G) { o[...] = x[...]; }", 0, { VECTOR(4, 4), VECTOR(0, 0), VECTOR(4, 0) } },
};

/* ---- Running ---- */

typedef struct outcome {
    clp_status status;
    char       text[TEXT_BYTES];
    int        n_faults;           /* as dumped */
    int32_t    elems[MAX_ARRAYS][MAX_ELEMS];
} outcome;

static void count_faults(const char *stage, const char *kernel, const char *text, void *user)
{
    (void)kernel;
    if (!strcmp(stage, "faults"))
        ((outcome *)user)->n_faults = atoi(text);
}

static void run(const row *r, const clp_context_opts *opts, outcome *out)
{
    clp_context_opts with = *opts;
    clp_context *ctx;
    clp_kernel *kernel;
    clp_array arrays[MAX_ARRAYS];
    int n = 0;
    memset(out, 0, sizeof *out);
    with.dump = count_faults;
    with.dump_user = out;
    cr_assert_eq(clp_context_new(&with, &ctx), CLP_OK, "%s", clp_last_error(NULL));
    OK(ctx, clp_kernel_from_text(ctx, r->text, NULL, NULL, &kernel));
    for (; n < clp_kernel_n_operands(kernel); n++) {
        const given *g = &r->arrays[n];
        int64_t n_elems = g->shape[0] * (g->rank == 2 ? g->shape[1] : 1);
        cr_assert_leq(n_elems, MAX_ELEMS);
        for (int64_t e = 0; e < n_elems; e++)
            out->elems[n][e] = g->content[0] ? (int32_t)(e % g->content[0]) : 0;
        for (int c = 1; c < 9; c += 2)
            if (g->content[c] || g->content[c + 1])
                out->elems[n][g->content[c]] = g->content[c + 1];
        arrays[n] = (clp_array){ .dtype = CLP_I32, .rank = g->rank, .shape = g->shape, .data = out->elems[n] };
    }
    out->status = clp_run(kernel, arrays, n, NULL);
    snprintf(out->text, sizeof out->text, "%s", out->status ? clp_last_error(ctx) : "");
    clp_kernel_free(kernel);
    clp_context_free(ctx);
}

static bool has_device(void)
{
    clp_context *ctx;
    if (clp_context_new(&(clp_context_opts){ .device = "cl" }, &ctx) != CLP_OK) {
        cr_assert_null(getenv("CLP_REQUIRE_CL"), "%s", clp_last_error(NULL));
        cr_skip_test("%s", clp_last_error(NULL));
        return false;
    }
    clp_context_free(ctx);
    return true;
}

static void compare(clp_schedule schedule)
{
    static outcome want, got, plain;
    if (!has_device())
        return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        run(r, &(clp_context_opts){ .device = "interp" }, &want);
        cr_expect_eq(want.status, r->n_faults ? CLP_ERR_RUN : CLP_OK, "%s: the interpreter: %s", r->what, want.text);
        run(r, &(clp_context_opts){ .device = "cl", .schedule = schedule, .checked = true }, &got);
        cr_expect_eq(got.status, want.status, "%s: %s: %s", r->what, clp_status_name(got.status), got.text);
        cr_expect_str_eq(got.text, want.text, "%s: got\n%s\nwant\n%s", r->what, got.text, want.text);
        cr_expect_eq(got.n_faults, r->n_faults, "%s: %d faults", r->what, got.n_faults);
        if (r->n_faults == 0)
            cr_expect_arr_eq(got.elems, want.elems, sizeof got.elems, "%s: other results", r->what);
    }
    run(&rows[1], &(clp_context_opts){ .device = "cl", .schedule = schedule }, &plain);
    cr_expect_eq(plain.status, CLP_OK, "unchecked: %s", plain.text);
    cr_expect_eq(plain.n_faults, 0);
}

Test(checked, vector_finds_what_the_interpreter_finds)
{
    compare(CLP_SCHEDULE_VECTOR);
}

Test(checked, simt_finds_what_the_interpreter_finds)
{
    compare(CLP_SCHEDULE_SIMT);
}

/* A launch forgets the faults of the one before. */
Test(checked, each_launch_is_judged_for_itself)
{
    if (!has_device())
        return;
    clp_context *ctx;
    clp_kernel *kernel;
    cr_assert_eq(clp_context_new(&(clp_context_opts){ .device = "cl", .checked = true }, &ctx), CLP_OK);
    OK(ctx, clp_kernel_from_text(ctx, "kernel k(in t: i32[1], in x: i32[8], out o: i32[1]) grid () { o[0] = x[t[0]]; }", NULL, NULL, &kernel));
    for (int32_t t = 6; t < 10; t++) {
        int32_t x[8] = { 0, 10, 20, 30, 40, 50, 60, 70 }, o = -1;
        const int64_t one = 1, eight = 8;
        const clp_array arrays[] = { { .dtype = CLP_I32, .rank = 1, .shape = &one, .data = &t },
                                     { .dtype = CLP_I32, .rank = 1, .shape = &eight, .data = x },
                                     { .dtype = CLP_I32, .rank = 1, .shape = &one, .data = &o } };
        clp_status status = clp_run(kernel, arrays, 3, NULL);
        cr_expect_eq(status, t < 8 ? CLP_OK : CLP_ERR_RUN, "%d: %s", t, clp_last_error(ctx));
        cr_expect_eq(o, t < 8 ? 10 * t : INT32_MIN, "%d: %d", t, o);
    }
    clp_kernel_free(kernel);
    clp_context_free(ctx);
}

/* ---- Unchecked code ---- */

static void keep_text(const char *text, size_t n_bytes, void *user)
{
    cr_assert_lt(n_bytes, (size_t)16 * TEXT_BYTES);
    memcpy(user, text, n_bytes);
    ((char *)user)[n_bytes] = '\0';
}

static void emit(const char *text, const clp_context_opts *opts, char *out)
{
    clp_context *ctx;
    clp_kernel *kernel;
    cr_assert_eq(clp_context_new(opts, &ctx), CLP_OK);
    OK(ctx, clp_kernel_from_text(ctx, text, NULL, NULL, &kernel));
    OK(ctx, clp_kernel_emit(kernel, CLP_STAGE_CL, keep_text, out));
    clp_kernel_free(kernel);
    clp_context_free(ctx);
}

#define SOFTMAX(assert)                                                                                                \
    "kernel k(in x: f32[N, 64] block [4, 64] at (i, 0), out o: f32[N, 64] block [4, 64] at (i, 0)) grid (i = cdiv(N, 4))\n" \
    "{ let e = exp(x[...] - max(x[...], axis = 1, keepdims = true)); let s = sum(e, axis = 1, keepdims = true);\n" assert \
    "\no[...] = e / s; }"

Test(checked, an_assert_is_nothing_in_unchecked_code)
{
    static char with[16 * TEXT_BYTES], without[16 * TEXT_BYTES], checked[16 * TEXT_BYTES];
    for (int schedule = CLP_SCHEDULE_VECTOR; schedule <= CLP_SCHEDULE_SIMT; schedule++) {
        clp_context_opts opts = { .device = "interp", .schedule = (clp_schedule)schedule };
        emit(SOFTMAX("assert(all(s > 0.0) && all(exp(e) < 3.0) && sum(e * e) > 0.0, \"so it is\");"), &opts, with);
        emit(SOFTMAX(""), &opts, without);
        cr_expect_str_eq(with, without);
        opts.checked = true;
        emit(SOFTMAX("assert(all(s > 0.0) && all(exp(e) < 3.0) && sum(e * e) > 0.0, \"so it is\");"), &opts, checked);
        cr_expect(strstr(checked, "n_faults") && !strstr(with, "fault"));
    }
}
