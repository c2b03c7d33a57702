/* diag: errors in the caret form, and suggestions.
 * In: places and texts. Out: one message, errors in the order of the text, each with its source line and a caret.
 * Decides how many errors are kept and how a source line is shown: at most a window of it, its odd bytes replaced.      */
#include "text/diag.h"

#include <string.h>

enum { MAX_SHOWN = 160, MAX_NAME = 64 };

void clpi_diag_init(clpi_diag *diag, clpi_env *env, clpi_arena *arena, const clpi_source *source)
{
    *diag = (clpi_diag){ .env = env, .arena = arena, .source = source };
}

void clpi_diag_add(clpi_diag *diag, clpi_pos pos, const char *format, ...)
{
    for (int i = 0; i < diag->n_errors; i++)
        if (diag->errors[i].pos.line == pos.line && diag->errors[i].pos.column == pos.column)
            return;
    if (clpi_diag_is_full(diag))
        return;

    clpi_str s;
    clpi_str_init(&s, diag->env);
    va_list args;
    va_start(args, format);
    clpi_str_add_v(&s, format, args);
    va_end(args);
    const char *text = clpi_str_keep(&s, diag->arena);
    diag->failed = diag->failed || !text;
    diag->errors[diag->n_errors].pos = pos;
    diag->errors[diag->n_errors++].text = text ? text : "out of memory";
}

clp_status clpi_diag_finish(clpi_diag *diag, clp_status status)
{
    if (diag->arena->failed || diag->failed)
        return CLP_ERR_OOM;
    if (diag->n_errors == 0)
        return CLP_OK;

    int order[CLPI_MAX_ERRORS];
    for (int i = 0; i < diag->n_errors; i++) {
        int at = i;
        for (; at > 0; at--) {
            clpi_pos before = diag->errors[order[at - 1]].pos, pos = diag->errors[i].pos;
            if (before.line < pos.line || (before.line == pos.line && before.column < pos.column))
                break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }

    clpi_str s;
    clpi_str_init(&s, diag->env);
    for (int i = 0; i < diag->n_errors; i++) {
        if (i > 0)
            clpi_str_puts(&s, "\n");
        clpi_caret(&s, diag->source, diag->errors[order[i]].pos, diag->errors[order[i]].text);
    }
    status = s.failed ? CLP_ERR_OOM : clpi_fail(diag->env, status, "%s", s.text);
    if (strcmp(clpi_error_text(diag->env), s.text) != 0)        /* there was no room to keep it */
        status = CLP_ERR_OOM;
    clpi_str_done(&s);
    return status;
}

/* ---- The caret form ---------------------------------------------------------------------------------------------- */

/* Length of the UTF-8 sequence at p, within n bytes; 0: none. */
static size_t sequence_length(const unsigned char *p, size_t n)
{
    size_t length = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
                  : p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : 0;
    if (length == 0 || length > n)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

/* Appends bytes as one printable line; returns the width up to byte `mark`. */
static size_t put_line(clpi_str *s, const char *bytes, size_t n, size_t mark)
{
    size_t width = 0, width_at_mark = 0;
    for (size_t i = 0; i < n;) {
        const unsigned char *p = (const unsigned char *)bytes + i;
        size_t length = sequence_length(p, n - i);
        if (i <= mark)
            width_at_mark = width;
        if (length == 0 || (length == 1 && (p[0] < ' ' || p[0] == 0x7f)))
            clpi_str_puts(s, *p == '\t' ? " " : "?"), length = 1;
        else
            clpi_str_put(s, bytes + i, length);
        i += length;
        width++;
    }
    return mark >= n ? width + (mark - n) : width_at_mark;
}

void clpi_source_line(clpi_str *s, const clpi_source *source, clpi_pos pos)
{
    if (!source || !source->text || pos.line == 0)
        return;
    const char *line = source->text, *end = source->text + source->n_bytes;
    for (uint32_t i = 1; i < pos.line && line < end; i++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        line = newline ? newline + 1 : end;
    }
    const char *newline = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
    size_t n = (size_t)((newline ? newline : end) - line);
    if (n > 0 && line[n - 1] == '\r')
        n--;
    size_t mark = pos.column - 1;
    if (mark > n)
        mark = n;
    size_t skip = mark > MAX_SHOWN / 2 && n > MAX_SHOWN ? mark - MAX_SHOWN / 2 : 0;
    while (skip > 0 && skip < n && (line[skip] & 0xc0) == 0x80)
        skip--;
    size_t shown = n - skip > MAX_SHOWN ? MAX_SHOWN : n - skip;

    clpi_str_puts(s, "\n");
    size_t width = put_line(s, line + skip, shown, mark - skip);
    clpi_str_puts(s, "\n");
    for (size_t i = 0; i < width; i++)
        clpi_str_puts(s, " ");
    clpi_str_puts(s, "^");
}

void clpi_caret(clpi_str *s, const clpi_source *source, clpi_pos pos, const char *text)
{
    if (source && source->file)
        clpi_str_add(s, "%s:", source->file);
    if (pos.line == 0)
        clpi_str_add(s, "%serror: %s", source && source->file ? " " : "", text);
    else
        clpi_str_add(s, "%u:%u: error: %s", pos.line, pos.column, text);
    clpi_source_line(s, source, pos);
}

/* ---- Suggestions ------------------------------------------------------------------------------------------------- */

/* Edits (insert, delete, replace, swap of neighbours) that make a into b; MAX_NAME when either is longer than that. */
static int edit_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n >= MAX_NAME || m >= MAX_NAME)
        return MAX_NAME;
    unsigned char rows[3][MAX_NAME + 1];
    unsigned char *before = rows[0], *last = rows[1], *row = rows[2];
    memset(rows, 0, sizeof rows);
    for (size_t j = 0; j <= m; j++)
        last[j] = (unsigned char)j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = (unsigned char)i;
        for (size_t j = 1; j <= m; j++) {
            int best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = (unsigned char)best;
        }
        unsigned char *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[m];
}

const char *clpi_nearest(const char *name, const char *const *names, int n)
{
    /* A third of the name may be wrong, and names of one or two letters resemble everything. */
    int best = (int)(strlen(name) < MAX_NAME ? (strlen(name) + 2) / 3 : 0) + 1;
    const char *nearest = NULL;
    if (strlen(name) < 2)
        return NULL;
    for (int i = 0; i < n; i++) {
        int distance = names[i] && strlen(names[i]) > 1 ? edit_distance(name, names[i]) : MAX_NAME;
        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}

void clpi_suggest(clpi_str *s, const char *name, const char *const *names, int n)
{
    enum { MAX_LISTED = 20 };
    const char *nearest = clpi_nearest(name, names, n), *before = "; there is ";
    if (nearest)
        clpi_str_add(s, "; did you mean `%s`?", nearest);
    for (int i = 0; !nearest && n <= MAX_LISTED && i < n; i++) {
        if (names[i])
            clpi_str_add(s, "%s%s", before, names[i]);
        before = names[i] ? ", " : before;
    }
}
