/* What a run on the interpreter tells to one who watches: touches, values, faults; and that it goes on as a device would. */
#include <stdarg.h>

#include "checking.h"
#include "interp/interp.h"

typedef struct watched { clp_context *ctx; clp_kernel *kernel; clpi_check check; } watched;

static void watched_open(watched *w, const char *text, const clp_array *arrays, int n)
{
    *w = (watched){ 0 };
    cr_assert_eq(clp_context_new(&(clp_context_opts){ .device = "interp" }, &w->ctx), CLP_OK, "%s", clp_last_error(NULL));
    OK(w->ctx, clp_kernel_from_text(w->ctx, text, NULL, NULL, &w->kernel));
    w->check = (clpi_check){ .env = &w->ctx->env, .kernel = w->kernel, .ir = w->kernel->ir, .plan = w->kernel->plan,
                             .arrays = arrays, .n_arrays = n };
    OK(w->ctx, clpi_report_new(w->check.env, w->kernel, 20, &w->check.report));
    OK(w->ctx, clpi_snapshot_open(&w->check));
}

static void watched_close(watched *w)
{
    clpi_snapshot_close(&w->check);
    clp_report_free(w->check.report);
    clp_kernel_free(w->kernel);
    clp_context_free(w->ctx);
}

/* The copy that a run has changed, of array i. */
static const void *after(const watched *w, int i)
{
    int operand = w->kernel->operands[i];
    return w->check.snapshot.regions[w->check.snapshot.region_of[operand]].work + w->check.snapshot.at[operand];
}

/* ---- Touches ---- */

typedef struct heard { const watched *w; char text[2048]; text_room room; } heard;

static void hear_from_here(heard *h, const watched *w)
{
    *h = (heard){ .w = w };
    h->room = (text_room){ h->text, sizeof h->text };
}

/* "x:3+2*4 ": four elements from 3 on, 2 apart; < a read, > a write, ! an atomic. */
static void hear_touch(void *user, const clpi_touch *t)
{
    heard *h = user;
    put_text(&h->room, "%s%c%lld", h->w->check.ir->operands[t->operand].name, "<>!"[t->kind], (long long)t->at);
    if (t->n > 1)
        put_text(&h->room, "%+lld*%lld", (long long)t->step, (long long)t->n);
    put_text(&h->room, " ");
}

static void hear_wrote(void *user, const clpi_touch *t)
{
    cr_expect_eq(t->kind, CLPI_TOUCH_WRITE);
    put_text(&((heard *)user)->room, ". ");
}

static void hear_enter(void *user, uint64_t sequence, uint64_t step, const int64_t *program)
{
    put_text(&((heard *)user)->room, "(%lld,%lld,%lld: ", (long long)sequence, (long long)step, (long long)program[0]);
}

typedef struct row { const char *body, *touches; } row;

/* x: i32[6, 8] with strides 10, 1, of which places count from the first element; o: i32[24]; t = 5 1 1 3; one program. */
static const row touch_rows[] = {
    { "let v = x[...]; o[0] = v[0, 0];", "x<0+1*8 x<10+1*8 x<20+1*8 x<30+1*8 x<40+1*8 x<50+1*8 o>0 . " },
    { "o[0] = x[1, 2];", "x<12 o>0 . " },
    { "o[0:6] = x[:, 3];", "x<3+10*6 o>0+1*6 . " },
    { "o[0:3] = x[2, 1:7:2];", "x<21+2*3 o>0+1*3 . " },
    { "o[ds(9, 3, -3)] = 7;", "o>9-3*3 . " },
    { "o[0:4] = load(o[4:8], mask = iota([4], axis = 0) != 1, other = 0);", "o<4 o<6+1*2 o>0+1*4 . " },
    { "store(o[0:6], 1, mask = iota([6], axis = 0) % 3 != 2);", "o>0+1*2 . o>3+1*2 . " },
    { "store(o[0:6], 1, mask = iota([6], axis = 0) > 6);", "" },
    { "o[0:4] = o[t[...]];", "t<0+1*4 o<5-4*2 o<1+2*2 o>0+1*4 . " },
    { "o[t[...]] = 1;", "t<0+1*4 o>5 . o>1 . o>1 . o>3 . " },
    { "let v = atomic_add(o[t[...]], 1, mask = t[...] != 5);", "t<0+1*4 o!1 o!1+2*2 " },
    { "s[0:2] = 4; o[0:2] = s[1:3];", "s>0+1*2 . s<1+1*2 o>0+1*2 . " },
    { "if (t[0] == 4) { o[0] = 1; } else { o[1] = 1; }", "t<0 o>1 . " },
};

Test(watch, touches)
{
    for (size_t r = 0; r < sizeof touch_rows / sizeof *touch_rows; r++) {
        int32_t x[60] = { 0 }, o[24] = { 0 }, t[4] = { 5, 1, 1, 3 };
        char text[1024];
        watched w;
        snprintf(text, sizeof text, "kernel k(in x: i32[6, 8], in t: i32[4], inout o: i32[24], scratch s: i32[4])\ngrid (i = 1)\n{\n%s\n}\n",
                 touch_rows[r].body);
        watched_open(&w, text, (clp_array[]){ { .dtype = CLP_I32, .rank = 2, .shape = (int64_t[]){ 6, 8 }, .strides = (int64_t[]){ 10, 1 },
                                                .data = x, .offset = 2 },
                                              ARRAY(CLP_I32, t, 4), ARRAY(CLP_I32, o, 24) }, 3);
        heard h;
        hear_from_here(&h, &w);
        OK(w.ctx, clpi_snapshot_run(&w.check, CLP_ORDER_FORWARD, 0, &(clpi_watch){ .user = &h, .touch = hear_touch, .wrote = hear_wrote }));
        cr_expect_str_eq(h.text, touch_rows[r].touches, "%s\nexpected %s\ngot      %s", touch_rows[r].body, touch_rows[r].touches, h.text);
        watched_close(&w);
    }
}

Test(watch, programs_and_index_maps)
{
    int32_t t[3] = { 2, 0, 1 }, x[3] = { 7, 8, 9 }, o[6] = { 0 };
    watched w;
    watched_open(&w, "kernel k(prefetch t: i32[3], in x: i32[3] block [_] at (t[i]), inout o: i32[6] block [1] at (2 * i + j))\n"
                     "grid (i = 3, j = 2 arbitrary)\n{\n    o[0] = x[];\n}\n",
                 (clp_array[]){ ARRAY(CLP_I32, t, 3), ARRAY(CLP_I32, x, 3), ARRAY(CLP_I32, o, 6) }, 3);
    heard h;
    hear_from_here(&h, &w);
    const clpi_watch watch = { .user = &h, .enter = hear_enter, .touch = hear_touch };
    OK(w.ctx, clpi_snapshot_run(&w.check, CLP_ORDER_FORWARD, 0, &watch));
    cr_expect_str_eq(h.text, "(0,0,0: t<0 x<2 o>0 (0,1,0: t<0 x<2 o>1 (1,0,1: t<1 x<0 o>2 (1,1,1: t<1 x<0 o>3 "
                             "(2,0,2: t<2 x<1 o>4 (2,1,2: t<2 x<1 o>5 ", "%s", h.text);
    hear_from_here(&h, &w);
    OK(w.ctx, clpi_snapshot_run(&w.check, CLP_ORDER_REVERSE, 0, &(clpi_watch){ .user = &h, .enter = hear_enter }));
    cr_expect_str_eq(h.text, "(2,0,2: (2,1,2: (1,0,1: (1,1,1: (0,0,0: (0,1,0: ", "%s", h.text);
    watched_close(&w);
}

static bool stop_third(void *user)
{
    return ++*(int *)user == 3;
}

Test(watch, ends_a_run)
{
    int32_t o[6] = { 0 };
    int n = 0;
    watched w;
    watched_open(&w, "kernel k(inout o: i32[6] block [1] at (i))\ngrid (i = 6)\n{\n    o[0] = 1;\n}\n", (clp_array[]){ ARRAY(CLP_I32, o, 6) }, 1);
    OK(w.ctx, clpi_snapshot_run(&w.check, CLP_ORDER_FORWARD, 0, &(clpi_watch){ .user = &n, .stops = stop_third }));
    const int32_t *work = after(&w, 0);
    cr_expect(work[0] == 1 && work[1] == 1 && work[2] == 0 && work[5] == 0);
    cr_expect(o[0] == 0, "the caller's array stays");
    watched_close(&w);
}

/* It is asked in each program, and at each turn of a loop, which may be one that never ends. */
Test(watch, ends_a_run_within_a_loop)
{
    static const char *const loops[] = { "for (e in 0 .. 6) { o[e] = 1; }", "var e = 0; while (e < 6) { o[e] = 1; e = (e + 1) % 6; }",
                                         "for (e in 0 .. 6) { var d = 0; while (d >= 0) { o[d] = 1; d = min(d + 1, 5); } }" };
    static const int n_written[] = { 1, 1, 0 };
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        int32_t o[6] = { 0 };
        int n = 0;
        char text[300];
        watched w;
        snprintf(text, sizeof text, "kernel k(inout o: i32[6])\ngrid (i = 6)\n{\n    %s\n}\n", loops[i]);
        watched_open(&w, text, (clp_array[]){ ARRAY(CLP_I32, o, 6) }, 1);
        OK(w.ctx, clpi_snapshot_run(&w.check, CLP_ORDER_FORWARD, 0, &(clpi_watch){ .user = &n, .stops = stop_third }));
        for (int e = 0; e < 6; e++)
            cr_expect_eq(((const int32_t *)after(&w, 0))[e], e < n_written[i], "%s: %d", loops[i], e);
        cr_expect_eq(n, 3, "%s: it goes on", loops[i]);
        watched_close(&w);
    }
}

/* ---- Faults ---- */

static bool hear_fault(void *user, const clpi_fault *f)
{
    put_text(&((heard *)user)->room, "%s\n", f->text);
    return true;
}

Test(watch, goes_on_as_a_device_would)
{
    int32_t x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, o[8] = { 0 }, p[8] = { 0 }, s = -4, t[2] = { 1, 9 }, q[2] = { 5, 6 };
    watched w;
    watched_open(&w, "kernel k(in x: i32[8], inout o: i32[8], inout p: i32[8], scalar s: i32, prefetch t: i32[2],\n"
                     "    inout q: i32[2] block [1] at (t[i]))\ngrid (i = 2)\n{\n"
                     "    if (i == 0) {\n"
                     "    o[...] = x[ds(s, 8)];\n"
                     "    p[ds(s + 10, 4)] = 3;\n"
                     "    p[0] = atomic_add(p[s], 1);\n"
                     "    assert(s > 0, \"s is positive\");\n"
                     "    }\n"
                     "    p[1 + i] = q[0];\n    q[0] = 9;\n}\n",
                 (clp_array[]){ ARRAY(CLP_I32, x, 8), ARRAY(CLP_I32, o, 8), ARRAY(CLP_I32, p, 8), { .dtype = CLP_I32, .data = &s },
                                ARRAY(CLP_I32, t, 2), ARRAY(CLP_I32, q, 2) }, 6);
    heard h;
    hear_from_here(&h, &w);
    OK(w.ctx, clpi_snapshot_run(&w.check, CLP_ORDER_FORWARD, 0, &(clpi_watch){ .user = &h, .fault = hear_fault }));
    const int32_t *o_after = after(&w, 1), *p_after = after(&w, 2), *q_after = after(&w, 5);
    cr_expect_str_eq(h.text,
                     "<text>:6:14: x: program (0,): index (-4,) lies outside the ref [8]\n"
                     "<text>:7:5: p: program (0,): index (8,) lies outside the ref [8]\n"
                     "<text>:8:12: p: program (0,): index (-4,) lies outside the ref [8]\n"
                     "<text>:9:5: program (0,): assert failed: s is positive\n"
                     "<text>:2:35: q: program (1,): block (9,) of [1] lies outside the array [2]\n", "%s", h.text);
    for (int i = 0; i < 8; i++)
        cr_expect_eq(o_after[i], i < 4 ? INT32_MIN : i - 3, "o[%d] is %d", i, (int)o_after[i]);
    const int32_t want[8] = { INT32_MIN, 6, INT32_MIN, 0, 0, 0, 3, 3 };
    for (int i = 0; i < 8; i++)
        cr_expect_eq(p_after[i], want[i], "p[%d] is %d", i, (int)p_after[i]);
    cr_expect(q_after[0] == 5 && q_after[1] == 9);
    watched_close(&w);
}

/* ---- Values ---- */

typedef struct checked_values { const clpi_ir *ir; int n_elementwise, n_dots, n_moves; } checked_values;
typedef const void *(*value_fn)(const void *run, clp_val v);

static void expect_elementwise(const checked_values *c, uint32_t op_id, const clpi_op *op, value_fn value, const void *run)
{
    const clpi_type *t = &c->ir->types.items[op->type];
    const clp_val *args = clpi_args(c->ir, op);
    clp_dtype of = clpi_type_of(c->ir, args[op->n_args - 1])->dtype;
    for (int64_t i = 0, n = clpi_type_elems(t); i < n; i++) {
        clpi_elem e[3] = { { 0 }, { 0 }, { 0 } };
        for (uint32_t k = 0; k < op->n_args; k++)
            e[k] = clpi_elem_get(clpi_type_of(c->ir, args[k])->dtype, value(run, args[k]), i);
        uint64_t want = clpi_elem_to_bits(t->dtype, clpi_scalar_ew(op->kind, of, e));
        uint64_t got = clpi_elem_to_bits(t->dtype, clpi_elem_get(t->dtype, value(run, (clp_val){ op_id }), i));
        cr_expect_eq(got, want, "%s, element %d", clpi_ops[op->kind].name, (int)i);
    }
}

static void expect_dot(const checked_values *c, uint32_t op_id, const clpi_op *op, value_fn value, const void *run)
{
    const clp_val *args = clpi_args(c->ir, op);
    const clpi_type *t = &c->ir->types.items[op->type];
    int64_t m = t->shape[0], n = t->shape[1], k = clpi_type_of(c->ir, args[0])->shape[1];
    const float *x = value(run, args[0]), *y = value(run, args[1]), *z = value(run, (clp_val){ op_id });
    for (int64_t i = 0; i < m * n; i++) {
        double sum = 0;
        for (int64_t p = 0; p < k; p++)
            sum += (double)x[i / n * k + p] * (double)y[p * n + i % n];
        cr_expect(near(z[i], sum, 1e-6), "dot, element %d: %g, not %g", (int)i, (double)z[i], sum);
    }
}

static void expect_op(void *user, uint32_t op_id, value_fn value, const void *run)
{
    checked_values *c = user;
    const clpi_op *op = &c->ir->ops.items[op_id];
    if (clpi_ops[op->kind].is_elementwise) {
        expect_elementwise(c, op_id, op, value, run);
        c->n_elementwise++;
    } else if (op->kind == CLP_OP_dot) {
        expect_dot(c, op_id, op, value, run);
        c->n_dots++;
    }
}

/* Values stay to be seen though their places are taken over, shared with the array, or never written. */
Test(watch, values_of_ops)
{
    float x[12], y[12], o[9] = { 0 };
    uint16_t h[4] = { 0x3c00, 0x4000, 0xc000, 0x3555 };
    for (int i = 0; i < 12; i++) {
        x[i] = 1.0f + (float)i / 7;
        y[i] = 3.0f - (float)i / 5;
    }
    watched w;
    watched_open(&w, "kernel k(in x: f32[3, 4], in y: f32[3, 4], in h: f16[4], inout o: f32[3, 3], scratch s: f32[4])\ngrid (i = 2)\n{\n"
                     "    var z = x[...] * y[...];\n"
                     "    for (r in 0 .. 3) { z = sqrt(abs(z - x[...])) / 3.0 + z * y[...]; }\n"
                     "    let g = cast(h[...] * h[...] + h[...], f32);\n"
                     "    if (i == 1) { o[...] = dot(z, transpose(y[...])); }\n"
                     "    else { o[...] = o[...] + dot(x[...], transpose(z)) + dot(transpose(x[0:2, 0:3]), x[0:2, 1:4]); }\n"
                     "    s[...] = where(g > 1.0, g, -g);\n"
                     "    o[0, 0] = sum(s[...]) + 0.5;\n}\n",
                 (clp_array[]){ ARRAY(CLP_F32, x, 3, 4), ARRAY(CLP_F32, y, 3, 4), ARRAY(CLP_F16, h, 4), ARRAY(CLP_F32, o, 3, 3) }, 4);
    checked_values c = { .ir = w.kernel->ir };
    OK(w.ctx, clpi_snapshot_run(&w.check, CLP_ORDER_FORWARD, 0, &(clpi_watch){ .user = &c, .step = expect_op }));
    cr_expect_gt(c.n_elementwise, 40);
    cr_expect_eq(c.n_dots, 3);
    watched_close(&w);
}

/* ---- Values that are altered ---- */

typedef struct altering { const clpi_ir *ir; int n; } altering;

static void add_ten(void *user, uint32_t op, void *elems, value_fn value, const void *run)
{
    altering *a = user;
    (void)value, (void)run;
    if (a->ir->ops.items[op].kind != CLP_OP_add)
        return;
    a->n++;
    for (int64_t i = 0, n = clpi_type_elems(&a->ir->types.items[a->ir->ops.items[op].type]); i < n; i++)
        ((float *)elems)[i] += 10;
}

/* What comes after sees it, be it of one program or of the launch. */
Test(watch, values_that_are_altered)
{
    float x[2] = { 1, 2 }, s = 1, o[2] = { 0 };
    watched w;
    watched_open(&w, "kernel k(in x: f32[2] block [1] at (i), scalar s: f32, out o: f32[2] block [1] at (i))\ngrid (i = 2)\n{\n"
                     "    let a = s + 1.0;\n    let b = a * 2.0;\n    o[...] = (x[...] + b) * 0.5 + x[...];\n}\n",
                 (clp_array[]){ ARRAY(CLP_F32, x, 2), { .dtype = CLP_F32, .data = &s }, ARRAY(CLP_F32, o, 2) }, 3);
    altering a = { .ir = w.kernel->ir };
    OK(w.ctx, clpi_snapshot_run(&w.check, CLP_ORDER_FORWARD, 0, &(clpi_watch){ .user = &a, .alter = add_ten }));
    const float *got = after(&w, 2);
    cr_expect(got[0] == (1 + 24 + 10) * 0.5f + 1 + 10 && got[1] == (2 + 24 + 10) * 0.5f + 2 + 10, "%g %g", (double)got[0], (double)got[1]);
    cr_expect_eq(a.n, 5);
    cr_expect(x[0] == 1 && x[1] == 2);
    watched_close(&w);
}
