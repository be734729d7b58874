"""The cost of one recorded op on 1x1 tensors beside torch: `./run bench overhead`."""
import math
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


def answers(said):
    """{case: (y, x_bar)} of our own chains."""
    fields = [dict(f.split("=") for f in line[2:].split()) for line in said if line.startswith("# case=")]
    return {f["case"]: (float(f["y"]), float(f["x_bar"])) for f in fields}


def measure(torch, case, wanted):
    found = torch_chain(torch, case)()
    if not all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(found, wanted)):
        raise ValueError(f"{found}, we have {wanted}")
    yield {"bench": "overhead", "case": case, "who": "torch", "n": "1", "dtype": "f64", "pass": "training",
           "ns_per_op": f"{peers.best(torch_chain(torch, case), 3) / OPS * 1e9:.1f}"}


def main():
    lines, said = [], []
    torch = peers.load("torch")
    if torch:
        torch.set_num_threads(1)
    for _ in range(3):  # interleaved rounds; the best of each counts
        found, said = peers.ours("overhead")
        lines += found
        for case in CASES if torch else ():
            lines += peers.contend("torch", case, lambda: measure(torch, case, answers(said)[case])) or []
    peers.table(lines, value="ns_per_op", columns=("case",), comment=said[0])


if __name__ == "__main__":
    sys.exit(peers.run(main))
