/* launch: one run over the grid, or a box of it.
 * In: an exe, a bound launch. Out: changed arrays; or the first fault.
 * Decides nothing of meaning: sequences come in the order asked for, the programs of one always in order. All memory is taken
 * here, once: tiles, scratch, tables. Values that hold for the launch are computed first.                               */

#include "interp/interp.h"

static bool read_prefetched(void *user, int operand, const int64_t *index, int64_t *out_value)
{
    const clpi_run *run = user;
    const clpi_operand *x = &run->exe->ir->operands[operand];
    int64_t at;
    if (!clpi_element_at(&run->bound->operands[operand], x->rank, index, &at))
        return false;
    if (run->watch)
        clpi_watch_header_read(run, operand, at);
    *out_value = clpi_elem_at(x->dtype, run->refs[operand].data, at).i;     /* u64 as casts have it: the bits */
    return true;
}

static clp_status open_run(clpi_run *run, clpi_arena *arena)
{
    const clpi_exe *exe = run->exe;
    enum { ALIGN = 64 };
    uint8_t *tiles = CLPI_NEW_N(arena, uint8_t, exe->tile_bytes + ALIGN);
    uint8_t *scratch = CLPI_NEW_N(arena, uint8_t, exe->scratch_bytes + ALIGN);
    run->val = CLPI_NEW_N(arena, void *, (size_t)exe->n_vals + 1);
    run->refs = CLPI_NEW_N(arena, clpi_ref_state, (size_t)exe->ir->n_operands + 1);
    if (arena->failed)
        return CLP_ERR_OOM;
    run->tiles = (uint8_t *)(((uintptr_t)tiles + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
    run->scratch = (uint8_t *)(((uintptr_t)scratch + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
    for (uint32_t i = 0; i < exe->n_vals; i++)
        run->val[i] = run->tiles + exe->val_at[i];
    run->prefetch = (clpi_prefetch){ read_prefetched, run };
    CLP_TRY(clpi_refs_open(run, arena));
    if (!clpi_interp_walk(run, exe->hoisted.items, 0, exe->hoisted.n))
        return CLP_ERR_RUN;
    return run->watch ? clpi_watch_open(run, arena) : CLP_OK;
}

/* One program; false: the run has failed, or a watch has ended it. */
static bool run_program(clpi_run *run, uint64_t sequence, uint64_t step)
{
    clpi_program_at(run->bound, sequence, step, run->program);
    if (run->watch)
        clpi_watch_enter(run, sequence, step);
    if (run->watch && clpi_watch_stops(run))
        return false;
    return clpi_refs_enter(run) && clpi_interp_walk(run, run->exe->body.items, 0, run->exe->body.n);
}

clp_status clpi_interp_run(const clpi_exe *exe, const clpi_launch *launch)
{
    clpi_run run = { .exe = exe, .launch = launch, .bound = launch->bound, .watch = launch->watch };
    clpi_arena arena;
    clpi_arena_init(&arena, exe->host.env);
    clp_status status = open_run(&run, &arena);
    uint64_t n = run.bound->n_sequences;
    for (uint64_t i = 0; i < n && !run.has_stopped && !status; i++) {
        uint64_t sequence = clpi_sequence_at(launch->order, launch->seed, n, i);
        if (exe->scratch_bytes)
            clpi_refs_fill_scratch(&run);
        for (uint64_t step = 0; step < run.bound->n_steps && !run.has_stopped && !status; step++)
            if (!run_program(&run, sequence, step) && !run.has_stopped)
                status = CLP_ERR_RUN;
    }
    clpi_arena_done(&arena);
    return status;
}
