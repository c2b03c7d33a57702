/* The functions of the language, by name: each is called in some case of tests/cases, with right values beside it, or is an elementwise op
 * and so has its rows in tests/ops/values.def (test_scalar.c sees to those).                                                          */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "support/support.h"
#include "text/elaborate.h"

/* A file behind what s holds. */
static void add_file(clpi_str *s, const char *path)
{
    char bytes[4096];
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, file)) > 0;)
        clpi_str_put(s, bytes, n);
    fclose(file);
}

static void add_cases(clpi_str *s)
{
    const char *folder = CLPALLAS_SOURCE_DIR "/tests/cases";
    DIR *dir = opendir(folder);
    cr_assert_not_null(dir, "%s", folder);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (strstr(e->d_name, ".plk"))
            add_file(s, path);
    }
    closedir(dir);
}

/* `name(`, with no longer name around it. */
static bool is_called(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = text; (p = strstr(p, name)); p += n)
        if (p[n] == '(' && (p == text || !strchr("abcdefghijklmnopqrstuvwxyz0123456789_", p[-1])))
            return true;
    return false;
}

Test(functions, each_stands_in_a_case)
{
    clpi_env env;
    clpi_str cases, standard;
    clpi_env_init(&env, NULL, NULL);
    clpi_str_init(&cases, &env);
    clpi_str_init(&standard, &env);
    add_cases(&cases);
    add_file(&standard, CLPALLAS_SOURCE_DIR "/lib/text/standard.plk");
    int n = 0;
    const clpi_builtin *b;
    for (int i = 0; (b = clpi_builtin_at(i)); i++)
        if (!clpi_ops[b->kind].is_elementwise) {
            cr_expect(is_called(cases.text, b->name), "%s stands in no case", b->name);
            n++;
        }
    cr_expect_gt(n, 40);
    n = 0;
    for (const char *p = standard.text; (p = strstr(p, "\nfn ")); n++) {
        char name[64];
        p += 4;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, "("), p);
        cr_expect(is_called(cases.text, name), "%s stands in no case", name);
    }
    cr_expect_geq(n, 12);
    clpi_str_done(&cases);
    clpi_str_done(&standard);
    clpi_env_done(&env);
}
