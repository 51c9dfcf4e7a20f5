"""The consumer API in programs that gevent or eventlet has patched: the other greenlets go on, and the tracing is whole."""

import subprocess
import sys

import pytest

BEATS = """
began, beats = time.monotonic(), []
def beat():
    while True:
        beats.append(time.monotonic())
        sleep(0.02)
spawn(beat)
with pyusdt.trace("pyusdt*:::user_trace-i4s4 { trace(arg2); @n = count(); }", pid=os.getpid()) as t:
    for n in range(5):
        pyusdt.p(n)
        sleep(0.05)
    live = t.aggregations["n"].value
waited = [b - a for a, b in zip(beats, beats[1:])]
print([record[0] for record in t], live, t.drops["principal"], len(beats) > 5)
"""
GEVENT = "from gevent import monkey; monkey.patch_all()\nimport os, time\nfrom gevent import sleep, spawn\nimport pyusdt\n"
EVENTLET = "import eventlet; eventlet.monkey_patch()\nimport os, time\nfrom eventlet import sleep, spawn\nimport pyusdt\n"
LATE = "import pyusdt, pydtrace.consumer.tracing\n"  # pyusdt was there before


def run(program: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "program",
    [
        GEVENT + BEATS,
        LATE + GEVENT + BEATS,
        EVENTLET + BEATS,
        LATE + EVENTLET + BEATS,
        GEVENT.replace("patch_all()", "patch_all(thread=False)") + BEATS,
    ],
    ids=["gevent", "gevent later", "eventlet", "eventlet later", "gevent without threads"],
)
def test_other_greenlets_go_on(program):
    pytest.importorskip("gevent", reason="host: no gevent for this CPython")
    done = run(program)
    assert (done.returncode, done.stdout.strip()) == (0, "[0, 1, 2, 3, 4] 5 0 True"), done


def test_waiting_for_records_lets_others_fire():
    pytest.importorskip("gevent", reason="host: no gevent for this CPython")
    done = run(
        GEVENT
        + """
with pyusdt.trace("pyusdt*:::user_trace-i4s4 { trace(arg2); } user_trace-n1 { exit(0); }", pid=os.getpid()) as t:
    spawn(lambda: [(sleep(0.05), pyusdt.p(n)) for n in range(3)] and pyusdt.pn(1))
    print([record[0] for record in t])
"""
    )
    assert done.returncode == 0 and done.stdout.strip() == "[0, 1, 2]", done


def test_commands_are_refused():
    """Their pipes and processes would be the greenlets' too."""
    pytest.importorskip("gevent", reason="host: no gevent for this CPython")
    done = run(
        GEVENT
        + """
try:
    with pyusdt.trace("BEGIN { trace(1); }", cmd=["true"]) as t:
        pass
except pyusdt.EngineError as error:
    print(error)
"""
    )
    assert done.returncode == 0 and done.stdout.startswith(
        "cmd: gevent or eventlet has patched the files, pipes and processes of this"
    ), done
