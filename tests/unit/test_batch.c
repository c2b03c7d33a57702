/* Batching: the kernel that comes out is the one written out by hand, and its results are those of one run per member, on
 * the interpreter and on a device's vector and simt code.                                                               */
#include <stdio.h>
#include <stdlib.h>

#include "support/support.h"

#define TEXT_BYTES 8192

static clp_context *interp_context(void)
{
    clp_context *ctx;
    clp_status status = clp_context_new(&(clp_context_opts){ .device = "interp" }, &ctx);
    cr_assert_eq(status, CLP_OK, "%s", clp_last_error(NULL));
    return ctx;
}

static clp_kernel *kernel(clp_context *ctx, const char *text)
{
    clp_kernel *k;
    OK(ctx, clp_kernel_from_text(ctx, text, NULL, NULL, &k));
    return k;
}

/* The kernel of a text with an axis for each list of operands, the first innermost. */
static clp_kernel *batched(clp_context *ctx, const char *text, const char *const *lists, int n)
{
    clp_kernel *k = kernel(ctx, text);
    for (int i = 0; i < n; i++) {
        clp_kernel *next;
        OK(ctx, clp_kernel_batch(k, lists[i], &next));
        clp_kernel_free(k);
        k = next;
    }
    return k;
}

static void keep(const char *text, size_t n_bytes, void *user)
{
    cr_assert_lt(n_bytes, TEXT_BYTES);
    memcpy(user, text, n_bytes + 1);
}

/* ---- What comes out ---- */

static void expect_written_out(const char *member, const char *list, const char *list2, const char *whole)
{
    clp_context *ctx = interp_context();
    clp_kernel *got = batched(ctx, member, (const char *[]){ list, list2 }, list2 ? 2 : 1), *want = kernel(ctx, whole);
    char got_text[TEXT_BYTES], want_text[TEXT_BYTES];
    OK(ctx, clp_kernel_emit(got, CLP_STAGE_IR, keep, got_text));
    OK(ctx, clp_kernel_emit(want, CLP_STAGE_IR, keep, want_text));
    cr_expect_str_eq(got_text, want_text);
    clp_kernel_free(got);
    clp_kernel_free(want);
    clp_context_free(ctx);
}

Test(batch, squeezes_the_new_dimension_of_blocks)
{
    expect_written_out("kernel k(in x: f32[M, N] block [4, element(6, pad = (1, 1))] at (i, 4 * j) pad 0, out o: f32[M, N] block [4, 4] at (i, j))\n"
                       "grid (i = cdiv(M, 4), j = cdiv(N, 4) arbitrary) { o[...] = x[:, 1:5] + cast(i + num_programs(j), f32); }",
                       "x, o", NULL,
                       "kernel k(in x: f32[B, M, N] block [_, 4, element(6, pad = (1, 1))] at (batch, i, 4 * j) pad 0,\n"
                       "         out o: f32[B, M, N] block [_, 4, 4] at (batch, i, j))\n"
                       "grid (batch = B, i = cdiv(M, 4), j = cdiv(N, 4) arbitrary) { o[...] = x[:, 1:5] + cast(i + num_programs(j), f32); }");
}

Test(batch, leaves_shared_operands_and_scratch_as_they_are)
{
    expect_written_out("kernel k(in x: f32[N] block [4] at (i), in w: f32[N] block [4] at (i), scratch s: f32[4], out o: f32[N] block [4] at (i))\n"
                       "grid (i = cdiv(N, 4)) { s[...] = x[...] * w[...]; o[...] = s[...]; }",
                       "x, o", NULL,
                       "kernel k(in x: f32[B, N] block [_, 4] at (batch, i), in w: f32[N] block [4] at (i), scratch s: f32[4],\n"
                       "         out o: f32[B, N] block [_, 4] at (batch, i))\n"
                       "grid (batch = B, i = cdiv(N, 4)) { s[...] = x[...] * w[...]; o[...] = s[...]; }");
}

Test(batch, makes_a_known_array_a_block)
{
    expect_written_out("kernel k(in x: f32[3, 8], inout o: f32[]) grid () { o[...] += sum(x[...]); }", "o, x", NULL,
                       "kernel k(in x: f32[B, 3, 8] block [_, 3, 8] at (batch, 0, 0), inout o: f32[B] block [_] at (batch))\n"
                       "grid (batch = B) { o[...] += sum(x[...]); }");
}

Test(batch, subscripts_arrays_of_unknown_size)
{
    expect_written_out("kernel k(in x: i32[N], out o: i32[N]) grid (i = N) { let m = x[i] > 0; o[ds(i, 1)] = load(x[ds(i, 1)], mask = m); }",
                       "x, o", NULL,
                       "kernel k(in x: i32[B, N], out o: i32[B, N]) grid (batch = B, i = N)\n"
                       "{ let m = x[batch, i] > 0; o[batch, ds(i, 1)] = load(x[batch, ds(i, 1)], mask = m); }");
}

Test(batch, subscripts_atomics_and_tiles_of_indices)
{
    expect_written_out("kernel k(in x: i32[N] block [8] at (i) pad -1, inout h: i32[M])\n"
                       "grid (i = cdiv(N, 8)) { for (t in 0 .. 2) { atomic_add(h[x[...]], 1, mask = x[...] >= 0); } }",
                       "h, x", NULL,
                       "kernel k(in x: i32[B, N] block [_, 8] at (batch, i) pad -1, inout h: i32[B, M])\n"
                       "grid (batch = B, i = cdiv(N, 8)) { let b = batch; for (t in 0 .. 2) { atomic_add(h[b, x[...]], 1, mask = x[...] >= 0); } }");
}

Test(batch, gives_each_member_its_prefetched_data_and_scalars)
{
    expect_written_out("kernel k(prefetch t: i32[N], scalar n: i32, scalar a: f32, in x: f32[R, 4] block [_, 4] at (min(t[i], n), 0),\n"
                       "         out o: f32[N, 4] block [_, 4] at (i, 0)) grid (i = N) { o[...] = a * x[...] + cast(t[i], f32); }",
                       "t, n, a, x, o", NULL,
                       "kernel k(prefetch t: i32[B, N], prefetch n: i32[B], prefetch a: f32[B],\n"
                       "         in x: f32[B, R, 4] block [_, _, 4] at (batch, min(t[batch, i], n[batch]), 0),\n"
                       "         out o: f32[B, N, 4] block [_, _, 4] at (batch, i, 0))\n"
                       "grid (batch = B, i = N) { o[...] = a[batch] * x[...] + cast(t[batch, i], f32); }");
}

Test(batch, puts_further_axes_in_front)
{
    expect_written_out("kernel k(in x: f32[N] block [4] at (i), in y: f32[N] block [4] at (i), out o: f32[N] block [4] at (i))\n"
                       "grid (i = cdiv(N, 4)) require N > 0 { o[...] = x[...] - y[...]; }",
                       "x, o", "y, o",
                       "kernel k(in x: f32[B, N] block [_, 4] at (batch, i), in y: f32[B2, N] block [_, 4] at (batch2, i),\n"
                       "         out o: f32[B2, B, N] block [_, _, 4] at (batch2, batch, i))\n"
                       "grid (batch2 = B2, batch = B, i = cdiv(N, 4)) require N > 0 { o[...] = x[...] - y[...]; }");
}

Test(batch, takes_names_that_are_free)
{
    expect_written_out("kernel k(in batch: f32[B, B2] block [4, 4] at (i, 0), out o: f32[B] block [4] at (i))\n"
                       "grid (i = cdiv(B, 4)) { o[...] = sum(batch[...], axis = 1); }",
                       "batch, o", NULL,
                       "kernel k(in batch: f32[B3, B, B2] block [_, 4, 4] at (batch2, i, 0), out o: f32[B3, B] block [_, 4] at (batch2, i))\n"
                       "grid (batch2 = B3, i = cdiv(B, 4)) { o[...] = sum(batch[...], axis = 1); }");
}

/* ---- What cannot be ---- */

Test(batch, refuses_what_has_no_meaning)
{
    clp_context *ctx = interp_context();
    clp_kernel *k = kernel(ctx, "kernel k(in x: f32[N], in y: f32[N], out o: f32[N] alias y, inout z: f32[N], scratch s: f32[4], scalar n: i32,\n"
                                "         out unwritten: f32[N] alias x)\n"
                                "grid (i = n) { o[i] = x[i]; z[i] = y[i]; s[0] = 1; }");
    clp_kernel *out = k;
    FAILS(ctx, CLP_ERR_ARG, "batch of k: z is written and not among its operands: every member would write the same elements",
          clp_kernel_batch(k, "y, o", &out));
    cr_expect_null(out);
    FAILS(ctx, CLP_ERR_ARG, "batch of k: y is written and not among its operands", clp_kernel_batch(k, "x, z, o", &out));
    FAILS(ctx, CLP_ERR_ARG, "batch of k: unwritten has the storage of x: name both or neither", clp_kernel_batch(k, "y, o, z, x", &out));
    FAILS(ctx, CLP_ERR_ARG, "batch of k: s is scratch, of which each program of the batch has its own", clp_kernel_batch(k, "y, o, z, s", &out));
    FAILS(ctx, CLP_ERR_ARG, "batch of k: n decides the grid, a shape or a condition, which all members share",
          clp_kernel_batch(k, "y, o, z, n", &out));
    FAILS(ctx, CLP_ERR_ARG, "batch of k: there is no operand unwriten; did you mean `unwritten`?", clp_kernel_batch(k, "unwriten", &out));
    FAILS(ctx, CLP_ERR_ARG, "batch of k: o is named twice", clp_kernel_batch(k, "o, o", &out));
    FAILS(ctx, CLP_ERR_ARG, "batch of k: names of operands, as \"x, o\", were expected, got \"\"", clp_kernel_batch(k, "", &out));
    FAILS(ctx, CLP_ERR_ARG, "were expected, got \"y, \"", clp_kernel_batch(k, "y, ", &out));
    FAILS(ctx, CLP_ERR_ARG, "an argument is NULL", clp_kernel_batch(k, NULL, &out));
    cr_expect_eq(clp_kernel_batch(NULL, "x", &out), CLP_ERR_ARG);
    clp_kernel_free(k);
    clp_context_free(ctx);
}

Test(batch, refuses_arrays_of_too_many_dimensions)
{
    clp_context *ctx = interp_context();
    clp_kernel *k = kernel(ctx, "kernel k(inout o: i32[]) grid () { o[...] += 1; }"), *next;
    for (int i = 0; i < CLP_MAX_RANK; i++) {
        OK(ctx, clp_kernel_batch(k, "o", &next));
        clp_kernel_free(k);
        k = next;
    }
    cr_expect_eq(clp_kernel_operand(k, 0).rank, CLP_MAX_RANK);
    FAILS(ctx, CLP_ERR_ARG, "batch of k: o: an array has at most 16 dimensions: 17 were given", clp_kernel_batch(k, "o", &next));
    clp_kernel_free(k);
    clp_context_free(ctx);
}

/* ---- What it does ---- */

typedef struct place { const char *device; clp_schedule schedule; const char *name; } place;

static const place places[] = { { "interp", CLP_SCHEDULE_AUTO, "interp" },
                                { "cl", CLP_SCHEDULE_VECTOR, "vector" },
                                { "cl", CLP_SCHEDULE_SIMT, "simt" } };

/* Calls fn on each place that is here. */
static void everywhere(void (*fn)(clp_context *ctx, const char *name))
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        clp_context *ctx;
        if (clp_context_new(&(clp_context_opts){ .device = places[i].device, .schedule = places[i].schedule }, &ctx) != CLP_OK) {
            cr_assert_null(getenv("CLP_REQUIRE_CL"), "%s", clp_last_error(NULL));
            fprintf(stderr, "left out %s: %s\n", places[i].name, clp_last_error(NULL));
            continue;
        }
        fn(ctx, places[i].name);
        clp_context_free(ctx);
    }
}

static clp_array array_i32(int32_t *data, int rank, const int64_t *shape, const int64_t *strides)
{
    return (clp_array){ .dtype = CLP_I32, .rank = rank, .shape = shape, .strides = strides, .data = data };
}

static void run(clp_context *ctx, const char *name, clp_kernel *k, const clp_array *arrays, int n)
{
    bool is_whole;
    OK(ctx, run_guarded(ctx, k, arrays, n, NULL, &is_whole));
    cr_expect(is_whole, "%s: memory around an array was written", name);
}

#define INCREMENT "kernel k(in x: i32[], out o: i32[]) grid () { o[...] = x[...] + 1; }"
#define ADD "kernel k(in x: i32[], in y: i32[], out o: i32[]) grid () { o[...] = x[...] + y[...]; }"

/* Increments an array of any shape through as many axes of a batch. */
static void increments(clp_context *ctx, const char *name, int rank, const int64_t *shape)
{
    int32_t x[120], o[120];
    int n = 1;
    for (int i = 0; i < rank; i++)
        n *= (int)shape[i];
    cr_assert_leq(n, 120);
    for (int i = 0; i < n; i++)
        x[i] = 7 * i;
    clp_kernel *k = batched(ctx, INCREMENT, (const char *[]){ "x, o", "x, o", "x, o", "x, o" }, rank);
    run(ctx, name, k, (clp_array[]){ array_i32(x, rank, shape, NULL), array_i32(o, rank, shape, NULL) }, 2);
    for (int i = 0; i < n; i++)
        cr_expect_eq(o[i], 7 * i + 1, "%s: element %d of %d: %d", name, i, n, o[i]);
    clp_kernel_free(k);
}

static void check_scalars(clp_context *ctx, const char *name)
{
    increments(ctx, name, 1, (int64_t[]){ 8 });
    increments(ctx, name, 2, (int64_t[]){ 4, 2 });
    increments(ctx, name, 4, (int64_t[]){ 5, 3, 4, 2 });
    increments(ctx, name, 2, (int64_t[]){ 4, 0 });
}

Test(batch, runs_scalar_kernels_over_one_axis_and_four)
{
    everywhere(check_scalars);
}

static void check_shared(clp_context *ctx, const char *name)
{
    int32_t x[8], y = 100, o[8];
    for (int i = 0; i < 8; i++)
        x[i] = i;
    clp_kernel *k = batched(ctx, ADD, (const char *[]){ "x, o" }, 1);
    const int64_t n = 8;
    run(ctx, name, k, (clp_array[]){ array_i32(x, 1, &n, NULL), array_i32(&y, 0, NULL, NULL), array_i32(o, 1, &n, NULL) }, 3);
    for (int i = 0; i < 8; i++)
        cr_expect_eq(o[i], i + 100, "%s: element %d: %d", name, i, o[i]);
    clp_kernel_free(k);
}

Test(batch, shares_what_is_not_named)
{
    everywhere(check_shared);
}

/* Four axes over an inner grid of 7, of rows of one or two elements. */
static void check_inner_grid(clp_context *ctx, const char *name)
{
    static int32_t x[120 * 14], o[120 * 14];
    for (int b = 1; b <= 2; b++) {
        char text[256];
        snprintf(text, sizeof text, "kernel k(in x: i32[N] block [%d] at (i), out o: i32[N] block [%d] at (i))\n"
                                    "grid (i = cdiv(N, %d)) { o[...] = x[...] + i + 100 * num_programs(i); }", b, b, b);
        const int64_t shape[5] = { 5, 3, 4, 2, 7 * b };
        for (int i = 0; i < 840 * b; i++)
            x[i] = 1000 * i;
        clp_kernel *k = batched(ctx, text, (const char *[]){ "x, o", "x, o", "x, o", "x, o" }, 4);
        run(ctx, name, k, (clp_array[]){ array_i32(x, 5, shape, NULL), array_i32(o, 5, shape, NULL) }, 2);
        for (int i = 0; i < 840 * b; i++)
            cr_expect_eq(o[i], 1000 * i + i / b % 7 + 700, "%s: element %d: %d", name, i, o[i]);
        clp_kernel_free(k);
    }
}

Test(batch, keeps_the_axes_of_the_body)
{
    everywhere(check_inner_grid);
}

static void check_inout(clp_context *ctx, const char *name)
{
    int32_t x[8], o[8];
    const int64_t n = 8;
    for (int i = 0; i < 8; i++) {
        x[i] = i;
        o[i] = 1;
    }
    clp_kernel *k = batched(ctx, "kernel k(in x: i32[], inout o: i32[]) grid () { o[...] = x[...] + o[...] + 1; }", (const char *[]){ "x, o" }, 1);
    run(ctx, name, k, (clp_array[]){ array_i32(x, 1, &n, NULL), array_i32(o, 1, &n, NULL) }, 2);
    for (int i = 0; i < 8; i++)
        cr_expect_eq(o[i], i + 2, "%s: element %d: %d", name, i, o[i]);
    clp_kernel_free(k);
}

/* One storage of [4, 2], batched over its second dimension. */
static void check_alias(clp_context *ctx, const char *name)
{
    int32_t x[8];
    const int64_t shape[2] = { 2, 4 }, strides[2] = { 1, 2 };
    for (int i = 0; i < 8; i++)
        x[i] = i;
    clp_kernel *k = batched(ctx, "kernel k(in x: i32[N] block [3] at (i), out o: i32[N] block [3] at (i) alias x)\n"
                                 "grid (i = cdiv(N, 3)) { o[...] = 10 * x[...] + i; }", (const char *[]){ "o, x" }, 1);
    run(ctx, name, k, (clp_array[]){ array_i32(x, 2, shape, strides), array_i32(x, 2, shape, strides) }, 2);
    for (int i = 0; i < 8; i++)
        cr_expect_eq(x[i], 10 * i + (i / 2 == 3), "%s: element %d: %d", name, i, x[i]);
    clp_kernel_free(k);
}

Test(batch, writes_in_place)
{
    everywhere(check_inout);
    everywhere(check_alias);
}

/* The batch is the second dimension of x, by strides, and the first of y and o. */
static void check_strides(clp_context *ctx, const char *name)
{
    int32_t x[15], y[15], o[15];
    const int64_t shape[2] = { 3, 5 }, strides[2] = { 1, 3 };
    for (int i = 0; i < 15; i++) {
        x[i] = i;
        y[i] = 100 * i;
    }
    clp_kernel *k = batched(ctx, "kernel k(in x: i32[N], in y: i32[N] block [4] at (i), out o: i32[N] block [4] at (i)) grid (i = cdiv(N, 4))\n"
                                 "{ for (j in 0 .. min(4, N - 4 * i)) { o[j] = x[4 * i + j] + y[j]; } }", (const char *[]){ "x, y, o" }, 1);
    run(ctx, name, k, (clp_array[]){ array_i32(x, 2, shape, strides), array_i32(y, 2, shape, NULL), array_i32(o, 2, shape, NULL) }, 3);
    for (int b = 0; b < 3; b++)
        for (int i = 0; i < 5; i++)
            cr_expect_eq(o[5 * b + i], 3 * i + b + 100 * (5 * b + i), "%s: member %d, element %d: %d", name, b, i, o[5 * b + i]);
    clp_kernel_free(k);
}

Test(batch, takes_any_dimension_by_strides)
{
    everywhere(check_strides);
}

/* [8, 4, 2] over its first axis, then over the second: the sine of every element, computed as the member alone does. */
static void check_sine(clp_context *ctx, const char *name)
{
    static const char text[] = "kernel k(in x: f32[2], out o: f32[2]) grid () { o[...] = sin(x[...]); }";
    float x[64], o[64], want[64];
    const int64_t shape[3] = { 4, 8, 2 }, strides[3] = { 2, 8, 1 }, two = 2;
    for (int i = 0; i < 64; i++)
        x[i] = (float)(i - 32) / 7;
    clp_kernel *member = kernel(ctx, text), *k = batched(ctx, text, (const char *[]){ "x, o", "x, o" }, 2);
    for (int i = 0; i < 32; i++)
        run(ctx, name, member, (clp_array[]){ { .dtype = CLP_F32, .rank = 1, .shape = &two, .data = x + 2 * i },
                                              { .dtype = CLP_F32, .rank = 1, .shape = &two, .data = want + 2 * i } }, 2);
    run(ctx, name, k, (clp_array[]){ { .dtype = CLP_F32, .rank = 3, .shape = shape, .strides = strides, .data = x },
                                     { .dtype = CLP_F32, .rank = 3, .shape = shape, .strides = strides, .data = o } }, 2);
    for (int i = 0; i < 64; i++)
        cr_expect_eq(o[i], want[i], "%s: element %d: %g, expected %g", name, i, o[i], want[i]);
    clp_kernel_free(member);
    clp_kernel_free(k);
}

Test(batch, repeats_a_kernel_exactly)
{
    everywhere(check_sine);
}

/* Scratch and an `arbitrary` axis: each member has sums of its own. A table and a scalar differ from member to member. */
static void check_members(clp_context *ctx, const char *name)
{
    static const char text[] =
        "kernel k(prefetch t: i32[2], scalar a: i32, in x: i32[N] block [2] at (t[i]) pad 0, out o: i32[1] block [1] at (0), scratch s: i32[1])\n"
        "grid (i = 2 arbitrary) { if (first(i)) { s[0] = a; } s[0] += sum(x[...]); if (last(i)) { o[0] = s[0]; } }";
    int32_t t[6] = { 0, 1, 1, 2, 0, 2 }, a[3] = { 1000, 2000, 3000 }, x[15], o[3];
    const int64_t two[2] = { 3, 2 }, three = 3, five[2] = { 3, 5 }, one[2] = { 3, 1 };
    for (int i = 0; i < 15; i++)
        x[i] = i;
    clp_kernel *k = batched(ctx, text, (const char *[]){ "t, a, x, o" }, 1);
    run(ctx, name, k, (clp_array[]){ array_i32(t, 2, two, NULL), array_i32(a, 1, &three, NULL), array_i32(x, 2, five, NULL),
                                     array_i32(o, 2, one, NULL) }, 4);
    cr_expect_eq(o[0], 1000 + 0 + 1 + 2 + 3, "%s: %d", name, o[0]);
    cr_expect_eq(o[1], 2000 + 7 + 8 + 9, "%s: %d", name, o[1]);
    cr_expect_eq(o[2], 3000 + 10 + 11 + 14, "%s: %d", name, o[2]);
    clp_kernel_free(k);
}

Test(batch, keeps_members_apart)
{
    everywhere(check_members);
}

/* A box cuts the new axis as any parallel one. */
Test(batch, runs_a_box_of_members)
{
    clp_context *ctx = interp_context();
    clp_kernel *k = batched(ctx, INCREMENT, (const char *[]){ "x, o" }, 1);
    int32_t x[4] = { 1, 2, 3, 4 }, o[4] = { 0 };
    const int64_t n = 4, from = 1, count = 2;
    OK(ctx, clp_run(k, (clp_array[]){ array_i32(x, 1, &n, NULL), array_i32(o, 1, &n, NULL) }, 2,
                    &(clp_run_opts){ .grid_start = &from, .grid_count = &count }));
    cr_expect(o[0] == 0 && o[1] == 3 && o[2] == 4 && o[3] == 0, "%d %d %d %d", o[0], o[1], o[2], o[3]);
    int64_t other = 5;
    FAILS(ctx, CLP_ERR_ARG, "o: B is 4 (from x), got 5", clp_run(k, (clp_array[]){ array_i32(x, 1, &n, NULL), array_i32(o, 1, &other, NULL) }, 2, NULL));
    clp_kernel_free(k);
    clp_context_free(ctx);
}
