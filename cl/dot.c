/* dot: the table of dot units, and the blocking of one dot by its row.
 *
 * In: a dot of the program and the limits. Out: a unit and the sizes around it. A new unit is a new row.                  */
#include "cl/schedule.h"

/* Register tiles. With 64-byte vectors there are 32 registers: 12 rows of 2 vectors are 24 accumulators, which leave room
 * for two vectors of y and the broadcast of x. With 32-byte vectors there are 16: 6 x 2. With 16-byte vectors 4 x 2 (x86) or
 * more; the least is safe. simt: 8 x 8 accumulators for each work-item, 16 loads for 64 multiply-adds.                   */
static const clpi_dot_unit UNITS[] = {
    { CLP_F32, CLP_SCHEDULE_VECTOR, 64, 12, 2 },
    { CLP_F32, CLP_SCHEDULE_VECTOR, 32, 6, 2 },
    { CLP_F32, CLP_SCHEDULE_VECTOR, 0, 4, 2 },
    { CLP_F64, CLP_SCHEDULE_VECTOR, 64, 12, 2 },
    { CLP_F64, CLP_SCHEDULE_VECTOR, 0, 4, 2 },
    { CLP_I32, CLP_SCHEDULE_VECTOR, 64, 12, 2 },
    { CLP_I32, CLP_SCHEDULE_VECTOR, 0, 4, 2 },
    { CLP_I64, CLP_SCHEDULE_VECTOR, 0, 4, 2 },
    { CLP_F32, CLP_SCHEDULE_SIMT, 0, 8, 8 },
    { CLP_F64, CLP_SCHEDULE_SIMT, 0, 4, 4 },
    { CLP_I32, CLP_SCHEDULE_SIMT, 0, 8, 8 },
    { CLP_I64, CLP_SCHEDULE_SIMT, 0, 4, 4 },
};

static const clpi_dot_unit *find_unit(const clpi_cl_schedule *s, const clpi_dot *d)
{
    clp_dtype acc = d->acc == CLP_U32 ? CLP_I32 : d->acc == CLP_U64 ? CLP_I64 : d->acc;   /* + and * wrap alike */
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++)
        if (UNITS[i].acc == acc && UNITS[i].realisation == s->realisation && UNITS[i].vector_bytes <= s->limits.vector_bytes)
            return &UNITS[i];
    return NULL;
}

static int64_t cdiv(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int least(int most, int64_t wanted)
{
    return wanted < 1 ? 1 : wanted < most ? (int)wanted : most;
}

/* Lanes of a vector: those of the device, fewer when the dot is narrower. */
static int vector_width(const clpi_cl_schedule *s, const clpi_dot *d)
{
    int width = (int)(s->limits.vector_bytes / clpi_rep_bytes(d->acc));
    width = width > 16 ? 16 : width < 2 ? 2 : width;
    while (width > 1 && width / 2 >= d->n)
        width /= 2;
    return width;
}

/* Columns of a panel: full register tiles, one vector for narrow dots; where rows must lie without gaps, what divides them. */
int clpi_dot_padding(const clpi_cl_schedule *s, const clpi_dot *d)
{
    if (s->realisation != CLP_SCHEDULE_VECTOR)
        return 1;
    int width = vector_width(s, d), panel = d->n <= width ? width : width * find_unit(s, d)->vectors;
    while (s->program->tiles.items[d->dest].is_reshaped && d->n % panel != 0)
        panel /= 2;
    return panel;
}

static bool plan_vector(clpi_cl_schedule *s, const clpi_step *step, clpi_arena *arena, clpi_dot_plan *p)
{
    const clpi_dot *d = step->dot;
    p->rows = p->unit->rows;
    p->panel = clpi_dot_padding(s, d);
    p->width = p->panel < vector_width(s, d) ? p->panel : vector_width(s, d);
    p->n_panels = (int)cdiv(d->n, p->panel);
    p->a_stride = d->k + 16;     /* rows a power of two apart would fall into few sets of L1 */
    p->a_slot = clpi_slot_add(s, arena, d->acc, d->m * p->a_stride, step->number, step->number);
    p->b_slot = clpi_slot_add(s, arena, d->acc, (int64_t)p->n_panels * p->panel * d->k, step->number, step->number);
    return p->a_slot >= 0 && p->b_slot >= 0;
}

static bool plan_simt(clpi_cl_schedule *s, const clpi_step *step, clpi_arena *arena, clpi_dot_plan *p)
{
    const clpi_dot *d = step->dot;
    p->width = 1;
    p->group_columns = 1;
    while (p->group_columns * p->group_columns < (int)s->group_size)
        p->group_columns *= 2;
    p->group_rows = (int)s->group_size / p->group_columns;
    p->rows = least(p->unit->rows, cdiv(d->m, p->group_rows));
    p->panel = least(p->unit->vectors, cdiv(d->n, p->group_columns));
    p->n_panels = 1;
    p->strip = d->k < 16 ? d->k : 16;
    p->a_stride = d->m + 1;      /* packed by columns; the odd stride spreads the banks when they are written */
    p->a_slot = clpi_slot_add(s, arena, d->acc, p->strip * p->a_stride, step->number, step->number);
    p->b_slot = clpi_slot_add(s, arena, d->acc, p->strip * d->n, step->number, step->number);
    return p->a_slot >= 0 && p->b_slot >= 0;
}

bool clpi_plan_dot(clpi_cl_schedule *s, const clpi_step *step, clpi_arena *arena, clpi_dot_plan *out_plan)
{
    *out_plan = (clpi_dot_plan){ .unit = find_unit(s, step->dot) };
    return s->realisation == CLP_SCHEDULE_VECTOR ? plan_vector(s, step, arena, out_plan) : plan_simt(s, step, arena, out_plan);
}
