/* cases: what the parts of the runner share: the runs that a file of cases asks for, checks in place of runs, and values given
 * by rules.
 * README.md says how such a file is written. */
#ifndef TESTS_CASES_H
#define TESTS_CASES_H

#include "tool.h"

enum { MAX_ARRAYS = 24, MAX_PARTS = 12, MAX_NAME = 48, MAX_TEXT = 65536 };

/* An array of a case as it is written: "x[2, 3]{1, 2} = 1 2 3", "o -> : i + j". */
typedef struct written {
    char name[MAX_NAME];
    bool has_shape, has_strides;
    int rank;
    int64_t shape[CLP_MAX_RANK], strides[CLP_MAX_RANK];
    char *values;                 /* a list, or a rule behind ':' */
    int line;
} written;

typedef enum outcome { DELIVERS, IS_NO_KERNEL, IS_REFUSED, FAULTS } outcome;

/* One run: what it starts from and what must come of it. */
typedef struct asked {
    char id[256], about[256];
    const char *file;
    int line;
    char *kernel, *params;        /* text, or the name of a standard kernel behind '='; params NULL: none */
    char *batches;                /* "x, o", each closed by ';', one batch axis each; NULL: none */
    char *printed;                /* the lines that the run prints, each with its newline; NULL: not looked at */
    written starts[MAX_ARRAYS], wants[MAX_ARRAYS];
    int n_starts, n_wants;
    clp_dim dims[4];
    char dim_names[4][MAX_NAME];
    int n_dims;
    int n_arrays;                 /* how many of its arrays the run is given; -1: all */
    double tol;
    outcome outcome;
    char *parts[MAX_PARTS];       /* of the message */
    int n_parts;
    char *finds;                  /* what a check finds, a line each; "": nothing; NULL: not said */
    unsigned checks;              /* CLP_CHECK_ to be looked for beside the usual ones */
} asked;

/* ---- read.c ---- */
typedef bool (*asked_fn)(asked *a, void *user);
/* Calls fn for each run of the file. False, after a message, where the file is not well written. */
bool cases_read(const char *path, asked_fn fn, void *user);

/* ---- find.c ---- */
/* Checks instead of runs: what is found must be what the case says, and all memory stay as it was. */
bool find_faults(clp_kernel *kernel, const clp_array *arrays, int n_arrays, const clp_run_opts *run, const asked *a,
                 int n_shuffles, char *reason, size_t n_bytes);
bool find_name(const char *word, unsigned *out_check);        /* "non-finite" */

/* ---- rule.c ---- */
/* The value of the text at element `at` (its indices, n its row-major number): arithmetic over the indices i j k l m
 * and n, and over elements of the arrays that the run starts from. Division and % round down. */
typedef struct rule_env {
    const char *const *names;     /* [n_arrays] */
    const clp_array *arrays;
    int n_arrays;
} rule_env;
bool rule_value(const char *text, const rule_env *env, int rank, const int64_t *at, int64_t n, double *out,
                const char **why);

/* ---- values.c ---- */
/* What an element should be. */
typedef enum wish { NUMBER, BITS, AS_BEFORE, ANYTHING } wish;
typedef struct wanted { wish wish; uint64_t bits; } wanted;
/* Of each element of a, to be freed; env: what a rule may read. NULL: reason says why not. */
wanted *values_read(const written *w, const clp_array *a, const rule_env *env, char *reason, size_t n_bytes);

#endif
