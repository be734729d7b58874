/* Tables of numbers, read from CSV (RFC 4180: quoted fields, doubled quotes, CRLF; a UTF-8 byte-order mark is
 * skipped, and a line "sep=;" obeyed). The first row is a header if any of its fields is not a number. Empty
 * fields, NA, N/A, NaN, null, None, ?, - and ., and Excel's errors, as #N/A, are missing and become NaN. Any
 * other field that is not a number is CT_EFORMAT, with line and column.
 *
 * Separator: a comma, a semicolon, a tab, or blanks. With 0 it is detected from the first 100 rows: it must
 * give rows of equal length, preferably without text below the first row, else with the most numbers. The
 * comma is tried first. If two separators fit equally well, it is CT_EFORMAT.
 *
 * Decimal sign: with 0 it is the point in a table separated by commas. In others it is detected: 0.5 and
 * 1,234.5 prove a point, 0,5 and 1.234,5 a comma. A table with proofs of both is CT_EFORMAT, and so is one
 * with numbers such as 1,234 and no proof. In numbers such as 1.234 the sign is a decimal point unless a
 * comma is proven.
 *
 * The other of the two signs may group digits by three: 1,000 is 1000 if the decimal sign is the point. In a
 * table separated by commas such a number must be quoted. Blanks, apostrophes and underscores may group them,
 * too, and commas in India's way: 12,34,567. 1.5D+03 is 1500, and ="1" is 1. 50% is read as 50, and $1.50,
 * 1.5 EUR and 5 kg as numbers whose unit a note names; in a column every number has the same, or none has.
 *
 * With `kinds` a column may hold text or dates (ct_table_column). Its kind is that of more than half of its
 * present cells: numbers (with a unit, of nine tenths); times; else text. A cell of another kind among
 * numbers or times is CT_EFORMAT.
 *
 * Times are in ISO 8601's form, or in another one of ct_time_form that reads the most cells of the column; a
 * note says in which. If day and month could be exchanged in each cell, and their order is not given, it is
 * CT_EFORMAT. A column in which each number is a date as 20240131 is a time, too.
 *
 * A column of text is a category: its levels are the different texts, sorted by bytes, and its values their
 * indices. Several spellings are one level: 1, 01 and 1.0; Yes and YES; true and True. The first one read is
 * its name. A missing cell has no level and is NaN.
 *
 * A line that begins with # is a comment, with two exceptions. In a table of several columns, a line with as
 * many fields as a row is a row. A line above the first row, with as many fields, is the header if that row
 * holds a number. */
#ifndef COTANGENT_GP_CSV_H
#define COTANGENT_GP_CSV_H

#include <cotangent/gp/column.h>
#include <cotangent/tensor.h>

CT_BEGIN_DECLS

typedef struct ct_table ct_table;

/* Zero-initialise, then set what you need. */
typedef struct ct_csv_options {
    char delimiter; /* 0: detect it; ' ': runs of blanks and tabs    */
    int header;     /* 0: detect; 1: there is one; -1: there is none */
    /* If not NULL, only these columns must hold numbers; text in the others is read as missing. */
    const char *const *only;
    int64_t n_only;
    const char *label; /* what ct_csv_parse's messages call the text; NULL: "csv" */
    char decimal;      /* '.' or ','; 0: detect it */
    bool kinds;        /* read columns of text as categories, and of dates as times */
    /* How times are written in columns that do not show it: CT_TIME_DAY_FIRST or CT_TIME_MONTH_FIRST. With
     * CT_TIME_EXCEL, numbers that `columns` calls times are days since 1899-12-30. */
    ct_time_form dates;
    /* How the columns with these names are read, whatever `kinds` says. If a category's levels are given, a
     * cell with another one is CT_EFORMAT, or -1 with `unseen`; if they are NULL, they are taken from the
     * text. Two levels that are spellings of one are CT_EINVAL. A time's form decides where its cells do
     * not. A time may also be a number: if not a date as 20240131, then seconds since 1970 or, if any in the
     * column is above 1e11 (the year 5138), milliseconds. */
    const ct_column *columns;
    int64_t n_columns;
    bool unseen;
    /* Keeps rows with missing cells. In a category such a cell is of the level "missing". A column of numbers
     * that lacks any becomes CT_COLUMN_FILLED with the mean of the others. Columns that `columns` names stay
     * as it says, where a level "missing" stands for missing cells, too. Behind the columns of the text there
     * is one of CT_COLUMN_ABSENT for each of CT_COLUMN_FILLED, with the name "b (missing)" for b. */
    bool keep_missing;
    bool texts; /* keep the text of every field, for ct_table_text */
} ct_csv_options;

CT_API ct_table *ct_csv_read(ct_device *device, const char *path, const ct_csv_options *options);
CT_API ct_table *ct_csv_parse(ct_device *device, const char *text, size_t bytes,
                              const ct_csv_options *options);
CT_API void ct_table_free(ct_table *table);
CT_API int64_t ct_table_rows(const ct_table *table);
CT_API int64_t ct_table_cols(const ct_table *table);
/* The column's name: the header's, or "c0", "c1", ... Owned by the table; NULL if there is no such column. */
CT_API const char *ct_table_name(const ct_table *table, int64_t col);
/* Whether there is a header, which leaves the column without a name. */
CT_API bool ct_table_unnamed(const ct_table *table, int64_t col);
/* The index of the column of that name; -1 if there is none. */
CT_API int64_t ct_table_find(const ct_table *table, const char *name);
/* The meaning of the column's numbers. Owned by the table; NULL if there is no such column. */
CT_API const ct_column *ct_table_column(const ct_table *table, int64_t col);
/* Whether the column is a category that identifies rows, as an id does: it has 20 cells or more, and more
 * levels than half as many. */
CT_API bool ct_table_names_rows(const ct_table *table, int64_t col);
/* Whether the header leaves the column without a name and its values are 0, 1, 2, ... or 1, 2, 3, ..., as
 * when a program has numbered its rows. False for a table of one row. */
CT_API bool ct_table_counts_rows(const ct_table *table, int64_t col);
/* Note i on how the text was read, one line without the file's name: an unusual separator or decimal sign,
 * columns in percent or with groups of thousands, a first row of numbers that may be a header. NULL if there
 * are no more notes. Owned by the table. */
CT_API const char *ct_table_note(const ct_table *table, int i);
/* One element (NaN if missing); the line of the file, counted from 1, where a row begins. */
CT_API double ct_table_at(const ct_table *table, int64_t row, int64_t col);
CT_API int64_t ct_table_line(const ct_table *table, int64_t row);
/* The field as it is written, without blanks and quotes around it. Owned by the table; NULL out of range, and
 * for a table that was read without options.texts. */
CT_API const char *ct_table_text(const ct_table *table, int64_t row, int64_t col);
/* The columns cols[0..n) as an f64 or f32 tensor (rows, n), a new reference; cols = NULL takes all
 * columns. */
CT_API ct_tensor *ct_table_tensor(const ct_table *table, ct_dtype dtype, const int64_t *cols, int64_t n);

/* The complete file as an f64 tensor (rows, cols), a new reference. */
CT_API ct_tensor *ct_csv_load(ct_device *device, const char *path);

/* Writes a matrix, or a vector as one column, with a header of `names` (NULL: none), atomically. 17 digits
 * for f64, and 9 for f32, bf16 and f16, so that reading gives the same bits. */
CT_API ct_status ct_csv_save(const ct_tensor *t, const char *const *names, const char *path);

/* Whether a field that holds this text without quotes is read back as the text, wherever it stands in a table
 * separated by commas. Blanks at an end, a separator, a quote or the sign of a remark need quotes. */
CT_API bool ct_csv_is_plain(const char *text);

CT_END_DECLS
#endif
