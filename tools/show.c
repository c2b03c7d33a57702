/* show: `clpallas show`: which program sees which block; what one program does is trace.c's.
 * In: a kernel, and arrays or dims that give its sizes. Out: for every operand with a block a table of its blocks with
 * the programs that see each, in the terminal or as a picture. Every program of the launch is asked for its windows, so
 * data- dependent maps are drawn too, from the prefetch operand's content. Decides how programs are summed up: "(0, *,
 * 2)" means program ids, * all values of an axis, 0..3 some.                */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

#include "run/run.h"

enum { MAX_PROGRAMS = 1 << 16, MAX_CELLS = 9, EDGE_CELLS = 4, MAX_TABLES = 6, TEXT = 160 };

/* One program's block, as it was asked for. */
typedef struct sight {
    int64_t start[CLP_MAX_RANK];
    uint64_t program;
} sight;

static int by_start(const void *a, const void *b)
{
    const sight *x = a, *y = b;
    for (int d = 0; d < CLP_MAX_RANK; d++)
        if (x->start[d] != y->start[d])
            return x->start[d] < y->start[d] ? -1 : 1;
    return x->program < y->program ? -1 : x->program > y->program;
}

static void program_of(const clpi_bound *bound, uint64_t number, int64_t *program)
{
    clpi_program_at(bound, number / bound->n_steps, number % bound->n_steps, program);
}

static void add_program(const job *j, const clpi_bound *bound, const clpi_prefetch *prefetch, view *v, int operand,
                        uint64_t number)
{
    int64_t program[CLPI_MAX_AXES] = { 0 };
    program_of(bound, number, program);
    if (v->n_programs++ == 0) {
        clpi_window w[CLP_MAX_RANK] = { { 0, 0, 0 } };
        v->is_inside = clpi_windows(bound, operand, program, prefetch, w);
        for (int d = 0; d < j->ir->operands[operand].rank; d++) {
            v->start[d] = w[d].start;
            v->lo[d] = w[d].lo;
            v->hi[d] = w[d].hi;
        }
        memcpy(v->first, program, sizeof program);
        memcpy(v->last, program, sizeof program);
    }
    for (int a = 0; a < j->ir->n_axes; a++) {
        v->first[a] = program[a] < v->first[a] ? program[a] : v->first[a];
        v->last[a] = program[a] > v->last[a] ? program[a] : v->last[a];
    }
}

/* The blocks of one operand; items stays NULL when out of memory. */
static void find_views(job *j, const clpi_bound *bound, int operand, views *out)
{
    const uint64_t n = bound->n_sequences * bound->n_steps;
    const int rank = j->ir->operands[operand].rank;
    clpi_prefetch p;
    const clpi_prefetch *prefetch = prefetch_of(j, &p);
    sight *seen = calloc(n + 1, sizeof *seen);
    *out = (views){ operand, calloc(n + 1, sizeof(view)), 0 };
    for (uint64_t k = 0; seen && k < n; k++) {
        int64_t program[CLPI_MAX_AXES] = { 0 };
        clpi_window w[CLP_MAX_RANK] = { { 0, 0, 0 } };
        program_of(bound, k, program);
        clpi_windows(bound, operand, program, prefetch, w);
        seen[k].program = k;
        for (int d = 0; d < rank; d++)
            seen[k].start[d] = w[d].start;
    }
    if (seen && out->items) {
        qsort(seen, n, sizeof *seen, by_start);
        for (uint64_t k = 0; k < n; k++) {
            if (k == 0 || memcmp(seen[k].start, seen[k - 1].start, sizeof seen[k].start))
                out->n++;
            add_program(j, bound, prefetch, &out->items[out->n - 1], operand, seen[k].program);
        }
    }
    if (!seen) {
        free(out->items);
        out->items = NULL;
    }
    free(seen);
}

/* Appends; stops quietly at the end. */
static size_t append(char *text, size_t n_bytes, size_t n, const char *more)
{
    return n < n_bytes ? n + (size_t)snprintf(text + n, n_bytes - n, "%s", more) : n;
}

void view_label(char *text, size_t n_bytes, const job *j, const clpi_bound *bound, const view *v)
{
    int64_t box = 1;
    for (int a = 0; a < j->ir->n_axes; a++)
        box *= v->last[a] - v->first[a] + 1;
    size_t n = append(text, n_bytes, 0, "(");
    for (int a = 0; a < j->ir->n_axes; a++) {
        char one[48];
        const bool all = v->last[a] - v->first[a] + 1 == bound->box_count[a] && bound->box_count[a] > 1;
        if (all)
            snprintf(one, sizeof one, "*");
        else if (v->first[a] == v->last[a])
            snprintf(one, sizeof one, "%lld", (long long)v->first[a]);
        else
            snprintf(one, sizeof one, "%lld..%lld", (long long)v->first[a], (long long)v->last[a]);
        n = append(text, n_bytes, n, a ? ", " : "");
        n = append(text, n_bytes, n, one);
    }
    append(text, n_bytes, n, ")");
    /* Not all of that box: how many. */
    if (box != v->n_programs)
        snprintf(text, n_bytes, "%lld programs", (long long)v->n_programs);
}

void operand_title(char *text, size_t n_bytes, const job *j, const clpi_bound *bound, int operand)
{
    static const char *const roles[] = { "in", "out", "inout", "prefetch", "scratch", "scalar" };
    const clpi_operand *x = &j->ir->operands[operand];
    char one[64];
    snprintf(one, sizeof one, "%s %s: %s[", roles[x->role], x->name, clp_dtype_name(x->dtype));
    size_t n = append(text, n_bytes, 0, one);
    for (int d = 0; d < x->rank; d++) {
        snprintf(one, sizeof one, "%s%lld", d ? ", " : "", (long long)bound->operands[operand].size[d]);
        n = append(text, n_bytes, n, one);
    }
    n = append(text, n_bytes, n, x->has_block ? "] block [" : "]");
    for (int d = 0; x->has_block && d < x->rank; d++) {
        const clpi_block_dim *b = &x->block[d];
        n = append(text, n_bytes, n, d ? ", " : "");
        if (b->kind == CLPI_BLOCK_SQUEEZED)
            snprintf(one, sizeof one, "_");
        else if (b->kind == CLPI_BLOCK_ELEMENT && b->pad_lo != 0)
            snprintf(one, sizeof one, "element(%lld, pad = %lld)", (long long)b->n, (long long)b->pad_lo);
        else
            snprintf(one, sizeof one, b->kind == CLPI_BLOCK_ELEMENT ? "element(%lld)" : "%lld", (long long)b->n);
        n = append(text, n_bytes, n, one);
    }
    append(text, n_bytes, n, x->has_block ? "]" : ", seen whole by every program");
}

/* ---- Tables in the terminal ---- */

/* The places along one dimension: where blocks start. */
typedef struct places {
    int64_t *start;
    int n;
} places;

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* All starts that are seen; of plain dimensions those that are not seen too, where they are few. */
static places find_places(const job *j, const clpi_bound *bound, const views *v, int dim)
{
    const clpi_block_dim *b = &j->ir->operands[v->operand].block[dim];
    const int64_t size = bound->operands[v->operand].size[dim];
    const int64_t unit = b->kind == CLPI_BLOCK_ELEMENT ? 0 : b->n;
    const int64_t all = unit > 0 && size / unit < 4096 ? (size + unit - 1) / unit : 0;
    places p = { calloc((size_t)(v->n + all) + 1, sizeof *p.start), 0 };
    int n = 0;
    for (int i = 0; p.start && i < v->n; i++)
        p.start[n++] = v->items[i].start[dim];
    for (int64_t i = 0; p.start && i < all; i++)
        p.start[n++] = i * unit;
    if (p.start)
        qsort(p.start, (size_t)n, sizeof *p.start, by_number);
    for (int i = 0; i < n; i++)
        if (p.n == 0 || p.start[i] != p.start[p.n - 1])
            p.start[p.n++] = p.start[i];
    return p;
}

static const view *find_view(const views *v, const int64_t *start, int rank)
{
    for (int i = 0; i < v->n; i++)
        if (!memcmp(v->items[i].start, start, (size_t)rank * sizeof *start))
            return &v->items[i];
    return NULL;
}

static void range_text(char *text, size_t n_bytes, const clpi_block_dim *b, int64_t start)
{
    if (b->kind == CLPI_BLOCK_SQUEEZED)
        snprintf(text, n_bytes, "%lld", (long long)start);
    else
        snprintf(text, n_bytes, "%lld:%lld", (long long)start, (long long)(start + b->n));
}

typedef struct table {
    const job *j;
    const clpi_bound *bound;
    const views *v;
    int row_dim, column_dim; /* row_dim -1: one row */
    places rows, columns;
    int64_t start[CLP_MAX_RANK]; /* of the block that is looked at; leading dimensions are set */
} table;

static void cell_text(table *t, char *text, size_t n_bytes, int row, int column)
{
    const clpi_operand *x = &t->j->ir->operands[t->v->operand];
    if (t->row_dim >= 0)
        t->start[t->row_dim] = t->rows.start[row];
    t->start[t->column_dim] = t->columns.start[column];
    const view *v = find_view(t->v, t->start, x->rank);
    if (!v)
        snprintf(text, n_bytes, "-");
    else if (!v->is_inside)
        snprintf(text, n_bytes, "outside");
    else
        view_label(text, n_bytes, t->j, t->bound, v);
}

/* Long tables show the first and last few rows and columns. */
static int next_place(int i, int n)
{
    return n > MAX_CELLS && i == EDGE_CELLS - 1 ? n - EDGE_CELLS : i + 1;
}

static void print_table(table *t)
{
    const clpi_operand *x = &t->j->ir->operands[t->v->operand];
    int width = 1, left = 1;
    char text[TEXT];
    const int n_rows = t->row_dim >= 0 ? t->rows.n : 1;
    for (int r = 0; r < n_rows; r = next_place(r, n_rows)) {
        if (t->row_dim >= 0)
            range_text(text, sizeof text, &x->block[t->row_dim], t->rows.start[r]);
        left = t->row_dim >= 0 && (int)strlen(text) > left ? (int)strlen(text) : left;
        for (int c = 0; c < t->columns.n; c = next_place(c, t->columns.n)) {
            cell_text(t, text, sizeof text, r, c);
            width = (int)strlen(text) > width ? (int)strlen(text) : width;
            range_text(text, sizeof text, &x->block[t->column_dim], t->columns.start[c]);
            width = (int)strlen(text) > width ? (int)strlen(text) : width;
        }
    }
    for (int r = -1; r < n_rows; r = next_place(r, n_rows)) {
        text[0] = '\0';
        if (r >= 0 && t->row_dim >= 0)
            range_text(text, sizeof text, &x->block[t->row_dim], t->rows.start[r]);
        printf("    %*s", left, text);
        for (int c = 0; c < t->columns.n; c = next_place(c, t->columns.n)) {
            if (r < 0)
                range_text(text, sizeof text, &x->block[t->column_dim], t->columns.start[c]);
            else
                cell_text(t, text, sizeof text, r, c);
            printf("  %-*s", c + 1 < t->columns.n ? width : 0, text);
            if (t->columns.n > MAX_CELLS && c == EDGE_CELLS - 1)
                printf("  ...");
        }
        putchar('\n');
        if (n_rows > MAX_CELLS && r == EDGE_CELLS - 1)
            printf("    %*s\n", left, "...");
    }
}

/* A table for each place of the leading dimensions. */
static void print_tables(table *t)
{
    const int rank = t->j->ir->operands[t->v->operand].rank;
    const int n_leading = rank - (t->row_dim >= 0 ? 2 : 1);
    int n_tables = 0;
    for (int i = 0; i < t->v->n; i++) {
        const view *v = &t->v->items[i];
        if (i > 0 && !memcmp(v->start, v[-1].start, (size_t)n_leading * sizeof *v->start))
            continue;
        if (n_tables++ == MAX_TABLES) {
            printf("    ... and more\n");
            return;
        }
        memcpy(t->start, v->start, sizeof t->start);
        if (n_leading > 0) {
            printf("    [");
            for (int d = 0; d < n_leading; d++) {
                char text[TEXT];
                range_text(text, sizeof text, &t->j->ir->operands[t->v->operand].block[d], v->start[d]);
                printf("%s%s", text, d + 1 < n_leading ? ", " : "]\n");
            }
        }
        print_table(t);
    }
}

static int print_operand(job *j, const clpi_bound *bound, const views *v)
{
    const clpi_operand *x = &j->ir->operands[v->operand];
    char title[TEXT * 2];
    operand_title(title, sizeof title, j, bound, v->operand);
    printf("\n%s\n", title);
    if (!x->has_block || v->n == 0)
        return DONE;
    if (x->rank == 0) {
        view_label(title, sizeof title, j, bound, &v->items[0]);
        printf("    %s\n", title);
        return DONE;
    }
    table t = { .j = j, .bound = bound, .v = v, .row_dim = x->rank - 2, .column_dim = x->rank - 1 };
    t.columns = find_places(j, bound, v, t.column_dim);
    if (t.row_dim >= 0)
        t.rows = find_places(j, bound, v, t.row_dim);
    const bool ok = t.columns.start && (t.row_dim < 0 || t.rows.start);
    if (ok)
        print_tables(&t);
    free(t.columns.start);
    free(t.rows.start);
    return ok ? DONE : fail("out of memory");
}

void grid_title(char *text, size_t n_bytes, const job *j, const clpi_bound *bound)
{
    char one[128];
    size_t n = append(text, n_bytes, 0, clp_kernel_name(j->kernel));
    n = append(text, n_bytes, n, ": grid (");
    for (int a = 0; a < j->ir->n_axes; a++) {
        snprintf(one, sizeof one, "%s%.64s = %lld%s", a ? ", " : "", j->ir->axes[a].name, (long long)bound->axis_size[a],
                 j->ir->axes[a].is_arbitrary ? " arbitrary" : "");
        n = append(text, n_bytes, n, one);
    }
    const unsigned long long n_programs = bound->n_sequences * bound->n_steps;
    snprintf(one, sizeof one, "), %llu program%s", n_programs, n_programs == 1 ? "" : "s");
    append(text, n_bytes, n, one);
}

static void print_grid(const job *j, const clpi_bound *bound)
{
    char title[1024];
    grid_title(title, sizeof title, j, bound);
    printf("%s. A cell lists the programs that see the block: (", title);
    for (int a = 0; a < j->ir->n_axes; a++)
        printf("%s%s", a ? ", " : "", j->ir->axes[a].name);
    printf("), * for all.\n");
}

static int show(job *j, const clpi_bound *bound)
{
    if (bound->n_sequences > MAX_PROGRAMS || bound->n_sequences * bound->n_steps > MAX_PROGRAMS)
        return fail("%s: more than %d programs; draw a part with --box", clp_kernel_name(j->kernel), MAX_PROGRAMS);
    views *all = calloc((size_t)j->n + 1, sizeof *all);
    int n = 0, status = all ? DONE : fail("out of memory");
    for (int i = 0; !status && i < j->n; i++) {
        const int x = job_operand(j, i);
        if (j->ir->operands[x].role == CLP_SCALAR)
            continue;
        find_views(j, bound, x, &all[n]);
        if (!all[n++].items)
            status = fail("out of memory");
    }
    if (!status && j->o->svg) {
        status = svg_write(j->o->svg, j, bound, all, n);
    } else if (!status) {
        print_grid(j, bound);
        for (int k = 0; !status && k < n; k++)
            status = print_operand(j, bound, &all[k]);
    }
    for (int k = 0; k < n; k++)
        free(all[k].items);
    free(all);
    return status;
}

int command_show(const options *o)
{
    job j;
    int status = job_open_text(&j, o, "interp");
    if (!status)
        status = job_arrays(&j, o->trace.n ? MAKE_UP_MISSING : MAKE_UP_MISSING | SHAPES_ONLY);
    if (!status) {
        clpi_arena arena;
        clpi_bound *bound = NULL;
        clpi_arena_init(&arena, &j.ctx->env);
        status = bind_job(&j, &arena, &bound);
        if (!status)
            status = o->trace.n ? trace_program(&j, bound) : show(&j, bound);
        clpi_arena_done(&arena);
    }
    job_done(&j);
    return status;
}
