#!/usr/bin/env python3
"""test_schedule.py TILES BENCH: whether ranks/schedule.py in the folder BENCH reckons with the library's own
tiles, which the program TILES prints. In TAP."""
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[2])
from ranks import schedule

wrong = []
lines = subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout.splitlines()
for line in lines:
    n, processes, *found = map(int, line.split())
    reckoned = [schedule.width_of(n, processes), schedule.looks_ahead(n, processes),
                schedule.node_bytes(n, 8, processes)]
    if found != reckoned:
        wrong.append(f"# {n} rows on {processes}: tiles, ahead and bytes are {found}, not {reckoned}")
print("\n".join(wrong))
print("not ok" if wrong or len(lines) < 20 else "ok", "- the schedule has the library's tiles\n1..1")
sys.exit(bool(wrong))
