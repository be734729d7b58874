#!/usr/bin/env python3
"""Writes transform_tables.h: GPs of z = g(y), by scikit-learn on g(y), and moments of y by scipy.

    python make_transform_tables.py > transform_tables.h          (needs numpy, scipy and scikit-learn)

The kernel is scale * rbf of one column, the mean zero and nothing is standardised. The negative log marginal
likelihood is scikit-learn's for g(y) less the sum of log g'(y), which must agree with central differences (at
y = 0 √y takes its average slope up to the smallest positive y). Leave-one-out removes each row in turn. Mean
and variance of y are scipy.integrate's over the normal density of z, piece by piece; quantiles are g⁻¹ of the
normal ones.
"""
import sys

import numpy as np
import scipy
import sklearn
from fold import fold
from scipy import integrate, stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as S

POINTS, NEW, FOLDS = 12, 3, 3
VARIANCE, LENGTH, NOISE = 1.3, 0.8, 0.07

rng = np.random.default_rng(11)
X = np.round(np.sort(rng.uniform(0, 4, POINTS)), 3)
Xs = np.array([0.5, 2.2, 6.0])
BASE = np.sin(2 * X) + 0.25 * rng.standard_normal(POINTS)

FORWARD = {"log": np.log, "logit": lambda y: np.log(y / (1 - y)), "sqrt": np.sqrt}
INVERSE = {"log": np.exp, "logit": lambda z: 1 / (1 + np.exp(-z)), "sqrt": lambda z: np.maximum(z, 0) ** 2}
TARGET = {"log": np.round(5 * np.exp(1.5 * BASE), 4), "logit": np.round(INVERSE["logit"](2 * BASE), 4),
          "sqrt": np.round(3 * np.maximum(BASE + 0.9, 0) ** 2, 1)}
assert (TARGET["sqrt"] == 0).any()


def log_slope(name, y):
    """log g'(y), by central differences of g."""
    h = 1e-6 * np.minimum(y, 1 - y if name == "logit" else y)
    with np.errstate(all="ignore"):
        d = (FORWARD[name](y + h) - FORWARD[name](y - h)) / (2 * h)
    if name == "sqrt":
        least = y[y > 0].min()
        d[y == 0] = (np.sqrt(least) - 0) / least
    exact = {"log": lambda: -np.log(y), "logit": lambda: -np.log(y * (1 - y)),
             "sqrt": lambda: -np.log(2 * np.sqrt(np.maximum(y, y[y > 0].min() / 4)))}[name]()
    np.testing.assert_allclose(np.log(d), exact, rtol=1e-7, atol=1e-7)
    return exact


def fit(X, z):
    kernel = S.ConstantKernel(VARIANCE) * S.RBF(LENGTH)
    return GaussianProcessRegressor(kernel, alpha=NOISE, optimizer=None).fit(X[:, None], z)


def predict(gp, Xs):
    mean, std = gp.predict(Xs[:, None], return_std=True)
    return mean, std**2 + NOISE


def left_out(z, slope, fold):
    """log p(y_i) by the rows of other folds."""
    density = np.empty(POINTS)
    for f in np.unique(fold):
        out = fold == f
        mean, variance = predict(fit(X[~out], z[~out]), X[out])
        density[out] = stats.norm.logpdf(z[out], mean, np.sqrt(variance)) + slope[out]
    return density


def moments(name, m, s):
    """Mean and variance of y by adaptive quadrature."""
    def expect(f):
        whole = lambda t: f(INVERSE[name](m + s * t)) * stats.norm.pdf(t)
        ends = sorted({-38.0, 38.0, *[e for e in (-12.0, -m / s, 12.0, 2 * s, 4 * s) if -38 < e < 38]})
        return sum(integrate.quad(whole, a, b, epsabs=0, epsrel=1e-13, limit=500)[0]
                   for a, b in zip(ends, ends[1:]))
    with np.errstate(over="ignore"):
        mean = expect(lambda y: y)
        return mean, expect(lambda y: (y - mean)**2)


def listing(values):
    return ", ".join(repr(float(v)) for v in np.asarray(values).reshape(-1))


def main():
    print("/* Written by make_transform_tables.py with numpy %s, scipy %s and scikit-learn %s. */" %
          (np.__version__, scipy.__version__, sklearn.__version__))
    print("/* clang-format off */")
    print("enum { TRANSFORM_POINTS = %d, TRANSFORM_NEW = %d };" % (POINTS, NEW))
    print(fold("static const double transform_X[] = { %s };" % listing(X)))
    print(fold("static const double transform_Xs[] = { %s };" % listing(Xs)))
    print("/* variance, lengthscale, noise */")
    print("static const double transform_theta[] = { %s };" % listing([VARIANCE, LENGTH, NOISE]))
    print("\ntypedef struct transform_row {\n    ct_transform_kind kind;")
    print("    double y[TRANSFORM_POINTS], nlml;")
    print("    /* log densities: leave-one-out, and by folds of row %% %d */" % FOLDS)
    print("    double loo[TRANSFORM_POINTS], folds[TRANSFORM_POINTS];")
    print("    /* a new observation: of z, of y, and the 2.5 % and 97.5 % quantiles of y */")
    print("    double z_mean[TRANSFORM_NEW], z_variance[TRANSFORM_NEW], mean[TRANSFORM_NEW], "
          "variance[TRANSFORM_NEW];")
    print("    double lower[TRANSFORM_NEW], upper[TRANSFORM_NEW];\n} transform_row;\n")
    print("static const transform_row transform_table[] = {")
    for name, y in TARGET.items():
        z, slope = FORWARD[name](y), log_slope(name, y)
        gp = fit(X, z)
        mean, variance = predict(gp, Xs)
        of_y = [moments(name, m, np.sqrt(v)) for m, v in zip(mean, variance)]
        ends = [INVERSE[name](mean + q * np.sqrt(variance)) for q in stats.norm.ppf([0.025, 0.975])]
        print("    { CT_TRANSFORM_%s," % name.upper())
        nlml = -gp.log_marginal_likelihood_value_ - slope.sum()
        print(fold("      { %s }, %r," % (listing(y), float(nlml))))
        rows = [left_out(z, slope, np.arange(POINTS)), left_out(z, slope, np.arange(POINTS) % FOLDS), mean,
                variance, [m for m, _ in of_y], [v for _, v in of_y], *ends]
        print(",\n".join(fold("      { %s }" % listing(row)) for row in rows) + " },")
    print("};\n\n/* z is normal with this mean and standard deviation. */")
    print("static const struct {\n    ct_transform_kind kind;\n    double m, s, mean, variance;\n} "
          "transform_moments[] = {")
    for name in TARGET:
        for m in (-6.0, -1.0, 0.0, 0.3, 4.0):
            for s in (1e-3, 0.5, 2.0, 2.5, 9.0):
                if (name == "log" and s > 2.5) or (name == "sqrt" and m / s < -10):
                    continue
                mean, variance = moments(name, m, s)
                print("    { CT_TRANSFORM_%s, %r, %r, %r, %r }," % (name.upper(), m, s, float(mean),
                                                                  float(variance)))
    print("};\n/* clang-format on */")


if __name__ == "__main__":
    sys.exit(main())
