"""Inverses of a batch of 100 512×512 matrices, and parts of them, beside torch and JAX:
`./run bench inverse [CASE...] [DTYPE...]`.

CASE: spd, general, cols60, rows60, diag, diag_spd; DTYPE: f64, f32; --n and --batch set other sizes. A peer's
answer and gradient are checked before and after it is timed, member by member: torch's batched inv and solve
on several threads sometimes give wrong answers (pytorch issues 142815 and 141358), and then get no time. So
all but JAX are also timed on one thread (-1thread), and the last table compares equal threads first.
"""
import sys

import peers

N, BATCH, PART = peers.options.n or 512, peers.options.batch or 100, 60
CASES = ("spd", "general", "cols60", "rows60", "diag", "diag_spd")
TOLERANCE = {"f64": 1e-9, "f32": 1e-2}


def matrices(torch, case, dtype):
    """As bench/inverse.c: R Rᵀ / n + I, or (R + √n I) / n."""
    torch.manual_seed(1)
    R = torch.randn(BATCH, N, N, dtype=dtype)
    eye = torch.eye(N, dtype=dtype)
    return R @ R.mT / N + eye if "spd" in case else (R + 22.6 * eye) / N


def wanted(case, x, index):
    """The part of an inverse, or of a batch of them, that is asked for; of torch or of JAX."""
    if case == "cols60":
        return x[..., index]
    if case == "rows60":
        return x[..., :PART, :]
    return x.diagonal(0, -2, -1) if "diag" in case else x


def ways(torch, case, dtype, index):
    """name: A -> the part of its inverse"""
    eye = torch.eye(N, dtype=dtype).expand(BATCH, N, N)
    part = lambda x: wanted(case, x, index)
    found = {"torch-inv": lambda A: part(torch.linalg.inv(A)),
             "torch-inv_ex": lambda A: part(torch.linalg.inv_ex(A).inverse)}
    if case == "cols60":
        found["torch-solve"] = lambda A: torch.linalg.solve(A, eye[..., index])
    elif case == "rows60":
        found["torch-solve"] = lambda A: torch.linalg.solve(A.mT, eye[..., :PART]).mT
    else:
        found["torch-solve"] = lambda A: part(torch.linalg.solve(A, eye))
    if "spd" in case:
        found["torch-cholesky_inverse"] = lambda A: part(torch.cholesky_inverse(torch.linalg.cholesky(A)))
    if case == "diag_spd":
        found["torch-triangular"] = lambda A: torch.linalg.solve_triangular(
            torch.linalg.cholesky(A), eye, upper=False).square().sum(-2)
    return found


def jax_ways(jax, torch, case, A, bar, index):
    """name: (forward(), training()), which wait for their results"""
    import jax.numpy as jnp
    import jax.scipy.linalg as jsl
    a, g, index = (jnp.asarray(x.detach().cpu().numpy()) for x in (A, bar, index))
    eye = jnp.broadcast_to(jnp.eye(N, dtype=a.dtype), a.shape)
    part = lambda x: wanted(case, x, index)
    found = {"jax-inv": lambda A: part(jnp.linalg.inv(A))}
    if case == "cols60":
        found["jax-solve"] = lambda A: jnp.linalg.solve(A, eye[..., index])
    if case == "rows60":
        found["jax-solve"] = lambda A: jnp.linalg.solve(A.mT, eye[..., :PART]).mT
    if "spd" in case:
        found["jax-cho_solve"] = lambda A: part(jsl.cho_solve((jnp.linalg.cholesky(A), True), eye))

    def pair(way):
        def both(x):
            P, pull = jax.vjp(way, x)
            return P, pull(g)[0]
        forward, both = jax.jit(way), jax.jit(both)
        return (lambda: jax.block_until_ready(forward(a)), lambda: jax.block_until_ready(both(a)))

    return {name: pair(way) for name, way in found.items()}


def exact(torch, case, A, bar, index):
    """The answer and the gradient in f64, computed member by member on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    answers = []
    for k in range(BATCH):
        P = torch.linalg.inv(A[k].detach().double()).requires_grad_(True)
        G = torch.autograd.grad(wanted(case, P, index), P, bar[k].double())[0]
        P = P.detach()
        answers.append((wanted(case, P, index), symmetric(case, -P.mT @ G @ P.mT)))
    torch.set_num_threads(threads)
    return answers


def symmetric(case, slope):
    """Of an spd A only the symmetric part of the gradient is defined."""
    return slope + slope.mT if "spd" in case else slope


def error(torch, case, answers, P, A_bar):
    """The worst relative error of the answer and of the gradient over all members."""
    worst = 0.0
    for k, pair in enumerate(answers):
        for x, y in zip((P[k].double(), symmetric(case, A_bar[k].double())), pair):
            e = ((x - y).abs().max() / y.abs().max()).item()
            worst = max(worst, e if e == e else float("inf"))
    return worst


def peer_lines(torch, jax, case, dtype):
    A = matrices(torch, case, getattr(torch, "float64" if dtype == "f64" else "float32"))
    index = torch.tensor([(i * 37 + 11) % N for i in range(PART)])
    bar = torch.randn_like(wanted(case, A, index))
    answers = exact(torch, case, A, bar, index)
    A.requires_grad_(True)

    def gradient(way):
        P = way(A)
        return P.detach(), torch.autograd.grad(P, A, bar)[0]

    def lines(ways, forward, training, contend_how):
        def wrong(way):
            P, A_bar = (x if torch.is_tensor(x) else torch.tensor(x.__array__()) for x in training(way))
            return error(torch, case, answers, P, A_bar)
        return peers.checked_lines(torch, "inverse", case, dtype, N, BATCH, ways, forward, training, wrong,
                                   TOLERANCE[dtype], contend_how)

    found = lines(ways(torch, case, A.dtype, index), lambda way: way(A), gradient,
                  peers.contend_on_threads if peers.options.gpu else peers.contend_on_both)
    if jax:
        found += lines(jax_ways(jax, torch, case, A, bar, index), lambda way: way[0](), lambda way: way[1](),
                       lambda torch, who, what, measure: peers.contend(who, what, lambda: measure(who)) or [])
    return found


def ratios(lines):
    """Theirs over ours: the best peer on one thread beside ours on one; on all threads beside ours on all;
    and the best peer on as many threads as it is right on, beside ours on all."""
    lines = peers.merge(lines, "seconds")
    print("\n| case | dtype | pass | one thread each | all threads each | any of theirs, ours on all |")
    print("|" + "---|" * 6)
    for row in dict.fromkeys((l["case"], l["dtype"], l["pass"]) for l in lines):
        at = {l["who"]: float(l["seconds"]) for l in lines if (l["case"], l["dtype"], l["pass"]) == row}
        theirs = {who: s for who, s in at.items() if not who.startswith("cotangent")}
        one = {who: s for who, s in theirs.items() if who.endswith("-1thread")}
        several = {who: s for who, s in theirs.items() if who not in one}
        cells = []
        for found, own in ((one, "cotangent-1thread"), (several, "cotangent"), (theirs, "cotangent")):
            best = min(found, key=found.get, default=None)
            cells.append(f"{found[best] / at[own]:.2f} ({best})" if best and own in at else "")
        print(f"| {' | '.join((*row, *cells))} |")


def main():
    words = peers.chosen([*CASES, *TOLERANCE])
    cases = [a for a in words if a in CASES] or CASES
    dtypes = [a for a in words + [peers.options.dtype] if a in TOLERANCE] or list(TOLERANCE)
    torch, jax = peers.load("torch"), peers.load("jax")
    lines, said = [], []
    for case in cases:
        for dtype in dtypes:
            for one_thread in (False,) if peers.options.gpu else (True, False):
                found, said = peers.ours("inverse", case, dtype, str(N), str(BATCH), one_thread=one_thread)
                lines += found
            lines += peer_lines(torch, jax, case, dtype) if torch else []
    peers.table(lines, value="seconds", columns=("case", "dtype", "pass"), comment=said[0])
    ratios(lines)


if __name__ == "__main__":
    sys.exit(peers.run(main))
