/* The log of a device: what programs print comes out in their order, whole, and where there is no more room that is said. */
#include "cl/code.h"
#include "on_cl.h"

static void add_line(const char *line, void *user)
{
    char *text = user;
    strcat(text, line);
    strcat(text, "\n");
}

Test(log, prints_in_order_of_programs)
{
    char text[1024] = "";
    clp_context *ctx = context_on_cl(add_line, text);
    clp_kernel *k;
    if (!ctx)
        return;
    OK(ctx, clp_kernel_from_text(ctx, "kernel talk(in x: f32[N, 2] block [1, 2] at (i, 0)) grid (i = N, k = 2 arbitrary)\n"
                                      "{ print(\"i={} k={} x={}\", i, k, x[0, :]); if (i == 1) { print(\"one\"); } }\n", NULL, NULL, &k));
    float x[3][2] = { { 0.5f, 1.0f }, { -2.0f, 3.25f }, { 1e10f, 0.0f } };
    int64_t shape[2] = { 3, 2 };
    for (int round = 0; round < 2; round++) {       /* the log of the first launch is gone in the second */
        text[0] = 0;
        OK(ctx, clp_run(k, &(clp_array){ .dtype = CLP_F32, .rank = 2, .shape = shape, .data = x }, 1, NULL));
        cr_expect_str_eq(text, "i=0 k=0 x=[0.5 1.0]\ni=0 k=1 x=[0.5 1.0]\ni=1 k=0 x=[-2.0 3.25]\none\ni=1 k=1 x=[-2.0 3.25]\none\n"
                               "i=2 k=0 x=[10000000000.0 0.0]\ni=2 k=1 x=[10000000000.0 0.0]\n");
    }
    clp_kernel_free(k);
    clp_context_free(ctx);
}

typedef struct lines { int n, n_full; } lines;      /* before, and of, those that say that there is no more room */

static void count_line(const char *line, void *user)
{
    lines *l = user;
    l->n_full += !strcmp(line, "print: the device's log is full; what came later is lost");
    l->n += l->n_full == 0;
}

/* Prints from n programs with this body; the lines, and how often the log was full; n -1: not to be had here. */
static lines print_from(int32_t n, const char *text)
{
    lines l = { 0 };
    static int8_t x[1 << 20];
    const int64_t size = 1 << 20;
    clp_context *ctx = context_on_cl(count_line, &l);
    clp_kernel *k;
    if (!ctx)
        return (lines){ .n = -1 };
    OK(ctx, clp_kernel_from_text(ctx, text, NULL, NULL, &k));
    const clp_status status = clp_run(k, (clp_array[]){ { .dtype = CLP_I32, .data = &n }, { .dtype = CLP_I8, .rank = 1, .shape = &size, .data = x } },
                                      2, NULL);
    if (status == CLP_ERR_UNSUPPORTED) {       /* llvmpipe leaves loops of that length */
        fprintf(stderr, "skipped: %s\n", clp_last_error(ctx));
        l.n = -1;
    } else {
        OK(ctx, status);
    }
    clp_kernel_free(k);
    clp_context_free(ctx);
    return l;
}

Test(log, a_full_log_is_said)
{
    enum { WORDS = CLPI_LOG_HEAD + 2 + 2 * 1024, ROOM = (CLPI_LOG_WORDS - 2) / WORDS };
    static const char text[] = "kernel many(scalar n: i32, in x: i8[1048576]) grid (i = n) { print(\"at {} {}\", i, x[0:1024]); }";
    lines l = print_from(ROOM, text);
    if (l.n < 0)
        return;
    cr_expect(l.n == ROOM && !l.n_full, "%d lines, full %d times", l.n, l.n_full);
    l = print_from(ROOM + 1, text);
    cr_expect(l.n == ROOM && l.n_full == 1, "%d lines, full %d times", l.n, l.n_full);
}

/* What is asked for comes to more than 2^32 words, of which none is there; a short line behind each would have room. */
Test(log, a_log_stays_full_whatever_is_asked_for)
{
    lines l = print_from(2100, "kernel large(scalar n: i32, in x: i8[1048576]) grid (i = n) { print(\"x {}\", x[...]); print(\"at {}\", i); }");
    if (l.n < 0)
        return;
    cr_expect(l.n == 0 && l.n_full == 1, "%d lines, full %d times", l.n, l.n_full);
}
