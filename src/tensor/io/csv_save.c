/* Writes matrices as CSV text, with enough digits to read back the same bits. */
#include <cotangent/io.h>

#include "file.h"
#include "tensor/internal.h"

#include <stdio.h>
#include <string.h>

static int64_t columns(const ct_tensor *t) { return ct_tensor_ndim(t) == 1 ? 1 : ct_tensor_dim(t, 1); }

/* A first byte of EF, FE or FF may be taken for a byte order mark. */
bool ct_csv_is_plain(const char *text)
{
    const size_t n = strlen(text);
    return n && !strpbrk(text, ",;\t\"\r\n") && !strchr(" #\xef\xfe\xff", text[0]) && text[n - 1] != ' ';
}

static ct_status write_name(ct__output *out, const char *name)
{
    if (ct_csv_is_plain(name)) return ct__file_write(out, name, strlen(name));
    ct_status s = ct__file_write(out, "\"", 1);
    for (; *name && !s; name++) {
        s = ct__file_write(out, name, 1);
        if (*name == '"' && !s) s = ct__file_write(out, name, 1);
    }
    return s ? s : ct__file_write(out, "\"", 1);
}

static ct_status write_header(ct__output *out, const ct_tensor *t, const void *names)
{
    const char *const *name = names;
    const int64_t cols = columns(t);
    ct_status s = CT_OK;
    for (int64_t j = 0; name && j < cols && !s; j++) {
        s = write_name(out, name[j]);
        if (!s) s = ct__file_write(out, j + 1 < cols ? "," : "\n", 1);
    }
    return s;
}

static size_t format(char text[CT_NUMBER_TEXT], ct_dtype dtype, const char *element)
{
    int64_t i;
    if (dtype != CT_I64)
        return ct_number_write(ct__as_number(dtype, element), dtype == CT_F32 ? 9 : 17, text);
    memcpy(&i, element, sizeof i);
    return (size_t)snprintf(text, CT_NUMBER_TEXT, "%lld", (long long)i);
}

static ct_status write_elements(ct__output *out, const ct_tensor *t, const char *data, int64_t at, int64_t n)
{
    const int64_t cols = columns(t);
    const size_t size = ct__size(t->view.dtype);
    ct_status s = CT_OK;
    for (int64_t i = 0; i < n && !s; i++) {
        char text[CT_NUMBER_TEXT + 1];
        size_t length = format(text, t->view.dtype, data + (size_t)i * size);
        text[length++] = (at + i + 1) % cols ? ',' : '\n';
        s = ct__file_write(out, text, length);
    }
    return s;
}

ct_status ct_csv_save(const ct_tensor *t, const char *const *names, const char *path)
{
    if (!t) return CT_EINVAL;
    ct_device *device = ct_tensor_device(t);
    if (!ct__may_wait(device, "ct_csv_save")) return device->last_status;
    const int ndim = ct_tensor_ndim(t);
    const int64_t cols = columns(t);
    if (ndim < 1 || ndim > 2 || cols == 0) {
        char shape[96];
        return ct__fail(device, CT_ESHAPE, "CSV holds a vector or a matrix of at least one column, not %s",
                        ct__shape_text(ct_tensor_shape(t), shape, sizeof shape));
    }
    for (int64_t j = 0; names && j < cols; j++)
        if (!names[j])
            return ct__fail(device, CT_EINVAL, "CSV: the name of column %lld is NULL", (long long)j);
    return ct__file_save(t, ct__is_half(t->view.dtype) ? CT_F32 : t->view.dtype, path,
                         &(ct__format){ write_header, write_elements, names });
}
