#!/usr/bin/env python3
"""Writes season_tables.h: periodograms of unevenly spaced series, by astropy and by dense least squares.

    python make_season_tables.py > season_tables.h          (needs numpy and astropy)

The power at a frequency is 1 - |y - fit|² / |y - trend|², where `fit` is the least squares of the trend and
a wave. With a constant trend that is astropy's Lomb-Scargle periodogram with a floating mean. With a cubic
one it comes from numpy.linalg.lstsq, once more with a second wave in the trend. Times are from 0 to 1.
"""
import sys

import astropy
import numpy as np
from astropy.timeseries import LombScargle
from fold import fold

POINTS, FREQUENCIES, FIRST, STEP, KNOWN = 40, 25, 1.0, 0.75, 4.2

rng = np.random.default_rng(3)
t = np.sort(np.round(rng.uniform(0, 1, POINTS), 4))
t[0], t[-1] = 0, 1
y = np.round(2 + 3 * t - 4 * t**2 + np.sin(2 * np.pi * 7.3 * t) + 0.5 * np.cos(2 * np.pi * KNOWN * t + 1)
             + 0.3 * rng.standard_normal(POINTS), 4)
f = FIRST + STEP * np.arange(FREQUENCIES)


def waves(frequency):
    return [np.cos(2 * np.pi * frequency * t), np.sin(2 * np.pi * frequency * t)]


def left(columns):
    A = np.stack(columns, 1)
    return np.square(y - A @ np.linalg.lstsq(A, y, rcond=None)[0]).sum()


def periodogram(trend):
    return [1 - left(trend + waves(g)) / left(trend) for g in f]


def listing(values):
    return ", ".join(repr(float(v)) for v in values)


def main():
    flat = [np.ones(POINTS)]
    cubic = [(t - 0.5)**k for k in range(4)]
    tables = [periodogram(flat), periodogram(cubic), periodogram(cubic + waves(KNOWN))]
    theirs = LombScargle(t, y, fit_mean=True).power(f, method="cython", normalization="standard")
    np.testing.assert_allclose(tables[0], theirs, rtol=1e-9, atol=1e-12)
    print("/* Written by make_season_tables.py with numpy %s and astropy %s. */" %
          (np.__version__, astropy.__version__))
    print("/* clang-format off */")
    print("enum { SEASON_POINTS = %d, SEASON_FREQUENCIES = %d };" % (POINTS, FREQUENCIES))
    print("static const double season_first = %r, season_step = %r, season_known = %r;" %
          (FIRST, STEP, KNOWN))
    for name, values in [("t", t), ("y", y)]:
        print(fold("static const double season_%s[] = { %s };" % (name, listing(values))))
    print("/* beside a constant, a cubic, and a cubic with the known wave */")
    print("static const double season_power[3][SEASON_FREQUENCIES] = {")
    for row in tables:
        print(fold("    { %s }," % listing(row)))
    print("};\n/* clang-format on */")


if __name__ == "__main__":
    sys.exit(main())
