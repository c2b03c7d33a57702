/* values: arithmetic that goes wrong in one element.
 * In: the ops of one watched run, with the elements of what they take and make. Out: findings, one for each op: where NaN or
 * infinity is made of finite values, where integers wrap, where something is divided by zero.
 *
 * Decides what an element is made of: the elements of the operands in its place; of a reduction, a running sum or a dot all
 * that it adds up. So a NaN that comes from a pad, an array or an earlier op is not reported again. A sum of integers wraps
 * when its true value does not fit: what its parts do on the way is nobody's to see. Casts are asked for and do not wrap.
 * What integers outside the arrays come to is nobody's to see either, unless the kernel has a pad for them: there is no NaN to mark
 * them, so what goes wrong has to go wrong whatever they are, which is tried. Elements that a `where` or a mask throws away later count as
 * any other.                                                                                                            */
#include <math.h>
#include <string.h>

#include "check/tally.h"
#include "ir/format.h"

typedef struct values {
    clpi_check *check;
    clpi_tally  tally;
    uint64_t    n_steps, most_steps;  /* ops that were looked at, at each turn of a loop again; a run that goes beyond most_steps is ended */
} values;

/* The elements of one value, in held form. */
typedef struct tile { clp_dtype dtype; const clpi_type *type; const void *data; int64_t n; } tile;

typedef struct evaluated {
    const clpi_op *op;
    uint32_t       at;                /* of the op */
    int            n_args;            /* those that count: values, not subscripts or masks */
    tile           out, arg[3];
    bool           is_float, multiplies;
} evaluated;

/* A whole number of 192 bits, two's complement, low word first: a tile's worth of products of 64-bit numbers adds up in it. */
typedef struct whole { uint64_t word[3]; } whole;

/* What one element of a result is made of. */
typedef struct total {
    bool     has_non_finite;
    whole    sum;
    uint64_t product;                 /* its magnitude */
    bool     is_negative, has_zero, is_over;      /* is_over: without a zero it fits no dtype, whatever follows */
} total;

/* ---- Elements ---- */

static clpi_elem int_at(const tile *t, int64_t i)
{
    switch (t->dtype) {
    case CLP_BOOL:
    case CLP_U8: return (clpi_elem){ .u = ((const uint8_t *)t->data)[i] };
    case CLP_I8: return (clpi_elem){ .i = ((const int8_t *)t->data)[i] };
    case CLP_U16: return (clpi_elem){ .u = ((const uint16_t *)t->data)[i] };
    case CLP_I16: return (clpi_elem){ .i = ((const int16_t *)t->data)[i] };
    case CLP_U32: return (clpi_elem){ .u = ((const uint32_t *)t->data)[i] };
    case CLP_I32: return (clpi_elem){ .i = ((const int32_t *)t->data)[i] };
    default: return (clpi_elem){ .u = ((const uint64_t *)t->data)[i] };
    }
}

static clpi_elem elem_at(const tile *t, int64_t i)
{
    if (!clpi_is_float(t->dtype))
        return int_at(t, i);
    const double x = clpi_held_number(t->dtype, t->data, i);
    return t->dtype == CLP_F64 ? (clpi_elem){ .d = x } : (clpi_elem){ .f = (float)x };
}

static bool is_finite(const tile *t, int64_t i)
{
    return !clpi_is_float(t->dtype) || isfinite(clpi_held_number(t->dtype, t->data, i));
}

/* ---- Integers that do not fit ---- */

static bool add_wraps(clp_dtype d, clpi_elem a, clpi_elem b)
{
    int64_t least = clpi_int_min(d), most = (int64_t)clpi_int_max(d);
    if (!clpi_is_signed(d))
        return b.u > clpi_int_max(d) - a.u;
    return b.i >= 0 ? a.i > most - b.i : a.i < least - b.i;
}

static bool sub_wraps(clp_dtype d, clpi_elem a, clpi_elem b)
{
    int64_t least = clpi_int_min(d), most = (int64_t)clpi_int_max(d);
    if (!clpi_is_signed(d))
        return a.u < b.u;
    return b.i >= 0 ? a.i < least + b.i : a.i > most + b.i;
}

static bool mul_wraps(clp_dtype d, clpi_elem a, clpi_elem b)
{
    int64_t least = clpi_int_min(d), most = (int64_t)clpi_int_max(d);
    if (a.u == 0 || b.u == 0)
        return false;
    if (!clpi_is_signed(d))
        return b.u > clpi_int_max(d) / a.u;
    if (a.i > 0)
        return b.i > 0 ? a.i > most / b.i : b.i < least / a.i;
    return b.i > 0 ? a.i < least / b.i : b.i < most / a.i;
}

/* Bits that count are lost; from the width on all of them. */
static bool shl_wraps(clp_dtype d, clpi_elem a, clpi_elem by)
{
    int64_t least = clpi_int_min(d);
    uint64_t most = clpi_int_max(d);
    if (by.u >= (uint64_t)clp_dtype_bits(d))       /* negative amounts too */
        return a.u != 0;
    if (!clpi_is_signed(d))
        return a.u > most >> by.u;
    return a.i >= 0 ? a.u > most >> by.u : a.i < least >> by.u;
}

static bool wraps(const evaluated *e, int64_t i)
{
    clp_dtype d = e->arg[0].dtype;
    clpi_elem a = int_at(&e->arg[0], i), b = e->n_args > 1 ? int_at(&e->arg[1], i) : (clpi_elem){ 0 };
    bool is_least = clpi_is_signed(d) && a.i == clpi_int_min(d);
    switch (e->op->kind) {
    case CLP_OP_add: return add_wraps(d, a, b);
    case CLP_OP_sub: return sub_wraps(d, a, b);
    case CLP_OP_mul: return mul_wraps(d, a, b);
    case CLP_OP_neg: return clpi_is_signed(d) ? is_least : a.u != 0;
    case CLP_OP_abs: return is_least;
    case CLP_OP_divide:
    case CLP_OP_div: return is_least && b.i == -1;
    case CLP_OP_shl: return shl_wraps(d, a, b);
    case CLP_OP_atomic_add: return add_wraps(d, int_at(&e->out, i), a);      /* the result is the old value */
    default: return false;
    }
}

/* ---- Whole numbers ---- */

static whole whole_of(clp_dtype d, clpi_elem e)
{
    const uint64_t rest = clpi_is_signed(d) && e.i < 0 ? UINT64_MAX : 0;
    return (whole){ { e.u, rest, rest } };
}

static whole whole_add(whole a, whole b)
{
    bool carry = false;
    for (int i = 0; i < 3; i++) {
        const uint64_t sum = a.word[i] + b.word[i], all = sum + carry;
        carry = sum < a.word[i] || all < sum;
        a.word[i] = all;
    }
    return a;
}

static whole whole_negate(whole a)
{
    return whole_add((whole){ { ~a.word[0], ~a.word[1], ~a.word[2] } }, (whole){ { 1 } });
}

/* From products of halves. */
static whole whole_multiply(uint64_t a, uint64_t b)
{
    const uint64_t a_low = a & UINT32_MAX, a_high = a >> 32, b_low = b & UINT32_MAX, b_high = b >> 32;
    const uint64_t middle = a_high * b_low + (a_low * b_low >> 32), other = a_low * b_high + (middle & UINT32_MAX);
    return (whole){ { a * b, a_high * b_high + (middle >> 32) + (other >> 32) } };
}

static uint64_t magnitude(clp_dtype d, clpi_elem e, bool *negates)
{
    if (!clpi_is_signed(d) || e.i >= 0)
        return e.u;
    *negates = !*negates;
    return 0 - e.u;
}

/* ---- Sums ---- */

static void total_init(total *t)
{
    *t = (total){ .product = 1 };
}

/* One more part: element i of the first operand, times element j of the second where there is one. */
static void total_take(const evaluated *e, total *t, int64_t i, int64_t j)
{
    const tile *x = &e->arg[0], *y = e->n_args > 1 ? &e->arg[1] : NULL;
    bool is_negative = false;
    if (e->is_float) {
        t->has_non_finite |= !is_finite(x, i) || (y && !is_finite(y, j));
        return;
    }
    const uint64_t v = magnitude(x->dtype, int_at(x, i), &is_negative);
    if (e->multiplies) {
        t->has_zero |= v == 0;
        t->is_over |= __builtin_mul_overflow(t->product, v, &t->product);
        t->is_negative ^= is_negative;
        return;
    }
    const whole part = whole_multiply(v, y ? magnitude(y->dtype, int_at(y, j), &is_negative) : 1);
    t->sum = whole_add(t->sum, is_negative ? whole_negate(part) : part);
}

static bool total_is_wrong(const evaluated *e, const total *t, int64_t lane)
{
    if (e->is_float)
        return !t->has_non_finite && !is_finite(&e->out, lane);
    if (e->multiplies && (t->has_zero || t->is_over))
        return !t->has_zero;
    const whole product = { { t->product } }, out = whole_of(e->out.dtype, int_at(&e->out, lane));
    const whole value = !e->multiplies ? t->sum : t->is_negative ? whole_negate(product) : product;
    return memcmp(&value, &out, sizeof out) != 0;
}

static void reduce(const evaluated *e, total *totals, bool *is_wrong)
{
    clpi_lanes lanes;
    clpi_lanes_init(&lanes, e->arg[0].type, e->op->attr);
    for (int64_t i = 0; i < e->arg[0].n; i++, clpi_lanes_next(&lanes))
        total_take(e, &totals[lanes.lane], i, 0);
    for (int64_t i = 0; i < e->out.n; i++)
        is_wrong[i] = total_is_wrong(e, &totals[i], i);
}

static void scan(const evaluated *e, bool *is_wrong)
{
    const clpi_type *t = e->out.type;
    int axis = (int)(e->op->attr / 2);
    int64_t n = t->shape[axis], step = 1;
    for (int d = axis + 1; d < t->rank; d++)
        step *= t->shape[d];
    for (int64_t line = 0; n > 0 && line < e->out.n / n; line++) {
        int64_t first = line / step * step * n + line % step;
        total sum;
        total_init(&sum);
        for (int64_t k = 0; k < n; k++) {
            int64_t lane = first + (e->op->attr & 1 ? n - 1 - k : k) * step;
            total_take(e, &sum, lane, 0);
            is_wrong[lane] = total_is_wrong(e, &sum, lane);
        }
    }
}

static void dot(const evaluated *e, bool *is_wrong)
{
    const clpi_type *x = e->arg[0].type, *y = e->arg[1].type;
    int64_t m = x->shape[x->rank - 2], n_k = x->shape[x->rank - 1], n = y->shape[y->rank - 1];
    for (int64_t lane = 0; lane < e->out.n; lane++) {
        int64_t batch = lane / (m * n), i = lane / n % m, j = lane % n;
        total sum;
        total_init(&sum);
        for (int64_t k = 0; k < n_k; k++)
            total_take(e, &sum, (batch * m + i) * n_k + k, (batch * n_k + k) * n + j);
        is_wrong[lane] = total_is_wrong(e, &sum, lane);
    }
}

/* ---- One op ---- */

static bool is_sum(clpi_op_kind kind)
{
    return kind == CLP_OP_sum || kind == CLP_OP_prod || kind == CLP_OP_cumsum || kind == CLP_OP_cumprod || kind == CLP_OP_dot;
}

/* false: an op that only moves, chooses or compares, or one without elements. */
static bool look_at(const values *v, uint32_t at, clpi_value_fn *value, const void *run, evaluated *out)
{
    const clpi_ir *ir = v->check->ir;
    const clpi_op *op = &ir->ops.items[at];
    *out = (evaluated){ .op = op, .at = at };
    clp_val args[3] = { { 0 } };
    if (op->kind == CLP_OP_atomic_add)
        args[out->n_args++] = clpi_op_value(ir, op, 0);
    else if (clpi_ops[op->kind].is_elementwise || op->kind == CLP_OP_cast || is_sum(op->kind))
        for (uint32_t i = 0; i < op->n_args; i++)
            args[out->n_args++] = clpi_args(ir, op)[i];
    for (int i = -1; i < out->n_args; i++) {
        clp_val val = i < 0 ? (clp_val){ at } : args[i];
        const clpi_type *t = clpi_type_of(ir, val);
        *(i < 0 ? &out->out : &out->arg[i]) = (tile){ t->dtype, t, NULL, clpi_type_elems(t) };
    }
    out->is_float = clpi_is_float(out->out.dtype);
    out->multiplies = op->kind == CLP_OP_prod || op->kind == CLP_OP_cumprod;
    if (out->n_args == 0 || out->out.n == 0 || (op->kind == CLP_OP_atomic_add && out->arg[0].n != out->out.n))
        return false;
    out->out.data = value(run, (clp_val){ at });
    for (int i = 0; i < out->n_args; i++)
        out->arg[i].data = value(run, args[i]);
    return true;
}

/* Sets is_wrong of each element of the result. */
static bool find_sums(const evaluated *e, clpi_arena *scrap, bool *is_wrong)
{
    if (e->op->kind == CLP_OP_dot) {
        dot(e, is_wrong);
    } else if (e->op->kind == CLP_OP_cumsum || e->op->kind == CLP_OP_cumprod) {
        scan(e, is_wrong);
    } else {
        total *totals = CLPI_NEW_N(scrap, total, (size_t)e->out.n);
        for (int64_t i = 0; totals && i < e->out.n; i++)
            total_init(&totals[i]);
        if (!totals)
            return false;
        reduce(e, totals, is_wrong);
    }
    return true;
}

/* "`/` of 1.0 and 0.0 gives inf" */
static void say(values *v, clpi_found *found, const evaluated *e, int64_t lane, const char *gives)
{
    clpi_str s;
    bool is_by_element = !is_sum(e->op->kind) && e->op->kind != CLP_OP_atomic_add;
    clpi_str_init(&s, v->check->env);
    clpi_tally_place(&v->tally, found, &s);
    clpi_str_add(&s, "`%s` of ", clpi_op_words(e->op->kind));
    for (int i = 0; i < e->n_args && is_by_element; i++) {
        clpi_str_puts(&s, i == 0 ? "" : i == e->n_args - 1 ? " and " : ", ");
        clpi_format_elem(e->arg[i].dtype, elem_at(&e->arg[i], lane), &s);
    }
    if (!is_by_element)
        clpi_str_puts(&s, e->is_float ? "finite values" : clp_dtype_name(e->arg[0].dtype));
    if (gives) {
        clpi_str_add(&s, " %s ", gives);
        clpi_format_elem(e->out.dtype, elem_at(&e->out, lane), &s);
    }
    if (!e->is_float)
        clpi_str_add(&s, " in %s", clp_dtype_name(e->out.dtype));
    clpi_tally_say(&v->tally, found, &s);
}

/* is_wrong: [out.n] */
static void add(values *v, clp_finding_kind kind, const evaluated *e, const bool *is_wrong, const char *gives)
{
    for (int64_t i = 0; i < e->out.n; i++) {
        if (!is_wrong[i])
            continue;
        bool is_new;
        clpi_found *found = clpi_tally_find(&v->tally, kind, e->at, -1, &is_new);
        if (!found)
            return;
        found->n_elements++;
        if (is_new)
            say(v, found, e, i, gives);
    }
}

/* ---- The three checkers ---- */

static clp_status values_open(clpi_check *check, void **out_state)
{
    values *v = CLPI_NEW(&check->snapshot.arena, values);
    *out_state = v;
    if (!v)
        return CLP_ERR_OOM;
    v->check = check;
    clpi_tally_init(&v->tally, check);
    return CLP_OK;
}

static void values_enter(void *state, uint64_t sequence, uint64_t step, const int64_t *program)
{
    (void)sequence, (void)step;
    clpi_tally_enter(&((values *)state)->tally, program);
}

static clp_status values_close(void *state)
{
    return clpi_tally_report(&((values *)state)->tally);
}

static bool makes_non_finite(const evaluated *e, int64_t i)
{
    bool all_finite = !is_finite(&e->out, i);
    for (int k = 0; k < e->n_args && all_finite; k++)
        all_finite = is_finite(&e->arg[k], i);
    return all_finite;
}

/* A function for each element, or sums; the elements at which the op goes wrong become findings. */
static void find(values *v, clp_finding_kind kind, const evaluated *e, bool (*is_wrong_at)(const evaluated *, int64_t), const char *gives)
{
    clpi_arena scrap;
    clpi_arena_init(&scrap, v->check->env);
    bool *is_wrong = CLPI_NEW_N(&scrap, bool, (size_t)e->out.n);
    bool is_ok = is_wrong != NULL;
    if (is_ok && is_sum(e->op->kind))
        is_ok = find_sums(e, &scrap, is_wrong);
    for (int64_t i = 0; is_ok && i < e->out.n && !is_sum(e->op->kind); i++)
        is_wrong[i] = is_wrong_at(e, i);
    if (is_ok)
        add(v, kind, e, is_wrong, gives);
    v->tally.failed |= !is_ok;
    clpi_arena_done(&scrap);
}

static bool some(const evaluated *e, bool (*holds)(const evaluated *, int64_t))
{
    for (int64_t i = 0; i < e->out.n; i++)
        if (holds(e, i))
            return true;
    return false;
}

static bool is_out_non_finite(const evaluated *e, int64_t i)
{
    return !is_finite(&e->out, i);
}

static void non_finite_step(void *state, uint32_t op, clpi_value_fn *value, const void *run)
{
    values *v = state;
    evaluated e;
    if (!clpi_is_float(clpi_type_of(v->check->ir, (clp_val){ op })->dtype) || !look_at(v, op, value, run, &e))
        return;
    if (some(&e, is_out_non_finite))
        find(v, CLP_FINDING_NON_FINITE, &e, makes_non_finite, "gives");
}

static void overflow_step(void *state, uint32_t op, clpi_value_fn *value, const void *run)
{
    values *v = state;
    evaluated e;
    v->n_steps++;
    if (!clpi_is_int(clpi_type_of(v->check->ir, (clp_val){ op })->dtype) || !look_at(v, op, value, run, &e) ||
        e.op->kind == CLP_OP_cast)
        return;
    if (is_sum(e.op->kind) || some(&e, wraps))
        find(v, CLP_FINDING_OVERFLOW, &e, wraps, e.op->kind == CLP_OP_atomic_add ? NULL : "wraps to");
}

static bool divides_by_zero(const evaluated *e, int64_t i)
{
    return int_at(&e->arg[1], i).u == 0;
}

static void division_step(void *state, uint32_t op, clpi_value_fn *value, const void *run)
{
    values *v = state;
    evaluated e;
    clpi_op_kind kind = v->check->ir->ops.items[op].kind;
    v->n_steps++;
    if ((kind != CLP_OP_divide && kind != CLP_OP_mod && kind != CLP_OP_div && kind != CLP_OP_rem) ||
        !clpi_is_int(clpi_type_of(v->check->ir, (clp_val){ op })->dtype) || !look_at(v, op, value, run, &e))
        return;
    if (some(&e, divides_by_zero))
        find(v, CLP_FINDING_DIVISION_BY_ZERO, &e, divides_by_zero, NULL);
}

static bool is_too_long(void *state)
{
    values *v = state;
    return ++v->n_steps > v->most_steps;
}

/* Keeps of what was found what is found with another pad too, of both the one that has fewer elements: those of the arrays.
 * A `while` that hangs on what is loaded may never end with that pad. Then it takes back nothing: what comes later was not seen. */
static clp_status confirm(values *v, uint64_t pad, void (*step)(void *, uint32_t, clpi_value_fn *, const void *))
{
    enum { TIMES_LONGER = 10, FEW_STEPS = 10000 };
    values other = { .check = v->check, .most_steps = FEW_STEPS + TIMES_LONGER * v->n_steps };
    const clpi_watch watch = { .user = &other, .enter = values_enter, .step = step, .fault = clpi_go_on, .stops = is_too_long };
    uint32_t n = 0;
    clpi_tally_init(&other.tally, v->check);
    CLP_TRY(clpi_snapshot_run_padded(v->check, pad, &watch));
    v->tally.failed |= other.tally.failed;
    if (other.n_steps > other.most_steps)
        return CLP_OK;
    for (uint32_t i = 0; i < v->tally.found.n; i++)
        for (uint32_t k = 0; k < other.tally.found.n; k++) {
            const clpi_found *found = &v->tally.found.items[i], *again = &other.tally.found.items[k];
            if (again->op[0] == found->op[0])
                v->tally.found.items[n++] = again->n_elements < found->n_elements ? *again : *found;
        }
    v->tally.found.n = n;
    return CLP_OK;
}

static clp_status integers_close(values *v, void (*step)(void *, uint32_t, clpi_value_fn *, const void *))
{
    static const uint64_t pads[] = { 0, 3 };       /* beside the default, which is at one end of the dtype */
    for (size_t i = 0; i < sizeof pads / sizeof *pads && v->tally.found.n > 0; i++)
        CLP_TRY(confirm(v, pads[i], step));
    return clpi_tally_report(&v->tally);
}

static clp_status overflow_close(void *state)
{
    return integers_close(state, overflow_step);
}

static clp_status division_close(void *state)
{
    return integers_close(state, division_step);
}

const clpi_checker clpi_check_non_finite = {
    .bit = CLP_CHECK_NON_FINITE, .open = values_open, .enter = values_enter, .step = non_finite_step, .close = values_close,
};
const clpi_checker clpi_check_overflow = {
    .bit = CLP_CHECK_OVERFLOW, .open = values_open, .enter = values_enter, .step = overflow_step, .close = overflow_close,
};
const clpi_checker clpi_check_division = {
    .bit = CLP_CHECK_DIVISION, .open = values_open, .enter = values_enter, .step = division_step, .close = division_close,
};
