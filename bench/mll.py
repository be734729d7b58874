"""The likelihood of an exact GP and its gradient beside its peers: `./run bench mll [n... case... pass...
peer... mixed]`.

All contenders evaluate the same covariance (case), data and parameters in f64 (or in --dtype f32): the value
alone (pass=forward), or value and gradient (pass=training). A peer with another value is left out with a
remark. With mixed our factor is also computed in f32. The unit of per_gemm is the product that our program
timed. torch: autograd through a Cholesky factor; torch_compile: that by torch.compile; torch_function: a
hand-written rule, cholesky and cholesky_inverse; torch_graph: that as a CUDA graph, whose value is not read;
gpytorch: its Cholesky path; lightgp computes in f32 and has one lengthscale for all columns
(here they are equal anyway) and no call for the gradient only: training is one step of its optimiser.
gpflash: its C++, called from Python, with mean zero; it has no sums of kernels. case=batch64 is 64 data sets
at once, with 4 columns up to n = 20: gpytorch by its batch mode, jax by vmap; the sum of their values must be
ours.

A peer's call of more than peers.LONG seconds is made only once, for its value and its time. On a GPU
bytes_per_8n2 is the most that torch's allocator held. torch_compile and torch_graph are there on a GPU up to
N = 1000, or if named.
"""
import sys
import time

import peers

D, NOISE = peers.options.d or 8, 0.1
CASES = ("rbf", "matern52", "sum3")
BATCH, BATCHED, BATCH_ROWS = 64, "batch64", 500
LAUNCHES = 1000  # rows up to which launching kernels takes most of the time
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)


def data(np, n):
    """As in mll.c."""
    i = np.arange(1, n + 1, dtype=np.float64)
    X = np.stack([np.mod(i * np.sqrt(float(p)), 1.0) for p in PRIMES[:D]], axis=1)
    return X, np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * np.sin(1000 * i)


def covariance(lib, case, p, X):
    """With lib = torch or jax.numpy; p: scale, lengthscales, then those of the second term, the third's
    scale."""
    def square(lengths):
        Z = X / lengths
        norms = (Z * Z).sum(1)
        s = norms[:, None] + norms[None, :] - 2 * Z @ Z.T
        return s.clamp(min=1e-15) if hasattr(s, "clamp") else lib.maximum(s, 1e-15)

    def rbf(lengths):
        return lib.exp(-0.5 * square(lengths))

    def matern(lengths, nu):
        r = lib.sqrt((5 if nu == 52 else 3) * square(lengths))
        return (1 + r + (r * r / 3 if nu == 52 else 0)) * lib.exp(-r)

    if case == "matern52":
        return p[0] * matern(p[1:], 52)
    if case == "rbf":
        return p[0] * rbf(p[1:])
    return p[0] * rbf(p[1:D + 1]) + p[D + 1] * matern(p[D + 2:2 * D + 2], 32) + p[2 * D + 2] * X @ X.T


def parameters(case):
    first = [1.3] + [0.7] * D
    return first if case != "sum3" else first + [0.5] + [1.5] * D + [0.2]


def batch(np, n):
    """As in mll.c: X (64, n, d), y (64, n), theta (64, 1 + d)."""
    d = peers.options.d or (4 if n <= 20 else 8)
    X, y = data(np, BATCH * n)
    theta = np.array([1.3] + [0.7] * d) * (1 + np.arange(BATCH)[:, None] / 500)
    return X[:, :d].reshape(BATCH, n, d), y.reshape(BATCH, n), theta


def torch_run(torch, np, case, n, how):
    """how: autograd, compile, function or graph."""
    dtype = torch.float32 if peers.options.dtype == "f32" else torch.float64
    X, y = (torch.tensor(a, dtype=dtype) for a in data(np, n))
    p, noise = (torch.tensor(a, dtype=dtype, requires_grad=True) for a in (parameters(case), NOISE))
    half_log = 0.5 * n * float(np.log(2 * np.pi))
    # One that checks for failures waits, which cannot be recorded.
    factor = (lambda C: torch.linalg.cholesky_ex(C).L) if how == "graph" else torch.linalg.cholesky

    class Likelihood(torch.autograd.Function):
        @staticmethod
        def forward(context, C, r):
            L = factor(C)
            alpha = torch.cholesky_solve(r[:, None], L)[:, 0]
            context.save_for_backward(L, alpha)
            return 0.5 * r @ alpha + L.diagonal().log().sum() + half_log

        @staticmethod
        def backward(context, v_bar):
            L, alpha = context.saved_tensors
            return 0.5 * v_bar * (torch.cholesky_inverse(L).addr_(alpha, alpha, alpha=-1)), v_bar * alpha

    def value(p, noise):
        C = covariance(torch, case, p, X) + noise * torch.eye(n, dtype=dtype, device=X.device)
        if how in ("function", "graph"):
            return Likelihood.apply(C, y)
        L = factor(C)
        z = torch.linalg.solve_triangular(L, y[:, None], upper=False)
        return 0.5 * (z * z).sum() + L.diagonal().log().sum() + half_log

    if how == "compile":
        value = peers.compiled(torch, value)

    def step(training):
        with torch.set_grad_enabled(training):
            v = value(p, noise)
        return v.detach(), torch.autograd.grad(v, (p, noise)) if training else ()

    if how != "graph":
        return lambda training: step(training)[0].item()
    replay = [peers.as_graph(torch, lambda training=training: step(training)) for training in (False, True)]
    return lambda training: replay[training]()[0]


def gpytorch_run(gpytorch, torch, np, case, n):
    dtype = torch.float32 if peers.options.dtype == "f32" else torch.float64
    X, y, *theta = (torch.tensor(a, dtype=dtype) for a in (batch if case == BATCHED else data)(np, n))
    k, shape = gpytorch.kernels, X.shape[:-2]

    def scaled(kernel, scale, length):
        kernel = k.ScaleKernel(kernel, batch_shape=shape)
        kernel.outputscale = scale
        kernel.base_kernel.lengthscale = length
        return kernel

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean(batch_shape=shape)
            d = X.shape[-1]
            first = (k.MaternKernel(2.5, ard_num_dims=d) if case == "matern52" else
                     k.RBFKernel(ard_num_dims=d, batch_shape=shape)).to(dtype)
            self.covar_module = scaled(first, theta[0][:, 0], theta[0][:, None, 1:]) if theta else scaled(
                first, 1.3, 0.7)
            if case == "sum3":
                linear = k.LinearKernel()
                linear.variance = 0.2
                matern = k.MaternKernel(1.5, ard_num_dims=D).to(dtype)
                self.covar_module = (self.covar_module + scaled(matern, 0.5, 1.5)
                                     + linear)

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood(batch_shape=shape).to(dtype)
    likelihood.noise = NOISE
    model = Model(likelihood).to(dtype)
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    model.train()
    likelihood.train()

    def run(training):
        exact = gpytorch.settings.fast_computations(False, False, False)
        with gpytorch.settings.max_cholesky_size(10**9), exact, torch.set_grad_enabled(training):
            model.zero_grad()
            v = -mll(model(X), y).sum() * n
            if training:
                v.backward()
            return v.item()

    return run


def jax_run(jax, np, case, n):
    import jax.numpy as jnp
    import jax.scipy.linalg as jsl
    dtype = jnp.float32 if peers.options.dtype == "f32" else jnp.float64
    X, y, *theta = (jnp.asarray(a, dtype) for a in (batch if case == BATCHED else data)(np, n))
    noise = jnp.full(len(X) if theta else (), NOISE, dtype)

    def nlml(p, noise, X, y):
        kernel = "rbf" if theta else case
        L = jnp.linalg.cholesky(covariance(jnp, kernel, p, X) + noise * jnp.eye(n, dtype=dtype))
        z = jsl.solve_triangular(L, y, lower=True)
        return 0.5 * z @ z + jnp.log(jnp.diagonal(L)).sum() + 0.5 * n * jnp.log(2 * jnp.pi)

    calls = nlml, jax.value_and_grad(nlml, (0, 1))
    forward, both = (jax.jit(jax.vmap(f) if theta else f) for f in calls)
    p = theta[0] if theta else jnp.asarray(parameters(case), dtype)

    def run(training):
        v = jax.block_until_ready((both if training else forward)(p, noise, X, y))
        return float((v[0] if training else v).sum())

    return run


def sklearn_run(sklearn, np, case, n):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel
    X, y = data(np, n)
    first = Matern([0.7] * D, nu=2.5) if case == "matern52" else RBF([0.7] * D)
    k = ConstantKernel(1.3) * first
    if case == "sum3":
        k = k + ConstantKernel(0.5) * Matern([1.5] * D, nu=1.5) + ConstantKernel(0.2) * DotProduct(0, "fixed")
    gp = GaussianProcessRegressor(k + WhiteKernel(NOISE), optimizer=None, alpha=0)
    gp.X_train_, gp.y_train_, gp.kernel_ = X, y, gp.kernel

    def run(training):
        v = gp.log_marginal_likelihood(gp.kernel_.theta, eval_gradient=training, clone_kernel=False)
        return -float(v[0] if training else v)

    return run


def lightgp_run(lightgp, np, case, n):
    X, y = (a.astype(np.float32) for a in data(np, n))
    kernel = lightgp.Matern(2.5, 0.7, 1.3) if case == "matern52" else lightgp.RBF(0.7, 1.3)
    gp = lightgp.GPExact(kernel, noise_var=NOISE)

    def run(training):
        gp.fit(X, y)
        if training:
            gp.optimize(steps=1, lr=1e-6)
        return -float(gp.log_marginal_likelihood())

    return run


def gpflash_run(gpflash, np, case, n):
    X, y = data(np, n)
    points, model, p = gpflash.TrainingData(), gpflash.ModelOptions(), gpflash.HpVal()
    points.X_ndim_ntrain_mat, points.f_train_vec = np.asfortranarray(X.T), y
    points.sig2_f_val = -1.0  # one of the parameters
    model.kernel_id = gpflash.KernelId.Matern52 if case == "matern52" else gpflash.KernelId.SqExp
    model.has_mean_model_constant, model.cond_max = False, 1e13  # the smallest nugget
    p.hp_gamma_vec, p.hp_sig2_k, p.hp_sig2_f_val = np.full(D, 1 / 0.7), 1.3, NOISE
    return lambda training: -gpflash.eval_mll(points, p, model, training).mll


def contenders(case, n):
    """name -> what makes its run(training), for the peers that are installed."""
    np, found = peers.load("numpy"), {}
    torch, gpytorch, jax = (peers.load(name) for name in ("torch", "gpytorch", "jax"))
    # These peers run only on the CPU, and only in f64.
    asked = peers.options.peer == "cpu" and not peers.options.dtype
    sklearn, lightgp, gpflash = (peers.load(name) if asked else None
                                 for name in ("sklearn", "lightgp", "gpflash"))
    if case == BATCHED:
        torch = sklearn = lightgp = gpflash = None
    if torch:
        found["torch"] = lambda: torch_run(torch, np, case, n, "autograd")
        found["torch_function"] = lambda: torch_run(torch, np, case, n, "function")
    for how in ("compile", "graph"):
        name = f"torch_{how}"
        if torch and (name in peers.options.words or (peers.options.gpu and n <= LAUNCHES)):
            found[name] = lambda how=how: torch_run(torch, np, case, n, how)
    if gpytorch and peers.loaded:
        found["gpytorch"] = lambda: gpytorch_run(gpytorch, peers.loaded["torch"], np, case, n)
    if jax:
        found["jax"] = lambda: jax_run(jax, np, case, n)
    if sklearn and n <= 3000:  # an n x n array for each parameter
        found["sklearn"] = lambda: sklearn_run(sklearn, np, case, n)
    if lightgp and case != "sum3":
        found["lightgp"] = lambda: lightgp_run(lightgp, np, case, n)
    if gpflash and case != "sum3":
        found["gpflash"] = lambda: gpflash_run(gpflash, np, case, n)
    return found


def measure(case, n, who, make, passes, ours):
    """The lines of a peer; `ours` is the first of our lines."""
    run, wanted = make(), float(ours["value"])
    # seconds of the products, one for each member: the unit of per_gemm
    gemm = float(ours["seconds"]) / float(ours["per_gemm"]) if "per_gemm" in ours else None
    dtype = "f32" if who == "lightgp" else peers.options.dtype or "f64"
    first = {}
    for which in passes:
        for _ in range(2 if who in ("jax", "torch_compile") else 1):  # which compile in their first call
            start = time.perf_counter()
            with peers.no_default_device():  # as when it is timed
                value = float(run(which == "training"))
            first[which] = time.perf_counter() - start
        if not abs(value - wanted) <= (1e-3 if dtype == "f32" else 1e-6) * abs(wanted):
            raise ValueError(f"{value:.10g}, we have {wanted:.10g}")
    for which in passes:
        long = peers.options.once or first[which] > peers.LONG
        seconds = first[which] if long else peers.best(lambda: run(which == "training"), seconds=1)
        line = {"bench": "mll", "case": case, "who": who, "n": str(n), "d": ours["d"], "dtype": dtype,
                "pass": which, "seconds": f"{seconds:.6g}"}
        if peers.options.gpu and who not in ("jax", "torch_graph") and case != BATCHED:
            most = peers.peak_bytes(peers.loaded["torch"], lambda: run(which == "training"))
            line["bytes_per_8n2"] = f"{most / (8 * n * n):.3f}"
        yield line | ({"per_gemm": f"{seconds / gemm:.3f}"} if gemm else {})


def main():
    words, passes = peers.options.words, ("forward", "training")
    sizes = [int(n) for n in words if n.isdigit()] or [20, 100, 500, 1000, 3000]
    named = [case for case in words if case in (*CASES, BATCHED)]
    only = [which for which in passes if which in words]
    chosen = [who for who in words if not who.isdigit() and
              who not in (*CASES, BATCHED, *passes, "mixed")]
    lines, said = [], []
    for n in sizes:
        cases = named or CASES + ((BATCHED,) if n <= BATCH_ROWS else ())
        ours, said = peers.ours("mll", str(n), *named, *only, *(w for w in words if w == "mixed"))
        lines += ours
        for case in cases:
            first = next(line for line in ours if line["case"] == case)
            for who, make in contenders(case, n).items():
                if not chosen or who in chosen:
                    lines += peers.contend(who, f"{case} n={n}",
                                           lambda: measure(case, n, who, make, only or passes, first)) or []
    peers.table(lines, value="seconds", columns=("case", "n", "pass"), comment=said[0])


if __name__ == "__main__":
    if not peers.options.gpu and any(n.isdigit() and int(n) > 3000 for n in peers.options.words):
        peers.LIMIT = 3600
    sys.exit(peers.run(main))
