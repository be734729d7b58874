"""ctgp beside scikit-learn on tables with few rows for their columns: `./run bench wide [KIND...]`.

Random problems with a known truth, `--splits N` of each kind (16 unless given): 30 to 150 rows, 10 to 100
columns (or `--n` and `--d`), normal columns, targets of variance 1 of which a share of 0.5, 0.8, 0.95 or 0.99
is the truth's, 500 rows to predict. ctgp runs with its defaults, with the leave-one-out objective, and with a
lengthscale for each column that is asked for; scikit-learn fits Bayesian ridge regression and a Gaussian
process with one lengthscale. NLPD is the mean negative log predictive density in standard deviations of the
targets, coverage that of intervals of 95 %.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import statistics
import subprocess
import tempfile
import warnings

import peers

KINDS = ("sparse-linear", "dense-linear", "few-nonlinear", "additive", "correlated", "noise")
OURS = {"ctgp": [], "ctgp, leave-one-out": ["--objective", "loo"],
        "ctgp, rbf(ard)": ["--kernel", "scale * rbf(ard)"]}


def truth(kind, X, g):
    """Columns and values of the function, whose scale does not matter."""
    import numpy
    m, d = X.shape
    if kind == "sparse-linear":
        return X, X[:, :4] @ g.normal(size=4)
    if kind == "dense-linear":
        return X, X @ g.normal(size=d)
    if kind == "few-nonlinear":
        return X, numpy.sin(1.5 * X[:, 0]) + X[:, 1]**2 / 2 + 0.7 * X[:, 2] * X[:, 3] + X[:, 4] / 2
    if kind == "additive":
        return X, numpy.sin(X * g.uniform(0.5, 2, d) + g.uniform(0, 2 * math.pi, d)) @ g.normal(size=d)
    if kind == "correlated":  # four factors behind all columns
        Z = g.normal(size=(m, 4))
        return Z @ g.normal(size=(4, d)) + 0.3 * X, Z[:, 0] + numpy.sin(2 * Z[:, 1]) + Z[:, 2] * Z[:, 0] / 2
    return X, numpy.zeros(m)


def problem(kind, k, n, d):
    """X, y and the number of rows to learn from; the others are to be predicted."""
    import numpy
    g = numpy.random.default_rng([KINDS.index(kind), k])
    n_drawn, d_drawn = round(30 * 5**g.random()), round(10 * 10**g.random())
    share = g.choice([0.5, 0.8, 0.95, 0.99])
    n, d = n or n_drawn, d or d_drawn
    X, f = truth(kind, g.normal(size=(n + 500, d)), g)
    noise = g.normal(size=n + 500)
    y = noise if kind == "noise" else math.sqrt(share) * f / f.std() + math.sqrt(1 - share) * noise
    return X, y, n


def write(path, X, y):
    with open(path, "w", newline="") as f:
        table = csv.writer(f)
        table.writerow([f"x{j}" for j in range(X.shape[1])] + ["y"])
        table.writerows([*x, t] for x, t in zip(X.tolist(), y.tolist()))


def ours(words, X, y, n):
    tool = str(peers.ROOT / os.environ.get("CT_BUILD", "build") / "src/ctgp/ctgp")
    with tempfile.TemporaryDirectory() as folder:
        train, test, model = (str(pathlib.Path(folder) / name) for name in ("train.csv", "test.csv", "model"))
        write(train, X[:n], y[:n])
        write(test, X[n:], y[n:])
        fit = [tool, "fit", train, "--target", "y", "--model", model, *words]
        predict = [tool, "predict", model, test, "--out", test + ".out", "--json"]
        subprocess.run(fit, check=True, capture_output=True)
        score = json.loads(subprocess.run(predict, check=True, capture_output=True, text=True).stdout)
    unit = float(y[:n].std())
    return {"nlpd": score["nlpd"] - math.log(unit), "rmse": score["rmse"] / unit,
            "coverage95": score["coverage95"]}


def theirs(X, y, n):
    """{name: score} of scikit-learn's models, on columns of deviation 1."""
    import numpy
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    from sklearn.linear_model import BayesianRidge
    warnings.filterwarnings("ignore")
    X, unit, result = (X - X[:n].mean(0)) / X[:n].std(0), y[:n].std(), {}
    y = (y - y[:n].mean()) / unit
    kernel = ConstantKernel(1.0) * RBF(X.shape[1]**0.5, (1e-3, 1e4)) + WhiteKernel(0.1, (1e-8, 1e2))
    models = {"BayesianRidge": BayesianRidge(), "sklearn, RBF": GaussianProcessRegressor(kernel)}
    for name, model in models.items():
        m, s = model.fit(X[:n], y[:n]).predict(X[n:], return_std=True)
        z = (y[n:] - m) / s
        result[name] = {"nlpd": float(numpy.mean(0.5 * numpy.log(2 * math.pi * s**2) + 0.5 * z**2)),
                        "rmse": float(numpy.sqrt(numpy.mean((y[n:] - m)**2))),
                        "coverage95": float(numpy.mean(abs(z) <= 1.959963984540054))}
    return result


def table(found):
    """found: {kind: [{who: score}]}"""
    print("\n| truth | who | NLPD, its median and highest | RMSE | coverage, lowest |\n|---|---|---|---|---|")
    everything = [r for results in found.values() for r in results]
    for kind, results in [*found.items(), ("all", everything)]:
        for who in results[0]:
            nlpd, rmse, inside = ([r[who][key] for r in results] for key in ("nlpd", "rmse", "coverage95"))
            print(f"| {kind} | {who} | {statistics.mean(nlpd):.3f}, {statistics.median(nlpd):.3f}, "
                  f"{max(nlpd):.2f} | {statistics.mean(rmse):.3f} | "
                  f"{statistics.mean(inside):.2f}, {min(inside):.2f} |")


def main():
    parser = argparse.ArgumentParser(prog="./run bench wide",
                                     description="ctgp beside scikit-learn on wide tables")
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}; all unless given")
    parser.add_argument("--splits", type=int, default=16, help="problems of each kind (default 16)")
    parser.add_argument("--n", type=int, help="rows of every problem")
    parser.add_argument("--d", type=int, help="columns of every problem, 5 at least")
    args = parser.parse_args()
    have_peer, found = bool(peers.load("sklearn")), {}
    for kind in peers.chosen(KINDS) or KINDS:
        found[kind] = []
        for k in range(args.splits):
            X, y, n = problem(kind, k, args.n, args.d)
            scores = {who: ours(words, X, y, n) for who, words in OURS.items()}
            if have_peer:
                scores.update(theirs(X, y, n))
            found[kind].append(scores)
            for who, r in scores.items():
                figures = " ".join(f"{key}={value:.4g}" for key, value in r.items())
                print(f"bench=wide case={kind}.{k} who={who.replace(' ', '')} n={n} d={X.shape[1]} dtype=f64 "
                      f"pass=training {figures}", flush=True)
    table(found)


if __name__ == "__main__":
    main()
