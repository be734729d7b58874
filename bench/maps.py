"""Elementwise functions beside torch: `./run bench maps [case...]`. See maps.c."""
import math
import sys

import peers

CASES = ("exp", "expm1", "log", "log1p", "sin", "cos", "tanh", "erf", "sigmoid", "softplus", "lgamma")
POINTS = 100000


def measure(torch, case, dtype, wanted):
    f = torch.nn.functional.softplus if case == "softplus" else getattr(torch, case)
    n = peers.options.n or POINTS
    kind = {"f64": torch.float64, "f32": torch.float32}[dtype]
    x = (3 * (torch.arange(n, dtype=torch.float64) + 0.5) / n).to(kind)

    def forward():
        with torch.no_grad():
            f(x)

    def training():
        leaf = x.detach().requires_grad_()
        value = f(leaf).sum()
        value.backward()
        return value.item()

    value = training()
    if not math.isclose(value, wanted, rel_tol=1e-12 if dtype == "f64" else 1e-4):
        raise ValueError(f"{value}, we have {wanted}")
    for name, run in (("forward", forward), ("training", training)):
        yield {"bench": "maps", "case": case, "who": "torch", "n": str(n), "dtype": dtype, "pass": name,
               "seconds": f"{peers.best(run, 100):.4g}", "value": f"{value:.12g}"}


def main():
    cases = peers.chosen(CASES)
    torch, lines = peers.load("torch"), []
    for _ in range(3):  # interleaved rounds; the best of each counts
        found = peers.ours("maps", *cases)[0]
        lines += found
        sums = {(line["case"], line["dtype"]): float(line["value"]) for line in found}
        for (case, dtype), wanted in sums.items() if torch else ():
            lines += peers.contend("torch", f"{case} {dtype}",
                                   lambda: measure(torch, case, dtype, wanted)) or []
    peers.table(lines, value="seconds", columns=("case", "dtype", "pass"))


if __name__ == "__main__":
    sys.exit(peers.run(main))
