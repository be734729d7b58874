"""The cost of one recorded op on 1x1 tensors beside torch: `./run bench overhead`."""
import math
import subprocess
import sys

import peers

OPS = 1000
CASES = ("add", "mul", "tanh", "matmul", "mixed")


def torch_chain(torch, name):
    links = {"add": lambda y, x: y + x, "mul": lambda y, x: y * x, "tanh": lambda y, x: torch.tanh(y),
             "matmul": lambda y, x: y @ x}
    order = [links[name]] if name != "mixed" else [links[k] for k in CASES[:4]]

    def run():
        x = torch.full((1, 1), 0.999, dtype=torch.float64, device=peers.options.peer, requires_grad=True)
        y = x
        for i in range(OPS):
            y = order[i % len(order)](y, x)
        y.backward()
        return y.item(), x.grad.item()

    return run


def answers(out):
    """{case: (y, x_bar)} of our own chains."""
    fields = [dict(f.split("=") for f in line[2:].split()) for line in out.splitlines() if line.startswith("# case=")]
    return {f["case"]: (float(f["y"]), float(f["x_bar"])) for f in fields}


def main():
    lines = []
    torch = peers.load("torch")
    if torch:
        torch.set_num_threads(1)
    for _ in range(3):  # interleaved rounds; the best of each counts
        out = subprocess.run([peers.program("overhead"), *peers.options.given], check=True, capture_output=True, text=True).stdout
        lines += [peers.parse(line) for line in out.splitlines()]
        for case in CASES if torch else ():
            if not all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(torch_chain(torch, case)(), answers(out)[case])):
                sys.exit(f"overhead: the two sides of {case} differ: {torch_chain(torch, case)()}, {answers(out)[case]}")
            best = peers.best(torch_chain(torch, case), rounds=3)
            lines.append({"bench": "overhead", "case": case, "who": "torch", "n": "1", "dtype": "f64",
                          "pass": "training", "ns_per_op": f"{best / OPS * 1e9:.1f}"})
    peers.report(lines, value="ns_per_op", columns=("case",), comment=out.splitlines()[0])


if __name__ == "__main__":
    sys.exit(main())
