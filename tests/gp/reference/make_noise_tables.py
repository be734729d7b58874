#!/usr/bin/env python3
"""Writes noise_tables.h: GPs whose noise differs from row to row, by NumPy's dense formulas.

    python make_noise_tables.py > noise_tables.h          (needs numpy and scikit-learn)

The kernel is scale * rbf(ard) of two columns, the mean zero, and nothing is standardised. The noise is given
with or without a learned part, learned for each of three levels, or a log-linear function of the inputs. The
negative log marginal likelihood, mean and variance must also be scikit-learn's, with the noise as its alpha.
The gradient is ½ tr((C⁻¹ - ααᵀ) ∂C), in the logs of the kernel's parameters and of variances, and in the
parameters of the log of the noise themselves. Leave-one-out removes each row in turn.
"""
import sys

import numpy as np
import sklearn
from fold import fold
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as S

POINTS, NEW, LEVELS = 14, 4, [-1.5, 2.0, 7.0]
KERNEL = [1.3, 0.8, 1.7]  # variance, lengthscales

rng = np.random.default_rng(7)
X = np.round(rng.uniform(-1.5, 1.5, (POINTS, 2)), 3)
Xs = np.round(rng.uniform(-2, 2, (NEW, 2)), 3)
y = np.round(np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(POINTS), 3)
GIVEN = np.round(rng.uniform(0.02, 0.3, POINTS), 3)
AT_NEW = np.round(rng.uniform(0.02, 0.3, NEW), 3)
LEVEL = np.array(LEVELS)[rng.integers(0, 3, POINTS)]
NEW_LEVEL = np.array([2.0, -1.5, 7.0, 2.0])
assert set(LEVEL) == set(LEVELS)


def k(A, B):
    D = (A[:, None] - B[None]) / KERNEL[1:]
    return KERNEL[0] * np.exp(-0.5 * np.square(D).sum(-1))


def kernel_slopes():
    """∂K in the logs of the parameters."""
    K = k(X, X)
    return [K] + [K * np.square((X[:, None, j] - X[None, :, j]) / KERNEL[1 + j]) for j in range(2)]


# name, the C name of the kind, parameters of the noise, variances at rows, at new rows, ∂ variance / ∂ u
def cases():
    one = np.ones(POINTS)
    yield "learned", "CT_NOISE_LEARNED", [0.07], 0.07 * one, 0.07 * np.ones(NEW), [0.07 * one]
    yield "given", "CT_NOISE_GIVEN", [], GIVEN, AT_NEW, []
    yield "given and learned", "CT_NOISE_GIVEN_PLUS", [0.05], GIVEN + 0.05, AT_NEW + 0.05, [0.05 * one]
    v = [0.04, 0.3, 0.11]
    yield ("by level", "CT_NOISE_BY_LEVEL", v, np.array([v[LEVELS.index(l)] for l in LEVEL]),
           np.array([v[LEVELS.index(l)] for l in NEW_LEVEL]), [w * (LEVEL == l) for w, l in zip(v, LEVELS)])
    w = [-2.1, 0.9, -0.6]
    at = lambda A: np.exp(w[0] + A @ w[1:])
    yield "inputs", "CT_NOISE_LOG_LINEAR", w, at(X), at(Xs), [at(X), at(X) * X[:, 0], at(X) * X[:, 1]]


def likelihood(X, y, noise):
    C = k(X, X) + np.diag(noise)
    alpha = np.linalg.solve(C, y)
    return C, alpha, 0.5 * (y @ alpha + np.linalg.slogdet(C)[1] + len(y) * np.log(2 * np.pi))


def posterior(X, y, noise, Xs):
    C, alpha, _ = likelihood(X, y, noise)
    return k(Xs, X) @ alpha, KERNEL[0] - np.einsum("ij,ji->i", k(Xs, X), np.linalg.solve(C, k(X, Xs)))


def by_sklearn(noise):
    kernel = S.ConstantKernel(KERNEL[0]) * S.RBF(KERNEL[1:])
    gp = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(X, y)
    mean, std = gp.predict(Xs, return_std=True)
    return -gp.log_marginal_likelihood_value_, mean, std ** 2


def leave_one_out(noise):
    density = 0
    for i in range(POINTS):
        rest = np.arange(POINTS) != i
        mean, variance = posterior(X[rest], y[rest], noise[rest], X[[i]])
        v = variance + noise[i]
        density -= 0.5 * ((y[i] - mean) ** 2 / v + np.log(2 * np.pi * v)).item()
    return density


def listing(values):
    return ", ".join(repr(float(v)) for v in np.asarray(values).reshape(-1))


def main():
    print("/* Written by make_noise_tables.py with numpy %s and scikit-learn %s. */" %
          (np.__version__, sklearn.__version__))
    print("/* clang-format off */")
    print("enum { NOISE_POINTS = %d, NOISE_NEW = %d, NOISE_LEVELS = %d };" % (POINTS, NEW, len(LEVELS)))
    for name, values in [("X", X), ("y", y), ("Xs", Xs), ("given", GIVEN), ("given_new", AT_NEW),
                         ("level", LEVEL), ("level_new", NEW_LEVEL)]:
        print(fold("static const double noise_%s[] = { %s };" % (name, listing(values))))
    print("\ntypedef struct noise_row {\n    const char *name;\n    ct_gp_noise kind;\n    int n_noise;")
    print("    /* of value and gradient: the kernel's three parameters, then the noise's */")
    print("    double value[6], nlml, gradient[6], loo;")
    print("    double mean[NOISE_NEW], variance[NOISE_NEW], noise[NOISE_NEW], average;\n} noise_row;\n")
    print("static const noise_row noise_table[] = {")
    for name, kind, values, noise, at_new, slopes in cases():
        C, alpha, nlml = likelihood(X, y, noise)
        bar = 0.5 * (np.linalg.inv(C) - np.outer(alpha, alpha))
        gradient = [(bar * S).sum() for S in kernel_slopes()] + [np.diag(bar) @ s for s in slopes]
        mean, variance = posterior(X, y, noise, Xs)
        for a, b in zip((nlml, mean, variance), by_sklearn(noise)):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=name)
        print('    { "%s", %s, %d,' % (name, kind, len(values)))
        print(fold("      { %s }, %r,\n      { %s }, %r,\n      { %s },\n      { %s },\n      { %s }, %r }," %
                   (listing(KERNEL + values), float(nlml), listing(gradient), leave_one_out(noise),
                    listing(mean), listing(variance), listing(at_new), float(noise.mean()))))
    print("};\n/* clang-format on */")


if __name__ == "__main__":
    sys.exit(main())
