/* prove_print: what became of claims, in words.
 * In: a claim. Out: one line, in the names of the kernel.                                                               */
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

/* What is claimed, and what an example against it shows. */
static const struct { const char *none, *found; } words[] = {
    [CLPI_CLAIM_NO_RACE] = { "no races", "a race" },
    [CLPI_CLAIM_BLOCK_INSIDE] = { "each block has an element inside the array", "a block outside the array" },
    [CLPI_CLAIM_INDEX_INSIDE] = { "each index lies inside the ref", "an index outside the ref" },
};

static void race_print(const clpi_ir *ir, const clpi_witness *w, clpi_str *s)
{
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

static void place_print(const clpi_ir *ir, const clpi_claim *claim, clpi_str *s)
{
    const clpi_witness *w = claim->witness;
    const bool is_block = claim->kind == CLPI_CLAIM_BLOCK_INSIDE;
    clpi_str_puts(s, is_block ? "block " : "index ");
    numbers_print(w->element, is_block ? ir->operands[claim->operand].rank : (int)ir->ops.items[claim->op].n_subs, s);
    clpi_str_puts(s, " of ");
    clpi_program_print(ir, w->program[0], s);
    launch_print(ir, w, s);
}

void clpi_claim_print(const clpi_ir *ir, const clpi_claim *claim, clpi_str *s)
{
    access_print(ir, claim->operand, claim->op, s);
    if (claim->verdict == CLPI_UNDECIDED) {
        clpi_str_add(s, ": %s for all shapes: not decided, checked on these arrays: %s", words[claim->kind].none, claim->why);
    } else if (claim->verdict == CLPI_PROVED) {
        clpi_str_add(s, ": %s: proved for all shapes%s", words[claim->kind].none,
                     claim->needs_one_array ? ", where `alias` joins one and the same array" : "");
    } else {
        clpi_str_add(s, ": found: %s, e.g. ", words[claim->kind].found);
        if (claim->kind == CLPI_CLAIM_NO_RACE)
            race_print(ir, claim->witness, s);
        else
            place_print(ir, claim, s);
    }
}
