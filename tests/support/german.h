/* german: a locale with a comma where C has a point, for tests of what should not depend on it. */
#ifndef TESTS_GERMAN_H
#define TESTS_GERMAN_H

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/support.h"

/* One that is installed, or made in a folder of its own. false: there is none, which is said. */
static inline bool speak_german(void)
{
    static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "ru_RU.UTF-8" };
    char folder[] = "/tmp/clpallas-locale-XXXXXX", command[200];
    bool is_set = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !is_set; i++)
        is_set = setlocale(LC_ALL, names[i]) != NULL;
    if (!is_set && mkdtemp(folder)) {
        snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 --no-archive %s/de_DE.UTF-8 >%s/said 2>&1", folder, folder);
        setenv("LOCPATH", folder, 1);
        is_set = system(command) == 0 && setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
        snprintf(command, sizeof command, "rm -r %s", folder);
        cr_assert_eq(system(command), 0);
    }
    if (!is_set) {
        fprintf(stderr, "skipped: no locale with a comma is installed\n");
        return false;
    }
    cr_assert_str_eq(localeconv()->decimal_point, ",");
    return true;
}

#endif
