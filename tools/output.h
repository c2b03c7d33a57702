/* output: a file of results, whole or not at all. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

typedef struct output {
    FILE *file;                   /* to write to */
    char *target, *beside;        /* beside NULL: what stands at the place is written itself */
} output;

/* Whether output_open can be expected to work, with nothing written yet. false: errno says why. */
bool output_check(const char *path);
/* Whether what is written to the one would replace what is written to the other: not where that is a device or a pipe. */
bool output_is_one_file(const char *path, const char *other);

/* A regular file, or none yet: it is written beside its place, which links lead to, and renamed by output_close. What is
 * neither, a device or a pipe, is written itself. false: errno says why, and there is nothing to close.               */
bool output_open(output *w, const char *path);

/* ok: all was written. false: it was not, or could not be kept; then nothing is left of it, and errno says why. */
bool output_close(output *w, bool ok);

#endif
