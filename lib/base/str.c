/* str: a growable string.
 * In: pieces of text. Out: their concatenation, or `failed` with what fitted before; nothing is appended after a failure.
 * The capacity doubles; text is never NULL.                                                                              */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

void clpi_str_init(clpi_str *s, clpi_env *env)
{
    *s = (clpi_str){ .env = env, .text = "" };
}

void clpi_str_done(clpi_str *s)
{
    if (s->cap)
        clpi_free(s->env, s->text, s->cap, 1);
    clpi_str_init(s, s->env);
}

/* Makes room for n more bytes and the zero. */
static bool reserve(clpi_str *s, size_t n)
{
    if (s->failed)
        return false;
    if (s->cap > s->n && n < s->cap - s->n)
        return true;
    if (n > SIZE_MAX / 4 - s->n) {
        clpi_fail(s->env, CLP_ERR_OOM, "out of memory: a text of %zu more bytes", n);
        s->failed = true;
        return false;
    }
    size_t cap = s->cap ? s->cap : 64;
    while (cap <= s->n + n)
        cap *= 2;
    char *text = clpi_realloc(s->env, s->cap ? s->text : NULL, s->cap, cap, 1);
    if (!text) {
        s->failed = true;
        return false;
    }
    s->text = text;
    s->cap = cap;
    s->text[s->n] = 0;
    return true;
}

void clpi_str_put(clpi_str *s, const char *bytes, size_t n)
{
    if (n == 0 || !reserve(s, n))
        return;
    memcpy(s->text + s->n, bytes, n);
    s->n += n;
    s->text[s->n] = 0;
}

void clpi_str_puts(clpi_str *s, const char *text)
{
    clpi_str_put(s, text, strlen(text));
}

void clpi_str_add_v(clpi_str *s, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (n < 0) { /* a text of more than INT_MAX bytes */
        if (!s->failed)
            clpi_fail(s->env, CLP_ERR_OOM, "out of memory: a text that is too long");
        s->failed = true;
        return;
    }
    if (n == 0 || !reserve(s, (size_t)n))
        return;
    (void)vsnprintf(s->text + s->n, (size_t)n + 1, format, args);
    s->n += (size_t)n;
}

void clpi_str_add(clpi_str *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    clpi_str_add_v(s, format, args);
    va_end(args);
}

void clpi_str_cut(clpi_str *s, size_t n)
{
    assert(n <= s->n);
    s->n = n;
    if (s->cap)
        s->text[n] = 0;
}

char *clpi_str_keep(clpi_str *s, clpi_arena *arena)
{
    char *text = s->failed ? NULL : clpi_arena_strndup(arena, s->text, s->n);
    clpi_str_done(s);
    return text;
}
