#!/usr/bin/env python3
"""Writes outputs_tables.h: several outputs by their dense formulas, with np.kron.

    python make_outputs_tables.py > outputs_tables.h          (needs numpy; checks itself by gpytorch)

X (N, 2), Y (N, P) with scales far apart, and the joint models' Y_missing with NaN. In the units of the
standardised outputs, a lengthscale in those of its column:
    shared  theta = variance, two lengthscales of rbf, noise
    joint   theta = W (P, 2), kappa (P), two lengthscales of rbf, a noise for each output
Each row: nlml of Y as given; its gradient by the logs of the parameters, of W by themselves (complex step);
means (NEW, P) and covariance (NEW P, NEW P) of f at the new points in the units of the data, by point, then
output; leave-one-out means (N, P).
"""
import sys
import numpy as np
from fold import fold

rng = np.random.default_rng(5)
N, P, NEW = 9, 3, 2
X = rng.uniform(0, 2, size=(N, 2)).round(3)
NEW_X = rng.uniform(0, 2, size=(NEW, 2)).round(3)
F = np.sin(2 * X[:, :1]) + X[:, 1:] * [0.5, -0.3, 0.1] + 0.2 * rng.normal(size=(N, P))
Y = (F * [1, 30, 0.01] + [5, -200, 3]).round(5)
Y_MISSING = Y.copy()
Y_MISSING[[0, 4, 4, 7], [1, 0, 2, 2]] = np.nan
SHARED = np.array([1.4, 0.7, 1.9, 0.08])
JOINT = np.array([0.9, 0.1, -0.8, 0.4, 0.5, -0.6, 0.3, 0.2, 0.5, 0.7, 1.9, 0.05, 0.1, 0.2])


def rbf(length, x, z):
    return np.exp(-0.5 * (((x[:, None] - z[None]) / length) ** 2).sum(-1))


def half_logdet(C):
    sign, size = np.linalg.slogdet(C)
    return 0.5 * (np.log(sign) + size)


def shared(t):
    return np.eye(P), lambda x, z: t[0] * rbf(t[1:3], x, z), np.repeat(t[3], P)


def joint(t):
    W = t[:2 * P].reshape(P, 2)
    return W @ W.T + np.diag(t[2 * P:3 * P]), lambda x, z: rbf(t[3 * P:3 * P + 2], x, z), t[3 * P + 2:]


def scales(y):
    return np.nanmean(y, 0), np.nanstd(y, 0)


def system(model, t, y):
    """C over the cells that are there, output by output; their residuals and a mask (P, N)."""
    B, k, D = model(t)
    shift, scale = scales(y)
    there = ~np.isnan(y).T
    C = np.kron(B, k(X, X)) + np.kron(np.diag(D), np.eye(N))
    m = there.ravel()
    return C[np.ix_(m, m)], ((y - shift) / scale).T.ravel()[m], there


def nlml(model, t, y):
    C, r, there = system(model, t, y)
    units = (there.sum(1) * np.log(scales(y)[1])).sum()
    return 0.5 * r @ np.linalg.solve(C, r) + half_logdet(C) + 0.5 * len(r) * np.log(2 * np.pi) + units


def gradient(model, t, y, plain):
    step = np.where(np.arange(len(t)) < plain, 1, t)
    return [nlml(model, t + 1e-30j * s * np.eye(len(t))[i], y).imag / 1e-30 for i, s in enumerate(step)]


def predict(model, t, y):
    B, k, _ = model(t)
    C, r, there = system(model, t, y)
    shift, scale = scales(y)
    ks = np.kron(k(NEW_X, X), B).reshape(NEW, P, N, P).transpose(0, 1, 3, 2).reshape(NEW * P, P * N)
    ks = ks[:, there.ravel()]
    unit = np.tile(scale, NEW)
    mean = np.tile(shift, NEW) + unit * (ks @ np.linalg.solve(C, r))
    cov = np.kron(k(NEW_X, NEW_X), B) - ks @ np.linalg.solve(C, ks.T)
    left = np.full((P, N), np.nan)
    Q = np.linalg.inv(C)
    left[there] = r - (Q @ r) / np.diag(Q)
    return mean, cov * np.outer(unit, unit), (left * scale[:, None] + shift[:, None]).T


def check_by_gpytorch():
    """The joint model without missing values: likelihood and posterior of GPyTorch's multitask kernel."""
    import gpytorch
    import torch
    torch.set_default_dtype(torch.float64)
    shift, scale = scales(Y)
    x, y = torch.tensor(X), torch.tensor((Y - shift) / scale)
    W = JOINT[:2 * P].reshape(P, 2)

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.MultitaskMean(gpytorch.means.ZeroMean(), num_tasks=P)
            self.covar_module = gpytorch.kernels.MultitaskKernel(
                gpytorch.kernels.RBFKernel(ard_num_dims=2), num_tasks=P, rank=2)

        def forward(self, z):
            normal = gpytorch.distributions.MultitaskMultivariateNormal
            return normal(self.mean_module(z), self.covar_module(z))

    likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(
        num_tasks=P, has_global_noise=False, noise_constraint=gpytorch.constraints.GreaterThan(1e-8))
    model = Model(likelihood)
    model.covar_module.data_covar_module.lengthscale = torch.tensor(JOINT[3 * P:3 * P + 2])
    task = model.covar_module.task_covar_module
    task.covar_factor.data = torch.tensor(W)
    task.var = torch.tensor(JOINT[2 * P:3 * P])
    likelihood.task_noises = torch.tensor(JOINT[3 * P + 2:])
    with gpytorch.settings.fast_computations(False, False, False), gpytorch.settings.cholesky_jitter(0, 0, 0):
        value = -gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)(model(x), y).item() * Y.size
        model.eval()
        likelihood.eval()
        with torch.no_grad():
            f = model(torch.tensor(NEW_X))
            mean, cov = f.mean.numpy().ravel(), f.covariance_matrix.numpy()
    want = predict(joint, JOINT, Y)
    unit = np.tile(scale, NEW)
    assert abs(value + N * np.log(scale).sum() - nlml(joint, JOINT, Y)) < 1e-9, value
    assert np.allclose(np.tile(shift, NEW) + unit * mean, want[0], rtol=1e-9)
    assert np.allclose(cov * np.outer(unit, unit), want[1], rtol=1e-7, atol=1e-12)


def listing(values):
    texts = ["NAN" if np.isnan(v) else repr(float(v)) for v in np.asarray(values).ravel()]
    return "{ " + ", ".join(texts) + " }"


def main():
    check_by_gpytorch()
    print("/* Made by make_outputs_tables.py with numpy %s. */" % np.__version__)
    print("#ifndef TESTS_OUTPUTS_TABLES_H\n#define TESTS_OUTPUTS_TABLES_H\n\n#include <math.h>\n")
    print("/* clang-format off */")
    print("enum { OUTPUTS_N = %d, OUTPUTS_P = %d, OUTPUTS_NEW = %d };" % (N, P, NEW))
    for name, values in ("X", X), ("Y", Y), ("Y_missing", Y_MISSING), ("new_X", NEW_X):
        print(fold("static const double outputs_%s[] = %s;" % (name, listing(values))))
    print("\nstatic const struct outputs_row {\n    const char *name;\n    int n_params;")
    print("    double theta[16], nlml, gradient[16], mean[OUTPUTS_NEW * OUTPUTS_P];")
    print("    double covariance[OUTPUTS_NEW * OUTPUTS_P * OUTPUTS_NEW * OUTPUTS_P];")
    print("    double left_out[OUTPUTS_N * OUTPUTS_P];")
    print("} outputs_table[] = {")
    for name, model, t, y, plain in (("shared", shared, SHARED, Y, 0), ("joint", joint, JOINT, Y, 2 * P),
                                     ("joint, missing", joint, JOINT, Y_MISSING, 2 * P)):
        mean, cov, left = predict(model, t, y)
        print(fold("    { \"%s\", %d," % (name, len(t))))
        slopes = gradient(model, t, y, plain)
        for values, end in ((t, ","), ([nlml(model, t, y)], ","), (slopes, ","), (mean, ","), (cov, ","),
                            (left, " },")):
            text = listing(values)
            print(fold("      " + (text[2:-2] if np.size(values) == 1 else text) + end))
    print("};\n/* clang-format on */\n\n#endif")


main()
