/* Reads and writes tensors: .npy and CSV files, and DLPack for other libraries in the same process.
 *
 * Writing is atomic: the data goes to a temporary file beside `path`, which then replaces the file. So the
 * file at `path` is always the old one or the new one, never a part. The new one has the permissions of the
 * old one, without setuid and setgid. A symbolic link stays a link. A full disk, RLIMIT_FSIZE and a pipe
 * without a reader are CT_EIO: no signal reaches the application. */
#ifndef COTANGENT_IO_H
#define COTANGENT_IO_H

#include <cotangent/gp/column.h>
#include <cotangent/tensor.h>

CT_BEGIN_DECLS

/* -- NumPy's .npy ---------------------------------------------------------------------------------------- */

/* Reads a .npy file (format 1.0, 2.0 or 3.0; little- or big-endian; C or Fortran order). f8 -> f64, f4 ->
 * f32, f2 -> f16, i8 -> i64; narrower integers and bool become i64. NULL with CT_EIO, or with CT_EFORMAT and
 * the place in the message. */
CT_API ct_tensor *ct_npy_load(ct_device *device, const char *path);

/* Writes format 1.0 in C order, atomically. NumPy has no bf16, so that is CT_EDTYPE: a cast to f32 is
 * exact. */
CT_API ct_status ct_npy_save(const ct_tensor *t, const char *path);

/* -- CSV ------------------------------------------------------------------------------------------------- */

/* A table of numbers read from CSV (RFC 4180: quoted fields, doubled quotes, CRLF; a UTF-8 byte-order mark is
 * skipped). The first row is a header if any of its fields is not a number. Empty fields, NA, N/A, #N/A, NaN,
 * null and ? are missing values and become NaN. Any other field that is not a number is CT_EFORMAT, with line
 * and column.
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
 * table separated by commas such a number must be quoted. 50% is read as 50; in a column every number has a %
 * or none has.
 *
 * With `kinds` a column may hold text or dates (ct_table_column). Its kind is that of more than half of its
 * present cells: numbers; times, as ct_time_read reads them; else text. A cell of another kind among numbers
 * or times is CT_EFORMAT. Dates of another form, such as 01.02.2024, are text; a note says so.
 *
 * A column of text is a category: its levels are the different texts, sorted by bytes, and its values their
 * indices. Several spellings are one level: 1, 01 and 1.0; Yes and YES; true and True. The first one read is
 * its name. A missing cell has no level and is NaN.
 *
 * A line that begins with # is a comment, with two exceptions. In a table of several columns, a line with as
 * many fields as a row is a row. A line above the first row, with as many fields, is the header if that row
 * holds a number. */
typedef struct ct_table ct_table;

typedef struct ct_csv_options {
    char delimiter; /* 0: detect it; ' ': runs of blanks and tabs    */
    int header;     /* 0: detect; 1: there is one; -1: there is none */
    /* If not NULL, only these columns must hold numbers; text in the others is read as missing. */
    const char *const *only;
    int64_t n_only;
    const char *label; /* what ct_csv_parse's messages call the text; NULL: "csv" */
    char decimal;      /* '.' or ','; 0: detect it */
    bool kinds;        /* read columns of text as categories, and of dates as times */
    /* How the columns with these names are read, whatever `kinds` says. If a category's levels are given, a
     * cell with another one is CT_EFORMAT, or -1 with `unseen`; if they are NULL, they are taken from the
     * text. Two levels that are spellings of one are CT_EINVAL. A time may also be a number: seconds since
     * 1970 or, if any in the column is above 1e11 (the year 5138), milliseconds. */
    const ct_column *columns;
    int64_t n_columns;
    bool unseen;
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

/* -- numbers as text ------------------------------------------------------------------------------------- */
/* Decimal numbers, converted exactly, with a decimal point in every locale. */

typedef enum ct_number {
    CT_NUMBER = 0,
    CT_NUMBER_MISSING,   /* empty, NA, N/A, #N/A, NaN, null or ? */
    CT_NUMBER_NONE,      /* anything else                        */
    CT_NUMBER_TOO_LARGE, /* more than the largest double         */
} ct_number;

/* Reads all of text[0..size):
 *     [sign] (digits [. digits*] | . digits) [(e|E) [sign] digits]
 * rounded to the nearest double, or inf or infinity with an optional sign. Words may be in any case. *value
 * is infinite for CT_NUMBER_TOO_LARGE, and NaN for CT_NUMBER_MISSING and CT_NUMBER_NONE. */
CT_API ct_number ct_number_read(const char *text, size_t size, double *value);

enum { CT_NUMBER_TEXT = 32 };
/* Writes value with `digits` significant digits and a NUL, or "nan", "inf" or "-inf". 17 digits suffice for a
 * double, 9 for a float; 0: the fewest digits, but at least 15, that read back as the same double. Returns
 * the length. */
CT_API size_t ct_number_write(double value, int digits, char text[CT_NUMBER_TEXT]);

/* -- times as text --------------------------------------------------------------------------------------- */
/* In days since 1970-01-01T00:00:00Z, by the proleptic Gregorian calendar without leap seconds [ISO 8601]. */

typedef enum ct_time {
    CT_TIME = 0,
    CT_TIME_NONE,       /* not a time                                          */
    CT_TIME_IMPOSSIBLE, /* written like one, as 2023-02-29 or 2024-01-01T25:00 */
} ct_time;

/* Reads all of text[0..size):
 *     YYYY-MM [ -DD [ (T| ) HH:MM [ :SS [ (.|,) digits ] ] [ Z | (+|-)HH[[:]MM] ] ] ]
 * Without a day, it is the first of the month; without a zone, UTC. A year with a sign has six digits. *days
 * is NaN unless the result is CT_TIME. */
CT_API ct_time ct_time_read(const char *text, size_t size, double *days);

enum { CT_TIME_TEXT = 48 };
/* Writes 2024-01-31, 2024-01-31T12:30:00Z or 2024-01-31T12:30:00.250Z, rounded to milliseconds, and a NUL.
 * All times with the same milliseconds are read back as the same double. A time that is not finite, or a
 * million years away, is written as a number. Returns the length. */
CT_API size_t ct_time_write(double days, char text[CT_TIME_TEXT]);

/* -- bytes ----------------------------------------------------------------------------------------------- */

/* Writes data[0..bytes) to a file, atomically. Removes temporary files that killed programs have left beside
 * it. CT_EIO leaves the old file, unless the message says "it is written": then the new one is there, and
 * only its folder could not be synced to the disk. */
CT_API ct_status ct_bytes_save(ct_device *device, const char *path, const void *data, size_t bytes);

/* A complete file in host memory. */
typedef struct ct_bytes {
    void *data;
    size_t size;
    size_t capacity; /* as allocated, for ct_bytes_free */
} ct_bytes;

/* Reads a file. CT_EIO; CT_EFORMAT if the file is empty; CT_EINVAL for NULL. Free the memory with
 * ct_bytes_free, which leaves *bytes empty. */
CT_API ct_status ct_bytes_load(ct_device *device, const char *path, ct_bytes *bytes);
CT_API void ct_bytes_free(ct_device *device, ct_bytes *bytes);

/* A file that is read piece by piece, from its beginning on. */
typedef struct ct_file_reader ct_file_reader;

/* NULL: CT_EIO, CT_ENOMEM, CT_EFORMAT if the file is empty, or CT_EINVAL for a NULL path. A file that is not
 * a regular one is read into memory here. Close it before the device. */
CT_API ct_file_reader *ct_file_reader_open(ct_device *device, const char *path);
CT_API uint64_t ct_file_reader_size(const ct_file_reader *file); /* of the whole file */
/* Reads the next `bytes` bytes. CT_EIO, also if there are fewer. */
CT_API ct_status ct_file_reader_read(ct_file_reader *file, void *data, size_t bytes);
CT_API void ct_file_reader_close(ct_file_reader *file); /* NULL is allowed */

/* A file that is written piece by piece and replaces the one at `path` when it is complete. Until then, and
 * after any failure but that of ct_bytes_save to sync the folder, the old file stays. */
typedef struct ct_file_writer ct_file_writer;

/* NULL: CT_EIO, CT_ENOMEM, or CT_EINVAL for a NULL path. End it before the device is closed. */
CT_API ct_file_writer *ct_file_writer_open(ct_device *device, const char *path);
/* The first failure, CT_EIO with a message, is kept. */
CT_API ct_status ct_file_writer_write(ct_file_writer *file, const void *data, size_t bytes);
/* Completes the file if `s` is CT_OK; otherwise discards it. Frees `file` (NULL is allowed). Returns the
 * first failure, else s. */
CT_API ct_status ct_file_writer_end(ct_file_writer *file, ct_status s);

/* A file that grows. Appended bytes stay even if the program is killed. */
typedef struct ct_append_file ct_append_file;

/* Opens an existing file to append after its first `keep` bytes, and removes the rest. NULL: CT_EIO, or
 * CT_ENOMEM. Close it before the device. */
CT_API ct_append_file *ct_append_open(ct_device *device, const char *path, uint64_t keep);
/* Hands the bytes to the system and, at most once a second, waits until the disk has all bytes so far: a
 * power failure may lose those of the last second. The first failure, CT_EIO with a message, is kept. The
 * bytes being appended may then be in the file in part. */
CT_API ct_status ct_append_bytes(ct_append_file *file, const void *data, size_t bytes);
CT_API void ct_append_close(ct_append_file *file); /* NULL is allowed */

/* -- one writer at a time --
 *
 * If several programs read a file, change what they read and save it, the last one wins and the work of the
 * others is lost. With a lock each program waits for its turn and works on what the previous one has saved:
 *
 *     ct_file_lock *lock = ct_file_lock_take(device, "m.ctgp");
 *     ct_gp *gp = ct_gp_load(device, "m.ctgp");
 *     ... ct_gp_append(gp, X, y, NULL) ... ct_gp_save(gp, "m.ctgp") ...
 *     ct_file_lock_give(lock);
 *
 * A program that takes no lock does not wait. Therefore, while a device holds a file, saving to it from this
 * device also checks that the file is the one that was locked, or the last one that this device saved there.
 * If another program has changed it since, saving is CT_EIO and the file stays as the other program left it.
 * On a file system without locks this check is the only protection, and two programs that save at the same
 * moment can miss each other. */

typedef struct ct_file_lock ct_file_lock;

/* Waits until no other device, in this process or another, holds the file at `path`, then holds it. The file
 * must exist. The lock ends with ct_file_lock_give or with the process; a child of fork shares it. The lock
 * keeps the device open. NULL: CT_EIO, CT_ENOMEM, or CT_EINVAL if this device holds the file already. */
CT_API ct_file_lock *ct_file_lock_take(ct_device *device, const char *path);
/* NULL is allowed. */
CT_API void ct_file_lock_give(ct_file_lock *lock);

/* -- DLPack ---------------------------------------------------------------------------------------------- */

/* On a GPU a tensor is handed over while work on it is still queued. No host thread waits if one side's
 * stream (a cudaStream_t of any GPU; NULL is the default stream of the device's GPU) waits for the other's.
 * On a CPU there is nothing to wait for.
 *
 * To take a tensor: ct_device_wait_stream(device, theirs), then ct_from_dlpack; or pass
 * ct_device_stream(device) to their __dlpack__.
 *
 * To hand one out: ct_to_dlpack, then ct_stream_wait_device(theirs, device).
 *
 * To get it back: ct_device_wait_stream(device, theirs), before its deleter is called. */

/* The stream that the device's work is queued in; NULL on a CPU. Valid while the device is open. */
CT_API void *ct_device_stream(ct_device *device);
/* The device's later work waits for the work that `stream` holds now. */
CT_API ct_status ct_device_wait_stream(ct_device *device, void *stream);
/* The later work of `stream` waits for the work that the device has queued now. */
CT_API ct_status ct_stream_wait_device(void *stream, ct_device *device);

/* The structs of dlpack.h. Include that header to use their members. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* Hands a view of t to another library, which calls the struct's deleter when it is done. t may be released
 * before that. The device must not be closed while the other library still computes. NULL with ct_message on
 * failure. */
CT_API struct DLManagedTensor *ct_to_dlpack(ct_tensor *t);
CT_API struct DLManagedTensorVersioned *ct_to_dlpack_versioned(ct_tensor *t);

/* Takes a tensor over without a copy. On success its deleter is called when the last view is gone; on failure
 * (NULL with ct_message) the struct stays the caller's. f64, f32, bf16, f16 or i64; strides of 0 or more;
 * memory of this device. */
CT_API ct_tensor *ct_from_dlpack(ct_device *device, struct DLManagedTensor *managed);
CT_API ct_tensor *ct_from_dlpack_versioned(ct_device *device, struct DLManagedTensorVersioned *managed);

CT_END_DECLS
#endif
