/* bench_work: the rows of `clpallas bench` that are a kernel's.
 * In: a row of the table. Out: its contest, timed. Ours and all peers have the same arrays, or copies of them where a peer is
 * another process.
 * A peer that computes the same must come to the same result before anything is timed: speed counts for nothing where they differ.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#ifdef CLPALLAS_OPENCL
#include "cl/peer.h"
#endif

/* ---- Arrays ---- */

/* One item of the row's list: "4096x1024", "1000%256" or a number. Returns what is behind it; NULL: it cannot be read. */
static const char *read_item(work *w, int i, const char *text, int64_t *below, double *scalar)
{
    clp_array *a = &w->args[i];
    char *end;
    *below = 0;
    while (*text == ' ')
        text++;
    if (clp_kernel_operand(w->kernel, i).role == CLP_SCALAR) {
        *scalar = strtod(text, &end);
        return end == text ? NULL : *end ? end + 1 : end;
    }
    for (;;) {
        w->shapes[i][a->rank++] = strtoll(text, &end, 10);
        if (end == text)
            return NULL;
        text = end;
        if (*text != 'x' || a->rank == CLP_MAX_RANK)
            break;
        text++;
    }
    if (*text == '%') {
        *below = strtoll(text + 1, &end, 10);
        text = end;
    }
    return *text ? text + 1 : text;
}

/* Makes array i, filled where it is read. On a device its content goes to a buffer. */
static int make_array(work *w, int i, int64_t below, double scalar)
{
    clp_array *a = &w->args[i];
    const clp_role role = clp_kernel_operand(w->kernel, i).role;
    tool_array made;
    if (!array_new(&made, a->dtype, a->rank, w->shapes[i]))
        return fail("out of memory");
    if (role == CLP_SCALAR)
        array_set(&made.array, 0, scalar);
    else if (role != CLP_OUT && role != CLP_INOUT)
        bench_fill(&made.array, (uint32_t)i + 1, below);
    w->n_bytes[i] = array_bytes(&made.array);
    if (w->row->on_interp || role == CLP_SCALAR) {
        a->data = made.memory; /* ours from here on */
        return DONE;
    }
    int status = DONE;
    if (clp_buffer_new(w->ctx, w->n_bytes[i], &a->buffer) || clp_buffer_write(a->buffer, 0, made.memory, w->n_bytes[i]))
        status = fail_library(w->ctx);
    array_done(&made);
    return status;
}

int work_open(work *w, bench *b, const bench_row *row)
{
    *w = (work){ .b = b, .row = row, .ctx = row->on_interp ? b->interp : b->ctx };
    w->kernel = bench_kernel(b, w->ctx, row->kernel, row->params);
    if (!w->kernel)
        return FAILED;
    const char *text = row->arrays;
    int status = DONE;
    const int n = clp_kernel_n_operands(w->kernel);
    if (n > MAX_OPERANDS)
        return fail("%s: more than %d operands", row->name, MAX_OPERANDS);
    w->n = n; /* from here on there are arrays to be closed */
    for (int i = 0; !status && i < w->n; i++) {
        int64_t below;
        double scalar = 0;
        w->args[i] = (clp_array){ .dtype = clp_kernel_operand(w->kernel, i).dtype, .shape = w->shapes[i] };
        w->names[i] = clp_kernel_operand(w->kernel, i).name;
        text = read_item(w, i, text, &below, &scalar);
        status = text ? make_array(w, i, below, scalar) : fail("%s: there is no shape for %s", row->name, w->names[i]);
    }
    return status;
}

void work_close(work *w)
{
    for (int i = 0; i < w->n; i++) {
        free(w->args[i].data);
        clp_buffer_free(w->args[i].buffer);
    }
    clp_kernel_free(w->kernel);
}

int work_once(void *user)
{
    work *w = user;
    return clp_run(w->kernel, w->args, w->n, NULL) ? fail_library(w->ctx) : DONE;
}

int work_map(void *user)
{
    work *w = user;
    for (int i = 0; i < w->n; i++) {
        w->host[i] = w->args[i].data;
#ifdef CLPALLAS_OPENCL
        if (w->args[i].buffer && clpi_peer_map(w->ctx, w->args[i].buffer, &w->host[i]))
            return fail_library(w->ctx);
#endif
    }
    return DONE;
}

int work_unmap(void *user)
{
    work *w = user;
#ifdef CLPALLAS_OPENCL
    for (int i = 0; i < w->n; i++)
        if (w->args[i].buffer && clpi_peer_unmap(w->ctx, w->args[i].buffer, w->host[i]))
            return fail_library(w->ctx);
#endif
    memset(w->host, 0, sizeof w->host);
    return DONE;
}

int work_read(work *w, int i, void *out)
{
    if (!w->args[i].buffer)
        memcpy(out, w->args[i].data, w->n_bytes[i]);
    else if (clp_buffer_read(w->args[i].buffer, 0, out, w->n_bytes[i]))
        return fail_library(w->ctx);
    return DONE;
}

double work_traffic(const work *w)
{
    double sum = 0;
    for (int i = 0; i < w->n; i++)
        sum += (double)w->n_bytes[i] * (clp_kernel_operand(w->kernel, i).role == CLP_INOUT ? 2 : 1);
    return sum;
}

/* ---- Peers ---- */

static bool holds_here(const bench *b, const char *where)
{
    if (!where)
        return true;
    const bool is_without = *where == '!';
    return !strstr(b->cpu_flags, where + is_without) == is_without;
}

side *work_add_side(work *w, const peer_row *row, const char *name, int (*once)(void *user), void *user)
{
    side *s = contest_add(w->c, name, once, user);
    s->wanted = holds_here(w->b, row->where) ? row->wanted : 0;
    s->group = row->group;
    return s;
}

/* The last array starts as zeros, for kernels that add to it. */
static int clear_result(work *w)
{
    const int last = w->n - 1;
    if (!w->args[last].buffer) {
        memset(w->args[last].data, 0, w->n_bytes[last]);
        return DONE;
    }
    void *zeros = calloc(1, w->n_bytes[last] + 1);
    if (!zeros)
        return fail("out of memory");
    const int status = clp_buffer_write(w->args[last].buffer, 0, zeros, w->n_bytes[last]) ? fail_library(w->ctx) : DONE;
    free(zeros);
    return status;
}

static int run_side(work *w, side *s, void *out)
{
    int status = clear_result(w);
    if (!status && s->begin)
        status = s->begin(s->user);
    if (!status)
        status = s->once(s->user);
    if (!status && s->result)
        status = s->result(s->user, out, w->n_bytes[w->n - 1]);
    if (!status && s->end)
        status = s->end(s->user);
    return status || s->result ? status : work_read(w, w->n - 1, out);
}

static int compare_side(work *w, side *s)
{
    clp_array mine = { .dtype = w->args[w->n - 1].dtype, .rank = w->args[w->n - 1].rank, .shape = w->args[w->n - 1].shape }, theirs = mine;
    mine.data = malloc(w->n_bytes[w->n - 1] + 1);
    theirs.data = malloc(w->n_bytes[w->n - 1] + 1);
    int status = mine.data && theirs.data ? run_side(w, &w->c->sides[0], mine.data) : fail("out of memory");
    if (!status)
        status = run_side(w, s, theirs.data);
    if (!status) {
        const difference d = array_compare(&mine, &theirs, w->row->tol, mine.rank > 0 ? mine.shape[mine.rank - 1] : 1);
        if (d.n_beyond)
            status = fail("%s: %lld elements of %lld differ from those of %s: element %lld is %g, there %g", w->row->name,
                          (long long)d.n_beyond, (long long)array_elems(&mine), s->name, (long long)d.worst, d.got, d.want);
    }
    free(mine.data);
    free(theirs.data);
    return status;
}

static int add_peers(work *w)
{
    int status = DONE;
    for (int i = 0; !status && i < MAX_PEERS && w->row->peers[i].peer; i++) {
        const peer_row *row = &w->row->peers[i];
        const int first = w->c->n_sides;
        status = row->peer->add(w, row);
        for (int k = first; !status && k < w->c->n_sides && !row->is_other_work && !row->peer->is_other_work; k++)
            if (!*w->c->sides[k].missing)
                status = compare_side(w, &w->c->sides[k]);
    }
    return status;
}

int run_work(bench *b, const bench_row *row, contest *c)
{
    work w;
    int status = work_open(&w, b, row);
    w.c = c;
    if (!status) {
        c->bytes = work_traffic(&w);
        contest_add(c, "ours", work_once, &w)->rests_first = true;
        status = add_peers(&w);
    }
    if (!status)
        status = contest_time(b, c);
    contest_done(c);
    work_close(&w);
    return status;
}
