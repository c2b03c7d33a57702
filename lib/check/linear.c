/* linear: emptiness of a system of linear equations and inequalities over integers.
 * In: rows. Out: "no integers satisfy them", which is certain, or "maybe".
 *
 *     equations      divided by their gcd, solved for a variable whose coefficient is 1; unimodular steps (x' = x + q y, which
 *                    keep integers integers) make one first where there is none
 *     inequalities   divided by the gcd of their coefficients, the constant rounded down
 *     the rest       simplex in whole numbers: a row that cannot reach its bound is a proof; a vertex with a fraction
 *                    splits the system in two, a few times
 *
 * Every step keeps the set of integer solutions or gives up, so that a proof rests on whole-number arithmetic alone. Numbers
 * that do not fit 64 bits give up.                                                                                      */
#include <string.h>

#include "check/linear.h"

enum { MAX_PIVOTS = 600, MAX_SPLITS = 24, MAX_DEPTH = 6 };

#define MAX_CELL   (INT64_C(1) << 61)
#define LARGE_CELL (INT64_C(1) << 26)      /* rows with larger ones are divided by their gcd */

typedef enum outcome { EMPTY, MAYBE } outcome;

/* Rows under work: those left are rows[0 .. n_rows). */
typedef struct matrix {
    int      n, n_rows;
    int64_t *cells;
    bool    *is_equal;
} matrix;

static int64_t *row_of(const matrix *m, int r)
{
    return &m->cells[(size_t)r * (size_t)(m->n + 1)];
}

static int64_t gcd(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* *x -= a * b */
static bool subtract_product(int64_t *x, int64_t a, int64_t b)
{
    int64_t part;
    return !__builtin_mul_overflow(a, b, &part) && !__builtin_sub_overflow(*x, part, x) && *x < MAX_CELL && *x > -MAX_CELL;
}

static int64_t row_gcd(const int64_t *row, int n)
{
    int64_t g = 0;
    for (int c = 0; c < n && g != 1; c++)
        if (row[c])
            g = gcd(g, row[c]);
    return g;
}

static void remove_row(matrix *m, int r)
{
    m->n_rows--;
    memmove(row_of(m, r), row_of(m, m->n_rows), (size_t)(m->n + 1) * sizeof *m->cells);
    m->is_equal[r] = m->is_equal[m->n_rows];
}

/* ---- Equations ---- */

/* The column to solve a row for: the smallest coefficient, and of those the one that the fewest rows have. */
static int best_column(const matrix *m, const int64_t *row)
{
    int best = -1, best_uses = 0;
    int64_t best_size = 0;
    for (int c = 0; c < m->n; c++) {
        int64_t size = row[c] < 0 ? -row[c] : row[c];
        if (size == 0 || (best >= 0 && size > best_size))
            continue;
        int uses = 0;
        for (int r = 0; r < m->n_rows; r++)
            uses += row_of(m, r)[c] != 0;
        if (best < 0 || size < best_size || uses < best_uses) {
            best = c;
            best_size = size;
            best_uses = uses;
        }
    }
    return best;
}

/* Takes the other coefficients of row r modulo that of column k, by columns: x[k] stands for x[k] + sum of q[c] * x[c]. */
static bool reduce_columns(const matrix *m, int r, int k)
{
    int64_t a = row_of(m, r)[k];
    for (int c = 0; c < m->n; c++) {
        int64_t q = c == k ? 0 : row_of(m, r)[c] / a;
        for (int t = 0; q && t < m->n_rows; t++)
            if (!subtract_product(&row_of(m, t)[c], q, row_of(m, t)[k]))
                return false;
    }
    return true;
}

/* Solves the equation in row r for a variable, which leaves the other rows. false: gave up. */
static bool solve_row(matrix *m, int r)
{
    int k;
    for (;;) {
        k = best_column(m, row_of(m, r));
        int64_t a = row_of(m, r)[k];
        if (a == 1 || a == -1)
            break;
        if (!reduce_columns(m, r, k))
            return false;
    }
    const int64_t *row = row_of(m, r);
    for (int t = 0; t < m->n_rows; t++) {
        int64_t factor = t == r ? 0 : row_of(m, t)[k] * row[k];
        for (int c = 0; factor && c <= m->n; c++)
            if (row[c] && !subtract_product(&row_of(m, t)[c], factor, row[c]))
                return false;
    }
    remove_row(m, r);
    return true;
}

/* Divides row r by its gcd. EMPTY: it cannot hold. *out_is_needed false: it always holds. */
static outcome tidy_row(matrix *m, int r, bool *out_is_needed)
{
    int64_t *row = row_of(m, r), g = row_gcd(row, m->n), constant = row[m->n];
    *out_is_needed = g != 0;
    if (g == 0)
        return (m->is_equal[r] ? constant != 0 : constant < 0) ? EMPTY : MAYBE;
    if (m->is_equal[r] && constant % g != 0)
        return EMPTY;
    if (g > 1) {
        for (int c = 0; c < m->n; c++)
            row[c] /= g;
        row[m->n] = clpi_floor_divide(constant, g);
    }
    return MAYBE;
}

/* Leaves inequalities. */
static outcome solve_equations(matrix *m, bool *out_gave_up)
{
    bool is_needed;
    for (int r = 0; r < m->n_rows;) {
        if (!m->is_equal[r]) {
            r++;
            continue;
        }
        if (tidy_row(m, r, &is_needed) == EMPTY)
            return EMPTY;
        if (!is_needed)
            remove_row(m, r);
        else if (!solve_row(m, r)) {
            *out_gave_up = true;
            return MAYBE;
        }
        r = 0;
    }
    for (int r = m->n_rows; r-- > 0;) {
        if (tidy_row(m, r, &is_needed) == EMPTY)
            return EMPTY;
        if (!is_needed)
            remove_row(m, r);
    }
    return MAYBE;
}

/* ---- Simplex ----
 * Variables 0 .. n are the columns, without bounds; n + r is the left side of inequality r, at least bound[r]. Those in
 * `outside` have a value of their own (0, or their bound); those in `inside` have one row each:
 *
 *     scale[r] * inside[r]  =  sum of cells[r][c] * outside[c]          scale[r] > 0                                     */
typedef struct tableau {
    int      n, n_rows;
    int64_t *cells, *scale, *bound;
    int     *inside, *outside;
} tableau;

static int64_t *cells_of(const tableau *t, int r)
{
    return &t->cells[(size_t)r * (size_t)t->n];
}

static bool tableau_new(const matrix *m, clpi_arena *arena, tableau *t)
{
    size_t n = (size_t)m->n, n_rows = (size_t)m->n_rows;
    *t = (tableau){ m->n, m->n_rows, clpi_arena_take(arena, n_rows * n, sizeof *t->cells), CLPI_NEW_N(arena, int64_t, n_rows),
                    CLPI_NEW_N(arena, int64_t, n_rows), CLPI_NEW_N(arena, int, n_rows), CLPI_NEW_N(arena, int, n) };
    if (!t->cells || !t->scale || !t->bound || !t->inside || !t->outside)
        return false;
    for (int r = 0; r < m->n_rows; r++) {
        memcpy(cells_of(t, r), row_of(m, r), n * sizeof *t->cells);
        t->scale[r] = 1;
        t->bound[r] = -row_of(m, r)[m->n];
        t->inside[r] = m->n + r;
    }
    for (int c = 0; c < m->n; c++)
        t->outside[c] = c;
    return true;
}

/* scale[r] times the value of inside[r]. */
static bool value_of(const tableau *t, int r, int64_t *out)
{
    const int64_t *cells = cells_of(t, r);
    int64_t sum = 0, part;
    for (int c = 0; c < t->n; c++) {
        if (t->outside[c] < t->n || !cells[c])
            continue;
        if (__builtin_mul_overflow(cells[c], t->bound[t->outside[c] - t->n], &part) || __builtin_add_overflow(sum, part, &sum))
            return false;
    }
    *out = sum;
    return true;
}

/* The row of the lowest variable that is below its bound; -1: none, -2: gave up. */
static int violated_row(const tableau *t)
{
    int found = -1;
    for (int r = 0; r < t->n_rows; r++) {
        int64_t value, bound;
        if (t->inside[r] < t->n || (found >= 0 && t->inside[r] > t->inside[found]))
            continue;
        if (!value_of(t, r, &value) || __builtin_mul_overflow(t->scale[r], t->bound[t->inside[r] - t->n], &bound))
            return -2;
        if (value < bound)
            found = r;
    }
    return found;
}

/* The lowest variable outside whose change raises inside[r]; those with a bound stand on it and can only grow. -1: none. */
static int entering_column(const tableau *t, int r)
{
    const int64_t *cells = cells_of(t, r);
    int found = -1;
    for (int c = 0; c < t->n; c++)
        if ((cells[c] > 0 || (cells[c] < 0 && t->outside[c] < t->n)) && (found < 0 || t->outside[c] < t->outside[found]))
            found = c;
    return found;
}

static bool rescale(tableau *t, int r)
{
    int64_t *cells = cells_of(t, r), largest = t->scale[r];
    for (int c = 0; c < t->n; c++) {
        int64_t size = cells[c] < 0 ? -cells[c] : cells[c];
        largest = size > largest ? size : largest;
    }
    if (largest < LARGE_CELL)
        return true;
    int64_t g = gcd(t->scale[r], row_gcd(cells, t->n));
    for (int c = 0; g > 1 && c < t->n; c++)
        cells[c] /= g;
    t->scale[r] /= g;
    return largest / g < MAX_CELL;
}

/* inside[i] and outside[k] change places. */
static bool pivot(tableau *t, int i, int k)
{
    int64_t *row = cells_of(t, i), sign = row[k] < 0 ? -1 : 1, size = row[k] * sign;
    for (int c = 0; c < t->n; c++)
        row[c] *= -sign;
    row[k] = sign * t->scale[i];
    t->scale[i] = size;
    int was = t->inside[i];
    t->inside[i] = t->outside[k];
    t->outside[k] = was;
    if (!rescale(t, i))
        return false;
    size = t->scale[i];
    for (int r = 0; r < t->n_rows; r++) {
        int64_t *other = cells_of(t, r), factor = other[k];
        if (r == i || factor == 0)
            continue;
        other[k] = 0;
        if (__builtin_mul_overflow(t->scale[r], size, &t->scale[r]))
            return false;
        for (int c = 0; c < t->n; c++)
            if (__builtin_mul_overflow(other[c], size, &other[c]) || !subtract_product(&other[c], -factor, row[c]))
                return false;
        if (!rescale(t, r))
            return false;
    }
    return true;
}

/* A column whose value at the vertex is no integer: the integer below it. false: none. */
static bool fraction(const tableau *t, int *out_column, int64_t *out_below)
{
    for (int r = 0; r < t->n_rows; r++) {
        int64_t value;
        if (t->inside[r] >= t->n || !value_of(t, r, &value) || value % t->scale[r] == 0)
            continue;
        *out_column = t->inside[r];
        *out_below = clpi_floor_divide(value, t->scale[r]);
        return *out_below < MAX_CELL && *out_below > -MAX_CELL;
    }
    return false;
}

/* ---- All of it ---- */

static outcome solve(const matrix *m, clpi_arena *arena, int *splits, int depth);

/* The rows of m and  sign * x[column] + constant >= 0. */
static outcome solve_half(const matrix *m, int column, int64_t sign, int64_t constant, clpi_arena *arena, int *splits, int depth)
{
    matrix half = { m->n, m->n_rows + 1, clpi_arena_take(arena, (size_t)(m->n_rows + 1) * (size_t)(m->n + 1), sizeof *m->cells), NULL };
    if (!half.cells)
        return MAYBE;
    memcpy(half.cells, m->cells, (size_t)m->n_rows * (size_t)(m->n + 1) * sizeof *m->cells);
    int64_t *row = row_of(&half, m->n_rows);
    memset(row, 0, (size_t)(m->n + 1) * sizeof *row);
    row[column] = sign;
    row[m->n] = constant;
    return solve(&half, arena, splits, depth);
}

/* m: inequalities, tidy. */
static outcome solve(const matrix *m, clpi_arena *arena, int *splits, int depth)
{
    tableau t;
    if (!tableau_new(m, arena, &t))
        return MAYBE;
    for (int i = 0; i < MAX_PIVOTS; i++) {
        int r = violated_row(&t), column;
        int64_t below;
        if (r == -2)
            return MAYBE;
        if (r == -1) {
            if (depth == MAX_DEPTH || ++*splits > MAX_SPLITS || !fraction(&t, &column, &below))
                return MAYBE;
            if (solve_half(m, column, -1, below, arena, splits, depth + 1) != EMPTY)
                return MAYBE;
            return solve_half(m, column, 1, -below - 1, arena, splits, depth + 1);
        }
        int c = entering_column(&t, r);
        if (c < 0)
            return EMPTY;
        if (!pivot(&t, r, c))
            return MAYBE;
    }
    return MAYBE;
}

bool clpi_linear_is_empty(const clpi_linear *system, clpi_arena *arena)
{
    clpi_arena_mark mark = clpi_arena_mark_get(arena);
    size_t n_cells = (size_t)system->n_rows * (size_t)(system->n + 1);
    matrix m = { system->n, system->n_rows, clpi_arena_take(arena, n_cells, sizeof *m.cells),
                 CLPI_NEW_N(arena, bool, (size_t)system->n_rows) };
    outcome result = MAYBE;
    if (system->n_rows > 0 && m.cells && m.is_equal) {
        bool gave_up = false;
        int splits = 0;
        memcpy(m.cells, system->cells, n_cells * sizeof *m.cells);
        memcpy(m.is_equal, system->is_equal, (size_t)system->n_rows * sizeof *m.is_equal);
        result = solve_equations(&m, &gave_up);
        if (result == MAYBE && !gave_up)
            result = solve(&m, arena, &splits, 0);
    }
    clpi_arena_rewind(arena, mark);
    return result == EMPTY;
}
