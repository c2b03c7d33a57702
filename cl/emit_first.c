/* emit_first: vectors of which the first lanes exist.
 *
 * In: a stretch of neighbours that the end of a block cuts. Out: calls that load or store what exists of it, in pieces of half as many
 * lanes, a quarter, ... one, as the bits of their number say: as many tests as that has bits, where one lane after another would
 * take as many as there are lanes; and the tests go the same way at every end of a row.
 *
 *     13 of 16     xxxxxxxx  xxxx  x          8 + 4 + 1                                                                   */
#include "cl/emit.h"

/* "s4567": n lanes from `from` on. */
static void put_lanes(clpi_str *out, int from, int n)
{
    clpi_str_add(out, "s%.*s", n, &"0123456789abcdef"[from]);
}

/* The last piece first, each in front of those that are there: nothing has to move to a place that only the number of lanes tells.
 * A half is moved behind and one is loaded in front: with a new vector of both, Oclgrind 21.10 crashes where it looks for unset values. */
static void put_load(clpi_str *out, const char *name, const char *type, const char *element, int width)
{
    clpi_str_add(out, "%s %s(__global const %s *p, int n, %s pad)\n{\n    %s v = (%s)(pad);\n", type, name, element, element, type, type);
    for (int k = 1; k < width; k *= 2) {
        clpi_str_add(out, "    if (n & %d) {\n        v.", k);
        put_lanes(out, k, k);
        clpi_str_puts(out, " = v.");
        put_lanes(out, 0, k);
        clpi_str_puts(out, ";\n        v.");
        put_lanes(out, 0, k);
        if (k == 1)
            clpi_str_add(out, " = p[n & %d];\n    }\n", width - 2);
        else if (2 * k < width)
            clpi_str_add(out, " = vload%d(0, p + (n & %d));\n    }\n", k, width - 2 * k);
        else
            clpi_str_add(out, " = vload%d(0, p);\n    }\n", k);
    }
    clpi_str_puts(out, "    return v;\n}\n\n");
}

static void put_store(clpi_str *out, const char *name, const char *type, const char *element, int width)
{
    clpi_str_add(out, "void %s(__global %s *p, int n, %s v)\n{\n", name, element, type);
    for (int k = width / 2; k > 1; k /= 2) {
        clpi_str_add(out, "    if (n & %d) {\n        vstore%d(v.", k, k);
        put_lanes(out, 0, k);
        clpi_str_add(out, ", 0, p);\n        p += %d;\n        v.", k);
        put_lanes(out, 0, k);
        clpi_str_puts(out, " = v.");
        put_lanes(out, k, k);
        clpi_str_puts(out, ";\n    }\n");
    }
    clpi_str_puts(out, "    if (n & 1)\n        *p = v.s0;\n}\n\n");
}

/* The name of the function for vectors of that type; it is among those of the prelude once. */
static const char *function_of(clpi_emit *e, const clpi_access *a, bool is_store)
{
    const char *type = clpi_stored_vector_type(e, a, e->width), *element = clpi_stored_vector_type(e, a, 1);
    const char *name = clpi_text(e, is_store ? "store_first_%s" : "load_first_%s", type);
    if (clpi_function_is_new(e, name))
        (is_store ? put_store : put_load)(&e->prelude.functions, name, type, element, e->width);
    return name;
}

bool clpi_has_first_lanes(const clpi_emit *e, const clpi_access *a)
{
    const int last = a->rank - 1;
    return !clpi_is_simt(e) && !a->is_tile && a->ix[last].node < 0 && a->ix[last].add >= 0 &&
           !clpi_has_low_edge(&e->ir->operands[a->target], last);
}

const char *clpi_first_lanes_inside(clpi_emit *e, const clpi_access *a)
{
    return clpi_and_text(e, clpi_inside_text(e, a), clpi_side_by_side_text(e, a));
}

/* How many lanes exist, which is some and not all. */
static const char *n_lanes_text(clpi_emit *e, const clpi_access *a)
{
    return clpi_text(e, "%s_hi%d - (%s)", e->ir->operands[a->target].name, a->rank - 1, clpi_ix_text(e, &a->ix[a->rank - 1]));
}

const char *clpi_load_first_lanes(clpi_emit *e, const clpi_access *a)
{
    const char *pad = clpi_pad_text(e, a);
    return clpi_text(e, "%s(%s, %s, %s)", function_of(e, a, false), clpi_stretch_address(e, a), n_lanes_text(e, a),
                     clpi_stored_text(e, a, 1, pad));
}

const char *clpi_store_first_lanes(clpi_emit *e, const clpi_access *a, const char *stored)
{
    return clpi_text(e, "%s(%s, %s, %s)", function_of(e, a, true), clpi_stretch_address(e, a), n_lanes_text(e, a), stored);
}
