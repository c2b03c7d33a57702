/* choose: what the parameters are that the caller left open, launch by launch.
 * In: a kernel with `tune` lists, and the arrays of a launch. Out: the kernel to be run: that one, with the defaults, or another
 * of the same text, with values out of the lists.
 * Decides by shape class, so that what is compiled for one shape serves all like it: what clp_tune found on this device, where
 * the context asks for that, else the point of the lists for which the model (model.c) tells the least time. A class holds
 * the sizes that round up to the same of 1, 2, 3, 4, 6, 8, 12, 16, 24, ..., and is looked at by its largest, for which
 * blocks waste as they do for all of it: so it does not matter which shape comes first.
 *
 * A box of the grid is counted in programs of the defaults and has these. So has the interpreter, which defines what a kernel
 * means, with the same parameters on every machine, unless what was found by trying is asked for.                       */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "run/choose.h"

enum { MAX_POINTS = 1024 };

typedef struct variant { const int64_t *values; clp_kernel *kernel; const char *params; } variant;

typedef struct choice { const int64_t *dims; int i_variant; clp_chosen_by by; } choice;

struct clpi_choices {
    clpi_arena       arena;
    const clpi_tune *open;            /* [n_open] the lists of the parameters that nobody named */
    int              n_open, n_dims;
    const char      *params;          /* the others, as given; "" for none */
    int              n_points;
    variant          defaults;        /* by the kernel itself */
    bool             has_warned;      /* of lines that cannot be used, once */
    pthread_mutex_t  lock;            /* of what follows, and the arena */
    struct { variant *items; uint32_t n, cap; } variants;     /* the first: the defaults */
    struct { choice  *items; uint32_t n, cap; } classes;
};

/* ---- Points of the lists ---- */

static void default_values(const clpi_choices *c, int64_t *out)
{
    for (int i = 0; i < c->n_open; i++)
        out[i] = c->open[i].value;
}

static bool same_values(const clpi_choices *c, const int64_t *a, const int64_t *b)
{
    return memcmp(a, b, (size_t)c->n_open * sizeof *a) == 0;
}

int clpi_n_open(const clpi_choices *c)
{
    return c->n_open;
}

const clpi_tune *clpi_open_list(const clpi_choices *c, int i)
{
    return &c->open[i];
}

int clpi_n_points(const clpi_choices *c)
{
    return c->n_points;
}

/* The first point is that of the defaults, which the lists need not hold; the last list runs fastest behind it. */
void clpi_point(const clpi_choices *c, int i_point, int64_t *out_values)
{
    int rest = i_point - 1;
    default_values(c, out_values);
    for (int i = c->n_open; rest >= 0 && i-- > 0;) {
        out_values[i] = c->open[i].values[rest % c->open[i].n_values];
        rest /= c->open[i].n_values;
    }
}

char *clpi_point_params(const clpi_choices *c, const int64_t *values, clpi_arena *arena)
{
    clpi_str s;
    clpi_str_init(&s, arena->env);
    for (int i = 0; i < c->n_open; i++)
        clpi_str_add(&s, "%s%s=%lld", i ? ", " : "", c->open[i].param, (long long)values[i]);
    return clpi_str_keep(&s, arena);
}

static bool takes_same_arrays(const clp_kernel *a, const clp_kernel *b)
{
    if (a->n_operands != b->n_operands || a->ir->n_dims != b->ir->n_dims)
        return false;
    for (int i = 0; i < a->ir->n_dims; i++)
        if (strcmp(a->ir->dims[i], b->ir->dims[i]) != 0)
            return false;
    for (int i = 0; i < a->n_operands; i++) {
        const clpi_operand *x = &a->ir->operands[a->operands[i]], *y = &b->ir->operands[b->operands[i]];
        if (x->role != y->role || x->dtype != y->dtype || x->rank != y->rank || strcmp(x->name, y->name) != 0)
            return false;
    }
    return true;
}

clp_status clpi_point_kernel(const clp_kernel *kernel, const int64_t *values, bool is_trial, clp_kernel **out_kernel)
{
    const clpi_choices *c = kernel->choices;
    *out_kernel = NULL;
    clpi_arena arena;
    clpi_arena_init(&arena, &kernel->ctx->env);
    const char *open = clpi_point_params(c, values, &arena);
    const char *all = open ? clpi_arena_printf(&arena, "%s, %s", open, c->params) : NULL;
    clp_status status = all ? clpi_kernel_variant(kernel, all, is_trial, out_kernel) : CLP_ERR_OOM;
    clpi_arena_done(&arena);
    if (!status && !takes_same_arrays(kernel, *out_kernel)) {
        clp_kernel_free(*out_kernel);
        *out_kernel = NULL;
        status = clpi_fail(&kernel->ctx->env, CLP_ERR_INVALID, "%s: its operands depend on a parameter with a `tune` list", kernel->ir->name);
    }
    return status;
}

/* ---- Classes ---- */

int64_t clpi_shape_class(int64_t size)
{
    int64_t power = 1;
    while (power < size)
        power *= 2;
    return power >= 4 && size <= power / 4 * 3 ? power / 4 * 3 : size == 0 ? 0 : power;
}

/* What the model says of a point at these dims; INFINITY where the kernel cannot be had or does not take them. */
static clp_status predict_kernel(const clp_kernel *k, const int64_t *dims, double *out_cycles)
{
    const clp_context *ctx = k->ctx;
    clpi_arena arena;
    clpi_bound *bound;
    *out_cycles = INFINITY;
    clpi_arena_init(&arena, &k->ctx->env);
    clp_status status = clpi_bind_dims(k->plan, dims, &arena, &bound);
    if (!status)
        status = clpi_predict(bound, &ctx->limits, clpi_cl_realisation(ctx->schedule, &ctx->limits), &arena, out_cycles);
    clpi_arena_done(&arena);
    return status == CLP_ERR_ARG ? CLP_OK : status;
}

clp_status clpi_predict_point(const clp_kernel *kernel, const int64_t *values, const int64_t *dims, double *out_cycles)
{
    clp_kernel *trial;
    *out_cycles = INFINITY;
    clp_status status = clpi_point_kernel(kernel, values, true, &trial);
    if (!status)
        status = predict_kernel(trial, dims, out_cycles);
    clp_kernel_free(trial);
    return status == CLP_ERR_INVALID || status == CLP_ERR_ARG ? CLP_OK : status;
}

/* The first point that takes these dims: in most cases that of the defaults. */
static clp_status first_point(const clp_kernel *kernel, const int64_t *dims, int64_t *values, double *out_cycles)
{
    *out_cycles = INFINITY;
    for (int i = 0; i < kernel->choices->n_points && isinf(*out_cycles); i++) {
        clpi_point(kernel->choices, i, values);
        CLP_TRY(clpi_predict_point(kernel, values, dims, out_cycles));
    }
    return CLP_OK;
}

/* From there on better values of one parameter after another, until there are none: lists multiply, and each point has to be
 * elaborated. false: no point takes these dims.                                                                         */
static clp_status ask_model(const clp_kernel *kernel, const int64_t *dims, int64_t *values, bool *out_found)
{
    enum { MAX_PASSES = 4 };
    const clpi_choices *c = kernel->choices;
    double least, cycles;
    bool is_better = true;
    CLP_TRY(first_point(kernel, dims, values, &least));
    *out_found = !isinf(least);
    for (int pass = 0; pass < MAX_PASSES && *out_found && is_better; pass++) {
        is_better = false;
        for (int i = 0; i < c->n_open; i++) {
            int64_t best = values[i];
            for (int k = 0; k < c->open[i].n_values; k++) {
                values[i] = c->open[i].values[k];
                if (values[i] == best)
                    continue;
                CLP_TRY(clpi_predict_point(kernel, values, dims, &cycles));
                if (cycles < least) {
                    least = cycles;
                    best = values[i];
                    is_better = true;
                }
            }
            values[i] = best;
        }
    }
    return CLP_OK;
}

static clp_status find_point(const clp_kernel *kernel, const int64_t *dims, const int64_t *class, clpi_arena *arena, int64_t *best,
                             clp_chosen_by *out_by)
{
    clpi_choices *c = kernel->choices;
    const clp_context *ctx = kernel->ctx;
    bool found = false;
    default_values(c, best);
    *out_by = CLP_CHOSEN_DEFAULT;
    if (ctx->uses_tuned) {
        CLP_TRY(clpi_tuned_find(kernel, class, !c->has_warned, arena, best, &found));
        c->has_warned = true;
        *out_by = found ? CLP_CHOSEN_TUNED : CLP_CHOSEN_DEFAULT;
    }
    if (found || ctx->backend == &clpi_interp_backend)
        return CLP_OK;
    CLP_TRY(ask_model(kernel, class, best, &found));
    /* What a kernel requires may hold for the very sizes alone. */
    if (!found)
        CLP_TRY(ask_model(kernel, dims, best, &found));
    if (!found)
        default_values(c, best);
    *out_by = found ? CLP_CHOSEN_MODEL : CLP_CHOSEN_DEFAULT;
    return CLP_OK;
}

/* The number of the variant with these values, made where it is not there yet. */
static clp_status variant_of(clp_kernel *kernel, const int64_t *values, int *out_i)
{
    clpi_choices *c = kernel->choices;
    for (uint32_t i = 0; i < c->variants.n; i++)
        if (same_values(c, c->variants.items[i].values, values)) {
            *out_i = (int)i;
            return CLP_OK;
        }
    int64_t *kept = CLPI_NEW_N(&c->arena, int64_t, (size_t)c->n_open);
    variant v = { .values = kept, .params = clpi_point_params(c, values, &c->arena) };
    if (!kept || !v.params)
        return CLP_ERR_OOM;
    memcpy(kept, values, (size_t)c->n_open * sizeof *kept);
    CLP_TRY(clpi_point_kernel(kernel, values, false, &v.kernel));
    if (!CLPI_PUSH(&c->arena, &c->variants, v)) {
        clp_kernel_free(v.kernel);
        return CLP_ERR_OOM;
    }
    *out_i = (int)c->variants.n - 1;
    return CLP_OK;
}

static clp_status choice_add(clp_kernel *kernel, const int64_t *dims, const int64_t *class, choice *out)
{
    clpi_choices *c = kernel->choices;
    clpi_arena arena;
    clpi_arena_init(&arena, &kernel->ctx->env);
    int64_t *best = CLPI_NEW_N(&arena, int64_t, (size_t)c->n_open);
    int64_t *kept = CLPI_NEW_N(&c->arena, int64_t, (size_t)c->n_dims);
    clp_status status = best && kept ? find_point(kernel, dims, class, &arena, best, &out->by) : CLP_ERR_OOM;
    if (!status)
        status = variant_of(kernel, best, &out->i_variant);
    if (!status) {
        memcpy(kept, class, (size_t)c->n_dims * sizeof *kept);
        out->dims = kept;
        status = CLPI_PUSH(&c->arena, &c->classes, *out) ? CLP_OK : CLP_ERR_OOM;
    }
    clpi_arena_done(&arena);
    return status;
}

static clp_status choose(clp_kernel *kernel, const int64_t *dims, const int64_t *class, choice *out)
{
    clpi_choices *c = kernel->choices;
    for (uint32_t i = 0; i < c->classes.n; i++)
        if (memcmp(c->classes.items[i].dims, class, (size_t)c->n_dims * sizeof *class) == 0) {
            *out = c->classes.items[i];
            return CLP_OK;
        }
    return choice_add(kernel, dims, class, out);
}

bool clpi_launch_class(const clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *opts, int64_t *out_dims,
                       int64_t *out_class)
{
    const clpi_launch_args args = { .arrays = arrays, .n_arrays = n_arrays, .dims = opts->dims, .n_dims = opts->n_dims };
    if (!arrays || n_arrays != kernel->n_operands || !clpi_dims_of(kernel->plan, &args, out_dims))
        return false;
    for (int i = 0; i < kernel->ir->n_dims; i++)
        out_class[i] = clpi_shape_class(out_dims[i]);
    return true;
}

clp_choice clpi_choice_default(const clp_kernel *kernel)
{
    const clpi_choices *c = kernel->choices;
    return (clp_choice){ .params = c ? c->defaults.params : "", .by = c ? CLP_CHOSEN_DEFAULT : CLP_CHOSEN_NOTHING };
}

clp_status clpi_kernel_choose(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *opts, clp_kernel **out_kernel,
                       clp_choice *out_choice)
{
    clpi_choices *c = kernel->choices;
    int64_t dims[CLPI_MAX_CHOICE_DIMS], class[CLPI_MAX_CHOICE_DIMS];
    *out_kernel = kernel;
    *out_choice = clpi_choice_default(kernel);
    const clp_context *ctx = kernel->ctx;
    if (!c || (ctx->backend == &clpi_interp_backend && !ctx->uses_tuned) || opts->grid_start || opts->grid_count)
        return CLP_OK;
    if (!clpi_launch_class(kernel, arrays, n_arrays, opts, dims, class))
        return CLP_OK;
    choice chosen = { 0 };
    pthread_mutex_lock(&c->lock);
    clp_status status = choose(kernel, dims, class, &chosen);
    if (!status) {
        const variant *v = &c->variants.items[chosen.i_variant];
        *out_kernel = v->kernel;
        *out_choice = (clp_choice){ .params = v->params, .by = chosen.by };
    }
    pthread_mutex_unlock(&c->lock);
    return status;
}

/* ---- Making ---- */

static clp_status choices_fill(clpi_choices *c, clp_kernel *kernel, const clpi_file *file, const char *params)
{
    const clpi_tune *tunes;
    int n;
    CLP_TRY(clpi_tunes(&kernel->ctx->env, &c->arena, file, kernel->ir->name, params, &tunes, &n));
    clpi_tune *open = CLPI_NEW_N(&c->arena, clpi_tune, (size_t)n + 1);
    c->params = params ? clpi_arena_strndup(&c->arena, params, strlen(params)) : "";
    c->n_dims = kernel->ir->n_dims;
    c->open = open;
    c->n_points = 1;
    if (!open || !c->params)
        return CLP_ERR_OOM;
    for (int i = 0; i < n; i++) {
        if (tunes[i].is_given)
            continue;
        open[c->n_open++] = tunes[i];
        c->n_points = tunes[i].n_values < MAX_POINTS / c->n_points ? c->n_points * tunes[i].n_values : MAX_POINTS;
    }
    c->n_points++;
    int64_t *values = CLPI_NEW_N(&c->arena, int64_t, (size_t)c->n_open + 1);
    if (!values)
        return CLP_ERR_OOM;
    default_values(c, values);
    c->defaults = (variant){ values, kernel, clpi_point_params(c, values, &c->arena) };
    return c->defaults.params && CLPI_PUSH(&c->arena, &c->variants, c->defaults) ? CLP_OK : CLP_ERR_OOM;
}

clp_status clpi_choices_new(clp_kernel *kernel, const clpi_file *file, const char *params, clpi_choices **out_choices)
{
    clpi_env *env = &kernel->ctx->env;
    *out_choices = NULL;
    if (kernel->ir->n_dims > CLPI_MAX_CHOICE_DIMS)
        return CLP_OK;
    clpi_choices *c = clpi_alloc(env, 1, sizeof *c);
    if (!c)
        return CLP_ERR_OOM;
    c->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    clpi_arena_init(&c->arena, env);
    clp_status status = choices_fill(c, kernel, file, params);
    if (status || c->n_open == 0 || c->n_open > CLPI_MAX_OPEN)
        clpi_choices_free(c, env);
    else
        *out_choices = c;
    return status;
}

void clpi_choices_free(clpi_choices *c, clpi_env *env)
{
    if (!c)
        return;
    for (uint32_t i = 1; i < c->variants.n; i++)
        clp_kernel_free(c->variants.items[i].kernel);
    pthread_mutex_destroy(&c->lock);
    clpi_arena_done(&c->arena);
    clpi_free(env, c, 1, sizeof *c);
}
