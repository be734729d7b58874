"""A block-diagonal linear layer beside the strategies that torch offers: `./run bench blockdiag [M4-F1024
M4-F1024-bf16...]`."""
import sys

import peers

ROWS = 128
F32 = [f"M{M}-F{F}" for F in (64, 256, 1024, 4096) for M in (1, 2, 4, 8, 16)]
CASES = F32 + ["M8-F256-bf16", "M8-F1024-bf16", "M4-F4096-bf16"]
DENSE = 1 << (35 if peers.options.gpu else 28)  # bytes of a dense weight that are worth trying
SMALL = 1 << 22  # weights


def strategies(torch, M, F, dtype):
    """name -> a function of x (B, M F), W (M, F, F) and bias (M F), and the weight that it prepares outside
    the step."""
    linear = torch.nn.functional.linear
    found = {
        "torch-loop": lambda x, W, b: torch.cat([linear(x[:, m * F:(m + 1) * F], W[m], b[m * F:(m + 1) * F])
                                                 for m in range(M)], 1),
        "torch-bmm": lambda x, W, b: (torch.bmm(x.view(-1, M, F).transpose(0, 1), W.transpose(1, 2))
                                      .transpose(0, 1)
                                      .reshape(-1, M * F) + b),
        "torch-einsum": lambda x, W, b: (torch.einsum("bmf,mgf->bmg", x.view(-1, M, F), W)
                                         .reshape(-1, M * F) + b),
        "torch-conv1d": lambda x, W, b: torch.conv1d(x.unsqueeze(2), W.reshape(M * F, F, 1), b,
                                                     groups=M).squeeze(2),
    }
    if 4 * (M * F) ** 2 <= DENSE:
        mask = torch.block_diag(*[torch.ones(F, F)] * M).to(dtype)
        found["torch-block_diag"] = lambda x, W, b: linear(x, torch.block_diag(*W.unbind(0)), b)
        # The weight is dense, and the mask keeps its gradient block-diagonal. block_diag makes it from W
        # once, outside the step.
        found["torch-masked"] = lambda x, dense, b: linear(x, dense * mask, b)
    return found


def passes(torch, name, run, x, W, b, y_bar):
    """(forward, training), both checked against float64: every block, or the last one of many weights."""
    weight = torch.block_diag(*W.detach().unbind(0)) if name == "torch-masked" else W.detach()
    inputs = [t.detach().clone().requires_grad_(True) for t in (x, weight, b)]
    M, F = W.shape[0], W.shape[2]

    def forward():
        return run(*inputs)

    def training():
        return torch.autograd.grad(run(*inputs), inputs, y_bar)

    y, (x_bar, weight_bar, b_bar) = forward(), training()
    for m in range(M) if M * F * F <= SMALL or peers.options.gpu else (M - 1,):
        cut = slice(m * F, (m + 1) * F)
        x64, W64, g64 = x[:, cut].double(), W[m].double(), y_bar[:, cut].double()
        W_bar = weight_bar[cut, cut] if name == "torch-masked" else weight_bar[m]
        for value, wanted in ((y[:, cut], x64 @ W64.mT + b[cut].double()), (x_bar[:, cut], g64 @ W64),
                              (W_bar, g64.mT @ x64),
                              (b_bar[cut], g64.sum(0))):
            error = (value.double() - wanted).abs().max().item() / wanted.abs().max().item()
            if not error < (1e-4 if x.dtype == torch.float32 else 3e-2):
                raise ValueError(f"relative error {error:.1e}")
    return forward, training


def peer_lines(torch, case):
    M, F = (int(part[1:]) for part in case.split("-")[:2])
    name_of_dtype, dtype = ("bf16", torch.bfloat16) if case.endswith("bf16") else ("f32", torch.float32)
    torch.manual_seed(1)
    x, W, b, y_bar = (torch.randn(*shape).to(dtype)
                      for shape in ((ROWS, M * F), (M, F, F), (M * F,), (ROWS, M * F)))

    def measure(name, run):
        for which, step in zip(("forward", "training"), passes(torch, name, run, x, W, b, y_bar)):
            yield {"bench": "blockdiag", "case": case, "who": name, "n": str(ROWS), "dtype": name_of_dtype,
                   "pass": which,
                   "seconds": f"{peers.best(step, seconds=0.5):.6g}"}

    return [line for name, run in strategies(torch, M, F, dtype).items()
            for line in peers.contend(name, case, lambda: measure(name, run)) or ()]


def main():
    torch = peers.load("torch")
    lines = []
    said = []
    for case in peers.chosen(F32 + [f"{case}-bf16" for case in F32]) or CASES:
        for _ in range(2):  # interleaved; the best of each counts
            found, said = peers.ours("blockdiag", case)
            lines += found
            lines += peer_lines(torch, case) if torch else []
    peers.table(peers.per_gemm(lines), value="per_gemm", columns=("case", "pass"), comment=said[0])


if __name__ == "__main__":
    sys.exit(peers.run(main))
