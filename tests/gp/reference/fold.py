"""Lines of C tables, at most 110 columns wide."""
import textwrap


def fold(lines):
    """Breaks long lines between their numbers and indents the rest by two more."""
    return "\n".join(
        textwrap.fill(line, 110, subsequent_indent=" " * (len(line) - len(line.lstrip()) + 2),
                      break_long_words=False,
                      break_on_hyphens=False) for line in lines.split("\n"))
