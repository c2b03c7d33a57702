/* read: a file of cases. In: its path. Out: one call for each run that it asks for. Decides how such a file is written;
 * README.md has it for readers. A fault of the file stops everything: a case that is not run must not look well. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

typedef struct reader {
    const char *path;
    int line;
    asked now;                    /* the run being put together */
    bool is_case, has_kernel;     /* between //> case and the next; its kernel has ended */
    bool is_asked;                /* something was said since the last run */
    char *kernel;                 /* MAX_TEXT */
    char **last;                  /* where a continued line goes on */
    asked_fn fn;
    void *user;
} reader;

static bool fault(const reader *r, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", r->path, r->line, what);
    return false;
}

static char *copy(const char *text)
{
    char *c = strdup(text);
    if (!c)
        abort();
    return c;
}

static void forget(char **text)
{
    free(*text);
    *text = NULL;
}

/* Everything but the kernel's text and the case's name. */
static void forget_run(reader *r)
{
    asked *a = &r->now;
    for (int i = 0; i < a->n_starts; i++)
        forget(&a->starts[i].values);
    for (int i = 0; i < a->n_wants; i++)
        forget(&a->wants[i].values);
    for (int i = 0; i < a->n_parts; i++)
        forget(&a->parts[i]);
    forget(&a->printed);
    forget(&a->finds);
    a->checks = 0;
    a->n_starts = a->n_wants = a->n_parts = a->n_dims = 0;
    a->n_arrays = -1;
    a->tol = 0;
    a->outcome = DELIVERS;
    r->is_asked = false;
    r->last = NULL;
}

static bool finish_run(reader *r)
{
    asked *a = &r->now;
    bool ok = true;
    if (!r->is_asked)
        return true;
    if (a->n_wants == 0 && a->outcome == DELIVERS && !a->printed && !a->finds)
        ok = fault(r, "a run of which nothing is expected");
    else if (a->n_parts == 0 && a->outcome != DELIVERS)
        ok = fault(r, "an error without any part of its message");
    else
        ok = r->fn(a, r->user);
    forget_run(r);
    return ok;
}

static const char *blanks(const char *p)
{
    while (isspace((unsigned char)*p))
        p++;
    return p;
}

/* "2, 3]" or "1, 2}": numbers up to the closing bracket. NULL: not so. */
static const char *numbers(const char *p, char closing, int *n, int64_t *out)
{
    *n = 0;
    for (p = blanks(p); *p && *p != closing && *n < CLP_MAX_RANK; p = blanks(p)) {
        char *end;
        out[(*n)++] = strtoll(p, &end, 10);
        if (end == p)
            return NULL;
        p = blanks(end);
        if (*p == ',')
            p++;
    }
    return *p == closing ? p + 1 : NULL;
}

/* "x[2, 3]{3, 1} = values", "x[2, 3] : rule", "o -> values" or "o -> : rule". */
static bool read_array(reader *r, const char *p)
{
    written w = { .line = r->line };
    int n = 0;
    while ((isalnum((unsigned char)*p) || *p == '_') && n < MAX_NAME - 1)
        w.name[n++] = *p++;
    p = blanks(p);
    if (*p == '[') {
        w.has_shape = true;
        p = numbers(p + 1, ']', &w.rank, w.shape);
    }
    if (p && *p == '{') {
        int n_strides;
        w.has_strides = true;
        p = numbers(p + 1, '}', &n_strides, w.strides);
        if (p && n_strides != w.rank)
            p = NULL;
    }
    p = p ? blanks(p) : NULL;
    if (!p || !n || (*p != '=' && *p != ':' && strncmp(p, "->", 2)))
        return fault(r, "expected: name[shape] = values, name[shape] : rule, or name -> values");
    asked *a = &r->now;
    const bool is_start = *p != '-';
    if ((is_start ? a->n_starts : a->n_wants) == MAX_ARRAYS)
        return fault(r, "too many arrays");
    w.values = copy(*p == ':' ? p : blanks(p + (is_start ? 1 : 2)));
    written *into = is_start ? &a->starts[a->n_starts++] : &a->wants[a->n_wants++];
    *into = w;
    r->last = &into->values;
    r->is_asked = true;
    return true;
}

/* "\"part\" \"part\"" */
static bool read_parts(reader *r, const char *p, outcome what)
{
    asked *a = &r->now;
    a->outcome = what;
    r->is_asked = true;
    for (p = blanks(p); *p; p = blanks(p)) {
        const char *end = *p == '"' ? strchr(p + 1, '"') : NULL;
        if (!end || a->n_parts == MAX_PARTS)
            return fault(r, "expected parts of a message, each in quotes");
        a->parts[a->n_parts] = copy(p + 1);
        a->parts[a->n_parts++][end - p - 1] = '\0';
        p = end + 1;
    }
    return true;
}

static bool read_dim(reader *r, const char *p)
{
    asked *a = &r->now;
    long long size;
    if (a->n_dims == 4 || sscanf(p, "%47s = %lld", a->dim_names[a->n_dims], &size) != 2)
        return fault(r, "expected: dim NAME = size");
    a->dims[a->n_dims].size = size;
    a->n_dims++;
    r->is_asked = true;
    return true;
}

/* "non-finite overflow" */
static bool read_checks(reader *r, const char *p)
{
    char words[256];
    snprintf(words, sizeof words, "%s", p);
    char *rest = words;
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        unsigned check;
        if (!find_name(word, &check))
            return fault(r, "expected: checks non-finite overflow division-by-zero");
        r->now.checks |= check;
    }
    return true;
}

static void append(char **text, const char *more, char end)
{
    const size_t had = *text ? strlen(*text) : 0;
    char *all = realloc(*text, had + strlen(more) + 2);
    if (!all)
        abort();
    snprintf(all + had, strlen(more) + 2, "%s%c", more, end);
    *text = all;
}

static void name_case(reader *r, const char *p)
{
    const size_t n = strcspn(p, ":");
    snprintf(r->now.id, sizeof r->now.id, "%.*s", (int)n, p);
    snprintf(r->now.about, sizeof r->now.about, "%s", blanks(p + n + (p[n] == ':')));
    r->now.line = r->line;
}

static bool read_case(reader *r, const char *p)
{
    if (!finish_run(r))
        return false;
    forget(&r->now.params);
    forget(&r->now.batches);
    r->kernel[0] = '\0';
    r->is_case = true;
    r->has_kernel = false;
    name_case(r, p);
    return true;
}

static bool read_continued(reader *r, const char *p)
{
    if (!r->last)
        return fault(r, "nothing to go on with");
    const size_t size = strlen(*r->last) + strlen(p) + 2;
    char *all = realloc(*r->last, size);
    if (!all)
        abort();
    strcat(strcat(all, " "), p);
    *r->last = all;
    return true;
}

static const char *after(const char *p, const char *word)
{
    const size_t n = strlen(word);
    return !strncmp(p, word, n) && (p[n] == ' ' || !p[n]) ? blanks(p + n) : NULL;
}

/* id, params, run: what was asked for before is a run of its own. */
static bool read_id(reader *r, const char *rest)
{
    if (!finish_run(r))
        return false;
    name_case(r, rest);
    return true;
}

static bool read_params(reader *r, const char *rest)
{
    if (!finish_run(r))
        return false;
    forget(&r->now.params);
    forget(&r->now.batches);
    r->now.params = copy(rest);
    return true;
}

static bool read_run(reader *r, const char *rest)
{
    (void)rest;
    return finish_run(r);
}

static bool read_batch(reader *r, const char *rest)
{
    append(&r->now.batches, rest, ';');
    return true;
}

static bool read_standard(reader *r, const char *rest)
{
    snprintf(r->kernel, MAX_TEXT, "=%s", rest);
    return true;
}

static bool read_n_arrays(reader *r, const char *rest)
{
    r->now.n_arrays = atoi(rest);
    return true;
}

static bool read_tol(reader *r, const char *rest)
{
    r->now.tol = strtod(rest, NULL);
    return true;
}

static bool read_prints(reader *r, const char *rest)
{
    append(&r->now.printed, rest, '\n');
    r->is_asked = true;
    return true;
}

static bool read_finds(reader *r, const char *rest)
{
    if (!strcmp(rest, "nothing"))
        r->now.finds = copy("");
    else
        append(&r->now.finds, rest, '\n');
    r->is_asked = true;
    return true;
}

static bool read_error(reader *r, const char *rest)
{
    return read_parts(r, rest, IS_NO_KERNEL);
}

static bool read_refused(reader *r, const char *rest)
{
    return read_parts(r, rest, IS_REFUSED);
}

static bool read_fault(reader *r, const char *rest)
{
    return read_parts(r, rest, FAULTS);
}

/* Lines of a case by their first word; any other is an array. */
static bool read_line(reader *r, const char *p)
{
    static const struct { const char *word; bool (*read)(reader *r, const char *rest); } lines[] = {
        { "+", read_continued }, { "id", read_id },         { "params", read_params },   { "batch", read_batch },
        { "run", read_run },     { "dim", read_dim },       { "standard", read_standard }, { "arrays", read_n_arrays },
        { "tol", read_tol },     { "prints", read_prints }, { "finds", read_finds },     { "checks", read_checks },
        { "error", read_error }, { "fault", read_fault },   { "refused", read_refused },
    };
    const char *rest = after(p, "case");
    if (rest)
        return read_case(r, rest);
    if (!r->is_case)
        return fault(r, "expected: //> case ID: what it shows");
    r->has_kernel = true;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if ((rest = after(p, lines[i].word)))
            return lines[i].read(r, rest);
    return read_array(r, p);
}

static bool read_any(reader *r, const char *text)
{
    if (!strncmp(text, "//>", 3))
        return read_line(r, blanks(text + 3));
    const bool is_blank = !*blanks(text);
    if (r->has_kernel && !is_blank)
        return fault(r, "kernel text behind the case's runs: a //> case line must come first");
    if (!r->is_case || r->has_kernel)
        return true;              /* what a file says of itself, before its first case */
    const size_t had = strlen(r->kernel);
    if (had + strlen(text) + 2 > MAX_TEXT)
        return fault(r, "the kernel's text is too long");
    snprintf(r->kernel + had, MAX_TEXT - had, "%s\n", text);
    return true;
}

bool cases_read(const char *path, asked_fn fn, void *user)
{
    enum { MAX_LINE = 4096 };
    FILE *f = fopen(path, "r");
    reader *r = calloc(1, sizeof *r);
    char line[MAX_LINE];
    if (!r || !(r->kernel = calloc(1, MAX_TEXT)))
        abort();
    forget_run(r);
    r->path = r->now.file = path;
    r->now.kernel = r->kernel;
    r->fn = fn;
    r->user = user;
    bool ok = f || fault(r, "cannot be read");
    while (ok && fgets(line, sizeof line, f)) {
        r->line++;
        line[strcspn(line, "\n")] = '\0';
        ok = read_any(r, line);
    }
    ok = ok && finish_run(r);
    forget_run(r);
    forget(&r->now.params);
    forget(&r->now.batches);
    if (f)
        fclose(f);
    free(r->kernel);
    free(r);
    return ok;
}
