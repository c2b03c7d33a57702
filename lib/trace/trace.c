/* trace: a description in C as IR.
 * In: structs of names and texts, and a body. Out: IR, the same that the kernel language gives for the same kernel.
 * The header comes from text/desc; the body is called once; the first mistake is reported. Decides nothing of kernels.  */
#include "trace/trace.h"

#include <string.h>

#include "text/text.h"
#include "trace/builder.h"

/* ir/build found a mistake. */
static void on_report(void *user, clpi_pos pos, const char *text)
{
    (void)pos;
    clpi_builder_fail(user, "%s", text);
}

/* ---- Names ---- */

static void fail_name(clp_builder *b, const char *what, int i, const char *name)
{
    if (name && *name)
        clpi_builder_fail(b, "%s %d: `%s` is no name", what, i, name);
    else
        clpi_builder_fail(b, "%s %d has no name", what, i);
}

static bool check_names(clp_builder *b, const clp_kernel_desc *desc)
{
    if (!clpi_check_list(b, "the list of operands", desc->operands, desc->n_operands) ||
        !clpi_check_list(b, "the list of axes", desc->axes, desc->n_axes) ||
        !clpi_check_list(b, "the list of parameters", desc->params, desc->n_params))
        return false;
    if (desc->n_operands == 0)
        clpi_builder_fail(b, "a kernel has at least one operand");
    for (int i = 0; i < desc->n_operands; i++)
        if (!clpi_text_is_name(desc->operands[i].name))
            fail_name(b, "operand", i, desc->operands[i].name);
    for (int i = 0; i < desc->n_axes; i++)
        if (!clpi_text_is_name(desc->axes[i].name))
            fail_name(b, "axis", i, desc->axes[i].name);
    for (int i = 0; i < desc->n_params; i++)
        if (!clpi_text_is_name(desc->params[i].name))
            fail_name(b, "parameter", i, desc->params[i].name);
    return !b->failed;
}

/* What is no name, dtype or role cannot go into the tree that the texts are read into. */
static bool check_operand(clp_builder *b, const clp_operand_desc *d)
{
    if (d->dtype <= CLP_DTYPE_NONE || d->dtype >= CLP_N_DTYPES)
        clpi_builder_fail(b, "%s: %d is no dtype", d->name, (int)d->dtype);
    if ((int)d->role < CLP_IN || d->role > CLP_SCALAR)
        clpi_builder_fail(b, "%s: %d is no role", d->name, (int)d->role);
    return !b->failed;
}

/* ---- The kernel ---- */

static bool read_header(clp_builder *b, const clp_kernel_desc *desc)
{
    if (!check_names(b, desc))
        return false;
    for (int i = 0; i < desc->n_operands; i++)
        if (!check_operand(b, &desc->operands[i]))
            return false;
    if (!clpi_text_header(&b->build, desc))
        return false;
    b->build.ir->math_fast = desc->math_fast;
    clpi_build_begin_body(&b->build);
    return !b->failed;
}

static bool trace_body(clp_builder *b, const clp_kernel_desc *desc)
{
    clp_ref *refs = CLPI_NEW_N(b->arena, clp_ref, (size_t)desc->n_operands + 1);
    if (!refs)
        return false;
    for (int i = 0; i < desc->n_operands; i++)
        refs[i].id = (uint32_t)i + 1;
    desc->body(b, refs, desc->user);
    b->call = NULL;
    return !b->failed && clpi_build_end(&b->build) && !b->failed;
}

clp_status clpi_trace(clpi_env *env, clpi_arena *arena, const clp_kernel_desc *desc, clpi_ir **out_ir)
{
    *out_ir = NULL;
    if (!desc->name || !clpi_text_is_name(desc->name))
        return clpi_fail(env, CLP_ERR_ARG, "a kernel needs a name: `%s` is none", desc->name ? desc->name : "");
    if (!desc->body)
        return clpi_fail(env, CLP_ERR_ARG, "%s: the description has no body", desc->name);
    clpi_ir *ir = clpi_ir_new(env, arena, desc->name);
    if (!ir)
        return CLP_ERR_OOM;
    clp_builder b = { .arena = arena };
    clpi_build_init(&b.build, ir, on_report, &b);
    bool ok = read_header(&b, desc) && trace_body(&b, desc);
    if (arena->failed || (!ok && !b.message))
        return CLP_ERR_OOM;
    if (!ok)
        return clpi_fail(env, CLP_ERR_INVALID, "%s", b.message);
    *out_ir = ir;
    return CLP_OK;
}
