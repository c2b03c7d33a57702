/* svg: the picture that `show --svg` draws: each operand a sheet, each block on it a rectangle with its programs.
 * In: the blocks of every operand. Out: an SVG file, whole or not at all.
 * Decides scale and colour: a block's colour follows from the first program that sees it, the same on every sheet, so
 * that one program's blocks can be followed by eye. Of arrays of more than two dimensions the sheets of the leading
 * ones stand side by side. */
#include "output.h"
#include "tool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHEET = 260, GAP = 28, MAX_SHEETS = 8, TITLE = 22 };

static void put_text(FILE *f, const char *text)
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

static unsigned hue_of(const job *j, const view *v)
{
    uint64_t number = 0;
    for (int a = 0; a < j->ir->n_axes; a++)
        number = number * 31 + (uint64_t)v->first[a];
    return (unsigned)(number * 137 % 360);
}

static void draw_view(FILE *f, const job *j, const clpi_bound *bound, const sheet *s, int rank, const view *v)
{
    const double x0 = rank > 0 ? (double)(v->start[rank - 1] + v->lo[rank - 1]) : 0;
    const double x1 = rank > 0 ? (double)(v->start[rank - 1] + v->hi[rank - 1]) : 1;
    const double y0 = rank > 1 ? (double)(v->start[rank - 2] + v->lo[rank - 2]) : 0;
    const double y1 = rank > 1 ? (double)(v->start[rank - 2] + v->hi[rank - 2]) : 1;
    const double left = s->x + x0 * s->unit_x, top = s->y + y0 * s->unit_y;
    const double width = (x1 - x0) * s->unit_x, height = (y1 - y0) * s->unit_y;
    char label[160];
    view_label(label, sizeof label, j, bound, v);
    fprintf(f, "<g><title>");
    put_text(f, label);
    fprintf(f,
            "</title><rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"hsl(%u,65%%,75%%)\" "
            "fill-opacity=\"0.7\" "
            "stroke=\"#333\" stroke-width=\"0.7\"/>",
            left, top, width, height, hue_of(j, v));
    const double letters = (double)strlen(label) * 5.2;
    if (letters < width && height > 9)
        fprintf(f, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">%s</text>", left + width / 2,
                top + height / 2 + 3, label);
    fprintf(f, "</g>\n");
}

/* Draws one operand; returns the height that it took, *out_width its width. */
static double draw_operand(FILE *f, const job *j, const clpi_bound *bound, const views *v, double top,
                           double *out_width)
{
    const clpi_operand *x = &j->ir->operands[v->operand];
    const int n_leading = x->rank > 2 ? x->rank - 2 : 0;
    char title[320];
    operand_title(title, sizeof title, j, bound, v->operand);
    fprintf(f, "<text x=\"%d\" y=\"%.2f\" class=\"t\">", GAP, top + 14);
    put_text(f, title);
    fprintf(f, "</text>\n");
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
            fprintf(f, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#eee\" stroke=\"#999\"/>\n",
                    s.x, s.y, s.width, s.height);
            left += s.width + GAP;
        }
        if (at->is_inside)
            draw_view(f, j, bound, &s, x->rank, at);
    }
    *out_width = fmax(*out_width, left + (n_sheets > MAX_SHEETS ? 60 : 0));
    return s.height + TITLE;
}

static void draw_all(FILE *f, const job *j, const clpi_bound *bound, const views *all, int n, double *out_width,
                     double *out_height)
{
    char title[1024];
    grid_title(title, sizeof title, j, bound);
    fprintf(f, "<text x=\"%d\" y=\"%d\" class=\"t\">", GAP, GAP);
    put_text(f, title);
    fprintf(f, "</text>\n");
    double top = 2 * GAP, widest = (double)strlen(title) * 7.5 + GAP;
    for (int k = 0; k < n; k++) {
        double width;
        top += draw_operand(f, j, bound, &all[k], top, &width) + GAP;
        widest = fmax(widest, width);
    }
    *out_width = widest + GAP;
    *out_height = top;
}

int svg_write(const char *path, const job *j, const clpi_bound *bound, const views *all, int n)
{
    char *body = NULL;
    size_t n_bytes = 0;
    double width, height;
    FILE *memory = open_memstream(&body, &n_bytes);
    if (!memory)
        return fail("out of memory");
    draw_all(memory, j, bound, all, n, &width, &height);
    fclose(memory);
    output w;
    bool ok = output_open(&w, path);
    if (ok) {
        fprintf(w.file,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n"
                "<style>text{font:9px sans-serif}.t{font:bold 12px monospace}</style>\n"
                "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                width, height, width, height);
        fwrite(body, 1, n_bytes, w.file);
        fprintf(w.file, "</svg>\n");
        ok = output_close(&w, true);
    }
    const int error = errno;
    free(body);
    return ok ? DONE : fail("%s: %s", path, strerror(error));
}
