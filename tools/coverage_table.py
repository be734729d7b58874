#!/usr/bin/env python3
"""coverage_table.py BUILD: the lines and branches of src that the tests of BUILD reached, a row for each
folder. Writes BUILD/coverage.csv, with a row for each file, and BUILD/missed.txt, with the lines that no test
reached.

A line or branch counts once for all copies: a file of kernels is compiled for each type and instruction set.
"""
import collections
import csv
import json
import os
import subprocess
import sys

build = os.path.realpath(sys.argv[1])
root = os.getcwd()
lines = collections.defaultdict(collections.Counter)  # file: {line: count}
branches = collections.defaultdict(collections.Counter)  # file: {(line, branch): count}


def add(document):
    where = document["current_working_directory"]
    for file in document["files"]:
        name = os.path.relpath(os.path.realpath(os.path.join(where, file["file"])), root)
        if not name.startswith("src/") or name.startswith("src/tensor/cuda/"):
            continue
        for line in file["lines"]:
            at = line["line_number"]
            lines[name][at] += line["count"]
            for i, branch in enumerate(line["branches"]):
                branches[name][at, i] += branch["count"]


def counted(paths):
    """gcov's documents for these files, one in each line of its output."""
    out = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout", *paths], cwd=build,
                         check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return map(json.loads, out.splitlines())


found = [os.path.join(folder, f) for folder, _, files in os.walk(build) for f in files if f.endswith(".gcda")]
for i in range(0, len(found), 50):
    for document in counted(found[i:i + 50]):
        add(document)

total = collections.defaultdict(lambda: [0, 0, 0, 0])
with open(f"{build}/coverage.csv", "w", newline="") as table, open(f"{build}/missed.txt", "w") as missed:
    rows = csv.writer(table)
    rows.writerow(["file", "lines", "reached", "branches", "taken"])
    for name in sorted(lines):
        row = [len(lines[name]), sum(map(bool, lines[name].values())),
               len(branches[name]), sum(map(bool, branches[name].values()))]
        rows.writerow([name, *row])
        missed.writelines(f"{name}:{at}\n" for at in sorted(lines[name]) if not lines[name][at])
        for key in os.path.dirname(name), "all":
            total[key] = [a + b for a, b in zip(total[key], row)]


def percent(part, whole):
    return f"{100 * part / whole:7.1f}" if whole else f"{'-':>7}"


print(f"{'folder':<26} {'lines':>7} {'%':>7} {'branches':>9} {'%':>7}")
for key in sorted(total, key=lambda k: (k == "all", k)):
    n, reached, b, taken = total[key]
    print(f"{key:<26} {n:>7} {percent(reached, n)} {b:>9} {percent(taken, b)}")
