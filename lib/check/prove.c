/* prove: what holds of a kernel for all shapes.
 * In: IR and plan. Out: for each storage that is written, each block and each access a verdict.
 *
 * Two programs of different sequences differ in a first parallel axis: for each axis, and each order of the two, the question
 * is whether all before it can be equal and the two touch one element in every dimension. First with whole blocks, which
 * settles most kernels; then access by access, with the branches and masks around them. What stays open is tried out.    */
#include <assert.h>

#include "check/prove.h"
#include "check/symbols.h"
#include "check/witness.h"
#include "run/backend.h"

enum { MAX_PAIRS = 6000 };

typedef struct prover {
    const clpi_ir   *ir;
    const clpi_plan *plan;
    clpi_arena      *arena;           /* of the result */
    clpi_arena       question;        /* given back after each question */
    clpi_symbols    *symbols;
    clpi_proofs     *proofs;
} prover;

/* What a program may touch of an operand: by one op, or anywhere in its block (op 0). */
typedef struct access { int operand; uint32_t op; clpi_touch_kind kind; } access;

typedef struct question { clpi_facts_mark facts; clpi_arena_mark arena; } question;

static question question_begin(prover *p)
{
    return (question){ clpi_facts_mark_get(p->symbols->facts), clpi_arena_mark_get(&p->question) };
}

static void question_end(prover *p, question q)
{
    clpi_facts_rewind(p->symbols->facts, q.facts);
    clpi_arena_rewind(&p->question, q.arena);
}

/* ---- Small facts ---- */

static void add_within(prover *p, const clpi_poly *a, const clpi_poly *size)                  /* 0 <= a < size */
{
    const clpi_poly zero = clpi_poly_constant(0);
    clpi_order_add(p->symbols->facts, a, &zero, 0);
    clpi_order_add(p->symbols->facts, size, a, 1);
}

static const char *reason(const prover *p)
{
    switch (p->symbols->why) {
    case CLPI_OPAQUE_PREFETCHED: return "an index map reads prefetched data";
    case CLPI_OPAQUE_LOADED: return "an index is read from an array";
    case CLPI_OPAQUE_CARRIED: return "an index is carried through a loop or a branch";
    case CLPI_OPAQUE_WRAPS: return "an index may leave the range of its dtype";
    case CLPI_OPAQUE_OTHER: return "an index is computed in a way that is not followed";
    default: return "neither a proof nor an example was found";
    }
}

/* ---- Races ---- */

/* One element that the access touches, in each dimension of the array. false: it touches none. */
static bool add_touched(prover *p, clpi_side *side, const access *a, clpi_poly *out_element)
{
    clpi_symbols *s = p->symbols;
    const clpi_operand *x = &p->ir->operands[a->operand];
    clpi_poly index[CLP_MAX_RANK];
    if (a->op) {
        clpi_path_add(s, side, a->op);
        if (!clpi_lane_add(s, side, a->op, index))
            return false;
    }
    for (int r = 0; r < x->ref_rank; r++) {
        const clpi_poly size = x->ref_size[r] >= 0 ? clpi_poly_constant(x->ref_size[r]) : clpi_size_poly(s, a->operand, x->ref_dim[r]);
        if (!a->op)
            index[r] = clpi_variable(s->facts, 0, INT32_MAX);
        add_within(p, &index[r], &size);
    }
    for (int d = 0; d < x->rank; d++)
        out_element[d] = clpi_start_poly(s, side, a->operand, d);
    for (int r = 0; r < x->ref_rank; r++)
        out_element[x->ref_dim[r]] = clpi_poly_sum(&out_element[x->ref_dim[r]], &index[r], 1);
    for (int d = 0; d < x->rank; d++) {
        const clpi_poly size = clpi_size_poly(s, a->operand, d);
        add_within(p, &out_element[d], &size);
    }
    return true;
}

/* The two touch one element. Of blocks side by side, of one size, it is the same place in the same block: in whole numbers more
 * than that the sums of start and place are equal.                                                                      */
static void add_same_element(prover *p, clpi_side *sides, const access *a, const access *b, clpi_poly (*element)[CLP_MAX_RANK])
{
    const clpi_operand *x = &p->ir->operands[a->operand], *y = &p->ir->operands[b->operand];
    for (int d = 0; d < x->rank; d++) {
        const clpi_poly distance = clpi_poly_sum(&element[0][d], &element[1][d], -1);
        clpi_fact_add(p->symbols->facts, &distance, true);
        if (!x->has_block || !y->has_block || x->block[d].kind != CLPI_BLOCK_PLAIN || y->block[d].kind != CLPI_BLOCK_PLAIN ||
            x->block[d].n != y->block[d].n)
            continue;
        const clpi_poly of_a = clpi_value_poly(p->symbols, &sides[0], x->block[d].index, NULL);
        const clpi_poly of_b = clpi_value_poly(p->symbols, &sides[1], y->block[d].index, NULL);
        const clpi_poly apart = clpi_poly_sum(&of_a, &of_b, -1);
        clpi_fact_add(p->symbols->facts, &apart, true);
    }
}

/* Whether a in one program and b in another cannot meet, where the programs agree in the parallel axes before plan->parallel[k]
 * and differ there: the first one is ahead (sign 1) or behind.                                                          */
static bool are_apart_from(prover *p, const access *a, const access *b, int k, int64_t sign)
{
    clpi_symbols *s = p->symbols;
    const question q = question_begin(p);
    const clpi_poly **shared = CLPI_NEW_N(&p->question, const clpi_poly *, (size_t)p->ir->n_axes);
    clpi_poly element[2][CLP_MAX_RANK];
    clpi_side side[2];
    bool are_apart = false;
    if (shared && clpi_side_begin(s, &side[0], shared)) {
        for (int i = 0; i < k; i++)
            shared[p->plan->parallel[i]] = &side[0].program[p->plan->parallel[i]];
        if (clpi_side_begin(s, &side[1], shared)) {
            const int axis = p->plan->parallel[k];
            clpi_order_add(p->symbols->facts, &side[sign < 0].program[axis], &side[sign > 0].program[axis], 1);
            are_apart = !add_touched(p, &side[0], a, element[0]) || !add_touched(p, &side[1], b, element[1]);
            if (!are_apart)
                add_same_element(p, side, a, b, element);
            are_apart = are_apart || clpi_facts_are_impossible(s->facts);
        }
    }
    question_end(p, q);
    return are_apart;
}

static bool are_apart(prover *p, const access *a, const access *b)
{
    const bool are_same = a->operand == b->operand && a->op == b->op;
    for (int k = 0; k < p->plan->n_parallel; k++)
        if (!are_apart_from(p, a, b, k, 1) || (!are_same && !are_apart_from(p, a, b, k, -1)))
            return false;
    return true;
}

/* All pairs of a list that may race; *out_of_two: a pair was of two operands. */
static bool are_all_apart(prover *p, const access *list, int n, bool *out_of_two)
{
    *out_of_two = false;
    for (int i = 0; i < n; i++)
        for (int k = i; k < n; k++) {
            if (!clpi_touches_race(list[i].kind, list[k].kind))
                continue;
            *out_of_two = *out_of_two || list[i].operand != list[k].operand;
            if (!are_apart(p, &list[i], &list[k]))
                return false;
        }
    return true;
}

/* Accesses of the body to a storage; of_blocks: one for each operand and kind. -1: out of memory. */
static int list_accesses(const prover *p, int storage, bool of_blocks, access **out)
{
    const clpi_ir *ir = p->ir;
    int n = 0;
    *out = CLPI_NEW_N(p->arena, access, ir->ops.n);
    for (uint32_t id = ir->n_header; *out && id < ir->ops.n; id++) {
        const clpi_op *op = &ir->ops.items[id];
        if (op->operand < 0 || p->plan->storage[op->operand] != storage)
            continue;
        const access a = { op->operand, of_blocks ? 0 : id, clpi_touch_kind_of(op) };
        bool is_known = false;
        for (int i = 0; of_blocks && i < n; i++)
            is_known = is_known || ((*out)[i].operand == a.operand && (*out)[i].kind == a.kind);
        if (!is_known)
            (*out)[n++] = a;
    }
    return *out ? n : -1;
}

static clp_status prove_no_race(prover *p, clpi_claim *out)
{
    access *list;
    for (int of_ops = 0; of_ops < 2; of_ops++) {
        const clpi_arena_mark mark = clpi_arena_mark_get(p->arena);
        const int n = list_accesses(p, out->operand, !of_ops, &list);
        if (n < 0)
            return CLP_ERR_OOM;
        p->symbols->why = CLPI_OPAQUE_NOT;
        const bool are_too_many = (int64_t)n * (n + 1) / 2 > MAX_PAIRS;
        bool is_proved = !are_too_many && are_all_apart(p, list, n, &out->needs_one_array);
        clpi_arena_rewind(p->arena, mark);
        out->verdict = is_proved ? CLPI_PROVED : CLPI_UNDECIDED;
        out->why = is_proved ? NULL : are_too_many ? "too many accesses" : reason(p);
        if (is_proved)
            break;
        out->needs_one_array = false;
    }
    return CLP_OK;
}

/* ---- Blocks ---- */

/* Whether the index is below the number of blocks, cdiv(size, n): the way that most grids count. */
static bool is_block_in_front(prover *p, clpi_side *side, const clpi_block_dim *dim, const clpi_poly *size)
{
    clpi_symbols *s = p->symbols;
    const clpi_poly n = clpi_poly_constant(dim->n), minus = clpi_poly_times(size, -1);
    if (dim->kind != CLPI_BLOCK_PLAIN)
        return false;
    const clpi_poly q = clpi_poly_quotient(s->facts, &minus, &n), index = clpi_value_poly(s, side, dim->index, NULL);
    const clpi_poly sum = clpi_poly_sum(&q, &index, 1), room = clpi_poly_times(&sum, -1);
    return clpi_poly_is_at_least(s->facts, &room, 1);
}

static bool is_block_inside(prover *p, int operand)
{
    clpi_symbols *s = p->symbols;
    const clpi_operand *x = &p->ir->operands[operand];
    const question q = question_begin(p);
    clpi_side side;
    bool is_inside = clpi_side_begin(s, &side, NULL);
    const clpi_poly one = clpi_poly_constant(1);
    for (int d = 0; is_inside && d < x->rank; d++) { /* of an array without elements no block can lie outside */
        const clpi_poly size = clpi_size_poly(s, operand, d);
        clpi_order_add(p->symbols->facts, &size, &one, 0);
    }
    for (int d = 0; is_inside && d < x->rank; d++) {
        const clpi_poly start = clpi_start_poly(s, &side, operand, d), size = clpi_size_poly(s, operand, d);
        const clpi_poly room = clpi_poly_sum(&size, &start, -1);
        is_inside = clpi_poly_is_at_least(s->facts, &start, 1 - x->block[d].n) &&
                    (clpi_poly_is_at_least(s->facts, &room, 1) || is_block_in_front(p, &side, &x->block[d], &size));
    }
    question_end(p, q);
    return is_inside;
}

/* ---- Indices ---- */

static bool is_range_inside(prover *p, uint32_t id)
{
    clpi_symbols *s = p->symbols;
    const clpi_op *op = &p->ir->ops.items[id];
    const clpi_operand *x = &p->ir->operands[op->operand];
    const question q = question_begin(p);
    clpi_poly index[CLP_MAX_RANK];
    clpi_side side;
    bool is_inside = clpi_side_begin(s, &side, NULL);
    if (is_inside) {
        clpi_path_add(s, &side, id);
        const uint32_t n = clpi_lane_add(s, &side, id, index) ? op->n_subs : 0;
        for (uint32_t i = 0; is_inside && i < n; i++) {
            const clpi_poly size = x->ref_size[i] >= 0 ? clpi_poly_constant(x->ref_size[i]) : clpi_size_poly(s, op->operand, x->ref_dim[i]);
            const clpi_poly room = clpi_poly_sum(&size, &index[i], -1);
            is_inside = clpi_poly_is_at_least(s->facts, &index[i], 0) && clpi_poly_is_at_least(s->facts, &room, 1);
        }
    }
    question_end(p, q);
    return is_inside;
}

/* ---- All of it ---- */

static bool has_races(const prover *p, int operand)
{
    const clp_role role = p->ir->operands[operand].role;
    return p->plan->storage[operand] == operand && p->plan->is_written[operand] && role != CLP_SCRATCH && role != CLP_SCALAR;
}

/* Constants that building has compared with the size are none. */
static bool has_range(const prover *p, uint32_t id)
{
    const clpi_op *op = &p->ir->ops.items[id];
    bool may_leave = false;
    for (uint32_t i = 0; op->operand >= 0 && i < op->n_subs; i++)
        may_leave = may_leave || clpi_sub_may_leave(p->ir, op, i);
    return may_leave && p->ir->operands[op->operand].role != CLP_SCALAR;
}

static void claim(clpi_proofs *proofs, bool is_claimed, clpi_claim_kind kind, int operand, uint32_t op)
{
    if (is_claimed && proofs->claims)
        proofs->claims[proofs->n] = (clpi_claim){ .kind = kind, .operand = operand, .op = op, .verdict = CLPI_UNDECIDED };
    proofs->n += is_claimed;
}

/* All there is to claim; counted only where there is no list yet. */
static void claim_all(const prover *p)
{
    const clpi_ir *ir = p->ir;
    p->proofs->n = 0;
    for (int i = 0; i < ir->n_operands; i++)
        claim(p->proofs, has_races(p, i), CLPI_CLAIM_NO_RACE, i, 0);
    for (int i = 0; i < ir->n_operands; i++)
        claim(p->proofs, ir->operands[i].has_block, CLPI_CLAIM_BLOCK_INSIDE, i, 0);
    for (uint32_t id = ir->n_header; id < ir->ops.n; id++)
        claim(p->proofs, has_range(p, id), CLPI_CLAIM_INDEX_INSIDE, ir->ops.items[id].operand, id);
}

static clp_status proofs_new(prover *p)
{
    p->proofs = CLPI_NEW(p->arena, clpi_proofs);
    if (!p->proofs)
        return CLP_ERR_OOM;
    claim_all(p);
    p->proofs->claims = CLPI_NEW_N(p->arena, clpi_claim, (size_t)p->proofs->n);
    if (!p->proofs->claims)
        return CLP_ERR_OOM;
    claim_all(p);
    return CLP_OK;
}

static void prove_inside(prover *p, clpi_claim *out)
{
    const bool is_block = out->kind == CLPI_CLAIM_BLOCK_INSIDE;
    p->symbols->why = is_block && clpi_block_reads_data(p->plan, out->operand) ? CLPI_OPAQUE_PREFETCHED : CLPI_OPAQUE_NOT;
    if (is_block ? is_block_inside(p, out->operand) : is_range_inside(p, out->op))
        out->verdict = CLPI_PROVED;
    else
        out->why = reason(p);
}

static clp_status prove_all(prover *p)
{
    for (int i = 0; i < p->proofs->n; i++) {
        clpi_claim *c = &p->proofs->claims[i];
        if (c->kind == CLPI_CLAIM_NO_RACE)
            CLP_TRY(prove_no_race(p, c));
        else
            prove_inside(p, c);
    }
    return p->question.failed || p->arena->failed ? CLP_ERR_OOM : CLP_OK;
}

/* Where the search has what it looks for of a claim. */
static clpi_wanted *wanted_of(const clpi_search *search, const clpi_claim *c)
{
    switch (c->kind) {
    case CLPI_CLAIM_NO_RACE: return &search->races[c->operand];
    case CLPI_CLAIM_BLOCK_INSIDE: return &search->blocks[c->operand];
    case CLPI_CLAIM_INDEX_INSIDE: return &search->ranges[c->op];
    }
    assert(0 && "a kind of claim");
    return NULL;
}

/* Looks for examples of what was not proved. */
static clp_status look(prover *p)
{
    const clpi_ir *ir = p->ir;
    clpi_proofs *out = p->proofs;
    clpi_search search = { ir, p->plan, p->arena, CLPI_NEW_N(p->arena, clpi_wanted, (size_t)ir->n_operands),
                           CLPI_NEW_N(p->arena, clpi_wanted, (size_t)ir->n_operands), CLPI_NEW_N(p->arena, clpi_wanted, ir->ops.n) };
    if (!search.races || !search.blocks || !search.ranges)
        return CLP_ERR_OOM;
    for (int i = 0; i < out->n; i++)
        wanted_of(&search, &out->claims[i])->is_wanted = out->claims[i].verdict == CLPI_UNDECIDED;
    if (!clpi_search_run(&search))
        return CLP_ERR_OOM;
    for (int i = 0; i < out->n; i++) {
        clpi_claim *c = &out->claims[i];
        c->witness = wanted_of(&search, c)->found;
        if (c->witness) {
            c->verdict = CLPI_FOUND;
            c->why = NULL;
        }
    }
    return CLP_OK;
}

static bool are_all_proved(const clpi_proofs *proofs)
{
    bool are = true;
    for (int i = 0; i < proofs->n; i++)
        are = are && proofs->claims[i].verdict == CLPI_PROVED;
    return are;
}

clp_status clpi_prove(clpi_env *env, clpi_arena *arena, const clpi_ir *ir, const clpi_plan *plan, clpi_proofs **out_proofs)
{
    prover p = { .ir = ir, .plan = plan, .arena = arena };
    *out_proofs = NULL;
    clpi_arena_init(&p.question, env);
    clp_status status = proofs_new(&p);
    if (!status && !(p.symbols = clpi_symbols_new(arena, &p.question, ir, plan)))
        status = CLP_ERR_OOM;
    if (!status)
        status = prove_all(&p);
    if (!status && !are_all_proved(p.proofs))
        status = look(&p);
    clpi_arena_done(&p.question);
    if (status)
        return status;
    p.proofs->all_proved = are_all_proved(p.proofs);
    *out_proofs = p.proofs;
    return CLP_OK;
}
