#!/usr/bin/env python3
"""Writes gp_tables.h: likelihoods, gradients and predictions of small GPs by scikit-learn and by GPyTorch.

    python make_gp_tables.py > gp_tables.h          (needs scikit-learn, torch and gpytorch)

The mean is zero and nothing is standardised. Gradients are those of the negative log marginal likelihood in
the logs of the parameters, in the order of the library: the kernel's, then the noise variance. Where both
packages have the kernel both are listed, and they must agree here to 1e-9 before anything is written.
"""
import math
import sys
import warnings

warnings.filterwarnings("ignore")
import gpytorch  # noqa: E402
import numpy as np  # noqa: E402
import sklearn  # noqa: E402
import torch  # noqa: E402
from fold import fold  # noqa: E402
from gpytorch import kernels as G  # noqa: E402
from sklearn.gaussian_process import GaussianProcessRegressor  # noqa: E402
from sklearn.gaussian_process import kernels as S  # noqa: E402

torch.set_default_dtype(torch.float64)
POINTS, NEW = 14, 4


def data(d):
    rng = np.random.default_rng(20 + d)
    X = np.round(rng.uniform(-1.5, 1.5, (POINTS, d)), 3)
    Xs = np.round(rng.uniform(-2, 2, (NEW, d)), 3)
    y = np.round(np.sin(2 * X[:, 0]) + 0.5 * X.sum(1) + 0.2 * rng.standard_normal(POINTS), 3)
    return X, y, Xs


# -- GPyTorch: a kernel from log parameters p (a list of scalars), differentiated by torch -------------------
# A parameter enters by replacing the kernel's own tensor, so that torch's graph reaches p.

def with_values(kernel, **values):
    """K(X, Z) of a GPyTorch kernel whose properties are replaced by tensors that require gradients."""
    cls = type("Fixed" + type(kernel).__name__, (type(kernel),),
               {k: property(lambda self, v=v: v) for k, v in values.items()})
    kernel.__class__ = cls
    return lambda X, Z: kernel(X, Z).to_dense()


def g_lengths(make):
    return lambda p: with_values(make(len(p)), lengthscale=torch.stack(p).exp().reshape(1, -1))


g_rbf = g_lengths(lambda d: G.RBFKernel(ard_num_dims=d if d > 1 else None))
g_matern = {nu: g_lengths(lambda d, nu=nu: G.MaternKernel(nu=nu, ard_num_dims=d if d > 1 else None))
            for nu in (0.5, 1.5, 2.5)}


def g_rq(p):
    return with_values(G.RQKernel(), lengthscale=p[0].exp().reshape(1, 1), alpha=p[1].exp().reshape(1))


def g_periodic(p):  # GPyTorch divides by its lengthscale, not by the square
    return with_values(G.PeriodicKernel(), lengthscale=(2 * p[0]).exp().reshape(1, 1),
                       period_length=p[1].exp().reshape(1, 1))


def g_cosine(p):  # cos(pi r / period) there
    return with_values(G.CosineKernel(), period_length=(p[0].exp() / 2).reshape(1, 1))


def g_linear(p):
    return with_values(G.LinearKernel(ard_num_dims=len(p)),
                       variance=(-2 * torch.stack(p)).exp().reshape(1, -1))


def g_poly(degree):
    def make(p):
        k = with_values(G.PolynomialKernel(power=degree), offset=p[1].exp().reshape(1))
        return lambda X, Z: k(X / p[0].exp(), Z / p[0].exp())
    return make


def g_constant(p):
    return with_values(G.ConstantKernel(), constant=p[0].exp().reshape(()))


def g_white(p):
    return lambda X, Z: p[0].exp() * torch.eye(len(X)) if X is Z else torch.zeros(len(X), len(Z))


def g_scale(inner, n):
    """`n`: parameters of inner."""
    def make(p):
        k = inner(p[1:1 + n])
        return lambda X, Z: p[0].exp() * k(X, Z)
    return make


def g_sum(*parts):
    """(kernel, number of parameters), ..."""
    def make(p):
        ks, at = [], 0
        for k, n in parts:
            ks.append(k(p[at:at + n]))
            at += n
        return lambda X, Z: sum(k(X, Z) for k in ks)
    return make


def g_product(*parts):
    def make(p):
        ks, at = [], 0
        for k, n in parts:
            ks.append(k(p[at:at + n]))
            at += n
        def value(X, Z):
            out = ks[0](X, Z)
            for k in ks[1:]:
                out = out * k(X, Z)
            return out
        return value
    return make


def by_gpytorch(case):
    X, y, Xs = (torch.tensor(a) for a in data(case["d"]))
    p = [torch.tensor(math.log(v), requires_grad=True) for v in case["values"] + [case["noise"]]]
    k = case["gpytorch"](p[:-1])
    C = k(X, X) + p[-1].exp() * torch.eye(POINTS)
    with gpytorch.settings.fast_computations(False, False, False):
        nlml = -gpytorch.distributions.MultivariateNormal(torch.zeros(POINTS), C).log_prob(y)
    gradient = [float(g) for g in torch.autograd.grad(nlml, p)]
    with torch.no_grad():
        L = torch.linalg.cholesky(C)
        Ks = k(X, Xs)
        V = torch.linalg.solve_triangular(L, Ks, upper=False)
        mean = Ks.T @ torch.cholesky_solve(y.reshape(-1, 1), L)
        var = k(Xs, Xs).diagonal() - V.square().sum(0)
    return float(nlml), gradient, mean.reshape(-1).tolist(), var.tolist()


# -- scikit-learn: a kernel object, and which of its log parameters is which of ours -------------------------

def by_sklearn(case):
    """`order[i]`: (position in sklearn's theta, its factor in the log) for our parameter i; the noise is a
    WhiteKernel added last."""
    X, y, Xs = data(case["d"])
    make, order = case["sklearn"]
    kernel = make(*case["values"]) + S.WhiteKernel(case["noise"])
    gp = GaussianProcessRegressor(kernel, alpha=0, optimizer=None).fit(X, y)
    value, gradient = gp.log_marginal_likelihood(gp.kernel_.theta, eval_gradient=True)
    gradient = [-gradient[i] * factor for i, factor in order] + [-gradient[-1]]
    mean, std = gp.predict(Xs, return_std=True)
    return -float(value), gradient, mean.tolist(), (std ** 2 - case["noise"]).tolist()


CASES = [
    dict(name="rbf", kernel="scale * rbf(ard)", d=2, values=[1.7, 0.8, 1.9], noise=0.05,
         gpytorch=g_scale(g_rbf, 2),
         sklearn=(lambda v, a, b: S.ConstantKernel(v) * S.RBF([a, b]), [(0, 1), (1, 1), (2, 1)])),
    dict(name="matern12", kernel="scale * matern12(ard)", d=2, values=[0.9, 1.1, 0.6], noise=0.03,
         gpytorch=g_scale(g_matern[0.5], 2),
         sklearn=(lambda v, a, b: S.ConstantKernel(v) * S.Matern([a, b], nu=0.5), [(0, 1), (1, 1), (2, 1)])),
    dict(name="matern32", kernel="scale * matern32(ard)", d=2, values=[1.3, 0.7, 1.4], noise=0.04,
         gpytorch=g_scale(g_matern[1.5], 2),
         sklearn=(lambda v, a, b: S.ConstantKernel(v) * S.Matern([a, b], nu=1.5), [(0, 1), (1, 1), (2, 1)])),
    dict(name="matern52", kernel="scale * matern52(ard)", d=2, values=[1.3, 0.7, 1.4], noise=0.04,
         gpytorch=g_scale(g_matern[2.5], 2),
         sklearn=(lambda v, a, b: S.ConstantKernel(v) * S.Matern([a, b], nu=2.5), [(0, 1), (1, 1), (2, 1)])),
    dict(name="rq", kernel="scale * rq", d=2, values=[1.2, 0.9, 0.7], noise=0.06,
         gpytorch=g_scale(g_rq, 2),
         sklearn=(lambda v, l, a: S.ConstantKernel(v) * S.RationalQuadratic(l, a), [(0, 1), (2, 1), (1, 1)])),
    dict(name="periodic", kernel="scale * periodic", d=1, values=[1.4, 0.8, 1.3], noise=0.1,
         gpytorch=g_scale(g_periodic, 2),
         sklearn=(lambda v, l, p: S.ConstantKernel(v) * S.ExpSineSquared(l, p), [(0, 1), (1, 1), (2, 1)])),
    dict(name="cosine", kernel="scale * cosine", d=1, values=[1.4, 2.3], noise=0.3,
         gpytorch=g_scale(g_cosine, 1)),
    dict(name="linear", kernel="linear(ard)", d=2, values=[0.7, 1.6], noise=0.2, gpytorch=g_linear),
    dict(name="poly", kernel="scale * poly(degree=3)", d=2, values=[0.4, 1.2, 0.9], noise=0.2,
         gpytorch=g_scale(g_poly(3), 2)),
    dict(name="constant", kernel="constant + scale * rbf", d=2, values=[0.6, 1.1, 0.9], noise=0.05,
         gpytorch=g_sum((g_constant, 1), (g_scale(g_rbf, 1), 2)),
         sklearn=(lambda c, v, l: S.ConstantKernel(c) + S.ConstantKernel(v) * S.RBF(l),
                  [(0, 1), (1, 1), (2, 1)])),
    dict(name="white", kernel="scale * rbf + white", d=2, values=[1.1, 0.9, 0.07], noise=0.03,
         gpytorch=g_sum((g_scale(g_rbf, 1), 2), (g_white, 1)),
         sklearn=(lambda v, l, w: S.ConstantKernel(v) * S.RBF(l) + S.WhiteKernel(w),
                  [(0, 1), (1, 1), (2, 1)])),
    dict(name="trend and season", kernel="scale * rbf + scale * periodic * rbf + white", d=1,
         values=[2.1, 1.7, 0.8, 1.1, 0.9, 2.4, 0.02], noise=0.05,
         gpytorch=g_sum((g_scale(g_rbf, 1), 2), (g_scale(g_product((g_periodic, 2), (g_rbf, 1)), 3), 4),
                        (g_white, 1)),
         sklearn=(lambda v, l, w, a, p, m, n: S.ConstantKernel(v) * S.RBF(l)
                  + S.ConstantKernel(w) * S.ExpSineSquared(a, p) * S.RBF(m) + S.WhiteKernel(n),
                  [(i, 1) for i in range(7)])),
    dict(name="scaled sum", kernel="scale * (matern32(ard) + linear)", d=2, values=[0.8, 0.9, 1.5, 1.3],
         noise=0.05,
         gpytorch=g_scale(g_sum((g_matern[1.5], 2), (lambda p: g_linear([p[0], p[0]]), 1)), 3)),
    dict(name="product", kernel="scale * rq * matern52(ard) + scale * linear(ard)", d=2,
         values=[1.6, 1.2, 0.9, 1.8, 0.7, 0.5, 0.8, 1.9], noise=0.08,
         gpytorch=g_sum((g_scale(g_product((g_rq, 2), (g_matern[2.5], 2)), 4), 5),
                        (g_scale(g_linear, 2), 3))),
]


def listing(values):
    return ", ".join(repr(float(v)) for v in values)


def main():
    print("/* Written by make_gp_tables.py with scikit-learn %s, torch %s and GPyTorch %s. */"
          % (sklearn.__version__, torch.__version__.split("+")[0], gpytorch.__version__))
    print("/* clang-format off */")
    print("enum { TABLE_POINTS = %d, TABLE_NEW = %d };\n" % (POINTS, NEW))
    for d in (1, 2):
        X, y, Xs = data(d)
        for name, values in (("X", X.reshape(-1)), ("y", y), ("Xs", Xs.reshape(-1))):
            print(fold("static const double table_%s%d[] = { %s };" % (name, d, listing(values))))
        print()
    print("typedef struct table_row {\n    const char *name, *source, *kernel;")
    print("    int d, n_params; /* the noise included */")
    print("    double value[9], nlml, gradient[9], mean[TABLE_NEW], variance[TABLE_NEW];\n} table_row;\n")
    print("static const table_row table[] = {")
    for case in CASES:
        rows = [("GPyTorch", by_gpytorch(case))]
        if "sklearn" in case:
            rows.append(("scikit-learn", by_sklearn(case)))
            for a, b in zip(rows[0][1], rows[1][1]):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=case["name"])
        for source, (nlml, gradient, mean, var) in rows:
            print('    { "%s", "%s", "%s", %d, %d,'
                  % (case["name"], source, case["kernel"], case["d"], len(gradient)))
            print(fold("      { %s }, %r,\n      { %s },\n      { %s },\n      { %s } },"
                       % (listing(case["values"] + [case["noise"]]), nlml, listing(gradient), listing(mean),
                          listing(var))))
    print("};\n/* clang-format on */")


if __name__ == "__main__":
    sys.exit(main())
