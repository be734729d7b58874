"""Products with gathered matrices beside the strategies that torch offers: `./run bench gather [uniform zipf
M1 MN ...] [torch-each ...]`.

torch-rows and torch-grouped_mm sort by q first and put the results back in order. torch-each is a product for
each row in its order, and the last, as it takes longest; on a GPU it runs only if it is named. torch-matmul
copies C[q], the chunked strategies a part of it at a time. uniform-C takes only the gradient of C. On a GPU
peak_bytes is the most that torch's allocator holds beyond results.
"""
import sys

import peers

J = K = 64
CASES = {"uniform": (131072, 2048, 1), "uniform-I8": (16384, 2048, 8), "zipf": (131072, 2048, 1),
         "zipf-I8": (16384, 2048, 8), "M1": (131072, 1, 1), "M1-I8": (16384, 1, 8), "MN": (8192, 8192, 1),
         "MN-I8": (8192, 8192, 8), "empty": (131072, 2048, 1), "reused": (131072, 2048, 1),
         "uniform-C": (131072, 2048, 1)}
GATHERED = 1 << 33  # the most bytes of C[q] and of its gradient to try


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
        parts, matrices = torch.split(a[order], counts.tolist()), c.unbind(0)
        out = torch.cat([part @ matrices[m] for m, part in zip(used.tolist(), parts)])
        return torch.empty_like(out).index_copy(0, order, out)
    return run


def by_each(torch):
    """One product for each row of A. The gradient of unbind is a single stack; that of c[m] would be a C̄ for
    each m."""
    def run(a, c, q):
        matrices = c.unbind(0)
        return torch.cat([part @ matrices[m] for m, part in zip(q.tolist(), a.split(1))])
    return run


def grouped(torch):
    """Sorted by q, and one call for all groups."""
    def run(a, c, q):
        order = torch.argsort(q, stable=True)
        ends = torch.bincount(q, minlength=len(c)).cumsum(0).mul_(a.shape[1]).int()
        out = torch.nn.functional.grouped_mm(a[order].reshape(-1, J), c, offs=ends).view(len(q), -1, K)
        return torch.empty_like(out).index_copy(0, order, out)
    return run


def chunked(torch, rows):
    def run(a, c, q):
        return torch.cat([torch.matmul(a[i:i + rows], c[q[i:i + rows]]) for i in range(0, len(q), rows)])
    return run


def inputs(torch, case):
    N, M, I = CASES[case]
    if peers.options.n:
        N, M = peers.options.n, max(1, M * peers.options.n // N)
    torch.manual_seed(1)
    a, c, g = (torch.randn(*shape) for shape in ((N, I, J), (M, J, K), (N, I, K)))
    return a.requires_grad_(case != "uniform-C"), c.requires_grad_(True), index(torch, case, N, M), g


def check(torch, out, bars, a, c, q, g):
    """Some rows of the product and of A's cotangent, and one member of C's, against f64."""
    some, m = torch.randperm(len(q))[:64], int(q[0])
    rows, C = (q == m).nonzero()[:, 0], c.detach()[q[some]].double()
    wanted = torch.einsum("nij,nik->jk", a.detach()[rows].double(), g[rows].double())
    errors = [(out.detach()[some].double() - torch.matmul(a.detach()[some].double(), C)).abs().max().item(),
              (bars[-1][m].double() - wanted).abs().max().item() / len(rows)**0.5]
    if len(bars) > 1:
        wanted = torch.matmul(g[some].double(), C.transpose(1, 2))
        errors.append((bars[0][some].double() - wanted).abs().max().item())
    if not all(error < 1e-3 for error in errors):
        raise ValueError(f"wrong by {max(errors):.1e}")


def torch_steps(torch, run, a, c, q, g):
    """(forward, training), checked."""
    wanted = (a, c) if a.requires_grad else (c,)

    def training():
        return torch.autograd.grad(run(a, c, q), wanted, g)

    check(torch, run(a, c, q), training(), a, c, q, g)
    return lambda: [run(a, c, q)], training


def mlx_steps(mx, torch, a, c, q, g):
    """The same by MLX's gather_mm, on its CPU."""
    mx.set_default_device(mx.cpu)
    A, C, G, rows = (mx.array(t.detach().numpy()) for t in (a, c, g, q.int()))
    in_place = [A, C] if a.requires_grad else [C]

    def run(*given):
        return mx.gather_mm(given[0] if len(given) > 1 else A, given[-1], rhs_indices=rows)

    def forward():
        out = run(*in_place)
        mx.eval(out)
        return out

    def training():
        _, bars = mx.vjp(run, in_place, [G])
        mx.eval(bars)
        return bars

    def back(array):
        return torch.from_numpy(numpy.array(array))

    numpy = peers.load("numpy")
    check(torch, back(forward()), [back(bar) for bar in training()], a, c, q, g)
    return forward, training


STRATEGIES = ("torch-matmul", "torch-chunks8192", "torch-chunks256", "torch-rows", "torch-grouped_mm",
              "torch-each", "mlx-gather_mm")


def peer_lines(torch, mx, case, named):
    a, c, q, g = inputs(torch, case)
    ways = {"torch-matmul": lambda a, c, q: torch.matmul(a, c[q]),
            "torch-chunks8192": chunked(torch, 8192), "torch-chunks256": chunked(torch, 256)}
    if 8 * len(q) * J * K > GATHERED:
        ways = {}
    ways |= {"torch-rows": by_rows(torch), "torch-grouped_mm": grouped(torch), "torch-each": by_each(torch)}
    found = {who: lambda run=run: torch_steps(torch, run, a, c, q, g) for who, run in ways.items()}
    if mx:
        found["mlx-gather_mm"] = lambda: mlx_steps(mx, torch, a, c, q, g)

    def measure(name, steps):
        for which, step in zip(("forward", "training"), steps()):
            line = {"bench": "gather", "case": case, "who": name, "n": str(len(q)), "dtype": "f32",
                    "pass": which, "seconds": f"{peers.best(step, seconds=0.5):.6g}"}
            if peers.options.gpu:
                results = [g] * (which == "training") + list(step())  # g is as large as out
                held = sum(t.numel() * t.element_size() for t in results)
                del results
                line["peak_bytes"] = str(peers.peak_bytes(torch, step) - held)
            yield line

    wanted = named or [name for name in found if name != "torch-each" or not peers.options.gpu]
    return [line for name, steps in found.items() if name in wanted
            for line in peers.contend(name, case, lambda: measure(name, steps)) or ()]


def main():
    torch = peers.load("torch")
    mx = peers.load("mlx.core") if torch and not peers.options.gpu else None
    lines, said = [], []
    words = peers.chosen([*CASES, *STRATEGIES])
    for case in [word for word in words if word in CASES] or CASES:
        for round in range(2):  # interleaved; the best of each counts
            found, said = peers.ours("gather", case)
            lines += found
            if torch and round == 0 and case != "reused":
                lines += peer_lines(torch, mx, case, [word for word in words if word in STRATEGIES])
    peers.table(peers.per_gemm(lines), value="per_gemm", columns=("case", "pass"), comment=said[0])


if __name__ == "__main__":
    sys.exit(peers.run(main))
