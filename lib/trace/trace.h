/* trace: from a description in C, with a body that is called once, to IR.
 *
 *     clp_kernel_desc ─ texts through text/desc ─ header ─┐
 *     body(b, refs, user) ─ clp_add, clp_load, ... ───────┴─ calls of ir/build ─ IR                                     */
#ifndef CLPI_TRACE_H
#define CLPI_TRACE_H

#include "ir/ir.h"

/* The IR lives in the arena and is verified by the caller. ARG: no body, a list that is NULL. INVALID: the first mistake of
 * the description or of the body, one line. Nothing of desc is kept.                                                    */
CLP_MUST_CHECK clp_status clpi_trace(clpi_env *env, clpi_arena *arena, const clp_kernel_desc *desc, clpi_ir **out_ir);

#endif
