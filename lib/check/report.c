/* report: what a check found.
 * In: findings as they come. Out: few of them, ordered and in words.
 * Decides what is one finding: all elements to which the same two accesses do the same. Findings come by kind, operand and
 * first element; past the most that the caller wants they are counted.                                                  */
#include <assert.h>
#include <string.h>

#include "base/real.h"
#include "check/tally.h"
#include "text/text.h"

struct clp_report {
    clpi_env         *env;
    clpi_arena        arena;
    const clp_kernel *kernel;
    const clpi_ir    *ir;
    const clpi_bound *bound;              /* while the check goes on; NULL: the arrays were not looked at */
    int               max_findings;
    struct { clpi_found *items; uint32_t n, cap; } found;
    uint32_t          last;               /* the one that was added to last */
    struct { const char **items; uint32_t n, cap; } facts;
    bool              is_proved;
    clp_difference    difference;
    int64_t           element[CLP_MAX_RANK];      /* of the difference */
    clp_finding      *findings;
    int               n_findings;
    int64_t           n_dropped;
    const char       *text;
};

clp_status clpi_report_new(clpi_env *env, const clp_kernel *kernel, int max_findings, clp_report **out_report)
{
    clp_report *r = *out_report = clpi_alloc(env, 1, sizeof *r);
    if (!r)
        return CLP_ERR_OOM;
    r->env = env;
    r->kernel = kernel;
    r->ir = kernel->ir;
    r->max_findings = max_findings;
    clpi_arena_init(&r->arena, env);
    return CLP_OK;
}

void clp_report_free(clp_report *report)
{
    if (!report)
        return;
    clpi_env *env = report->env;
    clpi_arena_done(&report->arena);
    clpi_free(env, report, 1, sizeof *report);
}

clpi_arena *clpi_report_arena(clp_report *report)
{
    return &report->arena;
}

void clpi_report_bind(clp_report *report, const clpi_bound *bound)
{
    report->bound = bound;
}

/* ---- Adding ---- */

static bool is_like(const clpi_found *a, const clpi_found *b)
{
    return a->kind == b->kind && a->operand == b->operand && a->op[0] == b->op[0] && a->op[1] == b->op[1] &&
           (a->message == b->message || (a->message && b->message && !strcmp(a->message, b->message)));
}

static int compare_elements(const clpi_found *a, const clpi_found *b)
{
    for (int d = 0; d < CLP_MAX_RANK; d++)
        if (a->element[d] != b->element[d])
            return a->element[d] < b->element[d] ? -1 : 1;
    return 0;
}

static void merge(clpi_found *to, const clpi_found *from)
{
    to->axes |= from->axes;
    to->is_read |= from->is_read;
    to->is_updated |= from->is_updated;
    to->n_elements += from->n_elements;
    to->n_times += from->n_times;
    for (int d = 0; d < CLP_MAX_RANK; d++) {
        to->start[d] = from->start[d] < to->start[d] ? from->start[d] : to->start[d];
        to->end[d] = from->end[d] > to->end[d] ? from->end[d] : to->end[d];
    }
    if (compare_elements(from, to) < 0) {
        memcpy(to->element, from->element, sizeof to->element);
        memcpy(to->program, from->program, sizeof to->program);
    }
}

clp_status clpi_report_add(clp_report *report, const clpi_found *found)
{
    const uint32_t n = report->found.n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = i + report->last < n ? i + report->last : i + report->last - n;
        if (!is_like(&report->found.items[k], found))
            continue;
        report->last = k;
        merge(&report->found.items[k], found);
        return CLP_OK;
    }
    report->last = n;
    return CLPI_PUSH(&report->arena, &report->found, *found) ? CLP_OK : CLP_ERR_OOM;
}

bool clpi_report_has(const clp_report *report, clp_finding_kind kind, int operand, uint32_t op)
{
    for (uint32_t i = 0; i < report->found.n; i++) {
        const clpi_found *f = &report->found.items[i];
        if (f->kind == kind && (operand < 0 || f->operand == operand) && (!op || f->op[0] == op || f->op[1] == op))
            return true;
    }
    return false;
}

clp_status clpi_report_fact(clp_report *report, const char *format, ...)
{
    clpi_str s;
    va_list args;
    clpi_str_init(&s, report->env);
    va_start(args, format);
    clpi_str_add_v(&s, format, args);
    va_end(args);
    const char *text = clpi_str_keep(&s, &report->arena);
    return text && CLPI_PUSH(&report->arena, &report->facts, text) ? CLP_OK : CLP_ERR_OOM;
}

void clpi_report_all_proved(clp_report *report)
{
    report->is_proved = true;
}

void clpi_report_difference(clp_report *report, int operand, const int64_t *element, double abs, double rel, double ulp,
                            double got, double expected)
{
    const clpi_operand *x = &report->ir->operands[operand];
    if (report->difference.operand && !(ulp > report->difference.ulp))
        return;
    memcpy(report->element, element, (size_t)x->rank * sizeof *element);
    report->difference = (clp_difference){ x->name, x->rank, report->element, abs, rel, ulp, got, expected };
}

/* ---- Words ---- */

static int rank_of(const clpi_operand *x)
{
    return x->role == CLP_SCRATCH ? x->ref_rank : x->rank;
}

/* "; 16 elements [0:16]", of one element nothing; "in" before a box that has others too. */
static void put_elements(clpi_str *s, const clpi_found *f, int rank)
{
    uint64_t n = 1;
    if (f->n_elements < 2)
        return;
    for (int d = 0; d < rank; d++)
        n *= (uint64_t)(f->end[d] - f->start[d]);
    clpi_str_add(s, "; %llu elements %s[", (unsigned long long)f->n_elements, n == f->n_elements ? "" : "in ");
    for (int d = 0; d < rank; d++)
        clpi_str_add(s, "%s%lld:%lld", d ? ", " : "", (long long)f->start[d], (long long)f->end[d]);
    clpi_str_puts(s, "]");
}

/* "writes", of an access. */
static const char *verb_of(const clpi_ir *ir, uint32_t op)
{
    static const char *const verbs[] = { [CLPI_TOUCH_READ] = "reads", [CLPI_TOUCH_WRITE] = "writes", [CLPI_TOUCH_ATOMIC] = "atomically updates" };
    return verbs[clpi_touch_kind_of(&ir->ops.items[op])];
}

/* The axis that alone would put all of them into one sequence; -1: there is none. */
static int axis_of(const clpi_found *f)
{
    int axis = 0;
    if (!f->axes || (f->axes & (f->axes - 1)))
        return -1;
    while (!(f->axes >> axis & 1))
        axis++;
    return axis;
}

static void word_race(const clp_report *r, const clpi_found *f, clpi_str *s)
{
    const clpi_ir *ir = r->ir;
    const clpi_op *ops = ir->ops.items;
    const clpi_operand *x = &ir->operands[f->operand];
    const char *verb[2] = { verb_of(ir, f->op[0]), verb_of(ir, f->op[1]) };
    clpi_str_add(s, "%s: %s: ", x->name, clp_finding_name(f->kind));
    for (int i = 0; i < 2; i++) {
        int operand = ops[f->op[i]].operand;
        clpi_program_print(ir, f->program[i], s);
        clpi_str_add(s, " %s ", verb[i]);
        if (i == 0)
            clpi_str_puts(s, "element ");
        if (i == 0)
            clpi_element_print(s, f->element, x->rank);
        else
            clpi_str_puts(s, verb[0] == verb[1] ? "it too" : "it");
        if (operand != f->operand)
            clpi_str_add(s, " through %s", ir->operands[operand].name);
        clpi_str_puts(s, i == 0 ? " and " : "");
    }
    if (f->kind == CLP_FINDING_RACE_SAME_VALUE)
        clpi_str_puts(s, "; what is written is there already");
    if (f->is_read || f->is_updated)
        clpi_str_add(s, "; %s it", f->is_read && f->is_updated ? "others read and atomically update"
                                       : f->is_read                ? "others read"
                                                                   : "others atomically update");
    put_elements(s, f, x->rank);
    int axis = axis_of(f);
    if (axis >= 0)
        clpi_str_add(s, "; axis %s would have to be `arbitrary`", ir->axes[axis].name);
    else
        clpi_str_puts(s, "; no axis would do as the only one to become `arbitrary`");
}

static void word_memory(const clp_report *r, const clpi_found *f, clpi_str *s)
{
    const clpi_operand *x = &r->ir->operands[f->operand];
    clpi_str_add(s, "%s: %s: ", x->name, clp_finding_name(f->kind));
    if (f->n_programs) {
        clpi_program_print(r->ir, f->program[0], s);
        clpi_str_puts(s, " reads element ");
        clpi_element_print(s, f->element, rank_of(x));
        clpi_str_puts(s, ", which nobody wrote");
    } else {
        clpi_str_puts(s, "no program writes element ");
        clpi_element_print(s, f->element, rank_of(x));
    }
    put_elements(s, f, rank_of(x));
    uint64_t all = 1;
    for (int d = 0; r->bound && x->role != CLP_SCRATCH && d < x->rank; d++)
        all *= (uint64_t)r->bound->operands[f->operand].size[d];
    if (f->kind == CLP_FINDING_NEVER_WRITTEN)
        clpi_str_add(s, f->n_elements == 1 ? "; 1 of %llu" : " of %llu", (unsigned long long)all);
}

/* "program (0, 0) writes"; nothing of an op that is no access. */
static void put_access(const clp_report *r, const clpi_found *f, int i, clpi_str *s)
{
    if (i >= f->n_programs || r->ir->ops.items[f->op[i]].operand < 0)
        return;
    clpi_str_puts(s, " ");
    clpi_program_print(r->ir, f->program[i], s);
    clpi_str_add(s, " %s", verb_of(r->ir, f->op[i]));
}

static clpi_pos pos_of(const clp_report *r, const clpi_found *f, int i)
{
    return f->op[i] ? r->ir->ops.items[f->op[i]].pos : f->pos;
}

/* Under the message: "k.plk:6:5: program (0, 0) writes" and the line of the kernel's text, or the op where there is none. A
 * message that opens with the place has said it.                                                                        */
static void put_place(const clp_report *r, const clpi_found *f, const char *message, int i, clpi_str *s)
{
    const clpi_ir *ir = r->ir;
    const clpi_source *source = ir->source;
    const clpi_pos pos = pos_of(r, f, i);
    if (pos.line && source && source->file) {
        if (f->n_programs == 2 || strncmp(message, source->file, strlen(source->file)) != 0) {
            clpi_str_add(s, "\n%s:%u:%u:", source->file, (unsigned)pos.line, (unsigned)pos.column);
            put_access(r, f, i, s);
        }
        clpi_source_line(s, source, pos);
        return;
    }
    clpi_str_puts(s, "\n   ");
    put_access(r, f, i, s);
    clpi_str_puts(s, ": ");
    if (f->op[i] < ir->n_header)
        clpi_expr_print(ir, (clp_val){ f->op[i] }, s);
    else
        clpi_op_print(ir, f->op[i], s);
}

static clp_status word(clp_report *r, const clpi_found *f, clp_finding *out)
{
    clpi_str s;
    clpi_str_init(&s, r->env);
    if (f->message) {
        clpi_str_puts(&s, f->message);
        if (f->operand >= 0)
            put_elements(&s, f, rank_of(&r->ir->operands[f->operand]));
    } else if (f->n_programs == 2)
        word_race(r, f, &s);
    else
        word_memory(r, f, &s);
    out->message = clpi_str_keep(&s, &r->arena);
    if (!out->message)
        return CLP_ERR_OOM;
    clpi_str_init(&s, r->env);
    clpi_str_puts(&s, out->message);
    for (int i = 0; i < out->n_accesses; i++)
        put_place(r, f, out->message, i, &s);
    clpi_str_puts(&s, "\n");
    out->text = clpi_str_keep(&s, &r->arena);
    return out->text ? CLP_OK : CLP_ERR_OOM;
}

/* ---- The end ---- */

static const int64_t *copy_of(clp_report *r, const int64_t *numbers, int n)
{
    int64_t *copy = CLPI_NEW_N(&r->arena, int64_t, (size_t)n + 1);
    if (copy)
        memcpy(copy, numbers, (size_t)n * sizeof *copy);
    return copy;
}

static clp_status make_finding(clp_report *r, const clpi_found *f, clp_finding *out)
{
    const clpi_ir *ir = r->ir;
    *out = (clp_finding){ .kind = f->kind, .elements = (int64_t)(f->n_elements + f->n_times), .n_axes = ir->n_axes, .n_programs = f->n_programs };
    if (f->operand >= 0) {
        out->operand = ir->operands[f->operand].name;
        out->rank = rank_of(&ir->operands[f->operand]);
    }
    if (f->operand >= 0 && f->n_elements) {
        out->first_element = copy_of(r, f->element, out->rank);
        out->box_start = copy_of(r, f->start, out->rank);
        out->box_end = copy_of(r, f->end, out->rank);
    }
    for (int i = 0; i < f->n_programs; i++)
        out->programs[i] = copy_of(r, f->program[i], ir->n_axes);
    const bool is_map = !f->op[0] && f->pos.line && ir->source;
    for (int i = 0; i < 2 && (f->op[i] || (i == 0 && is_map)); i++) {
        clpi_pos pos = pos_of(r, f, i);
        out->accesses[out->n_accesses++] = (clp_position){ pos.line, pos.column };
    }
    if (f->n_programs == 2 && axis_of(f) >= 0)
        out->axis = ir->axes[axis_of(f)].name;
    return r->arena.failed ? CLP_ERR_OOM : word(r, f, out);
}

static bool is_before(const clpi_found *a, const clpi_found *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind;
    if (a->operand != b->operand)
        return a->operand < b->operand;
    int elements = compare_elements(a, b);
    if (elements)
        return elements < 0;
    return a->op[0] != b->op[0] ? a->op[0] < b->op[0] : a->op[1] < b->op[1];
}

static uint32_t *order_of(clp_report *r)
{
    uint32_t *order = CLPI_NEW_N(&r->arena, uint32_t, (size_t)r->found.n + 1);
    for (uint32_t i = 0; order && i < r->found.n; i++) {
        uint32_t at = i;
        for (; at > 0 && is_before(&r->found.items[i], &r->found.items[order[at - 1]]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return order;
}

static void put_difference(const clp_report *r, clpi_str *s)
{
    const clp_difference *d = &r->difference;
    if (!d->operand)
        return;
    clpi_str_add(s, "largest difference: %s", d->operand);
    clpi_element_print(s, d->element, d->rank);
    clpi_str_add(s, " is %s on the device, %s on the interpreter: %s ulp\n", clpi_real(9, d->got).text, clpi_real(9, d->expected).text,
                 clpi_real(3, d->ulp).text);
}

static clp_status make_text(clp_report *r)
{
    clpi_str s;
    clpi_str_init(&s, r->env);
    for (int i = 0; i < r->n_findings; i++)
        clpi_str_puts(&s, r->findings[i].text);
    for (uint32_t i = 0; i < r->facts.n; i++)
        clpi_str_add(&s, "%s\n", r->facts.items[i]);
    put_difference(r, &s);
    int64_t n = r->n_findings + r->n_dropped;
    if (n == 0)
        clpi_str_add(&s, "%s: %s\n", r->ir->name, r->is_proved ? "proved: no race and no access outside, whatever the shapes; nothing else was found on these arrays"
                                                               : "checked: nothing was found on these arrays");
    else
        clpi_str_add(&s, "%s: %lld finding%s%s\n", r->ir->name, (long long)n, n == 1 ? "" : "s",
                     r->n_dropped ? ", of which the first are shown" : "");
    r->text = clpi_str_keep(&s, &r->arena);
    return r->text ? CLP_OK : CLP_ERR_OOM;
}

clp_status clpi_report_finish(clp_report *r)
{
    const uint32_t *order = order_of(r);
    uint32_t n = r->found.n < (uint32_t)r->max_findings ? r->found.n : (uint32_t)r->max_findings;
    r->findings = CLPI_NEW_N(&r->arena, clp_finding, (size_t)n + 1);
    if (!order || !r->findings)
        return CLP_ERR_OOM;
    for (uint32_t i = 0; i < n; i++)
        CLP_TRY(make_finding(r, &r->found.items[order[i]], &r->findings[i]));
    r->n_findings = (int)n;
    r->n_dropped = r->found.n - n;
    r->bound = NULL;
    return make_text(r);
}

/* ---- What a report tells ---- */

const char *clp_finding_name(clp_finding_kind kind)
{
    static const char *const names[CLP_N_FINDINGS] = {
#define CLP_FINDING_NAME(NAME, name) [CLP_FINDING_##NAME] = name,
        CLP_FINDINGS(CLP_FINDING_NAME)
#undef CLP_FINDING_NAME
    };
    return kind >= 0 && kind < CLP_N_FINDINGS ? names[kind] : "?";
}

clp_verdict clp_report_verdict(const clp_report *report)
{
    return report->n_findings || report->n_dropped ? CLP_VERDICT_FAULTY : report->is_proved ? CLP_VERDICT_PROVED : CLP_VERDICT_CHECKED;
}

int clp_report_n_findings(const clp_report *report)
{
    return report->n_findings;
}

const clp_finding *clp_report_finding(const clp_report *report, int i)
{
    return i >= 0 && i < report->n_findings ? &report->findings[i] : NULL;
}

int64_t clp_report_n_dropped(const clp_report *report)
{
    return report->n_dropped;
}

const char *clp_report_text(const clp_report *report)
{
    return report->text;
}

clp_difference clp_report_difference(const clp_report *report)
{
    return report->difference;
}
