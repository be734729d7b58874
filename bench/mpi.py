"""The likelihood over processes of MPI: `./run bench mpi [N...]` (3000 6000), or `./run bench mpi --reckon`.

Seconds of value (forward) and of value and gradient (training) on 1 x 2 processes of one thread each, beside
one process of two threads, beside ScaLAPACK on the same grid: pdpotrf for the value, pdpotrf and pdpotri for
the gradient, in blocks of 64 and 128. ScaLAPACK's time is that of the factorisation alone; ours is all of the
evaluation. The contenders take turns, and the best of each counts. Then the bytes that a process receives
and sends in an evaluation, counted by ranks/layer.c, on 1 x 2, 2 x 2 and 2 x 3 processes.

--reckon prints seconds, bytes and efficiency for 16, 64 and 256 nodes. These are reckoned, not measured, by
ranks/schedule.py. Its communication is compared with the same schedule's on this machine, where the layer
makes each broadcast as slow as a network would.
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
TURNS, ENOUGH, LIMIT = 3, 90, 600  # no further turn after ENOUGH seconds; a program has LIMIT seconds
TARGETS = (("times one process", "<=", 1.25), ("ScaLAPACK's time over ours", ">=", 2),
           ("bytes of all processes / 8N²", "<=", 0.56), ("received / model", "<=", 1.3))
# Of simulated networks: latency in seconds, bytes a second.
NETWORKS = ((1e-3, 1e8), (1e-4, 1e7))


def launcher(processes):
    """mpirun with its options. Open MPI wants to be told that root and many processes on a core are meant."""
    if not (mpirun := shutil.which("mpirun")):
        sys.exit("there is no mpirun: ./run need mpi")
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True).stdout
    command = [mpirun, "-n", str(processes)]
    if "Open MPI" in version:
        command += ["--allow-run-as-root", "--bind-to", "none", "--oversubscribe"]
    return command


def start(program, *words, processes=1, threads=1, **layer):
    """The lines of a program; `layer` has the settings of layer.c, which is preloaded where there are any."""
    path = RANKS / program
    if not path.exists():
        sys.exit(f"{path} was not built: is MPI installed? ./run need mpi")
    env = os.environ | {"OMP_NUM_THREADS": str(threads)}
    command = launcher(processes) if processes > 1 else []
    if layer:
        command += ["env", f"LD_PRELOAD={RANKS / 'liblayer.so'}", *(f"{k}={v}" for k, v in layer.items())]
    try:
        done = subprocess.run([*command, str(path), *map(str, words)], env=env, capture_output=True,
                              text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        sys.exit(f"{program} has not ended after {LIMIT} s")
    if done.returncode:
        sys.exit(f"{' '.join(done.args)}: {done.stderr.strip() or done.returncode}")
    found = []
    for text in done.stdout.splitlines():
        if text.startswith("bench="):
            found.append(dict(f.split("=", 1) for f in text.split()))
        elif text.startswith("# ") and text not in said:
            said.append(text)
            print(text, flush=True)
    return found


said = []


def show(lines):
    for line in lines:
        print(" ".join(f"{k}={v}" for k, v in line.items()), flush=True)
    return lines


def measure(n):
    """{(who, pass): the best line}"""
    rounds, best = 2 if n <= 4000 else 1, {}
    contenders = [lambda: start("likelihood", rounds, n, threads=2),
                  lambda: start("likelihood", rounds, n, processes=2)]
    if (RANKS / "scalapack").exists():
        contenders += [lambda block=block: start("scalapack", rounds, block, n, processes=2)
                       for block in (64, 128)]
    started = time.monotonic()
    for turn in range(TURNS):
        if turn and time.monotonic() - started > ENOUGH:
            break
        for run in contenders:
            for line in show(run()):
                who = line["who"] + ("-alone" if line["ranks"] == "1" else "")
                key = who, line["pass"]
                if key not in best or float(line["seconds"]) < float(best[key]["seconds"]):
                    best[key] = line
    answer = float(best["cotangent-alone", "forward"]["value"])
    for key, line in list(best.items()):
        if not math.isclose(float(line["value"]), answer, rel_tol=1e-8):
            print(f"# {key[0]}, n={n}: {line['value']} is not {answer}, left out")
            del best[key]
    return best


def count(n):
    """[(processes, line)] of evaluations under the layer, whose time does not count."""
    found = []
    for processes in (2, 4, 6):
        lines = start("likelihood", 0, n, processes=processes, RANKS_LATENCY=0, RANKS_BANDWIDTH=0)
        for line in lines:
            del line["seconds"]
        found += [(processes, line) for line in show(lines)]
    return found


def seconds_table(measured):
    """Prints it; returns {(n, pass): (times one process, ScaLAPACK's time over ours, bytes)}."""
    ratios = {}
    print("\n| n | pass | one process, 2 threads: s | 1x2 processes: s | times one process | ScaLAPACK, factor "
          "alone: s (block) | ScaLAPACK's time over ours | bytes of all / 8N² |\n" + "|---" * 8 + "|")
    for n, best in measured.items():
        for which in PASSES:
            alone, ours = (best[who, which] for who in ("cotangent-alone", "cotangent"))
            own = float(ours["seconds"])
            peer = min((float(line["seconds"]), who.split("-")[1]) for (who, p), line in best.items()
                       if p == which and who.startswith("scalapack")) if any(
                           who.startswith("scalapack") for who, _ in best) else None
            ratios[n, which] = (own / float(alone["seconds"]), peer and peer[0] / own,
                                float(ours["bytes_per_8n2"]))
            print(f"| {n} | {which} | {float(alone['seconds']):.3f} | {own:.3f} | {ratios[n, which][0]:.2f} | "
                  + (f"{peer[0]:.3f} ({peer[1]}) | {peer[0] / own:.2f}" if peer else " | ")
                  + f" | {ratios[n, which][2]:.3f} |")
    return ratios


def bytes_table(counted):
    """Prints it; returns {(n, pass): received over the model's on 1 x 2}."""
    ratios = {}
    print("\nBytes of one evaluation, of the process that has most. Model: 8N² (1/P + 1/Q).\n\n"
          "| n | pass | grid | received | sent | model | received / model | bytes of all / 8N² | its processor's "
          "seconds |\n" + "|---" * 9 + "|")
    for n, lines in counted.items():
        for processes, line in lines:
            model, received = schedule.model_bytes(n, processes), float(line["received"])
            grid = "x".join(map(str, schedule.grid_of(processes)))
            print(f"| {n} | {line['pass']} | {grid} | {received:.3g} | {float(line['sent']):.3g} | {model:.3g} "
                  f"| {received / model:.2f} | {line['bytes_per_8n2']} | {line['cpu_seconds']} |")
            if processes == 2:
                ratios[n, line["pass"]] = received / model
    return ratios


def targets(times, received):
    print("\nTargets, set for n = 6000.\n\n| n | pass | " + " | ".join(f"{what} {sign} {goal}" for what, sign, goal in TARGETS) + " |\n"
          + "|---" * (2 + len(TARGETS)) + "|")
    for key, found in times.items():
        cells = []
        for value, (_, sign, goal) in zip((*found, received[key]), TARGETS):
            good = value is not None and (value <= goal if sign == "<=" else value >= goal)
            cells.append("" if value is None else f"{value:.3g} {'reached' if good else 'MISSED'}")
        print(f"| {key[0]} | {key[1]} | {' | '.join(cells)} |")


# -- what was not measured -----------------------------------------------------------------------------------

def reckon(options):
    machine = schedule.Machine(options.gflops, options.solve, options.pivot, options.latency * 1e-6,
                               options.bandwidth * 1e9)
    print(f"Reckoned, not measured. A node is one process, with {options.gflops:g} GFLOP/s in products, "
          f"{options.solve:g} of that in triangular solves, {options.pivot:g} in the factor of a tile; latency "
          f"{options.latency:g} us, bandwidth {options.bandwidth:g} GB/s; d = 8. Efficiency: N³/3 (value) and N³ "
          f"(with gradient) operations over what the nodes' products could do in that time.\n")
    print("| n | nodes | grid | value: s | with gradient: s | of which broadcasts | GB a node | efficiency: value "
          "| with gradient |\n" + "|---" * 9 + "|")
    for n in (100_000, 250_000, 1_000_000):
        for nodes in (16, 64, 256):
            seconds, share = {}, 0
            for inverse in (False, True):
                time = schedule.Sweep(n, nodes, inverse, machine).time()
                seconds[inverse] = sum(time)
                share = time.exchange / sum(time)
            full = n**3 / (options.gflops * 1e9 * nodes)
            print(f"| {n} | {nodes} | {'x'.join(map(str, schedule.grid_of(nodes)))} | {seconds[False]:.3g} | "
                  f"{seconds[True]:.3g} | {share:.0%} | {schedule.node_bytes(n, 8, nodes) / 1e9:.2f} | "
                  f"{full / 3 / seconds[False]:.0%} | {full / seconds[True]:.0%} |", flush=True)


def check(n):
    """The time that simulated delays add to an evaluation, beside the schedule's communication."""
    print(f"\nThe schedule's broadcasts beside those of the library, delayed by the layer, n = {n}.\n\n"
          "| grid | pass | latency: s | bytes/s | without delays: s | with delays: s | added: s | reckoned: s | "
          "added / reckoned |\n" + "|---" * 9 + "|")
    for processes in (4, 6):
        free = {line["pass"]: float(line["seconds"]) for line in start("likelihood", 3, n, processes=processes)}
        for latency, bandwidth in NETWORKS:
            machine = schedule.Machine(1, 1, 1, latency, bandwidth)
            for line in start("likelihood", 2, n, processes=processes, RANKS_LATENCY=latency,
                              RANKS_BANDWIDTH=bandwidth):
                which, slow = line["pass"], float(line["seconds"])
                wanted = schedule.Sweep(n, processes, which == "training", machine).communication()
                print(f"| {'x'.join(map(str, schedule.grid_of(processes)))} | {which} | {latency:g} | "
                      f"{bandwidth:g} | {free[which]:.3f} | {slow:.3f} | {slow - free[which]:.3f} | {wanted:.3f} "
                      f"| {(slow - free[which]) / wanted:.2f} |", flush=True)


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
    targets(times, bytes_table(counted))


if __name__ == "__main__":
    main()
