/* choose: parameters that are left open, for the files that choose and try them.
 *
 *     choose.c     the points of a kernel's lists, shape classes, the choice for a launch
 *     model.c      the time that a launch should take
 *     tuned.c      what trying has found, kept in a file
 *     check/tune.c tries                                                                                                  */
#ifndef CLPI_CHOOSE_H
#define CLPI_CHOOSE_H

#include "run/run.h"
#include "text/text.h"

enum { CLPI_MAX_CHOICE_DIMS = 32, CLPI_MAX_OPEN = 16 };      /* kernels with more are not chosen for */

/* ---- choose.c ---- */
/* NULL where params, with which the kernel was made from its text, leave nothing open. */
clp_status clpi_choices_new(clp_kernel *kernel, const clpi_file *file, const char *params, clpi_choices **out_choices);
void       clpi_choices_free(clpi_choices *choices, clpi_env *env);

int  clpi_n_open(const clpi_choices *choices);
const clpi_tune *clpi_open_list(const clpi_choices *choices, int i);
/* Points: values of the open parameters, in the order of their lists. The first is that of the defaults. */
int   clpi_n_points(const clpi_choices *choices);
void  clpi_point(const clpi_choices *choices, int i_point, int64_t *out_values);
char *clpi_point_params(const clpi_choices *choices, const int64_t *values, clpi_arena *arena);      /* "bm=64, bn=128" */
/* The kernel at a point, up to its plan; the caller frees it. is_trial: as of clpi_kernel_variant. */
clp_status clpi_point_kernel(const clp_kernel *kernel, const int64_t *values, bool is_trial, clp_kernel **out_kernel);

/* The largest size of the class of a size. */
int64_t clpi_shape_class(int64_t size);
/* The dims of a launch and their classes, [ir->n_dims]; false: the arrays do not fit the kernel. */
bool clpi_launch_class(const clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *opts, int64_t *out_dims,
                       int64_t *out_class);
/* INFINITY: the kernel cannot be had at that point, or does not take these dims. */
clp_status clpi_predict_point(const clp_kernel *kernel, const int64_t *values, const int64_t *dims, double *out_cycles);

/* ---- model.c ---- */
/* How long a launch should take, in cycles of a typical device with these limits: to be compared with another of the same
 * kernel on the same device. arena: for what it needs on the way.                                                       */
clp_status clpi_predict(const clpi_bound *bound, const clpi_limits *limits, clp_schedule realisation, clpi_arena *arena,
                        double *out_cycles);

/* ---- tuned.c ---- */
/* The values kept for the context's device, the kernel and a class of its dims. warns: lines that are of no use are told to
 * the context's dump. OOM alone.                                                                                        */
clp_status clpi_tuned_find(const clp_kernel *kernel, const int64_t *class, bool warns, clpi_arena *arena, int64_t *out_values,
                           bool *out_found);
/* Keeps them, in place of what was there. out_why: NULL, or why they are not kept, in arena. */
clp_status clpi_tuned_keep(const clp_kernel *kernel, const int64_t *class, const int64_t *values, double seconds,
                           double default_seconds, clpi_arena *arena, const char **out_why);

#endif
