/* arrays: the arrays of a kernel's operands, and what two runs left in them.
 * In: a kernel. Out: memory laid out and filled; whether two runs agree, and where not.
 * Decides how arrays lie: the reference's are plain, others may have gaps or run backwards. Decides equality: exact outputs
 * have the same bits, two NaNs or two zeros; approximate ones are as near as their error bound says. Memory beside the arrays
 * and inputs stay as they were. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "gen.h"
#include "tool.h"

/* How an array lies in its memory; packed dtypes and the reference's arrays are plain. */
typedef enum layout { PLAIN, GAPS, BACKWARDS, N_LAYOUTS } layout;

static size_t elem_bytes(const clp_array *a)
{
    return (size_t)clp_dtype_bits(a->dtype) / 8;
}

static unsigned char *place_of(const clp_array *a, int64_t i)
{
    int64_t at = a->offset;
    for (int d = a->rank - 1; d >= 0; d--) {
        at += i % a->shape[d] * a->strides[d];
        i /= a->shape[d];
    }
    return (unsigned char *)a->data + at * (int64_t)elem_bytes(a);
}

/* Lays the plain array out in memory of its own. */
static void lay_out(argument *arg, clp_array *a, layout l)
{
    const clp_array from = *a;
    int64_t extent = l == GAPS ? 2 : 1;
    if (l == PLAIN || a->rank == 0 || clpi_is_packed(a->dtype)) {
        arg->memory = guarded_new(array_bytes(a));
        memcpy(arg->memory.data, a->data, array_bytes(a));
        a->data = arg->memory.data;
    } else {
        for (int d = a->rank - 1; d >= 0; d--) {
            arg->strides[d] = extent;
            extent = extent * a->shape[d] + (l == GAPS ? 3 : 0);
        }
        arg->memory = guarded_new((size_t)(extent + 5) * elem_bytes(a));
        a->offset = 5;
        for (int d = 0; l == BACKWARDS && d < a->rank; d++) {
            a->offset += arg->strides[d] * (a->shape[d] - 1);
            arg->strides[d] = -arg->strides[d];
        }
        a->data = arg->memory.data;
        a->strides = arg->strides;
        for (int64_t i = 0, n = array_elems(a); i < n; i++)
            memcpy(place_of(a, i), (const char *)from.data + (size_t)i * elem_bytes(a), elem_bytes(a));
    }
    arg->before = malloc(arg->memory.n_bytes + 1);
    if (!arg->before)
        abort();
    memcpy(arg->before, arg->memory.data, arg->memory.n_bytes);
}

void run_place(run *r, const made *k, bool is_reference)
{
    *r = (run){ 0 };
    for (int i = 0; i < k->n_operands; i++) {
        const operand *x = &k->operands[i];
        if (x->role == CLP_SCRATCH || x->is_gone || x->is_absent)
            continue;
        clp_array *a = &r->arrays[r->n];
        *a = (clp_array){ .dtype = x->dtype, .rank = x->rank, .shape = x->size };
        for (int j = 0; x->alias >= 0 && j < r->n; j++)
            if (r->which[j] == x->alias)
                *a = r->arrays[j];
        if (!a->data) {
            guarded plain = guarded_new(array_bytes(a));
            const unsigned kind = (unsigned)(k->seed * 7 + (unsigned char)x->name[1]) % 6;
            a->data = plain.data;
            operand_fill(x, k->seed, a);
            lay_out(&r->args[r->n], a, is_reference || kind >= N_LAYOUTS ? PLAIN : (layout)kind);
            guarded_free(&plain);
        }
        r->which[r->n++] = i;
    }
}

void run_clear(run *r)
{
    for (int i = 0; i < r->n; i++)
        if (r->args[i].memory.base) {
            guarded_free(&r->args[i].memory);
            free(r->args[i].before);
        }
}

static bool is_written(const operand *x)
{
    return x->role == CLP_OUT || x->role == CLP_INOUT;
}

/* Bytes that belong to no element of what is written are as they were. */
static bool rest_is_untouched(const made *k, run *r, int i)
{
    argument *arg = &r->args[i];
    const clp_array *a = &r->arrays[i];
    bool is_output = false;
    if (!arg->memory.base)
        return true;
    for (int j = 0; j < r->n; j++)
        is_output = is_output || (r->arrays[j].data == a->data && is_written(&k->operands[r->which[j]]));
    if (is_output && !a->strides)
        return guarded_is_whole(&arg->memory);
    for (int64_t e = 0, n = array_elems(a); is_output && e < n; e++) {
        const unsigned char *at = place_of(a, e);
        memcpy(arg->before + (at - (unsigned char *)a->data), at, elem_bytes(a));
    }
    return guarded_is_whole(&arg->memory) && !memcmp(arg->before, arg->memory.data, arg->memory.n_bytes);
}

/* ---- Comparing ---- */

static bool agree(const operand *x, const clp_array *got, const clp_array *want, int64_t i)
{
    if (array_bits(got, i) == array_bits(want, i))
        return true;
    if (!clpi_is_float(x->dtype))
        return false;
    const double a = array_number(got, i), b = array_number(want, i);
    return a == b || (isnan(a) && isnan(b)) || (x->is_approximate && fabs(a - b) <= (x->is_sink ? (double)x->errs[i % GEN_SINK] : x->err));
}

bool run_agrees(const made *k, run *got, const run *want, char why[GEN_WHY])
{
    for (int i = 0; i < got->n; i++) {
        const operand *x = &k->operands[got->which[i]];
        int64_t n_wrong = 0, first = -1;
        for (int64_t e = 0, n = array_elems(&got->arrays[i]); e < n; e++)
            if (!agree(x, &got->arrays[i], &want->arrays[i], e))
                first = n_wrong++ ? first : e;
        if (n_wrong)
            snprintf(why, GEN_WHY, "%s: %" PRId64 " of %" PRId64 " elements differ; element %" PRId64
                     ": interpreter %.9g (%" PRIx64 "), here %.9g (%" PRIx64 ")%s",
                     x->name, n_wrong, array_elems(&got->arrays[i]), first, array_number(&want->arrays[i], first),
                     array_bits(&want->arrays[i], first), array_number(&got->arrays[i], first),
                     array_bits(&got->arrays[i], first), x->is_approximate ? ", approximate" : "");
        if (n_wrong)
            return false;
        if (!rest_is_untouched(k, got, i)) {
            snprintf(why, GEN_WHY, "%s: memory that is not an output's was written", x->name);
            return false;
        }
    }
    return true;
}
