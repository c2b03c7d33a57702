/* bench_print: what `clpallas bench` says.
 * In: a contest that was timed. Out: lines of a table, rows of JSON, or bars of a picture: a ratio is the peer's least time over
 * ours. Decides nothing: which peer of a group counts, side_counts does. */
#include <math.h>

#include "bench.h"

static double ratio_of(const contest *c, int i)
{
    return c->sides[i].min_s / c->sides[0].min_s;
}

/* How fast that is, where work or traffic is counted. */
static const char *rate(char *text, size_t n_bytes, const contest *c, double seconds)
{
    *text = '\0';
    if (c->flops > 0)
        snprintf(text, n_bytes, "%.3g GFLOP/s", c->flops / seconds / 1e9);
    else if (c->bytes > 0)
        snprintf(text, n_bytes, "%.3g GB/s", c->bytes / seconds / 1e9);
    return text;
}

void print_head(void)
{
    printf("%-30s %-16s %-28s %10s %10s  %-14s %7s %7s\n", "work", "shape", "who", "minimum", "median", "rate", "ratio", "wanted");
}

static void print_side(const contest *c, int i)
{
    char least[32], median[32], speed[32], ratio[32] = "", wanted[32] = "";
    const side *s = &c->sides[i];
    if (i > 0 && s->n_times)
        snprintf(ratio, sizeof ratio, "%.3g", ratio_of(c, i));
    if (s->wanted > 0 && side_counts(c, i))
        snprintf(wanted, sizeof wanted, "%.3g", s->wanted);
    printf("%-30s %-16s %-28s ", i ? "" : c->work, i ? "" : c->shape, s->name);
    if (*s->missing)
        printf("peer missing: %s\n", s->missing);
    else
        printf("%10s %10s  %-14s %7s %7s%s%s\n", seconds_text(least, sizeof least, s->min_s),
               seconds_text(median, sizeof median, s->median_s), rate(speed, sizeof speed, c, s->min_s), ratio, wanted,
               i || !*c->params ? "" : " ", i ? "" : c->params);
}

void print_contest(const contest *c)
{
    for (int i = 0; i < c->n_sides; i++)
        print_side(c, i);
    fflush(stdout);
}

static void json_field(const char *name, const char *value)
{
    printf("\"%s\": ", name);
    json_string(stdout, value);
    printf(", ");
}

static void json_side(const contest *c, int i)
{
    const side *s = &c->sides[i], *ours = &c->sides[0];
    printf("{");
    json_field("work", c->work);
    json_field("shape", c->shape);
    json_field("params", c->params);
    json_field("peer", s->name);
    printf("\"ours_s\": %.9g, \"ours_median_s\": %.9g, \"ours_runs\": %d, ", ours->min_s, ours->median_s, ours->n_times);
    if (*s->missing) {
        printf("\"peer_s\": null, \"ratio\": null, \"wanted\": null, \"missing\": ");
        json_string(stdout, s->missing);
        putchar('}');
        return;
    }
    printf("\"peer_s\": %.9g, \"peer_median_s\": %.9g, \"peer_runs\": %d, \"ratio\": %.6g, \"wanted\": ", s->min_s, s->median_s,
           s->n_times, ratio_of(c, i));
    if (s->wanted > 0 && side_counts(c, i))
        printf("%.3g", s->wanted);
    else
        printf("null");
    if (c->flops > 0)
        printf(", \"flops\": %.17g", c->flops);
    if (c->bytes > 0)
        printf(", \"bytes\": %.17g", c->bytes);
    putchar('}');
}

void json_contest(const contest *c, bool *is_first)
{
    for (int i = 1; i < c->n_sides; i++) {
        printf("%s\n  ", *is_first ? "" : ",");
        json_side(c, i);
        *is_first = false;
    }
    fflush(stdout);
}

/* ---- The picture ---- */

/* A bar for each goal: its ratio over the one wanted; the scale is logarithmic, from 1 / SPAN to SPAN:
 *
 *     name                        |         wanted |            |
 *     matmul-1024, oneDNN         |################|####  1.2 of 1
 */
enum { BAR_LEFT = 330, BAR_WIDTH = 480, BAR_HEIGHT = 15, BAR_STEP = 20, BAR_TOP = 56, SPAN = 32 };

static void put_escaped(FILE *f, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '&')
            fputs(*text == '<' ? "&lt;" : "&amp;", f);
        else
            fputc(*text, f);
}

static double place_of(double share)
{
    const double at = (log(share) / log(SPAN) + 1) / 2;
    return BAR_LEFT + BAR_WIDTH * (at < 0 ? 0 : at > 1 ? 1 : at);
}

void svg_bars_add(FILE *f, const contest *c, int *n_bars)
{
    for (int i = 1; i < c->n_sides; i++) {
        const side *s = &c->sides[i];
        if (!(s->wanted > 0) || !side_counts(c, i))
            continue;
        const double ratio = ratio_of(c, i), share = ratio / s->wanted;
        const int top = BAR_TOP + BAR_STEP * (*n_bars)++;
        fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", BAR_LEFT - 8, top + 12);
        put_escaped(f, c->work);
        fprintf(f, ", ");
        put_escaped(f, s->name);
        fprintf(f, "</text><rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>", BAR_LEFT, top, place_of(share) - BAR_LEFT,
                BAR_HEIGHT, share >= 1 ? "#4a8f5a" : share >= 0.9 ? "#c9a93b" : "#b5523f");
        fprintf(f, "<text x=\"%.1f\" y=\"%d\">%.3g of %.3g</text>\n", fmax(place_of(share), place_of(1)) + 6, top + 12, ratio, s->wanted);
    }
}

void svg_bars_write(FILE *f, const char *cpu, const char *device, const char *bars, int n_bars)
{
    const int bottom = BAR_TOP + BAR_STEP * n_bars, width = BAR_LEFT + BAR_WIDTH + 150, height = bottom + 24;
    fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n", width, height);
    fprintf(f, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height);
    fprintf(f, "<text x=\"10\" y=\"20\" font-size=\"14\">clpallas bench: ratios, of what is wanted</text>\n<text x=\"10\" y=\"38\" fill=\"#555\">");
    put_escaped(f, cpu);
    fprintf(f, "; ");
    put_escaped(f, device);
    fprintf(f, "</text>\n%s", bars);
    fprintf(f, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#222\"/>\n<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">wanted</text>\n</svg>\n",
            place_of(1), place_of(1), BAR_TOP - 4, bottom, place_of(1), bottom + 14);
}
