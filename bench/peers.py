"""Shared by the Python sides of the benchmarks: options, finding peers, timing, and the table for people.

Options, anywhere among the arguments: those of bench.h, which are passed on to our program, and
--peer-device, the peers' device if it is not --device. On a GPU both sides compute f32 in f32 (TF32 is off),
the clock stops when the GPU has finished, and short calls are made many times in a row.

A line is `bench=NAME case=TEXT who=... key=value ...` (bench.h), printed as soon as it is measured. Of lines
that differ only in their figures the best counts, so rounds of several contenders can be interleaved. A step
of more than LONG seconds is called only once, and a contender that prints no line for LIMIT seconds is ended
and left out.
"""
import collections
import contextlib
import gc
import importlib
import math
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONG, LIMIT = 10, 120
ON_GPU = 0.3  # seconds of each measurement there, where calls are short
FIGURES = ("seconds", "per_gemm", "per_trsm", "extra_bytes", "ns_per_op", "peak_bytes", "bytes_per_8n2",
           "value")


OWN = ("peer-device", "seconds", "splits", "rows", "restarts", "seeds")  # options of these sides alone


class Options:
    """device: None unless given; batch, n, d, seeds, restarts: None or a number; seconds: 0 unless given;
    peer: the peers' device; words: the other arguments."""
    def __init__(self, words):
        self.given, self.words, self.once = [], [], False
        values = dict.fromkeys(("device", "dtype", "n", "d", "batch") + OWN)
        words = iter(words)
        for word in words:
            if not word.startswith("--"):
                self.words.append(word)
            elif word == "--once":
                self.once = True
                self.given.append(word)
            elif word[2:] in values:
                values[word[2:]] = value = next(words, None)
                if value is None:
                    sys.exit(f"{word} needs a value")
                self.given += [word, value] if word[2:] not in OWN else []
            else:
                known = " ".join("--" + name for name in values)
                sys.exit(f"there is no option {word}; there are: {known} --once")
        self.device, self.dtype = values["device"], values["dtype"]
        self.seconds = float(values["seconds"] or 0)
        self.n, self.d, self.batch, self.seeds, self.restarts = (
            int(values[k]) if values[k] else None for k in ("n", "d", "batch", "seeds", "restarts"))
        self.peer = values["peer-device"] or self.device or "cpu"

    @property
    def gpu(self):
        return self.peer.startswith("cuda")


options = Options(sys.argv[1:])


def chosen(allowed):
    """The words among the arguments; all must be in `allowed`."""
    for word in options.words:
        if word not in allowed:
            sys.exit(f"there is no {word}; there are: {' '.join(allowed)}")
    return options.words


loaded = {}  # torch, once it is


def prepared(name):
    """The module, set up for the peers' device."""
    if name == "jax":  # takes memory as it needs it
        os.environ |= {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"} | (
            {} if options.gpu else {"JAX_PLATFORMS": "cpu"})
    module = importlib.import_module(name)
    if name == "jax":
        module.config.update("jax_enable_x64", True)
        module.config.update("jax_default_matmul_precision", "highest")
    if options.gpu and not {"torch": lambda: module.cuda.is_available(),
                            "jax": lambda: module.default_backend() == "gpu"}.get(name, lambda: True)():
        raise RuntimeError("it finds no GPU")
    if name == "torch":
        loaded[name] = module
        if options.device:
            module.set_default_device(options.peer)
            module.backends.cuda.matmul.allow_tf32 = module.backends.cudnn.allow_tf32 = False
    return module


def load(name):
    """The module, or None with a remark if it is not installed, does not load or finds no GPU; torch with the
    peers' device as its default."""
    warnings.filterwarnings("ignore")
    try:
        return prepared(name)
    except ModuleNotFoundError:
        why = f"{name} is not installed: ./run bench peers"
    except Exception as error:  # whatever a broken installation raises
        why = f"{name} is left out: {first_line(error)}"
    if not journal.done:
        print(f"# {why}", flush=True)
    return None


def first_line(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def program(name):
    """The path of our own program, built by ./run bench."""
    return str(ROOT / os.environ.get("CT_BUILD", "build") / "bench" / name)


def parse(line):
    """{'bench': ..., 'case': ...}; {} for any other line."""
    fields = dict(f.split("=", 1) for f in line.split() if "=" in f)
    return fields if "bench" in fields else {}


def wait():
    """Waits until torch's GPU has finished."""
    if options.gpu and loaded:
        loaded["torch"].cuda.synchronize()


@contextlib.contextmanager
def no_default_device():
    """Unsets torch's default device, which costs every call a detour through Python."""
    torch = loaded.get("torch") if options.device else None
    if torch:
        torch.set_default_device(None)
    try:
        yield
    finally:
        if torch:
            torch.set_default_device(options.peer)


def fastest(run, rounds, calls=1):
    """Seconds of a call: the least of several rounds of `calls` calls in a row. `run` must name the device of
    every tensor that it makes."""
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


def best(run, rounds=30, seconds=math.inf):
    """Seconds of the fastest of `rounds` calls, or of as many as fit into `seconds`, at least one. A first
    call is not counted unless it is LONG. On a GPU one measurement is many calls in a row, so that it is long
    beside a wait, as in bench.c."""
    first, calls = fastest(run, 1), 1
    if first > LONG:
        return first
    while options.gpu and calls < 100 and calls * first < 0.01:
        calls *= 2
    seconds = min(seconds, ON_GPU) if options.gpu else seconds
    if seconds < math.inf:
        rounds = max(1, min(rounds, int(seconds / (first * calls))))
    return fastest(run, rounds, calls)


def as_graph(torch, step):
    """step(), recorded as a CUDA graph: each call replays it, and gives the tensors of the recording."""
    with no_default_device():
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = step()

    def replay():
        graph.replay()
        return result

    return replay


def compiled(torch, function):
    """By torch.compile, for the shapes of its first call. Forgets earlier ones, as their number is limited.
    """
    torch.compiler.reset()
    return torch.compile(function, dynamic=False)


def peak_bytes(torch, step):
    """The most that a call holds at a time of what it allocates: on a GPU by torch's allocator, on a CPU by
    its profiler."""
    if options.gpu:
        wait()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        step()
        return torch.cuda.max_memory_allocated() - before
    with silent(), torch.profiler.profile(profile_memory=True) as profile:
        step()
    held = most = 0
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    for event in sorted(events, key=lambda e: e.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most


@contextlib.contextmanager
def silent():
    """Suppresses the output of C code: if torch's pivots are wrong, its BLAS prints thousands of lines."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept, null = (os.dup(1), os.dup(2)), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    try:
        yield
    finally:
        for stream, copy in enumerate(kept, 1):
            os.dup2(copy, stream)
            os.close(copy)
        os.close(null)


# -- one contender after the other ---------------------------------------------------------------------------

class Journal:
    """done: the result of each call of ours() and of contend(), by its words and how often they occurred
    before. left_out: what contend() returns instead of calling again."""
    def __init__(self):
        self.done, self.left_out, self.calls, self.pipe = {}, {}, collections.Counter(), None

    def key(self, words):
        self.calls[words] += 1
        return words, self.calls[words]

    def tell(self, kind, key, value=None):
        self.pipe.send((kind, key, value))
        if kind == "done":
            self.done[key] = value

    def listen(self, told):
        """Keeps the lines of another process until it ends or is late: (what was running, its lines, whether
        it is late)."""
        running, lines = None, []
        # Time in which the machine slept does not count.
        while any(told.poll(1 if running else None) for _ in range(LIMIT)):
            try:
                kind, key, value = told.recv()
            except EOFError:
                return running, lines, False
            if kind == "begin":
                running, lines = key, []
            elif kind == "line":
                lines.append(value)
            else:
                running, self.done[key] = None, value
        return running, lines, True


journal = Journal()


def run(main):
    """Runs main() in a child process, which is ended if a contender takes too long. Another process
    then runs main() again with the measurements made so far. Only Python's own library is loaded here, as
    torch's threads and a GPU's context do not survive a fork."""
    while True:
        told, journal.pipe = multiprocessing.Pipe(duplex=False)
        child = os.fork()
        if not child:
            told.close()
            sys.exit(main())
        journal.pipe.close()
        running, lines, late = journal.listen(told)
        if late:
            os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if not running or status >= 0:
            sys.exit(status)
        journal.done[running] = lines, False
        why = f"no line for {LIMIT} s" if late else f"ended by signal {-status}"
        print(f"# {', '.join(running[0])}: {why}, left out", flush=True)


def product(case):
    """Seconds of the case's fastest matrix product (who=gemm) up to now; None if there is none."""
    return min((float(line["seconds"]) for lines, _ in journal.done.values() for line in lines or ()
                if line["who"] == "gemm" and line["case"] == case), default=None)


def per_gemm(lines):
    """Recomputes every line's per_gemm with the fastest product of the run."""
    for line in lines:
        if product(line["case"]):
            line["per_gemm"] = f"{float(line['seconds']) / product(line['case']):.3f}"
    return lines


def show(line):
    """Prints a line, and adds device and per_gemm if they are missing."""
    if "per_gemm" not in line:
        per_gemm([line])
    if options.device:
        line.setdefault("device", options.peer)
    print(" ".join(f"{k}={v}" for k, v in line.items()), flush=True)


def ours(name, *words, one_thread=False):
    """(lines, the other lines) of our program with these arguments and the options; the first of the other
    lines describes the machine. On one thread its name gets -1thread."""
    key = journal.key((name, *words, *["1thread"] * one_thread))
    if key not in journal.done:
        command, lines, others = [program(name), *words, *options.given], [], []
        env = os.environ | {"OMP_NUM_THREADS": "1"} if one_thread else None
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=env) as process:
            for text in process.stdout:
                line = parse(text)
                (lines if line else others).append(line or text.rstrip())
                if line:
                    line["who"] += "-1thread" * one_thread
                    show(line)
            wrong = process.stderr.read().strip()
        if process.returncode:
            sys.exit(f"{name} {' '.join(words)}: {wrong or process.returncode}")
        journal.tell("done", key, (lines, others))
    return journal.done[key]


def contend(who, what, measure):
    """The lines that measure() yields; None, after a message, if it raises because an answer is wrong or
    missing. A contender that raised, had a LONG step or was ended is not called again."""
    words = who, what
    if words in journal.left_out:
        return journal.left_out[words]
    key = journal.key(words)
    if key not in journal.done:
        journal.tell("begin", key)
        lines, again = [], True
        try:
            for line in measure():
                show(line)
                lines.append(line)
                journal.tell("line", key, line)
                again = again and float(line.get("seconds", 0)) <= LONG
        except Exception as error:  # a contender that fails leaves a remark
            print(f"# {who}, {what}: {first_line(error)}", flush=True)
            lines, again = lines or None, False
        if options.gpu and loaded:  # memory for the next one
            gc.collect()
            loaded["torch"].cuda.empty_cache()
        journal.tell("done", key, (lines, again))
    lines, again = journal.done[key]
    if not again:
        journal.left_out[words] = None if lines is None else []
    return lines


def contend_on_threads(torch, who, what, measure, both=False):
    """contend() of measure(name) on all of torch's threads; if that raises, or if `both` are wanted, on one
    thread, as WHO-1thread. With `both`, a contender that fails on all threads is not tried on them again."""
    threads, lines = torch.get_num_threads(), []
    for used, name, where in ((threads, who, "all threads" if both else what), (1, f"{who}-1thread", what)):
        torch.set_num_threads(used)
        found = contend(name, where, lambda name=name: measure(name))
        torch.set_num_threads(threads)
        lines += found or []
        if found is not None and not both:
            break
    return lines


def contend_on_both(torch, who, what, measure):
    """contend_on_threads(), on all and on one."""
    return contend_on_threads(torch, who, what, measure, both=True)


def checked_lines(torch, name, case, dtype, n, batch, ways, forward, training, error, tolerance,
                  contend_how=contend_on_threads):
    """Lines of every way to a batch of n x n matrices, per product of that size: forward(way) and
    training(way), whose error(way) is below the tolerance before and after."""
    def check(way):
        wrong = error(way)
        if not wrong < tolerance:
            raise ValueError(f"a relative error of {wrong:.1e}")

    def measure(who, way):
        with silent():
            check(way)
            X = torch.randn(n, n, dtype=torch.float64 if dtype == "f64" else torch.float32)
            gemm = best(lambda: X @ X, 20)
            with torch.no_grad():
                seconds = [best(lambda: forward(way), 2)]
            seconds.append(best(lambda: training(way), 2))
            check(way)
            peaks = [{"peak_bytes": str(peak_bytes(torch, lambda: step(way)))}
                     if options.gpu and who.startswith("torch") else {} for step in (forward, training)]
        for which, s, peak in zip(("forward", "training"), seconds, peaks):
            yield {"bench": name, "case": case, "who": who, "n": str(n), "batch": str(batch), "dtype": dtype,
                   "pass": which, "seconds": f"{s:.6g}", "per_gemm": f"{s / batch / gemm:.3f}", **peak}

    return [line for who, way in ways.items()
            for line in contend_how(torch, who, f"{case} {dtype}", lambda who: measure(who, way))]


# -- the table -----------------------------------------------------------------------------------------------

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


def table(lines, value, columns, comment=""):
    """Prints a row for each `columns`, a column for each contender, its best line counting."""
    lines = merge(lines, value)
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
