/* svg: the pictures that `show --svg` and `check --svg` draw: an operand is a sheet, with rectangles of what programs see,
 * or what they wrote.
 * In: the blocks of every operand, or who wrote each element of one. Out: an SVG file, whole or not at all.
 * Decides scale and colour: a colour follows from a program's ids, the same on every sheet, so that one program can be
 * followed by eye. Of arrays of more than two dimensions the sheets of the leading ones stand side by side. */
#include "output.h"
#include "tool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHEET = 260, GAP = 28, MAX_SHEETS = 8, TITLE = 22, MAX_BOXES = 20000 };

void svg_put_text(FILE *f, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", f);
        else if (*text == '&')
            fputs("&amp;", f);
        else
            fputc(*text, f);
    }
}

/* A sheet: the last two dimensions of an array. */
typedef struct sheet {
    double x, y, width, height, unit_x, unit_y;
} sheet;

static sheet sheet_of(const clpi_bound *bound, int operand, int rank, double x, double y)
{
    const int64_t *size = bound->operands[operand].size;
    const double columns = rank > 0 && size[rank - 1] > 0 ? (double)size[rank - 1] : 1;
    const double rows = rank > 1 && size[rank - 2] > 0 ? (double)size[rank - 2] : 1;
    /* Long thin arrays keep a height, or width, that a label fits into. */
    const double unit = SHEET / fmax(columns, rows);
    const double width = fmax(columns * unit, 40), height = fmax(rows * unit, 40);
    return (sheet){ x, y, width, height, width / columns, height / rows };
}

static unsigned hue_of(const job *j, const int64_t *program)
{
    uint64_t number = 0;
    for (int a = 0; a < j->ir->n_axes; a++)
        number = number * 31 + (uint64_t)program[a];
    return (unsigned)(number * 137 % 360);
}

static void draw_paper(FILE *f, const sheet *s)
{
    fprintf(f, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#eee\" stroke=\"#999\"/>\n", s->x, s->y,
            s->width, s->height);
}

static void draw_title(FILE *f, double top, const char *title)
{
    fprintf(f, "<text x=\"%d\" y=\"%.2f\" class=\"t\">", GAP, top);
    svg_put_text(f, title);
    fprintf(f, "</text>\n");
}

/* A box of the sheet, with its label where that fits. */
typedef struct box {
    double x0, x1, y0, y1;        /* elements */
} box;

static void draw_box(FILE *f, const sheet *s, const box *b, const char *fill, const char *label)
{
    const double left = s->x + b->x0 * s->unit_x, top = s->y + b->y0 * s->unit_y;
    const double width = (b->x1 - b->x0) * s->unit_x, height = (b->y1 - b->y0) * s->unit_y;
    fprintf(f, "<g><title>");
    svg_put_text(f, label);
    fprintf(f,
            "</title><rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\" fill-opacity=\"0.7\" "
            "stroke=\"#333\" stroke-width=\"0.7\"/>",
            left, top, width, height, fill);
    const double letters = (double)strlen(label) * 5.2;
    if (letters < width && height > 9)
        fprintf(f, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">%s</text>", left + width / 2, top + height / 2 + 3, label);
    fprintf(f, "</g>\n");
}

/* ---- Which program sees which block ---- */

static void draw_view(FILE *f, const job *j, const clpi_bound *bound, const sheet *s, int rank, const view *v)
{
    const int x = rank - 1, y = rank - 2;
    const box b = { .x0 = rank > 0 ? (double)(v->start[x] + v->lo[x]) : 0,
                    .x1 = rank > 0 ? (double)(v->start[x] + v->hi[x]) : 1,
                    .y0 = rank > 1 ? (double)(v->start[y] + v->lo[y]) : 0,
                    .y1 = rank > 1 ? (double)(v->start[y] + v->hi[y]) : 1 };
    char label[160], fill[48];
    view_label(label, sizeof label, j, bound, v);
    snprintf(fill, sizeof fill, "hsl(%u,65%%,75%%)", hue_of(j, v->first));
    draw_box(f, s, &b, fill, label);
}

/* Draws one operand; returns the height that it took, *out_width its width. */
static double draw_operand(FILE *f, const job *j, const clpi_bound *bound, const views *v, double top,
                           double *out_width)
{
    const clpi_operand *x = &j->ir->operands[v->operand];
    const int n_leading = x->rank > 2 ? x->rank - 2 : 0;
    char title[320];
    operand_title(title, sizeof title, j, bound, v->operand);
    draw_title(f, top + 14, title);
    *out_width = (double)strlen(title) * 7.5 + GAP;
    if (!x->has_block)
        return TITLE;
    double left = GAP;
    int n_sheets = 0;
    sheet s = sheet_of(bound, v->operand, x->rank, left, top + TITLE);
    for (int i = 0; i < v->n; i++) {
        const view *at = &v->items[i];
        const bool is_new = i == 0 || memcmp(at->start, at[-1].start, (size_t)n_leading * sizeof *at->start);
        if (is_new && n_sheets++ == MAX_SHEETS) {
            fprintf(f, "<text x=\"%.2f\" y=\"%.2f\">and more</text>\n", left, top + TITLE + 12);
            break;
        }
        if (is_new) {
            s = sheet_of(bound, v->operand, x->rank, left, top + TITLE);
            draw_paper(f, &s);
            left += s.width + GAP;
        }
        if (at->is_inside)
            draw_view(f, j, bound, &s, x->rank, at);
    }
    *out_width = fmax(*out_width, left + (n_sheets > MAX_SHEETS ? 60 : 0));
    return s.height + TITLE;
}

typedef struct drawing {
    FILE *f;
    const job *j;
    const clpi_bound *bound;
    double width, height;
    int n_boxes;                  /* of a map */
} drawing;

static void draw_all(drawing *d, const views *all, int n)
{
    char title[1024];
    grid_title(title, sizeof title, d->j, d->bound);
    draw_title(d->f, GAP, title);
    double top = 2 * GAP;
    d->width = (double)strlen(title) * 7.5 + GAP;
    for (int k = 0; k < n; k++) {
        double width;
        top += draw_operand(d->f, d->j, d->bound, &all[k], top, &width) + GAP;
        d->width = fmax(d->width, width);
    }
    d->width += GAP;
    d->height = top;
}

/* ---- Which program wrote which element ---- */

/* One sheet of a map: the marks of its elements. */
typedef struct mapped {
    const map_mark *marks;
    int64_t rows, columns;
    bool *is_drawn;
} mapped;

static bool is_same(const map_mark *a, const map_mark *b)
{
    return a->program == b->program && a->is_conflict == b->is_conflict;
}

/* The largest box of equal marks that grows from (y, x), first to the right, then down. */
static box grow(const mapped *m, int64_t y, int64_t x)
{
    const map_mark *first = &m->marks[y * m->columns + x];
    int64_t to_x = x + 1, to_y = y + 1;
    while (to_x < m->columns && is_same(first, first + to_x - x) && !m->is_drawn[y * m->columns + to_x])
        to_x++;
    for (bool is_whole = true; is_whole && to_y < m->rows; to_y += is_whole)
        for (int64_t c = x; c < to_x && is_whole; c++)
            is_whole = is_same(first, &m->marks[to_y * m->columns + c]) && !m->is_drawn[to_y * m->columns + c];
    for (int64_t r = y; r < to_y; r++)
        memset(&m->is_drawn[r * m->columns + x], 1, (size_t)(to_x - x));
    return (box){ (double)x, (double)to_x, (double)y, (double)to_y };
}

static void draw_mark(const drawing *d, const sheet *s, const box *b, const map_mark *mark)
{
    int64_t program[CLPI_MAX_AXES] = { 0 };
    char label[200] = "nobody wrote it", fill[48] = "#fff";
    if (mark->program) {
        clpi_program_at(d->bound, (mark->program - 1) / d->bound->n_steps, (mark->program - 1) % d->bound->n_steps, program);
        size_t n = (size_t)snprintf(label, sizeof label, "%s(", mark->is_conflict ? "conflict; " : "");
        for (int a = 0; a < d->j->ir->n_axes && n < sizeof label; a++)
            n += (size_t)snprintf(label + n, sizeof label - n, "%s%lld", a ? ", " : "", (long long)program[a]);
        if (n < sizeof label)
            snprintf(label + n, sizeof label - n, ")");
        snprintf(fill, sizeof fill, "hsl(%u,65%%,75%%)", hue_of(d->j, program));
    }
    draw_box(d->f, s, b, fill, mark->is_conflict ? "" : label);
    if (mark->is_conflict)
        draw_box(d->f, s, b, "url(#conflict)", label);
}

static void draw_sheet(drawing *d, const sheet *s, const mapped *m)
{
    draw_paper(d->f, s);
    for (int64_t y = 0; y < m->rows; y++)
        for (int64_t x = 0; x < m->columns && d->n_boxes < MAX_BOXES; x++)
            if (!m->is_drawn[y * m->columns + x]) {
                d->n_boxes++;
                const box b = grow(m, y, x);
                draw_mark(d, s, &b, &m->marks[y * m->columns + x]);
            }
}

static bool draw_map(drawing *d, int operand, const map_mark *marks)
{
    const int rank = d->j->ir->operands[operand].rank;
    const int64_t *size = d->bound->operands[operand].size;
    mapped m = { .marks = marks, .rows = rank > 1 ? size[rank - 2] : 1, .columns = rank > 0 ? size[rank - 1] : 1 };
    int64_t n_sheets = 1;
    for (int k = 0; k < rank - 2; k++)
        n_sheets *= size[k];
    char title[320];
    operand_title(title, sizeof title, d->j, d->bound, operand);
    draw_title(d->f, GAP, title);
    draw_title(d->f, GAP + 16, "the program that wrote last; hatched: another one is in its way");
    fprintf(d->f, "<defs><pattern id=\"conflict\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">"
                  "<path d=\"M0 5L5 0\" stroke=\"#c00\" stroke-width=\"0.6\"/></pattern></defs>\n");
    double left = GAP, height = 0;
    for (int64_t k = 0; k < n_sheets && k < MAX_SHEETS; k++) {
        const sheet s = sheet_of(d->bound, operand, rank, left, 2 * GAP + 10);
        m.is_drawn = calloc((size_t)(m.rows * m.columns) + 1, sizeof *m.is_drawn);
        if (!m.is_drawn)
            return false;
        draw_sheet(d, &s, &m);
        free(m.is_drawn);
        m.marks += m.rows * m.columns;
        left += s.width + GAP;
        height = s.height;
    }
    if (n_sheets > MAX_SHEETS || d->n_boxes == MAX_BOXES)
        fprintf(d->f, "<text x=\"%.2f\" y=\"%d\">and more</text>\n", left, 3 * GAP);
    d->width = fmax(left + (n_sheets > MAX_SHEETS || d->n_boxes == MAX_BOXES ? 60 : 0), (double)strlen(title) * 7.5 + 2 * GAP);
    d->width = fmax(d->width, 60 * 7.5);
    d->height = height + 3 * GAP;
    return true;
}

/* ---- The file ---- */

/* What draws: one of the two above. */
typedef bool (*draw_fn)(drawing *d, const void *what, int n);

static int write_drawing(const char *path, drawing *d, draw_fn draw, const void *what, int n)
{
    char *body = NULL;
    size_t n_bytes = 0;
    d->f = open_memstream(&body, &n_bytes);
    if (!d->f)
        return fail("out of memory");
    const bool is_drawn = draw(d, what, n);
    fclose(d->f);
    output w;
    bool ok = is_drawn && output_open(&w, path);
    if (ok) {
        fprintf(w.file,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n"
                "<style>text{font:9px sans-serif}.t{font:bold 12px monospace}</style>\n"
                "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                d->width, d->height, d->width, d->height);
        fwrite(body, 1, n_bytes, w.file);
        fprintf(w.file, "</svg>\n");
        ok = output_close(&w, true);
    }
    const int error = errno;
    free(body);
    return ok ? DONE : !is_drawn ? fail("out of memory") : fail("%s: %s", path, strerror(error));
}

static bool draw_views(drawing *d, const void *what, int n)
{
    draw_all(d, what, n);
    return true;
}

int svg_write(const char *path, const job *j, const clpi_bound *bound, const views *all, int n)
{
    drawing d = { .j = j, .bound = bound };
    return write_drawing(path, &d, draw_views, all, n);
}

static bool draw_marks(drawing *d, const void *what, int operand)
{
    return draw_map(d, operand, what);
}

int svg_write_map(const char *path, const job *j, const clpi_bound *bound, int operand, const map_mark *marks)
{
    drawing d = { .j = j, .bound = bound };
    return write_drawing(path, &d, draw_marks, marks, operand);
}
