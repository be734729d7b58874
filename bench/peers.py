"""What the benchmarks' Python sides share: finding peers, timing, and the table for people.

A line is `bench=NAME case=TEXT who=... key=value ...` (bench.h); of lines that differ in their figures alone the
best is kept, so that rounds of several contenders can be interleaved.
"""
import contextlib
import importlib
import os
import pathlib
import sys
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIGURES = ("seconds", "per_gemm", "per_trsm", "extra_bytes", "ns_per_op", "peak_bytes", "bytes_per_8n2", "value")


def load(name):
    """The module, or None with a remark where it is not installed."""
    warnings.filterwarnings("ignore")
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"# {name} is not installed: ./run bench peers")
        return None


def program(name):
    """The path of our own program, built by ./run bench."""
    return str(ROOT / os.environ.get("CT_BUILD", "build") / "bench" / name)


def parse(line):
    """{'bench': ..., 'case': ...}; {} for any other line."""
    fields = dict(f.split("=", 1) for f in line.split() if "=" in f)
    return fields if "bench" in fields else {}


def fastest(run, rounds):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def best(run, rounds=5):
    """Seconds of the fastest of several calls after one that is not timed."""
    run()
    return fastest(run, rounds)


def best_within(run, seconds=0.5, rounds=30):
    """The same with as many calls as fit into so many seconds: one at least, `rounds` at most."""
    return fastest(run, max(1, min(rounds, int(seconds / fastest(run, 1)))))


@contextlib.contextmanager
def silent():
    """Without what C code prints: where torch's pivots are wrong, its BLAS says so a thousand times."""
    sys.stdout.flush()
    kept, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(null)


def checked(torch, who, what, wrong, measure):
    """(name, what measure() returns) on all of torch's threads; where that raises, for an answer that is wrong or none, it is
    said and noted in `wrong`, and one thread has its turn, as WHO-1thread. None where both raise."""
    threads = torch.get_num_threads()
    for used, name in ((threads, who), (1, f"{who}-1thread")):
        if (name, what) in wrong:
            continue
        torch.set_num_threads(used)
        try:
            with silent():
                return name, measure()
        except (RuntimeError, ValueError) as error:
            wrong.add((name, what))
            print(f"# {name}, {what}: wrong on {used} thread(s): {error}", flush=True)
        finally:
            torch.set_num_threads(threads)
    return None


def merge(lines, value):
    """One line for each contender and case: the best."""
    kept = {}
    for line in lines:
        if value not in line:
            continue
        key = tuple((k, v) for k, v in line.items() if k not in FIGURES)
        if key not in kept or float(line[value]) < float(kept[key][value]):
            kept[key] = line
    return list(kept.values())


def per_gemm(lines):
    """Every line's per_gemm: over the fastest matrix product of this run and case (who=gemm)."""
    unit = {}
    for line in lines:
        if line.get("who") == "gemm":
            unit[line["case"]] = min(float(line["seconds"]), unit.get(line["case"], float("inf")))
    for line in lines:
        if line.get("case") in unit:
            line["per_gemm"] = f"{float(line['seconds']) / unit[line['case']]:.3f}"
    return lines


def report(lines, value, columns, comment=""):
    """Prints the lines for scripts, then a table: a row for each `columns`, a column for each contender."""
    lines = merge(lines, value)
    for line in lines:
        print(" ".join(f"{k}={v}" for k, v in line.items()))
    who = list(dict.fromkeys(line["who"] for line in lines))
    rows = list(dict.fromkeys(tuple(line.get(c, "") for c in columns) for line in lines))
    print(f"\n{comment}\n\n| {' | '.join(columns)} | {' | '.join(f'{w} ({value})' for w in who)} |")
    print("|" + "---|" * (len(columns) + len(who)))
    for row in rows:
        cells = []
        for w in who:
            found = [l[value] for l in lines if l["who"] == w and tuple(l.get(c, "") for c in columns) == row]
            cells.append(found[0] if found else "")
        print(f"| {' | '.join(row + tuple(cells))} |")
