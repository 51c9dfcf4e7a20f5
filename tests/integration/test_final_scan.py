"""The end of a session accounts for every event that was fired before it: those of processes, too, that came after the
tracer had last looked for some.

The engine is driven by hand: begin() and end(), and no poll between them.
"""

import subprocess
import sys
import time

import pytest

from pydtrace.dlang.compile import Compiler, default_macros
from pydtrace.engine import Targets
from pydtrace.engine.embedded.engine import EmbeddedEngine
from pydtrace.options import Options
from tests.support import harness

COUNT = "pyusdt*:::user_trace-i4s4 { @ = count(); }"
FIRES = """
import os, sys, time
import pyusdt
print("ready", flush=True)
if sys.argv[2] == "waits":
    sys.stdin.readline()
for i in range(int(sys.argv[1])):
    pyusdt.p(i)
print("fired", flush=True)
"""
ENDINGS = {
    # the first firings behind the end of a session switch the probes off, within about a second
    "runs": """
sys.stdin.readline()
end = time.monotonic() + 20
while pyusdt.probe('user_trace-i4s4') and time.monotonic() < end:
    pyusdt.p(0)
    time.sleep(0.01)
print('on:', int(bool(pyusdt.probe('user_trace-i4s4'))))
""",
    "exits": "",
    "is killed": "os.kill(os.getpid(), 9)",
}


class Traced:
    """A session on all processes of a run directory that has begun."""

    def __init__(self, script, bufsize):
        options = Options()
        options.set("bufsize", bufsize)
        compiler = Compiler(options, default_macros(0))
        compiler.compile_text(script, None)
        self._program = compiler.generate_program()
        self.engine = EmbeddedEngine(self._program, options)
        self.engine.open(Targets())
        self.engine.begin()

    def delivered(self):
        """What @ counted."""
        items = self.engine.items(self._program.aggregations[0].map)
        return sum(int.from_bytes(value[:8], sys.byteorder) for _, value in items)

    def record_size(self):
        return self._program.clauses[0].record_size

    def dropped(self):
        return self.engine.drops()["principal"]


@pytest.fixture
def rundir(tmp_path, monkeypatch):
    """A run directory where nobody else is; when the session is closed, nothing of it is left there."""
    path = tmp_path / "run"
    path.mkdir(mode=0o700)
    monkeypatch.setenv("PYUSDT_RUNDIR", str(path))
    yield path
    assert [each.name for each in path.iterdir() if not each.name.endswith(".ctl")] == []


@pytest.fixture
def traced(rundir):
    """traced(D, BUFSIZE) -> Traced"""
    made = []

    def begin(script=COUNT, bufsize="4m"):
        made.append(Traced(script, bufsize))
        return made[-1]

    yield begin
    for each in made:
        each.engine.close()


def firing(count, ending="runs", when="at once"):
    """A process that fires so often, says so, and ends so."""
    return harness.running(
        [sys.executable, "-c", FIRES + ENDINGS[ending], str(count), when], stdin=subprocess.PIPE
    )


def said(process, word):
    assert process.stdout.readline() == word + "\n", harness.finish(process, 5)


def go(process):
    process.stdin.write("go\n")
    process.stdin.flush()


@pytest.mark.parametrize(
    "bufsize, count", [("4m", 1000), ("64k", 50_000)]
)  # of which sixteen rings hold a part
@pytest.mark.parametrize("ending", ENDINGS)
def test_process_that_came_after_the_last_look(traced, ending, bufsize, count):
    session = traced(COUNT, bufsize)
    with firing(count, ending) as process:
        said(process, "ready")
        said(process, "fired")
        if ending != "runs":
            process.wait(20)
        session.engine.end()
        assert session.delivered() + session.dropped() == count
        assert (session.dropped() > 0) == (bufsize == "64k")


def test_nobody_is_kept_on(traced):
    """Neither who came unseen, once it has fired behind the end of the session, nor who comes after that."""
    session = traced()
    with firing(10) as process:
        said(process, "ready")
        said(process, "fired")
        session.engine.end()
        assert (session.delivered(), session.dropped()) == (10, 0)
        with firing(10) as late:
            for each in (process, late):
                go(each)
                assert each.stdout.read().endswith("on: 0\n")


def test_event_after_the_last_tick(traced):
    """The tick is due before the event, and nothing has looked since: both are seen, in their order."""
    session = traced(
        """tick-200ms { ticks++; } pyusdt*:::user_trace-i4s4 /ticks/ { @ = count(); }"""
    )
    begun = time.monotonic()
    with firing(10, when="waits") as process:
        said(process, "ready")
        time.sleep(max(0.0, begun + 0.25 - time.monotonic()))
        go(process)
        said(process, "fired")
        session.engine.end()
        assert (session.delivered(), session.dropped()) == (10, 0)


def portions(engine):
    """The records of end() and drain_end(), as they come."""
    records = engine.end()
    while records:
        yield records
        records = engine.drain_end()


def test_more_records_than_there_is_memory_for_at_once(traced):
    """The rings have room for 64 MiB of events; what these events print takes 90 MB, which was lost but for 64 MiB."""
    session = traced('pyusdt*:::user_trace-i4s4 { printf("%d %s", arg2, copyinstr(arg0)); }', "64m")
    with firing(300_000, "exits") as process:
        said(process, "ready")
        said(process, "fired")
        process.wait(60)
        sizes = [len(records) for records in portions(session.engine)]
        record = session.record_size()
        assert (sum(sizes), max(sizes) < 8 << 20) == (300_000 * record, True)
        assert not any(session.engine.drops().values())


def test_what_reads_an_aggregation_waits_for_no_further_event(traced):
    session = traced("pyusdt*:::user_trace-i4s4 { @ = count(); printa(@); }")
    with firing(5, "exits") as process:
        said(process, "ready")
        said(process, "fired")
        process.wait(20)
        assert [session.delivered() for _ in portions(session.engine)] == [1, 2, 3, 4, 5]


def test_no_tick_is_later_than_the_end(traced, monkeypatch):
    """A replay fires END at the end that was written down, and no tick after it: so does the session itself."""
    session = traced('tick-1ms { @["tick"] = max(timestamp); } END { @["end"] = max(timestamp); }')
    monkeypatch.setattr(session.engine, "_check_command", lambda: time.sleep(0.05))
    session.engine.poll(0.01)
    session.engine.end()
    items = session.engine.items(session._program.aggregations[0].map)
    last = {
        bytes(key).rstrip(b"\0"): int.from_bytes(value[-8:], sys.byteorder) for key, value in items
    }
    tick, end = (
        next(value for key, value in last.items() if name in key) for name in (b"tick", b"end")
    )
    assert 0 < tick <= end
