/* error: the one place all errors pass.
 * In: a status and a text. Out: the status; the text is kept for the calling thread until its next failure on this env.
 *
 * Each thread that failed has a slot of its own, which only it writes. Slots are pushed at the front of the list and stay
 * until clpi_env_done, so that a walk needs no lock: a reader finds its own slot, or the thread has none.
 *
 * Systems give the id of a thread that has ended to a new one, so a slot belongs to a serial, of which a thread has one for
 * good. Of two threads with one id the older has ended: the first failure of the younger takes its slot over, and a
 * process that always makes new threads has no more slots than ids.                                                     */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"

struct clpi_error_slot {
    clpi_error_slot *next;
    pthread_t        id;
    _Atomic uint64_t owner;       /* serial */
    char            *text;        /* NULL: the fixed text stands in */
    size_t           n_bytes;
};

static _Atomic uint64_t n_serials;
static _Thread_local uint64_t serial;        /* 0: this thread has never failed */

static const char out_of_memory[] = "out of memory";

static clpi_error_slot *slot_find(const clpi_env *env)
{
    for (clpi_error_slot *slot = serial ? atomic_load(&env->errors) : NULL; slot; slot = slot->next)
        if (atomic_load(&slot->owner) == serial)
            return slot;
    return NULL;
}

static void text_free(clpi_env *env, clpi_error_slot *slot)
{
    if (slot->text)
        (void)env->alloc(env->alloc_user, slot->text, slot->n_bytes, 0);
    slot->text = NULL;
    slot->n_bytes = 0;
}

/* The slot of a thread that has ended and had this one's id, emptied; or NULL. */
static clpi_error_slot *slot_inherit(clpi_env *env)
{
    for (clpi_error_slot *slot = atomic_load(&env->errors); slot; slot = slot->next)
        if (pthread_equal(slot->id, pthread_self())) {
            text_free(env, slot);
            atomic_store(&slot->owner, serial);
            return slot;
        }
    return NULL;
}

/* This thread's slot, made when it is new; NULL when out of memory. */
static clpi_error_slot *slot_get(clpi_env *env)
{
    if (!serial)
        serial = atomic_fetch_add(&n_serials, 1) + 1;
    clpi_error_slot *slot = slot_find(env);
    if (!slot)
        slot = slot_inherit(env);
    if (slot)
        return slot;
    slot = env->alloc(env->alloc_user, NULL, 0, sizeof *slot);
    if (!slot) {
        atomic_store(&env->is_slot_lost, true);
        return NULL;
    }
    *slot = (clpi_error_slot){ .next = atomic_load(&env->errors), .id = pthread_self(), .owner = serial };
    while (!atomic_compare_exchange_weak(&env->errors, &slot->next, slot))
        continue;
    return slot;
}

clp_status clpi_fail_v(clpi_env *env, clp_status status, const char *format, va_list args)
{
    clpi_error_slot *slot = slot_get(env);
    if (!slot)
        return status;
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    size_t n_bytes = n < 0 ? 0 : (size_t)n + 1;
    char *text = n_bytes ? env->alloc(env->alloc_user, NULL, 0, n_bytes) : NULL;
    if (text)
        (void)vsnprintf(text, n_bytes, format, args);
    text_free(env, slot); /* only now: args may point into the old text */
    slot->text = text;
    slot->n_bytes = text ? n_bytes : 0;
    return status;
}

clp_status clpi_fail(clpi_env *env, clp_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)clpi_fail_v(env, status, format, args);
    va_end(args);
    return status;
}

const char *clpi_error_text(const clpi_env *env)
{
    const clpi_error_slot *slot = slot_find(env);
    if (slot)
        return slot->text ? slot->text : out_of_memory;
    return atomic_load(&env->is_slot_lost) ? out_of_memory : "";
}

void clpi_env_done(clpi_env *env)
{
    clpi_error_slot *slot = atomic_exchange(&env->errors, NULL);
    while (slot) {
        clpi_error_slot *next = slot->next;
        text_free(env, slot);
        (void)env->alloc(env->alloc_user, slot, sizeof *slot, 0);
        slot = next;
    }
}

const char *clp_status_name(clp_status status)
{
    switch (status) {
#define STATUS_NAME(name, value)                                                                                       \
    case CLP_##name: return "CLP_" #name;
        CLP_STATUSES(STATUS_NAME)
#undef STATUS_NAME
    }
    return "?";
}
