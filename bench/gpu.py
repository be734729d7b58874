"""The GPU's targets, the most important first: `python3 bench/gpu.py [NAME...] --device cuda:0`, or all of
them by `./run gpu`.

Each target is a benchmark with a time limit. If one fails or takes too long, this is reported, and the next
one runs. After each, the report (Markdown) is rewritten: a table of targets and measurements, and the lines
that scripts read. NAMEs choose among mll inverse ridge gather blockdiag paths largest. --small has sizes for
a simulated GPU, whose figures mean nothing and are not in the table.
"""
import argparse
import os
import pathlib
import signal
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
SHAPES = [f"M{M}-F{F}-bf16" for F in (1024, 4096) for M in (4, 8, 16)]

# Our programs without peers.
ALONE = {"paths": "paths", "paths-simulated": "paths-simulated", "largest": "mll"}
# name, arguments, arguments for a simulated GPU, limit in seconds
TASKS = [
    ("mll", "16384 rbf training gpytorch --dtype f64", "64 rbf training gpytorch --dtype f64", 150),
    ("mll", "4096 rbf training gpytorch --dtype f32", "65 rbf training gpytorch --dtype f32", 60),
    ("mll", "1024 rbf training gpytorch --dtype f32", "51 rbf training gpytorch --dtype f32 --once", 60),
    ("inverse", "spd --dtype f32 --n 512 --batch 256", "spd --dtype f32 --n 33 --batch 2", 90),
    ("inverse", "cols60 --dtype f32 --n 512 --batch 256", "cols60 --dtype f32 --n 64 --batch 2 --once", 90),
    ("ridge", "shared --dtype f32 --n 512 --batch 256", "shared --dtype f32 --n 40 --batch 2 --once", 90),
    ("gather", "uniform --n 131072", "uniform --n 512 --once", 90),
    *(("blockdiag", shape, None, 60) for shape in SHAPES),
    ("blockdiag", None, "M2-F64-bf16", 60),
    ("paths", "", None, 120),
    ("paths-simulated", None, "20 33 --batch 4", 60),
    ("largest", "180000 rbf forward --once", "70 rbf forward --once", 240),
]


def parse(text):
    lines = (dict(f.split("=", 1) for f in line.split() if "=" in f)
             for line in text.splitlines() if line.startswith("bench="))
    return list(lines)


def run(name, words, limit, options):
    """(lines, what went wrong or "", all output). The whole family of processes ends with its time."""
    command = [sys.executable, str(FOLDER / f"{name}.py"), *words, *options]
    if name in ALONE:
        command = [str(FOLDER.parent / os.environ.get("CT_BUILD", "build") / "bench" / ALONE[name]), *words,
                   *options[:2]]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             start_new_session=True)
    try:
        out, errors = child.communicate(timeout=limit)
        last = (errors.strip().splitlines() or [f"status {child.returncode}"])[-1]
        wrong = "" if child.returncode == 0 else last
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        out, errors = child.communicate()
        wrong = f"not done after {limit} s"
    return parse(out), wrong, out


# -- the table -----------------------------------------------------------------------------------------------

class Absent(Exception):
    """A missing measurement."""


def one(lines, bench, who, key="seconds", **wanted):
    """That figure of the fastest line of a contender in training; Absent where there is none."""
    wanted = {"pass": "training", **wanted}
    found = [line for line in lines if line["bench"] == bench and line["who"] == who and key in line
             and all(line.get(k) == str(v) for k, v in wanted.items())]
    if not found:
        raise Absent("no " + " ".join([who, *(str(v) for v in wanted.values())]))
    return float(min(found, key=lambda line: float(line["seconds"]))[key])


def times(lines, bench, who, **wanted):
    """The time of a peer divided by ours."""
    return one(lines, bench, who, **wanted) / one(lines, bench, "cotangent", **wanted)


def over_copy(lines, who="cotangent"):
    return max(one(lines, "blockdiag", who, case=c) / one(lines, "blockdiag", "copy", case=c) for c in SHAPES)


def best_torch(lines):
    """The time of torch's best strategy divided by ours, the least over all shapes and both passes."""
    ratios = []
    for case in SHAPES:
        for which in ("forward", "training"):
            found = [float(line["seconds"]) for line in lines if line["bench"] == "blockdiag"
                     and line["case"] == case
                     and line["pass"] == which and line["who"].startswith("torch")]
            if not found:
                raise Absent(f"no torch {case} {which}")
            ratios.append(min(found) / one(lines, "blockdiag", "cotangent", case=case, **{"pass": which}))
    return min(ratios)


AT_MOST, AT_LEAST = "≤", "≥"
# work, relation, target, unit, measured(lines)
ROWS = [
    ("likelihood + gradient, f64, N = 16,384, d = 8, over a DGEMM of that size", AT_MOST, 0.75, "",
     lambda l: one(l, "mll", "cotangent", "per_gemm", n=16384, dtype="f64")),
    ("the same beside GPyTorch (Cholesky)", AT_LEAST, 3, "times faster",
     lambda l: times(l, "mll", "gpytorch", n=16384, dtype="f64")),
    ("its peak memory over 8N²", AT_MOST, 0.56, "",
     lambda l: one(l, "mll", "cotangent", "bytes_per_8n2", n=16384, dtype="f64")),
    ("the same in f32, N = 4,096, beside GPyTorch", AT_LEAST, 2, "times faster",
     lambda l: times(l, "mll", "gpytorch", n=4096, dtype="f32")),
    ("the same in f32, N = 1,024, beside GPyTorch", AT_LEAST, 5, "times faster",
     lambda l: times(l, "mll", "gpytorch", n=1024, dtype="f32")),
    ("256 SPD inverses of 512², f32, forward + backward, beside `inv_ex`", AT_LEAST, 4, "times faster",
     lambda l: times(l, "inverse", "torch-inv_ex", case="spd", n=512)),
    ("60 columns of 256 inverses of 512², f32, forward + backward, beside `inv_ex`", AT_LEAST, 10,
     "times faster",
     lambda l: times(l, "inverse", "torch-inv_ex", case="cols60", n=512)),
    ("ridge_solve, r = 60, n = 512, batch 256, D shared, f32, forward + backward, beside torch's formula",
     AT_LEAST, 8,
     "times faster", lambda l: times(l, "ridge", "torch-inv", case="shared", n=512)),
    ("gather_matmul, N = 131,072, M = 2048, J = K = 64, f32, forward + backward", AT_MOST, 150, "µs",
     lambda l: 1e6 * one(l, "gather", "cotangent", case="uniform", n=131072)),
    ("the same, the step as a graph", AT_MOST, 150, "µs",
     lambda l: 1e6 * one(l, "gather", "cotangent-graph", case="uniform", n=131072)),
    ("the same beside `matmul(a, c[q])`", AT_LEAST, 20, "times faster",
     lambda l: times(l, "gather", "torch-matmul", case="uniform", n=131072)),
    ("its memory beyond results, where an N×J×K array has 2147 MB", AT_MOST, 200, "MB",
     lambda l: 1e-6 * one(l, "gather", "cotangent", "peak_bytes", case="uniform", n=131072)),
    ("blockdiag_linear, bf16, B = 128, F = 1024 and 4096, M = 4, 8, 16, forward + backward, over a copy of "
     "three passes over the weights: the worst", AT_MOST, 1.3, "", over_copy),
    ("the same, the step as a graph", AT_MOST, 1.3, "", lambda l: over_copy(l, "cotangent-graph")),
    ("the same, and forward alone, beside the best of torch's strategies: the nearest", AT_LEAST, 1,
     "times faster", best_torch),
    ("likelihood, f64, N = 180,000, once", AT_MOST, 240, "s",
     lambda l: one(l, "mll", "cotangent", n=180000, **{"pass": "forward"})),
]


def table(lines):
    yield "| work | target | measured | |"
    yield "|---|---|---|---|"
    for work, relation, target, unit, measured in ROWS:
        try:
            value = measured(lines)
            met = value <= target if relation == AT_MOST else value >= target
            cells = [f"{value:.3g} {unit}".strip(), "met" if met else "missed"]
        except Absent as why:
            cells = ["not measured", str(why)]
        yield f"| {work} | {relation} {target} {unit}".rstrip() + f" | {cells[0]} | {cells[1]} |"


def report(args, lines, remarks, done):
    yield f"# Benchmarks on {args.device}, {time.strftime('%F', time.gmtime())}"
    yield ""
    yield from (f"- {remark}" for remark in remarks)
    yield "- f32 is computed in f32 on both sides (no TF32); a time ends when the device has done"
    if not done:
        yield "- not all has run yet"
    yield ""
    if not args.small:
        yield from table(lines)
        yield ""
    yield "```"
    yield from (" ".join(f"{k}={v}" for k, v in line.items()) for line in lines)
    yield "```"


def main():
    parser = argparse.ArgumentParser(prog="bench/gpu.py",
                                     description="the GPU's targets and what is measured")
    names = dict.fromkeys(task[0] for task in TASKS if task[1] is not None)
    parser.add_argument("names", nargs="*", help="these alone: " + " ".join(names))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--peer-device", help="torch's, where that is another")
    parser.add_argument("--small", action="store_true", help="sizes for a simulated GPU")
    parser.add_argument("--within", type=float, default=1e9, help="seconds for all of it")
    parser.add_argument("--report", type=pathlib.Path,
                        help="the file, written anew after each benchmark; else it is printed at the end")
    args = parser.parse_args()
    options = ["--device", args.device] + (["--peer-device", args.peer_device] if args.peer_device else [])
    lines, remarks, failed, end = [], [], 0, time.monotonic() + args.within
    for name, words, small, limit in TASKS:
        words = small if args.small else words
        if words is None or (args.names and name not in args.names):
            continue
        limit = min(limit * (5 if args.small else 1), end - time.monotonic())
        if limit < 5:
            remarks.append(f"{name} {words}: no time was left")
            continue
        start = time.monotonic()
        found, wrong, out = run(name, words.split(), limit, options)
        lines += found
        failed += bool(wrong)
        remarks += [f"{name} {words}: {wrong}"] if wrong else []
        remarks += [r for r in (line[2:] for line in out.splitlines() if line.startswith("# "))
                    if r not in remarks]
        print(f"{name} {words}: {wrong or 'done'}, {time.monotonic() - start:.0f} s", file=sys.stderr,
              flush=True)
        if args.report:
            args.report.write_text("\n".join(report(args, lines, remarks, False)) + "\n")
    text = "\n".join(report(args, lines, remarks, True)) + "\n"
    if args.report:
        args.report.write_text(text)
    else:
        print(text, end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
