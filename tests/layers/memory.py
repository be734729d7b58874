#!/usr/bin/env python3
"""Every public function that may allocate is called by a test that lets allocations fail: one whose source
uses alloc_fail_at or alloc_fail_from, or, for the ops, the op matrix. In TAP.

memory.py ROOT"""
import pathlib
import re
import sys

from ops import op_names

# These functions only read or set a number of an object.
ALLOCATES_NOTHING = """
    ct_bytes_free ct_device_fail ct_device_retain ct_device_status ct_dtype_size ct_gp_check ct_gp_set_param
    ct_last_status ct_message ct_module_load ct_device_stream ct_device_wait_stream ct_stream_wait_device
    ct_give_in_bar ct_out ct_out_at ct_in ct_out_bar ct_out_bar_at ct_output ct_ridge_form_of ct_tape_status
    ct_gp_device ct_gp_noise_variance ct_gp_at_bound ct_gp_get_options ct_gp_report ct_sample_fail
    ct_tensor_device
""".split()
# Return types of functions that may allocate: tensors, handles, models, and those that report a failure.
MAY = re.compile(r"^(ct_status|ct_var|double)$|^(?!const )\w+ \*$")
# Called inside ops, which the op matrix visits.
INSIDE_OPS = re.compile(r"ct_(prim|sample|arg|rule)_|ct_(result|scratch|contiguous|borrow|call_device)")


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def public(root):
    for header in sorted(root.glob("include/cotangent/**/*.h")):
        for kind, name in re.findall(r"CT_API\s+([\w ]+?[\s*]+?)(ct_\w+)\s*\(",
                                     without_comments(header.read_text())):
            yield header.name, " ".join(kind.replace("*", " *").split()), name


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    visited = {"ct_" + op for op in op_names(root)}
    for path in root.glob("tests/**/test_*.c"):
        text = without_comments(path.read_text())
        if re.search(r"alloc_fail_(at|from)\(", text):
            visited.update(re.findall(r"\bct_\w+", text))
    asked = [(header, name) for header, kind, name in public(root)
             if MAY.search(kind) and name not in ALLOCATES_NOTHING and not INSIDE_OPS.match(name)]
    print(f"1..{len(asked)}")
    for header, name in asked:
        print(f"ok - {name}" if name in visited
              else f"not ok - {header}: {name} is in no test that lets allocations fail")


main()
