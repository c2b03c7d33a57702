/* literal: constants as the kernel language writes them.
 * In: a dtype and the stored bits of one element. Out: the shortest text that reads back as that element.
 * Decides how numbers look; knows nothing of the IR. Independent of the locale, whose decimal point printf would use.   */
#include "text/literal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIGITS = 17 };                                  /* enough for every f64 */

/* |x| as n significant digits and a power of ten: x = d.ddd * 10^exponent. */
typedef struct decimal { char digits[MAX_DIGITS + 1]; int n, exponent; } decimal;

/* x rounded to n digits; *out_read is what that decimal reads back as. */
static decimal decimal_of(double x, int n, double *out_read)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", n - 1, x);
    *out_read = strtod(text, NULL);

    decimal d = { .n = 0 };
    const char *p = text;
    for (; *p && *p != 'e'; p++)
        if (*p >= '0' && *p <= '9' && d.n < MAX_DIGITS)    /* whatever else stands there is the locale's point */
            d.digits[d.n++] = *p;
    d.exponent = *p ? atoi(p + 1) : 0;
    while (d.n > 1 && d.digits[d.n - 1] == '0')
        d.n--;
    return d;
}

/* The element that a literal of value x becomes when it meets dtype d. */
static uint64_t bits_of(clp_dtype d, double x)
{
    return d == CLP_F64 ? clpi_elem_to_bits(d, (clpi_elem){ .d = x }) : clpi_f64_to_small_bits(d, x);
}

static void put_decimal(clpi_str *s, const decimal *d)
{
    if (d->exponent < -5 || d->exponent > 15) {
        clpi_str_put(s, d->digits, 1);
        if (d->n > 1)
            clpi_str_add(s, ".%.*s", d->n - 1, d->digits + 1);
        clpi_str_add(s, "e%d", d->exponent);
        return;
    }
    if (d->exponent < 0) {
        clpi_str_add(s, "0.%.*s%.*s", -d->exponent - 1, "0000", d->n, d->digits);
        return;
    }
    int n_whole = d->exponent + 1;
    for (int i = 0; i < n_whole; i++)
        clpi_str_put(s, i < d->n ? &d->digits[i] : "0", 1);
    clpi_str_puts(s, ".");
    if (d->n > n_whole)
        clpi_str_put(s, d->digits + n_whole, (size_t)(d->n - n_whole));
    else
        clpi_str_puts(s, "0");
}

static void print_float(clpi_str *s, clp_dtype d, uint64_t bits, bool with_dtype)
{
    clpi_elem e = clpi_elem_from_bits(d, bits);
    double x = d == CLP_F64 ? e.d : (double)e.f;
    if (isnan(x) || isinf(x)) {
        const char *word = isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
        clpi_str_add(s, with_dtype ? "cast(%s, %s)" : "%s", word, clp_dtype_name(d));
        return;
    }
    if (signbit(x))
        clpi_str_puts(s, "-");
    uint64_t magnitude = bits_of(d, fabs(x));
    decimal text = { .n = 0 };
    for (int n = 1; n <= MAX_DIGITS; n++) {
        double read;
        text = decimal_of(fabs(x), n, &read);
        if (bits_of(d, read) == magnitude)
            break;
    }
    put_decimal(s, &text);
    if (with_dtype)
        clpi_str_puts(s, clp_dtype_name(d));
}

void clpi_literal_print(clpi_str *s, clp_dtype d, uint64_t bits, bool with_dtype)
{
    if (d == CLP_BOOL) {
        clpi_str_puts(s, bits ? "true" : "false");
        return;
    }
    if (clpi_is_float(d)) {
        print_float(s, d, bits, with_dtype);
        return;
    }
    clpi_elem e = clpi_elem_from_bits(d, bits);
    if (clpi_is_signed(d))
        clpi_str_add(s, "%" PRId64, e.i);
    else
        clpi_str_add(s, "%" PRIu64, e.u);
    if (with_dtype)
        clpi_str_puts(s, clp_dtype_name(d));
}

void clpi_string_print(clpi_str *s, const char *text)
{
    clpi_str_puts(s, "\"");
    for (const char *p = text; *p; p++) {
        switch (*p) {
        case '"': clpi_str_puts(s, "\\\""); break;
        case '\\': clpi_str_puts(s, "\\\\"); break;
        case '\n': clpi_str_puts(s, "\\n"); break;
        case '\t': clpi_str_puts(s, "\\t"); break;
        default: clpi_str_put(s, p, 1); break;
        }
    }
    clpi_str_puts(s, "\"");
}
