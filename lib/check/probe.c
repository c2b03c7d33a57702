/* probe: a kernel that also tells the values it works out on its way.
 * In: verified IR, and some of its ops. Out: IR with one more output for each of them, written right behind the op:
 *
 *     let s = dot(x, y);        ->      let s = dot(x, y); probe0[iteration, :] = reshape(s, [n]);
 *
 *     out probe0: f32[steps.., turns.., n] block [_.., turns.., n] at (k.., 0.., 0)
 *
 * Decides where a value goes: by the program ids along the axes that run in order, and by the iteration of the `for` loops around
 * it. Header ops, operands and all that there was before keep their order; body ops move behind what is put between.
 * Launches run one sequence: programs of two would write the same elements.                                            */
#include <assert.h>
#include <string.h>

#include "check/agree.h"

typedef struct prober {
    const clpi_ir    *in;
    clpi_ir          *out;
    clpi_build        build;
    uint32_t         *map;        /* [ops.n + 1] old number to new */
    const clpi_probe *probes;
    int               n_probes;
    int               axes[CLP_MAX_RANK], n_axes;      /* that run in order */
    clp_val           program[CLP_MAX_RANK];           /* header: their program ids */
    clp_status        status;
} prober;

static void report(void *user, clpi_pos pos, const char *text)
{
    prober *p = user;
    (void)pos;
    if (p->status == CLP_OK)
        p->status = clpi_fail(p->in->env, CLP_ERR_INTERNAL, "probe of %s: %s", p->in->name, text);
}

/* ---- What can be probed ---- */

static int n_arbitrary(const clpi_ir *ir)
{
    int n = 0;
    for (int i = 0; i < ir->n_axes; i++)
        n += ir->axes[i].is_arbitrary;
    return n;
}

/* How often a loop goes round, where that is known; else as often as is kept. */
static int64_t turns_of(const clpi_ir *ir, const clpi_op *loop)
{
    int64_t lo, hi, step = (int64_t)loop->attr;
    if (!clpi_const_int(ir, clpi_args(ir, loop)[0], &lo) || !clpi_const_int(ir, clpi_args(ir, loop)[1], &hi))
        return CLPI_PROBE_TURNS;
    int64_t n = step > 0 ? (hi - lo + step - 1) / step : (lo - hi - step - 1) / -step;
    return n < 1 ? 1 : n < CLPI_PROBE_TURNS ? n : CLPI_PROBE_TURNS;
}

bool clpi_probe_at(const clpi_ir *ir, uint32_t op, clpi_probe *out)
{
    const clpi_op *o = &ir->ops.items[op];
    const clpi_type *t = &ir->types.items[o->type];
    *out = (clpi_probe){ .op = op, .n_elems = clpi_type_elems(t) };
    if (t->dtype == CLP_DTYPE_NONE || (clpi_ops[o->kind].flags & (CLP_LEAF | CLP_REGION)) || o->kind == CLP_OP_result ||
        o->kind == CLP_OP_yield || out->n_elems == 0 || n_arbitrary(ir) + CLPI_PROBE_LOOPS >= CLP_MAX_RANK)
        return false;
    int64_t room = INT32_MAX / out->n_elems;
    for (uint32_t i = ir->n_header; i < op; i++) {
        const clpi_op *loop = &ir->ops.items[i];
        if (loop->kind != CLP_OP_for || loop->end <= op || out->n_loops == CLPI_PROBE_LOOPS)
            continue;
        int64_t turns = turns_of(ir, loop);
        out->turns[out->n_loops] = turns < room ? turns : 1;
        room /= out->turns[out->n_loops];
        out->loop[out->n_loops++] = i;
    }
    return true;
}

/* ---- The frame ---- */

static bool copy_frame(prober *p)
{
    const clpi_ir *in = p->in;
    clpi_ir *out = p->out;
    bool ok = true;
    out->math_fast = in->math_fast;
    out->source = in->source;
    out->requires = in->requires;
    out->n_requires = in->n_requires;
    for (uint32_t i = 1; i < in->types.n && ok; i++)
        ok = CLPI_PUSH(out->arena, &out->types, in->types.items[i]);
    for (uint32_t i = 0; i < in->strings.n && ok; i++)
        ok = CLPI_PUSH(out->arena, &out->strings, in->strings.items[i]);
    for (int i = 0; i < in->n_dims && ok; i++)
        ok = clpi_build_dim(&p->build, in->dims[i]) == i;
    for (int i = 0; i < in->n_axes && ok; i++) {
        ok = clpi_build_axis(&p->build, in->axes[i].name, in->axes[i].is_arbitrary) == i;
        if (ok)
            out->axes[i].size = in->axes[i].size;
    }
    return ok;
}

static bool copy_op(prober *p, uint32_t i)
{
    clpi_ir *out = p->out;
    clpi_op op = p->in->ops.items[i];
    const clp_val *args = clpi_args(p->in, &op);
    const clpi_sub *subs = clpi_subs(p->in, &op);
    bool ok = true;
    op.first_arg = out->args.n;
    op.first_sub = out->subs.n;
    for (uint32_t k = 0; k < op.n_args && ok; k++)
        ok = CLPI_PUSH(out->arena, &out->args, (clp_val){ p->map[args[k].id] });
    for (uint32_t k = 0; k < op.n_subs && ok; k++)
        ok = CLPI_PUSH(out->arena, &out->subs, subs[k]);
    p->map[i] = out->ops.n;
    return ok && CLPI_PUSH(out->arena, &out->ops, op);
}

static const char *free_name(const prober *p, int number)
{
    const char *name = clpi_arena_printf(p->out->arena, "probe%d", number);
    while (name && clpi_name_is_taken(p->in, name))
        name = clpi_arena_printf(p->out->arena, "%s_", name);
    return name;
}

/* Behind the header that was there. */
static bool add_output(prober *p, int number)
{
    const clpi_probe *probe = &p->probes[number];
    clp_val shape[CLP_MAX_RANK], zero = clpi_make_int(&p->build, CLP_I64, 0);
    clpi_block_dim block[CLP_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < p->n_axes; i++, rank++) {
        shape[rank] = p->in->axes[p->axes[i]].size;
        block[rank] = (clpi_block_dim){ .kind = CLPI_BLOCK_SQUEEZED, .n = 1, .index = p->program[i] };
    }
    for (int i = 0; i <= probe->n_loops; i++, rank++) {
        int64_t n = i < probe->n_loops ? probe->turns[i] : probe->n_elems;
        shape[rank] = clpi_make_int(&p->build, CLP_I64, n);
        block[rank] = (clpi_block_dim){ .kind = CLPI_BLOCK_PLAIN, .n = n, .index = zero };
    }
    clpi_operand x = { .role = CLP_OUT, .dtype = p->in->types.items[p->in->ops.items[probe->op].type].dtype, .rank = rank,
                       .shape = shape, .has_block = true, .block = block, .alias = -1 };
    x.name = free_name(p, number);
    return x.name && clpi_build_operand(&p->build, &x) == p->in->n_operands + number;
}

static bool make_header(prober *p)
{
    for (uint32_t i = 1; i < p->in->n_header; i++)
        if (!copy_op(p, i))
            return false;
    for (int i = 0; i < p->in->n_axes; i++)
        if (p->in->axes[i].is_arbitrary) {
            p->axes[p->n_axes] = i;
            p->program[p->n_axes++] = clpi_make_leaf(&p->build, CLP_OP_program_id, (uint64_t)i);
        }
    for (int i = 0; i < p->in->n_operands; i++) {
        p->build.pos = p->in->operands[i].pos;
        if (clpi_build_operand(&p->build, &p->in->operands[i]) != i)
            return false;
    }
    p->build.pos = (clpi_pos){ 0 };
    for (int i = 0; i < p->n_probes; i++)
        if (!add_output(p, i))
            return false;
    return true;
}

/* ---- The body ---- */

static clp_val make_two(prober *p, clpi_op_kind kind, clp_val a, clp_val b)
{
    return clpi_make_ew(&p->build, kind, (clp_val[]){ a, b }, 2);
}

/* (index - lo) / step of the loop, and whether there is a place for it. */
static void make_turn(prober *p, uint32_t loop, int64_t turns, clpi_subscript *out_sub, clp_val *mask)
{
    const clpi_op *op = &p->in->ops.items[loop];
    clp_val index = { p->map[loop + 1] }, lo = { p->map[clpi_args(p->in, op)[0].id] };
    clp_val turn = make_two(p, CLP_OP_div, make_two(p, CLP_OP_sub, index, lo), clpi_make_int(&p->build, CLP_I32, (int64_t)op->attr));
    clp_val fits = make_two(p, CLP_OP_lt, turn, clpi_make_int(&p->build, CLP_I32, turns));
    *mask = mask->id ? make_two(p, CLP_OP_and, *mask, fits) : fits;
    *out_sub = (clpi_subscript){ .kind = CLPI_AT, .val = turn, .is_run_time = true };
}

static bool add_store(prober *p, int number)
{
    const clpi_probe *probe = &p->probes[number];
    clpi_subscript subs[CLPI_PROBE_LOOPS + 1];
    clp_val mask = { 0 };
    for (int i = 0; i < probe->n_loops; i++)
        make_turn(p, probe->loop[i], probe->turns[i], &subs[i], &mask);
    subs[probe->n_loops] = (clpi_subscript){ .kind = CLPI_ALL };
    clp_val value = clpi_make_reshape(&p->build, (clp_val){ p->map[probe->op] }, &probe->n_elems, 1);
    if (mask.id)
        mask = clpi_make_broadcast(&p->build, mask, &probe->n_elems, 1);
    clpi_make_store(&p->build, p->in->n_operands + number, subs, probe->n_loops + 1, value, mask);
    return p->status == CLP_OK && !p->out->arena->failed;
}

static bool make_body(prober *p)
{
    clpi_build_begin_body(&p->build);
    for (uint32_t i = p->in->n_header; i < p->in->ops.n; i++) {
        if (!copy_op(p, i))
            return false;
        for (int k = 0; k < p->n_probes; k++)
            if (p->probes[k].op == i && !add_store(p, k))
                return false;
    }
    p->map[p->in->ops.n] = p->out->ops.n;
    for (uint32_t i = p->in->n_header; i < p->in->ops.n; i++) {
        const clpi_op *from = &p->in->ops.items[i];
        clpi_op *to = &p->out->ops.items[p->map[i]];
        to->mid = p->map[from->mid];
        to->end = p->map[from->end];
    }
    return true;
}

clp_status clpi_ir_probe(const clpi_ir *ir, clpi_arena *arena, const clpi_probe *probes, int n_probes, clpi_ir **out_ir)
{
    prober p = { .in = ir, .probes = probes, .n_probes = n_probes };
    *out_ir = NULL;
    p.out = clpi_ir_new(ir->env, arena, ir->name);
    p.map = CLPI_NEW_N(arena, uint32_t, (size_t)ir->ops.n + 1);
    if (!p.out || !p.map)
        return CLP_ERR_OOM;
    clpi_build_init(&p.build, p.out, report, &p);
    bool made = copy_frame(&p) && make_header(&p) && make_body(&p);
    if (p.status)
        return p.status;
    if (!made || arena->failed)
        return CLP_ERR_OOM;
    CLP_TRY(clpi_verify(p.out, CLP_ERR_INTERNAL));
    *out_ir = p.out;
    return CLP_OK;
}
