/* code: the product of cl/emit and all that cl/launch needs to run it: a text, its kernel, the order of arguments.
 *
 * In: nothing of devices. A code is plain data in an arena; the device-facing half of cl (device.c, program.c, launch.c)
 * builds the text and sets arguments by what stands here, and knows nothing of nests or schedules.
 *
 * The kernel of a code takes, in this order:
 *     one __global pointer for each operand in `buffers` (to the start of its memory; offsets are numbers)
 *     __global uchar *workspace     if workspace_bytes > 0: that many bytes for each group, group g from g * workspace_bytes
 *     __global uint *log            if has_log
 *     __global long *faults         if fault_words > 0
 *     __global uint *cut            if has_cut: 0 before; 1 after, when loops were left too soon (clpi_limits.loop_rounds)
 *     each operand in `scalars`, by value, in held form: float for f16 bf16 f32, uchar for bool, else its own type
 *     the numbers: a struct of longs by value, or, when numbers_by_value is false, a __global const pointer to one      */
#ifndef CLPI_CODE_H
#define CLPI_CODE_H

#include "run/backend.h"

/* One 64-bit number of a launch, taken from clpi_bound. */
typedef enum clpi_number_kind {
    CLPI_NUMBER_SIZE,          /* of operand a, dimension b */
    CLPI_NUMBER_STRIDE,        /* likewise, elements */
    CLPI_NUMBER_FAR,           /* 1: operand a is larger than the device's last cache; else 0 */
    CLPI_NUMBER_OFFSET,        /* of operand a, elements; the place's byte offset is added, divided by the element size */
    CLPI_NUMBER_AXIS_SIZE,     /* of axis a: num_programs */
    CLPI_NUMBER_BOX_START,     /* of axis a */
    CLPI_NUMBER_BOX_COUNT,     /* of axis a */
    CLPI_NUMBER_DIM,           /* size of dim a */
    CLPI_NUMBER_HEADER,        /* header value a, known at launch */
    CLPI_NUMBER_N_SEQUENCES
} clpi_number_kind;

typedef struct clpi_number { clpi_number_kind kind; int a, b; } clpi_number;

/* The most arguments that are memory of the launch itself: workspace, log, faults, cut. */
enum { CLPI_MAX_OWN = 4 };

typedef struct clpi_code {
    const char       *text;             /* of the program that the kernel is in, other codes' kernels beside it */
    const char       *options;          /* build options the text counts on; the device adds its own */
    const char       *kernel;           /* its name */
    uint64_t          group_size;       /* work-items of a group; the NDRange is one-dimensional */
    uint64_t          max_groups;       /* min(this, n_sequences) groups are started; a group g runs sequences g, g + groups, ... */
    int              *buffers;   int n_buffers;      /* operand numbers */
    int              *scalars;   int n_scalars;      /* operand numbers */
    clpi_number      *numbers;   int n_numbers;
    bool              numbers_by_value;
    uint64_t          workspace_bytes;
    bool              has_log;
    bool              has_cut;
    int               fault_words;      /* of a group's record of faults; 0: the code is not checked */
} clpi_code;

/* The log of `print`: words of 32 bits. Word 0 is the place of the next record: 2 at first; once a record has found no room,
 * past the end for good. Word 1 is the log's size in words, set by the host. Records follow from word 2:
 *     op | n words of values | sequence, low | high | step, low | high | values: two words each, low first (clpi_elem)
 * A record is written whole or not at all; a zero op ends the log.                                                      */
#define CLPI_LOG_WORDS (1u << 20)
#define CLPI_LOG_HEAD  6u

/* The faults of a checked code: for each group, g from g * fault_words, words of 64 bits, written by it alone:
 *     how many | what | program ids, n_axes | index, one of each subscript
 * The first is always written, the rest when it is not 0, of the first fault; since a group runs its sequences in order, that
 * is the first in the order of its programs. what: the op, an access or an assert; -1 - operand: a block outside its array. */
enum { CLPI_RECORD_COUNT, CLPI_RECORD_WHAT, CLPI_RECORD_PROGRAM };

/* The codes of kernels of one text, in arena: nest, schedule, emit. No device needed. The kernels have names of their own and
 * the same math_fast. text.c */
clp_status clpi_cl_generate(clpi_env *env, clpi_arena *arena, const clpi_unit *units, int n_units, const clpi_limits *limits,
                            clp_schedule schedule, bool is_checked, clpi_code **out_codes);

#endif
