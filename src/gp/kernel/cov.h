/* What the files of the covariance ops share. */
#ifndef CT_GP_COV_H
#define CT_GP_COV_H

#include <cotangent/covariance.h>
#include <cotangent/kernel.h>

/* K as a composition of public ops. A Z without a tape means the symmetric case. */
ct_var ct__cov_compose(const ct_cov_program *program, ct_var theta, ct_var X, ct_var Z);
/* The rule of ct_cov in differentiable ops. */
void ct__cov_vjp_recorded(ct_vjp *g, const ct_cov_program *program);

/* A profile at s: its value, ∂k/∂s and ∂k/∂a. */
typedef struct ct__cov_leaf {
    ct_var s, y, ds, da; /* da without a tape: there is no a */
} ct__cov_leaf;

/* The profile of node n at s, of any shape. The two slopes only if `slopes`. */
ct__cov_leaf ct__cov_profile(const ct_cov_node *n, ct_var theta, ct_var s, bool slopes);
/* The active columns of node n, divided by its lengthscales: (rows, n->n_dims). */
ct_var ct__cov_scaled(const ct_cov_program *program, const ct_cov_node *n, ct_var theta, ct_var X);
/* theta[at], (1). */
ct_var ct__cov_extra(ct_var theta, int32_t at);

/* Node n, which is no profile and not white, of its own nodes' values. */
ct_var ct__cov_combine(const ct_cov_node *n, ct_var theta, const ct_var *value);

/* Whether the attribute is a kernel's program which theta and the points fit; if not, the call is refused. */
bool ct__cov_inputs_fit(ct_call *c);
/* The program of a kernel that can be used; else NULL, and the tape has failed. */
const ct_cov_program *ct__cov_usable(const ct_kernel *k, ct_tape *tape, const char *who);
/* A call of `op`, whose attribute is a kernel's program: of one that can be used, else a poisoned handle. */
ct_var ct__cov_apply(const struct ct_op *op, const ct_kernel *k, const ct_var *in, int n);

/* Draws theta, X and, with `pairs` in half of the variants, Z for a set of kernels over three columns. */
void ct__cov_sample(ct_sample *s, bool pairs);

#endif
