#!/usr/bin/env python3
"""Writes basis_tables.h: universal kriging by its dense formulas in 50 digits.

    python make_basis_tables.py > basis_tables.h          (needs mpmath)

Nothing is standardised, and the basis is as it is written, in the units of the data: the years of the first
case make it as ill-conditioned as it gets. Gradients of the negative log likelihood, in the logs of the
parameters (the kernel's, then the noise variance), are central differences. Leave-one-out deletes each row.
[Rasmussen & Williams 2006, eqs 2.41, 2.42, 2.45]
"""
import random
import sys

import mpmath as mp
from fold import fold

mp.mp.dps = 50
POINTS, NEW = 13, 3


def rbf(x, z, v):
    return v[0] * mp.exp(-sum(((a - b) / l) ** 2 for a, b, l in zip(x, z, v[1:])) / 2)


def matern32(x, z, v):
    r = mp.sqrt(3 * sum(((a - b) / l) ** 2 for a, b, l in zip(x, z, v[1:])))
    return v[0] * (1 + r) * mp.exp(-r)


CASES = [
    dict(name="years", kernel="scale * rbf(ard)", k=rbf, values=[1.7, 3.1], noise=0.05,
         basis="1 + x0 + x0^2", h=lambda x: [1, x[0], x[0] ** 2], offset=[2001], spread=[12],
         f=lambda x: 300 + (x[0] - 2001) + (x[0] - 2001) ** 2 / 20),
    dict(name="planes", kernel="scale * matern32(ard)", k=matern32, values=[0.8, 0.7, 1.9], noise=0.03,
         basis="x1 + x0*x1^2 + 1 + x0", h=lambda x: [x[1], x[0] * x[1] ** 2, 1, x[0]], offset=[0.5, -3],
         spread=[2, 1], f=lambda x: 2 - x[0] + x[1] * x[0]),
    dict(name="through the origin", kernel="scale * rbf(ard)", k=rbf, values=[0.5, 1.1], noise=0.2,
         basis="x0", h=lambda x: [x[0]], offset=[4], spread=[3], f=lambda x: 1.5 * x[0]),
]


def data(case):
    """Decimal numbers of few digits, so that the C compiler reads what is used here."""
    draw = random.Random(case["name"])
    point = lambda wide: [round(o + wide * s * draw.uniform(-1, 1), 2)
                          for o, s in zip(case["offset"], case["spread"])]
    X, Xs = [point(1) for _ in range(POINTS)], [point(2) for _ in range(NEW)]
    y = [round(case["f"](x) + draw.gauss(0, 0.7), 3) for x in X]
    exact = lambda rows: [[mp.mpf(repr(v)) for v in row] for row in rows]
    return exact(X), [mp.mpf(repr(v)) for v in y], exact(Xs)


class Model:
    def __init__(self, case, X, y, values):
        self.case, self.X, self.v, n = case, X, values[:-1], len(X)
        C = mp.matrix(n, n)
        for i in range(n):
            for j in range(n):
                C[i, j] = case["k"](X[i], X[j], self.v) + (values[-1] if i == j else 0)
        self.H = mp.matrix([case["h"](x) for x in X])
        y = mp.matrix(y)
        self.inverse = C ** -1
        A = self.H.T * self.inverse * self.H
        self.A_inverse = A ** -1
        self.beta = self.A_inverse * self.H.T * self.inverse * y
        self.alpha = self.inverse * (y - self.H * self.beta)
        fit = ((y - self.H * self.beta).T * self.alpha)[0]
        self.nlml = (fit + mp.log(mp.det(C)) + mp.log(mp.det(A)) + (n - A.rows) * mp.log(2 * mp.pi)) / 2

    def predict(self, Xs):
        k = mp.matrix([[self.case["k"](x, z, self.v) for z in Xs] for x in self.X])
        h = mp.matrix([self.case["h"](z) for z in Xs]).T
        R = h - self.H.T * self.inverse * k
        prior = mp.matrix([[self.case["k"](a, b, self.v) for b in Xs] for a in Xs])
        return h.T * self.beta + k.T * self.alpha, prior - k.T * self.inverse * k + R.T * self.A_inverse * R


def gradient(case, X, y, values):
    h, out = mp.mpf(10) ** -15, []
    for i in range(len(values)):
        both = [Model(case, X, y, [v * mp.exp(s * h) if j == i else v for j, v in enumerate(values)]).nlml
                for s in (1, -1)]
        out.append((both[0] - both[1]) / (2 * h))
    return out


def left_out(case, X, y, values):
    out = []
    for i in range(len(X)):
        mean, variance = Model(case, X[:i] + X[i + 1:], y[:i] + y[i + 1:], values).predict([X[i]])
        out.append((mean[0], variance[0, 0] + values[-1]))
    return out


def listing(values):
    return "{ " + ", ".join(repr(float(v)) for v in values) + " }"


def main():
    print("/* Written by make_basis_tables.py with mpmath %s. */" % mp.__version__)
    print("/* clang-format off */")
    print("enum { BASIS_POINTS = %d, BASIS_NEW = %d, BASIS_MOST = 4 };\n" % (POINTS, NEW))
    print("typedef struct basis_row {\n    const char *name, *kernel, *basis;")
    print("    int d, n_params, functions; /* the noise included */")
    print("    double value[BASIS_MOST], X[2 * BASIS_POINTS], y[BASIS_POINTS], Xs[2 * BASIS_NEW], nlml,")
    print("        gradient[BASIS_MOST], beta[BASIS_MOST], error[BASIS_MOST], mean[BASIS_NEW],")
    print("        covariance[BASIS_NEW * BASIS_NEW], loo_mean[BASIS_POINTS], loo_variance[BASIS_POINTS];")
    print("} basis_row;\n\nstatic const basis_row basis_table[] = {")
    for case in CASES:
        X, y, Xs = data(case)
        values = [mp.mpf(repr(v)) for v in case["values"] + [case["noise"]]]
        m = Model(case, X, y, values)
        mean, covariance = m.predict(Xs)
        loo = left_out(case, X, y, values)
        print('    { "%s", "%s", "%s", %d, %d, %d,' % (case["name"], case["kernel"], case["basis"], len(X[0]),
                                                   len(values), m.H.cols))
        for numbers in (values, sum(X, []), y, sum(Xs, [])):
            print(fold("      %s," % listing(numbers)))
        print("      %r," % float(m.nlml))
        rows = [gradient(case, X, y, values), m.beta,
                [mp.sqrt(m.A_inverse[i, i]) for i in range(m.H.cols)], mean, covariance,
                [a for a, _ in loo]]
        for numbers in rows:
            print(fold("      %s," % listing(numbers)))
        print(fold("      %s }," % listing([b for _, b in loo])))
    print("};\n/* clang-format on */")


if __name__ == "__main__":
    sys.exit(main())
