/* options: the command line of a command, parsed by one table of rows.
 * In: argv behind the command's name. Out: an options record whose strings point into argv or belong to it.
 * Decides only form, and what would say nothing beside the rest: whether names and files exist is found out where they are used. */
#include "tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "run/run.h"
#include "text/text.h"

typedef enum kind {
    PARAMS, INPUT, SCALAR, OUTPUT, DIM, BOX, BATCH, ON, FOR, SCHEDULE, CHECKED, TUNED, ORDER, TIME, LIMIT, TRY, VERIFY, SVG, FILE_OUT,
    STAGE_IR, STAGE_PLAN, STAGE_NEST, STAGE_CL, POINTS, MEASURE, ONLY, ALSO, BISECT, SHUFFLES, SEED, OF, TRACE, LIST, QUIET, JSON, HELP
} kind;

typedef struct row {
    const char *name;
    kind        kind;
    unsigned    takes;            /* commands that take any of these have it; 0: all */
    const char *value;            /* NULL: none; "[N]": may follow if it is a number */
    const char *help;
} row;

#define USUAL_NAMES "proofs, races, memory, orders, device"
#define CHECK_NAMES USUAL_NAMES ", non-finite, overflow, division-by-zero, bisect"

static const row rows[] = {
    { "-p", PARAMS, TAKES_KERNEL | TAKES_BENCH, "NAME=VALUE,...", "parameters of the kernel; may be repeated" },
    { "-i", INPUT, TAKES_ARRAYS, "NAME=SOURCE",
      "an array: a NumPy file, or randn rand zeros ones iota with :512x256 and ,SEED (its place among the operands)" },
    { "-s", SCALAR, TAKES_ARRAYS, "NAME=VALUE", "a scalar operand" },
    { "-o", OUTPUT, TAKES_RUN, "NAME[=FILE]", "write an output to a NumPy file; without a file, print it" },
    { "--dim", DIM, TAKES_ARRAYS, "NAME=SIZE,...", "dims that no array shows" },
    { "--box", BOX, TAKES_ARRAYS, "AXIS=FROM:TO,...", "run only this part of the grid" },
    { "--batch", BATCH, TAKES_KERNEL, "NAME,...",
      "a leading parallel axis over these operands, the others shared; again: one more" },
    { "--on", ON, TAKES_DEVICE, "DEVICE",
      "auto, cl, cl:1, interp; auto is the first OpenCL device, else the interpreter" },
    { "--for", FOR, TAKES_STAGE, "cpu|gpu", "the limits of a usual CPU, or GPU, in place of those of a device that is here" },
    { "--schedule", SCHEDULE, TAKES_DEVICE, "SHAPE", "auto, vector, simt: the shape of the OpenCL code" },
    { "--tuned", TUNED, TAKES_TUNED, NULL,
      "parameters left open: what `clpallas tune` found for this device and shapes like these, else as without it" },
    { "--checked", CHECKED, TAKES_RUN | TAKES_STAGE, NULL,
      "the device's code checks every index, block and assert, as the interpreter always does" },
    { "--order", ORDER, TAKES_RUN, "ORDER",
      "forward, reverse, shuffle[:SEED]: the order of sequences, on the interpreter" },
    { "--time", TIME, TAKES_RUN, "[N]", "time N runs (10): minimum, median, GFLOP/s of dots, GB/s of arrays" },
    { "--time", TIME, TAKES_BENCH, "N", "time N runs of each side (30)" },
    { "--time", TIME, TAKES_ROOFLINE, "N", "time N runs (10) of each point" },
    { "--points", POINTS, TAKES_ROOFLINE, "N", "try at most N points of the kernel's `tune` lists (12); 0: none" },
    { "--measure", MEASURE, TAKES_ROOFLINE, NULL, "measure anew what the device can do" },
    { "--time", LIMIT, TAKES_TUNE, "SECONDS", "begin nothing new after so long (60)" },
    { "--try", TRY, TAKES_TUNE, "SECONDS", "launch a point no more once it has taken so long, its build included (10)" },
    { "--verify", VERIFY, TAKES_RUN, NULL, "run on the interpreter as well and compare; status 3 if they differ" },
    { "--ir", STAGE_IR, TAKES_STAGE, NULL, "the kernel as the compiler sees it, in kernel language (the default)" },
    { "--plan", STAGE_PLAN, TAKES_STAGE, NULL, "what holds on every device" },
    { "--nest", STAGE_NEST, TAKES_STAGE, NULL, "loops and tiles" },
    { "--cl", STAGE_CL, TAKES_STAGE, NULL, "OpenCL C" },
    { "--only", ONLY, TAKES_CHECK, "CHECK,...", "these checks alone: " CHECK_NAMES },
    { "--also", ALSO, TAKES_CHECK, "CHECK,...", "these beside the usual ones, which are " USUAL_NAMES },
    { "--bisect", BISECT, TAKES_CHECK, NULL, "where the device differs: the first statement whose value does" },
    { "--shuffles", SHUFFLES, TAKES_CHECK, "N", "shuffled orders to be tried (3)" },
    { "--seed", SEED, TAKES_CHECK, "N", "of the first of them" },
    { "--svg", SVG, TAKES_CHECK, "FILE", "draw which program wrote each element of an operand, conflicts hatched" },
    { "--of", OF, TAKES_CHECK, "NAME", "the operand to be drawn, where the kernel writes several" },
    { "--trace", TRACE, TAKES_TRACE, "AXIS=N,...",
      "what one program does: the value of every statement; axes that are left out are 0; \"first\": all" },
    { "--svg", SVG, TAKES_SVG, "FILE", "draw into an SVG file instead of the terminal" },
    { "--svg", SVG, TAKES_BENCH, "FILE", "draw the ratios, of what is wanted, as bars into an SVG file" },
    { "--output", FILE_OUT, TAKES_STAGE, "FILE", "write to a file" },
    { "--list", LIST, TAKES_BENCH, NULL, "say what there is to be measured" },
    { "--quiet", QUIET, 0, NULL, "say less" },
    { "--json", JSON, TAKES_JSON, NULL, "results as JSON on standard output" },
    { "--help", HELP, 0, NULL, "this text" },
};
enum { N_ROWS = sizeof rows / sizeof *rows };

#define BIT(kind) (UINT64_C(1) << (kind))
static const uint64_t REPEATED = BIT(PARAMS) | BIT(INPUT) | BIT(SCALAR) | BIT(OUTPUT) | BIT(DIM) | BIT(BOX) | BIT(BATCH) | BIT(ONLY) |
                                 BIT(ALSO) | BIT(TRACE);      /* what is given again is added */

static int say(int status, const char *format, va_list args)
{
    fflush(stdout);
    fputs("clpallas: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    return status;
}

int fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int status = say(FAILED, format, args);
    va_end(args);
    return status;
}

int fail_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int status = say(WRONG_USAGE, format, args);
    va_end(args);
    return status;
}

int fail_library(const clp_context *ctx)
{
    const char *text = clp_last_error(ctx);
    /* Errors in kernel text have their own place in front, and source lines; the rest is one line of ours. */
    if (!strstr(text, ": error: "))
        return fail("%s", text);
    fflush(stdout);
    fputs(text, stderr);
    if (*text && text[strlen(text) - 1] != '\n')
        fputc('\n', stderr);
    return FAILED;
}

bool is_number(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 0);
    *out = value;
    return *text && !*end && !errno;
}

const char *did_you_mean(char *text, size_t n_bytes, const char *name, const char *const *names, int n)
{
    const char *nearest = clpi_nearest(name, names, n);
    snprintf(text, n_bytes, "%s%s%s", nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    return text;
}

/* Adds "name=value" items, separated by commas where a row allows several; the text is cut in place. */
static int add_pairs(pairs *list, char *text, bool several, bool needs_value, const row *r)
{
    for (char *item = text; item; ) {
        char *next = several ? strchr(item, ',') : NULL;
        if (next)
            *next++ = '\0';
        char *equals = strchr(item, '=');
        if (equals)
            *equals++ = '\0';
        if (!*item || (equals ? !*equals : needs_value))
            return fail_usage("%s: expected %s, got %s%s%s", r->name, r->value, *item || equals ? item : "nothing", equals ? "=" : "",
                              equals ? equals : "");
        /* An output may go to several places; what is given has one value. */
        for (int i = 0; r->kind != OUTPUT && i < list->n; i++)
            if (!strcmp(list->items[i].name, item))
                return fail_usage("%s: %s is given twice: %s and %s", r->name, item, list->items[i].value ? list->items[i].value : "nothing",
                                  equals ? equals : "nothing");
        list->items[list->n++] = (pair){ item, equals };
        item = next;
    }
    return DONE;
}

int read_schedule(const char *text, clp_schedule *out)
{
    static const char *const names[] = { [CLP_SCHEDULE_AUTO] = "auto", [CLP_SCHEDULE_VECTOR] = "vector", [CLP_SCHEDULE_SIMT] = "simt" };
    for (int i = 0; i < 3; i++)
        if (!strcmp(text, names[i])) {
            *out = (clp_schedule)i;
            return DONE;
        }
    return fail_usage("--schedule: expected auto, vector or simt, got %s", text);
}

static int set_choice(options *o, const row *r, const char *value)
{
    if (r->kind == SCHEDULE)
        return read_schedule(value, &o->schedule);
    int64_t seed = 0;
    if (!strcmp(value, "forward")) {
        o->order = CLP_ORDER_FORWARD;
    } else if (!strcmp(value, "reverse")) {
        o->order = CLP_ORDER_REVERSE;
    } else if (!strcmp(value, "shuffle") || (!strncmp(value, "shuffle:", 8) && is_number(value + 8, &seed))) {
        o->order = CLP_ORDER_SHUFFLE;
        o->seed = (uint64_t)seed;
    } else {
        return fail_usage("--order: expected forward, reverse or shuffle:SEED, got %s", value);
    }
    return DONE;
}

/* "races,memory" as a set of CLP_CHECK_. */
static int add_checks(unsigned *checks, char *text, const row *r)
{
    static const struct { const char *name; unsigned check; } names[] = {
        { "proofs", CLP_CHECK_PROOFS }, { "races", CLP_CHECK_RACES }, { "memory", CLP_CHECK_MEMORY }, { "orders", CLP_CHECK_ORDERS },
        { "device", CLP_CHECK_DEVICE }, { "non-finite", CLP_CHECK_NON_FINITE }, { "overflow", CLP_CHECK_OVERFLOW },
        { "division-by-zero", CLP_CHECK_DIVISION }, { "bisect", CLP_CHECK_BISECT | CLP_CHECK_DEVICE },
    };
    for (char *item = text; item;) {
        char *next = strchr(item, ',');
        unsigned check = 0;
        if (next)
            *next++ = '\0';
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            check |= strcmp(item, names[i].name) ? 0 : names[i].check;
        if (!check)
            return fail_usage("%s: there is no check %s; there are " CHECK_NAMES, r->name, *item ? item : "without a name");
        *checks |= check;
        item = next;
    }
    return DONE;
}

static int set_count(const row *r, const char *value, int64_t least, int64_t most, int64_t *out)
{
    if (!is_number(value, out) || *out < least || *out > most)
        return fail_usage("%s: expected a number from %lld to %lld, got %s", r->name, (long long)least, (long long)most, value);
    return DONE;
}

static int set_points(options *o, const row *r, const char *value)
{
    int64_t number = 0;
    const int status = set_count(r, value, 0, 1000, &number);
    o->n_points = (int)number;
    return status;
}

static int set_seconds(const row *r, const char *value, double *out)
{
    char *end;
    *out = strtod(value, &end);
    if (end == value || *end || !(*out > 0) || *out > 1e9)
        return fail_usage("%s: expected a number of seconds, got %s", r->name, value);
    return DONE;
}

static int set_check(options *o, const row *r, char *value)
{
    int64_t number;
    int status = DONE;
    switch (r->kind) {
    case ONLY:     return add_checks(&o->only, value, r);
    case ALSO:     return add_checks(&o->also, value, r);
    case BISECT:   o->also |= CLP_CHECK_BISECT | CLP_CHECK_DEVICE; break;
    case SHUFFLES: status = set_count(r, value, 1, 1000000, &number); o->n_shuffles = status ? 0 : (int)number; break;
    case SEED:     status = set_count(r, value, 0, INT64_MAX, &number); o->seed = status ? 0 : (uint64_t)number; break;
    default:       o->of = value; break;
    }
    return status;
}

static int add_params(options *o, const char *value)
{
    const size_t n = o->params ? strlen(o->params) : 0;
    char *joined = realloc(o->params, n + strlen(value) + 3);
    if (!joined)
        return fail("out of memory");
    o->params = joined;
    sprintf(joined + n, "%s%s", n ? ", " : "", value);
    return DONE;
}

static int set_stage(options *o, const row *r, clp_stage stage)
{
    if (o->stage_option && stage != o->stage)
        return fail_usage("%s and %s are two stages: ask for one", o->stage_option, r->name);
    o->stage_option = r->name;
    o->stage = stage;
    return DONE;
}

static int set(options *o, const row *r, char *value)
{
    switch (r->kind) {
    case PARAMS:     return add_params(o, value);
    case INPUT:      return add_pairs(&o->inputs, value, false, true, r);
    case SCALAR:     return add_pairs(&o->scalars, value, true, true, r);
    case OUTPUT:     return add_pairs(&o->outputs, value, false, false, r);
    case DIM:        return add_pairs(&o->dims, value, true, true, r);
    case BOX:        return add_pairs(&o->box, value, true, true, r);
    case BATCH:      o->batches.items[o->batches.n++] = (pair){ value, NULL }; break;
    case ON:         o->on = value; break;
    case FOR:        o->limits_of = value; break;
    case SCHEDULE:
    case ORDER:      return set_choice(o, r, value);
    case CHECKED:    o->checked = true; break;
    case TUNED:      o->tuned = true; break;
    case TIME:       o->n_runs = value ? atoi(value) : 10; break;
    case LIMIT:      return set_seconds(r, value, &o->limit_s);
    case TRY:        return set_seconds(r, value, &o->try_s);
    case VERIFY:     o->verify = true; break;
    case SVG:        o->svg = value; break;
    case FILE_OUT:   o->output = value; break;
    case STAGE_IR:   return set_stage(o, r, CLP_STAGE_IR);
    case STAGE_PLAN: return set_stage(o, r, CLP_STAGE_PLAN);
    case STAGE_NEST: return set_stage(o, r, CLP_STAGE_NEST);
    case STAGE_CL:   return set_stage(o, r, CLP_STAGE_CL);
    case POINTS:     return set_points(o, r, value);
    case MEASURE:    o->measure = true; break;
    case ONLY: case ALSO: case BISECT: case SHUFFLES: case SEED:
    case OF:         return set_check(o, r, value);
    case TRACE:      return add_pairs(&o->trace, value, true, false, r);
    case LIST:       o->list = true; break;
    case QUIET:      o->quiet = true; break;
    case JSON:       o->json = true; break;
    case HELP:       o->help = true; break;
    }
    return DONE;
}

/* Splits FILE[:KERNEL] at the last colon, unless a file of the whole name exists. */
static int split_program(options *o, char *text)
{
    o->program = text;
    o->file = text;
    FILE *whole = fopen(text, "rb");
    if (whole) {
        fclose(whole);
        return DONE;
    }
    char *colon = strrchr(text, ':');
    if (!colon || strchr(colon, '/'))
        return DONE;
    if (colon == text || !colon[1])
        return fail_usage("expected FILE[:KERNEL], got %s", text);
    const size_t n = (size_t)(colon - text);
    char *file = malloc(n + 1);
    if (!file)
        return fail("out of memory");
    memcpy(file, text, n);
    file[n] = '\0';
    o->file = file;
    o->kernel = colon + 1;
    return DONE;
}

static bool lists_new(options *o, int argc, char **argv)
{
    /* Each list holds at most one item for each argument and each comma in it. */
    size_t n = (size_t)argc + 1;
    for (int i = 0; i < argc; i++)
        for (const char *p = argv[i]; *p; p++)
            n += *p == ',';
    pairs *const lists[] = { &o->inputs, &o->scalars, &o->outputs, &o->dims, &o->box, &o->batches, &o->trace, &o->names };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        lists[i]->items = calloc(n, sizeof(pair));
        if (!lists[i]->items)
            return false;
    }
    return true;
}

static const row *find_row(const char *name, size_t n, unsigned takes)
{
    for (int i = 0; i < N_ROWS; i++)
        if (strlen(rows[i].name) == n && !strncmp(rows[i].name, name, n) && (!rows[i].takes || (rows[i].takes & takes)))
            return &rows[i];
    return strncmp(name, "-h", n) || n != 2 ? NULL : &rows[N_ROWS - 1];
}

/* Dashes say nothing of which option is meant. */
static int fail_unknown(const char *text, unsigned takes, const char *command)
{
    const char *names[N_ROWS], *nearest;
    char bare[64];
    const int n = (int)strcspn(text, "=");
    int n_names = 0;
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].name[1] == '-' && (!rows[i].takes || (rows[i].takes & takes)))
            names[n_names++] = rows[i].name + 2;
    snprintf(bare, sizeof bare, "%.*s", n, text);
    nearest = clpi_nearest(bare + strspn(bare, "-"), names, n_names);
    return fail_usage("%s: there is no option %.*s%s%s%s; clpallas %s --help lists them", command, n, text,
                      nearest ? "; did you mean --" : "", nearest ? nearest : "", nearest ? "?" : "", command);
}

/* One argument that begins with a dash; i moves on where the value is an argument of its own. */
static int parse_option(options *o, unsigned takes, const char *command, int argc, char **argv, int *i)
{
    char *text = argv[*i];
    char *value = NULL;
    size_t n = strlen(text);
    if (!strncmp(text, "--", 2) && strchr(text, '=')) {
        value = strchr(text, '=') + 1;
        n = (size_t)(value - text) - 1;
    } else if (text[1] != '-' && n > 2) {
        value = text + 2;
        n = 2;
    }
    const row *r = find_row(text, n, takes);
    if (!r)
        return fail_unknown(text, takes, command);
    int64_t number;
    if (!r->value && value)
        return fail_usage("%s: takes no value, got %s", r->name, value);
    if (r->value && !value) {
        const bool follows = *i + 1 < argc;
        if (r->value[0] != '[' && !follows)
            return fail_usage("%s: expected %s behind it", r->name, r->value);
        if (r->value[0] != '[' || (follows && is_number(argv[*i + 1], &number)))
            value = argv[++*i];
    }
    if (r->value && value && !*value)
        return fail_usage("%s: expected %s, got nothing", r->name, r->value);
    if (r->kind == TIME && value && (!is_number(value, &number) || number < 1 || number > 1000000))
        return fail_usage("--time: expected a number of runs, got %s", value);
    if (r->value && (o->given & ~REPEATED & BIT(r->kind)))
        return fail_usage("%s: it is given twice", r->name);
    o->given |= BIT(r->kind);
    return set(o, r, value);
}

/* ---- What does not go together ---- */

static bool is_on_interp(const options *o)
{
    return !strncmp(o->on, "interp", 6);
}

static bool shapes_interp(const options *o)
{
    return is_on_interp(o) && o->schedule != CLP_SCHEDULE_AUTO;
}

static bool compares_interp(const options *o)
{
    return is_on_interp(o) && ((o->only | o->also) & CLP_CHECK_DEVICE);
}

static bool tries_no_orders(const options *o)
{
    return !(((o->only ? o->only : CLP_CHECK_DEFAULT) | o->also) & CLP_CHECK_ORDERS);
}

static bool is_before_nests(const options *o)
{
    return o->stage != CLP_STAGE_NEST && o->stage != CLP_STAGE_CL;
}

static bool draws_nothing(const options *o)
{
    return !o->svg;
}

static bool has_limits(const options *o)
{
    return o->limits_of != NULL;
}

static bool lists(const options *o)
{
    return o->list;
}

static bool traces(const options *o)
{
    return o->trace.n > 0;
}

static bool has_box(const options *o)
{
    return o->box.n > 0;
}

static bool has_batch(const options *o)
{
    return o->batches.n > 0;
}

static bool leaves_nothing_open(const job *j)
{
    return !j->member->choices;
}

/* The shape decides what values are chosen for what is left open, and so what is checked. */
static bool shapes_nothing(const job *j)
{
    return j->o->schedule != CLP_SCHEDULE_AUTO && !(((j->o->only ? j->o->only : CLP_CHECK_DEFAULT) | j->o->also) & CLP_CHECK_DEVICE) && !j->kernel->choices;
}

static bool sweeps_nothing(const job *j)
{
    return j->o->n_points > 0 && leaves_nothing_open(j);
}

/* Options that would say nothing beside the others: a wrong usage, not silence. */
static const struct {
    kind        option;
    unsigned    takes;            /* of these commands */
    bool      (*says_nothing)(const options *o);
    const char *why;
} idle[] = {
    { SCHEDULE, TAKES_RUN | TAKES_CHECK | TAKES_TUNE | TAKES_BENCH | TAKES_ROOFLINE, shapes_interp,
      "--schedule is the shape of OpenCL code, and the interpreter has none: leave it out, or name an OpenCL device with --on" },
    { SCHEDULE, TAKES_STAGE, is_before_nests, "--schedule is of what --nest and --cl show" },
    { CHECKED, TAKES_RUN, is_on_interp, "--checked is of a device's code, and --on is the interpreter, which always checks" },
    { TUNED, TAKES_RUN | TAKES_CHECK, has_box, "--tuned and --box: a box of the grid has the defaults" },
    { TUNED, TAKES_RUN | TAKES_CHECK, has_batch, "--tuned and --batch: a batch has the defaults" },
    { CHECKED, TAKES_STAGE, is_before_nests, "--checked is of what --nest and --cl show" },
    { FOR, TAKES_STAGE, is_before_nests, "--for is of what --nest and --cl show" },
    { ON, TAKES_STAGE, has_limits, "--for and --on are two devices: name one" },
    { ONLY, TAKES_CHECK, compares_interp, "an OpenCL device is compared with the interpreter, and --on is the interpreter" },
    { ALSO, TAKES_CHECK, compares_interp, "an OpenCL device is compared with the interpreter, and --on is the interpreter" },
    { BISECT, TAKES_CHECK, compares_interp, "--bisect looks where an OpenCL device differs, and --on is the interpreter" },
    { SHUFFLES, TAKES_CHECK, tries_no_orders, "--shuffles is of the check `orders`, which is not among those asked for" },
    { SEED, TAKES_CHECK, tries_no_orders, "--seed is of the check `orders`, which is not among those asked for" },
    { OF, TAKES_CHECK, draws_nothing, "--of says what --svg FILE draws" },
    { BOX, TAKES_TRACE, traces, "--trace shows one program: --box cannot stand beside it" },
    { SVG, TAKES_TRACE, traces, "--trace and --svg are two things to show: ask for one" },
    { PARAMS, TAKES_BENCH, lists, "--list measures nothing" },
    { ON, TAKES_BENCH, lists, "--list measures nothing" },
    { SCHEDULE, TAKES_BENCH, lists, "--list measures nothing" },
    { TUNED, TAKES_BENCH, lists, "--list measures nothing" },
    { TIME, TAKES_BENCH, lists, "--list measures nothing" },
    { SVG, TAKES_BENCH, lists, "--list measures nothing" },
    { JSON, TAKES_BENCH, lists, "--list measures nothing" },
};

static int check_idle(const options *o)
{
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if ((o->given & BIT(idle[i].option)) && (o->takes & idle[i].takes) && idle[i].says_nothing(o))
            return fail_usage("%s: %s", o->command, idle[i].why);
    return DONE;
}

/* The same, of options that would say nothing of the kernel. */
static const struct {
    kind        option;
    unsigned    takes;
    bool      (*says_nothing)(const job *j);
    const char *why;
} idle_there[] = {
    { SCHEDULE, TAKES_CHECK, shapes_nothing, "--schedule is of the check `device`, which is not among those asked for" },
    { TUNED, TAKES_RUN | TAKES_CHECK, leaves_nothing_open, "--tuned: no parameter with a `tune` list is left open" },
    { POINTS, TAKES_ROOFLINE, sweeps_nothing, "--points: no parameter with a `tune` list is left open" },
};

int options_check(const job *j)
{
    const options *o = j->o;
    for (size_t i = 0; i < sizeof idle_there / sizeof *idle_there; i++)
        if ((o->given & BIT(idle_there[i].option)) && (o->takes & idle_there[i].takes) && idle_there[i].says_nothing(j))
            return fail_usage("%s: %s", o->command, idle_there[i].why);
    return DONE;
}

int options_parse(options *o, unsigned takes, const char *command, int argc, char **argv)
{
    *o = (options){ .takes = takes, .command = command, .n_points = -1 };
    if (!lists_new(o, argc, argv))
        return fail("out of memory");
    for (int i = 0; i < argc; i++) {
        int status = DONE;
        if (argv[i][0] == '-' && argv[i][1] && argv[i][1] != ':')      /* - and -:KERNEL are FILE */
            status = parse_option(o, takes, command, argc, argv, &i);
        else if (takes & TAKES_BENCH)
            o->names.items[o->names.n++] = (pair){ argv[i], NULL };
        else if (!(takes & TAKES_KERNEL) || o->program)
            status = fail_usage("%s: unexpected argument %s", command, argv[i]);
        else
            status = split_program(o, argv[i]);
        if (status)
            return status;
    }
    if ((takes & TAKES_KERNEL) && !o->program && !o->help)
        return fail_usage("%s: expected FILE[:KERNEL]; clpallas %s --help", command, command);
    const char *device = getenv("CLPALLAS_DEVICE");
    if (!o->on)
        o->on = device && *device ? device : "auto";
    return o->help ? DONE : check_idle(o);
}

void options_help(unsigned takes)
{
    for (int i = 0; i < N_ROWS; i++) {
        if (rows[i].takes && !(rows[i].takes & takes))
            continue;
        char left[64];
        snprintf(left, sizeof left, "%s %s", rows[i].name, rows[i].value ? rows[i].value : "");
        printf("  %-28s %s\n", left, rows[i].help);
    }
}

void options_done(options *o)
{
    free(o->params);
    if (o->file != o->program)
        free((char *)o->file);
    free(o->inputs.items);
    free(o->scalars.items);
    free(o->outputs.items);
    free(o->dims.items);
    free(o->box.items);
    free(o->batches.items);
    free(o->trace.items);
    free(o->names.items);
}
