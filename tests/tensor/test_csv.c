/* CSV: what is accepted, what is refused and where, and that what is written reads back bit for bit. */
#include "alloc.h"
#include "files.h"

#include <cotangent/io.h>

static ct_table *parse(const char *text) { return ct_csv_parse(dev, text, strlen(text), NULL); }

/* Parses, compares with the values in row-major order, frees. */
static void check_table(const char *text, int64_t rows, int64_t cols, const double *wanted)
{
    ct_table *t = parse(text);
    if (!t) fail_msg("\"%s\": %s", text, ct_message(dev));
    assert_int_equal(ct_table_rows(t), rows);
    assert_int_equal(ct_table_cols(t), cols);
    for (int64_t i = 0; i < rows * cols; i++)
        assert_close(ct_table_at(t, i / cols, i % cols), wanted[i], 0, 0);
    ct_table_free(t);
}
#define CHECK_TABLE(text, rows, cols, ...) check_table(text, rows, cols, (const double[]){ __VA_ARGS__ })

static void refused(const char *text, const char *message)
{
    assert_null(parse(text));
    assert_says(CT_EFORMAT, message);
}

static void plain(void **state)
{
    (void)state;
    CHECK_TABLE("a,b\n1,2\n3,4\n", 2, 2, 1, 2, 3, 4);
    CHECK_TABLE("a,b\r\n1,2\r\n3,4", 2, 2, 1, 2, 3, 4);
    CHECK_TABLE("1,2\r3,4\r", 2, 2, 1, 2, 3, 4);
    CHECK_TABLE("\xef\xbb\xbf"
                "1,2\n",
                1, 2, 1, 2);
    CHECK_TABLE("\xef\xbb\xbf"
                "x,2\n",
                0, 2, 0);
    CHECK_TABLE(" 1 ,\t2\t\n", 1, 2, 1, 2);
    CHECK_TABLE("7", 1, 1, 7);
    CHECK_TABLE("x\n+inf\n-Infinity\n1e3\n-.5e-1\n", 4, 1, INFINITY, -INFINITY, 1000, -0.05);
    CHECK_TABLE("a,b,c,d,e,f\n,NA,nan,null,?, \n", 1, 6, NAN, NAN, NAN, NAN, NAN, NAN);
    CHECK_TABLE("1,\n,2\n,", 3, 2, 1, NAN, NAN, 2, NAN, NAN);
    CHECK_TABLE("\"1\",\" 2 \"\n\"\",\"NA\"\n", 2, 2, 1, 2, NAN, NAN);
    CHECK_TABLE("\n \n1,2\n\n3,4\n\n\n", 2, 2, 1, 2, 3, 4);
}

/* In a single column an empty line stands for a missing value: rows stay aligned with those of another
 * file. */
static void one_column(void **state)
{
    (void)state;
    CHECK_TABLE("y\n1\n\n3\n\n\n", 3, 1, 1, NAN, 3);
    CHECK_TABLE("\n\ny\n\n3", 2, 1, NAN, 3);
    ct_table *t = parse("y\n1\n\n3\n");
    assert_int_equal(ct_table_line(t, 1), 3);
    assert_int_equal(ct_table_line(t, 2), 4);
    ct_table_free(t);
}

static void names(void **state)
{
    (void)state;
    ct_table *t = parse("age, \"height, m\" ,\"say \"\"x\"\"\",,\"two\nlines\"\n1,2,3,4,5\n");
    assert_non_null(t);
    assert_int_equal(ct_table_rows(t), 1);
    assert_string_equal(ct_table_name(t, 0), "age");
    assert_string_equal(ct_table_name(t, 1), "height, m");
    assert_string_equal(ct_table_name(t, 2), "say \"x\"");
    assert_string_equal(ct_table_name(t, 3), "c3");
    assert_string_equal(ct_table_name(t, 4), "two\nlines");
    assert_null(ct_table_name(t, 5));
    assert_null(ct_table_name(t, -1));
    assert_int_equal(ct_table_find(t, "say \"x\""), 2);
    assert_int_equal(ct_table_find(t, "Age"), -1);
    assert_int_equal(ct_table_find(t, NULL), -1);
    assert_int_equal(ct_table_line(t, 0), 3);
    assert_int_equal(ct_table_line(t, 1), 0);
    assert_true(isnan(ct_table_at(t, 1, 0)));
    assert_true(isnan(ct_table_at(t, 0, -1)));
    ct_table_free(t);

    t = parse("1,2\n");
    assert_string_equal(ct_table_name(t, 1), "c1");
    ct_table_free(t);
    ct_table_free(NULL);
    assert_int_equal(ct_table_rows(NULL), 0);
    assert_null(ct_table_name(NULL, 0));
    assert_int_equal(ct_table_find(NULL, "x"), -1);
}

static void options(void **state)
{
    (void)state;
    const char *text = "1990;1991\n1;2\n";
    ct_csv_options o = { .delimiter = ';', .header = 1 };
    ct_table *t = ct_csv_parse(dev, text, strlen(text), &o);
    assert_non_null(t);
    assert_int_equal(ct_table_rows(t), 1);
    assert_string_equal(ct_table_name(t, 1), "1991");
    ct_table_free(t);
    o.header = 0;
    t = ct_csv_parse(dev, text, strlen(text), &o);
    assert_int_equal(ct_table_rows(t), 2);
    ct_table_free(t);
    o = (ct_csv_options){ .delimiter = '\t', .header = -1 };
    t = ct_csv_parse(dev, "1\t2\n\t\n", 6, &o);
    assert_non_null(t);
    assert_int_equal(ct_table_rows(t), 2);
    assert_true(isnan(ct_table_at(t, 1, 1)));
    ct_table_free(t);
    assert_null(ct_csv_parse(dev, "a\t2\n", 4, &o));
    assert_says(CT_EFORMAT, "csv:1: column 1 (\"c0\"): \"a\" is not a number");
    for (const char *bad = "1aZ.-+\"\n\r?"; *bad; bad++) {
        o.delimiter = *bad;
        assert_null(ct_csv_parse(dev, "1", 1, &o));
        assert_says(CT_EINVAL, "cannot be a delimiter");
    }
}

static void refusals(void **state)
{
    (void)state;
    refused("", "no rows");
    refused("\n \r\n", "no rows");
    refused("\xef\xbb\xbf", "no rows");
    refused("name,age\nx,1\n", "csv:2: column 1 (\"name\"): \"x\" is not a number");
    refused("id,age\n1,2\n\n3,abc\n", "csv:4: column 2 (\"age\"): \"abc\" is not a number");
    refused("a\n1e999\n", "csv:2: column 1 (\"a\"): \"1e999\" is too large for a double");
    refused("a,b\n1,2,3\n", "csv:2: 3 fields where line 1 has 2");
    refused("\na,b\n1,2\n3\n", "csv:4: 1 fields where line 2 has 2");
    refused("a,b\n1,2,\n", "csv:2: 3 fields where line 1 has 2");
    refused("a,b\n1,\"2\n3,4\n", "csv:2: a quote is opened here and never closed");
    refused("\"", "csv:1: a quote is opened");
    refused("a,b\n1,\"2\"x\n", "csv:2: text after a closing quote");
    refused("a,b\n\"1\"\"\",2\n", "\"1\"\" is not a number");
    refused("a;b\n1;2\n", "is the delimiter a semicolon?");
    refused("a\tb\n1\t2\n", "\"1?2\" is not a number: is the delimiter a tab?");
    refused("a,b\n1,\"x\ny\"\n", "csv:2: column 2 (\"b\"): \"x?y\" is not a number");
    refused("\"a\n\n\",b\n\n3,x", "csv:5: column 2 (\"b\")");
    refused("a\nthe quick brown fox jumps over the lazy dog again and again\n",
            "\"the quick brown fox jumps over the l...\" is not a number");
    static const char nul[] = "a,b\n1,\0\n";
    assert_null(ct_csv_parse(dev, nul, sizeof nul - 1, NULL));
    assert_says(CT_EFORMAT, "csv:2: a NUL byte");
    assert_null(ct_csv_parse(dev,
                             "\xff\xfe"
                             "1\0",
                             4, NULL));
    assert_says(CT_EFORMAT, "UTF-16");
    assert_null(ct_csv_parse(dev, NULL, 3, NULL));
    assert_says(CT_EINVAL, "NULL");
    assert_null(ct_csv_parse(NULL, "1", 1, NULL));
    assert_null(ct_csv_read(NULL, "x", NULL));
    assert_null(ct_csv_load(NULL, "x"));
    assert_null(ct_csv_read(dev, files_folder, NULL));
    assert_says(CT_EIO, "is a directory");
    const char *path = files_write("train.csv", "id,age\n1,2\n3,abc\n", 17);
    assert_null(ct_csv_load(dev, path));
    assert_says(CT_EFORMAT, "train.csv:3: column 2 (\"age\"): \"abc\" is not a number");
    ct_device *none = ct_device_open("nonsense");
    assert_null(ct_csv_parse(none, "1", 1, NULL));
    assert_null(ct_csv_load(none, path));
    ct_device_close(none);
}

static void tensors(void **state)
{
    (void)state;
    ct_table *t = parse("a,b,c\n1,2,3\n4,5,6\n");
    ct_tensor *x = assert_tensor(ct_table_tensor(t, CT_F64, NULL, 0), dev);
    assert_elements(x, 0, 0, 1, 2, 3, 4, 5, 6);
    ct_release(x);
    x = assert_tensor(ct_table_tensor(t, CT_F32, (const int64_t[]){ 2, 0, 2 }, 3), dev);
    assert_int_equal(ct_tensor_dtype(x), CT_F32);
    assert_elements(x, 0, 0, 3, 1, 3, 6, 4, 6);
    ct_release(x);
    x = assert_tensor(ct_table_tensor(t, CT_F64, (const int64_t[]){ 0 }, 0), dev);
    assert_true(ct_shape_equal(ct_tensor_shape(x), ct_shape2(2, 0)));
    ct_release(x);
    assert_null(ct_table_tensor(t, CT_I64, NULL, 0));
    assert_says(CT_EDTYPE, "f64 and f32");
    assert_null(ct_table_tensor(t, CT_F64, (const int64_t[]){ 3 }, 1));
    assert_says(CT_EINDEX, "column 3 of 3");
    assert_null(ct_table_tensor(t, CT_F64, (const int64_t[]){ -1 }, 1));
    assert_null(ct_table_tensor(t, CT_F64, (const int64_t[]){ 0 }, -1));
    assert_null(ct_table_tensor(NULL, CT_F64, NULL, 0));
    ct_table_free(t);

    x = assert_tensor(ct_csv_load(dev, files_write("header.csv", "a,b\n", 4)), dev);
    assert_true(ct_shape_equal(ct_tensor_shape(x), ct_shape2(0, 2)));
    ct_release(x);

    ct_device *other = ct_device_open("cpu"); /* the table keeps its device */
    t = ct_csv_parse(other, "1,2", 3, NULL);
    ct_device_close(other);
    x = ct_table_tensor(t, CT_F64, NULL, 0);
    ct_table_free(t);
    assert_elements(x, 0, 0, 1, 2);
    ct_release(x);
}

static void assert_file(const char *path, const char *wanted)
{
    size_t bytes;
    char *got = files_read(path, &bytes);
    assert_non_null(got);
    assert_string_equal(got, wanted);
    free(got);
}

static void saves(void **state)
{
    (void)state;
    const char *path = files_path("out.csv");
    ct_tensor *x = tensor2(dev, 2, 3, 1, -0.5, NAN, INFINITY, 1e300, -0.0), *xt = ct_tensor_transpose(x);
    assert_ok(ct_csv_save(x, NULL, path), ct_message(dev));
    assert_file(path, "1,-0.5,nan\ninf,1.0000000000000001e+300,-0\n");
    assert_ok(ct_csv_save(xt, (const char *[]){ "a,b", " \"q\"" }, path), ct_message(dev));
    assert_file(path, "\"a,b\",\" \"\"q\"\"\"\n1,inf\n-0.5,1.0000000000000001e+300\nnan,-0\n");
    ct_table *t = ct_csv_read(dev, path, NULL);
    assert_int_equal(ct_table_find(t, "a,b"), 0);
    ct_table_free(t);
    ct_tensor *v = tensor1(dev, 2, 1, 2), *s = tensor0(dev, 1), *b = tensor3(dev, 1, 1, 1, 1),
              *none = ct_empty(dev, CT_F64, ct_shape2(0, 2)), *thin = ct_empty(dev, CT_F64, ct_shape2(2, 0)),
              *i = ct_tensor_cast(v, CT_I64), *f = ct_full(dev, CT_F32, ct_shape1(1), 0.1);
    assert_ok(ct_csv_save(v, (const char *[]){ "y" }, path), ct_message(dev));
    assert_file(path, "y\n1\n2\n");
    assert_ok(ct_csv_save(i, NULL, path), ct_message(dev));
    assert_file(path, "1\n2\n");
    assert_ok(ct_csv_save(f, NULL, path), ct_message(dev));
    assert_file(path, "0.100000001\n");
    assert_ok(ct_csv_save(none, (const char *[]){ "y", "z" }, path), ct_message(dev));
    assert_file(path, "y,z\n");
    assert_status(ct_csv_save(s, NULL, path), CT_ESHAPE, "");
    assert_status(ct_csv_save(b, NULL, path), CT_ESHAPE, "");
    assert_status(ct_csv_save(thin, NULL, path), CT_ESHAPE, "");
    assert_says(CT_ESHAPE, "not 2x0");
    assert_status(ct_csv_save(v, (const char *[]){ NULL }, path), CT_EINVAL, "");
    assert_status(ct_csv_save(NULL, NULL, path), CT_EINVAL, "");
    assert_status(ct_csv_save(v, NULL, NULL), CT_EINVAL, "");
    assert_status(ct_csv_save(v, NULL, files_folder), CT_EIO, "");
    assert_file(path, "y,z\n");
    ct_tensor *all[] = { x, xt, v, s, b, none, thin, i, f };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) ct_release(all[k]);
}

static void same_bits(void **state)
{
    (void)state;
    const char *path = files_path("bits.csv");
    for (int dtype = CT_F64; dtype <= CT_F32; dtype++) {
        ct_tensor *x = assert_tensor(ct_rand_normal(dev, (ct_dtype)dtype, ct_shape2(5000, 7), 1, 2), dev);
        assert_ok(ct_csv_save(x, NULL, path), ct_message(dev));
        ct_table *t = ct_csv_read(dev, path, NULL);
        ct_tensor *y = assert_tensor(ct_table_tensor(t, (ct_dtype)dtype, NULL, 0), dev);
        size_t bytes = 5000 * 7 * ct_dtype_size((ct_dtype)dtype);
        assert_memory_equal(ct_tensor_data(x), ct_tensor_data(y), bytes);
        ct_table_free(t);
        ct_release(x);
        ct_release(y);
    }
}

/* One line of a million fields, one field of a million bytes, a million lines. */
static void huge(void **state)
{
    (void)state;
    size_t n = 1000000;
    char *text = malloc(2 * n + 2);
    for (size_t i = 0; i < n; i++) memcpy(text + 2 * i, "1,", 2);
    ct_table *t = ct_csv_parse(dev, text, 2 * n, NULL);
    assert_non_null(t);
    assert_int_equal(ct_table_cols(t), n + 1);
    assert_int_equal(ct_table_rows(t), 1);
    assert_true(isnan(ct_table_at(t, 0, (int64_t)n)));
    ct_table_free(t);
    memset(text, '0', n);
    text[n] = '7';
    t = ct_csv_parse(dev, text, n + 1, NULL);
    assert_true(ct_table_at(t, 0, 0) == 7);
    ct_table_free(t);
    text[n] = 'x';
    assert_null(ct_csv_parse(dev, text, n + 1, &(ct_csv_options){ .header = -1 }));
    assert_says(CT_EFORMAT, "...\" is not a number");
    for (size_t i = 0; i < n; i++) memcpy(text + 2 * i, "5\n", 2);
    t = ct_csv_parse(dev, text, 2 * n, NULL);
    assert_int_equal(ct_table_rows(t), n);
    assert_int_equal(ct_table_line(t, (int64_t)n - 1), n);
    ct_table_free(t);
    free(text);
}

static void no_memory(void **state)
{
    (void)state;
    const char *text = "\"a \"\"b\"\"\",c\n1,2.123456789012345678\n",
               *path = files_write("m.csv", text, strlen(text)), *out = files_path("mem.csv");
    ct_tensor *x = tensor2(dev, 2, 2, 1, 2, 3, 4), *xt = ct_tensor_transpose(x);
    bool refused_one = true;
    for (int64_t k = 1; refused_one; k++) {
        assert_true(k < 200);
        ct_memory_trim(dev);
        alloc_fail_at(k);
        ct_tensor *y = ct_csv_load(dev, path);
        ct_status s = y ? CT_OK : ct_last_status(dev), saved = ct_csv_save(xt, NULL, out);
        refused_one = alloc_refused();
        ct_release(y);
        alloc_unwatch();
        if ((s || saved) && !(refused_one && (s == CT_ENOMEM || saved == CT_ENOMEM)))
            fail_msg("allocation %d: read %s, saved %s, %s", (int)k, ct_status_name(s), ct_status_name(saved),
                     ct_message(dev));
    }
    ct_release(x);
    ct_release(xt);

    ct_device *own = ct_device_open("cpu"); /* nothing stays behind */
    alloc_watch();
    ct_device *fresh = ct_device_open("cpu");
    ct_release(ct_csv_load(fresh, path));
    ct_csv_load(fresh, "absent");
    ct_csv_parse(fresh, "a,b\n1,\"\"\"\"\n", 11, NULL);
    ct_device_close(fresh);
    assert_int_equal(alloc_live(), 0);
    alloc_unwatch();
    ct_device_close(own);
}

/* Columns that are not asked for may hold text. */
static void only_some(void **state)
{
    (void)state;
    const char *text = "site,x,y\nnorth,1,2\nsouth,3,oops\n";
    const char *const xy[] = { "x", "y" };
    ct_csv_options o = { .only = xy, .n_only = 1 };
    ct_table *t = ct_csv_parse(dev, text, strlen(text), &o);
    assert_non_null(t);
    assert_int_equal(ct_table_rows(t), 2);
    assert_true(isnan(ct_table_at(t, 0, 0)) && isnan(ct_table_at(t, 1, 2)));
    assert_true(ct_table_at(t, 1, 1) == 3);
    ct_table_free(t);
    o.n_only = 2;
    assert_null(ct_csv_parse(dev, text, strlen(text), &o));
    assert_says(CT_EFORMAT, "\"oops\" is not a number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),     cmocka_unit_test(one_column), cmocka_unit_test(names),
        cmocka_unit_test(options),   cmocka_unit_test(refusals),   cmocka_unit_test(tensors),
        cmocka_unit_test(saves),     cmocka_unit_test(same_bits),  cmocka_unit_test(huge),
        cmocka_unit_test(no_memory), cmocka_unit_test(only_some),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
