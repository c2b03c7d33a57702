/* rule: values that are computed instead of listed. In: the text of a rule, the element it is for, the arrays it may
 * read. Out: a double, which the caller rounds to the array's dtype. Decides nothing about kernels: these few operations
 * on C doubles are what the expected values of large arrays rest on, so they share no code with the library.
 *
 *     rule  = or [ "?" rule ":" rule ] .      || && comparisons + - * / % unary- as in C, / and % rounding down as whole
 *     atom  = NUMBER | inf | nan | NAME | NAME "[" rule { "," rule } "]" | FUNCTION "(" rule { "," rule } ")"
 *           | ( sum | most | least ) "(" NAME "," from "," to "," rule ")" | "(" rule ")" .      to is not included   */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "support/support.h"

enum { MAX_VARIABLES = 16 };

typedef struct state {
    const char *at;
    const rule_env *env;
    const char *why;              /* NULL: no fault yet */
    int dead;                     /* > 0: parsed and not evaluated */
    struct { char name[MAX_NAME]; double value; } variables[MAX_VARIABLES];
    int n_variables;
} state;

static double rule(state *s);

static void skip_blanks(state *s)
{
    while (*s->at == ' ')
        s->at++;
}

/* token: one character or two. */
static bool accept(state *s, const char *token)
{
    skip_blanks(s);
    if (s->at[0] != token[0] || (token[1] && s->at[1] != token[1]))
        return false;
    s->at += token[1] ? 2 : 1;
    return true;
}

static double fault(state *s, const char *why)
{
    if (!s->why)
        s->why = why;
    return 0;
}

static void expect(state *s, const char *token)
{
    if (!accept(s, token))
        fault(s, "a rule lacks a bracket or a comma");
}

static void name_of(state *s, char *name)
{
    int n = 0;
    skip_blanks(s);
    while ((isalnum((unsigned char)*s->at) || *s->at == '_') && n < MAX_NAME - 1)
        name[n++] = *s->at++;
    name[n] = '\0';
}

static void bind(state *s, const char *name, double value)
{
    if (s->n_variables == MAX_VARIABLES) {
        fault(s, "a rule has too many variables");
        return;
    }
    snprintf(s->variables[s->n_variables].name, MAX_NAME, "%s", name);
    s->variables[s->n_variables++].value = value;
}

/* sum(v, from, to, rule) and the like; the bracket is open. */
static double fold(state *s, char kind)
{
    char name[MAX_NAME];
    name_of(s, name);
    expect(s, ",");
    const double from = rule(s);
    expect(s, ",");
    const double to = rule(s);
    expect(s, ",");
    const char *const body = s->at;
    double total = kind == 's' ? 0 : kind == 'm' ? -INFINITY : INFINITY;
    bind(s, name, from);
    const bool is_empty = s->dead || !(from < to);
    s->dead += is_empty;
    for (double v = from; is_empty ? v == from : v < to && !s->why; v++) {
        s->at = body;
        s->variables[s->n_variables - 1].value = v;
        const double x = rule(s);
        if (!is_empty)
            total = kind == 's' ? total + x : (kind == 'm' ? x > total : x < total) ? x : total;
    }
    s->dead -= is_empty;
    s->n_variables--;
    expect(s, ")");
    return total;
}

static double random_at(double seed, double i)
{
    uint64_t mix = (uint64_t)(int64_t)seed * 0x9e3779b97f4a7c15u + (uint64_t)(int64_t)i;
    return random_uniform(&mix);
}

static double call(state *s, const char *name)
{
    static const struct { const char *name; double (*fn)(double); } one[] = {
        { "abs", fabs }, { "floor", floor }, { "ceil", ceil }, { "trunc", trunc }, { "round", round }, { "rint", rint },
        { "sqrt", sqrt }, { "cbrt", cbrt }, { "exp", exp }, { "exp2", exp2 }, { "expm1", expm1 }, { "log", log },
        { "log2", log2 }, { "log1p", log1p }, { "sin", sin }, { "cos", cos }, { "tan", tan }, { "asin", asin },
        { "acos", acos }, { "atan", atan }, { "sinh", sinh }, { "cosh", cosh }, { "tanh", tanh }, { "asinh", asinh },
        { "acosh", acosh }, { "atanh", atanh }, { "erf", erf },
    };
    static const struct { const char *name; double (*fn)(double, double); } two[] = {
        { "pow", pow }, { "atan2", atan2 }, { "min", fmin }, { "max", fmax }, { "fmod", fmod }, { "random", random_at },
    };
    if (!strcmp(name, "sum") || !strcmp(name, "most") || !strcmp(name, "least"))
        return fold(s, name[0]);
    const double x = rule(s);
    double y = 0;
    const bool has_two = accept(s, ",");
    if (has_two)
        y = rule(s);
    expect(s, ")");
    for (size_t k = 0; k < sizeof one / sizeof *one && !has_two; k++)
        if (!strcmp(name, one[k].name))
            return one[k].fn(x);
    for (size_t k = 0; k < sizeof two / sizeof *two && has_two; k++)
        if (!strcmp(name, two[k].name))
            return two[k].fn(x, y);
    return fault(s, "a rule calls a function that there is not");
}

static double element(state *s, const char *name)
{
    double at[CLP_MAX_RANK];
    int rank = 0;
    do
        at[rank++] = rule(s);
    while (accept(s, ",") && rank < CLP_MAX_RANK);
    expect(s, "]");
    if (s->dead || s->why)
        return 0;
    for (int a = 0; a < s->env->n_arrays; a++) {
        const clp_array *array = &s->env->arrays[a];
        if (strcmp(name, s->env->names[a]))
            continue;
        if (array->rank != rank)
            return fault(s, "a rule has the wrong number of indices");
        int64_t flat = 0;
        for (int d = 0; d < rank; d++) {
            if (!(at[d] >= 0 && at[d] < (double)array->shape[d]) || at[d] != floor(at[d]))
                return fault(s, "a rule reads outside an array");
            flat = flat * array->shape[d] + (int64_t)at[d];
        }
        return array_number(array, flat);
    }
    return fault(s, "a rule reads an array that there is not");
}

/* Whole numbers, by far the most of them, without strtod. */
static double number(state *s)
{
    const char *p = s->at;
    int64_t whole = 0;
    for (; isdigit((unsigned char)*p) && p - s->at < 16; p++)
        whole = 10 * whole + (*p - '0');
    if (*p != '.' && *p != 'e' && !isalnum((unsigned char)*p)) {
        s->at = p;
        return (double)whole;
    }
    char *end;
    const double x = strtod(s->at, &end);
    s->at = end;
    return x;
}

static double atom(state *s)
{
    skip_blanks(s);
    if (isdigit((unsigned char)*s->at))
        return number(s);
    if (accept(s, "-"))
        return -atom(s);
    if (accept(s, "!"))
        return !(atom(s) != 0);
    if (accept(s, "(")) {
        const double x = rule(s);
        expect(s, ")");
        return x;
    }
    char name[MAX_NAME];
    name_of(s, name);
    if (!name[0])
        return fault(s, "a rule has something that is no value");
    if (accept(s, "("))
        return call(s, name);
    if (accept(s, "["))
        return element(s, name);
    for (int v = s->n_variables - 1; v >= 0; v--)
        if (!strcmp(s->variables[v].name, name))
            return s->variables[v].value;
    if (!strcmp(name, "inf"))
        return INFINITY;
    return !strcmp(name, "nan") ? (double)NAN : fault(s, "a rule has an unknown name");
}

static double product(state *s)
{
    double x = atom(s);
    for (;;) {
        if (accept(s, "*")) {
            x *= atom(s);
        } else if (accept(s, "//")) {
            const double y = atom(s);
            x = floor(x / y);
        } else if (accept(s, "/")) {
            x /= atom(s);
        } else if (accept(s, "%")) {
            const double y = atom(s);
            x -= y * floor(x / y);
        } else {
            return x;
        }
    }
}

static double total(state *s)
{
    double x = product(s);
    for (;;) {
        if (accept(s, "+"))
            x += product(s);
        else if (accept(s, "-"))
            x -= product(s);
        else
            return x;
    }
}

static double comparison(state *s)
{
    const double x = total(s);
    if (accept(s, "<="))
        return x <= total(s);
    if (accept(s, ">="))
        return x >= total(s);
    if (accept(s, "=="))
        return x == total(s);
    if (accept(s, "!="))
        return x != total(s);
    if (accept(s, "<"))
        return x < total(s);
    return accept(s, ">") ? (double)(x > total(s)) : x;
}

/* && and || do not evaluate what they need not, so that a condition guards an index. */
static double conjunction(state *s)
{
    double x = comparison(s);
    while (accept(s, "&&")) {
        const int was_false = !(x != 0);
        s->dead += was_false;
        const double y = comparison(s);
        s->dead -= was_false;
        x = !was_false && y != 0;
    }
    return x;
}

static double rule(state *s)
{
    double x = conjunction(s);
    while (accept(s, "||")) {
        const int was_true = x != 0;
        s->dead += was_true;
        const double y = conjunction(s);
        s->dead -= was_true;
        x = was_true || y != 0;
    }
    if (!accept(s, "?"))
        return x;
    const int holds = x != 0;
    s->dead += !holds;
    const double yes = rule(s);
    s->dead -= !holds;
    expect(s, ":");
    s->dead += holds;
    const double no = rule(s);
    s->dead -= holds;
    return holds ? yes : no;
}

bool rule_value(const char *text, const rule_env *env, int rank, const int64_t *at, int64_t n, double *out,
                const char **why)
{
    static const char *const letters[] = { "i", "j", "k", "l", "m" };
    state s = { .at = text, .env = env };
    bind(&s, "n", (double)n);
    for (int d = 0; d < rank && d < 5; d++)
        bind(&s, letters[d], (double)at[d]);
    *out = rule(&s);
    skip_blanks(&s);
    if (!s.why && *s.at)
        s.why = "a rule goes on behind its end";
    *why = s.why;
    return !s.why;
}
