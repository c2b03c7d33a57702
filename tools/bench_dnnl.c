/* bench_dnnl: oneDNN, products of f32, bf16 and 8-bit integers.
 * In: work whose first two arrays and last one are matrices in row-major order. Out: a side, or what is missing.
 * Its C interface differs between versions 2 and 3; both are spoken here, by address, with no header. Descriptors of version 2 are
 * records of the library's: it fills them, they are only handed on.
 *
 *     version 2:  memory_desc_init_by_strides    matmul_desc_init, primitive_desc_create       the rest is common:
 *     version 3:  memory_desc_create_with_strides   matmul_primitive_desc_create                primitive_create, memory_create, execute */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { CPU = 1, IN_ORDER = 1, ARG_SRC = 1, ARG_WEIGHTS = 33, ARG_DST = 17, DESC_WORDS = 2048 };
enum { DNNL_BF16 = 2, DNNL_F32 = 3, DNNL_S32 = 4, DNNL_S8 = 5, DNNL_U8 = 6 };

typedef struct exec_arg { int arg; void *memory; } exec_arg;
typedef struct version { int major, minor, patch; } version;

typedef int (*create_engine_fn)(void **engine, int kind, size_t index);
typedef int (*create_stream_fn)(void **stream, void *engine, unsigned flags);
typedef int (*init_desc_fn)(void *desc, int rank, const int64_t *dims, int dtype, const int64_t *strides);
typedef int (*init_matmul_fn)(void *op, const void *x, const void *y, const void *bias, const void *z);
typedef int (*create_plan_2_fn)(void **plan, const void *op, const void *attr, void *engine, const void *hint);
typedef int (*create_plan_3_fn)(void **plan, void *engine, const void *x, const void *y, const void *bias, const void *z, const void *attr);
typedef int (*create_memory_fn)(void **memory, const void *desc, void *engine, void *handle);
typedef int (*create_primitive_fn)(void **primitive, const void *plan);
typedef int (*execute_fn)(const void *primitive, void *stream, int n, const exec_arg *args);
typedef int (*wait_fn)(void *stream);
typedef int (*set_handle_fn)(void *memory, void *handle);
typedef int (*destroy_fn)(void *object);

typedef struct dnnl {
    work *w;
    int major;
    peer_fn create_engine, create_stream, init_desc, init_matmul, create_plan, create_memory, create_primitive, execute, wait, set_handle;
    peer_fn destroy_primitive, destroy_memory, destroy_stream, destroy_engine;
    void *engine, *stream, *primitive, *memory[3];
} dnnl;

static const int operand_args[] = { ARG_SRC, ARG_WEIGHTS, ARG_DST };

static int array_of(const dnnl *l, int i)
{
    return i < 2 ? i : l->w->n - 1;
}

static bool find_all(dnnl *l, void *library, char *why, size_t n)
{
    const bool is_old = l->major == 2;
    const struct { const char *name; peer_fn *out; } symbols[] = {
        { "dnnl_engine_create", &l->create_engine },
        { "dnnl_stream_create", &l->create_stream },
        { is_old ? "dnnl_memory_desc_init_by_strides" : "dnnl_memory_desc_create_with_strides", &l->init_desc },
        { is_old ? "dnnl_matmul_desc_init" : "dnnl_matmul_primitive_desc_create", is_old ? &l->init_matmul : &l->create_plan },
        { is_old ? "dnnl_primitive_desc_create" : "dnnl_matmul_primitive_desc_create", &l->create_plan },
        { "dnnl_memory_create", &l->create_memory },
        { "dnnl_primitive_create", &l->create_primitive },
        { "dnnl_primitive_execute", &l->execute },
        { "dnnl_stream_wait", &l->wait },
        { "dnnl_memory_set_data_handle", &l->set_handle },
        { "dnnl_primitive_destroy", &l->destroy_primitive },
        { "dnnl_memory_destroy", &l->destroy_memory },
        { "dnnl_stream_destroy", &l->destroy_stream },
        { "dnnl_engine_destroy", &l->destroy_engine },
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (!library_find(library, symbols[i].name, symbols[i].out, why, n))
            return false;
    return true;
}

/* The dtype as oneDNN counts them; 0: it has none. */
static int dtype_of(clp_dtype t)
{
    return t == CLP_F32 ? DNNL_F32 : t == CLP_BF16 ? DNNL_BF16 : t == CLP_I32 ? DNNL_S32 : t == CLP_I8 ? DNNL_S8 : t == CLP_U8 ? DNNL_U8 : 0;
}

/* Plans the product: 0, or a status of oneDNN's. */
static int prepare(dnnl *l)
{
    uint64_t *records = calloc(4 * DESC_WORDS, sizeof *records); /* version 2: three descriptors of memory and one of the product */
    void *desc[3], *plan = NULL;
    int status = !records;
    if (!status)
        status = ((create_engine_fn)l->create_engine)(&l->engine, CPU, 0);
    if (!status)
        status = ((create_stream_fn)l->create_stream)(&l->stream, l->engine, IN_ORDER);
    for (int i = 0; !status && i < 3; i++) {
        const int a = array_of(l, i);
        const int64_t *shape = l->w->shapes[a], strides[] = { shape[1], 1 };
        desc[i] = records + i * DESC_WORDS;
        status = ((init_desc_fn)l->init_desc)(l->major == 2 ? desc[i] : (void *)&desc[i], 2, shape, dtype_of(l->w->args[a].dtype), strides);
        if (!status)
            status = ((create_memory_fn)l->create_memory)(&l->memory[i], desc[i], l->engine, NULL);
    }
    if (!status && l->major == 2) {
        void *op = records + 3 * DESC_WORDS;
        status = ((init_matmul_fn)l->init_matmul)(op, desc[0], desc[1], NULL, desc[2]);
        if (!status)
            status = ((create_plan_2_fn)l->create_plan)(&plan, op, NULL, l->engine, NULL);
    } else if (!status)
        status = ((create_plan_3_fn)l->create_plan)(&plan, l->engine, desc[0], desc[1], NULL, desc[2], NULL);
    if (!status)
        status = ((create_primitive_fn)l->create_primitive)(&l->primitive, plan);
    free(records);
    return status;
}

static int begin_dnnl(void *user)
{
    dnnl *l = user;
    int status = work_map(l->w);
    for (int i = 0; !status && i < 3; i++)
        if (((set_handle_fn)l->set_handle)(l->memory[i], l->w->host[array_of(l, i)]))
            status = fail("oneDNN: dnnl_memory_set_data_handle failed");
    return status;
}

static int end_dnnl(void *user)
{
    return work_unmap(((dnnl *)user)->w);
}

static int once_dnnl(void *user)
{
    const dnnl *l = user;
    exec_arg args[3];
    for (int i = 0; i < 3; i++)
        args[i] = (exec_arg){ operand_args[i], l->memory[i] };
    return ((execute_fn)l->execute)(l->primitive, l->stream, 3, args) || ((wait_fn)l->wait)(l->stream) ? fail("oneDNN: dnnl_primitive_execute failed")
                                                                                                      : DONE;
}

/* Descriptors and the plan stay: there are a few of them in a run. */
static void done_dnnl(void *user)
{
    dnnl *l = user;
    if (l->primitive)
        ((destroy_fn)l->destroy_primitive)(l->primitive);
    for (int i = 0; i < 3; i++)
        if (l->memory[i])
            ((destroy_fn)l->destroy_memory)(l->memory[i]);
    if (l->stream)
        ((destroy_fn)l->destroy_stream)(l->stream);
    if (l->engine)
        ((destroy_fn)l->destroy_engine)(l->engine);
    free(l);
}

static int add_dnnl(work *w, const peer_row *row)
{
    static const char *const files[] = { "libdnnl.so.3", "libdnnl.so.2", NULL };
    void *library;
    peer_fn get_version;
    dnnl *l = calloc(1, sizeof *l);
    if (!l)
        return fail("out of memory");
    l->w = w;
    side *s = work_add_side(w, row, "oneDNN", once_dnnl, l);
    s->begin = begin_dnnl;
    s->end = end_dnnl;
    s->done = done_dnnl;
    if (!library_open(files, &library, s->missing, sizeof s->missing) ||
        !library_find(library, "dnnl_version", &get_version, s->missing, sizeof s->missing))
        return DONE;
    const version *v = ((const version *(*)(void))get_version)();
    l->major = v->major;
    if (v->major != 2 && v->major != 3)
        snprintf(s->missing, sizeof s->missing, "oneDNN %d.%d: expected version 2 or 3", v->major, v->minor);
    else if (find_all(l, library, s->missing, sizeof s->missing)) {
        const int status = prepare(l);
        if (status)
            snprintf(s->missing, sizeof s->missing, "oneDNN %d.%d has no such product here: status %d", v->major, v->minor, status);
    }
    return DONE;
}

const peer peer_onednn = { .name = "oneDNN", .add = add_dnnl };
