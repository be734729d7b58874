"""Values and derivatives of GradBench's problems on one thread beside torch, JAX and ADOL-C, where they are.

The names of problems may follow. Each peer's value and derivative are checked against ours before its time
counts; the time to compile a JAX function does not count.
"""
import functools
import math
import os
import subprocess
import sys
import tempfile

import peers

NAMES = ("lse", "llsq", "gmm", "det", "kmeans", "ode", "lstm", "ht", "ba")


def sines(np, shape, first, scale):
    i = np.arange(math.prod(shape), dtype=float)
    return (scale * np.sin(first + 0.1 * i * i)).reshape(shape)


# -- objectives, with xp for torch or jax.numpy --------------------------------------------------------------

def lse(xp, n, m, np):
    def f(x):
        top = x.max()
        return top + xp.log(xp.sum(xp.exp(x - top)))
    return f, sines(np, (n,), 1, 5), ()


def llsq(xp, n, m, np):
    t = np.linspace(-1, 1, n)

    def f(x, t, s):
        first = xp.ones_like(t)[:, None]
        powers = xp.cumprod(xp.concatenate((first, xp.broadcast_to(t[:, None], (n, m - 1))), 1), 1)
        return 0.5 * xp.sum((s - powers @ x[:, 0]) ** 2)
    return f, sines(np, (m, 1), 1, 1), (t, np.sign(t))


def gmm(xp, n, m, np):
    size, points = n * (n + 1) // 2, 1000
    rows, cols = np.tril_indices(n)
    place = np.zeros((n, n), dtype=int)
    place[rows, cols] = np.arange(size)
    lower, diagonal = np.tril(np.ones((n, n)), -1), np.eye(n)

    def f(x, points_, place, lower, diagonal):
        alpha, mu, v = x[:m], x[m:m + m * n].reshape(m, 1, n), x[m + m * n:].reshape(m, size)
        full = v[:, place]
        Q = full * lower + xp.exp(full * diagonal) * diagonal
        logs = (full * diagonal).sum(-1).sum(-1)
        z = (points_ - mu) @ Q.swapaxes(-1, -2)
        main = (alpha + logs)[:, None] - 0.5 * (z * z).sum(-1)
        return (logsumexp(xp, main).sum() - points * logsumexp(xp, alpha)
                - 0.5 * (Q * Q).sum() + logs.sum())
    x = sines(np, (m * (1 + n + size),), 1, 0.5)
    return f, x, (sines(np, (1, points, n), 0.5, 2), place, lower, diagonal)


def logsumexp(xp, x):
    if xp.__name__ == "torch":
        return xp.logsumexp(x, 0)
    return xp.log(xp.sum(xp.exp(x - x.max(0)), 0)) + x.max(0)


def det(xp, n, m, np):
    levels, left = [], np.arange(n)[None]
    for r in range(n):
        levels.append(left)
        k = n - r
        left = np.stack([np.delete(left, j, 1) for j in range(k)], 1).reshape(-1, k - 1) if k > 1 else left
    sign = np.where(np.arange(n) % 2, -1.0, 1.0)

    def f(A, sign, *levels):
        minors = None
        for r in range(n - 1, -1, -1):
            terms = A[r][levels[r]] * sign[:n - r]
            if minors is not None:
                terms = terms * minors.reshape(-1, n - r)
            minors = terms.sum(-1)
        return minors.sum()
    return f, sines(np, (n, n), 1, 1), (sign, *levels)


def kmeans(xp, n, m, np):
    def f(C, P):
        d = ((P[:, None, :] - C[None]) ** 2).sum(-1)
        return d.min(1).values.sum() if xp.__name__ == "torch" else d.min(1).sum()
    return f, sines(np, (m, 8), 0.5, 1), (sines(np, (n, 8), 1, 1),)


def ode_step(xp, x, y, h):
    def slope(y):
        return x * xp.concatenate((xp.ones_like(x[:1]), y[:-1]))
    k1 = slope(y)
    k2 = slope(y + h / 2 * k1)
    k3 = slope(y + h / 2 * k2)
    k4 = slope(y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def ode(xp, n, m, np):
    def f(x):
        if xp.__name__ == "torch":
            y = xp.zeros_like(x)
            for _ in range(m):
                y = ode_step(xp, x, y, 2.0 / m)
            return y.sum()
        import jax
        return jax.lax.fori_loop(0, m, lambda _, y: ode_step(xp, x, y, 2.0 / m), xp.zeros_like(x)).sum()
    return f, sines(np, (n,), 1, 1), ()


def lstm(xp, n, m, np):
    def sigmoid(v):
        return xp.sigmoid(v) if xp.__name__ == "torch" else 1 / (1 + xp.exp(-v))

    def step(x, hidden, cell, now, then):
        now = now * x[8 * m]
        for i in range(m):
            w, b, h = x[8 * i:8 * i + 4], x[8 * i + 4:8 * i + 8], hidden[i]
            forget, out = sigmoid(now * w[0] + b[0]), sigmoid(now * w[2] + b[2])
            ingate, change = sigmoid(h * w[1] + b[1]), xp.tanh(h * w[3] + b[3])
            cell = cell[:i] + (cell[i] * forget + ingate * change,) + cell[i + 1:]
            now = out * xp.tanh(cell[i])
            hidden = hidden[:i] + (now,) + hidden[i + 1:]
        y = now * x[8 * m + 1] + x[8 * m + 2]
        return hidden, cell, (then * (y - xp.log(xp.exp(y).sum() + 2))).sum()

    def f(x, sequence, state):
        hidden, cell = tuple(state[::2]), tuple(state[1::2])
        if xp.__name__ == "torch":
            total = 0
            for t in range(n - 1):
                hidden, cell, term = step(x, hidden, cell, sequence[t], sequence[t + 1])
                total = total + term
        else:
            import jax

            def body(carry, pair):
                hidden, cell, term = step(x, *carry, *pair)
                return (hidden, cell), term
            total = jax.lax.scan(body, (hidden, cell), (sequence[:-1], sequence[1:]))[1].sum()
        return -total / (14 * (n - 1))
    rest = sines(np, (n, 14), 0.5, 1), sines(np, (2 * m, 14), 0.25, 1)
    return f, sines(np, (8 * m + 3, 14), 1, 0.5), rest


def ht(xp, n, m, np):
    def rotation(a):
        (ca, cb), (sa, sb) = (xp.cos(a[0]), xp.cos(a[1])), (xp.sin(a[0]), xp.sin(a[1]))
        return xp.stack((ca, -sa * cb, sa * sb, sa, ca * cb, -ca * sb, 0 * ca, sb, cb)).reshape(3, 3)

    def f(x, bones, points, weights, measured):
        skin, frame, end = 0, None, None
        for i in range(m):
            here = rotation(x[i])
            frame = frame @ here if i % 4 else here
            end = end + frame @ bones[i] if i % 4 else frame @ bones[i]
            skin = skin + weights[:, i:i + 1] * (points @ frame.T + end)
        return measured - skin
    return f, sines(np, (m, 2), 1, 0.5), (sines(np, (m, 3), 0.5, 1), sines(np, (n, 3), 0.25, 1),
                                          sines(np, (n, m), 0.75, 1 / m), sines(np, (n, 3), 2, 1))


def ba(xp, n, m, np):
    def f(x, feature):
        """of one observation"""
        r, point = x[:3], x[11:14] - x[3:6]
        angle = xp.sqrt((r * r).sum())
        w, c, s = r / angle, xp.cos(angle), xp.sin(angle)
        turned = point * c + xp.linalg.cross(w, point) * s + w * ((w * point).sum() * (1 - c))
        flat = turned[:2] / (turned[2] + 3)
        rr = (flat * flat).sum()
        seen = flat * (x[9] * rr + x[10] * rr * rr + 1) * x[6] + x[7:9]
        return (seen - feature) * x[14]
    return f, sines(np, (n, 15), 1, 0.3), (sines(np, (n, 2), 0.5, 1),)


PROBLEMS = dict(lse=lse, llsq=llsq, gmm=gmm, det=det, kmeans=kmeans, ode=ode, lstm=lstm, ht=ht, ba=ba)


# -- derivatives: a function of no arguments that returns (value, derivative) --------------------------------

def by_torch(torch, name, n, m, np):
    f, x, rest = PROBLEMS[name](torch, n, m, np)
    x = torch.tensor(x)
    rest = [torch.tensor(r) for r in rest]
    if name in ("ht", "ba"):
        if name == "ba":
            single, both = f, torch.func.vmap(lambda x, r: torch.func.jacrev(f)(x, r))
            f = torch.func.vmap(single)
            return lambda: ((f(x, *rest) ** 2).sum(), both(x, *rest))
        jacobian = torch.func.jacfwd(f)
        return lambda: ((f(x, *rest) ** 2).sum(), jacobian(x, *rest))

    def gradient():
        at = x.clone().requires_grad_()
        y = f(at, *rest)
        if name == "kmeans":
            g, = torch.autograd.grad(y, at, create_graph=True)
            h, = torch.autograd.grad(g, at, torch.ones_like(g))
            return y.detach(), (g / h).detach()
        y.backward()
        return y.detach(), at.grad
    return gradient


def by_jax(jax, name, n, m, np):
    f, x, rest = PROBLEMS[name](jax.numpy, n, m, np)
    x, rest = jax.numpy.asarray(x), [jax.numpy.asarray(r) for r in rest]
    if name in ("ht", "ba"):
        whole = f if name == "ht" else jax.vmap(f)
        jacobian = jax.jacfwd(f) if name == "ht" else jax.vmap(jax.jacfwd(f))
        both = jax.jit(lambda x, *r: ((whole(x, *r) ** 2).sum(), jacobian(x, *r)))
    elif name == "kmeans":
        def newton(x, *r):
            y, back = jax.vjp(lambda x: jax.grad(f)(x, *r), x)
            return f(x, *r), y / back(jax.numpy.ones_like(y))[0]
        both = jax.jit(newton)
    else:
        both = jax.jit(jax.value_and_grad(f))
    return lambda: jax.block_until_ready(both(x, *rest))


WAYS = {"torch": by_torch, "jax": by_jax}


def answers(said):
    """{case: (y, derivative's checksum)}"""
    fields = [dict(f.split("=") for f in line[2:].split()) for line in said if line.startswith("# case=")]
    return {f["case"]: (float(f["y"]), float(f["derivative"])) for f in fields}


def check(found, wanted, size):
    """(y, the derivative's checksum) of a peer beside ours; size: Σ |d| of the derivative"""
    for a, b, scale in zip(found, wanted, (abs(wanted[0]), size)):
        if not abs(a - b) <= 1e-9 * (abs(b) + 1e-3 * scale):
            raise ValueError(f"{found}, we have {wanted}")


def by_program(path, case, wanted):
    """A line of a peer that is a program of its own, bench/gradbench/adolc.cpp."""
    with tempfile.TemporaryDirectory() as folder:  # a tape that memory does not hold becomes files
        said = subprocess.run([path, case], cwd=folder, capture_output=True, text=True, check=True)
    said = said.stdout.splitlines()
    check(answers(said)[case], wanted, abs(wanted[1]))
    yield peers.parse(said[0])


def measure(np, who, module, case, wanted):
    name, sizes = case.split("-")
    n, m = (int(s) for s in sizes.split("x"))
    run = WAYS[who](module, name, n, m, np)
    y, derivative = run()
    d = np.asarray(derivative, dtype=float).reshape(-1)
    check((float(y), float((d * np.cos(np.arange(d.size))).sum())), wanted, np.abs(d).sum())
    seconds = peers.best(run, 3)
    yield {"bench": "gradbench", "case": case, "who": who, "n": str(n), "dtype": "f64", "pass": "training",
           "seconds": f"{seconds:.3g}"}


def main():
    os.environ["OMP_NUM_THREADS"] = "1"
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # JAX takes all that it gets
    lines, said = [], []
    names = peers.chosen(NAMES) or NAMES
    np, torch, jax = peers.load("numpy"), peers.load("torch"), peers.load("jax")
    if torch:
        torch.set_num_threads(1)
    for _ in range(2):  # interleaved rounds; the best of each counts
        found, said = peers.ours("gradbench", *names)
        lines += found
        wanted = answers(said)
        for who, module in (("torch", torch), ("jax", jax)):
            for case in wanted if module else ():
                way = functools.partial(measure, np, who, module, case, wanted[case])
                lines += peers.contend(who, case, way) or []
        adolc = peers.program("adolc")
        for case in wanted if os.path.exists(adolc) else ():
            way = functools.partial(by_program, adolc, case, wanted[case])
            lines += peers.contend("adolc", case, way) or []
    peers.table(lines, value="seconds", columns=("case",), comment=said[0])


if __name__ == "__main__":
    sys.exit(peers.run(main))
