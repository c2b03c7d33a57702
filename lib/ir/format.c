/* format: the text of a `print`: interpreter and devices say the same.
 * In: the op and the elements of its operands. Out: one line. Decides how numbers and tiles look; independent of the
 * locale, whose decimal point printf would use.                                                                        */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/format.h"

/* ---- Numbers ---- */

enum { MAX_DIGITS = 17 };    /* enough for every f64 */

/* |x| as n significant digits and a power of ten: d.ddd * 10^exponent. */
typedef struct decimal { char digits[MAX_DIGITS + 1]; int n, exponent; } decimal;

static decimal decimal_of(double x, int n, double *out_read)
{
    char text[64];
    decimal d = { .n = 0 };
    snprintf(text, sizeof text, "%.*e", n - 1, x);
    *out_read = strtod(text, NULL);
    const char *p = text;
    for (; *p && *p != 'e'; p++)
        if (*p >= '0' && *p <= '9' && d.n < MAX_DIGITS)
            d.digits[d.n++] = *p;
    d.exponent = *p ? (int)strtol(p + 1, NULL, 10) : 0;
    while (d.n > 1 && d.digits[d.n - 1] == '0')
        d.n--;
    return d;
}

static uint64_t bits_of(clp_dtype d, double x)
{
    return d == CLP_F64 ? clpi_elem_to_bits(d, (clpi_elem){ .d = x }) : clpi_f64_to_small_bits(d, x);
}

static void put_decimal(const decimal *d, clpi_str *s)
{
    if (d->exponent < -4 || d->exponent > 15) {
        clpi_str_put(s, d->digits, 1);
        if (d->n > 1)
            clpi_str_add(s, ".%.*s", d->n - 1, d->digits + 1);
        clpi_str_add(s, "e%d", d->exponent);
        return;
    }
    if (d->exponent < 0) {
        clpi_str_add(s, "0.%.*s%.*s", -d->exponent - 1, "000", d->n, d->digits);
        return;
    }
    for (int i = 0; i <= d->exponent; i++)
        clpi_str_put(s, i < d->n ? &d->digits[i] : "0", 1);
    clpi_str_puts(s, ".");
    int n_after = d->n - d->exponent - 1;
    clpi_str_put(s, n_after > 0 ? d->digits + d->exponent + 1 : "0", n_after > 0 ? (size_t)n_after : 1);
}

static void put_float(clp_dtype d, double x, clpi_str *s)
{
    if (x != x) {
        clpi_str_puts(s, "nan");
        return;
    }
    uint64_t sign = UINT64_C(1) << (clp_dtype_bits(d) - 1), bits = bits_of(d, x);
    if (bits & sign) {
        clpi_str_puts(s, "-");
        x = -x;
    }
    if (x - x != 0) {
        clpi_str_puts(s, "inf");
        return;
    }
    decimal text = { .n = 0 };
    for (int n = 1; n <= MAX_DIGITS; n++) {
        double read;
        text = decimal_of(x, n, &read);
        if (bits_of(d, read) == (bits & ~sign))
            break;
    }
    put_decimal(&text, s);
}

void clpi_format_elem(clp_dtype d, clpi_elem e, clpi_str *s)
{
    if (d == CLP_BOOL)
        clpi_str_puts(s, e.u ? "true" : "false");
    else if (clpi_is_float(d))
        put_float(d, d == CLP_F64 ? e.d : (double)e.f, s);
    else if (clpi_is_signed(d))
        clpi_str_add(s, "%" PRId64, e.i);
    else
        clpi_str_add(s, "%" PRIu64, e.u);
}

/* ---- Tiles ---- */

/* The part of a tile from dimension `axis` on, whose elements begin at e. */
static void put_tile(const clpi_type *t, int axis, const clpi_elem *e, bool is_short, clpi_str *s)
{
    if (axis == t->rank) {
        clpi_format_elem(t->dtype, *e, s);
        return;
    }
    const int64_t n = t->shape[axis], edge = 3;
    int64_t below = 1;
    for (int i = axis + 1; i < t->rank; i++)
        below *= t->shape[i];
    clpi_str_puts(s, "[");
    for (int64_t i = 0; i < n; i++) {
        clpi_str_puts(s, i ? " " : "");
        if (is_short && i == edge && n > 2 * edge) {
            clpi_str_puts(s, "... ");
            i = n - edge;
        }
        put_tile(t, axis + 1, e + i * below, is_short, s);
    }
    clpi_str_puts(s, "]");
}

clpi_format_part clpi_format_next(const char **at)
{
    const char *p = *at;
    if (p[0] == '{' && p[1] == '}') {
        *at = p + 2;
        return (clpi_format_part){ .is_hole = true };
    }
    size_t n = strcspn(p, "{}");
    if (n > 0) {
        *at = p + n;
        return (clpi_format_part){ .bytes = p, .n = n };
    }
    bool is_brace = p[0] != 0, is_lone = is_brace && p[0] != p[1];
    *at = p + is_brace + (is_brace && !is_lone);
    return (clpi_format_part){ .is_lone = is_lone, .bytes = p, .n = is_brace };
}

void clpi_format_print(const clpi_ir *ir, const clpi_op *print, const clpi_elem *const *vals, clpi_str *s)
{
    const char *at = ir->strings.items[print->attr];
    uint32_t i = 0;
    for (clpi_format_part part = clpi_format_next(&at); part.is_hole || part.n > 0; part = clpi_format_next(&at)) {
        if (!part.is_hole) {
            clpi_str_put(s, part.bytes, part.n);
            continue;
        }
        const clpi_type *t = clpi_type_of(ir, clpi_args(ir, print)[i]);
        put_tile(t, 0, vals[i++], clpi_type_elems(t) > 1000, s);
    }
}
