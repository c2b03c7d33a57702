/* emit: `clpallas emit`: a stage of the compiler as text, to standard output or a file. */
#include <errno.h>
#include <string.h>

#include "output.h"
#include "run/run.h"
#include "tool.h"

static void write_text(const char *text, size_t n_bytes, void *user)
{
    FILE *f = user;
    fwrite(text, 1, n_bytes, f);
    if (n_bytes && text[n_bytes - 1] != '\n')
        fputc('\n', f);
}

#ifdef CLPALLAS_OPENCL
/* The code for limits with a name, which no device need have. */
static int write_for(const job *j, const clpi_limits *limits, FILE *f)
{
    clpi_str s;
    clpi_str_init(&s, &j->ctx->env);
    const clp_status status = clpi_cl_text(&j->ctx->env, j->o->stage, j->ir, j->plan, limits, j->o->schedule, j->o->checked, &s);
    if (!status)
        write_text(s.text, s.n, f);
    clpi_str_done(&s);
    return status ? fail_library(j->ctx) : DONE;
}
#endif

static int write_stage(const job *j, FILE *f)
{
#ifdef CLPALLAS_OPENCL
    const bool is_of_device = j->o->stage == CLP_STAGE_NEST || j->o->stage == CLP_STAGE_CL;
    if (is_of_device && j->o->limits_of)
        return write_for(j, clpi_cl_named_limits(j->o->limits_of), f);
#endif
    return clp_kernel_emit(j->kernel, j->o->stage, write_text, f) ? fail_library(j->ctx) : DONE;
}

int command_emit(const options *o)
{
#ifdef CLPALLAS_OPENCL
    if (o->limits_of && !clpi_cl_named_limits(o->limits_of))
        return fail_usage("--for: expected cpu or gpu, got %s", o->limits_of);
#endif
    job j;
    int status = job_open_text(&j, o, o->limits_of ? "interp" : o->on);
    output w = { .file = stdout };
    if (!status && o->output && !output_open(&w, o->output))
        status = fail("%s: %s", o->output, strerror(errno));
    if (!status) {
        status = write_stage(&j, w.file);
        if (o->output && !output_close(&w, !status) && !status)
            status = fail("%s: %s", o->output, strerror(errno));
    }
    job_done(&j);
    return status;
}
