"""ctgp on few rows of functions without noise: `./run bench exact [DRAWS [NOISE]]`.

Draws rows of eight functions of computer experiments, DRAWS times (8), learns them with ctgp's defaults and
predicts 400 others. NOISE (0) is added, in deviations of the function. rmse and nlpd are in deviations too.
"""
import csv
import math
import random
import statistics
import sys
import tempfile
from math import cos, exp, log, pi, sin, sqrt

from trial import score


def branin(u, v):
    x, y = 15 * u - 5, 15 * v
    return (y - 5.1 / (4 * pi**2) * x**2 + 5 / pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * pi)) * cos(x) + 10


def friedman(a, b, c, d, e):
    return 10 * sin(pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e


def borehole(rw, r, tu, hu, tl, hl, length, kw):
    rw, r, tu, hu = 0.05 + 0.1 * rw, 100 + 49900 * r, 63070 + 52530 * tu, 990 + 120 * hu
    tl, hl, length, kw = 63.1 + 52.9 * tl, 700 + 120 * hl, 1120 + 560 * length, 9855 + 2190 * kw
    ratio = log(r / rw)
    return 2 * pi * tu * (hu - hl) / (ratio * (1 + 2 * length * tu / (ratio * rw**2 * kw) + tu / tl))


def otl(a, b, f, c, d, beta):
    """The voltage of a push-pull circuit without an output transformer."""
    a, b, f = 50 + 100 * a, 25 + 45 * b, 0.5 + 2.5 * f
    c, d, beta = 1.2 + 1.3 * c, 0.25 + 0.95 * d, 50 + 250 * beta
    middle, load = 12 * b / (a + b), beta * (d + 9)
    return (middle + 0.74) * load / (load + f) + 11.35 * f / (load + f) + 0.74 * f * load / ((load + f) * c)


def piston(m, s, v, k, p, ambient, t):
    m, s, v, k = 30 + 30 * m, 0.005 + 0.015 * s, 0.002 + 0.008 * v, 1000 + 4000 * k
    p, ambient, t = 90000 + 20000 * p, 290 + 6 * ambient, 340 + 20 * t
    a = p * s + 19.62 * m - k * v / s
    volume = s / (2 * k) * (sqrt(a * a + 4 * k * p * v / t * ambient) - a)
    return 2 * pi * sqrt(m / (k + s * s * p * v / t * ambient / volume**2))


def forrester(x):
    return (6 * x - 2) ** 2 * sin(12 * x - 4)


def camel(u, v):
    x, y = 6 * u - 3, 4 * v - 2
    return (4 - 2.1 * x * x + x**4 / 3) * x * x + x * y + (4 * y * y - 4) * y * y


def hartmann(*u):
    rows = [(1, (3, 10, 30), (0.3689, 0.1170, 0.2673)), (1.2, (0.1, 10, 35), (0.4699, 0.4387, 0.7470)),
            (3, (3, 10, 30), (0.1091, 0.8732, 0.5547)), (3.2, (0.1, 10, 35), (0.0381, 0.5743, 0.8828))]
    return -sum(c * exp(-sum(a * (x - p) ** 2 for a, x, p in zip(A, u, P))) for c, A, P in rows)


# The function, its columns, and the numbers of rows.
CASES = [(borehole, 8, (15, 25, 40, 55)), (branin, 2, (15, 25, 45)), (friedman, 5, (25, 45)),
         (otl, 6, (15, 25, 45)), (piston, 7, (25, 45)), (forrester, 1, (8, 12)), (camel, 2, (25, 45)),
         (hartmann, 3, (25, 45))]


def table(path, f, d, rows, noise, draw):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow([*(f"x{j}" for j in range(d)), "y"])
        for _ in range(rows):
            u = [draw.random() for _ in range(d)]
            out.writerow([*u, f(*u) + noise * draw.gauss(0, 1)])


def main():
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    noise = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    all_cases = []
    for f, d, sizes in CASES:
        draw = random.Random(0)
        unit = statistics.stdev(f(*(draw.random() for _ in range(d))) for _ in range(20000))
        for n in sizes:
            found = []
            for k in range(draws):
                with tempfile.TemporaryDirectory() as folder:
                    train, test = f"{folder}/train.csv", f"{folder}/test.csv"
                    draw = random.Random(f"{f.__name__} {n} {k}")
                    table(train, f, d, n, noise * unit, draw)
                    table(test, f, d, 400, noise * unit, draw)
                    found.append(score(train, test, "y", []))
            r = {key: statistics.mean(s[key] for s in found) for key in ("rmse", "nlpd", "coverage95")}
            all_cases.append((r["rmse"] / unit, r["nlpd"] - math.log(unit), r["coverage95"]))
            print(f"bench=exact case={f.__name__} who=ctgp n={n} noise={noise:g} "
                  f"rmse={all_cases[-1][0]:.4g} nlpd={all_cases[-1][1]:.4g} "
                  f"coverage95={r['coverage95']:.4g}", flush=True)
    rmse, nlpd, coverage = zip(*all_cases)
    print(f"\n{len(all_cases)} cases: rmse {exp(statistics.mean(map(log, rmse))):.4f} in the geometric mean, "
          f"nlpd {statistics.mean(nlpd):.4f}; coverage {statistics.mean(coverage):.3f}, "
          f"lowest {min(coverage):.3f}")


if __name__ == "__main__":
    main()
