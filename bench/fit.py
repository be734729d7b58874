"""Fits to convergence beside GPyTorch and scikit-learn: `./run bench fit DIR [NAME...]`, NAME:ROWS for the first so many rows.

DIR holds NAME_train.csv, the target in column y; concrete, airfoil and elevators:8000 unless named. Everyone maximises the same
likelihood, scale * rbf(ard) + noise with mean zero, of standardised data in f64 from the same start (lengthscales sqrt(d),
variance 1, noise 0.1) by L-BFGS within the same bounds, in a process of its own on all threads. Ours are seconds of the whole
`ctgp fit`, file to file; theirs of the fit alone. nlml is that of y as given.
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

KERNEL = "scale * rbf(ard)"
SETS = ("concrete", "airfoil", "elevators:8000")

READ = """
import csv, json, sys, time, warnings
import numpy as np
warnings.filterwarnings("ignore")
rows = list(csv.reader(open(sys.argv[1])))
at = rows[0].index("y")
table = np.array(rows[1:], dtype=float)
X, y = np.delete(table, at, axis=1), table[:, at]
n, d = X.shape
X, spread = (X - X.mean(0)) / X.std(0), y.std()
y = (y - y.mean()) / spread
"""

SKLEARN = READ + """
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
k = ConstantKernel(1.0, (1e-6, 1e6)) * RBF(np.full(d, d**0.5), (1e-4, 1e4)) + WhiteKernel(0.1, (1e-6, 1e2))
start = time.perf_counter()
gp = GaussianProcessRegressor(k, alpha=0).fit(X, y)
print(json.dumps({"seconds": time.perf_counter() - start, "nlml": float(-gp.log_marginal_likelihood_value_ + n * np.log(spread))}))
"""

GPYTORCH = READ + """
import gpytorch, torch
X, y = torch.from_numpy(X), torch.from_numpy(y)

class Model(gpytorch.models.ExactGP):
    def __init__(self, likelihood):
        super().__init__(X, y, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        rbf = gpytorch.kernels.RBFKernel(ard_num_dims=d, lengthscale_constraint=gpytorch.constraints.GreaterThan(1e-4))
        self.covar_module = gpytorch.kernels.ScaleKernel(rbf, outputscale_constraint=gpytorch.constraints.GreaterThan(1e-6))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-6))
model = Model(likelihood).double()
model.covar_module.outputscale = 1.0
model.covar_module.base_kernel.lengthscale = d**0.5
likelihood.noise = 0.1
mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
model.train(), likelihood.train()
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=200, tolerance_grad=1e-6, tolerance_change=1e-9, line_search_fn="strong_wolfe")
lowest, count = float("inf"), 0

def closure():
    global lowest, count
    optimizer.zero_grad()
    loss = -mll(model(X), y)
    loss.backward()
    lowest, count = min(lowest, loss.item()), count + 1
    return loss

start = time.perf_counter()
with gpytorch.settings.max_cholesky_size(10**9), gpytorch.settings.fast_computations(False, False, False):
    optimizer.step(closure)
print(json.dumps({"seconds": time.perf_counter() - start, "nlml": lowest * n + n * float(np.log(spread)), "evaluations": count}))
"""


def ours(table, folder):
    tool = str(peers.ROOT / os.environ.get("CT_BUILD", "build") / "examples/ctgp/ctgp")
    start = time.perf_counter()
    out = subprocess.run([tool, "fit", table, "--target", "y", "--kernel", KERNEL, "--mean", "zero", "--priors", "none",
                          "--model", f"{folder}/m", "--json"],
                         check=True, capture_output=True, text=True).stdout
    seconds = time.perf_counter() - start
    return {**json.loads(out.strip().splitlines()[-1]), "seconds": seconds}


def peer(script, table):
    out = subprocess.run([sys.executable, "-c", script, table], capture_output=True, text=True)
    if out.returncode:
        print(f"# no result: {out.stderr.strip().splitlines()[-1]}")
        return None
    return json.loads(out.stdout)


def cut(source, rows, folder):
    """The path of a table with the first so many rows (0: all) and without columns that are constant in them; how many rows."""
    with open(source, newline="") as f:
        lines = list(csv.reader(f))
    lines = lines[:rows + 1] if rows else lines
    kept = [j for j in range(len(lines[0])) if len({line[j] for line in lines[1:]}) > 1]
    lines = [[line[j] for j in kept] for line in lines]
    path = f"{folder}/table.csv"
    with open(path, "w", newline="") as f:
        csv.writer(f).writerows(lines)
    return path, len(lines) - 1


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: ./run bench fit DIR [NAME[:ROWS]...]   (DIR/NAME_train.csv)")
    scripts = [(who, script) for who, script in (("gpytorch", GPYTORCH), ("sklearn", SKLEARN)) if peers.load(who)]
    lines = []
    for name in sys.argv[2:] or SETS:
        name, _, rows = name.partition(":")
        with tempfile.TemporaryDirectory() as folder:
            table, n = cut(pathlib.Path(sys.argv[1]) / f"{name}_train.csv", int(rows or 0), folder)
            found = [("cotangent", ours(table, folder))] + [(who, peer(script, table)) for who, script in scripts]
        for who, r in found:
            if not r:
                continue
            line = {"bench": "fit", "case": name, "who": who, "n": str(n), "dtype": "f64", "pass": "training",
                    "seconds": f"{r['seconds']:.4g}", "nlml": f"{r['nlml']:.3f}"}
            if "evaluations" in r:
                line["evaluations"] = str(r["evaluations"])
            lines.append(line)
            print(" ".join(f"{k}={v}" for k, v in line.items()), flush=True)
    print(f"\nkernel: {KERNEL} + noise\n\n| data | n | who | nlml | evaluations | seconds |\n|---|---|---|---|---|---|")
    for l in lines:
        print(f"| {l['case']} | {l['n']} | {l['who']} | {l['nlml']} | {l.get('evaluations', '')} | {l['seconds']} |")


if __name__ == "__main__":
    main()
