/* The backward kernels against finite differences of the forward one.
 * f(x, y) = sum(c * (x . y)) is linear in each element, so that a difference quotient is exact where the numbers are small and whole. */
#include "support/support.h"

enum { M = 5, N = 7, K = 6 };

typedef struct product { float x[M * K], y[K * N], z[M * N]; } product;

static clp_kernel *standard(clp_context *ctx, const char *name)
{
    clp_kernel *k;
    OK(ctx, clp_kernel_standard(ctx, name, "bm=4, bn=3, bk=2", &k));
    return k;
}

static clp_array matrix(float *data, const int64_t *shape)
{
    return (clp_array){ .dtype = CLP_F32, .rank = 2, .shape = shape, .data = data };
}

static const int64_t x_shape[] = { M, K }, y_shape[] = { K, N }, z_shape[] = { M, N };

static float weighted_sum(clp_context *ctx, clp_kernel *matmul, product *p, const float *c)
{
    OK(ctx, clp_run(matmul, (clp_array[]){ matrix(p->x, x_shape), matrix(p->y, y_shape), matrix(p->z, z_shape) }, 3, NULL));
    float f = 0;
    for (int i = 0; i < M * N; i++)
        f += c[i] * p->z[i];
    return f;
}

/* The gradient by element e of x or y, which is a place in p. */
static float quotient(clp_context *ctx, clp_kernel *matmul, product *p, const float *c, float *e)
{
    const float was = *e;
    *e = was + 1;
    const float above = weighted_sum(ctx, matmul, p, c);
    *e = was - 1;
    const float below = weighted_sum(ctx, matmul, p, c);
    *e = was;
    return (above - below) / 2;
}

Test(gradients, are_finite_differences_of_the_product)
{
    clp_context *ctx;
    cr_assert_eq(clp_context_new(&(clp_context_opts){ .device = "interp" }, &ctx), CLP_OK);
    clp_kernel *matmul = standard(ctx, "matmul"), *by_x = standard(ctx, "matmul_dx"), *by_y = standard(ctx, "matmul_dy");
    product p;
    float c[M * N], dx[M * K], dy[K * N];
    for (int i = 0; i < M * K; i++)
        p.x[i] = (float)(i * 7 % 11 - 5);
    for (int i = 0; i < K * N; i++)
        p.y[i] = (float)(i * 5 % 13 - 6);
    for (int i = 0; i < M * N; i++)
        c[i] = (float)(i * 3 % 7 - 2);
    OK(ctx, clp_run(by_x, (clp_array[]){ matrix(c, z_shape), matrix(p.y, y_shape), matrix(dx, x_shape) }, 3, NULL));
    OK(ctx, clp_run(by_y, (clp_array[]){ matrix(p.x, x_shape), matrix(c, z_shape), matrix(dy, y_shape) }, 3, NULL));
    for (int i = 0; i < M * K; i++)
        cr_expect_eq(dx[i], quotient(ctx, matmul, &p, c, &p.x[i]), "dx, element %d: %g", i, (double)dx[i]);
    for (int i = 0; i < K * N; i++)
        cr_expect_eq(dy[i], quotient(ctx, matmul, &p, c, &p.y[i]), "dy, element %d: %g", i, (double)dy[i]);
    clp_kernel_free(matmul);
    clp_kernel_free(by_x);
    clp_kernel_free(by_y);
    clp_context_free(ctx);
}
