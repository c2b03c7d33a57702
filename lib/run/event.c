/* event: one launch, from its start to its end.
 * In: what launch.c started. Out: what it ran into, once; its memory is given back when it is done, not when it is freed, as
 * results are in the caller's arrays only then.                                                                         */
#include <string.h>

#include "run/run.h"

/* Idle events keep the memory that most launches do with. Without them a thousand launches in a row cost the allocator as much as
 * PoCL itself takes for them. Memory that a launch is done with as soon as it has started goes to the next one, which finds it in the
 * nearest cache: a thousand launches in flight go through one piece of it, not a thousand.                               */
enum { MAX_IDLE = 1024, IDLE_BYTES = 4096 };

/* An idle event, or NULL; and near memory, if there is some, for an event that has none. */
static clp_event *take_idle(clp_context *ctx, clpi_arena *out_near)
{
    pthread_mutex_lock(&ctx->idle_lock);
    clp_event *event = ctx->idle;
    if (event) {
        ctx->idle = event->next;
        ctx->n_idle--;
    }
    clpi_arena_init(out_near, &ctx->env);
    if (ctx->near.spare && !(event && event->arena.spare)) {
        *out_near = ctx->near;
        ctx->near.spare = NULL;
    }
    pthread_mutex_unlock(&ctx->idle_lock);
    return event;
}

/* false: there are enough. */
static bool put_idle(clp_context *ctx, clp_event *event)
{
    clpi_arena_reset(&event->arena, IDLE_BYTES);
    pthread_mutex_lock(&ctx->idle_lock);
    const bool is_kept = ctx->n_idle < MAX_IDLE;
    if (is_kept) {
        event->next = ctx->idle;
        ctx->idle = event;
        ctx->n_idle++;
    }
    pthread_mutex_unlock(&ctx->idle_lock);
    return is_kept;
}

static void discard(clp_context *ctx, clp_event *event)
{
    clpi_arena_done(&event->arena);
    clpi_free(&ctx->env, event, 1, sizeof *event);
}

void clpi_events_discard(clp_context *ctx)
{
    clpi_arena near;
    for (clp_event *event = take_idle(ctx, &near); event; event = take_idle(ctx, &near)) {
        discard(ctx, event);
        clpi_arena_done(&near);
    }
    clpi_arena_done(&near);
}

clp_status clpi_event_new(clp_context *ctx, clp_kernel *kernel, clp_event **out_event)
{
    clpi_arena arena;
    clp_event *event = take_idle(ctx, &arena);
    if (event && event->arena.spare)
        arena = event->arena;
    if (!event)
        event = clpi_alloc(&ctx->env, 1, sizeof *event);
    *out_event = event;
    if (!event) {
        clpi_arena_done(&arena);
        return CLP_ERR_OOM;
    }
    *event = (clp_event){ .ctx = ctx, .kernel = kernel, .arena = arena, .lock = PTHREAD_MUTEX_INITIALIZER };
    return CLP_OK;
}

void clpi_event_started(clp_event *event)
{
    clp_context *ctx = event->ctx;
    atomic_fetch_add(&event->kernel->n_users, 1);
    event->holds_kernel = true;
    if (event->n_pieces > 0 || ctx->is_checked)
        return;
    event->arrays = NULL;
    event->bound = NULL;
    event->places = NULL;
    clpi_arena_reset(&event->arena, IDLE_BYTES);
    pthread_mutex_lock(&ctx->idle_lock);
    if (!ctx->near.spare) {
        ctx->near = event->arena;
        clpi_arena_init(&event->arena, &ctx->env);
    }
    pthread_mutex_unlock(&ctx->idle_lock);
}

clp_status clpi_event_adopt(clp_context *ctx, void *launched, clp_event **out_event)
{
    CLP_TRY(clpi_event_new(ctx, NULL, out_event));
    (*out_event)->launched = launched;
    return CLP_OK;
}

void *clpi_event_launched(const clp_event *event, const clpi_backend *backend)
{
    return event->ctx->backend == backend ? event->launched : NULL;
}

static clp_status finish(clp_event *event)
{
    clp_status status = CLP_OK, copied;
    if (event->launched)
        status = event->ctx->backend->wait(event->launched, &event->seconds);
    /* What a run that failed has written is handed over all the same: it helps to see it. */
    copied = event->launched ? clpi_memory_read_back(event) : CLP_OK;
    return status ? status : copied;
}

void clpi_event_settle(clp_event *event)
{
    pthread_mutex_lock(&event->lock);
    if (!event->is_done) {
        event->status = finish(event);
        if (event->status) {
            const char *text = clpi_error_text(&event->ctx->env);
            event->text = clpi_arena_strndup(&event->arena, text, strlen(text));
        }
        clpi_memory_release(event);
        event->is_done = true;
    }
    pthread_mutex_unlock(&event->lock);
}

clp_status clp_event_wait(clp_event *event)
{
    if (!event)
        return CLP_ERR_ARG;
    clpi_event_settle(event);
    if (event->status)
        clpi_fail(&event->ctx->env, event->status, "%s", event->text ? event->text : "out of memory");
    return event->status;
}

double clp_event_seconds(const clp_event *event)
{
    return event->seconds;
}

void clp_event_free(clp_event *event)
{
    if (!event)
        return;
    clpi_event_settle(event);
    if (event->launched)
        event->ctx->backend->forget(event->launched);
    if (event->holds_kernel)
        clp_kernel_free(event->kernel);
    clp_context *ctx = event->ctx;
    pthread_mutex_destroy(&event->lock);
    if (!put_idle(ctx, event))
        discard(ctx, event);
}
