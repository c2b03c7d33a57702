/* The interpreter through the public interface: meaning that no device can be asked about, and what its short cuts must not
 * change: memory shared by values, loads that stand for the array, tiles taken over in place.                          */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <math.h>
#include <sys/mman.h>

#include "interp/interp.h"
#include "support/support.h"

typedef struct lines { char text[64][128]; int n; } lines;

static void take_line(const char *line, void *user)
{
    lines *l = user;
    if (l->n < 64)
        strncpy(l->text[l->n++], line, sizeof l->text[0] - 1);
}

typedef struct bench { clp_context *ctx; clp_kernel *k; lines lines; } bench;

static void bench_open(bench *t, const char *text)
{
    *t = (bench){ 0 };
    clp_context_opts opts = { .device = "interp", .print = take_line, .print_user = &t->lines };
    cr_assert_eq(clp_context_new(&opts, &t->ctx), CLP_OK, "%s", clp_last_error(NULL));
    OK(t->ctx, clp_kernel_from_text(t->ctx, text, NULL, NULL, &t->k));
}

static void bench_close(bench *t)
{
    clp_kernel_free(t->k);
    clp_context_free(t->ctx);
}

static clp_array vector(clp_dtype dtype, void *data, const int64_t *n)
{
    return (clp_array){ .dtype = dtype, .rank = 1, .shape = n, .data = data };
}

static clp_array tile(clp_dtype dtype, void *data, const int64_t *shape, int rank)
{
    return (clp_array){ .dtype = dtype, .rank = rank, .shape = shape, .data = data };
}

/* ---- Faults ---- */

Test(interp, index_out_of_range_names_operand_program_index_and_ref)
{
    bench t;
    float x[16] = { 0 }, o[4] = { 0 };
    int32_t at[4] = { 1, 3, 4, 9 };
    bench_open(&t, "kernel k(in x: f32[N] block [4] at (i), in a: i32[G] block [1] at (i), out o: f32[G] block [1] at (i))\n"
                   "grid (i = G) { o[0] = x[a[0]]; }");
    clp_array arrays[] = { vector(CLP_F32, x, (int64_t[]){ 16 }), vector(CLP_I32, at, (int64_t[]){ 4 }),
                           vector(CLP_F32, o, (int64_t[]){ 4 }) };
    FAILS(t.ctx, CLP_ERR_RUN, "x: program (2,): index (4,) lies outside the ref [4]", clp_run(t.k, arrays, 3, NULL));
    at[0] = -1;
    FAILS(t.ctx, CLP_ERR_RUN, "x: program (0,): index (-1,) lies outside the ref [4]", clp_run(t.k, arrays, 3, NULL));
    at[0] = at[2] = at[3] = 0;
    OK(t.ctx, clp_run(t.k, arrays, 3, NULL));
    bench_close(&t);
}

Test(interp, a_slice_that_leaves_the_ref_is_a_fault)
{
    bench t;
    float x[16] = { 0 }, o[4] = { 0 };
    int32_t at = 13;
    bench_open(&t, "kernel k(in x: f32[N], scalar a: i32, out o: f32[4]) grid () { o[...] = x[ds(a, 4)]; }");
    clp_array arrays[] = { vector(CLP_F32, x, (int64_t[]){ 16 }), { .dtype = CLP_I32, .data = &at },
                           vector(CLP_F32, o, (int64_t[]){ 4 }) };
    FAILS(t.ctx, CLP_ERR_RUN, "x: program (): index (16,) lies outside the ref [16]", clp_run(t.k, arrays, 3, NULL));
    at = 12;
    OK(t.ctx, clp_run(t.k, arrays, 3, NULL));
    bench_close(&t);
}

Test(interp, masked_lanes_never_fault_and_give_other)
{
    bench t;
    float x[4] = { 1, 2, 3, 4 }, o[6] = { 0 }, p[6] = { 9, 9, 9, 9, 9, 9 };
    bench_open(&t, "kernel k(in x: f32[N], out o: f32[6], inout p: f32[6]) grid () {\n"
                   "  let i = iota([6]) * 1000 - 1000; let m = i == 1000; let j = iota([6]) - 1;\n"
                   "  o[...] = load(x[j], mask = j >= 0 && j < 4, other = full([6], -1.0));\n"
                   "  store(p[i + 0], full([6], 5.0), mask = i == 0); }");
    clp_array arrays[] = { vector(CLP_F32, x, (int64_t[]){ 4 }), vector(CLP_F32, o, (int64_t[]){ 6 }), vector(CLP_F32, p, (int64_t[]){ 6 }) };
    OK(t.ctx, clp_run(t.k, arrays, 3, NULL));
    cr_expect(o[0] == -1 && o[1] == 1 && o[4] == 4 && o[5] == -1);
    cr_expect(p[0] == 5 && p[1] == 9 && p[5] == 9);
    bench_close(&t);
}

Test(interp, masked_slices_that_leave_the_ref)
{
    bench t;
    float x[5] = { 1, 2, 3, 4, 5 }, o[4] = { 0 };
    int32_t at = 3;
    bench_open(&t, "kernel k(inout x: f32[N], scalar a: i32, out o: f32[4]) grid () {\n"
                   "  let m = a + iota([4]) < 5;\n"
                   "  o[...] = load(x[ds(a, 4)], mask = m); store(x[ds(a, 4)], o[...] + 1, mask = m); }");
    clp_array arrays[] = { vector(CLP_F32, x, (int64_t[]){ 5 }), { .dtype = CLP_I32, .data = &at }, vector(CLP_F32, o, (int64_t[]){ 4 }) };
    OK(t.ctx, clp_run(t.k, arrays, 3, NULL));
    cr_expect(o[0] == 4 && o[1] == 5 && o[2] == 0 && o[3] == 0);
    cr_expect(x[2] == 3 && x[3] == 5 && x[4] == 6);
    bench_close(&t);
}

Test(interp, a_failed_assert_ends_the_run)
{
    bench t;
    float o[4] = { 0 };
    bench_open(&t, "kernel k(out o: f32[N] block [1] at (i)) grid (i = N) { assert(i < 2, \"few programs\"); o[0] = 7; }");
    clp_array arrays[] = { vector(CLP_F32, o, (int64_t[]){ 4 }) };
    FAILS(t.ctx, CLP_ERR_RUN, "program (2,): assert failed: few programs", clp_run(t.k, arrays, 1, NULL));
    cr_expect(o[1] == 7 && o[2] == 0, "what ran before the fault stays");
    bench_close(&t);
}

Test(interp, a_block_chosen_by_data_may_lie_outside)
{
    bench t;
    int32_t table[2] = { 1, 5 };
    float x[8] = { 0 }, o[2] = { 0 };
    bench_open(&t, "kernel k(prefetch t: i32[G], in x: f32[N] block [4] at (t[i]), out o: f32[G] block [1] at (i)) grid (i = G) { o[0] = x[0]; }");
    clp_array arrays[] = { vector(CLP_I32, table, (int64_t[]){ 2 }), vector(CLP_F32, x, (int64_t[]){ 8 }), vector(CLP_F32, o, (int64_t[]){ 2 }) };
    FAILS(t.ctx, CLP_ERR_RUN, "x: program (1,): block (5,) of [4] lies outside the array [8]", clp_run(t.k, arrays, 3, NULL));
    bench_close(&t);
}

/* ---- Memory ---- */

Test(interp, past_the_array_reads_pad_and_writes_nothing)
{
    bench t;
    float x[5] = { 1, 2, 3, 4, 5 };
    float o[8] = { 0 };
    guarded z = guarded_new(5 * sizeof(float));
    bench_open(&t, "kernel k(in x: f32[N] block [8] at (0) pad -3, out z: f32[N] block [8] at (0), out o: f32[8]) grid () {\n"
                   "  o[...] = x[...]; z[...] = x[...] + 10; z[6] = 1; o[7] = x[7] * 2; }");
    clp_array arrays[] = { vector(CLP_F32, x, (int64_t[]){ 5 }), vector(CLP_F32, z.data, (int64_t[]){ 5 }), vector(CLP_F32, o, (int64_t[]){ 8 }) };
    OK(t.ctx, clp_run(t.k, arrays, 3, NULL));
    cr_expect(o[4] == 5 && o[5] == -3 && o[7] == -6);
    cr_expect(((float *)z.data)[4] == 15 && guarded_is_whole(&z));
    guarded_free(&z);
    bench_close(&t);
}

Test(interp, strides_of_any_sign)
{
    bench t;
    int32_t x[12], o[12] = { 0 };
    for (int i = 0; i < 12; i++)
        x[i] = i;
    bench_open(&t, "kernel k(in x: i32[M, N] block [2, 3] at (i, j), out o: i32[M, N] block [2, 3] at (i, j)) grid (i = cdiv(M, 2), j = cdiv(N, 3)) { o[...] = x[...] + 100; }");
    clp_array arrays[] = { { .dtype = CLP_I32, .rank = 2, .shape = (int64_t[]){ 4, 3 }, .strides = (int64_t[]){ -1, 4 }, .data = x, .offset = 3 },
                           { .dtype = CLP_I32, .rank = 2, .shape = (int64_t[]){ 4, 3 }, .strides = (int64_t[]){ 3, -1 }, .data = o, .offset = 2 } };
    OK(t.ctx, clp_run(t.k, arrays, 2, NULL));
    for (int m = 0; m < 4; m++)
        for (int n = 0; n < 3; n++)
            cr_expect_eq(o[2 + 3 * m - n], 100 + x[3 - m + 4 * n], "(%d, %d)", m, n);
    bench_close(&t);
}

Test(interp, nibbles_leave_their_neighbours_alone)
{
    bench t;
    uint8_t x[4] = { 0x21, 0x43, 0x65, 0x87 };
    bench_open(&t, "kernel k(inout x: u4[N] block [3] at (i)) grid (i = 2) { x[...] = x[...] + 1u8; x[ds(0, 1)] = 31u8; }");
    clp_array arrays[] = { vector(CLP_U4, x, (int64_t[]){ 7 }) };
    OK(t.ctx, clp_run(t.k, arrays, 1, NULL));
    cr_expect(x[0] == 0x3f && x[1] == 0xf4 && x[2] == 0x76 && x[3] == 0x87, "%02x %02x %02x %02x", x[0], x[1], x[2], x[3]);
    bench_close(&t);
}

Test(interp, the_highest_lane_of_a_store_wins)
{
    bench t;
    int32_t o[4] = { -1, -1, -1, -1 };
    bench_open(&t, "kernel k(inout o: i32[4]) grid () { o[iota([8]) / 3] = iota([8]); }");
    clp_array arrays[] = { vector(CLP_I32, o, (int64_t[]){ 4 }) };
    OK(t.ctx, clp_run(t.k, arrays, 1, NULL));
    cr_expect(o[0] == 2 && o[1] == 5 && o[2] == 7 && o[3] == -1);
    bench_close(&t);
}

Test(interp, atomics_count_duplicates_and_return_old_values)
{
    bench t;
    int32_t h[3] = { 10, 20, 30 }, o[6], c[2] = { 5, 6 };
    float f[2] = { 1, NAN };
    bench_open(&t, "kernel k(inout h: i32[3], out o: i32[6], inout c: i32[2], inout f: f32[2]) grid () {\n"
                   "  o[...] = atomic_add(h[iota([6]) % 2], full([6], 1), mask = iota([6]) != 5);\n"
                   "  let a = atomic_cas(c[0], 5, 7); let b = atomic_cas(c[1], 5, 7); assert(a == 5 && b == 6, \"old\");\n"
                   "  let e = atomic_max(f[iota([2])], full([2], 2.0)); }");
    clp_array arrays[] = { vector(CLP_I32, h, (int64_t[]){ 3 }), vector(CLP_I32, o, (int64_t[]){ 6 }), vector(CLP_I32, c, (int64_t[]){ 2 }),
                           vector(CLP_F32, f, (int64_t[]){ 2 }) };
    OK(t.ctx, clp_run(t.k, arrays, 4, NULL));
    cr_expect(h[0] == 13 && h[1] == 22 && h[2] == 30);
    cr_expect(o[0] == 10 && o[2] == 11 && o[4] == 12 && o[3] == 21 && o[5] == 0);
    cr_expect(c[0] == 7 && c[1] == 6 && f[0] == 2 && isnan(f[1]));
    bench_close(&t);
}

Test(interp, scratch_is_poison_in_every_sequence)
{
    bench t;
    int32_t o[6] = { 0 };
    bench_open(&t, "kernel k(out o: i32[M, N] block [1, 1] at (i, j), scratch s: i32[3]) grid (i = M, j = N arbitrary) {\n"
                   "  o[0, 0] = s[1]; s[1] = j; }");
    clp_array arrays[] = { tile(CLP_I32, o, (int64_t[]){ 2, 3 }, 2) };
    OK(t.ctx, clp_run(t.k, arrays, 1, NULL));
    cr_expect(o[0] == INT32_MIN && o[1] == 0 && o[2] == 1 && o[3] == INT32_MIN && o[4] == 0);
    bench_close(&t);
}

Test(interp, an_array_without_elements_reads_pad)
{
    bench t;
    float o[4] = { 0 };
    bench_open(&t, "kernel k(in x: f32[N] block [4] at (0) pad 6, out z: f32[N] block [4] at (0), out o: f32[4]) grid () { z[...] = x[...]; o[...] = x[...] + x[1]; }");
    clp_array arrays[] = { vector(CLP_F32, o, (int64_t[]){ 0 }), vector(CLP_F32, o, (int64_t[]){ 0 }), vector(CLP_F32, o, (int64_t[]){ 4 }) };
    OK(t.ctx, clp_run(t.k, arrays, 3, NULL));
    cr_expect(o[0] == 12 && o[3] == 12);
    bench_close(&t);
}

Test(interp, small_floats_keep_their_bits_and_round_on_every_operation)
{
    bench t;
    uint8_t x[4] = { 0x38, 0x7e, 0x01, 0xff }, y[4] = { 0 };     /* f8e4m3: 1, 448, 2^-9, NaN */
    uint16_t h[3] = { 0 };
    float d[1] = { 0 };
    double w[3] = { 1.00048828125 + 1e-9, 65520.0, 2049.0 };     /* f16: just above half way to 1 + 2^-10; beyond; a tie */
    bench_open(&t, "kernel k(in x: f8e4m3[4], out y: f8e4m3[4], in w: f64[3], out h: f16[3], out d: f32[1]) grid () {\n"
                   "  y[...] = x[...]; h[...] = cast(w[...], f16); d[0] = sum(dot(reshape(x[ds(0, 2)], [1, 2]), reshape(x[ds(0, 2)], [2, 1])));\n"
                   "  let a = cast(2048, f16); assert((a + 1.0f16) + 1.0f16 == a, \"rounded twice\"); }");
    clp_array arrays[] = { vector(CLP_F8E4M3, x, (int64_t[]){ 4 }), vector(CLP_F8E4M3, y, (int64_t[]){ 4 }), vector(CLP_F64, w, (int64_t[]){ 3 }),
                           vector(CLP_F16, h, (int64_t[]){ 3 }), vector(CLP_F32, d, (int64_t[]){ 1 }) };
    OK(t.ctx, clp_run(t.k, arrays, 5, NULL));
    cr_expect(y[0] == 0x38 && y[1] == 0x7e && y[2] == 0x01 && (y[3] & 0x7f) == 0x7f);
    cr_expect(h[0] == 0x3c01 && h[1] == 0x7c00 && h[2] == 0x6800, "%04x %04x %04x", h[0], h[1], h[2]);
    cr_expect_eq(d[0], 1.0f + 448.0f * 448.0f);
    bench_close(&t);
}

/* ---- Values against memory ---- */

Test(interp, a_load_is_a_snapshot)
{
    bench t;
    float x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, o[8], p[8];
    bench_open(&t, "kernel k(inout x: f32[8], out o: f32[8], out p: f32[8]) grid () {\n"
                   "  let v = x[...]; x[...] = v * 2; o[...] = v;\n"
                   "  let w = x[...]; var s = zeros([8]);\n"
                   "  for (i in 0 .. 3) { s += w; x[...] = s; } p[...] = w; }");
    clp_array arrays[] = { vector(CLP_F32, x, (int64_t[]){ 8 }), vector(CLP_F32, o, (int64_t[]){ 8 }), vector(CLP_F32, p, (int64_t[]){ 8 }) };
    OK(t.ctx, clp_run(t.k, arrays, 3, NULL));
    for (int i = 0; i < 8; i++) {
        cr_expect_eq(o[i], (float)(i + 1));
        cr_expect_eq(p[i], (float)(2 * i + 2));
        cr_expect_eq(x[i], (float)(6 * i + 6));
    }
    bench_close(&t);
}

Test(interp, a_load_is_a_snapshot_of_shared_storage)
{
    bench t;
    float x[4] = { 1, 2, 3, 4 }, p[4];
    bench_open(&t, "kernel k(in x: f32[4], out z: f32[4] alias x, out p: f32[4]) grid () { let v = x[...]; z[...] = v + 10; p[...] = v + x[...]; }");
    clp_array arrays[] = { vector(CLP_F32, x, (int64_t[]){ 4 }), vector(CLP_F32, x, (int64_t[]){ 4 }), vector(CLP_F32, p, (int64_t[]){ 4 }) };
    OK(t.ctx, clp_run(t.k, arrays, 3, NULL));
    for (int i = 0; i < 4; i++)
        cr_expect_eq(p[i], (float)(2 * (i + 1) + 10));
    bench_close(&t);
}

Test(interp, carried_values_change_places)
{
    bench t;
    int32_t o[6] = { 0 };
    bench_open(&t, "kernel k(out o: i32[2, 3]) grid () {\n"
                   "  var a = iota([3]); var b = iota([3]) + 10;\n"
                   "  for (i in 0 .. 3) { let c = a; a = b; b = c + i; }\n"
                   "  o[0, :] = a; o[1, :] = b; }");
    clp_array arrays[] = { tile(CLP_I32, o, (int64_t[]){ 2, 3 }, 2) };
    OK(t.ctx, clp_run(t.k, arrays, 1, NULL));
    /* (a, b) -> (b, a + i), three times */
    for (int l = 0; l < 3; l++) {
        int32_t a = l, b = l + 10;
        for (int i = 0; i < 3; i++) {
            int32_t c = a;
            a = b;
            b = c + i;
        }
        cr_expect(o[l] == a && o[3 + l] == b, "lane %d: %d %d", l, o[l], o[3 + l]);
    }
    bench_close(&t);
}

Test(interp, branches_and_loops_nest)
{
    bench t;
    int32_t o[5] = { 0 };
    bench_open(&t, "kernel k(out o: i32[N] block [1] at (i)) grid (i = N) {\n"
                   "  var s = 0; var n = i; let base = i * 100;\n"
                   "  while (n > 0) {\n"
                   "    if (n % 2 == 0) { for (t in n .. 0 step -1) { s += t; } } else { if (n > 2) { s -= 1; } else { s += 1000; } }\n"
                   "    n -= 1; }\n"
                   "  o[0] = s + base; }");
    clp_array arrays[] = { vector(CLP_I32, o, (int64_t[]){ 5 }) };
    OK(t.ctx, clp_run(t.k, arrays, 1, NULL));
    for (int i = 0; i < 5; i++) {
        int32_t s = 0;
        for (int n = i; n > 0; n--)
            s += n % 2 == 0 ? n * (n + 1) / 2 : n > 2 ? -1 : 1000;
        cr_expect_eq(o[i], s + 100 * i, "program %d: %d", i, o[i]);
    }
    bench_close(&t);
}

Test(interp, print_follows_the_order_of_programs)
{
    bench t;
    bench_open(&t, "kernel k(in x: f32[2]) grid (i = 2, j = 2) { print(\"{} {}\", i, j); if (i == 1) { print(\"x {}\", x[...]); } }");
    float x[2] = { 4.5f, 2.5f };
    clp_array arrays[] = { vector(CLP_F32, x, (int64_t[]){ 2 }) };
    OK(t.ctx, clp_run(t.k, arrays, 1, NULL));
    static const char *const expected[] = { "0 0", "0 1", "1 0", "x [4.5 2.5]", "1 1", "x [4.5 2.5]" };
    cr_assert_eq(t.lines.n, 6);
    for (int i = 0; i < 6; i++)
        cr_expect_str_eq(t.lines.text[i], expected[i]);
    t.lines.n = 0;
    OK(t.ctx, clp_run(t.k, arrays, 1, &(clp_run_opts){ .order = CLP_ORDER_REVERSE }));
    cr_expect_str_eq(t.lines.text[0], "1 1");
    bench_close(&t);
}

Test(interp, print_has_braces_when_they_are_doubled)
{
    bench t;
    bench_open(&t, "kernel k(in x: f32[2]) grid () { print(\"{{}} {{{}}} }}{{\", 7); print(\"{{\"); }");
    float x[2] = { 0, 0 };
    clp_array arrays[] = { vector(CLP_F32, x, (int64_t[]){ 2 }) };
    OK(t.ctx, clp_run(t.k, arrays, 1, NULL));
    cr_assert_eq(t.lines.n, 2);
    cr_expect_str_eq(t.lines.text[0], "{} {7} }{");
    cr_expect_str_eq(t.lines.text[1], "{");
    bench_close(&t);
}

/* ---- Orders ---- */

Test(interp, every_order_is_a_permutation)
{
    for (uint64_t n = 1; n < 200; n += n < 20 ? 1 : 13)
        for (uint64_t seed = 0; seed < 5; seed++) {
            bool seen[200] = { false };
            for (uint64_t i = 0; i < n; i++) {
                uint64_t s = clpi_sequence_at(CLP_ORDER_SHUFFLE, seed, n, i);
                cr_assert(s < n && !seen[s], "n %d, seed %d", (int)n, (int)seed);
                seen[s] = true;
            }
        }
    int moved = 0;
    for (uint64_t i = 0; i < 100; i++)
        moved += clpi_sequence_at(CLP_ORDER_SHUFFLE, 1, 100, i) != clpi_sequence_at(CLP_ORDER_SHUFFLE, 2, 100, i);
    cr_expect(moved > 80, "seeds differ in %d of 100 places", moved);
}

/* ---- Far elements ---- */

/* C41: a block that starts past the 31st bit. The memory is reserved and only its last page is touched. */
Test(interp, blocks_start_past_two_gigabytes)
{
    enum { ROWS = 320, WIDTH = 7864320 };
    const size_t n_bytes = (size_t)ROWS * WIDTH;
    bench t;
    bench_open(&t, "kernel k<w = 7864320>(inout x: i8[R, N] block [1, w] at (i, 0)) grid (i = R)\n"
                   "{ x[0, w - 1] = x[0, w - 2] + 2; }");
    int8_t *x = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (x == MAP_FAILED)
        cr_skip_test("no room for 2.5 GB of addresses");
    x[n_bytes - 2] = 40;
    clp_array arrays[] = { tile(CLP_I8, x, (int64_t[]){ ROWS, WIDTH }, 2) };
    OK(t.ctx, clp_run(t.k, arrays, 1, &(clp_run_opts){ .grid_start = (int64_t[]){ 319 }, .grid_count = (int64_t[]){ 1 } }));
    cr_expect_eq(x[n_bytes - 1], 42);
    munmap(x, n_bytes);
    bench_close(&t);
}
