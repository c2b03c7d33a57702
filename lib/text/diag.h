/* diag: the errors of one kernel text, collected until they are reported together. */
#ifndef CLPI_DIAG_H
#define CLPI_DIAG_H

#include "text/text.h"

enum { CLPI_MAX_ERRORS = 20, CLPI_MAX_NESTING = 200 };
enum { CLPI_MAX_REGIONS = CLPI_MAX_NESTING - 10 };      /* so that what is printed of them can be read back */

typedef struct clpi_diag {
    clpi_env          *env;
    clpi_arena        *arena;        /* of the texts */
    const clpi_source *source;
    struct { clpi_pos pos; const char *text; } errors[CLPI_MAX_ERRORS];
    int                n_errors;
    bool               failed;       /* a text could not be made */
} clpi_diag;

void clpi_diag_init(clpi_diag *diag, clpi_env *env, clpi_arena *arena, const clpi_source *source);
/* One error a place: what follows at the same place, or after the 20th, is dropped. */
void clpi_diag_add(clpi_diag *diag, clpi_pos pos, const char *format, ...) CLP_PRINTF(3, 4);
static inline bool clpi_diag_is_full(const clpi_diag *diag) { return diag->n_errors == CLPI_MAX_ERRORS; }
/* OK when there are none; OOM when the arena failed; else `status`, with all errors in the caret form, by place. */
clp_status clpi_diag_finish(clpi_diag *diag, clp_status status);

#endif
