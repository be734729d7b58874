#!/usr/bin/env python3
"""test_no_memory.py CTGP FAIL_ALLOC.so [quick]: each allocation of ctgp fails, alone and with all after it.

The command then says so in one line and exits with 5, or, where it can do without the memory, gives its usual
answer. The file that it writes is the whole new one or the old one. With quick allocations fail alone only,
and those of the library in few commands. In TAP."""
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

ctgp, preload = map(os.path.abspath, sys.argv[1:3])
quick = "quick" in sys.argv[3:]
CODE_MEMORY = 5
ALWAYS = 1 << 60
FIT = ["fit", "t.csv", "--target", "y", "--max-iter", "2", "--model", "out.ctgp"]
LOO = ["--objective", "loo", "--optimizer", "adam", "--restarts", "1", "--kernel", "rbf"]
ONE = ["--kernel", "scale(2) * rbf(ard) + linear", "--features", "a,b", "--drop", "a"]
COMMANDS = {
    "fit": FIT,
    "fit of one kernel": FIT + ONE,
    "fit without noise": FIT + ["--noise", "none", "--mean", "linear"],
    "fit with given noise": FIT + ["--noise-column", "a", "--kernel", "scale * rbf"],
    "fit with a noise for each level": FIT + ["--noise-by", "c", "--kernel", "scale * rbf"],
    "fit of a trend": FIT + ["--mean", "1 + a + a*b", "--kernel", "scale * rbf"],
    "fit in mixed precision": FIT + ["--precision", "mixed", "--kernel", "scale * rbf"],
    "fit by leave-one-out": FIT + LOO,
    "fit with a checkpoint": FIT + ["--checkpoint", "out.log", "--kernel", "scale * rbf"],
    "fit of a choice with a checkpoint": FIT + ["--checkpoint", "out.log"],
    "fit without a factor": FIT + ["--no-factor", "--kernel", "scale * rbf"],
    "fit --json in f32": FIT + ["--dtype", "f32", "--kernel", "scale * rbf", "--json"],
    "fit within bounds": [*FIT, "--kernel", "rbf", "--lower", "noise.*=0.1", "--upper", "rbf.lengthscale=3"],
    "fit with a test": [*FIT, "--kernel", "rbf", "--test-fraction", "0.3", "--max-rows", "6"],
    "fit of noise with a test": [*FIT, "--kernel", "rbf", "--noise-column", "a", "--test-last", "0.3"],
    "fit of each of two": [*FIT[:3], "y,b", *FIT[4:], "--kernel", "rbf"],
    "fit of shared outputs": [*FIT[:3], "y,b", *FIT[4:], "--outputs", "shared"],
    "fit of joint outputs": [*FIT[:3], "y,b", *FIT[4:], "--outputs", "joint", "--kernel", "rbf"],
    "predict": ["predict", "m.ctgp", "t.csv", "--out", "out.csv"],
    "predict of joint outputs": ["predict", "joint.ctgp", "t.csv", "--out", "out.csv"],
    "predict of shared outputs": ["predict", "shared.ctgp", "t.csv", "--json"],
    "info of joint outputs": ["info", "joint.ctgp"],
    "loo of joint outputs": ["loo", "joint.ctgp"],
    "append to joint outputs": ["append", "joint.ctgp", "t.csv", "--model", "out.ctgp"],
    "predict to standard output": ["predict", "m.ctgp", "t.csv", "--json"],
    "predict --keep": ["predict", "m.ctgp", "t.csv", "--keep", "y,a", "--out", "out.csv"],
    "predict with given noise": ["predict", "noise.ctgp", "t.csv", "--out", "out.csv"],
    "loo": ["loo", "m.ctgp", "--out", "out.csv"],
    "loo by groups": ["loo", "m.ctgp", "t.csv", "--by", "a", "--out", "out.csv"],
    "loo in folds": ["loo", "m.ctgp", "--folds", "3"],
    "compare": ["compare", "m.ctgp", "line.ctgp"],
    "compare on a table": ["compare", "m.ctgp", "line.ctgp", "t.csv", "--json"],
    "sample": ["sample", "m.ctgp", "t.csv", "--samples", "3", "--out", "out.csv"],
    "sample with given noise": ["sample", "noise.ctgp", "t.csv", "--noisy", "--out", "out.csv"],
    "forecast": ["forecast", "line.ctgp", "--steps", "3", "--origins", "2", "--out", "out.csv"],
    "append": ["append", "m.ctgp", "t.csv", "--model", "out.ctgp"],
    "append in place": ["append", "out.ctgp", "t.csv", "--model", "out.ctgp"],
    "info": ["info", "m.ctgp"],
    "info --sensitivity": ["info", "m.ctgp", "--sensitivity"],
    "info --json": ["info", "m.ctgp", "--json"],
    "plot": ["plot", "line.ctgp", "t.csv", "--out", "out.svg"],
    "plot of several inputs": ["plot", "m.ctgp", "t.csv", "--out", "out.svg", "--panels", "2"],
    "plot of a map": ["plot", "m.ctgp", "t.csv", "--out", "out.svg"],
    "grid": ["grid", "m.ctgp", "t.csv", "--points", "3", "--out", "out.csv"],
}
MODELS = {
    "m.ctgp": ["--features", "a,b"],
    "line.ctgp": ["--features", "a"],
    "noise.ctgp": ["--features", "b", "--noise-column", "a"],
    "shared.ctgp": ["--outputs", "shared", "--kernel", "scale * rbf"],
    "joint.ctgp": ["--outputs", "joint", "--kernel", "rbf"],
}
WHOLE = ["fit of one kernel", "predict", "append in place", "info --json"]  # with quick, too
told = {}  # what `info` says of a model of these bytes


def plain(arguments, **environment):
    environment = dict(os.environ, OMP_NUM_THREADS="1", **environment)
    command = [ctgp, *arguments]
    return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def run(name, first=0, last=0):
    failing = {"FAIL_ALLOC_FROM": str(first), "FAIL_ALLOC_TO": str(last), "FAIL_ALLOC_COUNT": "count"}
    if quick and name not in WHOLE:
        failing["FAIL_ALLOC_PROGRAM"] = "1"
    return plain(COMMANDS[name], LD_PRELOAD=preload, **failing)


def without_seconds(text):
    return re.sub(r'(seconds[":= ]+|evaluations, )[0-9.e+-]+', r"\1", text)


def outputs():
    """What is in the folder beside what was put there, by name; of a model what `info` says. A checkpoint may
    grow in any case."""
    found = {}
    for name in sorted(set(os.listdir()) - {"t.csv", *MODELS, "count", "out.log"}):
        found[name] = open(name, "rb").read()
        if name.endswith(".ctgp"):
            if found[name] not in told:
                info = plain(["info", name, "--json"])
                told[found[name]] = info.stderr if info.returncode else without_seconds(info.stdout)
            found[name] = told[found[name]]
    return found


def before(name):
    """The folder as the command finds it: an old file where it will write."""
    for stale in [*outputs(), *({"out.log"} & set(os.listdir()))]:
        os.unlink(stale)
    if name.startswith("append") or name.startswith("fit"):
        shutil.copy("line.ctgp" if name.startswith("fit") else "m.ctgp", "out.ctgp")
    return outputs()


def fault(name, result, old, whole):
    """What is wrong with a run in which allocations failed; None."""
    lines = result.stderr.splitlines()
    after = outputs()
    if result.returncode == 0:
        if without_seconds(result.stdout) != without_seconds(whole["stdout"]):
            return "exit code 0, and another answer"
        return None if after == whole["files"] else "exit code 0, and other files: " + ", ".join(after)
    if result.returncode != CODE_MEMORY:
        return f"exit code {result.returncode}"
    kept = bool(lines) and lines[-1] == "ctgp: the model is kept in out.ctgp"
    if kept != (after == whole["files"] != old and "out.ctgp" in after):
        return "exit code 5; the model is " + ("not there" if kept else "there, and nothing says so")
    if kept:
        lines.pop()
    if not lines or not re.match("ctgp: .*memory", lines[-1]):
        return "no message"
    if len(lines) > 1 and not name.startswith("fit"):
        return f"{len(lines)} lines on standard error"
    return None if after in (old, whole["files"]) else f"exit code 5; neither old nor new: {[*after]}"


def sweep(name):
    """Every request of a command; the faults by their messages."""
    before(name)
    result = run(name)
    whole = {"stdout": result.stdout, "files": outputs()}
    if result.returncode:
        return [f"without a failure: exit code {result.returncode}: {result.stderr}"]
    count, faults = int(open("count").read()), []
    for k in range(1, count + 1):
        for last in (k,) if quick else (k, ALWAYS):
            old = before(name)
            result = run(name, k, last)
            wrong = fault(name, result, old, whole)
            if wrong:
                which = f"request {k} of {count}" + (" and all after" if last > k else "")
                faults.append(f"{which}: {wrong}: {result.stderr[-300:]}")
    return faults


def ends(what, **how):
    """A command with two threads ends with the code of memory and one line of ctgp's own; clang's libomp
    aborts with a line of its own."""
    environment = dict(os.environ, OMP_NUM_THREADS="2", **how.pop("environment", {}))
    result = subprocess.run([ctgp, *FIT, "--kernel", "rbf", "--quiet"], env=environment, timeout=60,
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, **how)
    told = [line for line in result.stderr.splitlines() if line.startswith("ctgp: ")]
    well = result.returncode == CODE_MEMORY and len(told) == 1
    aborted = result.returncode == -signal.SIGABRT and "OMP: Error #34" in result.stderr
    print("ok" if well or aborted else "not ok", "-", what, flush=True)
    print("#", result.returncode, *told)


def few_addresses():
    resource.setrlimit(resource.RLIMIT_AS, (250 << 20, 250 << 20))


def main():
    with open("t.csv", "w") as table:
        table.write("a,b,c,y\n")
        for i in range(12):
            a, b = 0.37 * i, math.cos(5.0 * i)
            table.write(f"{a:.6f},{b:.6f},{i % 3},{math.sin(2 * a) + b * b + 0.1 * math.cos(17.0 * i):.6f}\n")
    for model, options in MODELS.items():
        target = "y,b" if "--outputs" in options else "y"
        made = plain([*FIT[:3], target, *FIT[4:-1], model, *options])
        if made.returncode:
            sys.exit(made.stderr)
    names = list(COMMANDS)
    if not shutil.which("gnuplot"):
        names = [name for name in names if not name.startswith("plot")]
    print(f"1..{len(names) + 2}")
    ends("OpenMP gets no thread", environment={"LD_PRELOAD": preload, "FAIL_THREADS": "1"})
    ends("OpenBLAS gets no addresses", preexec_fn=few_addresses)
    for name in names:
        faults = sweep(name)
        print("not ok" if faults else "ok", "-", name, flush=True)
        for text in faults[:10]:
            print("#", text.strip().replace("\n", "\n# "))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir("/")
