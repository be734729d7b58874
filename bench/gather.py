"""Products with gathered matrices beside the strategies that torch offers: `./run bench gather [uniform zipf M1 MN ...]`."""
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
    """Sorted by q once, then one product for each matrix in use: the loop that people write by hand."""
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


def peer_lines(torch, case):
    N, M, I = CASES[case]
    if peers.options.n:
        N, M = peers.options.n, max(1, M * peers.options.n // N)
    torch.manual_seed(1)
    a, c, g = (torch.randn(*shape) for shape in ((N, I, J), (M, J, K), (N, I, K)))
    q = index(torch, case, N, M)
    found = {"torch-rows": by_rows(torch)}
    if 8 * N * J * K <= GATHERED:
        found |= {"torch-matmul": lambda a, c, q: torch.matmul(a, c[q]), "torch-chunked": chunked(torch)}
    a.requires_grad_(True), c.requires_grad_(True)
    some = torch.randperm(N)[:64]
    wanted = torch.matmul(a[some].double(), c[q[some]].double())
    A_bar = torch.matmul(g[some].double(), c[q[some]].double().transpose(1, 2))
    for name, run in found.items():
        try:
            got, bars = run(a, c, q), torch.autograd.grad(run(a, c, q), (a, c), g)
        except RuntimeError as error:  # of memory, say
            print(f"# {name} {case}: {str(error).splitlines()[0]}")
            continue
        error = max((x.double() - y).abs().max().item() for x, y in ((got[some], wanted), (bars[0][some], A_bar)))
        m = int(q[0])
        rows = (q == m).nonzero()[:, 0]
        C_bar = torch.einsum("nij,nik->jk", a[rows].double(), g[rows].double())
        error = max(error, (bars[1][m].double() - C_bar).abs().max().item() / max(1, len(rows)) ** 0.5)
        del got, bars
        if not error < 1e-3:
            print(f"# {name} {case}: wrong by {error:.1e}")
            continue
        steps = {"forward": lambda: run(a, c, q), "training": lambda: torch.autograd.grad(run(a, c, q), (a, c), g)}
        for which, step in steps.items():
            yield {"bench": "gather", "case": case, "who": name, "n": str(N), "dtype": "f32", "pass": which,
                   "seconds": f"{peers.best_within(step):.6g}"}


def main():
    torch = peers.load("torch")
    lines = []
    comment = ""
    for case in peers.options.words or CASES:
        for round in range(2):  # interleaved; the best of each counts
            found, comment = peers.ours("gather", case)
            lines += found
            if torch and round == 0 and case != "reused":
                lines += peer_lines(torch, case)
    peers.report(peers.per_gemm(lines), value="per_gemm", columns=("case", "pass"), comment=comment)


if __name__ == "__main__":
    sys.exit(main())
