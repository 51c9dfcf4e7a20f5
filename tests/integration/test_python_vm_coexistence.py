"""The provider `python` among others: what it leaves alone, and how it gets into a program.

Input: programs/vm_*.py, and small ones written here.

- A program prints the same traced and untraced, unless the test is of what is said.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap

import pytest

import pyusdt
from tests.support import harness
from tests.support.python_vm_scripts import seen

BY_MONITORING = sys.version_info >= (3, 12)
ENTRIES = "python$target:::function-entry { @[copyinstr(arg1)] = count(); }"
EVERYTHING = "python$target::: { @ = count(); }"


@pytest.fixture
def same(pydtrace):
    """same(PATH, SCRIPT, *OPTIONS) -> Run: the program's own output is that of its untraced run, in which nothing of us is."""

    def run(path: str, script: str = EVERYTHING, *options: str, **more) -> harness.Run:
        alone = harness.run([sys.executable, *options, path], **more)
        traced = pydtrace(
            "-q", "-n", script, "-c", " ".join([sys.executable, *options, path]), **more
        )
        assert (alone.status, traced.status) == (0, 0), (alone, traced)
        assert traced.stdout.startswith(alone.stdout) and alone.stdout, (alone, traced)
        assert (traced.stderr, alone.stderr) == ("", ""), (alone, traced)
        return traced

    return run


# --- nothing while nobody traces ----------------------------------------------------------


def test_import_alone_starts_no_thread(program):
    path = program("""
        import os, pyusdt, sys
        print(len(os.listdir("/proc/self/task")), "pyusdt.vm" in sys.modules)
    """)
    assert harness.run([sys.executable, path]).stdout == "1 False\n"


# --- getting in ---------------------------------------------------------------------------


SURROUNDINGS = """
    import os, subprocess, sys
    print(sys.argv, sys.path, sorted(os.environ.items()), sys.modules.get("sitecustomize"), __name__, __file__, flush=True)
    subprocess.run([sys.executable, "-c", "import os, sys; print(sys.path, sorted(os.environ.items()), 'pyusdt' in sys.modules)"])
"""


@pytest.mark.parametrize("path", [None, "", "/nowhere:/else"])
def test_surroundings_are_as_ever(same, program, monkeypatch, path):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    if path is not None:
        monkeypatch.setenv("PYTHONPATH", path)
    same(program(SURROUNDINGS))


def test_sitecustomize_of_the_program(same, program, monkeypatch, tmp_path):
    program("import sys; sys.own = 'its own'", "sitecustomize.py")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert same(program(SURROUNDINGS + "    print(sys.own)")).stdout.splitlines()[2] == "its own"


def test_a_virtual_environment_without_pyusdt(program, pydtrace, tmp_path):
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True
    )
    bare = str(tmp_path / "bare" / "bin" / "python")
    assert harness.run([bare, "-c", "import pyusdt"]).status != 0
    run = pydtrace(
        "-q", "-n", ENTRIES, "-c", f"{bare} {program('def here(): pass' + chr(10) + 'here()')}"
    )
    assert seen(run)["here"] == 1, run


@pytest.mark.parametrize("option", ["-I", "-E", "-S", "-sE", "-W ignore -I"])
def test_a_python_that_hears_nothing(pydtrace, program, option):
    run = pydtrace("-q", "-n", EVERYTHING, "-c", f"{sys.executable} {option} {program('print(1)')}")
    letter = option.split("-")[-1][-1]
    assert (
        run.status == 1
        and f"with -{letter} Python takes nothing from its environment" in run.stderr
    ), run


def test_another_python(pydtrace, program, tmp_path):
    """One for which pyusdt is not built: the program runs, and it is said why there is nothing to see."""
    home = tmp_path / "pyusdt"
    source = os.path.dirname(pyusdt.__file__)
    for name in ("__init__.py", "vm"):
        os.makedirs(home, exist_ok=True)
        subprocess.run(["cp", "-r", os.path.join(source, name), home], check=True)
    environment = {**os.environ, "PYUSDT_VM_INTO": "0", "PYTHONPATH": str(home / "vm" / "start")}
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True
    )
    run = harness.run(
        [str(tmp_path / "bare" / "bin" / "python"), program("print('runs')")], env=environment
    )
    assert (run.status, run.stdout) == (0, "runs\n"), run
    assert (
        "the provider python cannot be loaded into this process" in run.stderr
        and "not built for this Python" in run.stderr
    ), run


def test_only_the_process_that_is_meant(pydtrace, program):
    path = program(
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'def inner(): pass\\ninner()'])"
    )
    assert "inner" not in seen(pydtrace("-q", "-n", ENTRIES, "-c", f"{sys.executable} {path}"))


def test_a_python_that_the_command_starts(pydtrace, program):
    """A pattern asks for whatever Python comes first."""
    path = program("def here(): pass\nhere()")
    run = pydtrace(
        "-q",
        "-n",
        ENTRIES.replace("$target", "*"),
        "-c",
        f"env -u NOTHING sh -c '{sys.executable} {path}; true'",
    )
    assert seen(run)["here"] == 1, run


def test_a_python_that_is_not_the_target(pydtrace, program):
    """It is said by which name it would have been seen; of a version that pyusdt is not built for, that it is so."""
    path = program("def here(): pass\nhere()")
    run = pydtrace("-q", "-n", ENTRIES, "-c", f"sh -c '{sys.executable} {path}; true'")
    assert (
        (run.status, seen(run)) == (0, {})
        and "no pyusdt was seen in sh" in run.stderr
        and "name python*" in run.stderr
    ), run


def test_as_a_module(program):
    path = program(
        SURROUNDINGS
        + "    print('_core' in dir(sys.modules['pyusdt']), 'pyusdt.vm' in sys.modules)"
    )
    run = harness.run([sys.executable, "-X", "dev", "-m", "pyusdt", path, "one", "-m"])
    assert (
        run.status == 0 and run.stdout.endswith("True True\n") and "'one', '-m']" in run.stdout
    ), run
    assert harness.run([sys.executable, "-m", "pyusdt"]).stderr.startswith(
        "usage: python -m pyusdt"
    )
    refused = harness.run([sys.executable, "-I", "-m", "pyusdt", path])
    assert refused.status == 1 and "with -I Python takes nothing" in refused.stderr, refused


@pytest.mark.skipif(
    sys.version_info >= (3, 13),
    reason="host: _PyMem_SetDefaultAllocator() is of CPython before 3.13",
)
def test_an_allocator_that_is_there_for_a_moment(program, monkeypatch):
    """The interpreter puts another one in place while it begins; with -X dev it aborts where one frees what the other has allocated."""
    monkeypatch.setenv("PYUSDT_VM", "1")
    path = program("""
        import ctypes, pyusdt, time
        python, there = ctypes.pythonapi, ctypes.create_string_buffer(5 * ctypes.sizeof(ctypes.c_void_p))
        sleep_with_gil = ctypes.PyDLL(None).usleep
        def here(): pass
        end = time.monotonic() + 2
        while time.monotonic() < end:
            python._PyMem_SetDefaultAllocator(0, there)
            sleep_with_gil(20000)
            python.PyMem_SetAllocator(0, there)
            time.sleep(0.02)
            here()
    """)
    toggles = f"'{sys.executable}' -X dev {path} & while kill -0 $! 2> /dev/null; do timeout -s INT 0.3 pydtrace -q -n '{ENTRIES}' -p $!; done; wait $!"
    run = harness.run(
        ["sh", "-c", toggles],
        env={**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"},
    )
    assert run.status == 0 and "Fatal" not in run.stderr and "here" in run.stdout, run


def test_by_the_environment(program):
    path = program(
        "import sys, pyusdt; print('pyusdt.vm' in sys.modules, __import__('os').listdir('/proc/self/task').__len__())"
    )
    assert (
        harness.run([sys.executable, path], env={**os.environ, "PYUSDT_VM": "1"}).stdout
        == "True 2\n"
    )
    assert (
        harness.run([sys.executable, path], env={**os.environ, "PYUSDT_VM": "0"}).stdout
        == "False 1\n"
    )


# --- the program's own doings --------------------------------------------------------------


def test_forks(same, program):
    """No warning of threads, and the children are traced."""
    run = same(
        program("""
        import os
        def in_child(): pass
        for _ in range(20):
            if not (pid := os.fork()):
                in_child()
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
        print("forked")
    """),
        ENTRIES.replace("$target", "*"),
        "-W",
        "error",
    )
    assert seen(run)["in_child"] == 20, run


def test_exec(pydtrace, program, monkeypatch):
    """The process is another program's then, and its provider anew; what came before is seen as well."""
    monkeypatch.setenv("PYUSDT_VM", "1")
    path = program("""
        import os, sys, pyusdt
        def here(): pass
        for _ in range(3): here()
        if not sys.argv[1:]:
            os.execv(sys.executable, [sys.executable, __file__, "again"])
    """)
    run = pydtrace(
        "-q",
        "-n",
        "python$target::here:function-entry { this->by = 1; @[probefunc] = count(); }",
        "-c",
        f"{sys.executable} {path}",
    )
    assert (run.status, run.stderr, seen(run)) == (0, "", {"here": 6}), run


def test_a_fork_after_our_exit_function(program):
    """In an exit function that was registered before ours, thus runs after it: no watcher is started again."""
    path = program("""
        import atexit, os
        def watchers(): return os.listdir("/proc/self/task")[1:] # it names itself only when it runs
        def forks():
            if not os.fork():
                os._exit(0)
            os.wait()
            for _ in range(1000): pass # a pending call's turn
            print(len(before), len(watchers()))
        atexit.register(forks)
        import pyusdt.vm
        pyusdt.vm.enable()
        before = watchers()
    """)
    run = harness.run([sys.executable, path])
    assert (run.status, run.stdout) == (0, "1 0\n"), run


def test_the_flight_recorder_alone_sets_nothing(program):
    path = program("""
        import gc, sys, pyusdt.vm
        from pyusdt import _core
        pyusdt.vm.enable()
        def called(): pass
        called()
        tools = [sys.monitoring.get_tool(n) for n in range(6)] if hasattr(sys, "monitoring") else []
        print(bool(_core.flight()), gc.callbacks, [t for t in tools if t], sys.getprofile(), sys.gettrace())
    """)
    run = harness.run([sys.executable, path], env={**os.environ, "PYUSDT_FLIGHT": "64k"})
    assert (run.status, run.stdout) == (0, "True [] [] None None\n"), run


def test_many_threads(same, program):
    run = same(
        program("""
        import threading
        def one(): pass
        barrier = threading.Barrier(101)
        def work():
            barrier.wait()
            for _ in range(10): one()
        threads = [threading.Thread(target=work) for _ in range(100)]
        for each in threads: each.start()
        barrier.wait()
        for each in threads: each.join()
        print("joined")
    """),
        ENTRIES,
    )
    assert seen(run)["one"] == 1000, run


def test_deep_recursion(same, program):
    """As deep as untraced, to the same error.  (A call of 3.10 takes room on the stack of C, and more where it is profiled.)"""
    same(
        program(f"""
        import sys
        def down(n):
            return down(n + 1) if n < {20_000 if sys.version_info >= (3, 11) else 10_000} else n
        sys.setrecursionlimit(10**6)
        print(down(0))
        sys.setrecursionlimit(500)
        try:
            down(0)
        except RecursionError as error:
            depth = 0
            while error.__traceback__ and depth < 10**6:
                error.__traceback__ = error.__traceback__.tb_next
                depth += 1
            print("RecursionError", depth)
    """),
        "python$target::down:function-* { @[probename] = count(); }",
    )


def test_code_that_is_collected(same, program):
    run = same(
        program("""
        import gc
        for i in range(3000):
            scope = {}
            exec(f"def made{i % 7}(): pass", scope)
            scope[f"made{i % 7}"]()
            del scope
        gc.collect()
        print("made")
    """),
        ENTRIES,
    )
    assert sum(n for name, n in seen(run).items() if name.startswith("made")) == 3000, run


def test_a_profiler_is_not_displaced(same, program):
    run = same(
        program("""
        import cProfile, pstats
        def one(): pass
        def ten():
            for _ in range(10): one()
        profile = cProfile.Profile()
        profile.runcall(ten)
        print([row[0] for (_, _, name), row in pstats.Stats(profile).stats.items() if name == "one"])
    """),
        ENTRIES,
    )
    assert not BY_MONITORING or seen(run)["one"] == 10, run


def test_a_debugger_is_not_displaced(pydtrace, program):
    """Before 3.12 there is room for one, and the tracer is told that it is the program's."""
    path = program("""
        import sys
        lines = []
        def trace(frame, event, arg):
            lines.append((event, frame.f_lineno))
            return trace
        def two():
            a = 1
            return a
        sys.settrace(trace)
        two()
        sys.settrace(None)
        print(lines)
    """)
    alone = harness.run([sys.executable, path])
    run = pydtrace("-q", "-n", EVERYTHING, "-c", f"{sys.executable} {path}")
    assert (
        (alone.status, run.status) == (0, 0)
        and run.stdout.startswith(alone.stdout)
        and alone.stdout
    ), (alone, run)
    assert ("a debugger or coverage (sys.settrace) is at work" in run.stderr) == (
        not BY_MONITORING
    ), run


@pytest.mark.skipif(not BY_MONITORING, reason="host: CPython before 3.12 has no sys.monitoring")
def test_coverage_runs_beside(same, program):
    """As its sysmon core does it: each line once, then DISABLE."""
    same(
        program("""
        import sys
        monitoring, lines = sys.monitoring, []
        def line(code, number):
            lines.append((code.co_name, number))
            return monitoring.DISABLE
        def loop():
            for i in range(3):
                str(i)
        monitoring.use_tool_id(monitoring.COVERAGE_ID, "coverage")
        monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.LINE, line)
        monitoring.set_local_events(monitoring.COVERAGE_ID, loop.__code__, monitoring.events.LINE)
        loop()
        loop()
        print(lines, monitoring.get_tool(monitoring.COVERAGE_ID))
    """)
    )


def troubled(program, script: str, first: str, last: str) -> str:
    """What a program says last, when it has been traced with what can not be had; the tracer says the same, and the program nothing."""
    path = program(
        textwrap.dedent(first)
        + textwrap.dedent("""
        import time, pyusdt.vm
        pyusdt.vm.enable()
        print("ready", flush=True)
        end = time.monotonic() + 30
        while not pyusdt.vm.trouble() and time.monotonic() < end:
            time.sleep(0.01)
        """)
        + textwrap.dedent(last)
        + "print(pyusdt.vm.trouble(), flush=True)\n"
    )
    with harness.running([sys.executable, path]) as process:
        assert process.stdout.readline() == "ready\n"
        tracing = harness.start([harness.PYDTRACE, "-q", "-n", script, "-p", str(process.pid)])
        said = process.stdout.read()
        tracing.terminate()
        told = harness.finish(tracing, 30)
        assert (
            process.stderr.read() == ""
            and told.stderr.count(f"process {process.pid}: {said.splitlines()[-1]}\n") == 1
        ), told
        return said


@pytest.mark.skipif(not BY_MONITORING, reason="host: CPython before 3.12 has no sys.monitoring")
def test_the_ids_of_tools_are_taken(program):
    """The program keeps its own, and it is said what can not be seen."""
    said = troubled(
        program,
        ENTRIES,
        "import sys\nfor tool in (3, 4): sys.monitoring.use_tool_id(tool, 'another')",
        "print([sys.monitoring.get_tool(tool) for tool in (3, 4)])\n",
    )
    assert said.startswith("['another', 'another']\nsys.monitoring's tool ids 3 and 4 are taken"), (
        said
    )


@pytest.mark.skipif(
    BY_MONITORING, reason="host: from CPython 3.12 on these functions are in nobody's way"
)
@pytest.mark.parametrize(
    ("which", "probe", "lack"),
    [
        ("profile", "c-function-entry", "another profiler (sys.setprofile) is at work"),
        ("trace", "line", "a debugger or coverage (sys.settrace) is at work"),
    ],
)
def test_another_was_there_first(program, which, probe, lack):
    """It stays, and what it keeps us from is said."""
    said = troubled(
        program,
        f"python$target:::{probe} {{ @ = count(); }}",
        f"import sys\ndef look(*_): pass\nsys.set{which}(look)",
        f"print(sys.get{which}() is look)\n",
    )
    assert said.startswith(f"True\n{lack}"), said


@pytest.mark.skipif(
    sys.version_info < (3, 13), reason="host: CPython before 3.13 does not tell of objects"
)
def test_another_traces_objects(program):
    """Py_IsInitialized() stands for it: any function of C can, since what it returns is not looked at."""
    said = troubled(
        program,
        "python$target:::alloc { @ = count(); }",
        """
        import ctypes
        python = ctypes.pythonapi
        another = ctypes.cast(python.Py_IsInitialized, ctypes.c_void_p)
        assert python.PyRefTracer_SetTracer(another, None) == 0
        """,
        """
        python.PyRefTracer_GetTracer.restype = ctypes.c_void_p
        print(python.PyRefTracer_GetTracer(None) == another.value)
        """,
    )
    assert said.startswith("True\nanother tool traces the interpreter's objects"), said


def test_a_loop_that_tells_nothing(program):
    """uvloop's: its module's name is all that counts."""
    program("", "uvloop.py")
    said = troubled(
        program, "python$target:::task-run { @ = count(); }", "import asyncio, uvloop", ""
    )
    assert said.startswith("uvloop is loaded, whose event loop tells nothing of its tasks"), said


SYSTEM = "/usr/bin/python3.11"  # Debian 12's: with notes of a provider python


@pytest.mark.skipif(
    not os.path.exists(SYSTEM) or sys.version_info[:2] != (3, 11),
    reason="host: pyusdt is here for another than Debian's Python",
)
@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_a_distributions_own_probes(root, pydtrace, engine):
    """Either ours or theirs, and -v says which: a collection is counted once."""
    path = os.path.join(harness.PROGRAMS, "vm_counted.py")
    options = [] if engine == "embedded" else ["-x", f"engine={engine}"]
    run = pydtrace(
        "-q",
        "-v",
        *options,
        "-n",
        "python$target:::gc-start { @ = count(); }",
        "-c",
        f"{SYSTEM} {path} 20",
    )
    rounds = int(run.stdout.partition('"rounds": ')[2].split("}")[0])
    assert run.status == 0 and f"engine: {engine}" in run.stderr, run
    assert rounds <= int(run.stdout.split()[-1]) < 2 * rounds, run


def test_the_programs_own_errors(same, program):
    """A traceback that is printed has no frame of ours."""
    same(
        program("""
        import io, traceback
        def broken():
            import no_such_module_of_ours
        try:
            broken()
        except ImportError:
            print(traceback.format_exc())
        class Odd:
            def __getattr__(self, name): raise RuntimeError(name)
        try:
            Odd().anything
        except RuntimeError:
            print(traceback.format_exc())
    """)
    )


# --- stacks ------------------------------------------------------------------------------------

CALLS = """
    def main():
        for _ in range(3):
            sum([1])
            try: int("x")
            except ValueError: pass
    main()
    """


@pytest.mark.parametrize("probe", ["sum:c-function-entry", "sum:c-function-return"])
def test_the_stack_of_a_call_of_c(pydtrace, program, probe):
    path = program(CALLS)
    for script in ("{ @[jstack()] = count(); }", "{ jstack(); }"):
        run = pydtrace(
            "-q", "-n", f"python$target:builtins:{probe} {script}", "-c", f"{sys.executable} {path}"
        )
        assert (run.status, run.stderr) == (0, ""), run
        found = [line.strip() for line in run.stdout.splitlines() if line.strip()]
        once = [f"main ({path}:4)", f"<module> ({path}:7)"]
        assert found == ([*once, "3"] if "count" in script else once * 3), run


def test_native_stacks_for_root(root, pydtrace, program):
    """The embedded engine has both the provider and such stacks: the kernel's, which would be better for these, has no such probes."""
    run = pydtrace(
        "-q",
        "-n",
        "python$target::main:function-entry { @[ustack(2)] = count(); }",
        "-c",
        f"{sys.executable} {program(CALLS)}",
    )
    assert (run.status, run.stderr) == (0, "") and "main (" in run.stdout, run


WORKERS = """
    import os
    def work(): return 1
    for n in range(3):
        pid = os.fork()
        if not pid:
            for _ in range(n + 1): work()
            os._exit(0)
        os.waitpid(pid, 0)
    """


def test_the_same_stack_of_several_processes(pydtrace, program):
    """One key, before anything is cut off or sorted, in the text as in JSON."""
    path = program(WORKERS)
    script = "python*:__main__:work:function-entry { @[jstack(1)] = count(); } END { trunc(@, 1); }"
    run = pydtrace("-q", "-n", script, "-c", f"{sys.executable} {path}")
    assert run.status == 0 and run.stdout.split() == ["work", f"({path}:3)", "6"], run
    run = pydtrace(
        "-q",
        "--json",
        "-n",
        "python*:__main__:work:function-entry { @[jstack(1)] = count(); }",
        "-c",
        f"{sys.executable} {path}",
    )
    assert run.stdout.count('"count"') <= 1 and "6" in run.stdout, run


# --- sub-interpreters ---------------------------------------------------------------------


SUB_INTERPRETERS = f"""
    import sys, time
    sys.path.append({harness.PROGRAMS!r})
    from interpreters import create
    def here(): pass
    here()
    print("begun", flush=True)
    made = create()
    made.exec("def there(): pass\\nfor _ in range(20): there()")
    time.sleep(0.5)
    made.close()
"""


def test_sub_interpreters_are_not_seen_and_said(pydtrace, program):
    script = "python$target::*here:function-entry { @[probefunc] = count(); }"
    traced = pydtrace("-q", "-n", script, "-c", f"{sys.executable} {program(SUB_INTERPRETERS)}")
    assert seen(traced) == {"here": 1} and traced.status == 0, traced
    assert re.fullmatch(
        r"dtrace: process \d+: there are sub-interpreters: there are no events of functions, lines and exceptions in them\n",
        traced.stderr,
    ), traced
