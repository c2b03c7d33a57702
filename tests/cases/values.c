/* values: what the elements of an array are, or should be, as a case writes it.
 * In: a list of values or a rule, the array. Out: for each element its bits, or what else is wanted of it; or why it cannot be
 * read. Decides how values are written; README.md has it for readers.                                                   */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "cases.h"
#include "ir/ir.h"

static uint64_t from_double(clp_dtype d, double x)
{
    return clpi_elem_to_bits(d, clpi_elem_cast(d, CLP_F64, (clpi_elem){ .d = x }));
}

/* "7", "-0x10", "1e-3", "nan", "true", "#3f800001", "~", "*". */
static bool read_value(clp_dtype d, const char *token, wanted *out)
{
    char *end;
    *out = (wanted){ NUMBER, 0 };
    if (!strcmp(token, "~") || !strcmp(token, "*")) {
        out->wish = *token == '~' ? AS_BEFORE : ANYTHING;
        return true;
    }
    if (*token == '#') {
        *out = (wanted){ BITS, strtoull(token + 1, &end, 16) };
        return end > token + 1 && !*end;
    }
    if (d == CLP_BOOL && (!strcmp(token, "true") || !strcmp(token, "false"))) {
        out->bits = *token == 't';
        return true;
    }
    if (clpi_is_float(d)) {
        out->bits = from_double(d, strtod(token, &end));
    } else {
        errno = 0;
        const clpi_elem e = *token == '-' ? (clpi_elem){ .i = strtoll(token, &end, 0) }
                                          : (clpi_elem){ .u = strtoull(token, &end, 0) };
        if (errno || (*token == '-' ? e.i < clpi_int_min(d) : e.u > clpi_int_max(d)))
            return false;
        out->bits = clpi_elem_to_bits(d, e);
    }
    return end > token && !*end;
}

/* One token of a list: a value, "1..5" (both ends), "7*4" (four times 7). Returns how many it gave, 0: not so. */
static int64_t read_token(clp_dtype d, char *token, wanted *out, int64_t room)
{
    char *dots = strstr(token, ".."), *star = strchr(token + 1, '*');
    if (dots) {
        const int64_t from = strtoll(token, NULL, 0), to = strtoll(dots + 2, NULL, 0);
        for (int64_t v = from; v <= to && v - from < room; v++)
            out[v - from] = (wanted){ NUMBER, from_double(d, (double)v) };
        return to - from + 1;
    }
    int64_t n = 1;
    if (star) {
        n = strtoll(star + 1, NULL, 10);
        *star = '\0';
    }
    if (room < n || !read_value(d, token, out))
        return room < n ? n : 0;
    for (int64_t k = 1; k < n; k++)
        out[k] = out[0];
    return n;
}

static bool read_list(const written *w, const clp_array *a, wanted *out, char *reason, size_t n_bytes)
{
    char *text = strdup(w->values), *rest = text;
    const int64_t n = array_elems(a);
    int64_t got = 0, n_tokens = 0, gave = 1;
    wanted one[1];
    if (!text)
        abort();
    for (char *token; gave > 0 && got <= n && (token = strtok_r(rest, " ,", &rest)); n_tokens++) {
        gave = read_token(a->dtype, token, got < n ? out + got : one, got < n ? n - got : 1);
        got += gave;
    }
    free(text);
    if (gave <= 0)
        return snprintf(reason, n_bytes, "line %d: a value that is none of %s", w->line, clp_dtype_name(a->dtype)), false;
    if (n_tokens == 1 && got == 1)
        for (; got < n; got++)
            out[got] = out[0];
    if (got != n && !(n == 0 && got <= 1))
        return snprintf(reason, n_bytes, "line %d: %s: expected %" PRId64 " values, got %" PRId64, w->line, w->name, n, got), false;
    return true;
}

static bool read_rule(const written *w, const clp_array *a, const rule_env *env, wanted *out, char *reason, size_t n_bytes)
{
    const char *why = NULL;
    for (int64_t e = 0, n = array_elems(a); e < n; e++) {
        int64_t at[CLP_MAX_RANK];
        double value;
        clpi_shape_index(a->shape, a->rank, e, at);
        if (!rule_value(w->values + 1, env, a->rank, at, e, &value, &why))
            return snprintf(reason, n_bytes, "line %d: %s: %s", w->line, w->name, why), false;
        out[e] = (wanted){ NUMBER, from_double(a->dtype, value) };
    }
    return true;
}

wanted *values_read(const written *w, const clp_array *a, const rule_env *env, char *reason, size_t n_bytes)
{
    wanted *out = calloc((size_t)array_elems(a) + 1, sizeof *out);
    if (!out)
        abort();
    if (*w->values == ':' ? read_rule(w, a, env, out, reason, n_bytes) : read_list(w, a, out, reason, n_bytes))
        return out;
    free(out);
    return NULL;
}
