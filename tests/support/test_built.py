#!/usr/bin/env python3
"""test_built.py BUILD-DIR: what `./run demo` and `./run test quick` have to build. In TAP."""
import json
import pathlib
import re
import subprocess
import sys

BUILD = pathlib.Path(sys.argv[1])
# As in tests/meson.build.
NOT_QUICK = {"slow", "cudasim", "cuda", "mpi", "support"}
FOREIGN = re.compile(r" (?:src/tensor/cuda/\S+\.o|bench/\S+|tests/cudasim/\S+) |nvcc\.sh")


def introspect(what):
    return json.loads((BUILD / f"meson-info/intro-{what}.json").read_text())


def check(name, targets):
    said = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", *targets], capture_output=True, text=True)
    found = [line for line in said.stdout.splitlines() if FOREIGN.search(line + " ")]
    good = said.returncode == 0 and said.stdout and not found
    print("ok" if good else "not ok", "-", name)
    for line in [said.stderr.strip(), *found[:3]] * (not good):
        print("#", line[:200])


def main():
    files = {t["id"]: [str(pathlib.Path(f).relative_to(BUILD)) for f in t["filename"]]
             for t in introspect("targets")}
    quick = [t for t in introspect("tests") if not NOT_QUICK & {s.split(":")[-1] for s in t["suite"]}]
    needed = {f for t in quick for target in t["depends"] for f in files[target]}
    print("1..2")
    if "examples/demo" in sum(files.values(), []):
        check("the demo: neither CUDA nor a test nor a benchmark", ["examples/demo"])
    else:
        print("ok - the demo # SKIP the option examples is off")
    check("the quick tests: neither CUDA, simulated or not, nor a benchmark", sorted(needed))


main()
