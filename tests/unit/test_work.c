/* What a launch computes and moves, against counts worked out by hand. */
#include "planned.h"
#include "plan/work.h"

typedef struct counted {
    planned    p;
    arrays     a;
    clpi_bound *bound;
    clpi_work  work;
} counted;

/* Prefetched data: 8 row numbers. */
static const int64_t table[8] = { 2, 2, 5, 0, 0, 0, 5, 5 };

static bool read_table(void *user, int operand, const int64_t *index, int64_t *out_value)
{
    (void)user;
    (void)operand;
    *out_value = index[0] >= 0 && index[0] < 8 ? table[index[0]] : 0;
    return index[0] >= 0 && index[0] < 8;
}

static void count_with(counted *c, const char *text, const char *spec, const clpi_prefetch *prefetch)
{
    planned_ok(&c->p, text);
    arrays_make(&c->a, spec);
    cr_assert_eq(arrays_bind(&c->p, &c->a, &c->bound), CLP_OK, "%s", clpi_error_text(&c->p.env));
    cr_assert_eq(clpi_work_count(c->bound, prefetch, &c->p.arena, &c->work), CLP_OK);
}

static void count(counted *c, const char *text, const char *spec)
{
    static const clpi_prefetch prefetch = { read_table, NULL };
    count_with(c, text, spec, &prefetch);
}

static double ops_of(const counted *c, bool is_dot, clp_dtype dtype)
{
    double n = 0;
    for (int i = 0; i < c->work.n_lines; i++)
        if (c->work.lines[i].is_dot == is_dot && c->work.lines[i].dtype == dtype)
            n += c->work.lines[i].ops;
    return n;
}

static const clpi_work_traffic *traffic_of(const counted *c, const char *name)
{
    for (int i = 0; i < c->work.n_operands; i++)
        if (!strcmp(c->p.ir->operands[c->work.operands[i].operand].name, name))
            return &c->work.operands[i];
    cr_assert_fail("%s moves nothing", name);
    return NULL;
}

/* fetches: of blocks; the rest in bytes. */
static void expect_traffic(const counted *c, const char *name, double fetches, double read, double written, double once)
{
    const clpi_work_traffic *t = traffic_of(c, name);
    cr_expect_eq(t->fetches, fetches, "%s: %g fetches, expected %g", name, t->fetches, fetches);
    cr_expect_eq(t->read, read, "%s: %g bytes read, expected %g", name, t->read, read);
    cr_expect_eq(t->written, written, "%s: %g bytes written, expected %g", name, t->written, written);
    cr_expect_eq(t->read_once + t->written_once, once, "%s: %g bytes once, expected %g", name, t->read_once + t->written_once, once);
    cr_expect(t->is_exact, "%s", name);
}

static void expect_ops(const counted *c, bool is_dot, clp_dtype dtype, double expected)
{
    const double got = ops_of(c, is_dot, dtype);
    cr_expect_eq(got, expected, "%s%s: %.17g operations, expected %.17g", is_dot ? "dot " : "", clp_dtype_name(dtype), got, expected);
}

#define MATMUL                                                                                                         \
    "kernel mm(in x: f32[M, K] block [8, 16] at (i, k) pad 0, in y: f32[K, N] block [16, 4] at (k, j) pad 0,\n"         \
    "    out z: f32[M, N] block [8, 4] at (i, j), scratch acc: f32[8, 4])\n"                                            \
    "grid (i = cdiv(M, 8), j = cdiv(N, 4), k = cdiv(K, 16) arbitrary)\n"                                                \
    "{ if (first(k)) { acc[...] = 0; } acc[...] += dot(x[...], y[...]); if (last(k)) { z[...] = 2 * acc[...]; } }"

Test(work, matmul_in_whole_blocks)
{
    counted c;
    count(&c, MATMUL, "f32[32, 64] f32[64, 8] f32[32, 8]"); /* 4 x 2 x 4 programs */
    cr_expect_eq(c.work.programs, 32);
    expect_ops(&c, true, CLP_F32, 2.0 * 32 * 64 * 8);
    expect_ops(&c, false, CLP_F32, 32 * 8 * 4 + 32 * 8); /* += at each of 4 steps, 2 * at the last */
    expect_traffic(&c, "x", 32, 32 * 64 * 4 * 2, 0, 32 * 64 * 4);
    expect_traffic(&c, "y", 32, 64 * 8 * 4 * 4, 0, 64 * 8 * 4);
    expect_traffic(&c, "z", 8, 0, 32 * 8 * 4, 32 * 8 * 4);
    cr_expect_eq(traffic_of(&c, "x")->block_bytes, 8 * 16 * 4);
    cr_expect_eq(traffic_of(&c, "x")->axes, 5u);
    cr_expect_eq(c.work.bytes_once, 4 * (32 * 64 + 64 * 8 + 32 * 8));
    cr_expect(c.work.ops_are_exact && c.work.bytes_are_exact);
    planned_done(&c.p);
}

Test(work, matmul_clipped_at_edges)
{
    counted c;
    count(&c, MATMUL, "f32[20, 40] f32[40, 9] f32[20, 9]"); /* 3 x 3 x 3 programs */
    expect_ops(&c, true, CLP_F32, 2.0 * 20 * 40 * 9);
    expect_ops(&c, false, CLP_F32, 20 * 9 * 3 + 20 * 9);
    expect_traffic(&c, "x", 27, 20 * 40 * 4 * 3, 0, 20 * 40 * 4);
    expect_traffic(&c, "y", 27, 40 * 9 * 4 * 3, 0, 40 * 9 * 4);
    expect_traffic(&c, "z", 9, 0, 20 * 9 * 4, 20 * 9 * 4);
    planned_done(&c.p);
}

/* With one step of k the block of x stays while j moves, and y's comes anew. */
Test(work, a_block_stays_while_its_index_does)
{
    counted c;
    count(&c, MATMUL, "f32[32, 16] f32[16, 12] f32[32, 12]"); /* 4 x 3 x 1 */
    expect_traffic(&c, "x", 4, 32 * 16 * 4, 0, 32 * 16 * 4);
    expect_traffic(&c, "y", 12, 16 * 12 * 4 * 4, 0, 16 * 12 * 4);
    expect_traffic(&c, "z", 12, 0, 32 * 12 * 4, 32 * 12 * 4);
    planned_done(&c.p);
    count(&c, MATMUL, "f32[32, 16] f32[16, 4] f32[32, 4]"); /* 4 x 1 x 1: nor does y's move */
    expect_traffic(&c, "y", 1, 16 * 4 * 4, 0, 16 * 4 * 4);
    planned_done(&c.p);
}

Test(work, a_box_counts_what_it_runs)
{
    counted c;
    planned_ok(&c.p, MATMUL);
    arrays_make(&c.a, "f32[32, 64] f32[64, 8] f32[32, 8]");
    const clpi_launch_args args = { c.a.array, c.a.n, NULL, 0, (int64_t[]){ 1, 1, 0 }, (int64_t[]){ 2, 1, 4 }, false };
    cr_assert_eq(clpi_bind(c.p.plan, &args, &c.p.arena, &c.bound), CLP_OK, "%s", clpi_error_text(&c.p.env));
    cr_assert_eq(clpi_work_count(c.bound, NULL, &c.p.arena, &c.work), CLP_OK);
    expect_ops(&c, true, CLP_F32, 2.0 * 16 * 64 * 4);
    expect_traffic(&c, "x", 8, 16 * 64 * 4, 0, 16 * 64 * 4);
    expect_traffic(&c, "z", 2, 0, 16 * 4 * 4, 16 * 4 * 4);
    planned_done(&c.p);
}

Test(work, softmax_of_rows_that_end_inside_their_block)
{
    counted c;
    count(&c, "kernel s(in x: f32[R, N] block [8, 64] at (i, 0) pad -inf, out o: f32[R, N] block [8, 64] at (i, 0))\n"
              "grid (i = cdiv(R, 8)) { let v = x[...]; let e = exp(v - max(v, axis = 1, keepdims = true));\n"
              "    o[...] = e / sum(e, axis = 1, keepdims = true); }", "f32[20, 50] f32[20, 50]");
    /* max 1, subtraction 1, exp 25, sum 1, division 4 */
    expect_ops(&c, false, CLP_F32, 20 * 50 * (1 + 1 + 25 + 1 + 4));
    expect_traffic(&c, "x", 3, 20 * 50 * 4, 0, 20 * 50 * 4);
    expect_traffic(&c, "o", 3, 0, 20 * 50 * 4, 20 * 50 * 4);
    planned_done(&c.p);
}

Test(work, addition_and_a_scalar)
{
    counted c;
    count(&c, "kernel a(in x: f16[N] block [32] at (i), inout y: f16[N] block [32] at (i), scalar s: f16)\n"
              "grid (i = cdiv(N, 32)) { y[...] = y[...] + s * x[...]; }", "f16[100] f16[100] f16=0");
    expect_ops(&c, false, CLP_F16, 200);
    expect_traffic(&c, "x", 4, 200, 0, 200);
    expect_traffic(&c, "y", 4, 200, 200, 400);
    cr_expect_eq(c.work.flops, 200);
    cr_expect_eq(c.work.int_ops, 0);
    planned_done(&c.p);
}

#define ATTENTION(condition)                                                                                           \
    "kernel a(in q: f32[H, Q, 8] block [_, 16, 8] at (h, i, 0), in k: f32[G, S, 8] block [_, 4, 8] at (h / 2, t, 0),\n"  \
    "    out o: f32[H, Q] block [_, 16] at (h, i), scratch l: f32[16])\n"                                               \
    "grid (h = H, i = cdiv(Q, 16), t = cdiv(S, 4) arbitrary)\n"                                                          \
    "{ if (first(t)) { l[...] = 0; }\n"                                                                                  \
    "  if (" condition ") { l[...] += sum(dot(q[...], transpose(k[...])), axis = 1); }\n"                              \
    "  if (last(t)) { o[...] = l[...]; } }"

/* Blocks above the diagonal are left out where program ids say so: of 4 x 16 blocks of keys, 4, 8, 12 and 16 are not. */
Test(work, causal_attention_counts_the_blocks_that_run)
{
    counted c;
    count(&c, ATTENTION("4 * t < 16 * (i + 1)"), "f32[2, 64, 8] f32[1, 64, 8] f32[2, 64]");
    expect_ops(&c, true, CLP_F32, 2.0 * 2 * 40 * 16 * 4 * 8);
    expect_ops(&c, false, CLP_F32, 2.0 * 40 * (16 * 4 + 16));
    expect_traffic(&c, "q", 8, 2 * 64 * 8 * 4, 0, 2 * 64 * 8 * 4);
    expect_traffic(&c, "k", 128, 128 * 4 * 8 * 4, 0, 64 * 8 * 4); /* fetched for every (h, i, t) */
    expect_traffic(&c, "o", 8, 0, 2 * 64 * 4, 2 * 64 * 4);
    cr_expect(c.work.ops_are_exact);
    planned_done(&c.p);
}

/* 8 heads share 4 heads of keys; with one block of queries and of keys the keys stay for two heads in a row. */
Test(work, grouped_heads_share_a_block)
{
    counted c;
    count(&c, ATTENTION("true"), "f32[8, 16, 8] f32[4, 4, 8] f32[8, 16]");
    expect_ops(&c, true, CLP_F32, 2.0 * 8 * 16 * 4 * 8);
    expect_traffic(&c, "k", 4, 4 * 4 * 8 * 4, 0, 4 * 4 * 8 * 4);
    expect_traffic(&c, "q", 8, 8 * 16 * 8 * 4, 0, 8 * 16 * 8 * 4);
    planned_done(&c.p);
}

#define GATHER                                                                                                         \
    "kernel g(prefetch t: i32[N], in x: f32[R, C] block [_, 8] at (t[i], j), out o: f32[N, C] block [_, 8] at (i, j))\n" \
    "grid (i = N, j = cdiv(C, 8)) { o[...] = x[...]; }"

/* Rows 2 2 5 0 0 0 5 5: in one block a row each, a row that comes again stays; in two blocks it does not. */
Test(work, gathered_rows_by_the_data)
{
    counted c;
    count(&c, GATHER, "i32[8] f32[6, 8] f32[8, 8]");
    expect_traffic(&c, "x", 4, 4 * 8 * 4, 0, 4 * 8 * 4);
    expect_traffic(&c, "t", 1, 32, 0, 32);
    expect_traffic(&c, "o", 8, 0, 8 * 8 * 4, 8 * 8 * 4);
    planned_done(&c.p);
    count(&c, GATHER, "i32[8] f32[6, 12] f32[8, 12]"); /* j = 0, 1, and 4 of 8 columns in the second block */
    expect_traffic(&c, "x", 16, 8 * 12 * 4, 0, 6 * 12 * 4);
    planned_done(&c.p);
}

Test(work, without_data_gathered_blocks_are_an_estimate)
{
    counted c;
    count_with(&c, GATHER, "i32[8] f32[6, 8] f32[8, 8]", NULL);
    cr_expect_eq(traffic_of(&c, "x")->read, 8 * 8 * 4);
    cr_expect(!traffic_of(&c, "x")->is_exact && !c.work.bytes_are_exact && traffic_of(&c, "o")->is_exact);
    planned_done(&c.p);
}

/* An output that is revisited after others were seen goes out, and comes back, each time. */
Test(work, revisited_outputs_are_written_once_per_run_of_equal_places)
{
    counted c;
    count(&c, "kernel r(in x: i32[A, B, 8] block [_, _, 8] at (a, b, 0), inout o: i32[A, 8] block [_, 8] at (a, 0))\n"
              "grid (b = B arbitrary, a = A arbitrary) { o[...] += x[...]; }", "i32[3, 5, 8] i32[3, 8]");
    expect_traffic(&c, "o", 15, 15 * 32, 15 * 32, 2 * 3 * 32);
    expect_traffic(&c, "x", 15, 15 * 32, 0, 15 * 32);
    expect_ops(&c, false, CLP_I32, 15 * 8);
    planned_done(&c.p);
    count(&c, "kernel r(in x: i32[A, B, 8] block [_, _, 8] at (a, b, 0), inout o: i32[A, 8] block [_, 8] at (a, 0))\n"
              "grid (a = A, b = B arbitrary) { o[...] += x[...]; }", "i32[3, 5, 8] i32[3, 8]");
    expect_traffic(&c, "o", 3, 3 * 32, 3 * 32, 2 * 3 * 32);
    planned_done(&c.p);
}

/* Windows of 10 at steps of 8, one outside each end: 9 elements in the first, 10 in the second, 4 + 1 in the last. */
Test(work, windows_overlap)
{
    counted c;
    count(&c, "kernel w(in x: f32[N] block [element(10, pad = (1, 1))] at (i * 8) pad 0, out o: f32[N] block [8] at (i))\n"
              "grid (i = cdiv(N, 8)) { o[...] = x[0:8] + x[2:10]; }", "f32[20] f32[20]");
    expect_traffic(&c, "x", 3, (9 + 10 + 5) * 4, 0, 20 * 4);
    expect_ops(&c, false, CLP_F32, 20);
    planned_done(&c.p);
}

/* Without a block: what loads address. h is looked up at places that data say. */
Test(work, accesses_to_whole_arrays)
{
    counted c;
    count(&c, "kernel h(in x: i32[N] block [16] at (i) pad -1, inout h: i32[B], in w: f32[4, C])\n"
              "grid (i = cdiv(N, 16)) { let v = x[...]; atomic_add(h[v], 1, mask = v >= 0); if (w[0, 0] > 0.0) { h[0] = 1; }\n"
              "    for (s in 0 .. 3) { if (w[s, i] > 0.0) { h[1] = 2; } } }", "i32[64] i32[10] f32[4, 8]");
    cr_expect_eq(traffic_of(&c, "x")->read, 64 * 4);
    cr_expect_eq(traffic_of(&c, "h")->read, 64 * 4);
    cr_expect_eq(traffic_of(&c, "h")->written, 64 * 4 + 4 + 4);
    cr_expect_eq(traffic_of(&c, "w")->read, 4 + 4 * 3 * 4);
    cr_expect_eq(ops_of(&c, false, CLP_F32), 4 + 4 * 3);
    planned_done(&c.p);
}

Test(work, loops_run_as_often_as_their_bounds_say)
{
    counted c;
    count(&c, "kernel l(in x: f32[N] block [4] at (i), out o: f32[N] block [4] at (i), scalar n: i32)\n"
              "grid (i = N / 4) { var v = x[...]; for (s in i .. n step 2) { v = v * v; } o[...] = v; }", "f32[16] f32[16] i32=5");
    expect_ops(&c, false, CLP_F32, 4 * (3 + 2 + 2 + 1)); /* 0 2 4, 1 3, 2 4, 3 */
    cr_expect(c.work.ops_are_exact);
    planned_done(&c.p);
}

Test(work, what_data_decide_is_no_exact_count)
{
    counted c;
    count(&c, "kernel d(in x: f32[N] block [8] at (i), out o: f32[N] block [8] at (i))\n"
              "grid (i = N / 8) { if (x[0] > 0.0) { o[...] = x[...] + 1; } else { o[...] = dot(x[...][None, :], x[...][:, None])[0, :] * x[...]; } }",
          "f32[16] f32[16]");
    cr_expect(!c.work.ops_are_exact && !c.work.dots_are_exact && c.work.bytes_are_exact);
    planned_done(&c.p);
}

/* ---- Program after program ---- */

/* Blocks and their elements as the programs see them, one after another. */
static void walk(const counted *c, int operand, double *out_fetches, double *out_elems)
{
    static const clpi_prefetch prefetch = { read_table, NULL };
    const int rank = c->p.ir->operands[operand].rank;
    clpi_window now[CLP_MAX_RANK], before[CLP_MAX_RANK];
    int64_t program[CLPI_MAX_AXES];
    *out_fetches = *out_elems = 0;
    for (uint64_t n = 0; n < c->bound->n_sequences * c->bound->n_steps; n++) {
        bool stays = n > 0;
        double elems = 1;
        clpi_program_at(c->bound, n / c->bound->n_steps, n % c->bound->n_steps, program);
        cr_assert(clpi_windows(c->bound, operand, program, &prefetch, now));
        for (int d = 0; d < rank; d++) {
            stays = stays && now[d].start == before[d].start;
            elems *= (double)(now[d].hi - now[d].lo);
        }
        memcpy(before, now, sizeof before);
        *out_fetches += !stays;
        *out_elems += stays ? 0 : elems;
    }
}

#define MAPPED(blocks, map, grid)                                                                                      \
    "kernel m(prefetch t: i32[T], in x: f32[A, B, C] block " blocks " at " map ", inout o: f32[1, 1, 1])\n"           \
    "grid " grid " { o[0, 0, 0] = o[0, 0, 0] + cast(rank(x) == 3, f32) + sum(x[...]); }"

Test(work, traffic_is_what_programs_see_one_after_another)
{
    static const struct { const char *text, *spec; int64_t start[3], count[3]; } rows[] = {
        { MAPPED("[2, 3, 4]", "(i, j, k)", "(i = 4, j = 3, k = 3)"), "i32[8] f32[7, 8, 10] f32[1, 1, 1]", { 0 }, { 0 } },
        { MAPPED("[2, 3, 4]", "(k, i, j)", "(i = 3, j = 3, k = 4)"), "i32[8] f32[7, 8, 10] f32[1, 1, 1]", { 0 }, { 0 } },
        { MAPPED("[2, 3, 4]", "(k, i, j)", "(i = 3 arbitrary, j = 3, k = 4 arbitrary)"), "i32[8] f32[7, 8, 10] f32[1, 1, 1]", { 0 }, { 0 } },
        { MAPPED("[2, 3, 4]", "(j, 0, j / 2)", "(i = 3, j = 4, k = 5)"), "i32[8] f32[7, 8, 10] f32[1, 1, 1]", { 0 }, { 0 } },
        { MAPPED("[2, 3, 4]", "(3 - i, 1, min(i, k))", "(i = 4, j = 2, k = 3)"), "i32[8] f32[7, 8, 10] f32[1, 1, 1]", { 0 }, { 0 } },
        { MAPPED("[2, 3, 4]", "((i + k) % 4, (j * k) % 3, (i * j) % 3)", "(i = 4, j = 5 arbitrary, k = 6)"),
          "i32[8] f32[7, 8, 10] f32[1, 1, 1]", { 0 }, { 0 } },
        { MAPPED("[2, 3, 4]", "((i + k) % 4, (j * k) % 3, (i * j) % 3)", "(i = 4, j = 5, k = 6)"), "i32[8] f32[7, 8, 10] f32[1, 1, 1]",
          { 1, 2, 3 }, { 3, 2, 2 } },
        { MAPPED("[element(4, pad = (2, 2)), _, 5]", "(2 * i + k, j, 0)", "(i = 3, j = 8, k = 2)"), "i32[8] f32[7, 8, 10] f32[1, 1, 1]", { 0 }, { 0 } },
        { MAPPED("[_, 3, 4]", "(t[i], j, k / 2)", "(i = 8, j = 3, k = 4)"), "i32[8] f32[7, 8, 10] f32[1, 1, 1]", { 0 }, { 0 } },
        { MAPPED("[_, 3, 4]", "(t[(i + 3 * k) % 8], 0, 2 - j)", "(i = 5, j = 3 arbitrary, k = 7 arbitrary)"), "i32[8] f32[7, 8, 10] f32[1, 1, 1]", { 0 }, { 0 } },
        { MAPPED("[_, 3, 4]", "(t[i], t[k] / 2, 0)", "(i = 1, j = 3, k = 8)"), "i32[8] f32[7, 8, 10] f32[1, 1, 1]", { 0 }, { 0 } },
    };
    static const clpi_prefetch prefetch = { read_table, NULL };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        counted c;
        double fetches, elems;
        planned_ok(&c.p, rows[r].text);
        arrays_make(&c.a, rows[r].spec);
        const bool has_box = rows[r].count[0] > 0;
        const clpi_launch_args args = { c.a.array, c.a.n, NULL, 0, has_box ? rows[r].start : NULL, has_box ? rows[r].count : NULL, false };
        cr_assert_eq(clpi_bind(c.p.plan, &args, &c.p.arena, &c.bound), CLP_OK, "row %zu: %s", r, clpi_error_text(&c.p.env));
        cr_assert_eq(clpi_work_count(c.bound, &prefetch, &c.p.arena, &c.work), CLP_OK);
        walk(&c, 1, &fetches, &elems);
        const clpi_work_traffic *t = traffic_of(&c, "x");
        cr_expect_eq(t->fetches, fetches, "row %zu: %g fetches, seen %g", r, t->fetches, fetches);
        cr_expect_eq(t->read, 4 * elems, "row %zu: %g bytes, seen %g", r, t->read, 4 * elems);
        cr_expect(t->is_exact && elems > 0, "row %zu", r);
        planned_done(&c.p);
    }
}

/* Sums are products: 2^37 programs cost no more than a few. Edges and first steps of axes that are sampled are not lost. */
Test(work, a_huge_grid)
{
    counted c;
    count(&c, "kernel z(in x: f32[M, K] block [_, 1] at (i, k), out o: f32[M] block [_] at (i), scratch acc: f32[1])\n"
              "grid (i = M, k = K arbitrary) { if (first(k)) { acc[0] = 0; } acc[0] += x[0]; if (last(k)) { o[] = 3 * acc[0]; } }",
          "f32[262144, 524288] f32[262144]");
    expect_ops(&c, false, CLP_F32, 262144.0 * 524288 + 262144);
    expect_traffic(&c, "o", 262144, 0, 262144.0 * 4, 262144.0 * 4);
    expect_traffic(&c, "x", 262144.0 * 524288, 262144.0 * 524288 * 4, 0, 262144.0 * 524288 * 4);
    planned_done(&c.p);
    count(&c, "kernel e(in x: f32[N] block [3] at (i), out o: f32[N] block [3] at (i)) grid (i = cdiv(N, 3)) { o[...] = -x[...]; }",
          "f32[1000000000] f32[1000000000]");
    expect_ops(&c, false, CLP_F32, 1e9);
    expect_traffic(&c, "x", 333333334, 4e9, 0, 4e9);
    planned_done(&c.p);
}

Test(work, nothing_runs)
{
    counted c;
    count(&c, MATMUL, "f32[0, 64] f32[64, 8] f32[0, 8]");
    cr_expect(c.work.programs == 0 && c.work.flops == 0 && c.work.bytes_once == 0 && c.work.bytes_streamed == 0);
    planned_done(&c.p);
}
