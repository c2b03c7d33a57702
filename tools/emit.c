/* emit: `clpallas emit`: a stage of the compiler as text, to standard output or a file. */
#include <errno.h>
#include <string.h>

#include "tool.h"

static void write_text(const char *text, size_t n_bytes, void *user)
{
    FILE *f = user;
    fwrite(text, 1, n_bytes, f);
    if (n_bytes && text[n_bytes - 1] != '\n')
        fputc('\n', f);
}

int command_emit(const options *o)
{
    job j;
    int status = job_open(&j, o, o->on);
    FILE *f = stdout;
    if (!status && o->output && !(f = fopen(o->output, "w")))
        status = fail("%s: %s", o->output, strerror(errno));
    if (!status && clp_kernel_emit(j.kernel, o->stage, write_text, f))
        status = fail_library(j.ctx);
    if (f && f != stdout && fclose(f) && !status)
        status = fail("%s: %s", o->output, strerror(errno));
    job_done(&j);
    return status;
}
