/* clpallas_cl: clpallas on OpenCL objects that the caller has already.
 *
 *     #include <clpallas_cl.h>
 *
 *     clp_context_new_cl(device, context, queue, NULL, &ctx);          your context and queue, our kernels
 *     clp_buffer_new_cl(ctx, x_mem, &x);                               your memory
 *     clp_event_new_cl(ctx, x_is_written, &before);                    your event, to wait for
 *     clp_run_async(kernel, arrays, n_arrays, &(clp_run_opts){ .wait_for = &before, .n_wait_for = 1 }, &event);
 *     clEnqueueReadBuffer(queue, o_mem, CL_FALSE, 0, n, o, 1, (cl_event[]){ clp_event_cl(event) }, NULL);
 *
 * Ownership. What is handed over is retained by the clpallas object made of it and released when that is freed; the caller's
 * own reference stays the caller's. What is handed out is borrowed: retain it to keep it longer than the object it is from.
 *
 * Only in builds with OpenCL. The header asks of <CL/cl.h> nothing beyond OpenCL 1.2.                                   */
#ifndef CLPALLAS_CL_H
#define CLPALLAS_CL_H

#include <CL/cl.h>

#include "clpallas.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A context that runs on device, in the caller's context, which must have it, and through the caller's queue. queue NULL: a
 * queue of its own. Queues in order and out of order will do; one that keeps no times gives clp_event_seconds 0. Launches
 * only wait for what is in the queue, or for their wait_for. opts: as for clp_context_new; its device is not looked at. */
CLP_API CLP_MUST_CHECK clp_status clp_context_new_cl(cl_device_id device, cl_context context, cl_command_queue queue,
                                                     const clp_context_opts *opts, clp_context **out_ctx);

/* The context and queue that ctx works with; NULL when it is not on an OpenCL device. */
CLP_API cl_context       clp_context_cl(const clp_context *ctx);
CLP_API cl_command_queue clp_context_cl_queue(const clp_context *ctx);

/* A buffer that is mem, of the same size. */
CLP_API CLP_MUST_CHECK clp_status clp_buffer_new_cl(clp_context *ctx, cl_mem mem, clp_buffer **out_buffer);
CLP_API cl_mem clp_buffer_cl(const clp_buffer *buffer);      /* of any buffer of an OpenCL context; else NULL */

/* An event that is done when the caller's is: for wait_for of clp_run_opts. Freeing it waits. */
CLP_API CLP_MUST_CHECK clp_status clp_event_new_cl(clp_context *ctx, cl_event event, clp_event **out_event);
/* The OpenCL event of a launch, complete when its last command is; NULL when it had nothing to run, or is not OpenCL's.
 * Arrays of host memory hold their results only after clp_event_wait.                                                   */
CLP_API cl_event clp_event_cl(const clp_event *event);

#ifdef __cplusplus
}
#endif

#endif
