/* trace: `clpallas show --trace i=2,j=0`: what one program does, statement by statement, as a debugger shows it.
 * In: a kernel, arrays, a program. Out: each source line when it is reached, and the value that its statement makes or
 * stores: small tiles whole, larger ones summed up. The sequence of the program runs from its first program on, so that
 * scratch and outputs hold what they should; only the program asked for is shown.
 * Decides which of the ops of a statement has its value: the one that no other op of the statement takes, be it by way of
 * fns that are written in the same file and have statements of their own. */
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "text/tree.h"

enum { MAX_WHOLE = 32, MAX_TURNS = 3 };

#define MARGIN "     | "

typedef struct statement { clpi_pos pos; const char *label; bool is_fn, is_for; } statement;

/* A loop that is being run: what was seen of its body last, and how often it began again. */
typedef struct turns { uint32_t last; bool is_done; int64_t n; } turns;

typedef struct trace {
    const job     *j;
    const clpi_ir *ir;
    clpi_arena     arena;
    struct { statement *items; uint32_t n, cap; } statements;     /* in order of the text */
    uint32_t      *statement_of;  /* [ops.n] number of its statement; UINT32_MAX: none */
    uint32_t      *region;        /* [ops.n] the innermost region op around; 0: none */
    bool          *is_shown;      /* [ops.n] has the value of its statement */
    bool          *is_constant;   /* [ops.n] the same in every program */
    bool          *is_told;       /* [ops.n] of constant ones: shown already */
    turns         *turns;         /* [ops.n] of loops */
    const int64_t *program;       /* the one asked for */
    bool           is_first, is_here, is_over;     /* in the first program of the run, in the one asked for, behind it */
    uint32_t       line;          /* of the source, shown last */
} trace;

/* ---- Statements of the text ---- */

/* The place of an assignment as it is written, without blanks at its end. */
static const char *place_text(trace *t, const clpi_stmt *s)
{
    const char *text = t->ir->source->text;
    for (uint32_t line = 1; line < s->pos.line && text; line++)
        text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL;
    if (!text)
        return "";
    text += s->pos.column - 1;
    size_t n = 0, depth = 0;
    for (; text[n] && text[n] != '\n' && (depth > 0 || !strchr("=+-*/%&|^<>", text[n])); n++)
        depth += text[n] == '[' || text[n] == '(' ? 1 : text[n] == ']' || text[n] == ')' ? (size_t)-1 : 0;
    while (n > 0 && text[n - 1] == ' ')
        n--;
    char *label = CLPI_NEW_N(&t->arena, char, n + 1);
    if (label)
        memcpy(label, text, n);
    return label ? label : "";
}

static const char *names_text(trace *t, const clpi_names *names)
{
    size_t n = 1;
    for (uint32_t i = 0; i < names->n; i++)
        n += strlen(names->items[i].text) + 2;
    char *label = CLPI_NEW_N(&t->arena, char, n);
    for (uint32_t i = 0; label && i < names->n; i++)
        strcat(strcat(label, i ? ", " : ""), names->items[i].text);
    return label ? label : "";
}

static const char *label_of(trace *t, const clpi_stmt *s)
{
    switch (s->kind) {
    case CLPI_ST_ASSIGN: return place_text(t, s);
    case CLPI_ST_CALL: return s->value->name;
    case CLPI_ST_IF: return "if";
    case CLPI_ST_WHILE: return "while";
    default: return names_text(t, &s->names);
    }
}

static void list_statements(trace *t, const clpi_stmts *stmts, bool is_fn)
{
    for (uint32_t i = 0; i < stmts->n; i++) {
        const clpi_stmt *s = stmts->items[i];
        (void)CLPI_PUSH(&t->arena, &t->statements, ((statement){ s->pos, label_of(t, s), is_fn, s->kind == CLPI_ST_FOR }));
        list_statements(t, &s->body, is_fn);
        list_statements(t, &s->other, is_fn);
    }
}

static bool is_before(clpi_pos a, clpi_pos b)
{
    return a.line != b.line ? a.line < b.line : a.column < b.column;
}

static int by_place(const void *a, const void *b)
{
    const statement *x = a, *y = b;
    return is_before(x->pos, y->pos) ? -1 : is_before(y->pos, x->pos);
}

static clp_status read_statements(trace *t)
{
    clpi_file *file;
    CLP_TRY(clpi_parse(&t->j->ctx->env, &t->arena, t->ir->source, &file));
    for (uint32_t i = 0; i < file->kernels.n; i++)
        list_statements(t, &file->kernels.items[i]->body, false);
    for (uint32_t i = 0; i < file->fns.n; i++) {
        const clpi_fn_decl *fn = file->fns.items[i];
        if (fn->is_standard)
            continue;
        (void)CLPI_PUSH(&t->arena, &t->statements, ((statement){ fn->name.pos, fn->name.text, true, false }));
        list_statements(t, &fn->body, true);
        if (fn->returns.n > 0)
            (void)CLPI_PUSH(&t->arena, &t->statements, ((statement){ fn->returns.items[0]->pos, fn->name.text, true, false }));
    }
    if (t->statements.n)
        qsort(t->statements.items, t->statements.n, sizeof *t->statements.items, by_place);
    return t->arena.failed ? CLP_ERR_OOM : CLP_OK;
}

/* ---- What the ops are to them ---- */

static uint32_t statement_at(const trace *t, clpi_pos pos)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; pos.line && i < t->statements.n && !is_before(pos, t->statements.items[i].pos); i++)
        found = i;
    return found;
}

/* Whether the op's value goes into another op of its own statement. */
static bool is_inner(const trace *t, uint32_t i, bool *reached)
{
    const clpi_ir *ir = t->ir;
    const clpi_op *own = &ir->ops.items[i];
    memset(reached, 0, ir->ops.n * sizeof *reached);
    reached[i] = true;
    for (uint32_t u = i + 1; u < ir->ops.n; u++) {
        const clpi_op *op = &ir->ops.items[u];
        bool takes = false;
        if ((clpi_ops[op->kind].flags & CLP_REGION) || op->kind == CLP_OP_yield || op->kind == CLP_OP_result)
            continue;
        for (uint32_t k = 0; k < op->n_args; k++)
            takes = takes || reached[clpi_args(ir, op)[k].id];
        if (!takes)
            continue;
        const bool is_again = op->kind == own->kind && op->pos.line == own->pos.line && op->pos.column == own->pos.column;
        if (t->statement_of[u] == t->statement_of[i] && !is_again)
            return true;
        reached[u] = t->statement_of[u] != UINT32_MAX && t->statements.items[t->statement_of[u]].is_fn;
    }
    return false;
}

static bool holds_for_all(const trace *t, uint32_t i)
{
    const clpi_op *op = &t->ir->ops.items[i];
    const unsigned flags = clpi_ops[op->kind].flags;
    if (op->kind == CLP_OP_program_id || (flags & (CLP_EFFECT | CLP_WRITE)))
        return false;
    if ((flags & CLP_READ) && t->ir->operands[op->operand].role != CLP_SCALAR)
        return false;
    for (uint32_t k = 0; k < op->n_args; k++)
        if (!t->is_constant[clpi_args(t->ir, op)[k].id])
            return false;
    return true;
}

static clp_status look_at_ops(trace *t)
{
    const clpi_ir *ir = t->ir;
    const size_t n = (size_t)ir->ops.n + 1;
    t->statement_of = CLPI_NEW_N(&t->arena, uint32_t, n);
    t->region = CLPI_NEW_N(&t->arena, uint32_t, n);
    t->is_shown = CLPI_NEW_N(&t->arena, bool, n);
    t->is_constant = CLPI_NEW_N(&t->arena, bool, n);
    t->is_told = CLPI_NEW_N(&t->arena, bool, n);
    t->turns = CLPI_NEW_N(&t->arena, turns, n);
    bool *reached = CLPI_NEW_N(&t->arena, bool, n);
    if (t->arena.failed)
        return CLP_ERR_OOM;
    uint32_t around = 0;
    t->is_constant[0] = true;
    for (uint32_t i = ir->n_header; i < ir->ops.n; i++) {
        const clpi_op *op = &ir->ops.items[i];
        while (around && i >= ir->ops.items[around].end)
            around = t->region[around];
        t->region[i] = around;
        t->statement_of[i] = statement_at(t, op->pos);
        t->is_constant[i] = holds_for_all(t, i);
        if (clpi_ops[op->kind].flags & CLP_REGION)
            around = i;
    }
    for (uint32_t i = ir->n_header; i < ir->ops.n; i++) {
        const clpi_op *op = &ir->ops.items[i];
        const bool talks = op->kind == CLP_OP_print || op->kind == CLP_OP_yield || (clpi_ops[op->kind].flags & CLP_REGION);
        const uint32_t s = t->statement_of[i];       /* a `for` shows its turns, not its bounds */
        t->is_shown[i] = !talks && s != UINT32_MAX && !t->statements.items[s].is_for && !is_inner(t, i, reached);
    }
    return CLP_OK;
}

/* ---- Showing ---- */

static void show_line(trace *t, uint32_t line)
{
    const char *text = t->ir->source->text, *end = text + t->ir->source->n_bytes;
    if (line == t->line)
        return;
    t->line = line;
    for (; line > 1 && text < end; text++)
        line -= *text == '\n';
    const char *stop = memchr(text, '\n', (size_t)(end - text));
    printf("%4u | %.*s\n", (unsigned)t->line, (int)((stop ? stop : end) - text), text);
}

static void show_summary(const clp_array *a)
{
    const int64_t n = array_elems(a);
    double least = INFINITY, most = -INFINITY, sum = 0;
    int64_t n_nan = 0, n_inf = 0, n_finite = 0;
    for (int64_t i = 0; i < n; i++) {
        const double x = array_number(a, i);
        n_nan += isnan(x);
        n_inf += isinf(x) != 0;
        if (!isfinite(x))
            continue;
        least = fmin(least, x);
        most = fmax(most, x);
        sum += x;
        n_finite++;
    }
    if (n_finite)
        printf("%.6g to %.6g, mean %.6g", least, most, sum / (double)n_finite);
    if (n_nan)
        printf("%s%lld NaN", n_finite ? ", " : "", (long long)n_nan);
    if (n_inf)
        printf("%s%lld infinite", n_finite || n_nan ? ", " : "", (long long)n_inf);
    putchar('\n');
}

/* A matrix goes on lines of its own, under what it is. */
static void show_whole(const clp_array *a)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *memory = open_memstream(&text, &n_bytes);
    if (!memory)
        return;
    array_print(memory, a);
    fclose(memory);
    for (char *rest = text, *line; (line = strtok_r(rest, "\n", &rest)) != NULL;)
        printf(a->rank > 1 ? "\n" MARGIN "    %s" : "%s", line);
    putchar('\n');
    free(text);
}

static void show_value(const char *label, const clpi_type *type, const void *data)
{
    const clp_array a = { .dtype = clpi_rep(type->dtype), .rank = type->rank, .shape = type->shape, .data = (void *)(uintptr_t)data };
    printf(MARGIN "  %s: %s", label, clp_dtype_name(type->dtype));
    for (int d = 0; d < type->rank; d++)
        printf("%s%lld%s", d ? ", " : "[", (long long)type->shape[d], d + 1 == type->rank ? "]" : "");
    if (array_elems(&a) > MAX_WHOLE) {
        printf(": ");
        show_summary(&a);
    } else {
        printf(type->rank > 1 ? "" : " = ");
        show_whole(&a);
    }
}

static void show_op(trace *t, uint32_t i, clpi_value_fn *value, const void *run)
{
    const clpi_op *op = &t->ir->ops.items[i];
    const statement *s = &t->statements.items[t->statement_of[i]];
    clp_val v = { i };
    if (op->kind == CLP_OP_store || (clpi_ops[op->kind].flags & CLP_WRITE))
        v = clpi_op_value(t->ir, op, 0);
    else if (op->kind == CLP_OP_assert)
        v = clpi_args(t->ir, op)[0];
    show_line(t, op->pos.line);
    show_value(s->label, clpi_type_of(t->ir, v), value(run, v));
}

/* ---- Following the run ---- */

static bool is_loop(const trace *t, uint32_t region)
{
    return t->ir->ops.items[region].kind != CLP_OP_if;
}

/* A turn of a loop begins: says so, or says nothing more of this loop. */
static void begin_turn(trace *t, uint32_t region, clpi_value_fn *value, const void *run)
{
    const clpi_op *op = &t->ir->ops.items[region];
    const uint32_t s = t->statement_of[region];
    if (++t->turns[region].n > MAX_TURNS)
        return;
    if (t->turns[region].n == 1)
        show_line(t, op->pos.line);
    if (op->kind == CLP_OP_for)
        printf(MARGIN "%s = %d\n", s == UINT32_MAX ? "turn" : t->statements.items[s].label,
               *(const int32_t *)value(run, (clp_val){ region + 1 }));
    else
        printf(MARGIN "turn %lld\n", (long long)t->turns[region].n);
    t->line = 0;
}

/* Follows op i through the loops around it, outermost first; false: it lies in a turn that is not shown. */
static bool follow(trace *t, uint32_t region, uint32_t inside, bool is_done, clpi_value_fn *value, const void *run)
{
    if (!region)
        return true;
    if (!follow(t, t->region[region], region, false, value, run))
        return false;
    turns *turn = &t->turns[region];
    const bool is_new = turn->n == 0 || inside < turn->last || (inside == turn->last && turn->is_done);
    turn->last = inside;
    turn->is_done = is_done;
    if (is_new && is_loop(t, region))
        begin_turn(t, region, value, run);
    return !is_loop(t, region) || turn->n <= MAX_TURNS;
}

static void end_loop(trace *t, uint32_t region, bool is_visible)
{
    turns *turn = &t->turns[region];
    if (is_visible && is_loop(t, region) && turn->n > MAX_TURNS) {
        printf(MARGIN "... %lld turns in all\n", (long long)turn->n);
        t->line = 0;
    }
    *turn = (turns){ 0 };
}

static void step(void *user, uint32_t i, clpi_value_fn *value, const void *run)
{
    trace *t = user;
    if (t->is_constant[i]) {
        if (t->is_first && t->is_shown[i] && !t->is_told[i])
            show_op(t, i, value, run);
        t->is_told[i] = true;
    } else if (t->is_here) {
        const bool is_visible = follow(t, t->region[i], i, true, value, run);
        if (clpi_ops[t->ir->ops.items[i].kind].flags & CLP_REGION)
            end_loop(t, i, is_visible);
        else if (is_visible && t->is_shown[i])
            show_op(t, i, value, run);
    }
}

static void enter(void *user, uint64_t sequence, uint64_t number, const int64_t *program)
{
    trace *t = user;
    t->is_first = sequence == 0 && number == 0;
    t->is_over = t->is_here;
    t->is_here = !t->is_over;
    for (int a = 0; a < t->ir->n_axes; a++)
        t->is_here = t->is_here && program[a] == t->program[a];
}

static bool stops(void *user)
{
    return ((const trace *)user)->is_over;
}

/* ---- The command ---- */

/* Axes that are not named are 0. */
static int read_program(const job *j, int64_t *program)
{
    for (int k = 0; k < j->o->trace.n; k++) {
        const pair *p = &j->o->trace.items[k];
        if (!p->value && !strcmp(p->name, "first") && j->o->trace.n == 1)
            continue;
        const int axis = job_axis(j, "--trace", p->name);
        if (axis < 0)
            return FAILED;
        if (!p->value || !is_number(p->value, &program[axis]))
            return fail("--trace: %s: expected a program id, got %s", p->name, p->value ? p->value : "nothing");
    }
    return DONE;
}

/* The program's sequence, as a box of the grid: its place on the parallel axes, all of the others. */
static int find_box(const job *j, const clpi_bound *bound, const int64_t *program, int64_t *start, int64_t *count)
{
    if (bound->n_sequences == 0 || bound->n_steps == 0)
        return fail("--trace: the grid of %s has no program", clp_kernel_name(j->kernel));
    for (int a = 0; a < j->ir->n_axes; a++) {
        if (program[a] < 0 || program[a] >= bound->axis_size[a])
            return fail("--trace: %s: expected a program id of 0 to %lld, got %lld", j->ir->axes[a].name,
                        (long long)bound->axis_size[a] - 1, (long long)program[a]);
        start[a] = j->ir->axes[a].is_arbitrary ? 0 : program[a];
        count[a] = j->ir->axes[a].is_arbitrary ? bound->axis_size[a] : 1;
    }
    return DONE;
}

static clp_status run_traced(trace *t, const int64_t *start, const int64_t *count)
{
    const job *j = t->j;
    clpi_check check = { .env = &j->ctx->env, .kernel = j->kernel, .ir = j->ir, .plan = j->plan, .arrays = j->args, .n_arrays = j->n };
    const clpi_watch watch = { .user = t, .enter = enter, .step = step, .stops = stops };
    job_run_opts(j, &check.run);
    check.run.grid_start = start;
    check.run.grid_count = count;
    clp_status status = read_statements(t);
    if (!status)
        status = look_at_ops(t);
    if (!status)
        status = clpi_report_new(check.env, j->kernel, 0, &check.report);
    if (!status)
        status = clpi_snapshot_open(&check);
    if (!status)
        status = clpi_snapshot_run(&check, CLP_ORDER_FORWARD, 0, &watch);
    clpi_snapshot_close(&check);
    clp_report_free(check.report);
    return status;
}

int trace_program(const job *j, const clpi_bound *bound)
{
    int64_t program[CLPI_MAX_AXES] = { 0 }, start[CLPI_MAX_AXES], count[CLPI_MAX_AXES];
    int status = read_program(j, program);
    if (!status)
        status = find_box(j, bound, program, start, count);
    if (status)
        return status;
    printf("%s: program (", clp_kernel_name(j->kernel));
    for (int a = 0; a < j->ir->n_axes; a++)
        printf("%s%s = %lld", a ? ", " : "", j->ir->axes[a].name, (long long)program[a]);
    printf(")\n");
    trace t = { .j = j, .ir = j->ir, .program = program };
    clpi_arena_init(&t.arena, &j->ctx->env);
    if (run_traced(&t, start, count))
        status = fail_job(j);
    clpi_arena_done(&t.arena);
    return status;
}
