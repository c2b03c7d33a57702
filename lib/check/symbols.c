/* symbols: values of the kernel as polynomials.
 * In: an op, a program, for a tile the coordinates of one element. Out: its value as a polynomial, exact.
 *
 * Movement (broadcast, transpose, reshape, subscripts) is followed to the element that it takes; arithmetic is done on
 * polynomials and kept where it provably does not leave the dtype. Everything else is a new variable in its dtype's range. */
#include <assert.h>

#include "check/symbols.h"

enum { MAX_DEPTH = 100, MAX_CONDITIONS = 300 };

#define MAX_EXACT (INT64_C(1) << 38)          /* where bounds of variables do not tell, 64-bit numbers are followed up to here */

typedef struct reader { clpi_symbols *s; clpi_side *side; int depth; } reader;

static clpi_poly read_value(const reader *r, clp_val v, const clpi_poly *coords);

/* ---- Ranges of dtypes ---- */

static void dtype_range(clp_dtype d, int64_t *lo, int64_t *hi)
{
    bool is_wide = d == CLP_I64 || d == CLP_U64;
    *lo = is_wide && clpi_is_signed(d) ? CLPI_NO_LOW : clpi_int_min(d);
    *hi = is_wide ? CLPI_NO_HIGH : (int64_t)clpi_int_max(d);
}

static clpi_poly opaque(clpi_symbols *s, clp_dtype d, clpi_opaque why)
{
    int64_t lo = CLPI_NO_LOW, hi = CLPI_NO_HIGH;
    if (s->why == CLPI_OPAQUE_NOT)
        s->why = why;
    if (clpi_is_int(d) || d == CLP_BOOL)
        dtype_range(d, &lo, &hi);
    return clpi_variable(s->facts, lo, hi);
}

static bool fits(clpi_symbols *s, const clpi_poly *p, clp_dtype d)
{
    int64_t lo, hi, least, most;
    dtype_range(d, &lo, &hi);
    if (p->is_known && hi == CLPI_NO_HIGH) {
        clpi_poly_interval(s->facts, p, &least, &most);
        if (least != CLPI_NO_LOW && most != CLPI_NO_HIGH && least >= lo)
            return true; /* a bound that does not fit 64 bits is none */
    }
    return clpi_poly_is_within(s->facts, p, lo == CLPI_NO_LOW ? -MAX_EXACT : lo, hi == CLPI_NO_HIGH ? MAX_EXACT : hi);
}

/* ---- Arithmetic ---- */

/* Rounded down; by 0 all ones. */
static clpi_poly divide(clpi_symbols *s, const clpi_poly *a, const clpi_poly *b)
{
    int64_t c;
    if (clpi_poly_is_constant(b, &c) && c == 0)
        return clpi_poly_unknown;
    if (b->is_known && clpi_poly_is_at_least(s->facts, b, 1))
        return clpi_poly_quotient(s->facts, a, b);
    const clpi_poly minus_b = clpi_poly_times(b, -1), minus_a = clpi_poly_times(a, -1);
    if (b->is_known && clpi_poly_is_at_least(s->facts, &minus_b, 1))
        return clpi_poly_quotient(s->facts, &minus_a, &minus_b);
    return clpi_poly_unknown;
}

static clpi_poly modulo(clpi_symbols *s, const clpi_poly *a, const clpi_poly *b)
{
    const clpi_poly q = divide(s, a, b), multiple = clpi_poly_product(s->facts, &q, b);
    return clpi_poly_sum(a, &multiple, -1);
}

/* Toward zero; the same as down where nothing is negative. */
static bool is_natural(clpi_symbols *s, const clpi_poly *a, const clpi_poly *b)
{
    return clpi_poly_is_at_least(s->facts, a, 0) && clpi_poly_is_at_least(s->facts, b, 1);
}

static clpi_poly absolute(clpi_symbols *s, const clpi_poly *a)
{
    const clpi_poly minus = clpi_poly_times(a, -1);
    return clpi_poly_maximum(s->facts, a, &minus);
}

/* a & b where one is 2^k - 1: what is left of a power of two, of negative numbers too. */
static clpi_poly masked(clpi_symbols *s, const clpi_poly *a, const clpi_poly *b)
{
    int64_t c;
    if (clpi_poly_is_constant(a, &c))
        return clpi_poly_is_constant(b, &c) ? clpi_poly_unknown : masked(s, b, a);
    if (!clpi_poly_is_constant(b, &c) || c < 0 || c >= MAX_EXACT || (c & (c + 1)) != 0)
        return clpi_poly_unknown;
    const clpi_poly power = clpi_poly_constant(c + 1);
    return modulo(s, a, &power);
}

/* a times, or divided by, 2^b. */
static clpi_poly shifted(clpi_symbols *s, clpi_op_kind kind, const clpi_poly *a, const clpi_poly *b, clp_dtype d)
{
    int64_t c;
    if (!clpi_poly_is_constant(b, &c) || c < 0 || c >= clp_dtype_bits(d) || c > 40)
        return clpi_poly_unknown;
    const clpi_poly power = clpi_poly_constant(INT64_C(1) << c);
    return kind == CLP_OP_shl ? clpi_poly_product(s->facts, a, &power) : clpi_poly_quotient(s->facts, a, &power);
}

/* The exact result of an elementwise op on numbers, or unknown. */
static clpi_poly exact(clpi_symbols *s, clpi_op_kind kind, clp_dtype d, const clpi_poly *a, const clpi_poly *b)
{
    switch (kind) {
    case CLP_OP_add: return clpi_poly_sum(a, b, 1);
    case CLP_OP_sub: return clpi_poly_sum(a, b, -1);
    case CLP_OP_mul: return clpi_poly_product(s->facts, a, b);
    case CLP_OP_neg: return clpi_poly_times(a, -1);
    case CLP_OP_divide: return divide(s, a, b);
    case CLP_OP_mod: return modulo(s, a, b);
    case CLP_OP_div: return is_natural(s, a, b) ? divide(s, a, b) : clpi_poly_unknown;
    case CLP_OP_rem: return is_natural(s, a, b) ? modulo(s, a, b) : clpi_poly_unknown;
    case CLP_OP_minimum: return clpi_poly_minimum(s->facts, a, b);
    case CLP_OP_maximum: return clpi_poly_maximum(s->facts, a, b);
    case CLP_OP_abs: return absolute(s, a);
    case CLP_OP_and: return masked(s, a, b);
    case CLP_OP_shl:
    case CLP_OP_shr: return shifted(s, kind, a, b, d);
    default: return clpi_poly_unknown;
    }
}

/* ---- Coordinates ---- */

static clpi_poly *coords_new(clpi_symbols *s)
{
    clpi_poly *coords = CLPI_NEW_N(s->arena, clpi_poly, CLP_MAX_RANK);
    for (int d = 0; coords && d < CLP_MAX_RANK; d++)
        coords[d] = clpi_poly_constant(0);
    return coords;
}

/* The element of a reshaped value: dimensions other than 1 that stay go along; else by the number of the element. */
static void reshape_coords(clpi_symbols *s, const clpi_type *from, const clpi_type *to, const clpi_poly *coords, clpi_poly *out)
{
    int f = 0, t = 0;
    for (;;) {
        while (f < from->rank && from->shape[f] == 1)
            f++;
        while (t < to->rank && to->shape[t] == 1)
            t++;
        if (f == from->rank || t == to->rank || from->shape[f] != to->shape[t])
            break;
        out[f++] = coords[t++];
    }
    if (f == from->rank && t == to->rank)
        return;
    clpi_poly number = clpi_poly_constant(0);
    int64_t step = 1;
    for (int d = to->rank; d-- > t; step *= to->shape[d])
        number = clpi_poly_sum(&number, &coords[d], step);
    step = 1;
    for (int d = from->rank; d-- > f; step *= from->shape[d]) {
        out[d] = clpi_variable(s->facts, 0, from->shape[d] - 1);
        number = clpi_poly_sum(&number, &out[d], -step);
    }
    clpi_fact_add(s->facts, &number, true);
}

/* The element of a value that index takes; false: not certainly one. */
static bool index_coords(const reader *r, const clpi_op *op, const clpi_poly *coords, clpi_poly *out)
{
    clpi_symbols *s = r->s;
    const clp_val *args = clpi_args(s->ir, op);
    const clpi_type *from = clpi_type_of(s->ir, args[0]);
    int at = 0, tile_at = -1, tile_rank = 0;
    for (uint32_t i = 0; i < op->n_subs; i++) {
        const clpi_sub *sub = &clpi_subs(s->ir, op)[i];
        if (sub->kind == CLPI_SUB_TILE && tile_at < 0) {
            tile_at = at;
            tile_rank = clpi_type_of(s->ir, args[i + 1])->rank;
            at += tile_rank;
        }
        out[i] = read_value(r, args[i + 1], sub->kind == CLPI_SUB_TILE ? &coords[tile_at] : coords);
        if (sub->kind == CLPI_SUB_RANGE)
            out[i] = clpi_poly_sum(&out[i], &coords[at++], sub->stride);
        if (!clpi_poly_is_within(s->facts, &out[i], 0, from->shape[i] - 1))
            return false;
    }
    return true;
}

/* Follows one op of movement: *v and *coords become those of what it moves. false: it does not move, or not to be known. */
static bool follow(const reader *r, clp_val *v, const clpi_poly **coords)
{
    clpi_symbols *s = r->s;
    const clpi_op *op = clpi_op_at(s->ir, *v);
    bool moves = op->kind == CLP_OP_broadcast || op->kind == CLP_OP_transpose || op->kind == CLP_OP_reshape || op->kind == CLP_OP_index;
    clpi_poly *out = moves ? coords_new(s) : NULL;
    if (!out)
        return false;
    const clp_val from = clpi_args(s->ir, op)[0];
    const clpi_type *to_type = clpi_type_of(s->ir, *v), *from_type = clpi_type_of(s->ir, from);
    switch (op->kind) {
    case CLP_OP_broadcast:
        for (int d = 0; d < from_type->rank; d++)
            if (from_type->shape[d] != 1)
                out[d] = (*coords)[to_type->rank - from_type->rank + d];
        break;
    case CLP_OP_transpose:
        for (int d = 0; d < to_type->rank; d++)
            out[clpi_perm_get(op->attr, d)] = (*coords)[d];
        break;
    case CLP_OP_reshape: reshape_coords(s, from_type, to_type, *coords, out); break;
    default:
        if (!index_coords(r, op, *coords, out))
            return false;
        break;
    }
    *v = from;
    *coords = out;
    return true;
}

/* ---- Values ---- */

/* How often the body of a for has run before: kept in the place of the loop itself, which has no value. */
static clpi_poly loop_turn(const reader *r, uint32_t loop)
{
    const clpi_poly **known = &r->side->value[loop];
    clpi_poly *turn = *known ? NULL : clpi_arena_take(r->s->arena, 1, sizeof *turn);
    if (*known)
        return **known;
    if (!turn)
        return clpi_poly_unknown;
    *turn = clpi_variable(r->s->facts, 0, UINT32_MAX);
    *known = turn;
    return *turn;
}

/* lo + step * turn, short of hi. */
static clpi_poly loop_index(const reader *r, uint32_t loop)
{
    clpi_symbols *s = r->s;
    const clpi_op *op = &s->ir->ops.items[loop];
    const int64_t step = (int64_t)op->attr;
    const clpi_poly lo = read_value(r, clpi_args(s->ir, op)[0], NULL), hi = read_value(r, clpi_args(s->ir, op)[1], NULL);
    const clpi_poly turn = loop_turn(r, loop), index = clpi_poly_sum(&lo, &turn, step);
    clpi_order_add(s->facts, step > 0 ? &hi : &index, step > 0 ? &index : &hi, 1);
    return index.is_known ? index : opaque(s, CLP_I32, CLPI_OPAQUE_OTHER);
}

/* A value that a for carries and adds a constant to in each turn: its start and as many times the constant. */
static clpi_poly loop_carried(const reader *r, clp_val v)
{
    clpi_symbols *s = r->s;
    const uint32_t loop = s->region[v.id];
    const clpi_op *op = &s->ir->ops.items[loop];
    const clp_dtype d = clpi_type_of(s->ir, v)->dtype;
    const uint64_t i = s->ir->ops.items[v.id].attr;
    const clp_val next = op->kind == CLP_OP_for ? clpi_args(s->ir, &s->ir->ops.items[op->end - 1])[i - 1] : v;
    const clpi_op *step = clpi_op_at(s->ir, next);
    int64_t c;
    bool adds = step->kind == CLP_OP_add || step->kind == CLP_OP_sub;
    if (!adds || clpi_type_of(s->ir, v)->rank != 0)
        return opaque(s, d, CLPI_OPAQUE_CARRIED);
    const clp_val *args = clpi_args(s->ir, step);
    bool is_left = args[0].id == v.id && clpi_const_int(s->ir, args[1], &c);
    bool is_right = step->kind == CLP_OP_add && args[1].id == v.id && clpi_const_int(s->ir, args[0], &c);
    if ((!is_left && !is_right) || c < -INT32_MAX || c > INT32_MAX)
        return opaque(s, d, CLPI_OPAQUE_CARRIED);
    (void)read_value(r, (clp_val){ loop + 1 }, NULL);        /* the index, which bounds the turns */
    const clpi_poly start = read_value(r, clpi_args(s->ir, op)[i + 1], NULL), turn = loop_turn(r, loop);
    const clpi_poly value = clpi_poly_sum(&start, &turn, step->kind == CLP_OP_sub ? -c : c);
    return fits(s, &value, d) ? value : opaque(s, d, CLPI_OPAQUE_WRAPS);
}

static clpi_poly read_load(const reader *r, const clpi_op *op, clp_dtype d, bool is_header)
{
    clpi_symbols *s = r->s;
    const clpi_operand *x = &s->ir->operands[op->operand];
    if (x->role == CLP_SCALAR && s->scalar[op->operand].is_known)
        return s->scalar[op->operand];
    if (!is_header)
        return opaque(s, d, CLPI_OPAQUE_LOADED);
    /* The header has the element as an i64: numbers of 64 bits keep their bits, others their value. */
    return opaque(s, clp_dtype_bits(x->dtype) == 64 ? CLP_I64 : x->dtype, CLPI_OPAQUE_PREFETCHED);
}

static bool comparison_fact(const reader *r, const clpi_op *op, const clpi_poly *coords, bool want, clpi_fact *out);

/* b where a, else c. */
static clpi_poly read_choice(const reader *r, clp_val a, const clpi_poly *b, const clpi_poly *c, clp_dtype d, const clpi_poly *coords)
{
    clpi_symbols *s = r->s;
    if (clpi_poly_equal(b, c))
        return *b;
    const clpi_poly value = opaque(s, d, CLPI_OPAQUE_NOT);
    const clpi_poly *const of[2] = { b, c };
    clpi_disjunction disjunction = { .side[0].n = 0 };
    clpi_fact fact;
    for (int i = 0; i < 2; i++) {
        const clpi_poly rest = clpi_poly_sum(&value, of[i], -1);
        clpi_alternative_add(&disjunction, i, &rest, true);
        if (rest.is_known && comparison_fact(r, clpi_op_at(s->ir, a), coords, i == 0, &fact))
            clpi_alternative_add(&disjunction, i, &fact.poly, fact.is_equal);
    }
    clpi_disjunction_add(s->facts, &disjunction);
    return value;
}

/* What an if hands on, of one arm or the other. */
static clpi_poly read_result(const reader *r, clp_val v)
{
    clpi_symbols *s = r->s;
    const clpi_op *result = clpi_op_at(s->ir, v), *op = clpi_op_at(s->ir, clpi_args(s->ir, result)[0]);
    const clp_dtype d = clpi_type_of(s->ir, v)->dtype;
    if (op->kind != CLP_OP_if)
        return opaque(s, d, CLPI_OPAQUE_CARRIED);
    const clp_val then_value = clpi_args(s->ir, &s->ir->ops.items[op->mid - 1])[result->attr];
    const clp_val else_value = clpi_args(s->ir, &s->ir->ops.items[op->end - 1])[result->attr];
    const clpi_poly b = read_value(r, then_value, NULL), c = read_value(r, else_value, NULL);
    return read_choice(r, clpi_args(s->ir, op)[0], &b, &c, d, NULL);
}

static clpi_poly read_cast(const reader *r, const clpi_op *op, clp_dtype d, const clpi_poly *coords)
{
    clpi_symbols *s = r->s;
    const clp_val from = clpi_args(s->ir, op)[0];
    const clpi_poly zero = clpi_poly_constant(0), one = clpi_poly_constant(1);
    if (clpi_type_of(s->ir, from)->dtype == CLP_BOOL && d != CLP_BOOL)
        return read_choice(r, from, &one, &zero, d, coords);
    if (!clpi_is_int(clpi_type_of(s->ir, from)->dtype) || d == CLP_BOOL)
        return opaque(s, d, CLPI_OPAQUE_OTHER);
    const clpi_poly value = read_value(r, from, coords);
    return fits(s, &value, d) ? value : opaque(s, d, CLPI_OPAQUE_WRAPS);
}

/* Functions of which the range is known: -1 to 1, counts of bits, places along an axis. */
static clpi_poly read_bounded(const reader *r, const clpi_op *op, clp_dtype d)
{
    clpi_symbols *s = r->s;
    const clpi_type *t = clpi_type_of(s->ir, clpi_args(s->ir, op)[0]);
    const clpi_poly value = opaque(s, d, CLPI_OPAQUE_OTHER);
    if (op->kind == CLP_OP_sign)
        clpi_variable_bound(s->facts, &value, clpi_is_signed(d) ? -1 : 0, 1);
    if (op->kind == CLP_OP_popcount || op->kind == CLP_OP_clz)
        clpi_variable_bound(s->facts, &value, 0, clp_dtype_bits(d));
    for (int i = 0; clpi_is_arg(op->kind) && i < t->rank; i++)
        if (op->attr >> i & 1)
            clpi_variable_bound(s->facts, &value, 0, t->shape[i] - 1);
    return value;
}

static clpi_poly read_elementwise(const reader *r, const clpi_op *op, clp_dtype d, const clpi_poly *coords)
{
    clpi_symbols *s = r->s;
    const clp_val *args = clpi_args(s->ir, op);
    if (op->kind == CLP_OP_where && d != CLP_BOOL) {
        const clpi_poly then_value = read_value(r, args[1], coords), else_value = read_value(r, args[2], coords);
        return read_choice(r, args[0], &then_value, &else_value, d, coords);
    }
    if (op->n_args > 2 || d == CLP_BOOL || !clpi_is_int(clpi_type_of(s->ir, args[0])->dtype))
        return opaque(s, d, CLPI_OPAQUE_OTHER);
    const clpi_poly a = read_value(r, args[0], coords), b = op->n_args == 2 ? read_value(r, args[1], coords) : a;
    const clpi_poly value = exact(s, op->kind, d, &a, &b);
    if (!value.is_known)
        return read_bounded(r, op, d);
    return fits(s, &value, d) ? value : opaque(s, d, CLPI_OPAQUE_WRAPS);
}

static clpi_poly read_op(const reader *r, clp_val v, const clpi_poly *coords)
{
    clpi_symbols *s = r->s;
    const clpi_op *op = clpi_op_at(s->ir, v);
    const clp_dtype d = clpi_type_of(s->ir, v)->dtype;
    int64_t c;
    clpi_poly p;
    if (r->depth > MAX_DEPTH || !(clpi_is_int(d) || d == CLP_BOOL))
        return opaque(s, d, CLPI_OPAQUE_OTHER);
    switch (op->kind) {
    case CLP_OP_const:
        p = clpi_const_int(s->ir, v, &c) ? clpi_poly_constant(c) : clpi_poly_unknown;
        return p.is_known ? p : opaque(s, d, CLPI_OPAQUE_OTHER);
    case CLP_OP_dim: return s->dim[op->attr];
    case CLP_OP_num_programs: return s->axis_size[op->attr];
    case CLP_OP_program_id: return r->side->program[op->attr];
    case CLP_OP_iota: return fits(s, &coords[op->attr], d) ? coords[op->attr] : opaque(s, d, CLPI_OPAQUE_WRAPS);
    case CLP_OP_load: return read_load(r, op, d, v.id < s->ir->n_header);
    case CLP_OP_arg:
        if (s->ir->ops.items[s->region[v.id]].kind == CLP_OP_for && op->attr == 0)
            return loop_index(r, s->region[v.id]);
        return loop_carried(r, v);
    case CLP_OP_result: return clpi_type_of(s->ir, v)->rank == 0 ? read_result(r, v) : opaque(s, d, CLPI_OPAQUE_CARRIED);
    case CLP_OP_cast: return read_cast(r, op, d, coords);
    case CLP_OP_argmax:
    case CLP_OP_argmin: return read_bounded(r, op, d);
    default: break;
    }
    if (follow(r, &v, &coords))
        return read_value(r, v, coords);
    return clpi_ops[op->kind].is_elementwise ? read_elementwise(r, op, d, coords) : opaque(s, d, CLPI_OPAQUE_OTHER);
}

/* A tile's element read before at equal coordinates; NULL: none. */
static const clpi_poly *find_element(const clpi_side *side, clp_val v, const clpi_poly *coords, int rank)
{
    for (int i = 0; i < side->n_elements; i++) {
        bool is_it = side->elements[i].v.id == v.id;
        for (int d = 0; is_it && d < rank; d++)
            is_it = clpi_poly_equal(&side->elements[i].coords[d], &coords[d]);
        if (is_it)
            return &side->elements[i].poly;
    }
    return NULL;
}

static clpi_poly read_element(const reader *r, clp_val v, const clpi_poly *coords)
{
    clpi_side *side = r->side;
    const int rank = clpi_type_of(r->s->ir, v)->rank;
    const clpi_poly *known = find_element(side, v, coords, rank);
    if (known)
        return *known;
    if (side->n_elements == CLPI_MAX_ELEMENTS)
        return opaque(r->s, clpi_type_of(r->s->ir, v)->dtype, CLPI_OPAQUE_OTHER);
    const clpi_poly value = read_op(r, v, coords);
    if (side->n_elements < CLPI_MAX_ELEMENTS)
        side->elements[side->n_elements++] = (clpi_element){ v, coords, value };
    return value;
}

/* Values of the launch are shared by its programs. */
static clpi_poly read_scalar(const reader *r, clp_val v)
{
    clpi_symbols *s = r->s;
    bool is_of_launch = v.id < s->ir->n_header && s->plan->axes_read[v.id] == 0;
    const clpi_poly **known = is_of_launch ? &s->launch.value[v.id] : &r->side->value[v.id];
    if (*known)
        return **known;
    const clpi_poly value = read_op(r, v, NULL);
    clpi_poly *kept = is_of_launch && s->is_of_question ? NULL : clpi_arena_take(s->arena, 1, sizeof *kept);
    if (kept) {
        *kept = value;
        *known = kept;
    }
    return value;
}

static clpi_poly read_value(const reader *r, clp_val v, const clpi_poly *coords)
{
    const reader deeper = { r->s, r->side, r->depth + 1 };
    return clpi_type_of(r->s->ir, v)->rank == 0 ? read_scalar(&deeper, v) : read_element(&deeper, v, coords);
}

clpi_poly clpi_value_poly(clpi_symbols *s, clpi_side *side, clp_val v, const clpi_poly *coords)
{
    const reader r = { s, side, 0 };
    return read_value(&r, v, coords);
}

/* ---- Conditions ---- */

/* A comparison as one fact; false: it takes two, or cannot be said. */
static bool comparison_fact(const reader *r, const clpi_op *op, const clpi_poly *coords, bool want, clpi_fact *out)
{
    clpi_symbols *s = r->s;
    const clp_val *args = clpi_args(s->ir, op);
    if (op->n_args != 2 || !clpi_is_int(clpi_type_of(s->ir, args[0])->dtype))
        return false;
    bool is_less = op->kind == CLP_OP_lt || op->kind == CLP_OP_le, is_more = op->kind == CLP_OP_gt || op->kind == CLP_OP_ge;
    bool is_same = (op->kind == CLP_OP_eq && want) || (op->kind == CLP_OP_ne && !want);
    if (!is_less && !is_more && !is_same)
        return false;
    const clpi_poly a = read_value(r, args[0], coords), b = read_value(r, args[1], coords);
    bool is_strict = (op->kind == CLP_OP_lt || op->kind == CLP_OP_gt) == want;
    /* a < b: b - a - 1 >= 0; its opposite: a - b >= 0. */
    const clpi_poly room = is_less == want ? clpi_poly_sum(&b, &a, -1) : clpi_poly_sum(&a, &b, -1);
    *out = (clpi_fact){ is_same || !is_strict ? room : clpi_poly_plus(&room, -1), is_same };
    return out->poly.is_known;
}

/* a != b: less or more. */
static void add_unequal(const reader *r, const clp_val *args, const clpi_poly *coords)
{
    clpi_symbols *s = r->s;
    if (!clpi_is_int(clpi_type_of(s->ir, args[0])->dtype))
        return;
    const clpi_poly a = read_value(r, args[0], coords), b = read_value(r, args[1], coords);
    clpi_poly less = clpi_poly_sum(&b, &a, -1), more = clpi_poly_sum(&a, &b, -1);
    less = clpi_poly_plus(&less, -1);
    more = clpi_poly_plus(&more, -1);
    clpi_disjunction disjunction = { .side[0].n = 0 };
    clpi_alternative_add(&disjunction, 0, &less, false);
    clpi_alternative_add(&disjunction, 1, &more, false);
    clpi_disjunction_add(s->facts, &disjunction);
}

/* a % b == 0: by zero the remainder is a, so that of an a from 1 on b is not 0. */
static void add_divisor(const reader *r, const clp_val *args, const clpi_poly *coords)
{
    clpi_symbols *s = r->s;
    for (int i = 0; i < 2; i++) {
        const clpi_op *remainder = clpi_op_at(s->ir, args[i]);
        int64_t c;
        if ((remainder->kind != CLP_OP_mod && remainder->kind != CLP_OP_rem) || !clpi_const_int(s->ir, args[1 - i], &c) || c != 0)
            continue;
        const clp_val *of = clpi_args(s->ir, remainder);
        const clpi_poly a = read_value(r, of[0], coords), b = read_value(r, of[1], coords), above = clpi_poly_plus(&b, -1);
        if (clpi_poly_is_at_least(s->facts, &a, 1) && clpi_poly_is_at_least(s->facts, &b, 0))
            clpi_fact_add(s->facts, &above, false);
    }
}

static void add_condition(const reader *r, clp_val v, const clpi_poly *coords, bool want)
{
    clpi_symbols *s = r->s;
    const reader deeper = { s, r->side, r->depth + 1 };
    while (follow(&deeper, &v, &coords))
        ;
    const clpi_op *op = clpi_op_at(s->ir, v);
    const clp_val *args = clpi_args(s->ir, op);
    int64_t c;
    clpi_fact fact[2];
    if (r->depth > MAX_DEPTH || ++r->side->n_conditions > MAX_CONDITIONS)
        return;
    if (clpi_const_int(s->ir, v, &c)) {
        const clpi_poly never = clpi_poly_constant(-1);
        if ((c != 0) != want)
            clpi_fact_add(s->facts, &never, false);
        return;
    }
    if (op->kind == CLP_OP_not) {
        add_condition(&deeper, args[0], coords, !want);
    } else if ((op->kind == CLP_OP_and && want) || (op->kind == CLP_OP_or && !want)) {
        add_condition(&deeper, args[0], coords, want);
        add_condition(&deeper, args[1], coords, want);
    } else if (op->kind == CLP_OP_and || op->kind == CLP_OP_or) {
        clpi_disjunction disjunction = { .side[0].n = 0 };
        for (int i = 0; i < 2; i++)
            if (comparison_fact(&deeper, clpi_op_at(s->ir, args[i]), coords, want, &fact[i]))
                clpi_alternative_add(&disjunction, i, &fact[i].poly, fact[i].is_equal);
        clpi_disjunction_add(s->facts, &disjunction);
    } else if (op->kind == (want ? CLP_OP_ne : CLP_OP_eq)) {
        add_unequal(&deeper, args, coords);
    } else {
        if (op->kind == (want ? CLP_OP_eq : CLP_OP_ne))
            add_divisor(&deeper, args, coords);
        if (comparison_fact(&deeper, op, coords, want, &fact[0]))
            clpi_fact_add(s->facts, &fact[0].poly, fact[0].is_equal);
    }
}

void clpi_condition_add(clpi_symbols *s, clpi_side *side, clp_val v, const clpi_poly *coords, bool want)
{
    const reader r = { s, side, 0 };
    add_condition(&r, v, coords, want);
}

void clpi_path_add(clpi_symbols *s, clpi_side *side, uint32_t op)
{
    const reader r = { s, side, 0 };
    for (uint32_t id = s->region[op], inside = op; id; inside = id, id = s->region[id]) {
        const clpi_op *region = &s->ir->ops.items[id];
        if (region->kind == CLP_OP_for)
            (void)read_value(&r, (clp_val){ id + 1 }, NULL);     /* its index, which brings its bounds */
        else if (region->kind == CLP_OP_if)
            add_condition(&r, clpi_args(s->ir, region)[0], NULL, inside < region->mid);
    }
}
