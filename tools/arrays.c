/* arrays: arrays of the command in memory: read from files, made up, written.
 * In: an operand's dtype and rank and where its content comes from. Out: a clp_array and who owns its memory.
 * Decides how made-up content looks: a function of source, shape and seed alone, the same on every machine. */
#include "tool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dtype.h"
#include "plan/bind.h"

int64_t array_elems(const clp_array *a)
{
    int64_t n = 1;
    for (int i = 0; i < a->rank; i++)
        n *= a->shape[i];
    return n;
}

size_t array_bytes(const clp_array *a)
{
    return ((size_t)array_elems(a) * (size_t)clp_dtype_bits(a->dtype) + 7) / 8;
}

static void shape_text(char *out, size_t n_bytes, int rank, const int64_t *shape)
{
    size_t n = (size_t)snprintf(out, n_bytes, "[");
    for (int i = 0; i < rank && n < n_bytes; i++)
        n += (size_t)snprintf(out + n, n_bytes - n, "%s%lld", i ? ", " : "", (long long)shape[i]);
    if (n < n_bytes)
        snprintf(out + n, n_bytes - n, "]");
}

/* Memory as it comes: no page of it is touched. */
static bool array_set_aside(tool_array *a, clp_dtype dtype, int rank, const int64_t *shape, size_t *out_bytes)
{
    for (int i = 0; i < rank; i++)
        a->shape[i] = shape[i];
    a->array = (clp_array){ .dtype = dtype, .rank = rank, .shape = a->shape };
    size_t n_bytes = (size_t)clp_dtype_bits(dtype);
    for (int i = 0; i < rank; i++)
        if (__builtin_mul_overflow(n_bytes, (size_t)shape[i], &n_bytes) || n_bytes > PTRDIFF_MAX)
            return false;
    /* Whole pages: devices that share the host's memory take such memory as it is. */
    const size_t page = 4096;
    n_bytes = (n_bytes / 8 + page) / page * page;
    a->memory = aligned_alloc(page, n_bytes);
    a->array.data = a->memory;
    *out_bytes = n_bytes;
    return a->memory != NULL;
}

bool array_new(tool_array *a, clp_dtype dtype, int rank, const int64_t *shape)
{
    size_t n_bytes;
    if (!array_set_aside(a, dtype, rank, shape, &n_bytes))
        return false;
    memset(a->memory, 0, n_bytes);
    return true;
}

/* Sizes that no launch takes, and more than this machine's memory, with what is taken already, are refused before anything is
 * allocated.                                                                                                            */
static int check_sizes(const char *operand, clp_dtype dtype, int rank, const int64_t *shape, double taken_bytes)
{
    double n_bytes = clp_dtype_bits(dtype) / 8.0;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0 || shape[i] > CLPI_MAX_SIZE)
            return fail("%s: expected a size of 0 to %lld in dimension %d, got %lld", operand, (long long)CLPI_MAX_SIZE, i,
                        (long long)shape[i]);
        n_bytes *= (double)shape[i];
    }
    const double has_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    char text[256];
    shape_text(text, sizeof text, rank, shape);
    if (n_bytes + taken_bytes <= has_bytes || has_bytes <= 0)
        return DONE;
    char others[64] = "";
    if (n_bytes <= has_bytes)
        snprintf(others, sizeof others, " beside %.3g GB of other arrays", taken_bytes / 1e9);
    return fail("%s: %s%s takes %.3g GB%s, the memory here is %.3g GB", operand, clp_dtype_name(dtype), text, n_bytes / 1e9, others,
                has_bytes / 1e9);
}

/* Bits of element i, row-major, through strides. */
uint64_t array_bits(const clp_array *a, int64_t i)
{
    int64_t at = i;
    if (a->strides) {
        at = a->offset;
        for (int d = a->rank - 1; d >= 0; d--) {
            at += i % a->shape[d] * a->strides[d];
            i /= a->shape[d];
        }
    }
    return clpi_bits_at(a->dtype, a->data, at);
}

static void put_bits(clp_array *a, int64_t i, uint64_t bits)
{
    unsigned char *bytes = a->data;
    if (clpi_is_packed(a->dtype)) {
        const unsigned shift = i % 2 ? 4u : 0u;
        bytes[i / 2] = (unsigned char)(((unsigned)bytes[i / 2] & ~(15u << shift)) | (unsigned)(bits & 15u) << shift);
        return;
    }
    const size_t size = (size_t)clp_dtype_bits(a->dtype) / 8;
    memcpy(bytes + (size_t)i * size, &bits, size);
}

double array_number(const clp_array *a, int64_t i)
{
    const clpi_elem e = clpi_elem_from_bits(a->dtype, array_bits(a, i));
    if (a->dtype == CLP_F64)
        return e.d;
    if (clpi_is_float(a->dtype))
        return (double)e.f;
    return clpi_is_signed(a->dtype) ? (double)e.i : (double)e.u;
}

void array_set(clp_array *a, int64_t i, double value)
{
    const clpi_elem wide = { .d = value };
    put_bits(a, i, clpi_elem_to_bits(a->dtype, clpi_elem_cast(a->dtype, CLP_F64, wide)));
}

bool array_copy(tool_array *a, const clp_array *from)
{
    if (!array_new(a, from->dtype, from->rank, from->shape))
        return false;
    if (!from->strides)
        memcpy(a->array.data, from->data, array_bytes(from));
    else
        for (int64_t i = 0, n = array_elems(from); i < n; i++)
            put_bits(&a->array, i, array_bits(from, i));
    return true;
}

void array_done(tool_array *a)
{
    free(a->memory);
    npy_close(&a->file);
    *a = (tool_array){ 0 };
}

/* Nibbles stand one a byte in files. */
static int pack(tool_array *a, const char *operand, clp_dtype dtype)
{
    const clp_array whole = { .dtype = clpi_loaded(dtype),
                              .rank = a->file.rank,
                              .shape = a->file.shape,
                              .data = a->file.data,
                              .strides = a->array.strides };
    tool_array made = { 0 };
    if (!array_new(&made, dtype, a->file.rank, a->file.shape))
        return fail("%s: out of memory", operand);
    clp_array packed = made.array;
    for (int64_t i = 0, n = array_elems(&packed); i < n; i++) {
        const double value = array_number(&whole, i);
        if (value < (double)clpi_int_min(dtype) || value > (double)clpi_int_max(dtype)) {
            free(made.memory);
            return fail("%s: element %lld is %g, which is no %s", operand, (long long)i, value, clp_dtype_name(dtype));
        }
        put_bits(&packed, i, array_bits(&whole, i));
    }
    npy_close(&a->file);
    a->memory = made.memory;
    memcpy(a->shape, made.shape, sizeof a->shape);
    a->array = (clp_array){ .dtype = dtype, .rank = packed.rank, .shape = a->shape, .data = a->memory };
    return DONE;
}

/* ---- Sources ---- */

static const char *const makers[] = { "randn", "rand", "zeros", "ones", "iota" };
enum { RANDN, RAND, ZEROS, ONES, IOTA, N_MAKERS };

static int maker_of(const char *source, size_t *out_n)
{
    for (int i = 0; i < N_MAKERS; i++) {
        const size_t n = strlen(makers[i]);
        if (!strncmp(source, makers[i], n) && (!source[n] || source[n] == ':' || source[n] == ',')) {
            *out_n = n;
            return i;
        }
    }
    return -1;
}

bool array_is_made_up(const char *source)
{
    size_t n;
    return maker_of(source, &n) >= 0;
}

/* A name without a path of which there is no file may be meant for one of ours. */
static int fail_source(const char *operand, const char *source)
{
    char word[64], nearest[96], all[128] = "";
    size_t n = 0;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(source, ":,"), source);
    for (int i = 0; i < N_MAKERS; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "", makers[i]);
    return fail("%s: expected a file, or one of %s with :512x256 behind it; there is no file %s%s", operand, all, source,
                did_you_mean(nearest, sizeof nearest, word, makers, N_MAKERS));
}

int array_read(tool_array *a, const char *operand, clp_dtype dtype, int rank, const char *path)
{
    char why[128];
    if (!npy_open(path, &a->file, why, sizeof why))
        return access(path, F_OK) && !strpbrk(path, "/.") ? fail_source(operand, path) : fail("%s: %s: %s", operand, path, why);
    const clp_dtype has = npy_dtype(&a->file, dtype);
    if (has != dtype)
        return fail("%s: %s: expected %s, got %s", operand, path, clp_dtype_name(dtype), clp_dtype_name(has));
    if (a->file.rank != rank) {
        char shape[256];
        shape_text(shape, sizeof shape, a->file.rank, a->file.shape);
        return fail("%s: %s: expected rank %d, got rank %d: %s", operand, path, rank, a->file.rank, shape);
    }
    memcpy(a->shape, a->file.shape, sizeof a->shape);
    a->array = (clp_array){ .dtype = dtype, .rank = rank, .shape = a->shape, .data = a->file.data };
    if (a->file.is_fortran) {
        int64_t stride = 1;
        for (int i = 0; i < rank; i++) {
            a->strides[i] = stride;
            stride *= a->shape[i];
        }
        a->array.strides = a->strides;
    }
    return clpi_is_packed(dtype) ? pack(a, operand, dtype) : DONE;
}

/* ---- Made up ---- */

/* splitmix64: element i of a seed's stream without the ones before it. */
static uint64_t random_bits(uint64_t seed, uint64_t i)
{
    uint64_t z = seed * 0x632be59bd9b4e019u + (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double random_normal(uint64_t seed, uint64_t i)
{
    const double u = ((double)(random_bits(seed, 2 * i) >> 11) + 0.5) * 0x1p-53;
    const double v = (double)(random_bits(seed, 2 * i + 1) >> 11) * 0x1p-53;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static void fill(clp_array *a, int maker, uint64_t seed)
{
    const bool is_int = !clpi_is_float(a->dtype);
    for (int64_t i = 0, n = array_elems(a); i < n; i++) {
        switch (maker) {
        case RANDN:
            array_set(a, i, is_int ? rint(random_normal(seed, (uint64_t)i)) : random_normal(seed, (uint64_t)i));
            break;
        case RAND:
            if (a->dtype == CLP_BOOL)
                put_bits(a, i, random_bits(seed, (uint64_t)i) >> 63);
            else if (is_int)
                put_bits(a, i, random_bits(seed, (uint64_t)i) >> (64 - clp_dtype_bits(a->dtype)));
            else
                array_set(a, i, (double)(random_bits(seed, (uint64_t)i) >> 11) * 0x1p-53);
            break;
        case ONES: array_set(a, i, 1); break;
        case IOTA: array_set(a, i, (double)i); break;
        default: break;
        }
    }
}

/* "512x256" into shape; returns the rank, -1 for bad text. */
static int parse_sizes(const char *text, const char *end, int64_t *shape)
{
    int rank = 0;
    while (text < end) {
        char *stop;
        errno = 0;
        const long long size = strtoll(text, &stop, 10);
        if (stop == text || errno || size < 0 || rank == CLP_MAX_RANK || (stop < end && *stop != 'x'))
            return -1;
        shape[rank++] = size;
        if (stop >= end)
            return rank;
        text = stop + 1;
    }
    return rank == 0 ? 0 : -1;
}

int array_make_up(tool_array *a, const char *operand, clp_dtype dtype, int rank, const char *source, making how)
{
    size_t n = 0;
    const int maker = maker_of(source, &n);
    const char *rest = source + n;
    int64_t shape[CLP_MAX_RANK], seed = (int64_t)how.seed;
    memcpy(shape, a->shape, sizeof shape);
    if (*rest == ':') {
        const char *end = rest + 1 + strcspn(rest + 1, ",");
        const int got = parse_sizes(rest + 1, end, shape);
        if (got < 0)
            return fail("%s: expected sizes like 512x256, got %s", operand, source);
        if (got != rank)
            return fail("%s: expected rank %d, got rank %d: %s", operand, rank, got, source);
        rest = end;
    } else if (!how.shape_known && rank > 0) {
        return fail("%s: the sizes are not known; give them as %s:512x256", operand, source);
    }
    if (*rest == ',' && !is_number(rest + 1, &seed))
        return fail("%s: expected a seed, got %s", operand, rest + 1);
    size_t n_bytes;
    int status = check_sizes(operand, dtype, rank, shape, how.taken_bytes);
    if (!status && !(how.shape_only ? array_set_aside(a, dtype, rank, shape, &n_bytes) : array_new(a, dtype, rank, shape)))
        status = fail("%s: out of memory", operand);
    if (!status && !how.shape_only)
        fill(&a->array, maker, (uint64_t)seed);
    return status;
}

int array_write(const clp_array *a, const char *path)
{
    /* Files hold C order, nibbles one a byte. */
    const clp_dtype dtype = clpi_loaded(a->dtype);
    tool_array whole = { 0 };
    const clp_array *from = a;
    if (a->strides || dtype != a->dtype) {
        if (!array_new(&whole, dtype, a->rank, a->shape))
            return fail("%s: out of memory", path);
        for (int64_t i = 0, n = array_elems(a); i < n; i++) {
            if (dtype == a->dtype)
                put_bits(&whole.array, i, array_bits(a, i));
            else
                array_set(&whole.array, i, array_number(a, i));
        }
        from = &whole.array;
    }
    const bool ok = npy_write(path, from->dtype, from->rank, from->shape, from->data, array_bytes(from));
    const int error = errno;
    array_done(&whole);
    return ok ? DONE : fail("%s: %s", path, strerror(error));
}
