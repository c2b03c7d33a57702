/* Static proofs: kernels whose verdicts are known, and random ones whose verdicts are compared with what they do. */
#include <stdlib.h>

#include <criterion/criterion.h>

#include "check/prove.h"
#include "unit/planned.h"
#include "unit/prove_random.h"

/* ---- Kernels with known verdicts ---- */

/* "races o proved; block x found; index o:5 open": what is not about blocks that are proved. */
static void verdicts_print(const clpi_ir *ir, const clpi_proofs *proofs, clpi_str *s)
{
    static const char *const kinds[] = { [CLPI_CLAIM_NO_RACE] = "races", [CLPI_CLAIM_BLOCK_INSIDE] = "block", [CLPI_CLAIM_INDEX_INSIDE] = "index" };
    static const char *const verdicts[] = { [CLPI_PROVED] = "proved", [CLPI_FOUND] = "found", [CLPI_UNDECIDED] = "open" };
    for (int i = 0; i < proofs->n; i++) {
        const clpi_claim *c = &proofs->claims[i];
        if (c->kind == CLPI_CLAIM_BLOCK_INSIDE && c->verdict == CLPI_PROVED)
            continue;
        clpi_str_add(s, "%s%s %s %s", s->n ? "; " : "", kinds[c->kind], ir->operands[c->operand].name, verdicts[c->verdict]);
    }
}

static clpi_proofs *prove(planned *p)
{
    clpi_proofs *proofs;
    cr_assert_eq(clpi_prove(&p->env, &p->arena, p->ir, p->plan, &proofs), CLP_OK);
    return proofs;
}

static void check_verdicts(const char *text, const char *expected)
{
    planned p;
    planned_ok(&p, text);
    clpi_str s;
    clpi_str_init(&s, &p.env);
    verdicts_print(p.ir, prove(&p), &s);
    cr_expect_str_eq(s.text, expected, "%s\n  gives     %s\n  expected  %s", text, s.text, expected);
    clpi_str_done(&s);
    planned_done(&p);
}

typedef struct row { const char *text, *expected; } row;

static void check_rows(const row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_verdicts(rows[i].text, rows[i].expected);
}
#define CHECK_ROWS(rows) check_rows((rows), sizeof(rows) / sizeof *(rows))

#define STORE " { o[...] = 1; }"

Test(prove, one_axis_and_its_blocks)
{
    static const row rows[] = {
        { "kernel k(out o: i32[N] block [8] at (i)) grid (i = cdiv(N, 8))" STORE, "races o proved" },
        { "kernel k(out o: i32[N] block [8] at (i)) grid (i = N / 8)" STORE, "races o proved" },
        { "kernel k(out o: i32[N] block [8] at (i)) grid (i = cdiv(N, 8) + 1)" STORE, "races o proved; block o found" },
        { "kernel k(out o: i32[N] block [8] at (0)) grid (i = cdiv(N, 8))" STORE, "races o found" },
        { "kernel k(out o: i32[N] block [8] at (0)) grid (i = cdiv(N, 8) arbitrary)" STORE, "races o proved" },
        { "kernel k(out o: i32[N] block [8] at (2 * i)) grid (i = cdiv(N, 16))" STORE, "races o proved" },
        { "kernel k(out o: i32[N] block [_] at (i)) grid (i = N)" STORE, "races o proved" },
        { "kernel k(out o: i32[N] block [8] at (num_programs(i) - 1 - i)) grid (i = cdiv(N, 8))" STORE, "races o proved" },
        { "kernel k(out o: i32[N] block [8] at ((i + 1) % num_programs(i))) grid (i = cdiv(N, 8))" STORE, "races o proved" },
        { "kernel k(out o: i32[N] block [8] at (i % 3)) grid (i = 3) require N > 16" STORE, "races o proved" },
        { "kernel k(out o: i32[N] block [8] at (i % 3)) grid (i = 4) require N > 16" STORE, "races o found" },
        { "kernel k(out o: i32[N] block [8] at (i / 2)) grid (i = cdiv(N, 4))" STORE, "races o found" },
        { "kernel k(out o: i32[N] block [8] at (min(i, cdiv(N, 8) - 1))) grid (i = cdiv(N, 8) + 1)" STORE, "races o found" },
        { "kernel k(out o: i32[N] block [8] at (min(i, cdiv(N, 8) - 1))) grid (i = cdiv(N, 8))" STORE, "races o proved" },
        { "kernel k(out o: i32[N] block [8] at (i)) grid (i = N)" STORE, "races o proved; block o found" },
        { "kernel k(out o: i32[N] block [8] at (i)) grid (i = 1)" STORE, "races o proved" },
        { "kernel k(out o: i32[N] block [8] at (i - 1)) grid (i = cdiv(N, 8))" STORE, "races o proved; block o found" },
    };
    CHECK_ROWS(rows);
}

Test(prove, several_axes)
{
    static const row rows[] = {
        { "kernel k(out o: i32[M, N] block [8, 16] at (i, j)) grid (i = cdiv(M, 8), j = cdiv(N, 16))" STORE, "races o proved" },
        { "kernel k(out o: i32[M, N] block [8, 16] at (j, i)) grid (i = cdiv(N, 16), j = cdiv(M, 8))" STORE, "races o proved" },
        { "kernel k(out o: i32[M, N] block [8, 16] at (i, j)) grid (i = cdiv(M, 8), j = cdiv(N, 16), k = 3)" STORE, "races o found" },
        { "kernel k(out o: i32[M, N] block [8, 16] at (i, j)) grid (k = 3 arbitrary, i = cdiv(M, 8), j = cdiv(N, 16))" STORE, "races o proved" },
        { "kernel k(out o: i32[M, N] block [8, 16] at (i, j)) grid (i = cdiv(M, 8), j = cdiv(N, 16), k = 1)" STORE, "races o proved" },
        { "kernel k(in d: i32[K], out o: i32[M] block [8] at (i)) grid (i = cdiv(M, 8), j = K)" STORE, "races o found" },
        { "kernel k(out o: i32[M * N] block [1] at (i * num_programs(j) + j)) grid (i = M, j = N)" STORE, "races o proved" },
        { "kernel k(out o: i32[M * N] block [1] at (i * N + j)) grid (i = M, j = N)" STORE, "races o proved" },
        { "kernel k(in d: i32[M, N], out o: i32[M * N] block [1] at (i * M + j)) grid (i = M, j = N)" STORE, "races o found; block o found" },
        { "kernel k(out o: i32[M] block [4] at (i + j)) grid (i = cdiv(M, 8), j = 2)" STORE, "races o found; block o found" },
        { "kernel k(out o: i32[M] block [4] at (2 * i + j)) grid (i = cdiv(M, 8), j = 2) require M % 8 == 0" STORE, "races o proved" },
        { "kernel k(out o: i32[N, M] block [2, 3] at (p / cdiv(M, 3), p % cdiv(M, 3))) grid (p = cdiv(N, 2) * cdiv(M, 3))" STORE,
          "races o proved" },
        { "kernel k(scalar w: i32, out o: i32[M, N] block [16, 16] at (p / (2 * w) * 2 + p % (2 * w) % 2, p % (2 * w) / 2)) "
          "grid (p = M / 16 * w) require w > 0, M % 32 == 0, N == 16 * w" STORE, "races o proved; block o open" },
        { "kernel k(in x: i32[A, B, C], out o: i32[A * B * C] block [1] at ((a * B + b) * C + c)) grid (a = A, b = B, c = C)" STORE,
          "races o open; block o open" },   /* the product of three sizes may wrap */
    };
    CHECK_ROWS(rows);
}

Test(prove, windows)
{
    static const row rows[] = {
        { "kernel k(out o: i32[N] block [element(4)] at (3 * i)) grid (i = cdiv(N, 3))" STORE, "races o found" },
        { "kernel k(out o: i32[N] block [element(4)] at (4 * i)) grid (i = cdiv(N, 4))" STORE, "races o proved" },
        { "kernel k(out o: i32[N] block [element(4)] at (5 * i)) grid (i = cdiv(N, 5))" STORE, "races o proved" },
        { "kernel k(out o: i32[N] block [element(4, pad = (1, 1))] at (4 * i)) grid (i = cdiv(N, 4))" STORE, "races o proved" },
        { "kernel k(out o: i32[N] block [element(4, pad = (4, 1))] at (4 * i)) grid (i = cdiv(N, 4))" STORE, "races o proved; block o found" },
        { "kernel k(out o: i32[N] block [element(4)] at (min(4 * i, N - 4))) grid (i = cdiv(N, 4)) require N >= 4" STORE, "races o found" },
        { "kernel k(inout x: i32[N] block [element(10, pad = (1, 1))] at (8 * i)) grid (i = cdiv(N, 8)) { x[1:9] = x[0:8]; }",
          "races x found" },
        { "kernel k(inout x: i32[N] block [element(10, pad = (1, 1))] at (8 * i)) grid (i = cdiv(N, 8)) { x[1:9] = x[1:9] + 1; }",
          "races x proved" },
    };
    CHECK_ROWS(rows);
}

Test(prove, accesses_masks_and_branches)
{
    static const row rows[] = {
        { "kernel k(out o: i32[N]) grid (i = N) { o[i] = 1; }", "races o proved; index o proved" },
        { "kernel k(out o: i32[N]) grid (i = N) { o[0] = 1; }", "races o found; index o proved" },
        { "kernel k(out o: i32[N]) grid (i = N) { if (i == 0) { o[0] = 1; } }", "races o proved; index o proved" },
        { "kernel k(out o: i32[N]) grid (i = N) { if (first(i)) { o[0] = 1; } if (last(i)) { o[0] = 1; } }",
          "races o found; index o proved; index o proved" },
        { "kernel k(out o: i32[8]) grid (i = 2) { o[ds(2 * i, 2, 4)] = 1; }", "races o proved; index o proved" },
        { "kernel k(out o: i32[8]) grid (i = 2) { o[ds(i, 4, 2)] = 1; }", "races o proved; index o proved" },
        { "kernel k(out o: i32[8]) grid (i = 2) { o[ds(i, 4, 1)] = 1; }", "races o found; index o proved" },
        { "kernel k(out o: i32[8]) grid (i = 2) { o[2 * iota([4], axis = 0) + i] = 1; }", "races o proved; index o proved" },
        { "kernel k(out o: i32[8]) grid (i = 2) { o[iota([4], axis = 0) + i] = 1; }", "races o found; index o proved" },
        { "kernel k(out o: i32[8]) grid (i = 2) { store(o[...], 1, mask = iota([8], axis = 0) % 2 == i); }", "races o proved" },
        { "kernel k(out o: i32[8]) grid (i = 2) { store(o[...], 1, mask = iota([8], axis = 0) >= i); }", "races o found" },
        { "kernel k(out o: i32[N]) grid (i = cdiv(N, 4)) { let p = 4 * i + iota([4], axis = 0); store(o[p], 1, mask = p < N); }",
          "races o proved; index o proved" },
        { "kernel k(out o: i32[N]) grid (i = cdiv(N, 4)) { let p = 4 * i + iota([4], axis = 0); o[p] = 1; }",
          "races o proved; index o found" },
        { "kernel k(out o: i32[N]) grid (i = cdiv(N, 1000)) { let p = 1000 * i + iota([1000], axis = 0); store(o[p], 1, mask = p < N); }",
          "races o open; index o open" },
        { "kernel k(out o: i32[N]) grid (i = 2) { for (t in i .. N step 2) { o[t] = 1; } }", "races o proved; index o proved" },
        { "kernel k(out o: i32[N]) grid (i = 2) { for (t in i .. N) { o[t] = 1; } }", "races o found; index o proved" },
        { "kernel k(in x: i32[N], out o: i32[N]) grid (i = N) { o[x[i]] = 1; }", "races o open; index x proved; index o open" },
        { "kernel k(in x: i32[N] block [8] at (i), inout h: i32[B]) grid (i = cdiv(N, 8)) "
          "{ let v = x[...]; atomic_add(h[v], 1, mask = (v >= 0) & (v < B)); }", "races h proved; index h proved" },
        { "kernel k(inout h: i32[4], out o: i32[N] block [1] at (i)) grid (i = N) { atomic_add(h[0], 1); o[0] = h[1]; }",
          "races h proved; races o proved" },
        { "kernel k(inout h: i32[4], out o: i32[N] block [1] at (i)) grid (i = N) { atomic_add(h[0], 1); o[0] = h[0]; }",
          "races h found; races o proved" },
        { "kernel k(scalar n: i32, out o: i32[N] block [8] at (n)) grid (i = 1)" STORE, "races o proved; block o found" },
        { "kernel k(scalar n: i32, out o: i32[N] block [8] at (n)) grid (i = 1) require n >= 0, n < cdiv(N, 8)" STORE, "races o proved" },
        { "kernel k(prefetch t: i32[N], out o: i32[N] block [1] at (t[i])) grid (i = N)" STORE, "races o open; block o open" },
        { "kernel k(inout x: i32[8]) grid (i = 8) { x[7 - i] = x[7 - i] + 1; }", "races x proved; index x proved; index x proved" },
        { "kernel k(in x: i32[N], out o: i32[N] alias x) grid (i = N) { o[i] = x[N - 1 - i]; }", "races x found; index x proved; index o proved" },
        { "kernel k(scratch s: i32[8], out o: i32[N] block [1] at (i)) grid (i = N) { s[...] = 1; o[...] = s[i % 8]; }",
          "races o proved; index s proved" },
        { "kernel k(out o: i32[N]) grid (i = cdiv(N, 64)) { var at = 64 * i; for (t in 0 .. 64) { if (at < N) { o[at] = t; } at += 1; } }",
          "races o proved; index o proved" },
        { "kernel k(out o: i32[N]) grid (i = N) { var at = 0; if (i > 3) { at = i; } else { at = 3 - i; } o[at] = 1; }",
          "races o proved; index o found" },
        { "kernel k(out o: i32[N]) grid (i = N) { if (i < 2 && i > 5) { o[7 / (i - i)] = 1; } }", "races o proved; index o proved" },
    };
    CHECK_ROWS(rows);
}

/* Numbers that wrap: an index in i32 that a large array can make negative, a product that leaves 64 bits. */
Test(prove, what_may_wrap_is_not_proved)
{
    static const row rows[] = {
        { "kernel k(out o: i32[N]) grid (i = N) { o[(i * 4) / 4] = 1; }", "races o open; index o open" },
        { "kernel k(out o: i32[N]) grid (i = min(N, 1000)) { o[(i * 4) / 4] = 1; }", "races o proved; index o proved" },
        { "kernel k(in x: i32[A, B, C, D], out o: i32[A] block [1] at ((a * B * C * D + a) - a * B * C * D)) grid (a = A)" STORE,
          "races o open; block o open" },
        { "kernel k(out o: i32[N]) grid (i = N) { o[cast(cast(i, i8), i32)] = 1; }", "races o open; index o open" },
    };
    CHECK_ROWS(rows);
}

/* Each value is used twice by the next: worked out again for each use they would take 2^60 steps. */
Test(prove, values_of_many_uses_take_no_longer)
{
    static const row rows[] = {
        { "kernel k(out o: i32[N]) grid (i = cdiv(N, 64)) {\n"
          "    var h = cast(64 * i + iota([64], axis = 0), u32);\n"
          "    static for (t in 0 .. 60) { h = (h * 0x9e3779b9u32 ^ (h >> 13u32)) + (h << 3u32); }\n"
          "    store(o[cast(h % 64u32, i32)], 1, mask = (h & 1u32) == 0u32);\n"
          "}", "races o open; index o open" },
        { "kernel k(out o: i32[N]) grid (i = cdiv(N, 64)) {\n"
          "    var c = iota([64], axis = 0) < i;\n"
          "    static for (t in 0 .. 60) { c = (c & (iota([64], axis = 0) != t)) | (c & (iota([64], axis = 0) < t)); }\n"
          "    store(o[ds(0, 64)], 1, mask = c);\n"
          "}", "races o open; index o open" },
    };
    CHECK_ROWS(rows);
}

/* ---- Kernels of files ---- */

typedef struct file_row { const char *file, *kernel, *expected; } file_row;       /* expected NULL: all is proved */

static void check_file(const file_row *r)
{
    static char text[1 << 16];
    char path[512];
    snprintf(path, sizeof path, "%s/%s.plk", CLPALLAS_SOURCE_DIR, r->file);
    FILE *f = fopen(path, "rb");
    cr_assert(f, "%s", path);
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    planned p = { .source = { path, text, n } };
    clpi_file *tree;
    clpi_env_init(&p.env, NULL, NULL);
    clpi_arena_init(&p.arena, &p.env);
    cr_assert(!clpi_parse(&p.env, &p.arena, &p.source, &tree) && !clpi_elaborate(&p.env, &p.arena, tree, r->kernel, NULL, &p.ir) &&
              !clpi_verify(p.ir, CLP_ERR_INVALID) && !clpi_simplify(p.ir, &p.arena) && !clpi_plan_new(p.ir, &p.arena, &p.plan),
              "%s: %s", r->kernel, clpi_error_text(&p.env));
    const clpi_proofs *proofs = prove(&p);
    clpi_str s;
    clpi_str_init(&s, &p.env);
    verdicts_print(p.ir, proofs, &s);
    cr_expect_eq(proofs->all_proved, !r->expected, "%s: %s", r->kernel, s.text);
    cr_expect(!r->expected || !strcmp(s.text, r->expected), "%s: %s, expected %s", r->kernel, s.text, r->expected);
    clpi_str_done(&s);
    planned_done(&p);
}

Test(prove, standard_kernels)
{
#define K "lib/kernels/"
    static const file_row rows[] = {
        { K "attention", "attention", NULL }, { K "elementwise", "map", NULL }, { K "elementwise", "copy", NULL }, { K "elementwise", "add", NULL },
        { K "elementwise", "axpy", NULL }, { K "elementwise", "transpose", NULL }, { K "gather", "gather_rows", "races o proved; block x open" },
        { K "gather", "scatter_rows", "races o open; block o open" }, { K "histogram", "histogram", NULL }, { K "matmul", "matmul", NULL },
        { K "matmul", "matmul_dx", NULL }, { K "matmul", "matmul_dy", NULL }, { K "matmul", "matmul_i8", NULL }, { K "normalize", "layer_norm", NULL },
        { K "normalize", "rms_norm", NULL }, { K "reduce", "row_sum", NULL }, { K "reduce", "row_max", NULL }, { K "reduce", "row_cumsum", NULL },
        { K "softmax", "softmax", NULL }, { K "softmax", "logsumexp", NULL }, { K "stencil", "blur3", NULL }, { K "stencil", "jacobi", NULL },
        { K "stencil", "stencil3x3", NULL }, { K "elementwise", "convert", NULL },
    };
#undef K
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_file(&rows[i]);
}

Test(prove, kernels_as_they_are_written)
{
#define K "tests/unit/prove_kernels"
    static const file_row rows[] = {
        { K, "conv2d", NULL }, { K, "pool", NULL }, { K, "split", NULL }, { K, "split_plain", "races z found" },
        { K, "split_apart", "races z proved; block x found; block y found" }, { K, "add_named", NULL }, { K, "product_named", NULL },
        { K, "colored", NULL }, { K, "uncolored", "races x found; index x proved; index x proved" }, { K, "ring", NULL }, { K, "diag", NULL },
        { K, "symm", NULL }, { K, "upper", NULL }, { K, "shared_heads", NULL }, { K, "uneven_heads", "races o proved; block x found" },
    };
#undef K
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_file(&rows[i]);
}

/* A batch has a parallel axis more, which the chosen operands follow. */
Test(prove, batches)
{
    planned p;
    planned_ok(&p, "kernel k(in x: f32[M, K] block [8, 16] at (i, t) pad 0, in w: f32[K] block [16] at (t) pad 0,\n"
                   "    out o: f32[M] block [8] at (i), scratch acc: f32[8])\n"
                   "grid (i = cdiv(M, 8), t = max(1, cdiv(K, 16)) arbitrary)\n"
                   "{\n"
                   "    if (first(t)) { acc[...] = 0; }\n"
                   "    acc[...] += sum(x[...] * w[...][None, :], axis = 1);\n"
                   "    if (last(t)) { o[...] = acc[...]; }\n"
                   "}");
    clpi_ir *batched;
    const bool chosen[] = { true, false, true, false };
    clpi_plan_done(p.plan);
    cr_assert(!clpi_ir_batch(p.ir, &p.arena, chosen, &batched) && !clpi_verify(batched, CLP_ERR_INTERNAL) && !clpi_simplify(batched, &p.arena) &&
              !clpi_plan_new(batched, &p.arena, &p.plan));
    p.ir = batched;
    cr_expect(prove(&p)->all_proved);
    planned_done(&p);
}

/* ---- Words ---- */

/* The first of a kind. */
static const clpi_claim *claim_of(const clpi_proofs *proofs, clpi_claim_kind kind)
{
    for (int i = 0; i < proofs->n; i++)
        if (proofs->claims[i].kind == kind)
            return &proofs->claims[i];
    cr_assert_fail("no claim of kind %d", (int)kind);
    return NULL;
}

Test(prove, says_what_it_found)
{
    planned p;
    clpi_str s;
    planned_ok(&p, "kernel k(in x: i32[N] block [8] at (i + 1),\n"
                   "    out o: i32[N] block [8] at (0))\n"
                   "grid (i = cdiv(N, 8), j = 2 arbitrary)\n"
                   "{\n"
                   "    o[...] = x[...];\n"
                   "}\n");
    const clpi_proofs *proofs = prove(&p);
    clpi_str_init(&s, &p.env);
    clpi_claim_print(p.ir, claim_of(proofs, CLPI_CLAIM_BLOCK_INSIDE), &s);
    cr_expect_str_eq(s.text, "x: found: a block outside the array, e.g. block (1,) of program (0, 0) of grid (1, 2) with N = 1");
    clpi_str_done(&s);
    planned_done(&p);

    planned_ok(&p, "kernel k(out o: i32[N] block [8] at (0))\n"
                   "grid (i = cdiv(N, 8), j = 2 arbitrary)\n"
                   "{\n"
                   "    o[...] = 1;\n"
                   "}\n");
    proofs = prove(&p);
    clpi_claim_print(p.ir, claim_of(proofs, CLPI_CLAIM_NO_RACE), &s);
    cr_expect_str_eq(s.text, "o: found: a race, e.g. programs (0, 0) and (1, 0) of grid (2, 2) with N = 16 touch element (0,) of o at 4:5 and o at 4:5; "
                             "axis i would have to be `arbitrary`");
    clpi_str_done(&s);
    clpi_claim_print(p.ir, claim_of(proofs, CLPI_CLAIM_BLOCK_INSIDE), &s);
    cr_expect_str_eq(s.text, "o: each block has an element inside the array: proved for all shapes");
    clpi_str_done(&s);
    planned_done(&p);
}

/* ---- In a check ---- */

/* What is proved of two names of one array does not hold of arrays that overlap in another way. */
Test(prove, aliases_are_proved_when_given_as_one_array)
{
    clp_context *ctx;
    clp_kernel *kernel;
    cr_assert_eq(clp_context_new(&(clp_context_opts){ .device = "interp" }, &ctx), CLP_OK);
    OK(ctx, clp_kernel_from_text(ctx, "kernel k(in x: i32[N] block [1] at (i), out o: i32[N] block [1] at (i) alias x)\n"
                                      "grid (i = N) { o[...] = x[...] + 1; }", NULL, NULL, &kernel));
    static const struct { int offset; clp_verdict verdict; } rows[] = { { 0, CLP_VERDICT_PROVED }, { 1, CLP_VERDICT_FAULTY }, { 4, CLP_VERDICT_CHECKED } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
        const int64_t shape[] = { 4 };
        const clp_array given[] = { { .dtype = CLP_I32, .rank = 1, .shape = shape, .data = data },
                                     { .dtype = CLP_I32, .rank = 1, .shape = shape, .data = data, .offset = rows[i].offset } };
        clp_report *report;
        OK(ctx, clp_check(kernel, given, 2, NULL, &report));
        cr_expect_eq(clp_report_verdict(report), rows[i].verdict, "offset %d: %s", rows[i].offset, clp_report_text(report));
        clp_report_free(report);
    }
    clp_kernel_free(kernel);
    clp_context_free(ctx);
}

/* ---- Memory ---- */

Test(prove, out_of_memory_anywhere_is_an_error)
{
    planned p;
    planned_ok(&p, "kernel k(in x: i32[N] block [8] at (i + 1), out o: i32[N], scalar n: i32)\n"
                   "grid (i = cdiv(N, 8), j = max(1, n)) require N % 2 == 0\n"
                   "{ for (t in 0 .. 4) { if (t != i) { o[min(8 * i + t, N - 1)] = x[t]; } } }");
    bool is_done = false;
    for (size_t budget = 0; !is_done && budget < 10000; budget++) {
        failing_alloc alloc = { .budget = budget };
        clpi_env env;
        clpi_arena arena;
        clpi_proofs *proofs;
        clpi_env_init(&env, failing_alloc_fn, &alloc);
        clpi_arena_init(&arena, &env);
        clp_status status = clpi_prove(&env, &arena, p.ir, p.plan, &proofs);
        cr_expect_eq(status, alloc.has_failed ? CLP_ERR_OOM : CLP_OK, "budget %zu", budget);
        is_done = !alloc.has_failed;
        clpi_arena_done(&arena);
        clpi_env_done(&env);
        cr_expect_eq(alloc.n_live, 0);
    }
    cr_expect(is_done);
    planned_done(&p);
}

/* ---- Random kernels ---- */

enum { LAUNCHES = 100 };

typedef struct tally { int n_kernels, claims[3][3]; } tally;      /* by kind and verdict */

static int operand_of(const clpi_ir *ir, const char *name)
{
    for (int i = 0; i < ir->n_operands; i++)
        if (!strcmp(ir->operands[i].name, name))
            return i;
    return -1;
}

static const char *const names[SPEC_OPERANDS] = { "x", "y", "z" };

/* Number in the spec of an operand of the IR; -1: one that the proofs are not compared on. */
static int spec_operand_of(const clpi_ir *ir, int operand)
{
    for (int i = 0; i < SPEC_OPERANDS; i++)
        if (!strcmp(ir->operands[operand].name, names[i]))
            return i;
    return -1;
}

static void run_at_witness(const spec *s, const clpi_ir *ir, const clpi_witness *w, spec_run *run, spec_watch *watch)
{
    int n = operand_of(ir, "n");
    for (int d = 0; d < s->n_dims; d++)
        run->dim[d] = w->dim[d];
    run->scalar = n < 0 ? 0 : w->scalar[n];
    spec_walk(s, run, watch);
    cr_assert(run->is_valid, "%s\n a witness that is no launch", s->text);
    cr_assert(!memcmp(run->axis_size, w->axis_size, (size_t)s->n_axes * sizeof *w->axis_size), "%s\n another grid", s->text);
}

static int access_at(const spec *s, uint32_t line)
{
    for (int i = 0; i < s->n_accesses; i++)
        if (s->accesses[i].line == (int)line)
            return i;
    return -1;
}

/* What was found happens. */
static void check_witness(const spec *s, const clpi_ir *ir, const clpi_claim *c, spec_run *run)
{
    const clpi_witness *w = c->witness;
    const int x = c->kind == CLPI_CLAIM_INDEX_INSIDE ? access_at(s, ir->ops.items[c->op].pos.line) : spec_operand_of(ir, c->operand);
    spec_watch watch = { .operand = x, .program = { w->program[0], w->program[1] }, .element = w->element };
    if (x < 0 && c->kind == CLPI_CLAIM_INDEX_INSIDE)
        return;
    run_at_witness(s, ir, w, run, c->kind == CLPI_CLAIM_NO_RACE ? &watch : NULL);
    if (c->kind == CLPI_CLAIM_NO_RACE) {
        bool are_of_two = false;
        for (int k = 0; k < s->n_axes; k++)
            are_of_two = are_of_two || (!s->is_arbitrary[k] && w->program[0][k] != w->program[1][k]);
        cr_assert(are_of_two && run->has_race_at_watched, "%s\n found no race", s->text);
    } else if (c->kind == CLPI_CLAIM_BLOCK_INSIDE) {
        cr_assert(spec_block_is_outside(s, run, x, w->program[0]), "%s\n found no block", s->text);
    } else {
        cr_assert(spec_leaves_in(s, run, x, w->program[0]), "%s\n found no index", s->text);
    }
}

/* What was proved holds in one launch. */
static void check_proved(const spec *s, const clpi_ir *ir, const clpi_claim *c, const spec_run *run)
{
    const bool is_index = c->kind == CLPI_CLAIM_INDEX_INSIDE;
    const int x = is_index ? access_at(s, ir->ops.items[c->op].pos.line) : spec_operand_of(ir, c->operand);
    const bool *const happened = is_index ? run->leaves : c->kind == CLPI_CLAIM_NO_RACE ? run->races : run->is_outside;
    cr_assert(x < 0 || !happened[x], "%s\n proved of %s (kind %d), but not with N %lld M %lld K %lld n %lld", s->text, ir->operands[c->operand].name,
              (int)c->kind, (long long)run->dim[0], (long long)run->dim[1], (long long)run->dim[2], (long long)run->scalar);
}

static void check_spec(const spec *s, uint64_t seed, tally *t, spec_run *run)
{
    planned p;
    planned_make(&p, s->text);
    if (p.status != CLP_OK) {
        planned_done(&p);
        return;
    }
    clpi_proofs *proofs = prove(&p);
    t->n_kernels++;
    for (int i = 0; i < proofs->n; i++) {
        const clpi_claim *c = &proofs->claims[i];
        t->claims[c->kind][c->verdict] += c->kind != CLPI_CLAIM_NO_RACE || spec_operand_of(p.ir, c->operand) >= 0;
        if (c->witness)
            check_witness(s, p.ir, c, run);
    }
    for (int launch = 0; launch < LAUNCHES; launch++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t bits = seed >> 24;
        for (int d = 0; d < SPEC_DIMS; d++, bits /= 9)
            run->dim[d] = (int64_t)(bits % 9);
        run->scalar = (int64_t)(bits % 6) - 1;
        spec_walk(s, run, NULL);
        if (run->is_valid)
            for (int i = 0; i < proofs->n; i++)
                if (proofs->claims[i].verdict == CLPI_PROVED)
                    check_proved(s, p.ir, &proofs->claims[i], run);
    }
    planned_done(&p);
}

/* CLP_PROVE_KERNELS: how many, from CLP_PROVE_SEED on. Kernels drawn at random are wilder than written ones, yet four of five
 * verdicts on them are not `open`, of those on blocks 97 of 100: a proof that got weaker shows here.                       */
Test(prove, random_kernels_are_judged_rightly)
{
    const char *count = getenv("CLP_PROVE_KERNELS"), *first = getenv("CLP_PROVE_SEED");
    const uint64_t n = count ? strtoull(count, NULL, 10) : 2500, start = first ? strtoull(first, NULL, 10) : 1;
    spec *s = malloc(sizeof *s);
    spec_run *run = calloc(1, sizeof *run);
    tally t = { .n_kernels = 0 };
    cr_assert(s && run && (run->elements = calloc(SPEC_OPERANDS * SPEC_ELEMENTS, sizeof *run->elements)));
    for (uint64_t seed = start; seed < start + n; seed++) {
        spec_make(s, seed);
        check_spec(s, seed, &t, run);
    }
    cr_expect(t.n_kernels > (int)n / 2, "%d kernels of %d are well-formed", t.n_kernels, (int)n);
    static const struct { const char *name; int most_open; } kinds[] = {
        [CLPI_CLAIM_NO_RACE] = { "races", 22 }, [CLPI_CLAIM_BLOCK_INSIDE] = { "blocks", 4 }, [CLPI_CLAIM_INDEX_INSIDE] = { "indices", 22 },
    };
    for (int k = 0; k < 3; k++) {
        const int *c = t.claims[k], all = c[CLPI_PROVED] + c[CLPI_FOUND] + c[CLPI_UNDECIDED];
        printf("%s of %d kernels: %d proved, %d found, %d open\n", kinds[k].name, t.n_kernels, c[CLPI_PROVED], c[CLPI_FOUND], c[CLPI_UNDECIDED]);
        cr_expect(c[CLPI_UNDECIDED] * 100 <= kinds[k].most_open * all, "%d of %d %s open", c[CLPI_UNDECIDED], all, kinds[k].name);
        cr_expect(k != CLPI_CLAIM_NO_RACE || (c[CLPI_PROVED] * 5 >= all && c[CLPI_FOUND] * 5 >= all), "too much of one kind");
    }
    free(run->elements);
    free(run);
    free(s);
}
