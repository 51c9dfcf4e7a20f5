"""A tracing in which nothing fired says why; programs that become others, or start others, are followed where that is safe.

Input: small programs written here.

- What a program prints is what it prints untraced, and so are the environment and sys.path that
  it sees.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.support import harness
from tests.support.python_vm_scripts import seen

pytestmark = pytest.mark.xdist_group("integration/test_python_vm_no_events")
OF_TARGET = "python$target::work:function-entry { @[probefunc] = count(); }"
OF_ALL = OF_TARGET.replace("$target", "*")
WORK = "def work(): pass\nfor _ in range(7): work()\nprint('ran')\n"


@pytest.fixture
def traced(pydtrace):
    """traced(SCRIPT, PATH, *OPTIONS) -> Run of a Python program that has succeeded"""

    def run(script: str, path: str, *options: str) -> harness.Run:
        found = pydtrace("-q", *options, "-n", script, "-c", f"{sys.executable} {path}")
        assert found.status == 0, found
        return found

    return run


# --- what it becomes, what it starts ---------------------------------------------------------

SURROUNDINGS = (
    "import os, sys\nprint(sys.argv[1:], sys.path, sorted(os.environ.items()), flush=True)\n"
)
ITSELF = (
    SURROUNDINGS
    + """
if len(sys.argv) < 2:
    {become}
def work(): pass
for _ in range(7): work()
"""
)
BECOME = {
    "execv": "os.execv(sys.executable, [sys.executable, __file__, 'again'])",
    "execlp": "os.environ['MORE'] = 'x'; os.execlp(sys.executable, 'python', __file__, 'again')",
    "execve": "os.execve(sys.executable, [sys.executable, __file__, 'again'], {**os.environ, 'PYTHONPATH': '/nowhere:/else'})",
    "a failure before": "\n    try: os.execv('/nowhere', ['x'])\n    except OSError as error: print(error)\n    os.execvpe(sys.executable, "
    "[sys.executable, __file__, 'again'], {**os.environb, b'A': b'b'})",
}


@pytest.mark.parametrize("way", BECOME)
@pytest.mark.parametrize("script", [OF_TARGET, OF_ALL])
def test_a_program_that_executes_itself_anew(traced, program, script, way):
    path = program(ITSELF.format(become=BECOME[way]))
    alone = harness.run([sys.executable, path])
    run = traced(script, path)
    assert (alone.status, run.stderr, seen(run)) == (0, "", {"work": 7}) and run.stdout.startswith(
        alone.stdout
    ), (alone, run)


def test_a_launcher_with_a_sitecustomize_of_its_own(traced, program, tmp_path):
    """As opentelemetry-instrument is: its folder is first in PYTHONPATH, and its sitecustomize imports no other."""
    (tmp_path / "own").mkdir()
    program("print('customized')\n", "own/sitecustomize.py")
    path = program(
        f"import os, sys\nos.environ['PYTHONPATH'] = os.pathsep.join([{str(tmp_path / 'own')!r}, *filter(None, [os.environ.get('PYTHONPATH')])])\n"
        f"os.execl(sys.executable, sys.executable, {program(WORK, 'work.py')!r})\n"
    )
    for options in ((), ("-x", "pychildren")):
        run = traced(OF_ALL, path, *options)
        assert (run.stderr, seen(run)) == ("", {"work": 7}) and run.stdout.startswith(
            "customized\nran\n"
        ), run


START = """
    import multiprocessing, os, subprocess, sys
    {before}
    if __name__ == "__main__":
        {start}
"""
CHILD = "[sys.executable, {path!r}]"
WAITED = {
    "run": "subprocess.run(CHILD, check=True)",
    "call, without closing files": "subprocess.call(CHILD, env={**os.environ, 'WERKZEUG_RUN_MAIN': 'true'}, close_fds=False)",
    "check_output": "print(subprocess.check_output(CHILD, text=True), end='')",
}


@pytest.mark.parametrize("way", WAITED)
def test_a_python_that_is_waited_for(traced, program, way):
    start = WAITED[way].replace("CHILD", CHILD.format(path=program(SURROUNDINGS + WORK, "work.py")))
    path = program(START.format(before="", start=start))
    alone = harness.run([sys.executable, path])
    run = traced(OF_ALL, path)
    assert (alone.status, run.stderr, seen(run)) == (0, "", {"work": 7}) and run.stdout.startswith(
        alone.stdout
    ), (alone, run)
    other = traced(OF_TARGET, path)  # which is another process
    assert seen(other) == {} and "name python* in the place of python$target\n" in other.stderr, (
        other
    )


def test_processes_of_multiprocessing(traced, program):
    path = program(
        START.format(
            before="def work(): pass",
            start="multiprocessing.get_context('spawn').Process(target=work).start()",
        )
    )
    run = traced(OF_ALL, path)
    assert (run.stderr, seen(run)) == ("", {"work": 1}), run


def test_a_python_that_nobody_waits_for(traced, program):
    """It is not touched; what helps is said where nothing fired, and does help."""
    start = "process = subprocess.Popen(CHILD); process.wait()".replace(
        "CHILD", CHILD.format(path=program(WORK, "work.py"))
    )
    path = program(START.format(before="", start=start))
    run = traced(OF_ALL, path)
    assert (
        seen(run) == {}
        and "-x pychildren brings it into every Python" in run.stderr
        and f"{sys.executable} {os.path.dirname(path)}/work.py`" in run.stderr
    ), run
    assert seen(traced(OF_ALL, path, "-x", "pychildren")) == {"work": 7}
    run = traced(OF_ALL.replace("work:", "*:"), path)  # something fired: there is nothing to say
    assert run.stderr == "", run


@pytest.mark.parametrize(
    "start",
    [
        "subprocess.run([sys.executable, '-I', WORK])",
        "os.execv(sys.executable, [sys.executable, '-E', WORK])",
    ],
)
def test_a_python_that_takes_nothing_from_its_environment(traced, program, start):
    path = program(
        START.format(before="", start=start.replace("WORK", repr(program(WORK, "work.py"))))
    )
    run = traced(OF_ALL, path)
    assert (
        run.stdout.startswith("ran\n")
        and seen(run) == {}
        and "Python takes nothing from its environment" in run.stderr
    ), run


def test_other_programs_see_nothing(traced, program):
    """Neither one that is no Python, nor a Python of a program that is."""
    inner = f"{sys.executable} -c 'import os; print(sorted(os.environ.items()))'"
    path = program(
        f"import subprocess\nsubprocess.run(['env'])\nsubprocess.run({inner!r}, shell=True)\n"
    )
    alone, run = harness.run([sys.executable, path]), traced(OF_ALL, path)
    assert run.stdout.startswith(alone.stdout) and "PYTHONPATH=" not in alone.stdout, (alone, run)


@pytest.mark.parametrize("start", ["os.system({!r})", "subprocess.run({!r}, shell=True)"])
def test_a_python_behind_a_shell(traced, program, start):
    """What a shell starts is not followed: the option that brings the provider there is named."""
    path = program(
        "import os, subprocess\n"
        + start.format(f"{sys.executable} {program(WORK, 'work.py')}")
        + "\n"
    )
    run = traced(OF_ALL, path)
    assert (
        run.stdout.startswith("ran\n")
        and seen(run) == {}
        and "through a shell: -x pychildren traces it" in run.stderr
    ), run
    run = traced(OF_ALL, path, "-x", "pychildren")
    assert run.stdout.startswith("ran\n") and seen(run) and run.stderr == "", run


def test_a_command_that_takes_nothing_beside_another_process(pydtrace, program):
    """That one has the provider, so nothing is refused: it is said what the command lacks."""
    with harness.running(
        [
            sys.executable,
            "-c",
            "import sys, pyusdt.vm; pyusdt.vm.enable(); print('ready', flush=True); sys.stdin.read()",
        ],
        stdin=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        run = pydtrace("-q", "-n", OF_ALL, "-c", f"{sys.executable} -I {program(WORK)}")
    assert (
        run.status == 0
        and run.stdout.startswith("ran\n")
        and "with -I Python takes nothing from its environment" in run.stderr
    ), run
    assert "did not fire in " in run.stderr and f"process {process.pid} (" in run.stderr, run


# --- what was asked for is not there ---------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("::wrk", "__main__:work"),
        ("::wrok", "__main__:work"),
        ("::area", "__main__:Shape.area"),
        ("__mian__:work", "__main__:work"),
        (":nothing:like_it", None),
    ],
)
def test_a_misspelt_function(traced, program, asked, meant):
    path = program("class Shape:\n    def area(self): pass\n" + WORK + "Shape().area()\n")
    module, function = asked.split(":")[-2:]
    run = traced(f"python$target:{module}:{function}:function-entry {{ @ = count(); }}", path)
    assert f":{module}:{function}:function-entry did not fire in process " in run.stderr, run
    assert (
        (f"has run {meant}: is that what is meant by {module}:{function}?" in run.stderr)
        if meant
        else "has run" not in run.stderr
    ), run


def test_a_loop_that_is_loaded_later(traced, program):
    """uvloop's, after the probes were set: its module's name is all that counts."""
    program("", "uvloop.py")
    path = program("import asyncio, uvloop\nasyncio.run(asyncio.sleep(0))\n")
    run = traced("python$target:::task-run { @ = count(); }", path)
    assert run.stderr.count("uvloop is loaded, whose event loop tells nothing of its tasks") == 1, (
        run
    )
    assert (
        traced("python$target:::gc-start { @ = count(); } tick-1s { }", path).stderr.count("uvloop")
        == 0
    )  # which lacks nothing


def test_callbacks_of_a_loop_that_is_not_asyncios(pydtrace, program):
    program("", "uvloop.py")
    path = program("import asyncio, uvloop\nasyncio.run(asyncio.sleep(0.5))\n")
    run = pydtrace(
        "-Zqn",
        "loop*:::slow-callback { @ = count(); }",
        "-c",
        f"{sys.executable} -m pydtrace.cli.commands.main run {sys.executable} {path}",
    )
    assert (
        run.status == 0
        and "uvloop is loaded, whose event loop tells nothing of its callbacks" in run.stderr
    ), run


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="host: from CPython 3.12 on lines are in nobody's way"
)
@pytest.mark.parametrize("stays", [True, False])
def test_a_tracer_that_comes_later(traced, program, stays):
    """As coverage's: set by the program, and perhaps gone at its end."""
    path = program(
        "import sys\nsys.settrace(lambda *_: None)\n"
        + WORK
        + ("" if stays else "sys.settrace(None)\n")
    )
    run = traced("python$target::work:line { @[probefunc] = count(); }", path)
    assert seen(run) == {} and "a debugger or coverage (sys.settrace) is at work" in run.stderr, run


# --- scripts ---------------------------------------------------------------------------------

FRAMEWORK = """
    import signal, sys, pyusdt
    done = pyusdt.Provider("http").probe("request-done", route=str, status=int)
    print("ready", flush=True)
    for _ in range(3): done("/broken", 500)
    signal.pause() if len(sys.argv) > 1 else None
"""


def test_a_script_for_probes_that_the_program_does_not_fire(pydtrace, program):
    path = program(FRAMEWORK)
    run = pydtrace(
        "-qs", os.path.join(harness.ROOT, "scripts", "errors.d"), "-c", f"{sys.executable} {path}"
    )
    assert "operations: 0" in run.stdout and run.status == 0, run


def test_a_script_over_a_process_that_has_only_frameworks_probes(program):
    with harness.running([sys.executable, program(FRAMEWORK), "stay"]) as process:
        assert process.stdout.readline() == "ready\n"
        tracer = harness.start(
            [
                os.path.join(os.path.dirname(sys.executable), "pyusdt"),
                "trace",
                "errors",
                "-p",
                str(process.pid),
            ]
        )
        subprocess.run(["sleep", "2"], check=True)
        tracer.send_signal(signal.SIGINT)
        run = harness.finish(tracer, 30)
    assert (
        "user_trace-i4s4 did not fire" in run.stderr
        and "pyusdt trace failures, latency" in run.stderr
    ), run


def test_a_script_that_no_probe_of_the_process_is_for(program):
    pyusdt = os.path.join(os.path.dirname(sys.executable), "pyusdt")
    with harness.running([sys.executable, program(FRAMEWORK), "stay"]) as process:
        assert process.stdout.readline() == "ready\n"
        subprocess.run(["sleep", "5.2"], check=True)  # one that has just begun may get others yet
        run = harness.run([pyusdt, "trace", "queries", "-p", str(process.pid)])
        assert (
            run.status == 1 and "has no probe that queries needs (db:::query-done)" in run.stderr
        ), run
    assert "fit failures, latency" in run.stderr, run
    assert (
        harness.run([pyusdt, "trace", "queries", "-x", "nosuch"]).stderr.count("Traceback") == 0
    )  # no -p
    listed = harness.run([pyusdt, "scripts"]).stdout
    assert "errors" in listed and any(
        line.split()[:2] == ["failures", "http:::request-done"] for line in listed.splitlines()
    ), listed
