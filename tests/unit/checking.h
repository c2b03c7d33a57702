/* checking: a kernel from text on a device, a check of it, and its findings. */
#ifndef TESTS_CHECKING_H
#define TESTS_CHECKING_H

#include <stdio.h>
#include <stdlib.h>

#include "check/check.h"
#include "support/support.h"

typedef struct checking { clp_context *ctx; clp_kernel *k; clp_report *report; } checking;

/* device: "interp", or NULL for the first OpenCL device, whose absence is said. */
static inline bool checking_open(checking *t, const char *device, const char *text)
{
    *t = (checking){ 0 };
    clp_context_opts opts = { .device = device ? device : getenv("CLPALLAS_TEST_CL") ? getenv("CLPALLAS_TEST_CL") : "cl" };
    if (clp_context_new(&opts, &t->ctx)) {
        cr_assert(!getenv("CLP_REQUIRE_CL"), "%s", clp_last_error(NULL));
        fprintf(stderr, "skipped: %s\n", clp_last_error(NULL));
        return false;
    }
    OK(t->ctx, clp_kernel_from_text(t->ctx, text, NULL, NULL, &t->k));
    return true;
}

static inline void checking_close(checking *t)
{
    clp_report_free(t->report);
    clp_kernel_free(t->k);
    clp_context_free(t->ctx);
}

static inline void checking_run(checking *t, const clp_array *arrays, int n, unsigned checks)
{
    clp_report_free(t->report);
    t->report = NULL;
    OK(t->ctx, clp_check(t->k, arrays, n, &(clp_check_opts){ .checks = checks }, &t->report));
}

static inline clp_array checking_array(clp_dtype dtype, void *data, const int64_t *shape, int rank)
{
    return (clp_array){ .dtype = dtype, .rank = rank, .shape = shape, .data = data };
}
#define VECTOR(dtype, data, n) checking_array(dtype, data, (int64_t[]){ n }, 1)
#define MATRIX(dtype, data, m, n) checking_array(dtype, data, (int64_t[]){ m, n }, 2)
#define SCALAR(dtype, data) checking_array(dtype, data, NULL, 0)

#define ARRAY(t, p, ...)                                                                                               \
    { .dtype = t, .rank = (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), .shape = (int64_t[]){ __VA_ARGS__ }, .data = p }

static inline clp_context *interp(void)
{
    clp_context *ctx;
    cr_assert_eq(clp_context_new(&(clp_context_opts){ .device = "interp" }, &ctx), CLP_OK, "%s", clp_last_error(NULL));
    return ctx;
}

static inline clp_report *check_kernel(clp_context *ctx, clp_kernel *kernel, const clp_array *arrays, int n, const clp_check_opts *opts)
{
    clp_report *report;
    OK(ctx, clp_check(kernel, arrays, n, opts, &report));
    return report;
}

/* The only finding, which must be of this kind and have this in its message. */
#define FINDS(t, expected_kind, part)                                                                                  \
    do {                                                                                                               \
        cr_assert_eq(clp_report_n_findings((t)->report), 1, "%s", clp_report_text((t)->report));                       \
        const clp_finding *finds_ = clp_report_finding((t)->report, 0);                                                \
        cr_expect_str_eq(clp_finding_name(finds_->kind), clp_finding_name(expected_kind));                             \
        cr_expect(strstr(finds_->message, part), "expected \"%s\" in \"%s\"", part, finds_->message);                  \
    } while (0)
#define FINDS_NOTHING(t)                                                                                               \
    cr_expect(clp_report_verdict((t)->report) != CLP_VERDICT_FAULTY, "%s", clp_report_text((t)->report))

/* The same, of a kernel that is made for this alone, on the interpreter. */
#define EXPECT_FINDS(text, arrays, n, checks, expected_kind, part)                                                     \
    do {                                                                                                               \
        checking expect_;                                                                                              \
        checking_open(&expect_, "interp", text);                                                                       \
        checking_run(&expect_, arrays, n, checks);                                                                     \
        FINDS(&expect_, expected_kind, part);                                                                          \
        checking_close(&expect_);                                                                                      \
    } while (0)
#define EXPECT_NOTHING(text, arrays, n, checks)                                                                        \
    do {                                                                                                               \
        checking expect_;                                                                                              \
        checking_open(&expect_, "interp", text);                                                                       \
        checking_run(&expect_, arrays, n, checks);                                                                     \
        FINDS_NOTHING(&expect_);                                                                                       \
        checking_close(&expect_);                                                                                      \
    } while (0)

#endif
