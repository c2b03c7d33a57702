/* What a plan knows of a kernel before any array is there. */
#include "planned.h"

static int dim_number(const planned *p, const char *name)
{
    for (int i = 0; i < p->ir->n_dims; i++)
        if (!strcmp(p->ir->dims[i], name))
            return i;
    cr_assert_fail("no dim %s", name);
    return -1;
}

static int operand_number(const planned *p, const char *name)
{
    for (int i = 0; i < p->ir->n_operands; i++)
        if (!strcmp(p->ir->operands[i].name, name))
            return i;
    cr_assert_fail("no operand %s", name);
    return -1;
}

static void expect_dim(const planned *p, const char *name, const char *operand, int dim, int64_t mul, int64_t add)
{
    clpi_dim_bind b = p->plan->dims[dim_number(p, name)];
    cr_expect_eq(b.operand, operand ? operand_number(p, operand) : -1, "%s: operand %d", name, b.operand);
    if (!operand)
        return;
    cr_expect(b.dim == dim && b.mul == mul && b.add == add, "%s: dimension %d = %lld * %s + %lld", name, b.dim,
              (long long)b.mul, name, (long long)b.add);
}

Test(plan, splits_axes_by_kind_in_order)
{
    planned p;
    planned_ok(&p, "kernel k(out o: f32[N] block [8] at (j))\n"
                   "grid (a = 2 arbitrary, i = 3, b = 4 arbitrary, j = cdiv(N, 8)) { o[...] = 0; }");
    cr_assert_eq(p.plan->n_parallel, 2);
    cr_assert_eq(p.plan->n_arbitrary, 2);
    cr_expect(p.plan->parallel[0] == 1 && p.plan->parallel[1] == 3);
    cr_expect(p.plan->arbitrary[0] == 0 && p.plan->arbitrary[1] == 2);
    planned_done(&p);
}

Test(plan, binds_dims_where_they_stand_alone_first)
{
    planned p;
    planned_ok(&p, "kernel k(in x: f32[2 * N, M + 1], in y: f32[N, 3 - P], in z: f32[2 * M * 3 - 4], out o: f32[Q * Q])\n"
                   "grid () { o[0] = x[0, 0] + y[0, 0] + z[0]; }");
    expect_dim(&p, "N", "y", 0, 1, 0);
    expect_dim(&p, "M", "x", 1, 1, 1);
    expect_dim(&p, "P", "y", 1, -1, 3);
    expect_dim(&p, "Q", NULL, 0, 0, 0);
    planned_done(&p);
}

Test(plan, binds_a_dim_through_products_and_sums)
{
    planned p;
    planned_ok(&p, "kernel k(in x: f32[3 * (2 * M - 4)], out o: f32[1]) grid () { o[0] = x[0]; }");
    expect_dim(&p, "M", "x", 0, 6, -12);
    planned_done(&p);
}

Test(plan, shares_storage_by_alias_and_spreads_writes)
{
    planned p;
    planned_ok(&p, "kernel k(in a: f32[N], in b: f32[N], out o: f32[N] alias b, inout c: f32[N], out u: f32[N])\n"
                   "grid () { o[0] = a[0] + b[0]; c[1] = 2; }");
    int b = operand_number(&p, "b"), o = operand_number(&p, "o");
    cr_expect_eq(p.plan->storage[b], b);
    cr_expect_eq(p.plan->storage[o], b);
    cr_expect(p.plan->is_written[b] && p.plan->is_written[o] && p.plan->is_written[operand_number(&p, "c")]);
    cr_expect(!p.plan->is_written[operand_number(&p, "a")] && !p.plan->is_written[operand_number(&p, "u")]);
    planned_done(&p);
}

static clpi_when when_of_map(const planned *p, const char *operand, int dim)
{
    return p->plan->when[p->ir->operands[operand_number(p, operand)].block[dim].index.id];
}

Test(plan, knows_when_an_index_is_known)
{
    planned p;
    planned_ok(&p, "kernel k(prefetch t: i32[T], scalar s: i32,\n"
                   "    in x: f32[A, B, C, D, E] block [1, 1, 1, 1, 1] at (2, s, num_programs(i) - 1, 3 * i + 1, t[i] + i),\n"
                   "    out o: f32[G] block [1] at (i))\n"
                   "grid (i = G) { o[...] = x[0, 0, 0, 0]; }");
    cr_expect_eq(when_of_map(&p, "x", 0), CLPI_WHEN_BUILD);
    cr_expect_eq(when_of_map(&p, "x", 1), CLPI_WHEN_LAUNCH);
    cr_expect_eq(when_of_map(&p, "x", 2), CLPI_WHEN_LAUNCH);
    cr_expect_eq(when_of_map(&p, "x", 3), CLPI_WHEN_PROGRAM);
    cr_expect_eq(when_of_map(&p, "x", 4), CLPI_WHEN_DATA);
    planned_done(&p);
}

static void ignore(void *user, clpi_pos pos, const char *text)
{
    (void)user;
    (void)pos;
    cr_assert_fail("%s", text);
}

/* A kernel without operations whose only axis has a size made by `size`. */
static clp_status plan_with_axis(planned *p, clp_val (*size)(clpi_build *b))
{
    clpi_build b;
    *p = (planned){ .status = CLP_OK };
    clpi_env_init(&p->env, NULL, NULL);
    clpi_arena_init(&p->arena, &p->env);
    p->ir = clpi_ir_new(&p->env, &p->arena, "k");
    clpi_build_init(&b, p->ir, ignore, NULL);
    clp_val shape[1] = { clpi_make_int(&b, CLP_I64, 4) };
    clpi_build_operand(&b, &(clpi_operand){ .role = CLP_PREFETCH, .name = "t", .dtype = CLP_I32, .rank = 1, .shape = shape, .alias = -1 });
    int axis = clpi_build_axis(&b, "i", false);
    p->ir->axes[axis].size = size(&b);
    clpi_build_begin_body(&b);
    cr_assert(clpi_build_end(&b));
    return clpi_plan_new(p->ir, &p->arena, &p->plan);
}

static clp_val size_of_prefetched(clpi_build *b)
{
    clp_val at = clpi_make_int(b, CLP_I64, 0);
    return clpi_make_header_load(b, 0, &at, 1);
}

static clp_val size_of_id(clpi_build *b)
{
    return clpi_make_leaf(b, CLP_OP_program_id, 0);
}

static clp_val size_of_grid(clpi_build *b)
{
    return clpi_make_leaf(b, CLP_OP_num_programs, 0);
}

Test(plan, refuses_a_grid_that_no_launch_could_know)
{
    static const struct { clp_val (*size)(clpi_build *); const char *message; } rows[] = {
        { size_of_prefetched, "i: the size of an axis may not read prefetched data" },
        { size_of_id, "i: the size of an axis may not read a program id" },
        { size_of_grid, "i: the size of an axis may not read num_programs" },
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        planned p;
        cr_expect_eq(plan_with_axis(&p, rows[r].size), CLP_ERR_INVALID, "row %zu", r);
        cr_expect_str_eq(clpi_error_text(&p.env), rows[r].message);
        planned_done(&p);
    }
}

Test(plan, refuses_more_axes_than_there_are_bits)
{
    char text[2048] = "kernel k(out o: f32[N] block [1] at (a0)) grid (";
    for (int i = 0; i < CLPI_MAX_AXES + 1; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%sa%d = 1", i ? ", " : "", i);
    strcat(text, ") { o[...] = 0; }");
    planned p;
    planned_make(&p, text);
    cr_assert_eq(p.status, CLP_ERR_INVALID);
    cr_expect_str_eq(clpi_error_text(&p.env), "k: the grid has 33 axes, at most 32 are possible");
    planned_done(&p);
}

Test(plan, prints_a_page)
{
    planned p;
    clpi_str s;
    planned_ok(&p, "kernel k(in x: f32[M, 2 * K] block [8, _] at (i, k) pad 0, prefetch t: i32[G], scalar n: i32,\n"
                   "    out z: f32[M] block [element(8, pad = 1)] at (8 * t[i] - (n - 1)), out w: f32[G] alias v, in v: f32[G],\n"
                   "    scratch acc: f32[8])\n"
                   "grid (i = cdiv(M, 8), k = K * 2 arbitrary) require K % 4 == 0 || n < 3\n"
                   "{ acc[...] = x[...]; z[...] = acc[...]; w[0] = v[0]; }");
    clpi_str_init(&s, &p.env);
    clpi_plan_print(p.plan, &s);
    cr_assert_not(s.failed);
    const char *parts[] = {
        "plan of k\n", "    i = cdiv(M, 8) parallel\n", "    k = 2 * K arbitrary\n", "    sequence (i) of steps (k)\n",
        "    M from x, dimension 0 = M\n", "    K from x, dimension 1 = 2 * K\n",
        "    in x: f32[M, 2 * K] block [8, _] at (i, k), per program\n", "    prefetch t: i32[G]\n", "    scalar n: i32\n",
        "    out z: f32[M] block [element(8, pad = 1)] at (8 * t[i] - (n - 1)), from prefetched data, written\n",
        "    in v: f32[G], shares storage with w, written\n", "    scratch acc: f32[8], written\n",
        "requires\n    K % 4 == 0 || n < 3\n",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_expect(strstr(s.text, parts[i]), "expected \"%s\" in\n%s", parts[i], s.text);
    clpi_str_done(&s);
    planned_done(&p);
}
