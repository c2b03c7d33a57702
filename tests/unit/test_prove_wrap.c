/* Static proofs about numbers that wrap: one program, an index made of two i32 that may be anything, compared with what the
 * index is for numbers near the ends of the range. "Each index lies inside" must hold for them all.                      */
#include <criterion/criterion.h>

#include "check/prove.h"
#include "unit/planned.h"

typedef enum op { OP_A, OP_B, OP_CONST, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD, OP_MIN, OP_MAX, OP_AND, OP_SHL, OP_SHR, OP_DIV0, OP_REM0, OP_ABS, OP_NEG,
                  OP_I8, N_OPS } op;

typedef struct node { op kind; int32_t value; int a, b; } node;

typedef struct spec {
    node     nodes[64];  int n_nodes;
    int      index, guard[2];         /* guard: lo <= nodes[guard[0]] < hi around the store; -1: none */
    int32_t  guard_lo, guard_hi;
    char     text[2048];
    size_t   n;
    uint64_t state;
} spec;

static int draw(spec *s, int n)
{
    s->state ^= s->state << 13;
    s->state ^= s->state >> 7;
    s->state ^= s->state << 17;
    return (int)((s->state >> 11) % (uint64_t)n);
}

static int put(spec *s, op kind, int32_t value, int a, int b)
{
    s->nodes[s->n_nodes] = (node){ kind, value, a, b };
    return s->n_nodes++;
}

static int draw_node(spec *s, int depth)
{
    static const int32_t constants[] = { 0, 1, 2, 3, 7, 8, -1, -3, 15, 127, 1000, 65535, INT32_MAX, INT32_MIN + 1 };
    if (depth == 0 || draw(s, 5) == 0)
        return draw(s, 3) ? put(s, draw(s, 2) ? OP_A : OP_B, 0, 0, 0)
                          : put(s, OP_CONST, constants[draw(s, sizeof constants / sizeof *constants)], 0, 0);
    op kind = (op)(OP_ADD + draw(s, N_OPS - OP_ADD));
    int a = draw_node(s, depth - 1);
    bool wants_constant = kind == OP_AND || kind == OP_SHL || kind == OP_SHR || ((kind == OP_DIV || kind == OP_MOD) && draw(s, 2));
    int b = wants_constant ? put(s, OP_CONST, kind == OP_AND ? (1 << draw(s, 5)) - 1 : 1 + draw(s, 9), 0, 0) : draw_node(s, depth - 1);
    return put(s, kind, 0, a, b);
}

static int32_t wrap(int64_t x)
{
    return (int32_t)(uint32_t)(uint64_t)x;
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int32_t eval(const spec *s, int n, int32_t a0, int32_t b0)
{
    const node *x = &s->nodes[n];
    if (x->kind < OP_ADD)
        return x->kind == OP_A ? a0 : x->kind == OP_B ? b0 : x->value;
    int64_t a = eval(s, x->a, a0, b0), b = x->kind >= OP_ABS ? 0 : eval(s, x->b, a0, b0);
    switch (x->kind) {
    case OP_ADD: return wrap(a + b);
    case OP_SUB: return wrap(a - b);
    case OP_MUL: return wrap((int64_t)((uint64_t)a * (uint64_t)b));
    case OP_DIV: return b == 0 ? -1 : wrap(floor_divide(a, b));
    case OP_MOD: return b == 0 ? (int32_t)a : wrap(a - b * floor_divide(a, b));
    case OP_MIN: return (int32_t)(a < b ? a : b);
    case OP_MAX: return (int32_t)(a > b ? a : b);
    case OP_AND: return (int32_t)(a & b);
    case OP_SHL: return wrap((int64_t)((uint64_t)a << b));
    case OP_SHR: return (int32_t)floor_divide(a, INT64_C(1) << b);
    case OP_DIV0: return b == 0 ? -1 : wrap(a / b);
    case OP_REM0: return b == 0 ? (int32_t)a : wrap(a % b);
    case OP_ABS: return wrap(a < 0 ? -a : a);
    case OP_NEG: return wrap(-a);
    case OP_I8: return (int8_t)(uint8_t)(uint64_t)a;
    default: return 0;
    }
}

static void add(spec *s, const char *text)
{
    size_t n = strlen(text);
    cr_assert(s->n + n + 1 < sizeof s->text);
    memcpy(s->text + s->n, text, n + 1);
    s->n += n;
}

static void add_number(spec *s, int64_t x)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%lldi32", (long long)x);
    add(s, digits);
}

static void write_node(spec *s, int n)
{
    static const char *const before[N_OPS] = { [OP_MIN] = "minimum(", [OP_MAX] = "maximum(", [OP_DIV0] = "div(", [OP_REM0] = "rem(",
                                               [OP_ABS] = "abs(", [OP_NEG] = "(-", [OP_I8] = "cast(cast(" };
    static const char *const between[N_OPS] = { [OP_ADD] = " + ", [OP_SUB] = " - ", [OP_MUL] = " * ", [OP_DIV] = " / ", [OP_MOD] = " % ",
                                                [OP_AND] = " & ", [OP_SHL] = " << ", [OP_SHR] = " >> " };
    const node *x = &s->nodes[n];
    if (x->kind == OP_CONST) {
        add(s, "(");
        add_number(s, x->value);
        add(s, ")");
        return;
    }
    if (x->kind < OP_CONST) {
        add(s, x->kind == OP_A ? "a" : "b");
        return;
    }
    add(s, before[x->kind] ? before[x->kind] : "(");
    write_node(s, x->a);
    if (x->kind < OP_ABS) {
        add(s, between[x->kind] ? between[x->kind] : ", ");
        write_node(s, x->b);
    }
    add(s, x->kind == OP_I8 ? ", i8), i32)" : ")");
}

static void make(spec *s, uint64_t seed)
{
    static const op bounded[] = { OP_MOD, OP_AND, OP_MIN, OP_MAX };
    *s = (spec){ .state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1, .guard = { -1, -1 } };
    for (int i = 0; i < 8; i++)
        draw(s, 2);
    s->index = draw_node(s, 3);
    for (int i = draw(s, 3); i-- > 0;) {      /* mostly brought into a range */
        op kind = bounded[draw(s, 4)];
        s->index = put(s, kind, 0, s->index, put(s, OP_CONST, kind == OP_MOD ? 8 : kind == OP_MAX ? 0 : 7, 0, 0));
    }
    add(s, "kernel wrap(scalar a: i32, scalar b: i32, out o: i32[8]) grid () {\n");
    if (draw(s, 2)) {
        s->guard[0] = draw(s, 2) ? s->index : draw_node(s, 1);
        s->guard_lo = draw(s, 3) - 1;
        s->guard_hi = 1 + draw(s, 9);
        add(s, "    let g = ");
        write_node(s, s->guard[0]);
        add(s, ";\n    if (g >= ");
        add_number(s, s->guard_lo);
        add(s, " && g < ");
        add_number(s, s->guard_hi);
        add(s, ") {\n");
    }
    add(s, "    o[");
    write_node(s, s->index);
    add(s, "] = 1;\n");
    add(s, s->guard[0] >= 0 ? "    }\n}\n" : "}\n");
}

/* Whether the store is reached, and leaves. */
static bool leaves(const spec *s, int32_t a, int32_t b)
{
    int32_t guard = s->guard[0] >= 0 ? eval(s, s->guard[0], a, b) : 0, index = eval(s, s->index, a, b);
    bool is_reached = s->guard[0] < 0 || (guard >= s->guard_lo && guard < s->guard_hi);
    return is_reached && (index < 0 || index >= 8);
}

static void check_spec(const spec *s, int *counts)
{
    static const int32_t values[] = { INT32_MIN, INT32_MIN + 1, -1073741825, -1073741824, -65536, -9, -8, -2, -1, 0, 1, 2, 3, 5, 7, 8, 9, 100, 127, 128,
                                      255, 46341, 65536, 715827883, 1073741823, 1073741824, INT32_MAX - 1, INT32_MAX };
    enum { N_VALUES = sizeof values / sizeof *values };
    planned p;
    planned_make(&p, s->text);
    if (p.status == CLP_OK) {
        clpi_proofs *proofs;
        cr_assert_eq(clpi_prove(&p.env, &p.arena, p.ir, p.plan, &proofs), CLP_OK);
        for (int i = 0; i < proofs->n; i++) {
            const clpi_claim *claim = &proofs->claims[i];
            if (claim->kind != CLPI_CLAIM_INDEX_INSIDE)
                continue;
            counts[claim->verdict]++;
            for (int k = 0; claim->verdict == CLPI_PROVED && k < N_VALUES * N_VALUES; k++)
                cr_assert(!leaves(s, values[k / N_VALUES], values[k % N_VALUES]), "%s\n proved, but not for a = %d, b = %d", s->text,
                          (int)values[k / N_VALUES], (int)values[k % N_VALUES]);
            if (claim->witness)
                cr_assert(leaves(s, (int32_t)claim->witness->scalar[0], (int32_t)claim->witness->scalar[1]), "%s\n found none", s->text);
        }
    }
    planned_done(&p);
}

Test(prove_wrap, indices_of_any_numbers)
{
    const char *count = getenv("CLP_PROVE_KERNELS"), *first = getenv("CLP_PROVE_SEED");
    const uint64_t n = count ? strtoull(count, NULL, 10) : 3000, start = first ? strtoull(first, NULL, 10) : 1;
    int counts[3] = { 0, 0, 0 };
    for (uint64_t seed = start; seed < start + n; seed++) {
        spec s;
        make(&s, seed);
        check_spec(&s, counts);
    }
    printf("indices: %d proved, %d found, %d open\n", counts[0], counts[1], counts[2]);
    cr_expect(counts[0] * 5 >= counts[0] + counts[1] + counts[2] && counts[2] * 3 <= counts[0] + counts[1] + counts[2]);
}
