"""ctgp beside scikit-learn on regression data: `./run bench uci DIR [NAME...]`.

DIR holds NAME_train.csv and NAME_test.csv, a header, the target in column y. Both sides learn the same kernel, ctgp's
default, by L-BFGS from one start on standardised data, each in its own process, in turn. Lower RMSE, NLPD (mean negative
log predictive density of the held-back targets) and nlml are better; coverage should be near 0.95.
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import peers

KERNEL = "scale * rbf(ard) + scale * matern32(ard)"


def ours(train, test, folder):
    """ctgp with its default settings."""
    tool, model, out = str(peers.ROOT / os.environ.get("CT_BUILD", "build") / "examples/ctgp/ctgp"), f"{folder}/m", f"{folder}/p"
    start = time.perf_counter()
    fit = subprocess.run([tool, "fit", train, "--target", "y", "--kernel", KERNEL, "--model", model, "--json"], check=True, capture_output=True,
                         text=True).stdout
    seconds = time.perf_counter() - start
    line = subprocess.run([tool, "predict", model, test, "--out", out], check=True, capture_output=True, text=True).stdout
    fields = dict(f.split("=", 1) for f in line.split() if "=" in f)
    report = json.loads(fit.strip().splitlines()[-1])
    return {"rmse": fields["rmse"], "nlpd": fields["nlpd"], "coverage95": fields["coverage95"],
            "nlml": f"{report['nlml']:.2f}", "iterations": str(report["iterations"]), "seconds": f"{seconds:.2f}"}


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
k = (ConstantKernel(1.0, scale) * RBF(np.ones(d), length) + ConstantKernel(1.0, scale) * Matern(np.ones(d), length, nu=1.5)
     + WhiteKernel(0.1, (1e-8, 1e2)))
gp = GaussianProcessRegressor(k, normalize_y=True).fit((X - mean) / std, y)
seconds = time.perf_counter() - start
m, s = gp.predict((Xs - mean) / std, return_std=True)
nlpd = np.mean(0.5 * np.log(2 * np.pi * s**2) + 0.5 * (ys - m) ** 2 / s**2)
print(json.dumps({"rmse": float(np.sqrt(np.mean((ys - m) ** 2))), "nlpd": float(nlpd),
                  "coverage95": float(np.mean(np.abs(ys - m) <= 1.959963984540054 * s)),
                  "nlml": float(-gp.log_marginal_likelihood_value_ + len(y) * np.log(y.std())), "seconds": seconds}))
"""


def sklearn(train, test):
    out = subprocess.run([sys.executable, "-c", SKLEARN, train, test], check=True, capture_output=True, text=True).stdout
    r = json.loads(out)
    return {"rmse": f"{r['rmse']:.4g}", "nlpd": f"{r['nlpd']:.4g}", "coverage95": f"{r['coverage95']:.4f}",
            "nlml": f"{r['nlml']:.2f}", "iterations": "", "seconds": f"{r['seconds']:.2f}"}


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: ./run bench uci DIR [NAME...]   (DIR/NAME_train.csv, DIR/NAME_test.csv)")
    data = pathlib.Path(sys.argv[1])
    names = sys.argv[2:] or sorted(p.name[:-10] for p in data.glob("*_train.csv"))
    have_peer = peers.load("sklearn")
    rows = []
    for name in names:
        train, test = str(data / f"{name}_train.csv"), str(data / f"{name}_test.csv")
        with open(train, newline="") as f:
            n = sum(1 for _ in csv.reader(f)) - 1
        with tempfile.TemporaryDirectory() as folder:
            sides = [("cotangent", ours(train, test, folder))]
        if have_peer:
            sides.append(("sklearn", sklearn(train, test)))
        for who, r in sides:
            rows.append((name, who, r))
            print(f"bench=uci case={name} who={who} n={n} dtype=f64 pass=training " +
                  " ".join(f"{k}={v}" for k, v in r.items() if v), flush=True)
    print(f"\nkernel: {KERNEL} + noise\n\n| data | who | RMSE | NLPD | coverage | nlml | iterations | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name, who, r in rows:
        print(f"| {name} | {who} | {r['rmse']} | {r['nlpd']} | {r['coverage95']} | {r['nlml']} | {r['iterations']} | {r['seconds']} |")


if __name__ == "__main__":
    main()
