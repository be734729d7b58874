/* The target's transforms z = g(y), a row of a table each: value, inverse, slope and moments.
 *                                    [Snelson, Rasmussen & Ghahramani 2004, "Warped Gaussian processes"] */
#include <math.h>

#include <cotangent/gp/transform.h>
#include <cotangent/profiles.h>

typedef struct moments {
    double mean, variance;
} moments;

/* -- none ------------------------------------------------------------------------------------------------ */

static double same(double y) { return y; }
static double zero(double y) { return y * 0; }
static moments same_moments(double m, double s) { return (moments){ m, s * s }; }

/* -- log ------------------------------------------------------------------------------------------------- */

static double log_value(double y) { return y > 0 ? log(y) : NAN; }
static double log_slope(double y) { return -log(y); }

/* The log-normal: E y = exp(m + s²/2), Var y = (1 - exp(-s²)) exp(2m + 2s²). */
static moments log_moments(double m, double s)
{
    const double v = s * s;
    return (moments){ exp(m + 0.5 * v), -expm1(-v) * exp(2 * (m + v)) };
}

/* -- logit ----------------------------------------------------------------------------------------------- */

static double logit(double y) { return y > 0 && y < 1 ? log(y) - log1p(-y) : NAN; }
static double logistic(double z) { return 1 / (1 + exp(-z)); }
static double logit_slope(double y) { return -log(y) - log1p(-y); }

/* For t = (z - m) / s: y(t) - y(0) = sinh(st/2) / 2 cosh((m + st)/2) cosh(m/2). Integrates it and its square
 * over the normal density by the trapezoidal rule. The error is exp(-2π²/hs), since the poles of y are at
 * ±iπ/s. */
static moments narrow_logit(double m, double s)
{
    const double h = 0.25, root = sqrt(2 * CT__PI);
    double first = 0, second = 0;
    for (double t = -13; t <= 13; t += h) {
        const double step = sinh(0.5 * s * t) / (2 * cosh(0.5 * (m + s * t)) * cosh(0.5 * m));
        const double weight = h * exp(-0.5 * t * t) / root;
        first += weight * step;
        second += weight * step * step;
    }
    return (moments){ logistic(m) + first, second - first * first };
}

/* Integration by parts, with P(z > u) = Φ((m - u)/s):
 *     E y = ∫ y'(u) P(z > u) du,   E y² = ∫ 2 y(u) y'(u) P(z > u) du
 * by the trapezoidal rule with an error of exp(-2π²/h). */
static moments wide_logit(double m, double s)
{
    const double h = 0.5;
    double first = 0, second = 0;
    for (double u = -40; u <= 40; u += h) {
        const double above = 0.5 * erfc((u - m) / (s * sqrt(2))), y = logistic(u);
        const double term = h * y * logistic(-u) * above;
        first += term;
        second += 2 * y * term;
    }
    return (moments){ first, second - first * first };
}

static moments logit_moments(double m, double s)
{
    moments of = (s <= 2 ? narrow_logit : wide_logit)(-fabs(m), s);
    if (m > 0) of.mean = 1 - of.mean;
    return of;
}

/* -- sqrt ------------------------------------------------------------------------------------------------ */

static double square(double z) { return z > 0 ? z * z : 0; }
static double sqrt_value(double y) { return y >= 0 ? sqrt(y) : NAN; }
static double sqrt_slope(double y) { return -log(2 * sqrt(y)); }

/* The moments of max(z, 0)², with a = m/s:
 *     E y / s² = (a² + 1) Φ(a) + a φ(a),   E y² / s⁴ = (a⁴ + 6a² + 3) Φ(a) + (a³ + 5a) φ(a)
 * For a > 0 they are those of z², a mean of m² + s² and a variance of 4m²s² + 2s⁴, minus the same functions
 * of -a. Beyond |a| = 40, Φ(-|a|) is 0. */
static moments sqrt_moments(double m, double s)
{
    const double a = fabs(m / s), b = a * a, v = s * s;
    if (!(a < 40)) return (moments){ square(m) + (m > 0 ? v : 0), m > 0 ? v * (4 * m * m + 2 * v) : 0 };
    const double tail = 0.5 * erfc(a / sqrt(2)), density = exp(-0.5 * b) / sqrt(2 * CT__PI);
    const double second = (b + 1) * tail - a * density;
    const double fourth = (b * b + 6 * b + 3) * tail - (b * a + 5 * a) * density;
    if (m <= 0) return (moments){ v * second, v * (v * (fourth - second * second)) };
    return (moments){ m * m + v - v * second,
                      v * (4 * m * m + 2 * v + 2 * (m * m + v) * second - v * (fourth + second * second)) };
}

/* -- the table ------------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *domain;
    double (*value)(double y), (*inverse)(double z), (*log_slope)(double y);
    moments (*moments)(double m, double s); /* s > 0 */
} table[] = {
    [CT_TRANSFORM_NONE] = { "none", "any number", same, same, zero, same_moments },
    [CT_TRANSFORM_LOG] = { "log", "numbers above 0", log_value, exp, log_slope, log_moments },
    [CT_TRANSFORM_LOGIT] = { "logit", "numbers between 0 and 1", logit, logistic, logit_slope,
                             logit_moments },
    [CT_TRANSFORM_SQRT] = { "sqrt", "numbers from 0 on", sqrt_value, square, sqrt_slope, sqrt_moments },
};

static ct_transform_kind known(ct_transform_kind kind)
{
    return (unsigned)kind > CT_TRANSFORM_SQRT ? CT_TRANSFORM_NONE : kind;
}

const char *ct_transform_name(ct_transform_kind kind) { return table[known(kind)].name; }
const char *ct_transform_domain(ct_transform_kind kind) { return table[known(kind)].domain; }
double ct_transform_value(ct_transform t, double y) { return table[known(t.kind)].value(y); }
double ct_transform_inverse(ct_transform t, double z) { return table[known(t.kind)].inverse(z); }

double ct_transform_log_slope(ct_transform t, double y)
{
    return table[known(t.kind)].log_slope(t.kind == CT_TRANSFORM_SQRT ? fmax(y, t.least) : y);
}

void ct_transform_moments(ct_transform t, double mean, double variance, double *mean_of_y,
                          double *variance_of_y)
{
    const moments of = variance > 0 ? table[known(t.kind)].moments(mean, sqrt(variance))
                                    : (moments){ ct_transform_inverse(t, mean), 0 };
    if (mean_of_y) *mean_of_y = of.mean;
    if (variance_of_y) *variance_of_y = of.variance < 0 ? 0 : of.variance;
}
