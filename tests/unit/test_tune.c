/* Values of parameters left open that trying finds: tries, the file in which the best are kept, running out of memory. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "choosing.h"

/* ---- Trying ---- */

static clp_tuning *tune(fixture *f, int64_t n)
{
    static int32_t o[MAX_N];
    clp_tuning *tuning;
    OK(f->ctx, clp_tune(f->k, &(clp_array){ .dtype = CLP_I32, .rank = 1, .shape = &n, .data = o }, 1, NULL, &tuning));
    cr_expect_eq(o[0], 0, "the arrays are as they were");
    return tuning;
}

static const clp_try *try_of(const clp_tuning *tuning, const char *params)
{
    for (int i = 0; i < clp_tuning_n_tries(tuning); i++)
        if (!strcmp(clp_tuning_try(tuning, i)->params, params))
            return clp_tuning_try(tuning, i);
    cr_assert_fail("%s was not tried", params);
    return NULL;
}

#define SEVENS "kernel blocks<b = 4>(out o: i32[N] block [b] at (i)) grid (i = cdiv(N, b)) tune b in [16, 1024] { o[...] = 7; }"

Test(tune, tuning_tries_every_point_and_keeps_the_best)
{
    fixture f;
    open_fixture(&f, SEVENS, NULL);
    clp_tuning *tuning = tune(&f, 4096);
    cr_assert_eq(clp_tuning_n_tries(tuning), 3);
    cr_expect(try_of(tuning, "b=4")->is_default && try_of(tuning, "b=1024")->rank == 1);
    cr_expect_null(clp_tuning_not_kept(tuning), "%s", clp_tuning_not_kept(tuning));
    const clp_try *best = clp_tuning_try(tuning, 0);
    cr_expect(best->is_best && best->seconds > 0 && !best->why_not);
    int b;
    cr_assert_eq(sscanf(best->params, "b=%d", &b), 1);
    cr_expect_str_eq(choice_for(&f, 4096).params, "b=1024", "a context that does not ask for it");
    clp_tuning_free(tuning);
    reopen(&f, SEVENS, NULL);
    cr_expect_eq(atoi(choice_for(&f, 4000).params + strlen("b=")), b, "the class of 4096");
    cr_expect_eq(ran_with(&f, 4000), 7);
    cr_expect_eq(choice_for(&f, 4096).by, CLP_CHOSEN_TUNED);
    cr_expect_eq(choice_for(&f, 2000).by, CLP_CHOSEN_MODEL, "another class");
    cr_expect_str_eq(f.warnings, "");
    /* Another kernel of the same name has other code. */
    reopen(&f, "kernel blocks<b = 4>(out o: i32[N] block [b] at (i)) grid (i = cdiv(N, b)) tune b in [16, 1024] { o[...] = 8; }", NULL);
    cr_expect_eq(choice_for(&f, 4096).by, CLP_CHOSEN_MODEL);
    close_fixture(&f);
}

Test(tune, tuning_rejects_wrong_results)
{
    fixture f;
    open_fixture(&f, SEVENS, NULL);
    f.device.wrong_block = 4;
    clp_tuning *tuning = tune(&f, 4096);
    const clp_try *wrong = try_of(tuning, "b=4");
    cr_expect(wrong->why_not && strstr(wrong->why_not, "o: mismatch: element [0]"), "%s", wrong->why_not ? wrong->why_not : "taken");
    cr_expect_not(wrong->is_best);
    cr_expect(clp_tuning_try(tuning, 0)->is_best);
    clp_tuning_free(tuning);
    close_fixture(&f);
    /* Where no point is right there is no best, and nothing is kept. */
    open_fixture(&f, "kernel k<b = 4>(out o: i32[N] block [b] at (i)) grid (i = cdiv(N, b)) tune b in [4] { o[...] = b; }", NULL);
    f.device.wrong_block = 4;
    tuning = tune(&f, 16);
    cr_expect_eq(clp_tuning_n_tries(tuning), 1);
    cr_expect_str_eq(clp_tuning_not_kept(tuning), "no point ran with the interpreter's results");
    clp_tuning_free(tuning);
    close_fixture(&f);
}

/* 1024 programs of 4 elements against 4 of 1024: whatever else the machine does, there is no doubt which is faster. */
Test(tune, tuning_rejects_results_that_depend_on_the_parameters)
{
    static const struct { const char *body; bool is_taken; } rows[] = {
        { "o[...] = b;", false },
        { "o[...] = i * b + iota([b]);", true },
        { "o[...] = i + iota([b]);", false },
        { "o[...] = cast(1.0 / cast(b, f32) > 0.1, i32);", false },
        { "let old = atomic_xchg(o[...], b);", true },      /* hangs on who came last: nothing can be said */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        char text[300];
        snprintf(text, sizeof text, "kernel k<b = 4>(out o: i32[N] block [b] at (i)) grid (i = cdiv(N, b)) tune b in [1024] { %s }", rows[i].body);
        open_fixture(&f, text, NULL);
        clp_tuning *tuning = tune(&f, 4096);
        const clp_try *other = try_of(tuning, "b=1024");
        cr_expect_eq(other->is_best, rows[i].is_taken, "%s: %s", rows[i].body, other->why_not ? other->why_not : "taken");
        if (!rows[i].is_taken)
            cr_expect(other->why_not && strstr(other->why_not, "its results depend on the parameters: o: element ") && strstr(other->why_not, ", with b=4 it is "),
                      "%s: %s", rows[i].body, other->why_not ? other->why_not : "none");
        clp_tuning_free(tuning);
        close_fixture(&f);
    }
}

/* A sum in blocks of 4 and one in blocks of 1024 round differently, also where each adds up in one order. */
Test(tune, tuning_takes_sums_that_are_grouped_otherwise)
{
    static const char *const bodies[] = {
        "atomic_add(o[0], sum(x[...]));",
        "if (first(i)) { s[0] = 0; } var part = 0.0; for (e in 0 .. b) { part = part + x[e]; } s[0] = s[0] + part; if (last(i)) { o[0] = s[0]; }",
    };
    static float x[4096], o[1];
    const int64_t n = 4096, one = 1;
    for (int e = 0; e < 4096; e++)
        x[e] = 1.0f / (float)(e + 1);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        fixture f;
        char text[500];
        clp_tuning *tuning;
        snprintf(text, sizeof text, "kernel k<b = 4>(in x: f32[N] block [b] at (i), inout o: f32[1], scratch s: f32[1]) grid (i = cdiv(N, b) arbitrary) "
                                    "tune b in [1024] { %s }", bodies[i]);
        open_fixture(&f, text, NULL);
        const clp_array arrays[] = { { .dtype = CLP_F32, .rank = 1, .shape = &n, .data = x }, { .dtype = CLP_F32, .rank = 1, .shape = &one, .data = o } };
        OK(f.ctx, clp_tune(f.k, arrays, 2, NULL, &tuning));
        cr_expect_null(try_of(tuning, "b=1024")->why_not, "%s: %s", bodies[i], try_of(tuning, "b=1024")->why_not);
        clp_tuning_free(tuning);
        close_fixture(&f);
    }
}

/* The reads are those of the results of the defaults: of their comparison with the interpreter's, and of what others are compared with. */
Test(tune, results_that_could_not_be_read_are_no_reference)
{
    for (int i = 1; i <= 2; i++) {
        fixture f;
        open_fixture(&f, SEVENS, NULL);
        f.device.failing_read = i;
        clp_tuning *tuning = tune(&f, 4096);
        const char *why_not = try_of(tuning, "b=4")->why_not;
        cr_expect(why_not && strstr(why_not, "a read that fails"), "%s", why_not ? why_not : "taken");
        cr_expect_null(try_of(tuning, "b=1024")->why_not, "%s", try_of(tuning, "b=1024")->why_not);
        cr_expect(clp_tuning_try(tuning, 0)->is_best);
        clp_tuning_free(tuning);
        close_fixture(&f);
    }
}

typedef struct listener { fixture *f; int n_tried; } listener;

static void fail_after_the_last(const clp_try *tried, void *user)
{
    listener *l = user;
    (void)tried;
    if (++l->n_tried == 2)
        l->f->device.failing_block = 4;
}

/* Two points have been tried, one is for the model too slow; they are launched again against each other, and one fails now. */
Test(tune, a_point_that_fails_in_the_end_is_given_up)
{
    static int32_t o[4096];
    const int64_t n = 4096;
    fixture f;
    clp_tuning *tuning;
    open_fixture(&f, SEVENS, NULL);
    listener l = { &f, 0 };
    const clp_tune_opts opts = { .tried = fail_after_the_last, .user = &l };
    OK(f.ctx, clp_tune(f.k, &(clp_array){ .dtype = CLP_I32, .rank = 1, .shape = &n, .data = o }, 1, &opts, &tuning));
    cr_expect_eq(l.n_tried, 2);
    const clp_try *failed = try_of(tuning, "b=4");
    cr_expect(failed->why_not && strstr(failed->why_not, "a launch that fails"), "%s", failed->why_not ? failed->why_not : "taken");
    cr_expect(try_of(tuning, "b=1024")->is_best);
    cr_expect_null(clp_tuning_not_kept(tuning), "%s", clp_tuning_not_kept(tuning));
    clp_tuning_free(tuning);
    close_fixture(&f);
}

Test(tune, tuning_refuses_what_leaves_nothing_open)
{
    fixture f;
    const int64_t n = 8, start = 0;
    static int32_t o[8];
    clp_tuning *tuning;
    const clp_array array = { .dtype = CLP_I32, .rank = 1, .shape = &n, .data = o };
    open_fixture(&f, BLOCKS, "b=4");
    FAILS(f.ctx, CLP_ERR_ARG, "blocks: there is nothing to tune: no parameter with a `tune` list is left open", clp_tune(f.k, &array, 1, NULL, &tuning));
    reopen(&f, BLOCKS, NULL);
    FAILS(f.ctx, CLP_ERR_ARG, "a box of the grid has the defaults", clp_tune(f.k, &array, 1, &(clp_tune_opts){ .run = &(clp_run_opts){ .grid_start = &start } }, &tuning));
    FAILS(f.ctx, CLP_ERR_ARG, "expected seconds of 0 or more", clp_tune(f.k, &array, 1, &(clp_tune_opts){ .seconds = -1 }, &tuning));
    FAILS(f.ctx, CLP_ERR_ARG, "expected 1 arrays (o), got 0", clp_tune(f.k, &array, 0, NULL, &tuning));
    cr_expect_eq(clp_tune(NULL, &array, 1, NULL, &tuning), CLP_ERR_ARG);
    FAILS(f.ctx, CLP_ERR_ARG, "out_tuning is NULL", clp_tune(f.k, &array, 1, NULL, NULL));
    close_fixture(&f);
}

/* ---- The file ---- */

static void write_file(const fixture *f, const char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/tuned.jsonl", f->folder);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0);
    fclose(file);
}

static char *read_file(const fixture *f)
{
    static char text[100000];
    char path[400];
    snprintf(path, sizeof path, "%s/tuned.jsonl", f->folder);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

Test(tune, entries_are_lines_that_are_replaced_sorted_and_merged)
{
    fixture f;
    char both[4000];
    open_fixture(&f, BLOCKS, NULL);
    keep(&f, 4096, 16, 5e-3);
    keep(&f, 4096, 4, 1e-3);
    keep(&f, 1024, 16, 2.5e-6);
    char *text = read_file(&f);
    const char *line = strchr(text, '\n') + 1;
    cr_expect(strstr(text, "\"dims\": {\"N\": 1024}, \"params\": {\"b\": 16}, \"ns\": 2500, \"default_ns\": 5000}\n"), "%s", text);
    cr_expect(strstr(line, "\"dims\": {\"N\": 4096}, \"params\": {\"b\": 4}, \"ns\": 1000000, \"default_ns\": 2000000}\n"), "%s", text);
    cr_expect_eq(strncmp(text, "{\"device\": \"a \\\"fake\\\"\\\\device \", \"schedule\": \"vector\", \"kernel\": \"blocks\", \"code\": \"", 80), 0, "%s", text);
    cr_expect_str_eq(strchr(line, '\n'), "\n", "two lines");
    reopen(&f, BLOCKS, NULL);
    cr_expect_eq(ran_with(&f, 4096), 4);
    /* Of two files put together the faster entry counts, wherever it stands. */
    snprintf(both, sizeof both, "%s", text);
    keep(&f, 4096, 1024, 1e-4);
    strncat(both, read_file(&f), sizeof both - strlen(both) - 1);
    write_file(&f, both);
    reopen(&f, BLOCKS, NULL);
    cr_expect_eq(ran_with(&f, 4096), 1024);
    cr_expect_str_eq(f.warnings, "");
    close_fixture(&f);
}

/* The good entry with one piece of it put in place of another. */
static char *altered(const char *good, const char *piece, const char *other)
{
    static char text[4000];
    const char *at = strstr(good, piece);
    cr_assert_not_null(at, "%s in %s", piece, good);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, other, at + strlen(piece));
    return text;
}

Test(tune, lines_that_are_of_no_use_are_told_and_passed_over)
{
    static const struct { const char *piece, *other, *why; } rows[] = {
        { "{\"device\"", "", "it is no entry" },
        { "}\n", "\n", "it is no entry" },
        { "}\n", "} x\n", "it is no entry" },
        { "\"b\": 16", "\"b\": 16x", "it is no entry" },
        { "\"b\": 16", "\"b\": nan", "it is no entry" },
        { "\"b\": 16", "\"b\": 1e999", "it is no entry" },
        { "\"ns\": 1000", "\"ns\": 0", "it is no entry" },
        { "\"kernel\"", "\"colonel\"", "it is no entry" },
        { "\"kernel\": \"blocks\"", "\"kernel\": \"blocks", "it is no entry" },
        { "{\"b\": 16}", "[16]", "it is no entry" },
        { "\"b\": 16", "\"b\": 17", "its value of b is none of the `tune` list" },
        { "\"b\": 16", "\"b\": 1.6e1000", "it is no entry" },
        { "\"b\": 16", "\"b\": -16", "its value of b is none of the `tune` list" },
        { "\"b\": 16", "\"c\": 16", "its value of b is none of the `tune` list" },
        { "\"b\": 16", "\"b\": 16, \"c\": 1", "its parameters are not those that are left open" },
        { "\"b\": 16", "", "its parameters are not those that are left open" },
        { "\"kernel\": \"blocks\"", "\"kernel\": \"others\"", NULL },
        { "\"schedule\": \"vector\"", "\"schedule\": \"simt\"", NULL },
        { "\"N\": 4096", "\"M\": 4096", NULL },
        { "\"N\": 4096", "\"N\": 4096, \"M\": 1", NULL },
    };
    fixture f;
    char good[2000], wanted[400], path[200];
    open_fixture(&f, BLOCKS, NULL);
    keep(&f, 4096, 16, 1e-6);
    snprintf(good, sizeof good, "%s", read_file(&f));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_file(&f, altered(good, rows[i].piece, rows[i].other));
        f.warnings[0] = 0;
        reopen(&f, BLOCKS, NULL);
        cr_expect_eq(ran_with(&f, 4096), 1024, "row %d: as without the file", (int)i);
        snprintf(path, sizeof path, "%s/tuned.jsonl:1: not used: ", f.folder);
        snprintf(wanted, sizeof wanted, "%s%s%s", rows[i].why ? path : "", rows[i].why ? rows[i].why : "", rows[i].why ? "\n" : "");
        cr_expect_str_eq(f.warnings, wanted, "row %d: %s", (int)i, f.warnings);
        f.warnings[0] = 0;
        ran_with(&f, 10);
        cr_expect_str_eq(f.warnings, "", "row %d: said twice", (int)i);
    }
    /* Beside such lines a good one does its work; keeping another entry clears away what is none. */
    char text[9000] = "rubbish\n\n{\"device\": ";
    strcat(strcat(text, "\n"), good);
    write_file(&f, text);
    reopen(&f, BLOCKS, NULL);
    cr_expect_eq(ran_with(&f, 4096), 16);
    keep(&f, 10, 16, 1e-6);
    cr_expect(!strstr(read_file(&f), "rubbish") && strstr(read_file(&f), good), "%s", read_file(&f));
    close_fixture(&f);
}

/* Puts what cannot be used in place of the file, which stands at `other` then or as it was. */
static bool make_useless(const char *path, const char *other, const char *how)
{
    if (!strcmp(how, "others may write to it"))
        return chmod(path, 0620) == 0;
    if (!strcmp(how, "it is longer than 4 MiB"))
        return truncate(path, (4 << 20) + 1) == 0;
    if (!strcmp(how, "it is a link"))
        return rename(path, other) == 0 && symlink(other, path) == 0;
    return rename(path, other) == 0 && mkfifo(path, 0600) == 0;
}

/* What trying has found is not made again: a file that cannot be used is told, once, and never written over. */
Test(tune, a_file_that_cannot_be_used_is_told_and_not_written_over)
{
    static const char *const whys[] = { "others may write to it", "it is longer than 4 MiB", "it is a link", "it is no regular file" };
    fixture f;
    char path[200], other[200], wanted[400];
    struct stat before, after;
    open_fixture(&f, BLOCKS, NULL);
    snprintf(path, sizeof path, "%s/tuned.jsonl", f.folder);
    snprintf(other, sizeof other, "%s/other", f.folder);
    for (int i = 0; i < 4; i++) {
        keep(&f, 4096, 16, 1e-6);
        cr_assert(make_useless(path, other, whys[i]) && lstat(path, &before) == 0, "%s", whys[i]);
        f.warnings[0] = 0;
        reopen(&f, BLOCKS, NULL);
        cr_expect_eq(ran_with(&f, 4096), 1024, "%s: as without the file", whys[i]);
        ran_with(&f, 10);
        snprintf(wanted, sizeof wanted, "%s: not used: %s\n", path, whys[i]);
        cr_expect_str_eq(f.warnings, wanted);
        clp_tuning *tuning = tune(&f, 64);
        snprintf(wanted, sizeof wanted, "%s: %s", path, whys[i]);
        cr_expect_str_eq(clp_tuning_not_kept(tuning), wanted);
        cr_expect(clp_tuning_try(tuning, 0)->is_best);
        clp_tuning_free(tuning);
        cr_expect(lstat(path, &after) == 0 && after.st_ino == before.st_ino && after.st_size == before.st_size, "%s: written over", whys[i]);
        unlink(path);
    }
    keep(&f, 4096, 16, 1e-6);
    reopen(&f, BLOCKS, NULL);
    cr_expect_eq(ran_with(&f, 4096), 16, "a file of one's own");
    close_fixture(&f);
}

/* A file with a zero in it, as a crash may leave, has lost no more than that line. */
Test(tune, a_zero_ends_no_file)
{
    fixture f;
    char path[200];
    open_fixture(&f, BLOCKS, NULL);
    keep(&f, 4096, 16, 1e-6);
    char *good = read_file(&f);
    snprintf(path, sizeof path, "%s/tuned.jsonl", f.folder);
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite("a\0b\n", 1, 4, file) == 4 && fputs(good, file) >= 0);
    fclose(file);
    reopen(&f, BLOCKS, NULL);
    cr_expect_eq(ran_with(&f, 4096), 16);
    keep(&f, 10, 16, 1e-6);
    cr_expect(strstr(read_file(&f), "\"N\": 4096"), "%s", read_file(&f));
    close_fixture(&f);
}

Test(tune, a_lock_that_cannot_be_had_is_told)
{
    fixture f;
    char lock[200], wanted[400];
    open_fixture(&f, SEVENS, NULL);
    snprintf(lock, sizeof lock, "%s/tuned.jsonl.lock", f.folder);
    cr_assert_eq(mkdir(lock, 0700), 0);
    clp_tuning *tuning = tune(&f, 64);
    snprintf(wanted, sizeof wanted, "%s/tuned.jsonl: it cannot be locked: Is a directory", f.folder);
    cr_expect_str_eq(clp_tuning_not_kept(tuning), wanted);
    clp_tuning_free(tuning);
    rmdir(lock);
    close_fixture(&f);
}

Test(tune, without_a_folder_nothing_is_kept_and_that_is_said)
{
    fixture f;
    open_fixture(&f, BLOCKS, NULL);
    setenv("CLPALLAS_CACHE", "off", 1);
    clp_tuning *tuning = tune(&f, 64);
    cr_expect_str_eq(clp_tuning_not_kept(tuning), "CLPALLAS_CACHE is off");
    cr_expect(clp_tuning_try(tuning, 0)->is_best);
    clp_tuning_free(tuning);
    close_fixture(&f);
}

/* Processes that keep entries at the same time lose none; those that are killed leave the file whole. */
Test(tune, many_processes_keep_entries)
{
    enum { N_PROCESSES = 6, N_ENTRIES = 8 };
    fixture f;
    pid_t pids[N_PROCESSES + 1];
    open_fixture(&f, BLOCKS, NULL);
    for (int p = 0; p <= N_PROCESSES; p++) {
        pids[p] = fork();
        cr_assert(pids[p] >= 0);
        if (pids[p])
            continue;
        /* The last one works until it is killed. */
        for (int64_t i = 0; i < N_ENTRIES || p == N_PROCESSES; i++) {
            keep(&f, p == N_PROCESSES ? 1000000 : 1000 * (p + 1) + i, 16, 1e-3);
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        }
        _exit(0);
    }
    for (int p = 0; p < N_PROCESSES; p++) {
        int status;
        cr_assert_eq(waitpid(pids[p], &status, 0), pids[p]);
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "process %d", p);
    }
    kill(pids[N_PROCESSES], SIGKILL);
    waitpid(pids[N_PROCESSES], NULL, 0);
    keep(&f, 2000000, 16, 1e-3);
    const char *text = read_file(&f);
    for (int64_t p = 0; p < N_PROCESSES; p++)
        for (int64_t i = 0; i < N_ENTRIES; i++) {
            char dims[64];
            snprintf(dims, sizeof dims, "\"dims\": {\"N\": %d}", (int)(1000 * (p + 1) + i));
            cr_expect(strstr(text, dims), "%s", dims);
        }
    cr_expect(strstr(text, "\"dims\": {\"N\": 2000000}"));
    close_fixture(&f);
}

/* ---- Out of memory ---- */

static clp_status run_it(fixture *f)
{
    static int32_t o[MAX_N];
    const int64_t n = 4096;
    return clp_run(f->k, &(clp_array){ .dtype = CLP_I32, .rank = 1, .shape = &n, .data = o }, 1, NULL);
}

/* The defaults alone are tried: there is no time for more. */
static clp_status tune_it(fixture *f)
{
    static int32_t o[MAX_N];
    const int64_t n = 4096;
    clp_tuning *tuning;
    clp_status status = clp_tune(f->k, &(clp_array){ .dtype = CLP_I32, .rank = 1, .shape = &n, .data = o }, 1,
                                 &(clp_tune_opts){ .seconds = 1e-9, .try_seconds = 1e-9 }, &tuning);
    cr_assert(!status == (tuning != NULL));
    clp_tuning_free(tuning);
    return status;
}

/* Each use with room for 0, 1, 2, ... allocations until it succeeds; those that fail say so, and the next one works. */
static void try_budgets(bool tuned, clp_status (*use)(fixture *f))
{
    fixture f;
    open_fixture(&f, BLOCKS, NULL);
    keep(&f, 4096, 16, 1e-6);
    for (size_t budget = 0;; budget++) {
        clp_kernel_free(f.k);
        clp_context_free(f.ctx);
        cr_assert_eq(f.memory.n_live, 0, "budget %d", (int)budget);
        open_context(&f, tuned);
        OK(f.ctx, clp_kernel_from_text(f.ctx, BLOCKS, NULL, NULL, &f.k));
        f.memory.budget = f.memory.n_calls + budget;
        clp_status status = use(&f);
        bool has_failed = f.memory.has_failed;
        f.memory.budget = SIZE_MAX;
        f.memory.has_failed = false;
        cr_assert_eq(status != CLP_OK, has_failed, "budget %d: %s", (int)budget, clp_status_name(status));
        if (!status)
            break;
        cr_assert_eq(status, CLP_ERR_OOM, "budget %d: %s: %s", (int)budget, clp_status_name(status), clp_last_error(f.ctx));
        OK(f.ctx, use(&f));
        cr_expect_eq(ran_with(&f, 4096), use == tune_it ? 4 : tuned ? 16 : 1024, "budget %d", (int)budget);
        if (use == tune_it)
            keep(&f, 4096, 16, 1e-6);
    }
    close_fixture(&f);
}

Test(tune, running_out_of_memory_leaves_all_as_it_was)
{
    try_budgets(false, run_it);
    try_budgets(true, run_it);
    try_budgets(true, tune_it);
}
