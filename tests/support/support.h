/* support: what every test needs: statuses with their message, comparisons, guarded memory, an allocator that fails. */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

#include <string.h>

#include <criterion/criterion.h>

#include "clpallas.h"

/* A call that must succeed; the failure shows the context's message. */
#define OK(ctx, call)                                                                                                  \
    do {                                                                                                               \
        clp_status ok_status_ = (call);                                                                                \
        cr_assert_eq(ok_status_, CLP_OK, "%s: %s: %s", #call, clp_status_name(ok_status_), clp_last_error(ctx));       \
    } while (0)

/* A call that must fail so, with this text somewhere in its message. */
#define FAILS(ctx, expected_status, part, call)                                                                        \
    do {                                                                                                               \
        clp_status fails_status_ = (call);                                                                             \
        cr_assert_eq(fails_status_, expected_status, "%s: got %s: %s", #call, clp_status_name(fails_status_),          \
                     clp_last_error(ctx));                                                                             \
        cr_assert(strstr(clp_last_error(ctx), part), "%s: expected \"%s\" in \"%s\"", #call, part,                     \
                  clp_last_error(ctx));                                                                                \
    } while (0)

/* Equal, both NaN, or finite with |got - want| <= tol * (1 + |want|). The sign of a zero is free. */
bool near(double got, double want, double tol);
int64_t ulps_f32(float a, float b);      /* steps between neighbours; INT64_MAX when just one is NaN */

/* Element i of an array of plain (not packed) dtype as a double; 64-bit integers lose low bits, bits_at does not. */
double   number_at(clp_dtype dtype, const void *data, int64_t i);
uint64_t bits_at(clp_dtype dtype, const void *data, int64_t i);

/* Memory between two walls of known words: writes just outside are seen. */
typedef struct guarded { unsigned char *base; void *data; size_t n_bytes; } guarded;
guarded guarded_new(size_t n_bytes);             /* data is aligned to 64 bytes and filled with 0xa5 */
bool    guarded_is_whole(const guarded *g);
size_t  guarded_bytes(const guarded *g);         /* from base: both walls, and data between them */
void    guarded_free(guarded *g);

/* clp_run, with each array in a buffer of the context, between walls there; arrays that share their data share a buffer. What was
 * written comes back to where the arrays are. No negative strides. out_is_whole: nothing was written outside of them.  */
clp_status run_guarded(clp_context *ctx, clp_kernel *kernel, const clp_array *arrays, int n, const clp_run_opts *opts, bool *out_is_whole);

/* Nothing is wrong with a kernel on these arrays, in n_shuffles shuffled orders: no race, no fault of memory, no order that
 * matters. Elements that no program writes are no fault here; may_read_outputs: nor are reads of what nobody wrote before.
 * false: why has the report.                                                                                          */
bool is_sound(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *run, int n_shuffles,
              bool may_read_outputs, char *why, size_t n_bytes);

/* An allocator with a budget: after `budget` allocations (growing counts) each further one fails. */
typedef struct failing_alloc { size_t budget, n_calls, n_live, live_bytes; bool has_failed; } failing_alloc;
void *failing_alloc_fn(void *user, void *p, size_t old_bytes, size_t new_bytes);      /* user: failing_alloc */

/* A text put together piece by piece, in bounded room; one that does not fit ends the program. */
typedef struct text_room { char *at; size_t room; } text_room;
void put_text(text_room *t, const char *format, ...) CLP_PRINTF(2, 3);

/* Pseudo-random numbers: the same on every machine for a seed. */
uint64_t random_next(uint64_t *state);
double   random_uniform(uint64_t *state);        /* [0, 1) */

#endif
