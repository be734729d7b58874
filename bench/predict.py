"""Mean and variance of an exact GP at 10,000 new points beside its peers: `./run bench predict [n...]`.

All contenders predict f (no noise) with the same covariance (case), data and parameters in f64 from a factor
computed before. pass=training adds the gradient of the sum of both in the points. A peer with another sum is
left out with a remark. The unit of per_trsm is the triangular solve that our program timed. torch: by hand, a
Cholesky factor and solve_triangular in chunks of 2048; gpytorch: its Cholesky path in chunks of 512, with the
diagonal only; sklearn: predict with return_std.
"""
import sys

import peers

D, NOISE, M = 8, 0.1, 10000
CASES = ("rbf", "matern52")
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)


def data(np, first, n):
    """As in predict.c."""
    i = np.arange(first + 1, first + n + 1, dtype=np.float64)
    X = np.stack([np.mod(i * np.sqrt(float(p)), 1.0) for p in PRIMES], axis=1)
    return X, np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * np.sin(1000 * i)


def torch_run(torch, np, case, n):
    X, y = (torch.tensor(a) for a in data(np, 0, n))
    new = torch.tensor(data(np, n, M)[0])

    def covariance(A, B):
        A, B = A / 0.7, B / 0.7
        s = ((A * A).sum(1)[:, None] + (B * B).sum(1)[None, :] - 2 * A @ B.T).clamp(min=1e-15)
        if case == "rbf":
            return 1.3 * torch.exp(-0.5 * s)
        r = torch.sqrt(5 * s)
        return 1.3 * (1 + r + r * r / 3) * torch.exp(-r)

    L = torch.linalg.cholesky(covariance(X, X) + NOISE * torch.eye(n, dtype=torch.float64))
    alpha = torch.cholesky_solve(y[:, None], L)

    def run(training):
        total = 0.0
        for part in new.split(2048):
            points = part.clone().requires_grad_(training)
            with torch.set_grad_enabled(training):
                k = covariance(X, points)
                mean = k.T @ alpha
                v = torch.linalg.solve_triangular(L, k, upper=False)
                value = mean.sum() + (1.3 - (v * v).sum(0)).sum()
                if training:
                    value.backward()
            total += value.item()
        return total

    return run


def gpytorch_run(gpytorch, torch, np, case, n):
    X, y = (torch.tensor(a) for a in data(np, 0, n))
    new = torch.tensor(data(np, n, M)[0])
    k = gpytorch.kernels

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            inner = k.MaternKernel(2.5, ard_num_dims=D) if case == "matern52" else k.RBFKernel(ard_num_dims=D)
            self.covar_module = k.ScaleKernel(inner.double())
            self.covar_module.outputscale = 1.3
            self.covar_module.base_kernel.lengthscale = 0.7

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    likelihood.noise = NOISE
    model = Model(likelihood).double()
    model.eval()

    def run(training):
        total = 0.0
        exact = gpytorch.settings.fast_computations(False, False, False)
        with gpytorch.settings.max_cholesky_size(10**9), exact, torch.set_grad_enabled(training):
            for part in new.split(512):
                points = part.clone().requires_grad_(training)
                f = model(points)
                value = f.mean.sum() + f.lazy_covariance_matrix.diagonal(dim1=-1, dim2=-2).sum()
                if training:
                    value.backward()
                total += value.item()
        return total

    return run


def sklearn_run(sklearn, np, case, n):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
    X, y = data(np, 0, n)
    new = data(np, n, M)[0]
    inner = Matern([0.7] * D, nu=2.5) if case == "matern52" else RBF([0.7] * D)
    gp = GaussianProcessRegressor(ConstantKernel(1.3) * inner, optimizer=None, alpha=NOISE).fit(X, y)

    def run(training):
        mean, std = gp.predict(new, return_std=True)
        return float(mean.sum() + (std * std).sum())

    return run


def contenders(case, n):
    """name -> (what makes its run(training), whether it has gradients), for the peers that are installed."""
    np, found = peers.load("numpy"), {}
    torch, gpytorch, sklearn = (peers.load(name) for name in ("torch", "gpytorch", "sklearn"))
    if torch:
        found["torch"] = lambda: torch_run(torch, np, case, n), True
    if gpytorch:
        found["gpytorch"] = lambda: gpytorch_run(gpytorch, torch, np, case, n), True
    if sklearn:
        found["sklearn"] = lambda: sklearn_run(sklearn, np, case, n), False
    return found


def measure(case, n, who, make, slopes, ours):
    """The lines of a peer; `ours` is the first of our lines."""
    run, wanted, trsm = make(), float(ours["value"]), float(ours["seconds"]) / float(ours["per_trsm"])
    value = run(False)
    if not abs(value - wanted) <= 1e-6 * abs(wanted):
        raise ValueError(f"{value:.10g}, we have {wanted:.10g}")
    for training in (False, True) if slopes else (False,):
        seconds = peers.best(lambda: run(training), seconds=1)
        yield {"bench": "predict", "case": case, "who": who, "n": str(n), "m": str(M), "d": str(D),
               "dtype": "f64",
               "pass": "training" if training else "forward", "seconds": f"{seconds:.6g}",
               "per_trsm": f"{seconds / trsm:.3f}"}


def main():
    sizes = [int(n) for n in peers.options.words] or [1000, 3000]
    lines, said = [], []
    for n in sizes:
        ours, said = peers.ours("predict", str(n))
        lines += ours
        for case in CASES:
            first = next(line for line in ours if line["case"] == case)
            for who, (make, slopes) in contenders(case, n).items():
                lines += peers.contend(who, f"{case} n={n}",
                                       lambda: measure(case, n, who, make, slopes, first)) or []
    peers.table(lines, value="seconds", columns=("case", "n", "pass"), comment=said[0])


if __name__ == "__main__":
    sys.exit(peers.run(main))
