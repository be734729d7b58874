"""What the benchmarks' Python sides share: options, finding peers, timing, and the table for people.

Options, anywhere among the arguments: those of bench.h, which go to our program as they are, and --peer-device, torch's where that
is not --device. On a GPU both sides compute f32 in f32 (TF32 is off), a time ends when the GPU has done, and what is short is
called many times in a row.

A line is `bench=NAME case=TEXT who=... key=value ...` (bench.h); of lines that differ in their figures alone the
best is kept, so that rounds of several contenders can be interleaved.
"""
import contextlib
import importlib
import subprocess
import os
import pathlib
import sys
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIGURES = ("seconds", "per_gemm", "per_trsm", "extra_bytes", "ns_per_op", "peak_bytes", "bytes_per_8n2", "value")


DTYPES = ("f64", "f32", "bf16")
OWN = ("peer-device", "seconds", "splits", "rows", "restarts")  # options of these sides alone


class Options:
    """device: None unless asked for; batch, n, d: None or a number; seconds: 0 unless asked for; peer: torch's device; words: the
    other arguments."""
    def __init__(self, words):
        self.given, self.words, values = [], [], dict.fromkeys(("device", "dtype", "n", "d", "batch") + OWN)
        words = iter(words)
        for word in words:
            if not word.startswith("--"):
                self.words.append(word)
            elif word == "--once":
                self.given.append(word)
            elif word[2:] in values:
                values[word[2:]] = value = next(words, None)
                if value is None:
                    sys.exit(f"{word} needs a value")
                self.given += [word, value] if word[2:] not in OWN else []
            else:
                sys.exit(f"there is no option {word}; there are: {' '.join('--' + name for name in values)} --once")
        self.device, self.dtype = values["device"], values["dtype"]
        self.seconds = float(values["seconds"] or 0)
        self.n, self.d, self.batch = (int(values[k]) if values[k] else None for k in ("n", "d", "batch"))
        self.peer = values["peer-device"] or self.device or "cpu"

    @property
    def gpu(self):
        return self.peer.startswith("cuda")


options = Options(sys.argv[1:])


def load(name):
    """The module, or None with a remark where it is not installed; torch with the device as its default."""
    warnings.filterwarnings("ignore")
    try:
        module = importlib.import_module(name)
    except ImportError:
        print(f"# {name} is not installed: ./run bench peers")
        return None
    if name == "torch" and options.device:
        if options.gpu and not module.cuda.is_available():
            sys.exit(f"torch finds no GPU for {options.peer}: --peer-device cpu")
        module.set_default_device(options.peer)
        module.backends.cuda.matmul.allow_tf32 = module.backends.cudnn.allow_tf32 = False
    return module


def program(name):
    """The path of our own program, built by ./run bench."""
    return str(ROOT / os.environ.get("CT_BUILD", "build") / "bench" / name)


def ours(name, *words):
    """What our program says with these arguments and the options: its lines, and what it says of the machine. Where a device was
    asked for they go to stderr at once: a peer that takes too long must not lose them."""
    done = subprocess.run([program(name), *words, *options.given], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name} {' '.join(words)}: {done.stderr.strip() or done.returncode}")
    if options.device:
        print(done.stdout, end="", file=sys.stderr, flush=True)
    return [line for line in map(parse, done.stdout.splitlines()) if line], done.stdout.splitlines()[0]


def parse(line):
    """{'bench': ..., 'case': ...}; {} for any other line."""
    fields = dict(f.split("=", 1) for f in line.split() if "=" in f)
    return fields if "bench" in fields else {}


def wait():
    """Until torch's GPU has done."""
    if options.gpu:
        sys.modules["torch"].cuda.synchronize()


@contextlib.contextmanager
def no_default_device():
    """torch as others have it: a default device costs every call a detour through Python."""
    torch = sys.modules.get("torch") if options.device else None
    if torch:
        torch.set_default_device(None)
    try:
        yield
    finally:
        if torch:
            torch.set_default_device(options.peer)


def fastest(run, rounds, calls=1):
    """Seconds of a call: the least of several rounds of so many in a row. `run` makes no tensors without naming their device."""
    times = []
    with no_default_device():
        for _ in range(rounds):
            wait()
            start = time.perf_counter()
            for _ in range(calls):
                run()
            wait()
            times.append((time.perf_counter() - start) / calls)
    return min(times)


def calls_of(run):
    """How many in a row make a call long beside a wait, as in bench.c."""
    if not options.gpu:
        return 1
    once, calls = fastest(run, 1), 1
    while calls < 100 and calls * once < 0.01:
        calls *= 2
    return calls


def best(run, rounds=5):
    """Seconds of the fastest of several calls after one that is not timed."""
    run()
    return fastest(run, rounds, calls_of(run))


def best_within(run, seconds=0.5, rounds=30):
    """The same with as many calls as fit into so many seconds: one at least, `rounds` at most."""
    calls = calls_of(run)
    return fastest(run, max(1, min(rounds, int(seconds / fastest(run, 1, calls) / calls))), calls)


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
        if options.device:
            line.setdefault("device", options.peer)
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
