"""The provider `python` gets into programs: of other versions than the tracer's, of children, of processes that run.

Input: CPythons of this machine, and pyusdt built for them (python_builds.py).

- What is listed is what the traced Python has, whichever the tracer's is; what can not be is
  said.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys

import pytest

from tests.support import harness, python_builds
from tests.support.python_vm_scripts import (
    OBJECTS,
    PAUSES,
    TASKS,
    by_function,
    check_objects,
    check_tasks,
    table_of,
)

pytestmark = pytest.mark.xdist_group("integration/test_python_vm_injection")
MINOR = sys.version_info[1]
SHORT = {f"3.{MINOR}", "3.14", "3.15"}


# --- another version than the tracer's -----------------------------------------------------


@pytest.mark.parametrize("version", ["3.14", "3.15"])
def test_another_version(other, program, version):
    """All that this version has and the tracer's may not: matched, listed and seen."""
    python = other(version)
    path = program(
        "def here(): pass\nfor _ in range(7): here()\ntry: 1 / 0\nexcept ZeroDivisionError: print('caught')\n"
    )
    probes = "python$target:__main__::exception-handled, python$target:__main__:here:function-entry"
    run = harness.run(
        [
            *python_builds.pydtrace(),
            "-q",
            "-n",
            probes + " { @[probename] = count(); }",
            "-c",
            f"{python} {path}",
        ]
    )
    assert (run.status, run.stderr) == (0, ""), run
    assert run.stdout.startswith("caught\n") and by_function(run) == {
        "exception-handled": 1,
        "function-entry": 7,
    }, run
    listed = harness.run(
        [
            *python_builds.pydtrace(),
            "-l",
            "-n",
            "python$target:::exception-*",
            "-c",
            f"{python} {path}",
        ]
    )
    assert [line.split()[-1] for line in listed.stdout.splitlines()[1:]] == [
        "exception-handled",
        "exception-raise",
    ], listed


@pytest.mark.parametrize(
    "version",
    [
        version if version in SHORT else pytest.param(version, marks=pytest.mark.long)
        for version in harness.VERSIONS
    ],
)
def test_every_probe_of_a_version(other, version):
    """All that the page has for it fire, and no others."""
    python = other(version)
    script = "python$target:::, python$target:::audit { @[probename] = count(); }"
    run = harness.run(
        [
            *python_builds.pydtrace(),
            "-q",
            "-n",
            script,
            "-c",
            f"{python} {os.path.join(harness.PROGRAMS, 'vm_all.py')}",
        ]
    )
    minor = int(harness.run([python, "-c", "import sys; print(sys.version_info[1])"]).stdout)
    assert (
        run.status == 0
        and run.stdout.startswith("done\n")
        and set(by_function(run)) == table_of(minor)
    ), run


@pytest.mark.parametrize("version", ["3.14", "3.15"])
def test_tasks_and_objects_of_another_version(other, version):
    python = other(version)
    for script, name, check in [
        (TASKS, "vm_tasks.py", check_tasks),
        (OBJECTS, "vm_objects.py", lambda run: check_objects(run, frees=True)),
    ]:
        command = f"{python} {os.path.join(harness.PROGRAMS, name)} 50"
        check(
            harness.run([*python_builds.pydtrace(), "-q", "-n", script, "-c", command], timeout=60)
        )


@pytest.mark.parametrize("version", ["3.14", "3.15"])
def test_who_makes_objects(other, version):
    """scripts/py-alloc.d, which the Python of the tests may be too old for."""
    script = os.path.join(harness.ROOT, "scripts", "py-alloc.d")
    run = harness.run(
        [
            *python_builds.pydtrace(),
            "-q",
            "-s",
            script,
            "-c",
            f"{other(version)} {os.path.join(harness.PROGRAMS, 'vm_objects.py')} 400",
        ]
    )
    assert run.status == 0 and re.search(r"^  Own +400 +\d+$", run.stdout, re.MULTILINE), run
    assert re.search(
        r"^  Own\n<module> \(\S+vm_objects\.py:\d+\)\n +397$",
        run.stdout.partition("\nwhere\n")[2],
        re.MULTILINE,
    ), run


def test_a_list_starts_nothing(pydtrace, program):
    path = program("open(__file__ + '.ran', 'w')\n")
    listed = pydtrace("-l", "-P", "python$target", "-c", f"{sys.executable} {path}")
    assert listed.status == 0 and "function-entry" in listed.stdout, listed
    assert ("exception-handled" in listed.stdout) == (MINOR >= 12) and not os.path.exists(
        path + ".ran"
    ), listed


def test_a_version_for_which_nothing_is_built(pydtrace, other, program):
    """It is said before anything runs.  The tree's own pyusdt is for the Python of the tests alone."""
    python = other("3.14" if MINOR != 14 else "3.15")
    run = pydtrace("-n", "python$target:::function-entry", "-c", f"{python} {program('print(1)')}")
    assert run.status == 1 and "1\n" not in run.stdout.splitlines(), run
    assert (
        f"{python} is CPython 3." in run.stderr and f"this pyusdt is for 3.{MINOR}" in run.stderr
    ), run


def test_what_is_no_cpython_of_today(pydtrace, tmp_path):
    old = tmp_path / "python2"
    old.write_text("#!/bin/sh\necho 2 7 True\n")
    old.chmod(0o755)
    run = pydtrace("-n", "python$target:::function-entry", "-c", f"{old} x.py")
    assert (
        run.status == 1
        and f"{old} is Python 2.7; the provider python needs CPython 3.10 or later" in run.stderr
    ), run


def test_a_script_whose_first_line_is_deaf(pydtrace, program):
    """Debian's own programs begin so."""
    path = program(f"#!{sys.executable} -Es\nprint(1)\n", "tool")
    os.chmod(path, 0o755)
    run = pydtrace("-n", "python$target:::function-entry", "-c", path)
    assert run.status == 1 and "with -E Python takes nothing from its environment" in run.stderr, (
        run
    )


TAKEN = """
import sys, time, pyusdt.vm
tools, n = sys.monitoring, 0
def here(): time.sleep(0.01)
def entered(code, offset):
    global n
    n += code is here.__code__
pyusdt.vm.enable()
print("ready", flush=True)
while not tools.get_tool(4): here()
tools.free_tool_id(4)
tools.use_tool_id(4, "another")
tools.register_callback(4, tools.events.PY_START, entered)
tools.set_events(4, tools.events.PY_START)
print("taken", flush=True)
sys.stdin.readline()
pyusdt.vm.disable() # whatever the watcher has done until now
before = n
here()
print(tools.get_tool(4), tools.get_events(4) == tools.events.PY_START, n - before)
"""


def test_our_tool_id_is_taken_from_us(other, program):
    """By a program that frees all ids: then it is the program's, and stays so when the tracer goes."""
    command = [other("3.14"), program(TAKEN)]
    with harness.running(
        command, stdin=subprocess.PIPE, env={**os.environ, "PYTHONPATH": python_builds.ROOM}
    ) as process:
        assert process.stdout.readline() == "ready\n"
        tracer = harness.start(
            [
                *python_builds.pydtrace(),
                "-q",
                "-n",
                "python$target:::function-entry { @ = count(); }",
                "-p",
                str(process.pid),
            ]
        )
        assert process.stdout.readline() == "taken\n"
        tracer.terminate()
        harness.finish(tracer, 60)
        said, errors = process.communicate("\n", timeout=60)
    assert (said, errors) == ("another True 1\n", "")


# --- children --------------------------------------------------------------------------------

PARENT = """
import multiprocessing, subprocess, sys
def inner(): pass
if __name__ == "__main__":
    subprocess.run([sys.executable, "-c", "def inner(): pass\\ninner()"], check=True)
    child = multiprocessing.get_context("spawn").Process(target=inner)
    child.start()
    child.join()
    print(child.exitcode, sys.path)
"""


@pytest.mark.parametrize(
    ("options", "provider", "calls"),
    [((), "python$target", 0), ((), "python*", 2), (("-x", "pychildren"), "python*", 2)],
)
def test_children_only_where_they_are_asked_for(pydtrace, program, options, provider, calls):
    command = [sys.executable, program(PARENT)]
    untraced = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    run = pydtrace(
        "-q",
        *options,
        "-n",
        f"{provider}::inner:function-entry {{ @[probefunc] = count(); }}",
        "-c",
        " ".join(command),
    )
    assert (
        run.status == 0 and (not calls or run.stderr == "") and run.stdout.startswith(untraced)
    ), run
    assert by_function(run).get("inner", 0) == calls, run


# --- processes that run ------------------------------------------------------------------------


def test_right_after_its_start(program):
    """-p finds the provider of a process that has just begun: it waits until the process has published it."""
    path = program(
        f"import time\ntime.sleep(0.3)\nimport sys\nsys.path.insert(0, {os.path.join(harness.ROOT, 'src')!r})\n"
        "import pyusdt.vm\npyusdt.vm.enable()\n" + PAUSES
    )
    with harness.running([sys.executable, path]) as process:
        run = harness.run(
            [
                harness.PYDTRACE,
                "-q",
                "-n",
                'python$target::here:function-entry { printf("%s\\n", probefunc); exit(0); }',
                "-p",
                str(process.pid),
            ]
        )
        assert (run.status, run.stdout, run.stderr) == (0, "here\n\n", ""), run


PREPARED = {
    "environment": ({"PYUSDT_VM": "1"}, [], "import pyusdt\n"),
    "module": ({}, ["-m", "pyusdt"], ""),
    "enable": ({}, [], "import pyusdt.vm\npyusdt.vm.enable()\n"),
}


@pytest.mark.parametrize("way", PREPARED)
def test_a_program_that_wants_it(pydtrace, program, way):
    """The three ways in which it can: -p finds the provider, and sees the functions that run."""
    environment, options, first = PREPARED[way]
    with harness.running(
        [sys.executable, *options, program(first + PAUSES)], env={**os.environ, **environment}
    ) as process:
        assert process.stdout.readline() == "ready\n"
        run = pydtrace(
            "-q",
            "-n",
            "python$target:__main__:here:function-entry { @[probemod] = count(); } here:function-entry { exit(0); }",
            "-p",
            str(process.pid),
        )
        assert (run.status, run.stderr) == (0, "") and by_function(run)["__main__"] >= 1, run
        assert process.poll() is None


def test_a_program_that_knows_nothing(pydtrace, program):
    """Nothing is brought into it unasked, and the message names what can be done."""
    with knowing_nothing(sys.executable, program(PAUSES)) as process:
        run = pydtrace("-n", "python$target::here:function-entry", "-p", str(process.pid))
        assert run.status == 1 and process.poll() is None, run
    for way in ("python -m pyusdt app.py", f"pydtrace --attach -p {process.pid}"):
        assert way in run.stderr, run


@contextlib.contextmanager
def knowing_nothing(python: str, path: str):
    """A process that runs for a while, and in which nothing of pyusdt is."""
    with harness.running([python, path]) as process:
        assert process.stdout.readline() == "ready\n"
        yield process


# --- what the interpreter does otherwise from a version on --------------------------------------

ONE_LINE = """
def short(n): return n + 1
def two(): yield 1; yield 2
def long(n):
    return n + 1
key = lambda n: n
for n in range(3): short(n); long(n); key(n); list(two())
"""


@pytest.mark.parametrize(
    "version",
    [
        version if version in SHORT else pytest.param(version, marks=pytest.mark.long)
        for version in harness.VERSIONS
    ],
)
def test_lines_of_functions_of_one_line(other, program, version):
    script = 'python$target:__main__::line /probefunc != "<module>"/ { @[probefunc] = count(); }'
    run = harness.run(
        [
            *python_builds.pydtrace(),
            "-q",
            "-n",
            script,
            "-c",
            f"{other(version)} {program(ONE_LINE)}",
        ]
    )
    lines = by_function(run)
    assert (run.status, run.stderr) == (0, "") and lines.pop("two") >= 3, run
    assert lines == {"short": 3, "long": 3, "<lambda>": 3}, run


NEIGHBOUR = """
import sys, pyusdt.vm
tools, seen = sys.monitoring, []
def met(code, at):
    seen.append((code.co_name, at))
    return tools.DISABLE
tools.use_tool_id(tools.COVERAGE_ID, "coverage")
for event in (tools.events.LINE, tools.events.PY_START, tools.events.PY_RETURN):
    tools.register_callback(tools.COVERAGE_ID, event, met if event != tools.events.PY_RETURN else lambda code, at, value: met(code, at))
tools.set_events(tools.COVERAGE_ID, tools.events.LINE | tools.events.PY_START | tools.events.PY_RETURN)
def inner():
    return 1
def outer():
    return inner()
def rest():
    pass
outer(), rest()
pyusdt.vm.enable()
seen.clear()
print("ready", flush=True)
for line in sys.stdin:
    outer(), rest()
    print([name for name, _ in seen if name in ("inner", "outer", "rest")], flush=True)
    seen.clear()
"""


@pytest.mark.parametrize("version", ["3.14", "3.15"])
def test_what_a_neighbour_has_switched_off_stays_off(other, program, version):
    """Whoever begins to trace, changes what he traces, or ends; and the tracer sees all that it asks for."""
    command = [other(version), program(NEIGHBOUR)]
    with harness.running(
        command, stdin=subprocess.PIPE, env={**os.environ, "PYTHONPATH": python_builds.ROOM}
    ) as process:
        assert process.stdout.readline() == "ready\n"

        def go() -> str:
            process.stdin.write("\n")
            process.stdin.flush()
            return process.stdout.readline()

        def traced(wanted: str, inside=lambda: None, first: str = "[]\n") -> dict[str, int]:
            script = f'{wanted} {{ @[probefunc] = count(); }} tick-100ms {{ printf("on\\n"); }}'
            tracer = harness.start(
                [*python_builds.pydtrace(), "-q", "-n", script, "-p", str(process.pid)]
            )
            assert (
                tracer.stdout.readline() == "on\n"
                and tracer.stdout.readline() == "on\n"
                and go() == first
            )
            inside()
            tracer.terminate()
            return by_function(harness.finish(tracer, 60))

        assert go() == "[]\n"
        assert traced("python$target:__main__:outer:function-entry") == {"outer": 1}
        assert go() == "[]\n"
        both = traced(
            "python$target:__main__:inner:function-return",
            lambda: traced("python$target:__main__:outer:function-entry"),
        )
        assert both == {"inner": 2}
        assert traced("python$target:__main__:*er:function-entry") == {"inner": 1, "outer": 1}
        # CPython makes a function's table of lines anew when a second tool asks for them: of this function, once
        assert traced(
            "python$target:__main__:inner:line",
            lambda: traced("python$target:__main__:rest:function-entry"),
            "['inner']\n",
        ) == {"inner": 2}
