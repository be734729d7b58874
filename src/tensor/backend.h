/* The device layer: the functions that a backend must provide. Each backend has its own folder (cpu/, cuda/).
 *
 * Contract of every primitive below:
 *     - Views have any non-negative strides. Outputs have no stride 0 and do not alias inputs unless stated.
 *     - The caller has checked the shapes. Empty views are allowed and mean "nothing to do".
 *     - "..." are batch dimensions. Inputs are already broadcast to the output's batch shape (stride 0).
 *     - The floating views of one call have one dtype, f64 or f32, unless stated.
 *     - fill, copy, the maps, sums (reduce), gemm, grouped_gemm and grouped_gemm_bar also take bf16 and f16.
 *       They compute in f32 (sums in f64) and round each element of the result once, to the nearest, ties to
 *       even.
 *     - It returns CT_OK, or CT_ENOMEM, CT_EINDEX, ... with the message set by ct__fail.
 *     - The same inputs, device and thread count give the same bits. */
#ifndef CT_TENSOR_BACKEND_H
#define CT_TENSOR_BACKEND_H

#include <cotangent/cov_program.h>
#include <cotangent/maps.h>

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
     * CT_OK, or a failure that has spoilt the record. end: the graph and its number of nodes; NULL with a
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

    /* Elementwise; all views have out's shape. */
    ct_status (*fill)(ct_device *dev, double value, ct_view *out);
    ct_status (*copy)(ct_device *dev, const ct_view *x, ct_view *out); /* converts between all dtypes */
    ct_status (*map1)(ct_device *dev, ct_map1 f, const double p[2], const ct_view *x, ct_view *out);
    /* out = g f'(x), given y = f(x); out may be g */
    ct_status (*map1_bar)(ct_device *dev, ct_map1 f, const double p[2], const ct_view *x, const ct_view *y,
                          const ct_view *g, ct_view *out);
    /* out may be a or b, with the same strides */
    ct_status (*map2)(ct_device *dev, ct_map2 f, const ct_view *a, const ct_view *b, ct_view *out);
    /* out = g ∂f/∂a (side 0) or g ∂f/∂b (side 1); out may be g */
    ct_status (*map2_bar)(ct_device *dev, ct_map2 f, int side, const ct_view *a, const ct_view *b,
                          const ct_view *g, ct_view *out);
    /* a, b and out have one dtype, cond any of f64, f32 and i64 */
    ct_status (*where)(ct_device *dev, const ct_view *cond, const ct_view *a, const ct_view *b, ct_view *out);
    /* element i (row-major) of out: uniform in (0,1) or standard normal, from Philox(seed, stream, i) */
    ct_status (*random)(ct_device *dev, bool normal, uint64_t seed, uint64_t stream, ct_view *out);

    /* out has x's number of dimensions, with extent 1 where reduced. Sums of f32 are accumulated in f64. NaN
     * in gives NaN out. An empty sum is 0; an empty max or logsumexp is -inf. */
    ct_status (*reduce)(ct_device *dev, ct_reduction f, const ct_view *x, ct_view *out);

    /* Rows. gather: x (n, ...), index i64 (k), out (k, ...). scatter_add: x (k, ...), out (n, ...) += , in
     * order. An index outside [0, n) is CT_EINDEX; the message names position and value. */
    ct_status (*gather)(ct_device *dev, const ct_view *x, const ct_view *index, ct_view *out);
    ct_status (*scatter_add)(ct_device *dev, const ct_view *x, const ct_view *index, ct_view *out);

    /* index i64 (N) in [0, M) -> groups i64 (M + 1 + N), contiguous: offsets, then positions stably sorted by
     * index. An index outside [0, M) is CT_EINDEX; the message names position and value. */
    ct_status (*group_by)(ct_device *dev, const ct_view *index, ct_view *groups);
    /* On groups of N positions in M groups, as group_by makes them. All views are contiguous; A (N, I, J), C
     * (M, J, K), G and out (N, I, K). CT_EINDEX if the offsets do not rise from 0 to N, or a position is
     * outside [0, N). A position that is missing leaves its row undefined.
     *     out_i = A_i C_m for each i of group m;
     *     A_bar_i = G_i C_mᵀ (N, I, J), C_bar_m = Σ_i A_iᵀ G_i (M, J, K): either may be NULL; then
     *     so may C or A. */
    ct_status (*grouped_gemm)(ct_device *dev, const ct_view *A, const ct_view *C, const ct_view *groups,
                              ct_view *out);
    ct_status (*grouped_gemm_bar)(ct_device *dev, const ct_view *A, const ct_view *C, const ct_view *G,
                                  const ct_view *groups, ct_view *A_bar, ct_view *C_bar);

    /* out (..., n, m) = |x_i - y_j|², x (..., n, d), y (..., m, d) */
    ct_status (*sqdist)(ct_device *dev, const ct_view *x, const ct_view *y, ct_view *out);

    /* Covariance matrices and the contraction of their derivatives, as the ct_prim_covariance... of
     * covariance.h document. z = NULL: the symmetric case, in which `lower` writes only the lower triangle of
     * out. `add`: adds to what theta_bar and x_bar hold. */
    ct_status (*covariance)(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                            const ct_view *x, const ct_view *z, bool lower, ct_view *out);
    ct_status (*covariance_bar)(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                                const ct_view *x, const ct_view *z, const ct_cov_bar *K_bar, bool add,
                                ct_view *theta_bar, ct_view *x_bar);

    /* Matrices, as the ct_prim_ functions of op.h document; flags are ct_tri_flags. */
    ct_status (*gemm)(ct_device *dev, double alpha, const ct_view *a, const ct_view *b, double beta,
                      ct_view *c);
    ct_status (*syrk)(ct_device *dev, double alpha, const ct_view *a, double beta, ct_view *c);
    ct_status (*potrf)(ct_device *dev, ct_view *a, ct_failure *failure);
    ct_status (*potrf_lower)(ct_device *dev, int64_t first, ct_view *a, ct_failure *failure);
    ct_status (*trtri)(ct_device *dev, ct_view *a);
    ct_status (*lauum)(ct_device *dev, ct_view *a);
    /* As ct_prim_packed_sweep, all contiguous. May be NULL: the caller then uses the primitives above. */
    ct_status (*packed_sweep)(ct_device *dev, int64_t n, bool inverse, double tolerance, ct_view *A,
                              ct_view *z, ct_view *diagonal, ct_failure *failure);
    ct_status (*potri)(ct_device *dev, const ct_view *a, ct_view *out, ct_failure *failure);
    /* As ct_prim_keeps_root and the two that follow it; all three may be NULL. */
    bool (*keeps_root)(const ct_device *dev, int64_t members, int64_t n);
    ct_status (*potri_root)(ct_device *dev, const ct_view *a, ct_view *root, ct_view *out,
                            ct_failure *failure);
    ct_status (*inverse_root_bar)(ct_device *dev, const ct_view *root, const ct_view *g, ct_view *out);
    /* order: contiguous */
    ct_status (*getrf)(ct_device *dev, const ct_view *a, ct_view *lu, ct_view *order, ct_failure *failure);
    ct_status (*getri)(ct_device *dev, const ct_view *a, ct_view *out, ct_failure *failure);
    ct_status (*inverse_bar)(ct_device *dev, bool symmetric, const ct_view *p, const ct_view *g,
                             ct_view *out);
    /* log_abs and sign: contiguous */
    ct_status (*lu_det)(ct_device *dev, const ct_view *a, ct_view *log_abs, ct_view *sign,
                        ct_failure *failure);
    /* An order that is not a permutation of [0, n) is CT_EINDEX. */
    ct_status (*permute_rows)(ct_device *dev, const ct_view *x, const ct_view *order, bool back,
                              ct_view *out);
    ct_status (*trsm)(ct_device *dev, unsigned flags, double alpha, const ct_view *t, ct_view *b);
    ct_status (*trmm)(ct_device *dev, unsigned flags, double alpha, const ct_view *t, ct_view *b);
    ct_status (*triangle)(ct_device *dev, const ct_view *x, bool upper, int64_t k, ct_view *out);
    /* As ct_prim_flag, for x (..., n, 1) with or without an out. */
    ct_status (*flag)(ct_device *dev, ct_domain domain, const ct_view *x, const char *what, const char *why,
                      ct_view *out, ct_failure *failure);

    /* A = Q R in place for a (..., m, n). R is in the upper triangle; the reflectors of Q are below it and in
     * tau (..., 1, min(m, n)), contiguous. With rank_tolerance >= 0 a member with some |R_jj| <=
     * rank_tolerance max_i |R_ii| becomes NaN and is flagged with j, counted from 1. */
    ct_status (*qr)(ct_device *dev, double rank_tolerance, ct_view *a, ct_view *tau, ct_failure *failure);
    /* c = Q c or Qᵀ c, given a and tau of qr; c (..., m, k) */
    ct_status (*qr_mul)(ct_device *dev, bool trans, const ct_view *a, const ct_view *tau, ct_view *c);
    /* out (..., 1, 1) = 1 / (|R| |R⁻¹|), estimated in the 1-norm or the infinity norm, for the upper triangle
     * r (..., n, n); 0 if r is singular or not finite. */
    ct_status (*tri_rcond)(ct_device *dev, const ct_view *r, ct_view *out);
} ct_backend;

/* The primitives that every backend must have, in the order above. The prototypes and the entries of the
 * backends' tables come from this list. */
/* clang-format off */
#define CT_PRIMITIVES(M)                                                                                   \
    M(fill) M(copy) M(map1) M(map1_bar) M(map2) M(map2_bar) M(where) M(random) M(reduce) M(gather) \
    M(scatter_add) M(group_by) M(grouped_gemm) M(grouped_gemm_bar) M(sqdist) M(covariance)                 \
    M(covariance_bar) M(gemm) M(syrk) M(potrf) M(potrf_lower) M(trtri) M(lauum) M(potri) M(getrf) M(getri) \
    M(inverse_bar) M(lu_det) M(permute_rows) M(trsm) M(trmm) M(triangle) M(flag) M(qr) M(qr_mul) M(tri_rcond)
/* clang-format on */

/* The function type of an entry: `CT_PRIMITIVE(gemm) ct__cpu_gemm;` is its prototype. */
#define CT_PRIMITIVE(name) __typeof__(*((ct_backend *)0)->name)

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
