/* template: the texts of prelude.cl and elementary.h, made for one dtype and number of lanes.
 * In: a request and arguments. Out: an expression; functions that it calls are added to the prelude, each once and behind
 * those that it calls in turn. Decides which section serves a request; what a section may say is in the head of prelude.cl. */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/embed.h"
#include "cl/template.h"

extern const clpi_embedded clpi_prelude_files[];     /* prelude.cl, elementary.h */

struct clpi_prelude_item { const char *section; clpi_request request; };

enum { MAX_ARGS = 4 };

static void expand(clpi_prelude *p, clpi_str *out, const char *text, size_t n, const clpi_request *r, const char *const *args);

/* ---- Finding a section ---- */

static bool is_word(const char *word, size_t n, const char *text)
{
    return strlen(text) == n && memcmp(word, text, n) == 0;
}

static bool dtype_fits(const char *word, size_t n, clp_dtype d)
{
    return is_word(word, n, "all") || is_word(word, n, clp_dtype_name(d)) ||
           (is_word(word, n, "ints") && clpi_is_int(d)) || (is_word(word, n, "sints") && clpi_is_signed(d)) ||
           (is_word(word, n, "uints") && clpi_is_unsigned(d)) || (is_word(word, n, "floats") && (d == CLP_F32 || d == CLP_F64));
}

static bool condition_holds(const clpi_prelude *p, const char *word, size_t n, const clpi_request *r)
{
    return (is_word(word, n, "scalar") && r->width == 1) || (is_word(word, n, "vector") && r->width > 1) ||
           (is_word(word, n, "fast") && p->math_fast) || (is_word(word, n, "correct") && p->limits->has_correct_divide) ||
           (is_word(word, n, "fp64") && p->limits->has_fp64) ||
           (is_word(word, n, "vscalef") && (p->limits->insns & CLPI_INSN_AVX512_SCALE) && r->width == 16);
}

/* Whether the section whose head is this line, without its mark, serves the request. */
static bool head_fits(const clpi_prelude *p, const char *line, const clpi_request *r)
{
    enum { NAME, DTYPES, FROM, WHEN } part = NAME;
    bool has_dtype = false, has_from = true;
    for (;;) {
        while (*line == ' ')
            line++;
        size_t n = strcspn(line, " \n");
        if (n == 0)
            return has_dtype && has_from;
        if (is_word(line, n, "<")) {
            part = FROM;
            has_from = false;
        } else if (is_word(line, n, "when")) {
            part = WHEN;
        } else if (part == NAME) {
            if (n != r->n || memcmp(line, r->name, n) != 0)
                return false;
            part = DTYPES;
        } else if (part == DTYPES) {
            has_dtype = has_dtype || dtype_fits(line, n, r->dtype);
        } else if (part == FROM) {
            has_from = has_from || dtype_fits(line, n, r->from);
        } else if (!condition_holds(p, line, n, r)) {
            return false;
        }
        line += n;
    }
}

static const char section_mark[] = "\n//# ";

/* The text behind the head of the first section that fits, or NULL. */
static const char *find_exact(const clpi_prelude *p, const clpi_request *r)
{
    for (const char *at = strstr(clpi_prelude_files[0].text, section_mark); at; at = strstr(at, section_mark)) {
        at += sizeof section_mark - 1;
        if (head_fits(p, at, r))
            return strchr(at, '\n') + 1;
        at--;
    }
    return NULL;
}

/* Likewise; small floats fall back on the f32 that holds them, which *r then says. */
static const char *find_section(const clpi_prelude *p, clpi_request *r)
{
    const char *found = find_exact(p, r);
    if (!found && clpi_rep(r->dtype) == CLP_F32 && r->dtype != CLP_F32) {
        r->dtype = CLP_F32;
        found = find_exact(p, r);
    }
    return found;
}

static size_t section_bytes(const char *section)
{
    const char *end = strstr(section - 1, section_mark);
    return end ? (size_t)(end + 1 - section) : strlen(section);
}

/* ---- Placeholders ---- */

enum { N_SMALL_FLOATS = 3 };
static const clp_dtype small_floats[N_SMALL_FLOATS] = { CLP_F16, CLP_F8E4M3, CLP_F8E5M2 };
static const struct { const char *word, *text[N_SMALL_FLOATS]; } small_words[] = {
    { "drop",      { "13", "20", "21" } },
    { "least",     { "6.103515625e-05f", "0.015625f", "6.103515625e-05f" } },
    { "magic",     { "0.5f", "16384.0f", "128.0f" } },
    { "max",       { "65504.0f", "448.0f", "57344.0f" } },
    { "over",      { "0x7f800000u", "0x7fc00000u", "0x7f800000u" } },
    { "bias",      { "0x1c000u", "0x3c0u", "0x1c0u" } },
    { "signshift", { "16", "24", "24" } },
    { "signbit",   { "0x8000u", "0x80u", "0x80u" } },
    { "infbits",   { "0x7c00u", "0x7fu", "0x7cu" } },       /* of f8e4m3: its NaN */
    { "nanbits",   { "0x7e00u", "0x7fu", "0x7eu" } },
};

static bool small_placeholder(clpi_str *out, clp_dtype dtype, const char *word, size_t n)
{
    for (size_t i = 0; i < sizeof small_words / sizeof *small_words; i++)
        for (int k = 0; is_word(word, n, small_words[i].word) && k < N_SMALL_FLOATS; k++)
            if (small_floats[k] == dtype) {
                clpi_str_puts(out, small_words[i].text[k]);
                return true;
            }
    return false;
}

/* The limits of an integer dtype, as its own and as numbers of the float that is cast to it. */
static bool limit_placeholder(clpi_str *out, const clpi_request *r, const char *word, size_t n)
{
    if (!clpi_is_int(r->dtype))
        return false;
    uint64_t max = clpi_int_max(r->dtype);
    int64_t min = clpi_int_min(r->dtype);
    clpi_str number;
    clpi_str_init(&number, out->env);
    double x = is_word(word, n, "flo") ? (double)min : is_word(word, n, "fhi") ? (double)max : 2.0 * (double)(max / 2 + 1);
    bool known = true;
    if (is_word(word, n, "lo"))
        clpi_cl_literal(&number, r->dtype, (uint64_t)min);
    else if (is_word(word, n, "hi"))
        clpi_cl_literal(&number, r->dtype, max);
    else if (!is_word(word, n, "flo") && !is_word(word, n, "fhi") && !is_word(word, n, "beyond"))
        known = false;
    else if (r->from == CLP_F64)
        clpi_cl_literal(&number, CLP_F64, clpi_elem_to_bits(CLP_F64, (clpi_elem){ .d = x }));
    else
        clpi_cl_literal(&number, CLP_F32, clpi_elem_to_bits(CLP_F32, (clpi_elem){ .f = (float)x }));
    clpi_str_put(out, number.text, number.n);
    out->failed = out->failed || number.failed;
    clpi_str_done(&number);
    return known;
}

/* The integer dtype as wide as what holds d. */
static clp_dtype int_like(clp_dtype d, bool is_signed)
{
    static const clp_dtype row[2][4] = { { CLP_U8, CLP_U16, CLP_U32, CLP_U64 }, { CLP_I8, CLP_I16, CLP_I32, CLP_I64 } };
    int bits = clpi_cl_mask_bits(d);
    return row[is_signed][bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3];
}

static const char *space_name(clpi_space space)
{
    return space == CLPI_SPACE_GLOBAL ? "__global" : "__local";
}

static void function_name(clpi_str *out, const clpi_request *r)
{
    clpi_str_put(out, r->name, r->n);
    if (r->op != CLP_OP_NONE)
        clpi_str_add(out, "_%s", clpi_ops[r->op].name);
    clpi_str_add(out, "_%s", clp_dtype_name(r->dtype));
    if (r->from != CLP_DTYPE_NONE)
        clpi_str_add(out, "_%s", clp_dtype_name(r->from));
    if (r->width > 1)
        clpi_str_add(out, "x%d", r->width);
    if (r->space == CLPI_SPACE_LOCAL)
        clpi_str_puts(out, "_local");
}

/* What an atomic op does to its element; exchange and compare have sections of their own. */
static clpi_op_kind alone_op(clpi_op_kind atomic)
{
    switch (atomic) {
    case CLP_OP_atomic_add: return CLP_OP_add;
    case CLP_OP_atomic_min: return CLP_OP_minimum;
    case CLP_OP_atomic_max: return CLP_OP_maximum;
    case CLP_OP_atomic_and: return CLP_OP_and;
    case CLP_OP_atomic_or: return CLP_OP_or;
    default: assert(atomic == CLP_OP_atomic_xor); return CLP_OP_xor;
    }
}

/* NULL: no type has this letter. */
static const char *type_of(const clpi_request *r, char letter)
{
    const int w = r->width;
    switch (letter) {
    case 'T': return clpi_cl_type(r->dtype, w);
    case 'U': return clpi_cl_type(int_like(r->dtype, false), w);
    case 'I': return clpi_cl_type(int_like(r->dtype, true), w);
    case 'S': return clpi_cl_stored_type(r->dtype, w);
    case 'M': return clpi_cl_mask_type(clpi_cl_mask_bits(r->dtype), w);
    case 'F': return r->from == CLP_BOOL ? clpi_cl_mask_type(w == 1 ? 32 : r->mask_bits, w) : clpi_cl_type(r->from, w);
    case 'D': return clpi_cl_type(CLP_F64, w);
    default: return NULL;
    }
}

static void type_placeholder(clpi_prelude *p, clpi_str *out, const clpi_request *r, const char *word, size_t n)
{
    const char *type = n == 1 ? type_of(r, *word) : NULL;
    assert(type && "a placeholder of prelude.cl");
    clpi_str_puts(out, type ? type : "");
    p->uses_f64 = p->uses_f64 || *word == 'D' || r->dtype == CLP_F64 || r->from == CLP_F64;
}

/* ---- Expressions ---- */

/* Names, numbers, calls, subscripts, casts, things in parentheses: what stands beside an operator as it is. */
static bool is_operand(const char *s)
{
    int depth = 0;
    for (; *s; s++) {
        if (*s == '(' || *s == '[')
            depth++;
        else if (*s == ')' || *s == ']')
            depth--;
        else if (depth == 0 && !isalnum((unsigned char)*s) && *s != '_' && *s != '.')
            return false;
    }
    return true;
}

void clpi_put_operand(clpi_str *out, const char *expr)
{
    bool bare = is_operand(expr);
    clpi_str_add(out, "%s%s%s", bare ? "" : "(", expr, bare ? "" : ")");
}

/* The end of the argument that starts at text: its comma or closing parenthesis. */
static const char *argument_end(const char *text)
{
    int depth = 0;
    for (;; text++) {
        assert(*text);
        if (depth == 0 && (*text == ',' || *text == ')'))
            return text;
        depth += (*text == '(' || *text == '[') - (*text == ')' || *text == ']');
    }
}

/* Arguments of a call inside a template, each made text in the arena. at: behind the opening parenthesis. Returns the place
 * behind the closing one. */
typedef void expand_fn(clpi_prelude *p, clpi_str *out, const char *text, size_t n, const clpi_request *r,
                       const char *const *args);

static const char *read_arguments(clpi_prelude *p, const char *at, const clpi_request *r, const char *const *args, expand_fn *fn,
                                  const char **out_args, int *out_n)
{
    *out_n = 0;
    for (;; at++) {
        while (*at == ' ')
            at++;
        const char *end = argument_end(at);
        clpi_str text;
        clpi_str_init(&text, p->arena->env);
        fn(p, &text, at, (size_t)(end - at), r, args);
        const char *copy = clpi_str_keep(&text, p->arena);
        p->functions.failed = p->functions.failed || !copy;
        assert(*out_n < MAX_ARGS);
        out_args[(*out_n)++] = copy ? copy : "";
        at = end;
        if (*at == ')')
            return at + 1;
    }
}

static size_t word_bytes(const char *text)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_')
        n++;
    return n;
}

/* @name(..), @name:dtype(..) or @name/2(..); at: behind the @. */
static const char *expand_call(clpi_prelude *p, clpi_str *out, const char *at, const clpi_request *r, const char *const *args)
{
    clpi_request inner = { .name = at, .n = word_bytes(at), .dtype = r->dtype, .width = r->width };
    at += inner.n;
    if (*at == ':') {
        char name[16];
        size_t n = word_bytes(at + 1);
        assert(n < sizeof name);
        memcpy(name, at + 1, n);
        name[n] = 0;
        inner.dtype = clp_dtype_from_name(name);
        at += n + 1;
    }
    if (*at == '/') {
        inner.width /= 2;
        at += 2;
    }
    assert(*at == '(');
    const char *inner_args[MAX_ARGS];
    int n_args;
    bool in_place;
    at = read_arguments(p, at + 1, r, args, expand, inner_args, &n_args);
    bool found = clpi_template_call(p, out, &inner, inner_args, n_args, &in_place);
    assert(found);
    (void)found;
    return at;
}

/* An argument that fills a whole argument of a call needs no parentheses. */
static bool stands_alone(const char *text, const char *word, const char *end)
{
    const char *before = word - 1;
    while (before > text && *before == ' ')
        before--;
    return before >= text && (*before == '(' || *before == ',') && (*end == ')' || *end == ',') && before > text &&
           (*before == ',' || isalnum((unsigned char)before[-1]) || before[-1] == '_');
}

/* Folds v, and names each half of the lanes after their number. */
static void put_halves(clpi_prelude *p, clpi_str *out, const clpi_request *r)
{
    char whole[16] = "v", lo[24], hi[24];
    for (int w = r->width / 2; w >= 1; w /= 2) {
        snprintf(lo, sizeof lo, "%s.lo", whole);
        snprintf(hi, sizeof hi, "%s.hi", whole);
        if (w == 1)
            clpi_str_puts(out, "    return ");
        else
            clpi_str_add(out, "    %s v%d = ", clpi_cl_type(r->dtype, w), w);
        clpi_prelude_combine(p, out, r->op, r->dtype, w, lo, hi);
        clpi_str_puts(out, ";\n");
        snprintf(whole, sizeof whole, "v%d", w);
    }
}

static void placeholder(clpi_prelude *p, clpi_str *out, const clpi_request *r, const char *word, size_t n)
{
    if (is_word(word, n, "f"))
        function_name(out, r);
    else if (is_word(word, n, "w"))
        clpi_str_add(out, "%d", r->width);
    else if (is_word(word, n, "bits"))
        clpi_str_add(out, "%d", clp_dtype_bits(r->dtype));
    else if (is_word(word, n, "single"))
        clpi_str_puts(out, clpi_cl_type(CLP_F32, r->width));
    else if (is_word(word, n, "space"))
        clpi_str_puts(out, space_name(r->space));
    else if (is_word(word, n, "element"))
        clpi_str_puts(out, clpi_cl_type(r->dtype, 1));
    else if (is_word(word, n, "halves"))
        put_halves(p, out, r);
    else if (is_word(word, n, "combine"))
        clpi_prelude_ew(p, out, alone_op(r->op), r->dtype, 1, (const char *const[]){ "old", "v" });
    else if (!limit_placeholder(out, r, word, n) && !small_placeholder(out, r->dtype, word, n))
        type_placeholder(p, out, r, word, n);
}

static void expand(clpi_prelude *p, clpi_str *out, const char *text, size_t n, const clpi_request *r, const char *const *args)
{
    const char *at = text, *end = text + n;
    while (at < end) {
        size_t plain = strcspn(at, "$@");
        if (plain > (size_t)(end - at))
            plain = (size_t)(end - at);
        clpi_str_put(out, at, plain);
        at += plain;
        if (at == end)
            return;
        const char *word = at + 1;
        if (*at == '@') {
            at = expand_call(p, out, word, r, args);
            continue;
        }
        at = word + word_bytes(word);
        if (at == word + 1 && *word >= 'a' && *word <= 'c') {
            const char *arg = args[*word - 'a'];
            if (stands_alone(text, word - 1, at))
                clpi_str_puts(out, arg);
            else
                clpi_put_operand(out, arg);
        } else {
            placeholder(p, out, r, word, (size_t)(at - word));
        }
    }
}

/* ---- elementary.h ---- */

typedef enum macro_kind { MACRO_TEXT, MACRO_NONE, MACRO_NAME, MACRO_SQRT, MACRO_K, MACRO_ANY, MACRO_SELECT } macro_kind;

/* Its macros. MACRO_TEXT: text stands for the word, with that type of as many lanes behind it. */
static const struct { const char *word; macro_kind kind; const char *text; clp_dtype type; } macros[] = {
    { "AS_F", MACRO_TEXT, "as_", CLP_F32 },      { "AS_U", MACRO_TEXT, "as_", CLP_U32 }, { "AS_I", MACRO_TEXT, "as_", CLP_I32 },
    { "F", MACRO_TEXT, "", CLP_F32 },            { "U", MACRO_TEXT, "", CLP_U32 },       { "I", MACRO_TEXT, "", CLP_I32 },
    { "TO_F", MACRO_TEXT, "convert_", CLP_F32 }, { .word = "FMA", .text = "fma" },       { .word = "MULHI", .text = "mul_hi" },
    { .word = "FN", .kind = MACRO_NONE },     { .word = "NAME", .kind = MACRO_NAME }, { .word = "SQRT", .kind = MACRO_SQRT }, { .word = "K", .kind = MACRO_K },
    { .word = "ANY", .kind = MACRO_ANY },     { .word = "SELECT", .kind = MACRO_SELECT },
};
enum { N_MACROS = sizeof macros / sizeof *macros };

static void put_root(clpi_prelude *p, clpi_str *out, int width, const char *const *args)
{
    const clpi_request root = { .name = "sqrt", .n = 4, .dtype = CLP_F32, .width = width };
    bool in_place, found = clpi_template_call(p, out, &root, args, 1, &in_place);
    assert(found);
    (void)found;
}

static void put_macro(clpi_prelude *p, clpi_str *out, macro_kind kind, int width, const char *const *args)
{
    switch (kind) {
    case MACRO_NAME:
        function_name(out, &(clpi_request){ .name = args[0], .n = strlen(args[0]), .dtype = CLP_F32, .width = width });
        break;
    case MACRO_SQRT: put_root(p, out, width, args); break;
    case MACRO_K:
        if (width > 1)
            clpi_str_add(out, "(%s)(%s)", clpi_cl_type(CLP_F32, width), args[0]);
        else
            clpi_put_operand(out, args[0]);
        break;
    case MACRO_ANY: clpi_str_add(out, "%s(%s)", width > 1 ? "any" : "", args[0]); break;
    default: clpi_str_add(out, "(%s ? %s : %s)", args[0], args[1], args[2]);
    }
}

/* r->dtype is f32. */
static void expand_elementary(clpi_prelude *p, clpi_str *out, const char *text, size_t n, const clpi_request *r,
                              const char *const *args)
{
    for (const char *at = text, *end = text + n; at < end;) {
        const char *word = at, *inner[MAX_ARGS];
        const size_t n_word = word_bytes(word);
        int i = 0, n_args;
        while (i < N_MACROS && !is_word(word, n_word, macros[i].word))
            i++;
        at += n_word > 0 ? n_word : 1;
        if (i == N_MACROS) {
            clpi_str_put(out, word, (size_t)(at - word));
        } else if (macros[i].kind == MACRO_NONE) {
            at++; /* the blank behind it, too */
        } else if (macros[i].kind == MACRO_TEXT) {
            clpi_str_puts(out, macros[i].text);
            clpi_str_puts(out, macros[i].type ? clpi_cl_type(macros[i].type, r->width) : "");
        } else {
            at = read_arguments(p, at + 1, r, args, expand_elementary, inner, &n_args);
            put_macro(p, out, macros[i].kind, r->width, inner);
        }
    }
}

static const char elementary_mark[] = "\n/*@ ";

/* ---- Functions ---- */

static bool is_needed(const clpi_prelude *p, const char *section, const clpi_request *r)
{
    for (uint32_t i = 0; i < p->needed.n; i++) {
        const clpi_prelude_item *item = &p->needed.items[i];
        if (item->section == section && item->request.dtype == r->dtype && item->request.from == r->from &&
            item->request.width == r->width && item->request.space == r->space && item->request.op == r->op)
            return true;
    }
    return false;
}

/* Adds one function, unless it is there. What it calls is added while it is expanded, so before it. */
static void need_function(clpi_prelude *p, const char *section, const char *text, size_t n, const clpi_request *r, expand_fn *fn)
{
    if (is_needed(p, section, r))
        return;
    clpi_prelude_item item = { .section = section, .request = *r };
    if (!CLPI_PUSH(p->arena, &p->needed, item))
        return;
    clpi_str body;
    clpi_str_init(&body, p->arena->env);
    fn(p, &body, text, n, r, NULL);
    clpi_str_add(&p->functions, "%s\n", body.text);
    p->functions.failed = p->functions.failed || body.failed;
    clpi_str_done(&body);
}

/* Adds the function of that name, after those it calls, from prelude.cl or else elementary.h. NULL when there is none; else its section. */
static const char *need_named(clpi_prelude *p, const clpi_request *r)
{
    const char *section = find_exact(p, r);
    if (section) {
        need_function(p, section, section, section_bytes(section), r, expand);
        return section;
    }
    for (const char *at = strstr(clpi_prelude_files[1].text, elementary_mark); at; at = strstr(at, elementary_mark)) {
        at += sizeof elementary_mark - 1;
        size_t n = word_bytes(at);
        if (n != r->n || memcmp(at, r->name, n) != 0)
            continue;
        const char *line = at + n + 1, *text = strchr(at, '\n') + 1, *end = strstr(text - 1, elementary_mark);
        while (*line == ' ') {
            clpi_request called = *r;
            called.name = line + 1;
            called.n = word_bytes(line + 1);
            if (called.n > 0)
                need_named(p, &called);
            line += 1 + called.n;
        }
        size_t n_bytes = end ? (size_t)(end - text) : strlen(text);
        need_function(p, at, text, n_bytes, r, expand_elementary);
        return at;
    }
    return NULL;
}

static void put_call(clpi_str *out, const clpi_request *r, const char *const *args, int n_args)
{
    function_name(out, r);
    for (int i = 0; i < n_args; i++)
        clpi_str_add(out, "%s%s", i == 0 ? "(" : ", ", args[i]);
    clpi_str_puts(out, ")");
}

bool clpi_template_call(clpi_prelude *p, clpi_str *out, const clpi_request *r, const char *const *args, int n_args,
                        bool *out_in_place)
{
    clpi_request found = *r;
    const char *section = find_section(p, &found);
    *out_in_place = false;
    p->uses_f64 = p->uses_f64 || found.dtype == CLP_F64 || found.from == CLP_F64;
    if (!section) {
        found.dtype = CLP_F32;
        if (clpi_rep(r->dtype) != CLP_F32 || !need_named(p, &found))
            return false;
        put_call(out, &found, args, n_args);
        return true;
    }
    size_t n = section_bytes(section);
    if (section[0] == '=' && section[1] == ' ') {
        *out_in_place = true;
        while (n > 0 && (section[n - 1] == '\n' || section[n - 1] == ' '))
            n--;
        expand(p, out, section + 2, n - 2, &found, args);
        return true;
    }
    need_function(p, section, section, n, &found, expand);
    put_call(out, &found, args, n_args);
    return true;
}
