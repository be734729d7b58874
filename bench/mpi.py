"""The likelihood over processes of MPI: `./run bench mpi [N...]` (3000 6000), or `./run bench mpi --reckon`.

Measures the value (forward), and value and gradient (training), on 1 x 2 processes of one thread each, on one
process of two threads, and by ScaLAPACK on the same grid: pdpotrf for the value, pdpotrf and pdpotri for the
gradient, in blocks of 64 and 128. ScaLAPACK's time is only the factorisation's; ours is the whole
evaluation's. The contenders take turns, and the best time of each counts. Then counts, by ranks/layer.c, the
bytes that a process receives and sends in an evaluation, on 1 x 2, 2 x 2 and 2 x 3 processes.

--reckon prints seconds, bytes and efficiency for 16, 64 and 256 nodes. These come from the model in
ranks/schedule.py, not from measurements. Its communication is compared with that of the library on this
machine, where the layer slows each broadcast down to the speed of a network.
"""
import argparse
import math
import os
import pathlib
import shutil
import subprocess
import sys
import time

from ranks import schedule

BUILD = pathlib.Path(__file__).resolve().parent.parent / os.environ.get("CT_BUILD", "build")
RANKS = BUILD / "bench/ranks"
PASSES = ("forward", "training")
BLOCKS = (64, 128)
# At most TURNS turns, and no further one after ENOUGH seconds. A program is stopped after LIMIT seconds.
TURNS, ENOUGH, LIMIT = 3, 90, 600
TARGETS = (("times one process", "<=", 1.25), ("ScaLAPACK's time over ours", ">=", 2),
           ("bytes of all / 8N²", "<=", 0.56), ("received / model", "<=", 1.3))
# Simulated networks: latency in seconds, bytes per second.
NETWORKS = ((1e-3, 1e8), (1e-4, 1e7))
SIZES, NODES = (100_000, 250_000, 1_000_000), (16, 64, 256)

machine_lines = []


def launcher(processes):
    """mpirun with its options."""
    if not (mpirun := shutil.which("mpirun")):
        sys.exit("there is no mpirun: ./run need mpi")
    command = [mpirun, "-n", str(processes)]
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True).stdout
    if "Open MPI" in version:
        command += ["--allow-run-as-root", "--bind-to", "none"]
        if processes > len(os.sched_getaffinity(0)):
            command.append("--oversubscribe")
    return command


def start(program, *words, processes=1, threads=1, **layer):
    """The lines of a program; with settings in `layer`, layer.c is preloaded."""
    path = RANKS / program
    if not path.exists():
        sys.exit(f"{path} was not built: is MPI installed? ./run need mpi")
    command = launcher(processes) if processes > 1 else []
    if layer:
        command += ["env", f"LD_PRELOAD={RANKS / 'liblayer.so'}", *(f"{k}={v}" for k, v in layer.items())]
    command += [str(path), *map(str, words)]
    env = os.environ | {"OMP_NUM_THREADS": str(threads)}
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        sys.exit(f"{' '.join(command)}: did not end within {LIMIT} s")
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    found = []
    for text in done.stdout.splitlines():
        if text.startswith("bench="):
            found.append(dict(f.split("=", 1) for f in text.split()))
        elif text.startswith("# ") and text not in machine_lines:
            machine_lines.append(text)
            print(text, flush=True)
    return found


def show(lines):
    for line in lines:
        print(" ".join(f"{k}={v}" for k, v in line.items()), flush=True)
    return lines


def head(comment, *names):
    print(f"\n{comment}\n\n| {' | '.join(names)} |\n{'|---' * len(names)}|", flush=True)


def row(*cells):
    """Prints a row of a table, numbers with three digits."""
    texts = (f"{c:.3g}" if isinstance(c, float) else "" if c is None else str(c) for c in cells)
    print(f"| {' | '.join(texts)} |", flush=True)


def grid_name(processes):
    return "{}x{}".format(*schedule.grid_of(processes))


# -- measured ------------------------------------------------------------------------------------------------

def measure(n):
    """{(who, pass): the best line}; who: alone, cotangent, scalapack-64, scalapack-128."""
    rounds, best, started = 2 if n <= 4000 else 1, {}, time.monotonic()
    runs = [lambda: start("likelihood", rounds, n, threads=2),
            lambda: start("likelihood", rounds, n, processes=2)]
    if (RANKS / "scalapack").exists():
        runs += [lambda block=block: start("scalapack", rounds, block, n, processes=2) for block in BLOCKS]
    for turn in range(TURNS):
        if turn and time.monotonic() - started > ENOUGH:
            break
        for line in (line for run in runs for line in show(run())):
            key = "alone" if line["ranks"] == "1" else line["who"], line["pass"]
            if key not in best or float(line["seconds"]) < float(best[key]["seconds"]):
                best[key] = line
    answer = float(best["alone", "forward"]["value"])
    for key, line in list(best.items()):
        if not math.isclose(float(line["value"]), answer, rel_tol=1e-8):
            print(f"# {key[0]}, n={n}: {line['value']} is not {answer}, left out")
            del best[key]
    return best


def count(n):
    """[(processes, line)] of evaluations with the layer, without their times."""
    found = []
    for processes in (2, 4, 6):
        lines = start("likelihood", 0, n, processes=processes, RANKS_LATENCY=0, RANKS_BANDWIDTH=0)
        for line in lines:
            del line["seconds"]
        found += [(processes, line) for line in show(lines)]
    return found


def seconds_table(measured):
    """Prints the table; returns {(n, pass): (times one process, ScaLAPACK's time over ours, bytes)}."""
    ratios = {}
    head("Seconds: one process of 2 threads, 1x2 processes, ScaLAPACK's factorisation (its faster block)",
         "n", "pass", "one process", "1x2 processes", "times one process", "ScaLAPACK", "block",
         "ScaLAPACK's time over ours", "bytes of all / 8N²")
    for n, best in measured.items():
        for which in PASSES:
            if ("cotangent", which) not in best:
                continue
            seconds = {who: float(line["seconds"]) for (who, p), line in best.items() if p == which}
            alone, ours, held = seconds.pop("alone"), seconds.pop("cotangent"), best["cotangent", which]
            peer = min(seconds, key=seconds.get, default=None)
            theirs = seconds[peer] if peer else None
            found = ours / alone, theirs / ours if peer else None, float(held["bytes_per_8n2"])
            row(n, which, alone, ours, found[0], theirs, peer and peer.split("-")[1], found[1],
                held["bytes_per_8n2"])
            ratios[n, which] = found
    return ratios


def bytes_table(counted):
    """Prints the table; returns {(n, pass): received over the model's on 1 x 2}."""
    ratios = {}
    head("Bytes and CPU seconds of one evaluation, of the process that has most; model: 8N² (1/P + 1/Q)",
         "n", "pass", "grid", "received", "sent", "model", "received / model", "bytes of all / 8N²",
         "CPU seconds")
    for n, lines in counted.items():
        for processes, line in lines:
            model, received = schedule.model_bytes(n, processes), float(line["received"])
            row(n, line["pass"], grid_name(processes), received, float(line["sent"]), model, received / model,
                line["bytes_per_8n2"], line["cpu_seconds"])
            if processes == 2:
                ratios[n, line["pass"]] = received / model
    return ratios


def targets_table(times, received):
    head("Targets, set for n = 6000", "n", "pass", *(f"{what} {sign} {goal}" for what, sign, goal in TARGETS))
    for key, found in times.items():
        cells = []
        for value, (_, sign, goal) in zip((*found, received[key]), TARGETS):
            reached = value is not None and (value <= goal if sign == "<=" else value >= goal)
            cells.append(value and f"{value:.4g} {'reached' if reached else 'MISSED'}")
        row(*key, *cells)


# -- modelled ------------------------------------------------------------------------------------------------

def reckon(options):
    machine = schedule.Machine(options.gflops, options.solve, options.pivot, options.latency * 1e-6,
                               options.bandwidth * 1e9)
    o = options
    head(f"Modelled, not measured. A node is one process: {o.gflops:g} GFLOP/s in products, {o.solve:g} of "
         f"that in triangular\nsolves, {o.pivot:g} in the factor of a tile; latency {o.latency:g} us, "
         f"bandwidth {o.bandwidth:g} GB/s; d = 8. Efficiency: N³/3\n(value) and N³ (with gradient) "
         f"operations over those of the nodes' products in that time.", "n", "nodes", "grid", "value: s",
         "with gradient: s", "share of broadcasts", "GB per node", "efficiency: value", "with gradient")
    for n in SIZES:
        for nodes in NODES:
            value, both = (schedule.Sweep(n, nodes, inverse, machine).time() for inverse in (False, True))
            floor = n**3 / (options.gflops * 1e9 * nodes)
            row(n, nodes, grid_name(nodes), sum(value), sum(both), both.exchange / sum(both),
                schedule.node_bytes(n, 8, nodes) / 1e9, floor / 3 / sum(value), floor / sum(both))


def check(n):
    """Compares the time that simulated delays add to an evaluation with the schedule's communication."""
    head(f"The library's broadcasts, delayed by the layer, beside the model's; n = {n}, seconds", "grid",
         "pass", "latency", "bytes per second", "without delays", "with delays", "added", "modelled",
         "added / modelled")
    for processes in (4, 6):
        free = start("likelihood", 3, n, processes=processes)
        for latency, bandwidth in NETWORKS:
            machine = schedule.Machine(1, 1, 1, latency, bandwidth)
            slowed = start("likelihood", 3, n, processes=processes, RANKS_LATENCY=latency,
                           RANKS_BANDWIDTH=bandwidth)
            for fast, slow in zip(free, slowed):
                wanted = schedule.Sweep(n, processes, slow["pass"] == "training", machine).communication()
                seconds = float(fast["seconds"]), float(slow["seconds"])
                added = seconds[1] - seconds[0]
                row(grid_name(processes), slow["pass"], latency, bandwidth, *seconds, added, wanted,
                    added / wanted)


def main():
    parser = argparse.ArgumentParser(prog="./run bench mpi", description=__doc__.split("\n\n")[0])
    parser.add_argument("n", nargs="*", type=int, help="rows (3000 6000)")
    parser.add_argument("--reckon", action="store_true", help="the table for many nodes, and its check")
    parser.add_argument("--gflops", type=float, default=1000, help="of a node in products (1000)")
    parser.add_argument("--solve", type=float, default=0.4, help="share of that in triangular solves (0.4)")
    parser.add_argument("--pivot", type=float, default=0.03, help="share of that in a tile's factor (0.03)")
    parser.add_argument("--latency", type=float, default=2, help="us (2)")
    parser.add_argument("--bandwidth", type=float, default=12.5, help="GB/s (12.5, 100 Gbit/s)")
    options = parser.parse_args()
    if options.reckon:
        reckon(options)
        check(options.n[0] if options.n else 1000)
        return
    if not (RANKS / "scalapack").exists():
        print("# without ScaLAPACK, which was not found: ./run need mpi")
    sizes = options.n or [3000, 6000]
    measured = {n: measure(n) for n in sizes}
    counted = {n: count(n) for n in sizes}
    times = seconds_table(measured)
    targets_table(times, bytes_table(counted))


if __name__ == "__main__":
    main()
