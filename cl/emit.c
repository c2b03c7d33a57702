/* emit: a schedule's stages, one after another, as text.
 *
 * In: schedules. Out: codes (text, launches, arguments), all of one text with one prelude. How each kind of step is printed
 * in each realisation is the table `realisations`; control flow is the same in both.                                     */
#include "cl/emit.h"

#include <string.h>

bool clpi_is_simt(const clpi_emit *e)
{
    return e->s->realisation == CLP_SCHEDULE_SIMT;
}

/* ---- Lines ---- */

static void put_line(clpi_emit *e, const char *format, va_list args, const char *end)
{
    clpi_str_add(e->out, "%*s", 4 * e->indent, "");
    clpi_str_add_v(e->out, format, args);
    clpi_str_puts(e->out, end);
}

void clpi_line(clpi_emit *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_line(e, format, args, "\n");
    va_end(args);
}

void clpi_open(clpi_emit *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_line(e, format, args, " {\n");
    va_end(args);
    e->indent++;
}

void clpi_open_block(clpi_emit *e)
{
    clpi_line(e, "{");
    e->indent++;
}

void clpi_close(clpi_emit *e)
{
    e->indent--;
    clpi_line(e, "}");
}

const char *clpi_take_text(clpi_emit *e, clpi_str *s)
{
    e->out->failed = e->out->failed || s->failed;
    const char *text = clpi_str_keep(s, e->arena);
    return text ? text : "";     /* out of memory: remembered by the arena, or by the text */
}

const char *clpi_text(clpi_emit *e, const char *format, ...)
{
    clpi_str s;
    va_list args;
    clpi_str_init(&s, e->arena->env);
    va_start(args, format);
    clpi_str_add_v(&s, format, args);
    va_end(args);
    return clpi_take_text(e, &s);
}

const char *clpi_and_text(clpi_emit *e, const char *a, const char *b)
{
    return !a ? b : !b ? a : clpi_text(e, "%s && %s", a, b);
}

void clpi_barrier(clpi_emit *e)
{
    clpi_line(e, "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
}

/* Some work-items have nothing to do in the last round, or in the only one when there are no items at all. */
static bool needs_guard(const clpi_emit *e, int64_t n)
{
    return n == 0 || n % (int64_t)e->s->group_size != 0;
}

void clpi_open_items(clpi_emit *e, int64_t n)
{
    int64_t group = (int64_t)e->s->group_size;
    if (n > group) {
        clpi_open(e, "for (int first = 0; first < %lld; first += %lld)", (long long)n, (long long)group);
        clpi_line(e, "const int item = first + lid;");
    } else {
        clpi_open_block(e);
        clpi_line(e, "const int item = lid;");
    }
    if (needs_guard(e, n))
        clpi_open(e, "if (item < %lld)", (long long)n);
}

void clpi_close_items(clpi_emit *e, int64_t n)
{
    if (needs_guard(e, n))
        clpi_close(e);
    clpi_close(e);
}

const char *clpi_number_text(clpi_emit *e, clpi_number_kind kind, int a, int b)
{
    static const char *const names[] = {
        [CLPI_NUMBER_SIZE] = "size", [CLPI_NUMBER_STRIDE] = "stride", [CLPI_NUMBER_OFFSET] = "offset",
        [CLPI_NUMBER_FAR] = "far",
        [CLPI_NUMBER_AXIS_SIZE] = "count", [CLPI_NUMBER_BOX_START] = "box_start", [CLPI_NUMBER_BOX_COUNT] = "box_count",
        [CLPI_NUMBER_DIM] = "dim", [CLPI_NUMBER_HEADER] = "value", [CLPI_NUMBER_N_SEQUENCES] = "n_sequences",
    };
    bool known = false;
    for (uint32_t i = 0; i < e->numbers.n; i++)
        known = known || (e->numbers.items[i].kind == kind && e->numbers.items[i].a == a && e->numbers.items[i].b == b);
    if (!known && !CLPI_PUSH(e->arena, &e->numbers, (clpi_number){ kind, a, b }))
        return "";
    switch (kind) {
    case CLPI_NUMBER_SIZE: case CLPI_NUMBER_STRIDE: return clpi_text(e, "n.%s_%s%d", e->ir->operands[a].name, names[kind], b);
    case CLPI_NUMBER_OFFSET: case CLPI_NUMBER_FAR: return clpi_text(e, "n.%s_%s", e->ir->operands[a].name, names[kind]);
    case CLPI_NUMBER_AXIS_SIZE: case CLPI_NUMBER_BOX_START: case CLPI_NUMBER_BOX_COUNT:
        return clpi_text(e, "n.%s_%s", e->ir->axes[a].name, names[kind]);
    case CLPI_NUMBER_DIM: return clpi_text(e, "n.%s_%s", e->ir->dims[a], names[kind]);
    case CLPI_NUMBER_HEADER: return clpi_text(e, "n.%s%d", names[kind], a);
    default: return clpi_text(e, "n.%s", names[kind]);
    }
}

/* ---- Control flow ---- */

static void emit_shared(clpi_emit *e, const clpi_stage *stage)
{
    clpi_open(e, "for (int d0 = 0; d0 < %lld; d0++)", (long long)stage->step->extent);
    clpi_emit_stages(e, &stage->body);
    clpi_close(e);
}

/* In checked code a fault of the program ends its loops: what it has read in place of something else may keep them going. */
static const char *unless_faulty(const clpi_emit *e)
{
    return e->p->is_checked ? " && n_faults == n_before" : "";
}

static void emit_for(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_step *s = stage->step;
    const char *index = clpi_tile_name(e, s->index), *lo = clpi_tile_name(e, s->lo), *hi = clpi_tile_name(e, s->hi);
    clpi_open(e, "for (long at%d = %s; at%d %c %s%s; at%d += %lld)", s->index, lo, s->index, s->by < 0 ? '>' : '<', hi,
              unless_faulty(e), s->index, (long long)s->by);
    clpi_line(e, "%s = (int)at%d;", index, s->index);
    clpi_emit_stages(e, &stage->body);
    clpi_close(e);
}

static void emit_while(clpi_emit *e, const clpi_stage *stage)
{
    clpi_open(e, "while (%s%s)", clpi_tile_name(e, stage->step->condition), unless_faulty(e));
    clpi_emit_stages(e, &stage->body);
    clpi_close(e);
}

static void emit_branch(clpi_emit *e, const clpi_stage *stage)
{
    clpi_open(e, "if (%s)", clpi_tile_name(e, stage->step->condition));
    clpi_emit_stages(e, &stage->body);
    clpi_close(e);
    if (stage->other.n == 0)
        return;
    clpi_open(e, "else");
    clpi_emit_stages(e, &stage->other);
    clpi_close(e);
}

/* ---- Stages ---- */

static const struct { clpi_stage_fn vector, simt; } realisations[] = {
    [CLPI_STEP_NEST]   = { clpi_emit_nest,  clpi_emit_nest },
    [CLPI_STEP_DOT]    = { clpi_emit_dot_vector, clpi_emit_dot_simt },
    [CLPI_STEP_CHECK]  = { clpi_emit_check, clpi_emit_check },
    [CLPI_STEP_SORT]   = { clpi_emit_sort,  clpi_emit_sort },
    [CLPI_STEP_SHARED] = { emit_shared,     emit_shared },
    [CLPI_STEP_FOR]    = { emit_for,        emit_for },
    [CLPI_STEP_WHILE]  = { emit_while,      emit_while },
    [CLPI_STEP_BRANCH] = { emit_branch,     emit_branch },
    [CLPI_STEP_PRINT]  = { clpi_emit_print, clpi_emit_print },
};

static const char *all_text(clpi_emit *e, const clpi_edges *edges, const char *what)
{
    const char *text = NULL;
    for (int i = 0; i < edges->n; i++)
        text = clpi_and_text(e, text, clpi_text(e, "%s_%s", e->ir->operands[edges->operands[i]].name, what));
    return text;
}

void clpi_emit_either(clpi_emit *e, const char *head, clpi_stage_fn emit, const clpi_stage *stage)
{
    clpi_open(e, "%s", head);
    e->is_fast = true;
    emit(e, stage);
    e->is_fast = false;
    clpi_close(e);
    clpi_open(e, "else");
    emit(e, stage);
    clpi_close(e);
}

void clpi_emit_versions(clpi_emit *e, const clpi_edges *edges, clpi_stage_fn emit, const clpi_stage *stage)
{
    if (edges->n == 0) {
        emit(e, stage);
        return;
    }
    const char *fast = all_text(e, edges, "fast");
    if (stage->far.n > 0) {
        clpi_open(e, "if (%s && %s)", fast, all_text(e, &stage->far, "far"));
        e->is_fast = e->is_far = true;
        emit(e, stage);
        e->is_fast = e->is_far = false;
        clpi_close(e);
    }
    clpi_emit_either(e, clpi_text(e, stage->far.n > 0 ? "else if (%s)" : "if (%s)", fast), emit, stage);
}

/* One batch after another, in loops of d0, d1, ..; what touches its operands has versions, no more. */
static void emit_dot(clpi_emit *e, const clpi_stage *stage, clpi_stage_fn emit)
{
    const clpi_dot *d = stage->step->dot;
    if (d->m == 0 || d->n == 0)
        return;
    for (int b = 0; b < d->n_batch; b++)
        clpi_open(e, "for (int d%d = 0; d%d < %lld; d%d++)", b, b, (long long)e->p->tiles.items[d->dest].shape[b], b);
    emit(e, stage);
    for (int b = 0; b < d->n_batch; b++)
        clpi_close(e);
}

static void emit_stage(clpi_emit *e, const clpi_stage *stage)
{
    clpi_stage_fn fn = clpi_is_simt(e) ? realisations[stage->step->kind].simt : realisations[stage->step->kind].vector;
    if (stage->step->kind == CLPI_STEP_DOT)
        emit_dot(e, stage, fn);
    else
        clpi_emit_versions(e, &stage->edges, fn, stage);
}

static void caption(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_op *op = &e->ir->ops.items[stage->step->op];
    if (stage->step->kind == CLPI_STEP_NEST && stage->step->nest->rank == 0)
        return;
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    clpi_str_add(&s, "%s%s", stage->step->kind == CLPI_STEP_CHECK && op->kind != CLP_OP_assert ? "check of " : "",
                 clpi_ops[op->kind].name);
    if (op->operand >= 0)
        clpi_str_add(&s, " %s", e->ir->operands[op->operand].name);
    if (op->pos.line)
        clpi_str_add(&s, ", line %u", op->pos.line);
    clpi_line(e, "/* %s */", s.text);
    clpi_str_done(&s);
}

void clpi_emit_stages(clpi_emit *e, const clpi_stages *stages)
{
    for (uint32_t i = 0; i < stages->n; i++) {
        const clpi_stage *stage = &stages->items[i];
        if (stage->sync_before)
            clpi_barrier(e);
        caption(e, stage);
        emit_stage(e, stage);
    }
}

/* ---- The whole ---- */

const char *clpi_unaligned(clpi_emit *e, const char *type, int elem_bytes)
{
    for (uint32_t i = 0; i < e->unaligned.n; i++)
        if (strcmp(e->unaligned.items[i].type, type) == 0)
            return clpi_text(e, "%s_u", type);
    if (!CLPI_PUSH(e->arena, &e->unaligned, (clpi_unaligned_type){ type, elem_bytes }))
        return "";
    return clpi_text(e, "%s_u", type);
}

bool clpi_function_is_new(clpi_emit *e, const char *name)
{
    for (uint32_t i = 0; i < e->written.n; i++)
        if (strcmp(e->written.items[i], name) == 0)
            return false;
    return CLPI_PUSH(e->arena, &e->written, name);
}

/* Vectors in memory, aligned as their elements are. */
static void put_unaligned(clpi_emit *e, clpi_str *s)
{
    for (uint32_t i = 0; i < e->unaligned.n; i++)
        clpi_str_add(s, "typedef %s __attribute__((aligned(%d))) %s_u;\n", e->unaligned.items[i].type,
                     e->unaligned.items[i].elem_bytes, e->unaligned.items[i].type);
}

static void put_numbers(clpi_emit *e, clpi_str *s)
{
    clpi_str_puts(s, "typedef struct {\n");
    for (uint32_t i = 0; i < e->numbers.n; i++) {
        clpi_number *x = &e->numbers.items[i];
        clpi_str_add(s, "    long %s;\n", clpi_number_text(e, x->kind, x->a, x->b) + 2);
    }
    clpi_str_add(s, "} %s;\n\n", e->numbers_type);
}

/* Parameters may take 1024 bytes on every device. */
static bool fit_by_value(const clpi_emit *e, const clpi_code *code)
{
    return 8 * (e->numbers.n + (uint32_t)code->n_buffers + (uint32_t)code->n_scalars + CLPI_MAX_OWN) <= 1024;
}

/* The numbers are always there, and last: what stands before them ends in a comma. */
static void put_signature(clpi_emit *e, const clpi_code *code, clpi_str *s)
{
    const char *size = clpi_text(e, " __attribute__((reqd_work_group_size(%llu, 1, 1)))", (unsigned long long)e->s->group_size);
    clpi_str_add(s, "__kernel%s\nvoid %s(", clpi_has_spare_lanes(e) ? "" : size, code->kernel);
    for (int i = 0; i < code->n_buffers; i++) {
        const clpi_operand *x = &e->ir->operands[code->buffers[i]];
        const bool is_written = e->p->plan->is_written[code->buffers[i]];
        clpi_str_add(s, "__global %s%s *%s_mem, ", is_written ? "" : "const ", clpi_cl_stored_type(x->dtype, 1), x->name);
    }
    clpi_str_puts(s, code->workspace_bytes ? "__global uchar *workspace, " : "");
    clpi_str_puts(s, code->has_log ? "__global uint *log_words, " : "");
    clpi_str_puts(s, code->fault_words ? "__global long *faults, " : "");
    clpi_str_puts(s, code->has_cut ? "__global uint *cut, " : "");
    for (int i = 0; i < code->n_scalars; i++) {
        const clpi_operand *x = &e->ir->operands[code->scalars[i]];
        clpi_str_add(s, "const %s %s_arg, ", clpi_tile_type(x->dtype, 1), x->name);
    }
    if (code->numbers_by_value)
        clpi_str_add(s, "const %s n)\n{\n", e->numbers_type);
    else
        clpi_str_add(s, "__global const %s *all_numbers)\n{\n    const %s n = *all_numbers;\n", e->numbers_type, e->numbers_type);
}

static bool list_arguments(clpi_emit *e, clpi_code *code)
{
    size_t n = (size_t)e->ir->n_operands + 1;
    code->buffers = CLPI_NEW_N(e->arena, int, n);
    code->scalars = CLPI_NEW_N(e->arena, int, n);
    code->kernel = clpi_text(e, "%s_kernel", e->ir->name);
    code->group_size = e->s->group_size;
    code->max_groups = e->s->max_groups;
    if (e->arena->failed)
        return false;
    for (int i = 0; i < e->ir->n_operands; i++) {
        clp_role role = e->ir->operands[i].role;
        if (role == CLP_SCALAR)
            code->scalars[code->n_scalars++] = i;
        else if (role != CLP_SCRATCH)
            code->buffers[code->n_buffers++] = i;
    }
    return true;
}

static int fault_words(const clpi_program *p)
{
    int n_index = 0;
    for (int i = 0; i < p->ir->n_operands; i++)
        n_index = p->ir->operands[i].ref_rank > n_index ? p->ir->operands[i].ref_rank : n_index;
    return p->is_checked ? CLPI_RECORD_PROGRAM + p->ir->n_axes + n_index : 0;
}

/* One kernel behind the others: what its body asks for goes to the prelude and the types that all share. */
static void emit_one(clpi_emit *e, const clpi_cl_schedule *s, bool is_alone, clpi_code *code, clpi_str *out)
{
    clpi_str body;
    clpi_str_init(&body, e->arena->env);
    e->s = s;
    e->p = s->program;
    e->ir = s->program->ir;
    e->out = &body;
    e->indent = 1;
    e->numbers.items = NULL;
    e->numbers.n = e->numbers.cap = 0;
    e->numbers_type = is_alone ? "numbers" : clpi_text(e, "%s_numbers", e->ir->name);
    if (list_arguments(e, code)) {
        e->fault_words = code->fault_words = fault_words(s->program);
        clpi_emit_kernel(e);
        code->workspace_bytes = s->workspace_bytes;
        code->has_log = s->has_print;
        code->has_cut = s->limits.loop_rounds > 0;
        code->numbers_by_value = fit_by_value(e, code);
        put_numbers(e, out);
        put_signature(e, code, out);
        clpi_str_put(out, body.text, body.n);
        clpi_str_puts(out, "}\n");
        code->numbers = e->numbers.items;
        code->n_numbers = (int)e->numbers.n;
    }
    out->failed = out->failed || body.failed;
    clpi_str_done(&body);
}

/* 128 registers are those of a quarter of the work-items that a unit could hold, and of two groups of 256. For sm_80 a matmul in blocks of
 * 128 takes 164 otherwise; with the limit 122, and spills nothing.                                                         */
static const char *options_of(const clpi_cl_schedule *s)
{
    const bool is_fast = s->program->ir->math_fast;
    if (s->realisation == CLP_SCHEDULE_SIMT && s->limits.loses_barriers)
        return "-cl-opt-disable";
    if (s->realisation == CLP_SCHEDULE_SIMT && s->limits.takes_register_limit)
        return is_fast ? "-cl-mad-enable -cl-nv-maxrregcount=128" : "-cl-nv-maxrregcount=128";
    return is_fast ? "-cl-mad-enable" : "";
}

clp_status clpi_cl_emit(clpi_cl_schedule *const *schedules, int n, clpi_arena *arena, clpi_code **out_codes)
{
    const clpi_cl_schedule *first = schedules[0];
    clpi_code *codes = CLPI_NEW_N(arena, clpi_code, (size_t)n);
    clpi_emit e = { .arena = arena };
    clpi_str kernels, text;
    if (!codes)
        return CLP_ERR_OOM;
    clpi_str_init(&kernels, arena->env);
    clpi_str_init(&text, arena->env);
    clpi_prelude_init(&e.prelude, arena, &first->limits, first->program->ir->math_fast);
    clpi_str_puts(&text, "/* ");
    for (int i = 0; i < n; i++) {
        clpi_str_add(&text, "%s%s", i ? ", " : "", schedules[i]->program->ir->name);
        clpi_str_puts(&kernels, i ? "\n" : "");
        emit_one(&e, schedules[i], n == 1, &codes[i], &kernels);
    }
    clpi_str_add(&text, ": made by clpallas, %s schedule */\n", clpi_is_simt(&e) ? "simt" : "vector");
    clpi_prelude_text(&e.prelude, &text);
    put_unaligned(&e, &text);
    clpi_str_put(&text, kernels.text, kernels.n);
    const char *all = clpi_arena_strndup(arena, text.text, text.n);
    for (int i = 0; i < n; i++) {
        codes[i].text = all;
        codes[i].options = options_of(first);
        out_codes[i] = &codes[i];
    }
    bool failed = kernels.failed || text.failed || arena->failed;
    clpi_prelude_done(&e.prelude);
    clpi_str_done(&kernels);
    clpi_str_done(&text);
    return failed ? CLP_ERR_OOM : CLP_OK;
}
