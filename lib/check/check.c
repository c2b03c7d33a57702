/* check: one check of a kernel on given arrays.
 * In: a kernel, arrays, what to look for. Out: a report. The caller's arrays stay as they are.
 * clp_check is the pipeline: runs in several orders, then one watched run, then the device, then what holds for all shapes.
 * Each part adds its findings to the report. What comes later knows the elements that an order changed or that race
 * (is_unsettled): a race there is no race of equal values, and a device cannot be blamed for them; of what was found on these
 * arrays proofs say nothing more.                                                                                        */
#include "check/check.h"

static clp_status check_all(clpi_check *check)
{
    const unsigned checks = check->opts.checks;
    CLP_TRY(clpi_snapshot_open(check));
    if (checks & CLP_CHECK_ORDERS)
        CLP_TRY(clpi_check_orders(check));
    CLP_TRY(clpi_checkers_run(check));
    if (checks & CLP_CHECK_DEVICE)
        CLP_TRY(clpi_check_device(check));
    if (checks & CLP_CHECK_PROOFS)
        CLP_TRY(clpi_check_proofs(check));
    return clpi_report_finish(check->report);
}

static clp_status validate(clpi_env *env, const clp_check_opts *opts)
{
    const unsigned known = CLP_CHECK_DEFAULT | CLP_CHECK_NON_FINITE | CLP_CHECK_OVERFLOW | CLP_CHECK_DIVISION | CLP_CHECK_BISECT;
    const struct { const char *name; int n; } counts[] = {
        { "n_shuffles", opts->n_shuffles }, { "n_device_runs", opts->n_device_runs }, { "max_findings", opts->max_findings }
    };
    if (opts->checks & ~known)
        return clpi_fail(env, CLP_ERR_ARG, "checks: expected bits out of 0x%x, got 0x%x", known, opts->checks);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].n < 0)
            return clpi_fail(env, CLP_ERR_ARG, "%s: expected 1 or more, or 0 for the usual number, got %d", counts[i].name, counts[i].n);
    return CLP_OK;
}

static void fill_in(clp_check_opts *opts)
{
    enum { SHUFFLES = 3, DEVICE_RUNS = 3, FINDINGS = 20 };
    if (!opts->checks)
        opts->checks = CLP_CHECK_DEFAULT;
    if (!opts->n_shuffles)
        opts->n_shuffles = SHUFFLES;
    if (!opts->n_device_runs)
        opts->n_device_runs = DEVICE_RUNS;
    if (!opts->max_findings)
        opts->max_findings = FINDINGS;
}

clp_status clpi_check_run(clpi_check *check, clp_report **out_report)
{
    CLP_TRY(validate(check->env, &check->opts));
    fill_in(&check->opts);
    if (check->opts.run)
        check->run = *check->opts.run;
    CLP_TRY(clpi_report_new(check->env, check->kernel, check->opts.max_findings, &check->report));
    clp_status status = check_all(check);
    clpi_snapshot_close(check);
    if (status)
        clp_report_free(check->report);
    else
        *out_report = check->report;
    return status;
}

static clp_status run(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_check_opts *opts, bool is_brief,
                      const char *call, clp_report **out_report)
{
    if (out_report)
        *out_report = NULL;
    if (!kernel)
        return CLP_ERR_ARG;
    clpi_env *env = &kernel->ctx->env;
    if (!out_report)
        return clpi_fail(env, CLP_ERR_ARG, "%s: out_report is NULL", call);
    /* What is checked is what a launch runs: the device and the interpreter, and all orders, with one choice of parameters. */
    clp_choice choice;
    if (opts)
        CLP_TRY(validate(env, opts));
    CLP_TRY(clpi_kernel_for(kernel, arrays, n_arrays, opts ? opts->run : NULL, true, &kernel, &choice));
    clpi_check check = { .env = env, .kernel = kernel, .ir = kernel->ir, .plan = kernel->plan, .arrays = arrays, .n_arrays = n_arrays,
                         .device_ir = kernel->ir, .device_plan = kernel->plan, .is_brief = is_brief };
    if (opts)
        check.opts = *opts;
    return clpi_check_run(&check, out_report);
}

clp_status clp_check(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_check_opts *opts, clp_report **out_report)
{
    return run(kernel, arrays, n_arrays, opts, false, "clp_check", out_report);
}

clp_status clp_verify(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *run_opts, clp_report **out_report)
{
    const clp_check_opts opts = { .checks = CLP_CHECK_DEVICE, .run = run_opts, .n_device_runs = 1 };
    return run(kernel, arrays, n_arrays, &opts, true, "clp_verify", out_report);
}
