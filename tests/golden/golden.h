/* golden: kernel files that carry what must come of them.
 *
 *     // What the file shows, in a sentence.
 *     // kernel: matmul                   directives, each may be left out: the kernel, its parameters, how it
 *     // params: bm=64, T=bf16            is compiled
 *     // schedule: simt
 *     // checked: yes
 *     kernel ...
 *     // >>> ir                           a section: what the stage `ir` must give, each line behind `// `
 *     // kernel ...
 *     // <<<
 *
 * Sections: ir, plan, nest, cl, error.                                                                                  */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include "base/arena.h"
#include "base/str.h"
#include "ir/ir.h"

enum { MAX_SECTIONS = 8 };

typedef struct section { const char *stage; const char *expected; } section;

typedef struct golden {
    const char *text;                     /* the whole file */
    size_t      n_bytes;
    size_t      n_kernel_bytes;           /* what stands before the first section */
    char       *kernel, *params, *schedule, *checked;     /* NULL: not given */
    section     sections[MAX_SECTIONS];
    int         n_sections;
    bool       *is_op_seen;               /* [CLP_N_OPS] of all files; set by the stage `ir` */
} golden;

/* ---- sections.c ---- */
bool golden_read(clpi_arena *arena, const char *path, golden *out);                     /* false: said on stderr */
bool golden_write(const char *path, const golden *g, const char *const *actual);        /* sections in the order of g */

/* ---- stages.c ---- */
/* Appends what the stage gives. false: the stage is not one, or what it gives is wrong in itself; `why` says how. */
bool golden_stage(clpi_env *env, const golden *g, const char *stage, clpi_str *out, clpi_str *why);

#endif
