/* Covariance kernels: expression trees of profiles, sums, products and scales, with named positive
 * parameters.
 *
 *     ct_kernel *k = ct_kernel_parse("scale * rbf(ard) + scale * periodic * rbf + white");
 *     ct_kernel *k = ct_kernel_sum(ct_kernel_scale(ct_kernel_rbf()), ct_kernel_white());
 *
 * A kernel is a plain host object without a device. Building never returns NULL unless memory is exhausted
 * (or NULL was passed in): an error stays in the object (ct_kernel_status, ct_kernel_message), and whatever
 * is built from it carries it on. Functions that take a ct_kernel * to build another take it over, also on
 * failure; an object is used once, so k * k is ct_kernel_product(k, ct_kernel_copy(k)). A kernel has at most
 * 256 nodes. */
#ifndef COTANGENT_KERNEL_H
#define COTANGENT_KERNEL_H

#include <cotangent/cov_program.h>
#include <cotangent/tape.h>

CT_BEGIN_DECLS

typedef struct ct_kernel ct_kernel;
struct ct_op;

/* -- profiles -------------------------------------------------------------------------------------------- */
/* One constructor for each row of profiles.h, which has the formulas: ct_kernel_rbf(), ct_kernel_matern12(),
 * ..., ct_kernel_polynomial(degree). With r² = Σ_d (x_d - z_d)² / l_d² over the active dimensions; one
 * lengthscale l, or one per dimension after ct_kernel_ard. All have k(x, x) = 1 but linear, polynomial and
 * constant. [Rasmussen & Williams 2006, ch. 4] */
#define CT__PLAIN(CODE, name, ...)     CT_API ct_kernel *ct_kernel_##name(void);
#define CT__OF_DEGREE(CODE, name, ...) CT_API ct_kernel *ct_kernel_##name(int degree);
CT_PLAIN_PROFILES(CT__PLAIN)
CT_PROFILES_OF_DEGREE(CT__OF_DEGREE)
#undef CT__PLAIN
#undef CT__OF_DEGREE

CT_API ct_kernel *ct_kernel_constant(void); /* variance */
/* variance where x and z are the same row of the same tensor, else 0 */
CT_API ct_kernel *ct_kernel_white(void);

/* -- combinations ---------------------------------------------------------------------------------------- */

CT_API ct_kernel *ct_kernel_sum(ct_kernel *a, ct_kernel *b);
CT_API ct_kernel *ct_kernel_product(ct_kernel *a, ct_kernel *b);
/* variance * k, a positive parameter */
CT_API ct_kernel *ct_kernel_scale(ct_kernel *k);
/* One lengthscale per active dimension in every profile of k that has lengthscales. */
CT_API ct_kernel *ct_kernel_ard(ct_kernel *k);
/* Every profile of k looks at these columns of the inputs only: at least one, at most 4096, none twice, from
 * 0. Replaces an earlier choice. */
CT_API ct_kernel *ct_kernel_active(ct_kernel *k, const int *dims, int n);

CT_API ct_kernel *ct_kernel_copy(const ct_kernel *k);
CT_API void ct_kernel_free(ct_kernel *k);

/* -- text ------------------------------------------------------------------------------------------------ */

/* sum     = product { "+" product }
 * product = factor { "*" factor }
 * factor  = "scale" | profile [ "(" option { "," option } ")" ] | "(" sum ")"
 * profile = a text of profiles.h, as rbf or matern52 | constant | white
 * option  = "ard" | "dims=" i { ":" i } | "degree=" i | NAME "=" value       (a parameter's start value)
 *         | "lengthscale=" value { ":" value }                               (with ard: one each)
 *         | value                                                            (of scale, constant, white)
 * value   = number [ "!" ]                                                   (!: the parameter is held fixed)
 * "scale" multiplies the rest of its product; "scale(4)" starts it at 4. Numbers have a point
 * in every locale. At most 64 parentheses deep. On a bad text the kernel carries
 * CT_EFORMAT and a message of three lines: what, the text (a part of it, where it is long), and a caret under
 * the place. */
CT_API ct_kernel *ct_kernel_parse(const char *text);
/* The text that parses to the same kernel, with the parameters' present values (and whether they are fixed)
 * where `values`; doubles survive the trip. Bounds and priors are not part of it. Returns the length of the
 * whole text, writes at most size bytes with the final 0. "" where k carries an error. */
CT_API size_t ct_kernel_print(const ct_kernel *k, bool values, char *buffer, size_t size);

/* The error of building; CT_ENOMEM for NULL. The message is that error's, else that of the last
 * ct_kernel_bind or ct_kernel_set that was refused, "" before one; never NULL. */
CT_API ct_status ct_kernel_status(const ct_kernel *k);
CT_API const char *ct_kernel_message(const ct_kernel *k);

/* -- parameters ------------------------------------------------------------------------------------------ */

/* Tells the kernel how many input columns there are: 1 to 1,000,000. Before, an ARD profile has one
 * lengthscale, the start of all; after, one per active column. CT_EINVAL where an active dimension lies
 * outside, where there are not as many lengthscales as columns, or where k is bound to another number.
 * Binding again to the same number does nothing. Combining a bound kernel with another, or ct_kernel_ard and
 * ct_kernel_active, unbind it. */
CT_API ct_status ct_kernel_bind(ct_kernel *k, int64_t input_dims);
CT_API int64_t ct_kernel_input_dims(const ct_kernel *k); /* 0 before bind */
/* The program of a bound kernel, owned by it and valid until it is changed or freed; NULL before
 * ct_kernel_bind. Its theta is the kernel's parameters in their order. */
CT_API const ct_cov_program *ct_kernel_program(const ct_kernel *k);

typedef enum ct_prior_kind {
    CT_PRIOR_NONE = 0,
    CT_PRIOR_NORMAL,      /* mean a, standard deviation b, of the parameter                    */
    CT_PRIOR_LOG_NORMAL,  /* log of the parameter is normal(a, b)                              */
    CT_PRIOR_GAMMA,       /* shape a, rate b                                                    */
    CT_PRIOR_HALF_CAUCHY, /* scale a                                                            */
    CT_PRIOR_SOFT_LOWER, /* a lower bound that yields: exp(-½ (log(v/a)/b)²) for v < a, 1 above; improper */
} ct_prior_kind;

typedef struct ct_prior {
    ct_prior_kind kind;
    double a, b;
} ct_prior;

/* What a parameter's value is measured in, for whoever rescales inputs or outputs. */
typedef enum ct_unit {
    CT_UNIT_NONE = 0, /* a number: alpha, offset, the lengthscale of periodic                       */
    CT_UNIT_INPUT,    /* that of input column `column`: lengthscales, period                         */
    CT_UNIT_VARIANCE, /* that of k itself: of the variances in a product, the first                   */
} ct_unit;

typedef struct ct_param {
    char name
        [64]; /* unique in its kernel: "rbf.lengthscale" (ARD: "rbf.lengthscale[2]", the number of the input
                      column), "scale.variance", "rq.alpha", "periodic.period", "cosine.period", "poly.offset",
                      "constant.variance", "white.variance"; the second of a name is "rbf#2.lengthscale" */
    double value;        /* positive                                          */
    double lower, upper; /* 0 and INFINITY: none given                */
    bool fixed;
    bool start_given; /* by the text or ct_kernel_set: no data-driven start */
    ct_prior prior;
    ct_unit unit;
    int column; /* of CT_UNIT_INPUT; -1: several columns share the parameter */
} ct_param;

/* Their order is that of the text, a scale before what it multiplies; of one profile: lengthscales, then the
 * other. All start at 1, without bounds or priors. */
CT_API int64_t ct_kernel_params(const ct_kernel *k);
/* Borrowed until the kernel is changed; NULL out of range. Edited through ct_kernel_set. */
CT_API const ct_param *ct_kernel_param(const ct_kernel *k, int64_t i);
/* -1 where there is none of that name. */
CT_API int64_t ct_kernel_find(const ct_kernel *k, const char *name);
/* Replaces all but name, unit and column; start_given becomes true where it was set in `param` or the value
 * changes. CT_EINVAL unless the value is positive and finite, 0 <= lower <= value <= upper, and the prior is
 * a proper one; k is unchanged then. */
CT_API ct_status ct_kernel_set(ct_kernel *k, int64_t i, const ct_param *param);

/* -- on the tape ----------------------------------------------------------------------------------------- */

/* K_ij = k(x_i, z_j):  theta (P), X (n, d), Z (m, d) -> (n, m). Where X and Z are the same handle the matrix is
 * symmetric and white adds to its diagonal. Gradients in theta, X and Z. The kernel must be bound to d
 * columns (else the tape fails with a message that says so); the tape keeps its own copy. theta holds the
 * parameters' values in their order; the values inside the kernel are not looked at. One fused pass forward,
 * one backward; where the sweep is recorded, a composition of ops. */
CT_API ct_var ct_cov(const ct_kernel *k, ct_var theta, ct_var X, ct_var Z);
/* k(x_i, x_i), white included: (n). */
CT_API ct_var ct_cov_diag(const ct_kernel *k, ct_var theta, ct_var X);
/* The ops of these. ct_op_cov takes theta, X for the symmetric matrix or theta, X, Z; ct_op_cov_diag theta, X.
 * The attribute is the program. */
CT_API extern const struct ct_op ct_op_cov, ct_op_cov_diag;
/* The parameters' values as a new leaf (P). */
CT_API ct_var ct_kernel_theta(const ct_kernel *k, ct_tape *tape, ct_dtype dtype);

CT_END_DECLS
#endif
