/* interp: the backend. No device: memory is the host's, a launch is over when it returns.
 * In: the calls of run/backend.h. Out: the same. What a launch ran into is kept in its event and reported by wait.
 * As in the queue of a device, launches and copies come one after another, whatever threads they are from: a thread waits for its turn.
 * What a launch prints may be handed to a caller who starts another: the turn is the thread's, as often as it takes it.    */
#define _XOPEN_SOURCE 700       /* PTHREAD_MUTEX_RECURSIVE */
#include <string.h>

#include "base/clock.h"
#include "interp/interp.h"

typedef struct device { clpi_host host; pthread_mutex_t turn; } device;
typedef struct memory { device *dev; uint8_t *data; size_t n_bytes; bool is_owned; } memory;
typedef struct event { clpi_env *env; clp_status status; char *text; size_t text_bytes; double seconds; } event;

static const char description[] = "the interpreter, on the host";

static clp_status interp_list(clpi_env *env, clp_device_fn fn, void *user)
{
    (void)env;
    fn("interp", true, description, user);
    return CLP_OK;
}

static clp_status interp_open(const clpi_host *host, const char *which, void **out_dev)
{
    *out_dev = NULL;
    if (which)
        return clpi_fail(host->env, CLP_ERR_ARG, "device: there is one interpreter: expected \"interp\", got \"interp:%s\"", which);
    device *dev = clpi_alloc(host->env, 1, sizeof *dev);
    if (!dev)
        return CLP_ERR_OOM;
    dev->host = *host;
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&dev->turn, &attr);
    pthread_mutexattr_destroy(&attr);
    *out_dev = dev;
    return CLP_OK;
}

static void interp_close(void *given)
{
    device *dev = given;
    if (!dev)
        return;
    pthread_mutex_destroy(&dev->turn);
    clpi_free(dev->host.env, dev, 1, sizeof *dev);
}

static const char *interp_describe(void *dev)
{
    (void)dev;
    return description;
}

static void interp_identify(void *dev, clpi_str *out)
{
    (void)dev;
    clpi_str_add(out, "clpallas %s|the interpreter", clp_version());
}

static void interp_limits(void *dev, clpi_limits *out_limits)
{
    (void)dev;
    *out_limits = (clpi_limits){
        .is_cpu = true, .shares_host_memory = true, .has_fp64 = true, .has_int64_atomics = true,
        .has_correct_divide = true, .local_bytes = UINT64_C(1) << 40, .private_bytes = UINT64_C(1) << 40,
        .group_size = 1, .compute_units = 1, .vector_bytes = 16, .l1_bytes = 32 << 10, .l2_bytes = 1 << 20,
    };
}

static void interp_discard(void *exe)
{
    if (exe)
        clpi_interp_discard(exe);
}

static clp_status interp_compile(void *given, const clpi_unit *units, int n_units, clp_schedule schedule, bool is_checked, void **out_exes)
{
    device *dev = given;
    (void)schedule;     /* the shape of OpenCL code; there is none */
    (void)is_checked;   /* always */
    for (int i = 0; i < n_units; i++) {
        clpi_exe *exe;
        clp_status status = clpi_interp_compile(&dev->host, units[i].ir, units[i].plan, &exe);
        if (!out_exes) {
            interp_discard(exe);
            CLP_TRY(status);
            continue;
        }
        if (exe)
            exe->turn = &dev->turn;
        out_exes[i] = exe;
        while (status && i > 0)
            interp_discard(out_exes[--i]);
        CLP_TRY(status);
    }
    return CLP_OK;
}

/* Failures of the kernel belong to the event; only what keeps a launch from starting is reported at once. */
static clp_status interp_launch(void *executable, const clpi_launch *launch, void **out_event)
{
    clpi_exe *exe = executable;
    clpi_env *env = exe->host.env;
    *out_event = NULL;
    event *e = clpi_alloc(env, 1, sizeof *e);
    if (!e)
        return CLP_ERR_OOM;
    e->env = env;
    pthread_mutex_lock(exe->turn);
    double start = clpi_now();
    e->status = clpi_interp_run(exe, launch);
    e->seconds = clpi_now() - start;
    pthread_mutex_unlock(exe->turn);
    if (e->status) {
        const char *text = clpi_error_text(env);
        e->text_bytes = strlen(text) + 1;
        e->text = clpi_alloc(env, e->text_bytes, 1);
        if (!e->text) {
            clpi_free(env, e, 1, sizeof *e);
            return CLP_ERR_OOM;
        }
        memcpy(e->text, text, e->text_bytes);
    }
    *out_event = e;
    return CLP_OK;
}

static clp_status interp_wait(void *launched, double *out_seconds)
{
    event *e = launched;
    *out_seconds = e->seconds;
    return e->status ? clpi_fail(e->env, e->status, "%s", e->text) : CLP_OK;
}

static void interp_forget(void *launched)
{
    event *e = launched;
    if (!e)
        return;
    clpi_free(e->env, e->text, e->text_bytes, 1);
    clpi_free(e->env, e, 1, sizeof *e);
}

/* ---- Memory ---- */

static clp_status memory_new(device *dev, void *data, size_t n_bytes, void **out_mem)
{
    clpi_env *env = dev->host.env;
    *out_mem = NULL;
    memory *m = clpi_alloc(env, 1, sizeof *m);
    if (!m)
        return CLP_ERR_OOM;
    *m = (memory){ dev, data, n_bytes, data == NULL };
    if (!data && !(m->data = clpi_alloc(env, n_bytes ? n_bytes : 1, 1))) {
        clpi_free(env, m, 1, sizeof *m);
        return CLP_ERR_OOM;
    }
    *out_mem = m;
    return CLP_OK;
}

static clp_status interp_alloc(void *dev, size_t n_bytes, void **out_mem)
{
    return memory_new(dev, NULL, n_bytes, out_mem);
}

static clp_status interp_wrap(void *dev, void *data, size_t n_bytes, void **out_mem)
{
    return memory_new(dev, data, n_bytes, out_mem);
}

static void interp_release(void *mem)
{
    memory *m = mem;
    if (!m)
        return;
    clpi_env *env = m->dev->host.env;
    if (m->is_owned)
        clpi_free(env, m->data, m->n_bytes ? m->n_bytes : 1, 1);
    clpi_free(env, m, 1, sizeof *m);
}

static clp_status interp_write(void *mem, size_t at, const void *src, size_t n_bytes)
{
    memory *m = mem;
    pthread_mutex_lock(&m->dev->turn);
    memcpy(m->data + at, src, n_bytes);
    pthread_mutex_unlock(&m->dev->turn);
    return CLP_OK;
}

static clp_status interp_read(void *mem, size_t at, void *dst, size_t n_bytes)
{
    memory *m = mem;
    pthread_mutex_lock(&m->dev->turn);
    memcpy(dst, m->data + at, n_bytes);
    pthread_mutex_unlock(&m->dev->turn);
    return CLP_OK;
}

uint8_t *clpi_interp_mem(void *mem)
{
    return ((memory *)mem)->data;
}

const clpi_backend clpi_interp_backend = {
    .name = "interp",
    .list = interp_list,
    .open = interp_open,
    .close = interp_close,
    .describe = interp_describe,
    .identify = interp_identify,
    .limits = interp_limits,
    .compile = interp_compile,
    .discard = interp_discard,
    .launch = interp_launch,
    .wait = interp_wait,
    .forget = interp_forget,
    .alloc = interp_alloc,
    .wrap = interp_wrap,
    .release = interp_release,
    .write = interp_write,
    .read = interp_read,
};
