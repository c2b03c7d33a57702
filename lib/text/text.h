/* text: the kernel language, from bytes to IR and back.
 *
 *     bytes ─ lex ─ tokens ─ parse ─ tree (clpi_file) ─ elaborate(kernel, parameters) ─ calls of ir/build ─ IR
 *     IR ─ print ─ text that gives the same IR back
 *
 * The tree is free of types and values; elaboration decides parameters, inlines fns, unrolls `static for`, keeps literals
 * exact until they meet a dtype, and turns `var`s into values carried by regions.                                       */
#ifndef CLPI_TEXT_H
#define CLPI_TEXT_H

#include "ir/ir.h"

typedef struct clpi_file clpi_file;      /* a parsed file; lives in the arena it was parsed into */

/* source (file name, bytes, any bytes) must outlive the tree. INVALID: every syntax error, up to 20, in the caret form. */
clp_status clpi_parse(clpi_env *env, clpi_arena *arena, const clpi_source *source, clpi_file **out_file);
int         clpi_file_n_kernels(const clpi_file *file);
const char *clpi_file_kernel_name(const clpi_file *file, int i);

/* One kernel of the file with parameters given as "bm=64, T=bf16, act=relu" (NULL: defaults). name NULL: the only one.
 * The IR is verified by the caller. INVALID: up to 20 errors; ARG: no such kernel or parameter, a value that does not fit. */
clp_status clpi_elaborate(clpi_env *env, clpi_arena *arena, const clpi_file *file, const char *name, const char *params, clpi_ir **out_ir);

/* The `tune` lists of a kernel, values as given; status as of clpi_elaborate. */
typedef struct clpi_tune {
    const char    *param;
    const int64_t *values;
    int            n_values;
    int64_t        value;                /* of the parameter, with params */
    bool           is_given;             /* by params */
} clpi_tune;
clp_status clpi_tunes(clpi_env *env, clpi_arena *arena, const clpi_file *file, const char *name, const char *params,
                      const clpi_tune **out_tunes, int *out_n);

void clpi_ir_print(const clpi_ir *ir, clpi_str *s);      /* kernel language, one op a line */
void clpi_op_print(const clpi_ir *ir, uint32_t op, clpi_str *s);    /* what clpi_ir_print writes of one op that has no regions */

/* The header of a kernel described in C: operands, axes, conditions, with the texts read as the kernel language has them.
 * The names of desc are names (clpi_text_is_name), its roles and dtypes exist. false: reported through b, once.          */
bool clpi_text_header(clpi_build *b, const clp_kernel_desc *desc);
bool clpi_text_is_name(const char *text);                /* could be the name of a value; NULL could not */

/* Messages in the caret form: "file:line:column: error: text", the source line, a caret; appended to s. */
void clpi_caret(clpi_str *s, const clpi_source *source, clpi_pos pos, const char *text);
/* What stands under such a message: a newline, the source line, a newline, the caret; nothing where there is no text. */
void clpi_source_line(clpi_str *s, const clpi_source *source, clpi_pos pos);

/* The name nearest to `name` among n names, or NULL when none is near: for suggestions. */
const char *clpi_nearest(const char *name, const char *const *names, int n);
/* Appends "; did you mean `NAME`?", or "; there is A, B, C" where none is near; nothing where there are none, or too many. NULLs are
 * passed over.                                                                                                          */
void clpi_suggest(clpi_str *s, const char *name, const char *const *names, int n);

#endif
