/* Covariance kernels: expression trees of profiles, sums, products and scales, with named positive
 * parameters.
 *
 *     ct_kernel *k = ct_kernel_parse("scale * rbf(ard) + scale * periodic * rbf + white");
 *     ct_kernel *k = ct_kernel_sum(ct_kernel_scale(ct_kernel_rbf()), ct_kernel_white());
 *
 * A kernel is a plain host object without a device, with at most 256 nodes. Building returns NULL only if
 * memory is exhausted or NULL was passed in. Any other error stays in the object (ct_kernel_status,
 * ct_kernel_message), and kernels built from it carry it on. Functions that build a kernel from a ct_kernel *
 * take that kernel over, also on failure. So an object is used once: k * k is ct_kernel_product(k,
 * ct_kernel_copy(k)). */
#ifndef COTANGENT_KERNEL_H
#define COTANGENT_KERNEL_H

#include <cotangent/column.h>
#include <cotangent/cov_program.h>
#include <cotangent/tape.h>

CT_BEGIN_DECLS

typedef struct ct_kernel ct_kernel;

/* -- profiles -------------------------------------------------------------------------------------------- */
/* One constructor for each row of profiles.h, which has the formulas: ct_kernel_rbf(), ct_kernel_matern12(),
 * ..., ct_kernel_polynomial(degree). r² = Σ_d (x_d - z_d)² / l_d² over the active dimensions, with one
 * lengthscale l, or one for each dimension after ct_kernel_ard. All have k(x, x) = 1 except linear,
 * polynomial and constant. [Rasmussen & Williams 2006, ch. 4] */
#define CT__PLAIN(CODE, name, ...)     CT_API ct_kernel *ct_kernel_##name(void);
#define CT__OF_DEGREE(CODE, name, ...) CT_API ct_kernel *ct_kernel_##name(int degree);
CT_PLAIN_PROFILES(CT__PLAIN)
CT_PROFILES_OF_DEGREE(CT__OF_DEGREE)
#undef CT__PLAIN
#undef CT__OF_DEGREE

CT_API ct_kernel *ct_kernel_constant(void); /* its variance, everywhere */
/* The variance where x and z are the same row of the same tensor, else 0. */
CT_API ct_kernel *ct_kernel_white(void);
/* The coregionalisation matrix at the codes c and c' in one column: k = (W Wᵀ + diag κ)[c, c'], with W
 * (levels, rank) of any sign and κ (levels) positive. [Bonilla, Chai & Williams 2008; Álvarez, Rosasco &
 * Lawrence 2012, §4.2] Codes other than 0 to levels - 1 are one more level, whose covariance with the others
 * is 0, and whose variance is their average. A code that is not finite gives NaN. W starts as
 * w_lk = 0.7 cos(π k (2l + 1) / (2 levels)), κ at 0.5. 1 <= rank <= 16, rank <= levels <= 512. With
 * levels = 0 ct_gp_new takes them from the column, of ct_gp_options.inputs; until then there are no
 * parameters. */
CT_API ct_kernel *ct_kernel_index(int levels, int rank);

/* -- combinations ---------------------------------------------------------------------------------------- */

CT_API ct_kernel *ct_kernel_sum(ct_kernel *a, ct_kernel *b);
CT_API ct_kernel *ct_kernel_product(ct_kernel *a, ct_kernel *b);
/* variance * k; the variance is a positive parameter. */
CT_API ct_kernel *ct_kernel_scale(ct_kernel *k);
/* Gives every profile of k that has lengthscales one for each active dimension. */
CT_API ct_kernel *ct_kernel_ard(ct_kernel *k);
/* Restricts every profile of k to these columns of the inputs, counted from 0: 1 to 4096 columns, none of
 * them twice. Replaces an earlier choice. */
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
 * every locale. Parentheses nest at most 64 deep. For a bad text the kernel carries CT_EFORMAT and a message
 * of three lines: the error, the text (or a part of it, if it is long), and a caret under the place. */
CT_API ct_kernel *ct_kernel_parse(const char *text);
/* The same, where dims may also name columns of the inputs, of which columns[0..n) tells the names:
 *     i = a number | a name without ":", "," and ")" that begins with no digit | '"' a name '"'
 * Quotes in quotes are doubled. The kernel keeps the numbers, and prints them. */
CT_API ct_kernel *ct_kernel_parse_named(const char *text, const ct_column *columns, int64_t n);
/* Writes the text that parses to the same kernel, at most `size` bytes with the final NUL. With `values` it
 * includes the parameters' present values, exactly, and whether they are fixed. It does not include bounds
 * and priors. Returns the length of the complete text. "" if k carries an error. */
CT_API size_t ct_kernel_print(const ct_kernel *k, bool values, char *buffer, size_t size);

/* The error of building; CT_ENOMEM for NULL. The message is that of this error, else of the last
 * ct_kernel_bind or ct_kernel_set that was refused, else "". Never NULL; owned by the kernel. */
CT_API ct_status ct_kernel_status(const ct_kernel *k);
CT_API const char *ct_kernel_message(const ct_kernel *k);

/* -- parameters ------------------------------------------------------------------------------------------ */

/* Sets the number of input columns, 1 to 1,000,000. Before, an ARD profile has one lengthscale, the start
 * value of all; after, it has one for each active column. CT_EINVAL if an active dimension lies outside, if
 * the number of lengthscales is not that of the columns, or if k is bound to another number of columns.
 * Binding again to the same number does nothing. Combining a bound kernel with another, ct_kernel_ard and
 * ct_kernel_active unbind it. */
CT_API ct_status ct_kernel_bind(ct_kernel *k, int64_t input_dims);
CT_API int64_t ct_kernel_input_dims(const ct_kernel *k); /* 0 before bind */
/* The program of a bound kernel, owned by the kernel and valid until it is changed or freed; NULL before
 * ct_kernel_bind. Its theta is the kernel's parameters in their order. */
CT_API const ct_cov_program *ct_kernel_program(const ct_kernel *k);

typedef enum ct_prior_kind {
    CT_PRIOR_NONE = 0,
    CT_PRIOR_NORMAL,      /* the parameter is normal: mean a, standard deviation b            */
    CT_PRIOR_LOG_NORMAL,  /* the log of the parameter is normal: mean a, standard deviation b */
    CT_PRIOR_GAMMA,       /* shape a, rate b                                                  */
    CT_PRIOR_HALF_CAUCHY, /* scale a                                                          */
    /* A soft lower bound, improper: exp(-½ (log(v/a)/b)²) for v < a, 1 above. */
    CT_PRIOR_SOFT_LOWER,
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
    double lower, upper; /* 0, with any_sign -INFINITY, and INFINITY: none given */
    bool fixed;
    bool start_given; /* set by the text or ct_kernel_set: no start value from the data */
    ct_prior prior;
    ct_unit unit;
    int column;    /* for CT_UNIT_INPUT; -1: several columns share the parameter */
    bool any_sign; /* the value is any finite number, and a fit searches in it rather than in its log */
} ct_param;

/* The number of parameters. They have the order of the text, a scale before what it multiplies; within a
 * profile the lengthscales come first, in index W before κ. All but those of index start at 1; none has
 * bounds or priors. */
CT_API int64_t ct_kernel_params(const ct_kernel *k);
/* Parameter i, borrowed until the kernel is changed; NULL out of range. ct_kernel_set changes it. */
CT_API const ct_param *ct_kernel_param(const ct_kernel *k, int64_t i);
/* The index of the parameter of that name; -1 if there is none. */
CT_API int64_t ct_kernel_find(const ct_kernel *k, const char *name);
/* Replaces all members of parameter i except name, unit, column and any_sign. start_given becomes true if it
 * is set in `param` or the value changes. CT_EINVAL, with k unchanged, unless the value is finite, positive
 * where it must be, lower <= value <= upper with such a lower >= 0, and the prior is valid: of what has any
 * sign, none or normal. */
CT_API ct_status ct_kernel_set(ct_kernel *k, int64_t i, const ct_param *param);

/* -- on the tape ----------------------------------------------------------------------------------------- */

/* K_ij = k(x_i, z_j):  theta (..., P), X (..., n, d), Z (..., m, d) -> (..., n, m), where the batch
 * dimensions broadcast. If X and Z are the same handle, the matrix is symmetric and white adds to its
 * diagonal. theta, X and Z get gradients. theta holds the parameters' values in their order; the values
 * inside the kernel are not used. The kernel must be bound to d columns, else the tape fails with a message
 * that says so; the tape keeps its own copy. Forward and backward are one fused pass each; a recorded sweep
 * is a composition of ops. */
CT_API ct_var ct_cov(const ct_kernel *k, ct_var theta, ct_var X, ct_var Z);
/* k(x_i, x_i), including white: theta (..., P), X (..., n, d) -> (..., n). */
CT_API ct_var ct_cov_diag(const ct_kernel *k, ct_var theta, ct_var X);
/* The ops of these two. ct_op_cov takes theta, X for the symmetric matrix, or theta, X, Z; ct_op_cov_diag
 * takes theta, X. The attribute is the program. */
CT_API extern const struct ct_op ct_op_cov, ct_op_cov_diag;
/* The parameters' present values as a new leaf (P). */
CT_API ct_var ct_kernel_theta(const ct_kernel *k, ct_tape *tape, ct_dtype dtype);

CT_END_DECLS
#endif
