#!/usr/bin/env python3
"""The layers: tensor <- autograd <- ops <- gp <- ctgp. Each folder includes only what stands before it.

layers.py ROOT         checks the tree, one line per offence
layers.py --self-test  checks that offences are seen
"""
import pathlib
import re
import sys
import tempfile

from ops import op_names

PUBLIC, PUBLIC_GP = "include/cotangent", "include/cotangent/gp"
# Which folders' private headers a folder may include. gp and ctgp are written as a user would write them.
MAY_INCLUDE = {
    "src/tensor": {"src/tensor"},
    "src/tensor/cpu": {"src/tensor", "src/tensor/cpu"},
    "src/tensor/cuda": {"src/tensor", "src/tensor/cuda"},
    "src/autograd": {"src/autograd", "src/tensor"},
    "src/ops": {"src/ops", "src/autograd", "src/tensor"},
    "src/gp": {"src/gp"},
    "src/ctgp": {"src/ctgp"},
    PUBLIC: set(),
    PUBLIC_GP: set(),
}
# Public headers that lie above a layer. The engine ends where the GP begins.
GP = "gp|gp/.*"
TENSOR = re.compile("tape|ops|op|gradcheck|" + GP)
ENGINE = re.compile(GP)
ABOVE = {
    "src/tensor": TENSOR,
    "src/tensor/cpu": TENSOR,
    "src/tensor/cuda": TENSOR,
    "src/autograd": ENGINE,
    "src/ops": ENGINE,
    PUBLIC: ENGINE,
}
# System headers that belong to one folder alone.
RESERVED = {
    re.compile(r"cblas|lapacke?\b|omp\.h|openblas"): "src/tensor/cpu",
    re.compile(r"cuda|cublas|cusolver|curand|nvrtc"): "src/tensor/cuda",
    re.compile(r"nlopt"): "src/gp",
}
GENERATED = "ops/ops.inc"
# What a library never does. snprintf and friends are fine; ct__fail's format attribute is no call.
FORBIDDEN = {
    re.compile(r"(?<![\w.>])(printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror)\s*\("): "prints",
    re.compile(r"(?<![\w.>])(exit|_Exit|_exit|quick_exit|abort|assert)\s*\("): "ends the process",
    re.compile(r"(?<![\w.>])(setenv|putenv|setlocale|signal|openblas_set_num_threads)\s*\("):
        "changes the host's process",
    re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b.*CUDA(?!RT_VERSION|\w*_(CU)?H$)"):
        "chooses CUDA by the preprocessor",
}
PROGRAM = "src/ctgp"  # prints, ends and has signals
DEBUG = "src/tensor/debug.c"  # only in a build with -Dasserts=true, which ends at a defect
# Files are written with fprintf(f, ...) in these folders' savers.
WRITES_FILES = {"fprintf", "vfprintf", "fputs"}


def code_of(text):
    """The text without comments and string contents, line by line."""
    text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r'(?<!include )"(\\.|[^"\\\n])*"', '""', text)


def folder_of(root, path):
    """The layer that the file is in: its folder, or the one around its room."""
    folder = root / PUBLIC_GP if path == root / PUBLIC / "gp.h" else path.parent
    while folder != root and folder.relative_to(root).as_posix() not in MAY_INCLUDE:
        folder = folder.parent
    return (folder if folder != root else path.parent).relative_to(root).as_posix()


def offences(root):
    for path in sorted([*root.glob("src/**/*.[ch]"), *root.glob("src/**/*.cu*"),
                        *root.glob(PUBLIC + "/**/*.h")]):
        folder, where = folder_of(root, path), path.relative_to(root).as_posix()
        if folder not in MAY_INCLUDE:
            yield f"{where}: no layer is declared for {folder}"
            continue
        for number, line in enumerate(code_of(path.read_text()).split("\n"), 1):
            at = f"{where}:{number}"
            include = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if include:
                yield from check_include(root, path, folder, at, *include.groups())
            for pattern, what in FORBIDDEN.items() if folder != PROGRAM and where != DEBUG else ():
                found = pattern.search(line)
                to_file = found and found.group(1) in WRITES_FILES
                if not found or (to_file and not re.search(r"\b(stdout|stderr)\b", line)):
                    continue
                yield f"{at}: {what}: {found.group().strip()}"
    yield from unlisted_ops(root)


def brings(root, name, seen=()):
    """The public headers that including <name> includes, itself among them."""
    public = re.fullmatch(r"cotangent/((?:gp/)?\w+)\.h", name)
    if not public or name in seen:
        return set()
    path = root / "include" / name
    inner = re.findall(r"^\s*#\s*include\s*<([^>]+)>", path.read_text(), flags=re.M) if path.exists() else []
    return {public.group(1)}.union(*(brings(root, n, (*seen, name)) for n in inner))


def check_include(root, path, folder, at, bracket, name):
    if bracket == "<":
        for pattern, owner in RESERVED.items():
            if pattern.search(name) and not name.startswith("cotangent/") and folder != owner:
                yield f"{at}: <{name}> belongs to {owner}"
        for public in sorted(filter(ABOVE[folder].fullmatch, brings(root, name)) if folder in ABOVE else ()):
            yield f"{at}: <cotangent/{public}.h>, which <{name}> brings, lies above {folder}"
        return
    if name == GENERATED:
        return
    target = next((p for p in (path.parent / name, root / "src" / name) if p.exists()), None)
    if target is None:
        yield f'{at}: "{name}" is not in the tree; system headers go in <>'
        return
    owner = folder_of(root, target.resolve())
    if owner not in MAY_INCLUDE[folder]:
        yield f"{at}: {folder} may not include {owner} ({name})"


def unlisted_ops(root):
    """The build finds descriptors by the start of their line."""
    listed = op_names(root)
    for path in sorted((root / "src/ops").rglob("*.c")):
        for name in re.findall(r"(?<!extern )const\s+ct_op\s+ct_op_(\w+)\b(?!##)", code_of(path.read_text())):
            if name not in listed:
                yield f"{path.relative_to(root)}: the build does not find the op {name}"


def self_test():
    cases = {
        "src/tensor/a.c": ('#include "../autograd/tape.h"\n', "may not include"),
        "src/gp/b.c": ('#include "../tensor/internal.h"\n', "may not include"),
        "src/tensor/cpu/k.c": ("#include <cotangent/op.h>\n", "lies above"),
        "src/tensor/l.c": ("#include <cotangent/tensor.h>\n#include <cotangent/cov_program.h>\n", None),
        "src/tensor/cuda/m.cuh": ("#include <cotangent/gradcheck.h>\n", "lies above"),
        "src/tensor/n.c": ("#include <cotangent/innocent.h>\n", "lies above"),
        "src/ops/q.c": ("#include <cotangent/gp/column.h>\n", "lies above"),
        PUBLIC + "/r.h": ("#include <cotangent/gp.h>\n", "lies above"),
        PUBLIC + "/gp.h": ("#include <cotangent/gp/s.h>\n", None),
        PUBLIC_GP + "/s.h": ("#include <cotangent/tape.h>\n", None),
        "src/ops/c.c": ("#include <cblas.h>\n", "belongs to src/tensor/cpu"),
        "src/tensor/cpu/d.c": ("#include <cuda_runtime.h>\n", "belongs to src/tensor/cuda"),
        "src/tensor/e.c": ("void f(void) { abort(); }\n", "ends the process"),
        "src/tensor/f.c": ('void f(void) { fprintf(stderr, "x"); }\n', "prints"),
        "src/tensor/g.c": ("#ifdef HAVE_CUDA\n#endif\n", "preprocessor"),
        "src/tensor/h.c": ('/* printf() */ void f(FILE *o) { fprintf(o, "exit()"); snprintf(b, 1, "x"); }\n',
                           None),
        "src/ctgp/o.c": ('#include <stdio.h>\nvoid f(void) { printf("x"); }\n', None),
        "src/ctgp/p.c": ('#include "../tensor/internal.h"\n', "may not include"),
        "src/ops/i.c": ("const ct_op\nct_op_frob = { 0 };\n", "does not find the op frob"),
        "src/ops/j.c": ('extern const ct_op ct_op_x;\nconst ct_op ct_op_k = { 0 };\n#include "ops/ops.inc"\n',
                        None),
    }
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch).resolve()
        fixed = {PUBLIC + "/maps.h": "", "src/autograd/tape.h": "", "src/tensor/internal.h": "",
                 PUBLIC + "/innocent.h": "#include <cotangent/tape.h>\n"}
        for name, text in [*fixed.items(), *((n, t) for n, (t, _) in cases.items())]:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        seen = list(offences(root))
        of = {n: [o for o in seen if o.startswith(n)] for n in cases}
        wrong = [n for n, (_, what) in cases.items()
                 if (not any(what in o for o in of[n]) if what else of[n])]
    report(len(cases), [f"{name}: expected {cases[name][1]}" for name in wrong])


def report(checked, wrong):
    """In TAP: one line for each check."""
    print(*(f"not ok - {name}" for name in wrong), *["ok"] * (checked - len(wrong)), f"1..{checked}",
          sep="\n")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    root = pathlib.Path(sys.argv[1]).resolve()
    found = list(offences(root))
    print(*(f"# {offence}" for offence in found), sep="\n")
    checked = len([*root.glob("src/**/*.[ch]"), *root.glob(PUBLIC + "/**/*.h")])
    wrong = {o.split(":")[0] for o in found}
    report(max(checked, len(wrong)), sorted(wrong))


main()
