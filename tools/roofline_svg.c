/* roofline_svg: the picture of `roofline --svg`: operations a second over operations a byte, both in powers of ten.
 * In: a launch and the same with other block sizes. Out: an SVG file, whole or not at all.
 * Decides the range: it holds all points and the corners of the roofs. Rising roofs are bandwidths, level ones arithmetic. A full
 * dot is the launch when every element moves once, a ring what moves as blocks come; small rings are other block sizes. */
#include "output.h"
#include "tool.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { LEFT = 70, TOP = 50, WIDTH = 620, HEIGHT = 380, RIGHT = 150, BOTTOM = 60 };

typedef struct plot {
    FILE *f;
    double x0, x1, y0, y1;        /* powers of ten */
} plot;

static double all_ops(const clp_roofline_point *p)
{
    return p->float_ops + p->int_ops;
}

static double streamed_intensity(const clp_roofline_point *p)
{
    return p->streamed_bytes > 0 ? all_ops(p) / p->streamed_bytes : p->intensity;
}

static double x_of(const plot *p, double intensity)
{
    return LEFT + WIDTH * (log10(intensity) - p->x0) / (p->x1 - p->x0);
}

static double y_of(const plot *p, double rate)
{
    return TOP + HEIGHT * (1 - (log10(rate) - p->y0) / (p->y1 - p->y0));
}

static void widen(double *lo, double *hi, double value)
{
    if (!(value > 0))
        return;
    const double power = log10(value);
    *lo = power < *lo ? power : *lo;
    *hi = power > *hi ? power : *hi;
}

static void find_range(plot *p, const clp_roofline_point *at, const sweep *s)
{
    double highest = 0;
    *p = (plot){ .f = p->f, .x0 = INFINITY, .x1 = -INFINITY, .y0 = INFINITY, .y1 = -INFINITY };
    for (int i = 0; i < at->n_ops; i++) {
        widen(&p->y0, &p->y1, at->ops[i].peak);
        highest = fmax(highest, at->ops[i].peak);
    }
    widen(&p->x0, &p->x1, highest / at->peak_bytes_s);
    widen(&p->x0, &p->x1, at->intensity);
    widen(&p->x0, &p->x1, streamed_intensity(at));
    widen(&p->y0, &p->y1, at->ops_s);
    widen(&p->y0, &p->y1, at->attainable_ops_s);
    for (int i = 0; i < s->n; i++) {
        if (*s->items[i].why)
            continue;
        widen(&p->x0, &p->x1, streamed_intensity(&s->items[i].at));
        widen(&p->y0, &p->y1, s->items[i].at.ops_s);
    }
    p->x0 = floor(p->x0 - 0.3);
    p->x1 = ceil(p->x1 + 0.3);
    p->y0 = floor(p->y0 - 0.1);
    p->y1 = ceil(p->y1 + 0.1);
}

/* 10^9 as "1 G". */
static void power_text(char *text, size_t n_bytes, int power)
{
    static const char *const prefixes[] = { "", " k", " M", " G", " T", " P" };
    static const char *const ones[] = { "1", "10", "100" };
    if (power < 0 || power > 17)
        snprintf(text, n_bytes, "%g", pow(10, power));
    else
        snprintf(text, n_bytes, "%s%s", ones[power % 3], prefixes[power / 3]);
}

static void draw_grid(const plot *p)
{
    char text[32];
    fprintf(p->f, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#fcfcfc\" stroke=\"#bbb\"/>\n", LEFT, TOP, WIDTH, HEIGHT);
    for (int k = (int)p->x0; k <= (int)p->x1; k++) {
        const double x = x_of(p, pow(10, k));
        power_text(text, sizeof text, k);
        fprintf(p->f, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#e4e4e4\"/><text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                x, TOP, x, TOP + HEIGHT, x, TOP + HEIGHT + 16, text);
    }
    for (int k = (int)p->y0; k <= (int)p->y1; k++) {
        const double y = y_of(p, pow(10, k));
        power_text(text, sizeof text, k);
        fprintf(p->f, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#e4e4e4\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                LEFT, y, LEFT + WIDTH, y, LEFT - 6, y + 4, text);
    }
    fprintf(p->f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">operations a byte</text>\n", LEFT + WIDTH / 2, TOP + HEIGHT + 34);
    fprintf(p->f, "<text x=\"%d\" y=\"%d\">full: every element moves once; ring: as blocks come; small rings: other block sizes</text>\n", LEFT,
            TOP + HEIGHT + 52);
    fprintf(p->f, "<text transform=\"translate(16 %d) rotate(-90)\" text-anchor=\"middle\">operations a second</text>\n", TOP + HEIGHT / 2);
}

/* The level roofs, and the rising one up to the highest of them. */
static void draw_roofs(const plot *p, const clp_roofline_point *at)
{
    double highest = 0, last_y = -100;
    for (int i = 0; i < at->n_ops; i++) {
        const clp_roofline_ops *o = &at->ops[i];
        const double y = y_of(p, o->peak), corner = x_of(p, o->peak / at->peak_bytes_s), from = corner < LEFT ? LEFT : corner;
        highest = fmax(highest, o->peak);
        fprintf(p->f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"1.6\"/>\n", from, y, LEFT + WIDTH, y,
                o->is_dot ? "#b0441e" : "#d99a2b");
        /* Labels of roofs that lie close are moved apart. */
        const double label = fabs(y - last_y) < 12 ? last_y + 12 : y;
        last_y = label;
        fprintf(p->f, "<text x=\"%d\" y=\"%.1f\">%s%s: %.4g G/s</text>\n", LEFT + WIDTH + 6, label + 4, o->is_dot ? "dot " : "",
                clp_dtype_name(o->dtype), o->peak / 1e9);
    }
    const double from = fmax(pow(10, p->x0), pow(10, p->y0) / at->peak_bytes_s), to = fmin(highest / at->peak_bytes_s, pow(10, p->x1));
    const double x = x_of(p, sqrt(from * to)), y = y_of(p, sqrt(from * to) * at->peak_bytes_s);
    const double slope = atan2(y_of(p, from * at->peak_bytes_s) - y_of(p, to * at->peak_bytes_s), x_of(p, to) - x_of(p, from)) * 57.29578;
    fprintf(p->f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#2b6cb0\" stroke-width=\"1.6\"/>\n", x_of(p, from),
            y_of(p, from * at->peak_bytes_s), x_of(p, to), y_of(p, to * at->peak_bytes_s));
    fprintf(p->f, "<text transform=\"translate(%.1f %.1f) rotate(%.1f)\" text-anchor=\"middle\" fill=\"#2b6cb0\">%.4g GB/s</text>\n", x, y - 6,
            -slope, at->peak_bytes_s / 1e9);
}

static void draw_point(const plot *p, double intensity, double rate, double radius, bool is_full, const char *label)
{
    if (!(intensity > 0) || !(rate > 0))
        return;
    fprintf(p->f, "<g><title>");
    svg_put_text(p->f, label);
    fprintf(p->f, "</title><circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" stroke=\"#226644\" stroke-width=\"1.4\"/></g>\n", x_of(p, intensity),
            y_of(p, rate), radius, is_full ? "#226644" : "#fff");
}

static void draw_points(const plot *p, const clp_roofline_point *at, const sweep *s)
{
    char label[256];
    const double streamed = streamed_intensity(at);
    for (int i = 0; i < s->n; i++) {
        const sweep_point *o = &s->items[i];
        snprintf(label, sizeof label, "%s: %.4g G/s", o->params, o->at.ops_s / 1e9);
        if (!*o->why)
            draw_point(p, streamed_intensity(&o->at), o->at.ops_s, 3, false, label);
    }
    if (at->ops_s > 0 && at->intensity > 0) {
        const double x = x_of(p, at->intensity);
        fprintf(p->f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#226644\" stroke-dasharray=\"2 3\"/>\n", x,
                y_of(p, at->attainable_ops_s), x, y_of(p, at->ops_s));
        fprintf(p->f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#226644\" stroke-width=\"0.7\"/>\n", x_of(p, streamed),
                y_of(p, at->ops_s), x, y_of(p, at->ops_s));
    }
    snprintf(label, sizeof label, "as blocks come: %.4g G/s", at->ops_s / 1e9);
    draw_point(p, streamed, at->ops_s, 5, false, label);
    snprintf(label, sizeof label, "every element once: %.4g G/s, attainable %.4g", at->ops_s / 1e9, at->attainable_ops_s / 1e9);
    draw_point(p, at->intensity, at->ops_s, 5, true, label);
}

static void draw_heading(FILE *f, const job *j, const clp_roofline_point *at)
{
    fprintf(f, "<text x=\"%d\" y=\"20\" class=\"t\">", LEFT);
    svg_put_text(f, clp_kernel_name(j->kernel));
    svg_put_text(f, " on ");
    svg_put_text(f, clp_context_device(j->ctx));
    fprintf(f, "</text>\n<text x=\"%d\" y=\"38\">", LEFT);
    if (all_ops(at) > 0)
        fprintf(f, "%.4g of %.4g G operations a second, ", at->ops_s / 1e9, at->attainable_ops_s / 1e9);
    else
        fprintf(f, "nothing is computed: ");
    fprintf(f, "%.4g of %.4g GB/s; %.0f %% of what is attainable, bound by %s</text>\n", at->seconds > 0 ? at->bytes / at->seconds / 1e9 : 0,
            at->peak_bytes_s / 1e9, at->seconds > 0 ? 100 * at->attainable_s / at->seconds : 0, clp_roof_name(at->roof));
}

int svg_write_roofline(const char *path, const job *j, const clp_roofline_point *at, const sweep *s)
{
    output w;
    if (!output_open(&w, path))
        return fail("%s: %s", path, strerror(errno));
    const int width = LEFT + WIDTH + RIGHT, height = TOP + HEIGHT + BOTTOM;
    fprintf(w.file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n"
            "<style>text{font:11px sans-serif;fill:#333}.t{font:bold 13px sans-serif}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", width, height, width, height);
    draw_heading(w.file, j, at);
    if (all_ops(at) > 0 && at->bytes > 0) {
        plot p = { .f = w.file };
        find_range(&p, at, s);
        draw_grid(&p);
        draw_roofs(&p, at);
        draw_points(&p, at, s);
    }
    fprintf(w.file, "</svg>\n");
    return output_close(&w, true) ? DONE : fail("%s: %s", path, strerror(errno));
}
