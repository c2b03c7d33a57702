/* device: the OpenCL devices there are, and opening one.
 * In: the N of "cl:N", or nothing for the first that can be used. Out: a context and a queue on it, and its limits.
 * Decides which devices can be used at all; counts all of them, platform by platform, so that N means the same device
 * whatever the others can do.                                                                                          */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl/cl.h"

enum { MAX_DEVICES = 64 };

/* ---- Errors ---- */

static const char *code_name(cl_int code)
{
    switch (code) {
#define ROW(name) case name: return #name
        ROW(CL_DEVICE_NOT_FOUND); ROW(CL_DEVICE_NOT_AVAILABLE); ROW(CL_COMPILER_NOT_AVAILABLE);
        ROW(CL_MEM_OBJECT_ALLOCATION_FAILURE); ROW(CL_OUT_OF_RESOURCES); ROW(CL_OUT_OF_HOST_MEMORY);
        ROW(CL_PROFILING_INFO_NOT_AVAILABLE); ROW(CL_MEM_COPY_OVERLAP); ROW(CL_BUILD_PROGRAM_FAILURE); ROW(CL_MAP_FAILURE);
        ROW(CL_MISALIGNED_SUB_BUFFER_OFFSET); ROW(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        ROW(CL_COMPILE_PROGRAM_FAILURE); ROW(CL_LINKER_NOT_AVAILABLE); ROW(CL_LINK_PROGRAM_FAILURE);
        ROW(CL_INVALID_VALUE); ROW(CL_INVALID_DEVICE_TYPE); ROW(CL_INVALID_PLATFORM); ROW(CL_INVALID_DEVICE);
        ROW(CL_INVALID_CONTEXT); ROW(CL_INVALID_QUEUE_PROPERTIES); ROW(CL_INVALID_COMMAND_QUEUE); ROW(CL_INVALID_HOST_PTR);
        ROW(CL_INVALID_MEM_OBJECT); ROW(CL_INVALID_BINARY); ROW(CL_INVALID_BUILD_OPTIONS); ROW(CL_INVALID_PROGRAM);
        ROW(CL_INVALID_PROGRAM_EXECUTABLE); ROW(CL_INVALID_KERNEL_NAME); ROW(CL_INVALID_KERNEL_DEFINITION);
        ROW(CL_INVALID_KERNEL); ROW(CL_INVALID_ARG_INDEX); ROW(CL_INVALID_ARG_VALUE); ROW(CL_INVALID_ARG_SIZE);
        ROW(CL_INVALID_KERNEL_ARGS); ROW(CL_INVALID_WORK_DIMENSION); ROW(CL_INVALID_WORK_GROUP_SIZE);
        ROW(CL_INVALID_WORK_ITEM_SIZE); ROW(CL_INVALID_GLOBAL_OFFSET); ROW(CL_INVALID_EVENT_WAIT_LIST); ROW(CL_INVALID_EVENT);
        ROW(CL_INVALID_OPERATION); ROW(CL_INVALID_BUFFER_SIZE); ROW(CL_INVALID_GLOBAL_WORK_SIZE); ROW(CL_INVALID_PROPERTY);
#undef ROW
    case -1001: return "no ICD"; /* of the loader: there is no implementation */
    default: return "unknown code";
    }
}

clp_status clpi_cl_fail(clpi_env *env, const char *call, cl_int code)
{
    bool is_memory = code == CL_OUT_OF_HOST_MEMORY || code == CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return clpi_fail(env, is_memory ? CLP_ERR_OOM : CLP_ERR_DEVICE, "%s: %s (%d)", call, code_name(code), (int)code);
}

/* ---- Facts ---- */

/* A fact that cannot be had is 0, or "". */
static uint64_t fact(cl_device_id id, cl_device_info info)
{
    uint64_t value = 0; /* facts are of 4 or of 8 bytes, little-endian: see why_unusable */
    return clGetDeviceInfo(id, info, sizeof value, &value, NULL) == CL_SUCCESS ? value : 0;
}

static void text_fact(cl_device_id id, cl_device_info info, char *out, size_t n)
{
    out[0] = 0;
    size_t needed = 0;
    if (clGetDeviceInfo(id, info, 0, NULL, &needed) != CL_SUCCESS || needed > n ||
        clGetDeviceInfo(id, info, n, out, NULL) != CL_SUCCESS)
        out[0] = 0;
}

static bool has_extension(cl_device_id id, const char *name)
{
    char list[8192];
    text_fact(id, CL_DEVICE_EXTENSIONS, list, sizeof list);
    size_t n = strlen(name);
    for (const char *at = strstr(list, name); at; at = strstr(at + n, name))
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0))
            return true;
    return false;
}

/* NULL: it can be used. */
static const char *why_unusable(cl_device_id id)
{
    char version[128];
    int major = 0, minor = 0;
    text_fact(id, CL_DEVICE_VERSION, version, sizeof version);
    if (!(fact(id, CL_DEVICE_AVAILABLE) & 1u))
        return "the device is not available";
    if (!(fact(id, CL_DEVICE_COMPILER_AVAILABLE) & 1u))
        return "it has no compiler";
    if (!(fact(id, CL_DEVICE_ENDIAN_LITTLE) & 1u))
        return "it is big-endian";
    if (sscanf(version, "OpenCL %d.%d", &major, &minor) != 2 || major * 10 + minor < 12)
        return "its OpenCL is older than 1.2";
    if ((uint32_t)fact(id, CL_DEVICE_ADDRESS_BITS) != 64)
        return "its addresses do not have 64 bits";
    return NULL;
}

static void describe(cl_device_id id, char *out, size_t n)
{
    char name[160], platform_name[96] = "";
    cl_platform_id platform = NULL;
    text_fact(id, CL_DEVICE_NAME, name, sizeof name);
    if (clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) == CL_SUCCESS &&
        clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name, platform_name, NULL) != CL_SUCCESS)
        platform_name[0] = 0;
    snprintf(out, n, "%s (%s)", name, platform_name);
}

/* ---- Limits ---- */

/* Bytes of the data cache of a level, from the system's own tables; 0 where there are none. */
static uint64_t host_cache_bytes(int level)
{
    for (int i = 0; i < 8; i++) {
        char path[96], type[32] = "";
        int this_level = 0;
        unsigned long kib = 0;
        const char *const files[] = { "level", "type", "size" };
        for (int f = 0; f < 3; f++) {
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i, files[f]);
            FILE *file = fopen(path, "r");
            char line[32] = "";
            if (!file)
                return 0;
            bool read = fgets(line, sizeof line, file) != NULL;
            fclose(file);
            if (read && f == 0)
                this_level = atoi(line);
            else if (read && f == 1)
                memcpy(type, line, sizeof type);
            else if (read)
                kib = strtoul(line, NULL, 10);
        }
        if (this_level == level && strncmp(type, "Instruction", 11) != 0)
            return (uint64_t)kib * 1024;
    }
    return 0;
}

static uint64_t or_else(uint64_t value, uint64_t other)
{
    return value ? value : other;
}

/* name: as describe makes it. */
static bool is_pocl(const char *name)
{
    return strstr(name, "Portable Computing Language") != NULL;
}

static void read_limits(cl_device_id id, clpi_limits *l)
{
    uint64_t divide = CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, lanes = (uint32_t)fact(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    *l = (clpi_limits){
        .is_cpu = (fact(id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0,
        .has_fp64 = fact(id, CL_DEVICE_DOUBLE_FP_CONFIG) != 0,
        .has_int64_atomics = has_extension(id, "cl_khr_int64_base_atomics") && has_extension(id, "cl_khr_int64_extended_atomics"),
        .has_correct_divide = (fact(id, CL_DEVICE_SINGLE_FP_CONFIG) & divide) != 0,
        .local_bytes = fact(id, CL_DEVICE_LOCAL_MEM_SIZE),
        .group_size = or_else(fact(id, CL_DEVICE_MAX_WORK_GROUP_SIZE), 1),
        .compute_units = (uint32_t)or_else((uint32_t)fact(id, CL_DEVICE_MAX_COMPUTE_UNITS), 1),
        .vector_bytes = lanes >= 16 ? 64 : lanes >= 8 ? 32 : 16,
    };
    l->shares_host_memory = l->is_cpu && (fact(id, CL_DEVICE_HOST_UNIFIED_MEMORY) & 1u);
    /* On a CPU private arrays lie on the stack of the thread that runs the work-item. */
    char name[300];
    describe(id, name, sizeof name);
    l->loses_barriers = is_pocl(name);
    l->dissolves_vectors = lanes == 1 && !l->loses_barriers;
    l->takes_register_limit = has_extension(id, "cl_nv_compiler_options");
    l->loop_rounds = strstr(name, "llvmpipe") ? 65535 : 0;
    l->private_bytes = l->is_cpu ? 64 * 1024 : 1024;
    uint64_t cache = fact(id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    l->l1_bytes = or_else(l->is_cpu ? host_cache_bytes(1) : 0, 32 * 1024);
    l->l2_bytes = or_else(l->is_cpu ? host_cache_bytes(2) : cache, 256 * 1024);
    l->last_bytes = l->is_cpu ? host_cache_bytes(3) : 0;
}

/* ---- Finding ---- */

/* why: what to say where there is none. */
static int find_devices(cl_device_id *out_ids, const char **out_why)
{
    cl_platform_id platforms[16];
    cl_uint n_platforms = 0;
    int n = 0;
    *out_why = "there is no OpenCL device: no OpenCL implementation is installed that the ICD loader finds";
    clpi_cl_bind_cores();
    if (clGetPlatformIDs(16, platforms, &n_platforms) != CL_SUCCESS || n_platforms == 0)
        return 0;
    *out_why = "there is no OpenCL device: the implementations that are installed find none";
    for (cl_uint p = 0; p < n_platforms && p < 16; p++) {
        cl_uint found = 0;
        cl_uint room = (cl_uint)(MAX_DEVICES - n);
        if (room == 0 || clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, room, out_ids + n, &found) != CL_SUCCESS)
            continue;
        n += (int)(found < room ? found : room);
    }
    return n;
}

clp_status clpi_cl_list(clpi_env *env, clp_device_fn fn, void *user)
{
    (void)env;
    cl_device_id ids[MAX_DEVICES];
    const char *why_none;
    int n = find_devices(ids, &why_none);
    if (n == 0)
        fn("cl", false, why_none, user);
    for (int i = 0; i < n; i++) {
        char which[16], text[256];
        const char *why = why_unusable(ids[i]);
        snprintf(which, sizeof which, "cl:%d", i);
        describe(ids[i], text, sizeof text);
        fn(which, why == NULL, why ? why : text, user);
    }
    return CLP_OK;
}

/* ---- Opening ---- */

/* why: what to say where n is 0. */
static clp_status pick(clpi_env *env, const cl_device_id *ids, int n, const char *why, const char *which, int *out_i)
{
    if (!which) {
        for (int i = 0; i < n; i++) {
            why = why_unusable(ids[i]);
            if (!why) {
                *out_i = i;
                return CLP_OK;
            }
        }
        return clpi_fail(env, CLP_ERR_UNSUPPORTED, "%s", why);
    }
    char *end;
    long i = strtol(which, &end, 10);
    if (end == which || *end || i < 0)
        return clpi_fail(env, CLP_ERR_ARG, "expected the number of an OpenCL device, got \"%s\"", which);
    if (i >= n)
        return clpi_fail(env, CLP_ERR_ARG, "there is no OpenCL device %ld, the number of them is %d", i, n);
    why = why_unusable(ids[i]);
    if (why)
        return clpi_fail(env, CLP_ERR_UNSUPPORTED, "cl:%ld: %s", i, why);
    *out_i = (int)i;
    return CLP_OK;
}

static void CL_CALLBACK ignore_notice(const char *text, const void *data, size_t n, void *user)
{
    (void)text; (void)data; (void)n; (void)user;
}

/* Context and queue of the caller, retained. */
static clp_status take_given(clpi_cl_device *dev, cl_context context, cl_command_queue queue)
{
    clpi_env *env = dev->host.env;
    cl_context of_queue = NULL;
    cl_device_id on_queue = NULL;
    if (queue) {
        CLPI_CL_TRY(env, "clGetCommandQueueInfo", clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof of_queue, &of_queue, NULL));
        CLPI_CL_TRY(env, "clGetCommandQueueInfo", clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof on_queue, &on_queue, NULL));
        if (of_queue != context)
            return clpi_fail(env, CLP_ERR_ARG, "the queue is not of the context that is given");
        if (on_queue != dev->id)
            return clpi_fail(env, CLP_ERR_ARG, "the queue is not of the device that is given");
    }
    if (context) {
        CLPI_CL_TRY(env, "clRetainContext", clRetainContext(context));
        dev->context = context;
    }
    if (queue) {
        CLPI_CL_TRY(env, "clRetainCommandQueue", clRetainCommandQueue(queue));
        dev->queue = queue;
    }
    return CLP_OK;
}

/* Makes what the caller did not give. */
static clp_status make_queue(clpi_cl_device *dev)
{
    clpi_env *env = dev->host.env;
    cl_int code = CL_SUCCESS;
    if (!dev->context) {
        dev->context = clCreateContext(NULL, 1, &dev->id, ignore_notice, NULL, &code);
        CLPI_CL_TRY(env, "clCreateContext", code);
    }
    if (!dev->queue) {
        dev->queue = clCreateCommandQueue(dev->context, dev->id, CL_QUEUE_PROFILING_ENABLE, &code);
        if (code != CL_SUCCESS)
            dev->queue = clCreateCommandQueue(dev->context, dev->id, 0, &code);
        CLPI_CL_TRY(env, "clCreateCommandQueue", code);
    }
    cl_command_queue_properties properties = 0;
    CLPI_CL_TRY(env, "clGetCommandQueueInfo",
                clGetCommandQueueInfo(dev->queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
    dev->has_times = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
    dev->is_in_order = !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    return CLP_OK;
}

clp_status clpi_cl_open_on(const clpi_host *host, cl_device_id id, cl_context context, cl_command_queue queue, void **out_dev)
{
    *out_dev = NULL;
    const char *why = why_unusable(id);
    if (why)
        return clpi_fail(host->env, CLP_ERR_UNSUPPORTED, "%s", why);
    clpi_cl_device *dev = clpi_alloc(host->env, 1, sizeof *dev);
    if (!dev)
        return CLP_ERR_OOM;
    dev->host = *host;
    dev->id = id;
    clp_status status = take_given(dev, context, queue);
    if (!status)
        status = make_queue(dev);
    if (status) {
        clpi_cl_close(dev);
        return status;
    }
    read_limits(id, &dev->limits);
    clpi_store_open(&dev->store);
    clpi_cl_find_insns(dev);
    snprintf(dev->text, sizeof dev->text, "cl ");
    describe(id, dev->text + 3, sizeof dev->text - 3);
    dev->compiles_for_binary = is_pocl(dev->text);
    dev->wakes_slowly = dev->compiles_for_binary && dev->limits.is_cpu;
    *out_dev = dev;
    return CLP_OK;
}

clp_status clpi_cl_open(const clpi_host *host, const char *which, void **out_dev)
{
    *out_dev = NULL;
    cl_device_id ids[MAX_DEVICES];
    const char *why_none;
    int n = find_devices(ids, &why_none), i = 0;
    CLP_TRY(pick(host->env, ids, n, why_none, which, &i));
    CLP_TRY(clpi_cl_open_on(host, ids[i], NULL, NULL, out_dev));
    clpi_cl_device *dev = *out_dev;
    int used = snprintf(dev->text, sizeof dev->text, "cl:%d ", i);
    describe(ids[i], dev->text + used, sizeof dev->text - (size_t)used);
    return CLP_OK;
}

void clpi_cl_close(void *device)
{
    clpi_cl_device *dev = device;
    if (dev->queue)
        clReleaseCommandQueue(dev->queue);
    if (dev->context)
        clReleaseContext(dev->context);
    clpi_env *env = dev->host.env;
    clpi_free(env, dev, 1, sizeof *dev);
}

const char *clpi_cl_describe(void *dev)
{
    return ((clpi_cl_device *)dev)->text;
}

void clpi_cl_limits(void *dev, clpi_limits *out_limits)
{
    *out_limits = ((clpi_cl_device *)dev)->limits;
}
