/* emit_check: what a checked program looks at, and what it tells of a fault (code.h draws the record).
 *
 * In: a check over its domain. Out: text that finds the first point, in row-major order, that fails, and takes the fault down
 * if it is the first of the group. A group runs its programs in order, and simt agrees on that point before one work-item
 * writes: so the record of a group is that of its first fault in the interpreter's order, and no atomics are needed.      */
#include "cl/emit.h"

void clpi_emit_fault(clpi_emit *e, long long what, const char *const *index, int n_index)
{
    int at = CLPI_RECORD_PROGRAM;
    clpi_open(e, clpi_is_simt(e) ? "if (lid == 0 && n_faults == 0)" : "if (n_faults == 0)");
    clpi_line(e, "fault[%d] = %lld;", CLPI_RECORD_WHAT, what);
    for (int i = 0; i < e->ir->n_axes; i++)
        clpi_line(e, "fault[%d] = %s_id;", at++, e->ir->axes[i].name);
    for (int i = 0; i < n_index; i++)
        clpi_line(e, "fault[%d] = %s;", at++, index[i]);
    clpi_close(e);
    clpi_line(e, "n_faults++;");
}

/* ---- What fails at a point ---- */

static const char *size_text(clpi_emit *e, const clpi_access *a, int d)
{
    if (a->size[d] >= 0)
        return clpi_text(e, "%lld", (long long)a->size[d]);
    return clpi_number_text(e, CLPI_NUMBER_SIZE, a->target, e->ir->operands[a->target].ref_dim[d]);
}

static const char *inside_text(clpi_emit *e, const clpi_access *a)
{
    const char *text = NULL;
    for (int d = 0; d < a->rank; d++) {
        if (!(a->checked >> d & 1))
            continue;
        const clpi_ix *ix = &a->ix[d];
        const char *at = clpi_ix_text(e, ix);
        if (ix->node >= 0 || ix->mul < 0 || ix->add < 0)
            text = clpi_and_text(e, text, clpi_text(e, "0 <= %s", at));
        text = clpi_and_text(e, text, clpi_text(e, "%s < %s", at, size_text(e, a, d)));
    }
    return text ? text : "1";
}

static const char *fails_text(clpi_emit *e, const clpi_step_check *check)
{
    if (check->condition >= 0)
        return clpi_text(e, "!%s", clpi_value_text(e, check->condition, 1, 0));
    const char *fails = clpi_text(e, "!(%s)", inside_text(e, &check->place));
    return check->place.mask < 0 ? fails : clpi_text(e, "%s && %s", clpi_value_text(e, check->place.mask, 1, 0), fails);
}

static void tell(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_access *a = &stage->step->check->place;
    const char *index[CLP_MAX_RANK];
    for (int d = 0; d < a->rank; d++) {
        uint64_t more = (uint64_t)stage->step->check->more[d];
        index[d] = clpi_ix_text(e, &a->ix[d]);
        if (more)
            index[d] = clpi_text(e, "(long)((ulong)(%s) + %lluul)", index[d], (unsigned long long)more);
    }
    clpi_emit_fault(e, stage->step->op, index, a->rank);
}

/* ---- The first point that fails ---- */

static void count_uses(clpi_emit *e, const clpi_step_check *check)
{
    int nodes[CLP_MAX_RANK + 2] = { check->condition, check->place.mask }, n = 2;
    for (int d = 0; d < check->place.rank; d++)
        nodes[n++] = check->place.ix[d].node;
    for (int i = 0; i < n; i++)
        if (nodes[i] >= 0)
            e->values[nodes[i]].n_uses += 2;      /* written several times */
}

/* The point `item` of the domain, ready to be looked at. */
static void emit_point(clpi_emit *e)
{
    clpi_forget_from(e, 0);
    clpi_emit_coordinates(e, 0, e->map->n_order);
    clpi_emit_nodes(e, e->map->n_order - 1);
}

static void find_in_turn(clpi_emit *e, const clpi_step_check *check)
{
    clpi_open(e, "for (int item = 0; item < bad; item++)");
    emit_point(e);
    clpi_line(e, "if (%s)", fails_text(e, check));
    clpi_line(e, "    bad = item;");
    clpi_close(e);
}

static void find_jointly(clpi_emit *e, const clpi_step_check *check, int64_t n)
{
    const char *space = clpi_slot_space(e, e->s->joint_slot);
    clpi_open_items(e, n);
    emit_point(e);
    clpi_line(e, "if (%s)", fails_text(e, check));
    clpi_line(e, "    bad = min(bad, item);");
    clpi_close_items(e, n);
    clpi_line(e, "%sint *const part = (%sint *)joint;", space, space);
    clpi_line(e, "part[lid] = bad;");
    clpi_barrier(e);
    clpi_line(e, "for (int other = 0; other < %llu; other++)", (unsigned long long)e->s->group_size);
    clpi_line(e, "    bad = min(bad, part[other]);");
    clpi_barrier(e);
}

void clpi_emit_check(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_step_check *check = stage->step->check;
    const clpi_nest *nest = stage->step->nest;
    if (!clpi_begin_nest(e, nest, &stage->map))
        return;
    count_uses(e, check);
    clpi_open_block(e);
    clpi_emit_nodes(e, -1);
    if (nest->rank == 0) {
        clpi_open(e, "if (%s)", fails_text(e, check));
        tell(e, stage);
    } else {
        int64_t n = 1;
        for (int d = 0; d < nest->rank; d++)
            n *= nest->extent[d];
        clpi_line(e, "int bad = %lld;", (long long)n);
        if (stage->map.is_joint)
            find_jointly(e, check, n);
        else
            find_in_turn(e, check);
        clpi_open(e, "if (bad < %lld)", (long long)n);
        clpi_line(e, "const int item = bad;");
        emit_point(e);
        tell(e, stage);
    }
    clpi_close(e);
    clpi_close(e);
}
