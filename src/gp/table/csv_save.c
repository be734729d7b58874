/* Writes matrices as CSV text, with enough digits to read back the same bits. */
#include <cotangent/gp/csv.h>
#include <cotangent/gp/number.h>
#include <cotangent/io.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gp/data/numbers.h"

/* A first byte of EF, FE or FF may be taken for a byte order mark. */
bool ct_csv_is_plain(const char *text)
{
    const size_t n = strlen(text);
    return n && !strpbrk(text, ",;\t\"\r\n") && !strchr(" #\xef\xfe\xff", text[0]) && text[n - 1] != ' ';
}

static ct_status write_name(ct_file_writer *out, const char *name)
{
    if (ct_csv_is_plain(name)) return ct_file_writer_write(out, name, strlen(name));
    ct_status s = ct_file_writer_write(out, "\"", 1);
    for (; *name && !s; name++) {
        s = ct_file_writer_write(out, name, 1);
        if (*name == '"' && !s) s = ct_file_writer_write(out, name, 1);
    }
    return s ? s : ct_file_writer_write(out, "\"", 1);
}

static ct_status write_header(ct_file_writer *out, const char *const *name, int64_t cols)
{
    ct_status s = CT_OK;
    for (int64_t j = 0; name && j < cols && !s; j++) {
        s = write_name(out, name[j]);
        if (!s) s = ct_file_writer_write(out, j + 1 < cols ? "," : "\n", 1);
    }
    return s;
}

/* Element i of i64 numbers, or of others as doubles. */
static size_t format(char text[CT_NUMBER_TEXT], ct_dtype dtype, const void *element, int64_t i)
{
    if (dtype == CT_I64)
        return (size_t)snprintf(text, CT_NUMBER_TEXT, "%lld", (long long)((const int64_t *)element)[i]);
    return ct_number_write(((const double *)element)[i], dtype == CT_F64 ? 17 : 9, text);
}

/* Writes these rows; `element` has room for them. */
static ct_status write_rows(ct_file_writer *out, const ct_tensor *rows, int64_t cols, void *element)
{
    if (!rows) return CT_ENOMEM;
    const ct_dtype dtype = ct_tensor_dtype(rows);
    const int64_t n = ct_tensor_count(rows);
    ct_status s =
        dtype == CT_I64 ? ct_read(rows, element, (size_t)n * sizeof(int64_t)) : ct__gp_read(rows, element);
    for (int64_t i = 0; i < n && !s; i++) {
        char text[CT_NUMBER_TEXT + 1];
        size_t length = format(text, dtype, element, i);
        text[length++] = (i + 1) % cols ? ',' : '\n';
        s = ct_file_writer_write(out, text, length);
    }
    return s;
}

/* Some rows at a time. */
static ct_status write_elements(ct_file_writer *out, const ct_tensor *t, int64_t cols)
{
    enum { ELEMENTS = 1 << 15 };
    const int64_t rows = ct_tensor_dim(t, 0), block = cols < ELEMENTS ? ELEMENTS / cols : 1;
    double *element = ct__gp_alloc(ct_tensor_device(t), (uint64_t)(block * cols), sizeof *element);
    ct_status s = element ? CT_OK : CT_ENOMEM;
    for (int64_t at = 0; at < rows && !s; at += block) {
        ct_tensor *some = ct_tensor_slice(t, 0, at, at + block < rows ? at + block : rows, 1);
        s = write_rows(out, some, cols, element);
        ct_release(some);
    }
    free(element);
    return s;
}

ct_status ct_csv_save(const ct_tensor *t, const char *const *names, const char *path)
{
    if (!t) return CT_EINVAL;
    ct_device *device = ct_tensor_device(t);
    const int ndim = ct_tensor_ndim(t);
    if (ndim < 1 || ndim > 2)
        return ct_device_fail(device, CT_ESHAPE, "CSV holds a vector or a matrix, not %d dimensions", ndim);
    const int64_t cols = ndim == 1 ? 1 : ct_tensor_dim(t, 1);
    if (cols == 0)
        return ct_device_fail(device, CT_ESHAPE, "CSV holds at least one column, not %lldx0",
                              (long long)ct_tensor_dim(t, 0));
    for (int64_t j = 0; names && j < cols; j++)
        if (!names[j])
            return ct_device_fail(device, CT_EINVAL, "CSV: the name of column %lld is NULL", (long long)j);
    ct_file_writer *out = ct_file_writer_open(device, path);
    if (!out) return ct_last_status(device);
    ct_status s = write_header(out, names, cols);
    return ct_file_writer_end(out, s ? s : write_elements(out, t, cols));
}
