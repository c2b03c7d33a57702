/* prove_print: proofs in words.
 * In: a proof. Out: one line, in the names of the kernel.                                                               */
#include "check/prove.h"

static void access_print(const clpi_ir *ir, int operand, uint32_t op, clpi_str *s)
{
    const clpi_pos pos = op ? ir->ops.items[op].pos : (clpi_pos){ 0, 0 };
    clpi_str_puts(s, ir->operands[operand].name);
    if (pos.line)
        clpi_str_add(s, " at %u:%u", (unsigned)pos.line, (unsigned)pos.column);
}

/* "(3, 4)", "(3,)" */
static void numbers_print(const int64_t *numbers, int n, clpi_str *s)
{
    clpi_str_puts(s, "(");
    for (int i = 0; i < n; i++)
        clpi_str_add(s, "%s%lld", i ? ", " : "", (long long)numbers[i]);
    clpi_str_puts(s, n == 1 ? ",)" : ")");
}

/* " of grid (1, 4) with N = 16, n = 2" */
static void launch_print(const clpi_ir *ir, const clpi_witness *w, clpi_str *s)
{
    const char *before = " with ";
    clpi_str_puts(s, " of grid ");
    numbers_print(w->axis_size, ir->n_axes, s);
    for (int i = 0; i < ir->n_dims; i++, before = ", ")
        clpi_str_add(s, "%s%s = %lld", before, ir->dims[i], (long long)w->dim[i]);
    for (int i = 0; i < ir->n_operands; i++)
        if (ir->operands[i].role == CLP_SCALAR && clpi_is_int(ir->operands[i].dtype)) {
            clpi_str_add(s, "%s%s = %lld", before, ir->operands[i].name, (long long)w->scalar[i]);
            before = ", ";
        }
}

/* All there is to say of what is proved or not decided; how what is found begins. true: it is found. */
static bool verdict_print(const clpi_ir *ir, int operand, uint32_t op, const clpi_proof *proof, const char *none, const char *found, clpi_str *s)
{
    access_print(ir, operand, op, s);
    if (proof->verdict == CLPI_PROVED)
        clpi_str_add(s, ": %s: proved for all shapes", none);
    else if (proof->verdict == CLPI_UNDECIDED)
        clpi_str_add(s, ": %s for all shapes: not decided, checked on these arrays: %s", none, proof->why);
    else
        clpi_str_add(s, ": found: %s, e.g. ", found);
    return proof->verdict == CLPI_FOUND;
}

void clpi_race_proof_print(const clpi_ir *ir, const clpi_race_proof *proof, clpi_str *s)
{
    const clpi_witness *w = proof->proof.witness;
    if (!verdict_print(ir, proof->storage, 0, &proof->proof, "no races", "a race", s)) {
        if (proof->needs_one_array)
            clpi_str_puts(s, ", where `alias` joins one and the same array");
        return;
    }
    clpi_str_puts(s, "programs ");
    numbers_print(w->program[0], ir->n_axes, s);
    clpi_str_puts(s, " and ");
    numbers_print(w->program[1], ir->n_axes, s);
    launch_print(ir, w, s);
    clpi_str_puts(s, " touch element ");
    numbers_print(w->element, ir->operands[w->operand[0]].rank, s);
    for (int i = 0; i < 2; i++) {
        clpi_str_puts(s, i ? " and " : " of ");
        access_print(ir, w->operand[i], w->op[i], s);
    }
    if (w->axis >= 0)
        clpi_str_add(s, "; axis %s would have to be `arbitrary`", ir->axes[w->axis].name);
}

void clpi_block_proof_print(const clpi_ir *ir, const clpi_block_proof *proof, clpi_str *s)
{
    const clpi_witness *w = proof->proof.witness;
    if (!verdict_print(ir, proof->operand, 0, &proof->proof, "each block has an element inside the array", "a block outside the array", s))
        return;
    clpi_str_puts(s, "block ");
    numbers_print(w->element, ir->operands[proof->operand].rank, s);
    clpi_str_puts(s, " of ");
    clpi_program_print(ir, w->program[0], s);
    launch_print(ir, w, s);
}

void clpi_range_proof_print(const clpi_ir *ir, const clpi_range_proof *proof, clpi_str *s)
{
    const clpi_witness *w = proof->proof.witness;
    const clpi_op *op = &ir->ops.items[proof->op];
    if (!verdict_print(ir, op->operand, proof->op, &proof->proof, "each index lies inside the ref", "an index outside the ref", s))
        return;
    clpi_str_puts(s, "index ");
    numbers_print(w->element, (int)op->n_subs, s);
    clpi_str_puts(s, " of ");
    clpi_program_print(ir, w->program[0], s);
    launch_print(ir, w, s);
}
