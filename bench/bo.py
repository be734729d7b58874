"""Bayesian optimisation beside BoTorch: `./run bench bo [branin] [hartmann6] [cotangent] [botorch]`, with
`--seeds N` for other than 5 initial designs.

60 evaluations of a function on the unit cube, the first 10 of them at random points that both contenders
share. Before each of the others the model is fitted to all values so far, from where the last fit ended, and
log EI is maximised. Both have scale * matern52(ard) + noise and a constant mean, with the same start (of the
first fit), lower bounds (BoTorch has no upper ones), BoTorch's own prior on the lengthscales, and unit: the
values' standard deviation in the initial design. Both maximise log EI from 32 random points. Ours climbs from
them for 60 steps; BoTorch has its own Sobol points and L-BFGS-B, and runs on one thread if that is faster
than all. `seconds` is the time of all fits and maximisations: for ours from writing a value into a pipe to
reading the next point, including the start of the process. `regret` is the lowest value minus the function's
minimum.

At every tenth point of ours BoTorch's model gets our parameters: its likelihood must equal ours to a
millionth, and its log EI to 1e-4.
"""
import math
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import peers

EVALUATIONS, FIRST, STARTS = 60, 10, 32


def branin(u):
    a, b = 15 * u[0] - 5, 15 * u[1]
    parabola = b - 5.1 * a**2 / (4 * math.pi**2) + 5 * a / math.pi - 6
    return parabola**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(a) + 10


def hartmann6(u):
    """[Dixon & Szegö 1978]"""
    alpha = 1.0, 1.2, 3.0, 3.2
    A = ((10, 3, 17, 3.5, 1.7, 8), (0.05, 10, 17, 0.1, 8, 14),
         (3, 3.5, 1.7, 10, 17, 8), (17, 8, 0.05, 10, 0.1, 14))
    P = ((1312, 1696, 5569, 124, 8283, 5886), (2329, 4135, 8307, 3736, 1004, 9991),
         (2348, 1451, 3522, 2883, 3047, 6650), (4047, 8828, 8732, 5743, 1091, 381))
    return -sum(c * math.exp(-sum(a * (x - 1e-4 * p)**2 for a, x, p in zip(row, u, places)))
                for c, row, places in zip(alpha, A, P))


# The function, its inputs and its minimum.
CASES = {"branin": (branin, 2, 0.39788735772973816), "hartmann6": (hartmann6, 6, -3.322368011415515)}


def uniform(seed, rows, columns):
    draw = random.Random(seed)
    return [[draw.random() for _ in range(columns)] for _ in range(rows)]


class Ours:
    """bo.c, driven through pipes."""
    def __init__(self, X, y, botorch):
        self.table = tempfile.NamedTemporaryFile("w", suffix=".csv")
        for row, value in zip(X, y):
            print(*(repr(x) for x in row), repr(value), sep=",", file=self.table)
        self.table.flush()
        self.X, self.y, self.judge = list(X), list(y), botorch
        self.process = subprocess.Popen(
            [peers.program("bo"), self.table.name, str(EVALUATIONS - FIRST), *peers.options.given],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def next(self):
        for line in self.process.stdout:
            self.said = re.match(r"kernel (.*) noise (.*) mean (.*) nlml (.*) log_ei (.*) at (.*)", line)
            if self.said:
                return [float(x) for x in self.said[6].split()]
        sys.exit("bo ended early")

    def check(self, point):
        """Compares its likelihood and log EI with those of BoTorch's model."""
        kernel, noise, mean, nlml, log_ei = (self.said[k] for k in range(1, 6))
        scale, lengths = re.match(r"scale\((.*?)\) \* matern52\(ard, lengthscale=(.*)\)", kernel).groups()
        theirs = self.judge(self.X, self.y)
        theirs.set(float(scale), [float(x) for x in lengths.split(":")], float(noise), float(mean))
        wanted = theirs.nlml(), theirs.log_ei(point)
        if abs(float(nlml) - wanted[0]) > 1e-6 * abs(wanted[0]) or abs(float(log_ei) - wanted[1]) > 1e-4:
            print(f"# ours: nlml {nlml}, log EI {log_ei}; BoTorch's at our parameters: {wanted}", flush=True)

    def learn(self, point, value):
        if self.judge and len(self.y) % 10 == 0:
            self.check(point)
        self.X.append(point), self.y.append(value)

    def tell(self):
        self.process.stdin.write(repr(self.y[-1]) + "\n")
        self.process.stdin.flush()

    def close(self):
        self.process.communicate()
        self.table.close()


def make_botorch():
    """The class of the other contender; None if it is not installed."""
    if not peers.load("botorch"):
        return None
    warnings.filterwarnings("ignore")
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.constraints import GreaterThan
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from gpytorch.priors import LogNormalPrior
    torch.set_default_dtype(torch.float64)

    def above(bound, start):  # no transform: the optimiser has the bound, as in BoTorch's own models
        return GreaterThan(bound, transform=None, initial_value=start)

    class BoTorch:
        def __init__(self, X, y):
            torch.manual_seed(0)
            self.X, self.y, self.model = list(X), list(y), None
            first = torch.tensor(self.y[:FIRST])
            self.shift, self.unit = first.mean().item(), first.std(correction=0).item()
            self.spread = torch.tensor(self.X[:FIRST]).std(0, correction=0)

        def renew(self):
            """A model of all values so far, at the parameters of the last fit."""
            X = torch.tensor(self.X)
            y = (torch.tensor(self.y)[:, None] - self.shift) / self.unit
            d = X.shape[1]
            start = self.spread * d**0.5
            matern = MaternKernel(2.5, ard_num_dims=d,
                                  lengthscale_prior=LogNormalPrior(2**0.5 + math.log(d) / 2, 3**0.5),
                                  lengthscale_constraint=above(1e-4 * self.spread, start))
            kernel = ScaleKernel(matern, outputscale_constraint=above(1e-6, 1.0))
            noise = GaussianLikelihood(noise_constraint=above(1e-6, 0.1))
            model = SingleTaskGP(X, y, likelihood=noise, covar_module=kernel, outcome_transform=None)
            if self.model:
                model.load_state_dict(self.model.state_dict())
            self.model = model

        def acquisition(self):
            return LogExpectedImprovement(self.model, (min(self.y) - self.shift) / self.unit, maximize=False)

        def next(self):
            self.renew()
            fit_gpytorch_mll(ExactMarginalLogLikelihood(self.model.likelihood, self.model))
            cube = torch.tensor([[0.0], [1.0]]).expand(2, len(self.X[0])).contiguous()
            point, _ = optimize_acqf(self.acquisition(), cube, q=1, num_restarts=STARTS, raw_samples=STARTS)
            return point[0].tolist()

        def learn(self, point, value):
            self.X.append(point), self.y.append(value)

        def tell(self):
            pass

        def close(self):
            pass

        def set(self, scale, lengths, noise, mean):
            """Parameters in the units of the data."""
            self.renew()
            self.model.covar_module.outputscale = scale / self.unit**2
            self.model.covar_module.base_kernel.lengthscale = torch.tensor(lengths)
            self.model.likelihood.noise = noise / self.unit**2
            self.model.mean_module.constant = (mean - self.shift) / self.unit

        def nlml(self):
            self.model.train()
            with torch.no_grad():
                y = self.model.likelihood(self.model(*self.model.train_inputs))
                return -y.log_prob(self.model.train_targets).item() + len(self.y) * math.log(self.unit)

        def log_ei(self, point):
            self.model.eval()
            with torch.no_grad():
                return self.acquisition()(torch.tensor([point])).item() + math.log(self.unit)

    def seconds_on(threads):  # of the second of two steps; the first warms up
        torch.set_num_threads(threads)
        X = uniform(0, EVALUATIONS, 6)
        contender = BoTorch(X, [hartmann6(u) for u in X])
        contender.next()
        start = time.perf_counter()
        contender.next()
        return time.perf_counter() - start

    torch.set_num_threads(min((torch.get_num_threads(), 1), key=seconds_on))
    print(f"# BoTorch runs on {torch.get_num_threads()} threads, where it is fastest", flush=True)
    return BoTorch


def run(contender, case):
    """(seconds, regret) of one loop."""
    f, _, least = CASES[case]
    seconds = 0
    for k in range(EVALUATIONS - FIRST):
        start = time.perf_counter()
        if k:
            contender.tell()
        point = contender.next()
        seconds += time.perf_counter() - start
        contender.learn(point, f(point))
    contender.tell()
    contender.close()
    return seconds, min(contender.y) - least


def main():
    words = peers.chosen((*CASES, "cotangent", "botorch"))
    BoTorch = make_botorch()
    makers = {"cotangent": lambda X, y: Ours(X, y, BoTorch), "botorch": BoTorch}
    makers = {who: make for who, make in makers.items()
              if make and (who in words or not {*makers} & {*words})}
    lines = []

    def show(**line):
        lines.append(line)
        print("bench=bo " + " ".join(f"{k}={v}" for k, v in line.items()), flush=True)

    for case in [case for case in CASES if case in words or not {*CASES} & {*words}]:
        f, d, _ = CASES[case]
        found = {who: [] for who in makers}
        for seed in range(peers.options.seeds or 5):
            X = uniform(seed, FIRST, d)
            for who, make in makers.items():
                contender = make(X, [f(x) for x in X])
                seconds, regret = run(contender, case)
                found[who].append((seconds, regret))
                show(case=case, who=who, n=EVALUATIONS, d=d, dtype="f64", seed=seed, seconds=f"{seconds:.4g}",
                     regret=f"{regret:.3g}")
        for who, all_of in found.items():
            seconds, regret = (statistics.median(values) for values in zip(*all_of))
            show(case=case, who=who, n=EVALUATIONS, d=d, dtype="f64", seed="median", seconds=f"{seconds:.4g}",
                 regret=f"{regret:.3g}")
    shown = "case", "seed", "who", "seconds", "regret"
    print(f"\n{EVALUATIONS} evaluations, {FIRST} of them the initial design\n\n"
          f"| {' | '.join(shown)} |\n|{'---|' * len(shown)}")
    for line in lines:
        print("| " + " | ".join(str(line[key]) for key in shown) + " |")


if __name__ == "__main__":
    main()
