"""What random programs contained, as a table: docs for people, and the test's proof that nothing was left out.

Input: the Counter of random_values.Values, what was compared.
Output: Markdown, with the runs that runs.tsv keeps.
"""

import csv
import datetime
import os
import platform

from tests.support.paths import TESTS

RUNS = os.path.join(TESTS, "differential", "runs.tsv")
LEAST = 50  # what is demanded of each row
_TITLES = {
    "operator": "Operators by the type of their operands",
    "action": "Actions",
    "aggregating": "Aggregating functions",
    "subroutine": "Subroutines",
    "type": "Types and what a script is given",
    "conversion": "Conversions of printf() and printa()",
}


def rows(counts, kind):
    """[(name, type or "", count)] of a kind, sorted."""
    return sorted((name, type, n) for (each, name, type), n in counts.items() if each == kind)


def scarce(counts):
    """The rows with fewer than LEAST, as texts."""
    return [
        f"{kind} {name} {type}".strip()
        for kind in _TITLES
        for name, type, n in rows(counts, kind)
        if n < LEAST
    ]


def keep(compared, differences, engines, seeds):
    """A row for this run, in the place of one that began with the same seed."""
    row = [
        str(datetime.date.today()),
        f"{seeds[0]} to {seeds[-1]}",
        ", ".join(engines),
        str(compared),
        str(differences),
    ]
    with open(RUNS, encoding="utf-8") as file:
        lines = [
            line
            for line in file
            if not line.split("\t")[1:2] or not line.split("\t")[1].startswith(f"{seeds[0]} ")
        ]
    with open(RUNS, "w", encoding="utf-8") as file:
        file.writelines([*lines, "\t".join(row) + "\n"])


def kept():
    """The rows of RUNS as a table."""
    with open(RUNS, encoding="utf-8") as file:
        found = list(
            csv.reader((line for line in file if not line.startswith("#")), delimiter="\t")
        )
    return [
        "",
        "## Runs",
        "| date | seeds | engines | clauses | differences |",
        "| --- | --- | --- | --- | --- |",
        *["| " + " | ".join(row) + " |" for row in found],
    ]


def table(counts, compared, differences, engines, seeds):
    lines = [
        "<!-- Made by tests/differential/differential.py --coverage; do not edit. -->",
        "# What the random programs covered",
        "",
        (
            f"{datetime.date.today()}, {platform.system()} {platform.release()}: {compared} clauses, run by {', '.join(engines)} "
            f"and dtrace 2.0.7; seeds {seeds[0]} to {seeds[-1]}; {differences} differences that docs/reference/language.md does not explain."
        ),
        f"{len(scarce(counts))} of {len(counts)} figures are below the {LEAST} that `make test-long` demands in its 10,000 clauses.",
        *kept(),
    ]
    for kind, title in _TITLES.items():
        found = rows(counts, kind)
        if not found:
            continue
        lines += ["", f"## {title}"]
        if kind == "operator":
            types = sorted({type for _, type, _ in found})
            by_name = {}
            for name, type, n in found:
                by_name.setdefault(name, {})[type] = n
            lines += ["| | " + " | ".join(types) + " |", "| --- |" + " --- |" * len(types)]
            lines += [
                f"| `{name}` | ".replace("||", "\\|\\|")
                .replace("`|`", "`\\|`")
                .replace("`|=`", "`\\|=`")
                + " | ".join(str(by_name[name].get(type, "")) for type in types)
                + " |"
                for name in sorted(by_name)
            ]
        else:
            lines += ["| | |", "| --- | --- |"] + [f"| `{name}` | {n} |" for name, _, n in found]
    return "\n".join(lines) + "\n"
