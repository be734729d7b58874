#!/usr/bin/env python3
"""test_hostile.py CTGP: columns, levels and files with hostile names through every command. In TAP.

What is printed has no control characters and is UTF-8, JSON has the names, kept columns are read back, and a
picture is XML that shows them."""
import csv, json, os, shutil, subprocess, sys, tempfile
import xml.etree.ElementTree as ElementTree

NAMES = [
    b"'lead", b"it''s", b"50 %", b"%s%n%1$d", b"back\\slash\\n", b'quo"50', b"`7\\7`", b"{/Symbol a}_^@~",
    b"`touch pwned`", b"$(touch pwned)", b"line\nend", b"tab\tin", b"\x1b]0;owned\x07\x1b[2J", b"caf\xe9",
    b"\xff\xfe\xef\xbb\xbf", "C1 \u009b2J".encode(), "no character \ufffe".encode(), "h\u00f6he".encode(),
    b"\xe0\x80\x80\xed\xa0\x80", b"\xf0\x80\x80\x80\xf4\x90\x80\x80", "\U0001f600".encode(),
    b"\x7f", b"]]>", b"<b>&amp;</b>", b"trail ", b" lead", b"#hash", b"a,b;c", b"--drop", b""]
ROWS = 12
ctgp, checks = os.path.abspath(sys.argv[1]), 0


def check(name, good, why=""):
    global checks
    checks += 1
    print(("ok - " if good else "not ok - ") + name)
    if not good:
        print("# " + repr(why)[:600])


def decoded(name):
    """As ctgp reads bytes that are no UTF-8: one by one as Latin-1."""
    text = name.decode("utf-8", "surrogateescape")
    return "".join(chr(ord(c) - 0xDC00) if 0xDC80 <= ord(c) <= 0xDCFF else c for c in text)


def is_control(c):
    return c < " " or "\x7f" <= c <= "\x9f" or c == "\ufffe"


def drawn(name):
    """The beginning as a picture shows it; a panel cuts long names."""
    text = "".join(" " if is_control(c) else c for c in decoded(name)).replace("]]>", "]] >")
    return text[:8].strip()


def run(*words):
    return subprocess.run([ctgp, *words], capture_output=True, stdin=subprocess.DEVNULL)


def is_clean(p):
    try:
        text = (p.stdout + p.stderr).decode()
    except UnicodeDecodeError:
        return False
    return not any(is_control(c) for c in text.replace("\n", ""))


def write_table(path, columns):
    def field(value):
        text = value if isinstance(value, bytes) else str(value).encode()
        return b'"' + text.replace(b'"', b'""') + b'"'
    rows = [[name for name, _ in columns]] + [[values[i] for _, values in columns] for i in range(ROWS)]
    with open(path, "wb") as f:
        f.writelines(b",".join(map(field, row)) + b"\n" for row in rows)


def read_table(path):
    if not os.path.exists(path):
        return None
    with open(path, newline="", encoding="latin-1") as f:
        return list(csv.reader(f))


def check_commands(label, name, model):
    fit = ["fit", "t.csv", "--target", name + b"y", "--max-iter", "3"]
    good = [run(*words) for words in (
        [*fit, "--kernel", "rbf * category", "--model", model, "--verbose"],
        [*fit, "--kernel", "linear + index * rbf", "--mean", "linear", "--model", "m.ctgp"],
        ["info", model, "t.csv", "--sensitivity"], ["info", "m.ctgp"], ["loo", model],
        ["compare", model, model, "t.csv"], ["predict", model, "t.csv", "--out", "p.csv"],
        ["sample", model, "t.csv", "--out", "s.csv"], ["append", model, "t.csv", "--model", "more.ctgp"],
        ["plot", model, "t.csv", "--out", "p.png"])]
    bad = [run(*words) for words in (
        ["predict", model, "strange.csv"], ["predict", model, "short.csv"], ["info", model, "--output", "z"],
        ["fit", "t.csv", "--target", name + b"z"], ["fit", "t.csv", "--target", name + b"c"],
        [*fit, "--drop", name + b"z"], [*fit, "--kernel", b"rbf(dims=" + name + b"z)"],
        ["info", name + b".nothing"], [name + b"command"])]
    check(f"{label}: every command", not any(p.returncode for p in good), [p.stderr for p in good])
    check(f"{label}: every refusal", all(p.returncode and p.stderr.startswith(b"ctgp: ") for p in bad),
          [(p.args[1:], p.stderr) for p in bad if not p.returncode])
    dirty = [p for p in good + bad if not is_clean(p)]
    check(f"{label}: what is printed", not dirty, [(p.args[1:3], p.stdout + p.stderr) for p in dirty])


def check_names(label, name, model, levels):
    told = json.loads(run("info", "--json", model).stdout.decode())
    check(f"{label}: JSON has the names", told["target"] == decoded(name + b"y") and
          told["features"] == [decoded(name + b"c"), decoded(name) or "c1"] and
          told["columns"][0]["levels"] == sorted({decoded(l).strip(" ") for l in levels}), told)

    p = run("predict", model, "t.csv", "--keep", "*", "--out", "kept.csv")
    kept = read_table("kept.csv") or []
    check(f"{label}: kept columns come back", [row[:3] for row in kept] == read_table("t.csv"),
          (p.stderr, kept))
    p = run("predict", model, "kept.csv", "--out", "again.csv")
    check(f"{label}: and predict the same", read_table("again.csv") == read_table("p.csv"), p.stderr)

    p = run("plot", model, "t.csv", "--out", "p.svg")
    try:
        texts = [t.text for t in ElementTree.parse("p.svg").iter() if t.text]
    except (ElementTree.ParseError, FileNotFoundError) as error:
        texts = [str(error)]
    wanted = [drawn(name or b"c1"), drawn(levels[1])]
    check(f"{label}: the picture shows them", all(any(w in t for t in texts) for w in wanted),
          (p.stderr, wanted, texts))


def main():
    for name in NAMES:
        levels, numbers = [name + b"L%d" % (i % 3) for i in range(ROWS)], [i / 2 + 0.25 for i in range(ROWS)]
        model = b"./" + name.replace(b"/", b"|") + b".ctgp"
        write_table("t.csv", [(name + b"c", levels), (name, numbers),
                              (name + b"y", [i * i % 7 for i in range(ROWS)])])
        write_table("strange.csv", [(name + b"c", [name + b"L3"] * ROWS), (name, numbers)])
        write_table("short.csv", [(name, numbers)])
        for file in os.listdir():
            if file not in ("t.csv", "strange.csv", "short.csv", "pwned"):
                os.remove(file)
        check_commands(repr(name), name, model)
        check_names(repr(name), name, model, levels)
    check("no name is a command", not os.path.exists("pwned"))
    print(f"1..{checks}")


if not shutil.which("gnuplot"):
    print("1..0 # SKIP gnuplot is not installed")
    sys.exit()
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir("/")
