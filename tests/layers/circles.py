#!/usr/bin/env python3
"""No room uses a layer above its own, and no rooms of a layer form a circle. A room is a source with the
header of its name. It uses another by including its header, or by the symbols of its object. Ops may use each
other's public functions, as the rules of an adjoint pair do. In TAP.

circles.py ROOT NM ARCHIVE...  checks the tree and the archives' objects, which must be the whole library
circles.py --self-test         checks that circles are seen
"""
import pathlib
import re
import subprocess
import sys
import tempfile

LAYERS = ["tensor", "autograd", "ops", "gp", "ctgp"]


def room_of(name):
    return name.rsplit(".", 1)[0]


def layer_of(room):
    return re.match(r"src/(tensor/(cpu|cuda)(?=/)|\w+)", room).group()


def rank(room):
    return LAYERS.index(room.split("/")[1])


def uses_of(root, names, listing):
    """{room: {another room of its layer, or of one above: the headers and symbols that it uses}}."""
    rooms = {room_of(name) for name in names}
    uses = {}

    def use(user, owner, what):
        if owner != user and (rank(user) < rank(owner) or layer_of(user) == layer_of(owner)):
            uses.setdefault(user, {}).setdefault(owner, set()).add(what)

    for name in names:
        path = root / name
        for header in re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), flags=re.M):
            target = next((p for p in (path.parent / header, root / "src" / header) if p.exists()), None)
            owner = target and room_of(target.resolve().relative_to(root).as_posix())
            if owner in rooms:
                use(room_of(name), owner, header)
    for user, owner, symbol in symbols_of(names, listing):
        public_op = layer_of(user) == layer_of(owner) == "src/ops" and re.match(r"ct_(?!_)", symbol)
        if not public_op:
            use(user, owner, symbol)
    return uses


def symbols_of(names, listing):
    """From what nm prints: a room, another, and a symbol of it that the first uses."""
    files = {name.replace("/", "_"): name for name in names if not name.endswith(("h", ".inc"))}
    defined, wanted, at = {}, {}, None
    for line in listing.split("\n"):
        member = re.fullmatch(r"(?:.*[/(])?([^/()]+)\.o\)?:", line)
        symbol = re.fullmatch(r"[0-9a-fA-F]*\s+([A-Za-z]) (\S+)", line)
        if member:
            inner = member.group(1).replace(".._", "")
            inner = re.sub(r"^meson-generated_(.*\.cu)\.cpp$", r"src_tensor_cuda_\1", inner)
            at = files.get(inner, files.get("src_" + inner))
        elif symbol and at and symbol.group(1) == "U":
            wanted.setdefault(at, set()).add(symbol.group(2))
        elif symbol and at:
            defined.setdefault(symbol.group(2), set()).add(at)
    for user, symbols in wanted.items():
        for symbol in symbols:
            owners = defined.get(symbol, set())
            if len(owners) == 1:  # else of another library, or an instance that each of its users has
                yield room_of(user), room_of(*owners), symbol


def reached(graph, start):
    """All that start leads to."""
    seen, todo = set(), [start]
    while todo:
        for other in graph.get(todo.pop(), ()):
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def circles(graph):
    """The sets of rooms each of which leads to all others of its set."""
    to = {room: reached(graph, room) for room in graph}
    left, found = {room for room in graph if room in to[room]}, []
    while left:
        first = min(left)
        circle = {other for other in left if other in to[first] and first in to[other]}
        left -= circle
        found.append(circle)
    return sorted(found, key=min)


def offences(root, listing):
    names = [path.relative_to(root).as_posix() for kind in ("c", "h", "cu", "cuh")
             for path in sorted(root.glob(f"src/**/*.{kind}"))]
    uses = uses_of(root, names, listing)
    if not any(symbols_of(names, listing)):
        yield "no object in the archives is of this tree", []
    for user, owners in sorted(uses.items()):
        above = {owner: symbols for owner, symbols in owners.items() if rank(user) < rank(owner)}
        if above:
            yield f"{user} uses a layer above its own", [
                f"{', '.join(sorted(symbols))} of {owner}" for owner, symbols in sorted(above.items())]
    for circle in circles(uses):
        yield "a circle of " + ", ".join(sorted(circle)), [
            f"{user} uses {', '.join(sorted(uses[user][owner]))} of {owner}"
            for user in sorted(circle) for owner in sorted(circle & uses[user].keys())]


def self_test():
    objects = {
        "gp_a.c": [("T", "ct__a"), ("U", "ct__b")], "gp_room_b.c": [("T", "ct__b"), ("U", "ct__a")],
        "gp_c.c": [("T", "ct_c"), ("U", "ct__d")], "gp_d.c": [("T", "ct__d"), ("U", "ct_c")],
        "gp_e.c": [("T", "ct__e"), ("U", "ct__a"), ("U", "malloc")],
        "autograd_n.c": [("T", "ct__n"), ("U", "ct__h"), ("U", "ct_t")],
        "ops_t.c": [("T", "ct_t"), ("U", "ct_permute")],
        "ops_permute.c": [("T", "ct_permute"), ("U", "ct_t")],
        "ops_f.c": [("T", "ct__f"), ("U", "ct__g")], "ops_g.c": [("D", "ct__g"), ("U", "ct__f")],
        "tensor_h.c": [("T", "ct__h"), ("U", "ct__i")], "tensor_cpu_i.c": [("T", "ct__i"), ("U", "ct__h")],
        ".._.._src_tensor_cuda_k.c": [("T", "ct__k"), ("U", "ct__l")],
        "lib.a.p/meson-generated_.._l.cu.cpp": [("T", "ct__l"), ("U", "ct__k")],
    }
    listing = "".join(f"{member}.o:\n" + "".join(f"{'' if kind == 'U' else '00'} {kind} {name}\n"
                                                 for kind, name in symbols)
                      for member, symbols in objects.items())
    files = ["gp/a.c", "gp/room/b.c", "gp/c.c", "gp/d.c", "gp/e.c", "ops/t.c", "ops/permute.c", "ops/f.c",
             "ops/g.c", "tensor/h.c", "autograd/n.c", "tensor/cpu/i.c", "tensor/cuda/k.c", "tensor/cuda/l.cu"]
    headers = {"gp/m.h": '#include "gp/n.h"\n', "gp/n.h": '#include "m.h"\n', "gp/o.h": '#include "m.h"\n',
               "gp/p.h": '#include "gp/q.h"\n', "gp/q.c": '#include "p.h"\n', "gp/q.h": "",
               "gp/e.h": '#include "gp/a.h"\n', "gp/a.h": ""}
    expected = ["src/autograd/n uses a layer above its own",
                "a circle of src/gp/a, src/gp/room/b", "a circle of src/ops/f, src/ops/g",
                "a circle of src/tensor/cuda/k, src/tensor/cuda/l",
                "a circle of src/gp/c, src/gp/d", "a circle of src/gp/m, src/gp/n",
                "a circle of src/gp/p, src/gp/q"]
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch).resolve()
        for name in [*files, *headers]:
            (root / "src" / name).parent.mkdir(parents=True, exist_ok=True)
            (root / "src" / name).write_text(headers.get(name, ""))
        seen = [what for what, _ in offences(root, listing)]
    report([(what, []) for what in sorted(set(seen) ^ set(expected))], len(expected))


def report(wrong, checked):
    """In TAP, an offence a line; where there is none, `checked` things are right."""
    for what, details in wrong:
        print(f"not ok - {what}", *(f"#   {line}" for line in details), sep="\n")
    right = 0 if wrong else checked
    print(*["ok"] * right, f"1..{len(wrong) + right}", sep="\n")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    root, nm, *archives = sys.argv[1:]
    root = pathlib.Path(root).resolve()
    listing = subprocess.run([nm, "-g", *archives], check=True, capture_output=True, text=True).stdout
    report(list(offences(root, listing)), listing.count(".o:"))


main()
