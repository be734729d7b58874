#!/usr/bin/env python3
"""Checks the book: every op has a page docs/ops/NAME.md (or a line in one that lists it),
and every relative link of every page leads to a file and, where it names one, to a heading."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests/layers"))
from ops import op_names  # noqa: E402


def pages():
    skipped = {"build", ".peers", ".git", "out", ".cache"}
    for path in sorted(ROOT.rglob("*.md")):
        top = path.relative_to(ROOT).parts[0]
        if top not in skipped and not top.startswith("build-"):
            yield path


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


def anchors(path):
    """GitHub's names of a page's headings."""
    found = set()
    for heading in re.findall(r"^#+\s+(.*?)\s*#*$",
                              re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S), re.M):
        name = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")
        found.add(name)
    return found


def broken_links(path):
    for link in re.findall(r"\]\(\s*<?([^)\s>]+)", without_code(path.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists():
            yield f"{link}: no such file"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield f"{link}: {target.name} has no such heading"


def undocumented():
    folder = ROOT / "docs/ops"
    text = {page.stem: page.read_text() for page in folder.glob("*.md")}
    for op in op_names(ROOT):
        # One page may serve a family: it names each member in a heading.
        if op not in text and not any(re.search(rf"^#+ .*\b{op}\b", page, re.M) for page in text.values()):
            yield f"docs/ops/{op}.md: no page for the op {op}"


def main():
    checked = list(pages())
    wrong = [f"{page.relative_to(ROOT)}: {what}" for page in checked
             for what in broken_links(page)] + list(undocumented())
    for line in wrong:
        print(line)
    print(f"{len(checked)} pages and {len(op_names(ROOT))} ops checked, {len(wrong)} faults")
    return 1 if wrong else 0


sys.exit(main())
