#include <clpallas.h>
#include <stdio.h>

int main(void)
{
    float x[10], y[10];
    float a = 2;
    const int64_t shape[] = { 10 };
    for (int i = 0; i < 10; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    const clp_array arrays[] = { { .dtype = CLP_F32, .data = &a },
                                 { .dtype = CLP_F32, .rank = 1, .shape = shape, .data = x },
                                 { .dtype = CLP_F32, .rank = 1, .shape = shape, .data = y } };
    clp_context *ctx = NULL;
    clp_kernel *kernel = NULL;
    const clp_context_opts opts = { .device = "interp" };
    clp_status status = clp_context_new(&opts, &ctx);
    if (!status)
        status = clp_kernel_standard(ctx, "axpy", "b=4", &kernel);
    if (!status)
        status = clp_run(kernel, arrays, 3, NULL);
    if (status)
        fprintf(stderr, "%s\n", clp_last_error(ctx));
    clp_kernel_free(kernel);
    clp_context_free(ctx);
    return status || y[9] != 19;
}
