/* tool: what the commands of `clpallas` share. Each file's part stands under its name; clpallas.c has their table.
 *
 * Every command is a function of the options that returns the exit status. Messages for people go to standard error,
 * results to standard output.                                                                                        */
#ifndef TOOL_H
#define TOOL_H

#include <stdio.h>

#include "base/clock.h"
#include "clpallas.h"
#include "plan/work.h"

enum { DONE = 0, FAILED = 1, WRONG_USAGE = 2, FOUND = 3 };      /* exit statuses */

/* ---- options.c: the command line ---- */

typedef struct pair { const char *name, *value; } pair;         /* value NULL: none was given */
typedef struct pairs { pair *items; int n; } pairs;

typedef struct options {
    const char *command;
    unsigned    takes;            /* which options it takes, as a set of TAKES_ */
    const char *program;          /* FILE as given */
    const char *file;             /* FILE without :KERNEL */
    const char *kernel;           /* NULL: the only one of the file */
    char       *params;           /* all -p joined */
    pairs       inputs, scalars, outputs, dims, box, batches;      /* batches: one list of names each */
    const char *on;               /* device */
    const char *limits_of;        /* emit: the kind of device that the code is for; NULL: that of `on` */
    clp_schedule schedule;
    bool        checked, tuned;
    clp_order   order;
    uint64_t    seed;
    clp_stage   stage;            /* emit */
    const char *stage_option;     /* the option that asked for it; NULL: none */
    int         n_runs;           /* --time; 0: not timed */
    bool        verify;
    double      limit_s, try_s;   /* tune; 0: the usual ones */
    const char *svg, *output;     /* file names */
    unsigned    only, also;       /* check: CLP_CHECK_ in place of the usual ones, 0: those; and beside them */
    int         n_shuffles;       /* check; 0: as many as usual */
    const char *of;               /* check --svg: the operand */
    pairs       trace;            /* show: the program */
    pairs       names;            /* bench: the rows */
    bool        list;             /* bench */
    int         n_points;         /* roofline: of the `tune` lists; -1: as many as usual */
    bool        measure;          /* roofline: the device again */
    bool        quiet, json, help;
    uint64_t    given;            /* the kinds of options that stand there, a bit each */
} options;

/* Which options a command takes, as a set. */
enum {
    TAKES_KERNEL = 1, TAKES_ARRAYS = 2, TAKES_DEVICE = 4, TAKES_RUN = 8, TAKES_STAGE = 16, TAKES_SVG = 32,
    TAKES_JSON = 64, TAKES_BENCH = 128, TAKES_CHECK = 256, TAKES_TRACE = 512, TAKES_TUNED = 1024, TAKES_TUNE = 2048,
    TAKES_ROOFLINE = 4096
};
/* argv behind the command's name. Returns DONE, or WRONG_USAGE after saying what was wrong. */
int  options_parse(options *o, unsigned takes, const char *command, int argc, char **argv);
void options_help(unsigned takes);
void options_done(options *o);

int fail(const char *format, ...) CLP_PRINTF(1, 2);             /* "clpallas: ..."; returns FAILED */
int fail_usage(const char *format, ...) CLP_PRINTF(1, 2);       /* the same, returns WRONG_USAGE */
int read_schedule(const char *text, clp_schedule *out);         /* auto, vector, simt; anything else is a wrong usage */
int fail_library(const clp_context *ctx);                   /* the context's last error, as it stands; returns FAILED */
bool is_number(const char *text, int64_t *out);
/* "; did you mean NAME?" of the nearest of names in text, or "" where none is near; returns text. */
const char *did_you_mean(char *text, size_t n_bytes, const char *name, const char *const *names, int n);

/* ---- npy.c: NumPy files ---- */

typedef struct npy {
    void   *map;                  /* the whole file, private to this process: writes stay in memory */
    size_t  map_bytes;
    void   *data;
    char    kind;                 /* f i u b V: as NumPy's descr has it */
    int     item_bytes;
    int     rank;
    int64_t shape[CLP_MAX_RANK];
    bool    is_fortran;
} npy;

bool npy_open(const char *path, npy *out, char *why, size_t why_bytes);     /* why: "not a NumPy file" */
void npy_close(npy *n);
/* wanted where the file can hold it, else the file's own; NONE: neither. */
clp_dtype npy_dtype(const npy *n, clp_dtype wanted);
/* Writes beside path and renames: the file appears whole or not at all. data: C order, unpacked. */
bool npy_write(const char *path, clp_dtype dtype, int rank, const int64_t *shape, const void *data, size_t n_bytes);
const char *npy_descr(clp_dtype dtype);

/* ---- arrays.c: arrays in memory ---- */

typedef struct tool_array {
    clp_array array;              /* data NULL: not there yet */
    int64_t   shape[CLP_MAX_RANK], strides[CLP_MAX_RANK];
    void     *memory;             /* ours, or NULL: the file's or another array's */
    npy       file;
    const char *made_up;          /* of an array that nobody gave: the source of its content; else NULL */
} tool_array;

int64_t array_elems(const clp_array *a);
size_t  array_bytes(const clp_array *a);
bool    array_new(tool_array *a, clp_dtype dtype, int rank, const int64_t *shape);   /* zeroed; false: no memory */
bool    array_copy(tool_array *a, const clp_array *from);                                /* contiguous */
void    array_done(tool_array *a);
int     array_read(tool_array *a, const char *operand, clp_dtype dtype, int rank, const char *path);
/* source: randn rand zeros ones iota, with ":512x256" and ",seed" as wanted. */
typedef struct making {
    bool     shape_known;         /* a->shape is to be used where source has no sizes */
    bool     shape_only;          /* the content will not be read: memory is set aside and left as it is */
    uint64_t seed;                /* where source has none */
    double   taken_bytes;         /* by other arrays */
} making;
bool    array_is_made_up(const char *source);
int     array_make_up(tool_array *a, const char *operand, clp_dtype dtype, int rank, const char *source, making how);
int     array_write(const clp_array *a, const char *path);
double  array_number(const clp_array *a, int64_t i);              /* element i in row-major order */
uint64_t array_bits(const clp_array *a, int64_t i);
void    array_set(clp_array *a, int64_t i, double value);         /* contiguous arrays */

/* ---- compare.c ---- */
typedef struct difference {
    int64_t n_beyond, worst;      /* elements beyond the bound; the element furthest off, -1: all equal */
    double  abs, got, want;       /* there */
} difference;
/* run: so many neighbours are results of terms of one size: a row, or all elements. It divides their number. */
difference array_compare(const clp_array *got, const clp_array *want, double bound, int64_t run);

/* ---- print.c ---- */
void array_print(FILE *out, const clp_array *a);                  /* as NumPy prints it, long arrays shortened */
const char *seconds_text(char *text, size_t n_bytes, double seconds);       /* "1.25 ms"; returns text */
void json_string(FILE *out, const char *text);

/* ---- report.c ---- */
void report_findings(const clp_report *report);                   /* their texts, to standard output */
void report_json(FILE *out, const clp_report *report);            /* ", "verdict": ..., "findings": ..." of an object */

/* ---- job.c: a kernel with its arrays, ready to run ---- */

typedef struct job {
    const options   *o;
    clp_context     *ctx;
    clp_kernel      *kernel;
    clp_kernel      *member;      /* as it stands in the text: the same without --batch */
    clp_kernel      *launched;    /* the one whose these are: the kernel, or what stands for it once job_choose has been called */
    const clpi_ir   *ir;
    const clpi_plan *plan;
    clp_choice       choice;      /* likewise */
    int              n;           /* operands that a run takes */
    tool_array      *arrays;      /* [n] */
    clp_array       *args;        /* [n] the same for clp_run */
    clp_dim         *dims;        /* --dim */
    int              n_dims;
    int64_t         *box_start, *box_count;     /* [n_axes]; NULL: the whole grid */
    double           build_s;
    bool             is_silent;   /* what the kernel prints has been printed */
} job;

int  options_check(const job *j);                  /* options.c: WRONG_USAGE where an option would say nothing of this kernel */

int  job_open(job *j, const options *o, const char *device);      /* context and kernel, once output can go where it is to */
int  job_open_text(job *j, const options *o, const char *device); /* the same for what runs nothing: no device compiles */
enum { MAKE_UP_MISSING = 1, SHAPES_ONLY = 2 };     /* SHAPES_ONLY: of made-up arrays only those have content that index maps read */
int  job_arrays(job *j, unsigned how);             /* how: a set of these */
void job_run_opts(const job *j, clp_run_opts *out);
/* From here on the job is about the very kernel that a launch on its arrays runs, with values for what is left open. is_checked: arrays
 * may share memory, as where they are checked. */
int  job_choose(job *j, bool is_checked);
/* The kernel with other values of the parameters that it leaves open (run/choose.h); the caller frees it. */
clp_status job_variant(const job *j, const int64_t *values, clp_kernel **out_kernel);
/* args: the arrays in device buffers, scalars apart; arrays of one storage share one. buffers: [n] to be freed, NULL where none. */
int  job_buffers(job *j, clp_array *args, clp_buffer **buffers);
void job_done(job *j);
void job_dump(const char *stage, const char *kernel, const char *text, void *user);     /* of contexts with --tuned */
int  fail_job(const job *j);       /* fail_library; a fault at a place of the kernel's text comes with the source line there */
int  job_operand(const job *j, int i);                             /* the operand's number in the IR of array i */

/* ---- names.c: what options name of a kernel ---- */

/* "--dim: there is no dim M in k; it has N, K"; returns FAILED. */
int  fail_name(const job *j, const char *option, const char *what, const char *name, const char *const *names, int n);
int  job_find(const job *j, const char *name);                         /* the array or scalar of that name; -1: none */
int  job_names(const job *j);                                          /* whether -i, -s and -o name what can take them */
int  job_axis(const job *j, const char *option, const char *name);     /* the axis of that name; -1: reported */

/* ---- count.c: work and traffic of a launch ---- */

typedef struct counts { double flops, bytes, programs; } counts;   /* of dots; every array once. 0: cannot be counted */
int  count_launch(job *j, counts *out);
int  count_work(job *j, clpi_arena *arena, const clpi_bound *bound, clpi_work *out);
/* Binds the job's arrays; the bound lives in the arena. */
int  bind_job(job *j, clpi_arena *arena, clpi_bound **out);
const clpi_prefetch *prefetch_of(job *j, clpi_prefetch *p);        /* reads the job's prefetch arrays */

/* ---- the commands ---- */
int command_run(const options *o);
int command_check(const options *o);
int command_show(const options *o);
int command_emit(const options *o);
int command_tune(const options *o);
int command_devices(const options *o);
int command_bench(const options *o);
int command_roofline(const options *o);

/* ---- show.c, svg.c ---- */

/* One block of an operand, and the programs that see it: for each axis the first and last value among them. */
typedef struct view {
    int64_t start[CLP_MAX_RANK], lo[CLP_MAX_RANK], hi[CLP_MAX_RANK];      /* as in clpi_window */
    int64_t first[CLPI_MAX_AXES], last[CLPI_MAX_AXES];
    int64_t n_programs;
    bool    is_inside;            /* some element of it exists */
} view;

typedef struct views { int operand; view *items; int n; } views;          /* sorted by start, each block once */

void view_label(char *text, size_t n_bytes, const job *j, const clpi_bound *bound, const view *v);   /* "(0, *, 2)" */
void grid_title(char *text, size_t n_bytes, const job *j, const clpi_bound *bound);     /* "matmul: grid (i = 4, j = 2), 8 programs" */
void operand_title(char *text, size_t n_bytes, const job *j, const clpi_bound *bound, int operand);
int  svg_write(const char *path, const job *j, const clpi_bound *bound, const views *all, int n);

/* ---- map.c: `check --svg` ---- */

typedef struct map_mark { uint64_t program; bool is_conflict; } map_mark;      /* of an element: who wrote it last, from 1; 0: nobody */
int  map_write(const job *j, const char *path, const char *name);               /* name NULL: the only operand that is written */
void svg_put_text(FILE *f, const char *text);                                 /* with what XML wants escaped */
int  svg_write_map(const char *path, const job *j, const clpi_bound *bound, int operand, const map_mark *marks);

/* ---- roofline.c, roofline_svg.c ---- */

/* The launch with other block sizes. */
typedef struct sweep_point {
    const int64_t *values;        /* of the parameters that -p leaves open */
    const char    *params;        /* "bm=64, bn=128" */
    char why[240];                /* it could not be had or run; "": it was */
    clp_kernel *kernel;           /* whose names `at` has */
    clp_roofline_point at;
} sweep_point;

typedef struct sweep { clpi_arena arena; sweep_point *items; int n, n_all; } sweep;     /* n_all: points of the lists */

int  svg_write_roofline(const char *path, const job *j, const clp_roofline_point *at, const sweep *s);

/* ---- trace.c: `show --trace` ---- */
int  trace_program(const job *j, const clpi_bound *bound);

#endif
