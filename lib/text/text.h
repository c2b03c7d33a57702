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

/* A `tune` list of a kernel, values as given. */
typedef struct clpi_tune { const char *param; const int64_t *values; int n_values; } clpi_tune;

void clpi_ir_print(const clpi_ir *ir, clpi_str *s);      /* kernel language, one op a line */

/* For descriptions from C: expressions of shapes, blocks, maps, sizes, pads and conditions, each as the kernel language
 * has them, elaborated in the header of b. Names are dims (made when new, in shapes only), params, axes and scalars.    */
typedef struct clpi_scope {
    clpi_build      *b;
    const clp_param *params;
    int              n_params;
    const char      *what;               /* for messages: "x: shape" */
} clpi_scope;
bool clpi_text_shape(const clpi_scope *scope, const char *text, bool makes_dims, clp_val *out_vals, int max, int *out_n);
bool clpi_text_block(const clpi_scope *scope, const char *text, clpi_block_dim *out_dims, int max, int *out_n);      /* sizes and kinds; no index */
bool clpi_text_index_map(const clpi_scope *scope, const char *text, clp_val *out_vals, int max, int *out_n);        /* "(i, k) -> (i, k)" */
bool clpi_text_conditions(const clpi_scope *scope, const char *text, clpi_require *out, int max, int *out_n);
bool clpi_text_pad(const clpi_scope *scope, const char *text, clp_dtype dtype, uint64_t *out_bits);

/* Messages in the caret form: "file:line:column: error: text", the source line, a caret; appended to s. */
void clpi_caret(clpi_str *s, const clpi_source *source, clpi_pos pos, const char *text);

/* The name nearest to `name` among n names, or NULL when none is near: for suggestions. */
const char *clpi_nearest(const char *name, const char *const *names, int n);

#endif
