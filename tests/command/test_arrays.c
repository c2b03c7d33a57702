/* The command's arrays: NumPy files, made-up content, printing. */
#include <stdlib.h>
#include <unistd.h>

#include "support/support.h"
#include "tool.h"

static char folder[] = "/tmp/clpallas-arrays-XXXXXX";

static void make_folder(void)
{
    cr_assert(mkdtemp(folder));
}

static void remove_folder(void)
{
    char path[64];
    snprintf(path, sizeof path, "%s/a.npy", folder);
    remove(path);
    rmdir(folder);
}

TestSuite(arrays, .init = make_folder, .fini = remove_folder);

static const char *path_here(char *path, size_t n_bytes)
{
    snprintf(path, n_bytes, "%s/a.npy", folder);
    return path;
}

static char *printed(const clp_array *a)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    array_print(f, a);
    fclose(f);
    return text;
}

static void expect_printed(const clp_array *a, const char *expected)
{
    char *text = printed(a);
    cr_expect_str_eq(text, expected);
    free(text);
}

Test(arrays, prints_integers_in_columns)
{
    int32_t data[] = { 1, -20, 3, 400, 5, 6 };
    const clp_array a = { .dtype = CLP_I32, .rank = 2, .shape = (int64_t[]){ 2, 3 }, .data = data };
    expect_printed(&a, "[[  1 -20   3]\n [400   5   6]]\n");
}

Test(arrays, prints_floats_with_the_fewest_digits)
{
    float data[] = { 0.1f, 1.5f, -2, 1.0f / 3 };
    const clp_array a = { .dtype = CLP_F32, .rank = 1, .shape = (int64_t[]){ 4 }, .data = data };
    expect_printed(&a, "[ 0.1         1.5        -2.          0.33333334]\n");
}

Test(arrays, prints_bool_scalars_and_empty)
{
    unsigned char data[] = { 1, 0 };
    const clp_array flags = { .dtype = CLP_BOOL, .rank = 1, .shape = (int64_t[]){ 2 }, .data = data };
    expect_printed(&flags, "[ true false]\n");
    const clp_array one = { .dtype = CLP_U8, .rank = 0, .data = data };
    expect_printed(&one, "1\n");
    const clp_array none = { .dtype = CLP_U8, .rank = 1, .shape = (int64_t[]){ 0 }, .data = data };
    expect_printed(&none, "[]\n");
}

Test(arrays, shortens_long_arrays)
{
    tool_array a = { 0 };
    a.shape[0] = 2000;
    cr_assert_eq(array_make_up(&a, "x", CLP_I32, 1, "iota", (making){ .shape_known = true }), DONE);
    expect_printed(&a.array, "[   0    1    2 ... 1997 1998 1999]\n");
    array_done(&a);
}

Test(arrays, prints_three_dimensions_with_blank_lines)
{
    unsigned char data[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    const clp_array a = { .dtype = CLP_U8, .rank = 3, .shape = (int64_t[]){ 2, 2, 2 }, .data = data };
    expect_printed(&a, "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]\n");
}

Test(arrays, writes_and_reads_every_dtype)
{
    for (int d = CLP_BOOL; d < CLP_N_DTYPES; d++) {
        tool_array a = { 0 }, b = { 0 };
        char path[64];
        const clp_dtype dtype = (clp_dtype)d;
        cr_assert_eq(array_make_up(&a, "x", dtype, 2, "rand:3x5,4", (making){ 0 }), DONE);
        cr_assert_eq(array_write(&a.array, path_here(path, sizeof path)), DONE);
        cr_assert_eq(array_read(&b, "x", dtype, 2, path), DONE, "%s", clp_dtype_name(dtype));
        cr_expect_eq(b.array.shape[0], 3);
        cr_expect_eq(b.array.shape[1], 5);
        for (int64_t i = 0; i < 15; i++)
            cr_expect_eq(array_bits(&a.array, i), array_bits(&b.array, i), "%s %d", clp_dtype_name(dtype), (int)i);
        array_done(&a);
        array_done(&b);
    }
}

/* A file of six i4 with this dict. */
static void write_six(const char *path, const char *dict)
{
    const int32_t data[] = { 0, 10, 1, 11, 2, 12 };
    FILE *f = fopen(path, "wb");
    cr_assert(f);
    fwrite("\x93NUMPY\x01\x00", 1, 8, f);
    fputc((int)strlen(dict), f);
    fputc(0, f);
    fputs(dict, f);
    fwrite(data, 1, sizeof data, f);
    fclose(f);
}

Test(arrays, reads_elements_that_do_not_stand_aligned)
{
    char path[64], dict[100];
    for (int n_spaces = 0; n_spaces < 8; n_spaces++) {
        snprintf(dict, sizeof dict, "{'descr': '<i4', 'fortran_order': False, 'shape': (6,), }%*s\n", n_spaces, "");
        write_six(path_here(path, sizeof path), dict);
        tool_array a = { 0 };
        cr_assert_eq(array_read(&a, "x", CLP_I32, 1, path), DONE);
        cr_expect_eq((uintptr_t)a.array.data % sizeof(int32_t), 0, "%d spaces", n_spaces);
        cr_expect_eq(memcmp(a.array.data, (const int32_t[]){ 0, 10, 1, 11, 2, 12 }, 24), 0, "%d spaces", n_spaces);
        array_done(&a);
    }
}

Test(arrays, refuses_an_order_that_is_neither)
{
    char path[64], why[128];
    npy n;
    write_six(path_here(path, sizeof path), "{'descr': '<i4', 'fortran_order': Maybe, 'shape': (6,), }\n");
    cr_assert(!npy_open(path, &n, why, sizeof why));
    cr_expect_str_eq(why, "its fortran_order is neither True nor False");
}

Test(arrays, refuses_a_header_that_ends_where_the_type_should_stand)
{
    char path[64], why[128];
    npy n;
    write_six(path_here(path, sizeof path), "{'fortran_order': False, 'shape': (6,), 'descr': ");
    cr_assert(!npy_open(path, &n, why, sizeof why));
    cr_expect_str_eq(why, "its header is not NumPy's");
}

Test(arrays, reads_fortran_order)
{
    char path[64];
    write_six(path_here(path, sizeof path), "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }                         \n");
    tool_array a = { 0 };
    cr_assert_eq(array_read(&a, "x", CLP_I32, 2, path), DONE);
    const int64_t expected[] = { 0, 1, 2, 10, 11, 12 };
    for (int64_t i = 0; i < 6; i++)
        cr_expect_eq((int64_t)array_number(&a.array, i), expected[i]);
    array_done(&a);
}

Test(arrays, refuses_what_is_no_numpy_file)
{
    static const char *const contents[] = {
        "", "hello", "\x93NUMPY", "\x93NUMPY\x01", "\x93NUMPY\x01\x01\xff\xff{", "\x93NUMPY\x03\x01\xff\xff\xff\xff"
    };
    for (size_t k = 0; k < sizeof contents / sizeof *contents; k++) {
        char path[64], why[128];
        FILE *f = fopen(path_here(path, sizeof path), "wb");
        cr_assert(f);
        fputs(contents[k], f);
        fclose(f);
        npy n;
        cr_expect(!npy_open(path, &n, why, sizeof why), "content %zu", k);
        cr_expect(*why, "content %zu", k);
    }
}

Test(arrays, made_up_content_follows_the_seed)
{
    tool_array a = { 0 }, b = { 0 }, c = { 0 };
    cr_assert_eq(array_make_up(&a, "x", CLP_F32, 1, "randn:4096,1", (making){ 0 }), DONE);
    cr_assert_eq(array_make_up(&b, "x", CLP_F32, 1, "randn:4096,1", (making){ 0 }), DONE);
    cr_assert_eq(array_make_up(&c, "x", CLP_F32, 1, "randn:4096,2", (making){ 0 }), DONE);
    double sum = 0, squares = 0;
    int n_same = 0;
    for (int64_t i = 0; i < 4096; i++) {
        const double x = array_number(&a.array, i);
        cr_expect_eq(array_bits(&a.array, i), array_bits(&b.array, i));
        n_same += array_bits(&a.array, i) == array_bits(&c.array, i);
        sum += x;
        squares += x * x;
    }
    cr_expect_lt(n_same, 10);
    cr_expect(near(sum / 4096, 0, 0.08), "mean %g", sum / 4096);
    cr_expect(near(squares / 4096, 1, 0.05), "variance %g", squares / 4096);
    array_done(&a);
    array_done(&b);
    array_done(&c);
}

/* Arrays that fit the memory one by one may not do so together. */
Test(arrays, are_refused_where_others_have_the_memory)
{
    tool_array a = { 0 };
    cr_expect_eq(array_make_up(&a, "x", CLP_F32, 1, "ones:4", (making){ .taken_bytes = 1e18 }), FAILED);
    cr_expect_eq(array_make_up(&a, "x", CLP_F32, 1, "ones:4", (making){ .taken_bytes = 64 }), DONE);
    array_done(&a);
}
