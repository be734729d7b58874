/* The device layer: the functions that a backend must provide. Each backend has its own folder (cpu/, cuda/).
 *
 * The primitives are the rows of cotangent/primitives.inc, whose contract holds. A backend may also rely on
 * this:
 *     - The caller has checked the shapes. Empty views are allowed and mean "nothing to do".
 *     - Inputs are already broadcast to the output (stride 0): to its shape, or to its batch dimensions.
 *     - A view that the caller left out is NULL.
 *     - An output that is an input, too, is the same view. The out of reduce has x's number of dimensions.
 *       The order of permute_rows is (..., n, 1), broadcast to dst's batch.
 * And it promises this:
 *     - On bf16 and f16 it computes in f32 (sums in f64) and rounds each element of the result once, to the
 *       nearest, ties to even.
 *     - It returns CT_OK, or CT_ENOMEM, CT_EINDEX, ... with the message set by ct__fail.
 *     - The same inputs, device and thread count give the same bits. */
#ifndef CT_TENSOR_BACKEND_H
#define CT_TENSOR_BACKEND_H

#include <cotangent/cov_program.h>
#include <cotangent/maps.h>
#include <cotangent/view.h>

typedef struct ct_failure ct_failure;

typedef struct ct_backend {
    const char *name;
    bool host_memory; /* the device's memory is the host's */

    /* Memory. pool.c uses these. `allocate` returns NULL without a message. */
    ct_status (*open)(ct_device *dev, int ordinal); /* fills name, description, memory.limit, threads */
    void (*close)(ct_device *dev);
    void *(*allocate)(ct_device *dev, size_t bytes);
    void (*release)(ct_device *dev, void *data, size_t bytes);
    /* Waits, and returns to the system what `release` has kept; NULL if it keeps nothing. */
    void (*trim)(ct_device *dev);
    ct_status (*upload)(ct_device *dev, void *dst, const void *src, size_t bytes);
    ct_status (*download)(ct_device *dev, void *dst, const void *src, size_t bytes);
    ct_status (*synchronize)(ct_device *dev);
    /* Graphs; all NULL if the device has none. Between begin and end work is recorded and not done. status:
     * CT_OK, or a failure that makes the record invalid. end: the graph and its number of nodes; NULL with a
     * message. launch runs the graph once, at the same addresses. */
    ct_status (*capture_begin)(ct_device *dev);
    ct_status (*capture_status)(ct_device *dev);
    void *(*capture_end)(ct_device *dev, size_t *nodes);
    ct_status (*graph_launch)(ct_device *dev, void *graph);
    void (*graph_free)(ct_device *dev, void *graph);
    /* The stream that all work is queued in. join: another library's stream waits for this one or, with
     * `ours`, this one waits for the other. NULL if there are no streams. */
    void *(*stream)(ct_device *dev);
    ct_status (*join)(ct_device *dev, void *stream, bool ours);
    /* Calls run(context, k) for k in 0 .. count-1 on dev->threads host threads; NULL if the host does not
     * compute. */
    void (*spread)(ct_device *dev, int64_t count, void (*run)(void *context, int64_t k), void *context);

    /* The primitives. */
#define CT_PRIMITIVE(name, ...) ct_status (*name)(ct_device * dev, __VA_ARGS__);
#define CT_FLAGGING(name, ...)  ct_status (*name)(ct_device * dev, __VA_ARGS__, ct_failure * failure);
#define CT_IN                   const ct_view *
#define CT_OUT                  ct_view *
#include <cotangent/primitives.inc>

    /* out = g f'(x), given y = f(x); out may be g */
    ct_status (*map1_bar)(ct_device *dev, ct_map1 f, const double p[2], const ct_view *x, const ct_view *y,
                          const ct_view *g, ct_view *out);
    /* out = g ∂f/∂a (side 0) or g ∂f/∂b (side 1); out may be g */
    ct_status (*map2_bar)(ct_device *dev, ct_map2 f, int side, const ct_view *a, const ct_view *b,
                          const ct_view *g, ct_view *out);
    /* element i (row-major) of out: uniform in (0,1) or standard normal, from Philox(seed, stream, i) */
    ct_status (*random)(ct_device *dev, bool normal, uint64_t seed, uint64_t stream, ct_view *out);

    /* the bytes that ct_prim_sweep_blocks needs besides its arguments, for n rows and one column of z */
    uint64_t (*sweep_bytes)(const ct_device *dev, ct_dtype dtype, int64_t n);

    /* Optional: map1, map1_bar, map2 and map2_bar of single f64 elements, with the same bits; NULL if memory
     * is not the host's. */
    double (*number1)(const ct_device *dev, ct_map1 f, const double p[2], double x);
    double (*number1_bar)(const ct_device *dev, ct_map1 f, const double p[2], double x, double y, double g);
    double (*number2)(const ct_device *dev, ct_map2 f, double a, double b);
    double (*number2_bar)(const ct_device *dev, ct_map2 f, int side, double a, double b, double g);

    /* Optional: what a backend can compute in one pass; else NULL. */

    /* C = A B + D, with D of C's shape */
    ct_status (*affine)(ct_device *dev, const ct_view *A, const ct_view *B, const ct_view *D, ct_view *C);
    /* ct_prim_sweep_blocks for a C (n, n), of which only the lower triangle is used, or for a packed C in a
     * rectangle of n - n/2 rows, which may have more columns. z (n, k) has contiguous columns, one after the
     * other; diagonal is contiguous. */
    ct_status (*packed_sweep)(ct_device *dev, int64_t n, bool inverse, double tolerance, ct_view *C,
                              ct_view *z, ct_view *diagonal, ct_failure *failure);
    /* ct_prim_gaussians */
    bool (*gaussians)(ct_device *dev, const ct_cov_program *program, const ct_view *theta, const ct_view *X,
                      const ct_view *r, const ct_view *noise, double tolerance, ct_view *alpha,
                      ct_view *diagonal, ct_view *theta_bar, ct_view *noise_bar);
    /* potri and the symmetric inverse_bar that keep M = L⁻¹, with A = L Lᵀ, between them. This saves a third
     * of the adjoint's work. root (..., 1, n (n + 1) / 2), contiguous and with the batch of A_inv and A_bar,
     * holds M's lower triangle row by row. If A_inv and G are columns, it holds that of A⁻¹ instead, which is
     * then faster. keeps_root: whether keeping it pays for `members` matrices of extent n. */
    bool (*keeps_root)(const ct_device *dev, int64_t members, int64_t n);
    ct_status (*potri_root)(ct_device *dev, const ct_view *A, ct_view *root, ct_view *A_inv,
                            ct_failure *failure);
    ct_status (*inverse_root_bar)(ct_device *dev, const ct_view *root, const ct_view *G, ct_view *A_bar);
} ct_backend;

/* Entries that are no primitives and that every backend has. */
#define CT__MORE_ENTRIES(M) M(map1_bar) M(map2_bar) M(random)

/* The function type of an entry: `CT__ENTRY(gemm) ct__cpu_gemm;` is its prototype. */
#define CT__ENTRY(name) __typeof__(*((ct_backend *)0)->name)

/* The functions of the library that a backend loaded as a module calls. It finds them in the device, since it
 * is not linked with the library. */
typedef struct ct_services {
    void *(*pool_get)(ct_device *dev, size_t *bytes);
    void (*pool_put)(ct_device *dev, void *data, size_t bytes);
    void *(*host_alloc)(ct_device *dev, size_t bytes);
    void (*host_free)(ct_device *dev, void *pointer, size_t bytes);
    int64_t *(*failure_note)(ct_device *dev, ct_failure *failure);
} ct_services;

extern const ct_backend ct__cpu_backend;
/* The CUDA backend, loaded at the first request; NULL, with the reason and a remedy, if it cannot be
 * loaded. */
const ct_backend *ct__cuda_backend(ct_device *dev, int ordinal);

#endif
