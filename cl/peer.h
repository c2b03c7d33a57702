/* peer: OpenCL called by hand, as a user without clpallas would: what `clpallas bench` measures itself against.
 *
 * Sources of the command, not of the library. All of it works in the context's OpenCL context and on its buffers, and waits. */
#ifndef CLPI_PEER_H
#define CLPI_PEER_H

#include "base/str.h"
#include "run/backend.h"

/* clEnqueueCopyBuffer of the first n_bytes of each pair, one after another, then clFinish. */
typedef struct clpi_peer_pair {
    clp_buffer *from, *to;
    size_t n_bytes;
} clpi_peer_pair;
clp_status clpi_peer_copy(clp_context *ctx, const clpi_peer_pair *pairs, int n_pairs);

/* A kernel that does nothing, with a queue that does nothing but run it; launches are as many clEnqueueNDRangeKernel and one clFinish.
 * n_events: of the first launches, which have an event each that is released behind that. */
typedef struct clpi_peer_empty clpi_peer_empty;
clp_status clpi_peer_empty_new(clp_context *ctx, clp_buffer *argument, int64_t n_events, clpi_peer_empty **out_empty);
clp_status clpi_peer_empty_launch(clpi_peer_empty *empty, int64_t n);
void clpi_peer_empty_free(clpi_peer_empty *empty);

/* clBuildProgram of a text that the device's compiler has not seen: serial makes it another one for its caches. */
clp_status clpi_peer_build(clp_context *ctx, const char *text, unsigned serial);

/* A launch as bytes, put to out: the device's binary and all arguments but the arrays. For kernels that take arrays of whole buffers,
 * no scalars, and write their last array. */
clp_status clpi_peer_record(clp_event *event, clpi_str *out);
/* Runs that on device n, counted as clpallas counts them, with these arrays in host memory, in declaration order: a whole program's
 * use of OpenCL, which makes all anew and frees nothing. NULL, or what failed. */
const char *clpi_peer_play(const void *bytes, int n_device, void *const *arrays, const size_t *n_bytes);

/* A buffer in the host's address space, from map to unmap. */
clp_status clpi_peer_map(clp_context *ctx, clp_buffer *buffer, void **out_data);
clp_status clpi_peer_unmap(clp_context *ctx, clp_buffer *buffer, void *data);

/* z[m, n] = x[m, k] . y[k, n] in f32, row-major: sgemm is the address of CLBlastSgemm in the library of that name. */
typedef void (*clpi_peer_fn)(void);
typedef struct clpi_peer_matrices {
    clp_buffer *x, *y, *z;
    size_t m, n, k;
} clpi_peer_matrices;
clp_status clpi_peer_clblast(clp_context *ctx, clpi_peer_fn sgemm, const clpi_peer_matrices *a);

#endif
