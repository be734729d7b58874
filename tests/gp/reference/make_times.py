#!/usr/bin/env python3
"""Writes times.h: texts, and their days since 1970 as Python's datetime counts them.

make_times.py > times.h

Each time is written without a zone and in a zone of its own.
"""
import datetime as dt
import random

random.seed(20)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
FIXED = [(1, 1, 1), (1582, 10, 15), (1600, 2, 29), (1900, 2, 28), (1900, 3, 1), (1969, 12, 31), (1970, 1, 1),
         (2000, 2, 29), (2024, 2, 29), (2024, 12, 31), (2100, 3, 1), (9999, 12, 31)]


def days(t):
    d = t - EPOCH
    return d.days + (d.seconds + d.microseconds * 1e-6) / 86400


print("/* Made by make_times.py. */")
print("static const struct {\n    const char *text;\n    double days;\n} times[] = {")
for year, month, day in FIXED:
    t = dt.datetime(year, month, day, tzinfo=dt.timezone.utc)
    print(f'    {{ "{t.date().isoformat()}", {days(t)!r} }},')
for _ in range(40):
    zone = dt.timezone(dt.timedelta(minutes=random.randrange(-14 * 4, 14 * 4) * 15))
    t = dt.datetime(random.randrange(2, 9999), 1, 1, tzinfo=zone) + dt.timedelta(
        days=random.randrange(366), seconds=random.randrange(86400),
        milliseconds=random.choice([0, 0, 250, 7]))
    print(f'    {{ "{t.isoformat()}", {days(t)!r} }},')
print("};")
