/* Tensors: n-dimensional, row-major, strided views of a reference-counted storage on a device.
 *
 * The last two dimensions are the matrix; the dimensions before them are the batch. A view shares the storage
 * of the tensor it was made from. A tensor's shape never changes. A function that returns a ct_tensor *
 * returns a new reference, which the caller releases, or NULL with the reason in ct_message(device). */
#ifndef COTANGENT_TENSOR_H
#define COTANGENT_TENSOR_H

#include <cotangent/device.h>

CT_BEGIN_DECLS

#define CT_MAX_DIMS 8

/* bf16 (bfloat16) and f16 (IEEE binary16) are storage formats. Products, sums and copies take them and
 * compute in f32; every other op refuses them (docs/half.md). On the host an element is a uint16_t that holds
 * its bits. */
typedef enum ct_dtype { CT_F64 = 0, CT_F32 = 1, CT_I64 = 2, CT_BF16 = 3, CT_F16 = 4 } ct_dtype;

/* The size of one element in bytes; its name: "f64", "f32", "i64", "bf16", "f16". */
CT_API size_t ct_dtype_size(ct_dtype dtype);
CT_API const char *ct_dtype_name(ct_dtype dtype);

typedef struct ct_shape {
    int64_t dim[CT_MAX_DIMS];
    int ndim; /* 0 (a scalar) to CT_MAX_DIMS; -1 marks a shape that could not be made */
} ct_shape;

CT_API ct_shape ct_shape0(void);
CT_API ct_shape ct_shape1(int64_t n);
CT_API ct_shape ct_shape2(int64_t rows, int64_t cols);
CT_API ct_shape ct_shape3(int64_t batch, int64_t rows, int64_t cols);
CT_API ct_shape ct_shape_of(int ndim, const int64_t *dim);
CT_API bool ct_shape_equal(ct_shape a, ct_shape b);
/* The number of elements; -1 if an extent is negative or the product overflows. */
CT_API int64_t ct_shape_count(ct_shape shape);
/* The shape that two shapes broadcast to by NumPy's rule; ndim = -1 if they do not fit. */
CT_API ct_shape ct_shape_broadcast(ct_shape a, ct_shape b);

typedef struct ct_tensor ct_tensor;

/* How ops and primitives read a triangular matrix T. */
typedef enum ct_tri_flags {
    CT_LOWER = 0,
    CT_UPPER = 1, /* read the upper triangle, not the lower one    */
    CT_TRANS = 2, /* op(T) = Tᵀ                                    */
    CT_UNIT = 4,  /* the diagonal is taken as ones and is not read */
    CT_RIGHT = 8, /* solve X op(T) = B, not op(T) X = B            */
} ct_tri_flags;

/* The set that the elements of a tensor must lie in: (0, ∞), all but 0, or (-∞, ∞). NaN lies in none. */
typedef enum ct_domain { CT_POSITIVE, CT_NONZERO, CT_FINITE } ct_domain;

/* -- creation and lifetime ------------------------------------------------------------------------------- */

/* A new contiguous tensor: uninitialised; filled with zeros; filled with `value`. */
CT_API ct_tensor *ct_empty(ct_device *device, ct_dtype dtype, ct_shape shape);
CT_API ct_tensor *ct_zeros(ct_device *device, ct_dtype dtype, ct_shape shape);
CT_API ct_tensor *ct_full(ct_device *device, ct_dtype dtype, ct_shape shape, double value);

/* A new tensor with a copy of row-major host data of that dtype. */
CT_API ct_tensor *ct_from(ct_device *device, ct_dtype dtype, ct_shape shape, const void *data);

/* Wraps the caller's row-major buffer without a copy. When the last view is gone, `release` (may be NULL) is
 * called once with context and data; if ct_wrap fails it is not called. CPU devices only. */
CT_API ct_tensor *ct_wrap(ct_device *device, ct_dtype dtype, ct_shape shape, void *data,
                          void (*release)(void *context, void *data), void *context);

/* The same for a buffer with strides, in elements, each 0 or more. Where the extent is 1, and in an empty
 * tensor, any stride will do. */
CT_API ct_tensor *ct_wrap_strided(ct_device *device, ct_dtype dtype, ct_shape shape, const int64_t *strides,
                                  void *data, void (*release)(void *context, void *data), void *context);

/* Take and give up a reference; ct_retain returns t. Both accept NULL. */
CT_API ct_tensor *ct_retain(ct_tensor *t);
CT_API void ct_release(ct_tensor *t);

/* -- random fill: Philox4x32-10 [Salmon et al. 2011]; the same stream on every device and thread count --- */

/* A new tensor of independent draws, f64 or f32: uniform in (0, 1), or standard normal (Box-Muller). Element
 * i depends on (seed, stream, i) alone. */
CT_API ct_tensor *ct_rand_uniform(ct_device *device, ct_dtype dtype, ct_shape shape, uint64_t seed,
                                  uint64_t stream);
CT_API ct_tensor *ct_rand_normal(ct_device *device, ct_dtype dtype, ct_shape shape, uint64_t seed,
                                 uint64_t stream);

/* -- what a tensor is ------------------------------------------------------------------------------------ */

CT_API ct_device *ct_tensor_device(const ct_tensor *t);
CT_API ct_dtype ct_tensor_dtype(const ct_tensor *t);
CT_API ct_shape ct_tensor_shape(const ct_tensor *t);
CT_API int ct_tensor_ndim(const ct_tensor *t);
/* The extent of a dimension; a negative `dim` counts from the end (-1 is the last). 1 for a dimension that
 * does not exist. */
CT_API int64_t ct_tensor_dim(const ct_tensor *t, int dim);
/* The distance in elements between neighbours along a dimension; 0 for a dimension that does not exist. */
CT_API int64_t ct_tensor_stride(const ct_tensor *t, int dim);
CT_API int64_t ct_tensor_count(const ct_tensor *t);
/* Whether the elements lie in row-major order without gaps. */
CT_API bool ct_tensor_is_contiguous(const ct_tensor *t);
/* The first element, in the device's memory (a host pointer on CPU devices). */
CT_API void *ct_tensor_data(const ct_tensor *t);

/* -- copies ---------------------------------------------------------------------------------------------- */

/* Copies the elements out in row-major order, in the tensor's dtype. `bytes` must be the number of elements
 * times their size, else CT_ESHAPE. Waits for the device. */
CT_API ct_status ct_read(const ct_tensor *t, void *data, size_t bytes);
/* Copies the elements in, likewise. A backward sweep through an op that has read t's memory then fails (see
 * ct_leaf). */
CT_API ct_status ct_write(ct_tensor *t, const void *data, size_t bytes);
/* The only element of a one-element tensor, as a double; otherwise NaN, with a status on the device. */
CT_API double ct_tensor_item(const ct_tensor *t);
/* dst[...] = src[...]. Broadcasts src and converts the dtype: to the nearest value, ties to even; to i64
 * towards zero, saturating, with NaN to 0. The two must not overlap partially. */
CT_API ct_status ct_copy(const ct_tensor *src, ct_tensor *dst);
/* A contiguous copy with its own storage; in another dtype; on another device. */
CT_API ct_tensor *ct_tensor_clone(const ct_tensor *t);
CT_API ct_tensor *ct_tensor_cast(const ct_tensor *t, ct_dtype dtype);
CT_API ct_tensor *ct_tensor_to(const ct_tensor *t, ct_device *device);

/* -- views: no copy -------------------------------------------------------------------------------------- */

/* The same elements in another shape, of which one extent may be -1 (inferred). A contiguous tensor can
 * always be reshaped; another layout may need a copy and is CT_ESHAPE: use ct_tensor_clone first. */
CT_API ct_tensor *ct_tensor_reshape(const ct_tensor *t, ct_shape shape);
/* Exchanges the last two dimensions. */
CT_API ct_tensor *ct_tensor_transpose(const ct_tensor *t);
/* Dimension i of the result is dimension order[i] of t. */
CT_API ct_tensor *ct_tensor_permute(const ct_tensor *t, const int *order);
/* Elements start, start + step, ... < stop along dim; 0 <= start <= stop <= extent, step >= 1. As in
 * NumPy a negative start or stop counts from the end; the stop CT_END is the end. What lies outside is
 * refused (CT_EINDEX), where NumPy would clip. */
#define CT_END INT64_MAX
CT_API ct_tensor *ct_tensor_slice(const ct_tensor *t, int dim, int64_t start, int64_t stop, int64_t step);
/* Removes a dimension of extent 1; inserts one before `dim`. */
CT_API ct_tensor *ct_tensor_squeeze(const ct_tensor *t, int dim);
CT_API ct_tensor *ct_tensor_unsqueeze(const ct_tensor *t, int dim);
/* NumPy's broadcast_to: repeated dimensions have stride 0. */
CT_API ct_tensor *ct_tensor_broadcast(const ct_tensor *t, ct_shape shape);
/* The diagonal of the last two dimensions: (..., m, n) -> (..., min(m, n)). */
CT_API ct_tensor *ct_tensor_diagonal(const ct_tensor *t);

CT_END_DECLS
#endif
