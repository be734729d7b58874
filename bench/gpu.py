"""The GPU's targets, the most important first: `python3 bench/gpu.py [NAME...] --device cuda:0`, or all of
them by `./run gpu`.

Each target is a benchmark with a time limit. If one fails or takes too long, this is reported, and the next
one runs. After each, the report (Markdown) is rewritten: a table of targets and measurements, and the lines
that scripts read. NAMEs choose among mll inverse gather open blockdiag ridge fit paths largest. --data DIR
fits the tables of bench/fit.py besides drawn ones. --small has sizes for a simulated GPU, whose figures mean
nothing and are not in the table. CT_BUILD is the folder whose bench/ has our programs.
"""
import argparse
import os
import pathlib
import signal
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
SIZES = 64, 256, 1024, 4096
LARGEST = "M16-F4096-bf16"
SHAPES = {half: [f"M{M}-F{F}-{half}" for F in reversed(SIZES) for M in (16, 4, 1)]
          for half in ("bf16", "f16")}
LIKELIHOODS = "rbf training torch torch_function gpytorch jax"
LAUNCHED = "rbf training torch_compile torch_graph"
ROWS_OF = "16384 10000 3000 1000 100"

# Our programs without peers.
ALONE = {"open": "open", "paths": "paths", "paths-simulated": "paths-simulated", "largest": "mll"}
# name, arguments, arguments for a simulated GPU, limit in seconds
TASKS = [
    ("mll", f"{ROWS_OF} {LIKELIHOODS} --dtype f64", f"64 51 {LIKELIHOODS} --dtype f64", 120),
    ("mll", f"{ROWS_OF} {LIKELIHOODS} --dtype f32", f"65 {LIKELIHOODS} --dtype f32 --once", 90),
    ("inverse", "spd cols60 --dtype f32 --n 512 --batch 256",
     "spd cols60 --dtype f32 --n 64 --batch 2 --once", 90),
    ("gather", "uniform", "uniform --n 512 --once", 60),
    ("open", "", "", 30),
    ("blockdiag", " ".join(SHAPES["bf16"]), "M2-F64-bf16", 150),
    ("ridge", "shared --dtype f32 --n 512 --batch 256", "shared --dtype f32 --n 40 --batch 2 --once", 60),
    ("inverse", "spd general cols60 --n 512 --batch 100", "general --dtype f64 --n 33 --batch 2", 120),
    ("mll", f"1000 100 {LAUNCHED} --dtype f64", None, 90),
    ("mll", f"1000 100 {LAUNCHED} --dtype f32", None, 90),
    ("mll", "500 100 batch64 gpytorch jax --dtype f64", "20 batch64 training gpytorch jax --once", 60),
    ("fit", "made:1000 made:4000 cotangent gpytorch --seconds 30", "made:20 cotangent gpytorch --seconds 3",
     150),
    ("blockdiag", " ".join(SHAPES["f16"]), "M2-F64-f16", 150),
    ("paths", "", None, 120),
    ("paths-simulated", None, "20 33 --batch 4", 60),
    ("largest", "largest rbf forward --once", "70 rbf forward --once", 120),
    ("gather", "uniform torch-each", None, 90),
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
    return one(lines, "blockdiag", who, case=LARGEST) / one(lines, "blockdiag", "copy", case=LARGEST)


def best_torch(lines, half):
    """The time of torch's best strategy over our best, training steps as graphs included: the least of all
    shapes and both passes."""
    ratios = []
    for case in SHAPES[half]:
        for which in ("forward", "training"):
            here = [line for line in lines if line["bench"] == "blockdiag" and line["case"] == case
                    and line["pass"] == which]
            theirs, ours = ([float(line["seconds"]) for line in here if line["who"].startswith(kind)]
                            for kind in ("torch", "cotangent"))
            if not theirs or not ours:
                raise Absent(f"no {'cotangent' if theirs else 'torch'} {case} {which}")
            ratios.append(min(theirs) / min(ours))
    return min(ratios)


def seconds(line):
    return float(line["seconds"])


def waited(line):
    return float(line["host_seconds"]) / float(line["queue_seconds"])


def worst(lines, bench, figure, needs="seconds"):
    """The largest figure(line) of a benchmark's lines that have a certain field."""
    found = [figure(line) for line in lines if line["bench"] == bench and needs in line]
    if not found:
        raise Absent(f"no {bench}")
    return max(found)


AT_MOST, AT_LEAST = "≤", "≥"
BATCH = {"n": 512, "batch": 256}
# work, relation, target, unit, measured(lines); without a relation the work has no target
ROWS = [
    ("likelihood + gradient, f64, N = 16,384, d = 8, over a DGEMM of that size", AT_MOST, 0.60, "",
     lambda l: one(l, "mll", "cotangent", "per_gemm", n=16384, dtype="f64")),
    ("the same beside GPyTorch (Cholesky)", AT_LEAST, 3, "times faster",
     lambda l: times(l, "mll", "gpytorch", n=16384, dtype="f64")),
    ("its peak memory over 8N²", AT_MOST, 0.56, "",
     lambda l: one(l, "mll", "cotangent", "bytes_per_8n2", n=16384, dtype="f64")),
    ("GPyTorch's peak memory over 8N²", "", "", "",
     lambda l: one(l, "mll", "gpytorch", "bytes_per_8n2", n=16384, dtype="f64")),
    ("the same in f32, N = 1,000, beside GPyTorch", AT_LEAST, 5, "times faster",
     lambda l: times(l, "mll", "gpytorch", n=1000, dtype="f32")),
    *((f"the same in {dtype}, N = {n:,}", "", "", "ms",
       lambda l, n=n, dtype=dtype: 1e3 * one(l, "mll", "cotangent", n=n, dtype=dtype))
      for dtype in ("f64", "f32") for n in map(int, ROWS_OF.split())),
    ("256 SPD inverses of 512², f32, forward + backward", AT_MOST, 3, "ms",
     lambda l: 1e3 * one(l, "inverse", "cotangent", case="spd", dtype="f32", **BATCH)),
    ("the same beside `inv_ex`", AT_LEAST, 4, "times faster",
     lambda l: times(l, "inverse", "torch-inv_ex", case="spd", dtype="f32", **BATCH)),
    ("60 columns of 256 inverses of 512², f32, forward + backward", AT_MOST, 1.6, "ms",
     lambda l: 1e3 * one(l, "inverse", "cotangent", case="cols60", dtype="f32", **BATCH)),
    ("the same beside `inv_ex`", AT_LEAST, 10, "times faster",
     lambda l: times(l, "inverse", "torch-inv_ex", case="cols60", dtype="f32", **BATCH)),
    ("gather_matmul, N = 131,072, M = 2048, J = K = 64, f32, forward + backward, the step as a graph",
     AT_MOST, 130, "µs", lambda l: 1e6 * one(l, "gather", "cotangent-graph", case="uniform", n=131072)),
    ("the same without a graph", AT_MOST, 150, "µs",
     lambda l: 1e6 * one(l, "gather", "cotangent", case="uniform", n=131072)),
    ("the same beside `matmul(a, c[q])`", AT_LEAST, 20, "times faster",
     lambda l: times(l, "gather", "torch-matmul", case="uniform", n=131072)),
    ("its memory beyond results, where an N×J×K array has 2147 MB", AT_MOST, 200, "MB",
     lambda l: 1e-6 * one(l, "gather", "cotangent", "peak_bytes", case="uniform", n=131072)),
    ("that of `matmul(a, c[q])`", "", "", "MB",
     lambda l: 1e-6 * one(l, "gather", "torch-matmul", "peak_bytes", case="uniform", n=131072)),
    ("blockdiag_linear, bf16, B = 128, F = 4096, M = 16, forward + backward, over a copy of three passes "
     "over the weights", AT_MOST, 1.2, "", over_copy),
    ("the same, the step as a graph", AT_MOST, 1.2, "", lambda l: over_copy(l, "cotangent-graph")),
    *((f"blockdiag_linear, {half}, F = 64, 256, 1024, 4096, M = 1, 4, 16, beside the best of torch's "
       "strategies, forward, and forward + backward: the nearest", AT_LEAST, 1, "times faster",
       lambda l, half=half: best_torch(l, half)) for half in SHAPES),
    ("the call of a step behind 0.1 s of queued products, over their time: the longest of all steps", AT_MOST,
     0.5, "", lambda l: worst(l, "waits", waited, "queue_seconds")),
    ("opening the device the first time", "", "", "s", lambda l: one(l, "open", "cotangent", case=1, **{
        "pass": "open"})),
    ("opening it again", AT_MOST, 0.5, "s",
     lambda l: worst([line for line in l if line.get("case") != "1"], "open", seconds)),
    ("ridge_solve, r = 60, n = 512, batch 256, D shared, f32, forward + backward, beside torch's formula",
     AT_LEAST, 8, "times faster", lambda l: times(l, "ridge", "torch-inv", case="shared", n=512)),
    *((f"100 inverses of 512², {case}, {dtype}, forward + backward", "", "", "ms",
       lambda l, case=case, dtype=dtype: 1e3 * one(l, "inverse", "cotangent", case=case, dtype=dtype, n=512,
                                                   batch=100))
      for case in ("general", "spd", "cols60") for dtype in ("f64", "f32")),
    *((f"64 likelihoods + gradients, f64, N = {n}, beside GPyTorch's batch mode", "", "", "times faster",
       lambda l, n=n: times(l, "mll", "gpytorch", case="batch64", n=n)) for n in (100, 500)),
    *((f"a fit of {n:,} drawn rows, f64, beside GPyTorch", "", "", "times faster",
       lambda l, n=n: times(l, "fit", "gpytorch", case="made", n=n))
      for n in (1000, 4000)),
    ("likelihood, f64, the most rows that the memory holds", "", "", "s",
     lambda l: worst(l, "mll", seconds, "resident_bytes")),
    ("its N", "", "", "", lambda l: worst(l, "mll", lambda line: int(line["n"]), "resident_bytes")),
]


def table(lines):
    yield "| work | target | measured | |"
    yield "|---|---|---|---|"
    for work, relation, target, unit, measured in ROWS:
        try:
            value = measured(lines)
            met = value <= target if relation == AT_MOST else relation and value >= target
            cells = [f"{value:.6g}" if value >= 1000 else f"{value:.3g}", "met" if met else "missed"]
            cells = [f"{cells[0]} {unit}".strip(), cells[1] if relation else ""]
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
    parser.add_argument("--data", help="a folder of tables that are fitted, too")
    parser.add_argument("--small", action="store_true", help="sizes for a simulated GPU")
    parser.add_argument("--within", type=float, default=1e9, help="seconds for all of it")
    parser.add_argument("--report", type=pathlib.Path,
                        help="the file, written anew after each benchmark; else it is printed at the end")
    args = parser.parse_args()
    options = ["--device", args.device] + (["--peer-device", args.peer_device] if args.peer_device else [])
    lines, remarks, failed, end = [], [], 0, time.monotonic() + args.within
    of_data = [("fit", f"{args.data} cotangent gpytorch --seconds 30", None, 150)] if args.data else []
    for name, words, small, limit in TASKS + of_data:
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
