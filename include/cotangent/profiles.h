/* The covariance profiles, one row each. Kernel texts, constructors, parameters, every backend's tiles, the
 * rules in ops and the tests read these rows. A new profile is a row here and a line in docs/kernels.md.
 *
 * A profile is k(s, a): s is one number for a pair of points, a is the one parameter beside the lengthscales.
 *
 * M(CODE, name, text, lengthscales, extra, unit, geometry, tail, u, value, ds, da)
 *     CODE, name    programs call the profile CT_COV_CODE; the constructor is ct_kernel_name()
 *     text          its name in kernel texts and in the names of parameters
 *     lengthscales  whether it has lengthscales: one, or with ard one for each active column
 *     extra, unit   the name of a, and its ct_unit; NULL, CT_UNIT_NONE: there is no a. A distance without
 *                   lengthscales is measured in units of a.
 *     geometry      how s is computed: a ct_cov_geometry. k(0, a) = 1, except for CT_DOT.
 *     tail          CT_HEAVY: k falls like (s/a)^-a, so with a small a it is not yet 0 at the largest s of
 *                   the dtype; CT_LIGHT: k is 0 there, or does not fall
 *     u             a common subexpression of value, ds and da
 *     value         y = k(s, a); may use u
 *     ds, da        ∂k/∂s and ∂k/∂a; may use u and y. Finite at s = 0. For CT_SINE, ∂k/∂a is at fixed s.
 *
 * The CPU and CUDA read the formulas u, value, ds and da as arithmetic. The tape reads u and value as ops,
 * and for CT_DISTANCE also ds and da. The formulas consist of:
 *     s, a, u, y                 as above
 *     r                          √s, for CT_DISTANCE only
 *     degree                     of the polynomial, an int
 *     ADD SUB MUL DIV (x, y), NEG EXP LOG1P (x)
 *     SCALE(c, x), SHIFT(x, c)   c x and x + c, where c is a number
 *     NUMBER(c)                  c
 *     POWI(x, i)                 xⁱ, i >= 0
 *     SIN2PI(t), COS2PI(t)       sin 2πt and cos 2πt
 *     POSITIVE(x, y)             x where s > 0, else y; x may divide by r1, which is r there
 *     NONE                       da if there is no a, or if k depends on it through s alone
 * [Rasmussen & Williams 2006, ch. 4] */
#ifndef COTANGENT_PROFILES_H
#define COTANGENT_PROFILES_H

/* For points x and z and weights w_d = 1/l_d² over the active columns. */
typedef enum ct_cov_geometry {
    CT_DISTANCE, /* s = Σ w_d (x_d - z_d)²           */
    CT_SINE,     /* s = Σ w_d sin²(π (x_d - z_d)/a)  */
    CT_DOT,      /* s = Σ w_d x_d z_d                */
    CT_DIFFER,   /* s = Σ [x_d ≠ z_d] / l_d          */
} ct_cov_geometry;

/* s is proportional to l^-power of each lengthscale. */
#define CT_COV_POWER(geometry) ((geometry) == CT_DIFFER ? 1 : 2)

enum { CT_LIGHT, CT_HEAVY };

#define CT__SQRT3 1.7320508075688772
#define CT__SQRT5 2.2360679774997897
#define CT__PI    3.1415926535897932

/* clang-format off */
#define CT_PLAIN_PROFILES(M)                                                                                \
    /* exp(-s/2) */                                                                                         \
    M(RBF, rbf, "rbf", true, NULL, CT_UNIT_NONE, CT_DISTANCE, CT_LIGHT,                                     \
      EXP(SCALE(-0.5, s)), u, SCALE(-0.5, u), NONE)                                                         \
    /* exp(-r) */                                                                                           \
    M(MATERN12, matern12, "matern12", true, NULL, CT_UNIT_NONE, CT_DISTANCE, CT_LIGHT,                      \
      EXP(NEG(r)), u, POSITIVE(DIV(u, SCALE(-2, r1)), NUMBER(0)), NONE)                                     \
    /* (1 + √3 r) exp(-√3 r) */                                                                             \
    M(MATERN32, matern32, "matern32", true, NULL, CT_UNIT_NONE, CT_DISTANCE, CT_LIGHT,                      \
      EXP(SCALE(-CT__SQRT3, r)), MUL(SHIFT(SCALE(CT__SQRT3, r), 1), u), SCALE(-1.5, u), NONE)               \
    /* (1 + √5 r + 5s/3) exp(-√5 r) */                                                                      \
    M(MATERN52, matern52, "matern52", true, NULL, CT_UNIT_NONE, CT_DISTANCE, CT_LIGHT,                      \
      EXP(SCALE(-CT__SQRT5, r)), MUL(ADD(SHIFT(SCALE(CT__SQRT5, r), 1), SCALE(5. / 3, s)), u),              \
      MUL(SCALE(-5. / 6, SHIFT(SCALE(CT__SQRT5, r), 1)), u), NONE)                                          \
    /* (1 + s/2a)^-a */                                                                                     \
    M(RATIONAL_QUADRATIC, rational_quadratic, "rq", true, "alpha", CT_UNIT_NONE, CT_DISTANCE, CT_HEAVY,     \
      LOG1P(DIV(s, SCALE(2, a))), EXP(NEG(MUL(a, u))),                                                      \
      NEG(DIV(y, SHIFT(DIV(s, a), 2))), MUL(y, SUB(DIV(s, ADD(SCALE(2, a), s)), u)))                        \
    /* exp(-2s) */                                                                                          \
    M(PERIODIC, periodic, "periodic", true, "period", CT_UNIT_INPUT, CT_SINE, CT_LIGHT,                     \
      EXP(SCALE(-2, s)), u, SCALE(-2, u), NONE)                                                             \
    /* cos 2πr: r counts turns. A phase too large for its fraction to be held is a whole number of turns. */ \
    M(COSINE, cosine, "cosine", false, "period", CT_UNIT_INPUT, CT_DISTANCE, CT_LIGHT,                      \
      r, COS2PI(u), POSITIVE(DIV(SCALE(-CT__PI, SIN2PI(u)), r1), NUMBER(-2 * CT__PI * CT__PI)), NONE)       \
    /* s */                                                                                                 \
    M(LINEAR, linear, "linear", true, NULL, CT_UNIT_NONE, CT_DOT, CT_LIGHT,                                 \
      s, u, NUMBER(1), NONE)                                                                                \
    /* exp(-s), of codes: the same level or another one */                                                  \
    M(CATEGORY, category, "category", true, NULL, CT_UNIT_NONE, CT_DIFFER, CT_LIGHT,                        \
      EXP(NEG(s)), u, NEG(u), NONE)

/* Profiles with a degree: an argument of the constructor, degree= in the text. */
#define CT_PROFILES_OF_DEGREE(M)                                                                            \
    /* (a + s)^degree */                                                                                    \
    M(POLYNOMIAL, polynomial, "poly", true, "offset", CT_UNIT_NONE, CT_DOT, CT_LIGHT,                       \
      POWI(ADD(a, s), degree - 1), MUL(u, ADD(a, s)), SCALE(degree, u), SCALE(degree, u))

#define CT_PROFILES(M) CT_PLAIN_PROFILES(M) CT_PROFILES_OF_DEGREE(M)
/* clang-format on */

#endif
