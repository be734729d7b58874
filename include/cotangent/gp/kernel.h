/* Covariance kernels: expression trees of profiles, sums, products and scales, with named parameters.
 *
 *     ct_kernel *k = ct_kernel_parse("scale * rbf(ard) + scale * periodic * rbf + white");
 *     ct_kernel *k = ct_kernel_sum(ct_kernel_scale(ct_kernel_rbf()), ct_kernel_white());
 *
 * A kernel is a plain host object without a device, with at most 256 nodes. Building returns NULL only if
 * memory is exhausted or NULL was passed. Any other error stays in the object (ct_kernel_status,
 * ct_kernel_message) and is passed on to kernels built from it. Functions that build a kernel from a
 * ct_kernel * take ownership of it, also on failure. So an object is used once: k * k is
 * ct_kernel_product(k, ct_kernel_copy(k)). */
#ifndef COTANGENT_GP_KERNEL_H
#define COTANGENT_GP_KERNEL_H

#include <cotangent/cov_program.h>
#include <cotangent/gp/column.h>
#include <cotangent/tape.h>

CT_BEGIN_DECLS

typedef struct ct_kernel ct_kernel;

/* -- profiles -------------------------------------------------------------------------------------------- */
/* One constructor for each row of profiles.h, which has the formulas: ct_kernel_rbf(), ct_kernel_matern12(),
 * ..., ct_kernel_polynomial(degree). r² = Σ_d (x_d - z_d)² / l_d² over the active dimensions, with one
 * lengthscale l or, after ct_kernel_ard, one for each dimension. k(x, x) = 1 for all except linear,
 * polynomial and constant. [Rasmussen & Williams 2006, ch. 4] */
#define CT__PLAIN(CODE, name, ...)     CT_API ct_kernel *ct_kernel_##name(void);
#define CT__OF_DEGREE(CODE, name, ...) CT_API ct_kernel *ct_kernel_##name(int degree);
CT_PLAIN_PROFILES(CT__PLAIN)
CT_PROFILES_OF_DEGREE(CT__OF_DEGREE)
#undef CT__PLAIN
#undef CT__OF_DEGREE

CT_API ct_kernel *ct_kernel_constant(void); /* k(x, z) = variance */
/* The variance if x and z are the same row of the same tensor, else 0. */
CT_API ct_kernel *ct_kernel_white(void);
/* The coregionalisation matrix at the codes c and c' in one column: k = (W Wᵀ + diag κ)[c, c'], with W
 * (levels, rank) of any sign and κ (levels) positive. [Bonilla, Chai & Williams 2008; Álvarez, Rosasco &
 * Lawrence 2012, §4.2] A code other than 0 to levels - 1 counts as a further level, whose covariance with the
 * others is 0 and whose variance is their mean. A code that is not finite gives NaN. W starts at w_lk = 0.7
 * cos(π k (2l + 1) / (2 levels)), κ at 0.5. 1 <= rank <= 16, rank <= levels <= 512. With levels = 0 ct_gp_new
 * takes the number of levels from the column, which ct_gp_options.inputs describes; until then there are no
 * parameters. */
CT_API ct_kernel *ct_kernel_index(int levels, int rank);

/* -- combinations ---------------------------------------------------------------------------------------- */

CT_API ct_kernel *ct_kernel_sum(ct_kernel *a, ct_kernel *b);
CT_API ct_kernel *ct_kernel_product(ct_kernel *a, ct_kernel *b);
/* variance * k; the variance is a positive parameter. */
CT_API ct_kernel *ct_kernel_scale(ct_kernel *k);
/* Gives every profile of k with lengthscales one for each active dimension. */
CT_API ct_kernel *ct_kernel_ard(ct_kernel *k);
/* Restricts every profile of k to these input columns, counted from 0: 1 to 4096 different columns. Replaces
 * an earlier restriction. */
CT_API ct_kernel *ct_kernel_active(ct_kernel *k, const int *dims, int n);

CT_API ct_kernel *ct_kernel_copy(const ct_kernel *k);
CT_API void ct_kernel_free(ct_kernel *k);

/* -- text ------------------------------------------------------------------------------------------------ */

/*     sum     = product { "+" product }
 *     product = factor { "*" factor }
 *     factor  = "scale" | profile [ "(" option { "," option } ")" ] | "(" sum ")"
 *     profile = a text of profiles.h, as rbf or matern52 | constant | white | index
 *     option  = "ard" | "dims=" i { ":" i } | "degree=" i | NAME "=" value
 *                                                        (a parameter's start value)
 *             | "lengthscale=" value { ":" value }       (with ard: one each)
 *             | value                                    (of scale, constant, white)
 *             | "rank=" i | "levels=" i                  (of index; then all of W, row by row, and of κ)
 *             | "w=" value { ":" value } | "kappa=" value { ":" value }
 *     value   = number [ "!" ]                           (!: the parameter is held fixed)
 *
 * "scale" multiplies the rest of its product; "scale(4)" starts it at 4. Numbers have a decimal point in
 * every locale. Parentheses nest at most 64 deep. After an invalid text the kernel carries CT_EFORMAT and a
 * message of three lines: the error, the text (or a part of a long one), and a caret under the place. */
CT_API ct_kernel *ct_kernel_parse(const char *text);
/* The same, but dims may also name input columns, whose names columns[0..n) has:
 *     i = a number | a name without ":", "," and ")" that does not begin with a digit | '"' a name '"'
 * A number is below n. Quotes in quotes are doubled. The kernel stores the numbers, and ct_kernel_print
 * prints them. */
CT_API ct_kernel *ct_kernel_parse_named(const char *text, const ct_column *columns, int64_t n);
/* Writes the text that parses to the same kernel, at most `size` bytes with the final NUL. With `values` the
 * text has the parameters' current values, exactly, and whether they are fixed. It never has bounds and
 * priors. Returns the length of the complete text. "" if k carries an error. */
CT_API size_t ct_kernel_print(const ct_kernel *k, bool values, char *buffer, size_t size);

/* The error of building; CT_ENOMEM for NULL. The message is that of this error, or else of the last refused
 * ct_kernel_bind or ct_kernel_set, or else "". Never NULL; owned by the kernel. */
CT_API ct_status ct_kernel_status(const ct_kernel *k);
CT_API const char *ct_kernel_message(const ct_kernel *k);

/* -- parameters ------------------------------------------------------------------------------------------ */

/* Sets the number of input columns, 1 to 1,000,000. Before, an ARD profile has one lengthscale, the start
 * value of all; after, it has one for each active column. CT_EINVAL if an active column is out of range, if
 * the number of lengthscales differs from that of the active columns, or if k is bound to another number of
 * columns. Binding again to the same number does nothing. Combining a bound kernel with another,
 * ct_kernel_ard and ct_kernel_active unbind it. */
CT_API ct_status ct_kernel_bind(ct_kernel *k, int64_t input_dims);
CT_API int64_t ct_kernel_input_dims(const ct_kernel *k); /* 0 before bind */
/* The program of a bound kernel, owned by the kernel and valid until it is changed or freed; NULL before
 * ct_kernel_bind. Its theta is the vector of the kernel's parameters. */
CT_API const ct_cov_program *ct_kernel_program(const ct_kernel *k);

typedef enum ct_prior_kind {
    CT_PRIOR_NONE = 0,
    CT_PRIOR_NORMAL,      /* the parameter is normal: mean a, standard deviation b            */
    CT_PRIOR_LOG_NORMAL,  /* the log of the parameter is normal: mean a, standard deviation b */
    CT_PRIOR_GAMMA,       /* shape a, rate b                                                  */
    CT_PRIOR_HALF_CAUCHY, /* scale a                                                          */
    /* A soft lower bound, improper: exp(-½ (log(v/a)/b)²) for v < a, 1 above. */
    CT_PRIOR_SOFT_LOWER,
    /* The same with a heavy tail: 1 / (1 + (log(v/a)/b)²) for v < a, 1 above. */
    CT_PRIOR_CAUCHY_LOWER,
} ct_prior_kind;

typedef struct ct_prior {
    ct_prior_kind kind;
    double a, b;
} ct_prior;

/* The unit of a parameter's value, for code that rescales inputs or outputs. */
typedef enum ct_unit {
    CT_UNIT_NONE = 0, /* none: alpha, offset, the lengthscale of periodic */
    CT_UNIT_INPUT,    /* that of input column `column`: lengthscales, period */
    CT_UNIT_VARIANCE, /* that of k itself: the first variance in a product */
} ct_unit;

typedef struct ct_param {
    char name
        /* Unique in its kernel: "rbf.lengthscale" (with ARD "rbf.lengthscale[2]", the number of the input
         * column), "scale.variance", "rq.alpha", "periodic.period", "cosine.period", "poly.offset",
         * "constant.variance", "white.variance", "index.w[level,k]", "index.kappa[level]". The second of a
         * name is "rbf#2.lengthscale". */
        [64];
    double value;        /* positive, unless any_sign */
    double lower, upper; /* by default 0 (-INFINITY with any_sign) and INFINITY */
    bool fixed;
    bool start_given; /* set by the text or ct_kernel_set; then the data do not set the start */
    ct_prior prior;
    ct_unit unit;
    int column;    /* for CT_UNIT_INPUT; -1: several columns share the parameter */
    bool any_sign; /* the value is any finite number; a fit searches in it, not in its log */
} ct_param;

/* The number of parameters. They are in the order of the text, a scale before what it multiplies. Within a
 * profile the lengthscales come first, within index W. All except those of index start at 1; none has bounds
 * or priors. */
CT_API int64_t ct_kernel_params(const ct_kernel *k);
/* Parameter i, borrowed until the kernel is changed by ct_kernel_set or otherwise; NULL out of range. */
CT_API const ct_param *ct_kernel_param(const ct_kernel *k, int64_t i);
/* The index of the parameter with this name, or -1. */
CT_API int64_t ct_kernel_find(const ct_kernel *k, const char *name);
/* Replaces all members of parameter i except name, unit, column and any_sign. start_given becomes true if it
 * is set in `param` or the value changes. CT_EINVAL, with k unchanged, unless the value is finite and within
 * the bounds, lower <= value <= upper, and the prior is valid. Without any_sign the value must be positive
 * and lower >= 0; with any_sign the prior must be none or normal. */
CT_API ct_status ct_kernel_set(ct_kernel *k, int64_t i, const ct_param *param);

/* -- on the tape ----------------------------------------------------------------------------------------- */

/* K_ij = k(x_i, z_j):  theta (..., P), X (..., n, d), Z (..., m, d) -> (..., n, m), where the batch
 * dimensions broadcast. If X and Z are the same handle, the matrix is symmetric and white adds to its
 * diagonal. theta, X and Z get gradients. theta holds the parameters' values in order; the values inside the
 * kernel are not used. The kernel must be bound to d columns, else the tape fails with a message. The tape
 * keeps its own copy of the kernel. Value and backward rule are one fused pass each; a recorded sweep and
 * the forward rule are a composition of ops. */
CT_API ct_var ct_cov(const ct_kernel *k, ct_var theta, ct_var X, ct_var Z);
/* k(x_i, x_i), including white: theta (..., P), X (..., n, d) -> (..., n). */
CT_API ct_var ct_cov_diag(const ct_kernel *k, ct_var theta, ct_var X);
/* The ops of the two functions above. ct_op_cov takes theta, X for the symmetric matrix, or theta, X, Z;
 * ct_op_cov_diag takes theta, X. The attribute is the program. */
CT_API extern const struct ct_op ct_op_cov, ct_op_cov_diag;
/* The parameters' current values as a new leaf (P). k must be bound (ct_kernel_bind). */
CT_API ct_var ct_kernel_theta(const ct_kernel *k, ct_tape *tape, ct_dtype dtype);

CT_END_DECLS
#endif
