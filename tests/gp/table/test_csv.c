/* CSV: what is accepted, what is refused and where, and that what is written reads back bit for bit. */
#include "alloc.h"
#include "files.h"

#include <cotangent/gp/csv.h>
#include <cotangent/step.h>

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
    refused("a,b\n1,2,\n", "csv:2: 3 fields where line 1 has 2: remove the separator at the end of the line");
    refused("a,b\n1,\"2\n3,4\n", "csv:2: a quote is opened here and never closed");
    refused("\"", "csv:1: a quote is opened");
    refused("a,b\n1,\"2\"x\n", "csv:2: text after a closing quote");
    refused("a,b\n\"1\"\"\",2\n", "\"1\"\" is not a number");
    refused("x\n1\n2;2\n", "csv:3: column 1 (\"x\"): \"2;2\" is not a number: is the separator a semicolon?");
    refused("x\n1\n2\t2\n", "\"2?2\" is not a number: is the separator a tab?");
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

/* The notes of a table, each followed by a newline. */
static void check_notes(const char *text, const char *wanted)
{
    char got[2048] = "";
    ct_table *t = parse(text);
    if (!t) fail_msg("\"%s\": %s", text, ct_message(dev));
    for (int i = 0; ct_table_note(t, i); i++) {
        strcat(got, ct_table_note(t, i));
        strcat(got, "\n");
    }
    assert_null(ct_table_note(t, -1));
    assert_string_equal(got, wanted);
    ct_table_free(t);
}

/* Semicolons, tabs and blanks are found where commas make no table. */
static void separators(void **state)
{
    (void)state;
    CHECK_TABLE("a;b\n1;2\n", 1, 2, 1, 2);
    CHECK_TABLE("1;2\n3;4\n", 2, 2, 1, 2, 3, 4);
    CHECK_TABLE("a\tb c\n1\t2\n\t4\n", 2, 2, 1, 2, NAN, 4);
    CHECK_TABLE(" a   b\n 1\t 2 \n10   20\n", 2, 2, 1, 2, 10, 20);
    CHECK_TABLE("\"x y\" b\n1 \"2\"\n", 1, 2, 1, 2);
    CHECK_TABLE("a;b\n\"1\";?\n", 1, 2, 1, NAN);
    CHECK_TABLE("a;b\n", 0, 2, 0);
    check_notes("a;b\n1;2\n", "fields are separated by semicolons\n");
    check_notes("a\tb\n1\t2\n", "fields are separated by tabs\n");
    check_notes("a b\n1 2\n", "fields are separated by blanks\n");
    check_notes("a,b\n1,2\n", "");
    /* these stay what they are: one column, and commas */
    CHECK_TABLE("body height; cm\n1\n2\n", 2, 1, 1, 2);
    CHECK_TABLE("body height\n1\n2\n", 2, 1, 1, 2);
    CHECK_TABLE("a;b,c\n1,2\n", 1, 2, 1, 2);
    CHECK_TABLE("a b,c d\n1,2\n", 1, 2, 1, 2);
    /* a ragged row of a table that is surely separated by semicolons */
    refused("a;b\n1;2\n3;4\n5\n", "csv:4: 1 fields where line 1 has 2");
    refused("a;b\n1;2\n3;4;\n", "remove the separator at the end");
    /* without a header: 3 columns either way */
    refused("a;1,5;2,5\nb;2,5;3,5\n",
            "csv:1: a comma or a semicolon may separate the fields: state the separator");
    const char *text = "site;x;y\nA, B;1;2\nC, D;3;4\n";
    const char *const xy[] = { "x", "y" };
    ct_csv_options o = { .only = xy, .n_only = 2 };
    ct_table *t = ct_csv_parse(dev, text, strlen(text), &o);
    assert_non_null(t);
    assert_true(ct_table_at(t, 1, 2) == 4);
    ct_table_free(t);
    o = (ct_csv_options){ .delimiter = ' ' };
    t = ct_csv_parse(dev, "1  2 \n", 6, &o);
    assert_non_null(t);
    assert_int_equal(ct_table_cols(t), 2);
    assert_null(ct_table_note(t, 0));
    ct_table_free(t);
    assert_null(ct_csv_parse(dev, "1 \"2\"3\n", 7, &o));
    assert_says(CT_EFORMAT, "text after a closing quote");
}

static void decimals(void **state)
{
    (void)state;
    CHECK_TABLE("x;y\n0,5;-1,25e1\n1;2\n", 2, 2, 0.5, -12.5, 1, 2);
    CHECK_TABLE("x\ty\n0.5\t1,000\n", 1, 2, 0.5, 1000);
    CHECK_TABLE("x;y\n0,5;1.000\n7;1.234.567,5\n", 2, 2, 0.5, 1000, 7, 1234567.5);
    CHECK_TABLE("x;y\n1.000;2\n", 1, 2, 1, 2);
    CHECK_TABLE("0,5 1\n2,5 3\n", 2, 2, 0.5, 1, 2.5, 3);
    CHECK_TABLE("0,1;0,2\n0,3;0,4\n", 2, 2, 0.1, 0.2, 0.3, 0.4);
    check_notes("x;y\n0,5;1.000\n", "fields are separated by semicolons, and decimals by a comma\n"
                                    "column 'y' has points for thousands: 1.000 is read as 1000\n");
    refused("x;y\n1,000;2\n", "csv:2: \"1,000\" may have a decimal comma, or one for thousands: state the");
    refused("x;y\n0,5;2\n1;0.5\n",
            "csv:2: \"0,5\" has a decimal comma, and \"0.5\" in line 3 a point: state");
    refused("x;y\n0.5;2\n1;1,23,4\n", "csv:3: column 2 (\"y\"): \"1,23,4\" is not a number");
    refused("x,y\n1,\"0,5\"\n", "\"0,5\" is not a number: is the decimal sign a comma?");
    ct_csv_options o = { .decimal = ',' };
    const char *comma = "x,y\n1,\"0,5\"\n", *either = "x;y\n1,250;2\n";
    ct_table *t = ct_csv_parse(dev, comma, strlen(comma), &o);
    assert_non_null(t);
    assert_true(ct_table_at(t, 0, 1) == 0.5);
    ct_table_free(t);
    for (int k = 0; k < 2; k++) {
        o.decimal = k ? '.' : ',';
        t = ct_csv_parse(dev, either, strlen(either), &o);
        assert_non_null(t);
        assert_true(ct_table_at(t, 0, 0) == (k ? 1250 : 1.25));
        ct_table_free(t);
    }
    o.decimal = ';';
    assert_null(ct_csv_parse(dev, "1", 1, &o));
    assert_says(CT_EINVAL, "cannot be a decimal sign");
}

/* Percentages and groups of thousands, where a column is written so. */
static void forms(void **state)
{
    (void)state;
    CHECK_TABLE("x,y\n1,50.5%\n2,\n3,7 %\n", 3, 2, 1, 50.5, 2, NAN, 3, 7);
    CHECK_TABLE("x,y\n1,\"1,000\"\n2,900\n3,\"-1,234,567.25\"\n", 3, 2, 1, 1000, 2, 900, 3, -1234567.25);
    CHECK_TABLE("x,y\n1,#N/A\nn/a,2\n", 2, 2, 1, NAN, NAN, 2);
    CHECK_TABLE("50%,1\n51%,2\n", 2, 2, 50, 1, 51, 2);
    CHECK_TABLE("5%,50%\n1,2\n", 1, 2, 1, 2); /* names of quantiles */
    check_notes("x,y\n1,50%\n", "column 'y' is in percent: 50% is read as 50\n");
    check_notes("x,y\n50%,5%\n", "column 'x' and 1 more: each is in percent: 50% is read as 50\n");
    check_notes("x,y\n1,\"1,000\"\n", "column 'y' has commas for thousands: 1,000 is read as 1000\n");
    refused("x,y\n1,50%\n2,3\n", "csv:3: column 2 (\"y\"): \"3\" is not written as those above");
    refused("x,y\n1,50\n2,3%\n", "csv:3: column 2 (\"y\"): \"3%\" is not written as those above");
    refused("x,y\n1,\"1,00\"\n", "\"1,00\" is not a number");
    refused("x,y\n1,\"0,000,1\"\n", "is not a number");
    refused("x,y\n1,\"1,000,\"\n", "is not a number");
    refused("x,y\n1,%\n", "\"%\" is not a number");
    refused("x,y\n1,NA%\n", "\"NA%\" is not a number");
    refused("x,y\n1,1e999%\n", "too large");
    refused("x,y\n1,1,000\n", "csv:2: 3 fields where line 1 has 2");
}

/* Numbers as people and programs write them. */
static void unusual_numbers(void **state)
{
    (void)state;
    CHECK_TABLE("x;y\n1 234 567,5;0,5\n12\u00a0345;1\n-1\u202f000;2\n", 3, 2, 1234567.5, 0.5, 12345, 1, -1000,
                2);
    CHECK_TABLE("x,y\n1'234.5,1_000\n1\u2019000,2\n", 2, 2, 1234.5, 1000, 1000, 2);
    CHECK_TABLE("x,y\n\"12,34,567\",1.5D+03\n\"1,00,000\",-2d-1\n", 2, 2, 1234567, 1500, 100000, -0.2);
    CHECK_TABLE("x,y\n\u22121.5,=\"2\"\n3,\"=\"\"4\"\"\"\n", 2, 2, -1.5, 2, 3, 4);
    CHECK_TABLE("x,y\n$1.50,5 kg\n-$2,6kg\n$ 3,\n", 3, 2, 1.5, 5, -2, 6, 3, NAN);
    CHECK_TABLE("x;y\n1.000,50 €;20 °C\n2 €;-1,5 °C\n", 2, 2, 1000.5, 20, 2, -1.5);
    CHECK_TABLE("x,y\n.,-\nNone,#DIV/0!\n1,#VALUE!\n", 3, 2, NAN, NAN, NAN, NAN, 1, NAN);
    CHECK_TABLE("2020 sales,2021 sales\n1,2\n", 1, 2, 1, 2); /* names */
    check_notes("x,y\n1 kg,$2\n", "column 'x' is in kg\ncolumn 'y' is in $\n");
    refused("x,y\n1 kg,1\n2 lb,2\n", "csv:3: column 1 (\"x\"): \"2 lb\" is not written as those above");
    refused("x,y\n1 kg,1\n2,2\n", "csv:3: column 1 (\"x\"): \"2\" is not written as those above");
    static const char *const none[] = { "1 00",
                                        "1 0000",
                                        "1'00'000",
                                        "1 000'000",
                                        "0 123",
                                        "5 m2",
                                        "A1",
                                        "$5 kg",
                                        "--5",
                                        "$",
                                        "kg",
                                        "NA kg",
                                        "1 kg of something long" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        char text[64];
        snprintf(text, sizeof text, "x,y\n%s,1\n", none[i]);
        refused(text, "is not a number");
    }
}

/* What Excel writes before a table, and files that are no tables. */
static void preambles(void **state)
{
    (void)state;
    CHECK_TABLE("sep=;\r\nx;y\r\n0,5;1\r\n", 1, 2, 0.5, 1);
    CHECK_TABLE("\xef\xbb\xbfsep=|\nx|y\n1|2\n", 1, 2, 1, 2);
    refused("PK\3\4etc", "csv: a workbook, or another archive: export it as CSV");
    refused("\x1f\x8b etc", "csv: a compressed file: unpack it with gunzip");
}

static void comments(void **state)
{
    (void)state;
    CHECK_TABLE("# made by, tool\n# v1\nx,y\n1,2\n# end, \"of\n\n3,4\n#", 2, 2, 1, 2, 3, 4);
    CHECK_TABLE("# don't \"worry\n# v1\nx\n1\n\n# here\n3\n\n# end\n", 3, 1, 1, NAN, 3);
    CHECK_TABLE("# a\n#x;y\n0,5;2\n", 1, 2, 0.5, 2);
    CHECK_TABLE("# only\n1,2\n", 1, 2, 1, 2);
    /* lines of as many fields, as before: a header, and a row */
    ct_table *t = parse("#x,y\n1,2\n");
    assert_non_null(t);
    assert_string_equal(ct_table_name(t, 0), "#x");
    assert_int_equal(ct_table_rows(t), 1);
    ct_table_free(t);
    refused("id,x\n#1,2\n", "csv:2: column 1 (\"id\"): \"#1\" is not a number");
    const char *text = "id,x\n#1,2\n#2,3\n";
    t = ct_csv_parse(dev, text, strlen(text),
                     &(ct_csv_options){ .only = (const char *[]){ "x" }, .n_only = 1 });
    assert_non_null(t);
    assert_int_equal(ct_table_rows(t), 2);
    assert_int_equal(ct_table_line(t, 1), 3);
    ct_table_free(t);
    t = parse("# nothing else\n");
    assert_int_equal(ct_table_rows(t), 0);
    ct_table_free(t);
}

/* A first row of numbers is a row, as ever; where it looks like names a note says so. */
static void headers(void **state)
{
    (void)state;
    const char *note =
        "line 1 may be a header of numbers, and is read as a row: state the header, yes or no\n";
    check_notes("0,1,2\n0.5,1.5,2\n", note);
    check_notes("1990,2000,2010\n0.5,1.5,2\n", note);
    check_notes("\"7\",\"3\"\n1,2\n", note);
    check_notes("0,1,2\n3,4,5\n", "");
    check_notes("1,5\n0.5,2\n", "");
    check_notes("1,2.5\n0.5,2\n", "");
    check_notes("\"7\",\"3\"\n\"1\",\"2\"\n", "");
    check_notes("0,1,2\n", "");
    CHECK_TABLE("0,1,2\n0.5,1.5,2\n", 2, 3, 0, 1, 2, 0.5, 1.5, 2);
    ct_table *t = ct_csv_parse(dev, "0,1\n.5,2", 9, &(ct_csv_options){ .header = -1 });
    assert_null(ct_table_note(t, 0));
    ct_table_free(t);
    assert_null(ct_table_note(NULL, 0));

    static const struct {
        const char *text;
        bool counts;
    } cases[] = {
        { ",x\n0,5\n1,5\n2,5\n", true }, { ",x\n1,5\n2,5\n", true },  { "id,x\n0,5\n1,5\n", false },
        { ",x\n0,5\n2,5\n", false },     { ",x\n2,5\n3,5\n", false }, { ",x\n0,5\n", false },
        { "0,5\n1,5\n", false },         { ",x\n0,5\n,5\n", false },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        t = parse(cases[k].text);
        assert_int_equal(ct_table_counts_rows(t, 0), cases[k].counts);
        assert_false(ct_table_counts_rows(t, 1));
        assert_false(ct_table_counts_rows(t, 2));
        ct_table_free(t);
    }
    assert_false(ct_table_counts_rows(NULL, 0));
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
    assert_says(CT_EINDEX, "there is no column 3, use 0 to 2");
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

/* Names as they may be in a header; the empty one becomes that of its place. */
static void names_come_back(void **state)
{
    (void)state;
    static const char *const hostile[] = { "a ",    " a",   "\ta",           "a\t",      "#a",
                                           "a,b",   "a;b",  "a\tb",          "a\nb",     "a\rb",
                                           "\"a\"", "a\"b", "\357\273\277a", "\xff\xfe", "\xfe\xff" };
    const char *path = files_path("names.csv");
    ct_tensor *x = tensor2(dev, 2, 2, 1, 2, 3, 4);
    for (size_t k = 0; k < sizeof hostile / sizeof *hostile; k++)
        for (int at = 0; at < 2; at++) {
            assert_false(ct_csv_is_plain(hostile[k]));
            assert_ok(ct_csv_save(x, (const char *[]){ at ? "y" : hostile[k], at ? hostile[k] : "y" }, path),
                      ct_message(dev));
            ct_table *t = ct_csv_read(dev, path, NULL);
            assert_non_null(t);
            assert_string_equal(ct_table_name(t, at), hostile[k]);
            assert_false(ct_table_unnamed(t, at));
            ct_table_free(t);
        }
    assert_ok(ct_csv_save(x, (const char *[]){ "", "y" }, path), ct_message(dev));
    ct_table *t = ct_csv_read(dev, path, NULL);
    assert_true(ct_table_unnamed(t, 0));
    assert_false(ct_table_unnamed(t, 1));
    assert_false(ct_table_unnamed(t, 2));
    assert_false(ct_table_unnamed(NULL, 0));
    assert_string_equal(ct_table_name(t, 0), "c0");
    ct_table_free(t);
    ct_release(x);
    assert_true(ct_csv_is_plain("a b\xe4.5 (m/s)"));
    assert_false(ct_csv_is_plain(""));
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

static ct_status save_in_step(ct_tape *tape, void *x)
{
    (void)tape;
    return ct_csv_save(x, NULL, files_path("step.csv"));
}

/* A step may not wait for the device; no file is left. */
static void not_in_a_step(void **state)
{
    (void)state;
    ct_tensor *x = tensor1(dev, 2, 1, 2);
    assert_null(ct_step_capture(dev, save_in_step, x));
    assert_says(CT_EUNSUPPORTED, "ct_read waits for the device");
    assert_null(ct_csv_load(dev, files_path("step.csv")));
    assert_says(CT_EIO, "no such file");
    ct_release(x);
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

/* Fields as they are written. */
static void texts(void **state)
{
    (void)state;
    const char *const written[] = { "id", "", "a,\"b\"", " x ", "NA", "1e2", "two\nlines", "" };
    const char *text = "name ,y\nid,\n\"a,\"\"b\"\"\",\" x \"\n#remark\nNA,  1e2 \n\"two\nlines\",\n";
    const char *const y[] = { "none" };
    const ct_csv_options o = { .texts = true, .only = y, .n_only = 1 };
    ct_table *t = ct_csv_parse(dev, text, strlen(text), &o);
    assert_non_null(t);
    assert_int_equal(ct_table_rows(t), 4);
    for (int i = 0; i < 8; i++) assert_string_equal(ct_table_text(t, i / 2, i % 2), written[i]);
    assert_null(ct_table_text(t, 4, 0));
    assert_null(ct_table_text(t, 0, 2));
    assert_null(ct_table_text(t, -1, 0));
    ct_table_free(t);
    t = ct_csv_parse(dev, "y\n1\n\n2\n\n", 8, &(ct_csv_options){ .texts = true });
    assert_int_equal(ct_table_rows(t), 3);
    assert_string_equal(ct_table_text(t, 1, 0), "");
    assert_string_equal(ct_table_text(t, 2, 0), "2");
    ct_table_free(t);
    t = parse("1,2\n");
    assert_null(ct_table_text(t, 0, 0));
    ct_table_free(t);
    assert_null(ct_table_text(NULL, 0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),           cmocka_unit_test(one_column),    cmocka_unit_test(names),
        cmocka_unit_test(options),         cmocka_unit_test(refusals),      cmocka_unit_test(tensors),
        cmocka_unit_test(saves),           cmocka_unit_test(same_bits),     cmocka_unit_test(huge),
        cmocka_unit_test(no_memory),       cmocka_unit_test(not_in_a_step), cmocka_unit_test(only_some),
        cmocka_unit_test(separators),      cmocka_unit_test(decimals),      cmocka_unit_test(forms),
        cmocka_unit_test(unusual_numbers), cmocka_unit_test(preambles),     cmocka_unit_test(comments),
        cmocka_unit_test(headers),         cmocka_unit_test(texts),         cmocka_unit_test(names_come_back),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
