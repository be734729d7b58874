#!/usr/bin/env python3
"""Writes index_tables.h: kernels of levels by their dense formulas, category and, with B = W Wᵀ + diag κ
taken at pairs of codes, index.

    python make_index_tables.py > index_tables.h          (needs numpy)

Each row: a kernel's text; theta in the order of its parameters; K = k(X, X), C = k(X, Z), row-major;
G = Σ_ij W_ij ∂K_ij/∂theta_p, by the complex step Im K(theta + ih)/h, which has all digits. A code that is no
level is one more level, without covariance with the others, of their mean variance.
"""
import numpy as np
from fold import fold

rng = np.random.default_rng(11)
N, M, COLUMNS = 8, 5, 3
X = rng.normal(size=(N, COLUMNS)).round(3)
Z = rng.normal(size=(M, COLUMNS)).round(3)
X[:, 1], Z[:, 1] = [0, 2, 1, 1, -1, 2, 0, 7], [1, -1, 2, 0, 2]
X[:, 2], Z[:, 2] = [1, 0, 0, 1, 1, 0, 1, 0], [0, 1, 1, 2, 0]
WEIGHTS = rng.normal(size=(N, N)).round(3)


def index(theta, x, z, levels):
    rank = len(theta) // levels - 1
    W, kappa = theta[:levels * rank].reshape(levels, rank), theta[levels * rank:]
    B = np.zeros((levels + 1, levels + 1), dtype=theta.dtype)
    B[:levels, :levels] = W @ W.T + np.diag(kappa)
    B[levels, levels] = np.trace(B[:levels, :levels]) / levels
    slot = lambda code: np.where((code >= 0) & (code < levels), code, levels).astype(int)
    return B[np.ix_(slot(x), slot(z))]


def rbf(length, x, z):
    return np.exp(-0.5 * ((x[:, None] - z[None, :]) / length) ** 2)


def one(t, x, z, same):
    return index(t, x[:, 1], z[:, 1], 3)


def category(length, x, z):  # exp(-Σ_d [x_d ≠ z_d] / l_d)
    return np.exp(-((x[:, None, :] != z[None, :, :]) / length).sum(-1))


def levels(t, x, z, same):
    return category(t, x[:, 1:2], z[:, 1:2])


def both(t, x, z, same):  # scale * category of columns 1 and 2 + scale * rbf * category of column 1
    return (t[0] * category(t[1:3], x[:, 1:], z[:, 1:]) +
            t[3] * rbf(t[4], x[:, 0], z[:, 0]) * category(t[5:6], x[:, 1:2], z[:, 1:2]))


def product(t, x, z, same):  # scale * index(rank=2) * rbf + white
    white = t[-1] * np.eye(len(x)) if same else 0
    return t[0] * index(t[1:10], x[:, 1], z[:, 1], 3) * rbf(t[10], x[:, 0], z[:, 0]) + white


def two(t, x, z, same):  # index of column 1 * index of column 2 + index of column 2 * rbf
    return (index(t[:6], x[:, 1], z[:, 1], 3) * index(t[6:10], x[:, 2], z[:, 2], 2) +
            index(t[10:16], x[:, 2], z[:, 2], 2) * rbf(t[16], x[:, 0], z[:, 0]))


ROWS = [
    ("index(rank=1, levels=3, dims=1)", one, [0.7, -1.2, 0.4, 0.3, 0.9, 0.05]),
    ("index(rank=3, levels=3, dims=1)", one,
     [0.7, -1.2, 0.4, 0, 0.25, -0.6, -1.1, 0.8, 0.5, 0.3, 0.9, 0.05]),
    ("scale * index(rank=2, levels=3, dims=1) * rbf(dims=0) + white", product,
     [1.7, 0.9, -0.3, -0.8, 0.6, 0.2, 1.4, 0.5, 0.1, 1.3, 0.6, 0.08]),
    ("index(levels=3, dims=1) * index(levels=2, dims=2) + index(rank=2, levels=2, dims=2) * rbf(dims=0)", two,
     [0.9, -0.3, -0.8, 0.6, 0.2, 1.4, 0.5, -0.7, 1.3, 0.6, 0.4, -0.9, 1.1, 0.3, 0.2, 0.7, 0.8]),
    ("category(dims=1)", levels, [0.8]),
    ("scale * category(ard, dims=1:2) + scale * rbf(dims=0) * category(dims=1)", both,
     [0.6, 0.9, 2.5, 1.3, 0.7, 1.4]),
]


def listing(values):
    return "{ " + ", ".join(repr(float(v)) for v in np.asarray(values).ravel()) + " }"


def main():
    print("/* Made by make_index_tables.py with numpy %s. */" % np.__version__)
    print("#ifndef TESTS_INDEX_TABLES_H\n#define TESTS_INDEX_TABLES_H\n\n/* clang-format off */")
    print("enum { INDEX_N = %d, INDEX_M = %d, INDEX_COLUMNS = %d };" % (N, M, COLUMNS))
    for name, values in ("X", X), ("Z", Z), ("W", WEIGHTS):
        print(fold("static const double index_%s[] = %s;" % (name, listing(values))))
    print("\nstatic const struct index_row {\n    const char *text;\n    int n_params;")
    print("    double theta[20], K[INDEX_N * INDEX_N], C[INDEX_N * INDEX_M], G[20];")
    print("} index_table[] = {")
    for text, k, theta in ROWS:
        theta = np.array(theta)
        G = [(WEIGHTS * k(theta + 1e-30j * np.eye(len(theta))[p], X, X, True).imag).sum() / 1e-30
             for p in range(len(theta))]
        print(fold("    { \"%s\",\n      %d," % (text, len(theta))))
        K, C = k(theta, X, X, True), k(theta, X, Z, False)
        for values, end in (theta, ","), (K, ","), (C, ","), (G, " },"):
            print(fold("      " + listing(values) + end))
    print("};\n/* clang-format on */\n\n#endif")


main()
