/* The core of checks: races of all kinds, in memory of all kinds, and what a report says of them. */
#include "checking.h"

static const clp_check_opts races_alone = { .checks = CLP_CHECK_RACES };

/* ---- Findings as text: "race o[0] x4 [0:4]: (0, 0) at 5:5, (1, 0) at 5:5; axis k" ---- */

enum { SAID_BYTES = 4096 };

static void say_finding(text_room *s, const clp_finding *f)
{
    put_text(s, "%s", clp_finding_name(f->kind));
    if (f->operand)
        put_text(s, " %s", f->operand);
    for (int d = 0; d < f->rank && f->first_element; d++)
        put_text(s, "%s%lld%s", d ? ", " : "[", (long long)f->first_element[d], d == f->rank - 1 ? "]" : "");
    if (f->first_element)
        put_text(s, " x%lld", (long long)f->elements);
    for (int d = 0; d < f->rank && f->first_element; d++)
        put_text(s, "%s%lld:%lld%s", d ? ", " : " [", (long long)f->box_start[d], (long long)f->box_end[d], d == f->rank - 1 ? "]" : "");
    for (int i = 0; i < f->n_programs; i++) {
        put_text(s, "%s(", i ? ", " : ": ");
        for (int a = 0; a < f->n_axes; a++)
            put_text(s, "%s%lld", a ? ", " : "", (long long)f->programs[i][a]);
        put_text(s, ") at %u:%u", (unsigned)f->accesses[i].line, (unsigned)f->accesses[i].column);
    }
    put_text(s, "%s%s\n", f->axis ? "; axis " : "", f->axis ? f->axis : "");
}

static void expect_said(const clp_report *report, const char *expected, const char *what)
{
    char said[SAID_BYTES] = "";
    text_room s = { said, sizeof said };
    for (int i = 0; i < clp_report_n_findings(report); i++)
        say_finding(&s, clp_report_finding(report, i));
    cr_expect_str_eq(said, expected, "%s: expected\n%sgot\n%s%s", what, expected, said, clp_report_text(report));
    cr_expect_eq(clp_report_verdict(report), *expected ? CLP_VERDICT_FAULTY : CLP_VERDICT_CHECKED, "%s", what);
}

/* Checks twice: the report is the same, and the arrays are as they were. */
static void expect_races(clp_context *ctx, const char *text, const clp_array *arrays, int n, const clp_run_opts *run, const char *expected)
{
    clp_kernel *kernel;
    const clp_check_opts opts = { .checks = CLP_CHECK_RACES, .run = run };
    OK(ctx, clp_kernel_from_text(ctx, text, NULL, NULL, &kernel));
    clp_report *report = check_kernel(ctx, kernel, arrays, n, &opts), *again = check_kernel(ctx, kernel, arrays, n, &opts);
    expect_said(report, expected, text);
    cr_expect_str_eq(clp_report_text(again), clp_report_text(report));
    clp_report_free(again);
    clp_report_free(report);
    clp_kernel_free(kernel);
}

/* ---- Cases from the field ---- */

#define DUPLICATES                                                                                                     \
    "kernel k(in idx: i32[4] block [_] at (i), in v: i32[4] block [_] at (i), inout o: i32[2])\n"                      \
    "grid (i = 4)\n"                                                                                                   \
    "{\n"

Test(check, duplicate_indices)
{
    clp_context *ctx = interp();
    int32_t idx[4] = { 0, 0, 1, 0 }, v[4] = { 1, 2, 3, 4 }, o[2] = { 0 };
    const clp_array arrays[] = { ARRAY(CLP_I32, idx, 4), ARRAY(CLP_I32, v, 4), ARRAY(CLP_I32, o, 2) };
    expect_races(ctx, DUPLICATES "    atomic_add(o[idx[]], v[]);\n}\n", arrays, 3, NULL, "");
    expect_races(ctx, DUPLICATES "    o[idx[]] = o[idx[]] + v[];\n}\n", arrays, 3, NULL,
                 "race o[0] x1 [0:1]: (0) at 4:5, (1) at 4:5; axis i\n");
    expect_races(ctx, "kernel k(in idx: i32[4], in v: i32[4], inout o: i32[2])\ngrid (i = 1)\n{\n    o[idx[...]] = v[...];\n}\n",
                 arrays, 3, NULL, "");
    cr_expect(o[0] == 0 && o[1] == 0);
    clp_context_free(ctx);
}

Test(check, program_id_that_is_never_read)
{
    clp_context *ctx = interp();
    int32_t o[4] = { 7, 7, 7, 7 };
    static const char one[] = "kernel k(out o: i32[4])\ngrid (i = 1)\n{\n    o[...] = 7;\n}\n";
    static const char two[] = "kernel k(out o: i32[4])\ngrid (i = 2)\n{\n    o[...] = 7;\n}\n";
    static const char none[] = "kernel k(out o: i32[4])\ngrid (i = 0)\n{\n    o[...] = 7;\n}\n";
    expect_races(ctx, two, (clp_array[]){ ARRAY(CLP_I32, o, 4) }, 1, NULL,
                 "race-same-value o[0] x4 [0:4]: (0) at 4:5, (1) at 4:5; axis i\n");
    expect_races(ctx, one, (clp_array[]){ ARRAY(CLP_I32, o, 4) }, 1, NULL, "");
    expect_races(ctx, none, (clp_array[]){ ARRAY(CLP_I32, o, 4) }, 1, NULL, "");
    clp_context_free(ctx);
}

Test(check, reduction_axis_outermost)
{
    clp_context *ctx = interp();
    float x[12] = { 1 }, o[4] = { 0 };
    const clp_array arrays[] = { ARRAY(CLP_F32, x, 3, 4), ARRAY(CLP_F32, o, 4) };
    expect_races(ctx, "kernel k(in x: f32[3, 4] block [_, 2] at (k, j), out o: f32[4] block [2] at (j))\ngrid (k = 3, j = 2)\n"
                      "{\n    if (k == 0) { o[...] = 0; }\n    o[...] += x[...];\n}\n",
                 arrays, 2, NULL, "race o[0] x4 [0:4]: (0, 0) at 5:5, (1, 0) at 5:5; axis k\n");
    expect_races(ctx, "kernel k(in x: f32[3, 4] block [_, 2] at (k, j), out o: f32[4] block [2] at (j))\n"
                      "grid (k = 3 arbitrary, j = 2)\n{\n    if (k == 0) { o[...] = 0; }\n    o[...] += x[...];\n}\n",
                 arrays, 2, NULL, "");
    clp_context_free(ctx);
}

#define COUNTING "kernel k(inout c: i32[1], inout o: i32[1])\ngrid (i = 4)\n{\n    atomic_add(c[0], 1);\n"

Test(check, atomic_and_plain)
{
    clp_context *ctx = interp();
    int32_t c = 0, o = 0;
    const clp_array arrays[] = { ARRAY(CLP_I32, &c, 1), ARRAY(CLP_I32, &o, 1) };
    expect_races(ctx, COUNTING "    if (i == 3) { o[0] = c[0]; }\n}\n", arrays, 2, NULL,
                 "race c[0] x1 [0:1]: (0) at 4:5, (3) at 5:26; axis i\n");
    expect_races(ctx, COUNTING "    if (i == 3) { o[0] = atomic_add(c[0], 0); }\n}\n", arrays, 2, NULL, "");
    expect_races(ctx, COUNTING "    if (i == 3) { o[0] = atomic_cas(c[0], 9, 8); }\n}\n", arrays, 2, NULL, "");
    expect_races(ctx, COUNTING "    if (i == 3) { c[0] = 4; }\n}\n", arrays, 2, NULL,
                 "race-same-value c[0] x1 [0:1]: (0) at 4:5, (3) at 5:19; axis i\n");
    expect_races(ctx, COUNTING "    if (i == 3) { c[0] = 5; }\n}\n", arrays, 2, NULL,
                 "race c[0] x1 [0:1]: (0) at 4:5, (3) at 5:19; axis i\n");
    clp_context_free(ctx);
}

Test(check, overlap_that_does_not_start_at_0)
{
    clp_context *ctx = interp();
    int32_t a[17] = { 0 }, b[16] = { 0 };
    const clp_array arrays[] = { ARRAY(CLP_I32, a, 17), ARRAY(CLP_I32, b, 16) };
    expect_races(ctx, "kernel k(inout a: i32[17], out b: i32[16])\ngrid (i = 1)\n{\n    a[0] = 100;\n"
                      "    a[1:17] = iota([16], axis = 0) + 1;\n    b[...] = 2 * a[0:16];\n}\n", arrays, 2, NULL, "");
    expect_races(ctx, "kernel k(inout a: i32[17], out b: i32[16])\ngrid (i = 2)\n{\n    if (i == 0) {\n        a[0] = 100;\n"
                      "        a[1:17] = iota([16], axis = 0) + 1;\n    } else {\n        b[...] = 2 * a[0:16];\n    }\n}\n",
                 arrays, 2, NULL,
                 "race a[0] x1 [0:1]: (0) at 5:9, (1) at 8:22; axis i\n"
                 "race a[1] x15 [1:16]: (0) at 6:9, (1) at 8:22; axis i\n");
    clp_context_free(ctx);
}

#define UPDATE_ROWS(axis, alias)                                                                                       \
    "kernel k(in A: f32[2, 2], in B: f32[2, 2], out o: f32[2, 2]" alias ")\ngrid (" axis ")\n{\n"                      \
    "    o[i, :] = A[i, 0] * B[0, :] + A[i, 1] * B[1, :];\n}\n"

Test(check, matrix_updated_in_place)
{
    clp_context *ctx = interp();
    float a[4] = { 1, 1, 1, 1 }, b[4] = { 1, 2, 3, 4 }, c[4] = { 0 };
    const clp_array apart[] = { ARRAY(CLP_F32, a, 2, 2), ARRAY(CLP_F32, b, 2, 2), ARRAY(CLP_F32, c, 2, 2) };
    const clp_array shared[] = { ARRAY(CLP_F32, a, 2, 2), ARRAY(CLP_F32, b, 2, 2), ARRAY(CLP_F32, b, 2, 2) };
    static const char races[] = "alias-race o[0, 0] x2 [0:1, 0:2]: (0) at 4:5, (1) at 4:25; axis i\n"
                                "alias-race o[1, 0] x2 [1:2, 0:2]: (0) at 4:45, (1) at 4:5; axis i\n";
    expect_races(ctx, UPDATE_ROWS("i = 2", ""), apart, 3, NULL, "");
    expect_races(ctx, UPDATE_ROWS("i = 2", " alias B"), shared, 3, NULL, races);
    expect_races(ctx, UPDATE_ROWS("i = 2 arbitrary", " alias B"), shared, 3, NULL, "");
    /* Without `alias` a run refuses; a check tells of that, and of the races all the same. */
    clp_kernel *kernel;
    OK(ctx, clp_kernel_from_text(ctx, UPDATE_ROWS("i = 2", ""), NULL, NULL, &kernel));
    FAILS(ctx, CLP_ERR_ARG, "shares memory with B", clp_run(kernel, shared, 3, NULL));
    clp_report *report = check_kernel(ctx, kernel, shared, 3, &races_alone);
    cr_assert_eq(clp_report_n_findings(report), 3, "%s", clp_report_text(report));
    const clp_finding *f = clp_report_finding(report, 2);
    cr_expect(f->kind == CLP_FINDING_OVERLAP && !strcmp(f->operand, "o") && !f->first_element && f->n_programs == 0);
    cr_expect(strstr(f->message, "shares memory with B without `alias`"), "%s", f->message);
    clp_report_free(report);
    clp_kernel_free(kernel);
    cr_expect(b[0] == 1 && b[3] == 4);
    clp_context_free(ctx);
}

/* ---- Memory ---- */

/* The same f32 elements with other strides: a race is at the element's place in the array, wherever that is in memory. */
Test(check, elements_of_strided_arrays)
{
    clp_context *ctx = interp();
    float memory[256] = { 0 };
    static const char text[] = "kernel k(inout o: f32[3, 4])\ngrid (i = 2)\n{\n    o[1, 1:3] = cast(i, f32);\n}\n";
    static const char said_of_it[] = "race o[1, 1] x2 [1:2, 1:3]: (0) at 4:5, (1) at 4:5; axis i\n";
    static const int64_t strides[][3] = { { 4, 1, 0 }, { 1, 3, 0 }, { -4, 1, 64 }, { 4, -1, 64 }, { -1, -3, 64 }, { 9, 2, 5 },
                                          { 2, 7, 1 }, { 3, 4, 0 }, { 40, 10, 3 }, { -7, 3, 100 } };
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        const clp_array o = { .dtype = CLP_F32, .rank = 2, .shape = (int64_t[]){ 3, 4 }, .strides = strides[i], .data = memory,
                              .offset = strides[i][2] };
        expect_races(ctx, text, &o, 1, NULL, said_of_it);
    }
    clp_buffer *buffer;
    OK(ctx, clp_buffer_new(ctx, sizeof memory, &buffer));
    OK(ctx, clp_buffer_write(buffer, 0, memory, sizeof memory));
    expect_races(ctx, text, &(clp_array){ .dtype = CLP_F32, .rank = 2, .shape = (int64_t[]){ 3, 4 }, .buffer = buffer, .offset = 11 }, 1,
                 NULL, said_of_it);
    clp_buffer_free(buffer);
    clp_context_free(ctx);
}

/* Elements of other sizes in one memory meet where they share bytes. */
Test(check, elements_of_different_sizes_in_one_memory)
{
    clp_context *ctx = interp();
    double memory[8] = { 0 };
    static const char text[] = "kernel k(inout o: f64[8], in x: u8[64])\ngrid (i = 8)\n{\n    o[i] = cast(x[16], f64) + 1.0;\n}\n";
    clp_kernel *kernel;
    OK(ctx, clp_kernel_from_text(ctx, text, NULL, NULL, &kernel));
    clp_report *report = check_kernel(ctx, kernel, (clp_array[]){ ARRAY(CLP_F64, memory, 8), ARRAY(CLP_U8, memory, 64) }, 2, &races_alone);
    cr_assert_eq(clp_report_n_findings(report), 2, "%s", clp_report_text(report));
    char said[SAID_BYTES] = "";
    text_room s = { said, sizeof said };
    say_finding(&s, clp_report_finding(report, 0));
    /* Byte 16, the lowest of o[2], is 0 before and after program 2 writes 1.0. */
    cr_expect_str_eq(said, "race-same-value o[2] x1 [2:3]: (0) at 4:17, (2) at 4:5; axis i\n", "%s", said);
    clp_report_free(report);
    clp_kernel_free(kernel);

    /* Both halves of o[0] race, the first of them with the value that is there. */
    int32_t words[2] = { 0 };
    OK(ctx, clp_kernel_from_text(ctx, "kernel k(inout o: i32[2], inout h: i16[4])\ngrid (i = 2)\n{\n    if (i == 0) { o[0] = 0x20001; }\n"
                                 "    else { h[0] = 1; h[1] = 7; }\n}\n", NULL, NULL, &kernel));
    report = check_kernel(ctx, kernel, (clp_array[]){ ARRAY(CLP_I32, words, 2), ARRAY(CLP_I16, words, 4) }, 2, &races_alone);
    said[0] = '\0';
    s = (text_room){ said, sizeof said };
    for (int i = 0; i < clp_report_n_findings(report); i++)
        if (clp_report_finding(report, i)->n_programs == 2)
            say_finding(&s, clp_report_finding(report, i));
    cr_expect_str_eq(said, "alias-race o[0] x1 [0:1]: (0) at 4:19, (1) at 5:22; axis i\n", "%s", said);
    clp_report_free(report);
    clp_kernel_free(kernel);

    uint8_t nibbles[4] = { 0 };
    expect_races(ctx, "kernel k(inout o: i4[8])\ngrid (i = 8)\n{\n    o[i] = 1;\n}\n", (clp_array[]){ ARRAY(CLP_I4, nibbles, 8) }, 1, NULL, "");
    expect_races(ctx, "kernel k(inout o: i4[8])\ngrid (i = 7)\n{\n    o[i] = 1;\n    o[i + 1] = 2;\n}\n",
                 (clp_array[]){ ARRAY(CLP_I4, nibbles, 8) }, 1, NULL, "race o[1] x6 [1:7]: (0) at 5:5, (1) at 4:5; axis i\n");
    clp_context_free(ctx);
}

/* Granules share words while they have gone through the same: rows that start and end anywhere in them. */
Test(check, rows_of_all_lengths)
{
    enum { SIZE = 300 };
    clp_context *ctx = interp();
    int8_t memory[SIZE] = { 0 };
    static const char text[] =
        "kernel k<n = 1>(inout o: i8[300], scalar from: i32)\ngrid (i = 2)\n{\n    if (i == 0) { o[...] = full([300], cast(1, i8)); }\n"
        "    else { o[ds(from, n)] = cast(2, i8); }\n}\n";
    for (int n = 1; n < 200; n += n < 4 ? 1 : 31)
        for (int32_t from = 0; from + n <= SIZE; from += 37) {
            char params[32], expected[128];
            clp_kernel *kernel;
            snprintf(params, sizeof params, "n=%d", n);
            snprintf(expected, sizeof expected, "race o[%d] x%d [%d:%d]: (0) at 4:19, (1) at 5:12; axis i\n", (int)from, n, (int)from,
                     (int)from + n);
            OK(ctx, clp_kernel_from_text(ctx, text, NULL, params, &kernel));
            clp_report *report = check_kernel(ctx, kernel, (clp_array[]){ ARRAY(CLP_I8, memory, SIZE), { .dtype = CLP_I32, .data = &from } },
                                              2, &races_alone);
            expect_said(report, expected, params);
            clp_report_free(report);
            clp_kernel_free(kernel);
        }
    clp_context_free(ctx);
}

/* More racy elements than details are kept of at once. */
Test(check, racy_elements_take_turns)
{
    enum { SIZE = 100000 };
    clp_context *ctx = interp();
    int32_t *memory = calloc(SIZE, sizeof *memory);
    cr_assert_not_null(memory);
    expect_races(ctx, "kernel k(inout o: i32[N] block [2] at (j))\ngrid (i = 3, j = 50000)\n{\n    o[...] += i;\n}\n",
                 (clp_array[]){ ARRAY(CLP_I32, memory, SIZE) }, 1, NULL,
                 "race o[0] x100000 [0:100000]: (0, 0) at 4:5, (1, 0) at 4:5; axis i\n");
    expect_races(ctx, "kernel k(inout o: i32[N])\ngrid (i = 2)\n{\n    o[ds(1, 33333, 3)] = i;\n}\n",
                 (clp_array[]){ ARRAY(CLP_I32, memory, SIZE) }, 1, NULL,
                 "race o[1] x33333 [1:99998]: (0) at 4:5, (1) at 4:5; axis i\n");
    free(memory);
    clp_context_free(ctx);
}

/* ---- Programs ---- */

Test(check, axis_that_would_have_to_be_arbitrary)
{
    clp_context *ctx = interp();
    int32_t o[16] = { 0 };
    const clp_array arrays[] = { ARRAY(CLP_I32, o, 16) };
    expect_races(ctx, "kernel k(inout o: i32[16])\ngrid (i = 2, j = 4, k = 2 arbitrary)\n{\n    o[j] = 2 * i + k;\n}\n", arrays, 1, NULL,
                 "race o[0] x4 [0:4]: (0, 0, 0) at 4:5, (1, 0, 0) at 4:5; axis i\n");
    expect_races(ctx, "kernel k(inout o: i32[16])\ngrid (i = 2, j = 4, k = 2 arbitrary)\n{\n    o[i] = 2 * j + k;\n}\n", arrays, 1, NULL,
                 "race o[0] x2 [0:2]: (0, 0, 0) at 4:5, (0, 1, 0) at 4:5; axis j\n");
    /* Neighbours along either axis: neither alone would do. */
    expect_races(ctx, "kernel k(inout o: i32[16])\ngrid (i = 2, j = 4)\n{\n    o[i + j] = 2 * j + i;\n}\n", arrays, 1, NULL,
                 "race o[1] x3 [1:4]: (0, 1) at 4:5, (1, 0) at 4:5\n");
    /* One element along i, another along j. */
    expect_races(ctx, "kernel k(inout o: i32[16])\ngrid (i = 2, j = 2)\n{\n    o[4 * i] = 4 * i + j;\n    o[8 + j] = 4 * i + j;\n}\n",
                 arrays, 1, NULL,
                 "race o[0] x2 [0:5]: (0, 0) at 4:5, (0, 1) at 4:5; axis j\n"
                 "race o[8] x2 [8:10]: (0, 0) at 5:5, (1, 0) at 5:5; axis i\n");
    clp_context_free(ctx);
}

Test(check, boxes_of_the_grid)
{
    clp_context *ctx = interp();
    int32_t o[4] = { 0 };
    const clp_array arrays[] = { ARRAY(CLP_I32, o, 4) };
    static const char text[] = "kernel k(inout o: i32[4])\ngrid (i = 4, j = 3)\n{\n    if (i != 1) { o[j] = i; }\n}\n";
    static const struct { int64_t start[2], count[2]; const char *expected; } rows[] = {
        { { 0, 0 }, { 4, 3 }, "race o[0] x3 [0:3]: (0, 0) at 4:19, (2, 0) at 4:19; axis i\n" },
        { { 0, 0 }, { 2, 3 }, "" },
        { { 0, 1 }, { 3, 2 }, "race o[1] x2 [1:3]: (0, 1) at 4:19, (2, 1) at 4:19; axis i\n" },
        { { 2, 2 }, { 2, 1 }, "race o[2] x1 [2:3]: (2, 2) at 4:19, (3, 2) at 4:19; axis i\n" },
        { { 3, 0 }, { 1, 3 }, "" },
        { { 0, 0 }, { 0, 3 }, "" },
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        expect_races(ctx, text, arrays, 1, &(clp_run_opts){ .grid_start = rows[r].start, .grid_count = rows[r].count }, rows[r].expected);
    clp_context_free(ctx);
}

Test(check, too_many_programs)
{
    clp_context *ctx = interp();
    int32_t o = 0;
    clp_kernel *kernel;
    clp_report *report = (clp_report *)&o;
    OK(ctx, clp_kernel_from_text(ctx, "kernel k(inout o: i32[1])\ngrid (i = 40000, j = 40000)\n{\n    o[0] = i;\n}\n", NULL, NULL, &kernel));
    FAILS(ctx, CLP_ERR_UNSUPPORTED, "at most 1073741822 programs", clp_check(kernel, (clp_array[]){ ARRAY(CLP_I32, &o, 1) }, 1, &races_alone, &report));
    cr_expect_null(report);
    clp_kernel_free(kernel);
    clp_context_free(ctx);
}

/* An index map reads a table that programs write: the read stands in the header. */
Test(check, tables_of_index_maps)
{
    clp_context *ctx = interp();
    int32_t t[4] = { 0, 1, 2, 3 }, o[4] = { 0 };
    clp_kernel *kernel;
    OK(ctx, clp_kernel_from_text(ctx, "kernel k(prefetch t: i32[4], out o: i32[4] block [1] at (t[i]), inout w: i32[4])\ngrid (i = 4)\n"
                                      "{\n    o[0] = i;\n    w[3] = 3;\n}\n", NULL, NULL, &kernel));
    clp_report *report = check_kernel(ctx, kernel, (clp_array[]){ ARRAY(CLP_I32, t, 4), ARRAY(CLP_I32, o, 4), ARRAY(CLP_I32, t, 4) }, 3,
                                      &races_alone);
    char said[SAID_BYTES] = "";
    text_room s = { said, sizeof said };
    cr_assert_eq(clp_report_n_findings(report), 2, "%s", clp_report_text(report));
    say_finding(&s, clp_report_finding(report, 0));
    cr_expect_str_eq(said, "race-same-value w[3] x1 [3:4]: (0) at 5:5, (1) at 5:5; axis i\n", "%s", said);
    cr_expect(strstr(clp_report_finding(report, 0)->message, "others read it"), "%s", clp_report_finding(report, 0)->message);
    clp_report_free(report);
    clp_kernel_free(kernel);
    clp_context_free(ctx);
}

/* The read of an index map is an access like any other. */
Test(check, index_map_that_reads_what_a_program_writes)
{
    clp_context *ctx = interp();
    int32_t t[4] = { 0, 1, 2, 3 }, o[4] = { 0 };
    clp_kernel *kernel;
    OK(ctx, clp_kernel_from_text(ctx, "kernel k(prefetch t: i32[4],\n    out o: i32[4] block [1] at (t[i]), inout w: i32[4])\ngrid (i = 4)\n"
                                      "{\n    o[0] = i;\n    if (i == 1) { w[3] = 2; }\n}\n", NULL, NULL, &kernel));
    clp_report *report = check_kernel(ctx, kernel, (clp_array[]){ ARRAY(CLP_I32, t, 4), ARRAY(CLP_I32, o, 4), ARRAY(CLP_I32, t, 4) }, 3,
                                      &races_alone);
    char said[SAID_BYTES] = "";
    text_room s = { said, sizeof said };
    for (int i = 0; i < clp_report_n_findings(report); i++)
        if (clp_report_finding(report, i)->kind != CLP_FINDING_OVERLAP)
            say_finding(&s, clp_report_finding(report, i));
    /* Program 3 finds block 2 in place of 3, which program 2 has written. */
    cr_expect_str_eq(said, "race o[2] x1 [2:3]: (2) at 5:5, (3) at 5:5; axis i\n"
                             "alias-race w[3] x1 [3:4]: (1) at 6:19, (3) at 2:33; axis i\n", "%s%s", said, clp_report_text(report));
    clp_report_free(report);
    clp_kernel_free(kernel);
    clp_context_free(ctx);
}

Test(check, one_array_given_twice)
{
    clp_context *ctx = interp();
    int32_t a[5] = { 0 };
    clp_kernel *kernel;
    OK(ctx, clp_kernel_from_text(ctx, "kernel k(inout x: i32[5], inout y: i32[5])\ngrid (i = 4)\n{\n    x[i] = i;\n    y[i + 1] = 10 * i;\n}\n",
                                 NULL, NULL, &kernel));
    clp_report *report = check_kernel(ctx, kernel, (clp_array[]){ ARRAY(CLP_I32, a, 5), ARRAY(CLP_I32, a, 5) }, 2, &races_alone);
    char said[SAID_BYTES] = "";
    text_room s = { said, sizeof said };
    cr_assert_eq(clp_report_n_findings(report), 2, "%s", clp_report_text(report));
    say_finding(&s, clp_report_finding(report, 0));
    cr_expect_str_eq(said, "alias-race y[1] x3 [1:4]: (0) at 5:5, (1) at 4:5; axis i\n", "%s", said);
    cr_expect(strstr(clp_report_finding(report, 0)->message, "program (1,) writes it too through x"), "%s", clp_report_text(report));
    cr_expect_eq(clp_report_finding(report, 1)->kind, CLP_FINDING_OVERLAP);
    clp_report_free(report);
    report = check_kernel(ctx, kernel, (clp_array[]){ ARRAY(CLP_I32, a, 5), ARRAY(CLP_I32, (int32_t[5]){ 0 }, 5) }, 2, &races_alone);
    cr_expect_eq(clp_report_n_findings(report), 0, "%s", clp_report_text(report));
    clp_report_free(report);
    clp_kernel_free(kernel);
    clp_context_free(ctx);
}

/* ---- Reports ---- */

Test(check, report_in_words)
{
    clp_context *ctx = interp();
    int32_t o[8] = { 0 };
    clp_kernel *kernel;
    OK(ctx, clp_kernel_from_text(ctx, "kernel k(inout o: i32[8] block [4] at (j))\ngrid (i = 2, j = 2)\n{\n    let v = o[...];\n"
                                      "    o[...] = v + i;\n}\n", NULL, NULL, &kernel));
    clp_report *report = check_kernel(ctx, kernel, (clp_array[]){ ARRAY(CLP_I32, o, 8) }, 1, &races_alone);
    cr_expect_str_eq(clp_report_text(report),
                     "o: race: program (0, 0) writes element [0] and program (1, 0) writes it too; others read it; 8 elements [0:8]; "
                     "axis i would have to be `arbitrary`\n"
                     "<text>:5:5: program (0, 0) writes\n"
                     "    o[...] = v + i;\n"
                     "    ^\n"
                     "<text>:5:5: program (1, 0) writes\n"
                     "    o[...] = v + i;\n"
                     "    ^\n"
                     "k: 1 finding\n", "%s", clp_report_text(report));
    clp_report_free(report);
    clp_kernel_free(kernel);
    clp_context_free(ctx);
}

static void racy_body(clp_builder *b, const clp_ref *r, void *user)
{
    (void)user;
    clp_store(b, r[1], clp_load(b, r[0]));
}

/* Kernels from C have no text: the op stands in its place. */
Test(check, report_of_a_kernel_from_c)
{
    clp_context *ctx = interp();
    float x[8] = { 0, 1, 2, 3, 4, 5, 6, 7 }, o[4] = { 0 };
    const clp_kernel_desc desc = {
        .name = "k",
        .operands = (clp_operand_desc[]){
            { .role = CLP_IN, .name = "x", .dtype = CLP_F32, .shape = "N", .block = "4", .index_map = "(i) -> (i)" },
            { .role = CLP_OUT, .name = "o", .dtype = CLP_F32, .shape = "4" } },
        .n_operands = 2,
        .axes = (clp_axis_desc[]){ { .name = "i", .size = "cdiv(N, 4)" } },
        .n_axes = 1,
        .body = racy_body,
    };
    clp_kernel *kernel;
    OK(ctx, clp_kernel_from_desc(ctx, &desc, &kernel));
    clp_report *report = check_kernel(ctx, kernel, (clp_array[]){ ARRAY(CLP_F32, x, 8), ARRAY(CLP_F32, o, 4) }, 2, &races_alone);
    cr_expect_str_eq(clp_report_text(report),
                     "o: race: program (0,) writes element [0] and program (1,) writes it too; 4 elements [0:4]; axis i would have to be "
                     "`arbitrary`\n"
                     "    program (0,) writes: o[...] = v1;\n"
                     "    program (1,) writes: o[...] = v1;\n"
                     "k: 1 finding\n", "%s", clp_report_text(report));
    const clp_finding *f = clp_report_finding(report, 0);
    cr_expect(f && f->n_accesses == 2 && f->accesses[0].line == 0);
    clp_report_free(report);
    clp_kernel_free(kernel);
    clp_context_free(ctx);
}

Test(check, findings_past_the_most_are_counted)
{
    clp_context *ctx = interp();
    int32_t o[8] = { 0 };
    clp_kernel *kernel;
    OK(ctx, clp_kernel_from_text(ctx, "kernel k(inout o: i32[8])\ngrid (i = 2)\n{\n    o[3] = i;\n    o[0] = i;\n    o[2] = i;\n    o[1] = i;\n}\n",
                                 NULL, NULL, &kernel));
    clp_report *report = check_kernel(ctx, kernel, (clp_array[]){ ARRAY(CLP_I32, o, 8) }, 1,
                                      &(clp_check_opts){ .checks = CLP_CHECK_RACES, .max_findings = 3 });
    char said[SAID_BYTES] = "";
    text_room s = { said, sizeof said };
    cr_assert_eq(clp_report_n_findings(report), 3);
    cr_expect_eq(clp_report_n_dropped(report), 1);
    for (int i = 0; i < 3; i++)
        say_finding(&s, clp_report_finding(report, i));
    cr_expect_str_eq(said, "race o[0] x1 [0:1]: (0) at 5:5, (1) at 5:5; axis i\n"
                             "race o[1] x1 [1:2]: (0) at 7:5, (1) at 7:5; axis i\n"
                             "race o[2] x1 [2:3]: (0) at 6:5, (1) at 6:5; axis i\n", "%s", said);
    cr_expect(strstr(clp_report_text(report), "k: 4 findings, of which the first are shown\n"), "%s", clp_report_text(report));
    cr_expect_null(clp_report_finding(report, 3));
    cr_expect_null(clp_report_finding(report, -1));
    clp_report_free(report);
    clp_kernel_free(kernel);
    clp_context_free(ctx);
}

Test(check, arguments)
{
    clp_context *ctx = interp();
    int32_t o[4] = { 0 };
    clp_kernel *kernel;
    clp_report *report = (clp_report *)o;
    OK(ctx, clp_kernel_from_text(ctx, "kernel k(inout o: i32[4])\ngrid (i = 2)\n{\n    o[i] = i;\n}\n", NULL, NULL, &kernel));
    cr_expect_eq(clp_check(NULL, NULL, 0, NULL, &report), CLP_ERR_ARG);
    cr_expect_null(report);
    FAILS(ctx, CLP_ERR_ARG, "out_report is NULL", clp_check(kernel, NULL, 0, NULL, NULL));
    FAILS(ctx, CLP_ERR_ARG, "expected 1 arrays", clp_check(kernel, NULL, 0, NULL, &report));
    FAILS(ctx, CLP_ERR_ARG, "o: expected dtype i32, got f32", clp_check(kernel, (clp_array[]){ ARRAY(CLP_F32, o, 4) }, 1, NULL, &report));
    FAILS(ctx, CLP_ERR_ARG, "has no dim Z", clp_check(kernel, (clp_array[]){ ARRAY(CLP_I32, o, 4) }, 1,
          &(clp_check_opts){ .run = &(clp_run_opts){ .dims = (clp_dim[]){ { "Z", 1 } }, .n_dims = 1 } }, &report));
    cr_expect_null(report);
    const clp_array arrays[] = { ARRAY(CLP_I32, o, 4) };
    FAILS(ctx, CLP_ERR_ARG, "checks: expected bits out of 0x1ff, got 0x1001", clp_check(kernel, arrays, 1, &(clp_check_opts){ .checks = 0x1001 }, &report));
    FAILS(ctx, CLP_ERR_ARG, "n_shuffles: expected 1 or more, or 0 for the usual number, got -1",
          clp_check(kernel, arrays, 1, &(clp_check_opts){ .n_shuffles = -1 }, &report));
    FAILS(ctx, CLP_ERR_ARG, "n_device_runs: expected 1 or more, or 0 for the usual number, got -2",
          clp_check(kernel, arrays, 1, &(clp_check_opts){ .n_device_runs = -2 }, &report));
    FAILS(ctx, CLP_ERR_ARG, "max_findings: expected 1 or more, or 0 for the usual number, got -3",
          clp_check(kernel, arrays, 1, &(clp_check_opts){ .max_findings = -3 }, &report));
    cr_expect_null(report);
    clp_report_free(NULL);
    cr_expect_str_eq(clp_finding_name(CLP_FINDING_RACE_SAME_VALUE), "race-same-value");
    cr_expect_str_eq(clp_finding_name((clp_finding_kind)999), "?");
    clp_kernel_free(kernel);
    clp_context_free(ctx);
}

/* ---- Out of memory ---- */

/* Everything a check does: overlapping arrays, faults, races, words for all of it. */
static clp_status check_everything(clp_context *ctx, clp_kernel *kernel, unsigned checks)
{
    int32_t o[40] = { 0 }, t[8] = { 7, 1, 2, 9, 0, 0, 1, 1 };
    clp_report *report;
    (void)ctx;
    clp_status status = clp_check(kernel, (clp_array[]){ ARRAY(CLP_I32, t, 8), ARRAY(CLP_I32, o, 8), ARRAY(CLP_I32, o + 4, 8) }, 3,
                                  &(clp_check_opts){ .checks = checks }, &report);
    cr_assert(status == CLP_OK ? report != NULL : report == NULL);
    if (!status)
        cr_assert_eq(clp_report_verdict(report), CLP_VERDICT_FAULTY, "%s", clp_report_text(report));
    clp_report_free(report);
    return status;
}

static void out_of_memory(unsigned checks)
{
    enum { UNLIMITED = 1 << 30, MAX_BUDGET = 100000 };
    static const char text[] = "kernel k(prefetch t: i32[8], inout o: i32[8], inout x: i32[8] block [1] at (t[i]))\ngrid (i = 8)\n{\n"
                               "    o[t[i] - 1] = o[i] + x[0] / 0;\n    atomic_add(o[3], 1);\n    assert(i < 5, \"small\");\n}\n";
    for (size_t budget = 0; budget < MAX_BUDGET; budget++) {
        failing_alloc f = { .budget = UNLIMITED };
        clp_context *ctx;
        clp_kernel *kernel;
        cr_assert_eq(clp_context_new(&(clp_context_opts){ .device = "interp", .alloc = failing_alloc_fn, .alloc_user = &f }, &ctx), CLP_OK);
        OK(ctx, clp_kernel_from_text(ctx, text, NULL, NULL, &kernel));
        f.budget = f.n_calls + budget;
        clp_status status = check_everything(ctx, kernel, checks);
        bool has_failed = f.has_failed;
        f.budget = UNLIMITED;
        if (status)
            cr_assert_eq(status, CLP_ERR_OOM, "%u, budget %zu: %s: %s", checks, budget, clp_status_name(status), clp_last_error(ctx));
        else
            cr_assert_not(has_failed, "%u, budget %zu: a failed allocation went unnoticed", checks, budget);
        if (status)
            OK(ctx, check_everything(ctx, kernel, checks));
        clp_kernel_free(kernel);
        clp_context_free(ctx);
        cr_assert(f.n_live == 0 && f.live_bytes == 0, "%u, budget %zu: %zu left, %zu bytes", checks, budget, f.n_live, f.live_bytes);
        if (!status) {
            cr_assert_gt(budget, 0);
            return;
        }
    }
    cr_assert_fail("no budget is enough");
}

Test(check, out_of_memory)
{
    out_of_memory(CLP_CHECK_RACES);
    out_of_memory(CLP_CHECK_MEMORY);
    out_of_memory(CLP_CHECK_RACES | CLP_CHECK_MEMORY | CLP_CHECK_OVERFLOW | CLP_CHECK_DIVISION);
    out_of_memory(CLP_CHECK_DEFAULT);
}
