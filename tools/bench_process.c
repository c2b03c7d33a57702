/* bench_process: whole processes, from their start to their end: a small product through clpallas, its kernel compiled before and kept on
 * disk; and the same binary run by hand.
 * In: a row. Out: its contest, timed. A process is this command again, told by CLPALLAS_BENCH_PROCESS what to be: "ours", or the file
 * with the launch to be done by hand. Each checks its result. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "cl/peer.h"
#include "run/run.h"

enum { N = 256 };
static const char ROLE[] = "CLPALLAS_BENCH_PROCESS", DEVICE[] = "CLPALLAS_BENCH_DEVICE";

/* ---- What a process does ---- */

/* x is all 1 and y all 2: z is all 2 N. */
typedef struct matrices { void *data[3]; } matrices;

static bool make_matrices(matrices *m)
{
    for (int a = 0; a < 3; a++) {
        float *at = m->data[a] = aligned_alloc(4096, N * N * sizeof *at);
        for (int i = 0; at && i < N * N; i++)
            at[i] = (float)(a < 2 ? a + 1 : 0);
        if (!at)
            return false;
    }
    return true;
}

static int check_product(const matrices *m)
{
    const float *z = m->data[2];
    for (int i = 0; i < N * N; i++)
        if (z[i] != 2.0f * N)
            return fail("process: element %d is %g, expected %d", i, (double)z[i], 2 * N);
    return DONE;
}

static int be_ours(const matrices *m, const char *device)
{
    static const int64_t shape[] = { N, N };
    clp_array args[3];
    clp_context *ctx;
    clp_kernel *k = NULL;
    for (int a = 0; a < 3; a++)
        args[a] = (clp_array){ .dtype = CLP_F32, .rank = 2, .shape = shape, .data = m->data[a] };
    if (clp_context_new(&(clp_context_opts){ .device = device }, &ctx))
        return fail_library(NULL);
    if (clp_kernel_standard(ctx, "matmul", NULL, &k) || clp_run(k, args, 3, NULL))
        return fail_library(ctx);
    const int status = check_product(m);
    clp_kernel_free(k);
    clp_context_free(ctx);
    return status;
}

static int be_by_hand(const matrices *m, const char *device, const char *path)
{
    const size_t n_bytes[] = { N * N * sizeof(float), N * N * sizeof(float), N * N * sizeof(float) };
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        return fail("%s: %s", path, strerror(errno));
    const long size = ftell(f);
    void *bytes = malloc((size_t)size + 1);
    rewind(f);
    const bool is_read = bytes && fread(bytes, 1, (size_t)size, f) == (size_t)size;
    fclose(f);
    const char *why = is_read ? clpi_peer_play(bytes, (int)strtol(device + 3, NULL, 10), m->data, n_bytes) : "it cannot be read";
    free(bytes);
    return why ? fail("%s: %s", path, why) : check_product(m);
}

bool process_is_child(int *out_status)
{
    const char *role = getenv(ROLE), *device = getenv(DEVICE);
    matrices m;
    if (!role || !device)
        return false;
    if (!make_matrices(&m))
        *out_status = fail("out of memory");
    else
        *out_status = strcmp(role, "ours") ? be_by_hand(&m, device, role) : be_ours(&m, device);
    return true;
}

/* ---- The row ---- */

typedef struct processes {
    char device[16], store[300];
    const char *role;
} processes;

static int once_process(void *user)
{
    const processes *p = user;
    int state = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        setenv(ROLE, p->role, 1);
        setenv(DEVICE, p->device, 1);
        setenv("CLPALLAS_CACHE_DIR", p->store, 1);
        execl("/proc/self/exe", "clpallas", "bench", (char *)NULL);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &state, 0) != pid || !WIFEXITED(state) || WEXITSTATUS(state))
        return fail("a process of the row process failed");
    return DONE;
}

/* The launch that the row's kernel makes, in a file. */
static int record_launch(const bench *b, const char *path)
{
    static const int64_t shape[] = { N, N };
    matrices m;
    clp_array args[3];
    clp_kernel *k = NULL;
    clp_event *event = NULL;
    clpi_str bytes;
    clpi_str_init(&bytes, &b->ctx->env);
    int status = make_matrices(&m) ? DONE : fail("out of memory");
    for (int a = 0; a < 3; a++)
        args[a] = (clp_array){ .dtype = CLP_F32, .rank = 2, .shape = shape, .data = m.data[a] };
    if (!status && (clp_kernel_standard(b->ctx, "matmul", NULL, &k) || clp_run_async(k, args, 3, NULL, &event) ||
                    clpi_peer_record(event, &bytes) || clp_event_wait(event)))
        status = fail_library(b->ctx);
    FILE *f = status ? NULL : fopen(path, "wb");
    if (!status && (!f || fwrite(bytes.text, 1, bytes.n, f) != bytes.n))
        status = fail("%s: %s", path, strerror(errno));
    if (f && fclose(f) && !status)
        status = fail("%s: %s", path, strerror(errno));
    clp_event_free(event);
    clp_kernel_free(k);
    clpi_str_done(&bytes);
    for (int a = 0; a < 3; a++)
        free(m.data[a]);
    return status;
}

int row_process(bench *b, const bench_row *row, contest *c)
{
    char file[300];
    processes ours = { .role = "ours" }, by_hand;
    snprintf(ours.device, sizeof ours.device, "%.*s", (int)strcspn(b->device, " "), b->device);
    snprintf(ours.store, sizeof ours.store, "%s/kernels", b->folder);
    snprintf(file, sizeof file, "%s/launch", b->folder);
    by_hand = ours;
    by_hand.role = file;
    int status = record_launch(b, file);
    contest_add(c, "ours, kernel on disk", once_process, &ours);
    contest_add(c, "the binary by hand", once_process, &by_hand)->wanted = row->peers[0].wanted;
    for (int i = 0; !status && i < c->n_sides; i++) /* what is compiled here stays on disk */
        status = c->sides[i].once(c->sides[i].user);
    return status ? status : contest_time(b, c);
}
