"""Fits to convergence: `./run bench fit DIR [NAME[:ROWS]...] [CONTENDER...] [--seconds S]`.

DIR holds NAME_train.csv with the target in column y. The default NAMEs are concrete, airfoil and
elevators:8000; the default contenders are cotangent, gpytorch and sklearn. All maximise the same likelihood,
scale * rbf(ard) + noise with mean zero, of the same standardised table in f64, by L-BFGS from the same start
(lengthscales sqrt(d), variance 1, noise 0.1). Each runs in its own process on all threads, in turn. The
bounds are the same, except that GPyTorch has lower bounds only.

Each contender prints seconds and likelihood of each evaluation. `seconds` is the time of the first evaluation
within 0.01 of the lowest nlml that any contender found, `total` the time until the contender's own tolerance
is met. A contender that begins at another likelihood is left out with a remark. After --seconds (of each fit;
0: no limit) a contender is stopped, and its best value counts: ended=limit. nlml is that of y as given.
"""
import csv
import math
import pathlib
import selectors
import subprocess
import sys
import tempfile
import time

import peers

SETS, WHO = ("concrete", "airfoil", "elevators:8000"), ("cotangent", "gpytorch", "sklearn")
CLOSE = 0.01

READ = """
import csv, sys, time, warnings
import numpy as np
warnings.filterwarnings("ignore")
table = np.array(list(csv.reader(open(sys.argv[1])))[1:], dtype=float)
X, y = table[:, :-1], table[:, -1]
n, d = X.shape

def tell(nlml):
    print(f"at {time.perf_counter() - start:.6f} {nlml:.12g}", flush=True)
"""

SKLEARN = READ + """
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
k = ConstantKernel(1.0, (1e-6, 1e6)) * RBF(np.full(d, d**0.5), (1e-4, 1e4)) + WhiteKernel(0.1, (1e-6, 1e2))

def search(objective, theta, bounds):  # sklearn's own call, and what it saw
    def told(theta):
        value, slope = objective(theta)
        tell(value)
        return value, slope
    found = minimize(told, theta, method="L-BFGS-B", jac=True, bounds=bounds)
    return found.x, found.fun

start = time.perf_counter()
gp = GaussianProcessRegressor(k, alpha=0, optimizer=search).fit(X, y)
print("ended its own tolerance")
"""

GPYTORCH = READ + """
import gpytorch, torch
above = gpytorch.constraints.GreaterThan
X, y = torch.from_numpy(X.copy()), torch.from_numpy(y.copy())

class Model(gpytorch.models.ExactGP):
    def __init__(self, likelihood):
        super().__init__(X, y, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        rbf = gpytorch.kernels.RBFKernel(ard_num_dims=d, lengthscale_constraint=above(1e-4))
        self.covar_module = gpytorch.kernels.ScaleKernel(rbf, outputscale_constraint=above(1e-6))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=above(1e-6)).double()
model = Model(likelihood).double()
model.covar_module.outputscale = 1.0
model.covar_module.base_kernel.lengthscale = d**0.5
likelihood.noise = 0.1
mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
model.train(), likelihood.train()
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=200, tolerance_grad=1e-6,
                              tolerance_change=1e-9, line_search_fn="strong_wolfe")

def closure():
    optimizer.zero_grad()
    loss = -mll(model(X), y)
    loss.backward()
    tell(loss.item() * n)
    return loss

start = time.perf_counter()
with gpytorch.settings.max_cholesky_size(10**9), gpytorch.settings.fast_computations(False, False, False):
    optimizer.step(closure)
print("ended its own tolerance")
"""


def table_of(source, rows, folder):
    """Writes the first rows (0: all), standardised, the target last, without constant columns; returns the
    path, the number of rows and the target's standard deviation."""
    with open(source, newline="") as f:
        lines = list(csv.reader(f))
    head, lines = lines[0], [[float(x) for x in line] for line in (lines[1:rows + 1] if rows else lines[1:])]
    n, columns = len(lines), []
    for name, column in sorted(zip(head, zip(*lines)), key=lambda pair: pair[0] == "y"):
        mean = sum(column) / n
        spread = (sum((x - mean)**2 for x in column) / n)**0.5
        if min(column) < max(column):
            columns.append((name, [(x - mean) / spread for x in column]))
    path = f"{folder}/table.csv"
    with open(path, "w", newline="") as f:
        csv.writer(f).writerows([[name for name, _ in columns],
                                 *([repr(x) for x in row] for row in zip(*(c for _, c in columns)))])
    return path, n, spread


def follow(command, limit):
    """[(seconds, nlml)] of its evaluations, and how it ended: its own word, "limit" or an error's last
    line."""
    path, ended, deadline = [], "", None
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ready = selectors.DefaultSelector()
    ready.register(process.stdout, selectors.EVENT_READ)
    while True:
        if not ready.select(None if deadline is None else max(0, deadline - time.monotonic())):
            process.kill()
            ended = "limit"
            break
        line = process.stdout.readline()
        word, _, rest = line.strip().partition(" ")
        if word == "at":
            seconds, nlml = (float(x) for x in rest.split())
            path.append((seconds, nlml))
            if limit and deadline is None:
                deadline = time.monotonic() + limit - seconds
        elif word == "ended":
            ended = rest
        elif not line:
            break
    errors = process.communicate()[1].strip().splitlines()
    return path, ended or (errors or ["no result"])[-1]


def compare(name, n, d_log, found):
    """The lines of those that began at the same likelihood."""
    first = next(iter(found.values()))[0][0][1]
    same = {who: f for who, f in found.items() if abs(f[0][0][1] - first) <= 1e-6 * abs(first)}
    for who in found.keys() - same.keys():
        print(f"# {who} begins at nlml {found[who][0][0][1]:.6f}, another at {first:.6f}: left out")
    lowest = min(nlml for path, _ in same.values() for _, nlml in path)
    for who, (path, ended) in same.items():
        near = [seconds for seconds, nlml in path if nlml <= lowest + CLOSE]
        yield {"bench": "fit", "case": name, "who": who, "n": str(n), "dtype": "f64", "pass": "training",
               "seconds": f"{near[0]:.4g}" if near else "", "total": f"{path[-1][0]:.4g}",
               "nlml": f"{min(nlml for _, nlml in path) + d_log:.4f}", "evaluations": str(len(path)),
               "ended": "limit" if ended == "limit" else "itself"}


def main():
    words = peers.options.words
    if not words:
        sys.exit("usage: ./run bench fit DIR [NAME[:ROWS]...] [CONTENDER...] [--seconds S]   "
                 "(DIR/NAME_train.csv)")
    names = [word for word in words[1:] if word not in WHO] or SETS
    contenders = [who for who in WHO if who in words[1:]] or WHO
    scripts = {who: script for who, script in (("gpytorch", GPYTORCH), ("sklearn", SKLEARN))
               if who in contenders and peers.load(who)}
    lines = []
    for name in names:
        name, _, rows = name.partition(":")
        rows = int(rows) if rows else 8000 if name == "elevators" else 0
        with tempfile.TemporaryDirectory() as folder:
            table, n, spread = table_of(pathlib.Path(words[0]) / f"{name}_train.csv", rows, folder)
            found = {}
            for who in contenders:
                if who != "cotangent" and who not in scripts:
                    continue
                command = ([peers.program("fit"), table] if who == "cotangent"
                           else [sys.executable, "-c", scripts[who], table])
                path, ended = follow(command, peers.options.seconds)
                if path:
                    found[who] = path, ended
                else:
                    print(f"# {who} has no result: {ended}")
        if not found:
            continue
        for line in compare(name, n, n * math.log(spread), found):
            lines.append(line)
            print(" ".join(f"{k}={v}" for k, v in line.items() if v), flush=True)
    shown = ("case", "n", "who", "nlml", "evaluations", "seconds", "total", "ended")
    print(f"\nscale * rbf(ard) + noise; seconds to {CLOSE} of the lowest nlml\n\n"
          f"| {' | '.join(shown)} |\n|{'---|' * len(shown)}")
    for line in lines:
        print("| " + " | ".join(line[key] for key in shown) + " |")


if __name__ == "__main__":
    main()
