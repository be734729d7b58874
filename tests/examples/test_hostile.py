#!/usr/bin/env python3
"""test_hostile.py CTGP: columns, levels and files with hostile names through every command. In TAP.

What is printed has no control characters and is UTF-8, JSON has the names, kept columns are read back, and a
picture is XML that shows them."""
import csv, io, json, os, shutil, subprocess, sys, tempfile
import xml.etree.ElementTree as ElementTree

NAMES = [b"'lead", b"it''s", b"50 %", b"%s%n%1$d", b"back\\slash\\n", b'quo"te', b"{/Symbol a}_^@~", b"`touch pwned`",
         b"$(touch pwned)", b"line\nend", b"tab\tin", b"\x1b]0;owned\x07\x1b[2J", b"caf\xe9", b"\xff\xfe\xef\xbb\xbf",
         "C1 \u009b2J".encode(), "no character \ufffe".encode(), "h\u00f6he".encode(), b"\x7f", b"]]>", b"<b>&amp;</b>",
         b"trail ", b" lead", b"#hash", b"a,b;c", b"--drop", b""]
ROWS = 12
ctgp, checks = os.path.abspath(sys.argv[1]), 0


def check(name, good, why=""):
    global checks
    checks += 1
    print(("ok - " if good else "not ok - ") + name)
    if not good: print("# " + repr(why)[:600])


def decoded(name):
    """As ctgp reads bytes that are no UTF-8: one by one as Latin-1."""
    text = name.decode("utf-8", "surrogateescape")
    return "".join(chr(ord(c) - 0xDC00) if 0xDC80 <= ord(c) <= 0xDCFF else c for c in text)


def is_control(c): return c < " " or "\x7f" <= c <= "\x9f" or c == "\ufffe"


def shown(name, instead): return "".join(instead if is_control(c) else c for c in decoded(name))


def run(*words):
    return subprocess.run([ctgp, *words], capture_output=True, stdin=subprocess.DEVNULL)


def clean(p):
    """Whether people and terminals can bear what a command has printed."""
    try: text = (p.stdout + p.stderr).decode()
    except UnicodeDecodeError: return False
    return not any(is_control(c) for c in text.replace("\n", ""))


def write_table(path, columns):
    quoted = [b",".join(b'"' + f.replace(b'"', b'""') + b'"' for f in row) for row in [[n for n, _ in columns]] +
              [[str(values[i]).encode() if not isinstance(values[i], bytes) else values[i] for _, values in columns]
               for i in range(ROWS)]]
    with open(path, "wb") as f: f.write(b"\n".join(quoted) + b"\n")


def read_table(path):
    with open(path, newline="", encoding="latin-1") as f: return list(csv.reader(f))


def test(name):
    label = repr(name)
    level, wood, target = [name + b"L%d" % (i % 3) for i in range(ROWS)], name + b"c", name + b"y"
    x, y = [i / 2 + 0.25 for i in range(ROWS)], [(i * i) % 7 for i in range(ROWS)]
    model = (name.replace(b"/", b"|") or b"model") + b".ctgp"
    model = b"./" + model
    write_table("t.csv", [(wood, level), (name, x), (target, y)])
    write_table("strange.csv", [(wood, [name + b"L3"] * ROWS), (name, x)])
    write_table("short.csv", [(name, x)])
    fit = ["fit", "t.csv", "--target", target, "--max-iter", "3", "--kernel", "rbf * category", "--model", model]
    p = run(*fit, "--verbose")
    check(f"{label}: fit", p.returncode == 0, p.stderr)
    if p.returncode: return

    good = [run(*fit), run("info", model, "t.csv", "--sensitivity"), run("loo", model), run("compare", model, model, "t.csv"),
            run("predict", model, "t.csv", "--out", "p.csv"), run("sample", model, "t.csv", "--out", "s.csv"),
            run("append", model, "t.csv", "--model", "more.ctgp"), run("plot", model, "t.csv", "--out", "p.png"),
            run("fit", "t.csv", "--target", target, "--kernel", "linear + index * rbf", "--mean", "linear", "--max-iter", "2",
                "--model", "m.ctgp"), run("info", "m.ctgp")]
    bad = [run("predict", model, "strange.csv"), run("predict", model, "short.csv"), run("fit", "t.csv", "--target", name + b"z"),
           run("fit", "t.csv", "--target", target, "--drop", name + b"z"), run("info", name + b".nothing"), run(name + b"command"),
           run("fit", "t.csv", "--target", target, "--kernel", b"rbf(dims=" + name + b"z)"), run("info", model, "--output", wood),
           run("fit", "t.csv", "--target", wood)]
    check(f"{label}: every command", not any(p.returncode for p in good), [p.stderr for p in good if p.returncode])
    check(f"{label}: every refusal", all(p.returncode and p.stderr.startswith(b"ctgp: ") for p in bad),
          [(p.args[1:], p.stderr) for p in bad if not p.returncode])
    dirty = [p for p in good + bad if not clean(p)]
    check(f"{label}: what is printed", not dirty, [(p.args[1:3], p.stdout + p.stderr) for p in dirty])

    told = json.loads(run("info", "--json", model).stdout.decode())
    check(f"{label}: JSON has the names", told["target"] == decoded(target) and
          told["features"] == [decoded(wood), decoded(name) or "c1"] and
          told["columns"][0]["levels"] == sorted({decoded(l).strip(" ") for l in level}), told)

    p = run("predict", model, "t.csv", "--keep", "*", "--out", "kept.csv")
    q = run("predict", model, "kept.csv", "--out", "again.csv")
    whole = p.returncode == q.returncode == 0
    check(f"{label}: kept columns come back", whole and
          [row[:3] for row in read_table("kept.csv")] == read_table("t.csv"), (p.stderr, q.stderr, whole and read_table("kept.csv")[0]))
    check(f"{label}: and predict the same", whole and read_table("again.csv") == read_table("p.csv"))

    p = run("plot", model, "t.csv", "--out", "p.svg")
    try: texts = [t.text for t in ElementTree.parse("p.svg").iter() if t.text]
    except (ElementTree.ParseError, FileNotFoundError) as error: texts = [str(error)]
    # the beginning, since a panel cuts long names
    wanted = [shown(name, " ").replace("]]>", "]] >") or "c1", shown(level[1], " ").replace("]]>", "]] >")]
    check(f"{label}: the picture shows them", p.returncode == 0 and
          all(any(w[:8].strip() in t for t in texts) for w in wanted), (p.stderr, wanted, texts))


if not shutil.which("gnuplot"):
    print("1..0 # SKIP gnuplot is not installed")
    sys.exit()
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for name in NAMES: test(name)
    check("no name is a command", not os.path.exists("pwned"))
    os.chdir("/")
print(f"1..{checks}")
