/* emit: a schedule printed as OpenCL C. Prints, and decides nothing: what is not in the schedule is not here.
 *
 * Names in the text. Of an operand x: x_mem (its memory), x_p (first element of its block), x_s0.. (strides by dimension of the
 * ref), x_lo0.. x_hi0.. (what of the block lies inside the array), x_fast (all of it, and neighbours lie side by side).
 * Of axis i: i_id. t7: an array with tile 7 in it, s7: a scalar one; acc_t: scratch acc. d0..: the domain of a nest;
 * v0..: its values. n.: the numbers of the launch. Every name of ours has a suffix or digits that no operand's can clash with. */
#ifndef CLPI_EMIT_H
#define CLPI_EMIT_H

#include "cl/code.h"
#include "cl/prelude.h"
#include "cl/schedule.h"

/* A node of the nest being printed. */
typedef struct clpi_value {
    const char *text;             /* an expression; NULL: not printed yet */
    int  width;                   /* 1, or lanes */
    int  mask_bits;               /* bool with lanes: bits of each */
    int  level;                   /* innermost loop that it depends on, as a position in the mapping's order; -1: none */
    int  n_uses;
    bool has_lanes;               /* its lanes stand in an array l<node> too */
} clpi_value;

typedef struct clpi_unaligned_type { const char *type; int elem_bytes; } clpi_unaligned_type;

typedef struct clpi_emit {
    const clpi_cl_schedule *s;
    const clpi_program     *p;
    const clpi_ir          *ir;
    clpi_arena             *arena;
    clpi_prelude            prelude;
    clpi_str               *out;
    int                     indent;
    struct { clpi_number *items; uint32_t n, cap; } numbers;
    struct { clpi_unaligned_type *items; uint32_t n, cap; } unaligned;
    struct { const char **items; uint32_t n, cap; } written;      /* names of functions of this text alone, beside the prelude's */
    int                     fault_words;      /* of the code */
    const char             *loop_id;           /* simt: of the innermost loop over programs; NULL: outside */
    int                     n_lids;           /* places where the work-item's number was worked out */
    const char             *numbers_type;     /* its name in the text */
    bool                    is_fast;          /* printing for full blocks side by side */
    bool                    is_far;           /* and for outputs that go past the caches */
    bool                    in_stretch;       /* of neighbours that lie side by side */
    const clpi_nest        *nest;
    const clpi_mapping     *map;
    int                     width;            /* lanes of the piece being printed */
    int                     columns;          /* of the square being printed */
    int                     chain;            /* which of the accumulators of a reduction takes it */
    int                     ahead;            /* turns of the loop around the lanes to add: for an address to come */
    const char             *lane;             /* NULL, or the name of the lane in a loop over lanes */
    int                     row_dim;          /* of the rows of a square, in a loop over them whose index is r; -1 */
    bool                    is_before_scans;  /* scans, and what is made of them, are not printed yet */
    const char             *k_end;            /* vector: how many lanes of k of the dot being printed are multiplied */
    bool                    ends_early;       /* k_end is a variable, not all of k */
    bool                    is_raw;           /* values are loaded and stored as they lie in memory */
    clpi_value             *values;           /* [nest->nodes.n] */
    void                  (*at_point)(struct clpi_emit *e);   /* prints what happens at one point, or vector, of the domain */
    const void             *user;             /* of at_point */
} clpi_emit;

bool clpi_is_simt(const clpi_emit *e);

/* ---- Lines (emit.c) ---- */
void clpi_line(clpi_emit *e, const char *format, ...) CLP_PRINTF(2, 3);      /* indented, with a newline */
void clpi_open(clpi_emit *e, const char *format, ...) CLP_PRINTF(2, 3);      /* the line ends in {; what follows is indented */
void clpi_open_block(clpi_emit *e);                                          /* a line of { alone */
void clpi_close(clpi_emit *e);
const char *clpi_text(clpi_emit *e, const char *format, ...) CLP_PRINTF(2, 3);
const char *clpi_and_text(clpi_emit *e, const char *a, const char *b);      /* of two conditions; NULL: none */
const char *clpi_take_text(clpi_emit *e, clpi_str *s);                       /* what s holds, in the arena; s is done */
void clpi_barrier(clpi_emit *e);
/* simt: what stands between is done for each `item` below n, dealt out among the work-items. All of them go round the loop
 * equally often: PoCL 3.1 loses statements around barriers when they do not. */
void clpi_open_items(clpi_emit *e, int64_t n);
void clpi_close_items(clpi_emit *e, int64_t n);
void clpi_emit_stages(clpi_emit *e, const clpi_stages *stages);
/* Twice: behind head, an `if (..)`, for full blocks whose neighbours lie side by side (is_fast), and for any where that does not hold. */
typedef void (*clpi_stage_fn)(clpi_emit *e, const clpi_stage *stage);
void clpi_emit_either(clpi_emit *e, const char *head, clpi_stage_fn emit, const clpi_stage *stage);
/* So, where blocks may be cut, else once; for full ones once more where outputs are far (is_far). */
void clpi_emit_versions(clpi_emit *e, const clpi_edges *edges, clpi_stage_fn emit, const clpi_stage *stage);
const char *clpi_number_text(clpi_emit *e, clpi_number_kind kind, int a, int b);  /* "n.x_size0"; listed when first asked for */

bool clpi_function_is_new(clpi_emit *e, const char *name);                  /* a function of the text: the caller has to write it, once */
const char *clpi_unaligned(clpi_emit *e, const char *type, int elem_bytes);  /* "float16_u", a typedef that the text then has */

/* ---- Around one program (emit_program.c) ---- */
void clpi_emit_kernel(clpi_emit *e);
/* simt: the work-item's number in its group, worked out anew for GPUs. turn: NULL, or the variable of the loop around. What is shifted
 * is the sequence and that turn, or the one of the loop over programs and a number of this place's own: it never has bit 63 set,
 * which no compiler knows, so that none works out before a loop, or in another place, and keeps in registers until here, what
 * each work-item has as addresses. Causal attention takes 113 registers so for sm_80, and with one lid spills 29 beside the
 * 128 that it may have. CPUs have no use for it, and Intel's compiler (2026.2) makes wrong running sums of i16 in three
 * rows of it.                                                                                                           */
void clpi_renew_lid(clpi_emit *e, const char *turn);
bool clpi_has_spare_lanes(const clpi_emit *e);                               /* the device runs work-items that no group has */

/* ---- Values of a nest, loaded and stored (emit_value.c, emit_memory.c) ---- */
bool        clpi_begin_nest(clpi_emit *e, const clpi_nest *n, const clpi_mapping *m);
void        clpi_forget_from(clpi_emit *e, int level);                       /* a loop was left: what depends on it is printed anew */
void        clpi_emit_nodes(clpi_emit *e, int level);                        /* those of this level, as variables where need be */
const char *clpi_value_text(clpi_emit *e, int node, int width, int mask_bits);   /* as wide as asked for */
const char *clpi_lane_text(clpi_emit *e, int node);                          /* of the current lane, in held form */
void        clpi_declare_lanes(clpi_emit *e, const char *type, const char *name, int width);   /* an array for a vector's lanes */
void        clpi_use_lanes(clpi_emit *e, int node);                          /* before a loop over lanes, for clpi_lane_text in it */
const char *clpi_widened_text(clpi_emit *e, clp_dtype dtype, const char *text);     /* one integer, as a long that may be compared */
const char *clpi_ix_text(clpi_emit *e, const clpi_ix *ix);
void        clpi_emit_load(clpi_emit *e, int node);                          /* declares v<node> */
void        clpi_emit_store(clpi_emit *e, int access, clp_dtype dtype, const char *value, int width, int mask_bits);
const char *clpi_stored_vector_type(const clpi_emit *e, const clpi_access *a, int width);   /* as it lies in memory */
int         clpi_stored_bytes(const clpi_emit *e, const clpi_access *a);      /* of one element there */
const char *clpi_held_text(clpi_emit *e, const clpi_access *a, int mask_bits, const char *stored);      /* of a vector */
const char *clpi_stored_text(clpi_emit *e, const clpi_access *a, int width, const char *held);
const char *clpi_pad_text(clpi_emit *e, const clpi_access *a);               /* what it is where it does not */
bool        clpi_has_low_edge(const clpi_operand *x, int ref_dim);           /* a block may start before the array: has x_lo */
bool        clpi_has_squeezed(const clpi_operand *x);                        /* has x_in */

/* ---- Places (emit_place.c) ---- */
const char *clpi_tile_name(clpi_emit *e, int tile);
const char *clpi_home_space(clpi_home home);                                 /* "__local " */
const char *clpi_slot_space(const clpi_emit *e, int slot);
const char *clpi_tile_type(clp_dtype dtype, int width);                      /* in memory: held form, bool a byte */
const char *clpi_packed_type(const clpi_dot *d, int width);                  /* of a dot's sums and sides: integers unsigned, so that they wrap */
bool        clpi_is_register(const clpi_emit *e, const clpi_access *a);      /* of a scalar variable */
bool        clpi_is_owned(const clpi_emit *e, const clpi_access *a);         /* of a tile that its work-items keep in registers */
const char *clpi_place_text(clpi_emit *e, const clpi_access *a);             /* "t3[d0 * 8 + d1]", without looking: base[offset] */
const char *clpi_base_text(clpi_emit *e, const clpi_access *a);
const char *clpi_offset_text(clpi_emit *e, const clpi_access *a);
const char *clpi_inside_text(clpi_emit *e, const clpi_access *a);            /* the condition that it exists; NULL: it does */
/* Of a stretch, one vector: neighbours along the lanes, apart from where it ends. */
bool        clpi_is_stretch(const clpi_emit *e, const clpi_access *a);       /* is the access one? */
const char *clpi_stretch_address(clpi_emit *e, const clpi_access *a);
const char *clpi_stretch_text(clpi_emit *e, const clpi_access *a, bool is_const);      /* as one vector in memory */
const char *clpi_stretch_inside(clpi_emit *e, const clpi_access *a);         /* the condition that all of it exists; NULL: it does */
const char *clpi_stretch_touches(clpi_emit *e, const clpi_access *a);        /* that some lane does, where it pays to ask; NULL: it does not */
const char *clpi_side_by_side_text(clpi_emit *e, const clpi_access *a);      /* that neighbours lie side by side; NULL: they do */

/* ---- Vectors of which the first lanes exist (emit_first.c): of stretches ---- */
bool        clpi_has_first_lanes(const clpi_emit *e, const clpi_access *a);         /* can it be such a vector, and be told by clpi_first_lanes_inside? */
const char *clpi_first_lanes_inside(clpi_emit *e, const clpi_access *a);            /* asked of a vector that is not whole: it is one */
const char *clpi_load_first_lanes(clpi_emit *e, const clpi_access *a);              /* its elements as stored, the pad behind them */
const char *clpi_store_first_lanes(clpi_emit *e, const clpi_access *a, const char *stored);

/* ---- Squares (emit_square.c) ---- */
bool        clpi_is_turned(const clpi_emit *e, const clpi_access *a);        /* goes through squares in the piece being printed */
const char *clpi_square_text(clpi_emit *e, const clpi_access *a);            /* its vector at the point being printed, as in memory */
/* Around the loop over the columns of a square: b<turn_dim> is where it begins. */
void        clpi_load_squares(clpi_emit *e);
void        clpi_store_squares(clpi_emit *e);

enum { CLPI_PIECE_BYTES = 16 };   /* within so many bytes shuffles cost least, on CPUs with longer vectors too */

/* ---- Scans (emit_scan.c) ---- */
void        clpi_declare_scans(clpi_emit *e);                                /* before the loop over their dimension */
const char *clpi_emit_scan(clpi_emit *e, int node);                          /* takes the point, or vector, on; the value there */
const char *clpi_scan_end_text(clpi_emit *e, int node, int width);           /* after the loop: what it has come to, in that many lanes */
bool        clpi_scans_backwards(const clpi_emit *e, int dim);
/* The vector at this point, or the one element, scanned in itself; *out_last: what that comes to. */
const char *clpi_scan_own_text(clpi_emit *e, int node, const char **out_last);
const char *clpi_scan_identity_text(clpi_emit *e, int node);
const char *clpi_scan_combine_text(clpi_emit *e, int node, const char *a, const char *b);

/* ---- Edges (emit_edge.c) ---- */
/* The condition under which n points of the vectors' loop at `at`, from the current one on, may be printed as parts of full blocks;
 * what no vector changes goes to a variable in front of the loop. NULL: there is no such condition, or no need. */
const char *clpi_emit_whole(clpi_emit *e, int at, int64_t n);
/* Likewise, of all of k that is multiplied and the n columns of panel `panel` of y, whose nest is begun. NULL: unknown, or nothing to ask. */
const char *clpi_emit_whole_panel(clpi_emit *e, int64_t n);
void        clpi_emit_dot_end(clpi_emit *e, const clpi_stage *stage);         /* sets k_end, of a dot about to be printed */

/* ---- Outs of the nest being printed (emit_out.c) ---- */
clp_dtype   clpi_out_dtype(const clpi_emit *e, int access);                  /* of what the access gives, or takes */
clp_dtype   clpi_accumulator(const clpi_emit *e, const clpi_out *out);       /* argmax compares in it, others add up in it */
const char *clpi_accumulator_type(const clpi_emit *e, const clpi_out *out, int width);
const char *clpi_combine_text(clpi_emit *e, clpi_op_kind op, clp_dtype dtype, int width, const char *a, const char *b);
const char *clpi_identity_text(clpi_emit *e, clpi_op_kind op, clp_dtype dtype, int width);      /* op: a reduction, not arg.. */
void        clpi_declare_accumulators(clpi_emit *e);
void        clpi_emit_outs(clpi_emit *e);                                    /* at one point, or vector, of the whole domain */
const char *clpi_fold_lanes(clpi_emit *e, uint32_t out);                     /* after the loops: the result's name */
void        clpi_store_result(clpi_emit *e, uint32_t out, const char *result, int width);
void        clpi_store_reductions(clpi_emit *e);
bool        clpi_is_register_store(const clpi_emit *e, const clpi_out *out); /* in every work-item */

/* ---- Steps ---- */
void clpi_emit_nest(clpi_emit *e, const clpi_stage *stage);                  /* emit_nest.c */
void clpi_emit_team(clpi_emit *e, const clpi_stage *stage);                  /* emit_team.c */
const char *clpi_row_text(clpi_emit *e, const clpi_deal *d);                   /* row number i of this work-item */
const char *clpi_row_run_text(clpi_emit *e, const clpi_deal *d, const char *run);      /* the first row, column, of its run so numbered */
const char *clpi_column_run_text(clpi_emit *e, const clpi_deal *d, const char *run);
void clpi_open_unrolled(clpi_emit *e, const char *index, int n, int by);       /* by: rounds at a time; 0: all */
void clpi_emit_loops(clpi_emit *e);                                          /* of the nest begun, at_point inside */
void clpi_emit_coordinates(clpi_emit *e, int from, int to);                  /* order[from .. to) out of `item` */
void clpi_emit_dot_vector(clpi_emit *e, const clpi_stage *stage);            /* emit_dot_vector.c */
void clpi_emit_packing(clpi_emit *e, const clpi_stage *stage);               /* emit_dot_pack.c: of both operands, unless y is taken directly */
const char *clpi_whole_lanes_text(clpi_emit *e, const clpi_dot_plan *p, const clpi_dot *d, int node);     /* the node's value, as it is packed */
const char *clpi_lane_type(const clpi_dot_plan *p, const clpi_dot *d, int width);           /* of what is packed */
const char *clpi_slot_pointer(clpi_emit *e, const clpi_stage *stage, int slot);             /* to what is packed */
void clpi_emit_tile_setup(clpi_emit *e, const clpi_stage *stage, int rows);  /* emit_dot_tiles.c: before rows of x are multiplied */
void clpi_emit_tiles(clpi_emit *e, const clpi_stage *stage, int rows, int64_t c_stride);
const char *clpi_sums_text(clpi_emit *e, const clpi_dot *d, int64_t *out_stride);           /* where a batch's are; from one row to the next */
const char *clpi_first_step_text(clpi_emit *e);                              /* the condition, for a dot that starts at zero there */
void clpi_emit_dot_simt(clpi_emit *e, const clpi_stage *stage);              /* emit_dot_simt.c */
void clpi_emit_sort(clpi_emit *e, const clpi_stage *stage);                  /* emit_sort.c */
void clpi_emit_print(clpi_emit *e, const clpi_stage *stage);                 /* emit_print.c */
void clpi_emit_check(clpi_emit *e, const clpi_stage *stage);                 /* emit_check.c */
/* Takes a fault down: what it is, as in the record, and n_index expressions. */
void clpi_emit_fault(clpi_emit *e, long long what, const char *const *index, int n_index);

/* Kernels of one text; see clpi_cl_generate. */
clp_status clpi_cl_emit(clpi_cl_schedule *const *schedules, int n, clpi_arena *arena, clpi_code **out_codes);

#endif
