/* argument: what a kernel object is called with, in the order that code.h tells.
 * In: a code, a bound launch and its places. Out: the launch's numbers; the arguments of a kernel object, which keeps those that a launch
 * before has set.                                                                                                          */
#include <assert.h>
#include <string.h>

#include "cl/cl.h"

static bool is_far(const clpi_cl_exe *exe, const clpi_operand *x, const clpi_bound_operand *bound)
{
    double bytes = clp_dtype_bits(x->dtype) / 8.0;
    for (int d = 0; d < x->rank; d++)
        bytes *= (double)bound->size[d];
    return exe->dev->limits.last_bytes > 0 && bytes >= (double)exe->dev->limits.last_bytes;
}

static int64_t number_of(const clpi_cl_exe *exe, const clpi_launch *launch, const clpi_number *n)
{
    const clpi_bound *bound = launch->bound;
    switch (n->kind) {
    case CLPI_NUMBER_SIZE: return bound->operands[n->a].size[n->b];
    case CLPI_NUMBER_STRIDE: return bound->operands[n->a].stride[n->b];
    case CLPI_NUMBER_FAR: return is_far(exe, &exe->ir->operands[n->a], &bound->operands[n->a]);
    case CLPI_NUMBER_OFFSET: {
        size_t bits = 8 * launch->places[n->a].at, element = (size_t)clp_dtype_bits(exe->ir->operands[n->a].dtype);
        assert(bits % element == 0);
        return bound->operands[n->a].offset + (int64_t)(bits / element);
    }
    case CLPI_NUMBER_AXIS_SIZE: return bound->axis_size[n->a];
    case CLPI_NUMBER_BOX_START: return bound->box_start[n->a];
    case CLPI_NUMBER_BOX_COUNT: return bound->box_count[n->a];
    case CLPI_NUMBER_DIM: return bound->dim[n->a];
    case CLPI_NUMBER_HEADER: return bound->header[n->a];
    case CLPI_NUMBER_N_SEQUENCES: return (int64_t)bound->n_sequences;
    }
    assert(0 && "a kind of number");
    return 0;
}

void clpi_cl_numbers(const clpi_cl_exe *exe, const clpi_launch *launch, int64_t *out_numbers)
{
    for (int i = 0; i < exe->code->n_numbers; i++)
        out_numbers[i] = number_of(exe, launch, &exe->code->numbers[i]);
}

/* A scalar operand as its kernel argument. Returns its size. */
static size_t scalar_bytes(clp_dtype dtype, clpi_elem e, unsigned char *out)
{
    clp_dtype rep = clpi_rep(dtype);
    size_t n = clpi_rep_bytes(dtype);
    if (rep == CLP_F32)
        memcpy(out, &e.f, n);
    else if (rep == CLP_F64)
        memcpy(out, &e.d, n);
    else
        memcpy(out, &e.u, n); /* devices are little-endian as the host is: the low bytes come first */
    return n;
}

/* Sets an argument, unless the kernel has it. words: what tells its values apart. */
static clp_status set_argument(clpi_cl_exe *exe, cl_uint at, size_t n_bytes, const void *value, const void *words, int n_words)
{
    clpi_cl_kernel *kernel = &exe->kernel;
    uint64_t *has = kernel->has + at;
    if (at < kernel->n_set && memcmp(has, words, (size_t)n_words * sizeof *has) == 0)
        return CLP_OK;
    CLPI_CL_TRY(exe->dev->host.env, "clSetKernelArg", clSetKernelArg(kernel->handle, at, n_bytes, value));
    memcpy(has, words, (size_t)n_words * sizeof *has);
    kernel->n_set = at < kernel->n_set ? kernel->n_set : at + 1;
    return CLP_OK;
}

/* A handle may be that of other memory that is gone: it is the serial that tells. */
static clp_status set_memory(clpi_cl_exe *exe, cl_uint at, const clpi_cl_mem *m)
{
    return set_argument(exe, at, sizeof m->mem, &m->mem, &m->serial, 1);
}

clp_status clpi_cl_set_arguments(clpi_cl_exe *exe, const clpi_launch *launch, const clpi_cl_mem *const *own, const int64_t *numbers,
                                 const clpi_cl_mem *numbers_mem)
{
    const clpi_code *code = exe->code;
    cl_uint at = 0;
    for (int i = 0; i < code->n_buffers; i++)
        CLP_TRY(set_memory(exe, at++, launch->places[code->buffers[i]].mem));
    for (int i = 0; i < CLPI_MAX_OWN; i++)
        if (own[i])
            CLP_TRY(set_memory(exe, at++, own[i]));
    for (int i = 0; i < code->n_scalars; i++) {
        union { unsigned char bytes[8]; uint64_t word; } value = { .word = 0 };
        int operand = code->scalars[i];
        size_t n = scalar_bytes(exe->ir->operands[operand].dtype, launch->bound->scalar[operand], value.bytes);
        CLP_TRY(set_argument(exe, at++, n, value.bytes, &value.word, 1));
    }
    if (numbers_mem)
        return set_memory(exe, at, numbers_mem);
    if (code->n_numbers > 0)
        return set_argument(exe, at, (size_t)code->n_numbers * sizeof *numbers, numbers, numbers, code->n_numbers);
    return CLP_OK;
}
