/* tuned: what trying has found, kept for the next process.
 * In: a device, a kernel, a class of shapes; values of its open parameters. Out: the values, or none.
 * One file, tuned.jsonl in the folder of the store: an entry a line, each a JSON object, sorted. Two files are merged by putting
 * their lines together: of entries for the same the one that ran fastest counts.
 *
 *     {"device": "clpallas 0.1.0|...", "schedule": "vector", "kernel": "matmul", "code": "5f0c...", "dims": {"M": 1024, ...},
 *      "params": {"bm": 256, ...}, "ns": 1200000, "default_ns": 2000000}
 *
 * code is the hash of the kernel as the compiler sees it, with the parameters that the caller gave and the defaults of the others.
 * Decides what is believed: nothing but which point of the kernel's lists to take. A line that is no entry, or names values
 * that the lists do not have, is passed over. A file that cannot be used is told, and never written over.               */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "base/store.h"
#include "base/str.h"
#include "run/choose.h"

static const char file_name[] = "tuned.jsonl";

enum { MAX_NUMBERS = 64 };

typedef struct number { const char *name; double value; } number;

/* An entry, or the one that is looked for. Strings that are not there are NULL. */
typedef struct entry {
    const char *device, *schedule, *kernel, *code;
    number dims[MAX_NUMBERS], params[MAX_NUMBERS];
    int    n_dims, n_params;
    double ns, default_ns;      /* whole numbers: no locale writes them otherwise */
} entry;

/* ---- Reading a line ---- */

typedef struct reader { const char *at; clpi_arena *arena; } reader;

/* Passes over spaces. */
static bool is_at_end(reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
    return !*r->at;
}

static bool take(reader *r, char c)
{
    if (is_at_end(r) || *r->at != c)
        return false;
    r->at++;
    return true;
}

/* A string with the escapes that json_put writes. */
static bool take_string(reader *r, const char **out)
{
    if (!take(r, '"'))
        return false;
    size_t n = 0;
    while (r->at[n] && r->at[n] != '"')
        n += r->at[n] == '\\' && r->at[n + 1] ? 2 : 1;
    char *text = r->at[n] ? clpi_arena_take(r->arena, n + 1, 1) : NULL, *to = text;
    if (!text)
        return false;
    for (const char *end = r->at + n; r->at < end; r->at++) {
        if (*r->at == '\\' && *++r->at != '"' && *r->at != '\\')
            return false;
        *to++ = *r->at;
    }
    *to = 0;
    r->at++;
    *out = text;
    return true;
}

static bool take_number(reader *r, double *out)
{
    if (is_at_end(r))
        return false;
    const size_t n = strspn(r->at, "+-0123456789.eE");
    const bool is_number = *r->at != '+' && clpi_real_read(r->at, n, r->arena, out);
    r->at += n;
    return is_number && isfinite(*out);
}

static bool take_numbers(reader *r, number *out, int *out_n)
{
    if (!take(r, '{'))
        return false;
    *out_n = 0;
    if (take(r, '}'))
        return true;
    do {
        if (*out_n == MAX_NUMBERS || !take_string(r, &out[*out_n].name) || !take(r, ':') || !take_number(r, &out[*out_n].value))
            return false;
        ++*out_n;
    } while (take(r, ','));
    return take(r, '}');
}

static bool take_member(reader *r, const char *name, entry *e)
{
    const struct { const char *name; const char **text; } texts[] = {
        { "device", &e->device }, { "schedule", &e->schedule }, { "kernel", &e->kernel }, { "code", &e->code }
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(name, texts[i].name))
            return take_string(r, texts[i].text);
    if (!strcmp(name, "dims"))
        return take_numbers(r, e->dims, &e->n_dims);
    if (!strcmp(name, "params"))
        return take_numbers(r, e->params, &e->n_params);
    if (!strcmp(name, "ns"))
        return take_number(r, &e->ns);
    return !strcmp(name, "default_ns") && take_number(r, &e->default_ns);
}

static bool read_entry(const char *line, clpi_arena *arena, entry *out)
{
    reader r = { line, arena };
    const char *name;
    *out = (entry){ .n_params = 0 };
    if (!take(&r, '{'))
        return false;
    do {
        if (!take_string(&r, &name) || !take(&r, ':') || !take_member(&r, name, out))
            return false;
    } while (take(&r, ','));
    return take(&r, '}') && is_at_end(&r) && out->device && out->schedule && out->kernel && out->code && out->ns > 0;
}

/* The next line, cut off with a zero; NULL at the end. */
static char *next_line(char **at)
{
    char *line = *at;
    if (!*line)
        return NULL;
    size_t n = strcspn(line, "\n");
    *at = line + n + (line[n] != 0);
    line[n] = 0;
    return line;
}

/* The lines of the file, or NULL; why one that is there cannot be used, or NULL. A zero in it ends nothing. */
static const char *read_lines(const clpi_store *store, clpi_arena *arena, char **out_text)
{
    size_t n;
    const char *why = clpi_store_read(store, file_name, arena, out_text, &n);
    for (size_t i = 0; i < n && *out_text; i++)
        if (!(*out_text)[i])
            (*out_text)[i] = '?';
    return why;
}

/* ---- Entries ---- */

static const char *schedule_name(const clp_context *ctx)
{
    if (ctx->backend == &clpi_interp_backend)
        return "interp";
    return clpi_cl_realisation(ctx->schedule, &ctx->limits) == CLP_SCHEDULE_SIMT ? "simt" : "vector";
}

/* A hash of the kernel's text. */
static clp_status code_of(const clp_kernel *kernel, clpi_arena *arena, const char **out)
{
    clpi_str s;
    clpi_str_init(&s, arena->env);
    clpi_ir_print(kernel->ir, &s);
    *out = s.failed ? NULL : clpi_arena_printf(arena, "%016" PRIx64, clpi_hash(0, s.text, s.n));
    clpi_str_done(&s);
    return *out ? CLP_OK : CLP_ERR_OOM;
}

/* The device in words; what would end a line or is not for people to see becomes a space, in the file and where it is looked for. */
static char *device_of(const clp_context *ctx, clpi_arena *arena)
{
    clpi_str s;
    clpi_str_init(&s, arena->env);
    ctx->backend->identify(ctx->dev, &s);
    char *text = clpi_str_keep(&s, arena);
    for (char *c = text; c && *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    return text;
}

static clp_status entry_for(const clp_kernel *kernel, const int64_t *class, clpi_arena *arena, entry *out)
{
    *out = (entry){ .device = device_of(kernel->ctx, arena), .schedule = schedule_name(kernel->ctx), .kernel = kernel->ir->name,
                    .n_dims = kernel->ir->n_dims };
    if (!out->device)
        return CLP_ERR_OOM;
    for (int i = 0; i < out->n_dims; i++)
        out->dims[i] = (number){ kernel->ir->dims[i], (double)class[i] };
    return code_of(kernel, arena, &out->code);
}

static double value_of(const number *numbers, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(numbers[i].name, name))
            return numbers[i].value;
    return NAN;
}

static bool is_for_same(const entry *a, const entry *b)
{
    if (strcmp(a->device, b->device) != 0 || strcmp(a->schedule, b->schedule) != 0 || strcmp(a->kernel, b->kernel) != 0 ||
        strcmp(a->code, b->code) != 0 || a->n_dims != b->n_dims)
        return false;
    for (int i = 0; i < a->n_dims; i++)
        if (!(value_of(b->dims, b->n_dims, a->dims[i].name) == a->dims[i].value))
            return false;
    return true;
}

/* The values that an entry names for the open parameters; what is wrong with them, or NULL. */
static const char *read_values(const clpi_choices *choices, const entry *e, clpi_arena *arena, int64_t *out_values)
{
    if (e->n_params != clpi_n_open(choices))
        return "its parameters are not those that are left open";
    for (int i = 0; i < clpi_n_open(choices); i++) {
        const clpi_tune *list = clpi_open_list(choices, i);
        const double value = value_of(e->params, e->n_params, list->param);
        bool is_listed = (double)list->value == value;
        out_values[i] = list->value;
        for (int k = 0; k < list->n_values && !is_listed; k++) {
            out_values[i] = list->values[k];
            is_listed = (double)list->values[k] == value;
        }
        if (!is_listed)
            return clpi_arena_printf(arena, "its value of %s is none of the `tune` list", list->param);
    }
    return NULL;
}

/* i_line 0: the whole file. */
static void warn(const clp_kernel *kernel, const clpi_store *store, int i_line, const char *why, clpi_arena *arena)
{
    const clpi_host *host = &kernel->ctx->host;
    char line[16] = "";
    if (i_line)
        snprintf(line, sizeof line, ":%d", i_line);
    const char *text = host->dump ? clpi_arena_printf(arena, "%s/%s%s: not used: %s", store->folder, file_name, line, why) : NULL;
    if (text)
        host->dump("tuned", kernel->ir->name, text, host->dump_user);
}

clp_status clpi_tuned_find(const clp_kernel *kernel, const int64_t *class, bool warns, clpi_arena *arena, int64_t *out_values,
                           bool *out_found)
{
    clpi_store store;
    entry wanted, e;
    double least = INFINITY;
    char *at, *line;
    int64_t *values = CLPI_NEW_N(arena, int64_t, (size_t)clpi_n_open(kernel->choices));
    *out_found = false;
    clpi_store_open(&store);
    if (!values)
        return CLP_ERR_OOM;
    const char *why_not = read_lines(&store, arena, &at);
    if (why_not && warns && !arena->failed)
        warn(kernel, &store, 0, why_not, arena);
    if (!at)
        return arena->failed ? CLP_ERR_OOM : CLP_OK;
    CLP_TRY(entry_for(kernel, class, arena, &wanted));
    for (int i = 1; (line = next_line(&at)); i++) {
        const bool is_entry = read_entry(line, arena, &e);
        if (is_entry && !is_for_same(&wanted, &e))
            continue;
        const char *why = is_entry ? read_values(kernel->choices, &e, arena, values) : "it is no entry";
        if (why && warns && (is_entry || *line))
            warn(kernel, &store, i, why, arena);
        if (!why && e.ns < least) {
            least = e.ns;
            memcpy(out_values, values, (size_t)clpi_n_open(kernel->choices) * sizeof *values);
            *out_found = true;
        }
    }
    return arena->failed ? CLP_ERR_OOM : CLP_OK;
}

/* ---- Keeping ---- */

static void put_string(clpi_str *s, const char *text)
{
    clpi_str_puts(s, "\"");
    for (; *text; text++)
        clpi_str_add(s, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    clpi_str_puts(s, "\"");
}

static void put_numbers(clpi_str *s, const char *name, const number *numbers, int n)
{
    clpi_str_add(s, ", \"%s\": {", name);
    for (int i = 0; i < n; i++) {
        clpi_str_puts(s, i ? ", " : "");
        put_string(s, numbers[i].name);
        clpi_str_add(s, ": %.0f", numbers[i].value);
    }
    clpi_str_puts(s, "}");
}

static char *line_of(const entry *e, clpi_arena *arena)
{
    const struct { const char *name, *text; } texts[] = {
        { "device", e->device }, { "schedule", e->schedule }, { "kernel", e->kernel }, { "code", e->code }
    };
    clpi_str s;
    clpi_str_init(&s, arena->env);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        clpi_str_add(&s, "%s\"%s\": ", i ? ", " : "{", texts[i].name);
        put_string(&s, texts[i].text);
    }
    put_numbers(&s, "dims", e->dims, e->n_dims);
    put_numbers(&s, "params", e->params, e->n_params);
    clpi_str_add(&s, ", \"ns\": %.0f, \"default_ns\": %.0f}", e->ns, e->default_ns);
    return clpi_str_keep(&s, arena);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The file with the entry in it, in place of all for the same; lines that are no entries are left out. */
static clp_status merge(const entry *added, char *old, clpi_arena *arena, clpi_str *out)
{
    struct { const char **items; uint32_t n, cap; } lines = { 0 };
    const char *mine = line_of(added, arena);
    char *line;
    entry e;
    if (!mine || !CLPI_PUSH(arena, &lines, mine))
        return CLP_ERR_OOM;
    while (old && (line = next_line(&old)))
        if (read_entry(line, arena, &e) && !is_for_same(added, &e) && !CLPI_PUSH(arena, &lines, line))
            return CLP_ERR_OOM;
    qsort(lines.items, lines.n, sizeof *lines.items, by_text);
    for (uint32_t i = 0; i < lines.n; i++)
        clpi_str_add(out, "%s\n", lines.items[i]);
    return arena->failed || out->failed ? CLP_ERR_OOM : CLP_OK;
}

/* What the file has, with the entry; out_why: why it stays as it is, or NULL. */
static clp_status put_in(const entry *added, const clpi_store *store, clpi_arena *arena, const char **out_why)
{
    char *old;
    clpi_str all;
    *out_why = read_lines(store, arena, &old);
    if (*out_why)
        return CLP_OK;
    clpi_str_init(&all, arena->env);
    clp_status status = merge(added, old, arena, &all);
    if (!status && !clpi_store_write(store, file_name, all.text, all.n))
        *out_why = "it cannot be written";
    clpi_str_done(&all);
    return status;
}

clp_status clpi_tuned_keep(const clp_kernel *kernel, const int64_t *class, const int64_t *values, double seconds,
                           double default_seconds, clpi_arena *arena, const char **out_why)
{
    clpi_store store;
    entry e;
    *out_why = NULL;
    clpi_store_open(&store);
    CLP_TRY(entry_for(kernel, class, arena, &e));
    e.n_params = clpi_n_open(kernel->choices);
    for (int i = 0; i < e.n_params; i++)
        e.params[i] = (number){ clpi_open_list(kernel->choices, i)->param, (double)values[i] };
    e.ns = ceil(seconds * 1e9);
    e.default_ns = ceil(default_seconds * 1e9);
    if (!store.folder[0]) {
        *out_why = clpi_arena_printf(arena, "%s", store.reason);
        return *out_why ? CLP_OK : CLP_ERR_OOM;
    }
    int lock;
    const char *why = clpi_store_lock(&store, file_name, &lock);
    clp_status status = CLP_OK;
    if (why)
        why = clpi_arena_printf(arena, "it cannot be locked: %s", why);
    else
        status = put_in(&e, &store, arena, &why);
    clpi_store_unlock(lock);
    if (!status && why)
        *out_why = clpi_arena_printf(arena, "%s/%s: %s", store.folder, file_name, why);
    return arena->failed ? CLP_ERR_OOM : status;
}
