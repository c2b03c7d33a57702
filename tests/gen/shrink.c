/* shrink: a kernel that fails, made small while it keeps failing.
 * In: a kernel, and a function that says whether one fails as it did. Out: the kernel, in place, without the lines, the
 * branches and the operands that do not matter; values that only have to be there say so plainly. */
#include <stdlib.h>
#include <string.h>

#include "gen.h"

static int indent(const char *text)
{
    return (int)strspn(text, " ");
}

/* A loop's header may hold the start of its body: what must not be lost. */
static bool opens(const char *text)
{
    int depth = 0;
    for (const char *c = text; *c; c++)
        depth += *c == '{' ? 1 : *c == '}' ? -1 : 0;
    return depth > 0 || !strncmp(text + indent(text), "} else", 6);
}

/* The line that closes what line i opens. */
static int closing(const made *k, int i)
{
    const int depth = indent(k->lines[i].text);
    for (int j = i + 1; j < k->n_lines; j++)
        if (indent(k->lines[j].text) == depth)
            return j;
    return k->n_lines - 1;
}

static void remove_lines(made *k, int from, int n)
{
    memmove(&k->lines[from], &k->lines[from + n], (size_t)(k->n_lines - from - n) * sizeof *k->lines);
    k->n_lines -= n;
}

static bool keep_if_it_fails(made *k, made *tried, fails_fn fails, void *user)
{
    if (!fails(tried, user))
        return false;
    memcpy(k, tried, sizeof *k);
    return true;
}

/* Line i, with what it opens, goes; or only the lines around a body. */
static bool drop_line(made *k, made *tried, int i, fails_fn fails, void *user)
{
    const char *text = k->lines[i].text;
    memcpy(tried, k, sizeof *k);
    if (!opens(text)) {
        if (text[indent(text)] == '}' || k->lines[i].starts >= 0)
            return false;
        remove_lines(tried, i, 1);
        return keep_if_it_fails(k, tried, fails, user);
    }
    const int end = closing(k, i), has_else = opens(k->lines[end].text);
    if (text[indent(text)] == '}') /* its closing line is the `if`'s */
        remove_lines(tried, i, end - i);
    else
        remove_lines(tried, i, (has_else ? closing(k, end) : end) - i + 1);
    if (keep_if_it_fails(k, tried, fails, user))
        return true;
    if (has_else || text[indent(text)] == '}')
        return false;
    memcpy(tried, k, sizeof *k);
    remove_lines(tried, end, 1);
    remove_lines(tried, i, 1);
    return keep_if_it_fails(k, tried, fails, user);
}

static bool make_plain(made *k, made *tried, int i, fails_fn fails, void *user)
{
    if (!k->lines[i].plain[0])
        return false;
    memcpy(tried, k, sizeof *k);
    memcpy(tried->lines[i].text, k->lines[i].plain, sizeof k->lines[i].plain);
    tried->lines[i].plain[0] = '\0';
    return keep_if_it_fails(k, tried, fails, user);
}

static bool drop_operand(made *k, made *tried, int i, fails_fn fails, void *user)
{
    if (k->operands[i].is_gone)
        return false;
    memcpy(tried, k, sizeof *k);
    tried->operands[i].is_gone = true;
    for (int j = k->n_lines - 1; j >= 0; j--)
        if (tried->lines[j].starts == i)
            remove_lines(tried, j, 1);
    return keep_if_it_fails(k, tried, fails, user);
}

/* Blocks of lines first: most of a kernel has nothing to do with its fault. */
static bool drop_blocks(made *k, made *tried, int n, fails_fn fails, void *user)
{
    bool any = false;
    for (int i = k->n_lines - n; i >= 0; i -= any ? n : n / 2 + 1) {
        if (i + n > k->n_lines)
            continue;
        memcpy(tried, k, sizeof *k);
        for (int j = i + n - 1; j >= i; j--)
            if (tried->lines[j].starts < 0)
                remove_lines(tried, j, 1);
        any = keep_if_it_fails(k, tried, fails, user) || any;
    }
    return any;
}

void kernel_shrink(made *k, fails_fn fails, void *user)
{
    made *tried = malloc(sizeof *tried);
    if (!tried)
        abort();
    for (int n = k->n_lines / 2; n > 2; n /= 2)
        drop_blocks(k, tried, n, fails, user);
    for (bool any = true; any;) {
        any = false;
        for (int i = k->n_lines - 1; i >= 0; i--)
            if (i < k->n_lines)
                any = drop_line(k, tried, i, fails, user) || any;
        for (int i = k->n_operands - 1; i >= 0; i--)
            any = drop_operand(k, tried, i, fails, user) || any;
        for (int i = k->n_lines - 1; i >= 0; i--)
            any = make_plain(k, tried, i, fails, user) || any;
    }
    free(tried);
}
