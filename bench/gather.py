"""Products with gathered matrices beside the strategies that torch offers: `./run bench gather [uniform zipf
M1 MN ...]`."""
import sys

import peers

J = K = 64
CASES = {"uniform": (131072, 2048, 1), "uniform-I8": (16384, 2048, 8), "zipf": (131072, 2048, 1),
         "zipf-I8": (16384, 2048, 8), "M1": (131072, 1, 1), "M1-I8": (16384, 1, 8), "MN": (8192, 8192, 1),
         "MN-I8": (8192, 8192, 8), "empty": (131072, 2048, 1), "reused": (131072, 2048, 1)}
GATHERED = 1 << 33  # bytes of C[q] and of its gradient that are worth trying


def index(torch, case, N, M):
    if case.startswith("MN"):
        return torch.arange(N) * 5501 % M
    if case.startswith("zipf"):
        return torch.multinomial(1 / torch.arange(1, M + 1, dtype=torch.float64), N, replacement=True)
    q = torch.randint(M, (N,))
    return q // 32 * 32 if case == "empty" else q


def by_rows(torch):
    """Sorted by q once, then one product for each matrix in use: the usual hand-written loop."""
    def run(a, c, q):
        order = torch.argsort(q, stable=True)
        used, counts = torch.unique_consecutive(q[order], return_counts=True)
        parts = torch.split(a[order], counts.tolist())
        out = torch.cat([part @ c[m] for m, part in zip(used.tolist(), parts)])
        return torch.empty_like(out).index_copy(0, order, out)
    return run


def chunked(torch, rows=8192):
    def run(a, c, q):
        return torch.cat([torch.matmul(a[i:i + rows], c[q[i:i + rows]]) for i in range(0, len(q), rows)])
    return run


def inputs(torch, case):
    N, M, I = CASES[case]
    if peers.options.n:
        N, M = peers.options.n, max(1, M * peers.options.n // N)
    torch.manual_seed(1)
    a, c, g = (torch.randn(*shape) for shape in ((N, I, J), (M, J, K), (N, I, K)))
    return a.requires_grad_(True), c.requires_grad_(True), index(torch, case, N, M), g


def check(torch, run, a, c, q, g):
    """Some rows of the product and of A's cotangent, and one member of C's, against f64."""
    some, m = torch.randperm(len(q))[:64], int(q[0])
    rows, C = (q == m).nonzero()[:, 0], c.detach()[q[some]].double()
    out = run(a, c, q)
    A_bar, C_bar = torch.autograd.grad(out, (a, c), g)
    wanted = torch.einsum("nij,nik->jk", a.detach()[rows].double(), g[rows].double())
    errors = ((out.detach()[some].double() - torch.matmul(a.detach()[some].double(), C)).abs().max().item(),
              (A_bar[some].double() - torch.matmul(g[some].double(), C.transpose(1, 2))).abs().max().item(),
              (C_bar[m].double() - wanted).abs().max().item() / len(rows)**0.5)
    if not all(error < 1e-3 for error in errors):
        raise ValueError(f"wrong by {max(errors):.1e}")


def peer_lines(torch, case):
    a, c, q, g = inputs(torch, case)
    found = {"torch-rows": by_rows(torch)}
    if 8 * len(q) * J * K <= GATHERED:
        found |= {"torch-matmul": lambda a, c, q: torch.matmul(a, c[q]), "torch-chunked": chunked(torch)}

    def measure(name, run):
        check(torch, run, a, c, q, g)
        steps = {"forward": lambda: run(a, c, q),
                 "training": lambda: torch.autograd.grad(run(a, c, q), (a, c), g)}
        for which, step in steps.items():
            yield {"bench": "gather", "case": case, "who": name, "n": str(len(q)), "dtype": "f32",
                   "pass": which,
                   "seconds": f"{peers.best(step, seconds=0.5):.6g}"}

    return [line for name, run in found.items()
            for line in peers.contend(name, case, lambda: measure(name, run)) or ()]


def main():
    torch = peers.load("torch")
    lines = []
    said = []
    for case in peers.chosen(CASES) or CASES:
        for round in range(2):  # interleaved; the best of each counts
            found, said = peers.ours("gather", case)
            lines += found
            if torch and round == 0 and case != "reused":
                lines += peer_lines(torch, case)
    peers.table(peers.per_gemm(lines), value="per_gemm", columns=("case", "pass"), comment=said[0])


if __name__ == "__main__":
    sys.exit(peers.run(main))
