/* emit_scan: running sums, products, maxima and minima.
 *
 * In: a nest with scans, all along one dimension, which its loops go through in order. Out: for each scan a variable run<node> that holds
 * what it has come to, and its value at each point. Lanes across that dimension: the variable is a vector, taken on from point to point.
 * Lanes along it: a vector is scanned in itself, by shuffles, and what came before is added to all of its lanes.
 *
 *     0                    1                    2                    3                    lanes
 *     0                    0 1                  2                    2 3                  every second one and that before it
 *     0                    0 1                  0 1 2                0 1 2 3              of each four the last two and what comes before: ..
 *
 * (Sklansky, Conditional-sum addition logic, 1960.) In each step a lane takes what stands right before its block, so that running sums of what is
 * not negative never fall, as they would if lanes were added in other orders.                                            */
#include "cl/emit.h"

bool clpi_scans_backwards(const clpi_emit *e, int dim)
{
    const clpi_node *scan = clpi_scan_of(e->nest);
    return scan && scan->ix.dim == dim && scan->bits;
}

/* What a scan takes each point on by. */
static clpi_op_kind reduction_of(const clpi_node *scan)
{
    switch (scan->op) {
    case CLP_OP_cumsum: return CLP_OP_sum;
    case CLP_OP_cumprod: return CLP_OP_prod;
    case CLP_OP_cummax: return CLP_OP_max;
    default: return CLP_OP_min;
    }
}

static const char *identity_text(clpi_emit *e, const clpi_node *scan, int width)
{
    return clpi_identity_text(e, reduction_of(scan), scan->dtype, width);
}

static const char *combine_text(clpi_emit *e, const clpi_node *scan, int width, const char *a, const char *b)
{
    return clpi_combine_text(e, reduction_of(scan), scan->dtype, width, a, b);
}

const char *clpi_scan_identity_text(clpi_emit *e, int node)
{
    return identity_text(e, &e->nest->nodes.items[node], 1);
}

const char *clpi_scan_combine_text(clpi_emit *e, int node, const char *a, const char *b)
{
    return combine_text(e, &e->nest->nodes.items[node], 1, a, b);
}

static bool is_along_lanes(const clpi_emit *e, const clpi_node *x)
{
    return x->ix.dim == e->map->vector_dim;
}

/* Of the variable. */
static int run_width(const clpi_emit *e, int node)
{
    const bool has_lanes = clpi_depends_on(e->nest, node, e->map->vector_dim);
    return has_lanes && !is_along_lanes(e, &e->nest->nodes.items[node]) ? e->width : 1;
}

const char *clpi_scan_end_text(clpi_emit *e, int node, int width)
{
    const char *run = clpi_text(e, e->map->is_teamed ? "run%d[i]" : "run%d", node);
    if (width == run_width(e, node))
        return run;
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    clpi_prelude_splat(&e->prelude, &s, e->nest->nodes.items[node].dtype, width, run);
    return clpi_take_text(e, &s);
}

void clpi_declare_scans(clpi_emit *e)
{
    for (uint32_t i = 0; i < e->nest->nodes.n; i++) {
        const clpi_node *x = &e->nest->nodes.items[i];
        if (x->kind != CLPI_NODE_SCAN)
            continue;
        const int width = run_width(e, (int)i);
        clpi_line(e, "%s run%u = %s;", clpi_cl_type(x->dtype, width), i, identity_text(e, x, width));
    }
}

/* ---- Within a vector ---- */

/* Which lane comes to lane `l` when blocks of h lanes become blocks of 2 h; -1: none. */
static int lane_before(int l, int h)
{
    return l & h ? (l & ~(2 * h - 1)) + h - 1 : -1;
}

static void put_step(clpi_emit *e, clpi_str *s, const clpi_node *x, int h)
{
    const char *type = clpi_cl_type(x->dtype, e->width), *none = identity_text(e, x, 1);
    clpi_str before;
    clpi_str_init(&before, e->arena->env);
    clpi_str_add(&before, "(%s)(", type);
    for (int l = 0; l < e->width; l++) {
        const int from = lane_before(x->bits ? e->width - 1 - l : l, h);
        const char *lane = from < 0 ? none : clpi_text(e, "v.s%x", (unsigned)(x->bits ? e->width - 1 - from : from));
        clpi_str_add(&before, l ? ", %s" : "%s", lane);
    }
    clpi_str_puts(&before, ")");
    clpi_str_add(s, "    v = %s;\n", combine_text(e, x, e->width, clpi_take_text(e, &before), "v"));
}

/* The name of the function that scans a vector in itself. */
static const char *scan_function(clpi_emit *e, const clpi_node *x)
{
    const char *type = clpi_cl_type(x->dtype, e->width);
    const char *name = clpi_text(e, "%s_%s%s", clpi_ops[x->op].name, type, x->bits ? "_back" : "");
    if (!clpi_function_is_new(e, name))
        return name;
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    for (int h = 1; h < e->width; h *= 2)
        put_step(e, &s, x, h);
    clpi_str_add(&e->prelude.functions, "__attribute__((always_inline))\n%s %s(%s v)\n{\n%s    return v;\n}\n", type, name, type,
                 clpi_take_text(e, &s));
    return name;
}

/* ---- At a point ---- */

const char *clpi_scan_own_text(clpi_emit *e, int node, const char **out_last)
{
    const clpi_node *x = &e->nest->nodes.items[node];
    const int width = clpi_depends_on(e->nest, node, e->map->vector_dim) ? e->width : 1;
    const char *value = clpi_value_text(e, x->args[0], width, 32), *own = clpi_text(e, "w%d", node);
    clpi_line(e, "const %s %s = %s;", clpi_cl_type(x->dtype, width), own, width > 1 ? clpi_text(e, "%s(%s)", scan_function(e, x), value) : value);
    *out_last = width > 1 ? clpi_text(e, "%s.s%x", own, x->bits ? 0u : (unsigned)width - 1) : own;
    return own;
}

/* Where lanes lie across, the value is the variable itself, unlike those of other nodes: what uses it stands before the next point. A
 * team's member goes on from what comes before its own elements, base<node>; the variable is taken on for all of them elsewhere. */
const char *clpi_emit_scan(clpi_emit *e, int node)
{
    const clpi_node *x = &e->nest->nodes.items[node];
    const int width = e->values[node].width;
    const bool is_teamed = e->map->is_teamed;
    const char *type = clpi_cl_type(x->dtype, width), *name = clpi_text(e, "v%d", node), *run = clpi_text(e, "run%d", node), *last;
    if (!is_teamed && (width == 1 || !is_along_lanes(e, x))) {
        clpi_line(e, "%s = %s;", run, combine_text(e, x, width, run, clpi_value_text(e, x->args[0], width, 32)));
        return run;
    }
    const char *own = clpi_scan_own_text(e, node, &last), *base = is_teamed ? clpi_text(e, "base%d", node) : run;
    clpi_line(e, "const %s %s = %s;", type, name, combine_text(e, x, width, width > 1 ? clpi_text(e, "(%s)(%s)", type, base) : base, own));
    if (!is_teamed)
        clpi_line(e, "%s = %s;", run, combine_text(e, x, 1, run, last));
    return name;
}
