"""Makes docs/reference/language.md: the prose of docs/reference/language.md.in, with two tables put into it.

    python docs/make_language.py            writes the page
    python docs/make_language.py --print    shows it

Input: the template; the records of the built-in names in src/pydtrace/dlang/builtins;
tests/conformance/failing.txt.

- What the tables say of a name stands in its record, or, where it has none, in
  builtins/unsupported.py.
"""

import os
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)
PATH = os.path.join(TOP, "docs", "reference", "language.md")
TEMPLATE = PATH + ".in"
FAILING = os.path.join(TOP, "tests", "conformance", "failing.txt")


def rows_of(title, table, names):
    """One section.  names: all that D has of this kind, in order."""
    from pydtrace.dlang.builtins.unsupported import DECLARED_VARIABLES, ENGINE_NOTES, UNSUPPORTED

    lines = [
        "",
        f"## {title}",
        "| name | what it is | embedded | kernel |",
        "| --- | --- | --- | --- |",
    ]
    for name in names:
        row = table.get(name)
        if name in DECLARED_VARIABLES:
            lines.append(f"| `{name}` | {' | '.join(DECLARED_VARIABLES[name])} |")
        elif row is None:
            reason = UNSUPPORTED[name]
            lines.append(f"| `{name}` | | no: {reason} | no |")
        elif getattr(row, "is_refused", False):
            lines.append(f"| `{name}` | | no: {row.doc} | no |")
        else:
            embedded, kernel = ENGINE_NOTES.get(name, ("works", "works"))
            lines.append(f"| `{name}` | {row.doc} | {embedded} | {kernel} |")
    return lines


def names():
    """The sections on the built-in names."""
    from pydtrace.dlang.builtins import ACTIONS, AGGREGATIONS, SUBROUTINES, VARIABLES
    from pydtrace.dlang.builtins import prototypes as p
    from pydtrace.dlang.builtins.unsupported import DECLARED_VARIABLES

    def functions(kind, table):
        return sorted({*table, *(name for name, known in p.FUNCTIONS.items() if known[0] == kind)})

    variables = {*VARIABLES, *p.OTHER_VARIABLES, *DECLARED_VARIABLES, *p.OTHER_ARRAYS} - {
        "__curthread"
    }
    lines = rows_of("Built-in variables", VARIABLES, sorted(variables))
    lines += rows_of("Subroutines", SUBROUTINES, functions(p.FUNCTION, SUBROUTINES))
    lines += rows_of("Aggregating functions", AGGREGATIONS, functions(p.AGGREGATING, AGGREGATIONS))
    lines += rows_of("Actions", ACTIONS, functions(p.ACTION, ACTIONS))
    return lines


def suite():
    """The section on DTrace's own tests: those of tests/conformance/failing.txt, with the reasons."""
    with open(FAILING, encoding="utf-8") as file:
        head, rest = file.read().strip().split("\n\n", 1)
    lines = [
        "",
        "## DTrace's own tests",
        head.replace("# ", ""),
        "",
        "| test | why it fails |",
        "| --- | --- |",
    ]
    for line in rest.splitlines():
        test, _, reason = line.partition("  ")
        lines.append(
            f"| `{test.removeprefix('test/').removeprefix('unittest/')}` | {reason.strip()} |"
        )
    return lines


def text():
    """The page."""
    with open(TEMPLATE, encoding="utf-8") as file:
        page = file.read()
    for place, lines in (("@BUILT_IN_NAMES@", names()), ("@DTRACE_TESTS@", suite())):
        page = page.replace(f"{place}\n", "\n".join(lines) + "\n")
    return page


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(TOP, "src"))
    if sys.argv[1:] == ["--print"]:
        print(text(), end="")
    else:
        with open(PATH, "w", encoding="utf-8") as file:
            file.write(text())
