/* again: launches like an earlier one, which need not be worked out anew.
 * In: a kernel, and what the caller passes. Out: what the earlier launch was bound to, as long as somebody uses it.
 * A launch on buffers with no options follows from the kernel, what the arrays say of themselves and the values of scalars: those are
 * compared. The last few are kept, in the memory that their launches were worked out in. PoCL enqueues a kernel in 0.3 us; working out
 * and checking took as long again, and 1000 empty launches 2.2 ms in place of 1.9.                                           */
#include "run/run.h"

/* ---- Are they alike? ---- */

static bool is_like_scalar(const clpi_operand *x, const clp_array *array, clpi_elem known)
{
    const size_t n_bytes = (size_t)(clp_dtype_bits(x->dtype) + 7) / 8;
    return array->data && !array->buffer && (uintptr_t)array->data % n_bytes == 0 &&
           clpi_elem_to_bits(x->dtype, clpi_scalar_value(x, array)) == clpi_elem_to_bits(x->dtype, known);
}

static bool is_like_array(const clpi_operand *x, const clp_array *array, const clpi_bound_operand *known)
{
    int64_t n_elems = 1;
    if (array->data || array->offset != known->offset || (x->rank > 0 && !array->shape))
        return false;
    for (int d = x->rank; d-- > 0;) {
        if (array->shape[d] != known->size[d] || (array->strides ? array->strides[d] : n_elems) != known->stride[d])
            return false;
        n_elems *= known->size[d] ? known->size[d] : 1;
    }
    return true;
}

static bool is_like(const clpi_known *known, const clp_array *arrays)
{
    const clp_kernel *k = known->kernel;
    for (int a = 0; a < k->n_operands; a++) {
        const int i = k->operands[a];
        const clpi_operand *x = &k->ir->operands[i];
        const clp_array *array = &arrays[a];
        if (array->dtype != x->dtype || array->rank != x->rank)
            return false;
        if (x->role == CLP_SCALAR) {
            if (!is_like_scalar(x, array, known->bound->scalar[i]))
                return false;
        } else if (!array->buffer || array->buffer->ctx != k->ctx || array->buffer->serial != known->serials[a] ||
                   !is_like_array(x, array, &known->bound->operands[i])) {
            return false;
        }
    }
    return true;
}

static bool has_options(const clp_run_opts *opts)
{
    return opts->grid_start || opts->grid_count || opts->order != CLP_ORDER_FORWARD || opts->n_dims != 0 || opts->n_wait_for != 0;
}

/* ---- Those that are kept ---- */

clpi_known *clpi_known_take(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *opts)
{
    clpi_again *again = &kernel->again;
    clpi_known *found = NULL;
    if (has_options(opts) || n_arrays != kernel->n_operands || (n_arrays > 0 && !arrays))
        return NULL;
    pthread_mutex_lock(&again->lock);
    for (int i = 0; i < again->n && !found; i++)
        if (is_like(&again->known[i], arrays))
            found = &again->known[i];
    if (found)
        atomic_fetch_add(&found->n_users, 1);
    pthread_mutex_unlock(&again->lock);
    return found;
}

void clpi_known_leave(clpi_known *known)
{
    atomic_fetch_sub(&known->n_users, 1);
}

/* The place of the oldest one. NULL: a launch is just using it. */
static clpi_known *oldest(clpi_again *again)
{
    clpi_known *known = &again->known[again->next];
    if (atomic_load(&known->n_users) > 0)
        return NULL;
    again->next = (again->next + 1) % CLPI_MAX_KNOWN;
    again->n = again->n < CLPI_MAX_KNOWN ? again->n + 1 : again->n;
    return known;
}

static uint64_t *serials_of(clp_event *event)
{
    const int n = event->kernel->n_operands;
    uint64_t *serials = CLPI_NEW_N(&event->arena, uint64_t, (size_t)n);
    for (int a = 0; serials && a < n; a++)
        serials[a] = event->arrays[a].buffer ? event->arrays[a].buffer->serial : 0;
    return serials;
}

void clpi_known_keep(clp_kernel *kernel, clp_event *event, const clp_run_opts *opts)
{
    clpi_again *again = &kernel->again;
    uint64_t *serials = has_options(opts) || event->n_pieces > 0 || event->ctx->is_checked ? NULL : serials_of(event);
    if (!serials)
        return;
    pthread_mutex_lock(&again->lock);
    clpi_known *known = oldest(again);
    if (known) {
        const clpi_arena before = known->arena;
        known->kernel = event->kernel;
        known->bound = event->bound;
        known->places = event->places;
        known->serials = serials;
        known->arena = event->arena;
        event->arena = before;
    }
    pthread_mutex_unlock(&again->lock);
}

void clpi_again_init(clpi_again *again, clpi_env *env)
{
    again->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < CLPI_MAX_KNOWN; i++)
        clpi_arena_init(&again->known[i].arena, env);
}

void clpi_again_done(clpi_again *again)
{
    for (int i = 0; i < CLPI_MAX_KNOWN; i++)
        clpi_arena_done(&again->known[i].arena);
    pthread_mutex_destroy(&again->lock);
}
