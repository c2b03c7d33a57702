/* print: the steps of a program as text, for people (`clpallas emit --nest`); never read back. */
#include "nest/nest.h"

static void print_ix(clpi_str *s, const clpi_ix *ix)
{
    const char *plus = "";
    if (ix->dim >= 0) {
        clpi_str_add(s, "d%d", ix->dim);
        if (ix->mul != 1)
            clpi_str_add(s, " * %lld", (long long)ix->mul);
        plus = " + ";
    }
    if (ix->node >= 0) {
        clpi_str_add(s, "%sv%d", plus, ix->node);
        plus = " + ";
    }
    if (ix->add != 0 || !plus[0])
        clpi_str_add(s, "%s%lld", plus, (long long)ix->add);
}

static void print_tile(clpi_str *s, const clpi_program *p, int tile)
{
    const clpi_tile *t = &p->tiles.items[tile];
    if (t->operand >= 0)
        clpi_str_puts(s, p->ir->operands[t->operand].name);
    else
        clpi_str_add(s, "t%d", tile);
}

static void print_access(clpi_str *s, const clpi_program *p, const clpi_access *a)
{
    if (a->is_tile)
        print_tile(s, p, a->target);
    else
        clpi_str_puts(s, p->ir->operands[a->target].name);
    clpi_str_puts(s, "[");
    for (int d = 0; d < a->rank; d++) {
        clpi_str_puts(s, d ? ", " : "");
        print_ix(s, &a->ix[d]);
        clpi_str_puts(s, a->checked >> d & 1 ? "?" : "");
    }
    clpi_str_puts(s, "]");
    if (a->mask >= 0)
        clpi_str_add(s, " where v%d", a->mask);
    if (a->other >= 0)
        clpi_str_add(s, " else v%d", a->other);
}

static void print_node(clpi_str *s, const clpi_program *p, const clpi_nest *n, int indent, int i)
{
    const clpi_node *x = &n->nodes.items[i];
    clpi_str_add(s, "%*sv%d: %s = ", indent, "", i, clp_dtype_name(x->dtype));
    switch (x->kind) {
    case CLPI_NODE_CONST: clpi_str_add(s, "0x%llx", (unsigned long long)x->bits); break;
    case CLPI_NODE_INDEX: print_ix(s, &x->ix); break;
    case CLPI_NODE_LOAD: print_access(s, p, &n->accesses.items[x->access]); break;
    case CLPI_NODE_LEAF: clpi_str_add(s, "%s %llu", clpi_ops[x->op].name, (unsigned long long)x->bits); break;
    default:
        clpi_str_puts(s, x->kind == CLPI_NODE_CAST ? "cast" : x->kind == CLPI_NODE_BITCAST ? "bitcast" : clpi_ops[x->op].name);
        for (int k = 0; k < x->n_args; k++)
            clpi_str_add(s, " v%d", x->args[k]);
        if (x->kind == CLPI_NODE_SCAN)
            clpi_str_add(s, " along d%d%s", x->ix.dim, x->bits ? " from its end" : "");
    }
    clpi_str_puts(s, "\n");
}

/* side: "left " or "right " of a dot, "check "; else "". */
static void print_nest(clpi_str *s, const clpi_program *p, const clpi_nest *n, int indent, const char *side)
{
    static const char *const arrows[] = { " = ", " <- ", " = last ", " <- " };
    clpi_str_add(s, "%*s%snest", indent, "", side);
    for (int d = n->n_outer; d < n->rank; d++)
        clpi_str_add(s, " d%d < %lld", d, (long long)n->extent[d]);
    clpi_str_puts(s, n->in_order ? " in order\n" : "\n");
    for (uint32_t i = 0; i < n->nodes.n; i++)
        print_node(s, p, n, indent + 4, (int)i);
    for (uint32_t o = 0; o < n->outs.n; o++) {
        const clpi_out *out = &n->outs.items[o];
        clpi_str_add(s, "%*s", indent + 4, "");
        print_access(s, p, &n->accesses.items[out->access]);
        const bool has_op = out->kind == CLPI_OUT_REDUCE || out->kind == CLPI_OUT_ATOMIC;
        clpi_str_add(s, "%s%s%sv%d\n", arrows[out->kind], has_op ? clpi_ops[out->op].name : "", has_op ? " " : "", out->value);
    }
}

static void print_check(clpi_str *s, const clpi_program *p, const clpi_step *step, int indent)
{
    print_nest(s, p, step->nest, indent, "check ");
    clpi_str_add(s, "%*s", indent + 4, "");
    if (step->check->condition >= 0)
        clpi_str_add(s, "v%d", step->check->condition);
    else
        print_access(s, p, &step->check->place);
    clpi_str_puts(s, "\n");
}

static void print_steps(clpi_str *s, const clpi_program *p, const clpi_steps *steps, int indent);

static void print_step(clpi_str *s, const clpi_program *p, const clpi_step *step, int indent)
{
    const clpi_dot *d = step->dot;
    switch (step->kind) {
    case CLPI_STEP_NEST: print_nest(s, p, step->nest, indent, ""); return;
    case CLPI_STEP_DOT:
        clpi_str_add(s, "%*sdot %lld x %lld x %lld: ", indent, "", (long long)d->m, (long long)d->n, (long long)d->k);
        print_tile(s, p, d->dest);
        clpi_str_add(s, d->accumulates ? " += left.v%d . right.v%d\n" : " = left.v%d . right.v%d\n", d->a_value, d->b_value);
        print_nest(s, p, d->a, indent + 4, "left ");
        print_nest(s, p, d->b, indent + 4, "right ");
        return;
    case CLPI_STEP_CHECK: print_check(s, p, step, indent); return;
    case CLPI_STEP_SORT: clpi_str_add(s, "%*ssort t%d along %d\n", indent, "", step->tile, step->axis); return;
    case CLPI_STEP_PRINT: clpi_str_add(s, "%*sprint\n", indent, ""); return;
    case CLPI_STEP_SHARED: clpi_str_add(s, "%*sshared d0 < %lld\n", indent, "", (long long)step->extent); break;
    case CLPI_STEP_FOR:
        clpi_str_add(s, "%*sfor t%d in t%d .. t%d step %lld\n", indent, "", step->index, step->lo, step->hi,
                     (long long)step->by);
        break;
    case CLPI_STEP_WHILE: clpi_str_add(s, "%*swhile t%d\n", indent, "", step->condition); break;
    case CLPI_STEP_BRANCH: clpi_str_add(s, "%*sif t%d\n", indent, "", step->condition); break;
    }
    print_steps(s, p, &step->body, indent + 4);
    if (step->other.n == 0)
        return;
    clpi_str_add(s, "%*selse\n", indent, "");
    print_steps(s, p, &step->other, indent + 4);
}

static void print_steps(clpi_str *s, const clpi_program *p, const clpi_steps *steps, int indent)
{
    for (uint32_t i = 0; i < steps->n; i++)
        print_step(s, p, steps->items[i], indent);
}

void clpi_nest_print(const clpi_program *p, clpi_str *s)
{
    for (uint32_t t = 0; t < p->tiles.n; t++) {
        const clpi_tile *tile = &p->tiles.items[t];
        if (tile->first < 0 && tile->operand < 0)
            continue;
        clpi_type type = { .dtype = tile->dtype, .rank = tile->rank };
        for (int d = 0; d < tile->rank; d++)
            type.shape[d] = tile->shape[d];
        clpi_str_puts(s, "tile ");
        print_tile(s, p, (int)t);
        clpi_str_puts(s, ": ");
        clpi_type_print(s, &type);
        clpi_str_puts(s, tile->operand >= 0 ? " scratch\n" : tile->is_row ? " one row\n" : "\n");
    }
    static const char *const names[] = { "first:\n", "", "last:\n" };
    for (int part = 0; part < CLPI_N_PARTS; part++) {
        clpi_str_puts(s, p->parts[part].n ? names[part] : "");
        print_steps(s, p, &p->parts[part], names[part][0] ? 4 : 0);
    }
}
