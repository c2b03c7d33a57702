/* racy: kernels from seeds whose programs are in each other's way, and an oracle that knows where.
 * In: the first seed and how many. Out: a line and the text of each kernel about which the detector and the oracle do not
 * agree; a count. Exit status 1 if there was one.
 * The oracle shares nothing with the library: this file makes the subscripts, so it evaluates them itself, program by
 * program, and compares all accesses of all programs pair by pair. Decided for each element of each storage:
 *
 *     HARD   two sequences touch it, one plainly writes (or one updates atomically and the other reads), and what is
 *            written by it (of two writes by the later one) was not there before
 *     SOFT   the same, but in each such pair it was
 *     NONE   otherwise
 *
 * Per element the detector must say the same. What it proves for all shapes must hold on these.
 *
 * usage: racy_runner SEED COUNT [--print] */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "check/prove.h"
#include "support/support.h"
#include "tool.h"

enum { MAX_STORAGE = 3, MAX_NAMES = 5, MAX_ELEMS = 16, MAX_STATEMENTS = 6, MAX_LANES = 8, TABLE = 6, MAX_PROGRAMS = 32,
       MAX_EVENTS = 1 << 14, TEXT_BYTES = 8192, N_VARS = 5 };

typedef enum verdict { NONE, SOFT, HARD } verdict;

/* (c[0] * i + c[1] * j + c[2] * k + c[3] * e + c[4] * 1) % mod, of program ids and the index of a loop. */
typedef struct linear { int c[N_VARS], mod; } linear;

/* A name for a storage: how its elements are seen. */
typedef struct named {
    char   name[4];
    int    storage;
    bool   is_input;              /* an `in` on whose storage the next name stands by alias */
    bool   has_block, is_window, by_table;
    int    block;                 /* elements */
    linear map;
} named;

typedef enum access_kind { LOAD, STORE, ADD, MAX, XCHG, CAS, N_KINDS } access_kind;
typedef enum place { AT, RANGE, TILE, TABLE_AT, WHOLE, N_PLACES } place;
typedef enum content { CONSTANT, PROGRAM, LOADED, N_CONTENTS } content;

typedef struct statement {
    access_kind kind;
    int     name;                 /* which operand */
    place   place;
    linear  start;
    int     lanes, stride;
    bool    has_mask;
    linear  mask;                 /* lane l passes when (l + mask) % mask.mod < mask_below */
    int     mask_below;
    content content;
    int     constant;
    linear  value;
    int     turns;                /* of a loop around it; 0: none */
    bool    has_condition;
    linear  condition;            /* == 0 */
} statement;

typedef struct racy {
    uint64_t state;
    int  n_axes, size[3];
    bool is_arbitrary[3];
    int  n_storages, n_elems[MAX_STORAGE], start[MAX_STORAGE][MAX_ELEMS];
    clp_dtype dtype[MAX_STORAGE];
    int  n_names, n_statements, table[TABLE];
    named names[MAX_NAMES];
    statement statements[MAX_STATEMENTS];
    char text[TEXT_BYTES];
} racy;

static int draw(racy *r, int n)
{
    return (int)(random_next(&r->state) >> 33) % n;
}

/* ---- Kernels ---- */

static linear draw_linear(racy *r, int mod, bool in_loop)
{
    linear l = { .mod = mod };
    for (int v = 0; v < r->n_axes; v++)
        l.c[v] = draw(r, 3) ? draw(r, 4) : 0;
    l.c[3] = in_loop ? draw(r, 3) : 0;
    l.c[4] = draw(r, 3) ? 0 : draw(r, mod);
    return l;
}

static void draw_grid(racy *r)
{
    r->n_axes = 1 + draw(r, 3);
    for (int a = 0; a < r->n_axes; a++) {
        r->size[a] = 1 + draw(r, 3);
        r->is_arbitrary[a] = draw(r, 4) == 0;
    }
    for (int k = 0; k < TABLE; k++)
        r->table[k] = draw(r, 8);
}

static void draw_storage(racy *r)
{
    static const clp_dtype dtypes[] = { CLP_I32, CLP_I32, CLP_I32, CLP_I64, CLP_U8, CLP_U4, CLP_I16 };
    const int s = r->n_storages++;
    r->n_elems[s] = 4 + draw(r, MAX_ELEMS - 3);
    r->dtype[s] = dtypes[draw(r, (int)(sizeof dtypes / sizeof *dtypes))];
    for (int e = 0; e < r->n_elems[s]; e++)
        r->start[s][e] = draw(r, 2);
    const bool has_alias = draw(r, 3) == 0;
    for (int k = has_alias ? 0 : 1; k < 2 && r->n_names < MAX_NAMES; k++) {
        named *x = &r->names[r->n_names];
        *x = (named){ .storage = s, .is_input = k == 0, .has_block = draw(r, 2) };
        snprintf(x->name, sizeof x->name, "%c%d", k == 0 ? 'a' : 'o', s);
        x->block = 1 + draw(r, 4);
        x->is_window = draw(r, 3) == 0;
        x->by_table = draw(r, 5) == 0;
        x->map = draw_linear(r, x->is_window ? r->n_elems[s] - x->block + 1 : (r->n_elems[s] + x->block - 1) / x->block, false);
        r->n_names++;
    }
}

static bool takes_atomics(clp_dtype d)
{
    return d == CLP_I32 || d == CLP_I64;
}

static void draw_statement(racy *r)
{
    statement *s = &r->statements[r->n_statements++];
    *s = (statement){ .name = draw(r, r->n_names), .place = (place)draw(r, N_PLACES) };
    const named *x = &r->names[s->name];
    const int size = x->has_block ? x->block : r->n_elems[x->storage];
    s->kind = (access_kind)(draw(r, 2) ? draw(r, 2) : draw(r, N_KINDS));
    if (x->is_input || (s->kind > STORE && !takes_atomics(r->dtype[x->storage])))
        s->kind = x->is_input ? LOAD : STORE;
    if (s->place == WHOLE && !x->has_block)
        s->place = AT;
    s->turns = draw(r, 4) ? 0 : 1 + draw(r, 3);
    s->stride = 1 + draw(r, 3);
    s->lanes = s->place == AT || s->place == TABLE_AT ? 1 : s->place == WHOLE ? size : 1 + draw(r, 4);
    while (s->place == RANGE && (s->lanes - 1) * s->stride + 1 > size)
        s->lanes--;
    s->start = draw_linear(r, s->place == RANGE ? size - (s->lanes - 1) * s->stride : size, s->turns > 0);
    s->has_mask = s->kind != CAS && draw(r, 3) == 0;
    s->mask = draw_linear(r, 2 + draw(r, 3), s->turns > 0);
    s->mask_below = 1 + draw(r, s->mask.mod);
    s->content = (content)draw(r, N_CONTENTS);
    s->constant = draw(r, 3);
    s->value = draw_linear(r, 2 + draw(r, 5), s->turns > 0);
    s->has_condition = draw(r, 3) == 0;
    s->condition = draw_linear(r, 2 + draw(r, 2), s->turns > 0);
}

static void make(racy *r, uint64_t seed)
{
    *r = (racy){ .state = seed * 0x9e3779b97f4a7c15u + 1 };
    for (int k = 0; k < 8; k++)
        random_next(&r->state);
    draw_grid(r);
    for (int n = 1 + draw(r, MAX_STORAGE); n > 0; n--)
        draw_storage(r);
    for (int n = 1 + draw(r, MAX_STATEMENTS); n > 0; n--)
        draw_statement(r);
}

/* ---- As text ---- */

typedef struct text { char *at; size_t room; } text;

static void put(text *t, const char *format, ...) CLP_PRINTF(2, 3);
static void put(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(t->at, t->room, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= t->room)
        abort();
    t->at += n;
    t->room -= (size_t)n;
}

static void put_linear(text *t, const linear *l)
{
    static const char *const vars[N_VARS] = { "i", "j", "k", "e", NULL };
    bool is_first = true;
    put(t, "(");
    for (int v = 0; v < N_VARS; v++) {
        if (l->c[v] == 0)
            continue;
        put(t, is_first ? "" : " + ");
        is_first = false;
        if (!vars[v])
            put(t, "%d", l->c[v]);
        else if (l->c[v] == 1)
            put(t, "%s", vars[v]);
        else
            put(t, "%d * %s", l->c[v], vars[v]);
    }
    put(t, is_first ? "0) %% %d" : ") %% %d", l->mod);
}

/* The program's number, as an index: ids in the order of the axes. */
static void put_number(text *t, const racy *r)
{
    static const char *const ids[] = { "i", "j", "k" };
    int stride = 1;
    for (int a = r->n_axes - 1; a >= 0; a--) {
        put(t, "%s%d * %s", a == r->n_axes - 1 ? "" : " + ", stride, ids[a]);
        stride *= r->size[a];
    }
}

static void put_operands(text *t, const racy *r)
{
    put(t, "prefetch t: i32[%d], ", TABLE);
    for (int k = 0; k < r->n_names; k++) {
        const named *x = &r->names[k];
        const bool is_alias = k > 0 && r->names[k - 1].storage == x->storage;
        put(t, "%s %s: %s[%d]", x->is_input ? "in" : is_alias ? "out" : "inout", x->name, clp_dtype_name(r->dtype[x->storage]),
            r->n_elems[x->storage]);
        if (x->has_block) {
            put(t, x->is_window ? " block [element(%d)] at (" : " block [%d] at (", x->block);
            if (x->by_table)
                put(t, "t[");
            linear map = x->map;
            map.mod = x->by_table ? TABLE : x->map.mod;
            put_linear(t, &map);
            if (x->by_table)
                put(t, "] %% %d", x->map.mod);
            put(t, ") pad 0");
        }
        if (is_alias)
            put(t, " alias %s", r->names[k - 1].name);
        put(t, ",\n    ");
    }
    put(t, "out sink: i32[P] block [1] at (");
    put_number(t, r);
    put(t, ")");
}

static void put_place(text *t, const statement *s)
{
    switch (s->place) {
    case AT: put_linear(t, &s->start); break;
    case RANGE:
        put(t, "ds(");
        put_linear(t, &s->start);
        put(t, ", %d, %d)", s->lanes, s->stride);
        break;
    case TILE:
        put(t, "(iota([%d]) * %d + ", s->lanes, s->stride);
        put_linear(t, &s->start);
        put(t, ") %% %d", s->start.mod);
        break;
    case TABLE_AT: {
        linear at = s->start;
        at.mod = TABLE;
        put(t, "t[");
        put_linear(t, &at);
        put(t, "] %% %d", s->start.mod);
        break;
    }
    default: put(t, "..."); break;
    }
}

static bool is_scalar(const statement *s)
{
    return s->place == AT || s->place == TABLE_AT;
}

static void put_mask(text *t, const statement *s)
{
    if (!s->has_mask)
        return;
    put(t, ", mask = (");
    if (!is_scalar(s))
        put(t, "iota([%d]) + ", s->lanes);
    put_linear(t, &s->mask);
    put(t, ") %% %d < %d", s->mask.mod, s->mask_below);
}

static void put_content(text *t, const statement *s, clp_dtype d)
{
    put(t, "cast(");
    if (s->content == CONSTANT)
        put(t, "%di32", s->constant);
    else if (s->content == PROGRAM)
        put_linear(t, &s->value);
    else
        put(t, "(s + 1) %% 7");
    put(t, ", %s)", clp_dtype_name(d == CLP_U4 ? CLP_U8 : d));
}

static void put_statement(text *t, const racy *r, const statement *s)
{
    static const char *const atomics[N_KINDS] = { [ADD] = "atomic_add", [MAX] = "atomic_max", [XCHG] = "atomic_xchg", [CAS] = "atomic_cas" };
    const named *x = &r->names[s->name];
    const clp_dtype d = r->dtype[x->storage];
    if (s->turns)
        put(t, "    for (e in 0 .. %d) {\n", s->turns);
    if (s->has_condition) {
        put(t, "    if (");
        put_linear(t, &s->condition);
        put(t, " == 0) {\n");
    }
    put(t, "        ");
    if (s->kind == LOAD)
        put(t, "s = (s + %s(cast(load(", is_scalar(s) ? "" : "sum");
    else
        put(t, "%s(", s->kind == STORE ? "store" : atomics[s->kind]);
    put(t, "%s[", x->name);
    put_place(t, s);
    put(t, "]");
    if (s->kind != LOAD) {
        put(t, ", ");
        if (s->kind == CAS)
            put(t, "cast(0i32, %s), ", clp_dtype_name(d));
        put_content(t, s, d);
    }
    put_mask(t, s);
    put(t, s->kind == LOAD ? "), i32))) %% 7;\n" : ");\n");
    put(t, s->has_condition ? "    }\n" : "");
    put(t, s->turns ? "    }\n" : "");
}

static void make_text(racy *r)
{
    static const char *const ids[] = { "i", "j", "k" };
    text t = { r->text, TEXT_BYTES };
    put(&t, "kernel racy(");
    put_operands(&t, r);
    put(&t, ")\ngrid (");
    for (int a = 0; a < r->n_axes; a++)
        put(&t, "%s%s = %d%s", a ? ", " : "", ids[a], r->size[a], r->is_arbitrary[a] ? " arbitrary" : "");
    put(&t, ")\n{\n    var s = 0;\n");
    for (int k = 0; k < r->n_statements; k++)
        put_statement(&t, r, &r->statements[k]);
    put(&t, "    sink[0] = s;\n}\n");
}

/* ---- The oracle ---- */

typedef enum touch { READ, WRITE, UPDATE } touch;
typedef struct event { int sequence, storage, element; touch touch; bool has_changed; } event;

typedef struct oracle {
    const racy *r;
    int64_t memory[MAX_STORAGE][MAX_ELEMS], s;
    int     ids[N_VARS], sequence;       /* of the program at hand; ids[3]: the loop's index, ids[4]: 1 */
    event  *events;
    int     n_events;
    verdict verdict[MAX_STORAGE][MAX_ELEMS];
} oracle;

static int value_of(const oracle *o, const linear *l)
{
    int sum = 0;
    for (int v = 0; v < N_VARS; v++)
        sum += l->c[v] * o->ids[v];
    return sum % l->mod;
}

static int by_table(const oracle *o, const linear *l)
{
    linear at = *l;
    at.mod = TABLE;
    return o->r->table[value_of(o, &at)] % l->mod;
}

static int lane_place(const oracle *o, const statement *s, int lane)
{
    switch (s->place) {
    case AT: return value_of(o, &s->start);
    case RANGE: return value_of(o, &s->start) + lane * s->stride;
    case TILE: return (lane * s->stride + value_of(o, &s->start)) % s->start.mod;
    case TABLE_AT: return by_table(o, &s->start);
    default: return lane;
    }
}

static void note(oracle *o, const statement *s, int element, int64_t value)
{
    const int storage = o->r->names[s->name].storage;
    int64_t *at = &o->memory[storage][element], before = *at;
    if (o->n_events == MAX_EVENTS)
        abort();
    switch (s->kind) {
    case STORE:
    case XCHG: *at = value; break;
    case ADD: *at += value; break;
    case MAX: *at = value > *at ? value : *at; break;
    case CAS: *at = *at == 0 ? value : *at; break;
    default: break;
    }
    o->events[o->n_events++] = (event){ o->sequence, storage, element, s->kind == LOAD ? READ : s->kind == STORE ? WRITE : UPDATE,
                                        *at != before };
}

static void run_statement(oracle *o, const statement *s)
{
    const named *x = &o->r->names[s->name];
    const int map = !x->has_block ? 0 : x->by_table ? by_table(o, &x->map) : value_of(o, &x->map);
    const int base = !x->has_block ? 0 : x->is_window ? map : map * x->block;
    const int64_t value = s->content == CONSTANT ? s->constant : s->content == PROGRAM ? value_of(o, &s->value) : (o->s + 1) % 7;
    int64_t sum = 0;
    if (s->has_condition && value_of(o, &s->condition) != 0)
        return;
    for (int lane = 0; lane < s->lanes; lane++) {
        const int element = base + lane_place(o, s, lane);
        const bool is_hidden = s->has_mask && (lane + value_of(o, &s->mask)) % s->mask.mod >= s->mask_below;
        if (is_hidden || element >= o->r->n_elems[x->storage])
            continue;
        sum += o->memory[x->storage][element];
        note(o, s, element, value);
    }
    if (s->kind == LOAD)
        o->s = (o->s + sum) % 7;
}

static void run_program(oracle *o)
{
    o->s = 0;
    for (int k = 0; k < o->r->n_statements; k++) {
        const statement *s = &o->r->statements[k];
        for (int e = 0; e < (s->turns ? s->turns : 1); e++) {
            o->ids[3] = e;
            run_statement(o, s);
        }
        o->ids[3] = 0;
    }
}

/* Sequences in row-major order of the parallel axes, the programs of each in that of the others. */
static void run_all(oracle *o)
{
    const racy *r = o->r;
    int n_sequences = 1, n_steps = 1;
    for (int a = 0; a < r->n_axes; a++)
        *(r->is_arbitrary[a] ? &n_steps : &n_sequences) *= r->size[a];
    o->ids[4] = 1;
    for (o->sequence = 0; o->sequence < n_sequences; o->sequence++)
        for (int step = 0; step < n_steps; step++) {
            int rest[2] = { o->sequence, step };
            for (int a = r->n_axes - 1; a >= 0; a--) {
                int *from = &rest[r->is_arbitrary[a]];
                o->ids[a] = *from % r->size[a];
                *from /= r->size[a];
            }
            run_program(o);
        }
}

static verdict judge(const event *first, const event *then)
{
    if (first->sequence == then->sequence || first->storage != then->storage || first->element != then->element)
        return NONE;
    if (first->touch != WRITE && then->touch != WRITE)
        return first->touch == then->touch ? NONE : HARD;
    return (then->touch == WRITE ? then : first)->has_changed ? HARD : SOFT;
}

static void ask_oracle(oracle *o)
{
    for (int s = 0; s < o->r->n_storages; s++)
        for (int e = 0; e < o->r->n_elems[s]; e++)
            o->memory[s][e] = o->r->start[s][e];
    run_all(o);
    for (int a = 0; a < o->n_events; a++)
        for (int b = a + 1; b < o->n_events; b++) {
            const verdict v = judge(&o->events[a], &o->events[b]);
            verdict *at = &o->verdict[o->events[a].storage][o->events[a].element];
            *at = v > *at ? v : *at;
        }
}

/* ---- The detector ---- */

static verdict detected[MAX_NAMES + 2][MAX_ELEMS];     /* by operand in the IR */

/* The linker puts this in the place of the report's own function (CMakeLists.txt): what is found of each element, before it
 * is merged into findings. */
clp_status __real_clpi_report_add(clp_report *report, const clpi_found *found);
clp_status __wrap_clpi_report_add(clp_report *report, const clpi_found *found);
clp_status __wrap_clpi_report_add(clp_report *report, const clpi_found *found)
{
    const bool is_race = found->kind == CLP_FINDING_RACE || found->kind == CLP_FINDING_ALIAS_RACE;
    if (is_race || found->kind == CLP_FINDING_RACE_SAME_VALUE) {
        verdict *at = &detected[found->operand][found->element[0]];
        const verdict v = is_race ? HARD : SOFT;
        *at = v > *at ? v : *at;
    }
    return __real_clpi_report_add(report, found);
}

typedef struct arrays {
    clp_array items[MAX_NAMES + 2];
    int64_t   shapes[MAX_NAMES + 2];
    int64_t   memory[MAX_STORAGE][MAX_ELEMS];
    int32_t   table[TABLE], sink[MAX_PROGRAMS];
    int       n;
} arrays;

static void place_array(arrays *a, clp_dtype dtype, int n_elems, void *data)
{
    a->shapes[a->n] = n_elems;
    a->items[a->n] = (clp_array){ .dtype = dtype, .rank = 1, .shape = &a->shapes[a->n], .data = data };
    a->n++;
}

/* In the order of the operands: the table, the names, the sink. */
static void place_arrays(arrays *a, const racy *r)
{
    int n_programs = 1;
    *a = (arrays){ .n = 0 };
    for (int k = 0; k < r->n_axes; k++)
        n_programs *= r->size[k];
    place_array(a, CLP_I32, TABLE, a->table);
    for (int k = 0; k < TABLE; k++)
        a->table[k] = r->table[k];
    for (int k = 0; k < r->n_names; k++) {
        const int s = r->names[k].storage;
        place_array(a, r->dtype[s], r->n_elems[s], a->memory[s]);
        for (int e = 0; e < r->n_elems[s]; e++)
            array_set(&a->items[a->n - 1], e, r->start[s][e]);
    }
    place_array(a, CLP_I32, n_programs, a->sink);
}

/* ---- The two, compared ---- */

typedef struct setting {
    clp_context *ctx;
    racy         kernel;
    oracle       oracle;
    arrays       arrays;
    bool         prints;
    int          n_failed, n[HARD + 1];  /* elements of each verdict */
    int          n_proved, n_found, n_undecided;
    char         why[256];
} setting;

static bool fails(setting *s, const char *format, ...) CLP_PRINTF(2, 3);
static bool fails(setting *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->why, sizeof s->why, format, args);
    va_end(args);
    return false;
}

/* What was detected of a storage is told of its names, which the table stands before. */
static bool compare(setting *s)
{
    static const char *const words[] = { "no race", "a race of equal values", "a race" };
    const racy *r = &s->kernel;
    for (int k = 0; k < r->n_names; k++)
        for (int e = 0; r->names[k].is_input && e < r->n_elems[r->names[k].storage]; e++)
            if (detected[k + 1][e])
                return fails(s, "%s[%d]: what is found is told of an input", r->names[k].name, e);
    for (int k = 0; k < r->n_names; k++)
        for (int e = 0; !r->names[k].is_input && e < r->n_elems[r->names[k].storage]; e++) {
            const verdict want = s->oracle.verdict[r->names[k].storage][e], got = detected[k + 1][e];
            s->n[want]++;
            if (got != want)
                return fails(s, "%s[%d]: the detector says %s, the oracle %s", r->names[k].name, e, words[got], words[want]);
        }
    return true;
}

/* A proof holds for every launch, so for this one too; all sizes are constants here, so what a proof finds is here as well. */
static bool compare_proof(setting *s, const clp_kernel *kernel, const clpi_race_proof *p)
{
    const racy *r = &s->kernel;
    const int storage = p->storage > r->n_names ? -1 : r->names[p->storage - 1].storage;
    bool races = false;
    for (int e = 0; storage >= 0 && e < r->n_elems[storage]; e++)
        races = races || s->oracle.verdict[storage][e];
    s->n_proved += p->proof.verdict == CLPI_PROVED;
    s->n_found += p->proof.verdict == CLPI_FOUND;
    s->n_undecided += p->proof.verdict == CLPI_UNDECIDED;
    if (p->proof.verdict == CLPI_PROVED && races)
        return fails(s, "%s: proved to be without races, and there is one", kernel->ir->operands[p->storage].name);
    if (p->proof.verdict == CLPI_FOUND && !races)
        return fails(s, "%s: a race is found for a launch, and there is none", kernel->ir->operands[p->storage].name);
    return true;
}

static bool compare_proofs(setting *s, const clp_kernel *kernel)
{
    clpi_arena arena;
    clpi_proofs *proofs;
    bool ok = true;
    clpi_arena_init(&arena, &s->ctx->env);
    if (clpi_prove(&s->ctx->env, &arena, kernel->ir, kernel->plan, &proofs))
        ok = fails(s, "%s", clp_last_error(s->ctx));
    for (int i = 0; ok && i < proofs->n_races; i++)
        ok = compare_proof(s, kernel, &proofs->races[i]);
    clpi_arena_done(&arena);
    return ok;
}

static bool try_kernel(setting *s, uint64_t seed)
{
    clp_kernel *kernel = NULL;
    clp_report *report = NULL;
    make(&s->kernel, seed);
    make_text(&s->kernel);
    s->oracle.r = &s->kernel;
    s->oracle.n_events = 0;
    memset(s->oracle.verdict, 0, sizeof s->oracle.verdict);
    ask_oracle(&s->oracle);
    place_arrays(&s->arrays, &s->kernel);
    memset(detected, 0, sizeof detected);
    bool ok = true;
    if (clp_kernel_from_text(s->ctx, s->kernel.text, NULL, NULL, &kernel) ||
        clp_check(kernel, s->arrays.items, s->arrays.n, &(clp_check_opts){ .checks = CLP_CHECK_RACES }, &report))
        ok = fails(s, "%s", clp_last_error(s->ctx));
    clp_report_free(report);
    ok = ok && compare(s) && compare_proofs(s, kernel);
    clp_kernel_free(kernel);
    return ok;
}

int main(int argc, char **argv)
{
    int64_t seed, count;
    if (argc < 3 || !is_number(argv[1], &seed) || !is_number(argv[2], &count))
        return fail_usage("usage: racy_runner SEED COUNT [--print]");
    setting *s = calloc(1, sizeof *s);
    event *events = calloc(MAX_EVENTS, sizeof *events);
    if (!s || !events || clp_context_new(&(clp_context_opts){ .device = "interp" }, &s->ctx))
        abort();
    s->oracle.events = events;
    s->prints = argc > 3 && !strcmp(argv[3], "--print");
    for (int64_t i = 0; i < count; i++) {
        const bool ok = try_kernel(s, (uint64_t)(seed + i));
        s->n_failed += !ok;
        if (!ok)
            fprintf(stderr, "seed %" PRId64 ": %s\n%s\n", seed + i, s->why, s->kernel.text);
        else if (s->prints)
            puts(s->kernel.text);
    }
    printf("%" PRId64 " kernels, %d failed; elements: %d without a race, %d soft, %d hard; storages: %d proved, %d found, %d undecided\n",
           count, s->n_failed, s->n[NONE], s->n[SOFT], s->n[HARD], s->n_proved, s->n_found, s->n_undecided);
    const bool ok = !s->n_failed && s->n[SOFT] && s->n[HARD];
    clp_context_free(s->ctx);
    free(events);
    free(s);
    return ok ? DONE : FAILED;
}
