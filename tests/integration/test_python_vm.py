"""The provider `python` in programs that know nothing of it: its events against the programs' own counters.

Input: programs/vm_*.py, which count what they do and print it.

- What is compared is the program's count and the tracer's, never a number that this file knows.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.support import harness
from tests.support.python_vm_scripts import (
    OBJECTS,
    TASKS,
    check_objects,
    check_tasks,
    counted,
    table,
)

pytestmark = pytest.mark.own_processes
BY_MONITORING = sys.version_info >= (3, 12)
TRAPS = os.path.join(harness.PROGRAMS, "vm_traps.py")
COUNTED = os.path.join(harness.PROGRAMS, "vm_counted.py")


@pytest.fixture
def traced(pydtrace):
    """traced(SCRIPT, PROGRAM, ARGUMENT …) -> Run of pydtrace -c"""

    def run(
        script: str, program: str, *arguments: object, options: tuple[str, ...] = (), **more
    ) -> harness.Run:
        return pydtrace(
            "-q", *options, "-n", script, "-c", harness.program(program, *arguments), **more
        )

    return run


def test_functions(traced):
    run = traced(
        "python$target:__main__::function-entry, python$target:__main__::function-return { @[probename, probefunc, arg3] = count(); }",
        "vm_counted.py",
        7,
    )
    own, seen = counted(run), table(run)
    for name in ("plain", "Shape.area", "failing"):
        shown = (
            name if sys.version_info >= (3, 11) else name.rpartition(".")[2]
        )  # before, code has no qualified name
        assert seen["function-entry", shown, "0"] == own[name], run
    assert seen["function-return", "plain", "0"] == own["plain"], run
    assert seen["function-return", "failing", "2"] == own["failing"], run


def test_generators(traced):
    """Entered once anew, then resumed; each yield leaves it."""
    run = traced(
        "python$target::steps:function-entry, python$target::steps:function-return { @[probename, arg3] = count(); }",
        "vm_counted.py",
        4,
    )
    own = counted(run)
    assert table(run) == {
        ("function-entry", "0"): own["steps"],
        ("function-entry", "1"): own["resumes"],
        ("function-return", "0"): own["steps"],
        ("function-return", "1"): own["yields"],
    }, run


def test_where_a_function_is(traced):
    run = traced(
        "python$target::plain:function-entry { @[probemod, probefunc, copyinstr(arg0), copyinstr(arg1), arg2] = count(); }",
        "vm_counted.py",
    )
    with open(COUNTED) as file:
        line = 1 + file.read().split("\n").index("def plain(n):")
    assert table(run) == {
        ("__main__", "plain", COUNTED, "plain", str(line)): counted(run)["plain"]
    }, run


def test_lines(traced):
    run = traced("python$target:__main__:lined:line { @[arg2] = count(); }", "vm_counted.py", 6)
    own = counted(run)
    assert sum(table(run).values()) == own["lines"], run
    assert set(table(run).values()) == {own["rounds"]}, run


def test_exceptions(traced):
    """Once each, where it was raised; its text without a call of the program's code."""
    run = traced(
        "python$target:__main__::exception-raise { @[probefunc, copyinstr(arg3), copyinstr(arg4)] = count(); }",
        "vm_counted.py",
        6,
    )
    own, seen = counted(run), table(run)
    assert seen["failing", "LookupError", "no", "such", "thing"] == own["rounds"], run
    assert seen["raises", "Own", "own", "text"] == own["rounds"], run
    assert not any(keys[:2] == ("raises", "LookupError") for keys in seen), run


def test_no_code_of_the_program_is_run(traced):
    """For the text of an exception, or the name of a method of C: a metaclass, a property, a __str__ or a path's are the program's."""
    run = traced(
        r'python$target:__main__:fails:exception-raise { printf("%s: %s\n", copyinstr(arg3), copyinstr(arg4)); }'
        f'python$target::*.reverse:c-function-entry /copyinstr(arg0) == "{TRAPS}"/ {{ @[probemod, probefunc] = count(); }}',
        "vm_traps.py",
    )
    assert counted(run)["sprung"] == [], run
    for line in (
        "FileNotFoundError: [Errno 2] No such file: 'name'",
        "ValueError: first",
        "UnicodeDecodeError: utf-8",
    ):
        assert line in run.stdout.splitlines(), run
    assert table(run) == {("builtins", "list.reverse"): counted(run)["reversed"]}, (
        run
    )  # of whatever class the list is
    assert run.stdout.splitlines().count("FileNotFoundError: ") == 2, (
        run
    )  # with a path, and a str of the program's own


@pytest.mark.skipif(not BY_MONITORING, reason="host: before CPython 3.12 nothing tells of it")
def test_exceptions_that_are_handled(traced):
    run = traced(
        "python$target::raises:exception-handled { @[copyinstr(arg3)] = count(); }",
        "vm_counted.py",
        6,
    )
    own = counted(run)
    assert table(run) == {("LookupError",): own["rounds"], ("Own",): own["rounds"]}, run


def test_functions_of_c(traced):
    run = traced(
        "python$target:builtins:len:c-function-entry, python$target:builtins:len:c-function-return"
        f' /copyinstr(arg0) == "{COUNTED}"/ {{ @[probename, probemod, probefunc] = count(); }}',
        "vm_counted.py",
        6,
    )
    own = counted(run)
    assert table(run) == {
        ("c-function-entry", "builtins", "len"): own["len"],
        ("c-function-return", "builtins", "len"): own["len"],
    }


def test_what_is_no_code(traced):
    """The collector, imports, threads."""
    run = traced(
        "python$target:::gc-start, python$target:::gc-done { @a[probename] = count(); }"
        " python$target:::import-find-load-start, python$target:::import-find-load-done"
        ' /copyinstr(arg0) == "no_such_module_of_ours"/ { @[probename, arg1] = count(); }'
        ' python$target:::thread-start, python$target:::thread-stop /copyinstr(arg0) == "counted"/ { @b[probename] = count(); }',
        "vm_counted.py",
        6,
    )
    own, seen = counted(run)["rounds"], table(run)
    assert seen["thread-start",] == seen["thread-stop",] == own, run
    assert seen["import-find-load-start", "0"] == seen["import-find-load-done", "0"] == own, run
    assert seen["gc-start",] == seen["gc-done",] >= own, run


def test_audit_events(traced):
    """For who asks for them by their name: a pattern does not."""
    run = traced(
        'python$target:::audit /copyinstr(arg0) == "vm_counted.round"/ { @[probename] = count(); }',
        "vm_counted.py",
        6,
    )
    assert table(run) == {("audit",): counted(run)["rounds"]}, run
    run = traced("python$target:::a* { @[probename] = count(); }", "vm_counted.py", options=("-Z",))
    assert counted(run) and table(run) == {}, run


# --- threads that meet at new code ---------------------------------------------------------------------

MET = "python$target::made*:function-entry, python$target::made*:function-return"


def met(run: harness.Run) -> None:
    """Each call of each function was seen, entered and left."""
    own, seen = counted(run), table(run)
    assert not re.search("drop|given up", run.stderr), run
    assert seen == {
        (which, name): n
        for which in ("function-entry", "function-return")
        for name, n in own.items()
    }, run


@pytest.mark.parametrize("by", ["", "this->by = 1; "], ids=["counted", "by events"])
def test_code_that_comes_and_goes(traced, by):
    met(traced(f"{MET} {{ {by}@[probename, probefunc] = count(); }}", "vm_threads.py", 30))


@pytest.mark.long
def test_code_that_comes_and_goes_without_the_gil(python_of, tmp_path):
    """Without the GIL they ask for its place at the same time, too."""
    python, inside = python_of("without the GIL"), os.path.join(tmp_path, "bin", "python")
    subprocess.run([python, "-m", "venv", tmp_path], check=True)
    subprocess.run(
        [inside, "-m", "pip", "install", "-q", "--disable-pip-version-check", harness.ROOT],
        check=True,
    )
    program = f"{inside} -X gil=0 {os.path.join(harness.PROGRAMS, 'vm_threads.py')} 300"
    for by in ("", "this->by = 1; "):
        script = f"{MET} {{ {by}@[probename, probefunc] = count(); }}"
        met(
            harness.run(
                [os.path.join(tmp_path, "bin", "pydtrace"), "-q", "-n", script, "-c", program],
                timeout=120,
            )
        )


def test_tasks(traced):
    check_tasks(traced(TASKS, "vm_tasks.py", 6))


def test_tasks_of_a_program_that_runs(pydtrace):
    """asyncio is loaded by then; and the hooks go when the tracer does."""
    program = (
        "import asyncio, json, pyusdt.vm\npyusdt.vm.enable()\nrun, make = asyncio.events.Handle._run, asyncio.BaseEventLoop.create_task\n"
        "async def tick():\n    while True:\n        await asyncio.sleep(0.01)\n"
        "        print(json.dumps([asyncio.events.Handle._run is run, asyncio.BaseEventLoop.create_task is make]), flush=True)\n"
        "asyncio.run(tick())"
    )
    with harness.running([sys.executable, "-c", program]) as process:
        assert process.stdout.readline() == "[true, true]\n"
        run = pydtrace(
            "-q",
            "-n",
            "python$target:::task-run { @ = count(); } task-run /++n == 5/ { exit(0); }",
            "-p",
            str(process.pid),
        )
        assert run.status == 0 and int(run.stdout) >= 5, run
        harness.wait_until(lambda: process.stdout.readline() == "[true, true]\n")


@pytest.mark.skipif(
    sys.version_info < (3, 13), reason="host: CPython before 3.13 does not tell of objects"
)
def test_objects(traced):
    run = traced(OBJECTS, "vm_objects.py", 500)
    check_objects(run, frees=sys.version_info >= (3, 14))
