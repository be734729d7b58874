"""Fits to convergence: `./run bench fit DIR [NAME[:ROWS]...] [CONTENDER...] [--seconds S]
[--restarts R]`, or `./run bench fit made:ROWS...` without DIR.

made:ROWS is drawn: eight uniform columns, of which Friedman's function [Friedman 1991] has five, and noise of
a tenth of its deviation. On a GPU GPyTorch is the only peer. DIR holds NAME_train.csv with the target in
column y. The default NAMEs are yacht, energy, concrete and airfoil; the default contenders are all. All
maximise the same likelihood, scale * rbf(ard) + noise with mean zero, of the same standardised table in f64,
by a single search. Each runs in its own process on all threads, in turn; below 500 rows also on one thread,
and the faster fit counts. A contender with another likelihood at the start (lengthscales 1, variance 1, noise
0.1) is left out with a remark.

cotangent, gpytorch and sklearn print seconds and likelihood of each evaluation of L-BFGS. `total` is the time
until the contender's own tolerance is met, `seconds` that of the first evaluation within 0.01 of the optimum:
the lowest nlml of all contenders that end within 0.1 of this one. The others do not report their steps. Their
search is repeated with fewer steps, and `seconds` is the time of the shortest one that ends so close. gpflash
is its SQP, gpflash_ccsaq its other optimiser; gpboost is Fisher scoring, gpboost_lbfgs its default. For all
contenders an evaluation before the clock starts the threads and touches the memory. libkriging may take 200
steps and stops at a relative change of 1e-9, since its defaults stop early. Other settings have their
defaults.

The bounds are the same (lengthscales 0.01 to 1e4), except that GPyTorch has lower ones only, that GpFlash
keeps its own for the variances, and that libKriging and GPBoost keep theirs. GpFlash chooses the first
lengthscales itself (1 to a thousandth), and libKriging moves the start into its bounds. libKriging and
GPBoost's L-BFGS have a closed form for one of the variances.

With --restarts R, ours, scikit-learn, GpFlash and libKriging search from 1 + R starts and keep the best; each
draws its own further starts. The others have no restarts. `seconds` is then left out for contenders that do
not report their steps.

After --seconds (of each fit; 0: no limit) a contender is stopped, and its best value counts: ended=limit.
nlml is that of y as given. If DIR holds NAME_test.csv, cotangent, gpytorch and sklearn predict its rows:
rmse, mae and nlpd (mean negative log predictive density), of y as given.
"""
import csv
import math
import os
import pathlib
import random
import selectors
import statistics
import subprocess
import sys
import tempfile
import time

import peers

SETS = "yacht", "energy", "concrete", "airfoil"
MADE = "made"
CLOSE, SAME = 0.01, 0.1  # to an optimum; between two optima
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}

READ = """
import csv, sys, time, warnings
import numpy as np
warnings.filterwarnings("ignore")

def read(path):
    table = np.array(list(csv.reader(open(path)))[1:], dtype=float)
    return table[:, :-1].copy(), table[:, -1].copy()

X, y = read(sys.argv[1])
n, d = X.shape
restarts = int(sys.argv[2].split(":")[2])

def tell(nlml):
    print(f"at {time.perf_counter() - start:.6f} {nlml:.12g}", flush=True)

def test(predict):  # predict(X): mean and variance of a new observation
    if len(sys.argv) > 3:
        Xs, ys = read(sys.argv[3])
        mean, variance = predict(Xs)
        error = ys - mean
        nlpd = 0.5 * (np.log(2 * np.pi * variance) + error**2 / variance)
        print("test", (error**2).mean()**0.5, abs(error).mean(), nlpd.mean())
"""

# For contenders that do not report their steps: run(k) is (seconds, nlml, steps) of at most k steps.
STEPLESS = READ + """
CLOSE = float(sys.argv[2].split(":")[0])
lowest = float(sys.argv[2].split(":")[1])

def search(run, most):
    def told(k):
        seconds, nlml, steps = run(k)
        print(f"search {seconds:.6f} {nlml:.12g}", flush=True)
        return nlml, steps

    run(1)  # the library's first call, which starts its threads, is not timed
    best, high = told(most)
    print("ended its own tolerance", flush=True)
    enough, low = min(best, lowest) + CLOSE, 0
    while not restarts and best <= enough and high - low > 1:  # low steps are too few, high are enough
        k = (low + high) // 2
        if told(k)[0] <= enough:
            high = k
        else:
            low = k
"""
SKLEARN = READ + """
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
k = ConstantKernel(1.0, (1e-6, 1e6)) * RBF(np.ones(d), (1e-2, 1e4)) + WhiteKernel(0.1, (1e-6, 1e2))

def search(objective, theta, bounds):  # sklearn's own call, and what it saw
    def told(theta):
        value, slope = objective(theta)
        tell(value)
        return value, slope
    found = minimize(told, theta, method="L-BFGS-B", jac=True, bounds=bounds)
    return found.x, found.fun

GaussianProcessRegressor(k, alpha=0, optimizer=None).fit(X, y).log_marginal_likelihood(k.theta, True)
start = time.perf_counter()
gp = GaussianProcessRegressor(k, alpha=0, optimizer=search, n_restarts_optimizer=restarts,
                              random_state=0).fit(X, y)
print("ended its own tolerance", flush=True)

def predict(X):
    mean, deviation = gp.predict(X, return_std=True)
    return mean, deviation**2
test(predict)
"""

GPYTORCH = READ + """
import gpytorch, torch
above = gpytorch.constraints.GreaterThan
torch.set_default_device("DEVICE")
X, y = torch.tensor(X), torch.tensor(y)

class Model(gpytorch.models.ExactGP):
    def __init__(self, likelihood):
        super().__init__(X, y, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        rbf = gpytorch.kernels.RBFKernel(ard_num_dims=d, lengthscale_constraint=above(1e-2))
        self.covar_module = gpytorch.kernels.ScaleKernel(rbf, outputscale_constraint=above(1e-6))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=above(1e-6)).double()
model = Model(likelihood).double()
model.covar_module.outputscale = 1.0
model.covar_module.base_kernel.lengthscale = 1.0
likelihood.noise = 0.1
mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
model.train(), likelihood.train()
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=200, tolerance_grad=1e-6,
                              tolerance_change=1e-9, line_search_fn="strong_wolfe")

def closure():
    optimizer.zero_grad()
    loss = -mll(model(X), y)
    loss.backward()
    if start:
        tell(loss.item() * n)
    return loss

def predict(X):
    model.eval(), likelihood.eval()
    with torch.no_grad():
        found = likelihood(model(torch.tensor(X)))
        return found.mean.cpu().numpy(), found.variance.cpu().numpy()

start = None
with gpytorch.settings.max_cholesky_size(10**9), gpytorch.settings.fast_computations(False, False, False):
    closure()
    start = time.perf_counter()
    optimizer.step(closure)
    print("ended its own tolerance", flush=True)
    test(predict)
"""

GPFLASH = STEPLESS + """
import gpflash
points, options, hp = gpflash.TrainingData(), gpflash.OptzOptions(), gpflash.HpVal()
points.X_ndim_ntrain_mat, points.f_train_vec = np.asfortranarray(X.T), y
points.sig2_f_val = -1.0  # one of the parameters
model, check = gpflash.ModelOptions(), gpflash.ModelOptions()
for each in (model, check):
    each.kernel_id, each.has_mean_model_constant = gpflash.KernelId.SqExp, False
check.cond_max = 1e13  # the least nugget, so that the values can be compared
options.model_options, options.hp_sig2_f_val_init = model, 0.1
options.hp_gamma_lb_vec, options.hp_gamma_ub_vec = [1e-4], [1e2]
options.numerical_optz_algorithm = gpflash.NumericalOptzAlgorithm.METHOD
options.use_multistart, options.n_ind_optz = restarts > 0, restarts + 1
hp.hp_gamma_vec, hp.hp_sig2_k, hp.hp_sig2_f_val = np.ones(d), 1.0, 0.1
print("at 0", -gpflash.eval_mll(points, hp, check).mll, flush=True)

def run(most):
    options.max_evals = most
    start = time.perf_counter()
    found = gpflash.select_hp_with_max_mll(points, options)
    return (time.perf_counter() - start, -found.mll(),
            found.n_total_mll_eval() + found.n_total_mll_grad_eval())
search(run, 2000)
"""

LIBKRIGING = STEPLESS + """
import pylibkriging
pylibkriging.Optim.set_objective_rel_tolerance(1e-9)
first = {"theta": np.ones((1, d)), "sigma2": 1.0, "nugget": 0.1}
check = pylibkriging.Kriging("gauss", "nugget")
check.fit(y, X, "none", False, "none", "LL", first | {"is_sigma2_estim": False, "is_nugget_estim": False})
print("at 0", -check.logLikelihood(), flush=True)

def run(most):
    pylibkriging.Optim.set_max_iteration(most)
    gp = pylibkriging.Kriging("gauss", "nugget")
    start = time.perf_counter()
    gp.fit(y, X, "none", False, f"BFGS{restarts + 1 if restarts else ''}", "LL", first)
    return time.perf_counter() - start, -gp.logLikelihood(), most
search(run, 200)
"""

GPBOOST = STEPLESS + """
import gpboost
first = np.r_[0.1, 1.0, np.full(d, 2**0.5)]  # exp(-|x - x'|^2 / range^2)

def model():
    return gpboost.GPModel(gp_coords=X, cov_function="gaussian_ard", likelihood="gaussian")
print("at 0", model().neg_log_likelihood(cov_pars=first, y=y), flush=True)

def run(most):
    gp = model()
    start = time.perf_counter()
    gp.fit(y=y, params={"optimizer_cov": "METHOD", "init_cov_pars": first, "maxit": most})
    return time.perf_counter() - start, gp.get_current_neg_log_likelihood(), gp._get_num_optim_iter()
search(run, 1000)
"""

# name: its module and its program
PEERS = {
    "gpytorch": ("gpytorch", GPYTORCH.replace("DEVICE", peers.options.peer)),
    "sklearn": ("sklearn", SKLEARN),
    "gpflash": ("gpflash", GPFLASH.replace("METHOD", "Sqp")),
    "gpflash_ccsaq": ("gpflash", GPFLASH.replace("METHOD", "Ccsaq")),
    "libkriging": ("pylibkriging", LIBKRIGING),
    "gpboost": ("gpboost", GPBOOST.replace("METHOD", "fisher_scoring")),
    "gpboost_lbfgs": ("gpboost", GPBOOST.replace("METHOD", "lbfgs")),
}
WHO = "cotangent", *(["gpytorch"] if peers.options.gpu else PEERS)
SEARCH_ONCE = "gpytorch", "gpboost", "gpboost_lbfgs"  # they have no restarts of their own


def write_made(folder, rows):
    """Writes the drawn table made_train.csv, and made_test.csv with 500 rows."""
    draw = random.Random(1)
    for part, count in (("train", rows), ("test", 500)):
        with open(f"{folder}/{MADE}_{part}.csv", "w", newline="") as f:
            table = csv.writer(f)
            table.writerow([*(f"x{j}" for j in range(8)), "y"])
            for _ in range(count):
                u = [draw.random() for _ in range(8)]
                mean = 10 * math.sin(math.pi * u[0] * u[1]) + 20 * (u[2] - 0.5)**2 + 10 * u[3] + 5 * u[4]
                table.writerow([*u, mean + 0.5 * draw.gauss(0, 1)])


def tables_of(folder, name, rows, into):
    """Writes the first rows (0: all) of NAME_train.csv, standardised, the target last, without constant
    columns, and NAME_test.csv likewise; returns the paths of those that there are, the number of rows and the
    target's standard deviation."""
    paths, moments = [], None
    for part in ("train", "test"):
        source = pathlib.Path(folder) / f"{name}_{part}.csv"
        if part == "test" and not source.exists():
            break
        with open(source, newline="") as f:
            head, *lines = csv.reader(f)
        lines = [[float(x) for x in line] for line in (lines[:rows] if rows and not moments else lines)]
        table = dict(sorted(zip(head, zip(*lines)), key=lambda pair: pair[0] == "y"))
        if not moments:
            n = len(lines)
            moments = {key: (statistics.fmean(column), statistics.pstdev(column))
                       for key, column in table.items() if min(column) < max(column)}
        columns = [[(x - mean) / spread for x in table[key]] for key, (mean, spread) in moments.items()]
        paths.append(f"{into}/{part}.csv")
        with open(paths[-1], "w", newline="") as f:
            csv.writer(f).writerows([list(moments), *([repr(x) for x in row] for row in zip(*columns))])
    return paths, n, moments["y"][1]


class Followed:
    """What a contender printed. path: [(seconds, nlml)] of its evaluations, or of its whole searches;
    stepless: whether the latter; total: seconds of the fit; test: rmse, mae and nlpd; ended: its own word,
    "limit" or an error's last line."""
    def __init__(self, command, limit, environment=None):
        self.path, self.stepless, self.total, self.test, self.ended = [], False, None, (), ""
        deadline = None
        complaints = tempfile.TemporaryFile("w+")  # a pipe without a reader would fill up
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True,
                                   env=os.environ | (environment or {}))
        ready = selectors.DefaultSelector()
        ready.register(process.stdout, selectors.EVENT_READ)
        while True:
            if not ready.select(None if deadline is None else max(0, deadline - time.monotonic())):
                process.kill()
                self.ended = self.ended or "limit"
                break
            line = process.stdout.readline()
            word, _, rest = line.strip().partition(" ")
            if word in ("at", "search"):
                self.path.append(tuple(float(x) for x in rest.split()))
                self.stepless = word == "search"
                if limit and deadline is None:
                    deadline = time.monotonic() + limit - self.path[0][0]
            elif word == "ended":
                self.ended, self.total = rest, self.path[-1][0]
            elif word == "test":
                self.test = tuple(float(x) for x in rest.split())
            elif not line:
                break
        process.wait()
        complaints.seek(0)
        errors = complaints.read().strip().splitlines()
        self.ended = self.ended or (errors or ["no result"])[-1]
        if self.path and self.total is None:
            self.total = self.path[-1][0]
        self.lowest = min((nlml for _, nlml in self.path), default=math.inf)


def best(who, paths, n, found):
    """The contender on all threads, or on one where the table is small and that is faster."""
    results = []
    # The peers' second argument: the likelihood at which a search must end, how close, and the restarts.
    lowest = min((f.lowest for f in found.values()), default=math.inf)
    restarts = peers.options.restarts or 0
    command = ([peers.program("fit"), str(restarts), *paths, *peers.options.given] if who == "cotangent" else
               [sys.executable, "-c", PEERS[who][1], paths[0], f"{CLOSE}:{lowest}:{restarts}", *paths[1:]])
    for threads in ("all", "1")[:1 if n >= 500 or peers.options.device else 2]:
        results.append(Followed(command, peers.options.seconds, ONE_THREAD if threads == "1" else {}))
        results[-1].threads = threads
    return min(results, key=lambda f: f.total or math.inf)


def compare(name, n, spread, found):
    """The lines of those that began at the same likelihood; spread: that of y as given."""
    first = next(iter(found.values())).path[0][1]
    same = {who: f for who, f in found.items() if abs(f.path[0][1] - first) <= 1e-6 * abs(first)}
    for who in found.keys() - same.keys():
        print(f"# {who} begins at nlml {found[who].path[0][1]:.6f}, another at {first:.6f}: left out")
    for who, f in same.items():
        optimum = min(other.lowest for other in same.values() if abs(other.lowest - f.lowest) <= SAME)
        near = [seconds for seconds, nlml in f.path if nlml <= optimum + CLOSE]
        rmse, mae, nlpd = f.test or (None,) * 3
        yield {"bench": "fit", "case": name, "who": who, "n": str(n), "dtype": "f64", "pass": "training",
               "seconds": "" if not near or (f.stepless and peers.options.restarts) else f"{min(near):.4g}",
               "total": f"{f.total:.4g}",
               "nlml": f"{f.lowest + n * math.log(spread):.4f}",
               "evaluations": "" if f.stepless else str(len(f.path) - (who == "cotangent")),
               "ended": "limit" if f.ended == "limit" else "itself", "threads": f.threads,
               "rmse": f"{rmse * spread:.5g}" if f.test else "",
               "mae": f"{mae * spread:.5g}" if f.test else "",
               "nlpd": f"{nlpd + math.log(spread):.5g}" if f.test else ""}


def main():
    words = peers.options.words
    if not words:
        sys.exit("usage: ./run bench fit DIR [NAME[:ROWS]...] [CONTENDER...] [--seconds S] [--restarts R]   "
                 "(DIR/NAME_train.csv), or made:ROWS... without DIR")
    words = ["", *words] if words[0].startswith(f"{MADE}:") else words
    names = [word for word in words[1:] if word not in WHO] or SETS
    contenders = [who for who in WHO if who in words[1:]] or WHO
    if peers.options.restarts:
        for who in set(contenders) & set(SEARCH_ONCE):
            print(f"# {who} has no restarts: left out")
        contenders = [who for who in contenders if who not in SEARCH_ONCE]
    installed = [who for who in contenders if who == "cotangent" or peers.load(PEERS[who][0])]
    lines = []
    for name in names:
        name, _, rows = name.partition(":")
        with tempfile.TemporaryDirectory() as folder:
            if name == MADE:
                write_made(folder, int(rows))
            paths, n, spread = tables_of(folder if name == MADE else words[0], name, int(rows or 0), folder)
            found = {}
            for who in installed:
                result = best(who, paths, n, found)
                if len(result.path) > 1:
                    found[who] = result
                else:
                    print(f"# {who} has no result: {result.ended}")
        if not found:
            continue
        for line in compare(name, n, spread, found):
            if peers.options.device:
                line["device"] = peers.options.device if line["who"] == "cotangent" else peers.options.peer
            lines.append(line)
            print(" ".join(f"{k}={v}" for k, v in line.items() if v), flush=True)
    shown = ("case", "n", "who", "threads", "nlml", "evaluations", "seconds", "total", "ended", "rmse", "mae",
             "nlpd")
    print(f"\nscale * rbf(ard) + noise; seconds to {CLOSE} of the optimum\n\n"
          f"| {' | '.join(shown)} |\n|{'---|' * len(shown)}")
    for line in lines:
        print("| " + " | ".join(line[key] for key in shown) + " |")


if __name__ == "__main__":
    main()
