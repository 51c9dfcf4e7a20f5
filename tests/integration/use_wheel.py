"""What a user of an installed wheel does, with nothing but it; prints a line for each step.

    use_wheel.py [STEP ...]     all steps without one

The exit status is 1 if a step fails. It needs the standard library only, as it runs in environments that have nothing else.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import traceback

import pydtrace
import pyusdt

PROGRAM = """
import pyusdt
def work(number):
    pyusdt.p(number, "twelve")
for number in range(3):
    work(number)
"""
PROVIDER = """
import pyusdt
made = pyusdt.Provider("wheel").probe("made", int, str)
assert made.path
made(8, "eight")
"""
STUCK = """
import ctypes, sys, time
try:
    ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1))  # PR_SET_PTRACER: any process, as some machines want it
except (AttributeError, OSError):
    pass
def wait_for_an_answer():
    print("waits", flush=True)
    time.sleep(60)
wait_for_an_answer()
"""


def command(name: str, *arguments: str) -> str:
    """The output of a command of the wheel."""
    path = os.path.join(sysconfig.get_path("scripts"), name)
    done = subprocess.run(
        [path, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done
    return done.stdout


def trace_this_process() -> None:
    """Probes of pyusdt and of an application, on the embedded engine, by the API."""
    assert "site-packages" in pyusdt.__file__, pyusdt.__file__
    assert pyusdt.available() and not pyusdt.p(1)
    own = pyusdt.Provider("wheel").probe("made", int, str)
    script = """pyusdt$1:::user_trace-i4s4 { printf("%d %s", arg2, copyinstr(arg6)); }
                wheel$1:::made { printf("%d %s", arg0, copyinstr(arg1)); }"""
    with pyusdt.trace(script, os.getpid(), pid=os.getpid()) as t:
        assert pyusdt.p(7, "zwölf") and own(8, "made")
    assert [record.values for record in t] == [(7, "zwölf"), (8, "made")]
    print("path", pyusdt._core.__file__, "own", own.path)


def trace_a_subinterpreter() -> None:
    """One with a GIL of its own, on CPython 3.12 or later."""
    if sys.version_info < (3, 12):
        return
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs"))
    from interpreters import create

    made = create()
    script = "pyusdt$1:::user_trace-i4s4 { trace(arg2); }"
    with pyusdt.trace(script, os.getpid(), pid=os.getpid()) as t:
        made.exec("import pyusdt; assert pyusdt.p(9)")
    made.close()
    assert [record[0] for record in t] == [9]


def find_installed_files() -> None:
    folder = os.path.dirname(pydtrace.__file__)
    assert os.path.exists(os.path.join(folder, "scripts", "latency.d"))
    assert os.path.exists(os.path.join(sys.prefix, "share", "man", "man1", "pydtrace.1"))


def show_versions() -> None:
    for name in ("pydtrace", "pyusdt"):
        shown = command(name, "--version")
        assert shown.startswith("pyusdt ") and sys.version.split()[0] in shown, shown


def show_example_and_help() -> None:
    assert "import pyusdt" in command("pyusdt", "example", "hello.py")
    assert "ExecStart=" in command("pyusdt", "example", "systemd/pyusdt.service")
    assert "name=app_" in command("pyusdt", "example", "metrics/errors.map")
    assert command("pyusdt", "help", "profile").startswith("# ")


def trace(program: str, script: str, *options: str) -> str:
    """What pydtrace prints of a Python program."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(program)
        file.flush()
        started = f"{sys.executable} {file.name}"
        return command("pydtrace", "-q", *options, "-n", script, "-c", started)


def trace_a_command() -> None:
    script = 'pyusdt$target:::user_trace-i4s4 { printf("%d %s,", arg2, copyinstr(arg6)); }'
    shown = trace(PROGRAM, script)
    assert shown.strip() == "0 twelve,1 twelve,2 twelve,", shown


def trace_an_application_provider() -> None:
    script = 'wheel$target:::made { printf("%d %s", arg0, copyinstr(arg1)); }'
    shown = trace(PROVIDER, script, "-Z", "-x", "engine=embedded")
    assert shown.strip() == "8 eight", shown


def count_functions() -> None:
    shown = trace(PROGRAM, "python$target:__main__:work:function-entry { @[probefunc] = count(); }")
    assert shown.split() == ["work", "3"], shown


def dump() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STUCK], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "waits\n"
            shown = command("pyusdt", "dump", str(process.pid))
        finally:
            process.kill()
    assert "wait_for_an_answer" in shown, shown


STEPS = {
    "files": find_installed_files,
    "api": trace_this_process,
    "subinterpreter": trace_a_subinterpreter,
    "version": show_versions,
    "help": show_example_and_help,
    "command": trace_a_command,
    "provider": trace_an_application_provider,
    "functions": count_functions,
    "dump": dump,
}
if sys.platform != "linux":
    for _step in ("command", "provider", "functions", "dump"):
        del STEPS[_step]


def main() -> None:
    failed = []
    for name in sys.argv[1:] or STEPS:
        try:
            STEPS[name]()
        except Exception:  # noqa: BLE001 - the other steps are tried as well
            traceback.print_exc()
            failed.append(name)
        print("failed" if name in failed else "ok", name, flush=True)
    sys.exit(bool(failed))


main()
