/* proofs: what a check says of all shapes.
 * In: the kernel alone, and what was found on these arrays. Out: lines of the report: for each storage that is written whether
 * programs can race for it; of blocks and indices those that are not proved to stay inside.
 * Decides that an example of a race in a launch of other shapes is a finding, as the kernel takes that launch and gives no sign;
 * one of an index or a block outside is a line, as such a launch fails and says so. Of what was found on these arrays nothing more
 * is said.                                                                                                                */
#include <assert.h>
#include <string.h>

#include "check/check.h"
#include "check/prove.h"
#include "plan/bind.h"

static clp_status add_line(const clpi_check *check, clpi_str *s)
{
    clp_status status = s->failed ? CLP_ERR_OOM : clpi_report_fact(check->report, "%s", s->text);
    clpi_str_done(s);
    return status;
}

static clp_status add_example(const clpi_check *check, const clpi_witness *w, clpi_str *s)
{
    clpi_found found = { .kind = CLP_FINDING_RACE, .operand = w->operand[0], .n_programs = 2,
                         .axes = w->axis >= 0 ? UINT32_C(1) << w->axis : 0,
                         .message = clpi_str_keep(s, clpi_report_arena(check->report)) };
    for (int i = 0; i < 2; i++) {
        memcpy(found.program[i], w->program[i], (size_t)check->ir->n_axes * sizeof *w->program[i]);
        found.op[i] = w->op[i];
    }
    return found.message ? clpi_report_add(check->report, &found) : CLP_ERR_OOM;
}

static bool has_race(const clpi_check *check, int storage)
{
    for (int i = 0; i < check->ir->n_operands; i++)
        if (check->plan->storage[i] == storage &&
            (clpi_report_has(check->report, CLP_FINDING_RACE, i, 0) || clpi_report_has(check->report, CLP_FINDING_ALIAS_RACE, i, 0) ||
             clpi_report_has(check->report, CLP_FINDING_RACE_SAME_VALUE, i, 0)))
            return true;
    return false;
}

/* Whether a finding on these arrays has said it. */
static bool is_said(const clpi_check *check, const clpi_claim *claim)
{
    switch (claim->kind) {
    case CLPI_CLAIM_NO_RACE: return has_race(check, claim->operand);
    case CLPI_CLAIM_BLOCK_INSIDE: return clpi_report_has(check->report, CLP_FINDING_BLOCK_OUTSIDE, claim->operand, 0);
    case CLPI_CLAIM_INDEX_INSIDE: return clpi_report_has(check->report, CLP_FINDING_OUT_OF_BOUNDS, -1, claim->op);
    }
    assert(0 && "a kind of claim");
    return true;
}

/* Of races a line each; of blocks and indices one together, unless there is one to name. */
static clp_status add_claims(const clpi_check *check, const clpi_proofs *proofs)
{
    bool is_open = false;
    for (int i = 0; i < proofs->n; i++) {
        const clpi_claim *claim = &proofs->claims[i];
        const bool is_race = claim->kind == CLPI_CLAIM_NO_RACE, is_proved = claim->verdict == CLPI_PROVED;
        clpi_str s;
        is_open = is_open || (!is_race && !is_proved);
        if (is_said(check, claim) || (!is_race && is_proved))
            continue;
        clpi_str_init(&s, check->env);
        clpi_claim_print(check->ir, claim, &s);
        CLP_TRY(is_race && claim->witness ? add_example(check, claim->witness, &s) : add_line(check, &s));
    }
    return is_open ? CLP_OK : clpi_report_fact(check->report, "blocks and indices: none lies outside: proved for all shapes");
}

static bool are_same(const clp_array *a, const clp_array *b)
{
    if (a->buffer != b->buffer || a->data != b->data || a->offset != b->offset || !a->strides != !b->strides)
        return false;
    for (int d = 0; a->strides && d < a->rank; d++)
        if (a->strides[d] != b->strides[d])
            return false;
    return true;
}

/* Whether what is proved of operands that share storage holds for these arrays: they are given as one and the same. */
static bool are_aliases_one_array(const clpi_check *check, const clpi_claim *claim)
{
    const clpi_ir *ir = check->ir;
    bool are = true;
    for (int i = 0; claim->needs_one_array && i < ir->n_operands; i++) {
        const int a = clpi_array_number(ir, claim->operand), b = clpi_array_number(ir, i);
        if (check->plan->storage[i] == claim->operand)
            are = are && a < check->n_arrays && b < check->n_arrays && are_same(&check->arrays[a], &check->arrays[b]);
    }
    return are;
}

clp_status clpi_check_proofs(clpi_check *check)
{
    clpi_arena arena;
    clpi_proofs *proofs;
    clpi_arena_init(&arena, check->env);
    clp_status status = clpi_prove(check->env, &arena, check->ir, check->plan, &proofs);
    if (!status)
        status = add_claims(check, proofs);
    bool holds = !status && proofs->all_proved;
    for (int i = 0; holds && i < proofs->n; i++)
        holds = are_aliases_one_array(check, &proofs->claims[i]);
    if (holds)
        clpi_report_all_proved(check->report);
    clpi_arena_done(&arena);
    return status;
}
