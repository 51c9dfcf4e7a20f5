"""The frame hook by which functions are seen before CPython 3.12: it stays away from other tools', and the stack of C is left to the
program.

Input: programs written here, which count their calls themselves.

- What is compared is the program's count and the tracer's.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import textwrap

import pytest

from tests.support import harness, python_builds

pytestmark = pytest.mark.own_processes
# A tool that has a frame hook of its own, which counts what it sees of f().
TOOL = """
#include <Python.h>
#include <frameobject.h>

static _PyFrameEvalFunction before;
static long frames;

#if PY_VERSION_HEX < 0x030b0000
#define _PyInterpreterFrame PyFrameObject
#else
#define _PyInterpreterFrame struct _PyInterpreterFrame
#endif

static PyObject *counts(PyThreadState *thread, _PyInterpreterFrame *frame, int thrown)
{
    frames++;
    return before(thread, frame, thrown);
}

static PyObject *set(PyObject *self, PyObject *unused)
{
    before = _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get());
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), counts);
    Py_RETURN_NONE;
}

static PyObject *look(PyObject *self, PyObject *unused)
{
    _PyFrameEvalFunction there = _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get());

    return Py_BuildValue("sl", there == counts ? "ours" : there == _PyEval_EvalFrameDefault ? "none" : "another", frames);
}

static PyMethodDef methods[] = {{"set", set, METH_NOARGS, NULL}, {"look", look, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "hooks", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_hooks(void)
{
    return PyModule_Create(&module);
}
"""
COUNT = "python$target:__main__::function-entry, python$target:__main__::function-return { this->by = 1; @[probename, probefunc] = count(); }"


@pytest.fixture(scope="module", params=[pytest.param("3.10", marks=pytest.mark.long), "3.11"])
def python(request) -> str:
    path = python_builds.find(request.param)
    if path is None:
        pytest.skip(f"host: no CPython {request.param}")
    python_builds.build(path)
    return path


@pytest.fixture
def has_inline_calls(python):
    """Calls of Python code do not take room on the stack of C, but for the hook."""
    return "3.10" not in python


@pytest.fixture(scope="module")
def hooks(python, tmp_path_factory):
    """The folder of the module `hooks`."""
    folder = tmp_path_factory.mktemp("hooks")
    (folder / "hooks.c").write_text(TOOL)
    asked = subprocess.run(
        [
            python,
            "-c",
            "import sysconfig as s; print(s.get_paths()['include'], s.get_config_var('EXT_SUFFIX'))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    include, suffix = asked.stdout.split()
    subprocess.run(
        [
            "gcc",
            "-O2",
            "-shared",
            "-fPIC",
            f"-I{include}",
            folder / "hooks.c",
            "-o",
            folder / f"hooks{suffix}",
        ],
        check=True,
    )
    return folder


@pytest.fixture
def pydtrace(python, hooks):
    """pydtrace(SCRIPT, TEXT) -> what it and the program of this text printed"""

    def run(script: str, text: str) -> list[str]:
        path = hooks / "app.py"
        path.write_text(textwrap.dedent(text))
        done = harness.run(
            [*python_builds.pydtrace(), "-q", "-n", script, "-c", f"{python} {path}"],
            env={**os.environ, "PYTHONPATH": f"{hooks}:{python_builds.ROOM}"},
        )
        assert (done.status, done.stderr) == (0, ""), done
        return [line for line in done.stdout.splitlines() if line.strip()]

    return run


@pytest.fixture
def traced(pydtrace):
    """traced(TEXT, SCRIPT=COUNT) -> (what the program printed, {(probe, function): count})"""

    def run(text: str, script: str = COUNT) -> tuple[list[str], dict[tuple[str, str], int]]:
        lines = pydtrace(script, text)
        rows = [line.split() for line in lines if line.startswith("  ")]
        return [line for line in lines if not line.startswith("  ")], {
            (row[0], row[1]): int(row[2]) for row in rows if len(row) == 3
        }

    return run


def test_functions_need_no_profile_function(traced):
    printed, counts = traced("""
        import hooks
        def f(): pass
        for _ in range(100): f()
        print(*hooks.look())
    """)
    assert printed == ["another 0"]
    assert counts["function-entry", "f"] == counts["function-return", "f"] == 100


def test_another_tools_hook_that_was_there_first(traced):
    """Whoever is there stays, and functions come by the profile function."""
    printed, counts = traced("""
        import hooks
        import pyusdt.vm
        pyusdt.vm.disable()
        hooks.set()
        pyusdt.vm.enable()
        def f(): pass
        for _ in range(100): f()
        place, frames = hooks.look()
        pyusdt.vm.disable()
        print(place, frames >= 100, *hooks.look()[:1])
    """)
    assert printed == ["ours True ours"]
    assert counts["function-entry", "f"] == counts["function-return", "f"] == 100


def test_another_tools_hook_that_came_later(traced):
    """It calls ours; it is not taken out with ours, either."""
    printed, counts = traced("""
        import hooks
        import pyusdt.vm
        hooks.set()
        def f(): pass
        for _ in range(100): f()
        place, frames = hooks.look()
        pyusdt.vm.disable()
        f()
        print(place, frames >= 100, *hooks.look()[:1])
    """)
    assert printed == ["ours True ours"]
    assert counts["function-entry", "f"] == counts["function-return", "f"] == 100


def test_calls_deeper_than_the_hook_goes(traced, has_inline_calls):
    """It takes itself out; the profile functions, from the middle of the recursion on, tell of each call once."""
    depth = 60_000 if has_inline_calls else 9_000
    printed, counts = traced(f"""
        import hooks, sys
        sys.setrecursionlimit(10**6)
        def down(n):
            return down(n - 1) if n > 1 else hooks.look()[0]
        print(down(10))
        print(down({depth}))
        def f(): pass
        for _ in range(100): f()
    """)
    if has_inline_calls:
        assert printed == ["another", "none"]
    assert counts["function-entry", "down"] == counts["function-return", "down"] == depth + 10
    assert counts["function-entry", "f"] == counts["function-return", "f"] == 100


def test_it_stays_away_while_functions_are_traced(traced, has_inline_calls, tmp_path):
    """Who else begins and ends to trace does not bring it back: the frame that had just begun was seen by neither, once in fifteen."""
    if not has_inline_calls:
        pytest.skip("host: 3.10 takes room on the stack of C for each call, hooked or not")
    other = shlex.join(
        [
            *python_builds.pydtrace(),
            "-qn",
            "python$target:other::function-entry { } tick-10ms { exit(0); }",
            "-p",
        ]
    )
    printed, counts = traced(f"""
        import hooks, os, sys, time
        sys.setrecursionlimit(10**6)
        def down(n):
            if n > 1:
                return down(n - 1)
            os.system({other!r} + f" {{os.getpid()}} 2>/dev/null && touch {tmp_path}/done &")
            while not os.access("{tmp_path}/done", os.F_OK):  # nothing here is a call of Python code, with which the hook would go again
                time.sleep(0.01)
            time.sleep(0.5)  # the thread that watches has noticed the end of it
            return hooks.look()[0]
        print(down(30_000))
    """)
    assert printed == ["none"]
    assert counts["function-entry", "down"] == counts["function-return", "down"] == 30_000


def test_threads_with_small_stacks(traced, has_inline_calls):
    """The usual limit of 1,000 calls is no more than a stack of 128 KiB holds where calls of Python do not use it."""
    size, depth = 131072 if has_inline_calls else 1 << 20, 900
    _, counts = traced(f"""
        import threading
        threading.stack_size({size})
        def down(n):
            return down(n - 1) if n > 1 else 0
        for _ in range(3):
            thread = threading.Thread(target=down, args=({depth},))
            thread.start()
            thread.join()
    """)
    assert counts["function-entry", "down"] == counts["function-return", "down"] == 3 * depth


def test_generators_and_what_is_thrown_into_them(traced):
    """arg3 of each entry and return, in their order."""
    printed, _ = traced(
        """
        def steps():
            try:
                yield 1
                yield 2
            except ValueError:
                yield 3
        one = steps()
        next(one), next(one), one.throw(ValueError)
        one.close()
        list(steps())
        async def waits(): return 5
        try:
            waits().send(None)
        except StopIteration as end:
            assert end.value == 5
    """,
        'python$target:__main__:steps:function-*, python$target:__main__:waits:function-* { printf("%s %s %d\\n", probefunc, probename, arg3); }',
    )
    entry, end = "function-entry", "function-return"
    first = [(entry, 0), (end, 1), (entry, 1), (end, 1), (entry, 2), (end, 1), (entry, 2), (end, 2)]
    every = [(entry, 0), (end, 1), (entry, 1), (end, 1), (entry, 1), (end, 0)]
    assert printed == [f"steps {probe} {how}" for probe, how in first + every] + [
        f"waits {entry} 0",
        f"waits {end} 0",
    ]


def test_an_exception_is_as_it_was(traced):
    """What passes through a frame is neither lost nor another, and the stack at both events has the function itself."""
    printed, counts = traced(
        """
        import traceback
        def inner(): return {}["missing"]
        def outer():
            try:
                inner()
            except KeyError as error:
                return error
        error = outer()
        print(type(error).__name__, [row.name for row in traceback.extract_tb(error.__traceback__)])
    """,
        "python$target:__main__:inner:function-* { @[probename, probefunc] = count(); jstack(); }",
    )
    assert printed == ["KeyError ['outer', 'inner']"]
    assert counts["function-entry", "inner"] == counts["function-return", "inner"] == 1


def test_the_stack_has_the_function_that_is_entered_or_left(pydtrace):
    rows = pydtrace(
        'python$target:__main__:inner:function-* { printf("%s", probename); jstack(2); }',
        "def inner(): return 1\ndef outer(): return inner()\nouter()\n",
    )
    assert sum("inner" in row for row in rows) == sum("outer" in row for row in rows) == 2, rows
