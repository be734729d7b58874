"""A block-diagonal linear layer beside the strategies that torch offers: `./run bench blockdiag [M4-F1024
M4-F1024-bf16 M4-F1024-f16...]`, of any M and F.

peak_bytes: the most memory held beyond x, W and the bias, for torch by its profiler, on a GPU by its
allocator. torch-bsr has a gradient by hand, as torch has none through a sparse weight on a CPU. On a GPU
torch-compile is torch-bmm by torch.compile, and torch-graph its training step as a CUDA graph.
"""
import re
import sys

import peers

ROWS = 128
CASE = r"M(\d+)-F(\d+)(|-bf16|-f16)"
CASES = [f"M{M}-F{F}" for F in (64, 256, 1024, 4096) for M in (1, 2, 4, 8, 16)]
CASES += [f"M{M}-F{F}-{half}" for M, F in ((8, 256), (8, 1024), (4, 4096)) for half in ("bf16", "f16")]
DENSE = 1 << (32 if peers.options.gpu else 28)  # the most bytes of a dense weight to try
SMALL = 1 << 22  # weights
DTYPES = {"": ("f32", "float32", 1e-4), "-bf16": ("bf16", "bfloat16", 3e-2), "-f16": ("f16", "float16", 4e-3)}


def sparse_blocks(torch, M, F):
    """The layer with a sparse weight of M dense blocks (BSR)."""
    blocks = torch.arange(M + 1, dtype=torch.int32)

    def weight(W):
        return torch.sparse_bsr_tensor(blocks, blocks[:-1], W, (M * F, M * F), check_invariants=False)

    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(context, x, W, b):
            context.save_for_backward(x, W)
            return torch.nn.functional.linear(x, weight(W), b)

        @staticmethod
        def backward(context, y_bar):
            x, W = context.saved_tensors
            blocks = (y_bar.shape[0], W.shape[0], W.shape[2])
            W_bar = torch.bmm(y_bar.view(blocks).permute(1, 2, 0), x.view(blocks).transpose(0, 1))
            return torch.nn.functional.linear(y_bar, weight(W.mT.contiguous())), W_bar, y_bar.sum(0)

    return Layer.apply


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
        "torch-vmap": lambda x, W, b: (torch.vmap(linear, in_dims=(1, 0, 0), out_dims=1)
                                       (x.view(-1, M, F), W, b.view(M, F)).reshape(-1, M * F)),
    }
    if M * F * F <= SMALL or peers.options.gpu:  # hundreds of products on a CPU
        found["torch-bsr"] = sparse_blocks(torch, M, F)
    if peers.options.gpu:
        found["torch-compile"] = found["torch-graph"] = found["torch-bmm"]
    if 4 * (M * F) ** 2 <= DENSE:
        mask = torch.block_diag(*[torch.ones(F, F)] * M).to(dtype)
        found["torch-block_diag"] = lambda x, W, b: linear(x, torch.block_diag(*W.unbind(0)), b)
        # The weight is dense, and the mask keeps its gradient block-diagonal. block_diag makes it from W
        # once, outside the step.
        found["torch-masked"] = lambda x, dense, b: linear(x, dense * mask, b)
    return found


def passes(torch, name, run, x, W, b, y_bar, tolerance):
    """{"forward": ..., "training": ...}, checked against float64: every block, or the last one of many
    weights."""
    weight = torch.block_diag(*W.detach().unbind(0)) if name == "torch-masked" else W.detach()
    inputs = [t.detach().clone().requires_grad_(True) for t in (x, weight, b)]
    run = peers.compiled(torch, run) if name == "torch-compile" else run
    M, F = W.shape[0], W.shape[2]

    def forward():
        return run(*inputs)

    def training():
        return torch.autograd.grad(run(*inputs), inputs, y_bar)

    if name == "torch-graph":
        training = peers.as_graph(torch, training)
    with peers.no_default_device():  # as when it is timed
        y, (x_bar, weight_bar, b_bar) = forward(), training()
    for m in range(M) if M * F * F <= SMALL or peers.options.gpu else (M - 1,):
        cut = slice(m * F, (m + 1) * F)
        x64, W64, g64 = x[:, cut].double(), W[m].double(), y_bar[:, cut].double()
        W_bar = weight_bar[cut, cut] if name == "torch-masked" else weight_bar[m]
        for value, wanted in ((y[:, cut], x64 @ W64.mT + b[cut].double()), (x_bar[:, cut], g64 @ W64),
                              (W_bar, g64.mT @ x64),
                              (b_bar[cut], g64.sum(0))):
            error = (value.double() - wanted).abs().max().item() / wanted.abs().max().item()
            if not error < tolerance:
                raise ValueError(f"relative error {error:.1e}")
    return {"training": training} if name == "torch-graph" else {"forward": forward, "training": training}


def peer_lines(torch, case):
    M, F, suffix = re.fullmatch(CASE, case).groups()
    M, F, (name_of_dtype, dtype, tolerance) = int(M), int(F), DTYPES[suffix]
    dtype = getattr(torch, dtype)
    torch.manual_seed(1)
    x, W, b, y_bar = (torch.randn(*shape).to(dtype)
                      for shape in ((ROWS, M * F), (M, F, F), (M * F,), (ROWS, M * F)))

    def measure(name, run):
        for which, step in passes(torch, name, run, x, W, b, y_bar, tolerance).items():
            line = {"bench": "blockdiag", "case": case, "who": name, "n": str(ROWS), "dtype": name_of_dtype,
                    "pass": which, "seconds": f"{peers.best(step, seconds=0.5):.6g}"}
            if name != "torch-graph":  # whose memory is the recording's
                line["peak_bytes"] = str(peers.peak_bytes(torch, step))
            yield line

    return [line for name, run in strategies(torch, M, F, dtype).items()
            for line in peers.contend(name, case, lambda: measure(name, run)) or ()]


def main():
    torch = peers.load("torch")
    lines = []
    said = []
    for case in peers.options.words or CASES:
        if not re.fullmatch(CASE, case):
            sys.exit(f"{case} is no case; one is M4-F1024-bf16")
        for _ in range(1 if peers.options.gpu else 2):  # interleaved; the best of each counts
            found, said = peers.ours("blockdiag", case)
            lines += found
            lines += peer_lines(torch, case) if torch else []
    peers.table(peers.per_gemm(lines), value="per_gemm", columns=("case", "pass"), comment=said[0])


if __name__ == "__main__":
    sys.exit(peers.run(main))
