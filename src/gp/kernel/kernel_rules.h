/* The covariance profiles in ops: the second copy of src/tensor/covariance.h, for sweeps that are recorded.
 *
 * M(code, geometry, u, value, ds, da) over the vars s, a (the extra parameter), u and y, and
 *     some = 1 where s > 0, else 0;  r1 = √s there, else 1;  r = some r1.
 * The derivative of r is 0 at s = 0. ds is written out, so that a second derivative is right there, too: what
 * the rule for r leaves out is multiplied by ∂s/∂x = 0. ct_var{0}: none. */
#ifndef CT_GP_KERNEL_RULES_H
#define CT_GP_KERNEL_RULES_H

#define CT__SQRT3 1.7320508075688772
#define CT__SQRT5 2.2360679774997897
#define CT__PI    3.1415926535897932

enum { CT_DISTANCE, CT_SINE, CT_DOT };

/* clang-format off */
#define CT__KERNEL_RULES(M)                                                                                             \
    M(CT_COV_RBF,                CT_DISTANCE, ct_exp(ct_scale(s, -0.5)), u, ct_scale(u, -0.5), none)                        \
    M(CT_COV_MATERN12,           CT_DISTANCE, ct_exp(ct_neg(r)), u, ct_mul(some, ct_div(u, ct_scale(r1, -2))), none)        \
    M(CT_COV_MATERN32,           CT_DISTANCE, ct_exp(ct_scale(r, -CT__SQRT3)),                                              \
                                              ct_mul(ct_shift(ct_scale(r, CT__SQRT3), 1), u), ct_scale(u, -1.5), none)      \
    M(CT_COV_MATERN52,           CT_DISTANCE, ct_exp(ct_scale(r, -CT__SQRT5)),                                              \
                                 ct_mul(ct_shift(ct_add(ct_scale(r, CT__SQRT5), ct_scale(s, 5. / 3)), 1), u),               \
                                 ct_mul(ct_scale(ct_shift(ct_scale(r, CT__SQRT5), 1), -5. / 6), u), none)                   \
    M(CT_COV_RATIONAL_QUADRATIC, CT_DISTANCE, ct_log1p(ct_div(s, ct_scale(a, 2))), ct_exp(ct_neg(ct_mul(a, u))),            \
                                              ct_neg(ct_div(y, ct_shift(ct_div(s, a), 2))),                                 \
                                              ct_mul(y, ct_sub(ct_div(s, ct_add(ct_scale(a, 2), s)), u)))                   \
    M(CT_COV_PERIODIC,           CT_SINE,     ct_exp(ct_scale(s, -2)), u, ct_scale(u, -2), none)                            \
    M(CT_COV_COSINE,             CT_DISTANCE, ct_scale(r, 2 * CT__PI), ct_cos(u),                                           \
                                 ct_scale(ct_where(some, ct_div(ct_sin(u), ct_scale(r1, 2 * CT__PI)), one),                 \
                                          -2 * CT__PI * CT__PI), none)                                                      \
    M(CT_COV_LINEAR,             CT_DOT,      s, u, one, none)                                                              \
    M(CT_COV_POLYNOMIAL,         CT_DOT,      ct_pow(ct_add(a, s), degree - 1), ct_mul(u, ct_add(a, s)),                    \
                                              ct_scale(u, degree), ct_scale(u, degree))
/* clang-format on */

#endif
