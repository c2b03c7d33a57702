/* real: real numbers as text.
 * In: a number, or text. Out: text, or a number. Only the point of the C library's text is another in other locales: it is put in where
 * strtod wants it, and known by being nothing else that such a text has.                                                              */
#include "base/real.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

clpi_real_text clpi_real(int n_digits, double x)
{
    clpi_real_text out = { "" };
    char text[sizeof out.text], *to = out.text;
    snprintf(text, sizeof text, "%.*g", n_digits, x);
    for (const char *p = text; *p;) {
        const size_t n = strspn(p, "+-0123456789einfa"), n_point = strcspn(p + n, "+-0123456789einfa");
        memcpy(to, p, n);
        to += n;
        if (n_point)
            *to++ = '.';
        p += n + n_point;
    }
    return out;
}

bool clpi_real_read(const char *text, size_t n, clpi_arena *arena, double *out)
{
    const char *point = localeconv()->decimal_point;
    const size_t n_point = strlen(point);
    char *digits = clpi_arena_alloc(arena, n + n_point + 1, 1), *to = digits, *end;
    *out = 0;
    if (!digits)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '.' && !memchr(text, '.', i)) {
            memcpy(to, point, n_point);
            to += n_point;
        } else if (text[i] && strchr("+-0123456789eE", text[i])) {
            *to++ = text[i];
        } else if (text[i] != '_') {
            return false;
        }
    }
    *out = strtod(digits, &end);
    return end == to && end != digits;
}
