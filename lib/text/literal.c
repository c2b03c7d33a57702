/* literal: constants as the kernel language writes them.
 * In: a dtype and the stored bits of one element. Out: the shortest text that reads back as that element. How numbers look
 * is ir/format's, so that `print` and the printer agree; what the language adds to them is decided here.                */
#include "text/literal.h"

#include <math.h>

#include "ir/format.h"

void clpi_literal_print(clpi_str *s, clp_dtype d, uint64_t bits, bool with_dtype)
{
    clpi_elem e = clpi_elem_from_bits(d, bits);
    bool is_word = clpi_is_float(d) && !isfinite(d == CLP_F64 ? e.d : (double)e.f);     /* inf, nan: no number */
    with_dtype = with_dtype && d != CLP_BOOL;
    if (with_dtype && is_word)
        clpi_str_puts(s, "cast(");
    clpi_format_elem(d, e, s);
    if (with_dtype)
        clpi_str_add(s, is_word ? ", %s)" : "%s", clp_dtype_name(d));
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
