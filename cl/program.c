/* program: a text into a program of a device.
 * In: OpenCL C and the options it counts on. Out: a built program, or what the device's compiler had to say.
 * Decides where a program comes from: the store, when an earlier process has left it there, else the device's compiler. */
#include <stdlib.h>
#include <string.h>

#include "cl/cl.h"

/* The line of a compiler's output that says most: the first with an error in it, else the first with anything. */
static const char *telling_line(const char *log, int *out_n)
{
    const char *best = "nothing";
    size_t n_best = strlen(best);
    bool is_error = false, is_any = false;
    for (const char *p = log; *p && !is_error;) {
        size_t n = strcspn(p, "\r\n");
        const char *word = strstr(p, "error");
        is_error = word && word < p + n;
        if (n > 0 && (is_error || !is_any)) {
            best = p;
            n_best = n;
            is_any = true;
        }
        p += n + (p[n] != 0);
    }
    *out_n = (int)(n_best < 300 ? n_best : 300);
    return best;
}

/* Our own fault, or the device's: a text of ours does not build. An error is one line; the whole goes to the dump. */
static clp_status fail_build(clpi_cl_device *dev, const char *what, cl_program program, cl_int code)
{
    clpi_env *env = dev->host.env;
    size_t n = 0;
    clp_status status = clpi_cl_fail(env, "clBuildProgram", code);
    if (clGetProgramBuildInfo(program, dev->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &n) != CL_SUCCESS || n < 2)
        return status;
    char *log = clpi_alloc(env, n + 1, 1);
    if (!log)
        return CLP_ERR_OOM;
    if (clGetProgramBuildInfo(program, dev->id, CL_PROGRAM_BUILD_LOG, n, log, NULL) == CL_SUCCESS) {
        int n_line;
        const char *line = telling_line(log, &n_line);
        if (dev->host.dump)
            dev->host.dump("log", what, log, dev->host.dump_user);
        clpi_fail(env, status, "%s: the device's compiler failed: clBuildProgram: %s (%d): %.*s", what,
                  code == CL_BUILD_PROGRAM_FAILURE ? "CL_BUILD_PROGRAM_FAILURE" : "code", (int)code, n_line, line);
    }
    clpi_free(env, log, n + 1, 1);
    return status;
}

/* ---- Programs from before ----
 * A binary stands in the store under all that it depends on; the implementation checks it once more, and what it does not
 * take is built from the text.                                                                                          */

void clpi_cl_put_identity(const clpi_cl_device *dev, clpi_str *out)
{
    static const cl_device_info facts[] = { CL_DEVICE_NAME, CL_DEVICE_VERSION, CL_DRIVER_VERSION };
    static const cl_platform_info platform_facts[] = { CL_PLATFORM_NAME, CL_PLATFORM_VERSION };
    cl_platform_id platform = NULL;
    char fact[512];
    (void)clGetDeviceInfo(dev->id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    clpi_str_add(out, "clpallas %s", clp_version());
    for (size_t i = 0; i < sizeof platform_facts / sizeof *platform_facts; i++)
        clpi_str_add(out, "|%s", clGetPlatformInfo(platform, platform_facts[i], sizeof fact, fact, NULL) == CL_SUCCESS ? fact : "");
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        clpi_str_add(out, "|%s", clGetDeviceInfo(dev->id, facts[i], sizeof fact, fact, NULL) == CL_SUCCESS ? fact : "");
}

static void put_key(const clpi_cl_device *dev, const char *options, const char *text, clpi_str *key)
{
    clpi_cl_put_identity(dev, key);
    clpi_str_add(key, "|program|%s|", options);
    clpi_str_puts(key, text);
}

static cl_program from_store(clpi_cl_device *dev, const clpi_str *key, const char *options)
{
    void *binary;
    size_t n;
    cl_int code = CL_SUCCESS, state = CL_SUCCESS;
    cl_program program = NULL;
    clpi_arena arena;
    clpi_arena_init(&arena, dev->host.env);
    if (clpi_store_get(&dev->store, key->text, key->n, &arena, &binary, &n)) {
        program = clCreateProgramWithBinary(dev->context, 1, &dev->id, &n, (const unsigned char *[]){ binary }, &state, &code);
        if (code == CL_SUCCESS && state == CL_SUCCESS)
            code = clBuildProgram(program, 1, &dev->id, options, NULL, NULL);
        if (program && (code != CL_SUCCESS || state != CL_SUCCESS)) {
            clReleaseProgram(program);
            program = NULL;
        }
        if (!program)
            clpi_store_drop(&dev->store, key->text, key->n);
    }
    clpi_arena_done(&arena);
    return program;
}

/* A context of one device has programs of one binary. */
static void to_store(clpi_cl_device *dev, const clpi_str *key, cl_program program)
{
    size_t n = 0;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof n, &n, NULL) != CL_SUCCESS || n == 0)
        return;
    unsigned char *binary = clpi_alloc(dev->host.env, n, 1);
    if (binary && clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
        clpi_store_put(&dev->store, key->text, key->n, binary, n);
    clpi_free(dev->host.env, binary, n, 1);
}

static clp_status from_text(clpi_cl_device *dev, const char *what, const char *text, const char *options, cl_program *out_program)
{
    cl_int code = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(dev->context, 1, &text, NULL, &code);
    CLPI_CL_TRY(dev->host.env, "clCreateProgramWithSource", code);
    code = clBuildProgram(program, 1, &dev->id, options, NULL, NULL);
    clp_status status = code == CL_SUCCESS ? CLP_OK : fail_build(dev, what, program, code);
    if (status)
        clReleaseProgram(program);
    else
        *out_program = program;
    return status;
}

void clpi_cl_put_options(const clpi_cl_device *dev, const char *options, clpi_str *out)
{
    const char *more = getenv("CLPALLAS_BUILD_OPTIONS");
    clpi_str_add(out, "-cl-std=CL1.2 -w%s%s%s", dev->limits.has_correct_divide ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
                 options && *options ? " " : "", options ? options : "");
    if (more && *more)
        clpi_str_add(out, " %s", more);
}

clp_status clpi_cl_build(clpi_cl_device *dev, const char *what, const char *text, const char *options, cl_program *out_program)
{
    clpi_str all;
    clpi_str_init(&all, dev->host.env);
    clpi_cl_put_options(dev, options, &all);
    *out_program = NULL;
    clp_status status = all.failed ? CLP_ERR_OOM : from_text(dev, what, text, all.text, out_program);
    clpi_str_done(&all);
    return status;
}

/* ---- Programs that exes share ---- */

clp_status clpi_cl_shared_new(clpi_cl_device *dev, clpi_cl_shared **out_shared)
{
    *out_shared = clpi_alloc(dev->host.env, 1, sizeof **out_shared);
    if (!*out_shared)
        return CLP_ERR_OOM;
    (*out_shared)->dev = dev;
    atomic_init(&(*out_shared)->n_users, 1);
    clpi_arena_init(&(*out_shared)->arena, dev->host.env);
    return CLP_OK;
}

/* Puts the program into the store, unless it is there. */
static void keep(clpi_cl_shared *shared)
{
    clpi_str key;
    if (!shared->program || !shared->text)
        return;
    clpi_str_init(&key, shared->dev->host.env);
    put_key(shared->dev, shared->options, shared->text, &key);
    if (!key.failed)
        to_store(shared->dev, &key, shared->program);
    clpi_str_done(&key);
    shared->text = NULL;
}

/* PoCL compiles a program when it is run, and once more when it is asked for its binary: that waits until nobody uses it, so that the first
 * result is there in half the time (attention: 1.8 s in place of 3.0). What ends sooner finds it in PoCL's own cache. */
clp_status clpi_cl_shared_build(clpi_cl_shared *shared, const char *what, const char *text, const char *options)
{
    clpi_cl_device *dev = shared->dev;
    clpi_str all, key;
    clpi_str_init(&all, dev->host.env);
    clpi_str_init(&key, dev->host.env);
    clpi_cl_put_options(dev, options, &all);
    shared->options = clpi_str_keep(&all, &shared->arena);
    if (shared->options && dev->store.folder[0])
        put_key(dev, shared->options, text, &key);
    clp_status status = !shared->options || key.failed ? CLP_ERR_OOM : CLP_OK;
    if (!status && key.n > 0)
        shared->program = from_store(dev, &key, shared->options);
    clpi_str_done(&key);
    if (status || shared->program)
        return status;
    CLP_TRY(from_text(dev, what, text, shared->options, &shared->program));
    shared->text = dev->store.folder[0] ? text : NULL;
    if (!dev->compiles_for_binary)
        keep(shared);
    return CLP_OK;
}

void clpi_cl_shared_drop(clpi_cl_shared *shared)
{
    if (!shared || atomic_fetch_sub(&shared->n_users, 1) > 1)
        return;
    clpi_env *env = shared->dev->host.env;
    keep(shared);
    if (shared->program)
        clReleaseProgram(shared->program);
    clpi_arena_done(&shared->arena);
    clpi_free(env, shared, 1, sizeof *shared);
}
