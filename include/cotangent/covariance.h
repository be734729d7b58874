/* The flattened form of a covariance kernel, and the ops and primitives that evaluate it.
 *
 * A program is a kernel's tree in postfix order, as plain data: it is copied to the tape as an attribute and,
 * on a GPU, to the device. Nodes come after their children; the last node is the kernel. */
#ifndef COTANGENT_COVARIANCE_H
#define COTANGENT_COVARIANCE_H

#include <cotangent/kernel.h>
#include <cotangent/op.h>

CT_BEGIN_DECLS

typedef enum ct_cov_code {
    /* profiles of a scalar s: see src/tensor/covariance.h */
    CT_COV_RBF = 0,
    CT_COV_MATERN12,
    CT_COV_MATERN32,
    CT_COV_MATERN52,
    CT_COV_RATIONAL_QUADRATIC,
    CT_COV_PERIODIC,
    CT_COV_COSINE,
    CT_COV_LINEAR,
    CT_COV_POLYNOMIAL,
    CT_COV_PROFILES, /* their number */
    CT_COV_CONSTANT = CT_COV_PROFILES,
    CT_COV_WHITE,
    CT_COV_SCALE,   /* theta[extra] * child `right` */
    CT_COV_SUM,     /* child `left` + child `right`  */
    CT_COV_PRODUCT, /* child `left` * child `right`  */
    CT_COV_CODES,
} ct_cov_code;

typedef struct ct_cov_node {
    int32_t code;         /* a ct_cov_code                                                        */
    int32_t left, right;  /* children, as positions in the program                                */
    int32_t dims, n_dims; /* the active columns are ct_cov_dims(program)[dims .. dims + n_dims)   */
    int32_t lengthscale;  /* position of the (first) lengthscale, or a cosine's period, in theta; -1: none */
    int32_t ard;          /* 1: one lengthscale per active column, 0: one for all                 */
    int32_t extra;        /* position in theta of another alpha, period, offset or variance; -1: none */
    int32_t degree;       /* of a polynomial                                                       */
} ct_cov_node;

/* Followed in memory by n_nodes nodes and n_dims column numbers. */
typedef struct ct_cov_program {
    int64_t bytes; /* of the whole, for copying                */
    int32_t input_dims;
    int32_t n_params; /* length of theta                       */
    int32_t n_nodes;
    int32_t n_dims;
} ct_cov_program;

static inline const ct_cov_node *ct_cov_nodes(const ct_cov_program *p)
{
    return (const ct_cov_node *)(const void *)(p + 1);
}

static inline const int32_t *ct_cov_dims(const ct_cov_program *p)
{
    return (const int32_t *)(const void *)(ct_cov_nodes(p) + p->n_nodes);
}

/* The program of a bound kernel, owned by it and valid until it is changed or freed; NULL before
 * ct_kernel_bind. Its theta is the kernel's parameters in their order. */
CT_API const ct_cov_program *ct_kernel_program(const ct_kernel *k);

/* ct_cov: inputs theta, X for the symmetric matrix or theta, X, Z; ct_cov_diag: theta, X. The attribute is
 * the program. */
CT_API extern const ct_op ct_op_cov, ct_op_cov_diag;

/* The ops of the Gaussian processes, beside ct_op_list: the two above, gp_nlml and gp_loo_nlpd. *n is their
 * number. */
CT_API const ct_op *const *ct_gp_op_list(int *n);

/* -- primitives ------------------------------------------------------------------------------------------ */
/* theta (P), X (n, d), Z (m, d) of one dtype, f64 or f32. No view for Z stands for X: the matrix is symmetric
 * then, and white adds to its diagonal. No other n×m array is used. */

/* K_ij = k(x_i, z_j), into K (n, m) */
CT_API void ct_prim_covariance(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X, ct_view Z,
                               ct_view K);
/* K_ij = k(x_i, x_j) for j <= i; the strict upper triangle of K (n, n) is neither read nor written */
CT_API void ct_prim_covariance_lower(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X,
                                     ct_view K);
/* Given K_bar (n, m):  theta_bar_p = Σ_ij K_bar_ij ∂K_ij/∂theta_p,  X_bar_id = Σ_j K_bar_ij ∂k(x_i, z_j)/∂x_id; in
 * the symmetric case K_bar need not be symmetric, and X_bar contains both ends:
 * X_bar_id = Σ_j (K_bar_ij + K_bar_ji) ∂k(x_i, x_j)/∂x_id. No view for theta_bar or X_bar: not wanted. For
 * Z_bar exchange X and Z and transpose K_bar: k is symmetric. */
CT_API void ct_prim_covariance_bar(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X,
                                   ct_view Z, ct_view K_bar, ct_view theta_bar, ct_view X_bar);

/* A cotangent that is never formed: K_bar = alpha (M - u vᵀ). */
typedef struct ct_cov_bar {
    ct_view M;    /* (n, m) */
    ct_view u, v; /* (n), (m), strides > 0; or no views */
    double alpha;
    bool lower; /* M is symmetric, as without Z, and its lower triangle alone is read; then u is v */
} ct_cov_bar;

/* As ct_prim_covariance_bar, added to what theta_bar and X_bar hold. */
CT_API void ct_prim_covariance_bar_add(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X,
                                       ct_view Z, const ct_cov_bar *K_bar, ct_view theta_bar, ct_view X_bar);

CT_END_DECLS
#endif
