/* context: one device, the allocator and the errors of all that is made for it.
 * In: options. Out: a context with an open device.
 * Decides which backend a device's name means: "cl:1" is the device "1" of the backend "cl"; "auto" is the first backend
 * that opens at all.                                                                                                    */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "run/run.h"

#define TEXT(x) #x
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *clp_version(void)
{
    return VERSION(CLP_VERSION_MAJOR, CLP_VERSION_MINOR, CLP_VERSION_PATCH);
}

/* ---- Devices ---- */

clp_status clpi_devices(clpi_env *env, clp_device_fn fn, void *user)
{
#ifndef CLPALLAS_OPENCL
    fn("cl", false, "this build has no OpenCL", user);
#endif
    for (int i = 0; clpi_backends[i]; i++)
        CLP_TRY(clpi_backends[i]->list(env, fn, user));
    return CLP_OK;
}

clp_status clp_devices(clp_device_fn fn, void *user)
{
    if (!fn)
        return CLP_ERR_ARG;
    clpi_env env;
    clpi_env_init(&env, NULL, NULL);
    clp_status status = clpi_devices(&env, fn, user);
    clpi_env_done(&env);
    return status;
}

static void add_name(const char *which, bool usable, const char *detail, void *user)
{
    clpi_str *names = user;
    (void)detail;
    if (usable)
        clpi_str_add(names, "%s%s", names->n ? ", " : "", which);
}

/* Adds to the reason why `device` cannot be had which devices there are. */
static clp_status fail_device(clp_context *ctx, const char *device, clp_status status, const char *reason)
{
    clpi_str names, why;
    clpi_str_init(&names, &ctx->env);
    clpi_str_init(&why, &ctx->env);
    clpi_str_puts(&why, reason);
    if (!clpi_devices(&ctx->env, add_name, &names) && !names.failed && !why.failed)
        clpi_fail(&ctx->env, status, "no device \"%s\": %s; there is %s", device, why.text, names.text);
    clpi_str_done(&names);
    clpi_str_done(&why);
    return status;
}

static clp_status open_named(clp_context *ctx, const char *device)
{
    const char *colon = strchr(device, ':');
    size_t n = colon ? (size_t)(colon - device) : strlen(device);
    for (int i = 0; clpi_backends[i]; i++) {
        if (strlen(clpi_backends[i]->name) != n || strncmp(clpi_backends[i]->name, device, n) != 0)
            continue;
        ctx->backend = clpi_backends[i];
        clp_status status = ctx->backend->open(&ctx->host, colon ? colon + 1 : NULL, &ctx->dev);
        return status && status != CLP_ERR_OOM ? fail_device(ctx, device, status, clpi_error_text(&ctx->env)) : status;
    }
    return fail_device(ctx, device, CLP_ERR_ARG, "this build has nothing of that name");
}

static clp_status open_first(clp_context *ctx)
{
    clp_status status = CLP_ERR_INTERNAL;
    for (int i = 0; clpi_backends[i] && status && status != CLP_ERR_OOM; i++) {
        ctx->backend = clpi_backends[i];
        status = ctx->backend->open(&ctx->host, NULL, &ctx->dev);
    }
    return status;
}

/* ---- Contexts ---- */

/* Where clp_last_error(NULL) looks: a context that could not be made has no place for its error. All else of the library
 * that is not constant and of no context: which thread is which (error.c), and how many cores may be used (cores.c).     */
static _Thread_local char error_of_new[512];

/* What every context has of its own, whoever the device is of. */
static void context_start(clp_context *ctx, clp_alloc_fn alloc, void *alloc_user)
{
    clpi_env_init(&ctx->env, alloc, alloc_user);
    ctx->host.env = &ctx->env;
    ctx->peaks.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    ctx->idle_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void context_end(clp_context *ctx)
{
    clpi_events_discard(ctx);
    pthread_mutex_destroy(&ctx->idle_lock);
    pthread_mutex_destroy(&ctx->peaks.lock);
    clpi_env_done(&ctx->env);
}

static void context_close(clp_context *ctx)
{
    if (ctx->dev)
        ctx->backend->close(ctx->dev);
    clpi_env env = ctx->env; /* which holds the allocator that gave ctx */
    context_end(ctx);
    clpi_free(&env, ctx, 1, sizeof *ctx);
}

/* open: makes the device of a context, of which all else is there. */
static clp_status context_new(const clp_context_opts *opts, clp_status (*open)(clp_context *ctx, const void *user),
                              const void *user, clp_context **out_ctx)
{
    if (!out_ctx) {
        snprintf(error_of_new, sizeof error_of_new, "clp_context_new: out_ctx is NULL");
        return CLP_ERR_ARG;
    }
    *out_ctx = NULL;
    static const clp_context_opts defaults = { .device = NULL };
    opts = opts ? opts : &defaults;
    clpi_env env;
    clpi_env_init(&env, opts->alloc, opts->alloc_user);
    clp_context *ctx = clpi_alloc(&env, 1, sizeof *ctx);
    if (!ctx) {
        snprintf(error_of_new, sizeof error_of_new, "%s", clpi_error_text(&env));
        clpi_env_done(&env);
        return CLP_ERR_OOM;
    }
    context_start(ctx, opts->alloc, opts->alloc_user);
    ctx->host = (clpi_host){ &ctx->env, opts->print, opts->print_user, opts->dump, opts->dump_user };
    ctx->schedule = opts->schedule;
    ctx->is_checked = opts->checked;
    ctx->text_only = opts->text_only;
    ctx->uses_tuned = opts->tuned;
    clp_status status = CLP_OK;
    if (opts->schedule < CLP_SCHEDULE_AUTO || opts->schedule > CLP_SCHEDULE_SIMT)
        status = clpi_fail(&ctx->env, CLP_ERR_ARG, "schedule: there is no schedule %d", (int)opts->schedule);
    if (!status)
        status = open(ctx, user);
    if (status) {
        snprintf(error_of_new, sizeof error_of_new, "%s", clpi_error_text(&ctx->env));
        ctx->dev = NULL;
        context_close(ctx);
        return status;
    }
    ctx->backend->limits(ctx->dev, &ctx->limits);
    *out_ctx = ctx;
    return CLP_OK;
}

static clp_status open_device(clp_context *ctx, const void *user)
{
    const char *device = user;
    return !device || !strcmp(device, "auto") ? open_first(ctx) : open_named(ctx, device);
}

clp_status clp_context_new(const clp_context_opts *opts, clp_context **out_ctx)
{
    return context_new(opts, open_device, opts ? opts->device : NULL, out_ctx);
}

typedef struct adoption { const clpi_backend *backend; clpi_open_fn open; const void *user; } adoption;

static clp_status open_adopted(clp_context *ctx, const void *user)
{
    const adoption *a = user;
    ctx->backend = a->backend;
    return a->open(&ctx->host, a->user, &ctx->dev);
}

clp_status clpi_context_adopt(const clp_context_opts *opts, const clpi_backend *backend, clpi_open_fn open, const void *user,
                              clp_context **out_ctx)
{
    return context_new(opts, open_adopted, &(adoption){ backend, open, user }, out_ctx);
}

void clpi_context_plain(clp_context *ctx, clp_context *out_plain)
{
    *out_plain = (clp_context){ .backend = ctx->backend, .dev = ctx->dev, .limits = ctx->limits };
    context_start(out_plain, ctx->env.alloc, ctx->env.alloc_user);
}

void clpi_context_plain_done(clp_context *plain)
{
    context_end(plain);
}

clpi_env *clpi_context_env(clp_context *ctx)
{
    return &ctx->env;
}

void *clpi_context_dev(const clp_context *ctx, const clpi_backend *backend)
{
    return ctx->backend == backend ? ctx->dev : NULL;
}

void clp_context_free(clp_context *ctx)
{
    if (ctx)
        context_close(ctx);
}

const char *clp_last_error(const clp_context *ctx)
{
    return ctx ? clpi_error_text(&ctx->env) : error_of_new;
}

const char *clp_context_device(const clp_context *ctx)
{
    return ctx->backend->describe(ctx->dev);
}
