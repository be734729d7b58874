"""Inverses of a batch of 64 matrices of 512 beside torch's ways to them: `./run bench inverse [CASE...]
[DTYPE...]`.

CASE: spd, general, cols60; DTYPE: f64, f32; --n and --batch set other sizes. A peer's answer and gradient are
checked before and after it is timed, member by member, as torch's batched inv and solve on several threads
sometimes give wrong answers. Such a peer is timed on one thread.
"""
import sys

import peers

N, BATCH, COLUMNS = peers.options.n or 512, peers.options.batch or 64, 60
CASES = ("spd", "general", "cols60")
TOLERANCE = {"f64": 1e-9, "f32": 1e-2}


def matrices(torch, case, dtype):
    """As bench/inverse.c: R Rᵀ / n + I, or (R + √n I) / n."""
    torch.manual_seed(1)
    R = torch.randn(BATCH, N, N, dtype=dtype)
    eye = torch.eye(N, dtype=dtype)
    return R @ R.mT / N + eye if case == "spd" else (R + 22.6 * eye) / N


def ways(torch, case, dtype):
    index = torch.tensor([(i * 37 + 11) % N for i in range(COLUMNS)])
    eye = torch.eye(N, dtype=dtype)
    columns = eye[:, index].expand(BATCH, N, COLUMNS)
    inverses = {
        "torch-inv": torch.linalg.inv,
        "torch-inv_ex": lambda A: torch.linalg.inv_ex(A).inverse,
        "torch-solve": lambda A: torch.linalg.solve(A, eye.expand(BATCH, N, N)),
        "torch-cholesky_inverse": lambda A: torch.cholesky_inverse(torch.linalg.cholesky(A)),
    }
    if case == "cols60":
        return {"torch-inv": lambda A: torch.linalg.inv(A)[..., index],
                "torch-inv_ex": lambda A: torch.linalg.inv_ex(A).inverse[..., index],
                "torch-solve": lambda A: torch.linalg.solve(A, columns)}
    if case == "general":
        del inverses["torch-cholesky_inverse"]
    return inverses


def training(torch, way, A, bar):
    P = way(A)
    return P.detach(), torch.autograd.grad(P, A, bar)[0]


def error(torch, case, A, way, bar):
    """The worst relative error of the answer and of the gradient over all members, against f64 on one
    thread."""
    P, A_bar = training(torch, way, A, bar)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    index = [(i * 37 + 11) % N for i in range(COLUMNS)]
    worst = 0.0
    for k in range(BATCH):
        exact = torch.linalg.inv(A[k].detach().double())
        G, wanted = bar[k].double(), exact
        if case == "cols60":
            wanted = exact[:, index]
            slope = -(exact.mT @ G) @ wanted.mT
        else:
            slope = -exact.mT @ G @ exact.mT
        got = A_bar[k].double()
        if case == "spd":  # only the symmetric part is defined
            slope, got = slope + slope.mT, got + got.mT
        for x, y in ((P[k].double(), wanted), (got, slope)):
            e = ((x - y).abs().max() / y.abs().max()).item()
            worst = max(worst, e if e == e else float("inf"))
    torch.set_num_threads(threads)
    return worst


def peer_lines(torch, case, dtype):
    A = matrices(torch, case, getattr(torch, "float64" if dtype == "f64" else "float32")).requires_grad_(True)
    bar = torch.randn(BATCH, N, COLUMNS if case == "cols60" else N, dtype=A.dtype)
    return peers.checked_lines(torch, "inverse", case, dtype, N, BATCH, ways(torch, case, A.dtype),
                               lambda way: way(A),
                               lambda way: training(torch, way, A, bar),
                               lambda way: error(torch, case, A, way, bar),
                               TOLERANCE[dtype])


def main():
    words = peers.chosen([*CASES, *TOLERANCE])
    cases = [a for a in words if a in CASES] or CASES
    dtypes = [a for a in words + [peers.options.dtype] if a in TOLERANCE] or list(TOLERANCE)
    torch = peers.load("torch")
    lines, said = [], []
    for case in cases:
        for dtype in dtypes:
            found, said = peers.ours("inverse", case, dtype, str(N), str(BATCH))
            lines += found
            lines += peer_lines(torch, case, dtype) if torch else []
    peers.table(lines, value="seconds", columns=("case", "dtype", "pass"), comment=said[0])


if __name__ == "__main__":
    sys.exit(peers.run(main))
