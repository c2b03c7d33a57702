/* racy: kernels from seeds whose programs are in each other's way, and an oracle that knows where.
 *
 *     racy.c          a kernel from a seed, and its text
 *     oracle.c        who touches what, and what that makes of each element
 *     racy_runner.c   the detector asked, the two compared
 *
 * The oracle shares nothing with the library: racy.c makes the subscripts, so oracle.c evaluates them itself, program by
 * program, and compares all accesses of all programs pair by pair. Decided for each element of each storage:
 *
 *     HARD   two sequences touch it, one plainly writes (or one updates atomically and the other reads), and what is
 *            written by it (of two writes by the later one) was not there before
 *     SOFT   the same, but in each such pair it was
 *     NONE   otherwise                                                                                                */
#ifndef RACY_H
#define RACY_H

#include "clpallas.h"

enum { MAX_STORAGE = 3, MAX_NAMES = 5, MAX_ELEMS = 16, MAX_STATEMENTS = 6, MAX_LANES = 8, TABLE = 6, MAX_PROGRAMS = 32,
       MAX_EVENTS = 1 << 14, TEXT_BYTES = 8192, N_VARS = 5 };

typedef enum verdict { NONE, SOFT, HARD } verdict;

/* (c[0] * i + c[1] * j + c[2] * k + c[3] * e + c[4] * 1) % mod, of program ids and the index of a loop. */
typedef struct linear { int c[N_VARS], mod; } linear;

/* A name for a storage: how its elements are seen. */
typedef struct named {
    char   name[4];
    int    storage;
    bool   is_input;              /* an `in` on whose storage the next name stands by alias */
    bool   has_block, is_window, by_table;
    int    block;                 /* elements */
    linear map;
} named;

typedef enum access_kind { LOAD, STORE, ADD, MAX, XCHG, CAS, N_KINDS } access_kind;
typedef enum place { AT, RANGE, TILE, TABLE_AT, WHOLE, N_PLACES } place;
typedef enum content { CONSTANT, PROGRAM, LOADED, N_CONTENTS } content;

typedef struct statement {
    access_kind kind;
    int     name;                 /* which operand */
    place   place;
    linear  start;
    int     lanes, stride;
    bool    has_mask;
    linear  mask;                 /* lane l passes when (l + mask) % mask.mod < mask_below */
    int     mask_below;
    content content;
    int     constant;
    linear  value;
    int     turns;                /* of a loop around it; 0: none */
    bool    has_condition;
    linear  condition;            /* == 0 */
} statement;

typedef struct racy {
    uint64_t state;
    int  n_axes, size[3];
    bool is_arbitrary[3], has_box;
    int64_t box_start[3], box_count[3];
    int  n_storages, n_elems[MAX_STORAGE], start[MAX_STORAGE][MAX_ELEMS], stride[MAX_STORAGE];
    clp_dtype dtype[MAX_STORAGE];
    int  n_names, n_statements, table[TABLE];
    named names[MAX_NAMES];
    statement statements[MAX_STATEMENTS];
    char text[TEXT_BYTES];
} racy;

/* The kernel of a seed, text and all: operands are the table t, the names in their order, and a sink for what is read. */
void racy_make(racy *r, uint64_t seed);

typedef enum touch { READ, WRITE, UPDATE } touch;
typedef struct event { int sequence, storage, element; touch touch; bool has_changed; } event;

typedef struct oracle {
    const racy *r;
    int64_t memory[MAX_STORAGE][MAX_ELEMS], s;
    int     ids[N_VARS], sequence;       /* of the program at hand; ids[3]: the loop's index, ids[4]: 1 */
    event  *events;
    int     n_events;
    verdict verdict[MAX_STORAGE][MAX_ELEMS];
} oracle;

/* events: room for MAX_EVENTS. */
void oracle_ask(oracle *o, const racy *r, event *events);

#endif
