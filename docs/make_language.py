"""docs/LANGUAGE.md from the tables in src/pyusdt/dlang: every built-in name of D, its state in each engine,
and why it is left out where it is.

    python docs/make_language.py            writes docs/LANGUAGE.md
    python docs/make_language.py --print    shows it
"""

import os
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)
PATH = os.path.join(TOP, "docs", "LANGUAGE.md")
_HEAD = """<!-- Made by docs/make_language.py from the tables in src/pyusdt/dlang; do not edit. -->
# D in pyusdt: built-in names

Every built-in variable and function of dtrace 2.0, and what pyusdt makes of it. The engines run the same compiled
program; where they differ, the column says how.
"""


def rows_of(title, table, names):
    """One section.  names: all that D has of this kind, in order."""
    from pyusdt.dlang.builtins.absent import ABSENT, NOTES
    from pyusdt.dlang.prelude import NAMES

    lines = ["", f"## {title}", "| name | what it is | embedded | kernel |", "| --- | --- | --- | --- |"]
    for name in names:
        row = table.get(name)
        if name in NAMES:
            lines.append(f"| `{name}` | `<unknown>`, as in dtrace 2.0 | works | works |")
        elif row is None:
            reason = ABSENT[name]
            lines.append(f"| `{name}` | | no: {reason} | no |")
        elif getattr(row, "kind", None) == "refused":
            lines.append(f"| `{name}` | | no: {row.doc} | no |")
        else:
            embedded, kernel = NOTES.get(name, ("works", "works"))
            lines.append(f"| `{name}` | {row.doc} | {embedded} | {kernel} |")
    return lines


def text():
    from pyusdt.dlang import prototypes as p
    from pyusdt.dlang.builtins import ACTIONS, AGGREGATIONS, SUBROUTINES, VARIABLES

    def functions(kind, table):
        return sorted({*table, *(name for name, known in p.FUNCTIONS.items() if known[0] == kind)})

    lines = rows_of("Variables", VARIABLES, sorted({*VARIABLES, *p.OTHER_VARIABLES}))
    lines += rows_of("Subroutines", SUBROUTINES, functions(p.FUNCTION, SUBROUTINES))
    lines += rows_of("Aggregating functions", AGGREGATIONS, functions(p.AGGREGATING, AGGREGATIONS))
    lines += rows_of("Actions", ACTIONS, functions(p.ACTION, ACTIONS))
    return _HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(TOP, "src"))
    if sys.argv[1:] == ["--print"]:
        print(text(), end="")
    else:
        with open(PATH, "w", encoding="utf-8") as file:
            file.write(text())
