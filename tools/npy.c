/* npy: NumPy's array files. In: a path. Out: the file mapped into memory, private to this process; or a file written
 * whole. Decides which element types a file may stand for.                                                             */
#include "output.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The value behind 'key': in the header's dict, or NULL. */
static const char *find_key(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at)
        return NULL;
    at += strlen(key);
    while (*at == ' ' || *at == ':' || *at == '\'' || *at == '"')
        at++;
    return at;
}

static bool parse_shape(const char *text, npy *out)
{
    if (!text || *text != '(')
        return false;
    for (text++; *text && *text != ')'; ) {
        char *end;
        const long long size = strtoll(text, &end, 10);
        if (end == text || size < 0 || out->rank == CLP_MAX_RANK)
            return false;
        out->shape[out->rank++] = size;
        for (text = end; *text == ',' || *text == ' ' || *text == 'L'; )
            text++;
    }
    return *text == ')';
}

/* Where it is written what is wrong with a file. */
typedef struct fault { char *why; size_t n_bytes; } fault;

/* Writes it there; false. */
CLP_PRINTF(2, 3) static bool wrong(const fault *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(f->why, f->n_bytes, format, args);
    va_end(args);
    return false;
}

/* header: the dict, as a string. */
static bool parse_header(const char *header, npy *out, const fault *f)
{
    const char *descr = find_key(header, "'descr'");
    const char *order = find_key(header, "'fortran_order'");
    if (!descr || !*descr || !order || !parse_shape(find_key(header, "'shape'"), out))
        return wrong(f, "its header is not NumPy's");
    out->is_fortran = !strncmp(order, "True", 4);
    if (!out->is_fortran && strncmp(order, "False", 5) != 0)
        return wrong(f, "its fortran_order is neither True nor False");
    const char *whole = descr;
    char byte_order = '|';
    if (strchr("<>|=", *descr))
        byte_order = *descr++;
    out->kind = *descr;
    out->item_bytes = *descr ? atoi(descr + 1) : 0;
    if (!strchr("fiubV", out->kind) || out->item_bytes < 1 || out->item_bytes > 8)
        return wrong(f, "its elements are of a type that kernels do not have: %.*s", (int)strcspn(whole, "'\","), whole);
    if (byte_order == '>' && out->item_bytes > 1)
        return wrong(f, "its bytes are in big-endian order");
    return true;
}

static bool parse(npy *out, const fault *f)
{
    const unsigned char *bytes = out->map;
    if (out->map_bytes < 10 || memcmp(bytes, "\x93NUMPY", 6))
        return wrong(f, out->map_bytes > 3 && !memcmp(bytes, "PK\3\4", 4) ? "it is an archive of files (np.savez): expected one array (np.save)"
                                                                          : "it is not a NumPy file");
    size_t head = 10;
    size_t n = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] >= 2) {
        if (out->map_bytes < 12)
            return wrong(f, "it ends early");
        n |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
        head = 12;
    }
    if (n > out->map_bytes - head)
        return wrong(f, "it ends early");
    char *header = malloc(n + 1);
    if (!header)
        return wrong(f, "out of memory");
    memcpy(header, bytes + head, n);
    header[n] = '\0';
    const bool is_read = parse_header(header, out, f);
    free(header);
    if (!is_read)
        return false;
    size_t need = (size_t)out->item_bytes;
    for (int i = 0; i < out->rank; i++)
        if (__builtin_mul_overflow(need, (size_t)out->shape[i], &need))
            return wrong(f, "its shape is too large");
    if (need > out->map_bytes - head - n)
        return wrong(f, "it ends early: expected %zu bytes of elements, got %zu", need, out->map_bytes - head - n);
    /* Elements stand aligned: where the file has them elsewhere, they move over the header, which is done with. */
    const size_t at = head + n, misaligned = at % (size_t)out->item_bytes;
    out->data = (unsigned char *)out->map + at - misaligned;
    if (misaligned)
        memmove(out->data, (unsigned char *)out->map + at, need);
    return true;
}

bool npy_open(const char *path, npy *out, char *why, size_t why_bytes)
{
    *out = (npy){ 0 };
    struct stat facts;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &facts)) {
        snprintf(why, why_bytes, "%s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return false;
    }
    if (S_ISDIR(facts.st_mode) || (S_ISREG(facts.st_mode) && facts.st_size == 0)) {
        snprintf(why, why_bytes, S_ISDIR(facts.st_mode) ? "it is a directory" : "the file is empty");
        close(fd);
        return false;
    }
    out->map_bytes = (size_t)facts.st_size;
    out->map = out->map_bytes ? mmap(NULL, out->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    const fault f = { why, why_bytes };
    if (out->map == MAP_FAILED) {
        out->map = NULL;
        return wrong(&f, "it cannot be mapped into memory");
    }
    if (parse(out, &f))
        return true;
    npy_close(out);
    return false;
}

void npy_close(npy *n)
{
    if (n->map)
        munmap(n->map, n->map_bytes);
    *n = (npy){ 0 };
}

/* What a file may stand for: one row for each dtype and descr. The first row of a dtype is how it is written. */
static const struct { clp_dtype dtype; const char *descr; } types[] = {
    { CLP_BOOL, "|b1" }, { CLP_I8, "|i1" },   { CLP_U8, "|u1" },   { CLP_I16, "<i2" },    { CLP_U16, "<u2" },
    { CLP_I32, "<i4" },  { CLP_U32, "<u4" },  { CLP_I64, "<i8" },  { CLP_U64, "<u8" },    { CLP_F16, "<f2" },
    { CLP_F32, "<f4" },  { CLP_F64, "<f8" },  { CLP_BF16, "<V2" }, { CLP_BF16, "<u2" },   { CLP_F8E4M3, "|V1" },
    { CLP_F8E4M3, "|u1" }, { CLP_F8E5M2, "|V1" }, { CLP_F8E5M2, "|u1" }, { CLP_I4, "|i1" }, { CLP_U4, "|u1" },
};
enum { N_TYPES = sizeof types / sizeof *types };

clp_dtype npy_dtype(const npy *n, clp_dtype wanted)
{
    clp_dtype own = CLP_DTYPE_NONE;
    for (int i = 0; i < N_TYPES; i++) {
        if (types[i].descr[1] != n->kind || types[i].descr[2] - '0' != n->item_bytes)
            continue;
        if (types[i].dtype == wanted)
            return wanted;
        if (!own)
            own = types[i].dtype;
    }
    return own;
}

const char *npy_descr(clp_dtype dtype)
{
    for (int i = 0; i < N_TYPES; i++)
        if (types[i].dtype == dtype)
            return types[i].descr;
    return "?";
}

static bool write_all(FILE *f, clp_dtype dtype, int rank, const int64_t *shape, const void *data, size_t n_bytes)
{
    char header[1024];
    int n = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (", npy_descr(dtype));
    for (int i = 0; i < rank; i++)
        n += snprintf(header + n, sizeof header - (size_t)n, "%lld,%s", (long long)shape[i], i + 1 < rank ? " " : "");
    n += snprintf(header + n, sizeof header - (size_t)n, "), }");
    /* Magic, version, length and dict fill whole units of 64 bytes; the dict ends with a newline. */
    while ((10 + n + 1) % 64)
        header[n++] = ' ';
    header[n++] = '\n';
    const unsigned char head[10] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(n & 255),
                                     (unsigned char)(n >> 8) };
    return fwrite(head, 1, 10, f) == 10 && fwrite(header, 1, (size_t)n, f) == (size_t)n &&
           fwrite(data, 1, n_bytes, f) == n_bytes;
}

bool npy_write(const char *path, clp_dtype dtype, int rank, const int64_t *shape, const void *data, size_t n_bytes)
{
    output w;
    return output_open(&w, path) && output_close(&w, write_all(w.file, dtype, rank, shape, data, n_bytes));
}
