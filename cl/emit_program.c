/* emit_program: what stands around one program: arrays, sequences, the loops over arbitrary axes, and where blocks are.
 *
 * In: plan and schedule. Out: the frame of the kernel. A group takes sequences g, g + groups, ...; inside, each program
 * works out its ids, evaluates the index maps in 64 bits, and finds where each block starts and how much of it exists.    */
#include "cl/emit.h"

/* ---- Header values ---- */

static const char *header_text(clpi_emit *e, clp_val v);

/* The condition that dimension d of a prefetch operand has the index that op reads at. */
static const char *exists_text(clpi_emit *e, const clpi_op *op, uint32_t d)
{
    const char *ix = header_text(e, clpi_args(e->ir, op)[d]);
    return clpi_text(e, "0 <= %s && %s < %s", ix, ix, clpi_number_text(e, CLPI_NUMBER_SIZE, op->operand, (int)d));
}

/* An element of a prefetch operand; past its end -1, which is no block. */
static const char *prefetched_text(clpi_emit *e, const clpi_op *op)
{
    const clpi_operand *x = &e->ir->operands[op->operand];
    const char *inside = NULL, *at = clpi_number_text(e, CLPI_NUMBER_OFFSET, op->operand, 0);
    for (uint32_t d = 0; d < op->n_args; d++) {
        inside = clpi_and_text(e, inside, exists_text(e, op, d));
        at = clpi_text(e, "%s + %s * %s", at, header_text(e, clpi_args(e->ir, op)[d]),
                       clpi_number_text(e, CLPI_NUMBER_STRIDE, op->operand, (int)d));
    }
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    if (clpi_is_packed(x->dtype))
        clpi_prelude_nibble(&e->prelude, &s, x->dtype, clpi_text(e, "%s_mem", x->name), at);
    else
        clpi_str_add(&s, "%s_mem[%s]", x->name, at);
    return clpi_text(e, "(%s ? %s : -1L)", inside ? inside : "1", clpi_widened_text(e, x->dtype, clpi_take_text(e, &s)));
}

static const char *header_text(clpi_emit *e, clp_val v)
{
    const clpi_op *op = clpi_op_at(e->ir, v);
    int64_t c;
    if (clpi_const_int(e->ir, v, &c))
        return clpi_text(e, c < 0 ? "(%lldL)" : "%lldL", (long long)c);
    if (e->p->plan->when[v.id] <= CLPI_WHEN_LAUNCH)
        return clpi_number_text(e, CLPI_NUMBER_HEADER, (int)v.id, 0);
    if (op->kind == CLP_OP_program_id)
        return clpi_widened_text(e, CLP_I32, clpi_text(e, "%s_id", e->ir->axes[op->attr].name));
    if (op->kind == CLP_OP_load)
        return prefetched_text(e, op);
    const char *args[3] = { 0 };
    for (uint32_t i = 0; i < op->n_args && i < 3; i++)
        args[i] = header_text(e, clpi_args(e->ir, op)[i]);
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    clp_val last = clpi_args(e->ir, op)[op->n_args - 1];
    if (op->kind == CLP_OP_cast)
        clpi_prelude_cast(&e->prelude, &s, clpi_type_of(e->ir, v)->dtype, clpi_type_of(e->ir, last)->dtype, 1, 0, args[0]);
    else
        clpi_prelude_ew(&e->prelude, &s, op->kind, clpi_type_of(e->ir, last)->dtype, 1, args);
    const char *text = clpi_text(e, "(%s)", s.text);
    clpi_str_done(&s);
    return text;
}

/* ---- Blocks ---- */

bool clpi_has_squeezed(const clpi_operand *x)
{
    for (int d = 0; x->has_block && d < x->rank; d++)
        if (x->block[d].kind == CLPI_BLOCK_SQUEEZED)
            return true;
    return false;
}

bool clpi_has_low_edge(const clpi_operand *x, int ref_dim)
{
    return x->has_block && x->block[x->ref_dim[ref_dim]].kind == CLPI_BLOCK_ELEMENT;
}

/* Are all blocks found to touch the array before the launch? An index that reads prefetched data cannot be, one that is not
 * affine need not be: its programs may be too many to try. Such are looked at here.                                       */
static bool is_known_inside(const clpi_emit *e, clp_val v)
{
    const clpi_when *when = e->p->plan->when;
    const clpi_op *op = clpi_op_at(e->ir, v);
    const clp_val *args = clpi_args(e->ir, op);
    if (when[v.id] < CLPI_WHEN_PROGRAM || op->kind == CLP_OP_program_id)
        return true;
    if (op->kind == CLP_OP_neg)
        return is_known_inside(e, args[0]);
    if (op->kind == CLP_OP_mul && when[args[0].id] >= CLPI_WHEN_PROGRAM && when[args[1].id] >= CLPI_WHEN_PROGRAM)
        return false;
    return (op->kind == CLP_OP_add || op->kind == CLP_OP_sub || op->kind == CLP_OP_mul) && is_known_inside(e, args[0]) &&
           is_known_inside(e, args[1]);
}

/* x_at<d>, the first element along array dimension d, and x_lo (where it can be above 0) and x_hi of ref dimension
 * r (-1: squeezed). */
static void emit_window(clpi_emit *e, int operand, int d, int r)
{
    const clpi_operand *x = &e->ir->operands[operand];
    const clpi_block_dim *b = &x->block[d];
    const char *name = x->name, *size = clpi_number_text(e, CLPI_NUMBER_SIZE, operand, d);
    bool by_data = !is_known_inside(e, b->index);
    long long n = (long long)b->n;
    clpi_line(e, "const long %s_b%d = %s;", name, d, header_text(e, b->index));
    if (b->kind == CLPI_BLOCK_SQUEEZED) {
        clpi_line(e, "const int %s_in%d = 0 <= %s_b%d && %s_b%d < %s;", name, d, name, d, name, d, size);
        clpi_line(e, by_data ? "const long %s_at%d = %s_in%d ? %s_b%d : 0;" : "const long %s_at%d = %s_b%d;", name, d,
                  name, d, name, d);
        return;
    }
    if (b->kind == CLPI_BLOCK_ELEMENT) {
        clpi_line(e, "const long %s_at%d = %s_b%d - %lldL;", name, d, name, d, (long long)b->pad_lo);
        clpi_line(e, "const int %s_lo%d = (int)clamp(-%s_at%d, 0L, %lldL);", name, r, name, d, n);
        clpi_line(e, "const int %s_hi%d = (int)clamp(%s - %s_at%d, 0L, %lldL);", name, r, size, name, d, n);
        return;
    }
    if (by_data) {
        clpi_line(e, "const int %s_in%d = 0 <= %s_b%d && %s_b%d < %s && %s_b%d * %lldL < %s;", name, d, name, d, name,
                  d, size, name, d, n, size);
        clpi_line(e, "const long %s_at%d = %s_in%d ? %s_b%d * %lldL : %s;", name, d, name, d, name, d, n, size);
    } else {
        clpi_line(e, "const long %s_at%d = %s_b%d * %lldL;", name, d, name, d, n);
    }
    clpi_line(e, "const int %s_hi%d = (int)min(%s - %s_at%d, %lldL);", name, r, size, name, d, n);
}

static int ref_dim_of(const clpi_operand *x, int d)
{
    for (int r = 0; r < x->ref_rank; r++)
        if (x->ref_dim[r] == d)
            return r;
    return -1;
}

static void emit_fast(clpi_emit *e, const clpi_operand *x)
{
    const char *text = NULL;
    for (int r = 0; x->has_block && r < x->ref_rank; r++) {
        if (clpi_has_low_edge(x, r))
            text = clpi_and_text(e, text, clpi_text(e, "%s_lo%d == 0", x->name, r));
        text = clpi_and_text(e, text, clpi_text(e, "%s_hi%d == %lld", x->name, r, (long long)x->ref_size[r]));
    }
    if (clpi_has_squeezed(x))
        text = clpi_and_text(e, text, clpi_text(e, "%s_in", x->name));
    if (x->ref_rank > 0 && x->ref_dim[x->ref_rank - 1] == x->rank - 1)
        text = clpi_and_text(e, text, clpi_text(e, "%s_s%d == 1", x->name, x->ref_rank - 1));
    clpi_line(e, "const int %s_fast = %s;", x->name, text ? text : "1");
}

/* The condition that vectors of so many elements begin, in each row, where a vector in memory may. */
static const char *aligned_text(clpi_emit *e, const clpi_operand *x, int lanes)
{
    const char *text = clpi_text(e, "(size_t)%s_p %% %d == 0", x->name, lanes * clp_dtype_bits(x->dtype) / 8);
    for (int r = 0; r < x->ref_rank - 1; r++)
        text = clpi_text(e, "%s && %s_s%d %% %d == 0", text, x->name, r, lanes);
    return text;
}

static void emit_wide(clpi_emit *e, const clpi_operand *x)
{
    if (x->ref_rank > 0 && !clpi_is_packed(x->dtype))
        clpi_line(e, "const int %s_wide = %s_s%d == 1 && %s;", x->name, x->name, x->ref_rank - 1, aligned_text(e, x, CLPI_WIDE));
}

/* Is it stored past the caches? Only vectors that are aligned as such go there. */
static void emit_far(clpi_emit *e, int operand)
{
    const clpi_operand *x = &e->ir->operands[operand];
    clpi_line(e, "const int %s_far = %s && %s;", x->name, clpi_number_text(e, CLPI_NUMBER_FAR, operand, 0), aligned_text(e, x, e->s->lanes));
}

static void emit_block(clpi_emit *e, int operand)
{
    const clpi_operand *x = &e->ir->operands[operand];
    const char *at = clpi_number_text(e, CLPI_NUMBER_OFFSET, operand, 0), *all_in = NULL;
    for (int d = 0; d < x->rank; d++) {
        int r = ref_dim_of(x, d);
        if (r >= 0)
            clpi_line(e, "const long %s_s%d = %s;", x->name, r, clpi_number_text(e, CLPI_NUMBER_STRIDE, operand, d));
        if (x->has_block) {
            emit_window(e, operand, d, r);
            at = clpi_text(e, "%s + %s_at%d * %s", at, x->name, d, clpi_number_text(e, CLPI_NUMBER_STRIDE, operand, d));
        } else {
            clpi_line(e, "const int %s_hi%d = (int)%s;", x->name, r, clpi_number_text(e, CLPI_NUMBER_SIZE, operand, d));
        }
        if (x->has_block && x->block[d].kind == CLPI_BLOCK_SQUEEZED)
            all_in = clpi_and_text(e, all_in, clpi_text(e, "%s_in%d", x->name, d));
    }
    if (all_in)
        clpi_line(e, "const int %s_in = %s;", x->name, all_in);
    const char *constant = e->p->plan->is_written[operand] ? "" : "const ", *type = clpi_cl_stored_type(x->dtype, 1);
    if (clpi_is_packed(x->dtype)) {
        clpi_line(e, "const long %s_at = %s;", x->name, at);
        clpi_line(e, "__global %s%s *const %s_p = %s_mem;", constant, type, x->name, x->name);
    } else {
        clpi_line(e, "__global %s%s *const %s_p = %s_mem + (%s);", constant, type, x->name, x->name, at);
    }
    if (clpi_is_simt(e))
        emit_wide(e, x);
    else
        emit_fast(e, x);
    if (e->s->is_streamed[operand])
        emit_far(e, operand);
}

/* ---- Blocks of a checked program ---- */

static bool may_be_outside(const clpi_emit *e, int operand)
{
    const clpi_operand *x = &e->ir->operands[operand];
    for (int d = 0; x->has_block && d < x->rank; d++)
        if (!is_known_inside(e, x->block[d].index))
            return true;
    return false;
}

/* The condition that all prefetched elements that v reads exist; NULL: it reads none. */
static const char *known_text(clpi_emit *e, clp_val v)
{
    const clpi_op *op = clpi_op_at(e->ir, v);
    const char *text = NULL;
    if (e->p->plan->when[v.id] < CLPI_WHEN_DATA)
        return NULL;
    for (uint32_t i = 0; i < op->n_args; i++) {
        text = clpi_and_text(e, text, known_text(e, clpi_args(e->ir, op)[i]));
        if (op->kind == CLP_OP_load)
            text = clpi_and_text(e, text, exists_text(e, op, i));
    }
    return text;
}

/* A block of an array without elements lies nowhere: that is no fault. */
static void emit_block_check(clpi_emit *e, int operand)
{
    const clpi_operand *x = &e->ir->operands[operand];
    const char *inside = NULL, *exists = NULL;
    for (int d = 0; d < x->rank; d++) {
        const clpi_block_dim *b = &x->block[d];
        const char *size = clpi_number_text(e, CLPI_NUMBER_SIZE, operand, d);
        exists = clpi_and_text(e, exists, clpi_text(e, "%s > 0", size));
        if (is_known_inside(e, b->index))
            continue;
        inside = clpi_and_text(e, inside, known_text(e, b->index));
        if (b->kind == CLPI_BLOCK_ELEMENT)
            inside = clpi_and_text(e, inside, clpi_text(e, "%s_at%d < %s && %s_at%d > -%lldL", x->name, d, size, x->name, d,
                                                        (long long)b->n));
        else
            inside = clpi_and_text(e, inside, clpi_text(e, "%s_in%d", x->name, d));
    }
    clpi_open(e, "if (!(%s) && %s)", inside, exists);
    clpi_emit_fault(e, -1 - operand, NULL, 0);
    clpi_close(e);
}

/* ---- Which operands the body touches ---- */

static void note_nest(const clpi_nest *n, bool *used)
{
    for (uint32_t i = 0; i < n->accesses.n; i++)
        if (!n->accesses.items[i].is_tile)
            used[n->accesses.items[i].target] = true;
}

static void note_used(const clpi_steps *steps, bool *used)
{
    for (uint32_t i = 0; i < steps->n; i++) {
        const clpi_step *s = steps->items[i];
        if (s->nest)
            note_nest(s->nest, used);
        if (s->dot) {
            note_nest(s->dot->a, used);
            note_nest(s->dot->b, used);
        }
        note_used(&s->body, used);
        note_used(&s->other, used);
    }
}

/* ---- The frame ---- */

/* What this work-item has of a tile: [rows], or [rows][columns in runs]. */
static void emit_owned(clpi_emit *e, int tile)
{
    const clpi_tile *t = &e->p->tiles.items[tile];
    const clpi_deal d = clpi_deal_of(e->s, t->rank, t->shape);
    if (clpi_is_row_tile(t))
        clpi_line(e, "%s %s[%d];", clpi_cl_type(t->dtype, 1), clpi_tile_name(e, tile), d.rows);
    else
        clpi_line(e, "%s %s[%d][%d];", clpi_cl_type(t->dtype, d.column_run), clpi_tile_name(e, tile), d.rows, d.columns / d.column_run);
}

static void emit_slots(clpi_emit *e)
{
    for (uint32_t i = 0; i < e->s->slots.n; i++) {
        const clpi_slot *slot = &e->s->slots.items[i];
        const char *type = clpi_tile_type(slot->dtype, 1), *space = clpi_home_space(slot->home);
        if (slot->home == CLPI_HOME_WORKSPACE)
            clpi_line(e, "__global %s *const a%u = (__global %s *)(workspace + get_group_id(0) * %lluul + %lluul);",
                      type, i, type, (unsigned long long)e->s->workspace_bytes, (unsigned long long)slot->at);
        else
            clpi_line(e, "%s%s a%u[%lld] __attribute__((aligned(64)));", space, type, i, (long long)slot->n_elems);
    }
    if (e->s->joint_slot >= 0)
        clpi_line(e, "%sulong *const joint = a%d;", clpi_slot_space(e, e->s->joint_slot), e->s->joint_slot);
    for (uint32_t t = 0; t < e->p->tiles.n; t++) {
        const clpi_tile *tile = &e->p->tiles.items[t];
        const clpi_tile_place *place = &e->s->tiles[t];
        if (place->home == CLPI_HOME_PRIVATE && clpi_is_simt(e))
            emit_owned(e, (int)t);
        else if (place->home == CLPI_HOME_REGISTER)
            clpi_line(e, "%s %s;", clpi_cl_type(tile->dtype, 1), clpi_tile_name(e, (int)t));
        else if (place->home != CLPI_HOME_NONE)
            clpi_line(e, "%s%s *const %s = a%d;", clpi_home_space(place->home), clpi_tile_type(tile->dtype, 1),
                      clpi_tile_name(e, (int)t), place->slot);
    }
}

/* The parallel axes out of the number of the sequence, the last fastest. */
static void emit_parallel_ids(clpi_emit *e)
{
    const clpi_plan *plan = e->p->plan;
    if (plan->n_parallel > 0)
        clpi_line(e, "ulong rest = sequence;");
    for (int i = plan->n_parallel - 1; i >= 0; i--) {
        int axis = plan->parallel[i];
        const char *name = e->ir->axes[axis].name, *count = clpi_number_text(e, CLPI_NUMBER_BOX_COUNT, axis, 0);
        const char *start = clpi_number_text(e, CLPI_NUMBER_BOX_START, axis, 0);
        if (i > 0) {
            clpi_line(e, "const int %s_id = (int)(%s + (long)(rest %% (ulong)%s));", name, start, count);
            clpi_line(e, "rest /= (ulong)%s;", count);
        } else {
            clpi_line(e, "const int %s_id = (int)(%s + (long)rest);", name, start);
        }
    }
}

static void emit_scalars(clpi_emit *e)
{
    for (int i = 0; i < e->ir->n_operands; i++) {
        const clpi_operand *x = &e->ir->operands[i];
        if (x->role == CLP_SCALAR)
            clpi_line(e, "const %s %s_v = %s_arg%s;", clpi_cl_type(clpi_loaded(x->dtype), 1), x->name, x->name,
                      x->dtype == CLP_BOOL ? " != 0" : "");
    }
}

/* One program, or a part of one, with its innermost arbitrary axis where `at` says. */
static void emit_part(clpi_emit *e, clpi_part part)
{
    bool *used = CLPI_NEW_N(e->arena, bool, (size_t)e->ir->n_operands + 1);
    if (!used)
        return;
    note_used(&e->p->parts[part], used);
    if (e->p->is_checked && e->s->has_loop)
        clpi_line(e, "const int n_before = n_faults;");
    for (int i = 0; i < e->ir->n_operands; i++) {
        bool is_looked_at = e->p->is_checked && may_be_outside(e, i);
        if (used[i] || is_looked_at)
            emit_block(e, i);
        if (is_looked_at)
            emit_block_check(e, i);
    }
    clpi_emit_stages(e, &e->s->parts[part]);
}

/* A part that runs once for the loop over the innermost axis, at one end of it. */
static void emit_end(clpi_emit *e, clpi_part part, int axis)
{
    const char *name = e->ir->axes[axis].name, *start = clpi_number_text(e, CLPI_NUMBER_BOX_START, axis, 0);
    const char *count = clpi_number_text(e, CLPI_NUMBER_BOX_COUNT, axis, 0);
    if (e->s->parts[part].n == 0)
        return;
    clpi_open(e, "if (%s > 0)", count);
    if (part == CLPI_PART_FIRST)
        clpi_line(e, "const int %s_id = (int)%s;", name, start);
    else
        clpi_line(e, "const int %s_id = (int)(%s + %s - 1);", name, start, count);
    emit_part(e, part);
    clpi_close(e);
}

/* The loops over arbitrary axes from the i-th on, with the program inside. */
static void emit_axes(clpi_emit *e, int i)
{
    const clpi_plan *plan = e->p->plan;
    if (i == plan->n_arbitrary) {
        emit_part(e, CLPI_PART_EVERY);
        if (e->s->has_print)
            clpi_line(e, "step++;");
        return;
    }
    int axis = plan->arbitrary[i];
    bool is_innermost = i == plan->n_arbitrary - 1;
    const char *name = e->ir->axes[axis].name, *start = clpi_number_text(e, CLPI_NUMBER_BOX_START, axis, 0);
    if (is_innermost)
        emit_end(e, CLPI_PART_FIRST, axis);
    clpi_open(e, "for (int %s_id = (int)%s; %s_id < %s + %s; %s_id++)", name, start, name, start,
              clpi_number_text(e, CLPI_NUMBER_BOX_COUNT, axis, 0), name);
    if (is_innermost && clpi_is_simt(e)) {
        e->loop_id = clpi_text(e, "%s_id", name);
        clpi_renew_lid(e, NULL);
    }
    emit_axes(e, i + 1);
    e->loop_id = NULL;
    clpi_close(e);
    if (is_innermost)
        emit_end(e, CLPI_PART_LAST, axis);
}

/* A loop of two rounds, whatever the number of sequences, which no compiler knows: it is left after the first when rounds have run out. */
static void emit_cut(clpi_emit *e)
{
    const char *n = clpi_number_text(e, CLPI_NUMBER_N_SEQUENCES, 0, 0);
    clpi_line(e, "int rounds = 0;");
    clpi_line(e, "for (long at = 0; at <= %s; at += %s)", n, n);
    clpi_line(e, "    rounds++;");
    clpi_line(e, "if (rounds < 2)");
    clpi_line(e, "    *cut = 1;");
}

/* Such a compiler runs work-items in vectors, those of the vector that the group lacks too: they read zeros, write nothing and go
 * round loops with the others, it may be for ever. They get no sequence. Known to be of one work-item, the group would have the id 0 in all. */
bool clpi_has_spare_lanes(const clpi_emit *e)
{
    return e->s->limits.loop_rounds > 0 && !clpi_is_simt(e);
}

void clpi_renew_lid(clpi_emit *e, const char *turn)
{
    if (e->s->limits.is_cpu)
        return;
    const char *more = turn         ? clpi_text(e, " + (ulong)%s", turn)
                       : e->loop_id ? clpi_text(e, " + (ulong)%s + %d", e->loop_id, e->n_lids++)
                                    : clpi_text(e, " + %d", e->n_lids++);
    clpi_line(e, "const int lid = (int)((get_local_id(0) + ((sequence%s) >> 63)) & %llu);", more, (unsigned long long)e->s->group_size - 1);
}

static void emit_lid(clpi_emit *e)
{
    if (e->s->limits.is_cpu)
        clpi_line(e, "const int lid = (int)get_local_id(0);");
    else
        clpi_renew_lid(e, NULL);
}

static void emit_drain(clpi_emit *e)
{
    const char *far = NULL;
    for (int i = 0; i < e->ir->n_operands; i++)
        if (e->s->is_streamed[i])
            far = clpi_text(e, "%s%s%s != 0", far ? far : "", far ? " || " : "", clpi_number_text(e, CLPI_NUMBER_FAR, i, 0));
    if (!far)
        return;
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    clpi_prelude_drain(&e->prelude, &s, far);
    clpi_line(e, "%s;", clpi_take_text(e, &s));
}

void clpi_emit_kernel(clpi_emit *e)
{
    emit_slots(e);
    emit_scalars(e);
    if (e->p->is_checked) {
        clpi_line(e, "__global long *const fault = faults + get_group_id(0) * %d;      /* how many, the op, its program, its index */",
                  e->fault_words);
        clpi_line(e, "int n_faults = 0;");
    }
    const char *n = clpi_number_text(e, CLPI_NUMBER_N_SEQUENCES, 0, 0);
    clpi_open(e, "for (ulong sequence = get_group_id(0)%s; sequence < (ulong)%s; sequence += get_num_groups(0))",
              clpi_has_spare_lanes(e) ? clpi_text(e, " + get_local_id(0) * (ulong)%s", n) : "", n);
    if (clpi_is_simt(e))
        emit_lid(e);
    if (e->s->has_print)
        clpi_line(e, "ulong step = 0;");
    emit_parallel_ids(e);
    emit_axes(e, 0);
    clpi_close(e);
    emit_drain(e);
    if (e->p->is_checked)
        clpi_line(e, clpi_is_simt(e) ? "if (get_local_id(0) == 0)\n        fault[%d] = n_faults;" : "fault[%d] = n_faults;", CLPI_RECORD_COUNT);
    if (e->s->limits.loop_rounds > 0)
        emit_cut(e);
}
