/* cl: the backend of OpenCL devices.
 * In: IR and plans. Out: built kernels: nest, schedule and text (text.c), then the device's compiler (program.c).
 * Decides which kernels share a program: compilers spend much on what every program needs before its first kernel.
 * The table of the backend stands last.                                                                                */
#include "cl/cl.h"

/* What is built together: units that one text may hold, and where their exes go. */
typedef struct batch {
    const clpi_unit **units;
    void            **exes;           /* NULL: the texts alone are made, and thrown away */
    int               n;
} batch;

static void discard_all(const batch *b)
{
    for (int i = 0; b->exes && i < b->n; i++) {
        if (b->exes[i])
            clpi_cl_discard(b->exes[i]);
        b->exes[i] = NULL;
    }
}

static clp_status make_exes(clpi_cl_device *dev, const batch *b, clp_schedule schedule, bool is_checked, clpi_cl_shared *shared)
{
    const clpi_host *host = &dev->host;
    clpi_unit *units = CLPI_NEW_N(&shared->arena, clpi_unit, (size_t)b->n);
    clpi_code **codes = CLPI_NEW_N(&shared->arena, clpi_code *, (size_t)b->n);
    if (!units || !codes)
        return CLP_ERR_OOM;
    for (int i = 0; i < b->n; i++)
        units[i] = *b->units[i];
    CLP_TRY(clpi_cl_generate(host->env, &shared->arena, units, b->n, &dev->limits, schedule, is_checked, codes));
    if (!b->exes)
        return CLP_OK;
    for (int i = 0; host->dump && i < b->n; i++)
        host->dump("cl", units[i].ir->name, codes[i]->text, host->dump_user);
    CLP_TRY(clpi_cl_shared_build(shared, units[0].ir->name, codes[0]->text, codes[0]->options));
    for (int i = 0; i < b->n; i++) {
        clpi_cl_exe *exe;
        CLP_TRY(clpi_cl_exe_new(&units[i], shared, codes[i], &exe));
        b->exes[i] = exe;
    }
    return CLP_OK;
}

/* All of a batch, or none. */
static clp_status compile_batch(clpi_cl_device *dev, const batch *b, clp_schedule schedule, bool is_checked)
{
    clpi_cl_shared *shared;
    CLP_TRY(clpi_cl_shared_new(dev, &shared));
    clp_status status = make_exes(dev, b, schedule, is_checked, shared);
    clpi_cl_shared_drop(shared);
    if (status)
        discard_all(b);
    if (status != CLP_ERR_DEVICE || b->n == 1)
        return status;
    /* What the device's compiler does not take, it may take in parts; if not, the error has the kernel's name. */
    status = CLP_OK;
    for (int i = 0; !status && i < b->n; i++)
        status = compile_batch(dev, &(batch){ &b->units[i], &b->exes[i], 1 }, schedule, is_checked);
    if (status)
        discard_all(b);
    return status;
}

/* Units that keep to the same rules of arithmetic share a text. */
static clp_status compile(void *device, const clpi_unit *units, int n_units, clp_schedule schedule, bool is_checked, void **out_exes)
{
    clpi_cl_device *dev = device;
    clpi_arena arena;
    clp_status status = CLP_OK;
    clpi_arena_init(&arena, dev->host.env);
    for (int i = 0; out_exes && i < n_units; i++)
        out_exes[i] = NULL;
    for (int fast = 0; fast < 2 && !status; fast++) {
        batch b = { CLPI_NEW_N(&arena, const clpi_unit *, (size_t)n_units), CLPI_NEW_N(&arena, void *, (size_t)n_units), 0 };
        if (!b.units || !b.exes)
            status = CLP_ERR_OOM;
        for (int i = 0; !status && i < n_units; i++)
            if (units[i].ir->math_fast == (fast == 1))
                b.units[b.n++] = &units[i];
        if (!out_exes)
            b.exes = NULL;
        if (!status && b.n > 0)
            status = compile_batch(dev, &b, schedule, is_checked);
        for (int i = 0; !status && b.exes && i < b.n; i++)
            out_exes[b.units[i] - units] = b.exes[i];
    }
    clpi_arena_done(&arena);
    if (status)
        discard_all(&(batch){ NULL, out_exes, n_units });
    return status;
}

static void identify(void *device, clpi_str *out)
{
    clpi_cl_put_identity(device, out);
}

const clpi_backend clpi_cl_backend = {
    .name = "cl",
    .list = clpi_cl_list,
    .open = clpi_cl_open,
    .close = clpi_cl_close,
    .describe = clpi_cl_describe,
    .identify = identify,
    .limits = clpi_cl_limits,
    .compile = compile,
    .discard = clpi_cl_discard,
    .launch = clpi_cl_launch,
    .wait = clpi_cl_wait,
    .forget = clpi_cl_forget,
    .alloc = clpi_cl_alloc,
    .wrap = clpi_cl_wrap,
    .release = clpi_cl_release,
    .write = clpi_cl_write,
    .read = clpi_cl_read,
};
