/* emit: `clpallas emit`: a stage of the compiler as text, to standard output or a file. */
#include <errno.h>
#include <string.h>

#include "output.h"
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
    int status = job_open_text(&j, o, o->on);
    output w = { .file = stdout };
    if (!status && o->output && !output_open(&w, o->output))
        status = fail("%s: %s", o->output, strerror(errno));
    if (!status) {
        if (clp_kernel_emit(j.kernel, o->stage, write_text, w.file))
            status = fail_library(j.ctx);
        if (o->output && !output_close(&w, !status) && !status)
            status = fail("%s: %s", o->output, strerror(errno));
    }
    job_done(&j);
    return status;
}
