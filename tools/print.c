/* print: arrays as text. In: an array. Out: NumPy's form: nested brackets, aligned columns, long arrays shortened.
 * Decides the notation of floats: fixed unless the numbers are too large or too far apart, then scientific. */
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"

enum { THRESHOLD = 1000, EDGE = 3, LINE = 100, DIGITS = 8, CELL = 64 };

typedef struct printer {
    FILE *out;
    const clp_array *a;
    bool is_short; /* only EDGE elements at either end of each axis */
    bool is_scientific;
    int left, right; /* columns before and behind the point */
    int width;
} printer;

/* The shortest digits that read back as the same number. */
static int digits_of(clp_dtype dtype, double x)
{
    char text[CELL];
    const int most = dtype == CLP_F64 ? 17 : dtype == CLP_F32 ? 9 : dtype == CLP_F16 ? 5 : 4;
    for (int n = 1; n < most; n++) {
        snprintf(text, sizeof text, "%.*e", n - 1, x);
        const clpi_elem wide = { .d = strtod(text, NULL) };
        const clpi_elem same = { .d = x };
        if (clpi_elem_to_bits(dtype, clpi_elem_cast(dtype, CLP_F64, wide)) ==
            clpi_elem_to_bits(dtype, clpi_elem_cast(dtype, CLP_F64, same)))
            return n;
    }
    return most;
}

/* A finite number in fixed form without needless zeros: "0.25", "3.". */
static void fixed_text(char *text, clp_dtype dtype, double x)
{
    char rounded[CELL];
    snprintf(rounded, sizeof rounded, "%.*e", digits_of(dtype, x) - 1, x);
    snprintf(text, CELL, "%.*f", DIGITS, strtod(rounded, NULL));
    size_t n = strlen(text);
    while (n > 1 && text[n - 1] == '0')
        text[--n] = '\0';
}

static void cell_text(const printer *p, char *text, int64_t i)
{
    const clp_dtype dtype = p->a->dtype;
    const uint64_t bits = array_bits(p->a, i);
    const clpi_elem e = clpi_elem_from_bits(dtype, bits);
    const double x = array_number(p->a, i);
    if (dtype == CLP_BOOL)
        snprintf(text, CELL, "%s", bits ? "true" : "false");
    else if (!clpi_is_float(dtype) && clpi_is_signed(dtype))
        snprintf(text, CELL, "%lld", (long long)e.i);
    else if (!clpi_is_float(dtype))
        snprintf(text, CELL, "%llu", (unsigned long long)e.u);
    else if (isnan(x))
        snprintf(text, CELL, "nan");
    else if (isinf(x))
        snprintf(text, CELL, x < 0 ? "-inf" : "inf");
    else if (p->is_scientific)
        snprintf(text, CELL, "%.*e", digits_of(dtype, x) > DIGITS ? DIGITS : digits_of(dtype, x) - 1, x);
    else
        fixed_text(text, dtype, x);
}

/* Calls visit for each element that is shown. */
static void walk(const printer *p, int axis, int64_t at, void (*visit)(void *user, int64_t i), void *user)
{
    if (axis == p->a->rank) {
        visit(user, at);
        return;
    }
    const int64_t n = p->a->shape[axis];
    for (int64_t i = 0; i < n; i++) {
        if (p->is_short && n > 2 * EDGE && i == EDGE)
            i = n - EDGE;
        walk(p, axis + 1, at * n + i, visit, user);
    }
}

typedef struct range {
    const printer *p;
    double least, most;
    int left, right, width;
} range;

static void see_size(void *user, int64_t i)
{
    range *r = user;
    const double x = fabs(array_number(r->p->a, i));
    if (!isfinite(x) || x == 0)
        return;
    r->least = fmin(r->least, x);
    r->most = fmax(r->most, x);
}

static void see_text(void *user, int64_t i)
{
    range *r = user;
    char text[CELL];
    cell_text(r->p, text, i);
    const int n = (int)strlen(text);
    const char *point = strchr(text, '.');
    const bool aligned = point && !r->p->is_scientific;
    const int left = aligned ? (int)(point - text) + 1 : 0;
    r->left = left > r->left ? left : r->left;
    r->right = aligned && n - left > r->right ? n - left : r->right;
    r->width = n > r->width ? n : r->width;
}

static void print_cell(const printer *p, int64_t i)
{
    char text[CELL];
    cell_text(p, text, i);
    const char *point = p->is_scientific ? NULL : strchr(text, '.');
    if (!point) {
        fprintf(p->out, "%*s", p->width, text);
        return;
    }
    const int left = (int)(point - text) + 1;
    fprintf(p->out, "%*s%s%*s", p->width - p->right - left, "", text, p->right - (int)strlen(point + 1), "");
}

static void print_axis(const printer *p, int axis, int64_t at)
{
    const int64_t n = p->a->shape[axis];
    const bool last = axis + 1 == p->a->rank;
    int column = axis + 1;
    fputc('[', p->out);
    for (int64_t i = 0; i < n; i++) {
        const bool gap = p->is_short && n > 2 * EDGE && i == EDGE;
        if (i > 0 && last && column + p->width + 1 > LINE) {
            fprintf(p->out, "\n%*s", axis + 1, "");
            column = axis + 1;
        } else if (i > 0 && last) {
            fputc(' ', p->out);
            column++;
        } else if (i > 0) {
            for (int k = axis + 1; k < p->a->rank; k++)
                fputc('\n', p->out);
            fprintf(p->out, "%*s", axis + 1, "");
        }
        if (gap) {
            fputs("...", p->out);
            column += 3;
            i = n - EDGE - 1;
        } else if (last) {
            print_cell(p, at * n + i);
            column += p->width;
        } else {
            print_axis(p, axis + 1, at * n + i);
        }
    }
    fputc(']', p->out);
}

void array_print(FILE *out, const clp_array *a)
{
    printer p = { .out = out, .a = a, .is_short = array_elems(a) > THRESHOLD };
    range r = { .p = &p, .least = INFINITY };
    walk(&p, 0, 0, see_size, &r);
    if (clpi_is_float(a->dtype))
        p.is_scientific =
            r.most >= 1e8 || (r.least < 1e-4 && r.most > 0) || (r.most > 0 && r.most / r.least > 1000 && r.most >= 1e5);
    walk(&p, 0, 0, see_text, &r);
    p.left = r.left;
    p.right = r.right;
    p.width = r.left + r.right > r.width ? r.left + r.right : r.width;
    if (a->rank == 0)
        print_cell(&p, 0);
    else
        print_axis(&p, 0, 0);
    fputc('\n', out);
}

const char *seconds_text(char *text, size_t n_bytes, double seconds)
{
    const double scale = seconds >= 1 ? 1 : seconds >= 1e-3 ? 1e3 : 1e6;
    snprintf(text, n_bytes, "%.3g %s", seconds * scale, seconds >= 1 ? "s" : seconds >= 1e-3 ? "ms" : "us");
    return text;
}

void json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 32)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}
