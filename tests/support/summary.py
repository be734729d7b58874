#!/usr/bin/env python3
"""summary.py BUILD-DIR...: the logs of failed tests, then "N passed, N failed" over all of them.

A program that speaks TAP counts as many as it has checks, any other as one. Meson's verdict decides whether
it has failed: not all checks passed or ran, none did, or it crashed or took too long. One that skips itself
with its reason counts as none.
"""
import json
import pathlib
import sys


def tally(test):
    lines = test["stdout"].splitlines()
    if test["result"] == "SKIP" and any(line.upper().startswith("1..0 # SKIP ") for line in lines):
        return 0, 0
    passed = sum(line.startswith("ok") for line in lines)
    failed = sum(line.startswith("not ok") for line in lines)
    return (passed or 1, failed) if test["result"] == "OK" else (passed, failed or 1)


def main():
    passed = failed = 0
    for build in map(pathlib.Path, sys.argv[1:]):
        # Named testlog-SET where a set of tests was asked for.
        logs = sorted(build.glob("meson-logs/testlog*.json"))
        tests = [(log.stem.removeprefix("testlog"), json.loads(line))
                 for log in logs for line in log.read_text().splitlines()]
        if not tests:
            print(f"--- {build}: no test ran")
            failed += 1
        for chosen, test in tests:
            p, f = tally(test)
            passed, failed = passed + p, failed + f
            if f:
                print(f"--- {build}{chosen}: {test['name']}: {test['result']}, "
                      f"exit status {test['returncode']}")
                print((test["stdout"] + test.get("stderr", "")).rstrip(), "---", sep="\n")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
