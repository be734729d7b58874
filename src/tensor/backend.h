/* The device layer: what a backend must be able to do. One parallel set of files per backend (cpu/, cuda/).
 *
 * Contract of every primitive below:
 *   - tensors have any non-negative strides; outputs never alias inputs unless said; outputs have no stride 0;
 *   - shapes are checked by the caller; empty tensors are allowed and mean "nothing to do";
 *   - "..." are batch dimensions: inputs are already broadcast to the output's batch shape (stride 0);
 *   - floating tensors of one call have one dtype, f64 or f32, unless said;
 *   - bf16 and f16 reach fill, copy, the maps, sums (reduce), gemm, grouped_gemm and grouped_gemm_bar: they compute in
 *     f32 (sums in f64) and round each element of the result once, to the nearest, ties to even;
 *   - returns CT_OK, or CT_ENOMEM / CT_EINDEX / ... with the message set by ct__fail;
 *   - the same inputs, device and thread count give the same bits. */
#ifndef CT_TENSOR_BACKEND_H
#define CT_TENSOR_BACKEND_H

#include <cotangent/maps.h>
#include <cotangent/view.h>

typedef struct ct_failure ct_failure;
typedef struct ct_cov_program ct_cov_program;
typedef struct ct_cov_bar ct_cov_bar;

typedef struct ct_backend {
    const char *name;
    bool host_memory; /* the device's memory is the host's */

    /* memory: pool.c sits above. `allocate` returns NULL without a message. */
    ct_status (*open)(ct_device *dev, int ordinal); /* fills name, description, memory.limit, threads */
    void (*close)(ct_device *dev);
    void *(*allocate)(ct_device *dev, size_t bytes);
    void (*release)(ct_device *dev, void *data, size_t bytes);
    /* waits, and gives back to the system what `release` has kept; NULL where it keeps nothing */
    void (*trim)(ct_device *dev);
    ct_status (*upload)(ct_device *dev, void *dst, const void *src, size_t bytes);
    ct_status (*download)(ct_device *dev, void *dst, const void *src, size_t bytes);
    ct_status (*synchronize)(ct_device *dev);
    /* graphs; all NULL where the device has none. Between begin and end work is recorded instead of done.
     * status: CT_OK, or that something has spoilt the record. end: the graph, and of how many pieces of work;
     * NULL with a message. launch does them once, at the same addresses. */
    ct_status (*capture_begin)(ct_device *dev);
    ct_status (*capture_status)(ct_device *dev);
    void *(*capture_end)(ct_device *dev, size_t *nodes);
    ct_status (*graph_launch)(ct_device *dev, void *graph);
    void (*graph_free)(ct_device *dev, void *graph);
    /* the stream that all work is queued in, and one of another library that waits for it or, with `ours`, is
     * waited for; NULL where there are no streams */
    void *(*stream)(ct_device *dev);
    ct_status (*join)(ct_device *dev, void *stream, bool ours);
    /* run(context, k) for k in 0 .. count-1 on dev->threads host threads; NULL: the host does not compute */
    void (*spread)(ct_device *dev, int64_t count, void (*run)(void *context, int64_t k), void *context);

    /* elementwise, all of out's shape */
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
    /* cond of any dtype */
    ct_status (*where)(ct_device *dev, const ct_view *cond, const ct_view *a, const ct_view *b, ct_view *out);
    /* element i (row-major) of out: uniform in (0,1) or standard normal, from Philox(seed, stream, i) */
    ct_status (*random)(ct_device *dev, bool normal, uint64_t seed, uint64_t stream, ct_view *out);

    /* out has x's number of dimensions, extent 1 where reduced. The sum of f32 is accumulated in f64. NaN in
     * gives NaN out. Of nothing: 0, -inf, -inf. */
    ct_status (*reduce)(ct_device *dev, ct_reduction f, const ct_view *x, ct_view *out);

    /* rows: x (n, ...), index i64 (k), out (k, ...);  scatter_add: x (k, ...), out (n, ...) += , in order.
     * An index outside [0, n): CT_EINDEX, naming position and value. */
    ct_status (*gather)(ct_device *dev, const ct_view *x, const ct_view *index, ct_view *out);
    ct_status (*scatter_add)(ct_device *dev, const ct_view *x, const ct_view *index, ct_view *out);

    /* index i64 (N) in [0, M) -> groups i64 (M + 1 + N), contiguous: offsets, then positions sorted by index,
     * stable. An index outside: CT_EINDEX, naming position and value. */
    ct_status (*group_by)(ct_device *dev, const ct_view *index, ct_view *groups);
    /* Over such groups of N into M, everything contiguous; A (N, I, J), C (M, J, K), G and out (N, I, K).
     * Offsets that do not rise from 0 to N, or a position outside [0, N): CT_EINDEX; a position that is
     * missing leaves its row undefined.
     *     out_i = A_i C_m for each i of group m;
     *     A_bar_i = G_i C_mᵀ (N, I, J), C_bar_m = Σ_i A_iᵀ G_i (M, J, K): either may be NULL, then so may C or A. */
    ct_status (*grouped_gemm)(ct_device *dev, const ct_view *A, const ct_view *C, const ct_view *groups,
                              ct_view *out);
    ct_status (*grouped_gemm_bar)(ct_device *dev, const ct_view *A, const ct_view *C, const ct_view *G,
                                  const ct_view *groups, ct_view *A_bar, ct_view *C_bar);

    /* out (..., n, m) = |x_i - y_j|², x (..., n, d), y (..., m, d) */
    ct_status (*sqdist)(ct_device *dev, const ct_view *x, const ct_view *y, ct_view *out);

    /* covariance matrices and the contraction of their derivatives, as the ct_prim_covariance... of
     * covariance.h document; z = NULL: the symmetric case, where with `lower` that triangle of out alone is
     * written; `add`: to what theta_bar and x_bar hold */
    ct_status (*covariance)(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                            const ct_view *x, const ct_view *z, bool lower, ct_view *out);
    ct_status (*covariance_bar)(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                                const ct_view *x, const ct_view *z, const ct_cov_bar *K_bar, bool add,
                                ct_view *theta_bar, ct_view *x_bar);

    /* matrices, as the ct_prim_ functions of op.h document; flags are ct_tri_flags */
    ct_status (*gemm)(ct_device *dev, double alpha, const ct_view *a, const ct_view *b, double beta,
                      ct_view *c);
    ct_status (*syrk)(ct_device *dev, double alpha, const ct_view *a, double beta, ct_view *c);
    ct_status (*potrf)(ct_device *dev, ct_view *a, ct_failure *failure);
    ct_status (*potrf_lower)(ct_device *dev, int64_t first, ct_view *a, ct_failure *failure);
    ct_status (*trtri)(ct_device *dev, ct_view *a);
    ct_status (*lauum)(ct_device *dev, ct_view *a);
    /* as ct_prim_packed_sweep; may be NULL: the caller has it in the primitives above. All contiguous. */
    ct_status (*packed_sweep)(ct_device *dev, int64_t n, bool inverse, double tolerance, ct_view *A,
                              ct_view *z, ct_view *diagonal, ct_failure *failure);
    ct_status (*potri)(ct_device *dev, const ct_view *a, ct_view *out, ct_failure *failure);
    /* as ct_prim_keeps_root and the two with it; the three together may be NULL */
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
    /* An order that is no permutation of [0, n): CT_EINDEX. */
    ct_status (*permute_rows)(ct_device *dev, const ct_view *x, const ct_view *order, bool back,
                              ct_view *out);
    ct_status (*trsm)(ct_device *dev, unsigned flags, double alpha, const ct_view *t, ct_view *b);
    ct_status (*trmm)(ct_device *dev, unsigned flags, double alpha, const ct_view *t, ct_view *b);
    ct_status (*triangle)(ct_device *dev, const ct_view *x, bool upper, int64_t k, ct_view *out);
    /* As ct_prim_flag, for x (..., n, 1) with or without an out. */
    ct_status (*flag)(ct_device *dev, ct_domain domain, const ct_view *x, const char *what, const char *why,
                      ct_view *out, ct_failure *failure);

    /* A = Q R in place for a (..., m, n): R in the upper triangle, below it and in tau (..., 1, min(m, n),
     * contiguous) the reflectors of Q. With rank_tolerance >= 0 a member with some |R_jj| <= rank_tolerance
     * max_i |R_ii| becomes NaN and is flagged with j, from 1. */
    ct_status (*qr)(ct_device *dev, double rank_tolerance, ct_view *a, ct_view *tau, ct_failure *failure);
    /* c = Q c or Qᵀ c, given a and tau of qr; c (..., m, k) */
    ct_status (*qr_mul)(ct_device *dev, bool trans, const ct_view *a, const ct_view *tau, ct_view *c);
    /* out (..., 1, 1) = 1 / (|R| |R⁻¹|), estimated, for the upper triangle r (..., n, n); 0 where that is
     * singular or not finite. In the 1-norm or the infinity norm. */
    ct_status (*tri_rcond)(ct_device *dev, const ct_view *r, ct_view *out);
} ct_backend;

/* What every backend must have of these, in the order above: from this list come the prototypes and the
 * entries of the tables. */
/* clang-format off */
#define CT_PRIMITIVES(M)                                                                                   \
    M(fill) M(copy) M(map1) M(map1_bar) M(map2) M(map2_bar) M(where) M(random) M(reduce) M(gather) \
    M(scatter_add) M(group_by) M(grouped_gemm) M(grouped_gemm_bar) M(sqdist) M(covariance)                 \
    M(covariance_bar) M(gemm) M(syrk) M(potrf) M(potrf_lower) M(trtri) M(lauum) M(potri) M(getrf) M(getri) \
    M(inverse_bar) M(lu_det) M(permute_rows) M(trsm) M(trmm) M(triangle) M(flag) M(qr) M(qr_mul) M(tri_rcond)
/* clang-format on */

/* The function type of an entry: `CT_PRIMITIVE(gemm) ct__cpu_gemm;` is its prototype. */
#define CT_PRIMITIVE(name) __typeof__(*((ct_backend *)0)->name)

/* What a backend that is loaded as a module asks of the library: it finds them in the device, since it is not
 * linked with what loads it. */
typedef struct ct_services {
    void *(*pool_get)(ct_device *dev, size_t *bytes);
    void (*pool_put)(ct_device *dev, void *data, size_t bytes);
    void *(*host_alloc)(ct_device *dev, size_t bytes);
    void (*host_free)(ct_device *dev, void *pointer, size_t bytes);
    int64_t *(*failure_note)(ct_device *dev, ct_failure *failure);
} ct_services;

extern const ct_backend ct__cpu_backend;
/* The CUDA backend, loaded when it is first asked for; NULL, with the reason and a remedy, where it cannot
 * be. */
const ct_backend *ct__cuda_backend(ct_device *dev, int ordinal);

#endif
