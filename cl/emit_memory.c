/* emit_memory: loads and stores, of refs and tiles, one element or a vector at a time.
 *
 * In: an access of the nest being printed. Out: text that reads or writes it and never touches memory outside: outside the
 * block or the array a load gives the pad and a store does nothing. A vector of neighbours that all exist is one access, one of which the
 * first exist a few (emit_first.c); of any other the lanes that exist go one by one. What lies across the lanes comes out of squares
 * (emit_square.c). Where it is, and whether something exists there, emit_place.c says.                                       */
#include "cl/emit.h"

#include <string.h>

/* ---- Elements ---- */

static clp_dtype access_dtype(const clpi_emit *e, const clpi_access *a)
{
    return a->is_tile ? e->p->tiles.items[a->target].dtype : e->ir->operands[a->target].dtype;
}

/* Is what lies in memory what is computed with? */
static bool lies_held(const clpi_emit *e, const clpi_access *a)
{
    return a->is_tile && access_dtype(e, a) != CLP_BOOL;
}

/* A value of the access's dtype as it is put there. */
static const char *stored_text(clpi_emit *e, const clpi_access *a, int width, const char *held)
{
    if (lies_held(e, a))
        return held;
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    clpi_prelude_stored(&e->prelude, &s, access_dtype(e, a), width, held);
    return clpi_take_text(e, &s);
}

const char *clpi_stored_text(clpi_emit *e, const clpi_access *a, int width, const char *held)
{
    return e->is_raw ? held : stored_text(e, a, width, held);
}

const char *clpi_held_text(clpi_emit *e, const clpi_access *a, int mask_bits, const char *stored)
{
    if (e->is_raw || lies_held(e, a))
        return stored;
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    clpi_prelude_held(&e->prelude, &s, access_dtype(e, a), e->width, mask_bits, stored);
    return clpi_take_text(e, &s);
}

/* One element that exists, in held form. */
static const char *element_text(clpi_emit *e, const clpi_access *a)
{
    clp_dtype dtype = access_dtype(e, a);
    if (clpi_is_register(e, a))
        return clpi_place_text(e, a);
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    if (clpi_is_packed(dtype))
        clpi_prelude_nibble(&e->prelude, &s, dtype, clpi_base_text(e, a), clpi_offset_text(e, a));
    else if (e->is_raw || lies_held(e, a))
        clpi_str_puts(&s, clpi_place_text(e, a));
    else
        clpi_prelude_held(&e->prelude, &s, dtype, 1, 0, clpi_place_text(e, a));
    return clpi_take_text(e, &s);
}

const char *clpi_pad_text(clpi_emit *e, const clpi_access *a)
{
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    const clpi_operand *x = a->is_tile ? NULL : &e->ir->operands[a->target];
    clp_dtype dtype = access_dtype(e, a);
    if (x && x->has_pad)
        clpi_cl_literal(&s, dtype, x->pad_bits);
    else
        clpi_cl_poison(&s, dtype);
    const char *held = clpi_take_text(e, &s);
    return e->is_raw ? stored_text(e, a, 1, held) : held;
}

static const char *signed_text(clpi_emit *e, const char *sign, const char *text)
{
    return *sign ? clpi_text(e, "%s(%s)", sign, text) : text;
}

/* One element, wherever it is, into `place` (declared here when it comes with a type): first what stands for it, then, where mask
 * and range allow, the element. Not `inside ? element : pad`: of 8-bit elements chosen so Mesa 22.3 loses some, or crashes.
 * sign: "-" makes lanes of a mask from bools. */
static void emit_guarded(clpi_emit *e, const clpi_access *a, const char *type, const char *place, const char *sign)
{
    const char *element = element_text(e, a), *inside = clpi_inside_text(e, a);
    const char *mask = a->mask >= 0 ? clpi_lane_text(e, a->mask) : NULL;
    if (!mask && !inside) {
        clpi_line(e, "%s%s%s = %s;", type ? "const " : "", type ? type : "", place, signed_text(e, sign, element));
        return;
    }
    const char *instead = mask ? clpi_lane_text(e, a->other) : clpi_pad_text(e, a);
    clpi_line(e, "%s%s = %s;", type ? type : "", place, signed_text(e, sign, instead));
    if (mask && inside) {
        clpi_open(e, "if (%s)", mask);
        clpi_line(e, "%s = %s;", place, signed_text(e, sign, clpi_pad_text(e, a)));
    }
    clpi_line(e, "if (%s)", inside ? inside : mask);
    clpi_line(e, "    %s = %s;", place, signed_text(e, sign, element));
    if (mask && inside)
        clpi_close(e);
}

/* ---- Vectors ---- */

const char *clpi_stored_vector_type(const clpi_emit *e, const clpi_access *a, int width)
{
    clp_dtype dtype = access_dtype(e, a);
    return a->is_tile ? clpi_tile_type(dtype, width) : clpi_cl_stored_type(dtype, width);
}

int clpi_stored_bytes(const clpi_emit *e, const clpi_access *a)
{
    clp_dtype dtype = access_dtype(e, a);
    return lies_held(e, a) ? (int)clpi_rep_bytes(dtype) : clp_dtype_bits(dtype) / 8;
}

/* Asks for the line that the stretch of a later turn of the loop around begins in. */
static void emit_fetch_ahead(clpi_emit *e, const clpi_access *a)
{
    const int around = clpi_loop_around(e->map);
    bool moves = false;               /* with the loop itself, not with what is read in it */
    for (int d = 0; d < a->rank; d++) {
        if (clpi_depends_on(e->nest, a->ix[d].node, around))
            return;
        moves = moves || (around >= 0 && a->ix[d].dim == around);
    }
    if (a->is_tile || !moves)
        return;
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    e->ahead = e->map->ahead;
    clpi_prelude_fetch(&e->prelude, &s, clpi_stretch_address(e, a));
    e->ahead = 0;
    clpi_line(e, "%s;", clpi_take_text(e, &s));
}

static const char *held_vector(clpi_emit *e, const clpi_access *a, clpi_value *v)
{
    return clpi_held_text(e, a, v->mask_bits, clpi_stretch_text(e, a, true));
}

static void use_access_lanes(clpi_emit *e, const clpi_access *a)
{
    for (int d = 0; d < a->rank; d++)
        clpi_use_lanes(e, a->ix[d].node);
    clpi_use_lanes(e, a->mask);
    clpi_use_lanes(e, a->other);
}

/* The arrays of lanes go with the block they were declared in. */
static void forget_access_lanes(clpi_emit *e, const clpi_access *a)
{
    for (int d = 0; d < a->rank; d++)
        if (a->ix[d].node >= 0)
            e->values[a->ix[d].node].has_lanes = false;
    if (a->mask >= 0)
        e->values[a->mask].has_lanes = false;
    if (a->other >= 0)
        e->values[a->other].has_lanes = false;
}

/* simt: in turn through one lane of the vector, not through an array, which a loop that is left as it is would put on the stack; and one that
 * is unrolled takes a register pair for the address of each lane (softmax in rows of 1024: 254 registers and spills, against 71). */
static bool goes_in_turn(const clpi_emit *e, const clpi_access *a)
{
    return clpi_is_simt(e) && a->mask < 0 && clpi_is_stretch(e, a);
}

static const char *shifted_lanes(int width)
{
    return width == 4 ? "s123" : "s1";
}

static void emit_load_in_turn(clpi_emit *e, int node, const clpi_access *a, const char *type)
{
    const bool is_bool = access_dtype(e, a) == CLP_BOOL;
    const char *lane = clpi_text(e, "%.*s ", (int)strcspn(type, "0123456789"), type);
    clpi_line(e, "v%d = 0;", node);
    clpi_line(e, "#pragma unroll 1");
    e->lane = "l";
    clpi_open(e, "for (int l = 0; l < %d; l++)", e->width);
    emit_guarded(e, a, lane, clpi_text(e, "e%d", node), is_bool ? "-" : "");
    clpi_line(e, "v%d = (%s)(v%d.%s, e%d);", node, type, node, shifted_lanes(e->width), node);
    clpi_close(e);
    e->lane = NULL;
}

/* Bools become lanes of a mask. */
static const char *lane_sign(const clpi_emit *e, const clpi_access *a)
{
    return access_dtype(e, a) == CLP_BOOL && !e->is_raw ? "-" : "";
}

static void emit_load_lanes(clpi_emit *e, int node, const clpi_access *a, const char *type)
{
    use_access_lanes(e, a);
    clpi_declare_lanes(e, type, clpi_text(e, "e%d", node), e->width);
    e->lane = "l";
    clpi_open(e, "for (int l = 0; l < %d; l++)", e->width);
    emit_guarded(e, a, NULL, clpi_text(e, "e%d[l]", node), lane_sign(e, a));
    clpi_close(e);
    e->lane = NULL;
    clpi_line(e, "v%d = vload%d(0, e%d);", node, e->width, node);
    forget_access_lanes(e, a);
}

/* A mask over a stretch that exists: load it all, then choose. */
static void emit_load_chosen(clpi_emit *e, int node, const clpi_access *a, const char *type, clpi_value *v)
{
    clp_dtype dtype = clpi_loaded(access_dtype(e, a));
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    int bits = clpi_cl_mask_bits(dtype);
    const char *args[3] = { clpi_value_text(e, a->mask, e->width, dtype == CLP_BOOL ? v->mask_bits : bits), held_vector(e, a, v),
                            clpi_value_text(e, a->other, e->width, v->mask_bits) };
    clpi_prelude_ew(&e->prelude, &s, CLP_OP_where, dtype, e->width, args);
    clpi_line(e, "const %s v%d = %s;", type, node, s.text);
    clpi_str_done(&s);
}

/* Of a value with lanes, or of the lanes that are to be stored; masks have lanes of mask_bits. */
static const char *lanes_type(const clpi_emit *e, const clpi_access *a, clp_dtype dtype, int mask_bits)
{
    return e->is_raw           ? clpi_stored_vector_type(e, a, e->width)
           : dtype == CLP_BOOL ? clpi_cl_mask_type(mask_bits, e->width)
                               : clpi_cl_type(dtype, e->width);
}

static const char *pad_vector(clpi_emit *e, const clpi_access *a, const char *type)
{
    const char *pad = clpi_pad_text(e, a);
    return clpi_text(e, "(%s)(%s%s)", type, lane_sign(e, a), pad);
}

/* A stretch that may not be whole: all at once, in pieces, lane by lane, or nothing but the pad. */
static void emit_load_cut(clpi_emit *e, int node, const clpi_access *a, const char *type, const char *inside)
{
    const char *touches = clpi_stretch_touches(e, a);
    clpi_line(e, touches ? "%s v%d = %s;" : "%s v%d;", type, node, touches ? pad_vector(e, a, type) : "");
    clpi_line(e, "if (%s)", inside);
    clpi_line(e, "    v%d = %s;", node, held_vector(e, a, &e->values[node]));
    if (clpi_has_first_lanes(e, a)) {
        clpi_line(e, "else if (%s)", clpi_first_lanes_inside(e, a));
        clpi_line(e, "    v%d = %s;", node, clpi_held_text(e, a, e->values[node].mask_bits, clpi_load_first_lanes(e, a)));
        if (!clpi_side_by_side_text(e, a))      /* where the first lane is not there, none is */
            return;
    }
    clpi_open(e, touches ? "else if (%s)" : "else", touches);
    if (goes_in_turn(e, a))
        emit_load_in_turn(e, node, a, type);
    else
        emit_load_lanes(e, node, a, type);
    clpi_close(e);
}

static void emit_load_vector(clpi_emit *e, int node, const clpi_access *a, clpi_value *v)
{
    clp_dtype dtype = clpi_loaded(access_dtype(e, a));
    v->mask_bits = dtype == CLP_BOOL ? 8 : 0;
    const char *type = lanes_type(e, a, dtype, 8);
    const char *inside = clpi_is_stretch(e, a) ? clpi_stretch_inside(e, a) : NULL;
    const bool is_whole = clpi_is_stretch(e, a) && !inside;
    if (e->map->ahead && is_whole)
        emit_fetch_ahead(e, a);
    if (is_whole && a->mask < 0) {
        clpi_line(e, "const %s v%d = %s;", type, node, held_vector(e, a, v));
    } else if (is_whole) {
        emit_load_chosen(e, node, a, type, v);
    } else if (inside && a->mask < 0) {
        emit_load_cut(e, node, a, type, inside);
    } else {
        clpi_line(e, "%s v%d;", type, node);
        clpi_open_block(e);
        emit_load_lanes(e, node, a, type);
        clpi_close(e);
    }
}

static void emit_load_turned(clpi_emit *e, int node, const clpi_access *a, clpi_value *v)
{
    clp_dtype dtype = clpi_loaded(access_dtype(e, a));
    v->mask_bits = dtype == CLP_BOOL ? 8 : 0;
    clpi_line(e, "const %s v%d = %s;", lanes_type(e, a, dtype, 8), node, clpi_held_text(e, a, v->mask_bits, clpi_square_text(e, a)));
}

void clpi_emit_load(clpi_emit *e, int node)
{
    const clpi_access *a = &e->nest->accesses.items[e->nest->nodes.items[node].access];
    clpi_value *v = &e->values[node];
    if (clpi_is_owned(e, a)) {
        clpi_line(e, "const %s v%d = %s;", clpi_cl_type(clpi_loaded(access_dtype(e, a)), v->width), node, clpi_place_text(e, a));
    } else if (clpi_is_turned(e, a)) {
        emit_load_turned(e, node, a, v);
    } else if (v->width == 1) {
        if (clpi_is_register(e, a) && a->mask < 0) {
            v->text = clpi_place_text(e, a);
            return;
        }
        const char *type = e->is_raw ? clpi_stored_vector_type(e, a, 1) : clpi_cl_type(clpi_loaded(access_dtype(e, a)), 1);
        emit_guarded(e, a, clpi_text(e, "%s ", type), clpi_text(e, "v%d", node), "");
    } else {
        emit_load_vector(e, node, a, v);
    }
    v->text = clpi_text(e, "v%d", node);
}

/* ---- Stores ---- */

static void emit_store_one(clpi_emit *e, const clpi_access *a, const char *value)
{
    clp_dtype dtype = access_dtype(e, a);
    const char *inside = clpi_inside_text(e, a);
    if (a->mask >= 0)
        inside = clpi_and_text(e, clpi_lane_text(e, a->mask), inside);
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    if (clpi_is_packed(dtype)) {
        clpi_prelude_nibble_store(&e->prelude, &s, clpi_base_text(e, a), clpi_offset_text(e, a), value);
    } else {
        clpi_str_add(&s, "%s = %s", clpi_place_text(e, a), clpi_is_register(e, a) ? value : clpi_stored_text(e, a, 1, value));
    }
    if (inside)
        clpi_line(e, "if (%s)", inside);
    clpi_line(e, inside ? "    %s;" : "%s;", s.text);
    clpi_str_done(&s);
}

static void emit_store_stretch(clpi_emit *e, const clpi_access *a, const char *value)
{
    const char *stored = clpi_stored_text(e, a, e->width, value);
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    if (e->is_far && e->width == e->map->width && clpi_is_stream(e->s, e->nest, e->map, a))
        clpi_prelude_stream(&e->prelude, &s, access_dtype(e, a), e->width, clpi_stretch_address(e, a), stored);
    else
        clpi_str_add(&s, "%s = %s", clpi_stretch_text(e, a, false), stored);
    clpi_line(e, "%s;", clpi_take_text(e, &s));
}

static void emit_store_lanes(clpi_emit *e, const clpi_access *a, clp_dtype dtype, const char *value, int mask_bits)
{
    const bool is_mask = dtype == CLP_BOOL && !e->is_raw;
    const char *type = lanes_type(e, a, dtype, mask_bits);
    if (goes_in_turn(e, a)) {
        clpi_line(e, "%s e = %s;", type, value);
        clpi_line(e, "#pragma unroll 1");
        e->lane = "l";
        clpi_open(e, "for (int l = 0; l < %d; l++)", e->width);
        emit_store_one(e, a, is_mask ? "(e.s0 != 0)" : "e.s0");
        clpi_line(e, e->width == 4 ? "e = e.s1230;" : "e = e.s10;");
        clpi_close(e);
        e->lane = NULL;
        return;
    }
    use_access_lanes(e, a);
    clpi_declare_lanes(e, type, "e", e->width);
    clpi_line(e, "vstore%d(%s, 0, e);", e->width, value);
    e->lane = "l";
    clpi_open(e, "for (int l = 0; l < %d; l++)", e->width);
    emit_store_one(e, a, is_mask ? "(e[l] != 0)" : "e[l]");
    clpi_close(e);
    e->lane = NULL;
    forget_access_lanes(e, a);
}

/* A stretch that may not be whole: all at once, in pieces, or lane by lane. */
static void emit_store_cut(clpi_emit *e, const clpi_access *a, clp_dtype dtype, const char *value, int mask_bits, const char *inside)
{
    clpi_line(e, "if (%s)", inside);
    e->indent++;
    emit_store_stretch(e, a, value);
    e->indent--;
    if (clpi_has_first_lanes(e, a)) {
        clpi_line(e, "else if (%s)", clpi_first_lanes_inside(e, a));
        clpi_line(e, "    %s;", clpi_store_first_lanes(e, a, clpi_stored_text(e, a, e->width, value)));
        if (!clpi_side_by_side_text(e, a))
            return;
    }
    const char *touches = clpi_stretch_touches(e, a);
    clpi_open(e, touches ? "else if (%s)" : "else", touches);
    emit_store_lanes(e, a, dtype, value, mask_bits);
    clpi_close(e);
}

static void emit_store_vector(clpi_emit *e, const clpi_access *a, clp_dtype dtype, const char *value, int mask_bits)
{
    const bool is_stretch = a->mask < 0 && clpi_is_stretch(e, a);
    const char *inside = is_stretch ? clpi_stretch_inside(e, a) : NULL;
    if (inside) {
        emit_store_cut(e, a, dtype, value, mask_bits, inside);
    } else if (is_stretch) {
        emit_store_stretch(e, a, value);
    } else {
        clpi_open_block(e);
        emit_store_lanes(e, a, dtype, value, mask_bits);
        clpi_close(e);
    }
}

void clpi_emit_store(clpi_emit *e, int access, clp_dtype dtype, const char *value, int width, int mask_bits)
{
    const clpi_access *a = &e->nest->accesses.items[access];
    if (width == 1)
        emit_store_one(e, a, value);
    else if (clpi_is_owned(e, a))
        clpi_line(e, "%s = %s;", clpi_place_text(e, a), value);
    else if (clpi_is_turned(e, a))
        clpi_line(e, "%s = %s;", clpi_square_text(e, a), clpi_stored_text(e, a, width, value));
    else
        emit_store_vector(e, a, dtype, value, mask_bits);
}
