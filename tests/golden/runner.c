/* runner: all golden files of one stage.
 *     golden_runner DIRECTORY STAGE [WHAT]        <stage>-<what>.plk, or every file of the stage
 * Says which file differs and how. With CLP_BLESS=1 the files are rewritten with what comes out; a file without a section
 * then gets the one of its stage. Exit status 1: something differs, or there is no file.                                 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"

enum { MAX_FILES = 1000, MAX_PATH = 1024 };

static void print_difference(const char *expected, const char *actual)
{
    int line = 1;
    while (*expected && *expected == *actual) {
        line += *expected == '\n';
        expected++;
        actual++;
    }
    printf("    the first difference is in line %d\n", line);
}

/* One section: what comes out, and whether it is what stands in the file. */
static bool run_section(clpi_arena *arena, const golden *g, const char *path, int i, const char **out_actual)
{
    clpi_str out, why;
    clpi_str_init(&out, arena->env);
    clpi_str_init(&why, arena->env);
    bool ok = golden_stage(arena->env, g, g->sections[i].stage, &out, &why);
    *out_actual = clpi_arena_strndup(arena, out.text, out.n);
    if (!ok) {
        printf("FAIL %s: %s: %s\n", path, g->sections[i].stage, why.text);
    } else if (!getenv("CLP_BLESS") && strcmp(out.text, g->sections[i].expected) != 0) {
        ok = false;
        printf("FAIL %s: %s differs\n", path, g->sections[i].stage);
        print_difference(g->sections[i].expected, out.text);
        printf("---- expected\n%s---- got\n%s----\n", g->sections[i].expected, out.text);
    }
    clpi_str_done(&why);
    clpi_str_done(&out);
    return ok;
}

static bool run_file(clpi_env *env, const char *path, const char *stage, bool *is_op_seen)
{
    clpi_arena arena;
    golden g;
    const char *actual[MAX_SECTIONS] = { NULL };
    clpi_arena_init(&arena, env);
    bool ok = golden_read(&arena, path, &g), blesses = getenv("CLP_BLESS") != NULL;
    g.is_op_seen = is_op_seen;
    if (ok && g.n_sections == 0) {
        if (blesses && strcmp(stage, "bug") != 0)
            g.sections[g.n_sections++] = (section){ stage, "" };
        else
            printf("FAIL %s: has no section\n", path), ok = false;
    }
    for (int i = 0; ok && i < g.n_sections; i++)
        ok = run_section(&arena, &g, path, i, &actual[i]);
    if (ok && blesses && !golden_write(path, &g, actual)) {
        printf("FAIL %s: cannot be written\n", path);
        ok = false;
    }
    clpi_arena_done(&arena);
    return ok;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of the stage's files, sorted; kept in the arena. */
static int list_files(clpi_arena *arena, const char *directory, const char *stage, const char *what, char **out_names)
{
    DIR *dir = opendir(directory);
    int n = 0;
    size_t n_stage = strlen(stage);
    for (const struct dirent *entry; dir && n < MAX_FILES && (entry = readdir(dir));) {
        const char *name = entry->d_name;
        size_t length = strlen(name);
        bool is_kernel = length > n_stage + 5 && strcmp(name + length - 4, ".plk") == 0;
        if (!is_kernel || strncmp(name, stage, n_stage) != 0 || name[n_stage] != '-')
            continue;
        size_t n_what = length - n_stage - 5;
        if (what && (strlen(what) != n_what || strncmp(name + n_stage + 1, what, n_what) != 0))
            continue;
        out_names[n++] = clpi_arena_strndup(arena, name, length);
    }
    if (dir)
        closedir(dir);
    qsort(out_names, (size_t)n, sizeof *out_names, compare);
    return n;
}

/* Every op stands in a golden file of the IR. */
static bool all_seen(const bool *is_op_seen)
{
    bool ok = true;
    for (int kind = CLP_OP_NONE + 1; kind < CLP_N_OPS; kind++) {
        if (is_op_seen[kind])
            continue;
        printf("FAIL no file ir-*.plk has the op %s\n", clpi_ops[kind].name);
        ok = false;
    }
    return ok;
}

int main(int argc, char **argv)
{
    static char *names[MAX_FILES];
    bool is_op_seen[CLP_N_OPS] = { false };
    clpi_env env;
    clpi_arena arena;
    if (argc < 3) {
        fprintf(stderr, "usage: golden_runner DIRECTORY STAGE [WHAT]\n");
        return 2;
    }
    clpi_env_init(&env, NULL, NULL);
    clpi_arena_init(&arena, &env);
    int n = list_files(&arena, argv[1], argv[2], argc > 3 ? argv[3] : NULL, names), n_failed = 0;
    for (int i = 0; i < n; i++) {
        char path[MAX_PATH];
        snprintf(path, sizeof path, "%s/%s", argv[1], names[i]);
        n_failed += !run_file(&env, path, argv[2], is_op_seen);
    }
    if (argc == 3 && strcmp(argv[2], "ir") == 0)
        n_failed += !all_seen(is_op_seen);
    printf("%s: %d files, %d failed\n", argv[2], n, n_failed);
    clpi_arena_done(&arena);
    clpi_env_done(&env);
    return n == 0 || n_failed > 0;
}
