#!/usr/bin/env python3
"""What meson and summary.py make of programs that fail in each way. In TAP."""
import pathlib
import subprocess
import sys
import tempfile

# A program, and what it adds to "passed" and "failed".
CASES = {
    "passes": ("echo 1..2; echo ok 1 - a; echo '# a remark'; echo ok 2 - b", 2, 0),
    "plans last": ("echo ok - a; echo ok - b; echo 1..2", 2, 0),
    "fails": ("echo 1..3; echo ok 1 - a; echo not ok 2 - b; echo ok 3 - c; exit 1", 2, 1),
    "fails and says so in TAP alone": ("echo 1..2; echo ok 1 - a; echo not ok 2 - b", 1, 1),
    "crashes": ("echo 1..2; echo ok 1 - a; kill -SEGV $$", 1, 1),
    "crashes at once": ("kill -ABRT $$", 0, 1),
    "crashes after its last check": ("echo 1..1; echo ok 1 - a; kill -SEGV $$", 1, 1),
    "takes too long": ("echo 1..2; echo ok 1 - a; sleep 60", 1, 1),
    "ends early": ("echo 1..3; echo ok 1 - a", 1, 1),
    "ends before its first check": ("echo 1..3", 0, 1),
    "has no checks": ("true", 0, 1),
    "fails to set up its group": ("echo 1..3; echo 'not ok 0 - all [  FAILED  ] GROUP SETUP'; exit 1", 0, 1),
    "skips itself": ("echo 1..0 \\# SKIP here is no GPU", 0, 0),
    "has two plans": ("echo 1..1; echo ok 1 - a; echo 1..1; echo ok 1 - b", 2, 1),
}
PROJECT = "project('programs')\nsh = find_program('sh')\n"
TEST = "test('{}', sh, args: ['-c', '''{}'''], protocol: 'tap', timeout: 10)\n"
PLAIN = "test('plain', sh, args: ['-c', 'true'])\ntest('plain, fails', sh, args: ['-c', 'exit 3'])\n"


def summary(root, names):
    build = root / "build"
    for log in build.glob("meson-logs/testlog*"):
        log.unlink()
    subprocess.run(["meson", "test", "-C", build, *names], capture_output=True)
    said = subprocess.run([sys.executable, pathlib.Path(__file__).with_name("summary.py"), build],
                          capture_output=True, text=True)
    return said.stdout.splitlines()[-1:], said.returncode


def check(name, root, names, passed, failed):
    got = summary(root, names)
    wanted = [f"{passed} passed, {failed} failed"], int(failed > 0)
    print("ok" if got == wanted else "not ok", "-", name)
    if got != wanted:
        print("#", got, "instead of", wanted)


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        tests = (TEST.format(name, program) for name, (program, _, _) in CASES.items())
        (root / "meson.build").write_text(PROJECT + "".join(tests) + PLAIN)
        subprocess.run(["meson", "setup", root / "build", root], check=True, capture_output=True)
        print(f"1..{len(CASES) + 2}")
        for name, (_, passed, failed) in CASES.items():
            check(name, root, [name], passed, failed)
        check("one that passes and one that fails without TAP", root, ["plain", "plain, fails"], 1, 1)
        check("no test", root, ["plain, no such"], 0, 1)


main()
