/* count: what of a launch's work and traffic `run --time` shows.
 * In: a job bound to its arrays. Out: operations of dots and bytes, 0 where they cannot be counted. The counting is the
 * library's (plan/work.h); here stand the job's arrays, from which blocks that prefetched data place are found.         */
#include "tool.h"

#include "run/run.h"

int bind_job(job *j, clpi_arena *arena, clpi_bound **out)
{
    const clpi_launch_args args = { .arrays = j->args,
                                    .n_arrays = j->n,
                                    .dims = j->dims,
                                    .n_dims = j->n_dims,
                                    .grid_start = j->box_start,
                                    .grid_count = j->box_count };
    return clpi_bind(j->plan, &args, arena, out) ? fail_job(j) : DONE;
}

static bool read_prefetch(void *user, int operand, const int64_t *index, int64_t *out_value)
{
    const job *j = user;
    for (int i = 0; i < j->n; i++) {
        if (job_operand(j, i) != operand)
            continue;
        const clp_array *a = &j->args[i];
        int64_t at = 0;
        for (int d = 0; d < a->rank; d++) {
            if (index[d] < 0 || index[d] >= a->shape[d])
                return false;
            at = at * a->shape[d] + index[d];
        }
        *out_value = clpi_elem_from_bits(a->dtype, array_bits(a, at)).i;
        return true;
    }
    return false;
}

const clpi_prefetch *prefetch_of(job *j, clpi_prefetch *p)
{
    *p = (clpi_prefetch){ read_prefetch, j };
    return p;
}

int count_work(job *j, clpi_arena *arena, const clpi_bound *bound, clpi_work *out)
{
    clpi_prefetch prefetch;
    return clpi_work_count(bound, prefetch_of(j, &prefetch), arena, out) ? fail_job(j) : DONE;
}

int count_launch(job *j, counts *out)
{
    clpi_arena arena;
    clpi_bound *bound = NULL;
    clpi_work work;
    clpi_arena_init(&arena, &j->ctx->env);
    int status = bind_job(j, &arena, &bound);
    if (!status)
        status = count_work(j, &arena, bound, &work);
    if (!status)
        *out = (counts){ work.dots_are_exact ? work.dot_ops : 0, work.bytes_are_exact ? work.bytes_once : 0, work.programs };
    clpi_arena_done(&arena);
    return status;
}
