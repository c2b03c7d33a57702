/* emit_out: what a nest leaves behind, at one point, or vector, of its domain and after the loops over it.
 *
 * In: a nest begun, its values printed. Out: stores, atomics, and the accumulators of reductions: declared, taken on
 * at each point, stored.                                                                                                   */
#include "cl/emit.h"

clp_dtype clpi_out_dtype(const clpi_emit *e, int access)
{
    const clpi_access *a = &e->nest->accesses.items[access];
    return clpi_loaded(a->is_tile ? e->p->tiles.items[a->target].dtype : e->ir->operands[a->target].dtype);
}

static bool out_varies(const clpi_emit *e, const clpi_out *out)
{
    return clpi_depends_on(e->nest, out->value, e->map->vector_dim) ||
           clpi_access_varies(e->nest, &e->nest->accesses.items[out->access], e->map->vector_dim);
}

clp_dtype clpi_accumulator(const clpi_emit *e, const clpi_out *out)
{
    return clpi_is_arg(out->op) ? e->nest->nodes.items[out->value].dtype : out->dtype;
}

const char *clpi_accumulator_type(const clpi_emit *e, const clpi_out *out, int width)
{
    clp_dtype d = clpi_accumulator(e, out);
    return d == CLP_BOOL && width > 1 ? clpi_cl_mask_type(32, width) : clpi_cl_type(d, width);
}

const char *clpi_identity_text(clpi_emit *e, clpi_op_kind op, clp_dtype d, int width)
{
    clpi_str s, v;
    clpi_str_init(&s, e->arena->env);
    clpi_cl_identity(&s, op, d);
    if (width == 1)
        return clpi_take_text(e, &s);
    clpi_str_init(&v, e->arena->env);
    if (d == CLP_BOOL)
        clpi_cl_mask(&v, 32, 0, width, s.text);
    else
        clpi_prelude_splat(&e->prelude, &v, d, width, s.text);
    clpi_str_done(&s);
    return clpi_take_text(e, &v);
}

static const char *identity_text(clpi_emit *e, const clpi_out *out, int width)
{
    const clpi_op_kind op = out->op == CLP_OP_argmax ? CLP_OP_max : out->op == CLP_OP_argmin ? CLP_OP_min : out->op;
    return clpi_identity_text(e, op, clpi_accumulator(e, out), width);
}

const char *clpi_combine_text(clpi_emit *e, clpi_op_kind op, clp_dtype dtype, int width, const char *a, const char *b)
{
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    clpi_prelude_combine(&e->prelude, &s, op, dtype, width, a, b);
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

static const char *chain_name(clpi_emit *e, uint32_t o, int chain)
{
    return chain == 0 ? clpi_text(e, "r%u", o) : clpi_text(e, "r%u_%d", o, chain);
}

void clpi_declare_accumulators(clpi_emit *e)
{
    for (uint32_t o = 0; o < e->nest->outs.n; o++) {
        const clpi_out *out = &e->nest->outs.items[o];
        if (out->kind != CLPI_OUT_REDUCE)
            continue;
        if (reduces_lanes(e, out)) {
            for (int chain = 0; chain < e->map->chains; chain++)
                clpi_line(e, "%s %s = %s;", clpi_accumulator_type(e, out, e->map->width), chain_name(e, o, chain),
                          identity_text(e, out, e->map->width));
            clpi_line(e, "%s q%u = %s;", clpi_accumulator_type(e, out, 1), o, identity_text(e, out, 1));
        } else {
            clpi_line(e, "%s r%u = %s;", clpi_accumulator_type(e, out, e->width), o, identity_text(e, out, e->width));
        }
        if (clpi_is_arg(out->op))
            clpi_line(e, "int p%u = 0x7fffffff;", o);
    }
    clpi_declare_scans(e);
}

static void emit_arg_update(clpi_emit *e, const clpi_out *out, uint32_t o)
{
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    const char *value = clpi_value_text(e, out->value, 1, 0), *at = position_text(e, out);
    clpi_prelude_prefers(&e->prelude, &s, out->op, clpi_accumulator(e, out), clpi_text(e, "r%u", o),
                         clpi_text(e, "p%u", o), value, at);
    clpi_open(e, "if (%s)", clpi_take_text(e, &s));
    clpi_line(e, "r%u = %s;", o, value);
    clpi_line(e, "p%u = %s;", o, at);
    clpi_close(e);
}

static void emit_reduce_update(clpi_emit *e, const clpi_out *out, uint32_t o)
{
    if (clpi_is_arg(out->op)) {
        emit_arg_update(e, out, o);
        return;
    }
    const char *value = clpi_value_text(e, out->value, e->width, 32);
    if (!reduces_lanes(e, out) || e->width == e->map->width) {
        const char *r = chain_name(e, o, e->chain);
        clpi_line(e, "%s = %s;", r, clpi_combine_text(e, out->op, out->dtype, e->width, r, value));
        return;
    }
    if (e->width > 1) {           /* a narrower piece goes to the scalar accumulator */
        clpi_str s;
        clpi_str_init(&s, e->arena->env);
        clpi_prelude_reduce(&e->prelude, &s, out->op, out->dtype, e->width, value);
        value = clpi_take_text(e, &s);
    }
    clpi_line(e, "q%u = %s;", o, clpi_combine_text(e, out->op, out->dtype, 1, clpi_text(e, "q%u", o), value));
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
    const char *condition = clpi_and_text(e, mask, inside);
    if (condition)
        clpi_line(e, "if (%s)", condition);
    clpi_line(e, condition ? "    %s;" : "%s;", call);
}

bool clpi_is_register_store(const clpi_emit *e, const clpi_out *out)
{
    const clpi_access *a = &e->nest->accesses.items[out->access];
    return clpi_is_register(e, a) || clpi_is_owned(e, a);
}

/* Where several work-items come to one result, the one that stores it; NULL: each stores, in registers, or what is its own. */
static const char *one_item_text(clpi_emit *e, const clpi_out *out)
{
    const clpi_mapping *m = e->map;
    if (!clpi_is_simt(e) || clpi_is_register_store(e, out))
        return NULL;
    if (m->is_teamed && m->deal.team > 1 && (m->deal.n == 1 || out->kind == CLPI_OUT_REDUCE || out->kind == CLPI_OUT_LAST))
        return m->deal.teams == 1 ? "lid == 0" : clpi_text(e, "lid %% %d == 0", m->deal.team);
    if (out->kind == CLPI_OUT_REDUCE)
        return m->is_joint ? "lid == 0" : NULL;
    return m->is_single && !m->is_alone && !m->is_broadcast ? "lid == 0" : NULL;
}

static void emit_point_store(clpi_emit *e, const clpi_out *out)
{
    const char *one_item = one_item_text(e, out);
    int width = out_varies(e, out) ? e->width : 1;
    int bits = e->values[out->value].mask_bits ? e->values[out->value].mask_bits : 8;
    if (one_item)
        clpi_open(e, "if (%s)", one_item);
    clpi_emit_store(e, out->access, clpi_out_dtype(e, out->access), clpi_value_text(e, out->value, width, bits), width, bits);
    if (one_item)
        clpi_close(e);
}

/* At one point of the whole domain. */
void clpi_emit_outs(clpi_emit *e)
{
    for (uint32_t o = 0; o < e->nest->outs.n; o++) {
        const clpi_out *out = &e->nest->outs.items[o];
        switch (out->kind) {
        case CLPI_OUT_STORE: emit_point_store(e, out); break;
        case CLPI_OUT_REDUCE: emit_reduce_update(e, out, o); break;
        case CLPI_OUT_LAST: break;
        case CLPI_OUT_ATOMIC: emit_atomic(e, out); break;
        }
    }
}

/* A reduction in one scalar, or as wide as the point is; its name. */
const char *clpi_fold_lanes(clpi_emit *e, uint32_t o)
{
    const clpi_out *out = &e->nest->outs.items[o];
    const char *r = clpi_text(e, clpi_is_arg(out->op) ? "p%u" : "r%u", o);
    if (!reduces_lanes(e, out))
        return r;
    for (int chain = 1; chain < e->map->chains; chain++)
        clpi_line(e, "%s = %s;", r, clpi_combine_text(e, out->op, out->dtype, e->map->width, r, chain_name(e, o, chain)));
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    clpi_prelude_reduce(&e->prelude, &s, out->op, out->dtype, e->map->width, r);
    clpi_line(e, "q%u = %s;", o, clpi_combine_text(e, out->op, out->dtype, 1, clpi_text(e, "q%u", o), clpi_take_text(e, &s)));
    return clpi_text(e, "q%u", o);
}

void clpi_store_result(clpi_emit *e, uint32_t o, const char *result, int width)
{
    const clpi_out *out = &e->nest->outs.items[o];
    clp_dtype to = clpi_out_dtype(e, out->access);
    const char *one_item = one_item_text(e, out);
    if (one_item)
        clpi_open(e, "if (%s)", one_item);
    clpi_emit_store(e, out->access, to, clpi_is_arg(out->op) ? result : cast_text(e, to, out->dtype, width, result), width, 32);
    if (one_item)
        clpi_close(e);
}

/* What a scan has come to, in each lane that the result has. */
static void store_last(clpi_emit *e, uint32_t o)
{
    const clpi_out *out = &e->nest->outs.items[o];
    const int width = clpi_access_varies(e->nest, &e->nest->accesses.items[out->access], e->map->vector_dim) ? e->width : 1;
    clpi_store_result(e, o, clpi_scan_end_text(e, out->value, width), width);
}

/* After the loops that are innermost: what is reduced, and what scans have come to, goes where it belongs. */
void clpi_store_reductions(clpi_emit *e)
{
    for (uint32_t o = 0; o < e->nest->outs.n; o++) {
        const clpi_out *out = &e->nest->outs.items[o];
        if (out->kind == CLPI_OUT_REDUCE)
            clpi_store_result(e, o, clpi_fold_lanes(e, o), reduces_lanes(e, out) ? 1 : e->width);
        else if (out->kind == CLPI_OUT_LAST)
            store_last(e, o);
    }
}
