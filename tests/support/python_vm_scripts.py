"""Scripts for the provider python, and checks of what they print."""

from __future__ import annotations

import json
import os
import re

from tests.support import harness


def counted(run: harness.Run) -> dict[str, int]:
    """What a program has counted itself."""
    assert run.status == 0, run
    return json.loads(next(line for line in run.stdout.splitlines() if line.startswith("{")))


def table(run: harness.Run) -> dict[tuple[str, ...], int]:
    """{keys of an aggregation: count}"""
    rows = [line.split() for line in run.stdout.splitlines() if re.match(r"  +\S.* \d+$", line)]
    return {tuple(row[:-1]): int(row[-1]) for row in rows}


def by_function(run: harness.Run) -> dict[str, int]:
    """{the first key of an aggregation: count}"""
    return {keys[0]: count for keys, count in table(run).items()}


# A program that calls a function again and again, once it has printed a line
PAUSES = "import sys, time\ndef here(): time.sleep(0.01)\nprint('ready', flush=True)\nwhile True: here()\n"

TASKS = (
    'python$target:::task-* /copyinstr(arg1) != "Task-1"/ { @[probename, copyinstr(arg2)] = count(); }'
    ' python$target:::task-suspend /copyinstr(arg2) == "pauses" || copyinstr(arg2) == "waits_for"/'
    " { @waits[copyinstr(arg1), copyinstr(arg3), copyinstr(arg4)] = count(); }"
    ' python$target:::task-done /copyinstr(arg1) == "failing" || copyinstr(arg1) == "sleeping" || copyinstr(arg1) == "forgotten"/'
    ' { @done[copyinstr(arg1), arg3, copyinstr(arg4) == "" ? "-" : copyinstr(arg4), arg5] = count(); }'
)


def check_tasks(run: harness.Run) -> None:
    """Against what programs/vm_tasks.py has counted: steps of the outermost coroutine alone, whatever it awaits."""
    own, seen = counted(run), table(run)
    pausing = own["suspended"] // 3  # tasks of three pauses each
    assert seen["task-create", "pauses"] == seen["task-done", "pauses"] == pausing, run
    assert (
        seen["task-suspend", "pauses"] == own["suspended"]
        and seen["task-run", "pauses"] == own["suspended"] + pausing
    ), run
    assert (
        sum(
            n
            for keys, n in seen.items()
            if keys[0] == "task-create" and not keys[1].startswith("BaseEventLoop")
        )
        == own["created"]
    ), run
    assert (
        seen["pausing", "sleep", "_asyncio.Future"] == own["suspended"]
        and seen["waiting", "waits_for", "pausing"] == 1
    ), run
    assert seen["failing", "1", "LookupError", "1"] == own["raised"], run
    assert (
        sum(n for keys, n in seen.items() if keys[:2] == ("sleeping", "2")) == own["cancelled"]
    ), run
    assert seen["forgotten", "0", "-", "0"] == 1, run


OBJECTS = 'python$target:::alloc, python$target:::free /copyinstr(arg0) == "Own"/ { @[probename] = count(); }'


def check_objects(run: harness.Run, frees: bool) -> None:
    own, seen = counted(run), table(run)
    assert seen["alloc",] == own["made"], run
    assert not frees or seen["free",] == own["freed"], run


def seen(run: harness.Run) -> dict[str, int]:
    rows = [line.split() for line in run.stdout.splitlines() if line.startswith("  ")]
    return {row[0]: int(row[-1]) for row in rows if row}


PAGE = os.path.join(harness.ROOT, "docs", "reference", "python-vm.md")


def table_of(minor: int) -> set[str]:
    """The probes that the page has for CPython 3.minor."""
    with open(PAGE) as file:
        return {
            name
            for name, since in re.findall(
                r"^\| `([\w-]+)` \| [^|]+ \| 3\.(\d+)", file.read(), re.MULTILINE
            )
            if int(since) <= minor
        }
