/* names: what options name of a kernel: operands, dims, axes.
 * In: a job with its kernel. Out: which one it is; or a message with those that there are, and the nearest.           */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

int job_find(const job *j, const char *name)
{
    for (int i = 0; i < j->n; i++)
        if (!strcmp(clp_kernel_operand(j->kernel, i).name, name))
            return i;
    return -1;
}

static bool takes_array(clp_role role)
{
    return role != CLP_SCALAR;
}
static bool takes_scalar(clp_role role)
{
    return role == CLP_SCALAR;
}
static bool is_output(clp_role role)
{
    return role == CLP_OUT || role == CLP_INOUT;
}

int fail_name(const job *j, const char *option, const char *what, const char *name, const char *const *names, int n)
{
    char all[512] = "none", nearest[96];
    size_t at = 0;
    for (int i = 0; i < n && at < sizeof all; i++)
        at += (size_t)snprintf(all + at, sizeof all - at, "%s%s", i ? ", " : "", names[i]);
    return fail("%s: there is no %s %s in %s; it has %s%s", option, what, name, clp_kernel_name(j->kernel), all,
                did_you_mean(nearest, sizeof nearest, name, names, n));
}

/* Every name that the options give must be an operand that can take it. */
static int check_names(const job *j, const pairs *list, const char *option, const char *what, bool (*fits)(clp_role))
{
    for (int k = 0; k < list->n; k++) {
        const int i = job_find(j, list->items[k].name);
        if (i >= 0 && fits(clp_kernel_operand(j->kernel, i).role))
            continue;
        /* What is a scalar in the text may be an array here: --batch makes one of it. */
        const bool is_array = i >= 0 && takes_array(clp_kernel_operand(j->kernel, i).role);
        if (i >= 0 && fits != is_output)
            return fail("%s: %s is %s%s: %s %s=...", option, list->items[k].name, is_array ? "an array" : "a scalar",
                        is_array && j->o->batches.n ? " with --batch" : "", is_array ? "-i" : "-s", list->items[k].name);
        const char **names = calloc((size_t)j->n + 1, sizeof *names);
        int n = 0;
        for (int m = 0; names && m < j->n; m++)
            if (fits(clp_kernel_operand(j->kernel, m).role))
                names[n++] = clp_kernel_operand(j->kernel, m).name;
        const int status = fail_name(j, option, what, list->items[k].name, names, n);
        free(names);
        return status;
    }
    return DONE;
}

int job_names(const job *j)
{
    int status = check_names(j, &j->o->inputs, "-i", "array", takes_array);
    if (!status)
        status = check_names(j, &j->o->scalars, "-s", "scalar", takes_scalar);
    if (!status)
        status = check_names(j, &j->o->outputs, "-o", "output", is_output);
    return status;
}

int job_axis(const job *j, const char *option, const char *name)
{
    const char *names[CLPI_MAX_AXES];
    for (int a = 0; a < j->ir->n_axes; a++) {
        names[a] = j->ir->axes[a].name;
        if (!strcmp(names[a], name))
            return a;
    }
    fail_name(j, option, "axis", name, names, j->ir->n_axes);
    return -1;
}
