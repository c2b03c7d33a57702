/* job: a kernel and its arrays, made ready from the options.
 * In: options. Out: a context, a kernel, one array for each operand that a run takes, in declaration order.
 * Decides sizes that nobody gave: dims are solved from every array that is there, then from --dim; shapes follow. */
#include "tool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "plan/bind.h"
#include "run/choose.h"
#include "text/text.h"

static void print_line(const char *line, void *user)
{
    const job *j = user;
    if (!j->is_silent)
        fprintf(j->o->json ? stderr : stdout, "%s\n", line);
}

/* Lines of the file of tuned parameters that are of no use. */
void job_dump(const char *stage, const char *kernel, const char *text, void *user)
{
    (void)kernel;
    (void)user;
    if (!strcmp(stage, "tuned"))
        fprintf(stderr, "clpallas: %s\n", text);
}

static char *read_all(FILE *f, size_t *out_n)
{
    size_t n = 0, cap = 1 << 16;
    char *text = malloc(cap);
    while (text) {
        n += fread(text + n, 1, cap - n - 1, f);
        if (n + 1 < cap)
            break;
        char *more = realloc(text, cap *= 2);
        if (!more)
            free(text);
        text = more;
    }
    *out_n = n;
    return text;
}

/* A name without a path that is no file. */
static bool is_standard(const options *o)
{
    return strcmp(o->file, "-") != 0 && access(o->file, F_OK) && !strpbrk(o->file, "/.");
}

static clp_status load_kernel(job *j)
{
    const options *o = j->o;
    if (!strcmp(o->file, "-")) {
        clpi_source source = { .file = "<stdin>" };
        char *text = read_all(stdin, &source.n_bytes);
        source.text = text;
        const clp_status st = text ? clpi_kernel_from_source(j->ctx, &source, o->kernel, o->params, &j->member) : CLP_ERR_OOM;
        free(text);
        return st;
    }
    if (is_standard(o))
        return clp_kernel_standard(j->ctx, o->kernel ? o->kernel : o->file, o->params, &j->member);
    return clp_kernel_from_file(j->ctx, o->file, o->kernel, o->params, &j->member);
}

/* The member, with an axis for each --batch in front; without any, itself. */
static clp_status batch_kernel(const options *o, clp_kernel *member, clp_kernel **out_kernel)
{
    clp_status st = CLP_OK;
    *out_kernel = member;
    for (int i = 0; !st && i < o->batches.n; i++) {
        clp_kernel *kernel = *out_kernel;
        st = clp_kernel_batch(kernel, o->batches.items[i].name, out_kernel);
        if (kernel != member)
            clp_kernel_free(kernel);
    }
    return st;
}

static int check_place(const char *path)
{
    return !path || output_check(path) ? DONE : fail("%s: cannot be written: %s", path, strerror(errno));
}

/* A file has room for one output. */
static int check_output(const pairs *outputs, int k)
{
    const pair *p = &outputs->items[k];
    for (int i = 0; p->value && i < k; i++)
        if (outputs->items[i].value && output_is_one_file(outputs->items[i].value, p->value))
            return fail_usage("-o: %s is given to %s and to %s", p->value, outputs->items[i].name, p->name);
    return check_place(p->value);
}

/* What cannot be written is found out before the work is done. */
static int check_places(const options *o)
{
    int status = check_place(o->svg);
    if (!status)
        status = check_place(o->output);
    for (int k = 0; !status && k < o->outputs.n; k++)
        status = check_output(&o->outputs, k);
    return status;
}

static void be_about(job *j, clp_kernel *kernel)
{
    j->launched = kernel;
    j->ir = kernel->ir;
    j->plan = kernel->plan;
}

static int open_for(job *j, const options *o, const char *device, bool text_only)
{
    *j = (job){ .o = o };
    const clp_context_opts opts = { .device = device, .schedule = o->schedule, .checked = o->checked, .print = print_line, .print_user = j,
                                    .dump = o->tuned ? job_dump : NULL, .text_only = text_only, .tuned = o->tuned };
    const int status = check_places(o);
    if (status)
        return status;
    if (clp_context_new(&opts, &j->ctx))
        return fail_library(NULL);
    const double start = clpi_now();
    const clp_status st = load_kernel(j);
    if (st == CLP_ERR_ARG && is_standard(o) && !strstr(clp_last_error(j->ctx), ": error: "))
        return fail("there is no file %s, and %s", o->file, clp_last_error(j->ctx));
    if (st || batch_kernel(o, j->member, &j->kernel))
        return fail_library(j->ctx);
    j->build_s = clpi_now() - start;
    be_about(j, j->kernel);
    j->n = clp_kernel_n_operands(j->kernel);
    j->arrays = calloc((size_t)j->n + 1, sizeof *j->arrays);
    j->args = calloc((size_t)j->n + 1, sizeof *j->args);
    return j->arrays && j->args ? options_check(j) : fail("out of memory");
}

int job_open(job *j, const options *o, const char *device)
{
    return open_for(j, o, device, false);
}

int job_open_text(job *j, const options *o, const char *device)
{
    return open_for(j, o, device, true);
}

/* The text behind "FILE:LINE:COLUMN: " in front, and the place; NULL: the text has none of this kernel's source. */
static const char *behind_place(const clpi_source *source, const char *text, clpi_pos *out_pos)
{
    const size_t n = source && source->file ? strlen(source->file) : 0;
    unsigned line, column;
    int n_place = 0;
    if (!n || strncmp(text, source->file, n) != 0 || sscanf(text + n, ":%u:%u: %n", &line, &column, &n_place) != 2 || !n_place)
        return NULL;
    *out_pos = (clpi_pos){ .line = line, .column = column };
    return text + n + n_place;
}

int fail_job(const job *j)
{
    const char *text = clp_last_error(j->ctx);
    clpi_pos pos;
    const char *rest = j->ir ? behind_place(j->ir->source, text, &pos) : NULL;
    if (!rest || strstr(text, ": error: "))
        return fail_library(j->ctx);
    clpi_str s;
    clpi_str_init(&s, &j->ctx->env);
    clpi_caret(&s, j->ir->source, pos, rest);
    fflush(stdout);
    fprintf(stderr, "%s\n", s.failed ? text : s.text);
    clpi_str_done(&s);
    return FAILED;
}

int job_operand(const job *j, int i)
{
    return j->launched->operands[i];
}

static const char *value_of(const pairs *list, const char *name)
{
    for (int k = list->n - 1; k >= 0; k--)
        if (!strcmp(list->items[k].name, name))
            return list->items[k].value;
    return NULL;
}

static int make_scalar(tool_array *a, const clp_operand_info *info, const char *text)
{
    if (!text)
        return fail("%s: expected a value of dtype %s: -s %s=...", info->name, clp_dtype_name(info->dtype), info->name);
    if (!array_new(a, info->dtype, 0, NULL))
        return fail("%s: out of memory", info->name);
    char *end = NULL;
    errno = 0;
    if (info->dtype == CLP_BOOL) {
        *(unsigned char *)a->array.data = !strcmp(text, "true") || !strcmp(text, "1");
        return !strcmp(text, "true") || !strcmp(text, "false") || !strcmp(text, "0") || !strcmp(text, "1")
                   ? DONE
                   : fail("%s: expected true or false, got %s", info->name, text);
    }
    if (!clpi_is_float(info->dtype)) {
        const bool negative = *text == '-';
        const unsigned long long u = negative ? 0 : strtoull(text, &end, 0);
        const long long i = negative ? strtoll(text, &end, 0) : 0;
        const bool fits = negative ? i >= clpi_int_min(info->dtype) : u <= clpi_int_max(info->dtype);
        if (end == text || *end || errno || !fits)
            return fail("%s: expected %s, got %s", info->name, clp_dtype_name(info->dtype), text);
        const unsigned long long bits = negative ? (unsigned long long)i : u;
        memcpy(a->array.data, &bits, (size_t)clp_dtype_bits(info->dtype) / 8);
        return DONE;
    }
    const double value = strtod(text, &end);
    if (end == text || *end)
        return fail("%s: expected %s, got %s", info->name, clp_dtype_name(info->dtype), text);
    array_set(&a->array, 0, value);
    /* As in kernel text: inf is what is spelled so, and a dtype may have neither inf nor NaN. */
    const double stored = array_number(&a->array, 0);
    const bool is_spelled = isinf(value) && errno != ERANGE;
    if (isnan(value) ? isnan(stored) : is_spelled ? stored == value : isfinite(stored))
        return DONE;
    return fail("%s: %s does not fit %s", info->name, text, clp_dtype_name(info->dtype));
}

/* ---- Sizes ---- */

static int fail_dim(const job *j, int i, int d, int dim)
{
    clpi_str s;
    clpi_str_init(&s, &j->ctx->env);
    clpi_dim_message(j->ir, job_operand(j, i), d, dim, j->arrays[i].shape[d], &s);
    const int status = s.failed ? fail("out of memory") : fail("%s", s.text);
    clpi_str_done(&s);
    return status;
}

/* As the plan binds dims, from the arrays that are there: those that show a dim alone come first. */
static int dims_shown(const job *j, bool alone, int64_t *size, bool *known)
{
    for (int i = 0; i < j->n; i++) {
        const clpi_operand *x = &j->ir->operands[job_operand(j, i)];
        for (int d = 0; j->arrays[i].array.data && d < x->rank; d++) {
            int dim;
            int64_t mul, add;
            if (!clpi_dim_form(j->ir, x->shape[d], &dim, &mul, &add) || known[dim] || (alone && (mul != 1 || add != 0)))
                continue;
            if (!clpi_dim_solve(j->arrays[i].shape[d], mul, add, &size[dim]))
                return fail_dim(j, i, d, dim);
            known[dim] = true;
        }
    }
    return DONE;
}

static int dims_from_options(job *j, int64_t *size, bool *known)
{
    j->dims = calloc((size_t)j->o->dims.n + 1, sizeof *j->dims);
    if (!j->dims)
        return fail("out of memory");
    for (int k = 0; k < j->o->dims.n; k++) {
        const pair *p = &j->o->dims.items[k];
        int64_t value;
        if (!is_number(p->value, &value) || value < 0)
            return fail("--dim: %s: expected a size, got %s", p->name, p->value);
        int dim = -1;
        for (int d = 0; d < j->ir->n_dims; d++)
            if (!strcmp(j->ir->dims[d], p->name))
                dim = d;
        if (dim < 0)
            return fail_name(j, "--dim", "dim", p->name, j->ir->dims, j->ir->n_dims);
        if (!known[dim])
            size[dim] = value;
        known[dim] = true;
        if (value > CLPI_MAX_SIZE)
            return fail("%s: expected a size of 0 to %lld, got %lld", p->name, (long long)CLPI_MAX_SIZE, (long long)value);
        j->dims[j->n_dims++] = (clp_dim){ p->name, value };
    }
    return DONE;
}

/* The name of a dim in v whose size is not known, or NULL. */
static const char *unknown_dim(const job *j, clp_val v, const bool *known)
{
    const clpi_op *op = clpi_op_at(j->ir, v);
    if (op->kind == CLP_OP_dim)
        return known[op->attr] ? NULL : j->ir->dims[op->attr];
    const char *name = NULL;
    for (uint32_t k = 0; k < op->n_args && !name; k++)
        name = unknown_dim(j, clpi_args(j->ir, op)[k], known);
    return name;
}

/* ---- The arrays that nobody gave ---- */

typedef struct sizes {
    clpi_arena arena;
    clpi_bound *bound;
    bool *known; /* [n_dims] */
} sizes;

static bool shape_of(const job *j, const sizes *s, int i, const char **out_unknown)
{
    const clpi_operand *x = &j->ir->operands[job_operand(j, i)];
    for (int d = 0; d < x->rank; d++) {
        *out_unknown = unknown_dim(j, x->shape[d], s->known);
        if (*out_unknown)
            return false;
        j->arrays[i].shape[d] = s->bound->header[x->shape[d].id];
    }
    return true;
}

/* Each array has a seed of its own: equal arrays would hide faults. */
static making making_of(const job *j, int i, unsigned how, bool shape_known)
{
    const bool is_read = clp_kernel_operand(j->kernel, i).role == CLP_PREFETCH;
    making as = { .shape_known = shape_known, .shape_only = (how & SHAPES_ONLY) && !is_read, .seed = (uint64_t)i };
    for (int k = 0; k < j->n && !(how & SHAPES_ONLY); k++)
        as.taken_bytes += j->arrays[k].memory ? (double)array_bytes(&j->arrays[k].array) : 0;
    return as;
}

static int make_missing(job *j, const sizes *s, int i, unsigned how)
{
    const clp_operand_info info = clp_kernel_operand(j->kernel, i);
    const char *source = value_of(&j->o->inputs, info.name);
    const making as = making_of(j, i, how, true);
    const char *unknown = NULL;
    const bool shape_known = shape_of(j, s, i, &unknown);
    for (int d = 0; shape_known && d < info.rank; d++)
        if (j->arrays[i].shape[d] < 0)
            return fail("%s: its dimension %d would be %lld", info.name, d, (long long)j->arrays[i].shape[d]);
    if (!source && info.role != CLP_OUT && !(how & MAKE_UP_MISSING))
        return fail("%s: expected an array: -i %s=%s.npy, or made up: -i %s=randn:...", info.name, info.name, info.name,
                    info.name);
    if (!shape_known)
        return fail("%s: the size of dim %s is not known: no array shows it; give it with --dim %s=...", info.name,
                    unknown, unknown);
    if (!source && info.role == CLP_OUT)
        source = "zeros";
    if (!source) {
        source = j->arrays[i].made_up = clpi_is_float(info.dtype) ? "randn" : "zeros";
        if (!j->o->quiet && !as.shape_only)
            fprintf(stderr, "clpallas: %s: made up: %s\n", info.name, source);
    }
    return array_make_up(&j->arrays[i], info.name, info.dtype, info.rank, source, as);
}

/* What stands in the options with its size. */
static int make_given(job *j, int i, unsigned how)
{
    const clp_operand_info info = clp_kernel_operand(j->kernel, i);
    const char *source = value_of(&j->o->inputs, info.name);
    if (info.role == CLP_SCALAR)
        return make_scalar(&j->arrays[i], &info, value_of(&j->o->scalars, info.name));
    if (!source)
        return DONE;
    if (!array_is_made_up(source))
        return array_read(&j->arrays[i], info.name, info.dtype, info.rank, source);
    if (strchr(source, ':') || info.rank == 0)
        return array_make_up(&j->arrays[i], info.name, info.dtype, info.rank, source, making_of(j, i, how, false));
    return DONE;
}

/* `out z alias x` stands on the storage of x, which is ours alone. */
static int share_alias(job *j, int i)
{
    const clpi_operand *z = &j->ir->operands[job_operand(j, i)];
    if (z->alias < 0)
        return DONE;
    const int from = job_find(j, j->ir->operands[z->alias].name);
    if (j->arrays[i].array.data)
        return fail("%s: stands on the storage of %s; give that one's content", z->name,
                    j->ir->operands[z->alias].name);
    if (from < 0 || !j->arrays[from].array.data)
        return fail("%s: expected an array for %s first", z->name, j->ir->operands[z->alias].name);
    j->arrays[i].array = j->arrays[from].array;
    memcpy(j->arrays[i].shape, j->arrays[from].shape, sizeof j->arrays[i].shape);
    return DONE;
}

/* dim sizes, then all header values that follow from them. */
static int solve_sizes(job *j, sizes *s)
{
    s->bound = clpi_bound_new(j->plan, &s->arena);
    s->known = CLPI_NEW_N(&s->arena, bool, (size_t)j->ir->n_dims);
    if (!s->bound || !s->known)
        return fail("out of memory");
    if (dims_shown(j, true, s->bound->dim, s->known) || dims_shown(j, false, s->bound->dim, s->known) ||
        dims_from_options(j, s->bound->dim, s->known))
        return FAILED;
    for (int i = 0; i < j->n; i++) {
        const int operand = job_operand(j, i);
        if (j->ir->operands[operand].role == CLP_SCALAR)
            s->bound->scalar[operand] = clpi_scalar_value(&j->ir->operands[operand], &j->arrays[i].array);
    }
    clpi_header_at_launch(s->bound);
    return DONE;
}

static int parse_box(job *j)
{
    const int n = j->ir->n_axes;
    if (!j->o->box.n)
        return DONE;
    j->box_start = calloc((size_t)n + 1, sizeof *j->box_start);
    j->box_count = calloc((size_t)n + 1, sizeof *j->box_count);
    if (!j->box_start || !j->box_count)
        return fail("out of memory");
    for (int a = 0; a < n; a++)
        j->box_count[a] = -1;
    for (int k = 0; k < j->o->box.n; k++) {
        const pair *p = &j->o->box.items[k];
        long long from, to;
        char end;
        if (sscanf(p->value, "%lld:%lld%c", &from, &to, &end) != 2 || from < 0 || to < from)
            return fail("--box: %s: expected FROM:TO, programs FROM .. TO - 1 with 0 <= FROM <= TO, got %s", p->name, p->value);
        const int axis = job_axis(j, "--box", p->name);
        if (axis < 0)
            return FAILED;
        j->box_start[axis] = from;
        j->box_count[axis] = to - from;
    }
    return DONE;
}

/* Axes that --box does not name are whole: their sizes are known once the arrays are there. */
static int finish_box(job *j)
{
    bool is_open = false;
    for (int a = 0; j->box_count && a < j->ir->n_axes; a++)
        is_open = is_open || j->box_count[a] < 0;
    if (!is_open)
        return DONE;
    int64_t *start = j->box_start, *count = j->box_count;
    j->box_start = j->box_count = NULL;
    clpi_arena arena;
    clpi_arena_init(&arena, &j->ctx->env);
    clpi_bound *bound = NULL;
    const int status = bind_job(j, &arena, &bound);
    for (int a = 0; !status && a < j->ir->n_axes; a++)
        if (count[a] < 0)
            count[a] = bound->axis_size[a];
    clpi_arena_done(&arena);
    j->box_start = start;
    j->box_count = count;
    return status;
}

int job_arrays(job *j, unsigned how)
{
    int status = job_names(j);
    if (!status)
        status = parse_box(j);
    for (int i = 0; !status && i < j->n; i++)
        status = make_given(j, i, how);
    sizes s = { .bound = NULL };
    clpi_arena_init(&s.arena, &j->ctx->env);
    if (!status)
        status = solve_sizes(j, &s);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; !status && i < j->n; i++) {
            const bool is_alias = j->ir->operands[job_operand(j, i)].alias >= 0;
            if (pass == 0 && !is_alias && !j->arrays[i].array.data)
                status = make_missing(j, &s, i, how);
            else if (pass == 1)
                status = share_alias(j, i);
        }
    clpi_arena_done(&s.arena);
    for (int i = 0; !status && i < j->n; i++)
        j->args[i] = j->arrays[i].array;
    return status ? status : finish_box(j);
}

void job_run_opts(const job *j, clp_run_opts *out)
{
    *out = (clp_run_opts){ .grid_start = j->box_start,
                           .grid_count = j->box_count,
                           .order = j->o->order,
                           .seed = j->o->seed,
                           .dims = j->dims,
                           .n_dims = j->n_dims };
}

int job_choose(job *j, bool is_checked)
{
    clp_run_opts run;
    clp_kernel *chosen;
    job_run_opts(j, &run);
    if (clpi_kernel_for(j->kernel, j->args, j->n, &run, is_checked, &chosen, &j->choice))
        return fail_job(j);
    be_about(j, chosen);
    return DONE;
}

clp_status job_variant(const job *j, const int64_t *values, clp_kernel **out_kernel)
{
    clp_kernel *member;
    *out_kernel = NULL;
    clp_status st = clpi_point_kernel(j->member, values, false, &member);
    if (!st)
        st = batch_kernel(j->o, member, out_kernel);
    if (*out_kernel != member)
        clp_kernel_free(member);
    return st;
}

int job_buffers(job *j, clp_array *args, clp_buffer **buffers)
{
    for (int i = 0; i < j->n; i++) {
        args[i] = j->args[i];
        const size_t n_bytes = array_bytes(&j->args[i]);
        if (clp_kernel_operand(j->kernel, i).role == CLP_SCALAR)
            continue;
        args[i].data = NULL;
        for (int k = 0; k < i && !args[i].buffer; k++)
            if (j->args[k].data == j->args[i].data)
                args[i].buffer = args[k].buffer;
        if (args[i].buffer)
            continue;
        if (clp_buffer_new(j->ctx, n_bytes ? n_bytes : 1, &buffers[i]) ||
            (n_bytes && clp_buffer_write(buffers[i], 0, j->args[i].data, n_bytes)))
            return fail_library(j->ctx);
        args[i].buffer = buffers[i];
    }
    return DONE;
}

void job_done(job *j)
{
    if (j->kernel != j->member)
        clp_kernel_free(j->kernel);
    clp_kernel_free(j->member);
    clp_context_free(j->ctx);
    for (int i = 0; j->arrays && i < j->n; i++)
        array_done(&j->arrays[i]);
    free(j->arrays);
    free(j->args);
    free(j->dims);
    free(j->box_start);
    free(j->box_count);
}
