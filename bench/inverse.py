"""Inverses of a batch of 64 matrices of 512 beside torch's ways to them: `./run bench inverse [spd general cols60]`.

A peer's answer and gradient are checked before its time counts: torch's batched inv on two threads has given garbage.
"""
import subprocess
import sys

import peers

N, BATCH, COLUMNS = 512, 64, 60
CASES = ("spd", "general", "cols60")


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
                "torch-solve": lambda A: torch.linalg.solve(A, columns)}
    if case == "general":
        del inverses["torch-cholesky_inverse"]
    return inverses


def error(torch, case, A, way, bar):
    """The worst relative error of the answer and of the gradient in the first and last matrix, against f64."""
    P = way(A)
    A_bar, = torch.autograd.grad(P, A, bar)
    index = [(i * 37 + 11) % N for i in range(COLUMNS)]
    worst = 0.0
    for k in (0, BATCH // 2, BATCH - 1):
        exact = torch.linalg.solve(A[k].detach().double(), torch.eye(N, dtype=torch.float64))
        G = bar[k].double()
        if case == "cols60":
            full = torch.zeros(N, N, dtype=torch.float64)
            full[:, index] = G
            wanted, G = exact[:, index], full
        else:
            wanted = exact
        slope = -exact.mT @ G @ exact.mT
        got = A_bar[k].double()
        if case == "spd":  # only the symmetric part is defined
            slope, got = slope + slope.mT, got + got.mT
        for x, y in ((P[k].detach().double(), wanted), (got, slope)):
            worst = max(worst, ((x - y).abs().max() / y.abs().max()).item())
    return worst


def peer_lines(torch, case, name, dtype):
    A = matrices(torch, case, dtype).requires_grad_(True)
    bar = torch.randn(BATCH, N, COLUMNS if case == "cols60" else N, dtype=dtype)
    X = torch.randn(N, N, dtype=dtype)
    gemm = peers.best(lambda: X @ X, rounds=20)
    for who, way in ways(torch, case, dtype).items():
        wrong = error(torch, case, A, way, bar)
        if not wrong < (1e-9 if name == "f64" else 1e-2):
            print(f"# {who} {case} {name}: wrong by {wrong:.1e} on {torch.get_num_threads()} threads")
            continue
        steps = {"forward": lambda: way(A.detach()), "training": lambda: torch.autograd.grad(way(A), A, bar)}
        for which, step in steps.items():
            seconds = peers.best(step, rounds=3)
            yield {"bench": "inverse", "case": case, "who": who, "n": str(N), "dtype": name, "pass": which,
                   "seconds": f"{seconds:.6g}", "per_gemm": f"{seconds / BATCH / gemm:.3f}"}


def main():
    cases = sys.argv[1:] or CASES
    torch = peers.load("torch")
    lines, comment = [], ""
    for case in cases:
        for name in ("f64", "f32"):
            out = subprocess.run([peers.program("inverse"), case, name, str(N), str(BATCH)], check=True,
                                 capture_output=True, text=True).stdout
            comment = out.splitlines()[0]
            lines += [peers.parse(line) for line in out.splitlines()]
            if torch:
                lines += peer_lines(torch, case, name, torch.float64 if name == "f64" else torch.float32)
    peers.report(lines, value="per_gemm", columns=("case", "dtype", "pass"), comment=comment)


if __name__ == "__main__":
    sys.exit(main())
