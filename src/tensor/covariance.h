/* The covariance profiles, one line each, read by every backend.
 *
 * M(code, geometry, u, value, ds, da)
 *     geometry: what s is, for points x and z, weights w_d = 1/l_d² over the active dimensions:
 *         CT_DISTANCE  s = Σ w_d (x_d - z_d)²
 *         CT_SINE      s = Σ w_d sin²(π (x_d - z_d)/a)
 *         CT_DOT       s = Σ w_d x_d z_d
 *     u:        what the others share; an expression over s, r = √s and the extra parameter a (alpha, period,
 *               offset), the degree and the type T. EXP, LOG1P and SQRT are those of T; SIN2PI and COS2PI take turns,
 *               sin 2πt; POWI(x, i) is xⁱ, i >= 0.
 *     value:    y = k(s, a), also over u
 *     ds, da:   ∂k/∂s and ∂k/∂a, also over u and y. Finite at s = 0; for the sine, ∂k/∂a at fixed s.
 *
 * The period of the cosine is its lengthscale: s counts turns. A phase that is larger than the precision of T
 * is a whole number of turns.
 *
 * s of a distance or of sines is at most CT__FAR, and of a rational quadratic a times the largest number of
 * T, so that the terms below stay finite. More is as far as that, but NaN beyond CT__FAR where the tail is so
 * heavy that it matters. s of a dot product may be infinite. src/gp/kernel/kernel_rules.h holds the same in ops.
 * [Rasmussen & Williams 2006, ch. 4] */
#ifndef CT_TENSOR_COVARIANCE_H
#define CT_TENSOR_COVARIANCE_H

#include <cotangent/covariance.h>

enum { CT_DISTANCE, CT_SINE, CT_DOT };

/* In f64 and in f32: the largest s; the largest weight that is used, and 1 over the smallest one (without
 * them s is computed from differences divided by the lengthscales); the alpha from which (1 + s/2α)^-α is
 * rounding at the largest s. */
#define CT__FAR(wide)   ((wide) ? 1e300 : 1e36)
#define CT__STEEP(wide) ((wide) ? 1e200 : 1e24)
#define CT__HEAVY(wide) ((wide) ? 0.0625 : 0.25)

#define CT__SQRT3 1.7320508075688772
#define CT__SQRT5 2.2360679774997897
#define CT__PI    3.1415926535897932

/* clang-format off */
#define CT_PROFILES(M)                                                                                                      \
    M(CT_COV_RBF,                CT_DISTANCE, EXP(-s / 2),                u,                             -u / 2,   (T)0)    \
    M(CT_COV_MATERN12,           CT_DISTANCE, EXP(-r),                    u,       s > 0 ? -u / (2 * r) : (T)0,    (T)0)    \
    M(CT_COV_MATERN32,           CT_DISTANCE, EXP((T)-CT__SQRT3 * r),     (1 + (T)CT__SQRT3 * r) * u,                       \
                                                                                                   -(T)1.5 * u,    (T)0)    \
    M(CT_COV_MATERN52,           CT_DISTANCE, EXP((T)-CT__SQRT5 * r),     (1 + (T)CT__SQRT5 * r + s * (T)(5. / 3)) * u,     \
                                                               -(T)(5. / 6) * (1 + (T)CT__SQRT5 * r) * u,          (T)0)    \
    M(CT_COV_RATIONAL_QUADRATIC, CT_DISTANCE, LOG1P(s / (2 * a)),         EXP(-a * u),        -y / (2 + s / a),             \
                                                                                              y * (s / (2 * a + s) - u))    \
    M(CT_COV_PERIODIC,           CT_SINE,     EXP(-2 * s),                u,                         -2 * u,       (T)0)    \
    M(CT_COV_COSINE,             CT_DISTANCE, r,                          COS2PI(u),                                        \
                                    s > 0 ? (T)-CT__PI * SIN2PI(u) / u : (T)(-2 * CT__PI * CT__PI),               (T)0)    \
    M(CT_COV_LINEAR,             CT_DOT,      s,                          u,                             (T)1,     (T)0)    \
    M(CT_COV_POLYNOMIAL,         CT_DOT,      POWI(a + s, degree - 1),    u * (a + s),         (T)degree * u,               \
                                                                                                         (T)degree * u)
/* clang-format on */

#endif
