/* Matrices to CSV text, with digits enough for the same bits on reading. */
#include <cotangent/io.h>

#include "file.h"
#include "tensor/internal.h"

#include <stdio.h>
#include <string.h>

/* Quoted where the name holds what CSV gives a meaning to, or what reading would trim. */
static ct_status write_name(ct__output *out, const char *name)
{
    size_t n = strlen(name);
    bool plain = n > 0 && !strpbrk(name, ",\"\r\n") && !strchr(" \t", name[0]) && !strchr(" \t", name[n - 1]);
    if (plain) return ct__file_write(out, name, n);
    ct_status s = ct__file_write(out, "\"", 1);
    for (; *name && !s; name++) {
        s = ct__file_write(out, name, 1);
        if (*name == '"' && !s) s = ct__file_write(out, name, 1);
    }
    return s ? s : ct__file_write(out, "\"", 1);
}

static ct_status write_header(ct__output *out, const char *const *names, int64_t cols)
{
    ct_status s = CT_OK;
    for (int64_t j = 0; j < cols && !s; j++) {
        s = write_name(out, names[j]);
        if (!s) s = ct__file_write(out, j + 1 < cols ? "," : "\n", 1);
    }
    return s;
}

static size_t format(char text[CT_NUMBER_TEXT], ct_dtype dtype, const char *element)
{
    if (dtype == CT_I64) {
        int64_t i;
        memcpy(&i, element, sizeof i);
        return (size_t)snprintf(text, CT_NUMBER_TEXT, "%lld", (long long)i);
    }
    if (dtype == CT_F32) {
        float f;
        memcpy(&f, element, sizeof f);
        return ct_number_write(f, 9, text);
    }
    double d;
    memcpy(&d, element, sizeof d);
    return ct_number_write(d, 17, text);
}

/* The contiguous (rows, cols) tensor t through `chunk`, which holds `elements` of it. */
static ct_status write_rows(ct__output *out, const ct_tensor *t, int64_t cols, char *chunk, int64_t elements)
{
    size_t size = ct_dtype_size(t->view.dtype);
    int64_t count = ct_tensor_count(t);
    ct_status s = CT_OK;
    for (int64_t start = 0; start < count && !s; start += elements) {
        int64_t n = count - start < elements ? count - start : elements;
        s = out->device->backend->download(
            out->device, chunk, (const char *)t->view.data + (size_t)start * size, (size_t)n * size);
        for (int64_t i = 0; i < n && !s; i++) {
            char text[CT_NUMBER_TEXT + 1];
            size_t length = format(text, t->view.dtype, chunk + (size_t)i * size);
            text[length++] = (start + i + 1) % cols ? ',' : '\n';
            s = ct__file_write(out, text, length);
        }
    }
    return s;
}

static ct_status write_matrix(ct__output *out, const ct_tensor *t, int64_t cols, const char *const *names)
{
    enum { ELEMENTS = 8192 };
    ct_device *device = out->device;
    size_t bytes = ELEMENTS * ct_dtype_size(t->view.dtype);
    char *chunk = ct__host_alloc(device, bytes);
    ct_status s = chunk ? CT_OK : CT_ENOMEM;
    if (!s && names) s = write_header(out, names, cols);
    if (!s) s = write_rows(out, t, cols, chunk, ELEMENTS);
    ct__host_free(device, chunk, bytes);
    return s;
}

ct_status ct_csv_save(const ct_tensor *t, const char *const *names, const char *path)
{
    if (!t) return CT_EINVAL;
    ct_device *device = ct_tensor_device(t);
    if (!ct__may_wait(device, "ct_csv_save")) return device->last_status;
    int ndim = ct_tensor_ndim(t);
    int64_t cols = ndim == 1 ? 1 : ct_tensor_dim(t, 1);
    if (ndim < 1 || ndim > 2 || cols == 0) {
        char shape[96];
        return ct__fail(device, CT_ESHAPE, "CSV holds a vector or a matrix of at least one column, not %s",
                        ct__shape_text(ct_tensor_shape(t), shape, sizeof shape));
    }
    for (int64_t j = 0; names && j < cols; j++)
        if (!names[j])
            return ct__fail(device, CT_EINVAL, "CSV: the name of column %lld is NULL", (long long)j);
    ct_tensor *copy = NULL;
    bool half = ct__is_half(t->view.dtype);
    if ((half || !ct_tensor_is_contiguous(t)) && !(copy = ct_tensor_cast(t, half ? CT_F32 : t->view.dtype)))
        return ct_last_status(device);
    ct__output out;
    ct_status s = ct__file_begin(&out, device, path);
    if (!s) {
        s = write_matrix(&out, copy ? copy : t, cols, names);
        if (s)
            ct__file_abort(&out);
        else
            s = ct__file_commit(&out);
    }
    ct_release(copy);
    return s;
}
