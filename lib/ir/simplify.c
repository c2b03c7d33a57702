/* simplify: the same IR, smaller.
 * In: verified IR. Out: verified IR with the same effects in the same order, and no op that nobody needs.
 * One walk makes the ops anew: folds (fold.c), merges equal pure ops, decides branches on constants, drops loops that never
 * run, unwraps those that run once, and takes out of a region what it carries round unchanged. A second walk, backwards,
 * marks what is used; a third writes it down. Knows nothing of blocks or devices.
 *
 *     let a = 2 * 3; let b = x + a; let c = x + a;      ->      let b = x + 6;
 *
 * A load equals an earlier one only while no op between them writes its storage: the key of a load has the number of the
 * last write. A loop counts as writing, at its start, all that it writes anywhere.                                      */
#include <assert.h>
#include <string.h>

#include "ir/simplify.h"

/* ---- Equal ops ---- */

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static uint64_t hash_op(const clpi_op *op, uint64_t version, const clp_val *args, const clpi_sub *subs)
{
    bool commutes = clpi_ops[op->kind].flags & CLP_COMM;
    uint64_t h = mix(mix(mix(mix(0, (uint64_t)op->kind), op->type), op->attr), version);
    h = mix(h, (uint64_t)(op->operand + 1) << 2 | (uint64_t)op->has_other << 1 | op->has_mask);
    if (commutes)
        h = mix(h, (uint64_t)args[0].id + args[1].id);
    for (uint32_t i = 0; !commutes && i < op->n_args; i++)
        h = mix(h, args[i].id);
    for (uint32_t i = 0; i < op->n_subs; i++)
        h = mix(mix(mix(h, (uint64_t)subs[i].kind), (uint64_t)subs[i].size), (uint64_t)subs[i].stride);
    return h;
}

static bool same_args(const clpi_op *op, const clp_val *a, const clp_val *b)
{
    bool is_same = true;
    for (uint32_t i = 0; i < op->n_args; i++)
        is_same = is_same && a[i].id == b[i].id;
    bool commutes = clpi_ops[op->kind].flags & CLP_COMM;
    return is_same || (commutes && a[0].id == b[1].id && a[1].id == b[0].id);
}

static bool same_sub(const clpi_sub *a, const clpi_sub *b)
{
    return a->kind == b->kind && (a->kind != CLPI_SUB_RANGE || (a->size == b->size && a->stride == b->stride));
}

static bool same_op(const clpi_ir *ir, const clpi_op *a, const clpi_op *op, const clp_val *args, const clpi_sub *subs)
{
    if (a->kind != op->kind || a->type != op->type || a->attr != op->attr || a->operand != op->operand || a->n_args != op->n_args ||
        a->n_subs != op->n_subs || a->has_other != op->has_other || a->has_mask != op->has_mask)
        return false;
    for (uint32_t i = 0; i < op->n_subs; i++)
        if (!same_sub(&clpi_subs(ir, a)[i], &subs[i]))
            return false;
    return same_args(op, clpi_args(ir, a), args);
}

/* Forgets the ops that were made since the entries were n: they lie in a region that ends. */
static void forget(clpi_simplifier *s, uint32_t n)
{
    while (s->entries.n > n) {
        const clpi_cse_entry *e = &s->entries.items[--s->entries.n];
        s->buckets[e->hash & (s->n_buckets - 1)] = e->next;
    }
}

/* ---- Storage ---- */

static void note_write(clpi_simplifier *s, const clpi_op *op)
{
    if (clpi_ops[op->kind].flags & CLP_WRITE)
        s->version[clpi_storage_of(s->in, op->operand)] = ++s->newest;
}

/* ---- Making ---- */

static clp_val append(clpi_simplifier *s, clpi_op op, const clp_val *args, const clpi_sub *subs)
{
    clpi_ir *out = &s->out;
    clp_val v = { out->ops.n };
    op.first_arg = out->args.n;
    op.first_sub = out->subs.n;
    bool ok = true;
    for (uint32_t i = 0; i < op.n_args && ok; i++)
        ok = CLPI_PUSH(s->pass, &out->args, args[i]);
    for (uint32_t i = 0; i < op.n_subs && ok; i++)
        ok = CLPI_PUSH(s->pass, &out->subs, subs[i]);
    ok = ok && CLPI_PUSH(s->pass, &out->ops, op);
    return ok ? v : (clp_val){ 0 };
}

clp_val clpi_simplify_emit(clpi_simplifier *s, clpi_op op, const clp_val *args, const clpi_sub *subs)
{
    unsigned flags = clpi_ops[op.kind].flags;
    if (flags & (CLP_EFFECT | CLP_WRITE))
        return append(s, op, args, subs);
    uint64_t version = flags & CLP_READ ? s->version[clpi_storage_of(s->in, op.operand)] : 0;
    uint64_t hash = hash_op(&op, version, args, subs);
    uint32_t *bucket = &s->buckets[hash & (s->n_buckets - 1)];
    for (uint32_t k = *bucket; k != 0; k = s->entries.items[k].next) {
        const clpi_cse_entry *e = &s->entries.items[k];
        if (e->hash == hash && e->version == version && same_op(&s->out, &s->out.ops.items[e->op], &op, args, subs))
            return (clp_val){ e->op };
    }
    clp_val v = append(s, op, args, subs);
    clpi_cse_entry entry = { .op = v.id, .next = *bucket, .hash = hash, .version = version };
    if (v.id == 0 || !CLPI_PUSH(s->pass, &s->entries, entry))
        return (clp_val){ 0 };
    *bucket = s->entries.n - 1;
    return v;
}

/* The new values of an op's operands, in memory of the pass; one spare, so that there is always an array. */
static clp_val *mapped_args(clpi_simplifier *s, const clpi_op *op)
{
    clp_val *args = CLPI_NEW_N(s->pass, clp_val, (size_t)op->n_args + 1);
    for (uint32_t i = 0; args && i < op->n_args; i++)
        args[i] = s->map[clpi_args(s->in, op)[i].id];
    return args;
}

static bool walk(clpi_simplifier *s, uint32_t begin, uint32_t end);

static bool walk_op(clpi_simplifier *s, uint32_t i)
{
    const clpi_op *op = &s->in->ops.items[i];
    clp_val buffer[CLP_MAX_RANK + 4], *args = buffer;
    if (op->n_args <= sizeof buffer / sizeof *buffer)
        for (uint32_t k = 0; k < op->n_args; k++)
            args[k] = s->map[clpi_args(s->in, op)[k].id];
    else
        args = mapped_args(s, op);
    if (!args)
        return false;
    clp_val v = clpi_fold(s, op, args);
    if (v.id == 0)
        v = clpi_simplify_emit(s, *op, args, clpi_subs(s->in, op));
    note_write(s, op);
    s->map[i] = v;
    return v.id != 0 && !s->pass->failed;
}

/* ---- Regions ---- */

/* A region op of the old IR, taken apart. */
typedef struct region {
    uint32_t at, n_heads, n;          /* operands of its own; carried values */
    const clpi_op *op;
    const clp_val *inits;             /* old */
    const clp_val *yields[2];         /* old: of the loop or the then arm, of the else arm */
    bool *is_carried;                 /* [n] stays a carried value */
} region;

static const clp_val *yield_values(const clpi_ir *ir, uint32_t end, uint32_t n)
{
    const clpi_op *yield = &ir->ops.items[end - 1];
    assert(yield->kind == CLP_OP_yield && yield->n_args >= n);
    return clpi_args(ir, yield) + (yield->n_args - n);
}

static bool take_apart(clpi_simplifier *s, uint32_t i, region *out)
{
    const clpi_op *op = &s->in->ops.items[i];
    *out = (region){ .at = i, .op = op, .n_heads = op->kind == CLP_OP_for ? 2 : 1 };
    out->n = op->n_args - out->n_heads;
    out->inits = clpi_args(s->in, op) + out->n_heads;
    out->yields[0] = yield_values(s->in, op->mid, out->n);
    out->yields[1] = yield_values(s->in, op->end, out->n);
    out->is_carried = CLPI_NEW_N(s->pass, bool, (size_t)out->n + 1);
    return out->is_carried != NULL;
}

/* The first arg of a loop that is a carried value. */
static uint32_t first_carried(const region *r)
{
    return r->at + 1 + (r->op->kind == CLP_OP_for);
}

/* Emits the op of the region with the carried values that stay; false: out of memory. */
static bool begin_region(clpi_simplifier *s, const region *r, uint32_t *out_at)
{
    clp_val *args = mapped_args(s, r->op);
    if (!args)
        return false;
    clpi_op op = *r->op;
    op.n_args = r->n_heads;
    for (uint32_t k = 0; k < r->n; k++)
        if (r->is_carried[k])
            args[op.n_args++] = args[r->n_heads + k];
    *out_at = append(s, op, args, NULL).id;
    return *out_at != 0;
}

/* An arg or result, number `number` of its region. */
static clp_val emit_part(clpi_simplifier *s, uint32_t old, uint64_t number, clp_val region_val)
{
    clpi_op op = s->in->ops.items[old];
    op.attr = number;
    return append(s, op, &region_val, NULL);
}

static bool emit_yield(clpi_simplifier *s, const region *r, uint32_t end, int arm)
{
    clpi_op op = s->in->ops.items[end - 1];
    clp_val *args = mapped_args(s, &op);
    if (!args)
        return false;
    uint32_t n_heads = op.n_args - r->n;
    op.n_args = n_heads;
    for (uint32_t k = 0; k < r->n; k++)
        if (r->is_carried[k])
            args[op.n_args++] = s->map[r->yields[arm][k].id];
    return append(s, op, args, NULL).id != 0;
}

static bool emit_results(clpi_simplifier *s, const region *r, uint32_t at)
{
    uint64_t number = 0;
    for (uint32_t k = 0; k < r->n; k++)
        if (r->is_carried[k])
            s->map[r->op->end + k] = emit_part(s, r->op->end + k, number++, (clp_val){ at });
    return !s->pass->failed;
}

/* The results are these (old) values: nothing of the region op is left. */
static void results_are(clpi_simplifier *s, const region *r, const clp_val *vals)
{
    for (uint32_t k = 0; k < r->n; k++)
        s->map[r->op->end + k] = s->map[vals[k].id];
}

static bool walk_if(clpi_simplifier *s, region *r)
{
    const clpi_op *op = r->op;
    int64_t condition;
    clp_val given = s->map[clpi_args(s->in, op)[0].id];
    if (clpi_const_int(&s->out, given, &condition)) {
        int arm = condition ? 0 : 1;
        if (!(condition ? walk(s, r->at + 1, op->mid - 1) : walk(s, op->mid, op->end - 1)))
            return false;
        results_are(s, r, r->yields[arm]);
        return true;
    }
    for (uint32_t k = 0; k < r->n; k++) {
        uint32_t v = r->yields[0][k].id;
        r->is_carried[k] = v != r->yields[1][k].id || v > r->at;
    }
    uint32_t at, mark = s->entries.n;
    if (!begin_region(s, r, &at) || !walk(s, r->at + 1, op->mid - 1) || !emit_yield(s, r, op->mid, 0))
        return false;
    forget(s, mark);
    s->out.ops.items[at].mid = s->out.ops.n;
    if (!walk(s, op->mid, op->end - 1) || !emit_yield(s, r, op->end, 1))
        return false;
    forget(s, mark);
    s->out.ops.items[at].end = s->out.ops.n;
    for (uint32_t k = 0; k < r->n; k++)
        if (!r->is_carried[k])
            s->map[op->end + k] = s->map[r->yields[0][k].id];
    return emit_results(s, r, at);
}

/* How often a loop runs: 0, 1, or 2 for more often or not known. */
static int iterations(const clpi_simplifier *s, const region *r)
{
    const clp_val *heads = clpi_args(s->in, r->op);
    int64_t lo, hi, step = (int64_t)r->op->attr, condition;
    if (r->op->kind == CLP_OP_while)
        return clpi_const_int(&s->out, s->map[heads[0].id], &condition) && !condition ? 0 : 2;
    if (!clpi_const_int(&s->out, s->map[heads[0].id], &lo) || !clpi_const_int(&s->out, s->map[heads[1].id], &hi))
        return 2;
    if (step > 0 ? lo >= hi : lo <= hi)
        return 0;
    /* Bounds are i32: their distance fits. */
    bool is_once = step > 0 ? step >= hi - lo : step <= hi - lo;
    return is_once ? 1 : 2;
}

static bool walk_once(clpi_simplifier *s, const region *r)
{
    s->map[r->at + 1] = s->map[clpi_args(s->in, r->op)[0].id];
    for (uint32_t k = 0; k < r->n; k++)
        s->map[r->at + 2 + k] = s->map[r->inits[k].id];
    if (!walk(s, r->at + 2 + r->n, r->op->end - 1))
        return false;
    results_are(s, r, r->yields[0]);
    return true;
}

static bool walk_loop(clpi_simplifier *s, region *r)
{
    const clpi_op *op = r->op;
    int n_iterations = iterations(s, r);
    if (n_iterations == 0) {
        results_are(s, r, r->inits);
        return true;
    }
    if (n_iterations == 1)
        return walk_once(s, r);

    uint32_t first = first_carried(r), at, mark = s->entries.n;
    for (uint32_t k = 0; k < r->n; k++)
        r->is_carried[k] = r->yields[0][k].id != first + k;
    if (!begin_region(s, r, &at))
        return false;
    for (uint32_t i = r->at + 1; i < op->end; i++)
        note_write(s, &s->in->ops.items[i]);
    if (first > r->at + 1)
        s->map[r->at + 1] = emit_part(s, r->at + 1, 0, (clp_val){ at });
    uint64_t number = first - r->at - 1;
    for (uint32_t k = 0; k < r->n; k++)
        s->map[first + k] = r->is_carried[k] ? emit_part(s, first + k, number++, (clp_val){ at }) : s->map[r->inits[k].id];
    if (!walk(s, first + r->n, op->end - 1) || !emit_yield(s, r, op->end, 0))
        return false;
    forget(s, mark);
    s->out.ops.items[at].mid = s->out.ops.items[at].end = s->out.ops.n;
    for (uint32_t k = 0; k < r->n; k++)
        if (!r->is_carried[k])
            s->map[op->end + k] = s->map[r->inits[k].id];
    return emit_results(s, r, at);
}

static bool walk(clpi_simplifier *s, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end;) {
        const clpi_op *op = &s->in->ops.items[i];
        if (!(clpi_ops[op->kind].flags & CLP_REGION)) {
            if (!walk_op(s, i++))
                return false;
            continue;
        }
        region r;
        if (!take_apart(s, i, &r) || !(op->kind == CLP_OP_if ? walk_if(s, &r) : walk_loop(s, &r)))
            return false;
        i = op->end + r.n;
    }
    return true;
}

/* ---- What is used ---- */

static void use(bool *is_used, const clpi_ir *ir, const clpi_op *op)
{
    for (uint32_t k = 0; k < op->n_args; k++)
        is_used[clpi_args(ir, op)[k].id] = true;
}

static void use_frame(bool *is_used, const clpi_ir *ir)
{
    for (int k = 0; k < ir->n_operands; k++) {
        for (int d = 0; d < ir->operands[k].rank; d++) {
            is_used[ir->operands[k].shape[d].id] = true;
            if (ir->operands[k].has_block)
                is_used[ir->operands[k].block[d].index.id] = true;
        }
    }
    for (int k = 0; k < ir->n_axes; k++)
        is_used[ir->axes[k].size.id] = true;
    for (int k = 0; k < ir->n_requires; k++)
        is_used[ir->requires[k].condition.id] = true;
}

/* Regions that must stay though nobody uses their results: those that write or talk, and `while`, which may not end. */
static bool has_effect(const clpi_ir *ir, uint32_t region_at)
{
    for (uint32_t i = region_at; i < ir->ops.items[region_at].end; i++) {
        clpi_op_kind kind = ir->ops.items[i].kind;
        if ((clpi_ops[kind].flags & CLP_WRITE) || kind == CLP_OP_print || kind == CLP_OP_assert || kind == CLP_OP_while)
            return true;
    }
    return false;
}

/* Marks, last op first; a region without effect whose results nobody uses is passed over as a whole. region_of[i]: the
 * region whose last yield is op i, or 0.                                                                               */
static void mark_used(const clpi_ir *ir, const uint32_t *region_of, bool *is_used)
{
    for (uint32_t i = ir->ops.n; i-- > 1;) {
        const clpi_op *op = &ir->ops.items[i];
        if (op->kind == CLP_OP_result) {
            if (is_used[i])
                use(is_used, ir, op);
            continue;
        }
        uint32_t r = region_of[i];
        if (r != 0) {
            is_used[r] = is_used[r] || has_effect(ir, r);
            if (!is_used[r]) {
                i = r;
                continue;
            }
            uint32_t n = ir->ops.items[r].n_args - (ir->ops.items[r].kind == CLP_OP_for ? 2 : 1);
            for (uint32_t k = 0; k < n; k++)
                is_used[i + 1 + k] = true;
        }
        /* Here a region op is one that stays. */
        is_used[i] = is_used[i] || (clpi_ops[op->kind].flags & CLP_EFFECT);
        if (is_used[i])
            use(is_used, ir, op);
    }
}

/* ---- Writing down ---- */

static bool copy_op(clpi_ir *ir, const clpi_ir *from, const clpi_op *old, const clp_val *map)
{
    clpi_op op = *old;
    op.first_arg = ir->args.n;
    op.first_sub = ir->subs.n;
    for (uint32_t k = 0; k < op.n_args; k++)
        if (!CLPI_PUSH(ir->arena, &ir->args, map[clpi_args(from, old)[k].id]))
            return false;
    for (uint32_t k = 0; k < op.n_subs; k++)
        if (!CLPI_PUSH(ir->arena, &ir->subs, clpi_subs(from, old)[k]))
            return false;
    return CLPI_PUSH(ir->arena, &ir->ops, op);
}

static void map_frame(clpi_ir *ir, const clp_val *map)
{
    for (int k = 0; k < ir->n_operands; k++) {
        for (int d = 0; d < ir->operands[k].rank; d++) {
            ir->operands[k].shape[d] = map[ir->operands[k].shape[d].id];
            if (ir->operands[k].has_block)
                ir->operands[k].block[d].index = map[ir->operands[k].block[d].index.id];
        }
    }
    for (int k = 0; k < ir->n_axes; k++)
        ir->axes[k].size = map[ir->axes[k].size.id];
    for (int k = 0; k < ir->n_requires; k++)
        ir->requires[k].condition = map[ir->requires[k].condition.id];
}

/* ir gets the used ops of from; map is scratch, [from->ops.n]. An end or mid is where the next used op goes. */
static bool compact(clpi_ir *ir, const clpi_ir *from, const bool *is_used, clp_val *map, uint32_t *place)
{
    for (uint32_t i = 0; i < from->ops.n; i++) {
        if (i == from->n_header)
            ir->n_header = ir->ops.n;
        place[i] = ir->ops.n;
        if (i != 0 && !is_used[i])
            continue;
        map[i].id = ir->ops.n;
        if (!copy_op(ir, from, &from->ops.items[i], map))
            return false;
    }
    place[from->ops.n] = ir->ops.n;
    if (from->n_header == from->ops.n)
        ir->n_header = ir->ops.n;
    for (uint32_t i = 1; i < ir->ops.n; i++) {
        clpi_op *op = &ir->ops.items[i];
        if (clpi_ops[op->kind].flags & CLP_REGION) {
            op->mid = place[op->mid];
            op->end = place[op->end];
        }
    }
    return true;
}

static bool drop_unused(clpi_ir *ir, const clpi_ir *from, clpi_arena *pass)
{
    size_t n = from->ops.n;
    bool *is_used = CLPI_NEW_N(pass, bool, n);
    uint32_t *region_of = CLPI_NEW_N(pass, uint32_t, n), *place = CLPI_NEW_N(pass, uint32_t, n + 1);
    clp_val *map = CLPI_NEW_N(pass, clp_val, n);
    if (!is_used || !region_of || !place || !map)
        return false;
    for (uint32_t i = 1; i < from->ops.n; i++)
        if (clpi_ops[from->ops.items[i].kind].flags & CLP_REGION)
            region_of[from->ops.items[i].end - 1] = i;
    use_frame(is_used, from);
    mark_used(from, region_of, is_used);
    memset(&ir->ops, 0, sizeof ir->ops);
    memset(&ir->args, 0, sizeof ir->args);
    memset(&ir->subs, 0, sizeof ir->subs);
    if (!compact(ir, from, is_used, map, place))
        return false;
    map_frame(ir, map);
    return true;
}

/* ---- The pass ---- */

static bool set_up(clpi_simplifier *s, const clpi_ir *in)
{
    s->n_buckets = 64;
    while (s->n_buckets < in->ops.n)
        s->n_buckets *= 2;
    s->map = CLPI_NEW_N(s->pass, clp_val, in->ops.n);
    s->buckets = CLPI_NEW_N(s->pass, uint32_t, s->n_buckets);
    s->version = CLPI_NEW_N(s->pass, uint64_t, (size_t)in->n_operands + 1);
    /* Entry 0 ends a chain; out op 0 is "no value". */
    return s->map && s->buckets && s->version && CLPI_PUSH(s->pass, &s->entries, (clpi_cse_entry){ 0 }) &&
           CLPI_PUSH(s->pass, &s->out.ops, in->ops.items[0]);
}

static clp_status simplify_once(clpi_ir *ir, clpi_arena *pass)
{
    const clpi_ir in = *ir;
    clpi_simplifier s = { .in = &in, .out = *ir, .pass = pass };
    memset(&s.out.ops, 0, sizeof s.out.ops);
    memset(&s.out.args, 0, sizeof s.out.args);
    memset(&s.out.subs, 0, sizeof s.out.subs);
    if (!set_up(&s, &in) || !walk(&s, 1, in.n_header))
        return CLP_ERR_OOM;
    /* The body sees nothing of the header. */
    forget(&s, 1);
    s.out.n_header = s.out.ops.n;
    if (!walk(&s, in.n_header, in.ops.n))
        return CLP_ERR_OOM;
    ir->types.items = s.out.types.items;
    ir->types.n = s.out.types.n;
    ir->types.cap = s.out.types.cap;
    map_frame(ir, s.map);
    if (!drop_unused(ir, &s.out, pass) || pass->failed || ir->arena->failed)
        return CLP_ERR_OOM;
    return CLP_OK;
}

/* Again while ops go: a region that nobody needed may have been all that changed a carried value of the one around it.
 * What comes out stays as it is when simplified again, so that it prints as what is read back.                        */
clp_status clpi_simplify(clpi_ir *ir, clpi_arena *pass)
{
    uint32_t n;
    do {
        n = ir->ops.n;
        const clp_status status = simplify_once(ir, pass);
        if (status)
            return status;
    } while (ir->ops.n < n);
    return CLP_OK;
}
