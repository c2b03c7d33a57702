/* choosing: a kernel with parameters left open, on a device of the test's own.
 * The device is the interpreter behind a backend of another name, with limits of its own; it counts what it compiles and, where
 * it is told to, gives wrong results or none. Kernels write down the values that they were made with.                           */
#ifndef TESTS_CHOOSING_H
#define TESTS_CHOOSING_H

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "run/choose.h"
#include "support/support.h"

/* ---- The device ---- */

typedef struct fake {
    clpi_backend backend;
    clpi_env    *env;
    int          n_compiled;      /* exes made */
    int64_t      wrong_block;     /* kernels with blocks of this size write 99 into element 0 */
    int64_t      failing_block;   /* launches of kernels with blocks of this size fail */
    int          n_reads, failing_read;         /* of memory; the one of this number fails */
    pthread_mutex_t lock;
} fake;

static fake *only;                /* one for each test, which is a process of its own */

static inline clp_status fake_open(const clpi_host *host, const void *user, void **out_dev)
{
    (void)user;
    only->env = host->env;
    return clpi_interp_backend.open(host, NULL, out_dev);
}

static inline void fake_limits(void *dev, clpi_limits *out_limits)
{
    clpi_interp_backend.limits(dev, out_limits);
    out_limits->compute_units = 2;
    out_limits->vector_bytes = 64;
    out_limits->l1_bytes = 32 << 10;
    out_limits->l2_bytes = 1 << 20;
}

static inline clp_status fake_compile(void *dev, const clpi_unit *units, int n_units, clp_schedule schedule, bool is_checked, void **out_exes)
{
    pthread_mutex_lock(&only->lock);
    only->n_compiled += out_exes ? n_units : 0;
    pthread_mutex_unlock(&only->lock);
    return clpi_interp_backend.compile(dev, units, n_units, schedule, is_checked, out_exes);
}

static inline bool has_blocks(const clpi_ir *ir, int operand, int64_t size)
{
    const clpi_operand *x = &ir->operands[operand];
    return x->role == CLP_OUT && x->has_block && x->block[0].n == size;
}

static inline clp_status fake_launch(void *exe, const clpi_launch *launch, void **out_event)
{
    const clpi_ir *ir = launch->bound->plan->ir;
    for (int i = 0; i < ir->n_operands; i++)
        if (has_blocks(ir, i, only->failing_block))
            return clpi_fail(only->env, CLP_ERR_DEVICE, "a launch that fails");
    CLP_TRY(clpi_interp_backend.launch(exe, launch, out_event));
    for (int i = 0; i < ir->n_operands; i++)
        if (has_blocks(ir, i, only->wrong_block) && launch->bound->box_start[0] == 0)
            return clpi_interp_backend.write(launch->places[i].mem, launch->places[i].at, &(int32_t){ 99 }, 4);
    return CLP_OK;
}

static inline clp_status fake_read(void *mem, size_t at, void *to, size_t n)
{
    if (++only->n_reads == only->failing_read)
        return clpi_fail(only->env, CLP_ERR_DEVICE, "a read that fails");
    return clpi_interp_backend.read(mem, at, to, n);
}

static inline void fake_identify(void *dev, clpi_str *out)
{
    (void)dev;
    clpi_str_puts(out, "a \"fake\"\\device\n");
}

typedef struct fixture { fake device; failing_alloc memory; clp_context *ctx; clp_kernel *k; char folder[64], warnings[2000]; } fixture;

static inline void hear(const char *stage, const char *kernel, const char *text, void *user)
{
    fixture *f = user;
    (void)kernel;
    if (!strcmp(stage, "tuned") && strlen(f->warnings) + strlen(text) + 2 < sizeof f->warnings)
        strcat(strcat(f->warnings, text), "\n");
}

static inline void open_context(fixture *f, bool tuned)
{
    const clp_context_opts opts = { .tuned = tuned, .dump = hear, .dump_user = f, .alloc = failing_alloc_fn, .alloc_user = &f->memory };
    f->memory.budget = SIZE_MAX;
    cr_assert_eq(clpi_context_adopt(&opts, &f->device.backend, fake_open, NULL, &f->ctx), CLP_OK);
}

static inline void open_fixture(fixture *f, const char *text, const char *params)
{
    *f = (fixture){ .device = { .backend = clpi_interp_backend, .lock = PTHREAD_MUTEX_INITIALIZER, .wrong_block = -1, .failing_block = -1 } };
    f->device.backend.name = "fake";
    f->device.backend.limits = fake_limits;
    f->device.backend.compile = fake_compile;
    f->device.backend.launch = fake_launch;
    f->device.backend.read = fake_read;
    f->device.backend.identify = fake_identify;
    only = &f->device;
    strcpy(f->folder, "/tmp/clpallas-choose-XXXXXX");
    cr_assert_not_null(mkdtemp(f->folder));
    setenv("CLPALLAS_CACHE_DIR", f->folder, 1);
    unsetenv("CLPALLAS_CACHE");
    open_context(f, false);
    OK(f->ctx, clp_kernel_from_text(f->ctx, text, NULL, params, &f->k));
}

/* Another context, which looks for what was kept. */
static inline void reopen(fixture *f, const char *text, const char *params)
{
    clp_kernel_free(f->k);
    clp_context_free(f->ctx);
    open_context(f, true);
    OK(f->ctx, clp_kernel_from_text(f->ctx, text, NULL, params, &f->k));
}

static inline void close_fixture(fixture *f)
{
    clp_kernel_free(f->k);
    clp_context_free(f->ctx);
    DIR *dir = opendir(f->folder);
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') {
            char path[400];
            snprintf(path, sizeof path, "%s/%s", f->folder, e->d_name);
            unlink(path);
        }
    closedir(dir);
    rmdir(f->folder);
}

/* The block that element 0 was written with, all others alike; the launch is to succeed. */
enum { MAX_N = 5000 };

static inline int32_t ran_with(fixture *f, int64_t n)
{
    int32_t o[MAX_N] = { 0 };
    cr_assert(n > 0 && n <= MAX_N);
    OK(f->ctx, clp_run(f->k, &(clp_array){ .dtype = CLP_I32, .rank = 1, .shape = &n, .data = o }, 1, NULL));
    for (int64_t i = 0; i < n; i++)
        cr_assert_eq(o[i], o[0], "element %d of %d", (int)i, (int)n);
    return o[0];
}

static inline clp_choice choice_for(fixture *f, int64_t n)
{
    clp_choice choice;
    int32_t o[MAX_N];
    OK(f->ctx, clp_kernel_choice(f->k, &(clp_array){ .dtype = CLP_I32, .rank = 1, .shape = &n, .data = o }, 1, NULL, &choice));
    return choice;
}

/* Blocks of 1024 suit long arrays, of which they make few programs, and waste most of themselves on short ones. */
#define BLOCKS "kernel blocks<b = 4>(out o: i32[N] block [b] at (i)) grid (i = cdiv(N, b)) tune b in [16, 1024] { o[...] = b; }"

static inline void keep(fixture *f, int64_t class, int64_t b, double seconds)
{
    clpi_arena arena;
    const char *why;
    clpi_arena_init(&arena, &f->ctx->env);
    OK(f->ctx, clpi_tuned_keep(f->k, &class, &b, seconds, 2 * seconds, &arena, &why));
    cr_expect_null(why, "%s", why);
    clpi_arena_done(&arena);
}

#endif
