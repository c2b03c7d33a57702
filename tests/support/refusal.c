/* refusal: see refusal.h. In: the message of a refusal, and the kernel as the interpreter has it. Decides by the kernel's operations alone
 * whether there is a reason, and demands that the message name it. */
#include "support/refusal.h"

#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "run/run.h"

/* The words that the message must have, into out; "" when the device has all that the kernel's body needs. */
static void reason_of(const clpi_limits *limits, const clpi_ir *ir, char *out, size_t n_bytes)
{
    out[0] = '\0';
    for (uint32_t i = ir->n_header; i < ir->ops.n; i++) {
        const clpi_op *op = &ir->ops.items[i];
        if (!limits->has_fp64 && ir->types.items[op->type].dtype == CLP_F64) {
            snprintf(out, n_bytes, "%s: computes in f64, which this device does not have", ir->name);
            return;
        }
        bool is_atomic = op->kind >= CLP_OP_atomic_add && op->kind <= CLP_OP_atomic_cas;
        if (!limits->has_int64_atomics && is_atomic && clp_dtype_bits(ir->operands[op->operand].dtype) == 64)
            snprintf(out, n_bytes, "%s of %s, which this device does not have", clpi_ops[op->kind].name,
                     clp_dtype_name(ir->operands[op->operand].dtype));
    }
}

bool is_rightly_refused(const clp_context *ctx, clp_status status, const clp_kernel *reference)
{
    char reason[256];
    if (status != CLP_ERR_UNSUPPORTED)
        return false;
    reason_of(&ctx->limits, reference->ir, reason, sizeof reason);
    return reason[0] && strstr(clp_last_error(ctx), reason);
}
