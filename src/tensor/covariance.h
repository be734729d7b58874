/* Defines the macros of the covariance profiles' formulas (profiles.h) as arithmetic in the type T, and the
 * range of s.
 *
 * For CT_DOT s may be infinite. For the other geometries it is at most CT__FAR, and with a heavy tail also at
 * most a times the largest number of T, so that all terms of the formulas stay finite. A larger s is replaced
 * by this bound. If the tail is heavy and a is below CT__HEAVY, an s beyond CT__FAR gives NaN instead. */
#ifndef CT_TENSOR_COVARIANCE_H
#define CT_TENSOR_COVARIANCE_H

#include <cotangent/cov_program.h>

/* Each has a value for f64 (`wide`) and one for f32. CT__FAR: the largest s. CT__STEEP: weights 1/l² are used
 * from 1 / CT__STEEP to CT__STEEP; outside, differences are divided by the lengthscales before they are
 * squared. CT__HEAVY: from this a on, (1 + s/2a)^-a is below round-off at the largest s. */
#define CT__FAR(wide)   ((wide) ? 1e300 : 1e36)
#define CT__STEEP(wide) ((wide) ? 1e200 : 1e24)
#define CT__HEAVY(wide) ((wide) ? 0.0625 : 0.25)

/* Here r1 is r. The backends define EXP, LOG1P, POWI, SIN2PI and COS2PI. */
#define ADD(x, y)      ((x) + (y))
#define SUB(x, y)      ((x) - (y))
#define MUL(x, y)      ((x) * (y))
#define DIV(x, y)      ((x) / (y))
#define NEG(x)         (-(x))
#define SCALE(c, x)    ((T)(c) * (x))
#define SHIFT(x, c)    ((x) + (T)(c))
#define NUMBER(c)      ((T)(c))
#define POSITIVE(x, y) (s > 0 ? (x) : (y))
#define NONE           ((T)0)

#endif
