"""Makes docs/reference/language.md and docs/internals/dtrace-differences.md: the prose of NAME.md.in, with a table put into each.

    python docs/make_language.py            writes the pages
    python docs/make_language.py --print    shows them

Input: the templates; the records of the built-in names in src/pydtrace/dlang/builtins;
tests/conformance/failing.txt.

- What the tables say of a name is in its record, or, if it has none, in builtins/unsupported.py.
"""

import os
import re
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)
FAILING = os.path.join(TOP, "tests", "conformance", "failing.txt")


_ARGUMENT = re.compile("arg[1-9]")


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
        if name == "arg0":  # one row for all ten, which differ in their numbers
            lines.append(
                "| `arg0` … `arg9` | the first ten arguments of the probe, 0 if it has fewer | works | works |"
            )
        elif _ARGUMENT.fullmatch(name):
            continue
        elif name in DECLARED_VARIABLES:
            lines.append(f"| `{name}` | {' | '.join(DECLARED_VARIABLES[name])} |")
        elif row is None:
            reason = UNSUPPORTED[name]
            lines.append(f"| `{name}` | | no: {reason} | no |")
        elif getattr(row, "is_refused", False):
            lines.append(f"| `{name}` | | no: {row.doc} | no |")
        else:
            embedded, kernel = ENGINE_NOTES.get(name, ("works", "works"))
            needs = " (needs `-x pyusdt`)" if getattr(row, "is_extension", False) else ""
            lines.append(f"| `{name}` | {row.doc}{needs} | {embedded} | {kernel} |")
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


# The pages: path below docs/, what is put into it, where.
PAGES = (
    ("reference/language.md", "@BUILT_IN_NAMES@", names),
    ("internals/dtrace-differences.md", "@DTRACE_TESTS@", suite),
)


def text(page, place, make_lines):
    """A page: its template with the lines in their place."""
    with open(os.path.join(TOP, "docs", f"{page}.in"), encoding="utf-8") as file:
        return file.read().replace(f"{place}\n", "\n".join(make_lines()) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(TOP, "src"))
    for row in PAGES:
        if sys.argv[1:] == ["--print"]:
            print(text(*row), end="")
        else:
            with open(os.path.join(TOP, "docs", row[0]), "w", encoding="utf-8") as file:
                file.write(text(*row))
