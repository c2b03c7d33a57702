/* planned: a kernel text up to its plan, and launches bound to arrays written as "f32[32, 16]"; for the tests of lib/plan.
 * Arrays stand at made-up addresses, a terabyte apart: binding never looks into them. Scalars are real.                  */
#ifndef TESTS_PLANNED_H
#define TESTS_PLANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "support/support.h"
#include "text/text.h"

typedef struct planned {
    clpi_env    env;
    clpi_arena  arena;
    clpi_source source;
    clpi_ir    *ir;
    clpi_plan  *plan;
    clp_status  status;
} planned;

static inline void planned_make(planned *p, const char *text)
{
    *p = (planned){ .source = { "test.plk", text, strlen(text) } };
    clpi_env_init(&p->env, NULL, NULL);
    clpi_arena_init(&p->arena, &p->env);
    clpi_file *file;
    p->status = clpi_parse(&p->env, &p->arena, &p->source, &file);
    if (!p->status)
        p->status = clpi_elaborate(&p->env, &p->arena, file, NULL, NULL, &p->ir);
    if (!p->status)
        p->status = clpi_verify(p->ir, CLP_ERR_INVALID);
    if (!p->status)
        p->status = clpi_simplify(p->ir, &p->arena);
    if (!p->status)
        p->status = clpi_plan_new(p->ir, &p->arena, &p->plan);
}

/* The same for a text that must have a plan. */
static inline void planned_ok(planned *p, const char *text)
{
    planned_make(p, text);
    cr_assert_eq(p->status, CLP_OK, "%s: %s", text, clpi_error_text(&p->env));
}

static inline void planned_done(planned *p)
{
    clpi_plan_done(p->plan);
    clpi_arena_done(&p->arena);
    clpi_env_done(&p->env);
}

typedef struct arrays {
    clp_array array[8];
    int64_t   shape[8][CLP_MAX_RANK];
    int       n;
    double    scalar[8];      /* memory of rank-0 arrays */
} arrays;

/* "f32[32, 16] i32[8] i64=5": shapes, and scalars with their value (integers). */
static inline void arrays_make(arrays *a, const char *spec)
{
    *a = (arrays){ .n = 0 };
    while (*spec) {
        char name[16] = "";
        size_t n = strcspn(spec, "[=");
        cr_assert(n < sizeof name && a->n < 8);
        memcpy(name, spec, n);
        spec += n;
        clp_array *x = &a->array[a->n];
        *x = (clp_array){ .dtype = clp_dtype_from_name(name), .shape = a->shape[a->n] };
        if (*spec == '=') {
            int64_t value = strtoll(spec + 1, (char **)&spec, 10);
            memcpy(&a->scalar[a->n], &value, sizeof value);
            x->data = &a->scalar[a->n];
        } else {
            x->data = (void *)((uintptr_t)(a->n + 1) << 40);
            spec++;
            while (*spec != ']') {
                a->shape[a->n][x->rank++] = strtoll(spec, (char **)&spec, 10);
                spec += strspn(spec, ", ");
            }
            spec++;
        }
        spec += strspn(spec, " ");
        a->n++;
    }
}

static inline clp_status arrays_bind(planned *p, const arrays *a, clpi_bound **out_bound)
{
    clpi_launch_args args = { .arrays = a->array, .n_arrays = a->n };
    return clpi_bind(p->plan, &args, &p->arena, out_bound);
}

#endif
