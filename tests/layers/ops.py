"""The names of the library's ops, as the build finds them (src/ops/list.sed)."""
import re


def op_names(root):
    rows = re.findall(r"^    M\((\w+),", (root / "include/cotangent/maps.h").read_text(), flags=re.M)
    return rows + [name for path in sorted((root / "src/ops").rglob("*.c"))
                   for name in re.findall(r"^const ct_op ct_op_(\w+) = ", path.read_text(), flags=re.M)]
