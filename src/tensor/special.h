/* The polygamma functions. The code compiles in C and CUDA: the includer defines CT__FN and CT__CONST, the
 * storage classes of functions and of constants, and CT__LGAMMA, log|gamma| of a double, and includes
 * <math.h>. */
#ifndef CT_TENSOR_SPECIAL_H
#define CT_TENSOR_SPECIAL_H

enum { MAX_REFLECTED = 32 }; /* highest order for x < 0 */

/* FAR: the asymptotic series is used from here on. */
CT__CONST double FAR = 15, PI = 3.14159265358979323846;

/* Bernoulli numbers B_2j, j = 1, 2, ... */
CT__CONST double bernoulli[] = {
    0.16666666666666666667,  -0.033333333333333333333, 0.023809523809523809524, -0.033333333333333333333,
    0.075757575757575757576, -0.25311355311355311355,  1.1666666666666666667,   -7.0921568627450980392,
    54.971177944862155388,   -529.12424242424242424,   6192.1231884057971014,   -86580.253113553113553,
    1425517.1666666666667,   -27298231.067816091954,   601580873.90064236838,
};
enum { BERNOULLI = sizeof bernoulli / sizeof *bernoulli };

/* The positive root of digamma, as an unevaluated sum, and digamma's Taylor coefficients there, from the
 * first order on. */
CT__CONST double ROOT = 1.4616321449683622, ROOT_REST = 9.549995429965697e-17;
CT__CONST double at_root[] = {
    0.96767224544762117043,     -0.44276316898359210609,    0.25849976095565101062,
    -0.1639427054424065275,     0.10782405069126236576,     -0.072199561256454710926,
    0.048804288164143107225,    -0.033161126474847359292,   0.02259764823221810466,
    -0.015424765904948959139,   0.010538791616612175388,    -0.007204534386356868241,
    0.0049267813957298534464,   -0.0033698016554393280828,  0.0023051263267349278369,
    -0.0015769367714301972593,  0.0010788252019162965807,   -0.00073807093899600512957,
    0.00050495326583460203518,  -0.00034546802510630769956, 0.00023635601564027052792,
    -0.00016170622091974803449, 0.00011063372768747410904,  -0.000075691795821950659192,
};
enum { AT_ROOT = sizeof at_root / sizeof *at_root };

/* digamma for x > 0: from FAR on log x - 1/(2x) - Σ B_2j / (2j x^2j) [Abramowitz & Stegun 6.3.18]; below FAR
 * the recurrence digamma(x) = digamma(x+1) - 1/x; near the root the Taylor series. */
CT__FN double digamma(double x)
{
    double near = (x - ROOT) - ROOT_REST;
    if (fabs(near) < 0.25) {
        double sum = 0;
        for (int i = AT_ROOT; i-- > 0;) sum = sum * near + at_root[i];
        return sum * near;
    }
    double shift = 0;
    for (; x < FAR; x++) shift += 1 / x;
    double square = 1 / (x * x), power = square, series = 0;
    for (int j = 1; j <= 8; j++) {
        series += bernoulli[j - 1] / (2 * j) * power;
        power *= square;
    }
    return (log(x) - 0.5 / x - series) - shift;
}

/* (k-1)! / x^k */
CT__FN double leading_term(int k, double x)
{
    if (k > 100) return exp(CT__LGAMMA((double)k) - k * log(x));
    double term = 1 / x;
    for (int i = 1; i < k; i++) term *= i / x;
    return term;
}

/* |polygamma(k, x)| = k! Σ_j (x+j)^-(k+1) for k > 0, x > 0. The first n terms are summed directly. The rest,
 * with z = x + n, is
 *     (k-1)!/z^k [1 + k/(2z) + Σ B_2j (2j+k-1)! / ((2j)! (k-1)! z^2j)]      [Abramowitz & Stegun 6.4.10-11]
 * All is computed relative to the leading term. */
CT__FN double magnitude(int k, double x)
{
    double sum = 0, z = x;
    for (; z < FAR + k; z++) sum += pow(x / z, k + 1.0);
    sum *= k / x;
    double series = 1 + k / (2 * z), rising = k / (z * z) * (k + 1) / 2;
    for (int j = 1; j <= BERNOULLI; j++) {
        series += bernoulli[j - 1] * rising;
        rising *= (2 * j + k) / z * (2 * j + k + 1) / z / (2 * j + 1) / (2 * j + 2);
    }
    return leading_term(k, x) * (sum + pow(x / z, k) * series);
}

/* cot πx, exactly zero at the half-integers. */
CT__FN double cot_pi(double x)
{
    double r = x - round(x);
    return fabs(r) <= 0.25 ? 1 / tan(PI * r) : r > 0 ? tan(PI * (0.5 - r)) : -tan(PI * (0.5 + r));
}

/* The k-th derivative of π cot(πx): with c = cot πx, d/dx p(c) = -π (1 + c²) p'(c). */
CT__FN double cot_derivative(int k, double x)
{
    double p[MAX_REFLECTED + 2] = { 0, 1 }, c = cot_pi(x), factor = PI;
    for (int n = 0; n < k; n++) {
        double q[MAX_REFLECTED + 2] = { 0 };
        for (int i = 1; i <= n + 1; i++) {
            q[i - 1] -= i * p[i];
            q[i + 1] -= i * p[i];
        }
        for (int i = 0; i <= n + 2; i++) p[i] = q[i];
        factor *= PI;
    }
    double sum = 0;
    for (int i = k + 1; i >= 0; i--) sum = sum * c + p[i];
    return factor * sum;
}

CT__FN double polygamma(int k, double x)
{
    if (k < 0 || x != x) return (double)NAN;
    double sign = k % 2 ? 1 : -1;
    if (x == INFINITY) return k ? 0 : INFINITY;
    if (x > 0) return k ? sign * magnitude(k, x) : digamma(x);
    if (x == 0) return sign * INFINITY;
    /* a pole; or an order above MAX_REFLECTED; or so far left that every double is a pole */
    if (x == floor(x) || k > MAX_REFLECTED) return (double)NAN;
    double mirror = k ? magnitude(k, 1 - x) : digamma(1 - x);
    return (k ? -mirror : mirror) - cot_derivative(k, x);
}

#endif
