"""The ridge solve P = (BᵀB + λ DᵀD)⁻¹ Bᵀ beside torch's inv, solve and Cholesky: `./run bench ridge`.

64 samples, r = 60, n = 512 (or --batch, and --n with r in proportion); one D for all (shared) or one each
(per-sample). A peer's first sample, and its gradients, are checked against one computed in f64 on one thread
before its time counts.
"""
import sys

import peers

BATCH, N = peers.options.batch or 64, peers.options.n or 512
R = (60 * N + 511) // 512
CASES = ("shared", "per-sample")
TOLERANCE = {"f64": 1e-9, "f32": 1e-2}


def inputs(torch, case, dtype):
    torch.manual_seed(1)
    B, G = torch.randn(BATCH, R, N, dtype=dtype), torch.randn(BATCH, N, R, dtype=dtype)
    H = torch.randn(*((N, N) if case == "shared" else (BATCH, N, N)), dtype=dtype)
    D = torch.eye(N, dtype=dtype) + 0.5 * H / N**0.5
    return [x.requires_grad_() for x in (B, D, torch.full((BATCH,), 10.0, dtype=dtype))], G


def gram(B, D, l):
    return B.mT @ B + l[:, None, None] * (D.mT @ D)


def ways(torch):
    return {
        "torch-inv": lambda B, D, l: torch.linalg.inv(gram(B, D, l)) @ B.mT,
        "torch-solve": lambda B, D, l: torch.linalg.solve(gram(B, D, l), B.mT),
        "torch-cholesky": lambda B, D, l: torch.cholesky_solve(B.mT, torch.linalg.cholesky(gram(B, D, l))),
    }


def training(way, x, G):
    for v in x:
        v.grad = None
    P = way(*x)
    P.backward(G)
    return P


def error_of(torch, way, case, x, G):
    """Of value and B's gradient of some samples, against f64 on one thread, sample by sample."""
    P = training(way, x, G).detach()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    worst = 0
    for i in {0, min(1, BATCH - 1), BATCH // 2, BATCH - 1}:
        D = x[1] if case == "shared" else x[1][i]
        B, D, l, g = (v.detach().double() for v in (x[0][i], D, x[2][i], G[i]))
        B.requires_grad_()
        p = torch.linalg.solve(B.mT @ B + l * (D.mT @ D), B.mT)
        p.backward(g)
        for got, wanted in ((P[i], p.detach()), (x[0].grad[i], B.grad)):
            error = (got.double() - wanted).norm() / wanted.norm()
            worst = max(worst, error.item() if error == error else float("inf"))
    torch.set_num_threads(threads)
    return worst


def peer_lines(torch, case, dtype):
    x, G = inputs(torch, case, torch.float64 if dtype == "f64" else torch.float32)
    return peers.checked_lines(torch, "ridge", case, dtype, N, BATCH, ways(torch), lambda way: way(*x),
                               lambda way: training(way, x, G), lambda way: error_of(torch, way, case, x, G),
                               TOLERANCE[dtype])


def main():
    lines, said = [], []
    dtypes = [peers.options.dtype] if peers.options.dtype in TOLERANCE else list(TOLERANCE)
    torch = peers.load("torch")
    for _ in range(2):  # interleaved rounds; the best of each counts
        for case in peers.chosen(CASES) or CASES:
            found, said = peers.ours("ridge", case)
            lines += found
            for dtype in dtypes if torch else ():
                lines += peer_lines(torch, case, dtype)
    peers.table(lines, value="seconds", columns=("case", "dtype", "pass"), comment=said[0])


if __name__ == "__main__":
    sys.exit(peers.run(main))
