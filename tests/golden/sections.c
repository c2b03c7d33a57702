/* sections: a golden file in parts, and the file with new sections. */
#include <stdio.h>
#include <string.h>

#include "golden.h"

static const char *next_line(const char *p)
{
    const char *end = strchr(p, '\n');
    return end ? end + 1 : p + strlen(p);
}

/* The rest of the line at p when it begins with `head`; NULL when it does not. */
static char *line_after(clpi_arena *arena, const char *p, const char *head)
{
    size_t n_head = strlen(head), n = (size_t)(next_line(p) - p);
    if (strncmp(p, head, n_head) != 0)
        return NULL;
    while (n > n_head && (p[n - 1] == '\n' || p[n - 1] == ' '))
        n--;
    return clpi_arena_strndup(arena, p + n_head, n - n_head);
}

static void read_directive(clpi_arena *arena, const char *p, golden *g)
{
    char *kernel = line_after(arena, p, "// kernel: "), *params = line_after(arena, p, "// params: ");
    char *schedule = line_after(arena, p, "// schedule: "), *checked = line_after(arena, p, "// checked: ");
    g->kernel = kernel ? kernel : g->kernel;
    g->params = params ? params : g->params;
    g->schedule = schedule ? schedule : g->schedule;
    g->checked = checked ? checked : g->checked;
}

/* The lines up to `// <<<`, without their `// `; *at moves behind it. */
static const char *read_body(clpi_arena *arena, const char **at)
{
    clpi_str s;
    clpi_str_init(&s, arena->env);
    const char *p = *at;
    for (; *p && strncmp(p, "// <<<", 6) != 0; p = next_line(p)) {
        size_t skip = strncmp(p, "// ", 3) == 0 ? 3 : strncmp(p, "//", 2) == 0 ? 2 : 0;
        clpi_str_put(&s, p + skip, (size_t)(next_line(p) - p) - skip);
    }
    *at = next_line(p);
    const char *body = clpi_arena_strndup(arena, s.text, s.n);
    clpi_str_done(&s);
    return body;
}

static bool read_all(clpi_arena *arena, const char *path, golden *g)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    char bytes[4096];
    clpi_str s;
    clpi_str_init(&s, arena->env);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, file)) > 0;)
        clpi_str_put(&s, bytes, n);
    bool ok = !ferror(file) && !s.failed;
    fclose(file);
    g->text = clpi_arena_strndup(arena, s.text, s.n);
    g->n_bytes = s.n;
    clpi_str_done(&s);
    return ok && g->text;
}

bool golden_read(clpi_arena *arena, const char *path, golden *out)
{
    *out = (golden){ 0 };
    if (!read_all(arena, path, out)) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return false;
    }
    out->n_kernel_bytes = out->n_bytes;
    for (const char *p = out->text; *p;) {
        char *stage = line_after(arena, p, "// >>> ");
        if (!stage) {
            read_directive(arena, p, out);
            p = next_line(p);
            continue;
        }
        if (out->n_sections == 0)
            out->n_kernel_bytes = (size_t)(p - out->text);
        if (out->n_sections == MAX_SECTIONS) {
            fprintf(stderr, "%s: more than %d sections\n", path, MAX_SECTIONS);
            return false;
        }
        p = next_line(p);
        const char *body = read_body(arena, &p);
        out->sections[out->n_sections++] = (section){ stage, body };
    }
    return !arena->failed;
}

static void write_commented(FILE *file, const char *text)
{
    for (const char *p = text; *p; p = next_line(p)) {
        size_t n = (size_t)(next_line(p) - p);
        bool has_newline = p[n - 1] == '\n';
        fprintf(file, n > has_newline ? "// %.*s\n" : "//\n", (int)(n - has_newline), p);
    }
}

bool golden_write(const char *path, const golden *g, const char *const *actual)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    fwrite(g->text, 1, g->n_kernel_bytes, file);
    for (int i = 0; i < g->n_sections; i++) {
        fprintf(file, "// >>> %s\n", g->sections[i].stage);
        write_commented(file, actual[i]);
        fprintf(file, "// <<<\n");
    }
    return fclose(file) == 0;
}
