/* The header of NumPy's .npy: "\x93NUMPY", version, length of the dict, the dict (descr, fortran_order and
 * shape, padded with spaces to a multiple of 64 bytes); the elements follow. */
#ifndef CT_TENSOR_NPY_HEADER_H
#define CT_TENSOR_NPY_HEADER_H

#include <cotangent/io.h>
#include <cotangent/view.h>

typedef struct ct__npy_header {
    ct_device *device;
    ct_file_reader *file;
    char label[CT_SHOWN_PATH];   /* its path, for messages */
    const char *text, *at, *end; /* of the dict, while it is read         */
    int64_t start;               /* of the dict in the file               */
    char kind;                   /* of an element: f, i, u, b as in descr */
    int width;                   /* its bytes in the file                 */
    bool big_endian, fortran;
    ct_dtype dtype; /* of the tensor */
    ct_shape shape;
} ct__npy_header;

static inline bool ct__little_endian(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 1;
}

/* Reads the header of h->file, and checks that its elements, and nothing else, follow. */
ct_status ct__npy_read_header(ct__npy_header *h);
/* The header for v's elements in row-major order and this machine's byte order. Returns its size. */
size_t ct__npy_write_header(const ct_view *v, char *text, size_t size);

#endif
