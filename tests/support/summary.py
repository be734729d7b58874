#!/usr/bin/env python3
"""summary.py BUILD-DIR...: the logs of failed tests, then "N passed, N failed" over all of them.

A program that says "[  PASSED  ] N test(s)." counts as N; one that says nothing counts as one.
"""
import json
import pathlib
import re
import sys

PASSED = re.compile(r"^\[  PASSED  \] (\d+) test", re.M)
FAILED = re.compile(r"^\[  FAILED  \] (\d+) test", re.M)
ENDED = re.compile(r"^ (\d+) FAILED TEST", re.M)  # cmocka's last line, which counts crashes, too


def tally(test):
    log = test.get("stdout", "") + test.get("stderr", "")
    passed, failed = (sum(map(int, pattern.findall(log))) for pattern in (PASSED, FAILED))
    if test["result"] not in ("OK", "EXPECTEDFAIL", "SKIP"):
        return passed, max(failed, 1, *map(int, ENDED.findall(log))), log
    return passed if passed or failed or test["result"] == "SKIP" else 1, failed, log


def main():
    passed = failed = 0
    for build in map(pathlib.Path, sys.argv[1:]):
        # Named testlog-SET where a set of tests was asked for.
        logs = build.glob("meson-logs/testlog*.json")
        tests = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
        if not tests:
            print(f"--- {build}: no test ran")
            failed += 1
        for test in tests:
            p, f, log = tally(test)
            passed, failed = passed + p, failed + f
            if f:
                print(f"--- {build}: {test['name']}: {test['result']}, exit status {test['returncode']}")
                print(log.rstrip(), "---", sep="\n")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
