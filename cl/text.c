/* text: IR and plan to OpenCL C, all stages in reading order. Pure: no device, equal input gives equal text.
 *
 * In: verified, simplified IR, its plan, limits. Out: the text of a stage, or a code that launch can run.                 */
#include "cl/emit.h"

#include <string.h>

const clpi_limits clpi_cl_reference_limits = {
    .is_cpu = true, .shares_host_memory = true, .has_fp64 = true, .has_int64_atomics = true, .has_correct_divide = true,
    .local_bytes = 512 << 10, .private_bytes = 64 << 10, .group_size = 4096,
    .compute_units = 2, .vector_bytes = 64, .l1_bytes = 32 << 10, .l2_bytes = 1 << 20,
};

/* A GPU: what the drivers of NVIDIA and AMD both grant a group. */
static const clpi_limits gpu_limits = {
    .has_fp64 = true, .has_int64_atomics = true, .has_correct_divide = true,
    .local_bytes = 48 << 10, .private_bytes = 1 << 10, .group_size = 256,
    .compute_units = 64, .vector_bytes = 16, .l1_bytes = 32 << 10, .l2_bytes = 4 << 20,
};

const clpi_limits *clpi_cl_named_limits(const char *name)
{
    return !strcmp(name, "cpu") ? &clpi_cl_reference_limits : !strcmp(name, "gpu") ? &gpu_limits : NULL;
}

/* f64 where the device has none is refused, not computed otherwise. */
static clp_status check_dtypes(clpi_env *env, const clpi_ir *ir, const clpi_limits *limits)
{
    for (uint32_t v = ir->n_header; v < ir->ops.n && !limits->has_fp64; v++)
        if (ir->types.items[ir->ops.items[v].type].dtype == CLP_F64)
            return clpi_fail(env, CLP_ERR_UNSUPPORTED, "%s: computes in f64, which this device does not have", ir->name);
    for (int i = 0; i < ir->n_operands && !limits->has_fp64; i++)
        if (ir->operands[i].dtype == CLP_F64)
            return clpi_fail(env, CLP_ERR_UNSUPPORTED, "%s: %s is of f64, which this device does not have", ir->name,
                             ir->operands[i].name);
    for (uint32_t v = ir->n_header; v < ir->ops.n; v++) {
        const clpi_op *op = &ir->ops.items[v];
        bool is_atomic = clpi_is_atomic(op->kind);
        clp_dtype d = is_atomic ? ir->operands[op->operand].dtype : CLP_I32;
        if (ir->operands && is_atomic && !clpi_prelude_has_atomic(limits, d))
            return clpi_fail(env, CLP_ERR_UNSUPPORTED, "%s: %s of %s, which this device does not have", ir->name,
                             clpi_ops[op->kind].name, clp_dtype_name(d));
    }
    return CLP_OK;
}

static clp_status schedule(clpi_env *env, const clpi_ir *ir, const clpi_plan *plan, const clpi_limits *limits,
                           clp_schedule realisation, bool is_checked, clpi_arena *arena, clpi_program **out_program,
                           clpi_cl_schedule **out_schedule)
{
    CLP_TRY(check_dtypes(env, ir, limits));
    CLP_TRY(clpi_nest_build(ir, plan, is_checked, arena, out_program));
    return clpi_cl_schedule_new(*out_program, limits, realisation, arena, out_schedule);
}

clp_status clpi_cl_generate(clpi_env *env, clpi_arena *arena, const clpi_unit *units, int n_units, const clpi_limits *limits,
                            clp_schedule realisation, bool is_checked, clpi_code **out_codes)
{
    clpi_program *program;
    clpi_cl_schedule **schedules = CLPI_NEW_N(arena, clpi_cl_schedule *, (size_t)n_units);
    if (!schedules)
        return CLP_ERR_OOM;
    for (int i = 0; i < n_units; i++)
        CLP_TRY(schedule(env, units[i].ir, units[i].plan, limits, realisation, is_checked, arena, &program,
                         &schedules[i]));
    return clpi_cl_emit(schedules, n_units, arena, out_codes);
}

clp_status clpi_cl_text(clpi_env *env, clp_stage stage, const clpi_ir *ir, const clpi_plan *plan, const clpi_limits *limits,
                        clp_schedule realisation, bool is_checked, clpi_str *out)
{
    clpi_arena arena;
    clpi_program *program;
    clpi_cl_schedule *s;
    clpi_code *code = NULL;
    clpi_arena_init(&arena, env);
    clp_status status = schedule(env, ir, plan, limits, realisation, is_checked, &arena, &program, &s);
    if (status == CLP_OK && stage == CLP_STAGE_NEST)
        clpi_nest_print(program, out);
    if (status == CLP_OK && stage == CLP_STAGE_CL) {
        status = clpi_cl_emit(&s, 1, &arena, &code);
        if (status == CLP_OK)
            clpi_str_puts(out, code->text);
    }
    clpi_arena_done(&arena);
    return status == CLP_OK && out->failed ? CLP_ERR_OOM : status;
}
