"""ctgp beside scikit-learn on regression data: `./run bench uci DIR [NAME...]`, with `--splits N` on random
splits.

DIR holds NAME_train.csv and NAME_test.csv, a header, the target in column y. ctgp runs with its defaults,
which choose among one lengthscale for all columns, a Matern kernel with one for each, and that beside an RBF
kernel; scikit-learn fits the largest of them, also by L-BFGS on standardised data, from three starts unless
`--restarts` sets another number. Each runs in its own process, in turn. Lower RMSE, NLPD (mean negative log
predictive density of the held-back targets) and nlml are better; coverage should be near 0.95.

With --splits N the test files are not used. In N random splits a few rows of NAME_train.csv are learned
(`--rows`; by default 100 of yacht, 150 of energy, 200 of others) and up to 1000 of the others predicted.
Errors are in standard deviations of y. The names branin, friedman and borehole stand for functions without
noise on [0, 1]^d, whose inputs are drawn at random.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import peers

KERNEL = "scale * matern32(ard) + scale * rbf(ard)"  # the largest one that ctgp tries


def ours(train, test, folder):
    """ctgp with its default settings."""
    tool = str(peers.ROOT / os.environ.get("CT_BUILD", "build") / "src/ctgp/ctgp")
    model, out = f"{folder}/m", f"{folder}/p"
    start = time.perf_counter()
    fit = subprocess.run([tool, "fit", train, "--target", "y", "--model", model, "--json"], check=True,
                         capture_output=True, text=True).stdout
    seconds = time.perf_counter() - start
    line = subprocess.run([tool, "predict", model, test, "--out", out], check=True, capture_output=True,
                          text=True).stdout
    fields = dict(f.split("=", 1) for f in line.split() if "=" in f)
    report = json.loads(fit.strip().splitlines()[-1])
    return {"rmse": fields["rmse"], "nlpd": fields["nlpd"], "coverage95": fields["coverage95"],
            "nlml": f"{report['nlml']:.2f}", "iterations": str(report["iterations"]),
            "seconds": f"{seconds:.2f}"}


SKLEARN = """
import csv, json, sys, time, warnings
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
warnings.filterwarnings("ignore")
def read(path):
    rows = list(csv.reader(open(path)))
    y = rows[0].index("y")
    table = np.array(rows[1:], dtype=float)
    return np.delete(table, y, axis=1), table[:, y]
X, y = read(sys.argv[1])
Xs, ys = read(sys.argv[2])
mean, std = X.mean(0), X.std(0)
std[std == 0] = 1
d = X.shape[1]
start = time.perf_counter()
scale, length = (1e-5, 1e5), (1e-3, 1e4)
k = (ConstantKernel(1.0, scale) * RBF(np.ones(d), length)
     + ConstantKernel(1.0, scale) * Matern(np.ones(d), length, nu=1.5)
     + WhiteKernel(0.1, (1e-8, 1e2)))
gp = GaussianProcessRegressor(k, normalize_y=True, n_restarts_optimizer=int(sys.argv[3]), random_state=0)
gp.fit((X - mean) / std, y)
seconds = time.perf_counter() - start
m, s = gp.predict((Xs - mean) / std, return_std=True)
nlpd = np.mean(0.5 * np.log(2 * np.pi * s**2) + 0.5 * (ys - m) ** 2 / s**2)
print(json.dumps({"rmse": float(np.sqrt(np.mean((ys - m) ** 2))), "nlpd": float(nlpd),
                  "coverage95": float(np.mean(np.abs(ys - m) <= 1.959963984540054 * s)),
                  "nlml": float(-gp.log_marginal_likelihood_value_ + len(y) * np.log(y.std())),
                  "seconds": seconds}))
"""


def sklearn(train, test, restarts):
    out = subprocess.run([sys.executable, "-c", SKLEARN, train, test, restarts], check=True,
                         capture_output=True, text=True).stdout
    r = json.loads(out)
    return {"rmse": f"{r['rmse']:.4g}", "nlpd": f"{r['nlpd']:.4g}", "coverage95": f"{r['coverage95']:.4f}",
            "nlml": f"{r['nlml']:.2f}", "iterations": "", "seconds": f"{r['seconds']:.2f}"}


def single(data, names, restarts, have_peer):
    """One table, its own test rows."""
    rows = []
    for name in names:
        train, test = str(data / f"{name}_train.csv"), str(data / f"{name}_test.csv")
        with open(train, newline="") as f:
            n = sum(1 for _ in csv.reader(f)) - 1
        with tempfile.TemporaryDirectory() as folder:
            sides = [("cotangent", ours(train, test, folder))]
        if have_peer:
            sides.append(("sklearn", sklearn(train, test, restarts)))
        for who, r in sides:
            rows.append((name, who, r))
            print(f"bench=uci case={name} who={who} n={n} dtype=f64 pass=training " +
                  " ".join(f"{k}={v}" for k, v in r.items() if v), flush=True)
    print(f"\nscikit-learn's kernel: {KERNEL} + noise\n\n"
          "| data | who | RMSE | NLPD | coverage | nlml | iterations | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name, who, r in rows:
        print(f"| {name} | {who} | {r['rmse']} | {r['nlpd']} | {r['coverage95']} | {r['nlml']} | "
              f"{r['iterations']} | {r['seconds']} |")


# -- random splits -------------------------------------------------------------------------------------------

def branin(u):
    x, y = 15 * u[0] - 5, 15 * u[1]
    parabola = y - 5.1 * x**2 / (4 * math.pi**2) + 5 * x / math.pi - 6
    return parabola**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def friedman(u):
    return 10 * math.sin(math.pi * u[0] * u[1]) + 20 * (u[2] - 0.5)**2 + 10 * u[3] + 5 * u[4]


def borehole(u):
    """The flow through a borehole [Morris, Mitchell and Ylvisaker 1993]."""
    low = (0.05, 100, 63070, 990, 63.1, 700, 1120, 9855)
    high = (0.15, 50000, 115600, 1110, 116, 820, 1680, 12045)
    rw, r, tu, hu, tl, hl, length, kw = (a + t * (b - a) for t, a, b in zip(u, low, high))
    ratio = math.log(r / rw)
    return 2 * math.pi * tu * (hu - hl) / (ratio * (1 + 2 * length * tu / (ratio * rw**2 * kw) + tu / tl))


# Function, inputs, rows.
FUNCTIONS = {"branin": (branin, 2, 60), "friedman": (friedman, 5, 150), "borehole": (borehole, 8, 100)}
ROWS = {"yacht": 100, "energy": 150}


def split(data, name, rows, k, folder):
    """Writes split k as two tables: their paths, and the standard deviation of y in the first."""
    import numpy
    draw = numpy.random.default_rng(k if name in FUNCTIONS else 1000 * rows + k)
    if name in FUNCTIONS:
        f, d, _ = FUNCTIONS[name]
        parts = [numpy.array([[*u, f(u)] for u in draw.random((m, d))]) for m in (rows, 500)]
        header = [f"x{j}" for j in range(d)] + ["y"]
    else:
        with open(data / f"{name}_train.csv", newline="") as f:
            header, *lines = csv.reader(f)
        table = numpy.array(lines, dtype=float)[draw.permutation(len(lines))]
        varies = table[:rows].min(0) < table[:rows].max(0)  # ctgp refuses a constant column
        header = [name for name, kept in zip(header, varies) if kept]
        parts = [table[:rows, varies], table[rows:rows + 1000, varies]]
    paths = [f"{folder}/{name}_{part}.csv" for part in ("train", "test")]
    for path, part in zip(paths, parts):
        with open(path, "w", newline="") as f:
            csv.writer(f).writerows([header, *part.tolist()])
    return *paths, float(parts[0][:, header.index("y")].std())


def spread(values):
    """Mean ± its standard error."""
    error = statistics.stdev(values) / len(values)**0.5 if len(values) > 1 else 0
    return f"{statistics.mean(values):.3f} ± {error:.3f}"


def many(data, names, restarts, have_peer, splits, rows_wanted):
    who_all = ["cotangent"] + ["sklearn"] * have_peer
    lines = []
    for name in names:
        rows = rows_wanted or (FUNCTIONS[name][2] if name in FUNCTIONS else ROWS.get(name, 200))
        found = {who: [] for who in who_all}
        for k in range(splits):
            with tempfile.TemporaryDirectory() as folder:
                train, test, unit = split(data, name, rows, k, folder)
                for who in who_all:
                    r = ours(train, test, folder) if who == "cotangent" else sklearn(train, test, restarts)
                    r = {"rmse": float(r["rmse"]) / unit, "nlpd": float(r["nlpd"]) - math.log(unit),
                         "coverage95": float(r["coverage95"])}
                    found[who].append(r)
                    print(f"bench=uci case={name}.{k} who={who} n={rows} dtype=f64 pass=training " +
                          " ".join(f"{key}={value:.4g}" for key, value in r.items()), flush=True)
        lines.append((name, rows, found))
    table(lines)


def table(lines):
    """lines: (name, rows, {who: [{rmse, nlpd, coverage95} of each split]})"""
    print(f"\nscikit-learn's kernel: {KERNEL} + noise\n\n| data | rows | who | RMSE | NLPD | median NLPD | "
          "coverage | RMSE less than theirs by | NLPD less by |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, rows, found in lines:
        for who, results in found.items():
            of = {key: [r[key] for r in results] for key in results[0]}
            gain = ["", ""]
            if who == "cotangent" and "sklearn" in found:
                pairs = list(zip(results, found["sklearn"]))
                gain = [spread([100 * math.log(b["rmse"] / a["rmse"]) for a, b in pairs]) + " %",
                        spread([b["nlpd"] - a["nlpd"] for a, b in pairs])]
            print(f"| {name} | {rows} | {who} | {spread(of['rmse'])} | {spread(of['nlpd'])} | "
                  f"{statistics.median(of['nlpd']):.3f} | "
                  f"{statistics.mean(of['coverage95']):.3f} | {gain[0]} | {gain[1]} |")


def main():
    parser = argparse.ArgumentParser(prog="./run bench uci",
                                     description="ctgp beside scikit-learn on regression data")
    parser.add_argument("dir", type=pathlib.Path,
                        help="holds NAME_train.csv and NAME_test.csv, the target in column y")
    parser.add_argument("names", nargs="*", help="all there are unless given")
    parser.add_argument("--restarts", default="2",
                        help="scikit-learn's random starts beside its first (default 2)")
    parser.add_argument("--splits", type=int, help="so many random splits of the training files instead")
    parser.add_argument("--rows", type=int, help="rows to learn from in each split")
    args = parser.parse_args()
    names = args.names or sorted(p.name[:-10] for p in args.dir.glob("*_train.csv"))
    have_peer = bool(peers.load("sklearn"))
    if args.splits:
        many(args.dir, names, args.restarts, have_peer, args.splits, args.rows)
    else:
        single(args.dir, names, args.restarts, have_peer)


if __name__ == "__main__":
    main()
