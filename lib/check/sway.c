/* sway: how far rounding may move what a kernel leaves behind.
 * In: a launch on the interpreter. Out: of each element of the results the farthest that it moved in runs in which whatever a
 * device may round otherwise (levels.c) was moved as far as rounding may move it. Where a kernel takes nearly equal values from
 * each other these moves are large, whatever the tolerance of a single result; elsewhere they stay within it.
 *
 * Decides how far. Sums are added up anew, in f64 or one term after the other, which shows what roundings come to that do not
 * cancel; and then moved, as all that rounds is: a sum of n terms by 3 u sqrt(n) times itself or times the root of the squares
 * of its terms, whichever is more, u being half a step at 1. For each addition rounds what has been added up before it by
 * u / sqrt(3) of that at root mean square: together sqrt(n) / 3 u of the sum where terms have one sign, and sqrt(n) / 2.4 u of
 * that root where they cancel; for the difference of two sums 3 u is past five standard deviations. A function: 32 u, or 16 ulp.
 * Floats of 16 and 8 bits, which are rounded to once: one step besides. Under `math fast`: a hundred times as much.
 * Moves have between half of this and all of it, up or down, by run, op and lane. In each program and each turn of a loop they
 * are the same, so a loop that comes to rest does so here too.                                                          */
#include <math.h>

#include "check/agree.h"

typedef struct sway {
    const clpi_ir *ir;
    uint64_t       run;
    clpi_env      *env;
    bool           failed;        /* out of memory, reported */
} sway;

/* ---- Elements, held ---- */

static void put_number(clp_dtype d, void *elems, int64_t i, double x)
{
    if (d == CLP_F64)
        ((double *)elems)[i] = x;
    else
        ((float *)elems)[i] = clpi_elem_from_bits(d, clpi_f64_to_small_bits(d, x)).f;
}

/* ---- How far one op's elements may move ---- */

/* Terms of each element, 0: it is no sum. */
static int64_t terms_of(const clpi_ir *ir, const clpi_op *op)
{
    const clpi_type *x = op->n_args ? clpi_type_of(ir, clpi_args(ir, op)[0]) : NULL, *out = &ir->types.items[op->type];
    switch (op->kind) {
    case CLP_OP_sum: case CLP_OP_prod: return clpi_type_elems(x) / clpi_type_elems(out);
    case CLP_OP_cumsum: case CLP_OP_cumprod: return x->shape[op->attr / 2];
    case CLP_OP_dot: return x->shape[x->rank - 1];
    default: return 0;
    }
}

static double square_at(const clpi_type *t, const void *elems, int64_t i)
{
    const double x = clpi_held_number(t->dtype, elems, i);
    return x * x;
}

/* The terms of each sum over axes and their squares, added up. */
static void add_terms(const clpi_type *t, const void *x, uint64_t axes, bool in_f64, double *sums, double *squares)
{
    clpi_lanes lanes;
    clpi_lanes_init(&lanes, t, axes);
    for (int64_t i = 0, n = clpi_type_elems(t); i < n; i++, clpi_lanes_next(&lanes)) {
        const double sum = sums[lanes.lane] + clpi_held_number(t->dtype, x, i);
        sums[lanes.lane] = in_f64 || t->dtype == CLP_F64 ? sum : (double)(float)sum;
        squares[lanes.lane] += square_at(t, x, i);
    }
}

/* Squares for running sums: each as if it had all the terms of its line. */
static void square_lines(const clpi_type *t, const void *x, int axis, double *sums, double *lines, double *squares)
{
    clpi_lanes lanes;
    add_terms(t, x, UINT64_C(1) << axis, true, sums, lines);
    clpi_lanes_init(&lanes, t, UINT64_C(1) << axis);
    for (int64_t i = 0, n = clpi_type_elems(t); i < n; i++, clpi_lanes_next(&lanes))
        squares[i] = lines[lanes.lane];
}

/* Squares for a dot, as if the sizes of its factors had nothing to do with each other. */
static void square_products(const clpi_type *x, const void *a, const clpi_type *y, const void *b, double *squares)
{
    const int64_t m = x->shape[x->rank - 2], n_k = x->shape[x->rank - 1], n = y->shape[y->rank - 1];
    const int64_t batches = clpi_type_elems(x) / (m * n_k);
    for (int64_t i = 0; i < batches * m; i++) {
        double row = 0;
        for (int64_t k = 0; k < n_k; k++)
            row += square_at(x, a, i * n_k + k);
        for (int64_t j = 0; j < n; j++)
            squares[i * n + j] = row / (double)n_k;
    }
    for (int64_t l = 0; l < batches * n; l++) {
        double column = 0;
        for (int64_t k = 0; k < n_k; k++)
            column += square_at(y, b, (l / n * n_k + k) * n + l % n);
        for (int64_t i = 0; i < m; i++)
            squares[(l / n * m + i) * n + l % n] *= column;
    }
}

/* Fills in squares, n of them, of what is a sum; elems anew of what `sum` makes. false: out of memory. */
static bool add_up(const sway *s, const clpi_op *op, void *elems, int64_t n, clpi_value_fn *value, const void *run, double *squares)
{
    const clp_val *args = clpi_args(s->ir, op);
    const clpi_type *t = op->n_args ? clpi_type_of(s->ir, args[0]) : NULL;
    const clp_dtype dtype = s->ir->types.items[op->type].dtype;
    clpi_arena scrap;
    clpi_arena_init(&scrap, s->env);
    double *sums = CLPI_NEW_N(&scrap, double, (size_t)n), *lines = CLPI_NEW_N(&scrap, double, (size_t)n);
    const bool is_ok = sums && lines;
    if (is_ok && op->kind == CLP_OP_sum) {
        add_terms(t, value(run, args[0]), op->attr, s->run % 2, sums, squares);
        for (int64_t i = 0; i < n; i++)
            put_number(dtype, elems, i, sums[i]);
    } else if (is_ok && op->kind == CLP_OP_cumsum) {
        square_lines(t, value(run, args[0]), (int)(op->attr / 2), sums, lines, squares);
    } else if (is_ok && op->kind == CLP_OP_dot && terms_of(s->ir, op) > 0) {
        square_products(t, value(run, args[0]), clpi_type_of(s->ir, args[1]), value(run, args[1]), squares);
    }
    clpi_arena_done(&scrap);
    return is_ok;
}

/* A number from -1 to -1/2 or from 1/2 to 1. */
static double direction(const sway *s, uint32_t op, int64_t lane)
{
    uint64_t h = ((uint64_t)lane << 20 ^ (uint64_t)op << 4 ^ s->run) + 1;
    for (int i = 0; i < 2; i++)
        h = (h ^ h >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    const double size = 0.5 + 0.5 * (double)(h >> 40) * 0x1p-24;
    return h >> 39 & 1 ? size : -size;
}

static void alter(void *user, uint32_t at, void *elems, clpi_value_fn *value, const void *run)
{
    static const double steps[CLP_N_DTYPES] = { [CLP_F16] = 0x1p-10, [CLP_BF16] = 0x1p-7, [CLP_F8E4M3] = 0x1p-3, [CLP_F8E5M2] = 0x1p-2 };
    sway *s = user;
    const clpi_op *op = &s->ir->ops.items[at];
    const clpi_type *t = &s->ir->types.items[op->type];
    const int64_t n = clpi_type_elems(t);
    if (clpi_own_level(s->ir, op) == CLPI_EXACT || n == 0)
        return;
    clpi_arena scrap;
    clpi_arena_init(&scrap, s->env);
    double *squares = CLPI_NEW_N(&scrap, double, (size_t)n);
    s->failed |= !squares || !add_up(s, op, elems, n, value, run, squares);
    const double u = (t->dtype == CLP_F64 ? 0x1p-53 : 0x1p-24) * (s->ir->math_fast ? 100 : 1), terms = (double)terms_of(s->ir, op);
    for (int64_t i = 0; !s->failed && i < n; i++) {
        const double v = clpi_held_number(t->dtype, elems, i);
        const double size = isfinite(squares[i]) ? fmax(fabs(v), sqrt(squares[i])) : fabs(v);      /* inf would move to inf whatever it is */
        const double most = terms > 0 ? 3 * u * sqrt(terms) * size : 32 * u * fabs(v);
        put_number(t->dtype, elems, i, v + direction(s, at, i) * (most + steps[t->dtype] * fabs(v)));
    }
    clpi_arena_done(&scrap);
}

static bool stops(void *user)
{
    return ((const sway *)user)->failed;
}

/* ---- Runs ---- */

bool clpi_sway_may_hang(const clpi_ir *ir, const clpi_levels *levels)
{
    for (uint32_t i = ir->n_header; i < ir->ops.n; i++) {
        const clpi_op *op = &ir->ops.items[i];
        if (op->kind == CLP_OP_while && levels->val[clpi_args(ir, &ir->ops.items[op->end - 1])[0].id].kind != CLPI_EXACT)
            return true;
    }
    return false;
}

clp_status clpi_sway_run(clpi_check *check, const clpi_ir *ir, uint64_t run)
{
    sway s = { .ir = ir, .run = run, .env = check->env };
    const clpi_watch watch = { .user = &s, .alter = alter, .stops = stops, .fault = clpi_go_on };
    clpi_snapshot_reset(check);
    CLP_TRY(clpi_snapshot_run(check, CLP_ORDER_FORWARD, 0, &watch));
    return s.failed ? CLP_ERR_OOM : CLP_OK;
}

static void take_moves(const clpi_check *check, const clpi_kept *expected, int operand, double *moves)
{
    const clp_dtype dtype = check->ir->operands[operand].dtype;
    const uint8_t *want = clpi_kept_of(check, expected, operand), *got = clpi_work_of(check, operand);
    clpi_elements e;
    clpi_elements_init(&e, check, operand);
    while (clpi_elements_next(&e))
        clpi_move_add(&moves[e.number], dtype, clpi_bits_at(dtype, got, e.at), clpi_bits_at(dtype, want, e.at));
}

clp_status clpi_sway_new(clpi_check *check, const clpi_levels *levels, const clpi_kept *expected, double ***out_moves)
{
    clpi_arena *arena = &check->snapshot.arena;
    double **moves = CLPI_NEW_N(arena, double *, (size_t)check->ir->n_operands + 1);
    for (int i = 0; moves && i < check->ir->n_operands; i++)
        if (clpi_is_result(check, i))
            moves[i] = CLPI_NEW_N(arena, double, (size_t)clpi_elements_n(check, i) + 1);
    if (arena->failed)
        return CLP_ERR_OOM;
    *out_moves = moves;
    for (uint64_t run = 0; run < CLPI_SWAY_RUNS && !clpi_sway_may_hang(check->ir, levels); run++) {
        CLP_TRY(clpi_sway_run(check, check->ir, run));
        for (int i = 0; i < check->ir->n_operands; i++)
            if (clpi_is_result(check, i))
                take_moves(check, expected, i, moves[i]);
    }
    return CLP_OK;
}
