/* proofs: what a check says of all shapes.
 * In: the kernel alone. Out: lines of the report: for each storage that is written whether programs can race for it; of blocks
 * and indices those that are not proved to stay inside.
 * Decides that an example in a launch of other shapes is told, but is no finding: nothing is wrong with these arrays.    */
#include "check/check.h"
#include "check/prove.h"
#include "plan/bind.h"

static clp_status add_line(clp_report *report, clpi_str *s)
{
    clp_status status = s->failed ? CLP_ERR_OOM : clpi_report_fact(report, "%s", s->text);
    clpi_str_done(s);
    return status;
}

static clp_status add_races(const clpi_check *check, const clpi_proofs *proofs)
{
    for (int i = 0; i < proofs->n_races; i++) {
        clpi_str s;
        clpi_str_init(&s, check->env);
        clpi_race_proof_print(check->ir, &proofs->races[i], &s);
        CLP_TRY(add_line(check->report, &s));
    }
    return CLP_OK;
}

static clp_status add_places(const clpi_check *check, const clpi_proofs *proofs)
{
    int n_open = 0;
    clpi_str s;
    for (int i = 0; i < proofs->n_blocks; i++) {
        if (proofs->blocks[i].proof.verdict == CLPI_PROVED)
            continue;
        clpi_str_init(&s, check->env);
        clpi_block_proof_print(check->ir, &proofs->blocks[i], &s);
        CLP_TRY(add_line(check->report, &s));
        n_open++;
    }
    for (int i = 0; i < proofs->n_ranges; i++) {
        if (proofs->ranges[i].proof.verdict == CLPI_PROVED)
            continue;
        clpi_str_init(&s, check->env);
        clpi_range_proof_print(check->ir, &proofs->ranges[i], &s);
        CLP_TRY(add_line(check->report, &s));
        n_open++;
    }
    return n_open ? CLP_OK : clpi_report_fact(check->report, "blocks and indices: none lies outside: proved for all shapes");
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
static bool are_aliases_one_array(const clpi_check *check, const clpi_race_proof *proof)
{
    const clpi_ir *ir = check->ir;
    bool are = true;
    for (int i = 0; proof->needs_one_array && i < ir->n_operands; i++) {
        const int a = clpi_array_number(ir, proof->storage), b = clpi_array_number(ir, i);
        if (check->plan->storage[i] == proof->storage)
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
        status = add_races(check, proofs);
    if (!status)
        status = add_places(check, proofs);
    bool holds = !status && proofs->all_proved;
    for (int i = 0; holds && i < proofs->n_races; i++)
        holds = are_aliases_one_array(check, &proofs->races[i]);
    if (holds)
        clpi_report_all_proved(check->report);
    clpi_arena_done(&arena);
    return status;
}
