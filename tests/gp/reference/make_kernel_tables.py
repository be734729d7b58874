#!/usr/bin/env python3
"""Writes kernel_tables.h: covariance matrices and gradients as scikit-learn and GPyTorch compute them.

make_kernel_tables.py > kernel_tables.h        (needs numpy, scikit-learn; GPyTorch for the cosine kernel)

Each row: a kernel's text with its values; K = k(X, X), C = k(X, Z), row-major; G[p] = Σ_ij W_ij ∂K_ij/∂log
theta_p in the order of the text's parameters, NaN where scikit-learn has no such parameter. scikit-learn's
own order and parameters are translated by `order`: pairs (its position, factor).
"""
import numpy as np
import sklearn
from fold import fold
from sklearn.gaussian_process import kernels as sk

rng = np.random.default_rng(20)
X = rng.normal(size=(5, 2)).round(3)
X[4] = X[1]  # two equal points: distance 0 off the diagonal
Z = rng.normal(size=(3, 2)).round(3)
W = rng.normal(size=(5, 5)).round(3)


class Columns:
    """A scikit-learn kernel of some columns, divided by lengthscales that it does not know as parameters."""

    def __init__(self, kernel, columns=(0, 1), divide=1.0):
        self.kernel, self.columns, self.divide = kernel, list(columns), divide

    def __call__(self, x, z=None, eval_gradient=False):
        x = x[:, self.columns] / self.divide
        return self.kernel(x, None if z is None else z[:, self.columns] / self.divide,
                           eval_gradient=eval_gradient)


class Pair:
    def __init__(self, a, b, product):
        self.a, self.b, self.product = a, b, product

    def __call__(self, x, z=None, eval_gradient=False):
        if not eval_gradient:
            a, b = self.a(x, z), self.b(x, z)
            return a * b if self.product else a + b
        (a, da), (b, db) = self.a(x, eval_gradient=True), self.b(x, eval_gradient=True)
        if not self.product:
            return a + b, np.dstack((da, db))
        return a * b, np.dstack((da * b[:, :, None], db * a[:, :, None]))


class Cosine:
    """GPyTorch: cos(π |x - z| / p')."""

    def __init__(self, period):
        import gpytorch
        import torch

        self.torch = torch
        self.kernel = gpytorch.kernels.CosineKernel().double()
        self.kernel.period_length = torch.tensor(period / 2, dtype=torch.float64)

    def __call__(self, x, z=None, eval_gradient=False):
        t = self.torch.tensor
        k = self.kernel(t(x), t(x if z is None else z)).to_dense()
        if not eval_gradient:
            return k.detach().numpy()
        self.kernel.zero_grad()
        raw = self.kernel.raw_period_length
        # d/d log p = p' dk/dp'; p' = softplus(raw)
        by_raw = self.torch.autograd.grad((k * t(W)).sum(), raw)[0].item()
        by_log = by_raw / self.torch.sigmoid(raw).item() * self.kernel.period_length.item()
        return k.detach().numpy(), by_log


def scale(v, k):
    return Pair(sk.ConstantKernel(v), k, True)


rbf, matern, rq, sine, dot = sk.RBF, sk.Matern, sk.RationalQuadratic, sk.ExpSineSquared, sk.DotProduct
ROWS = [
    ("rbf(lengthscale=0.7)", rbf(0.7), [(0, 1)]),
    ("rbf(ard, lengthscale=0.7:1.9)", rbf([0.7, 1.9]), [(0, 1), (1, 1)]),
    ("rbf(dims=1, lengthscale=0.4)", Columns(rbf(0.4), [1]), [(0, 1)]),
    ("matern12(lengthscale=1.3)", matern(1.3, nu=0.5), [(0, 1)]),
    ("matern32(lengthscale=1.3)", matern(1.3, nu=1.5), [(0, 1)]),
    ("matern52(lengthscale=1.3)", matern(1.3, nu=2.5), [(0, 1)]),
    ("matern12(ard, lengthscale=1.3:0.6)", matern([1.3, 0.6], nu=0.5), [(0, 1), (1, 1)]),
    ("matern32(ard, lengthscale=1.3:0.6)", matern([1.3, 0.6], nu=1.5), [(0, 1), (1, 1)]),
    ("matern52(ard, lengthscale=1.3:0.6)", matern([1.3, 0.6], nu=2.5), [(0, 1), (1, 1)]),
    ("rq(lengthscale=0.8, alpha=1.7)", rq(length_scale=0.8, alpha=1.7), [(1, 1), (0, 1)]),
    ("periodic(dims=0, lengthscale=0.9, period=1.4)", Columns(sine(0.9, 1.4), [0]), [(0, 1), (1, 1)]),
    ("cosine(period=2.3)", Cosine(2.3), None),
    ("linear(lengthscale=1.6)", Columns(dot(0.0, "fixed"), divide=1.6), [None]),
    ("poly(degree=3, lengthscale=1.6, offset=0.49)", Columns(sk.Exponentiation(dot(0.7), 3), divide=1.6),
     [None, (0, 0.5)]),
    ("constant(0.3)", sk.ConstantKernel(0.3), [(0, 1)]),
    ("white(0.2)", sk.WhiteKernel(0.2), [(0, 1)]),
    ("scale(2.5) * rbf(ard, lengthscale=0.7:1.9) + white(0.1)",
     Pair(scale(2.5, rbf([0.7, 1.9])), sk.WhiteKernel(0.1), False), [(0, 1), (1, 1), (2, 1), (3, 1)]),
    ("scale(1.5) * periodic(dims=0, lengthscale=0.9, period=1.4) * rbf(lengthscale=2)"
     " + scale(0.6) * rq(lengthscale=0.8, alpha=1.7)",
     Pair(scale(1.5, Pair(Columns(sine(0.9, 1.4), [0]), rbf(2.0), True)),
          scale(0.6, rq(length_scale=0.8, alpha=1.7)), False),
     [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (6, 1), (5, 1)]),
    ("(matern32(lengthscale=1.3) + constant(0.3))"
     " * (matern52(dims=1, lengthscale=0.5) + linear(lengthscale=1.6))",
     Pair(Pair(matern(1.3, nu=1.5), sk.ConstantKernel(0.3), False),
          Pair(Columns(matern(0.5, nu=2.5), [1]), Columns(dot(0.0, "fixed"), divide=1.6), False), True),
     [(0, 1), (1, 1), (2, 1), None]),
]


def numbers(a):
    return ", ".join("NAN" if np.isnan(v) else repr(float(v)) for v in np.ravel(a))


def main():
    print(f"/* Made by make_kernel_tables.py with scikit-learn {sklearn.__version__}. */")
    print("#ifndef TESTS_KERNEL_TABLES_H\n#define TESTS_KERNEL_TABLES_H\n\n#include <math.h>\n\n"
          "/* clang-format off */")
    for name, a in (("X", X), ("Z", Z), ("W", W)):
        print(fold(f"static const double table_{name}[] = {{ {numbers(a)} }};"))
    print("\nstatic const struct kernel_row {\n    const char *text;\n    int n_params;\n"
          "    double K[25], C[15], G[8];\n} kernel_table[] = {")
    for text, kernel, order in ROWS:
        K, dK = kernel(X, eval_gradient=True)
        if order is None:
            G = [dK]
        else:
            G = [np.nan if o is None else o[1] * (dK[:, :, o[0]] * W).sum() for o in order]
        # A long text is one literal for each term.
        literal = text.replace(" + ", ' "\n      "+ ') if len(text) > 90 else text
        print(f'    {{ "{literal}", {len(G)},')
        print(fold(f"      {{ {numbers(K)} }},\n      {{ {numbers(kernel(X, Z))} }},\n"
                   f"      {{ {numbers(G)} }} }},"))
    print("};\n/* clang-format on */\n\n#endif")


if __name__ == "__main__":
    main()
