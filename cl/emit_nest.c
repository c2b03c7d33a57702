/* emit_nest: the loops of a nest and what they leave behind.
 *
 * In: a nest and its mapping. Out: loops in the mapping's order, kept dimensions outside, reduced or scanned ones inside with
 * their accumulators around them. vector: the vector dimension in steps of its width, then what is left over in narrower
 * pieces, so that no lane is wasted and none is out. simt: the kept domain dealt out, or one reduction done jointly.       */
#include "cl/emit.h"

#include <string.h>

static void emit_level(clpi_emit *e, int at);

/* ---- Outs ---- */

/* Of what the access gives, or takes. */
static clp_dtype loaded_dtype(const clpi_emit *e, int access)
{
    const clpi_access *a = &e->nest->accesses.items[access];
    return clpi_loaded(a->is_tile ? e->p->tiles.items[a->target].dtype : e->ir->operands[a->target].dtype);
}

static bool is_arg(clpi_op_kind op)
{
    return op == CLP_OP_argmax || op == CLP_OP_argmin;
}

static clpi_op_kind combining(clpi_op_kind op)
{
    return op == CLP_OP_cumsum ? CLP_OP_sum : op == CLP_OP_cumprod ? CLP_OP_prod : op == CLP_OP_cummax ? CLP_OP_max :
           op == CLP_OP_cummin ? CLP_OP_min : op;
}

static bool out_varies(const clpi_emit *e, const clpi_out *out)
{
    return e->map->vector_dim >= 0 && (clpi_depends_on(e->nest, out->value, e->map->vector_dim) ||
                                       clpi_access_varies(e->nest, &e->nest->accesses.items[out->access], e->map->vector_dim));
}

/* dtype of a reduction's operand: argmax compares in it, others accumulate in out->dtype. */
static clp_dtype accumulator(const clpi_emit *e, const clpi_out *out)
{
    return is_arg(out->op) ? e->nest->nodes.items[out->value].dtype : out->dtype;
}

static const char *accumulator_type(const clpi_emit *e, const clpi_out *out, int width)
{
    clp_dtype d = accumulator(e, out);
    return d == CLP_BOOL && width > 1 ? clpi_cl_mask_type(32, width) : clpi_cl_type(d, width);
}

static const char *identity_text(clpi_emit *e, const clpi_out *out, int width)
{
    clpi_str s, v;
    clpi_str_init(&s, e->arena->env);
    clp_dtype d = accumulator(e, out);
    clpi_cl_identity(&s, is_arg(out->op) ? (out->op == CLP_OP_argmax ? CLP_OP_max : CLP_OP_min) : combining(out->op), d);
    if (width == 1)
        return clpi_take_text(e, &s);
    clpi_str_init(&v, e->arena->env);
    if (d == CLP_BOOL)
        clpi_prelude_mask(&e->prelude, &v, 32, 0, width, s.text);
    else
        clpi_prelude_splat(&e->prelude, &v, d, width, s.text);
    clpi_str_done(&s);
    return clpi_take_text(e, &v);
}

static const char *combine_text(clpi_emit *e, const clpi_out *out, int width, const char *a, const char *b)
{
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    clpi_prelude_combine(&e->prelude, &s, combining(out->op), out->dtype, width, a, b);
    return clpi_take_text(e, &s);
}

static const char *cast_text(clpi_emit *e, clp_dtype to, clp_dtype from, int width, const char *text)
{
    if (to == from)
        return text;
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    clpi_prelude_cast(&e->prelude, &s, to, from, width, 32, text);
    return clpi_take_text(e, &s);
}

/* The linear position along the reduced dimensions: what argmax gives. */
static const char *position_text(clpi_emit *e, const clpi_out *out)
{
    for (int d = 0; d < e->nest->rank; d++)
        if (out->reduced >> d & 1)
            return clpi_text(e, "d%d", d);
    return "0";
}

/* Vector lanes that are all reduced: a vector accumulator r, and a scalar one q for narrower pieces and the end. */
static bool reduces_lanes(const clpi_emit *e, const clpi_out *out)
{
    return out->kind == CLPI_OUT_REDUCE && e->map->vector_dim >= 0 && (out->reduced >> e->map->vector_dim & 1);
}

static bool accumulates(const clpi_out *out)
{
    return out->kind == CLPI_OUT_REDUCE || out->kind == CLPI_OUT_SCAN;
}

static const char *chain_name(clpi_emit *e, uint32_t o, int chain)
{
    return chain == 0 ? clpi_text(e, "r%u", o) : clpi_text(e, "r%u_%d", o, chain);
}

static void declare_accumulators(clpi_emit *e)
{
    for (uint32_t o = 0; o < e->nest->outs.n; o++) {
        const clpi_out *out = &e->nest->outs.items[o];
        if (!accumulates(out))
            continue;
        if (reduces_lanes(e, out)) {
            for (int chain = 0; chain < e->map->chains; chain++)
                clpi_line(e, "%s %s = %s;", accumulator_type(e, out, e->map->width), chain_name(e, o, chain),
                          identity_text(e, out, e->map->width));
            clpi_line(e, "%s q%u = %s;", accumulator_type(e, out, 1), o, identity_text(e, out, 1));
        } else {
            clpi_line(e, "%s r%u = %s;", accumulator_type(e, out, e->width), o, identity_text(e, out, e->width));
        }
        if (is_arg(out->op))
            clpi_line(e, "int p%u = 0x7fffffff;", o);
    }
}

static void emit_arg_update(clpi_emit *e, const clpi_out *out, uint32_t o)
{
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    const char *value = clpi_value_text(e, out->value, 1, 0), *at = position_text(e, out);
    clpi_prelude_prefers(&e->prelude, &s, out->op, accumulator(e, out), 1, clpi_text(e, "r%u", o),
                         clpi_text(e, "p%u", o), value, at);
    clpi_open(e, "if (%s)", clpi_take_text(e, &s));
    clpi_line(e, "r%u = %s;", o, value);
    clpi_line(e, "p%u = %s;", o, at);
    clpi_close(e);
}

static void emit_reduce_update(clpi_emit *e, const clpi_out *out, uint32_t o)
{
    if (is_arg(out->op)) {
        emit_arg_update(e, out, o);
        return;
    }
    const char *value = clpi_value_text(e, out->value, e->width, 32);
    if (!reduces_lanes(e, out) || e->width == e->map->width) {
        const char *r = chain_name(e, o, e->chain);
        clpi_line(e, "%s = %s;", r, combine_text(e, out, e->width, r, value));
        return;
    }
    if (e->width > 1) {           /* a narrower piece goes to the scalar accumulator */
        clpi_str s;
        clpi_str_init(&s, e->arena->env);
        clpi_prelude_reduce(&e->prelude, &s, combining(out->op), out->dtype, e->width, value);
        value = clpi_take_text(e, &s);
    }
    clpi_line(e, "q%u = %s;", o, combine_text(e, out, 1, clpi_text(e, "q%u", o), value));
}

static void emit_scan_update(clpi_emit *e, const clpi_out *out, uint32_t o)
{
    const char *r = clpi_text(e, "r%u", o);
    clpi_line(e, "%s = %s;", r, combine_text(e, out, e->width, r, clpi_value_text(e, out->value, e->width, 32)));
    clp_dtype to = loaded_dtype(e, out->access);
    clpi_emit_store(e, out->access, to, cast_text(e, to, out->dtype, e->width, r), e->width, 32);
}

static void emit_atomic(clpi_emit *e, const clpi_out *out)
{
    const clpi_access *a = &e->nest->accesses.items[out->access];
    const char *inside = clpi_inside_text(e, a), *values[2] = { clpi_value_text(e, out->value, 1, 0), NULL };
    clpi_home home = a->is_tile ? e->s->tiles[a->target].home : CLPI_HOME_WORKSPACE;
    clpi_space space = home == CLPI_HOME_WORKSPACE ? CLPI_SPACE_GLOBAL
                       : home == CLPI_HOME_LOCAL   ? CLPI_SPACE_LOCAL
                                                   : CLPI_SPACE_PRIVATE;
    if (out->value2 >= 0)
        values[1] = clpi_value_text(e, out->value2, 1, 0);
    const char *mask = a->mask >= 0 ? clpi_value_text(e, a->mask, 1, 0) : NULL;
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    clpi_prelude_atomic(&e->prelude, &s, out->op, out->dtype, space, clpi_text(e, "&%s", clpi_place_text(e, a)), values);
    const char *call = clpi_take_text(e, &s);
    if (out->old >= 0) {
        if (inside)               /* lost ones give the pad, masked ones 0 */
            call = clpi_text(e, "%s ? %s : %s", inside, call, clpi_pad_text(e, a));
        if (mask)
            call = clpi_text(e, "%s ? (%s) : 0", mask, call);
        clpi_emit_store(e, out->old, out->dtype, call, 1, 0);
        return;
    }
    if (mask || inside)
        clpi_line(e, mask && inside ? "if (%s && %s)" : "if (%s)", mask ? mask : inside, inside);
    clpi_line(e, mask || inside ? "    %s;" : "%s;", call);
}

static bool is_register_store(const clpi_emit *e, const clpi_out *out)
{
    const clpi_access *a = &e->nest->accesses.items[out->access];
    return a->is_tile && e->s->tiles[a->target].home == CLPI_HOME_REGISTER;
}

/* At one point of the whole domain. */
static void emit_outs(clpi_emit *e)
{
    for (uint32_t o = 0; o < e->nest->outs.n; o++) {
        const clpi_out *out = &e->nest->outs.items[o];
        if (out->kind == CLPI_OUT_REDUCE)
            emit_reduce_update(e, out, o);
        else if (out->kind == CLPI_OUT_SCAN)
            emit_scan_update(e, out, o);
        else if (out->kind == CLPI_OUT_ATOMIC)
            emit_atomic(e, out);
        else {
            bool one_item = clpi_is_simt(e) && e->map->is_single && !e->map->is_alone && !e->map->is_broadcast &&
                            !is_register_store(e, out);
            int width = out_varies(e, out) ? e->width : 1;
            int bits = e->values[out->value].mask_bits ? e->values[out->value].mask_bits : 8;
            if (one_item)
                clpi_open(e, "if (lid == 0)");
            clpi_emit_store(e, out->access, loaded_dtype(e, out->access), clpi_value_text(e, out->value, width, bits),
                            width, bits);
            if (one_item)
                clpi_close(e);
        }
    }
}

/* After the reduced loops: the results go where they belong. */
static void store_reductions(clpi_emit *e)
{
    for (uint32_t o = 0; o < e->nest->outs.n; o++) {
        const clpi_out *out = &e->nest->outs.items[o];
        if (out->kind != CLPI_OUT_REDUCE)
            continue;
        clp_dtype to = loaded_dtype(e, out->access);
        const char *r = clpi_text(e, is_arg(out->op) ? "p%u" : "r%u", o);
        int width = reduces_lanes(e, out) ? 1 : e->width;
        if (reduces_lanes(e, out)) {
            for (int chain = 1; chain < e->map->chains; chain++)
                clpi_line(e, "%s = %s;", r, combine_text(e, out, e->map->width, r, chain_name(e, o, chain)));
            clpi_str s;
            clpi_str_init(&s, e->arena->env);
            clpi_prelude_reduce(&e->prelude, &s, combining(out->op), out->dtype, e->map->width, r);
            clpi_line(e, "q%u = %s;", o, combine_text(e, out, 1, clpi_text(e, "q%u", o), clpi_take_text(e, &s)));
            r = clpi_text(e, "q%u", o);
        }
        if (!is_arg(out->op))
            r = cast_text(e, to, out->dtype, width, r);
        bool one_item = e->map->is_joint && !is_register_store(e, out);
        if (one_item)
            clpi_open(e, "if (lid == 0)");
        clpi_emit_store(e, out->access, to, r, width, 32);
        if (one_item)
            clpi_close(e);
    }
}

/* ---- Loops ---- */

static bool scans_backwards(const clpi_emit *e, int dim)
{
    for (uint32_t o = 0; o < e->nest->outs.n; o++)
        if (e->nest->outs.items[o].kind == CLPI_OUT_SCAN && e->nest->outs.items[o].is_reverse &&
            (e->nest->outs.items[o].reduced >> dim & 1))
            return true;
    return false;
}

static void emit_body(clpi_emit *e, int at)
{
    clpi_emit_nodes(e, at);
    emit_level(e, at + 1);
    clpi_forget_from(e, at);
}

static void emit_plain_loop(clpi_emit *e, int at, int dim)
{
    long long n = (long long)e->nest->extent[dim];
    if (scans_backwards(e, dim))
        clpi_open(e, "for (int d%d = %lld; d%d >= 0; d%d--)", dim, n - 1, dim, dim);
    else
        clpi_open(e, "for (int d%d = 0; d%d < %lld; d%d++)", dim, dim, n, dim);
    emit_body(e, at);
    clpi_close(e);
}

/* As many of dimension dim as whole vectors hold, one after another; each of several chains takes the next. */
static void emit_whole_vectors(clpi_emit *e, int at, int dim, int64_t n)
{
    int chains = e->map->chains;
    if (chains == 1) {
        clpi_open(e, "for (int d%d = 0; d%d < %lld; d%d += %d)", dim, dim, (long long)n, dim, e->width);
        emit_body(e, at);
        clpi_close(e);
        return;
    }
    clpi_open(e, "for (int c%d = 0; c%d < %lld; c%d += %d)", dim, dim, (long long)n, dim, chains * e->width);
    for (e->chain = 0; e->chain < chains; e->chain++) {
        clpi_open(e, "%s", "");
        clpi_line(e, "const int d%d = c%d + %d;", dim, dim, e->chain * e->width);
        emit_body(e, at);
        clpi_close(e);
    }
    e->chain = 0;
    clpi_close(e);
}

static void emit_vector_loop(clpi_emit *e, int at, int dim)
{
    int64_t n = e->nest->extent[dim], done = n - n % e->map->width;
    e->width = e->map->width;
    if (done > e->width) {
        emit_whole_vectors(e, at, dim, done);
    } else {
        done = 0;
    }
    for (int width = e->map->width; width >= 1;) {
        if (n - done < width) {
            width /= 2;
            continue;
        }
        e->width = width;
        clpi_open(e, "%s", "");
        clpi_line(e, "const int d%d = %lld;", dim, (long long)done);
        emit_body(e, at);
        clpi_close(e);
        done += width;
    }
    e->width = 1;
}

/* `item`, dealt out, as the coordinates order[from .. to). */
void clpi_emit_coordinates(clpi_emit *e, int from, int to)
{
    int64_t below = 1;
    for (int i = to - 1; i >= from; i--) {
        int dim = e->map->order[i];
        long long n = (long long)e->nest->extent[dim];
        const char *at = below == 1 ? "item" : clpi_text(e, "item / %lld", (long long)below);
        clpi_line(e, i == from ? "const int d%d = %s;" : "const int d%d = %s %% %lld;", dim, at, n);
        below *= n;
    }
}

static int64_t elements(const clpi_emit *e, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++)
        n *= e->nest->extent[e->map->order[i]];
    return n;
}

static void emit_dealt(clpi_emit *e)
{
    int n = e->map->n_kept;
    int64_t n_items = elements(e, 0, n);
    clpi_open_items(e, n_items);
    clpi_emit_coordinates(e, 0, n);
    clpi_emit_nodes(e, n - 1);
    emit_level(e, n);
    clpi_forget_from(e, -1);
    clpi_close_items(e, n_items);
}

/* Each work-item's part through the joint array; all of them read the whole. */
static void emit_joint_result(clpi_emit *e, const clpi_out *out, uint32_t o)
{
    const char *type = accumulator_type(e, out, 1);
    const char *space = clpi_slot_space(e, e->s->joint_slot);
    unsigned long long n = (unsigned long long)e->s->group_size;
    clpi_open(e, "%s", "");
    clpi_line(e, "%s%s *const part = (%s%s *)joint;", space, type, space, type);
    if (is_arg(out->op))
        clpi_line(e, "%sint *const where = (%sint *)(joint + %llu);", space, space, n);
    clpi_line(e, "part[lid] = r%u;", o);
    if (is_arg(out->op))
        clpi_line(e, "where[lid] = p%u;", o);
    clpi_barrier(e);
    clpi_line(e, "r%u = part[0];", o);
    if (is_arg(out->op))
        clpi_line(e, "p%u = where[0];", o);
    clpi_open(e, "for (int other = 1; other < %llu; other++)", n);
    if (is_arg(out->op)) {
        clpi_str s;
        clpi_str_init(&s, e->arena->env);
        clpi_prelude_prefers(&e->prelude, &s, out->op, accumulator(e, out), 1, clpi_text(e, "r%u", o),
                             clpi_text(e, "p%u", o), "part[other]", "where[other]");
        clpi_open(e, "if (%s)", clpi_take_text(e, &s));
        clpi_line(e, "r%u = part[other];", o);
        clpi_line(e, "p%u = where[other];", o);
        clpi_close(e);
    } else {
        clpi_line(e, "r%u = %s;", o, combine_text(e, out, 1, clpi_text(e, "r%u", o), "part[other]"));
    }
    clpi_close(e);
    clpi_barrier(e);
    clpi_close(e);
}

static void emit_joint(clpi_emit *e)
{
    int n = e->map->n_order;
    clpi_emit_nodes(e, -1);
    declare_accumulators(e);
    int64_t n_items = elements(e, 0, n);
    clpi_open_items(e, n_items);
    clpi_emit_coordinates(e, 0, n);
    clpi_emit_nodes(e, n - 1);
    emit_outs(e);
    clpi_forget_from(e, 0);
    clpi_close_items(e, n_items);
    for (uint32_t o = 0; o < e->nest->outs.n; o++)
        if (e->nest->outs.items[o].kind == CLPI_OUT_REDUCE)
            emit_joint_result(e, &e->nest->outs.items[o], o);
    store_reductions(e);
}

static bool has_accumulators(const clpi_emit *e)
{
    for (uint32_t o = 0; o < e->nest->outs.n; o++)
        if (accumulates(&e->nest->outs.items[o]))
            return true;
    return false;
}

static void emit_from(clpi_emit *e, int at)
{
    if (at == e->map->n_order) {
        e->at_point(e);
        return;
    }
    int dim = e->map->order[at];
    if (dim == e->map->vector_dim && e->map->width > 1)
        emit_vector_loop(e, at, dim);
    else
        emit_plain_loop(e, at, dim);
}

static void emit_level(clpi_emit *e, int at)
{
    if (at != e->map->n_kept || !has_accumulators(e)) {
        emit_from(e, at);
        return;
    }
    declare_accumulators(e);
    emit_from(e, at);
    store_reductions(e);
}

void clpi_emit_loops(clpi_emit *e)
{
    clpi_emit_nodes(e, -1);
    emit_level(e, 0);
}

/* The scalars that the nest leaves in registers, to the joint array or back out of it. */
static void copy_scalars(clpi_emit *e, bool to_joint)
{
    for (uint32_t o = 0; o < e->nest->outs.n; o++) {
        const clpi_out *out = &e->nest->outs.items[o];
        int access = out->kind == CLPI_OUT_ATOMIC ? out->old : is_register_store(e, out) ? out->access : -1;
        if (access < 0)
            continue;
        const char *scalar = clpi_tile_name(e, e->nest->accesses.items[access].target);
        const char *place = clpi_text(e, "*(%s%s *)(joint + %u)", clpi_slot_space(e, e->s->joint_slot),
                                      clpi_cl_type(loaded_dtype(e, access), 1), o);
        clpi_line(e, "%s = %s;", to_joint ? place : scalar, to_joint ? scalar : place);
    }
}

/* Scalars that one work-item computes for all. */
static void emit_broadcast(clpi_emit *e)
{
    clpi_open(e, "if (lid == 0)");
    clpi_emit_nodes(e, -1);
    emit_outs(e);
    copy_scalars(e, true);
    clpi_close(e);
    clpi_barrier(e);
    copy_scalars(e, false);
    clpi_barrier(e);
}

void clpi_emit_nest(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_mapping *m = &stage->map;
    if (!clpi_begin_nest(e, stage->step->nest, m))
        return;
    e->at_point = emit_outs;
    if (clpi_is_simt(e) && m->is_broadcast) {
        emit_broadcast(e);
        return;
    }
    if (m->is_alone)
        clpi_open(e, "if (lid == 0)");
    else
        clpi_open(e, "%s", "");
    if (clpi_is_simt(e) && m->is_dealt) {
        emit_dealt(e);
    } else if (clpi_is_simt(e) && m->is_joint) {
        emit_joint(e);
    } else {
        clpi_emit_loops(e);
    }
    clpi_close(e);
}
