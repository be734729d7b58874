/* The binary layout of DLPack: the unversioned struct of its first releases and the versioned one of 1.x. The
 * names are our own, so that the library needs no dlpack.h and a program may include any version of it. */
#ifndef CT_TENSOR_DLPACK_H
#define CT_TENSOR_DLPACK_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum { CT__DL_CPU = 1, CT__DL_CUDA = 2 };                                      /* device_type */
enum { CT__DL_INT = 0, CT__DL_UINT = 1, CT__DL_FLOAT = 2, CT__DL_BFLOAT = 4 }; /* code */
enum { CT__DL_MAJOR = 1, CT__DL_MINOR = 1 }; /* the version written; any 1.x is read */
#define CT__DL_READ_ONLY UINT64_C(1)         /* flags */

typedef struct ct__dl_tensor {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides: in elements; NULL: row-major without gaps */
    uint64_t byte_offset;
} ct__dl_tensor;

typedef struct ct__dl_managed {
    ct__dl_tensor tensor;
    void *context;
    void (*deleter)(struct ct__dl_managed *self); /* may be NULL */
} ct__dl_managed;

typedef struct ct__dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct ct__dl_versioned *self); /* may be NULL */
    uint64_t flags;
    ct__dl_tensor tensor;
} ct__dl_versioned;

#if UINTPTR_MAX == UINT64_MAX
static_assert(sizeof(ct__dl_tensor) == 48 && offsetof(ct__dl_tensor, device_type) == 8 &&
                  offsetof(ct__dl_tensor, ndim) == 16 && offsetof(ct__dl_tensor, code) == 20 &&
                  offsetof(ct__dl_tensor, lanes) == 22 && offsetof(ct__dl_tensor, shape) == 24 &&
                  offsetof(ct__dl_tensor, strides) == 32 && offsetof(ct__dl_tensor, byte_offset) == 40,
              "DLTensor");
static_assert(sizeof(ct__dl_managed) == 64 && offsetof(ct__dl_managed, context) == 48 &&
                  offsetof(ct__dl_managed, deleter) == 56,
              "DLManagedTensor");
static_assert(sizeof(ct__dl_versioned) == 80 && offsetof(ct__dl_versioned, context) == 8 &&
                  offsetof(ct__dl_versioned, deleter) == 16 && offsetof(ct__dl_versioned, flags) == 24 &&
                  offsetof(ct__dl_versioned, tensor) == 32,
              "DLManagedTensorVersioned");
#endif

#endif
