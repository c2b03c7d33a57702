/* ir_kernel: a kernel under construction with one operand of each kind, and what was reported meanwhile.                */
#ifndef TESTS_IR_KERNEL_H
#define TESTS_IR_KERNEL_H

#include <string.h>

#include <criterion/criterion.h>

#include "ir/ir.h"

typedef struct kernel {
    clpi_env   env;
    clpi_arena arena, pass;
    clpi_ir   *ir;
    clpi_build b;
    char       said[512];      /* the last report */
    int        n_said;
    /* Operands:  x in f32[M, K] block [8, 16]   w in f32[N, 4]   q in i4[M] block [32]   e in f16[M] block [8]
     *            z out f32[M, K] block [8, 16]  h inout i32[64]  o out f32[M, K] block [8, 16] alias a
     *            a in f32[M, K] block [8, 16]   c scratch f32[8]  t prefetch i32[N]  n scalar i32                        */
    int x, w, q, e, a, z, h, o, c, t, n;
} kernel;

static inline void kernel_report(void *user, clpi_pos pos, const char *text)
{
    kernel *k = user;
    (void)pos;
    k->n_said++;
    strncpy(k->said, text, sizeof k->said - 1);
}

typedef struct operand_row { clp_role role; const char *name; clp_dtype dtype; int rank; clp_val shape[2]; int64_t block[2]; int alias; } operand_row;

static inline int kernel_operand(kernel *k, operand_row r)
{
    clpi_block_dim block[2];
    clpi_operand op = { .role = r.role, .name = r.name, .dtype = r.dtype, .rank = r.rank, .shape = r.shape, .block = block,
                        .has_block = r.block[0] != 0, .alias = r.alias };
    clp_val zero = clpi_make_int(&k->b, CLP_I64, 0);
    for (int i = 0; i < 2; i++)
        block[i] = (clpi_block_dim){ .kind = CLPI_BLOCK_PLAIN, .n = r.block[i], .index = zero };
    int n = clpi_build_operand(&k->b, &op);
    cr_assert(n >= 0, "%s: %s", r.name, k->said);
    return n;
}

static inline void kernel_init(kernel *k)
{
    *k = (kernel){ .n_said = 0 };
    clpi_env_init(&k->env, NULL, NULL);
    clpi_arena_init(&k->arena, &k->env);
    clpi_arena_init(&k->pass, &k->env);
    k->ir = clpi_ir_new(&k->env, &k->arena, "test");
    clpi_build *b = &k->b;
    clpi_build_init(b, k->ir, kernel_report, k);
    clp_val M = clpi_make_leaf(b, CLP_OP_dim, (uint64_t)clpi_build_dim(b, "M"));
    clp_val K = clpi_make_leaf(b, CLP_OP_dim, (uint64_t)clpi_build_dim(b, "K"));
    clp_val N = clpi_make_leaf(b, CLP_OP_dim, (uint64_t)clpi_build_dim(b, "N"));
    clp_val four = clpi_make_int(b, CLP_I64, 4), many = clpi_make_int(b, CLP_I64, 64), eight = clpi_make_int(b, CLP_I64, 8);
    k->x = kernel_operand(k, (operand_row){ CLP_IN, "x", CLP_F32, 2, { M, K }, { 8, 16 }, -1 });
    k->w = kernel_operand(k, (operand_row){ CLP_IN, "w", CLP_F32, 2, { N, four }, { 0 }, -1 });
    k->q = kernel_operand(k, (operand_row){ CLP_IN, "q", CLP_I4, 1, { M }, { 32 }, -1 });
    k->e = kernel_operand(k, (operand_row){ CLP_INOUT, "e", CLP_F16, 1, { M }, { 8 }, -1 });
    k->a = kernel_operand(k, (operand_row){ CLP_IN, "a", CLP_F32, 2, { M, K }, { 8, 16 }, -1 });
    k->z = kernel_operand(k, (operand_row){ CLP_OUT, "z", CLP_F32, 2, { M, K }, { 8, 16 }, -1 });
    k->h = kernel_operand(k, (operand_row){ CLP_INOUT, "h", CLP_I32, 1, { many }, { 0 }, -1 });
    k->o = kernel_operand(k, (operand_row){ CLP_OUT, "o", CLP_F32, 2, { M, K }, { 8, 16 }, k->a });
    k->c = kernel_operand(k, (operand_row){ CLP_SCRATCH, "c", CLP_F32, 1, { eight }, { 0 }, -1 });
    k->t = kernel_operand(k, (operand_row){ CLP_PREFETCH, "t", CLP_I32, 1, { N }, { 0 }, -1 });
    k->n = kernel_operand(k, (operand_row){ .role = CLP_SCALAR, .name = "n", .dtype = CLP_I32, .rank = 0, .alias = -1 });
    int axis = clpi_build_axis(b, "i", false);
    k->ir->axes[axis].size = many;
    clpi_build_begin_body(b);
    cr_assert_eq(k->n_said, 0, "%s", k->said);
}

static inline void kernel_done(kernel *k)
{
    clpi_arena_done(&k->pass);
    clpi_arena_done(&k->arena);
    clpi_env_done(&k->env);
}

/* A tile of a dtype that no constant can be told from: iota, cast. */
static inline clp_val tile_of(kernel *k, clp_dtype d, int rank, const int64_t *shape)
{
    clpi_type t = { .dtype = CLP_I32, .rank = rank };
    if (rank == 0)
        return clpi_make_cast(&k->b, clpi_make_leaf(&k->b, CLP_OP_program_id, 0), d);
    for (int i = 0; i < rank; i++)
        t.shape[i] = shape[i];
    return clpi_make_cast(&k->b, clpi_make_iota(&k->b, &t, 0), d);
}
#define TILE(k, d, ...) tile_of((k), (d), (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), (int64_t[]){ __VA_ARGS__ })
#define SCALAR(k, d) tile_of((k), (d), 0, NULL)

static inline clp_val whole(kernel *k, int operand)
{
    return clpi_make_load(&k->b, operand, NULL, 0, (clp_val){ 0 }, (clp_val){ 0 });
}

static inline void store_whole(kernel *k, int operand, clp_val v)
{
    clpi_make_store(&k->b, operand, NULL, 0, v, (clp_val){ 0 });
}

/* v was made, nothing was said, and it has this type. */
#define IS(k, v, type_text)                                                                                            \
    do {                                                                                                               \
        clp_val is_val_ = (v);                                                                                         \
        cr_assert(is_val_.id != 0, "%s: %s", #v, (k)->said);                                                           \
        clpi_str is_text_;                                                                                             \
        clpi_str_init(&is_text_, &(k)->env);                                                                           \
        clpi_type_print(&is_text_, clpi_type_of((k)->ir, is_val_));                                                    \
        cr_assert_str_eq(is_text_.text, type_text, "%s: got %s", #v, is_text_.text);                                   \
        clpi_str_done(&is_text_);                                                                                      \
    } while (0)

/* The call gives no value and says this, once. */
#define SAYS(k, v, text)                                                                                               \
    do {                                                                                                               \
        int says_before_ = (k)->n_said;                                                                                \
        clp_val says_val_ = (v);                                                                                       \
        cr_assert_eq(says_val_.id, 0, "%s: made", #v);                                                                 \
        cr_assert_eq((k)->n_said, says_before_ + 1, "%s: said %d times", #v, (k)->n_said - says_before_);              \
        cr_assert_str_eq((k)->said, text, "%s: said \"%s\"", #v, (k)->said);                                           \
    } while (0)

#endif
