/* bench_torch: PyTorch, in a process of its own that lives as long as the command (bench_torch.py says what is spoken with it).
 * In: work, and a Python expression. Out: a side, or what is missing: a python3 with torch.
 * The arrays go to it once, through a file; it has copies of its own, and takes its own times, so that the pipe is not in them.
 * CLPALLAS_PYTHON names another interpreter than python3. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/embed.h"
#include "bench.h"

extern const clpi_embedded bench_torch_script[];

struct torch {
    pid_t pid;
    FILE *to, *from;
    char name[64]; /* "PyTorch 2.3.1" */
};

/* ---- The process ---- */

static void become_python(const int *in, const int *out)
{
    const char *python = getenv("CLPALLAS_PYTHON");
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    close(in[0]);
    close(in[1]);
    close(out[0]);
    close(out[1]);
    freopen("/dev/null", "w", stderr);
    execlp(python ? python : "python3", python ? python : "python3", "-c", bench_torch_script[0].text, (char *)NULL);
    _exit(127);
}

/* A line that it answers, without its end; false: it is gone. */
static bool hear(torch *t, char *line, size_t n_bytes)
{
    if (!fgets(line, (int)n_bytes, t->from))
        return false;
    line[strcspn(line, "\n")] = '\0';
    return true;
}

void torch_stop(torch *t)
{
    if (!t)
        return;
    if (t->to)
        fclose(t->to);
    if (t->from)
        fclose(t->from);
    if (t->pid > 0)
        waitpid(t->pid, NULL, 0);
    free(t);
}

static torch *start(char *why, size_t why_bytes)
{
    int in[2], out[2];
    char line[256];
    torch *t = calloc(1, sizeof *t);
    if (!t || pipe(in)) {
        free(t);
        snprintf(why, why_bytes, "no process can be started");
        return NULL;
    }
    if (pipe(out)) {
        close(in[0]);
        close(in[1]);
        free(t);
        snprintf(why, why_bytes, "no process can be started");
        return NULL;
    }
    signal(SIGPIPE, SIG_IGN); /* what it does not hear, it does not answer */
    t->pid = fork();
    if (t->pid == 0)
        become_python(in, out);
    close(in[0]);
    close(out[1]);
    t->to = fdopen(in[1], "w");
    t->from = fdopen(out[0], "r");
    if (t->pid > 0 && t->to && t->from && hear(t, line, sizeof line) && !strncmp(line, "torch ", 6)) {
        snprintf(t->name, sizeof t->name, "PyTorch %.40s", line + 6);
        return t;
    }
    torch_stop(t);
    snprintf(why, why_bytes, "python3 with torch cannot be started (CLPALLAS_PYTHON names another python3)");
    return NULL;
}

/* Says a line; line then holds the answer. False: it is gone, or answers with an error, which why holds. */
static bool ask(torch *t, char *line, size_t n_bytes, char *why, size_t why_bytes)
{
    const bool is_heard = fprintf(t->to, "%s\n", line) > 0 && !fflush(t->to) && hear(t, line, n_bytes);
    if (is_heard && strncmp(line, "error:", 6))
        return true;
    snprintf(why, why_bytes, "%.190s", is_heard ? line : "the process ended");
    return false;
}

/* ---- Arrays ---- */

static const char *dtype_name(clp_dtype t)
{
    static const struct { clp_dtype dtype; const char *name; } names[] = {
        { CLP_F32, "float32" }, { CLP_BF16, "bfloat16" }, { CLP_F16, "float16" }, { CLP_F64, "float64" },
        { CLP_I32, "int32" }, { CLP_I64, "int64" }, { CLP_I8, "int8" }, { CLP_U8, "uint8" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].dtype == t)
            return names[i].name;
    return "float32";
}

static void path_of(const work *w, char *path, size_t n_bytes)
{
    snprintf(path, n_bytes, "%s/torch", w->b->folder);
}

/* Writes all arrays into a file, and line: the command that reads them. */
static int hand_over(work *w, char *line, size_t n_bytes)
{
    char path[300];
    path_of(w, path, sizeof path);
    size_t at = (size_t)snprintf(line, n_bytes, "open %s", path), offset = 0;
    FILE *f = fopen(path, "wb");
    int status = f ? DONE : fail("%s: %s", path, strerror(errno));
    for (int i = 0; !status && i < w->n; i++) {
        void *bytes = malloc(w->n_bytes[i] + 1);
        status = bytes ? work_read(w, i, bytes) : fail("out of memory");
        if (!status && fwrite(bytes, 1, w->n_bytes[i], f) != w->n_bytes[i])
            status = fail("%s: %s", path, strerror(errno));
        free(bytes);
        at += (size_t)snprintf(line + at, n_bytes - at, " %s:%s:", w->names[i], dtype_name(w->args[i].dtype));
        for (int d = 0; d < w->args[i].rank; d++)
            at += (size_t)snprintf(line + at, n_bytes - at, "%s%lld", d ? "x" : "", (long long)w->shapes[i][d]);
        at += (size_t)snprintf(line + at, n_bytes - at, ":%zu", offset);
        offset += w->n_bytes[i];
        for (; !status && offset % 8; offset++)
            fputc(0, f);
    }
    if (f && fclose(f) && !status)
        status = fail("%s: %s", path, strerror(errno));
    return status;
}

/* ---- The side ---- */

typedef struct torch_side {
    work *w;
    torch *t;
} torch_side;

static int fail_torch(const torch_side *s, const char *why)
{
    return fail("%s: %s: %s", s->w->row->name, s->t->name, why);
}

static int many_torch(void *user, int n, double *out_s)
{
    const torch_side *s = user;
    char line[512], why[200];
    snprintf(line, sizeof line, "run %d", n);
    if (!ask(s->t, line, sizeof line, why, sizeof why))
        return fail_torch(s, why);
    *out_s = strtod(line, NULL);
    return DONE;
}

static int once_torch(void *user)
{
    double seconds;
    return many_torch(user, 1, &seconds);
}

static int result_torch(void *user, void *out, size_t n_bytes)
{
    const torch_side *s = user;
    char line[512], why[200], path[300];
    path_of(s->w, path, sizeof path);
    snprintf(line, sizeof line, "result %s 0", path);
    if (!ask(s->t, line, sizeof line, why, sizeof why))
        return fail_torch(s, why);
    FILE *f = fopen(path, "rb");
    const bool is_read = f && fread(out, 1, n_bytes, f) == n_bytes;
    if (f)
        fclose(f);
    return is_read ? DONE : fail_torch(s, "its result has another size");
}

static int add_torch(work *w, const peer_row *row)
{
    bench *b = w->b;
    char line[2048];
    if (!b->torch && !*b->torch_missing)
        b->torch = start(b->torch_missing, sizeof b->torch_missing);
    torch_side *s = malloc(sizeof *s);
    if (!s)
        return fail("out of memory");
    *s = (torch_side){ w, b->torch };
    side *x = work_add_side(w, row, b->torch ? b->torch->name : "PyTorch", once_torch, s);
    x->many = many_torch;
    x->result = result_torch;
    x->done = free;
    snprintf(x->missing, sizeof x->missing, "%s", b->torch_missing);
    if (*x->missing)
        return DONE;
    int status = hand_over(w, line, sizeof line);
    if (!status && ask(b->torch, line, sizeof line, x->missing, sizeof x->missing)) {
        snprintf(line, sizeof line, "work %s", row->how);
        ask(b->torch, line, sizeof line, x->missing, sizeof x->missing);
    }
    return status;
}

const peer peer_torch = { .name = "PyTorch", .add = add_torch };
