#!/usr/bin/env python3
"""summary.py BUILD-DIR...: the logs of failed tests, then "N passed, N failed" over all of them.

A program that says "[  PASSED  ] N test(s)." counts as N; one that says nothing counts as one.
"""
import json
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
    for build in sys.argv[1:]:
        with open(f"{build}/meson-logs/testlog.json") as lines:
            for line in lines:
                test = json.loads(line)
                p, f, log = tally(test)
                passed, failed = passed + p, failed + f
                if f:
                    print(f"--- {build}: {test['name']}: {test['result']}, exit status {test['returncode']}\n{log.rstrip()}\n---")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
