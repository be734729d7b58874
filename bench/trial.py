"""ctgp on tables as they come, beside the best of the peers: `./run bench trial DIR [NAME...] [OPTION...]`.

DIR has NAME.train.csv and NAME.test.csv, and peers.csv with a line for each NAME: the table it is a split of,
its target and separator, and the lowest RMSE and NLPD of the peers. ctgp learns each with its defaults, or
with the words of `--fit "WORDS"`, and predicts the test rows. With `--splits N` each table is joined and
split N times at random instead, a quarter of the rows to be predicted; with `--rows N` N of the others are
learned. `--most N` leaves out tables of more rows. rmse is over the best peer's, nlpd less the best peer's;
in splits they are in deviations of the target. coverage95 is the share of test rows in the intervals of 95 %.
Of splits each figure is the mean, and worst the highest nlpd.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import random
import shlex
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = os.environ.get("CTGP", str(ROOT / os.environ.get("CT_BUILD", "build") / "src/ctgp/ctgp"))


def run(words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout)


def score(train, test, target, words):
    """What ctgp says of a fit and of its predictions."""
    with tempfile.TemporaryDirectory() as folder:
        model, out = f"{folder}/model", f"{folder}/out"
        fit = run([TOOL, "fit", train, "--target", target, "--model", model, "--json", *words])
        said = run([TOOL, "predict", model, test, "--out", out, "--json"])
    return {**{k: said[k] for k in ("rmse", "nlpd", "coverage95", "rows")},
            **{k: fit[k] for k in ("objective", "kernel", "seconds", "starts")},
            "parameters": len(fit["parameters"])}


def splits(rows, count, learned, seed):
    """Pairs of lists: the rows to learn and those to predict."""
    for k in range(count):
        shuffled = rows[:]
        random.Random(f"{seed} {k}").shuffle(shuffled)
        held = max(len(rows) // 4, 1)
        yield shuffled[held:][:learned or None], shuffled[:held]


def joined(folder, name, separator):
    head, rows = None, []
    for part in ("train", "test"):
        with open(folder / f"{name}.{part}.csv", newline="", encoding="utf-8") as f:
            lines = list(csv.reader(f, delimiter=separator))
        head, rows = lines[0], rows + lines[1:]
    return head, rows


def write(path, head, rows, separator):
    with open(path, "w", newline="", encoding="utf-8") as f:
        csv.writer(f, delimiter=separator).writerows([head, *rows])


def over_splits(args, of):
    """Means over the splits of a table, in deviations of its target."""
    head, rows = joined(args.dir, of["table"], of["separator"])
    y = [float(r[head.index(of["target"])].replace(",", ".")) for r in rows
         if r[head.index(of["target"])] not in ("", "NA")]
    unit, found = statistics.stdev(y), []
    with tempfile.TemporaryDirectory() as folder:
        train, test = f"{folder}/train.csv", f"{folder}/test.csv"
        for learn, held in splits(rows, args.splits, args.rows, of["table"]):
            write(train, head, learn, of["separator"])
            write(test, head, held, of["separator"])
            try:
                found.append(score(train, test, of["target"], args.words))
            except (RuntimeError, KeyError) as why:
                print(f"# {of['table']}: {why}", flush=True)
    if not found:
        return None
    mean = {k: statistics.mean(r[k] for r in found) for k in found[0] if k != "kernel"}
    mean["rmse"] /= unit
    mean["nlpd"] -= math.log(unit)
    mean["worst"] = max(r["nlpd"] for r in found) - math.log(unit)
    return mean


def against_peers(args, of):
    paths = [str(args.dir / f"{of['table']}.{part}.csv") for part in ("train", "test")]
    r = score(*paths, of["target"], args.words)
    r["rmse"] /= float(of["best_rmse"])
    r["nlpd"] -= float(of["best_nlpd"])
    return r


def main():
    parser = argparse.ArgumentParser(prog="./run bench trial", description="ctgp on tables as they come")
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="all tables unless given")
    parser.add_argument("--fit", default="", help="options of ctgp fit")
    parser.add_argument("--splits", type=int, default=0, help="random splits of each table")
    parser.add_argument("--rows", type=int, default=0, help="rows to learn in each split")
    parser.add_argument("--most", type=int, default=0, help="leave out tables of more rows")
    args = parser.parse_intermixed_args()
    args.words, results = shlex.split(args.fit), []
    with open(args.dir / "peers.csv", newline="", encoding="utf-8") as f:
        tables = [r for r in csv.DictReader(f) if not args.names or r["table"] in args.names]
    for of in tables:
        if (args.splits and of["table"] != of["data"]) or (args.most and int(of["n"]) > args.most):
            continue
        try:
            r = over_splits(args, of) if args.splits else against_peers(args, of)
        except (RuntimeError, KeyError) as why:
            print(f"# {of['table']}: {why}", flush=True)
            continue
        if r:
            results.append(r)
            figures = " ".join(f'{k}="{v}"' if isinstance(v, str) else f"{k}={v:.4g}" for k, v in r.items())
            print(f"bench=trial case={of['table']} who=ctgp n={args.rows or of['n']} {figures}", flush=True)
    if not results:
        sys.exit("trial: no table")
    middle = {k: statistics.median(r[k] for r in results) for k in ("rmse", "nlpd")}
    mean = {k: statistics.mean(r[k] for r in results) for k in ("rmse", "nlpd", "coverage95")}
    lowest, seconds = min(r["coverage95"] for r in results), sum(r["seconds"] for r in results)
    print(f"\n{len(results)} tables: rmse {mean['rmse']:.4f} in the mean, {middle['rmse']:.4f} in the "
          f"median; nlpd {mean['nlpd']:.4f}, {middle['nlpd']:.4f}; coverage {mean['coverage95']:.3f}, "
          f"lowest {lowest:.3f}; {seconds:.1f} s")


if __name__ == "__main__":
    main()
