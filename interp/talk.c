/* talk: print and assert, and how a run ends with a fault.
 * In: values. Out: a line for the host; or the run's end with the text that the plan has for the fault.                 */
#include "ir/format.h"
#include "interp/interp.h"

bool clpi_fail_run(const clpi_run *run, const clpi_fault *fault, clpi_str *text)
{
    bool goes_on = false;
    if (run->watch && run->watch->fault) {
        clpi_fault whole = *fault;
        whole.text = text->failed ? NULL : text->text;
        goes_on = run->watch->fault(run->watch->user, &whole);
    }
    if (!goes_on && !text->failed)
        clpi_fail(run->exe->host.env, CLP_ERR_RUN, "%s", text->text);
    clpi_str_done(text);
    return goes_on;
}

/* The elements of a print's operands, in the step's temporary, as the formatter wants them. */
static bool eval_print(clpi_run *run, const clpi_eval_step *s)
{
    const clpi_exe *exe = run->exe;
    const clpi_op *op = &exe->ir->ops.items[s->op];
    const clp_val *args = clpi_args(exe->ir, op);
    const uint32_t *roots = s->info;
    if (!exe->host.print || run->launch->is_quiet)
        return true;
    const clpi_elem **vals = (const clpi_elem **)(void *)(run->tiles + s->temp);
    clpi_elem *elems = (clpi_elem *)(void *)(run->tiles + s->temp + clpi_align(op->n_args * sizeof *vals));
    for (uint32_t i = 0; i < op->n_args; i++) {
        const clpi_type *t = clpi_type_of(exe->ir, args[i]);
        vals[i] = elems;
        for (int64_t k = 0, n = clpi_type_elems(t); k < n; k++)
            *elems++ = clpi_elem_get(t->dtype, run->val[roots[i]], k);
    }
    clpi_str line;
    clpi_str_init(&line, exe->host.env);
    clpi_format_print(exe->ir, op, vals, &line);
    bool is_whole = !line.failed;
    if (is_whole)
        exe->host.print(line.text, exe->host.print_user);
    clpi_str_done(&line);
    return is_whole;
}

static bool eval_assert(clpi_run *run, const clpi_eval_step *s)
{
    if (*(const uint8_t *)run->val[s->a])
        return true;
    clpi_str text;
    clpi_str_init(&text, run->exe->host.env);
    clpi_assert_message(run->bound, s->op, run->program, &text);
    return clpi_fail_run(run, &(clpi_fault){ .kind = CLPI_FAULT_ASSERT, .op = s->op, .operand = -1 }, &text);
}

clp_status clpi_prepare_effect(clpi_compiler *c, const clpi_op *op, clpi_eval_step *s)
{
    const clpi_ir *ir = c->exe->ir;
    const clp_val *args = clpi_args(ir, op);
    s->eval = op->kind == CLP_OP_print ? eval_print : eval_assert;
    if (op->kind != CLP_OP_print)
        return CLP_OK;
    uint32_t *roots = CLPI_NEW_N(&c->exe->arena, uint32_t, (size_t)op->n_args + 1);
    if (!roots)
        return CLP_ERR_OOM;
    s->temp_bytes = clpi_align(op->n_args * sizeof(clpi_elem *)) + 1;
    for (uint32_t i = 0; i < op->n_args; i++) {
        roots[i] = clpi_interp_root(c, args[i]);
        s->temp_bytes += (size_t)clpi_type_elems(clpi_type_of(ir, args[i])) * sizeof(clpi_elem);
    }
    s->info = roots;
    return CLP_OK;
}
