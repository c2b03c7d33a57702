/* Parameters left open: which values a launch takes, when they are compiled, and that checks look at the same ones. */
#include "choosing.h"

/* ---- Classes, points ---- */

Test(choose, rounds_sizes_up_to_classes)
{
    static const int64_t rows[][2] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 3, 3 }, { 4, 4 }, { 5, 6 }, { 6, 6 }, { 7, 8 }, { 17, 24 },
                                       { 25, 32 }, { 511, 512 }, { 512, 512 }, { 513, 768 }, { 1000, 1024 }, { 1536, 1536 },
                                       { 4095, 4096 }, { 2147483647, INT64_C(1) << 31 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_eq(clpi_shape_class(rows[i][0]), rows[i][1], "%d", (int)rows[i][0]);
}

Test(choose, points_are_defaults_and_all_combinations)
{
    static const char text[] = "kernel k<a = 5, b = 2, c = 7>(out o: i32[N]) grid () tune a in [1, 2], b in [a, 3, 4], c in [7, 8] { o[0] = a + b + c; }";
    static const char *const all[] = { "a=5, b=2", "a=1, b=5", "a=1, b=3", "a=1, b=4", "a=2, b=5", "a=2, b=3", "a=2, b=4" };
    fixture f;
    clpi_arena arena;
    int64_t values[2];
    open_fixture(&f, text, "c = 9");
    clpi_arena_init(&arena, &f.ctx->env);
    cr_assert_eq(clpi_n_open(f.k->choices), 2);
    cr_assert_eq(clpi_n_points(f.k->choices), 7);
    for (int i = 0; i < 7; i++) {
        clpi_point(f.k->choices, i, values);
        cr_expect_str_eq(clpi_point_params(f.k->choices, values, &arena), all[i]);
    }
    clpi_arena_done(&arena);
    close_fixture(&f);
}

/* ---- Launches ---- */

Test(choose, takes_what_suits_the_shape)
{
    fixture f;
    open_fixture(&f, BLOCKS, NULL);
    cr_expect_eq(ran_with(&f, 10), 16);
    cr_expect_eq(ran_with(&f, 4096), 1024);
    cr_expect_eq(choice_for(&f, 4096).by, CLP_CHOSEN_MODEL);
    cr_expect_str_eq(choice_for(&f, 4096).params, "b=1024");
    cr_expect_str_eq(choice_for(&f, 10).params, "b=16");
    close_fixture(&f);
}

/* Rows that are summed are gone over once, and need not fit the first cache; those that are divided by their sum are read again. */
Test(choose, what_is_read_once_may_be_larger_than_the_first_cache)
{
    static const struct { const char *text; int taken; } rows[] = {
        { "kernel k<b = 16>(in x: f32[N, 1024] block [b, 1024] at (i, 0), out o: f32[N] block [b] at (i)) grid (i = N / b) tune b in [1, 4] "
          "{ o[...] = sum(x[...], axis = 1); }", 16 },
        { "kernel k<b = 16>(in x: f32[N, 1024] block [b, 1024] at (i, 0), out o: f32[N, 1024] block [b, 1024] at (i, 0)) grid (i = N / b) tune b in [1, 4] "
          "{ o[...] = x[...] / sum(x[...], axis = 1)[:, None]; }", 4 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        static float x[512 * 1024], o[512 * 1024];
        open_fixture(&f, rows[i].text, NULL);
        clp_array arrays[] = { { .dtype = CLP_F32, .rank = 2, .shape = (int64_t[]){ 512, 1024 }, .data = x },
                               { .dtype = CLP_F32, .rank = i == 0 ? 1 : 2, .shape = (int64_t[]){ 512, 1024 }, .data = o } };
        clp_choice choice;
        OK(f.ctx, clp_kernel_choice(f.k, arrays, 2, NULL, &choice));
        cr_expect_eq(atoi(choice.params + strlen("b=")), rows[i].taken, "row %zu: %s", i, choice.params);
        close_fixture(&f);
    }
}

Test(choose, compiles_once_for_a_class_and_only_what_runs)
{
    fixture f;
    open_fixture(&f, BLOCKS, NULL);
    cr_expect_eq(f.device.n_compiled, 0, "nothing was run");
    ran_with(&f, 4096);
    cr_expect_eq(f.device.n_compiled, 1);
    ran_with(&f, 4095);
    ran_with(&f, 3100);
    cr_expect_eq(f.device.n_compiled, 1, "sizes of one class");
    ran_with(&f, 4999);
    cr_expect_eq(f.device.n_compiled, 1, "another class, the same point");
    ran_with(&f, 9);
    cr_expect_eq(f.device.n_compiled, 2);
    close_fixture(&f);
}

Test(choose, leaves_what_is_given_and_what_has_no_list)
{
    fixture f;
    open_fixture(&f, BLOCKS, "b=7");
    cr_expect_null(f.k->choices);
    cr_expect_eq(f.device.n_compiled, 1, "compiled when it is made");
    cr_expect_eq(ran_with(&f, 4096), 7);
    cr_expect_eq(choice_for(&f, 4096).by, CLP_CHOSEN_NOTHING);
    cr_expect_str_eq(choice_for(&f, 4096).params, "");
    close_fixture(&f);
}

Test(choose, boxes_and_batches_have_the_defaults)
{
    fixture f;
    const int64_t n = 4096, start = 1, count = 3, shape[2] = { 2, 4096 };
    static int32_t o[2 * 4096];
    open_fixture(&f, BLOCKS, NULL);
    OK(f.ctx, clp_run(f.k, &(clp_array){ .dtype = CLP_I32, .rank = 1, .shape = &n, .data = o }, 1,
                      &(clp_run_opts){ .grid_start = &start, .grid_count = &count }));
    for (int i = 0; i < 20; i++)
        cr_expect_eq(o[i], i >= 4 && i < 16 ? 4 : 0, "element %d", i);
    clp_kernel *batch;
    OK(f.ctx, clp_kernel_batch(f.k, "o", &batch));
    OK(f.ctx, clp_run(batch, &(clp_array){ .dtype = CLP_I32, .rank = 2, .shape = shape, .data = o }, 1, NULL));
    cr_expect(o[0] == 4 && o[8191] == 4);
    clp_kernel_free(batch);
    close_fixture(&f);
}

Test(choose, the_interpreter_has_the_defaults)
{
    fixture f;
    open_fixture(&f, BLOCKS, NULL);
    clp_kernel_free(f.k);
    clp_context_free(f.ctx);
    OK(NULL, clp_context_new(&(clp_context_opts){ .device = "interp" }, &f.ctx));
    OK(f.ctx, clp_kernel_from_text(f.ctx, BLOCKS, NULL, NULL, &f.k));
    cr_expect_eq(ran_with(&f, 4096), 4);
    cr_expect_eq(choice_for(&f, 4096).by, CLP_CHOSEN_DEFAULT);
    close_fixture(&f);
}

/* ---- Conditions ---- */

Test(choose, a_point_that_takes_the_arrays_will_do_where_the_defaults_do_not)
{
    fixture f;
    open_fixture(&f, "kernel k<b = 4>(out o: i32[N] block [b] at (0)) grid () require N <= b tune b in [8, 64] { o[...] = b; }", NULL);
    cr_expect_eq(ran_with(&f, 50), 64);
    const int64_t n = 100;
    static int32_t o[100];
    FAILS(f.ctx, CLP_ERR_ARG, "k requires N <= b; N is 100", clp_run(f.k, &(clp_array){ .dtype = CLP_I32, .rank = 1, .shape = &n, .data = o }, 1, NULL));
    close_fixture(&f);
}

Test(choose, the_defaults_serve_shapes_that_the_choice_of_their_class_does_not)
{
    fixture f;
    /* The class of 10 is 12, which 4 divides. */
    open_fixture(&f, "kernel k<b = 1>(out o: i32[N] block [b] at (i)) grid (i = cdiv(N, b)) require N % b == 0 tune b in [4] { o[...] = b; }", NULL);
    cr_expect_eq(ran_with(&f, 12), 4);
    cr_expect_eq(ran_with(&f, 10), 1);
    cr_expect_eq(choice_for(&f, 10).by, CLP_CHOSEN_DEFAULT);
    cr_expect_eq(ran_with(&f, 12), 4);
    close_fixture(&f);
}

Test(choose, points_that_are_no_kernels_are_passed_over)
{
    fixture f;
    /* 3 is no divisor of 8: the reshape does not fit. */
    open_fixture(&f, "kernel k<b = 8>(out o: i32[N] block [b] at (i)) grid (i = cdiv(N, b)) tune b in [3, 8] "
                     "{ let v = reshape(iota([8], axis = 0), [8 / b, b]); o[...] = b + 0 * max(v); }", NULL);
    cr_expect_eq(ran_with(&f, 3), 8);
    close_fixture(&f);
}

Test(choose, errors_are_those_of_the_defaults)
{
    fixture f;
    const int64_t n = 8, two[2] = { 4, 2 };
    static int32_t o[8];
    open_fixture(&f, BLOCKS, NULL);
    const clp_array good = { .dtype = CLP_I32, .rank = 1, .shape = &n, .data = o };
    clp_array bad = good;
    FAILS(f.ctx, CLP_ERR_ARG, "blocks: expected 1 arrays (o), got 0", clp_run(f.k, NULL, 0, NULL));
    bad.rank = 2;
    bad.shape = two;
    FAILS(f.ctx, CLP_ERR_ARG, "o: expected rank 1, got rank 2", clp_run(f.k, &bad, 1, NULL));
    bad = good;
    bad.shape = NULL;
    FAILS(f.ctx, CLP_ERR_ARG, "o: the shape is NULL", clp_run(f.k, &bad, 1, NULL));
    bad = good;
    bad.dtype = CLP_F32;
    FAILS(f.ctx, CLP_ERR_ARG, "o: expected dtype i32, got f32", clp_run(f.k, &bad, 1, NULL));
    FAILS(f.ctx, CLP_ERR_ARG, "dims: a name is NULL", clp_run(f.k, &good, 1, &(clp_run_opts){ .dims = &(clp_dim){ NULL, 3 }, .n_dims = 1 }));
    clp_choice choice;
    FAILS(f.ctx, CLP_ERR_ARG, "o: expected rank 1, got rank 2", clp_kernel_choice(f.k, &(clp_array){ .dtype = CLP_I32, .rank = 2, .shape = two, .data = o }, 1, NULL, &choice));
    cr_expect_eq(clp_kernel_choice(NULL, &good, 1, NULL, &choice), CLP_ERR_ARG);
    FAILS(f.ctx, CLP_ERR_ARG, "clp_kernel_choice: out_choice is NULL", clp_kernel_choice(f.k, &good, 1, NULL, NULL));
    close_fixture(&f);
}

/* ---- Checks ---- */

Test(choose, checks_compare_what_is_launched)
{
    fixture f;
    int64_t n = 4096;
    static int32_t o[4096];
    const clp_array array = { .dtype = CLP_I32, .rank = 1, .shape = &n, .data = o };
    clp_report *report;
    open_fixture(&f, BLOCKS, NULL);
    /* The interpreter with other blocks would write another number. */
    OK(f.ctx, clp_verify(f.k, &array, 1, NULL, &report));
    cr_expect(clp_report_verdict(report) != CLP_VERDICT_FAULTY, "%s", clp_report_text(report));
    clp_report_free(report);
    f.device.wrong_block = 1024;
    OK(f.ctx, clp_verify(f.k, &array, 1, NULL, &report));
    cr_expect(clp_report_verdict(report) == CLP_VERDICT_FAULTY);
    cr_expect(strstr(clp_report_text(report), "interpreter 1024"), "%s", clp_report_text(report));
    clp_report_free(report);
    close_fixture(&f);
}

/* ---- Threads ---- */

typedef struct worker { fixture *f; int id; char wrong[200]; } worker;

static void *work(void *user)
{
    worker *w = user;
    for (int round = 0; round < 40 && !*w->wrong; round++) {
        int64_t n = 1 + (w->id * 131 + round * 977) % 4000;
        int32_t o[4000] = { 0 };
        const clp_array array = { .dtype = CLP_I32, .rank = 1, .shape = &n, .data = o };
        clp_choice choice;
        int b = 0;
        if (clp_run(w->f->k, &array, 1, NULL) || clp_kernel_choice(w->f->k, &array, 1, NULL, &choice))
            snprintf(w->wrong, sizeof w->wrong, "%s", clp_last_error(w->f->ctx));
        else if (sscanf(choice.params, "b=%d", &b) != 1 || o[0] != b || o[n - 1] != b)
            snprintf(w->wrong, sizeof w->wrong, "%d elements: %d .. %d, chosen: %s", (int)n, o[0], o[n - 1], choice.params);
    }
    return NULL;
}

Test(choose, launches_of_many_threads_agree)
{
    enum { N_THREADS = 8 };
    fixture f;
    worker workers[N_THREADS];
    pthread_t threads[N_THREADS];
    open_fixture(&f, BLOCKS, NULL);
    for (int i = 0; i < N_THREADS; i++) {
        workers[i] = (worker){ .f = &f, .id = i };
        cr_assert_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        cr_expect_str_eq(workers[i].wrong, "");
    }
    cr_expect(f.device.n_compiled >= 2 && f.device.n_compiled <= 3, "%d", f.device.n_compiled);
    close_fixture(&f);
}
