/* support: see support.h. In: nothing of kernels. Decides only how values compare. */
#include "support/support.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"

enum { WALL = 256 };

bool near(double got, double want, double tol)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);
    if (got == want)
        return true;
    return isfinite(got) && isfinite(want) && fabs(got - want) <= tol * (1 + fabs(want));
}

int64_t ulps_f32(float a, float b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b) ? 0 : INT64_MAX;
    int32_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    /* Negative floats count down from zero, so that neighbours differ by one across it. */
    int64_t i = x < 0 ? (int64_t)INT32_MIN - x : x;
    int64_t j = y < 0 ? (int64_t)INT32_MIN - y : y;
    return i > j ? i - j : j - i;
}

uint64_t bits_at(clp_dtype dtype, const void *data, int64_t i)
{
    const size_t n_bytes = (size_t)clp_dtype_bits(dtype) / 8;
    uint64_t bits = 0;
    memcpy(&bits, (const unsigned char *)data + (size_t)i * n_bytes, n_bytes);
    return bits;
}

double number_at(clp_dtype dtype, const void *data, int64_t i)
{
    const clpi_elem e = clpi_elem_from_bits(dtype, bits_at(dtype, data, i));
    if (dtype == CLP_F64)
        return e.d;
    if (clpi_is_float(dtype))
        return (double)e.f;
    return clpi_is_signed(dtype) ? (double)e.i : (double)e.u;
}

size_t guarded_bytes(const guarded *g)
{
    return (g->n_bytes + 63) / 64 * 64 + 2 * WALL;
}

guarded guarded_new(size_t n_bytes)
{
    guarded g = { .n_bytes = n_bytes };
    g.base = aligned_alloc(64, guarded_bytes(&g));
    if (!g.base)
        abort();
    memset(g.base, 0x5c, guarded_bytes(&g));
    g.data = g.base + WALL;
    memset(g.data, 0xa5, n_bytes);
    return g;
}

bool guarded_is_whole(const guarded *g)
{
    const unsigned char *data = g->data;
    const size_t behind = (g->n_bytes + 63) / 64 * 64 - g->n_bytes + WALL;
    for (size_t i = 0; i < WALL; i++)
        if (g->base[i] != 0x5c)
            return false;
    for (size_t i = 0; i < behind; i++)
        if (data[g->n_bytes + i] != 0x5c)
            return false;
    return true;
}

void guarded_free(guarded *g)
{
    free(g->base);
    *g = (guarded){ 0 };
}

/* From the first element of an array to its last. */
static size_t reach_bytes(const clp_array *x)
{
    int64_t last = 0, stride = 1;
    for (int d = x->rank - 1; d >= 0; d--) {
        if (x->shape[d] == 0)
            return 0;
        last += (x->shape[d] - 1) * (x->strides ? x->strides[d] : stride);
        stride *= x->shape[d];
    }
    return ((size_t)last + 1) * (size_t)clp_dtype_bits(x->dtype) / 8;
}

enum { MAX_GUARDED = 8 };

clp_status run_guarded(clp_context *ctx, clp_kernel *kernel, const clp_array *arrays, int n, const clp_run_opts *opts, bool *out_is_whole)
{
    clp_array sent[MAX_GUARDED] = { 0 };
    guarded memory[MAX_GUARDED] = { 0 };
    clp_buffer *buffers[MAX_GUARDED] = { 0 };
    clp_status status = CLP_OK;
    *out_is_whole = true;
    if (n > MAX_GUARDED)
        abort();
    for (int i = 0; i < n && !status; i++) {
        int owner = 0;
        while (arrays[owner].data != arrays[i].data)
            owner++;
        if (owner == i) {
            memory[i] = guarded_new(reach_bytes(&arrays[i]));
            memcpy(memory[i].data, arrays[i].data, memory[i].n_bytes);
            status = clp_buffer_new(ctx, guarded_bytes(&memory[i]), &buffers[i]);
            if (!status)
                status = clp_buffer_write(buffers[i], 0, memory[i].base, guarded_bytes(&memory[i]));
        }
        sent[i] = arrays[i];
        sent[i].data = NULL;
        sent[i].buffer = buffers[owner];
        sent[i].offset = WALL * 8 / clp_dtype_bits(arrays[i].dtype);
    }
    if (!status)
        status = clp_run(kernel, sent, n, opts);
    for (int i = 0; i < n; i++) {
        if (buffers[i] && !status && !(status = clp_buffer_read(buffers[i], 0, memory[i].base, guarded_bytes(&memory[i])))) {
            *out_is_whole = *out_is_whole && guarded_is_whole(&memory[i]);
            memcpy(arrays[i].data, memory[i].data, memory[i].n_bytes);
        }
        clp_buffer_free(buffers[i]);
        guarded_free(&memory[i]);
    }
    return status;
}

void *failing_alloc_fn(void *user, void *p, size_t old_bytes, size_t new_bytes)
{
    failing_alloc *f = user;
    if (new_bytes == 0) {
        if (p) {
            memset(p, 0xa5, old_bytes);      /* whoever still uses it is found out */
            f->n_live--;
            f->live_bytes -= old_bytes;
        }
        free(p);
        return NULL;
    }
    if (f->n_calls++ >= f->budget) {
        f->has_failed = true;
        return NULL;
    }
    void *q = realloc(p, new_bytes);
    if (!q)
        abort();
    f->n_live += p ? 0 : 1;
    f->live_bytes += new_bytes - old_bytes;
    return q;
}

void put_text(text_room *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(t->at, t->room, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= t->room)
        abort();
    t->at += n;
    t->room -= (size_t)n;
}

/* splitmix64 */
uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double random_uniform(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

bool is_sound(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *run, int n_shuffles,
              bool may_read_outputs, char *why, size_t n_bytes)
{
    const unsigned checks = CLP_CHECK_PROOFS | CLP_CHECK_RACES | CLP_CHECK_MEMORY | CLP_CHECK_ORDERS;
    const clp_check_opts opts = { .checks = checks, .run = run, .n_shuffles = n_shuffles };
    clp_report *report;
    int n = 0;
    const clp_status st = clp_check(kernel, arrays, n_arrays, &opts, &report);
    snprintf(why, n_bytes, "%s", st ? clp_status_name(st) : clp_report_text(report));
    for (int i = 0; !st && i < clp_report_n_findings(report); i++) {
        const clp_finding_kind kind = clp_report_finding(report, i)->kind;
        n += kind != CLP_FINDING_NEVER_WRITTEN && !(may_read_outputs && kind == CLP_FINDING_UNINITIALISED);
    }
    clp_report_free(report);
    return !st && n == 0;
}
