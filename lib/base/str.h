/* str: a growable string with sticky failure: append freely, look once at the end. */
#ifndef CLPI_STR_H
#define CLPI_STR_H

#include "base/arena.h"

typedef struct clpi_str {
    clpi_env *env;
    char     *text;       /* always zero-terminated; "" before the first append */
    size_t    n, cap;     /* bytes, without the zero */
    bool      failed;     /* out of memory, reported when it happened */
} clpi_str;

void clpi_str_init(clpi_str *s, clpi_env *env);
void clpi_str_done(clpi_str *s);
void clpi_str_add(clpi_str *s, const char *format, ...) CLP_PRINTF(2, 3);
void clpi_str_add_v(clpi_str *s, const char *format, va_list args);
void clpi_str_put(clpi_str *s, const char *bytes, size_t n);
void clpi_str_puts(clpi_str *s, const char *text);
void clpi_str_cut(clpi_str *s, size_t n);     /* keep the first n bytes */
/* The text in an arena; s is done with. NULL: out of memory, now or when it was put together. */
char *clpi_str_keep(clpi_str *s, clpi_arena *arena);

#endif
