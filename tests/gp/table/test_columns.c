/* Columns of CSV text that are no numbers: categories and times. */
#include "alloc.h"
#include "files.h"

#include <cotangent/gp/csv.h>

static ct_table *parse(const char *text, const ct_csv_options *options)
{
    return ct_csv_parse(dev, text, strlen(text), options);
}

static ct_table *parsed(const char *text, const ct_csv_options *options)
{
    ct_table *t = parse(text, options ? options : &(ct_csv_options){ .kinds = true });
    if (!t) fail_msg("\"%s\": %s", text, ct_message(dev));
    return t;
}

/* The levels of column `col` are these, and its values; frees the table. */
static void check_levels(ct_table *t, int64_t col, const char *levels, int64_t rows, const double *values)
{
    const ct_column *c = ct_table_column(t, col);
    char text[256] = "";
    assert_int_equal(c->kind, CT_COLUMN_CATEGORY);
    assert_string_equal(c->name, ct_table_name(t, col));
    for (int64_t i = 0; i < c->n_levels; i++) {
        if (i) strcat(text, "|");
        strcat(text, c->levels[i]);
    }
    assert_string_equal(text, levels);
    assert_int_equal(ct_table_rows(t), rows);
    for (int64_t i = 0; i < rows; i++) assert_close(ct_table_at(t, i, col), values[i], 0, 0);
    ct_table_free(t);
}
#define CHECK_LEVELS(t, col, levels, ...)                                            \
    check_levels(t, col, levels, sizeof((double[]){ __VA_ARGS__ }) / sizeof(double), \
                 (const double[]){ __VA_ARGS__ })

static void refused(const char *text, const ct_csv_options *options, const char *message)
{
    assert_null(parse(text, options ? options : &(ct_csv_options){ .kinds = true }));
    assert_says(CT_EFORMAT, message);
}

static void numbers(void **state)
{
    (void)state;
    ct_table *t = parsed("x,y\n1,2\n,3\n", NULL);
    for (int j = 0; j < 2; j++) {
        const ct_column *c = ct_table_column(t, j);
        assert_int_equal(c->kind, CT_COLUMN_NUMBER);
        assert_string_equal(c->name, j ? "y" : "x");
        assert_null(c->levels);
        assert_int_equal(c->n_levels, 0);
        assert_false(ct_table_names_rows(t, j));
    }
    assert_null(ct_table_column(t, 2));
    assert_null(ct_table_column(t, -1));
    assert_null(ct_table_column(NULL, 0));
    ct_table_free(t);
    refused("s,y\nnorth,2\n", &(ct_csv_options){ 0 }, "\"north\" is not a number");
}

static void categories(void **state)
{
    (void)state;
    CHECK_LEVELS(parsed("y,s\n1,north\n2,south\n3,east\n4,north\n", NULL), 1, "east|north|south", 1, 2, 0, 1);
    CHECK_LEVELS(parsed("s,y\nb,1\n,2\nNA,3\na,4\n", NULL), 0, "a|b", 1, NAN, NAN, 0);
    CHECK_LEVELS(parsed("s\nb\n\n# a remark\na\n\n\nb\n", NULL), 0, "a|b", 1, NAN, 0, NAN, NAN, 1);
    CHECK_LEVELS(parsed("s,y\n\"two\nlines\",1\n\"a \"\"b\"\"\",2\n\" a \"\"b\"\" \",3\n", NULL), 0,
                 "a \"b\"|two\nlines", 1, 0, 0);
    CHECK_LEVELS(parsed("s y\nb 1\n  a   2\n", &(ct_csv_options){ .kinds = true, .delimiter = ' ' }), 0,
                 "a|b", 1, 0);
    CHECK_LEVELS(parsed("s,y\n1a,1\n2,2\nz,3\n", NULL), 0, "1a|2|z", 0, 1, 2);
    CHECK_LEVELS(parsed("s,y\n4WD,1\n2RD,2\n4WD,3\n", NULL), 0, "2RD|4WD", 1, 0, 1);
    CHECK_LEVELS(parsed("s,y\n1st,1\n2nd,2\n3rd,3\n3rd,3\n", NULL), 0, "1st|2nd|3rd", 0, 1, 2, 2);
    /* spellings of one level */
    CHECK_LEVELS(parsed("s,y\nFalse,1\nTRUE,2\nfalse,3\nTrue,4\n", NULL), 0, "False|TRUE", 0, 1, 0, 1);
    CHECK_LEVELS(parsed("s,y\nno,1\nYes,2\nNO,3\n", NULL), 0, "Yes|no", 1, 0, 1);
    /* a thousand levels */
    char text[8192] = "s,y\n", row[16];
    for (int i = 0; i < 1000; i++) strcat(text, (snprintf(row, sizeof row, "k%d,1\n", i * 7 % 1000), row));
    ct_table *t = parsed(text, NULL);
    assert_int_equal(ct_table_column(t, 0)->n_levels, 1000);
    for (int i = 0; i < 1000; i++) {
        snprintf(row, sizeof row, "k%d", i * 7 % 1000);
        assert_string_equal(ct_table_column(t, 0)->levels[(int)ct_table_at(t, i, 0)], row);
    }
    ct_table_free(t);
}

static void asked(void **state)
{
    (void)state;
    const char *const levels[] = { "south", "north", "1" };
    ct_column site = { .name = "s", .kind = CT_COLUMN_CATEGORY };
    ct_csv_options o = { .columns = &site, .n_columns = 1 };
    CHECK_LEVELS(parsed("s,y\n3,1\n1.0,2\n01,3\n-0,4\n0,5\n", &o), 0, "-0|1.0|3", 2, 1, 1, 0, 0);
    CHECK_LEVELS(parsed("s;y\n1,5;1\n2;2,5\n", &o), 0, "1.5|2", 0, 1);
    site.levels = levels, site.n_levels = 3;
    CHECK_LEVELS(parsed("s,y\nnorth,1\n,2\n1.0,3\n", &o), 0, "south|north|1", 1, NAN, 2);
    CHECK_LEVELS(parsed("s;y\n1,0;1\n", &o), 0, "south|north|1", 2);
    refused("s,y\nnorth,1\nwest,2\n", &o,
            "csv:3: column 1 (\"s\"): \"west\" is none of its levels: south, north, 1");
    o.unseen = true;
    CHECK_LEVELS(parsed("s,y\nnorth,1\nwest,2\n", &o), 0, "south|north|1", 1, -1);
    /* levels that a cell cannot tell apart */
    site.levels = (const char *const[]){ "no", "Yes", "YES" };
    assert_null(parse("s,y\nno,1\n", &o));
    assert_says(CT_EINVAL, "csv: column \"s\": its levels 1 and 2, \"Yes\" and \"YES\", are one");
    /* a column that is asked for as numbers must be */
    site = (ct_column){ .name = "s" };
    o = (ct_csv_options){ .kinds = true, .columns = &site, .n_columns = 1 };
    refused("s,y\nnorth,1\n", &o, "\"north\" is not a number");
    /* a column that is not wanted is missing */
    site.kind = CT_COLUMN_CATEGORY;
    o.only = (const char *const[]){ "y" }, o.n_only = 1;
    ct_table *t = parsed("s,y\nnorth,1\n", &o);
    assert_true(isnan(ct_table_at(t, 0, 0)));
    assert_int_equal(ct_table_column(t, 0)->kind, CT_COLUMN_NUMBER);
    ct_table_free(t);
}

/* Numbers in one unit are no texts, and most of a column decides. */
static void units(void **state)
{
    (void)state;
    ct_table *t = parsed("w,y\n5 kg,1\n,2\n6 kg,3\n", NULL);
    assert_int_equal(ct_table_column(t, 0)->kind, CT_COLUMN_NUMBER);
    assert_true(ct_table_at(t, 0, 0) == 5 && isnan(ct_table_at(t, 1, 0)) && ct_table_at(t, 2, 0) == 6);
    assert_string_equal(ct_table_note(t, 0), "column 'w' is in kg");
    ct_table_free(t);
    const char *nine = "w,y\n1 kg,1\n2 kg,2\n3 kg,3\n4 kg,4\n5 kg,5\n6 kg,6\n7 kg,7\n8 kg,8\n9 kg,9\n";
    static const char *const tenth[] = { "6 lb", "7", "heavy" };
    for (int i = 0; i < 3; i++) {
        char text[256], message[100];
        snprintf(text, sizeof text, "%s%s,10\n", nine, tenth[i]);
        snprintf(message, sizeof message, "csv:11: column 1 (\"w\"): \"%s\" is not a number, as most of",
                 tenth[i]);
        refused(text, NULL, message);
    }
    refused("w,y\n5,1\n6,2\n7 kg,3\n", NULL, "\"7 kg\" is not a number, as most of its column are");
}

static void check_times(ct_table *t, int64_t rows, const double *days, const char *note)
{
    assert_int_equal(ct_table_column(t, 0)->kind, CT_COLUMN_TIME);
    assert_null(ct_table_column(t, 0)->levels);
    for (int64_t i = 0; i < rows; i++) assert_close(ct_table_at(t, i, 0), days[i], 0, 1e-12);
    if (note)
        assert_string_equal(ct_table_note(t, 0), note);
    else
        assert_null(ct_table_note(t, 0));
    ct_table_free(t);
}
#define CHECK_TIMES(t, note, ...) \
    check_times(t, sizeof((double[]){ __VA_ARGS__ }) / sizeof(double), (const double[]){ __VA_ARGS__ }, note)

static void times(void **state)
{
    (void)state;
    CHECK_TIMES(parsed("t,y\n1970-01-02,1\n,2\n1969-12-31T12:00,3\n", NULL), NULL, 1, NAN, -0.5);
    CHECK_TIMES(parsed("t;y\n1970-01;1,5\n1970-02;2,5\n",
                       &(ct_csv_options){ .kinds = true, .delimiter = ';', .decimal = ',' }),
                NULL, 0, 31);
    refused("t,y\n1970-01-02,1\n1970-01-03,2\n1970-02-30,3\n", NULL,
            "csv:4: column 1 (\"t\"): \"1970-02-30\" is not in the calendar");
    refused("t,y\n1970-01-02,1\n1970-01-03,2\nlater,3\n", NULL, "\"later\" is not a date");
    refused("t,y\n1970-01-02,1\n1970-01-03,2\n3,3\n", NULL, "\"3\" is not a date");
    CHECK_LEVELS(parsed("t,y\n1970-01-02,1\nthen,2\nlater,3\n", NULL), 0, "1970-01-02|later|then", 0, 2, 1);

    const ct_column time = { .name = "t", .kind = CT_COLUMN_TIME };
    const ct_csv_options o = { .columns = &time, .n_columns = 1 };
    CHECK_TIMES(parsed("t,y\n86400,1\n-43200,2\n,3\n", &o), "column 't' is read as seconds since 1970", 1,
                -0.5, NAN);
    CHECK_TIMES(parsed("t,y\n1700000000000,1\n1700000060000,2\n", &o),
                "column 't' is read as milliseconds since 1970", 1700000000 / 86400.0, 1700000060 / 86400.0);
    CHECK_TIMES(parsed("t,y\n1970-01-02,1\n", &o), NULL, 1);
    refused("t,y\nsoon,1\n", &o, "\"soon\" is not a date");
    refused("t,y\n5,1\nsoon,1\n", &o, "\"5\" is not a date");
    refused("t,y\n5,1\n1e999,1\n", &o, "csv:3: column 1 (\"t\"): \"1e999\" is too large for a double");
    refused("t,y\n5,1\n\"1,5\",1\n", &o, "\"1,5\" is not a number: is the decimal sign a comma?");
}

static const ct_csv_options days_first = { .kinds = true, .dates = CT_TIME_DAY_FIRST },
                            months_first = { .kinds = true, .dates = CT_TIME_MONTH_FIRST };
#define DAY_FIRST   "column 't' is read as dates with the day before the month"
#define MONTH_FIRST "column 't' is read as dates with the month before the day"

static void other_dates(void **state)
{
    (void)state;
    const char *year = "column 't' is read as dates with the year first",
               *clock = "column 't' is read as times of day";
    CHECK_TIMES(parsed("t,y\n1970/1/2,1\n1970/2/1,2\n", NULL), year, 1, 31);
    CHECK_TIMES(parsed("t,y\n1970-W02,1\n1970-W02-3,2\n", NULL), year, 4, 6);
    CHECK_TIMES(parsed("t,y\n1970 Q1,1\n1970 Q2,2\n1971-Q1,3\n", NULL), year, 0, 90, 365);
    CHECK_TIMES(parsed("t,y\n02.01.1970,1\n1.2.1970 12:00,2\n,3\n", NULL), DAY_FIRST, 1, 31.5, NAN);
    CHECK_TIMES(parsed("t,y\n2/1/70,1\n13/1/70,2\n", NULL), DAY_FIRST, 1, 12);
    CHECK_TIMES(parsed("t,y\n1/2/1970 6:00 AM,1\n1/13/1970 12:00 pm,2\n", NULL), MONTH_FIRST, 1.25, 12.5);
    CHECK_TIMES(parsed("t,y\n2-Jan-1970,1\nFeb 1 1970,2\n", NULL), DAY_FIRST, 1, 31);
    CHECK_TIMES(parsed("t,y\n6:00,1\n18:30:00,2\n", NULL), clock, 0.25, 18.5 / 24);
    CHECK_TIMES(parsed("t,y\n19700102,1\n19700201,2\n", NULL), "column 't' is read as dates such as 20240131",
                1, 31);
    CHECK_TIMES(parsed("t,y\n1970-01-02,1\n01/02/1970,2\n2/1/1970,3\n", &days_first), DAY_FIRST, 1, 31, 1);
    refused("t,y\n02.01.1970,1\n1.2.1970,2\n31.2.1970,3\n", NULL, "\"31.2.1970\" is not in the calendar");
    CHECK_LEVELS(parsed("t,y\n1.2.3,1\n1.2.4,2\n", NULL), 0, "1.2.3|1.2.4", 0, 1);
    CHECK_LEVELS(parsed("t,y\n01.02/2024,1\n15.02/2024,2\n", NULL), 0, "01.02/2024|15.02/2024", 0, 1);
    CHECK_LEVELS(parsed("t,y\n01.02.2024,1\ntomorrow,2\n", NULL), 0, "01.02.2024|tomorrow", 0, 1);
    ct_table *t = parsed("t,y\n19700102,1\n19701301,2\n", NULL);
    assert_int_equal(ct_table_column(t, 0)->kind, CT_COLUMN_NUMBER);
    ct_table_free(t);
}

/* Where the day and the month may be exchanged, the caller or the model's column tells. */
static void the_order_of_dates(void **state)
{
    (void)state;
    const char *either = "t,y\n03/03/1970,1\n01/02/1970,2\n";
    refused(
        either, NULL,
        "csv:3: column \"t\": the day or the month may be first in \"01/02/1970\": state the order of dates");
    CHECK_TIMES(parsed(either, &days_first), DAY_FIRST, 61, 31);
    CHECK_TIMES(parsed(either, &months_first), MONTH_FIRST, 61, 1);
    ct_column column = { .name = "t", .kind = CT_COLUMN_TIME, .form = CT_TIME_MONTH_FIRST };
    const ct_csv_options model = { .columns = &column, .n_columns = 1, .dates = CT_TIME_DAY_FIRST };
    CHECK_TIMES(parsed(either, &model), MONTH_FIRST, 61, 1);
    CHECK_TIMES(parsed("t,y\n13/01/1970,1\n", &model), DAY_FIRST, 12); /* it tells itself */
    CHECK_TIMES(parsed("t,y\n1970-01-13,1\n", &model), NULL, 12);
    column.form = CT_TIME_EXCEL;
    CHECK_TIMES(parsed("t,y\n25570.5,1\n", &model), "column 't' is read as days since 1899-12-30", 1.5);
    CHECK_TIMES(parsed("t,y\n03.03.1970,1\n", NULL), DAY_FIRST, 61);
}

/* What is nearly a column of numbers is one with a mistake. */
static void mistakes(void **state)
{
    (void)state;
    refused("x,y\n1,1\n2,2\noops,3\n", NULL,
            "csv:4: column 1 (\"x\"): \"oops\" is not a number, as most of its column are: state what the "
            "column is");
    refused("x,y\n\"1,5\",1\n\"2,5\",2\n", NULL, "is the decimal sign a comma?");
    refused("x,y\n5%,1\n6,2\n", NULL, "is not written as those above");
    refused("s,y\na,1\nb,2,3\n", NULL, "3 fields where line 1 has 2");
}

/* x has the cells 1, NA, 3, 5; c lacks its second one. */
static void check_kept(ct_table *t, double filled)
{
    const double x[] = { 1, filled, 3, 5 }, level[] = { 0, 2, 1, 0 };
    assert_int_equal(ct_table_cols(t), 4);
    const ct_column *of = ct_table_column(t, 0), *absent = ct_table_column(t, 3);
    assert_int_equal(of->kind, CT_COLUMN_FILLED);
    assert_close(of->fill, filled, 0, 0);
    assert_int_equal(absent->kind, CT_COLUMN_ABSENT);
    assert_string_equal(absent->name, "x (missing)");
    assert_int_equal(ct_table_find(t, "x (missing)"), 3);
    assert_string_equal(ct_table_column(t, 1)->levels[2], "missing");
    ct_tensor *all = ct_table_tensor(t, CT_F64, NULL, 0);
    double v[16];
    assert_int_equal(ct_read(all, v, sizeof v), CT_OK);
    for (int i = 0; i < 4; i++) {
        assert_close(ct_table_at(t, i, 0), x[i], 0, 0);
        assert_close(ct_table_at(t, i, 1), level[i], 0, 0);
        assert_close(ct_table_at(t, i, 2), i + 6, 0, 0);
        assert_close(ct_table_at(t, i, 3), i == 1, 0, 0);
        for (int j = 0; j < 4; j++) assert_close(v[4 * i + j], ct_table_at(t, i, j), 0, 0);
    }
    assert_true(isnan(ct_table_at(t, 0, 4)));
    assert_null(ct_table_column(t, 4));
    assert_null(ct_table_text(t, 0, 3));
    ct_release(all);
    ct_table_free(t);
}

static const char gaps[] = "x,c,y\n1,a,6\nNA,,7\n3,b,8\n5,a,9\n";

static void missing_cells(void **state)
{
    (void)state;
    check_kept(parsed(gaps, &(ct_csv_options){ .kinds = true, .keep_missing = true }), 3);
    /* as a model asks for them, with a mean of its own and whatever the table lacks */
    const char *const levels[] = { "a", "b", "missing" };
    const ct_column model[] = { { .name = "x", .kind = CT_COLUMN_FILLED, .fill = 2.5 },
                                { .name = "c", .kind = CT_COLUMN_CATEGORY, .levels = levels, .n_levels = 3 },
                                { .name = "x (missing)", .kind = CT_COLUMN_ABSENT } };
    const ct_csv_options as_model = { .columns = model, .n_columns = 3 };
    check_kept(parsed(gaps, &as_model), 2.5);
    ct_table *whole = parsed("x,c,y\n4,a,6\n", &as_model);
    assert_close(ct_table_at(whole, 0, 3), 0, 0, 0);
    ct_table_free(whole);
    /* not asked: a missing cell is one, also beside a level of that name */
    CHECK_LEVELS(parsed("c,y\nmissing,1\n,2\nb,3\n", NULL), 0, "b|missing", 1, NAN, 0);
    /* only what is wanted; a column of nothing stays so */
    const char *const only[] = { "z", "y" };
    const ct_csv_options some = { .kinds = true, .keep_missing = true, .only = only, .n_only = 2 };
    ct_table *t = parsed("x,y,z\n,1,\n2,2,\n", &some);
    assert_int_equal(ct_table_cols(t), 3);
    assert_true(isnan(ct_table_at(t, 0, 0)) && isnan(ct_table_at(t, 0, 2)));
    ct_table_free(t);
}

static void names_rows(void **state)
{
    (void)state;
    for (int rows = 19; rows <= 40; rows += rows == 19 ? 1 : 20)
        for (int levels = rows / 2; levels <= rows / 2 + 1; levels++) {
            char text[1024] = "s,y\n", row[16];
            for (int i = 0; i < rows; i++)
                strcat(text, (snprintf(row, sizeof row, "k%d,1\n", i % levels), row));
            strcat(text, ",2\n");
            ct_table *t = parsed(text, NULL);
            assert_int_equal(ct_table_names_rows(t, 0), rows >= 20 && levels > rows / 2);
            assert_false(ct_table_names_rows(t, 2));
            ct_table_free(t);
        }
}

static void no_memory(void **state)
{
    (void)state;
    char text[1024] = "s,t,y\n", row[40];
    for (int i = 0; i < 40; i++)
        strcat(text, (snprintf(row, sizeof row, "key%d,20%02d-01,%s\n", i % 30, i, i ? "1" : ""), row));
    const ct_csv_options o = { .kinds = true, .texts = true, .keep_missing = true };
    bool refused_one = true;
    for (int64_t k = 1; refused_one; k++) {
        ct_memory_trim(dev);
        alloc_fail_at(k);
        ct_table *t = parse(text, &o);
        refused_one = alloc_refused();
        alloc_unwatch();
        assert_true(t ? !refused_one : refused_one && ct_last_status(dev) == CT_ENOMEM);
        ct_table_free(t);
    }
    alloc_watch();
    ct_device *fresh = ct_device_open("cpu");
    ct_table_free(ct_csv_parse(fresh, text, strlen(text), &o));
    ct_csv_parse(fresh, "t,y\n1970-01-02,1\n1970-01-03,2\nlater,3\n", 40, &o);
    ct_csv_parse(fresh, "s,u,y\na,1,1\nb,2,1\nc,x,1\n", 26, &o);
    ct_device_close(fresh);
    assert_int_equal(alloc_live(), 0);
    alloc_unwatch();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(categories),
        cmocka_unit_test(asked),
        cmocka_unit_test(units),
        cmocka_unit_test(times),
        cmocka_unit_test(other_dates),
        cmocka_unit_test(the_order_of_dates),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(missing_cells),
        cmocka_unit_test(names_rows),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
